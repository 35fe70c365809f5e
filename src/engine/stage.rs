//! Staging: new contents in the slots of a transaction's folder, then its journal.

use std::collections::HashMap;
use std::path::PathBuf;

use super::execute::{Draft, Source};
use super::snapshot::{self, Snapshot, read_whole};
use super::state::{Section, State, write_all, write_new};
use super::sweep::Trash;
use super::transaction::Transaction;
use super::{account, id, transaction};
use crate::digest::Digest;
use crate::errno;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{Attributes, Fs, Guard, Handle, Metadata, Name, Rename};
use crate::identity::{Identity, Timestamp};
use crate::journal::recover::is_young;
use crate::journal::{self, Header, Journal, Mark, Owner, Record, record, slot_name};
use crate::limits;
use crate::plan::{Change, Content, Entry, New};

/// How often the folder is made anew where a sweeper was quicker.
const TRIES: usize = 16;

/// A transaction that is being staged: its slots are deleted when this is dropped, until the journal has its name.
#[derive(Debug)]
pub(super) struct Staging<'a> {
    transaction: Transaction<'a>,
    section: Handle,
    born: Timestamp,
    guards: Vec<Guard>,
    /// Staged files and folders, open, as long as there are few enough to be synced one by one.
    files: Vec<Handle>,
    hidden: Option<Handle>,
    report: Option<Handle>,
}

impl<'a> Staging<'a> {
    /// Makes and locks the transaction's folder.
    pub(super) fn begin(fs: &'a dyn Fs, state: &'a State, draft: &Draft, program: &str) -> Result<Self> {
        let section = state.need_section(fs, Section::Transactions)?;
        let (id, folder) = make_folder(fs, &section)?;
        let io = |e| Error::io("look at", folder.path(), e);
        let stat = fs.stat_handle(&folder).map_err(io)?;
        let host = fs.host().map_err(io)?;
        let header = Header {
            id,
            workspace: state.workspace_id().to_owned(),
            folder: stat.identity,
            boot: host.boot,
            owner: Owner { program: program.to_owned(), process: host.process, user: host.user, host: host.name },
            reverts: draft.marks.reverts.clone(),
            opened: draft.marks.opened.clone(),
            key: draft.marks.key.clone(),
            request: draft.marks.request,
            label: draft.marks.label.clone(),
        };
        let entries = Vec::with_capacity(draft.plan.entries.len());
        let journal = Journal { header, entries, back_on_crash: draft.gate.is_some() };
        let parents: HashMap<PathBuf, Handle> =
            draft.parents.iter().map(|(path, (_, handle))| (path.clone(), handle.clone())).collect();
        let born = stat.modified;
        let transaction = Transaction { fs, state, folder, journal, mark: Mark::Sealed, parents };
        Ok(Self { transaction, section, born, guards: Vec::new(), files: Vec::new(), hidden: None, report: None })
    }

    pub(super) fn id(&self) -> &str {
        &self.transaction.journal.header.id
    }

    /// When reading began, by the file system's clock.
    pub(super) fn read_at(&self, draft: &Draft) -> Timestamp {
        snapshot::earlier(self.born, draft.read_at.elapsed())
    }

