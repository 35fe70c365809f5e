//! Where the state folder is: in the git folder, in the root, or where the caller says.

mod git;
mod moved;
mod named;
mod sandbox;

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{Ran, Workspace, interrupted, run, text, view};

/// What git takes for a repository, without git.
const REPOSITORY: [(&str, &str); 3] = [("HEAD", "ref: refs/heads/main\n"), ("objects/x", ""), ("refs/x", "")];

/// A workspace with a file, and in its folder `at` a repository.
fn repository(at: &str) -> Workspace {
    let here = Workspace::new();
    here.write("a", "one\n");
    make_repository(&here, &format!("{at}/.git"));
    here
}

fn make_repository(here: &Workspace, at: &str) {
    for (name, content) in REPOSITORY {
        here.write(&format!("{at}/{name}"), content);
    }
}

const EDIT: [&str; 7] = ["--json", "edit", "a", "--old", "one", "--new", "two"];
const BACK: [&str; 7] = ["--json", "edit", "a", "--old", "two", "--new", "one"];

/// The number of committed transactions in a state folder; `None` if there is no such folder.
fn committed(state: &Path) -> Option<usize> {
    let names = fs::read_dir(state.join("history")).ok()?;
    Some(names.count())
}

/// The same of the two usual places: `.txedit`, and in the git folder.
fn both(here: &Workspace) -> [Option<usize>; 2] {
    [".txedit", ".git/txedit"].map(|state| committed(&here.path().join(state)))
}

fn warnings(ran: &Ran) -> String {
    ran.json()["warnings"].to_string()
}

fn git(folder: &Path, line: &[&str]) -> bool {
    let mut command = Command::new("git");
    command.current_dir(folder).args(["-c", "protocol.file.allow=always", "-c", "user.name=t", "-c", "user.email=t@t"]);
    command.args(line).env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.output().is_ok_and(|output| {
        assert!(output.status.success(), "git {line:?}: {}", String::from_utf8_lossy(&output.stderr));
        true
    })
}
