//! For each code that an agent can mend: the next call is made from the answer's fields and hint alone, and succeeds.

use serde_json::{Value, json};

use super::Root;

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

fn hint(failed: &Value) -> &str {
    text(&failed["recovery_hint"])
}

/// The only finding of a refused call, which has this code.
#[track_caller]
fn finding<'f>(failed: &'f Value, code: &str) -> &'f Value {
    let found = failed["errors"].as_array().unwrap_or_else(|| panic!("{failed:#}"));
    assert_eq!((found.len(), &found[0]["code"]), (1, &json!(code)), "{failed:#}");
    &found[0]
}

/// What a finding is about, in the call: `files.1.file_path`, as a pointer of JSON.
fn pointer(finding: &Value) -> String {
    finding["path"].as_array().unwrap().iter().fold(String::new(), |all, part| format!("{all}/{}", text(part)))
}

fn pair(old: &str, new: &str) -> Value {
    json!({"old_string": old, "new_string": new})
}

#[test]
fn a_wrong_number_of_matches_is_corrected_by_the_answer() {
    let root = Root::with(&[("a.txt", "x\nx\nx\n")]);
    let mut agent = root.open(&[]);
    let mut call =
        json!({"file_path": "a.txt", "edits": [{"old_string": "x", "new_string": "y", "expected_matches": 2}]});
    let failed = agent.failed("multi_edit", &call, "MATCH_COUNT_MISMATCH");
    call["edits"][0]["expected_matches"] = failed["context"]["total_matches"].clone();
    agent.done("multi_edit", &call);
    let mut call = json!({"pattern": "y", "replacement": "z", "expected_matches": 2});
    let failed = agent.failed("replace_in_files", &call, "MATCH_COUNT_MISMATCH");
    assert!(hint(&failed).contains("dry run"), "{failed:#}");
    let found = agent.done("replace_in_files", &json!({"pattern": "y", "replacement": "z", "dry_run": true}));
    call["expected_matches"] = found["matches"].clone();
    agent.done("replace_in_files", &call);
    assert_eq!(root.read("a.txt"), "z\nz\nz\n");
}

#[test]
fn what_is_given_twice_is_named_by_its_place_in_the_call() {
    let root = Root::with(&[("a.txt", "one two\n")]);
    let mut agent = root.open(&[]);
    let mut call = json!({"file_path": "a.txt", "edits": [pair("one", "1"), pair("one", "1")]});
    let failed = agent.failed("multi_edit", &call, "VALIDATION_FAILED");
    let place = pointer(finding(&failed, "DUPLICATE_OLD_STRING"));
    assert!(call.pointer(&place).is_some(), "{place}");
    let edit: usize = place.split('/').nth(2).unwrap().parse().unwrap();
    call["edits"].as_array_mut().unwrap().remove(edit);
    agent.done("multi_edit", &call);
    let mut call = json!({"files": [{"file_path": "a.txt", "edits": [pair("1", "one")]},
        {"file_path": "a.txt", "edits": [pair("two", "2")]}]});
    let failed = agent.failed("multi_edit_files", &call, "VALIDATION_FAILED");
    let place = pointer(finding(&failed, "DUPLICATE_FILE_PATH"));
    assert!(call.pointer(&place).is_some(), "{place}");
    let file: usize = place.split('/').nth(2).unwrap().parse().unwrap();
    let second = call["files"].as_array_mut().unwrap().remove(file);
    call["files"][0]["edits"].as_array_mut().unwrap().push(second["edits"][0].clone());
    agent.done("multi_edit_files", &call);
    assert_eq!(root.read("a.txt"), "one 2\n");
}

