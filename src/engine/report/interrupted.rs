//! Reports about interrupted transactions: what a recovery found, would do and did, and why.

use std::fmt;
use std::path::PathBuf;

pub use crate::engine::store::interrupted::Untrusted;
use crate::error::{KeptContent, NextStep};
use crate::journal::JournalState;
use crate::journal::recover::Class;

/// A transaction in `txn/`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Interrupted {
    /// The name of its folder.
    pub id: String,
    /// True if its owner is alive.
    pub running: bool,
    /// The program that owns it, as it named itself.
    pub owner: String,
    /// Its files, relative to the workspace.
    pub files: Vec<InterruptedFile>,
    /// The action that a recovery would take.
    pub action: RecoveryAction,
    /// The reason.
    pub why: RecoveryReason,
    /// Further remarks, as in [`Recovered::remarks`].
    pub remarks: Vec<String>,
    /// The steps that a person can take.
    pub next_steps: Vec<NextStep>,
}

impl Interrupted {
    /// The reason with the remarks, as a sentence.
    #[must_use]
    pub fn reason(&self) -> String {
        reason(&self.why, &self.remarks)
    }
}

fn reason(why: &RecoveryReason, remarks: &[String]) -> String {
    let mut reason = why.to_string();
    for remark in remarks {
        reason.push_str("; ");
        reason.push_str(remark);
    }
    reason
}

/// A file of a transaction that was interrupted, or is running.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InterruptedFile {
    /// The path, relative to the workspace.
    pub path: PathBuf,
    /// What the transaction does to it, in the word of its journal; `None` if the journal is damaged.
    pub operation: Option<&'static str>,
    /// The class of its entry; `None` if it was not observed, since the transaction cannot be recovered here.
    pub class: Option<Class>,
}

/// The action of a recovery on a transaction: the first six are planned, the others were done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecoveryAction {
    /// It would be committed.
    Forward,
    /// It would be rolled back.
    Back,
    /// It would be dropped: none of its files was swapped.
    Drop,
    /// Its folder would be moved to `kept/`, the files left as they are.
    Discard,
    /// A person must decide.
    Wait,
    /// Nothing: another process owns it, or it cannot be recovered here.
    Leave,
    /// All files were made new; the remarks name those that another program changed since.
    Committed,
    /// All files are new except those that the remarks name.
    PartlyCommitted,
    /// All files are old.
    RolledBack,
    /// All files are old except those that the remarks name.
    PartlyRolledBack,
    /// None of its files was swapped.
    Dropped,
    /// Its folder was moved to `kept/`, the files left as they are.
    Discarded,
    /// Nothing: another process is working on it.
    Running,
    /// Nothing: the reason says why.
    Left,
}

impl RecoveryAction {
    /// Its word in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Back => "back",
            Self::Drop => "drop",
            Self::Discard => "discard",
            Self::Wait => "wait",
            Self::Leave => "leave",
            Self::Committed => "committed",
            Self::PartlyCommitted => "partly_committed",
            Self::RolledBack => "rolled_back",
            Self::PartlyRolledBack => "partly_rolled_back",
            Self::Dropped => "dropped",
            Self::Discarded => "discarded",
            Self::Running => "running",
            Self::Left => "left",
        }
    }
}

impl fmt::Display for RecoveryAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The reason for what a recovery does with a transaction, [displayed](fmt::Display) as a clause about the transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecoveryReason {
    /// Another process is working on it, or it is gone.
    AtWork {
        /// That process, where it can be named.
        holder: Option<String>,
    },
    /// Another process has finished it.
    EndedByAnother,
    /// Its folder is not this user's alone, or not a folder, so it is never used.
    Refused {
        /// The folder.
        folder: PathBuf,
        /// The problem, as a clause that follows its path.
        problem: String,
        /// The remedy at a shell, if no call of this library can help.
        remedy: String,
    },
    /// It has no journal yet: none of its files was swapped.
    NoJournal,
    /// Its journal cannot be read, or does not verify.
    Damaged {
        /// The problem.
        problem: String,
    },
    /// It was finished, but its record in history is damaged.
    DamagedInHistory {
        /// The problem, as a clause that follows its path.
        problem: String,
    },
    /// Its journal is used only if a person says so.
    Untrusted {
        /// The reason for that.
        untrusted: Untrusted,
        /// True if its journal names more files than are listed.
        has_more_files: bool,
    },
    /// Its files could not be observed: one cannot be read, or is being written by another transaction.
    NotObserved {
        /// The problem.
        problem: String,
    },
    /// It was interrupted at this point.
    Interrupted {
        /// The state of its journal.
        journal_state: JournalState,
        /// The number of files in each class.
        progress: RecoveryProgress,
    },
}

