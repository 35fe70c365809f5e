//! Committed transactions: their folders, with the originals in them, are the undo records.

pub(super) mod changed_by;
pub(super) mod concurrent_key;
pub(super) mod export;
pub(super) mod folders_before;
pub(super) mod group;
pub(super) mod id_order;
pub(super) mod kept;
pub(super) mod keys;
pub(super) mod late_writes;
pub(super) mod made_folders;
pub(super) mod path_history;
pub(super) mod prune;
pub(super) mod search;
pub(super) mod stored_report;
#[cfg(feature = "mcp")]
pub(crate) mod touched;
pub(super) mod trash;
pub(super) mod untrusted;

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::path::Path;
use std::sync::OnceLock;

use self::group::Group;
use super::report::{Logged, Shown, ShownFile};
use super::store::births;
use super::store::id;
use super::store::interrupted;
use super::store::lock::check_cancelled;
use super::store::private::{self, Opening};
use super::store::snapshot;
use super::store::state::{Section, StateFolder, StateLookup, list_ids};
use super::{Engine, Run};
use crate::cancel::CancelToken;
use crate::cancel::NEVER;
use crate::digest::Digest;
use crate::engine::store::folder::name_of_original;
use crate::engine::store::parts::{SlotFolders, is_away};
use crate::engine::store::workspace::Workspace;
use crate::errno;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{FileKind, Handle, Name, Stat};
use crate::index::EntryIndex;
use crate::journal::{self, Extract, Header, Journal, JournalState, RecordedChange, original_name};
use crate::path::RelPath;
use crate::text::diff;
use path_history::PathHistory;
use search::SearchResult;
use stored_report::{StoredCheck, StoredReport};
use untrusted::{UntrustedCause, UntrustedTransaction};

/// The old and the new content of a file, as far as they are known.
pub(crate) type OldAndNew = (Option<Vec<u8>>, Option<Vec<u8>>);

/// A committed transaction, open.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub folder: Handle,
    pub journal: Journal,
    /// The folders with its slots, once they were asked for.
    slots: OnceLock<SlotFolders>,
}

/// An entry of history.
#[derive(Debug)]
pub(crate) enum HistoryEntry {
    Ours(Loaded),
    /// It may be a committed transaction, but cannot be read, or was not born here.
    Untrusted(UntrustedTransaction),
}

/// Opens a committed transaction of this workspace; `None` where there is none of that id. Only a journal that
/// verifies, is done, and was born in its place counts as history: a repository cannot ship one.
pub(crate) fn load(state: &StateFolder, id: &str) -> Result<Option<Loaded>> {
    match look(state, id)? {
        Some(HistoryEntry::Ours(loaded)) => Ok(Some(loaded)),
        Some(HistoryEntry::Untrusted(_)) | None => Ok(None),
    }
}

/// Examines what history holds under an id.
pub(crate) fn look(state: &StateFolder, id: &str) -> Result<Option<HistoryEntry>> {
    match state.section(Section::History)?.filter(|_| journal::is_id(id.as_ref())) {
        Some(section) => look_in(&state.workspace, &section, id),
        None => Ok(None),
    }
}

/// Examines what an open section holds under an id. The section is opened once, not for each id: it could be made
/// inaccessible meanwhile, and all of it would be passed over.
fn look_in(workspace: &Workspace, section: &Handle, id: &str) -> Result<Option<HistoryEntry>> {
    let name = Name::new(section, id);
    let (cause, why, header) = match private::open(workspace, name)? {
        Opening::Missing => return Ok(None),
        Opening::Refused(refusal) => (UntrustedCause::Refused(refusal), refusal.to_string(), None),
        Opening::Ours(folder, stat) => match read(workspace, folder, &stat, id)? {
            Ok(loaded) => return Ok(Some(HistoryEntry::Ours(loaded))),
            Err(doubt) => doubt,
        },
    };
    // Another process may have moved it to the trash and emptied that.
    if workspace.stat(name)?.is_none() {
        return Ok(None);
    }
    let (id, path, section) = (id.to_owned(), name.path(), Section::History);
    Ok(Some(HistoryEntry::Untrusted(UntrustedTransaction { id, path, section, cause, why, header })))
}

/// The reasons why a folder is not that of a committed transaction, and the header of its journal if that verifies.
type NotCommitted = (UntrustedCause, String, Option<Header>);

