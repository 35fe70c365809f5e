//! What a program did, staged instead of committed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::{SCRIPTS, is_here, nothing_stays, ran, tree, workspace};

#[test]
fn what_is_staged_of_a_program_is_committed_as_it_left_it() {
    if !is_here() {
        return;
    }
    // A commit of what was staged keeps read-only files as they are.
    let scripts = SCRIPTS.into_iter().filter(|script| !script.contains("locked"));
    for script in scripts.chain(["mkdir -m 700 private; echo k > private/key; ln -s key private/l"]) {
        let (here, plain) = (workspace(), workspace());
        let before = tree(&here.path());
        let alone = Command::new("sh").args(["-c", &format!("set -e; {script}")]).current_dir(plain.path()).status();
        assert!(alone.unwrap().success(), "{script}");
        let json = ran(&here, &["--json", "--stage"], script).exits(0).json();
        assert_eq!(tree(&here.path()), before, "{script}");
        nothing_stays(&here);
        let Some(id) = json["transaction_id"].as_str() else { panic!("{script}: {json}") };
        let preview = here.run(&["preview", id, "--json"]).exits(0).json();
        assert_eq!(tree(&here.path()), before, "{script}");
        here.run(&["commit", id, "--plan-hash", preview["plan_hash"].as_str().unwrap()]).exits(0);
        assert_eq!(tree(&here.path()), tree(&plain.path()), "{script}\n{json}");
        here.run(&["undo"]).exits(0);
        assert_eq!(tree(&here.path()), before, "{script}");
    }
}

/// Symlinks and folders are told like files.
#[test]
fn a_preview_tells_symlinks_and_folders() {
    if !is_here() {
        return;
    }
    let here = workspace();
    let script = "ln -sfn b to-a; ln -s a new-link; rmdir empty; mkdir -m 700 private; rm dangling";
    let id = ran(&here, &["--stage"], script).exits(0).stdout.trim().to_owned();
    let told = here.run(&["preview", &id]).exits(0).stdout.clone();
    for line in ["to-a", "new-link", "empty", "private", "dangling"] {
        assert!(told.contains(line), "{line} is not in\n{told}");
    }
    let json = here.run(&["preview", &id, "--json"]).exits(0).json();
    let files = json["file_results"].as_array().unwrap();
    let of =
        |path: &str| files.iter().find(|file| file["file_path"] == json!(path)).unwrap_or_else(|| panic!("{json}"));
    assert_eq!((&of("to-a")["symlink_to"], &of("new-link")["symlink_to"]), (&json!("b"), &json!("a")), "{json}");
    // What others did meanwhile is kept.
    fs::remove_file(here.path().join("to-a")).unwrap();
    std::os::unix::fs::symlink("theirs", here.path().join("to-a")).unwrap();
    let before = tree(&here.path());
    let json = here.run(&["commit", &id, "--json"]).exits(3).json();
    assert_eq!(json["error_code"], json!("CONCURRENT_MODIFICATION"), "{json}");
    assert_eq!(tree(&here.path()), before);
    assert_eq!(fs::read_link(here.path().join("to-a")).unwrap(), Path::new("theirs"));
}

/// The program left the mode as it was.
#[test]
fn a_mode_that_another_program_sets_meanwhile_stays() {
    if !is_here() {
        return;
    }
    let here = workspace();
    let id = ran(&here, &["--stage"], "echo more >> a").exits(0).stdout.trim().to_owned();
    fs::set_permissions(here.path().join("a"), PermissionsExt::from_mode(0o600)).unwrap();
    here.run(&["commit", &id]).exits(0);
    assert_eq!(tree(&here.path())[Path::new("a")], "600 one\nmore\n");
}

/// What a whole content takes the place of is kept as well, unless it is too long for a diff: then only its digest is known.
#[test]
fn no_conflict_is_shown_as_if_the_file_had_been_empty() {
    if !is_here() {
        return;
    }
    let here = workspace();
    let id = ran(&here, &["--stage"], "echo more >> a").exits(0).stdout.trim().to_owned();
    here.write("a", "theirs\n");
    let told = here.run(&["commit", &id]);
    assert!(told.exits(3).stderr.contains("-one\n+theirs\n"), "{}", told.stderr);
    here.run(&["rollback", &id]).exits(0);
    here.write("a", &"long\n".repeat(20_000));
    let id = ran(&here, &["--stage"], "echo more >> a").exits(0).stdout.trim().to_owned();
    here.write("a", "theirs\n");
    let told = here.run(&["commit", &id]);
    assert!(!told.exits(3).stderr.contains("@@"), "{}", told.stderr);
    let json = here.run(&["commit", &id, "--json"]).exits(3).json();
    assert_eq!((&json["context"]["ours"], &json["context"]["theirs"]), (&json!(null), &json!(null)), "{json}");
}
