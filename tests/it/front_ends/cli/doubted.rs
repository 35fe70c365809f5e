//! What may have been done already, and nobody can tell: an interrupted transaction that no recovery ends, or an entry of
//! history that cannot be read. It is not done twice, by a key or without one.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use serde_json::{Value, json};

use super::interrupted::{Harm, contents, killed_with};
use super::{Ran, Workspace};

/// What makes an interrupted transaction one that no recovery ends, and whether its header still tells its key.
pub(super) fn harms() -> Vec<(&'static str, Harm, bool)> {
    let mut harms: Vec<(&str, Harm, bool)> = vec![
        ("under files that changed since", change_both, true),
        ("empty", |entry| fs::write(entry.join("journal"), "").unwrap(), false),
        ("cut in its seal", cut, true),
        ("of an unknown state", |entry| fs::rename(entry.join("journal"), entry.join("journal.foo")).unwrap(), false),
        ("copied", copy, true),
        ("writable for others", |entry| fs::set_permissions(entry, PermissionsExt::from_mode(0o777)).unwrap(), false),
        ("a file", replace_by_file, false),
    ];
    if rustix::process::geteuid().is_root() {
        harms.push(("of another owner", |entry| chown(entry, Some(1234), None).unwrap(), false));
    }
    harms
}

/// Neither direction is free of loss after this.
fn change_both(entry: &Path) {
    let root = entry.ancestors().nth(3).unwrap();
    fs::write(root.join("1"), "theirs").unwrap();
    fs::write(root.join("5"), "theirs too").unwrap();
}

pub(super) fn cut(entry: &Path) {
    let bytes = fs::read(entry.join("journal")).unwrap();
    fs::write(entry.join("journal"), &bytes[..bytes.len() - 1]).unwrap();
}

pub(super) fn copy(entry: &Path) {
    let copy = entry.with_extension("copy");
    let mut shell = std::process::Command::new("sh");
    let line = "cp -a \"$1\" \"$2\" && rm -r \"$1\" && mv \"$2\" \"$1\"";
    assert!(shell.args(["-c", line, "-"]).args([entry, &copy]).status().unwrap().success());
}

pub(super) fn replace_by_file(entry: &Path) {
    fs::remove_dir_all(entry).unwrap();
    fs::write(entry, "").unwrap();
}

/// Asks for a new file.
fn write(here: &Workspace, name: &str, key: Option<&str>) -> Ran {
    let mut plan = json!({ "files": [{ "file_path": name, "content": "x" }] });
    if let Some(key) = key {
        plan["idempotency_key"] = json!(key);
    }
    here.write("other.json", &plan.to_string());
    here.run(&["apply", "other.json", "--json"])
}

#[track_caller]
fn refused(ran: &Ran, id: &str, words: &str, name: &str) {
    let json = ran.exits(6).json();
    assert_eq!((&json["error_code"], &json["outcome"]), (&json!("RECOVERY_REQUIRED"), &json!("unchanged")), "{name}");
    let told = json["error"].as_str().unwrap();
    assert!(told.contains(id) && told.contains(words), "{name}: {told}");
}

#[test]
fn a_key_is_not_used_twice_where_its_transaction_is_interrupted() {
    for (name, harm, is_told) in harms() {
        let here = Workspace::new();
        let (here, id) = killed_with(here, Some("K"));
        harm(&here.path().join(".txedit/txn").join(&id));
        let before = contents(&here);
        refused(&here.run(&["apply", "plan.json", "--dry-run", "--json"]), &id, "idempotency key \"K\"", name);
        // What is interrupted may bar its files by itself.
        refused(&here.run(&["apply", "plan.json", "--json"]), &id, "", name);
        // About other files, too, which no interrupted transaction bars.
        refused(&write(&here, "new", Some("K")), &id, "idempotency key \"K\"", name);
        let other = write(&here, "other", Some("other"));
        if is_told {
            other.exits(0);
        } else {
            refused(&other, &id, "idempotency key \"other\"", name);
        }
        write(&here, "third", None).exits(0);
        assert_eq!((contents(&here), here.path().join("new").exists()), (before, false), "{name}");
    }
}

#[test]
fn a_key_whose_transaction_was_recovered_first_is_answered() {
    let (here, id) = killed_with(Workspace::new(), Some("K"));
    let json = here.run(&["apply", "plan.json", "--json"]).exits(0).json();
    assert_eq!((&json["already_applied"], &json["transaction_id"]), (&json!(true), &json!(id)), "{json}");
    assert_eq!(contents(&here), ["new"; 5]);
}

/// A file that grows with each time that the same request is done, and the folder of the first time in history.
fn grown() -> (Workspace, std::path::PathBuf) {
    let here = Workspace::new();
    let edit = json!({ "file_path": "a", "edits": [{ "old_string": "one", "new_string": "one two" }] });
    here.write(".git/HEAD", "").write("a", "one\n").write("plan.json", &json!({ "files": [edit] }).to_string());
    let done = here.run(&["apply", "plan.json", "--idempotent", "--json"]).exits(0).json();
    let entry = here.path().join(".txedit/history").join(done["transaction_id"].as_str().unwrap());
    (here, entry)
}

