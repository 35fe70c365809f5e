//! Searches the files of a tree that are not ignored.
//!
//! This is apart from [`Fs`](super::Fs): it is not part of any transaction; the transaction that follows verifies what
//! was found.

use std::convert::Infallible;
use std::ffi::OsStr;
use std::fs::File;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ignore::overrides::OverrideBuilder;
use ignore::{DirEntry, WalkBuilder, WalkState};
use rustix::buffer::spare_capacity;
use rustix::io::retry_on_intr;

use super::threads;
use crate::cancel::CancelToken;
use crate::error::{Error, ErrorKind, NextStep, Result};
use crate::limits;
use crate::path::STATE_FOLDER;
use crate::path::bounds::{self, Barred, Bounds, VCS_FOLDERS};

/// The most threads that search, as many as the walker would start by default.
const THREADS: usize = 12;

/// The bytes that are read at once of a file that does not tell its size.
const UNKNOWN_SIZE: usize = 64 << 10;

/// The most warnings that are kept.
const WARNINGS: usize = 20;

/// The tree to search.
#[derive(Debug, Clone, Default)]
pub struct SearchTree {
    /// Files and folders, absolute. A file that is named is searched even if it is ignored.
    pub paths: Vec<PathBuf>,
    /// The folder that globs are relative to; it is searched if there are no paths.
    pub base: PathBuf,
    /// The workspace root, without symlinks: a path that leads out of it is refused before anything is read.
    pub root: PathBuf,
    /// Globs of files to search or, with a leading `!`, to leave out.
    pub globs: Vec<String>,
    /// True if hidden files are searched as well.
    pub hidden: bool,
    /// Paths that are skipped, and refused if named.
    pub bounds: Bounds,
}

/// The result of a search.
#[derive(Debug)]
pub struct Walked<T> {
    /// The files with a result, in any order.
    pub found: Vec<(PathBuf, T)>,
    /// The number of files searched.
    pub searched: usize,
    /// The number of files skipped because they contain a NUL byte.
    pub binary: usize,
    /// The number of files and folders that the search reached and skipped because they are out of bounds.
    pub barred: usize,
    /// The reason for the first of them.
    pub why_barred: Option<Barred>,
    /// The first few errors of reading.
    pub warnings: Vec<String>,
}

/// Passes the content of every regular file of a tree to `look`. Symlinks are not followed.
pub fn search<T: Send>(
    tree: &SearchTree,
    look: &(dyn Fn(&[u8]) -> Option<T> + Sync),
    cancel: &CancelToken,
) -> Result<Walked<T>> {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(THREADS);
    let passed = Arc::new(Passed::default());
    let mut builder = builder(tree, &passed)?;
    let all = Gathered { found: Mutex::default(), warnings: Mutex::default(), searched: 0.into(), binary: 0.into() };
    let visit = |entry: std::result::Result<DirEntry, ignore::Error>, buffer: &mut Vec<u8>| {
        if cancel.is_cancelled() {
            return WalkState::Quit;
        }
        match entry {
            Ok(entry) => all.take(&entry, look, cancel, buffer),
            Err(error) => all.warn(error.to_string()),
        }
        WalkState::Continue
    };
    // The walker panics if it cannot start a thread.
    if threads > 1 && threads::may_start(threads) {
        builder.threads(threads).build_parallel().run(|| {
            let (visit, mut buffer) = (&visit, Vec::new());
            Box::new(move |entry| visit(entry, &mut buffer))
        });
    } else {
        let mut buffer = Vec::new();
        for entry in builder.build() {
            if matches!(visit(entry, &mut buffer), WalkState::Quit) {
                break;
            }
        }
    }
    if cancel.is_cancelled() {
        return Err(Error::new(ErrorKind::Cancelled, "cancelled while files were searched"));
    }
    Ok(Walked {
        found: all.found.into_inner().unwrap_or_else(PoisonError::into_inner),
        warnings: all.warnings.into_inner().unwrap_or_else(PoisonError::into_inner),
        searched: all.searched.into_inner(),
        binary: all.binary.into_inner(),
        barred: passed.barred.load(Ordering::Relaxed),
        why_barred: passed.why.get().cloned(),
    })
}

/// What was skipped as out of bounds.
#[derive(Debug, Default)]
struct Passed {
    barred: AtomicUsize,
    why: OnceLock<Barred>,
}

