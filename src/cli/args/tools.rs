//! The arguments of the commands that change no file of the workspace: trying it out, completions, manuals, help.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use clap_complete::Shell;

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// The folder [default: the root]
    pub(crate) folder: Option<PathBuf>,
    /// Kill N processes at random moments of their commits in a scratch folder there, and check the files afterwards
    #[arg(long, value_name = "N")]
    pub(crate) torture: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct TortureChildArgs {
    /// The seed of the transactions that it commits.
    pub(crate) seed: u64,
}

#[derive(Debug, Args)]
pub(crate) struct TourChildArgs {
    /// The plan that it applies.
    pub(crate) plan: PathBuf,
    /// The step before which it waits to be killed.
    #[arg(value_enum)]
    pub(crate) stop: StopAt,
}

/// The step before which the tour's child stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StopAt {
    /// Some contents are staged and none is swapped.
    Stage,
    /// Some files are swapped and some are not.
    Swap,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The folder; the pages go to its subfolders man1, man5 and man7
    pub(crate) folder: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct HelpArgs {
    /// A topic (plan, patches, answers, recovery) or a command, like `kept restore`
    #[arg(value_name = "TOPIC|COMMAND")]
    pub(crate) subject: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// `request`, `answer`, `error`, or a command, like `kept list`; without it, list all
    pub(crate) name: Vec<String>,
}
