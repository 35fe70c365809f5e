//! SEARCH/REPLACE blocks, alone or in the middle of a chat answer.

mod mark;
mod mention;
mod name;
mod number;

use super::fence::Fences;
use super::files::{self, PatchFiles};
use super::{excerpt, malformed};
use crate::error::Result;
use crate::request::edit::{Hunk, HunkLine, Matching, Side};
use name::Named;
use number::{NumberUse, Numbering};

/// Returns whether a line starts a block.
pub(super) fn is_head(line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    let line = line.strip_suffix(b">").unwrap_or(line);
    (is_mark(line, b'<') || is_mark(line, b'-')) && line.ends_with(b" SEARCH")
}

fn is_divider(line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    (5..=9).contains(&line.len()) && line.iter().all(|byte| *byte == b'=')
}

fn is_end(line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    (is_mark(line, b'>') || is_mark(line, b'+')) && line.ends_with(b" REPLACE")
}

/// Five to nine of one sign, then a word.
fn is_mark(line: &[u8], sign: u8) -> bool {
    let count = line.iter().take_while(|byte| **byte == sign).count();
    (5..=9).contains(&count) && line.get(count) == Some(&b' ') && line[count + 1..].iter().all(u8::is_ascii_uppercase)
}

/// Reads all blocks; text around them is skipped.
pub(super) fn read(patch: &[u8], matching: Matching) -> Result<PatchFiles> {
    let raw: Vec<&[u8]> = patch.split(|byte| *byte == b'\n').collect();
    let lines: Vec<&[u8]> = raw.iter().map(|line| line.strip_suffix(b"\r").unwrap_or(line)).collect();
    let mut files = PatchFiles::default();
    let mut fences = Fences::default();
    let mut name: Option<Named> = None;
    let mut at = 0;
    let mut told = LeadingLines::default();
    let mut numbering = Numbering::default();
    while at < lines.len() {
        if is_end(lines[at]) {
            return Err(malformed(at + 1, 1, "`<<<<<<< SEARCH` and `=======` before this"));
        }
        if !is_head(lines[at]) {
            mark::check_passed(&lines, at, &fences)?;
            at += 1;
            told.see(&mut fences, lines[at - 1], at);
            continue;
        }
        let head = at;
        name = name::before(&told.lines, name.as_ref())?.or(name);
        let Named { name, is_doubtful } = name
            .as_ref()
            .ok_or_else(|| malformed(head + 1, 1, "the name of the file, on a line of its own before the block"))?;
        let end = end_of(&lines, head)?;
        let divider = divider_of(&lines, head, end)?;
        let (search, replace) = (&lines[head + 1..divider], &lines[divider + 1..end]);
        let (line, search) = number::on_top(search);
        if number::on_top(replace).1.len() < replace.len() {
            let expected = format!("the line number beneath `<<<<<<< SEARCH` only, not {}", excerpt(replace[0]));
            return Err(malformed(divider + 2, 1, expected));
        }
        if line == Some(0) {
            let expected = format!("the number of a line, from 1, not {}", excerpt(lines[head + 1]));
            return Err(malformed(head + 2, 1, expected));
        }
        let file = files::path(name);
        if search.is_empty() {
            if *is_doubtful {
                // A sentence that ends in a name would create a file named like the whole sentence.
                let expected = format!("the name of the file, in backticks if it is one, not {}", excerpt(name));
                return Err(malformed(head + 1, 1, expected));
            }
            // Carriage returns are part of the file unless the patch as a whole has them.
            let is_crlf = raw[head].ends_with(b"\r");
            let content = if is_crlf { joined(replace) } else { joined(&raw[divider + 1..end]) };
            files.create(file, content, None);
        } else if search.iter().all(|line| line.trim_ascii().is_empty()) {
            // Some mean a new file by it; accepted as such, it would invite wiping an existing one.
            return Err(malformed(head + 2, 1, "a text to search for, or nothing at all for a new file"));
        } else {
            let added = replace.len().cast_signed() - search.len().cast_signed();
            let NumberUse { line, continues } = numbering.next(&file, line, added);
            let lines = hunk_lines(search, replace);
            let hunk =
                Hunk { lines, line, continues, loose_end: true, repeats_context: true, matching, ..Hunk::default() };
            files.edit(file, vec![hunk.into_edit()], None);
        }
        at = end + 1;
        told = LeadingLines::default();
    }
    fences.check_closed(lines.len())?;
    mark::check_end(&lines)?;
    if files.list.is_empty() {
        return Err(malformed(1, 1, "`<<<<<<< SEARCH`"));
    }
    Ok(files)
}

