//! An agent's typical mistakes. The next call is made from nothing but the answer's fields, and succeeds.

use serde_json::{Value, json};

use super::Root;

fn edit(root: &Root, file: &str, old: &str, new: &str) -> Value {
    json!({"file_path": root.name(file), "edits": [{"old_string": old, "new_string": new}]})
}

/// The text of an answer.
fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

#[test]
fn spaces_for_a_tab_are_corrected_by_the_answer() {
    let root = Root::with(&[("a.rs", "fn main() {\n\tlet a = 1;\n\tprintln!(\"{a}\");\n}\n")]);
    let mut agent = root.open(&[]);
    let failed =
        agent.failed("multi_edit", &edit(&root, "a.rs", "    let a = 1;", "    let a = 2;"), "MATCH_NOT_FOUND");
    assert_eq!(failed["context"]["cause"], "tabs_against_spaces", "{failed:#}");
    assert_eq!(failed["context"]["line"], 2);
    let right = text(&failed["context"]["suggestion"]);
    agent.done("multi_edit", &edit(&root, "a.rs", right, &right.replace('1', "2")));
    assert_eq!(root.read("a.rs"), "fn main() {\n\tlet a = 2;\n\tprintln!(\"{a}\");\n}\n");
}

#[test]
fn a_line_that_occurs_three_times_is_told_apart_by_the_answer() {
    let root = Root::with(&[("a.txt", "first\nvalue = 1\nsecond\nvalue = 1\nthird\nvalue = 1\n")]);
    let mut agent = root.open(&[]);
    let failed = agent.failed("multi_edit", &edit(&root, "a.txt", "value = 1\n", "value = 2\n"), "AMBIGUOUS_MATCH");
    assert_eq!(failed["context"]["total_matches"], 3, "{failed:#}");
    // The second place is meant: the lines around it are what makes it unique.
    let place = &failed["context"]["match_locations"][1];
    assert_eq!(place["line"], 4);
    let around = text(&place["snippet"]);
    let before = around.lines().find(|line| line.contains("second")).expect("the line before is in the snippet");
    let before = &before[before.find("second").unwrap()..];
    let old = format!("{before}\nvalue = 1\n");
    agent.done("multi_edit", &edit(&root, "a.txt", &old, &old.replace('1', "2")));
    assert_eq!(root.read("a.txt"), "first\nvalue = 1\nsecond\nvalue = 2\nthird\nvalue = 1\n");
    // Or all of them are meant, as the hint says.
    assert!(text(&failed["recovery_hint"]).contains("replace_all: true"));
    let all = json!({"file_path": failed["file_path"],
        "edits": [{"old_string": "value = 1\n", "new_string": "value = 3\n", "replace_all": true}]});
    let done = agent.done("multi_edit", &all);
    assert_eq!(done["edits"][0]["occurrences_replaced"], 2);
}

#[test]
fn a_text_that_an_earlier_edit_has_changed_already_is_said_to_be() {
    let root = Root::with(&[("a.txt", "alpha beta\n")]);
    let mut agent = root.open(&[]);
    let mut edits = vec![
        json!({"old_string": "alpha beta", "new_string": "gamma delta"}),
        json!({"old_string": "beta", "new_string": "BETA"}),
    ];
    let request = |edits: &[Value]| json!({"file_path": root.name("a.txt"), "edits": edits});
    let failed = agent.failed("multi_edit", &request(&edits), "MATCH_NOT_FOUND");
    assert_eq!(failed["failed_edit_index"], 1);
    assert_eq!(failed["context"]["cause"], "consumed_by_edit", "{failed:#}");
    let by = usize::try_from(failed["context"]["cause_index"].as_u64().unwrap()).unwrap();
    assert_eq!(root.read("a.txt"), "alpha beta\n");
    // What the earlier edit makes of the text is what the later one must look for; here it has no more to do.
    assert_eq!(by, 0);
    edits.remove(usize::try_from(failed["failed_edit_index"].as_u64().unwrap()).unwrap());
    agent.done("multi_edit", &request(&edits));
    assert_eq!(root.read("a.txt"), "gamma delta\n");
}

