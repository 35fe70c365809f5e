//! Patches that were cut off: what arrived is complete, or nothing of it is applied.

use super::{Format, applied, check, is_malformed, read, tree};
use crate::error::ErrorKind;

#[track_caller]
fn bad(patch: &str, words: &str) {
    is_malformed(Format::Unified, patch, words);
}

#[test]
fn the_last_line_of_a_diff_ends_in_a_line_break() {
    let words = "a line break at the end";
    for hunk in ["@@ -1,2 +1,2 @@\n a\n-b\n+a long n", "@@\n a\n-b\n+a long n"] {
        bad(&format!("--- a/x\n+++ b/x\n{hunk}"), words);
    }
    bad("diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+a", words);
    let rename = "diff --git a/x b/dir/other.txt\nsimilarity index 100%\nrename from x\nrename to dir/ot";
    bad(rename, words);
    bad(&rename.replace("rename", "copy"), words);
    bad("diff --git a/x b/x\nold mode 100644\nnew mode 100755", words);
    let mode = "a mode of git in octal digits, 100644 or 100755";
    for other in ["104755", "1x0644"] {
        bad(&format!("diff --git a/x b/x\nold mode 100644\nnew mode {other}\n"), mode);
    }
    is_malformed(Format::Envelope, "*** Update File: x\n@@\n a\n-b\n+a long n", words);
    is_malformed(Format::Envelope, "*** Add File: x\n+a long n", words);
    is_malformed(Format::Envelope, "*** Delete File: x", words);
    // If the last line is one of the file, the file itself shows that it is complete.
    let context = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\n+A\n b";
    check(Format::Unified, &[("x", "a\nb\n")], context, &[("x", "A\nb\n")]);
    let half = read("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\n+A\n b", Format::Unified);
    assert_eq!(applied(&tree(&[("x", "a\nbb\n")]), &half), Err(ErrorKind::MatchNotFound));
}

#[test]
fn a_hunk_without_counts_does_not_end_in_a_removed_line_at_the_end() {
    let hunk = "--- a/x\n+++ b/x\n@@\n a\n-b\n";
    let words = "a fence around the patch, or ranges like `@@ -1,3 +1,2 @@`";
    bad(hunk, words);
    bad(hunk.trim_end(), "a line break at the end");
    for whole in [
        format!("```\n{hunk}```\n"),
        format!("{hunk}\nThat is it.\n"),
        hunk.replace("@@\n", "@@ -1,2 +1 @@\n"),
        format!("{hunk}@@\n-c\n+C\n"),
    ] {
        let after = if whole.contains('C') { "a\nC\n" } else { "a\nc\n" };
        check(
            Format::Unified,
            &[("x", "a\nb\nc\n")],
            &whole.replace("-1,2 +1 @@\n a\n-b\n", "-1,3 +1,2 @@\n a\n-b\n c\n"),
            &[("x", after)],
        );
    }
}

#[test]
fn a_header_that_tells_of_a_hunk_needs_it() {
    let words = "the hunk of";
    let rename = "diff --git a/x b/y\nsimilarity index 80%\nrename from x\nrename to y\n";
    for tail in ["", "index 1111111..2222222 100644\n", "index 1111111..2222222 100644\n--", "-- \n2.47\n"] {
        bad(&format!("{rename}{tail}"), words);
    }
    bad("diff --git a/x b/x\nold mode 100644\nnew mode 100755\nindex 1111111..2222222\n", words);
    let new = "diff --git a/n b/n\nnew file mode 100644\n";
    for tail in ["index 0000000..ce01362\n--", "index 0000000..ce01362\n"] {
        bad(&format!("{new}{tail}"), words);
    }
    for empty in ["index 0000000..e69de29\n", "index 0000000..e69de29bb2d1\n-- \n2.47\n", "", "\nThat is it.\n"] {
        check(Format::Unified, &[], &format!("{new}{empty}"), &[("n", "")]);
    }
}

#[test]
fn an_answer_that_ends_with_the_start_of_more_is_refused() {
    let block = "x\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n";
    for cut in ["y.py", "y.py\n", "**src/y.py**\n", "y.py\n<<<<", "y.py\n<", "y.py\n```python\n", "y.py\n<<<<<<<"] {
        is_malformed(Format::SearchReplace, &format!("{block}\n{cut}"), "");
    }
    for whole in ["", "\nThat is it.\n", "\n```\ny.py\n```\n", "\nSee y.py for more.\n"] {
        check(Format::SearchReplace, &[("x", "a\n")], &format!("{block}{whole}"), &[("x", "b\n")]);
    }
    let envelope = "*** Begin Patch\n*** Update File: x\n@@\n-a\n+b\n*** End Patch\n";
    for cut in ["*** Begin Pa", "*** Be", "*** Upd", "*** Add Fil"] {
        is_malformed(Format::Envelope, &format!("{envelope}\n{cut}"), "");
    }
    check(Format::Envelope, &[("x", "a\n")], &format!("{envelope}\n***\nDone.\n"), &[("x", "b\n")]);
}

#[test]
fn counts_that_are_too_small_do_not_end_a_hunk_at_a_blank_line() {
    let words = "counts its lines";
    let head = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n";
    for rest in [" \n-four\n+FOUR\n five\n", "\n-four\n+FOUR\n", "\n four\n-five\n", "\n+five\n", "\n\n-\tfour\n"] {
        bad(&format!("{head}{rest}"), words);
        bad(&format!("```diff\n{head}{rest}```\n"), words);
    }
    bad(&format!("```diff\n{head}\n- four\n```\n"), words);
    bad(&format!("```diff\n{head}\nfour\n-five\n+FIVE\n```\n"), words);
    bad("diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+a\n+b\n\n+c\n+d\n", words);
    // Text after a blank line outside of a fence that looks like a list is one.
    let (before, after) = ([("x", "one\ntwo\nthree\n")], [("x", "one\nTWO\nthree\n")]);
    for prose in
        ["\n- done\n- more\n", "\n \n", "\n+ Now it is faster\n", "\n-- \n2.47\n", "\n  indented\n", "\nThen:\n- a\n"]
    {
        check(Format::Unified, &before, &format!("{head}{prose}"), &after);
    }
    check(Format::Unified, &before, &format!("```diff\n{head}\n```\n- done\n+ more\n"), &after);
}
