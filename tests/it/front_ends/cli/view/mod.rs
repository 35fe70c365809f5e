//! Checks in a view: they decide before any file is touched.

mod ends;
mod systems;
pub(super) mod users;
#[cfg(target_os = "linux")]
mod watched;

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::{Ran, Workspace, run, wait_for};

/// Returns whether there can be a view here; says why not otherwise.
pub(super) fn is_here() -> bool {
    let here = Workspace::new();
    here.write("a", "one\n");
    let ran = checked(&here, &["edit", "a", "--old", "one", "--new", "two"], "true");
    if ran.status != Some(0) {
        eprintln!("skipped: {}", ran.stderr);
    }
    ran.status == Some(0)
}

/// The command with a check in a view.
fn command(here: &Workspace, line: &[&str], check: &str) -> Command {
    let mut command = here.command(line);
    command.args(["--check-in", "view", "--check", check]);
    command
}

/// Starts a command whose answer is asked for later.
fn started(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The answer of a command that was started.
fn ended(child: Child) -> Ran {
    Ran::from(child.wait_with_output().unwrap())
}

fn checked(here: &Workspace, line: &[&str], check: &str) -> Ran {
    run(&mut command(here, line, check))
}

/// A plan of an edit, a new file in a new folder, a deleted file, and a file that becomes a folder.
fn workspace() -> Workspace {
    let here = Workspace::new();
    here.write(".git/HEAD", "ref: refs/heads/main\n").write("a", "one\n").write("sub/b", "two\n").write("old", "old\n");
    here.write("was/inside", "i\n").write("flat", "f\n");
    let plan = json!({"files": [
        {"file_path": "a", "edits": [{"old_string": "one", "new_string": "1"}]},
        {"file_path": "sub/b", "edits": [{"old_string": "two", "new_string": "2"}], "mode": "0755"},
        {"file_path": "new/deep/c", "content": "three\n"},
        {"file_path": "old", "delete": true},
        {"file_path": "was/inside", "rename_to": "was2"},
        {"file_path": "was", "content": "a file now\n"},
        {"file_path": "flat", "delete": true},
        {"file_path": "flat/below", "content": "a folder now\n"}]});
    here.write("plan.json", &plan.to_string());
    here
}

const OLD: [&str; 6] =
    ["a=one\n", "sub/b=two\n", "old=old\n", "was/inside=i\n", "flat=f\n", ".git/HEAD=ref: refs/heads/main\n"];
const NEW: [&str; 7] = [
    "a=1\n",
    "sub/b=2\n",
    "new/deep/c=three\n",
    "was2=i\n",
    "was=a file now\n",
    "flat/below=a folder now\n",
    ".git/HEAD=ref: refs/heads/main\n",
];

#[track_caller]
fn holds(here: &Workspace, files: &[&str]) {
    let mut there = Vec::new();
    collect(&here.path(), Path::new(""), &mut there);
    let mut wanted: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
    wanted.sort_unstable();
    there.sort_unstable();
    assert_eq!(there, wanted);
}

/// Each file with its content; nothing of the state folder, and not the plan.
fn collect(root: &Path, inside: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(root.join(inside)).unwrap() {
        let entry = entry.unwrap();
        let path = inside.join(entry.file_name());
        if [".txedit", "plan.json", "txedit"].iter().any(|name| path == Path::new(name)) {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            collect(root, &path, found);
        } else {
            found.push(format!("{}={}", path.display(), fs::read_to_string(entry.path()).unwrap()));
        }
    }
}

/// Nothing of a view is left in the state folder.
#[track_caller]
pub(super) fn nothing_stays(here: &Workspace) {
    assert!(!here.path().join(".txedit/view").exists(), "no folder stays behind");
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(here.path().to_str().unwrap()), "{mounts}");
}

const APPLY: [&str; 3] = ["apply", "plan.json", "--json"];

