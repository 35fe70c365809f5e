//! Finds reasons for a commit to fail before anything is written; a commit and a dry run use it alike.

use std::collections::{BTreeMap, HashSet};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::prepared::Prepared;
use super::project;
use crate::engine::Engine;
use crate::engine::store::state::{StateFolder, StateLookup};
use crate::error::{Error, ErrorKind, NextStep, Result};
use crate::fs::Name;
use crate::journal::record;
use crate::limits;
use crate::path::RelPath;
use crate::path::bounds::{REPOSITORY_NAMES, is_repository, leads_to};
use crate::plan::{Entry, New, PlannedChange};

/// Refuses a promise against power loss where nothing can keep it.
pub(crate) fn check_durable(state: &StateFolder) -> Result<()> {
    let system = state.file_system()?;
    if system.keeps_names() {
        return Ok(());
    }
    let root = state.workspace.root.path();
    let message = format!(
        "{} is on {}, through which no name can be made durable on the other machine: a commit cannot be safe against its \
         power loss, only against a killed process",
        root.display(),
        system.name
    );
    Err(Error::new(ErrorKind::UnsupportedFileSystem, message).at(root).with_next([NextStep::ProcessOnly]))
}

impl Engine {
    /// Verifies that what is prepared can be committed here. Called before the state folder is made, so that a refusal
    /// leaves nothing behind. Returns the uppermost folders of its other file systems.
    pub(crate) fn check_possible(&self, prepared: &Prepared, found: &StateLookup) -> Result<Vec<RelPath>> {
        check_entries(prepared.plan.entries.len())?;
        check_journal(prepared.plan.entries.iter().map(|entry| record::bytes_at_most(&entry.path)))?;
        let tops = self.other_file_systems(prepared, found)?;
        self.check_open_files(prepared)?;
        project::check(&self.workspace, prepared)?;
        self.check_repositories(prepared)?;
        self.check_groups(prepared, found)?;
        Ok(tops)
    }

    /// Refuses what a commit finds out as soon as it writes something, and warns of what it finds out by trying: for calls
    /// that write nothing.
    pub(crate) fn check_untried(&self, prepared: &Prepared, warnings: &mut Vec<String>) -> Result<()> {
        let (fs, root) = (self.workspace.fs(), &self.workspace.root);
        let asked = |e| Error::io("ask for the mount of", root.path(), e);
        if prepared.plan.is_empty() {
            return Ok(());
        }
        if fs.is_read_only(root).map_err(asked)? {
            let message = format!("{} is on a file system that is mounted read-only", root.path().display());
            return Err(Error::new(ErrorKind::ReadOnlyFs, message).at(root.path()));
        }
        let leaves =
            |entry: &&Entry| matches!(entry.change, PlannedChange::RemoveFolder | PlannedChange::FolderToFile(_));
        let Some(folder) = prepared.plan.entries.iter().find(leaves) else { return Ok(()) };
        if !fs.moves_folders(root).map_err(asked)? {
            warnings.push(format!(
                "{} is on an overlay without redirect_dir: if it is a folder of a lower layer, which only a commit finds out, \
                 it cannot be removed, and the commit is refused (CROSS_DEVICE)",
                folder.path
            ));
        }
        Ok(())
    }

    /// Refuses to make a folder a git repository, from what is there and what the transaction makes. What it removes
    /// counts as well: it is there until it is swapped.
    fn check_repositories(&self, prepared: &Prepared) -> Result<()> {
        if self.bounds.allows_vcs() {
            return Ok(());
        }
        let stays = |entry: &&Entry| !matches!(entry.change, PlannedChange::Delete(_) | PlannedChange::RemoveFolder);
        let is_one = |entry: &&Entry, name: &str| leads_to(entry.path.name().as_bytes(), name);
        let mut made: BTreeMap<&Path, Vec<&Entry>> = BTreeMap::new();
        for entry in prepared.plan.entries.iter().filter(stays) {
            if REPOSITORY_NAMES.iter().any(|name| is_one(&entry, name)) {
                made.entry(entry.path.parent()).or_default().push(entry);
            }
        }
        for (folder, entries) in made {
            let is_repository = is_repository(|name| {
                if entries.iter().any(|entry| is_one(entry, &name.to_ascii_lowercase())) {
                    return Ok(true);
                }
                let Some((_, folder)) = prepared.parents.get(folder) else { return Ok(false) };
                let name = Name::new(folder, name);
                Ok(self.workspace.stat(name)?.is_some())
            })?;
            if is_repository {
                let (entry, folder) = (entries[0], self.root().join(folder));
                let message = format!(
                    "{} would make {} a folder that git takes for a repository, whose config it runs as commands: give \
                     the file another name; only whoever starts txedit can allow it",
                    entry.path,
                    folder.display()
                );
                let error = Error::new(ErrorKind::PathDenied, message).at(entry.path.as_path());
                let error = error.with_next([NextStep::AllowVcs]);
                return Err(error.asked_by(entry.asked_by));
            }
        }
        Ok(())
    }

