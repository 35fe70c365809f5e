//! Tests of each format; the applied result is compared, using only the text engine.

use std::collections::BTreeMap;

use super::{Format, Patch, detect};
use crate::error::{Error, ErrorKind, Finding, Result};
use crate::request::edit::Matching;
use crate::request::{Change, IfExists, Mode};
use crate::text;

mod blocks;
mod cut;
mod diffs;
mod json;
mod mixed;
mod places;
mod reports;
mod strays;

pub(super) type Tree = BTreeMap<String, String>;

fn tree(files: &[(&str, &str)]) -> Tree {
    files.iter().map(|(name, content)| ((*name).to_owned(), (*content).to_owned())).collect()
}

/// The result of applying a patch to a tree, or the code of the error.
pub(super) fn applied(before: &Tree, asked: &Patch) -> Result<Tree, ErrorKind> {
    let mut after = before.clone();
    let content = |path: &str| before.get(path).cloned().ok_or(ErrorKind::FileNotFound);
    let name = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    let files = &asked.request.files;
    for file in files {
        if matches!(file.change, Change::Delete | Change::Rename(_) | Change::Edit { rename: Some(_), .. }) {
            after.remove(&name(&file.path)).ok_or(ErrorKind::FileNotFound)?;
        }
    }
    for file in files {
        let path = name(&file.path);
        let edited = |base: &str, edits: &[_]| match text::edit(base.as_bytes(), edits) {
            Ok(edited) => Ok(String::from_utf8(edited.splices.apply(base.as_bytes())).unwrap()),
            Err(refused) => Err(refused.kind),
        };
        let (path, new, if_exists) = match &file.change {
            Change::Delete => {
                let digest = crate::digest::Digest::of(content(&path)?.as_bytes());
                if file.expected_hash.is_some_and(|expected| expected != digest) {
                    return Err(ErrorKind::HashMismatch);
                }
                continue;
            }
            Change::Write { content, if_exists } => (path, String::from_utf8(content.clone()).unwrap(), *if_exists),
            Change::Rename(to) => (name(&to.path), content(&path)?, to.if_exists),
            Change::Copy { from, edits } => (path, edited(&content(&name(from))?, edits)?, IfExists::Fail),
            Change::Edit { edits, rename } => {
                let new = edited(&content(&path)?, edits)?;
                match rename {
                    Some(to) => (name(&to.path), new, to.if_exists),
                    None => (path, new, IfExists::Replace),
                }
            }
            Change::Take { .. } => unreachable!("no patch gives files away"),
            Change::Mode | Change::Symlink { .. } | Change::MakeFolder | Change::RemoveFolder => continue,
        };
        if after.insert(path, new).is_some() && if_exists == IfExists::Fail {
            return Err(ErrorKind::FileExists);
        }
    }
    Ok(after)
}

#[track_caller]
fn read(patch: &str, format: Format) -> Patch {
    assert_eq!(detect(patch.as_bytes()), Some(format), "{patch}");
    Patch::read(patch.as_bytes(), None, None).unwrap_or_else(|error| panic!("{error}\n{patch}"))
}

#[track_caller]
fn check(format: Format, before: &[(&str, &str)], patch: &str, after: &[(&str, &str)]) {
    assert_eq!(applied(&tree(before), &read(patch, format)), Ok(tree(after)), "{patch}");
}

#[track_caller]
fn is_malformed(format: Format, patch: &str, words: &str) {
    let error = Patch::read(patch.as_bytes(), Some(format), None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PatchParseFailed);
    assert!(error.to_string().contains(words), "{error}");
}

