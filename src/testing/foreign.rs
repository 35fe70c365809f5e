//! Foreign programs: their changes to a path while the engine works.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use super::check::{GivenMetadata, PreciousContent};
use super::run::lock;
use super::script::ROOT;
use super::world::{UserFiles, WorkspaceTree};
use crate::fs::Stat;
use crate::fs::sim::{SimEntry, SimFs, SimHeldFile};
use crate::identity::Identity;

/// The change that a foreign program makes to a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForeignDeed {
    /// Truncates the file and writes it again.
    Write(Vec<u8>),
    /// Writes a new file and renames it over the path.
    Replace(Vec<u8>),
    /// Makes a file at a free path.
    Create(Vec<u8>),
    /// Deletes the file.
    Delete,
    /// Deletes the file, if there is one, and creates another in its place: with the same inode number, if numbers are
    /// reused.
    Recreate(Vec<u8>),
    /// Appends to the file that it has had open since before the script began.
    AppendToOld(Vec<u8>),
    /// Opens the file as soon as a new one is at the path, and appends to it at its call, or after the script if there
    /// are no more calls: whatever happened to the file in between.
    AppendToNew(Vec<u8>),
    /// Writes the file again, and restores its modification time.
    WriteKeepingTime(Vec<u8>),
    /// `chmod`.
    Chmod(u32),
    /// `chown`, to a user and a group.
    Chown(u32, u32),
    /// Sets an extended attribute.
    SetAttribute(String, Vec<u8>),
    /// Removes an extended attribute.
    RemoveAttribute(String),
    /// Makes a symlink with this target and renames it over the path.
    Symlink(Vec<u8>),
    /// The same, with the time of the symlink that was there.
    SymlinkKeepingTime(Vec<u8>),
    /// Moves the folder there, and makes another in its place.
    MoveFolder(PathBuf),
}

impl ForeignDeed {
    /// Returns whether it changes the mode, the owner or an attribute, and no content.
    pub(super) const fn is_of_metadata(&self) -> bool {
        matches!(self, Self::Chmod(_) | Self::Chown(..) | Self::SetAttribute(..) | Self::RemoveAttribute(_))
    }

    /// Returns whether a file has the mode, owner and attributes that this deed sets.
    pub(super) fn is_on(&self, entry: &SimEntry) -> bool {
        let value = |name: &str| entry.extended.iter().find(|(it, _)| it == name).map(|(_, value)| value);
        match self {
            Self::Chmod(mode) => entry.mode == *mode,
            Self::Chown(user, group) => (entry.user, entry.group) == (*user, *group),
            Self::SetAttribute(name, wanted) => value(name) == Some(wanted),
            Self::RemoveAttribute(name) => value(name).is_none(),
            _ => true,
        }
    }
}

/// A deed at one point of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Foreign {
    /// The call before which it happens.
    pub call: u64,
    /// The absolute path.
    pub path: PathBuf,
    /// The deed.
    pub deed: ForeignDeed,
}

impl Foreign {
    /// The paths in the workspace that belong to this program from now on: what it changes, and what it makes to
    /// replace it. For a moved folder, everything beneath.
    pub(super) fn held(&self) -> Vec<PathBuf> {
        let path = inside(&self.path);
        match &self.deed {
            deed if deed.is_of_metadata() => Vec::new(),
            ForeignDeed::MoveFolder(to) => vec![path.to_owned(), inside(to).to_owned()],
            _ => {
                let mut aside = path.as_os_str().to_owned();
                aside.push(".foreign");
                vec![path.to_owned(), aside.into()]
            }
        }
    }

    /// The path of which it changes no more than mode, owner or attributes.
    pub(super) fn changed_metadata(&self) -> Option<PathBuf> {
        self.deed.is_of_metadata().then(|| inside(&self.path).to_owned())
    }

    /// The moved folders among them.
    pub(super) fn moved(&self) -> Vec<PathBuf> {
        if matches!(self.deed, ForeignDeed::MoveFolder(_)) { self.held() } else { Vec::new() }
    }
}

/// The content of the file at a path, or the target of the symlink itself.
fn content_at(machine: &SimFs, path: &Path) -> Option<Vec<u8>> {
    machine.read_link(path).or_else(|_| machine.read(path)).ok()
}

