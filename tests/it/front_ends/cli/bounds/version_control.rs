//! Folders of version control, and whatever else git takes for a repository.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::{apply, denied, file, workspace};
use crate::front_ends::cli::{Workspace, run};

const HOOK: &str = ".git/hooks/pre-commit";

#[test]
fn folders_of_version_control_are_outside() {
    let here = workspace();
    symlink(".git/hooks", here.path().join("link")).unwrap();
    symlink("../.git/config", here.path().join("sub/settings")).unwrap();
    let folded = [".GIT/x", "sub/.Hg/x", ".g\u{200d}it/x", ".\u{17f}vn/x", "GIT~1/x", ".git./x", ".git:x/y"];
    let plain =
        [HOOK, ".git/config", "sub/.git", "new/.git", ".hg/hgrc", "a/.jj/x", ".svn/x", "link/x", "sub/settings"];
    for path in plain.into_iter().chain(folded) {
        denied(&apply(&here, &file(path), &[]));
    }
    for (change, from) in [(json!({"rename_to": HOOK}), "a"), (json!({"delete": true}), "sub/.git")] {
        let mut entry = change.clone();
        entry["file_path"] = json!(from);
        denied(&apply(&here, &json!({"files": [entry]}), &[]));
        denied(&run(here.command(&["stage", "plan.json", "--json"]).current_dir(here.path())));
    }
    denied(&here.run(&["edit", ".git/config", "--old", "core", "--new", "x", "--json"]));
    denied(&here.run(&["replace", "core", "x", ".git/config", "--json"]));
    assert_eq!(fs::read_to_string(here.path().join(".git/config")).unwrap(), "[core]\n");
    assert!(
        !here.path().join(HOOK).exists()
            && !here.path().join(".git/hooks/x").exists()
            && !here.path().join(".txedit").exists()
    );
    for name in [".github/workflows/x", ".gitignore", "x.git/config", ".git-x/y"] {
        apply(&here, &file(name), &[]).exits(0);
    }
}

#[test]
fn an_operator_may_open_them_and_what_was_done_then_is_not_undone_without_him() {
    let here = workspace();
    let done = apply(&here, &file(HOOK), &["--allow-vcs"]).exits(0).json();
    let id = done["transaction_id"].as_str().unwrap().to_owned();
    denied(&here.run(&["undo", &id, "--json"]));
    denied(&here.run(&["show", &id, "--format", "git", "--json"]));
    let shown = here.run(&["show", &id, "--json"]).exits(0).stdout.clone();
    assert!(shown.contains("only whoever starts txedit can allow it") && !shown.contains("+x"), "{shown}");
    assert!(here.path().join(HOOK).exists());
    run(here.command(&["undo", &id]).env("TXEDIT_ALLOW_VCS", "1")).exits(0);
    assert!(!here.path().join(HOOK).exists());
}

#[test]
fn a_repository_is_outside_whatever_its_name() {
    let here = workspace();
    for name in ["data", "deep/bare"] {
        for inside in ["HEAD", "objects/x", "refs/heads/main", "config", "hooks/x"] {
            here.write(&format!("{name}/{inside}"), "one\n");
        }
    }
    here.write("like/HEAD", "one\n").write("like/refs/x", "one\n");
    symlink("data/hooks", here.path().join("link")).unwrap();
    for path in ["data/config", "data/hooks/pre-commit", "data/new/x", "deep/bare/HEAD", "link/x"] {
        denied(&apply(&here, &file(path), &[]));
    }
    denied(&here.run(&["replace", "one", "1", "data", "--json"]));
    let found = here.run(&["replace", "one", "1", "--json"]).exits(0).json();
    assert_eq!(found["files_edited"], 3, "a, and what is only like one: {found}");
    assert_eq!(fs::read_to_string(here.path().join("data/config")).unwrap(), "one\n");
    apply(&here, &file("data/hooks/pre-commit"), &["--allow-vcs"]).exits(0);
    // A root that is one itself is one, too.
    let bare = here.path().join("deep/bare");
    denied(&run(here
        .command(&["edit", "config", "--old", "one", "--new", "x", "--json", "--root", "."])
        .current_dir(bare)));
}

