//! How a review ends: what becomes of the rest, what is answered, and what changes nothing.

use serde_json::json;

use super::{WORDS, Workspace, text, upper};

#[test]
fn what_becomes_of_the_rest_is_said_before_or_asked() {
    for (line, answers) in [(&["review", "--rest", "keep"][..], "y D"), (&["review"], "y D k")] {
        let here = Workspace::of_words();
        here.stage();
        here.answered(line, answers).exits(0);
        here.has("a.txt", &upper(&[0]));
        assert_eq!(here.open().len(), 1);
    }
    for (line, answers) in [(&["review", "--rest", "discard"][..], "y D"), (&["review"], "y D d")] {
        let here = Workspace::of_words();
        here.stage();
        let ran = here.answered(line, answers);
        assert!(ran.exits(0).stdout.ends_with("the rest is discarded\n"), "{ran:?}");
        here.has("a.txt", &upper(&[0]));
        assert!(here.open().is_empty());
    }
}

#[test]
fn the_answer_for_scripts_tells_what_was_taken_and_what_is_open() {
    let here = Workspace::of_words();
    let id = here.stage();
    let json = here.answered(&["review", "--json"], "y n q k").exits(0).json();
    let rest = here.open();
    assert_ne!(rest, [id.as_str()]);
    assert_eq!((&json["rest"], &json["open_transaction_id"]), (&json!("open"), &json!(rest[0])));
    assert!(json["transaction_id"].is_string() && json["success"] == true, "{json}");
    assert_eq!(json["file_results"].as_array().unwrap().len(), 1);
    let [a, b] = &json["reviewed"].as_array().unwrap()[..] else { panic!("two files: {json}") };
    assert_eq!(a, &json!({ "file_path": "a.txt", "taken": "some", "changes": 5, "changes_taken": 1 }));
    // Nobody has seen it.
    assert_eq!(b, &json!({ "file_path": "b.txt", "taken": "nothing" }));

    let json = here.answered(&["review", "--json", "--rest", "discard"], "A").exits(0).json();
    assert_eq!((&json["rest"], &json["open_transaction_id"]), (&json!("none"), &json!(null)));
    here.has("a.txt", &upper(&[0, 1, 2, 3, 4]));
}

#[test]
fn nothing_taken_is_nothing_committed() {
    let here = Workspace::of_words();
    let id = here.stage();
    let before = here.committed();
    let ran = here.answered(&["review"], "D");
    assert_eq!(
        ran.exits(0).stdout,
        format!("nothing is committed, and no file was changed\nall of it is still open as {id}\n")
    );
    let json = here.answered(&["review", "--json", "--rest", "keep"], "d d").exits(0).json();
    assert_eq!((&json["rest"], &json["open_transaction_id"]), (&json!("open"), &json!(id)));
    assert!(json["transaction_id"].is_null());
    assert_eq!(here.open(), [id.as_str()]);
    // Taken, but not committed in the end.
    here.answered(&["review"], "A n").exits(0);
    here.answered(&["review"], "y D n").exits(0);
    assert_eq!((here.open(), here.committed()), (vec![id], before));

    let json = here.answered(&["review", "--json", "--rest", "discard"], "D").exits(0).json();
    assert_eq!((&json["rest"], &json["transaction_id"]), (&json!("discarded"), &json!(null)));
    assert!(here.open().is_empty());
    here.has("a.txt", &upper(&[]));
}

#[test]
fn answers_that_end_too_early_change_nothing() {
    let here = Workspace::of_words();
    let id = here.stage();
    for answers in ["", "y", "y y y", "A", "y D", "? x yy"] {
        let ran = here.answered(&["review"], answers);
        assert!(ran.exits(130).stderr.contains("the answers ended before the last question"), "{answers}: {ran:?}");
        assert!(ran.stderr.ends_with("nothing was changed\n"), "{ran:?}");
        let json = here.answered(&["review", "--json"], answers).exits(130).json();
        assert_eq!(json["error_code"], "CANCELLED");
    }
    assert_eq!(here.open(), [id.as_str()]);
    here.has("a.txt", &upper(&[]));
}

