//! The arguments of `txedit delegate`, and those by which a server is told of delegates.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum DelegateCommand {
    /// Read files and answer a question; nothing is changed
    Analyze(AnalyzeArgs),
    /// Propose changes: they are staged as an open transaction
    Implement(ImplementArgs),
    /// Propose changes that keep the behaviour: they are staged as an open transaction
    Refactor(RefactorArgs),
    /// Judge files, or what a transaction changes; nothing is changed
    Verify(VerifyArgs),
}

/// What all four take.
#[derive(Debug, Args)]
pub(crate) struct AskArgs {
    /// What the delegate is to do, or - for stdin
    #[arg(allow_hyphen_values = true)]
    pub(crate) prompt: String,
    /// A file to show to it
    #[arg(short, long = "file", value_name = "FILE", allow_hyphen_values = true)]
    pub(crate) files: Vec<PathBuf>,
    /// The model [default: that of the configuration, else that of the program]
    #[arg(short, long, value_name = "MODEL", allow_hyphen_values = true)]
    pub(crate) model: Option<String>,
    /// Seconds that it may take [default: that of the configuration, else 300]
    #[arg(long, value_name = "S")]
    pub(crate) timeout: Option<f64>,
    /// Bytes of a file that is shown to it [default: that of the configuration, else 1048576]
    #[arg(long, value_name = "BYTES")]
    pub(crate) max_file_bytes: Option<u64>,
    /// Bytes of a prompt that is an argument; a longer one goes to a file [default: that of the configuration, else
    /// 120000]
    #[arg(long, value_name = "BYTES")]
    pub(crate) max_prompt_bytes: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct AnalyzeArgs {
    #[command(flatten)]
    pub(crate) ask: AskArgs,
    /// What else it should know
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) context: Option<String>,
    /// general, security, performance, refactor, or one of the configuration
    #[arg(long, value_name = "ROLE")]
    pub(crate) role: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ImplementArgs {
    #[command(flatten)]
    pub(crate) ask: AskArgs,
    /// What the changes must keep to
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) constraints: Option<String>,
    /// Commit what it proposes
    #[arg(long)]
    pub(crate) apply: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RefactorArgs {
    #[command(flatten)]
    pub(crate) ask: AskArgs,
    /// Do not tell it to keep the behaviour
    #[arg(long)]
    pub(crate) no_safety_checks: bool,
    /// Commit what it proposes
    #[arg(long)]
    pub(crate) apply: bool,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    pub(crate) ask: AskArgs,
    /// What is required
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) requirements: Option<String>,
    /// Judge the diff of this transaction, open or committed
    #[arg(long, value_name = "ID")]
    pub(crate) transaction: Option<String>,
}

// No doc: it would be the first line of the command whose options these are.
#[cfg(feature = "mcp")]
#[derive(Debug, Args)]
pub(crate) struct ServerDelegateArgs {
    /// The model of delegates
    #[arg(long = "delegate-model", value_name = "MODEL", allow_hyphen_values = true)]
    pub(crate) model: Option<String>,
    /// Seconds that a delegate may take
    #[arg(long = "delegate-timeout", value_name = "S")]
    pub(crate) timeout: Option<f64>,
    /// Bytes of a file that is shown to a delegate
    #[arg(long = "delegate-max-file-bytes", value_name = "BYTES")]
    pub(crate) max_file_bytes: Option<u64>,
    /// Bytes of a delegate's prompt that is an argument; a longer one goes to a file
    #[arg(long = "delegate-max-prompt-bytes", value_name = "BYTES")]
    pub(crate) max_prompt_bytes: Option<u64>,
}
