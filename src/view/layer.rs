//! What was written in a view: the upper layer of its overlay, compared with what is below.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::lgetxattr;

use super::copy::{self, CopyMarks};
use crate::limits;
use crate::path::is_state;

/// The attribute of an upper folder that hides the lower one.
pub(super) const OPAQUE: &str = "user.overlay.opaque";

/// What is written in a view: the upper layer of an overlay, or a copy.
#[derive(Debug, Clone)]
pub(crate) struct WrittenLayer<'a> {
    /// The path by which it is reached from outside of the view, whatever becomes of its name.
    pub(crate) path: PathBuf,
    /// Its name.
    pub(crate) name: PathBuf,
    /// What is in it from the beginning, if it is a copy of everything.
    pub(crate) copied: Option<&'a CopyMarks>,
}

/// What a view has instead of what is below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
    /// Nothing: the file or folder was removed.
    Removed,
    /// A folder; if it `hides` the one below, nothing of that is in it.
    Folder { hides: bool },
    /// A file, a symlink, or anything else that is no folder.
    Other,
}

/// A file or folder that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WrittenFile {
    pub(crate) kind: WrittenKind,
    pub(crate) size: u64,
    /// Permission bits, set-id and sticky bits: `0o7777`.
    pub(crate) mode: u32,
    pub(crate) user: u32,
    pub(crate) group: u32,
}

/// Its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WrittenKind {
    File,
    Symlink,
    /// A folder, pipe, socket or device.
    Other,
}

impl WrittenLayer<'_> {
    /// What was written at a path; `None` if that was removed.
    pub(crate) fn look(&self, path: &Path) -> io::Result<Option<WrittenFile>> {
        let metadata = match self.path.join(path).symlink_metadata() {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            metadata => metadata?,
        };
        let kind = match (metadata.is_file(), metadata.is_symlink()) {
            (true, _) => WrittenKind::File,
            (_, true) => WrittenKind::Symlink,
            _ => WrittenKind::Other,
        };
        let (mode, user, group) = (metadata.mode() & 0o7777, metadata.uid(), metadata.gid());
        let file = WrittenFile { kind, size: metadata.len(), mode, user, group };
        Ok(Some(file).filter(|_| self.copied.is_some() || !is_whiteout(&metadata)))
    }

    /// The content of a file, or the target of a symlink.
    pub(crate) fn content(&self, path: &Path, kind: WrittenKind) -> io::Result<Vec<u8>> {
        let there = self.path.join(path);
        match kind {
            WrittenKind::Symlink => Ok(fs::read_link(there)?.into_os_string().into_vec()),
            WrittenKind::File | WrittenKind::Other => fs::read(there),
        }
    }

    /// Everything that was written, in the order of the paths, which are relative to the root: a file that was only opened
    /// for writing is among them, and so is a folder in which something was. Nothing of the state folder is. It is an error
    /// if there is more than `most`, or a folder that cannot be looked into.
    pub(crate) fn written(&self, most: usize) -> io::Result<Vec<(PathBuf, Written)>> {
        let mut all = Vec::new();
        let mut add = |path: &Path, written| {
            all.push((path.to_owned(), written));
            all.len() <= most
        };
        match self.copied {
            Some(marks) => marks.written(&self.path, &mut add)?,
            None => walk_all(&self.path, &mut |path, now| {
                let written = if now.is_dir() {
                    Written::Folder { hides: is_opaque(&self.path.join(path)) }
                } else if is_whiteout(now) {
                    Written::Removed
                } else {
                    Written::Other
                };
                add(path, written)
            })?,
        }
        if all.len() > most {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("more than {most} files")));
        }
        all.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        Ok(all)
    }

    /// The files that were made, written or removed, and their number: what differs from `lower`, relative to it. A folder
    /// that was removed or replaced counts as one. Nothing of the state folder is among them, no new file that was put
    /// there, and nothing `put` there is missed.
    pub(crate) fn changed(
        &self,
        lower: &Path,
        put: impl Fn(&Path) -> Option<PutInView>,
    ) -> io::Result<(usize, Vec<PathBuf>)> {
        if self.copied.is_some() {
            return copy::changed(&self.path, lower, put);
        }
        let mut changed = LayerFiles::default();
        let left_out = |path: &Path| put(path) == Some(PutInView::File);
        walk(&self.path, &left_out, &mut |path, now| {
            if put(path).is_some() {
                if !now.is_dir() && !is_whiteout(now) {
                    changed.note(path);
                }
                return true;
            }
            let below = lower.join(path).symlink_metadata().ok();
            let is_replaced = || below.is_some() && is_opaque(&self.path.join(path));
            let is_other = if now.is_dir() { is_replaced() } else { differs(now, below.as_ref()) };
            if is_other {
                changed.note(path);
            }
            true
        })?;
        Ok(changed.sorted())
    }
}

