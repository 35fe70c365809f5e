//! Facts about the file system, the machine and this process, as the kernel tells them.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::{CWD, IFlags, Mode, OFlags, fstatfs, openat};
use rustix::process::geteuid;
use rustix::thread::CapabilitySet;

use super::super::super::FileSystem;
use super::super::open::FOLDER;
use super::super::retry;
use super::super::system::PowerLossFacts;
use super::stat;

const EXT4: u32 = 0xef53;
const XFS: u32 = 0x5846_5342;
const BTRFS: u32 = 0x9123_683e;
const F2FS: u32 = 0xf2f5_2010;
const TMPFS: u32 = 0x0102_1994;
const OVERLAY: u32 = 0x794c_7630;
const FUSE: u32 = 0x6573_5546;
const VFAT: u32 = 0x4d44;
const EXFAT: u32 = 0x2011_bab0;

/// The properties of a file system by its magic number in `statfs`.
struct KnownFileSystem {
    magic: u32,
    name: &'static str,
    /// True if only this kernel writes to it.
    local: bool,
    /// True if `syncfs` ends with everything on the medium. For an overlay, its upper folder decides.
    syncs_whole: bool,
}

const fn known(magic: u32, name: &'static str, local: bool, syncs_whole: bool) -> KnownFileSystem {
    KnownFileSystem { magic, name, local, syncs_whole }
}

/// File systems whose `syncfs` flushes the device, waits for its own log, or has nothing to write are trusted. Others
/// write their pages and leave the rest to the layer below: vfat and exfat do not flush the device, ecryptfs and 9p do
/// not ask the layer below.
const KNOWN: &[KnownFileSystem] = &[
    known(EXT4, "ext4", true, true),
    known(XFS, "xfs", true, true),
    known(BTRFS, "btrfs", true, true),
    known(F2FS, "f2fs", true, true),
    known(TMPFS, "tmpfs", true, true),
    known(0xca45_1a4e, "bcachefs", true, true),
    known(0x2fc1_2fc1, "zfs", true, true),
    known(OVERLAY, "overlay", true, false),
    known(0x8584_58f6, "ramfs", true, true),
    known(0xf15f, "ecryptfs", true, false),
    known(VFAT, "vfat", true, false),
    known(EXFAT, "exfat", true, false),
    known(0x7366_746e, "ntfs3", true, false),
    known(0x3153_464a, "jfs", true, false),
    known(0x3434, "nilfs2", true, true),
    known(0x2405_1905, "ubifs", true, true),
    known(FUSE, "fuse", true, false),
    known(0x6969, "nfs", false, false),
    known(0xff53_4d42, "cifs", false, false),
    known(0xfe53_4d42, "smb2", false, false),
    known(0x517b, "smbfs", false, false),
    known(0x0102_1997, "9p", false, false),
    known(0x00c3_6400, "ceph", false, false),
    known(0x5346_414f, "afs", false, false),
    known(0x7375_7245, "coda", false, false),
    known(0x0116_1970, "gfs2", false, true),
    known(0x7461_636f, "ocfs2", false, true),
    known(0x0bd0_0bd0, "lustre", false, false),
    known(0x4750_4653, "gpfs", false, false),
    known(0x786f_4256, "vboxsf", false, false),
    known(0xbacb_acbc, "vmhgfs", false, false),
];

/// FUSE file systems with remote contents, as the mount table names them. Any other counts as local: most are a view of
/// a local folder.
const REMOTE_FUSE: &[&str] = &[
    "virtiofs",
    "fuse.sshfs",
    "fuse.rclone",
    "fuse.glusterfs",
    "fuse.ceph",
    "fuse.ceph-fuse",
    "fuse.s3fs",
    "fuse.gcsfuse",
    "fuse.goofys",
    "fuse.davfs",
    "fuse.gvfsd-fuse",
    "fuse.juicefs",
    "fuse.mfs",
    "fuse.lizardfs",
    "fuse.seaweedfs",
    "fuse.vmhgfs-fuse",
    "fuse.afpfs",
    "fuse.curlftpfs",
    "fuse.smbnetfs",
    "fuse.beegfs",
];

/// File systems by programs that are known to pass the sync of a folder on to the disk beneath. Most answer that they did, and
/// do nothing.
const PASS_ON_SYNCS: [&str; 2] = ["fuse.fuse-overlayfs", "fuseblk"];

fn magic(folder: &File) -> io::Result<u32> {
    // The field is a signed word of the machine's size; magic numbers have 32 bits.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "only the low 32 bits are meant")]
    Ok(retry(|| fstatfs(folder))?.f_type as u32)
}

