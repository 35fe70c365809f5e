//! `report.json` in a transaction's folder: who, what was asked, what came of it. What `log` shows besides the journal.
//!
//! No decision rests on it: it is not sealed, and a text that does not read is as good as none.

use serde::{Deserialize, Serialize};

use super::report::FileReport;
use super::snapshot;
use crate::check::{CheckRun, Ended, Verdict};
use crate::error::{Error, Result};
use crate::fs::{FileKind, Fs, Handle, Name};
use crate::limits;

/// The name in a transaction's folder.
pub(super) const FILE_NAME: &str = "report.json";

/// The text.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Account {
    pub program: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<CheckAccount>,
    pub files: Vec<FileAccount>,
}

/// A check that passed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct CheckAccount {
    pub command: String,
    pub milliseconds: u64,
    pub output: String,
}

/// One file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct FileAccount {
    pub path: String,
    pub operation: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renamed_to: Option<String>,
    pub edits: usize,
}

impl Account {
    /// What is to be told of a request.
    pub(super) fn of(program: &str, label: Option<&str>, files: &[FileReport]) -> Self {
        let files = files.iter().map(|file| FileAccount {
            path: file.path.to_string_lossy().into_owned(),
            operation: file.operation.as_str().to_owned(),
            renamed_to: file.renamed_to.as_ref().map(|path| path.to_string_lossy().into_owned()),
            edits: file.edits.iter().map(|edit| edit.replaced).sum(),
        });
        Self { program: program.to_owned(), label: label.map(str::to_owned), check: None, files: files.collect() }
    }

    /// What stands in the folder of a transaction; `None` where that is nothing that can be read.
    pub(super) fn read(fs: &dyn Fs, folder: &Handle) -> Result<Option<Self>> {
        let name = Name::new(folder, FILE_NAME);
        let path = name.path();
        let Ok(file) = fs.open_file(name) else { return Ok(None) };
        let stat = fs.stat_handle(&file).map_err(|e| Error::io("look at", &path, e))?;
        if stat.kind != FileKind::File || stat.size > limits::JOURNAL_BYTES {
            return Ok(None);
        }
        let bytes = snapshot::read_whole(fs, &file, &path, stat.size)?;
        Ok(serde_json::from_slice(&bytes).ok())
    }

    /// The text, with the check that was passed.
    pub(super) fn text(&self, check: Option<&CheckRun>) -> String {
        let account = Self { check: check.map(CheckAccount::of), ..self.clone() };
        serde_json::to_string(&account).expect("strings and numbers are JSON")
    }
}

impl CheckAccount {
    fn of(run: &CheckRun) -> Self {
        let milliseconds = u64::try_from(run.ended.took.as_millis()).unwrap_or(u64::MAX);
        Self { command: run.command.clone(), milliseconds, output: run.ended.tail.clone() }
    }

    /// The check again.
    pub(super) fn into_run(self) -> CheckRun {
        let took = std::time::Duration::from_millis(self.milliseconds);
        CheckRun { command: self.command, ended: Ended { verdict: Verdict::Passed, tail: self.output, took } }
    }
}
