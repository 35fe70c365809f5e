//! The test commands that documents and comments give: each of their filters names a test.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use crate::support::sources::{root, sources};

const COMMAND: &str = concat!("cargo test ", "--test it ");

/// The filters of the commands in a text. A command ends where its quotation does, or its line.
fn filters(text: &str) -> BTreeSet<String> {
    let given = text.replace("--release ", "");
    let commands = given.split(COMMAND).skip(1).filter_map(|rest| rest.split(['`', '"', '\n', '#', ')']).next());
    let words = commands.flat_map(str::split_whitespace).filter(|word| !word.starts_with('-'));
    words.map(|word| word.trim_end_matches([',', '.']).to_owned()).collect()
}

fn all_texts() -> Vec<(String, String)> {
    let folder = |name: &str| fs::read_dir(root().join(name)).unwrap().map(|entry| entry.unwrap().path());
    let documents = folder("").chain(folder("docs")).filter(|path| path.extension().is_some_and(|e| e == "md"));
    let documents = documents.chain([root().join(".ci/run")]);
    let mut texts: Vec<_> =
        documents.map(|path| (path.display().to_string(), fs::read_to_string(&path).unwrap())).collect();
    for folder in ["src", "tests", "benches", "examples"] {
        texts.extend(sources(folder).into_iter().map(|source| (source.path, source.text)));
    }
    texts
}

#[test]
fn every_filter_of_a_test_command_matches_a_test() {
    let listed = Command::new(std::env::current_exe().unwrap()).arg("--list").output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let tests: Vec<&str> = listed.lines().filter_map(|line| line.strip_suffix(": test")).collect();
    assert!(tests.len() > 500, "only {} tests were found", tests.len());
    let mut count = 0;
    let mut stale = Vec::new();
    for (name, text) in all_texts() {
        for filter in filters(&text) {
            count += 1;
            if !tests.iter().any(|test| test.contains(&filter)) {
                stale.push(format!("{name}: {filter}"));
            }
        }
    }
    assert!(count > 15, "only {count} filters were found");
    assert!(stale.is_empty(), "filters that match no test:\n{}", stale.join("\n"));
}

#[test]
fn the_filters_of_a_command_are_its_words() {
    let given = format!("`A=1 {COMMAND}-- a:: b::c --nocapture`; `{COMMAND}d`, {COMMAND}e\nno filter");
    assert_eq!(filters(&given), ["a::", "b::c", "d", "e"].map(str::to_owned).into());
    assert_eq!(filters("`cargo test --release --test it f -- --nocapture`"), ["f".to_owned()].into());
}
