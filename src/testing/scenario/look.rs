//! Examines the content of a workspace; and the marks by which contents are followed.
//!
//! Each written content has a unique mark, such as `F7`. A content is found by its mark, wherever it was moved and
//! whatever was edited around it.

use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::digest::Digest;
use crate::fs::FileKind;
use crate::fs::sim::{SimEntry, SimFs};
use crate::index::EntryIndex;
use crate::journal::{self, JournalState};
use crate::path::STATE_FOLDER;
use crate::testing::script::ROOT;
use crate::testing::world::{UserFiles, same_metadata};

/// The marks in a content.
pub type ContentMarks = BTreeSet<(u8, u32)>;

/// A workspace and the parts of its state folder.
#[derive(Debug, Clone, Default)]
pub(super) struct Look {
    /// The user's files and folders, by their path in the workspace.
    pub(super) files: Arc<UserFiles>,
    /// Files in `kept/`, by their path in the state folder.
    pub(super) kept: Vec<(PathBuf, SimEntry)>,
    /// Originals in `history/`.
    pub(super) history: Vec<(PathBuf, SimEntry)>,
    /// Slots in `txn/`.
    pub(super) slots: Vec<(PathBuf, SimEntry)>,
    /// Slots in `trash/`, which the next commit deletes.
    pub(super) trashed: Vec<(PathBuf, SimEntry)>,
    /// Slots of transactions that were rolled back: they stay for a while, and `status` reports late writes to them.
    pub(super) rejected: Vec<(PathBuf, SimEntry)>,
    /// Slots of pruned transactions: the next commit deletes them, except for late writes.
    pruned: Vec<(PathBuf, SimEntry)>,
    /// The journals of history, and of pruned transactions.
    journals: Vec<(PathBuf, Vec<u8>)>,
    /// The folders in `txn/` of transactions that have their final name.
    pub(super) interrupted: Vec<PathBuf>,
    /// Entries of a section that are named like a transaction but are not one.
    pub(super) strangers: Vec<PathBuf>,
    /// Transactions without a final name: the next command removes them.
    pub(super) unnamed: Vec<PathBuf>,
    /// The folders in `trash/`, except those of transactions that were rolled back or pruned.
    pub(super) trash: Vec<PathBuf>,
    /// The result of [`late`](Self::late), once computed.
    late: OnceLock<BTreeSet<PathBuf>>,
}

/// The number of cached workspaces: a scenario examines one state several times, with few others in between.
const REMEMBERED: usize = 6;

impl Look {
    /// The workspace on the simulated machine, from the cache if possible.
    pub(super) fn of(machine: &SimFs) -> Arc<Self> {
        thread_local! {
            static SEEN: RefCell<VecDeque<(u64, Arc<Look>)>> = const { RefCell::new(VecDeque::new()) };
        }
        let version = machine.version();
        SEEN.with_borrow_mut(|seen| {
            if let Some((_, look)) = seen.iter().find(|(known, _)| *known == version) {
                return Arc::clone(look);
            }
            let look = Arc::new(Self::read(machine));
            seen.truncate(REMEMBERED - 1);
            seen.push_front((version, Arc::clone(&look)));
            look
        })
    }

    fn read(machine: &SimFs) -> Self {
        let mut look = Self::default();
        let mut files = UserFiles::new();
        for (path, entry) in machine.entries(ROOT).unwrap_or_default() {
            match path.strip_prefix(STATE_FOLDER) {
                Ok(inner) => look.note(inner, &entry),
                Err(_) => drop(files.insert(path, entry)),
            }
        }
        look.files = Arc::new(files);
        let state = Path::new(ROOT).join(STATE_FOLDER);
        let has = |folder: &Path, journal_state: JournalState| {
            machine.exists(state.join(folder).join(journal_state.file_name()))
        };
        let was_rolled_back = |folder: &Path| {
            [JournalState::Undo, JournalState::CheckUndo, JournalState::Contended]
                .iter()
                .any(|journal_state| has(folder, *journal_state))
        };
        look.trash.retain(|folder| !was_rolled_back(folder) && !has(folder, JournalState::Done));
        for (path, entry) in std::mem::take(&mut look.trashed) {
            let to = match path.parent() {
                Some(folder) if was_rolled_back(folder) => &mut look.rejected,
                Some(folder) if has(folder, JournalState::Done) => &mut look.pruned,
                _ => &mut look.trashed,
            };
            to.push((path, entry));
        }
        look
    }

