//! The first minute of README.md, as its reader would take it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const README: &str = include_str!("../../README.md");

/// The blocks of one language in one section.
fn blocks(section: &str, language: &str) -> Vec<&'static str> {
    let (_, from) = README.split_once(&format!("\n## {section}\n")).unwrap();
    let section = from.split("\n## ").next().unwrap();
    let opening = format!("```{language}\n");
    section.split(&opening).skip(1).map(|from| from.split("```").next().unwrap()).collect()
}

/// What a shell makes of `script` in `folder`, with this very txedit.
fn sh(folder: &Path, script: &str) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_txedit"));
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    Command::new("sh").args(["-c", script]).current_dir(folder).env("PATH", path).output().unwrap()
}

#[test]
fn the_first_minute_goes_as_told() {
    let folder = tempfile::tempdir().unwrap();
    let [setup, minute] = blocks("The first minute", "sh")[..] else { panic!("two scripts are expected") };
    let [plan] = blocks("The first minute", "json")[..] else { panic!("one plan is expected") };
    assert!(sh(folder.path(), setup).status.success());
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