/// The progress of an interrupted transaction, in files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RecoveryProgress {
    /// All files of the transaction.
    pub files: usize,
    /// Files that are swapped.
    pub swapped: usize,
    /// Files that are not swapped, but can be.
    pub ready: usize,
    /// Files that another program changed.
    pub changed: usize,
    /// Files whose new content did not reach the disk completely.
    pub torn: usize,
}

impl RecoveryProgress {
    /// The progress that these classes show.
    pub(crate) fn of(classes: &[Class]) -> Self {
        let count = |wanted: &[Class]| classes.iter().filter(|class| wanted.contains(class)).count();
        Self {
            files: classes.len(),
            swapped: count(&[Class::Done]),
            ready: count(&[Class::Ready]),
            changed: count(&[Class::OnTop, Class::PutBack, Class::Before, Class::Captured, Class::Theirs]),
            torn: count(&[Class::Torn]),
        }
    }
}

impl fmt::Display for RecoveryReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtWork { holder: Some(holder) } => write!(f, "{holder} is at work on it: wait for it, or end it"),
            Self::AtWork { holder: None } => f.write_str("its owner is alive, or it is gone"),
            Self::EndedByAnother => f.write_str("another process has finished it"),
            Self::Refused { folder, problem, remedy } => {
                write!(f, "{} {problem}, and may be one that was interrupted: {remedy}", folder.display())
            }
            Self::NoJournal => f.write_str("it never came to its journal"),
            Self::Damaged { problem } => f.write_str(problem),
            Self::NotObserved { problem } => write!(f, "its files cannot be looked at: {problem}"),
            Self::DamagedInHistory { problem } => write!(f, "it is in history, and {problem}"),
            Self::Untrusted { untrusted, has_more_files } => {
                f.write_str(untrusted.reason())?;
                f.write_str(if *has_more_files { "; it names more files than are listed" } else { "" })
            }
            Self::Interrupted { journal_state, progress } => {
                write!(f, "it was {}: {progress}", state_of(*journal_state))
            }
        }
    }
}

impl fmt::Display for RecoveryProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { files, swapped, ready, changed, torn } = self;
        write!(f, "{swapped} of {files} swapped, {ready} not, {changed} changed by another program")?;
        if *torn > 0 {
            write!(f, ", {torn} whose new content did not reach the disk completely")?;
        }
        Ok(())
    }
}

/// The state in which a recovery found a transaction, by the state of its journal.
const fn state_of(journal_state: JournalState) -> &'static str {
    match journal_state {
        JournalState::New | JournalState::Sealed => "interrupted",
        JournalState::Contended => "interrupted while another program was writing",
        JournalState::Check => "interrupted in its check",
        JournalState::Done => "done, not yet in history",
        JournalState::Undo | JournalState::CheckUndo => "being rolled back",
    }
}

/// The result of a recovery of one transaction, or its plan.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Recovered {
    /// The transaction.
    pub id: String,
    /// The action that was taken or, in a plan, would be taken.
    pub action: RecoveryAction,
    /// True if a person must decide.
    pub required: bool,
    /// The reason.
    pub why: RecoveryReason,
    /// Further remarks: the files that are not new, or not old, and why; what is in the way.
    pub remarks: Vec<String>,
    /// The steps that a person can take.
    pub next_steps: Vec<NextStep>,
    /// The files, relative to the workspace.
    pub files: Vec<InterruptedFile>,
    /// Contents that were kept.
    pub kept: Vec<KeptContent>,
}

impl Recovered {
    /// A report about a transaction whose files are not known.
    pub(crate) fn new(id: &str, action: RecoveryAction, why: RecoveryReason) -> Self {
        Self {
            id: id.to_owned(),
            action,
            required: false,
            why,
            remarks: Vec::new(),
            next_steps: Vec::new(),
            files: Vec::new(),
            kept: Vec::new(),
        }
    }

    /// The reason with the remarks, as a sentence.
    #[must_use]
    pub fn reason(&self) -> String {
        reason(&self.why, &self.remarks)
    }
}