/// What was put at a path of a view before a program ran in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PutInView {
    /// A file or a symlink: whoever put it there looks at it himself.
    File,
    /// A folder, or nothing: a file that is there now is the program's.
    NoFile,
}

/// The files that differ: how many, and the first of them.
#[derive(Debug, Default)]
pub(super) struct LayerFiles {
    count: usize,
    paths: Vec<PathBuf>,
}

impl LayerFiles {
    pub(super) fn note(&mut self, path: &Path) {
        self.count += 1;
        if self.paths.len() < limits::DROPPED_NAMES {
            self.paths.push(path.to_owned());
        }
    }

    pub(super) fn sorted(mut self) -> (usize, Vec<PathBuf>) {
        self.paths.sort_unstable();
        (self.count, self.paths)
    }
}

/// Looks at everything in a folder but the state folder and what is left out, until that returns `false`; follows no
/// symlink.
pub(super) fn walk(
    root: &Path,
    left_out: &dyn Fn(&Path) -> bool,
    see: &mut dyn FnMut(&Path, &Metadata) -> bool,
) -> io::Result<()> {
    // Closed by the check to itself: what is in it ends with the view, too.
    walk_with(root, left_out, see, &|error| error.kind() == io::ErrorKind::PermissionDenied)
}

/// The same, and it is an error if a folder cannot be looked into.
pub(super) fn walk_all(root: &Path, see: &mut dyn FnMut(&Path, &Metadata) -> bool) -> io::Result<()> {
    walk_with(root, &|_| false, see, &|_| false)
}

fn walk_with(
    root: &Path,
    left_out: &dyn Fn(&Path) -> bool,
    see: &mut dyn FnMut(&Path, &Metadata) -> bool,
    may_be_passed_over: &dyn Fn(&io::Error) -> bool,
) -> io::Result<()> {
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let names = match fs::read_dir(root.join(&folder)) {
            Err(error) if may_be_passed_over(&error) => continue,
            Err(error) => return Err(io::Error::new(error.kind(), format!("{}: {error}", folder.display()))),
            Ok(names) => names,
        };
        for name in names {
            let name = name?;
            let path = folder.join(name.file_name());
            if is_state(&path) || left_out(&path) {
                continue;
            }
            let metadata = name.metadata()?;
            if !see(&path, &metadata) {
                return Ok(());
            }
            if metadata.is_dir() {
                folders.push(path);
            }
        }
    }
    Ok(())
}

/// Returns whether a name of the layer, which is no folder, stands for something else than what is below. A file that was
/// only opened for writing is a copy with the time of the other.
pub(super) fn differs(now: &Metadata, below: Option<&Metadata>) -> bool {
    let Some(below) = below else { return !is_whiteout(now) };
    let (kind, other) = (now.file_type(), below.file_type());
    let is_same_file =
        || (now.len(), now.mtime(), now.mtime_nsec()) == (below.len(), below.mtime(), below.mtime_nsec());
    match (kind.is_file(), kind.is_symlink()) {
        (true, _) => !other.is_file() || now.mode() != below.mode() || !is_same_file(),
        (_, true) => !other.is_symlink() || !is_same_file(),
        _ => true,
    }
}

/// A device with the number 0 stands for a name that was removed.
fn is_whiteout(metadata: &Metadata) -> bool {
    metadata.file_type().is_char_device() && metadata.rdev() == 0
}

fn is_opaque(path: &Path) -> bool {
    let mut value = [0; 1];
    lgetxattr(path, OPAQUE, &mut value).is_ok() && value == *b"y"
}

/// Deletes a layer, or the overlay's own folder. No symlink is followed. A program may have taken its own rights to a
/// folder away: they are given back.
pub(crate) fn delete(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_up(path)?;
            fs::remove_dir_all(path)
        }
        deleted => deleted,
    }
}

fn open_up(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    for name in fs::read_dir(folder)? {
        let name = name?;
        if name.file_type()?.is_dir() {
            open_up(&name.path())?;
        }
    }
    Ok(())
}
