//! A copy of a folder for a program to work in, where there can be no view at the folder's own path. Bytes are shared where
//! the file system can.

use std::collections::HashMap;
use std::fs::{self, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, OFlags, Timespec, Timestamps, utimensat};

use super::layer::{LayerFiles, PutInView, Written, differs, walk, walk_all};
use super::overlay::share;
use crate::cancel::CancelToken;
use crate::limits;
use crate::path::is_state;

/// A copy that is being made.
#[derive(Debug)]
pub(crate) struct TreeCopy<'a> {
    /// The folder's own path, to which symlinks lead.
    pub(crate) root: &'a Path,
    /// A path by which the open folder is reached.
    pub(crate) from: &'a Path,
    /// One by which the empty folder is reached that becomes its copy.
    pub(crate) to: &'a Path,
    /// Folders in it that are real: the copy has symlinks to them.
    pub(crate) through: &'a [PathBuf],
    /// Asked for between two files.
    pub(crate) cancel: &'a CancelToken,
}

impl TreeCopy<'_> {
    /// Copies files, folders and symlinks with their modes and times; nothing of the state folder, and neither pipes,
    /// sockets nor devices. It is an error if there are more files, or more bytes that cannot be shared, than the limits of
    /// a view allow.
    pub(crate) fn make(&self) -> io::Result<CopyMarks> {
        let (mut files, mut room, mut shares) = (0, limits::VIEW_BYTES, true);
        let mut folders = vec![(PathBuf::new(), self.from.metadata()?)];
        let mut next = 0;
        while let Some((folder, _)) = folders.get(next).map(|(folder, metadata)| (folder.clone(), metadata)) {
            next += 1;
            for name in fs::read_dir(self.from.join(&folder))? {
                let name = name?;
                let path = folder.join(name.file_name());
                let (from, to, metadata) = (name.path(), self.to.join(&path), name.metadata()?);
                let kind = metadata.file_type();
                files += 1;
                if self.cancel.is_cancelled() {
                    return Err(io::ErrorKind::Interrupted.into());
                }
                if files > limits::VIEW_FILES {
                    return Err(too_large(&format!("more than {} files", limits::VIEW_FILES)));
                }
                if is_state(&path) {
                    continue;
                }
                if self.through.contains(&path) {
                    symlink(self.root.join(&path), &to)?;
                } else if kind.is_dir() {
                    // Closed to nobody yet: what is in it comes first.
                    fs::DirBuilder::new().mode(0o700).create(&to)?;
                    folders.push((path, metadata));
                } else if kind.is_symlink() {
                    symlink(fs::read_link(&from)?, &to)?;
                    set_times(&to, &metadata)?;
                } else if kind.is_file() {
                    copy_file(&from, &to, &metadata, &mut room, &mut shares)?;
                }
            }
        }
        // From the innermost out: making something in a folder changes its time.
        for (folder, metadata) in folders.iter().rev() {
            let to = self.to.join(folder);
            fs::set_permissions(&to, fs::Permissions::from_mode(metadata.mode() & 0o7777 | 0o700))?;
            set_times(&to, metadata)?;
        }
        CopyMarks::of(self.to)
    }
}

/// What is in a copy from the beginning, to know later what was written.
#[derive(Debug)]
pub(crate) struct CopyMarks(HashMap<PathBuf, Mark>);

/// The inode and the last change of what was copied; a folder has none.
#[derive(Debug, PartialEq, Eq)]
enum Mark {
    Folder,
    Other { inode: u64, changed: (i64, i64) },
}

impl Mark {
    fn of(metadata: &Metadata) -> Self {
        if metadata.is_dir() {
            return Self::Folder;
        }
        Self::Other { inode: metadata.ino(), changed: (metadata.ctime(), metadata.ctime_nsec()) }
    }
}

impl CopyMarks {
    fn of(copy: &Path) -> io::Result<Self> {
        let mut marks = HashMap::new();
        walk(copy, &|_| false, &mut |path, metadata| {
            marks.insert(path.to_owned(), Mark::of(metadata));
            true
        })?;
        Ok(Self(marks))
    }

