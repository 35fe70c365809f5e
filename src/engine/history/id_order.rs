//! Gives ids in ascending order, whatever the clock does.
//!
//! The newest id that was given is in the name of a mark in the state folder: `newest.<id>.<boot>`. A process that
//! takes an id renames the mark to it, and only one of several can; so a later id is always greater, even where the
//! clock was set back. Nothing of this is synced: after a power loss the boot is another one, no mark counts, and the
//! newest id is found once among the transactions themselves.

use crate::engine::history;
use crate::engine::store::id;
use crate::engine::store::interrupted;
use crate::engine::store::state::{Section, StateFolder, list_ids, open_transaction};
use crate::errno;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::Name;
use crate::journal::is_id;

/// The prefix of the name of a mark.
const PREFIX: &str = "newest.";

/// The number of attempts while other processes are faster.
const TRIES: usize = 1000;

/// A new id, greater than each one given before.
pub(crate) fn next_id(state: &StateFolder) -> Result<String> {
    let boot = state.workspace.host()?.boot;
    for _ in 0..TRIES {
        let marks = marks(state)?;
        let Some(newest) = marks.iter().filter_map(|mark| of_boot(mark, &boot)).max() else {
            return first_id(state, &marks, &boot);
        };
        let id = id::after(state.workspace.now(), Some(newest));
        let (from, to) = (name(newest, &boot), name(&id, &boot));
        let from = Name::new(&state.folder, &from);
        match state.workspace.move_own(from, Name::new(&state.folder, &to)) {
            Ok(()) => return Ok(id),
            // Another process has just taken an id.
            Err(e) if errno::is_missing(&e) => {}
            Err(e) => return Err(Error::io("rename", from.path(), e)),
        }
    }
    Err(Error::new(ErrorKind::WriteFailed, "others take ids quicker than this process; try again"))
}

/// The first id of a boot.
fn first_id(state: &StateFolder, marks: &[String], boot: &str) -> Result<String> {
    let newest = newest_committed(state)?.max(newest_interrupted(state)?);
    let id = id::after(state.workspace.now(), newest.as_deref());
    let name = name(&id, boot);
    let (_, guard, _) = state.workspace.create(Name::new(&state.folder, &name), 0o600)?;
    guard.disarm();
    for old in marks {
        // If another process removes it first, it is gone as well.
        state.workspace.fs().unlink(Name::new(&state.folder, old)).ok();
    }
    Ok(id)
}

fn newest_committed(state: &StateFolder) -> Result<Option<String>> {
    for id in state.ids(Section::History)?.into_iter().rev() {
        // A name that another program made does not count.
        if history::is_ours(state, &id)? {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

fn newest_interrupted(state: &StateFolder) -> Result<Option<String>> {
    let Some(section) = state.section(Section::Transactions)? else { return Ok(None) };
    for id in list_ids(&state.workspace, &section)?.into_iter().rev() {
        let Some(folder) = open_transaction(&state.workspace, &section, &id)? else { continue };
        if interrupted::read_born_here(&state.workspace, &folder, &id)?.is_some() {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// The names of all marks.
fn marks(state: &StateFolder) -> Result<Vec<String>> {
    let names = state.workspace.list(&state.folder)?;
    let names = names.into_iter().filter_map(|name| name.into_string().ok());
    Ok(names.filter(|name| name.starts_with(PREFIX)).collect())
}

fn name(id: &str, boot: &str) -> String {
    format!("{PREFIX}{id}.{boot}")
}

/// The id in the name of a mark of this boot. An id contains a dot itself.
fn of_boot<'m>(mark: &'m str, boot: &str) -> Option<&'m str> {
    let id = mark.strip_prefix(PREFIX)?.strip_suffix(boot)?.strip_suffix('.')?;
    is_id(id.as_ref()).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_of_its_boot_alone() {
        let id = "20261121T231459.000001Z-0123456789abcdef";
        let mark = name(id, "51b007ed-0000");
        assert_eq!(of_boot(&mark, "51b007ed-0000"), Some(id));
        assert_eq!(of_boot(&mark, "0000"), None);
        assert_eq!(of_boot("newest.nonsense.51b007ed-0000", "51b007ed-0000"), None);
    }
}