    fn note(&mut self, path: &Path, entry: &SimEntry) {
        let mut parts = path.iter().filter_map(|part| part.to_str());
        let (section, id, name) = (parts.next(), parts.next(), parts.next());
        let is_slot = |name: &str| name.starts_with(|c: char| c.is_ascii_digit());
        let place = || (path.to_owned(), entry.clone());
        match (section, id, name) {
            (Some(_), Some(id), None) if entry.kind != FileKind::Folder && journal::is_id(id.as_ref()) => {
                self.strangers.push(path.to_owned());
            }
            (Some("txn"), Some(id), None) if id.starts_with('.') => self.unnamed.push(path.to_owned()),
            (Some("txn"), Some(_), None) => self.interrupted.push(path.to_owned()),
            (Some("trash"), Some(_), None) => self.trash.push(path.to_owned()),
            (Some(section @ ("history" | "trash")), Some(id), Some(name)) if name == JournalState::Done.file_name() => {
                self.journals.push((Path::new(section).join(id), entry.content.clone()));
            }
            _ if entry.kind != FileKind::File => {}
            (Some("txn"), _, Some(name)) if is_slot(name) => self.slots.push(place()),
            (Some("trash"), _, Some(name)) if is_slot(name) => self.trashed.push(place()),
            (Some("kept"), _, Some(name)) if is_slot(name) => self.kept.push(place()),
            (Some("history"), _, Some(name)) if is_slot(name) => self.history.push(place()),
            _ => {}
        }
    }

    /// The number of transactions that were committed and are not deleted.
    pub(super) fn journals(&self) -> usize {
        self.journals.len()
    }

    /// The marks that a person can find: in files, kept contents, history, the slots of transactions that wait for a
    /// person, rolled-back files as long as they stay, and late writes to pruned originals.
    pub(super) fn in_reach(&self) -> ContentMarks {
        let pruned = self.pruned.iter().filter(|(path, _)| self.late().contains(path));
        let stored = self.kept.iter().chain(&self.history).chain(&self.slots).chain(&self.rejected).chain(pruned);
        let stored = stored.map(|(_, entry)| entry);
        marks_of(self.files.values().filter(|entry| entry.kind == FileKind::File).chain(stored))
    }

    /// The same without the trash and the slots of interrupted transactions.
    pub(super) fn for_good(&self) -> ContentMarks {
        let mut marks = self.in_files();
        marks.extend(self.stored());
        marks
    }

    /// The marks in kept contents and history.
    pub(super) fn stored(&self) -> ContentMarks {
        marks_of(self.kept.iter().chain(&self.history).map(|(_, entry)| entry))
    }

    /// The marks in the slots of interrupted transactions.
    pub(super) fn interrupted_slots(&self) -> ContentMarks {
        marks_of(self.slots.iter().map(|(_, entry)| entry))
    }

    /// The marks in reach and in the trash, which are not lost yet.
    pub(super) fn anywhere(&self) -> ContentMarks {
        let mut marks = self.in_reach();
        marks.extend(marks_of(self.trashed.iter().chain(&self.pruned).map(|(_, entry)| entry)));
        marks
    }

    /// The marks that share a file with one of these.
    pub(super) fn beside(&self, marks: &ContentMarks) -> ContentMarks {
        let stored =
            self.kept.iter().chain(&self.history).chain(&self.slots).chain(&self.trashed).map(|(_, entry)| entry);
        let mut found = ContentMarks::new();
        for entry in self.files.values().chain(stored) {
            let inside = marks_of(std::iter::once(entry));
            if !inside.is_disjoint(marks) {
                found.extend(inside);
            }
        }
        found
    }

