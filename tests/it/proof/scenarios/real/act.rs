//! One scenario on a real file system.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};
use txedit::fs::fault::{FaultCall, FaultFs, Rule};
use txedit::fs::{FileKind, OsFs};
use txedit::report::RecoveryAction;
use txedit::testing::scenario::{
    Claimed, Disturbance, Scenario, ScenarioAct, ScenarioCheck, ScenarioComparison, ScenarioDeed, ScenarioFault,
    ScenarioPoint, ScenarioStep, ScenarioTerms, judge_answer, marks, request, warnings,
};
use txedit::{Check, Engine, Error, ErrorKind, Outcome, RecoverOptions, Report, Run, Settings, UndoOptions};

#[cfg(feature = "cli")]
use super::line;
use super::programs;
use super::tree::{Files, files, for_good, in_reach, names, walk};
use crate::support::name_of;

const ROOT: &str = "TXEDIT_TEST_SCENARIO_ROOT";
const STEP: &str = "TXEDIT_TEST_SCENARIO_STEP";

type Judged = Result<(), String>;

/// What foreign programs did since an act began, and what must not be lost.
#[derive(Debug, Default)]
struct Others {
    held: BTreeMap<usize, (PathBuf, File)>,
    touched: BTreeSet<PathBuf>,
    alive: BTreeSet<(u8, u32)>,
}

impl Others {
    fn act(&mut self, root: &Path, deed: &ScenarioDeed) {
        let before = files(root);
        match deed {
            ScenarioDeed::Hold(number, path) => {
                if let Ok(file) = File::options().append(true).open(root.join(path)) {
                    self.held.insert(*number, (path.into(), file));
                }
            }
            ScenarioDeed::Late(number, text) => {
                if let Some((path, file)) = self.held.get_mut(number) {
                    file.write_all(text.as_bytes()).unwrap();
                    self.touched.insert(path.clone());
                }
            }
            other => programs::lines(other).into_iter().for_each(|lines| programs::run(root, &lines)),
        }
        let after = files(root);
        let all = before.keys().chain(after.keys());
        self.touched.extend(all.filter(|path| before.get(*path) != after.get(*path)).cloned());
        self.touched.extend(deed.paths().into_iter().map(PathBuf::from));
        let (had, left) = (marks_in(&before), marks_in(&after));
        self.alive.retain(|mark| left.contains(mark) || !had.contains(mark));
        let written = deed.text().map(marks).unwrap_or_default();
        let there = in_reach(root);
        self.alive.extend(written.intersection(&there));
    }
}

/// These paths, and all others that lead to the same files.
fn with_other_names(files: &Files, paths: Vec<String>) -> BTreeSet<PathBuf> {
    let mut found: BTreeSet<PathBuf> = paths.into_iter().map(PathBuf::from).collect();
    let targets = found.iter().filter_map(|path| files.get(path)).filter(|entry| entry.kind == FileKind::Symlink);
    let targets: Vec<PathBuf> =
        targets.map(|entry| PathBuf::from(String::from_utf8_lossy(&entry.content).into_owned())).collect();
    found.extend(targets);
    let inodes: BTreeSet<u64> = found.iter().filter_map(|path| Some(files.get(path)?.identity.inode)).collect();
    found
        .extend(files.iter().filter(|(_, entry)| inodes.contains(&entry.identity.inode)).map(|(path, _)| path.clone()));
    found
}

fn marks_in(files: &Files) -> BTreeSet<(u8, u32)> {
    files.values().flat_map(|entry| marks(&String::from_utf8_lossy(&entry.content))).collect()
}

struct World {
    root: PathBuf,
    others: Arc<Mutex<Others>>,
    committed: Vec<String>,
    open: Vec<Option<String>>,
    checked: bool,
    /// What a check may have taken away in this act.
    spent: BTreeSet<(u8, u32)>,
    /// How many calls there were that nothing disturbed.
    #[cfg(feature = "cli")]
    calm: usize,
}

/// Makes the folder of a scenario, with what is there at first.
pub(super) fn lay_out(root: &Path, scenario: &Scenario) {
    std::fs::create_dir(root).unwrap();
    for item in &scenario.items {
        programs::set_up(root, item);
    }
}

