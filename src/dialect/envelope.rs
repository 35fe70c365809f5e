//! The `*** Begin Patch` envelope.

use std::path::PathBuf;

use super::files::{self, Files, rename_to};
use super::{excerpt, malformed};
use crate::error::Result;
use crate::request::edit::{Hunk, HunkLine, Matching, Side};
use crate::request::{Change, FileRequest};

const ADD: &[u8] = b"*** Add File:";
const DELETE: &[u8] = b"*** Delete File:";
const UPDATE: &[u8] = b"*** Update File:";
const MOVE: &[u8] = b"*** Move to:";
const END_OF_FILE: &[u8] = b"*** End of File";
const END: &[u8] = b"*** End Patch";

/// Whether a line starts a file of an envelope.
pub(super) fn is_section(line: &[u8]) -> bool {
    [ADD, DELETE, UPDATE].iter().any(|start| line.starts_with(start))
}

/// Reads an envelope. What stands around it, as in a shell command, is passed over; a missing frame is forgiven.
pub(super) fn read(patch: &[u8], matching: Matching) -> Result<Files> {
    let lines = patch.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line)).collect();
    let mut reader = Reader { lines, at: 0, matching };
    let begin = reader.lines.iter().position(|line| line.trim_ascii() == b"*** Begin Patch");
    let first = reader.lines.iter().position(|line| is_section(line));
    reader.at = begin.map_or_else(|| first.unwrap_or(0), |begin| begin + 1);
    let mut files = Files::default();
    while let Some(line) = reader.peek() {
        let start = reader.at + 1;
        if line.trim_ascii() == END {
            break;
        } else if let Some(name) = line.strip_prefix(ADD) {
            reader.at += 1;
            let content = reader.added()?;
            files.create(named(line, name, start)?, content, None);
        } else if let Some(name) = line.strip_prefix(DELETE) {
            reader.at += 1;
            files.delete(named(line, name, start)?, None);
        } else if let Some(name) = line.strip_prefix(UPDATE) {
            reader.at += 1;
            reader.update(named(line, name, start)?, &mut files)?;
        } else if line.trim_ascii().is_empty() {
            reader.at += 1;
        } else if begin.is_none() {
            break;
        } else {
            let expected = format!(
                "`*** Add File:`, `*** Delete File:`, `*** Update File:` or `*** End Patch`, not {}",
                excerpt(line)
            );
            return Err(malformed(start, 1, expected));
        }
    }
    if files.list.is_empty() {
        return Err(malformed(reader.at + 1, 1, "`*** Add File:`, `*** Delete File:` or `*** Update File:`"));
    }
    Ok(files)
}

/// The path in a line of which `rest` is what follows its keyword.
fn named(line: &[u8], rest: &[u8], number: usize) -> Result<PathBuf> {
    match rest.trim_ascii() {
        b"" => Err(malformed(number, line.len() + 1, "the name of a file")),
        name => Ok(files::path(name)),
    }
}

struct Reader<'p> {
    lines: Vec<&'p [u8]>,
    at: usize,
    matching: Matching,
}

impl<'p> Reader<'p> {
    fn peek(&self) -> Option<&'p [u8]> {
        self.lines.get(self.at).copied()
    }

    /// Whether the section of a file ends here.
    fn ends(&self) -> bool {
        let is_end = |line: &[u8]| is_section(line) || line.trim_ascii() == END;
        self.peek().is_none_or(is_end) || self.lines[self.at..].iter().all(|line| line.trim_ascii().is_empty())
    }

    /// The content of a new file.
    fn added(&mut self) -> Result<Vec<u8>> {
        let mut content = Vec::new();
        while !self.ends() {
            match self.lines[self.at] {
                [b'+', line @ ..] => content.extend_from_slice(&[line, b"\n"].concat()),
                // Between this file and the next.
                line if line.trim_ascii().is_empty() => {}
                line => return Err(malformed(self.at + 1, 1, format!("a line with +, not {}", excerpt(line)))),
            }
            self.at += 1;
        }
        Ok(content)
    }

    fn update(&mut self, path: PathBuf, files: &mut Files) -> Result<()> {
        let start = self.at;
        let line = self.peek().unwrap_or_default();
        let to = match line.strip_prefix(MOVE) {
            Some(name) => {
                self.at += 1;
                Some(named(line, name, self.at)?)
            }
            None => None,
        };
        let mut edits = Vec::new();
        while !self.ends() {
            if self.lines[self.at].trim_ascii().is_empty() && self.is_between() {
                self.at += 1;
                continue;
            }
            let hunk = self.hunk(!edits.is_empty())?;
            edits.push(hunk.into_edit());
        }
        let change = match to {
            None if edits.is_empty() => {
                return Err(malformed(start + 1, 1, "`@@`, or a line with a space, - or +, or `*** Move to:`"));
            }
            None => {
                files.edit(path, edits, None);
                return Ok(());
            }
            Some(to) if edits.is_empty() => Change::Rename(rename_to(to)),
            Some(to) => Change::Edit { edits, rename: Some(rename_to(to)) },
        };
        files.push(FileRequest { path: path.into(), expected_hash: None, change, mode: None });
        Ok(())
    }

    /// Whether an empty line is none of a hunk: nothing but such lines is left of the section, or a `@@` follows.
    fn is_between(&self) -> bool {
        let next = self.lines[self.at..].iter().find(|line| !line.trim_ascii().is_empty());
        next.is_none_or(|line| line.starts_with(b"***") || line.starts_with(b"@@"))
    }

    fn hunk(&mut self, continues: bool) -> Result<Hunk> {
        let mut hunk = Hunk { continues, loose_end: true, matching: self.matching, ..Hunk::default() };
        while let Some(header) = self.peek().and_then(|line| line.strip_prefix(b"@@")) {
            self.at += 1;
            // Some write ranges of lines as in a diff; they say nothing here.
            let is_range = header.starts_with(b" -") && header[2..].first().is_some_and(u8::is_ascii_digit);
            let header = header.strip_suffix(b"@@").unwrap_or(header).trim_ascii();
            if !header.is_empty() && !is_range && header != b"..." {
                hunk.headers.push(header.to_vec());
            }
        }
        while !self.ends() {
            let line = self.lines[self.at];
            if line.trim_ascii_end() == END_OF_FILE {
                self.at += 1;
                hunk.at_end = true;
                break;
            }
            let (side, text) = match line {
                [b'+', text @ ..] => (Side::New, text),
                [b'-', text @ ..] => (Side::Old, text),
                [b' ', text @ ..] => (Side::Both, text),
                [] => (Side::Both, line),
                [b'@', b'@', ..] => break,
                [b'*', b'*', b'*', b' ', ..] => {
                    let expected = format!("`*** End Patch` or the next file, not {}", excerpt(line));
                    return Err(malformed(self.at + 1, 1, expected));
                }
                _ => {
                    let expected = format!("a line that starts with a space, - or +, or `@@`, not {}", excerpt(line));
                    return Err(malformed(self.at + 1, 1, expected));
                }
            };
            if line.trim_ascii().is_empty() && self.is_between() {
                break;
            }
            hunk.lines.push(HunkLine { side, text: [text, b"\n"].concat() });
            self.at += 1;
        }
        if !hunk.lines.iter().any(|line| line.side != Side::Both) {
            return Err(malformed(self.at + 1, 1, "a line with - or +"));
        }
        // Without a line to hold on to, and without a header, new lines go to the end.
        hunk.at_end |= hunk.count(Side::Old) == 0;
        Ok(hunk)
    }
}
