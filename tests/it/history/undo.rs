//! Undo: exactly, only what nobody built on, and told apart by what was reverted already.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use txedit::error::{Correction, Detail, NextStep};
use txedit::fs::OsFs;
use txedit::fs::fault::{FaultCall, FaultFs, FaultOperation, Rule};
use txedit::testing::Errno;
use txedit::{Digest, ErrorKind, Outcome, Retention, UndoOptions};

use crate::support::workspace::{Tree, Workspace, running};

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({ "files": [{ "file_path": path, "edits": [{ "old_string": old, "new_string": new }] }] })
}

fn committed(workspace: &Workspace, request: &Value) -> String {
    workspace.apply(request).unwrap().transaction.unwrap()
}

/// Refused for these files, with everything as it was.
fn conflicts(workspace: &Workspace, id: Option<&str>, expected: &[&str]) {
    let before = Tree::of(workspace.root());
    let error = workspace.undo(id).unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::UndoConflict, Outcome::Unchanged), "{error}");
    let Detail::Conflicts(files) = error.details() else { panic!("{error} lists no files") };
    let files: Vec<_> = files.iter().map(|conflict| conflict.path.clone()).collect();
    assert_eq!(files, expected.iter().map(PathBuf::from).collect::<Vec<_>>());
    Tree::of(workspace.root()).assert_same(&before);
}

#[test]
fn keep_an_undo_from_everything() {
    let workspace = Workspace::with(&[("a", "one\n"), ("b", "one\n"), ("c", "one\n"), ("d", "one\n")]);
    let files = ["a", "b", "c", "d"].map(|path| edit(path, "one", "two")["files"][0].clone());
    let mut request = json!({ "files": files });
    request["files"].as_array_mut().unwrap().push(json!({ "file_path": "new", "content": "" }));
    committed(&workspace, &request);

    workspace.chmod("b", 0o600);
    conflicts(&workspace, None, &["b"]);
    workspace.write("a", "theirs\n");
    fs::remove_file(workspace.path("c")).unwrap();
    fs::remove_file(workspace.path("new")).unwrap();
    fs::create_dir(workspace.path("new")).unwrap();
    conflicts(&workspace, None, &["a", "b", "c", "new"]);
    fs::remove_file(workspace.path("d")).unwrap();
    symlink("b", workspace.path("d")).unwrap();
    conflicts(&workspace, None, &["a", "b", "c", "d", "new"]);
    // Made read-only is changed, too.
    workspace.chmod("b", 0o444);
    conflicts(&workspace, None, &["a", "b", "c", "d", "new"]);
}

#[test]
fn keeps_an_undo_from_overwriting_it() {
    let workspace = Workspace::with(&[("sub/a", "one\n"), ("b", "one\n")]);
    committed(&workspace, &json!({ "files": [{ "file_path": "sub/a", "delete": true }] }));
    workspace.write("sub/a", "theirs\n");
    conflicts(&workspace, None, &["sub/a"]);
    // Its folder went: it comes back with the file.
    fs::remove_dir_all(workspace.path("sub")).unwrap();
    workspace.undo(None).unwrap();
    assert_eq!(workspace.read("sub/a"), "one\n");
}

#[test]
fn keeps_an_undo_from_its_files() {
    let workspace = Workspace::with(&[("sub/a", "one\n"), ("b", "one\n")]);
    let mut request = edit("sub/a", "one", "two");
    request["files"].as_array_mut().unwrap().push(edit("b", "one", "two")["files"][0].clone());
    committed(&workspace, &request);
    fs::remove_dir_all(workspace.path("sub")).unwrap();
    workspace.write("sub", "theirs\n");
    conflicts(&workspace, None, &["sub/a"]);
    fs::remove_file(workspace.path("sub")).unwrap();
    conflicts(&workspace, None, &["sub/a"]);
    symlink("/", workspace.path("sub")).unwrap();
    conflicts(&workspace, None, &["sub/a"]);
}

