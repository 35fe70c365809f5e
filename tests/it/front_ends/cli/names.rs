//! Names with control characters in answers for people: no name makes a line of its own, or speaks to the terminal.

use std::fs;

use serde_json::json;

use super::{Ran, Workspace};

/// A name that looks like an answer of its own, in red.
const NAME: &str = "a\nerror: all is lost\u{1b}[31m";

/// What people see of it.
const SEEN: &str = r"a\nerror: all is lost";

impl Ran {
    /// The name is told, on its line.
    #[track_caller]
    fn tells_the_name(&self) {
        let text = format!("{}{}", self.stdout, self.stderr);
        assert!(text.contains(SEEN), "{self:?}");
        assert!(!text.contains("\nerror: all is lost") && !text.contains("\u{1b}[31m"), "{self:?}");
    }
}

#[test]
fn a_name_is_one_line_in_every_answer() {
    let workspace = Workspace::new();
    workspace.write(NAME, "one\n");
    let plan = |from: &str, to: &str| {
        let edit = json!({"old_string": from, "new_string": to});
        workspace.write("plan", &json!({"files": [{"file_path": NAME, "edits": [edit]}]}).to_string());
    };
    let edit = |from, to| workspace.run(&["edit", NAME, "--old", from, "--new", to, "-v"]);
    edit("absent", "x").exits(1).tells_the_name();
    edit("one", "two").exits(0).tells_the_name();
    workspace.run(&["edit", NAME, "--old", "two", "--new", "three", "--dry-run"]).tells_the_name();
    workspace.run(&["log", "-v"]).exits(0).tells_the_name();
    let log = workspace.run(&["log", "--json"]).json();
    workspace.run(&["show", log["transactions"][0]["transaction_id"].as_str().unwrap()]).exits(0).tells_the_name();
    workspace.run(&["replace", "two", "three", "--dry-run", "-v"]).exits(0).tells_the_name();
    plan("two", "three");
    workspace.run(&["stage", "plan"]).exits(0);
    workspace.run(&["status"]).exits(0).tells_the_name();
    workspace.run(&["stage", "plan"]).exits(0).tells_the_name();
    workspace.write(NAME, "foreign\n");
    workspace.run(&["undo"]).tells_the_name();
    fs::remove_file(workspace.path().join(NAME)).unwrap();
    fs::create_dir(workspace.path().join(NAME)).unwrap();
    edit("two", "three").tells_the_name();
    workspace.write("plan", &json!({"files": [{"file_path": format!("{NAME}/../../x"), "content": "x"}]}).to_string());
    workspace.run(&["apply", "plan"]).tells_the_name();
    workspace.run(&["journal", NAME]).tells_the_name();
}

#[test]
fn a_name_does_not_turn_the_direction_of_a_diff() {
    let workspace = Workspace::new();
    for name in ["a\u{202e}txt.exe", "b\u{2066}c", "d\u{200f}e"] {
        workspace.write(name, "one\n");
        let turning = name.chars().find(|c| !c.is_ascii()).unwrap();
        let edit = |more: &[&str]| workspace.run(&[&["edit", name, "--old", "one", "--new", "two"], more].concat());
        let dry = edit(&["--dry-run"]);
        edit(&[]).exits(0);
        let log = workspace.run(&["log", "--json"]).json();
        let id = log["transactions"][0]["transaction_id"].as_str().unwrap().to_owned();
        let git = workspace.run(&["show", &id, "--format", "git"]);
        for ran in [&dry, &workspace.run(&["show", &id]), &workspace.run(&["show", &id, "--stat"]), &git] {
            assert!(!ran.exits(0).stdout.contains(turning), "{ran:?}");
        }
        // It is a patch for the same file all the same.
        workspace.write(name, "one\n").write("patch", &git.stdout);
        workspace.run(&["apply", "patch"]).exits(0);
        assert_eq!(fs::read_to_string(workspace.path().join(name)).unwrap(), "two\n");
    }
}

/// A search has its paths from the disk: this text is no byte of another name.
#[test]
fn a_name_like_an_escaped_byte_does_not_stop_a_search() {
    let workspace = Workspace::new();
    workspace.write(r"d/a\xff", "one\n").write("d/b", "one\n");
    workspace.run(&["replace", "one", "two"]).exits(0);
    for name in [r"d/a\xff", "d/b"] {
        assert_eq!(fs::read_to_string(workspace.path().join(name)).unwrap(), "two\n", "{name}");
    }
    workspace.run(&["undo"]).exits(0);
    // Where it is typed it may be from an answer.
    let typed = workspace.run(&["edit", r"d/a\xff", "--old", "one", "--new", "two"]);
    assert!(typed.exits(2).stderr.contains("is not UTF-8"), "{typed:?}");
}
