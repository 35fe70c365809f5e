//! What a campaign can do in each workspace, and what is refused before anything is planned.

use std::fs;

use serde_json::json;

use super::{NEW, OLD, all_are, campaign, contents, new, numbers, planned, reports, repositories};

#[test]
fn a_plan_has_the_variables_of_each_workspace() {
    let here = repositories(2);
    let line = |number: usize, to: &str| json!({ "root": format!("repos/{number:02}"), "name": format!("n{number}"), "vars": { "to": to, "file": "a.rs" } });
    here.write("list.jsonl", &format!("# both\n{}\n\n{}\n", line(0, "\"}, {"), line(1, "{{file}} & {{more}}")));
    let edits = json!([{ "old_string": "greet", "new_string": "{{to}} {{other}}" }]);
    here.write("plan.json", &json!({ "files": [{ "file_path": "{{file}}", "edits": edits }] }).to_string());
    new(&here, &["--workspaces", "list.jsonl", "--plan", "plan.json"]).exits(0);
    assert_eq!(numbers(&campaign(&here, &["run"]).exits(0).json()), "2 done");
    let read = |name: &str| fs::read_to_string(here.path().join("repos").join(name)).unwrap();
    assert_eq!(read("00/a.rs"), "\"}, { {{other}}();\n");
    assert_eq!(read("01/a.rs"), "{{file}} & {{more}} {{other}}();\n");
    assert_eq!(reports(&here).iter().filter(|report| report["name"] == "n0").count(), 1);
}

#[test]
fn a_plan_is_printed_by_a_command() {
    let here = repositories(4);
    let print = r#"case "$TXEDIT_WORKSPACE" in
        */02) ;;
        */03) echo not today >&2; exit 4 ;;
        *) printf '{"files": [{"file_path": "NEW", "content": "%s"}]}' "$(basename "$PWD") $TXEDIT_WORKSPACE" ;;
    esac"#;
    new(&here, &["--workspaces", "repos/*", "--plan-command", print]).exits(0);
    let ran = campaign(&here, &["run"]).exits(1).json();
    assert_eq!(numbers(&ran), "2 done, 1 nothing_to_do, 1 failed");
    let failure = &ran["failures"][0];
    assert_eq!((&failure["error_code"], &failure["retryable"]), (&json!("PROGRAM_FAILED"), &json!(false)));
    assert!(failure["example"]["error"].as_str().unwrap().contains("not today"), "{failure}");
    assert_eq!(fs::read_to_string(here.path().join("repos/01/NEW")).unwrap(), "01 repos/01");
    // One that asks for a dry run makes nothing, and that is a failure.
    fs::remove_dir_all(here.path().join("c")).unwrap();
    let print = r#"echo '{"dry_run": true, "files": [{"file_path": "x", "content": ""}]}'"#;
    new(&here, &["--workspaces", "repos/*", "--plan-command", print]).exits(0);
    assert_eq!(numbers(&campaign(&here, &["run"]).exits(1).json()), "4 failed");
}

#[test]
fn a_patch_a_search_and_a_program_are_made_in_each() {
    let patch = "--- a/a.rs\n+++ b/a.rs\n@@ -1 +1 @@\n-greet();\n+hello(greet());\n";
    let search = ["--replace", "greet()", "hello(greet())"];
    let program = ["--run", "sed -i 's/greet()/hello(greet())/' a.rs b.rs \"$TXEDIT_VAR_sub\"/c.rs"];
    for (action, changed) in [(&["--patch", "p"][..], 1), (&search, 3), (&program, 3)] {
        if action[0] == "--run" && !super::super::view::is_here() {
            continue;
        }
        let here = repositories(2);
        here.write("p", patch);
        let line = |number: usize| json!({ "root": format!("repos/{number:02}"), "vars": { "sub": "sub" } });
        here.write("list", &format!("{}\n{}\n", line(0), line(1)));
        new(&here, &[&["--workspaces", "list"], action].concat()).exits(0);
        let ran = campaign(&here, &["run"]).exits(0).json();
        assert_eq!((numbers(&ran), &ran["files_edited"]), ("2 done".into(), &json!(2 * changed)), "{action:?}");
        assert!(contents(&here, "01").contains(NEW), "{action:?}");
        // A retry of a search or a program finds other files, and is told by the key.
        fs::remove_dir_all(here.path().join("c/reports")).unwrap();
        assert_eq!(numbers(&campaign(&here, &["run"]).exits(0).json()), "2 done");
        assert!(reports(&here).iter().all(|report| report["already_applied"] == true), "{action:?}");
        assert_eq!(numbers(&campaign(&here, &["undo"]).exits(0).json()), "2 undone");
        all_are(&here, OLD);
    }
}