/// Runs a scenario in its folder.
pub(super) fn run(root: &Path, scenario: &Scenario) -> Judged {
    let others = Others { alive: marks_in(&files(root)), ..Others::default() };
    let mut world = World {
        root: root.to_owned(),
        others: Arc::new(Mutex::new(others)),
        committed: Vec::new(),
        open: Vec::new(),
        checked: false,
        spent: BTreeSet::new(),
        #[cfg(feature = "cli")]
        calm: 0,
    };
    for (index, step) in scenario.steps.iter().enumerate() {
        let judged = match step {
            ScenarioStep::Foreign(deed) => {
                world.others.lock().unwrap().act(&world.root, deed);
                Ok(())
            }
            ScenarioStep::Act(act, disturbances) => world.act(act, disturbances),
            ScenarioStep::Clock(_) | ScenarioStep::Cut(..) => unreachable!("a real machine has neither"),
        };
        judged.map_err(|what| format!("step {}: {what}", index + 1))?;
    }
    world.recover()?;
    world.is_all_told()?;
    world.is_alive()
}

/// An engine in whose calls the disturbances come to pass.
fn engine(root: &Path, disturbances: &[Disturbance], others: &Arc<Mutex<Others>>) -> Result<Engine, Error> {
    let faulty = FaultFs::new(Arc::new(OsFs::new()));
    for disturbance in disturbances {
        faulty.add(rule(root, disturbance, others));
    }
    let settings = Settings::default().lock_timeout(Duration::ZERO).program("scenario");
    Ok(Engine::with_fs(Arc::new(faulty), root, settings)?.allowing_checks())
}

fn rule(root: &Path, disturbance: &Disturbance, others: &Arc<Mutex<Others>>) -> Rule {
    let (verb, path, nth) = match &disturbance.point {
        ScenarioPoint::Verb(verb, path, nth) => (verb.clone(), path.clone(), *nth),
        // It comes after the last call that the simulated machine knows.
        ScenarioPoint::Call(_) | ScenarioPoint::Share(_) => ("none".to_owned(), None, 1),
    };
    let rule = match &disturbance.what {
        ScenarioFault::Deed(deed) => {
            let (root, deed, others) = (root.to_owned(), deed.clone(), Arc::clone(others));
            Rule::before(nth, move |_| others.lock().unwrap().act(&root, &deed))
        }
        ScenarioFault::Fail(errno, false) => Rule::fail(nth, *errno),
        ScenarioFault::Fail(errno, true) => Rule::fail(nth, *errno).from_then_on(),
        ScenarioFault::FailAfter(errno) => Rule::fail_after(nth, *errno),
        ScenarioFault::Short => Rule::short(nth, 1),
        ScenarioFault::Kill | ScenarioFault::Cut(..) | ScenarioFault::Cancel => Rule::before(nth, |_| {
            kill_process(getpid(), Signal::KILL).unwrap();
            // Another thread may be the first to be stopped; this one must not get any further meanwhile.
            std::thread::sleep(Duration::from_millis(500));
        }),
    };
    let ends = move |call: &FaultCall, end: &str| {
        call.path.ends_with(end) || call.to.as_ref().is_some_and(|to| to.ends_with(end))
    };
    rule.matching(move |call| verb_of(call) == verb && path.as_ref().is_none_or(|path| ends(call, path)))
}

/// The function of a call, as the simulated machine names it.
fn verb_of(call: &FaultCall) -> String {
    let mut verb = String::new();
    for letter in format!("{:?}", call.operation).chars() {
        if letter.is_ascii_uppercase() && !verb.is_empty() {
            verb.push('_');
        }
        verb.push(letter.to_ascii_lowercase());
    }
    verb
}

fn alone() -> Run<'static> {
    Run::default()
}

/// The report of a dry run as that of the commit that it foretells.
fn as_done(mut report: Report) -> Report {
    (report.dry_run, report.transaction) = (false, Some("new".to_owned()));
    report
}

fn check(gate: Option<&ScenarioCheck>) -> Option<Check> {
    let gate = gate?;
    let lines: Vec<String> = gate.deeds.iter().filter_map(programs::lines).collect();
    let script = format!("{}\nexit {}", lines.join("\n"), u8::from(!gate.passes));
    Some(Check::new(vec!["sh".into(), "-c".into(), script.into()]))
}

