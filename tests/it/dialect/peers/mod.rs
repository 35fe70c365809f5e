//! Where other tools do something else with their own formats: docs/dialects.md lists it, and each row names its test.

mod agents;
mod git;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;
use tempfile::TempDir;
use txedit::ErrorKind;
use txedit::error::Detail;

use super::apply;
use crate::support::workspace::Workspace;

const DOCUMENT: &str = include_str!("../../../../docs/dialects.md");

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, content) in files {
        fs::create_dir_all(folder.path().join(name).parent().unwrap()).unwrap();
        fs::write(folder.path().join(name), content).unwrap();
    }
    folder
}

/// Applied to these files, a patch is refused so and changes none of them.
#[track_caller]
fn refused(files: &[(&str, &str)], patch: &str, kind: ErrorKind) {
    let folder = folder(files);
    let error = apply(folder.path(), patch.as_bytes()).unwrap_err();
    let found = match error.details() {
        Detail::Findings(findings) => findings[0].kind,
        _ => error.kind(),
    };
    assert_eq!(found, kind, "{error}");
    for (name, content) in files {
        assert_eq!(fs::read_to_string(folder.path().join(name)).unwrap(), *content, "{name}");
    }
}

/// Applied to a file `x`, a patch makes this of it.
#[track_caller]
fn becomes(before: &str, patch: &str, after: &str) {
    let folder = folder(&[("x", before)]);
    apply(folder.path(), patch.as_bytes()).unwrap();
    assert_eq!(fs::read_to_string(folder.path().join("x")).unwrap(), after);
}

fn block(search: &str, replace: &str) -> String {
    format!("x\n<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n")
}

fn envelope(sections: &str) -> String {
    format!("*** Begin Patch\n{sections}*** End Patch\n")
}

#[test]
fn a_new_name_is_never_that_of_a_file() {
    let files = [("x", "one\n"), ("y", "two\n")];
    refused(&files, &envelope("*** Add File: x\n+new\n"), ErrorKind::FileExists);
    let moved = "*** Update File: x\n*** Move to: y\n@@\n-one\n+1\n";
    refused(&files, &envelope(moved), ErrorKind::FileExists);
}

#[test]
fn new_lines_beneath_a_header_need_context() {
    let patch = envelope("*** Update File: x\n@@ def f():\n+    b\n");
    refused(&[("x", "def f():\n    a\n\nend\n")], &patch, ErrorKind::AmbiguousMatch);
}

#[test]
fn one_file_has_one_result() {
    let patch = envelope("*** Update File: x\n@@\n-one\n+1\n*** Delete File: x\n");
    refused(&[("x", "one\n")], &patch, ErrorKind::DuplicateFilePath);
}

#[test]
fn a_diff_is_of_files_as_they_are() {
    let made = "--- /dev/null\n+++ b/y\n@@ -0,0 +1 @@\n+one\n";
    let later = "--- a/y\n+++ b/y\n@@ -1 +1 @@\n-one\n+1\n";
    refused(&[("x", "one\n")], &format!("{made}{later}"), ErrorKind::FileNotFound);
    refused(&[("x", "one\n")], "--- a/y\n+++ b/y\n@@ -0,0 +1 @@\n+one\n", ErrorKind::FileNotFound);
}

#[test]
fn an_envelope_says_what_is_there() {
    let update = |lines: &str| envelope(&format!("*** Update File: x\n@@\n{lines}"));
    refused(&[("x", "a\nb\n")], &update("-a\n+A\n*** End of File\n"), ErrorKind::MatchNotFound);
    refused(&[("x", "e\u{301}\n")], &update("-\u{e9}\n+e\n"), ErrorKind::MatchNotFound);
    refused(&[("x", "a\nb\n")], &update("-a\n+A\nunknown\n b\n"), ErrorKind::PatchParseFailed);
}

#[test]
fn a_folder_that_became_empty_stays() {
    let folder = folder(&[("sub/x", "one\n")]);
    let patch =
        "diff --git a/sub/x b/sub/x\ndeleted file mode 100644\n--- a/sub/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n";
    apply(folder.path(), patch.as_bytes()).unwrap();
    assert_eq!(fs::read_dir(folder.path().join("sub")).unwrap().count(), 0);
}

