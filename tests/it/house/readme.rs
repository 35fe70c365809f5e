//! The transcript and the recipes of README.md, and the first minute of docs/cli.md, as their reader would take them.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::sources::root;

/// The blocks of one language in one section of a document; the empty section is what stands before the first.
pub(crate) fn blocks(document: &str, section: &str, language: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(document)).unwrap();
    let heading = format!("\n## {section}\n");
    let from = if section.is_empty() { &text } else { text.split_once(&heading).unwrap().1 };
    let section = from.split("\n## ").next().unwrap();
    let opening = format!("```{language}\n");
    section.split(&opening).skip(1).map(|from| from.split("```").next().unwrap().to_owned()).collect()
}

/// The two files of the first minute.
pub(crate) fn two_files(folder: &Path) {
    let [setup, _] = &blocks("docs/cli.md", "The first minute", "sh")[..] else { panic!("two scripts are expected") };
    assert!(sh(folder, setup).status.success());
}

/// What a shell makes of `script` in `folder`, with this very txedit.
pub(crate) fn sh(folder: &Path, script: &str) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_txedit"));
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    Command::new("sh").args(["-c", script]).current_dir(folder).env("PATH", path).output().unwrap()
}

#[test]
fn the_first_minute_goes_as_told() {
    let folder = tempfile::tempdir().unwrap();
    let [_, minute] = &blocks("docs/cli.md", "The first minute", "sh")[..] else { panic!("two scripts are expected") };
    let [plan] = &blocks("docs/cli.md", "The first minute", "json")[..] else { panic!("one plan is expected") };
    two_files(folder.path());
    fs::write(folder.path().join("plan.json"), plan).unwrap();

    let untouched = fs::read_to_string(folder.path().join("src/main.rs")).unwrap();
    let commands: Vec<&str> = minute.lines().collect();
    let [dry_run, apply, log, undo, edit] = commands[..] else { panic!("five commands are expected") };
    let out = |command| {
        let output = sh(folder.path(), command);
        let both = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(both).unwrap())
    };

    let (done, told) = out(dry_run);
    assert!(done && told.contains("+pub fn welcome() {"), "{told}");
    assert!(!folder.path().join(".txedit").exists(), "a dry run writes nothing");
    let (done, told) = out(apply);
    assert!(done && told.contains(": 3 files, 3 edits"), "{told}");
    assert!(folder.path().join("src/welcome.rs").exists() && !folder.path().join("src/greet.rs").exists());
    let (done, told) = out(log);
    assert!(done && told.contains("greet becomes welcome"), "{told}");
    let (done, told) = out(undo);
    assert!(done && told.contains("undone by "), "{told}");
    assert!(folder.path().join("src/greet.rs").exists() && !folder.path().join("src/welcome.rs").exists());
    assert_eq!(fs::read_to_string(folder.path().join("src/main.rs")).unwrap(), untouched);
    let (_, told) = out(edit);
    assert!(told.contains("found 3 times") && told.lines().any(|line| line == "1"), "{told}");
}

/// Whether `told` is what the transcript shows: `…` stands for the rest of a line, an id for any id, and lines may be
/// left out.
fn is_shown(shown: &str, told: &str) -> bool {
    let mut told = told.lines();
    let is_id = |word: &str| word.len() > 30 && word.contains("Z-");
    let same = |shown: &str, line: &str| {
        if let Some(start) = shown.strip_suffix('…') {
            return line.starts_with(start);
        }
        let mut words = shown.split(' ').zip(line.split(' '));
        shown.split(' ').count() == line.split(' ').count() && words.all(|(a, b)| a == b || (is_id(a) && is_id(b)))
    };
    shown.lines().all(|shown| told.any(|line| same(shown, line)))
}

#[test]
fn the_transcript_is_what_happens() {
    let folder = tempfile::tempdir().unwrap();
    two_files(folder.path());
    let text = fs::read_to_string(root().join("README.md")).unwrap();
    let transcript = text.split_once("```console\n$ ").unwrap().1.split("```").next().unwrap();
    let steps: Vec<_> = transcript.split("\n$ ").map(|step| step.split_once('\n').unwrap_or((step, ""))).collect();
    let [(cat, plan), steps @ ..] = &steps[..] else { panic!("a plan is expected") };
    assert_eq!(*cat, "cat plan.json");
    fs::write(folder.path().join("plan.json"), plan).unwrap();
    let main = || fs::read_to_string(folder.path().join("src/main.rs")).unwrap();
    let before = main();
    let mut contents = Vec::new();
    for (command, shown) in steps {
        let output = sh(folder.path(), &format!("exec 2>&1; {command}"));
        let told = String::from_utf8(output.stdout).unwrap();
        assert!(is_shown(shown, &told), "{command} tells\n{told}\nand not\n{shown}");
        contents.push(main());
    }
    let [failed, _, committed, undone] = &contents[..] else { panic!("four commands are expected") };
    assert!(*failed == before && committed.contains("greet::welcome()") && *undone == before, "{contents:?}");
}

