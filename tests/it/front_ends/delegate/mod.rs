//! Delegation with a stand-in program: a shell script that each test writes, run by the real `txedit`.

mod arguments;
mod config;
mod context;
mod documents;
mod errors;
mod proposals;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{is_setting, schema};

/// A workspace, a stand-in for the program, a configuration, and a folder for temporary files.
struct Office(TempDir);

/// What a run gave.
#[derive(Debug)]
struct Ran {
    status: i32,
    json: Value,
    stderr: String,
}

impl Office {
    /// With this script as the program.
    fn with(script: &str) -> Self {
        let office = Self(tempfile::Builder::new().prefix("txedit-it-").tempdir().unwrap());
        for folder in ["project", "bin", "config/txedit", "tmp", "seen"] {
            fs::create_dir_all(office.place(folder)).unwrap();
        }
        office.script(script);
        office
    }

    /// A program that only says this.
    fn saying(answer: &str) -> Self {
        let office = Self::with("cat \"$SEEN/answer\"");
        fs::write(office.place("seen/answer"), answer).unwrap();
        office
    }

    fn place(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    /// A file of the workspace.
    fn file(&self, name: &str) -> PathBuf {
        self.place("project").join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> &Self {
        fs::create_dir_all(self.file(name).parent().unwrap()).unwrap();
        fs::write(self.file(name), content).unwrap();
        self
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap()
    }

    /// The program: what it is given stands in `seen` afterwards.
    fn script(&self, body: &str) {
        let program = self.place("bin/delegate");
        let start = "#!/bin/sh\nprintf '%s\\0' \"$@\" >\"$SEEN/words\"\npwd >\"$SEEN/folder\"\n";
        fs::write(&program, format!("{start}{body}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// The arguments that the program was given.
    fn words(&self) -> Vec<String> {
        let words = fs::read_to_string(self.place("seen/words")).unwrap();
        words.trim_end_matches('\0').split('\0').map(str::to_owned).collect()
    }

    /// Its last argument.
    fn prompt(&self) -> String {
        self.words().pop().unwrap()
    }

    /// The user's configuration.
    fn configure(&self, text: &str) -> PathBuf {
        let path = self.place("config/txedit/config.toml");
        fs::write(&path, text).unwrap();
        path
    }

    /// The program that is tested, about to answer a script.
    fn command(&self, line: &[&str]) -> Command {
        self.plain_command(&[&["--json"], line].concat())
    }

    /// The same for people.
    fn plain_command(&self, line: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_txedit"));
        for (name, _) in std::env::vars_os() {
            if is_setting(&name) || name == "CLAUDE_PROJECT_DIR" {
                command.env_remove(name);
            }
        }
        command.arg("--root").arg(self.place("project")).args(line);
        command.env("XDG_CONFIG_HOME", self.place("config")).env("HOME", self.place("config"));
        command.env("TMPDIR", self.place("tmp")).env("SEEN", self.place("seen"));
        command.env("TXEDIT_DELEGATE_PROGRAM", self.place("bin/delegate"));
        command.current_dir(self.place("project")).stdin(Stdio::null());
        command
    }

    fn run(&self, line: &[&str]) -> Ran {
        self.ran(&mut self.command(line))
    }

    /// Runs it; nothing is left in the folder for temporary files.
    #[track_caller]
    fn ran(&self, command: &mut Command) -> Ran {
        let output = command.output().unwrap();
        schema::check(command, &output);
        let stdout = String::from_utf8(output.stdout).unwrap();
        let left: Vec<_> = fs::read_dir(self.place("tmp")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(left.is_empty(), "left behind: {left:?}");
        Ran {
            status: output.status.code().expect("a status"),
            json: serde_json::from_str(&stdout).unwrap_or_else(|e| panic!("{e}: {stdout}")),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Analyses with this line behind it.
    fn analyze(&self, line: &[&str]) -> Ran {
        self.run(&[&["delegate", "analyze"], line].concat())
    }
}

impl Ran {
    /// It went well.
    #[track_caller]
    fn done(self) -> Value {
        assert_eq!((self.status, &self.json["success"]), (0, &Value::Bool(true)), "{:#}{}", self.json, self.stderr);
        self.json
    }

    /// It failed with this status and code, and nothing was changed.
    #[track_caller]
    fn failed(self, status: i32, code: &str) -> Value {
        assert_eq!(
            (self.status, self.json["error_code"].as_str()),
            (status, Some(code)),
            "{:#}{}",
            self.json,
            self.stderr
        );
        assert_eq!(self.json["success"], false);
        self.json
    }

    /// All findings, one a line.
    #[track_caller]
    fn findings(self) -> String {
        let json = self.failed(2, "VALIDATION_FAILED");
        let found = json["errors"].as_array().unwrap().iter().map(|finding| finding["message"].as_str().unwrap());
        found.collect::<Vec<_>>().join("\n")
    }
}

/// The text of a field.
#[track_caller]
fn text<'j>(json: &'j Value, field: &str) -> &'j str {
    json[field].as_str().unwrap_or_else(|| panic!("no text {field} in {json:#}"))
}

/// Whether the process whose number stands in a file is gone, soon at the latest.
fn is_gone(file: &Path) -> bool {
    let number = fs::read_to_string(file).unwrap();
    let status = PathBuf::from("/proc").join(number.trim()).join("status");
    let is_running = || fs::read_to_string(&status).is_ok_and(|status| !status.contains("State:\tZ"));
    let until = Instant::now() + Duration::from_secs(2);
    while is_running() {
        if Instant::now() > until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}