#[test]
fn the_only_open_transaction_is_meant() {
    let here = Workspace::of_words();
    let ran = here.answered(&["review"], "");
    assert!(ran.exits(2).stderr.contains("no transaction is open"), "{ran:?}");
    let first = here.stage();
    here.write("other.json", r#"{"label": "another", "files": [{"file_path": "n", "content": "n\n"}]}"#);
    let second = here.run(&["stage", "other.json"]).exits(0).stdout.trim().to_owned();
    let ran = here.answered(&["review"], "");
    for part in [
        "2 files, capitals, by txedit".to_owned(),
        format!("`txedit review {first}`"),
        "1 file, another, by txedit".to_owned(),
        format!("`txedit review {second}`"),
    ] {
        assert!(ran.exits(2).stderr.contains(&part), "{part}: {ran:?}");
    }
    here.answered(&["review", &second.rsplit('-').next().unwrap()[..8]], "y y").exits(0);
    here.has("n", "n\n");
    here.answered(&["review"], "A y").exits(0);
    here.has("b.txt", &text(&["ONE", "TWO"]));
}

#[test]
fn what_cannot_be_shown_gives_the_errors_of_a_preview() {
    let here = Workspace::of_words();
    let id = here.stage();
    here.run(&["commit", &id]).exits(0);
    let same = |id: &str| {
        let [review, preview] = ["review", "preview"].map(|command| here.answered(&[command, id, "--json"], "y"));
        assert_eq!(review.json(), preview.json());
        assert_eq!(review.status, preview.status);
        review.exits(2);
    };
    same(&id);
    same("20260101T120000.000000Z-0123456789abcdef");
    same("abcdefgh");
}

#[test]
fn a_check_that_fails_leaves_all_of_it_open() {
    let here = Workspace::of_words();
    let id = here.stage();
    let ran = here.answered(&["review", "--check", "false"], "y D k");
    assert!(ran.exits(7).stderr.contains("CHECK") || ran.stderr.contains("the check"), "{ran:?}");
    assert_eq!(here.open(), [id.as_str()]);
    here.has("a.txt", &upper(&[]));
    here.answered(&["review", "--check", "grep -q ONE a.txt", "--durability", "process"], "y D d").exits(0);
    here.has("a.txt", &upper(&[0]));
    here.has("b.txt", &text(&WORDS[..2]));
}

#[test]
fn many_files_are_read_as_they_are_shown() {
    let here = Workspace::new();
    let files: Vec<_> =
        (0..70).map(|n| json!({ "file_path": format!("f{n:02}"), "content": format!("{n}\n") })).collect();
    here.write(".git/HEAD", "").write("plan.json", &json!({ "files": files }).to_string());
    here.stage();
    let answers = "y n ".repeat(35) + "u u y y d";
    let ran = here.answered(&["review"], &answers);
    assert!(ran.exits(0).stderr.contains("file 70 of 70: f69 (create)") && ran.stderr.contains("and 50 more files"));
    let made = (0..70).filter(|n| here.path().join(format!("f{n:02}")).exists()).collect::<Vec<_>>();
    assert_eq!(made, (0..70).filter(|n| n % 2 == 0 || *n == 69).collect::<Vec<_>>());
}

#[test]
fn a_change_of_the_files_between_two_readings_is_noticed() {
    let here = Workspace::new();
    let edit = json!({ "old_string": "one", "new_string": "two" });
    let files = (0..40).map(|n| json!({ "file_path": format!("f{n:02}"), "edits": [edit] })).collect::<Vec<_>>();
    here.write(".git/HEAD", "").write("plan.json", &json!({ "files": files }).to_string());
    for n in 0..40 {
        here.write(&format!("f{n:02}"), "one\n\nother\n");
    }
    let id = here.stage();
    let editor = format!("sed -i s/other/another/ {}", here.path().join("f39").display());
    let ran = here.answered_with(&editor, &["review"], &("e ".to_owned() + &"y ".repeat(60)));
    assert!(ran.exits(3).stderr.contains("changed since they were reviewed"), "{ran:?}");
    assert!(ran.stderr.contains(&format!("`txedit review {id}`")), "{ran:?}");
    assert!(!ran.stderr.contains("file 33 of 40"), "before any more is shown: {ran:?}");
    here.has("f00", "one\n\nother\n");
    here.answered(&["review", "--rest", "discard"], "y D").exits(0);
    here.has("f00", "two\n\nother\n");
}
