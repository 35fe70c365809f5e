//! Opens and makes files and folders.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RawMode, fchmod, mkdirat, openat, statat};
use rustix::io::Errno;

use super::super::{FileKind, Stat};
use super::system::System;
use super::{name, retry, stat};

pub(super) const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Opens a folder by an absolute path, refusing symlinks on it.
pub(super) fn folder(system: &dyn System, path: &Path) -> io::Result<File> {
    let Ok(inside) = path.strip_prefix("/") else { return Err(Errno::INVAL.into()) };
    system.open_absolute(path, &segments(inside)?)
}

/// The folder that has no other above it.
pub(super) fn top() -> io::Result<File> {
    Ok(retry(|| openat(CWD, "/", FOLDER, Mode::empty()))?.into())
}

/// Opens a folder beneath another, refusing symlinks and `..` on the way.
pub(super) fn beneath(system: &dyn System, folder: &File, path: &Path) -> io::Result<File> {
    match &segments(path)?[..] {
        [] => again(folder),
        segments => system.open_beneath(folder, segments),
    }
}

/// The segments of a relative path; `..` is an error.
pub(super) fn segments(path: &Path) -> io::Result<Vec<&OsStr>> {
    let segments = path.components().map(|component| match component {
        Component::Normal(segment) => Ok(segment),
        _ => Err(io::Error::from(Errno::INVAL)),
    });
    segments.collect()
}

/// Opens a folder once more.
pub(super) fn again(folder: &File) -> io::Result<File> {
    Ok(retry(|| openat(folder, c".", FOLDER, Mode::empty()))?.into())
}

/// Opens the folder that is `levels` above another. `..` is the parent at this moment, as in a single call.
pub(super) fn up(folder: &File, levels: usize) -> io::Result<File> {
    let mut at = folder.try_clone()?;
    for _ in 0..levels {
        at = retry(|| openat(&at, c"..", FOLDER, Mode::empty()))?.into();
    }
    Ok(at)
}

/// Opens a folder segment by segment, where the system cannot do it in one call.
pub(super) fn walk(folder: &File, segments: &[&OsStr]) -> io::Result<File> {
    let mut at = folder.try_clone()?;
    for segment in segments {
        at = match retry(|| openat(&at, *segment, FOLDER | OFlags::NOFOLLOW, Mode::empty())) {
            Ok(opened) => opened.into(),
            Err(error) => return Err(symlink_first(&at, segment, error)),
        };
    }
    Ok(at)
}

/// Makes both ways give the same error: a symlink in the place of a folder is `ENOTDIR` here and `ELOOP` in one call.
fn symlink_first(folder: &File, segment: &OsStr, error: io::Error) -> io::Error {
    match statat(folder, segment, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if stat::kind(stat.st_mode) == FileKind::Symlink => Errno::LOOP.into(),
        _ => error,
    }
}

/// Opens the file with this name for reading, of any kind. A pipe without a writer does not block, and a terminal does
/// not become the controlling one; the caller verifies the kind.
pub(super) fn file(folder: &File, name: &OsStr) -> io::Result<File> {
    let name = name::segment(name)?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(retry(|| openat(folder, name, flags, Mode::empty()))?.into())
}

/// Opens the file with this name for reading and writing as it is. A pipe without a reader does not block.
pub(super) fn to_write(folder: &File, name: &OsStr) -> io::Result<File> {
    let name = name::segment(name)?;
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(retry(|| openat(folder, name, flags, Mode::empty()))?.into())
}

/// Makes a file.
pub(super) fn create(folder: &File, name: &OsStr, mode: u32) -> io::Result<File> {
    let name = name::segment(name)?;
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(folder, name, flags, bits(mode))?.into())
}

/// Makes a folder. The set-group-id bit that the system adds in a folder that has it is cleared, unless it was asked
/// for.
pub(super) fn make_folder(system: &dyn System, folder: &File, name: &OsStr, mode: u32) -> io::Result<()> {
    let name = name::segment(name)?;
    mkdirat(folder, name, bits(mode))?;
    if system.stat_of(folder, name)?.is_some_and(|stat| stat.mode != mode) {
        let opened: File = retry(|| openat(folder, name, FOLDER | OFlags::NOFOLLOW, Mode::empty()))?.into();
        exactly(system, &opened, mode)?;
    }
    Ok(())
}

/// Sets the mode: the umask and a default ACL removed bits from it.
pub(super) fn exactly(system: &dyn System, file: &File, mode: u32) -> io::Result<Stat> {
    let stat = system.stat(file)?;
    if stat.mode == mode {
        return Ok(stat);
    }
    retry(|| fchmod(file, bits(mode)))?;
    system.stat(file)
}

/// A mode as the system's calls take it.
pub(super) fn bits(mode: u32) -> Mode {
    // More bits than the type has do not occur: a mode is `0o7777` at most.
    RawMode::try_from(mode).map_or(Mode::empty(), Mode::from_raw_mode)
}
