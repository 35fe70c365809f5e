//! Two crates that commit many files as one, each as its documentation says: the commit layer alone, since neither knows
//! of edits.

use std::fs;
use std::path::Path;

use crate::Result;
use crate::corpus::Job;

pub(crate) fn fstx(job: &Job) -> Result<()> {
    let mut transaction = fstx::Transaction::begin(".")?;
    for path in &job.files {
        transaction.write(path, job.apply(&fs::read(path)?))?;
    }
    Ok(transaction.commit()?)
}

pub(crate) fn fs_transaction(job: &Job) -> Result<()> {
    use fs_transaction::exec::block_on;
    use fs_transaction::{ChangeSet, StdFs, recover};

    let root = Path::new(".");
    block_on(recover(&StdFs, root))?;
    let mut changes = ChangeSet::new();
    for path in &job.files {
        let before = fs::read(path)?;
        changes.write(path, job.apply(&before));
        // What it offers against somebody else's change.
        changes.expect(path, before);
    }
    Ok(block_on(changes.apply(&StdFs, root))?)
}
