//! What opencode, gemini-cli, cline and Roo Code do otherwise.

use serde_json::json;
use txedit::ErrorKind;

use super::{becomes, block, envelope, refused};
use crate::support::workspace::Workspace;

fn update(lines: &str) -> String {
    envelope(&format!("*** Update File: x\n{lines}"))
}

#[test]
fn a_section_says_what_changes() {
    refused(&[("x", "one\n")], &update(""), ErrorKind::PatchParseFailed);
    refused(&[("x", "one\n")], &update("@@ one\n"), ErrorKind::PatchParseFailed);
}

#[test]
fn a_header_is_a_line_as_it_stands() {
    let file = "def f(\"x\"):\n    one\n";
    let change = |header: &str| update(&format!("@@ {header}\n-    one\n+    1\n"));
    becomes(file, &change("  def f(\"x\"): "), "def f(\"x\"):\n    1\n");
    for header in ["def f(\u{201c}x\u{201d}):", "def  f(\"x\"):", "f(\"x\")"] {
        refused(&[("x", file)], &change(header), ErrorKind::MatchNotFound);
    }
}

#[test]
fn lines_that_are_each_indented_otherwise_are_not_the_same() {
    refused(&[("x", "\tone\n  two\n")], &update("@@\n-one\n-two\n+new\n"), ErrorKind::MatchNotFound);
    becomes("\tone\n\ttwo\n", &update("@@\n-one\n-two\n+one\n+2\n"), "\tone\n\t2\n");
}

#[test]
fn punctuation_stays_as_the_file_has_it() {
    let file = "say(\u{201c}hi\u{201d})\nend\n";
    becomes(file, &update("@@\n say(\"hi\")\n-end\n+END\n"), "say(\u{201c}hi\u{201d})\nEND\n");
    refused(&[("x", file)], &update("@@\n-say(\"hi\")\n+say(\"ho\")\n end\n"), ErrorKind::MatchNotFound);
}

#[test]
fn hunks_that_fit_wait_for_those_that_do_not() {
    refused(&[("x", "one\ntwo\n")], &update("@@\n-one\n+1\n@@\n-three\n+3\n"), ErrorKind::MatchNotFound);
}

#[test]
fn an_old_string_is_what_is_there_and_all_of_it() {
    let cases = [
        ("a\nb\n", "a\\nb", "escaped"),
        ("one two three\n", "\n two \n", "trimmed"),
        ("f\n1\n2\n3\n4\ng\n", "f\n1\n2\nx\ny\ng\n", "half of its lines"),
        ("a(b, c)\n", "a( b,c )", "white space around signs"),
    ];
    for (file, old, what) in cases {
        for matching in ["exact", "tolerant"] {
            let workspace = Workspace::with(&[("x", file)]);
            let edit = json!({ "old_string": old, "new_string": "new", "match": matching });
            let error = workspace.refuses(&json!({ "files": [{ "file_path": "x", "edits": [edit] }] }));
            assert_eq!(error.kind(), ErrorKind::MatchNotFound, "{what}, {matching}");
            assert_eq!(workspace.read("x"), file);
        }
    }
}

#[test]
fn a_name_without_its_folder_is_no_file_elsewhere() {
    let files = [("src/main.rs", "one\n")];
    let patch = envelope("*** Update File: main.rs\n@@\n-one\n+1\n");
    refused(&files, &patch, ErrorKind::FileNotFound);
    let workspace = Workspace::with(&files);
    let edit = json!({ "old_string": "one", "new_string": "1" });
    let request = json!({ "files": [{ "file_path": "main.rs", "edits": [edit] }] });
    workspace.finds(&request, &[(ErrorKind::FileNotFound, "files/0/file_path")]);
}

#[test]
fn words_for_what_is_left_out_are_text() {
    let new = "// ... rest of the code ...";
    let workspace = Workspace::with(&[("x", "one\ntwo\n")]);
    let edit = json!({ "old_string": "two", "new_string": new });
    workspace.apply(&json!({ "files": [{ "file_path": "x", "edits": [edit] }] })).unwrap();
    assert_eq!(workspace.read("x"), format!("one\n{new}\n"));
}

#[test]
fn line_numbers_of_blocks_count_in_the_file_as_it_was() {
    let at = |line: u32, new: &str| block(&format!(":start_line:{line}\n-------\none\n"), new);
    let file = "one\none\none\n";
    becomes(file, &(at(1, "a\nb\n") + &at(3, "c\n")), "a\nb\none\nc\n");
    becomes(file, &(at(3, "c\n") + &at(1, "a\nb\n")), "a\nb\none\nc\n");
    becomes(file, &(at(2, "") + &at(3, "c\n")), "one\nc\n");
    // A number that is wrong says nothing of the next either.
    let wrong = block(":start_line:1\n-------\nzero\n", "zero\nz\n") + &at(2, "c\n");
    refused(&[("x", "two\none\none\nzero\n")], &wrong, ErrorKind::MatchNotFound);
    // Nothing tells whether the block without a number is in front of the other.
    let bare = block("two\n", "2\n2\n") + &at(2, "c\n");
    refused(&[("x", "two\none\none\n")], &bare, ErrorKind::AmbiguousMatch);
    let behind = block("one\n", ":start_line:1\n-------\n1\n");
    refused(&[("x", "one\n")], &behind, ErrorKind::PatchParseFailed);
}

#[test]
fn a_hunk_without_numbers_is_not_taken_apart() {
    let hunks = |lines: &str| format!("--- a/x\n+++ b/x\n@@ ... @@\n{lines}");
    let files = [("x", "a\nm\nb\n")];
    becomes(files[0].1, &hunks("-a\n+A\n m\n-b\n+B\n"), "A\nm\nB\n");
    refused(&files, &hunks("-a\n+A\n n\n-b\n+B\n"), ErrorKind::MatchNotFound);
    refused(&files, &hunks(" a\n n\n-b\n+B\n"), ErrorKind::MatchNotFound);
    refused(&files, &hunks("-a\n+A\n@@ ... @@\n-a\n+A\n"), ErrorKind::MatchNotFound);
    refused(&files, &hunks("+c\n"), ErrorKind::AmbiguousMatch);
}