/// The lines since the previous block, each with its number, that may name the next one's file.
#[derive(Default)]
struct LeadingLines<'p> {
    lines: Vec<(usize, &'p [u8])>,
    /// The number of lines before the open fence.
    outside: Option<usize>,
}

impl<'p> LeadingLines<'p> {
    fn see(&mut self, fences: &mut Fences, line: &'p [u8], number: usize) {
        let was_open = fences.is_open();
        fences.see(line, number);
        match (was_open, fences.is_open()) {
            (false, true) => self.outside = Some(self.lines.len()),
            (true, false) => {
                // The content of a fence that was closed again is an example, unless all of it is a name.
                let Some(outside) = self.outside.take() else { return };
                // A second line gives the place in the file.
                if let [_, (_, only)] | [_, (_, only), _] = self.lines[outside..]
                    && std::str::from_utf8(only).is_ok_and(|only| mention::is_plain_path(only.trim()))
                {
                    self.lines.remove(outside);
                } else {
                    self.lines.truncate(outside);
                }
                return;
            }
            _ => {}
        }
        self.lines.push((number, line));
    }
}

/// The last line of the block that starts at `head`.
fn end_of(lines: &[&[u8]], head: usize) -> Result<usize> {
    let mut divider = None;
    for (at, line) in lines.iter().enumerate().skip(head + 1) {
        if is_end(line) {
            return Ok(at);
        }
        if is_head(line) {
            let mark = if divider.is_some() { ">>>>>>> REPLACE" } else { "=======" };
            return Err(malformed(at + 1, 1, format!("`{mark}` in front of {}", excerpt(line))));
        }
        if is_divider(line) {
            divider.get_or_insert(at);
        }
    }
    let (mark, start) = divider.map_or(("=======", head), |divider| (">>>>>>> REPLACE", divider));
    Err(malformed(lines.len(), 1, format!("`{mark}` that ends what line {} starts", start + 1)))
}

/// The line between the two halves of a block. A line of the text can look like it: the one as long as the first mark
/// counts. If there are several, or the only one may underline a heading, it is ambiguous.
fn divider_of(lines: &[&[u8]], head: usize, end: usize) -> Result<usize> {
    let len = |at: usize| lines[at].trim_ascii_end().len();
    let is_rule = |at: usize| len(at) >= 3 && lines[at].trim_ascii_end().iter().all(|byte| *byte == b'=');
    let rules: Vec<usize> = (head + 1..end).filter(|at| is_rule(*at)).collect();
    let all: Vec<usize> = rules.iter().copied().filter(|at| is_divider(lines[*at])).collect();
    let sign = lines[head][0];
    let marks = lines[head].iter().take_while(|byte| **byte == sign).count();
    let alike: Vec<usize> = all.iter().copied().filter(|at| len(*at) == marks).collect();
    let underlines = |at: usize| at > head + 1 && len(at - 1) == len(at) && rules.iter().any(|rule| *rule > at);
    match (&all[..], &alike[..]) {
        (_, [only]) if !underlines(*only) => Ok(*only),
        ([only], []) if rules.len() == 1 => Ok(*only),
        ([], _) => Err(malformed(end + 1, 1, format!("`=======` in front of {}", excerpt(lines[end])))),
        _ => {
            let expected = "one `=======` in a block: where the text itself has such lines, give all three marks of the \
                            block another length, from 5 to 9";
            let second = rules.get(1).unwrap_or(&all[0]);
            Err(malformed(second + 1, 1, expected))
        }
    }
}

fn joined(lines: &[&[u8]]) -> Vec<u8> {
    lines.iter().flat_map(|line| [*line, b"\n"].concat()).collect()
}

/// The lines of a block as those of a hunk: common lines at the start and the end stay.
fn hunk_lines(search: &[&[u8]], replace: &[&[u8]]) -> Vec<HunkLine> {
    let same = |(a, b): &(&&[u8], &&[u8])| a == b;
    let lead = search.iter().zip(replace).take_while(same).count();
    let (old, new) = (&search[lead..], &replace[lead..]);
    let trail = old.iter().rev().zip(new.iter().rev()).take_while(same).count();
    let of = |lines: &[&[u8]], side| -> Vec<HunkLine> {
        lines.iter().map(|line| HunkLine { side, text: [*line, b"\n"].concat() }).collect()
    };
    let mut lines = of(&search[..lead], Side::Both);
    lines.extend(of(&old[..old.len() - trail], Side::Old));
    lines.extend(of(&new[..new.len() - trail], Side::New));
    lines.extend(of(&old[old.len() - trail..], Side::Both));
    lines
}
