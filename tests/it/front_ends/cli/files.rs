//! `create`, `mv` and `rm`: one line, one transaction, or nothing.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Stdio;

use super::{Ran, Workspace, run};
use crate::support::workspace::Tree;

/// Files, folders with modes of their own, an empty one, and symlinks.
fn project() -> Workspace {
    let here = Workspace::new();
    here.write(".git/HEAD", "").write("a", "a\n").write("b", "b\n").write("d/f", "f\n").write("d/s/g", "g\n");
    fs::create_dir_all(here.path().join("d/s/empty")).unwrap();
    fs::create_dir(here.path().join("other")).unwrap();
    fs::set_permissions(here.path().join("d/s"), PermissionsExt::from_mode(0o750)).unwrap();
    fs::set_permissions(here.path().join("d/s/empty"), PermissionsExt::from_mode(0o700)).unwrap();
    symlink("s/g", here.path().join("d/link")).unwrap();
    symlink("d", here.path().join("to_d")).unwrap();
    here
}

fn tree(here: &Workspace) -> Tree {
    Tree::of(&here.path()).restorable().outside_state()
}

fn content(here: &Workspace, name: &str) -> String {
    fs::read_to_string(here.path().join(name)).unwrap()
}

fn with_input(here: &Workspace, line: &[&str], input: &str) -> Ran {
    let mut command = here.command(line);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    Ran::from(child.wait_with_output().unwrap())
}

#[test]
fn a_file_is_made_of_a_text_of_a_file_or_of_the_input() {
    let here = project();
    let before = tree(&here);
    let sub = |line: &[&str]| run(here.command(line).current_dir(here.path().join("d")));
    let made = sub(&["create", "new/x", "--text", "-no line break", "--label", "made", "--json"]);
    assert_eq!(made.exits(0).json()["file_results"][0]["file_path"], here.path().join("d/new/x").to_str().unwrap());
    assert_eq!(content(&here, "d/new/x"), "-no line break");
    assert_eq!(here.run(&["log", "--json"]).json()["transactions"][0]["label"], "made");
    sub(&["create", "../y", "--content-file", "../a"]).exits(0);
    assert_eq!(content(&here, "y"), "a\n");
    with_input(&here, &["create", "z"], "from the input\n").exits(0);
    assert_eq!(content(&here, "z"), "from the input\n");
    here.run(&["create", "w", "--text", "é", "--encoding", "windows-1252"]).exits(0);
    assert_eq!(fs::read(here.path().join("w")).unwrap(), b"\xe9");
    here.run(&["undo", "--last", "4"]).exits(0);
    tree(&here).assert_same(&before);
}

#[test]
fn a_file_that_is_there_is_replaced_only_by_force() {
    let here = project();
    fs::set_permissions(here.path().join("a"), PermissionsExt::from_mode(0o754)).unwrap();
    let before = tree(&here);
    let refused = here.run(&["create", "a", "--text", "x"]);
    assert!(refused.exits(2).stderr.contains("a is there already"), "{refused:?}");
    assert!(refused.stderr.contains("--force"), "{refused:?}");
    here.run(&["create", "d", "--text", "x", "--force"]).exits(2);
    here.run(&["create", "n", "--text", "x", "--content-file", "a"]).exits(2);
    here.run(&["create", "n", "--content-file", "none"]).exits(2);
    here.run(&["create", "n", "--text", "x", "--check", "false"]).exits(7);
    let dry = here.run(&["create", "n", "--text", "x\n", "--dry-run"]);
    assert!(dry.exits(0).stdout.contains("\n+x\n"), "{dry:?}");
    tree(&here).assert_same(&before);
    here.run(&["create", "a", "--text", "x", "--force"]).exits(0);
    assert_eq!((content(&here, "a").as_str(), tree(&here).at("a").mode & 0o777), ("x", 0o754));
}

#[test]
fn an_edit_takes_texts_from_files_and_is_of_all_files_or_of_none() {
    let here = project();
    here.write("old", "one\ntwo\n").write("new", "-1\n").write("a", "one\ntwo\nthree\n").write("d/f", "one\ntwo\n");
    let before = tree(&here);
    let edit = |files: &[&str], more: &[&str]| {
        let line = [&["edit"], files, &["--old-file", "../old", "--new-file", "../new"], more].concat();
        run(here.command(&line).current_dir(here.path().join("d")))
    };
    let refused = edit(&["../a", "f", "../b"], &[]);
    assert!(refused.exits(1).stderr.contains("edit 1 of 1 in"), "{refused:?}");
    assert_eq!(edit(&["../a", "f", "f"], &["--json"]).exits(2).json()["error_code"], "VALIDATION_FAILED");
    edit(&["../a"], &["--old", "one"]).exits(2);
    here.run(&["edit", "a", "--old", "one"]).exits(2);
    here.run(&["edit", "a", "--old-file", "none", "--new", "x"]).exits(2);
    tree(&here).assert_same(&before);
    let done = edit(&["../a", "f"], &["--label", "both", "--json"]);
    assert_eq!(done.exits(0).json()["files_edited"], 2);
    assert_eq!((content(&here, "a"), content(&here, "d/f")), ("-1\nthree\n".into(), "-1\n".into()));
    assert_eq!(here.run(&["log", "--json"]).json()["transactions"][0]["label"], "both");
    here.run(&["replace", "three", "3", "--label", "replaced"]).exits(0);
    assert_eq!(here.run(&["log", "--json"]).json()["transactions"][0]["label"], "replaced");
}

