//! Workspaces that fail are told by name and code, and the others are done.

use std::fs;

use serde_json::{Value, json};

use super::{NEW, OLD, campaign, contents, new, numbers, planned, reports, repositories};
use crate::front_ends::cli::Workspace;

/// The code that was reported last for a workspace.
fn code(here: &Workspace, name: &str) -> String {
    let last = reports(here).into_iter().rfind(|report| report["name"] == name).unwrap();
    last["error_code"].as_str().unwrap_or(last["outcome"].as_str().unwrap()).to_owned()
}

#[test]
fn each_failure_is_told_by_name_and_code_and_the_others_are_done() {
    let here = planned(300);
    let id = reports_id(&here);
    for number in 0..6 {
        here.write(&format!("repos/{number:02}/a.rs"), "other\n");
    }
    // Its key was used for something else; it is gone; it is no folder; it is interrupted, and cannot be recovered.
    let other = json!({ "idempotency_key": id, "files": [{ "file_path": "x", "content": "" }] });
    here.write("other.json", &other.to_string());
    here.run(&["--root", "repos/06", "apply", "other.json"]).exits(0);
    fs::remove_dir_all(here.path().join("repos/07")).unwrap();
    fs::remove_dir_all(here.path().join("repos/08")).unwrap();
    here.write("repos/08", "");
    let interrupted = here.path().join("repos/09/.git/txedit/txn/20260101T000000.000000Z-0123456789abcdef");
    fs::create_dir_all(&interrupted).unwrap();
    fs::write(interrupted.join("journal"), "damaged").unwrap();

    let ran = campaign(&here, &["run", "--jobs", "2"]).exits(1).json();
    let codes: Vec<_> = (0..10).map(|number| code(&here, &format!("repos/{number:02}"))).collect();
    assert_eq!(codes[..6], ["MATCH_NOT_FOUND"; 6]);
    assert_eq!(codes[6..9], ["VALIDATION_FAILED"; 3]);
    // Nobody knows whether it has the key.
    assert_eq!(codes[9], "RECOVERY_REQUIRED");
    let done = 290;
    assert_eq!(numbers(&ran), "290 done, 10 failed");
    assert!((10..300).all(|number| contents(&here, &format!("{number:02}")) == [NEW.to_owned()].into()));
    let failures: Vec<_> = ran["failures"].as_array().unwrap().iter().map(|one| one["error_code"].clone()).collect();
    assert!(failures.contains(&json!("MATCH_NOT_FOUND")) && failures.contains(&json!("VALIDATION_FAILED")));
    let told = &reports(&here).into_iter().find(|report| report["name"] == "repos/00").unwrap();
    assert_eq!((&told["files"], &told["retryable"]), (&json!("unchanged"), &json!(false)));
    assert!(told["file_path"].as_str().unwrap().ends_with("a.rs"), "{told}");

    // None of them may succeed by itself: a retry tries none. Those that were mended are tried where that is asked for.
    let attempts = ran["attempts"].clone();
    assert_eq!(campaign(&here, &["retry"]).exits(1).json()["attempts"], attempts);
    here.write("repos/00/a.rs", OLD);
    let retried = campaign(&here, &["retry", "--failed"]).exits(1).json();
    assert_eq!(retried["done"], done + 1);
}

fn reports_id(here: &Workspace) -> Value {
    campaign(here, &["status"]).json()["campaign"].clone()
}

#[test]
fn one_that_is_locked_is_retried_and_succeeds() {
    let here = planned(2);
    let lock = fs::File::open(here.path().join("repos/01")).unwrap();
    lock.lock().unwrap();
    fs::remove_dir_all(here.path().join("c")).unwrap();
    new(&here, &["--workspaces", "repos/*", "--plan", "plan.json", "--lock-timeout", "0.1"]).exits(0);
    let ran = campaign(&here, &["run"]).exits(1).json();
    assert_eq!((numbers(&ran), &ran["retryable"]), ("1 done, 1 failed".into(), &json!(1)));
    assert_eq!(ran["failures"][0]["error_code"], "LOCK_TIMEOUT");
    assert_eq!(campaign(&here, &["pending", "--retryable"]).exits(0).json()["workspaces"], json!([1]));
    drop(lock);
    assert_eq!(numbers(&campaign(&here, &["retry"]).exits(0).json()), "2 done");
}

#[test]
fn one_without_permission_is_told() {
    // The superuser may write anywhere; what nobody may write is immutable.
    let here = planned(2);
    let folder = here.path().join("repos/00");
    let immutable = |is: &str| std::process::Command::new("chattr").args([is, "-R"]).arg(&folder).status();
    if !immutable("+i").is_ok_and(|status| status.success()) {
        return eprintln!("skipped: nothing can be made immutable here");
    }
    let ran = campaign(&here, &["run"]);
    immutable("-i").unwrap();
    let ran = ran.exits(1).json();
    assert_eq!(numbers(&ran), "1 done, 1 failed");
    let failure = &ran["failures"][0];
    let code = failure["error_code"].as_str().unwrap();
    assert!(["IMMUTABLE", "PERMISSION_DENIED"].contains(&code), "{failure}");
    assert_eq!(contents(&here, "00"), [OLD.to_owned()].into());
    assert_eq!(numbers(&campaign(&here, &["retry", "--failed"]).exits(0).json()), "2 done");
}

