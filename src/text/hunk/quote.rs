//! Strings of several lines: their content is not code, whatever its indentation.

use memchr::memchr_iter;

/// Tracks whether a place is in a string. It knows no language: a wrong guess only makes a block longer.
#[derive(Debug)]
pub(super) struct Quote {
    /// The signs that begin and end a string.
    signs: &'static [&'static [u8]],
    open: Option<OpenQuote>,
}

/// The signs in code. Three quotation marks count as one that begins, ends and begins.
const IN_CODE: &[&[u8]] = &[b"'''", b"\"", b"`"];

/// The signs beneath a heading.
const IN_PROSE: &[&[u8]] = &[b"'''", b"\"\"\"", b"```", b"~~~"];

#[derive(Debug)]
enum OpenQuote {
    /// Ends at this sign.
    Signs(&'static [u8]),
    /// Ends at a line that is this word.
    Word(Vec<u8>),
}

impl Quote {
    pub(super) const fn in_code() -> Self {
        Self { signs: IN_CODE, open: None }
    }

    pub(super) const fn in_prose() -> Self {
        Self { signs: IN_PROSE, open: None }
    }

    /// The sign that ends the open string.
    pub(super) fn sign(&self) -> Option<Vec<u8>> {
        self.open.as_ref().map(|open| match open {
            OpenQuote::Signs(signs) => signs.to_vec(),
            OpenQuote::Word(word) => word.clone(),
        })
    }

    /// Reads on to the end of a line.
    pub(super) fn read(&mut self, line: &[u8]) {
        let mut at = 0;
        while let Some(&byte) = line.get(at) {
            let rest = &line[at..];
            at += match &self.open {
                Some(OpenQuote::Word(word)) => {
                    if line.trim_ascii() == *word {
                        self.open = None;
                    }
                    return;
                }
                _ if byte == b'\\' => 2,
                Some(OpenQuote::Signs(signs)) if rest.starts_with(signs) => {
                    let len = signs.len();
                    self.open = None;
                    len
                }
                Some(OpenQuote::Signs(_)) => 1,
                None if is_comment(rest, at, line) => return,
                None => self.begin(rest, line[..at].last()),
            };
        }
    }

    /// Reads on where no string is open; returns the number of bytes read.
    fn begin(&mut self, rest: &[u8], before: Option<&u8>) -> usize {
        if let Some(signs) = self.signs.iter().find(|signs| rest.starts_with(signs)) {
            self.open = Some(OpenQuote::Signs(signs));
            return signs.len();
        }
        if let Some(word) = rest.strip_prefix(b"<<") {
            let word = word.strip_prefix(b"-").or(word.strip_prefix(b"~")).unwrap_or(word);
            let word = word.strip_prefix(b"'").or(word.strip_prefix(b"\"")).unwrap_or(word);
            let len = word.iter().take_while(|byte| byte.is_ascii_uppercase() || **byte == b'_').count();
            // Otherwise it is a shift.
            let is_apart = before.is_none_or(|byte| byte.is_ascii_whitespace() || matches!(byte, b'(' | b'='));
            let is_word = word.get(len).is_none_or(|byte| !byte.is_ascii_alphanumeric());
            if len > 1 && is_apart && is_word {
                self.open = Some(OpenQuote::Word(word[..len].to_vec()));
            }
            return 2;
        }
        // A quotation mark between apostrophes, which have other meanings as well.
        let quoted = rest.strip_prefix(b"'").and_then(|rest| rest.split(|byte| *byte == b'\'').next());
        let is_odd = |text: &&[u8]| memchr_iter(b'"', text).count() % 2 == 1;
        let closed = quoted.filter(is_odd).map(|text| text.len() + 2).filter(|len| *len <= rest.len());
        closed.unwrap_or(1)
    }
}

/// Returns whether the rest of a line is a comment: a quotation mark in it may be unpaired.
fn is_comment(rest: &[u8], at: usize, line: &[u8]) -> bool {
    let is_apart = at == 0 || line[at - 1].is_ascii_whitespace();
    is_apart && (rest.starts_with(b"// ") || rest.starts_with(b"# "))
}
