//! The trees, and what is to be done with them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use txedit::{Anchor, Change, Edit, FileRequest, PathRule};

use crate::Result;

/// A tree as it is before a run.
pub(crate) type Tree = BTreeMap<PathBuf, Vec<u8>>;

/// What every contender is to do: in each file, every occurrence of each first text becomes the second.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Job {
    pub files: Vec<PathBuf>,
    pub pairs: Vec<(String, String)>,
    /// Whether there is one occurrence of each.
    pub once: bool,
}

impl Job {
    /// What must come of a content.
    pub(crate) fn apply(&self, content: &[u8]) -> Vec<u8> {
        if self.pairs.len() > 1 {
            let (old, new): (Vec<_>, Vec<_>) = self.pairs.iter().map(|(old, new)| (old, new)).unzip();
            let all = aho_corasick::AhoCorasick::new(old).unwrap_or_else(|e| panic!("texts to look for: {e}"));
            return all.replace_all_bytes(content, &new);
        }
        self.pairs.iter().fold(content.to_vec(), |content, (old, new)| replace(&content, old, new))
    }

    pub(crate) fn expected(&self, tree: &Tree) -> Tree {
        let mut after = tree.clone();
        for file in &self.files {
            after.insert(file.clone(), self.apply(&tree[file]));
        }
        after
    }

    /// The job of such a [request](Self::request), read and checked as `txedit` does it.
    pub(crate) fn of_request(text: &[u8]) -> Result<Self> {
        let request = txedit::wire::parse(text)?.into_request(PathRule::AbsoluteOrRelative)?;
        let Some(FileRequest { change: Change::Edit { edits, .. }, .. }) = request.files.first() else {
            return Err("a request without edits".into());
        };
        let pair = |edit: &Edit| {
            let Anchor::Text { text, .. } = &edit.anchor else { return Err("an edit without a text".into()) };
            Ok([text, &edit.replacement].map(|text| String::from_utf8_lossy(text).into_owned()).into())
        };
        let pairs = edits.iter().map(pair).collect::<Result<_>>()?;
        Ok(Self { files: request.files.iter().map(|file| file.path.to_path_buf()).collect(), pairs, once: true })
    }

    /// As a request.
    pub(crate) fn request(&self) -> serde_json::Value {
        let edit = |(old, new): &(String, String)| {
            if self.once {
                serde_json::json!({ "old_string": old, "new_string": new })
            } else {
                serde_json::json!({ "old_string": old, "new_string": new, "replace_all": true })
            }
        };
        let edits: Vec<_> = self.pairs.iter().map(edit).collect();
        let file = |path: &PathBuf| serde_json::json!({ "file_path": path, "edits": edits });
        serde_json::json!({ "files": self.files.iter().map(file).collect::<Vec<_>>() })
    }
}

/// Every occurrence of a text.
pub(crate) fn replace(content: &[u8], old: &str, new: &str) -> Vec<u8> {
    let mut result = Vec::with_capacity(content.len() + new.len());
    let mut copied = 0;
    for at in memchr::memmem::find_iter(content, old) {
        result.extend_from_slice(&content[copied..at]);
        result.extend_from_slice(new.as_bytes());
        copied = at + old.len();
    }
    result.extend_from_slice(&content[copied..]);
    result
}

/// Numbers that look random and are the same in every run.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn below(&mut self, bound: u64) -> u64 {
        // splitmix64: https://prng.di.unimi.it/splitmix64.c
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

/// A source text of about `bytes` bytes, in which `mark` stands `marks` times.
pub(crate) fn source(chance: &mut Chance, bytes: usize, mark: &str, marks: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes + 64);
    let every = bytes / (marks + 1);
    let mut placed = 0;
    while text.len() < bytes {
        let (a, b, c) = (chance.below(500), chance.below(500), chance.below(10_000));
        text.extend_from_slice(format!("    let word_{a} = word_{b}({c});\n").as_bytes());
        if placed < marks && text.len() >= every * (placed + 1) {
            text.extend_from_slice(format!("    {mark}(word_{a});\n").as_bytes());
            placed += 1;
        }
    }
    text
}

/// `files` sources of 1 to 8 kB, about 100 in a folder; `mark` is in every `every`th of them.
pub(crate) fn sources(files: usize, mark: &str, every: usize) -> Tree {
    let mut chance = Chance::new(1);
    let mut tree = Tree::new();
    for index in 0..files {
        let path = format!("dir_{}/sub_{}/file_{index}.rs", index / 1000, index / 100 % 10);
        let bytes = 1000 + usize::try_from(chance.below(7000)).unwrap_or_default();
        tree.insert(path.into(), source(&mut chance, bytes, mark, usize::from(index % every == 0)));
    }
    tree
}

/// Returns whether a content has a text in it.
pub(crate) fn has(content: &[u8], text: &str) -> bool {
    memchr::memmem::find(content, text.as_bytes()).is_some()
}

/// Writes a tree whose files are an hour old, all of it on the disk.
pub(crate) fn write(tree: &Tree, root: &Path) -> Result<()> {
    let hour_ago = SystemTime::now() - Duration::from_secs(60 * 60);
    let mut made = None;
    for (path, content) in tree {
        let path = root.join(path);
        if made.as_deref() != path.parent() {
            made = path.parent().map(Path::to_owned);
            made.as_ref().map(fs::create_dir_all).transpose()?;
        }
        fs::write(&path, content)?;
        fs::File::options().write(true).open(&path)?.set_modified(hour_ago)?;
    }
    rustix::fs::sync();
    Ok(())
}

/// Whether a tree is what it should be, but for the state folder.
pub(crate) fn check(expected: &Tree, root: &Path) -> Result<()> {
    let mut left = expected.len();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let name = path.strip_prefix(root)?;
            if path.is_dir() {
                let passed_over = ["lost+found", ".txedit", ".fstx", ".least"].iter().any(|own| name == Path::new(own));
                folders.extend((!passed_over).then_some(path));
                continue;
            }
            match expected.get(name) {
                Some(content) if *content == fs::read(&path)? => left -= 1,
                Some(_) => return Err(format!("{} is not what it should be", path.display()).into()),
                None => return Err(format!("{} should not be there", path.display()).into()),
            }
        }
    }
    if left == 0 { Ok(()) } else { Err(format!("{left} files are missing").into()) }
}

/// The patch that does the job, as git writes it.
pub(crate) fn patch(before: &Tree, after: &Tree, scratch: &Path) -> Result<Vec<u8>> {
    let folder = tempfile::TempDir::new_in(scratch)?;
    let changed: Vec<&PathBuf> = before.keys().filter(|path| before[*path] != after[*path]).collect();
    for (side, tree) in [("a", before), ("b", after)] {
        for path in &changed {
            let path_there = folder.path().join(side).join(path);
            path_there.parent().map(fs::create_dir_all).transpose()?;
            fs::write(path_there, &tree[*path])?;
        }
    }
    let mut git = Command::new("git");
    git.args(["diff", "--no-index", "--no-prefix", "--no-color", "a", "b"]).current_dir(folder.path());
    Ok(git.output()?.stdout)
}
