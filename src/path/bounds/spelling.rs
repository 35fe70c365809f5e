//! Other letters of the same name: what a file system, or git, may take it for.

use std::borrow::Cow;

/// A path as globs are compared with it.
pub(super) struct Spelled {
    /// As it is, and as file systems may take it.
    pub(super) letters: Vec<String>,
    /// As git counts: a byte is a letter. None where that is the same.
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

/// These, and the same in small letters: git compares those with a class where case does not count.
fn in_small_letters(spellings: impl Iterator<Item = String>) -> Vec<String> {
    let both = |text: String| {
        let small = text.to_ascii_lowercase();
        (small != text).then_some(small).into_iter().chain([text])
    };
    spellings.flat_map(both).collect()
}

/// Each byte as the letter of its number.
pub(super) fn as_letters(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

/// A path as file systems may take it that fold case, pass over characters without width, or know streams, and no dots or
/// blanks at the end of a name; `None` where that is the path itself but for its case.
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

/// A text as a file system compares it that folds case and passes over characters without width. By way of upper case:
/// several small letters have the same capital.
pub(super) fn lowered(text: &str) -> String {
    without_ignorable(text).chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

/// Without the characters that folding file systems pass over.
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
