//! The recovery table, row by row: a commit is killed, other programs change files, and somebody recovers.

use std::fs;
use std::path::Path;

use txedit::report::Recovered;
use txedit::{Decision, RecoverOptions};

use super::child::{self, End, Moment, Role, append, command, killed_at};
use super::engine;
use super::scene::names;
use super::second::all_contents;
use crate::support::mounts::{self, Kind};

/// Entries in this order: three edits, a create, a delete.
const REQUEST: &str = r#"{"files": [
    {"file_path": "a", "edits": [{"old_string": "old", "new_string": "new"}]},
    {"file_path": "b", "edits": [{"old_string": "old", "new_string": "new"}]},
    {"file_path": "c", "edits": [{"old_string": "old", "new_string": "new"}]},
    {"file_path": "d", "content": "new d"},
    {"file_path": "e", "delete": true}]}"#;

const OLD: [(&str, Option<&str>); 5] =
    [("a", Some("old a")), ("b", Some("old b")), ("c", Some("old c")), ("d", None), ("e", Some("old e"))];
const NEW: [(&str, Option<&str>); 5] =
    [("a", Some("new a")), ("b", Some("new b")), ("c", Some("new c")), ("d", Some("new d")), ("e", None)];

const FOREIGN: &str = " foreign";

/// What another program did before the recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    /// Appended to it in place.
    Write(&'static str),
    /// Put another file in its place, or made it.
    Replace(&'static str),
    /// Removed it.
    Remove(&'static str),
    /// Wrote just what the transaction would.
    Agree(&'static str),
    /// Removed the slot of this number.
    RemoveSlot(usize),
    /// Wrote into the slot of this number through a handle from before.
    WriteSlot(usize),
    /// Cut the journal.
    CutJournal,
}

impl Act {
    fn act(self, root: &Path) {
        let txn = || root.join(".txedit/txn").join(&names(root, "txn")[0]);
        match self {
            Self::Write(path) => append(&root.join(path), FOREIGN),
            Self::Replace(path) => {
                fs::write(root.join("temporary"), format!("{path}{FOREIGN}")).unwrap();
                fs::rename(root.join("temporary"), root.join(path)).unwrap();
            }
            Self::Remove(path) => fs::remove_file(root.join(path)).unwrap(),
            Self::Agree(path) => fs::write(root.join(path), format!("new {path}")).unwrap(),
            Self::RemoveSlot(slot) => fs::remove_file(txn().join(format!("{slot:06}"))).unwrap(),
            Self::WriteSlot(slot) => append(&txn().join(format!("{slot:06}")), FOREIGN),
            Self::CutJournal => {
                let path = txn().join("journal");
                fs::write(&path, &fs::read(&path).unwrap()[..700]).unwrap();
            }
        }
    }

    /// The target that another program touched.
    fn path(self) -> Option<&'static str> {
        match self {
            Self::Write(path) | Self::Replace(path) | Self::Remove(path) | Self::Agree(path) => Some(path),
            _ => None,
        }
    }

    fn writes(self) -> bool {
        matches!(self, Self::Write(_) | Self::Replace(_) | Self::WriteSlot(_))
    }
}

/// Nothing swapped; a and b swapped; all swapped; all swapped and marked as done.
const NOTHING: Moment = Moment::Swap(1);
const HALF: Moment = Moment::Swap(3);
const ALL: Moment = Moment::State(1);
const DONE: Moment = Moment::Archive(1);

/// When it was killed, what others did, and what the table says.
const ROWS: [(Moment, &[Act], &str); 33] = [
    (NOTHING, &[], "dropped"),
    (NOTHING, &[Act::Write("a")], "dropped"),
    (NOTHING, &[Act::Replace("b")], "dropped"),
    (NOTHING, &[Act::Remove("c")], "dropped"),
    (NOTHING, &[Act::Replace("d")], "dropped"),
    // Nothing tells whether it was swapped, and somebody removed what came out.
    (NOTHING, &[Act::Remove("e")], "partly_rolled_back"),
    (NOTHING, &[Act::Agree("a")], "dropped"),
    (NOTHING, &[Act::RemoveSlot(0)], "dropped"),
    (NOTHING, &[Act::CutJournal], "left"),
    (HALF, &[], "committed"),
    (HALF, &[Act::Write("c")], "rolled_back"),
    (HALF, &[Act::Replace("c")], "rolled_back"),
    (HALF, &[Act::Remove("c")], "rolled_back"),
    (HALF, &[Act::Replace("d")], "rolled_back"),
    (HALF, &[Act::Write("e")], "rolled_back"),
    (HALF, &[Act::Remove("e")], "committed"),
    (HALF, &[Act::Agree("c")], "committed"),
    (HALF, &[Act::Write("a")], "committed"),
    (HALF, &[Act::Replace("a")], "committed"),
    (HALF, &[Act::Remove("a")], "committed"),
    (HALF, &[Act::Write("a"), Act::Write("c")], "left"),
    (HALF, &[Act::RemoveSlot(0)], "committed"),
    (HALF, &[Act::RemoveSlot(2)], "rolled_back"),
    (HALF, &[Act::WriteSlot(0)], "rolled_back"),
    (HALF, &[Act::WriteSlot(2)], "rolled_back"),
    (HALF, &[Act::CutJournal], "left"),
    (ALL, &[], "committed"),
    (ALL, &[Act::Write("d")], "committed"),
    (ALL, &[Act::Replace("e")], "committed"),
    (ALL, &[Act::WriteSlot(1)], "rolled_back"),
    (DONE, &[], "committed"),
    (DONE, &[Act::WriteSlot(1)], "committed"),
    (DONE, &[Act::Replace("b"), Act::RemoveSlot(0)], "committed"),
];

fn prepare(root: &Path, moment: Moment, acts: &[Act]) {
    fs::create_dir(root).unwrap();
    for (path, content) in OLD {
        if let Some(content) = content {
            fs::write(root.join(path), content).unwrap();
        }
    }
    assert_eq!(child::run(killed_at(command(Role::Apply, root, REQUEST), moment)), End::Killed);
    for act in acts {
        act.act(root);
    }
}

fn now(root: &Path) -> Vec<(&'static str, Option<String>)> {
    OLD.iter().map(|(path, _)| (*path, fs::read_to_string(root.join(path)).ok())).collect()
}

/// Files that nobody else touched are all old, or all new.
#[track_caller]
fn all_are(root: &Path, expected: [(&str, Option<&str>); 5], acts: &[Act], told: &str) {
    for ((path, now), (_, expected)) in now(root).into_iter().zip(expected) {
        if !acts.iter().any(|act| act.path() == Some(path)) {
            let by_slot = now.as_deref().is_some_and(|now| now.ends_with(FOREIGN));
            assert!(by_slot || now.as_deref() == expected, "{told}: {path} is {now:?}, expected {expected:?}");
        }
    }
}

/// What others wrote is there, and so is every old content that they left alone.
#[track_caller]
fn nothing_is_lost(root: &Path, acts: &[Act], told: &str) {
    let contents = all_contents(root);
    let foreign = contents.iter().filter(|content| content.ends_with(FOREIGN)).count();
    let written = acts.iter().filter(|act| act.writes()).count();
    // A staged content that others wrote into is torn, and still nobody's to delete.
    assert_eq!(foreign, written, "{told}: {contents:?}");
    for (slot, (path, old)) in OLD.iter().enumerate() {
        let left_alone = !acts.iter().any(|act| match act {
            Act::Write(at) | Act::Replace(at) | Act::Remove(at) | Act::Agree(at) => at == path,
            Act::RemoveSlot(at) | Act::WriteSlot(at) => *at == slot,
            Act::CutJournal => false,
        });
        if let Some(old) = old.filter(|_| left_alone) {
            assert!(contents.iter().any(|content| content == old), "{told}: {old:?} is lost");
        }
    }
}

/// What others wrote into a target is still in it, whatever was decided.
#[track_caller]
fn foreign_contents_stay(root: &Path, acts: &[Act], before: &[(&str, Option<String>)], told: &str) {
    for ((path, now), (_, before)) in now(root).iter().zip(before) {
        if acts.iter().any(|act| act.path() == Some(path) && act.writes()) {
            assert_eq!(now, before, "{told}: {path}");
        }
    }
}

fn recover(root: &Path, options: RecoverOptions) -> Result<Recovered, txedit::Error> {
    let id = names(root, "txn").remove(0);
    Ok(engine(root).recover(Some(&id), options)?.remove(0))
}

#[test]
fn each_row_of_the_table_holds_on_real_files() {
    mounts::with(Kind::Tmpfs, |scratch| {
        for (index, (moment, acts, expected)) in ROWS.into_iter().enumerate() {
            let root = scratch.join(index.to_string());
            prepare(&root, moment, acts);
            let before = now(&root);
            let told = format!("killed at {moment:?}, then {acts:?}");
            let plan = recover(&root, RecoverOptions::new().plan_only(true)).unwrap();
            assert_eq!(now(&root), before, "{told}: a plan changes nothing");
            let planned = match expected {
                "committed" => "forward",
                "rolled_back" | "partly_rolled_back" => "back",
                "dropped" => "drop",
                _ if acts == [Act::CutJournal] => "left",
                _ => "wait",
            };
            assert_eq!(plan.action.as_str(), planned, "{told}: {plan:?}");
            let done = recover(&root, RecoverOptions::default()).unwrap();
            let told = format!("{told}: {done:?}");
            assert_eq!((done.action.as_str(), done.required), (expected, expected == "left"), "{told}");
            match expected {
                "committed" => all_are(&root, NEW, acts, &told),
                "left" => assert_eq!(now(&root), before, "{told}"),
                _ => all_are(&root, OLD, acts, &told),
            }
            foreign_contents_stay(&root, acts, &before, &told);
            nothing_is_lost(&root, acts, &told);
            assert_eq!(names(&root, "txn").len(), usize::from(expected == "left"), "{told}");
        }
    });
}

#[test]
fn a_person_may_decide_otherwise_and_loses_nothing() {
    let decisions = [Decision::Forward, Decision::Back, Decision::Discard];
    mounts::with(Kind::Tmpfs, |scratch| {
        for (index, (moment, acts, expected)) in ROWS.into_iter().enumerate() {
            for decision in decisions {
                let root = scratch.join(format!("{index} {decision:?}"));
                prepare(&root, moment, acts);
                let before = now(&root);
                let result = recover(&root, RecoverOptions::new().decision(decision));
                let told = format!("killed at {moment:?}, then {acts:?}, then {decision:?}: {result:?}");
                foreign_contents_stay(&root, acts, &before, &told);
                nothing_is_lost(&root, acts, &told);
                let action = result.as_ref().map_or("error", |done| done.action.as_str());
                match (decision, action) {
                    (Decision::Discard, "discarded") => {
                        assert_eq!(now(&root), before, "{told}");
                        assert_eq!(names(&root, "kept").len(), 1, "{told}");
                    }
                    (Decision::Back, "rolled_back" | "partly_rolled_back") => {
                        all_are(&root, OLD, &lost_slots(acts), &told);
                    }
                    (Decision::Forward, "committed") => all_are(&root, NEW, &lost_slots(acts), &told),
                    (Decision::Forward, "partly_committed") => {
                        all_are(&root, NEW, &lost_slots(acts), &told);
                        assert!(!acts.is_empty() && told.contains(" is not new: "), "{told}");
                    }
                    // Nobody can go either way by a journal that does not verify.
                    (_, "left") => assert!(acts == [Act::CutJournal] && expected == "left", "{told}"),
                    // What cannot be swapped as it is makes it impossible to go forward.
                    (Decision::Forward, "error") => assert!(!acts.is_empty(), "{told}"),
                    _ => panic!("{told}"),
                }
            }
        }
    });
}

/// Whoever removed a slot took the way of its file, too.
fn lost_slots(acts: &[Act]) -> Vec<Act> {
    let all = acts.iter().copied();
    all.map(|act| match act {
        Act::RemoveSlot(slot) | Act::WriteSlot(slot) => Act::Remove(OLD[slot].0),
        Act::Agree(path) => Act::Remove(path),
        other => other,
    })
    .collect()
}
