//! The `*** Begin Patch` envelope.

use std::path::PathBuf;

use super::fence::Fences;
use super::files::{self, PatchFiles, rename_to};
use super::unified::end;
use super::{Format, excerpt, foreign, malformed};
use crate::error::Result;
use crate::request::edit::{Hunk, HunkLine, Matching, Side};
use crate::request::{Change, FileRequest};

const ADD: &[u8] = b"*** Add File:";
const DELETE: &[u8] = b"*** Delete File:";
const UPDATE: &[u8] = b"*** Update File:";
const MOVE: &[u8] = b"*** Move to:";
const END_OF_FILE: &[u8] = b"*** End of File";
const BEGIN: &[u8] = b"*** Begin Patch";
const END: &[u8] = b"*** End Patch";

/// Returns whether a line starts a file of an envelope.
pub(super) fn is_section(line: &[u8]) -> bool {
    [ADD, DELETE, UPDATE].iter().any(|start| line.starts_with(start))
}

/// Reads all envelopes. Text around them, such as a shell command, is skipped; a frame may be missing entirely. One
/// that begins but does not end was cut off, perhaps together with a part of the last file.
pub(super) fn read(patch: &[u8], matching: Matching) -> Result<PatchFiles> {
    let mut reader = EnvelopeReader {
        lines: patch.split(|byte| *byte == b'\n').collect(),
        at: 0,
        matching,
        fences: Fences::default(),
    };
    let mut files = PatchFiles::default();
    let is_framed = reader.lines.iter().any(|line| is_begin(line));
    let mut end = 0;
    if is_framed {
        while let Some(begin) = reader.seek(is_begin)? {
            reader.at += 1;
            reader.sections(&mut files, false)?;
            end = reader.at;
            if reader.peek().is_none() {
                let expected =
                    format!("`*** End Patch` for the envelope that line {begin} begins: send the whole patch");
                return Err(malformed(reader.lines.len(), 1, expected));
            }
        }
    } else {
        while reader.seek(is_section)?.is_some() {
            let start = reader.at;
            reader.sections(&mut files, true)?;
            reader.check_end(start)?;
        }
        reader.fences.check_closed(reader.lines.len())?;
    }
    if files.list.is_empty() {
        return Err(malformed(end + 1, 1, "`*** Add File:`, `*** Delete File:` or `*** Update File:`"));
    }
    Ok(files)
}

fn is_begin(line: &[u8]) -> bool {
    line.trim_ascii() == BEGIN
}

/// The path in a line whose text after the keyword is `rest`.
fn named(line: &[u8], rest: &[u8], number: usize) -> Result<PathBuf> {
    match rest.trim_ascii() {
        b"" => Err(malformed(number, line.len() + 1, "the name of a file")),
        name => Ok(files::path(name)),
    }
}

struct EnvelopeReader<'p> {
    /// The lines without their line feeds.
    lines: Vec<&'p [u8]>,
    at: usize,
    matching: Matching,
    /// The fences around the patch.
    fences: Fences,
}

