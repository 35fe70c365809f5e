//! Everything that changes names. The order of the checks is the kernel's, so that the errors are the same.

use std::ffi::OsStr;

use super::access::{Actor, WRITE};
use super::disk::{Id, Node, SimBody, SimMetadata, SimNameChange};
use super::store::Store;
use crate::errno::Errno;

/// How a rename treats its destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    Exchange,
    NoReplace,
    /// The destination is replaced, as with plain `rename`.
    Replace,
}

/// A name in a folder.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spot<'a> {
    pub(super) folder: Id,
    pub(super) name: &'a OsStr,
}

impl Spot<'_> {
    fn change(&self, before: Option<Id>, after: Option<Id>) -> SimNameChange {
        SimNameChange { folder: self.folder, name: self.name.to_owned(), before, after }
    }
}

impl Store {
    /// Makes a file, folder, symlink or special file at a free name.
    pub(super) fn make(
        &mut self,
        actor: Actor,
        verb: &'static str,
        at: Spot<'_>,
        body: SimBody,
        mode: u32,
    ) -> Result<Id, Errno> {
        if self.look(actor, at.folder, at.name)?.is_some() {
            return Err(Errno::EXIST);
        }
        let mount = self.node(at.folder)?.mount;
        if self.machine.volume(mount).read_only {
            return Err(Errno::ROFS);
        }
        self.may_add(actor, at.folder)?;
        if !self.has_inode(mount) {
            return Err(Errno::NOSPC);
        }
        let parent = &self.node(at.folder)?.metadata;
        let group = if parent.mode & 0o2000 == 0 { actor.group } else { parent.group };
        let id = self.add(mount, body, SimMetadata { mode, user: actor.user, group, ..SimMetadata::default() });
        self.change_names(verb, vec![at.change(None, Some(id))], None);
        Ok(id)
    }

    /// Gives a file another name.
    pub(super) fn link(&mut self, actor: Actor, id: Id, to: Spot<'_>) -> Result<(), Errno> {
        if self.look(actor, to.folder, to.name)?.is_some() {
            return Err(Errno::EXIST);
        }
        if self.node(id)?.mount != self.node(to.folder)?.mount {
            return Err(Errno::XDEV);
        }
        self.may_add(actor, to.folder)?;
        if self.node(id)?.is_folder() || !self.machine.volume(self.node(id)?.mount).links {
            return Err(Errno::PERM);
        }
        self.change_names("link", vec![to.change(None, Some(id))], None);
        Ok(())
    }

    /// Renames; returns the inode whose name was replaced.
    pub(super) fn rename(&mut self, actor: Actor, from: Spot<'_>, to: Spot<'_>, how: How) -> Result<Option<Id>, Errno> {
        self.enter(actor, from.folder)?;
        self.enter(actor, to.folder)?;
        let mount = self.node(from.folder)?.mount;
        if mount != self.node(to.folder)?.mount {
            return Err(Errno::XDEV);
        }
        if self.machine.volume(mount).read_only {
            return Err(Errno::ROFS);
        }
        let source = self.look(actor, from.folder, from.name)?.ok_or(Errno::NOENT)?;
        if self.node(to.folder)?.names == 0 {
            return Err(Errno::NOENT);
        }
        let target = self.look(actor, to.folder, to.name)?;
        match (how, target) {
            (How::NoReplace, Some(_)) => return Err(Errno::EXIST),
            (How::Exchange, None) => return Err(Errno::NOENT),
            _ => {}
        }
        if self.is_above(source, to.folder) {
            return Err(Errno::INVAL);
        }
        if target.is_some_and(|t| self.is_above(t, from.folder)) {
            return Err(if how == How::Exchange { Errno::INVAL } else { Errno::NOTEMPTY });
        }
        if target == Some(source) {
            return Ok(None);
        }
        self.may_rename(actor, (from.folder, source), (to.folder, target), how)?;
        let volume = self.machine.volume(mount);
        if how == How::Exchange && !volume.exchange || how == How::NoReplace && !volume.no_replace {
            return Err(Errno::INVAL);
        }
        if let (How::Replace, Some(target)) = (how, target)
            && self.node(target)?.entries().is_some_and(|e| !e.is_empty())
        {
            return Err(Errno::NOTEMPTY);
        }
        let back = target.filter(|_| how == How::Exchange);
        let changes = vec![from.change(Some(source), back), to.change(target, Some(source))];
        let verb = if how == How::Exchange { "exchange" } else { "rename" };
        let replaced = target.filter(|_| how == How::Replace);
        let removes = replaced.filter(|id| self.live.get(*id).is_some_and(Node::is_folder));
        self.change_names(verb, changes, removes);
        Ok(replaced)
    }