#[test]
fn a_stale_hash_is_corrected_by_the_answer() {
    let root = Root::with(&[("a.txt", "one\n")]);
    let mut agent = root.open(&[]);
    let read = agent.done("read_files", &json!({"paths": [root.name("a.txt")]}));
    let mut request = edit(&root, "a.txt", "one", "1");
    request["expected_hash"] = read["files"][0]["hash"].clone();
    std::fs::write(root.path("a.txt"), "zero\none\n").unwrap();
    let failed = agent.failed("multi_edit", &request, "HASH_MISMATCH");
    assert!(text(&failed["recovery_hint"]).starts_with("Read the file again"), "{failed:#}");
    let again = agent.done("read_files", &json!({"paths": [failed["file_path"]]}));
    assert_eq!(again["files"][0]["content"], "zero\none\n");
    request["expected_hash"] = again["files"][0]["hash"].clone();
    request["verbose"] = json!(true);
    let done = agent.done("multi_edit", &request);
    assert_eq!(done["hash_before"], request["expected_hash"]);
    assert_eq!(root.read("a.txt"), "zero\n1\n");
    // The answer's hash is good for the next edit, with no reading in between.
    let mut next = edit(&root, "a.txt", "zero", "0");
    next["expected_hash"] = done["hash_after"].clone();
    agent.done("multi_edit", &next);
}

#[test]
fn a_wrong_path_is_corrected_by_the_answer() {
    let root = Root::with(&[("a.txt", "one\n")]);
    let mut agent = root.open(&[]);
    // A relative path belongs to the root, wherever the server was started.
    let relative = json!({"file_path": "a.txt", "dry_run": true, "edits": [{"old_string": "one", "new_string": "1"}]});
    assert_eq!(agent.done("multi_edit", &relative)["file_path"], root.name("a.txt"));
    let missing = agent.failed("multi_edit", &edit(&root, "b.txt", "one", "1"), "VALIDATION_FAILED");
    assert_eq!(missing["errors"][0]["code"], "FILE_NOT_FOUND", "{missing:#}");
    // Where the file is cannot be known from the answer; that it is not there, and that it could be made, is.
    let create = json!({"files": [{"file_path": missing["file_path"], "content": "1\n"}]});
    agent.done("multi_edit_files", &create);
    assert_eq!(root.read("b.txt"), "1\n");
    // The arguments of another tool: the answer names those of this one.
    let confused = agent.failed(
        "multi_edit",
        &json!({"path": root.name("a.txt"), "edits": [{"old_string": "one",
        "new_string": "1"}]}),
        "VALIDATION_FAILED",
    );
    assert_eq!(confused["errors"][0]["path"], json!(["file_path"]));
    agent.done("multi_edit", &edit(&root, "a.txt", "one", "1"));
}

#[test]
fn the_file_of_several_that_does_not_fit_is_named() {
    let root = Root::with(&[("a.txt", "one\n"), ("b.txt", "two\n")]);
    let mut agent = root.open(&[]);
    let mut request = json!({"files": [edit(&root, "a.txt", "one", "1"), edit(&root, "b.txt", "Two ", "2")]});
    let failed = agent.failed("multi_edit_files", &request, "MATCH_NOT_FOUND");
    let at = |name: &str| usize::try_from(failed[name].as_u64().unwrap()).unwrap();
    let (file, index) = (at("failed_file_index"), at("failed_edit_index"));
    assert_eq!((file, index, root.read("a.txt").as_str()), (1, 0, "one\n"));
    assert_eq!(failed["outcome"], "unchanged");
    let read = agent.done("read_files", &json!({"paths": [failed["file_path"]]}));
    let line = text(&read["files"][0]["content"]).trim_end().to_owned();
    request["files"][file]["edits"][index]["old_string"] = line.into();
    let done = agent.done("multi_edit_files", &request);
    assert_eq!((root.read("a.txt").as_str(), root.read("b.txt").as_str()), ("1\n", "2\n"));
    agent.done("undo_transaction", &json!({"transaction_id": done["transaction_id"]}));
    assert_eq!((root.read("a.txt").as_str(), root.read("b.txt").as_str()), ("one\n", "two\n"));
}

/// The hint of a failure, which says in the words of the tools what to send.
fn hint(failed: &Value) -> &str {
    text(&failed["recovery_hint"])
}

