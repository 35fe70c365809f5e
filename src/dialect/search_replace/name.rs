//! Finds the name of a block's file, in the text before the block.
//!
//! A name must be written in one of the forms listed here, or the block is refused: applying it to the wrong file would
//! be a wrong edit, and a refused block is sent again.

use super::mention;
use crate::dialect::{excerpt, malformed};
use crate::error::Result;

/// The number of lines before a block that may contain the name of its file.
const NAME_LINES: usize = 3;

/// Words before a name that mark it as one.
const LABELS: [&str; 15] = [
    "here is",
    "file path",
    "file name",
    "filepath",
    "filename",
    "new file",
    "file",
    "path",
    "in",
    "update",
    "edit",
    "modify",
    "change",
    "create",
    "add",
];

/// The name of a block's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) name: Vec<u8>,
    /// True if it could also be a word or a sentence: no new file is created from it.
    pub(super) is_doubtful: bool,
}

/// The information of a line about the file.
#[derive(Debug, PartialEq, Eq)]
enum NameHint {
    Nothing,
    /// A name, and whether it looks like a file name.
    Name(Named, bool),
    /// The opening of a fence, with the name on it.
    Fence(Option<String>),
    /// Files that are mentioned in another way.
    Mentions(Vec<String>),
}

/// The name in the lines before a block, each with its number; `None` if they name no file, or only `current`, that of
/// the previous block.
pub(super) fn before(lines: &[(usize, &[u8])], current: Option<&Named>) -> Result<Option<Named>> {
    let mut mentions: Vec<(usize, &[u8], String)> = Vec::new();
    let mut on_fence: Option<String> = None;
    let mut found = None;
    let mut seen = 0;
    for &(number, line) in lines.iter().rev().filter(|(_, line)| !line.trim_ascii().is_empty()) {
        let is_near = seen == 0;
        let told = told(&String::from_utf8_lossy(line), is_near);
        seen += usize::from(!matches!(told, NameHint::Fence(_)));
        match told {
            NameHint::Fence(Some(name)) => on_fence = on_fence.or(Some(name)),
            NameHint::Name(named, is_path)
                if (is_path || is_near) && seen <= NAME_LINES && std::str::from_utf8(line).is_ok() =>
            {
                found = Some(named);
            }
            NameHint::Name(named, is_path) if is_path || is_title_like_a_name(line) || named.is_doubtful => {
                mentions.push((number, line, named.text()));
            }
            NameHint::Mentions(names) => mentions.extend(names.into_iter().map(|name| (number, line, name))),
            NameHint::Name(..) | NameHint::Nothing | NameHint::Fence(None) => {}
        }
        if found.is_some() || (on_fence.is_some() && seen > 0) {
            break;
        }
    }
    let (number, last) = lines.last().copied().unwrap_or_default();
    if let Some(name) = on_fence {
        // A line above it may repeat the name, and nothing else.
        let is_same = |told: &str| {
            let last_word = told.rsplit(' ').next().unwrap_or(told);
            mention::is_of(told, &name) || mention::is_of(last_word, &name)
        };
        if let Some(named) = found.filter(|named| !is_same(&named.text())) {
            mentions.push((number, last, named.text()));
        }
        found = Some(Named { name: name.into(), is_doubtful: false });
    }
    let meant = found.as_ref().or(current).map(Named::text);
    let is_other = |name: &str| meant.as_ref().is_none_or(|meant| !mention::is_of(name, meant));
    match mentions.into_iter().find(|(.., name)| is_other(name)) {
        Some((number, line, _)) => Err(unclear(number, line)),
        None => Ok(found),
    }
}

/// Returns whether a line with one word, which may be a title, writes it like a name: in backticks, or in lower case.
fn is_title_like_a_name(line: &[u8]) -> bool {
    let line = String::from_utf8_lossy(line);
    let word = line.trim().trim_start_matches(['#', '*', ' ']).trim_end_matches(['*', ':']);
    let is_word = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c));
    match word.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')) {
        Some(quoted) => is_word(quoted),
        None => is_word(word) && word.starts_with(char::is_lowercase),
    }
}

fn unclear(number: usize, line: &[u8]) -> crate::error::Error {
    let expected = format!(
        "the name of the file that the block is for: the path alone on a line of its own directly before it, not {}",
        excerpt(line)
    );
    malformed(number, 1, expected)
}

impl Named {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.name).into_owned()
    }
}

/// Returns whether a line consists of a file name.
pub(super) fn is_alone(line: &[u8]) -> bool {
    std::str::from_utf8(line).is_ok_and(|line| matches!(told(line, true), NameHint::Name(_, true)))
}

fn told(line: &str, is_near: bool) -> NameHint {
    let line = line.trim();
    if line.starts_with("```") || line.starts_with("~~~") {
        return match on_fence(line.trim_start_matches(['`', '~']).trim()) {
            Ok(name) => NameHint::Fence(name),
            Err(()) => NameHint::Mentions(vec![line.to_owned()]),
        };
    }
    if let Some(inner) = line.strip_prefix("<path>").and_then(|rest| rest.strip_suffix("</path>")) {
        return NameHint::Name(Named { name: inner.trim().into(), is_doubtful: false }, true);
    }
    if let Some(named) = at_the_start(line) {
        return NameHint::Name(named, true);
    }
    if let Some((named, is_path, is_title)) = alone(line) {
        return match (is_path, is_title && is_near) {
            (false, true) => NameHint::Mentions(vec![line.to_owned()]),
            _ => NameHint::Name(named, is_path),
        };
    }
    let names = mention::all(line);
    if names.is_empty() { NameHint::Nothing } else { NameHint::Mentions(names) }
}