#[test]
fn what_there_is_nothing_of_is_no_failure_of_a_search() {
    let here = repositories(2);
    for name in super::FILES {
        here.write(&format!("repos/00/{name}"), "other\n");
    }
    new(&here, &["--workspaces", "repos/*", "--replace", "greet", "hello", "--word", "--glob", "*.rs"]).exits(0);
    assert_eq!(numbers(&campaign(&here, &["run"]).exits(0).json()), "1 done, 1 nothing_to_do");
    assert_eq!(numbers(&campaign(&here, &["undo"]).exits(0).json()), "1 nothing_to_do, 1 undone");
}

#[test]
fn a_command_that_prints_a_plan_is_not_run_again_once_that_is_made() {
    let here = repositories(2);
    let log = here.path().join("log");
    let print = format!(
        r#"echo x >> '{}'; grep -q 'hello' a.rs || printf '{{"files": [{{"file_path": "a.rs", "content": "hello"}}]}}'"#,
        log.display()
    );
    let print = print.replace("\"content\": \"hello\"", "\"content\": \"hello\", \"if_exists\": \"replace\"");
    new(&here, &["--workspaces", "repos/*", "--plan-command", &print]).exits(0);
    assert_eq!(numbers(&campaign(&here, &["run"]).exits(0).json()), "2 done");
    fs::remove_dir_all(here.path().join("c/reports")).unwrap();
    assert_eq!(numbers(&campaign(&here, &["run"]).exits(0).json()), "2 done");
    assert_eq!(fs::read_to_string(&log).unwrap(), "x\nx\n");
    assert_eq!(numbers(&campaign(&here, &["undo"]).exits(0).json()), "2 undone");
    assert_eq!(numbers(&campaign(&here, &["run", "--again"]).exits(0).json()), "2 done");
}

#[test]
fn what_the_environment_denies_when_it_is_planned_is_denied_to_all() {
    let here = repositories(1);
    let line = ["campaign", "new", "c", "--json", "--workspaces", "repos/*", "--replace", "greet", "hello"];
    super::super::run(here.command(&line).env("TXEDIT_DENY", "b.rs:sub")).exits(0);
    assert_eq!(campaign(&here, &["run"]).exits(0).json()["files_edited"], 1);
    assert_eq!(fs::read_to_string(here.path().join("repos/00/b.rs")).unwrap(), OLD);
    let mut retried = here.command(&["campaign", "retry", "c", "--json"]);
    super::super::run(retried.env("TXEDIT_DENY", "*.rs")).exits(2);
}

