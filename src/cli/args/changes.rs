//! The arguments of the commands that change files at once: `apply`, `edit` and `replace`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{PickArgs, TransactionArgs};
use crate::charset::Charset;
use crate::digest::Digest;
use crate::request::IfMissing;
use crate::request::edit::Matching;

/// How texts of edits are compared with the files. The variants have no doc comments, which would become paragraphs of
/// `--help`; docs/plan.md explains them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MatchArg {
    Exact,
    Tolerant,
}

impl From<MatchArg> for Matching {
    fn from(wanted: MatchArg) -> Self {
        match wanted {
            MatchArg::Exact => Self::Exact,
            MatchArg::Tolerant => Self::Tolerant,
        }
    }
}

/// What it means that there is nothing to replace. No doc comments, as above.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum IfMissingArg {
    Fail,
    Skip,
}

impl From<IfMissingArg> for IfMissing {
    fn from(wanted: IfMissingArg) -> Self {
        match wanted {
            IfMissingArg::Fail => Self::Fail,
            IfMissingArg::Skip => Self::Skip,
        }
    }
}

/// The formats of changes; docs/dialects.md explains them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PatchFormat {
    Plan,
    Diff,
    Envelope,
    SearchReplace,
    WorkspaceEdit,
    AstGrep,
    Rustc,
    Ruff,
    Eslint,
}

#[derive(Debug, Args)]
pub(crate) struct ApplyArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// Succeed without changes if this very plan was committed before and every file is still as it left it
    #[arg(long)]
    pub(crate) idempotent: bool,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
    /// Commit only the very plan that a dry run showed
    #[arg(long, value_name = "HASH")]
    pub(crate) plan_hash: Option<Digest>,
    /// The campaign over many workspaces that this is a part of
    #[arg(long, value_name = "NAME")]
    pub(crate) campaign: Option<String>,
    #[command(flatten)]
    pub(crate) pick: PickArgs,
}

// How a retry is told from a new call. A doc comment would be taken for the command's.
#[derive(Debug, Args)]
pub(crate) struct KeyArgs {
    /// Do nothing but tell what was done if a transaction has this key
    #[arg(long, value_name = "KEY")]
    pub(crate) idempotency_key: Option<String>,
    /// Do it once more if what had its idempotency key was undone since
    #[arg(long)]
    pub(crate) again: bool,
}

#[derive(Debug, Args)]
pub(crate) struct InputArgs {
    /// A plan or a patch, or - for stdin; relative paths in it start at the root
    #[arg(required_unless_present = "plan_command")]
    pub(crate) plan: Option<PathBuf>,
    /// A command of the shell that prints the plan or patch, run in the root; nothing printed is nothing to do
    #[arg(long, value_name = "CMD", conflicts_with = "plan")]
    pub(crate) plan_command: Option<String>,
    /// The format [default: detected]
    #[arg(long, value_enum, value_name = "F")]
    pub(crate) format: Option<PatchFormat>,
    /// The comparison of texts if the plan does not name one [default: that of the format, mostly exact]
    #[arg(long = "match", value_enum, value_name = "HOW")]
    pub(crate) matching: Option<MatchArg>,
    /// Apply also the fixes of a report of rustc or ruff that the tool is not sure of
    #[arg(long)]
    pub(crate) unsafe_fixes: bool,
    /// Print the changes as a diff and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct EditArgs {
    /// The files; in each the text is replaced, or nothing is changed
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The text to replace; it must occur exactly once
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, required_unless_present = "old_file")]
    pub(crate) old: Option<OsString>,
    /// The replacement
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, required_unless_present = "new_file")]
    pub(crate) new: Option<OsString>,
    /// The file whose whole content is the text to replace
    #[arg(long, value_name = "F", conflicts_with = "old")]
    pub(crate) old_file: Option<PathBuf>,
    /// The file whose whole content is the replacement
    #[arg(long, value_name = "F", conflicts_with = "new")]
    pub(crate) new_file: Option<PathBuf>,
    /// Replace every occurrence; there must be at least one
    #[arg(long)]
    pub(crate) all: bool,
    /// If there are several, name those nearest to line N
    #[arg(long, value_name = "N", conflicts_with = "all", allow_negative_numbers = true)]
    pub(crate) near_line: Option<usize>,
    /// The comparison of texts
    #[arg(long = "match", value_enum, value_name = "HOW", default_value = "exact")]
    pub(crate) matching: MatchArg,
    /// The encoding of the file, like windows-1252 or koi8-r [default: UTF-8, or UTF-16 if the file has its mark]
    #[arg(long, value_name = "LABEL")]
    pub(crate) encoding: Option<Charset>,
    #[command(flatten)]
    pub(crate) transaction: TransactionArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ReplaceArgs {
    /// The text to replace, or with --regex a pattern in which ^ and $ match at lines; put -- before one that begins
    /// with a hyphen
    pub(crate) pattern: String,
    /// The replacement; with --regex, $1 and ${name} are the groups
    pub(crate) replacement: String,
    /// Files and folders [default: the current folder]; .gitignore is respected
    pub(crate) paths: Vec<PathBuf>,
    /// PATTERN is a regular expression
    #[arg(short = 'E', long)]
    pub(crate) regex: bool,
    /// Match whole words only
    #[arg(short, long)]
    pub(crate) word: bool,
    /// Only files that match G, or with !G only those that do not; repeatable
    #[arg(short, long = "glob", value_name = "G", allow_hyphen_values = true)]
    pub(crate) globs: Vec<String>,
    /// Search hidden files, too
    #[arg(long)]
    pub(crate) hidden: bool,
    /// Refuse unless there are exactly N matches
    #[arg(long, value_name = "N")]
    pub(crate) expected_matches: Option<usize>,
    /// Refuse if more than N files would change
    #[arg(long, value_name = "N")]
    pub(crate) max_files: Option<usize>,
    /// If there is no match: fail, or skip, with exit status 9 [default: fail]
    #[arg(long, value_enum, value_name = "HOW", hide_possible_values = true, conflicts_with = "expected_matches")]
    pub(crate) if_missing: Option<IfMissingArg>,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
    #[command(flatten)]
    pub(crate) transaction: TransactionArgs,
    #[command(flatten)]
    pub(crate) pick: PickArgs,
}
