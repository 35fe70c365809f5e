//! Opens and makes files and folders.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Component, Path};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, fchmod, mkdirat, openat, openat2};
use rustix::io::Errno;

use super::super::Stat;
use super::{name, retry, stat};

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The number of times that a lookup disturbed by a rename elsewhere is tried before the path is walked by hand.
const LOOKUPS: usize = 32;

/// Opens a folder by an absolute path, refusing symlinks on it.
pub(super) fn folder(path: &Path) -> io::Result<File> {
    let Ok(inside) = path.strip_prefix("/") else { return Err(Errno::INVAL.into()) };
    let top: File = retry(|| openat(CWD, "/", FOLDER, Mode::empty()))?.into();
    beneath(&top, inside)
}

/// Opens `path` beneath the folder that is `levels` above another, refusing symlinks on the way.
pub(super) fn above(folder: &File, levels: usize, path: &Path) -> io::Result<File> {
    let up = "../".repeat(levels);
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(folder, Path::new(&up).join(path), FOLDER, Mode::empty(), resolve) {
        Ok(opened) => Ok(opened.into()),
        Err(Errno::AGAIN | Errno::INTR | Errno::NOSYS | Errno::PERM) => {
            // `..` is the parent at this moment, as in a single call.
            let mut at = folder.try_clone()?;
            for _ in 0..levels {
                at = retry(|| openat(&at, c"..", FOLDER, Mode::empty()))?.into();
            }
            beneath(&at, path)
        }
        Err(error) => Err(error.into()),
    }
}

/// Opens a folder beneath another, refusing symlinks and `..` on the way.
pub(super) fn beneath(folder: &File, path: &Path) -> io::Result<File> {
    let segments = path.components().map(|component| match component {
        Component::Normal(segment) => Ok(segment),
        _ => Err(io::Error::from(Errno::INVAL)),
    });
    let segments = segments.collect::<io::Result<Vec<_>>>()?;
    if segments.is_empty() {
        return Ok(retry(|| openat(folder, c".", FOLDER, Mode::empty()))?.into());
    }
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    for _ in 0..LOOKUPS {
        return match openat2(folder, path, FOLDER, Mode::empty(), resolve) {
            Ok(opened) => Ok(opened.into()),
            Err(Errno::AGAIN | Errno::INTR) => continue,
            // Sandboxes that do not know the call refuse it with one of these two.
            Err(Errno::NOSYS | Errno::PERM) => break,
            Err(error) => Err(error.into()),
        };
    }
    walk(folder, &segments)
}

/// Opens it segment by segment, where the system cannot do it in one call.
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
    match stat::of_name(folder, segment) {
        Ok(Some(stat)) if stat.kind == super::super::FileKind::Symlink => Errno::LOOP.into(),
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

/// Makes a file.
pub(super) fn create(folder: &File, name: &OsStr, mode: u32) -> io::Result<File> {
    let name = name::segment(name)?;
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(folder, name, flags, Mode::from_raw_mode(mode))?.into())
}

/// Makes a folder. The set-group-id bit that the system adds in a folder that has it is cleared, unless it was asked
/// for.
pub(super) fn make_folder(folder: &File, name: &OsStr, mode: u32) -> io::Result<()> {
    let name = name::segment(name)?;
    mkdirat(folder, name, Mode::from_raw_mode(mode))?;
    if stat::of_name(folder, name)?.is_some_and(|stat| stat.mode != mode) {
        let opened: File = retry(|| openat(folder, name, FOLDER | OFlags::NOFOLLOW, Mode::empty()))?.into();
        exactly(&opened, mode)?;
    }
    Ok(())
}

/// Sets the mode: the umask and a default ACL removed bits from it.
pub(super) fn exactly(file: &File, mode: u32) -> io::Result<Stat> {
    let stat = stat::of(file)?;
    if stat.mode == mode {
        return Ok(stat);
    }
    retry(|| fchmod(file, Mode::from_raw_mode(mode)))?;
    stat::of(file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_walk_by_hand_opens_and_refuses_the_same() {
        let scratch = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(scratch.path().join("a/b")).unwrap();
        std::fs::write(scratch.path().join("file"), "").unwrap();
        symlink("a", scratch.path().join("link")).unwrap();
        symlink("nowhere", scratch.path().join("broken")).unwrap();
        let top = File::open(scratch.path()).unwrap();
        for path in ["a", "a/b", "link", "link/b", "broken", "file", "file/b", "missing", "a/missing"] {
            let segments = Path::new(path).iter().collect::<Vec<_>>();
            let told = |opened: io::Result<File>| match opened {
                Ok(folder) => Ok(stat::of(&folder).unwrap().identity),
                Err(error) => Err(error.raw_os_error().unwrap()),
            };
            assert_eq!(told(walk(&top, &segments)), told(beneath(&top, Path::new(path))), "{path}");
        }
    }
}
