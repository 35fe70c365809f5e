//! Opens a folder only if it belongs to this user alone.
//!
//! Anyone who may rename in a folder can exchange a name between a check and the opening. So a folder is opened first
//! and then checked; everything in it is reached through that handle.

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
    /// It belongs to this user alone.
    Ours(Handle, Stat),
    /// Nothing has this name.
    Missing,
    /// It is never used.
    Refused(Refusal),
}

/// The reason for not using a folder, displayed as what follows its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It is not a folder.
    NoFolder,
    /// It belongs to another user than the one who runs.
    Foreign { owner: u32, user: u32 },
    /// Others can write to it; the number is its mode.
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

/// Opens a folder in the state folder and checks what was opened.
pub(crate) fn open(workspace: &Workspace, name: Name<'_>) -> Result<Opening> {
    open_by(workspace, name, &PROTOCOL)
}

/// Opens a folder and checks what was opened, by the rules of a protocol.
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

/// The error of an operation that needs a folder which was refused.
pub(crate) fn to_be_mended(path: &Path, refusal: Refusal) -> Error {
    let advice = match refusal {
        Refusal::Shut => "give yourself all rights to it, or move it away",
        _ => "if what is in it is yours, make it yours alone (chown, chmod go-w); else move it away",
    };
    let message = format!("{} {refusal}; {advice}", path.display());
    Error::new(ErrorKind::PermissionDenied, message).at(path)
}

/// The reason why a folder is not this user's alone.
fn refused(stat: &Stat, user: u32) -> Refusal {
    if stat.user == user { Refusal::Shared(stat.mode) } else { Refusal::Foreign { owner: stat.user, user } }
}

/// The reason why a folder cannot be opened, judged by its name: since it is not used, a later change does no harm.
fn barred(workspace: &Workspace, name: Name<'_>) -> Result<Opening> {
    let (stat, user) = (workspace.stat(name)?, workspace.host()?.user);
    Ok(match stat {
        Some(stat) if !is_private(stat.user, stat.mode, user) => Opening::Refused(refused(&stat, user)),
        _ => Opening::Refused(Refusal::Shut),
    })
}

/// Returns whether another user can exchange names in a folder, this user's among them.
pub(crate) fn is_shared(folder: &Stat, user: u32) -> bool {
    let sticky = folder.mode & 0o1000 != 0;
    ![0, user].contains(&folder.user) || folder.mode & 0o022 != 0 && !sticky
}
