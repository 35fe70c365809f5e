//! Checks the promise in one world, as far as that is possible.
//!
//! - Before any recovery, every path that no foreign program holds is as in one of the allowed states. After a report
//!   only the reported state is allowed.
//! - After recovery, all paths that no foreign program holds are together as in one of the allowed states.
//! - No original content and no foreign content is out of reach.
//! - `txn/` is empty unless a person must decide, which is never needed without foreign programs; `trash/` holds only
//!   what was rolled back, as long as a program may still have it open.
//! - A second recovery changes nothing.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::foreign::{Foreign, ForeignDeed};
use super::script::{Acts, Script};
use super::world::{UserFiles, WorkspaceTree, same, same_metadata};
use crate::fs::FileKind;
use crate::fs::sim::SimEntry;

/// A broken promise, and the events that led to it.
#[derive(Debug, Clone)]
pub struct Violation {
    /// The broken promise.
    pub what: String,
    /// The events, in order.
    pub trace: Vec<String>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.trace {
            writeln!(f, "  {line}")?;
        }
        write!(f, "=> {}", self.what)
    }
}

impl std::error::Error for Violation {}

/// The expectations that a world is checked against.
pub(super) trait Judge: Clone {
    /// The range of allowed states: worlds that look alike and have the same range are checked once.
    fn allowed(&self) -> (usize, usize);
    /// The progress of the script.
    fn acts(&self) -> Acts;
    /// Returns whether foreign programs were at work, so that a person may be asked to decide.
    fn somebody_else(&self) -> bool;
    /// Before recovery: checks each path by itself.
    fn check_each(&self, seen: &WorkspaceTree) -> Result<(), String>;
    /// After recovery: checks all paths together. Returns the expectations from now on, since the state was reported.
    fn check_all(&self, seen: &WorkspaceTree) -> Result<Self, String>;
    /// Checks that every precious content that `before` had is still in reach in `after`.
    fn check_reach(&self, before: &WorkspaceTree, after: &WorkspaceTree, required: bool) -> Result<(), String>;
}

impl Judge for Promise {
    fn allowed(&self) -> (usize, usize) {
        (self.from, self.to)
    }

    fn acts(&self) -> Acts {
        self.acts
    }

    fn somebody_else(&self) -> bool {
        !self.held.is_empty() || !self.changed_metadata.is_empty()
    }

    fn check_each(&self, seen: &WorkspaceTree) -> Result<(), String> {
        Self::check_each(self, seen)
    }

    fn check_all(&self, seen: &WorkspaceTree) -> Result<Self, String> {
        Self::check_all(self, seen).map(|state| self.reported(state))
    }

    fn check_reach(&self, before: &WorkspaceTree, after: &WorkspaceTree, required: bool) -> Result<(), String> {
        Self::check_reach(self, before, after, required)
    }
}

/// The expectations about the world of one script.
#[derive(Debug, Clone)]
pub(super) struct Promise {
    /// The user's files after each number of acts. Strict up to `acked`: those were seen in this very run.
    pub(super) states: Arc<Vec<UserFiles>>,
    /// The number of states that were seen in this run: for these, inodes and times are compared as well.
    pub(super) seen: usize,
    /// The first state that is allowed.
    pub(super) from: usize,
    /// The last state that is allowed.
    pub(super) to: usize,
    /// The progress of the script, which a recovery does not change.
    pub(super) acts: Acts,
    /// Paths that a foreign program changed.
    pub(super) held: Arc<BTreeSet<PathBuf>>,
    /// True if a check is run: its changes before the report are ignored, and files that are rolled back get the
    /// current time.
    pub(super) checked: bool,
    /// True if names change places step by step: until a recovery a file may be missing.
    pub(super) has_gap: bool,
    /// Files that are overwritten in place: until a recovery they may be torn.
    pub(super) overwritten: Arc<BTreeSet<PathBuf>>,
    /// Contents of foreign programs, which must not be lost once they exist.
    pub(super) precious: Arc<BTreeSet<PreciousContent>>,
    /// Folders that a foreign program moves: everything beneath them is its own.
    pub(super) moved: Arc<Vec<PathBuf>>,
    /// Files whose mode, owner or attributes foreign programs change at any time: only their content is compared.
    pub(super) changed_metadata: Arc<BTreeSet<PathBuf>>,
    /// Those changes, which must not be reverted.
    pub(super) given: Arc<Vec<GivenMetadata>>,
}