#[test]
fn edits_that_say_nothing_are_told_what_to_say() {
    let root = Root::with(&[("a.txt", "one\n"), ("empty", "")]);
    let mut agent = root.open(&[]);
    let failed = agent.failed("multi_edit", &json!({"file_path": "a.txt", "edits": []}), "VALIDATION_FAILED");
    let empty = finding(&failed, "EMPTY_EDITS");
    assert_eq!(empty["path"], json!(["edits"]));
    assert!(text(&empty["recovery_hint"]).contains("old_string and new_string"), "{failed:#}");
    // Both say that a whole file is written with `content`, and how.
    let whole = |path: &str| json!({"files": [{"file_path": path, "content": "whole\n", "if_exists": "replace"}]});
    let call = json!({"file_path": "a.txt", "edits": [pair("", "whole\n")]});
    let failed = agent.failed("multi_edit", &call, "VALIDATION_FAILED");
    let of_text = text(&finding(&failed, "EMPTY_OLD_STRING")["recovery_hint"]).to_owned();
    let call = json!({"file_path": "empty", "edits": [pair("x", "whole\n")]});
    let failed = agent.failed("multi_edit", &call, "EMPTY_FILE");
    for hint in [&of_text, hint(&failed)] {
        assert!(hint.contains("`content`") && hint.contains("multi_edit_files"), "{hint}");
    }
    for path in ["a.txt", "empty"] {
        agent.done("multi_edit_files", &whole(path));
        assert_eq!(root.read(path), "whole\n");
    }
}

#[test]
fn a_file_that_is_there_is_replaced_as_the_hint_says() {
    let root = Root::with(&[("a.txt", "one\n")]);
    let mut agent = root.open(&[]);
    let mut call = json!({"files": [{"file_path": "a.txt", "content": "new\n", "if_exists": "fail"}]});
    let failed = agent.failed("multi_edit_files", &call, "VALIDATION_FAILED");
    assert!(text(&finding(&failed, "FILE_EXISTS")["recovery_hint"]).contains("if_exists: \"replace\""), "{failed:#}");
    call["files"][0]["if_exists"] = json!("replace");
    agent.done("multi_edit_files", &call);
    assert_eq!(root.read("a.txt"), "new\n");
}

#[test]
fn a_path_outside_is_told_what_the_root_is() {
    let root = Root::with(&[("a.txt", "one\n"), ("folder/b.txt", "one\n")]);
    let mut agent = root.open(&[]);
    let call = |path: &str| json!({"file_path": path, "edits": [pair("one", "1")]});
    let failed = agent.failed("multi_edit", &call("/somewhere/else/a.txt"), "VALIDATION_FAILED");
    let message = text(&finding(&failed, "OUTSIDE_ROOT")["message"]).to_owned();
    assert!(message.contains(&root.name("").trim_end_matches('/').to_owned()), "{message}");
    let failed = agent.failed("multi_edit", &call("folder/../a.txt"), "VALIDATION_FAILED");
    assert!(text(&finding(&failed, "PATH_TRAVERSAL")["recovery_hint"]).contains(".."), "{failed:#}");
    agent.done("multi_edit", &call("a.txt"));
    let failed = agent.failed("multi_edit", &call("folder"), "VALIDATION_FAILED");
    finding(&failed, "NOT_A_REGULAR_FILE");
    agent.done("multi_edit", &call("folder/b.txt"));
}

#[test]
fn an_unknown_transaction_is_found_with_the_tool_that_the_hint_names() {
    let root = Root::with(&[("a.txt", "one\n")]);
    let mut agent = root.open(&[]);
    agent.done("multi_edit", &json!({"file_path": "a.txt", "edits": [pair("one", "1")]}));
    for tool in ["undo_transaction", "rollback_transaction", "preview_transaction", "commit_transaction"] {
        let id = json!({"transaction_id": "29990101T000000.000000Z-0000000000000000"});
        let failed = agent.failed(tool, &id, "UNKNOWN_TRANSACTION");
        assert!(hint(&failed).contains("list_transactions"), "{tool}: {failed:#}");
    }
    let listed = agent.done("list_transactions", &json!({}));
    agent.done("undo_transaction", &json!({"transaction_id": listed["transactions"][0]["transaction_id"]}));
    assert_eq!(root.read("a.txt"), "one\n");
}

