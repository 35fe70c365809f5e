//! Tests of the blocks that headers lead to.

use super::{Hunk, becomes, beneath, hunk, run};
use crate::error::ErrorKind;

fn next(hunk: Hunk) -> Hunk {
    Hunk { continues: true, ..hunk }
}

const TWO: Result<String, ErrorKind> = Err(ErrorKind::AmbiguousMatch);
const NOT_THERE: Result<String, ErrorKind> = Err(ErrorKind::MatchNotFound);

#[test]
fn what_a_hunk_adds_ends_no_block_and_the_next_is_behind_it() {
    let base = "void f() {\n    step();\n    x();\n    step();\n}\n";
    let stop = || next(beneath(&["void f() {"], "-    step();\n+    stop();\n"));
    for added in ["#ifdef D\n", "out:\n", "text\n", "}\n", "void f() {\n"] {
        let first = format!("     step();\n+{added}     x();\n");
        let after = format!("void f() {{\n    step();\n{added}    x();\n    stop();\n}}\n");
        becomes(base, [beneath(&["void f() {"], &first), stop()], &after);
    }
    // A removed line still ends the block that it ended.
    let base = "a:\n  x\nb:\n  x\n";
    assert_eq!(run(base, [hunk("-b:\n"), next(beneath(&["a:"], "-  x\n+  y\n"))]), NOT_THERE);
    becomes(base, [hunk("-b:\n"), next(beneath(&["b:"], "-  x\n+  y\n"))], "a:\n  x\n  y\n");
}

#[test]
fn a_block_that_an_earlier_hunk_broke_up_is_still_one() {
    let base = "class A:\n    def f():\n        x\n        y\nclass B:\n    def f():\n        y\n";
    let first = beneath(&["class A:"], "         x\n+    n\n");
    assert_eq!(run(base, [first, next(beneath(&["def f():"], "-        y\n"))]), TWO);
}

#[test]
fn in_front_of_the_hunk_before_a_header_tells_no_place() {
    let base = "def f():\n    x\ndef g():\n    y\ndef h():\n    x\n";
    let change = |header| next(beneath(&[header], "-    x\n+    z\n"));
    let first = || hunk("-    y\n+    w\n");
    assert_eq!(run(base, [first(), change("def f():")]), NOT_THERE);
    becomes(base, [first(), change("def h():")], "def f():\n    x\ndef g():\n    w\ndef h():\n    z\n");
    // The only place in the file is taken, and after that the order says nothing.
    let base = base.replacen('x', "v", 1) + "    y\n";
    let early = || next(beneath(&["def f():"], "-    v\n+    u\n"));
    becomes(&base, [hunk("-    x\n+    w\n"), early()], &base.replace('v', "u").replace('x', "w"));
    let late = [hunk("-    x\n+    w\n"), early(), next(hunk("-    y\n"))];
    assert_eq!(run(&base, late), TWO);
    // Lines removed further on have moved by then.
    let base = "q\na:\n  x\nb:\n  x\n";
    let hunks = [hunk("-b:\n+c:\n"), next(hunk("-q\n+q\n+long line\n")), next(beneath(&["b:"], "-  x\n+  y\n"))];
    becomes(base, hunks, "q\nlong line\na:\n  x\nc:\n  y\n");
}

/// Lines between two places of a block that do not end it.
const WITHIN: [&str; 16] = [
    "#ifdef D\n    b();\n#endif\n",
    "#if D\n    b();\n#else\n    c();\n#endif\n",
    "out:\n",
    "out: b();\n",
    "// if (x) {\n",
    "/* b(); */\n",
    "dbg();\n",
    "if (debug) {\n    b();\n}\n",
    "if (debug)\n{\n    b();\n}\n",
    "    b(\"\nvoid g() {\n}\nvoid h() {\n\");\n",
    "    b(`\n}\nvoid h() {\n`);\n",
    "    b('\"', '''\n}\nvoid h() {\n''');\n",
    "    b(r#\"\n}\nvoid h() {\n\"#); // 5\" disk\n",
    "    b('say \"');\n    b(\"\\\"\n}\nvoid h() {\n\");\n",
    "# 5\" disk\n",
    "\n\n",
];

#[test]
fn two_places_of_a_block_are_ambiguous_whatever_stands_between_them() {
    for (head, close) in [("void f() {", "}"), ("void f()\n{", "}"), ("void f(\n    int a\n) {", "}")] {
        let header = head.lines().next().unwrap();
        for within in WITHIN {
            let base = format!("{head}\n    a();\n{within}    a();\n{close}\nvoid z() {{\n    z();\n}}\n");
            assert_eq!(run(&base, [beneath(&[header], "-    a();\n+    n();\n")]), TWO, "{base}");
            // The next block tells what belongs to the first one.
            let base = format!("{head}\n    k();\n{within}    a();\n{close}\nvoid z() {{\n    a();\n}}\n");
            let change = || beneath(&[header], "-    a();\n+    n();\n");
            assert_eq!(run(&base, [change()]), Ok(base.replacen("    a();", "    n();", 1)), "{base}");
        }
    }
    for within in
        ["# a\n", "'''\nb\n'''\n", "    b(\"\"\"\nUsage of it:\n  c\n\"\"\")\n", "    b(<<EOF)\nd e:\n  c\nEOF\n"]
    {
        let base = format!("def f():\n    a\n{within}    a\ndef g():\n    a\n");
        assert_eq!(run(&base, [beneath(&["def f():"], "-    a\n+    n\n")]), TWO, "{base}");
        let base = base.replacen("    a\n", "    k\n", 1);
        let change = beneath(&["def f():"], "-    a\n+    n\n");
        assert_eq!(run(&base, [change]), Ok(base.replacen("    a\n", "    n\n", 1)), "{base}");
    }
}

#[test]
fn where_a_block_ends_is_not_guessed() {
    let change = |header: &str| beneath(&[header], "-    a\n+    n\n");
    // Nothing opens another block before the second.
    assert_eq!(run("def f\n    a\nend\n    a\n", [change("def f")]), TWO);
    assert_eq!(run("void f() {\n    a\n}\n    a\n}\n", [change("void f() {")]), TWO);
    assert_eq!(run("mod m {\n    a\nfn f() {\n    a\n}\nfn g() {\n}\n}\n", [change("mod m {")]), TWO);
    // Something does.
    for (header, other) in
        [("def f", "def g"), ("k: {", "l: {"), ("k:", "l:"), ("int f()\n{", "void g()\n{"), ("x", "y {")]
    {
        let base = format!("{header}\n    a\n}}\n{other}\n    a\n");
        becomes(&base, [change(header.lines().next().unwrap())], &base.replacen("    a", "    n", 1));
    }
    becomes(
        "  if b {\n    a\n  } else {\n    a\n  }\n",
        [change("if b {")],
        "  if b {\n    n\n  } else {\n    a\n  }\n",
    );
}
