//! Globs as the lines of a `.gitignore` are, in any case, and with braces. Where there are two ways to read one, what fits
//! either of them fits: rather too much than too little.

use regex::{Regex, RegexBuilder};

use super::braces::without_braces;
use super::spelling::{Spelled, as_letters};

/// A glob that paths are compared with.
#[derive(Debug, Clone)]
pub(super) struct Glob {
    /// As it was given.
    pub(super) given: String,
    letters: Regex,
    /// The same where a byte is a letter, as for git, if that is something else.
    bytes: Option<Regex>,
}

impl Glob {
    /// Reads one; `spellings` are the same glob in other letters. Answers why it is none.
    pub(super) fn new(given: &str, spellings: &[String]) -> Result<Self, String> {
        let counts = given.contains(['?', '[']);
        let bytes = counts.then(|| pattern(&[as_letters(given.as_bytes())])).transpose()?;
        Ok(Self { given: given.to_owned(), letters: pattern(spellings)?, bytes })
    }

    /// Whether a path from the root, or a folder that it is in, fits.
    pub(super) fn fits(&self, path: &Spelled) -> bool {
        let fits = |pattern: &Regex, spellings: &[String]| spellings.iter().any(|path| pattern.is_match(path));
        fits(&self.letters, &path.letters) || self.bytes.as_ref().is_some_and(|pattern| fits(pattern, &path.bytes))
    }
}

/// What fits any of these globs.
fn pattern(globs: &[String]) -> Result<Regex, String> {
    let mut ways = Vec::new();
    for glob in globs {
        ways.extend(without_braces(glob)?.iter().map(|way| regex_of(way)).collect::<Result<Vec<_>, _>>()?);
    }
    let pattern = format!("^(?:{})$", ways.join("|"));
    let pattern = RegexBuilder::new(&pattern).case_insensitive(true).dot_matches_new_line(true).build();
    pattern.map_err(|error| told(&error))
}

fn told(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(_) => "it is too long: give several globs".to_owned(),
        _ => "it has a class that is none: write [abc], [a-z], [!a-z] or [[:digit:]]".to_owned(),
    }
}

/// A part of a glob.
enum Token {
    Literal(char),
    Slash,
    One,
    Any,
    Class(BracketClass),
}

/// What a glob without braces fits, as a pattern: a path, or a folder that it is in.
fn regex_of(glob: &str) -> Result<String, String> {
    let mut tokens = tokens(glob)?;
    let is_folder = matches!(tokens.last(), Some(Token::Slash));
    if is_folder {
        tokens.pop();
    }
    // With a slash anywhere but at the end it is about one place.
    let from_root = tokens.iter().any(|token| matches!(token, Token::Slash));
    if matches!(tokens.first(), Some(Token::Slash)) {
        tokens.remove(0);
    }
    let names: Vec<&[Token]> = tokens.split(|token| matches!(token, Token::Slash)).collect();
    let mut pattern = String::from(if from_root { "" } else { "(?:.*/)?" });
    for (at, name) in names.iter().enumerate() {
        let is_last = at + 1 == names.len();
        // Beside a text stars in a row are one star by gitignore(5), and not always by git.
        let mut runs = name.chunk_by(|one, next| matches!((one, next), (Token::Any, Token::Any))).peekable();
        let stands_alone = name.len() > 1 && name.iter().all(|token| matches!(token, Token::Any));
        while let Some(run) = runs.next() {
            let ends_it = runs.peek().is_none();
            match (run.len() > 1, ends_it, is_last) {
                (true, true, true) if stands_alone => pattern += ".+",
                (true, true, false) => pattern += "(?:.*/)?",
                (true, ..) => pattern += ".*",
                (false, ..) => pattern += &run[0].pattern(),
            }
            if ends_it && !is_last && run.len() == 1 {
                pattern.push('/');
            }
        }
    }
    Ok(pattern + if is_folder { "/.*" } else { "(?:/.*)?" })
}

impl Token {
    fn pattern(&self) -> String {
        match self {
            Self::Literal(c) => regex::escape(c.encode_utf8(&mut [0; 4])),
            Self::Slash => "/".to_owned(),
            Self::One => "[^/]".to_owned(),
            Self::Any => "[^/]*".to_owned(),
            Self::Class(BracketClass { signs, is_negated: false }) => format!("[[{signs}]&&[^/]]"),
            // In any case it would be about fewer letters.
            Self::Class(BracketClass { signs, is_negated: true }) => format!("(?-i:[[^{signs}]&&[^/]])"),
        }
    }
}

const OPEN_END: &str = "it ends with a backslash, which stands in front of a sign";

fn tokens(glob: &str) -> Result<Vec<Token>, String> {
    let (mut tokens, mut chars) = (Vec::new(), glob.chars());
    while let Some(c) = chars.next() {
        tokens.push(match c {
            '\\' => match chars.next().ok_or(OPEN_END)? {
                '/' => Token::Slash,
                c => Token::Literal(c),
            },
            '/' => Token::Slash,
            '?' => Token::One,
            '*' => Token::Any,
            '[' => {
                let (class, rest) = class(chars.as_str())?;
                chars = rest.chars();
                Token::Class(class)
            }
            _ => Token::Literal(c),
        });
    }
    Ok(tokens)
}

/// The classes that have a name.
const NAMED: [&str; 12] =
    ["alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit"];

/// What stands between brackets.
pub(super) struct BracketClass {
    /// As a pattern has it: signs by their numbers, so that none means something else there.
    signs: String,
    is_negated: bool,
}

/// The class at the start of a text, behind its bracket, and what follows it. As git reads it: a minus is a range between
/// two signs, of which the first is neither the end of a range nor a class with a name.
pub(super) fn class(text: &str) -> Result<(BracketClass, &str), String> {
    let unclosed = || "it has a [ without its ]; a [ that is only itself is \\[".to_owned();
    let inner = text.strip_prefix(['!', '^']);
    let mut class = BracketClass { signs: String::new(), is_negated: inner.is_some() };
    let mut rest = inner.unwrap_or(text);
    let mut before = None;
    while class.signs.is_empty() || !rest.starts_with(']') {
        if let Some((name, behind)) = rest.strip_prefix("[:").and_then(|named| named.split_once(":]")) {
            if !NAMED.contains(&name) {
                return Err(format!("it has a class [:{name}:], which is none: there are {}", NAMED.join(", ")));
            }
            class.signs.extend(["[:", name, ":]"]);
            (before, rest) = (None, behind);
            continue;
        }
        let range = rest.strip_prefix('-').filter(|behind| !behind.is_empty() && !behind.starts_with(']'));
        if let (Some(first), Some(behind)) = (before, range) {
            let (last, behind) = sign(behind).ok_or_else(unclosed)?;
            if last < first {
                return Err(format!("it has a range {first}-{last}, which ends before it begins"));
            }
            class.signs.extend(["-", &by_number(last)]);
            (before, rest) = (None, behind);
        } else {
            let (c, behind) = sign(rest).ok_or_else(unclosed)?;
            class.signs += &by_number(c);
            (before, rest) = (Some(c), behind);
        }
    }
    Ok((class, &rest[1..]))
}

/// The first sign of a text, of which a backslash in front is no part, and what follows it.
fn sign(text: &str) -> Option<(char, &str)> {
    let mut chars = text.strip_prefix('\\').unwrap_or(text).chars();
    Some((chars.next()?, chars.as_str()))
}

/// A sign as itself in a pattern.
fn by_number(c: char) -> String {
    format!("\\x{{{:x}}}", u32::from(c))
}
