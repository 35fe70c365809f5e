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
    /// What it looks for.
    pub anchor: Anchor,
    /// What takes its place. Of a hunk: all its new lines, as [`Hunk::into_edit`] puts them together.
    pub replacement: Vec<u8>,
}

/// What an edit looks for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Anchor {
    /// A text, wherever it stands.
    Text {
        /// The text; not empty.
        text: Vec<u8>,
        /// How often it must be there.
        count: Count,
        /// How it is compared.
        matching: Matching,
    },
    /// A place, and the text that must stand there, to the byte. Counted in the content that the edits before left.
    Range {
        /// The place in bytes.
        range: Range<usize>,
        /// What must stand there; as long as the range.
        expected: Vec<u8>,
    },
    /// A place by lines and characters, whatever stands there. Counted in the content that the edits before left.
    Span {
        /// Where it starts.
        start: Position,
        /// Where it ends.
        end: Position,
        /// What a character is.
        encoding: Encoding,
    },
    /// Whole lines of a patch, found by their text.
    Hunk(Box<Hunk>),
}

/// How often a text must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Count {
    /// Exactly once.
    #[default]
    Once,
    /// Exactly so many times, at least one.
    Exactly(usize),
    /// Once or more, all replaced.
    All,
}

/// How a text is compared with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Matching {
    /// Byte for byte; only line breaks of either kind are alike.
    #[default]
    Exact,
    /// Exactly, or else without trailing white space, or else also shifted in its indentation, or else also with
    /// punctuation that only looks the same. Each step must find as many places as are asked for.
    Tolerant,
}

/// A place in a text, as editors count: both from 0. `\n`, `\r\n` and a lone `\r` end lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The character in it; beyond its end, the end is meant.
    pub character: usize,
}

/// What the characters of a [`Position`] are.
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

/// A part of a patch: lines that are there, some of which go, and lines that come.
///
/// It is placed by the text of its old lines, never by similarity: where it is said to be, or else at the only other
/// place where they stand.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "a patch says each of them, whatever it says of the others")]
pub struct Hunk {
    /// Its lines in order. All but the last old one and the last new one end in a line break.
    pub lines: Vec<HunkLine>,
    /// Its first old line, from 1, in the content that the first hunk of its section finds. A place where the old lines
    /// stand is taken without a look at others, as long as no hunk before it was found elsewhere than it said.
    pub line: Option<usize>,
    /// Lines that stand before it, in this order, perhaps with others between them; white space around them says
    /// nothing.
    pub headers: Vec<Vec<u8>>,
    /// Whether it must be at the very start.
    pub at_start: bool,
    /// Whether it must be at the very end; without old lines it goes there.
    pub at_end: bool,
    /// Whether it may be nowhere but at `line`: it has no context by which another place could be told.
    pub only_there: bool,
    /// Whether its format cannot say that the last line has no line break: if that of the file has none, it stays so.
    pub loose_end: bool,
    /// How many of its last lines are empty ones that may only set it off from what follows: where they do not stand in
    /// the file with the others, they are left out.
    pub loose_tail: usize,
    /// Whether it belongs to the same section as the hunk before it: it is behind that one, and `line` moves with it.
    pub continues: bool,
    /// Whether its format writes a line that stays on each of the two sides.
    pub repeats_context: bool,
    /// How its old lines are compared.
    pub matching: Matching,
}

/// One line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HunkLine {
    /// On which side it stands.
    pub side: Side,
    /// The line with its line break.
    pub text: Vec<u8>,
}

/// The side of a patch that a line stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// It goes.
    Old,
    /// It comes.
    New,
    /// It stays.
    Both,
}

impl Hunk {
    /// The lines that must be there.
    #[must_use]
    pub fn old(&self) -> Vec<u8> {
        self.text_but(Side::New)
    }

    /// The lines that will be there.
    #[must_use]
    pub fn new_text(&self) -> Vec<u8> {
        self.text_but(Side::Old)
    }

    fn text_but(&self, side: Side) -> Vec<u8> {
        self.lines.iter().filter(|line| line.side != side).flat_map(|line| line.text.iter().copied()).collect()
    }

    /// How many lines of a side there are, those of both included.
    #[must_use]
    pub fn count(&self, side: Side) -> usize {
        self.lines.iter().filter(|line| line.side == side || line.side == Side::Both).count()
    }

    /// The edit that it is.
    #[must_use]
    pub fn into_edit(self) -> Edit {
        Edit { replacement: self.new_text(), anchor: Anchor::Hunk(Box::new(self)) }
    }
}
