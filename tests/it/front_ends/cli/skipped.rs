//! Files and texts that may be missing, plans that were reviewed, and campaigns.

use std::fs;

use serde_json::{Value, json};

use super::Workspace;

const PLAN: &str = "plan.json";

fn edit(path: &str, more: &Value) -> Value {
    let mut file = json!({"file_path": path, "edits": [{"old_string": "one", "new_string": "two"}]});
    file.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    file
}

fn plan(here: &Workspace, files: &[Value]) {
    here.write(PLAN, &json!({ "files": files }).to_string());
}

fn read(here: &Workspace, name: &str) -> String {
    fs::read_to_string(here.path().join(name)).unwrap()
}

fn applied(here: &Workspace, status: i32) -> Value {
    here.run(&["apply", PLAN, "--json"]).exits(status).json()
}

#[test]
fn what_may_be_missing_is_left_out_and_the_rest_is_done() {
    let here = Workspace::new();
    here.write("a", "one\n").write("b", "other\n").write("taken", "stays\n").write("empty", "");
    let skip = json!({"if_missing": "skip"});
    let moved = json!({"file_path": "gone/d", "rename_to": "taken", "if_missing": "skip"});
    let deleted = json!({"file_path": "gone/e", "delete": true, "if_missing": "skip"});
    plan(
        &here,
        &[edit("a", &json!({})), edit("b", &skip), edit("gone/c", &skip), moved, deleted, edit("empty", &skip)],
    );
    let answer = applied(&here, 0);
    assert!(answer["transaction_id"].is_string() && answer["outcome"].is_null(), "{answer}");
    let told = answer["file_results"].as_array().unwrap();
    let told: Vec<_> = told.iter().map(|file| (file["operation"].as_str().unwrap(), &file["skipped"])).collect();
    let yes = json!(true);
    let none = ("none", &Value::Null);
    assert_eq!(told, [("edit", &Value::Null), none, ("none", &yes), ("none", &yes), ("none", &yes), none]);
    assert_eq!(answer["file_results"][1]["edits"][0]["matched"], false);
    assert_eq!((answer["files_edited"].as_u64(), read(&here, "a").as_str()), (Some(1), "two\n"));
    assert_eq!((read(&here, "b").as_str(), read(&here, "taken").as_str()), ("other\n", "stays\n"));
}

#[test]
fn a_request_about_nothing_that_is_there_has_an_outcome_and_a_status_of_its_own() {
    let here = Workspace::new();
    here.write("b", "other\n");
    let skip = json!({"if_missing": "skip"});
    plan(&here, &[edit("b", &skip), edit("gone", &skip)]);
    let answer = applied(&here, 9);
    assert_eq!((&answer["success"], &answer["outcome"]), (&json!(true), &json!("nothing_to_do")), "{answer}");
    assert!(answer["transaction_id"].is_null(), "{answer}");
    let dry = here.run(&["apply", PLAN, "--dry-run", "--json"]);
    assert_eq!(dry.exits(9).json()["outcome"], "nothing_to_do");
    let told = here.run(&["apply", PLAN]);
    assert!(told.exits(9).stdout.contains("nothing to do"), "{}", told.stdout);
    assert!(here.run(&["log", "--json"]).exits(0).json()["transactions"].as_array().unwrap().is_empty());
    // What changes nothing for another reason is done.
    let itself = json!({"file_path": "b", "edits": [{"old_string": "other", "new_string": "other"}]});
    plan(&here, &[itself]);
    assert!(applied(&here, 0)["outcome"].is_null());
}

/// Only what is missing may be: everything else is refused as without it.
#[test]
fn what_is_there_and_does_not_fit_is_refused_all_the_same() {
    let here = Workspace::new();
    here.write("a", "one one\n").write("folder/f", "").write("b", "one\n");
    let skip = json!({"if_missing": "skip"});
    for (path, code) in [("a", "AMBIGUOUS_MATCH"), ("folder", "NOT_A_REGULAR_FILE"), ("../x", "PATH_TRAVERSAL")] {
        plan(&here, &[edit("b", &json!({})), edit(path, &skip)]);
        let ran = here.run(&["apply", PLAN, "--json"]);
        let answer = ran.json();
        let codes = answer["errors"].as_array().into_iter().flatten().map(|finding| &finding["code"]);
        assert!(codes.chain([&answer["error_code"]]).any(|found| *found == json!(code)), "{path}: {answer}");
        assert_eq!(read(&here, "b"), "one\n");
    }
    for (file, message) in [
        (json!({"file_path": "x", "content": "", "if_missing": "skip"}), "`if_missing` goes with"),
        (edit("b", &json!({"if_missing": "perhaps"})), "`if_missing` takes"),
    ] {
        plan(&here, &[file]);
        assert!(applied(&here, 2).to_string().contains(message));
    }
    plan(&here, &[edit("gone", &skip)]);
    let staged = here.run(&["stage", PLAN, "--json"]);
    assert!(staged.exits(2).stdout.contains("stage what is there"), "{}", staged.stdout);
}

