//! The state folder in the git folder of a root, of a linked work tree, and of a submodule; and git folders that it is
//! never put into.

use std::os::unix::fs::{PermissionsExt, chown, symlink};

use txedit::check::CheckIn;
use txedit::{Check, Edit, Engine, Request, Run, Settings};

use super::*;
use crate::support::is_without;

#[test]
fn in_a_repository_it_is_in_the_git_folder() {
    let here = repository(".");
    let ran = here.run(&EDIT);
    assert_eq!(warnings(ran.exits(0)), "null", "nothing packs it");
    assert_eq!(both(&here), [None, Some(1)]);
    assert_eq!(here.run(&["status"]).exits(0).stdout, "no interrupted transactions\n");
    here.run(&["undo"]).exits(0);
    assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), "one\n");
    assert_eq!(both(&here), [None, Some(2)]);
}

#[test]
fn one_that_is_in_the_root_stays_in_use() {
    let here = Workspace::new();
    here.write("a", "one\n");
    let ran = here.run(&[&["--root", "."], &EDIT[..]].concat());
    assert!(warnings(ran.exits(0)).contains("leave it out of what packs"), "{ran:?}");
    make_repository(&here, ".git");
    here.run(&BACK).exits(0);
    assert_eq!(both(&here), [Some(2), None]);
}

#[test]
fn what_is_no_repository_or_not_the_users_alone_has_none() {
    let marked = Workspace::new();
    marked.write("a", "one\n").write(".git/HEAD", "");
    let shared = repository(".");
    fs::set_permissions(shared.path().join(".git"), PermissionsExt::from_mode(0o770)).unwrap();
    let linked = repository("elsewhere");
    symlink("elsewhere/.git", linked.path().join(".git")).unwrap();
    for here in [marked, shared, linked] {
        here.run(&EDIT).exits(0);
        assert_eq!(both(&here), [Some(1), None]);
    }
}

/// Two workspaces of one repository must not take each other's transactions for their own.
#[test]
fn a_folder_of_a_work_tree_has_one_of_its_own() {
    let here = repository(".");
    here.write("sub/a", "one\n");
    here.run(&EDIT).exits(0);
    here.run(&[&["-C", "sub", "--root", "."], &EDIT[..]].concat()).exits(0);
    assert_eq!(both(&here), [None, Some(1)]);
    assert_eq!(committed(&here.path().join("sub/.txedit")), Some(1));
}

#[test]
fn a_git_file_is_believed_only_if_the_repository_names_the_root() {
    // Somebody else's repository, which knows nothing of this work tree; and one that comes along in the root itself.
    let other = repository(".");
    make_repository(&other, "bare");
    for target in [other.path().join(".git"), other.path().join("bare"), "inside".into(), "nowhere".into()] {
        let here = Workspace::new();
        here.write("a", "one\n").write(".git", &format!("gitdir: {}\n", target.display()));
        make_repository(&here, "inside");
        here.write("inside/config", "[core]\n\tworktree = ..\n");
        other.write("bare/config", "[core]\n\tbare = true\n").write(".git/config", "");
        here.run(&EDIT).exits(0);
        assert_eq!(committed(&here.path().join(".txedit")), Some(1), "{target:?}");
    }
    assert!(
        committed(&other.path().join(".git/txedit")).is_none()
            && committed(&other.path().join("bare/txedit")).is_none()
    );
}

#[test]
fn linked_work_trees_have_one_each_and_a_copy_of_one_has_its_own() {
    if is_without("birth times: a state folder elsewhere counts for nothing") {
        return;
    }
    let here = Workspace::new();
    here.write("main/a", "one\n");
    let main = here.path().join("main");
    if !git(&main, &["init", "-q"]) {
        return eprintln!("skipped: no git");
    }
    git(&main, &["add", "."]);
    git(&main, &["commit", "-qm", "one"]);
    git(&main, &["worktree", "add", "-q", "../tree"]);
    let edit = |folder: &str, line: &[&str]| here.run(&[&["-C", folder], line].concat()).exits(0).json();
    edit("tree", &EDIT);
    let state = main.join(".git/worktrees/tree/txedit");
    assert_eq!(committed(&state), Some(1));
    edit("main", &EDIT);
    assert_eq!(committed(&main.join(".git/txedit")), Some(1));
    // The copy has the file that names the git folder of the original.
    let copied = Command::new("cp").args(["-r", "tree", "copy"]).current_dir(here.path()).status().unwrap();
    assert!(copied.success());
    assert_eq!(edit("copy", &["log", "--json"])["transactions"], serde_json::json!([]));
    edit("copy", &BACK);
    assert_eq!((committed(&state), committed(&here.path().join("copy/.txedit"))), (Some(1), Some(1)));
    // Moved by hand, and git has not noticed yet: it is the same work tree nevertheless.
    fs::rename(here.path().join("tree"), here.path().join("moved")).unwrap();
    edit("moved", &["undo", "--json"]);
    assert_eq!(committed(&state), Some(2));
    assert_eq!(fs::read_to_string(here.path().join("moved/a")).unwrap(), "one\n");
}

