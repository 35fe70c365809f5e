//! The words that differ in two texts that are alike.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};

/// The most bytes, of both texts, that are compared word by word.
const COMPARED: usize = 32 << 10;

/// Byte ranges of a text, in order.
pub(crate) type Places = Vec<Range<usize>>;

/// The places of the words that differ in old and new lines, without those of lines that have little in common with the others:
/// nobody would find them there. White space by itself is a word as well.
#[must_use]
pub(crate) fn differing(old: &[u8], new: &[u8]) -> (Places, Places) {
    if old.is_empty() || new.is_empty() || old.len() + new.len() > COMPARED {
        return (Places::new(), Places::new());
    }
    let mut input = InternedInput::default();
    input.update_before(words(old).map(|word| &old[word]));
    input.update_after(words(new).map(|word| &new[word]));
    let diff = Diff::compute(Algorithm::Myers, &input);
    let (old_words, new_words): (Places, Places) = (words(old).collect(), words(new).collect());
    let place = |text: &[u8], words: &[Range<usize>], run: &Range<u32>, is_alone: bool| {
        let run = run.start as usize..run.end as usize;
        let run = &words[if is_alone { whole_lines(text, words, run) } else { run }];
        Some(run.first()?.start..run.last()?.end)
    };
    let (mut of_old, mut of_new) = (Places::new(), Places::new());
    for hunk in diff.hunks() {
        of_old.extend(place(old, &old_words, &hunk.before, hunk.after.is_empty()));
        of_new.extend(place(new, &new_words, &hunk.after, hunk.before.is_empty()));
    }
    (in_like_lines(old, &of_old), in_like_lines(new, &of_new))
}

/// Words that are only in one of the texts, moved on to the beginning of a line where they are the same ones there: lines that
/// are new as a whole say nothing of the line in front of them.
fn whole_lines(text: &[u8], words: &[Range<usize>], run: Range<usize>) -> Range<usize> {
    let word = |at: usize| words.get(at).map(|word| &text[word.clone()]);
    let starts_line = |at: usize| at == 0 || word(at - 1) == Some(b"\n");
    let mut moved = run.clone();
    while !starts_line(moved.start) && word(moved.start) == word(moved.end) {
        moved = moved.start + 1..moved.end + 1;
    }
    if starts_line(moved.start) { moved } else { run }
}

/// The parts of these places that are in lines of which less than half differs.
fn in_like_lines(text: &[u8], places: &[Range<usize>]) -> Places {
    let (mut kept, mut start) = (Places::new(), 0);
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let end = start + line.len();
        let in_line = places.iter().map(|place| place.start.max(start)..place.end.min(end));
        let in_line: Places = in_line.filter(|place| !place.is_empty()).collect();
        let weight = |bytes: &[u8]| bytes.iter().filter(|byte| !byte.is_ascii_whitespace()).count();
        let differs: usize = in_line.iter().map(|place| weight(&text[place.clone()])).sum();
        if differs * 2 <= weight(line) {
            // A line break is not shown.
            let shown = end - usize::from(line.ends_with(b"\n"));
            kept.extend(in_line.into_iter().map(|place| place.start..place.end.min(shown)).filter(|it| !it.is_empty()));
        }
        start = end;
    }
    kept
}

/// The words of a text: letters, digits and underscores together, white space within a line, and each other character.
fn words(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at;
        let kind = kind(*text.get(at)?);
        at += 1;
        while kind != WordKind::Other && text.get(at).is_some_and(|byte| self::kind(*byte) == kind) {
            at += 1;
        }
        Some(start..at)
    })
}

#[derive(PartialEq, Eq)]
enum WordKind {
    Word,
    Space,
    Other,
}

const fn kind(byte: u8) -> WordKind {
    match byte {
        // Beyond ASCII: mostly letters, and never split.
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | 0x80.. => WordKind::Word,
        b' ' | b'\t' => WordKind::Space,
        _ => WordKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(old: &str, new: &str) -> (Vec<String>, Vec<String>) {
        let (of_old, of_new) = differing(old.as_bytes(), new.as_bytes());
        let texts = |text: &str, places: Places| places.into_iter().map(|it| text[it].to_owned()).collect();
        (texts(old, of_old), texts(new, of_new))
    }

    fn some(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn the_words_that_differ_are_found() {
        let (old, new) = of("    greet::greet(one);\n", "    greet::welcome(one, two);\n");
        assert_eq!((old, new), (some(&["greet"]), some(&["welcome", ", two"])));
        assert_eq!(of("let grüße = 1;\n", "let grüße = 2;\n"), (some(&["1"]), some(&["2"])));
        assert_eq!(of("if a {\n", "    if a {\n"), (some(&[]), some(&["    "])));
    }

    #[test]
    fn lines_that_have_little_in_common_show_no_words() {
        assert_eq!(of("one two three\n", "four five six;\n"), (some(&[]), some(&[])));
        let (old, new) = of("let a = 1;\n", "let b = 1;\nreturn something_else(entirely);\n");
        assert_eq!((old, new), (some(&["a"]), some(&["b"])));
        assert_eq!(of("", "new\n"), (some(&[]), some(&[])));
    }

    proptest! {
        #[test]
        fn what_is_not_named_is_in_both_where_all_lines_are_alike(old in "[ab é.\n]{0,40}", new in "[ab é.\n]{0,40}") {
            let (of_old, of_new) = differing(old.as_bytes(), new.as_bytes());
            for (text, places) in [(&old, of_old), (&new, of_new)] {
                let mut end = 0;
                for place in places {
                    prop_assert!(end <= place.start && place.start < place.end && place.end <= text.len());
                    prop_assert!(text.is_char_boundary(place.start) && text.is_char_boundary(place.end));
                    prop_assert!(!text[place.clone()].contains('\n'));
                    end = place.end;
                }
            }
        }
    }
}
