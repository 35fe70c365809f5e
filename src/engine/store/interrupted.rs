//! Interrupted transactions: the folders in `txn/`, and whether they may be recovered.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;

use super::births;
use super::files::Reading;
use super::folder::owner;
use super::lock::{Patience, Pauses};
use super::private::{self, Opening, Refusal};
use super::state::{Section, StateFolder, open_transaction};
use super::sweep;
use super::workspace::Workspace;
use crate::errno::{self, Errno};
use crate::error::{Error, NextStep, Result};
use crate::fs::{FileSystem, Handle, Host, Name};
use crate::identity::Identity;
use crate::journal::{self, Beginning, Corrupt, Extract, Header, Journal, JournalState, UnreadableJournal};
use crate::limits;
use crate::path::RelPath;

/// Attempts at a lock that a process which only examines may hold: 50 to 100 milliseconds.
const EXAMINED: usize = 8;

/// The status of a folder in `txn/`, by its journal.
#[derive(Debug)]
pub(crate) enum JournalStatus {
    /// It is gone, or its owner is alive.
    Running,
    /// It is not this user's alone, or cannot be opened.
    Refused(Refusal),
    /// It has no journal: nothing of it was ever swapped.
    Unfinished,
    /// Its journal does not verify.
    Damaged(String),
    /// Its journal verifies, but is used only if a person says so.
    Untrusted(Beginning, Untrusted),
    /// Its owner is dead, and it can be recovered.
    Hot(Journal, JournalState),
}

/// The reason why a journal that verifies is not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Untrusted {
    /// Its folder is not the one that the journal was written in.
    Copied,
    /// The state folder that it is in was made for another workspace.
    Moved,
    /// A process under another kernel may still be working on it.
    OtherHost,
}

impl Untrusted {
    /// The reason, as a clause.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Copied => "its journal was not written in this folder (a copy, clone or restored backup)",
            Self::Moved => "its state folder was made for another folder, and was moved here",
            Self::OtherHost => "it was begun under another kernel, on a file system that several can write to",
        }
    }

    /// The step by which a person can have it recovered nevertheless.
    #[must_use]
    pub fn next_step(self, id: &str) -> NextStep {
        let id = id.to_owned();
        match self {
            Self::Copied | Self::Moved => NextStep::TrustJournal { id },
            Self::OtherHost => NextStep::OtherHost { id },
        }
    }
}

/// The process that is working on a transaction, where it can be named.
pub(crate) fn holder(state: &StateFolder, id: &str) -> Result<Option<String>> {
    let folder = match state.section(Section::Transactions)? {
        Some(section) => open_transaction(&state.workspace, &section, id)?,
        None => None,
    };
    Ok(folder.and_then(|folder| state.workspace.lock_holder(&folder)))
}

/// Opens, locks and reads the folder of a transaction; the returned handle holds the lock. `dismissed` is true for the
/// reasons against its journal that a person has dismissed.
pub(crate) fn examine(
    state: &StateFolder,
    id: &str,
    dismissed: &dyn Fn(Untrusted) -> bool,
) -> Result<(JournalStatus, Option<Handle>)> {
    // One that cannot be opened is not empty: what is in it must not count as being worked on.
    let Some(section) = state.whole_section(Section::Transactions)? else { return Ok((JournalStatus::Running, None)) };
    let opened = match private::open(&state.workspace, Name::new(&section, id))? {
        Opening::Ours(folder, stat) => (folder, stat),
        Opening::Missing => return Ok((JournalStatus::Running, None)),
        Opening::Refused(refusal) => return Ok((JournalStatus::Refused(refusal), None)),
    };
    let Some((folder, stat)) = owner::lock(&state.workspace, &section, id, opened)? else {
        return Ok((JournalStatus::Running, None));
    };
    let (host, system) = (state.workspace.host()?, state.workspace.file_system(&folder)?);
    let is_own = state.own_journals()?;
    let mut reason = None;
    let wanted = |header: &Header| {
        let born_here = is_born_here(&state.workspace, header, id, &stat.identity, &host.boot);
        let moved = (!is_own(&header.workspace)).then_some(Untrusted::Moved);
        reason = untrusted(born_here, header, &host, &system).or(moved).filter(|reason| !dismissed(*reason));
        reason.is_none()
    };
    let found =
        read_of_journal(&state.workspace, &folder, |bytes| journal::read_if(bytes, wanted, limits::FOREIGN_FILES))?;
    let status = match found {
        None if sweep::holds_originals(&state.workspace, &folder, &stat)? => {
            JournalStatus::Damaged(without_journal(&state.workspace, &folder)?)
        }
        None => JournalStatus::Unfinished,
        Some(Err(problem)) => JournalStatus::Damaged(problem.to_string()),
        Some(Ok((Extract::Whole(journal), journal_state))) => JournalStatus::Hot(journal, journal_state),
        Some(Ok((Extract::Beginning(beginning), _))) => {
            JournalStatus::Untrusted(beginning, reason.unwrap_or_else(|| unreachable!("else all of it was wanted")))
        }
    };
    Ok((status, Some(folder)))
}

