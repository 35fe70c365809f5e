use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::error::ErrorKind;
use crate::request::edit::{Anchor, Count, Edit, Matching};
use crate::text::{MatchKind, edit};

fn tolerant(old: &str, new: &str, count: Count) -> Edit {
    let anchor = Anchor::Text { text: old.into(), count, matching: Matching::Tolerant };
    Edit { anchor, replacement: new.into() }
}

/// Base, old text, new text, and the expected result.
type Case = (&'static str, &'static str, &'static str, &'static str, MatchKind);

#[track_caller]
fn check(cases: &[Case]) {
    for (base, old, new, expected, kind) in cases {
        let edited = edit(base.as_bytes(), &[tolerant(old, new, Count::Once)]);
        let edited = edited.unwrap_or_else(|refused| panic!("{base:?} {old:?}: {}", refused.message));
        let result = String::from_utf8(edited.splices.apply(base.as_bytes())).unwrap();
        assert_eq!((result.as_str(), edited.applied[0].match_kind), (*expected, *kind), "{base:?} {old:?} {new:?}");
    }
}

#[track_caller]
fn is_refused(base: &str, old: &str, new: &str, kind: ErrorKind) {
    let refused = edit(base.as_bytes(), &[tolerant(old, new, Count::Once)]).unwrap_err();
    assert_eq!(refused.kind, kind, "{base:?} {old:?}: {}", refused.message);
}

#[test]
fn white_space_at_the_ends_of_lines_is_ignored() {
    use MatchKind::{Exact, TrailingSpace};
    check(&[
        ("a\nb\n", "a\nb\n", "x\n", "x\n", Exact),
        ("a  \nb\nc\n", "a\nb\n", "x\n", "x\nc\n", TrailingSpace),
        ("a\nb\nc\n", "a \t\nb\n", "x\n", "x\nc\n", TrailingSpace),
        // The range ends where the anchor does: blanks that the anchor lacks are left.
        ("a  \nb  \nc\n", "a\nb", "x", "x  \nc\n", TrailingSpace),
        ("a  \nb  \nc\n", "a\nb ", "x", "x\nc\n", TrailingSpace),
        ("f(a) \n\t\n  g\n", "f(a)\n\n  g", "f()\n\n  h", "f()\n\t\n  h\n", TrailingSpace),
        // A line that is written alike in both keeps every byte.
        ("f(a) \n\t\n  g\n", "f(a)\n\n  g", "f(a)\n\n  h", "f(a) \n\t\n  h\n", TrailingSpace),
        ("a \nb\nc \n", "a\nb\nc\n", "a\nx\ny\nc\n", "a \nx\ny\nc \n", TrailingSpace),
        // So do lines that the anchor writes alike although they differ, if there are as many.
        ("a\na  \nb \n", "a\na\nb\n", "a\nx\na\nb\n", "a\nx\na  \nb \n", TrailingSpace),
        ("f \n\t\ng\n  \nh\n", "f\n\ng\n\nh\n", "f\n\ng\n\ni\n", "f \n\t\ng\n  \ni\n", TrailingSpace),
        // From the middle of a line to the middle of another.
        ("let x = f( \n  1);\n", "f(\n  1", "g(\n  2", "let x = g(\n  2);\n", TrailingSpace),
        ("one \n    two\n", "one\n    ", "1\n    ", "1\n    two\n", TrailingSpace),
        ("a \r\nb\r\nc\r\n", "a\nb\n", "x\ny\n", "x\r\ny\r\nc\r\n", TrailingSpace),
        ("a \r\nb\nc\n", "a\nb\n", "x\ny\n", "x\r\ny\nc\n", TrailingSpace),
        // Blanks at the end of an anchor end its line.
        ("a\nb\n", "a  ", "a  \nx", "a\nx\nb\n", TrailingSpace),
        ("a\t\nb\n", "a  ", "x\na  \ny  ", "x\na\t\ny  \nb\n", TrailingSpace),
        ("a\nb\nc\n", "a\nb  ", "a\nb  \n", "a\nb\n\nc\n", TrailingSpace),
        ("q\na\n", "\na  ", "\nb", "q\nb\n", TrailingSpace),
    ]);
    is_refused("a \nb\na\t\nb\n", "a\nb\n", "x\n", ErrorKind::AmbiguousMatch);
    // The end of a line, or an empty one, before a line of another indentation.
    is_refused("a\nb\t\n\n    b\t\n", "\nb\n", "\n", ErrorKind::AmbiguousMatch);
    is_refused("\n\t\t\tb\nb\n", "\n        b\n", "\n", ErrorKind::AmbiguousMatch);
    is_refused("\n    b\t\nc \nb\t\n", " \nb \n", "\n", ErrorKind::AmbiguousMatch);
    is_refused("a\n  b\n\n    b\n  \n", "\n  b\n  \n", "\n  c\n  \n", ErrorKind::AmbiguousMatch);
    // One line of two stays: nothing shows which.
    is_refused("a\na  \nb \n", "a\na\nb\n", "x\na\nb\n", ErrorKind::MatchNotFound);
    is_refused("f \n\t\ng\n  \nh\n", "f\n\ng\n\nh\n", "f\n\nh\n", ErrorKind::MatchNotFound);
    is_refused("a b\n", "a \n", "x\n", ErrorKind::MatchNotFound);
}

