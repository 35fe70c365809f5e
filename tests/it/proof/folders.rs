//! A file that becomes a folder, and a folder that becomes a file: beside other programs, checks, faults and crashes.
//!
//! What each patch makes of a tree is in `dialect::folders`; crashes without anybody else are in `explore`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::{Value, json};
use txedit::error::Detail;
use txedit::fs::sim::SimFs;
use txedit::testing::{Explorer, ForeignDeed};
use txedit::{ErrorKind, Outcome, Retention, UndoOptions};

use crate::proof::explore::{as_on_fuse, explore_once, scripts, seeded};
use crate::proof::foreign::{creations, deeds, explore};
use crate::support::workspace::{Tree, Workspace, running};

/// A folder `d` with a file, and with a folder in which nothing is; and a file `a`.
fn workspace() -> Workspace {
    let workspace = Workspace::with(&[("a", "one\n"), ("d/x", "x\n")]);
    fs::create_dir_all(workspace.path("d/in/empty")).unwrap();
    workspace
}

fn moves(from: &str, to: &str) -> Value {
    json!({ "file_path": from, "rename_to": to })
}

/// `a` becomes a folder, and `d` a file.
fn both() -> Value {
    json!({ "files": [moves("a", "a/in"), moves("d/x", "d")] })
}

fn conflicts(workspace: &Workspace, expected: &[&str]) {
    let before = Tree::of(workspace.root());
    let error = workspace.undo(None).unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::UndoConflict, Outcome::Unchanged), "{error}");
    let Detail::Conflicts(files) = error.details() else { panic!("{error} lists no files") };
    let files: Vec<_> = files.iter().map(|conflict| conflict.path.to_str().unwrap()).collect();
    assert_eq!(files, expected);
    Tree::of(workspace.root()).assert_same(&before);
}

#[test]
fn an_undo_and_a_redo_give_folders_their_modes_back() {
    let workspace = workspace();
    for (folder, mode) in [("d", 0o750), ("d/in", 0o711), ("d/in/empty", 0o1777)] {
        workspace.chmod(folder, mode);
    }
    let before = workspace.tree();
    workspace.apply(&both()).unwrap();
    assert_eq!((workspace.read("a/in"), workspace.read("d")), ("one\n".to_owned(), "x\n".to_owned()));
    workspace.chmod("a", 0o700);
    let after = workspace.tree();
    workspace.undo(None).unwrap();
    workspace.tree().restorable().assert_same(&before.restorable());
    workspace.engine.redo(None, &UndoOptions::default(), running()).unwrap();
    workspace.tree().restorable().assert_same(&after.restorable());
}

#[test]
fn what_somebody_made_since_is_in_the_way_of_an_undo() {
    let workspace = workspace();
    workspace.apply(&both()).unwrap();
    workspace.write("a/theirs", "theirs\n");
    conflicts(&workspace, &["a/theirs"]);
    fs::remove_file(workspace.path("a/theirs")).unwrap();
    fs::rename(workspace.path("d"), workspace.path("elsewhere")).unwrap();
    fs::create_dir(workspace.path("d")).unwrap();
    conflicts(&workspace, &["d"]);
    workspace.write("d/x", "theirs\n");
    conflicts(&workspace, &["d/x", "d"]);
    fs::remove_dir_all(workspace.path("d")).unwrap();
    fs::rename(workspace.path("elsewhere"), workspace.path("d")).unwrap();
    fs::remove_dir_all(workspace.path("a")).unwrap();
    workspace.write("a", "theirs\n");
    conflicts(&workspace, &["a/in"]);
}

#[test]
fn what_would_stay_in_a_folder_refuses_the_request() {
    let workspace = workspace();
    workspace.write("d/in/y", "y\n");
    let error = workspace.finds(&both(), &[(ErrorKind::NotARegularFile, "files/1/rename_to")]);
    let Detail::Findings(findings) = error.details() else { panic!("{error}") };
    assert!(findings[0].message.contains("d/in/y in it stays"), "{findings:?}");
    // One that nothing is taken out of stays a folder.
    fs::create_dir(workspace.path("empty")).unwrap();
    workspace.finds(
        &json!({ "files": [{ "file_path": "empty", "content": "" }] }),
        &[(ErrorKind::NotARegularFile, "files/0/file_path")],
    );
}