    pub(super) fn transaction(&self) -> &Transaction<'a> {
        &self.transaction
    }

    pub(super) fn transaction_mut(&mut self) -> &mut Transaction<'a> {
        &mut self.transaction
    }

    pub(super) fn files(&self) -> &[Handle] {
        &self.files
    }

    pub(super) fn report(&self) -> Option<&Handle> {
        self.report.as_ref()
    }

    /// The sections whose names changed.
    pub(super) fn sections(&self, trash: &Trash) -> Vec<Handle> {
        trash.folder().into_iter().chain([&self.section]).cloned().collect()
    }

    /// Fills the slot of the next entry, and remembers what was staged.
    pub(super) fn stage(&mut self, entry: usize, draft: &Draft) -> Result<()> {
        debug_assert_eq!(entry, self.transaction.journal.entries.len(), "entries are staged in order");
        let planned = &draft.plan.entries[entry];
        let original = draft.targets[entry].as_ref().map(|snapshot| snapshot.stat.identity);
        let original = || original.unwrap_or_else(|| unreachable!("what is edited or deleted was read"));
        let named = |error: Error| match planned.asked_by {
            Some(file) => error.in_file(file),
            None => error,
        };
        let change = match &planned.change {
            Change::Folder => journal::Change::Folder { staged: self.stage_folder(entry, planned).map_err(named)? },
            Change::Delete(before) => journal::Change::Delete { before: *before, original: original() },
            Change::Create(new) => {
                let staged = self.stage_file(entry, planned, new, draft).map_err(named)?;
                journal::Change::Create { after: new.state, staged }
            }
            Change::Edit(before, new) => {
                let staged = self.stage_file(entry, planned, new, draft).map_err(named)?;
                journal::Change::Edit { before: *before, after: new.state, staged, original: original() }
            }
        };
        self.transaction.journal.entries.push(Record { path: planned.path.clone(), change });
        Ok(())
    }

    /// An empty folder, locked before it appears: nobody can edit beneath it before the commit is through.
    fn stage_folder(&mut self, entry: usize, planned: &Entry) -> Result<Identity> {
        let fs = self.transaction.fs;
        let slot = slot_name(entry);
        let name = Name::new(&self.transaction.folder, &slot);
        let path = self.transaction.state.root.path().join(planned.path.as_path());
        let io = |verb: &'static str| {
            let path = path.clone();
            move |e| Error::io(verb, &path, e)
        };
        let parent = self.transaction.parents.get(planned.path.parent()).ok_or_else(|| missing_parent(planned))?;
        let dress = fs.inherited(parent, true).map_err(io("ask what would be inherited by"))?;
        fs.make_folder(name, 0o700).map_err(io("stage"))?;
        let folder = fs.open_beneath(&self.transaction.folder, slot.as_ref()).map_err(io("open staged"))?;
        if !fs.try_lock(&folder).map_err(io("lock staged"))? {
            return Err(Error::new(ErrorKind::LockTimeout, "somebody locked a folder that is not there yet").at(path));
        }
        fs.set_flags(&folder, dress.attributes.flags).map_err(io("set the flags of staged"))?;
        fs.set_metadata(&folder, &dress).map_err(io("set owner, mode and attributes of staged"))?;
        let identity = fs.stat_handle(&folder).map_err(io("look at staged"))?.identity;
        self.files.push(folder.clone());
        self.transaction.parents.insert(planned.path.as_path().to_owned(), folder.renamed(path));
        Ok(identity)
    }

    fn stage_file(&mut self, entry: usize, planned: &Entry, new: &New, draft: &Draft) -> Result<Identity> {
        let fs = self.transaction.fs;
        let slot = slot_name(entry);
        let name = Name::new(&self.transaction.folder, &slot);
        let path = self.transaction.state.root.path().join(planned.path.as_path());
        let io = |verb: &'static str| {
            let path = path.clone();
            move |e| Error::io(verb, &path, e)
        };
        let dress = self.dress(planned, new, draft)?;
        let (file, guard) = fs.create(name).map_err(io("stage"))?;
        self.guards.push(guard);
        fs.set_flags(&file, dress.attributes.flags).map_err(io("set the flags of staged"))?;
        match &new.content {
            Content::Bytes(bytes) => write_all(fs, &file, 0, bytes)?,
            Content::Spliced(source, splices) if splices.is_empty() => {
                copy(fs, &file, &draft.sources[source], self.read_at(draft))?;
            }
            Content::Spliced(source, splices) => write_spliced(fs, &file, &draft.sources[source], splices)?,
        }
        fs.set_metadata(&file, &dress).map_err(io("set owner, mode and attributes of staged"))?;
        let stat = fs.stat_handle(&file).map_err(io("look at staged"))?;
        debug_assert_eq!(stat.size, new.state.size, "what was staged is as long as what was planned");
        if draft.plan.entries.len() <= limits::SYNC_EACH_UP_TO {
            self.files.push(file);
        }
        Ok(stat.identity)
    }

    /// What the staged file is dressed in: as its source, or as its folder would dress a new file.
    fn dress(&self, planned: &Entry, new: &New, draft: &Draft) -> Result<Metadata> {
        let Some(source) = new.dressed_as else {
            let parent = self.transaction.parents.get(planned.path.parent()).ok_or_else(|| missing_parent(planned))?;
            let path = planned.path.as_path();
            let mut dress = self.transaction.fs.inherited(parent, false);
            if let Ok(dress) = &mut dress {
                dress.mode = new.state.mode;
            }
            return dress.map_err(|e| Error::io("ask what would be inherited by", path, e));
        };
        let snapshot = &draft.sources[&source].snapshot;
        Ok(Metadata {
            mode: new.state.mode,
            user: snapshot.stat.user,
            group: snapshot.stat.group,
            attributes: Attributes::clone(&snapshot.attributes),
            modified: new.keeps_time.then_some(snapshot.stat.modified),
        })
    }

    /// Writes the whole journal, sealed, under its hidden name.
    pub(super) fn write_journal(&mut self) -> Result<()> {
        let bytes = record::encode(&self.transaction.journal);
        let name = Name::new(&self.transaction.folder, journal::HIDDEN_NAME);
        self.hidden = Some(write_new(self.transaction.fs, name, &bytes)?);
        Ok(())
    }

    pub(super) fn sync_journal(&self) -> Result<()> {
        let Some(hidden) = &self.hidden else { unreachable!("the journal is written before it is synced") };
        self.transaction.fs.sync(hidden).map_err(|e| Error::io("sync", hidden.path(), e))
    }

    /// Gives the journal its name. From here on it says what the slots are for, and the guards stand down.
    pub(super) fn name_journal(&mut self) -> Result<()> {
        let folder = &self.transaction.folder;
        let from = Name::new(folder, journal::HIDDEN_NAME);
        let to = Name::new(folder, Mark::Sealed.file_name());
        let renamed = self.transaction.fs.rename(from, to, Rename::NoReplace);
        renamed.map_err(|e| Error::io("rename", from.path(), e))?;
        self.guards.drain(..).for_each(Guard::disarm);
        Ok(())
    }

    /// Writes what was done, for the log. No decision ever rests on it.
    pub(super) fn write_report(&mut self, text: &str) -> Result<()> {
        let name = Name::new(&self.transaction.folder, account::FILE_NAME);
        self.report = Some(write_new(self.transaction.fs, name, text.as_bytes())?);
        Ok(())
    }

    /// Nothing was swapped: the folder goes to the trash. Where even that fails it stays, and the next command,
    /// finding it without an owner, drops it.
    pub(super) fn forget(&mut self) {
        self.guards.clear();
        drop(self.transaction.move_to(Section::Trash));
    }
}

