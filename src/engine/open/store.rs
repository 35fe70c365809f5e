//! The folder of an open transaction: `open/<id>/` with `transaction.json` and the contents that were staged on.

use std::path::PathBuf;

use jiff::Timestamp;

use super::stored::{Stored, StoredFolder, StoredRest, VERSION};
use crate::digest::Digest;
use crate::engine::Engine;
use crate::engine::store::files::{Fresh, read_file, replace, write_new};
use crate::engine::store::folder::owner;
use crate::engine::store::lock::Patience;
use crate::engine::store::state::{Section, StateFolder, list_ids, open_transaction};
use crate::engine::store::workspace::Workspace;
use crate::engine::store::{barrier, id};
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{Handle, Name};
use crate::journal::is_id;
use crate::limits;

const FILE_NAME: &str = "transaction.json";

/// The seconds from its last change until an open transaction expires.
const LIFETIME: i64 = limits::OPEN_LIFETIME.as_secs().cast_signed();

/// An open transaction whose folder is locked by this process.
#[derive(Debug)]
pub(super) struct OpenedFolder {
    pub id: String,
    pub folder: Handle,
    pub stored: Stored,
}

/// Makes an empty open transaction.
pub(super) fn create(engine: &Engine, state: &StateFolder, owner: String) -> Result<OpenedFolder> {
    let section = state.need_section(Section::Open)?;
    let (id, folder, _) =
        owner::make_folder(&engine.workspace, &section, &|| Ok(id::after(engine.workspace.now(), None)))?;
    let stat = engine.workspace.stat_handle(&folder)?;
    let stored = Stored {
        open: VERSION,
        folder: StoredFolder::of(&stat.identity),
        owner,
        expires: 0,
        label: None,
        files: Vec::new(),
        rest: None,
        rest_of: None,
    };
    Ok(OpenedFolder { id, folder, stored })
}

/// Opens a transaction, as soon as no other process works on it.
pub(super) fn open(state: &StateFolder, id: &str, patience: Patience<'_>) -> Result<OpenedFolder> {
    let section = if is_id(id.as_ref()) { state.section(Section::Open)? } else { None };
    let Some(section) = section else { return Err(unknown(&state.workspace, id)) };
    loop {
        let Some((folder, _)) = owner::lock_folder(&state.workspace, &section, id)? else {
            if open_transaction(&state.workspace, &section, id)?.is_none() {
                return Err(unknown(&state.workspace, id));
            }
            patience.pause(&section.path().join(id))?;
            continue;
        };
        let stored = read(&state.workspace, &folder, id)?.ok_or_else(|| unknown(&state.workspace, id))?;
        if is_expired(&state.workspace, &stored) {
            return Err(lapsed(id));
        }
        return Ok(OpenedFolder { id: id.to_owned(), folder, stored });
    }
}

/// All open transactions that can be read, without a lock.
pub(super) fn list(state: &StateFolder) -> Result<Vec<(String, Stored)>> {
    let Some(section) = state.section(Section::Open)? else { return Ok(Vec::new()) };
    let mut list = Vec::new();
    for id in list_ids(&state.workspace, &section)? {
        let Some(folder) = open_transaction(&state.workspace, &section, &id)? else { continue };
        if let Some(stored) = read(&state.workspace, &folder, &id)? {
            list.push((id, stored));
        }
    }
    Ok(list)
}

/// The folders of open transactions that cannot be read as such: what they store is damaged, or was not written there.
pub(super) fn unreadable(state: &StateFolder) -> Result<Vec<PathBuf>> {
    let Some(section) = state.section(Section::Open)? else { return Ok(Vec::new()) };
    let mut unreadable = Vec::new();
    for id in list_ids(&state.workspace, &section)? {
        let Some(folder) = open_transaction(&state.workspace, &section, &id)? else { continue };
        // One that stores nothing yet is being staged, and is swept if that ended early. It may be stored, or go, in between: so
        // this is looked at twice.
        let stores = || state.workspace.stat(Name::new(&folder, FILE_NAME));
        let is_unreadable = || Ok::<_, Error>(read(&state.workspace, &folder, &id)?.is_none() && stores()?.is_some());
        if is_unreadable()? && is_unreadable()? {
            unreadable.push(section.path().join(id));
        }
    }
    Ok(unreadable)
}