#[test]
fn a_file_and_a_folder_trade_places_over_several_calls() {
    let workspace = workspace();
    let before = workspace.tree();
    let mut dry = both();
    dry["dry_run"] = json!(true);
    assert!(workspace.apply(&dry).unwrap().dry_run);
    let id = workspace.open(&json!({ "files": [moves("a", "a/in")] }));
    workspace.stage(Some(&id), &json!({ "files": [moves("d/x", "d")] })).unwrap();
    workspace.preview(&id).unwrap();
    workspace.tree().outside_state().assert_same(&before.outside_state());
    workspace.commit(&id).unwrap();
    assert_eq!((workspace.read("a/in"), workspace.read("d")), ("one\n".to_owned(), "x\n".to_owned()));
    // An answer that was lost is given again.
    let again = workspace.commit(&id).unwrap();
    assert!(again.files.iter().all(|file| file.extras.in_place == Some(true)), "{again:?}");
}

/// What a program does that has the folder open while it goes.
#[test]
fn what_comes_into_a_folder_after_the_commit_is_told_and_kept() {
    let workspace = workspace();
    let mut late = Command::new("sh");
    late.args(["-c", "read go; echo late > y; read go"]).current_dir(workspace.path("d/in"));
    let mut late = late.stdin(std::process::Stdio::piped()).spawn().unwrap();
    workspace.apply(&both()).unwrap();
    let mut stdin = late.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, b"go\ngo\n").unwrap();
    late.wait().unwrap();
    let warnings = &workspace.engine.log(1, None).unwrap()[0].warnings;
    assert!(warnings.iter().any(|warning| warning.contains("d/in was written after the commit")), "{warnings:?}");
    workspace.engine.prune(&Retention::default().count(0)).unwrap();
    let kept = workspace.engine.kept().unwrap();
    let [content] = &kept[0].contents[..] else { panic!("{kept:?}") };
    assert_eq!(content.path, workspace.path("d/in"), "{content:?}");
    assert_eq!(fs::read_to_string(content.kept_path.join("y")).unwrap(), "late\n");
}

/// The file and the folder are as they were, and what the check left is kept.
#[test]
fn a_check_that_fails_makes_everything_old_whenever_it_crashes() {
    let builds = |machine: &SimFs| {
        drop(machine.create("/w/a/built", b"built\n"));
        false
    };
    explore_once(&scripts::file_and_folder_checked(builds).named("a check that builds"));
}

#[test]
fn a_check_that_passes_keeps_everything_new_whenever_it_crashes() {
    explore_once(&scripts::file_and_folder_checked(|_| true).named("a check that passes"));
}

#[test]
fn a_check_that_takes_away_what_is_there_breaks_no_promise() {
    let removes = |machine: &SimFs| {
        drop((machine.delete("/w/sub"), machine.delete("/w/a/d"), machine.delete_folder("/w/a")));
        false
    };
    explore_once(&scripts::file_and_folder_checked(removes).named("a check that removes"));
    let exchanges = |machine: &SimFs| {
        drop((machine.delete("/w/sub"), machine.make_folders("/w/sub"), machine.create("/w/sub/d", b"theirs\n")));
        drop((machine.rename("/w/a", "/w/elsewhere"), machine.create("/w/a", b"theirs\n")));
        false
    };
    explore_once(&scripts::file_and_folder_checked(exchanges).named("a check that exchanges"));
}

#[test]
fn crashes_on_fuse_leave_old_or_new() {
    explore_once(&as_on_fuse(&scripts::file_and_folder()));
}

#[test]
fn crashes_of_a_contended_commit_leave_old_or_new() {
    explore_once(&scripts::file_and_folder().contended());
}

#[test]
fn nothing_that_others_write_is_lost_where_a_file_becomes_a_folder() {
    let mut all = deeds("/w/a", "a one\n", "a two\n");
    all.extend(creations("/w/a/theirs", "theirs\n"));
    all.extend(creations("/w/a/deep/in", "in two\n"));
    explore(&scripts::file_to_folder(), &all, 150);
}

#[test]
fn nothing_that_others_write_is_lost_where_a_folder_becomes_a_file() {
    let mut all = deeds("/w/sub/d", "d one\n", "d two\n");
    all.extend(creations("/w/sub/theirs", "theirs\n"));
    all.extend(creations("/w/sub/empty/theirs", "theirs\n"));
    all.extend(creations("/w/sub", "sub two\n"));
    all.push(("/w/sub", ForeignDeed::MoveFolder("/w/elsewhere".into())));
    all.push(("/w/sub/empty", ForeignDeed::MoveFolder("/w/elsewhere".into())));
    explore(&scripts::folder_to_file(), &all, 150);
}

