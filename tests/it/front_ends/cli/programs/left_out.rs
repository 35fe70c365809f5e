//! What a program writes that is not committed.

use std::fs;

use serde_json::json;

use super::{is_here, ran, tree, workspace};

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
    let refused = ran(&here, &["--json", "--only", "["], "echo 1 > a").exits(2).json();
    assert_eq!(refused["error_code"], json!("INVALID_PATTERN"), "{refused}");
}
