//! Foreign programs: what they may do to a path while the engine works.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::check::Precious;
use super::script::ROOT;
use crate::fs::sim::{Held, SimFs};

/// What a foreign program does to a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    /// Cuts the file to nothing and writes it anew.
    Write(Vec<u8>),
    /// Writes a new file and renames it over the path, whatever is there.
    Replace(Vec<u8>),
    /// Makes a file at a free path.
    Create(Vec<u8>),
    /// Deletes the file.
    Delete,
    /// Deletes the file, if there is one, and makes another in its place: where numbers are given again, with the number
    /// of the old one.
    Recreate(Vec<u8>),
    /// Writes at the end of the file that it has had open since before the script began.
    AppendToOld(Vec<u8>),
}

/// A deed at one point of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Foreign {
    /// Before which call.
    pub call: u64,
    /// To what: an absolute path.
    pub path: PathBuf,
    /// What.
    pub deed: Deed,
}

impl Foreign {
    /// The paths in the workspace that are this program's from now on: what it changes, and what it makes to replace it.
    pub(super) fn held(&self) -> [PathBuf; 2] {
        let path = self.path.strip_prefix(ROOT).unwrap_or(&self.path);
        let mut aside = path.as_os_str().to_owned();
        aside.push(".foreign");
        [path.to_owned(), aside.into()]
    }
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, bytes) = match &self.deed {
            Deed::Write(bytes) => ("writes", Some(bytes)),
            Deed::Replace(bytes) => ("replaces", Some(bytes)),
            Deed::Create(bytes) => ("creates", Some(bytes)),
            Deed::Delete => ("deletes", None),
            Deed::Recreate(bytes) => ("deletes and makes anew", Some(bytes)),
            Deed::AppendToOld(bytes) => ("appends to what was", Some(bytes)),
        };
        write!(f, "before call {} somebody {word} {}", self.call, self.path.display())?;
        bytes.map_or(Ok(()), |bytes| write!(f, ": {:?}", String::from_utf8_lossy(bytes)))
    }
}

/// A foreign program that is about to act.
#[derive(Debug)]
pub(super) struct Program {
    foreign: Foreign,
    held: Option<Held>,
    left: Mutex<Option<Precious>>,
}

impl Program {
    /// Opens what it needs, before the script begins.
    pub(super) fn start(machine: &SimFs, foreign: &Foreign) -> Arc<Self> {
        let held = match foreign.deed {
            Deed::AppendToOld(_) => machine.open(&foreign.path).ok(),
            _ => None,
        };
        Arc::new(Self { foreign: foreign.clone(), held, left: Mutex::default() })
    }

    /// Acts, if this is its call. What cannot be done is not done.
    pub(super) fn step(&self, machine: &SimFs, call: u64) {
        if call != self.foreign.call {
            return;
        }
        let path = &self.foreign.path;
        // Where another foreign program replaced or deleted the file that this one has open, the two lose it by themselves.
        let is_lost = self.held.as_ref().is_some_and(Held::was_dropped);
        let result = match &self.foreign.deed {
            Deed::Write(bytes) => machine.write_in_place(path, bytes),
            Deed::Replace(bytes) => machine.replace(path, bytes),
            Deed::Create(bytes) => machine.create(path, bytes),
            Deed::Delete => machine.delete(path),
            Deed::Recreate(bytes) => {
                // Where there is nothing to delete it only makes one.
                drop(machine.delete(path));
                machine.create(path, bytes)
            }
            Deed::AppendToOld(bytes) => self.held.as_ref().map_or(Ok(()), |held| held.append(bytes)),
        };
        if result.is_ok() && !is_lost {
            let content = match &self.held {
                Some(held) => held.read().ok(),
                None => machine.read(path).ok(),
            };
            // Whoever wrote by its old handle has no name for it.
            let inode = self.held.is_none().then(|| machine.stat(path).ok().map(|stat| stat.identity.inode)).flatten();
            let may_be_late = self.held.is_some();
            let left = content.map(|content| Precious { content, inode, may_be_late });
            *self.left.lock().unwrap_or_else(PoisonError::into_inner) = left;
        }
    }

    /// What this program left, and must not be lost. Who writes a `known` content into a file that is there has added
    /// nothing to it.
    pub(super) fn left(&self, known: &BTreeSet<Vec<u8>>) -> Option<Precious> {
        let makes_its_own = matches!(self.foreign.deed, Deed::Replace(_) | Deed::Create(_) | Deed::Recreate(_));
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner).clone();
        left.filter(|left| makes_its_own || !known.contains(&left.content))
    }
}
