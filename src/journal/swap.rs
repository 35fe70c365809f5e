//! How slots and targets change places, how a caller wants it, and what that means for the readers of the files.

/// The way in which new contents take the place of old ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Swap {
    /// The best that the file system can do.
    #[default]
    Auto,
    /// Two names change places in one step; where that cannot be, a commit fails.
    Exchange,
    /// The old file moves out of its name, then the new one takes it: for a moment a reader may find none.
    Aside,
    /// Like [`Auto`](Self::Auto), but a file that is a mount point, which no rename can replace, is overwritten: a reader may
    /// find a part of the new content, and other names and open handles of the file have it, too.
    InPlace,
}

impl Swap {
    /// Its word on the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Exchange => "exchange",
            Self::Aside => "aside",
            Self::InPlace => "in-place",
        }
    }
}

/// How a slot and a target change places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SwapMethod {
    /// One call exchanges both names.
    #[default]
    Exchange,
    /// The target moves out of its name, what is staged takes the name, if that is still free, and the target gets the name
    /// of the slot.
    Rename,
    /// The same where no rename can refuse to replace: what is staged gets its name as a second one.
    Link,
}

impl SwapMethod {
    /// The version of the journal of a transaction that uses it: a program that does not know it must not read the journal.
    #[must_use]
    pub const fn version(self) -> u64 {
        match self {
            Self::Exchange => 3,
            Self::Rename | Self::Link => 4,
        }
    }

    /// The word in journals; none for an exchange.
    #[must_use]
    pub const fn word(self) -> Option<&'static str> {
        match self {
            Self::Exchange => None,
            Self::Rename => Some("rename"),
            Self::Link => Some("link"),
        }
    }

    /// What a reader of the files can count on.
    #[must_use]
    pub const fn guarantee(self) -> Guarantee {
        match self {
            Self::Exchange => Guarantee::Exchange,
            Self::Rename | Self::Link => Guarantee::Aside,
        }
    }

    /// The method of a word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        [Self::Rename, Self::Link].into_iter().find(|method| method.word() == Some(word))
    }
}

/// What a reader of the files can count on while a transaction is committed. All or nothing, and that nobody's work is lost,
/// holds in each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Guarantee {
    /// Whoever opens a file finds the old or the new one.
    Exchange,
    /// Whoever opens a file finds the old one, the new one or, for a moment, none.
    Aside,
    /// Whoever reads a file that no rename can replace may find a part of the new content.
    InPlace,
}

impl Guarantee {
    /// Its word in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exchange => "exchange",
            Self::Aside => "aside",
            Self::InPlace => "in_place",
        }
    }
}
