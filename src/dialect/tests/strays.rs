//! Text beside a patch that looks like a part of it is never skipped.

use super::{Format, check, is_malformed};

const HEAD: &str = "--- a/x\n+++ b/x\n@@\n-a\n+A\n";

#[test]
fn a_mail_without_dashes_ends_where_its_diff_starts() {
    let id = "0123456789abcdef0123456789abcdef01234567";
    let section = |name: &str, old: &str| {
        format!("diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n@@ -1,2 +1 @@\n-{old}\n c\n")
    };
    for message in
        ["From: A <a@b>\nSubject: [PATCH] one\n\ntext\n\n", "From: A <a@b>\nSubject: [PATCH] one\n\n---\n x | 1 -\n\n"]
    {
        let mail = format!(
            "From {id} Mon Sep 17 00:00:00 2001\n{message}{}{}{}-- \n2.47\n\n",
            section("v", "a"),
            section("w", "--"),
            section("x", "-- ")
        );
        let before = [("v", "a\nc\n"), ("w", "--\nc\n"), ("x", "-- \nc\n")];
        let after = [("v", "c\n"), ("w", "c\n"), ("x", "c\n")];
        check(Format::Unified, &before, &mail, &after);
        let plain = mail.replace("diff --git a/v b/v\n", "");
        check(Format::Unified, &before, &plain, &after);
    }
}

#[test]
fn a_hunk_without_its_file_is_refused() {
    let envelope = "*** Begin Patch\n*** Update File: x\n@@\n-a\n+A\n*** End Patch\n";
    for header in ["@@\n", "@@ ... @@\n", "@@ def g @@\n", "  @@ -3 +3 @@\n"] {
        let hunk = format!("{header}-b\n+B\n");
        is_malformed(Format::Unified, &format!("```diff\n{HEAD}```\n\nThen:\n\n```diff\n{hunk}```\n"), "no part of it");
        is_malformed(Format::Unified, &format!("{HEAD}\nThen the second:\n{hunk}"), "");
        is_malformed(Format::Envelope, &format!("{envelope}\n{hunk}"), "no part of it");
        let frameless = "```\n*** Update File: x\n@@\n-a\n+A\n```\n";
        is_malformed(Format::Envelope, &format!("{frameless}\nThen:\n\n```\n{hunk}```\n"), "no part of it");
    }
    // The same for lines of a hunk without any header, in a fence of a diff.
    is_malformed(Format::Unified, &format!("```diff\n{HEAD}```\n\nThen:\n\n```diff\n-b\n+B\n```\n"), "no part of it");
    let other = "\n```ruby\n@@count = 1\n```\n```yaml\n- a\n```\n";
    check(Format::Unified, &[("x", "a\n")], &format!("```diff\n{HEAD}```\n{other}"), &[("x", "A\n")]);
}

#[test]
fn headers_that_lost_their_first_line_are_refused() {
    let hunk = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+A\n";
    for header in [
        "similarity index 100%\nrename from p\nrename to q\n",
        "copy from p\ncopy to q\n",
        "old mode 100644\nnew mode 100755\n",
        "deleted file mode 100644\nindex 1..0\n",
        "new file mode 100644\n",
    ] {
        is_malformed(Format::Unified, &format!("{header}{hunk}"), "`diff --git a/NAME b/NAME`");
        is_malformed(Format::Unified, &format!("{hunk}{header}"), "");
    }
    for half in ["copy to x\n", "rename from x\n", "rename from x\ncopy to y\n", "copy from x\nrename to y\n"] {
        is_malformed(Format::Unified, &format!("diff --git a/x b/x\n{half}{hunk}"), "");
    }
}

#[test]
fn only_what_git_takes_for_it_says_that_a_line_break_is_missing() {
    let hunk = |header: &str, lines: &str| format!("--- a/x\n+++ b/x\n{header}\n{lines}");
    for (header, lines) in [
        ("@@", " \\begin{x}\n-old\n+new\n\\end{x}\n \\foo\n"),
        ("@@ -1,2 +1,3 @@", " \\begin{x}\n-old\n+new\n+\\item\n\\end{x}\n"),
        ("@@", " a\n-old\n+new\n\\item two\n"),
        ("@@", " a\n-old\n+new\n\\ a\n"),
        ("@@ -0,0 +1,2 @@", "+\\a\n+\\b\n\\c\n"),
    ] {
        is_malformed(Format::Unified, &hunk(header, lines), "not `\\\\");
    }
    for told in ["\\ No newline at end of file", "\\ Kein Zeilenumbruch am Dateiende."] {
        let patch = hunk("@@ -1 +1 @@", &format!("-a\n+b\n{told}\n"));
        check(Format::Unified, &[("x", "a\n")], &patch, &[("x", "b")]);
    }
}

