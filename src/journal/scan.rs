//! Decodes records. A journal is untrusted input: if anything does not verify, all of it is refused.

use std::collections::HashSet;
use std::io::{self, BufRead, Read as _};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::record::{Chain, EntryLine, HAS_PARTS, HeaderLine, OVERWRITES, SealLine};
use super::{Header, Journal, JournalState, Record, VERSION};
use crate::digest::Digest;
use crate::index::{EntryIndex, IndexVec};
use crate::limits;
use crate::path::RelPath;

/// Why bytes are not a journal that can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Corrupt {
    /// The last line is incomplete, or the seal is missing: the file was cut short.
    #[error("it ends in line {line} before its seal")]
    Torn {
        /// The line, from 1.
        line: usize,
    },
    /// A line does not have the expected digest.
    #[error("line {line} does not have the digest that stands before it")]
    Digest {
        /// The line, from 1.
        line: usize,
    },
    /// Bytes that are no line of a journal.
    #[error("line {line}: expected {expected}")]
    NoLine {
        /// The line, from 1.
        line: usize,
        /// What a line is.
        expected: &'static str,
    },
    /// A line verifies, but is not the expected one.
    #[error("line {line}: expected {expected}")]
    Unexpected {
        /// The line, from 1.
        line: usize,
        /// The expected line.
        expected: String,
    },
    /// It was written in another version.
    #[error("it has version {0}; this program reads versions 1 to {VERSION}")]
    Version(u64),
}

impl Corrupt {
    /// Returns whether a power loss, before its bytes were durable, can have left it so: no line that verifies is wrong.
    #[must_use]
    pub const fn is_torn(&self) -> bool {
        match self {
            Self::Torn { .. } | Self::Digest { .. } | Self::NoLine { .. } => true,
            Self::Unexpected { .. } | Self::Version(_) => false,
        }
    }
}

/// Returns whether a journal that does not verify is none: nothing was swapped before its bytes were durable. Any other is
/// damaged.
#[must_use]
pub fn is_no_journal(state: JournalState, corrupt: &Corrupt) -> bool {
    state == JournalState::New && corrupt.is_torn()
}

/// Why a journal could not be read.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableJournal {
    /// Its bytes are not a valid journal.
    #[error(transparent)]
    Corrupt(#[from] Corrupt),
    /// Its bytes could not be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Verifies and reads a whole journal.
pub fn scan(bytes: &[u8]) -> Result<Journal, Corrupt> {
    read(bytes).map_err(|error| match error {
        UnreadableJournal::Corrupt(corrupt) => corrupt,
        UnreadableJournal::Io(_) => unreachable!("bytes in memory are there"),
    })
}

/// The same from a stream; the journal is never in memory as a whole.
pub fn read(from: impl BufRead) -> Result<Journal, UnreadableJournal> {
    match read_if(from, |_| true, 0)? {
        Extract::Whole(journal) => Ok(journal),
        Extract::Beginning(_) => unreachable!("all of it is wanted"),
    }
}

/// A journal, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Extract {
    /// All of it.
    Whole(Journal),
    /// The first lines.
    Beginning(Beginning),
}

/// The first lines of a journal, each verified. Whether the rest verifies is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beginning {
    /// The first line.
    pub header: Header,
    /// The first entries.
    pub entries: IndexVec<EntryIndex, Record>,
    /// True if more lines than the seal follow.
    pub has_more: bool,
}

/// Reads the header, then the whole journal if it is `wanted`, else at most `few` of its entries. The journal of an
/// unrelated transaction can be long: what is needed from it must not cost more than that.
pub fn read_if(
    from: impl BufRead,
    wanted: impl FnOnce(&Header) -> bool,
    few: usize,
) -> Result<Extract, UnreadableJournal> {
    let mut lines = JournalLines::new(from);
    let header = lines.header()?;
    if wanted(&header) {
        return lines.whole(header).map(Extract::Whole);
    }
    let mut entries = IndexVec::default();
    while let (json, false) = lines.next()? {
        if entries.len() == few {
            return Ok(Extract::Beginning(Beginning { header, entries, has_more: true }));
        }
        let (slot, line) = (entries.next_index(), entries.len() + 2);
        let record = parse::<EntryLine<'_>>(json, line, "an entry")?;
        entries.push(record.read(slot, header.version).map_err(|e| unexpected(line, e))?);
    }
    Ok(Extract::Beginning(Beginning { header, entries, has_more: false }))
}

/// Verifies and reads only the header. It tells where and by whom the journal was written, and nothing about its
/// entries.
pub fn header(from: impl BufRead) -> Result<Header, UnreadableJournal> {
    JournalLines::new(from).header()
}

/// The paths that can still be read of a journal that does not verify, among its first `most` entries. Whether a line has
/// its digest does not count: they are only used to leave files alone, and a path that is damaged hides no other.
pub(crate) fn remains(mut from: impl BufRead, most: usize) -> io::Result<Vec<RelPath>> {
    let (mut paths, mut text) = (Vec::new(), Vec::new());
    // The header and the seal are no entries.
    for _ in 0..most.saturating_add(2) {
        text.clear();
        let room = limits::JOURNAL_LINE_BYTES as u64;
        if from.by_ref().take(room).read_until(b'\n', &mut text)? == 0 {
            break;
        }
        let json = text.get(DIGITS + 1..).unwrap_or_default();
        if let Ok(entry) = serde_json::from_slice::<EntryLine<'_>>(json) {
            paths.extend(entry.path().ok());
        }
    }
    Ok(paths)
}

