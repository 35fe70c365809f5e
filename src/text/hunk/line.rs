//! A line of a file, and its relation to blocks: which it is in, begins or ends. It knows no language.

use std::ops::Range;

use memchr::memchr_iter;

use super::named;

/// A line of the file as it is, or as it was before earlier hunks.
#[derive(Debug, Clone, Default)]
pub(super) struct FileLine<'t> {
    /// Its place; for a removed line, its former place up to the end of its replacement.
    pub(super) range: Range<usize>,
    pub(super) text: &'t [u8],
    /// True if a hunk inserted it.
    pub(super) is_new: bool,
    pub(super) is_gone: bool,
    /// The next line of the old file.
    pub(super) beneath: &'t [u8],
    /// True if the next line with text, comments aside, is indented deeper.
    pub(super) is_over_deeper: bool,
}

/// Words that continue a signature or a block.
const GOES_ON: [&[u8]; 12] = [
    b"where", b"throws", b"else", b"elif", b"elsif", b"elseif", b"except", b"catch", b"finally", b"rescue", b"ensure",
    b"when",
];

/// The same, if they are alone on the line.
const GOES_ON_ALONE: [&[u8]; 2] = [b"then", b"do"];

/// Words that end a block, besides those like `endif`, which name it.
const ENDS: [&[u8]; 4] = [b"end", b"fi", b"done", b"esac"];

/// Preprocessor words whose lines may end in a brace.
const MACROS: [&[u8]; 4] = [b"define", b"if", b"elif", b"pragma"];

/// Makefile conditionals, which the preprocessor reads.
const CONDITIONS: [&[u8]; 5] = [b"ifdef", b"ifndef", b"ifeq", b"ifneq", b"endif"];

impl<'t> FileLine<'t> {
    /// The indentation in columns, with a tab stop every eight.
    pub(super) fn depth(&self) -> usize {
        let blanks = self.text.iter().take_while(|byte| byte.is_ascii_whitespace());
        blanks.fold(0, |column, byte| if *byte == b'\t' { (column / 8 + 1) * 8 } else { column + 1 })
    }

