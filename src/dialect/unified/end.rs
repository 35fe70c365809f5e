//! Finds the end of a hunk: what seems to continue it is never skipped, and what may have been cut off is refused.

use super::UnifiedReader;
use crate::dialect::{excerpt, files, malformed};
use crate::error::Result;

fn is_blank(line: &[u8]) -> bool {
    line.trim_ascii().is_empty()
}

/// Returns whether a line is removed or added.
fn is_changed(line: &[u8]) -> bool {
    matches!(line.first(), Some(b'+' | b'-'))
}

/// Returns whether separated lines can be a Markdown list: all are items with the same sign.
fn are_items(lines: &[&[u8]]) -> bool {
    let is_item = |line: &&[u8]| matches!(line, [b'+' | b'-', b' ', letter, ..] if !letter.is_ascii_whitespace());
    !lines.is_empty() && lines.iter().all(is_item) && lines.iter().all(|line| line[0] == lines[0][0])
}

/// Returns whether the last of these lines, after an empty one, can be prose that follows a patch.
pub(in crate::dialect) fn ends_in_list(lines: &[&[u8]]) -> bool {
    let bare =
        |line: &[u8]| line.strip_suffix(b"\n").map_or(line.len(), <[u8]>::len) == 0 || line == b"\r\n" || line == b"\r";
    let end = lines.iter().rposition(|line| !is_blank(line)).map_or(0, |last| last + 1);
    let start = lines[..end].iter().rposition(|line| bare(line)).map_or(0, |empty| empty + 1);
    start > 0 && are_items(&lines[start..end])
}

impl UnifiedReader<'_> {
    /// Refuses lines directly after a hunk that belong to it beyond its counts.
    pub(super) fn check_counted(&self) -> Result<()> {
        let next = self.after(0);
        let is_header = next.starts_with(b"--- ") && self.after(1).starts_with(b"+++ ");
        let is_signature = next == b"-- " || next == b"--";
        let is_more = matches!(next.first(), Some(b'+' | b'-' | b' ' | b'\\')) && !is_blank(next);
        if is_more && !is_header && !is_signature {
            return Err(self.uncounted_line(0));
        }
        Ok(())
    }

    fn uncounted_line(&self, count: usize) -> crate::error::Error {
        let line = excerpt(self.after(count));
        malformed(self.number() + count, 1, format!("the end of the hunk, as its @@ counts its lines, not {line}"))
    }

    /// Refuses a line that ends a hunk but seems to be a part of it that lost its sign: the rest would be skipped.
    pub(super) fn check_end(&self, is_counted: bool) -> Result<()> {
        let line = self.after(0);
        if self.is_end(0) {
            return Ok(());
        }
        if is_blank(line) {
            return if is_counted { self.check_beyond_blank() } else { Ok(()) };
        }
        let rest = (1..).take_while(|count| !self.is_end(*count)).map(|count| self.after(count));
        let goes_on = if is_counted {
            // A blank line separates prose, which may be a list.
            rest.take_while(|line| !is_blank(line)).any(is_changed)
        } else {
            let is_set_off = self.at.checked_sub(1).is_some_and(|at| is_blank(self.lines[at]));
            !is_set_off || self.fences.is_open() || rest.into_iter().any(is_changed)
        };
        if goes_on {
            let expected = format!("a line that starts with a space, - or +, not {}", excerpt(line));
            return Err(malformed(self.number(), 1, expected));
        }
        Ok(())
    }

    /// Refuses more of a hunk after the blank line that follows the counted lines: the header counts too few.
    fn check_beyond_blank(&self) -> Result<()> {
        let left = 0..self.lines.len() - self.at;
        let rest: Vec<&[u8]> = left.take_while(|count| !self.is_end(*count)).map(|count| self.after(count)).collect();
        // Within a fence there is no prose.
        let is_body = |line: &&&[u8]| line.is_empty() || matches!(line[0], b' ' | b'+' | b'-');
        let len = if self.fences.is_open() { rest.len() } else { rest.iter().take_while(is_body).count() };
        let changed: Vec<&[u8]> = rest[..len].iter().copied().filter(|line| is_changed(line)).collect();
        let is_prose = changed.is_empty() || (!self.fences.is_open() && are_items(&changed));
        match rest.iter().position(|line| is_changed(line)).filter(|_| !is_prose) {
            Some(count) => Err(self.uncounted_line(count)),
            None => Ok(()),
        }
    }

    /// Refuses a hunk whose last line, or the lines after it, may be missing. One in a fence ends there.
    pub(super) fn check_last(&self, is_counted: bool) -> Result<()> {
        let last = self.lines.get(self.at - 1).copied().unwrap_or_default();
        let is_at_end = self.at == self.lines.len();
        if is_at_end && is_changed(last) && (last[0] == b'+' || !is_counted) {
            self.check_break()?;
        }
        if is_counted || self.fences.is_open() {
            return Ok(());
        }
        let start = self.lines[..self.at].iter().rposition(|line| line.starts_with(b"@@")).unwrap_or_default();
        let ends_early = is_at_end && last.starts_with(b"-");
        if ends_early || ends_in_list(&self.lines[start..self.at]) {
            return Err(untold_end(self.at));
        }
        Ok(())
    }

    /// Refuses a patch whose last line has no line break.
    pub(super) fn check_break(&self) -> Result<()> {
        match self.lines.last() {
            Some(last) if self.at == self.lines.len() && !last.ends_with(b"\n") => {
                Err(files::cut_off(self.lines.len()))
            }
            _ => Ok(()),
        }
    }

    /// Returns whether the patch or its fence ends `count` lines ahead, or something else starts.
    fn is_end(&self, count: usize) -> bool {
        self.at + count >= self.lines.len() || self.is_boundary(count) || self.fences.closes(self.after(count))
    }

    /// Returns whether something that may follow a hunk starts `count` lines ahead.
    fn is_boundary(&self, count: usize) -> bool {
        const STARTS: [&str; 12] = [
            "diff ",
            "@@",
            "Index: ",
            "=====",
            "Only in ",
            "Binary files ",
            "From ",
            "commit ",
            "*** ",
            "-- ",
            "```",
            "~~~",
        ];
        let line = self.after(count);
        let is_header = line.starts_with(b"--- ") && self.after(count + 1).starts_with(b"+++ ");
        is_header || line == b"--" || STARTS.iter().any(|start| line.starts_with(start.as_bytes()))
    }
}

/// The error for a hunk without counts whose end is unknown: its last line may be prose, or the next one may be
/// missing.
pub(in crate::dialect) fn untold_end(line: usize) -> crate::error::Error {
    let expected = "a fence around the patch, or ranges like `@@ -1,3 +1,2 @@`, to tell where its last hunk ends";
    malformed(line, 1, expected)
}
