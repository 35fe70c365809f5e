//! Hints that are followed to the letter lead out of the failure, and damage nothing on the way.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::{Root, Session};

fn hint(failed: &Value) -> &str {
    failed["recovery_hint"].as_str().unwrap_or_else(|| panic!("{failed:#}"))
}

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({"file_path": path, "edits": [{"old_string": old, "new_string": new}]})
}

/// What the command line says about the same edit.
fn hint_of_the_command_line(root: &Root, path: &str, old: &str, new: &str) -> String {
    let refused = root.shell().args(["edit", path, "--old", old, "--new", new, "--json"]).output().unwrap();
    let answer: Value = serde_json::from_slice(&refused.stdout).unwrap();
    hint(&answer).to_owned()
}

#[test]
fn what_makes_a_text_unique_belongs_into_the_new_text_too() {
    let root = Root::with(&[("a", "a\nx = 1\nb\nx = 1\nc\n")]);
    let mut agent = root.open(&[]);
    let failed = agent.failed("multi_edit", &edit("a", "x = 1", "x = 2"), "AMBIGUOUS_MATCH");
    assert_eq!(failed["context"]["match_locations"][1]["unique_old_string"], "b\nx = 1");
    assert!(hint(&failed).contains("adds in new_string as well") && hint(&failed).len() <= 120, "{failed:#}");
    assert!(hint_of_the_command_line(&root, "a", "x = 1", "x = 2").contains("into the new text as well"));
}

#[test]
fn what_is_wrong_with_the_old_text_is_corrected_in_the_new_text_too() {
    let root = Root::with(&[("a", "one\ntwo < 3\nthree\n")]);
    let mut agent = root.open(&[]);
    for (old, new, cause) in [
        ("12: one", "12: 1", "line_numbers"),
        ("-one\n-two < 3", "+1\n+2", "diff_markers"),
        ("> one\n> two < 3", "> 1\n> 2", "quoted"),
        ("```\ntwo < 3\nthree\n```", "```\n2\n```", "wrapped"),
        ("two &lt; 3", "2 &lt; 3", "html_entities"),
        ("one\\ntwo < 3", "1\\n2", "escaped_text"),
        ("one\n...\nthree", "1\n...\n3", "elided"),
    ] {
        let failed = agent.failed("multi_edit", &edit("a", old, new), "MATCH_NOT_FOUND");
        assert_eq!(failed["context"]["cause"], cause, "{failed:#}");
        assert!(hint(&failed).contains("correct new_string in the same way"), "{cause}: {failed:#}");
        assert!(hint_of_the_command_line(&root, "a", old, new).contains("correct the new text likewise"), "{cause}");
    }
    // The nearest text may differ in what stays in the new one, too.
    std::fs::write(root.path("a"), "one\nfour three five six\n").unwrap();
    let failed = agent.failed("multi_edit", &edit("a", "four thirty five six", "4 5 6"), "MATCH_NOT_FOUND");
    assert!(hint(&failed).contains("new_string fitted to it") && hint(&failed).len() <= 120, "{failed:#}");
}

#[test]
fn the_mark_of_a_file_is_in_no_text_that_is_to_be_sent() {
    let root = Root::with(&[("a", "\u{feff}x = 1\nb\nx = 1\n"), ("b", "\u{feff}let  y = 1;\nb\n")]);
    let mut agent = root.open(&[]);
    let failed = agent.failed("multi_edit", &edit("a", "x = 1", "x = 2"), "AMBIGUOUS_MATCH");
    let unique = failed["context"]["match_locations"][0]["unique_old_string"].clone();
    assert_eq!(unique, "x = 1\nb", "{failed:#}");
    agent.done("multi_edit", &edit("a", unique.as_str().unwrap(), "x = 2\nb"));
    assert_eq!(root.read("a"), "\u{feff}x = 2\nb\nx = 1\n");
    let failed = agent.failed("multi_edit", &edit("b", "let y = 1;", "let y = 2;"), "MATCH_NOT_FOUND");
    let suggestion = failed["context"]["suggestion"].as_str().unwrap();
    assert_eq!(suggestion, "let  y = 1;", "{failed:#}");
    agent.done("multi_edit", &edit("b", suggestion, "let y = 2;"));
    assert_eq!(root.read("b"), "\u{feff}let y = 2;\nb\n");
}

