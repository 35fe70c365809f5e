//! Patches of all formats, replacements in trees, and transactions as patches.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::json;

use super::{Workspace, run};

#[track_caller]
fn has(here: &Workspace, name: &str, content: &str) {
    assert_eq!(fs::read_to_string(here.path().join(name)).unwrap(), content, "{name}");
}

fn workspace(files: &[(&str, &str)]) -> Workspace {
    let here = Workspace::new();
    here.write(".git/HEAD", "");
    for (name, content) in files {
        here.write(name, content);
    }
    here
}

/// Writes a patch for a workspace.
type Make<'a> = &'a dyn Fn(&Workspace) -> String;

#[test]
fn a_patch_of_any_format_is_applied_by_its_content() {
    let uri = |here: &Workspace| format!("file://{}/x", here.path().display());
    let range = json!({"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}});
    let found =
        json!([{"text": "a", "range": {"byteOffset": {"start": 0, "end": 1}}, "file": "x", "replacement": "b"}]);
    let span = |here: &Workspace| {
        json!({"file_name": here.path().join("x"), "byte_start": 0, "byte_end": 1, "suggested_replacement": "b",
               "text": [{"text": "a", "highlight_start": 1, "highlight_end": 2}],
               "suggestion_applicability": "MachineApplicable"})
    };
    let rustc = |here: &Workspace| json!({"rendered": "", "spans": [], "children": [{"spans": [span(here)]}]});
    let [from, to] = [1, 2].map(|column| json!({"row": 1, "column": column}));
    let ruff = json!([{"filename": "x", "location": from, "end_location": to, "fix": {"applicability": "safe",
                       "edits": [{"content": "b", "location": from, "end_location": to}]}}]);
    let eslint = json!([{"filePath": "x", "source": "a\n", "messages": [{"fix": {"range": [0, 1], "text": "b"}}]}]);
    let formats: [(&str, Make<'_>); 9] = [
        ("diff", &|_| "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n".into()),
        ("envelope", &|_| "*** Begin Patch\n*** Update File: x\n@@\n-a\n+b\n*** End Patch\n".into()),
        ("search-replace", &|_| "x\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n".into()),
        ("workspace-edit", &|here| json!({"changes": {uri(here): [{"range": range, "newText": "b"}]}}).to_string()),
        ("ast-grep", &|_| found.to_string()),
        ("rustc", &|here| rustc(here).to_string()),
        ("rustc", &|here| {
            let finished = json!({"reason": "build-finished", "success": true});
            format!("{}\n{finished}\n", json!({"reason": "compiler-message", "message": rustc(here)}))
        }),
        ("ruff", &|_| ruff.to_string()),
        ("eslint", &|_| eslint.to_string()),
    ];
    for (format, make) in formats {
        let here = workspace(&[("x", "a\n")]);
        here.write("p", &make(&here));
        here.run(&["apply", "p", "--dry-run"]).exits(0);
        has(&here, "x", "a\n");
        here.run(&["apply", "p"]).exits(0);
        has(&here, "x", "b\n");
        here.run(&["undo"]).exits(0);
        has(&here, "x", "a\n");
        let json = here.run(&["apply", "p", "--format", format, "--json"]).exits(0).json();
        assert_eq!(json["files_edited"], 1, "{json}");
        has(&here, "x", "b\n");
    }
}

#[test]
fn a_patch_that_cannot_be_read_or_placed_changes_nothing() {
    let here = workspace(&[("x", "a\na\n"), ("y", "y\n")]);
    here.write("p", "--- a/y\n+++ b/y\n@@ -1 +1 @@\n-y\n+z\n--- a/x\n+++ b/x\n@@ @@\n-a\n+b\n");
    let json = here.run(&["apply", "p", "--json"]).exits(1).json();
    assert_eq!((&json["error_code"], &json["failed_file_index"]), (&json!("AMBIGUOUS_MATCH"), &json!(1)));
    has(&here, "y", "y\n");
    here.write("p", "--- a/x\n+++ b/x\n@@ -1,9 +1 @@\n-a\n+b\n");
    let json = here.run(&["apply", "p", "--json"]).exits(2).json();
    assert_eq!(json["error_code"], "PATCH_PARSE_FAILED");
    assert!(json["error"].as_str().unwrap().contains("line 6, column 1"), "{json}");
    here.write("p", "hello");
    assert_eq!(here.run(&["apply", "p", "--json"]).exits(2).json()["error_code"], "PATCH_PARSE_FAILED");
    here.write("p", "--- /dev/null\n+++ b/../out\n@@ -0,0 +1 @@\n+a\n");
    here.run(&["apply", "p"]).exits(2);
    let uri = format!("file://{}/x", here.path().display());
    let range = json!({"start": {"line": 9, "character": 0}, "end": {"line": 9, "character": 1}});
    let first = json!({"kind": "create", "uri": format!("{uri}2")});
    let edits = json!({"textDocument": {"uri": uri}, "edits": [{"range": range, "newText": ""}]});
    here.write("p", &json!({"documentChanges": [first, edits]}).to_string());
    let json = here.run(&["apply", "p", "--json"]).exits(1).json();
    assert!(json["error"].as_str().unwrap().ends_with("(failedChange: 1)"), "{json}");
}

#[test]
fn a_report_with_nothing_to_fix_is_a_success_with_nothing_done() {
    let here = workspace(&[("x", "a\n")]);
    let clean = json!([{"filePath": "x", "messages": [], "source": "a\n"}]).to_string();
    let finished = "{\"reason\":\"build-finished\",\"success\":true}\n".to_owned();
    let unfixable = json!([{"filename": "x", "location": {"row": 1, "column": 1}, "end_location": {"row": 1, "column": 1},
                            "fix": null, "code": "X"}]);
    for report in ["[]".to_owned(), clean, finished, unfixable.to_string()] {
        here.write("p", &report);
        let json = here.run(&["apply", "p", "--json"]).exits(0).json();
        assert_eq!((&json["files_edited"], json.get("transaction_id")), (&json!(0), None), "{report}: {json}");
        let ran = here.run(&["apply", "p"]);
        assert!(ran.exits(0).stdout.contains("nothing to change"), "{ran:?}");
        here.run(&["stage", "p"]).exits(0);
    }
    // A stream of matches without one.
    here.write("p", "");
    here.run(&["apply", "p", "--format", "ast-grep"]).exits(0);
    assert!(!here.path().join(".txedit").exists());
}

#[test]
fn json_that_is_neither_a_plan_nor_a_known_report_is_said_to_be_neither() {
    let here = workspace(&[("x", "a\n")]);
    for text in ["{\"version\": 1, \"results\": []}", "{\"a\": 1}\n{\"a\": 2}\n", "[1, 2]"] {
        here.write("p", text);
        let json = here.run(&["apply", "p", "--json"]).exits(2).json();
        assert_eq!(json["error_code"], "PATCH_PARSE_FAILED", "{json}");
        let error = json["error"].as_str().unwrap();
        assert!(error.contains("neither a plan (a JSON object with `files`) nor a patch that is known"), "{error}");
    }
    // What may be a plan is told what is wrong with it as one.
    for text in ["{}", "{\"files\": 1}", "{\"files\": ["] {
        here.write("p", text);
        let json = here.run(&["apply", "p", "--json"]).exits(2).json();
        assert_ne!(json["error_code"], "PATCH_PARSE_FAILED", "{json}");
    }
}

#[test]
fn fixes_that_a_tool_is_not_sure_of_are_applied_with_unsafe_fixes() {
    let here = workspace(&[("x", "a\n")]);
    let [from, to] = [1, 2].map(|column| json!({"row": 1, "column": column}));
    let edits = json!([{"content": "b", "location": from, "end_location": to}]);
    let fix = json!({"applicability": "unsafe", "edits": edits});
    here.write("p", &json!([{"filename": "x", "location": from, "end_location": to, "fix": fix}]).to_string());
    here.run(&["apply", "p"]).exits(0);
    has(&here, "x", "a\n");
    here.run(&["apply", "p", "--unsafe-fixes"]).exits(0);
    has(&here, "x", "b\n");
}

#[test]
fn texts_are_compared_as_asked() {
    let here = workspace(&[("x", "\ta = 1\n")]);
    here.run(&["edit", "x", "--old", "    a = 1", "--new", "    a = 2"]).exits(1);
    let json = here.run(&["edit", "x", "--old", "    a = 1", "--new", "    a = 2", "--match", "tolerant", "--json"]);
    assert_eq!(json.exits(0).json()["file_results"][0]["edits"][0]["match_kind"], "indentation");
    has(&here, "x", "\ta = 2\n");
    let plan =
        json!({"files": [{"file_path": "x", "edits": [{"old_string": "  a = 2\n", "new_string": "  a = 3\n"}]}]});
    here.write("p", &plan.to_string());
    here.run(&["apply", "p"]).exits(1);
    here.run(&["apply", "p", "--match", "tolerant"]).exits(0);
    has(&here, "x", "\ta = 3\n");
}

#[test]
fn an_anchor_that_stands_in_another_file_is_found_there() {
    let here = workspace(&[("x", "one\n"), ("y", "two words\n")]);
    let edit = |old: &str| json!([{"old_string": old, "new_string": "3"}]);
    let plan =
        json!({"files": [{"file_path": "x", "edits": edit("two words")}, {"file_path": "y", "edits": edit("two")}]});
    here.write("p", &plan.to_string());
    let json = here.run(&["apply", "p", "--json"]).exits(1).json();
    assert_eq!((&json["context"]["cause"], &json["context"]["cause_index"]), (&json!("in_other_file"), &json!(1)));
    assert!(json["error"].as_str().unwrap().contains("it is in file 2 of this request"), "{json}");
}

#[test]
fn several_matches_come_with_an_anchor_for_each() {
    let here = workspace(&[("x", "if a\n  go\nend\nif b\n  go\nend\n")]);
    let plan = |old: &str| json!({"files": [{"file_path": "x", "edits": [{"old_string": old, "new_string": "X"}]}]});
    here.write("p", &plan("go").to_string());
    let json = here.run(&["apply", "p", "--json"]).exits(1).json();
    let places = &json["context"]["match_locations"];
    assert_eq!(places[0]["unique_old_string"], "if a\n  go");
    assert_eq!(places[1]["unique_old_string"], "if b\n  go");
    here.write("p", &plan(places[1]["unique_old_string"].as_str().unwrap()).to_string());
    here.run(&["apply", "p"]).exits(0);
    has(&here, "x", "if a\n  go\nend\nX\nend\n");
}

#[test]
fn a_text_is_replaced_in_a_tree_as_one_transaction() {
    let here =
        workspace(&[("a.rs", "old(1) older\n"), ("sub/b.txt", "old old\n"), (".gitignore", "skip\n"), ("skip", "old")]);
    fs::write(here.path().join("binary"), b"old\0").unwrap();
    let ran = here.run(&["replace", "old", "$1", "--word"]);
    let text = &ran.exits(0).stdout;
    assert!(text.contains(": 3 matches in 2 files\n") && text.contains("2  sub/b.txt\n"), "{ran:?}");
    assert!(ran.stderr.contains("1 binary file skipped"), "{ran:?}");
    has(&here, "a.rs", "$1(1) older\n");
    has(&here, "sub/b.txt", "$1 $1\n");
    has(&here, "skip", "old");
    here.run(&["undo"]).exits(0);
    let json = here.run(&["replace", r"old\((\d)\)", "new[$1]", "--regex", "-g", "*.rs", "--json"]).exits(0).json();
    assert_eq!((&json["total_matches"], &json["file_results"][0]["matches"]), (&json!(1), &json!(1)));
    has(&here, "a.rs", "new[1] older\n");
    let code = |line: &[&str], status| here.run(line).exits(status).json()["error_code"].as_str().unwrap().to_owned();
    assert_eq!(code(&["replace", "old", "x", "--expected-matches", "9", "--json"], 1), "MATCH_COUNT_MISMATCH");
    assert_eq!(code(&["replace", "old", "x", "--max-files", "1", "--json"], 2), "REQUEST_TOO_LARGE");
    assert_eq!(code(&["replace", "nowhere", "x", "--json"], 1), "MATCH_NOT_FOUND");
    assert_eq!(code(&["replace", "(", "x", "--regex", "--json"], 2), "INVALID_PATTERN");
    has(&here, "sub/b.txt", "old old\n");
    assert!(here.run(&["replace", "old", "x", "sub", "--dry-run"]).exits(0).stdout.contains("+x x\n"));
    // From a folder in the tree, that folder.
    run(here.command(&["replace", "old", "x"]).current_dir(here.path().join("sub"))).exits(0);
    has(&here, "sub/b.txt", "x x\n");
    has(&here, "a.rs", "new[1] older\n");
}

#[test]
fn a_transaction_is_a_patch_that_git_takes() {
    let here = workspace(&[("a b", "one\ntwo"), ("gone", "g\n"), ("é\"", "x\n"), ("run", "r\n")]);
    let plan = json!({"files": [
        {"file_path": "a b", "edits": [{"old_string": "two", "new_string": "2\n"}]},
        {"file_path": "gone", "delete": true},
        {"file_path": "new/empty", "content": ""},
        {"file_path": "new/n", "content": "n"},
        {"file_path": "run", "mode": "755"},
        {"file_path": "é\"", "rename_to": "moved"}]});
    here.write("p", &plan.to_string());
    let id = here.run(&["apply", "p", "--json"]).exits(0).json()["transaction_id"].as_str().unwrap().to_owned();
    let patch = here.run(&["show", &id, "--format", "git"]).exits(0).stdout.clone();
    let json = here.run(&["show", &id, "--format", "git", "--json"]).exits(0).json();
    assert_eq!(json["patch"].as_str(), Some(&*patch));
    here.run(&["undo"]).exits(0);
    fs::write(here.path().join("patch"), &patch).unwrap();
    // The program takes its own patches, too; then git from the start again.
    here.run(&["apply", "patch"]).exits(0);
    has(&here, "a b", "one\n2\n");
    here.run(&["undo"]).exits(0);
    if Command::new("git").arg("--version").output().is_err() {
        eprintln!("skipped: there is no git");
        return;
    }
    fs::remove_dir_all(here.path().join(".git")).unwrap();
    let out = Command::new("git").args(["apply", "patch"]).current_dir(here.path()).output().unwrap();
    assert!(out.status.success(), "{}\n{patch}", String::from_utf8_lossy(&out.stderr));
    has(&here, "a b", "one\n2\n");
    has(&here, "new/empty", "");
    has(&here, "new/n", "n");
    has(&here, "moved", "x\n");
    assert!(!here.path().join("gone").exists() && !here.path().join("é\"").exists());
    let nul = json!({"files": [{"file_path": "nul", "content": "\u{0}"}]});
    here.write("p", &nul.to_string());
    let id = here.run(&["apply", "p", "--json"]).exits(0).json()["transaction_id"].as_str().unwrap().to_owned();
    let refused = here.run(&["show", &id, "--format", "git", "--json"]).exits(1).json();
    assert_eq!(refused["error_code"], "INVALID_ENCODING");
    assert!(refused["error"].as_str().unwrap().contains("nul cannot be part of a git patch"), "{refused}");
}

/// What git writes of a name that ends in white space, or starts with it, comes back as the same name.
#[test]
fn a_transaction_of_a_name_with_white_space_at_its_ends_is_a_patch_that_is_taken() {
    for name in ["x ", "x\t", " x", "é\t "] {
        let (here, there) = (Workspace::new(), Workspace::new());
        let steps = [
            json!({"file_path": name, "content": ""}),
            json!({"file_path": name, "delete": true}),
            json!({"file_path": name, "content": "one\n"}),
            json!({"file_path": name, "edits": [{"old_string": "one", "new_string": "two"}]}),
            json!({"file_path": name, "mode": "755"}),
            json!({"file_path": name, "delete": true}),
        ];
        for step in steps {
            here.write("plan", &json!({"files": [step]}).to_string());
            let done = here.run(&["apply", "plan", "--json", "--durability", "process"]).exits(0).json();
            let id = done["transaction_id"].as_str().unwrap().to_owned();
            let patch = here.run(&["show", &id, "--format", "git"]).exits(0).stdout.clone();
            there.write("patch", &patch);
            there.run(&["apply", "patch", "--durability", "process"]).exits(0);
            let state = |of: &Workspace| {
                let file = of.path().join(name);
                let mode = fs::metadata(&file).map(|it| it.permissions().mode() & 0o100).ok();
                (fs::read_to_string(file).ok(), mode)
            };
            assert_eq!(state(&there), state(&here), "{name:?}: {step}\n{patch}");
        }
    }
}

#[test]
fn options_of_git_apply_are_unknown() {
    let here = workspace(&[("x", "a\n")]);
    here.write("p", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n");
    for option in [
        "-R",
        "-p1",
        "--directory=.",
        "--unidiff-zero",
        "--recount",
        "--allow-empty",
        "--whitespace=fix",
        "--ignore-whitespace",
        "--reject",
        "--3way",
        "--index",
        "--include=x",
    ] {
        let ran = here.run(&["apply", option, "p"]);
        assert!(ran.exits(2).stderr.contains("unexpected argument"), "{option}: {ran:?}");
        has(&here, "x", "a\n");
    }
    // To git the lines of context; here the folder to change to.
    assert!(here.run(&["apply", "-C1", "p"]).exits(2).stderr.contains("not a folder"));
    here.run(&["apply", "p"]).exits(0);
    has(&here, "x", "b\n");
}
