//! The reports of tools that fix code: recorded ones, and those of the tools where they are installed.
//!
//! The records are of clippy 0.1, ruff 0.17 and eslint 10, with `@ROOT@` for the folder in which they ran.

mod installed;

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use txedit::patch::{FixChoice, PatchOptions};
use txedit::{ErrorKind, Patch};

use super::{apply_request, engine};

const CLIPPY: &str = include_str!("clippy.json");
const RUFF: &str = include_str!("ruff.json");
const ESLINT: &str = include_str!("eslint.json");

/// A byte-order mark, both kinds of character that count otherwise in UTF-16 and in bytes, and CRLF.
pub(super) const RUST: &str = "\u{feff}use std::collections::HashMap;\r\nuse std::{fmt, io};\r\n\r\n\
    pub fn f(x: Option<i32>) -> i32 {\r\n    let s = \"𝒳é\"; let mut y = 1;\r\n    \
    if x.is_some() == true { return y; }\r\n    \
    let v = vec![1]; for i in 0..v.len() { println!(\"{}\", v[i]); }\r\n    return s.len() as i32;\r\n}\r\n\
    pub fn g(a: &Vec<u8>) -> fmt::Result { let _ = match a.len() {\r\n  0 => {\r\n 1 },\r\n  _ => 2 };\r\n  \
    (1).to_string(); Ok(()) }\r\n";

pub(super) const PYTHON: &str = "import os\nimport sys\nfrom typing import List, Optional\n\
    from collections import OrderedDict\n\ns = \"𝒳é\"; n = None; print(n == None, f\"x\")\n\n\n\
    def f(x: Optional[int]):\n    import json\n\n    import re\n    return not x in [1]\n\n\n\
    def g():\n    from os import path\n";

pub(super) const PYTHON_CRLF: &str = "\u{feff}import os\r\nprint(f\"é\", not 1 in [2])\r\n";

pub(super) const SCRIPT: &str = "\u{feff}var s = \"𝒳\"; let b = undefined;\nlet é = {é: é};\n";

pub(super) const SCRIPT_CRLF: &str = "let z = 1;\r\nif (z == 1) { var q = {q: q}; }\r\n";

/// A folder with files.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    write(folder.path(), files);
    folder
}