#[test]
fn an_undo_tells_conflicts_by_workspace_and_the_others_are_undone() {
    let here = planned(3);
    campaign(&here, &["run"]).exits(0);
    here.write("repos/01/a.rs", "by hand\n");
    let undone = campaign(&here, &["undo"]).exits(1).json();
    assert_eq!(numbers(&undone), "2 undone, 1 undo_failed");
    assert_eq!(undone["failures"][0]["error_code"], "UNDO_CONFLICT");
    assert_eq!(undone["failures"][0]["example"]["workspace"], "repos/01");
    assert_eq!(fs::read_to_string(here.path().join("repos/01/a.rs")).unwrap(), "by hand\n");
    // It is still done: neither a run nor a retry touches it.
    assert_eq!(campaign(&here, &["retry", "--failed"]).exits(1).json()["attempts"], undone["attempts"]);
    here.write("repos/01/a.rs", NEW);
    assert_eq!(numbers(&campaign(&here, &["undo"]).exits(0).json()), "3 undone");
}

#[test]
fn an_undo_of_what_was_pruned_is_a_failure() {
    let here = planned(2);
    campaign(&here, &["run"]).exits(0);
    here.run(&["-C", "repos/00", "history", "prune", "--keep", "0"]).exits(0);
    let undone = campaign(&here, &["undo"]).exits(1).json();
    assert_eq!(numbers(&undone), "1 undone, 1 undo_failed");
    assert_eq!(undone["failures"][0]["error_code"], "UNKNOWN_TRANSACTION");
    assert_eq!(contents(&here, "00"), [NEW.to_owned()].into());
    // Without its report nobody knows that it was done: but nothing says that there was nothing to do.
    fs::remove_dir_all(here.path().join("c/reports")).unwrap();
    assert_eq!(numbers(&campaign(&here, &["undo"]).exits(0).json()), "1 undone, 1 unreported");
    assert_eq!(numbers(&campaign(&here, &["run"]).exits(0).json()), "1 done, 1 undone");
}

#[test]
fn it_stops_after_failures_and_does_the_first_ones_first() {
    let broken = |numbers: &[usize]| {
        let here = planned(10);
        for number in numbers {
            here.write(&format!("repos/{number:02}/b.rs"), "other\n");
        }
        here
    };
    let here = broken(&[1, 2, 3, 4, 5]);
    let ran = campaign(&here, &["run", "--jobs", "1", "--stop-after", "2"]).exits(1).json();
    assert_eq!((numbers(&ran), &ran["stopped"]), ("1 done, 2 failed, 7 unreported".into(), &json!("so many failed")));
    let here = broken(&[1]);
    let ran = campaign(&here, &["run", "--jobs", "2", "--canary", "2"]).exits(1).json();
    assert_eq!(numbers(&ran), "1 done, 1 failed, 8 unreported");
    assert!(ran["stopped"].is_string());
    // The first ones stay first until they are well.
    for line in [&["run", "--canary", "2"][..], &["retry", "--canary", "2"]] {
        assert_eq!(campaign(&here, line).exits(1).json()["unreported"], 8);
    }
    here.write("repos/01/b.rs", OLD);
    assert_eq!(numbers(&campaign(&here, &["retry", "--failed", "--canary", "2"]).exits(0).json()), "10 done");
    let here = broken(&[]);
    let ran = campaign(&here, &["run", "--canary", "2", "--rate", "1000"]).exits(0).json();
    assert_eq!((numbers(&ran), &ran["stopped"]), ("10 done".into(), &Value::Null));
    campaign(&here, &["run", "--rate", "0"]).exits(2);
}

#[test]
fn what_is_not_there_or_not_a_campaign_is_refused() {
    let here = repositories(1);
    for line in [&["status"][..], &["run"], &["undo"], &["pending"], &["work", "0"]] {
        assert!(campaign(&here, line).exits(2).json().to_string().contains("campaign new"));
    }
    let here = planned(2);
    campaign(&here, &["work", "2"]).exits(2);
    here.run(&["campaign", "shard", "3/2", "c", "--json"]).exits(2);
    let lines = fs::read_to_string(here.path().join("c/workspaces.jsonl")).unwrap();
    here.write("c/workspaces.jsonl", lines.lines().next().unwrap());
    assert!(campaign(&here, &["status"]).exits(2).json()["error"].as_str().unwrap().contains("workspaces.jsonl"));
    here.write(
        "c/campaign.json",
        &fs::read_to_string(here.path().join("c/campaign.json")).unwrap().replace("\"format\":1", "\"format\":2"),
    );
    assert!(campaign(&here, &["status"]).exits(2).json()["error"].as_str().unwrap().contains("format is 2"));
}
