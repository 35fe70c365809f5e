//! Damage of white space, and characters that only look the same.

use super::case::Case;
use super::{Damage, Kind};

pub(super) const KINDS: &[Kind] = &[
    ("all lines without their indentation", |case, _| {
        case.both(|text| by_line(text, |line| line.trim_start().to_owned()))
    }),
    ("four columns more of indentation", |case, _| case.both(|text| by_line(text, |line| format!("    {line}")))),
    ("two columns for each four of indentation", |case, _| {
        case.both(|text| by_line(text, |line| indented(line, "  ")))
    }),
    ("tabs for spaces", |case, _| case.both(|text| by_line(text, |line| indented(line, "\t")))),
    ("the first line without its indentation, the others with less", |case, _| {
        case.both(|text| {
            by_line(text, |line| line.strip_prefix("    ").unwrap_or(line).to_owned()).trim_start().to_owned()
        })
    }),
    ("white space at the ends of lines", |case, _| case.old(|text| by_line(text, |line| format!("{line}  ")))),
    ("a blank line more", |case, dice| insert_line(case, dice.below(9), "")),
    ("no blank lines", |case, _| {
        case.old(|text| text.split('\n').filter(|line| !line.trim().is_empty()).collect::<Vec<_>>().join("\n"))
    }),
    ("two spaces for one", |case, dice| at_any(case, dice.below(99), " ", "  ")),
    ("no space after commas", |case, _| case.old(|text| text.replace(", ", ","))),
    ("no spaces around operators", |case, _| {
        case.old(|text| text.replace(" = ", "=").replace(" + ", "+").replace(" => ", "=>"))
    }),
    ("spaces inside parentheses", |case, _| case.old(|text| text.replace('(', "( ").replace(')', " )"))),
    ("lines joined", |case, dice| {
        let lines = case.lines();
        let index = dice.below(lines.len() - 1);
        let joined = [lines.get(index)?, " ", lines.get(index + 1)?.trim_start()].concat();
        let text = [&lines[..index], &[&*joined], &lines[index + 2..]].concat().join("\n");
        case.old(|_| text)
    }),
    ("a line broken in two", |case, dice| at_any(case, dice.below(99), " ", "\n        ")),
    ("two line breaks at the end", |case, _| case.both(|text| format!("{text}\n\n\n"))),
    ("line breaks in front", |case, _| case.both(|text| format!("\n\n\n{text}"))),
    ("a carriage return in the middle", |case, dice| at_any(case, dice.below(99), " ", "\r")),
    ("no-break spaces", |case, _| case.old(|text| text.replace(' ', "\u{a0}"))),
    ("one no-break space", |case, dice| at_any(case, dice.below(99), " ", "\u{a0}")),
    ("a character without width", |case, dice| at_any(case, dice.below(99), " ", "\u{200b} ")),
    ("a byte-order mark in front", |case, _| case.old(|text| format!("\u{feff}{text}"))),
    ("typographic double quotes", |case, _| case.old(|text| text.replace('"', "\u{201c}"))),
    ("typographic single quotes", |case, _| case.old(|text| text.replace('\'', "\u{2019}"))),
    ("a dash for a hyphen", |case, _| case.old(|text| text.replace('-', "\u{2013}"))),
    ("an em dash for a hyphen", |case, _| case.old(|text| text.replace('-', "\u{2014}"))),
    ("an ellipsis in one character", |case, _| {
        *case = case.rewritten(|text| text.replace(", ", "... "))?;
        case.old(|text| text.replace("...", "\u{2026}"))
    }),
    ("three full stops for an ellipsis", |case, _| {
        *case = case.rewritten(|text| text.replace(", ", "\u{2026} "))?;
        case.old(|text| text.replace('\u{2026}', "..."))
    }),
    ("full-width parentheses", |case, _| case.old(|text| text.replace('(', "\u{ff08}").replace(')', "\u{ff09}"))),
    ("plain quotes where the file has typographic ones", |case, _| {
        *case = case.rewritten(|text| text.replace('"', "\u{201d}"))?;
        case.old(|text| text.replace('\u{201d}', "\""))
    }),
    ("decomposed letters", |case, _| {
        *case = case.rewritten(|text| text.replace('e', "é"))?;
        case.old(|text| text.replace('é', "e\u{301}"))
    }),
    ("composed letters", |case, _| {
        *case = case.rewritten(|text| text.replace('o', "o\u{308}"))?;
        case.old(|text| text.replace("o\u{308}", "ö"))
    }),
    ("a letter of another alphabet", |case, dice| at_any(case, dice.below(99), "a", "\u{430}")),
    ("single quotes for double ones", |case, _| case.old(|text| text.replace('"', "'"))),
    ("backticks for quotes", |case, _| case.old(|text| text.replace('"', "`"))),
    ("double quotes for backticks", |case, _| case.old(|text| text.replace('`', "\""))),
];

/// Changes each line that is not blank.
pub(super) fn by_line(text: &str, change: impl Fn(&str) -> String) -> String {
    let change = |line: &str| if line.is_empty() { String::new() } else { change(line) };
    text.split('\n').map(change).collect::<Vec<_>>().join("\n")
}

/// A line with `unit` for each four columns of its indentation.
fn indented(line: &str, unit: &str) -> String {
    let text = line.trim_start();
    let columns = line.len() - text.len();
    [&unit.repeat(columns / 4), &" ".repeat(columns % 4), text].concat()
}

/// Replaces the `which`th of the places of `from` in the old text, past its indentation.
pub(super) fn at_any(case: &mut Case, which: usize, from: &str, to: &str) -> Damage {
    let lead = case.old.len() - case.old.trim_start().len();
    let is_inside =
        |at: &usize| *at > lead && !case.old[..*at].ends_with([' ', '\n']) && at + from.len() < case.old.len();
    let places: Vec<usize> = case.old.match_indices(from).map(|(at, _)| at).filter(is_inside).collect();
    let at = *places.get(which % places.len().max(1))?;
    case.old(|text| [&text[..at], to, &text[at + from.len()..]].concat())
}

/// Adds a line after the `which`th, unless that is the last.
pub(super) fn insert_line(case: &mut Case, which: usize, line: &str) -> Damage {
    let mut lines = case.lines();
    let index = 1 + which % lines.len().checked_sub(1).filter(|more| *more > 0)?;
    lines.insert(index, line);
    let text = lines.join("\n");
    case.old(|_| text)
}