impl<'p> EnvelopeReader<'p> {
    /// The next line, without its line break.
    fn peek(&self) -> Option<&'p [u8]> {
        self.lines.get(self.at).map(|line| without_break(line))
    }

    /// Moves on to the next such line; returns its number, from 1.
    fn seek(&mut self, is_wanted: impl Fn(&[u8]) -> bool) -> Result<Option<usize>> {
        while let Some(line) = self.peek() {
            if is_wanted(line) {
                return Ok(Some(self.at + 1));
            }
            self.at += 1;
            foreign::check(Format::Envelope, line, self.peek().unwrap_or_default(), self.at, &self.fences)?;
            self.fences.see(line, self.at);
        }
        Ok(None)
    }

    /// Reads the sections up to the end of the envelope; if `frameless`, up to the first line outside of a section.
    fn sections(&mut self, files: &mut PatchFiles, frameless: bool) -> Result<()> {
        while let Some(line) = self.peek() {
            // Where no content can be, blanks before a section are ignored.
            let line = line.trim_ascii_start();
            let start = self.at + 1;
            if line.trim_ascii() == END {
                break;
            } else if let Some(name) = line.strip_prefix(ADD) {
                let is_crlf = self.lines[self.at].ends_with(b"\r");
                self.at += 1;
                let content = self.added(is_crlf)?;
                files.create(named(line, name, start)?, content, None);
            } else if let Some(name) = line.strip_prefix(DELETE) {
                self.at += 1;
                files.delete(named(line, name, start)?, None);
            } else if let Some(name) = line.strip_prefix(UPDATE) {
                self.at += 1;
                self.update(named(line, name, start)?, files)?;
            } else if line.trim_ascii().is_empty() {
                self.at += 1;
            } else if frameless {
                break;
            } else {
                let expected = format!(
                    "`*** Add File:`, `*** Delete File:`, `*** Update File:` or `*** End Patch`, not {}",
                    excerpt(line)
                );
                return Err(malformed(start, 1, expected));
            }
        }
        Ok(())
    }

    /// Refuses sections without a frame whose last line, or the lines after it, may be missing. Those in a fence end
    /// with it.
    fn check_end(&self, start: usize) -> Result<()> {
        let sections = &self.lines[start..self.at];
        // After a last line break there is one more, empty line here.
        let is_at_end = self.at + 1 >= self.lines.len();
        let last = self.lines.get(self.at).or(sections.last()).copied().unwrap_or_default();
        if is_at_end && matches!(last.first(), Some(b'+' | b'-' | b'*')) {
            return Err(files::cut_off(self.lines.len()));
        }
        if self.fences.is_open() {
            return Ok(());
        }
        let hunk = sections.iter().rposition(|line| line.starts_with(b"***")).map_or(0, |header| header + 1);
        let is_update = hunk > 0 && !sections[hunk - 1].starts_with(ADD);
        let end = sections.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
        let ends_early = is_at_end && end == sections.len() && sections[end - 1].starts_with(b"-");
        if is_update && (ends_early || end::ends_in_list(&sections[hunk..])) {
            return Err(end::untold_end(start + end));
        }
        Ok(())
    }

    /// Returns whether the section of a file ends here.
    fn ends(&self) -> bool {
        let is_end = |line: &[u8]| is_section(line) || line.trim_ascii() == END || self.fences.closes(line);
        self.peek().is_none_or(is_end) || self.lines[self.at..].iter().all(|line| line.trim_ascii().is_empty())
    }

    /// The content of a new file. Carriage returns are part of it unless the patch as a whole has them (`is_crlf`).
    fn added(&mut self, is_crlf: bool) -> Result<Vec<u8>> {
        let mut content = Vec::new();
        let mut blank: Vec<(usize, &[u8])> = Vec::new();
        while !self.ends() {
            let line = self.lines[self.at];
            match if is_crlf { without_break(line) } else { line } {
                [b'+', line @ ..] => {
                    // An empty line that lost its sign belongs to the file; a blank one, or one at the start, is
                    // ambiguous.
                    for (at, empty) in blank.drain(..) {
                        if content.is_empty() || !without_break(empty).is_empty() {
                            return Err(malformed(
                                at + 1,
                                1,
                                "a line with +, alone where the new file has an empty line",
                            ));
                        }
                        content.extend_from_slice(&[empty, b"\n"].concat());
                    }
                    content.extend_from_slice(&[line, b"\n"].concat());
                }
                // At the end, it separates this file from the next.
                line if line.trim_ascii().is_empty() => blank.push((self.at, line)),
                line if is_section(line.trim_ascii_start()) => break,
                line => return Err(malformed(self.at + 1, 1, format!("a line with +, not {}", excerpt(line)))),
            }
            self.at += 1;
        }
        Ok(content)
    }

    fn update(&mut self, path: PathBuf, files: &mut PatchFiles) -> Result<()> {
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
        files.push(FileRequest::new(path, change));
        Ok(())
    }

    /// Returns whether only empty lines are left before the next `@@` or section.
    fn is_between(&self) -> bool {
        let next = self.lines[self.at..].iter().find(|line| !line.trim_ascii().is_empty());
        next.is_none_or(|line| line.starts_with(b"***") || line.starts_with(b"@@"))
    }

    fn hunk(&mut self, continues: bool) -> Result<Hunk> {
        let mut hunk = Hunk { continues, loose_end: true, matching: self.matching, ..Hunk::default() };
        while let Some(header) = self.peek().and_then(|line| line.strip_prefix(b"@@")) {
            self.at += 1;
            // Some write ranges of lines as in a diff; they are ignored here.
            let is_range = header.starts_with(b" -") && header[2..].first().is_some_and(u8::is_ascii_digit);
            let header = header.strip_suffix(b"@@").unwrap_or(header).trim_ascii();
            if !header.is_empty() && !is_range && header != b"..." {
                hunk.headers.push(header.to_vec());
            }
        }
        while !self.ends() {
            let line = without_break(self.lines[self.at]);
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
            // An empty line before what follows is context, or only a separator: the file decides.
            hunk.loose_tail = if line.is_empty() { hunk.loose_tail + 1 } else { 0 };
            hunk.lines.push(HunkLine { side, text: [text, b"\n"].concat() });
            self.at += 1;
        }
        if !hunk.lines.iter().any(|line| line.side != Side::Both) {
            return Err(malformed(self.at + 1, 1, "a line with - or +"));
        }
        if hunk.count(Side::Old) == hunk.loose_tail {
            hunk.lines.truncate(hunk.lines.len() - hunk.loose_tail);
            hunk.loose_tail = 0;
        }
        // Without an old line and without a header, new lines go to the end.
        hunk.at_end |= hunk.count(Side::Old) == 0;
        Ok(hunk)
    }
}

fn without_break(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}
