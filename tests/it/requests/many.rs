//! Requests of many files, which are read and staged by two threads.

use std::fs;
use std::os::unix::fs::MetadataExt;

use serde_json::{Value, json};
use txedit::{ErrorKind, Outcome, limits};

use crate::support::workspace::{Tree, Workspace};

/// More than are staged at once, and so many that neither the journal nor the report is written in one go.
const FILES: usize = 1200;

fn workspace() -> Workspace {
    let workspace = Workspace::new();
    for file in 0..FILES {
        workspace.write(&format!("{}/{file}", file % 7), format!("{file} is one of many\n"));
    }
    workspace
}

/// An edit of every file, in an order that is not that of the folders.
fn request() -> Value {
    let file = |file: usize| {
        json!({
            "file_path": format!("{}/{file}", file % 7),
            "edits": [{ "old_string": "one", "new_string": format!("number {file}") }],
        })
    };
    json!({ "files": (0..FILES).map(file).collect::<Vec<_>>() })
}

#[test]
fn many_files_get_their_own_contents_and_are_all_reverted() {
    let workspace = workspace();
    workspace.chmod("3/150", 0o751);
    let before = workspace.tree();
    let report = workspace.apply(&request()).unwrap();
    for file in 0..FILES {
        let content = workspace.read(&format!("{}/{file}", file % 7));
        assert_eq!(content, format!("{file} is number {file} of many\n"));
    }
    assert_eq!(report.files.len(), FILES);
    // Whoever staged it: the journal must name the inode of this file and no other, for recovery goes by it.
    let id = report.transaction.unwrap();
    let long = |name: &str| {
        let bytes = fs::read(workspace.path(&format!(".txedit/history/{id}/{name}"))).unwrap();
        assert!(bytes.len() > limits::CHUNK_BYTES, "{name} is written in one go");
        bytes
    };
    let told: Value = serde_json::from_slice(&long("report.json")).unwrap();
    assert_eq!(told["files"].as_array().map(Vec::len), Some(FILES));
    let journal = long("journal.done");
    for record in txedit::journal::scan(&journal).unwrap().entries {
        let inode = fs::metadata(workspace.root().join(record.path.as_path())).unwrap().ino();
        assert_eq!(record.change.staged().map(|staged| staged.inode), Some(inode), "{}", record.path);
    }
    assert_eq!(workspace.mode("3/150"), 0o751);
    workspace.undo(None).unwrap();
    let contents = |tree: Tree| tree.outside_state().restorable();
    contents(workspace.tree()).assert_same(&contents(before));
}

#[test]
fn the_file_that_fails_is_named_though_others_were_read_ahead() {
    let workspace = workspace();
    for wrong in [0, 17, 171, FILES - 1] {
        let mut request = request();
        request["files"][wrong]["edits"][0]["old_string"] = json!("none");
        let error = workspace.refuses(&request);
        assert_eq!(
            (error.kind(), error.file(), error.edit()),
            (ErrorKind::MatchNotFound, Some(wrong), Some(0)),
            "{error}"
        );
    }
    let mut request = request();
    request["files"][200]["expected_hash"] = json!("0".repeat(64));
    let error = workspace.refuses(&request);
    assert_eq!((error.kind(), error.file(), error.outcome()), (ErrorKind::HashMismatch, Some(200), Outcome::Unchanged));
}