#[test]
fn a_rebase_that_fails_is_not_advised_again() {
    let root = Root::with(&[("a", "one\ntwo\n")]);
    let mut agent = root.open(&[]);
    let first = agent.done("multi_edit", &edit("a", "one", "1"));
    let second = agent.done("multi_edit", &edit("a", "1", "eins"));
    let mut call = json!({"transaction_id": first["transaction_id"]});
    let failed = agent.failed("undo_transaction", &call, "UNDO_CONFLICT");
    assert!(hint(&failed).contains("rebase: true"), "{failed:#}");
    call["rebase"] = json!(true);
    let failed = agent.failed("undo_transaction", &call, "UNDO_CONFLICT");
    let id = second["transaction_id"].as_str().unwrap();
    assert!(!hint(&failed).contains("rebase") && hint(&failed).contains(id), "{failed:#}");
    let id_of_first = first["transaction_id"].as_str().unwrap();
    let told = root.shell().args(["undo", id_of_first, "--rebase"]).output().unwrap();
    let told = String::from_utf8(told.stderr).unwrap();
    assert!(!told.contains("--rebase") && told.contains("undo ") && told.contains(id), "{told}");
    agent.done("undo_transaction", &json!({"transaction_id": id}));
    agent.done("undo_transaction", &call);
    assert_eq!(root.read("a"), "one\ntwo\n");
}

