//! The arguments of the commands that make, move and delete files: `create`, `mv` and `rm`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use crate::charset::Charset;

// The options of a command that makes one transaction of its arguments. A doc comment would be taken for the command's.
#[derive(Debug, Args)]
pub(crate) struct TransactionArgs {
    /// A text for the log
    #[arg(long, value_name = "TEXT")]
    pub(crate) label: Option<String>,
    /// The campaign over many workspaces that this is a part of
    #[arg(long, value_name = "NAME")]
    pub(crate) campaign: Option<String>,
    /// Print the changes as a diff and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CreateArgs {
    /// The file; folders that it needs are made
    pub(crate) file: PathBuf,
    /// The content, exactly: no line break is added [default: standard input]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) text: Option<OsString>,
    /// The file that has the content
    #[arg(long, value_name = "F", conflicts_with = "text")]
    pub(crate) content_file: Option<PathBuf>,
    /// Replace the content of a file that is there
    #[arg(short, long)]
    pub(crate) force: bool,
    /// Write the content, which is UTF-8, in this encoding [default: as it is]
    #[arg(long, value_name = "LABEL")]
    pub(crate) encoding: Option<Charset>,
    #[command(flatten)]
    pub(crate) transaction: TransactionArgs,
}

#[derive(Debug, Args)]
pub(crate) struct MvArgs {
    /// Files, folders and symlinks
    #[arg(required = true)]
    pub(crate) from: Vec<PathBuf>,
    /// The new name, or a folder that is there
    pub(crate) to: PathBuf,
    /// Replace a file that is there
    #[arg(short, long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) transaction: TransactionArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RmArgs {
    /// Files and symlinks, with --recursive also folders
    #[arg(required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// Delete folders with everything in them
    #[arg(short, long)]
    pub(crate) recursive: bool,
    /// Leave out what is not there
    #[arg(short, long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) transaction: TransactionArgs,
}