#[test]
fn a_check_sees_the_new_files_at_their_paths_and_nobody_else_does() {
    if !is_here() {
        return;
    }
    let here = workspace();
    let root = here.path();
    let look = format!(
        "set -e; test \"$PWD\" = '{root}'; test \"$TXEDIT_VIEW\" = '{root}'; cd '{root}'; cat a sub/b new/deep/c was2 was flat/below; \
         test ! -e old; test -x sub/b; test \"$(ls -A .txedit)\" = ''",
        root = root.display()
    );
    let json = checked(&here, &APPLY, &look).exits(0).json();
    assert_eq!(json["check"]["output"], json!("1\n2\nthree\ni\na file now\na folder now\n"), "{json}");
    assert_eq!((&json["check"]["in"], &json["check"]["dropped"]), (&json!("view"), &Value::Null), "{json}");
    holds(&here, &NEW);
    nothing_stays(&here);
    here.run(&["undo"]).exits(0);
    holds(&here, &OLD);
}

#[test]
fn a_check_that_fails_has_touched_nothing() {
    if !is_here() {
        return;
    }
    let here = workspace();
    let before = fs::metadata(here.path().join("a")).unwrap().modified().unwrap();
    let json = checked(&here, &APPLY, "cat a; echo no >&2; exit 3").exits(7).json();
    assert_eq!((&json["error_code"], &json["outcome"]), (&json!("CHECK_FAILED"), &json!("unchanged")), "{json}");
    assert_eq!(json["context"]["check"]["output"], json!("1\nno\n"), "{json}");
    assert_eq!(json["context"]["check"]["in"], json!("view"), "{json}");
    assert_eq!(fs::metadata(here.path().join("a")).unwrap().modified().unwrap(), before);
    holds(&here, &OLD);
    nothing_stays(&here);
    assert_eq!(here.run(&["log", "--json"]).exits(0).json()["transactions"], json!([]));
}

#[test]
fn what_a_formatter_makes_of_the_new_files_is_taken_and_the_rest_is_dropped() {
    if !is_here() {
        return;
    }
    let here = workspace();
    let format = "printf 'formatted\\n' > a; chmod 600 new/deep/c; touch sub/b; echo x > other; rm plan.json; \
                  mkdir -p build/deep; echo y > build/deep/o; echo z > old; rm -r sub/../.txedit/none 2>/dev/null; true";
    let json = checked(&here, &APPLY, format).exits(0).json();
    let mut new: Vec<&str> = NEW.into_iter().skip(1).collect();
    new.push("a=formatted\n");
    holds(&here, &new);
    assert!(here.path().join("plan.json").exists());
    assert_eq!(json["check"]["dropped"], json!(4), "{json}");
    assert_eq!(json["check"]["dropped_files"], json!(["build/deep/o", "old", "other", "plan.json"]), "{json}");
    let of = |path: &str| {
        let all = json["file_results"].as_array().unwrap();
        all.iter().find(|file| file["file_path"] == path).unwrap().clone()
    };
    let hash = blake3::hash(b"formatted\n").to_hex().to_string();
    assert_eq!(of("a")["hash_after"], json!(hash), "{json}");
    assert!(of("a")["warnings"][0].as_str().unwrap().contains("the check changed a"), "{json}");
    assert!(of("new/deep/c")["warnings"][0].as_str().unwrap().contains("the check changed new/deep/c"), "{json}");
    assert_eq!(of("sub/b")["warnings"], Value::Null, "{json}");
    here.run(&["undo"]).exits(0);
    holds(&here, &OLD);
    here.run(&["redo"]).exits(0);
    holds(&here, &new);
}

#[test]
fn a_check_that_removes_what_it_should_check_has_failed() {
    if !is_here() {
        return;
    }
    for removes in ["rm new/deep/c", "rm -r new", "rm a; mkdir a", "rm a; ln -s old a"] {
        let here = workspace();
        let json = checked(&here, &APPLY, removes).exits(7).json();
        assert_eq!((&json["error_code"], &json["outcome"]), (&json!("CHECK_FAILED"), &json!("unchanged")), "{json}");
        assert!(json["error"].as_str().unwrap().contains("which it was to check"), "{json}");
        holds(&here, &OLD);
    }
}

