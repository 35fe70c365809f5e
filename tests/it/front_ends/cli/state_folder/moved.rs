//! `history move`.

use super::*;

#[test]
fn it_is_moved_with_its_history_in_one_step() {
    let here = Workspace::new();
    here.write("a", "one\n");
    here.run(&[&["--root", "."], &EDIT[..]].concat()).exits(0);
    let moving = ["--json", "--root", ".", "history", "move"];
    let refused = here.run(&moving);
    assert!(refused.exits(2).json()["error"].as_str().unwrap().contains("no git folder"), "{refused:?}");
    make_repository(&here, ".git");
    let id = fs::read(here.path().join(".txedit/id")).unwrap();
    let json = here.run(&moving).exits(0).json();
    let [from, to] = [".txedit", ".git/txedit"].map(|name| here.path().join(name));
    assert_eq!((json["from"].as_str(), json["to"].as_str()), (from.to_str(), to.to_str()));
    assert_eq!(both(&here), [None, Some(1)]);
    assert_eq!(fs::read(to.join("id")).unwrap(), id);
    let again = here.run(&moving);
    assert!(again.exits(2).json()["error"].as_str().unwrap().contains("already"), "{again:?}");
    here.run(&["undo"]).exits(0);
    assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), "one\n");
    assert_eq!(fs::read(to.join("id")).unwrap(), id, "it is the same workspace");
}

#[test]
fn what_is_being_committed_is_not_moved_away_from_under_it() {
    let here = Workspace::new();
    here.write("a", "one\n");
    here.run(&[&["--root", "."], &EDIT[..]].concat()).exits(0);
    make_repository(&here, ".git");
    let program = env!("CARGO_BIN_EXE_txedit");
    let check = format!("'{program}' history move > .git/told 2>&1; test $? = 6");
    here.run(&[&["--check-in", "tree", "--check", &check], &BACK[..]].concat()).exits(0);
    let told = fs::read_to_string(here.path().join(".git/told")).unwrap();
    assert!(told.contains("is being committed, or could not be recovered: nothing was moved"), "{told}");
    assert_eq!(both(&here), [Some(2), None]);

    let fresh = repository(".");
    let refused = fresh.run(&["history", "move"]);
    assert!(refused.exits(2).stderr.contains("there is no state folder yet"), "{refused:?}");
}

#[test]
fn two_are_told_and_not_mixed() {
    let here = repository(".");
    here.run(&EDIT).exits(0);
    fs::create_dir(here.path().join(".txedit")).unwrap();
    // The answer that begins another history names the first one.
    let ran = here.run(&BACK);
    assert!(warnings(&ran).contains(".git/txedit holds 1 more committed transaction, which"), "{ran:?}");
    assert_eq!(both(&here), [Some(1), Some(1)]);
    let status = here.run(&["status", "--json"]);
    assert!(warnings(&status).contains(".git/txedit holds 1 more committed transaction, which"), "{status:?}");
    let refused = here.run(&["history", "move"]);
    assert!(refused.exits(2).stderr.contains("two state folders"), "{refused:?}");
    assert_eq!(both(&here), [Some(1), Some(1)]);
}

#[test]
fn what_was_interrupted_is_recovered_before() {
    let (here, id) = interrupted::killed_with(Workspace::new(), None);
    assert!(here.path().join(".txedit/txn").join(&id).exists());
    make_repository(&here, ".git");
    let moved = here.run(&["history", "move", "--json"]).exits(0).json();
    assert!(moved["warnings"][0].as_str().unwrap().contains("was recovered first: committed"), "{moved}");
    assert_eq!(interrupted::contents(&here), ["new"; 5]);
    assert_eq!(both(&here), [None, Some(1)]);
    here.run(&["undo", &id]).exits(0);
    assert_eq!(interrupted::contents(&here), ["old"; 5]);
}

/// From a place that was named and back, each time with what the next command needs to find it.
#[test]
fn it_is_moved_to_wherever_it_is_asked_for() {
    let here = Workspace::new();
    here.write("w/a", "one\n");
    make_repository(&here, "w/.git");
    let in_w = |line: &[&str]| here.run(&[&["--json", "-C", "w", "--root", "."], line].concat());
    in_w(&["edit", "a", "--old", "one", "--new", "two"]).exits(0);
    let state = here.path().join("state");
    let steps: [(&[&str], &str, &str); 4] = [
        (&["history", "move", "../state"], "state", "only with --state-dir"),
        (&["--state-dir", "../state", "history", "move", "../other"], "other", "only with --state-dir"),
        (&["--state-dir", "../other", "history", "move", ".txedit"], "w/.txedit", "only without --state-dir"),
        (&["history", "move", ".git/txedit"], "w/.git/txedit", "null"),
    ];
    for (line, place, told) in steps {
        let json = in_w(line).exits(0).json();
        assert_eq!(json["to"].as_str(), here.path().join(place).to_str());
        assert!(json["warnings"].to_string().contains(told), "{json}");
        assert_eq!(committed(&here.path().join(place)), Some(1), "{place}");
    }
    // Where it cannot be, it stays.
    for bad in ["inside", "..", "../none/state", "."] {
        in_w(&["history", "move", bad]).exits(2);
    }
    assert_eq!((committed(&here.path().join("w/.git/txedit")), state.exists()), (Some(1), false));
    in_w(&["undo"]).exits(0);
    assert_eq!(fs::read_to_string(here.path().join("w/a")).unwrap(), "one\n");
}
