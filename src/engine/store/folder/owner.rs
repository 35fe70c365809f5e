//! Makes, opens and locks the folders of transactions, each with the one process that owns it.

use crate::engine::store::private::{self, Opening};
use crate::engine::store::workspace::Workspace;
use crate::errno;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{Handle, Name, Stat};

/// The number of attempts to make the folder while a sweep keeps removing it before it is locked.
const TRIES: usize = 16;

/// Opens and locks `txn/<id>`; `None` where it is missing, is not ours, or its owner is alive.
pub(crate) fn lock_folder(workspace: &Workspace, section: &Handle, id: &str) -> Result<Option<(Handle, Stat)>> {
    match private::open(workspace, Name::new(section, id))? {
        Opening::Ours(folder, stat) => lock(workspace, section, id, (folder, stat)),
        Opening::Missing | Opening::Refused(_) => Ok(None),
    }
}

/// Locks the folder of a transaction that was just opened; `None` where its owner is alive or the name no longer leads
/// to it.
pub(crate) fn lock(
    workspace: &Workspace,
    section: &Handle,
    id: &str,
    (folder, stat): (Handle, Stat),
) -> Result<Option<(Handle, Stat)>> {
    if !workspace.try_lock(&folder)? {
        return Ok(None);
    }
    // It may have been moved between the opening and the lock.
    let there = workspace.stat(Name::new(section, id))?;
    Ok(there.filter(|there| there.identity == stat.identity).map(|_| (folder, stat)))
}

/// Makes `txn/.<id>`, locks it and only then renames it: a folder with its final name has had an owner.
pub(crate) fn make_folder(
    workspace: &Workspace,
    section: &Handle,
    new_id: &dyn Fn() -> Result<String>,
) -> Result<(String, Handle, Stat)> {
    for _ in 0..TRIES {
        let id = new_id()?;
        let hidden = format!(".{id}");
        let name = Name::new(section, &hidden);
        workspace.make_folder(name, 0o700)?;
        let Some((folder, stat)) = lock_folder(workspace, section, &hidden)? else { continue };
        match workspace.move_own(name, Name::new(section, &id)) {
            Ok(()) => {
                let folder = folder.renamed(section.path().join(&id));
                return Ok((id, folder, stat));
            }
            Err(e) if errno::is_missing(&e) => {}
            Err(e) => return Err(Error::io("rename", name.path(), e)),
        }
    }
    Err(Error::new(ErrorKind::WriteFailed, "another process keeps removing the staging folder; try again"))
}