/// Does what can be told by a report; `None` for what answers otherwise.
fn report_of(engine: &Engine, act: &ScenarioAct, dry_run: bool) -> Option<Result<Report, Error>> {
    Some(match act {
        ScenarioAct::Apply(asks, terms) => {
            let without = ScenarioTerms { check: None, ..terms.clone() };
            let request = request(asks, &without);
            let check = check(terms.check.as_ref()).filter(|_| !dry_run);
            engine.apply(&request.check(check).dry_run(dry_run), alone())
        }
        ScenarioAct::Undo(None) => engine.undo(None, dry_run, alone()),
        ScenarioAct::Redo(None) => engine.redo(None, &UndoOptions::default().dry_run(dry_run), alone()),
        _ => return None,
    })
}

impl World {
    fn act(&mut self, act: &ScenarioAct, disturbances: &[Disturbance]) -> Judged {
        self.others.lock().unwrap().touched.clear();
        self.checked |= act.gate().is_some();
        let before = files(&self.root);
        self.spent.clear();
        let theirs = disturbances.iter().filter_map(|disturbance| match &disturbance.what {
            ScenarioFault::Deed(deed) => Some(deed),
            _ => None,
        });
        let theirs: Vec<&ScenarioDeed> = theirs.collect();
        for deed in act.gate().iter().flat_map(|gate| &gate.deeds) {
            let touched = with_other_names(&before, deed.paths());
            // What others write or move there meanwhile may be there when the check comes.
            let moved =
                theirs.iter().filter(|theirs| theirs.paths().iter().any(|path| touched.contains(Path::new(path))));
            let moved = with_other_names(&before, moved.flat_map(|theirs| theirs.paths()).collect());
            let reached = |path: &PathBuf| touched.union(&moved).any(|touched| path.starts_with(touched));
            let at_risk = before.iter().filter(|(path, _)| reached(path));
            self.spent.extend(at_risk.flat_map(|(_, entry)| marks(&String::from_utf8_lossy(&entry.content))));
            self.spent.extend(theirs.iter().filter_map(|theirs| theirs.text()).flat_map(marks));
            self.others.lock().unwrap().touched.extend(touched);
        }
        let kill = |disturbance: &&Disturbance| disturbance.what == ScenarioFault::Kill;
        let expected = report_of(&self.plain()?, act, true);
        if files(&self.root) != before {
            return Err(format!("a dry run changed files; its answer: {expected:?}"));
        }
        if disturbances.iter().any(|disturbance| kill(&disturbance)) && expected.is_some() {
            let is_done = self.killed(act, disturbances, &before);
            return self.settle(&before, expected, is_done);
        }
        #[cfg(feature = "cli")]
        if let Some(expected) =
            expected.as_ref().filter(|_| disturbances.is_empty() && names(&self.root, "txn").is_empty())
        {
            self.calm += 1;
            // Every other one: the rest tells all that is told of it.
            if self.calm.is_multiple_of(2) {
                return self.by_command(act, &before, expected);
            }
        }
        let rest: Vec<Disturbance> = disturbances.iter().filter(|it| !kill(it)).cloned().collect();
        let engine = match engine(&self.root, &rest, &self.others) {
            Ok(engine) => engine,
            Err(error) => return self.judge(act, &before, expected, &Err(error)),
        };
        let Some(answer) = report_of(&engine, act, false) else { return self.other_act(&engine, act) };
        self.judge(act, &before, expected, &answer).map_err(|what| format!("{what}\n  the answer: {answer:?}"))
    }

    /// An engine that nothing disturbs.
    fn plain(&self) -> Result<Engine, String> {
        engine(&self.root, &[], &self.others).map_err(|e| format!("no engine: {e}"))
    }

    fn touched(&self) -> BTreeSet<PathBuf> {
        let touched = self.others.lock().unwrap().touched.clone();
        touched.iter().flat_map(|path| path.ancestors()).filter(|path| *path != Path::new("")).map(Into::into).collect()
    }

    fn judge(
        &mut self,
        act: &ScenarioAct,
        before: &Files,
        expected: Option<Result<Report, Error>>,
        answer: &Result<Report, Error>,
    ) -> Judged {
        if answer.as_ref().is_err_and(|error| error.outcome() == Outcome::RecoveryRequired) {
            return self.settle(before, expected, false);
        }
        let (after, touched) = (files(&self.root), self.touched());
        let compared =
            ScenarioComparison { root: &self.root, before, after: &after, touched: &touched, checked: self.checked };
        let asked = match act {
            ScenarioAct::Apply(asks, terms) => Some(request(asks, terms)),
            _ => None,
        };
        judge_answer(compared, asked.as_ref(), answer.as_ref())?;
        let entries = walk(&self.root);
        let claimed = Claimed { entries: &entries, compared };
        match answer {
            Ok(report) => warnings(report).try_for_each(|warning| claimed.judge_warning(warning))?,
            Err(error) => claimed.judge_kept(error.kept()).and_then(|()| claimed.judge_not_old(error.not_old()))?,
        }
        if let Ok(Report { transaction: Some(id), .. }) = answer {
            self.committed.push(id.clone());
        }
        self.is_alive()?;
        self.settle_marks(&after);
        Ok(())
    }