/// The inode and the time of what is stored of each open transaction: each save makes another file.
#[cfg(feature = "web")]
pub(super) fn saves(state: &StateFolder) -> Result<Vec<String>> {
    let Some(section) = state.section(Section::Open)? else { return Ok(Vec::new()) };
    let mut saves = Vec::new();
    for id in list_ids(&state.workspace, &section)? {
        let Some(folder) = open_transaction(&state.workspace, &section, &id)? else { continue };
        let stat = state.workspace.stat(Name::new(&folder, FILE_NAME))?;
        saves.extend(stat.map(|stat| format!("{:?} {:?}", stat.identity, stat.modified)));
    }
    Ok(saves)
}

/// The open transactions that have expired, and what stages have left that ended before they stored anything, once it is
/// as old.
pub(super) fn expired(state: &StateFolder) -> Result<Vec<String>> {
    if state.has_certainly_no_folder(Section::Open)? {
        return Ok(Vec::new());
    }
    let Some(section) = state.section(Section::Open)? else { return Ok(Vec::new()) };
    let workspace = &state.workspace;
    let mut expired = Vec::new();
    let now = id::instant(workspace.now());
    let oldest = now.checked_sub(jiff::SignedDuration::from_secs(LIFETIME)).unwrap_or(Timestamp::MIN);
    // A commit may come here, too: of those that were opened within a lifetime, and so have not expired, only the names are looked
    // at. One that was opened in the future, before the clock was set back, may have expired.
    let [oldest, newest] = [oldest, now].map(id::time_part);
    for id in list_ids(workspace, &section)? {
        if (oldest.as_str()..newest.as_str()).contains(&id.as_str()) {
            continue;
        }
        let Some(folder) = open_transaction(workspace, &section, &id)? else { continue };
        let is_over = match read(workspace, &folder, &id)? {
            Some(stored) => is_expired(workspace, &stored),
            // One with a file that cannot be read is left alone; so is one that somebody is working on.
            None if has_lapsed(workspace, &id) => {
                workspace.stat(Name::new(&folder, FILE_NAME))?.is_none() && workspace.try_lock(&folder)?
            }
            None => false,
        };
        if is_over {
            expired.push(id);
        }
    }
    Ok(expired)
}

/// Returns whether an open transaction with this id, to which nothing was added, would have expired.
fn has_lapsed(workspace: &Workspace, id: &str) -> bool {
    let opened = id::instant_of(id).filter(|_| is_id(id.as_ref()));
    opened.is_some_and(|opened| opened.as_second() + LIFETIME < id::instant(workspace.now()).as_second())
}

/// The open transaction in a folder; `None` if it cannot be used: it is not ours, or was not made in this folder.
fn read(workspace: &Workspace, folder: &Handle, id: &str) -> Result<Option<Stored>> {
    let stat = workspace.stat_handle(folder)?;
    // Its first bytes tell that it was written here, before the rest is read.
    let beginning = Stored::start(&StoredFolder::of(&stat.identity));
    let Some(bytes) = read_file(workspace, Name::new(folder, FILE_NAME), &beginning, limits::OPEN_BYTES)? else {
        return Ok(None);
    };
    let stored = serde_json::from_slice(&bytes).ok();
    Ok(stored.map(|stored: Stored| stored.in_folder(id)))
}

