//! A git folder that cannot be written, as in a sandbox that mounts it read-only.

use super::*;

/// Runs the program where the git folder is read-only; `None` where nothing can be mounted.
fn sandboxed(here: &Workspace, line: &[&str]) -> Option<Ran> {
    here.run_mounted("mount --bind .git .git && mount -o remount,bind,ro .git", line)
}

#[test]
fn it_is_in_the_root_and_the_other_history_is_told() {
    let fresh = repository(".");
    let Some(ran) = sandboxed(&fresh, &EDIT) else { return };
    ran.exits(0);
    assert_eq!(both(&fresh), [Some(1), None]);

    let here = repository(".");
    here.run(&EDIT).exits(0);
    let Some(ran) = sandboxed(&here, &BACK) else { return };
    assert!(warnings(ran.exits(0)).contains("holds 1 more committed transaction"), "{ran:?}");
    assert_eq!(both(&here), [Some(1), Some(1)]);
    // Whoever prunes to be rid of a secret means both.
    let pruned = sandboxed(&here, &["--json", "history", "prune", "--keep", "0"]).unwrap();
    assert!(pruned.exits(5).json()["error"].as_str().unwrap().contains(".git/txedit holds committed"), "{pruned:?}");
    assert_eq!(both(&here), [Some(1), Some(1)]);
    here.run(&["history", "prune", "--keep", "0"]).exits(0);
    assert_eq!(both(&here), [Some(0), Some(0)]);
}

#[test]
fn an_interrupted_transaction_in_it_is_never_overlooked() {
    let (here, id) = interrupted::killed_with(repository("."), None);
    assert!(here.path().join(".git/txedit/txn").join(&id).exists());
    let edit = ["--json", "edit", "4", "--old", "old", "--new", "x"];
    let Some(ran) = sandboxed(&here, &edit) else { return };
    let json = ran.exits(6).json();
    assert_eq!((json["error_code"].as_str(), json["outcome"].as_str()), (Some("RECOVERY_REQUIRED"), Some("unchanged")));
    assert_eq!(json["transaction_id"], *id);
    assert!(json["error"].as_str().unwrap().contains(".git/txedit"), "{json}");
    // What it does not touch can be edited.
    let other = ["--json", "edit", "a", "--old", "one", "--new", "two"];
    sandboxed(&here, &other).unwrap().exits(0);
    assert_eq!(both(&here)[0], Some(1));
    for line in [&edit[..], &["--json", "recover"], &["--json", "recover", &id]] {
        let json = sandboxed(&here, line).unwrap().exits(6).json();
        assert_eq!(json["error_code"], "RECOVERY_REQUIRED", "{json}");
    }
    let status = sandboxed(&here, &["--json", "status"]).unwrap();
    assert_eq!(status.json()["interrupted"][0]["transaction_id"], *id, "{status:?}");
    assert_eq!(interrupted::contents(&here), ["new", "new", "old", "old", "old"]);
    // Outside, it is recovered although `.txedit` is in use by now.
    assert_eq!(here.run(&["--json", "status"]).json()["interrupted"][0]["transaction_id"], *id);
    here.run(&["recover", &id]).exits(0);
    assert_eq!(interrupted::contents(&here), ["new"; 5]);
    assert_eq!(here.run(&["--json", "status"]).json()["interrupted"], serde_json::json!([]));
}
