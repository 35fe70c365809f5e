//! Folders of records that are not part of a workspace: files of lines, to which lines are only ever added.
//!
//! A crash cuts off the last line of a file at most. Each writer has a file of its own, so that writers on several
//! machines never write into one.

use std::fs::{self, File, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};

/// The most bytes of a line.
const LINE: u64 = 1 << 20;

/// The file of a lock that is held while a mode is taken.
const GATE: &str = "taking";

/// Makes a folder with these files, whole or not at all; refuses one that is there.
pub(crate) fn make_folder(path: &Path, files: &[(&str, &[u8])]) -> Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().ok_or_else(|| named_badly(path))?;
    let new = parent.join(format!(".{}.new", name.to_string_lossy()));
    // What a crash left of an earlier attempt.
    fs::remove_dir_all(&new).or_else(if_missing).map_err(|e| Error::io("remove", &new, e))?;
    fs::create_dir(&new).map_err(|e| Error::io("make", &new, e))?;
    for (name, bytes) in files {
        let path = new.join(name);
        let written = File::create_new(&path).and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()));
        written.map_err(|e| Error::io("write", &path, e))?;
    }
    if path.symlink_metadata().is_ok() {
        fs::remove_dir_all(&new).ok();
        return Err(Error::new(ErrorKind::FileExists, format!("{} is there already", path.display())).at(path));
    }
    fs::rename(&new, path).map_err(|e| Error::io("make", path, e))?;
    File::open(parent).and_then(|parent| parent.sync_all()).map_err(|e| Error::io("sync", parent, e))
}

fn named_badly(path: &Path) -> Error {
    Error::new(ErrorKind::ValidationFailed, format!("{} is not the name of a folder", path.display())).at(path)
}

