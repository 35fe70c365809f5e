//! A workspace to try the engine in, requests as JSON, and trees to compare.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::AtFlags;
use serde_json::Value;
use tempfile::TempDir;
use txedit::error::Detail;
use txedit::fs::{Fs, OsFs};
use txedit::wire::request;
use txedit::{Durability, Engine, Error, ErrorKind, Outcome, PathRule, Report, Result, Run, Settings};

use crate::support::mounts::run;

/// A folder with an engine for it.
pub(crate) struct Workspace {
    pub(crate) engine: Engine,
    root: PathBuf,
    _scratch: Option<TempDir>,
}

impl Workspace {
    /// An empty one.
    pub(crate) fn new() -> Self {
        let scratch = tempfile::Builder::new().prefix("txedit-it-").tempdir().unwrap();
        let workspace = Self::at(scratch.path());
        Self { _scratch: Some(scratch), ..workspace }
    }

    /// One with these files in it.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let workspace = Self::new();
        for (path, content) in files {
            workspace.write(path, content);
        }
        workspace
    }

    /// An existing folder.
    pub(crate) fn at(root: &Path) -> Self {
        Self::on(Arc::new(OsFs::new()), root)
    }

    /// An existing folder, through a file system with faults.
    pub(crate) fn on(fs: Arc<dyn Fs>, root: &Path) -> Self {
        let engine = Engine::with_fs(fs, root, settings()).unwrap().with_attempts(1).allowing_checks();
        Self { root: engine.root().to_owned(), engine, _scratch: None }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// The path for a tool's command line or a request.
    pub(crate) fn name(&self, path: &str) -> String {
        self.path(path).to_str().unwrap().to_owned()
    }

    /// Writes a file, and makes the folders on the way.
    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        String::from_utf8(fs::read(self.path(path)).unwrap()).unwrap()
    }

    pub(crate) fn chmod(&self, path: &str, mode: u32) {
        fs::set_permissions(self.path(path), PermissionsExt::from_mode(mode)).unwrap();
    }

    pub(crate) fn mode(&self, path: &str) -> u32 {
        fs::symlink_metadata(self.path(path)).unwrap().mode() & 0o7777
    }

    /// Runs a tool on one path of the workspace, given last.
    pub(crate) fn tool(&self, tool: &str, arguments: &[&str], path: &str) -> std::result::Result<String, String> {
        run(tool, arguments.iter().map(|argument| (*argument).to_owned()).chain([self.name(path)]))
    }

    pub(crate) fn apply(&self, request: &Value) -> Result<Report> {
        self.apply_text(request.to_string().as_bytes(), PathRule::AbsoluteOrRelative)
    }

    /// Does what a request, as it came over the wire, asks.
    pub(crate) fn apply_text(&self, json: &[u8], rule: PathRule) -> Result<Report> {
        self.engine.apply(&request::parse(json)?.into_request(rule)?, running())
    }

    pub(crate) fn undo(&self, id: Option<&str>) -> Result<Report> {
        self.engine.undo(id, false, running())
    }

    /// Everything in the workspace but the state folder.
    pub(crate) fn tree(&self) -> Tree {
        let mut tree = Tree::of(&self.root).outside_state();
        // Its modification time and its links tell of the state folder.
        tree.0.remove(Path::new(""));
        tree
    }

    /// Applies what must fail, and proves that it left no trace, no state folder either.
    pub(crate) fn refuses(&self, request: &Value) -> Error {
        self.refuses_text(request.to_string().as_bytes(), PathRule::AbsoluteOrRelative)
    }

    pub(crate) fn refuses_text(&self, json: &[u8], rule: PathRule) -> Error {
        let before = Tree::of(&self.root);
        let error = self.apply_text(json, rule).expect_err("it is refused");
        assert_eq!(error.outcome(), Outcome::Unchanged, "{error}");
        Tree::of(&self.root).assert_same(&before);
        error
    }

    /// Applies what validation must refuse with exactly these findings: code and path.
    pub(crate) fn finds(&self, request: &Value, expected: &[(ErrorKind, &str)]) -> Error {
        let error = self.refuses(request);
        assert_findings(&error, expected);
        error
    }
}

pub(crate) fn settings() -> Settings {
    Settings::default().durability(Durability::Process).program("it")
}

pub(crate) fn running() -> Run<'static> {
    Run::default()
}

pub(crate) fn assert_findings(error: &Error, expected: &[(ErrorKind, &str)]) {
    let Detail::Findings(findings) = error.details() else { panic!("no findings: {:?} {error}", error.kind()) };
    let found: Vec<_> = findings.iter().map(|finding| (finding.kind, finding.path.join("/"))).collect();
    let expected: Vec<_> = expected.iter().map(|(kind, path)| (*kind, (*path).to_owned())).collect();
    assert_eq!(found, expected, "{findings:#?}");
    assert_eq!(error.kind(), ErrorKind::ValidationFailed);
}

