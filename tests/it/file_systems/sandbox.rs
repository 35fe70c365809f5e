//! Sandboxes that refuse system calls, as those of old container runtimes do, and old kernels.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Output};

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::is_without;
use crate::support::mounts::{self, Kind};

/// The error, the calls that get it, and behind them what the program is called with.
const REFUSED: &str = "TXEDIT_TEST_REFUSED";

/// The program, if it is not the one that was built with the tests.
const PROGRAM: &str = "TXEDIT_TEST_PROGRAM";

/// The calls by their names.
const CALLS: [(&str, libc::c_long); 9] = [
    ("openat2", libc::SYS_openat2),
    ("statx", libc::SYS_statx),
    ("copy_file_range", libc::SYS_copy_file_range),
    ("getrandom", libc::SYS_getrandom),
    ("fallocate", libc::SYS_fallocate),
    ("renameat2", libc::SYS_renameat2),
    ("linkat", libc::SYS_linkat),
    ("syncfs", libc::SYS_syncfs),
    ("sync_file_range", libc::SYS_sync_file_range),
];

/// Started once more by [`refusing`]: gives up the calls for good, and becomes the program.
#[test]
fn becomes_the_program() {
    let Ok(refused) = std::env::var(REFUSED) else { return };
    let mut lines = refused.lines();
    let (error, names) = (lines.next().unwrap().parse().unwrap(), lines.next().unwrap());
    let number = |name: &str| CALLS.iter().find(|(call, _)| *call == name).unwrap().1;
    // Without conditions, whatever the arguments are.
    let rules: BTreeMap<i64, Vec<_>> = names.split(',').map(|name| (number(name), Vec::new())).collect();
    let arch = std::env::consts::ARCH.try_into().unwrap();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(error), arch).unwrap();
    apply_filter(&BpfProgram::try_from(filter).unwrap()).unwrap();
    // Another build of it, such as a static one.
    let program = std::env::var_os(PROGRAM).unwrap_or_else(|| env!("CARGO_BIN_EXE_txedit").into());
    panic!("{}", Command::new(program).args(lines).env_remove(REFUSED).exec());
}

/// Runs the program where some calls fail with an error.
fn refusing(error: i32, calls: &str, root: &Path, line: &[&str]) -> Output {
    let line = ["--root", root.to_str().unwrap()].iter().chain(line).copied().collect::<Vec<_>>();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "--nocapture", "file_systems::sandbox::becomes_the_program"]);
    command.env(REFUSED, format!("{error}\n{calls}\n{}", line.join("\n"))).env("TXEDIT_CHECK_IN", "tree");
    command.output().unwrap()
}

/// What the program answers for scripts, and whether it ended well.
fn json_of(output: &Output) -> (Value, bool) {
    let text = String::from_utf8_lossy(&output.stdout);
    // The test that becomes the program speaks first.
    let start = text.find('{').unwrap_or_else(|| panic!("{}", told(output)));
    (serde_json::Deserializer::from_str(&text[start..]).into_iter().next().unwrap().unwrap(), output.status.success())
}

fn told(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text)).join("\n")
}

fn workspace() -> TempDir {
    let workspace = TempDir::new().unwrap();
    fs::create_dir(workspace.path().join("sub")).unwrap();
    fs::write(workspace.path().join("a"), "one\n").unwrap();
    fs::write(workspace.path().join("sub/b"), "one\n").unwrap();
    workspace
}

#[test]
fn calls_that_can_be_done_without_are_done_without() {
    for calls in
        ["openat2", "statx", "copy_file_range", "getrandom", "fallocate", "renameat2", "openat2,statx,copy_file_range"]
    {
        for error in [libc::EPERM, libc::ENOSYS] {
            let workspace = workspace();
            let read = |name: &str| fs::read_to_string(workspace.path().join(name)).unwrap();
            let run = |line: &[&str]| {
                let output = refusing(error, calls, workspace.path(), line);
                assert!(output.status.success(), "{calls} {error}, {line:?}: {}", told(&output));
            };
            run(&["replace", "one", "two"]);
            assert_eq!((read("a"), read("sub/b")), ("two\n".into(), "two\n".into()), "{calls} {error}");
            run(&["undo"]);
            assert_eq!((read("a"), read("sub/b")), ("one\n".into(), "one\n".into()), "{calls} {error}");
            run(&["status"]);
            run(&["doctor"]);
        }
    }
}