#[test]
fn each_cause_says_what_to_send_next() {
    let root = Root::with(&[("a.txt", "one\ntwo\nfour three five six\n"), ("b.txt", "seven\n")]);
    let mut agent = root.open(&[]);
    let mut files = |list: Value, code: &str| agent.failed("multi_edit_files", &json!({"files": list}), code);
    // Proved: the suggestion is sent.
    let failed = files(json!([edit(&root, "a.txt", "12: two", "2")]), "MATCH_NOT_FOUND");
    assert_eq!(
        (failed["context"]["suggestion"].as_str(), hint(&failed)),
        (Some("two"), "Send `context.suggestion` as old_string, and correct new_string in the same way.")
    );
    // Guessed: the nearest text, if it is the place.
    let failed = files(json!([edit(&root, "a.txt", "four thirty five six", "2")]), "MATCH_NOT_FOUND");
    assert!(hint(&failed).contains("`context.nearest_old_string`"), "{failed:#}");
    assert_eq!(failed["context"]["nearest_old_string"], "four three five six");
    // In another file of the request.
    let failed =
        files(json!([edit(&root, "a.txt", "seven", "7"), edit(&root, "b.txt", "seven", "7")]), "MATCH_NOT_FOUND");
    assert_eq!(hint(&failed), "Move the edit to files[1], which has the text.");
    // Changed by an earlier edit.
    let edits = json!([{"old_string": "one\ntwo", "new_string": "1"}, {"old_string": "two\nfour", "new_string": "x"}]);
    let failed = files(json!([{"file_path": root.name("a.txt"), "edits": edits}]), "MATCH_NOT_FOUND");
    assert!(hint(&failed).contains("edits[0]"), "{failed:#}");
    // An undo of a file that changed in another line.
    agent.done("multi_edit", &edit(&root, "a.txt", "one", "1"));
    std::fs::write(root.path("a.txt"), "1\ntwo\nfour\n").unwrap();
    let failed = agent.failed("undo_transaction", &json!({}), "UNDO_CONFLICT");
    assert!(hint(&failed).contains("rebase: true"), "{failed:#}");
    agent.done("undo_transaction", &json!({"rebase": true}));
    assert_eq!(root.read("a.txt"), "one\ntwo\nfour\n");
}

#[test]
fn a_conflict_of_an_open_transaction_is_mended_by_the_answer() {
    let root = Root::with(&[("a.txt", "one\n")]);
    let mut agent = root.open(&[]);
    let staged = agent.done("stage_edits", &json!({"files": [edit(&root, "a.txt", "one", "1")]}));
    let id = json!({"transaction_id": staged["transaction_id"]});
    let mut wrong = id.clone();
    wrong["plan_hash"] = json!("0".repeat(64));
    let failed = agent.failed("commit_transaction", &wrong, "HASH_MISMATCH");
    assert!(hint(&failed).contains("preview_transaction"), "{failed:#}");
    std::fs::write(root.path("a.txt"), "two\n").unwrap();
    let failed = agent.failed("commit_transaction", &id, "CONCURRENT_MODIFICATION");
    assert_eq!(failed["retryable"], false, "{failed:#}");
    assert!(hint(&failed).contains(text(&staged["transaction_id"])) && hint(&failed).contains("rollback_transaction"));
    agent.done("rollback_transaction", &id);
    agent.done("stage_edits", &json!({"files": [edit(&root, "a.txt", "two", "2")]}));
}

