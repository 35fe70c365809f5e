//! Every call of the real program that changes the disk goes through a held folder: no absolute path, and none that
//! starts in the working directory.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::Place;
use crate::support::is_without;
use crate::support::mounts::run;

/// Calls that change what a path leads to; `openat` among them where it may write.
const CHANGING: [&str; 24] = [
    "creat",
    "mkdir",
    "mkdirat",
    "mknod",
    "mknodat",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "rmdir",
    "link",
    "linkat",
    "symlink",
    "symlinkat",
    "chmod",
    "fchmodat",
    "chown",
    "lchown",
    "fchownat",
    "truncate",
    "setxattr",
    "lsetxattr",
    "utimensat",
];

/// Runs the program in the workspace, and answers what it did to the disk by a path that is not in a held folder.
fn by_path(place: &Place, arguments: &[&str]) -> (usize, Vec<String>) {
    let trace = place.root.with_file_name("trace");
    let done = Command::new("strace")
        .args(["-f", "-qq", "-s", "4096", "-e", "trace=%file,renameat2,unlinkat,utimensat", "-o"])
        .arg(&trace)
        .arg(env!("CARGO_BIN_EXE_txedit"))
        .args(["--root".as_ref(), place.root.as_os_str()])
        .args(arguments)
        .current_dir(&place.root)
        .output()
        .unwrap();
    let trace = fs::read_to_string(trace).unwrap();
    // Before the root is open nothing may be changed at all, so there is nothing to leave out.
    let changing: Vec<&str> = trace.lines().filter(|line| changes(line)).collect();
    assert!(!changing.is_empty(), "{arguments:?} changed nothing: {}", String::from_utf8_lossy(&done.stderr));
    let by_path = changing.iter().filter(|line| is_by_path(line)).map(|line| (*line).to_owned()).collect();
    (changing.len(), by_path)
}

/// The call on a line of the trace, and its arguments.
fn call(line: &str) -> Option<(&str, &str)> {
    line.split_once(' ').and_then(|(_, call)| call.trim_start().split_once('('))
}

fn changes(line: &str) -> bool {
    match call(line) {
        Some(("open" | "openat" | "openat2", arguments)) => {
            // What a child reads from where there is nothing to read.
            let is_null = arguments.contains("\"/dev/null\"");
            !is_null && ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"].iter().any(|flag| arguments.contains(flag))
        }
        Some((name, _)) => CHANGING.contains(&name),
        None => false,
    }
}

/// Whether a call starts anywhere but in a folder that is held open.
fn is_by_path(line: &str) -> bool {
    let Some((_, arguments)) = call(line) else { return false };
    // A path that begins at a descriptor is one in a held folder, too.
    let at = arguments.replace("AT_FDCWD, \"/proc/self/fd/", "");
    let is_held = at.starts_with(|first: char| first.is_ascii_digit());
    !is_held || at.contains("AT_FDCWD") || at.contains(" \"/")
}

#[test]
fn the_program_changes_nothing_by_an_absolute_path() {
    if is_without("paths of open folders") {
        return;
    }
    if run("strace", ["-V"]).is_err() {
        eprintln!("skipped: strace is missing");
        return;
    }
    let place = Place::new();
    fs::write(place.root.join("a"), "one\n").unwrap();
    let mut calls = 0;
    let edit = |from, to| ["edit", "a", "--old", from, "--new", to];
    let checked = [&edit("two", "three")[..], &["--check", "false"]].concat();
    let commands: [&[&str]; 6] = [
        &edit("one", "two"),
        &checked,
        &["undo"],
        &["redo"],
        &["history", "prune", "--keep", "0"],
        &edit("two", "four"),
    ];
    for arguments in commands {
        let (changing, found) = by_path(&place, arguments);
        assert!(found.is_empty(), "{arguments:?}:\n{}", found.join("\n"));
        calls += changing;
    }
    assert_eq!(fs::read_to_string(place.root.join(Path::new("a"))).unwrap(), "four\n");
    eprintln!("{calls} calls changed the disk, all through held folders");
}
