//! The visible state of a machine: the user's files, and the content of the state folder.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::script::ROOT;
use crate::digest::Digest;
use crate::fs::FileKind;
use crate::fs::sim::{SimEntry, SimFs, SimTree};
use crate::index::EntryIndex;
use crate::journal::{self, JournalState};
use crate::path::{STATE_FOLDER, STATE_PATHS};

/// The user's files by path. Times of folders and identities of new files are left out.
pub(super) type UserFiles = BTreeMap<PathBuf, SimEntry>;

/// A tree, sorted into its parts.
#[derive(Debug, Clone, Default)]
pub(super) struct WorkspaceTree {
    /// The user's files and folders.
    pub(super) files: UserFiles,
    /// The content of `kept/`, and the originals in `history/` that equal their journals: out of the way, but
    /// reachable.
    pub(super) stored: Vec<SimEntry>,
    /// Files in `history/` that a program with an old handle changed later.
    pub(super) late: Vec<SimEntry>,
    /// The slots of transactions in `txn/` that have a journal.
    pub(super) slots: Vec<SimEntry>,
    /// The slots of those that have none.
    pub(super) unnamed: Vec<SimEntry>,
    /// Those of the slots that came out of their names in a swap step by step, and have not got the name of their slot yet.
    pub(super) came_out: Vec<SimEntry>,
    /// Files in `trash/` of transactions that were rolled back: they stay for a while, for a program that still has
    /// them open.
    pub(super) rejected: Vec<SimEntry>,
    /// The folders in `txn/`, and those in `trash/` that need not wait.
    pub(super) left: Vec<PathBuf>,
}

impl WorkspaceTree {
    pub(super) fn of(machine: &SimFs) -> Self {
        Self::new(&machine.tree())
    }

    pub(super) fn new(tree: &SimTree) -> Self {
        let mut seen = Self::default();
        for (path, entry) in tree {
            let Ok(path) = path.strip_prefix(ROOT) else { continue };
            match (inside_state(path), in_part(path)) {
                (Some(inner), _) => seen.note(inner, entry, tree),
                // As if it were in the transaction's own folder.
                (None, Some([id, slot])) => {
                    if let Some(section) = section_of(tree, id) {
                        seen.note(&Path::new(section).join(id).join(slot), entry, tree);
                    }
                }
                (None, None) if path.as_os_str().is_empty() || is_in_state(path) => {}
                (None, None) => drop(seen.files.insert(path.to_owned(), entry.clone())),
            }
        }
        seen
    }

    fn note(&mut self, path: &Path, entry: &SimEntry, tree: &SimTree) {
        let parts: Vec<_> = path.iter().filter_map(|part| part.to_str()).collect();
        match parts[..] {
            ["trash", id] if was_rolled_back(tree, id) => {}
            ["txn" | "trash", _] => self.left.push(path.to_owned()),
            _ if !has_content(entry) => {}
            ["trash", id, _] if was_rolled_back(tree, id) => self.rejected.push(entry.clone()),
            ["txn", id, _] if !has_journal(tree, id) => self.unnamed.push(entry.clone()),
            ["txn", _, slot] => {
                self.slots.push(entry.clone());
                self.came_out.extend(Path::new(slot).extension().is_some_and(|it| it == "out").then(|| entry.clone()));
            }
            ["kept", _, _] => self.stored.push(entry.clone()),
            ["history", id, slot] if is_original(tree, id, slot, &entry.content) => self.stored.push(entry.clone()),
            ["history", _, _] => self.late.push(entry.clone()),
            _ => {}
        }
    }

    /// Files that a person finds without txedit's help, or that txedit lists.
    pub(super) fn in_reach(&self) -> impl Iterator<Item = &SimEntry> {
        self.files.values().chain(&self.stored).filter(|entry| has_content(entry))
    }
}

/// A path in a state folder of the workspace, in the root or in the git folder, relative to that.
pub(super) fn inside_state(path: &Path) -> Option<&Path> {
    STATE_PATHS.iter().find_map(|state| path.strip_prefix(state).ok())
}

/// Returns whether a path is in a state folder of another file system than the root's.
fn is_in_state(path: &Path) -> bool {
    path.iter().any(|name| name == STATE_FOLDER)
}

