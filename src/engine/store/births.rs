//! Proofs, outside the workspace, that journals were written where they are.
//!
//! Without birth times a folder that was copied, or whose number was dealt out again, cannot be told from the one in which a
//! journal was written once the machine has started again: a person must say. Where names change places step by step a file
//! may be missing until then. So such a transaction leaves a proof in the folder of this user's states, durable before its
//! first swap: what another user, or a copy of the workspace, brings along has none.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::files::{read_file, read_small, write_new};
use super::private::{self, Opening};
use super::state::{Section, StateFolder};
use super::workspace::Workspace;
use crate::errno;
use crate::error::{Error, ErrorKind, NextStep, Result};
use crate::fs::{Handle, Name};
use crate::identity::Identity;
use crate::journal::{Header, SwapMethod, is_id};

/// The folders in which the proofs of a workspace are, one in the other; that of the workspace comes last.
const FOLDERS: [&str; 2] = ["txedit", "born"];

/// Returns whether a transaction needs a proof: a file may be missing after a crash, or half new where none but overwriting is
/// possible and so the folder has no number, and it has no birth time.
pub(crate) fn is_needed(swap: SwapMethod, folder: &Identity) -> bool {
    folder.born.is_none() && (swap != SwapMethod::Exchange || folder.inode == 0)
}

/// Makes the folder of all proofs, so that a workspace in which none can be left is refused before anything is made in it.
pub(crate) fn make_folder(workspace: &Workspace) -> Result<()> {
    folder_of_all(workspace).map(drop)
}

fn folder_of_all(workspace: &Workspace) -> Result<Handle> {
    let Some(states) = workspace.user_state() else {
        return Err(unproved(workspace, None, "no folder is known for it"));
    };
    let in_it = |folder| FOLDERS.iter().try_fold(folder, |folder, name| made_in(workspace, &folder, name));
    made(workspace, states).and_then(in_it).map_err(|error| unproved(workspace, Some(states), error.message()))
}

/// Leaves the proof of a transaction, durable.
pub(crate) fn prove(workspace: &Workspace, header: &Header) -> Result<()> {
    let all = folder_of_all(workspace)?;
    let failed = |error: Error| unproved(workspace, workspace.user_state(), error.message());
    let folder = made_in(workspace, &all, &header.workspace).map_err(failed)?;
    let proof = write_new(workspace, Name::new(&folder, &header.id), &text(workspace, header)).map_err(failed)?;
    workspace.sync(&proof).and_then(|()| workspace.sync(&folder)).map_err(failed)
}

/// Returns whether a proof says that a journal with this header was written in the folder with this identity.
pub(crate) fn is_proved(workspace: &Workspace, header: &Header, id: &str, folder: &Identity) -> Result<bool> {
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric());
    // Without a number either, the proof alone tells.
    let may_be_it = header.folder.is_record_of(folder) || header.folder.inode == 0 && folder.born.is_none();
    if header.folder.born.is_some() || header.id != id || !may_be_it || !is_word(&header.workspace) {
        return Ok(false);
    }
    let Some(folder) = proofs(workspace, &header.workspace)? else { return Ok(false) };
    let wanted = text(workspace, header);
    let proof = read_file(workspace, Name::new(&folder, id), b"", wanted.len() as u64)?;
    Ok(proof.is_some_and(|proof| proof == wanted))
}

/// The proofs of transactions that are in `txn/` no more, nor in `history/` where nothing else tells that they were written
/// here. Once that is durable, they may go.
pub(crate) fn outlived(state: &StateFolder) -> Result<Vec<String>> {
    let Some(folder) = proofs(&state.workspace, state.workspace_id())? else { return Ok(Vec::new()) };
    let proved = state.workspace.list(&folder)?;
    let (at_work, committed) = (state.ids(Section::Transactions)?, state.ids(Section::History)?);
    let names = proved.into_iter().filter_map(|name| name.into_string().ok());
    let mut outlived: Vec<String> = names.filter(|id| is_id(id.as_ref()) && !at_work.contains(id)).collect();
    let mut needed = Vec::new();
    for id in outlived.iter().filter(|id| committed.contains(id)) {
        // The ways of the state folder may be better ones by now: what was written before has no number all the same.
        if state.only_overwrites || is_of_unnumbered(&state.workspace, Name::new(&folder, id))? {
            needed.push(id.clone());
        }
    }
    outlived.retain(|id| !needed.contains(id));
    Ok(outlived)
}

