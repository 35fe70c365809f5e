//! The same calls by the command line: its exit status is the one of the table in docs/answers.md.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Map, Value, json};
use txedit::ErrorKind;
use txedit::testing::scenario::{Ask, ScenarioAct, ScenarioCheck, ScenarioTerms};

use super::programs;

use crate::support::is_setting;

const ANSWERS: &str = include_str!("../../../../../docs/answers.md");

/// What the program answered.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) status: i32,
    json: Value,
}

/// The exit statuses with which nothing is changed, or everything is as it was, each with what the row of the table in
/// docs/answers.md says and the codes that belong to it.
const UNCHANGED: [(i32, &str, &[ErrorKind]); 4] = [
    (
        1,
        "an edit did not apply",
        &[
            ErrorKind::MatchNotFound,
            ErrorKind::AmbiguousMatch,
            ErrorKind::MatchCountMismatch,
            ErrorKind::EmptyFile,
            ErrorKind::InvalidEncoding,
        ],
    ),
    (3, "conflict", &[ErrorKind::HashMismatch, ErrorKind::ConcurrentModification, ErrorKind::UndoConflict]),
    (4, "lock timeout", &[ErrorKind::LockTimeout]),
    (7, "the check, or the program of `run`, failed", &[ErrorKind::CheckFailed, ErrorKind::ProgramFailed]),
];

fn file(ask: &Ask) -> Value {
    match ask {
        Ask::Edit(path, old, new) => json!({"file_path": path, "edits": [{"old_string": old, "new_string": new}]}),
        Ask::Create(path, content) => json!({"file_path": path, "content": content, "if_exists": "fail"}),
        Ask::Write(path, content) => json!({"file_path": path, "content": content, "if_exists": "replace"}),
        Ask::Delete(path) => json!({"file_path": path, "delete": true}),
        Ask::Rename(path, to) => json!({"file_path": path, "rename_to": to}),
        Ask::MakeFolder(path) => json!({"file_path": path, "make_folder": true}),
        Ask::RemoveFolder(path) => json!({"file_path": path, "remove_folder": true}),
        Ask::Symlink(path, target) => json!({"file_path": path, "symlink_to": target, "if_exists": "replace"}),
        Ask::Mode(path, mode) => json!({"file_path": path, "mode": format!("{mode:o}")}),
    }
}

fn plan(asks: &[Ask], terms: &ScenarioTerms) -> Value {
    let mut plan = Map::new();
    plan.insert("files".to_owned(), asks.iter().map(file).collect());
    plan.extend(terms.key.iter().map(|key| ("idempotency_key".to_owned(), json!(key))));
    Value::Object(plan)
}

/// Does an act by the program itself; `None` for those that the engine is asked for directly.
pub(super) fn run(root: &Path, act: &ScenarioAct) -> Option<Ran> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_txedit"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_setting(name)) {
        command.env_remove(name);
    }
    // The judge is one of checks that see the tree.
    command.env("TXEDIT_CHECK_IN", "tree");
    command.current_dir(root).env("XDG_CONFIG_HOME", root).args(["--json", "--lock-timeout", "0", "--root"]).arg(root);
    let input = match act {
        ScenarioAct::Apply(asks, terms) => {
            if let Some(gate) = &terms.check {
                command.arg("--check").arg(lines(gate));
            }
            command.args(["apply", "-"]);
            command.args(terms.idempotent.then_some("--idempotent"));
            plan(asks, terms).to_string()
        }
        ScenarioAct::Undo(None) | ScenarioAct::Redo(None) => {
            command.arg(if matches!(act, ScenarioAct::Undo(_)) { "undo" } else { "redo" });
            String::new()
        }
        _ => return None,
    };
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // It may refuse before it has read all.
    child.stdin.take().unwrap().write_all(input.as_bytes()).ok();
    let output = child.wait_with_output().unwrap();
    let told = || format!("{act}{output:?}");
    let json = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", told()));
    Some(Ran { status: output.status.code().unwrap_or_else(|| panic!("{}", told())), json })
}

/// What a check does, as one line of a shell.
fn lines(gate: &ScenarioCheck) -> String {
    let lines: Vec<String> = gate.deeds.iter().filter_map(programs::lines).collect();
    format!("{}\nexit {}", lines.join("\n"), u8::from(!gate.passes))
}

impl Ran {
    /// Whether the exit status is the one for this answer.
    pub(super) fn judge(&self) -> Result<(), String> {
        let row = format!("\n| {} | ", self.status);
        let Some((_, row)) = ANSWERS.split_once(&row) else {
            return Err(format!("docs/answers.md does not know the exit status {}", self.status));
        };
        let told = |what: &str| Err(format!("{what}: {self:?}"));
        let (success, outcome) = (&self.json["success"], self.json["outcome"].as_str());
        if (self.status == 0) != (*success == json!(true)) {
            return told("0 is for what is done, and for that alone");
        }
        let is_open = matches!(outcome, Some("recovery_required" | "partly_rolled_back"));
        if (self.status == 6) != (is_open || self.json["error_code"] == "RECOVERY_REQUIRED") {
            return told("6 is for what has to be looked at, and for that alone");
        }
        if matches!(self.status, 0 | 6) {
            return Ok(());
        }
        if !matches!(outcome, Some("unchanged" | "rolled_back")) {
            return told("the status says that nothing is changed, and the answer does not");
        }
        for (status, meaning, kinds) in UNCHANGED {
            let is_of_it = kinds.iter().any(|kind| self.json["error_code"] == kind.code());
            let is_vanished =
                status == 3 && matches!(self.json["error_code"].as_str(), Some("FILE_NOT_FOUND" | "FILE_EXISTS"));
            if is_of_it != (self.status == status) && !is_vanished {
                return told("the code and the status do not belong together");
            }
            if self.status == status && !row.starts_with(meaning) {
                return Err(format!(
                    "docs/answers.md says otherwise of {status}: {}",
                    row.lines().next().unwrap_or_default()
                ));
            }
        }
        Ok(())
    }

    /// Whether it says that it was done.
    pub(super) fn is_done(&self) -> bool {
        self.status == 0
    }

    /// Whether it was refused with this code.
    pub(super) fn is_refused_as(&self, kind: ErrorKind) -> bool {
        self.json["error_code"] == kind.code()
    }

    /// Whether it says that no file is changed.
    pub(super) fn is_unchanged(&self) -> bool {
        !matches!(self.status, 0 | 6)
    }
}
