//! Paths inside a workspace, by construction.

pub mod bounds;

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt::{self, Write as _};
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::limits;

/// A path as the caller wrote it. Clones share one text, and so does the [`RelPath`] made from it if they are equal to
/// the byte.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AskedPath(Arc<Path>);

impl<T: Into<PathBuf>> From<T> for AskedPath {
    fn from(path: T) -> Self {
        Self(path.into().into())
    }
}

impl Deref for AskedPath {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl AskedPath {
    /// The path for the standard library.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        &self.0
    }
}

impl AsRef<OsStr> for AskedPath {
    fn as_ref(&self) -> &OsStr {
        self.0.as_os_str()
    }
}

impl AsRef<Path> for AskedPath {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl fmt::Debug for AskedPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The name of the folder that holds txedit's state in a workspace.
pub const STATE_FOLDER: &str = ".txedit";

/// The name of that folder in a git folder.
pub const STATE_IN_GIT: &str = "txedit";

/// The paths of the state folders that a workspace can have in it.
pub const STATE_PATHS: [&str; 2] = [STATE_FOLDER, ".git/txedit"];

/// Returns whether a path relative to a workspace is a state folder of that workspace.
#[must_use]
pub fn is_state(path: &Path) -> bool {
    STATE_PATHS.iter().any(|state| path == Path::new(state))
}

/// A path relative to a workspace: at least one name, no `.`, no `..`, no root, no NUL, nothing in a state folder.
///
/// This alone does not keep it inside the workspace on the disk: whoever opens it must deal with symlinks. Clones share
/// one text: a transaction of many files has each path in a dozen places.
#[derive(Clone, Eq, PartialOrd, Ord)]
pub struct RelPath(Arc<Path>);

// In normal form, paths are equal if their bytes are; the standard library would split them each time.
impl PartialEq for RelPath {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_os_str() == other.0.as_os_str()
    }
}

impl Hash for RelPath {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.as_os_str().hash(state);
    }
}

/// Why a path cannot be a [`RelPath`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathProblem {
    /// It is empty.
    #[error("the path is empty")]
    Empty,
    /// It starts at the root of the file system.
    #[error("the path is absolute")]
    Absolute,
    /// It has a `..` segment.
    #[error("the path has a `..` segment")]
    Traversal,
    /// It is not in normal form: `.`, `//` or a trailing slash.
    #[error("the path is not in its normal form")]
    NotNormal,
    /// It contains a NUL byte.
    #[error("the path has a NUL byte")]
    Nul,
    /// It, or a name in it, is longer than the system allows.
    #[error("the path is too long")]
    TooLong,
    /// It leads into a state folder.
    #[error("the path leads into txedit's own state folder")]
    StateFolder,
}

impl RelPath {
    /// Validates `path`, which must be in normal form to the byte.
    pub fn new(path: impl AsRef<Path>) -> Result<Self, PathProblem> {
        let path = path.as_ref();
        Self::check(path)?;
        Ok(Self(path.into()))
    }

    fn check(path: &Path) -> Result<(), PathProblem> {
        let bytes = path.as_os_str().as_bytes();
        if bytes.is_empty() {
            return Err(PathProblem::Empty);
        }
        if bytes.contains(&0) {
            return Err(PathProblem::Nul);
        }
        if bytes.len() > limits::PATH_BYTES {
            return Err(PathProblem::TooLong);
        }
        if bytes[0] == b'/' {
            return Err(PathProblem::Absolute);
        }
        let mut is_in_git = false;
        for name in bytes.split(|b| *b == b'/') {
            match name {
                b"" | b"." => return Err(PathProblem::NotNormal),
                b".." => return Err(PathProblem::Traversal),
                _ if name.len() > limits::NAME_BYTES => return Err(PathProblem::TooLong),
                // In a folder that ignores case, any spelling leads there. For paths of journals no more is checked;
                // for those of requests, see `bounds::leads_to`.
                _ if name.eq_ignore_ascii_case(STATE_FOLDER.as_bytes()) => return Err(PathProblem::StateFolder),
                _ if is_in_git && name.eq_ignore_ascii_case(STATE_IN_GIT.as_bytes()) => {
                    return Err(PathProblem::StateFolder);
                }
                _ => is_in_git = name.eq_ignore_ascii_case(b".git"),
            }
        }
        Ok(())
    }

    /// Returns whether a path is in normal form to the byte.
    #[must_use]
    pub fn is_normal(path: &Path) -> bool {
        Self::check(path).is_ok()
    }

    /// Shares the text of `path` if it is in normal form.
    pub fn shared(path: &AskedPath) -> Result<Self, PathProblem> {
        Self::check(path)?;
        Ok(Self(Arc::clone(&path.0)))
    }

    /// The path as a caller might have written it.
    #[must_use]
    pub fn asked(&self) -> AskedPath {
        AskedPath(Arc::clone(&self.0))
    }

