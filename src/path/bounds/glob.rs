//! Globs as the lines of a `.gitignore` are, in any case, and with braces. What gitignore(5) leaves open is read so that
//! rather too much fits than too little.

use regex::{Regex, RegexBuilder};

/// Ways through the braces of one glob.
const MOST: usize = 1_000;

/// A glob that paths are compared with.
#[derive(Debug, Clone)]
pub(super) struct Glob {
    /// As it was given.
    pub(super) given: String,
    pattern: Regex,
}

impl Glob {
    /// Reads one; `spellings` are the same glob in other letters. Answers why it is none.
    pub(super) fn new(given: &str, spellings: &[String]) -> Result<Self, String> {
        let mut ways = Vec::new();
        for spelling in spellings {
            let parts = without_braces(spelling)?;
            ways.extend(parts.iter().map(|part| regex_of(part)).collect::<Result<Vec<_>, _>>()?);
        }
        let pattern = format!("^(?:{})$", ways.join("|"));
        let pattern = RegexBuilder::new(&pattern).case_insensitive(true).dot_matches_new_line(true).build();
        Ok(Self { given: given.to_owned(), pattern: pattern.map_err(|error| told(&error))? })
    }

    /// Whether a path from the root, or a folder that it is in, fits.
    pub(super) fn fits(&self, path: &str) -> bool {
        self.pattern.is_match(path)
    }
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
    /// As a pattern.
    Class(String),
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
        let stands_for_folders = name.len() > 1 && name.iter().all(|token| matches!(token, Token::Any));
        match (stands_for_folders, is_last) {
            (true, true) => pattern += ".+",
            (true, false) => pattern += "(?:.+/)?",
            (false, _) => {
                // Beside a text stars in a row are one star by gitignore(5), and not always by git.
                let runs = name.chunk_by(|one, next| matches!((one, next), (Token::Any, Token::Any)));
                pattern.extend(runs.map(|run| if run.len() > 1 { ".*".to_owned() } else { run[0].pattern() }));
                pattern += if is_last { "" } else { "/" };
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
            Self::Class(class) => format!("[[{class}]&&[^/]]"),
        }
    }
}

const OPEN_END: &str = "it ends with a backslash, which stands in front of a sign";

fn tokens(glob: &str) -> Result<Vec<Token>, String> {
    let (mut tokens, mut chars) = (Vec::new(), glob.chars());
    while let Some(c) = chars.next() {
        tokens.push(match c {
            '\\' => Token::Literal(chars.next().ok_or(OPEN_END)?),
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

/// What stands in a class, as a pattern has it, and what follows the class.
fn class(text: &str) -> Result<(String, &str), String> {
    let unclosed = || "it has a [ without its ]; a [ that is only itself is \\[".to_owned();
    let inner = text.strip_prefix(['!', '^']);
    let mut class = String::from(if inner.is_some() { "^" } else { "" });
    let mut rest = inner.unwrap_or(text);
    let mut is_first = true;
    loop {
        if let Some(named) = rest.strip_prefix("[:").and_then(|named| named.split_once(":]")) {
            if !NAMED.contains(&named.0) {
                return Err(format!("it has a class [:{}:], which is none: there are {}", named.0, NAMED.join(", ")));
            }
            class.extend(["[:", named.0, ":]"]);
            rest = named.1;
        } else {
            let mut chars = rest.chars();
            match chars.next().ok_or_else(unclosed)? {
                ']' if !is_first => return Ok((class, chars.as_str())),
                // Between two signs it is a range, and a sign beside the brackets.
                '-' if !is_first && !chars.as_str().starts_with(']') => class.push('-'),
                '\\' => class += &escaped(chars.next().ok_or_else(unclosed)?),
                c => class += &escaped(c),
            }
            rest = chars.as_str();
        }
        is_first = false;
    }
}

/// A sign as itself in a class of a pattern.
fn escaped(c: char) -> String {
    // Not every sign: a pattern has other meanings for some with a backslash in front.
    if r"\[]^-&~".contains(c) { format!("\\{c}") } else { c.to_string() }
}

/// A glob for each way through its braces: they may have slashes in them.
pub fn without_braces(glob: &str) -> Result<Vec<String>, String> {
    let (mut depth, mut from, mut parts) = (0_usize, 0, Vec::new());
    let mut rest = glob;
    while let Some(c) = rest.chars().next() {
        let at = glob.len() - rest.len();
        rest = &rest[c.len_utf8()..];
        match c {
            '\\' => rest = rest.get(rest.chars().next().map_or(0, char::len_utf8)..).unwrap_or_default(),
            '[' => rest = class(rest)?.1,
            '{' => {
                depth += 1;
                if depth == 1 {
                    from = at;
                    parts = vec![at + 1];
                }
            }
            ',' if depth == 1 => parts.push(at + 1),
            '}' if depth == 1 => {
                parts.push(at + 1);
                let (before, after) = (&glob[..from], &glob[at + 1..]);
                let mut all = Vec::new();
                for ends in parts.windows(2) {
                    all.extend(without_braces(&format!("{before}{}{after}", &glob[ends[0]..ends[1] - 1]))?);
                    if all.len() > MOST {
                        return Err(format!("its braces stand for more than {MOST} globs: give several"));
                    }
                }
                return Ok(all);
            }
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    if depth > 0 {
        Err("it has a { without its }; a { that is only itself is \\{".to_owned())
    } else {
        Ok(vec![glob.to_owned()])
    }
}
