//! Moves splices of one content to a changed version of it: only if no line that they touch was changed.

use std::ops::Range;

use memchr::{memchr, memrchr};

use super::diff;
use super::splice::{Splice, Splices};

/// The splices of `base` moved to `current`; `None` if one of them is in a line that differs between the two, or at the
/// place of inserted lines, or if the contents are too large to compare.
#[must_use]
pub fn rebase(base: &[u8], current: &[u8], ours: &Splices) -> Option<Splices> {
    let theirs = diff::changed(base, current)?;
    let mut theirs = theirs.iter().peekable();
    let mut shift = 0_isize;
    let mut moved = Vec::new();
    for splice in ours {
        let lines = lines_around(base, &splice.range);
        // Their changes before ours shift ours.
        while let Some((old, new)) = theirs.next_if(|(old, _)| is_before(old, &lines)) {
            shift += new.len().cast_signed() - old.len().cast_signed();
        }
        if theirs.peek().is_some_and(|(old, _)| !is_before(&lines, old)) {
            return None;
        }
        let at = |place: usize| place.checked_add_signed(shift);
        moved.push(Splice { range: at(splice.range.start)?..at(splice.range.end)?, with: splice.with.clone() });
    }
    Splices::new(current, moved).ok()
}

/// Returns whether all of `a` is before `b`. Two insertions at one place have no order.
fn is_before(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.end <= b.start && !(a.is_empty() && b.is_empty() && a.start == b.start)
}

/// The whole lines that a range touches. A range between two lines touches neither.
fn lines_around(base: &[u8], range: &Range<usize>) -> Range<usize> {
    let start = memrchr(b'\n', &base[..range.start]).map_or(0, |feed| feed + 1);
    if range.is_empty() && start == range.start {
        return range.clone();
    }
    // A range that ends with a line break does not touch the line after it.
    let last = if range.is_empty() { range.end } else { range.end - 1 };
    let end = memchr(b'\n', &base[last..]).map_or(base.len(), |feed| last + feed + 1);
    start..end
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn splices(base: &[u8], list: &[(Range<usize>, &str)]) -> Splices {
        let list = list.iter().map(|(range, with)| Splice { range: range.clone(), with: with.as_bytes().to_vec() });
        Splices::new(base, list.collect()).unwrap()
    }

    fn rebased(base: &str, current: &str, list: &[(Range<usize>, &str)]) -> Option<String> {
        let ours = splices(base.as_bytes(), list);
        let moved = rebase(base.as_bytes(), current.as_bytes(), &ours)?;
        Some(String::from_utf8(moved.apply(current.as_bytes())).unwrap())
    }

    #[test]
    fn other_lines_do_not_matter_and_the_same_line_does() {
        let base = "a\nb\nc\nd\n";
        let ours: &[(Range<usize>, &str)] = &[(4..5, "C")];
        assert_eq!(rebased(base, "a\nb\nc\nd\n", ours).as_deref(), Some("a\nb\nC\nd\n"));
        assert_eq!(rebased(base, "new\na\nB\nc\nd\n", ours).as_deref(), Some("new\na\nB\nC\nd\n"));
        assert_eq!(rebased(base, "a\nb\nc\nD\nmore\n", ours).as_deref(), Some("a\nb\nC\nD\nmore\n"));
        assert_eq!(rebased(base, "c\nd\n", ours).as_deref(), Some("C\nd\n"));
        assert_eq!(rebased(base, "a\nb\nc!\nd\n", ours), None, "the line itself");
        assert_eq!(rebased(base, "a\nb\nd\n", ours), None, "the line is gone");
        assert_eq!(rebased(base, "a\nd\n", ours), None, "it and the one before are gone");
    }

    #[test]
    fn insertions_at_one_place_have_no_order() {
        let base = "a\nb\n";
        assert_eq!(rebased(base, "a\ntheirs\nb\n", &[(2..2, "ours\n")]), None);
        assert_eq!(rebased(base, "theirs\na\nb\n", &[(2..2, "ours\n")]).as_deref(), Some("theirs\na\nours\nb\n"));
        // A place inside a line is not between lines.
        assert_eq!(rebased(base, "a\ntheirs\nb\n", &[(1..1, "!")]).as_deref(), Some("a!\ntheirs\nb\n"));
    }

    proptest! {
        #[test]
        fn lines_that_are_far_apart_merge_either_way(
            lines in proptest::collection::vec("[a-c]{0,3}", 4..12), at in 0..12_usize, insert in any::<bool>(),
        ) {
            let unique: Vec<String> = lines.iter().enumerate().map(|(i, line)| format!("{i}{line}\n")).collect();
            let base = unique.concat();
            let at = at % (unique.len() - 2);
            let place = |line: usize| unique[..line].concat().len();
            // Ours is two lines after theirs.
            let ours = splices(base.as_bytes(), &[(place(at + 2)..place(at + 2) + 1, "ours")]);
            let mut theirs = unique.clone();
            if insert { theirs.insert(at, "theirs\n".to_owned()) } else { theirs.remove(at); }
            let current = theirs.concat();
            let merged = rebase(base.as_bytes(), current.as_bytes(), &ours).unwrap().apply(current.as_bytes());
            let mut expected = unique.clone();
            expected[at + 2].replace_range(..1, "ours");
            if (at + 2) >= 10 { expected[at + 2] = format!("ours{}", &unique[at + 2][1..]); }
            if insert { expected.insert(at, "theirs\n".to_owned()) } else { expected.remove(at); }
            prop_assert_eq!(String::from_utf8(merged).unwrap(), expected.concat());
        }
    }
}
