//! Paths as people in a shell mean them: from the current folder on.

use std::path::{Component, Path, PathBuf};

use super::options::CommonOptions;

impl CommonOptions {
    /// The absolute path of a file outside of all transactions, such as a plan: the system resolves it.
    pub(crate) fn absolute(&self, path: &Path) -> PathBuf {
        self.current.join(path)
    }

    /// The absolute path of what a command reads or changes in the workspace. `..` is resolved lexically; one that leads out
    /// of the root is left for the engine to refuse.
    pub(crate) fn in_workspace(&self, path: &Path) -> PathBuf {
        lexical(self.absolute(path))
    }

    /// A path as a user in the current folder would write it.
    pub(crate) fn shown<'a>(&self, path: &'a Path) -> &'a Path {
        match path.strip_prefix(&self.current) {
            Ok(rest) if !rest.as_os_str().is_empty() => rest,
            _ => path,
        }
    }
}

/// An absolute path without `..`. One that has none stays as it is.
fn lexical(path: PathBuf) -> PathBuf {
    if !path.components().any(|component| component == Component::ParentDir) {
        return path;
    }
    let mut resolved = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(resolved.pop()),
            other => resolved.push(other),
        }
    }
    resolved
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_dots_take_away_the_name_before_them() {
        for (path, resolved) in [
            ("/a/b/../c", "/a/c"),
            ("/a/../../c", "/c"),
            ("/..", "/"),
            ("/a/./b/..", "/a"),
            ("/a/.", "/a/."),
            ("/a/", "/a/"),
        ] {
            assert_eq!(lexical(path.into()).into_os_string(), resolved, "{path}");
        }
    }
}