pub(super) fn file_system(folder: &File) -> io::Result<FileSystem> {
    let magic = magic(folder)?;
    let (mut name, mut local, mut syncs_whole) = match KNOWN.iter().find(|known| known.magic == magic) {
        Some(known) => (known.name.to_owned(), known.local, known.syncs_whole),
        None => (format!("{magic:#x}"), true, false),
    };
    if magic == FUSE
        && let Some((_, kind)) = mounted(stat::of(folder)?.mount)
    {
        local = !REMOTE_FUSE.contains(&kind.as_str());
        name = kind;
    }
    if magic == OVERLAY {
        syncs_whole = stat::knows_no_dump(folder)?;
    }
    let syncs_folders = magic != FUSE || PASS_ON_SYNCS.contains(&name.as_str());
    let keeps_numbers = magic != OVERLAY;
    let orders = magic == EXT4 && has_journal(&device_of(folder)?);
    // Without a journal, a power loss can leave a folder with one link less than it has folders.
    let counts_folders = orders || matches!(magic, XFS | TMPFS);
    Ok(FileSystem {
        name,
        local,
        sync_each: magic == EXT4,
        orders,
        syncs_whole,
        syncs_folders,
        keeps_numbers,
        counts_folders,
    })
}

/// The entry of a mount in the mount table: `major:minor` of its file system, and the type.
///
/// Only the mount table tells them: all FUSE file systems have one magic number, and on btrfs `stat` shows devices
/// other than the file system's own.
pub(super) fn mounted(mount: u64) -> Option<(String, String)> {
    let [device, kind, _] = mount_entry(mount)?;
    Some((device, kind))
}

/// The same with the options of the file system, which are not those of the mount.
fn mount_entry(mount: u64) -> Option<[String; 3]> {
    let table = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    // The columns: mount, parent, device, further ones of which some are optional, a dash, the type.
    let mut columns = table.lines().map(|line| line.split(' '));
    let mut columns = columns.find_map(|mut columns| (columns.next()?.parse() == Ok(mount)).then_some(columns))?;
    let device = columns.nth(1)?.to_owned();
    columns.find(|column| *column == "-")?;
    let kind = columns.next()?.to_owned();
    let options = columns.nth(1)?.to_owned();
    Some([device, kind, options])
}

/// Returns whether every folder can be renamed. On an overlay without `redirect_dir` one of a lower layer cannot, and
/// nothing but a rename tells which layer a folder is of.
pub(super) fn moves_folders(folder: &File) -> io::Result<bool> {
    if magic(folder)? != OVERLAY {
        return Ok(true);
    }
    let options = mount_entry(stat::of(folder)?.mount).map(|[.., options]| options).unwrap_or_default();
    // It is shown where it is not what the module does by default.
    let by_default = || {
        let set = std::fs::read_to_string("/sys/module/overlay/parameters/redirect_dir");
        set.is_ok_and(|set| set.trim_end() == "Y")
    };
    let asked = options.split(',').find_map(|option| option.strip_prefix("redirect_dir="));
    Ok(asked.map_or_else(by_default, |how| how == "on"))
}

/// Looks for a journal: ext2, ext3 and ext4 share a magic number, and any of them may lack one.
pub(super) fn power_loss(folder: &File) -> io::Result<PowerLossFacts> {
    let renames_survive = match magic(folder)? {
        VFAT | EXFAT => false,
        // A container does not see where the upper layer is.
        OVERLAY => match upper_layer(stat::of(folder)?.mount) {
            Some(upper) => power_loss(&upper)?.renames_survive,
            None => false,
        },
        EXT4 => {
            let Some((device, kind)) = mounted(stat::of(folder)?.mount) else {
                return Ok(PowerLossFacts { name: None, renames_survive: false });
            };
            let renames_survive = kind != "ext2" && has_journal(&device);
            return Ok(PowerLossFacts { name: Some(kind), renames_survive });
        }
        _ => true,
    };
    Ok(PowerLossFacts { name: None, renames_survive })
}

/// The folder that an overlay writes to, where its path can be followed.
fn upper_layer(mount: u64) -> Option<File> {
    let [.., options] = mount_entry(mount)?;
    let path = options.split(',').find_map(|option| option.strip_prefix("upperdir="))?;
    // One with a character that the table escapes is not looked for, nor one that is relative to who knows what.
    let path =
        Some(Path::new(path)).filter(|path| path.is_absolute() && !path.as_os_str().as_bytes().contains(&b'\\'))?;
    // Only a folder: anything else that is there by now could block.
    Some(retry(|| openat(CWD, path, FOLDER | OFlags::NOFOLLOW, Mode::empty())).ok()?.into())
}

