//! `txedit campaign`: one change in many workspaces.

mod engines;
mod new;
mod report;
mod told;
mod work;

use crate::campaign::Campaign;
use crate::cli::args::{CampaignCommand, CampaignFolderArgs};
use crate::cli::failure::Failure;
use crate::cli::options::{CommonOptions, usage};
use crate::cli::output::Answer;
use crate::error::Result;
use crate::fs::records;
use crate::path::shown;
pub(super) use new::CampaignPlannedJson;
pub(super) use report::{CampaignPendingJson, CampaignReportJson};
pub(super) use told::CampaignStatusJson;

/// Runs a command about a campaign.
pub(super) fn run(command: &CampaignCommand, options: &CommonOptions) -> Result<Answer, Failure> {
    match command {
        CampaignCommand::New(args) => new::run(args, options),
        CampaignCommand::Run(args) => work::run(args, options),
        CampaignCommand::Retry(args) => work::retry(args, options),
        CampaignCommand::Undo(args) => work::undo(args, options),
        CampaignCommand::Work(args) => work::these(args, options),
        CampaignCommand::Shard(args) => work::shard(args, options),
        CampaignCommand::Status(args) => told::status(args, options),
        CampaignCommand::Report(args) => report::run(args, options),
        CampaignCommand::Pending(args) => report::pending(args, options),
    }
}

fn opened(args: &CampaignFolderArgs, options: &CommonOptions) -> Result<Campaign> {
    let folder = options.absolute(&args.folder);
    if !Campaign::is_in(&folder) {
        let message = format!("{} is not the folder of a campaign: `txedit campaign new` makes one", shown(&folder));
        return Err(usage("FOLDER", message));
    }
    Campaign::open(&records::real(&folder).unwrap_or(folder))
}

/// The same for work on it: what was planned counts, so an option that says something else is refused.
fn opened_for_work(args: &CampaignFolderArgs, options: &CommonOptions) -> Result<Campaign> {
    options.refuse_workspace("the workspaces of a campaign are those that were planned")?;
    let campaign = opened(args, options)?;
    let planned = &campaign.manifest.options;
    match options.of_each_command().into_iter().find(|option| !planned.contains(option)) {
        Some(option) => {
            let name = option.split('=').next().unwrap_or_default().to_owned();
            let message =
                format!("`{option}` is not what the campaign was planned with: give it to `txedit campaign new`");
            Err(usage(&name, message))
        }
        None => Ok(campaign),
    }
}