#[test]
fn a_git_diff_applies_every_kind_of_change() {
    let patch = "From 1234 Mon Sep 17\nSubject: [PATCH] a\n\n- a list\n---\n 5 files changed\n\n\
        diff --git a/edit b/edit\nold mode 100644\nnew mode 100755\nindex 1..2\n--- a/edit\n+++ b/edit\n\
        @@ -1,3 +1,3 @@ fn x()\n a\n-b\n+B\n c\n@@ -9 +9,2 @@\n-i\n\\ No newline at end of file\n+i\n+j\n\
        diff --git a/new b/new\nnew file mode 100755\nindex 0..1\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+n\n\
        diff --git a/empty b/empty\nnew file mode 100644\nindex 0..0\n\
        diff --git a/gone b/gone\ndeleted file mode 100644\nindex 1..0\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-g\n\
        diff --git a/from b/to\nsimilarity index 90%\nrename from from\nrename to to\n--- a/from\n+++ b/to\n@@ -1 +1 @@\n-f\n+F\n\
        diff --git a/edit b/copy\nsimilarity index 100%\ncopy from edit\ncopy to copy\n-- \n2.47\n";
    let before = [("edit", "a\nb\nc\nd\ne\nf\ng\nh\ni"), ("from", "f\n"), ("gone", "g\n")];
    let after = [
        ("copy", before[0].1),
        ("edit", "a\nB\nc\nd\ne\nf\ng\nh\ni\nj\n"),
        ("empty", ""),
        ("new", "n\n"),
        ("to", "F\n"),
    ];
    check(Format::Unified, &before, patch, &after);
    let files = read(patch, Format::Unified).request.files;
    let modes: Vec<_> = files.iter().map(|file| file.mode).collect();
    let executable = Some(Mode::Executable(true));
    assert_eq!(modes, [executable, executable, None, None, None, None]);
    // A deleted file must have the content that the patch removes.
    let other = tree(&[before[0], before[1], ("gone", "G\n")]);
    assert_eq!(applied(&other, &read(patch, Format::Unified)), Err(ErrorKind::HashMismatch));
}

#[test]
fn plain_diffs_and_diffs_in_chats_are_read() {
    let plain = "--- old/x y\t2020-01-01 10:00:00\n+++ new/x y\t2020-01-02\n@@ -1 +1 @@\n-a\n+b\n";
    check(Format::Unified, &[("x y", "a\n")], plain, &[("x y", "b\n")]);
    let chat =
        "Here you are:\n```diff\n--- a/x\n+++ b/x\n@@ ... @@\n one\n-two\n+2\n\n@@\n-four\n+4\n```\nThat is it.\n";
    check(Format::Unified, &[("x", "one\ntwo\n\nthree\nfour\n")], chat, &[("x", "one\n2\n\nthree\n4\n")]);
    let epoch = "--- x\t1970-01-01 00:00:00.0 +0000\n+++ x\t2020-01-01\n@@ -0,0 +1 @@\n+a\n";
    check(Format::Unified, &[], epoch, &[("x", "a\n")]);
    let crlf = "--- a/x\r\n+++ b/x\r\n@@ -1 +1 @@\r\n-a\r\n+b\r\n";
    check(Format::Unified, &[("x", "a\n")], crlf, &[("x", "b\n")]);
    // One file in two parts, as in a series of patches: the second refers to the result of the first.
    let series = "--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-a\n+b\n+c\n--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n b\n-c\n";
    check(Format::Unified, &[("x", "a\n")], series, &[("x", "b\n")]);
    // If other hunks have context, one without any covers its whole file.
    let whole = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n--- a/y\n+++ b/y\n@@ -1,2 +1,2 @@\n-a\n+b\n c\n";
    check(Format::Unified, &[("x", "a\n"), ("y", "a\nc\n")], whole, &[("x", "b\n"), ("y", "b\nc\n")]);
    let framed = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n-a\n+A\n b\n-c\n+C\n";
    let longer = tree(&[("x", "a\nb\nc\nd\n")]);
    assert_eq!(applied(&longer, &read(framed, Format::Unified)), Err(ErrorKind::MatchNotFound));
    let grown = tree(&[("x", "a\nz\n"), ("y", "a\nc\n")]);
    assert_eq!(applied(&grown, &read(whole, Format::Unified)), Err(ErrorKind::MatchNotFound));
    check(Format::Unified, &[("x", "a\nz\n")], &whole[..whole.find("--- a/y").unwrap()], &[("x", "b\nz\n")]);
    // An empty line of context that lost its space.
    check(
        Format::Unified,
        &[("x", "a\n\nb\n")],
        "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n-a\n+c\n\n b\n",
        &[("x", "c\n\nb\n")],
    );
}