impl Passed {
    fn note(&self, why: Barred) {
        self.barred.fetch_add(1, Ordering::Relaxed);
        self.why.get_or_init(|| why);
    }
}

fn builder(tree: &SearchTree, passed: &Arc<Passed>) -> Result<WalkBuilder> {
    let mut paths = tree.paths.iter();
    let first = paths.next().unwrap_or(&tree.base);
    let mut builder = WalkBuilder::new(first);
    for path in paths {
        builder.add(path);
    }
    // The starting points as given and as resolved: they may be reached through a symlink, but none is followed beneath
    // them.
    let mut starts = Vec::new();
    for path in tree.paths.iter().chain(tree.paths.is_empty().then_some(&tree.base)) {
        let real = path.canonicalize().map_err(|e| Error::io("look at", path, e))?;
        if !real.starts_with(&tree.root) {
            let message = format!("{} is outside the root {}", path.display(), tree.root.display());
            return Err(Error::new(ErrorKind::OutsideRoot, message).at(path));
        }
        if let Some(why) = why_barred(tree, &real) {
            let error = Error::new(ErrorKind::PathDenied, format!("{} {why}", path.display())).at(path);
            return Err(error.with_next(NextStep::to_allow(&why)));
        }
        starts.push((path.clone(), real));
    }
    let mut globs = OverrideBuilder::new(&tree.base);
    for glob in &tree.globs {
        let refuse = |error| Error::new(ErrorKind::InvalidPattern, format!("invalid glob {glob:?}: {error}"));
        globs.add(glob).map_err(refuse)?;
    }
    let globs = globs.build().map_err(|error| Error::new(ErrorKind::InvalidPattern, error.to_string()))?;
    // These folders belong to a program; no option opens them.
    let is_owned = |name: &OsStr| name == STATE_FOLDER || VCS_FOLDERS.iter().any(|folder| name == *folder);
    let (root, bounds, passed) = (tree.root.clone(), tree.bounds.clone(), Arc::clone(passed));
    let is_barred = move |path: &Path| {
        let really = starts.iter().filter_map(|(start, real)| Some(real.join(path.strip_prefix(start).ok()?)));
        let mut names = really.chain([path.to_owned()]);
        let why = names.find_map(|name| bounds.bars(name.strip_prefix(&root).ok()?));
        why.map(|why| passed.note(why)).is_some()
    };
    let is_left_out = move |entry: &DirEntry| {
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        let is_owned = is_owned(entry.file_name()) || is_folder && is_repository(entry.path());
        entry.depth() > 0 && (is_owned || is_barred(entry.path()))
    };
    // A .gitignore applies wherever it is, with or without a git repository.
    builder.overrides(globs).hidden(!tree.hidden).require_git(false).filter_entry(move |entry| !is_left_out(entry));
    Ok(builder)
}

/// The reason for which nothing may be searched from here on: the name itself, or a folder above it.
fn why_barred(tree: &SearchTree, start: &Path) -> Option<Barred> {
    let inside = start.strip_prefix(&tree.root).ok()?;
    if let Some(why) = tree.bounds.bars(inside) {
        return Some(why);
    }
    let mut folders = inside.ancestors().map(|folder| tree.root.join(folder));
    (!tree.bounds.allows_vcs() && folders.any(|folder| is_repository(&folder))).then_some(Barred::Vcs)
}

fn is_repository(folder: &Path) -> bool {
    bounds::is_repository(|name| Ok::<_, Infallible>(folder.join(name).symlink_metadata().is_ok())).unwrap_or(false)
}

/// The results of all threads.
struct Gathered<T> {
    found: Mutex<Vec<(PathBuf, T)>>,
    warnings: Mutex<Vec<String>>,
    searched: AtomicUsize,
    binary: AtomicUsize,
}

impl<T> Gathered<T> {
    fn take(
        &self,
        entry: &DirEntry,
        look: &(dyn Fn(&[u8]) -> Option<T> + Sync),
        cancel: &CancelToken,
        buffer: &mut Vec<u8>,
    ) {
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            return;
        }
        let path = entry.path();
        match read(path, cancel, buffer) {
            Ok(true) => {}
            Ok(false) => return self.warn(format!("{} is too large to be searched", path.display())),
            Err(error) => return self.warn(error.message().to_owned()),
        }
        if memchr::memchr(0, buffer).is_some() {
            self.binary.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.searched.fetch_add(1, Ordering::Relaxed);
        if let Some(found) = look(buffer) {
            self.found.lock().unwrap_or_else(PoisonError::into_inner).push((path.to_owned(), found));
        }
    }

