//! Edits of bytes: pure functions, bytes in, bytes out.
//!
//! Only the ranges that an edit matches are changed: a byte-order mark, mixed line endings, a missing final newline and
//! bytes that are not UTF-8 stay as they are.

mod apply;
mod content;
pub mod diagnose;
pub mod diff;
pub mod encoded;
pub mod excerpt;
mod hunk;
mod inserted;
pub mod locate;
pub(crate) mod newline;
pub(crate) mod position;
pub mod rebase;
pub mod select;
pub mod splice;
mod tolerant;
#[cfg(any(test, feature = "cli"))]
pub(crate) mod words;

#[cfg(test)]
mod tests;

use crate::error::{Detail, ErrorKind};
use crate::index::EditIndex;
use crate::request::edit::Edit;
use splice::Splices;

/// The result of a list of edits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// All changes, relative to the content before the first edit.
    pub splices: Splices,
    /// The result of each edit.
    pub applied: Vec<Applied>,
}

/// The result of one edit.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Applied {
    /// The number of places it changed; 0 if a text is replaced by itself.
    pub replaced: usize,
    /// The line of each place, from 1, in the content after the previous edits; the first 100.
    pub lines: Vec<usize>,
    /// The way of matching that found them.
    pub match_kind: MatchKind,
}

/// A way of matching an anchor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum MatchKind {
    /// Byte for byte, line breaks of either kind alike.
    #[default]
    Exact,
    /// Ignores white space at the ends of lines.
    TrailingSpace,
    /// As before, and all lines may be indented differently by one shift.
    Indentation,
    /// As before, and characters that look the same are alike.
    LookAlikes,
}

impl MatchKind {
    /// All ways of matching.
    pub const ALL: [Self; 4] = [Self::Exact, Self::TrailingSpace, Self::Indentation, Self::LookAlikes];

    /// The word in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::TrailingSpace => "trailing_white_space",
            Self::Indentation => "indentation",
            Self::LookAlikes => "look_alikes",
        }
    }
}

/// Why an edit cannot be applied. Nothing was changed: edits work on copies.
#[derive(Debug, Clone)]
pub struct RefusedEdit {
    /// The index of the edit, from 0.
    pub edit: EditIndex,
    /// The kind of error.
    pub kind: ErrorKind,
    /// The message for the reader.
    pub message: String,
    /// What was found instead.
    pub detail: Detail,
}

/// The number of matches of `anchor` in `base`: line breaks of either kind are alike, and matches do not overlap.
#[must_use]
pub fn count(base: &[u8], anchor: &[u8]) -> usize {
    let mut count = 0;
    if !anchor.is_empty() {
        locate::Needle::new(anchor).each_in_text(base, locate::OverlapRule::Skipped, |_| {
            count += 1;
            std::ops::ControlFlow::Continue(())
        });
    }
    count
}

/// Applies `edits` to `base` in order, each to the result of the one before.
///
/// A line break in a text anchor, LF or CRLF, matches a line break of either kind, and each replacement takes the line
/// ending of the text it replaces; if that has none, the ending of its line, else the one before. So a text edit cannot
/// change line endings; a range edit can: its replacement is used as written.
///
/// The base is never copied: memory is needed for the replacements and a few words per place. Only to explain an anchor
/// that was not found, the content after the previous edits is assembled once.
pub fn edit(base: &[u8], edits: &[Edit]) -> Result<Edited, RefusedEdit> {
    apply::edit(base, edits)
}
