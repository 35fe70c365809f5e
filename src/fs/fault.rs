//! A file system that fails on demand.
//!
//! It wraps any other [`Fs`], counts and records the calls, and at the n-th of a kind does what a [`Rule`] says: fail,
//! write short, or run a piece of the test first, which may kill the process or act as another program.
//!
//! To try every failure of an operation, fail the first call, then the second, until a run in which
//! [`fired`](FaultFs::fired) stays 0.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

mod operation;
mod rule;

pub use operation::FaultOperation;
use rule::FaultEffect;
pub use rule::Rule;

use super::{
    Attributes, FileSystem, Fs, Handle, Host, Lease, Metadata, Name, Project, Rename, SlotGuard, Stat, Timestamp,
};

/// A recorded call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultCall {
    /// The kind of call.
    pub operation: FaultOperation,
    /// The path that it is about.
    pub path: PathBuf,
    /// The destination of a rename.
    pub to: Option<PathBuf>,
    /// The most bytes that it may read, write or copy.
    pub bytes: u64,
}

impl FaultCall {
    fn new(operation: FaultOperation, path: impl Into<PathBuf>) -> Self {
        Self { operation, path: path.into(), to: None, bytes: 0 }
    }
}

impl fmt::Display for FaultCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.operation, self.path.display())?;
        self.to.iter().try_for_each(|to| write!(f, " -> {}", to.display()))
    }
}

#[derive(Default)]
struct FaultState {
    calls: Vec<FaultCall>,
    bytes_read: u64,
    /// Each rule with the number of calls that it has counted.
    rules: Vec<(Rule, u64)>,
    fired: u64,
    /// Device and inode; the device alone for a sync of a whole file system.
    failed_syncs: Vec<(u64, Option<u64>)>,
    tried_again: Vec<FaultCall>,
}

impl FaultState {
    /// Records a call and returns the faults that apply to it.
    fn note(&mut self, call: &FaultCall) -> Vec<FaultEffect> {
        self.calls.push(call.clone());
        let mut faults = Vec::new();
        for (rule, counted) in &mut self.rules {
            if rule.matches.as_ref().is_some_and(|matches| !matches(call)) {
                continue;
            }
            *counted += 1;
            if *counted == rule.nth || rule.from_then_on && *counted > rule.nth {
                self.fired += 1;
                faults.push(rule.fault.clone());
            }
        }
        faults
    }
}

/// Any file system, with faults.
pub struct FaultFs {
    inner: Arc<dyn Fs>,
    state: Mutex<FaultState>,
    is_parallel: bool,
}

impl FaultFs {
    /// Wraps `inner`; without rules it only counts.
    #[must_use]
    pub fn new(inner: Arc<dyn Fs>) -> Self {
        Self { inner, state: Mutex::default(), is_parallel: false }
    }

    /// Allows calls from several threads at once, in any order.
    #[must_use]
    pub fn in_parallel(self) -> Self {
        Self { is_parallel: true, ..self }
    }

    /// Adds a rule to those that are there.
    pub fn add(&self, rule: Rule) {
        self.state().rules.push((rule, 0));
    }

    /// Clears all rules and calls.
    pub fn reset(&self) {
        *self.state() = FaultState::default();
    }

    /// All calls so far, in order.
    #[must_use]
    pub fn calls(&self) -> Vec<FaultCall> {
        self.state().calls.clone()
    }

