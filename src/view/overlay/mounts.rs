//! The mounts of a view: an overlay over the workspace's own path, and in it the folders that are real.

use std::ffi::{CString, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{
    FileType, Mode, OFlags, ResolveFlags, StatVfsMountFlags, XattrFlags, fsetxattr, fstat, fstatvfs, mkdirat, openat,
    openat2,
};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_change, mount_remount, move_mount,
    open_tree,
};

use super::super::layer::OPAQUE;
use super::super::step::{MakeFailure, MakeStep};
use crate::path::{STATE_FOLDER, STATE_PATHS};

/// A folder or file of the workspace that is not copied on write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Real {
    /// Its path in the workspace.
    pub(super) path: PathBuf,
    /// True if it may only be read.
    pub(super) is_read_only: bool,
}

/// The layers of an overlay.
#[derive(Debug)]
pub(super) struct Layers {
    /// The workspace.
    pub(super) lower: File,
    /// What is written.
    pub(super) upper: File,
    /// The overlay's own folder.
    pub(super) work: File,
}

impl Layers {
    /// The layers as they are among the mounts of this name space: only those can be mounted again. They must be those whose
    /// identities were given: their paths may lead elsewhere by now. Nobody in the view can reach them by a descriptor.
    pub(super) fn find(root: &Path, layers: &Path, identities: &str) -> io::Result<Self> {
        let lower = File::from(folder(root)?);
        let beneath = |name: &str| {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            // A state folder outside of the workspace has an absolute path.
            let beneath = if layers.is_absolute() { ResolveFlags::empty() } else { ResolveFlags::BENEATH };
            let resolve = beneath | ResolveFlags::NO_SYMLINKS;
            Ok::<_, io::Error>(File::from(openat2(&lower, layers.join(name), flags, Mode::empty(), resolve)?))
        };
        let (upper, work) = (beneath("upper")?, beneath("work")?);
        if identities_of([&lower, &upper, &work])? != identities {
            return Err(io::Error::other("another program has moved one of them"));
        }
        Ok(Self { lower, upper, work })
    }
}

/// The devices and inodes of folders that are held open, as one word.
pub(super) fn identities_of<T: AsFd>(folders: [T; 3]) -> io::Result<String> {
    let stats = folders.into_iter().map(fstat).collect::<rustix::io::Result<Vec<_>>>()?;
    let words: Vec<String> = stats.iter().map(|stat| format!("{}:{}", stat.st_dev, stat.st_ino)).collect();
    Ok(words.join(","))
}

/// Mounts the view over `root`, in this mount name space, and opens its root.
pub(super) fn set_up(root: &Path, layers: &Layers, real: &[Real]) -> Result<OwnedFd, MakeFailure> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(|e| MakeStep::Apart.failed(e))?;
    // Opened before the overlay covers them.
    let trees = real.iter().map(|real| tree(&layers.lower, real)).collect::<Result<Vec<_>, _>>()?;
    hide_state(&layers.upper).map_err(|e| MakeStep::State.failed(e))?;
    overlay(root, layers).map_err(|e| MakeStep::Overlay.failed(e))?;
    let opened = folder(root).map_err(|e| MakeStep::Overlay.failed(e))?;
    for (real, tree) in real.iter().zip(trees) {
        put(&opened, real, tree.as_fd()).map_err(|e| MakeStep::Mount(real.path.clone()).failed(e))?;
    }
    hide_state_in_git(&opened).map_err(|e| MakeStep::State.failed(e))?;
    Ok(opened)
}

/// The paths of what is mounted in a folder, relative to it, each before those in it.
pub(in crate::view) fn mounted_in(root: &Path) -> io::Result<Vec<PathBuf>> {
    let table = std::fs::read("/proc/self/mountinfo")?;
    // The fifth word of a line is the path, in which a blank or a backslash is three octal digits.
    let paths = table.split(|byte| *byte == b'\n').filter_map(|line| line.split(|byte| *byte == b' ').nth(4));
    let paths = paths.map(|path| PathBuf::from(OsString::from_vec(unescaped(path))));
    let mut found: Vec<PathBuf> = paths.filter_map(|path| Some(path.strip_prefix(root).ok()?.to_owned())).collect();
    found.retain(|path| !path.as_os_str().is_empty());
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

fn unescaped(mut bytes: &[u8]) -> Vec<u8> {
    let mut path = Vec::with_capacity(bytes.len());
    while let Some((&first, rest)) = bytes.split_first() {
        let digits = rest.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let octal = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()).filter(|_| first == b'\\');
        path.push(octal.unwrap_or(first));
        bytes = if octal.is_some() { &rest[3..] } else { rest };
    }
    path
}