fn read(
    workspace: &Workspace,
    folder: Handle,
    stat: &Stat,
    id: &str,
) -> Result<std::result::Result<Loaded, NotCommitted>> {
    let mut header = None;
    let wanted = |found: &Header| {
        header = Some(found.clone());
        is_born_here(workspace, stat, id, found)
    };
    let found = match interrupted::read_of_journal(workspace, &folder, |bytes| journal::read_if(bytes, wanted, 0)) {
        Err(e) if e.os_error().is_some_and(errno::is_missing) => None,
        other => other?,
    };
    let (cause, why) = match found {
        Some(Ok((Extract::Whole(journal), JournalState::Done))) => {
            return Ok(Ok(Loaded { folder, journal, slots: OnceLock::new() }));
        }
        Some(Ok((Extract::Whole(_), _))) => (UntrustedCause::Damaged, "is not marked as committed".to_owned()),
        Some(Ok((Extract::Beginning(_), _))) => {
            (UntrustedCause::Copied, "was not written here (a copy, clone or restored backup)".to_owned())
        }
        Some(Err(problem)) => (UntrustedCause::Damaged, format!("cannot be read: {problem}")),
        None => (UntrustedCause::Damaged, "cannot be read: it has no journal".to_owned()),
    };
    Ok(Err((cause, why, header)))
}

/// The size of a committed transaction's originals. The whole journal would tell it too, in ten times the time; the
/// header is enough to tell that the transaction is ours.
pub(crate) fn weigh(state: &StateFolder, id: &str) -> Result<Option<u64>> {
    let Some((folder, header)) = open_ours(state, id)? else { return Ok(None) };
    let slots = match SlotFolders::open(&state.workspace, &folder, &header) {
        // What is not mounted takes no room here.
        Err(error) if is_away(&error) => SlotFolders::new(folder, Vec::new()),
        slots => slots?,
    };
    let mut bytes = 0;
    for folder in slots.all() {
        for name in state.workspace.list(folder)? {
            if is_slot(&name) {
                let stat = state.workspace.stat(Name::new(folder, &name))?;
                bytes += stat.map_or(0, |stat| stat.size);
            }
        }
    }
    Ok(Some(bytes))
}

/// Returns whether this is a committed transaction of this workspace, as far as its header tells.
pub(crate) fn is_ours(state: &StateFolder, id: &str) -> Result<bool> {
    Ok(open_ours(state, id)?.is_some())
}

fn open_ours(state: &StateFolder, id: &str) -> Result<Option<(Handle, Header)>> {
    let Opening::Ours(folder, stat) = open(state, id)? else { return Ok(None) };
    let header = interrupted::read_of_journal(&state.workspace, &folder, |bytes| journal::header(bytes))?;
    let Some(Ok((header, JournalState::Done))) = header else { return Ok(None) };
    Ok(is_born_here(&state.workspace, &stat, id, &header).then_some((folder, header)))
}

/// Returns whether a name in a transaction's folder is a slot, or the copy of an original.
fn is_slot(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    let suffixes = [journal::ORIGINAL, journal::OUT];
    let slot = suffixes.iter().find_map(|suffix| name.strip_suffix(suffix.as_bytes())).unwrap_or(name);
    slot.iter().all(u8::is_ascii_digit)
}

fn open(state: &StateFolder, id: &str) -> Result<Opening> {
    if !journal::is_id(id.as_ref()) {
        return Ok(Opening::Missing);
    }
    let Some(section) = state.section(Section::History)? else { return Ok(Opening::Missing) };
    private::open(&state.workspace, Name::new(&section, id))
}

/// The boot is not compared, since history outlives it: without birth times the inode must do, and where no number lasts a
/// proof outside the workspace.
fn is_born_here(workspace: &Workspace, folder: &Stat, id: &str, header: &Header) -> bool {
    let is_proved = || births::is_proved(workspace, header, id, &folder.identity).unwrap_or(false);
    header.id == id && (header.folder.is_record_of(&folder.identity) || header.folder.inode == 0 && is_proved())
}

/// All committed transactions of this workspace, oldest first; each is opened when its turn comes.
pub(crate) fn history(state: &StateFolder) -> Result<impl DoubleEndedIterator<Item = Result<Loaded>>> {
    Ok(entries(state)?.filter_map(|entry| match entry {
        Ok(HistoryEntry::Ours(loaded)) => Some(Ok(loaded)),
        Ok(HistoryEntry::Untrusted(_)) => None,
        Err(error) => Some(Err(error)),
    }))
}