#[test]
fn a_submodule_has_one_in_its_own_git_folder() {
    let here = Workspace::new();
    here.write("library/a", "one\n").write("main/b", "");
    for folder in ["library", "main"] {
        let folder = here.path().join(folder);
        if !git(&folder, &["init", "-q"]) {
            return eprintln!("skipped: no git");
        }
        git(&folder, &["add", "."]);
        git(&folder, &["commit", "-qm", "one"]);
    }
    let main = here.path().join("main");
    git(&main, &["submodule", "--quiet", "add", "../library", "parts/sub"]);
    here.run(&[&["-C", "main/parts/sub"], &EDIT[..]].concat()).exits(0);
    assert_eq!(committed(&main.join(".git/modules/parts/sub/txedit")), Some(1));
    assert_eq!(committed(&main.join("parts/sub/.txedit")), None);
}

#[test]
fn nothing_leads_into_it_whatever_is_allowed() {
    let here = repository(".");
    here.write("sub/a", "one\n");
    make_repository(&here, "sub/.git");
    here.run(&EDIT).exits(0);
    here.run(&[&["-C", "sub"], &EDIT[..]].concat()).exits(0);
    symlink(".git/txedit", here.path().join("link")).unwrap();
    symlink("txedit", here.path().join(".git/other")).unwrap();
    let id = here.path().join(".git/txedit/id");
    let before = fs::read(&id).unwrap();
    for path in
        [".git/txedit/id", ".GIT/txedit/id", ".git/./txedit/new", ".git/txedit", "link/id", ".git/other/id", text(&id)]
    {
        let line = ["--json", "--allow-vcs", "create", path, "--text", "x", "--force"];
        let json = here.run(&line).exits(2).json();
        assert!(json.to_string().contains("OUTSIDE_ROOT"), "{path}: {json}");
    }
    for line in [["rm", "-r", ".git"], ["rm", "-r", "sub"], ["mv", "sub", "there"]] {
        let ran = here.run(&[&["--allow-vcs"], &line[..]].concat());
        assert!(ran.status == Some(2) && ran.stderr.contains("txedit's own state folder"), "{ran:?}");
    }
    assert_eq!(fs::read(&id).unwrap(), before);
}

/// An interrupted transaction in the state folder of another workspace, above or beneath, stands in the way of its files.
#[test]
fn an_interrupted_transaction_is_found_from_above_and_from_beneath() {
    let outer = repository(".");
    outer.write("sub/1", "old");
    let (outer, id) = interrupted::killed_with(outer, None);
    assert!(outer.path().join(".git/txedit/txn").join(&id).exists());
    make_repository(&outer, "sub/.git");
    // Beneath, a file of the sub is not one of it; above, the files are.
    outer.run(&["-C", "sub", "edit", "1", "--old", "old", "--new", "x"]).exits(0);
    let ran = outer.run(&["--json", "edit", "1", "--old", "old", "--new", "x"]);
    assert!(warnings(&ran).contains(&id), "{ran:?}");

    let (inner, id) = interrupted::killed_with(repository("."), None);
    let above = Workspace::new();
    fs::rename(inner.path(), above.path().join("sub")).unwrap();
    let ran = above.run(&["--root", ".", "--json", "edit", "sub/1", "--old", "old", "--new", "x", "--dry-run"]);
    assert_eq!(ran.exits(6).json()["transaction_id"], *id, "{ran:?}");
}