fn if_missing(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// A new file of lines.
#[derive(Debug)]
pub(crate) struct LineWriter {
    path: PathBuf,
    file: File,
    /// True if the last line may have been cut off.
    is_cut: bool,
}

impl LineWriter {
    /// Makes the file, and the folder that it is in.
    pub(crate) fn new(path: &Path) -> Result<Self> {
        let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
        let file = folder.and_then(|()| File::create_new(path)).map_err(|e| Error::io("make", path, e))?;
        Ok(Self { path: path.to_owned(), file, is_cut: false })
    }

    /// Adds a line by one call. `line` has no line feed.
    pub(crate) fn add(&mut self, line: &str) -> Result<()> {
        // One that was cut off must not be taken for the start of this one.
        let start = if self.is_cut { "\n" } else { "" };
        self.is_cut = true;
        let written = self.file.write_all(format!("{start}{line}\n").as_bytes());
        written.map_err(|e| Error::io("write", &self.path, e))?;
        self.is_cut = false;
        Ok(())
    }
}

/// A lock in one of several modes: all who take one mode hold it together, and nobody in another mode meanwhile. It lasts as
/// long as anyone has the handle, a process that was started with it included.
#[derive(Debug)]
pub(crate) struct ModeLock(File);

impl ModeLock {
    /// Takes the lock in a mode; `None` while it is held in one of the `others`. Each mode has a file in `folder`.
    pub(crate) fn take(folder: &Path, mode: &str, others: &[&str]) -> Result<Option<Self>> {
        let open = |name: &str| {
            let path = folder.join(name);
            let opened =
                fs::create_dir_all(folder).and_then(|()| File::options().create(true).append(true).open(&path));
            opened.map_err(|e| Error::io("open", &path, e))
        };
        let failed = |e| Error::io("lock", folder, e);
        // One at a time: a trial of another mode's lock, which lasts a moment, is taken for that mode by whoever tries it too.
        let gate = open(GATE)?;
        gate.lock().map_err(failed)?;
        let own = open(mode)?;
        own.lock_shared().map_err(failed)?;
        for other in others {
            match open(other)?.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
        Ok(Some(Self(own)))
    }

    /// A handle for a process that is started.
    pub(crate) fn handle(&self) -> Result<OwnedFd> {
        self.0.try_clone().map(Into::into).map_err(|e| Error::io("lock", "the campaign", e))
    }
}

/// Passes each line of a file to `each`, without its line feed, and with its whole length: of one that is too long only
/// the beginning. Returns what follows the last line feed, which was cut off.
pub(crate) fn each_line(path: &Path, mut each: impl FnMut(&[u8], u64) -> Result<()>) -> Result<Vec<u8>> {
    let failed = |e| Error::io("read", path, e);
    let mut reader = BufReader::new(File::open(path).map_err(|e| Error::io("open", path, e))?);
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut length = (&mut reader).take(LINE).read_until(b'\n', &mut line).map_err(failed)? as u64;
        if length == LINE && !line.ends_with(b"\n") {
            match rest_of_line(&mut reader).map_err(failed)? {
                Some(rest) => length += rest,
                None => return Ok(line),
            }
        } else if line.last() != Some(&b'\n') {
            return Ok(line);
        } else {
            line.pop();
        }
        each(&line, length - 1)?;
    }
}

/// Skips the rest of a line; its length, or `None` if it has no end.
fn rest_of_line(reader: &mut impl BufRead) -> io::Result<Option<u64>> {
    let mut skipped = 0;
    loop {
        let there = reader.fill_buf()?;
        if there.is_empty() {
            return Ok(None);
        }
        let end = memchr::memchr(b'\n', there).map(|feed| feed + 1);
        let passed = end.unwrap_or(there.len());
        reader.consume(passed);
        skipped += passed as u64;
        if end.is_some() {
            return Ok(Some(skipped));
        }
    }
}

/// A file of lines that are read one by one, in any order.
#[derive(Debug)]
pub(crate) struct LineFile {
    path: PathBuf,
    file: File,
    /// Where each line starts, and where the last one ends.
    starts: Vec<u64>,
}

impl LineFile {
    /// Finds the lines of a file.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let mut starts = vec![0];
        each_line(path, |_, length| {
            starts.push(starts[starts.len() - 1] + length + 1);
            Ok(())
        })?;
        let file = File::open(path).map_err(|e| Error::io("open", path, e))?;
        Ok(Self { path: path.to_owned(), file, starts })
    }

    /// The number of lines.
    pub(crate) fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// A line, which must be there.
    pub(crate) fn line(&mut self, index: usize) -> Result<Vec<u8>> {
        let len = self.starts[index + 1] - self.starts[index] - 1;
        let mut line = Vec::new();
        let read = self
            .file
            .seek(SeekFrom::Start(self.starts[index]))
            .and_then(|_| (&mut self.file).take(len).read_to_end(&mut line));
        read.map_err(|e| Error::io("read", &self.path, e))?;
        Ok(line)
    }
}

/// The files in a folder, by name; none if it is not there.
pub(crate) fn files_in(folder: &Path) -> Result<Vec<PathBuf>> {
    names_in(folder).map(|paths| paths.into_iter().filter(|path| path.is_file()).collect())
}

/// Files and folders, so many levels beneath a folder and no files or folders that are ignored or hidden, as a search finds
/// them: folders of the last level, and files above. Symlinks are none of them.
pub(crate) fn levels_of(folder: &Path, levels: usize) -> Result<Vec<PathBuf>> {
    let mut walker = ignore::WalkBuilder::new(folder);
    let mut found = Vec::new();
    for entry in walker.max_depth(Some(levels)).require_git(false).build() {
        let entry =
            entry.map_err(|e| Error::new(ErrorKind::UnknownError, format!("cannot list {}: {e}", folder.display())))?;
        let kind = entry.file_type();
        let is_part = kind.is_some_and(|kind| kind.is_file() || kind.is_dir() && entry.depth() == levels);
        if is_part && entry.depth() > 0 {
            found.push(entry.into_path());
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// The folders in a folder, by name. Symlinks are followed.
pub(crate) fn folders_in(folder: &Path) -> Result<Vec<PathBuf>> {
    names_in(folder).map(|paths| paths.into_iter().filter(|path| path.is_dir()).collect())
}

fn names_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(|e| Error::io("list", folder, e))?,
    };
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry.map_err(|e| Error::io("list", folder, e))?.path());
    }
    paths.sort_unstable();
    Ok(paths)
}

/// Returns whether a file is at a path.
pub(crate) fn is_file(path: &Path) -> bool {
    path.is_file()
}

