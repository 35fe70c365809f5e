//! What a program writes that is not committed.

use std::fs;

use serde_json::json;

use super::{is_here, ran, tree, workspace};
use crate::support::is_full;

#[test]
fn what_is_ignored_excluded_special_or_of_version_control_is_left_out_and_counted() {
    if !is_here() {
        return;
    }
    let here = workspace();
    here.write(".gitignore", "*.log\n/build/\n!kept.log\n")
        .write("sub/.gitignore", "tmp\n")
        .write("build/old", "old\n");
    here.write("x.log", "old\n");
    let script = "echo 1 > a; echo n > y.log; echo n > x.log; echo k > kept.log; echo n > build/new; rm build/old; \
                  echo n > sub/tmp; mkdir -p build/deep; echo n > build/deep/n; mkfifo pipe; mkdir .hg; echo n > .hg/n; \
                  chmod 700 empty";
    let before = tree(&here.path());
    let json = ran(&here, &["--json"], script).exits(0).json();
    let left_out = json!([
        {"reason": "ignored", "count": 6, "files":
            ["build/deep/n", "build/new", "build/old", "sub/tmp", "x.log", "y.log"]},
        {"reason": "version_control", "count": 1, "files": [".hg/n"]},
        {"reason": "special", "count": 1, "files": ["pipe"]},
        {"reason": "folder_mode", "count": 1, "files": ["empty"]}]);
    assert_eq!(json["program"]["left_out"], left_out, "{json}");
    let mut wanted = before;
    wanted.insert("a".into(), "644 1\n".into());
    wanted.insert("kept.log".into(), "644 k\n".into());
    assert_eq!(tree(&here.path()), wanted);
    let json = ran(&here, &["--json", "--ignored"], "echo n > y.log; rm -r build").exits(0).json();
    assert_eq!(json["program"]["left_out"], serde_json::Value::Null, "{json}");
    assert!(here.path().join("y.log").exists() && !here.path().join("build").exists());
}

#[test]
fn a_folder_with_something_ignored_stays_where_it_is_removed() {
    if !is_here() {
        return;
    }
    let here = workspace();
    here.write(".gitignore", "cache\n").write("gone/cache/x", "x\n");
    let json = ran(&here, &["--json"], "rm -r gone").exits(0).json();
    assert_eq!(
        json["program"]["left_out"],
        json!([{"reason": "ignored", "count": 1, "files": ["gone/cache/x"]}]),
        "{json}"
    );
    assert!(here.path().join("gone/cache/x").exists());
    assert!(!here.path().join("gone/g").exists() && !here.path().join("gone/deep").exists());
}

#[test]
fn globs_choose_what_is_committed() {
    if !is_here() {
        return;
    }
    let here = workspace();
    let script = "echo 1 > a; echo 1 > b; echo 1 > sub/c; echo 1 > sub/in/d";
    let json = ran(&here, &["--json", "--only", "sub/**", "--exclude", "d"], script).exits(0).json();
    assert_eq!(
        json["program"]["left_out"],
        json!([{"reason": "excluded", "count": 3, "files": ["a", "b", "sub/in/d"]}]),
        "{json}"
    );
    assert_eq!(fs::read_to_string(here.path().join("sub/c")).unwrap(), "1\n");
    assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), "one\n");
    let refused = ran(&here, &["--json", "--only", ""], "echo 1 > a").exits(2).json();
    assert_eq!(refused["error_code"], json!("INVALID_PATTERN"), "{refused}");
}

#[test]
fn what_is_in_an_excluded_folder_is_left_out_with_it() {
    if !is_here() {
        return;
    }
    let here = workspace();
    let before = tree(&here.path());
    let json = ran(&here, &["--json", "--exclude", "in", "--exclude", "gone/"], "rm -r gone; echo 1 > sub/in/d");
    assert_eq!(json.exits(0).json()["files_edited"], json!(0));
    assert_eq!(tree(&here.path()), before);
    let refused = ran(&here, &["--exclude", "!a"], "touch c");
    assert!(refused.exits(2).stderr.contains("invalid glob \"!a\": it is empty, or begins with"), "{refused:?}");
    let json = ran(&here, &["--json", "--only", "new/"], "mkdir new; echo 1 > new/n; echo 1 > a").exits(0).json();
    assert_eq!(json["files_edited"], json!(2), "the folder and its file: {json}");
    assert!(here.path().join("new/n").exists());
}

