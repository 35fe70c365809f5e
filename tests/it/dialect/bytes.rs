//! Files that are not UTF-8, in the formats that have their bytes.

use std::fs;

use tempfile::TempDir;
use txedit::ErrorKind;

use super::{Tree, applied_by_engine, applied_by_git, apply, has_git};

const LATIN: &[u8] = b"caf\xe9\none\nna\xefve\n";

fn tree(content: &[u8]) -> Tree {
    [("a".into(), (content.to_vec(), false))].into()
}

/// Each format's way to say that `one` becomes `new` between the two lines around it.
fn patches(before: &[u8], new: &[u8], after: &[u8]) -> [Vec<u8>; 3] {
    [
        [b"--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n ", before, b"\n-one\n+", new, b"\n ", after, b"\n"].concat(),
        [b"*** Begin Patch\n*** Update File: a\n@@\n ", before, b"\n-one\n+", new, b"\n ", after, b"\n*** End Patch\n"]
            .concat(),
        [
            &b"a\n<<<<<<< SEARCH\n"[..],
            &[before, b"\none\n", after].concat(),
            b"\n=======\n",
            &[before, b"\n", new, b"\n", after].concat(),
            b"\n>>>>>>> REPLACE\n",
        ]
        .concat(),
    ]
}

#[test]
fn a_patch_in_the_bytes_of_its_file_is_applied() {
    for new in [&b"two"[..], b"d\xe9j\xe0 vu", "déjà vu".as_bytes()] {
        let expected = [b"caf\xe9\n", new, b"\nna\xefve\n"].concat();
        for patch in patches(b"caf\xe9", new, b"na\xefve") {
            let shown = String::from_utf8_lossy(&patch).into_owned();
            assert_eq!(applied_by_engine(&tree(LATIN), &patch).unwrap(), tree(&expected), "{shown}");
        }
        if has_git() {
            let [diff, ..] = patches(b"caf\xe9", new, b"na\xefve");
            assert_eq!(applied_by_git(&tree(LATIN), &diff), Some(tree(&expected)), "as git has it");
        }
    }
}

#[test]
fn a_patch_in_utf_8_is_refused_for_a_file_that_is_not() {
    let latin = b"first\none\nlast\ncaf\xe9\n";
    let scratch = TempDir::new().unwrap();
    fs::write(scratch.path().join("a"), latin).unwrap();
    for patch in patches(b"first", "déjà vu".as_bytes(), b"last") {
        let error = apply(scratch.path(), &patch).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidEncoding, "{error}");
    }
    for patch in patches("café".as_bytes(), b"two", "naïve".as_bytes()) {
        let error = apply(scratch.path(), &patch).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MatchNotFound, "{error}");
    }
    assert_eq!(fs::read(scratch.path().join("a")).unwrap(), latin);
}

#[test]
fn a_patch_that_is_not_utf_8_is_refused_for_a_file_that_is() {
    let utf8 = "first\none\nlast\ncafé\n";
    let scratch = TempDir::new().unwrap();
    fs::write(scratch.path().join("a"), utf8).unwrap();
    for patch in patches(b"first", b"d\xe9j\xe0 vu", b"last") {
        let error = apply(scratch.path(), &patch).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidEncoding, "{error}");
    }
    assert_eq!(fs::read_to_string(scratch.path().join("a")).unwrap(), utf8);
    // Where nothing beyond ASCII is there, nothing tells the encoding.
    for patch in patches(b"first", b"d\xe9j\xe0 vu", b"last") {
        fs::write(scratch.path().join("a"), "first\none\nlast\n").unwrap();
        apply(scratch.path(), &patch).unwrap();
    }
}