    /// The line without a comment at its end.
    pub(super) fn code(&self) -> &'t [u8] {
        let mut text = named(self.text);
        let is_blank = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_whitespace);
        for (at, _) in text.windows(2).enumerate().filter(|(_, pair)| pair[0].is_ascii_whitespace()) {
            let (code, rest) = (text[..at].trim_ascii_end(), &text[at + 1..]);
            // `a #b {` is a selector, and a comment does not begin within quotes.
            let is_head = ends_in(code, b"{:([]");
            let is_paired = |sign: u8| memchr_iter(sign, code).count().is_multiple_of(2);
            let is_comment = rest.starts_with(b"//") || (rest[0] == b'#' && (is_head || is_blank(rest.get(1))));
            if is_comment && (is_head || (is_paired(b'"') && is_paired(b'\''))) {
                text = code;
                break;
            }
        }
        let begin = |text: &[u8]| text.windows(2).rposition(|pair| pair == b"/*");
        while let Some(at) = text.strip_suffix(b"*/").and_then(begin) {
            text = text[..at].trim_ascii_end();
        }
        text
    }

    pub(super) fn opens(&self) -> bool {
        self.code().ends_with(b"{")
    }

    /// Returns whether it ends with one of these signs, with or without what seems to be a comment.
    pub(super) fn has_sign(&self, signs: &[u8]) -> bool {
        ends_in(self.code(), signs) || ends_in(named(self.text), signs)
    }

    /// Returns whether a sign shows that it begins a block.
    pub(super) fn is_head(&self) -> bool {
        self.has_sign(b"{([:")
    }

    pub(super) fn first_word(&self) -> Option<&'t [u8]> {
        named(self.text).split(u8::is_ascii_whitespace).next()
    }

    /// The letters at its start.
    fn word(&self) -> &'t [u8] {
        let text = named(self.text);
        let len = text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        &text[..len]
    }

    /// Returns whether it contains a word, in lower or upper case.
    fn holds_word(&self, word: &[u8]) -> bool {
        named(self.text).split(|byte| !byte.is_ascii_alphabetic()).any(|it| it.eq_ignore_ascii_case(word))
    }

    /// Returns whether it is one of these words, or begins with one.
    pub(super) fn begins_with(&self, words: &[&[u8]]) -> bool {
        words.contains(&self.word())
    }

    /// Returns whether it is a label: a name with a colon, after the end of a statement.
    pub(super) fn is_label(&self, before: &FileLine<'_>) -> bool {
        let name = named(self.text).strip_suffix(b":").unwrap_or_default();
        let is_name = !name.is_empty() && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        is_name && ends_in(before.code(), b";{}")
    }

    /// Returns whether it continues a signature or a block.
    pub(super) fn goes_on(&self) -> bool {
        self.begins_with(&GOES_ON) || GOES_ON_ALONE.contains(&named(self.text))
    }

    /// Returns whether its end word fits only `header`: a tag of its name, `case` with `esac`, `if` with `fi`.
    pub(super) fn names_end_of(&self, header: &FileLine<'_>) -> bool {
        named(self.text).starts_with(b"</") || header.word().iter().rev().eq(self.word())
    }

    /// Returns whether it ends a block that begins with a word or a tag, that of `header`.
    pub(super) fn ends_word_of(&self, header: &FileLine<'_>) -> bool {
        if let Some(rest) = named(self.text).strip_prefix(b"</") {
            let begun = named(header.text).strip_prefix(b"<").and_then(|text| text.split(|b| !is_of_tag(*b)).next());
            return rest.split(|byte| !is_of_tag(*byte)).next() == begun;
        }
        let word = self.word().to_ascii_lowercase();
        // The word after `end` of an `else` differs from its header.
        let is_of = |rest: &[u8]| !rest.is_empty() && (header.holds_word(rest) || header.goes_on());
        ENDS.contains(&&word[..]) || word.strip_prefix(b"end").is_some_and(is_of)
    }

    /// Returns whether it is a comment or a preprocessor line: both may have any indentation.
    pub(super) fn is_aside(&self) -> bool {
        let text = named(self.text);
        let starts = [&b"#"[..], b"//", b"/*", b"--"];
        let is_aside = starts.iter().any(|start| text.starts_with(start)) && !text.starts_with(b"---");
        (is_aside && !self.is_selector()) || self.begins_with(&CONDITIONS)
    }

    /// Returns whether it is `#name {`, a selector, and not a preprocessor line.
    fn is_selector(&self) -> bool {
        let name = named(self.text).strip_prefix(b"#").unwrap_or_default();
        let word = name.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        word > 0 && self.opens() && !MACROS.contains(&&name[..word])
    }

    /// Returns whether it describes the line after it, as a comment or a decorator does.
    pub(super) fn is_of_next(&self) -> bool {
        named(self.text).starts_with(b"@") || self.is_aside()
    }

    /// For `# heading` or `[name]`, the sign and its number: the lines of such a section have its own indentation. A
    /// heading may be underlined instead.
    pub(super) fn section(&self) -> Option<(u8, usize)> {
        let (text, beneath) = (named(self.text), named(self.beneath));
        let is_underlined = beneath.len() >= text.len().max(3) && beneath.iter().all(|byte| *byte == beneath[0]);
        match beneath.first() {
            Some(b'=') if is_underlined => return Some((b'#', 1)),
            Some(b'-') if is_underlined && beneath != b"---" => return Some((b'#', 2)),
            _ => {}
        }
        match text.first()? {
            b'#' => {
                let count = text.iter().take_while(|byte| **byte == b'#').count();
                (text.get(count) == Some(&b' ')).then_some((b'#', count))
            }
            b'[' => {
                let rest = text.rsplit(|byte| *byte == b']').next()?.trim_ascii_start();
                let is_name = rest.len() < text.len() && (rest.is_empty() || matches!(rest[0], b'#' | b';'));
                (is_name || self.code().ends_with(b"]")).then_some((b'[', 1))
            }
            _ => None,
        }
    }

    /// Returns whether it is an item of a list.
    pub(super) fn is_item(&self) -> bool {
        self.first_word() == Some(b"-")
    }

    /// Returns whether its block is what is indented deeper, as in Python, YAML or a Makefile.
    pub(super) fn has_colon(&self) -> bool {
        let code = self.code();
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-./%$ \t".contains(byte);
        let name = code.windows(2).position(|pair| pair == b": ").map(|at| &code[..at]);
        let is_named = || self.is_over_deeper && name.is_some_and(|name| name.iter().all(is_name));
        let has_word = || self.first_word().is_some_and(|word| word.ends_with(b":"));
        !self.opens() && (self.has_sign(b":") || has_word() || is_named())
    }

    /// The number of braces it leaves open, and of those it closes that others opened; without braces in strings.
    pub(super) fn braces(&self) -> (usize, usize) {
        let (mut open, mut closed, mut quote) = (0, 0, None);
        for byte in self.code() {
            match (quote, byte) {
                (None, b'"' | b'`' | b'\'') => quote = Some(byte),
                (Some(sign), _) if sign == byte => quote = None,
                (None, b'{') => open += 1,
                (None, b'}') if open > 0 => open -= 1,
                (None, b'}') => closed += 1,
                _ => {}
            }
        }
        if quote.is_none() {
            return (open, closed);
        }
        // An apostrophe: only the line's start and end are reliable.
        (usize::from(self.opens()), usize::from(named(self.text).starts_with(b"}")))
    }

    /// The number of brackets it leaves open.
    pub(super) fn brackets(&self) -> isize {
        let of = |byte: &u8| match byte {
            b'(' | b'[' => 1,
            b')' | b']' => -1,
            _ => 0,
        };
        self.code().iter().map(of).sum()
    }

    /// Returns whether the next line continues it.
    pub(super) fn is_cut(&self) -> bool {
        let is_closing = named(self.text).first().is_some_and(|byte| b"}])".contains(byte));
        ends_in(self.code(), if is_closing { b"([\\" } else { b",([\\" })
    }
}

fn is_of_tag(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

pub(super) fn ends_in(text: &[u8], signs: &[u8]) -> bool {
    text.last().is_some_and(|last| signs.contains(last))
}