#[test]
fn what_a_diff_must_not_be() {
    let bad = |patch: &str, words: &str| is_malformed(Format::Unified, patch, words);
    let head = "--- a/x\n+++ b/x\n";
    bad("nothing", "line 1, column 1: expected `diff --git");
    bad("@@ -1 +1 @@\n-a\n+b\n", "line 1, column 1: expected the names");
    bad(&format!("{head}@@ -1,2 +1 @@\n-a\n+b\n"), "line 6, column 1: expected 1 more old and 0 more new lines");
    bad(&format!("{head}@@ -1 +1 @@\n-a\n+b\n+c\n"), "line 6, column 1: expected the end of the hunk");
    bad(&format!("{head}@@ -1 +x @@\n-a\n+b\n"), "line 3, column 4: expected ranges");
    bad(&format!("{head}text\n"), "line 3, column 1: expected a hunk");
    bad(&format!("{head}@@ -1 +1 @@\n a\n"), "expected a line with - or +");
    bad("diff --git a/x b/y\nindex 1..2\n", "line 1, column 1: expected the same name twice");
    bad(
        &format!("diff --git a/y b/y\nindex 1..2\n{head}@@ -1 +1 @@\n-a\n+b\n"),
        "line 3, column 5: expected `y`, as the `diff --git` line has it",
    );
    bad("diff --git a/x b/x\nindex 1..2\n", "line 3, column 1: expected a change of x");
    bad("diff --git a/x b/x\nindex 1..2 100644\nGIT binary patch\nliteral 0\n", "x is binary");
    bad("diff --git a/x b/x\nindex 1..2\nBinary files a/x and b/x differ\n", "x is binary");
    bad("diff --cc x\n@@@ -1 -1 +1 @@@\n", "combined");
    let link = Patch::read(b"diff --git a/x b/x\nnew file mode 120000\n", None, None).unwrap_err();
    assert_eq!(link.kind(), ErrorKind::NotARegularFile);
}

#[test]
fn an_envelope_of_every_kind_of_change() {
    let patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: new\n+n\n+\n*** Delete File: gone\n\
        *** Update File: edit\n@@ def f():\n     a\n-    b\n+    B\n\n@@\n-end\n+END\n*** End of File\n\
        *** Update File: from\n*** Move to: to\n@@\n-f\n+F\n*** Update File: a\n*** Move to: b\n*** End Patch\nEOF\n";
    let before =
        [("a", "1"), ("edit", "x\n    a\n    b\ndef f():\n    a\n    b\nend\nend"), ("from", "f\n"), ("gone", "g")];
    let after =
        [("b", "1"), ("edit", "x\n    a\n    b\ndef f():\n    a\n    B\nend\nEND"), ("new", "n\n\n"), ("to", "F\n")];
    check(Format::Envelope, &before, patch, &after);
    // Without its frame and its first @@; white space as lenient as in its own tools; new lines at the end.
    check(Format::Envelope, &[("x", "a \nb\n")], "*** Update File: x\n a\n-b\n+c\n", &[("x", "a \nc\n")]);
    check(
        Format::Envelope,
        &[("x", "a\n")],
        "*** Begin Patch\n*** Update File: x\n@@\n+b\n*** End Patch",
        &[("x", "a\nb\n")],
    );
    let exact = Patch::read(b"*** Update File: x\n a\n-b\n+c\n", None, Some(Matching::Exact)).unwrap();
    assert_eq!(applied(&tree(&[("x", "a \nb\n")]), &exact), Err(ErrorKind::MatchNotFound));
    let twice = read("*** Begin Patch\n*** Update File: x\n@@\n-a\n+b\n*** End Patch", Format::Envelope);
    assert_eq!(applied(&tree(&[("x", "a\nc\na\n")]), &twice), Err(ErrorKind::AmbiguousMatch));
}