#[test]
fn a_replacement_in_the_indentation_of_its_anchor_is_shifted() {
    use MatchKind::Indentation;
    check(&[
        ("  if x:\n    y()\n", "if x:\n  y()\n", "if x:\n  z()\n  w()\n", "  if x:\n    z()\n    w()\n", Indentation),
        ("if x:\n  y()\n", "    if x:\n      y()\n", "    if z:\n      y()\n", "if z:\n  y()\n", Indentation),
        ("\t\tf(\n\t\t\t1);\n", "f(\n\t1);", "f(\n\t2,\n\n\t3);", "\t\tf(\n\t\t\t2,\n\n\t\t\t3);\n", Indentation),
        // Tabs in the file, spaces in the anchor, and the reverse.
        (
            "\tif x {\n\t\ty\n\t}\n",
            "    if x {\n        y\n    }\n",
            "    if x {\n        z\n    }\n",
            "\tif x {\n\t\tz\n\t}\n",
            Indentation,
        ),
        ("  a {\n    b\n  }\n", "\ta {\n\t\tb\n\t}\n", "\ta {\n\t\t\tc\n\t}\n", "  a {\n      c\n  }\n", Indentation),
        // Then the kind of blanks decides.
        ("\tx = 1\n", "    x = 1", "    x = 2\n    y = 3", "\tx = 2\n\ty = 3\n", Indentation),
        // Blanks short of a whole step stay.
        ("g\n\tf(a,\n", "g\n    f(a,\n", "g\n    f(a,\n      b,\n", "g\n\tf(a,\n\t  b,\n", Indentation),
        // Blank lines have no indentation, and white space at the ends is ignored as well.
        ("    a\n\n    b  \n", "a\n\nb\n", "c\n\nb\n", "    c\n\n    b  \n", Indentation),
        ("  a\r\n  b\r\n", "a\nb\n", "a\nd\n", "  a\r\n  d\r\n", Indentation),
        ("x\n  a\n    b\n", "\na\n  b\n", "\nc\n  b\n", "x\n  c\n    b\n", Indentation),
        ("    a\n    b\n", "a\nb\n", "", "", Indentation),
        ("    a\n    b\n    c\n", "a\nb\nc\n", "a\nc\n", "    a\n    c\n", Indentation),
    ]);
    // Two lines shifted by different amounts do not match.
    is_refused("  a\n      b\n", "a\n  b\n", "c\n", ErrorKind::MatchNotFound);
    is_refused("\t a\n", "   a\n", "c\n", ErrorKind::MatchNotFound);
    is_refused("  a\n  b\nx\n   a\n   b\n", "a\nb\n", "c\n", ErrorKind::AmbiguousMatch);
}

