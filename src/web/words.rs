//! The words in which two lines differ, so that a reader sees what changed in a long one.

use std::ops::Range;

use crate::text::words;

/// A line in parts: those at even places stayed, those at odd ones changed.
pub(super) type Parts = Vec<String>;

/// Both lines in parts; `None` if they are too long, or have too little in common.
pub(super) fn differ(old: &str, new: &str) -> Option<(Parts, Parts)> {
    let (of_old, of_new) = words::differing(old.as_bytes(), new.as_bytes());
    let has_any = !of_old.is_empty() || !of_new.is_empty();
    has_any.then(|| (parts(old, &of_old), parts(new, &of_new)))
}

fn parts(line: &str, changed: &[Range<usize>]) -> Parts {
    let (mut parts, mut at) = (Vec::with_capacity(changed.len() * 2 + 1), 0);
    for place in changed {
        parts.push(line[at..place.start].to_owned());
        parts.push(line[place.clone()].to_owned());
        at = place.end;
    }
    parts.push(line[at..].to_owned());
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_words_that_changed_are_apart() {
        let of = |old: &str, new: &str| differ(old, new).map(|(old, new)| (old.join("|"), new.join("|")));
        let both = |old: &str, new: &str| Some((old.to_owned(), new.to_owned()));
        assert_eq!(of("fn greet(a: u8)", "fn welcome(a: u8)"), both("fn |greet|(a: u8)", "fn |welcome|(a: u8)"));
        assert_eq!(of("let x = 1;", "let x = 1 + y;"), both("let x = 1;", "let x = 1| + y|;"));
        assert_eq!(of("one two three", "four five six"), None);
        assert_eq!(of("", "a"), None);
    }

    proptest! {
        #[test]
        fn nothing_of_a_line_is_lost(old in "[ab é(]{0,20}", new in "[ab é(]{0,20}") {
            if let Some((before, after)) = differ(&old, &new) {
                prop_assert_eq!(before.concat(), old);
                prop_assert_eq!(after.concat(), new);
            }
        }
    }
}