impl OpenedFolder {
    /// Stores the transaction, durably: a staged edit that was acknowledged must be there. It expires some time after
    /// its last change.
    pub(super) fn save(&mut self, state: &StateFolder) -> Result<()> {
        self.stored.expires = id::instant(state.workspace.now()).as_second().saturating_add(LIFETIME);
        let text = serde_json::to_vec(&self.stored).expect("strings and numbers are JSON");
        if text.len() as u64 > limits::OPEN_BYTES {
            let message = format!("all that is staged takes {} bytes, more than {}", text.len(), limits::OPEN_BYTES);
            return Err(Error::new(ErrorKind::FileTooLarge, message).of_transaction(&self.id));
        }
        let fresh = Fresh::write(&state.workspace, &self.folder, FILE_NAME, &text)?;
        // What it names must be durable before it, and it must be whole before it gets its name.
        let durable = barrier::pass(state, &self.folder, |each| {
            each.with_content(&self.folder)?;
            each.sections(state)
        });
        match durable {
            Ok(()) => fresh.put_in_place(&state.workspace),
            Err(error) => {
                fresh.discard(&state.workspace);
                Err(error)
            }
        }
    }

    /// Becomes what was not committed of it, by one rename; returns its name.
    pub(super) fn become_rest(self, state: &StateFolder, rest: StoredRest) -> Result<String> {
        let section = state.need_section(Section::Open)?;
        if !is_id(rest.id.as_ref()) {
            return Err(Error::new(ErrorKind::UnknownError, format!("{} is no id", rest.id)));
        }
        let (name, goal) = (Name::new(&section, &self.id), Name::new(&section, &rest.id));
        state.workspace.move_own(name, goal).map_err(|e| Error::io("rename", name.path(), e))?;
        barrier::pass(state, &section, |each| each.handle(&section))?;
        Ok(rest.id)
    }

    /// Keeps the content that something was staged on.
    pub(super) fn keep(&self, workspace: &Workspace, content: &[u8], digest: Digest) -> Result<()> {
        let name = base_name(digest);
        match write_new(workspace, Name::new(&self.folder, &name), content) {
            // A process that was killed, or lost its power, may have left a part of it.
            Err(e) if e.kind() == ErrorKind::FileExists && self.base(workspace, digest)?.is_some() => Ok(()),
            Err(e) if e.kind() == ErrorKind::FileExists => replace(workspace, &self.folder, &name, content),
            other => other.map(drop),
        }
    }

    /// A kept content; `None` if it is gone, or is another one.
    pub(super) fn base(&self, workspace: &Workspace, digest: Digest) -> Result<Option<Vec<u8>>> {
        let name = base_name(digest);
        let content = read_file(workspace, Name::new(&self.folder, &name), b"", limits::EDITED_FILE_BYTES)?;
        Ok(content.filter(|content| Digest::of(content) == digest))
    }

    /// The time at which it expires.
    pub(super) fn expires(&self) -> String {
        time(self.stored.expires)
    }
}

fn base_name(digest: Digest) -> String {
    format!("base-{}", digest.to_hex())
}

/// Seconds since 1970 as RFC 3339.
pub(super) fn time(seconds: i64) -> String {
    Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

pub(super) fn is_expired(workspace: &Workspace, stored: &Stored) -> bool {
    stored.expires < id::instant(workspace.now()).as_second()
}

fn lapsed(id: &str) -> Error {
    let hours = limits::OPEN_LIFETIME.as_secs() / 3600;
    let message = format!("the open transaction {id} lapsed: nothing was staged in it for {hours} hours");
    Error::new(ErrorKind::TransactionExpired, message).of_transaction(id)
}

/// The error for an unknown id. The id tells when the transaction was opened: it may have expired and been swept.
fn unknown(workspace: &Workspace, id: &str) -> Error {
    if !has_lapsed(workspace, id) {
        let message = format!("there is no open transaction {id} here");
        return Error::new(ErrorKind::UnknownTransaction, message);
    }
    let hours = limits::OPEN_LIFETIME.as_secs() / 3600;
    let message = format!(
        "there is no open transaction {id} here: if there was one, it lapsed {hours} hours after its last stage"
    );
    Error::new(ErrorKind::TransactionExpired, message).of_transaction(id)
}
