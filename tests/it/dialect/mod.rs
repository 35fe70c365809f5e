//! Patches of git, applied by git and by the engine.
//!
//! A share of the cases runs by default; `TXEDIT_TEST_CASES=2000` asks for more, and `TXEDIT_TEST_SEED` for others.

mod bytes;
mod folders;
mod history;
mod peers;
mod random;
mod replay;
mod reports;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;
use txedit::testing::internals::request::validate;
use txedit::{Durability, Engine, ErrorKind, Patch, PathRule, Request, Result, Run, Settings};

/// Files by name: content, and whether it can be executed.
type Tree = BTreeMap<PathBuf, (Vec<u8>, bool)>;

fn variable(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Git, with nothing of the caller's settings.
fn git(folder: &Path) -> Command {
    let mut git = Command::new("git");
    git.current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    git.env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap());
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        git.env_remove(name);
    }
    git
}

/// What git prints, if it succeeds.
fn output(git: &mut Command) -> Option<Vec<u8>> {
    let out = git.output().unwrap();
    out.status.success().then_some(out.stdout)
}

fn write(folder: &Path, tree: &Tree) {
    for (name, (content, executable)) in tree {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        let mode = if *executable { 0o755 } else { 0o644 };
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }
}

fn read(folder: &Path) -> Tree {
    fn gather(root: &Path, folder: &Path, tree: &mut Tree) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_owned();
            if path.is_dir() {
                if name != Path::new(".txedit") && name != Path::new(".git") {
                    gather(root, &path, tree);
                }
            } else {
                let executable = path.metadata().unwrap().permissions().mode() & 0o100 != 0;
                tree.insert(name, (fs::read(&path).unwrap(), executable));
            }
        }
    }
    let mut tree = Tree::new();
    gather(folder, folder, &mut tree);
    tree
}

/// Applies a patch by the engine.
fn apply(folder: &Path, patch: &[u8]) -> Result<()> {
    apply_request(folder, &Patch::read(patch, None, None)?.request)
}

fn engine(folder: &Path) -> Engine {
    let settings =
        Settings::default().durability(Durability::Process).lock_timeout(Duration::from_secs(10)).program("test");
    Engine::open_with(folder, settings).unwrap()
}

fn apply_request(folder: &Path, request: &Request) -> Result<()> {
    validate::check(request, PathRule::AbsoluteOrRelative)?;
    engine(folder).apply(request, Run::default())?;
    Ok(())
}

/// What git makes of a tree; `None` where it refuses.
fn applied_by_git(tree: &Tree, patch: &[u8]) -> Option<Tree> {
    let scratch = TempDir::new().unwrap();
    let folder = scratch.path().join("tree");
    fs::create_dir(&folder).unwrap();
    write(&folder, tree);
    let file = scratch.path().join("patch");
    fs::write(&file, patch).unwrap();
    output(git(&folder).args(["apply", "--whitespace=nowarn"]).arg(&file))?;
    Some(read(&folder))
}

fn applied_by_engine(tree: &Tree, patch: &[u8]) -> Result<Tree> {
    let scratch = TempDir::new().unwrap();
    write(scratch.path(), tree);
    apply(scratch.path(), patch)?;
    Ok(read(scratch.path()))
}

fn shown_tree(tree: &Tree) -> String {
    let shown = |(name, (content, _)): (&PathBuf, &(Vec<u8>, bool))| {
        format!("{}: {:?}", name.display(), String::from_utf8_lossy(content))
    };
    tree.iter().map(shown).collect::<Vec<_>>().join("\n")
}

fn has_git() -> bool {
    let has = Command::new("git").arg("--version").output().is_ok_and(|out| out.status.success());
    if !has {
        eprintln!("skipped: there is no git");
    }
    has
}

/// A text with line feeds for its line breaks.
fn feeds(text: &[u8]) -> Vec<u8> {
    let mut feeds = text.to_vec();
    let mut next = text.iter().skip(1);
    feeds.retain(|byte| next.next() != Some(&b'\n') || *byte != b'\r');
    feeds
}

fn with_feeds(tree: &Tree) -> Tree {
    tree.iter().map(|(name, (content, executable))| (name.clone(), (feeds(content), *executable))).collect()
}

/// How the two agree on a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Agreement {
    /// Both make the same tree of it.
    Same,
    /// Both refuse.
    BothRefuse,
    /// Git takes the nearest of several places; here an ambiguous place is an error.
    GitTakesTheNearest,
    /// Git refuses a line whose break is another kind than that of the patch; here the file's own is kept.
    LineBreaks,
    /// In a diff without any context git holds each hunk to the end of the file; here the old lines must stand where
    /// the patch says.
    WithoutContext,
}

/// Compares the two; what is none of the known differences fails.
fn compare(tree: &Tree, patch: &[u8], context: bool) -> Agreement {
    let shown = || format!("{}\n--- applied to\n{}", String::from_utf8_lossy(patch), shown_tree(tree));
    match (applied_by_git(tree, patch), applied_by_engine(tree, patch)) {
        (Some(theirs), Ok(ours)) => {
            assert_eq!(ours, theirs, "{}", shown());
            Agreement::Same
        }
        (None, Err(_)) => Agreement::BothRefuse,
        (Some(_), Err(error)) if error.kind() == ErrorKind::AmbiguousMatch => Agreement::GitTakesTheNearest,
        (None, Ok(ours)) if applied_by_git(&with_feeds(tree), &feeds(patch)) == Some(with_feeds(&ours)) => {
            Agreement::LineBreaks
        }
        (None, Ok(_)) if !context => Agreement::WithoutContext,
        (Some(_), Err(error)) if !context => {
            assert_eq!(error.kind(), ErrorKind::MatchNotFound, "{}", shown());
            Agreement::WithoutContext
        }
        (Some(_), Err(error)) => panic!("git applies, the engine does not: {error}\n{}", shown()),
        (None, Ok(_)) => panic!("the engine applies, git does not\n{}", shown()),
    }
}