#[test]
fn a_patch_that_was_cut_off_is_refused() {
    let cut = |format, patch: &str, words: &str| is_malformed(format, patch, words);
    let hunk = "*** Update File: x\n@@\n a\n-b\n+B\n";
    let begin = "*** Begin Patch\n";
    cut(Format::Envelope, &format!("{begin}{hunk}"), "line 7, column 1: expected `*** End Patch` for the envelope");
    cut(Format::Envelope, &format!("text\n{begin}*** Add File: x\n+a"), "that line 2 begins");
    cut(Format::Envelope, &format!("{begin}*** Delete File: x\n"), "`*** End Patch`");
    let whole = format!("{begin}*** Delete File: y\n*** End Patch\n");
    cut(Format::Envelope, &format!("{whole}and\n{begin}{hunk}"), "that line 5 begins");
    cut(Format::Envelope, &format!("```\n{hunk}"), "the fence that closes the one of line 1");
    let diff = "--- a/x\n+++ b/x\n@@ ... @@\n a\n-b\n+B\n";
    cut(Format::Unified, &format!("````diff\n{diff}```\n"), "the fence that closes the one of line 1");
    let block = "x\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n";
    cut(Format::SearchReplace, &format!("1.\n```\n{block}```\n\n```rust\ny\n{block}"), "the one of line 11");
    // A frame that is missing entirely is accepted, and a complete one is read, however often it begins.
    let (before, after) = ([("x", "a\nb\n"), ("y", "")], [("x", "a\nB\n")]);
    for frameless in [hunk.to_owned(), format!("```\n{hunk}```\nThat is `all`.\n"), diff.to_owned()] {
        let format = detect(frameless.as_bytes()).unwrap();
        check(format, &before[..1], &frameless, &after);
    }
    check(Format::Envelope, &before, &format!("{whole}and\n{begin}{hunk}*** End Patch\n"), &after);
}

#[test]
fn an_empty_line_at_the_end_of_a_hunk_is_context_where_the_file_has_it() {
    let patch = |tail: &str| format!("*** Begin Patch\n*** Update File: x\n@@\n-a\n+A\n\n{tail}*** End Patch\n");
    let twice = [("x", "a\nx\na\n\nb\n")];
    for tail in ["", "@@\n-b\n+B\n", "*** Add File: n\n+n\n"] {
        let mut after = vec![("x", if tail.contains('B') { "a\nx\nA\n\nB\n" } else { "a\nx\nA\n\nb\n" })];
        after.extend(tail.contains("Add").then_some(("n", "n\n")));
        check(Format::Envelope, &twice, &patch(tail), &after);
    }
    check(Format::Envelope, &[("x", "a\nx\na\n\n")], &patch("*** End of File\n"), &[("x", "a\nx\nA\n\n")]);
    // Nor if the file ends with the hunk.
    check(Format::Envelope, &[("x", "b\na\n")], &patch("*** Add File: n\n+n\n"), &[("n", "n\n"), ("x", "b\nA\n")]);
    check(Format::Envelope, &[("x", "b\na")], &patch("*** Add File: n\n+n\n"), &[("n", "n\n"), ("x", "b\nA")]);
    // If it is not there, it only separates the hunk; one that has its space is always context.
    check(Format::Envelope, &[("x", "a\nb\n")], &patch(""), &[("x", "A\nb\n")]);
    let spaced = "*** Begin Patch\n*** Update File: x\n@@\n-a\n+A\n \n*** End Patch\n";
    assert_eq!(applied(&tree(&[("x", "a\nb\n")]), &read(spaced, Format::Envelope)), Err(ErrorKind::MatchNotFound));
    let loose = "--- a/x\n+++ b/x\n@@ ... @@\n-a\n+A\n\n";
    check(Format::Unified, &twice, &format!("{loose}@@ ... @@\n-b\n+B\n"), &[("x", "a\nx\nA\n\nB\n")]);
    check(Format::Unified, &[("x", "a\nb\n")], loose, &[("x", "A\nb\n")]);
}