    fn warn(&self, warning: String) {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        if warnings.len() < WARNINGS {
            warnings.push(warning);
        }
    }
}

/// Reads a whole file into a buffer, or as much as was read when the caller cancels; `false` if it is larger than the
/// limit for edited files.
fn read(path: &Path, cancel: &CancelToken, buffer: &mut Vec<u8>) -> Result<bool> {
    let file = File::open(path).map_err(|e| Error::io("open", path, e))?;
    let size = file.metadata().map_err(|e| Error::io("look at", path, e))?.len();
    buffer.clear();
    if size > limits::EDITED_FILE_BYTES {
        return Ok(false);
    }
    let size = usize::try_from(size).unwrap_or(0);
    while !cancel.is_cancelled() {
        // What is added to the file meanwhile is not searched: what it is edited in is compared with what was.
        let left = match size {
            0 => UNKNOWN_SIZE,
            _ => size.saturating_sub(buffer.len()),
        };
        if left == 0 {
            break;
        }
        buffer.reserve(left.min(limits::CANCEL_EVERY_BYTES));
        let read = retry_on_intr(|| rustix::io::read(&file, spare_capacity(buffer)));
        if read.map_err(|e| Error::io("read", path, e.into()))? == 0 {
            break;
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_hidden_or_binary_is_not_searched() {
        let scratch = tempfile::tempdir().unwrap();
        let base = scratch.path().canonicalize().unwrap();
        for (name, content) in [
            (".gitignore", "ignored\n"),
            ("a.txt", "x"),
            ("sub/b.rs", "x"),
            ("sub/c.txt", "y"),
            ("ignored", "x"),
            (".hidden", "x"),
            ("binary", "x\0"),
            (".txedit/x", "x"),
            (".git/x", "x"),
        ] {
            std::fs::create_dir_all(base.join(name).parent().unwrap()).unwrap();
            std::fs::write(base.join(name), content).unwrap();
        }
        let run = |tree: SearchTree| {
            let look = |content: &[u8]| content.contains(&b'x').then_some(());
            let walked = search(&tree, &look, &CancelToken::new()).unwrap();
            let name = |(path, ()): (PathBuf, ())| path.strip_prefix(&base).unwrap().to_str().unwrap().to_owned();
            let mut names: Vec<_> = walked.found.into_iter().map(name).collect();
            names.sort();
            (names, walked.binary)
        };
        let tree = SearchTree { base: base.clone(), root: base.clone(), ..SearchTree::default() };
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(run(tree.clone()), (names(&["a.txt", "sub/b.rs"]), 1));
        assert_eq!(run(SearchTree { hidden: true, ..tree.clone() }).0, names(&[".hidden", "a.txt", "sub/b.rs"]));
        assert_eq!(run(SearchTree { globs: vec!["*.rs".into()], ..tree.clone() }).0, names(&["sub/b.rs"]));
        assert_eq!(run(SearchTree { globs: vec!["!sub".into()], ..tree.clone() }).0, names(&["a.txt"]));
        let told = SearchTree { paths: vec![base.join("ignored"), base.join("sub")], ..tree.clone() };
        assert_eq!(run(told).0, names(&["ignored", "sub/b.rs"]));
        let missing = SearchTree { paths: vec![base.join("none")], ..tree.clone() };
        let error = search(&missing, &|_| None::<()>, &CancelToken::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileNotFound);
        std::os::unix::fs::symlink("/etc/hostname", base.join("link")).unwrap();
        for path in [base.join("link"), base.join("sub/../.."), "/".into()] {
            let outside = SearchTree { paths: vec![path], ..tree.clone() };
            let look = |_: &[u8]| -> Option<()> { panic!("nothing is read") };
            assert_eq!(search(&outside, &look, &CancelToken::new()).unwrap_err().kind(), ErrorKind::OutsideRoot);
        }
        let glob = SearchTree { globs: vec!["[".into()], ..tree };
        let error = search(&glob, &|_| None::<()>, &CancelToken::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidPattern);
    }
}
