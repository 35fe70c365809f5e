//! The least that a program can do to replace the same files, to compare a commit with.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use crate::tree::{NEW, OLD, Tree, content};

/// A way of replacing all files of a tree. None of them can be rolled back, and only the first leaves each file whole
/// after a power loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Floor {
    /// For each file: write beside it, fsync, rename over it, fsync the folder. What careful programs do.
    FsyncEach,
    /// Write all beside each other, rename each into place, one `syncfs`.
    OneSyncfs,
    /// For each file: write beside it, rename over it. Nothing is synced.
    NoSync,
}

impl Floor {
    pub(crate) const ALL: [Self; 3] = [Self::FsyncEach, Self::OneSyncfs, Self::NoSync];

    /// The name in the figures.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::FsyncEach => "floor: fsync each",
            Self::OneSyncfs => "floor: one syncfs",
            Self::NoSync => "floor: no sync",
        }
    }

    /// Replaces all files.
    pub(crate) fn replace(self, tree: &Tree, contents: &[String]) {
        match self {
            Self::FsyncEach => {
                for (path, content) in tree.paths().zip(contents) {
                    let staged = path.with_extension("staged");
                    write(&staged, content).sync_all().unwrap();
                    fs::rename(&staged, &path).unwrap();
                    File::open(path.parent().unwrap()).unwrap().sync_all().unwrap();
                }
            }
            Self::OneSyncfs => {
                let stage = tree.root().join("stage");
                fs::create_dir(&stage).unwrap();
                let slot = |index: usize| stage.join(index.to_string());
                for (index, content) in contents.iter().enumerate() {
                    write(&slot(index), content);
                }
                for (index, path) in tree.paths().enumerate() {
                    fs::rename(slot(index), path).unwrap();
                }
                fs::remove_dir(&stage).unwrap();
                tree.sync();
            }
            Self::NoSync => {
                for (path, content) in tree.paths().zip(contents) {
                    let staged = path.with_extension("staged");
                    write(&staged, content);
                    fs::rename(&staged, &path).unwrap();
                }
            }
        }
    }
}

fn write(path: &Path, content: &str) -> File {
    let mut file = File::create_new(path).unwrap();
    file.write_all(content.as_bytes()).unwrap();
    file
}

/// What a floor writes in one turn and in the next.
pub(crate) fn contents(tree: &Tree) -> [Vec<String>; 2] {
    [NEW, OLD].map(|state| (0..tree.files().len()).map(|file| content(file, state)).collect())
}
