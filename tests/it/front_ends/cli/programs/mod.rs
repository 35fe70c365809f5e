//! `txedit run`: what a program does in a view becomes one transaction, or nothing.

mod beside;
mod closed;
mod everywhere;
mod left_out;
mod raced;
mod staged;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::json;

use super::view::{is_here, nothing_stays};
use super::{Ran, Workspace, run, wait_for};

/// Everything below a folder but the state folder: kind, mode, and content or target.
fn tree(root: &Path) -> BTreeMap<PathBuf, String> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![PathBuf::new()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder)).unwrap() {
            let path = folder.join(entry.unwrap().file_name());
            let there = root.join(&path);
            let metadata = there.symlink_metadata().unwrap();
            let mode = metadata.permissions().mode() & 0o7777;
            if path == Path::new(".txedit") {
                continue;
            }
            let told = if metadata.is_dir() {
                folders.push(path.clone());
                format!("folder {mode:o}")
            } else if metadata.is_symlink() {
                format!("symlink to {}", fs::read_link(&there).unwrap().display())
            } else {
                format!("{mode:o} {}", String::from_utf8_lossy(&fs::read(&there).unwrap()))
            };
            found.insert(path, told);
        }
    }
    found
}

fn workspace() -> Workspace {
    let here = Workspace::new();
    here.write("a", "one\n").write("b", "two\n").write("sub/c", "three\n").write("sub/in/d", "four\n");
    here.write("sub/in/e", "five\n").write("gone/deep/f", "six\n").write("gone/g", "seven\n");
    fs::create_dir(here.path().join("empty")).unwrap();
    here.write("locked", "read-only\n");
    fs::set_permissions(here.path().join("locked"), std::os::unix::fs::PermissionsExt::from_mode(0o444)).unwrap();
    for (target, name) in [("a", "to-a"), ("nowhere", "dangling"), ("sub", "to-sub")] {
        std::os::unix::fs::symlink(target, here.path().join(name)).unwrap();
    }
    here
}

/// The program with a script of a shell.
fn command(here: &Workspace, options: &[&str], script: &str) -> Command {
    let mut command = here.command(&["run"]);
    command.args(options).args(["--", "sh", "-c", &format!("set -e; {script}")]);
    command
}

fn ran(here: &Workspace, options: &[&str], script: &str) -> Ran {
    run(&mut command(here, options, script))
}

/// What a program may do to a tree.
const SCRIPTS: [&str; 21] = [
    "chmod 444 a; rm -f b",
    "mv -f locked unlocked; chmod u+w unlocked; echo more >> unlocked",
    "echo 1 > a; echo new > new; mkdir made; echo x > made/x; rm b",
    "sed -i s/o/0/ a b sub/c",
    "chmod 755 a; chmod 600 sub/c; touch b",
    "mv a moved; mv sub/c c; mv sub/in elsewhere",
    "mv gone went",
    "rm -r gone empty",
    "rm -r gone; mkdir gone; echo other > gone/g",
    "rm -r sub; echo file > sub",
    "rm a; mkdir a; echo in > a/in",
    "ln -s b new-link; ln -sfn b to-a; rm dangling",
    "rm to-a; echo a file > to-a; rm b; ln -s a b",
    "rm to-sub; mkdir to-sub; echo x > to-sub/x",
    "rm -r gone; ln -s sub gone",
    "mkdir -p x/y/z; mkdir -m 700 private; mkdir -m 1777 sticky",
    "echo via > to-sub/via; echo through > to-a",
    "mv sub/in/d t; mv sub/in/e sub/in/d; mv t sub/in/e",
    "printf 'no line end' > 'odd name\n'; printf '\\000\\001' > binary; : > nothing",
    "rm -rf a b sub gone empty to-a dangling to-sub",
    "cp -a sub copy; ln a second; echo more >> second",
];

