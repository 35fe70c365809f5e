//! Texts with invisible differences folded away; each byte knows its origin.

use std::ops::Range;

use unicode_normalization::char::decompose_canonical;

/// The differences that are folded away. Line breaks of either kind are always alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each difference is folded away or not, whatever the others are")]
pub(in crate::text) struct Folds {
    /// White space of any kind and amount.
    pub(in crate::text) spaces: bool,
    /// Quotes, dashes, spaces and the like that look the same.
    pub(in crate::text) look_alikes: bool,
    /// A backslash and the character it stands for.
    pub(in crate::text) escapes: bool,
    /// A letter with an accent and the two characters that look the same.
    pub(in crate::text) accents: bool,
    /// Quotes of all kinds: single, double, backticks.
    pub(in crate::text) quotes: bool,
}

impl Folds {
    /// None but line breaks.
    pub(in crate::text) const NONE: Self =
        Self { spaces: false, look_alikes: false, escapes: false, accents: false, quotes: false };
}

/// A folded text.
#[derive(Debug, Default)]
pub(in crate::text) struct Folded {
    pub(in crate::text) bytes: Vec<u8>,
    /// For each byte, the range of the text that it stands for.
    origins: Vec<Range<usize>>,
}

impl Folded {
    pub(in crate::text) fn new(text: &[u8], folds: Folds) -> Self {
        let mut folded = Self::default();
        let mut at = 0;
        while at < text.len() {
            let (len, unit) = unit(&text[at..], folds);
            let unit = unit.with(folds);
            for byte in unit.as_bytes() {
                if !(folds.spaces && byte.is_ascii_whitespace()) {
                    folded.bytes.push(*byte);
                    folded.origins.push(at..at + len);
                }
            }
            at += len;
        }
        folded
    }

    /// The range of the text from which a non-empty range of folded bytes came.
    pub(in crate::text) fn origin(&self, range: &Range<usize>) -> Range<usize> {
        self.origins[range.start].start..self.origins[range.end - 1].end
    }

    /// The start in the text of the folded byte at `at`; `None` inside the bytes that stand for one character.
    pub(in crate::text) fn start_at(&self, at: usize) -> Option<usize> {
        let start = || self.origins.get(at).map_or_else(|| self.end_at(at), |origin| Some(origin.start));
        self.is_edge(at).then(start).flatten()
    }

    /// The end in the text of the folded byte before `at`; `None` inside the bytes that stand for one character.
    pub(in crate::text) fn end_at(&self, at: usize) -> Option<usize> {
        self.is_edge(at).then(|| at.checked_sub(1).map_or(0, |before| self.origins[before].end))
    }

    fn is_edge(&self, at: usize) -> bool {
        at == 0 || at >= self.origins.len() || self.origins[at - 1] != self.origins[at]
    }
}

/// The folded start of a text.
enum Unit {
    Text(&'static str),
    Byte([u8; 1]),
    Letters(String),
}

impl Unit {
    fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Byte(byte) => byte,
            Self::Letters(letters) => letters.as_bytes(),
        }
    }

    /// The same with all quotes alike, if they are folded.
    fn with(self, folds: Folds) -> Self {
        if folds.quotes && matches!(self.as_bytes(), b"'" | b"`") { Self::Byte(*b"\"") } else { self }
    }
}

/// The first unit of a non-empty text, and its length.
fn unit(text: &[u8], folds: Folds) -> (usize, Unit) {
    match text {
        [b'\r', b'\n', ..] => (2, Unit::Text("\n")),
        [b'\\', next, ..] if folds.escapes => match next {
            b'n' | b'r' => (2, Unit::Text("\n")),
            b't' => (2, Unit::Text("\t")),
            b'"' | b'\'' | b'\\' => (2, Unit::Byte([*next])),
            _ => (1, Unit::Byte([b'\\'])),
        },
        [byte, ..] if *byte >= 0x80 && (folds.look_alikes || folds.accents) => {
            let folded = |c: char| {
                let unit = look_alike(c).filter(|_| folds.look_alikes);
                Some((c.len_utf8(), unit.or_else(|| decomposed(c).filter(|_| folds.accents))?))
            };
            first_char(text).and_then(folded).unwrap_or((1, Unit::Byte([*byte])))
        }
        _ => (1, Unit::Byte([text[0]])),
    }
}

fn first_char(text: &[u8]) -> Option<char> {
    let len = match text[0] {
        0xC0..0xE0 => 2,
        0xE0..0xF0 => 3,
        0xF0.. => 4,
        _ => return None,
    };
    std::str::from_utf8(text.get(..len)?).ok()?.chars().next()
}

/// The letter and the accents that a character is composed of, if it is.
fn decomposed(c: char) -> Option<Unit> {
    let mut letters = String::new();
    decompose_canonical(c, |letter| letters.push(letter));
    (!letters.chars().eq([c])).then_some(Unit::Letters(letters))
}

/// The ASCII character that a character is easily mistaken for.
fn look_alike(c: char) -> Option<Unit> {
    let text = match c {
        '\u{2018}'..='\u{201B}' | '\u{2032}' | '\u{02BC}' | '\u{00B4}' => "'",
        '\u{201C}'..='\u{201F}' | '\u{2033}' => "\"",
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{FE58}' | '\u{FE63}' => "-",
        '\u{00A0}' | '\u{1680}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => " ",
        '\u{00AD}' | '\u{200B}'..='\u{200D}' | '\u{2060}' | '\u{FEFF}' => "",
        '\u{2026}' => "...",
        '\u{2044}' | '\u{2215}' => "/",
        '\u{2217}' => "*",
        '\u{2236}' => ":",
        '\u{037E}' => ";",
        '\u{FF01}'..='\u{FF5E}' => {
            // The full-width forms are in the order of ASCII.
            return u8::try_from(u32::from(c) - 0xFF01 + 0x21).ok().map(|byte| Unit::Byte([byte]));
        }
        _ => return None,
    };
    Some(Unit::Text(text))
}

/// A hash of a line that does not depend on white space and look-alikes; `None` if the line has too little text.
pub(in crate::text) fn line_key(line: &[u8]) -> Option<u64> {
    let mut hash = Hash { state: 0xCBF2_9CE4_8422_2325, len: 0 };
    for (at, byte) in line.iter().enumerate() {
        if *byte >= 0x80 {
            let rest = Folded::new(&line[at..], Folds { spaces: true, look_alikes: true, ..Folds::NONE });
            rest.bytes.iter().for_each(|byte| hash.add(*byte));
            break;
        }
        if !byte.is_ascii_whitespace() {
            hash.add(*byte);
        }
    }
    (hash.len >= 3).then_some(hash.state)
}

/// FNV-1a: not the best of hashes, but it only decides which lines are compared.
struct Hash {
    state: u64,
    len: usize,
}

impl Hash {
    #[inline]
    fn add(&mut self, byte: u8) {
        self.state = (self.state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        self.len += 1;
    }
}
