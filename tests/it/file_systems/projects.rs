//! Projects, to which quotas of xfs belong: each file keeps its own, and what cannot go back is found out before.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use txedit::ErrorKind;

use crate::file_systems::metadata::edits;
use crate::support::is_without;
use crate::support::mounts::{self, Kind};
use crate::support::workspace::Workspace;

fn project(workspace: &Workspace, path: &str) -> String {
    let told = workspace.tool("lsattr", &["-d", "-p"], path).unwrap();
    told.trim().split(' ').next().unwrap().to_owned()
}

/// A folder that hands on its project; `None` where there are none.
fn handing_on(workspace: &Workspace, folder: &str, project: &str) -> Option<()> {
    fs::create_dir_all(workspace.path(folder)).unwrap();
    let refused = workspace.tool("chattr", &["+P", "-p", project], folder).err();
    refused.map_or(Some(()), |reason| {
        eprintln!("skipped: no projects here: {reason}");
        None
    })
}

fn new(path: &str) -> Value {
    json!({ "files": [{ "file_path": path, "content": "x" }] })
}

fn each_file_keeps_its_own(root: &Path) {
    let workspace = Workspace::at(root);
    let Some(()) = handing_on(&workspace, "tree", "42") else { return };
    handing_on(&workspace, "tree/other", "43");
    handing_on(&workspace, "none", "0");
    for path in ["a", "own", "tree/b", "tree/other/c", "tree/gone"] {
        workspace.write(path, "one\n");
    }
    workspace.tool("chattr", &["-p", "7"], "own").unwrap();
    let projects = || ["a", "own", "tree/b", "tree/other/c"].map(|path| project(&workspace, path));
    let before = projects();
    assert_eq!(before, ["0", "7", "42", "43"]);

    let mut request = edits(&["a", "own", "tree/b", "tree/other/c"]);
    let more = [
        json!({ "file_path": "tree/new/deep/d", "content": "x" }),
        json!({ "file_path": "none/e", "content": "x" }),
        json!({ "file_path": "tree/gone", "rename_to": "tree/other/gone" }),
    ];
    request["files"].as_array_mut().unwrap().extend(more);
    let dry = json!({ "files": request["files"], "dry_run": true });
    workspace.apply(&dry).unwrap();
    workspace.apply(&request).unwrap();
    assert_eq!(projects(), before);
    let placed = ["tree/new", "tree/new/deep", "tree/new/deep/d", "none/e", "tree/other/gone"];
    assert_eq!(placed.map(|path| project(&workspace, path)), ["42", "42", "42", "0", "43"]);
    // What comes into the new folders is in the project as well.
    workspace.write("tree/new/deep/later", "");
    assert_eq!(project(&workspace, "tree/new/deep/later"), "42");
    fs::remove_file(workspace.path("tree/new/deep/later")).unwrap();

    workspace.undo(None).unwrap();
    assert_eq!((projects(), project(&workspace, "tree/gone")), (before.clone(), "42".to_owned()));
    workspace.apply(&request).unwrap();
    assert_eq!(projects(), before);

    // The state folder may hand on a project itself, and what is rolled back goes back into each.
    let inside = Workspace::at(&workspace.path("tree"));

    inside.write("b", "one\n");
    inside.write("other/c", "one\n");
    let mut conflict = edits(&["b", "other/c"]);
    conflict["check"] = json!(["false"]);
    let refused = inside.apply(&conflict).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::CheckFailed, "{refused}");
    inside.apply(&edits(&["b", "other/c"])).unwrap();
    assert_eq!(projects(), before);
}

/// A file from before its folder handed on a project could not be put back there.
fn what_could_not_go_back_is_refused(root: &Path) {
    let workspace = Workspace::at(root);
    workspace.write("tree/a", "one\n");
    let Some(()) = handing_on(&workspace, "tree", "42") else { return };
    let deletes = json!({ "files": [{ "file_path": "tree/a", "delete": true }] });
    for request in [edits(&["tree/a"]), deletes] {
        for dry_run in [true, false] {
            let error = workspace.refuses(&json!({ "files": request["files"], "dry_run": dry_run }));
            assert_eq!(error.kind(), ErrorKind::CrossDevice, "{error}");
            assert!(error.to_string().contains("chattr -p 42"), "{error}");
        }
    }
    workspace.tool("chattr", &["-p", "42"], "tree/a").unwrap();
    workspace.apply(&edits(&["tree/a"])).unwrap();
    workspace.apply(&new("tree/b")).unwrap();
    assert_eq!(["tree/a", "tree/b"].map(|path| project(&workspace, path)), ["42", "42"]);
}

#[test]
fn files_on_xfs_keep_their_projects() {
    if is_without("projects") {
        return;
    }
    mounts::with(Kind::Xfs, each_file_keeps_its_own);
}

#[test]
fn older_files_on_xfs_keep_their_projects() {
    if is_without("projects") {
        return;
    }
    mounts::with(Kind::Xfs, what_could_not_go_back_is_refused);
}
