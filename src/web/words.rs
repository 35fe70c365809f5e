//! The words in which two lines differ, so that a reader sees what changed in a long one.

/// The most bytes of a line that is compared word by word.
const LINE_BYTES: usize = 2_000;

/// The most comparisons of two words for two lines.
const COMPARISONS: usize = 40_000;

/// The least share of a line, in hundredths, that must have stayed: of lines that have little in common, all is new.
const ALIKE: usize = 30;

/// A line in parts: those at even places stayed, those at odd ones changed.
pub(super) type Parts = Vec<String>;

/// Both lines in parts; `None` if they are too long, or have too little in common.
pub(super) fn differ(old: &str, new: &str) -> Option<(Parts, Parts)> {
    if old.len() > LINE_BYTES || new.len() > LINE_BYTES {
        return None;
    }
    let (old_words, new_words) = (words(old), words(new));
    let start = old_words.iter().zip(&new_words).take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) = (&old_words[start..], &new_words[start..]);
    let end = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(old, new)| old == new).count();
    let (old_middle, new_middle) = (&old_rest[..old_rest.len() - end], &new_rest[..new_rest.len() - end]);
    let (mut old_stays, mut new_stays) = (vec![true; old_words.len()], vec![true; new_words.len()]);
    let (old_kept, new_kept) = common(old_middle, new_middle)?;
    old_stays[start..start + old_middle.len()].copy_from_slice(&old_kept);
    new_stays[start..start + new_middle.len()].copy_from_slice(&new_kept);
    let stayed: usize =
        old_words.iter().zip(&old_stays).filter(|(_, stays)| **stays).map(|(word, _)| solid(word)).sum();
    let longest =
        old_words.iter().map(|word| solid(word)).sum::<usize>().max(new_words.iter().map(|word| solid(word)).sum());
    if stayed * 100 < longest * ALIKE || stayed == 0 {
        return None;
    }
    Some((parts(&old_words, &old_stays), parts(&new_words, &new_stays)))
}

/// The bytes of a word that are no white space, which says nothing about how alike two lines are.
fn solid(word: &str) -> usize {
    if word.starts_with(char::is_whitespace) { 0 } else { word.len() }
}

/// Words, runs of white space, and other characters one by one.
fn words(line: &str) -> Vec<&str> {
    #[derive(PartialEq)]
    enum WordKind {
        Word,
        Space,
        Other,
    }
    let kind = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => WordKind::Word,
        c if c.is_whitespace() => WordKind::Space,
        _ => WordKind::Other,
    };
    let mut words = Vec::new();
    let (mut start, mut last) = (0, None);
    for (at, c) in line.char_indices() {
        let this = kind(c);
        if last.as_ref().is_some_and(|last| *last != this || this == WordKind::Other) {
            words.push(&line[start..at]);
            start = at;
        }
        last = Some(this);
    }
    if start < line.len() {
        words.push(&line[start..]);
    }
    words
}

/// Which of the words both have, in the same order: a longest common subsequence.
fn common(old: &[&str], new: &[&str]) -> Option<(Vec<bool>, Vec<bool>)> {
    if old.len() * new.len() > COMPARISONS {
        return None;
    }
    let width = new.len() + 1;
    // The length of the longest one from these places on.
    let mut longest = vec![0_u16; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            longest[i * width + j] = if old[i] == new[j] {
                longest[(i + 1) * width + j + 1] + 1
            } else {
                longest[(i + 1) * width + j].max(longest[i * width + j + 1])
            };
        }
    }
    let (mut in_old, mut in_new) = (vec![false; old.len()], vec![false; new.len()]);
    let (mut i, mut j) = (0, 0);
    while i < old.len() && j < new.len() {
        if old[i] == new[j] {
            (in_old[i], in_new[j]) = (true, true);
            (i, j) = (i + 1, j + 1);
        } else if longest[(i + 1) * width + j] >= longest[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    Some((in_old, in_new))
}

fn parts(words: &[&str], stays: &[bool]) -> Parts {
    let mut parts = vec![String::new()];
    for (at, word) in words.iter().enumerate() {
        let has_changed = |at: usize| stays.get(at).is_some_and(|stays| !stays);
        // A space between two words that changed goes with them.
        let is_between = solid(word) == 0 && at > 0 && has_changed(at - 1) && has_changed(at + 1);
        let is_even = parts.len() % 2 == 1;
        if is_even != (stays[at] && !is_between) {
            parts.push(String::new());
        }
        if let Some(last) = parts.last_mut() {
            last.push_str(word);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(parts: &Parts) -> String {
        let marked =
            parts.iter().enumerate().map(|(at, part)| if at % 2 == 1 { format!("[{part}]") } else { part.clone() });
        marked.collect()
    }

    #[test]
    fn the_words_that_changed_are_found() {
        let of = |old: &str, new: &str| differ(old, new).map(|(old, new)| (shown(&old), shown(&new)));
        let both = |old: &str, new: &str| Some((old.to_owned(), new.to_owned()));
        assert_eq!(of("fn greet(a: u8)", "fn welcome(a: u8)"), both("fn [greet](a: u8)", "fn [welcome](a: u8)"));
        assert_eq!(of("let x = 1;", "let x = 1 + y;"), both("let x = 1;", "let x = 1[ + y];"));
        assert_eq!(of("  a(b)", "    a(b)"), both("[  ]a(b)", "[    ]a(b)"));
        assert_eq!(of("one two three", "four five six"), None);
        assert_eq!(of("", "a"), None);
        assert_eq!(
            of("say old big word now", "say new fat word now"),
            both("say [old big] word now", "say [new fat] word now")
        );
    }

    proptest! {
        #[test]
        fn nothing_of_a_line_is_lost(old in "[ab é(]{0,20}", new in "[ab é(]{0,20}") {
            if let Some((before, after)) = differ(&old, &new) {
                prop_assert_eq!(before.concat(), old);
                prop_assert_eq!(after.concat(), new);
                let stays = |parts: &Parts| parts.iter().step_by(2).cloned().collect::<String>();
                let solid = |text: String| text.replace(' ', "");
                prop_assert_eq!(solid(stays(&before)), solid(stays(&after)));
            }
        }
    }
}