/// A folder stays in which something stays, and so does whatever would have come in its place.
#[test]
fn what_stays_in_a_folder_keeps_it() {
    if !is_here() {
        return;
    }
    let here = workspace();
    here.write(".gitignore", "cache\n").write("sub/cache", "c\n").write("gone/.txedit/x", "x\n");
    let made = std::process::Command::new("mkfifo").arg(here.path().join("gone/pipe")).status();
    assert!(made.unwrap().success());
    let json = ran(&here, &["--json"], "rm -r sub gone; echo file > sub").exits(0).json();
    let reasons: Vec<_> = json["program"]["left_out"].as_array().unwrap().iter().map(|one| &one["reason"]).collect();
    assert_eq!(reasons, ["ignored", "version_control", "special", "in_the_way"], "{json}");
    // A pipe is not opened: nobody writes into it.
    for stays in ["sub/cache", "gone/pipe", "gone/.txedit/x"] {
        assert!(here.path().join(stays).symlink_metadata().is_ok(), "{stays}");
    }
    assert!(!here.path().join("sub/c").exists() && !here.path().join("gone/g").exists());
}

#[test]
fn nothing_is_dropped_in_silence() {
    if !is_here() {
        return;
    }
    let here = workspace();
    let before = tree(&here.path());
    // Its folder is removed meanwhile, as by one who cleans up.
    let outside = tempfile::tempdir().unwrap();
    let (ready, go) = (outside.path().join("ready"), outside.path().join("go"));
    let script = format!("echo 1 > a; touch {}; while [ ! -e {} ]; do sleep 0.01; done", ready.display(), go.display());
    let mut program = super::command(&here, &["--json"], &script);
    let child = program.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null()).spawn().unwrap();
    super::wait_for(|| ready.exists());
    fs::remove_dir_all(here.path().join(".txedit/view")).unwrap();
    fs::write(go, "").unwrap();
    let json = super::Ran::from(child.wait_with_output().unwrap()).exits(3).json();
    assert_eq!(
        (&json["error_code"], &json["outcome"]),
        (&json!("CONCURRENT_MODIFICATION"), &json!("unchanged")),
        "{json}"
    );
    assert_eq!(tree(&here.path()), before);
    // What staging would not keep is not staged.
    let json = ran(&here, &["--json", "--stage"], "chmod 4755 a; echo 1 > a; chmod 4755 a").exits(2).json();
    assert!(json["error"].as_str().unwrap().contains("cannot be staged"), "{json}");
    let staged = ran(&here, &["--stage"], "mkdir -p made/deep; echo 1 > made/deep/n");
    let id = staged.exits(0).stdout.trim().to_owned();
    here.run(&["commit", &id]).exits(0);
    assert!(here.path().join("made/deep/n").exists());
}

#[test]
fn folders_keep_the_bits_that_they_were_made_with() {
    if !is_here() {
        return;
    }
    let here = workspace();
    fs::set_permissions(here.path().join("sub"), std::os::unix::fs::PermissionsExt::from_mode(0o2775)).unwrap();
    ran(&here, &[], "mkdir -p sub/new/deep; mkdir shared; chmod 2770 shared; chmod 1777 sub/new/deep").exits(0);
    let tree = tree(&here.path());
    let told = ["sub/new", "sub/new/deep", "shared"].map(|name| tree[std::path::Path::new(name)].clone());
    assert_eq!(told, ["folder 2755", "folder 3777", "folder 2770"]);
}

/// More files than a transaction can have: what is to be done about it is said.
#[test]
fn more_than_one_transaction_can_have_is_refused() {
    if !is_here() || !is_full() {
        return;
    }
    let here = workspace();
    let before = tree(&here.path());
    let many = format!("mkdir many; cd many; seq {} | xargs touch", txedit::limits::FILES);
    let json = ran(&here, &["--json"], &many).exits(2).json();
    assert_eq!((&json["error_code"], &json["outcome"]), (&json!("REQUEST_TOO_LARGE"), &json!("unchanged")), "{json}");
    assert!(json["recovery_hint"].as_str().unwrap().contains("--through DIR"), "{json}");
    assert_eq!(tree(&here.path()), before);
    here.write("more", "x\n");
    ran(&here, &["--through", "many"], "seq 3 | sed s,^,many/, | xargs touch; rm more").exits(0);
    assert!(!here.path().join("more").exists());
}

#[test]
fn a_failure_that_is_kept_is_told() {
    if !is_here() {
        return;
    }
    let here = workspace();
    let ran = ran(&here, &["--keep-on-failure"], "echo 1 > a; exit 9");
    ran.exits(0);
    assert!(ran.stderr.contains("the program failed (exit status: 9)"), "{}", ran.stderr);
}
