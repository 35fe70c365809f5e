//! Each cause with its suggestion, and anchors that no cause explains.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::contains;
use crate::error::{Detail, ErrorKind};
use crate::error::{Diagnosis, MismatchCause};
use crate::request::edit::{Anchor, Count, Edit, Matching};
use crate::text::edit;

const FILE: &str = "\
use std::fmt;

/// Says “hello” to somebody – politely.
fn greet(name: &str) -> String {
\tlet greeting = format!(\"hello, {name}\\n\");
\tgreeting + \"it\u{a0}ends\"
}

fn main() {
    let list = vec![1, 2, 3];
    for number in list {
        println!(\"{number}\");
    }
}
";

fn once(old: &str, new: &str) -> Edit {
    Edit {
        anchor: Anchor::Text { text: old.into(), count: Count::Once, matching: Matching::Exact },
        replacement: new.into(),
    }
}

fn diagnosis(base: &str, old: &str, new: &str) -> (Diagnosis, String) {
    let refused = edit(base.as_bytes(), &[once(old, new)]).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::MatchNotFound);
    let Detail::NoMatch(diagnosis) = refused.detail else { panic!("{:?}", refused.detail) };
    (*diagnosis, refused.message)
}

/// The suggestion must be the expected one, and must apply when it is sent.
fn check(base: &str, old: &str, cause: MismatchCause, suggestion: &str) {
    let (diagnosis, message) = diagnosis(base, old, "fresh text");
    assert_eq!(diagnosis.cause, Some(cause), "{diagnosis:#?}");
    assert_eq!(diagnosis.suggestion.as_deref(), Some(suggestion));
    edit(base.as_bytes(), &[once(suggestion, "fresh text")]).unwrap();
    assert!(message.starts_with("old_string not found in the file (see line "), "{message}");
    let line = 1 + base[..base.find(suggestion).unwrap()].matches('\n').count();
    assert_eq!(diagnosis.line, line);
}

#[test]
fn a_difference_in_white_space_is_recognised() {
    check(FILE, "let list = vec![1,2,3];", MismatchCause::WhiteSpace, "let list = vec![1, 2, 3];");
    check(FILE, "use std::fmt; \n\n/// Says", MismatchCause::WhiteSpace, "use std::fmt;\n\n/// Says");
    check(FILE, "fn main() {\n  let list", MismatchCause::WhiteSpace, "fn main() {\n    let list");
    let crlf = FILE.replace('\n', "\r\n");
    check(&crlf, "fn main() {\n  let list", MismatchCause::WhiteSpace, "fn main() {\r\n    let list");
}

#[test]
fn a_suggestion_takes_the_indentation_that_the_anchor_brought() {
    check(FILE, "      for number in list {\n", MismatchCause::WhiteSpace, "    for number in list {\n");
    check(FILE, "\tfor number in list {", MismatchCause::TabsAgainstSpaces, "    for number in list {");
}

#[test]
fn tabs_against_spaces_are_recognised() {
    let old = "String {\n    let greeting = format!(";
    check(FILE, old, MismatchCause::TabsAgainstSpaces, "String {\n\tlet greeting = format!(");
}

#[test]
fn look_alikes_are_recognised() {
    check(FILE, "/// Says \"hello\" to", MismatchCause::LookAlike, "/// Says “hello” to");
    check(FILE, "somebody - politely", MismatchCause::LookAlike, "somebody – politely");
    check(FILE, "\"it ends\"", MismatchCause::LookAlike, "\"it\u{a0}ends\"");
    check(FILE, "println!(“{number}”);", MismatchCause::LookAlike, "println!(\"{number}\");");
    check("wait... what", "wait…", MismatchCause::LookAlike, "wait...");
}

#[test]
fn the_characters_that_differ_are_told() {
    let told = |old: &str| {
        let (found, _) = diagnosis(FILE, old, "x");
        let told = found.differences.into_iter().map(|it| format!("{}: {} {}", it.line, it.anchor, it.file));
        told.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(told("somebody - politely"), "3: - \\u{2013}");
    assert_eq!(told("String {\n    let greeting = format!("), "5:      \\t");
    assert_eq!(told("    for numbr in lists {\n"), "11:  e, 11: s ");
    assert_eq!(told("nothing like it, by far"), "");
}

#[test]
fn escapes() {
    check(FILE, "fn main() {\\n    let list", MismatchCause::EscapedText, "fn main() {\n    let list");
    check(FILE, "println!(\\\"{number}\\\");", MismatchCause::EscapedText, "println!(\"{number}\");");
    check(FILE, "hello, {name}\n\");", MismatchCause::EscapedText, "hello, {name}\\n\");");
}

#[test]
fn line_numbers() {
    let expected = "    for number in list {\n        println!(";
    check(FILE, "    11\t    for number in list {\n    12\t        println!(", MismatchCause::LineNumbers, expected);
    check(FILE, "11:    for number in list {\n12:        println!(", MismatchCause::LineNumbers, expected);
    check(FILE, "11:     for number in list {\n12:         println!(", MismatchCause::LineNumbers, expected);
    check(FILE, "11→    for number in list {\n12→        println!(", MismatchCause::LineNumbers, expected);
    check(FILE, " 11 |     for number in list {\n 12 |         println!(", MismatchCause::LineNumbers, expected);
    check(FILE, "1\tuse std::fmt;\n2\n3\t/// Says", MismatchCause::LineNumbers, "use std::fmt;\n\n/// Says");
    // Our own snippets must be recognized, and a different indentation as well.
    let (shown, _) = diagnosis(FILE, "fn main() { nothing", "x");
    check(
        FILE,
        &shown.snippet,
        MismatchCause::LineNumbers,
        "}\n\nfn main() {\n    let list = vec![1, 2, 3];\n    for number in list {\n",
    );
    check(FILE, "5\t    let greeting = format!(", MismatchCause::LineNumbers, "\tlet greeting = format!(");
}

#[test]
fn what_was_put_around_or_in_front_is_recognised() {
    let two = "    for number in list {\n        println!(";
    check(FILE, "     for number in list {\n-        println!(", MismatchCause::DiffMarkers, two);
    check(FILE, "-    for number in list {\n+    for n in list {\n         println!(", MismatchCause::DiffMarkers, two);
    check(FILE, ">     for number in list {\n>         println!(", MismatchCause::Quoted, two);
    check(FILE, "```rust\n    for number in list {\n        println!(\n```", MismatchCause::Wrapped, two);
    check(FILE, "src/a.rs:11:    for number in list {\nsrc/a.rs:12:        println!(", MismatchCause::LineNumbers, two);
    // Damaged inside the fence, too.
    check(FILE, "```\n11:    for number in list {\n12:        println!(\n```", MismatchCause::LineNumbers, two);
}

#[test]
fn other_ways_to_write_a_character_are_recognised() {
    check(FILE, "greet(name: &amp;str) -&gt; String", MismatchCause::HtmlEntities, "greet(name: &str) -> String");
    check(FILE, "greet(name: \\u0026str) -\\u003e String", MismatchCause::EscapedText, "greet(name: &str) -> String");
    check(FILE, "println!('{number}')", MismatchCause::QuoteStyle, "println!(\"{number}\")");
    check("un café noir", "cafe\u{301} noir", MismatchCause::LookAlike, "café noir");
    check("un cafe\u{301} noir", "café noir", MismatchCause::LookAlike, "cafe\u{301} noir");
}

#[test]
fn lines_left_out_are_in_the_suggestion() {
    let all = "    let list = vec![1, 2, 3];\n    for number in list {\n        println!(\"{number}\");\n    }";
    check(FILE, "    let list = vec![1, 2, 3];\n    // ... existing code ...\n    }", MismatchCause::Elided, all);
    check(
        FILE,
        "    let list = vec![1, 2, 3];\n        println!(\"{number}\");\n    }",
        MismatchCause::LinesLeftOut,
        all,
    );
}

#[test]
fn the_nearest_text_is_a_guess_and_no_suggestion() {
    let (found, message) = diagnosis(FILE, "let list = vec![1, 2, 4];", "x");
    assert_eq!((found.cause, found.suggestion), (None, None));
    assert_eq!(found.nearest.as_deref(), Some("let list = vec![1, 2, 3];"));
    assert!(message.contains("(nearest: line 10, 96 % alike)"), "{message}");
    let (found, _) = diagnosis("call(one_1);\ncall(one_2);\n", "call(one_3);", "x");
    assert_eq!(found.nearest, None, "either may be meant");
}

#[test]
fn an_edit_that_was_applied_already_is_recognised() {
    let (found, message) = diagnosis(FILE, "let list = vec![4];", "let list = vec![1, 2, 3];");
    assert_eq!((found.cause, found.line, found.suggestion), (Some(MismatchCause::AlreadyApplied), 10, None));
    assert!(message.contains("new_string is there already"), "{message}");
    // An edit of the formatting that was applied already: the cause is not white space.
    let (found, _) = diagnosis(FILE, "let list = vec![1,2,3];", "let list = vec![1, 2, 3];");
    assert_eq!(found.cause, Some(MismatchCause::AlreadyApplied));
}

#[test]
fn no_cause_is_claimed_without_proof() {
    for (old, new) in [
        ("let list = vec![1, 2, 4];", "x"),
        ("fn absent() -> Option<u8> {\n    None\n}", "}"),
        ("11:    for number in list {\n13:        println!(", ""),
        ("let lists = vec![1, 2, 3];", ""),
        ("zzzz", "\n"),
        ("use st ", "x"),
        (" d::fmt", "x"),
    ] {
        let (found, message) = diagnosis(FILE, old, new);
        assert_eq!((found.cause, found.suggestion), (None, None), "{old:?}");
        assert!(message.contains("read the file again"), "{message}");
    }
}

#[test]
fn the_nearest_region_is_shown() {
    let (found, message) = diagnosis(FILE, "    for numbr in list {\n        print!(\"{number}\");\n    }\n", "x");
    assert_eq!(found.line, 11);
    assert!(found.similarity > 0.9 && found.similarity < 1.0, "{}", found.similarity);
    assert!(found.snippet.contains("    11 |     for number in list {\n"), "{}", found.snippet);
    assert!(
        found.diff.contains("-    for numbr in list {\n-        print!(\"{number}\");\n+    for number in list {\n")
    );
    assert!(message.contains("(nearest: line 11, 9"), "{message}");
    // Too long for samples to find it.
    let base = ["filling\n".repeat(20_000), FILE.into()].concat();
    for half_right in ["numbre in list", "tumber"] {
        let (found, _) = diagnosis(&base, half_right, "x");
        assert_eq!(found.line, 20_011, "{found:?}");
    }
    let (found, _) = diagnosis(FILE, "grteeing_misspelt = greet(nane)", "x");
    assert!((4..=6).contains(&found.line), "{found:?}");
}

#[test]
fn a_suggestion_must_be_the_only_one() {
    let (found, _) = diagnosis("a( 1 );\n\na(1 );\n", "a(1);", "x");
    assert_eq!((found.cause, found.suggestion), (Some(MismatchCause::WhiteSpace), None), "either may be meant");
    let long = format!("start {}", "word ".repeat(1000));
    let (found, _) = diagnosis(&long, &long.replace(' ', "  "), "x");
    assert_eq!((found.cause, found.suggestion), (Some(MismatchCause::WhiteSpace), None), "too long to be repeated");
}

#[test]
fn long_lines_and_long_regions_are_cut() {
    let base: String = (0..60).flat_map(|n| [format!("line {n} "), "é".repeat(500), "\n".into()]).collect();
    let old = base.replace("line 30", "line thirty");
    let (found, _) = diagnosis(&base, &old, "x");
    assert_eq!(found.snippet.lines().count(), 15);
    assert!(found.snippet.lines().all(|line| line.len() < 220 && line.ends_with('…')), "{}", found.snippet);
}

#[test]
fn one_long_line_is_shown_where_it_matters() {
    let base = format!("{}let a = [1,2];{}", "x=1;".repeat(50_000), "y=2;".repeat(50_000));
    let (found, _) = diagnosis(&base, "let a = [1, 2];", "z");
    assert_eq!((found.cause, found.suggestion.as_deref()), (Some(MismatchCause::WhiteSpace), Some("let a = [1,2];")));
    let (found, _) = diagnosis(&base, "let a = [1,3];", "z");
    assert!(found.similarity > 0.8 && found.diff.contains("let a = [1,2];"), "{found:?}");
}

#[test]
fn files_are_told_apart() {
    assert!(contains(b"a\r\nb", b"a\nb"));
    assert!(!contains(b"a\r\nb", b"a b"));
    assert!(!contains(b"a", b""));
}

#[test]
fn an_expected_text_is_compared_with_what_is_there() {
    let range = Edit { anchor: Anchor::Range { range: 4..7, expected: b"a\tb".into() }, replacement: b"x".into() };
    let refused = edit(b"one\na b\n", &[range]).unwrap_err();
    assert!(refused.message.starts_with("the text expected at line 2 (bytes 4..7)"), "{}", refused.message);
    let Detail::NoMatch(found) = refused.detail else { panic!("{:?}", refused.detail) };
    assert_eq!((found.cause, found.line), (Some(MismatchCause::TabsAgainstSpaces), 2));
    assert_eq!(
        found.diff,
        "--- expected\n+++ file\n@@ -1 +1 @@\n-a\tb\n\\ No newline at end of file\n+a b\n\\ No newline at end of file\n"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn every_diagnosis_is_in_bounds(
        base in vec(select(vec!["word", "fn f(", " ", "\t", "\n", "\r\n", "“", "\\n", "12: ", "é", "\u{a0}", "\r"]), 1..40),
        old in vec(select(vec!["word", "fn f(", " ", "\t", "\n", "\r\n", "“", "\\n", "12: ", "\"", "ord", "\r"]), 1..9),
        new in select(vec!["", "word", "f( "]),
    ) {
        let (base, old) = (base.concat(), old.concat());
        let Err(refused) = edit(base.as_bytes(), &[once(&old, new)]) else { return Ok(()) };
        let Detail::NoMatch(found) = refused.detail else { return Ok(()) };
        prop_assert!((0.0..=1.0).contains(&found.similarity), "{}", found.similarity);
        prop_assert!(found.snippet.lines().count() <= 15);
        prop_assert!(found.line <= 1 + base.matches('\n').count());
        if let Some(suggestion) = &found.suggestion {
            prop_assert!(edit(base.as_bytes(), &[once(suggestion, new)]).is_ok(), "{:?} of {:?}", suggestion, found.cause);
        }
    }
}
