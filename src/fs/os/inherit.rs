//! The metadata that the system would give to a new file, by the rules of POSIX.

use rustix::process::{getegid, geteuid};

use super::super::{Attributes, Metadata, Stat};
use super::facts;

/// The bit of a folder that gives its group to what is made in it.
pub(super) const SET_GROUP: u32 = 0o2000;

/// The metadata of a file (or folder) that a program would make with the usual mode in a folder: the umask removes bits,
/// and the folder may pass on its group.
pub(super) fn by_umask(parent: &Stat, is_folder: bool) -> Metadata {
    let asked = if is_folder { 0o777 } else { 0o666 };
    let set_group = parent.mode & SET_GROUP;
    Metadata {
        mode: asked & !facts::umask() | if is_folder { set_group } else { 0 },
        user: geteuid().as_raw(),
        group: if set_group == 0 { getegid().as_raw() } else { parent.group },
        attributes: Attributes::default(),
        modified: None,
    }
}
