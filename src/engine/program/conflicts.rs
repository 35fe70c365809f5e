//! What others did to the files that a program changed, too: which transactions it was, and how both sides differ from
//! what the program saw.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use crate::engine::history::{self, HistoryEntry};
use crate::engine::store::folder::name_of_original;
use crate::engine::store::lock::check_cancelled;
use crate::engine::store::state::{Section, StateFolder};
use crate::engine::view::WorkspaceView;
use crate::engine::{Engine, Run};
use crate::error::{Conflict, Detail, Error, Result};
use crate::fs::Name;
use crate::index::EntryIndex;
use crate::journal::reverse::is_as_left;
use crate::limits;
use crate::path::RelPath;
use crate::plan::FileState;
use crate::text::diff;
use crate::view::{TreeBefore, WrittenKind};

/// The largest file that is compared with another for a conflict.
pub(super) const DIFFED_BYTES: u64 = 1 << 20;

/// The transactions that were in history before a view was made.
#[derive(Debug)]
pub(super) struct CommittedBefore(HashSet<String>);

impl CommittedBefore {
    pub(super) fn list(state: &StateFolder) -> Result<Self> {
        Ok(Self(state.ids(Section::History)?.into_iter().collect()))
    }
}

/// What the program saw and did, and where to look for what others did.
pub(super) struct ConflictSides<'a> {
    pub(super) engine: &'a Engine,
    pub(super) state: &'a StateFolder,
    pub(super) view: &'a WorkspaceView<'a>,
    pub(super) before: &'a TreeBefore,
    pub(super) committed: &'a CommittedBefore,
    pub(super) run: Run<'a>,
}

/// A change of a file by a transaction.
struct LaterChange {
    id: String,
    entry: EntryIndex,
    before: Option<FileState>,
    after: Option<FileState>,
}

/// What the program saw of a file that a transaction changed since.
struct SeenFile {
    /// False if others changed it in front of the oldest transaction.
    is_original: bool,
    /// Its content, if that is still known; that of a missing file is empty.
    content: Option<Vec<u8>>,
}

impl ConflictSides<'_> {
    /// Adds to an error about conflicts who changed each file since the view was made, and what both sides did to it.
    pub(super) fn explained(&self, error: Error) -> Error {
        let Detail::Conflicts(conflicts) = error.details() else { return error };
        // Without it the error still holds.
        match self.each(conflicts.clone()) {
            Ok(conflicts) => error.detail(Detail::Conflicts(conflicts)),
            Err(_) => error,
        }
    }

    fn each(&self, conflicts: Vec<Conflict>) -> Result<Vec<Conflict>> {
        let changes = self.changes(&conflicts)?;
        let explained = conflicts.into_iter().enumerate().map(|(number, conflict)| {
            check_cancelled(self.run.cancel)?;
            let changes = changes.get(&conflict.path).map_or(&[][..], Vec::as_slice);
            self.one(conflict, changes, number < limits::FOREIGN_FILES)
        });
        explained.collect()
    }

    /// The changes of these files by transactions since the view was made, oldest first.
    fn changes(&self, conflicts: &[Conflict]) -> Result<HashMap<PathBuf, Vec<LaterChange>>> {
        let mut changes: HashMap<PathBuf, Vec<LaterChange>> =
            conflicts.iter().map(|conflict| (conflict.path.clone(), Vec::new())).collect();
        let ids = self.state.ids(Section::History)?;
        for id in ids.into_iter().filter(|id| !self.committed.0.contains(id)) {
            let Some(HistoryEntry::Ours(loaded)) = history::look(self.state, &id)? else { continue };
            for (entry, record) in loaded.journal.entries.numbered() {
                let Some(changes) = changes.get_mut(record.path.as_path()) else { continue };
                let (before, after) = (record.change.before().copied(), record.change.after().copied());
                changes.push(LaterChange { id: id.clone(), entry, before, after });
            }
        }
        Ok(changes)
    }

    fn one(&self, conflict: Conflict, changes: &[LaterChange], is_shown: bool) -> Result<Conflict> {
        let Ok(path) = RelPath::new(&conflict.path) else { return Ok(conflict) };
        let Some(oldest) = changes.first() else { return Ok(Conflict { by_another_program: true, ..conflict }) };
        let seen = self.seen(&path, oldest)?;
        let now = self.engine.state_at(&path, self.run)?;
        let found = changes.iter().skip(1).map(|change| change.before).chain([now]);
        let is_theirs =
            changes.iter().zip(found).all(|(change, found)| is_as_left(found.as_ref(), change.after.as_ref()));
        let mut changed_by: Vec<String> = changes.iter().map(|change| change.id.clone()).collect();
        changed_by.dedup();
        let conflict = Conflict { changed_by, by_another_program: !is_theirs || !seen.is_original, ..conflict };
        let (Some(content), true) = (seen.content, is_shown) else { return Ok(conflict) };
        let is_small = now.is_none_or(|now| now.size <= DIFFED_BYTES);
        let (Some(left), true) = (self.left_by_program(&path)?, is_small) else { return Ok(conflict) };
        let current = self.engine.current(&path, self.run.cancel)?.unwrap_or_default();
        let name = path.as_path().to_string_lossy();
        let to = |other: &[u8]| Some(diff::unified(&content, other, &name, &name, limits::DIFF_BYTES));
        Ok(Conflict { theirs: to(&current), ours: to(&left), ..conflict })
    }

    /// What the program saw: the original of the oldest transaction, unless others changed the file before that.
    fn seen(&self, path: &RelPath, oldest: &LaterChange) -> Result<SeenFile> {
        let none = SeenFile { is_original: false, content: None };
        let Some(before) = oldest.before else {
            let is_original = !self.before.has(path.as_path());
            return Ok(SeenFile { is_original, content: is_original.then(Vec::new) });
        };
        let Some(HistoryEntry::Ours(loaded)) = history::look(self.state, &oldest.id)? else { return Ok(none) };
        let folder = loaded.slots_of(&self.engine.workspace, oldest.entry)?;
        let slot = name_of_original(&self.engine.workspace, folder, &loaded.journal, oldest.entry)?;
        let Some(stat) = self.engine.workspace.stat(Name::new(folder, &slot))? else { return Ok(none) };
        let is_original =
            self.before.was_at(path.as_path(), stat.identity.inode) && stat.modified < self.before.since();
        if !is_original || before.size > DIFFED_BYTES {
            return Ok(SeenFile { is_original, content: None });
        }
        Ok(SeenFile { is_original, content: self.engine.original(&loaded, oldest.entry, self.run.cancel)? })
    }

    /// What the program left at a path: nothing where it deleted it; `None` for what is not compared.
    fn left_by_program(&self, path: &RelPath) -> Result<Option<Vec<u8>>> {
        let io = |e| Error::io("read", path.as_path(), e);
        let Some(layer) = self.view.layer() else { return Ok(None) };
        match layer.look(path.as_path()).map_err(io)? {
            None => Ok(Some(Vec::new())),
            Some(written) if written.kind == WrittenKind::Other || written.size > DIFFED_BYTES => Ok(None),
            Some(written) => layer.content(path.as_path(), written.kind).map(Some).map_err(io),
        }
    }
}
