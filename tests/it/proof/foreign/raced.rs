//! Foreign edits by the hundred thousand, raced against commits: each is in the target, in `kept/`, or in history.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use txedit::fs::sim::{Action, SimFs, SimHeldFile};
use txedit::testing::internals::commit::forward;
use txedit::testing::internals::commit::protocol::{PROTOCOL, Protocol};
use txedit::testing::internals::commit::step::CommitStep;
use txedit::{Engine, Outcome, Request, Run, Settings};

use crate::proof::explore::scripts::{creates, deletes, replaces, request};

/// How many foreign edits: `TXEDIT_RACE_EDITS=1000000` for a long run.
fn wanted() -> usize {
    std::env::var("TXEDIT_RACE_EDITS").ok().and_then(|edits| edits.parse().ok()).unwrap_or(20_000)
}

/// Transactions on one machine; then comes a new one, or its files would grow without end.
const ROUND: usize = 12;

/// About as many calls as a transaction makes.
const CALLS: u64 = 170;

/// Every file that is edited ends so.
const END: &str = "END\n";

/// A small generator (`xorshift`): the same seed races the same races.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// How a word comes into a file.
enum How {
    Append,
    Replace,
    /// By a handle that was opened before the transaction began.
    ByOldHandle(SimHeldFile),
}

/// One foreign edit that is still to come.
struct Edit {
    call: u64,
    path: String,
    word: String,
    how: How,
}

impl Edit {
    fn act(&self, machine: &SimFs) {
        let result = match &self.how {
            How::ByOldHandle(held) => held.append(self.word.as_bytes()),
            _ if !machine.exists(&self.path) => machine.create(&self.path, &self.word),
            How::Append => machine.append(&self.path, &self.word),
            How::Replace => {
                // What was there goes along: nobody loses anything by this one.
                let mut content = self.word.clone().into_bytes();
                content.extend(machine.read(&self.path).unwrap());
                machine.replace(&self.path, content)
            }
        };
        result.unwrap();
    }
}

#[derive(Debug, Default)]
struct Tally {
    edits: usize,
    committed: usize,
    refused: usize,
    in_place: usize,
    kept: usize,
    in_history: usize,
}

/// A machine with a workspace that has its state folder.
fn start() -> SimFs {
    let machine = SimFs::new();
    machine.make_folders("/w/sub").unwrap();
    for file in ["a", "b", "c", "sub/d"] {
        machine.create(format!("/w/{file}"), END).unwrap();
    }
    apply(&engine(&machine, &PROTOCOL), &request(vec![creates("warm", "warm\n")])).unwrap();
    machine.sync_everything();
    machine
}

fn engine(machine: &SimFs, protocol: &'static Protocol) -> Engine {
    let settings = Settings::default().lock_timeout(Duration::ZERO).program("race");
    Engine::with_fs(Arc::new(machine.process(2)), Path::new("/w"), settings).unwrap().with_protocol(protocol)
}

fn apply(engine: &Engine, request: &Request) -> Result<(), txedit::Error> {
    engine.apply(request, Run::default()).map(drop)
}

/// A transaction on two files, sometimes on a new one and on one that goes, and the paths that it touches.
fn transaction(machine: &SimFs, number: usize, dice: &mut Dice) -> (Request, Vec<String>) {
    let files = ["a", "b", "c", "sub/d"];
    let first = dice.below(4);
    let second = (first + 1 + dice.below(3)) % 4;
    let edited = [first, second].map(|file| files[usize::try_from(file).unwrap()]);
    let line = format!("<t-{number}>\n{END}");
    let mut changes: Vec<_> = edited.iter().map(|file| replaces(file, END, &line)).collect();
    let mut paths: Vec<String> = edited.iter().map(|file| format!("/w/{file}")).collect();
    if dice.below(3) == 0 {
        changes.push(creates(&format!("sub/new-{number}"), &format!("<t-{number}>\n")));
        paths.push(format!("/w/sub/new-{number}"));
    }
    if dice.below(3) == 0 {
        let goes = format!("/w/old-{number}");
        machine.create(&goes, "old\n").unwrap();
        changes.push(deletes(&format!("old-{number}")));
        paths.push(goes);
    }
    (request(changes), paths)
}

/// Some edits of these paths, anywhere in the transaction.
fn edits(machine: &SimFs, paths: &[String], from: usize, dice: &mut Dice) -> Vec<Edit> {
    let count = usize::try_from(1 + dice.below(3)).unwrap();
    let edit = |number| {
        let path = paths[usize::try_from(dice.below(paths.len() as u64)).unwrap()].clone();
        let how = match (dice.below(3), machine.open(&path)) {
            (0, _) | (2, Err(_)) => How::Append,
            (2, Ok(held)) => How::ByOldHandle(held),
            _ => How::Replace,
        };
        Edit { call: dice.below(CALLS), path, word: format!("<f-{number}>"), how }
    };
    let mut edits: Vec<Edit> = (from..from + count).map(edit).collect();
    // Who replaces a file leaves what others write into the old one to nobody; that is their own affair.
    let replaced: Vec<String> =
        edits.iter().filter(|edit| matches!(edit.how, How::Replace)).map(|edit| edit.path.clone()).collect();
    for edit in edits.iter_mut().filter(|edit| replaced.contains(&edit.path)) {
        if matches!(edit.how, How::ByOldHandle(_)) {
            edit.how = How::Append;
        }
    }
    edits
}

