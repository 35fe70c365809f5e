//! Moves splices of one content to a changed version of it: only if no line that they touch was changed, and only if it is
//! certain which lines of the changed version those are.

mod partner;

use std::ops::Range;

use memchr::memmem::Finder;
use memchr::{memchr, memrchr};

use super::diff;
use super::splice::{Splice, Splices};

/// The splices of `base` moved to `current`; `None` if one of them is in a line that differs between the two, or at the
/// place of inserted lines, or if the contents are too large to compare.
///
/// Of two equal lines next to each other, a diff cannot tell which one is gone. `None`, too, if another diff that is as
/// short would put a splice elsewhere, or if the unchanged lines around it, up to the next changes, are in either content
/// twice: they may have changed places.
#[must_use]
pub fn rebase(base: &[u8], current: &[u8], ours: &Splices) -> Option<Splices> {
    let theirs = diff::changed(base, current)?;
    let mut passed = 0;
    let mut shift = 0_isize;
    let mut moved = Vec::new();
    let mut touched = Vec::new();
    for splice in ours {
        let lines = lines_around(base, &splice.range);
        // Their changes before ours shift ours.
        while let Some((old, new)) = theirs.get(passed).filter(|(old, _)| is_before(old, &lines)) {
            shift += new.len().cast_signed() - old.len().cast_signed();
            passed += 1;
        }
        let next = theirs.get(passed);
        if next.is_some_and(|(old, _)| !is_before(&lines, old)) {
            return None;
        }
        let at = |place: usize| place.checked_add_signed(shift);
        let start = theirs[..passed].last().map_or(0, |(old, _)| old.end);
        let unchanged = start..next.map_or(base.len(), |(old, _)| old.start);
        if !is_once(base, &unchanged) || !is_once(current, &(at(unchanged.start)?..at(unchanged.end)?)) {
            return None;
        }
        touched.push(TouchedLines { lines, unchanged, shift });
        moved.push(Splice { range: at(splice.range.start)?..at(splice.range.end)?, with: splice.with.clone() });
    }
    are_certain(base, current, &touched)?;
    Splices::new(current, moved).ok()
}

/// What a splice touches.
struct TouchedLines {
    /// The whole lines, or the place between two.
    lines: Range<usize>,
    /// The unchanged lines around them, up to their changes on either side.
    unchanged: Range<usize>,
    /// How far all of it is from its place in the base.
    shift: isize,
}

/// Returns `Some` if every diff that is as short puts the splices at the same places.
fn are_certain(base: &[u8], current: &[u8], touched: &[TouchedLines]) -> Option<()> {
    if base == current {
        return Some(());
    }
    let (old, new) = (partner::line_ranges(base), partner::line_ranges(current));
    let line_at = |place: usize| old.partition_point(|line| line.end <= place);
    let asked: Vec<usize> = touched.iter().flat_map(|it| it.witnesses().map(line_at)).collect();
    let partners = partner::certain(base, current, &asked)?;
    let is_there = |shift: isize, (line, there): (&usize, &Option<usize>)| {
        there.is_some_and(|there| new[there].start.checked_add_signed(-shift) == Some(old[*line].start))
    };
    let mut answers = asked.iter().zip(&partners);
    for it in touched {
        let count = it.witnesses().count();
        let certain = answers.by_ref().take(count).filter(|answer| is_there(it.shift, *answer)).count();
        // Lines are certain with their first and their last, a place with the line on either side.
        let is_certain = if it.lines.is_empty() { certain > 0 } else { certain == count };
        if !is_certain {
            return None;
        }
    }
    Some(())
}

impl TouchedLines {
    /// A place in each line that tells where this is: the first and the last, or those around a place between lines.
    fn witnesses(&self) -> impl Iterator<Item = usize> {
        let [first, last] = if self.lines.is_empty() {
            [self.lines.start.checked_sub(1), Some(self.lines.start)]
        } else {
            [Some(self.lines.start), Some(self.lines.end - 1)]
        };
        let unchanged = self.unchanged.clone();
        [first, last].into_iter().flatten().filter(move |place| unchanged.contains(place))
    }
}

/// The end of the line that goes on at a place, with its line break.
fn line_end(content: &[u8], from: usize) -> usize {
    memchr(b'\n', &content[from..]).map_or(content.len(), |feed| from + feed + 1)
}