/// A path in the workspace.
fn inside(path: &Path) -> &Path {
    path.strip_prefix(ROOT).unwrap_or(path)
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, bytes) = match &self.deed {
            ForeignDeed::Write(bytes) => ("writes", Some(bytes)),
            ForeignDeed::Replace(bytes) => ("replaces", Some(bytes)),
            ForeignDeed::Create(bytes) => ("creates", Some(bytes)),
            ForeignDeed::Delete => ("deletes", None),
            ForeignDeed::Recreate(bytes) => ("deletes and makes anew", Some(bytes)),
            ForeignDeed::AppendToOld(bytes) => ("appends to what was", Some(bytes)),
            ForeignDeed::AppendToNew(bytes) => ("appends to what came to", Some(bytes)),
            ForeignDeed::WriteKeepingTime(bytes) => ("writes, with its old time,", Some(bytes)),
            ForeignDeed::Symlink(target) => ("makes a symlink of", Some(target)),
            ForeignDeed::SymlinkKeepingTime(target) => ("makes a symlink, with the old time, of", Some(target)),
            ForeignDeed::Chmod(_) => ("changes the mode of", None),
            ForeignDeed::Chown(..) => ("changes the owner of", None),
            ForeignDeed::SetAttribute(..) => ("sets an attribute of", None),
            ForeignDeed::RemoveAttribute(_) => ("removes an attribute of", None),
            ForeignDeed::MoveFolder(_) => ("moves away, and makes anew,", None),
        };
        write!(f, "before call {} somebody {word} {}", self.call, self.path.display())?;
        bytes.map_or(Ok(()), |bytes| write!(f, ": {:?}", String::from_utf8_lossy(bytes)))
    }
}

/// A foreign program before its act.
#[derive(Debug)]
pub(super) struct ForeignProgram {
    foreign: Foreign,
    /// The file at the path before the script began.
    before: Option<Identity>,
    held: OnceLock<SimHeldFile>,
    has_acted: AtomicBool,
    /// True if it found a content of the script at its path.
    came_on_top: AtomicBool,
    known: BTreeSet<Vec<u8>>,
    left: Mutex<Option<PreciousContent>>,
    given: Mutex<Option<GivenMetadata>>,
    /// The user's files when it moved a folder.
    before_move: Mutex<Option<UserFiles>>,
}

/// Returns whether names change places in no way on the file system of a path.
fn can_only_overwrite(machine: &SimFs, path: &Path) -> bool {
    let mut is_it = false;
    let looked = machine.volume(path, |volume| {
        let moves = volume.exchange || volume.no_replace || volume.links && !volume.numbers_by_name;
        is_it = !moves;
    });
    looked.is_ok() && is_it
}

impl ForeignProgram {
    /// Opens the files that it needs, before the script begins.
    pub(super) fn start(machine: &SimFs, foreign: &Foreign, known: &BTreeSet<Vec<u8>>) -> Arc<Self> {
        let held = OnceLock::new();
        if let (ForeignDeed::AppendToOld(_), Ok(old)) = (&foreign.deed, machine.open(&foreign.path)) {
            held.get_or_init(|| old);
        }
        let before = machine.stat(&foreign.path).ok().map(|stat| stat.identity);
        let (foreign, known) = (foreign.clone(), known.clone());
        let (has_acted, came_on_top) = Default::default();
        let (left, given, before_move) = Default::default();
        Arc::new(Self { foreign, before, held, has_acted, came_on_top, known, left, given, before_move })
    }

    /// Acts, if this is its call. An act that fails has no effect.
    pub(super) fn step(&self, machine: &SimFs, call: u64) {
        self.watch(machine);
        if call == self.foreign.call {
            self.act(machine);
        }
    }

    /// Called after the script: a program that has a file open and has not written yet writes now.
    pub(super) fn end(&self, machine: &SimFs) {
        self.watch(machine);
        if self.held.get().is_some() && !self.has_acted.load(Ordering::Relaxed) {
            self.act(machine);
        }
    }

    /// Opens the new file at the path.
    fn watch(&self, machine: &SimFs) {
        if !matches!(self.foreign.deed, ForeignDeed::AppendToNew(_)) || self.held.get().is_some() {
            return;
        }
        let now = machine.stat(&self.foreign.path).ok().map(|stat| stat.identity);
        if let (true, Ok(new)) = (now != self.before, machine.open(&self.foreign.path)) {
            self.held.get_or_init(|| new);
        }
    }

    fn is_on_top(&self, machine: &SimFs) -> bool {
        let path = &self.foreign.path;
        let (now, content) = (machine.stat(path).ok().map(|stat| stat.identity), content_at(machine, path));
        let is_reached = self.held.get().is_none_or(|held| held.read().ok() == content);
        now != self.before && is_reached && content.is_some_and(|content| self.known.contains(&content))
    }