#[test]
fn an_undo_over_a_later_edit_of_other_lines_is_rebased_as_the_hint_says() {
    let root = Root::with(&[("a.txt", "one\n2\n3\n4\n5\n6\nseven\n")]);
    let mut agent = root.open(&[]);
    let done = agent.done("multi_edit", &json!({"file_path": "a.txt", "edits": [pair("one", "1")]}));
    std::fs::write(root.path("a.txt"), "1\n2\n3\n4\n5\n6\n7\n").unwrap();
    let mut call = json!({"transaction_id": done["transaction_id"]});
    let failed = agent.failed("undo_transaction", &call, "UNDO_CONFLICT");
    assert!(hint(&failed).contains("rebase: true"), "{failed:#}");
    call["rebase"] = json!(true);
    agent.done("undo_transaction", &call);
    assert_eq!(root.read("a.txt"), "one\n2\n3\n4\n5\n6\n7\n");
}

#[test]
fn what_the_server_does_not_allow_is_left_out() {
    let root = Root::with(&[("a.txt", "one\n")]);
    let mut agent = root.open(&[]);
    let mut call = json!({"files": [{"file_path": "a.txt", "edits": [pair("one", "1")]}], "check": ["true"]});
    let failed = agent.failed("multi_edit_files", &call, "CHECKS_NOT_ALLOWED");
    assert!(hint(&failed).contains("without `check`"), "{failed:#}");
    call.as_object_mut().unwrap().remove("check");
    agent.done("multi_edit_files", &call);
    let mut reader = root.open(&["--read-only"]);
    let mut call = json!({"file_path": "a.txt", "edits": [pair("1", "one")]});
    let failed = reader.failed("multi_edit", &call, "READ_ONLY_MODE");
    assert!(hint(&failed).contains("dry_run: true"), "{failed:#}");
    call["dry_run"] = json!(true);
    reader.done("multi_edit", &call);
    assert_eq!(root.read("a.txt"), "1\n");
}

#[test]
fn a_search_that_is_too_wide_or_cannot_be_read_is_corrected_by_the_answer() {
    let root = Root::with(&[("a.txt", "f(x)\n"), ("b.txt", "f(x)\n")]);
    let mut agent = root.open(&[]);
    let mut call = json!({"pattern": "f(", "replacement": "g(", "regex": true, "max_files": 1});
    let failed = agent.failed("replace_in_files", &call, "INVALID_PATTERN");
    assert!(text(&failed["error"]).contains("unclosed group"), "{failed:#}");
    call["regex"] = json!(false);
    let failed = agent.failed("replace_in_files", &call, "REQUEST_TOO_LARGE");
    let error = text(&failed["error"]);
    let number: u64 = error.split_once(" files would change").unwrap().0.rsplit(' ').next().unwrap().parse().unwrap();
    assert!(hint(&failed).contains("max_files"), "{failed:#}");
    call["max_files"] = json!(number);
    agent.done("replace_in_files", &call);
    assert_eq!(root.read("b.txt"), "g(x)\n");
}

#[test]
fn the_line_of_a_patch_that_cannot_be_read_is_named() {
    let root = Root::with(&[("a.txt", "one\n")]);
    let mut agent = root.open(&[]);
    let mut lines = vec!["--- a/a.txt", "+++ b/a.txt", "@@ -1 +1 @@", "-one", "what is this", "+1", ""];
    let failed = agent.failed("apply_patch", &json!({"patch": lines.join("\n")}), "PATCH_PARSE_FAILED");
    let error = text(&failed["error"]);
    let digits: String = error.split_once("line ").unwrap().1.chars().take_while(char::is_ascii_digit).collect();
    lines.remove(digits.parse::<usize>().unwrap() - 1);
    agent.done("apply_patch", &json!({"patch": lines.join("\n")}));
    assert_eq!(root.read("a.txt"), "1\n");
}
