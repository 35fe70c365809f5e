//! A copy of a workspace that was interrupted: all of its inodes are others, and a person vouches for its journal.

use std::fs;
use std::path::{Path, PathBuf};

use txedit::{Decision, ErrorKind, NextStep, RecoverOptions};

use super::child::{self, End, Moment, Role, command, killed_at, parse};
use super::scene::{self, Scene, Tree, names, tree};
use super::{alone, engine};
use crate::support::mounts::run;

const KEY: &str = "K";

fn keyed(request: &str) -> String {
    request.replacen('{', &format!("{{ \"idempotency_key\": \"{KEY}\", "), 1)
}

/// A file becomes a folder, and a folder with a file in it a file.
const TURNED: &str = r#"{ "files": [
    {"file_path": "src/one.txt", "edits": [{"old_string": "old one", "new_string": "new one"}]},
    {"file_path": "lib/away.txt", "delete": true},
    {"file_path": "lib/away.txt/in/it", "content": "in it\n"},
    {"file_path": "turn/in", "delete": true},
    {"file_path": "turn/deep/in", "delete": true},
    {"file_path": "turn", "content": "a file\n"} ]}"#;

/// A workspace in which something is about to be interrupted, and what it is before and after.
struct Case {
    root: PathBuf,
    old: Tree,
    new: Tree,
    role: Role,
    request: String,
}

fn edited(root: &Path) -> Case {
    let Scene { root, old, new, .. } = Scene::new(root);
    Case { root, old, new, role: Role::Apply, request: keyed(scene::REQUEST) }
}

/// An undo, which takes the folders away that were made.
fn taken_away(root: &Path) -> Case {
    let Scene { root, old, new, .. } = Scene::new(root);
    engine(&root).apply(&parse(scene::REQUEST), alone()).unwrap();
    Case { root, old: new, new: old, role: Role::Undo, request: String::new() }
}

fn turned(root: &Path) -> Case {
    let there = Scene::new(root).root;
    fs::create_dir_all(there.join("turn/deep")).unwrap();
    fs::write(there.join("turn/in"), "in\n").unwrap();
    fs::write(there.join("turn/deep/in"), "deep\n").unwrap();
    let old = tree(&there);
    let trial = root.with_extension("trial");
    run("cp", ["-a".as_ref(), there.as_os_str(), trial.as_os_str()]).unwrap();
    engine(&trial).apply(&parse(TURNED), alone()).unwrap();
    Case { new: tree(&trial), old, root: there, role: Role::Apply, request: keyed(TURNED) }
}

impl Case {
    /// Recovers a copy of it as a person decides. All of it is done, and all of it is what was planned.
    fn recover_copy(&self, decision: Decision, told: &str) {
        let there = self.root.with_extension(format!("{decision:?}"));
        run("cp", ["-a".as_ref(), self.root.as_os_str(), there.as_os_str()]).unwrap();
        let engine = engine(&there);
        let id = names(&there, "txn").remove(0);
        let trust = RecoverOptions::new().decision(decision).trust_journal(true);
        let before = tree(&there);
        let plan = engine.recover(Some(&id), trust.plan_only(true)).unwrap().remove(0);
        assert_eq!(tree(&there), before, "{told}");
        let done = engine.recover(Some(&id), trust).unwrap().remove(0);
        let told = format!("{told} {decision:?}: {plan:?}, then {done:?}");
        let is_new = match (plan.action.as_str(), done.action.as_str()) {
            ("forward", "committed") => true,
            ("back", "rolled_back") | ("drop", "dropped") => false,
            _ => panic!("{told}"),
        };
        assert!(!is_new || decision != Decision::Back, "{told}");
        assert!(is_new || decision != Decision::Forward, "{told}");
        assert_eq!(tree(&there), *if is_new { &self.new } else { &self.old }, "{told}");
        assert!(done.kept.is_empty() && engine.kept().unwrap().is_empty(), "{told}");
        assert_eq!(names(&there, "txn"), [""; 0], "{told}");
        assert_eq!(names(&there, "history").contains(&id), is_new, "{told}");
        assert!(engine.status().unwrap().interrupted.is_empty(), "{told}");
        if self.role == Role::Apply {
            // Its key is that of what was done, or free.
            let again = engine.apply(&parse(&self.request), alone()).unwrap();
            assert_eq!((again.already_applied, tree(&there) == self.new), (is_new, true), "{told}");
        }
        if is_new {
            engine.undo(Some(&id), false, alone()).unwrap();
            assert_eq!(tree(&there), self.old, "{told}");
        }
    }
}

