//! The arguments of the commands that are about transactions: open, committed and interrupted ones.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::InputArgs;
use crate::digest::Digest;

#[derive(Debug, Args)]
pub(crate) struct StageArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// Add to this open transaction [default: open a new one]
    #[arg(long, value_name = "ID")]
    pub(crate) transaction: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct OpenArgs {
    /// The open transaction, as `stage` printed it
    pub(crate) id: String,
}

#[derive(Debug, Args)]
pub(crate) struct CommitArgs {
    /// The open transaction, as `stage` printed it
    pub(crate) id: String,
    /// Commit only the very plan that a preview showed
    #[arg(long, value_name = "HASH")]
    pub(crate) plan_hash: Option<Digest>,
}

#[derive(Debug, Args)]
pub(crate) struct RedoArgs {
    /// The transaction that is undone, or its undo [default: the newest undo that was not taken back]
    pub(crate) id: Option<String>,
    #[command(flatten)]
    pub(crate) how: TakeBackArgs,
}

#[derive(Debug, Args)]
pub(crate) struct TakeBackArgs {
    /// Print what would change as a diff; write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Also where a file changed since, as long as it changed in other lines only
    #[arg(long)]
    pub(crate) rebase: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// Only those that changed this file, or something in this folder
    #[arg(long)]
    pub(crate) path: Option<PathBuf>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The transaction, as in the log
    pub(crate) id: String,
    /// Only count the lines
    #[arg(long)]
    pub(crate) stat: bool,
    /// Print a patch instead, that git apply takes
    #[arg(long, value_enum, value_name = "F", conflicts_with = "stat")]
    pub(crate) format: Option<ShowFormat>,
}

/// The patches that can be printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShowFormat {
    /// A diff of git
    Git,
}

#[derive(Debug, Args)]
pub(crate) struct UndoArgs {
    /// The transaction [default: the newest that is not undone and no undo itself]
    pub(crate) id: Option<String>,
    #[command(flatten)]
    pub(crate) how: TakeBackArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RecoverArgs {
    /// The transaction [default: all that are interrupted]
    pub(crate) id: Option<String>,
    /// Print what would be done; do nothing
    #[arg(long)]
    pub(crate) plan: bool,
    #[command(flatten)]
    pub(crate) decision: DecisionArgs,
    /// Act on a journal that was not born where it is: a copy, a restored backup
    #[arg(long)]
    pub(crate) trust_journal: bool,
    /// Act on a journal of another machine; make sure that nobody works on it there
    #[arg(long)]
    pub(crate) other_host: bool,
}

#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct DecisionArgs {
    /// Finish it, whatever speaks against it
    #[arg(long, requires = "id")]
    pub(crate) forward: bool,
    /// Take it back, whatever speaks against it
    #[arg(long, requires = "id")]
    pub(crate) back: bool,
    /// Leave the files as they are and put its folder aside, into kept
    #[arg(long, requires = "id")]
    pub(crate) discard: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeptCommand {
    /// List what was put aside
    List,
    /// Put a content back to where it belongs, as a transaction
    Restore {
        /// The transaction that put it aside
        id: String,
        /// The file [default: the only one that it put aside]
        path: Option<PathBuf>,
    },
    /// Delete what a transaction put aside
    Drop {
        /// The transaction that put it aside
        id: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum HistoryCommand {
    /// Forget old transactions; they can no longer be undone
    Prune {
        /// Keep at most so many
        #[arg(long, value_name = "N")]
        keep: Option<usize>,
        /// Keep at most so many bytes of old contents
        #[arg(long, value_name = "B")]
        max_bytes: Option<u64>,
        /// Forget those that are older than so many days
        #[arg(long, value_name = "DAYS")]
        max_age: Option<u64>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct JournalArgs {
    /// The journal file
    pub(crate) file: PathBuf,
}
