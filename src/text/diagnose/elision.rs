//! Anchors with lines left out: marked by an ellipsis, or silently. All other lines are there, in order, at one place.

use std::ops::Range;

use super::cause::{Explained, SEEN, with_edges};
use super::fold::Folded;
use crate::error::MismatchCause;

/// The most bytes of a content that is searched line by line.
const SEARCHED: usize = 2 << 20;

/// The most lines that an ellipsis stands for.
const ELIDED_LINES: usize = 400;

/// The most lines that are left out without an ellipsis, and how many times the lines that are there.
const LEFT_OUT_LINES: usize = 40;
const LEFT_OUT_TIMES: usize = 3;

/// The fewest bytes, white space apart, of a line that tells where it is.
const TELLING: usize = 4;

/// A line without its white space.
struct FoldedLine {
    range: Range<usize>,
    indent: usize,
    key: Vec<u8>,
}

/// Lines of an anchor that must follow each other directly.
#[derive(Default)]
struct LineBlock {
    lines: Vec<FoldedLine>,
    /// True if the rest of the last line is left out.
    is_cut: bool,
}

/// The place of an anchor with lines left out, from its first line to its last.
pub(super) fn elided(state: &[u8], anchor: &[u8]) -> Option<Explained> {
    if state.len() > SEARCHED {
        return None;
    }
    let blocks = blocks(anchor);
    let cut = blocks.iter().any(|block| block.is_cut);
    let is_marked =
        cut || blocks.len() > 1 || blocks.iter().map(|block| block.lines.len()).sum::<usize>() < count(anchor);
    let telling = blocks.iter().flat_map(|block| &block.lines).filter(|line| line.key.len() >= TELLING).count();
    if telling < if is_marked { 1 } else { 2 } {
        return None;
    }
    let lines = folded_lines(state);
    let blocks = if is_marked { blocks } else { split(blocks) };
    let search = ElisionSearch { state, lines: &lines, blocks: &blocks, is_marked };
    // With the indentation as it is; only if that leads nowhere, with any.
    let found =
        [true, false].into_iter().map(|is_strict| search.places(is_strict)).find(|places| !places.is_empty())?;
    let range = with_edges(state, found[0].clone(), anchor)?;
    let cause = if is_marked { MismatchCause::Elided } else { MismatchCause::LinesLeftOut };
    Some(Explained { cause, range, is_only: found.len() == 1 })
}

/// The lines of a text that are not blank.
fn folded_lines(text: &[u8]) -> Vec<FoldedLine> {
    let mut at = 0;
    let mut lines = Vec::new();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let key = Folded::new(line, SEEN).bytes;
        if !key.is_empty() {
            let indent = line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
            lines.push(FoldedLine { range: at..at + line.len(), indent, key });
        }
        at += line.len();
    }
    lines
}

fn count(text: &[u8]) -> usize {
    text.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).count()
}

/// The anchor's lines, apart where an ellipsis stands between them.
fn blocks(anchor: &[u8]) -> Vec<LineBlock> {
    let mut blocks = vec![LineBlock::default()];
    for mut line in folded_lines(anchor) {
        let text = &anchor[line.range.clone()];
        let is_empty = blocks.last().is_none_or(|block| block.lines.is_empty());
        if is_ellipsis(text) {
            if !is_empty {
                blocks.push(LineBlock::default());
            }
            continue;
        }
        let cut = ["...", "\u{2026}"].iter().find_map(|dots| text.trim_ascii_end().strip_suffix(dots.as_bytes()));
        let cut = cut.map(|start| Folded::new(start, SEEN).bytes).filter(|key| key.len() >= TELLING);
        let is_cut = cut.is_some();
        if let Some(key) = cut {
            line.key = key;
        }
        if let Some(block) = blocks.last_mut() {
            block.lines.push(line);
            block.is_cut = is_cut;
        }
        if is_cut {
            blocks.push(LineBlock::default());
        }
    }
    blocks.retain(|block| !block.lines.is_empty());
    blocks
}

/// Each line for itself: any may have been left out in front of it.
fn split(blocks: Vec<LineBlock>) -> Vec<LineBlock> {
    let lines = blocks.into_iter().flat_map(|block| block.lines);
    lines.map(|line| LineBlock { lines: vec![line], is_cut: false }).collect()
}

/// Whether a line says that others are left out: an ellipsis, perhaps in a comment, perhaps with a word for it.
fn is_ellipsis(line: &[u8]) -> bool {
    const COMMENTS: [&str; 14] =
        ["//", "/*", "*/", "#", "--", "<!--", "-->", "{/*", "*/}", ";", "%", "\"\"\"", "(*", "*)"];
    const WORDS: [&str; 12] = [
        "existing",
        "rest",
        "unchanged",
        "remaining",
        "same",
        "omitted",
        "snip",
        "other",
        "previous",
        "code",
        "lines",
        "more",
    ];
    let Ok(mut text) = std::str::from_utf8(line).map(str::trim) else { return false };
    let whole = text;
    for mark in COMMENTS {
        text = text.strip_prefix(mark).unwrap_or(text).trim();
        text = text.strip_suffix(mark).unwrap_or(text).trim();
    }
    let is_comment = text.len() < whole.len();
    let bare = text.trim_matches(['[', ']', '(', ')', '<', '>', '{', '}', ' ']);
    let dots = |text: &str| text.starts_with("...") || text.starts_with('\u{2026}');
    let ends = bare.ends_with("...") || bare.ends_with('\u{2026}');
    let has_word = || WORDS.iter().any(|word| bare.to_ascii_lowercase().contains(word));
    let is_bare = !bare.is_empty() && bare.chars().all(|c| matches!(c, '.' | '\u{2026}' | ' '));
    (is_bare && (dots(bare) || bare.contains(". . .")))
        || (dots(bare) && (ends || has_word()))
        || (ends && is_comment && has_word())
}

