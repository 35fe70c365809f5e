//! Globs in the syntax of a `.gitignore`, ignoring case, and with braces. If a glob can be read in two ways, both
//! count: it is better to match too much than too little.

use regex::{Regex, RegexBuilder};

use super::braces::without_braces;
use super::spelling::{Spelled, as_letters};

/// A glob to match paths against.
#[derive(Debug, Clone)]
pub(super) struct Glob {
    /// The glob as given.
    pub(super) given: String,
    letters: Regex,
    /// The pattern for which each byte is a character, as for git, if that differs.
    bytes: Option<Regex>,
}

impl Glob {
    /// Parses one; `spellings` are the same glob in other letters. The error says why it is invalid.
    pub(super) fn new(given: &str, spellings: &[String]) -> Result<Self, String> {
        let counts = given.contains(['?', '[']);
        let bytes = counts.then(|| pattern(&[as_letters(given.as_bytes())])).transpose()?;
        Ok(Self { given: given.to_owned(), letters: pattern(spellings)?, bytes })
    }

    /// Returns whether a path relative to the root, or a folder above it, matches.
    pub(super) fn fits(&self, path: &Spelled) -> bool {
        let fits = |pattern: &Regex, spellings: &[String]| spellings.iter().any(|path| pattern.is_match(path));
        fits(&self.letters, &path.letters) || self.bytes.as_ref().is_some_and(|pattern| fits(pattern, &path.bytes))
    }
}

/// The pattern that matches what any of these globs matches.
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
        _ => "it has an invalid class: write [abc], [a-z], [!a-z] or [[:digit:]]".to_owned(),
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

/// The pattern for a glob without braces: it matches a path, or a folder above it.
fn regex_of(glob: &str) -> Result<String, String> {
    let mut tokens = tokens(glob)?;
    let is_folder = matches!(tokens.last(), Some(Token::Slash));
    if is_folder {
        tokens.pop();
    }
    // With a slash anywhere but at the end, it matches from the root only.
    let from_root = tokens.iter().any(|token| matches!(token, Token::Slash));
    if matches!(tokens.first(), Some(Token::Slash)) {
        tokens.remove(0);
    }
    let names: Vec<&[Token]> = tokens.split(|token| matches!(token, Token::Slash)).collect();
    let mut pattern = String::from(if from_root { "" } else { "(?:.*/)?" });
    for (at, name) in names.iter().enumerate() {
        let is_last = at + 1 == names.len();
        // Next to other text, several stars are one star by gitignore(5), but not always in git.
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
            // Ignoring case, it would match fewer letters.
            Self::Class(BracketClass { signs, is_negated: true }) => format!("(?-i:[[^{signs}]&&[^/]])"),
        }
    }
}

const OPEN_END: &str = "it ends with a backslash, which must come before a character";

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

/// The named classes.
const NAMED: [&str; 12] =
    ["alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit"];

/// A bracket expression.
pub(super) struct BracketClass {
    /// The pattern syntax: characters by number, so that none has a special meaning.
    signs: String,
    is_negated: bool,
}

/// The class at the start of a text, after its opening bracket, and the text after it. It is read as git reads it: a
/// minus is a range between two characters, the first of which is neither the end of a range nor a named class.
pub(super) fn class(text: &str) -> Result<(BracketClass, &str), String> {
    let unclosed = || "it has a [ without its ]; a [ that is only itself is \\[".to_owned();
    let inner = text.strip_prefix(['!', '^']);
    let mut class = BracketClass { signs: String::new(), is_negated: inner.is_some() };
    let mut rest = inner.unwrap_or(text);
    let mut before = None;
    while class.signs.is_empty() || !rest.starts_with(']') {
        if let Some((name, behind)) = rest.strip_prefix("[:").and_then(|named| named.split_once(":]")) {
            if !NAMED.contains(&name) {
                return Err(format!("it has an unknown class [:{name}:]: there are {}", NAMED.join(", ")));
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

/// The first character of a text, without the backslash before it, and the text after it.
fn sign(text: &str) -> Option<(char, &str)> {
    let mut chars = text.strip_prefix('\\').unwrap_or(text).chars();
    Some((chars.next()?, chars.as_str()))
}

/// A character as a literal of a pattern.
fn by_number(c: char) -> String {
    format!("\\x{{{:x}}}", u32::from(c))
}