#[test]
fn a_symlink_leads_to_what_is_edited() {
    let folder = folder(&[("real", "one\n")]);
    symlink("real", folder.path().join("x")).unwrap();
    apply(folder.path(), b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\n+1\n").unwrap();
    assert!(fs::symlink_metadata(folder.path().join("x")).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(folder.path().join("real")).unwrap(), "1\n");
}

#[test]
fn blocks_that_fit_wait_for_those_that_do_not() {
    let both = block("one\n", "1\n") + &block("three\n", "3\n");
    refused(&[("x", "one\ntwo\n")], &both, ErrorKind::MatchNotFound);
}

#[test]
fn a_misspelt_name_is_no_other_file() {
    let patch = block("one\n", "1\n").replacen('x', "src/mian.rs", 1);
    refused(&[("src/main.rs", "one\n")], &patch, ErrorKind::FileNotFound);
}

#[test]
fn dots_are_dots() {
    refused(&[("x", "a\nb\nc\n")], &block("a\n...\nc\n", "A\n...\nC\n"), ErrorKind::MatchNotFound);
    becomes("a\n...\nc\n", &block("a\n...\nc\n", "A\n...\nC\n"), "A\n...\nC\n");
}

#[test]
fn an_empty_search_makes_a_new_file_only() {
    refused(&[("x", "one\n")], &block("", "new\n"), ErrorKind::FileExists);
    refused(&[("x", "one\n")], &block("  \n", "new\n"), ErrorKind::PatchParseFailed);
}

#[test]
fn a_line_number_leads_to_the_same_text_only() {
    let near = |line: u32| block(&format!(":start_line:{line}\n-------\none\n"), "1\n");
    becomes("one\ntwo\none\n", &near(3), "one\ntwo\n1\n");
    becomes("zero\none\ntwo\n", &near(9), "zero\n1\ntwo\n");
    refused(&[("x", "one\ntwo\none\n")], &near(2), ErrorKind::AmbiguousMatch);
    refused(&[("x", "one!\ntwo\n")], &near(1), ErrorKind::MatchNotFound);
}

#[test]
fn blanks_at_the_ends_of_new_lines_stay() {
    becomes("one\ntwo\n", &block("one\n", "1  \n\t\n"), "1  \n\t\ntwo\n");
}

#[test]
fn equal_halves_change_nothing() {
    becomes("one\n", &block("one\n", "one\n"), "one\n");
}

#[test]
fn what_is_only_similar_is_refused() {
    let (there, meant) = ("fn a() {\n    one();\n    two();\n}\n", "fn a() {\n    one();\n    twice();\n}\n");
    refused(&[("x", there)], &block(meant, "gone\n"), ErrorKind::MatchNotFound);
    let old: Vec<String> = meant.lines().map(|line| format!("-{line}\n")).collect();
    let old = old.concat();
    refused(&[("x", there)], &envelope(&format!("*** Update File: x\n@@\n{old}+gone\n")), ErrorKind::MatchNotFound);
    let workspace = Workspace::with(&[("x", there)]);
    let edit = json!({ "old_string": meant, "new_string": "gone", "match": "tolerant" });
    let error = workspace.refuses(&json!({ "files": [{ "file_path": "x", "edits": [edit] }] }));
    assert_eq!(error.kind(), ErrorKind::MatchNotFound);
}

#[test]
fn an_edit_may_take_the_last_line_break() {
    let workspace = Workspace::with(&[("x", "one\ntwo\n")]);
    let edit = json!({ "old_string": "two\n", "new_string": "2" });
    workspace.apply(&json!({ "files": [{ "file_path": "x", "edits": [edit] }] })).unwrap();
    assert_eq!(workspace.read("x"), "one\n2");
}

/// Whether a test is there under its name: the module's path, then the function.
fn is_a_test(name: &str) -> bool {
    let Some((module, function)) = name.rsplit_once("::") else { return false };
    let path = module.replace("::", "/");
    // A module of tests can be in the file of what it tests.
    let inline = path.strip_suffix("/tests").unwrap_or(&path);
    let files = ["tests/it", "src"]
        .into_iter()
        .flat_map(|top| [format!("{top}/{path}.rs"), format!("{top}/{path}/mod.rs"), format!("{top}/{inline}.rs")]);
    files.into_iter().any(|file| {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap_or_default();
        text.contains(&format!("#[test]\nfn {function}()")) || text.contains(&format!("#[test]\n    fn {function}()"))
    })
}

#[test]
fn every_deviation_names_a_test_that_is_there() {
    let (_, differences) = DOCUMENT.split_once("\n## Where txedit differs").unwrap();
    let rows: Vec<&str> =
        differences.lines().filter(|line| line.starts_with("| ") && !line.ends_with("| test |")).collect();
    assert!(rows.len() > 40, "{} rows", rows.len());
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        assert_eq!(cells.len(), 4, "{row}");
        let name = cells[3].trim().trim_matches('`');
        assert!(is_a_test(name), "{name} is no test: {row}");
    }
    // Each test here is in the document, but for this one.
    let files =
        [("", include_str!("mod.rs")), ("git::", include_str!("git.rs")), ("agents::", include_str!("agents.rs"))];
    for (module, file) in files {
        let own = file.split("#[test]\nfn ").skip(1).filter_map(|test| test.split('(').next());
        for name in own.filter(|name| *name != "every_deviation_names_a_test_that_is_there") {
            let name = format!("dialect::peers::{module}{name}");
            assert!(DOCUMENT.contains(&format!("`{name}`")), "{name} is not in docs/dialects.md");
        }
    }
}
