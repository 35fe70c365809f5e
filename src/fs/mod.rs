//! The one door to the operating system.
//!
//! Every request of the engine to a file system goes through [`Fs`], so that the same protocol runs on the real one
//! ([`OsFs`]), on one that fails on demand, and on one in memory that loses what was not synced.
//!
//! Architecture invariant: only this module names `std::fs`, `rustix`, `tempfile` and `fs4`.

use std::any::Any;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::digest::{Digest, Digester};
pub use crate::identity::{Identity, Timestamp};
use crate::plan::Access;

#[cfg(any(test, feature = "testing"))]
pub mod fault;
#[cfg_attr(
    not(any(feature = "cli", feature = "testing")),
    expect(dead_code, reason = "only the front-ends read input")
)]
pub(crate) mod input;
#[cfg_attr(
    not(any(feature = "cli", feature = "testing")),
    expect(dead_code, reason = "some facts are asked for by the front-ends alone")
)]
pub(crate) mod os;
#[cfg(feature = "cli")]
pub(crate) mod output;
#[cfg_attr(
    not(any(feature = "cli", feature = "testing")),
    expect(dead_code, reason = "only the command line asks for all guarantees")
)]
pub(crate) mod probe;
#[cfg(feature = "cli")]
pub(crate) mod records;
#[cfg_attr(
    not(any(feature = "cli", feature = "delegate", feature = "testing")),
    expect(dead_code, reason = "only the front-ends have scratch folders")
)]
pub(crate) mod scratch;
#[cfg(any(test, feature = "testing"))]
pub mod sim;
#[cfg(feature = "cli")]
pub(crate) mod terminal;
pub(crate) mod threads;
#[cfg_attr(
    not(any(feature = "delegate", feature = "testing")),
    expect(dead_code, reason = "only a delegation reads a whole tree")
)]
pub(crate) mod tree;
pub(crate) mod walk;

pub use os::OsFs;

/// An open file or folder. Clones share it; when the last one is dropped, it is closed and its lock released.
#[derive(Clone)]
pub struct Handle(Arc<HandleInner>);

struct HandleInner {
    inner: Arc<dyn Any + Send + Sync>,
    path: PathBuf,
}

impl Handle {
    /// Wraps the data by which a file system finds it again; `path` is for messages.
    pub fn new(inner: impl Any + Send + Sync, path: impl Into<PathBuf>) -> Self {
        Self(Arc::new(HandleInner { inner: Arc::new(inner), path: path.into() }))
    }

    /// The value that [`new`](Self::new) was given, if it was a `T`.
    #[must_use]
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.inner.downcast_ref()
    }

    /// The path it was opened at, for messages.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// The same open folder under its new path, after a rename.
    #[must_use]
    pub fn renamed(&self, path: impl Into<PathBuf>) -> Self {
        Self(Arc::new(HandleInner { inner: Arc::clone(&self.0.inner), path: path.into() }))
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Handle({})", self.path().display())
    }
}

/// A name in an open folder.
#[derive(Debug, Clone, Copy)]
pub struct Name<'a> {
    /// The folder.
    pub folder: &'a Handle,
    /// The name in it: one segment.
    pub name: &'a OsStr,
}

impl<'a> Name<'a> {
    /// The name `name` in `folder`.
    pub fn new(folder: &'a Handle, name: &'a (impl AsRef<OsStr> + ?Sized)) -> Self {
        Self { folder, name: name.as_ref() }
    }

    /// The full path, for messages.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        let folder = self.folder.path();
        let mut path = PathBuf::with_capacity(folder.as_os_str().len() + 1 + self.name.len());
        path.push(folder);
        path.push(self.name);
        path
    }
}

/// The kind of file that a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Symlink,
    /// A pipe, socket or device.
    Special,
}

