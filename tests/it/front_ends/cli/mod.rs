//! The program as a user runs it: arguments, environment, exit status, what it prints.

mod agreed;
mod arguments;
mod backup;
mod bounds;
mod campaigns;
mod check;
mod configured;
mod conflicts;
mod copied;
mod doctor;
mod doubted;
mod dry_runs;
mod encodings;
mod explained;
mod files;
mod first;
mod folders;
mod half_way;
mod hard_links;
mod ids;
mod interrupted;
mod journal;
mod kept;
mod late;
mod log;
mod manuals;
mod mounted;
mod moved_away;
mod names;
mod nearest;
mod once;
mod pager;
mod patches;
mod paths;
mod programs;
mod recovered_first;
mod refused_early;
mod repositories;
mod revert;
mod review;
mod root;
mod schemas;
mod settings;
mod skipped;
mod starved;
mod state_folder;
mod told;
mod torture;
mod tour;
mod transactions;
mod unreadable;
mod view;
mod way_out;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{is_setting, schema};

/// A folder in which the program runs.
struct Workspace(TempDir);

/// What a run of the program gave.
#[derive(Debug)]
struct Ran {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Workspace {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// The folder, without symlinks.
    fn path(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap()
    }

    fn write(&self, name: &str, content: &str) -> &Self {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    /// The program, about to run here, with nothing of the caller's own settings.
    fn command(&self, line: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_txedit"));
        command.args(line).current_dir(self.0.path()).stdin(Stdio::null());
        for (name, _) in std::env::vars_os() {
            if is_setting(&name) || name == "CLAUDE_PROJECT_DIR" {
                command.env_remove(name);
            }
        }
        command.env("XDG_CONFIG_HOME", self.0.path());
        // Most tests of checks are about those in the tree; those in `view` say so.
        command.env("TXEDIT_CHECK_IN", "tree");
        command
    }

    #[track_caller]
    fn run(&self, line: &[&str]) -> Ran {
        run(&mut self.command(line))
    }

    /// Runs the program where a script of a shell has mounted something; `None` where nothing can be mounted.
    fn run_mounted(&self, mounting: &str, line: &[&str]) -> Option<Ran> {
        let plain = self.command(line);
        let mut command = Command::new("unshare");
        command.args(["--mount", "--map-root-user", "sh", "-c"]);
        command.arg(format!("{{ {mounting}; }} || exit 99; exec \"$@\"")).arg("sh");
        command.arg(plain.get_program()).args(plain.get_args()).current_dir(self.path());
        for (name, value) in plain.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let ran = command.output().ok().map(Ran::from).filter(|ran| ran.status != Some(99));
        if ran.is_none() {
            eprintln!("skipped: nothing can be mounted here");
        }
        ran
    }
}

#[track_caller]
fn run(command: &mut Command) -> Ran {
    let output = command.output().unwrap();
    schema::check(command, &output);
    Ran::from(output)
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            status: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Ran {
    /// The one JSON object on stdout.
    #[track_caller]
    fn json(&self) -> Value {
        let value: Value = serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {self:?}"));
        schema::check_answer(None, value.as_object().unwrap_or_else(|| panic!("{self:?}")).clone());
        value
    }

    #[track_caller]
    fn exits(&self, status: i32) -> &Self {
        assert_eq!(self.status, Some(status), "{self:?}");
        self
    }
}

/// The text of a path, for JSON.
fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn wait_for(is_there: impl Fn() -> bool) {
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !is_there() {
        assert!(std::time::Instant::now() < until, "it takes too long");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}