/// What `doctor` says of `--swap in-place` where nothing else is possible, and what a commit does there.
#[test]
fn doctor_foretells_what_overwriting_in_place_gives() {
    let workspace = workspace();
    let calls = |line: &[&str]| json_of(&refusing(libc::EPERM, "renameat2,linkat", workspace.path(), line));
    let (said, is_usable) = calls(&["doctor", "--json"]);
    assert_eq!((&said["usable"], is_usable), (&json!(false), false), "{said}");
    assert_eq!(said["with_swap_in_place"], "in_place", "{said}");
    let (refused, _) = calls(&["replace", "one", "two", "--json"]);
    assert_eq!(refused["error_code"], "UNSUPPORTED_FILE_SYSTEM", "{refused}");
    assert!(refused["recovery_hint"].as_str().unwrap().contains("--swap in-place"), "{refused}");

    let (said, is_usable) = calls(&["doctor", "--json", "--swap", "in-place"]);
    assert_eq!((&said["usable"], is_usable, &said["guarantee"]), (&json!(true), true, &json!("in_place")), "{said}");
    assert!(said.get("with_swap_in_place").is_none(), "{said}");
    let (done, _) = calls(&["replace", "one", "two", "--json", "--swap", "in-place"]);
    assert_eq!((&done["success"], &done["guarantee"]), (&json!(true), &said["guarantee"]), "{done}");
    assert_eq!(fs::read_to_string(workspace.path().join("sub/b")).unwrap(), "two\n");
    let (undone, _) = calls(&["undo", "--json", "--swap", "in-place"]);
    assert_eq!(undone["guarantee"], "in_place", "{undone}");
    // Nothing more can be done than it says.
    let text = told(&refusing(libc::EPERM, "renameat2,linkat", workspace.path(), &["doctor", "--swap", "in-place"]));
    assert!(text.contains("nothing is made, deleted or moved"), "{text}");
    let new = workspace.path().join("new").display().to_string();
    let (refused, _) = calls(&["create", &new, "--text", "new", "--json", "--swap", "in-place"]);
    assert_eq!(
        (&refused["error_code"], &refused["outcome"]),
        (&json!("UNSUPPORTED_FILE_SYSTEM"), &json!("unchanged")),
        "{refused}"
    );

    // Outside of the sandbox the two names are exchanged again, and what was committed in it can be undone.
    let output = Command::new(env!("CARGO_BIN_EXE_txedit"))
        .args(["--root", workspace.path().to_str().unwrap()])
        .args(["redo", "--json"])
        .output()
        .unwrap();
    assert_eq!(json_of(&output).0["guarantee"], "exchange");
}

#[test]
fn calls_that_the_promise_needs_are_named_and_nothing_is_changed() {
    let needed = [("renameat2,linkat", "(renameat2 RENAME_EXCHANGE)"), ("syncfs", "cannot sync the file system of")];
    for (calls, says) in &needed[..if is_without("syncfs") { 1 } else { 2 }] {
        for error in [libc::EPERM, libc::ENOSYS] {
            let workspace = workspace();
            let files = fs::read_dir(workspace.path()).unwrap().count();
            // More than are synced one by one.
            for number in 0..20 {
                fs::write(workspace.path().join(format!("n{number}")), "one\n").unwrap();
            }
            let output = refusing(error, calls, workspace.path(), &["replace", "one", "two"]);
            let text = told(&output);
            assert!(!output.status.success() && text.contains(says), "{calls} {error}: {text}");
            assert!(text.contains("nothing was changed"), "{calls} {error}: {text}");
            assert_eq!(fs::read_to_string(workspace.path().join("a")).unwrap(), "one\n", "{calls} {error}");
            let names = fs::read_dir(workspace.path()).unwrap().map(|entry| entry.unwrap().file_name());
            assert_eq!(names.filter(|name| name != ".txedit").count(), files + 20, "{calls} {error}");
            let output = refusing(error, calls, workspace.path(), &["doctor"]);
            assert!(told(&output).contains("exchange") && !told(&output).contains("os error"), "{}", told(&output));
        }
    }
}

/// Only an ext4 with a journal has contents written out.
#[test]
fn contents_that_cannot_be_written_out_are_synced() {
    mounts::with(Kind::Ext4, |root| {
        fs::write(root.join("a"), "0\n").unwrap();
        // The first commit syncs the whole file system.
        for (number, error) in [libc::ENOSYS, libc::ENOSYS, libc::EPERM].into_iter().enumerate() {
            let (old, new) = (number.to_string(), (number + 1).to_string());
            let output = refusing(error, "sync_file_range", root, &["replace", &old, &new, "--json"]);
            assert!(json_of(&output).1, "{}", told(&output));
            assert_eq!(fs::read_to_string(root.join("a")).unwrap(), format!("{new}\n"));
        }
    });
}