/// In a view, in a copy and in the tree.
#[test]
fn what_a_check_does_with_folders_that_come_and_go_is_told() {
    if !is_here() {
        return;
    }
    let plan = json!({"files": [
        {"file_path": "gone", "remove_folder": true},
        {"file_path": "f", "delete": true},
        {"file_path": "n", "make_folder": true},
        {"file_path": "a", "delete": true},
        {"file_path": "a", "make_folder": true},
    ]});
    let fresh = || {
        let here = workspace();
        fs::create_dir(here.path().join("gone")).unwrap();
        here.write("f", "f\n").write("plan.json", &plan.to_string());
        here
    };
    let writes = "mkdir gone; echo 1 > gone/x; echo 2 > n/y; echo 3 > other; echo 4 > f; echo 5 > a/z";
    let json = checked(&fresh(), &APPLY, writes).exits(0).json();
    assert_eq!(json["check"]["dropped_files"], json!(["a/z", "f", "gone/x", "n/y", "other"]), "{json}");
    let json = checked(&fresh(), &APPLY, "mkdir gone; test ! -e f; test -d n").exits(0).json();
    assert_eq!(json["check"]["dropped"], Value::Null, "{json}");
    for removes in ["rmdir n", "rmdir n; echo > n", "rmdir a", "mv n m"] {
        let here = fresh();
        let json = checked(&here, &APPLY, removes).exits(7).json();
        assert_eq!((&json["error_code"], &json["outcome"]), (&json!("CHECK_FAILED"), &json!("unchanged")), "{json}");
        assert!(here.path().join("gone").is_dir() && here.path().join("f").exists(), "{removes}");
    }
    let in_tree = |here: &Workspace, does: &str| {
        run(here.command(&APPLY).args(["--check-in", "tree", "--check", does])).exits(0).json()
    };
    for does in ["mkdir gone; echo 1 > gone/x", "echo 1 > gone"] {
        let json = in_tree(&fresh(), does);
        let warnings = json["file_results"][0]["warnings"].to_string();
        assert!(warnings.contains("the check changed gone; "), "{does}: {json}");
    }
    let json = in_tree(&fresh(), "test -d n; test ! -e gone; test -d a");
    let told =
        json["file_results"].as_array().unwrap().iter().any(|file| file["warnings"].to_string().contains("check"));
    assert!(!told, "{json}");
}

#[test]
fn folders_of_version_control_can_only_be_read_and_others_are_real_where_that_is_asked() {
    if !is_here() {
        return;
    }
    let here = workspace();
    fs::create_dir(here.path().join("cache")).unwrap();
    let check = "cat .git/HEAD; ! touch .git/x 2>/dev/null && echo y > cache/kept && echo z > target/kept";
    let line = [&APPLY[..], &["--through", "cache", "--through", "target"]].concat();
    let json = checked(&here, &line, check).exits(0).json();
    assert_eq!(json["check"]["dropped"], Value::Null, "{json}");
    let kept = |name: &str| fs::read_to_string(here.path().join(name)).unwrap();
    assert_eq!((kept("cache/kept"), kept("target/kept")), ("y\n".to_owned(), "z\n".to_owned()));
    assert!(!here.path().join(".git/x").exists());
    // What is edited cannot be real at the same time: the check would not be the first to see it.
    let line = [&APPLY[..], &["--through", "sub"]].concat();
    here.run(&["undo"]).exits(0);
    let json = checked(&here, &line, "true").exits(2).json();
    assert_eq!((&json["error_code"], &json["outcome"]), (&json!("NO_VIEW"), &json!("unchanged")), "{json}");
    assert!(json["recovery_hint"].as_str().unwrap().contains("--check-in tree"), "{json}");
}

