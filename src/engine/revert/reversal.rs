//! The transactions that one revert undoes, put together as if they were one.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::cancel::CancelToken;
use crate::engine::Engine;
use crate::engine::history::Loaded;
use crate::engine::report::Reverted;
use crate::error::Result;
use crate::index::{EntryIndex, IndexVec};
use crate::journal::{Header, Record, RecordedChange};
use crate::path::RelPath;

/// The transactions that are reverted, and their changes: one for each path, from what the oldest of them found to what
/// the newest left.
pub(super) struct Reversal<'a> {
    /// The transactions, newest first; at least one.
    parts: &'a [Loaded],
    /// The changes of all of them together.
    pub(super) entries: Cow<'a, IndexVec<EntryIndex, Record>>,
    /// The changes that each entry is made of, newest first; `None` for a single transaction, whose entries they are.
    steps: Option<IndexVec<EntryIndex, Vec<RevertStep>>>,
}

/// A change of a path by one of the transactions.
#[derive(Debug, Clone, Copy)]
pub(super) struct RevertStep {
    /// The number of the transaction, the newest being 0.
    pub(super) part: usize,
    /// Its entry there.
    pub(super) entry: EntryIndex,
}

impl<'a> Reversal<'a> {
    /// Of these transactions, newest first.
    pub(super) fn of(parts: &'a [Loaded]) -> Self {
        if let [one] = parts {
            return Self { parts, entries: Cow::Borrowed(&one.journal.entries), steps: None };
        }
        // The order of the paths is that in which they were changed first.
        let mut order: Vec<&RelPath> = Vec::new();
        let mut steps: HashMap<&RelPath, Vec<RevertStep>> = HashMap::new();
        for (part, loaded) in parts.iter().enumerate().rev() {
            for (entry, record) in loaded.journal.entries.numbered() {
                let of_path = steps.entry(&record.path).or_insert_with(|| {
                    order.push(&record.path);
                    Vec::new()
                });
                of_path.insert(0, RevertStep { part, entry });
            }
        }
        let change = |step: &RevertStep| parts[step.part].journal.entries[step.entry].change;
        let mut entries = IndexVec::default();
        let mut kept = IndexVec::default();
        for path in order {
            let Some(steps) = steps.remove(path) else { continue };
            let (Some(newest), Some(oldest)) = (steps.first(), steps.last()) else { continue };
            let Some(change) = combined(change(oldest), change(newest)) else { continue };
            entries.push(Record { path: path.clone(), change });
            kept.push(steps);
        }
        Self { parts, entries: Cow::Owned(entries), steps: Some(kept) }
    }

    /// The changes that an entry is made of, newest first.
    pub(super) fn steps(&self, entry: EntryIndex) -> Cow<'_, [RevertStep]> {
        match &self.steps {
            Some(steps) => Cow::Borrowed(&steps[entry]),
            None => Cow::Owned(vec![RevertStep { part: 0, entry }]),
        }
    }

    /// The oldest change of an entry: its transaction has the original.
    pub(super) fn oldest(&self, entry: EntryIndex) -> RevertStep {
        self.steps.as_ref().and_then(|steps| steps[entry].last().copied()).unwrap_or(RevertStep { part: 0, entry })
    }

    pub(super) fn part(&self, step: RevertStep) -> &'a Loaded {
        &self.parts[step.part]
    }

    pub(super) fn record(&self, step: RevertStep) -> &'a Record {
        &self.part(step).journal.entries[step.entry]
    }

    /// Whose the transactions are, newest first.
    pub(super) fn reverted(&self) -> Vec<Reverted> {
        let of = |part: &Loaded| {
            let Header { id, owner, label, .. } = &part.journal.header;
            Reverted { id: id.clone(), owner: owner.to_string(), label: label.clone() }
        };
        self.parts.iter().map(of).collect()
    }

    /// The content before an entry.
    pub(super) fn original(&self, engine: &Engine, entry: EntryIndex, cancel: &CancelToken) -> Result<Option<Vec<u8>>> {
        let oldest = self.oldest(entry);
        engine.original(self.part(oldest), oldest.entry, cancel)
    }
}

/// The change from what `oldest` found to what `newest` left; `None` if that is the same.
fn combined(oldest: RecordedChange, newest: RecordedChange) -> Option<RecordedChange> {
    let (before, after) = (oldest.before().copied(), newest.after().copied());
    let (folder_before, folder_after) = (oldest.folder_before().copied(), newest.folder_after().copied());
    let (original, staged) = (oldest.original().copied(), newest.staged().copied());
    Some(match (before, after, folder_before, folder_after) {
        (Some(before), Some(after), ..) if before == after => return None,
        (Some(before), Some(after), ..) => RecordedChange::Edit { before, after, staged: staged?, original: original? },
        (Some(before), None, _, Some(_)) => {
            RecordedChange::FileToFolder { before, staged: staged?, original: original? }
        }
        (Some(before), None, ..) => RecordedChange::Delete { before, original: original? },
        (None, Some(after), Some(original), _) => RecordedChange::FolderToFile { after, staged: staged?, original },
        (None, Some(after), None, _) => RecordedChange::Create { after, staged: staged? },
        (None, None, None, Some(staged)) => RecordedChange::Folder { staged },
        (None, None, Some(original), None) => RecordedChange::RemoveFolder { original },
        (None, None, ..) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Digest;
    use crate::identity::Identity;
    use crate::plan::FileState;

    fn inode(inode: u64) -> Identity {
        Identity { inode, born: None }
    }

    fn file(text: &str) -> FileState {
        FileState { digest: Digest::of(text.as_bytes()), size: text.len() as u64, mode: 0o644, access: None }
    }

    #[test]
    fn two_changes_of_a_path_are_one() {
        let (a, b, c) = (file("a"), file("b"), file("c"));
        let create = RecordedChange::Create { after: a, staged: inode(1) };
        let first = RecordedChange::Edit { before: a, after: b, staged: inode(2), original: inode(1) };
        let second = RecordedChange::Edit { before: b, after: c, staged: inode(3), original: inode(2) };
        let back = RecordedChange::Edit { before: b, after: a, staged: inode(4), original: inode(2) };
        let delete = RecordedChange::Delete { before: c, original: inode(3) };
        let folder = RecordedChange::Folder { staged: inode(5) };
        let to_folder = RecordedChange::FileToFolder { before: c, staged: inode(6), original: inode(3) };
        let to_file = RecordedChange::FolderToFile { after: b, staged: inode(7), original: inode(5) };
        let removed = RecordedChange::RemoveFolder { original: inode(8) };
        let cases = [
            (first, second, Some(("edit", Some(a), Some(c)))),
            (first, back, None),
            (create, second, Some(("create", None, Some(c)))),
            (create, delete, None),
            (first, delete, Some(("delete", Some(a), None))),
            (delete, create, Some(("edit", Some(c), Some(a)))),
            (delete, folder, Some(("file_to_folder", Some(c), None))),
            (to_folder, to_file, Some(("edit", Some(c), Some(b)))),
            (folder, to_file, Some(("create", None, Some(b)))),
            (create, to_folder, Some(("folder", None, None))),
            (to_file, second, Some(("folder_to_file", None, Some(c)))),
            (to_file, delete, Some(("remove_folder", None, None))),
            (removed, create, Some(("folder_to_file", None, Some(a)))),
            (removed, folder, None),
        ];
        for (oldest, newest, expected) in cases {
            let together = combined(oldest, newest);
            let seen = together.map(|it| (it.kind(), it.before().copied(), it.after().copied()));
            assert_eq!(seen, expected, "{oldest:?} and then {newest:?}");
        }
    }
}
