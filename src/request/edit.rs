//! One replacement in one file.

use std::ops::Range;

/// One replacement.
///
/// ```
/// use txedit::{Anchor, Count, Edit, Engine, Matching, Request, Run};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # std::fs::write(root.join("a.txt"), "one \ntwo two\n")?;
/// let twice = Anchor::Text { text: b"two".to_vec(), count: Count::Exactly(2), matching: Matching::Exact };
/// let request = Request::new()
///     .edit("a.txt", Edit { anchor: twice, replacement: b"2".to_vec() })
///     .edit("a.txt", Edit::replace("one\n2 2\n", "three\n").tolerant()); // But for the space at the end of a line.
/// Engine::open(root)?.apply(&request, Run::default())?;
/// assert_eq!(std::fs::read_to_string(root.join("a.txt"))?, "three\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The place of the edit.
    pub anchor: Anchor,
    /// The new text. For a hunk: all its new lines, as [`Hunk::into_edit`] joins them.
    pub replacement: Vec<u8>,
}

/// The place of an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Anchor {
    /// A text, wherever it occurs.
    Text {
        /// The text; not empty.
        text: Vec<u8>,
        /// The required number of matches.
        count: Count,
        /// The way of matching.
        matching: Matching,
    },
    /// A byte range, and the text that it must contain. Counted in the content after the previous edits.
    Range {
        /// The range in bytes.
        range: Range<usize>,
        /// The text that it must contain; as long as the range.
        expected: Vec<u8>,
    },
    /// A range by lines and characters, whatever it contains. Counted in the content after the previous edits.
    Span {
        /// Its start.
        start: Position,
        /// Its end.
        end: Position,
        /// The unit of a character.
        encoding: Encoding,
        /// True if both must be in the text. Otherwise a place beyond the end of a line, or of the text, means that end,
        /// as it does for editors.
        strict: bool,
    },
    /// Whole lines of a patch, found by their text.
    Hunk(Box<Hunk>),
}

impl Anchor {
    /// Whether it need not be there: the edit is left out then.
    #[must_use]
    pub const fn may_be_missing(&self) -> bool {
        matches!(self, Self::Text { count, .. } if count.may_be_none())
    }
}

/// The required number of matches of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Count {
    /// Exactly once.
    #[default]
    Once,
    /// Exactly once. If there are several matches, the error names those nearest to this line, from 1.
    OnceNear(usize),
    /// Exactly this many, at least one.
    Exactly(usize),
    /// One or more, all replaced.
    All,
    /// None, or exactly one.
    AtMostOnce,
    /// None, or more, all replaced.
    Any,
}

impl Count {
    /// Whether there may be no more than one match.
    #[must_use]
    pub const fn is_once(self) -> bool {
        matches!(self, Self::Once | Self::OnceNear(_) | Self::AtMostOnce)
    }

    /// Whether there need not be any match: the edit is left out then.
    #[must_use]
    pub const fn may_be_none(self) -> bool {
        matches!(self, Self::AtMostOnce | Self::Any)
    }

    /// The line, from 1, near which matches are named.
    #[must_use]
    pub const fn near_line(self) -> Option<usize> {
        if let Self::OnceNear(line) = self { Some(line) } else { None }
    }
}

/// The way in which a text is matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Matching {
    /// Byte for byte; only line breaks of either kind are alike.
    #[default]
    Exact,
    /// Exactly, or else ignoring trailing white space, or else also with a shifted indentation, or else also with
    /// punctuation that only looks the same. Each step must find as many places as required.
    Tolerant,
}

/// A position in a text as editors count: both from 0. `\n`, `\r\n` and a lone `\r` end lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The character in it.
    pub character: usize,
}

/// The unit of the characters of a [`Position`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Encoding {
    /// Bytes.
    Utf8,
    /// UTF-16 code units.
    #[default]
    Utf16,
    /// Unicode scalar values.
    Utf32,
}

/// A part of a patch: old lines, some of which are removed, and new lines.
///
/// Its place is found by the text of its old lines, never by similarity: it is the place that the hunk names, or else
/// the only other one where they occur.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "a patch says each of them, whatever it says of the others")]
pub struct Hunk {
    /// Its lines in order. All except the last old one and the last new one end in a line break.
    pub lines: Vec<HunkLine>,
    /// Its first old line, from 1, in the content before the first hunk of its section. If the old lines are there,
    /// other places are not considered, as long as no earlier hunk was found elsewhere than it said.
    pub line: Option<usize>,
    /// Lines that occur before it, in this order, perhaps with others in between; white space around them is ignored.
    pub headers: Vec<Vec<u8>>,
    /// True if it must be at the very start.
    pub at_start: bool,
    /// True if it must be at the very end; without old lines it is appended.
    pub at_end: bool,
    /// True if it may only be at `line`: it has no context that could identify another place.
    pub only_there: bool,
    /// True if its format cannot say that the last line has no line break: a file without one stays so.
    pub loose_end: bool,
    /// The number of its last lines that are empty and may only separate it from what follows: if the file does not
    /// have them there, they are ignored.
    pub loose_tail: usize,
    /// True if it belongs to the same section as the hunk before it: it comes after that one, and `line` moves with it.
    pub continues: bool,
    /// True if its format repeats an unchanged line on each of the two sides.
    pub repeats_context: bool,
    /// The way of matching its old lines.
    pub matching: Matching,
}

/// One line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HunkLine {
    /// The side that it is on.
    pub side: Side,
    /// The line with its line break.
    pub text: Vec<u8>,
}

/// The side of a patch that a line is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// A line that is removed.
    Old,
    /// A line that is added.
    New,
    /// A line that stays.
    Both,
}

impl Hunk {
    /// The lines that must be in the file.
    #[must_use]
    pub fn old(&self) -> Vec<u8> {
        self.text_but(Side::New)
    }

    /// The lines that replace them.
    #[must_use]
    pub fn new_text(&self) -> Vec<u8> {
        self.text_but(Side::Old)
    }

    fn text_but(&self, side: Side) -> Vec<u8> {
        self.lines.iter().filter(|line| line.side != side).flat_map(|line| line.text.iter().copied()).collect()
    }

    /// The number of lines of a side, including those of both.
    #[must_use]
    pub fn count(&self, side: Side) -> usize {
        self.lines.iter().filter(|line| line.side == side || line.side == Side::Both).count()
    }

    /// The hunk as an edit.
    #[must_use]
    pub fn into_edit(self) -> Edit {
        Edit { replacement: self.new_text(), anchor: Anchor::Hunk(Box::new(self)) }
    }
}
