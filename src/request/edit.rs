//! One replacement in one file.

use std::ops::Range;

/// One replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// What it looks for.
    pub anchor: Anchor,
    /// What takes its place.
    pub replacement: Vec<u8>,
}

/// What an edit looks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Anchor {
    /// A text, wherever it stands.
    Text {
        /// The text; not empty.
        text: Vec<u8>,
        /// How often it must be there.
        count: Count,
    },
    /// A place, and the text that must stand there, to the byte. Counted in the content that the edits before left.
    Range {
        /// The place in bytes.
        range: Range<usize>,
        /// What must stand there; as long as the range.
        expected: Vec<u8>,
    },
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