#[test]
fn a_file_that_changed_meanwhile_is_checked_again_and_three_times_at_most() {
    if !is_here() {
        return;
    }
    let here = Workspace::new();
    here.write("a", "one\nx\n").write("through/n", "");
    // The first run of the check changes the real file in another line, from outside: by a path that the view does not cover.
    let real = here.path().join("through/real");
    fs::create_dir(&real).unwrap();
    let other =
        "echo run >> through/n; while [ ! -e through/go ]; do sleep 0.02; done; grep -c . a >> through/seen; true";
    let line = ["edit", "a", "--old", "one", "--new", "two", "--json", "--through", "through"];
    let mut program = command(&here, &line, other);
    let child = started(&mut program);
    wait_for(|| fs::read_to_string(here.path().join("through/n")).unwrap() == "run\n");
    fs::write(here.path().join("a"), "one\nx\ny\n").unwrap();
    here.write("through/go", "");
    let ran = ended(child);
    let json = ran.exits(0).json();
    assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), "two\nx\ny\n", "{json}");
    assert_eq!(
        fs::read_to_string(here.path().join("through/seen")).unwrap(),
        "2\n3\n",
        "the check saw what is committed"
    );

    // Each run of the check is told of a change.
    let here = Workspace::new();
    here.write("a", "one\n").write("through/n", "");
    let each = "n=$(wc -l < through/n); echo run >> through/n; while [ ! -e through/go$n ]; do sleep 0.02; done";
    let mut program = command(&here, &line, each);
    let child = started(&mut program);
    for round in 0..3 {
        wait_for(|| fs::read_to_string(here.path().join("through/n")).unwrap().lines().count() == round + 1);
        fs::write(here.path().join("a"), format!("one\n{}", "more\n".repeat(round + 1))).unwrap();
        here.write(&format!("through/go{round}"), "");
    }
    let json = ended(child).exits(3).json();
    assert_eq!(json["error_code"], json!("CONCURRENT_MODIFICATION"), "{json}");
    assert_eq!(json["outcome"], json!("unchanged"), "{json}");
    assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), "one\nmore\nmore\nmore\n");
    nothing_stays(&here);
}

/// What is meant for one content is not done to another.
#[test]
fn what_others_write_during_the_check_is_never_replaced_or_deleted() {
    if !is_here() {
        return;
    }
    let requests = [
        json!({"file_path": "a", "delete": true}),
        json!({"file_path": "a", "content": "whole\n", "if_exists": "replace"}),
        json!({"file_path": "b", "rename_to": "a", "if_exists": "replace"}),
    ];
    for request in requests {
        let here = Workspace::new();
        here.write("a", "one\n").write("b", "b\n").write("through/n", "");
        here.write("plan.json", &json!({"files": [request]}).to_string());
        let check = "touch through/began; while [ ! -e through/go ]; do sleep 0.02; done";
        let mut program = command(&here, &APPLY, check);
        let child = started(program.args(["--through", "through"]));
        wait_for(|| here.path().join("through/began").exists());
        here.write("a", "another's work\n").write("through/go", "");
        let json = ended(child).exits(3).json();
        assert_eq!(json["error_code"], json!("CONCURRENT_MODIFICATION"), "{json}");
        assert_eq!(json["outcome"], json!("unchanged"), "{json}");
        assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), "another's work\n");
        assert_eq!(fs::read_to_string(here.path().join("b")).unwrap(), "b\n");
        nothing_stays(&here);
    }
}

/// Neither what it cannot be asked for, nor folders that it has closed to itself.
#[test]
fn a_folder_that_the_check_has_closed_is_no_obstacle() {
    let here = Workspace::new();
    here.write("a", "one\n");
    let line = ["edit", "a", "--old", "one", "--new", "two", "--json", "--through", ".git/x"];
    let json = checked(&here, &line, "true").exits(2).json();
    assert!(json["error"].as_str().unwrap().contains("of version control"), "{json}");
    let json = checked(&here, &line[..7], "mkdir q; chmod 0 q; head -c 1 /proc/1/environ | wc -c").exits(0).json();
    if json["check"]["in"] == "view" {
        assert_eq!(json["check"]["output"], json!("0\n"), "{json}");
    }
    let json = checked(&here, &["replace", "two", "three", "--json"], "touch other").exits(0).json();
    assert_eq!(json["check"]["dropped"], json!(1), "{json}");
}

