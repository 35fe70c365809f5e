use crate::error::ErrorKind;
use crate::request::edit::{Edit, Hunk, HunkLine, Matching, Side};
use crate::text::{MatchKind, edit};

/// A hunk written as in a diff; `$` stands for a missing line break.
fn hunk(text: &str) -> Hunk {
    let lines = text.split_inclusive('\n').map(|line| {
        let side = match line.as_bytes()[0] {
            b'-' => Side::Old,
            b'+' => Side::New,
            _ => Side::Both,
        };
        HunkLine { side, text: line[1..].replace("$\n", "").into() }
    });
    Hunk { lines: lines.collect(), ..Hunk::default() }
}

fn at(line: usize, text: &str) -> Hunk {
    Hunk { line: Some(line), ..hunk(text) }
}

fn beneath(headers: &[&str], text: &str) -> Hunk {
    Hunk { headers: headers.iter().map(|it| it.as_bytes().to_vec()).collect(), loose_end: true, ..hunk(text) }
}

fn run(base: &str, hunks: impl IntoIterator<Item = Hunk>) -> Result<String, ErrorKind> {
    let edits: Vec<Edit> = hunks.into_iter().map(Hunk::into_edit).collect();
    match edit(base.as_bytes(), &edits) {
        Ok(edited) => Ok(String::from_utf8(edited.splices.apply(base.as_bytes())).unwrap()),
        Err(refused) => Err(refused.kind),
    }
}

#[track_caller]
fn becomes(base: &str, hunks: impl IntoIterator<Item = Hunk>, expected: &str) {
    assert_eq!(run(base, hunks).as_deref(), Ok(expected));
}

#[test]
fn the_place_that_is_named_beats_others() {
    becomes("a\nb\na\nb\n", [at(3, " a\n-b\n+c\n")], "a\nb\na\nc\n");
    becomes("a\nb\na\nb\n", [at(1, " a\n-b\n+c\n")], "a\nc\na\nb\n");
    let two = [at(1, "-a\n+x\n+y\n"), Hunk { continues: true, ..at(3, "-a\n+z\n") }];
    becomes("a\nb\na\nb\n", two, "x\ny\nb\nz\nb\n");
}

#[test]
fn elsewhere_the_place_must_be_the_only_one() {
    becomes("new\nnew\na\nb\n", [at(1, " a\n-b\n+c\n")], "new\nnew\na\nc\n");
    assert_eq!(run("n\na\nb\na\nb\n", [at(1, " a\n-b\n+c\n")]), Err(ErrorKind::AmbiguousMatch));
    assert_eq!(run("n\na\nb\n", [Hunk { only_there: true, ..at(1, "-a\n+c\n") }]), Err(ErrorKind::MatchNotFound));
    assert_eq!(run("n\na\nb\n", [Hunk { at_start: true, ..at(1, "-a\n+c\n b\n") }]), Err(ErrorKind::MatchNotFound));
    assert_eq!(run("a\nb\nn\n", [Hunk { at_end: true, ..at(1, " a\n b\n+c\n") }]), Err(ErrorKind::MatchNotFound));
    // After a hunk that was moved, the line number says nothing.
    let moved = [at(1, "-a\n+x\n"), Hunk { continues: true, ..at(3, "-c\n+y\n") }];
    assert_eq!(run("n\na\nc\nb\nc\n", moved), Err(ErrorKind::AmbiguousMatch));
    // Never before the previous hunk, even if it says so.
    let back = [at(1, " a\n-b\n+c\n"), Hunk { continues: true, ..at(1, "-a\n+x\n") }];
    assert_eq!(run("a\nb\n", back), Err(ErrorKind::MatchNotFound));
    // Whole lines only.
    assert_eq!(run("xa\n", [hunk("-a\n+b\n")]), Err(ErrorKind::MatchNotFound));
    assert_eq!(run("ax\n", [hunk("-a$\n+b\n")]), Err(ErrorKind::MatchNotFound));
}

#[test]
fn the_end_of_a_file_is_as_the_patch_says_or_as_it_was() {
    becomes("a\nb", [at(1, " a\n-b$\n+b\n")], "a\nb\n");
    assert_eq!(run("a\nb\n", [at(1, " a\n-b$\n+b\n")]), Err(ErrorKind::MatchNotFound));
    assert_eq!(run("a\nb", [at(1, " a\n-b\n+c\n")]), Err(ErrorKind::MatchNotFound));
    let loose = |text| Hunk { loose_end: true, ..hunk(text) };
    becomes("a\nb", [loose(" a\n-b\n+c\n")], "a\nc");
    becomes("a\nb", [loose(" a\n b\n+c\n")], "a\nb\nc");
    becomes("a\r\nb", [loose(" a\n b\n+c\n+d\n")], "a\r\nb\r\nc\r\nd");
    becomes("a\nb", [loose(" a\n-b\n")], "a\n");
    becomes("", [at(1, "+a\n")], "a\n");
    // A last line without a line break counts as a place like any other.
    for matching in [Matching::Exact, Matching::Tolerant] {
        let twice = |base| run(base, [Hunk { matching, ..loose("-a\n+c\n") }]);
        assert_eq!(twice("a\nb\na"), Err(ErrorKind::AmbiguousMatch), "{matching:?}");
        assert_eq!(twice("a \nb\na\t"), Err([ErrorKind::MatchNotFound, ErrorKind::AmbiguousMatch][matching as usize]));
    }
    let second = Hunk { continues: true, ..loose("-a\n+c\n") };
    becomes("a\nb\na", [loose("-a\n+d\n b\n"), second], "d\nb\nc");
    becomes("a\n\nb\na\n", [loose(" a\n-\n+c\n")], "a\nc\nb\na\n");
    let at_end = Hunk { at_end: true, loose_end: true, ..hunk("+c\n") };
    becomes("a\n", [at_end.clone()], "a\nc\n");
    becomes("a", [at_end], "a\nc");
    assert_eq!(run("a\n", [at(2, "+a\n")]), Err(ErrorKind::AmbiguousMatch), "nothing to hold on to");
}