impl Promise {
    /// The expectations in the presence of these foreign programs, without any states yet.
    pub(super) fn beside<'f>(foreign: &(impl IntoIterator<Item = &'f Foreign> + Clone), script: &Script) -> Self {
        let foreign = || foreign.clone().into_iter();
        Self {
            states: Arc::default(),
            seen: 1,
            from: 0,
            to: 0,
            acts: Acts { done: 0, begun: 0 },
            held: Arc::new(foreign().flat_map(Foreign::held).collect()),
            checked: script.is_checked(),
            has_gap: script.has_gap(),
            overwritten: Arc::new(script.all_overwritten().cloned().collect()),
            precious: Arc::default(),
            moved: Arc::new(foreign().flat_map(Foreign::moved).collect()),
            changed_metadata: Arc::new(foreign().filter_map(Foreign::changed_metadata).collect()),
            given: Arc::default(),
        }
    }

    /// The same with only this state allowed.
    pub(super) fn reported(&self, state: usize) -> Self {
        Self { from: state, to: state, ..self.clone() }
    }

    /// Adds contents and metadata that must not be lost.
    pub(super) fn add(
        &mut self,
        precious: impl Iterator<Item = PreciousContent>,
        given: impl Iterator<Item = GivenMetadata>,
    ) {
        let mut all = BTreeSet::clone(&self.precious);
        all.extend(precious);
        self.precious = Arc::new(all);
        self.given = Arc::new(given.filter(|given| !given.is_decided_by(&self.states)).collect());
    }

    /// Checks that no foreign mode, owner or attribute was lost that was there `before`, on the file that it was given
    /// to.
    pub(super) fn check_given(&self, before: Option<&WorkspaceTree>, after: &WorkspaceTree) -> Result<(), String> {
        let was_there = |given: &&GivenMetadata| {
            let first = self.states.first().and_then(|files| files.get(&given.path));
            before.is_none_or(|before| given.is_there(before, first))
        };
        match self.given.iter().filter(was_there).find(|given| given.is_undone(after)) {
            Some(given) => Err(format!(
                "of {}, mode, owner or attributes that were given to it came back: {}",
                given.path.display(),
                told(&after.files, &given.path)
            )),
            None => Ok(()),
        }
    }

    fn allows(&self, state: usize, path: &PathBuf, seen: &UserFiles) -> bool {
        let expected = self.states[state].get(path);
        let untouched = same(expected, self.states[self.seen - 1].get(path), true);
        let found = seen.get(path);
        if self.changed_metadata.contains(path) {
            let content = |entry: &SimEntry| (entry.kind, entry.content.clone());
            return found.map(content) == expected.map(content);
        }
        if found.is_some() && self.is_brought_along(state, path) {
            return true;
        }
        if self.checked
            && let (Some(found), Some(expected)) = (found, expected)
        {
            let mut timed = SimEntry { modified: expected.modified, ..found.clone() };
            // A power loss may take metadata that the check gave to files without a sync, from one file and not from
            // another.
            if self.has_metadata(path, found) {
                let SimEntry { mode, user, group, flags, extended, .. } = expected.clone();
                timed = SimEntry { mode, user, group, flags, extended, ..timed };
            }
            return same(Some(&timed), Some(expected), state < self.seen || untouched);
        }
        same(found, expected, state < self.seen || untouched)
    }

    /// Returns whether what comes to this path was at one that a foreign program holds: a rename brings along what that
    /// program had made of it before it was read.
    fn is_brought_along(&self, state: usize, path: &PathBuf) -> bool {
        // A symlink is made anew where it is moved to: its target tells it.
        let link = |state: usize, path: &PathBuf| {
            let entry = self.states[state].get(path).filter(|entry| entry.kind == FileKind::Symlink);
            entry.map(|entry| &entry.content)
        };
        let (here, is_new) = (link(state, path), !self.states[0].contains_key(path));
        here.is_some() && is_new && self.held.iter().any(|held| here == link(0, held))
    }

    /// Returns whether a file has the permissions and attributes that it has in one of the states.
    fn has_metadata(&self, path: &PathBuf, found: &SimEntry) -> bool {
        self.states.iter().filter_map(|files| files.get(path)).any(|entry| same_metadata(entry, found))
    }

    /// Returns whether this is a folder that contains a foreign file: it stays, whatever happens to the transaction
    /// that made it.
    fn shelters(&self, path: &PathBuf, seen: &UserFiles) -> bool {
        let is_folder = seen.get(path).is_some_and(|entry| entry.kind == FileKind::Folder);
        is_folder && self.held.iter().any(|held| held != path && held.starts_with(path) && seen.contains_key(held))
    }

    fn paths(&self, seen: &UserFiles) -> BTreeSet<PathBuf> {
        let known = self.states[self.from..=self.to].iter().flat_map(UserFiles::keys);
        let is_moved = |path: &PathBuf| self.moved.iter().any(|moved| path.starts_with(moved));
        let is_mine = |path: &&PathBuf| !self.held.contains(*path) && !is_moved(path);
        let all = known.chain(seen.keys()).filter(is_mine).filter(|path| !self.shelters(path, seen));
        all.cloned().collect()
    }

    /// Before recovery: checks each path by itself.
    pub(super) fn check_each(&self, seen: &WorkspaceTree) -> Result<(), String> {
        if self.checked && self.from < self.to {
            return Ok(());
        }
        for path in self.paths(&seen.files) {
            let may_be_torn = self.overwritten.contains(&path) && self.from < self.to;
            if may_be_torn || self.has_gap && !seen.files.contains_key(&path) {
                continue;
            }
            if !(self.from..=self.to).any(|state| self.allows(state, &path, &seen.files)) {
                return Err(format!(
                    "without recovery, {} is {}; allowed: {}",
                    path.display(),
                    told(&seen.files, &path),
                    self.told(&path)
                ));
            }
        }
        Ok(())
    }

    /// After recovery: checks all paths together. Returns the state that fits.
    pub(super) fn check_all(&self, seen: &WorkspaceTree) -> Result<usize, String> {
        let paths = self.paths(&seen.files);
        let is = |state: &usize| paths.iter().all(|path| self.allows(*state, path, &seen.files));
        (self.from..=self.to).rev().find(is).ok_or_else(|| {
            let each: Vec<_> = paths
                .iter()
                .filter(|path| !(self.from..=self.to).all(|state| self.allows(state, path, &seen.files)))
                .map(|path| format!("{} is {}; allowed: {}", path.display(), told(&seen.files, path), self.told(path)))
                .collect();
            format!("after recovery, neither all-old nor all-new: {}", each.join("; "))
        })
    }

    fn told(&self, path: &PathBuf) -> String {
        let each: Vec<_> = self.states[self.from..=self.to].iter().map(|files| told(files, path)).collect();
        each.join(" or ")
    }

    /// Checks that every precious content that `before` had is still in reach in `after`.
    pub(super) fn check_reach(
        &self,
        before: &WorkspaceTree,
        after: &WorkspaceTree,
        required: bool,
    ) -> Result<(), String> {
        // The contents before an unfinished act, or after one that was acknowledged.
        // Whoever replaced a symlink that is moved has lost its target himself: what is staged is a copy of ours.
        let is_his = |path: &PathBuf, entry: &SimEntry| {
            let goes = self.states.last().is_some_and(|files| !files.contains_key(path));
            // What is overwritten has a copy, which is of no use once somebody else has written into the file itself.
            let is_overwritten = self.overwritten.contains(path);
            self.held.contains(path) && (is_overwritten || entry.kind == FileKind::Symlink && goes)
        };
        let files = self.states[..=self.from].iter().flatten().filter(|(path, entry)| !is_his(path, entry));
        let contents: BTreeSet<&Vec<u8>> =
            files.map(|(_, entry)| &entry.content).filter(|content| !content.is_empty()).collect();
        let original =
            |content: &Vec<u8>| PreciousContent { content: content.clone(), inode: None, may_be_late: false };
        for precious in contents.into_iter().map(original).chain(self.precious.iter().cloned()) {
            let rejected = before.rejected.iter().filter(|_| precious.may_be_late);
            // A copy of what is to be overwritten is of no use before the journal: it is where it was.
            let unnamed = before.unnamed.iter().filter(|_| self.overwritten.is_empty());
            let mut there = before.in_reach().chain(&before.slots).chain(unnamed).chain(rejected);
            let had = there.any(|entry| precious.is(entry));
            if had && !precious.is_in_reach(after, required) {
                return Err(format!("{precious} is out of reach"));
            }
        }
        if required { Ok(()) } else { self.check_given(Some(before), after) }
    }
}