#[test]
fn new_lines_without_old_ones_do_not_go_to_the_end_of_a_file_that_has_content() {
    let other = "--- a/y\n+++ b/y\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n";
    for header in ["@@ -0,0 +1 @@", "@@ -1,0 +1 @@", "@@ -1,0 +2 @@"] {
        let bare = format!("--- a/x\n+++ b/x\n{header}\n+n\n");
        for patch in [bare.clone(), format!("{bare}{other}"), format!("{other}{bare}")] {
            let before = tree(&[("x", "a\n"), ("y", "a\nb\n")]);
            assert_eq!(applied(&before, &read(&patch, Format::Unified)), Err(ErrorKind::AmbiguousMatch), "{patch}");
        }
    }
}

#[test]
fn blanks_in_front_of_a_section_say_nothing_where_no_content_can_stand() {
    let patch = "*** Begin Patch\n  *** Add File: n\n+n\n\t*** Delete File: y\n *** Update File: x\n@@\n-a\n+A\n*** End Patch\n";
    check(Format::Envelope, &[("x", "a\n"), ("y", "")], patch, &[("n", "n\n"), ("x", "A\n")]);
    // In a hunk it is a line of context.
    let context = "*** Begin Patch\n*** Update File: x\n@@\n-a\n+A\n *** Delete File: y\n*** End Patch\n";
    let before = [("x", "a\n*** Delete File: y\n")];
    check(Format::Envelope, &before, context, &[("x", "A\n*** Delete File: y\n")]);
}

#[test]
fn a_new_file_keeps_its_carriage_returns() {
    let lines = ["*** Begin Patch", "*** Add File: n", "+a\r", "+b", "*** End Patch", ""];
    check(Format::Envelope, &[], &lines.join("\n"), &[("n", "a\r\nb\n")]);
    let block = ["n", "<<<<<<< SEARCH", "=======", "a\r", "b", ">>>>>>> REPLACE", ""];
    check(Format::SearchReplace, &[], &block.join("\n"), &[("n", "a\r\nb\n")]);
    // A patch that also has them on its own lines was converted as a whole.
    check(Format::Envelope, &[], &lines.join("\n").replace("a\r", "a").replace('\n', "\r\n"), &[("n", "a\nb\n")]);
    let converted = block.join("\n").replace("a\r", "a").replace('\n', "\r\n");
    check(Format::SearchReplace, &[], &converted, &[("n", "a\nb\n")]);
}

#[test]
fn invalid_envelopes_are_refused() {
    let bad = |patch: &str, words: &str| is_malformed(Format::Envelope, patch, words);
    bad("*** Begin Patch\n*** End Patch\n", "line 2, column 1: expected `*** Add File:`");
    bad("*** Begin Patch\n*** Add File: x\ntext\n", "line 3, column 1: expected a line with +, not `text`");
    bad("*** Begin Patch\n*** Update File: x\n*** End Patch\n", "line 3, column 1: expected `@@`");
    bad("*** Begin Patch\n*** Update File:\n@@\n-a\n", "line 2, column 17: expected the name");
    bad("*** Begin Patch\n*** Update File: x\n@@\ntext\n", "line 4, column 1: expected a line that starts with");
    bad(
        "*** Begin Patch\n*** Update File: x\n@@\n a\n*** End Patch\n",
        "line 5, column 1: expected a line with - or +",
    );
    bad("*** Begin Patch\n*** Rename File: x\n", "line 2, column 1: expected `*** Add File:`");
}