/// A search of blocks of lines in order.
struct ElisionSearch<'s> {
    state: &'s [u8],
    lines: &'s [FoldedLine],
    blocks: &'s [LineBlock],
    is_marked: bool,
}

impl ElisionSearch<'_> {
    /// The smallest places that have all blocks.
    fn places(&self, is_strict: bool) -> Vec<Range<usize>> {
        let mut places: Vec<(Range<usize>, usize)> = Vec::new();
        for start in 0..self.lines.len() {
            let Some((range, last)) = self.from(start, is_strict) else { continue };
            // A start before another with the same end has lines that need not be there.
            if places.last().is_some_and(|(_, end)| *end == last) {
                places.pop();
            }
            places.push((range, last));
        }
        places.into_iter().map(|(range, _)| range).collect()
    }

    /// The place that begins with the line `start`, and its last line.
    fn from(&self, start: usize, is_strict: bool) -> Option<(Range<usize>, usize)> {
        let total: usize = self.blocks.iter().map(|block| block.lines.len()).sum();
        let most = if self.is_marked { ELIDED_LINES } else { LEFT_OUT_LINES.min(LEFT_OUT_TIMES * total) };
        let limit = self.lines.len().min(start + total + most);
        if !self.is_at(0, start, is_strict) {
            return None;
        }
        let mut next = start + self.blocks[0].lines.len();
        for block in 1..self.blocks.len() {
            let at = (next..limit).find(|at| self.is_at(block, *at, is_strict))?;
            next = at + self.blocks[block].lines.len();
        }
        let last = next - 1;
        let head = &self.blocks[0].lines[0];
        let tail = self.blocks.last()?;
        let (first_line, last_line) = (&self.lines[start], &self.lines[last]);
        let from = first_line.key.len() - head.key.len();
        let to = if tail.is_cut { last_line.key.len() } else { tail.lines.last()?.key.len() };
        let origin = |line: &FoldedLine, keys: Range<usize>| {
            let range = Folded::new(&self.state[line.range.clone()], SEEN).origin(&keys);
            line.range.start + range.start..line.range.start + range.end
        };
        let start = origin(first_line, from..first_line.key.len()).start;
        let end = origin(last_line, 0..to.min(last_line.key.len())).end;
        (start < end).then_some((start..end, last))
    }

    /// Whether the lines of a block are at the line `at` and after it.
    fn is_at(&self, block: usize, at: usize, is_strict: bool) -> bool {
        let (is_first, is_last) = (block == 0, block + 1 == self.blocks.len());
        let block = &self.blocks[block];
        let Some(there) = self.lines.get(at..at + block.lines.len()) else { return false };
        let ends = block.lines.len() - 1;
        block.lines.iter().zip(there).enumerate().all(|(index, (line, there))| {
            let begins = is_first && index == 0;
            let may_be_cut = index == ends && (block.is_cut || is_last) && line.key.len() >= TELLING;
            let is_there = line.key == there.key
                || (begins && line.key.len() >= TELLING && there.key.ends_with(&line.key))
                || (may_be_cut && there.key.starts_with(&line.key));
            let is_telling = is_strict || line.key.len() >= TELLING || !(begins || (is_last && index == ends));
            is_there && is_telling && (!is_strict || begins || line.indent == there.indent)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str =
        "fn a() {\n    one();\n    if two {\n        three();\n    }\n    four();\n}\n\nfn b() {\n    four();\n}\n";

    fn check(anchor: &str, cause: MismatchCause, expected: &str) {
        let found = elided(FILE.as_bytes(), anchor.as_bytes()).unwrap();
        assert_eq!((found.cause, &FILE[found.range], found.is_only), (cause, expected, true));
    }

    #[test]
    fn an_ellipsis_stands_for_lines() {
        let all = "fn a() {\n    one();\n    if two {\n        three();\n    }\n    four();\n}";
        for dots in
            ["...", "    // ...", "    // ... existing code ...", "…", "# ... rest of the function", "    /* ... */"]
        {
            check(&format!("fn a() {{\n{dots}\n}}"), MismatchCause::Elided, all);
        }
        check("fn a() {\n  one();\n  ...\n  four();\n", MismatchCause::Elided, &format!("{}\n", &all[..all.len() - 2]));
        check("one();\n    if two...", MismatchCause::Elided, "one();\n    if two {");
    }

    #[test]
    fn lines_that_are_left_out_are_in_the_place() {
        let part = "    one();\n    if two {\n        three();\n    }\n    four();";
        check("    one();\n    four();", MismatchCause::LinesLeftOut, part);
        check("one();\n    if two {\n    }\n    four();", MismatchCause::LinesLeftOut, &part[4..]);
    }

    #[test]
    fn nothing_is_claimed_of_lines_that_are_not_there() {
        for anchor in ["one();\n    five();", "four();\n    one();", "...", "}\n}", "one();\n...\nfive();"] {
            assert!(elided(FILE.as_bytes(), anchor.as_bytes()).is_none(), "{anchor:?}");
        }
        assert!(!is_ellipsis(b"    ..Default::default()") && !is_ellipsis(b"call(...)") && !is_ellipsis(b"// wait..."));
    }
}
