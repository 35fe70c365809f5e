//! What a delegate proposes becomes a transaction, and nothing else of what it does reaches the workspace.

use super::{Office, text};

const ENVELOPE: &str = "I renamed it.\n\n```\n*** Begin Patch\n*** Update File: src/a.rs\n@@\n-fn old() {}\n+fn new() \
                        {}\n*** Add File: src/b.rs\n+// new\n*** End Patch\n```\nThat is all.";

fn office(answer: &str) -> Office {
    let office = Office::saying(answer);
    office.write("src/a.rs", "fn old() {}\nfn other() {}\n");
    office
}

#[test]
fn a_patch_in_the_answer_is_staged_and_committed_on_a_word() {
    let office = office(ENVELOPE);
    let answer = office.run(&["delegate", "implement", "rename old", "--file", "src/a.rs"]).done();
    assert_eq!((text(&answer, "proposal"), &answer["committed"]), ("patch", &false.into()));
    assert!(text(&answer, "answer").starts_with("I renamed it."));
    let diff = text(&answer, "diff");
    assert!(diff.contains("\n-fn old() {}\n+fn new() {}\n") && diff.contains("\n+// new\n"), "{diff}");
    assert!(office.read("src/a.rs").starts_with("fn old()") && !office.file("src/b.rs").exists());
    let (id, hash) = (text(&answer, "transaction_id"), text(&answer, "plan_hash"));
    let preview = office.run(&["preview", id]).done();
    assert_eq!((text(&preview, "plan_hash"), text(&preview, "diff")), (hash, diff));
    let status = office.run(&["status"]).json;
    assert_eq!(text(&status["open"][0], "label"), "delegate implement: rename old", "{status:#}");
    office.run(&["commit", id, "--plan-hash", hash]).done();
    assert_eq!(
        (office.read("src/a.rs"), office.read("src/b.rs")),
        ("fn new() {}\nfn other() {}\n".into(), "// new\n".into())
    );
}

#[test]
fn apply_commits_and_undo_takes_it_back() {
    let office = office(ENVELOPE);
    let answer = office.run(&["delegate", "refactor", "rename old", "--apply"]).done();
    assert_eq!((&answer["committed"], &answer["files_edited"]), (&true.into(), &2.into()), "{answer:#}");
    assert!(office.read("src/a.rs").starts_with("fn new()"));
    assert_eq!(office.run(&["status"]).json["open"].as_array().map(Vec::len), Some(0));
    office.run(&["undo", text(&answer, "transaction_id")]).done();
    assert!(office.read("src/a.rs").starts_with("fn old()") && !office.file("src/b.rs").exists());
}

#[test]
fn the_check_decides() {
    let office = office(ENVELOPE);
    let check = ["--check", "! grep -q new src/a.rs"];
    let ran = office.run(&[&["delegate", "implement", "rename old", "--apply"], &check[..]].concat());
    let failure = ran.failed(7, "CHECK_FAILED");
    assert!(text(&failure, "answer").starts_with("I renamed it.") && text(&failure, "error").contains("still open as"));
    assert!(office.read("src/a.rs").starts_with("fn old()") && !office.file("src/b.rs").exists());
    // Without `apply` nothing is committed, so nothing is checked.
    office.run(&[&["delegate", "implement", "rename old"], &check[..]].concat()).done();
    let answer =
        office.run(&["delegate", "implement", "rename old", "--apply", "--check", "grep -q new src/a.rs"]).done();
    assert_eq!(answer["committed"], true);
}

#[test]
fn what_it_changes_in_its_scratch_copy_is_a_proposal() {
    let office = Office::with(
        "printf 'fn new() {}\\n' >src/a.rs; mkdir -p deep/er; echo made >deep/er/c; rm src/gone; ln -s /etc/passwd link
         echo 'I did it.'",
    );
    office.write("src/a.rs", "fn old() {}\n").write("src/gone", "x\n").write("src/same", "y\n");
    let line = ["delegate", "implement", "do it", "-f", "src/a.rs", "-f", "src/gone", "-f", "src/same"];
    let answer = office.run(&line).done();
    assert_eq!((text(&answer, "proposal"), &answer["committed"]), ("scratch", &false.into()), "{answer:#}");
    assert!(answer["warnings"].to_string().contains("link is no regular file"), "{answer:#}");
    assert_eq!(answer["file_results"].as_array().map(Vec::len), Some(3), "{answer:#}");
    assert_eq!((office.read("src/a.rs"), office.read("src/gone")), ("fn old() {}\n".into(), "x\n".into()));
    assert!(!office.file("deep").exists());
    office.run(&["commit", text(&answer, "transaction_id")]).done();
    assert_eq!((office.read("src/a.rs"), office.read("deep/er/c")), ("fn new() {}\n".into(), "made\n".into()));
    assert!(!office.file("src/gone").exists() && office.file("src/same").exists() && !office.file("link").exists());
}

