//! Whether an open folder is this user's alone.
//!
//! Whoever may rename in a folder may exchange a name between a look and the opening. So a folder is opened first, and
//! what was opened is judged; everything in it is reached through that handle.

use std::path::Path;

use crate::commit::Protocol;
use crate::commit::protocol::{PROTOCOL, is_private};
use crate::errno::{self, Errno};
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{Fs, Handle, Name, Stat};

/// What came of opening a folder.
#[derive(Debug)]
pub(super) enum Opening {
    /// It is this user's alone.
    Ours(Handle, Stat),
    /// There is nothing.
    Missing,
    /// It is never acted on, and why: what follows its name.
    Refused(String),
    /// It is this user's, and cannot be opened: why, as above.
    Shut(&'static str),
}

impl Opening {
    /// Why it is not acted on: what follows its name.
    pub(super) fn why(&self) -> &str {
        match self {
            Self::Refused(why) => why,
            Self::Shut(why) => why,
            Self::Ours(..) | Self::Missing => "is as it should be",
        }
    }
}

/// Opens a folder in the state folder, and judges what was opened.
pub(super) fn open(fs: &dyn Fs, name: Name<'_>) -> Result<Opening> {
    open_by(fs, name, &PROTOCOL)
}

/// Opens a folder, and judges what was opened by a protocol.
pub(super) fn open_by(fs: &dyn Fs, name: Name<'_>, protocol: &Protocol) -> Result<Opening> {
    let io = |verb: &'static str| move |e| Error::io(verb, name.path(), e);
    let folder = match fs.open_beneath(name.folder, name.name.as_ref()) {
        Ok(folder) => folder,
        Err(e) => match errno::of(&e) {
            Some(Errno::NOENT) => return Ok(Opening::Missing),
            Some(Errno::NOTDIR | Errno::LOOP) => return Ok(Opening::Refused("is not a folder".to_owned())),
            Some(Errno::ACCESS | Errno::PERM) => return barred(fs, name),
            _ => return Err(io("open")(e)),
        },
    };
    let stat = fs.stat_handle(&folder).map_err(io("look at"))?;
    let user = fs.host().map_err(io("ask who opens"))?.user;
    if (protocol.is_private)(stat.user, stat.mode, user) {
        return Ok(Opening::Ours(folder, stat));
    }
    Ok(Opening::Refused(refused(&stat, user)))
}

/// The refusal of what needs a folder that is not acted on.
pub(super) fn to_be_mended(path: &Path, refused: &Opening) -> Error {
    let advice = match refused {
        Opening::Shut(_) => "give yourself all rights to it, or move it away",
        _ => "if what is in it is yours, make it yours alone (chown, chmod go-w); else move it away",
    };
    let message = format!("{} {}; {advice}", path.display(), refused.why());
    Error::new(ErrorKind::PermissionDenied, message).at(path)
}

/// Why a folder is not this user's alone.
fn refused(stat: &Stat, user: u32) -> String {
    if stat.user != user {
        return format!("belongs to user {}, not to you", stat.user);
    }
    format!("can be written by others (mode {:o})", stat.mode)
}

/// Why a folder cannot be opened, by its name: it is not acted on, so this need not be true for long.
fn barred(fs: &dyn Fs, name: Name<'_>) -> Result<Opening> {
    let io = |e| Error::io("look at", name.path(), e);
    let (stat, user) = (fs.stat(name).map_err(io)?, fs.host().map_err(io)?.user);
    Ok(match stat {
        Some(stat) if !is_private(stat.user, stat.mode, user) => Opening::Refused(refused(&stat, user)),
        _ => Opening::Shut("cannot be opened by you"),
    })
}

/// Whether somebody else may exchange the names in a folder, this user's among them.
pub(super) fn is_shared(folder: &Stat, user: u32) -> bool {
    let sticky = folder.mode & 0o1000 != 0;
    ![0, user].contains(&folder.user) || folder.mode & 0o022 != 0 && !sticky
}