#[test]
fn undo_takes_the_newest_commit_that_is_not_undone() {
    let workspace = Workspace::with(&[("a", "1\n")]);
    let first = committed(&workspace, &edit("a", "1", "2"));
    let second = committed(&workspace, &edit("a", "2", "3"));
    let undo = workspace.undo(None).unwrap().transaction.unwrap();
    assert_eq!(workspace.read("a"), "2\n");
    let log = workspace.engine.log(10, None).unwrap();
    assert_eq!(log.iter().map(|entry| entry.id.as_str()).collect::<Vec<_>>(), [&undo, &second, &first]);
    assert_eq!((log[0].reverts.first(), log[1].reverted_by.as_ref()), (Some(&second), Some(&undo)));
    workspace.undo(None).unwrap();
    assert_eq!(workspace.read("a"), "1\n");
    let error = workspace.undo(None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownTransaction, "{error}");
    assert_eq!(workspace.read("a"), "1\n");
}

#[test]
fn brings_the_commit_back() {
    let workspace = Workspace::with(&[("a", "1\n")]);
    committed(&workspace, &edit("a", "1", "2"));
    let before = workspace.tree();
    let undo = workspace.undo(None).unwrap().transaction.unwrap();
    workspace.undo(Some(&undo)).unwrap();
    workspace.tree().restorable().assert_same(&before.restorable());
}

#[test]
fn can_be_undone_where_nothing_was_built_on_it() {
    let workspace = Workspace::with(&[("a", "1\n"), ("b", "1\n")]);
    let first = committed(&workspace, &edit("a", "1", "2"));
    let second = committed(&workspace, &edit("b", "1", "2"));
    let third = committed(&workspace, &edit("b", "2", "3"));
    workspace.undo(Some(&first)).unwrap();
    assert_eq!((workspace.read("a"), workspace.read("b")), ("1\n".to_owned(), "3\n".to_owned()));
    conflicts(&workspace, Some(&second), &["b"]);
    workspace.undo(Some(&third)).unwrap();
    workspace.undo(Some(&second)).unwrap();
    assert_eq!(workspace.read("b"), "1\n");
}

#[test]
fn a_second_undo_says_that_it_is_one() {
    let workspace = Workspace::with(&[("a", "1\n")]);
    let first = committed(&workspace, &edit("a", "1", "2"));
    let undo = workspace.undo(Some(&first)).unwrap().transaction.unwrap();
    let before = Tree::of(workspace.root());
    let error = workspace.undo(Some(&first)).unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::UndoConflict, Outcome::Unchanged), "{error}");
    assert!(error.to_string().contains(&undo), "it names the undo: {error}");
    Tree::of(workspace.root()).assert_same(&before);
}

#[test]
fn an_unknown_transaction_cannot_be_undone() {
    let workspace = Workspace::with(&[("a", "1\n")]);
    for id in ["20261121T231459.000001Z-0123456789abcdef", "nonsense", "../..", ""] {
        let error = workspace.undo(Some(id)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnknownTransaction, "{error}");
    }
    assert!(!workspace.path(".txedit").exists());
}

#[test]
fn a_dry_run_of_an_undo_shows_the_diff_and_changes_nothing() {
    let workspace = Workspace::with(&[("a", "1\n")]);
    committed(&workspace, &edit("a", "1", "2"));
    let before = Tree::of(workspace.root());
    let report = workspace.engine.undo(None, true, running()).unwrap();
    assert!(report.dry_run && report.transaction.is_none());
    let diff = report.files[0].extras.diff.as_deref().unwrap();
    assert!(diff.contains("-2\n") && diff.contains("+1\n"), "{diff}");
    Tree::of(workspace.root()).assert_same(&before);
}

#[test]
fn an_original_that_was_written_late_stops_the_undo_and_is_kept() {
    let workspace = Workspace::with(&[("a", "1\n"), ("b", "1\n")]);
    let mut late = fs::File::options().append(true).open(workspace.path("a")).unwrap();
    let first = committed(&workspace, &edit("a", "1", "2"));
    late.write_all(b"late\n").unwrap();
    let before = workspace.tree();
    let error = workspace.undo(None).unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::UndoConflict, Outcome::Unchanged), "{error}");
    workspace.tree().assert_same(&before);

    committed(&workspace, &edit("b", "1", "2"));
    let pruned = workspace.engine.prune(&Retention::default().count(0)).unwrap();
    assert_eq!((pruned.left.as_slice(), pruned.ids.len()), ([first.clone()].as_slice(), 1));
    let kept = workspace.engine.kept().unwrap();
    assert_eq!((kept.len(), &kept[0].id), (1, &first));
    assert_eq!(fs::read(&kept[0].contents[0].kept_path).unwrap(), b"1\nlate\n");
    workspace.tree().assert_same(&before_but(&before, &workspace));
}