#[test]
fn the_recipes_do_what_they_say() {
    let [diff, blocks, replace, check, program, undo] = &blocks("README.md", "Recipes", "sh")[..] else {
        panic!("six recipes are expected")
    };
    let folder = tempfile::tempdir().unwrap();
    let (here, other) = (folder.path().join("here"), folder.path().join("other"));
    for project in [&here, &other] {
        fs::create_dir(project).unwrap();
        two_files(project);
        let made = sh(project, "git init -q && git add . && git -c user.name=a -c user.email=a@b commit -q -m a");
        assert!(made.status.success(), "{made:?}");
    }
    // The project itself is not compiled: what is asked here is who decides.
    let tools = "cargo() { [ \"$1\" = check ] && exit \"${VERDICT:-0}\"; }\n";
    fs::create_dir(folder.path().join("bin")).unwrap();
    sh(folder.path(), &format!("printf '#!/bin/sh\\n%s\\ncargo \"$@\"\\n' '{tools}' > bin/cargo; chmod +x bin/cargo"));
    let run = |script: &str| {
        let output = sh(&here, &format!("export PATH=\"{}/bin:$PATH\"; exec 2>&1; {script}", folder.path().display()));
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    let greet = |project: &Path| fs::read_to_string(project.join("src/greet.rs")).unwrap();
    let main = || fs::read_to_string(here.join("src/main.rs")).unwrap();

    fs::write(here.join("src/greet.rs"), greet(&here).replace("hello", "bye")).unwrap();
    let (done, told) = run(diff);
    assert!(done && greet(&other).contains("bye"), "{told}");
    fs::write(here.join("src/greet.rs"), greet(&here).replace("bye", "hello")).unwrap();

    let (done, told) = run(blocks);
    assert!(done && greet(&here).contains("\"welcome\""), "{told}");

    let before_check = main();
    let (done, told) = run(&format!("export VERDICT=1; {check}"));
    assert!(!done && main() == before_check, "{told}");
    let (done, told) = run(check);
    assert!(done && main().contains("greet::greeting()"), "{told}");

    let (done, told) = run(undo);
    assert!(done && told.contains("+    greet::greeting();") && told.contains("dry run"), "{told}");
    assert_eq!(main(), before_check);

    let (done, told) = run(program);
    assert!(done && greet(&here).contains("\"hello\""), "{told}");

    let (done, told) = run(replace);
    assert!(done && told.contains("4 matches in 2 files") && main().contains("welcome::welcome()"), "{told}");
    let (done, told) = run(replace);
    assert!(!done, "another number of matches is refused: {told}");
}

/// What the table says of tools that are everywhere.
#[test]
fn the_table_is_true_of_other_tools() {
    let folder = tempfile::tempdir().unwrap();
    let long = "long line\n".repeat(1000);
    for (name, content) in [("a", "old\n".to_owned()), ("b", format!("old\n{long}"))] {
        fs::write(folder.path().join(name), content).unwrap();
    }
    let run = |script: &str| sh(folder.path(), script).status.success();
    let first = || fs::read_to_string(folder.path().join("a")).unwrap();

    assert!(run("sed -i s/missing/new/ a"), "no match is no failure");
    assert!(!run("sed -i s/old/new/ a missing b") && first() == "new\n", "file by file");

    assert!(run("git init -q && git add . && sed -i s/new/newer/ a b && git diff > patch && git checkout -q ."));
    assert!(run("sed s/long/short/ patch > wrong") && !run("git apply wrong"), "a patch that does not fit");
    assert_eq!(first(), "new\n", "all patches are checked first");
    assert!(!run("ulimit -f 1; git apply patch"), "the second file is larger than it may write");
    assert_eq!(first(), "newer\n", "no rollback if a write then fails");
}

/// What the table says of tools that must be installed for it; one that is not here is skipped.
#[test]
fn the_table_is_true_of_sd_and_ast_grep() {
    let folder = tempfile::tempdir().unwrap();
    let run = |script: &str| sh(folder.path(), script).status;
    let write = |name: &str| fs::write(folder.path().join(name), "old(1)\n").unwrap();
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    ["a.js", "b.js"].into_iter().for_each(write);
    if run("command -v sd").success() {
        assert!(run("sd missing new a.js").success(), "without a match it succeeds");
        assert!(!run("sd old new a.js nowhere b.js").success() && read("a.js") == "new(1)\n", "file by file");
        ["a.js", "b.js"].into_iter().for_each(write);
    } else {
        eprintln!("skipped: sd is not installed");
    }
    if run("command -v ast-grep").success() {
        let missing = run("ast-grep run -p 'nowhere($A)' -r 'new($A)' -U a.js");
        assert_eq!(missing.code(), Some(1), "without a match only the exit status tells");
        // A file that may not become so long, behind one that may.
        let long = format!("{}old(2)\n", "long(1)\n".repeat(1000));
        fs::write(folder.path().join("b.js"), long).unwrap();
        let failed = run("ulimit -f 1; ast-grep run -j 1 -p 'old($A)' -r 'new($A)' -U a.js b.js");
        assert!(!failed.success() && read("a.js") == "new(1)\n" && read("b.js").contains("old(2)"), "file by file");
    } else {
        eprintln!("skipped: ast-grep is not installed");
    }
}
