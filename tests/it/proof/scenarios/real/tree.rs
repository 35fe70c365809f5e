//! What stands in a real workspace, as the judge wants it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use txedit::fs::sim::SimEntry;
use txedit::fs::{FileKind, Identity, Timestamp};
use txedit::testing::internals::path::STATE_FOLDER;
use txedit::testing::scenario::marks;

pub(super) type Files = BTreeMap<PathBuf, SimEntry>;

/// Everything beneath a folder, by its path in it.
pub(super) fn walk(top: &Path) -> Files {
    let mut files = Files::new();
    let mut folders = vec![top.to_owned()];
    while let Some(folder) = folders.pop() {
        for item in fs::read_dir(&folder).unwrap() {
            let path = item.unwrap().path();
            let stat = path.symlink_metadata().unwrap();
            let (kind, content) = if stat.is_dir() {
                folders.push(path.clone());
                (FileKind::Folder, Vec::new())
            } else if stat.is_symlink() {
                (FileKind::Symlink, fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec())
            } else if stat.is_file() {
                (FileKind::File, fs::read(&path).unwrap())
            } else {
                (FileKind::Special, Vec::new())
            };
            let entry = SimEntry {
                kind,
                content,
                mode: stat.mode() & 0o7777,
                user: stat.uid(),
                group: stat.gid(),
                flags: 0,
                extended: Vec::new(),
                names: stat.nlink(),
                identity: Identity { inode: stat.ino(), born: None },
                modified: Timestamp::new(stat.mtime(), u32::try_from(stat.mtime_nsec()).unwrap()),
            };
            files.insert(path.strip_prefix(top).unwrap().to_owned(), entry);
        }
    }
    files
}

/// The user's files.
pub(super) fn files(root: &Path) -> Files {
    let mut files = walk(root);
    files.retain(|path, _| !path.starts_with(STATE_FOLDER));
    files
}

/// The marks in the user's files, in what is kept, in history, in what waits, and in what is not deleted yet.
pub(super) fn in_reach(root: &Path) -> BTreeSet<(u8, u32)> {
    marks_but_in(root, &["open"])
}

/// The same without what waits, and what is not deleted yet.
pub(super) fn for_good(root: &Path) -> BTreeSet<(u8, u32)> {
    marks_but_in(root, &["open", "txn", "trash"])
}

fn marks_but_in(root: &Path, sections: &[&str]) -> BTreeSet<(u8, u32)> {
    let mut found = BTreeSet::new();
    for (path, entry) in walk(root).iter().filter(|(_, entry)| entry.kind == FileKind::File) {
        let place = path.strip_prefix(STATE_FOLDER);
        let is_slot = path.file_name().is_some_and(|name| name.as_bytes().first().is_some_and(u8::is_ascii_digit));
        let counts = match place {
            Err(_) => true,
            Ok(place) => is_slot && !sections.iter().any(|section| place.starts_with(section)),
        };
        if counts {
            found.extend(marks(&String::from_utf8_lossy(&entry.content)));
        }
    }
    found
}

/// The folders in a section of the state folder.
pub(super) fn names(root: &Path, section: &str) -> Vec<PathBuf> {
    let Ok(items) = fs::read_dir(root.join(STATE_FOLDER).join(section)) else { return Vec::new() };
    items.map(|item| item.unwrap().path()).filter(|path| path.is_dir()).collect()
}