    /// The files of the state folder, by their path in it, that contain one of these marks.
    pub(super) fn with_marks(&self, marks: &ContentMarks) -> impl Iterator<Item = &Path> {
        let stored = [&self.kept, &self.history, &self.slots, &self.trashed, &self.rejected, &self.pruned];
        let has_one = |entry: &SimEntry| !marks_of(std::iter::once(entry)).is_disjoint(marks);
        stored.into_iter().flatten().filter(move |(_, entry)| has_one(entry)).map(|(path, _)| &**path)
    }

    /// The marks in the user's files.
    pub(super) fn in_files(&self) -> ContentMarks {
        marks_of(self.files.values().filter(|entry| entry.kind == FileKind::File))
    }

    /// The marks in the originals of history, except in late writes.
    pub(super) fn originals(&self) -> ContentMarks {
        let late = self.late();
        marks_of(self.history.iter().filter(|(path, _)| !late.contains(path)).map(|(_, entry)| entry))
    }

    /// The marks in kept contents.
    pub(super) fn kept(&self) -> ContentMarks {
        marks_of(self.kept.iter().map(|(_, entry)| entry))
    }

    /// The originals in history, and pruned ones, that differ from their journals.
    pub(super) fn late(&self) -> &BTreeSet<PathBuf> {
        self.late.get_or_init(|| self.find_late())
    }

    fn find_late(&self) -> BTreeSet<PathBuf> {
        let mut late = BTreeSet::new();
        for (folder, bytes) in &self.journals {
            let Ok(journal) = journal::scan(bytes) else { continue };
            let slots = self.history.iter().chain(&self.pruned).filter(|(path, _)| path.starts_with(folder));
            // An original with other names was copied: a program that writes to it finds it there.
            for (path, entry) in slots.filter(|(_, entry)| entry.names < 2) {
                let slot = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse().ok());
                let before = slot.and_then(|slot| journal.entries.get(EntryIndex(slot))?.change.before());
                if before.is_some_and(|before| before.digest != Digest::of(&entry.content)) {
                    late.insert(path.clone());
                }
            }
        }
        late
    }
}

pub(super) fn marks_of<'e>(entries: impl Iterator<Item = &'e SimEntry>) -> ContentMarks {
    let mut marks = ContentMarks::new();
    for entry in entries {
        collect_marks(&entry.content, &mut marks);
    }
    marks
}

/// The marks in a text: a capital letter and a number.
#[must_use]
pub fn marks(text: &str) -> ContentMarks {
    let mut marks = ContentMarks::new();
    collect_marks(text.as_bytes(), &mut marks);
    marks
}

fn collect_marks(content: &[u8], to: &mut ContentMarks) {
    // A power loss leaves zeros where something was appended after it.
    for word in content.split(|byte| byte.is_ascii_whitespace() || *byte == 0) {
        let [letter @ b'A'..=b'Z', digits @ ..] = word else { continue };
        if let Some(number) = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()) {
            to.insert((*letter, number));
        }
    }
}

/// A mark in its written form.
pub(super) fn mark_text((letter, number): (u8, u32)) -> String {
    format!("{}{number}", char::from(letter))
}

/// Returns whether two entries look the same to a user: content, mode, owner, group, attributes and flags.
pub(super) fn alike(a: Option<&SimEntry>, b: Option<&SimEntry>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => a.kind == b.kind && a.content == b.content && same_metadata(a, b),
        _ => false,
    }
}

/// The paths at which two workspaces look different.
pub(super) fn differences<'f>(a: &'f UserFiles, b: &'f UserFiles) -> BTreeSet<&'f PathBuf> {
    a.keys().chain(b.keys()).filter(|path| !alike(a.get(*path), b.get(*path))).collect()
}
