//! The program itself, killed by strace before each system call that changes anything. With `TXEDIT_TEST_KILLED` it is another
//! one, such as that of an earlier version, and this one recovers what it leaves.

use std::collections::HashMap;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::is_full;
use super::kills::recover_and_look;
use super::scene::{self, Scene};
use crate::support::mounts::{self, Kind};
use crate::support::{has_strace, is_setting};

/// Calls that change what is on the disk, or when it is there. `?`: not every machine has it.
const CHANGING: [&str; 39] = [
    "?open",
    "openat",
    "?creat",
    "?mkdir",
    "mkdirat",
    "?unlink",
    "unlinkat",
    "?rmdir",
    "?rename",
    "?renameat",
    "renameat2",
    "?link",
    "linkat",
    "?symlink",
    "symlinkat",
    "write",
    "writev",
    "pwrite64",
    "pwritev",
    "?truncate",
    "ftruncate",
    "fallocate",
    "copy_file_range",
    "sendfile",
    "?chmod",
    "fchmod",
    "fchmodat",
    "?chown",
    "fchown",
    "fchownat",
    "fsetxattr",
    "fremovexattr",
    "utimensat",
    "ioctl",
    "fsync",
    "fdatasync",
    "syncfs",
    "?sync_file_range",
    "?fchmodat2",
];

/// `strace` around the program, which is about to do `line` in `root`.
fn traced(options: &[&str], root: &Path, line: &[&str]) -> Command {
    let mut command = Command::new("strace");
    let program = std::env::var_os("TXEDIT_TEST_KILLED").unwrap_or_else(|| env!("CARGO_BIN_EXE_txedit").into());
    command.args(["-f", "-qq"]).args(options).arg(program).args(line);
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_setting(name)) {
        command.env_remove(name);
    }
    command.env("TXEDIT_CHECK_IN", "tree").arg("--root").arg(root).current_dir(root).stdin(Stdio::null());
    command
}

/// Which calls the program makes, as strace counts them to find one again: the name and its how-manieth.
fn changing_calls(scratch: &Path, root: &Path, line: &[&str]) -> Vec<(String, usize)> {
    let log = scratch.join("log");
    let set = format!("trace={}", CHANGING.join(","));
    let output = traced(&["-o", log.to_str().unwrap(), "-e", &set], root, line).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8_lossy(&fs::read(&log).unwrap()).into_owned();
    let main = text.split_whitespace().next().unwrap().to_owned();
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut calls = Vec::new();
    // Whatever runs beside the first thread waits for signals, and changes nothing.
    for call in text.lines().filter_map(|line| line.strip_prefix(&main)) {
        let call = call.trim_start();
        let Some((name, arguments)) = call.split_once('(') else { continue };
        let count = counts.entry(name.to_owned()).or_default();
        *count += 1;
        let opens = matches!(name, "open" | "openat");
        if !opens || arguments.contains("O_CREAT") || arguments.contains("O_TRUNC") {
            calls.push((name.to_owned(), *count));
        }
    }
    calls
}

fn said_success(output: &Output) -> bool {
    String::from_utf8_lossy(&output.stdout).contains("\"success\":true")
        || String::from_utf8_lossy(&output.stdout).contains("\"success\": true")
}

/// Kills the program before each of its calls. Answers how often it died.
fn kill_program(root: &Path, share: usize) -> usize {
    let plan = root.join("plan.json");
    fs::write(&plan, scene::REQUEST).unwrap();
    let line = ["apply", plan.to_str().unwrap(), "--json"];
    let recorded = Scene::new(&root.join("recorded"));
    let calls = changing_calls(root, &recorded.root, &line);
    assert!(recorded.is_all_new("recorded"));
    let mut killed = 0;
    for (index, (name, nth)) in calls.iter().enumerate().filter(|(index, _)| index % share == 0) {
        let scene = Scene::new(&root.join(index.to_string()));
        let inject = format!("inject={name}:signal=SIGKILL:when={nth}");
        let output = traced(&["-e", &format!("trace={name}"), "-e", &inject, "-o", "/dev/null"], &scene.root, &line);
        let output = { output }.output().unwrap();
        let told = format!("call {index}, {name} {nth}: {output:?}");
        assert!(
            output.status.signal() == Some(9) || output.status.code() == Some(137) || output.status.success(),
            "{told}"
        );
        killed += usize::from(!output.status.success());
        let all_new = recover_and_look(&scene, &told);
        assert!(all_new || !said_success(&output), "{told}");
        fs::remove_dir_all(&scene.root).unwrap();
    }
    eprintln!("{} calls, killed at {killed}", calls.len());
    killed
}

#[test]
fn the_program_killed_at_any_system_call_is_all_old_or_all_new() {
    if !has_strace() {
        eprintln!("skipped: strace does not work here");
        return;
    }
    let all = [Kind::Ext4, Kind::Tmpfs, Kind::Xfs, Kind::Btrfs, Kind::Overlay];
    let (kinds, share) = if is_full() { (&all[..], 1) } else { (&all[..1], 2) };
    for kind in kinds {
        if let Some(killed) = mounts::with(*kind, |root| kill_program(root, share)) {
            assert!(killed > 20, "{kind:?}: only {killed} calls were there to be killed at");
        }
    }
}
