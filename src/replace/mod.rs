//! Replaces a text or a pattern in all files of a tree: the matches become one request.
//!
//! Each changed file carries the hash of the content that was searched, so a file that changes in between fails the
//! request.

mod lines;
mod named;
mod pattern;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::cancel::CancelToken;
use crate::digest::Digest;
use crate::error::{Correction, Error, ErrorKind, NextStep, Result};
use crate::fs::walk::{self, SearchTree};
use crate::path::bounds::Barred;
use crate::request::fingerprint::made_by;
use crate::request::{Change, FileRequest, IfMissing, Request};

pub use pattern::{Pattern, Query};

/// Limits of a replacement.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReplaceGuard {
    /// The number of matches that there must be in all.
    pub expected_matches: Option<usize>,
    /// The most files that may change.
    pub max_files: Option<usize>,
    /// Whether it is a failure that there is no match, unless the number of matches is given.
    pub if_missing: IfMissing,
}

/// The result of a search.
#[derive(Debug, Clone, Default)]
pub struct Replacements {
    /// The request for the replacement; its files are those in `files`, in the same order.
    pub request: Request,
    /// Each file that changes, with the number of its matches.
    pub files: Vec<(PathBuf, usize)>,
    /// The number of files searched.
    pub searched: usize,
    /// The number of files skipped because they contain a NUL byte.
    pub binary: usize,
    /// The number of files and folders skipped because they are out of bounds.
    pub barred: usize,
    /// The reason for the first of them.
    pub why_barred: Option<Barred>,
    /// Errors of reading.
    pub warnings: Vec<String>,
}

impl AsRef<Request> for Replacements {
    fn as_ref(&self) -> &Request {
        &self.request
    }
}

impl Replacements {
    /// The number of all matches.
    #[must_use]
    pub fn matches(&self) -> usize {
        self.files.iter().map(|(_, matches)| matches).sum()
    }
}

/// The digest for [`Request::made_by`] of a search whose request has this idempotency key.
#[must_use]
pub fn digest(key: &str, query: &Query, tree: &SearchTree, guard: ReplaceGuard) -> Digest {
    let paths = tree.paths.iter().map(|path| path.strip_prefix(&tree.root).unwrap_or(path).as_os_str().as_bytes());
    let base = tree.base.strip_prefix(&tree.root).unwrap_or(&tree.base);
    let ReplaceGuard { expected_matches, max_files, if_missing } = guard;
    let number = |limit: Option<usize>| limit.map_or_else(String::new, |limit| limit.to_string());
    // The bytes must never change: a retry is recognised across versions of the program.
    let skips = if_missing == IfMissing::Skip;
    let limits = format!("{} {} {skips} {}", number(expected_matches), number(max_files), tree.hidden);
    let fields =
        [&b"search"[..]].into_iter().chain(query.fields()).chain([limits.as_bytes(), base.as_os_str().as_bytes()]);
    // No path has a NUL.
    made_by(key, fields.chain(paths).chain([&b"\0"[..]]).chain(tree.globs.iter().map(String::as_bytes)))
}

/// Searches a tree, and builds the request. Nothing is changed. An error if nothing is found, or the guard's limits are
/// not met.
///
/// ```
/// use txedit::search::{Query, ReplaceGuard, SearchTree, search};
/// use txedit::{CancelToken, Engine, Run};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # std::fs::write(root.join("a.txt"), "old older\n")?;
/// # std::fs::write(root.join("b.txt"), "old\n")?;
/// let engine = Engine::open(root)?;
/// let query = Query { pattern: "old".into(), replacement: "new".into(), word: true, ..Query::default() };
/// let root = engine.root().to_owned();
/// let tree = SearchTree { base: root.clone(), root, ..SearchTree::default() };
/// let guard = ReplaceGuard { expected_matches: Some(2), ..ReplaceGuard::default() };
///
/// let found = search(&query, &tree, guard, &CancelToken::new())?;
/// assert_eq!((found.files.len(), found.matches()), (2, 2));
/// engine.apply(&found.request, Run::default())?;
/// assert_eq!(std::fs::read_to_string(engine.root().join("a.txt"))?, "new older\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn search(query: &Query, tree: &SearchTree, guard: ReplaceGuard, cancel: &CancelToken) -> Result<Replacements> {
    let pattern = Pattern::new(query)?;
    let look = |content: &[u8]| {
        let edits = pattern.edits(content);
        (!edits.is_empty()).then(|| (Digest::of(content), Pattern::count(&edits), edits))
    };
    let walked = walk::search(tree, &look, cancel)?;
    let mut found = Replacements {
        searched: walked.searched,
        binary: walked.binary,
        barred: walked.barred,
        why_barred: walked.why_barred,
        warnings: walked.warnings,
        ..Replacements::default()
    };
    let by_path: BTreeMap<_, _> = walked.found.into_iter().collect();
    for (path, (digest, matches, edits)) in by_path {
        found.files.push((path.clone(), matches));
        let change = Change::Edit { edits, rename: None };
        found.request.files.push(FileRequest::new(path, change).expect(digest));
    }
    if !guard.may_find_nothing(&found) {
        check_searched(&found, tree)?;
    }
    guard.check(&found)?;
    Ok(found)
}

