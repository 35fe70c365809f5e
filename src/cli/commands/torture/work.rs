//! The transactions of the torture, which the killed process and its killer compute alike.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::fs::scratch;
use crate::request::edit::{Anchor, Count, Edit, Matching};
use crate::request::{Change, FileRequest, IfExists, Request};

/// The files; some are in folders that are made with them.
const NAMES: [&str; 14] = [
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "a/one",
    "a/two",
    "a/b/three",
    "a/b/four",
    "c/d/e/five",
    "c/six",
    "c/d/seven",
    "f/eight",
];

/// The contents of the existing files.
pub(super) type TortureFiles = BTreeMap<&'static str, String>;

/// A random generator that both processes share: `SplitMix64`.
#[derive(Debug, Clone)]
pub(super) struct SplitMix64(u64);

impl SplitMix64 {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A random number below `limit`, which must not be 0.
    pub(super) const fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % limit
    }
}

/// The contents of the workspace, read without the engine.
pub(super) fn look(workspace: &Path) -> Result<TortureFiles> {
    let mut files = TortureFiles::new();
    for name in NAMES {
        if let Some(content) = scratch::read(&workspace.join(name))? {
            // What is not text is none of these contents, and will be reported as such.
            files.insert(name, String::from_utf8_lossy(&content).into_owned());
        }
    }
    Ok(files)
}

/// The next transaction: two files or more, edited, replaced, created, deleted. `files` becomes the state after it.
pub(super) fn next(files: &mut TortureFiles, dice: &mut SplitMix64) -> Request {
    let count = 2 + dice.below(6);
    let mut changes = BTreeMap::new();
    for _ in 0..count {
        let name = NAMES[usize::try_from(dice.below(NAMES.len() as u64)).unwrap_or(0)];
        changes.entry(name).or_insert_with(|| change(name, files, dice));
    }
    let entry = |(name, change)| FileRequest::new(PathBuf::from(name), change);
    Request { files: changes.into_iter().map(entry).collect(), label: Some("torture".to_owned()), ..Request::default() }
}

fn change(name: &'static str, files: &mut TortureFiles, dice: &mut SplitMix64) -> Change {
    let text = content(dice);
    match files.get_mut(name) {
        Some(old) if dice.below(2) == 0 => {
            let (first, _) = old.split_once('\n').unwrap_or((old, ""));
            let (first, line) = (first.to_owned(), format!("edited {:016x}", dice.below(u64::MAX)));
            *old = old.replacen(&first, &line, 1);
            let anchor = Anchor::Text { text: first.into_bytes(), count: Count::Once, matching: Matching::Exact };
            Change::Edit { edits: vec![Edit { anchor, replacement: line.into_bytes() }], rename: None }
        }
        Some(_) if dice.below(3) == 0 => {
            files.remove(name);
            Change::Delete
        }
        _ => {
            files.insert(name, text.clone());
            Change::Write { content: text.into_bytes(), if_exists: IfExists::Replace }
        }
    }
}

/// Lines that all differ; a few, or some ten thousand bytes.
fn content(dice: &mut SplitMix64) -> String {
    let most = 1 << dice.below(12);
    let lines = 1 + dice.below(most);
    (0..lines).fold(String::new(), |mut text, line| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{line:06} {:016x}", dice.below(u64::MAX));
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_that_start_alike_go_on_alike_and_change_something() {
        let (mut one, mut two) = (TortureFiles::new(), TortureFiles::new());
        let (mut dice, mut same) = (SplitMix64::new(7), SplitMix64::new(7));
        for _ in 0..100 {
            let before = one.clone();
            let request = next(&mut one, &mut dice);
            assert_eq!(request.files.len(), next(&mut two, &mut same).files.len());
            assert_eq!(one, two);
            assert_ne!(one, before);
        }
    }
}
