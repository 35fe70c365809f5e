//! Patches of every format, replacements in the tree, and tolerant edits, through the server.

use std::fs;

use serde_json::{Value, json};

use super::Root;

/// A patch of each format that makes `b` of the `a` in `x`, whose address is `uri`.
fn patches(uri: &str) -> [(&'static str, String); 5] {
    let range = json!({"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}});
    let found =
        json!([{"text": "a", "range": {"byteOffset": {"start": 0, "end": 1}}, "file": "x", "replacement": "b"}]);
    [
        ("diff", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n".into()),
        ("envelope", "*** Begin Patch\n*** Update File: x\n@@\n-a\n+b\n*** End Patch\n".into()),
        ("search-replace", "x\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n".into()),
        ("workspace-edit", json!({"changes": {uri: [{"range": range, "newText": "b"}]}}).to_string()),
        ("ast-grep", found.to_string()),
    ]
}

#[test]
fn a_patch_of_every_format_is_applied_and_undone() {
    let root = Root::with(&[("x", "a\n")]);
    let mut session = root.open(&[]);
    for (format, patch) in patches(&format!("file://{}", root.name("x"))) {
        let dry = session.done("apply_patch", &json!({"patch": patch, "dry_run": true}));
        let diff = dry["file_results"][0]["diff"].as_str().unwrap();
        assert!(diff.contains("-a\n+b\n") && dry["transaction_id"].is_null(), "{format}: {dry:#}");
        assert_eq!(root.read("x"), "a\n");
        let done = session.done("apply_patch", &json!({"patch": patch}));
        assert_eq!(done["file_results"][0]["hash_after"], dry["file_results"][0]["hash_after"]);
        assert_eq!(root.read("x"), "b\n", "{format}");
        session.done("undo_transaction", &json!({"transaction_id": done["transaction_id"]}));
        session.done("apply_patch", &json!({"patch": patch, "format": format}));
        session.done("undo_transaction", &json!({}));
        assert_eq!(root.read("x"), "a\n", "{format}");
    }
}

#[test]
fn a_report_with_nothing_to_fix_is_a_success() {
    let root = Root::with(&[("x", "a\n")]);
    let mut session = root.open(&[]);
    let done = session.done("apply_patch", &json!({"patch": "[]"}));
    assert_eq!((&done["files_edited"], &done["transaction_id"]), (&json!(0), &Value::Null));
    let eslint = json!([{"filePath": "x", "source": "a\n", "messages": [{"fix": {"range": [0, 1], "text": "b"}}]}]);
    session.done("apply_patch", &json!({"patch": eslint.to_string()}));
    assert_eq!(root.read("x"), "b\n");
}

#[test]
fn a_patch_of_several_files_is_applied_whole_or_not_at_all() {
    let root = Root::with(&[("edit", "a\nb\n"), ("gone", "g\n"), ("from", "f\n"), ("twice", "t\nt\n")]);
    let mut session = root.open(&[]);
    let patch = "diff --git a/edit b/edit\nold mode 100644\nnew mode 100755\n--- a/edit\n+++ b/edit\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n\
        diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-g\n\
        diff --git a/from b/sub/to\nsimilarity index 100%\nrename from from\nrename to sub/to\n\
        diff --git a/edit b/copy\nsimilarity index 100%\ncopy from edit\ncopy to copy\n";
    let bad = format!("{patch}diff --git a/twice b/twice\n--- a/twice\n+++ b/twice\n@@ @@\n-t\n+u\n");
    let failed = session.failed("apply_patch", &json!({"patch": bad}), "AMBIGUOUS_MATCH");
    assert_eq!((&failed["failed_file_index"], &failed["failed_edit_index"]), (&json!(4), &json!(0)));
    assert_eq!(failed["context"]["total_matches"], 2);
    assert_eq!(failed["recovery_hint"], "Give the hunk more lines of context, then send the patch again.");
    assert_eq!(
        fs::read_dir(root.path("")).unwrap().filter(|it| it.as_ref().unwrap().file_name() != ".txedit").count(),
        4
    );
    let done = session.done("apply_patch", &json!({"patch": patch}));
    assert_eq!(
        (&done["files_edited"], root.read("edit").as_str(), root.read("copy").as_str()),
        (&json!(4), "a\nc\n", "a\nb\n")
    );
    assert_eq!((root.read("sub/to").as_str(), root.path("gone").exists()), ("f\n", false));
    let gone = session.failed("apply_patch", &json!({"patch": patch}), "VALIDATION_FAILED");
    assert_eq!(gone["errors"][0]["code"], "FILE_NOT_FOUND", "{gone:#}");
    session.done("undo_transaction", &json!({}));
    fs::write(root.path("gone"), "other\n").unwrap();
    let other = session.failed("apply_patch", &json!({"patch": patch}), "HASH_MISMATCH");
    assert!(other["error"].as_str().unwrap().contains("gone is not what the patch deletes"), "{other:#}");
}

#[test]
fn a_patch_that_is_none_says_where_and_what_was_expected() {
    let root = Root::with(&[("x", "a\n"), ("y", "y\n")]);
    let mut session = root.open(&[]);
    let mut failed = |patch: &str, code: &str| session.failed("apply_patch", &json!({"patch": patch}), code);
    let error = |failed: &Value| failed["error"].as_str().unwrap().to_owned();
    let short = failed("--- a/x\n+++ b/x\n@@ -1,9 +1 @@\n-a\n+b\n", "PATCH_PARSE_FAILED");
    assert!(error(&short).contains("line 6, column 1: expected 8 more old and 0 more new lines"), "{short:#}");
    let binary =
        failed("diff --git a/p.png b/p.png\nindex 1..2 100644\nGIT binary patch\nliteral 0\n", "PATCH_PARSE_FAILED");
    assert!(error(&binary).contains("p.png is binary"), "{binary:#}");
    failed("hello", "PATCH_PARSE_FAILED");
    let outside = failed("--- /dev/null\n+++ b/../out\n@@ -0,0 +1 @@\n+a\n", "VALIDATION_FAILED");
    assert_eq!(outside["errors"][0]["code"], "PATH_TRAVERSAL");
    let uri = |name: &str| format!("file://{}", root.name(name));
    let range = json!({"start": {"line": 9, "character": 0}, "end": {"line": 9, "character": 1}});
    let edits = |name: &str| json!({"textDocument": {"uri": uri(name), "version": 7}, "edits": [{"range": range, "newText": ""}]});
    let create = json!({"kind": "create", "uri": uri("new")});
    for (changes, code, failed_change) in [
        (json!([create, edits("x")]), "MATCH_NOT_FOUND", 1),
        (json!([create, edits("none")]), "VALIDATION_FAILED", 1),
        (json!([create, create]), "PATCH_PARSE_FAILED", 1),
        (json!([{"kind": "create", "uri": uri("x")}, create]), "VALIDATION_FAILED", 0),
    ] {
        let failed = failed(&json!({"documentChanges": changes}).to_string(), code);
        assert_eq!(failed["failedChange"], failed_change, "{failed:#}");
        assert!(error(&failed).ends_with(&format!("(failedChange: {failed_change})")), "{failed:#}");
    }
    assert!(!root.path("new").exists());
    assert_eq!((root.read("x").as_str(), root.read("y").as_str()), ("a\n", "y\n"));
}

#[test]
fn a_text_is_replaced_in_the_tree_as_one_transaction() {
    let root =
        Root::with(&[("a.rs", "old(1) older\n"), ("b.txt", "old\n"), (".gitignore", "skip\n"), ("skip", "old\n")]);
    fs::write(root.path("binary"), b"old\0").unwrap();
    let mut session = root.open(&[]);
    let ask = |pattern: &str, more: Value| {
        let mut arguments = json!({"pattern": pattern, "replacement": "$1"});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    let dry = session.done("replace_in_files", &ask("old", json!({"word": true, "dry_run": true})));
    assert!(dry["file_results"][0]["diff"].as_str().unwrap().contains("+$1(1) older\n"), "{dry:#}");
    assert_eq!(
        (&dry["total_matches"], &dry["files_searched"], &dry["binary_files_skipped"]),
        (&json!(2), &json!(2), &json!(1))
    );
    assert!(!root.path(".txedit").exists());
    for (more, code) in [
        (json!({"expected_matches": 9}), "MATCH_COUNT_MISMATCH"),
        (json!({"max_files": 1}), "REQUEST_TOO_LARGE"),
        (json!({"regex": true}), "INVALID_PATTERN"),
        (json!({"include": ["["]}), "INVALID_PATTERN"),
        (json!({"exclude": ["!a.rs"]}), "INVALID_PATTERN"),
        (json!({"include": ["*.md"]}), "MATCH_NOT_FOUND"),
    ] {
        let failed = session.failed("replace_in_files", &ask("old", more.clone()), code);
        assert_eq!(failed["outcome"], "unchanged", "{more}");
    }
    assert_eq!((root.read("a.rs").as_str(), root.read("b.txt").as_str()), ("old(1) older\n", "old\n"));
    let none = session.done("replace_in_files", &ask("old", json!({"include": ["*.md"], "expected_matches": 0})));
    assert_eq!((&none["files_edited"], &none["transaction_id"]), (&json!(0), &Value::Null));

    let guarded =
        json!({"regex": true, "include": ["*.rs", "*.txt"], "exclude": ["b.*"], "expected_matches": 1, "max_files": 1});
    let done = session.done("replace_in_files", &ask(r"old\((\d)\)", guarded));
    assert_eq!(done["file_results"][0]["file_path"], root.name("a.rs"));
    assert_eq!(root.read("a.rs"), "1 older\n");
    let done = session.done("replace_in_files", &ask("old", json!({})));
    assert_eq!((&done["total_matches"], root.read("a.rs").as_str()), (&json!(2), "1 $1er\n"));
    session.done("undo_transaction", &json!({"transaction_id": done["transaction_id"]}));
    assert_eq!((root.read("a.rs").as_str(), root.read("skip").as_str()), ("1 older\n", "old\n"));
}

#[test]
fn an_edit_is_matched_as_asked_and_a_suggestion_can_be_sent_back() {
    let root = Root::with(&[("x", "fn a() {\n\tlet s = “it’s”;\n}\n")]);
    let mut session = root.open(&[]);
    let ask = |old: &str, more: Value| {
        let mut edit = json!({"old_string": old, "new_string": "    let s = 1;\n    let t = 2;"});
        edit.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"file_path": root.name("x"), "edits": [edit]})
    };
    let old = "    let s = \"it's\";";
    let failed = session.failed("multi_edit", &ask(old, json!({})), "MATCH_NOT_FOUND");
    let suggestion = failed["context"]["suggestion"].as_str().unwrap();
    assert_eq!((&failed["context"]["cause"], suggestion), (&json!("look_alike"), "\tlet s = “it’s”;"));
    let dry = session.done("multi_edit", &{
        let mut dry = ask(suggestion, json!({}));
        dry["dry_run"] = json!(true);
        dry["verbose"] = json!(true);
        dry
    });
    assert_eq!(dry["edits"][0]["match_kind"], "exact");
    let done = session.done("multi_edit", &ask(old, json!({"match": "tolerant"})));
    assert_eq!(done["edits"][0]["match_kind"], "look_alikes");
    assert_eq!(root.read("x"), "fn a() {\n\tlet s = 1;\n\tlet t = 2;\n}\n");
    let failed = session.failed("multi_edit", &ask(old, json!({"match": "similar"})), "VALIDATION_FAILED");
    assert_eq!(failed["errors"][0]["path"], json!(["edits", "0", "match"]));
}
