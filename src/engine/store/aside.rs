//! Contents that a rollback after a check set aside, found by their names in the transaction's folder.

use std::collections::BTreeMap;
use std::path::Path;

use super::parts::SlotFolders;
use super::workspace::Workspace;
use crate::error::Result;
use crate::index::EntryIndex;
use crate::journal::{self, Journal};

/// A content that was set aside when an entry was rolled back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Aside<'j> {
    /// The path in the workspace where it stood: the target, or one of the target's folders.
    pub path: &'j Path,
    /// Its name in the folder with the slot of its entry.
    pub name: String,
}

/// All contents that were set aside, by entry.
pub(crate) fn asides<'j>(
    workspace: &Workspace,
    slots: &SlotFolders,
    journal: &'j Journal,
) -> Result<BTreeMap<EntryIndex, Vec<Aside<'j>>>> {
    let mut found: BTreeMap<EntryIndex, Vec<_>> = BTreeMap::new();
    let mut names = Vec::new();
    for folder in slots.all() {
        names.extend(workspace.list(folder)?);
    }
    for name in names {
        let Some((name, (entry, above))) = name.to_str().and_then(|name| Some((name, journal::kept_place(name)?)))
        else {
            continue;
        };
        let record = journal.entries.get(entry);
        let path = record.and_then(|record| record.path.as_path().ancestors().nth(above));
        if let Some(path) = path.filter(|path| !path.as_os_str().is_empty()) {
            found.entry(entry).or_default().push(Aside { path, name: name.to_owned() });
        }
    }
    Ok(found)
}
