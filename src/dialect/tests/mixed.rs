//! Answers in more than one format are applied completely, or not at all.

use super::{Format, check, is_malformed};
use crate::dialect::{Patch, detect};

const DIFF: &str = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
const ENVELOPE: &str = "*** Begin Patch\n*** Update File: y\n@@\n-a\n+b\n*** End Patch\n";
const FRAMELESS: &str = "*** Delete File: z\n";
const BLOCK: &str = "w\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n";

#[test]
fn two_formats_in_one_answer_are_refused() {
    let plain = DIFF.split_once('\n').unwrap().1;
    let indented = DIFF.replace('\n', "\n  ");
    for (one, other) in [
        (DIFF, ENVELOPE),
        (DIFF, FRAMELESS),
        (DIFF, BLOCK),
        (ENVELOPE, BLOCK),
        (ENVELOPE, FRAMELESS),
        (plain, ENVELOPE),
        (plain, BLOCK),
        (FRAMELESS, BLOCK),
        (DIFF, &format!("  {indented}")),
        (ENVELOPE, &format!("  {indented}")),
    ] {
        for patch in [format!("{one}\n{other}"), format!("{other}\n{one}"), format!("{one}\nThen:\n\n{other}")] {
            let format = detect(patch.as_bytes()).unwrap();
            is_malformed(format, &patch, "malformed at line");
        }
    }
}

#[test]
fn sections_without_a_frame_are_all_read() {
    let patch = "```\n*** Update File: y\n@@\n-a\n+b\n```\nand\n```\n*** Delete File: z\n```\n";
    check(Format::Envelope, &[("y", "a\n"), ("z", "")], patch, &[("y", "b\n")]);
}

#[test]
fn patches_in_a_commit_message_are_ignored() {
    let id = "0123456789abcdef0123456789abcdef01234567";
    for sample in [ENVELOPE, BLOCK, "    --- a/q\n    +++ b/q\n", "@@ -1 +1 @@\n-q\n"] {
        let mail = format!(
            "From {id} Mon Sep 17 00:00:00 2001\nFrom: A <a@b>\nSubject: [PATCH] Read this\n\n{sample}\n---\n x | 2 +-\n\n{DIFF}-- \n2.47\n\n"
        );
        check(Format::Unified, &[("x", "a\n")], &mail, &[("x", "b\n")]);
        let second = mail.replace("a/x", "a/v").replace("b/x", "b/v");
        check(
            Format::Unified,
            &[("v", "a\n"), ("x", "a\n")],
            &format!("{mail}{second}"),
            &[("v", "b\n"), ("x", "b\n")],
        );
        let log = format!("commit {id}\nAuthor: A <a@b>\n\n    {}\n\n{DIFF}", sample.replace('\n', "\n    "));
        check(Format::Unified, &[("x", "a\n")], &log, &[("x", "b\n")]);
    }
    assert!(Patch::read(b"From nobody\n", None, None).is_err());
}