/// The metadata of a file or folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    /// The kind of file.
    pub kind: FileKind,
    /// The inode.
    pub identity: Identity,
    /// The device; comparable within one mount only.
    pub device: u64,
    /// The mount.
    pub mount: u64,
    /// The size in bytes.
    pub size: u64,
    /// The last change of the content.
    pub modified: Timestamp,
    /// The last change of content or metadata.
    pub changed: Timestamp,
    /// Permission bits, set-id and sticky bits: `0o7777`.
    pub mode: u32,
    /// The owner.
    pub user: u32,
    /// The group.
    pub group: u32,
    /// The number of its names (hard links).
    pub links: u64,
    /// True if something is mounted here.
    pub mount_root: bool,
    /// True if it cannot be changed or replaced at all.
    pub immutable: bool,
    /// True if it can only grow.
    pub append_only: bool,
}

impl Stat {
    /// Returns whether it is of the same folder, reached through the same mount.
    #[must_use]
    pub fn is_of_same(&self, other: &Self) -> bool {
        (self.device, self.mount, self.identity) == (other.device, other.mount, other.identity)
    }
}

/// The project of a file or folder, to which quotas of xfs and ext4 belong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Project {
    /// Its number; 0 if it belongs to none.
    pub id: u32,
    /// For a folder: true if what is made in it, or moved into it, must be in the same project (`chattr +P`).
    pub hands_on: bool,
}

/// Extended attributes (with ACLs, labels and capabilities among them), and the inode flags that can be set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Attributes {
    /// Name and value, sorted by name.
    pub extended: Vec<(OsString, Vec<u8>)>,
    /// The inode flags that `chattr` sets, as far as a copy can have them.
    pub flags: u32,
    /// The project. No journal records it: changing it changes nothing that a user of the file sees.
    pub project: Project,
}

impl Attributes {
    /// The flag that btrfs sets by itself on content that it cannot compress: it records nothing that anybody did.
    const NO_COMPRESSION: u32 = 0x400;

    /// BLAKE3 over each name and value, each preceded by its length in 8 bytes, and the flags in 4 bytes, all
    /// little-endian. `None` if there are neither attributes nor flags.
    #[must_use]
    pub fn digest(&self) -> Option<Digest> {
        let flags = self.flags & !Self::NO_COMPRESSION;
        if self.extended.is_empty() && flags == 0 {
            return None;
        }
        let mut digester = Digester::new();
        for (name, value) in &self.extended {
            for bytes in [name.as_bytes(), value] {
                digester.update(&(bytes.len() as u64).to_le_bytes());
                digester.update(bytes);
            }
        }
        digester.update(&flags.to_le_bytes());
        Some(digester.finish())
    }
}

/// The metadata that a staged file is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    /// Permission bits, set-id and sticky bits.
    pub mode: u32,
    /// The owner.
    pub user: u32,
    /// The group.
    pub group: u32,
    /// Extended attributes and inode flags.
    pub attributes: Attributes,
    /// The modification time, if it is to be kept.
    pub modified: Option<Timestamp>,
}

impl Metadata {
    /// Owner and attributes, as plans and journals record them beside the mode.
    #[must_use]
    pub(crate) fn access(&self) -> Access {
        Access { user: self.user, group: self.group, attributes: self.attributes.digest() }
    }
}

/// The answer to the wish that nobody else opens a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lease {
    /// Whoever opens the file waits until the handle is closed, or the system's patience ends.
    Granted,
    /// Somebody has the file open.
    Refused,
    /// The system, or the file system, gives none: not to this user, or to nobody.
    Unavailable,
}

/// How a rename treats its destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rename {
    /// The two names are exchanged; both must exist.
    Exchange,
    /// The destination must be free.
    NoReplace,
    /// Whatever is at the destination is replaced: only for names in folders of txedit's own. Every file system has it.
    Replace,
}

