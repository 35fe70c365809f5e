//! The arguments of `campaign`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand};

use super::{TEMPLATE, examples};
use crate::campaign::ShardBy;

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum CampaignCommand {
    /// Plan a campaign: make its folder, NAME
    #[command(help_template = TEMPLATE, before_help = examples::CAMPAIGN_NEW)]
    New(CampaignNewArgs),
    /// Make the change in each workspace that has no report yet
    #[command(help_template = TEMPLATE, before_help = examples::CAMPAIGN_RUN)]
    Run(CampaignRunArgs),
    /// Make it again where there is no report, or where it may succeed now
    #[command(help_template = TEMPLATE, before_help = examples::CAMPAIGN_RETRY)]
    Retry(CampaignRetryArgs),
    /// Tell what was planned, and what was reported
    #[command(help_template = TEMPLATE, before_help = examples::CAMPAIGN_STATUS)]
    Status(CampaignFolderArgs),
    /// Undo the change in each workspace, the last one first
    #[command(help_template = TEMPLATE, before_help = examples::CAMPAIGN_UNDO)]
    Undo(CampaignUndoArgs),
    /// Tell what became of each workspace
    #[command(help_template = TEMPLATE, before_help = examples::CAMPAIGN_REPORT)]
    Report(CampaignReportArgs),
    /// List the numbers of the workspaces that are to be worked on, one on each line
    #[command(help_template = TEMPLATE, before_help = examples::CAMPAIGN_PENDING)]
    Pending(CampaignPendingArgs),
    /// Make the change in these workspaces alone: for whatever distributes work
    #[command(help_template = TEMPLATE, before_help = examples::CAMPAIGN_WORK)]
    Work(CampaignWorkArgs),
    /// Make the change in one of N equal parts of those without a report: for an array of jobs
    #[command(help_template = TEMPLATE, before_help = examples::CAMPAIGN_SHARD)]
    Shard(CampaignShardArgs),
}

#[derive(Debug, Args)]
#[command(
    override_usage = "txedit campaign new [OPTIONS] --workspaces <W>... <CHANGE> <NAME>",
    group = ArgGroup::new("action").required(true).args(["plan", "plan_command", "patch", "replace", "run"])
)]
pub(crate) struct CampaignNewArgs {
    /// The folder to make; its last part is the name
    pub(crate) name: PathBuf,
    /// Folders, patterns like 'repos/*', or files with a list: a path on each line, or a JSON object with root, name and vars
    #[arg(long, required = true, num_args = 1.., value_name = "W")]
    pub(crate) workspaces: Vec<PathBuf>,
    /// A plan; {{NAME}} in its texts stands for a variable of the workspace
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: Option<PathBuf>,
    /// A command of the shell that prints the plan of the workspace it is run in
    #[arg(long, value_name = "CMD")]
    pub(crate) plan_command: Option<String>,
    /// A patch in any of the formats
    #[arg(long, value_name = "FILE")]
    pub(crate) patch: Option<PathBuf>,
    /// A text to replace in all files of each workspace, and its replacement
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"], allow_hyphen_values = true)]
    pub(crate) replace: Option<Vec<String>>,
    /// A command of the shell; what it changes in each workspace becomes a transaction
    #[arg(long, value_name = "CMD")]
    pub(crate) run: Option<String>,
    /// With --replace: OLD is a regular expression
    #[arg(long)]
    pub(crate) regex: bool,
    /// With --replace: match whole words only
    #[arg(long)]
    pub(crate) word: bool,
    /// With --replace: only files that match G, or with !G only those that do not; repeatable
    #[arg(long = "glob", value_name = "G", allow_hyphen_values = true)]
    pub(crate) globs: Vec<String>,
    /// Divide each workspace: folder, folder:LEVELS, count:N or owners:FILE; one transaction for each part
    #[arg(long, value_name = "HOW", conflicts_with = "patch")]
    pub(crate) shard_by: Option<ShardBy>,
}

#[derive(Debug, Args)]
pub(crate) struct CampaignFolderArgs {
    /// The folder of the campaign
    pub(crate) folder: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct PaceArgs {
    /// Workspaces at a time [default: the number of processors]
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<std::num::NonZero<usize>>,
    /// Stop once N have failed
    #[arg(long, value_name = "N")]
    pub(crate) stop_after: Option<std::num::NonZero<usize>>,
    /// Begin at most N in a second
    #[arg(long, value_name = "N")]
    pub(crate) rate: Option<f64>,
}

#[derive(Debug, Args)]
pub(crate) struct CampaignRunArgs {
    #[command(flatten)]
    pub(crate) folder: CampaignFolderArgs,
    #[command(flatten)]
    pub(crate) pace: PaceArgs,
    /// Go on with the others only once none of the first N is left that failed
    #[arg(long, value_name = "N")]
    pub(crate) canary: Option<usize>,
    /// Do once more what was undone
    #[arg(long)]
    pub(crate) again: bool,
    /// Leave the work to: slurm, ray, dask, each with its options, or a command that runs the lines of its input
    #[arg(long, value_name = "ENGINE", conflicts_with_all = ["jobs", "stop_after", "rate", "canary"])]
    pub(crate) with: Option<String>,
    /// With --with slurm: the number of jobs in the array
    #[arg(long, value_name = "N", requires = "with")]
    pub(crate) shards: Option<std::num::NonZero<usize>>,
}

#[derive(Debug, Args)]
pub(crate) struct CampaignRetryArgs {
    #[command(flatten)]
    pub(crate) folder: CampaignFolderArgs,
    #[command(flatten)]
    pub(crate) pace: PaceArgs,
    /// Go on with the others only once none of the first N is left that failed
    #[arg(long, value_name = "N")]
    pub(crate) canary: Option<usize>,
    /// Also where nothing but a change would let it succeed: something was mended
    #[arg(long)]
    pub(crate) failed: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CampaignUndoArgs {
    #[command(flatten)]
    pub(crate) folder: CampaignFolderArgs,
    #[command(flatten)]
    pub(crate) pace: PaceArgs,
    /// Also if a file has changed since, as long as other lines changed
    #[arg(long)]
    pub(crate) rebase: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CampaignReportArgs {
    #[command(flatten)]
    pub(crate) folder: CampaignFolderArgs,
    /// Print one page of HTML, which needs nothing else
    #[arg(long)]
    pub(crate) html: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CampaignPendingArgs {
    #[command(flatten)]
    pub(crate) folder: CampaignFolderArgs,
    /// Also those that failed, and may succeed now
    #[arg(long)]
    pub(crate) retryable: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CampaignWorkArgs {
    #[command(flatten)]
    pub(crate) folder: CampaignFolderArgs,
    /// The numbers of the workspaces, from 0
    #[arg(required = true, value_name = "N")]
    pub(crate) workspaces: Vec<usize>,
    /// Do once more what was undone
    #[arg(long)]
    pub(crate) again: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CampaignShardArgs {
    /// Which part of how many, from 1: 3/8
    #[arg(value_name = "I/N", value_parser = part)]
    pub(crate) part: (usize, usize),
    #[command(flatten)]
    pub(crate) folder: CampaignFolderArgs,
    #[command(flatten)]
    pub(crate) pace: PaceArgs,
}

/// Parses `I/N`.
fn part(text: &str) -> Result<(usize, usize), &'static str> {
    let parsed = text.split_once('/').and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
    parsed.filter(|(part, of)| (1..=*of).contains(part)).ok_or("write I/N, with I from 1 to N: 3/8")
}
