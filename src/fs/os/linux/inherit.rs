//! The metadata that the system would give to a new file.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::process::{getegid, geteuid};

use super::super::super::{Attributes, Metadata, Project};
use super::super::attributes;
use super::super::inherit::SET_GROUP;
use super::{acl, facts, flags, project, stat};

/// The attribute in which btrfs stores the kind of compression; a folder passes it on to what is made in it.
const COMPRESSION: &str = "btrfs.compression";
/// The label of `SELinux`.
const LABEL: &str = "security.selinux";

/// The metadata of a file (or folder) that a program would make in `folder` with the usual mode. Not covered: the mount
/// options `grpid` and `bsdgroups`, and labels that a policy's rules would choose instead of the folder's.
pub(super) fn from(folder: &File, is_folder: bool) -> io::Result<Metadata> {
    let parent = stat::of(folder)?;
    let asked = if is_folder { 0o777 } else { 0o666 };
    let default = attributes::value(folder, acl::DEFAULT)?;
    let access = match &default {
        Some(default) => acl::access(default, asked)?,
        None => acl::InheritedAccess { mode: asked & !facts::umask()?, acl: None },
    };
    let mut extended = Vec::new();
    for name in [COMPRESSION, LABEL] {
        // Without SELinux, a label is an attribute like any other, and is not passed on.
        if (name != LABEL || selinux_runs())
            && let Some(value) = attributes::value(folder, name)?
        {
            extended.push((name.into(), value));
        }
    }
    if let Some(acl) = access.acl {
        extended.push((acl::ACCESS.into(), acl));
    }
    if let Some(default) = default.filter(|_| is_folder) {
        extended.push((acl::DEFAULT.into(), default));
    }
    let set_group = parent.mode & SET_GROUP;
    Ok(Metadata {
        mode: access.mode | if is_folder { set_group } else { 0 },
        user: geteuid().as_raw(),
        group: if set_group == 0 { getegid().as_raw() } else { parent.group },
        attributes: Attributes { extended, flags: handed_on(folder, is_folder)?, project: project(folder, is_folder)? },
        modified: None,
    })
}

/// The flags that the folder passes on; every file system has its own list.
fn handed_on(folder: &File, is_folder: bool) -> io::Result<u32> {
    let Some(set) = flags::of(folder)? else { return Ok(0) };
    let handed_on = facts::inherited_flags(folder, is_folder)?;
    Ok(set & handed_on & flags::COPIED_FLAGS)
}

fn project(folder: &File, is_folder: bool) -> io::Result<Project> {
    let project = project::of(folder)?;
    let handed_on = Project { hands_on: is_folder, ..project };
    Ok(if project.hands_on { handed_on } else { Project::default() })
}

fn selinux_runs() -> bool {
    Path::new("/sys/fs/selinux/enforce").exists()
}
