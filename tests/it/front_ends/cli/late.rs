//! A program that has a new file open while the check fails, and writes when the file is rolled back: its bytes stay, and
//! are told.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::Workspace;

/// What `status` warns of.
fn warnings(here: &Workspace) -> Vec<String> {
    let json = here.run(&["status", "--json"]).exits(0).json();
    let warnings = json["warnings"].as_array().into_iter().flatten();
    warnings.map(|warning| warning.as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_is_written_late_into_what_was_rolled_back_is_told() {
    let here = Workspace::new();
    here.write(".git/HEAD", "").write("notes", "one\n").write("other", "one\n");
    // `{ sleep 2; echo precious; } >> notes`, but that it waits for a word and not for the time.
    let script = "until test -e checking; do sleep 0.02; done
        { touch opened; read go; echo precious; } >> notes";
    let mut writer = Command::new("sh");
    let mut writer = writer.args(["-c", script]).current_dir(here.path()).stdin(Stdio::piped()).spawn().unwrap();
    let check = "touch checking; until test -e opened; do sleep 0.02; done; exit 1";
    let ran = here.run(&["edit", "notes", "--old", "one", "--new", "two", "--check", check, "--json"]);
    assert_eq!(ran.exits(7).json()["outcome"], "rolled_back", "{ran:?}");
    assert_eq!(fs::read_to_string(here.path().join("notes")).unwrap(), "one\n");
    assert_eq!(warnings(&here), Vec::<String>::new());

    writer.stdin.take().unwrap().write_all(b"go\n").unwrap();
    assert!(writer.wait().unwrap().success());
    // A commit by the way deletes nothing of it.
    here.run(&["edit", "other", "--old", "one", "--new", "two"]).exits(0);
    let told = warnings(&here);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("notes was written after it was rolled back"), "{told:?}");
    let path = told[0].split("what it wrote is in ").nth(1).and_then(|rest| rest.split(',').next()).unwrap();
    assert_eq!(fs::read_to_string(path).unwrap(), "two\nprecious\n");
    assert_eq!(fs::read_to_string(here.path().join("notes")).unwrap(), "one\n");
    assert_eq!(here.run(&["status", "--json"]).exits(0).json()["interrupted"], Value::Array(Vec::new()));
}
