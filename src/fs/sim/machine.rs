//! The parts of a simulated machine besides its files: clock, mounts, limits.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::Timestamp;
use super::disk::{Disk, Id};

/// The start of the simulated clock: in November 2023.
const EPOCH: Duration = Duration::from_secs(1_700_000_000);

/// Settings of the whole machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimSettings {
    /// The time by which each call that changes something moves the clock.
    pub tick: Duration,
    /// The permission bits that new files do not get.
    pub umask: u32,
    /// The most files that a process may have open.
    pub open_files: u64,
    /// True if a failed sync marks its pages clean, so that no later sync writes them. Linux does.
    pub failed_sync_loses_pages: bool,
}

impl Default for SimSettings {
    fn default() -> Self {
        Self { tick: Duration::from_micros(1), umask: 0o022, open_files: 1 << 20, failed_sync_loses_pages: true }
    }
}

/// One file system of the machine: the root's, or a mounted one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "switches that are independent of each other")]
pub struct Volume {
    /// The name of its type.
    pub name: String,
    /// True if nothing can be changed.
    pub read_only: bool,
    /// True if two names can be exchanged.
    pub exchange: bool,
    /// True if a rename can refuse to replace what is at its destination.
    pub no_replace: bool,
    /// True if inodes have a birth time.
    pub birth_times: bool,
    /// True if a new inode gets the lowest free number; otherwise no number is reused.
    pub reuse_inodes: bool,
    /// The most bytes that all files together may have.
    pub bytes: Option<u64>,
    /// The most inodes.
    pub inodes: Option<u64>,
    /// The value of [`FileSystem::local`](super::super::FileSystem::local).
    pub local: bool,
    /// The value of [`FileSystem::sync_each`](super::super::FileSystem::sync_each).
    pub sync_each: bool,
    /// The value of [`FileSystem::orders`](super::super::FileSystem::orders); a power loss leaves metadata as
    /// [`OrderedMetadata`](super::Policy::OrderedMetadata) says, whatever is asked for.
    pub orders: bool,
    /// True if a sync of the file system has any effect; the value of
    /// [`FileSystem::syncs_whole`](super::super::FileSystem::syncs_whole).
    pub syncs_whole: bool,
    /// The value of [`FileSystem::syncs_folders`](super::super::FileSystem::syncs_folders). A sync has its effect
    /// nevertheless.
    pub syncs_folders: bool,
    /// True if no call syncs the file system as a whole, as on macOS: it fails.
    pub no_whole_sync: bool,
    /// True if the sync of a file or folder ends in the cache of the drive, which a power loss empties. On macOS a plain
    /// `fsync` does; [`OsFs`](super::super::OsFs) makes the full sync there.
    pub syncs_to_cache: bool,
    /// The opposite of [`FileSystem::keeps_numbers`](super::super::FileSystem::keeps_numbers). The numbers stay the same
    /// nevertheless.
    pub is_layered: bool,
    /// The value of [`FileSystem::counts_folders`](super::super::FileSystem::counts_folders); if false, every folder has two
    /// links, whatever is in it.
    pub counts_folders: bool,
    /// True if the number of a file goes by its name, so that a renamed file gets another one. Some file systems by
    /// programs are so unless they are asked to keep numbers.
    pub numbers_by_name: bool,
    /// True if every number is dealt out anew once no process is there that could hold a file, and at each boot: what some
    /// file systems by programs do as soon as the system has forgotten a file.
    pub forgets_numbers: bool,
    /// True if a file can have several names.
    pub links: bool,
    /// True if an advisory lock excludes others. Some network file systems only claim so.
    pub locks: bool,
    /// True if it gives leases.
    pub leases: bool,
}

impl Default for Volume {
    fn default() -> Self {
        Self {
            name: "sim".to_owned(),
            read_only: false,
            exchange: true,
            no_replace: true,
            birth_times: true,
            reuse_inodes: false,
            bytes: None,
            inodes: None,
            local: true,
            sync_each: false,
            orders: false,
            syncs_whole: true,
            syncs_folders: true,
            no_whole_sync: false,
            syncs_to_cache: false,
            is_layered: false,
            counts_folders: true,
            numbers_by_name: false,
            forgets_numbers: false,
            links: true,
            locks: true,
            leases: true,
        }
    }
}

/// The state that a crash does not change, except for the boot.
#[derive(Debug, Clone)]
pub(super) struct Machine {
    clock: Duration,
    next_id: Id,
    next_number: u64,
    pub(super) boot: u32,
    /// How often all processes have ended.
    pub(super) forgotten: u32,
    pub(super) settings: SimSettings,
    /// The volume of each device.
    volumes: BTreeMap<u64, Volume>,
    /// The device of each mount.
    mounts: BTreeMap<u64, u64>,
}

impl Machine {
    /// A machine with one volume: device 1, mount 1.
    pub(super) fn new() -> Self {
        Self {
            clock: EPOCH,
            next_id: super::disk::ROOT + 1,
            next_number: 11,
            boot: 1,
            forgotten: 0,
            settings: SimSettings::default(),
            volumes: BTreeMap::from([(1, Volume::default())]),
            mounts: BTreeMap::from([(1, 1)]),
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        let seconds = i64::try_from(self.clock.as_secs()).unwrap_or(i64::MAX);
        Timestamp::new(seconds, self.clock.subsec_nanos())
    }

    pub(super) fn advance(&mut self, by: Duration) {
        self.clock = self.clock.saturating_add(by);
    }

    pub(super) fn rewind(&mut self, by: Duration) {
        self.clock = self.clock.saturating_sub(by);
    }

    /// The boot id, in the format of Linux.
    pub(super) fn boot_id(&self) -> String {
        format!("51b007ed-0000-4000-8000-{:012x}", self.boot)
    }

    pub(super) fn device(&self, mount: u64) -> u64 {
        self.mounts.get(&mount).copied().unwrap_or(1)
    }

    pub(super) fn volume(&self, mount: u64) -> &Volume {
        // Every mount is added together with its device, and neither is ever removed.
        &self.volumes[&self.device(mount)]
    }

    pub(super) fn volumes(&self) -> impl Iterator<Item = &Volume> {
        self.volumes.values()
    }

    pub(super) fn volume_mut(&mut self, mount: u64) -> Option<&mut Volume> {
        let device = self.device(mount);
        self.volumes.get_mut(&device)
    }

    /// Adds a mount: of a new volume, or another one of `device`.
    pub(super) fn mount(&mut self, device: Option<u64>) -> u64 {
        let mount = self.mounts.keys().max().map_or(1, |m| m + 1);
        let device = device.unwrap_or_else(|| {
            let device = self.volumes.keys().max().map_or(1, |d| d + 1);
            self.volumes.insert(device, Volume::default());
            device
        });
        self.mounts.insert(mount, device);
        mount
    }

    pub(super) fn new_id(&mut self) -> Id {
        self.next_id += 1;
        self.next_id - 1
    }

    /// A number for an inode on `mount`.
    pub(super) fn new_number(&mut self, mount: u64, live: &Disk) -> u64 {
        if self.volume(mount).reuse_inodes {
            let device = self.device(mount);
            let taken: std::collections::BTreeSet<u64> =
                live.iter().filter(|(_, n)| self.device(n.mount) == device).map(|(_, n)| n.number).collect();
            if let Some(free) = (11..self.next_number).find(|n| !taken.contains(n)) {
                return free;
            }
        }
        self.next_number += 1;
        self.next_number - 1
    }
}