    fn may_rename(
        &self,
        actor: Actor,
        (from, source): (Id, Id),
        (to, target): (Id, Option<Id>),
        how: How,
    ) -> Result<(), Errno> {
        self.may_remove(actor, from, source)?;
        match target {
            None => self.may_add(actor, to)?,
            Some(target) => {
                self.may_remove(actor, to, target)?;
                match (self.node(source)?.is_folder(), self.node(target)?.is_folder()) {
                    (true, false) if how == How::Replace => return Err(Errno::NOTDIR),
                    (false, true) if how == How::Replace => return Err(Errno::ISDIR),
                    _ => {}
                }
            }
        }
        let moved = [Some(source), target.filter(|_| how == How::Exchange)];
        for id in moved.into_iter().flatten() {
            let node = self.node(id)?;
            // A folder that gets another parent needs write permission: its `..` changes.
            if from != to && node.is_folder() {
                self.allow(actor, node, WRITE)?;
            }
        }
        for id in [Some(source), target].into_iter().flatten() {
            if self.node(id)?.mount_root {
                return Err(Errno::BUSY);
            }
        }
        Ok(())
    }

    /// Removes a name of a file, symlink or special file; returns its inode.
    pub(super) fn unlink(&mut self, actor: Actor, at: Spot<'_>) -> Result<Id, Errno> {
        let id = self.find_for_removal(actor, at)?;
        if self.node(id)?.is_folder() {
            return Err(Errno::ISDIR);
        }
        self.change_names("unlink", vec![at.change(Some(id), None)], None);
        Ok(id)
    }

    /// Removes an empty folder; returns its inode.
    pub(super) fn remove_folder(&mut self, actor: Actor, at: Spot<'_>) -> Result<Id, Errno> {
        let id = self.find_for_removal(actor, at)?;
        let node = self.node(id)?;
        let entries = node.entries().ok_or(Errno::NOTDIR)?;
        if node.mount_root {
            return Err(Errno::BUSY);
        }
        if !entries.is_empty() {
            return Err(Errno::NOTEMPTY);
        }
        self.change_names("rmdir", vec![at.change(Some(id), None)], Some(id));
        Ok(id)
    }

    fn find_for_removal(&self, actor: Actor, at: Spot<'_>) -> Result<Id, Errno> {
        self.enter(actor, at.folder)?;
        if self.machine.volume(self.node(at.folder)?.mount).read_only {
            return Err(Errno::ROFS);
        }
        let id = self.look(actor, at.folder, at.name)?.ok_or(Errno::NOENT)?;
        self.may_remove(actor, at.folder, id)?;
        if self.node(id)?.mount_root {
            return Err(Errno::BUSY);
        }
        Ok(id)
    }

    /// Returns whether `folder` is `id` or beneath it.
    fn is_above(&self, id: Id, folder: Id) -> bool {
        let mut todo = vec![id];
        while let Some(at) = todo.pop() {
            if at == folder {
                return true;
            }
            let children = self.live.get(at).and_then(Node::entries);
            todo.extend(children.into_iter().flat_map(|e| e.values().copied()));
        }
        false
    }
}