/// All of history, with the transactions that cannot be used.
pub(crate) fn entries(state: &StateFolder) -> Result<impl DoubleEndedIterator<Item = Result<HistoryEntry>>> {
    let section = state.section(Section::History)?;
    let ids = section.as_ref().map_or(Ok(Vec::new()), |section| list_ids(&state.workspace, section))?;
    Ok(ids.into_iter().filter_map(move |id| look_in(&state.workspace, section.as_ref()?, &id).transpose()))
}

/// All of history for a caller that must not miss any of it: a section that cannot be opened, or is not this user's
/// alone, is an error.
pub(crate) fn whole_history(state: &StateFolder) -> Result<impl DoubleEndedIterator<Item = Result<HistoryEntry>>> {
    let section = state.whole_section(Section::History)?;
    let ids = section.as_ref().map_or(Ok(Vec::new()), |section| list_ids(&state.workspace, section))?;
    Ok(ids.into_iter().filter_map(move |id| look_in(&state.workspace, section.as_ref()?, &id).transpose()))
}

impl Loaded {
    pub(crate) fn id(&self) -> &str {
        &self.journal.header.id
    }

    /// The folders with its slots.
    pub(crate) fn slots(&self, workspace: &Workspace) -> Result<&SlotFolders> {
        if let Some(slots) = self.slots.get() {
            return Ok(slots);
        }
        let slots = SlotFolders::open(workspace, &self.folder, &self.journal.header)?;
        Ok(self.slots.get_or_init(|| slots))
    }

    /// The folder with the slot of an entry.
    pub(crate) fn slots_of(&self, workspace: &Workspace, entry: EntryIndex) -> Result<&Handle> {
        Ok(self.slots(workspace)?.of(&self.journal.entries[entry].path))
    }

    /// The entries of whose original there is a copy, because its inode had other names.
    pub(crate) fn copied(&self, workspace: &Workspace) -> Result<HashSet<EntryIndex>> {
        let mut copied = HashSet::new();
        for folder in self.slots(workspace)?.all() {
            let names = workspace.list(folder)?;
            copied.extend(names.iter().filter_map(|name| journal::entry_of_original(name.to_str()?)));
        }
        Ok(copied)
    }
}

/// Each committed transaction, oldest first, with those that it reverts.
pub(crate) fn reverts(state: &StateFolder) -> Result<Vec<(String, Vec<String>)>> {
    history(state)?
        .map(|loaded| loaded.map(|Loaded { journal, .. }| (journal.header.id, journal.header.reverts)))
        .collect()
}

/// The transactions that are undone, each with the one that undid it. An undo that is undone itself does not count.
pub(crate) fn reverted(state: &StateFolder) -> Result<HashMap<String, String>> {
    let mut reverted = HashMap::new();
    // From the newest on: an undo is newer than what it reverts.
    for (id, undoes) in reverts(state)?.into_iter().rev() {
        if !reverted.contains_key(&id) {
            reverted.extend(undoes.into_iter().map(|undone| (undone, id.clone())));
        }
    }
    Ok(reverted)
}

impl Engine {
    /// Finds the state folder. It is found once in a call, which passes it on.
    pub(crate) fn found(&self) -> Result<StateLookup> {
        self.known.find(&self.workspace)
    }

    /// The state folder, where there is one that can be trusted.
    pub(crate) fn state(&self) -> Result<Option<StateFolder>> {
        Ok(self.found()?.trusted(&self.workspace)?.cloned())
    }

    /// Committed transactions, newest first. Nothing is changed, whether it fails or not.
    pub fn log(&self, limit: usize, path: Option<&Path>) -> Result<Vec<Logged>> {
        self.log_where(limit, path, None)
    }

    /// The same, only those of one session.
    pub fn log_of_session(&self, session: &str, limit: usize, path: Option<&Path>) -> Result<Vec<Logged>> {
        self.log_where(limit, path, Some(Group::Session(session)))
    }

    /// The same, only those of one campaign.
    pub fn log_of_campaign(&self, campaign: &str, limit: usize, path: Option<&Path>) -> Result<Vec<Logged>> {
        self.log_where(limit, path, Some(Group::Campaign(campaign)))
    }

