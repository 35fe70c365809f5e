//! `--pick`: what `apply`, `replace`, `undo` and `run` would do is reviewed, and what is taken of it committed.

use std::fs;

use serde_json::json;

use super::{WORDS, Workspace, text, upper};

#[test]
fn what_is_taken_of_a_plan_is_committed_and_the_rest_is_discarded() {
    let here = Workspace::of_words();
    let ran = here.answered(&["apply", "plan.json", "-p"], "n y n n y D y");
    assert!(
        ran.exits(0).stdout.starts_with("committed 20") && ran.stdout.ends_with("the rest is discarded\n"),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("commit? [y,k,n,u,?] y\n"), "{ran:?}");
    here.has("a.txt", &upper(&[1, 4]));
    assert!(here.open().is_empty());
    let log = here.run(&["log", "--json"]).exits(0).json();
    assert_eq!(log["transactions"][0]["label"], "capitals");
    here.run(&["undo"]).exits(0);
    here.has("a.txt", &upper(&[]));

    // The rest may stay all the same.
    let json = here.answered(&["apply", "plan.json", "--pick", "--rest", "keep", "--json"], "y D").exits(0).json();
    let open = here.open();
    assert_eq!((&json["rest"], &json["open_transaction_id"]), (&json!("open"), &json!(open[0])));
    here.answered(&["review"], "A y").exits(0);
    here.has("a.txt", &upper(&[0, 1, 2, 3, 4]));
}

#[test]
fn nothing_is_left_of_what_was_opened_for_a_review() {
    let here = Workspace::of_words();
    let before = here.committed();
    let pick = ["apply", "plan.json", "--pick"];
    for (answers, status) in [("A n", 0), ("D", 0), ("y D n", 0), ("", 130), ("y y", 130), ("A", 130)] {
        let ran = here.answered(&pick, answers);
        ran.exits(status);
        assert!(here.open().is_empty(), "{answers}: {ran:?}");
    }
    let json = here.answered(&["apply", "plan.json", "--pick", "--json"], "D").exits(0).json();
    assert_eq!((&json["rest"], &json["open_transaction_id"]), (&json!("discarded"), &json!(null)));
    let ran = here.answered(&[&pick[..], &["--check", "false"]].concat(), "A y");
    assert!(ran.exits(7).stderr.contains("ive the command again") && !ran.stderr.contains("still open"), "{ran:?}");
    let editor = format!("echo other > {}; echo mine > \"$1\"", here.path().join("b.txt").display());
    let ran = here.answered_with(&editor, &pick, "e A y");
    assert!(ran.exits(3).stderr.contains("ive the command again"), "{ran:?}");
    assert_eq!((here.open(), here.committed()), (Vec::new(), before));
    here.has("a.txt", &upper(&[]));
    here.has("b.txt", "other\n");
}

