//! The reports of tools that fix code: what is refused, and which of them is which.

use serde_json::{Value, json};

use super::*;

/// Lines with the characters in them, from 1, that belong to a place.
type Lines<'a> = &'a [(&'a str, usize, usize)];

/// A message of rustc with one suggestion of several parts: start, end, lines with the highlighted characters, new text.
fn rustc(parts: &[(usize, usize, Lines<'_>, &str)]) -> String {
    let lines = |lines: Lines<'_>| -> Vec<Value> {
        let line = |(text, start, end): &(&str, usize, usize)| json!({"text": text, "highlight_start": start, "highlight_end": end});
        lines.iter().map(line).collect()
    };
    let spans: Vec<_> = parts
        .iter()
        .map(|(start, end, text, new)| {
            json!({"file_name": "x", "byte_start": start, "byte_end": end, "text": lines(text),
                   "suggested_replacement": new, "suggestion_applicability": "MachineApplicable"})
        })
        .collect();
    json!({"rendered": "", "spans": [], "children": [{"spans": spans}]}).to_string()
}

#[test]
fn parts_in_one_line_become_one_edit_that_verifies_it() {
    let report = rustc(&[(4, 5, &[("é(a)", 4, 5)], ""), (2, 3, &[("é(a)", 2, 3)], "[")]);
    check(Format::Rustc, &[("x", "é(a)\n")], &report, &[("x", "é[a\n")]);
    let patch = read(&report, Format::Rustc);
    assert_eq!(patch.request.files[0].edits().len(), 1);
    assert_eq!(applied(&tree(&[("x", "e (a)\n")]), &patch), Err(ErrorKind::MatchNotFound));
}

#[test]
fn line_breaks_of_a_message_are_told_by_its_length() {
    let lines: Lines<'_> = &[("a", 1, 2), ("b", 1, 2), ("", 1, 1)];
    check(Format::Rustc, &[("x", "a\nb\nc")], &rustc(&[(0, 4, lines, "")]), &[("x", "c")]);
    check(Format::Rustc, &[("x", "a\r\nb\r\nc")], &rustc(&[(0, 6, lines, "")]), &[("x", "c")]);
    is_malformed(Format::Rustc, &rustc(&[(0, 5, lines, "")]), "the lines around each suggestion, not x at 0..5");
    is_malformed(Format::Rustc, &rustc(&[(0, 1, &[], "")]), "the lines around each suggestion");
}

#[test]
fn messages_about_two_versions_of_a_line_are_refused() {
    let two = format!("{}\n{}\n", rustc(&[(0, 1, &[("ab", 1, 2)], "")]), rustc(&[(3, 4, &[("ax c", 4, 5)], "")]));
    is_malformed(Format::Rustc, &two, "messages about one and the same x");
}

#[test]
fn alternatives_of_rustc_are_left_to_the_user() {
    let line: Lines<'_> = &[("ab", 1, 2)];
    assert!(read(&rustc(&[(0, 1, line, "x"), (0, 1, line, "y")]), Format::Rustc).is_empty());
}

#[test]
fn files_are_named_from_the_workspace_of_their_package() {
    let message = rustc(&[(0, 1, &[("ab", 1, 2)], "")]).replace("\"x\"", "\"crates/one/src/lib.rs\"");
    let path = |manifest: &str| {
        let line = json!({"reason": "compiler-message", "manifest_path": manifest,
                          "message": serde_json::from_str::<Value>(&message).unwrap()});
        let patch = read(&line.to_string(), Format::Rustc);
        patch.request.files[0].path.to_str().unwrap().to_owned()
    };
    assert_eq!(path("/w/rust/crates/one/Cargo.toml"), "/w/rust/crates/one/src/lib.rs");
    assert_eq!(path("/w/other/Cargo.toml"), "/w/other/crates/one/src/lib.rs");
}

#[test]
fn a_report_is_told_by_its_first_object() {
    for (text, format) in [
        ("{\"reason\":\"compiler-artifact\"}\n{\"reason\":\"build-finished\"}\n", Some(Format::Rustc)),
        ("{\"$message_type\":\"diagnostic\",\"rendered\":\"\",\"spans\":[]}\n", Some(Format::Rustc)),
        ("[{\"filePath\":\"a\",\"messages\":[]}]", Some(Format::Eslint)),
        ("[{\"filename\":\"a\",\"fix\":null}]", Some(Format::Ruff)),
        ("{\"filename\":\"a\",\"fix\":null}\n{}\n", Some(Format::Ruff)),
        ("[[\"a\"]]", None),
        ("[{\"reason\":\"\"}]", None),
    ] {
        assert_eq!(detect(text.as_bytes()), format, "{text}");
    }
}

#[test]
fn what_eslint_has_printed_after_fixing_is_refused() {
    let of = |more: &str| {
        format!("[{{\"filePath\":\"x\",\"messages\":[{{\"fix\":{{\"range\":[0,9],\"text\":\"\"}}}}]{more}}}]")
    };
    is_malformed(Format::Eslint, &of(""), "run eslint without --fix and --fix-dry-run");
    is_malformed(Format::Eslint, &of(",\"source\":\"abc\""), "ranges of the `source` of x");
}

#[test]
fn a_notebook_of_ruff_is_refused() {
    let at = json!({"row": 1, "column": 1});
    let fix = json!({"applicability": "safe", "edits": [{"content": "", "location": at, "end_location": at}]});
    let report = json!([{"filename": "n", "cell": 1, "location": at, "end_location": at, "fix": fix}]).to_string();
    is_malformed(Format::Ruff, &report, "not of the notebook n");
    is_malformed(Format::Ruff, &report.replace("\"cell\":1,", "").replace("\"row\":1", "\"row\":0"), "from 1");
}