/// Mode, owner or attributes that a foreign program gave to a file.
#[derive(Debug, Clone)]
pub(super) struct GivenMetadata {
    pub(super) path: PathBuf,
    /// The inode of the file.
    pub(super) inode: u64,
    pub(super) deed: ForeignDeed,
}

impl GivenMetadata {
    /// Returns whether the script itself sets or removes it.
    fn is_decided_by(&self, states: &[UserFiles]) -> bool {
        let mut on = states.iter().filter_map(|files| files.get(&self.path)).map(|entry| self.deed.is_on(entry));
        let first = on.next();
        on.any(|is_on| Some(is_on) != first)
    }

    /// Returns whether the file has it, at a place where a commit or its recovery can find it. If the `first` file is
    /// at the path, or has just come out of it, a new one in a slot was never at the path according to this disk: a power
    /// loss took its swap, and the foreign change with it.
    fn is_there(&self, seen: &WorkspaceTree, first: Option<&SimEntry>) -> bool {
        let at_path = seen.files.get(&self.path);
        let mut at_path_last = at_path.into_iter().chain(seen.came_out.iter().filter(|_| at_path.is_none()));
        let is_first = at_path_last.any(|now| first.is_some_and(|first| now.identity == first.identity));
        let slots = seen.slots.iter().filter(|_| !is_first);
        at_path
            .into_iter()
            .chain(slots)
            .filter(|entry| entry.identity.inode == self.inode)
            .any(|entry| self.deed.is_on(entry))
    }

