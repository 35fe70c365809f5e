//! What a user sees of a workspace.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use txedit::Digest;

/// A name and what it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    Folder { mode: u32 },
    File { mode: u32, digest: Digest },
    Other,
}

/// Everything beneath a folder, by path.
pub(super) type Tree = BTreeMap<PathBuf, Node>;

/// The folder in which another program keeps writing, and which no transaction touches.
pub(super) const NOISE: &str = "noise";

/// The files of the user: neither our state nor what others write.
pub(super) fn files(root: &Path) -> io::Result<Tree> {
    let mut tree = everything(root)?;
    tree.retain(|path, _| !["lost+found", ".txedit", NOISE].iter().any(|name| path.starts_with(name)));
    Ok(tree)
}

/// All of it, our state folder included.
pub(super) fn everything(root: &Path) -> io::Result<Tree> {
    let mut tree = Tree::new();
    gather(root, Path::new(""), &mut tree)?;
    Ok(tree)
}

fn gather(root: &Path, beneath: &Path, tree: &mut Tree) -> io::Result<()> {
    for entry in fs::read_dir(root.join(beneath))? {
        let entry = entry?;
        let path = beneath.join(entry.file_name());
        let metadata = entry.metadata()?;
        let mode = metadata.permissions().mode() & 0o7777;
        let node = if metadata.is_dir() {
            gather(root, &path, tree)?;
            Node::Folder { mode }
        } else if metadata.is_file() {
            Node::File { mode, digest: Digest::of(&fs::read(entry.path())?) }
        } else {
            Node::Other
        };
        tree.insert(path, node);
    }
    Ok(())
}

/// The paths that differ, except for one that may be anything.
pub(super) fn differences(expected: &Tree, found: &Tree, loose: Option<&Path>) -> Vec<String> {
    let paths: std::collections::BTreeSet<_> = expected.keys().chain(found.keys()).collect();
    let differing = paths.into_iter().filter(|path| expected.get(*path) != found.get(*path));
    differing.filter(|path| Some(path.as_path()) != loose).map(|path| path.display().to_string()).collect()
}
