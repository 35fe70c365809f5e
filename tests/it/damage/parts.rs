//! Random parts of lines with one random change: exactly that change is reported.

use txedit::Edit;
use txedit::error::Detail;
use txedit::testing::internals::text;

use super::case::Dice;
use crate::support::sources::{Source, sources};

const PARTS: usize = 1_000;

/// A part of a line of a file, with one change.
struct ChangedPart {
    file: String,
    old: String,
    /// What was changed, and what is in the file.
    change: (String, String),
}

fn changed(sources: &[Source], dice: &mut Dice) -> Option<ChangedPart> {
    let file = &dice.pick(sources)?.text;
    let lines: Vec<&str> = file.lines().filter(|line| line.trim().chars().count() >= 24).collect();
    let line: Vec<char> = dice.pick(&lines)?.trim().chars().collect();
    let len = 16 + dice.below(line.len() - 16);
    let start = dice.below(line.len() - len + 1);
    let part = &line[start..start + len];
    let at = 1 + dice.below(len - 4);
    let other = *dice.pick(&['q', 'X', '7', '_', '#', ' '])?;
    let (count, put): (usize, Vec<char>) = match dice.below(4) {
        0 => (1, vec![other]),
        1 => (0, vec![other]),
        2 => (1, Vec::new()),
        _ => (2, vec![other, 'z']),
    };
    let there = &part[at..at + count];
    let old: String = part[..at].iter().chain(&put).chain(&part[at + count..]).collect();
    let text = |chars: &[char]| chars.iter().collect::<String>();
    let is_change = put.iter().zip(there).all(|(a, b)| a != b) && !file.contains(&old);
    is_change.then(|| ChangedPart { file: file.clone(), old, change: (text(&put), text(there)) })
}

#[test]
#[expect(clippy::print_stdout, reason = "the figure is to be seen")]
fn exactly_the_change_of_a_part_of_a_line_is_reported() {
    let (sources, mut dice) = (sources("src"), Dice::new(7));
    let (mut exactly, mut total) = (0, 0);
    while total < PARTS {
        let Some(part) = changed(&sources, &mut dice) else { continue };
        total += 1;
        let refused = text::edit(part.file.as_bytes(), &[Edit::replace(&*part.old, "zq0, zq1")]).unwrap_err();
        let Detail::NoMatch(found) = refused.detail else { panic!("{:?}", refused.detail) };
        let told: Vec<_> = found.differences.iter().map(|it| (it.anchor.clone(), it.file.clone())).collect();
        let escaped = |text: &str| text.replace('—', "\\u{2014}");
        let is_exact = told == [(escaped(&part.change.0), escaped(&part.change.1))];
        if !is_exact && std::env::var_os("TXEDIT_DAMAGE_SHOW").is_some() {
            println!("{:?} {:?}: {told:?} in {}", part.old, part.change, found.diff);
        }
        exactly += usize::from(is_exact);
    }
    println!("{exactly} of {total} changes of a part of a line are reported, and nothing else");
    assert!(exactly * 100 >= total * 98, "{exactly} of {total}");
}