pub(super) fn write(folder: &Path, files: &[(&str, &str)]) {
    for (name, content) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

/// A record as if it had been made in this folder.
fn recorded(record: &str, folder: &Path) -> Patch {
    let options = PatchOptions::default();
    Patch::read_with(record.replace("@ROOT@", folder.to_str().unwrap()).as_bytes(), options).unwrap()
}

#[track_caller]
fn check(record: &str, before: &[(&str, &str)], after: &[(&str, &str)]) {
    let folder = folder(before);
    apply_request(folder.path(), &recorded(record, folder.path()).request).unwrap();
    for (name, content) in after {
        assert_eq!(&fs::read_to_string(folder.path().join(name)).unwrap(), content, "{name}");
    }
}

/// Applies a record to files that have changed since.
#[track_caller]
fn stale(record: &str, before: &[(&str, &str)], kind: ErrorKind) -> String {
    let folder = folder(before);
    let patch = recorded(record, folder.path());
    let error = patch.explain(apply_request(folder.path(), &patch.request).unwrap_err());
    assert_eq!(error.kind(), kind, "{error}");
    for (name, content) in before {
        assert_eq!(&fs::read_to_string(folder.path().join(name)).unwrap(), content, "{name}");
    }
    error.to_string()
}

#[test]
fn what_clippy_is_sure_of_is_applied() {
    let after =
        "\u{feff}use std::fmt;\r\n\r\npub fn f(x: Option<i32>) -> i32 {\r\n    let s = \"𝒳é\"; let y = 1;\r\n    \
        if x.is_some() { return y; }\r\n    let v = [1]; for i in 0..v.len() { println!(\"{}\", v[i]); }\r\n    \
        s.len() as i32\r\n}\r\n"
            .to_owned()
            + &RUST[RUST.find("pub fn g").unwrap()..];
    check(CLIPPY, &[("src/lib.rs", RUST)], &[("src/lib.rs", &after)]);
}

#[test]
fn a_line_that_clippy_has_not_seen_is_not_changed() {
    // Beside the place of a fix, in its line.
    for (old, new) in [("let s =", "let t ="), ("return y; }", "return z; }"), ("use std::{fmt", "use std::{fmu")] {
        stale(CLIPPY, &[("src/lib.rs", &RUST.replacen(old, new, 1))], ErrorKind::MatchNotFound);
    }
    stale(CLIPPY, &[("src/lib.rs", &RUST.replacen("fmt", "fmtx", 1))], ErrorKind::MatchNotFound);
    stale(CLIPPY, &[("src/lib.rs", &RUST.replace("\r\n", "\n"))], ErrorKind::MatchNotFound);
}

#[test]
fn what_ruff_is_sure_of_is_applied_as_far_as_it_does_not_meet() {
    // Both imports of `f` would go; after the first of the adjacent lines at the margin the second touches.
    let after = "import sys\nfrom typing import Optional\n\ns = \"𝒳é\"; n = None; print(n == None, \"x\")\n\n\n\
                 def f(x: int | None):\n\n    import re\n    return x not in [1]\n\n\ndef g():\n    pass\n";
    let before = [("a.py", PYTHON), ("b.py", PYTHON_CRLF)];
    check(RUFF, &before, &[("a.py", after), ("b.py", "\u{feff}print(\"é\", 1 not in [2])\r\n")]);
}

#[test]
fn a_place_that_is_not_in_its_file_any_more_is_refused() {
    let before = [("a.py", PYTHON), ("b.py", "import os\r\nprint()\r\n")];
    let error = stale(RUFF, &before, ErrorKind::MatchNotFound);
    assert!(error.contains("is beyond the end of its line"), "{error}");
    stale(RUFF, &[("a.py", PYTHON), ("b.py", "import os")], ErrorKind::MatchNotFound);
}

#[test]
fn the_fixes_of_eslint_are_applied_to_the_text_that_it_has_seen() {
    let before = [("a.js", SCRIPT), ("b.js", SCRIPT_CRLF)];
    let after = [
        ("a.js", "var s = \"𝒳\"; const b = undefined;\nconst é = {é: é};\n"),
        ("b.js", "const z = 1;\r\nif (z == 1) { var q = {q}; }\r\n"),
    ];
    check(ESLINT, &before, &after);
    let changed = format!("{SCRIPT_CRLF}// more\n");
    let error = stale(ESLINT, &[("a.js", SCRIPT), ("b.js", &changed)], ErrorKind::HashMismatch);
    assert!(error.contains("b.js is not the text that eslint has checked"), "{error}");
}

#[test]
fn what_a_tool_is_not_sure_of_is_applied_if_that_is_asked_for() {
    let part = |applicability: &str, new: &str| {
        format!(
            r#"{{"$message_type":"diagnostic","message":"m","level":"warning","spans":[],"rendered":"m","children":[{{
            "spans":[{{"file_name":"a.rs","byte_start":0,"byte_end":1,"text":[{{"text":"a","highlight_start":1,
            "highlight_end":2}}],"suggested_replacement":"{new}","suggestion_applicability":"{applicability}"}}]}}]}}"#
        )
        .replace('\n', " ")
    };
    let applied = |report: &str, fixes| {
        let folder = folder(&[("a.rs", "a\n"), ("a.py", "a\n")]);
        let mut options = PatchOptions::default();
        options.fixes = fixes;
        let patch = Patch::read_with(report.as_bytes(), options).unwrap();
        if !patch.is_empty() {
            apply_request(folder.path(), &patch.request).unwrap();
        }
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        read("a.rs") + &read("a.py")
    };
    let (both, safe) = (FixChoice::Unsafe, FixChoice::Safe);
    assert_eq!(applied(&part("MachineApplicable", "b"), safe), "b\na\n");
    assert_eq!(applied(&part("MaybeIncorrect", "b"), safe), "a\na\n");
    assert_eq!(applied(&part("MaybeIncorrect", "b"), both), "b\na\n");
    assert_eq!(applied(&part("HasPlaceholders", "<b>"), both), "a\na\n");
    assert_eq!(applied(&part("Unspecified", "b"), both), "a\na\n");
    let ruff = |applicability: &str| {
        format!(
            r#"[{{"cell":null,"code":"X","filename":"a.py","location":{{"row":1,"column":1}},
            "end_location":{{"row":1,"column":2}},"fix":{{"applicability":"{applicability}","message":"m","edits":[{{
            "content":"b","location":{{"row":1,"column":1}},"end_location":{{"row":1,"column":2}}}}]}}}}]"#
        )
    };
    assert_eq!(applied(&ruff("safe"), safe), "a\nb\n");
    assert_eq!(applied(&ruff("unsafe"), safe), "a\na\n");
    assert_eq!(applied(&ruff("unsafe"), both), "a\nb\n");
    assert_eq!(applied(&ruff("display"), both), "a\na\n");
}

/// The engine is asked, so that a patch without a file is no accident that nobody sees.
#[test]
fn a_request_without_a_file_stays_an_error_of_the_engine() {
    let folder = folder(&[]);
    let patch = Patch::read(b"[]", None, None).unwrap();
    assert!(patch.is_empty());
    assert!(engine(folder.path()).apply(&patch.request, txedit::Run::default()).is_err());
}
