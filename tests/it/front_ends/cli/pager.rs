//! Long results on a terminal go through a pager; all others never do.

use std::fs::{self, File};
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::{Ran, Workspace, wait_for};

/// A program whose output is a terminal, and what it prints there.
struct OnTerminal {
    child: Child,
    printed: JoinHandle<String>,
}

impl OnTerminal {
    fn start(command: &mut Command) -> Self {
        let own = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&own).unwrap();
        unlockpt(&own).unwrap();
        let name = ptsname(&own, Vec::new()).unwrap().into_string().unwrap();
        let terminal = File::options().read(true).write(true).open(name).unwrap();
        let command = command.env("TERM", "xterm").stdout(terminal).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        // The terminal ends with its last writer.
        command.stdout(Stdio::null());
        let printed = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            // Its end is an error.
            let _ = File::from(own).read_to_end(&mut bytes);
            String::from_utf8(bytes).unwrap().replace("\r\n", "\n")
        });
        Self { child, printed }
    }

    fn end(self) -> Ran {
        let mut ran = Ran::from(self.child.wait_with_output().unwrap());
        ran.stdout = self.printed.join().unwrap();
        ran
    }
}

/// A workspace with one commit, and a way to run a line on a terminal, with variables.
fn workspace() -> Workspace {
    let here = Workspace::new();
    here.write("a", "one\n");
    here.run(&["edit", "a", "--old", "one", "--new", "two"]).exits(0);
    here
}

fn on_terminal(here: &Workspace, line: &[&str], variables: &[(&str, &str)]) -> Ran {
    OnTerminal::start(here.command(line).env_remove("PAGER").envs(variables.iter().copied())).end()
}

#[test]
fn results_that_may_be_long_go_through_the_pager() {
    let here = workspace();
    let plan = r#"{"files": [{"file_path": "a", "edits": [{"old_string": "two", "new_string": "three"}]}]}"#;
    here.write("plan.json", plan);
    let id = here.run(&["stage", "plan.json"]).exits(0).stdout.trim().to_owned();
    let edit = ["edit", "a", "--old", "two", "--new", "three", "--dry-run"];
    let lines: [&[&str]; 8] = [
        &["log"],
        &["show"],
        &["show", "--format", "git"],
        &["preview", &id],
        &edit,
        &["replace", "two", "three", "--dry-run"],
        &["apply", "plan.json", "--dry-run"],
        &["undo", "--dry-run"],
    ];
    for line in lines {
        let piped = here.run(line).exits(0).stdout.clone();
        for (variables, name) in [
            (&[("TXEDIT_PAGER", "cat > own"), ("PAGER", "cat > common")][..], "own"),
            (&[("PAGER", "cat > common")], "common"),
        ] {
            let ran = on_terminal(&here, line, variables);
            assert_eq!(ran.exits(0).stdout, "", "{line:?}");
            let shown = fs::read_to_string(here.path().join(name)).unwrap();
            fs::remove_file(here.path().join(name)).unwrap();
            assert_eq!(anstream::adapter::strip_str(&shown).to_string(), piped, "{line:?}");
            assert!(shown != piped || line.contains(&"git"), "it has the colours of a terminal: {line:?}");
            assert!(!here.path().join("common").exists());
        }
    }
    here.run(&["rollback", &id]).exits(0);
}

#[test]
fn a_pager_that_is_turned_off_missing_or_not_wanted_is_none() {
    let here = workspace();
    let piped = here.run(&["log"]).exits(0).stdout.clone();
    let plain = |line: &[&str], variables: &[(&str, &str)]| {
        let ran = on_terminal(&here, line, variables);
        assert!(!here.path().join("used").exists(), "{line:?} {variables:?}");
        anstream::adapter::strip_str(&ran.exits(0).stdout).to_string()
    };
    for own in ["", "cat", "no-such-pager", "no-such-pager 2>/dev/null"] {
        let told = plain(&["log"], &[("TXEDIT_PAGER", own), ("PAGER", "touch used; cat")]);
        assert_eq!(told, piped, "{own}");
    }
    let used = [("TXEDIT_PAGER", "touch used; cat")];
    assert!(plain(&["log", "--json"], &used).starts_with('{'));
    assert!(plain(&["status"], &used).contains("no interrupted transactions"));
    assert!(plain(&["--version"], &used).starts_with("txedit "));
    let mut command = here.command(&["log"]);
    assert_eq!(super::run(command.envs(used)).exits(0).stdout, piped);
    assert!(!here.path().join("used").exists());
}

#[test]
fn a_pager_that_ends_early_is_no_failure() {
    let here = Workspace::new();
    here.write("a", &"line\n".repeat(40_000));
    let edit = ["replace", "line", "row", "--dry-run"];
    let ran = on_terminal(&here, &edit, &[("TXEDIT_PAGER", "head -c 9 >&2")]);
    assert!(ran.exits(0).stderr.contains("diff "), "{ran:?}");
    assert!(!ran.stderr.contains("cannot print"), "{ran:?}");
    let failed = on_terminal(&here, &edit, &[("TXEDIT_PAGER", "false")]);
    assert_eq!(failed.exits(0).stdout, "");
}

#[test]
fn an_interrupt_is_for_the_pager() {
    let here = workspace();
    let pager = "cat > shown; touch shown.all; while [ ! -e end ]; do sleep 0.01; done; echo over";
    let mut on = OnTerminal::start(here.command(&["log"]).env("TXEDIT_PAGER", pager));
    wait_for(|| here.path().join("shown.all").exists());
    kill_process(Pid::from_child(&on.child), Signal::INT).unwrap();
    kill_process(Pid::from_child(&on.child), Signal::QUIT).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert!(on.child.try_wait().unwrap().is_none(), "it does not leave the pager alone with the terminal");
    here.write("end", "");
    assert_eq!(on.end().exits(0).stdout, "over\n");
}