#[test]
fn what_a_git_file_names_is_outside_without_a_store_of_its_own() {
    let here = workspace();
    for inside in ["HEAD", "commondir", "config", "hooks/x"] {
        here.write(&format!("store/{inside}"), "one\n");
    }
    for path in ["store/config", "store/hooks/pre-commit"] {
        denied(&apply(&here, &file(path), &[]));
    }
    assert_eq!(here.run(&["replace", "one", "1", "--json"]).exits(0).json()["files_edited"], 1, "a alone");
    apply(&here, &file("store/config"), &["--allow-vcs"]).exits(0);
}

#[test]
fn other_systems_of_version_control_are_outside_too() {
    let here = workspace();
    for path in [".sl/config", "deep/.bzr/branch/branch.conf", "_darcs/prefs/defaults", ".pijul/config", "_DARCS/x"] {
        denied(&apply(&here, &file(path), &[]));
        apply(&here, &file(path), &["--allow-vcs"]).exits(0);
    }
    for path in ["darcs/x", "_darcsx/x", "x.sl", "bzr/x"] {
        apply(&here, &file(path), &[]).exits(0);
    }
}

#[test]
fn a_root_in_a_folder_of_version_control_is_outside_as_a_whole() {
    let here = workspace();
    fs::write(here.path().join(".git/description"), "one\n").unwrap();
    for root in [".git", ".git/hooks"] {
        let inside = here.path().join(root);
        let line = ["edit", "description", "--old", "one", "--new", "x", "--json", "--root", "."];
        denied(&run(here.command(&line).current_dir(&inside)));
        here.write("plan.json", &file("pre-commit").to_string());
        denied(&here.run(&["apply", "plan.json", "--json", "--root", root]));
        assert!(!inside.join("pre-commit").exists());
    }
    here.run(&["apply", "plan.json", "--root", ".git/hooks", "--allow-vcs"]).exits(0);
}

/// Makes what git takes for a repository, with a secret in its config.
fn bare(here: &Workspace, name: &str) {
    for inside in ["HEAD", "objects/x", "refs/heads/main", "config", "hooks/x"] {
        here.write(&format!("{name}/{inside}"), "one\n");
    }
}

#[test]
fn a_root_in_a_repository_of_any_name_is_outside_as_a_whole() {
    let here = workspace();
    bare(&here, "bare");
    here.write("bare/hooks/deep/x", "one\n");
    for root in ["bare", "bare/hooks", "bare/hooks/deep"] {
        let inside = here.path().join(root);
        here.write("plan.json", &file("x").to_string());
        denied(&here.run(&["apply", "plan.json", "--json", "--root", root]));
        denied(&here.run(&["stage", "plan.json", "--json", "--root", root]));
        for text in ["one", "none"] {
            denied(&run(here.command(&["replace", text, "x", "--json", "--root", "."]).current_dir(&inside)));
        }
        assert!(!inside.join(".txedit").exists());
    }
    assert_eq!(fs::read_to_string(here.path().join("bare/hooks/x")).unwrap(), "one\n");
    here.run(&["apply", "plan.json", "--root", "bare/hooks", "--allow-vcs"]).exits(0);
    // A work tree in it is not git's own.
    here.write("bare/main/.git", "gitdir: ../worktrees/main\n").write("bare/main/sub/x", "one\n");
    for root in ["bare/main", "bare/main/sub"] {
        here.run(&["apply", "plan.json", "--root", root]).exits(0);
    }
}

#[test]
fn a_search_that_begins_in_a_repository_says_nothing_of_it() {
    let here = workspace();
    bare(&here, "o/bare");
    symlink("o/bare/hooks", here.path().join("link")).unwrap();
    for text in ["one", "none"] {
        for path in ["o/bare", "o/bare/config", "o/bare/hooks", "link", "link/x"] {
            denied(&here.run(&["replace", text, "x", path, "--json"]));
        }
        let root = here.path().display().to_string();
        let line = ["replace", text, "x", "--json", "--root", &root];
        denied(&run(here.command(&line).current_dir(here.path().join("o/bare/hooks"))));
    }
    here.run(&["replace", "one", "1", "o/bare/config", "--allow-vcs"]).exits(0);
}
