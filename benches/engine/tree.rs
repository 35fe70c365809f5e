//! Many small files, the ground of what touches the disk.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use crate::place;

/// What stands in each file once, and what an edit makes of it.
pub(crate) const OLD: &str = "state = before;";
pub(crate) const NEW: &str = "state = behind;";

/// Bytes of a file, about.
const FILE_BYTES: usize = 2 << 10;

/// Files in one folder, unless said otherwise.
const PER_FOLDER: usize = 100;

/// Files of source code, as it were, in some folders.
pub(crate) struct Tree {
    scratch: TempDir,
    files: Vec<PathBuf>,
}

impl Tree {
    /// So many files, 100 in a folder.
    pub(crate) fn new(files: usize) -> Self {
        Self::with_folders(files, PER_FOLDER)
    }

    /// So many files, `per_folder` in a folder.
    pub(crate) fn with_folders(files: usize, per_folder: usize) -> Self {
        let scratch = place::scratch();
        let files = (0..files).map(|file| format!("part{:04}/file{file:05}.rs", file / per_folder).into()).collect();
        let tree = Self { scratch, files };
        for (index, path) in tree.paths().enumerate() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content(index, OLD)).unwrap();
        }
        tree.settle();
        tree
    }

    pub(crate) fn root(&self) -> &Path {
        self.scratch.path()
    }

    /// The files, relative to the root.
    pub(crate) fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The files.
    pub(crate) fn paths(&self) -> impl Iterator<Item = PathBuf> {
        self.files.iter().map(|file| self.root().join(file))
    }

    /// How many of the files hold `text`.
    pub(crate) fn holding(&self, text: &str) -> usize {
        self.paths().filter(|path| fs::read_to_string(path).unwrap().contains(text)).count()
    }

    /// Files are rarely edited in the moment after they were written, and nobody's earlier writes are to be paid for:
    /// makes all of them an hour old, and syncs.
    pub(crate) fn settle(&self) {
        let old = SystemTime::now() - Duration::from_secs(60 * 60);
        for path in self.paths() {
            File::options().write(true).open(path).unwrap().set_modified(old).unwrap();
        }
        self.sync();
    }

    /// Syncs the file system.
    pub(crate) fn sync(&self) {
        rustix::fs::syncfs(File::open(self.root()).unwrap()).unwrap();
    }
}

/// The content of a file: lines like those of code, `state` in the middle, no two files alike.
pub(crate) fn content(file: usize, state: &str) -> String {
    let line = |number: usize| format!("    let value_{number} = compute({file}, {number});\n");
    let half = FILE_BYTES / 2 / line(10).len();
    let lines = |from: usize| (from..from + half).map(line).collect::<String>();
    format!("fn part_{file}() {{\n{}    {state}\n{}}}\n", lines(0), lines(half))
}