fn folder(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(openat(rustix::fs::CWD, path, flags, Mode::empty())?)
}

/// A name in a folder, without following a symlink.
fn beneath_of(folder: impl AsFd, path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat2(folder, path, flags, Mode::empty(), ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS)
}

/// A copy of the mounts at a path of the workspace.
fn tree(lower: &File, real: &Real) -> Result<OwnedFd, MakeFailure> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH;
    let opened = beneath_of(lower, &real.path).and_then(|there| open_tree(there, "", flags));
    opened.map_err(|e| MakeStep::Mount(real.path.clone()).failed(e))
}

/// An empty state folder that hides the real one: what a txedit in the view does has its journal and its history there.
fn hide_state(upper: &File) -> rustix::io::Result<()> {
    match mkdirat(upper, STATE_FOLDER, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error),
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let state = openat(upper, STATE_FOLDER, flags, Mode::empty())?;
    fsetxattr(&state, OPAQUE, b"y", XattrFlags::empty())
}

/// Hides one in the git folder, which is a real folder in the view.
fn hide_state_in_git(root: &OwnedFd) -> io::Result<()> {
    for path in STATE_PATHS.into_iter().filter(|path| *path != STATE_FOLDER) {
        match beneath_of(root, Path::new(path)) {
            Ok(there) if FileType::from_raw_mode(fstat(&there)?.st_mode) == FileType::Directory => {
                let flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
                mount(
                    "tmpfs",
                    format!("/proc/self/fd/{}", there.as_raw_fd()),
                    "tmpfs",
                    flags,
                    Some(c"size=4k,mode=700"),
                )?;
            }
            Ok(_) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Mounts the overlay. The layers are named by their descriptors: a path may contain what separates options, and may
/// lead elsewhere by now.
fn overlay(root: &Path, layers: &Layers) -> io::Result<()> {
    let at = |file: &File| format!("/proc/self/fd/{}", file.as_raw_fd());
    let (lower, upper, work) = (at(&layers.lower), at(&layers.upper), at(&layers.work));
    // Without `userxattr` only root of the machine could mark what hides the lower layer. `volatile`: what is in the view
    // is durable once it is committed, not before.
    let options = format!("lowerdir={lower},upperdir={upper},workdir={work},userxattr,volatile");
    let options = CString::new(options).map_err(|_| io::ErrorKind::InvalidInput)?;
    Ok(mount("overlay", root, "overlay", MountFlags::empty(), Some(&*options))?)
}

/// Mounts a real folder or file at its place in the view.
fn put(root: &OwnedFd, real: &Real, tree: BorrowedFd<'_>) -> io::Result<()> {
    let empty = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(tree, "", beneath_of(root, &real.path)?, "", empty)?;
    if !real.is_read_only {
        return Ok(());
    }
    let there = beneath_of(root, &real.path)?;
    // What is locked on the mount, such as `nosuid`, must be repeated.
    let flags = MountFlags::BIND | MountFlags::RDONLY | kept(fstatvfs(&there)?.f_flag);
    Ok(mount_remount(format!("/proc/self/fd/{}", there.as_raw_fd()), flags, "")?)
}

fn kept(of: StatVfsMountFlags) -> MountFlags {
    let pairs = [
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ];
    pairs.into_iter().filter(|(has, _)| of.contains(*has)).map(|(_, flag)| flag).collect()
}

/// Shows the processes of a new process name space in `/proc`, where that may be mounted: it may not where a part of
/// `/proc` is hidden, as in many containers. The old one then shows them under other numbers.
pub(super) fn show_processes() -> io::Result<()> {
    Ok(mount("proc", "/proc", "proc", MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC, None)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_the_mount_table_is_read_as_it_is() {
        assert_eq!(unescaped(br"/a\040b\134040\9"), br"/a b\040\9");
        let mounts = mounted_in(Path::new("/")).unwrap();
        assert!(mounts.contains(&PathBuf::from("proc")), "{mounts:?}");
        assert!(mounts.is_sorted(), "{mounts:?}");
    }
}