/// A name in a tree, with all that can be seen of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    /// Type and permissions.
    pub(crate) mode: u32,
    pub(crate) owner: (u32, u32),
    pub(crate) links: u64,
    pub(crate) inode: u64,
    pub(crate) modified: (i64, i64),
    /// Of a file its bytes, of a symlink its target.
    pub(crate) content: Vec<u8>,
    pub(crate) attributes: Vec<(String, Vec<u8>)>,
    pub(crate) flags: u32,
}

/// A folder with everything beneath, by relative path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tree(pub(crate) BTreeMap<PathBuf, Node>);

impl Tree {
    pub(crate) fn of(root: &Path) -> Self {
        let mut nodes = BTreeMap::new();
        let mut open = vec![PathBuf::new()];
        while let Some(path) = open.pop() {
            let node = Node::of(&root.join(&path));
            if node.mode & 0o170_000 == 0o040_000 {
                open.extend(fs::read_dir(root.join(&path)).unwrap().map(|entry| path.join(entry.unwrap().file_name())));
            }
            nodes.insert(path, node);
        }
        Self(nodes)
    }

    pub(crate) fn at(&self, path: &str) -> &Node {
        &self.0[Path::new(path)]
    }

    /// All but what any replacement of a file must change: inode numbers, modification times, and how many names an
    /// inode has.
    pub(crate) fn restorable(mut self) -> Self {
        for node in self.0.values_mut() {
            (node.inode, node.modified, node.links) = (0, (0, 0), 0);
        }
        self
    }

    /// The same without the state folder.
    pub(crate) fn outside_state(mut self) -> Self {
        self.0.retain(|path, _| !path.starts_with(".txedit"));
        self
    }

    /// Compares, and names only what differs.
    pub(crate) fn assert_same(&self, expected: &Self) {
        let paths = self.0.keys().chain(expected.0.keys().filter(|path| !self.0.contains_key(*path)));
        let differ = paths.filter(|path| self.0.get(*path) != expected.0.get(*path));
        let told: Vec<_> = differ
            .map(|path| format!("{}:\n  {:?}\n  {:?}", path.display(), self.0.get(path), expected.0.get(path)))
            .collect();
        assert!(told.is_empty(), "{} names differ (found, expected):\n{}", told.len(), told.join("\n"));
    }
}

impl Node {
    pub(crate) fn of(path: &Path) -> Self {
        let stat = fs::symlink_metadata(path).unwrap();
        let content = match stat.file_type() {
            kind if kind.is_file() && stat.mode() & 0o400 != 0 => fs::read(path).unwrap(),
            kind if kind.is_symlink() => fs::read_link(path).unwrap().into_os_string().into_encoded_bytes(),
            _ => Vec::new(),
        };
        let is_plain = stat.is_file() || stat.is_dir();
        Self {
            mode: stat.mode(),
            owner: (stat.uid(), stat.gid()),
            links: if stat.is_dir() { 0 } else { stat.nlink() },
            inode: stat.ino(),
            modified: (stat.mtime(), stat.mtime_nsec()),
            content,
            attributes: attributes(path),
            flags: if is_plain { flags(path) } else { 0 },
        }
    }
}

fn attributes(path: &Path) -> Vec<(String, Vec<u8>)> {
    let mut names = vec![0; 64 << 10];
    let Ok(length) = rustix::fs::llistxattr(path, &mut names[..]) else { return Vec::new() };
    let names = String::from_utf8(names[..length].to_vec()).unwrap();
    let mut found: Vec<_> = names
        .split_terminator('\0')
        .map(|name| {
            let mut value = vec![0; 64 << 10];
            let length = rustix::fs::lgetxattr(path, name, &mut value[..]).unwrap();
            (name.to_owned(), value[..length].to_vec())
        })
        .collect();
    found.sort();
    found
}

/// What `chattr` shows; 0 where the file system has no flags.
#[cfg(target_os = "linux")]
fn flags(path: &Path) -> u32 {
    use rustix::fs::{Mode, OFlags};
    let open = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let Ok(file) = rustix::fs::open(path, open, Mode::empty()) else { return 0 };
    rustix::fs::ioctl_getflags(&file).map_or(0, |flags| flags.bits())
}

/// What `ls -lO` shows.
#[cfg(target_os = "macos")]
fn flags(path: &Path) -> u32 {
    std::os::macos::fs::MetadataExt::st_flags(&path.symlink_metadata().unwrap())
}

/// Makes a device node that leads nowhere; `false` where that is not allowed.
pub(crate) fn make_device(path: &Path) -> bool {
    run("mknod", [path.to_str().unwrap(), "c", "1", "3"]).is_ok()
        && rustix::fs::statat(rustix::fs::CWD, path, AtFlags::empty()).is_ok()
}
