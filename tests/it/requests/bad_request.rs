//! Requests that are refused by their letters alone.

use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};
use txedit::error::Detail;
use txedit::{ErrorKind, PathRule};

use crate::support::workspace::{Workspace, assert_findings};

const BOTH: PathRule = PathRule::AbsoluteOrRelative;

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({ "file_path": path, "edits": [{ "old_string": old, "new_string": new }] })
}

/// Refused with these findings, in a workspace of one file that a good request would change.
fn refused(request: &Value, expected: &[(ErrorKind, &str)]) -> String {
    let workspace = Workspace::with(&[("a", "one\n"), ("b", "two\n")]);
    let error = workspace.finds(request, expected);
    let Detail::Findings(findings) = error.details() else { unreachable!("they were compared") };
    findings[0].message.clone()
}

#[test]
fn a_good_request_is_not_refused() {
    let workspace = Workspace::with(&[("a", "one\n")]);
    let report = workspace.apply(&json!({ "files": [edit("a", "one", "two")] })).unwrap();
    assert_eq!((workspace.read("a").as_str(), report.files.len()), ("two\n", 1));
    assert!(workspace.path(".txedit").is_dir());
}

#[test]
fn what_is_not_json_is_refused_with_its_place() {
    let workspace = Workspace::with(&[("a", "one\n")]);
    for text in ["", "{", "files", "[] []", r#"{"files": [}"#, "\u{feff}{}"] {
        let error = workspace.refuses_text(text.as_bytes(), BOTH);
        assert_findings(&error, &[(ErrorKind::ValidationFailed, findings_path(text))]);
        let Detail::Findings(findings) = error.details() else { unreachable!() };
        assert!(findings[0].message.contains("line 1"), "{}", findings[0].message);
    }
    let error = workspace.refuses_text(b"\xff", BOTH);
    assert_findings(&error, &[(ErrorKind::ValidationFailed, "")]);
}

/// Where serde was when the text broke off.
fn findings_path(text: &str) -> &'static str {
    if text.starts_with("{\"files\"") { "files/0" } else { "" }
}

#[test]
fn an_unknown_field_is_refused_by_its_name() {
    let mut request = json!({ "files": [edit("a", "one", "x")], "flies": [] });
    let message = refused(&request, &[(ErrorKind::ValidationFailed, "flies")]);
    assert!(message.contains("`flies`") && message.contains("`files`"), "{message}");

    request = json!({ "files": [edit("a", "one", "x"), edit("b", "two", "x")] });
    request["files"][0]["edit"] = json!([]);
    request["files"][1]["edits"][0]["replaceall"] = json!(true);
    refused(
        &request,
        &[(ErrorKind::ValidationFailed, "files/0/edit"), (ErrorKind::ValidationFailed, "files/1/edits/0/replaceall")],
    );
}

#[test]
fn a_wrong_type_is_refused() {
    let mut request = json!({ "files": [edit("a", "one", "x"), edit("b", "two", "x")] });
    request["files"][0]["edits"][0]["old_string"] = json!(1);
    request["files"][1]["edits"] = json!("all");
    refused(
        &request,
        &[(ErrorKind::ValidationFailed, "files/0/edits/0/old_string"), (ErrorKind::ValidationFailed, "files/1/edits")],
    );
    refused(&json!({ "files": 3 }), &[(ErrorKind::ValidationFailed, "files")]);
    refused(&json!([]), &[(ErrorKind::ValidationFailed, "")]);
}

#[test]
fn a_missing_field_is_refused() {
    let request = json!({ "files": [
        { "edits": [{ "old_string": "one", "new_string": "x" }] },
        { "file_path": "a", "edits": [{ "new_string": "x" }, { "old_string": "one" }] },
        { "file_path": "b" },
    ] });
    refused(
        &request,
        &[
            (ErrorKind::ValidationFailed, "files/0/file_path"),
            (ErrorKind::ValidationFailed, "files/1/edits/0/old_string"),
            (ErrorKind::ValidationFailed, "files/1/edits/1/new_string"),
            (ErrorKind::ValidationFailed, "files/2"),
        ],
    );
    refused(&json!({}), &[(ErrorKind::ValidationFailed, "files")]);
    refused(&json!({ "files": [] }), &[(ErrorKind::ValidationFailed, "files")]);
}