/// Verifies that there was anything to search.
fn check_searched(found: &Replacements, tree: &SearchTree) -> Result<()> {
    if found.searched + found.binary > 0 {
        return Ok(());
    }
    // The path is not named: the caller must not learn whether the file exists, either.
    if let Some(why) = &found.why_barred {
        let error = Error::new(ErrorKind::PathDenied, format!("nothing was searched: the place {why}"));
        return Err(error.with_next(NextStep::to_allow(why)));
    }
    let mut message = match tree.globs.as_slice() {
        [] => "nothing was searched: there are no files that are neither ignored nor hidden".to_owned(),
        globs => format!("nothing was searched: no file matches {}", globs.join(", ")),
    };
    if let Some(warning) = found.warnings.first() {
        let _ = write!(message, "; {warning}");
    }
    Err(Error::new(ErrorKind::MatchNotFound, message).with_next([NextStep::Correct(Correction::SearchOther)]))
}

impl ReplaceGuard {
    /// Returns whether it is no failure if there is no match. What could not be searched may have one.
    fn may_find_nothing(self, found: &Replacements) -> bool {
        match self.expected_matches {
            Some(expected) => expected == 0,
            None => self.if_missing == IfMissing::Skip && found.warnings.is_empty() && found.why_barred.is_none(),
        }
    }

    fn check(self, found: &Replacements) -> Result<()> {
        let (files, matches) = (found.files.len(), found.matches());
        if let Some(expected) = self.expected_matches.filter(|expected| *expected != matches) {
            let message = format!("the pattern was found {matches} times in {files} files, expected {expected}");
            return Err(Error::new(ErrorKind::MatchCountMismatch, message));
        }
        if matches == 0 && !self.may_find_nothing(found) {
            let mut message = format!(
                "the pattern was not found in {} files ({} binary ones were skipped)",
                found.searched, found.binary
            );
            if found.barred > 0 {
                let _ = match found.barred {
                    1 => write!(message, "; 1 file or folder is denied, and was not searched"),
                    barred => write!(message, "; {barred} files or folders are denied, and were not searched"),
                };
            }
            if let Some(warning) = found.warnings.first() {
                let _ = write!(message, "; not searched: {warning}");
            }
            return Err(Error::new(ErrorKind::MatchNotFound, message));
        }
        if let Some(most) = self.max_files.filter(|most| files > *most) {
            let message = format!("{files} files would change, more than the {most} that may");
            return Err(Error::new(ErrorKind::RequestTooLarge, message)
                .with_next([NextStep::Correct(Correction::NarrowSearch)]));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Journals contain it: if this fails, keys of older versions are no longer recognised.
    #[test]
    fn the_digest_of_a_search_stays_the_same_from_version_to_version() {
        let query = Query { pattern: "old".into(), replacement: "new".into(), regex: false, word: true };
        let guard = ReplaceGuard { expected_matches: Some(2), max_files: None, if_missing: IfMissing::Skip };
        let tree = SearchTree {
            root: "/w".into(),
            base: "/w/sub".into(),
            paths: vec!["/w/sub/a".into()],
            globs: vec!["*.rs".into()],
            ..SearchTree::default()
        };
        let expected = "80d3498c67c55d4c2c4ef0fccc36dfbfa378f0cc08b1d508bef2b6b651478495";
        assert_eq!(digest("k", &query, &tree, guard).to_hex(), expected);
    }
}
