//! Damage by what is left out, out of date, or there more than once.

use super::case::{Case, Dice, words};
use super::space::{at_any, insert_line};
use super::{Damage, Kind};

pub(super) const KINDS: &[Kind] = &[
    ("dots for the lines in the middle", |case, _| elided(case, "...")),
    ("a comment for the lines in the middle", |case, _| elided(case, "    // ... existing code ...")),
    ("another comment for the lines in the middle", |case, _| elided(case, "    /* ... rest unchanged ... */")),
    ("an ellipsis for the lines in the middle", |case, _| elided(case, "…")),
    ("dots for the lines in the middle, and less indentation", |case, _| {
        elided(case, "...")?;
        case.old(|text| text.split('\n').map(str::trim_start).collect::<Vec<_>>().join("\n"))
    }),
    ("dots for one line", |case, dice| {
        let index = inner(case, dice)?;
        replace_line(case, index, |_| Some("    ...".to_owned()))
    }),
    ("a line left out", |case, dice| {
        let index = inner(case, dice)?;
        replace_line(case, index, |_| None)
    }),
    ("two lines left out", |case, dice| {
        let count = case.lines().len();
        let index = 1 + dice.below(count.checked_sub(4)?);
        replace_line(case, index, |_| None)?;
        replace_line(case, index, |_| None)
    }),
    ("all comments left out", |case, _| {
        case.old(|text| {
            text.split('\n').filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
        })
    }),
    ("the end of a line left out", |case, dice| {
        let index = inner(case, dice)?;
        replace_line(case, index, |line| {
            Some(line[..line.char_indices().nth(line.chars().count() * 2 / 3)?.0].to_owned())
        })
    }),
    ("a word replaced", |case, dice| in_word(case, dice, |_| "replaced".to_owned())),
    ("a word more", |case, dice| in_word(case, dice, |word| format!("{word} other"))),
    ("a word less", |case, dice| in_word(case, dice, |_| String::new())),
    ("a name in its old form everywhere", |case, dice| {
        let word = word(case, dice)?;
        case.old(|text| text.replace(&word, &format!("{word}_old")))
    }),
    ("a letter left out", |case, dice| in_word(case, dice, |word| [&word[..1], &word[2..]].concat())),
    ("a letter doubled", |case, dice| in_word(case, dice, |word| [&word[..2], &word[1..]].concat())),
    ("two letters swapped", |case, dice| {
        in_word(case, dice, |word| [&word[..1], &word[2..3], &word[1..2], &word[3..]].concat())
    }),
    ("a word in capitals", |case, dice| in_word(case, dice, str::to_uppercase)),
    ("a word with a capital", |case, dice| {
        in_word(case, dice, |word| [&word[..1].to_uppercase(), &word[1..]].concat())
    }),
    ("a name in camel case", |case, _| {
        let words = words(&case.old);
        let word = words
            .into_iter()
            .map(|word| case.old[word].to_owned())
            .find(|word| word.trim_matches('_').contains('_'))?;
        let mut parts = word.split('_');
        let first = parts.next()?.to_owned();
        let rest = parts.filter(|part| !part.is_empty()).map(|part| [&part[..1].to_uppercase(), &part[1..]].concat());
        let camel = first + &rest.collect::<String>();
        case.old(|text| text.replace(&word, &camel))
    }),
    ("another number", |case, _| {
        let at = case.old.find(|c: char| c.is_ascii_digit())?;
        case.old(|text| format!("{}77{}", &text[..at], &text[at + 1..]))
    }),
    ("a comma less", |case, dice| at_any(case, dice.below(99), ",", "")),
    ("a comma more", |case, dice| at_any(case, dice.below(99), ")", ",)")),
    ("a semicolon less", |case, dice| at_any(case, dice.below(99), ";", "")),
    ("a parenthesis less", |case, dice| at_any(case, dice.below(99), "(", "")),
    ("a reference less", |case, dice| at_any(case, dice.below(99), "&", "")),
    ("an argument more", |case, dice| at_any(case, dice.below(99), ")", ", extra)")),
    ("a keyword more", |case, dice| at_any(case, dice.below(99), "let ", "let mut ")),
    ("another visibility", |case, dice| at_any(case, dice.below(99), "fn ", "pub fn ")),
    ("a comment at the end of a line", |case, dice| at_any(case, dice.below(99), ";\n", "; // as before\n")),
    ("another comment", |case, _| {
        let lines = case.lines();
        let index = lines.iter().position(|line| line.trim_start().starts_with("//"))?;
        let words = lines[index].split(' ').count() / 2;
        let start: Vec<&str> = lines[index].split(' ').take(words).collect();
        let line = format!("{} as it was once", start.join(" "));
        replace_line(case, index, |_| Some(line))
    }),
    ("a line that is not there", |case, dice| insert_line(case, dice.below(9), "        let unrelated = 1;")),
    ("a line twice", |case, dice| {
        let index = inner(case, dice)?;
        let line = case.lines()[index].to_owned();
        replace_line(case, index, |_| Some(format!("{line}\n{line}")))
    }),
    ("two lines in the other order", |case, dice| {
        let index = inner(case, dice)?;
        let mut lines = case.lines();
        lines.swap(index, index - 1);
        let text = lines.join("\n");
        case.old(|_| text)
    }),
    ("three words replaced", |case, dice| {
        for word in ["old", "former", "earlier"] {
            in_word(case, dice, |_| word.to_owned())?;
        }
        Some(())
    }),
    ("a word replaced, and less indentation", |case, dice| {
        in_word(case, dice, |_| "replaced".to_owned())?;
        case.old(|text| text.split('\n').map(str::trim_start).collect::<Vec<_>>().join("\n"))
    }),
    ("a letter left out, and numbers of a listing", |case, dice| {
        in_word(case, dice, |word| [&word[..1], &word[2..]].concat())?;
        let number = |(index, line): (usize, &str)| format!("{:>6}\t{line}", index + 7);
        case.old(|text| text.split('\n').enumerate().map(number).collect::<Vec<_>>().join("\n"))
    }),
    ("a part of a line, a letter left out", |case, dice| {
        part(case)?;
        in_word(case, dice, |word| [&word[..1], &word[2..]].concat())
    }),
    ("a part of a line, a space more", |case, dice| {
        part(case)?;
        at_any(case, dice.below(99), " ", "  ")
    }),
    ("a part of a line that is there a few times", |case, _| several(case, 2..=5)),
    ("a part of a line that is there many times", |case, _| several(case, 6..=30)),
    ("a name that is there a few times", |case, _| {
        case.old = case.file[case.changed.start.checked_sub(4)?..case.changed.end].to_owned();
        (2..=5).contains(&case.file.matches(&case.old).count()).then_some(())
    }),
];

