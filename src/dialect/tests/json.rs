//! The JSON formats.

use super::*;
use crate::index::{EditIndex, FileIndex};

#[test]
fn a_workspace_edit_applies_every_kind_of_change() {
    let edit = |a: [usize; 4], text: &str| {
        format!(
            r#"{{"range":{{"start":{{"line":{},"character":{}}},"end":{{"line":{},"character":{}}}}},"newText":"{text}"}}"#,
            a[0], a[1], a[2], a[3]
        )
    };
    let changes = format!(
        r#"{{"documentChanges":[
            {{"kind":"create","uri":"file:///n","annotationId":"x"}},
            {{"textDocument":{{"uri":"file:///n","version":null}},"edits":[{},{}]}},
            {{"textDocument":{{"uri":"file:///a","version":3}},"edits":[{},{},{}]}},
            {{"kind":"rename","oldUri":"file:///a","newUri":"file:///b"}},
            {{"textDocument":{{"uri":"file:///b"}},"edits":[{}]}},
            {{"kind":"delete","uri":"file:///d"}}],
        "changeAnnotations":{{"x":{{"label":"l","needsConfirmation":true}}}}}}"#,
        edit([0, 0, 0, 0], "1"),
        edit([0, 0, 0, 0], "2\\n"),
        edit([0, 3, 0, 4], "!"),
        edit([1, 0, 1, 0], "in"),
        edit([1, 0, 2, 0], "out\\n"),
        edit([2, 0, 9, 0], "end"),
    );
    let before = [("/a", "é𝒳x\r\nsecond\r\nthird"), ("/d", "d")];
    let after = [("/b", "é𝒳!\r\ninout\r\nend"), ("/n", "12\n")];
    check(Format::WorkspaceEdit, &before, &changes, &after);
    let utf8 =
        format!(r#"{{"edit":{{"positionEncoding":"utf-8","changes":{{"file:///a":[{}]}}}}}}"#, edit([0, 2, 0, 6], "-"));
    check(Format::WorkspaceEdit, &before[..1], &utf8, &[("/a", "é-x\r\nsecond\r\nthird")]);
}