/// The properties of the file system that a folder is on.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact by itself")]
pub struct FileSystem {
    /// The name of its type, such as `ext4`, as far as it is known.
    pub name: String,
    /// True if only this kernel writes to it.
    pub local: bool,
    /// True if syncing a few files one by one is quicker than syncing the whole file system.
    pub sync_each: bool,
    /// True if metadata becomes durable in the order in which it was changed, and what [`Fs::write_out`] wrote not after
    /// metadata that was changed then.
    pub orders: bool,
    /// True if [`Fs::sync_file_system`] reaches the medium; false if that is not known.
    pub syncs_whole: bool,
    /// True if the names in a folder survive a power loss once it was synced with everything in it. Most file systems by
    /// programs do not pass that on, and gocryptfs keeps a secret of each folder in a file that it never syncs: there `sync`
    /// follows, if the disk is one of this machine.
    pub syncs_folders: bool,
    /// True if a folder keeps its inode number as long as it exists. On an overlay whose layers are on different file
    /// systems it gets another one with each mount, and whenever the kernel drops it from its cache.
    pub keeps_numbers: bool,
    /// True if the links of a folder count the folders in it, also after a power loss: with none in it, it has two.
    pub counts_folders: bool,
}

impl FileSystem {
    /// Returns whether names can be made durable: not through a program that writes to another machine and passes no sync on.
    #[must_use]
    pub const fn keeps_names(&self) -> bool {
        self.syncs_folders || self.local
    }
}

/// The machine and the process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// The boot id of the running kernel.
    pub boot: String,
    /// The machine's name, for messages.
    pub name: String,
    /// The process id.
    pub process: u32,
    /// The effective user.
    pub user: u32,
    /// The groups to which this process may give a file; `None` for any.
    pub groups: Option<Vec<u32>>,
}

/// Deletes a slot when dropped, unless disarmed. It holds the folder in which the slot was made: if the folder's path
/// leads elsewhere by then, nothing there is touched.
#[derive(Debug)]
pub struct SlotGuard(Option<GuardedSlot>);

#[derive(Debug)]
struct GuardedSlot {
    folder: Handle,
    name: OsString,
    unlink: fn(Name<'_>) -> io::Result<()>,
}

impl SlotGuard {
    /// A guard that deletes this file when dropped, as its file system does.
    #[must_use]
    pub fn deleting(name: Name<'_>, unlink: fn(Name<'_>) -> io::Result<()>) -> Self {
        Self(Some(GuardedSlot { folder: name.folder.clone(), name: name.name.to_owned(), unlink }))
    }

    /// Hands the cleanup over to the caller.
    pub fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        if let Some(slot) = &self.0 {
            // If this fails, the file is deleted together with its transaction.
            drop((slot.unlink)(Name::new(&slot.folder, &slot.name)));
        }
    }
}

