//! The pattern to search, and its replacement.

use std::borrow::Cow;
use std::ops::Range;

use regex::bytes::{Captures, Regex, RegexBuilder};
use regex_automata::util::interpolate;

use super::lines::LfContent;
use super::named;
use crate::error::{Error, ErrorKind, Result};
use crate::request::edit::{Anchor, Count, Edit, Matching};
use crate::text::position::MARK;
use crate::text::{self, newline};

/// A search and its replacement.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// The text or pattern.
    pub pattern: String,
    /// The replacement. For a regular expression `$1` and `${name}` are what groups matched, `$$` is a dollar, `\n`,
    /// `\r` and `\t` are a line feed, a carriage return and a tab, and `\\` is a backslash.
    pub replacement: String,
    /// True if the pattern is a regular expression, in which `^` and `$` match at the ends of a line.
    pub regex: bool,
    /// True if a match must be a whole word.
    pub word: bool,
}

impl Query {
    /// What it is, field by field.
    pub(super) fn fields(&self) -> [&[u8]; 4] {
        let flag = |is: bool| if is { &b"1"[..] } else { b"0" };
        [self.pattern.as_bytes(), self.replacement.as_bytes(), flag(self.regex), flag(self.word)]
    }
}

/// A query prepared for searching.
#[derive(Debug)]
pub struct Pattern {
    kind: PatternKind,
    replacement: Vec<u8>,
    /// True if the pattern names the byte-order mark, which otherwise is not part of the first line.
    has_mark: bool,
    /// True if the pattern names carriage returns. Otherwise it sees every line break as a line feed, and those of the
    /// replacement become the file's.
    has_returns: bool,
}

#[derive(Debug)]
enum PatternKind {
    /// Line breaks of either kind are alike, as everywhere in texts of edits.
    Text(Vec<u8>),
    /// A text that must be a word.
    Word(Regex),
    Regex(Regex),
}

impl Pattern {
    /// Validates a query.
    pub fn new(query: &Query) -> Result<Self> {
        let refuse = |message: String| Error::new(ErrorKind::InvalidPattern, message);
        if query.pattern.is_empty() {
            return Err(refuse("the pattern is empty: it would be found everywhere".to_owned()));
        }
        let names = |character: char, without: char| {
            let by_pattern = query.regex && named::names(&query.pattern, character, without);
            by_pattern || !query.regex && query.pattern.contains(character)
        };
        let mut replacement = query.replacement.clone();
        if query.regex {
            replacement = unescaped(&replacement)?;
        }
        let has_returns = names('\r', '\n') || replacement.contains('\r');
        let build = |pattern: &str| {
            let end = if query.regex && named::ends_in_comment(pattern) { "\n" } else { "" };
            let pattern = if query.word {
                format!(r"\b{{start-half}}(?:{pattern}{end})\b{{end-half}}")
            } else {
                pattern.to_owned()
            };
            RegexBuilder::new(&pattern).multi_line(true).crlf(has_returns).build()
        };
        let kind = if query.regex {
            // Compiled alone first, so that an error does not show what is put around it.
            Regex::new(&query.pattern)
                .map_err(|error| refuse(format!("the pattern is not a regular expression: {error}")))?;
            PatternKind::Regex(build(&query.pattern).map_err(|error| refuse(error.to_string()))?)
        } else if query.word {
            PatternKind::Word(build(&regex::escape(&query.pattern)).map_err(|error| refuse(error.to_string()))?)
        } else {
            PatternKind::Text(query.pattern.as_bytes().to_vec())
        };
        if let PatternKind::Regex(regex) = &kind {
            check_groups(regex, &replacement)?;
        }
        let has_mark = names('\u{feff}', '\u{fefe}');
        Ok(Self { kind, replacement: replacement.into_bytes(), has_mark, has_returns })
    }

    /// The edits of a content; none if the pattern does not match.
    #[must_use]
    pub fn edits(&self, content: &[u8]) -> Vec<Edit> {
        match &self.kind {
            PatternKind::Text(text) => match text::count(content, text) {
                0 => Vec::new(),
                count => {
                    let anchor =
                        Anchor::Text { text: text.clone(), count: Count::Exactly(count), matching: Matching::Exact };
                    vec![Edit { anchor, replacement: self.replacement.clone() }]
                }
            },
            PatternKind::Word(regex) => {
                let lines = self.lines(content);
                let matches = regex.find_iter(&lines.text).map(|found| lines.range(&found.range()));
                ranges(content, matches.map(|range| (range.clone(), self.in_place_of(content, &range).into_owned())))
            }
            PatternKind::Regex(regex) => {
                let bare = content.strip_prefix(MARK).filter(|_| !self.has_mark).unwrap_or(content);
                let (start, lines) = (content.len() - bare.len(), self.lines(bare));
                // After the last line break there is no line: `^` and `$` match only at lines that exist.
                let has_no_last_line = bare.last().is_none_or(|byte| *byte == b'\n');
                let is_beyond = |range: &Range<usize>| has_no_last_line && *range == (bare.len()..bare.len());
                let found = regex.captures_iter(&lines.text);
                let found = found.map(|captures| (lines.range(&captures.get_match().range()), captures));
                // The pattern works on bytes, but an empty match inside a character is no match.
                let is_place = |range: &Range<usize>| !range.is_empty() || !is_in_character(bare, range.start);
                let matches =
                    found.filter(|(range, _)| !is_beyond(range) && is_place(range)).map(|(range, captures)| {
                        let replacement = self.in_place_of(bare, &range);
                        let text = expand(regex, &replacement, &captures, |group| &bare[lines.range(&group)]);
                        (range.start + start..range.end + start, text)
                    });
                ranges(content, matches)
            }
        }
    }

