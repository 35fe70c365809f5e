//! What was written in a view: the upper layer of its overlay, compared with what is below.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::lgetxattr;
use rustix::io::Errno;

use super::copy;
use super::mounts::OPAQUE;
use crate::limits;
use crate::path::STATE_FOLDER;

/// What is written in a view: the upper layer of an overlay, or a copy.
#[derive(Debug, Clone)]
pub(crate) struct WrittenLayer {
    /// The path by which it is reached from outside of the view.
    pub(crate) path: PathBuf,
    /// True if it is a copy of everything.
    pub(crate) is_copy: bool,
}

impl WrittenLayer {
    /// The files that were made, written or removed, and their number: what differs from `lower`, relative to it. A folder
    /// that was removed or replaced counts as one. Nothing of the state folder is among them, and nothing that is `left_out`.
    pub(crate) fn changed(&self, lower: &Path, left_out: impl Fn(&Path) -> bool) -> io::Result<(usize, Vec<PathBuf>)> {
        if self.is_copy {
            return copy::changed(&self.path, lower, left_out);
        }
        let (mut count, mut changed) = (0, Vec::new());
        let mut to_do = vec![PathBuf::new()];
        while let Some(folder) = to_do.pop() {
            let names = match fs::read_dir(self.path.join(&folder)) {
                // Closed by the check to itself: what is in it ends with the view, too.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => continue,
                names => names?,
            };
            for name in names {
                let name = name?;
                let path = folder.join(name.file_name());
                if path == Path::new(STATE_FOLDER) || left_out(&path) {
                    continue;
                }
                let below = lower.join(&path).symlink_metadata().ok();
                let is_folder = name.file_type()?.is_dir();
                let is_replaced = is_folder && below.is_some() && is_opaque(&name.path())?;
                if is_replaced || !is_folder && differs(&name.metadata()?, below.as_ref()) {
                    count += 1;
                    if changed.len() < limits::DROPPED_NAMES {
                        changed.push(path.clone());
                    }
                }
                if is_folder {
                    to_do.push(path);
                }
            }
        }
        changed.sort_unstable();
        Ok((count, changed))
    }
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

fn is_opaque(path: &Path) -> io::Result<bool> {
    let mut value = [0; 1];
    match lgetxattr(path, OPAQUE, &mut value) {
        Ok(1) => Ok(value == *b"y"),
        Ok(_) | Err(Errno::NODATA | Errno::RANGE | Errno::OPNOTSUPP) => Ok(false),
        Err(error) => Err(error.into()),
    }
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
