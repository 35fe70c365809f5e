//! `--encoding`: edits of files in other encodings than UTF-8.

use std::fs;

use super::Workspace;

#[test]
fn the_encoding_of_a_file_is_named() {
    let workspace = Workspace::new();
    fs::write(workspace.path().join("a"), b"caf\xe9\n").unwrap();
    let edit = ["edit", "a", "--old", "café", "--new"];
    let plain = workspace.run(&[&edit[..], &["thé"]].concat());
    assert_ne!(plain.status, Some(0));
    let refused = workspace.run(&[&edit[..], &["t \u{17e}", "--encoding", "iso-8859-1x"]].concat());
    assert_eq!(refused.status, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("no encoding is called \"iso-8859-1x\""), "{refused:?}");
    let refused = workspace.run(&[&edit[..], &["t 日", "--encoding", "latin1"]].concat());
    assert_eq!(refused.status, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("U+65E5 '日' cannot be written in windows-1252"), "{refused:?}");
    let done = workspace.run(&[&edit[..], &["thé", "--encoding", "latin1"]].concat());
    assert_eq!(done.status, Some(0), "{done:?}");
    assert_eq!(fs::read(workspace.path().join("a")).unwrap(), b"th\xe9\n");
}

#[test]
fn a_refusal_says_that_an_encoding_can_be_named() {
    let workspace = Workspace::new();
    fs::write(workspace.path().join("a"), b"one \xe9\n").unwrap();
    let refused = workspace.run(&["edit", "a", "--old", "one", "--new", "é", "--json"]);
    let answer = refused.json();
    assert_eq!(answer["error_code"], "INVALID_ENCODING", "{answer}");
    assert!(answer["recovery_hint"].as_str().unwrap().contains("--encoding"), "{answer}");
}
