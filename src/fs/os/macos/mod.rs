//! macOS 10.12 or newer: what it has beyond POSIX, and where it differs.
//!
//! It is compiled with every change, and has run on no machine of this project so far: see `docs/limits.md`.
//!
//! - A rename exchanges two names, or refuses to replace (`renameatx_np`), on APFS.
//! - `fsync` ends with the bytes in the cache of the drive, and no call makes a whole file system durable: each file is
//!   synced by itself, with `F_FULLFSYNC`.
//! - A file has a birth time, and flags of its own.
//! - A new file has the group of its folder.
//! - An access control list is no attribute. A file that has one is refused, and so is a new one in a folder that passes
//!   one on: without it, others could read what they could not before.

mod native;

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use rustix::fs::{StatFs, fcntl_fullfsync, fstat, fstatfs, getpath};
use rustix::io::Errno;

use super::super::{FileSystem, Identity, Metadata, Stat, Timestamp};
use super::system::{PowerLossFacts, System};
use super::{inherit, retry, stat};

pub(super) use native::ignores_hang_up;

/// Attributes that the system writes itself and lets nobody else write: where a file came from, and who may open it.
const NOT_COPIED: [&str; 3] = ["com.apple.provenance", "com.apple.macl", "com.apple.rootless"];

/// The flags that a copy of a file can have. Left out: immutable and append-only, with which nothing could be staged (such
/// a file is refused before), and those that tell how this inode happens to be stored or tracked.
const COPIED_FLAGS: u32 = libc::UF_NODUMP | libc::UF_OPAQUE | libc::UF_HIDDEN;

/// The system of this machine.
pub(super) const THIS: MacOs = MacOs;

/// macOS.
#[derive(Debug)]
pub(super) struct MacOs;

impl System for MacOs {
    fn stat_from(&self, stat: &rustix::fs::Stat) -> Stat {
        let plain = stat::from_stat(stat);
        let nanos = u32::try_from(stat.st_birthtime_nsec).unwrap_or_default();
        let device = u64::from(stat.st_dev.cast_unsigned());
        Stat {
            identity: Identity { born: Some(Timestamp::new(stat.st_birthtime, nanos)), ..plain.identity },
            device,
            mount: device,
            immutable: stat.st_flags & (libc::UF_IMMUTABLE | libc::SF_IMMUTABLE) != 0,
            append_only: stat.st_flags & (libc::UF_APPEND | libc::SF_APPEND) != 0,
            ..plain
        }
    }

    fn is_copied(&self, attribute: &OsStr) -> bool {
        !NOT_COPIED.iter().any(|not| attribute == *not)
    }

    fn flags(&self, file: &File) -> io::Result<u32> {
        Ok(retry(|| fstat(file))?.st_flags & COPIED_FLAGS)
    }

    fn set_flags(&self, file: &File, wanted: u32) -> io::Result<()> {
        let now = retry(|| fstat(file))?.st_flags;
        if now & COPIED_FLAGS == wanted {
            return Ok(());
        }
        native::set_flags(file, now & !COPIED_FLAGS | wanted)
    }

    fn check_rights(&self, file: &File) -> io::Result<()> {
        match native::access_list(file)? {
            None => Ok(()),
            Some(_) => Err(refused("it has an access control list, which txedit cannot copy (`chmod -N` removes it)")),
        }
    }

    fn inherited(&self, folder: &File, is_folder: bool) -> io::Result<Metadata> {
        // In the text of a list, so are the entries called that a folder passes on.
        let what = if is_folder { "directory_inherit" } else { "file_inherit" };
        if native::access_list(folder)?.is_some_and(|text| text.contains(what)) {
            return Err(refused("its folder passes on an access control list, which txedit cannot do"));
        }
        let parent = self.stat(folder)?;
        // Neither does a folder pass on the bit, nor does a file need it to get the group.
        Ok(Metadata { group: parent.group, ..inherit::by_umask(&Stat { mode: 0, ..parent }, is_folder) })
    }

    fn file_system(&self, folder: &File) -> io::Result<FileSystem> {
        let found = retry(|| fstatfs(folder))?;
        let name = type_of(&found);
        Ok(FileSystem {
            local: found.f_flags & libc::MNT_LOCAL.cast_unsigned() != 0,
            // Of one by a program nobody knows whether it passes a sync on.
            syncs_folders: matches!(name.as_str(), "apfs" | "hfs"),
            name,
            sync_each: false,
            orders: false,
            syncs_whole: false,
            keeps_numbers: true,
            counts_folders: false,
        })
    }

    fn power_loss(&self, folder: &File) -> io::Result<PowerLossFacts> {
        let found = retry(|| fstatfs(folder))?;
        let renames_survive = match type_of(&found).as_str() {
            "msdos" | "exfat" => false,
            "hfs" => found.f_flags & libc::MNT_JOURNALED.cast_unsigned() != 0,
            _ => true,
        };
        Ok(PowerLossFacts { name: None, renames_survive })
    }

    fn boot(&self) -> io::Result<String> {
        native::text_of(c"kern.bootsessionuuid")
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        match fcntl_fullfsync(file) {
            // The answers of file systems that do not know the call: of SMB, of WebDAV and FUSE, of ZFS. The plain sync
            // goes to their server.
            Err(Errno::OPNOTSUPP | Errno::NOTSUP | Errno::INVAL | Errno::NOTTY) => Ok(rustix::fs::fsync(file)?),
            synced => Ok(synced?),
        }
    }

    fn path_to(&self, folder: &File) -> Option<PathBuf> {
        Some(std::ffi::OsString::from_vec(getpath(folder).ok()?.into_bytes()).into())
    }
}

/// The home folder of the user that this process runs as: users are not in the password file here.
pub(super) fn home_of_user() -> Option<PathBuf> {
    Some(nix::unistd::User::from_uid(nix::unistd::geteuid()).ok()??.dir)
}

/// The name of the type of a file system.
fn type_of(found: &StatFs) -> String {
    let bytes: Vec<u8> = found.f_fstypename.iter().map(|c| c.cast_unsigned()).take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, why)
}
