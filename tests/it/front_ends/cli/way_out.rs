//! What a refusal says is to be done about what nobody can act on: it is done here, and then the request goes through.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use serde_json::json;

use super::doubted::{copy, cut, replace_by_file};
use super::interrupted::killed_with;
use super::{Ran, Workspace, run};

/// What is done to a folder: the harm, or what mends it.
type Act = fn(&Path);

const NOBODY: u32 = 65534;

/// The refusal of a request.
#[track_caller]
fn refusal(ran: &Ran, name: &str) -> String {
    assert!(matches!(ran.status, Some(5 | 6)), "{name}: {ran:?}");
    let json = ran.json();
    format!("{} {}", json["error"].as_str().unwrap(), json["recovery_hint"].as_str().unwrap())
}

/// Runs the command that a refusal names, in which there is nothing to be filled in.
#[track_caller]
fn run_what_is_said(here: &Workspace, told: &str, name: &str) -> Ran {
    let (_, command) = told.split_once("`txedit recover ").unwrap_or_else(|| panic!("{name}: {told}"));
    let (command, _) = command.split_once('`').unwrap();
    here.run(&["recover"].into_iter().chain(command.split(' ')).collect::<Vec<_>>())
}

#[test]
fn the_hint_about_what_is_interrupted_leads_out() {
    let shared = |entry: &Path, mode| fs::set_permissions(entry, PermissionsExt::from_mode(mode)).unwrap();
    let by_command: [(&str, Act); 3] =
        [("empty", |entry| fs::write(entry.join("journal"), "").unwrap()), ("cut in its seal", cut), ("copied", copy)];
    for (name, harm) in by_command {
        let (here, id) = killed_with(Workspace::new(), Some("K"));
        harm(&here.path().join(".txedit/txn").join(id));
        let told = refusal(&here.run(&["apply", "plan.json", "--json"]), name);
        run_what_is_said(&here, &told, name).exits(0);
        for file in ["1", "2"] {
            here.write(file, "old");
        }
        here.run(&["apply", "plan.json"]).exits(0);
    }
    let (here, id) = killed_with(Workspace::new(), Some("K"));
    let entry = here.path().join(".txedit/txn").join(&id);
    shared(&entry, 0o777);
    let told = refusal(&here.run(&["apply", "plan.json", "--json"]), "shared");
    assert!(told.contains("chmod go-w") && !told.contains("--discard"), "{told}");
    shared(&entry, 0o700);
    assert_eq!(here.run(&["apply", "plan.json", "--json"]).exits(0).json()["already_applied"], true);

    let (here, id) = killed_with(Workspace::new(), Some("K"));
    let entry = here.path().join(".txedit/txn").join(&id);
    replace_by_file(&entry);
    let told = refusal(&here.run(&["apply", "plan.json", "--json"]), "a file");
    assert!(told.contains("move it away") && !told.contains("--discard"), "{told}");
    fs::rename(&entry, here.path().join("away")).unwrap();
    here.write("1", "old").write("2", "old").run(&["apply", "plan.json"]).exits(0);
}

#[test]
fn the_hint_about_what_a_recovery_leaves_leads_out() {
    let (here, id) = killed_with(Workspace::new(), Some("K"));
    here.write("1", "theirs").write("5", "theirs too");
    let plan = json!({ "idempotency_key": "K", "files": [{ "file_path": "new", "content": "x" }] });
    here.write("other.json", &plan.to_string());
    let told = refusal(&here.run(&["apply", "other.json", "--json"]), "left");
    // As it is said: first without more, which leaves it.
    run_what_is_said(&here, &told, "left").exits(6);
    assert!(told.contains("--back"), "{told}");
    here.run(&["recover", &id, "--back"]).exits(6);
    here.run(&["apply", "other.json"]).exits(0);
}

/// A commit with a key by an ordinary user, and the folder of its entry in history.
fn of_nobody() -> (Workspace, std::path::PathBuf) {
    let here = Workspace::new();
    here.write(".git/HEAD", "");
    let plan = json!({ "idempotency_key": "K", "files": [{ "file_path": "a", "content": "x" }] });
    here.write("plan.json", &plan.to_string());
    for name in ["", ".git", "plan.json"] {
        chown(here.path().join(name), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let done = as_nobody(&here, &["apply", "plan.json", "--json"]).exits(0).json();
    let entry = here.path().join(".txedit/history").join(done["transaction_id"].as_str().unwrap());
    (here, entry)
}

fn as_nobody(here: &Workspace, line: &[&str]) -> Ran {
    use std::os::unix::process::CommandExt;
    run(here.command(line).uid(NOBODY).gid(NOBODY))
}

#[test]
fn the_hint_about_what_an_ordinary_user_cannot_open_or_move_leads_out() {
    if !rustix::process::getuid().is_root() {
        return eprintln!("skipped: only root can run it as another user");
    }
    let (here, entry) = of_nobody();
    fs::set_permissions(&entry, PermissionsExt::from_mode(0o000)).unwrap();
    let told = refusal(&as_nobody(&here, &["apply", "plan.json", "--json"]), "shut");
    assert!(told.contains("give yourself all rights to it"), "{told}");
    fs::set_permissions(&entry, PermissionsExt::from_mode(0o700)).unwrap();
    assert_eq!(as_nobody(&here, &["apply", "plan.json", "--json"]).exits(0).json()["already_applied"], true);

    let id = entry.file_name().unwrap().to_str().unwrap();
    chown(&entry, Some(1234), None).unwrap();
    let told = refusal(&as_nobody(&here, &["apply", "plan.json", "--json"]), "foreign");
    assert!(told.contains("have user 1234 or root move it away") && !told.contains("--discard"), "{told}");
    let told = as_nobody(&here, &["recover", id, "--json"]).exits(6).stdout.clone();
    assert!(told.contains("have user 1234 or root move it away"), "{told}");
    assert_ne!(as_nobody(&here, &["recover", id, "--discard"]).status, Some(0));
    fs::rename(&entry, here.path().join("away")).unwrap();
    assert_eq!(as_nobody(&here, &["apply", "plan.json", "--json"]).json()["already_applied"], serde_json::Value::Null);
}