    /// The number of bytes read so far.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.state().bytes_read
    }

    /// The number of times that a rule applied.
    #[must_use]
    pub fn fired(&self) -> u64 {
        self.state().fired
    }

    fn state(&self) -> MutexGuard<'_, FaultState> {
        // A test that panicked in a rule's condition has failed already; the counts are still right.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Syncs that repeat an earlier, failed sync of the same file or file system. There must be none: the system may
    /// have forgotten the pages that it could not write, so the second sync succeeds and proves nothing.
    #[must_use]
    pub fn syncs_tried_again(&self) -> Vec<FaultCall> {
        self.state().tried_again.clone()
    }

    fn call<T>(
        &self,
        operation: FaultOperation,
        path: &Path,
        proceed: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        self.limited(&FaultCall::new(operation, path), |_| proceed())
    }

    /// Makes a call that changes something, unless its limit is 0: then it only pretends to.
    fn making(&self, call: &FaultCall, proceed: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        self.limited(call, |limit| if limit == 0 { Ok(()) } else { proceed() })
    }

    fn syncing(&self, operation: FaultOperation, of: &Handle, sync: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let call = FaultCall::new(operation, of.path());
        let result = self.making(&call, sync);
        // The inode, not the path: that changes with every rename.
        let Ok(stat) = self.inner.stat_handle(of) else { return result };
        let inode = (operation == FaultOperation::Sync).then_some(stat.identity.inode);
        let mut state = self.state();
        let covers = |(device, failed): &(u64, Option<u64>)| {
            *device == stat.device && (inode.is_none() || failed.is_none() || *failed == inode)
        };
        if state.failed_syncs.iter().any(covers) {
            state.tried_again.push(call);
        }
        if result.is_err() {
            state.failed_syncs.push((stat.device, inode));
        }
        drop(state);
        result
    }

    /// Makes a call whose result a fault may reduce.
    fn looking<T>(
        &self,
        operation: FaultOperation,
        path: &Path,
        look: impl FnOnce() -> io::Result<T>,
        without: impl Fn(&FaultEffect, T) -> T,
    ) -> io::Result<T> {
        let call = FaultCall::new(operation, path);
        let faults = self.state().note(&call);
        let found = Self::among(&faults, &call, |_| look())?;
        Ok(faults.iter().fold(found, |found, fault| without(fault, found)))
    }

    /// Makes a call that moves bytes; `proceed` receives the most that it may move.
    fn limited<T>(&self, call: &FaultCall, proceed: impl FnOnce(usize) -> io::Result<T>) -> io::Result<T> {
        // The lock is released first: the calls below may call this file system again.
        let faults = self.state().note(call);
        Self::among(&faults, call, proceed)
    }

    fn among<T>(
        faults: &[FaultEffect],
        call: &FaultCall,
        proceed: impl FnOnce(usize) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut limit = usize::MAX;
        for fault in faults {
            match fault {
                FaultEffect::Fail(errno) => return Err(io::Error::from_raw_os_error(*errno)),
                FaultEffect::Short(bytes) => limit = limit.min(*bytes),
                FaultEffect::Before(run) => run(call),
                FaultEffect::Pretend => limit = 0,
                FaultEffect::FailAfter(_) | FaultEffect::After(_) | FaultEffect::Hide(_) | FaultEffect::Miss => {}
            }
        }
        let mut result = proceed(limit);
        for fault in faults {
            match fault {
                FaultEffect::FailAfter(errno) => result = Err(io::Error::from_raw_os_error(*errno)),
                FaultEffect::After(run) => run(call),
                _ => {}
            }
        }
        result
    }
}

impl fmt::Debug for FaultFs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FaultFs({:?}, {} calls)", self.inner, self.state().calls.len())
    }
}

