//! Which file a SEARCH/REPLACE block is for, and what is refused because that is unknown.

use super::{Format, Patch, check, is_malformed};

fn block(search: &str, replace: &str) -> String {
    format!("<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n")
}

const BOTH: [(&str, &str); 2] = [("src/a.py", "x\n"), ("src/b.py", "x\n")];

/// After a block of `src/a.py`, a second one beneath these lines is for `src/b.py`.
#[track_caller]
fn names_b(told: &str) {
    let patch = format!("src/a.py\n{}\n{told}\n{}", block("x\n", "1\n"), block("x\n", "2\n"));
    let patch = if told.contains("```") { patch + "```\n" } else { patch };
    check(Format::SearchReplace, &BOTH, &patch, &[("src/a.py", "1\n"), ("src/b.py", "2\n")]);
}

/// The same, but it cannot be determined for which file it is.
#[track_caller]
fn names_none(told: &str) {
    let patch = format!("src/a.py\n{}\n{told}\n{}", block("x\n", "1\n"), block("1\n", "2\n"));
    let patch = if told.contains("```") { patch + "```\n" } else { patch };
    is_malformed(Format::SearchReplace, &patch, "the path alone on a line of its own");
}

#[test]
fn a_name_is_told_in_one_of_the_usual_ways() {
    for told in [
        "src/b.py",
        "src/b.py:",
        "`src/b.py`",
        "`src/b.py`:",
        "**src/b.py**",
        "**`src/b.py`**:",
        "**src/b.py:**",
        "**src/b.py** (lines 1-2)",
        "`src/b.py` (second part)",
        "### src/b.py",
        "### 2. `src/b.py`",
        "2. `src/b.py`:",
        "# src/b.py",
        "// src/b.py",
        "/* src/b.py */",
        "<!-- src/b.py -->",
        "-- src/b.py",
        "File: src/b.py",
        "**File:** `src/b.py`",
        "In `src/b.py`:",
        "In `src/b.py`, change `DEBUG` to `False`:",
        "Update `src/b.py`",
        "<path>src/b.py</path>\n<diff>",
        "src/b.py\n\nThe same here:\n```python",
        "```python src/b.py",
        "```python:src/b.py",
        "```src/b.py",
        "```python title=\"src/b.py\"",
        "```python filename='src/b.py' {1,3}",
        "```{.python file=src/b.py}",
        "src/b.py\n```sh\npytest tests/test_b.py\n```\n```python",
        "```\nsrc/b.py\n```\n```python",
        "src/b.py\n```dockerfile",
        "```makefile src/b.py",
    ] {
        names_b(told);
    }
}

#[test]
fn what_mentions_a_file_in_another_way_names_none() {
    for told in [
        "In `src/b.py`, as in `src/c.py`, change `DEBUG` to `False`:",
        "Here is the code of src/b.py.",
        "The solver in src/b.f90 has it, too.",
        "And in bin/deploy we do the same.",
        "- src/b.py",
        "See [src/b.py](src/b.py)",
        "{ \"file\": \"src/b.py\" }",
        "src/b.py, line 12",
        "**src/b.py** and **src/c.py**",
        "src/b.py\n1 is done.\n2 is done.\n3 is done.",
        "src/b.py\n\nThis mirrors `src/c.py`:",
        "src/b.py\n```python title=\"src/c.py\"",
        "```python lines=1 of=src/b.py",
        "```js,src/b.js",
        "```src/b.py#L10-L20",
        "## Changes",
        "<file path=\"src/b.py\">",
    ] {
        names_none(told);
    }
}

#[test]
fn a_name_without_an_ending_is_one_of_another_file_all_the_same() {
    for told in [
        "config\n\nThis sets it:",
        "`config`\n\nThis sets it:",
        "### config\n\nNow:",
        "**config**\n\nNow:",
        "In the config file:",
        "In config:",
        "In `config`:",
        "Now the file `config`.",
        "my notes.txt\n\nset it",
        "Next, the class in src/b:",
        "```\nsrc/b.py\nlines 1-2\n```\n",
        "And src/b.py:\n```python src/a.py",
        "Fix src/b.py\n```python src/a.py",
    ] {
        let patch = format!("src/a.py\n{}\n{told}\n{}", block("x\n", "1\n"), block("1\n", "2\n"));
        let patch = if told.ends_with("src/a.py") { patch + "```\n" } else { patch };
        if let Ok(read) = Patch::read(patch.as_bytes(), Some(Format::SearchReplace), None) {
            let names: Vec<_> = read.request.files.iter().map(|file| file.path.display().to_string()).collect();
            assert!(names.len() == 2, "{told}: {names:?}");
        }
    }
}