/// The device of a file system that has one of its own, as `major:minor`.
fn device_of(folder: &File) -> io::Result<String> {
    let device = stat::of(folder)?.device;
    Ok(format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device)))
}

/// Returns whether the ext4 on a device, `major:minor`, has a journal: then there is a thread that writes it.
fn has_journal(device: &str) -> bool {
    let name = std::fs::read_link(Path::new("/sys/dev/block").join(device)).ok();
    let name = name.as_deref().and_then(Path::file_name);
    let task = name.map(|name| Path::new("/sys/fs/ext4").join(name).join("journal_task"));
    let task = task.and_then(|task| std::fs::read_to_string(task).ok());
    task.is_some_and(|task| task.trim_end().parse::<u32>().is_ok())
}

/// The flags of a folder that the file system passes on to what is made in it.
pub(super) fn inherited_flags(folder: &File, is_folder: bool) -> io::Result<u32> {
    let ext4 = IFlags::SECURE_REMOVAL
        | IFlags::UNRM
        | IFlags::COMPRESSED
        | IFlags::SYNC
        | IFlags::NODUMP
        | IFlags::NOATIME
        | IFlags::JOURNALING
        | IFlags::NOTAIL
        | IFlags::DIRSYNC
        // Direct access and no compression, which have no name in rustix.
        | IFlags::from_bits_retain(0x0200_0400);
    let flags = match magic(folder)? {
        // The layer below decides and cannot be seen; these are the flags that most file systems pass on.
        OVERLAY => IFlags::SYNC | IFlags::NODUMP | IFlags::NOATIME | IFlags::COMPRESSED | IFlags::NOCOW,
        EXT4 if is_folder => ext4,
        EXT4 => ext4.difference(IFlags::DIRSYNC),
        // xfs does so subject to sysctls, all of which are on by default.
        F2FS | XFS => IFlags::SYNC | IFlags::NODUMP | IFlags::NOATIME,
        BTRFS => IFlags::COMPRESSED | IFlags::NOCOW | IFlags::from_bits_retain(0x400),
        TMPFS => IFlags::NODUMP | IFlags::NOATIME,
        _ => IFlags::empty(),
    };
    Ok(flags.bits())
}

/// Reads a file of `/proc`. Without it neither the boot of a journal nor the mode of a new file is known.
fn told_by(path: &str) -> io::Result<String> {
    std::fs::read_to_string(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            let message =
                format!("{path} is missing: mount /proc (`mount -t proc proc /proc`), txedit cannot do without");
            io::Error::new(io::ErrorKind::Unsupported, message)
        }
        _ => error,
    })
}

/// Returns whether this process was started with SIGHUP ignored, as `nohup` does.
pub(in crate::fs::os) fn ignores_hang_up() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
    ignored.is_some_and(|signals| signals & 1 != 0)
}

/// The umask. It is read once: nothing in this program changes it, and no other process can.
pub(super) fn umask() -> io::Result<u32> {
    static UMASK: OnceLock<u32> = OnceLock::new();
    if let Some(umask) = UMASK.get() {
        return Ok(*umask);
    }
    let status = told_by("/proc/self/status")?;
    let umask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    let umask = umask.and_then(|digits| u32::from_str_radix(digits.trim(), 8).ok());
    let umask = umask.ok_or_else(|| io::Error::other("/proc/self/status does not tell the umask"))?;
    Ok(*UMASK.get_or_init(|| umask))
}

/// The boot id of the kernel.
pub(super) fn boot() -> io::Result<String> {
    Ok(told_by("/proc/sys/kernel/random/boot_id")?.trim_end().to_owned())
}

pub(in crate::fs::os) fn home_of_user() -> Option<PathBuf> {
    let (users, user) = (std::fs::read("/etc/passwd").ok()?, geteuid().as_raw().to_string());
    users.split(|byte| *byte == b'\n').find_map(|line| {
        let fields: Vec<_> = line.split(|byte| *byte == b':').collect();
        let is_user = fields.get(2).is_some_and(|id| *id == user.as_bytes());
        is_user.then(|| fields.get(5).map(|home| PathBuf::from(OsStr::from_bytes(home))))?
    })
}

/// The groups to which this process may give its files.
pub(super) fn groups() -> io::Result<Option<Vec<u32>>> {
    super::super::facts::groups(rustix::thread::capabilities(None)?.effective.contains(CapabilitySet::CHOWN))
}
