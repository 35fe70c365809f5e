//! What a person says to drop is gone, and nothing else.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;

use super::Workspace;

/// A workspace in which a failed check left a folder of its own, with files in it, in the place of a file.
fn with_a_kept_folder(check: &str) -> (Workspace, PathBuf) {
    let here = Workspace::new();
    here.write("a", "one\n").write("outside", "stays\n");
    let ran = here.run(&["edit", "a", "--old", "one", "--new", "two", "--check", check, "--json"]);
    assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), "one\n");
    let kept = ran.exits(7).json()["kept"][0]["kept_path"].as_str().unwrap_or_else(|| panic!("{ran:?}")).to_owned();
    (here, kept.into())
}

#[test]
fn a_folder_that_is_dropped_is_gone_with_everything_in_it() {
    let check = "rm a && mkdir -p a/b/c && echo theirs > a/b/c/d && ln -s ../outside a/b/link && exit 1";
    let (here, kept) = with_a_kept_folder(check);
    assert_eq!(fs::read_to_string(kept.join("b/c/d")).unwrap(), "theirs\n");
    let id =
        here.run(&["kept", "list", "--json"]).exits(0).json()["kept"][0]["transaction_id"].as_str().unwrap().to_owned();
    here.run(&["kept", "drop", &id]).exits(0);
    let state = here.path().join(".txedit");
    for section in ["kept", "trash"] {
        let left = state.join(section).join(&id);
        assert!(!left.exists(), "{}", left.display());
    }
    assert_eq!(fs::read_to_string(here.path().join("outside")).unwrap(), "stays\n");
}

#[test]
fn what_cannot_be_dropped_is_still_kept() {
    let (here, kept) = with_a_kept_folder("rm a && mkdir -p a/b && echo theirs > a/b/c && exit 1");
    let mut deep = kept.clone();
    for _ in 0..220 {
        deep.push("d");
    }
    fs::create_dir_all(&deep).unwrap();
    symlink("nowhere", deep.join("link")).unwrap();
    let id =
        here.run(&["kept", "list", "--json"]).exits(0).json()["kept"][0]["transaction_id"].as_str().unwrap().to_owned();
    let ran = here.run(&["kept", "drop", &id, "--json"]);
    assert_eq!(ran.json()["error_code"], "WRITE_FAILED", "{ran:?}");
    assert!(deep.exists() && kept.join("b/c").exists(), "nothing was changed");
    fs::remove_dir_all(kept.join("d")).unwrap();
    let listed = here.run(&["kept", "list", "--json"]).exits(0).json();
    assert_eq!(listed["kept"][0]["transaction_id"], *id);
    here.run(&["kept", "drop", &id]).exits(0);
    assert!(!kept.exists());
}

#[test]
fn a_folder_that_is_kept_is_taken_by_hand() {
    let (here, kept) = with_a_kept_folder("rm a && mkdir a && echo theirs > a/x && exit 1");
    let list = here.run(&["kept", "list", "--json"]).exits(0).json();
    let id = list["kept"][0]["transaction_id"].as_str().unwrap();
    let answer = here.run(&["kept", "restore", id, "--json"]).exits(2).json();
    assert_eq!(answer["error_code"], "NOT_A_REGULAR_FILE", "{answer}");
    let hint = answer["recovery_hint"].as_str().unwrap();
    assert!(hint.contains(kept.to_str().unwrap()) && hint.contains(&format!("kept drop {id}")), "{hint}");
    // What the hint says can be done.
    fs::remove_file(here.path().join("a")).unwrap();
    fs::rename(&kept, here.path().join("a")).unwrap();
    here.run(&["kept", "drop", id]).exits(0);
    assert_eq!(here.run(&["kept", "list", "--json"]).exits(0).json()["kept"], serde_json::json!([]));
}