/// Returns whether a proof is that of a transaction whose folder has no number that it keeps.
fn is_of_unnumbered(workspace: &Workspace, proof: Name<'_>) -> Result<bool> {
    Ok(read_small(workspace, proof)?.is_some_and(|text| text.starts_with("0 ")))
}

/// Removes proofs that are of no use any more. One that stays does no harm.
pub(crate) fn forget(state: &StateFolder, outlived: &[String]) {
    if outlived.is_empty() {
        return;
    }
    let Ok(Some(folder)) = proofs(&state.workspace, state.workspace_id()) else { return };
    for id in outlived {
        state.workspace.fs().unlink(Name::new(&folder, id)).ok();
    }
}

/// What the proof of a transaction says.
fn text(workspace: &Workspace, header: &Header) -> Vec<u8> {
    let root = workspace.root.path().as_os_str().as_bytes();
    [format!("{} {} ", header.folder.inode, header.boot).as_bytes(), root, b"\n"].concat()
}

/// The folder with the proofs of a workspace, if there is one that is this user's alone.
fn proofs(workspace: &Workspace, workspace_id: &str) -> Result<Option<Handle>> {
    let Some(states) = workspace.user_state() else { return Ok(None) };
    let Ok(real) = workspace.fs().canonical(states) else { return Ok(None) };
    let mut folder = workspace.fs().open_folder(&real).map_err(|e| Error::io("open", &real, e))?;
    for name in FOLDERS.into_iter().chain([workspace_id]) {
        match private::open(workspace, Name::new(&folder, name))? {
            Opening::Ours(inner, _) => folder = inner,
            Opening::Missing | Opening::Refused(_) => return Ok(None),
        }
    }
    Ok(Some(folder))
}

/// Opens the folder at an absolute path, made where it is missing.
fn made(workspace: &Workspace, path: &Path) -> Result<Handle> {
    let is_there = |path: &&Path| workspace.fs().canonical(path).is_ok();
    let there = path.ancestors().find(is_there).unwrap_or(Path::new("/"));
    let real = workspace.fs().canonical(there).map_err(|e| Error::io("resolve", there, e))?;
    let mut folder = workspace.fs().open_folder(&real).map_err(|e| Error::io("open", &real, e))?;
    for name in path.strip_prefix(there).unwrap_or(Path::new("")) {
        make(workspace, Name::new(&folder, name))?;
        folder = workspace.open_beneath(&folder, Path::new(name))?;
    }
    Ok(folder)
}

/// Opens a folder that must be this user's alone, made where it is missing. Whoever made it may have been killed before its
/// name was durable.
fn made_in(workspace: &Workspace, folder: &Handle, name: &str) -> Result<Handle> {
    let name = Name::new(folder, name);
    make(workspace, name)?;
    match private::open(workspace, name)? {
        Opening::Ours(inner, _) => Ok(inner),
        Opening::Missing => Err(Error::io("open", name.path(), errno::Errno::NOENT.into())),
        Opening::Refused(refusal) => Err(private::to_be_mended(&name.path(), refusal)),
    }
}

fn make(workspace: &Workspace, name: Name<'_>) -> Result<()> {
    match workspace.fs().make_folder(name, 0o700) {
        Err(e) if !errno::is_taken(&e) => Err(Error::io("make the folder", name.path(), e)),
        _ => workspace.sync(name.folder),
    }
}

/// The error where no proof can be left.
fn unproved(workspace: &Workspace, states: Option<&Path>, why: &str) -> Error {
    let (root, place) = (workspace.root.path(), states.map(|states| states.join(FOLDERS.iter().collect::<PathBuf>())));
    let place = place.map(|place| format!(" in {}", place.display())).unwrap_or_default();
    let message = format!(
        "the file system of {} can neither exchange two names nor tell when a folder was made, and the proof without which \
         nobody could finish an interrupted commit after a restart cannot be left{place}: {why}",
        root.display()
    );
    Error::new(ErrorKind::UnsupportedFileSystem, message).at(root).with_next([NextStep::UserState])
}
