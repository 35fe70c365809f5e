//! `txedit campaign`: one change in many workspaces, planned, made, reported and undone.

mod actions;
mod driven;
mod failing;
mod shards;

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use super::{Ran, Workspace};

const FILES: [&str; 3] = ["a.rs", "b.rs", "sub/c.rs"];
const OLD: &str = "greet();\n";
/// It has the old text in it: a file that is edited twice is told from one that is edited once.
const NEW: &str = "hello(greet());\n";

/// Repositories of three files, in `repos/`.
fn repositories(count: usize) -> Workspace {
    let here = Workspace::new();
    for number in 0..count {
        here.write(&format!("repos/{number:02}/.git/HEAD"), "");
        for name in FILES {
            here.write(&format!("repos/{number:02}/{name}"), OLD);
        }
    }
    here
}

/// The same with a campaign that edits each file, in `c`.
fn planned(count: usize) -> Workspace {
    let here = repositories(count);
    let edit = |name: &str| json!({ "file_path": name, "edits": [{ "old_string": "greet()", "new_string": "hello(greet())" }] });
    here.write("plan.json", &json!({ "label": "greet is wrapped", "files": FILES.map(edit) }).to_string());
    new(&here, &["--workspaces", "repos/*", "--plan", "plan.json"]).exits(0);
    here
}

fn new(here: &Workspace, more: &[&str]) -> Ran {
    here.run(&[&["campaign", "new", "c", "--json"], more].concat())
}

/// Runs a command about the campaign `c`.
fn campaign(here: &Workspace, line: &[&str]) -> Ran {
    here.run(&[&["campaign", line[0], "c", "--json"], &line[1..]].concat())
}

/// The numbers of a status that are not 0, by their names.
fn numbers(status: &Value) -> String {
    let names = ["done", "nothing_to_do", "undone", "failed", "undo_failed", "unreported"];
    let numbers = names.iter().filter(|name| status[**name] != 0).map(|name| format!("{} {name}", status[*name]));
    numbers.collect::<Vec<_>>().join(", ")
}

/// The contents of a repository's files, each once.
fn contents(here: &Workspace, repository: &str) -> BTreeSet<String> {
    let read = |name: &&str| fs::read_to_string(here.path().join("repos").join(repository).join(name)).unwrap();
    FILES.iter().map(read).collect()
}

/// Asserts that every repository is whole, old or new.
#[track_caller]
fn all_are(here: &Workspace, expected: &str) {
    for entry in fs::read_dir(here.path().join("repos")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert_eq!(contents(here, &name), [expected.to_owned()].into(), "{name}");
    }
}

/// The reports of attempts that came to an end, in their order.
fn reports(here: &Workspace) -> Vec<Value> {
    let folder = here.path().join("c/reports");
    let mut paths: Vec<_> = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let texts = paths.iter().map(|path| fs::read_to_string(path).unwrap());
    let lines = texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>());
    let reports = lines.map(|line| serde_json::from_str::<Value>(&line).unwrap());
    reports.filter(|report| report["outcome"] != "begun").collect()
}

#[test]
fn what_was_planned_is_made_reported_and_undone() {
    let here = planned(5);
    let status = campaign(&here, &["status"]).exits(1).json();
    assert_eq!((numbers(&status), &status["complete"]), ("5 unreported".into(), &json!(false)));
    let ran = campaign(&here, &["run", "--jobs", "2"]).exits(0).json();
    assert_eq!((numbers(&ran), &ran["files_edited"], &ran["complete"]), ("5 done".into(), &json!(15), &json!(true)));
    all_are(&here, NEW);

    // Each transaction is in the log of its workspace, with the campaign.
    for report in reports(&here) {
        let root = format!("repos/{:02}", report["workspace"].as_u64().unwrap());
        let log = here.run(&["-C", &root, "log", "--campaign", ran["campaign"].as_str().unwrap(), "--json"]);
        assert_eq!(log.exits(0).json()["transactions"][0]["transaction_id"], report["transaction_id"]);
    }
    // Nothing is left to do, so nothing is tried.
    for line in [&["run"][..], &["retry"], &["retry", "--failed"]] {
        assert_eq!(campaign(&here, line).exits(0).json()["attempts"], 5);
    }
    assert_eq!(campaign(&here, &["pending"]).exits(0).json()["workspaces"], json!([]));

    assert_eq!(numbers(&campaign(&here, &["undo"]).exits(0).json()), "5 undone");
    all_are(&here, OLD);
    let order: Vec<_> = reports(&here)[5..].iter().map(|report| report["workspace"].clone()).collect();
    assert_eq!(order.len(), 5);
    // What was undone is done again only where that is asked for.
    assert_eq!(numbers(&campaign(&here, &["run"]).exits(0).json()), "5 undone");
    assert_eq!(numbers(&campaign(&here, &["retry", "--failed"]).exits(0).json()), "5 undone");
    all_are(&here, OLD);
    assert_eq!(numbers(&campaign(&here, &["run", "--again"]).exits(0).json()), "5 done");
    all_are(&here, NEW);
    assert_eq!(numbers(&campaign(&here, &["undo", "--jobs", "1"]).exits(0).json()), "5 undone");
    let last: Vec<_> = reports(&here)[15..].iter().map(|report| report["workspace"].as_u64().unwrap()).collect();
    assert_eq!(last, [4, 3, 2, 1, 0], "the last one first");
    all_are(&here, OLD);
}

