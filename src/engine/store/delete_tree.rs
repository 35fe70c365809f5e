//! Deletes folders of other programs with everything in them: only where a person said so.

use crate::error::{Error, ErrorKind, Result};
use crate::fs::{FileKind, Fs, Handle, Name};
use crate::limits;

/// Deletes each folder in `folder`, and what is in it. On failure the rest is still there, in its place.
pub(crate) fn folders_in(fs: &dyn Fs, folder: &Handle) -> Result<()> {
    let mount = fs.stat_handle(folder).map_err(|e| Error::io("look at", folder.path(), e))?.mount;
    for name in fs.list(folder).map_err(|e| Error::io("list", folder.path(), e))? {
        let name = Name::new(folder, &name);
        if kind(fs, name)? == Some(FileKind::Folder) {
            raze(fs, name, mount, limits::RAZED_LEVELS)?;
        }
    }
    Ok(())
}

fn kind(fs: &dyn Fs, name: Name<'_>) -> Result<Option<FileKind>> {
    let stat = fs.stat(name).map_err(|e| Error::io("look at", name.path(), e))?;
    Ok(stat.map(|stat| stat.kind))
}

/// Deletes one folder. Each level is held open, and no symlink is followed: nothing outside of it is in reach.
fn raze(fs: &dyn Fs, name: Name<'_>, mount: u64, levels: usize) -> Result<()> {
    let stays = |kind: ErrorKind, why: &str| {
        let message = format!("{} {why}: delete it by hand, and drop again", name.path().display());
        Error::new(kind, message).at(name.path())
    };
    let folder = fs.open_beneath(name.folder, name.name.as_ref()).map_err(|e| Error::io("open", name.path(), e))?;
    let stat = fs.stat_handle(&folder).map_err(|e| Error::io("look at", folder.path(), e))?;
    if stat.mount_root || stat.mount != mount {
        return Err(stays(ErrorKind::MountPoint, "is the root of another mount"));
    }
    for inner in fs.list(&folder).map_err(|e| Error::io("list", folder.path(), e))? {
        let inner = Name::new(&folder, &inner);
        match kind(fs, inner)? {
            None => {}
            Some(FileKind::Folder) if levels == 0 => return Err(stays(ErrorKind::WriteFailed, "is nested too deeply")),
            Some(FileKind::Folder) => raze(fs, inner, mount, levels - 1)?,
            Some(_) => fs.unlink(inner).map_err(|e| Error::io("remove", inner.path(), e))?,
        }
    }
    fs.remove_folder(name).map_err(|e| Error::io("remove", name.path(), e))
}
