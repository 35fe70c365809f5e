//! Bytes outside the edits never change, whatever they are.

use std::fs;
use std::io::Write;
use std::os::unix::fs::FileExt;

use serde_json::{Value, json};
use txedit::{ErrorKind, limits};

use crate::support::mounts;
use crate::support::workspace::Workspace;

fn edit(old: &str, new: &str) -> Value {
    json!({ "files": [{ "file_path": "a", "edits": [{ "old_string": old, "new_string": new, "replace_all": true }] }] })
}

/// Edits one file and compares every byte, then undoes and compares again.
fn becomes(before: &[u8], old: &str, new: &str, after: &[u8]) {
    let workspace = Workspace::new();
    workspace.write("a", before);
    workspace.apply(&edit(old, new)).unwrap();
    assert_eq!(fs::read(workspace.path("a")).unwrap(), after);
    workspace.undo(None).unwrap();
    assert_eq!(fs::read(workspace.path("a")).unwrap(), before);
}

#[test]
fn what_is_not_utf8_is_edited_byte_by_byte_or_refused() {
    becomes(b"caf\xe9 one \xff\n", "one", "two", b"caf\xe9 two \xff\n");
    let workspace = Workspace::new();
    workspace.write("a", b"caf\xe9 one\n");
    workspace.write("b", "ok\n");
    let mut request = edit("one", "zw\u{f6}lf");
    let error = workspace.refuses(&request);
    assert_eq!((error.kind(), error.file()), (ErrorKind::InvalidEncoding, Some(0)), "{error}");
    // Anything but an edit works on any bytes.
    request = json!({ "files": [{ "file_path": "a", "rename_to": "c" }] });
    workspace.apply(&request).unwrap();
    assert_eq!(fs::read(workspace.path("c")).unwrap(), b"caf\xe9 one\n");
}

#[test]
fn a_file_with_a_nul_byte_is_not_edited() {
    let workspace = Workspace::with(&[("b", "one\n")]);
    workspace.write("a", b"one\0two\n");
    let mut request = edit("one", "x");
    request["files"].as_array_mut().unwrap().insert(0, json!({ "file_path": "b", "delete": true }));
    let error = workspace.refuses(&request);
    assert_eq!((error.kind(), error.file()), (ErrorKind::InvalidEncoding, Some(1)), "{error}");
    workspace.apply(&json!({ "files": [{ "file_path": "a", "delete": true }] })).unwrap();
    workspace.undo(None).unwrap();
    assert_eq!(fs::read(workspace.path("a")).unwrap(), b"one\0two\n");
}

#[test]
fn a_byte_order_mark_and_a_missing_final_newline_stay() {
    becomes(b"\xef\xbb\xbfone", "one", "two", b"\xef\xbb\xbftwo");
    becomes(b"one", "one", "", b"");
}

#[test]
fn mixed_line_endings_stay_as_they_are() {
    becomes(b"a\r\none\nb\r\none\r\nc\rd\n", "one\n", "x\ny\n", b"a\r\nx\ny\nb\r\nx\r\ny\r\nc\rd\n");
}

#[test]
fn an_anchor_longer_than_the_file_is_not_found() {
    let workspace = Workspace::with(&[("a", "one\n")]);
    let error = workspace.refuses(&edit("one\nand more than there is\n", "x"));
    assert_eq!((error.kind(), error.file(), error.edit()), (ErrorKind::MatchNotFound, Some(0), Some(0)), "{error}");
}

#[test]
fn an_empty_file_has_nothing_to_edit() {
    let workspace = Workspace::with(&[("a", "")]);
    let error = workspace.refuses(&edit("one", "x"));
    assert_eq!(error.kind(), ErrorKind::EmptyFile, "{error}");
}

#[test]
fn one_line_of_a_gigabyte_can_be_edited() {
    mounts::with(mounts::Kind::Large, |root| {
        let workspace = Workspace::at(root);
        let mut file = fs::File::create(workspace.path("a")).unwrap();
        let piece = vec![b'x'; 1 << 20];
        for _ in 0..1 << 10 {
            file.write_all(&piece).unwrap();
        }
        file.write_all(b"one").unwrap();
        drop(file);
        workspace.apply(&edit("one", "three")).unwrap();
        let size = fs::metadata(workspace.path("a")).unwrap().len();
        assert_eq!(size, (1 << 30) + 5);
        let mut end = [0; 8];
        fs::File::open(workspace.path("a")).unwrap().read_exact_at(&mut end, size - 8).unwrap();
        assert_eq!(&end, b"xxxthree");
        let error = workspace.apply(&edit("one", "x")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MatchNotFound, "{error}");
        assert!(error.to_string().len() < 4 << 10);
    });
}

#[test]
fn a_file_larger_than_the_limit_is_refused() {
    let workspace = Workspace::with(&[("a", "")]);
    let file = fs::File::options().write(true).open(workspace.path("a")).unwrap();
    file.set_len(limits::EDITED_FILE_BYTES + 1).unwrap();
    let inode = fs::metadata(workspace.path("a")).map(|stat| std::os::unix::fs::MetadataExt::ino(&stat)).unwrap();
    let error = workspace.apply(&edit("one", "x")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::FileTooLarge, "{error}");
    let after = fs::metadata(workspace.path("a")).map(|stat| std::os::unix::fs::MetadataExt::ino(&stat)).unwrap();
    assert_eq!(after, inode);
    assert!(!workspace.path(".txedit").exists());
}
