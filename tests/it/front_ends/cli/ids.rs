//! Transactions named by the beginning of an id, by `@`, or not at all: what is meant is found, and nothing is guessed.

use std::fs;

use serde_json::json;

use super::{Ran, Workspace};

/// A workspace with two commits of `a`, and their ids: one became two, which became three.
fn two_commits() -> (Workspace, [String; 2]) {
    let here = Workspace::new();
    here.write("a", "one\n");
    let edit = |from, to| id(&here.run(&["edit", "a", "--old", from, "--new", to, "--json"]));
    let ids = [edit("one", "two"), edit("two", "three")];
    (here, ids)
}

#[track_caller]
fn id(ran: &Ran) -> String {
    ran.exits(0).json()["transaction_id"].as_str().unwrap().to_owned()
}

/// The shortest beginning of the random part of an id, of four characters or more, that begins no other.
fn short<'i>(id: &'i str, others: &[String]) -> &'i str {
    let random = |id: &'i str| id.split_once('-').unwrap().1;
    let begins = |other: &String, text: &str| {
        other.starts_with(text) || other.split_once('-').is_some_and(|(_, other)| other.starts_with(text))
    };
    let unique = |text: &&str| !others.iter().any(|other| other != id && begins(other, text));
    (4..=16).map(|length| &random(id)[..length]).find(unique).unwrap()
}

#[track_caller]
fn a_is(here: &Workspace, content: &str) {
    assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), content);
}

#[test]
fn a_committed_transaction_is_named_by_the_beginning_of_its_id() {
    let (here, ids) = two_commits();
    let [first, second] = &ids;
    for beginning in [short(first, &ids), &first[..first.len() - 1], first] {
        assert_eq!(id(&here.run(&["show", beginning, "--json"])), *first, "{beginning}");
        let patch = here.run(&["show", beginning, "--format", "git", "--json"]).exits(0).json();
        assert_eq!(patch["transaction_id"], **first, "{beginning}");
    }
    here.run(&["undo", short(second, &ids)]).exits(0);
    a_is(&here, "two\n");
    here.run(&["redo", short(second, &ids)]).exits(0);
    a_is(&here, "three\n");
    here.run(&["undo", "--since", short(first, &ids)]).exits(0);
    a_is(&here, "two\n");
}

#[test]
fn the_newest_is_an_at_sign_and_the_default_of_show() {
    let (here, [first, second]) = two_commits();
    for line in [&["show", "--json"][..], &["show", "@", "--json"]] {
        assert_eq!(id(&here.run(line)), second);
    }
    assert!(here.run(&["show", "--format", "git"]).exits(0).stdout.contains("\n-two\n+three\n"));
    here.run(&["undo", "@"]).exits(0);
    a_is(&here, "two\n");
    // The newest is the undo now.
    here.run(&["redo", "@"]).exits(0);
    a_is(&here, "three\n");
    here.run(&["undo", &first, "--dry-run"]).exits(3);
    let nothing = here.run(&["undo", "--since", "@", "--json"]);
    assert_eq!(nothing.exits(2).json()["error_code"], "UNKNOWN_TRANSACTION");
    a_is(&here, "three\n");
}

#[test]
fn a_beginning_of_several_is_refused_with_all_of_them() {
    let (here, ids) = two_commits();
    let year = &ids[0][..4];
    for line in [&["show", year][..], &["undo", year], &["redo", year], &["undo", "--since", year]] {
        let ran = here.run(line);
        assert!(ids.iter().all(|id| ran.exits(2).stderr.contains(id)), "{ran:?}");
        a_is(&here, "three\n");
    }
    let json = here.run(&["undo", year, "--json"]).exits(2).json();
    assert_eq!(json["error_code"], "VALIDATION_FAILED");
    assert!(ids.iter().all(|id| json["errors"][0]["message"].as_str().unwrap().contains(id)), "{json}");
}