/// Says of a folder with old contents that no journal tells about them.
fn without_journal(workspace: &Workspace, folder: &Handle) -> Result<String> {
    let names = workspace.list(folder)?;
    let why = if journals(&names).is_empty() { "is gone" } else { "is torn" };
    Ok(format!("its journal {why}, and files may be new: its folder has old contents, in slots by number"))
}

/// As [`examine`], for what a person has decided: a process that only examines the transaction, as `status` does, holds
/// its lock for a moment, and is waited for, if locks are waited for at all.
pub(crate) fn examine_to_recover(
    state: &StateFolder,
    id: &str,
    dismissed: &dyn Fn(Untrusted) -> bool,
    patience: Patience<'_>,
) -> Result<(JournalStatus, Option<Handle>)> {
    let mut pauses = Pauses::new();
    for _ in 0..EXAMINED {
        let (status, folder) = examine(state, id, dismissed)?;
        let left = patience.left();
        if !matches!(status, JournalStatus::Running) || left.is_zero() {
            return Ok((status, folder));
        }
        pauses.sleep(left);
    }
    examine(state, id, dismissed)
}

/// The reason why a journal is not used: it was not written here, or a process of another machine may own it.
fn untrusted(born_here: bool, header: &Header, host: &Host, system: &FileSystem) -> Option<Untrusted> {
    if !born_here {
        return Some(Untrusted::Copied);
    }
    (!system.local && header.boot != host.boot).then_some(Untrusted::OtherHost)
}

/// The journal in a folder, if it verifies and its header is `wanted`; else no more than the header is read.
pub(crate) fn read_wanted(
    workspace: &Workspace,
    folder: &Handle,
    wanted: impl FnOnce(&Header) -> bool,
) -> Result<Option<(Journal, JournalState)>> {
    Ok(match read_of_journal(workspace, folder, |bytes| journal::read_if(bytes, wanted, 0))? {
        Some(Ok((Extract::Whole(journal), journal_state))) => Some((journal, journal_state)),
        _ => None,
    })
}

/// The journal in the folder of a transaction, where it verifies and was born there.
pub(crate) fn read_born_here(workspace: &Workspace, folder: &Handle, id: &str) -> Result<Option<Journal>> {
    let (stat, host) = (workspace.stat_handle(folder)?, workspace.host()?);
    let wanted = |header: &Header| is_born_here(workspace, header, id, &stat.identity, &host.boot);
    Ok(read_wanted(workspace, folder, wanted)?.map(|(journal, _)| journal))
}

/// Returns whether a journal was written in the folder where it is: as its header tells, or as a proof outside the workspace
/// does.
fn is_born_here(workspace: &Workspace, header: &Header, id: &str, folder: &Identity, boot: &str) -> bool {
    // What cannot be read is no proof.
    (workspace.protocol.is_born_here)(header, id, folder, boot)
        || births::is_proved(workspace, header, id, folder).unwrap_or(false)
}

/// What a journal in the folder of a transaction says of the paths that it touches.
pub(crate) enum TouchedPaths {
    /// It touches none: it has no journal, or one that was not born there.
    None,
    /// All of them.
    All(Box<Journal>),
    /// It does not verify. These are those that can still be read.
    Some(Vec<RelPath>),
}

/// The paths that a transaction touches, if it was born there as far as its journal tells.
pub(crate) fn touched_paths(workspace: &Workspace, folder: &Handle, id: &str) -> Result<TouchedPaths> {
    let (stat, host) = (workspace.stat_handle(folder)?, workspace.host()?);
    let is_it = |header: &Header| is_born_here(workspace, header, id, &stat.identity, &host.boot);
    // Of a journal that was written elsewhere no more than the header is read, however long it is.
    match read_of_journal(workspace, folder, |bytes| journal::read_if(bytes, is_it, 0))? {
        None | Some(Ok((Extract::Beginning(_), _))) => return Ok(TouchedPaths::None),
        Some(Ok((Extract::Whole(journal), _))) => return Ok(TouchedPaths::All(Box::new(journal))),
        Some(Err(_)) => {}
    }
    let most = match read_of_journal(workspace, folder, |bytes| journal::header(bytes))? {
        Some(Ok((header, _))) if !is_it(&header) => return Ok(TouchedPaths::None),
        Some(Ok(_)) => limits::ENTRIES,
        None | Some(Err(_)) => limits::UNKNOWN_ENTRIES,
    };
    Ok(TouchedPaths::Some(remaining_paths(workspace, folder, most)?))
}

/// The paths that a damaged transaction still names, for those who are told of it.
pub(crate) fn named_by_damaged(state: &StateFolder, id: &str) -> Result<Vec<RelPath>> {
    let Some(section) = state.section(Section::Transactions)? else { return Ok(Vec::new()) };
    match open_transaction(&state.workspace, &section, id)? {
        Some(folder) => remaining_paths(&state.workspace, &folder, limits::UNKNOWN_ENTRIES),
        None => Ok(Vec::new()),
    }
}

