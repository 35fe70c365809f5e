//! Unified diffs, and those of git with their headers.

pub(super) mod end;
mod header;
mod message;
mod names;
mod prefix;
mod section;

use memchr::memmem;

use super::fence::Fences;
use super::files::PatchFiles;
use super::{Format, excerpt, foreign, malformed};
use crate::error::{Error, ErrorKind, Result};
use crate::request::Change;
use crate::request::edit::{Anchor, Hunk, HunkLine, Matching, Side};
use header::Ranges;
use prefix::Prefixes;

pub(super) use message::is_start as is_commit;

/// Reads a diff of any number of files; text around it, as in a mail or a chat, is skipped.
pub(super) fn read(patch: &[u8], matching: Matching) -> Result<PatchFiles> {
    let lines: Vec<&[u8]> = patch.split_inclusive(|byte| *byte == b'\n').collect();
    let prefixes = Prefixes::of(&lines);
    let mut reader = UnifiedReader { lines, at: 0, matching, fences: Fences::default(), prefixes };
    let mut files = PatchFiles::default();
    while let Some(line) = reader.peek() {
        if line.starts_with(b"diff --git ") {
            reader.git_section(&mut files)?;
        } else if line.starts_with(b"--- ") && reader.after(1).starts_with(b"+++ ") {
            reader.plain_section(&mut files)?;
        } else if line.starts_with(b"diff --cc ") || line.starts_with(b"diff --combined ") {
            return Err(malformed(reader.number(), 1, "a diff of two versions; a combined diff of a merge has three"));
        } else if Ranges::parse(line).is_some() {
            let expected = "the names of the file, `--- a/NAME` and `+++ b/NAME`, before its hunks";
            return Err(malformed(reader.number(), 1, expected));
        } else if is_binary(line) {
            return Err(binary(reader.number(), &excerpt(line)));
        } else if header::is_stray(line, reader.after(1)) {
            let expected = format!("`diff --git a/NAME b/NAME` before {}", excerpt(line));
            return Err(malformed(reader.number(), 1, expected));
        } else if is_commit(line) {
            reader.at += message::len(&reader.lines[reader.at..]);
        } else {
            foreign::check(Format::Unified, line, reader.after(1), reader.number(), &reader.fences)?;
            reader.fences.see(line, reader.number());
            reader.at += 1;
        }
    }
    reader.fences.check_closed(reader.lines.len())?;
    if files.list.is_empty() {
        return Err(malformed(1, 1, "`diff --git a/NAME b/NAME`, or `--- NAME` and `+++ NAME`"));
    }
    hold_whole_files(&mut files);
    Ok(files)
}

/// In a diff with context, a hunk at the start without any covers its whole file: the file must still be just that.
fn hold_whole_files(files: &mut PatchFiles) {
    let edits = files.list.iter_mut().flat_map(|file| match &mut file.change {
        Change::Edit { edits, .. } | Change::Copy { edits, .. } => edits.as_mut_slice(),
        _ => &mut [],
    });
    let mut hunks: Vec<&mut Hunk> = edits
        .filter_map(|edit| match &mut edit.anchor {
            Anchor::Hunk(hunk) => Some(&mut **hunk),
            _ => None,
        })
        .collect();
    if hunks.iter().all(|hunk| hunk.only_there) {
        return;
    }
    for hunk in hunks.iter_mut().filter(|hunk| hunk.only_there && hunk.line.is_some_and(|line| line <= 1)) {
        hunk.at_start = true;
        hunk.at_end = true;
    }
}

/// Returns whether a line says that two versions of a file differ, without saying how.
fn is_binary(line: &[u8]) -> bool {
    let is_told = line.starts_with(b"Files ") && line.ends_with(b" differ") && memmem::find(line, b" and ").is_some();
    line.starts_with(b"Binary files ") || is_told
}

fn binary(line: usize, name: &str) -> Error {
    let message = format!(
        "line {line} of the patch: {name} is binary, and a patch for it cannot be applied: write its whole content instead"
    );
    Error::new(ErrorKind::PatchParseFailed, message)
}

struct UnifiedReader<'p> {
    lines: Vec<&'p [u8]>,
    at: usize,
    matching: Matching,
    /// The fences around the diff.
    fences: Fences,
    prefixes: Prefixes,
}