#[test]
fn a_path_that_leads_nowhere_is_mended_by_the_answer() {
    let named = ["src/Parser.rs", "lib/deep/only.rs", "x/twice", "y/twice", "x/sub/mod.rs", "y/other/mod.rs"];
    let root = Root::with(&named.map(|path| (path, "one\n")));
    let mut agent = root.open(&[]);
    for (named, meant) in [
        ("src/parser.rs", "src/Parser.rs"),
        ("SRC/parser.rs", "src/Parser.rs"),
        ("only.rs", "lib/deep/only.rs"),
        // As it is named in the folder x.
        ("sub/mod.rs", "x/sub/mod.rs"),
    ] {
        let failed = agent.failed("multi_edit", &edit(&root, named, "one", "1"), "VALIDATION_FAILED");
        let finding = &failed["errors"][0];
        assert_eq!((&finding["code"], &finding["did_you_mean"]), (&json!("FILE_NOT_FOUND"), &json!(root.name(meant))));
        assert!(text(&finding["recovery_hint"]).contains("`did_you_mean`"), "{failed:#}");
        let again = json!({"file_path": finding["did_you_mean"], "edits": [{"old_string": "one", "new_string": "1"}]});
        agent.done("multi_edit", &again);
        std::fs::write(root.path(meant), "one\n").unwrap();
    }
    // Of two files of a name none is more likely, and what may not be read is not told of.
    std::fs::create_dir(root.path(".git")).unwrap();
    std::fs::write(root.path(".git/config"), "one\n").unwrap();
    for named in ["twice", "config"] {
        let failed = agent.failed("multi_edit", &edit(&root, named, "one", "1"), "VALIDATION_FAILED");
        assert_eq!(failed["errors"][0]["did_you_mean"], Value::Null, "{failed:#}");
    }
}

#[test]
fn a_search_in_no_file_says_which_words_of_the_call_were_in_the_way() {
    let root = Root::with(&[("src/a.rs", "one\n")]);
    let mut agent = root.open(&[]);
    let call = |include: &str| json!({"pattern": "one", "replacement": "1", "include": [include]});
    let failed = agent.failed("replace_in_files", &call("*.py"), "MATCH_NOT_FOUND");
    assert!(text(&failed["error"]).contains("no file matches *.py"), "{failed:#}");
    assert!(hint(&failed).contains("`include`") && !hint(&failed).contains("old_string"), "{failed:#}");
    // A pattern that is in no file is another matter.
    let failed = agent.failed("replace_in_files", &json!({"pattern": "two", "replacement": "2"}), "MATCH_NOT_FOUND");
    assert!(hint(&failed).contains("pattern") && !hint(&failed).contains("`include`"), "{failed:#}");
    agent.done("replace_in_files", &call("*.rs"));
}

#[test]
fn edits_that_were_staged_before_are_told_from_those_of_the_call() {
    let root = Root::with(&[("a.txt", "one two three\n"), ("b.txt", "four\n")]);
    let mut agent = root.open(&[]);
    let staged = agent.done(
        "stage_edits",
        &json!({"files": [edit(&root, "a.txt", "one", "1"), edit(&root, "b.txt", "four", "4 five")]}),
    );
    let call = |edits: Value| json!({"transaction_id": staged["transaction_id"], "files": [{"file_path": root.name("a.txt"), "edits": edits}]});
    let pair = |old: &str, new: &str| json!({"old_string": old, "new_string": new});
    let failed = agent.failed("stage_edits", &call(json!([pair("three", "3"), pair("one", "I")])), "MATCH_NOT_FOUND");
    assert_eq!(
        (&failed["context"]["cause"], &failed["context"]["cause_index"]),
        (&json!("consumed_by_staged"), &Value::Null)
    );
    assert_eq!(failed["failed_edit_index"], 1, "{failed:#}");
    assert!(text(&failed["error"]).contains("staged before"), "{failed:#}");
    assert!(hint(&failed).contains("preview_transaction"), "{failed:#}");
    let preview = agent.done("preview_transaction", &json!({"transaction_id": staged["transaction_id"]}));
    assert!(text(&preview["diff"]).contains("+1 two three"), "{preview:#}");
    // The edits of the call itself are counted from its first, and a file of another call has no number in this one.
    let failed =
        agent.failed("stage_edits", &call(json!([pair("two three", "2"), pair("two", "II")])), "MATCH_NOT_FOUND");
    assert_eq!(
        (&failed["context"]["cause"], &failed["context"]["cause_index"]),
        (&json!("consumed_by_edit"), &json!(0))
    );
    let failed = agent.failed("stage_edits", &call(json!([pair("five", "5")])), "MATCH_NOT_FOUND");
    assert_eq!(failed["context"]["cause"], Value::Null, "{failed:#}");
    agent.done("stage_edits", &call(json!([pair("three", "3"), pair("1 two", "I two")])));
}