    /// Does it by the command line, and judges the exit status. `expected` is what a dry run says of it.
    #[cfg(feature = "cli")]
    fn by_command(&mut self, act: &ScenarioAct, before: &Files, expected: &Result<Report, Error>) -> Judged {
        let Some(ran) = line::run(&self.root, act) else { unreachable!("what has a dry run has a command") };
        let told = |what: String| format!("{what}\n  the command line: {ran:?}\n  a dry run: {expected:?}");
        ran.judge().map_err(told)?;
        let (after, touched) = (files(&self.root), self.touched());
        let compared =
            ScenarioComparison { root: &self.root, before, after: &after, touched: &touched, checked: self.checked };
        match expected {
            Ok(report) if ran.is_done() => {
                let done = as_done(report.clone());
                judge_answer(compared, None, Ok(&done)).map_err(told)?;
            }
            Err(_) if ran.is_done() => return Err(told("done, and a dry run says that it cannot be".to_owned())),
            _ if ran.is_unchanged() => {
                let failed = Error::new(ErrorKind::UnknownError, "nothing is changed");
                judge_answer(compared, None, Err(&failed)).map_err(told)?;
            }
            _ => {}
        }
        let calm = act.gate().is_none_or(|gate| gate.passes && gate.deeds.is_empty());
        let is_warned = |report: &Report| ran.is_refused_as(ErrorKind::CrossDevice) && is_of_lower_layer(report);
        if expected.as_ref().is_ok_and(|report| !is_warned(report)) && calm && !ran.is_done() {
            return Err(told("refused, and a dry run says that it can be done".to_owned()));
        }
        self.is_alive().map_err(told)?;
        self.settle_marks(&after);
        Ok(())
    }

    /// All that is kept is there, and told.
    fn is_all_told(&self) -> Judged {
        let (plain, entries, none) = (self.plain()?, walk(&self.root), BTreeSet::new());
        let status = plain.status().map_err(|e| format!("status fails: {e}"))?;
        let after = files(&self.root);
        let compared = ScenarioComparison {
            root: &self.root,
            before: &after,
            after: &after,
            touched: &none,
            checked: self.checked,
        };
        let claimed = Claimed { entries: &entries, compared };
        status.kept.iter().try_for_each(|kept| claimed.judge_kept(&kept.contents))?;
        status.warnings.iter().try_for_each(|warning| claimed.judge_warning(warning))?;
        claimed.judge_folders(&status.kept.iter().map(|kept| kept.id.clone()).collect::<Vec<_>>())
    }

    /// What is there after an act must not be lost; what its check took away is.
    fn settle_marks(&self, after: &Files) {
        let stays = for_good(&self.root);
        let mut others = self.others.lock().unwrap();
        others.alive.retain(|mark| stays.contains(mark) || !self.spent.contains(mark));
        others.alive.extend(marks_in(after));
    }

    /// After a kill: recovered, everything is as it was, or as it was to be.
    fn settle(&mut self, before: &Files, expected: Option<Result<Report, Error>>, is_done: bool) -> Judged {
        self.recover()?;
        let (after, touched) = (files(&self.root), self.touched());
        let compared =
            ScenarioComparison { root: &self.root, before, after: &after, touched: &touched, checked: self.checked };
        let old = judge_answer(compared, None, Err(&Error::new(ErrorKind::UnknownError, "it was killed")));
        // What others did in the act may have made it possible.
        let was_made_possible = is_done && !touched.is_empty() && matches!(expected, Some(Err(_)));
        let new = match expected {
            _ if was_made_possible => Ok(()),
            Some(Ok(report)) => {
                let done = as_done(report);
                judge_answer(compared, None, Ok(&done))
            }
            _ => Err("it would have been refused".to_owned()),
        };
        match (old, new) {
            (Ok(()), _) if !is_done => {}
            (_, Ok(())) => {}
            (old, new) => return Err(format!("killed, and neither old nor new: {old:?}; {new:?}; done: {is_done}")),
        }
        let mut others = self.others.lock().unwrap();
        let there = in_reach(&self.root);
        if touched.is_empty() && !others.alive.is_subset(&there) {
            return Err(format!("killed, and out of reach: {:?}", others.alive.difference(&there)));
        }
        others.alive.retain(|mark| there.contains(mark));
        others.alive.extend(marks_in(&after));
        Ok(())
    }