#[test]
fn the_options_that_it_was_planned_with_hold_for_all_attempts() {
    let here = repositories(2);
    let check = "test \"$TXEDIT_WORKSPACE\" = repos/00";
    new(&here, &["--workspaces", "repos/*", "--replace", "greet", "hello", "--check", check]).exits(0);
    let ran = campaign(&here, &["run"]).exits(1).json();
    assert_eq!((numbers(&ran), &ran["failures"][0]["error_code"]), ("1 done, 1 failed".into(), &json!("CHECK_FAILED")));
    assert_eq!(contents(&here, "01"), [OLD.to_owned()].into());
    // Another check, or none where the environment names one, would be another campaign.
    for more in [&["--check", "true"][..], &["--deny", "*.rs"], &["--durability", "process"]] {
        let refused = campaign(&here, &[&["retry", "--failed"], more].concat()).exits(2).json();
        assert!(refused.to_string().contains("is not what the campaign was planned with"), "{refused}");
    }
    let mut command = here.command(&["campaign", "retry", "c", "--json", "--failed"]);
    super::super::run(command.env("TXEDIT_CHECK", "true")).exits(2);
    assert_eq!(reports(&here).len(), 2);
}

#[test]
fn what_cannot_be_planned_makes_no_folder() {
    let here = planned(2);
    fs::remove_dir_all(here.path().join("c")).unwrap();
    here.write("bad.json", "{\"files\": [{\"file_path\": \"a.rs\", \"edits\": []}]}")
        .write("p", "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n");
    here.write("dry.json", "{\"dry_run\": true, \"files\": [{\"file_path\": \"x\", \"content\": \"\"}]}");
    here.write("vars", "{\"root\": \"repos/00\", \"vars\": {\"x\": \"1\"}}\nrepos/01\n");
    let plan = ["--plan", "plan.json"];
    let check = json!({ "check": ["sh", "-c", "echo {{root}}"], "files": [{ "file_path": "x", "content": "" }] });
    here.write("check.json", &check.to_string()).write("empty", "");
    for line in [
        &["--workspaces", "repos/*", "--plan", "check.json", "--allow-checks"][..],
        &["--workspaces", "repos/*", "--plan", "empty"],
        &["--workspaces", "repos/*", "--run", ""],
        &["--workspaces", "repos/*"],
        &["--workspaces", "nowhere/*", "--plan", "plan.json"],
        &["--workspaces", "repos/*", "repos/01", "--plan", "plan.json"],
        &["--workspaces", "vars", "--plan", "plan.json"],
        &["--workspaces", "repos/*", "--plan", "bad.json"],
        &["--workspaces", "repos/*", "--plan", "p"],
        &["--workspaces", "repos/*", "--patch", "plan.json"],
        &["--workspaces", "repos/*", "--plan", "plan.json", "--run", "true"],
        &["--workspaces", "repos/*", "--plan", "plan.json", "--word"],
        &["--workspaces", "repos/*", "--plan", "dry.json"],
        &["--workspaces", "repos/*", "repos/00/sub", "--plan", "plan.json"],
        &["--workspaces", ".", "--plan", "plan.json"],
        &["--workspaces", "repos/*", "--run", "echo {{workspace}}"],
        &["--workspaces", "repos/*", "--plan-command", "echo '{{root}}'"],
        &["--workspaces", "repos/*", "--plan", "plan.json", "--check", "test {{workspace}}"],
        &["--workspaces", "repos/*", "--replace", "(", "x", "--regex"],
        &["--workspaces", "repos/*", "--replace", "", "x"],
        &["--workspaces", "repos/*", "--plan", "plan.json", "--root", "repos"],
        &["--workspaces", "repos/*", "--plan-command", "cat plan.json", "--shard-by", "folder"],
    ] {
        new(&here, line).exits(2);
        assert!(!here.path().join("c").exists(), "{line:?}");
    }
    for name in ["", ".hidden", "a b", "/", "-dash", "a$b"] {
        let name = if name.starts_with('-') { format!("./{name}") } else { name.to_owned() };
        let line = ["campaign", "new", &name, "--json", "--workspaces", "repos/*"];
        here.run(&[&line[..], &plan].concat()).exits(2);
    }
    new(&here, &["--workspaces", "repos/*", "--plan", "plan.json"]).exits(0);
    let again = new(&here, &["--workspaces", "repos/*", "--plan", "plan.json"]).exits(2).json();
    assert_eq!(again["error_code"], "FILE_EXISTS");
}
