//! Compares what a program left in a view with what is in the workspace.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::changes::Collector;
use crate::engine::store::snapshot;
use crate::error::{Error, Result};
use crate::fs::{FileKind, Handle, Metadata, Name, Stat};
use crate::view::{WrittenFile, WrittenKind, WrittenLayer};

/// What is in the workspace at a path.
pub(super) struct Below {
    pub(super) folder: Handle,
    pub(super) stat: Stat,
}

pub(super) fn look(layer: &WrittenLayer<'_>, path: &Path) -> Result<Option<WrittenFile>> {
    layer.look(path).map_err(|e| Error::io("look at", path, e))
}

/// A file or symlink of the view.
pub(super) struct WrittenAt<'a> {
    pub(super) layer: &'a WrittenLayer<'a>,
    pub(super) path: &'a Path,
    pub(super) now: WrittenFile,
}

impl<'a> WrittenAt<'a> {
    pub(super) fn content(&self) -> Result<Vec<u8>> {
        self.layer.content(self.path, self.now.kind).map_err(|e| Error::io("read", self.path, e))
    }

    /// Its folder and its name.
    fn place(&self) -> Option<(&'a Path, &'a OsStr)> {
        self.path.parent().zip(self.path.file_name())
    }
}

/// What makes a file another than the one below.
pub(super) enum WrittenDifference {
    Mode(u32),
    Content,
}

impl Collector<'_> {
    /// What makes a file or symlink another than the one below; `None` if nothing does but its times.
    pub(super) fn difference(&self, made: &WrittenAt<'_>, below: &Below) -> Result<Option<WrittenDifference>> {
        let (workspace, view, now) = (&self.engine.workspace, &self.view.workspace, made.now);
        let kind = if now.kind == WrittenKind::File { FileKind::File } else { FileKind::Symlink };
        let Some((folder, name)) = made.place().filter(|_| kind == below.stat.kind) else {
            return Ok(Some(WrittenDifference::Content));
        };
        let lower = Name::new(&below.folder, name);
        if kind == FileKind::Symlink {
            let is_same = made.content()? == workspace.read_link(lower)?;
            return Ok((!is_same).then_some(WrittenDifference::Content));
        }
        let is_owner = (now.user, now.group) == (below.stat.user, below.stat.group);
        if now.size != below.stat.size || !is_owner && !self.is_copy() {
            return Ok(Some(WrittenDifference::Content));
        }
        let folder = view.open_beneath(&view.root, folder)?;
        let (old, new) = (workspace.open_file(lower)?, view.open_file(Name::new(&folder, name))?);
        if !self.is_copy() && workspace.attributes(&old)?.extended != view.attributes(&new)?.extended {
            return Ok(Some(WrittenDifference::Content));
        }
        let digest = |of, file| snapshot::digest(of, file, now.size, self.cancel);
        if digest(workspace, &old)? != digest(view, &new)? {
            return Ok(Some(WrittenDifference::Content));
        }
        Ok((now.mode != below.stat.mode).then_some(WrittenDifference::Mode(now.mode)))
    }

    /// Returns whether the program gave a file of a copy an owner or attributes other than those that a copy has.
    pub(super) fn has_metadata_of_its_own(&self, made: &WrittenAt<'_>) -> Result<bool> {
        let Some((folder, name)) = made.place() else { return Ok(false) };
        let view = &self.view.workspace;
        let folder = view.open_beneath(&view.root, folder)?;
        let (given, own) =
            (view.inherited(&folder, false)?, view.attributes(&view.open_file(Name::new(&folder, name))?)?);
        // The mode of a file is in its access list as well, and the copy gave it that.
        let is_own = |name: &OsStr| !name.as_encoded_bytes().starts_with(b"system.posix_acl_");
        let named = |list: &[(OsString, Vec<u8>)]| -> Vec<_> {
            list.iter().filter(|(name, _)| is_own(name)).cloned().collect()
        };
        let is_given = (given.user, given.group) == (made.now.user, made.now.group);
        Ok(!is_given || named(&given.attributes.extended) != named(&own.extended))
    }

    /// Gives a file of a copy the owner and attributes that a copy does not have.
    pub(super) fn carry_metadata(&self, path: &Path, below: &Below) -> Result<()> {
        let (workspace, view) = (&self.engine.workspace, &self.view.workspace);
        let Some((folder, name)) = path.parent().zip(path.file_name()) else { return Ok(()) };
        let old = workspace.open_file(Name::new(&below.folder, name))?;
        let folder = view.open_beneath(&view.root, folder)?;
        let new = view.open_file(Name::new(&folder, name))?;
        let (stat, attributes) = (view.stat_handle(&new)?, view.attributes(&new)?);
        let now = Metadata { mode: stat.mode, user: stat.user, group: stat.group, attributes, modified: None };
        let (user, group, attributes) = (below.stat.user, below.stat.group, workspace.attributes(&old)?);
        view.set_metadata(&new, &now, &Metadata { user, group, attributes, ..now.clone() })
    }
}
