//! Heads of blocks in various languages: a place after another head is not in the block of the first.

use super::{beneath, run};
use crate::error::ErrorKind;

const NOT_THERE: Result<String, ErrorKind> = Err(ErrorKind::MatchNotFound);
const TWO: Result<String, ErrorKind> = Err(ErrorKind::AmbiguousMatch);

/// Two heads, the text between their blocks, and the end of the second. Blocks hold one line each, indented by two.
const PAIRS: [(&str, &str, &str, &str); 58] = [
    // After the end of the first, with a comma.
    ("\"a\": {", "},\n", "\"b\": {", "}\n"),
    ("a: [", "],\n", "b: [", "]\n"),
    ("a() {", "},\n", "b() {", "},\n"),
    ("A { x } => {", "},\n", "B { x } => {", "},\n"),
    ("a = {", "},\n", "b = {", "},\n"),
    ("a(", "),\n", "b(", ")\n"),
    (".a {", "}\n", ".b,\n.c {", "}\n"),
    ("struct A {", "};\n", "int b(int c,\n      int d) {", "}\n"),
    ("type A struct {", "}\n", "func b(c int,\n    d int) {", "}\n"),
    ("fun a() {", "}\n\n", "val b =", ""),
    ("function a() {", "}\n", "const b = () =>", ""),
    // With text after the sign.
    ("void a(void) {", "}\n\n", "int b(void) { /* c */", "}\n"),
    ("void a(void) { // c", "}\n\n", "int b(void) { // c", "}\n"),
    ("impl A {", "}\n\n", "fn b() { // c", "}\n"),
    ("func a() { // c", "}\n\n", "type B struct { // c", "}\n"),
    ("a() {", "}\n\n", "function b { # c", "}\n"),
    ("class A:", "\n", "def b():  # noqa", ""),
    ("class A:  # noqa", "\n", "def b():", ""),
    ("def a():", "\n", "async def b():  # noqa", ""),
    ("class A:", "", "def b(c,\n      d):", ""),
    ("class A:", "", "def b(\n    c,\n):", ""),
    ("class A:", "", "with b as c, \\\n     d:", ""),
    ("class A:", "", "with (\n    b as c,\n):", ""),
    ("# helper\ndef a():", "\n", "def b():", ""),
    ("a:", "", "b: # c", ""),
    ("a:", "", "b: &b", ""),
    ("a:", "", "b: |", ""),
    ("a: # c", "", "b:", ""),
    ("a: &a", "", "b: *a", ""),
    ("a: build", "\n", "b: build", ""),
    ("a:", "\n", "b: build", ""),
    ("a: build", "\n", "b:", ""),
    ("- a: 1", "", "- b: 1", ""),
    ("[a]", "\n", "[b] # c", ""),
    ("[a] # c", "\n", "[b]", ""),
    ("[a]", "\n", "[b \"c\"] ; d", ""),
    ("[a]", "\n", "[b];c", ""),
    ("[[a]]", "\n", "[[b]] # c", ""),
    ("## a", "", "## b", ""),
    ("## a", "\n", "# b", ""),
    // The brace on a line of its own.
    ("void a()\n{", "}\n\n", "int b()\n{", "}\n"),
    ("class A\n{", "};\n\n", "template <class T>\nint b(int c,\n      int d)\n{", "}\n"),
    ("if (a)\n{", "}\n", "while (b)\n{", "}\n"),
    ("case a: {", "}\n", "case b: {", "}\n"),
    ("@interface a {", "}\n", "- (void)b {", "}\n"),
    ("a {", "}\n", "@media b {", "}\n"),
    // Without a sign.
    ("class A", "end\n\n", "module B", "end\n"),
    ("def a", "end\n\n", "private def b(c)", "end\n"),
    ("function a()", "end\n\n", "local function b()", "end\n"),
    ("if a; then", "fi\n", "for b in c; do", "done\n"),
    ("a)", "", "b)", ""),
    ("<a>", "</a>\n", "<b>", "</b>\n"),
    ("<a>", "</a>\n", "<!-- c -->\n<b>", "</b>\n"),
    ("CREATE TABLE a (", ");\n", "INSERT INTO b VALUES", ";\n"),
    ("SELECT a", ";\n", "INSERT INTO b VALUES", ";\n"),
    // Underlined.
    ("1.2 (2020)\n----------\n", "\n", "1.1 (2019)\n----------\n", ""),
    ("a\n====\n", "\n", "b\n====\n", ""),
    ("a\n----\n", "\n", "b\n====\n", ""),
];

