//! The parts of a transaction on other file systems than that of its journal: there its slots are in folders of their own.

use std::path::Path;

use super::Header;
use crate::identity::Identity;
use crate::path::RelPath;

/// A file system of a transaction besides that of its journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedPart {
    /// The path of its uppermost folder in the workspace.
    pub path: RelPath,
    /// The identity of the folder in which the slots are.
    pub folder: Identity,
    /// The first word of the file `id` of the state folder that it is in: another file system that is mounted there has another.
    pub state: String,
}

impl Header {
    /// The index of the part that has the slot of a path; `None` if that is in the journal's own folder.
    #[must_use]
    pub fn part_of(&self, path: &RelPath) -> Option<usize> {
        nearest(self.parts.iter().map(|part| part.path.as_path()), path.as_path())
    }
}

/// The index of the deepest of some folders in which a path is.
pub(crate) fn nearest<'p>(folders: impl Iterator<Item = &'p Path>, path: &Path) -> Option<usize> {
    let above = folders.enumerate().filter(|(_, folder)| path != *folder && path.starts_with(folder));
    above.max_by_key(|(_, folder)| folder.components().count()).map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_in_the_part_that_is_nearest_to_it() {
        let parts = ["m", "m/inner", "other"];
        let of = |path: &str| nearest(parts.iter().map(Path::new), Path::new(path));
        assert_eq!(of("a"), None);
        assert_eq!(of("mother/a"), None);
        assert_eq!(of("m"), None, "the mount point itself has its name in the folder above");
        assert_eq!(of("m/a"), Some(0));
        assert_eq!(of("m/inner"), Some(0));
        assert_eq!(of("m/inner/deep/a"), Some(1));
        assert_eq!(of("other/a"), Some(2));
    }
}
