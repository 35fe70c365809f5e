//! Trying again beside a program that keeps writing: what names its places by text can be done on the new content as well.

use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind, Outcome};
use crate::request::edit::{Anchor, Edit};
use crate::request::{Change, FileRequest, IfExists, Request};

/// How often a request was tried, and whether it may be tried once more.
pub(in crate::engine) struct Attempts<'a> {
    request: &'a Request,
    is_checked: bool,
    most: usize,
    until: Instant,
    made: usize,
}

impl<'a> Attempts<'a> {
    /// It is tried for as long as it would wait for a lock.
    pub(in crate::engine) fn new(request: &'a Request, is_checked: bool, most: usize, timeout: Duration) -> Self {
        let now = Instant::now();
        Self { request, is_checked, most, until: now.checked_add(timeout).unwrap_or(now), made: 1 }
    }

    pub(in crate::engine) const fn made(&self) -> usize {
        self.made
    }

    /// Whether another attempt may come to another end than this one, and counts it.
    pub(in crate::engine) fn has_another(&mut self, error: &Error) -> bool {
        let may = self.made < self.most
            && Instant::now() < self.until
            && self.left_everything(error)
            && self.request.files.iter().all(is_for_any_content)
            && error.file().is_none_or(|file| self.request.files[file].expected_hash.is_none());
        self.made += usize::from(may);
        may
    }

    /// Whether somebody else was quicker, and nothing is left of this attempt. A check is not run twice.
    fn left_everything(&self, error: &Error) -> bool {
        let is_clean = match error.outcome() {
            Outcome::Unchanged => true,
            Outcome::RolledBack => !self.is_checked,
            _ => false,
        };
        error.kind() == ErrorKind::ConcurrentModification && is_clean && error.kept().is_empty()
    }
}

/// Whether a request for this file means the same, whatever somebody wrote into it meanwhile: it looks for texts, takes
/// the file as it is, wants none to be there, or says itself which content it is for.
fn is_for_any_content(file: &FileRequest) -> bool {
    let by_text = |edits: &[Edit]| {
        edits.iter().all(|edit| match &edit.anchor {
            Anchor::Text { .. } => true,
            Anchor::Hunk(hunk) => !hunk.only_there,
            Anchor::Range { .. } | Anchor::Span { .. } => false,
        })
    };
    file.expected_hash.is_some()
        || match &file.change {
            Change::Edit { edits, rename } => {
                by_text(edits) && rename.as_ref().is_none_or(|rename| rename.if_exists == IfExists::Fail)
            }
            Change::Copy { edits, .. } => by_text(edits),
            Change::Write { if_exists, .. } => *if_exists == IfExists::Fail,
            Change::Rename(rename) => rename.if_exists == IfExists::Fail,
            Change::Mode => true,
            Change::Delete => false,
        }
}