#[test]
fn blocks_with_the_names_where_they_usually_are() {
    let block = |search: &str, replace: &str| format!("<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n");
    let one = block("a\n", "b\n");
    for name in [
        "x.rs\n",
        "x.rs\n```rust\n",
        "```rust\nx.rs\n",
        "**x.rs**\n\n```\n",
        "### `x.rs`\n```rs\n",
        "In `x.rs`, change this:\n```\n",
        "File: x.rs\n",
        "```rust:x.rs\n",
        "<path>x.rs</path>\n<diff>\n",
        "# x.rs:\n",
    ] {
        let close = if name.contains("```") { "```\n" } else { "" };
        let patch = format!("Sure.\n\n{name}{one}{close}");
        check(Format::SearchReplace, &[("x.rs", "a\n")], &patch, &[("x.rs", "b\n")]);
    }
    let two = format!(
        "I will do both.\n\nx.rs\n```\n{}```\n\nThen:\n\n```\n{}```\nnew.rs\n{}",
        one,
        block("c\n", "d\n"),
        block("", "n\n")
    );
    check(Format::SearchReplace, &[("x.rs", "a\nc")], &two, &[("new.rs", "n\n"), ("x.rs", "b\nd")]);
    let numbered = "x.rs\n<<<<<<< SEARCH\n:start_line:3\n-------\na\n=======\nb\n>>>>>>> REPLACE\n";
    check(Format::SearchReplace, &[("x.rs", "a\nx\na\n")], numbered, &[("x.rs", "a\nx\nb\n")]);
    let dashes = "x.rs\n------- SEARCH\na\n=======\nb\n+++++++ REPLACE\n";
    check(Format::SearchReplace, &[("x.rs", "a\n")], dashes, &[("x.rs", "b\n")]);
    // One after the other, each on the result of the previous one.
    let chain = format!("x.rs\n{one}{}", block("b\n", "c\n"));
    check(Format::SearchReplace, &[("x.rs", "a\n")], &chain, &[("x.rs", "c\n")]);
    let ambiguous = read(&format!("x.rs\n{one}"), Format::SearchReplace);
    assert_eq!(applied(&tree(&[("x.rs", "a\na\n")]), &ambiguous), Err(ErrorKind::AmbiguousMatch));
    let shared = format!("x.rs\n{}", block("a\nk\n", "b\nk\n"));
    let tolerant = Patch::read(shared.as_bytes(), None, Some(Matching::Tolerant)).unwrap();
    assert_eq!(applied(&tree(&[("x.rs", "\ta\n\tk\n")]), &tolerant), Ok(tree(&[("x.rs", "\tb\n\tk\n")])));
    let untold = Patch::read(format!("x.rs\n{one}").as_bytes(), None, Some(Matching::Tolerant)).unwrap();
    assert_eq!(applied(&tree(&[("x.rs", "\ta\n")]), &untold), Err(ErrorKind::MatchNotFound));
}

#[test]
fn a_line_of_a_block_that_looks_like_its_divider() {
    let heading = |mark: &str, divider: &str, end: &str| {
        format!("x\n{mark} SEARCH\nTitle\n=======\n{divider}\nName\n=======\n{end} REPLACE\n")
    };
    let patch = heading("<<<<<", "=====", ">>>>>");
    check(Format::SearchReplace, &[("x", "Title\n=======\n")], &patch, &[("x", "Name\n=======\n")]);
    is_malformed(
        Format::SearchReplace,
        &heading("<<<<<<<", "=======", ">>>>>>>"),
        "line 5, column 1: expected one `=======` in a block",
    );
    // A divider of another length counts if there is no other.
    let patch = "x\n<<<<<<< SEARCH\na\n=====\nb\n>>>>>>> REPLACE\n";
    check(Format::SearchReplace, &[("x", "a\n")], patch, &[("x", "b\n")]);
}