#[test]
fn line_breaks_are_those_of_the_file_unless_the_patch_is_about_them() {
    becomes("a\r\nb\r\n", [at(1, " a\n-b\n+c\n+d\n")], "a\r\nc\r\nd\r\n");
    becomes("a\nb\n", [at(1, " a\r\n-b\r\n+c\r\n")], "a\nc\n");
    becomes("a\r\nb\n", [at(1, " a\r\n-b\n+b\r\n")], "a\r\nb\r\n");
    assert_eq!(run("a\nb\n", [at(1, " a\r\n-b\n+b\r\n")]), Err(ErrorKind::MatchNotFound));
    // Lines that stay keep their line breaks.
    becomes("a\r\nb\nc\r\n", [at(1, " a\n b\n-c\n+d\n")], "a\r\nb\nd\r\n");
}

/// `base` with a `y` for its second `x`.
fn second_x(base: &str) -> String {
    base.replacen('x', "?", 1).replace('x', "y").replace('?', "x")
}

#[test]
fn headers_lead_to_their_block() {
    let base = "class A\n  def f\n    x\n  end\nend\nclass B\n  def f\n    x\n  end\nend\n";
    let change = "   def f\n-    x\n+    y\n";
    becomes(base, [beneath(&["class B"], change)], &second_x(base));
    becomes(base, [beneath(&["class A"], change)], &base.replacen('x', "y", 1));
    becomes(base, [beneath(&["class B", "  def f"], "-    x\n+    y\n")], &second_x(base));
    assert_eq!(run(base, [beneath(&[], change)]), Err(ErrorKind::AmbiguousMatch));
    assert_eq!(run(base, [beneath(&["def f"], "-    x\n+    y\n")]), Err(ErrorKind::AmbiguousMatch));
    assert_eq!(run(base, [beneath(&["class C"], change)]), Err(ErrorKind::MatchNotFound));
    // The byte-order mark is not part of a line.
    let marked = format!("\u{feff}{}", base.replacen("class A", "class M", 1));
    for header in ["class M", "\u{feff}class M"] {
        becomes(&marked, [beneath(&[header], change)], &marked.replacen('x', "y", 1));
    }
    // A header that an earlier hunk changed still counts: the patch was made for the old file.
    let first = hunk("-class B\n+class C\n+  k\n");
    let under = |headers| Hunk { continues: true, ..beneath(headers, change) };
    let renamed = second_x(base).replace("class B", "class C\n  k");
    for headers in [&["class B"][..], &["class C"], &["class B", "  def f"]] {
        becomes(base, [first.clone(), under(headers)], &renamed);
    }
    let gone = [hunk("-class A\n+class C\n"), Hunk { continues: false, ..under(&["class A"]) }];
    assert_eq!(run(base, gone), Err(ErrorKind::MatchNotFound), "of another section");
    // In order: the second comes after the first.
    let second = Hunk { continues: true, ..beneath(&[], change) };
    becomes(base, [beneath(&["class A"], change), second], &base.replace('x', "y"));
}

#[test]
fn a_tolerant_hunk_keeps_the_lines_that_stay() {
    let tolerant = |text| Hunk { matching: Matching::Tolerant, loose_end: true, ..hunk(text) };
    let base = "\ta  \n\tb\n\tk\n\t“c”\n";
    // A line that is removed and comes back shows the indentation of the new lines; one that is written once does not.
    becomes(base, [tolerant(" a\n-b\n-k\n+x\n+k\n \"c\"\n")], "\ta  \n\tx\n\tk\n\t“c”\n");
    becomes(base, [tolerant(" a\n-b\n-k\n+\tx\n+\tk\n \"c\"\n")], "\ta  \n\tx\n\tk\n\t“c”\n");
    assert_eq!(run(base, [tolerant(" a\n-b\n+x\n k\n")]), Err(ErrorKind::MatchNotFound));
    let twice = |text| Hunk { repeats_context: true, ..tolerant(text) };
    becomes(base, [twice(" a\n-b\n+x\n k\n")], "\ta  \n\tx\n\tk\n\t“c”\n");
    becomes(base, [tolerant(" a\n-b\n k\n")], "\ta  \n\tk\n\t“c”\n");
    let edits = [tolerant(" a\n-b\n+c\n").into_edit()];
    assert_eq!(edit(b"a \nb\n", &edits).unwrap().applied[0].match_kind, MatchKind::TrailingSpace);
    assert_eq!(run("a \nb\na\t\nb\n", [tolerant(" a\n-b\n+c\n")]), Err(ErrorKind::AmbiguousMatch));
}

mod blocks;
mod heads;
mod named;