    fn is_undone(&self, seen: &WorkspaceTree) -> bool {
        seen.files.get(&self.path).is_some_and(|entry| !self.deed.is_on(entry))
    }
}

/// A content that must not be lost once it exists.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PreciousContent {
    pub(super) content: Vec<u8>,
    /// The number of its inode, if a copy does not count.
    pub(super) inode: Option<u64>,
    /// True if it was written into a file that was no longer in place.
    pub(super) may_be_late: bool,
}

impl PreciousContent {
    fn is(&self, entry: &SimEntry) -> bool {
        entry.content == self.content && self.inode.is_none_or(|inode| inode == entry.identity.inode)
    }

    /// Returns whether a person who searches for it finds it; if `required`, also in the slots of a transaction that
    /// waits for a person.
    pub(super) fn is_in_reach(&self, seen: &WorkspaceTree, required: bool) -> bool {
        let late = seen.late.iter().chain(&seen.rejected).filter(|_| self.may_be_late);
        let slots = seen.slots.iter().filter(|_| required);
        seen.in_reach().chain(late).chain(slots).any(|entry| self.is(entry))
    }
}

impl fmt::Display for PreciousContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(&self.content))?;
        self.inode.map_or(Ok(()), |inode| write!(f, " in inode {inode}"))
    }
}

pub(super) fn told(files: &UserFiles, path: &PathBuf) -> String {
    files.get(path).map_or_else(
        || "missing".to_owned(),
        |entry| {
            let content = String::from_utf8_lossy(&entry.content);
            let identity = entry.identity.inode;
            let SimEntry { kind, mode, user, group, flags, extended, .. } = entry;
            let metadata = format!("mode {mode:o} owner {user}:{group} flags {flags:x} attributes {extended:?}");
            format!("{kind:?} {content:?} {metadata} inode {identity} at {}", entry.modified)
        },
    )
}
