use std::convert::Infallible;

use proptest::prelude::*;

use super::*;
use crate::error::ErrorKind;
use crate::request::edit::Count;
use crate::text;

fn edit(old: &str, new: &str, count: Count) -> Edit {
    let anchor = Anchor::Text { text: old.into(), count, matching: Matching::Exact };
    Edit { anchor, replacement: new.into() }
}

/// The excerpt of a content fed in chunks of `chunk` bytes.
fn excerpt(base: &[u8], edits: &[Edit], around: usize, chunk: usize) -> Option<Excerpt> {
    let mut survey = Survey::with(edits, around)?;
    base.chunks(chunk).for_each(|chunk| survey.feed(chunk));
    let read = |range: Range<usize>| Ok::<_, Infallible>(base[range].to_vec());
    let feeds = |range: Range<usize>| Ok(memchr::memchr_iter(b'\n', &base[range]).count());
    survey.excerpt(read, feeds).unwrap()
}

/// A few anchors between stretches without any.
fn content() -> impl Strategy<Value = Vec<u8>> {
    let told = prop::sample::select(vec!["ab", "a", "b", "c", "\n", "\r\n", "ä", "aba\nb", "cc"]);
    let filler = prop::sample::select(vec!["____________________\n", "____________________\r\n", "__________", "\n\n"]);
    let part = prop_oneof![2 => told, 3 => filler];
    prop::collection::vec(part, 0..60).prop_map(|parts| parts.concat().into_bytes())
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let text = |least: usize| {
        let part = prop::sample::select(vec!["a", "b", "c", "ab", "\n", "\r\n", "ba", "_", "ä"]);
        prop::collection::vec(part, least..4).prop_map(|parts| parts.concat())
    };
    let count = prop_oneof![Just(Count::Once), Just(Count::All), (1_usize..4).prop_map(Count::Exactly)];
    prop::collection::vec((text(1), text(0), count).prop_map(|(old, new, count)| edit(&old, &new, count)), 1..7)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, ..ProptestConfig::default() })]

    #[test]
    fn an_excerpt_gives_the_same_edits_as_the_whole_content(
        base in content(), edits in edits(), around in 0_usize..6, chunk in 1_usize..40,
    ) {
        prop_assume!(!base.is_empty());
        let Some(excerpt) = excerpt(&base, &edits, around, chunk) else { return Ok(()) };
        let whole = text::edit(&base, &edits);
        match (excerpt.edit(&edits), whole) {
            (Ok(edited), whole) => prop_assert_eq!(Ok(edited), whole.map_err(|refused| refused.message)),
            (Err(refused), Err(whole)) => prop_assert_eq!((refused.edit, refused.kind), (whole.edit, whole.kind)),
            (Err(refused), Ok(_)) => prop_assert!(false, "refused: {}", refused.message),
        }
    }
}

#[test]
fn it_is_small_and_counts_the_lines_that_it_left_out() {
    let mut base = "line\n".repeat(100_000).into_bytes();
    base.extend_from_slice(b"here\n");
    base.extend("line\n".repeat(100_000).into_bytes());
    base.extend_from_slice(b"there\n");
    let edits = [edit("here\n", "a\nb\n", Count::All), edit("b\n", "c\n", Count::Exactly(2))];
    let excerpt = excerpt(&base, &edits, AROUND, 1 << 16).unwrap();
    assert!(excerpt.base.len() < 4 * (AROUND + 100), "{}", excerpt.base.len());
    let edited = excerpt.edit(&edits).unwrap();
    assert_eq!(edited.applied[0].lines, [100_001, 200_002]);
    assert_eq!(edited.applied[1].lines, [100_002, 200_004]);
    assert_eq!(edited.splices, text::edit(&base, &edits).unwrap().splices);
}

#[test]
fn many_anchors_are_looked_for_at_once() {
    let lines: Vec<String> = (0..5000).map(|n| format!("mark_{n:05} {}\n", "_".repeat(100))).collect();
    let base = lines.concat();
    let edits: Vec<Edit> = (0..50).map(|n| edit(&format!("mark_{:05}", n * 97), "x", Count::Once)).collect();
    let excerpt = excerpt(base.as_bytes(), &edits, 10, 1 << 12).unwrap();
    assert!(excerpt.base.len() < base.len() / 3);
    assert_eq!(excerpt.edit(&edits).unwrap(), text::edit(base.as_bytes(), &edits).unwrap());
}

#[test]
fn what_is_no_text_is_refused_and_what_needs_more_is_left_to_the_whole() {
    let edits = [edit("a", "ö", Count::Once)];
    let refused = |base: &[u8]| excerpt(base, &edits, 0, 3).unwrap().edit(&edits).unwrap_err().kind;
    assert_eq!(refused(b"a \0"), ErrorKind::InvalidEncoding);
    assert_eq!(refused(b"a ____ \xff"), ErrorKind::InvalidEncoding);
    assert_eq!(refused("ö ____ \u{20ac}".as_bytes()), ErrorKind::MatchNotFound);
    assert_eq!(refused(b"a ____ a"), ErrorKind::AmbiguousMatch);

    let large = MOST as u64 + 1;
    assert!(Survey::new(&[edit("\n\n", "x", Count::Once)], large).is_none());
    let anchor = Anchor::Range { range: 0..1, expected: b"a".to_vec() };
    assert!(Survey::new(&[Edit { anchor, replacement: Vec::new() }], large).is_none());
    let many = vec![edit("a", "b", Count::Any); MOST / AROUND];
    assert!(Survey::new(&many, large).is_some());
    assert!(Survey::new(&many, large - 1).is_none(), "what surrounds so many places is everything");
    assert!(Survey::new(&many[..2], large - 1).is_some());
    let lines = [edit("a", "b\nc", Count::Once)];
    assert!(excerpt(b"_______________ a _______________", &lines, 2, 5).is_none(), "no line break in sight");
    assert!(excerpt(b"\r\n___a", &lines, 2, 5).is_none(), "half a line break in sight");
    assert!(excerpt(b"\r\n___a", &lines, 3, 5).is_some());
}