#[test]
fn invalid_workspace_edits_are_refused() {
    let bad = |patch: &str, words: &str| is_malformed(Format::WorkspaceEdit, patch, words);
    let range = r#"{"start":{"line":0,"character":0},"end":{"line":0,"character":2}}"#;
    bad("{\"changes\":\n{\"file:///a\":[{}]}}", "line 2, column");
    bad(r#"{"documentChanges":[{"kind":"move"}]}"#, "one of create, rename and delete, not \"move\"");
    bad(r#"{"documentChanges":[{"edits":[]}]}"#, "expected `textDocument` (failedChange: 0)");
    bad(r#"{"changes":{}}"#, "expected a change in");
    bad(r#"{"changes":{"http://x/a":[]}}"#, "addresses of files");
    bad(r#"{"positionEncoding":"x","changes":{}}"#, "positionEncoding");
    let two = format!(
        r#"{{"documentChanges":[{{"textDocument":{{"uri":"file:///a"}},"edits":[{{"range":{range},"newText":""}},{{"range":{range},"newText":""}}]}}]}}"#
    );
    bad(&two, "overlap (failedChange: 0)");
    let annotated = format!(r#"{{"changes":{{"file:///a":[{{"range":{range},"newText":"","annotationId":"x"}}]}}}}"#);
    bad(&annotated, "changeAnnotations");
    bad("{\"positionEncoding\":\n \"x\",\"changes\":{}}", "line 2, column 2: expected a positionEncoding");
}

#[test]
fn a_change_of_a_workspace_edit_that_cannot_be_read_is_named_with_its_place() {
    let good = r#"{"kind":"delete","uri":"file:///a"}"#;
    for (wrong, place, words) in [
        (r#"{"kind":"delete","uri":"http://x"}"#, "line 3, column 2", "addresses of files, not http://x"),
        (r#"{"kind":"delete"}"#, "line 3, column 2", "`uri`"),
        (r#"{"kind":"rename","oldUri":"file:///b","newUri":5}"#, "line 3, column 49", "invalid type"),
        (r#"{"kind":"create","uri":"file:///c","annotationId":"x"}"#, "line 3, column 2", "an annotation \"x\""),
        (
            r#"{"kind":"rename","oldUri":"file:///b","newUri":"file:///d"}, {"kind":"rename","oldUri":"file:///c","newUri":"file:///d"}"#,
            "line 3, column 63",
            "renames a file onto one",
        ),
    ] {
        let index = 1 + usize::from(wrong.contains("}, {"));
        for (head, tail) in [("{\"documentChanges\":[\n", "]}"), ("{\"edit\":{\"documentChanges\":[\n", "]}}")] {
            let patch = format!("{head}{good},\n {wrong}{tail}");
            let error = Patch::read(patch.as_bytes(), Some(Format::WorkspaceEdit), None).unwrap_err();
            let text = error.to_string();
            assert!(text.contains(&format!("at {place}: expected ")) && text.contains(words), "{text}");
            assert!(text.ends_with(&format!("(failedChange: {index})")), "{text}");
            assert_eq!(error.change(), Some(index));
        }
    }
}

#[test]
fn changes_without_an_order_are_counted_as_they_are_written() {
    let edits = |new: &str| {
        format!(
            r#"[{{"range":{{"start":{{"line":0,"character":0}},"end":{{"line":0,"character":1}}}},"newText":"{new}"}}]"#
        )
    };
    let patch = format!(r#"{{"changes":{{"file:///b":{},"file:///a":{}}}}}"#, edits("B"), edits("A"));
    check(Format::WorkspaceEdit, &[("/a", "a"), ("/b", "b")], &patch, &[("/a", "A"), ("/b", "B")]);
    let patch = read(&patch, Format::WorkspaceEdit);
    let failed = |error: Error| patch.explain(error).change();
    assert_eq!(failed(Error::new(ErrorKind::MatchNotFound, "x").in_file(FileIndex(1)).in_edit(EditIndex(0))), Some(1));
    assert_eq!(patch.request.files[0].path.to_str(), Some("/b"));
    let finding = |path: &[&str]| Finding {
        kind: ErrorKind::FileNotFound,
        message: "x".into(),
        path: path.iter().map(|part| (*part).to_owned()).collect(),
        did_you_mean: None,
    };
    assert_eq!(failed(Error::findings(vec![finding(&["files", "1", "file_path"])])), Some(1));
    assert_eq!(failed(Error::findings(vec![finding(&["files", "0", "edits", "0"])])), Some(0));
    assert_eq!(failed(Error::new(ErrorKind::LockTimeout, "x")), None);
    // Two changes of one file, and another between them.
    let document = |uri: &str, new: &str| format!(r#"{{"textDocument":{{"uri":"{uri}"}},"edits":{}}}"#, edits(new));
    let rename = r#"{"kind":"rename","oldUri":"file:///a","newUri":"file:///c"}"#;
    let (first, last) = (document("file:///a", "A"), document("file:///c", "C"));
    let ordered = read(&format!(r#"{{"documentChanges":[{first},{rename},{last}]}}"#), Format::WorkspaceEdit);
    let of = |edit: usize| {
        ordered
            .explain(Error::new(ErrorKind::MatchNotFound, "x").in_file(FileIndex(0)).in_edit(EditIndex(edit)))
            .change()
    };
    assert_eq!((of(0), of(1)), (Some(0), Some(2)));
    let twice = format!(r#"{{"changes":{{"file:///a":{},"file:///%61":{}}}}}"#, edits("B"), edits("A"));
    is_malformed(Format::WorkspaceEdit, &twice, "each file once");
}

#[test]
fn the_output_of_ast_grep_is_read() {
    let found = |start: usize, text: &str, new: &str| {
        let end = start + text.len();
        format!(
            r#"{{"text":"{text}","range":{{"byteOffset":{{"start":{start},"end":{end}}},"start":{{"line":0,"column":0}}}},"file":"x","lines":"","replacement":"{new}","replacementOffsets":{{"start":{start},"end":{end}}},"language":"Rust"}}"#
        )
    };
    let (one, two) = (found(6, "b", "B"), found(0, "aa", "A"));
    let bare = r#"{"text":"x","range":{"byteOffset":{"start":0,"end":1}},"file":"y"}"#;
    check(Format::AstGrep, &[("x", "aa bb b\n")], &format!("[{one},{two},{bare}]"), &[("x", "A bb B\n")]);
    check(Format::AstGrep, &[("x", "aa bb b\n")], &format!("{one}\n{two}\n"), &[("x", "A bb B\n")]);
    let other = read(&one, Format::AstGrep);
    assert_eq!(applied(&tree(&[("x", "aa bb c\n")]), &other), Err(ErrorKind::MatchNotFound));
    is_malformed(Format::AstGrep, &format!("[{bare}]"), "matches with a `replacement`");
    // Of nested matches the outer one, as ast-grep itself; of two in one place the first.
    let nested = format!("[{},{},{one}]", found(0, "aa", "b"), found(1, "a", "c"));
    check(Format::AstGrep, &[("x", "aa bb b\n")], &nested, &[("x", "b bb B\n")]);
    let twice = format!("[{},{}]", found(0, "aa", "b"), found(0, "a", "c"));
    check(Format::AstGrep, &[("x", "aa bb b\n")], &twice, &[("x", "b bb b\n")]);
    let of_rule = bare.replace("\"file\"", "\"ruleId\":\"r\",\"file\"");
    assert!(read(&format!("[{of_rule}]"), Format::AstGrep).is_empty(), "a rule without a fix");
    is_malformed(Format::AstGrep, "[\n1]", "line 2, column 1: expected the output of ast-grep");
    let outside = found(0, "aa", "b").replacen(r#""start":0"#, r#""start":1"#, 1);
    is_malformed(Format::AstGrep, &format!("[{one},\n {outside}]"), "line 2, column 2: expected replacements inside");
}

#[test]
fn a_workspace_edit_without_a_change_is_refused() {
    for edit in [r#"{"changes":{}}"#, r#"{"documentChanges":[]}"#, r#"{"changes":{"file:///x":[]}}"#] {
        is_malformed(Format::WorkspaceEdit, edit, "a change in");
    }
}