/// A round on a machine of its own.
fn round(base: &SimFs, protocol: &'static Protocol, tally: &mut Tally, dice: &mut Dice) {
    let machine = base.fork();
    let engine = engine(&machine, protocol);
    let (mut words, mut reported) = (Vec::new(), BTreeSet::new());
    for number in 0..ROUND {
        // Half of the files are old enough for their times to prove something.
        machine.advance(if dice.below(2) == 0 { Duration::from_secs(60) } else { Duration::ZERO });
        let (request, paths) = transaction(&machine, number, dice);
        let edits = edits(&machine, &paths, words.len(), dice);
        words.extend(edits.iter().map(Word::of));
        let start = machine.calls();
        let (acting, waiting) = (machine.clone(), Mutex::new(edits));
        let waiting = Arc::new(waiting);
        let left = Arc::clone(&waiting);
        machine.set_hook(move |call| {
            let mut waiting = waiting.lock().unwrap();
            waiting.retain(|edit| {
                let due = call.number - start >= edit.call;
                if due {
                    edit.act(&acting);
                }
                !due
            });
            Action::Continue
        });
        let result = apply(&engine, &request);
        machine.clear_hook();
        let line = format!("<t-{number}>");
        let has = |path: &String| machine.read(path).is_ok_and(|content| contains(&content, &line));
        match &result {
            Ok(()) => {
                tally.committed += 1;
                assert!(paths.iter().all(|path| path.contains("old-") || has(path)), "{number}: {words:?}");
            }
            Err(error) => {
                tally.refused += 1;
                assert_ne!(error.outcome(), Outcome::RecoveryRequired, "{number}: {error:?}");
                // What somebody wrote on top of the new content stays, and is told.
                let told = |path: &String| error.kept().iter().any(|kept| kept.path == Path::new(path));
                assert!(!paths.iter().any(|path| has(path) && !told(path)), "{number}: {error:?}");
                reported.extend(error.kept().iter().map(|kept| kept.kept_path.clone()));
            }
        }
        // Those for which the transaction was too short.
        for edit in left.lock().unwrap().drain(..) {
            edit.act(&machine);
        }
    }
    count(&machine, &words, &reported, tally);
}

fn contains(content: &[u8], word: &str) -> bool {
    String::from_utf8_lossy(content).contains(word)
}

/// A word that somebody wrote.
#[derive(Debug)]
struct Word {
    text: String,
    /// It was written into a file that the transaction deletes, or by a handle to one that was no longer in place.
    may_be_in_history: bool,
}

impl Word {
    fn of(edit: &Edit) -> Self {
        let may_be_in_history = matches!(edit.how, How::ByOldHandle(_)) || edit.path.contains("old-");
        Self { text: edit.word.clone(), may_be_in_history }
    }
}

/// Where each word is; one that is nowhere is lost.
fn count(machine: &SimFs, words: &[Word], reported: &BTreeSet<std::path::PathBuf>, tally: &mut Tally) {
    let tree = machine.tree();
    for Word { text: word, may_be_in_history } in words {
        tally.edits += 1;
        let holders: Vec<&Path> =
            tree.iter().filter(|(_, entry)| contains(&entry.content, word)).map(|(path, _)| path.as_path()).collect();
        let is_in = |section: &str| holders.iter().any(|path| path.starts_with(format!("/w/.txedit/{section}")));
        if holders.iter().any(|path| !path.starts_with("/w/.txedit")) {
            tally.in_place += 1;
        } else if holders.iter().any(|path| reported.contains(*path)) {
            tally.kept += 1;
        } else if *may_be_in_history && is_in("history") {
            tally.in_history += 1;
        } else {
            panic!("{word} is lost; it is in {holders:?}; reported as kept: {reported:?}");
        }
    }
}

/// Races so many foreign edits.
fn race(protocol: &'static Protocol, wanted: usize) -> Tally {
    let base = start();
    let seed = std::env::var("TXEDIT_EXPLORE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1_u64);
    let started = std::time::Instant::now();
    let (mut tally, mut dice) = (Tally::default(), Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1));
    while tally.edits < wanted {
        round(&base, protocol, &mut tally, &mut dice);
    }
    eprintln!("{tally:?}, 0 lost, in {:.1} s, seed {seed}", started.elapsed().as_secs_f32());
    tally
}

#[test]
fn no_foreign_edit_is_lost() {
    let tally = race(&PROTOCOL, wanted());
    assert!(tally.committed > 0 && tally.refused > 0 && tally.in_history > 0, "{tally:?}");
}

#[test]
#[should_panic(expected = "is lost")]
fn swaps_that_are_not_looked_at_lose_some() {
    let commit = |n, durable| {
        let mut phases = forward::commit(n, durable);
        for phase in &mut phases {
            phase.steps.retain(|step| !matches!(step, CommitStep::VerifySwap(_)));
        }
        phases
    };
    race(Box::leak(Box::new(Protocol { commit, ..PROTOCOL })), 20_000);
}

#[test]
#[should_panic(expected = "is lost")]
fn files_that_are_deleted_unseen_lose_some() {
    race(Box::leak(Box::new(Protocol { is_new: |_, _| true, ..PROTOCOL })), 20_000);
}
