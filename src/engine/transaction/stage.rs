//! Stages new contents in the slots of a transaction's folder, then its journal.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::Builder;

use super::prepare::prepared::{Prepared, Source};
use super::prepare::project;
use crate::engine::history::id_order;
use crate::engine::history::trash::Trash;
use crate::engine::store::files::write_all;
use crate::engine::store::folder;
use crate::engine::store::folder::TransactionFolder;
use crate::engine::store::snapshot;
use crate::engine::store::state::{Section, State};
use crate::engine::store::workspace::Workspace;
use crate::errno;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{Attributes, Guard, Handle, Metadata, Name, Rename, Stat};
use crate::identity::{Identity, Timestamp};
use crate::journal::{self, Header, Journal, Mark, Owner, Record, original_name, slot_name};
use crate::limits;
use crate::plan::{Access, Change, Content, Entry, FileState, New};
use crate::text::splice::Splices;

mod content;
mod texts;

use content::Filling;

/// How often the folder is made anew where a sweeper was quicker.
const TRIES: usize = 16;

/// Files that are staged together by two threads.
const TOGETHER: usize = 128;

/// A staged file, deleted when this is dropped.
#[derive(Debug)]
struct Staged {
    /// Where it is to be synced by itself.
    file: Option<Handle>,
    guard: Guard,
    identity: Identity,
    access: Access,
    handed_on: Attributes,
}

/// A transaction that is being staged: its slots are deleted when this is dropped, until the journal has its name.
#[derive(Debug)]
pub(crate) struct Staging<'a> {
    transaction: TransactionFolder<'a>,
    section: Handle,
    born: Timestamp,
    /// Slots that were filled and that no journal names yet.
    unnamed: Range<usize>,
    /// Files whose turn is still to come, staged by two threads at once.
    ready: VecDeque<Result<Staged>>,
    /// Staged files and folders, open, as long as there are few enough to be synced one by one.
    files: Vec<Handle>,
    /// Entries of whose original there is a copy, as long as no journal has its name.
    copies: Vec<usize>,
    /// What the transaction's folder hands on to every file that is made in it.
    handed_on: Option<Attributes>,
    hidden: Option<Handle>,
    /// The staged files of a contended transaction, by their entries.
    open: HashMap<usize, Handle>,
    report: Option<Handle>,
}

impl<'a> Staging<'a> {
    /// Makes and locks the transaction's folder.
    pub(crate) fn begin(state: &'a State, prepared: &Prepared, program: &str) -> Result<Self> {
        let section = state.need_section(Section::Transactions)?;
        let (id, folder, stat) = make_folder(&state.workspace, &section, &|| id_order::next_id(state))?;
        project::leave(&state.workspace, &folder)?;
        let host = state.workspace.host()?;
        let header = Header {
            version: journal::VERSION,
            id,
            workspace: state.workspace_id().to_owned(),
            folder: stat.identity.to_record(state.file_system()?.keeps_numbers),
            boot: host.boot,
            owner: Owner { program: program.to_owned(), process: host.process, user: host.user, host: host.name },
            reverts: prepared.marks.reverts.clone(),
            opened: prepared.marks.opened.clone(),
            key: prepared.marks.key.clone(),
            request: prepared.marks.request,
            label: prepared.marks.label.clone(),
        };
        let entries = Vec::with_capacity(prepared.plan.entries.len());
        let journal =
            Journal { header, entries, back_on_crash: prepared.gate.is_some() || prepared.contended.is_some() };
        let parents = prepared.parents.iter();
        let parents = parents.map(|(path, (stat, folder))| (path.clone(), (stat.identity, folder.clone()))).collect();
        let born = stat.modified;
        Ok(Self {
            transaction: TransactionFolder::new(state, folder, journal, Mark::Sealed, parents),
            section,
            born,
            unnamed: 0..0,
            ready: VecDeque::new(),
            files: Vec::new(),
            copies: Vec::new(),
            handed_on: None,
            hidden: None,
            open: HashMap::new(),
            report: None,
        })
    }

    pub(crate) fn id(&self) -> &str {
        &self.transaction.journal.header.id
    }

    /// When reading began, by the file system's clock.
    pub(crate) fn read_at(&self, prepared: &Prepared) -> Timestamp {
        snapshot::earlier(self.born, prepared.read_at.elapsed())
    }

    /// When it began to write, by the file system's clock.
    pub(crate) const fn born(&self) -> Timestamp {
        self.born
    }

