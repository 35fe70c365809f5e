//! Foreign programs: actions by path, as root, neither counted nor hooked.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, MutexGuard};

use super::super::{Stat, Timestamp};
use super::SimFs;
use super::access::Actor;
use super::disk::{APPEND_ONLY, IMMUTABLE, Id, ROOT, SimBody, SimBytes, SimMetadata, SimNameChange};
use super::names::{How, Spot};
use super::state::{Descriptor, FOREIGN, SimOpenFile, SimState};
use super::tree::{self, SimEntry, SimTree};
use crate::errno::Errno;

/// A file that a foreign program holds open for reading and writing, whatever happens to its name.
#[derive(Debug)]
pub struct SimHeldFile(Descriptor);

impl SimHeldFile {
    /// Writes all of `bytes` at `offset`.
    pub fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.0.shared.lock();
        let open = self.open(&state)?;
        tick(&mut state);
        write_all(&mut state, open, offset, bytes)
    }

    /// Writes all of `bytes` at the end.
    pub fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let end = self.read()?.len();
        self.write_at(end as u64, bytes)
    }

    /// The whole content.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        let state = self.0.shared.lock();
        let open = self.open(&state)?;
        Ok(state.store.node(open.id)?.bytes().ok_or(Errno::ISDIR)?.to_vec())
    }

    /// Returns whether a foreign program removed its last name: from then on nobody can find it.
    #[must_use]
    pub fn was_dropped(&self) -> bool {
        let state = self.0.shared.lock();
        self.open(&state).is_ok_and(|open| state.dropped.contains(&open.id))
    }

    /// The same file on another machine, such as a fork of this one; an error if it has no name there.
    pub fn on(&self, machine: &SimFs) -> io::Result<Self> {
        let id = self.open(&self.0.shared.lock())?.id;
        let mut state = machine.shared.lock();
        state.store.node(id)?;
        let key = state.open(FOREIGN, id, true)?;
        Ok(Self(Descriptor { shared: Arc::clone(&machine.shared), key }))
    }

    /// Returns whether it still has a name.
    #[must_use]
    pub fn has_name(&self) -> bool {
        let state = self.0.shared.lock();
        self.open(&state).is_ok_and(|open| state.store.node(open.id).is_ok_and(|node| node.names > 0))
    }

    fn open(&self, state: &SimState) -> io::Result<SimOpenFile> {
        Ok(*state.open.get(&self.0.key).ok_or(Errno::BADF)?)
    }
}

fn tick(state: &mut SimState) {
    let tick = state.store.machine.settings.tick;
    state.store.machine.advance(tick);
}

fn write_all(state: &mut SimState, open: SimOpenFile, offset: u64, bytes: &[u8]) -> io::Result<()> {
    let written = state.write(open, offset, bytes)?;
    if written < bytes.len() { Err(Errno::NOSPC.into()) } else { Ok(()) }
}

/// The folder of a path and the name in it.
struct SimPlace(Id, OsString);

impl SimPlace {
    fn spot(&self) -> Spot<'_> {
        Spot { folder: self.0, name: &self.1 }
    }
}

fn place(state: &SimState, path: &Path) -> io::Result<SimPlace> {
    let name = path.file_name().ok_or(Errno::INVAL)?;
    let (_, folder) = state.store.resolve(Actor::ROOT, path.parent().unwrap_or(Path::new("/")), true)?;
    Ok(SimPlace(folder, name.to_owned()))
}

fn find(state: &SimState, path: &Path) -> io::Result<Id> {
    Ok(state.store.resolve(Actor::ROOT, path, true)?.1)
}

fn file(id: Id) -> SimOpenFile {
    SimOpenFile { process: FOREIGN, id, writable: true }
}

