//! Compares what makes each of several matches unique with all possible extensions.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::places::EXTRA_LINES;
use crate::error::{Detail, ErrorKind};
use crate::request::edit::{Anchor, Count, Edit, Matching};
use crate::text::edit;

fn once(old: &str) -> Edit {
    let anchor = Anchor::Text { text: old.into(), count: Count::Once, matching: Matching::Exact };
    Edit { anchor, replacement: b"NEW".to_vec() }
}

/// The smallest number of lines around the line `at` that makes a text in `lines` unique.
fn fewest(lines: &[&str], at: usize) -> Option<usize> {
    let is_only = |above: usize, below: usize| {
        let part = &lines[at - above..=at + below];
        lines.windows(part.len()).filter(|window| *window == part).count() == 1
    };
    let ways = (0..=at.min(EXTRA_LINES))
        .flat_map(|above| (0..=EXTRA_LINES.min(lines.len() - 1 - at)).map(move |below| (above, below)));
    ways.filter(|(above, below)| is_only(*above, *below)).map(|(above, below)| above + below).min()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn each_of_several_matches_has_the_shortest_text_that_stands_only_there(
        lines in vec(select(vec!["a", "b", "go", "go", "end"]), 2..16),
        ending in select(vec!["\n", "\r\n"]),
    ) {
        let base = lines.join(ending);
        let Err(refused) = edit(base.as_bytes(), &[once("go")]) else { return Ok(()) };
        let Detail::Matches(places) = refused.detail else { return Ok(()) };
        prop_assert_eq!(refused.kind, ErrorKind::AmbiguousMatch);
        prop_assert_eq!(places.shown.len(), places.total);
        for place in places.shown {
            let at = place.line - 1;
            let Some(unique) = place.unique else {
                prop_assert_eq!(fewest(&lines, at), None);
                continue;
            };
            let extra = unique.matches('\n').count();
            prop_assert_eq!(Some(extra), fewest(&lines, at), "{:?} for line {} of {:?}", unique, place.line, lines);
            // Sent again, it replaces that place and the lines around it.
            let edited = edit(base.as_bytes(), &[once(&unique)]).unwrap();
            let first = edited.applied[0].lines[0];
            prop_assert!((first..=first + extra).contains(&place.line));
        }
    }

    #[test]
    fn the_text_of_a_place_among_carriage_returns_applies_there(
        lines in vec(select(vec!["a", "a\r", "go", "go\r", "\rgo", "\r"]), 2..12),
        endings in vec(select(vec!["\n", "\r\n"]), 12),
    ) {
        let base: String = lines.iter().zip(&endings).flat_map(|(line, ending)| [*line, ending]).collect();
        let Err(refused) = edit(base.as_bytes(), &[once("go")]) else { return Ok(()) };
        let Detail::Matches(places) = refused.detail else { return Ok(()) };
        for place in places.shown {
            let Some(unique) = place.unique else { continue };
            let edited = edit(base.as_bytes(), &[once(&unique)]);
            let edited = edited.map_err(|refused| TestCaseError::fail(format!("{unique:?}: {}", refused.message)))?;
            let first = edited.applied[0].lines[0];
            prop_assert!((first..=first + unique.matches('\n').count()).contains(&place.line), "{unique:?} of {base:?}");
        }
    }
}
