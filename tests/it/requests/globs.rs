//! Globs of denials fit what git fits by the same line of a `.gitignore`.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use txedit::Bounds;

/// The same ones every time.
const CASES: usize = 800;

const PARTS: &[&str] = &[
    "a",
    "b",
    "A",
    "/",
    "/",
    "*",
    "**",
    "?",
    "/**/",
    "**/",
    "/**",
    "***/",
    "[ab]",
    "[!a]",
    "[^b]",
    "[a-c]",
    "[[:alpha:]]",
    "[[:digit:]]",
    "[^[:alpha:]]",
    "[\\]a]",
    "[]a]",
    "\\*",
    "1",
    "ab",
    "[!A]",
    "[!a-c]",
    "[^A-C]",
    "[![:lower:]]",
    "[[:upper:]]",
    "[a-c--e]",
    "[--c]",
    "[!--9]",
    "[a-c-e]",
    "[a&&b]",
    "[a~~b]",
    "[a-\\c]",
    "[é]",
    "--",
    "{a}",
    "{a,b}",
    "{{a}}",
    "{a/b}",
    "}",
    "é",
];
const NAMES: [&str; 20] = [
    "a", "b", "ab", "B", "1", "]", "*", "ba", "abc", "c1", "A", "AB", "-", "--", "{a}", "{a,b}", "{{a}}", "&", "é",
    "aé",
];

fn git(root: &Path, arguments: &[&str], input: &str) -> String {
    let mut git = Command::new("git");
    git.current_dir(root).args(arguments);
    let mut child = git.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

/// What git ignores of these paths, which are not there, where case counts or where it does not.
fn ignored<'p>(root: &Path, glob: &str, paths: &'p [String]) -> Vec<&'p String> {
    fs::write(root.join(".gitignore"), format!("{glob}\n")).unwrap();
    let told = ["core.ignoreCase=true", "core.ignoreCase=false"]
        .map(|case| git(root, &["-c", case, "check-ignore", "--no-index", "-z", "--stdin"], &paths.join("\0")));
    let told: Vec<&str> = told.iter().flat_map(|told| told.split('\0')).collect();
    paths.iter().filter(|path| told.contains(&path.as_str())).collect()
}

#[test]
fn what_git_ignores_is_denied() {
    if Command::new("git").arg("--version").output().is_err() {
        eprintln!("skipped: git is not installed");
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    git(scratch.path(), &["init", "-q"], "");
    let mut runner = TestRunner::deterministic();
    let globs = vec(select(PARTS), 1..6).prop_map(|parts| parts.concat());
    let paths = vec(vec(select(NAMES.to_vec()), 1..4).prop_map(|names| names.join("/")), 12);
    let mut fitting = 0;
    for _ in 0..CASES {
        let glob = globs.new_tree(&mut runner).unwrap().current();
        let paths = paths.new_tree(&mut runner).unwrap().current();
        // What can fit nothing is refused.
        let Ok(bounds) = Bounds::default().denying([glob.as_str()]) else { continue };
        let denied: Vec<_> = paths.iter().filter(|path| bounds.bars(path.as_ref()).is_some()).collect();
        let ignored = ignored(scratch.path(), &glob, &paths);
        fitting += ignored.len();
        assert!(ignored.iter().all(|path| denied.contains(path)), "{glob:?}: {ignored:?}, not {denied:?}");
        // Where there are several ways to read a glob, more is denied.
        let is_plain = paths.iter().all(|path| path.is_ascii())
            && !["**", "[!", "[^", "{"].into_iter().any(|sign| glob.contains(sign));
        assert!(!is_plain || denied == ignored, "{glob:?}: {ignored:?}, not {denied:?}");
    }
    assert!(fitting > CASES, "{fitting}");
}
