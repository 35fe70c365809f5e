//! A file as it was when it was read: bytes, digest, identity and metadata.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::lock::check_cancelled;
use super::workspace::Workspace;
use crate::cancel::CancelToken;
use crate::digest::{Digest, Digester};
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{Attributes, FileKind, Handle, Name, Stat};
use crate::identity::Timestamp;
use crate::limits;
use crate::plan::{Access, FileState, LINK_MODE};

/// A file as it was read.
#[derive(Debug, Clone)]
pub(crate) struct Snapshot {
    /// Its metadata before it was read.
    pub stat: Arc<Stat>,
    /// The digest of its content.
    pub digest: Digest,
    /// Its attributes and flags, if it has any.
    attributes: Option<Box<Attributes>>,
    /// The file itself, still open.
    pub file: Option<Handle>,
}

impl Snapshot {
    /// Its state as the journal records it, by which a recovery recognises it.
    pub(crate) fn state(&self) -> FileState {
        let attributes = self.attributes.as_ref().and_then(|attributes| attributes.digest());
        let access = Access { user: self.stat.user, group: self.stat.group, attributes };
        let mode = if self.is_link() { LINK_MODE } else { self.stat.mode };
        FileState { digest: self.digest, size: self.stat.size, mode, access: Some(access) }
    }

    /// Returns whether it is a file that is not open.
    pub(crate) fn is_closed(&self) -> bool {
        self.file.is_none() && !self.is_link()
    }

    /// Returns whether it is a symlink, whose content is its target.
    pub(crate) fn is_link(&self) -> bool {
        self.stat.kind == FileKind::Symlink
    }

    /// Its attributes and flags.
    pub(crate) fn attributes(&self) -> Attributes {
        self.attributes.as_deref().cloned().unwrap_or_default()
    }

    /// The same without the open file.
    pub(crate) fn closed(mut self) -> Self {
        self.file = None;
        self
    }

    /// Forgets the attributes with such names.
    pub(crate) fn leave_out(&mut self, is_left_out: impl Fn(&OsStr) -> bool) {
        let Some(attributes) = &mut self.attributes else { return };
        attributes.extended.retain(|(name, _)| !is_left_out(name));
        if **attributes == Attributes::default() {
            self.attributes = None;
        }
    }

    /// Returns whether these are its attributes and flags.
    pub(crate) fn has_attributes(&self, attributes: &Attributes) -> bool {
        self.attributes.as_ref().and_then(|own| own.digest()) == attributes.digest()
    }

    /// Returns whether `stat` is this very file, unchanged as far as its metadata tell. A rename changes `changed`, so
    /// that is compared only if the file was not moved.
    pub(crate) fn is_same(&self, stat: &Stat, moved: bool) -> bool {
        self.stat.identity == stat.identity && self.is_alike(stat) && (moved || self.stat.changed == stat.changed)
    }

    /// Returns whether `stat` has the same content and permissions as far as metadata tell, perhaps in another inode
    /// (overlay copies a file up when it is renamed).
    pub(crate) fn is_alike(&self, stat: &Stat) -> bool {
        let Stat { kind, size, modified, mode, user, group, links, .. } = &*self.stat;
        *kind == stat.kind
            && *size == stat.size
            && *modified == stat.modified
            && (*mode, *user, *group) == (stat.mode, stat.user, stat.group)
            // A second name would still lead to the original after the swap, and no copy of the original was made for
            // it.
            && stat.links <= (*links).max(1)
    }
}

/// The time `by` before `now`; a second is added for the precision of file systems.
pub(crate) fn earlier(now: Timestamp, by: Duration) -> Timestamp {
    let seconds = now.seconds - by.as_secs().cast_signed() - 1;
    Timestamp::new(seconds, 0)
}

/// Verifies that names in a folder can be swapped at all; `path` is the one to report.
pub(crate) fn check_folder(path: impl Fn() -> PathBuf, folder: &Stat) -> Result<()> {
    let refuse = |why: &str| {
        let path = path();
        Err(Error::new(ErrorKind::Immutable, format!("{} {why}", path.display())).at(path))
    };
    if folder.immutable {
        return refuse("is in an immutable folder (chattr +i); clear the flag first");
    }
    // It would take new names, but a rollback could not remove them again by a rename.
    if folder.append_only {
        return refuse("is in an append-only folder (chattr +a); clear the flag first");
    }
    Ok(())
}

/// Verifies that a folder can be removed at all; `path` is the one to report. What is in it is another matter.
pub(crate) fn check_removable(path: impl Fn() -> PathBuf, folder: &Stat) -> Result<()> {
    let refuse = |kind, why: &str| {
        let path = path();
        Err(Error::new(kind, format!("{} {why}", path.display())).at(path))
    };
    if folder.mount_root {
        return refuse(ErrorKind::MountPoint, "is a mount point, which cannot be removed");
    }
    if folder.immutable {
        return refuse(ErrorKind::Immutable, "is immutable (chattr +i); clear the flag first");
    }
    if folder.append_only {
        return refuse(ErrorKind::Immutable, "is append-only (chattr +a); clear the flag first");
    }
    Ok(())
}

