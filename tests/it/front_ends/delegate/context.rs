//! Which files a delegate is shown, and what else it is told.

use std::os::unix::fs::symlink;

use super::{Office, text};

#[test]
fn what_cannot_be_shown_is_skipped_with_its_reason() {
    let office = Office::saying("fine");
    office
        .write("a.txt", "no line break")
        .write("binary", "x\0y")
        .write("latin", b"caf\xe9")
        .write("large", [b'x'; 4_001]);
    std::fs::write(office.place("secret"), "s").unwrap();
    symlink(office.place("secret"), office.file("link")).unwrap();
    symlink("a.txt", office.file("inner")).unwrap();
    std::fs::create_dir(office.file("folder")).unwrap();
    let names = ["a.txt", "binary", "latin", "large", "none", "link", "inner", "folder", "../secret"];
    let mut line = vec!["what?", "--max-file-bytes", "4000"];
    line.extend(names.iter().flat_map(|name| ["--file", name]));
    let answer = office.analyze(&line).done();
    let shown = answer["files"].as_array().unwrap();
    assert_eq!(shown.len(), 1);
    assert_eq!(
        (text(&shown[0], "file_path"), &shown[0]["bytes"]),
        (office.file("a.txt").to_str().unwrap(), &13.into())
    );
    let skipped: Vec<_> = answer["skipped"].as_array().unwrap().iter().map(|file| text(file, "error_code")).collect();
    let expected = [
        "INVALID_ENCODING",
        "INVALID_ENCODING",
        "FILE_TOO_LARGE",
        "FILE_NOT_FOUND",
        "OUTSIDE_ROOT",
        "DUPLICATE_FILE_PATH",
        "NOT_A_REGULAR_FILE",
        "OUTSIDE_ROOT",
    ];
    assert_eq!(skipped, expected, "{answer:#}");
    let prompt = office.prompt();
    assert!(prompt.contains("a.txt\n```\nno line break\n```\n") && prompt.matches("\nFile: ").count() == 1, "{prompt}");
    // A megabyte is the limit unless told otherwise.
    office.write("million", vec![b'x'; 1 << 20]).write("more", vec![b'x'; (1 << 20) + 1]);
    let answer = office.analyze(&["what?", "--file", "million", "--file", "more"]).done();
    assert_eq!(answer["files"][0]["bytes"], 1 << 20);
    assert!(text(&answer["skipped"][0], "file_path").ends_with("/more"), "{answer:#}");
}

#[test]
fn each_of_the_four_is_told_its_part() {
    let office = Office::saying("fine");
    let said = |line: &[&str]| {
        let answer = office.run(&[&["delegate"], line].concat()).done();
        (answer["role"].as_str().map(str::to_owned), office.prompt())
    };
    let (role, prompt) = said(&["analyze", "what?"]);
    assert!(role.as_deref() == Some("general") && prompt.starts_with("You are an experienced"), "{prompt}");
    let (role, prompt) = said(&["analyze", "what?", "--role", "security"]);
    assert!(role.as_deref() == Some("security") && prompt.starts_with("You are a security reviewer"), "{prompt}");
    let (role, prompt) = said(&["implement", "x", "--constraints", "KEEP IT"]);
    assert!(role.is_none() && prompt.contains("\nConstraints:\nKEEP IT\n") && prompt.contains("*** Begin Patch"));
    let (_, prompt) = said(&["refactor", "x"]);
    assert!(prompt.contains("\nConstraints:\nKeep the behaviour"), "{prompt}");
    let (_, prompt) = said(&["refactor", "x", "--no-safety-checks"]);
    assert!(!prompt.contains("Keep the behaviour"), "{prompt}");
    let (_, prompt) = said(&["verify", "x", "--requirements", "NO LOOPS"]);
    assert!(prompt.contains("VERDICT: PASS") && prompt.contains("\nRequirements:\nNO LOOPS\n"), "{prompt}");
    let findings = office.analyze(&["what?", "--role", "poet"]).findings();
    assert!(findings.contains("general, performance, refactor, security"), "{findings}");
    assert!(office.analyze(&[" \n"]).findings().contains("`prompt` is missing or empty"));
}

#[test]
fn a_transaction_is_judged_by_its_diff() {
    let office = Office::saying("VERDICT: PASS");
    office.write("a.txt", "one\n").write(
        "plan.json",
        r#"{"files": [{"file_path": "a.txt", "edits": [{"old_string": "one", "new_string": "two"}]}]}"#,
    );
    let staged = office.run(&["stage", "plan.json"]).done();
    let id = text(&staged, "transaction_id");
    office.run(&["delegate", "verify", "right?", "--transaction", id]).done();
    let of_open = office.prompt();
    assert!(of_open.contains("\nThe change to judge:\n```diff\n") && of_open.contains("\n-one\n+two\n"), "{of_open}");
    let committed = office.run(&["commit", id]).done();
    office.run(&["delegate", "verify", "right?", "--transaction", text(&committed, "transaction_id")]).done();
    assert!(office.prompt().contains("\n-one\n+two\n"), "{}", office.prompt());
    let unknown = office.run(&["delegate", "verify", "right?", "--transaction", "20260101T000000Z-0000000000000000"]);
    unknown.failed(2, "UNKNOWN_TRANSACTION");
}