#[test]
fn a_view_has_its_layers_in_it() {
    if !view::is_here() {
        return;
    }
    let here = repository(".");
    here.run(&EDIT).exits(0);
    // The history is not seen by what runs in the view.
    let check = "grep two a && test ! -w .git/txedit && test ! -e .git/txedit/history && test ! -e .txedit/history";
    let line = ["--check-in", "view", "--check", check, "edit", "a", "--old", "two", "--new", "two two"];
    here.run(&line).exits(0);
    here.run(&["run", "--", "sh", "-c", "echo new > b; rm a"]).exits(0);
    assert_eq!(both(&here), [None, Some(3)]);
    assert!(!here.path().join(".git/txedit/view").exists());
}

/// This process serves no views, so that the check gets a copy, in which the state folder is not.
#[test]
fn a_copy_in_the_place_of_a_view_is_made_without_it() {
    let here = repository(".");
    let settings = Settings::default().check_in(CheckIn::View);
    let engine = Engine::open_with(here.path(), settings).unwrap().allowing_checks();
    for (old, new) in [("one", "two"), ("two", "three")] {
        let script = "test ! -e .git/txedit && test -e .git/HEAD";
        let check = Check::new(["sh", "-c", script].map(Into::into).to_vec());
        let report = engine.apply(&Request::new().edit("a", Edit::replace(old, new)).check(check), Run::default());
        assert_eq!(report.unwrap().check.unwrap().place.word(), "copy");
    }
    assert_eq!(both(&here), [None, Some(2)]);
}

/// Whoever prunes to be rid of a secret means every history.
#[test]
fn every_history_is_pruned() {
    let here = repository(".");
    here.run(&EDIT).exits(0);
    fs::create_dir(here.path().join(".txedit")).unwrap();
    here.run(&BACK).exits(0);
    let json = here.run(&["--json", "history", "prune", "--keep", "0"]).exits(0).json();
    assert_eq!((json["pruned"].as_array().unwrap().len(), both(&here)), (2, [Some(0), Some(0)]));
}

/// What another user has put beside the state folder in use is told, and stands in nobody's way.
#[test]
fn one_of_another_user_beside_the_one_in_use_is_told() {
    let here = repository(".");
    fs::create_dir_all(here.path().join(".git/txedit")).unwrap();
    if chown(here.path().join(".git/txedit"), Some(1234), None).is_err() {
        return eprintln!("skipped: only root can give a folder away");
    }
    // In a git folder of this user alone it is none that anybody can put there unseen.
    here.run(&EDIT).exits(5);
    here.run(&["status"]).exits(6);
    // In one that others share it is: this user has another one.
    fs::set_permissions(here.path().join(".git"), fs::Permissions::from_mode(0o777)).unwrap();
    here.run(&EDIT).exits(0);
    let status = here.run(&["--json", "status"]);
    assert!(warnings(status.exits(0)).contains(".git/txedit"), "{status:?}");
    assert!(warnings(&status).contains("interrupted transactions in it are not looked at"), "{status:?}");
    assert_eq!(fs::read_dir(here.path().join(".git/txedit")).unwrap().count(), 0);
    assert_eq!(committed(&here.path().join(".txedit")), Some(1));
}

/// Git follows it, and txedit does not; what is interrupted behind it is told.
#[test]
fn what_is_behind_a_symlink_is_told() {
    let (here, id) = interrupted::killed_with(repository("."), None);
    let there = Workspace::new();
    let git = here.path().join(".git");
    fs::rename(&git, there.path().join("git")).unwrap();
    symlink(there.path().join("git"), &git).unwrap();
    let why = "/git/txedit is behind a symlink .git, which is not followed: put the git folder at its place: interrupted \
               transactions in it are not looked at";
    let edit = ["--json", "edit", "4", "--old", "old", "--new", "x", "--dry-run"];
    for line in [&["--json", "status"][..], &edit] {
        let ran = here.run(line);
        assert!(warnings(ran.exits(0)).contains(why), "{ran:?}");
    }
    fs::remove_file(&git).unwrap();
    fs::rename(there.path().join("git"), &git).unwrap();
    here.run(&["recover", &id]).exits(0);
    // One in which nothing was ever committed is nothing to speak of.
    let bare = Workspace::new();
    fs::create_dir(there.path().join("git")).unwrap();
    symlink(there.path().join("git"), bare.path().join(".git")).unwrap();
    bare.write("a", "one\n");
    let status = bare.run(&["--json", "--root", ".", "status"]);
    assert_eq!(warnings(status.exits(0)), "null", "{status:?}");
}