#[test]
fn a_program_leaves_what_it_leaves_without_txedit_and_an_undo_takes_it_back() {
    if !is_here() {
        return;
    }
    for script in SCRIPTS {
        let (here, plain) = (workspace(), workspace());
        let before = tree(&here.path());
        let alone = Command::new("sh").args(["-c", &format!("set -e; {script}")]).current_dir(plain.path()).status();
        assert!(alone.unwrap().success(), "{script}");
        let json = ran(&here, &["--json"], script).exits(0).json();
        assert_eq!(tree(&here.path()), tree(&plain.path()), "{script}\n{json}");
        assert_eq!((&json["program"]["in"], &json["program"]["ended"]), (&json!("view"), &json!("passed")), "{json}");
        nothing_stays(&here);
        if json["transaction_id"].is_string() {
            here.run(&["undo"]).exits(0);
        }
        assert_eq!(tree(&here.path()), before, "{script}");
    }
}

#[test]
fn one_that_fails_changes_nothing() {
    if !is_here() {
        return;
    }
    let here = workspace();
    let before = tree(&here.path());
    let modified = fs::metadata(here.path().join("a")).unwrap().modified().unwrap();
    let json = ran(&here, &["--json"], "echo 1 > a; rm -r gone; exit 3").exits(7).json();
    assert_eq!((&json["error_code"], &json["outcome"]), (&json!("PROGRAM_FAILED"), &json!("unchanged")), "{json}");
    assert_eq!(json["context"]["program"]["ended"], json!("exit status: 3"), "{json}");
    assert_eq!(tree(&here.path()), before);
    assert_eq!(fs::metadata(here.path().join("a")).unwrap().modified().unwrap(), modified);
    let missing = run(&mut here.command(&["run", "--json", "no-such-program"]));
    missing.exits(7);
    assert!(missing.stderr.contains("no-such-program: No such file"), "{}", missing.stderr);
    let late = ran(&here, &["--json", "--timeout", "0.3"], "echo 1 > a; sleep 60").exits(7).json();
    assert!(late["error"].as_str().unwrap().contains("took too long"), "{late}");
    assert_eq!(tree(&here.path()), before);
    nothing_stays(&here);
    assert_eq!(here.run(&["log", "--json"]).exits(0).json()["transactions"], json!([]));
    // One that never ran did nothing that could be kept.
    let missing = run(&mut here.command(&["run", "--json", "--keep-on-failure", "no-such-program"])).exits(7).json();
    assert!(missing["error"].as_str().unwrap().contains("could not be started"), "{missing}");
    assert_eq!(
        (&missing["error_code"], &missing["outcome"]),
        (&json!("PROGRAM_FAILED"), &json!("unchanged")),
        "{missing}"
    );
    let of_shell = ran(&here, &["--json", "--keep-on-failure"], "chmod 755 b; no-such-program").exits(0).json();
    assert_eq!(of_shell["program"]["ended"], json!("exit status: 127"), "{of_shell}");
    here.run(&["undo"]).exits(0);
    nothing_stays(&here);
    let kept = ran(&here, &["--json", "--keep-on-failure"], "echo 1 > a; exit 3").exits(0).json();
    assert_eq!(kept["program"]["ended"], json!("exit status: 3"), "{kept}");
    assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), "1\n");
}

#[test]
fn its_output_is_its_own_unless_an_answer_is_asked_for() {
    if !is_here() {
        return;
    }
    let here = workspace();
    let plain = ran(&here, &[], "echo out; echo err >&2; echo 1 > a");
    plain.exits(0);
    assert_eq!(plain.stdout, "out\n");
    assert!(plain.stderr.starts_with("err\n") && plain.stderr.contains("committed "), "{}", plain.stderr);
    let asked = ran(&here, &["--json"], "echo out; echo 2 > a");
    asked.exits(0);
    assert!(asked.stderr.starts_with("out\n"), "{}", asked.stderr);
    assert_eq!(asked.json()["files_edited"], json!(1));
    let dry = ran(&here, &["--dry-run"], "echo out; echo 3 > a");
    dry.exits(0);
    assert!(dry.stdout.contains("-2\n+3\n") && !dry.stdout.contains("out"), "{}", dry.stdout);
    assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), "2\n");
    let nothing = ran(&here, &[], "true");
    nothing.exits(0);
    assert!(nothing.stderr.contains("nothing to change"), "{}", nothing.stderr);
}

