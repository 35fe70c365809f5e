//! Fixes that a tool reports: each is applied whole, and together only those that do not meet.
//!
//! The tools do the same, pass by pass: a fix that meets an earlier one is made for text that is gone by then. It is
//! left for the next report.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::ops::Range;

/// One replacement in one file; `P` is a position as the tool counts it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct FixPart<P> {
    pub(super) file: String,
    pub(super) at: Range<P>,
    pub(super) replacement: String,
}

/// The replacements that belong together.
#[derive(Debug, Clone)]
pub(super) struct ToolFix<P> {
    pub(super) parts: Vec<FixPart<P>>,
    /// True if another such fix in the same file may depend on the text that this one removes.
    pub(super) alone: bool,
}

/// The parts of the fixes that are applied together, in the order of their places. A fix is left out if it touches an
/// earlier one; a part that an earlier fix has as well is applied once.
pub(super) fn compatible<P: Copy + Ord + Hash>(mut fixes: Vec<ToolFix<P>>) -> Vec<FixPart<P>> {
    // Stable, so that of fixes at one place the tool's first one counts.
    fixes.sort_by_key(|fix| fix.parts.iter().map(|part| part.at.start).min());
    let mut taken: HashSet<FixPart<P>> = HashSet::new();
    let mut ends: HashMap<String, P> = HashMap::new();
    let mut alone: HashSet<String> = HashSet::new();
    for fix in fixes {
        let new: Vec<_> = fix.parts.into_iter().filter(|part| !taken.contains(part)).collect();
        let meets = new.iter().any(|part| ends.get(&part.file).is_some_and(|end| part.at.start <= *end));
        if meets || (fix.alone && new.iter().any(|part| alone.contains(&part.file))) {
            continue;
        }
        for part in &new {
            let end = ends.entry(part.file.clone()).or_insert(part.at.end);
            *end = part.at.end.max(*end);
            if fix.alone {
                alone.insert(part.file.clone());
            }
        }
        taken.extend(new);
    }
    let mut parts: Vec<_> = taken.into_iter().collect();
    parts.sort_by(|a, b| (&a.file, a.at.start, a.at.end).cmp(&(&b.file, b.at.start, b.at.end)));
    parts
}

/// Returns whether parts of one fix overlap: then they are alternatives, between which the tool leaves the choice.
pub(super) fn are_alternatives<P: Copy + Ord>(parts: &[FixPart<P>]) -> bool {
    let mut places: Vec<_> = parts.iter().map(|part| (&part.file, part.at.start, part.at.end)).collect();
    places.sort();
    places.windows(2).any(|pair| pair[0].0 == pair[1].0 && (pair[1].1 < pair[0].2 || pair[1] == pair[0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fix(places: &[(usize, usize, &str)]) -> ToolFix<usize> {
        let part = |&(start, end, new): &(usize, usize, &str)| FixPart {
            file: "a".into(),
            at: start..end,
            replacement: new.into(),
        };
        ToolFix { parts: places.iter().map(part).collect(), alone: false }
    }

    fn taken(fixes: &[ToolFix<usize>]) -> Vec<(usize, usize)> {
        compatible(fixes.to_vec()).into_iter().map(|part| (part.at.start, part.at.end)).collect()
    }

    #[test]
    fn a_fix_that_touches_an_earlier_one_waits_for_the_next_report() {
        assert_eq!(taken(&[fix(&[(4, 6, "")]), fix(&[(0, 2, "")]), fix(&[(6, 7, "")])]), [(0, 2), (4, 6)]);
        // What is between the parts of a fix may be what it was made for.
        assert_eq!(taken(&[fix(&[(0, 1, "("), (8, 9, ")")]), fix(&[(4, 5, "x")])]), [(0, 1), (8, 9)]);
        // Parts of one fix may touch.
        assert_eq!(taken(&[fix(&[(5, 6, ""), (2, 5, "")])]), [(2, 5), (5, 6)]);
    }

    #[test]
    fn a_part_that_two_fixes_have_is_applied_once() {
        let import = (0, 0, "import a\n");
        assert_eq!(taken(&[fix(&[import, (4, 5, "a")]), fix(&[import, (8, 9, "a")])]), [(0, 0), (4, 5), (8, 9)]);
        assert_eq!(taken(&[fix(&[import]), fix(&[import])]), [(0, 0)], "a report of two builds says it twice");
    }

    #[test]
    fn of_fixes_that_may_depend_on_each_other_one_is_taken() {
        let alone = |place| ToolFix { alone: true, ..fix(&[place]) };
        assert_eq!(taken(&[alone((0, 2, "")), alone((4, 6, "")), fix(&[(8, 9, "")])]), [(0, 2), (8, 9)]);
    }

    #[test]
    fn parts_that_overlap_are_alternatives() {
        assert!(are_alternatives(&fix(&[(0, 2, "x"), (0, 2, "y")]).parts));
        assert!(are_alternatives(&fix(&[(4, 4, "x"), (4, 4, "y")]).parts), "two insertions in one place");
        assert!(!are_alternatives(&fix(&[(5, 6, ""), (2, 5, "")]).parts));
    }
}