#[test]
fn what_is_committed_without_a_report_is_not_done_twice_and_is_undone() {
    let here = planned(3);
    campaign(&here, &["run"]).exits(0);
    // The reports are lost, as those of a worker that is killed before it writes one.
    fs::remove_dir_all(here.path().join("c/reports")).unwrap();
    let ran = campaign(&here, &["run"]).exits(0).json();
    assert_eq!(numbers(&ran), "3 done");
    assert!(reports(&here).iter().all(|report| report["already_applied"] == true), "{:?}", reports(&here));
    all_are(&here, NEW);
    fs::remove_dir_all(here.path().join("c/reports")).unwrap();
    assert_eq!(numbers(&campaign(&here, &["undo"]).exits(0).json()), "3 undone");
    all_are(&here, OLD);
    // Undone by hand, and then by the campaign; and an undo of which the report is lost.
    fs::remove_dir_all(here.path().join("c/reports")).unwrap();
    assert_eq!(numbers(&campaign(&here, &["undo"]).exits(0).json()), "3 undone");
    // A retry with the key says what became of it.
    fs::remove_dir_all(here.path().join("c/reports")).unwrap();
    assert_eq!(numbers(&campaign(&here, &["run"]).exits(0).json()), "3 undone");
    all_are(&here, OLD);
}

#[test]
fn a_report_that_was_cut_off_or_damaged_does_not_count() {
    let here = planned(2);
    campaign(&here, &["run", "--jobs", "1"]).exits(0);
    let folder = here.path().join("c/reports");
    let path = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, &text[..text.len() - 1]).unwrap();
    let status = campaign(&here, &["status"]).exits(1).json();
    assert_eq!((numbers(&status), &status["damaged_reports"]), ("1 done, 1 unreported".into(), &Value::Null));
    fs::write(&path, format!("x\n{text}{{\"workspace\": 7}}\n")).unwrap();
    let status = campaign(&here, &["status"]).exits(0).json();
    assert_eq!((numbers(&status), &status["damaged_reports"]), ("2 done".into(), &json!(2)));
}

#[test]
fn a_page_tells_each_workspace_and_takes_no_name_for_markup() {
    let here = planned(1);
    here.write("repos/<img onerror=alert(1)>/a.rs", "nothing\n");
    fs::remove_dir_all(here.path().join("c")).unwrap();
    new(&here, &["--workspaces", "repos/*", "--plan", "plan.json"]).exits(0);
    campaign(&here, &["run"]).exits(1);
    let page = here.run(&["campaign", "report", "c", "--html"]).exits(0).stdout.clone();
    assert!(page.contains("&lt;img onerror=alert(1)&gt;") && !page.contains("<img"), "{page}");
    assert!(page.contains("<td>done<td>3<td>") && page.contains("<code>FILE_NOT_FOUND</code>"), "{page}");
    assert!(!page.contains("http:") && !page.contains("https:") && !page.contains("<script"), "{page}");
    let report = campaign(&here, &["report"]).exits(0).json();
    assert_eq!(report["reports"].as_array().unwrap().len(), 2);
    campaign(&here, &["report", "--html"]).exits(2);
}