impl Fs for FaultFs {
    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        self.call(FaultOperation::Canonical, path, || self.inner.canonical(path))
    }

    fn is_parallel(&self) -> bool {
        self.is_parallel
    }

    fn open_folder(&self, path: &Path) -> io::Result<Handle> {
        self.call(FaultOperation::OpenFolder, path, || self.inner.open_folder(path))
    }

    fn open_beneath(&self, folder: &Handle, path: &Path) -> io::Result<Handle> {
        self.call(FaultOperation::OpenBeneath, &folder.path().join(path), || self.inner.open_beneath(folder, path))
    }

    fn open_above(&self, folder: &Handle, levels: usize, path: &Path) -> io::Result<Handle> {
        let whole = folder.path().ancestors().nth(levels).unwrap_or(Path::new("/")).join(path);
        self.call(FaultOperation::OpenBeneath, &whole, || self.inner.open_above(folder, levels, path))
    }

    fn open_file(&self, name: Name<'_>) -> io::Result<Handle> {
        self.call(FaultOperation::OpenFile, &name.path(), || self.inner.open_file(name))
    }

    fn stat(&self, name: Name<'_>) -> io::Result<Option<Stat>> {
        let without = |fault: &FaultEffect, found: Option<Stat>| found.filter(|_| !matches!(fault, FaultEffect::Miss));
        self.looking(FaultOperation::Stat, &name.path(), || self.inner.stat(name), without)
    }

    fn stat_path(&self, path: &Path) -> io::Result<Option<Stat>> {
        self.call(FaultOperation::Stat, path, || self.inner.stat_path(path))
    }

    fn stat_handle(&self, handle: &Handle) -> io::Result<Stat> {
        self.call(FaultOperation::StatHandle, handle.path(), || self.inner.stat_handle(handle))
    }

    fn may_write(&self, name: Name<'_>) -> io::Result<bool> {
        self.call(FaultOperation::MayWrite, &name.path(), || self.inner.may_write(name))
    }

    fn list(&self, folder: &Handle) -> io::Result<Vec<OsString>> {
        let without = |fault: &FaultEffect, names: Vec<OsString>| match fault {
            FaultEffect::Hide(is_hidden) => names.into_iter().filter(|name| !is_hidden(name)).collect(),
            _ => names,
        };
        self.looking(FaultOperation::List, folder.path(), || self.inner.list(folder), without)
    }

    fn read_at(&self, file: &Handle, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let call = FaultCall { bytes: buffer.len() as u64, ..FaultCall::new(FaultOperation::ReadAt, file.path()) };
        self.limited(&call, |limit| {
            let length = buffer.len().min(limit);
            let read = self.inner.read_at(file, offset, &mut buffer[..length])?;
            self.state().bytes_read += read as u64;
            Ok(read)
        })
    }

    fn read_link(&self, name: Name<'_>) -> io::Result<Vec<u8>> {
        self.call(FaultOperation::ReadLink, &name.path(), || self.inner.read_link(name))
    }

    fn attributes(&self, handle: &Handle) -> io::Result<Attributes> {
        self.call(FaultOperation::Attributes, handle.path(), || self.inner.attributes(handle))
    }

    fn inherited(&self, folder: &Handle, is_folder: bool) -> io::Result<Metadata> {
        self.call(FaultOperation::Inherited, folder.path(), || self.inner.inherited(folder, is_folder))
    }

    fn file_system(&self, folder: &Handle) -> io::Result<FileSystem> {
        self.call(FaultOperation::FileSystem, folder.path(), || self.inner.file_system(folder))
    }

    fn host(&self) -> io::Result<Host> {
        self.call(FaultOperation::Host, Path::new(""), || self.inner.host())
    }

    fn now(&self) -> Timestamp {
        self.inner.now()
    }

    fn make_folder(&self, name: Name<'_>, mode: u32) -> io::Result<()> {
        self.call(FaultOperation::MakeFolder, &name.path(), || self.inner.make_folder(name, mode))
    }

    fn create(&self, name: Name<'_>, mode: u32) -> io::Result<(Handle, SlotGuard, Stat)> {
        self.call(FaultOperation::Create, &name.path(), || self.inner.create(name, mode))
    }

    fn symlink(&self, name: Name<'_>, target: &[u8]) -> io::Result<(SlotGuard, Stat)> {
        self.call(FaultOperation::Symlink, &name.path(), || self.inner.symlink(name, target))
    }

    fn set_link_metadata(&self, name: Name<'_>, now: &Stat, wanted: &Metadata) -> io::Result<()> {
        self.making(&FaultCall::new(FaultOperation::SetLinkMetadata, name.path()), || {
            self.inner.set_link_metadata(name, now, wanted)
        })
    }

    fn write_at(&self, file: &Handle, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        let call = FaultCall { bytes: bytes.len() as u64, ..FaultCall::new(FaultOperation::WriteAt, file.path()) };
        self.limited(&call, |limit| self.inner.write_at(file, offset, &bytes[..bytes.len().min(limit)]))
    }

    fn open_to_write(&self, name: Name<'_>) -> io::Result<Handle> {
        self.call(FaultOperation::OpenToWrite, &name.path(), || self.inner.open_to_write(name))
    }

    fn lease(&self, file: &Handle) -> io::Result<Lease> {
        let call = FaultCall::new(FaultOperation::Lease, file.path());
        self.limited(&call, |limit| if limit == 0 { Ok(Lease::Granted) } else { self.inner.lease(file) })
    }

    fn reserve(&self, file: &Handle, offset: u64, length: u64) -> io::Result<()> {
        let call = FaultCall { bytes: length, ..FaultCall::new(FaultOperation::Reserve, file.path()) };
        self.making(&call, || self.inner.reserve(file, offset, length))
    }

    fn set_size(&self, file: &Handle, size: u64) -> io::Result<()> {
        self.making(&FaultCall::new(FaultOperation::SetSize, file.path()), || self.inner.set_size(file, size))
    }

    fn copy_range(&self, from: &Handle, from_at: u64, to: &Handle, to_at: u64, length: u64) -> io::Result<u64> {
        let to_path = Some(to.path().to_owned());
        let call = FaultCall { to: to_path, bytes: length, ..FaultCall::new(FaultOperation::CopyRange, from.path()) };
        self.limited(&call, |limit| self.inner.copy_range(from, from_at, to, to_at, length.min(limit as u64)))
    }

    fn free_range(&self, file: &Handle, offset: u64, length: u64) -> io::Result<()> {
        self.making(&FaultCall::new(FaultOperation::FreeRange, file.path()), || {
            self.inner.free_range(file, offset, length)
        })
    }

    fn set_flags(&self, file: &Handle, flags: u32) -> io::Result<()> {
        self.making(&FaultCall::new(FaultOperation::SetFlags, file.path()), || self.inner.set_flags(file, flags))
    }

    fn set_metadata(&self, handle: &Handle, now: &Metadata, wanted: &Metadata) -> io::Result<()> {
        self.making(&FaultCall::new(FaultOperation::SetMetadata, handle.path()), || {
            self.inner.set_metadata(handle, now, wanted)
        })
    }

    fn touch(&self, file: &Handle) -> io::Result<()> {
        self.making(&FaultCall::new(FaultOperation::Touch, file.path()), || self.inner.touch(file))
    }

    fn rename(&self, from: Name<'_>, to: Name<'_>, how: Rename) -> io::Result<()> {
        let call = FaultCall { to: Some(to.path()), ..FaultCall::new(FaultOperation::Rename, from.path()) };
        self.making(&call, || self.inner.rename(from, to, how))
    }

    fn link(&self, from: Name<'_>, to: Name<'_>) -> io::Result<()> {
        let call = FaultCall { to: Some(to.path()), ..FaultCall::new(FaultOperation::Link, from.path()) };
        self.making(&call, || self.inner.link(from, to))
    }

    fn unlink(&self, name: Name<'_>) -> io::Result<()> {
        self.making(&FaultCall::new(FaultOperation::Unlink, name.path()), || self.inner.unlink(name))
    }

    fn remove_folder(&self, name: Name<'_>) -> io::Result<()> {
        self.making(&FaultCall::new(FaultOperation::RemoveFolder, name.path()), || self.inner.remove_folder(name))
    }

    fn sync(&self, handle: &Handle) -> io::Result<()> {
        self.syncing(FaultOperation::Sync, handle, || self.inner.sync(handle))
    }

    fn write_out(&self, file: &Handle) -> io::Result<()> {
        self.syncing(FaultOperation::WriteOut, file, || self.inner.write_out(file))
    }

    fn sync_file_system(&self, folder: &Handle) -> io::Result<()> {
        self.syncing(FaultOperation::SyncFileSystem, folder, || self.inner.sync_file_system(folder))
    }

    fn path_to(&self, folder: &Handle) -> PathBuf {
        self.inner.path_to(folder)
    }

    fn sync_machine(&self) {
        self.inner.sync_machine();
    }

    fn try_lock(&self, folder: &Handle) -> io::Result<bool> {
        self.call(FaultOperation::TryLock, folder.path(), || self.inner.try_lock(folder))
    }

    fn descriptor(&self, folder: &Handle) -> io::Result<Option<OwnedFd>> {
        self.inner.descriptor(folder)
    }

    fn lock_holder(&self, folder: &Handle) -> Option<String> {
        self.inner.lock_holder(folder)
    }

    fn is_read_only(&self, folder: &Handle) -> io::Result<bool> {
        self.inner.is_read_only(folder)
    }

    fn moves_folders(&self, folder: &Handle) -> io::Result<bool> {
        self.inner.moves_folders(folder)
    }

    fn project(&self, handle: &Handle) -> io::Result<Project> {
        self.inner.project(handle)
    }

    fn set_project(&self, handle: &Handle, project: Project) -> io::Result<()> {
        self.inner.set_project(handle, project)
    }

    fn raise_open_files(&self) -> u64 {
        self.inner.raise_open_files()
    }
}

#[cfg(test)]
mod tests;
