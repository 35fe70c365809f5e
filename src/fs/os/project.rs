//! Projects, to which quotas belong. Their numbers are told by calls that `rustix` has no safe form of; whether two folders
//! have the same is tried out.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, IFlags, Mode, OFlags, ioctl_setflags, linkat, mkdirat, openat, unlinkat};
use rustix::io::Errno;

use super::{attributes, name, open, retry};

/// A name in a scratch folder.
const LINK: &str = "link";

/// Whether `folder`, which gives its project to all that is in it, has that of `place`; `None` where that cannot be tried.
///
/// A file without a name, made in `folder`, has the project of that one; a folder that gives away its own, made at `scratch`
/// in `place`, refuses a link to any other. It is gone afterwards.
pub(super) fn is_shared(folder: &File, place: &File, scratch: &OsStr) -> io::Result<Option<bool>> {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let Ok(unnamed) = retry(|| openat(folder, c".", flags, Mode::RUSR)) else { return Ok(None) };
    retry(|| mkdirat(place, scratch, Mode::RWXU))?;
    let tried = open::beneath(place, Path::new(scratch)).and_then(|inside| {
        let now = attributes::flags(&inside)?.unwrap_or_default() | attributes::PROJECT_INHERITANCE;
        if ioctl_setflags(&inside, IFlags::from_bits_retain(now)).is_err() {
            return Ok(None);
        }
        let unnamed = format!("/proc/self/fd/{}", unnamed.as_raw_fd());
        match linkat(CWD, unnamed, &inside, LINK, AtFlags::SYMLINK_FOLLOW) {
            Ok(()) => unlinkat(&inside, LINK, AtFlags::empty()).map(|()| Some(true)).map_err(Into::into),
            Err(Errno::XDEV) => Ok(Some(false)),
            Err(_) => Ok(None),
        }
    });
    name::remove_folder(place, scratch)?;
    tried
}
