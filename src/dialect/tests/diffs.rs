//! Diffs that contradict themselves, or of which something would be skipped.

use super::{Format, check, is_malformed};

#[track_caller]
fn bad(patch: &str, words: &str) {
    is_malformed(Format::Unified, patch, words);
}

const HUNK: &str = "@@ -1 +1 @@\n-a\n+b\n";

#[test]
fn names_that_disagree_are_refused() {
    let both = |names: &str, old: &str, new: &str| format!("diff --git {names}\n--- {old}\n+++ {new}\n{HUNK}");
    bad(&both("a/f b/f", "a/sub/f", "b/sub/f"), "`f`, as the `diff --git` line has it, not `a/sub/f`");
    bad(&both("a/f b/f", "a/f", "b/f-blah"), "`f`, as the `diff --git` line has it, not `b/f-blah`");
    bad(&both("a/f b/f", "a/g", "b/f"), "`f`, as the `diff --git` line has it, not `a/g`");
    bad(&both("a/f b/f", "/dev/null", "b/f"), "`new file mode 100644`");
    bad(&both("a/f b/f", "a/f", "/dev/null"), "`deleted file mode 100644`");
    let new = "diff --git a/f b/f\nnew file mode 100644\n";
    bad(&format!("{new}--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+b\n"), "`--- /dev/null`");
    bad(&format!("{new}--- /dev/null\n+++ b/f-blah\n@@ -0,0 +1 @@\n+b\n"), "not `b/f-blah`");
    let deleted = "diff --git a/f b/f\ndeleted file mode 100644\n";
    bad(&format!("{deleted}--- a/f\n+++ b/f\n@@ -1 +0,0 @@\n-a\n"), "`+++ /dev/null`");
    bad(
        "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n--- a/z\n+++ b/z\n@@ -1 +1 @@\n-a\n+b\n",
        "not `a/z`",
    );
    for good in ["a/f b/f\n--- a/f\n+++ b/f", "f f\n--- f\n+++ f", "i/f w/f\n--- i/f\n+++ w/f"] {
        check(Format::Unified, &[("f", "a\n")], &format!("diff --git {good}\n{HUNK}"), &[("f", "b\n")]);
    }
}

#[test]
fn headers_that_contradict_each_other_are_refused() {
    let new = "new file mode 100644\n";
    let copy = "similarity index 100%\ncopy from x\ncopy to y\n";
    let rename = "similarity index 100%\nrename from x\nrename to y\n";
    let deleted = "deleted file mode 100644\n";
    for (one, other) in [(new, copy), (new, rename), (new, deleted), (copy, rename), (deleted, rename)] {
        bad(&format!("diff --git a/x b/y\n{one}{other}"), "one of a new file, a deletion, a copy and a rename");
    }
}

#[test]
fn what_a_header_without_its_hunk_would_pass_over_is_refused() {
    let new = "diff --git a/f b/f\nnew file mode 100644\nindex 0000000..1111111\n";
    bad(&format!("{new}--- /dev/null\n+++ b/f\n+text\n"), "a hunk, `@@ -1,3 +1,3 @@`");
    bad(&format!("{new}+text\n"), "a hunk, `@@ -1,3 +1,3 @@`");
    let rename = "diff --git a/x b/y\nsimilarity index 90%\nrename from x\nrename to y\n";
    bad(&format!("{rename}--- a/x\n+++ b/y\n-a\n+b\n"), "a hunk, `@@ -1,3 +1,3 @@`");
    bad(&format!("{rename}@ -1 +1 @@\n-a\n+b\n"), "a hunk, `@@ -1,3 +1,3 @@`");
    bad("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n-a\n+b\n", "a hunk, `@@ -1,3 +1,3 @@`");
    // The signature of a mail is not a removed line.
    check(Format::Unified, &[("x", "a\n")], &format!("{}-- \n2.47\n", rename.replace("90%", "100%")), &[("y", "a\n")]);
    // An empty line before the names, which git accepts.
    check(Format::Unified, &[], &format!("{new}\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n"), &[("f", "a\n")]);
}