/// Verifies that this user can edit, replace, move or delete a file in `folder` at all; if files may be overwritten in place,
/// one that is a mount point counts as one that can.
pub(crate) fn check_target(
    workspace: &Workspace,
    user: u32,
    name: Name<'_>,
    stat: &Stat,
    folder: &Stat,
    may_overwrite: bool,
) -> Result<()> {
    check_replaceable(user, name, stat, folder, may_overwrite)?;
    if stat.kind == FileKind::Symlink {
        // It has no permissions: those of its folder count.
        return Ok(());
    }
    let refuse = |why| refuse(name, ErrorKind::PermissionDenied, why);
    if stat.mode & 0o222 == 0 {
        return refuse("is read-only: it has no write bit (chmod u+w to allow edits)");
    }
    if user == 0 {
        return Ok(());
    }
    // For the owner only the owner's bits count, whatever an ACL says.
    if stat.mode & 0o400 == 0 {
        return refuse("cannot be read by you (chmod u+r to allow edits)");
    }
    if !workspace.may_write(name)? {
        return refuse("cannot be written by you");
    }
    Ok(())
}

fn refuse<T>(name: Name<'_>, kind: ErrorKind, why: &str) -> Result<T> {
    let path = name.path();
    Err(Error::new(kind, format!("{} {why}", path.display())).at(path))
}

/// Like [`check_target`], for a file that is only put back to what it was: it may be read-only.
pub(crate) fn check_replaceable(
    user: u32,
    name: Name<'_>,
    stat: &Stat,
    folder: &Stat,
    may_overwrite: bool,
) -> Result<()> {
    let refuse = |kind, why| refuse(name, kind, why);
    if stat.mount_root && !may_overwrite {
        return Err(mount_point(&name.path(), "which no rename can replace; edit it where it is mounted from"));
    }
    match stat.kind {
        FileKind::File | FileKind::Symlink => {}
        FileKind::Folder => return refuse(ErrorKind::NotARegularFile, "is a folder, not a regular file"),
        FileKind::Special => {
            return refuse(ErrorKind::NotARegularFile, "is a pipe, socket or device, not a regular file");
        }
    }
    check_folder(|| name.path(), folder)?;
    if stat.immutable {
        return refuse(ErrorKind::Immutable, "is immutable (chattr +i); clear the flag first");
    }
    if stat.append_only {
        return refuse(ErrorKind::Immutable, "is append-only (chattr +a); clear the flag first");
    }
    if user != 0 && stat.user != user {
        return refuse(
            ErrorKind::PermissionDenied,
            "belongs to another user, whom a replacement could not keep as owner",
        );
    }
    Ok(())
}

/// The error for a mount point.
pub(crate) fn mount_point(path: &Path, which: &str) -> Error {
    Error::new(ErrorKind::MountPoint, format!("{} is a mount point, {which}", path.display())).at(path)
}

/// Verifies that a file keeps its metadata while it is overwritten: the system takes some of them from a file that is written.
pub(crate) fn check_overwritable(path: &Path, stat: &Stat, attributes: &Attributes) -> Result<()> {
    let has_capability = attributes.extended.iter().any(|(name, _)| name == "security.capability");
    if stat.mode & 0o6000 == 0 && !has_capability {
        return Ok(());
    }
    let which = "would lose its set-id bits or capabilities when it is overwritten";
    if stat.mount_root {
        return Err(mount_point(path, &format!("and {which}")));
    }
    Err(Error::new(ErrorKind::UnsupportedFileSystem, format!("{} {which}", path.display())).at(path))
}

/// The use of the content while it is read.
pub(crate) enum ReadMode<'a> {
    /// It is kept as a whole.
    Whole,
    /// Each piece is passed to this.
    Pieces(&'a mut dyn FnMut(&[u8])),
    /// Only its digest is computed.
    Nothing,
}

