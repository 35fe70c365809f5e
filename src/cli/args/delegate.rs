//! The arguments of `txedit delegate`, and those of the MCP server about delegates.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{TEMPLATE, examples};

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum DelegateCommand {
    /// Read files and answer a question; nothing is changed
    #[command(help_template = TEMPLATE, before_help = examples::ANALYZE)]
    Analyze(AnalyzeArgs),
    /// Propose changes, which are staged as an open transaction
    #[command(help_template = TEMPLATE, before_help = examples::IMPLEMENT)]
    Implement(ImplementArgs),
    /// Propose changes that keep the behaviour, which are staged as an open transaction
    #[command(help_template = TEMPLATE, before_help = examples::REFACTOR)]
    Refactor(RefactorArgs),
    /// Judge files, or the changes of a transaction; nothing is changed
    #[command(help_template = TEMPLATE, before_help = examples::VERIFY)]
    Verify(VerifyArgs),
}

/// The arguments of all four commands.
#[derive(Debug, Args)]
pub(crate) struct AskArgs {
    /// The task, or - for stdin
    #[arg(allow_hyphen_values = true)]
    pub(crate) prompt: String,
    /// A file to show to it; repeatable
    #[arg(short, long = "file", value_name = "FILE", allow_hyphen_values = true)]
    pub(crate) files: Vec<PathBuf>,
    /// The model [default: that of the configuration, else that of the program]
    #[arg(short, long, value_name = "MODEL", allow_hyphen_values = true)]
    pub(crate) model: Option<String>,
    /// Seconds that it may take [default: that of the configuration, else 300]
    #[arg(long, value_name = "S")]
    pub(crate) timeout: Option<f64>,
    /// Largest file that is shown to it [default: that of the configuration, else 1048576]
    #[arg(long, value_name = "BYTES")]
    pub(crate) max_file_bytes: Option<u64>,
    /// Longest prompt that is passed as an argument; a longer one goes to a file [default: that of the configuration, else
    /// 120000]
    #[arg(long, value_name = "BYTES")]
    pub(crate) max_prompt_bytes: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct AnalyzeArgs {
    #[command(flatten)]
    pub(crate) ask: AskArgs,
    /// Background that it should know
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
    /// Rules that the changes must follow
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) constraints: Option<String>,
    /// Commit the proposal
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
    /// Commit the proposal
    #[arg(long)]
    pub(crate) apply: bool,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    pub(crate) ask: AskArgs,
    /// Requirements to check against
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) requirements: Option<String>,
    /// Judge the diff of this open or committed transaction
    #[arg(long, value_name = "ID")]
    pub(crate) transaction: Option<String>,
}

// No doc: it would be the first line of the command whose options these are.
#[cfg(feature = "mcp")]
#[derive(Debug, Args)]
pub(crate) struct ServerDelegateArgs {
    /// The model of the delegates
    #[arg(long = "delegate-model", value_name = "MODEL", allow_hyphen_values = true)]
    pub(crate) model: Option<String>,
    /// Seconds that a delegate may take
    #[arg(long = "delegate-timeout", value_name = "S")]
    pub(crate) timeout: Option<f64>,
    /// Largest file that is shown to a delegate
    #[arg(long = "delegate-max-file-bytes", value_name = "BYTES")]
    pub(crate) max_file_bytes: Option<u64>,
    /// Longest prompt that is passed to a delegate as an argument; a longer one goes to a file
    #[arg(long = "delegate-max-prompt-bytes", value_name = "BYTES")]
    pub(crate) max_prompt_bytes: Option<u64>,
}
