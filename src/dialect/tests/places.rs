//! Places at the start of a file with a byte-order mark, and changes that would silently lose something.

use super::{Format, applied, check, is_malformed, read, tree};
use crate::dialect::Patch;
use crate::error::ErrorKind;

fn workspace_edit(edit: &str) -> String {
    format!(r#"{{"documentChanges":[{edit}]}}"#)
}

fn edit(path: &str, [line, start, end_line, end]: [u32; 4], text: &str) -> String {
    format!(
        r#"{{"textDocument":{{"uri":"{path}","version":null}},"edits":[{{"range":{{"start":{{"line":{line},"character":{start}}},"end":{{"line":{end_line},"character":{end}}}}},"newText":"{text}"}}]}}"#
    )
}

#[test]
fn a_byte_order_mark_of_a_file_stays_at_its_start() {
    let before = [("x", "\u{feff}ab\nc\n")];
    for (hunk, after) in
        [("-ab\n+A\n c\n", "\u{feff}A\nc\n"), ("+A\n ab\n c\n", "\u{feff}A\nab\nc\n"), ("-ab\n c\n", "\u{feff}c\n")]
    {
        let patch = format!("*** Begin Patch\n*** Update File: x\n@@\n{hunk}*** End Patch\n");
        check(Format::Envelope, &before, &patch, &[("x", after)]);
    }
    // A patch that contains the mark itself decides about it.
    let gone = "*** Begin Patch\n*** Update File: x\n@@\n-\u{feff}ab\n+A\n c\n*** End Patch\n";
    check(Format::Envelope, &before, gone, &[("x", "A\nc\n")]);
    // An editor does not count it.
    for (range, text, after) in [
        ([0, 0, 0, 0], "A", "\u{feff}Aab\nc\n"),
        ([0, 1, 0, 2], "B", "\u{feff}aB\nc\n"),
        ([0, 0, 1, 0], "", "\u{feff}c\n"),
        ([1, 0, 1, 1], "C", "\u{feff}ab\nC\n"),
    ] {
        let patch = workspace_edit(&edit("x", range, text));
        check(Format::WorkspaceEdit, &before, &patch, &[("x", after)]);
    }
}

#[test]
fn an_empty_line_in_front_of_the_end_is_none_of_a_hunk_beneath_a_header() {
    let base = "class A:\n    x = 1\nclass B:\n    x = 1\n";
    for tail in ["\n*** End Patch\n", "\n*** Add File: n\n+n\n*** End Patch\n"] {
        let patch = format!("*** Begin Patch\n*** Update File: x\n@@ class B:\n-    x = 1\n+    x = 2\n{tail}");
        let mut after = vec![("x", "class A:\n    x = 1\nclass B:\n    x = 2\n")];
        after.extend(tail.contains("Add").then_some(("n", "n\n")));
        check(Format::Envelope, &[("x", base)], &patch, &after);
    }
    // If another place has the empty line, the header decides.
    let base = base.replace("class B", "\nclass B");
    let patch = "*** Begin Patch\n*** Update File: x\n@@ class B:\n-    x = 1\n+    x = 2\n\n*** End Patch\n";
    check(Format::Envelope, &[("x", &base)], patch, &[("x", "class A:\n    x = 1\n\nclass B:\n    x = 2\n")]);
}

#[test]
fn a_hunk_beneath_a_header_is_behind_the_hunk_before_it() {
    let base = "void f() {\n    lock();\n    step();\n    x();\n    step();\n}\n";
    let first = "@@ void f() {\n     step();\n+#ifdef DEBUG\n+    log();\n+#endif\n     x();\n";
    let patch = format!(
        "*** Begin Patch\n*** Update File: x\n{first}@@ void f() {{\n-    step();\n+    stop();\n*** End Patch\n"
    );
    let after = "void f() {\n    lock();\n    step();\n#ifdef DEBUG\n    log();\n#endif\n    x();\n    stop();\n}\n";
    check(Format::Envelope, &[("x", base)], &patch, &[("x", after)]);
}

#[test]
fn lines_of_a_workspace_edit_end_as_its_protocol_says() {
    let before = [("x", "a\rb\r\nc\nd\n")];
    for (line, after) in [(0, "X\rb\r\nc\nd\n"), (1, "a\rX\r\nc\nd\n"), (2, "a\rb\r\nX\nd\n")] {
        check(Format::WorkspaceEdit, &before, &workspace_edit(&edit("x", [line, 0, line, 1], "X")), &[("x", after)]);
    }
}

#[test]
fn a_file_that_a_rename_replaces_is_not_forgotten() {
    let rename = |from: &str, to: &str| {
        format!(r#"{{"kind":"rename","oldUri":"{from}","newUri":"{to}","options":{{"overwrite":true}}}}"#)
    };
    let delete = r#"{"kind":"delete","uri":"b"}"#;
    for second in [delete.to_owned(), rename("b", "c")] {
        is_malformed(Format::WorkspaceEdit, &workspace_edit(&format!("{},{second}", rename("a", "b"))), "renamed onto");
    }
    let chain = workspace_edit(&format!("{},{}", rename("b", "c"), rename("a", "b")));
    check(Format::WorkspaceEdit, &[("a", "1"), ("b", "2")], &chain, &[("b", "1"), ("c", "2")]);
}

#[test]
fn an_empty_line_within_a_new_file_is_one_of_the_file() {
    let add = |lines: &str| format!("*** Begin Patch\n*** Add File: x\n{lines}*** End Patch\n");
    check(Format::Envelope, &[], &add("+a\n\n\n+b\n\n"), &[("x", "a\n\n\nb\n")]);
    check(
        Format::Envelope,
        &[],
        &add("+a\r\n\r\n+b\r\n").replace("Patch\n", "Patch\r\n").replace("x\n", "x\r\n"),
        &[("x", "a\n\nb\n")],
    );
    check(Format::Envelope, &[], &add("+a\n  \n"), &[("x", "a\n")]);
    for lines in ["\n+a\n", "+a\n  \n+b\n"] {
        is_malformed(Format::Envelope, &add(lines), "a line with +");
    }
    let exact = Patch::read(add("+a\n").as_bytes(), None, None).unwrap();
    assert_eq!(applied(&tree(&[("x", "")]), &exact), Err(ErrorKind::FileExists));
    assert_eq!(read(&add("+a\n"), Format::Envelope).request.files.len(), 1);
}