    /// Passes everything on that was written since, until that returns `false`.
    pub(super) fn written(&self, copy: &Path, add: &mut dyn FnMut(&Path, Written) -> bool) -> io::Result<()> {
        let mut goes_on = true;
        walk_all(copy, &mut |path, now| {
            let (now, before) = (Mark::of(now), self.0.get(path));
            let written = match now {
                Mark::Folder => Written::Folder { hides: before.is_some_and(|before| *before != now) },
                Mark::Other { .. } if before == Some(&now) => return true,
                Mark::Other { .. } => Written::Other,
            };
            goes_on = add(path, written);
            goes_on
        })?;
        let is_folder = |path: &Path| copy.join(path).symlink_metadata().is_ok_and(|there| there.is_dir());
        for path in self.0.keys() {
            // What was in a folder that is gone goes with it.
            let is_in_folder = path.parent().is_none_or(is_folder);
            if goes_on && is_in_folder && copy.join(path).symlink_metadata().is_err() {
                goes_on = add(path, Written::Removed);
            }
        }
        Ok(())
    }
}

/// The files of a copy that were made, written or removed since, and their number; no new file that was put there.
pub(super) fn changed(
    copy: &Path,
    from: &Path,
    put: impl Fn(&Path) -> Option<PutInView>,
) -> io::Result<(usize, Vec<PathBuf>)> {
    let mut changed = LayerFiles::default();
    let left_out = |path: &Path| put(path) == Some(PutInView::File);
    walk(copy, &left_out, &mut |path, now| {
        let below = from.join(path).symlink_metadata().ok();
        // A folder that is real is a symlink here.
        let is_real = now.is_symlink() && below.as_ref().is_some_and(Metadata::is_dir);
        let is_other = put(path).is_some() || differs(now, below.as_ref());
        if !now.is_dir() && !is_real && is_other {
            changed.note(path);
        }
        true
    })?;
    walk(from, &left_out, &mut |path, below| {
        let was_copied = below.is_file() || below.is_symlink();
        if was_copied && put(path).is_none() && copy.join(path).symlink_metadata().is_err() {
            changed.note(path);
        }
        true
    })?;
    Ok(changed.sorted())
}

fn copy_file(from: &Path, to: &Path, metadata: &Metadata, room: &mut u64, shares: &mut bool) -> io::Result<()> {
    // Another program may put a symlink or a pipe in its place.
    let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).map_err(io::Error::other)?;
    let mut source = OpenOptions::new().read(true).custom_flags(flags).open(from)?;
    let mut copy = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    *shares = *shares && (metadata.len() == 0 || share(&source, &copy));
    if !*shares {
        *room = room.checked_sub(metadata.len()).ok_or_else(|| {
            too_large(&format!("more than {} MiB, which this file system cannot share", limits::VIEW_BYTES >> 20))
        })?;
        io::copy(&mut source, &mut copy)?;
    }
    copy.set_permissions(fs::Permissions::from_mode(metadata.mode() & 0o7777))?;
    set_times(to, metadata)
}

fn too_large(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, format!("a copy of it would have {what}"))
}

/// Gives a copy the time of what it was copied from, by which a build decides what it must make anew.
fn set_times(path: &Path, of: &Metadata) -> io::Result<()> {
    let time = |seconds, nanoseconds| Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
    let times = Timestamps {
        last_access: time(of.atime(), of.atime_nsec()),
        last_modification: time(of.mtime(), of.mtime_nsec()),
    };
    Ok(utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Another program puts it there after the file was looked at.
    #[test]
    fn a_symlink_in_the_place_of_a_file_is_not_followed() {
        let scratch = tempfile::tempdir().unwrap();
        let [file, link, copy] = ["file", "link", "copy"].map(|name| scratch.path().join(name));
        fs::write(&file, "secret\n").unwrap();
        symlink(&file, &link).unwrap();
        let metadata = file.metadata().unwrap();
        let error = copy_file(&link, &copy, &metadata, &mut 1_000, &mut false).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(rustix::io::Errno::LOOP.raw_os_error()));
        assert!(!copy.exists());
        copy_file(&file, &copy, &metadata, &mut 1_000, &mut false).unwrap();
        assert_eq!(fs::read(&copy).unwrap(), b"secret\n");
    }
}