#[test]
fn a_replacement_in_the_indentation_of_the_file_is_taken_as_it_is() {
    use MatchKind::Indentation;
    check(&[
        (
            "    if x:\n        y()\n",
            "if x:\n    y()\n",
            "    if x:\n        z()\n",
            "    if x:\n        z()\n",
            Indentation,
        ),
        ("a\nb\n", "    a\n    b\n", "c\nb\n", "c\nb\n", Indentation),
        ("\tx = 1\n", "    x = 1", "\tx = 2", "\tx = 2\n", Indentation),
        ("\ta\n\tb\n", "    a\n    b\n", "\ta\n\tc\n", "\ta\n\tc\n", Indentation),
    ]);
}

#[test]
fn a_replacement_of_which_nothing_tells_the_indentation_is_refused() {
    for (base, old, new) in [
        // No line is in both.
        ("    a\n    b\n", "a\nb\n", "c\nd\n"),
        ("    a\n    b\n", "a\nb\n", "    c\n    d\n"),
        ("a\nb\n", "  a\n  b\n", " c\n"),
        // Only the indentation changes.
        ("    a\n    b\n", "a\nb\n", "    a\n    b\n"),
        ("    a\n    b\n", "a\nb\n", "        a\n        b\n"),
        // Lines are put into a block, or taken out of one: they disagree with the outermost line.
        ("    a()\n    b()\n", "a()\nb()\n", "if x:\n    a()\n    b()\n"),
        ("    if x:\n        a()\n", "if x:\n    a()\n", "    a()\n"),
        // Two lines disagree.
        ("    a\n    b\n    c\n", "a\nb\nc\n", "a\nx\n    c\n"),
        // Tabs and spaces in the new lines.
        ("\ta\n", "    a\n", "    b\n\tc\n"),
    ] {
        is_refused(base, old, new, ErrorKind::MatchNotFound);
    }
}

#[test]
fn punctuation_that_looks_the_same_matches() {
    use MatchKind::LookAlikes;
    check(&[
        ("say(“it’s”)\n", "say(\"it's\")", "say(no)", "say(no)\n", LookAlikes),
        ("a\nsay(“it’s”)\nb\n", "a\nsay(\"it's\")\nb", "c\nsay(\"it's\")\nb", "c\nsay(“it’s”)\nb\n", LookAlikes),
        ("x = 'a' - b\n", "‘a’ – b", "c", "x = c\n", LookAlikes),
        ("a\u{a0}b\n", "a b", "c", "c\n", LookAlikes),
        ("a b\n", "a\u{a0}b", "c", "c\n", LookAlikes),
        ("wait…\n", "wait...", "go", "go\n", LookAlikes),
        ("a\u{200b}b c\n", "ab", "x", "x c\n", LookAlikes),
        ("    “a” \n    b\n", "\"a\"\nb\n", "c\nb\n", "    c\n    b\n", LookAlikes),
        ("\u{a0}\u{a0}a\n", "  a\n", "  b\n", "  b\n", LookAlikes),
        ("f(“a”,  \n  b)\r\n", "\"a\",\n  b", "c,\n  d", "f(c,\n  d)\r\n", LookAlikes),
        ("say(“a”) – b\n", "say(\"a\") - b", "say(a) + b", "say(a) + b\n", LookAlikes),
        ("é “a”\n", "é \"a\"", "é b", "é b\n", LookAlikes),
    ]);
    is_refused("“a”\n‘“a”’\n", "\"a\"", "b", ErrorKind::AmbiguousMatch);
    // Not half of a character that stands for three.
    is_refused("wait…\n", "wait..", "go", ErrorKind::MatchNotFound);
    // Nothing shows whether the file's spelling is meant, or that of the anchor.
    is_refused("say(“it’s”)\n", "say(\"it's\")", "say(\"no\")", ErrorKind::MatchNotFound);
    is_refused("say(“it’s”)\n", "say(\"it's\")", "say(“no”)", ErrorKind::MatchNotFound);
    // A letter is no look-alike of another letter.
    is_refused("сat\n", "cat", "dog", ErrorKind::MatchNotFound);
}

