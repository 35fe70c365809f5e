//! What others notice of a check: in a view nothing, in the tree every step.

use std::fs;
use std::path::Path;

use rustix::fs::inotify;
use serde_json::json;

use super::super::Workspace;
use super::{Ran, command, ended, is_here, started, wait_for};

/// Counts the events in some folders.
struct Watcher(std::os::fd::OwnedFd);

impl Watcher {
    fn new(folders: &[&Path]) -> Self {
        let watcher = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
        for folder in folders {
            inotify::add_watch(&watcher, *folder, inotify::WatchFlags::ALL_EVENTS).unwrap();
        }
        Self(watcher)
    }

    /// The events since the last call, except of opening, reading and closing what is only read.
    fn changes(&self) -> usize {
        let mut buffer = vec![std::mem::MaybeUninit::uninit(); 64 << 10];
        let mut reader = inotify::Reader::new(&self.0, &mut buffer);
        let quiet = inotify::ReadFlags::ACCESS | inotify::ReadFlags::OPEN | inotify::ReadFlags::CLOSE_NOWRITE;
        let mut changes = 0;
        while let Ok(event) = reader.next() {
            let is_ours = event.file_name().is_some_and(|name| name.to_bytes() == b".txedit");
            changes +=
                usize::from(!(event.events() - inotify::ReadFlags::ISDIR).difference(quiet).is_empty() && !is_ours);
        }
        changes
    }
}

/// Twenty files to be edited, in two folders.
fn workspace() -> Workspace {
    let here = Workspace::new();
    let mut files = Vec::new();
    for number in 0..20 {
        let name = format!("{}/f{number}", ["x", "y"][number % 2]);
        here.write(&name, "old\n");
        files.push(json!({"file_path": name, "edits": [{"old_string": "old", "new_string": "new"}]}));
    }
    here.write("plan.json", &json!({ "files": files }).to_string());
    here
}

#[test]
fn a_failing_check_is_no_event_for_anybody() {
    if !is_here() {
        return;
    }
    let here = workspace();
    // The state folder is there already.
    here.write("z", "z\n").run(&["edit", "z", "--old", "z", "--new", "zz"]).exits(0);
    let root = here.path();
    let watcher = Watcher::new(&[&root, &root.join("x"), &root.join("y")]);
    let ran = Ran::from(command(&here, &["apply", "plan.json", "--json"], "cat x/* y/*; exit 1").output().unwrap());
    assert_eq!(ran.exits(7).json()["outcome"], json!("unchanged"));
    assert_eq!(watcher.changes(), 0);
    let ran = here.run(&["apply", "plan.json", "--json", "--check-in", "tree", "--check", "exit 1"]);
    assert_eq!(ran.exits(7).json()["outcome"], json!("rolled_back"));
    let changes = watcher.changes();
    eprintln!("20 files, a check that fails: 0 events with a view, {changes} in the tree");
    assert!(changes >= 80, "{changes}");
}

#[test]
fn others_commit_in_the_same_folders_while_it_runs() {
    if !is_here() {
        return;
    }
    let here = workspace();
    here.write("x/other", "one\n");
    let mut program =
        command(&here, &["apply", "plan.json", "--json"], "touch t/began; while [ ! -e t/go ]; do sleep 0.02; done");
    let child = started(program.args(["--through", "t"]));
    wait_for(|| here.path().join("t/began").exists());
    here.run(&["--lock-timeout", "0", "edit", "x/other", "--old", "one", "--new", "two"]).exits(0);
    fs::write(here.path().join("t/go"), "").unwrap();
    ended(child).exits(0);
    let content = |name: &str| fs::read_to_string(here.path().join(name)).unwrap();
    assert_eq!((content("x/f0"), content("x/other")), ("new\n".to_owned(), "two\n".to_owned()));
}
