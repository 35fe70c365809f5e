//! A workspace, a request over twelve of its files, and what each of them is before and after.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use txedit::testing::internals::path::STATE_FOLDER;

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    File { content: String, mode: u32 },
    Folder { mode: u32 },
    Other,
}

/// Everything in a workspace but its state folder.
pub(super) type Tree = BTreeMap<PathBuf, Node>;

/// A workspace before its transaction.
pub(super) struct Scene {
    pub root: PathBuf,
    pub old: Tree,
    pub new: Tree,
    /// Inode and modification time of each file before: a rollback brings back the very file.
    identities: BTreeMap<PathBuf, (u64, i64, i64)>,
    /// A file whose modification time is not compared.
    any_time: Option<PathBuf>,
}

/// Four edits, a whole new content, two deletions, two renames (one with an edit), three new files, and two new
/// folders for them.
pub(super) const REQUEST: &str = r#"{ "files": [
    {"file_path": "src/one.txt", "edits": [{"old_string": "old one", "new_string": "new one"}]},
    {"file_path": "src/two.sh", "edits": [{"old_string": "old two", "new_string": "new two"}]},
    {"file_path": "src/three.txt", "edits": [{"old_string": "old three", "new_string": "new three"}]},
    {"file_path": "lib/four.txt", "edits": [{"old_string": "old four", "new_string": "new four"}]},
    {"file_path": "lib/whole.txt", "content": "new whole\n", "if_exists": "replace"},
    {"file_path": "src/gone.txt", "delete": true},
    {"file_path": "lib/gone.txt", "delete": true},
    {"file_path": "src/moved.txt", "rename_to": "lib/moved.txt"},
    {"file_path": "lib/away.txt", "rename_to": "made/deep/away.txt",
     "edits": [{"old_string": "old away", "new_string": "new away"}]},
    {"file_path": "made/one.txt", "content": "made one\n"},
    {"file_path": "made/deep/two.sh", "content": "made two\n", "mode": "755"},
    {"file_path": "src/fresh.txt", "content": "fresh\n"} ]}"#;

/// Few enough files to be synced one by one where that is quicker.
pub(super) const SMALL: &str = r#"{ "files": [
    {"file_path": "src/one.txt", "edits": [{"old_string": "old one", "new_string": "new one"}]},
    {"file_path": "lib/gone.txt", "delete": true},
    {"file_path": "made/one.txt", "content": "made one\n"} ]}"#;

const BEFORE: [(&str, &str, Option<u32>); 10] = [
    ("src/one.txt", "first\nold one\nlast\n", None),
    ("src/two.sh", "old two\r\nlast, without its end", Some(0o755)),
    ("src/three.txt", "old three\n", Some(0o600)),
    ("lib/four.txt", "old four\n", None),
    ("lib/whole.txt", "old whole\n", Some(0o640)),
    ("src/gone.txt", "gone\n", None),
    ("lib/gone.txt", "", None),
    ("src/moved.txt", "moved\n", Some(0o700)),
    ("lib/away.txt", "old away\n", None),
    ("src/bystander.txt", "old one, old two\n", None),
];

impl Scene {
    /// Makes the workspace of [`REQUEST`].
    pub(super) fn new(root: &Path) -> Self {
        let mut scene = Self::empty(root);
        scene.write_before();
        let edit = |tree: &mut Tree, path: &str, from: &str, to: &str| {
            let Some(Node::File { content, .. }) = tree.get_mut(Path::new(path)) else { panic!("{path}") };
            *content = content.replace(from, to);
        };
        let mut new = scene.old.clone();
        for (path, word) in [
            ("src/one.txt", "one"),
            ("src/two.sh", "two"),
            ("src/three.txt", "three"),
            ("lib/four.txt", "four"),
            ("lib/whole.txt", "whole"),
            ("lib/away.txt", "away"),
        ] {
            edit(&mut new, path, &format!("old {word}"), &format!("new {word}"));
        }
        let made = scene.made_folder();
        let plain = scene.made_file();
        new.remove(Path::new("src/gone.txt"));
        new.remove(Path::new("lib/gone.txt"));
        let moved = new.remove(Path::new("src/moved.txt")).unwrap();
        new.insert("lib/moved.txt".into(), moved);
        let away = new.remove(Path::new("lib/away.txt")).unwrap();
        new.insert("made/deep/away.txt".into(), away);
        new.insert("made".into(), made.clone());
        new.insert("made/deep".into(), made);
        new.insert("made/one.txt".into(), Node::File { content: "made one\n".into(), mode: plain });
        new.insert("made/deep/two.sh".into(), Node::File { content: "made two\n".into(), mode: 0o755 });
        new.insert("src/fresh.txt".into(), Node::File { content: "fresh\n".into(), mode: plain });
        scene.new = new;
        scene
    }

