//! Permissions, and the walk from a path to an inode.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use super::super::FileKind;
use super::disk::{APPEND_ONLY, IMMUTABLE, Id, Node, ROOT, SimBody};
use super::store::Store;
use crate::errno::Errno;

/// The user and group on whose behalf a call is made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Actor {
    pub(super) user: u32,
    pub(super) group: u32,
}

impl Actor {
    pub(super) const ROOT: Self = Self { user: 0, group: 0 };
}

pub(super) const READ: u32 = 4;
pub(super) const WRITE: u32 = 2;
pub(super) const EXECUTE: u32 = 1;

/// The most symlinks that a path may lead through.
const SYMLINKS: usize = 40;

/// Returns whether a name is one segment: [`OsFs`](super::super::OsFs) refuses anything else before it asks the kernel.
pub(super) fn is_segment(name: &OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    !matches!(bytes, b"" | b"." | b"..") && !bytes.contains(&b'/') && !bytes.contains(&0)
}

/// The longest name.
const NAME: usize = 255;

impl Store {
    /// Permits or refuses as the kernel's `inode_permission` does.
    pub(super) fn allow(&self, actor: Actor, node: &Node, bits: u32) -> Result<(), Errno> {
        if bits & WRITE != 0 {
            if self.machine.volume(node.mount).read_only {
                return Err(Errno::ROFS);
            }
            if node.has_flag(IMMUTABLE) {
                return Err(Errno::PERM);
            }
        }
        let mode = node.metadata.mode;
        if actor.user == 0 {
            let may = bits & EXECUTE == 0 || node.is_folder() || mode & 0o111 != 0;
            return if may { Ok(()) } else { Err(Errno::ACCESS) };
        }
        let given = if actor.user == node.metadata.user {
            mode >> 6
        } else if actor.group == node.metadata.group {
            mode >> 3
        } else {
            mode
        };
        if given & bits == bits { Ok(()) } else { Err(Errno::ACCESS) }
    }

    /// The entries of a folder, if `actor` may search it.
    pub(super) fn enter(&self, actor: Actor, folder: Id) -> Result<&BTreeMap<OsString, Id>, Errno> {
        let node = self.node(folder)?;
        let entries = node.entries().ok_or(Errno::NOTDIR)?;
        self.allow(actor, node, EXECUTE)?;
        Ok(entries)
    }

    /// The inode that `name` stands for; a symlink is not followed.
    pub(super) fn look(&self, actor: Actor, folder: Id, name: &OsStr) -> Result<Option<Id>, Errno> {
        let entries = self.enter(actor, folder)?;
        // In a folder that was removed, the kernel does not check the length of the name.
        if name.len() > NAME && self.node(folder)?.names > 0 {
            return Err(Errno::NAMETOOLONG);
        }
        Ok(entries.get(name).copied())
    }

    /// Fails unless `actor` may add a name to a folder.
    pub(super) fn may_add(&self, actor: Actor, folder: Id) -> Result<(), Errno> {
        let node = self.node(folder)?;
        if node.names == 0 {
            return Err(Errno::NOENT);
        }
        self.allow(actor, node, WRITE | EXECUTE)
    }

    /// Fails unless `actor` may remove the name of `id` from a folder.
    pub(super) fn may_remove(&self, actor: Actor, folder: Id, id: Id) -> Result<(), Errno> {
        let (parent, node) = (self.node(folder)?, self.node(id)?);
        self.allow(actor, parent, WRITE | EXECUTE)?;
        let is_owner = [0, node.metadata.user, parent.metadata.user].contains(&actor.user);
        let is_sticky = parent.metadata.mode & 0o1000 != 0 && !is_owner;
        if parent.has_flag(APPEND_ONLY) || is_sticky || node.has_flag(APPEND_ONLY) || node.has_flag(IMMUTABLE) {
            return Err(Errno::PERM);
        }
        Ok(())
    }

    /// Walks `path` from `start` without following any symlink.
    pub(super) fn walk(&self, actor: Actor, start: Id, path: &Path) -> Result<Id, Errno> {
        // The whole path is checked before the first step is taken.
        if path.components().any(|c| !matches!(c, Component::RootDir | Component::Normal(_))) {
            return Err(Errno::INVAL);
        }
        if path.as_os_str().is_empty() {
            // Opening `.` needs search permission as well.
            self.enter(actor, start)?;
        }
        let mut at = start;
        for component in path.components() {
            let Component::Normal(name) = component else { continue };
            at = self.look(actor, at, name)?.ok_or(Errno::NOENT)?;
            if self.node(at)?.kind() == FileKind::Symlink {
                return Err(Errno::LOOP);
            }
        }
        Ok(at)
    }

    /// The resolved path and its inode: all symlinks are followed, the last one only if asked.
    pub(super) fn resolve(&self, actor: Actor, path: &Path, follow_last: bool) -> Result<(PathBuf, Id), Errno> {
        let mut way: Vec<(OsString, Id)> = Vec::new();
        let mut todo: Vec<OsString> = segments(path);
        let mut followed = 0;
        while let Some(name) = todo.pop() {
            let at = way.last().map_or(ROOT, |w| w.1);
            if name == ".." {
                self.enter(actor, at)?;
                way.pop();
                continue;
            }
            let id = self.look(actor, at, &name)?.ok_or(Errno::NOENT)?;
            match &self.node(id)?.body {
                SimBody::Symlink(target) if follow_last || !todo.is_empty() => {
                    followed += 1;
                    if followed > SYMLINKS {
                        return Err(Errno::LOOP);
                    }
                    if target.is_absolute() {
                        way.clear();
                    }
                    todo.extend(segments(target));
                }
                _ => way.push((name, id)),
            }
        }
        let id = way.last().map_or(ROOT, |w| w.1);
        let path = way.iter().fold(PathBuf::from("/"), |path, (name, _)| path.join(name));
        Ok((path, id))
    }
}

/// The segments of a path, including `..`, in reverse order.
fn segments(path: &Path) -> Vec<OsString> {
    let names = path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    });
    let mut names: Vec<OsString> = names.collect();
    names.reverse();
    names
}