impl SimFs {
    fn foreign(&self) -> MutexGuard<'_, SimState> {
        let mut state = self.shared.lock();
        tick(&mut state);
        state
    }

    fn make(&self, path: &Path, body: SimBody, mode: u32) -> io::Result<Id> {
        let mut state = self.foreign();
        let place = place(&state, path)?;
        Ok(state.store.make(Actor::ROOT, "create", place.spot(), body, mode)?)
    }

    /// Makes a folder and the missing ones above it, mode 0755.
    pub fn make_folders(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let mut at = PathBuf::from("/");
        for name in path.as_ref().components().skip(1) {
            at.push(name);
            if !self.exists(&at) {
                self.make(&at, SimBody::Folder(BTreeMap::new()), 0o755)?;
            }
        }
        Ok(())
    }

    /// Makes a folder, mode 0755, at a free name.
    pub fn make_folder(&self, path: impl AsRef<Path>) -> io::Result<()> {
        self.make(path.as_ref(), SimBody::Folder(BTreeMap::new()), 0o755).map(drop)
    }

    /// Makes a file, mode 0644, at a free name.
    pub fn create(&self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        let id = self.make(path.as_ref(), SimBody::File(SimBytes::default()), 0o644)?;
        write_all(&mut self.shared.lock(), file(id), 0, bytes.as_ref())
    }

    /// Truncates a file and writes it again: the same inode.
    pub fn write_in_place(&self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        let mut state = self.foreign();
        let id = find(&state, path.as_ref())?;
        state.not_leased(id)?;
        state.truncate(id)?;
        write_all(&mut state, file(id), 0, bytes.as_ref())
    }

    /// Writes in place and restores the modification time.
    pub fn write_keeping_time(&self, path: impl AsRef<Path>, bytes: &[u8]) -> io::Result<()> {
        let path = path.as_ref();
        let modified = self.stat(path)?.modified;
        self.write_in_place(path, bytes)?;
        let mut state = self.foreign();
        let id = find(&state, path)?;
        let metadata = state.store.node(id)?.metadata.clone();
        state.store.change_metadata("utimensat", id, metadata, Some(modified));
        Ok(())
    }

    /// Appends to a file: the same inode.
    pub fn append(&self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.open(path)?.append(bytes.as_ref())
    }

    /// Writes a new file, mode 0644, and renames it over `path`, as editors do: another inode.
    pub fn replace(&self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        let path = path.as_ref();
        let mut name = path.file_name().ok_or(Errno::INVAL)?.to_owned();
        name.push(".foreign");
        let aside = path.with_file_name(name);
        self.create(&aside, bytes)?;
        self.rename(&aside, path)
    }

    /// Renames, replacing what is there.
    pub fn rename(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
        let mut state = self.foreign();
        let (from, to) = (place(&state, from.as_ref())?, place(&state, to.as_ref())?);
        let replaced = state.store.rename(Actor::ROOT, from.spot(), to.spot(), How::Replace)?;
        if let Some(id) = replaced {
            state.drop_name(id);
        }
        Ok(())
    }

    /// Exchanges two names.
    pub fn exchange(&self, one: impl AsRef<Path>, other: impl AsRef<Path>) -> io::Result<()> {
        let mut state = self.foreign();
        let (one, other) = (place(&state, one.as_ref())?, place(&state, other.as_ref())?);
        state.store.rename(Actor::ROOT, one.spot(), other.spot(), How::Exchange)?;
        Ok(())
    }

    /// Deletes a name of a file, symlink or special file.
    pub fn delete(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let mut state = self.foreign();
        let place = place(&state, path.as_ref())?;
        let id = state.store.unlink(Actor::ROOT, place.spot())?;
        state.drop_name(id);
        Ok(())
    }

    /// Deletes an empty folder.
    pub fn delete_folder(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let mut state = self.foreign();
        let place = place(&state, path.as_ref())?;
        let id = state.store.remove_folder(Actor::ROOT, place.spot())?;
        state.collect(id);
        Ok(())
    }

    /// Gives the file at `path` another name.
    pub fn link(&self, path: impl AsRef<Path>, new: impl AsRef<Path>) -> io::Result<()> {
        let mut state = self.foreign();
        let (id, to) = (find(&state, path.as_ref())?, place(&state, new.as_ref())?);
        Ok(state.store.link(Actor::ROOT, id, to.spot())?)
    }

    /// Makes a symlink at `path`.
    pub fn symlink(&self, target: impl Into<PathBuf>, path: impl AsRef<Path>) -> io::Result<()> {
        self.make(path.as_ref(), SimBody::Symlink(target.into()), 0o777).map(drop)
    }

    /// The target of the symlink at `path`.
    pub fn read_link(&self, path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
        let state = self.shared.lock();
        let (_, id) = state.store.resolve(Actor::ROOT, path.as_ref(), false)?;
        match &state.store.node(id)?.body {
            SimBody::Symlink(target) => Ok(target.as_os_str().as_bytes().to_vec()),
            _ => Err(Errno::INVAL.into()),
        }
    }

    /// Makes a symlink and renames it over `path`; with the time of the one that was there, if that is to be kept.
    pub fn replace_link(&self, target: impl Into<PathBuf>, path: impl AsRef<Path>, keep_time: bool) -> io::Result<()> {
        let path = path.as_ref();
        let mut name = path.file_name().ok_or(Errno::INVAL)?.to_owned();
        name.push(".foreign");
        let aside = path.with_file_name(name);
        let modified = self.stat(path).ok().map(|stat| stat.modified);
        let id = self.make(&aside, SimBody::Symlink(target.into()), 0o777)?;
        if keep_time {
            let mut state = self.foreign();
            let metadata = state.store.node(id)?.metadata.clone();
            state.store.change_metadata("utimes", id, metadata, modified);
        }
        self.rename(&aside, path)
    }

    /// Makes a pipe at `path`.
    pub fn pipe(&self, path: impl AsRef<Path>) -> io::Result<()> {
        self.make(path.as_ref(), SimBody::Special, 0o644).map(drop)
    }

    /// Makes a folder at `path` that is the root of another file system. It survives a crash: the parent's file system
    /// is synced.
    pub fn mount(&self, path: impl AsRef<Path>) -> io::Result<()> {
        self.mount_of(path.as_ref(), false)
    }

    /// Makes another mount of the parent's file system at `path`: the same device.
    pub fn bind_mount(&self, path: impl AsRef<Path>) -> io::Result<()> {
        self.mount_of(path.as_ref(), true)
    }

    /// Makes the file at `path` a mount point, as if another file system were mounted there that has this file alone: no
    /// rename moves it or takes its place. It survives a crash: both file systems are synced.
    pub fn mount_file(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let mut state = self.foreign();
        let id = find(&state, path.as_ref())?;
        let store = &mut state.store;
        store.sync_all(id);
        let mount = store.machine.mount(None);
        for disk in [&mut store.live, &mut store.durable] {
            disk.get_mut(id).into_iter().for_each(|n| (n.mount, n.mount_root) = (mount, true));
        }
        Ok(())
    }

    fn mount_of(&self, path: &Path, is_same_device: bool) -> io::Result<()> {
        let mut state = self.foreign();
        let place = place(&state, path)?;
        let (folder, store) = (place.0, &mut state.store);
        let device = store.machine.device(store.node(place.0)?.mount);
        if store.live.child(place.0, &place.1).is_some() {
            return Err(Errno::EXIST.into());
        }
        let mount = store.machine.mount(is_same_device.then_some(device));
        let id =
            store.add(mount, SimBody::Folder(BTreeMap::new()), SimMetadata { mode: 0o755, ..SimMetadata::default() });
        for disk in [&mut store.live, &mut store.durable] {
            disk.get_mut(id).into_iter().for_each(|n| n.mount_root = true);
        }
        store.change_names(
            "mount",
            vec![SimNameChange { folder: place.0, name: place.1, before: None, after: Some(id) }],
            None,
        );
        store.sync_all(folder);
        Ok(())
    }

    /// Changes the metadata of a file or folder.
    fn metadata(&self, path: &Path, change: impl FnOnce(&mut SimMetadata)) -> io::Result<()> {
        let mut state = self.foreign();
        let id = find(&state, path)?;
        let mut metadata = state.store.node(id)?.metadata.clone();
        change(&mut metadata);
        state.store.change_metadata("setattr", id, metadata, None);
        Ok(())
    }

    /// `chmod`.
    pub fn set_mode(&self, path: impl AsRef<Path>, mode: u32) -> io::Result<()> {
        self.metadata(path.as_ref(), |metadata| metadata.mode = mode)
    }

    /// `chown`.
    pub fn set_owner(&self, path: impl AsRef<Path>, user: u32, group: u32) -> io::Result<()> {
        self.metadata(path.as_ref(), |metadata| (metadata.user, metadata.group) = (user, group))
    }

    /// Sets the modification time, as `touch -d` does.
    pub fn set_modified(&self, path: impl AsRef<Path>, modified: Timestamp) -> io::Result<()> {
        let mut state = self.foreign();
        let id = find(&state, path.as_ref())?;
        let metadata = state.store.node(id)?.metadata.clone();
        state.store.change_metadata("utimes", id, metadata, Some(modified));
        Ok(())
    }

    /// Removes an attribute: `setfattr -x`.
    pub fn remove_attribute(&self, path: impl AsRef<Path>, name: &str) -> io::Result<()> {
        self.metadata(path.as_ref(), |metadata| metadata.extended.retain(|(n, _)| n != name))
    }

    /// `setfattr`.
    pub fn set_attribute(&self, path: impl AsRef<Path>, name: &str, value: &[u8]) -> io::Result<()> {
        self.metadata(path.as_ref(), |metadata| {
            metadata.extended.retain(|(n, _)| n != name);
            metadata.extended.push((name.into(), value.to_vec()));
            metadata.extended.sort();
        })
    }

    /// `chattr`: sets whether it is immutable or append-only.
    pub fn set_barred(&self, path: impl AsRef<Path>, immutable: bool, append_only: bool) -> io::Result<()> {
        self.metadata(path.as_ref(), |metadata| {
            metadata.flags &= !(IMMUTABLE | APPEND_ONLY);
            metadata.flags |= if immutable { IMMUTABLE } else { 0 };
            metadata.flags |= if append_only { APPEND_ONLY } else { 0 };
        })
    }

    /// Opens a file in order to write to it later.
    pub fn open(&self, path: impl AsRef<Path>) -> io::Result<SimHeldFile> {
        let mut state = self.shared.lock();
        let id = find(&state, path.as_ref())?;
        let key = state.open(FOREIGN, id, true)?;
        Ok(SimHeldFile(Descriptor { shared: Arc::clone(&self.shared), key }))
    }

    /// The whole content of a file.
    pub fn read(&self, path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
        let state = self.shared.lock();
        let id = find(&state, path.as_ref())?;
        Ok(state.store.node(id)?.bytes().ok_or(Errno::ISDIR)?.to_vec())
    }

    /// The metadata of a path; a symlink at its end is not followed.
    pub fn stat(&self, path: impl AsRef<Path>) -> io::Result<Stat> {
        let state = self.shared.lock();
        let (_, id) = state.store.resolve(Actor::ROOT, path.as_ref(), false)?;
        Ok(state.store.known(id)?)
    }

    /// Returns whether anything is at a path, including a dangling symlink.
    #[must_use]
    pub fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.stat(path).is_ok()
    }

    /// All files and folders by path.
    #[must_use]
    pub fn tree(&self) -> SimTree {
        let state = self.shared.lock();
        tree::tree(&state.store.live, &state.store.machine)
    }

    /// The content of a folder by relative path, a folder before what is in it; faster than the whole tree.
    pub fn entries(&self, folder: impl AsRef<Path>) -> io::Result<Vec<(PathBuf, SimEntry)>> {
        let state = self.shared.lock();
        let id = find(&state, folder.as_ref())?;
        Ok(tree::entries(&state.store.live, id, &state.store.machine))
    }

    /// Writes the content of a file again and makes it durable, as a program does after a sync that failed.
    pub fn write_again(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let mut state = self.shared.lock();
        let id = find(&state, path.as_ref())?;
        state.store.write_again(id);
        Ok(())
    }

    /// Makes everything that is there the lower layer of an overlay: whatever is changed first, or moved, gets another birth
    /// time then, and so do the folders above it.
    pub fn lower(&self) {
        let mut state = self.foreign();
        state.store.sync_all(ROOT);
        state.store.lower();
    }

    /// Makes everything durable, on all file systems.
    pub fn sync_everything(&self) {
        let mut state = self.shared.lock();
        let ids: Vec<Id> = state.store.live.iter().filter(|(id, n)| *id == ROOT || n.mount_root).map(|n| n.0).collect();
        for id in ids {
            state.store.sync_all(id);
        }
    }
}
