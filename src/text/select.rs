//! Takes some of the differences of two contents, and leaves the others for later.

use std::ops::Range;

/// Where two contents differ, as byte ranges of both, in order: what [`changed`](super::diff::changed) finds.
pub type Runs = [(Range<usize>, Range<usize>)];

/// Neighbouring differences that are taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenRuns {
    /// Their numbers, from 0.
    pub runs: Range<usize>,
    /// What stands from the first of them to the last instead of what was proposed.
    pub instead: Option<Vec<u8>>,
}

/// Contents in which some differences are there, and others are not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selected {
    /// The old content with those that are taken.
    pub taken: Vec<u8>,
    /// That with those as well that are left for later.
    pub whole: Vec<u8>,
}

/// Returns whether these name differences that are there, in order, and none of them twice.
#[must_use]
pub fn is_valid(runs: &Runs, taken: &[TakenRuns]) -> bool {
    let ends = std::iter::once(0).chain(taken.iter().map(|taken| taken.runs.end));
    let follows = |(end, taken): (usize, &TakenRuns)| end <= taken.runs.start && !taken.runs.is_empty();
    ends.zip(taken).all(follows) && taken.last().is_none_or(|last| last.runs.end <= runs.len())
}

/// Takes some of the differences of `old` and `new`; `taken` must be valid.
///
/// # Panics
///
/// If it is not.
#[must_use]
pub fn select(old: &[u8], new: &[u8], runs: &Runs, taken: &[TakenRuns]) -> Selected {
    assert!(is_valid(runs, taken), "differences that are there, in order");
    let mut selected = Selected { taken: Vec::with_capacity(old.len()), whole: Vec::with_capacity(new.len()) };
    let (mut at, mut next, mut coming) = (0, 0, taken.iter().peekable());
    while let Some((before, after)) = runs.get(next) {
        let same = &old[at..before.start];
        selected.taken.extend_from_slice(same);
        selected.whole.extend_from_slice(same);
        if let Some(TakenRuns { runs: together, instead }) = coming.next_if(|taken| taken.runs.start == next) {
            let (last_before, last_after) = &runs[together.end - 1];
            let with = instead.as_deref().unwrap_or(&new[after.start..last_after.end]);
            selected.taken.extend_from_slice(with);
            selected.whole.extend_from_slice(with);
            (at, next) = (last_before.end, together.end);
        } else {
            selected.taken.extend_from_slice(&old[before.clone()]);
            selected.whole.extend_from_slice(&new[after.clone()]);
            (at, next) = (before.end, next + 1);
        }
    }
    selected.taken.extend_from_slice(&old[at..]);
    selected.whole.extend_from_slice(&old[at..]);
    selected
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::diff;

    fn one(runs: Range<usize>) -> TakenRuns {
        TakenRuns { runs, instead: None }
    }

    #[test]
    fn what_is_taken_is_there_and_the_rest_comes_with_the_whole() {
        let (old, new) = (b"a\nb\nc\nd\ne\n", b"A\nb\nC\nd\nE\ne\n");
        let runs = diff::changed(old, new).unwrap();
        assert_eq!(runs.len(), 3);
        let of = |taken: &[TakenRuns]| {
            let Selected { taken, whole } = select(old, new, &runs, taken);
            (String::from_utf8(taken).unwrap(), String::from_utf8(whole).unwrap())
        };
        let whole = "A\nb\nC\nd\nE\ne\n".to_owned();
        assert_eq!(of(&[one(0..1), one(2..3)]), ("A\nb\nc\nd\nE\ne\n".to_owned(), whole.clone()));
        assert_eq!(of(&[one(1..3)]), ("a\nb\nC\nd\nE\ne\n".to_owned(), whole));
        let edited = TakenRuns { runs: 0..2, instead: Some(b"x\n".to_vec()) };
        assert_eq!(of(&[edited]), ("x\nd\ne\n".to_owned(), "x\nd\nE\ne\n".to_owned()));
    }

    #[test]
    fn differences_that_are_not_there_or_named_twice_are_not_valid() {
        let runs = [(0..1, 0..1), (2..3, 2..3)];
        assert!(is_valid(&runs, &[]) && is_valid(&runs, &[one(0..1), one(1..2)]) && is_valid(&runs, &[one(0..2)]));
        for wrong in [&[one(1..3)][..], &[one(0..2), one(1..2)], &[one(1..2), one(0..1)], &[one(1..1)]] {
            assert!(!is_valid(&runs, wrong), "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn all_taken_is_the_new_content_and_none_is_the_old_one(
            old in "[abc\n]{0,40}",
            new in "[abc\n]{0,40}",
            chosen in prop::collection::vec(any::<bool>(), 40),
        ) {
            let (old, new) = (old.as_bytes(), new.as_bytes());
            let runs = diff::changed(old, new).unwrap();
            let all = select(old, new, &runs, &[one(0..runs.len())][..usize::from(!runs.is_empty())]);
            prop_assert_eq!(&all.taken, new);
            prop_assert_eq!(&select(old, new, &runs, &[]).taken, old);
            let some: Vec<_> = (0..runs.len()).filter(|run| chosen[*run]).map(|run| one(run..run + 1)).collect();
            prop_assert_eq!(&select(old, new, &runs, &some).whole, new, "nothing is lost");
        }
    }
}