    /// Validates `path` after dropping `.` segments and doubled or trailing slashes.
    pub fn normalised(path: &Path) -> Result<Self, PathProblem> {
        // Most paths are normal already.
        if let Ok(normal) = Self::new(path) {
            return Ok(normal);
        }
        let mut normal = PathBuf::new();
        for component in path.components() {
            match component {
                Component::Normal(name) => normal.push(name),
                Component::CurDir => {}
                Component::ParentDir => return Err(PathProblem::Traversal),
                Component::RootDir | Component::Prefix(_) => return Err(PathProblem::Absolute),
            }
        }
        Self::new(normal)
    }

    /// The path for the standard library.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// The last name.
    #[must_use]
    pub fn name(&self) -> &OsStr {
        OsStr::from_bytes(self.halves().1)
    }

    /// The folder it is in; empty for the workspace itself.
    #[must_use]
    pub fn parent(&self) -> &Path {
        Path::new(OsStr::from_bytes(self.halves().0))
    }

    /// The parts before and after the last slash. The standard library would split the whole path to find it.
    fn halves(&self) -> (&[u8], &[u8]) {
        let bytes = self.0.as_os_str().as_bytes();
        memchr::memrchr(b'/', bytes).map_or((&[], bytes), |slash| (&bytes[..slash], &bytes[slash + 1..]))
    }

    /// Returns whether the two are the same path or one is beneath the other.
    #[must_use]
    pub fn touches(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0) || other.0.starts_with(&self.0)
    }
}

impl AsRef<Path> for RelPath {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

/// A text from an untrusted source as one line that cannot affect a terminal: control characters, and those that change
/// the direction of writing or end a line, are escaped.
#[must_use]
pub fn one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut line = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_escaped(c) {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    Cow::Owned(line)
}

/// Returns whether a character is escaped wherever a name is shown as text.
#[must_use]
pub fn is_escaped(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}')
}

/// A path for display, as [`one_line`]; a byte that is not UTF-8 is written as `\xff`.
#[must_use]
pub fn shown(path: &Path) -> String {
    one_line(&spelled(path)).into_owned()
}

/// A path as text: a byte that is not UTF-8 is written as `\xff`. With a replacement character instead, the path could be
/// that of another file; this one is refused where it is sent back.
pub(crate) fn spelled(path: &Path) -> String {
    let mut text = String::with_capacity(path.as_os_str().len());
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            // Writing to a string does not fail.
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// The number of names in a sentence.
const NAMED: usize = 8;

/// A list of names, cut to what fits in a sentence.
pub(crate) fn listed(all: &[String]) -> String {
    let named = all.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    match all.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

impl fmt::Debug for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_normal_paths_beneath_a_workspace_are_paths() {
        let problem = |p: &str| RelPath::new(p).err();
        assert_eq!(problem("a/b.rs"), None);
        assert_eq!(problem(""), Some(PathProblem::Empty));
        assert_eq!(problem("/a"), Some(PathProblem::Absolute));
        assert_eq!(problem("a/../b"), Some(PathProblem::Traversal));
        assert_eq!(problem("a//b"), Some(PathProblem::NotNormal));
        assert_eq!(problem("./a"), Some(PathProblem::NotNormal));
        assert_eq!(problem("a/"), Some(PathProblem::NotNormal));
        assert_eq!(problem("a\0b"), Some(PathProblem::Nul));
        assert_eq!(problem("sub/.txedit/id"), Some(PathProblem::StateFolder));
        assert_eq!(problem(".TxEdit"), Some(PathProblem::StateFolder));
        for path in [".git/txedit", "sub/.GIT/TxEdit/id"] {
            assert_eq!(problem(path), Some(PathProblem::StateFolder), "{path}");
        }
        for path in [".git/x/txedit", "txedit", ".gitx/txedit", ".git/txedit2"] {
            assert_eq!(problem(path), None, "{path}");
        }
        assert_eq!(problem(&"n".repeat(256)), Some(PathProblem::TooLong));
        assert_eq!(problem(&"a/".repeat(2_100)), Some(PathProblem::TooLong));
    }

    #[test]
    fn spelling_is_normalised_but_not_traversal() {
        assert_eq!(RelPath::normalised(Path::new("./a//b/")), RelPath::new("a/b"));
        assert_eq!(RelPath::normalised(Path::new("a/..")), Err(PathProblem::Traversal));
    }

    #[test]
    fn folder_and_name_are_what_the_standard_library_takes_them_for() {
        for text in ["a", "a/b", "a/b/c.rs", "naïve/ü", ".a/..b"] {
            let path = RelPath::new(text).unwrap();
            assert_eq!(Some(path.parent()), Path::new(text).parent(), "{text}");
            assert_eq!(Some(path.name()), Path::new(text).file_name(), "{text}");
        }
    }

    #[test]
    fn touching_is_by_whole_names() {
        let path = |p: &str| RelPath::new(p).unwrap();
        assert!(path("a/b").touches(&path("a")));
        assert!(path("a").touches(&path("a/b")));
        assert!(!path("ab").touches(&path("a")));
    }
}
