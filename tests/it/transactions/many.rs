//! Many files in one transaction, whose entries are verified by two threads.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use txedit::ErrorKind;
use txedit::fs::OsFs;
use txedit::fs::fault::{FaultCall, FaultFs, FaultOperation, Rule};

use crate::support::workspace::Workspace;

/// A workspace of many files, and a request for all of them.
fn many(faults: &Arc<FaultFs>, root: &Path) -> (Workspace, Value) {
    let workspace = Workspace::on(faults.clone(), root);
    let names: Vec<String> = (0..MANY).map(|number| format!("f{number:03}")).collect();
    for name in &names {
        workspace.write(name, "old");
    }
    let file = |name: &String| json!({"file_path": name, "edits": [{"old_string": "old", "new_string": "new"}]});
    let request = json!({"files": names.iter().map(file).collect::<Vec<_>>()});
    (workspace, request)
}

const MANY: usize = 200;

#[test]
fn of_many_files_the_first_that_changed_before_the_swaps_is_named() {
    for changed in [vec![10, 150], vec![150, 160]] {
        let scratch = tempfile::tempdir().unwrap();
        let faults = Arc::new(FaultFs::new(Arc::new(OsFs::new())).in_parallel());
        let (workspace, request) = many(&faults, scratch.path());
        let (root, numbers) = (scratch.path().to_owned(), changed.clone());
        let writes = move |_: &FaultCall| {
            for number in &numbers {
                fs::write(root.join(format!("f{number:03}")), "theirs").unwrap();
            }
        };
        let is_named = |call: &FaultCall| call.to.iter().any(|to| to.ends_with("journal"));
        faults.add(Rule::after(1, writes).of(FaultOperation::Rename).matching(is_named));
        let error = workspace.apply(&request).unwrap_err();
        assert_eq!((error.kind(), error.file()), (ErrorKind::ConcurrentModification, Some(changed[0])), "{error}");
        let theirs = (0..MANY).filter(|number| workspace.read(&format!("f{number:03}")) != "old");
        assert_eq!(theirs.collect::<Vec<_>>(), changed);
    }
}