/// The id and the name of the slot if a path is one in a part of a transaction.
fn in_part(path: &Path) -> Option<[&OsStr; 2]> {
    let mut names = path.iter().skip_while(|name| *name != STATE_FOLDER).skip(1);
    let found = (names.next()?, [names.next()?, names.next()?]);
    (found.0 == "parts").then_some(found.1).filter(|[_, slot]| *slot != "workspace" && *slot != "sealed")
}

/// The section in which the transaction of a part is.
fn section_of(tree: &SimTree, id: &OsStr) -> Option<&'static str> {
    let is_in = |section: &&str| {
        STATE_PATHS.iter().any(|state| tree.contains_key(&Path::new(ROOT).join(state).join(section).join(id)))
    };
    ["txn", "history", "kept", "trash"].into_iter().find(is_in)
}

/// Returns whether it has a content that can be lost: a file, or a symlink, of which it is the target.
fn has_content(entry: &SimEntry) -> bool {
    matches!(entry.kind, FileKind::File | FileKind::Symlink)
}

/// Returns whether a folder in `txn/` has a journal that counts.
fn has_journal(tree: &SimTree, id: &str) -> bool {
    let folders = STATE_PATHS.map(|state| Path::new(ROOT).join(state).join("txn").join(id));
    let journal = |state: &JournalState| folders.iter().find_map(|folder| tree.get(&folder.join(state.file_name())));
    JournalState::ALL
        .iter()
        .any(|state| journal(state).is_some_and(|it| *state != JournalState::New || journal::scan(&it.content).is_ok()))
}

/// Returns whether a folder in the trash belongs to a transaction that was rolled back.
fn was_rolled_back(tree: &SimTree, id: &str) -> bool {
    let folders = STATE_PATHS.map(|state| Path::new(ROOT).join(state).join("trash").join(id));
    [JournalState::Undo, JournalState::CheckUndo, JournalState::Contended]
        .iter()
        .any(|state| folders.iter().any(|folder| tree.contains_key(&folder.join(state.file_name()))))
}

/// Returns whether a slot in history equals its journal.
fn is_original(tree: &SimTree, id: &str, slot: &str, content: &[u8]) -> bool {
    let done = |state| Path::new(ROOT).join(state).join("history").join(id).join(JournalState::Done.file_name());
    let Some(journal) = STATE_PATHS.iter().find_map(|state| tree.get(&done(state))) else { return false };
    let number = slot.strip_suffix(journal::OUT).unwrap_or(slot).parse().map(EntryIndex);
    let (Ok(journal), Ok(entry)) = (journal::scan(&journal.content), number) else { return false };
    let before = journal.entries.get(entry).and_then(|record| record.change.before());
    // Only a file that came out by itself stays beside its slot.
    if before.is_none() || slot.ends_with(journal::OUT) && !journal.keeps_out(entry) {
        return false;
    }
    before.is_some_and(|before| before.digest == Digest::of(content))
}

/// Returns whether two entries are the same file for a user; if `strictly`, also in inode and time.
pub(super) fn same(a: Option<&SimEntry>, b: Option<&SimEntry>, strictly: bool) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => {
            let looks = a.kind == b.kind && a.content == b.content && same_metadata(a, b);
            let is = a.identity == b.identity && (a.kind != FileKind::File || a.modified == b.modified);
            looks && (!strictly || is)
        }
        _ => false,
    }
}

/// Returns whether two entries have the same mode, owner, group, attributes and flags.
pub(super) fn same_metadata(a: &SimEntry, b: &SimEntry) -> bool {
    let metadata = |entry: &SimEntry| (entry.mode, entry.user, entry.group, entry.flags);
    metadata(a) == metadata(b) && a.extended == b.extended
}

/// Returns whether a file has what others changed of its metadata: all in which theirs differs from what it was.
pub(super) fn has_their_metadata(kept: &SimEntry, theirs: &SimEntry, was: Option<&SimEntry>) -> bool {
    let Some(was) = was else { return same_metadata(kept, theirs) };
    let parts = |entry: &SimEntry| [entry.mode, entry.user, entry.group, entry.flags];
    let (kept_parts, their_parts, was_parts) = (parts(kept), parts(theirs), parts(was));
    let has = |at: usize| their_parts[at] == was_parts[at] || kept_parts[at] == their_parts[at];
    (0..kept_parts.len()).all(has) && (theirs.extended == was.extended || kept.extended == theirs.extended)
}