/// What was expected of `a` alone; `b` was edited meanwhile.
fn before_but(before: &Tree, workspace: &Workspace) -> Tree {
    let mut expected = before.clone();
    expected.0.insert("b".into(), workspace.tree().at("b").clone());
    expected
}

#[test]
fn history_is_bounded() {
    let unbounded = Retention::default().count(usize::MAX).bytes(u64::MAX).age(Duration::from_secs(1 << 30));
    let bounds: [(Retention, usize); 4] = [
        (unbounded.clone().count(2), 2),
        // The newest takes none of them.
        (unbounded.clone().bytes(250), 3),
        (unbounded.clone().age(Duration::ZERO), 0),
        (unbounded, 5),
    ];
    for (retention, left) in bounds {
        let workspace = Workspace::with(&[("a", &"0".repeat(100))]);
        let ids: Vec<_> = (0..5_u8)
            .map(|at| {
                let content = (at + 1).to_string().repeat(100);
                let write = json!({ "file_path": "a", "content": content, "if_exists": "replace" });
                committed(&workspace, &json!({ "files": [write] }))
            })
            .collect();
        // What is in commit is not looked at.
        let interrupted = workspace.path(".txedit/txn/20200101T000000.000000Z-0123456789abcdef");
        fs::create_dir(&interrupted).unwrap();
        let pruned = workspace.engine.prune(&retention).unwrap();
        assert_eq!(pruned.ids.len(), 5 - left, "{retention:?}");
        assert_eq!(pruned.bytes, 100 * pruned.ids.len() as u64);
        let log = workspace.engine.log(10, None).unwrap();
        let newest: Vec<_> = ids.iter().rev().take(left).collect();
        assert_eq!(log.iter().map(|entry| &entry.id).collect::<Vec<_>>(), newest);
        assert!(interrupted.exists());
        assert_eq!(fs::read_dir(workspace.path(".txedit/trash")).unwrap().count(), 0);
        assert_eq!(workspace.read("a"), "5".repeat(100));
    }
}

const LINES: &str = "a\nb\nc\nd\ne\nf\ng\nh\n";

fn rebased(workspace: &Workspace, id: Option<&str>) -> txedit::Result<txedit::Report> {
    let options = UndoOptions::default().rebase(true);
    workspace.engine.undo_with(id, &options, running())
}

#[test]
fn changes_are_taken_out_of_a_file_that_changed_in_other_lines() {
    let workspace = Workspace::with(&[("x", LINES), ("y", LINES)]);
    let mut request = edit("x", "c\n", "C\nmore\n");
    request["files"].as_array_mut().unwrap().push(edit("y", "h\n", "")["files"][0].clone());
    let first = committed(&workspace, &request);
    // Another program writes one of them in place: what the transaction left stands nowhere any more.
    workspace.write("x", "A\nb\nC\nmore\nd\ne\nf\ng\nh\nlast\n");
    let error = workspace.undo(None).unwrap_err();
    let Detail::Conflicts(conflicts) = error.details() else { panic!("{error} lists no files") };
    assert_eq!((conflicts.len(), conflicts[0].changed_by.len()), (1, 0));
    let diff = conflicts[0].diff.clone().unwrap();
    assert!(diff.contains("-a\n+A\n") && diff.contains("+last\n") && !diff.contains("-C"), "{diff}");
    let report = rebased(&workspace, None).unwrap();
    assert_eq!(workspace.read("x"), "A\nb\nc\nd\ne\nf\ng\nh\nlast\n");
    assert_eq!(workspace.read("y"), LINES);
    assert!(report.files[0].extras.rebased.clone().unwrap().contains("+last\n"));
    assert_eq!(report.files[0].hash_after, Some(Digest::of(workspace.read("x").as_bytes())));
    // The redo goes the same way.
    workspace.write("x", "A\nb\nc\nd\ne\nf\ng\nh\n");
    let options = UndoOptions::default().rebase(true);
    workspace.engine.redo(Some(&first), &options, running()).unwrap();
    assert_eq!(workspace.read("x"), "A\nb\nC\nmore\nd\ne\nf\ng\nh\n");
    // In the same lines there is no way back.
    workspace.write("x", "A\nb\nCC\nmore\nd\ne\nf\ng\nh\n");
    let error = rebased(&workspace, None).unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::UndoConflict, Outcome::Unchanged), "{error}");
}

