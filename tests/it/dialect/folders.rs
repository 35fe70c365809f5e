//! A file that would become a folder, and a folder that would become a file: no journal says that of one path, so it
//! takes two transactions.

use std::fs;

use tempfile::TempDir;
use txedit::error::{Detail, ErrorKind};

use super::{apply, read};

const TO_FOLDER: [&str; 4] = [
    "diff --git a/a b/a\ndeleted file mode 100644\n--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n\
     diff --git a/a/b b/a/b\nnew file mode 100644\n--- /dev/null\n+++ b/a/b\n@@ -0,0 +1 @@\n+two\n",
    "diff --git a/a b/a/b\nsimilarity index 100%\nrename from a\nrename to a/b\n",
    "*** Begin Patch\n*** Add File: a/b\n+two\n*** Delete File: a\n*** End Patch\n",
    "*** Begin Patch\n*** Update File: a\n*** Move to: a/deep/b\n@@\n-one\n+two\n*** End Patch\n",
];

const TO_FILE: [&str; 4] = [
    "diff --git a/a/b b/a/b\ndeleted file mode 100644\n--- a/a/b\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n\
     diff --git a/a b/a\nnew file mode 100644\n--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+two\n",
    "diff --git a/a/b b/a\nsimilarity index 100%\nrename from a/b\nrename to a\n",
    "*** Begin Patch\n*** Add File: a\n+two\n*** Delete File: a/b\n*** End Patch\n",
    "*** Begin Patch\n*** Update File: a/b\n*** Move to: a\n@@\n-one\n+two\n*** End Patch\n",
];

/// Refused for the whole of it, with what to do instead.
fn refused(file: &str, patches: [&str; 4], advice: &str) {
    for patch in patches {
        let scratch = TempDir::new().unwrap();
        let path = scratch.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "one\n").unwrap();
        let before = read(scratch.path());
        let error = apply(scratch.path(), patch.as_bytes()).unwrap_err();
        let Detail::Findings(findings) = error.details() else { panic!("{error}\n{patch}") };
        assert_eq!(findings[0].kind, ErrorKind::NotARegularFile, "{error}\n{patch}");
        assert!(findings[0].message.contains(advice), "{}\n{patch}", findings[0].message);
        assert_eq!(read(scratch.path()), before, "{patch}");
    }
}

#[test]
fn a_file_that_would_become_a_folder_takes_two_transactions() {
    refused("a", TO_FOLDER, "delete or move a in a transaction of its own first");
    let scratch = TempDir::new().unwrap();
    fs::write(scratch.path().join("a"), "one\n").unwrap();
    for patch in ["*** Begin Patch\n*** Delete File: a\n*** End Patch\n", "*** Add File: a/b\n+two\n"] {
        apply(scratch.path(), patch.as_bytes()).unwrap();
    }
    assert_eq!(fs::read(scratch.path().join("a/b")).unwrap(), b"two\n");
}

#[test]
fn a_folder_that_would_become_a_file_takes_two_transactions() {
    refused("a/b", TO_FILE, "delete or move what is in it in a transaction of its own, remove the folder (rmdir)");
    let scratch = TempDir::new().unwrap();
    fs::create_dir(scratch.path().join("a")).unwrap();
    fs::write(scratch.path().join("a/b"), "one\n").unwrap();
    apply(scratch.path(), b"*** Begin Patch\n*** Delete File: a/b\n*** End Patch\n").unwrap();
    fs::remove_dir(scratch.path().join("a")).unwrap();
    apply(scratch.path(), b"*** Add File: a\n+two\n").unwrap();
    assert_eq!(fs::read(scratch.path().join("a")).unwrap(), b"two\n");
}