#[test]
fn a_symlink_that_is_kept_is_restored_as_one() {
    let (here, _) = with_a_kept_folder("rm a && ln -s outside a && exit 1");
    let list = here.run(&["kept", "list", "--json"]).exits(0).json();
    let id = list["kept"][0]["transaction_id"].as_str().unwrap();
    here.run(&["kept", "restore", id]).exits(0);
    assert_eq!(fs::read_link(here.path().join("a")).unwrap().to_str(), Some("outside"));
    here.run(&["undo"]).exits(0);
    assert!(here.path().join("a").symlink_metadata().unwrap().is_file());
    here.run(&["kept", "drop", id]).exits(0);
    assert_eq!(fs::read_to_string(here.path().join("outside")).unwrap(), "stays\n");
}

/// A file that nobody may unlink; `None` where this file system has none, or this user may not say so.
fn immutable(path: &Path) -> Option<impl Drop + use<>> {
    struct Mutable(PathBuf);
    impl Drop for Mutable {
        fn drop(&mut self) {
            let _ = Command::new("chattr").arg("-i").arg(&self.0).status();
        }
    }
    let done = Command::new("chattr").arg("+i").arg(path).stderr(Stdio::null()).status();
    done.is_ok_and(|status| status.success()).then(|| Mutable(path.to_owned()))
}

#[test]
fn what_was_dropped_in_part_is_not_said_to_be_unchanged() {
    let (here, kept) = with_a_kept_folder("rm a && mkdir -p a/b && echo theirs > a/b/c && echo x > a/b/d && exit 1");
    let Some(immutable) = immutable(&kept.join("b/d")) else {
        eprintln!("skipped: no file can be made immutable here");
        return;
    };
    let id =
        here.run(&["kept", "list", "--json"]).exits(0).json()["kept"][0]["transaction_id"].as_str().unwrap().to_owned();
    let ran = here.run(&["kept", "drop", &id]);
    ran.exits(5);
    assert!(!ran.stderr.contains("nothing was changed") && ran.stderr.contains("part of it is deleted"), "{ran:?}");
    assert!(kept.join("b/d").exists());
    let ran = here.run(&["kept", "drop", &id, "--json"]);
    ran.exits(5);
    assert!(ran.json()["error"].as_str().unwrap().contains("the rest is still kept"), "{ran:?}");
    drop(immutable);
    here.run(&["kept", "drop", &id]).exits(0);
    assert!(!kept.exists());
}

#[test]
fn what_is_restored_where_nothing_is_has_the_mode_that_it_was_kept_with() {
    let here = Workspace::new();
    here.write("a", "one\n");
    let check = "echo secret > a && chmod 600 a && exit 1";
    let failed = here.run(&["edit", "a", "--old", "one", "--new", "two", "--check", check, "--json"]).exits(7).json();
    fs::remove_file(here.path().join("a")).unwrap();
    here.run(&["kept", "restore", failed["transaction_id"].as_str().unwrap()]).exits(0);
    assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), "secret\n");
    assert_eq!(fs::metadata(here.path().join("a")).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn what_went_back_is_not_said_to_be_gone_because_it_moved_later() {
    let here = Workspace::new();
    here.write("a", "alpha\n");
    here.write("d", "dee\n");
    let plan = json!({ "files": [
        { "file_path": "d", "rename_to": "d2" },
        { "file_path": "a", "edits": [{ "old_string": "alpha", "new_string": "beta" }] },
    ] });
    here.write("plan.json", &plan.to_string());
    here.run(&["apply", "plan.json", "--check", "echo x >> a; false"]).exits(7);
    here.run(&["apply", "plan.json"]).exits(0);
    let listed = here.run(&["kept", "list", "--json"]).exits(0).json();
    let contents = listed["kept"][0]["contents"].as_array().unwrap();
    assert_eq!(contents.len(), 1, "{listed}");
    let id = listed["kept"][0]["transaction_id"].as_str().unwrap();
    here.run(&["kept", "restore", id]).exits(0);
    assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), "beta\nx\n");
}
