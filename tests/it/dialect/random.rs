//! Random trees and random edits, turned into diffs by git.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{Agreement, Tree, compare, git, has_git, output, variable, write};

/// Numbers that are the same for the same seed.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % limit
    }

    pub(super) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.below(list.len())]
    }
}

const NAMES: [&str; 12] = [
    "a.txt",
    "b c.txt",
    "sub/d.txt",
    "sub/deep/e f.txt",
    "é.txt",
    "日本/語.md",
    "quo\"te",
    "back\\slash",
    "tab\there",
    "b/a.txt",
    "trailing ",
    "a b/a b",
];

const LINES: [&str; 10] = ["}", "", "alpha", "beta", "  indented", "\ttab", "é“”", "-- ", "--- a/x", "+++ b/x"];

fn line(random: &mut Random) -> String {
    let text = if random.chance(50) { random.pick(&LINES).to_owned() } else { format!("line {}", random.below(1000)) };
    text + if random.chance(10) { "\r\n" } else { "\n" }
}

fn content(random: &mut Random) -> Vec<u8> {
    let mut text: String = (0..random.below(40)).map(|_| line(random)).collect();
    if random.chance(20) {
        text = text.replace("\r\n", "\n").replace('\n', "\r\n");
    }
    if random.chance(20) {
        text.truncate(text.trim_end().len());
    }
    text.into_bytes()
}

fn edited(random: &mut Random, content: &[u8]) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = content.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    for _ in 0..=random.below(4) {
        let at = random.below(lines.len() + 1);
        match random.below(4) {
            0 => lines.insert(at, line(random).into_bytes()),
            1 if at < lines.len() => drop(lines.remove(at)),
            2 if at < lines.len() => lines[at] = line(random).into_bytes(),
            _ if at < lines.len() => {
                // The end of a line: another break, or none at the end of the file.
                let bare = lines[at].trim_ascii_end().to_vec();
                let end: &[u8] = if at + 1 == lines.len() && random.chance(50) { b"" } else { b"\r\n" };
                lines[at] = [&bare, end].concat();
            }
            _ => {}
        }
    }
    // A line without a break can only be the last one.
    let last = lines.len().saturating_sub(1);
    for line in lines.iter_mut().take(last).filter(|line| !line.ends_with(b"\n")) {
        line.push(b'\n');
    }
    lines.concat()
}

fn tree(random: &mut Random) -> Tree {
    let mut tree = Tree::new();
    for _ in 0..=random.below(5) {
        tree.insert(random.pick(&NAMES).into(), (content(random), random.chance(20)));
    }
    tree
}

fn changed(random: &mut Random, before: &Tree) -> Tree {
    let mut after = before.clone();
    let names: Vec<PathBuf> = before.keys().cloned().collect();
    for _ in 0..=random.below(4) {
        let name = &names[random.below(names.len())];
        let Some((content, executable)) = after.get(name).cloned() else { continue };
        let other = PathBuf::from(random.pick(&NAMES));
        let new = if random.chance(50) { edited(random, &content) } else { content.clone() };
        match random.below(7) {
            0 => drop(after.remove(name)),
            1 if !after.contains_key(&other) => {
                after.remove(name);
                after.insert(other, (new, executable));
            }
            2 if !after.contains_key(&other) => drop(after.insert(other, (new, executable))),
            3 => drop(after.insert(name.clone(), (content, !executable))),
            4 => drop(after.insert(other, (self::content(random), random.chance(20)))),
            _ => drop(after.insert(name.clone(), (edited(random, &content), executable))),
        }
    }
    after
}

/// A repository in which diffs are made.
pub(super) struct Repository(TempDir);

impl Repository {
    pub(super) fn new() -> Self {
        let scratch = TempDir::new().unwrap();
        output(git(scratch.path()).args(["init", "-q"])).unwrap();
        Self(scratch)
    }

    /// The id of a tree.
    fn tree(&self, tree: &Tree) -> String {
        let folder = self.0.path();
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap).filter(|entry| entry.file_name() != ".git") {
            if entry.path().is_dir() {
                fs::remove_dir_all(entry.path()).unwrap();
            } else {
                fs::remove_file(entry.path()).unwrap();
            }
        }
        write(folder, tree);
        output(git(folder).args(["-c", "core.autocrlf=false", "add", "-A"])).unwrap();
        String::from_utf8(output(git(folder).arg("write-tree")).unwrap()).unwrap().trim().to_owned()
    }

    pub(super) fn diff(&self, before: &Tree, after: &Tree, options: &[&str]) -> Vec<u8> {
        let (before, after) = (self.tree(before), self.tree(after));
        output(git(self.0.path()).arg("diff").args(options).args([before, after])).unwrap()
    }
}

/// The tree as somebody changed it before the patch is applied.
fn drifted(random: &mut Random, tree: &Tree) -> Tree {
    let mut drifted = tree.clone();
    for (content, _) in drifted.values_mut() {
        match random.below(4) {
            0 => drop(content.splice(0..0, b"new first line\nand another\n".iter().copied())),
            1 => *content = edited(random, content),
            2 => {
                let copy = content.clone();
                content.extend(copy);
            }
            _ => {}
        }
    }
    drifted
}

#[test]
fn git_and_the_engine_agree_on_random_diffs() {
    if !has_git() {
        return;
    }
    let (cases, first) = (variable("TXEDIT_TEST_CASES", 150), variable("TXEDIT_TEST_SEED", 1));
    let repository = Repository::new();
    let mut tally: BTreeMap<(bool, Agreement), usize> = BTreeMap::new();
    for seed in first..first + cases {
        let random = &mut Random::new(seed);
        let before = tree(random);
        let after = changed(random, &before);
        let options: &[&str] = match random.below(40) {
            0..3 => &["-U0"],
            3..12 => &["-M", "-C", "--find-copies-harder"],
            12..20 => &["-M", "-U1"],
            20..30 => &["--no-renames", "-U5"],
            _ => &["-M", "-B"],
        };
        let patch = repository.diff(&before, &after, options);
        if patch.is_empty() {
            continue;
        }
        let context = patch.split(|byte| *byte == b'\n').any(|line| line.starts_with(b" "));
        let has_drifted = random.chance(30);
        let base = if has_drifted { drifted(random, &before) } else { before.clone() };
        let agreement = std::panic::catch_unwind(|| compare(&base, &patch, context));
        let agreement = agreement.unwrap_or_else(|_| panic!("seed {seed}"));
        if !has_drifted && context {
            assert_eq!(agreement, Agreement::Same, "seed {seed}: {}", String::from_utf8_lossy(&patch));
        }
        *tally.entry((has_drifted, agreement)).or_default() += 1;
    }
    eprintln!("of {cases} patches, by whether their files had drifted: {tally:?}");
    assert!(tally.get(&(false, Agreement::Same)).copied().unwrap_or(0) * 3 > usize::try_from(cases).unwrap());
}

#[test]
fn names_of_all_kinds_are_in_the_trees() {
    // The generator would say nothing of names that a tree cannot have side by side.
    let under = |a: &str, b: &str| Path::new(a).starts_with(b) && a != b;
    assert!(!NAMES.iter().any(|a| NAMES.iter().any(|b| under(a, b))));
}
