//! Shards: the parts of one workspace, each with a transaction of its own.
//!
//! Nothing is promised across shards: some may be done and others not, which reports tell. A shard is a list of folders
//! and files; everything in it is found by its path alone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde_json::Value;

use super::PlannedWorkspace;
use crate::error::{Error, ErrorKind, Result};
use crate::fs::records;

/// How a workspace is divided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ShardBy {
    /// One shard for each folder of so many levels, and one for what is beside them.
    Folder(usize),
    /// So many shards, of whole folders at the top.
    Count(usize),
    /// One shard for each owner that a file in the syntax of CODEOWNERS names, of the folders and files that it has.
    Owners(String),
}

impl FromStr for ShardBy {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let number = |text: &str| text.parse().ok().filter(|number| *number > 0);
        match text.split_once(':') {
            None if text == "folder" => Ok(Self::Folder(1)),
            Some(("folder", levels)) => number(levels).map(Self::Folder).ok_or("folder:N takes a number of levels"),
            Some(("count", count)) => number(count).map(Self::Count).ok_or("count:N takes a number of shards"),
            Some(("owners", file)) if !file.is_empty() => Ok(Self::Owners(file.to_owned())),
            _ => Err("write folder, folder:LEVELS, count:N or owners:FILE"),
        }
    }
}

/// The shards of a workspace. `read` reads the file of owners.
pub(crate) fn of(
    workspace: &PlannedWorkspace,
    by: &ShardBy,
    read: impl Fn(&Path) -> Result<Vec<u8>>,
) -> Result<Vec<PlannedWorkspace>> {
    let root = Path::new(&workspace.root);
    let shard = |name: &str, paths: Vec<String>| PlannedWorkspace {
        name: format!("{}/{name}", workspace.name),
        paths,
        ..workspace.clone()
    };
    let shards: Vec<_> = match by {
        ShardBy::Folder(levels) => {
            names(root, *levels)?.into_iter().map(|path| shard(&path, vec![path.clone()])).collect()
        }
        ShardBy::Count(count) => {
            let names = names(root, 1)?;
            let size = names.len().div_ceil(*count).max(1);
            let parts = names.chunks(size).enumerate();
            parts.map(|(index, paths)| shard(&format!("part-{}", index + 1), paths.to_vec())).collect()
        }
        ShardBy::Owners(file) => {
            let owners = owners(&read(&root.join(file))?)?;
            for path in owners.values().flatten() {
                check_part(root, path)?;
            }
            owners.into_iter().map(|(owner, paths)| shard(&owner, paths)).collect()
        }
    };
    if shards.is_empty() {
        let message = format!("{} has nothing to divide into shards", workspace.name);
        return Err(Error::new(ErrorKind::ValidationFailed, message));
    }
    Ok(shards)
}

/// The parts of a workspace, so many levels below its root, by name.
fn names(root: &Path, levels: usize) -> Result<Vec<String>> {
    let relative = |path: &Path| path.strip_prefix(root).ok()?.to_str().map(str::to_owned);
    records::levels_of(root, levels)?.iter().map(|path| relative(path).ok_or_else(|| not_utf8(path))).collect()
}

fn not_utf8(path: &Path) -> Error {
    let message = format!("{} is not UTF-8, as the name of a shard must be", path.display());
    Error::new(ErrorKind::ValidationFailed, message).at(path)
}

/// The folders and files of each owner.
fn owners(bytes: &[u8]) -> Result<BTreeMap<String, Vec<String>>> {
    let refused = |message: String| Error::new(ErrorKind::ValidationFailed, message);
    let text = std::str::from_utf8(bytes).map_err(|_| refused("the file of owners is not UTF-8".to_owned()))?;
    let mut owners: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let (Some(pattern), Some(owner)) = (words.next(), words.next()) else { continue };
        let path: PathBuf = Path::new(pattern.trim_start_matches('/')).components().collect();
        let path = path.strip_prefix(".").unwrap_or(&path).to_str().unwrap_or_default();
        if path.is_empty() || path.contains(['*', '?', '[']) {
            let why = "a shard is a folder or a file: write its path, without a pattern";
            return Err(refused(format!("line {} of the owners has {pattern}: {why}", index + 1)));
        }
        let mut all = owners.values().flatten();
        if let Some(other) = all.find(|other| contains(other, path) || contains(path, other)) {
            return Err(refused(format!("the owners name {path} and {other}, of which one is in the other")));
        }
        owners.entry(owner.to_owned()).or_default().push(path.to_owned());
    }
    Ok(owners)
}

