//! Sweeping: folders whose transaction never came to its journal, and the trash.

use super::state::{Section, State, list_ids, open_transaction};
use super::transaction;
use crate::error::{Error, Result};
use crate::fs::{FileKind, Fs, Handle, Name, Rename};
use crate::journal::Mark;
use crate::limits;

/// Folders that were in the trash at some moment. They may be unlinked after a sync that came after that moment:
/// else a power cut could bring back the folder's old place with half of its content.
#[derive(Debug)]
pub(super) struct Trash {
    folder: Option<Handle>,
    ids: Vec<String>,
}

impl Trash {
    /// The section, where there is something in it.
    pub(super) fn folder(&self) -> Option<&Handle> {
        self.folder.as_ref().filter(|_| !self.ids.is_empty())
    }
}

/// What is in the trash now.
pub(super) fn list_trash(fs: &dyn Fs, state: &State) -> Result<Trash> {
    let folder = state.section(fs, Section::Trash)?;
    let ids = match &folder {
        Some(folder) => list_ids(fs, folder)?,
        None => Vec::new(),
    };
    Ok(Trash { folder, ids })
}

/// Unlinks what was in the trash: plain unlinks and an rmdir a folder, never recursively. Whatever is left, because
/// somebody else is at it or put something there, waits for the next time.
pub(super) fn empty_trash(fs: &dyn Fs, trash: &Trash) {
    let Some(section) = &trash.folder else { return };
    for id in &trash.ids {
        let Ok(Some(folder)) = open_transaction(fs, section, id) else { continue };
        for name in fs.list(&folder).unwrap_or_default() {
            let name = Name::new(&folder, &name);
            match fs.stat(name) {
                // A staged folder is empty, or it is not txedit's any more.
                Ok(Some(stat)) if stat.kind == FileKind::Folder => drop(fs.remove_folder(name)),
                _ => drop(fs.unlink(name)),
            }
        }
        drop(fs.remove_folder(Name::new(section, id)));
    }
}

/// The trash after a commit. A durable one has just synced; another one does so itself, once it is worth it.
pub(super) fn after_commit(fs: &dyn Fs, state: &State, trash: &Trash, durable: bool) {
    if durable {
        empty_trash(fs, trash);
    } else if trash.ids.len() >= limits::TRASH {
        sync_and_empty_trash(fs, state).ok();
    }
}

/// Empties the trash after a sync of its own.
pub(super) fn sync_and_empty_trash(fs: &dyn Fs, state: &State) -> Result<()> {
    let trash = list_trash(fs, state)?;
    if let Some(folder) = trash.folder() {
        fs.sync_file_system(folder).map_err(|e| Error::io("sync the file system of", folder.path(), e))?;
        empty_trash(fs, &trash);
    }
    Ok(())
}

/// Moves folders without a journal's name, whose owner is dead, to the trash: they were never swapped.
pub(super) fn sweep_unfinished(fs: &dyn Fs, state: &State) -> Result<()> {
    let Some(section) = state.section(fs, Section::Transactions)? else { return Ok(()) };
    let names = fs.list(&section).map_err(|e| Error::io("list", section.path(), e))?;
    for name in names.iter().filter_map(|name| name.to_str()) {
        let id = name.strip_prefix('.').unwrap_or(name);
        if !crate::journal::is_id(id.as_ref()) {
            continue;
        }
        let Some((folder, _)) = transaction::lock_folder(fs, &section, name)? else { continue };
        if name == id && has_journal(fs, &folder)? {
            continue;
        }
        let trash = state.need_section(fs, Section::Trash)?;
        let from = Name::new(&section, name);
        fs.rename(from, Name::new(&trash, id), Rename::NoReplace).map_err(|e| Error::io("rename", from.path(), e))?;
    }
    Ok(())
}

fn has_journal(fs: &dyn Fs, folder: &Handle) -> Result<bool> {
    let names = fs.list(folder).map_err(|e| Error::io("list", folder.path(), e))?;
    Ok(names.iter().any(|name| name.to_string_lossy().starts_with(Mark::Sealed.file_name())))
}
