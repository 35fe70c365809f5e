//! Strings that go over several lines: what stands in them is no code, however it is indented.

use memchr::memchr_iter;

/// Whether a place is in a string. It knows no language: a guess that it is only makes a block longer.
#[derive(Debug, Default)]
pub(super) struct Quote {
    open: Option<Open>,
}

/// They begin and end a string. Three quotation marks count as one that begins, ends and begins.
const SIGNS: [&[u8]; 3] = [b"'''", b"\"", b"`"];

#[derive(Debug)]
enum Open {
    /// Ends at these signs.
    Signs(&'static [u8]),
    /// Ends at a line that is this word.
    Word(Vec<u8>),
}

impl Quote {
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Goes on to the end of a line.
    pub(super) fn read(&mut self, line: &[u8]) {
        let mut at = 0;
        while let Some(&byte) = line.get(at) {
            let rest = &line[at..];
            at += match &self.open {
                Some(Open::Word(word)) => {
                    if line.trim_ascii() == *word {
                        self.open = None;
                    }
                    return;
                }
                _ if byte == b'\\' => 2,
                Some(Open::Signs(signs)) if rest.starts_with(signs) => {
                    let len = signs.len();
                    self.open = None;
                    len
                }
                Some(Open::Signs(_)) => 1,
                None if is_comment(rest, at, line) => return,
                None => self.begin(rest),
            };
        }
    }

    /// Goes on where no string is open; answers by how much.
    fn begin(&mut self, rest: &[u8]) -> usize {
        if let Some(signs) = SIGNS.iter().find(|signs| rest.starts_with(signs)) {
            self.open = Some(Open::Signs(signs));
            return signs.len();
        }
        if let Some(word) = rest.strip_prefix(b"<<") {
            let word = word.strip_prefix(b"-").or(word.strip_prefix(b"~")).unwrap_or(word);
            let word = word.strip_prefix(b"'").or(word.strip_prefix(b"\"")).unwrap_or(word);
            let len = word.iter().take_while(|byte| byte.is_ascii_uppercase() || **byte == b'_').count();
            if len > 1 {
                self.open = Some(Open::Word(word[..len].to_vec()));
            }
            return 2;
        }
        // A quote between apostrophes; they have other meanings, too.
        let quoted = rest.strip_prefix(b"'").and_then(|rest| rest.split(|byte| *byte == b'\'').next());
        let is_odd = |text: &&[u8]| memchr_iter(b'"', text).count() % 2 == 1;
        let closed = quoted.filter(is_odd).map(|text| text.len() + 2).filter(|len| *len <= rest.len());
        closed.unwrap_or(1)
    }
}

/// Whether a comment begins with the rest of a line: a quote in it may be a single one.
fn is_comment(rest: &[u8], at: usize, line: &[u8]) -> bool {
    let is_apart = at == 0 || line[at - 1].is_ascii_whitespace();
    is_apart && (rest.starts_with(b"// ") || rest.starts_with(b"# "))
}
