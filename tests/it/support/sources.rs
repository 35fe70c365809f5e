//! The sources of this repository, for tests that read them.

use std::fs;
use std::path::{Path, PathBuf};

/// A source file.
pub(crate) struct Source {
    /// Relative to its folder, `src` or `tests`.
    pub path: String,
    pub text: String,
}

impl Source {
    /// The first part of the path: the layer.
    pub(crate) fn layer(&self) -> &str {
        self.path.split(['/', '.']).next().unwrap_or_default()
    }

    pub(crate) fn is_test(&self) -> bool {
        self.path.ends_with("tests.rs") || self.path.contains("tests/")
    }

    /// Numbered lines without comments, up to the tests at the end.
    pub(crate) fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let without_tests = self.text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        without_tests.lines().enumerate().map(|(index, line)| (index + 1, code_of(line)))
    }

    pub(crate) fn is_one_of(&self, places: &[&str]) -> bool {
        places.iter().any(|place| self.path.starts_with(place))
    }
}

/// A line without its comment.
fn code_of(line: &str) -> &str {
    if line.trim_start().starts_with("//") { "" } else { line.split(" // ").next().unwrap_or_default() }
}

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All Rust files of a folder of the repository.
pub(crate) fn sources(folder: &str) -> Vec<Source> {
    let top = root().join(folder);
    let mut found = Vec::new();
    let mut folders = vec![top.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let path = path.strip_prefix(&top).unwrap().to_string_lossy().into_owned();
                found.push(Source { path, text });
            }
        }
    }
    assert!(!found.is_empty(), "{folder} has no sources");
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}