#[test]
fn the_check_of_a_plan_decides_if_it_is_allowed() {
    let here = Workspace::of_words();
    let plan = fs::read_to_string(here.path().join("plan.json")).unwrap();
    let checked = plan.replacen('{', r#"{"check": ["grep", "-q", "TWO", "a.txt"],"#, 1);
    here.write("plan.json", &checked);
    let pick = ["apply", "plan.json", "--pick", "--allow-checks"];
    assert!(here.answered(&pick[..3], "A y").exits(2).stderr.contains("--allow-checks"));
    here.answered(&pick, "y D y").exits(7);
    here.has("a.txt", &upper(&[]));
    here.answered(&pick, "n y D y").exits(0);
    here.has("a.txt", &upper(&[1]));
    assert!(here.open().is_empty());
}

#[test]
fn what_goes_with_a_known_change_does_not_go_with_a_pick() {
    let here = Workspace::of_words();
    let hash = "0".repeat(64);
    let lines: [&[&str]; 9] = [
        &["apply", "plan.json", "--dry-run"],
        &["apply", "plan.json", "--idempotency-key", "k"],
        &["apply", "plan.json", "--idempotent"],
        &["apply", "plan.json", "--plan-hash", &hash],
        &["apply", "plan.json", "--campaign", "c"],
        &["replace", "one", "1", "--dry-run"],
        &["undo", "--dry-run"],
        &["run", "--stage", "true"],
        &["run", "--dry-run", "true"],
    ];
    for line in lines {
        let (command, rest) = line.split_first().unwrap();
        let ran = here.answered(&[&[*command, "--pick"], rest].concat(), "A y");
        assert!(ran.exits(2).stderr.contains("has no meaning with it"), "{line:?}: {ran:?}");
    }
    here.answered(&["apply", "plan.json", "--rest", "keep"], "").exits(2);
    here.write("plan.json", r#"{"dry_run": true, "files": [{"file_path": "n", "content": "n\n"}]}"#);
    assert!(here.answered(&["apply", "plan.json", "--pick"], "A y").exits(2).stderr.contains("a dry run"));
    // The plan is where the answers would be, and there is no terminal.
    let mut command = std::process::Command::new("setsid");
    let plain = here.answering(&["apply", "-", "--pick"], "");
    command.arg("--wait").arg(plain.get_program()).args(plain.get_args()).current_dir(here.path());
    let input = fs::File::open(here.path().join("plan.json")).unwrap();
    let ran = super::Ran::from(command.stdin(input).output().unwrap());
    assert!(ran.exits(2).stderr.contains("no terminal on which to ask"), "{ran:?}");
}

#[test]
fn replacements_are_picked() {
    let here = Workspace::of_words();
    let ran =
        here.answered(&["replace", "--word", "one", "eins", "--pick", "a.txt", "b.txt", "--label", "german"], "n y y");
    here.has("a.txt", &upper(&[]));
    here.has("b.txt", &text(&["eins", "two"]));
    assert!(ran.exits(0).stdout.contains(": 1 file"), "{ran:?}");
    let ran = here.answered(&["replace", "nowhere", "x", "--pick", "--if-missing", "skip"], "");
    ran.exits(9);
    here.answered(&["replace", "nowhere", "x", "--pick"], "").exits(1);
    assert!(here.open().is_empty());
}

#[test]
fn what_a_program_did_is_picked() {
    let here = Workspace::of_words();
    let script =
        "read line && exit 5; printf '\\0\\1' > bytes; sed -i 's/one/1/; s/five/5/' a.txt; rm b.txt; echo said";
    let ran = here.answered(&["run", "--pick", "--", "sh", "-c", script], "y n n y y");
    if ran.stderr.contains("there is none here") {
        eprintln!("skipped: there is no view");
        return;
    }
    here.has("a.txt", &upper(&[]).replace("one", "1"));
    here.has("b.txt", &text(&WORDS[..2]));
    assert_eq!(fs::read(here.path().join("bytes")).unwrap(), [0, 1]);
    assert!(ran.exits(0).stderr.contains("said\n"), "{ran:?}");
    let ran = here.answered(&["run", "--pick", "true"], "");
    assert!(ran.exits(0).stdout.starts_with("nothing to change"), "{ran:?}");
    here.answered(&["run", "--pick", "--", "sh", "-c", "exit 3"], "").exits(7);
    assert!(here.open().is_empty());
}

#[test]
fn all_of_an_undo_is_the_undo_and_a_part_of_it_is_not() {
    let here = Workspace::of_words();
    here.run(&["apply", "plan.json"]).exits(0);
    let ran = here.answered(&["undo", "--pick"], "n y n n n D y");
    assert!(ran.exits(0).stdout.starts_with("committed 20"), "{ran:?}");
    here.has("a.txt", &upper(&[0, 2, 3, 4]));
    let log = here.run(&["log", "--json"]).exits(0).json();
    let newest = &log["transactions"][0];
    assert!(
        newest["label"].as_str().unwrap().starts_with("a part of the undo of 20") && newest["reverts"].is_null(),
        "{log}"
    );

    here.run(&["undo"]).exits(0);
    let json = here.answered(&["undo", "--pick", "--json"], "A y").exits(0).json();
    assert_eq!((&json["rest"], json["reverts"].is_string()), (&json!("none"), true), "{json}");
    here.has("a.txt", &upper(&[]));
    here.has("b.txt", &text(&WORDS[..2]));
    assert!(here.open().is_empty());
    here.run(&["redo"]).exits(0);
    here.has("a.txt", &upper(&[0, 1, 2, 3, 4]));
}

#[test]
fn an_undo_is_picked_from_whole_files_too() {
    let here = Workspace::new();
    here.write(".git/HEAD", "").write("gone", "g\n").write("moved", "m\n").write("mode", "x\n");
    let plan = json!({ "files": [
        { "file_path": "gone", "delete": true },
        { "file_path": "moved", "rename_to": "sub/moved" },
        { "file_path": "mode", "mode": "755" },
        { "file_path": "sub/new", "content": "n" },
    ]});
    here.write("plan.json", &plan.to_string());
    here.run(&["apply", "plan.json"]).exits(0);
    let ran = here.answered(&["undo", "--pick"], "y n n n y");
    ran.exits(0);
    let is = |name: &str| here.path().join(name).exists();
    assert_eq!((is("gone"), is("moved"), is("sub/moved"), is("sub/new")), (true, false, true, true), "{ran:?}");
    here.run(&["undo"]).exits(0);
    here.answered(&["undo", "--pick"], "A y").exits(0);
    assert!(is("gone") && is("moved") && !is("sub"));
}

#[test]
fn an_undo_that_is_no_text_or_no_longer_what_was_shown_is_refused() {
    let here = Workspace::of_words();
    here.write("bytes", "\0");
    here.write("b.json", &json!({ "files": [{ "file_path": "bytes", "delete": true }] }).to_string());
    here.run(&["apply", "b.json"]).exits(0);
    let ran = here.answered(&["undo", "--pick"], "A y");
    assert!(ran.exits(2).stderr.contains("undo all of it, without --pick"), "{ran:?}");
    here.write("f.json", &json!({ "files": [{ "file_path": "folder", "make_folder": true }] }).to_string());
    here.run(&["apply", "f.json"]).exits(0);
    let ran = here.answered(&["undo", "--pick"], "A y");
    assert!(ran.exits(2).stderr.contains("no patch tells what becomes of folder"), "{ran:?}");
    here.run(&["apply", "plan.json"]).exits(0);
    let before = here.committed();
    // Another commit, of which the newest is undone then.
    let other = format!("cd {}; {} create other --text x >&2", here.path().display(), env!("CARGO_BIN_EXE_txedit"));
    let ran = here.answered_with(&other, &["undo", "--pick"], "e A y");
    assert!(ran.exits(3).stderr.contains("ive the command again"), "{ran:?}");
    assert_eq!((here.committed(), here.open()), (before + 1, Vec::new()));
    here.has("a.txt", &upper(&[0, 1, 2, 3, 4]));
}
