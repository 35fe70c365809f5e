//! Programs raced with others on the same files, and killed at any call.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;

use super::{Ran, is_here, tree, wait_for, workspace};
use crate::support::is_full;

#[test]
fn nothing_that_others_write_meanwhile_is_lost() {
    if !is_here() {
        return;
    }
    let asked = std::env::var("TXEDIT_TEST_RUNS").ok().and_then(|runs| runs.parse().ok());
    let runs: u32 = asked.unwrap_or(if is_full() { 250 } else { 60 });
    let here = workspace();
    let root = here.path();
    let (mut committed, mut refused) = (0, 0);
    for number in 0..runs {
        fs::write(root.join("a"), format!("theirs {number}.0\n")).unwrap();
        let (stop, last) = (AtomicBool::new(false), AtomicUsize::new(0));
        let json = std::thread::scope(|scope| {
            scope.spawn(|| {
                // From 0 to 400 ms apart: some runs see none of it, and some see several.
                let pause = Duration::from_millis(u64::from(number * 37 % 401));
                let pauses = || {
                    (0..=pause.as_millis()).all(|_| {
                        std::thread::sleep(Duration::from_millis(1));
                        !stop.load(Ordering::Relaxed)
                    })
                };
                while pauses() {
                    let next = last.load(Ordering::Relaxed) + 1;
                    fs::write(root.join("b"), format!("theirs {number}.{next}\n")).unwrap();
                    fs::rename(root.join("b"), root.join("a")).unwrap();
                    last.store(next, Ordering::Relaxed);
                }
            });
            let mut command = here.command(&["run", "--json", "--", "sed", "-i", "s/theirs/ours/", "a"]);
            let ran = Ran::from(command.stdout(Stdio::piped()).output().unwrap());
            stop.store(true, Ordering::Relaxed);
            ran.json()
        });
        let (now, last) = (fs::read_to_string(root.join("a")).unwrap(), last.load(Ordering::Relaxed));
        let is_new = now == format!("ours {number}.{last}\n");
        assert!(
            is_new || now == format!("theirs {number}.{last}\n"),
            "{number}: {now:?}, and the last is {last}: {json}"
        );
        if json["success"] == json!(true) {
            committed += 1;
        } else {
            refused += 1;
            let code = json["error_code"].as_str().unwrap();
            assert!(["CONCURRENT_MODIFICATION", "PROGRAM_FAILED"].contains(&code) && !is_new, "{number}: {json}");
        }
    }
    eprintln!("{runs} runs beside a writer: {committed} committed, {refused} refused, nothing lost");
    assert!(committed > 0 && refused > 0, "{committed} {refused}");
}

/// Calls that change what is on the disk, or who runs.
const CALLS: &str = "openat,mkdirat,mkdir,unlinkat,unlink,rmdir,renameat2,rename,linkat,symlinkat,write,pwrite64,ftruncate,\
    copy_file_range,fchmod,fchownat,fchown,fsetxattr,fremovexattr,utimensat,ioctl,fsync,fdatasync,syncfs,mount,move_mount,\
    unshare,setns,clone3,execve,sendmsg,recvmsg,kill,close_range,fchmodat,chmod";

/// The calls that the program makes in its first thread, each with its how-manieth.
fn calls(root: &Path, log: &Path, script: &str) -> Vec<(String, usize)> {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-e", &format!("trace={CALLS}"), "-o"]).arg(log).arg(env!("CARGO_BIN_EXE_txedit"));
    command.args(["run", "--json", "--root"]).arg(root).args(["--", "sh", "-ec", script]).current_dir(root);
    let ran = Ran::from(command.output().unwrap());
    ran.exits(0);
    let text = String::from_utf8_lossy(&fs::read(log).unwrap()).into_owned();
    let main = text.split_whitespace().next().unwrap().to_owned();
    let mut counts: HashMap<String, usize> = HashMap::new();
    let names = text.lines().filter_map(|line| line.strip_prefix(&main)).filter_map(|call| {
        let (name, arguments) = call.trim_start().split_once('(')?;
        Some((name.to_owned(), name != "openat" || arguments.contains("O_CREAT")))
    });
    let counted = names.map(|(name, changes)| {
        let count = counts.entry(name.clone()).or_default();
        *count += 1;
        (name, *count, changes)
    });
    counted.filter(|(.., changes)| *changes).map(|(name, count, _)| (name, count)).collect()
}

#[test]
fn killed_at_any_call_it_leaves_all_old_or_all_new_and_nothing_else() {
    let strace = Command::new("strace").args(["-qq", "true"]).output();
    if !is_here() || !strace.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: strace or a view is missing");
        return;
    }
    let script = "sed -i s/one/1/ a; rm b; mkdir made; echo n > made/n; ln -sfn b to-a; rm -r gone; mv sub/c c";
    let scratch = tempfile::tempdir().unwrap();
    let recorded = workspace();
    let old = tree(&recorded.path());
    let calls = calls(&recorded.path(), &scratch.path().join("log"), script);
    let new = tree(&recorded.path());
    assert!(calls.len() > 60, "{calls:?}");
    let (mut killed, mut olds) = (0, 0);
    let share = if is_full() { 1 } else { 6 };
    for (name, nth) in calls.iter().step_by(share) {
        let here = workspace();
        let root = here.path();
        let inject = format!("inject={name}:signal=SIGKILL:when={nth}");
        let mut command = Command::new("strace");
        command.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={name}"), "-e", &inject]);
        command.arg(env!("CARGO_BIN_EXE_txedit")).args(["run", "--json", "--root"]).arg(&root);
        let output = command.args(["--", "sh", "-ec", script]).current_dir(&root).output().unwrap();
        killed += usize::from(!output.status.success());
        let mounted = || fs::read_to_string("/proc/self/mountinfo").unwrap().contains(root.to_str().unwrap());
        wait_for(|| !mounted());
        here.run(&["recover"]).exits(0);
        let now = tree(&root);
        assert!(now == old || now == new, "{name} {nth}: {now:#?}");
        olds += usize::from(now == old);
        assert!(now == new || !String::from_utf8_lossy(&output.stdout).contains("\"success\": true"), "{name} {nth}");
        // The next command that writes sweeps what is left of the view, once its last process has ended.
        wait_for(|| {
            here.run(&["edit", "sub/in/d", "--old", "four", "--new", "four"]).exits(0);
            !root.join(".txedit/view").exists()
        });
    }
    eprintln!("{} calls, {killed} runs that did not end well, {olds} of them old", calls.len());
    assert!(killed > 5 && olds > 3, "{killed} {olds}");
}
