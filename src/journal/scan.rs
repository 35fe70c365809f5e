//! Bytes to records. A journal is untrusted input: whatever does not verify is refused whole.

use std::collections::HashSet;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::record::{Chain, EntryLine, HeaderLine, SealLine};
use super::{Header, Journal, Record, VERSION};
use crate::digest::Digest;
use crate::limits;

/// Why bytes are not a journal that can be acted on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Corrupt {
    /// The last line is incomplete, or the seal is missing: the file was cut short.
    #[error("it ends in line {line} before its seal")]
    Torn {
        /// The line, from 1.
        line: usize,
    },
    /// A line does not have the digest that it should have.
    #[error("line {line} does not have the digest that stands before it")]
    Digest {
        /// The line, from 1.
        line: usize,
    },
    /// A line verifies, and is not what should stand there.
    #[error("line {line}: expected {expected}")]
    Unexpected {
        /// The line, from 1.
        line: usize,
        /// What should stand there.
        expected: String,
    },
    /// It was written by another version.
    #[error("it has version {0}; this program reads version {VERSION}")]
    Version(u64),
}

/// Verifies and reads a whole journal.
pub fn scan(bytes: &[u8]) -> Result<Journal, Corrupt> {
    let mut lines = Lines { rest: bytes, line: 0, chain: Chain::default() };
    let first = lines.next()?;
    check_version(first)?;
    let header: Header = parse::<HeaderLine>(first, 1, "a header")?.read().map_err(|e| unexpected(1, e))?;

    let mut entries: Vec<Record> = Vec::new();
    let mut paths = HashSet::new();
    loop {
        let json = lines.next()?;
        let line = lines.line;
        if lines.rest.is_empty() {
            let seal: SealLine = parse(json, line, "the seal").map_err(|_| Corrupt::Torn { line })?;
            if seal.sealed != entries.len() as u64 {
                return Err(unexpected(line, "the number of entries in the seal"));
            }
            return Ok(Journal { header, entries, back_on_crash: seal.back_on_crash });
        }
        if entries.len() >= limits::FILES * 2 {
            return Err(unexpected(line, "the seal: there are too many entries"));
        }
        let record = parse::<EntryLine<'_>>(json, line, "an entry")?;
        let record = record.read(entries.len()).map_err(|e| unexpected(line, e))?;
        if !paths.insert(record.path.clone()) {
            return Err(unexpected(line, "a path that no other entry has"));
        }
        entries.push(record);
    }
}

/// Hands out lines that verify.
struct Lines<'a> {
    rest: &'a [u8],
    line: usize,
    chain: Chain,
}

impl<'a> Lines<'a> {
    fn next(&mut self) -> Result<&'a [u8], Corrupt> {
        self.line += 1;
        let line = self.line;
        let Some(end) = memchr::memchr(b'\n', self.rest) else { return Err(Corrupt::Torn { line }) };
        let (text, rest) = self.rest.split_at(end);
        self.rest = &rest[1..];
        if text.len() > limits::JOURNAL_LINE_BYTES {
            return Err(unexpected(line, "a line of a bounded length"));
        }
        let (digits, json) = match text.get(..64).zip(text.get(65..)) {
            Some(parts) if text[64] == b' ' => parts,
            _ => return Err(unexpected(line, "64 hex digits, a space and a JSON object")),
        };
        let written = std::str::from_utf8(digits).ok().and_then(|d| d.parse::<Digest>().ok());
        if written != Some(self.chain.next(json)) {
            return Err(Corrupt::Digest { line });
        }
        Ok(json)
    }
}

/// The version comes before everything else, so that a later version is named as one and not called corrupt.
fn check_version(json: &[u8]) -> Result<(), Corrupt> {
    #[derive(serde::Deserialize)]
    struct Versioned {
        txedit: u64,
    }
    match serde_json::from_slice(json) {
        Ok(Versioned { txedit: VERSION }) => Ok(()),
        Ok(Versioned { txedit: other }) => Err(Corrupt::Version(other)),
        Err(e) => Err(unexpected(1, &format!("a header ({e})"))),
    }
}

/// A record has one spelling: no second order of its fields, no `null`, no white space, no needless escape. What is
/// spelled otherwise was not written by txedit.
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