#[test]
fn nothing_that_others_write_is_lost_where_folders_are_made() {
    let mut all = creations("/w/deep", "theirs\n");
    all.extend(creations("/w/deep/er/theirs", "theirs\n"));
    all.extend(creations("/w/private/theirs", "theirs\n"));
    all.push(("/w/private", ForeignDeed::MoveFolder("/w/elsewhere".into())));
    explore(&scripts::folders_made(), &all, 150);
}

#[test]
fn nothing_that_others_write_is_lost_where_folders_are_removed() {
    let mut all = deeds("/w/sub/d", "d one\n", "d two\n");
    all.extend(creations("/w/sub/theirs", "theirs\n"));
    all.extend(creations("/w/sub/in/theirs", "theirs\n"));
    all.extend(creations("/w/sub/in/empty/theirs", "theirs\n"));
    all.extend(creations("/w/sub", "theirs\n"));
    all.push(("/w/sub", ForeignDeed::MoveFolder("/w/elsewhere".into())));
    all.push(("/w/sub/in/empty", ForeignDeed::MoveFolder("/w/elsewhere".into())));
    explore(&scripts::folders_removed(), &all, 200);
}

#[test]
fn crashes_of_a_contended_commit_with_folders_leave_old_or_new() {
    explore_once(&scripts::folders_made().contended());
    explore_once(&as_on_fuse(&scripts::folders_removed()));
}

#[test]
fn a_check_decides_about_folders_whenever_it_crashes() {
    explore_once(&scripts::folders_checked(|_| true).named("a check that passes"));
    explore_once(&scripts::folders_checked(|_| false).named("a check that fails"));
    let uses = |machine: &SimFs| {
        // Empty, so that a power loss takes nothing of their contents.
        drop((machine.create("/w/deep/er/built", b""), machine.make_folders("/w/sub")));
        drop(machine.create("/w/sub/built", b""));
        false
    };
    explore_once(&scripts::folders_checked(uses).named("a check that uses them"));
}

fn injected(script: &txedit::testing::Script) {
    let explorer = seeded(Explorer { images: 4, images_in_recovery: 4, depth: 1, ..Explorer::default() });
    for injected in [explorer.inject(script, None, 2), explorer.inject_into_recovery(script, 64)] {
        let injected = injected.unwrap_or_else(|violation| panic!("{script:?}:\n{violation}"));
        assert!(injected.faults > 50, "{injected}");
    }
}

#[test]
fn the_promise_holds_whatever_call_fails() {
    injected(&scripts::file_to_folder());
    injected(&scripts::folder_to_file());
    injected(&scripts::folders_made());
    injected(&scripts::folders_removed());
}

/// What is in a folder that could not be rolled back waits for the recovery with it.
#[test]
fn the_promise_holds_whatever_call_of_the_rollback_after_a_check_fails() {
    let script = scripts::file_and_folder_checked(|_| false);
    let explorer = seeded(Explorer { images: 2, images_in_recovery: 2, depth: 0, ..Explorer::default() });
    let found = explorer.inject(&script, None, 3).unwrap_or_else(|violation| panic!("{violation}"));
    assert!(found.faults > 200, "{found}");
}

#[test]
fn a_patch_of_the_transaction_does_the_same_elsewhere() {
    let workspace = workspace();
    let id = workspace.apply(&both()).unwrap().transaction.unwrap();
    let patch = workspace.engine.git_patch(&id).unwrap();
    let other = self::workspace();
    fs::remove_dir_all(other.path("d/in")).unwrap();
    fs::write(other.path("patch"), &patch).unwrap();
    let git = Command::new("git").args(["apply", "patch"]).current_dir(other.root()).output();
    let Ok(out) = git else { return eprintln!("skipped: there is no git") };
    assert!(out.status.success(), "{}{}", String::from_utf8_lossy(&patch), String::from_utf8_lossy(&out.stderr));
    assert_eq!((other.read("a/in"), other.read("d")), ("one\n".to_owned(), "x\n".to_owned()));
    assert_eq!(fs::metadata(other.path("a")).unwrap().permissions().mode() & 0o777, 0o755);
}