/// The contents of two blocks: `own` of the header's, `other` of the next.
fn blocks((one, close, two, end): (&str, &str, &str, &str), own: &str, other: &str) -> String {
    format!("{one}\n{own}{close}{two}\n{other}{end}")
}

/// The same, indented deeper.
fn indented(text: &str) -> String {
    text.split_inclusive('\n').map(|line| if line == "\n" { line.to_owned() } else { format!("  {line}") }).collect()
}

/// The place found beneath the first head if the blocks contain these lines.
fn found(
    pair: (&str, &str, &str, &str),
    (own, other): (&str, &str),
    is_deep: bool,
) -> (String, Result<String, ErrorKind>) {
    let deepen = |text: &str| if is_deep { indented(text) } else { text.to_owned() };
    let base = deepen(&blocks(pair, own, other));
    let hunk = format!("-{}+{}", deepen("  same\n"), deepen("  new\n"));
    (base.clone(), run(&base, [beneath(&[pair.0.lines().next().unwrap()], &hunk)]))
}

#[test]
fn the_next_head_ends_a_block() {
    for (pair, is_deep) in PAIRS.into_iter().flat_map(|pair| [(pair, false), (pair, true)]) {
        let (base, got) = found(pair, ("  own\n", "  same\n"), is_deep);
        assert_eq!(got, NOT_THERE, "{base}");
        for other in ["  other\n", "  same\n"] {
            let (base, got) = found(pair, ("  same\n", other), is_deep);
            assert_eq!(got, Ok(base.replacen("  same", "  new", 1)), "{base}");
        }
        let (base, got) = found(pair, ("  same\n  own\n  same\n", "  other\n"), is_deep);
        assert_eq!(got, TWO, "{base}");
    }
}

/// Lines of a function that look like the start of a string.
const NO_STRINGS: [&str; 7] = [
    "  n = 1<<PAGE_SHIFT;\n",
    "  n = 1 << PAGE_SHIFT;\n",
    "  b(); /* 5\" disk */\n",
    "  s.replace(/\"/g, 1);\n",
    "  c = '\"'; // don't\n",
    "  // the ` key\n",
    "  it's(); /* '\" */\n",
];

#[test]
fn text_that_looks_like_a_string_hides_no_head() {
    for line in NO_STRINGS {
        for pair in [("void a() {", "}\n\n", "int b() {", "}\n"), ("void a()\n{", "}\n\n", "int b()\n{", "}\n")] {
            let own = format!("  own\n{line}");
            for own in [own.clone(), format!("{own}}}\n\nlong c() {{\n  c();\n")] {
                let (base, got) = found(pair, (&own, "  same\n"), false);
                assert_eq!(got, NOT_THERE, "{base}");
            }
            let (base, got) = found(pair, (&format!("  same\n{line}"), "  same\n"), false);
            assert_eq!(got, Ok(base.replacen("  same", "  new", 1)), "{base}");
            let (base, got) = found(pair, (&format!("{line}  same\n"), "  same\n"), false);
            assert_eq!(got, Ok(base.replacen("  same", "  new", 1)), "{base}");
        }
    }
}

#[test]
fn a_place_that_begins_with_the_brace_of_the_next_block_is_not_in_the_first() {
    let base = "void a()\n{\n  own\n}\n\nint b()\n{\n  same\n}\n";
    assert_eq!(run(base, [beneath(&["void a()"], " {\n-  same\n+  new\n")]), NOT_THERE);
    assert_eq!(run(base, [beneath(&["int b()"], " {\n-  same\n+  new\n")]), Ok(base.replace("same", "new")));
}

#[test]
fn a_label_ends_no_block_whose_brace_has_a_comment_behind_it() {
    let base = "void a() { // c\n  same\nout:\n  same\n}\n";
    assert_eq!(run(base, [beneath(&["void a() { // c"], "-  same\n+  new\n")]), TWO);
}

#[test]
fn what_stands_between_fences_is_no_heading() {
    for fence in ["```", "~~~"] {
        let base = format!("# a\n\nsame\n\n{fence}sh\n# b\n{fence}\n\nsame\n\n# c\n");
        assert_eq!(run(&base, [beneath(&["# a"], "-same\n+new\n")]), TWO, "{base}");
        let base = base.replacen("same", "own", 1);
        assert_eq!(run(&base, [beneath(&["# a"], "-same\n+new\n")]), Ok(base.replace("same", "new")), "{base}");
    }
}