#[test]
fn an_edit_says_by_itself_whether_its_text_may_be_missing() {
    let here = Workspace::new();
    here.write("a", "one one\n");
    let edits = json!([
        {"old_string": "none", "new_string": "x", "if_missing": "skip"},
        {"old_string": "one", "new_string": "two", "replace_all": true, "if_missing": "skip"},
    ]);
    plan(&here, &[json!({"file_path": "a", "edits": edits})]);
    applied(&here, 0);
    assert_eq!(read(&here, "a"), "two two\n");
    let edits = json!([{"old_string": "none", "new_string": "x", "if_missing": "fail"}]);
    plan(&here, &[json!({"file_path": "a", "edits": edits, "if_missing": "skip"})]);
    assert_eq!(applied(&here, 1)["error_code"], "MATCH_NOT_FOUND");
}

/// What was reviewed is what is applied.
#[test]
fn a_plan_is_committed_only_as_the_dry_run_showed_it() {
    let here = Workspace::new();
    here.write("a", "one\n").write("b", "one\n");
    plan(&here, &[edit("a", &json!({})), edit("b", &json!({}))]);
    let dry = |here: &Workspace| {
        let answer = here.run(&["apply", PLAN, "--dry-run", "--json"]).exits(0).json();
        answer["plan_hash"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    let seen = dry(&here);
    here.write("b", "one more\n");
    let refused = here.run(&["apply", PLAN, "--plan-hash", &seen, "--json"]).exits(3).json();
    assert_eq!((&refused["error_code"], &refused["outcome"]), (&json!("HASH_MISMATCH"), &json!("unchanged")));
    assert!(refused["recovery_hint"].as_str().unwrap().contains("--dry-run"), "{refused}");
    assert_eq!((read(&here, "a").as_str(), read(&here, "b").as_str()), ("one\n", "one more\n"));
    let seen = dry(&here);
    here.run(&["apply", PLAN, "--plan-hash", &seen, "--dry-run"]).exits(0);
    here.run(&["apply", PLAN, "--plan-hash", &seen]).exits(0);
    assert_eq!((read(&here, "a").as_str(), read(&here, "b").as_str()), ("two\n", "two more\n"));
    // A report of a tool that finds nothing by now is another plan, too.
    here.write("nothing.json", "[]");
    let nothing = ["apply", "nothing.json", "--format", "eslint", "--json"];
    assert_eq!(
        here.run(&[&nothing[..], &["--plan-hash", &seen]].concat()).exits(3).json()["error_code"],
        "HASH_MISMATCH"
    );
    let dry_nothing = here.run(&[&nothing[..], &["--dry-run"]].concat()).exits(0).json();
    let hash = dry_nothing["plan_hash"].as_str().unwrap();
    here.run(&[&nothing[..], &["--plan-hash", hash]].concat()).exits(0);
    let told = here.run(&["undo", "--dry-run", "--verbose"]);
    assert!(told.exits(0).stderr.contains("plan hash "), "{}", told.stderr);
    let undo = here.run(&["undo", "--dry-run", "--json"]).exits(0).json();
    assert!(undo["plan_hash"].is_string(), "{undo}");
}

#[test]
fn what_a_campaign_did_here_is_listed_and_undone_together() {
    let here = Workspace::new();
    for name in ["a", "b", "c", "d"] {
        here.write(name, "one\n");
    }
    plan(&here, &[edit("a", &json!({}))]);
    let of = ["--campaign", "rename widgets"];
    here.run(&[&["apply", PLAN][..], &of].concat()).exits(0);
    here.run(&[&["replace", "one", "two", "b"][..], &of].concat()).exits(0);
    here.run(&["edit", "c", "--old", "one", "--new", "two", "--campaign", "another"]).exits(0);
    here.run(&[&["run"][..], &of, &["--", "sh", "-c", "echo two > d"]].concat()).exits(0);
    let logged = here.run(&[&["log", "--json"][..], &of].concat()).exits(0).json();
    let logged = logged["transactions"].as_array().unwrap();
    assert_eq!(logged.len(), 3, "{logged:?}");
    assert!(logged.iter().all(|one| one["campaign"] == "rename widgets"), "{logged:?}");
    let undone = here.run(&[&["undo", "--json"][..], &of].concat()).exits(0).json();
    assert_eq!(undone["reverts_each"].as_array().unwrap().len(), 3, "{undone}");
    assert_eq!(["a", "b", "c", "d"].map(|name| read(&here, name)), ["one\n", "one\n", "two\n", "one\n"]);
    let none = here.run(&[&["undo", "--json"][..], &of].concat()).exits(2).json();
    assert!(none["error"].as_str().unwrap().contains("the campaign rename widgets is undone"), "{none}");
    let by_program = ["run", "--campaign", "two\nlines", "--json", "--", "sh", "-c", "echo x > a"];
    for line in [&["apply", PLAN, "--campaign", "two\nlines", "--json"][..], &by_program] {
        let refused = here.run(line).exits(2).json();
        assert!(refused.to_string().contains("the name of a campaign has"), "{refused}");
    }
    assert_eq!(read(&here, "a"), "one\n");
}