fn keep(entry: &Path, bytes: impl Fn(usize) -> usize) {
    let all = fs::read(entry.join("journal.done")).unwrap();
    fs::write(entry.join("journal.done"), &all[..bytes(all.len())]).unwrap();
}

#[test]
fn a_request_without_a_key_is_not_repeated_where_it_may_have_been_done() {
    let mut harms: Vec<(&str, Harm, bool)> = vec![
        ("cut in its seal", |entry| keep(entry, |all| all - 1), true),
        ("empty", |entry| keep(entry, |_| 0), true),
        ("writable for others", |entry| fs::set_permissions(entry, PermissionsExt::from_mode(0o777)).unwrap(), true),
        ("a file", replace_by_file, false),
    ];
    if rustix::process::geteuid().is_root() {
        harms.push(("of another owner", |entry| chown(entry, Some(1234), None).unwrap(), false));
    }
    for (name, harm, may_be_it) in harms {
        let (here, entry) = grown();
        harm(&entry);
        let id = entry.file_name().unwrap().to_str().unwrap();
        let again = here.run(&["apply", "plan.json", "--idempotent", "--json"]);
        let expected = if may_be_it {
            refused(&again, id, "this very request", name);
            "one two\n"
        } else {
            // What this user never committed stops nobody.
            again.exits(0);
            "one two two\n"
        };
        assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), expected, "{name}");
        // Another request is another one, as far as the header tells.
        let edit = json!({ "file_path": "b", "content": "x" });
        here.write("other.json", &json!({ "files": [edit] }).to_string());
        let other = here.run(&["apply", "other.json", "--idempotent", "--json"]);
        other.exits(if name == "empty" || name == "writable for others" { 6 } else { 0 });
        here.run(&["apply", "other.json", "--json"]);
        assert!(here.path().join("b").exists(), "{name}");
    }
}

#[test]
fn a_commit_that_may_be_through_is_not_called_unknown() {
    let cuts: [(&str, Harm); 2] = [("seal", |entry| keep(entry, |all| all - 1)), ("empty", |entry| keep(entry, |_| 0))];
    for (name, harm) in cuts {
        let here = Workspace::new();
        here.write(".git/HEAD", "");
        here.write("plan.json", &json!({ "files": [{ "file_path": "a", "content": "x" }] }).to_string());
        let open = here.run(&["stage", "plan.json"]).exits(0).stdout.trim().to_owned();
        let done = here.run(&["commit", &open, "--json"]).exits(0).json();
        let id = done["transaction_id"].as_str().unwrap();
        harm(&here.path().join(".txedit/history").join(id));
        let told = here.run(&["commit", &open, "--json"]);
        refused(&told, id, "the commit of", name);
        refused(&told, id, "and stage them again", name);
        // What was never opened, or after that, is unknown.
        for unknown in ["nonsense", "29991231T235959.000000Z-0123456789abcdef"] {
            let json = here.run(&["commit", unknown, "--json"]).json();
            assert_eq!(json["error_code"], "UNKNOWN_TRANSACTION", "{name}: {json}");
        }
        let told = here.run(&["undo", &open, "--json"]).json();
        let expected = if name == "seal" { "RECOVERY_REQUIRED" } else { "UNKNOWN_TRANSACTION" };
        assert_eq!(told["error_code"], Value::from(expected), "{name}: {told}");
        here.run(&["recover", id, "--discard"]).exits(0);
        assert_eq!(here.run(&["commit", &open, "--json"]).json()["error_code"], "UNKNOWN_TRANSACTION", "{name}");
        // What it said is to be done.
        fs::remove_file(here.path().join("a")).unwrap();
        let open = here.run(&["stage", "plan.json"]).exits(0).stdout.trim().to_owned();
        here.run(&["commit", &open]).exits(0);
        assert!(here.path().join("a").exists(), "{name}");
    }
}

#[test]
fn a_commit_that_may_be_through_and_is_still_open_is_committed_again() {
    let here = Workspace::new();
    here.write(".git/HEAD", "");
    here.write("plan.json", &json!({ "files": [{ "file_path": "a", "content": "x" }] }).to_string());
    let open = here.run(&["stage", "plan.json"]).exits(0).stdout.trim().to_owned();
    // It cannot be closed: its folder has nowhere to go.
    let trash = here.path().join(".txedit/trash");
    fs::remove_dir(&trash).unwrap();
    fs::write(&trash, "").unwrap();
    let done = here.run(&["commit", &open, "--json"]).exits(0).json();
    assert!(done["warnings"].to_string().contains("closing the open transaction"), "{done}");
    fs::remove_file(&trash).unwrap();
    let id = done["transaction_id"].as_str().unwrap();
    keep(&here.path().join(".txedit/history").join(id), |all| all - 1);
    let told = here.run(&["commit", &open, "--json"]);
    refused(&told, id, "and commit it again", "still open");
    here.run(&["recover", id, "--discard"]).exits(0);
    fs::remove_file(here.path().join("a")).unwrap();
    here.run(&["commit", &open]).exits(0);
    assert!(here.path().join("a").exists());
}