/// Lines alone are merged: an undo that leaves a mode, or an owner, is none.
#[test]
fn a_mode_that_others_changed_as_well_is_a_conflict_whatever_changed_in_the_lines() {
    let workspace = Workspace::with(&[("x", LINES)]);
    let set_mode = |mode: u32| fs::set_permissions(workspace.path("x"), fs::Permissions::from_mode(mode)).unwrap();
    committed(&workspace, &json!({ "files": [{ "file_path": "x", "mode": "755" }] }));
    set_mode(0o700);
    workspace.write("x", format!("{LINES}last\n"));
    for advice in [workspace.undo(None).unwrap_err(), rebased(&workspace, None).unwrap_err()] {
        assert_eq!((advice.kind(), advice.outcome()), (ErrorKind::UndoConflict, Outcome::Unchanged), "{advice}");
        assert!(!advice.next_steps().contains(&NextStep::Correct(Correction::Rebase)), "{advice:?}");
    }
    // The mode that it gave goes back, and the lines of others stay.
    set_mode(0o755);
    rebased(&workspace, None).unwrap();
    assert_eq!(workspace.read("x"), format!("{LINES}last\n"));
    assert_eq!(fs::metadata(workspace.path("x")).unwrap().permissions().mode() & 0o777, 0o644);
}

#[test]
fn the_first_of_several_can_be_taken_out() {
    let workspace = Workspace::with(&[("x", LINES)]);
    let first = committed(&workspace, &edit("x", "b\n", "B\n"));
    let second = committed(&workspace, &edit("x", "g\n", "G\n"));
    let error = workspace.undo(Some(&first)).unwrap_err();
    let Detail::Conflicts(conflicts) = error.details() else { panic!("{error} lists no files") };
    assert_eq!(conflicts[0].changed_by, [second]);
    rebased(&workspace, Some(&first)).unwrap();
    assert_eq!(workspace.read("x"), LINES.replace('g', "G"));
}

#[test]
fn redo_reverts_the_newest_undo_and_nothing_else() {
    let workspace = Workspace::with(&[("x", "one\n")]);
    let redo = |id: Option<&str>| workspace.engine.redo(id, &UndoOptions::default(), running());
    assert_eq!(redo(None).unwrap_err().kind(), ErrorKind::UnknownTransaction);
    let first = committed(&workspace, &edit("x", "one", "two"));
    assert_eq!(redo(Some(&first)).unwrap_err().kind(), ErrorKind::UnknownTransaction);
    for _ in 0..2 {
        workspace.undo(None).unwrap();
        assert_eq!(workspace.read("x"), "one\n");
        redo(None).unwrap();
        assert_eq!(workspace.read("x"), "two\n");
        // A redo is no undo: there is nothing more to redo.
        assert_eq!(redo(None).unwrap_err().kind(), ErrorKind::UnknownTransaction);
    }
}

#[test]
fn a_write_through_an_old_handle_is_told() {
    let workspace = Workspace::with(&[("x", "one\n")]);
    let mut old = fs::OpenOptions::new().append(true).open(workspace.path("x")).unwrap();
    let id = committed(&workspace, &edit("x", "one", "two"));
    assert!(workspace.engine.log(1, None).unwrap()[0].warnings.is_empty());
    old.write_all(b"late\n").unwrap();
    let log = workspace.engine.log(1, None).unwrap();
    assert!(log[0].warnings[0].contains("written after the commit"), "{:?}", log[0].warnings);
    let status = workspace.engine.status().unwrap();
    assert!(status.warnings[0].contains(&id), "{:?}", status.warnings);
    let kept = workspace.path(".txedit/history").join(id).join("000000");
    assert_eq!(fs::read_to_string(kept).unwrap(), "one\nlate\n");
}

