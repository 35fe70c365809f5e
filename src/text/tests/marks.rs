//! Byte-order marks: at the start of the file, once, whatever an edit does.

use super::edit;
use crate::error::{ErrorKind, Result};
use crate::request::edit::{Anchor, Count, Edit, Hunk, HunkLine, Matching, Side};

const MARK: &str = "\u{feff}";

fn applied(base: &str, edits: &[Edit]) -> Result<String, ErrorKind> {
    let edited = edit(base.as_bytes(), edits).map_err(|refused| refused.kind)?;
    Ok(String::from_utf8(edited.splices.apply(base.as_bytes())).unwrap())
}

fn hunk(text: &str, matching: Matching) -> Edit {
    let line = |line: &str| HunkLine {
        side: match line.as_bytes()[0] {
            b'+' => Side::New,
            b'-' => Side::Old,
            _ => Side::Both,
        },
        text: line.as_bytes()[1..].to_vec(),
    };
    let lines: Vec<_> = text.split_inclusive('\n').map(line).collect();
    let at_end = lines.iter().all(|line| line.side == Side::New);
    Hunk { lines, matching, loose_end: true, repeats_context: true, at_end, ..Hunk::default() }.into_edit()
}

fn anchored(old: &str, new: &str) -> Edit {
    let anchor = Anchor::Text { text: old.into(), count: Count::Once, matching: Matching::Tolerant };
    Edit { anchor, replacement: new.into() }
}

#[test]
fn a_mark_is_no_part_of_the_lines_of_a_hunk() {
    let base = format!("{MARK}one\ntwo\n");
    for matching in [Matching::Exact, Matching::Tolerant] {
        for (text, after) in [
            ("-one\n-two\n+zero\n+one\n", "zero\none\n"),
            ("-one\n+1\n two\n", "1\ntwo\n"),
            ("+zero\n one\n two\n", "zero\none\ntwo\n"),
            ("-one\n two\n", "two\n"),
            (" one\n-two\n+2\n", "one\n2\n"),
        ] {
            assert_eq!(applied(&base, &[hunk(text, matching)]), Ok(format!("{MARK}{after}")), "{text} {matching:?}");
        }
        // A mark that the patch itself contains is applied as written.
        let gone = hunk("-\u{feff}one\n+one\n two\n", matching);
        assert_eq!(applied(&base, &[gone]), Ok("one\ntwo\n".to_owned()));
        assert_eq!(applied(MARK, &[hunk("+x\n", matching)]), Ok(format!("{MARK}x\n")));
        let numbered = Hunk { line: Some(1), at_start: true, ..as_hunk(hunk("-one\n+1\n two\n", matching)) };
        assert_eq!(applied(&base, &[numbered.into_edit()]), Ok(format!("{MARK}1\ntwo\n")));
        let beneath = Hunk { headers: vec![b"one".to_vec()], ..as_hunk(hunk("-two\n+2\n", matching)) };
        assert_eq!(applied(&base, &[beneath.into_edit()]), Ok(format!("{MARK}one\n2\n")));
    }
}

fn as_hunk(edit: Edit) -> Hunk {
    let Anchor::Hunk(hunk) = edit.anchor else { unreachable!("made of one") };
    *hunk
}

#[test]
fn a_mark_is_not_part_of_a_tolerant_match() {
    let base = format!("{MARK}one\ntwo\n");
    for (old, new, after) in [
        ("  one\n  two", "  zero\n  one\n  two", "zero\none\ntwo\n"),
        ("one \u{a0}\ntwo", "zero\ntwo", "zero\ntwo\n"),
        ("one  \ntwo", "1\ntwo", "1\ntwo\n"),
    ] {
        assert_eq!(applied(&base, &[anchored(old, new)]), Ok(format!("{MARK}{after}")), "{old}");
    }
    assert_eq!(applied(&base, &[anchored("\u{feff}one", "1")]), Ok("1\ntwo\n".to_owned()));
}

#[test]
fn lines_that_stand_twice_count_where_only_the_indentation_changes() {
    let base = "a {\n\t{\n\t\t}\n\t}\n\tx = 1\nb\n";
    let edit = |old: &str, new: &str| anchored(old, new);
    assert_eq!(applied(base, &[edit("\t}\n}\nx = 1", "\t\t}\n\t}\n\tx = 1")]), Err(ErrorKind::MatchNotFound));
    let text = "-\t}\n-}\n-x = 1\n+\t\t}\n+\t}\n+\tx = 1\n";
    assert_eq!(applied(base, &[hunk(text, Matching::Tolerant)]), Err(ErrorKind::MatchNotFound));
}