#[test]
fn without_a_name_of_its_own_a_block_is_for_the_file_of_the_one_before() {
    for told in [
        "",
        "And then:",
        "In short:",
        "In the same file:",
        "## Changes\n\nNow the second part of the file:",
        "This turns `DEBUG` off, and calls `os.getcwd()`:",
        "The same in `src/a.py`, further down:",
        "What is in src/ and lib/test counts as well, and/or src/lib:",
        "It reads/writes version 1.5, e.g. for client/server use.",
        "```python",
        "```sh\npytest tests/test_b.py\n```\nAnd:\n```python",
    ] {
        let patch = format!("src/a.py\n{}\n{told}\n{}", block("x\n", "1\n"), block("1\n", "2\n"));
        let patch = if told.contains("```") { patch + "```\n" } else { patch };
        check(Format::SearchReplace, &BOTH, &patch, &[("src/a.py", "2\n"), ("src/b.py", "x\n")]);
    }
}

#[test]
fn a_word_of_code_in_a_sentence_is_no_name() {
    let patch = |told: &str| format!("src/a.py\n\n{told}\n{}", block("", "new\n"));
    for told in ["Run `pytest` afterwards:", "It has no `main` yet:"] {
        check(Format::SearchReplace, &[], &patch(told), &[("src/a.py", "new\n")]);
    }
    is_malformed(Format::SearchReplace, &patch("It mirrors `src/b.py`:"), "the path alone on a line of its own");
}

#[test]
fn what_looks_like_a_block_and_is_none_refuses_the_whole() {
    let good = format!("x\n{}", block("a\n", "b\n"));
    let odd = |head: &str, tail: &str| format!("{head}\nc\n=======\nd\n{tail}\n");
    for other in [
        odd("<<<<<<< search", ">>>>>>> replace"),
        odd("<<<<<<< ORIGINAL", ">>>>>>> UPDATED"),
        odd("<<<<<<<<<< SEARCH", ">>>>>>>>>> REPLACE"),
        odd("  <<<<<<< SEARCH", "  >>>>>>> REPLACE"),
        odd("<<<<<<<SEARCH", ">>>>>>>REPLACE"),
        odd("------- search", "+++++++ replace"),
        odd("--- SEARCH", "+++ REPLACE"),
        odd("<<<< SEARCH", ">>>> REPLACE"),
    ] {
        for patch in [format!("{good}\n{other}"), format!("x\n{other}\n{good}")] {
            is_malformed(Format::SearchReplace, &patch, "at the start of a line");
        }
    }
}

#[test]
fn a_heading_that_could_be_the_divider_is_refused() {
    let patch = |heading: &str, divider: &str| {
        format!("x\n<<<<<<< SEARCH\nTitle\n{heading}\n{divider}\nName\n====\n>>>>>>> REPLACE\n")
    };
    for (heading, divider) in [("=====", "=========="), ("=====", "===="), ("=====", "====== =")] {
        let patch = patch(heading, divider);
        is_malformed(Format::SearchReplace, &patch, "`=======`");
    }
    let same = "x\n<<<<<<< SEARCH\nHeading\n=======\n==========\nName\n>>>>>>> REPLACE\n";
    is_malformed(Format::SearchReplace, same, "one `=======` in a block");
    // Next to a divider of the right length, a longer or shorter line is text.
    let clear = "x\n<<<<<<< SEARCH\nTitle of it\n===========\n=======\nName\n====\n>>>>>>> REPLACE\n";
    check(Format::SearchReplace, &[("x", "Title of it\n===========\n")], clear, &[("x", "Name\n====\n")]);
    assert!(Patch::read(clear.as_bytes(), None, None).is_ok());
}
