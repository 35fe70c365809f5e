//! Late writes: somebody still had an original open when it was swapped, and wrote into it after the commit.
//!
//! They cannot be prevented. Their bytes are in history, and are told until the transaction is pruned.

use super::account;
use super::history::{Loaded, history};
use super::lock::NEVER;
use super::snapshot;
use super::state::State;
use crate::error::{Error, Result};
use crate::fs::{FileKind, Fs, Name};
use crate::journal::slot_name;

/// The sentences about the originals of a transaction that were written since.
pub(super) fn warnings(fs: &dyn Fs, loaded: &Loaded) -> Result<Vec<String>> {
    let report = Name::new(&loaded.folder, account::FILE_NAME);
    // It was written after the last swap: an original that is older has not been written since.
    let Some(swapped) = fs.stat(report).map_err(|e| Error::io("look at", report.path(), e))? else {
        return Ok(Vec::new());
    };
    let mut warnings = Vec::new();
    for (entry, record) in loaded.journal.entries.iter().enumerate() {
        let Some(before) = record.change.before() else { continue };
        let slot = slot_name(entry);
        let slot = Name::new(&loaded.folder, &slot);
        let path = slot.path();
        let stat = fs.stat(slot).map_err(|e| Error::io("look at", &path, e))?;
        let Some(stat) = stat.filter(|stat| stat.kind == FileKind::File) else {
            warnings.push(format!("the original of {} is gone from {}", record.path, path.display()));
            continue;
        };
        if stat.size == before.size && stat.modified < swapped.modified {
            continue;
        }
        let file = fs.open_file(slot).map_err(|e| Error::io("open", &path, e))?;
        if stat.size != before.size || snapshot::digest(fs, &file, &path, stat.size, &NEVER)? != before.digest {
            warnings.push(format!(
                "{} was written after the commit by a program that still had it open; what it wrote is in {}",
                record.path,
                path.display()
            ));
        }
    }
    Ok(warnings)
}

/// The same for all of history.
pub(super) fn all_warnings(fs: &dyn Fs, state: &State) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for loaded in history(fs, state)? {
        let loaded = loaded?;
        let of_one = warnings(fs, &loaded)?;
        all.extend(of_one.into_iter().map(|warning| format!("transaction {}: {warning}", loaded.id())));
    }
    Ok(all)
}