    pub(crate) fn transaction(&self) -> &TransactionFolder<'a> {
        &self.transaction
    }

    pub(crate) fn transaction_mut(&mut self) -> &mut TransactionFolder<'a> {
        &mut self.transaction
    }

    pub(crate) fn files(&self) -> &[Handle] {
        &self.files
    }

    /// The staged file of an entry of a contended transaction.
    pub(crate) fn open(&self, entry: usize) -> Option<Handle> {
        self.open.get(&entry).cloned()
    }

    /// The journal and the report, as far as they are written.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &Handle> {
        self.hidden.iter().chain(&self.report)
    }

    pub(crate) fn report(&self) -> Option<&Handle> {
        self.report.as_ref()
    }

    /// The sections whose names changed.
    pub(crate) fn sections(&self, trash: &Trash) -> Vec<Handle> {
        trash.folder().into_iter().chain([&self.section]).cloned().collect()
    }

    /// Fills the slot of the next entry, and remembers what was staged.
    pub(crate) fn stage(&mut self, entry: usize, prepared: &Prepared, cancel: &AtomicBool) -> Result<()> {
        debug_assert_eq!(entry, self.transaction.journal.entries.len(), "entries are staged in order");
        let planned = &prepared.plan.entries[entry];
        let original = prepared.targets[entry].as_ref();
        let original = || original.unwrap_or_else(|| unreachable!("what is edited or deleted was read"));
        // A journal of version 1, of which this may be the undo, does not tell all of it.
        let read = |before: &FileState| FileState { access: original().state().access, ..*before };
        let named = |error: Error| error.asked_by(planned.asked_by);
        self.copy_original(entry, planned, prepared, cancel).map_err(named)?;
        let change = match &planned.change {
            Change::Folder => {
                journal::Change::Folder { staged: self.stage_folder(entry, planned, prepared).map_err(named)? }
            }
            Change::FileToFolder(before) => journal::Change::FileToFolder {
                before: read(before),
                staged: self.stage_folder(entry, planned, prepared).map_err(named)?,
                original: original().stat.identity,
            },
            Change::FolderToFile(new) => {
                let (staged, after) = self.stage_file(entry, new, prepared, cancel).map_err(named)?;
                journal::Change::FolderToFile { after, staged, original: leaving(planned, prepared) }
            }
            Change::RemoveFolder => journal::Change::RemoveFolder { original: leaving(planned, prepared) },
            Change::Delete(before) => {
                journal::Change::Delete { before: read(before), original: original().stat.identity }
            }
            Change::Create(new) => {
                let (staged, after) = self.stage_file(entry, new, prepared, cancel).map_err(named)?;
                journal::Change::Create { after, staged }
            }
            Change::Edit(before, new) => {
                let (staged, after) = self.stage_file(entry, new, prepared, cancel).map_err(named)?;
                journal::Change::Edit { before: read(before), after, staged, original: original().stat.identity }
            }
        };
        self.transaction.journal.entries.push(Record { path: planned.path.clone(), change });
        self.unnamed.end = entry + 1;
        Ok(())
    }

    /// An empty folder, locked before it appears: nobody can edit beneath it before the commit is through.
    fn stage_folder(&mut self, entry: usize, planned: &Entry, prepared: &Prepared) -> Result<Identity> {
        let workspace = self.transaction.workspace();
        let slot = slot_name(entry);
        let name = Name::new(&self.transaction.folder, &slot);
        let path = self.transaction.workspace().root.path().join(planned.path.as_path());
        let io = |verb: &'static str| {
            let path = path.clone();
            move |e| Error::io(verb, &path, e)
        };
        let (_, parent) = self.transaction.parents.get(planned.path.parent()).ok_or_else(|| missing_parent(planned))?;
        let dress = match prepared.dresses.get(&planned.path) {
            Some(dress) => dress.clone(),
            None => workspace.fs().inherited(parent, true).map_err(io("ask what would be inherited by"))?,
        };
        workspace.fs().make_folder(name, 0o700).map_err(io("stage"))?;
        let folder = workspace.fs().open_beneath(&self.transaction.folder, slot.as_ref()).map_err(io("open staged"))?;
        if !workspace.fs().try_lock(&folder).map_err(io("lock staged"))? {
            return Err(Error::new(ErrorKind::LockTimeout, "somebody locked a folder that is not there yet").at(path));
        }
        let stat = workspace.fs().stat_handle(&folder).map_err(io("look at staged"))?;
        let handed_on = workspace.fs().attributes(&folder).map_err(io("read the attributes of staged"))?;
        let now = worn(&stat, handed_on);
        workspace.fs().set_flags(&folder, dress.attributes.flags).map_err(io("set the flags of staged"))?;
        workspace.fs().set_metadata(&folder, &now, &dress).map_err(io("set owner, mode and attributes of staged"))?;
        self.files.push(folder.clone());
        let made = (stat.identity, folder.renamed(path));
        self.transaction.parents.insert(planned.path.as_path().to_owned(), made);
        Ok(stat.identity)
    }

    /// The staged file of an entry, and with it, where that is quicker, those of the entries after it.
    fn stage_file(
        &mut self,
        entry: usize,
        new: &New,
        prepared: &Prepared,
        cancel: &AtomicBool,
    ) -> Result<(Identity, FileState)> {
        if self.ready.is_empty() {
            self.ready = self.stage_some(entry, prepared, cancel);
        }
        let Some(staged) = self.ready.pop_front() else { unreachable!("it was just staged") };
        let Staged { file, guard, identity, access, handed_on } = staged?;
        // From here on it is one of those that are unnamed: a guard for each of many files takes too much memory.
        guard.disarm();
        if let Some(file) = file.as_ref().filter(|_| prepared.contended.is_some()) {
            self.open.insert(entry, file.clone());
        }
        self.files.extend(file);
        self.handed_on = Some(handed_on);
        Ok((identity, FileState { access: Some(access), ..new.state }))
    }

    /// Stages the files of a few entries from `entry` on, half of them in another thread.
    fn stage_some(&self, entry: usize, prepared: &Prepared, cancel: &AtomicBool) -> VecDeque<Result<Staged>> {
        let entries = &prepared.plan.entries;
        let one = |entry: usize| match &entries[entry].change {
            Change::Edit(_, new) | Change::Create(new) | Change::FolderToFile(new) => {
                self.stage_one(entry, &entries[entry], new, prepared, cancel)
            }
            _ => unreachable!("only files are staged together"),
        };
        let is_file =
            |entry: &&Entry| matches!(entry.change, Change::Edit(..) | Change::Create(_) | Change::FolderToFile(_));
        let count = entries[entry..].iter().take(TOGETHER).take_while(is_file).count();
        // The first one finds out what the folder hands on.
        if self.handed_on.is_none() || count < TOGETHER / 4 || !self.transaction.workspace().is_parallel() {
            return VecDeque::from([one(entry)]);
        }
        let (half, end) = (entry + count / 2, entry + count);
        std::thread::scope(|scope| {
            let others = Builder::new().spawn_scoped(scope, || (half..end).map(one).collect::<Vec<_>>());
            let mut staged: VecDeque<_> = (entry..half).map(one).collect();
            // Where there was no thread to be had, their turn comes.
            if let Ok(others) = others {
                staged.extend(others.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            staged
        })
    }

    fn stage_one(
        &self,
        entry: usize,
        planned: &Entry,
        new: &New,
        prepared: &Prepared,
        cancel: &AtomicBool,
    ) -> Result<Staged> {
        let workspace = self.transaction.workspace();
        let dress = self.dress(planned, new, prepared)?;
        self.fill(&slot_name(entry), planned, &dress, prepared, |file| match &new.content {
            Content::Bytes(bytes) => write_all(workspace, file, 0, bytes),
            Content::Spliced(source, splices) => {
                let (source, digest) = (&prepared.sources[*source], new.state.digest);
                Filling { workspace, slot: file, source, splices, digest, read_at: self.read_at(prepared), cancel }
                    .fill()
            }
        })
    }

    /// A copy of an original that has other names: through them its inode can be written as long as history holds it.
    fn copy_original(&mut self, entry: usize, planned: &Entry, prepared: &Prepared, cancel: &AtomicBool) -> Result<()> {
        let Some(snapshot) = prepared.targets[entry].as_ref().filter(|snapshot| snapshot.stat.links > 1) else {
            return Ok(());
        };
        let workspace = self.transaction.workspace();
        let (_, folder) = self.transaction.parents.get(planned.path.parent()).ok_or_else(|| missing_parent(planned))?;
        let (folder, path) = (folder.clone(), planned.path.clone());
        let source = Source { folder, path, snapshot: Arc::clone(snapshot), bytes: None };
        let stat = &snapshot.stat;
        let (mode, user, group, attributes) = (stat.mode, stat.user, stat.group, snapshot.attributes());
        let dress = Metadata { mode, user, group, attributes, modified: Some(stat.modified) };
        let (source, splices, digest) = (&source, &Splices::none(), snapshot.digest);
        let copy = self.fill(&original_name(entry), planned, &dress, prepared, |file| {
            Filling { workspace, slot: file, source, splices, digest, read_at: self.read_at(prepared), cancel }.fill()
        })?;
        copy.guard.disarm();
        self.copies.push(entry);
        self.files.extend(copy.file);
        Ok(())
    }

    /// A new file in the transaction's folder, with content and all.
    fn fill(
        &self,
        name: &str,
        planned: &Entry,
        dress: &Metadata,
        prepared: &Prepared,
        write: impl FnOnce(&Handle) -> Result<()>,
    ) -> Result<Staged> {
        let workspace = self.transaction.workspace();
        let name = Name::new(&self.transaction.folder, name);
        let root = self.transaction.workspace().root.path();
        let io = |verb: &'static str| move |e| Error::io(verb, root.join(planned.path.as_path()), e);
        // Set-id bits wait for the owner.
        let (file, guard, stat) = workspace.fs().create(name, dress.mode & 0o777).map_err(io("stage"))?;
        let handed_on = match &self.handed_on {
            Some(handed_on) => handed_on.clone(),
            None => workspace.fs().attributes(&file).map_err(io("read the attributes of staged"))?,
        };
        if handed_on.flags != dress.attributes.flags {
            workspace.fs().set_flags(&file, dress.attributes.flags).map_err(io("set the flags of staged"))?;
        }
        write(&file)?;
        let now = worn(&stat, handed_on);
        workspace.fs().set_metadata(&file, &now, dress).map_err(io("set owner, mode and attributes of staged"))?;
        let mut access = dress.access();
        if access.attributes.is_some() {
            // A mode that it did not have changes its ACL.
            access.attributes = workspace.fs().attributes(&file).map_err(io("read the attributes of staged"))?.digest();
        }
        let is_kept = prepared.plan.entries.len() <= limits::SYNC_EACH_UP_TO || prepared.contended.is_some();
        Ok(Staged { file: is_kept.then_some(file), guard, identity: stat.identity, access, handed_on: now.attributes })
    }

    /// What the staged file is dressed in: as its source, or as its folder would dress a new file.
    fn dress(&self, planned: &Entry, new: &New, prepared: &Prepared) -> Result<Metadata> {
        let Some(source) = new.dressed_as else {
            let (_, parent) =
                self.transaction.parents.get(planned.path.parent()).ok_or_else(|| missing_parent(planned))?;
            let path = planned.path.as_path();
            let mut dress = self.transaction.workspace().fs().inherited(parent, false);
            if let Ok(dress) = &mut dress {
                dress.mode = new.state.mode;
            }
            return dress.map_err(|e| Error::io("ask what would be inherited by", path, e));
        };
        let snapshot = &prepared.sources[source].snapshot;
        let mut attributes = snapshot.attributes();
        if prepared.sources[source].path != planned.path {
            let (_, parent) =
                self.transaction.parents.get(planned.path.parent()).ok_or_else(|| missing_parent(planned))?;
            project::join(self.transaction.workspace(), parent, &mut attributes)?;
        }
        Ok(Metadata {
            mode: new.state.mode,
            user: snapshot.stat.user,
            group: snapshot.stat.group,
            attributes,
            modified: new.keeps_time.then_some(snapshot.stat.modified),
        })
    }

    /// Nothing was swapped: the folder goes to the trash. Where even that fails it stays, and the next command,
    /// finding it without an owner, drops it.
    pub(crate) fn forget(&mut self) {
        self.delete_unnamed();
        drop(self.transaction.move_to(Section::Trash));
    }

    /// Gives back at once what the slots took of the disk. What cannot be deleted now goes with the folder.
    fn delete_unnamed(&mut self) {
        self.ready.clear();
        for entry in std::mem::take(&mut self.copies) {
            self.transaction.workspace().fs().unlink(Name::new(&self.transaction.folder, &original_name(entry))).ok();
        }
        for entry in std::mem::take(&mut self.unnamed) {
            let change = &self.transaction.record(entry).change;
            if change.after().is_some() {
                self.transaction.workspace().fs().unlink(Name::new(&self.transaction.folder, &slot_name(entry))).ok();
            }
        }
    }
}

impl Drop for Staging<'_> {
    fn drop(&mut self) {
        self.delete_unnamed();
    }
}

/// What a file that was just made is dressed in.
fn worn(stat: &Stat, attributes: Attributes) -> Metadata {
    Metadata { mode: stat.mode, user: stat.user, group: stat.group, attributes, modified: None }
}

/// The folder at the target of an entry that takes it away.
fn leaving(planned: &Entry, prepared: &Prepared) -> Identity {
    let folder = prepared.parents.get(planned.path.as_path());
    folder.unwrap_or_else(|| unreachable!("a folder that goes was looked into")).0.identity
}

fn missing_parent(planned: &Entry) -> Error {
    snapshot::changed(planned.path.as_path(), "lost its folder")
}

/// Makes `txn/.<id>`, locks it and only then gives it its name: what has its name has had an owner.
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
        let Some((folder, stat)) = folder::lock_folder(workspace, section, &hidden)? else { continue };
        match workspace.fs().rename(name, Name::new(section, &id), Rename::NoReplace) {
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