#[test]
fn edits_that_are_missing_empty_or_repeated_are_refused() {
    let request = json!({ "files": [
        { "file_path": "a", "edits": [] },
        { "file_path": "b", "edits": [
            { "old_string": "two", "new_string": "x" },
            { "old_string": "", "new_string": "x" },
            { "old_string": "two", "new_string": "y" },
        ] },
    ] });
    let workspace = Workspace::with(&[("a", "one\n"), ("b", "two\n")]);
    let error = workspace.finds(
        &request,
        &[
            (ErrorKind::EmptyEdits, "files/0/edits"),
            (ErrorKind::EmptyOldString, "files/1/edits/1/old_string"),
            (ErrorKind::DuplicateOldString, "files/1/edits/2/old_string"),
        ],
    );
    let Detail::Findings(findings) = error.details() else { unreachable!("they were compared") };
    assert!(findings[2].message.starts_with("Edit 3 of 3 "), "{}", findings[2].message);
}

#[test]
fn a_relative_path_is_refused_where_only_absolute_ones_are_taken() {
    let workspace = Workspace::with(&[("a", "one\n"), ("b", "two\n")]);
    let request = json!({ "files": [edit("a", "one", "x"), edit(&workspace.name("b"), "two", "x"),
        { "file_path": workspace.name("a"), "rename_to": "c" }] });
    let error = workspace.refuses_text(request.to_string().as_bytes(), PathRule::Absolute);
    assert_findings(
        &error,
        &[(ErrorKind::RelativePath, "files/0/file_path"), (ErrorKind::RelativePath, "files/2/rename_to")],
    );
    let request = json!({ "files": [edit(&workspace.name("b"), "two", "x")] });
    workspace.apply_text(request.to_string().as_bytes(), PathRule::Absolute).unwrap();
    assert_eq!(workspace.read("b"), "x\n");
}

#[test]
fn a_path_that_climbs_is_refused() {
    let workspace = Workspace::with(&[("sub/a", "one\n"), ("b", "two\n")]);
    let absolute = workspace.name("sub/../b");
    let files = json!({ "files": [
        edit("sub/../b", "two", "x"),
        edit(&absolute, "two", "x"),
        { "file_path": "b", "rename_to": "../b" },
    ] });
    workspace.finds(
        &files,
        &[
            (ErrorKind::PathTraversal, "files/0/file_path"),
            (ErrorKind::PathTraversal, "files/1/file_path"),
            (ErrorKind::PathTraversal, "files/2/rename_to"),
        ],
    );
}

#[test]
fn what_is_outside_the_root_is_refused() {
    let outside = Workspace::with(&[("a", "one\n")]);
    let workspace = Workspace::with(&[("a", "one\n")]);
    symlink(outside.path("a"), workspace.path("file")).unwrap();
    symlink(outside.root(), workspace.path("folder")).unwrap();
    let untouched = outside.tree();
    let new = workspace.name("folder/new");
    let files = json!({ "files": [
        edit(&outside.name("a"), "one", "x"),
        edit("file", "one", "x"),
        edit("folder/a", "one", "x"),
        { "file_path": new, "content": "" },
        { "file_path": "a", "rename_to": "folder/b" },
        edit(&outside.name("no/such/folder"), "one", "x"),
    ] });
    workspace.finds(
        &files,
        &[
            (ErrorKind::OutsideRoot, "files/0/file_path"),
            (ErrorKind::OutsideRoot, "files/1/file_path"),
            (ErrorKind::OutsideRoot, "files/2/file_path"),
            (ErrorKind::OutsideRoot, "files/3/file_path"),
            (ErrorKind::OutsideRoot, "files/4/rename_to"),
            (ErrorKind::OutsideRoot, "files/5/file_path"),
        ],
    );
    outside.tree().assert_same(&untouched);
}

