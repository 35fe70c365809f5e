//! A part of an open transaction is committed, and the rest stays open or is discarded.

use std::fs;

use proptest::prelude::*;
use serde_json::{Value, json};
use txedit::review::{Review, SelectedCommit, SelectedFile, Selection, TakenRuns};
use txedit::{ErrorKind, Outcome, Result};

use super::refused;
use crate::support::selected::{commit_without_closing, runs};
use crate::support::workspace::{Workspace, running};

/// Five lines to be changed, with lines between them.
const LINES: &str = "one\nx\ntwo\nx\nthree\nx\nfour\nx\nfive\n";

impl Workspace {
    fn review(&self, id: &str) -> Review {
        self.engine.review(id, None, running()).unwrap()
    }

    fn commit_selected(&self, id: &str, files: &[SelectedFile], keeps_rest: bool) -> Result<SelectedCommit> {
        let plan_hash = self.review(id).preview.plan_hash;
        let selection = Selection { plan_hash, files: files.to_vec(), keeps_rest };
        self.engine.commit_selected(id, &selection, None, running())
    }

    fn open_ids(&self) -> Vec<String> {
        self.engine.status().unwrap().open.into_iter().map(|open| open.id).collect()
    }
}

fn upper_case(path: &str) -> Value {
    let edit = |word: &str| json!({ "old_string": word, "new_string": word.to_uppercase() });
    let edits = ["one", "two", "three", "four", "five"].map(edit);
    json!({ "file_path": path, "edits": edits })
}

#[test]
fn three_of_five_changes_are_committed_and_the_others_stay_open() {
    let workspace = Workspace::with(&[("a", LINES), ("b", "b\n"), ("c", "c\n")]);
    let id = workspace.open(&json!({ "label": "upper case", "files": [
        upper_case("a"),
        { "file_path": "new", "content": "new\n" },
        { "file_path": "b", "delete": true },
        { "file_path": "c", "rename_to": "d" },
    ]}));
    let reviewed = workspace.review(&id).files;
    assert_eq!(reviewed[0].as_ref().unwrap().runs.as_ref().unwrap().len(), 5);
    assert!(reviewed[1..].iter().all(|file| file.as_ref().unwrap().runs.is_none()), "as a whole, or not at all");
    assert_eq!(reviewed[3].as_ref().unwrap().after.as_deref(), Some(&b"c\n"[..]));

    let files = [runs(&[0, 2, 3]), SelectedFile::Whole, SelectedFile::Nothing, SelectedFile::Nothing];
    let done = workspace.commit_selected(&id, &files, true).unwrap();
    assert_eq!(workspace.read("a"), "ONE\nx\ntwo\nx\nTHREE\nx\nFOUR\nx\nfive\n");
    assert_eq!(
        (workspace.read("new"), workspace.read("b"), workspace.read("c")),
        ("new\n".into(), "b\n".into(), "c\n".into())
    );
    assert_eq!(done.report.files.len(), 2);
    let rest = done.rest.unwrap();
    assert_ne!(rest, id);
    assert_eq!(workspace.open_ids(), [rest.as_str()]);
    assert_eq!(workspace.engine.status().unwrap().open[0].label.as_deref(), Some("upper case"));

    // Somebody else changes another line meanwhile: what is left is carried over.
    workspace.write("a", workspace.read("a").replacen('x', "y", 1));
    workspace.commit(&rest).unwrap();
    assert_eq!(workspace.read("a"), "ONE\ny\nTWO\nx\nTHREE\nx\nFOUR\nx\nFIVE\n");
    assert!(!workspace.path("b").exists() && !workspace.path("c").exists());
    assert_eq!(workspace.read("d"), "c\n");
    assert!(workspace.open_ids().is_empty());
    assert_eq!(fs::read_dir(workspace.path(".txedit/open")).unwrap().count(), 0);
}

#[test]
fn what_is_not_selected_is_discarded_where_that_is_asked() {
    let workspace = Workspace::with(&[("a", LINES)]);
    let id = workspace.open(&json!({ "files": [upper_case("a")] }));
    let done = workspace.commit_selected(&id, &[runs(&[4])], false).unwrap();
    assert_eq!(done.rest, None);
    assert_eq!(workspace.read("a"), LINES.replace("five", "FIVE"));
    assert!(workspace.open_ids().is_empty());
}

#[test]
fn other_lines_may_stand_where_some_were_proposed() {
    let workspace = Workspace::with(&[("a", LINES)]);
    let id = workspace.open(&json!({ "files": [upper_case("a"), { "file_path": "new", "content": "new\n" }] }));
    let instead = TakenRuns { runs: 0..2, instead: Some(b"1\n2\n".to_vec()) };
    let files = [SelectedFile::Runs(vec![instead]), SelectedFile::Content(b"newer\n".to_vec())];
    let done = workspace.commit_selected(&id, &files, true).unwrap();
    assert_eq!(workspace.read("a"), "1\n2\nx\nthree\nx\nfour\nx\nfive\n");
    assert_eq!(workspace.read("new"), "newer\n");
    workspace.commit(&done.rest.unwrap()).unwrap();
    assert_eq!(workspace.read("a"), "1\n2\nx\nTHREE\nx\nFOUR\nx\nFIVE\n");
}

