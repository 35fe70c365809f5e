//! Removes folders whose transaction never got a journal.

use super::folder::owner;
use super::state::{Section, StateFolder};
use super::workspace::Workspace;
use crate::error::Result;
use crate::fs::{Handle, Name, Rename};
use crate::journal::Mark;

/// Moves each folder that has no journal and whose owner is dead to the trash: it was never swapped (J1).
pub(crate) fn sweep_unfinished(state: &StateFolder) -> Result<()> {
    let Some(section) = state.section(Section::Transactions)? else { return Ok(()) };
    let names = state.workspace.list(&section)?;
    for name in names.iter().filter_map(|name| name.to_str()) {
        let id = name.strip_prefix('.').unwrap_or(name);
        if !crate::journal::is_id(id.as_ref()) {
            continue;
        }
        let Some((folder, _)) = owner::lock_folder(&state.workspace, &section, name)? else { continue };
        if name == id && has_journal(&state.workspace, &folder)? {
            continue;
        }
        let trash = state.need_section(Section::Trash)?;
        let from = Name::new(&section, name);
        state.workspace.rename(from, Name::new(&trash, id), Rename::NoReplace)?;
    }
    Ok(())
}

fn has_journal(workspace: &Workspace, folder: &Handle) -> Result<bool> {
    let names = workspace.list(folder)?;
    Ok(names.iter().any(|name| name.to_string_lossy().starts_with(Mark::Sealed.file_name())))
}