#[test]
fn it_has_its_input_and_starts_where_it_was_called() {
    if !is_here() {
        return;
    }
    let here = workspace();
    let root = here.path();
    let mut command = here.command(&["run", "--", "sh", "-c", "cat > fed; pwd"]);
    command.current_dir(root.join("sub/in")).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env("TXEDIT_ROOT", &root);
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"from outside\n").unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap());
    ran.exits(0);
    assert_eq!(ran.stdout, format!("{}\n", root.join("sub/in").display()));
    assert_eq!(fs::read_to_string(root.join("sub/in/fed")).unwrap(), "from outside\n");
}

#[test]
fn it_is_staged_labelled_and_checked_like_any_other_change() {
    if !is_here() {
        return;
    }
    let here = workspace();
    let id = ran(&here, &["--stage"], "echo 1 > a; echo new > new; rm b").exits(0).stdout.trim().to_owned();
    assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), "one\n");
    here.run(&["commit", &id]).exits(0);
    assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), "1\n");
    assert!(!here.path().join("b").exists() && here.path().join("new").exists());
    let refused = ran(&here, &["--json", "--check", "grep -q 1 a"], "echo 2 > a").exits(7).json();
    assert_eq!(refused["error_code"], json!("CHECK_FAILED"), "{refused}");
    assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), "1\n");
    let passed = ran(&here, &["--json", "--check", "grep -q 2 a", "--label", "two"], "echo 2 > a").exits(0).json();
    assert_eq!(passed["check"]["ended"], json!("passed"), "{passed}");
    ran(&here, &[], "echo 3 > a").exits(0);
    let log = here.run(&["log", "--json"]).exits(0).json();
    let labels: Vec<_> = log["transactions"].as_array().unwrap().iter().map(|one| one["label"].clone()).collect();
    assert_eq!(labels[..2], [json!("sh -c set -e; echo 3 > a"), json!("two")], "{log}");
}

#[test]
fn an_interrupt_stops_it_and_nothing_is_left() {
    if !is_here() {
        return;
    }
    let here = workspace();
    let before = tree(&here.path());
    let outside = tempfile::tempdir().unwrap();
    let ready = outside.path().join("ready");
    let script = format!("echo 1 > a; touch {}; sleep 60", ready.display());
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::TERM] {
        let child = command(&here, &["--json"], &script).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        wait_for(|| ready.exists());
        rustix::process::kill_process(rustix::process::Pid::from_child(&child), signal).unwrap();
        let json = Ran::from(child.wait_with_output().unwrap()).exits(130).json();
        assert_eq!((&json["error_code"], &json["outcome"]), (&json!("CANCELLED"), &json!("unchanged")), "{json}");
        fs::remove_file(&ready).unwrap();
        nothing_stays(&here);
    }
    assert_eq!(tree(&here.path()), before);
}

#[test]
fn what_it_leaves_behind_ends_with_it_and_is_named() {
    if !is_here() {
        return;
    }
    let here = workspace();
    // Not before it is the program whose name is told.
    let script = "setsid sleep 6123 & n=0; until grep -qx sleep /proc/$!/comm || [ $((n += 1)) = 300 ]; do sleep 0.01; done; \
                  echo 1 > a";
    let json = ran(&here, &["--json"], script).exits(0).json();
    let behind = json["program"]["left_behind"].as_array().unwrap();
    assert!(behind.len() == 1 && behind[0].as_str().unwrap().ends_with("(sleep)"), "{json}");
}
