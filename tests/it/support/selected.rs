//! Parts of open transactions.

use std::path::Path;
use std::sync::Arc;

use rustix::io::Errno;
use txedit::Engine;
use txedit::fs::OsFs;
use txedit::fs::fault::{FaultCall, FaultFs, FaultOperation, Rule};
use txedit::review::{SelectedCommit, SelectedFile, Selection, TakenRuns};

use super::workspace::{running, settings};

/// Commits a part, and does not come to close the transaction: as if its process died there.
pub(crate) fn commit_without_closing(root: &Path, id: &str, files: Vec<SelectedFile>) -> SelectedCommit {
    let fs = Arc::new(FaultFs::new(Arc::new(OsFs::new())));
    let closes = |call: &FaultCall| {
        call.operation == FaultOperation::Rename && call.path.parent().is_some_and(|parent| parent.ends_with("open"))
    };
    fs.add(Rule::fail(1, Errno::IO.raw_os_error()).matching(closes));
    let engine = Engine::with_fs(fs, root, settings()).unwrap();
    let plan_hash = engine.preview(id, running()).unwrap().plan_hash;
    let selection = Selection { plan_hash, files, keeps_rest: true };
    engine.commit_selected(id, &selection, None, running()).unwrap()
}

pub(crate) fn runs(numbers: &[usize]) -> SelectedFile {
    SelectedFile::Runs(numbers.iter().map(|run| TakenRuns { runs: *run..run + 1, instead: None }).collect())
}