#[test]
fn a_rebase_is_not_advised_where_only_the_mode_has_changed() {
    let root = Root::with(&[("a", "one\n")]);
    let mut agent = root.open(&[]);
    agent.done("multi_edit", &edit("a", "one", "1"));
    std::fs::set_permissions(root.path("a"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let failed = agent.failed("undo_transaction", &json!({}), "UNDO_CONFLICT");
    assert!(!hint(&failed).contains("rebase") && hint(&failed).contains("by hand"), "{failed:#}");
}

#[test]
fn what_is_undone_or_open_is_told_with_what_to_call() {
    let root = Root::with(&[("a", "one\n")]);
    let mut agent = root.open(&[]);
    let done = agent.done("multi_edit", &edit("a", "one", "1"));
    let call = json!({"transaction_id": done["transaction_id"]});
    let undone = agent.done("undo_transaction", &call);
    let undo = undone["transaction_id"].as_str().unwrap();
    let failed = agent.failed("undo_transaction", &call, "UNDO_CONFLICT");
    assert!(hint(&failed).contains("undo_transaction") && hint(&failed).contains(undo), "{failed:#}");
    let id = done["transaction_id"].as_str().unwrap();
    let told = String::from_utf8(root.shell().args(["undo", id]).output().unwrap().stderr).unwrap();
    assert!(told.contains(&format!("redo {id}`")), "{told}");
    agent.done("undo_transaction", &json!({"transaction_id": undo}));
    assert_eq!(root.read("a"), "1\n");
    let staged = agent.done("stage_edits", &json!({"files": [edit("a", "1", "2")]}));
    let id = staged["transaction_id"].as_str().unwrap();
    let failed = agent.failed("undo_transaction", &json!({"transaction_id": id}), "UNKNOWN_TRANSACTION");
    assert!(hint(&failed).contains("rollback_transaction") && hint(&failed).contains(id), "{failed:#}");
    let told = String::from_utf8(root.shell().args(["undo", id]).output().unwrap().stderr).unwrap();
    assert!(told.contains(&format!("rollback {id}`")), "{told}");
}

#[test]
fn an_encoding_is_advised_only_where_it_can_be_named() {
    let root = Root::with(&[]);
    std::fs::write(root.path("a"), b"caf\xe9 one\n").unwrap();
    let mut agent = root.open(&[]);
    let search = json!({"pattern": "one", "replacement": "\u{e9}"});
    let failed = agent.failed("replace_in_files", &search, "INVALID_ENCODING");
    assert!(hint(&failed).starts_with("Leave the file out") && hint(&failed).contains("multi_edit"), "{failed:#}");
    let patch = json!({"patch": "a\n<<<<<<< SEARCH\none\n=======\n\u{e9}\n>>>>>>> REPLACE\n"});
    let failed = agent.failed("apply_patch", &patch, "INVALID_ENCODING");
    assert!(hint(&failed).starts_with("Leave the file out"), "{failed:#}");
    let told = root.shell().args(["replace", "one", "\u{e9}"]).output().unwrap();
    let told = String::from_utf8(told.stderr).unwrap();
    assert!(told.contains("leave the file out") || told.contains("Leave the file out"), "{told}");
    let read = agent.done("read_files", &json!({"paths": ["a"]}));
    assert!(read["skipped"][0]["recovery_hint"].as_str().unwrap().contains("send its `encoding`"), "{read:#}");
    let mut call = edit("a", "one", "\u{e9}");
    call["encoding"] = json!("latin1");
    agent.done("multi_edit", &call);
    assert_eq!(std::fs::read(root.path("a")).unwrap(), b"caf\xe9 \xe9\n");
}

/// A refused edit of a file with this content, and what its hint says.
#[track_caller]
fn refused(agent: &mut Session, root: &Root, content: &[u8], call: &Value, says: &str) {
    std::fs::write(root.path("a"), content).unwrap();
    let failed = agent.failed("multi_edit", call, "INVALID_ENCODING");
    assert!(hint(&failed).contains(says), "{says}: {failed:#}");
    assert_eq!(std::fs::read(root.path("a")).unwrap(), content);
}

#[test]
fn each_fault_of_an_encoding_has_a_hint_of_its_own() {
    let root = Root::with(&[]);
    let mut agent = root.open(&[]);
    let named = |old: &str, new: &str, encoding: &str| json!({"file_path": "a", "edits": [{"old_string": old, "new_string": new}], "encoding": encoding});
    // A lead byte next to the edit would take the new text for its second half.
    refused(&mut agent, &root, b"\x81 |", &named(" |", "A", "shift_jis"), "leave those bytes");
    refused(&mut agent, &root, b"a\0b", &named("a", "c", "windows-1252"), "`content`");
    refused(&mut agent, &root, b"ab", &edit("a", "a", "c\0"), "without U+0000");
    refused(&mut agent, &root, b"ab", &named("a", "c\0", "windows-1252"), "without U+0000");
    let whole = |content: &str| json!({"files": [{"file_path": "b", "content": content, "encoding": "windows-1252"}]});
    let failed = agent.failed("multi_edit_files", &whole("\u{ff}\u{fe}a"), "INVALID_ENCODING");
    assert!(hint(&failed).contains("begin `content`") || hint(&failed).contains("Begin `content`"), "{failed:#}");
    // A whole content may have it: nobody edits it as text.
    agent.done("multi_edit_files", &json!({"files": [{"file_path": "c", "content": "a\0b"}]}));
}

#[test]
fn more_than_can_be_undone_together_is_undone_in_steps() {
    let root = Root::with(&[("a", "0\n")]);
    let mut agent = root.open(&["--durability", "process"]);
    let first = agent.done("multi_edit", &edit("a", "0", "1"));
    for n in 1..=300 {
        agent.done("multi_edit", &edit("a", &n.to_string(), &(n + 1).to_string()));
    }
    let all = json!({"since": first["transaction_id"]});
    let failed = agent.failed("undo_transaction", &all, "REQUEST_TOO_LARGE");
    let message = failed["error"].as_str().unwrap();
    let until = message.rsplit("committed after ").nth(1).and_then(|rest| rest.split(',').next()).unwrap();
    agent.done("undo_transaction", &json!({"since": until}));
    let undone = agent.done("undo_transaction", &all);
    assert_eq!(undone["reverts_each"].as_array().unwrap().len(), 44, "{undone:#}");
    assert_eq!(root.read("a"), "1\n");
    agent.failed("undo_transaction", &all, "UNKNOWN_TRANSACTION");
}

#[test]
fn a_name_that_is_not_text_is_no_name_of_another_file() {
    use std::os::unix::ffi::OsStrExt as _;
    let root = Root::with(&[("n\u{fffd}", "one\n")]);
    let odd = root.path("").join(std::ffi::OsStr::from_bytes(b"n\xff"));
    std::fs::write(&odd, "one\n").unwrap();
    let mut agent = root.open(&[]);
    let found = agent.done("replace_in_files", &json!({"pattern": "one", "replacement": "1", "dry_run": true}));
    let names: Vec<&str> =
        found["file_results"].as_array().unwrap().iter().map(|f| f["file_path"].as_str().unwrap()).collect();
    let escaped = root.name("n\\xff");
    assert_eq!(names.iter().filter(|name| **name == escaped).count(), 1, "{names:?}");
    for call in [edit(&escaped, "one", "1"), edit("n\\xff", "one", "1")] {
        let failed = agent.failed("multi_edit", &call, "VALIDATION_FAILED");
        assert!(failed["errors"][0]["message"].as_str().unwrap().contains("not UTF-8"), "{failed:#}");
    }
    assert_eq!(std::fs::read(&odd).unwrap(), b"one\n");
    // The command line takes the bytes.
    let edited = root.shell().arg("edit").arg(&odd).args(["--old", "one", "--new", "1"]).output().unwrap();
    assert!(edited.status.success(), "{edited:?}");
}

#[test]
fn what_no_commit_can_change_is_not_subscribed_to() {
    let root = Root::with(&[("f", "one\n")]);
    let mut agent = root.open(&[]);
    let nonsense = "txedit://transactions/nonsense/diff".to_owned();
    for uri in ["f".to_owned(), nonsense, "file:///".to_owned(), "file:///elsewhere/f".to_owned()] {
        let answer = agent.request("resources/subscribe", &json!({"uri": uri}));
        let message = answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{uri}: {answer}"));
        assert!(message.contains("txedit://transactions") && message.contains("file:///"), "{message}");
    }
    let done = agent.done("multi_edit", &edit("f", "one", "1"));
    let diff = format!("txedit://transactions/{}/diff", done["transaction_id"].as_str().unwrap());
    let file = format!("file://{}", root.name("not/yet/there"));
    for uri in ["txedit://transactions", "txedit://journal-format", &diff, &file] {
        assert_eq!(agent.request("resources/subscribe", &json!({"uri": uri}))["result"], json!({}), "{uri}");
    }
}