#[test]
fn each_step_finds_as_many_as_are_asked_for() {
    let base = "  a\n  b\n a\n b\nx\n";
    let edited = edit(base.as_bytes(), &[tolerant("a\nb\n", "a\nc\n", Count::All)]).unwrap();
    assert_eq!(edited.splices.apply(base.as_bytes()), b"  a\n  c\n a\n c\nx\n");
    assert_eq!((edited.applied[0].replaced, edited.applied[0].lines.as_slice()), (2, &[1, 3][..]));
    let refused = edit(base.as_bytes(), &[tolerant("a\nb\n", "c\n", Count::Exactly(3))]).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::MatchCountMismatch);
    // The first step that finds something is the last, even if a later one would find the number wanted.
    is_refused("a \nb\na \nb\n  a\n  b\n", "a\nb\n", "c\n", ErrorKind::AmbiguousMatch);
}

#[test]
fn many_matches_in_one_long_line_take_no_more_than_their_share() {
    let base = "“a” ".repeat(200_000);
    let started = std::time::Instant::now();
    let edited = edit(base.as_bytes(), &[tolerant("\"a\"", "b", Count::All)]).unwrap();
    assert_eq!(edited.applied[0].replaced, 200_000);
    assert_eq!(edited.splices.apply(base.as_bytes()), "b ".repeat(200_000).as_bytes());
    // It took hours before.
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}

proptest! {
    #[test]
    fn nothing_outside_the_matched_region_changes(
        before in vec(select(vec!["x", " ", "\t", "\n", "\r\n", "“", "é"]), 0..12),
        lines in vec(select(vec!["a", "b(", "“q”", "", "it's", "c – d"]), 1..4),
        written in vec((select(vec!["", "  ", "\t"]), select(vec!["", " ", "\t\t"]), any::<bool>()), 4),
        shift in select(vec!["", "  ", "\t", "    "]),
        after in vec(select(vec!["x", " ", "\t", "\n", "\r\n", "”", "é"]), 0..12),
    ) {
        let before = before.concat();
        let after = after.concat();
        let ascii = |line: &str| line.replace(['“', '”'], "\"").replace('–', "-");
        let mut region = String::new();
        let mut anchor = String::new();
        for (line, (indentation, trailing, crlf)) in lines.iter().zip(&written) {
            let ending = if *crlf { "\r\n" } else { "\n" };
            region.extend([shift, *indentation, *line, *trailing, ending]);
            anchor.extend([*indentation, &ascii(line), "\n"]);
        }
        let base = format!("{before}{region}{after}");
        let Ok(edited) = edit(base.as_bytes(), &[tolerant(&anchor, "NEW\n", Count::Once)]) else { return Ok(()) };
        let new = String::from_utf8(edited.splices.apply(base.as_bytes())).unwrap();
        // Whatever region was found, the text before and after it is unchanged to the byte.
        let (head, tail) = new.split_once("NEW").unwrap();
        let tail = tail.strip_prefix("\r\n").or(tail.strip_prefix('\n')).unwrap();
        let head = head.trim_end_matches([' ', '\t']);
        prop_assert!(base.starts_with(head), "{head:?}");
        prop_assert!(base.ends_with(tail), "{tail:?}");
        let gone = &base[head.len()..base.len() - tail.len()];
        let bare = |text: &str| ascii(text).replace([' ', '\t', '\r'], "");
        prop_assert_eq!(bare(gone), bare(&anchor), "what went is what was asked for");
    }
}