/// Refuses what is not there, and what is reached through a symlink: it would be in another part, too.
fn check_part(root: &Path, path: &str) -> Result<()> {
    let named = root.join(path);
    if records::real(&named) == Some(named.clone()) {
        return Ok(());
    }
    let message = format!("the owners name {path}, which is not there, or is no path in the root without a symlink");
    Err(Error::new(ErrorKind::ValidationFailed, message).at(named))
}

fn contains(folder: &str, path: &str) -> bool {
    Path::new(path).starts_with(folder)
}

/// The plan with those of its files alone that are in a shard; `None` if there are none. One that moves a file out of its
/// shard is refused.
pub(super) fn part_of(mut plan: Value, paths: &[String], root: &str) -> Result<Option<Value>> {
    let is_in = |path: &str| {
        let path = Path::new(path);
        let path = path.strip_prefix(root).unwrap_or(path);
        paths.iter().any(|shard| path.starts_with(shard))
    };
    let path_in = |file: &Value, name: &str| file.get(name).and_then(Value::as_str).map(is_in);
    let Some(files) = plan.get_mut("files").and_then(Value::as_array_mut) else { return Ok(Some(plan)) };
    files.retain(|file| path_in(file, "file_path").unwrap_or(true));
    if let Some(file) = files.iter().find(|file| path_in(file, "rename_to") == Some(false)) {
        let message = format!(
            "{} moves to another shard: each shard is a transaction of its own, and a move is one change",
            file["file_path"].as_str().unwrap_or_default()
        );
        return Err(Error::new(ErrorKind::ValidationFailed, message));
    }
    Ok((!files.is_empty()).then_some(plan))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_is_divided_by_folders_numbers_and_owners() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["a/x", "a/y", "b/z", ".git", "built/x"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        std::fs::write(root.join("file"), "").unwrap();
        std::fs::write(root.join(".gitignore"), "built\n").unwrap();
        std::os::unix::fs::symlink("a", root.join("link")).unwrap();
        let workspace = PlannedWorkspace { name: "w".into(), ..PlannedWorkspace::at(root.to_str().unwrap()) };
        let owners = "# all\na/x @one # them\nb @two\nfile @one\n\nnobody\n";
        let of = |by: &str| {
            let shards = of(&workspace, &by.parse().unwrap(), |_| Ok(owners.as_bytes().to_vec())).unwrap();
            shards.into_iter().map(|one| format!("{}: {}", one.name, one.paths.join(" "))).collect::<Vec<_>>()
        };
        assert_eq!(of("folder"), ["w/a: a", "w/b: b", "w/file: file"]);
        assert_eq!(of("folder:2"), ["w/a/x: a/x", "w/a/y: a/y", "w/b/z: b/z", "w/file: file"]);
        assert_eq!(of("count:2"), ["w/part-1: a b", "w/part-2: file"]);
        assert_eq!(of("owners:OWNERS"), ["w/@one: a/x file", "w/@two: b"]);
        for wrong in ["", "folder:0", "count", "count:x", "owners:"] {
            assert!(wrong.parse::<ShardBy>().is_err(), "{wrong}");
        }
        for wrong in [
            ". @one",
            "./a @one\na/ @two",
            "*.rs @one",
            "a @one\na/x @two",
            "nowhere @one",
            "link @one",
            "link/x @one",
            "../w @one",
        ] {
            let shards = super::of(&workspace, &ShardBy::Owners("O".into()), |_| Ok(wrong.as_bytes().to_vec()));
            assert!(shards.is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_shard_has_its_files_of_a_plan() {
        let plan = serde_json::json!({ "files": [
            { "file_path": "a/1", "delete": true }, { "file_path": "/w/b/2", "rename_to": "b/3" }, { "file_path": "ab" },
        ] });
        let paths = |path: &str| {
            let part = part_of(plan.clone(), &[path.to_owned()], "/w").unwrap();
            part.map(|part| part["files"].as_array().unwrap().iter().map(|file| file["file_path"].clone()).collect())
        };
        assert_eq!(paths("a"), Some(vec![Value::from("a/1")]));
        assert_eq!(paths("b"), Some(vec![Value::from("/w/b/2")]));
        assert_eq!(paths("c"), None);
        let moved = serde_json::json!({ "files": [{ "file_path": "a/1", "rename_to": "b/1" }] });
        assert!(part_of(moved, &["a".to_owned()], "/w").is_err());
    }
}
