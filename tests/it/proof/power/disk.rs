//! Disks in memory, served as files of a FUSE file system: loop devices on them see real block writes and flushes, and
//! each disk remembers all of them in their order.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request, TimeOrNow,
    WriteFlags,
};
use tempfile::TempDir;

/// What is written whole or not at all, on the disks that there are today.
pub(super) const BLOCK: usize = 4096;

/// The blocks of a disk that are not zero. A clone shares them all.
#[derive(Debug, Clone, Default)]
pub(super) struct Blocks(HashMap<u64, Arc<[u8; BLOCK]>>);

impl Blocks {
    /// Reads an image.
    pub(super) fn load(image: &Path) -> std::io::Result<Self> {
        let mut blocks = Self::default();
        let mut file = File::open(image)?;
        let mut chunk = vec![0; 1 << 20];
        let mut at = 0;
        loop {
            let length = file.read(&mut chunk)?;
            if length == 0 {
                return Ok(blocks);
            }
            blocks.write(at, &chunk[..length]);
            at += length as u64;
        }
    }

    /// Puts bytes where they belong.
    pub(super) fn write(&mut self, mut at: u64, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (block, from) = (at / BLOCK as u64, (at % BLOCK as u64) as usize);
            let (now, later) = bytes.split_at(bytes.len().min(BLOCK - from));
            if self.0.contains_key(&block) || now.iter().any(|byte| *byte != 0) {
                let there = self.0.entry(block).or_insert_with(|| Arc::new([0; BLOCK]));
                Arc::make_mut(there)[from..from + now.len()].copy_from_slice(now);
            }
            at += now.len() as u64;
            bytes = later;
        }
    }

    fn read(&self, mut at: u64, mut bytes: &mut [u8]) {
        while !bytes.is_empty() {
            let (block, from) = (at / BLOCK as u64, (at % BLOCK as u64) as usize);
            let length = bytes.len().min(BLOCK - from);
            let (now, later) = bytes.split_at_mut(length);
            match self.0.get(&block) {
                Some(there) => now.copy_from_slice(&there[from..from + length]),
                None => now.fill(0),
            }
            at += length as u64;
            bytes = later;
        }
    }

    /// Writes an image for somebody to look at.
    pub(super) fn save(&self, image: &Path, size: u64) -> std::io::Result<()> {
        use std::os::unix::fs::FileExt;
        let file = File::create(image)?;
        file.set_len(size)?;
        self.0.iter().try_for_each(|(block, bytes)| file.write_all_at(&bytes[..], block * BLOCK as u64))
    }
}

/// What a disk was told, or what the test noted meanwhile.
#[derive(Debug, Clone)]
pub(super) enum Event {
    Write {
        at: u64,
        bytes: Arc<[u8]>,
    },
    /// What was written before is there for good.
    Flush,
    /// Something was reported as done.
    Mark,
}

/// A disk and its memory of all that it was told.
#[derive(Debug)]
pub(super) struct Disk {
    pub(super) size: u64,
    blocks: Blocks,
    log: Vec<Event>,
}

/// A disk that is served.
#[derive(Debug, Clone)]
pub(super) struct Served {
    disk: Arc<Mutex<Disk>>,
    /// The file that it is.
    pub(super) path: PathBuf,
}

impl Served {
    /// Notes that something was reported.
    pub(super) fn mark(&self) {
        lock(&self.disk).log.push(Event::Mark);
    }

    /// Everything so far.
    pub(super) fn log(&self) -> Vec<Event> {
        lock(&self.disk).log.clone()
    }

    /// What is on it now.
    pub(super) fn blocks(&self) -> Blocks {
        lock(&self.disk).blocks.clone()
    }

    /// How many events there are so far.
    pub(super) fn position(&self) -> usize {
        lock(&self.disk).log.len()
    }
}

/// A folder whose files are disks.
pub(super) struct Shelf {
    disks: Disks,
    next: u64,
    /// Before the folder: unmounted first.
    _session: BackgroundSession,
    folder: TempDir,
}