#[test]
fn a_sentence_in_front_of_a_block_names_no_new_file() {
    let block = "<<<<<<< SEARCH\n=======\nnew\n>>>>>>> REPLACE\n";
    for told in ["Now there is my_file.rs", "It is version 1.5:", "Sure!", "Done.", "**Now this one is added.**"] {
        is_malformed(Format::SearchReplace, &format!("{told}\n{block}"), "expected the name of the file");
    }
    for named in ["`my file.rs`", "Here is `my file.rs`:", "<path>my file.rs</path>"] {
        check(Format::SearchReplace, &[], &format!("{named}\n{block}"), &[("my file.rs", "new\n")]);
    }
    for named in ["Makefile", "docs/a.md", ".gitignore", "# a.rs:"] {
        let name = named.trim_matches(['#', ' ', ':']);
        check(Format::SearchReplace, &[], &format!("{named}\n{block}"), &[(name, "new\n")]);
    }
    // An existing file must have the text, or the block is refused.
    check(
        Format::SearchReplace,
        &[("my file.rs", "a\n")],
        &format!("my file.rs\n{}", block.replace("SEARCH", "SEARCH\na")),
        &[("my file.rs", "new\n")],
    );
}

#[test]
fn only_the_epoch_as_its_time_deletes_a_file() {
    let patch = |time: &str| format!("--- x\t2020-01-01 10:00:00\n+++ x\t{time}\n@@ -1 +0,0 @@\n-a\n");
    for first in ["1970-01-01 00:00:00.000000000 +0000", "1970-01-01 01:00:00 +0100", "1969-12-31 19:00:00.0 -0500"] {
        check(Format::Unified, &[("x", "a\n")], &patch(first), &[]);
    }
    // A package in which all times are one second later, as some build tools write them.
    for later in ["1970-01-01 00:00:01.000000000 +0000", "1970-01-01 10:00:00 +0000", "1969-12-31 19:00:00 +0000"] {
        check(Format::Unified, &[("x", "a\n")], &patch(later), &[("x", "")]);
    }
}

#[test]
fn invalid_blocks_are_refused() {
    let bad = |patch: &str, words: &str| is_malformed(Format::SearchReplace, patch, words);
    bad("<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n", "line 1, column 1: expected the name of the file");
    bad("x\n<<<<<<< SEARCH\na\n=======\nb\n", "expected `>>>>>>> REPLACE` that ends what line 4 starts");
    bad("x\n<<<<<<< SEARCH\na\n>>>>>>> REPLACE\n", "line 4, column 1: expected `=======` in front of");
    bad("x\n>>>>>>> REPLACE\n", "line 2, column 1");
    bad("x\n", "`<<<<<<< SEARCH`");
    bad("x\n<<<<<<< SEARCH\n \n\n=======\nb\n>>>>>>> REPLACE\n", "line 3, column 1: expected a text to search for");
}

#[test]
fn a_byte_order_mark_is_not_part_of_a_patch() {
    for (format, patch) in [
        (Format::Unified, "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"),
        (
            Format::WorkspaceEdit,
            r#"{"changes":{"x":[{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":1}},"newText":"b"}]}}"#,
        ),
    ] {
        check(format, &[("x", "a\n")], &format!("\u{feff}{patch}"), &[("x", "b\n")]);
    }
}

#[test]
fn an_unknown_format_is_reported() {
    assert_eq!(detect(br#"{"files": []}"#), None);
    assert_eq!(detect(b"hello\n---\nworld"), None);
    let error = Patch::read(b"hello", None, None).unwrap_err();
    assert!(error.to_string().contains("*** Begin Patch"), "{error}");
    for format in Format::ALL {
        assert_eq!(Format::named(format.as_str()), Some(format));
    }
}