/// A file system as the protocol needs it. Names never follow a symlink; every error is the system's own.
pub trait Fs: fmt::Debug + Send + Sync {
    /// The path with all symlinks resolved. Every part of it must exist.
    fn canonical(&self, path: &Path) -> io::Result<PathBuf>;
    /// Opens a folder by an absolute path; a symlink anywhere on it is an error.
    fn open_folder(&self, path: &Path) -> io::Result<Handle>;
    /// Opens a folder beneath another; no symlink and no `..` on the way. The empty path opens the folder itself once
    /// more.
    fn open_beneath(&self, folder: &Handle, path: &Path) -> io::Result<Handle>;
    /// Opens `path` beneath the folder that is `levels` above `folder`, wherever that is by now; no symlink on the way.
    fn open_above(&self, folder: &Handle, levels: usize, path: &Path) -> io::Result<Handle>;
    /// Opens a file for reading; never blocks on a pipe.
    fn open_file(&self, name: Name<'_>) -> io::Result<Handle>;

    /// The metadata of a name; `None` if it does not exist.
    fn stat(&self, name: Name<'_>) -> io::Result<Option<Stat>>;
    /// The metadata of the folder at an absolute path, to compare with that of an open one: a symlink on the way is followed,
    /// one at the end is not. `None` if there is none.
    fn stat_path(&self, path: &Path) -> io::Result<Option<Stat>>;
    /// The metadata of an open file or folder.
    fn stat_handle(&self, handle: &Handle) -> io::Result<Stat>;
    /// Returns whether this process may write to the file (for a folder: change the names in it).
    fn may_write(&self, name: Name<'_>) -> io::Result<bool>;
    /// The names in a folder, in any order, without `.` and `..`.
    fn list(&self, folder: &Handle) -> io::Result<Vec<OsString>>;
    /// Reads up to `buffer.len()` bytes; 0 at the end.
    fn read_at(&self, file: &Handle, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
    /// The bytes of a symlink's target; an error if the name is no symlink.
    fn read_link(&self, name: Name<'_>) -> io::Result<Vec<u8>>;
    /// The extended attributes and flags of a file or folder, as far as a copy can have them.
    fn attributes(&self, handle: &Handle) -> io::Result<Attributes>;
    /// The metadata that the system would give to a new file (or folder) in `folder`: umask, set-group-id, default ACL.
    fn inherited(&self, folder: &Handle, is_folder: bool) -> io::Result<Metadata>;
    /// The project of a file or folder.
    fn project(&self, _handle: &Handle) -> io::Result<Project> {
        Ok(Project::default())
    }
    /// Moves a file or folder to a project.
    fn set_project(&self, _handle: &Handle, _project: Project) -> io::Result<()> {
        Ok(())
    }
    /// The file system that a folder is on.
    fn file_system(&self, folder: &Handle) -> io::Result<FileSystem>;
    /// Returns whether nothing can be written through the mount of a folder.
    fn is_read_only(&self, _folder: &Handle) -> io::Result<bool> {
        Ok(false)
    }
    /// Returns whether every folder on the file system of one can be renamed, as far as that is known.
    fn moves_folders(&self, _folder: &Handle) -> io::Result<bool> {
        Ok(true)
    }
    /// The machine and the process.
    fn host(&self) -> io::Result<Host>;
    /// The wall clock, which may jump.
    fn now(&self) -> Timestamp;

    /// Makes a folder with exactly this mode, without a set-group-id bit that the parent would pass on. A default ACL
    /// of the parent is passed on nevertheless.
    fn make_folder(&self, name: Name<'_>, mode: u32) -> io::Result<()>;
    /// Makes a file with exactly these permission bits, open for reading and writing, and reads its metadata; the name
    /// must be free. The folder may pass attributes on to it.
    fn create(&self, name: Name<'_>, mode: u32) -> io::Result<(Handle, SlotGuard, Stat)>;
    /// Makes a symlink with this target, and reads its metadata; the name must be free. It has no handle, so that nothing
    /// but a sync of its folder, or of the file system, makes it durable.
    fn symlink(&self, name: Name<'_>, target: &[u8]) -> io::Result<(SlotGuard, Stat)>;
    /// Sets owner and time of a symlink itself, skipping what is right in `now` already. It has no other metadata.
    fn set_link_metadata(&self, name: Name<'_>, now: &Stat, wanted: &Metadata) -> io::Result<()>;
    /// Writes some of `bytes`, at least one; returns the number.
    fn write_at(&self, file: &Handle, offset: u64, bytes: &[u8]) -> io::Result<usize>;
    /// Opens a file for reading and writing as it is.
    fn open_to_write(&self, name: Name<'_>) -> io::Result<Handle>;
    /// Asks that nobody else opens the file as long as this handle, which can write, is open. Every other handle of the file
    /// is in the way, those of this process too.
    fn lease(&self, file: &Handle) -> io::Result<Lease>;
    /// Makes sure, as far as the file system can, that a file has the room for these bytes; it does not become longer.
    fn reserve(&self, file: &Handle, offset: u64, length: u64) -> io::Result<()>;
    /// Cuts a file off, or lengthens it by zeros.
    fn set_size(&self, file: &Handle, size: u64) -> io::Result<()>;
    /// Copies up to `length` bytes inside the system, shared where it can; 0 at the end of `from`. It often copies less
    /// than asked: call it until then.
    fn copy_range(&self, from: &Handle, from_at: u64, to: &Handle, to_at: u64, length: u64) -> io::Result<u64>;
    /// Gives back the room of a part of a file, which is zeros then; its size stays. Not every file system can.
    fn free_range(&self, _file: &Handle, _offset: u64, _length: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Sets the inode flags of a file that is still empty, and clears those that it inherited. No flags at all is valid
    /// on every file system.
    fn set_flags(&self, file: &Handle, flags: u32) -> io::Result<()>;
    /// Sets owner, attributes, mode and time, in this order, skipping what is right already; attributes not in `wanted`
    /// are removed. It leaves the inode flags alone: [`set_flags`](Self::set_flags) sets them before there is content.
    /// `now` is the current metadata: a caller that makes many files in one folder knows it without a call for each.
    fn set_metadata(&self, handle: &Handle, now: &Metadata, wanted: &Metadata) -> io::Result<()>;
    /// Sets the modification time of a file to the current time of the file system's own clock.
    fn touch(&self, file: &Handle) -> io::Result<()>;

    /// Renames.
    fn rename(&self, from: Name<'_>, to: Name<'_>, how: Rename) -> io::Result<()>;
    /// Gives a file or symlink a second name, which must be free.
    fn link(&self, from: Name<'_>, to: Name<'_>) -> io::Result<()>;
    /// Removes a name of a file.
    fn unlink(&self, name: Name<'_>) -> io::Result<()>;
    /// Removes an empty folder.
    fn remove_folder(&self, name: Name<'_>) -> io::Result<()>;

    /// Makes one file, or the names in one folder, durable. After a failure the system may take the data for written:
    /// never try again on the same inode.
    fn sync(&self, handle: &Handle) -> io::Result<()>;
    /// Writes the content of a file to the disk, and waits for that. It is durable with the next metadata that is, where
    /// [`FileSystem::orders`] says so. After a failure as after one of [`sync`](Self::sync).
    fn write_out(&self, file: &Handle) -> io::Result<()>;
    /// Makes everything on the file system of `folder` durable. A failed write is reported to handles that were open
    /// when it failed, and to each only once: `folder` must have been opened before the first write. It reaches the
    /// medium only where [`FileSystem::syncs_whole`] says so: on FUSE the kernel's own cache is written, and no more.
    fn sync_file_system(&self, folder: &Handle) -> io::Result<()>;

    /// A path by which this process and its children reach an open folder, whatever its name is by now, as long as the
    /// handle is held; if there is none, the path at which it was opened.
    fn path_to(&self, folder: &Handle) -> PathBuf {
        folder.path().to_owned()
    }

    /// Asks all file systems of the machine to make everything durable, including those below others, and waits for it.
    /// Failures are not reported.
    fn sync_machine(&self);

    /// Takes the advisory lock of an open folder; `false` if it is held already. It belongs to this opening of
    /// the folder: clones of the handle share it, and the same folder opened once more in the same process is locked out.
    fn try_lock(&self, folder: &Handle) -> io::Result<bool>;
    /// A descriptor of this same opening of a folder, for a process that is to hold its lock as well; `None` where
    /// there are no descriptors.
    fn descriptor(&self, _folder: &Handle) -> io::Result<Option<OwnedFd>> {
        Ok(None)
    }
    /// The process that holds the lock of a folder, as far as it can be found, for messages.
    fn lock_holder(&self, folder: &Handle) -> Option<String>;
    /// Returns whether several threads may call at once and gain by it. A file system that counts its calls needs them
    /// in one order.
    fn is_parallel(&self) -> bool {
        false
    }
    /// Raises the limit of open files of this process as far as the system allows; returns the limit.
    fn raise_open_files(&self) -> u64;
}
