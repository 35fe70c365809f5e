//! Opens a folder and verifies that it is private to this user.
//!
//! Whoever may rename in a folder can replace a name between a check and the opening. So a folder is opened first, and
//! the open folder is checked; everything in it is reached through that handle.

use std::fmt;
use std::path::Path;

use super::workspace::Workspace;
use crate::commit::Protocol;
use crate::commit::protocol::{PROTOCOL, is_private};
use crate::errno::{self, Errno};
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{Handle, Name, Stat};

/// The result of opening a folder.
#[derive(Debug)]
pub(crate) enum Opening {
    /// It is private to this user.
    Ours(Handle, Stat),
    /// It does not exist.
    Missing,
    /// It must not be used.
    Refused(Refusal),
}

/// Why a folder is not used. Displayed as a clause that follows its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It is not a folder.
    NoFolder,
    /// It belongs to another user.
    Foreign { owner: u32, user: u32 },
    /// Others can write to it; its mode.
    Shared(u32),
    /// It is this user's, but cannot be opened.
    Shut,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFolder => f.write_str("is not a folder"),
            Self::Foreign { owner, .. } => write!(f, "belongs to user {owner}, not to you"),
            Self::Shared(mode) => write!(f, "can be written by others (mode {mode:o})"),
            Self::Shut => f.write_str("cannot be opened by you"),
        }
    }
}

/// Opens a folder in the state folder, and checks it.
pub(crate) fn open(workspace: &Workspace, name: Name<'_>) -> Result<Opening> {
    open_by(workspace, name, &PROTOCOL)
}

/// Opens a folder, and checks it by a protocol.
pub(crate) fn open_by(workspace: &Workspace, name: Name<'_>, protocol: &Protocol) -> Result<Opening> {
    let folder = match workspace.fs().open_beneath(name.folder, name.name.as_ref()) {
        Ok(folder) => folder,
        Err(e) => match errno::of(&e) {
            Some(Errno::NOENT) => return Ok(Opening::Missing),
            Some(Errno::NOTDIR | Errno::LOOP) => return Ok(Opening::Refused(Refusal::NoFolder)),
            Some(Errno::ACCESS | Errno::PERM) => return barred(workspace, name),
            _ => return Err(Error::io("open", name.path(), e)),
        },
    };
    let stat = workspace.stat_handle(&folder)?;
    let user = workspace.host()?.user;
    if (protocol.is_private)(stat.user, stat.mode, user) {
        return Ok(Opening::Ours(folder, stat));
    }
    Ok(Opening::Refused(refused(&stat, user)))
}

/// The error of an operation that needs a refused folder.
pub(crate) fn to_be_mended(path: &Path, refusal: Refusal) -> Error {
    let advice = match refusal {
        Refusal::Shut => "give yourself all rights to it, or move it away",
        _ => "if what is in it is yours, make it yours alone (chown, chmod go-w); else move it away",
    };
    let message = format!("{} {refusal}; {advice}", path.display());
    Error::new(ErrorKind::PermissionDenied, message).at(path)
}

/// Why a folder is not private to this user.
fn refused(stat: &Stat, user: u32) -> Refusal {
    if stat.user == user { Refusal::Shared(stat.mode) } else { Refusal::Foreign { owner: stat.user, user } }
}

/// Why a folder cannot be opened, by its name. It is not used, so the answer need not stay true.
fn barred(workspace: &Workspace, name: Name<'_>) -> Result<Opening> {
    let (stat, user) = (workspace.stat(name)?, workspace.host()?.user);
    Ok(match stat {
        Some(stat) if !is_private(stat.user, stat.mode, user) => Opening::Refused(refused(&stat, user)),
        _ => Opening::Refused(Refusal::Shut),
    })
}

/// Returns whether another user may rename in a folder, this user's names included.
pub(crate) fn is_shared(folder: &Stat, user: u32) -> bool {
    let sticky = folder.mode & 0o1000 != 0;
    ![0, user].contains(&folder.user) || folder.mode & 0o022 != 0 && !sticky
}