/// A header, a file, and a line of the file in another block than the header's.
const FOREIGN: [(&str, &str, &str); 20] = [
    // A continuation line at the end of the block.
    ("ca:", "j:\n  ca:\n    - run: |\n        b \\\n          --t\n\n  cb:\n    name: B\n", "    name: B"),
    ("a:", "a:\n\tb \\\n\t  --c\n\nd: a\n\tx\n", "\tx"),
    ("build:", "build:\n  b \\\n  --c\ntest:\n  x\n", "  x"),
    // The closing sign is as deep as the content of the block.
    ("'a': {", "S = {\n  'a': {\n    'x': 1,\n    },\n  'b': {\n    'z': 2,\n    },\n}\n", "    'z': 2,"),
    ("struct A {", "struct A {\n    int v; };\n\nvoid g() {\n    x();\n}\n", "    x();"),
    // A word closes it.
    ("class E < F", "module M\n  class E < F\n  end\n\n  B = 2\n\n  def z\n    q\n  end\nend\n", "  B = 2"),
    ("class E < F", "module M\n  class E < F\n  end\n\n  B = 2\n\n  def z\n    q\n  end\nend\n", "    q"),
    ("if not a then", "function f()\n  if not a then\n    b\n  end\n\n  c = d\nend\n\nadd()\n", "  c = d"),
    ("if not a then", "function f()\n  if not a then\n    b\n  end\n\n  c = d\nend\n\nadd()\n", "add()"),
    ("if a; then", "if a; then\n  b\nfi\n\nfoo()\n{\n  c\n}\n", "  c"),
    ("if(A)", "if(A)\n  b()\nendif()\nc()\n", "c()"),
    ("IF a THEN", "IF a THEN\n  b;\nEND IF;\nc;\n", "c;"),
    ("<a>", "<a>\n<b>v</b>\n</a>\n<c>x</c>\n", "<c>x</c>"),
    ("case $a in", "case $a in\nb)\n  v\n  ;;\nesac\nif c; then\n  x\nfi\n", "  x"),
    (
        "if (a == 0)",
        "    if (a == 0)\n        v;\n    b = c;\n    do {\n        x();\n    } while (d);\n",
        "        x();",
    ),
    ("array $a = [", "  array $a = [\n    v,\n  ];\n\n  public function b()\n  {\n    x\n  }\n", "    x"),
    // A selector, not a comment.
    ("#c.d {", "#c.d {\n  v: 1;\n}\n\n#e {\n  x: 1;\n}\n", "  x: 1;"),
    // A statement of several lines.
    ("k = [", "[a]\nk = [\n  \"v\",\n]\nl = 1\n\n[b]\nx = 1\n", "x = 1"),
    ("return f(", "def f(a):\n  if a:\n    return f(\n      1)\n  elif b:\n    v\n  w\n", "  w"),
    ("return f(", "def f(a):\n  if a:\n    return f(\n      1)\n  elif b:\n    v\n  w\n", "    v"),
];

#[test]
fn a_line_of_another_block_is_refused() {
    for (header, base, line) in FOREIGN {
        assert_eq!(
            run(base, [beneath(&[header], &format!("-{line}\n+new\n"))]),
            NOT_THERE,
            "{line} beneath {header} in\n{base}"
        );
    }
}

/// A header, a file, and a line of the header's own block.
const OWN: [(&str, &str, &str); 8] = [
    ("const T = ({", "const T = ({\n  a,\n  b,\n}) => {\n  x\n}\n", "  x"),
    ("function T({", "function T({\n  a,\n}: {\n  a: string,\n}) {\n  x\n}\n", "  x"),
    ("with a as b, \\", "with a as b, \\\n     c:\n    x\n", "    x"),
    ("void f() {", "void f() {\n    if (a) {\n        b(\"{\");\n    }\nout:\n    x();\n}\n", "    x();"),
    ("switch (a) {", "switch (a) {\ncase 1:\n    v();\ncase 2:\n    x();\n}\n", "    x();"),
    ("if a then", "if a then\n  v\nelse\n  x\nend\n", "  x"),
    ("endpoint = a", "endpoint = a\nendpoints = b\nx = 1\n", "x = 1"),
    ("int a;", "void f() {\n    int a;\n    v();\nout:\n    x();\n}\n", "    x();"),
];

#[test]
fn a_line_of_the_block_is_found() {
    for (header, base, line) in OWN {
        let got = run(base, [beneath(&[header], &format!("-{line}\n+new\n"))]);
        assert_eq!(got, Ok(base.replacen(line, "new", 1)), "{line} beneath {header} in\n{base}");
    }
}

#[test]
fn a_tab_ends_eight_columns() {
    let base = "  while (c)\n    switch (d)\n      {\n      case 1:\n\tsame;\n      case 2:\n\tsame;\n      }\n";
    assert_eq!(run(base, [beneath(&["while (c)"], "-\tsame;\n+\tnew;\n")]), TWO);
}