/// What cannot be opened may be the newest, or the one with the key: neither is passed over.
#[test]
fn a_transaction_that_cannot_be_opened_is_not_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let faults = Arc::new(FaultFs::new(Arc::new(OsFs::new())));
    let workspace = Workspace::on(faults.clone(), folder.path());
    workspace.write("x", "one\n");
    workspace.write("y", "one\n");
    committed(&workspace, &edit("x", "one", "two"));
    let mut request = edit("y", "one", "two");
    request["idempotency_key"] = json!("k");
    let newest = committed(&workspace, &request);
    let shut = newest.clone();
    let opens = move |call: &FaultCall| call.operation == FaultOperation::OpenBeneath && call.path.ends_with(&shut);
    faults.add(Rule::fail(1, Errno::ACCESS.raw_os_error()).matching(opens).from_then_on());
    request["files"] = json!([{ "file_path": "z", "content": "z" }]);
    for error in [workspace.undo(None).unwrap_err(), workspace.refuses(&request)] {
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}");
        assert!(error.path().unwrap().ends_with(&newest), "{error}");
    }
    assert_eq!((workspace.read("x"), workspace.read("y")), ("two\n".to_owned(), "two\n".to_owned()));
    // Without it nothing hangs on that one.
    request.as_object_mut().unwrap().remove("idempotency_key");
    workspace.apply(&request).unwrap();
    workspace.engine.log(9, None).unwrap();
}

#[test]
fn an_undo_after_a_redo_takes_away_the_folders_that_the_redo_made() {
    let workspace = Workspace::with(&[("a", "one\n")]);
    let id = committed(&workspace, &json!({ "files": [{ "file_path": "new/folder/file", "content": "" }] }));
    for _ in 0..3 {
        let report = workspace.undo(None).unwrap();
        assert!(report.warnings.is_empty(), "{:?}", report.warnings);
        assert!(!workspace.path("new").exists());
        workspace.engine.redo(Some(&id), &UndoOptions::default(), running()).unwrap();
        assert!(workspace.path("new/folder/file").exists());
    }
    // By the id of the redo itself, too.
    let newest = workspace.engine.log(1, None).unwrap().remove(0);
    workspace.undo(Some(&newest.id)).unwrap();
    assert!(!workspace.path("new").exists());
}

/// The bytes that a refused undo of so many files reads, all of which changed since.
fn bytes_of_a_refused_undo(files: usize) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let faults = Arc::new(FaultFs::new(Arc::new(OsFs::new())));
    let workspace = Workspace::on(faults.clone(), folder.path());
    let names: Vec<String> = (0..files).map(|n| format!("f{n}")).collect();
    let write = |content: &str| {
        for name in &names {
            workspace.write(name, content);
        }
    };
    write("old\n");
    let edits = |old: &str, new: &str| {
        let file = |name: &String| json!({"file_path": name, "edits": [{"old_string": old, "new_string": new}]});
        json!({"files": names.iter().map(file).collect::<Vec<_>>()})
    };
    let id = workspace.apply(&edits("old", "new")).unwrap().transaction.unwrap();
    workspace.apply(&edits("new", "newer")).unwrap();
    write("theirs\n");
    faults.reset();
    let error = workspace.undo(Some(&id)).unwrap_err();
    let Detail::Conflicts(conflicts) = error.details() else { panic!("{error:?}") };
    assert_eq!(conflicts.len(), files);
    // What the first one left is in the second one's slots.
    assert!(conflicts.iter().all(|conflict| conflict.changed_by.len() == 1 && conflict.by_another_program));
    assert!(conflicts.iter().all(|conflict| conflict.diff.as_deref().unwrap().contains("-new\n+theirs\n")));
    faults.bytes_read()
}

#[test]
fn an_undo_reads_history_once_however_many_files_changed_since() {
    let (few, many) = (bytes_of_a_refused_undo(20), bytes_of_a_refused_undo(200));
    assert!(many < 15 * few, "{few} bytes for 20 files, {many} for 200");
}
