//! What `git apply` does otherwise.

use std::fs;

use super::super::apply;
use super::{becomes, folder, refused};
use crate::support::workspace::Workspace;
use txedit::error::Detail;
use txedit::{ErrorKind, Patch};

#[test]
fn neither_attributes_nor_configuration_of_git_are_read() {
    let folder = folder(&[
        (".gitattributes", "* text=auto eol=lf\n"),
        (".git/HEAD", "ref: refs/heads/main\n"),
        (".git/config", "[core]\n\tautocrlf = input\n[apply]\n\twhitespace = fix\n\tignoreWhitespace = change\n"),
        ("x", "one\r\ntwo\r\n"),
    ]);
    let with = |old: &str| format!("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n {old}\n-two\n+2 \t\n");
    apply(folder.path(), with("one").as_bytes()).unwrap();
    assert_eq!(fs::read_to_string(folder.path().join("x")).unwrap(), "one\r\n2 \t\r\n");
    fs::write(folder.path().join("x"), "on  e\r\ntwo\r\n").unwrap();
    apply(folder.path(), with("on e").as_bytes()).unwrap_err();
}

#[test]
fn numbers_of_lines_are_held_to_what_is_there() {
    let hunk = |ranges: &str| format!("--- a/x\n+++ b/x\n@@ {ranges} @@\n one\n-two\n+2\n");
    becomes("one\ntwo\n", &hunk("-1,2 +1,2"), "one\n2\n");
    for ranges in ["-1,3 +1,3", "-1,2 +1,3", "-1 +1", "-1,0 +1,0"] {
        refused(&[("x", "one\ntwo\n")], &hunk(ranges), ErrorKind::PatchParseFailed);
    }
    let nothing = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n one\n two\n";
    refused(&[("x", "one\ntwo\n")], nothing, ErrorKind::PatchParseFailed);
    // All context must be there, however little of it would do.
    let patch = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n zero\n one\n-two\n+2\n";
    refused(&[("x", "ZERO\none\ntwo\n")], patch, ErrorKind::MatchNotFound);
}

#[test]
fn hunks_out_of_order_are_said_to_be() {
    let hunk = |line: u32, old: &str| format!("@@ -{line},2 +{line},2 @@\n-{old}\n+new\n {old}{old}\n");
    let patch = format!("--- a/x\n+++ b/x\n{}{}", hunk(3, "b"), hunk(1, "a"));
    let files = [("x", "a\naa\nb\nbb\n")];
    refused(&files, &patch, ErrorKind::MatchNotFound);
    let workspace = Workspace::with(&files);
    let request = Patch::read(patch.as_bytes(), None, None).unwrap().request;
    let error = super::super::apply_request(workspace.root(), &request).unwrap_err();
    assert!(error.to_string().contains("stand at line 1, in front of where the hunk before ends"), "{error}");
    assert!(matches!(error.details(), Detail::Matches(_)), "{error}");
}

#[test]
fn subversion_writes_the_name_once() {
    let diff = |names: &str, old: &str, new: &str, hunk: &str| {
        format!("Index: x\n=====\ndiff --git {names}\n--- {old}\t(revision 13)\n+++ {new}\t(working copy)\n{hunk}")
    };
    becomes("one\n", &diff("a/x", "a/x", "b/x", "@@ -1 +1 @@\n-one\n+1\n"), "1\n");
    becomes("one\n", &diff("x", "x", "x", "@@ -1 +1 @@\n-one\n+1\n"), "1\n");
    let files = [("x", "one\n"), ("y", "one\n")];
    for patch in [
        diff("a/y", "a/x", "b/x", "@@ -1 +1 @@\n-one\n+1\n"),
        diff("a/x y", "a/x y", "b/x y", "@@ -1 +1 @@\n-one\n+1\n"),
        "diff --git a/x\ndeleted file mode 100644\n".to_owned(),
    ] {
        refused(&files, &patch, ErrorKind::PatchParseFailed);
    }
}
