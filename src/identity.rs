//! The identity of an inode, which distinguishes it even from a later one with the same number.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

/// A time of a file, in the file system's own clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    /// Seconds since 1970.
    pub seconds: i64,
    /// Nanoseconds of the second, plus one, so that an absent time takes no additional space.
    nanos: NonZeroU32,
}

impl Timestamp {
    /// The time this many seconds and nanoseconds after the start of 1970.
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
        // A time has one spelling: `+1` and `01` are refused.
        if parsed.to_string() == text { Ok(parsed) } else { Err(NotATimestamp) }
    }
}

/// The error of [`Timestamp::from_str`] for anything but seconds, a dot and nine digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a time is seconds since 1970, a dot and nine digits")]
pub struct NotATimestamp;

/// The identity of an inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The inode number.
    pub inode: u64,
    /// The birth time; `None` if the file system has none.
    pub born: Option<Timestamp>,
}

impl Identity {
    /// The identity to record for a folder, so that it is recognised after a remount: if the file system does not keep
    /// the numbers of folders, the number 0, which no folder has, and the birth time.
    #[must_use]
    pub const fn to_record(self, keeps_numbers: bool) -> Self {
        if keeps_numbers || self.born.is_none() { self } else { Self { inode: 0, ..self } }
    }

    /// Returns whether this was recorded for the given folder.
    #[must_use]
    pub fn is_record_of(&self, folder: &Self) -> bool {
        let is_number = self.inode == folder.inode || self.inode == 0 && self.born.is_some();
        is_number && self.born == folder.born
    }

    /// The identity to record where no number lasts as long as a file or folder: the number 0, and the birth time, if there
    /// is one.
    #[must_use]
    pub const fn without_number(self) -> Self {
        Self { inode: 0, ..self }
    }

    /// Returns whether a file may be the one that this was recorded for: without a number the birth time has to tell, and
    /// without that nothing does.
    #[must_use]
    pub fn fits(&self, file: &Self) -> bool {
        match self.inode {
            0 => self.born.is_none() || self.born == file.born,
            _ => self == file,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_number_is_told_by_its_birth_time_alone() {
        let born = |seconds| Some(Timestamp::new(seconds, 0));
        let [one, other] = [1, 2].map(|inode| Identity { inode, born: born(5) });
        assert!(one.fits(&one) && !one.fits(&other));
        assert!(one.without_number().fits(&other));
        assert!(!one.without_number().fits(&Identity { born: born(6), ..one }));
        let nothing = Identity { inode: 1, born: None }.without_number();
        assert!(nothing.fits(&one));
        // Of a folder that has neither nothing is known: a proof elsewhere has to tell.
        assert!(!nothing.is_record_of(&one) && !nothing.is_record_of(&Identity { inode: 7, born: None }));
    }

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