/// Returns whether lines of a content are there only once. No lines at all are everywhere, but in a content without any.
fn is_once(content: &[u8], lines: &Range<usize>) -> bool {
    if lines.len() == content.len() {
        return true;
    }
    let text = &content[lines.clone()];
    let finder = Finder::new(text);
    let is_line = |at: usize| at == 0 || content[at - 1] == b'\n';
    let ends = |at: usize| text.ends_with(b"\n") || at + text.len() == content.len();
    let mut from = 0;
    while let Some(at) = content.get(from..).and_then(|rest| finder.find(rest)).map(|at| from + at) {
        if at != lines.start && is_line(at) && ends(at) {
            return false;
        }
        from = at + 1;
    }
    !lines.is_empty()
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
    start..line_end(base, last)
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

    fn longest_common(old: &[String], new: &[(Option<usize>, &String)]) -> usize {
        let mut row = vec![0; new.len() + 1];
        for line in old {
            let above = row.clone();
            for (at, (_, other)) in new.iter().enumerate() {
                row[at + 1] = if line == *other { above[at] + 1 } else { above[at + 1].max(row[at]) };
            }
        }
        row[new.len()]
    }

    #[test]
    fn of_equal_lines_none_is_taken_for_another() {
        let second: &[(Range<usize>, &str)] = &[(2..3, "OURS")];
        assert_eq!(rebased("x\nx\ny\n", "x\ny\n", second), None, "one of the two is gone");
        assert_eq!(rebased("a\nx\ny\n", "a\nx\nx\ny\n", second), None, "one of the two is new");
        assert_eq!(rebased("x\na\nx\n", "x\n", &[(4..5, "OURS")]), None, "the first and what is between may be gone");
        assert_eq!(rebased("b\nx\nb\nz\n", "b\nz\n", &[(0..1, "OURS")]), None, "a block of two lines slides");
        assert_eq!(rebased("x\nx\n", "x\n", &[(2..2, "ours\n")]), None, "between the two");
        let far: &[(Range<usize>, &str)] = &[(6..7, "OURS")];
        assert_eq!(rebased("x\nx\ny\nc\n", "x\ny\nc\n", far).as_deref(), Some("x\ny\nOURS\n"), "not reached");
    }

    #[test]
    fn of_equal_blocks_none_is_taken_for_another() {
        let base = "f\nx\n}\ng\nx\n}\n";
        let in_g: &[(Range<usize>, &str)] = &[(8..9, "OURS")];
        assert_eq!(rebased(base, "g\nx\n}\nf\nx\n}\n", in_g), None, "g is first now, and a diff may rename both");
        assert_eq!(rebased(base, "h\nx\n}\ng\nx\n}\n", in_g).as_deref(), Some("h\nx\n}\ng\nOURS\n}\n"));
        assert_eq!(rebased("a\nb\n", "c\nb\n", &[(0..0, "ours\n")]), None, "before a line that is gone");
    }

    proptest! {
        /// Lines of another program between marked ones: whatever the diff says, ours goes to the line with its mark.
        #[test]
        fn a_splice_is_never_moved_to_another_line(
            base in proptest::collection::vec("[ab]", 1..9), ours in any::<prop::sample::Index>(),
            gone in proptest::collection::vec(any::<bool>(), 9),
            added in proptest::collection::vec((any::<prop::sample::Index>(), "[ab]"), 0..3),
        ) {
            let ours = ours.index(base.len());
            // What the other program does, as it alone knows it: each line with where it came from.
            let mut current: Vec<(Option<usize>, &String)> =
                base.iter().enumerate().filter(|(at, _)| !gone[*at]).map(|(at, line)| (Some(at), line)).collect();
            for (at, line) in &added {
                current.insert(at.index(current.len() + 1), (None, line));
            }
            let text = |lines: &[&String]| lines.iter().map(|line| format!("{line}\n")).collect::<Vec<_>>().concat();
            let (old, new) = (text(&base.iter().collect::<Vec<_>>()), text(&current.iter().map(|it| it.1).collect::<Vec<_>>()));
            if let Some(moved) = rebase(old.as_bytes(), new.as_bytes(), &splices(old.as_bytes(), &[(ours * 2..ours * 2 + 1, "X")])) {
                let at = moved.iter().next().unwrap().range.start / 2;
                // Unless the other program did more than it had to for this outcome: then nobody can tell.
                let changed = added.len() + gone[..base.len()].iter().filter(|it| **it).count();
                let least = base.len() + current.len() - 2 * longest_common(&base, &current);
                prop_assert!(current[at].0 == Some(ours) || least < changed, "line {ours} of {old:?} is at {at} of {new:?}");
            }
        }

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