    /// Does it in a child process, which is killed; whether it said before that it was done.
    fn killed(&self, act: &ScenarioAct, disturbances: &[Disturbance], before: &Files) -> bool {
        for disturbance in disturbances {
            if let ScenarioFault::Deed(deed) = &disturbance.what {
                self.others.lock().unwrap().touched.extend(with_other_names(before, deed.paths()));
            }
        }
        let step =
            Scenario { steps: vec![ScenarioStep::Act(act.clone(), disturbances.to_vec())], ..Scenario::default() };
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &name_of(module_path!(), "child_entry"), "--nocapture", "--test-threads=1"])
            .env(ROOT, &self.root)
            .env(STEP, step.to_string())
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).contains("child is done")
    }

    fn other_act(&mut self, engine: &Engine, act: &ScenarioAct) -> Judged {
        let open = |number: usize| self.open.get(number).cloned().flatten();
        // What is refused is refused; what is lost is seen at the end.
        match act {
            ScenarioAct::Stage(number, asks) => {
                let staged = engine.stage(&request(asks, &ScenarioTerms::default()), open(*number).as_deref(), alone());
                self.open.resize(self.open.len().max(*number + 1), None);
                if let Ok(staged) = staged {
                    self.open[*number] = staged.id;
                }
            }
            ScenarioAct::Preview(number) => drop(open(*number).map(|id| engine.preview(&id, alone()))),
            ScenarioAct::Commit(number, gate) => {
                drop(open(*number).map(|id| engine.commit_staged(&id, None, check(gate.as_ref()), alone())));
            }
            ScenarioAct::RollBack(number) => drop(open(*number).map(|id| engine.roll_back(&id, alone()))),
            ScenarioAct::Status => drop(engine.status()),
            _ => drop(engine.recover(None, RecoverOptions::default())),
        }
        self.is_alive()?;
        self.settle_marks(&files(&self.root));
        Ok(())
    }

    /// Recovers twice: the second time there is nothing to do.
    fn recover(&self) -> Judged {
        let plain = self.plain()?;
        let first = plain.recover(None, RecoverOptions::default()).map_err(|e| format!("recovery fails: {e}"))?;
        let again = plain.recover(None, RecoverOptions::default()).map_err(|e| format!("recovery fails: {e}"))?;
        if again.iter().any(|again| !again.required && again.action != RecoveryAction::Left) {
            return Err(format!("a second recovery did something: {again:?}"));
        }
        let left = names(&self.root, "txn");
        if !left.is_empty() && !first.iter().any(|first| first.required) {
            return Err(format!("left behind: {left:?}"));
        }
        Ok(())
    }

    fn is_alive(&self) -> Judged {
        let (there, others) = (in_reach(&self.root), self.others.lock().unwrap());
        let lost: Vec<_> = others.alive.difference(&there).filter(|mark| !self.spent.contains(*mark)).collect();
        if lost.is_empty() { Ok(()) } else { Err(format!("out of reach: {lost:?}")) }
    }
}

/// Not a test: what the test program does as a child.
#[test]
fn child_entry() {
    let (Some(root), Ok(text)) = (std::env::var_os(ROOT), std::env::var(STEP)) else { return };
    let scenario: Scenario = text.parse().unwrap();
    let [ScenarioStep::Act(act, disturbances)] = &scenario.steps[..] else { panic!("{text}") };
    let root = PathBuf::from(root);
    let Ok(engine) = engine(&root, disturbances, &Arc::default()) else { return };
    if let Some(Ok(_)) = report_of(&engine, act, false) {
        let mut out = std::io::stdout().lock();
        out.write_all(b"\nchild is done\n").unwrap();
        out.flush().unwrap();
    }
}

/// Whether it warns that a folder may be one of a lower layer, which only a commit finds out.
#[cfg(feature = "cli")]
fn is_of_lower_layer(dry_run: &Report) -> bool {
    warnings(dry_run).any(|warning| warning.contains("the commit is refused (CROSS_DEVICE)"))
}
