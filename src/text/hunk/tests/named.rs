//! Places outside of the block that a header names are refused, however well they fit.

use super::{Hunk, Matching, at, becomes, beneath, hunk, run};
use crate::error::ErrorKind;

const TWO: Result<String, ErrorKind> = Err(ErrorKind::AmbiguousMatch);
const NOT_THERE: Result<String, ErrorKind> = Err(ErrorKind::MatchNotFound);

fn tolerant(hunk: Hunk) -> Hunk {
    Hunk { matching: Matching::Tolerant, ..hunk }
}

#[test]
fn an_exact_place_elsewhere_does_not_beat_a_tolerant_one_in_the_named_block() {
    let change = || tolerant(beneath(&["class A:"], "-        x\n+        y\n"));
    for own in ["        x ", "\t\tx"] {
        let base = format!("class A:\n    def f():\n{own}\nclass B:\n    def f():\n        x\n");
        let got = run(&base, [change()]);
        let is_own = got.as_ref().is_ok_and(|text| text.ends_with("        x\n"));
        assert!(is_own || got == NOT_THERE, "{got:?}");
    }
}

#[test]
fn a_place_in_another_block_is_refused_even_where_it_is_the_only_one() {
    for (one, other, close) in [("class A:", "class B:", ""), ("impl A {", "impl B {", "}\n")] {
        let base = format!("{one}\n    v\n{close}\n{other}\n    x\n{close}");
        assert_eq!(run(&base, [beneath(&[one], "-    x\n+    y\n")]), NOT_THERE, "{base}");
    }
    let base = "class A:\n    def g():\n        x\nclass B:\n    def f():\n        x\n";
    assert_eq!(run(base, [beneath(&["class A:", "def f():"], "-        x\n+        y\n")]), NOT_THERE);
}

#[test]
fn an_outer_header_bounds_the_inner_one() {
    let base = "class A:\n    def f():\n        x\nclass B:\n    def f():\n        x\n";
    let change = |outer| beneath(&[outer, "def f():"], "-        x\n+        y\n");
    becomes(base, [change("class A:")], &base.replacen('x', "y", 1));
    becomes(base, [change("class B:")], &super::second_x(base));
}

#[test]
fn the_lines_of_a_section_are_at_its_own_depth() {
    for (one, other) in [("[a]", "[b]"), ("# A", "# B"), ("## Fixed", "## 1.0")] {
        let base = format!("{one}\n\nk\nx\n\n{other}\n\nx\n");
        becomes(&base, [beneath(&[one], "-x\n+y\n")], &base.replacen("\nx", "\ny", 1));
    }
    let base = "## 2\n\n### Fixed\n\n- k\n- x\n\n## 1\n\n### Fixed\n\n- x\n";
    becomes(base, [beneath(&["## 2", "### Fixed"], "-- x\n+- y\n")], &base.replacen("- x", "- y", 1));
    assert_eq!(run(base, [beneath(&["### Fixed"], "-- x\n+- y\n")]), TWO);
}

#[test]
fn a_line_that_stands_in_its_own_block_names_the_outer_one_too() {
    let base = "impl A\n{\n    fn f()\n    {\n        v\n    }\n\n    x\n}\n\nimpl B\n{\n    x\n}\n";
    let change = || beneath(&["{"], "-    x\n+    y\n");
    assert_eq!(run(base, [change()]), TWO);
    let base = base.replace("B\n{\n    x", "B\n{\n    v");
    becomes(&base, [change()], &base.replace('x', "y"));
    // Among equally deep lines the nearest is meant.
    let base = "fn f()\n{\n    x\n}\n\nfn f()\n{\n    v\n}\n\nmod m {\n    x\n}\n";
    let base = base.replacen('x', "w", 1);
    assert_eq!(run(&base, [beneath(&["fn f()"], "-    x\n+    y\n")]), NOT_THERE);
}

#[test]
fn of_very_many_blocks_of_a_name_none_is_told() {
    let block = |at: usize| format!("fn f() {{\n    {}\n}}\n", if at.is_multiple_of(2) { "x" } else { "v" });
    let base: String = (0..300).map(block).collect();
    assert_eq!(run(&base, [beneath(&["fn f() {"], "-    x\n+    y\n")]), TWO);
}

#[test]
fn a_signature_that_goes_on_ends_no_block() {
    for (name, rest) in
        [("fn f()", "where\n    T: X,\n{\n"), ("F::F(int a)", ": G(a)\n{\n"), ("void f()", "throws E {\n")]
    {
        let base = format!("{name}\n{rest}    x\n}}\n\n{name}\n{{\n    x\n}}\n");
        assert_eq!(run(&base, [beneath(&[name], "-    x\n+    y\n")]), TWO, "{base}");
    }
    let base = "  a:\n    s:\n    - k\n    - x\n  b:\n    s:\n    - x\n";
    becomes(base, [beneath(&["a:", "s:"], "-    - x\n+    - y\n")], &base.replacen('x', "y", 1));
}

#[test]
fn what_a_hunk_put_in_is_no_place_and_none_in_front_beats_a_tolerant_one_behind() {
    let next = |text| Hunk { continues: true, ..tolerant(beneath(&[], text)) };
    let base = "one\ntwo\nfour \n";
    becomes(base, [tolerant(beneath(&[], " one\n+four\n")), next("-four\n+FOUR\n")], "one\nfour\ntwo\nFOUR\n");
    assert_eq!(run("a\nx\nb\ny\na \n", [tolerant(hunk("-b\n+B\n")), next("-a\n+A\n")]), TWO);
}

#[test]
fn the_line_that_is_named_is_tried_with_the_whole_ladder() {
    let base = "q\na\nb \nc\nx\na\nb\nc\n";
    becomes(base, [tolerant(at(2, " a\n-b\n+B\n c\n"))], "q\na\nB\nc\nx\na\nb\nc\n");
    becomes(base, [at(2, " a\n-b\n+B\n c\n")], "q\na\nb \nc\nx\na\nB\nc\n");
}
