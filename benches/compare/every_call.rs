//! The calls that `txedit` makes for a commit or a refusal, kind by kind and nearly as many, by a program that computes nothing
//! besides but new contents and hashes: no request is validated, no plan is made, no error told. What `txedit` takes beyond
//! this is its own work. `strace -f -c` counts both.

use std::collections::HashSet;
use std::fs::{self, File, Metadata};
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, FlockOperation, RenameFlags, flistxattr, flock, fstatfs, ioctl_getflags, renameat_with, statat,
    syncfs,
};

use crate::Result;
use crate::promised::{DONE, EACH, FOLDER, HISTORY, NAMED, NEW, check, make_durable, slot_of};

/// The folder of the transaction while it is made.
const HIDDEN: &str = ".least/.txn";

/// A file that was read.
struct Read {
    file: Option<File>,
    metadata: Metadata,
    content: Vec<u8>,
    digest: blake3::Hash,
}

/// Like [`promised::commit`](crate::promised::commit), with locks, and with all that is looked at.
pub(crate) fn commit(files: &[&Path], content: impl Fn(&[u8]) -> Vec<u8>, number: usize) -> Result<()> {
    fs::create_dir_all(HISTORY)?;
    let _locks = look_around(files)?;
    let folder = make_folder(number)?;
    let mut journal = Vec::new();
    let read = files.iter().map(|path| read(path, files.len())).collect::<Result<Vec<_>>>()?;
    // Few files stay open until they are synced.
    let mut staged = Vec::new();
    for (slot, (path, old)) in files.iter().zip(&read).enumerate() {
        let new = content(&old.content);
        let file = File::create_new(slot_of(slot))?;
        file.metadata()?;
        if slot == 0 {
            attributes(&file)?;
        }
        file.write_all_at(&new, 0)?;
        writeln!(journal, "{} {} {}", path.display(), old.digest.to_hex(), blake3::hash(&new).to_hex())?;
        staged.extend((files.len() <= EACH).then_some(file));
    }
    let written = write(NEW, &journal)?;
    make_durable(files, &written)?;
    fs::rename(NEW, NAMED)?;
    fs::metadata(".")?;
    for (path, old) in files.iter().zip(&read) {
        check(path, &old.metadata, &fs::symlink_metadata(path)?)?;
    }
    for (slot, (path, old)) in files.iter().zip(&read).enumerate() {
        let slot = slot_of(slot);
        renameat_with(CWD, &slot, CWD, *path, RenameFlags::EXCHANGE)?;
        check(path, &old.metadata, &fs::symlink_metadata(&slot)?)?;
        let file = old.file.as_ref().map_or_else(|| File::open(&slot), File::try_clone)?;
        attributes(&file)?;
        if blake3::hash(&whole(&file, old.content.len() + 1)?) != old.digest {
            return Err(format!("{} was written meanwhile", path.display()).into());
        }
    }
    write(".least/txn/report.json", &journal)?;
    for _ in 0..3 {
        fs::metadata(".")?;
    }
    fs::rename(NAMED, DONE)?;
    if files.len() <= EACH {
        folder.sync_all()?;
    } else {
        syncfs(&folder)?;
    }
    fs::rename(FOLDER, format!("{HISTORY}/{number}"))?;
    for name in [".least/TAG", ".", "."] {
        drop(fs::symlink_metadata(name));
    }
    Ok(())
}

/// Reads and searches all of them, under locks, as a request is refused whose last edit does not fit.
pub(crate) fn refuse(files: &[&Path], content: impl Fn(&[u8]) -> Vec<u8>) -> Result<()> {
    fs::create_dir_all(HISTORY)?;
    let _locks = look_around(files)?;
    for path in files {
        content(&read(path, files.len())?.content);
    }
    Ok(())
}

/// Looks for repositories, state folders and interrupted transactions, in the root, above it, and in the folders of the
/// files, which are locked.
fn look_around(files: &[&Path]) -> Result<Vec<File>> {
    for above in [".", "..", "../..", "../../.."] {
        let folder = File::open(above)?;
        for name in ["HEAD", ".git", ".txedit", ".git"] {
            look(&folder, name);
        }
    }
    let state = File::open(".least")?;
    fstatfs(&state)?;
    fs::read("/proc/sys/kernel/random/boot_id")?;
    for name in ["open", "view", "txn", "txn", "txn", "id", "trash", "kept", "history"] {
        look(&state, name);
    }
    let mut locks = Vec::new();
    let mut seen = HashSet::new();
    for path in files {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if seen.insert(folder) {
            let folder = File::open(folder)?;
            folder.metadata()?;
            flock(&folder, FlockOperation::NonBlockingLockExclusive)?;
            folder.metadata()?;
            look(&folder, "HEAD");
            locks.push(folder);
        }
    }
    Ok(locks)
}

/// Looks for a name, which need not be there.
fn look(folder: &File, name: &str) {
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok();
}

/// Takes an id, and makes the folder of the transaction, locked.
fn make_folder(number: usize) -> Result<File> {
    let newest = fs::read_dir(".least")?.filter_map(std::result::Result::ok);
    let newest = newest.map(|entry| entry.path()).find(|path| path.extension().is_some_and(|it| it == "newest"));
    match newest {
        Some(newest) => fs::rename(newest, format!(".least/{number}.newest"))?,
        None => drop(File::create_new(format!(".least/{number}.newest"))?),
    }
    fs::create_dir(HIDDEN)?;
    let folder = File::open(HIDDEN)?;
    folder.metadata()?;
    flock(&folder, FlockOperation::NonBlockingLockExclusive)?;
    fs::symlink_metadata(HIDDEN)?;
    fs::rename(HIDDEN, FOLDER)?;
    Ok(folder)
}

/// Reads a file and its attributes; it stays open where it is one of few.
fn read(path: &Path, of: usize) -> Result<Read> {
    let metadata = fs::symlink_metadata(path)?;
    let file = File::open(path)?;
    let content = whole(&file, usize::try_from(metadata.size())?)?;
    let digest = blake3::hash(&content);
    attributes(&file)?;
    check(path, &metadata, &file.metadata()?)?;
    Ok(Read { file: (of <= EACH).then_some(file), metadata, content, digest })
}

/// Up to so many bytes of a file.
fn whole(file: &File, size: usize) -> Result<Vec<u8>> {
    let mut content = vec![0; size];
    let read = file.read_at(&mut content, 0)?;
    content.truncate(read);
    Ok(content)
}

/// Asks for extended attributes, flags, and the project.
fn attributes(file: &File) -> Result<()> {
    let mut names = [0; 512];
    flistxattr(file, &mut names)?;
    ioctl_getflags(file)?;
    ioctl_getflags(file)?;
    Ok(())
}

fn write(path: &str, content: &[u8]) -> Result<File> {
    let file = File::create_new(path)?;
    file.metadata()?;
    file.write_all_at(content, 0)?;
    Ok(file)
}