#[test]
fn what_is_too_short_or_the_beginning_of_none_is_unknown() {
    let (here, ids) = two_commits();
    for text in ["", &short(&ids[0], &ids)[..3], "nothing", &format!("{}0", ids[0])] {
        for line in
            [&["show", text][..], &["undo", text], &["preview", text], &["recover", text], &["kept", "drop", text]]
        {
            let ran = here.run(&[line, &["--json"]].concat());
            assert_eq!(ran.exits(2).json()["error_code"], "UNKNOWN_TRANSACTION", "{line:?}: {ran:?}");
        }
    }
    let short = here.run(&["show", "abc"]);
    assert!(short.exits(2).stderr.contains("4 characters") && short.stderr.contains("txedit log"), "{short:?}");
    let nowhere = Workspace::new();
    for line in [&["show"][..], &["show", "@"], &["undo", "@"]] {
        let ran = nowhere.run(&[line, &["--json"]].concat());
        assert_eq!(ran.exits(2).json()["error_code"], "UNKNOWN_TRANSACTION", "{line:?}: {ran:?}");
    }
    a_is(&here, "three\n");
}

#[test]
fn an_open_transaction_is_named_by_the_beginning_of_its_id() {
    let (here, ids) = two_commits();
    let mut ids = ids.to_vec();
    let plan = |from: &str, to: &str| {
        let edit = json!({"old_string": from, "new_string": to});
        here.write("plan.json", &json!({"files": [{"file_path": "a", "edits": [edit]}]}).to_string());
    };
    plan("three", "four");
    ids.extend((0..2).map(|_| id(&here.run(&["stage", "plan.json", "--json"]))));
    let [opened, dropped] = &[2, 3].map(|at| ids[at].clone());
    plan("four", "five");
    here.run(&["stage", "plan.json", "--transaction", short(opened, &ids)]).exits(0);
    assert!(here.run(&["preview", short(opened, &ids)]).exits(0).stdout.contains("\n-three\n+five\n"));
    let several = here.run(&["commit", &opened[..4]]);
    assert!(several.exits(2).stderr.contains(opened) && several.stderr.contains(dropped), "{several:?}");
    let newest = here.run(&["commit", "@"]);
    assert!(newest.exits(2).stderr.contains("newest committed"), "{newest:?}");
    let gone = here.run(&["rollback", short(dropped, &ids)]);
    assert!(gone.exits(0).stdout.contains(dropped), "{gone:?}");
    let committed = id(&here.run(&["commit", short(opened, &ids), "--json"]));
    a_is(&here, "five\n");
    // It is known by both ids from now on, and committing it again gives the same answer.
    ids.push(committed.clone());
    assert_eq!(id(&here.run(&["commit", short(opened, &ids), "--json"])), committed);
    assert_eq!(id(&here.run(&["show", short(opened, &ids), "--json"])), committed);
    here.run(&["undo", short(opened, &ids)]).exits(0);
    a_is(&here, "three\n");
}

#[test]
fn an_interrupted_transaction_is_named_by_the_beginning_of_its_id() {
    let (here, ids) = two_commits();
    let newest = &ids[1];
    let folder = here.path().join(".txedit/txn").join(newest);
    fs::rename(here.path().join(".txedit/history").join(newest), &folder).unwrap();
    let done = folder.join("journal.done");
    let mut bytes = fs::read(&done).unwrap();
    bytes[100] ^= 1;
    fs::write(&done, bytes).unwrap();
    // It may be newer than the newest that is known to be committed.
    for line in [&["undo", "@"][..], &["show"]] {
        let ran = here.run(line);
        assert!(ran.exits(6).stderr.contains(newest), "{ran:?}");
    }
    here.run(&["recover", "@"]).exits(2);
    here.run(&["recover", &short(newest, &ids)[..3], "--discard"]).exits(2);
    assert!(folder.exists());
    here.run(&["recover", short(newest, &ids), "--discard"]).exits(0);
    assert!(!folder.exists());
    let kept = here.run(&["kept", "drop", short(newest, &ids)]);
    assert!(kept.exits(0).stdout.contains(newest), "{kept:?}");
    assert!(!here.path().join(".txedit/kept").join(newest).exists());
    a_is(&here, "three\n");
}

#[test]
fn a_time_that_is_also_the_beginning_of_an_id_is_refused() {
    let (here, [first, _]) = two_commits();
    let (time, _) = first.split_once('-').unwrap();
    let ran = here.run(&["undo", "--since", time]);
    assert!(ran.exits(2).stderr.contains(&first), "{ran:?}");
    a_is(&here, "three\n");
    here.run(&["undo", "--since", "2020-01-01T00:00:00Z"]).exits(0);
    a_is(&here, "one\n");
}