    fn log_where(&self, limit: usize, path: Option<&Path>, group: Option<Group<'_>>) -> Result<Vec<Logged>> {
        let Some(state) = self.state()? else { return Ok(Vec::new()) };
        let path = path.map(|path| self.rel_path(path)).transpose()?;
        let undone = reverted(&state)?;
        let mut log = Vec::new();
        let mut entries = entries(&state)?.rev();
        while log.len() < limit
            && let Some(entry) = entries.next()
        {
            let loaded = match entry? {
                HistoryEntry::Ours(loaded) => loaded,
                HistoryEntry::Untrusted(untrusted) => {
                    // Shown whatever the path: its own are unknown.
                    log.push(Logged::unreadable(untrusted.id, untrusted.why));
                    continue;
                }
            };
            let Journal { header, entries, .. } = &loaded.journal;
            let wanted = |p: &RelPath| entries.iter().any(|record| record.path.touches(p));
            let is_of_it = group.is_none_or(|group| group.has(header));
            if is_of_it && path.as_ref().is_none_or(wanted) {
                log.push(self.logged(&loaded, undone.get(loaded.id()))?);
            }
        }
        Ok(log)
    }

    /// One transaction with its diff. The new content is known as long as the file is unchanged since, or a later
    /// transaction holds it as an original. Nothing is changed, whether it fails or not.
    pub fn show(&self, id: &str) -> Result<Shown> {
        self.show_in(id, Run::default())
    }

    /// The same in a run, which says how long the diffs may be.
    pub fn show_in(&self, id: &str, run: Run<'_>) -> Result<Shown> {
        let (state, loaded) = self.committed(&self.found()?, id)?;
        let undone = reverted(&state)?;
        let past = PathHistory::new(self, &state, &loaded);
        let mut files = Vec::new();
        for (entry, record) in loaded.journal.entries.numbered() {
            check_cancelled(run.cancel)?;
            if let Some(why) = self.bounds.bars(record.path.as_path()) {
                let (kind, path) = (record.change.kind().to_owned(), record.path.as_path().to_owned());
                files.push(ShownFile { kind, path, lines: None, diff: format!("({} {why})\n", record.path) });
                continue;
            }
            let (old, new) = self.contents(&past, entry)?;
            files.push(shown_file(&record.path, &record.change, old.as_deref(), new.as_deref(), run.diff_bytes));
        }
        Ok(Shown { logged: self.logged(&loaded, undone.get(loaded.id()))?, files })
    }

    /// The old and new content of an entry, as far as both are still known; empty where there was no file.
    pub(crate) fn contents(&self, past: &PathHistory<'_>, entry: EntryIndex) -> Result<OldAndNew> {
        let loaded = past.loaded;
        let record = &loaded.journal.entries[entry];
        let old = match record.change.before() {
            Some(_) => self.original(loaded, entry, &NEVER)?,
            None => Some(Vec::new()),
        };
        // What a check made of it is what was committed; without a digest it removed the file.
        let by_check = past.report()?.and_then(|report| report.rewritten(&record.path));
        let left = by_check.map_or(record.change.after().map(|after| after.digest), |rewritten| rewritten.hash);
        let new = match left {
            Some(left) => match self.current(&record.path, &NEVER)? {
                Some(new) if Digest::of(&new) == left => Some(new),
                _ => {
                    let old = old.as_deref().unwrap_or_default();
                    past.left(&record.path, old, left, &NEVER)?
                }
            },
            None => Some(Vec::new()),
        };
        Ok((old, new))
    }

    /// A committed transaction, by its id or by the id that it had while it was open.
    pub(crate) fn committed(&self, found: &StateLookup, id: &str) -> Result<(StateFolder, Loaded)> {
        let unknown = || {
            let message = format!("there is no committed transaction {id} here");
            Error::new(ErrorKind::UnknownTransaction, message)
        };
        let state = found.trusted(&self.workspace)?.ok_or_else(unknown)?.clone();
        let loaded = match look(&state, id)? {
            Some(HistoryEntry::Ours(loaded)) => loaded,
            Some(HistoryEntry::Untrusted(untrusted)) => return Err(untrusted.named()),
            // It may be the id that it had while it was open.
            None => match self.committed_open(found, id, |_| false)? {
                SearchResult::Found(loaded) => loaded,
                SearchResult::Perhaps(untrusted) => return Err(untrusted.named()),
                SearchResult::Nothing => return Err(unknown()),
            },
        };
        Ok((state, loaded))
    }