/// Reads a file, or a symlink itself; `stat` is what its name stood for. Fails if it changes meanwhile, or if the caller
/// cancels.
pub(crate) fn read(
    workspace: &Workspace,
    name: Name<'_>,
    stat: &Arc<Stat>,
    wanted: ReadMode<'_>,
    cancel: &CancelToken,
) -> Result<(Snapshot, Vec<u8>)> {
    if stat.kind == FileKind::Symlink {
        return read_link(workspace, name, stat, wanted);
    }
    let file = workspace.open_file(name)?;
    let path = file.path();
    if !matches!(wanted, ReadMode::Nothing) {
        check_size(path, stat.size)?;
    }
    let is_whole = matches!(wanted, ReadMode::Whole);
    let (digest, bytes) = match wanted {
        ReadMode::Whole => {
            let bytes = read_whole(workspace, &file, stat.size, cancel)?;
            (digest_of(&bytes, cancel)?, bytes)
        }
        ReadMode::Pieces(look) => (each_piece(workspace, &file, stat.size, cancel, look)?, Vec::new()),
        ReadMode::Nothing => (digest(workspace, &file, stat.size, cancel)?, Vec::new()),
    };
    let attributes = workspace.attributes(&file)?;
    let after = workspace.stat_handle(&file)?;
    let attributes = (attributes != Attributes::default()).then(|| Box::new(attributes));
    let snapshot = Snapshot { stat: Arc::clone(stat), digest, attributes, file: Some(file) };
    if !snapshot.is_same(&after, false) || (is_whole && bytes.len() as u64 != stat.size) {
        return Err(changed(&name.path(), "changed while it was read"));
    }
    Ok((snapshot, bytes))
}

/// Reads a symlink, which is never changed, only replaced: it is the one that was there if it still is.
fn read_link(
    workspace: &Workspace,
    name: Name<'_>,
    stat: &Arc<Stat>,
    wanted: ReadMode<'_>,
) -> Result<(Snapshot, Vec<u8>)> {
    let target = target_of(workspace, name, stat)?;
    let snapshot = Snapshot { stat: Arc::clone(stat), digest: Digest::of(&target), attributes: None, file: None };
    match wanted {
        ReadMode::Whole => return Ok((snapshot, target)),
        ReadMode::Pieces(look) => look(&target),
        ReadMode::Nothing => {}
    }
    Ok((snapshot, Vec::new()))
}

/// The target of the symlink that a name stood for. Fails if it is another one by now.
pub(crate) fn target_of(workspace: &Workspace, name: Name<'_>, stat: &Stat) -> Result<Vec<u8>> {
    let target = workspace.read_link(name)?;
    match workspace.stat(name)? {
        Some(now) if (now.identity, now.changed) == (stat.identity, stat.changed) => Ok(target),
        _ => Err(changed(&name.path(), "changed while it was read")),
    }
}

fn check_size(path: &Path, size: u64) -> Result<()> {
    if size > limits::EDITED_FILE_BYTES {
        let message = format!("{} has {size} bytes, more than {}", path.display(), limits::EDITED_FILE_BYTES);
        return Err(Error::new(ErrorKind::FileTooLarge, message).at(path));
    }
    Ok(())
}

/// The whole content of an open file.
pub(crate) fn read_whole(workspace: &Workspace, file: &Handle, expected: u64, cancel: &CancelToken) -> Result<Vec<u8>> {
    check_size(file.path(), expected)?;
    let expected = usize::try_from(expected).unwrap_or(usize::MAX);
    let mut bytes = vec![0; expected];
    let mut filled = 0;
    while filled < expected {
        check_cancelled(cancel)?;
        let end = expected.min(filled + limits::CANCEL_EVERY_BYTES);
        match workspace.read_at(file, filled as u64, &mut bytes[filled..end])? {
            0 => break,
            read => filled += read,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// The digest of an open file's content, which is not kept. The file is read to its end; `expected` only sizes the
/// buffer, so that a small file needs no large one.
pub(crate) fn digest(workspace: &Workspace, file: &Handle, expected: u64, cancel: &CancelToken) -> Result<Digest> {
    each_piece(workspace, file, expected, cancel, &mut |_| {})
}

/// The digest of a content in memory.
fn digest_of(bytes: &[u8], cancel: &CancelToken) -> Result<Digest> {
    if bytes.len() <= limits::CANCEL_EVERY_BYTES {
        return Ok(Digest::of(bytes));
    }
    let mut digester = Digester::new();
    for piece in bytes.chunks(limits::CANCEL_EVERY_BYTES) {
        check_cancelled(cancel)?;
        digester.update(piece);
    }
    Ok(digester.finish())
}

/// Reads a file to its end, passes each piece on, and returns the digest.
fn each_piece(
    workspace: &Workspace,
    file: &Handle,
    expected: u64,
    cancel: &CancelToken,
    look: &mut dyn FnMut(&[u8]),
) -> Result<Digest> {
    let mut digester = Digester::new();
    let expected = usize::try_from(expected).unwrap_or(usize::MAX);
    let mut buffer = vec![0; expected.saturating_add(1).min(limits::CHUNK_BYTES)];
    let mut offset = 0;
    loop {
        check_cancelled(cancel)?;
        match workspace.read_at(file, offset, &mut buffer)? {
            0 => return Ok(digester.finish()),
            read => {
                digester.update(&buffer[..read]);
                look(&buffer[..read]);
                offset += read as u64;
            }
        }
    }
}

/// The error for a file that another program changed.
pub(crate) fn changed(path: &Path, how: &str) -> Error {
    let message = format!("{} {how}: another program is writing it; read it again and retry", path.display());
    Error::new(ErrorKind::ConcurrentModification, message).at(path)
}