#[test]
fn a_file_that_changed_while_the_delegate_worked_is_not_overwritten() {
    let office = Office::with("echo theirs >\"$PROJECT/a\"; echo mine >a; echo done");
    office.write("a", "old\n");
    let mut command = office.command(&["delegate", "implement", "x", "--apply", "--file", "a"]);
    let failure = office.ran(command.env("PROJECT", office.place("project"))).failed(3, "HASH_MISMATCH");
    assert_eq!((text(&failure, "answer"), office.read("a").as_str()), ("done", "theirs\n"));
}

#[test]
fn an_answer_without_a_proposal_is_the_answer() {
    let office = office("There is nothing to do.\n```rust\nfn old() {}\n```");
    let answer = office.run(&["delegate", "implement", "rename old", "--apply", "--file", "src/a.rs"]).done();
    assert!(text(&answer, "answer").starts_with("There is nothing"));
    assert!(answer.get("proposal").is_none() && answer.get("transaction_id").is_none(), "{answer:#}");
    assert!(!office.file(".txedit").exists(), "nothing was staged");
    // What is no proposal does not become one where none was asked for.
    let office = self::office(ENVELOPE);
    assert!(office.analyze(&["what?"]).done().get("proposal").is_none());
    assert!(!office.file(".txedit").exists());
}

#[test]
fn a_proposal_that_does_not_fit_changes_nothing_and_says_why() {
    let patch = |body: &str| format!("Here.\n*** Begin Patch\n{body}\n*** End Patch\n");
    let cases = [
        (patch("*** Update File: src/a.rs\n@@\n-fn missing() {}\n+x"), 1, "MATCH_NOT_FOUND"),
        (patch("*** Update File: src/a.rs\nno hunk"), 2, "PATCH_PARSE_FAILED"),
        ("*** Begin Patch\n*** Add File: x\n+cut".to_owned(), 2, "PATCH_PARSE_FAILED"),
        (patch("*** Add File: ../outside\n+x"), 2, "VALIDATION_FAILED"),
        (patch("*** Add File: /etc/txedit-outside\n+x"), 2, "VALIDATION_FAILED"),
        (patch("*** Add File: .txedit/x\n+x"), 2, "VALIDATION_FAILED"),
        (patch("*** Delete File: nobody"), 2, "VALIDATION_FAILED"),
    ];
    for (answer, status, code) in cases {
        let office = office(&answer);
        let failure = office.run(&["delegate", "implement", "x", "--apply"]).failed(status, code);
        assert_eq!(text(&failure, "answer"), answer.trim(), "{failure:#}");
        assert_eq!(office.read("src/a.rs"), "fn old() {}\nfn other() {}\n");
        assert!(!office.file("x").exists());
    }
}

#[test]
fn a_request_of_our_own_is_read_but_asks_for_no_more_than_changes() {
    let answer = r#"{"files": [{"file_path": "src/a.rs", "edits": [{"old_string": "old", "new_string": "new"}]}],
                     "check": ["touch", "evil"], "backup": true, "label": "mine"}"#;
    let office = office(&format!("```json\n{answer}\n```"));
    office.run(&["delegate", "implement", "rename old", "--apply"]).done();
    assert!(office.read("src/a.rs").starts_with("fn new()"));
    assert!(!office.file("evil").exists() && !office.file("src/a.rs.bak").exists());
}

#[test]
fn people_read_the_answer_the_diff_and_what_to_do() {
    let office = office(&format!("\u{1b}[31m{ENVELOPE}"));
    let output = office.plain_command(&["delegate", "implement", "rename old"]).output().unwrap();
    let (stdout, stderr) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(stdout.starts_with("[31mI renamed it.\n") && stdout.contains("\n+fn new() {}\n"), "{stdout}");
    assert!(stderr.contains("proposed as ") && stderr.contains("plan hash "), "{stderr}");
}
