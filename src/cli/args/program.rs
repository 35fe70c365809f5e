//! The arguments of `run`.

use std::ffi::OsString;

use clap::Args;

use super::{KeyArgs, PickArgs};

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct RunArgs {
    /// The program and its arguments; no shell is used
    #[arg(required = true, trailing_var_arg = true, value_name = "CMD")]
    pub(crate) command: Vec<OsString>,
    /// Print the changes as a diff and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Open a transaction with the changes, to be previewed and committed later
    #[arg(long, conflicts_with_all = ["dry_run", "idempotency_key", "again"])]
    pub(crate) stage: bool,
    /// A text for the log [default: the command]
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,
    /// The campaign over many workspaces that this is a part of
    #[arg(long, value_name = "NAME", conflicts_with = "stage")]
    pub(crate) campaign: Option<String>,
    #[command(flatten)]
    pub(crate) key: KeyArgs,
    #[command(flatten)]
    pub(crate) pick: PickArgs,
    /// Commit only files that match G; repeatable
    #[arg(long, value_name = "G")]
    pub(crate) only: Vec<String>,
    /// Commit no files that match G; repeatable
    #[arg(long, value_name = "G")]
    pub(crate) exclude: Vec<String>,
    /// Commit files that a .gitignore names, too
    #[arg(long)]
    pub(crate) ignored: bool,
    /// Commit what the program did even if it fails
    #[arg(long)]
    pub(crate) keep_on_failure: bool,
    /// Seconds that the program may take [default: no limit]
    #[arg(long, value_name = "S")]
    pub(crate) timeout: Option<f64>,
}
