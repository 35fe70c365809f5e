//! The system calls of a commit in a server that has committed before: none that the protocol does not need.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::mounts::{self, Kind};
use crate::support::{has_strace, is_setting, is_without};

/// The phases of a commit, each with the call that ends it, and the most calls of each name in it.
type Phase<'a> = (&'a str, Option<&'a str>, &'a [(&'a str, usize)]);

/// One file in a folder that is the root of its file system, an ext4 with a journal. A search for the workspaces above takes
/// two more `openat2` for each folder on the way.
const PHASES: [Phase<'_>; 4] = [
    (
        "read",
        Some("mkdirat"),
        &[
            ("close", 1),
            ("flistxattr", 1),
            ("flock", 1),
            ("getdents64", 2),
            ("getrandom", 1),
            ("ioctl", 3),
            ("mkdirat", 1),
            ("openat", 3),
            ("openat2", 2),
            ("pread64", 1),
            ("renameat2", 1),
            ("statx", 16),
        ],
    ),
    (
        "stage",
        Some("fsync"),
        &[
            ("flistxattr", 1),
            ("flock", 1),
            ("fsync", 1),
            ("ioctl", 3),
            ("openat", 2),
            ("openat2", 1),
            ("pwrite64", 2),
            ("renameat2", 1),
            ("statx", 5),
            ("sync_file_range", 2),
        ],
    ),
    (
        "swap",
        Some("fsync"),
        &[
            ("flistxattr", 1),
            ("fsync", 1),
            ("ioctl", 2),
            ("openat", 1),
            ("pread64", 2),
            ("pwrite64", 1),
            ("renameat2", 3),
            ("statx", 7),
            ("sync_file_range", 1),
        ],
    ),
    ("finish", None, &[("close", 8), ("flock", 2), ("renameat2", 1), ("statx", 5)]),
];

/// The most calls in all.
const MOST_OF_ALL: usize = 84;

/// Of the runtime, between the threads, and what only debug builds do.
const OF_RUNTIME: [&str; 9] = ["futex", "epoll_wait", "read", "write", "fcntl", "brk", "mmap", "munmap", "madvise"];

fn call(line: &str) -> Option<&str> {
    let (_, call) = line.split_once(' ')?;
    let (name, _) = call.trim_start().split_once('(')?;
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_').then_some(name)
}

/// Commits before the first that is looked at, and those that are: in one of them no thread of the runtime begins.
const BEFORE: usize = 3;
const LOOKED_AT: usize = 6;

/// A server under strace, as it answers requests one by one: the calls from each of the last ones on.
fn traced(root: &Path, trace: &Path, requests: &[Value]) -> Vec<Vec<String>> {
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o"]).arg(trace).arg(env!("CARGO_BIN_EXE_txedit")).args(["mcp", "--root"]).arg(root);
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_setting(name)) {
        command.env_remove(name);
    }
    let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let (mut to, mut from) = (server.stdin.take().unwrap(), BufReader::new(server.stdout.take().unwrap()).lines());
    let mut starts = Vec::new();
    for request in requests {
        starts.push(fs::read_to_string(trace).map_or(0, |text| text.lines().count()));
        writeln!(to, "{request}").unwrap();
        if request.get("id").is_some() {
            let answer: Value = serde_json::from_str(&from.next().unwrap().unwrap()).unwrap();
            assert!(answer["error"].is_null() && answer["result"]["isError"] != true, "{answer}");
        }
    }
    drop(to);
    server.wait().unwrap();
    let lines: Vec<String> = fs::read_to_string(trace).unwrap().lines().map(str::to_owned).collect();
    starts[starts.len() - LOOKED_AT..].iter().map(|start| lines[*start..].to_vec()).collect()
}

/// The calls of a commit by phase and name, until it is answered.
fn by_phase(lines: &[String]) -> Vec<BTreeMap<&str, usize>> {
    let mut phases: Vec<BTreeMap<&str, usize>> = vec![BTreeMap::new()];
    let mut ends = PHASES.iter().filter_map(|(_, end, _)| *end);
    let mut end = ends.next();
    for (name, line) in lines.iter().filter_map(|line| Some((call(line)?, line))) {
        if name == "write" && line.contains("jsonrpc") {
            break;
        }
        if OF_RUNTIME.contains(&name) || line.contains("\"../") {
            continue;
        }
        *phases.last_mut().unwrap().entry(name).or_default() += 1;
        if Some(name) == end {
            phases.push(BTreeMap::new());
            end = ends.next();
        }
    }
    phases
}

#[test]
fn a_warm_commit_makes_no_call_that_it_does_not_need() {
    if is_without("`openat2`, `statx` and an order of metadata") {
        return;
    }
    if !has_strace() {
        eprintln!("skipped: strace does not work here");
        return;
    }
    mounts::with(Kind::Ext4, |root| {
        let scratch = tempfile::tempdir().unwrap();
        fs::write(root.join("a.txt"), "count 0\n").unwrap();
        let client = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "it", "version": "1" } });
        let mut requests = vec![
            json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client }),
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        ];
        for number in 0..BEFORE + LOOKED_AT {
            let (old, new) = (format!("count {number}"), format!("count {}", number + 1));
            let arguments = json!({ "path": root.join("a.txt"), "old_string": old, "new_string": new });
            let params = json!({ "name": "edit_file", "arguments": arguments });
            requests.push(json!({ "jsonrpc": "2.0", "id": number + 1, "method": "tools/call", "params": params }));
        }
        let commits = traced(root, &scratch.path().join("trace"), &requests);
        let total = |phases: &[BTreeMap<&str, usize>]| phases.iter().flat_map(BTreeMap::values).sum::<usize>();
        let phases = commits.iter().map(|lines| by_phase(lines)).min_by_key(|phases| total(phases)).unwrap();
        let total = total(&phases);
        let told = || {
            phases
                .iter()
                .zip(PHASES)
                .map(|(found, (phase, ..))| format!("{phase}: {found:?}"))
                .collect::<Vec<_>>()
                .join("\n")
        };
        assert_eq!(phases.len(), PHASES.len(), "{}", told());
        assert!(total <= MOST_OF_ALL, "{total} calls, not {MOST_OF_ALL}:\n{}", told());
        for (found, (phase, _, most)) in phases.iter().zip(PHASES) {
            for (name, count) in found {
                let most = most.iter().find(|(known, _)| known == name).map_or(0, |(_, most)| *most);
                assert!(
                    *count <= most,
                    "{count} calls of {name} in the phase {phase}, not {most}; {total} in all:\n{}",
                    told()
                );
            }
        }
    });
}