#[test]
fn files_are_moved_as_mv_moves_them() {
    let here = project();
    let before = tree(&here);
    here.run(&["mv", "a", "c"]).exits(0);
    assert_eq!(content(&here, "c"), "a\n");
    // Into a folder, also through a symlink to it, and several at once.
    here.run(&["mv", "c", "b", "other/"]).exits(0);
    here.run(&["mv", "other/c", "to_d"]).exits(0);
    assert_eq!((content(&here, "d/c"), content(&here, "other/b")), ("a\n".into(), "b\n".into()));
    run(here.command(&["mv", "../d/c", "."]).current_dir(here.path().join("other"))).exits(0);
    assert_eq!(content(&here, "other/c"), "a\n");
    // A symlink is moved itself.
    here.run(&["mv", "to_d", "other"]).exits(0);
    assert_eq!(fs::read_link(here.path().join("other/to_d")).unwrap().to_str(), Some("d"));
    here.run(&["undo", "--last", "5"]).exits(0);
    tree(&here).assert_same(&before);
}

#[test]
fn a_folder_is_moved_with_everything_in_it() {
    let here = project();
    let before = tree(&here);
    for (line, goal) in [(["mv", "d", "new/name"], "new/name"), (["mv", "d", "other"], "other/d")] {
        here.run(&line).exits(0);
        assert!(!here.path().join("d").exists());
        let [moved, old] = [tree(&here), before.clone()];
        for path in ["", "f", "s", "s/g", "s/empty", "link"] {
            let at = |folder: &str| format!("{folder}/{path}").trim_end_matches('/').to_owned();
            assert_eq!(moved.at(&at(goal)), old.at(&at("d")), "{path}");
        }
        here.run(&["undo"]).exits(0);
        tree(&here).assert_same(&before);
    }
    let dry = here.run(&["mv", "d", "e", "--dry-run"]);
    assert!(dry.exits(0).stdout.contains("e/s/g"), "{dry:?}");
    here.run(&["mv", "d", "e", "--check", "false"]).exits(7);
    tree(&here).assert_same(&before);
}

#[test]
fn what_cannot_be_moved_is_refused_and_nothing_is_changed() {
    let here = project();
    here.write("other/a", "other\n");
    let before = tree(&here);
    let lines: [(&[&str], i32, &str); 9] = [
        (&["a", "b"], 2, "--force"),
        (&["a", "other"], 2, "--force"),
        (&["none", "c"], 2, "not there"),
        (&["a", "b", "c"], 2, "c is not a folder"),
        (&["d", "d/s"], 2, "into itself"),
        (&["a", "a"], 2, "is where it is to be moved"),
        (&[".", "other"], 2, "is the root"),
        (&["a", "../outside"], 2, "outside the root"),
        (&[".git/HEAD", "c"], 2, "version control"),
    ];
    for (line, status, told) in lines {
        let ran = here.run(&[&["mv"], line].concat());
        assert!(ran.exits(status).stderr.contains(told), "{told}: {ran:?}");
        tree(&here).assert_same(&before);
    }
    here.run(&["mv", "--force", "a", "other", "--label", "over it"]).exits(0);
    assert_eq!(content(&here, "other/a"), "a\n");
    here.run(&["undo"]).exits(0);
    tree(&here).assert_same(&before);
}

#[test]
fn files_are_deleted_and_folders_only_with_everything_in_them_if_it_is_said() {
    let here = project();
    let before = tree(&here);
    here.run(&["rm", "a", "to_d"]).exits(0);
    assert!(!here.path().join("a").exists() && here.path().join("d/f").exists(), "the symlink itself is deleted");
    here.run(&["undo"]).exits(0);
    for line in [&["rm", "-r", "d", "d/f", "./d", "b"][..], &["rm", "-rf", "d", "none", "b", "b"]] {
        here.run(line).exits(0);
        assert!(!here.path().join("d").exists() && !here.path().join("b").exists(), "{line:?}");
        here.run(&["undo"]).exits(0);
        tree(&here).assert_same(&before);
    }
    let refused = here.run(&["rm", "b", "d"]);
    assert!(refused.exits(2).stderr.contains("d is a folder: -r"), "{refused:?}");
    here.write("nested/.git/HEAD", "").write("nested/x", "");
    let before = tree(&here);
    for (line, told) in [
        (&["rm", "b", "none"][..], "none is not there"),
        (&["rm", "-r", "."], "is the root"),
        (&["rm", "-r", "../.."], "is the root"),
        (&["rm", "-r", "nested"], ".git"),
        (&["rm", "-r", ".txedit"], ".txedit"),
        (&["rm", "-r", "../outside"], "outside the root"),
    ] {
        let ran = here.run(line);
        assert!(ran.exits(2).stderr.contains(told), "{told}: {ran:?}");
    }
    let dry = here.run(&["rm", "-r", "d", "--dry-run"]);
    assert!(dry.exits(0).stdout.contains("\n-g\n"), "{dry:?}");
    here.run(&["rm", "-r", "d", "--check", "false"]).exits(7);
    let nothing = here.run(&["rm", "-f", "none"]);
    assert!(nothing.exits(0).stdout.contains("nothing to change"), "{nothing:?}");
    tree(&here).assert_same(&before);
    assert!(here.path().join(".txedit").is_dir());
}
