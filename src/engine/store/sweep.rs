//! Removes folders whose transaction never got a journal.

use super::folder;
use super::state::{Section, State};
use crate::error::{Error, Result};
use crate::fs::{Fs, Handle, Name, Rename};
use crate::journal::Mark;

/// Moves folders without a journal's name, whose owner is dead, to the trash: they were never swapped.
pub(crate) fn sweep_unfinished(fs: &dyn Fs, state: &State) -> Result<()> {
    let Some(section) = state.section(fs, Section::Transactions)? else { return Ok(()) };
    let names = fs.list(&section).map_err(|e| Error::io("list", section.path(), e))?;
    for name in names.iter().filter_map(|name| name.to_str()) {
        let id = name.strip_prefix('.').unwrap_or(name);
        if !crate::journal::is_id(id.as_ref()) {
            continue;
        }
        let Some((folder, _)) = folder::lock_folder(fs, &section, name)? else { continue };
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
