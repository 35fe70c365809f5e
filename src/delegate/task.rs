//! The task of a delegate.

use super::wire::{Analyze, Implement, Refactor, Verify};
use crate::error::{ErrorKind, Result};
use crate::limits;
use crate::request::validate::Findings;

/// A task, validated lexically.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The task in the caller's words.
    pub prompt: String,
    /// The files to show, as the caller named them.
    pub files: Vec<String>,
    /// The kind of task.
    pub kind: TaskKind,
}

/// The four kinds of task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskKind {
    /// Read and answer.
    Analyze {
        /// Further context.
        context: Option<String>,
        /// The name of a role.
        role: Option<String>,
    },
    /// Propose changes.
    Implement {
        /// Constraints on the changes.
        constraints: Option<String>,
        /// Commit the proposal.
        apply: bool,
    },
    /// Propose changes that leave the behaviour as it is.
    Refactor {
        /// True if the delegate is told to keep the behaviour.
        safety_checks: bool,
        /// Commit the proposal.
        apply: bool,
    },
    /// Judge the files, or the changes of a transaction.
    Verify {
        /// The requirements.
        requirements: Option<String>,
        /// The transaction to judge, open or committed.
        transaction: Option<String>,
    },
}

impl TaskKind {
    /// Its name, as on the command line.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Analyze { .. } => "analyze",
            Self::Implement { .. } => "implement",
            Self::Refactor { .. } => "refactor",
            Self::Verify { .. } => "verify",
        }
    }

    /// Returns whether changes are requested.
    #[must_use]
    pub const fn proposes(&self) -> bool {
        matches!(self, Self::Implement { .. } | Self::Refactor { .. })
    }

    /// Returns whether a proposal is to be committed.
    #[must_use]
    pub const fn applies(&self) -> bool {
        matches!(self, Self::Implement { apply: true, .. } | Self::Refactor { apply: true, .. })
    }
}

impl Task {
    fn new(prompt: Option<String>, files: Option<Vec<String>>, kind: TaskKind) -> Result<Self> {
        let mut findings = Findings::new();
        let prompt = prompt.unwrap_or_default();
        if prompt.trim().is_empty() {
            let message = "`prompt` is missing or empty: say what the delegate is to do";
            findings.push(ErrorKind::ValidationFailed, vec!["prompt".to_owned()], message);
        }
        let files = files.unwrap_or_default();
        if files.len() > limits::DELEGATE_FILES {
            let message = format!("{} files are more than a delegate is shown", files.len());
            findings.push(ErrorKind::RequestTooLarge, vec!["files".to_owned()], message);
        }
        findings.finish()?;
        Ok(Self { prompt, files, kind })
    }
}

impl TryFrom<Analyze> for Task {
    type Error = crate::error::Error;

    fn try_from(asked: Analyze) -> Result<Self> {
        let Analyze { prompt, files, context, role } = asked;
        Self::new(prompt, files, TaskKind::Analyze { context, role })
    }
}

impl TryFrom<Implement> for Task {
    type Error = crate::error::Error;

    fn try_from(asked: Implement) -> Result<Self> {
        let Implement { prompt, files, constraints, apply, check: _ } = asked;
        Self::new(prompt, files, TaskKind::Implement { constraints, apply: apply.unwrap_or(false) })
    }
}

impl TryFrom<Refactor> for Task {
    type Error = crate::error::Error;

    fn try_from(asked: Refactor) -> Result<Self> {
        let Refactor { prompt, files, safety_checks, apply, check: _ } = asked;
        let kind = TaskKind::Refactor { safety_checks: safety_checks.unwrap_or(true), apply: apply.unwrap_or(false) };
        Self::new(prompt, files, kind)
    }
}

impl TryFrom<Verify> for Task {
    type Error = crate::error::Error;

    fn try_from(asked: Verify) -> Result<Self> {
        let Verify { prompt, files, requirements, transaction_id } = asked;
        Self::new(prompt, files, TaskKind::Verify { requirements, transaction: transaction_id })
    }
}