    /// A content as the pattern sees it.
    fn lines<'c>(&self, content: &'c [u8]) -> LfContent<'c> {
        if self.has_returns { LfContent::as_they_are(content) } else { LfContent::of(content) }
    }

    /// The replacement with the line endings of what it replaces, unless the query names its own.
    fn in_place_of(&self, content: &[u8], range: &Range<usize>) -> Cow<'_, [u8]> {
        if self.has_returns {
            return Cow::Borrowed(&self.replacement);
        }
        newline::in_place_of(content, range, &self.replacement)
    }

    /// The number of matches that edits stand for.
    pub(super) fn count(edits: &[Edit]) -> usize {
        match edits {
            [Edit { anchor: Anchor::Text { count: Count::Exactly(count), .. }, .. }] => *count,
            _ => edits.len(),
        }
    }
}

/// Returns whether a place is inside a character.
fn is_in_character(content: &[u8], at: usize) -> bool {
    let is_first = |at: &usize| content[*at] & 0b1100_0000 != 0b1000_0000;
    let Some(start) = (at.saturating_sub(3)..at).rev().find(is_first) else { return false };
    let character = content[start..content.len().min(start + 4)].utf8_chunks().next();
    let character = character.and_then(|chunk| chunk.valid().chars().next());
    character.is_some_and(|character| start + character.len_utf8() > at)
}

/// A replacement with the text of groups, as it is written to the file: only the line breaks of the replacement itself
/// become the file's.
fn expand<'c>(
    regex: &Regex,
    replacement: &[u8],
    captures: &Captures<'_>,
    there: impl Fn(Range<usize>) -> &'c [u8],
) -> Vec<u8> {
    let mut text = Vec::new();
    let group = |index: usize, text: &mut Vec<u8>| {
        text.extend_from_slice(captures.get(index).map_or(&[], |group| there(group.range())));
    };
    let index_of = |name: &str| regex.capture_names().position(|known| known == Some(name));
    interpolate::bytes(replacement, group, index_of, &mut text);
    text
}

/// Edits of ranges, each counted in the content after the previous ones.
fn ranges(content: &[u8], matches: impl Iterator<Item = (Range<usize>, Vec<u8>)>) -> Vec<Edit> {
    let mut grown = 0isize;
    let edit = |(range, replacement): (Range<usize>, Vec<u8>)| {
        let expected = content[range.clone()].to_vec();
        let moved = |offset: usize| offset.saturating_add_signed(grown);
        let range = moved(range.start)..moved(range.end);
        grown += replacement.len().cast_signed() - expected.len().cast_signed();
        Edit { anchor: Anchor::Range { range, expected }, replacement }
    };
    matches.map(edit).collect()
}

/// The replacement of a pattern with its escapes resolved. An unknown escape is refused: kept literally, it would be a
/// wrong edit for users of `sed`.
fn unescaped(replacement: &str) -> Result<String> {
    let mut text = String::with_capacity(replacement.len());
    let mut rest = replacement.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        let escape = rest.next();
        text.push(match escape {
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('\\') => '\\',
            _ => {
                let escape = escape.map(String::from).unwrap_or_default();
                let is_group = escape.bytes().any(|byte| byte.is_ascii_digit());
                let hint =
                    if is_group { format!("${{{escape}}} for a group") } else { r"\\ for a backslash".to_owned() };
                let message = format!(r"the replacement has \{escape}, which is not an escape: write {hint}");
                return Err(Error::new(ErrorKind::InvalidPattern, message));
            }
        });
    }
    Ok(text)
}

