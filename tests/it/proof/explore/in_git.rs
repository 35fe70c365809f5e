//! The same with the state folder in the git folder of the workspace.

use std::time::Duration;

use txedit::fs::sim::SimFs;
use txedit::testing::Script;

use super::explore;
use super::scripts::{chmods, creates, deletes, files, renames, replaces, request};

/// Makes a repository of the workspace.
fn repository(machine: &SimFs) {
    files(machine);
    for folder in ["objects", "refs"] {
        machine.make_folders(format!("/w/.git/{folder}")).unwrap();
    }
    machine.create("/w/.git/HEAD", "ref: refs/heads/main\n").unwrap();
    machine.advance(Duration::from_secs(60));
}

fn script() -> Script {
    let all =
        vec![replaces("a", "one", "two"), chmods("b"), renames("c", "new/c"), deletes("sub/d"), creates("e", "e\n")];
    // A script that is warm has a state folder before it has a repository.
    let script = Script::new("all kinds in a repository", repository).cold().apply(request(all)).undo();
    script.then(|engine| {
        // Else something else was explored.
        let state = engine.root().join(".git/txedit");
        assert_eq!(engine.state_folder().unwrap().as_deref(), Some(&*state));
        Ok(())
    })
}

#[test]
fn a_crash_with_the_state_folder_in_the_git_folder_is_all_old_or_all_new() {
    explore(&script());
}
