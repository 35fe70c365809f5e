//! A file that becomes a folder, and a folder that becomes a file, in one patch.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;
use txedit::error::Detail;
use txedit::{ErrorKind, Run, UndoOptions};

use super::{apply, engine, read};

const TO_FOLDER: [&str; 6] = [
    "diff --git a/a b/a\ndeleted file mode 100644\n--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n\
     diff --git a/a/b b/a/b\nnew file mode 100644\n--- /dev/null\n+++ b/a/b\n@@ -0,0 +1 @@\n+two\n",
    "diff --git a/a b/a/b\nsimilarity index 100%\nrename from a\nrename to a/b\n",
    "*** Begin Patch\n*** Add File: a/b\n+two\n*** Delete File: a\n*** End Patch\n",
    "*** Begin Patch\n*** Update File: a\n*** Move to: a/deep/b\n@@\n-one\n+two\n*** End Patch\n",
    r#"{"documentChanges": [{"kind": "create", "uri": "a/b"},
        {"textDocument": {"uri": "a/b"}, "edits": [{"newText": "two\n",
            "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}}]},
        {"kind": "delete", "uri": "a"}]}"#,
    r#"{"documentChanges": [{"kind": "rename", "oldUri": "a", "newUri": "a/b"}]}"#,
];

const TO_FILE: [&str; 6] = [
    "diff --git a/a/b b/a/b\ndeleted file mode 100644\n--- a/a/b\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n\
     diff --git a/a b/a\nnew file mode 100644\n--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+two\n",
    "diff --git a/a/b b/a\nsimilarity index 100%\nrename from a/b\nrename to a\n",
    "*** Begin Patch\n*** Add File: a\n+two\n*** Delete File: a/b\n*** End Patch\n",
    "*** Begin Patch\n*** Update File: a/b\n*** Move to: a\n@@\n-one\n+two\n*** End Patch\n",
    r#"{"documentChanges": [{"kind": "delete", "uri": "a/b"}, {"kind": "create", "uri": "a"},
        {"textDocument": {"uri": "a"}, "edits": [{"newText": "two\n",
            "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}}]}]}"#,
    r#"{"documentChanges": [{"kind": "rename", "oldUri": "a/b", "newUri": "a"}]}"#,
];

/// Each patch, applied to a tree that has one file with the line `one` and folders around it, then reverted.
fn becomes(file: &str, empty: &[&str], patches: [&str; 6], expected: [(&str, &str); 6]) {
    for (patch, (path, content)) in patches.iter().zip(expected) {
        let scratch = TempDir::new().unwrap();
        fs::create_dir_all(scratch.path().join(file).parent().unwrap()).unwrap();
        fs::write(scratch.path().join(file), "one\n").unwrap();
        for folder in empty {
            fs::create_dir_all(scratch.path().join(folder)).unwrap();
        }
        let before = read(scratch.path());
        apply(scratch.path(), patch.as_bytes()).unwrap();
        let after = [(PathBuf::from(path), (content.as_bytes().to_vec(), false))];
        assert_eq!(read(scratch.path()), after.into(), "{patch}");
        let names =
            fs::read_dir(scratch.path()).unwrap().filter(|name| name.as_ref().unwrap().file_name() != ".txedit");
        assert_eq!(names.count(), 1, "nothing is left of what was there: {patch}");
        let run = Run::default();
        let engine = engine(scratch.path());
        engine.undo(None, false, run).unwrap();
        assert_eq!(read(scratch.path()), before, "{patch}");
        for folder in empty {
            assert!(scratch.path().join(folder).is_dir(), "{folder} is there again: {patch}");
        }
        engine.redo(None, &UndoOptions::default(), run).unwrap();
        assert_eq!(
            read(scratch.path()),
            [(PathBuf::from(path), (content.as_bytes().to_vec(), false))].into(),
            "{patch}"
        );
    }
}

#[test]
fn a_file_becomes_a_folder() {
    let (two, one) = (("a/b", "two\n"), ("a/b", "one\n"));
    becomes("a", &[], TO_FOLDER, [two, one, two, ("a/deep/b", "two\n"), two, one]);
}

#[test]
fn a_folder_becomes_a_file() {
    let (two, one) = (("a", "two\n"), ("a", "one\n"));
    becomes("a/b", &["a/c/d", "a/e"], TO_FILE, [two, one, two, two, two, one]);
}

#[test]
fn a_folder_in_which_something_stays_is_no_file() {
    for (path, is_folder) in [("a/c", false), ("a/d/e", false), ("a/b.bak", true)] {
        let scratch = TempDir::new().unwrap();
        for path in ["a/b", path].into_iter().take(if is_folder { 1 } else { 2 }) {
            fs::create_dir_all(scratch.path().join(path).parent().unwrap()).unwrap();
            fs::write(scratch.path().join(path), "one\n").unwrap();
        }
        if is_folder {
            std::os::unix::fs::symlink("b", scratch.path().join(path)).unwrap();
        }
        let before = read(scratch.path());
        for patch in TO_FILE {
            let error = apply(scratch.path(), patch.as_bytes()).unwrap_err();
            let Detail::Findings(findings) = error.details() else { panic!("{error}\n{patch}") };
            assert_eq!(findings[0].kind, ErrorKind::NotARegularFile, "{error}\n{patch}");
            assert!(findings[0].message.contains(&format!("{path} in it stays")), "{}\n{patch}", findings[0].message);
            assert_eq!(read(scratch.path()), before, "{patch}");
        }
    }
}

#[test]
fn nothing_goes_into_a_folder_that_becomes_a_file() {
    let scratch = TempDir::new().unwrap();
    fs::create_dir(scratch.path().join("a")).unwrap();
    fs::write(scratch.path().join("a/b"), "one\n").unwrap();
    let before = read(scratch.path());
    let patch =
        "*** Begin Patch\n*** Add File: a\n+two\n*** Delete File: a/b\n*** Add File: a/c\n+three\n*** End Patch\n";
    let error = apply(scratch.path(), patch.as_bytes()).unwrap_err();
    let Detail::Findings(findings) = error.details() else { panic!("{error}") };
    assert!(findings[0].message.contains("becomes a file"), "{}", findings[0].message);
    assert_eq!(read(scratch.path()), before);
}

/// A SEARCH/REPLACE block deletes and renames nothing, so what is in the way stays.
#[test]
fn a_block_makes_no_folder_of_a_file_and_no_file_of_a_folder() {
    let kinds = [("a", "a/b", ErrorKind::NotARegularFile), ("a/b", "a", ErrorKind::NotARegularFile)];
    for (there, asked, kind) in kinds {
        let scratch = TempDir::new().unwrap();
        fs::create_dir_all(scratch.path().join(there).parent().unwrap()).unwrap();
        fs::write(scratch.path().join(there), "one\n").unwrap();
        let before = read(scratch.path());
        let patch = format!("{asked}\n<<<<<<< SEARCH\n=======\ntwo\n>>>>>>> REPLACE\n");
        let error = apply(scratch.path(), patch.as_bytes()).unwrap_err();
        let Detail::Findings(findings) = error.details() else { panic!("{error}") };
        assert_eq!(findings[0].kind, kind, "{error}");
        assert_eq!(read(scratch.path()), before, "{patch}");
    }
}
