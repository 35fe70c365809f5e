//! Facts about the file system, the machine and this process.

use std::fs::File;
use std::io;
use std::sync::OnceLock;
use std::time::SystemTime;

use rustix::fs::{Mode, StatVfsMountFlags, fstatvfs};
use rustix::process::{Gid, getegid, geteuid};

use super::super::{Host, Timestamp};
use super::retry;
use super::stat::number;

pub(super) fn is_read_only(folder: &File) -> io::Result<bool> {
    Ok(retry(|| fstatvfs(folder))?.f_flag.contains(StatVfsMountFlags::RDONLY))
}

/// The wall clock.
pub(super) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::new(i64::try_from(since.as_secs()).unwrap_or(i64::MAX), since.subsec_nanos())
}

/// The machine and the process; the caller adds the groups.
pub(super) fn host(boot: String) -> Host {
    Host {
        boot,
        name: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        process: std::process::id(),
        user: geteuid().as_raw(),
        groups: None,
    }
}

/// The groups to which this process may give its files; `None` if it may give any file to anybody.
pub(super) fn groups(to_anybody: bool) -> io::Result<Option<Vec<u32>>> {
    if to_anybody {
        return Ok(None);
    }
    let groups = rustix::process::getgroups()?;
    Ok(Some(groups.into_iter().chain([getegid()]).map(Gid::as_raw).collect()))
}

/// The umask. POSIX tells it only to whoever sets another one. So this is done once, as early as possible, and meanwhile
/// the umask is one that lets nobody else in: another thread that makes a file in this moment makes it too private.
pub(super) fn umask() -> u32 {
    static UMASK: OnceLock<u32> = OnceLock::new();
    *UMASK.get_or_init(|| {
        let umask = rustix::process::umask(Mode::RWXG | Mode::RWXO);
        rustix::process::umask(umask);
        number(umask.bits())
    })
}
