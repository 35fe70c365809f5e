//! Views of a file system: a tree for tests, a digest for merging states, and `stat`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::super::{FileKind, Identity, Stat, Timestamp};
use super::disk::{APPEND_ONLY, Disk, IMMUTABLE, Id, Node, ROOT, SimBody};
use super::machine::Machine;
use super::store::Store;
use crate::digest::Digest;
use crate::errno::Errno;

/// A file, folder, symlink or special file at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimEntry {
    /// The kind of file.
    pub kind: FileKind,
    /// The bytes of a file, the target of a symlink.
    pub content: Vec<u8>,
    /// Permission bits, set-id and sticky bits.
    pub mode: u32,
    /// The owner.
    pub user: u32,
    /// The group.
    pub group: u32,
    /// The inode flags.
    pub flags: u32,
    /// Extended attributes, ACLs among them: name and value, sorted by name.
    pub extended: Vec<(OsString, Vec<u8>)>,
    /// The number of its names (hard links).
    pub names: u64,
    /// The inode; on an overlay without its birth time, which changes when it is copied up.
    pub identity: Identity,
    /// The last change of the content.
    pub modified: Timestamp,
}

/// All files and folders by absolute path, without the root folder.
pub type SimTree = BTreeMap<PathBuf, SimEntry>;

fn identity(machine: &Machine, node: &Node) -> Identity {
    Identity { inode: node.number, born: machine.volume(node.mount).birth_times.then_some(node.born) }
}

fn content(node: &Node) -> &[u8] {
    match &node.body {
        SimBody::File(bytes) => bytes,
        SimBody::Symlink(target) => target.as_os_str().as_bytes(),
        SimBody::Folder(_) | SimBody::Special => &[],
    }
}

/// Calls `see` with every name in path order, a folder before what is in it.
fn visit(disk: &Disk, folder: Id, path: &Path, see: &mut impl FnMut(&Path, &Node)) {
    for (name, id) in disk.get(folder).and_then(Node::entries).into_iter().flatten() {
        let Some(node) = disk.get(*id) else { continue };
        let path = path.join(name);
        see(&path, node);
        visit(disk, *id, &path, see);
    }
}

fn entry(machine: &Machine, node: &Node) -> SimEntry {
    let identity = identity(machine, node);
    // No user tells a file from itself before it was copied up.
    let born = identity.born.filter(|_| !machine.volume(node.mount).is_layered);
    SimEntry {
        kind: node.kind(),
        content: content(node).to_vec(),
        mode: node.metadata.mode,
        user: node.metadata.user,
        group: node.metadata.group,
        flags: node.metadata.flags,
        extended: node.metadata.extended.clone(),
        names: node.names,
        identity: Identity { born, ..identity },
        modified: node.modified,
    }
}

pub(super) fn tree(disk: &Disk, machine: &Machine) -> SimTree {
    let mut tree = SimTree::new();
    visit(disk, ROOT, Path::new("/"), &mut |path, node| drop(tree.insert(path.to_owned(), entry(machine, node))));
    tree
}

/// The content of a folder by relative path, a folder before what is in it.
pub(super) fn entries(disk: &Disk, folder: Id, machine: &Machine) -> Vec<(PathBuf, SimEntry)> {
    let mut entries = Vec::new();
    visit(disk, folder, Path::new(""), &mut |path, node| entries.push((path.to_owned(), entry(machine, node))));
    entries
}

/// Appends bytes, preceded by their number.
fn put(to: &mut Vec<u8>, bytes: &[u8]) {
    to.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    to.extend_from_slice(bytes);
}

fn put_time(to: &mut Vec<u8>, time: Timestamp) {
    to.extend_from_slice(&time.seconds.to_le_bytes());
    to.extend_from_slice(&time.nanos().to_le_bytes());
}

/// The digest of an inode without its identity, its times, and the names in it.
fn digest_of(node: &Node) -> Digest {
    let mut bytes = vec![match node.kind() {
        FileKind::File => 0,
        FileKind::Folder => 1,
        FileKind::Symlink => 2,
        FileKind::Special => 3,
    }];
    let metadata = &node.metadata;
    for number in [metadata.mode, metadata.user, metadata.group, metadata.flags] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    for (name, value) in &metadata.extended {
        put(&mut bytes, name.as_bytes());
        put(&mut bytes, value);
    }
    bytes.extend_from_slice(&(metadata.extended.len() as u64).to_le_bytes());
    put(&mut bytes, content(node));
    Digest::of(&bytes)
}