/// The name in a sentence like "In `src/a.rs`, change this:", if it has no other.
fn at_the_start(line: &str) -> Option<Named> {
    let (name, rest) = line.strip_prefix("In `")?.split_once('`')?;
    let is_only = mention::is_plain_path(name) && rest.starts_with(',') && mention::all(rest).is_empty();
    is_only.then(|| Named { name: name.into(), is_doubtful: false })
}

/// The name in a line that contains nothing else except known decoration; whether it looks like a file name; and
/// whether the line is a heading or bold.
fn alone(line: &str) -> Option<(Named, bool, bool)> {
    let mut text = line;
    for (open, close) in [("/*", "*/"), ("<!--", "-->"), ("(*", "*)")] {
        text = text.strip_prefix(open).and_then(|rest| rest.strip_suffix(close)).unwrap_or(text).trim();
    }
    let is_title = text.starts_with("**") || text.starts_with('#');
    for open in ["//", "-- ", ";; "] {
        text = text.strip_prefix(open).unwrap_or(text).trim_start();
    }
    let plain = text.trim_start_matches('#').trim_start().replace("**", "");
    let mut text = without_number(&plain).trim();
    let has_colon = text.ends_with(':');
    text = text.strip_suffix(':').unwrap_or(text).trim_end();
    text = without_note(text);
    for label in LABELS {
        text = behind_label(text, label).unwrap_or(text);
    }
    let inner = text.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')).filter(|inner| !inner.contains('`'));
    let is_quoted = inner.is_some();
    text = inner.unwrap_or(text).trim();
    let is_path = mention::is_path(text);
    let has_blanks = text.contains(' ');
    let strange: &[char] =
        if is_quoted { &[':', '"', '<', '>', '|', '(', '{'] } else { &[':', '"', '<', '>', '|', '='] };
    let is_name = !text.is_empty()
        && !text.contains(strange)
        && !text.contains("#L")
        && !text.contains('`')
        && !text.ends_with(['.', '!', '?', ',', ';'])
        && !text.starts_with(['*', '[', '{', '('])
        && (!has_blanks || ends_like_a_name(text, is_quoted))
        // A word with a colon is more often part of a sentence than a file.
        && (is_quoted || is_path || !has_colon);
    let is_doubtful = !is_quoted && has_blanks;
    is_name.then(|| (Named { name: text.into(), is_doubtful }, is_path && (is_quoted || !has_blanks), is_title))
}

/// Returns whether a text with blanks can be a name: its end looks like one and, without quotes, nothing before it
/// does.
fn ends_like_a_name(text: &str, is_quoted: bool) -> bool {
    let ends = text.rsplit('/').next().is_some_and(mention::has_extension);
    let is_item = text.starts_with(['-', '+', '•']);
    let mut words = text.split(' ').rev().skip(1);
    ends && (is_quoted || (!is_item && !words.any(|word| mention::is_path(word.trim_end_matches([',', ';'])))))
}

/// A name without a preceding `1. ` or `2) `.
fn without_number(text: &str) -> &str {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let behind = rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") "));
    behind.filter(|_| rest.len() < text.len()).unwrap_or(text)
}

/// A name without a following `(new file)` and the like.
fn without_note(text: &str) -> &str {
    let note = text.strip_suffix(')').and_then(|rest| rest.rfind(" ("));
    note.map_or(text, |at| text[..at].trim_end())
}

fn behind_label<'t>(text: &'t str, label: &str) -> Option<&'t str> {
    let (start, rest) = text.split_at_checked(label.len())?;
    let is_label = start.eq_ignore_ascii_case(label) && rest.starts_with([':', ' ']);
    let name = rest.trim_start_matches(':').trim();
    let is_quoted = name.len() > 2 && name.starts_with('`') && name.ends_with('`');
    (is_label && (rest.starts_with(':') || is_quoted || (!name.contains(' ') && mention::is_path(name))))
        .then_some(name)
}

/// The name on a fence: alone, after the language, or as `title="NAME"`. An error if something there may be one.
fn on_fence(info: &str) -> Result<Option<String>, ()> {
    let mut names: Vec<String> = Vec::new();
    let info = info.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(info);
    for (at, word) in info.split_whitespace().enumerate() {
        let word = word.trim_start_matches('{').trim_end_matches('}');
        if let Some((key, value)) = word.split_once('=') {
            let value = value.trim_matches(['"', '\'']);
            let is_key = ["title", "file", "filename", "path", "name", "filepath"].contains(&key);
            if is_key && mention::is_plain_path(value) {
                names.push(value.to_owned());
            } else if is_key || mention::is_path(value) {
                return Err(());
            }
            continue;
        }
        let (front, name) = word.rsplit_once(':').unwrap_or(("", word));
        let is_known_front = front.chars().all(|c| c.is_ascii_alphanumeric() || "+#-_:".contains(c));
        // A class of Pandoc: `.python`.
        let is_class = at == 0 && name.starts_with('.') && !name.contains('/') && !mention::is_known(name);
        // Some languages have names of files: `dockerfile`, `makefile`.
        let is_language = at == 0 && word == name && name.bytes().all(|byte| byte.is_ascii_lowercase());
        if is_class || is_language || !mention::is_path(name) {
            if !mention::all(name).is_empty() {
                return Err(());
            }
        } else if is_known_front && mention::is_plain_path(name) {
            names.push(name.to_owned());
        } else {
            return Err(());
        }
    }
    if names.len() > 1 { Err(()) } else { Ok(names.pop()) }
}