#[test]
fn a_line_that_lost_its_space_does_not_end_a_hunk() {
    let head = "--- a/x\n+++ b/x\n";
    let lost = "-a\n+A\nb\n-c\n+C\n";
    bad(&format!("{head}@@\n{lost}"), "a line that starts with a space, - or +, not `b`");
    bad(&format!("```diff\n{head}@@ ... @@\n{lost}```\n"), "not `b`");
    bad(&format!("```diff\n{head}@@ ... @@\n-a\n+A\n\nb\n+C\n```\n"), "not `b`");
    bad(&format!("{head}@@\n-a\n+A\nb\n"), "not `b`");
    bad(&format!("{head}@@ -1 +1 @@\n{lost}"), "not `b`");
    // Text after a blank line or a fence is prose, unless more of the hunk follows.
    for prose in ["\nThat is it.\n", "\nThat is it:\n1. done\n"] {
        check(Format::Unified, &[("x", "a\n")], &format!("{head}@@\n-a\n+A\n{prose}"), &[("x", "A\n")]);
    }
    bad(&format!("{head}@@\n-a\n+A\n\nb\n-c\n+C\n"), "not `b`");
    check(Format::Unified, &[("x", "a\n")], &format!("```\n{head}@@\n-a\n+A\n```\n- done\n+ more\n"), &[("x", "A\n")]);
    let next = "--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n";
    for between in ["diff -u a/y b/y\n", "Index: y\n=======\n", "Only in a: z\n", "\nThen:\n", "-- \n2.47\n"] {
        let patch = format!("{head}@@ -1 +1 @@\n-a\n+A\n{between}{next}");
        check(Format::Unified, &[("x", "a\n"), ("y", "a\n")], &patch, &[("x", "A\n"), ("y", "b\n")]);
    }
}

#[test]
fn the_names_of_a_plain_diff_are_those_that_git_reads() {
    let made = |new: &str| format!("--- /dev/null\n+++ {new}\n@@ -0,0 +1 @@\n+n\n");
    for time in [" 2020-01-01 10:00:00", "   2020-01-01 10:00:00.5 +0100", "\t2020-01-01 10:00:00", "\t(revision 1)"] {
        check(Format::Unified, &[], &made(&format!("b/new.txt{time}")), &[("new.txt", "n\n")]);
        let gone = format!("--- /dev/null{time}\n+++ b/new.txt{time}\n@@ -0,0 +1 @@\n+n\n");
        check(Format::Unified, &[], &gone, &[("new.txt", "n\n")]);
    }
    // The tab shows that the blank before it is part of the name.
    let blank = format!("--- a/x \t\n+++ b/x \t\n{HUNK}");
    check(Format::Unified, &[("x", "a\n"), ("x ", "a\n")], &blank, &[("x", "a\n"), ("x ", "b\n")]);
    let quoted =
        format!("diff --git \"a/\\303\\251 \" \"b/\\303\\251 \"\n--- \"a/\\303\\251 \"\n+++ \"b/\\303\\251 \"\n{HUNK}");
    check(Format::Unified, &[("é ", "a\n")], &quoted, &[("é ", "b\n")]);
    let tab = "x\ty\t2020-01-01 10:00:00";
    check(Format::Unified, &[("x\ty", "a\n")], &format!("--- a/{tab}\n+++ b/{tab}\n{HUNK}"), &[("x\ty", "b\n")]);
    bad("--- a/x\n+++ b/dev/null\n@@ -1 +0,0 @@\n-a\n", "`/dev/null`");
}

#[test]
fn the_prefix_of_a_name_that_stands_alone_is_that_of_the_others() {
    let (plain, made) = (
        |old: &str, new: &str| format!("--- {old}\n+++ {new}\n{HUNK}"),
        |new: &str| format!("--- /dev/null\n+++ {new}\n@@ -0,0 +1 @@\n+n\n"),
    );
    // If other names have no prefix, it is unknown whether `b` is a folder.
    for patch in [plain("m", "m") + &made("b/new"), made("b/new") + &plain("m", "m")] {
        bad(&patch, "`b/new`");
    }
    bad(&(plain("old/m", "new/m") + &made("b/new")), "`b/new`");
    bad(&(plain("a/m", "b/m") + &made("src/new")), "`src/new`");
    let (before, after) = ([("m", "a\n")], [("m", "b\n"), ("n", "n\n")]);
    for (pair, one) in
        [(("old/m", "new/m"), "new/n"), (("a/m", "b/m"), "b/n"), (("m", "m"), "n"), (("a/m", "b/m"), "n")]
    {
        check(Format::Unified, &before, &(plain(pair.0, pair.1) + &made(one)), &after);
    }
}
