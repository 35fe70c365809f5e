//! Name spaces of its own for a program: mounts and processes, and users where this process may not mount otherwise.

use std::fs;
use std::io;

use nix::sched::{CloneFlags, unshare};
use rustix::process::{getegid, geteuid};
use rustix::thread::{
    CapabilitySet, capabilities, clear_ambient_capability_set, configure_capability_in_ambient_set, set_capabilities,
};

use super::super::step::{MakeFailure, MakeStep};

/// Moves this process, which has one thread, into a mount name space of its own, and what it starts into a process name
/// space. Root of the machine needs no more. Anyone else gets a user name space, in which he is who he is: only there he
/// may mount, and nothing that he mounts is seen outside.
pub(super) fn enter() -> Result<(), MakeFailure> {
    let own = CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWPID;
    if geteuid().is_root() && unshare(own).is_ok() {
        return Ok(());
    }
    // Asked before: inside, there is nobody until the maps are written.
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    unshare(own | CloneFlags::CLONE_NEWUSER).map_err(|e| MakeStep::NameSpace.failed(io::Error::from(e)))?;
    // A process without rights may map its group only once it can no longer drop one, which may be what denies it a file.
    let maps = [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("{user} {user} 1")),
        ("/proc/self/gid_map", format!("{group} {group} 1")),
    ];
    for (file, text) in maps {
        fs::write(file, text).map_err(|e| MakeStep::Users.failed(e))?;
    }
    Ok(())
}

/// Lets the next program that this process becomes mount, too: any other than root loses that right with it.
pub(super) fn keep_right_to_mount() -> io::Result<()> {
    let mut sets = capabilities(None)?;
    sets.inheritable |= CapabilitySet::SYS_ADMIN;
    set_capabilities(None, sets)?;
    Ok(configure_capability_in_ambient_set(CapabilitySet::SYS_ADMIN, true)?)
}

/// Passes that right on to nothing that this process starts.
pub(super) fn drop_right_to_mount() -> io::Result<()> {
    clear_ambient_capability_set()?;
    let mut sets = capabilities(None)?;
    sets.inheritable = CapabilitySet::empty();
    Ok(set_capabilities(None, sets)?)
}