#[test]
fn a_list_beneath_a_patch_without_counts_is_none_of_its_lines() {
    let words = "a fence around the patch";
    let list = "\n+ Now it is faster\n";
    is_malformed(Format::Unified, &format!("{HEAD}{list}"), words);
    is_malformed(Format::Unified, &format!("{HEAD}\n- It is faster\n- and `smaller`\n"), words);
    is_malformed(Format::Envelope, &format!("*** Update File: x\n@@\n-a\n+A\n{list}"), words);
    let (before, after) = ([("x", "a\n\nb\n")], [("x", "A\n\n Now it is faster\nb\n")]);
    for whole in [format!("```\n{HEAD}{list}```\n"), format!("{HEAD}{list} b\n")] {
        check(Format::Unified, &before, &whole, &after);
    }
    let framed = format!("*** Begin Patch\n*** Update File: x\n@@\n-a\n+A\n{list}*** End Patch\n");
    check(Format::Envelope, &before, &framed, &after);
}

#[test]
fn marks_that_cannot_be_read_refuse_the_whole() {
    let good = "x\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n";
    for (head, end) in [
        ("<<<<<<< SEARCH src/b.py", ">>>>>>> REPLACE src/b.py"),
        ("<<<<<<< SEARCH:", ">>>>>>> REPLACE:"),
        ("<<<<<<< SEARCH #1", ">>>>>>> REPLACE #1"),
        ("<<<<<<< HEAD:src/b.py", ">>>>>>> feature/x"),
        ("<<<<<<< ORIGINAL 1", ">>>>>>> UPDATED 1"),
        ("------- SEARCH -------", "+++++++ REPLACE +++++++"),
        ("<<< SEARCH", ">>> REPLACE"),
        ("> <<<<<<< SEARCH", "> >>>>>>> REPLACE"),
        ("12| <<<<<<< SEARCH", "16| >>>>>>> REPLACE"),
        ("**<<<<<<< SEARCH**", "**>>>>>>> REPLACE**"),
        ("`<<<<<<< SEARCH`", "`>>>>>>> REPLACE`"),
        ("\u{a0}<<<<<<< SEARCH", "\u{a0}>>>>>>> REPLACE"),
        ("\u{200b}<<<<<<< SEARCH", "\u{200b}>>>>>>> REPLACE"),
        ("<<<<<<<\u{a0}SEARCH", ">>>>>>>\u{a0}REPLACE"),
    ] {
        let odd = format!("y\n{head}\nc\n=======\nd\n{end}\n");
        for patch in [format!("{good}\n{odd}"), format!("{odd}\n{good}")] {
            is_malformed(Format::SearchReplace, &patch, "");
        }
    }
    let told = "\nUse `cat <<EOF` and `a >> b`; <<<see>>> the notes.\n> quoted\n";
    check(Format::SearchReplace, &[("x", "a\n")], &format!("{good}{told}"), &[("x", "b\n")]);
}

#[test]
fn sections_that_cannot_be_read_refuse_the_whole() {
    let diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
    let envelope = "*** Begin Patch\n*** Update File: x\n@@\n-a\n+b\n*** End Patch\n";
    let quoted = |text: &str| text.lines().flat_map(|line| ["> ", line, "\n"]).collect::<String>();
    let context = "*** a/y\n--- b/y\n***************\n*** 1 ****\n! a\n--- 1 ----\n! b\n";
    let plan = "```json\n{\"files\": [{\"file_path\": \"y\", \"delete\": true}]}\n```\n";
    for other in [
        quoted(diff),
        quoted(envelope),
        "**Update File: y**\n".to_owned(),
        "***Delete File: y\n".to_owned(),
        "*** Delete file: y\n".to_owned(),
        context.to_owned(),
        plan.to_owned(),
    ] {
        is_malformed(Format::Unified, &format!("{diff}\nThen:\n\n{other}"), "");
        is_malformed(Format::Envelope, &format!("{envelope}\nThen:\n\n{other}"), "");
    }
    is_malformed(Format::Envelope, "*** Delete file: y\n*** Delete File: x\n", "");
}

#[test]
fn a_folder_that_the_command_around_a_patch_enters_is_not_guessed() {
    let heredoc =
        |command: &str| format!("{command} <<'EOF'\n*** Begin Patch\n*** Add File: n\n+n\n*** End Patch\nEOF\n");
    for command in [
        "cd src && apply_patch",
        "bash -lc 'cd \"my src\" && apply_patch",
        "(cd src; apply_patch",
        "cd src\napply_patch",
        "pushd src && apply_patch",
    ] {
        is_malformed(Format::Envelope, &heredoc(command), "paths from the root");
    }
    for command in ["apply_patch", "bash -lc 'apply_patch", "cd . && apply_patch", "cd ./ && apply_patch"] {
        check(Format::Envelope, &[], &heredoc(command), &[("n", "n\n")]);
    }
    // A sentence is not a command.
    check(Format::Envelope, &[], &heredoc("First cd into it.\napply_patch"), &[("n", "n\n")]);
}

#[test]
fn a_line_number_is_that_of_a_line_and_stands_on_top_of_the_search() {
    let block =
        |search: &str, replace: &str| format!("x\n<<<<<<< SEARCH\n{search}a\n=======\n{replace}b\n>>>>>>> REPLACE\n");
    is_malformed(Format::SearchReplace, &block(":start_line:0\n-------\n", ""), "from 1");
    is_malformed(Format::SearchReplace, &block(":start_line:3\n", ":start_line:3\n"), "beneath `<<<<<<< SEARCH` only");
    is_malformed(Format::SearchReplace, &block("", ":start_line:3\n"), "beneath `<<<<<<< SEARCH` only");
}
