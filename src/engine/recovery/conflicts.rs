//! Finds interrupted transactions that touch the paths of a request, in the state folders of the workspace and of the
//! folders above and beneath it.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use crate::engine::recovery;
use crate::engine::store::interrupted::{self, JournalStatus, TouchedPaths};
use crate::engine::store::lookup;
use crate::engine::store::state::{Section, StateFolder, StateLookup, list_ids, open_transaction};
use crate::engine::store::workspace::Workspace;
use crate::errno::{self, Errno};
use crate::error::{Error, Result};
use crate::fs::Handle;
use crate::journal::{Journal, is_id};
use crate::path::{RelPath, STATE_FOLDER, shown};

/// An interrupted transaction that touches the paths of a request.
#[derive(Debug)]
pub(crate) struct Touching {
    pub state: StateFolder,
    pub id: String,
}

/// Finds an interrupted transaction that touches `paths`: in the state folder of the workspace, which is verified
/// again, and in those of the folders above its root and beneath it. State folders that cannot be trusted are named in
/// `warnings`.
pub(crate) fn find(
    workspace: &Workspace,
    own: &mut StateLookup,
    paths: &[RelPath],
    warnings: &mut Vec<String>,
) -> Result<Option<Touching>> {
    for folder in others(workspace, paths)? {
        let other = workspace.at(folder);
        if let Some(touching) = find_in_all(workspace, &other, &lookup::all(&other)?, paths, warnings)? {
            return Ok(Some(touching));
        }
    }
    // A transaction may have begun there and been interrupted since the state folder was found.
    own.verify(workspace)?;
    let unused = lookup::others(workspace, own)?;
    match find_in_all(workspace, workspace, &unused, paths, warnings)? {
        None => find_in(workspace, workspace, own, paths, warnings),
        touching => Ok(touching),
    }
}

/// Finds one in several state folders of one workspace.
fn find_in_all(
    workspace: &Workspace,
    other: &Workspace,
    all: &[StateLookup],
    paths: &[RelPath],
    warnings: &mut Vec<String>,
) -> Result<Option<Touching>> {
    for found in all {
        let touching = find_in(workspace, other, found, paths, warnings)?;
        if touching.is_some() {
            return Ok(touching);
        }
    }
    Ok(None)
}

/// Finds one in a state folder of one workspace.
fn find_in(
    workspace: &Workspace,
    other: &Workspace,
    found: &StateLookup,
    paths: &[RelPath],
    warnings: &mut Vec<String>,
) -> Result<Option<Touching>> {
    let state = match found {
        StateLookup::State(state) => state,
        StateLookup::Nothing => return Ok(None),
        StateLookup::Ignored(path, why) => {
            let name = named(&workspace.root, &other.root, path);
            recovery::tell_once(warnings, format!("{name} {why}: interrupted transactions in it are not looked at"));
            return Ok(None);
        }
    };
    if state.has_certainly_no_folder(Section::Transactions)? {
        return Ok(None);
    }
    let Some(section) = state.section(Section::Transactions)? else { return Ok(None) };
    for id in list_ids(workspace, &section)? {
        // Read without its lock first: a process that only examines it holds the lock too. We hold the locks of its
        // targets, so a busy lock never means that its owner is alive.
        let theirs = peek(state, &section, &id)?;
        let touches = |theirs: &RelPath| {
            let theirs = other.path_of(theirs.as_path());
            paths.iter().any(|ours| (workspace.protocol.touches)(&workspace.path_of(ours.as_path()), &theirs))
        };
        let is_in_the_way = match &theirs {
            TouchedPaths::None => false,
            TouchedPaths::All(journal) => journal.entries.iter().any(|record| touches(&record.path)),
            TouchedPaths::Some(paths) => paths.iter().any(touches),
        };
        if !is_in_the_way {
            continue;
        }
        match interrupted::examine(state, &id, &|_| false)?.0 {
            JournalStatus::Hot(..) | JournalStatus::Running | JournalStatus::Damaged(_) => {
                return Ok(Some(Touching { state: state.clone(), id }));
            }
            JournalStatus::Refused(_) | JournalStatus::Unfinished | JournalStatus::Untrusted(..) => {}
        }
    }
    Ok(None)
}