fn missing_parent(planned: &Entry) -> Error {
    snapshot::changed(planned.path.as_path(), "lost its folder")
}

/// Makes `txn/.<id>`, locks it and only then gives it its name: what has its name has had an owner.
pub(super) fn make_folder(fs: &dyn Fs, section: &Handle) -> Result<(String, Handle)> {
    for _ in 0..TRIES {
        let id = id::fresh();
        let hidden = format!(".{id}");
        let name = Name::new(section, &hidden);
        fs.make_folder(name, 0o700).map_err(|e| Error::io("make", name.path(), e))?;
        let Some((folder, _)) = transaction::lock_folder(fs, section, &hidden)? else { continue };
        match fs.rename(name, Name::new(section, &id), Rename::NoReplace) {
            Ok(()) => {
                let folder = folder.renamed(section.path().join(&id));
                return Ok((id, folder));
            }
            Err(e) if errno::is_missing(&e) => {}
            Err(e) => return Err(Error::io("rename", name.path(), e)),
        }
    }
    Err(Error::new(ErrorKind::WriteFailed, "unfinished folders are swept away quicker than they are made; try again"))
}

/// Copies a source as it is, inside the system, shared where it can.
fn copy(fs: &dyn Fs, to: &Handle, source: &Source, read_at: Timestamp) -> Result<()> {
    let Snapshot { stat, digest, .. } = &source.snapshot;
    let name = Name::new(&source.folder, &source.name);
    let path = name.path();
    let from = fs.open_file(name).map_err(|e| Error::io("open", &path, e))?;
    let mut at = 0;
    while at < stat.size {
        match fs.copy_range(&from, at, to, at, stat.size - at).map_err(|e| Error::io("copy", &path, e))? {
            0 => break,
            copied => at += copied,
        }
    }
    let after = fs.stat_handle(&from).map_err(|e| Error::io("look at", &path, e))?;
    // Where the time proves nothing, the bytes do.
    let same = source.snapshot.is_same(&after, false)
        && (!is_young(source.snapshot.stat.modified, read_at) || snapshot::digest(fs, to, &path)? == *digest);
    if same { Ok(()) } else { Err(snapshot::changed(&path, "changed since it was read")) }
}

/// Writes a source's content with its splices. What was not kept in memory is read again, and must still be what was
/// read before.
fn write_spliced(fs: &dyn Fs, to: &Handle, source: &Source, splices: &crate::text::splice::Splices) -> Result<()> {
    let read_again;
    let bytes = if let Some(bytes) = &source.bytes {
        bytes
    } else {
        read_again = read_once_more(fs, source)?;
        &read_again
    };
    // One write for what fits into one buffer: a file of many small splices is no file of many small writes.
    let mut buffer = Vec::with_capacity(splices.new_len(bytes.len()).min(limits::CHUNK_BYTES));
    let mut offset = 0;
    let mut failed = None;
    splices.for_each_piece(bytes, |mut piece| {
        while !piece.is_empty() && failed.is_none() {
            let room = limits::CHUNK_BYTES - buffer.len();
            let (now, later) = piece.split_at(room.min(piece.len()));
            buffer.extend_from_slice(now);
            piece = later;
            if buffer.len() == limits::CHUNK_BYTES {
                failed = write_all(fs, to, offset, &buffer).err();
                offset += buffer.len() as u64;
                buffer.clear();
            }
        }
    });
    match failed {
        Some(error) => Err(error),
        None => write_all(fs, to, offset, &buffer),
    }
}

fn read_once_more(fs: &dyn Fs, source: &Source) -> Result<Vec<u8>> {
    let name = Name::new(&source.folder, &source.name);
    let path = name.path();
    let file = fs.open_file(name).map_err(|e| Error::io("open", &path, e))?;
    let bytes = read_whole(fs, &file, &path, source.snapshot.stat.size)?;
    if Digest::of(&bytes) != source.snapshot.digest {
        return Err(snapshot::changed(&path, "changed since it was read"));
    }
    Ok(bytes)
}
