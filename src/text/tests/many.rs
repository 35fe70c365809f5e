//! Many edits of one content, whose texts are found all at once, do what each of them does alone.

use proptest::collection::vec;
use proptest::prelude::*;

use super::edit;
use crate::request::edit::{Anchor, Count, Edit, Encoding, Matching, Position};
use crate::text::position;

/// A content that is large enough, with lines that are alike.
fn content(crlf: bool, end: &str) -> Vec<u8> {
    let ending = if crlf { "\r\n" } else { "\n" };
    let line = |number: usize| format!("    let value_{} = compute({number});{ending}", number % 500);
    let mut text: String = (0..4_000).map(line).collect();
    text.push_str(end);
    text.into_bytes()
}

/// What an edit is made from: where its text is, how long it is, how often it may be there, and what replaces it.
type Choice = (u32, usize, u8, u8);

fn count(choice: u8) -> Count {
    match choice % 8 {
        0 => Count::All,
        1 => Count::Any,
        2 | 3 => Count::AtMostOnce,
        4 => Count::Exactly(1),
        _ => Count::Once,
    }
}

/// The edit of a choice for the `state` that the edits before it left, the last of them near `last`.
fn chosen(state: &[u8], (place, len, kind, with): Choice, last: usize) -> Edit {
    let near = usize::from(kind / 8 % 4 != 0);
    let start = if near == 1 { last.saturating_sub(40) + place as usize % 80 } else { place as usize };
    let start = start % state.len();
    let text = state[start..state.len().min(start + len)].to_vec();
    let replacement = match with % 6 {
        0 => Vec::new(),
        1 => [&text[..], b"+"].concat(),
        2 => b"compute(7);\n".to_vec(),
        3 => format!("value_{place}\n    let value_{} = ", place % 500).into_bytes(),
        4 => text.iter().rev().copied().collect(),
        _ => b"x".to_vec(),
    };
    Edit { anchor: Anchor::Text { text, count: count(kind), matching: Matching::Exact }, replacement }
}

/// Makes the edits one after the other, each alone, and then all at once; those that are refused alone are left out,
/// except for the last one.
fn check(base: &[u8], choices: &[Choice]) -> Result<(), TestCaseError> {
    let (mut state, mut edits, mut alone, mut last) = (base.to_vec(), Vec::new(), Vec::new(), 0);
    let mut refused = None;
    for choice in choices {
        let next = chosen(&state, *choice, last);
        let many = matches!(&next.anchor, Anchor::Text { text, .. } if text.len() < 4 && !next.replacement.is_empty());
        match edit(&state, std::slice::from_ref(&next)) {
            Ok(done) if !many || done.applied[0].replaced <= 1 => {
                if let Some(splice) = done.splices.iter().next() {
                    last = splice.range.start;
                }
                state = done.splices.apply(&state);
                alone.extend(done.applied);
                edits.push(next);
            }
            Ok(_) => {}
            Err(error) => refused = Some((edits.len(), next, error)),
        }
    }
    let all = edit(base, &edits).map_err(|refused| TestCaseError::fail(refused.message))?;
    prop_assert!(all.splices.apply(base) == state, "the new content differs");
    prop_assert_eq!(&all.applied, &alone);
    let Some((index, next, error)) = refused else { return Ok(()) };
    edits.truncate(index);
    edits.push(next);
    let again = edit(base, &edits).expect_err("it was refused alone");
    prop_assert_eq!((again.edit.0, again.kind), (index, error.kind));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn many_edits_do_what_each_does_alone(
        crlf: bool,
        end in "[a-c]{0,3}",
        choices in vec((any::<u32>(), 1..90usize, any::<u8>(), any::<u8>()), 300..500),
    ) {
        check(&content(crlf, &end), &choices)?;
    }
}

#[test]
fn texts_of_many_edits_are_found_in_what_others_inserted() {
    let base = content(false, "mark\n");
    let mut edits: Vec<_> = (0..400).map(|step| super::once(&format!("mark{}\n", "x".repeat(step)), "mark")).collect();
    for (step, edit) in edits.iter_mut().enumerate() {
        edit.replacement = format!("mark{}\n", "x".repeat(step + 1)).into_bytes();
    }
    let edited = edit(&base, &edits).unwrap();
    let expected = content(false, &format!("mark{}\n", "x".repeat(400)));
    assert!(edited.splices.apply(&base) == expected);
}

/// The places of thousands of pieces, forwards, backwards and in no order, are those of a text that is walked through.
#[test]
fn lines_are_told_right_among_thousands_of_pieces() {
    const LINES: usize = 3_001;
    let old = |line: usize| format!("{line:04}: {}\n", "some words to make it long enough".repeat(2));
    for stride in [1, LINES - 1, 1_009] {
        let mut lines: Vec<String> = (0..LINES).map(old).collect();
        let base = lines.concat();
        let mut edits = Vec::new();
        let mut expected = Vec::new();
        for step in 0..LINES {
            let line = step * stride % LINES;
            let new = ["", "new\n", "two\nlines\n", "no break"][line % 4];
            edits.push(super::once(&lines[line], new));
            expected.push(1 + lines[..line].iter().map(|line| line.matches('\n').count()).sum::<usize>());
            new.clone_into(&mut lines[line]);
        }
        let edited = edit(base.as_bytes(), &edits).unwrap();
        assert!(edited.splices.apply(base.as_bytes()) == lines.concat().into_bytes(), "every {stride}th");
        let told: Vec<_> = edited.applied.iter().flat_map(|applied| applied.lines.clone()).collect();
        assert_eq!(told, expected, "every {stride}th");
    }
}

/// An edit by line and character: the line and the character of both ends, in sixteenths of what there is.
type SpanChoice = (u16, u16, u16, u16, bool);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn positions_are_those_of_the_whole_text(
        mark: bool,
        returns: bool,
        last in "[a-c]{0,3}",
        choices in vec(any::<SpanChoice>(), 1..60),
    ) {
        let line = |number: usize| format!("{}é𝒳{}\n", "x".repeat(number % 7), "y".repeat(number % 31 * 20));
        let mut base: String = (0..700).map(line).collect();
        base = [if mark { "\u{feff}" } else { "" }, &base, if returns { "a\rb\n" } else { "" }, &last].concat();
        let (mut state, mut edits) = (base.clone().into_bytes(), Vec::new());
        for (line, character, lines, width, strict) in choices {
            let start = Position { line: usize::from(line % 710), character: usize::from(character % 40) };
            let end = Position { line: start.line + usize::from(lines % 3), character: usize::from(width % 40) };
            let at = |position, is_end| {
                let found = position::offset(&state, position, Encoding::Utf16, is_end && !strict);
                found.and_then(|at| if strict { position::verify(&state, at, position, Encoding::Utf16) } else { Ok(at) })
            };
            let range = at(start, false).and_then(|start| Ok(start..at(end, true)?)).ok();
            let anchor = Anchor::Span { start, end, encoding: Encoding::Utf16, strict };
            edits.push(Edit { anchor, replacement: "1\n𝒳2".into() });
            let made = edit(base.as_bytes(), &edits);
            if let Some(range) = range.filter(|range| range.start <= range.end) {
                state.splice(range, "1\n𝒳2".bytes());
                let made = made.map_err(|refused| TestCaseError::fail(refused.message))?;
                prop_assert!(made.splices.apply(base.as_bytes()) == state, "the new content differs");
            } else {
                prop_assert!(made.is_err());
                edits.pop();
            }
        }
    }
}