/// A line without its line break.
fn without_break(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The hunks of one file.
#[derive(Default)]
struct Hunks {
    list: Vec<Hunk>,
    /// True if the first one says that there is nothing before it.
    from_nothing: bool,
}

impl<'p> UnifiedReader<'p> {
    /// The next line, without its line break.
    fn peek(&self) -> Option<&'p [u8]> {
        (self.at < self.lines.len()).then(|| self.after(0))
    }

    fn after(&self, count: usize) -> &'p [u8] {
        without_break(self.lines.get(self.at + count).copied().unwrap_or_default())
    }

    /// The number of the next line, from 1.
    fn number(&self) -> usize {
        self.at + 1
    }

    fn hunks(&mut self) -> Result<Hunks> {
        let mut hunks = Hunks::default();
        while let Some(line) = self.peek().filter(|line| line.starts_with(b"@@")) {
            if line.starts_with(b"@@@") {
                return Err(malformed(
                    self.number(),
                    1,
                    "a diff of two versions; a combined diff of a merge has three",
                ));
            }
            let ranges = Ranges::parse(line);
            if ranges.is_none() && line.starts_with(b"@@ -") {
                return Err(malformed(self.number(), 4, "ranges of lines, `@@ -1,3 +1,3 @@`"));
            }
            // A patch that was converted as a whole, including its own lines.
            let is_crlf = self.lines[self.at].ends_with(b"\r\n");
            self.at += 1;
            hunks.from_nothing |= hunks.list.is_empty() && ranges.as_ref().is_some_and(|r| r.old_start == 0);
            let lines = match &ranges {
                Some(ranges) => self.counted(ranges, is_crlf)?,
                None => self.uncounted(is_crlf),
            };
            self.check_end(ranges.is_some())?;
            self.check_last(ranges.is_some())?;
            if !lines.iter().any(|line| line.side != Side::Both) {
                return Err(malformed(self.number(), 1, "a line with - or + in the hunk"));
            }
            let mut hunk = Hunk { lines, matching: self.matching, ..Hunk::default() };
            hunk.continues = !hunks.list.is_empty();
            if let Some(ranges) = ranges {
                anchor(&mut hunk, &ranges);
            } else {
                hunk.loose_end = true;
                hunk.loose_tail = self.empty_lines_before();
                hunk.headers.extend(words(line));
            }
            hunks.list.push(hunk);
        }
        Ok(hunks)
    }

    /// Reads as many lines as the ranges say.
    fn counted(&mut self, ranges: &Ranges, is_crlf: bool) -> Result<Vec<HunkLine>> {
        let (mut old, mut new) = (ranges.old_lines, ranges.new_lines);
        let mut lines: Vec<HunkLine> = Vec::new();
        while old > 0 || new > 0 {
            let (number, left) = (self.number(), (old, new));
            let missing = || {
                let (old, new) = left;
                let expected = format!("{old} more old and {new} more new lines of the hunk, as its @@ counts them");
                malformed(number, 1, expected)
            };
            let line = *self.lines.get(self.at).ok_or_else(missing)?;
            let body = body_of(line).ok_or_else(missing)?;
            if let HunkBodyLine::Line(side) = body {
                old = old.checked_sub(usize::from(side != Side::New)).ok_or_else(missing)?;
                new = new.checked_sub(usize::from(side != Side::Old)).ok_or_else(missing)?;
            }
            self.take(body, is_crlf, &mut lines);
        }
        if self.lines.get(self.at).is_some_and(|line| body_of(line) == Some(HunkBodyLine::NoBreak)) {
            self.take(HunkBodyLine::NoBreak, is_crlf, &mut lines);
        }
        self.check_counted()?;
        Ok(lines)
    }

    /// Reads the lines up to the next header, for a `@@` without ranges.
    fn uncounted(&mut self, is_crlf: bool) -> Vec<HunkLine> {
        let mut lines: Vec<HunkLine> = Vec::new();
        while let Some(line) = self.lines.get(self.at).copied() {
            let is_header = line.starts_with(b"--- ") && self.after(1).starts_with(b"+++ ");
            match body_of(line) {
                Some(body) if !is_header => self.take(body, is_crlf, &mut lines),
                _ => break,
            }
        }
        lines
    }

    /// The number of empty lines among those just read: they lost their space, or only separate the hunk from what
    /// follows.
    fn empty_lines_before(&self) -> usize {
        self.lines[..self.at].iter().rev().take_while(|line| matches!(line, [b'\n'] | [b'\r', b'\n'])).count()
    }

    /// Adds one line.
    fn take(&mut self, body: HunkBodyLine, is_crlf: bool, lines: &mut Vec<HunkLine>) {
        let line = self.lines[self.at];
        self.at += 1;
        let HunkBodyLine::Line(side) = body else {
            if let Some(last) = lines.last_mut() {
                last.text.pop_if(|byte| *byte == b'\n');
            }
            return;
        };
        let body = line.strip_suffix(b"\n").unwrap_or(line);
        let body = if is_crlf { body.strip_suffix(b"\r").unwrap_or(body) } else { body };
        // The space at the start of an empty line is easily lost.
        let body = body.get(usize::from(side != Side::Both || body.first() == Some(&b' '))..).unwrap_or_default();
        lines.push(HunkLine { side, text: [body, b"\n"].concat() });
    }
}

/// The text of a header without numbers: a line of the file, as in an envelope. `...` means nothing.
fn words(header: &[u8]) -> Option<Vec<u8>> {
    let words = header.strip_prefix(b"@@")?;
    let words = words.strip_suffix(b"@@").unwrap_or(words).trim_ascii();
    (!words.is_empty() && words != b"...").then(|| words.to_vec())
}

/// The role of a line in a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HunkBodyLine {
    Line(Side),
    /// The mark of a missing line break.
    NoBreak,
}

/// The role of a line in a hunk, if it is part of one.
fn body_of(line: &[u8]) -> Option<HunkBodyLine> {
    match line {
        [b' ', ..] | [b'\n'] | [b'\r', b'\n'] => Some(HunkBodyLine::Line(Side::Both)),
        [b'-', ..] => Some(HunkBodyLine::Line(Side::Old)),
        [b'+', ..] => Some(HunkBodyLine::Line(Side::New)),
        // In the words of git, in any language.
        [b'\\', b' ', ..] if line.len() >= 12 => Some(HunkBodyLine::NoBreak),
        _ => None,
    }
}

/// Sets where the hunk may be. As in git, a hunk without context before it is at the start, one without context after
/// it at the end. A diff without any context says neither.
fn anchor(hunk: &mut Hunk, ranges: &Ranges) {
    let is_context = |line: &HunkLine| line.side == Side::Both;
    let has_context = hunk.lines.iter().any(is_context);
    hunk.line = Some(ranges.old_start);
    hunk.only_there = !has_context;
    hunk.at_start = has_context && ranges.old_start <= 1;
    hunk.at_end = has_context && !hunk.lines.last().is_some_and(is_context);
}