    /// Verifies that enough folders can be open for this transaction, for its rollback and for its undo: what could be
    /// committed but not undone is refused.
    fn check_open_files(&self, prepared: &Prepared) -> Result<()> {
        let is_new = |change: &PlannedChange| matches!(change, PlannedChange::Folder | PlannedChange::FileToFolder(_));
        let new = prepared.plan.entries.iter().filter(|entry| is_new(&entry.change)).count();
        // With those above them: a rollback makes again what a check, or another program, removed.
        let folders: HashSet<&Path> = prepared.parents.keys().flat_map(|path| path.ancestors()).collect();
        let folders = folders.len() + new;
        let needed = folders as u64 + limits::SPARE_OPEN_FILES;
        if needed <= self.open_files {
            return Ok(());
        }
        let message = format!(
            "{folders} folders are touched, those above them included, which takes {needed} open files, and {} are allowed; \
             split the request, or raise the limit (ulimit -n)",
            self.open_files
        );
        Err(Error::new(ErrorKind::RequestTooLarge, message))
    }

    /// Verifies that each new file and folder can be given its group, and that an undo could give its own to each folder
    /// that goes: a group of this process, unless the file system gives files the group of their folder (`grpid`), which
    /// the state folder shows.
    fn check_groups(&self, prepared: &Prepared, found: &StateLookup) -> Result<()> {
        let host = self.workspace.host()?;
        let Some(groups) = host.groups else { return Ok(()) };
        let handed_on = if let StateLookup::State(state) = found { Some(state.stat.group) } else { None };
        let group_of = |new: &New| match new.metadata_of {
            Some(source) => Some(prepared.sources[source].snapshot.stat.group),
            None => new.state.access.map(|access| access.group),
        };
        let is_undo = !prepared.origin.reverts.is_empty();
        let going =
            |path: &RelPath| prepared.parents.get(path.as_path()).filter(|_| !is_undo).map(|(stat, _)| stat.group);
        for entry in &prepared.plan.entries {
            let (new, gone) = match &entry.change {
                PlannedChange::Edit(_, new) | PlannedChange::Create(new) => (group_of(new), None),
                PlannedChange::FolderToFile(new) => (group_of(new), going(&entry.path)),
                PlannedChange::RemoveFolder => (None, going(&entry.path)),
                PlannedChange::Folder | PlannedChange::FileToFolder(_) => {
                    (prepared.folder_metadata.get(&entry.path).map(|metadata| metadata.group), None)
                }
                PlannedChange::Delete(_) => continue,
            };
            let is_foreign = |group: &u32| !groups.contains(group) && handed_on != Some(*group);
            let message = if let Some(group) = new.filter(is_foreign) {
                format!(
                    "{} must belong to group {group}, which you are not in, and you cannot give it to that (chgrp it to a \
                     group of yours, or work as somebody who is in that one)",
                    entry.path
                )
            } else if let Some(group) = gone.filter(is_foreign) {
                format!(
                    "{} belongs to group {group}, which you are not in, and to which an undo could not give it back (chgrp \
                     it to a group of yours, or work as somebody who is in that one)",
                    entry.path
                )
            } else {
                continue;
            };
            let error = Error::new(ErrorKind::PermissionDenied, message).at(entry.path.as_path());
            return Err(error.asked_by(entry.asked_by));
        }
        Ok(())
    }
}

/// Refuses a transaction with more entries than a journal that is read: it could be neither recovered nor undone.
fn check_entries(count: usize) -> Result<()> {
    if count <= limits::ENTRIES {
        return Ok(());
    }
    let message = format!(
        "{count} files and folders would change, more than the {} of one transaction; split the request",
        limits::ENTRIES
    );
    Err(Error::new(ErrorKind::RequestTooLarge, message))
}

/// Refuses a transaction whose journal, of entries of these sizes, could be larger than one that is read: it could be
/// neither recovered nor undone.
fn check_journal(entries: impl Iterator<Item = u64>) -> Result<()> {
    // The header and the seal are no longer than a line may be.
    let bytes = entries.fold(2 * limits::JOURNAL_LINE_BYTES as u64, u64::saturating_add);
    if bytes <= limits::JOURNAL_BYTES {
        return Ok(());
    }
    let message = format!(
        "the names of the files are so long that the journal could have {bytes} bytes, more than the {} of one transaction; \
         split the request",
        limits::JOURNAL_BYTES
    );
    Err(Error::new(ErrorKind::RequestTooLarge, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_has_no_larger_journal_than_is_read() {
        // As many as there can be, with ordinary names; and with the longest that there can be.
        check_journal(std::iter::repeat_n(1_500, limits::ENTRIES)).unwrap();
        let longest = limits::JOURNAL_LINE_BYTES as u64;
        let refused = check_journal(std::iter::repeat_n(longest, limits::ENTRIES)).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::RequestTooLarge);
        let room = limits::JOURNAL_BYTES - 2 * longest;
        check_journal([room].into_iter()).unwrap();
        assert!(check_journal([room, 1].into_iter()).is_err());
    }

    #[test]
    fn a_transaction_has_no_more_entries_than_its_journal_is_read_with() {
        check_entries(limits::ENTRIES).unwrap();
        assert_eq!(check_entries(limits::ENTRIES + 1).unwrap_err().kind(), ErrorKind::RequestTooLarge);
    }
}
