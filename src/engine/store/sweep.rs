//! Removes folders whose transaction never got a journal, or none that was durable.

use std::ffi::OsString;

use super::folder::owner;
use super::interrupted;
use super::state::{Section, StateFolder};
use super::workspace::Workspace;
use crate::errno;
use crate::error::{Error, Result};
use crate::fs::{Handle, Name, Stat};
use crate::journal::kept_place;

/// Moves each folder that has no journal and whose owner is dead to the trash: it was never swapped (J1), or somebody
/// deleted its journal, and then it is left for a person.
pub(crate) fn sweep_unfinished(state: &StateFolder) -> Result<()> {
    let Some(section) = state.section(Section::Transactions)? else { return Ok(()) };
    let names = state.workspace.list(&section)?;
    for name in names.iter().filter_map(|name| name.to_str()) {
        let id = name.strip_prefix('.').unwrap_or(name);
        if !crate::journal::is_id(id.as_ref()) {
            continue;
        }
        let Some((folder, stat)) = owner::lock_folder(&state.workspace, &section, name)? else { continue };
        let has_journal = || interrupted::has_journal(&state.workspace, &folder, id);
        if name == id && (has_journal()? || holds_originals(&state.workspace, &folder, &stat)?) {
            continue;
        }
        let trash = state.need_section(Section::Trash)?;
        let from = Name::new(&section, name);
        let goal = Name::new(&trash, id);
        state.workspace.move_own(from, goal).map_err(|e| {
            if errno::is_taken(&e) {
                Section::Trash.is_taken(id, goal.path())
            } else {
                Error::io("rename", from.path(), e)
            }
        })?;
    }
    Ok(())
}

/// Returns whether a slot of a folder without a journal holds what came out of a swap: it is older than the folder, in
/// which everything staged was made. Where the file system has no birth times nothing tells. What is kept of another
/// program comes from a rollback, in which the originals go back first.
pub(crate) fn holds_originals(workspace: &Workspace, folder: &Handle, stat: &Stat) -> Result<bool> {
    let names = workspace.list(folder)?;
    if names.iter().any(|name| kept_place(&name.to_string_lossy()).is_some()) {
        return Ok(true);
    }
    let is_slot = |name: &&OsString| name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
    for name in names.iter().filter(is_slot) {
        let slot = workspace.stat(Name::new(folder, name))?;
        let ages = slot.and_then(|slot| slot.identity.born).zip(stat.identity.born);
        if ages.is_some_and(|(slot, folder)| slot < folder) {
            return Ok(true);
        }
    }
    Ok(false)
}
