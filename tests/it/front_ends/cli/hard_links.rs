//! A file with several names: what is written through the others later does not change what an undo brings back.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use serde_json::{Value, json};

use super::Workspace;

/// One file with this mode, and another name for it.
fn linked() -> Workspace {
    let here = Workspace::new();
    here.write(".git/HEAD", "").write("a", "one\n");
    fs::set_permissions(here.path().join("a"), PermissionsExt::from_mode(0o640)).unwrap();
    fs::hard_link(here.path().join("a"), here.path().join("other")).unwrap();
    here
}

fn state(here: &Workspace) -> (String, u32) {
    let path = here.path().join("a");
    (fs::read_to_string(&path).unwrap(), fs::metadata(path).unwrap().mode() & 0o7777)
}

#[test]
fn an_original_with_another_name_outlives_a_write_through_that_name() {
    let here = linked();
    let json = here.run(&["edit", "a", "--old", "one", "--new", "two", "--json"]).exits(0).json();
    let id = json["transaction_id"].as_str().unwrap().to_owned();
    fs::write(here.path().join("other"), "in place\n").unwrap();
    fs::set_permissions(here.path().join("other"), PermissionsExt::from_mode(0o600)).unwrap();
    assert_eq!(here.run(&["status", "--json"]).exits(0).json()["warnings"], Value::Null);
    assert!(here.run(&["show", &id]).exits(0).stdout.contains("-one\n+two\n"));
    assert!(here.run(&["undo", "--dry-run"]).exits(0).stdout.contains("-two\n+one\n"));
    here.run(&["undo"]).exits(0);
    assert_eq!(state(&here), ("one\n".to_owned(), 0o640));
    assert_eq!(fs::read_to_string(here.path().join("other")).unwrap(), "in place\n");
    // The write is where its writer looks for it: nothing of it is kept when history goes.
    let pruned = here.run(&["history", "prune", "--keep", "0", "--json"]).exits(0).json();
    assert_eq!((pruned["pruned"].as_array().unwrap().len(), &pruned["left"]), (2, &json!([])));
}

#[test]
fn a_deleted_name_of_a_file_with_another_comes_back_as_it_was() {
    let here = linked();
    here.write("plan.json", &json!({ "files": [{ "file_path": "a", "delete": true }] }).to_string());
    here.run(&["apply", "plan.json"]).exits(0);
    fs::write(here.path().join("other"), "in place\n").unwrap();
    here.run(&["undo"]).exits(0);
    assert_eq!(state(&here), ("one\n".to_owned(), 0o640));
}

#[test]
fn an_original_whose_other_name_went_after_a_write_is_kept() {
    let here = linked();
    here.run(&["edit", "a", "--old", "one", "--new", "two"]).exits(0);
    fs::write(here.path().join("other"), "in place\n").unwrap();
    fs::remove_file(here.path().join("other")).unwrap();
    let pruned = here.run(&["history", "prune", "--keep", "0", "--json"]).exits(0).json();
    assert_eq!(pruned["left"].as_array().unwrap().len(), 1, "{pruned}");
    let kept = here.run(&["kept", "list", "--json"]).exits(0).json();
    let path = kept["kept"][0]["contents"][0]["kept_path"].as_str().unwrap();
    assert_eq!(fs::read_to_string(path).unwrap(), "in place\n");
}