/// Interrupts it at each of the moments, and recovers a copy of each in each way. Answers how often.
fn recover_copies(make: fn(&Path) -> Case, moment: fn(usize) -> Moment) -> usize {
    let scratch = tempfile::tempdir().unwrap();
    for n in 1.. {
        let case = make(&scratch.path().join(n.to_string()));
        match child::run(killed_at(command(case.role, &case.root, &case.request), moment(n))) {
            End::Killed if names(&case.root, "txn").is_empty() => return n - 1,
            End::Killed => {}
            End::Done(_) => return n - 1,
            End::Failed(why) => panic!("{why}"),
        }
        for decision in [Decision::Table, Decision::Back, Decision::Forward] {
            case.recover_copy(decision, &format!("{:?}", moment(n)));
        }
    }
    unreachable!()
}

#[test]
fn a_copy_is_rolled_back_or_finished_as_a_whole() {
    assert!(recover_copies(edited, Moment::Swap) > 10);
    assert_eq!(recover_copies(edited, Moment::State), 1);
}

#[test]
fn a_copy_of_an_undo_is_rolled_back_or_finished_as_a_whole() {
    assert!(recover_copies(taken_away, Moment::Swap) > 10);
}

#[test]
fn a_copy_whose_files_and_folders_turn_into_each_other_is_rolled_back_or_finished_as_a_whole() {
    assert!(recover_copies(turned, Moment::Swap) > 4);
}

fn interrupted(scratch: &Path) -> (Case, PathBuf) {
    let case = edited(&scratch.join("here"));
    let killed = killed_at(command(Role::Apply, &case.root, &case.request), Moment::Swap(6));
    assert_eq!(child::run(killed), End::Killed);
    let there = scratch.canonicalize().unwrap().join("there");
    run("cp", ["-a".as_ref(), case.root.as_os_str(), there.as_os_str()]).unwrap();
    (case, there)
}

const TRUST: RecoverOptions = RecoverOptions::new().decision(Decision::Back).trust_journal(true);

#[test]
fn a_recovery_of_a_copy_that_is_cut_off_is_done_once_more() {
    for n in 1.. {
        let scratch = tempfile::tempdir().unwrap();
        let (case, there) = interrupted(scratch.path());
        let id = names(&there, "txn").remove(0);
        let end = child::run(killed_at(command(Role::Vouch, &there, &id), Moment::Write(n)));
        // Its journal may be one of this folder by then, and it may be through.
        let again = if names(&there, "txn").is_empty() {
            Vec::new()
        } else {
            engine(&there).recover(Some(&id), TRUST).unwrap()
        };
        let told = format!("{n} {end:?} {again:?}");
        assert_eq!(tree(&there), case.old, "{told}");
        assert!(again.iter().all(|one| one.kept.is_empty()) && names(&there, "kept").is_empty(), "{told}");
        match end {
            End::Killed => {}
            End::Done(_) if n > 10 => return,
            _ => panic!("{told}"),
        }
    }
}

#[test]
fn a_copy_of_what_was_contended_is_only_discarded() {
    let scratch = tempfile::tempdir().unwrap();
    let (_, there) = interrupted(scratch.path());
    let id = names(&there, "txn").remove(0);
    let folder = there.join(".txedit/txn").join(&id);
    fs::rename(folder.join("journal"), folder.join("journal.contended")).unwrap();
    let before = tree(&there);
    for plan_only in [true, false] {
        let error = engine(&there).recover(Some(&id), TRUST.plan_only(plan_only)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::RecoveryRequired, "{error:?}");
        assert_eq!(error.next_steps(), [NextStep::Discard { id: id.clone() }], "{error}");
    }
    let discard = RecoverOptions::new().decision(Decision::Discard);
    assert_eq!(engine(&there).recover(Some(&id), discard).unwrap()[0].action.as_str(), "discarded");
    assert_eq!((tree(&there), names(&there, "kept")), (before, vec![id]));
}

/// The copy, not the one that it was copied from.
#[test]
fn of_two_with_one_journal_the_one_that_is_named_is_discarded() {
    let scratch = tempfile::tempdir().unwrap();
    let (case, _) = interrupted(scratch.path());
    let id = names(&case.root, "txn").remove(0);
    let copy = "29991231T235959.000000Z-0123456789abcdef";
    let txn = case.root.join(".txedit/txn");
    run("cp", ["-a".as_ref(), txn.join(&id).as_os_str(), txn.join(copy).as_os_str()]).unwrap();
    let discard = RecoverOptions::new().decision(Decision::Discard);
    assert_eq!(engine(&case.root).recover(Some(copy), discard).unwrap()[0].id, copy);
    assert_eq!((names(&case.root, "txn"), names(&case.root, "kept")), (vec![id], vec![copy.to_owned()]));
}
