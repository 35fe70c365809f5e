//! A program that makes changes, for messages and the log: how it ended, and what of its work does not count.

use std::path::Path;

use super::{CheckPlace, Dropped, Ended};
use crate::limits;

/// A program that was run, and what it wrote that is not in the transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProgramRun {
    /// The command as a person would type it.
    pub command: String,
    /// How it ended.
    pub ended: Ended,
    /// Where it ran.
    pub place: CheckPlace,
    /// Processes that it had left behind, which ended with the view.
    pub left_behind: Vec<String>,
    /// What it wrote that was left out.
    pub left_out: LeftOut,
    /// Files that others changed while it ran, and that it did not change: it may have read what they were before.
    pub changed_meanwhile: Dropped,
}

/// What a program wrote that is not in the transaction; it ended with the view.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct LeftOut {
    /// Files that a `.gitignore` names.
    pub ignored: Dropped,
    /// Files that no glob selects, or that one excludes.
    pub excluded: Dropped,
    /// Files of version control.
    pub version_control: Dropped,
    /// Pipes, sockets and devices.
    pub special: Dropped,
    /// New modes of folders that were there before.
    pub folder_modes: Dropped,
    /// New folders with an owner or attributes other than those that the folder above gives.
    pub folder_metadata: Dropped,
    /// New owners and attributes of files that were there before, in a copy, which has those of no file.
    pub file_metadata: Dropped,
    /// Files in whose place a folder stays, since something in it is left out.
    pub in_the_way: Dropped,
}

impl LeftOut {
    /// The files by the word for the reason.
    pub(crate) fn reasons(&self) -> [(&'static str, &Dropped); 8] {
        [
            ("ignored", &self.ignored),
            ("excluded", &self.excluded),
            ("version_control", &self.version_control),
            ("special", &self.special),
            ("folder_mode", &self.folder_modes),
            ("folder_metadata", &self.folder_metadata),
            ("file_metadata", &self.file_metadata),
            ("in_the_way", &self.in_the_way),
        ]
    }
}

impl Dropped {
    /// Counts a file, and keeps its name if it is among the first.
    pub(crate) fn note(&mut self, path: &Path) {
        self.count += 1;
        if self.paths.len() < limits::DROPPED_NAMES {
            self.paths.push(path.to_owned());
        }
    }
}
