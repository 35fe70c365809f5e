//! Paths as a shell user means them: from the current folder on, with `..`, and never out of the root.

use std::fs;
use std::os::unix::fs::symlink;

use super::{Ran, Workspace, run};

/// A project with a folder `sub` in it, and a file `outside` beside it.
fn project() -> Workspace {
    let here = Workspace::new();
    here.write("project/.git/HEAD", "").write("project/a", "one\n").write("project/sub/b", "one\n");
    here.write("outside", "one\n");
    here
}

fn run_in(here: &Workspace, folder: &str, line: &[&str]) -> Ran {
    run(here.command(line).current_dir(here.path().join(folder)))
}

#[track_caller]
fn has(here: &Workspace, name: &str, content: &str) {
    assert_eq!(fs::read_to_string(here.path().join(name)).unwrap(), content, "{name}");
}

#[test]
fn two_dots_lead_up_from_the_current_folder() {
    let here = project();
    let ran = |line: &[&str]| run_in(&here, "project/sub", line);
    ran(&["edit", "../a", "--old", "one", "--new", "two"]).exits(0);
    has(&here, "project/a", "two\n");
    ran(&["edit", "./../sub/./../a", "--old", "two", "--new", "one"]).exits(0);
    has(&here, "project/a", "one\n");
    ran(&["replace", "one", "three", "../a", "b"]).exits(0);
    has(&here, "project/a", "three\n");
    has(&here, "project/sub/b", "three\n");
    ran(&["replace", "three", "one", ".."]).exits(0);
    has(&here, "project/a", "one\n");
    has(&here, "project/sub/b", "one\n");
    let logged =
        |path: &str| ran(&["log", "--json", "--path", path]).exits(0).json()["transactions"].as_array().unwrap().len();
    assert_eq!([logged("../a"), logged("."), logged(".."), logged("../sub/b")], [4, 2, 4, 2]);
}

#[test]
fn a_kept_content_is_named_from_the_current_folder() {
    let here = project();
    let check = "echo theirs > a; echo theirs > sub/b; exit 1";
    here.write(
        "plan.json",
        r#"{"files": [{"file_path": "a", "content": "x", "if_exists": "replace"},
        {"file_path": "sub/b", "content": "x", "if_exists": "replace"}]}"#,
    );
    run_in(&here, "project", &["apply", "../plan.json", "--check", check]).exits(7);
    let kept = run_in(&here, "project", &["kept", "list", "--json"]).exits(0).json();
    let id = kept["kept"][0]["transaction_id"].as_str().unwrap();
    run_in(&here, "project/sub", &["kept", "restore", id, "../a"]).exits(0);
    has(&here, "project/a", "theirs\n");
    has(&here, "project/sub/b", "one\n");
}

#[test]
fn a_path_out_of_the_root_is_refused_and_nothing_is_changed() {
    let here = project();
    let outside = here.path().join("outside");
    // `log` looks at no path before something was committed.
    run_in(&here, "project", &["edit", "a", "--old", "one", "--new", "two"]).exits(0);
    for path in ["../../outside", "../../project/../outside", outside.to_str().unwrap()] {
        for line in [
            &["edit", path, "--old", "one", "--new", "two"][..],
            &["replace", "one", "two", path],
            &["log", "--path", path],
        ] {
            let ran = run_in(&here, "project/sub", &[line, &["--json"]].concat());
            let json = ran.exits(2).json().to_string();
            assert!(json.contains("OUTSIDE_ROOT") && json.contains("outside the root"), "{json}");
            assert!(json.contains(&format!("{} is", outside.display())), "the path is told as it is meant: {json}");
        }
    }
    has(&here, "outside", "one\n");
}

#[test]
fn the_current_folder_counts_where_the_root_is_another() {
    let here = project();
    let root = ["--root", "project"];
    run_in(&here, ".", &[&["edit", "project/a", "--old", "one", "--new", "two"][..], &root].concat()).exits(0);
    has(&here, "project/a", "two\n");
    let root = ["--root", "../project"];
    here.write("beside/c", "");
    run_in(&here, "beside", &[&["edit", "../project/a", "--old", "two", "--new", "one"][..], &root].concat()).exits(0);
    has(&here, "project/a", "one\n");
    run_in(&here, "beside", &[&["edit", "a", "--old", "one", "--new", "two"][..], &root].concat()).exits(2);
}

#[test]
fn the_current_folder_is_changed_first() {
    let here = project();
    here.write("plan.json", r#"{"files": [{"file_path": "sub/b", "delete": true}]}"#);
    let ran = |line: &[&str]| run_in(&here, ".", line);
    ran(&["-C", "project", "edit", "a", "--old", "one", "--new", "two"]).exits(0);
    has(&here, "project/a", "two\n");
    ran(&["edit", "../a", "--old", "two", "--new", "one", "-C", "project", "-C", "sub"]).exits(0);
    has(&here, "project/a", "one\n");
    ran(&["-C", "project/sub", "--root", "..", "apply", "../../plan.json"]).exits(0);
    assert!(!here.path().join("project/sub/b").exists());
    for (folder, named) in [("none", "none"), ("project/a", "project/a")] {
        let refused = ran(&["-C", folder, "status"]);
        assert!(refused.exits(2).stderr.contains(&format!("{named}, which is not a folder")), "{refused:?}");
    }
    let logged = ran(&["log", "-C", "project/sub", "--path", "b", "--json"]).exits(0).json();
    assert_eq!(logged["transactions"].as_array().unwrap().len(), 1);
}

#[test]
fn two_dots_are_resolved_lexically() {
    let here = project();
    here.write("project/deep/er/c", "").write("project/deep/a", "one\n");
    symlink("deep/er", here.path().join("project/link")).unwrap();
    run_in(&here, "project", &["edit", "link/../a", "--old", "one", "--new", "two"]).exits(0);
    has(&here, "project/a", "two\n");
    has(&here, "project/deep/a", "one\n");
}
