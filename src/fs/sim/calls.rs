//! Implements [`Fs`] for one process of the machine.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::super::{
    Attributes, FileSystem, Fs, Handle, Host, Lease, Metadata, Name, Rename, SlotGuard, Stat, Timestamp,
};
use super::access::{READ, WRITE};
use super::disk::{ROOT, SimBody, SimMetadata};
use super::names::How;
use super::process::{BARRED, SET_GROUP, SimProcess, SimTurn, unlink};
use super::store::Store;
use crate::errno::Errno;

impl Fs for SimProcess {
    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        self.call(
            "canonical",
            false,
            || path.to_owned(),
            |turn| Ok(turn.state.store.resolve(turn.actor(), path, true)?.0),
        )
    }

    fn open_folder(&self, path: &Path) -> io::Result<Handle> {
        self.call(
            "open_folder",
            false,
            || path.to_owned(),
            |turn| {
                if path.is_relative() {
                    return Err(Errno::INVAL.into());
                }
                self.open_at(turn, ROOT, path, path)
            },
        )
    }

    fn open_beneath(&self, folder: &Handle, path: &Path) -> io::Result<Handle> {
        let whole = || if path.as_os_str().is_empty() { folder.path().to_owned() } else { folder.path().join(path) };
        self.call("open_beneath", false, whole, |turn| {
            if path.is_absolute() {
                return Err(Errno::INVAL.into());
            }
            let start = turn.id(folder)?;
            self.open_at(turn, start, path, &whole())
        })
    }

    fn open_above(&self, folder: &Handle, levels: usize, path: &Path) -> io::Result<Handle> {
        let above = folder.path().ancestors().nth(levels).unwrap_or(Path::new("/"));
        self.open_folder(&above.components().chain(path.components()).collect::<PathBuf>())
    }

    fn open_file(&self, name: Name<'_>) -> io::Result<Handle> {
        self.call(
            "open_file",
            false,
            || name.path(),
            |turn| {
                let id = turn.look(name)?.ok_or(Errno::NOENT)?;
                let actor = turn.actor();
                Ok(self.handle(turn.state.open_to_read(self.key, actor, id)?, name.path()))
            },
        )
    }

    fn stat(&self, name: Name<'_>) -> io::Result<Option<Stat>> {
        self.call(
            "stat",
            false,
            || name.path(),
            |turn| Ok(turn.look(name)?.map(|id| turn.state.store.stat_at(id, &name.path())).transpose()?),
        )
    }

    fn may_write(&self, name: Name<'_>) -> io::Result<bool> {
        self.call(
            "may_write",
            false,
            || name.path(),
            |turn| {
                let id = turn.look(name)?.ok_or(Errno::NOENT)?;
                let node = turn.state.store.node(id)?;
                Ok(turn.state.store.allow(turn.actor(), node, WRITE).is_ok())
            },
        )
    }

    fn stat_path(&self, path: &Path) -> io::Result<Option<Stat>> {
        self.call(
            "stat_path",
            false,
            || path.to_owned(),
            |turn| match turn.state.store.resolve(turn.actor(), path, false) {
                Ok((_, id)) => Ok(Some(turn.state.store.stat_at(id, path)?)),
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
                Err(error) => Err(error.into()),
            },
        )
    }

    fn stat_handle(&self, handle: &Handle) -> io::Result<Stat> {
        self.call(
            "stat_handle",
            false,
            || handle.path().to_owned(),
            |turn| Ok(turn.state.store.stat_at(turn.id(handle)?, handle.path())?),
        )
    }

    fn list(&self, folder: &Handle) -> io::Result<Vec<OsString>> {
        self.call(
            "list",
            false,
            || folder.path().to_owned(),
            |turn| {
                let (store, node) = (&turn.state.store, turn.node(folder)?);
                let entries = store.enter(turn.actor(), turn.id(folder)?)?;
                // The real one opens the folder once more, which needs read permission.
                store.allow(turn.actor(), node, READ)?;
                Ok(entries.keys().cloned().collect())
            },
        )
    }

    fn read_at(&self, file: &Handle, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.call(
            "read_at",
            false,
            || file.path().to_owned(),
            |turn| {
                let most = turn.most.min(buffer.len());
                Ok(turn.state.read(turn.find(file)?, offset, &mut buffer[..most])?)
            },
        )
    }

    fn read_link(&self, name: Name<'_>) -> io::Result<Vec<u8>> {
        self.call(
            "read_link",
            false,
            || name.path(),
            |turn| {
                let id = turn.look(name)?.ok_or(Errno::NOENT)?;
                match &turn.state.store.node(id)?.body {
                    SimBody::Symlink(target) => Ok(target.as_os_str().as_bytes().to_vec()),
                    _ => Err(Errno::INVAL.into()),
                }
            },
        )
    }

    fn attributes(&self, handle: &Handle) -> io::Result<Attributes> {
        self.call(
            "attributes",
            false,
            || handle.path().to_owned(),
            |turn| {
                let metadata = &turn.node(handle)?.metadata;
                Ok(Attributes {
                    extended: metadata.extended.clone(),
                    flags: metadata.flags & !BARRED,
                    ..Attributes::default()
                })
            },
        )
    }

    fn inherited(&self, folder: &Handle, is_folder: bool) -> io::Result<Metadata> {
        self.call(
            "inherited",
            false,
            || folder.path().to_owned(),
            |turn| {
                let (parent, actor) = (&turn.node(folder)?.metadata, turn.actor());
                let is_group_given = parent.mode & SET_GROUP != 0;
                let mode = if is_folder { 0o777 } else { 0o666 } & !turn.state.store.machine.settings.umask;
                Ok(Metadata {
                    mode: mode | if is_folder { parent.mode & SET_GROUP } else { 0 },
                    user: actor.user,
                    group: if is_group_given { parent.group } else { actor.group },
                    attributes: Attributes::default(),
                    modified: None,
                })
            },
        )
    }

    fn file_system(&self, folder: &Handle) -> io::Result<FileSystem> {
        self.call(
            "file_system",
            false,
            || folder.path().to_owned(),
            |turn| {
                let volume = turn.state.store.machine.volume(turn.node(folder)?.mount);
                Ok(FileSystem {
                    name: volume.name.clone(),
                    local: volume.local,
                    sync_each: volume.sync_each,
                    orders: volume.orders,
                    syncs_whole: volume.syncs_whole,
                    syncs_folders: volume.syncs_folders,
                    keeps_numbers: !volume.is_layered,
                    counts_folders: volume.counts_folders,
                })
            },
        )
    }

    fn now(&self) -> Timestamp {
        self.shared.lock().store.machine.now()
    }

    fn host(&self) -> io::Result<Host> {
        self.call("host", false, PathBuf::new, |turn| {
            Ok(Host {
                boot: turn.state.store.machine.boot_id(),
                name: "sim".to_owned(),
                process: turn.process.pid,
                user: turn.actor().user,
                groups: None,
            })
        })
    }

    fn make_folder(&self, name: Name<'_>, mode: u32) -> io::Result<()> {
        self.call(
            "make_folder",
            true,
            || name.path(),
            |turn| {
                let (spot, actor) = (turn.spot(name)?, turn.actor());
                turn.state.store.make(actor, "mkdir", spot, SimBody::Folder(BTreeMap::new()), mode & 0o7777)?;
                Ok(())
            },
        )
    }

    fn create(&self, name: Name<'_>, mode: u32) -> io::Result<(Handle, SlotGuard, Stat)> {
        let make = |turn: &mut SimTurn<'_>| {
            let (key, stat) = turn.create(self.key, name, mode)?;
            Ok((self.handle(key, name.path()), stat))
        };
        let (file, stat) = self.call("create", true, || name.path(), make)?;
        Ok((file, SlotGuard::deleting(name, unlink), stat))
    }

    fn symlink(&self, name: Name<'_>, target: &[u8]) -> io::Result<(SlotGuard, Stat)> {
        let stat = self.call("symlink", true, || name.path(), |turn| turn.symlink(name, target))?;
        Ok((SlotGuard::deleting(name, unlink), stat))
    }

    fn set_link_metadata(&self, name: Name<'_>, now: &Stat, wanted: &Metadata) -> io::Result<()> {
        self.call(
            "set_link_metadata",
            true,
            || name.path(),
            |turn| {
                let id = turn.look(name)?.ok_or(Errno::NOENT)?;
                let mut metadata = turn.state.store.node(id)?.metadata.clone();
                if (now.user, now.group) != (wanted.user, wanted.group) {
                    (metadata.user, metadata.group) = (wanted.user, wanted.group);
                }
                turn.set_metadata_of("lsetattr", id, metadata, wanted.modified)
            },
        )
    }

    fn write_at(&self, file: &Handle, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        self.call(
            "write_at",
            true,
            || file.path().to_owned(),
            |turn| {
                let most = turn.most.min(bytes.len());
                Ok(turn.state.write(turn.find(file)?, offset, &bytes[..most])?)
            },
        )
    }

    fn open_to_write(&self, name: Name<'_>) -> io::Result<Handle> {
        self.call(
            "open_to_write",
            false,
            || name.path(),
            |turn| {
                let id = turn.look(name)?.ok_or(Errno::NOENT)?;
                let actor = turn.actor();
                Ok(self.handle(turn.state.open_to_write(self.key, actor, id)?, name.path()))
            },
        )
    }

    fn lease(&self, file: &Handle) -> io::Result<Lease> {
        self.call(
            "lease",
            false,
            || file.path().to_owned(),
            |turn| Ok(turn.state.lease(turn.key(file)?, turn.find(file)?)),
        )
    }

    fn reserve(&self, file: &Handle, offset: u64, length: u64) -> io::Result<()> {
        self.call(
            "reserve",
            true,
            || file.path().to_owned(),
            |turn| {
                let node = turn.node(file)?;
                let more = (offset + length).saturating_sub(node.bytes().ok_or(Errno::ISDIR)?.len() as u64);
                if more <= turn.state.store.space(node.mount) { Ok(()) } else { Err(Errno::NOSPC.into()) }
            },
        )
    }

    fn set_size(&self, file: &Handle, size: u64) -> io::Result<()> {
        self.call("set_size", true, || file.path().to_owned(), |turn| Ok(turn.state.set_size(turn.find(file)?, size)?))
    }

    fn copy_range(&self, from: &Handle, from_at: u64, to: &Handle, to_at: u64, length: u64) -> io::Result<u64> {
        self.call("copy_range", true, || to.path().to_owned(), |turn| turn.copy((from, from_at), (to, to_at), length))
    }

    fn set_flags(&self, file: &Handle, flags: u32) -> io::Result<()> {
        self.call(
            "set_flags",
            true,
            || file.path().to_owned(),
            |turn| {
                let old = turn.node(file)?.metadata.clone();
                let flags = old.flags & BARRED | flags & !BARRED;
                turn.set_metadata("chattr", file, SimMetadata { flags, ..old }, None)
            },
        )
    }

    fn set_metadata(&self, handle: &Handle, now: &Metadata, wanted: &Metadata) -> io::Result<()> {
        self.call(
            "set_metadata",
            true,
            || handle.path().to_owned(),
            |turn| {
                // Like the real one, it trusts `now`.
                let mut metadata = turn.node(handle)?.metadata.clone();
                if (now.user, now.group) != (wanted.user, wanted.group) {
                    (metadata.user, metadata.group) = (wanted.user, wanted.group);
                }
                if now.mode != wanted.mode {
                    metadata.mode = wanted.mode & 0o7777;
                }
                if now.attributes.extended != wanted.attributes.extended {
                    metadata.extended.clone_from(&wanted.attributes.extended);
                    metadata.extended.sort();
                }
                turn.set_metadata("setattr", handle, metadata, wanted.modified)
            },
        )
    }

    fn touch(&self, file: &Handle) -> io::Result<()> {
        self.call(
            "touch",
            true,
            || file.path().to_owned(),
            |turn| {
                let (metadata, now) = (turn.node(file)?.metadata.clone(), turn.state.store.machine.now());
                turn.set_metadata("touch", file, metadata, Some(now))
            },
        )
    }

    fn rename(&self, from: Name<'_>, to: Name<'_>, how: Rename) -> io::Result<()> {
        let how = match how {
            Rename::Exchange => How::Exchange,
            Rename::NoReplace => How::NoReplace,
            Rename::Replace => How::Replace,
        };
        self.call_or(
            "rename",
            true,
            || (from.path(), Some(to.path())),
            |turn| {
                let (from, to, actor) = (turn.spot(from)?, turn.spot(to)?, turn.actor());
                let replaced = turn.state.store.rename(actor, from, to, how)?;
                if let Some(id) = replaced {
                    turn.state.collect(id);
                }
                Ok(())
            },
            |_| Ok(()),
        )
    }

    fn link(&self, from: Name<'_>, to: Name<'_>) -> io::Result<()> {
        self.call_or(
            "link",
            true,
            || (from.path(), Some(to.path())),
            |turn| {
                let id = turn.look(from)?.ok_or(Errno::NOENT)?;
                let (to, actor) = (turn.spot(to)?, turn.actor());
                Ok(turn.state.store.link(actor, id, to)?)
            },
            |_| Ok(()),
        )
    }

    fn unlink(&self, name: Name<'_>) -> io::Result<()> {
        self.call(
            "unlink",
            true,
            || name.path(),
            |turn| {
                let (spot, actor) = (turn.spot(name)?, turn.actor());
                let id = turn.state.store.unlink(actor, spot)?;
                turn.state.collect(id);
                Ok(())
            },
        )
    }

    fn remove_folder(&self, name: Name<'_>) -> io::Result<()> {
        self.call(
            "remove_folder",
            true,
            || name.path(),
            |turn| {
                let (spot, actor) = (turn.spot(name)?, turn.actor());
                let id = turn.state.store.remove_folder(actor, spot)?;
                turn.state.collect(id);
                Ok(())
            },
        )
    }

    fn sync(&self, handle: &Handle) -> io::Result<()> {
        let path = || handle.path().to_owned();
        let sync = |store: &mut Store, id| {
            store.sync(id);
            Ok(())
        };
        self.sync_call("sync", path, handle, sync, Store::lose_pages)
    }

    fn write_out(&self, file: &Handle) -> io::Result<()> {
        let path = || file.path().to_owned();
        let write_out = |store: &mut Store, id| {
            store.write_out(id);
            Ok(())
        };
        self.sync_call("write_out", path, file, write_out, Store::lose_pages)
    }

    fn sync_file_system(&self, folder: &Handle) -> io::Result<()> {
        let path = || folder.path().to_owned();
        self.sync_call("sync_file_system", path, folder, Store::sync_file_system, Store::lose_all_pages)
    }

    /// This machine has nothing below its file systems.
    fn sync_machine(&self) {}

    fn try_lock(&self, folder: &Handle) -> io::Result<bool> {
        self.call(
            "try_lock",
            false,
            || folder.path().to_owned(),
            |turn| {
                let (key, id) = (turn.key(folder)?, turn.id(folder)?);
                if !turn.state.store.machine.volume(turn.node(folder)?.mount).locks {
                    return Ok(true);
                }
                Ok(*turn.state.locks.entry(id).or_insert(key) == key)
            },
        )
    }

    fn lock_holder(&self, folder: &Handle) -> Option<String> {
        let path = || folder.path().to_owned();
        let holder = self.call("lock_holder", false, path, |turn| {
            let open = turn.state.locks.get(&turn.id(folder)?).and_then(|key| turn.state.open.get(key));
            Ok(open.and_then(|o| turn.state.processes.get(&o.process)).map(|p| format!("process {}", p.pid)))
        });
        holder.ok().flatten()
    }

    fn raise_open_files(&self) -> u64 {
        let limit = |turn: &mut SimTurn<'_>| Ok(turn.state.store.machine.settings.open_files);
        self.call("raise_open_files", false, PathBuf::new, limit).unwrap_or(0)
    }
}
