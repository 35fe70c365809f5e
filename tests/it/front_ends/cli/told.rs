//! Answers that were not quite true.

use std::fs;

use serde_json::json;

use super::{Workspace, run};

#[test]
fn a_log_that_lists_nothing_says_why() {
    let here = Workspace::new();
    here.write("in/a", "one\n");
    let log = |options: &[&str]| run(here.command(&[&["log", "--root", "in"], options].concat()).env("HOME", "/"));
    assert!(log(&[]).exits(0).stderr.contains("no transactions"));
    here.run(&["edit", "in/a", "--old", "one", "--new", "two", "--root", "in"]).exits(0);
    for (options, words) in [(&["--limit", "0"][..], "--limit 0"), (&["--path", "in/b"], "changed in/b")] {
        let ran = log(options);
        assert!(ran.exits(0).stderr.contains(words) && !ran.stderr.contains("no transactions"), "{ran:?}");
    }
    let outside = log(&["--path", ".env"]);
    assert!(
        outside.exits(2).stderr.contains("outside the root") && !outside.stderr.contains("absolute"),
        "{outside:?}"
    );
}

#[test]
fn lines_of_a_denied_file_are_not_counted_as_none() {
    let here = Workspace::new();
    here.write(".env", "KEY=one\n").write("a", "one\n");
    let entry = |path: &str| json!({"file_path": path, "edits": [{"old_string": "one", "new_string": "two"}]});
    here.write("plan", &json!({"files": [entry(".env"), entry("a")]}).to_string());
    let id = here.run(&["apply", "plan", "--json"]).exits(0).json()["transaction_id"].as_str().unwrap().to_owned();
    let show = here.run(&["show", &id, "--deny", ".env"]);
    assert!(!show.exits(0).stdout.contains("+0 -0") && show.stdout.contains("1 line added"), "{show:?}");
    assert!(show.stdout.contains("an unknown number in 1 file"), "{show:?}");
    let files = here.run(&["show", &id, "--deny", ".env", "--json"]).exits(0).json()["file_results"].clone();
    let of = |path: &str| files.as_array().unwrap().iter().find(|file| file["file_path"] == path).unwrap().clone();
    assert!(of(".env").get("added").is_none() && of("a")["added"] == 1, "{files}");
}

#[cfg(feature = "mcp")]
#[test]
fn the_help_of_the_server_is_about_the_server() {
    let help = Workspace::new().run(&["mcp", "--help"]);
    assert!(help.exits(0).stdout.starts_with("Serve MCP clients"), "{help:?}");
}

#[test]
fn an_edit_that_replaces_nothing_is_not_counted() {
    let here = Workspace::new();
    here.write("a", "one\ntwo\n");
    let edits = json!([{"old_string": "one", "new_string": "one"}, {"old_string": "two", "new_string": "2"}]);
    here.write("plan", &json!({"files": [{"file_path": "a", "edits": edits}]}).to_string());
    let json = here.run(&["apply", "plan", "--json", "--dry-run"]).exits(0).json();
    assert_eq!((&json["summary"]["total_edits"], &json["file_results"][0]["edits_applied"]), (&json!(1), &json!(1)));
    let told = here.run(&["apply", "plan"]);
    assert!(format!("{}{}", told.exits(0).stdout, told.stderr).contains("1 file, 1 edit"), "{told:?}");
}

#[test]
fn a_number_of_matches_that_is_told_can_be_asked_for() {
    let here = Workspace::new();
    let edit = |count: Option<u64>, old: &str| {
        let mut edit = json!({"old_string": old, "new_string": "x", "match": "tolerant"});
        if let Some(count) = count {
            edit["expected_matches"] = json!(count);
        }
        here.write("plan", &json!({"files": [{"file_path": "a", "edits": [edit]}]}).to_string());
        here.run(&["apply", "plan", "--json"])
    };
    // Some matches lie over others; only those that do not can be replaced together.
    for (content, old) in [("aaaaaa\n".to_owned(), "aa"), ("ab\n".repeat(5), "ab\nab"), ("ab \n".repeat(6), "ab\nab\n")]
    {
        here.write("a", &content);
        let refused = edit(None, old).exits(1).json();
        let told = refused["error"].as_str().unwrap().split("found ").nth(1).unwrap().split(' ').next().unwrap();
        assert_eq!(refused["context"]["total_matches"].as_u64(), told.parse().ok(), "{refused}");
        edit(told.parse().ok(), old).exits(0);
    }
    here.write("a", "aaa\n");
    let refused = edit(None, "aa").exits(1).json();
    assert!(
        refused["error"]
            .as_str()
            .unwrap()
            .contains("found 2 times, one over the other, expected 1: add text around it"),
        "{refused}"
    );
    assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), "aaa\n");
}
