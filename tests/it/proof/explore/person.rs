//! A person decides about what was interrupted: at every crash, what the journal's state does not allow is refused.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use txedit::check::{CheckCall, Checker, Ended, Verdict};
use txedit::fs::sim::{Action, SimFs};
use txedit::journal::JournalState;
use txedit::testing::Errno;
use txedit::{Check, Decision, Engine, ErrorKind, RecoverOptions, Request, Settings};

use super::scripts::{self, creates, replaces, request};
use crate::support::workspace::running;

/// A check that never passes.
#[derive(Debug)]
struct Fails;

impl Checker for Fails {
    fn run(&self, _: &CheckCall<'_>) -> std::io::Result<Ended> {
        let verdict = Verdict::Failed("exit status: 1".to_owned());
        Ok(Ended::new(verdict))
    }
}

/// Which names of a journal a transaction comes to.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    Plain,
    /// The second swap fails.
    Fails,
    Checked,
    Contended,
}

fn engine(machine: &SimFs, process: u32, way: Way) -> Engine {
    let settings = Settings::default().lock_timeout(Duration::ZERO).program("person");
    let engine = Engine::with_fs(Arc::new(machine.process(process)), Path::new("/w"), settings).unwrap();
    let engine = engine.with_checker(Arc::new(Fails));
    if way == Way::Contended { engine.contended_after(0) } else { engine }
}

fn asked(way: Way) -> Request {
    let check = (way == Way::Checked).then(|| Check::new(vec!["check".into()]));
    request(vec![replaces("a", "one", "two"), replaces("b", "one", "two"), creates("new", "new\n")]).check(check)
}

/// A machine on which the transaction was killed before its call number `call`; `None` where it has fewer.
/// With `meanwhile` another program writes `/w/a` once more after the journal is durable.
fn killed(way: Way, call: u64, meanwhile: Option<&'static str>) -> Option<SimFs> {
    let machine = SimFs::new();
    machine.make_folders("/w").unwrap();
    scripts::files(&machine);
    let first = engine(&machine, 2, way);
    let (start, other) = (machine.calls(), machine.clone());
    machine.set_hook(move |made| match made.number - start {
        number if number == call => Action::Kill,
        _ if way == Way::Fails && made.verb == "rename" && made.to == Some(Path::new("/w/b")) => {
            Action::Fail(Errno::IO)
        }
        _ if made.verb == "sync" && state(&other) == Some(JournalState::Contended) => {
            if let Some(content) = meanwhile {
                other.replace("/w/a", content).unwrap();
            }
            Action::Continue
        }
        _ => Action::Continue,
    });
    let _ = first.apply(&asked(way), running());
    let is_through = machine.calls() - start <= call;
    machine.clear_hook();
    machine.kill(2);
    (!is_through).then_some(machine)
}

/// The name of the journal in `txn/`, if a transaction was interrupted that has one.
fn state(machine: &SimFs) -> Option<JournalState> {
    let entries = machine.entries("/w/.txedit/txn").unwrap_or_default();
    let is_journal = |path: &PathBuf, journal_state: &JournalState| {
        path.iter().count() == 2 && path.ends_with(journal_state.file_name())
    };
    JournalState::ALL.into_iter().find(|journal_state| entries.iter().any(|(path, _)| is_journal(path, journal_state)))
}

/// Returns whether the journal of an interrupted transaction is torn.
fn is_torn(machine: &SimFs) -> bool {
    let entries = machine.entries("/w/.txedit/txn").unwrap();
    let journal = entries.iter().find(|(path, _)| path.ends_with(JournalState::New.file_name()));
    journal.is_some_and(|(_, entry)| txedit::journal::scan(&entry.content).is_err())
}

fn contents(machine: &SimFs) -> (Vec<u8>, Vec<u8>, bool) {
    (machine.read("/w/a").unwrap(), machine.read("/w/b").unwrap(), machine.exists("/w/new"))
}

#[test]
fn forward_is_refused_where_the_way_back_has_begun_or_contents_are_not_known() {
    let (old, new) =
        ((b"a one\n".to_vec(), b"b one\n".to_vec(), false), (b"a two\n".to_vec(), b"b two\n".to_vec(), true));
    let mut seen = Vec::new();
    for way in [Way::Plain, Way::Fails, Way::Checked, Way::Contended] {
        for (call, machine) in (0..).map_while(|call| Some((call, killed(way, call, None)?))) {
            let Some(journal_state) = state(&machine) else { continue };
            seen.push(journal_state);
            let person = engine(&machine, 3, Way::Plain);
            let before = contents(&machine);
            let options = RecoverOptions::new().decision(Decision::Forward);
            let id = person.status().unwrap().interrupted[0].id.clone();
            let answer = person.recover(Some(&id), options);
            let told = format!("{way:?}, killed before call {call}, {journal_state:?}: {answer:?}");
            if journal_state == JournalState::New {
                // Torn, it counts as none.
                assert!(answer.is_err_and(|e| e.kind() == ErrorKind::RecoveryRequired) || is_torn(&machine), "{told}");
                person.recover(None, RecoverOptions::default()).unwrap();
                assert_eq!(contents(&machine), old, "{told}");
            } else if matches!(journal_state, JournalState::Undo | JournalState::CheckUndo | JournalState::Contended) {
                assert_eq!(answer.unwrap_err().kind(), ErrorKind::RecoveryRequired, "{told}");
                assert_eq!(contents(&machine), before, "{told}");
                person.recover(None, RecoverOptions::default()).unwrap();
                assert_eq!(contents(&machine), old, "{told}");
            } else {
                answer.unwrap_or_else(|_| panic!("{told}"));
                assert_eq!(contents(&machine), new, "{told}");
            }
        }
    }
    assert!(JournalState::ALL.iter().all(|journal_state| seen.contains(journal_state)), "{seen:?}");
}

#[test]
fn what_is_not_known_to_be_whole_is_kept_and_not_restored() {
    let mut seen = 0;
    let machines = (0..).map_while(|call| killed(Way::Contended, call, Some("a one\nmore\n")));
    for machine in machines.filter(|machine| state(machine) == Some(JournalState::Contended)) {
        let person = engine(&machine, 3, Way::Plain);
        person.recover(None, RecoverOptions::default()).unwrap();
        let files = contents(&machine);
        for kept in person.kept().unwrap() {
            let content = &kept.contents[0];
            let name = kept.contents[0].kept_path.clone();
            let refused = person.kept_restore(&kept.id, Some(&content.path), running()).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::RecoveryRequired, "{refused}");
            assert!(refused.to_string().contains(&*name.to_string_lossy()), "{refused}");
            assert_eq!(machine.read(&name).unwrap(), b"a two\nmore\n");
            assert_eq!(contents(&machine), files);
            seen += 1;
        }
    }
    assert!(seen > 0);
}