#[test]
fn the_same_answer_is_given_again() {
    let workspace = Workspace::with(&[("a", LINES)]);
    let id = workspace.open(&json!({ "files": [upper_case("a")] }));
    let plan_hash = workspace.review(&id).preview.plan_hash;
    let selection = Selection { plan_hash, files: vec![runs(&[1])], keeps_rest: true };
    let commit = || workspace.engine.commit_selected(&id, &selection, None, running()).unwrap();
    let (first, again) = (commit(), commit());
    assert_eq!(again.report.transaction, first.report.transaction);
    assert!(again.report.already_applied);
    assert_eq!(again.rest, first.rest);
    assert_eq!(workspace.read("a"), LINES.replace("two", "TWO"));
}

#[test]
fn of_two_who_decide_the_second_is_told_that_nothing_of_theirs_was_committed() {
    for (first, second, keeps_rest) in [(&[0][..], &[1][..], true), (&[0], &[0], false), (&[0, 1, 2, 3, 4], &[0], true)]
    {
        let workspace = Workspace::with(&[("a", LINES)]);
        let id = workspace.open(&json!({ "files": [upper_case("a")] }));
        let plan_hash = workspace.review(&id).preview.plan_hash;
        let commit = |numbers: &[usize], keeps_rest| {
            let selection = Selection { plan_hash, files: vec![runs(numbers)], keeps_rest };
            workspace.engine.commit_selected(&id, &selection, None, running())
        };
        let done = commit(first, true).unwrap();
        let (tree, open) = (workspace.tree(), workspace.open_ids());
        let error = commit(second, keeps_rest).unwrap_err();
        refused(&error, ErrorKind::ConcurrentModification);
        assert!(error.message().contains(&done.report.transaction.unwrap()), "{error}");
        workspace.tree().assert_same(&tree);
        assert_eq!(workspace.open_ids(), open);
    }
}

#[test]
fn a_file_is_not_selected_without_the_new_folder_that_it_is_in() {
    let workspace = Workspace::with(&[]);
    let id = workspace.open(&json!({ "files": [
        { "file_path": "s", "make_folder": true },
        { "file_path": "s/f", "content": "x\n" },
        { "file_path": "g", "content": "x\n" },
    ]}));
    let (whole, nothing) = (SelectedFile::Whole, SelectedFile::Nothing);
    let files = [nothing.clone(), whole.clone(), whole.clone()];
    refused(&workspace.commit_selected(&id, &files, true).unwrap_err(), ErrorKind::ValidationFailed);
    assert!(!workspace.path("s").exists() && !workspace.path("g").exists());
    let rest = workspace.commit_selected(&id, &[nothing.clone(), nothing, whole], true).unwrap().rest.unwrap();
    workspace.commit(&rest).unwrap();
    assert_eq!(workspace.read("s/f"), "x\n");
}

#[test]
fn a_recovery_opens_what_is_left_of_one_whose_process_died_before_it_was_closed() {
    let workspace = Workspace::with(&[("a", LINES)]);
    let id = workspace.open(&json!({ "files": [upper_case("a")] }));
    let done = commit_without_closing(workspace.root(), &id, vec![runs(&[0])]);
    assert!(done.report.warnings.iter().any(|told| told.contains("closing")), "{:?}", done.report.warnings);
    let status = workspace.engine.status().unwrap();
    assert!(status.open.is_empty() && status.warnings.iter().any(|told| told.contains(&id)), "{status:?}");
    assert!(workspace.engine.open_transactions(None).unwrap().is_empty());
    let rests = workspace.engine.close_committed(running()).unwrap();
    assert_eq!(workspace.open_ids(), rests);
    workspace.commit(&rests[0]).unwrap();
    assert_eq!(workspace.read("a"), LINES.to_uppercase().replace('X', "x"));
}

