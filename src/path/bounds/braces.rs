//! Braces in globs: literal, as in a `.gitignore`, and alternatives, as in a shell. Both readings count.

use super::glob::class;

/// The most combinations of alternatives in one glob.
const WAYS: usize = 1_000;

/// The most opening braces in one glob.
const BRACES: usize = 100;

/// Globs without braces that together match what a glob matches: one with its braces literal, and one for each
/// combination of alternatives, which may contain slashes. Signs that would make it a list must be escaped.
pub fn without_braces(glob: &str) -> Result<Vec<String>, String> {
    let count = signs(glob)?.iter().filter(|(_, c)| *c == '{').count();
    if count == 0 {
        return Ok(vec![as_letters(glob)?]);
    }
    if count > BRACES {
        return Err(format!("it has more than {BRACES} braces: give several globs"));
    }
    let mut all = alternatives(glob)?;
    all.push(glob.to_owned());
    all.iter().map(|way| as_letters(way)).collect()
}

/// The signs of a glob that are neither in a class nor escaped, with their places.
fn signs(glob: &str) -> Result<Vec<(usize, char)>, String> {
    let (mut signs, mut rest) = (Vec::new(), glob);
    while let Some(c) = rest.chars().next() {
        let at = glob.len() - rest.len();
        rest = &rest[c.len_utf8()..];
        match c {
            '\\' => rest = rest.get(rest.chars().next().map_or(0, char::len_utf8)..).unwrap_or_default(),
            '[' => rest = class(rest)?.1,
            _ => signs.push((at, c)),
        }
    }
    Ok(signs)
}

/// A glob for each combination of alternatives. The recursion is as deep as the number of braces, which is limited.
fn alternatives(glob: &str) -> Result<Vec<String>, String> {
    let (mut depth, mut cuts, mut all) = (0_usize, Vec::new(), Vec::new());
    for (at, c) in signs(glob)? {
        depth += usize::from(c == '{');
        if matches!(c, '{' | ',' | '}') && depth == 1 && (c != '{' || cuts.is_empty()) {
            cuts.push(at);
        }
        if c == '}' && depth == 1 {
            let (before, after) = (&glob[..cuts[0]], &glob[at + 1..]);
            for ends in cuts.windows(2) {
                all.extend(alternatives(&format!("{before}{}{after}", &glob[ends[0] + 1..ends[1]]))?);
                if all.len() > WAYS {
                    return Err(format!("its braces stand for more than {WAYS} globs: give several"));
                }
            }
            return Ok(all);
        }
        depth = depth.saturating_sub(usize::from(c == '}'));
    }
    if depth > 0 {
        return Err("it has a { without its }; a { that is only itself is \\{".to_owned());
    }
    Ok(vec![glob.to_owned()])
}

/// A glob with its braces, and the separators of a list, as literals.
fn as_letters(glob: &str) -> Result<String, String> {
    let mut text = glob.to_owned();
    for (at, _) in signs(glob)?.into_iter().rev().filter(|(_, c)| "{},;:% ".contains(*c)) {
        text.insert(at, '\\');
    }
    Ok(text)
}