/// Returns whether a folder is at a path.
pub(crate) fn is_folder(path: &Path) -> bool {
    path.is_dir()
}

/// The path without symlinks, if it leads anywhere.
pub(crate) fn real(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

/// A file without a name that has this content, to be read from the start.
pub(crate) fn nameless(content: &[u8]) -> Result<File> {
    let made = tempfile::tempfile().and_then(|mut file| {
        file.write_all(content)?;
        file.rewind().map(|()| file)
    });
    made.map_err(|e| Error::io("make", "a temporary file", e))
}

/// The name of this machine.
pub(crate) fn machine() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// A short name that is not used yet, as good as certainly.
pub(crate) fn random_name() -> String {
    let mut bytes = [0; 4];
    // Without it, the time and the process tell two apart.
    if getrandom::fill(&mut bytes).is_err() {
        bytes = std::process::id().to_le_bytes();
    }
    bytes.map(|byte| format!("{byte:02x}")).concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &Path) -> Vec<String> {
        let mut lines = Vec::new();
        each_line(path, |line, _| {
            lines.push(String::from_utf8_lossy(line).into_owned());
            Ok(())
        })
        .unwrap();
        lines
    }

    #[test]
    fn a_line_that_was_cut_off_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sub/lines");
        let mut writer = LineWriter::new(&path).unwrap();
        writer.add("one").unwrap();
        writer.add("two").unwrap();
        fs::write(&path, "one\ntwo\nthr").unwrap();
        assert_eq!(lines(&path), ["one", "two"]);
        assert!(LineWriter::new(&path).is_err(), "it is there");
        let mut file = LineFile::open(&path).unwrap();
        assert_eq!((file.count(), file.line(1).unwrap(), file.line(0).unwrap()), (2, b"two".to_vec(), b"one".to_vec()));
    }

    #[test]
    fn of_a_line_that_is_too_long_the_beginning_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        let long = "x".repeat(3 << 20);
        fs::write(&path, format!("one\n{long}\ntwo\n{long}")).unwrap();
        let found: Vec<_> = lines(&path).iter().map(String::len).collect();
        assert_eq!(found, [3, 1 << 20, 3]);
        let mut file = LineFile::open(&path).unwrap();
        assert_eq!((file.count(), file.line(1).unwrap().len(), file.line(2).unwrap()), (3, 3 << 20, b"two".to_vec()));
    }

    #[test]
    fn a_line_after_one_that_was_cut_off_stands_by_itself() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        let mut writer = LineWriter::new(&path).unwrap();
        writer.file.write_all(b"on").unwrap();
        writer.is_cut = true;
        writer.add("two").unwrap();
        writer.add("three").unwrap();
        assert_eq!(lines(&path), ["on", "two", "three"]);
    }

    #[test]
    fn no_two_modes_of_a_lock_are_held_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let take = |mode: &str, other: &str| ModeLock::take(&folder.path().join("locks"), mode, &[other]).unwrap();
        let (one, same) = (take("a", "b"), take("a", "b"));
        assert!(one.is_some() && same.is_some() && take("b", "a").is_none());
        let handle = one.as_ref().unwrap().handle().unwrap();
        drop((one, same));
        assert!(take("b", "a").is_none(), "a process may still have it");
        drop(handle);
        assert!(take("b", "a").is_some());
    }

    #[test]
    fn those_who_take_one_mode_at_once_all_hold_it() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let take = || {
                    for _ in 0..500 {
                        assert!(ModeLock::take(folder.path(), "a", &["b", "c"]).unwrap().is_some());
                    }
                };
                std::thread::Builder::new().spawn_scoped(scope, take).unwrap();
            }
        });
    }

    #[test]
    fn a_folder_is_made_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("made");
        fs::create_dir(folder.path().join(".made.new")).unwrap();
        make_folder(&path, &[("a", b"1")]).unwrap();
        assert_eq!(fs::read(path.join("a")).unwrap(), b"1");
        assert_eq!(make_folder(&path, &[("a", b"2")]).unwrap_err().kind(), ErrorKind::FileExists);
        assert_eq!(fs::read(path.join("a")).unwrap(), b"1");
        assert_eq!(names_in(folder.path()).unwrap(), [path]);
    }
}