/// Refuses a replacement that names a group that the pattern lacks: the regex crate would insert nothing.
fn check_groups(regex: &Regex, replacement: &str) -> Result<()> {
    let mut rest = replacement;
    while let Some(at) = rest.find('$') {
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            rest = after;
            continue;
        }
        let braced = rest.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (name, is_braced) = braced.map_or((&rest[..end], false), |(name, _)| (name, true));
        let is_there = match name.parse::<usize>() {
            Ok(number) => number < regex.captures_len(),
            Err(_) => regex.capture_names().flatten().any(|known| known == name),
        };
        if name.is_empty() && !is_braced || is_there {
            continue;
        }
        let digits = name.bytes().take_while(u8::is_ascii_digit).count();
        let hint = if !is_braced && digits > 0 && digits < name.len() {
            format!(": write ${{{}}} where text follows the number", &name[..digits])
        } else {
            ": write $$ for a dollar".to_owned()
        };
        let message = format!("the replacement names the group {name:?}, which the pattern does not have{hint}");
        return Err(Error::new(ErrorKind::InvalidPattern, message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(pattern: &str, replacement: &str, regex: bool, word: bool) -> Query {
        Query { pattern: pattern.into(), replacement: replacement.into(), regex, word }
    }

    #[track_caller]
    fn becomes(query: &Query, content: &str, expected: &str, matches: usize) {
        let pattern = Pattern::new(query).unwrap();
        let edits = pattern.edits(content.as_bytes());
        let edited = text::edit(content.as_bytes(), &edits).unwrap();
        assert_eq!(String::from_utf8(edited.splices.apply(content.as_bytes())).unwrap(), expected);
        assert_eq!(Pattern::count(&edits), matches);
    }

    #[test]
    fn a_text_is_only_a_text() {
        becomes(&query("a.b", "$1$$", false, false), "a.b axb a.b", "$1$$ axb $1$$", 2);
        becomes(&query("f", "g", false, true), "f ff (f) f_ éf f", "g ff (g) f_ éf g", 3);
        becomes(&query("f", "$0$1", false, true), "f ff", "$0$1 ff", 1);
        becomes(&query("-x", "+x", false, true), "a -x -xy -x", "a +x -xy +x", 2);
        becomes(&query("a\nb", "c\nd", false, false), "a\r\nb\r\n", "c\r\nd\r\n", 1);
    }

    #[test]
    fn a_pattern_has_groups() {
        becomes(&query(r"(\w+)=(?<v>\d+)", "${v}=$1$$", true, false), "a=1 bb=22", "1=a$ 22=bb$", 2);
        becomes(&query("^", "> ", true, false), "a\nb", "> a\n> b", 2);
        becomes(&query("a$", "b", true, false), "a\r\nca\n", "b\r\ncb\n", 2);
        // After the last line break there is no line, as in sed, perl and rg.
        becomes(&query("^", "> ", true, false), "a\n\nb\n", "> a\n> \n> b\n", 3);
        becomes(&query("$", ";", true, false), "a\r\nb\n", "a;\r\nb;\n", 2);
        becomes(&query("x*", "-", true, false), "", "", 0);
        becomes(&query("a|ab", "x", true, true), "ab a abc", "x x abc", 2);
        becomes(&query("é", "e", true, false), "\u{e9}t\u{e9}", "ete", 2);
        // An empty match is between characters.
        becomes(&query("x*", "-", true, false), "cé\r\n", "-c-é-\r\n", 3);
        // Also next to bytes that are no character.
        let edits = Pattern::new(&query("x*", "-", true, false)).unwrap().edits("cé\u{1f600}".as_bytes());
        let mut torn = "cé\u{1f600}".as_bytes().to_vec();
        torn.extend(b"\xff\xc3");
        assert_eq!(Pattern::new(&query("x*", "-", true, false)).unwrap().edits(&torn).len(), edits.len() + 2);
        // Text put around a pattern is not part of its comment.
        becomes(&query("(?x)a # c", "b", true, true), "a aa a", "b aa b", 2);
    }

    #[test]
    fn line_breaks_of_a_replacement_are_the_files_unless_the_pattern_is_about_them() {
        becomes(&query(r"a([^\r\n]*)", r"x\ny$1", true, false), "a b\r\nc\r\n", "x\r\ny b\r\nc\r\n", 1);
        becomes(&query(r"a([^\n]*)", r"x\ny$1", true, false), "a b\r\nc\r\n", "x\r\ny b\r\nc\r\n", 1);
        becomes(&query(r"[\r\n]+", r"\n", true, false), "a\r\nb\r\n", "a\nb\n", 2);
        becomes(&query(r"[\s--\n]", "", true, false), "a b\r\n", "ab\n", 2);
    }

    #[test]
    fn escapes_of_a_replacement_are_those_of_sed() {
        becomes(&query(r"\n+", r"\n", true, false), "a\n\n\nb\n", "a\nb\n", 2);
        becomes(&query("(,)", r"$1\t\\n\r", true, false), "a,b", "a,\t\\n\rb", 1);
        // Without a regular expression nothing has a special meaning.
        becomes(&query("a", r"\n", false, false), "a", r"\n", 1);
        for (replacement, words) in [(r"\1", "write ${1}"), (r"C:\dir", r"write \\"), ("a\\", r"write \\")] {
            let error = Pattern::new(&query("(a)", replacement, true, false)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidPattern);
            assert!(error.to_string().contains(words), "{error}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_not_part_of_the_first_line() {
        becomes(&query("^", "> ", true, false), "\u{feff}one\n", "\u{feff}> one\n", 1);
        becomes(&query("^.", "X", true, false), "\u{feff}one\n", "\u{feff}Xne\n", 1);
        becomes(&query("^one", "1", true, false), "\u{feff}one\none\n", "\u{feff}1\n1\n", 2);
        becomes(&query("one", "1", true, true), "\u{feff}one\n", "\u{feff}1\n", 1);
        becomes(&query("^.*0xFEFF.*$", "// $0", true, false), "\u{feff}a = 0xFEFF\n", "\u{feff}// a = 0xFEFF\n", 1);
        // A byte-order mark that is named is found.
        becomes(&query(r"^\x{feff}", "", true, false), "\u{feff}one\n", "one\n", 1);
        becomes(&query("\u{feff}", "", true, false), "\u{feff}one\n", "one\n", 1);
    }

    #[test]
    fn a_line_break_of_a_replacement_is_that_of_the_file() {
        becomes(&query("b", r"x\ny", true, false), "a\r\nb\r\n", "a\r\nx\r\ny\r\n", 1);
        becomes(&query("b", "x\ny", true, false), "a\r\nb", "a\r\nx\r\ny", 1);
        becomes(&query("(a\\s+)b", r"${1}x\ny", true, false), "a\r\nb\r\n", "a\r\nx\r\ny\r\n", 1);
        becomes(&query("b", r"x\ny", true, false), "a\nb\n", "a\nx\ny\n", 1);
        // The text of a group keeps its own line breaks.
        becomes(&query("(?s)a\\n(.*)", "$1", true, false), "a\nb\r\nc\r\n", "b\r\nc\r\n", 1);
        becomes(&query("([^\\n]*\\n)([^\\n]*\\n)", "$2$1", true, false), "a\nb\r\n", "b\r\na\n", 1);
        becomes(&query("b", "x\ny", false, true), "a\r\nb\r\n", "a\r\nx\r\ny\r\n", 1);
        // A pattern sees every line break as a line feed.
        becomes(&query(r"a\nb", r"c\nd", true, false), "a\r\nb\r\n", "c\r\nd\r\n", 1);
        becomes(&query("a\nb", "c", false, true), "a\r\nb\r\n", "c\r\n", 1);
        becomes(&query(r"\nb", r"\nx\ny", true, false), "a\r\nb\r\n", "a\r\nx\r\ny\r\n", 1);
        becomes(&query(r"\n", "", true, false), "a\r\nb\r\n", "ab", 2);
        becomes(&query(r" *//[^\n]*", "", true, false), "a // b\r\nc\r\n", "a\r\nc\r\n", 1);
        becomes(&query(r"(a[^\n]*)\n(b)", "$2$1", true, false), "a\r\nb\n", "ba\n", 1);
        becomes(&query(r"(?<x>a\n)b", "${x}c", true, false), "a\r\nb\n", "a\r\nc\n", 1);
        // A backslash before an r does not name it.
        becomes(&query(r"C:\\run", r"x\ny", true, false), "a\r\nC:\\run\r\n", "a\r\nx\r\ny\r\n", 1);
        // A lone carriage return is not a line break.
        becomes(&query("^.*$", "<$0>", true, false), "a\rb\r\nc\n", "<a\rb>\r\n<c>\n", 2);
        // A pattern that names carriage returns is about line endings.
        becomes(&query(r"\x{0D}\n", r"\n", true, false), "a\r\nb\r\n", "a\nb\n", 2);
        becomes(&query(r"\r\n", r"\n", true, false), "a\r\nb\r\n", "a\nb\n", 2);
        becomes(&query("b$", r"x\r\ny", true, false), "a\nb\n", "a\nx\r\ny\n", 1);
    }

    #[test]
    fn invalid_replacements_are_refused() {
        let refused = |pattern: &str, replacement: &str, words: &str| {
            let error = Pattern::new(&query(pattern, replacement, true, true)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidPattern);
            assert!(error.to_string().contains(words), "{error}");
        };
        refused("", "x", "is empty");
        refused("(", "x", "unclosed group");
        refused("(a)", "$2", "write $$ for a dollar");
        refused("(a)", "$1_x", "write ${1}");
        refused("(a)", "${name}", "\"name\"");
        assert!(Pattern::new(&query("(a)", "$ $$1 ${1}", true, false)).is_ok());
    }
}
