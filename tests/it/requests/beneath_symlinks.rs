//! Entries beneath symlinks that the same request takes away, replaces or makes: in the new folder, or refused.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use txedit::ErrorKind;
use txedit::error::Detail;

use super::there_and_back;
use crate::support::workspace::Workspace;

/// Two folders, a symlink to one of them, and symlinks that lead through that one.
fn workspace() -> Workspace {
    let workspace = Workspace::with(&[("d/x", "x\n"), ("d/sub/y", "y\n"), ("e/x", "e\n"), ("in/z", "z\n")]);
    for (target, path) in [("d", "l"), ("l/sub", "chain"), ("l/x", "to-x"), ("../l", "in/up")] {
        symlink(target, workspace.path(path)).unwrap();
    }
    symlink(workspace.path("l"), workspace.path("absolute")).unwrap();
    workspace
}

fn deletes(path: &str) -> Value {
    json!({ "file_path": path, "delete": true })
}

fn makes(path: &str) -> Value {
    json!({ "file_path": path, "make_folder": true })
}

fn creates(path: &str) -> Value {
    json!({ "file_path": path, "content": "1\n" })
}

fn moves(path: &str, to: &str) -> Value {
    json!({ "file_path": path, "rename_to": to, "if_exists": "replace" })
}

fn files(files: &[Value]) -> Value {
    json!({ "files": files })
}

/// All that a request can do with a symlink itself.
fn ways(link: &str) -> Vec<Value> {
    vec![
        deletes(link),
        moves(link, "away"),
        moves("e/x", link),
        json!({ "file_path": link, "symlink_to": "e", "if_exists": "replace" }),
    ]
}

#[test]
fn what_leads_through_a_symlink_that_the_request_takes_away_is_refused() {
    let workspace = workspace();
    let edits = |path: &str| json!({ "file_path": path, "edits": [{ "old_string": "x", "new_string": "1" }] });
    let beneath = [
        (creates("l/new"), "d/new"),
        (creates("l/deep/er/new"), "d/deep/er/new"),
        (edits("l/x"), "d/x"),
        (deletes("l/x"), "d/x"),
        (moves("l/x", "moved"), "d/x"),
        (makes("l/folder"), "d/folder"),
        (json!({ "file_path": "l/link", "symlink_to": "x" }), "d/link"),
        (creates("chain/new"), "d/sub/new"),
        (creates("in/up/new"), "d/new"),
        (creates("absolute/new"), "d/new"),
        (edits("to-x"), "d/x"),
    ];
    for way in ways("l") {
        for (entry, real) in &beneath {
            for (request, at) in [([way.clone(), entry.clone()], 1), ([entry.clone(), way.clone()], 0)] {
                let place = format!("files/{at}/file_path");
                let error = workspace.finds(&files(&request), &[(ErrorKind::NotARegularFile, &place)]);
                let Detail::Findings(findings) = error.details() else { panic!("{error}") };
                let told = &findings[0].message;
                let names_it = told.starts_with(&format!("{} leads through l, ", entry["file_path"].as_str().unwrap()));
                assert!(names_it && told.contains(&format!("({real})")), "{told}");
            }
        }
        let into = [way.clone(), moves("in/z", "l/z")];
        workspace.finds(&files(&into), &[(ErrorKind::NotARegularFile, "files/1/rename_to")]);
    }
    // A symlink on the way to another symlink.
    let both = [deletes("in/up"), creates("in/up/new")];
    workspace.finds(&files(&both), &[(ErrorKind::NotARegularFile, "files/1/file_path")]);
}

#[test]
fn what_is_beside_such_a_symlink_goes_where_it_says() {
    for way in ways("l") {
        let workspace = workspace();
        let before = workspace.tree();
        workspace.apply(&files(&[way, creates("d/new"), creates("d/sub/new")])).unwrap();
        assert_eq!((workspace.read("d/new"), workspace.read("d/sub/new")), ("1\n".to_owned(), "1\n".to_owned()));
        there_and_back(&workspace, &before);
    }
}

#[test]
fn a_folder_that_takes_the_place_of_a_symlink_has_what_is_put_beneath_it() {
    for way in [deletes("l"), moves("l", "away")] {
        for reversed in [false, true] {
            let workspace = workspace();
            let before = workspace.tree();
            let beneath = [
                creates("l/x"),
                creates("l/deep/er/new"),
                moves("in/z", "l/z"),
                makes("l/folder"),
                json!({ "file_path": "l/link", "symlink_to": "x" }),
            ];
            let mut request = [[way.clone(), makes("l")].as_slice(), &beneath].concat();
            if reversed {
                request.reverse();
            }
            workspace.apply(&files(&request)).unwrap();
            assert!(fs::symlink_metadata(workspace.path("l")).unwrap().is_dir());
            assert_eq!((workspace.read("l/x"), workspace.read("d/x")), ("1\n".to_owned(), "x\n".to_owned()));
            assert_eq!((workspace.read("l/deep/er/new"), workspace.read("l/z")), ("1\n".to_owned(), "z\n".to_owned()));
            let in_d = fs::read_dir(workspace.path("d")).unwrap().count();
            assert_eq!(in_d, 2);
            there_and_back(&workspace, &before);
        }
    }
    let workspace = workspace();
    // It is empty: nothing that was behind the symlink is there.
    let gone = [deletes("l"), makes("l"), deletes("l/x")];
    workspace.finds(&files(&gone), &[(ErrorKind::FileNotFound, "files/2/file_path")]);
    let chain = [deletes("l"), makes("l"), creates("chain/new")];
    workspace.finds(&files(&chain), &[(ErrorKind::NotARegularFile, "files/2/file_path")]);
    workspace.finds(&files(&[makes("l"), creates("l/new")]), &[(ErrorKind::FileExists, "files/0/file_path")]);
}

#[test]
fn what_would_be_beneath_a_new_symlink_is_refused() {
    let workspace = workspace();
    for way in [json!({ "file_path": "n", "symlink_to": "e" }), moves("l", "n")] {
        for entry in [creates("n/new"), makes("n/folder"), moves("in/z", "n/z")] {
            for request in [[way.clone(), entry.clone()], [entry.clone(), way.clone()]] {
                let before = workspace.tree();
                let error = workspace.apply(&files(&request)).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::NotARegularFile, "{error}");
                assert!(error.message().starts_with("n/") && error.message().contains(" n, where"), "{error}");
                workspace.tree().assert_same(&before);
            }
        }
    }
}
