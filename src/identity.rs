//! What tells one inode from another, also from a later one with the same number.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

/// A time of a file, in the file system's own clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    /// Seconds since 1970.
    pub seconds: i64,
    /// Nanoseconds of the second, and one: the absence of a time takes no room of its own.
    nanos: NonZeroU32,
}

impl Timestamp {
    /// So many seconds since 1970, and so many nanoseconds.
    #[must_use]
    pub const fn new(seconds: i64, nanos: u32) -> Self {
        Self { seconds, nanos: NonZeroU32::MIN.saturating_add(nanos) }
    }

    /// Nanoseconds of the second.
    #[must_use]
    pub const fn nanos(self) -> u32 {
        self.nanos.get() - 1
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}", self.seconds, self.nanos())
    }
}

impl FromStr for Timestamp {
    type Err = NotATimestamp;

    fn from_str(text: &str) -> Result<Self, NotATimestamp> {
        let (seconds, nanos) = text.split_once('.').ok_or(NotATimestamp)?;
        if nanos.len() != 9 || !nanos.bytes().all(|b| b.is_ascii_digit()) {
            return Err(NotATimestamp);
        }
        let seconds = seconds.parse().map_err(|_| NotATimestamp)?;
        let parsed = Self::new(seconds, nanos.parse().map_err(|_| NotATimestamp)?);
        // One spelling for one time: `+1` and `01` are no numbers here.
        if parsed.to_string() == text { Ok(parsed) } else { Err(NotATimestamp) }
    }
}

/// What [`Timestamp::from_str`] answers to anything but seconds, a dot and nine digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a time is seconds since 1970, a dot and nine digits")]
pub struct NotATimestamp;

/// Which inode something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The inode number.
    pub inode: u64,
    /// The birth time; `None` where the file system keeps none.
    pub born: Option<Timestamp>,
}

impl Identity {
    /// What is recorded of a folder, to know it again after a remount: the number 0, which no folder has, where the file
    /// system does not keep the numbers of folders, and the birth time tells.
    #[must_use]
    pub const fn to_record(self, keeps_numbers: bool) -> Self {
        if keeps_numbers || self.born.is_none() { self } else { Self { inode: 0, ..self } }
    }

    /// Whether a folder is the one of which this was recorded.
    #[must_use]
    pub fn is_record_of(&self, folder: &Self) -> bool {
        let is_number = self.inode == folder.inode || self.inode == 0 && self.born.is_some();
        is_number && self.born == folder.born
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_one_spelling() {
        let time = Timestamp::new(1_763_766_899, 5);
        assert_eq!(time.to_string(), "1763766899.000000005");
        assert_eq!("1763766899.000000005".parse(), Ok(time));
        assert_eq!("-1.000000000".parse(), Ok(Timestamp::new(-1, 0)));
        for other in ["1", "1.5", "01.000000000", "+1.000000000", "1.00000000x", ""] {
            assert_eq!(other.parse::<Timestamp>(), Err(NotATimestamp), "{other}");
        }
    }
}
