//! `--state-dir`.

use std::os::unix::fs::MetadataExt;

use super::*;

/// A folder with a workspace `w` in it, and a line of `edit` there with a state folder beside it.
fn workspace() -> (Workspace, Vec<&'static str>) {
    let here = Workspace::new();
    here.write("w/a", "one\n");
    (here, [&["-C", "w", "--root", ".", "--state-dir", "../state"], &EDIT[..]].concat())
}

#[test]
fn it_is_where_the_caller_says() {
    let (here, line) = workspace();
    let ran = here.run(&line);
    assert_eq!(warnings(ran.exits(0)), "null");
    let state = here.path().join("state");
    assert_eq!((committed(&state), committed(&here.path().join("w/.txedit"))), (Some(1), None));
    // By the variable as well.
    let undo = run(here.command(&["-C", "w", "--root", ".", "undo"]).env("TXEDIT_STATE_DIR", &state));
    undo.exits(0);
    assert_eq!((committed(&state), fs::read_to_string(here.path().join("w/a")).unwrap().as_str()), (Some(2), "one\n"));
    // A history that was there before is told of, and moved on request.
    make_repository(&here, "w/.git");
    here.run(&[&["-C", "w"], &EDIT[..]].concat()).exits(0);
    let there = ["-C", "w", "--state-dir", "../other"];
    let ran = here.run(&[&there[..], &BACK].concat());
    assert!(warnings(ran.exits(0)).contains("w/.git/txedit holds 1 more committed transaction"), "{ran:?}");
    fs::remove_dir_all(here.path().join("other")).unwrap();
    here.run(&[&there[..], &["history", "move"]].concat()).exits(0);
    assert_eq!(committed(&here.path().join("other")), Some(1));
    // In a repository, too.
    here.run(&[&["-C", "w", "--state-dir", ".txedit"], &EDIT[..]].concat()).exits(0);
    assert_eq!(committed(&here.path().join("w/.txedit")), Some(1));
}

#[test]
fn it_serves_one_workspace_and_nothing_else() {
    let (here, line) = workspace();
    here.run(&line).exits(0);
    here.write("v/a", "one\n").write("full/x", "");
    let refused = |dir: &str, status: i32, why: &str| {
        let ran = here.run(&[&["-C", "v", "--root", ".", "--state-dir", dir], &EDIT[..]].concat());
        assert!(ran.exits(status).stdout.contains(why), "{ran:?}");
        assert_eq!(fs::read_to_string(here.path().join("v/a")).unwrap(), "one\n");
    };
    refused("../state", 5, "was made for another folder");
    refused("../full", 5, "holds what txedit did not put there");
    refused("../none/state", 2, "the folder of the state folder");
    refused("inside", 2, "among the files of the workspace");
    refused("..", 2, "ends in no name");
    refused(text(&here.path()), 2, "the workspace is in it");
    refused("../v", 2, "among the files of the workspace");
    assert!(!here.path().join("v/.txedit").exists() && !here.path().join("v/inside").exists());
}

#[test]
fn one_on_another_file_system_is_refused() {
    let (here, _) = workspace();
    let Ok(other) = tempfile::tempdir_in("/dev/shm") else { return eprintln!("skipped: no /dev/shm") };
    let dir = other.path().join("state");
    if fs::metadata(other.path()).unwrap().dev() == fs::metadata(here.path()).unwrap().dev() {
        return eprintln!("skipped: /dev/shm is on the same file system");
    }
    let ran = here.run(&[&["-C", "w", "--root", ".", "--state-dir", text(&dir)], &EDIT[..]].concat());
    assert_eq!(ran.json()["error_code"], "CROSS_DEVICE", "{ran:?}");
    assert!(!dir.exists());
}

/// That one would take what is in it for its own.
#[test]
fn the_default_place_of_another_workspace_is_refused() {
    let here = repository(".");
    here.write("w/a", "one\n");
    for gitdir in [None, Some("gitdir: ../.git\n")] {
        gitdir.map(|text| here.write("w/.git", text));
        for dir in ["../.git/txedit", "../.git/TxEdit", "../.txedit"] {
            let ran = here.run(&[&["-C", "w", "--root", ".", "--state-dir", dir], &EDIT[..]].concat());
            assert!(ran.exits(2).stdout.contains("another workspace has its own there"), "{dir}: {ran:?}");
        }
    }
    assert_eq!(both(&here), [None, None]);
    assert!(!here.path().join(".git/txedit").exists());
}

#[test]
fn nothing_leads_into_it_from_a_workspace_above() {
    let (here, line) = workspace();
    here.run(&line).exits(0);
    let before = fs::read(here.path().join("state/id")).unwrap();
    for path in ["state/id", "state/history/new", "state/.new", "state/NEWEST.x"] {
        let ran = here.run(&["--json", "--root", ".", "create", path, "--text", "x", "--force"]);
        let is_ours = path != "state/NEWEST.x";
        assert_eq!(ran.status, Some(if is_ours { 2 } else { 0 }), "{ran:?}");
    }
    let refuses_to_touch_it = || {
        for line in [["rm", "-r", "state"], ["mv", "state", "there"]] {
            let ran = here.run(&[&["--root", "."], &line[..]].concat());
            assert!(ran.status == Some(2) && ran.stderr.contains("txedit's own state folder"), "{ran:?}");
        }
    };
    refuses_to_touch_it();
    assert_eq!(fs::read(here.path().join("state/id")).unwrap(), before);
    // It is one still when some of it is gone.
    fs::remove_file(here.path().join("state/id")).unwrap();
    fs::remove_dir_all(here.path().join("state/kept")).unwrap();
    refuses_to_touch_it();
    assert_eq!(committed(&here.path().join("state")), Some(1));
    // Some of its names are in many a folder.
    for folder in ["txn", "history", "open"] {
        here.write(&format!("book/{folder}/x"), "");
    }
    here.run(&["--root", ".", "rm", "-r", "book"]).exits(0);
}