type Disks = Arc<Mutex<HashMap<u64, Arc<Mutex<Disk>>>>>;

impl Shelf {
    /// Mounts one; the reason where that cannot be.
    pub(super) fn new() -> Result<Self, String> {
        let folder = tempfile::Builder::new().prefix("txedit-disks-").tempdir().map_err(|e| e.to_string())?;
        let disks = Disks::default();
        let session = fuser::spawn_mount(Server { disks: Arc::clone(&disks) }, folder.path(), &Config::default());
        let session = session.map_err(|error| format!("no FUSE: {error}"))?;
        Ok(Self { disks, next: FIRST, _session: session, folder })
    }

    /// Serves a disk with this content, its memory empty.
    pub(super) fn serve(&mut self, blocks: Blocks, size: u64) -> Served {
        let disk = Arc::new(Mutex::new(Disk { size, blocks, log: Vec::new() }));
        let number = self.next;
        self.next += 1;
        lock(&self.disks).insert(number, Arc::clone(&disk));
        Served { disk, path: self.folder.path().join(number.to_string()) }
    }

    /// Serves it no longer.
    pub(super) fn forget(&self, served: &Served) {
        lock(&self.disks).retain(|_, disk| !Arc::ptr_eq(disk, &served.disk));
    }
}

/// The inode of the first disk; 1 is the folder.
const FIRST: u64 = 2;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Server {
    disks: Disks,
}

/// Names and sizes never change.
const FOR_LONG: Duration = Duration::from_secs(60 * 60);

impl Server {
    fn disk(&self, number: u64) -> Option<Arc<Mutex<Disk>>> {
        lock(&self.disks).get(&number).cloned()
    }

    fn attributes(&self, number: u64) -> Option<FileAttr> {
        let (kind, perm, size) = match number {
            1 => (FileType::Directory, 0o700, 0),
            _ => (FileType::RegularFile, 0o600, lock(&*self.disk(number)?).size),
        };
        Some(FileAttr {
            ino: INodeNo(number),
            size,
            blocks: size / 512,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind,
            perm,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }
}

impl Filesystem for Server {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let number = name.to_str().and_then(|name| name.parse().ok()).filter(|number| *number >= FIRST);
        match number.and_then(|number| self.attributes(number)) {
            Some(found) => reply.entry(&FOR_LONG, &found, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(ino.0) {
            Some(found) => reply.attr(&FOR_LONG, &found),
            None => reply.error(Errno::ENOENT),
        }
    }

    /// Times are all that is ever set; they are of no interest.
    fn setattr(
        &self,
        _: &Request,
        ino: INodeNo,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<std::time::SystemTime>,
        _: Option<FileHandle>,
        _: Option<std::time::SystemTime>,
        _: Option<std::time::SystemTime>,
        _: Option<std::time::SystemTime>,
        _: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        match self.attributes(ino.0) {
            Some(found) => reply.attr(&FOR_LONG, &found),
            None => reply.error(Errno::ENOENT),
        }
    }

    /// Past the page cache: what the loop device writes comes here at once, and in its order.
    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let Some(disk) = self.disk(ino.0) else { return reply.error(Errno::EIO) };
        let disk = lock(&disk);
        let mut bytes = vec![0; u64::from(size).min(disk.size.saturating_sub(offset)) as usize];
        disk.blocks.read(offset, &mut bytes);
        reply.data(&bytes);
    }

    fn write(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let Some(disk) = self.disk(ino.0) else { return reply.error(Errno::EIO) };
        let mut disk = lock(&disk);
        disk.blocks.write(offset, data);
        disk.log.push(Event::Write { at: offset, bytes: data.into() });
        reply.written(data.len() as u32);
    }

    fn fsync(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        if let Some(disk) = self.disk(ino.0) {
            lock(&disk).log.push(Event::Flush);
        }
        reply.ok();
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        reply.ok();
    }
}
