//! Other spellings of a name that a file system, or git, treats as the same.

use std::borrow::Cow;

/// The spellings of a path that globs are matched against.
pub(super) struct Spelled {
    /// The path as it is, and as file systems may treat it.
    pub(super) letters: Vec<String>,
    /// As git counts: each byte is a character. Empty if that is the same.
    pub(super) bytes: Vec<String>,
}

impl Spelled {
    pub(super) fn of(path: &[u8]) -> Self {
        let text = String::from_utf8_lossy(path);
        let folded = folded(&text);
        let letters = in_small_letters([text.into_owned()].into_iter().chain(folded));
        let bytes = if path.is_ascii() { Vec::new() } else { in_small_letters([as_letters(path)].into_iter()) };
        Self { letters, bytes }
    }
}

/// The spellings, and the same in lower case: git matches those against a class where case is ignored.
fn in_small_letters(spellings: impl Iterator<Item = String>) -> Vec<String> {
    let both = |text: String| {
        let small = text.to_ascii_lowercase();
        (small != text).then_some(small).into_iter().chain([text])
    };
    spellings.flat_map(both).collect()
}

/// A name as any file system compares it.
pub(crate) enum Compared<'a> {
    /// Only the case of its letters can be ignored.
    Plain(&'a [u8]),
    /// The name in lower case without what a file system can ignore, a stream, and trailing dots and blanks.
    Stem(String),
}

impl<'a> Compared<'a> {
    pub(crate) fn of(name: &'a [u8]) -> Self {
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        if name.iter().all(is_plain) && !name.ends_with(b".") {
            return Self::Plain(name);
        }
        let mut stem = lowered(&String::from_utf8_lossy(name));
        stem.truncate(stem.find(':').unwrap_or(stem.len()));
        stem.truncate(stem.trim_end_matches(['.', ' ']).len());
        Self::Stem(stem)
    }

    /// Returns whether it is this name.
    pub(crate) fn is(&self, other: &str) -> bool {
        match self {
            Self::Plain(name) => name.eq_ignore_ascii_case(other.as_bytes()),
            Self::Stem(stem) => stem.eq_ignore_ascii_case(other),
        }
    }

    /// Returns whether it is this name, which starts with a dot or the like, or the short one that a file system gives it.
    pub(crate) fn leads_to(&self, folder: &str) -> bool {
        let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
        let is_short = |stem: &str| {
            let short = &folder[1..folder.len().min(7)];
            stem.strip_prefix(short).and_then(|rest| rest.strip_prefix('~')).is_some_and(is_number)
        };
        self.is(folder) || matches!(self, Self::Stem(stem) if is_short(stem))
    }
}

/// Each byte as the character of its number.
pub(super) fn as_letters(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

/// The path as treated by file systems that ignore case or zero-width characters, or that know streams, and no trailing
/// dots or blanks; `None` if that differs from the path only in case.
fn folded(path: &str) -> Option<String> {
    let is_plain = |name: &str| name.is_ascii() && !name.contains(':') && !name.ends_with(['.', ' ']);
    if path.split('/').all(is_plain) {
        return None;
    }
    let fold = |name: &str| -> String {
        let name = lowered(name);
        let stem = name.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
        if stem.is_empty() { name } else { stem.to_owned() }
    };
    Some(path.split('/').map(fold).collect::<Vec<_>>().join("/"))
}

/// A text as a file system compares it that ignores case and zero-width characters. It goes through upper case, since
/// several lower-case letters have the same upper-case one.
pub(super) fn lowered(text: &str) -> String {
    without_ignorable(text).chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

/// The text without the characters that such file systems ignore.
fn without_ignorable(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let is_ignorable = |c: char| {
        matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
    };
    Cow::Owned(text.chars().filter(|c| !is_ignorable(*c)).collect())
}