    /// Returns whether it changed what the script had put in place.
    pub(super) fn came_on_top(&self) -> bool {
        self.came_on_top.load(Ordering::Relaxed)
    }

    fn act(&self, machine: &SimFs) {
        let path = &self.foreign.path;
        self.has_acted.store(true, Ordering::Relaxed);
        self.came_on_top.store(self.is_on_top(machine), Ordering::Relaxed);
        // If another foreign program replaced or deleted the open file, the loss is not the engine's.
        let is_lost = self.held.get().is_some_and(SimHeldFile::was_dropped);
        let deed = &self.foreign.deed;
        if matches!(deed, ForeignDeed::MoveFolder(_)) {
            *lock(&self.before_move) = Some(WorkspaceTree::of(machine).files);
        }
        let result = match deed {
            ForeignDeed::Write(bytes) => machine.write_in_place(path, bytes),
            ForeignDeed::Replace(bytes) => machine.replace(path, bytes),
            ForeignDeed::Create(bytes) => machine.create(path, bytes),
            ForeignDeed::Delete => machine.delete(path),
            ForeignDeed::Recreate(bytes) => {
                // If there is nothing to delete, it only creates one.
                drop(machine.delete(path));
                machine.create(path, bytes)
            }
            ForeignDeed::AppendToOld(bytes) | ForeignDeed::AppendToNew(bytes) => {
                self.held.get().map_or(Ok(()), |held| held.append(bytes))
            }
            ForeignDeed::WriteKeepingTime(bytes) => machine.write_keeping_time(path, bytes),
            ForeignDeed::Symlink(target) => machine.replace_link(OsStr::from_bytes(target), path, false),
            ForeignDeed::SymlinkKeepingTime(target) => machine.replace_link(OsStr::from_bytes(target), path, true),
            ForeignDeed::Chmod(mode) => machine.set_mode(path, *mode),
            ForeignDeed::Chown(user, group) => machine.set_owner(path, *user, *group),
            ForeignDeed::SetAttribute(name, value) => machine.set_attribute(path, name, value),
            ForeignDeed::RemoveAttribute(name) => machine.remove_attribute(path, name),
            ForeignDeed::MoveFolder(to) => machine.rename(path, to).and_then(|()| machine.make_folders(path)),
        };
        if deed.is_of_metadata() {
            let inode = machine.stat(path).ok().map(|stat| stat.identity.inode);
            let given = inode.filter(|_| result.is_ok());
            *lock(&self.given) =
                given.map(|inode| GivenMetadata { path: inside(path).to_owned(), inode, deed: deed.clone() });
            return;
        }
        if result.is_ok() && !is_lost {
            let content = match self.held.get() {
                Some(held) => held.read().ok(),
                None => content_at(machine, path),
            };
            // A program that writes through its handle does not know the file's path.
            let may_be_late = matches!(self.foreign.deed, ForeignDeed::AppendToOld(_) | ForeignDeed::AppendToNew(_));
            // Of a file that is overwritten there is a copy.
            let is_copied = |stat: &Stat| stat.mount_root || can_only_overwrite(machine, path);
            let stat = machine.stat(path).ok().filter(|stat| !may_be_late && !is_copied(stat));
            let inode = stat.map(|stat| stat.identity.inode);
            let left = content.map(|content| PreciousContent { content, inode, may_be_late });
            *lock(&self.left) = left;
        }
    }

    /// The mode, owner or attributes that this program set, which nobody may revert.
    pub(super) fn given(&self) -> Option<GivenMetadata> {
        lock(&self.given).clone()
    }

    /// The folder that this program moved, and the user's files before; `None` if it has not.
    pub(super) fn before_move(&self) -> Option<(PathBuf, UserFiles)> {
        let files = lock(&self.before_move).clone()?;
        Some((inside(&self.foreign.path).to_owned(), files))
    }

    /// The content that this program left, which must not be lost. Writing a `known` content into an existing file adds
    /// nothing.
    pub(super) fn left(&self) -> Option<PreciousContent> {
        let makes_its_own = matches!(
            self.foreign.deed,
            ForeignDeed::Replace(_)
                | ForeignDeed::Create(_)
                | ForeignDeed::Recreate(_)
                | ForeignDeed::Symlink(_)
                | ForeignDeed::SymlinkKeepingTime(_)
        );
        let left = lock(&self.left).clone();
        left.filter(|left| makes_its_own || !self.known.contains(&left.content))
    }
}