/// The journal of a running transaction, and the root of its workspace.
pub(crate) fn journal_of(
    workspace: &Workspace,
    own: &StateLookup,
    paths: &[RelPath],
    id: &str,
) -> Result<Option<(PathBuf, Journal)>> {
    if !is_id(id.as_ref()) {
        return Ok(None);
    }
    let in_one = |found: &StateLookup| -> Result<Option<Journal>> {
        let StateLookup::State(state) = found else { return Ok(None) };
        let Some(section) = state.section(Section::Transactions)? else { return Ok(None) };
        match peek(state, &section, id)? {
            TouchedPaths::All(journal) => Ok(Some(*journal)),
            TouchedPaths::None | TouchedPaths::Some(_) => Ok(None),
        }
    };
    if let Some(journal) = in_one(own)? {
        return Ok(Some((workspace.root.path().to_owned(), journal)));
    }
    for found in lookup::others(workspace, own)? {
        if let Some(journal) = in_one(&found)? {
            return Ok(Some((workspace.root.path().to_owned(), journal)));
        }
    }
    for folder in others(workspace, paths)? {
        for found in lookup::all(&workspace.at(folder.clone()))? {
            if let Some(journal) = in_one(&found)? {
                return Ok(Some((folder.path().to_owned(), journal)));
            }
        }
    }
    Ok(None)
}

/// The state folder in a folder, for messages. One above the root is named by its distance: a caller that may see the
/// root need not learn where the root is.
fn named(root: &Handle, folder: &Handle, state: &Path) -> String {
    let name = state.strip_prefix(folder.path()).map_or_else(|_| "state folder".to_owned(), shown);
    match root.path().strip_prefix(folder.path()).map_or(0, |down| down.components().count()) {
        0 => state.display().to_string(),
        1 => format!("the {name} in the folder above the root"),
        levels => format!("the {name} {levels} folders above the root"),
    }
}

/// What a transaction touches, if it was born there: no other can be in the way.
fn peek(state: &StateFolder, section: &Handle, id: &str) -> Result<TouchedPaths> {
    let Some(folder) = open_transaction(&state.workspace, section, id)? else { return Ok(TouchedPaths::None) };
    match interrupted::touched_paths(&state.workspace, &folder, id) {
        // Its owner, or a process that recovers it, has just moved it.
        Err(e) if e.os_error().is_some_and(errno::is_missing) => Ok(TouchedPaths::None),
        other => other,
    }
}

/// All other folders that have a state folder, or a git folder: the root's ancestors, and the folders between the root and the
/// paths.
fn others(workspace: &Workspace, paths: &[RelPath]) -> Result<Vec<Handle>> {
    let root = &workspace.root;
    let mut found = Vec::new();
    for levels in 1..root.path().ancestors().count() {
        // From the root's handle: its path may lead elsewhere by now.
        let has = |name: &str| is_there(&workspace.fs().open_above(root, levels, Path::new(name)));
        if !MARKS.into_iter().any(has) {
            continue;
        }
        let above = workspace.fs().open_above(root, levels, Path::new(""));
        // On other mounts as well: a transaction may be about several file systems.
        found.push(above.map_err(|e| Error::io("open a folder above", root.path(), e))?);
    }
    for folder in folders_between(paths).into_iter().filter(|folder| !folder.as_os_str().is_empty()) {
        for mark in MARKS {
            match workspace.fs().open_beneath(root, &folder.join(mark)) {
                // What is no folder may be a path to one of git's.
                there if is_there(&there) => {
                    found.extend(workspace.find_folder(root, folder)?);
                    break;
                }
                Ok(_) => {}
                Err(e) if matches!(errno::of(&e), Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS)) => {
                }
                Err(e) => return Err(Error::io("open", workspace.path_of(folder), e)),
            }
        }
    }
    Ok(found)
}

/// The names of which a folder that may have a state folder has one.
const MARKS: [&str; 2] = [STATE_FOLDER, ".git"];

/// Returns whether there is a folder, or a file in its place.
fn is_there(opened: &io::Result<Handle>) -> bool {
    match opened {
        Ok(_) => true,
        Err(e) => errno::of(e) == Some(Errno::NOTDIR),
    }
}

/// The root, as an empty path, and each folder between it and the paths.
fn folders_between(paths: &[RelPath]) -> BTreeSet<&Path> {
    let mut between = BTreeSet::new();
    let mut last = None;
    for path in paths {
        // Most paths are in the same folder as the one before.
        if last.replace(path.parent().as_os_str()) == Some(path.parent().as_os_str()) {
            continue;
        }
        for folder in path.parent().ancestors() {
            if !between.insert(folder) {
                // The folders above it are known as well.
                break;
            }
        }
    }
    between
}