#[test]
fn the_state_folder_is_refused_under_any_name() {
    let workspace = Workspace::with(&[("a", "one\n")]);
    workspace.apply(&json!({ "files": [edit("a", "one", "two")] })).unwrap();
    symlink(".txedit", workspace.path("state")).unwrap();
    symlink(".txedit/id", workspace.path("id")).unwrap();
    let lexical = json!({ "files": [
        { "file_path": ".txedit/id", "delete": true },
        { "file_path": ".TXEDIT/new", "content": "" },
        { "file_path": workspace.name("sub/.txEdit"), "content": "" },
    ] });
    workspace.finds(
        &lexical,
        &[
            (ErrorKind::OutsideRoot, "files/0/file_path"),
            (ErrorKind::OutsideRoot, "files/1/file_path"),
            (ErrorKind::OutsideRoot, "files/2/file_path"),
        ],
    );
    let by_link = json!({ "files": [
        { "file_path": "state/new", "content": "" },
        { "file_path": "id", "content": "", "if_exists": "replace" },
        { "file_path": "state", "content": "", "if_exists": "replace" },
    ] });
    workspace.finds(
        &by_link,
        &[
            (ErrorKind::OutsideRoot, "files/0/file_path"),
            (ErrorKind::OutsideRoot, "files/1/file_path"),
            (ErrorKind::OutsideRoot, "files/2/file_path"),
        ],
    );
}

#[test]
fn a_file_that_is_named_twice_is_refused() {
    let workspace = Workspace::with(&[("sub/a", "one\n"), ("b", "two\n")]);
    symlink("sub/a", workspace.path("link")).unwrap();
    symlink("sub", workspace.path("folder")).unwrap();
    std::fs::hard_link(workspace.path("b"), workspace.path("hard")).unwrap();
    let files = json!({ "files": [
        edit("sub/a", "one", "x"),
        edit("./sub//a", "one", "y"),
        edit("link", "one", "y"),
        edit("folder/a", "one", "y"),
        edit("b", "two", "x"),
        edit("hard", "two", "y"),
        { "file_path": "new", "content": "" },
        { "file_path": "new", "content": "" },
    ] });
    workspace.finds(
        &files,
        &[
            (ErrorKind::DuplicateFilePath, "files/1/file_path"),
            (ErrorKind::DuplicateFilePath, "files/2/file_path"),
            (ErrorKind::DuplicateFilePath, "files/3/file_path"),
            (ErrorKind::DuplicateFilePath, "files/5/file_path"),
            (ErrorKind::DuplicateFilePath, "files/7/file_path"),
        ],
    );
}

#[test]
fn a_plan_of_fifty_megabytes_is_applied() {
    let workspace = Workspace::with(&[("a", "one\n")]);
    let large = "0123456789abcde\n".repeat(50 << 16);
    workspace.apply(&json!({ "files": [edit("a", "one\n", &large)] })).unwrap();
    assert!(workspace.read("a") == large);
    let error = workspace.refuses(&json!({ "files": [edit("a", &format!("{large}x"), "")] }));
    assert_eq!((error.kind(), error.file(), error.edit()), (ErrorKind::MatchNotFound, Some(0), Some(0)));
    assert!(error.to_string().len() < 4 << 10, "{}", error.to_string().len());
}

#[test]
fn a_path_that_names_no_file_is_refused() {
    let long = "n".repeat(256);
    let request = json!({ "files": [
        { "file_path": "", "delete": true },
        { "file_path": "/", "delete": true },
        { "file_path": "a\u{0}", "delete": true },
        { "file_path": long, "delete": true },
    ] });
    let kinds: Vec<_> = (0..4).map(|file| format!("files/{file}/file_path")).collect();
    let expected: Vec<_> = kinds.iter().map(|path| (ErrorKind::ValidationFailed, path.as_str())).collect();
    refused(&request, &expected);
    assert!(!Path::new("/a").exists());
}