/// Appends the digest of an inode, its identity and its birth time.
pub(super) fn put_node(to: &mut Vec<u8>, disk: &Disk, id: Id, machine: &Machine) {
    let (Some(node), Some(digest)) = (disk.get(id), disk.digest(id, digest_of)) else { return to.push(0) };
    to.push(1);
    to.extend_from_slice(digest.as_bytes());
    let identity = identity(machine, node);
    to.extend_from_slice(&identity.inode.to_le_bytes());
    if let Some(born) = identity.born {
        put_time(to, born);
    }
}

/// The digest of everything visible, inode identities included, times (except birth times) only with `with_times`.
pub(super) fn digest(disk: &Disk, machine: &Machine, with_times: bool) -> Digest {
    let mut bytes = Vec::with_capacity(8192);
    put_folder(&mut bytes, disk, ROOT, machine, with_times);
    Digest::of(&bytes)
}

fn put_folder(to: &mut Vec<u8>, disk: &Disk, folder: Id, machine: &Machine, with_times: bool) {
    let Some(entries) = disk.get(folder).and_then(Node::entries) else { return };
    to.extend_from_slice(&(entries.len() as u64).to_le_bytes());
    for (name, id) in entries {
        put(to, name.as_bytes());
        put_node(to, disk, *id, machine);
        if let Some(node) = disk.get(*id).filter(|_| with_times) {
            put_time(to, node.modified);
            put_time(to, node.changed);
        }
        put_folder(to, disk, *id, machine, with_times);
    }
}

/// The number of the file with this path where numbers go by name.
fn number_of(path: &Path) -> u64 {
    let digest = Digest::of(path.as_os_str().as_bytes());
    digest.as_bytes().iter().take(6).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

impl Store {
    /// The same as it is seen at this path.
    pub(super) fn stat_at(&self, id: Id, path: &Path) -> Result<Stat, Errno> {
        let mut stat = self.stat(id)?;
        if self.machine.volume(stat.mount).numbers_by_name && stat.kind != FileKind::Folder {
            stat.identity.inode = self.dealt_out(number_of(path), stat.mount);
        }
        Ok(stat)
    }

    /// The number that a file has now.
    fn dealt_out(&self, number: u64, mount: u64) -> u64 {
        let Machine { boot, forgotten, .. } = self.machine;
        let times = u64::from(boot) * 1_000 + u64::from(forgotten);
        if self.machine.volume(mount).forgets_numbers { number ^ times << 48 } else { number }
    }

    pub(super) fn stat(&self, id: Id) -> Result<Stat, Errno> {
        let mut stat = self.known(id)?;
        stat.identity.inode = self.dealt_out(stat.identity.inode, stat.mount);
        Ok(stat)
    }

    /// The same with the number that it has for the test, which never changes.
    pub(super) fn known(&self, id: Id) -> Result<Stat, Errno> {
        let node = self.node(id)?;
        let subfolders = |entries: &BTreeMap<_, Id>| {
            entries.values().filter(|id| self.live.get(**id).is_some_and(Node::is_folder)).count() as u64
        };
        Ok(Stat {
            kind: node.kind(),
            identity: identity(&self.machine, node),
            device: self.machine.device(node.mount),
            mount: node.mount,
            size: content(node).len() as u64,
            modified: node.modified,
            changed: node.changed,
            mode: node.metadata.mode,
            user: node.metadata.user,
            group: node.metadata.group,
            links: match node.entries() {
                Some(_) if node.names > 0 && !self.machine.volume(node.mount).counts_folders => 2,
                Some(entries) if node.names > 0 => 2 + subfolders(entries),
                _ => node.names,
            },
            mount_root: node.mount_root,
            immutable: node.has_flag(IMMUTABLE),
            append_only: node.has_flag(APPEND_ONLY),
        })
    }
}
