//! Where real trees come from.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::edits::changed;
use super::{Random, Tree};
use crate::dialect::{git, output};

/// Crates without which there is no replay, and the most that are taken.
const CRATES: std::ops::RangeInclusive<usize> = 4..=12;

/// Bytes of a file that is taken.
const FILE_BYTES: std::ops::Range<u64> = 200..60_000;

/// Commits of this project that are taken, the newest.
const COMMITS: &str = "400";

/// The sources of crates, and the commits of this project.
pub(super) struct Corpus {
    crates: Vec<(PathBuf, Vec<PathBuf>)>,
    commits: Vec<String>,
}

impl fmt::Display for Corpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} crates and {} commits of this project", self.crates.len(), self.commits.len())
    }
}

impl Corpus {
    /// `None` where there are too few crates.
    pub(super) fn find() -> Option<Self> {
        let mut crates: Vec<_> = packages().into_iter().map(|folder| (sources(&folder), folder)).collect();
        crates.retain(|(files, _)| files.len() >= 4);
        // The same ones each time, so that a seed means the same.
        crates.sort_by_key(|(files, folder)| (std::cmp::Reverse(files.len()), folder.clone()));
        crates.truncate(*CRATES.end());
        let crates: Vec<_> = crates.into_iter().map(|(files, folder)| (folder, files)).collect();
        let project = Path::new(env!("CARGO_MANIFEST_DIR"));
        let listed = output(git(project).args(["rev-list", "--no-merges", "-n", COMMITS, "HEAD"])).unwrap_or_default();
        let commits = String::from_utf8(listed).unwrap().lines().map(str::to_owned).collect();
        CRATES.contains(&crates.len()).then_some(Self { crates, commits })
    }

    /// A tree, and what becomes of it. `None` where nothing does.
    pub(super) fn case(&self, random: &mut Random) -> Option<(Tree, Tree)> {
        let (before, after) = if random.chance(30) && !self.commits.is_empty() {
            committed(&self.commits[random.below(self.commits.len())], random)?
        } else {
            let (folder, files) = &self.crates[random.below(self.crates.len())];
            let mut tree = Tree::new();
            for _ in 0..=random.below(3) {
                let file = &files[random.below(files.len())];
                tree.insert(file.clone(), (fs::read(folder.join(file)).unwrap(), false));
            }
            changed(random, tree)
        };
        (before != after).then_some((before, after))
    }
}

/// The folders of all crates that cargo has for this project.
fn packages() -> Vec<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let asked = ["metadata", "--offline", "--locked", "--format-version", "1", "--all-features"];
    let out = Command::new(cargo).current_dir(env!("CARGO_MANIFEST_DIR")).args(asked).output();
    let Some(out) = out.ok().filter(|out| out.status.success()) else { return Vec::new() };
    let told: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    let packages = told["packages"].as_array().into_iter().flatten().filter(|package| package["source"].is_string());
    packages.filter_map(|package| Some(Path::new(package["manifest_path"].as_str()?).parent()?.to_owned())).collect()
}

/// The texts of a crate, by their names in it.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(at).into_iter().flatten().filter_map(Result::ok) {
            let (path, Ok(stat)) = (entry.path(), entry.metadata()) else { continue };
            let is_text = path.extension().is_some_and(|end| ["rs", "md", "toml", "txt"].iter().any(|it| end == *it));
            if stat.is_dir() {
                folders.push(path);
            } else if is_text && stat.is_file() && FILE_BYTES.contains(&stat.len()) {
                found.push(path.strip_prefix(folder).unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

/// A few of the files that a commit of this project changed, before and after it.
fn committed(commit: &str, random: &mut Random) -> Option<(Tree, Tree)> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let parent = format!("{commit}^");
    let names = output(git(project).args(["diff", "--name-only", "--no-renames", &parent, commit]))?;
    let names = String::from_utf8(names).ok()?;
    let names: Vec<&str> = names.lines().filter(|name| !name.starts_with('"')).collect();
    let (mut before, mut after) = (Tree::new(), Tree::new());
    let start = random.below(names.len().max(1));
    for name in names.iter().cycle().skip(start).take(names.len().min(6)) {
        for (tree, at) in [(&mut before, &parent), (&mut after, &commit.to_owned())] {
            if let Some(content) = output(git(project).args(["show", &format!("{at}:{name}")]))
                && !content.contains(&0)
            {
                tree.insert(name.into(), (content, false));
            }
        }
    }
    Some((before, after))
}