/// A line of the old text between its first and its last one.
fn inner(case: &Case, dice: &mut Dice) -> Option<usize> {
    Some(1 + dice.below(case.lines().len().checked_sub(2).filter(|more| *more > 0)?))
}

fn replace_line(case: &mut Case, index: usize, change: impl FnOnce(&str) -> Option<String>) -> Damage {
    let lines = case.lines();
    let line = change(lines.get(index)?);
    let lines: Vec<&str> =
        lines[..index].iter().copied().chain(line.as_deref()).chain(lines[index + 1..].iter().copied()).collect();
    let text = lines.join("\n");
    case.old(|_| text)
}

/// The first line and the last one, and a mark for those between them.
fn elided(case: &mut Case, mark: &str) -> Damage {
    let lines = case.lines();
    let (first, last) = (lines.first()?, lines.last()?);
    (lines.len() > 3).then_some(())?;
    let text = format!("{first}\n{mark}\n{last}");
    case.old(|_| text)
}

fn word(case: &Case, dice: &mut Dice) -> Option<String> {
    let words = words(&case.old);
    dice.pick(&words).map(|word| case.old[word.clone()].to_owned())
}

fn in_word(case: &mut Case, dice: &mut Dice, change: impl FnOnce(&str) -> String) -> Damage {
    let words = words(&case.old);
    let word = dice.pick(&words)?.clone();
    case.old(|text| [&text[..word.start], &change(&text[word.clone()]), &text[word.end..]].concat())
}

/// Takes the part of the line that changes, without what is before and after it by a few words.
fn part(case: &mut Case) -> Damage {
    let line = case.file[..case.changed.start].rfind('\n').map_or(0, |feed| feed + 1);
    let end = case.file[case.changed.end..].find('\n').map_or(case.file.len(), |feed| case.changed.end + feed);
    let start = case.file[line..case.changed.start].rfind(' ').map_or(line, |blank| line + blank + 1);
    let part = case.file.get(start..end)?.to_owned();
    let whole = (case.file.matches(&part).count() == 1 && part.len() > 14).then_some(part)?;
    let name = case.changed.start - start;
    *case = Case::new(&case.path, &case.file, start..end, &[&whole[..name], "changed_", &whole[name..]].concat());
    Some(())
}

/// Takes the line that changes alone, if it is there as often as is asked for.
fn several(case: &mut Case, times: std::ops::RangeInclusive<usize>) -> Damage {
    let line = case.lines().get(case.changed_line())?.trim().to_owned();
    times.contains(&case.file.matches(&line).count()).then_some(())?;
    let new = case.new.split('\n').nth(case.changed_line())?.trim().to_owned();
    (case.old, case.new) = (line, new);
    Some(())
}
