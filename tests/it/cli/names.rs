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
