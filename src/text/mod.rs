//! Edits of bytes: pure functions, bytes in, bytes out.
//!
//! Only the ranges that an edit matches are ever changed: a byte-order mark, mixed line endings, a missing final newline
//! and bytes that are not UTF-8 stay as they are.

mod apply;
mod content;
pub mod diagnose;
pub mod diff;
pub mod excerpt;
mod hunk;
pub mod locate;
pub(crate) mod newline;
pub(crate) mod position;
pub mod rebase;
pub mod splice;
mod tolerant;

#[cfg(test)]
mod tests;

use crate::error::{Detail, ErrorKind};
use crate::request::edit::Edit;
use splice::Splices;

/// What a list of edits does to a content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// All of it, against the content before the first edit.
    pub splices: Splices,
    /// One for each edit.
    pub applied: Vec<Applied>,
}

/// What one edit did.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Applied {
    /// How many places it changed: none where a text is replaced by itself.
    pub replaced: usize,
    /// The line of each place, from 1, in the content that the edits before left; the first 100.
    pub lines: Vec<usize>,
    /// Which way of matching found them.
    pub match_kind: MatchKind,
}

/// Which way of matching found an anchor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum MatchKind {
    /// Byte for byte, line breaks of either kind alike.
    #[default]
    Exact,
    /// But for white space at the ends of lines.
    TrailingSpace,
    /// But for that, and one shift of the indentation of all lines.
    Indentation,
    /// But for that, and characters that only look the same.
    LookAlikes,
}

impl MatchKind {
    /// All of them.
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
    /// The edit, from 0.
    pub edit: usize,
    /// What is wrong.
    pub kind: ErrorKind,
    /// The sentence for the reader.
    pub message: String,
    /// What is there instead.
    pub detail: Detail,
}

/// How often a text edit would find `anchor` in `base`: line breaks of either kind are alike, and no two share bytes.
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

/// Applies `edits` to `base` in order, each on the result of the one before.
///
/// A line break in a text anchor, LF or CRLF, matches a line break of either kind, and each replacement takes the line
/// ending of the text it replaces; where that has none, the ending of its line, else the one before. So a text edit
/// cannot change line endings; a range edit can: its replacement is used as it is written.
///
/// The base is never copied: memory is needed for the replacements and for a few words a place. Only to explain an
/// anchor that was not found, the content that the edits before left is put together once.
pub fn edit(base: &[u8], edits: &[Edit]) -> Result<Edited, RefusedEdit> {
    apply::edit(base, edits)
}