#[test]
fn nothing_is_committed_that_was_not_reviewed() {
    let workspace = Workspace::with(&[("a", LINES), ("b", "b\n")]);
    let id = workspace.open(&json!({ "files": [upper_case("a"), { "file_path": "b", "delete": true }] }));
    let before = workspace.tree();
    let refuse = |files: &[SelectedFile], kind| {
        refused(&workspace.commit_selected(&id, files, true).unwrap_err(), kind);
        workspace.tree().assert_same(&before);
        assert_eq!(workspace.open_ids(), [id.as_str()]);
    };
    let nothing = SelectedFile::Nothing;
    refuse(&[nothing.clone(), nothing.clone()], ErrorKind::ValidationFailed);
    refuse(&[runs(&[]), nothing.clone()], ErrorKind::ValidationFailed);
    refuse(&[runs(&[0])], ErrorKind::ValidationFailed);
    refuse(&[runs(&[5]), nothing.clone()], ErrorKind::ValidationFailed);
    refuse(&[runs(&[1, 0]), nothing.clone()], ErrorKind::ValidationFailed);
    refuse(&[nothing.clone(), runs(&[0])], ErrorKind::ValidationFailed);
    refuse(&[SelectedFile::Content(b"".to_vec()), nothing.clone()], ErrorKind::ValidationFailed);

    let plan_hash = workspace.review(&id).preview.plan_hash;
    let selection = Selection { plan_hash, files: vec![runs(&[0]), nothing], keeps_rest: true };
    workspace.write("a", LINES.replace("five", "V\nfive"));
    let error = workspace.engine.commit_selected(&id, &selection, None, running()).unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::ConcurrentModification, Outcome::Unchanged), "{error}");
    assert_eq!(workspace.read("b"), "b\n");
}

#[test]
fn an_attempt_that_failed_leaves_all_of_it_open() {
    let workspace = Workspace::with(&[("a", LINES), ("b", "b\n")]);
    let id = workspace.open(&json!({ "files": [upper_case("a"), { "file_path": "b", "delete": true }] }));
    let plan_hash = workspace.review(&id).preview.plan_hash;
    let selection = Selection { plan_hash, files: vec![runs(&[0]), SelectedFile::Nothing], keeps_rest: true };
    let check = txedit::Check::new(vec!["false".into()]);
    let error = workspace.engine.commit_selected(&id, &selection, Some(check), running()).unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::CheckFailed, Outcome::RolledBack), "{error}");
    assert_eq!(workspace.open_ids(), [id.as_str()]);
    // All of it is committed, and no rest comes to life.
    workspace.commit(&id).unwrap();
    assert_eq!(workspace.read("a"), LINES.to_uppercase().replace('X', "x"));
    assert!(!workspace.path("b").exists() && workspace.open_ids().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn a_part_and_then_the_rest_is_the_whole(
        old in prop::collection::vec("[abc]{0,2}\r?\n", 1..12),
        new in prop::collection::vec("[abc]{0,2}\r?\n", 1..12),
        chosen in prop::collection::vec(any::<bool>(), 12),
        others in prop::collection::vec(any::<bool>(), 3),
        ends in any::<bool>(),
    ) {
        let (old, mut new) = (old.concat(), new.concat());
        if !ends { new.truncate(new.len() - 1) }
        prop_assume!(old != new);
        let workspace = Workspace::with(&[("a", &old), ("b", "b\n"), ("c", "c\n")]);
        let id = workspace.open(&json!({ "files": [
            { "file_path": "a", "content": new, "if_exists": "replace" },
            { "file_path": "b", "delete": true },
            { "file_path": "c", "edits": [{ "old_string": "c", "new_string": "C" }], "rename_to": "sub/c" },
            { "file_path": "n", "content": "n\n" },
        ]}));
        let reviewed = workspace.review(&id);
        let there = reviewed.files[0].as_ref().unwrap().runs.as_ref().unwrap();
        let some: Vec<_> = (0..there.len()).filter(|run| chosen[*run % 12]).collect();
        let whole = |is: &bool| if *is { SelectedFile::Whole } else { SelectedFile::Nothing };
        let mut files = vec![runs(&some)];
        files.extend(others.iter().map(whole));
        let mut expected = String::new();
        let mut at = 0;
        for (run, (before, after)) in there.iter().enumerate() {
            expected.push_str(&old[at..before.start]);
            expected.push_str(if some.contains(&run) { &new[after.clone()] } else { &old[before.clone()] });
            at = before.end;
        }
        expected.push_str(&old[at..]);
        if some.is_empty() && !others.contains(&true) {
            refused(&workspace.commit_selected(&id, &files, true).unwrap_err(), ErrorKind::ValidationFailed);
            return Ok(());
        }
        let done = workspace.commit_selected(&id, &files, true).unwrap();
        prop_assert_eq!(workspace.read("a"), expected);
        let is = |path: &str| workspace.path(path).exists();
        prop_assert_eq!((!is("b"), is("sub/c"), is("n")), (others[0], others[1], others[2]));
        prop_assert_eq!(done.rest.is_none(), some.len() == there.len() && others.iter().all(|is| *is));
        if let Some(rest) = done.rest {
            workspace.commit(&rest).unwrap();
        }
        prop_assert_eq!(workspace.read("a"), new);
        prop_assert!(!is("b") && !is("c") && is("n"));
        prop_assert_eq!(workspace.read("sub/c"), "C\n");
        prop_assert!(workspace.open_ids().is_empty());
    }
}