/// The paths that can still be read of a journal that does not verify, among its first `most` entries.
fn remaining_paths(workspace: &Workspace, folder: &Handle, most: usize) -> Result<Vec<RelPath>> {
    let remains = read_of_journal(workspace, folder, |bytes| Ok(journal::remains(bytes, most)?))?;
    Ok(remains.and_then(Result::ok).map(|(paths, _)| paths).unwrap_or_default())
}

/// The reason why a journal cannot be used.
#[derive(Debug)]
pub(crate) enum JournalProblem {
    /// Its bytes are not a valid journal.
    Corrupt(Corrupt),
    /// Any other, as a clause.
    Other(String),
}

impl<T: Into<String>> From<T> for JournalProblem {
    fn from(why: T) -> Self {
        Self::Other(why.into())
    }
}

impl fmt::Display for JournalProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Corrupt(corrupt) => write!(f, "its journal does not verify: {corrupt}"),
            Self::Other(why) => f.write_str(why),
        }
    }
}

/// The journals among the names in a folder. A power loss that takes one rename of a journal and not the next one leaves
/// `journal.new` beside its later name: then it counts for nothing.
pub(crate) fn journals(names: &[OsString]) -> Vec<&OsStr> {
    let is_journal = |name: &&OsStr| name.as_bytes().starts_with(JournalState::Sealed.file_name().as_bytes());
    let mut found: Vec<&OsStr> = names.iter().map(OsString::as_os_str).filter(is_journal).collect();
    if found.len() == 2 {
        found.retain(|name| *name != JournalState::New.file_name());
    }
    found
}

/// The journal of a folder: none, the result of `read`, or the reason why it cannot be used. One that was never durable is
/// none.
pub(crate) fn read_of_journal<T>(
    workspace: &Workspace,
    folder: &Handle,
    read: impl FnOnce(&mut dyn BufRead) -> Result<T, UnreadableJournal>,
) -> Result<Option<Result<(T, JournalState), JournalProblem>>> {
    let names = workspace.list(folder)?;
    let name = match journals(&names)[..] {
        [] => return Ok(None),
        [name] => name,
        _ => return Ok(Some(Err("it has more than one journal".into()))),
    };
    let Some(journal_state) = JournalState::ALL.into_iter().find(|state| name == state.file_name()) else {
        return Ok(Some(Err(format!("this program does not know the state {}", name.to_string_lossy()).into())));
    };
    Ok(match read_named(workspace, Name::new(folder, name), read)? {
        Ok(read) => Some(Ok((read, journal_state))),
        Err(JournalProblem::Corrupt(corrupt)) if (workspace.protocol.is_no_journal)(journal_state, &corrupt) => None,
        Err(problem) => Some(Err(problem)),
    })
}

/// Returns whether there is a journal in the folder of a transaction that this process has locked.
pub(crate) fn has_journal(workspace: &Workspace, folder: &Handle, id: &str) -> Result<bool> {
    let names = workspace.list(folder)?;
    match journals(&names)[..] {
        [] => Ok(false),
        [name] if name == JournalState::New.file_name() => {
            let (stat, host) = (workspace.stat_handle(folder)?, workspace.host()?);
            // One that was written elsewhere, however long it is, is one at its header.
            let is_it = |header: &Header| is_born_here(workspace, header, id, &stat.identity, &host.boot);
            Ok(read_of_journal(workspace, folder, |bytes| journal::read_if(bytes, is_it, 0))?.is_some())
        }
        _ => Ok(true),
    }
}

/// The result of `read` on the journal of that name, or the reason why it cannot be used.
pub(crate) fn read_named<T>(
    workspace: &Workspace,
    name: Name<'_>,
    read: impl FnOnce(&mut dyn BufRead) -> Result<T, UnreadableJournal>,
) -> Result<Result<T, JournalProblem>> {
    let path = name.path();
    let file = match workspace.fs().open_file(name) {
        Ok(file) => file,
        Err(e) if errno::of(&e) == Some(Errno::LOOP) => return Ok(Err("its journal is a symlink".into())),
        Err(e) if matches!(errno::of(&e), Some(Errno::ACCESS | Errno::PERM | Errno::NXIO)) => {
            return Ok(Err(format!("its journal cannot be opened: {e}").into()));
        }
        Err(e) => return Err(Error::io("open", &path, e)),
    };
    let stat = workspace.stat_handle(&file)?;
    if stat.kind != crate::fs::FileKind::File || stat.size > limits::JOURNAL_BYTES {
        return Ok(Err("its journal is not a regular file of a bounded size".into()));
    }
    let mut reading = Reading::new(workspace, &file);
    let room = usize::try_from(stat.size).unwrap_or(usize::MAX).min(limits::CHUNK_BYTES);
    match read(&mut BufReader::with_capacity(room, (&mut reading).take(stat.size))) {
        Ok(read) => Ok(Ok(read)),
        Err(UnreadableJournal::Corrupt(corrupt)) => Ok(Err(JournalProblem::Corrupt(corrupt))),
        Err(UnreadableJournal::Io(e)) => Err(reading.failure(e)),
    }
}
