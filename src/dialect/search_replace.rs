//! SEARCH/REPLACE blocks, alone or in the middle of a chat answer.

use super::fence::Fences;
use super::files::{self, Files};
use super::{excerpt, malformed};
use crate::error::Result;
use crate::request::edit::{Hunk, HunkLine, Matching, Side};

/// Lines in front of a block in which the name of its file is looked for.
const NAME_LINES: usize = 3;

/// Whether a line starts a block.
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

/// Reads all blocks; what stands around them is passed over.
pub(super) fn read(patch: &[u8], matching: Matching) -> Result<Files> {
    let raw: Vec<&[u8]> = patch.split(|byte| *byte == b'\n').collect();
    let lines: Vec<&[u8]> = raw.iter().map(|line| line.strip_suffix(b"\r").unwrap_or(line)).collect();
    let mut files = Files::default();
    let mut fences = Fences::default();
    let mut name: Option<Named> = None;
    let mut at = 0;
    let mut end_of_last = 0;
    while at < lines.len() {
        if is_end(lines[at]) {
            return Err(malformed(at + 1, 1, "`<<<<<<< SEARCH` and `=======` in front of this"));
        }
        if !is_head(lines[at]) {
            at += 1;
            fences.see(lines[at - 1], at);
            continue;
        }
        let head = at;
        name = name_before(&lines[end_of_last..head]).or(name);
        let Named { name, has_blanks } = name.as_ref().ok_or_else(|| {
            malformed(head + 1, 1, "the name of the file, on a line of its own in front of the block")
        })?;
        let end = end_of(&lines, head)?;
        let divider = divider_of(&lines, head, end)?;
        let (search, replace) = (&lines[head + 1..divider], &lines[divider + 1..end]);
        let (line, search) = numbered(search);
        let file = files::path(name);
        if search.is_empty() {
            if *has_blanks {
                // A sentence that ends in a name would make a file of that whole sentence.
                let expected = format!("the name of the file, in backticks since it has blanks, not {}", excerpt(name));
                return Err(malformed(head + 1, 1, expected));
            }
            // Carriage returns belong to the file unless the patch as a whole has them.
            let is_crlf = raw[head].ends_with(b"\r");
            let content = if is_crlf { joined(replace) } else { joined(&raw[divider + 1..end]) };
            files.create(file, content, None);
        } else if search.iter().all(|line| line.trim_ascii().is_empty()) {
            // Some mean a new file by it; taken for one, it would be an invitation to wipe the one that is there.
            return Err(malformed(head + 2, 1, "a text to search for, or nothing at all for a new file"));
        } else {
            let lines = hunk_lines(search, replace);
            let hunk = Hunk { lines, line, loose_end: true, repeats_context: true, matching, ..Hunk::default() };
            files.edit(file, vec![hunk.into_edit()], None);
        }
        at = end + 1;
        end_of_last = at;
    }
    fences.check_closed(lines.len())?;
    if files.list.is_empty() {
        return Err(malformed(1, 1, "`<<<<<<< SEARCH`"));
    }
    Ok(files)
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

/// The line between the two halves of a block. A line of the text can look like one: that which is as long as the first
/// mark is it; where there are several, nothing tells which is meant.
fn divider_of(lines: &[&[u8]], head: usize, end: usize) -> Result<usize> {
    let all: Vec<usize> = (head + 1..end).filter(|at| is_divider(lines[*at])).collect();
    let sign = lines[head][0];
    let marks = lines[head].iter().take_while(|byte| **byte == sign).count();
    let alike: Vec<usize> = all.iter().copied().filter(|at| lines[*at].trim_ascii_end().len() == marks).collect();
    match (&all[..], &alike[..]) {
        ([only], _) | (_, [only]) => Ok(*only),
        ([], _) => Err(malformed(end + 1, 1, format!("`=======` in front of {}", excerpt(lines[end])))),
        ([_, second, ..], _) => {
            let expected = "one `=======` in a block: where the text itself has such lines, give all three marks of the \
                            block another length, from 5 to 9";
            Err(malformed(second + 1, 1, expected))
        }
    }
}

/// The line number that some tools put on top of a block, and what is beneath it.
fn numbered<'l, 'p>(search: &'l [&'p [u8]]) -> (Option<usize>, &'l [&'p [u8]]) {
    let mut rest = search;
    let mut line = None;
    while let [first, tail @ ..] = rest
        && let Some(number) = first.strip_prefix(b":start_line:").or(first.strip_prefix(b":end_line:"))
    {
        let number = std::str::from_utf8(number).ok().and_then(|number| number.trim().parse().ok());
        line = line.or(number);
        rest = tail;
    }
    match rest {
        [b"-------", tail @ ..] if rest.len() < search.len() => (line, tail),
        _ => (line, rest),
    }
}

fn joined(lines: &[&[u8]]) -> Vec<u8> {
    lines.iter().flat_map(|line| [*line, b"\n"].concat()).collect()
}

/// The lines of a block as those of a hunk: what both sides share in front and behind stays.
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

/// What names the file of a block.
struct Named {
    name: Vec<u8>,
    /// Whether there are blanks in it, and nothing around it.
    has_blanks: bool,
}

impl From<&str> for Named {
    fn from(name: &str) -> Self {
        Self { name: name.into(), has_blanks: false }
    }
}

/// The name of a file in one of the last lines in front of a block: in a line of its own, on the fence, in a tag.
fn name_before(lines: &[&[u8]]) -> Option<Named> {
    let told = lines.iter().rev().filter(|line| !line.trim_ascii().is_empty()).take(NAME_LINES);
    told.into_iter().find_map(|line| name_in(line))
}

fn name_in(line: &[u8]) -> Option<Named> {
    let mut text = std::str::from_utf8(line).ok()?.trim();
    if text.starts_with("```") || text.starts_with("~~~") {
        // A fence: its language, perhaps a name behind it.
        let info = text.trim_start_matches(['`', '~']).trim();
        let name = info.rsplit([':', ' ']).next()?;
        return (name.contains(['/', '.']) && !name.ends_with('.')).then(|| name.into());
    }
    if let Some(inner) = text.strip_prefix("<path>").and_then(|rest| rest.strip_suffix("</path>")) {
        return Some(inner.trim().into());
    }
    let quoted: Vec<&str> = text.split('`').skip(1).step_by(2).filter(|part| !part.is_empty()).collect();
    if let [name] = quoted[..] {
        return Some(name.trim().into());
    }
    text = text.trim_start_matches('#').trim();
    // A word with a colon is more often one of a sentence than a file.
    let is_label = text.ends_with(':') && !text.contains(['.', '/']);
    text = text.strip_suffix(':').unwrap_or(text).trim_matches('*').trim();
    for word in ["File:", "file:", "Filename:", "//"] {
        text = text.strip_prefix(word).unwrap_or(text).trim_start();
    }
    let has_blanks = text.contains(' ');
    let is_sentence = (has_blanks && !text.rsplit('/').next().is_some_and(has_extension))
        || text.ends_with(['.', '!', '?', ',', ';']);
    let is_file = !text.is_empty() && !is_label && !is_sentence && !text.starts_with(['<', '>', '=', '*']);
    is_file.then(|| Named { name: text.into(), has_blanks })
}

/// Whether a name ends like that of a file: a dot and a few letters or digits.
fn has_extension(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty() && (1..=8).contains(&extension.len()) && extension.bytes().all(|b| b.is_ascii_alphanumeric())
    })
}
