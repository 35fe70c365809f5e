//! What the system refuses, and numbers that are larger than any clock: an error or a slower way, never a panic.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Ran, Workspace, run};
use crate::support::mounts::is_root;

/// Enough files for all that is done by several threads, and a request that edits them.
fn many() -> Workspace {
    let here = Workspace::new();
    here.write(".git/HEAD", "");
    let names: Vec<String> = (0..200).map(|n| format!("f{n}")).collect();
    for name in &names {
        here.write(name, "old\n");
    }
    let entry = |name: &String| json!({"file_path": name, "edits": [{"old_string": "old", "new_string": "new"}]});
    let files: Vec<Value> = names.iter().map(entry).collect();
    here.write("plan.json", &json!({"files": files}).to_string());
    here
}

/// All files hold this.
#[track_caller]
fn hold(here: &Workspace, content: &str) {
    for n in 0..200 {
        assert_eq!(fs::read_to_string(here.path().join(format!("f{n}"))).unwrap(), content, "f{n}");
    }
}

/// A user whom nobody else is, with a workspace.
struct User {
    id: u32,
    here: Workspace,
    /// Where the program is: it may have been built where only root can go.
    program: TempDir,
}

impl User {
    fn new(id: u32) -> Self {
        let here = many();
        let give = |path: &Path| chown(path, Some(id), Some(id)).unwrap();
        give(&here.path());
        for entry in fs::read_dir(here.path()).unwrap() {
            give(&entry.unwrap().path());
        }
        let program = tempfile::tempdir().unwrap();
        fs::set_permissions(program.path(), PermissionsExt::from_mode(0o755)).unwrap();
        fs::copy(env!("CARGO_BIN_EXE_txedit"), program.path().join("txedit")).unwrap();
        Self { id, here, program }
    }

    /// Runs a command with so many threads and processes at most.
    fn run(&self, processes: u32, line: &[&str]) -> Ran {
        let id = self.id.to_string();
        let mut command = Command::new("setpriv");
        command.args(["--reuid", &id, "--regid", &id, "--clear-groups", "prlimit", &format!("--nproc={processes}")]);
        command.arg(self.program.path().join("txedit")).args(line).current_dir(self.here.path());
        run(command.env("XDG_CONFIG_HOME", self.here.path()).stdin(Stdio::null()))
    }
}

#[test]
fn without_threads_everything_is_done_by_one() {
    if !is_root() {
        eprintln!("skipped: another user needs root");
        return;
    }
    let user = User::new(54_321);
    user.run(1, &["apply", "plan.json"]).exits(0);
    hold(&user.here, "new\n");
    user.run(1, &["undo"]).exits(0);
    hold(&user.here, "old\n");
    user.run(1, &["replace", "old", "other", "--glob", "f*"]).exits(0);
    hold(&user.here, "other\n");
    let ran = user.run(1, &["mcp"]);
    assert!(ran.exits(5).stderr.contains("ulimit -u"), "{ran:?}");
}

#[test]
fn a_check_that_gets_no_process_or_thread_leaves_nothing_in_place() {
    if !is_root() {
        eprintln!("skipped: another user needs root");
        return;
    }
    let user = User::new(54_322);
    let ran = user.run(1, &["apply", "plan.json", "--json", "--check", "true"]);
    let json = ran.exits(7).json();
    assert!(json["error"].as_str().unwrap().contains("could not be run"), "{json}");
    hold(&user.here, "old\n");
    // The check itself, and nothing besides.
    user.run(2, &["apply", "plan.json", "--check", "echo said; exit 1"]).exits(7);
    hold(&user.here, "old\n");
    let ran = user.run(2, &["apply", "plan.json", "--check", "echo said"]);
    assert!(ran.exits(0).stderr.contains("said"), "{ran:?}");
    hold(&user.here, "new\n");
}

#[test]
fn times_that_no_clock_can_tell_are_as_good_as_for_ever() {
    let here = many();
    let line = ["apply", "plan.json", "--lock-timeout", "1e19", "--check-timeout", "1e19", "--check", "true"];
    here.run(&line).exits(0);
    hold(&here, "new\n");
    for option in ["--lock-timeout", "--check-timeout"] {
        for value in ["1e20", "1e300", "inf", "NaN", "-1"] {
            here.run(&["apply", "plan.json", &format!("{option}={value}")]).exits(2);
        }
    }
    here.run(&["history", "prune", "--max-age", &u64::MAX.to_string(), "--max-bytes", &u64::MAX.to_string()]).exits(0);
}

#[test]
fn a_file_that_may_not_become_so_large_is_an_error() {
    let here = Workspace::new();
    here.write(".git/HEAD", "").write("a", "word\n");
    let content = "x".repeat(64 << 10);
    here.write("plan.json", &json!({"files": [{"file_path": "b", "content": content}]}).to_string());
    let inner = here.command(&["apply", "plan.json", "--json"]);
    let mut command = Command::new("prlimit");
    command.arg("--fsize=16384").arg(inner.get_program()).args(inner.get_args()).current_dir(here.path());
    let json = run(&mut command).exits(5).json();
    assert_eq!((&json["error_code"], &json["outcome"]), (&json!("WRITE_FAILED"), &json!("unchanged")), "{json}");
    assert!(json["error"].as_str().unwrap().contains("ulimit -f"), "{json}");
    assert!(!here.path().join("b").exists());
    assert_eq!(here.run(&["status", "--json"]).exits(0).json()["interrupted"], json!([]));
}

#[test]
fn without_proc_the_error_says_so() {
    if !is_root() {
        eprintln!("skipped: hiding /proc needs root");
        return;
    }
    let here = Workspace::new();
    here.write(".git/HEAD", "").write("a", "old\n");
    let inner = here.command(&["edit", "a", "--old", "old", "--new", "new", "--json"]);
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", "mount -t tmpfs none /proc && exec \"$@\"", "sh"]);
    command.arg(inner.get_program()).args(inner.get_args()).current_dir(here.path());
    let json = run(&mut command).exits(5).json();
    assert_eq!(json["error_code"], "UNSUPPORTED_FILE_SYSTEM", "{json}");
    assert!(json["error"].as_str().unwrap().contains("mount /proc"), "{json}");
    assert_eq!(fs::read_to_string(here.path().join("a")).unwrap(), "old\n");
}