/// The hexadecimal digits of a digest.
const DIGITS: usize = 64;

/// Reads and verifies line by line.
struct JournalLines<R> {
    from: R,
    /// The last line.
    text: Vec<u8>,
    line: usize,
    chain: Chain,
}

impl<R: BufRead> JournalLines<R> {
    fn new(from: R) -> Self {
        Self { from, text: Vec::new(), line: 0, chain: Chain::default() }
    }

    fn header(&mut self) -> Result<Header, UnreadableJournal> {
        let (first, _) = self.next()?;
        check_version(first)?;
        Ok(parse::<HeaderLine>(first, 1, "a header")?.read().map_err(|e| unexpected(1, e))?)
    }

    /// Reads the lines after the header, to the end.
    fn whole(mut self, header: Header) -> Result<Journal, UnreadableJournal> {
        let mut entries = IndexVec::<EntryIndex, Record>::default();
        let mut paths = HashSet::new();
        loop {
            let line = self.line + 1;
            let (json, is_last) = self.next()?;
            if is_last {
                let seal: SealLine = parse(json, line, "the seal").map_err(|_| Corrupt::Torn { line })?;
                if seal.sealed != entries.len() as u64 {
                    return Err(unexpected(line, "the number of entries in the seal").into());
                }
                let overwrites = entries.iter().any(|record| record.change.overwrites());
                let is_of_version = header.version == HAS_PARTS || (header.version == OVERWRITES) == overwrites;
                if !is_of_version || overwrites && !seal.back_on_crash {
                    return Err(
                        unexpected(line, "the version, and the seal, of a journal that overwrites files").into()
                    );
                }
                return Ok(Journal { header, entries, back_on_crash: seal.back_on_crash });
            }
            if entries.len() >= limits::ENTRIES {
                return Err(unexpected(line, "the seal: there are too many entries").into());
            }
            let record = parse::<EntryLine<'_>>(json, line, "an entry")?;
            let record = record.read(entries.next_index(), header.version).map_err(|e| unexpected(line, e))?;
            if !paths.insert(record.path.clone()) {
                return Err(unexpected(line, "a path that no other entry has").into());
            }
            entries.push(record);
        }
    }

    /// The JSON of the next line, and whether it is the last.
    fn next(&mut self) -> Result<(&[u8], bool), UnreadableJournal> {
        self.line += 1;
        let line = self.line;
        self.text.clear();
        let mut is_whole = false;
        while !is_whole {
            is_whole = self.take_some()?;
            if self.text.len() > limits::JOURNAL_LINE_BYTES {
                return Err(Corrupt::NoLine { line, expected: "a line of a bounded length" }.into());
            }
        }
        let is_last = self.from.fill_buf()?.is_empty();
        let (digits, json) = match self.text.get(..DIGITS).zip(self.text.get(DIGITS + 1..)) {
            Some(parts) if self.text[DIGITS] == b' ' => parts,
            _ => return Err(Corrupt::NoLine { line, expected: "64 hex digits, a space and a JSON object" }.into()),
        };
        let written = std::str::from_utf8(digits).ok().and_then(|d| d.parse::<Digest>().ok());
        if written != Some(self.chain.next(json)) {
            return Err(Corrupt::Digest { line }.into());
        }
        Ok((json, is_last))
    }

    /// Takes the available bytes of the line; `true` once it is complete.
    fn take_some(&mut self) -> Result<bool, UnreadableJournal> {
        let buffer = self.from.fill_buf()?;
        if buffer.is_empty() {
            return Err(Corrupt::Torn { line: self.line }.into());
        }
        let end = memchr::memchr(b'\n', buffer);
        let taken = &buffer[..end.unwrap_or(buffer.len())];
        self.text.extend_from_slice(taken);
        let length = taken.len() + usize::from(end.is_some());
        self.from.consume(length);
        Ok(end.is_some())
    }
}

/// Checks the version before everything else, so that a later version is reported as such and not as corrupt.
fn check_version(json: &[u8]) -> Result<(), Corrupt> {
    #[derive(serde::Deserialize)]
    struct Versioned {
        txedit: u64,
    }
    match serde_json::from_slice(json) {
        Ok(Versioned { txedit: 1..=VERSION }) => Ok(()),
        Ok(Versioned { txedit: other }) => Err(Corrupt::Version(other)),
        Err(e) => Err(unexpected(1, &format!("a header ({e})"))),
    }
}

/// Parses a record, which has one spelling: one order of fields, no `null`, no white space, no needless escape. Any
/// other spelling was not written by txedit.
fn parse<T: DeserializeOwned + Serialize>(json: &[u8], line: usize, expected: &str) -> Result<T, Corrupt> {
    let record: T = serde_json::from_slice(json).map_err(|e| unexpected(line, &format!("{expected} ({e})")))?;
    if serde_json::to_vec(&record).is_ok_and(|spelled| spelled == json) {
        Ok(record)
    } else {
        Err(unexpected(line, &format!("{expected} in its one spelling")))
    }
}

fn unexpected(line: usize, expected: &str) -> Corrupt {
    Corrupt::Unexpected { line, expected: expected.to_owned() }
}

#[cfg(test)]
mod tests;
