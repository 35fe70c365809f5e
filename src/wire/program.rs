//! The answer about a program that was run in a view.

use serde::Serialize;

use crate::check::{Dropped, ProgramRun};
use crate::wire::response::text;

/// A program that was run in a view: what it was, and what of its work is not in the transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are the wire's, explained in docs/answers.md")]
pub struct ProgramResult {
    pub command: String,
    /// Its result: `passed`, `exit status: 1`.
    pub ended: String,
    pub milliseconds: u64,
    /// The end of what it printed, if that was not printed at once.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// Where it ran: `view` or `copy`.
    #[serde(rename = "in")]
    pub place: &'static str,
    /// Processes that it had left behind, and that were ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_behind: Vec<String>,
    /// What it wrote and is not in the transaction, by the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOutFiles>,
    /// What others changed while it ran, and it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_meanwhile: Option<CountedFiles>,
}

/// Files that were left out for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are the wire's, explained in docs/answers.md")]
pub struct LeftOutFiles {
    /// `ignored`, `excluded`, `version_control`, `special`, `folder_mode`, `folder_metadata`, `file_metadata`, `in_the_way`.
    pub reason: &'static str,
    #[serde(flatten)]
    pub files: CountedFiles,
}

/// A number of files, and the first of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names are the wire's, explained in docs/answers.md")]
pub struct CountedFiles {
    pub count: usize,
    pub files: Vec<String>,
}

impl From<&Dropped> for CountedFiles {
    fn from(dropped: &Dropped) -> Self {
        Self { count: dropped.count, files: dropped.paths.iter().map(|path| text(path)).collect() }
    }
}

impl From<&ProgramRun> for ProgramResult {
    fn from(run: &ProgramRun) -> Self {
        let reasons = run.left_out.reasons().into_iter().filter(|(_, dropped)| dropped.count > 0);
        let meanwhile = Some(&run.changed_meanwhile).filter(|dropped| dropped.count > 0);
        Self {
            command: run.command.clone(),
            ended: run.ended.verdict.words().to_owned(),
            milliseconds: u64::try_from(run.ended.took.as_millis()).unwrap_or(u64::MAX),
            output: run.ended.tail.clone(),
            place: run.place.word(),
            left_behind: run.left_behind.clone(),
            left_out: reasons.map(|(reason, files)| LeftOutFiles { reason, files: files.into() }).collect(),
            changed_meanwhile: meanwhile.map(CountedFiles::from),
        }
    }
}
