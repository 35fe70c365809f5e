//! The arguments of the commands about open, committed and interrupted transactions.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{InputArgs, PickArgs, TEMPLATE, examples};
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
    /// The transaction that was undone, or its undo [default: the newest undo that was not reverted]
    pub(crate) id: Option<String>,
    #[command(flatten)]
    pub(crate) how: RevertArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RevertArgs {
    /// Print the changes as a diff and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Also if a file has changed since, as long as other lines changed
    #[arg(long)]
    pub(crate) rebase: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// Only those that changed this file, or a file in this folder
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
    /// Only those of this session: `TXEDIT_SESSION` when they were made, or that of an MCP client
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// Only those of this campaign
    #[arg(long, value_name = "NAME", conflicts_with = "session")]
    pub(crate) campaign: Option<String>,
    /// List at most N
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The transaction [default: the newest]
    pub(crate) id: Option<String>,
    /// Print line counts instead of the diff
    #[arg(long)]
    pub(crate) stat: bool,
    /// Print a patch that `git apply` takes
    #[arg(long, value_enum, value_name = "F", conflicts_with = "stat")]
    pub(crate) format: Option<ShowFormat>,
    /// Print one page of HTML, which needs nothing else
    #[arg(long, conflicts_with_all = ["stat", "format"])]
    pub(crate) html: bool,
}

/// The formats of a printed patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShowFormat {
    Git,
}

#[derive(Debug, Args)]
pub(crate) struct UndoArgs {
    /// The transaction [default: the newest that has not been reverted and is no undo itself]
    pub(crate) id: Option<String>,
    /// Revert all that was committed after this transaction, which stays, or after this time, as one transaction
    #[arg(long, value_name = "ID|TIME", conflicts_with = "id")]
    pub(crate) since: Option<String>,
    /// Revert the newest N that are not reverted and no undos, as one transaction
    #[arg(long, value_name = "N", conflicts_with_all = ["id", "since"])]
    pub(crate) last: Option<usize>,
    /// Revert all of this session, as one transaction: of `TXEDIT_SESSION` when they were made, or of an MCP client
    #[arg(long, value_name = "NAME", conflicts_with_all = ["id", "since", "last"])]
    pub(crate) session: Option<String>,
    /// Revert all of this campaign, as one transaction
    #[arg(long, value_name = "NAME", conflicts_with_all = ["id", "since", "last", "session"])]
    pub(crate) campaign: Option<String>,
    #[command(flatten)]
    pub(crate) how: RevertArgs,
    #[command(flatten)]
    pub(crate) pick: PickArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RecoverArgs {
    /// The transaction [default: all that are interrupted]
    pub(crate) id: Option<String>,
    /// Print what would be done and do nothing
    #[arg(long)]
    pub(crate) plan: bool,
    #[command(flatten)]
    pub(crate) decision: DecisionArgs,
    /// Act on a journal that was not written where it is: a copy or a restored backup
    #[arg(long)]
    pub(crate) trust_journal: bool,
    /// Act on a journal of another machine, after making sure that nothing there uses it
    #[arg(long)]
    pub(crate) other_host: bool,
}

#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct DecisionArgs {
    /// Finish it, whatever the default decision is
    #[arg(long, requires = "id")]
    pub(crate) forward: bool,
    /// Roll it back, whatever the default decision is
    #[arg(long, requires = "id")]
    pub(crate) back: bool,
    /// Leave the files as they are and move its folder to kept/
    #[arg(long, requires = "id")]
    pub(crate) discard: bool,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum KeptCommand {
    /// List what was kept
    #[command(help_template = TEMPLATE, before_help = examples::KEPT_LIST)]
    List,
    /// Write a kept content back to its file, as a transaction
    #[command(help_template = TEMPLATE, before_help = examples::KEPT_RESTORE)]
    Restore {
        /// The transaction that kept it
        id: String,
        /// The file [default: the only one that it kept]
        path: Option<PathBuf>,
    },
    /// Delete what a transaction kept
    #[command(help_template = TEMPLATE, before_help = examples::KEPT_DROP)]
    Drop {
        /// The transaction that kept it
        id: String,
    },
}

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum HistoryCommand {
    /// Delete old transactions; they can no longer be undone
    #[command(help_template = TEMPLATE, before_help = examples::HISTORY)]
    Prune {
        /// Keep at most N transactions
        #[arg(long, value_name = "N")]
        keep: Option<usize>,
        /// Keep at most B bytes of old contents
        #[arg(long, value_name = "B")]
        max_bytes: Option<u64>,
        /// Delete those older than this
        #[arg(long, value_name = "DAYS")]
        max_age: Option<u64>,
    },
    /// Move the state folder to the one that --state-dir names, else to the git folder, or to DIR
    #[command(help_template = TEMPLATE, before_help = examples::HISTORY_MOVE)]
    Move {
        /// The new state folder, like ../state, or .txedit in the root
        #[arg(value_name = "DIR")]
        to: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct JournalArgs {
    /// The journal file
    pub(crate) file: PathBuf,
}