#[test]
fn symlinks_and_folders_are_in_it_as_they_will_be() {
    if !is_here() {
        return;
    }
    let here = Workspace::new();
    here.write("a", "one\n").write("b", "b\n");
    std::os::unix::fs::symlink("a", here.path().join("old")).unwrap();
    fs::create_dir(here.path().join("leaves")).unwrap();
    let plan = json!({"files": [
        {"file_path": "link", "symlink_to": "a"},
        {"file_path": "old", "symlink_to": "b", "if_exists": "replace"},
        {"file_path": "empty", "make_folder": true, "mode": "0711"},
        {"file_path": "leaves", "remove_folder": true}]});
    here.write("plan.json", &plan.to_string());
    let look = "set -e; readlink link old; cat link old; stat -c %a empty; test ! -e leaves; ln -sfn plan.json old; \
                test \"$again\" || exit 9";
    let json = checked(&here, &APPLY, look).exits(7).json();
    assert_eq!(json["context"]["check"]["output"], json!("a\nb\none\nb\n711\n"), "{json}");
    assert!(here.path().join("leaves").exists() && !here.path().join("link").exists());
    let json = run(command(&here, &APPLY, look).env("again", "1")).exits(0).json();
    assert_eq!(json["check"]["in"], json!("view"), "{json}");
    let target = |name: &str| fs::read_link(here.path().join(name)).unwrap();
    assert_eq!((target("link"), target("old")), ("a".into(), "plan.json".into()), "what the check made of it is taken");
    assert!(here.path().join("empty").is_dir() && !here.path().join("leaves").exists());
    here.run(&["undo"]).exits(0);
    assert_eq!(target("old"), Path::new("a"));
    assert!(here.path().join("leaves").is_dir() && !here.path().join("empty").exists());
}

#[test]
fn an_undo_and_an_open_transaction_are_checked_in_a_view_too() {
    if !is_here() {
        return;
    }
    let here = Workspace::new();
    here.write("a", "one\n");
    here.run(&["edit", "a", "--old", "one", "--new", "two"]).exits(0);
    let json = checked(&here, &["undo", "--json"], "grep -q two a").exits(7).json();
    assert_eq!(json["outcome"], json!("unchanged"), "{json}");
    let json = checked(&here, &["undo", "--json"], "grep -q one a").exits(0).json();
    assert_eq!(json["check"]["in"], json!("view"), "{json}");
    assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), "one\n");
    here.write("plan.json", r#"{"files": [{"file_path": "a", "edits": [{"old_string": "one", "new_string": "3"}]}]}"#);
    let id = here.run(&["stage", "plan.json", "--json"]).exits(0).json()["transaction_id"].as_str().unwrap().to_owned();
    let json = checked(&here, &["commit", &id, "--json"], "grep -q one a").exits(7).json();
    assert_eq!(json["outcome"], json!("unchanged"), "{json}");
    let json = checked(&here, &["commit", &id, "--json"], "grep -q 3 a").exits(0).json();
    assert_eq!(json["check"]["in"], json!("view"), "{json}");
    assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), "3\n");
}

#[test]
fn a_txedit_in_a_view_works_on_its_files_with_a_state_folder_of_its_own() {
    if !is_here() {
        return;
    }
    let here = Workspace::new();
    here.write("a", "one\n").write("b", "b\n");
    let txedit = env!("CARGO_BIN_EXE_txedit");
    let check = format!(
        "set -e; {txedit} --root . edit b --old b --new c; {txedit} --root . edit a --old two --new three --check 'grep -q three a'; \
         {txedit} --root . log --json"
    );
    let json = checked(&here, &["edit", "a", "--old", "one", "--new", "two", "--json"], &check);
    let json = json.exits(0).json();
    assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), "three\n", "{json}");
    assert_eq!(fs::read_to_string(here.path().join("b")).unwrap(), "b\n");
    let log = here.run(&["log", "--json"]).exits(0).json();
    assert_eq!(log["transactions"].as_array().unwrap().len(), 1, "{log}");
}
