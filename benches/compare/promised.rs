//! The least of what `txedit` promises: the calls of its protocol, by a program that does nothing else. It takes no lock, looks
//! for no interrupted transaction, checks no permission, copies no attribute and resolves no path.

use std::fs::{self, File, Metadata};
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use rustix::fs::{CWD, RenameFlags, renameat_with, syncfs};
use txedit::fs::{Fs, Name, OsFs};

use crate::Result;

pub(crate) const FOLDER: &str = ".least/txn";
pub(crate) const NEW: &str = ".least/txn/journal.new";
pub(crate) const NAMED: &str = ".least/txn/journal";
pub(crate) const DONE: &str = ".least/txn/journal.done";
pub(crate) const HISTORY: &str = ".least/history";

/// Files up to which each is written out by itself, and the file that was changed last is synced.
pub(crate) const EACH: usize = 8;

/// How a slot and its target change places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moves {
    /// In one rename.
    Exchange,
    /// The target is moved away, the slot takes its name, and contents are verified after one more sync.
    StepByStep,
}

/// Reads and hashes, stages, writes a journal, syncs, exchanges and verifies each, syncs once more, and keeps the originals.
/// `content` makes the new content of a file from the old one; `number` is that of the commit.
pub(crate) fn commit(files: &[&Path], content: impl Fn(&[u8]) -> Vec<u8>, number: usize, moves: Moves) -> Result<()> {
    fs::create_dir_all(HISTORY)?;
    fs::create_dir(FOLDER)?;
    let mut journal = Vec::new();
    let mut read = Vec::with_capacity(files.len());
    for (slot, path) in files.iter().enumerate() {
        let metadata = fs::symlink_metadata(path)?;
        let old = fs::read(path)?;
        let (digest, new) = (blake3::hash(&old), content(&old));
        File::create_new(slot_of(slot))?.write_all_at(&new, 0)?;
        writeln!(journal, "{} {} {}", path.display(), digest.to_hex(), blake3::hash(&new).to_hex())?;
        read.push((metadata, digest));
    }
    let written = File::create_new(NEW)?;
    written.write_all_at(&journal, 0)?;
    make_durable(files, &written)?;
    fs::rename(NEW, NAMED)?;
    for (path, (before, _)) in files.iter().zip(&read) {
        check(path, before, &fs::symlink_metadata(path)?)?;
    }
    for (slot, (path, (before, digest))) in files.iter().zip(&read).enumerate() {
        let [slot, out] = [slot_of(slot), out_of(slot, moves)];
        if moves == Moves::Exchange {
            renameat_with(CWD, &slot, CWD, *path, RenameFlags::EXCHANGE)?;
            check(path, before, &fs::symlink_metadata(&out)?)?;
            compare(path, &out, digest)?;
        } else {
            renameat_with(CWD, *path, CWD, &out, RenameFlags::NOREPLACE)?;
            check(path, before, &fs::symlink_metadata(&out)?)?;
            renameat_with(CWD, &slot, CWD, *path, RenameFlags::NOREPLACE)?;
        }
    }
    if moves == Moves::StepByStep {
        syncfs(File::open(".")?)?;
        for (slot, (path, (_, digest))) in files.iter().zip(&read).enumerate() {
            compare(path, &out_of(slot, moves), digest)?;
        }
    }
    fs::rename(NAMED, DONE)?;
    if files.len() <= EACH {
        File::open(FOLDER)?.sync_all()?;
    } else {
        syncfs(File::open(".")?)?;
    }
    Ok(fs::rename(FOLDER, format!("{HISTORY}/{number}"))?)
}

pub(crate) fn slot_of(number: usize) -> String {
    format!("{FOLDER}/{number:06}")
}

/// Where the original of a slot comes out.
fn out_of(number: usize, moves: Moves) -> String {
    slot_of(number) + if moves == Moves::StepByStep { ".out" } else { "" }
}

fn compare(path: &Path, out: &str, digest: &blake3::Hash) -> Result<()> {
    let is_same = blake3::hash(&fs::read(out)?) == *digest;
    if is_same { Ok(()) } else { Err(format!("{} was written meanwhile", path.display()).into()) }
}

pub(crate) fn check(path: &Path, before: &Metadata, now: &Metadata) -> Result<()> {
    let of = |metadata: &Metadata| (metadata.ino(), metadata.mtime(), metadata.mtime_nsec(), metadata.len());
    if of(before) == of(now) { Ok(()) } else { Err(format!("{} was changed meanwhile", path.display()).into()) }
}

/// Makes new contents, originals and the journal durable: by one sync of the journal after all others were written out, or of
/// the file system.
pub(crate) fn make_durable(files: &[&Path], journal: &File) -> Result<()> {
    if files.len() > EACH {
        return Ok(syncfs(File::open(".")?)?);
    }
    let system = OsFs::new();
    let slots = (0..files.len()).map(|slot| slot_of(slot).into());
    for path in files.iter().map(|path| path.to_path_buf()).chain(slots) {
        let path = std::path::absolute(path)?;
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { continue };
        let folder = system.open_folder(folder)?;
        system.write_out(&system.open_file(Name::new(&folder, name))?)?;
    }
    Ok(journal.sync_all()?)
}