    fn logged(&self, loaded: &Loaded, reverted_by: Option<&String>) -> Result<Logged> {
        let Journal { header, entries, .. } = &loaded.journal;
        let files = entries.iter().map(|record| (record.change.kind().to_owned(), record.path.as_path().to_owned()));
        let report = StoredReport::read(&self.workspace, &loaded.folder)?;
        Ok(Logged {
            id: header.id.clone(),
            time: id::time_of(&header.id),
            owner: header.owner.to_string(),
            label: header.label.clone(),
            session: header.session.clone(),
            campaign: header.campaign.clone(),
            reverts: header.reverts.clone(),
            reverted_by: reverted_by.cloned(),
            opened: header.opened.clone(),
            check: report.and_then(|report| report.check).map(StoredCheck::into_run),
            files: files.collect(),
            warnings: late_writes::warnings(&self.workspace, loaded)?,
            unreadable: None,
        })
    }

    /// The original of an entry: from its slot or, if it was written since through another name of that inode, from the
    /// copy.
    pub(crate) fn original(&self, loaded: &Loaded, entry: EntryIndex, cancel: &CancelToken) -> Result<Option<Vec<u8>>> {
        let folder = loaded.slots_of(&self.workspace, entry)?;
        let slot = name_of_original(&self.workspace, folder, &loaded.journal, entry)?;
        let slot = self.content(Name::new(folder, &slot), cancel)?;
        let before = loaded.journal.entries[entry].change.before().map(|before| before.digest);
        let is_it = |content: &Vec<u8>| Some(Digest::of(content)) == before;
        if slot.as_ref().is_some_and(is_it) {
            return Ok(slot);
        }
        let copy = self.content(Name::new(folder, &original_name(entry)), cancel)?;
        Ok(copy.filter(is_it).or(slot))
    }

    /// The content at a path of the workspace, of a symlink its target; `None` where there is neither it nor a file.
    pub(crate) fn current(&self, path: &RelPath, cancel: &CancelToken) -> Result<Option<Vec<u8>>> {
        match self.workspace.find_folder(&self.workspace.root, path.parent())? {
            Some(folder) => self.content(Name::new(&folder, path.name()), cancel),
            None => Ok(None),
        }
    }

    /// The content of a file, or the target of a symlink; `None` for anything else.
    pub(crate) fn content(&self, name: Name<'_>, cancel: &CancelToken) -> Result<Option<Vec<u8>>> {
        let stat = self.workspace.stat(name)?;
        let stat = match stat {
            Some(stat) if stat.kind == FileKind::Symlink => {
                return snapshot::target_of(&self.workspace, name, &stat).map(Some);
            }
            Some(stat) if stat.kind == FileKind::File => stat,
            _ => return Ok(None),
        };
        let file = self.workspace.open_file(name)?;
        snapshot::read_whole(&self.workspace, &file, stat.size, cancel).map(Some)
    }
}

fn shown_file(
    path: &RelPath,
    change: &RecordedChange,
    old: Option<&[u8]>,
    new: Option<&[u8]>,
    diff_bytes: usize,
) -> ShownFile {
    let kind = change.kind().to_owned();
    let path = path.as_path().to_owned();
    let (lines, diff) = match (old, new) {
        _ if matches!(change, RecordedChange::Folder { .. } | RecordedChange::RemoveFolder { .. }) => {
            (Some((0, 0)), String::new())
        }
        (Some(old), Some(new)) => {
            let name = |state: Option<_>, side: char| match state {
                Some(_) => format!("{side}/{}", path.display()),
                None => "/dev/null".to_owned(),
            };
            let (old_name, new_name) = (name(change.before(), 'a'), name(change.after(), 'b'));
            let text = diff::unified(old, new, &old_name, &new_name, diff_bytes);
            (Some(diff::count(old, new)), export::under_link_header(change.before(), change.after(), text))
        }
        (None, _) => (None, "(its original is gone)\n".to_owned()),
        (_, None) => (None, "(the file changed since; its new content is no longer known)\n".to_owned()),
    };
    ShownFile { kind, path, lines, diff }
}