    /// Makes the workspace of [`SMALL`].
    pub(super) fn small(root: &Path) -> Self {
        let mut scene = Self::empty(root);
        scene.write_before();
        let mut new = scene.old.clone();
        let Some(Node::File { content, .. }) = new.get_mut(Path::new("src/one.txt")) else { panic!() };
        *content = content.replace("old one", "new one");
        new.remove(Path::new("lib/gone.txt"));
        new.insert("made".into(), scene.made_folder());
        new.insert("made/one.txt".into(), Node::File { content: "made one\n".into(), mode: scene.made_file() });
        scene.new = new;
        scene
    }

    fn empty(root: &Path) -> Self {
        fs::create_dir(root).unwrap();
        let root = root.canonicalize().unwrap();
        Self { root, old: Tree::new(), new: Tree::new(), identities: BTreeMap::new(), any_time: None }
    }

    fn write_before(&mut self) {
        for folder in ["src", "lib"] {
            fs::create_dir(self.root.join(folder)).unwrap();
        }
        for (path, content, mode) in BEFORE {
            let path = self.root.join(path);
            fs::write(&path, content).unwrap();
            if let Some(mode) = mode {
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            }
        }
        self.old = tree(&self.root);
        self.remember();
    }

    /// What is there now is what a rollback must bring back.
    pub(super) fn remember(&mut self) {
        self.identities = identities(&self.root);
    }

    /// One file was changed by another program, in place: what it is now is what a rollback must bring back.
    pub(super) fn remember_at(&mut self, path: &str) {
        let now = identities(&self.root)[Path::new(path)];
        self.identities.insert(path.into(), now);
    }

    /// One file was changed by another program, wherever it is by now: only its inode must be the same.
    pub(super) fn remember_at_any(&mut self, path: &str) {
        self.any_time = Some(path.into());
    }

    fn made_folder(&self) -> Node {
        self.old[Path::new("src")].clone()
    }

    fn made_file(&self) -> u32 {
        let Node::File { mode, .. } = self.old[Path::new("src/one.txt")] else { panic!() };
        mode
    }

    pub(super) fn now(&self) -> Tree {
        tree(&self.root)
    }

    /// Everything is as before, each file the very one; or everything is as asked. Says which.
    #[track_caller]
    pub(super) fn is_all_new(&self, told: &str) -> bool {
        let now = self.now();
        if now == self.new {
            return true;
        }
        assert_eq!(now, self.old, "{told}");
        let mut now = identities(&self.root);
        if let Some(path) = &self.any_time {
            let (inode, ..) = now[path];
            let (before, seconds, nanos) = self.identities[path];
            assert_eq!(inode, before, "{told}");
            now.insert(path.clone(), (before, seconds, nanos));
        }
        assert_eq!(now, self.identities, "{told}");
        false
    }
}

/// Everything beneath `root` but its state folder.
pub(super) fn tree(root: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for item in fs::read_dir(&folder).unwrap() {
            let path = item.unwrap().path();
            let relative = path.strip_prefix(root).unwrap().to_owned();
            if relative.starts_with(STATE_FOLDER) {
                continue;
            }
            let metadata = path.symlink_metadata().unwrap();
            let mode = metadata.mode() & 0o7777;
            let node = if metadata.is_dir() {
                folders.push(path);
                Node::Folder { mode }
            } else if metadata.is_file() {
                Node::File { content: String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned(), mode }
            } else {
                Node::Other
            };
            tree.insert(relative, node);
        }
    }
    tree
}

fn identities(root: &Path) -> BTreeMap<PathBuf, (u64, i64, i64)> {
    let files = tree(root).into_iter().filter(|(_, node)| matches!(node, Node::File { .. }));
    files
        .map(|(path, _)| {
            let metadata = root.join(&path).symlink_metadata().unwrap();
            (path, (metadata.ino(), metadata.mtime(), metadata.mtime_nsec()))
        })
        .collect()
}

/// The names in a folder of the state folder, sorted; none where it is not there.
pub(super) fn names(root: &Path, section: &str) -> Vec<String> {
    let Ok(items) = fs::read_dir(root.join(STATE_FOLDER).join(section)) else { return Vec::new() };
    let mut names: Vec<String> = items.map(|item| item.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
