//! `txedit campaign report` and `pending`.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::opened;
use super::told::AttemptJson;
use crate::campaign::{self, Attempt, CampaignProgress, WorkspaceState};
use crate::cli::args::{CampaignPendingArgs, CampaignReportArgs};
use crate::cli::failure::Failure;
use crate::cli::options::{CommonOptions, usage};
use crate::cli::output::{Answer, NAME, styled};
use crate::error::Result;
use crate::path::one_line;

/// The answer of `campaign report`.
#[derive(Serialize, JsonSchema)]
pub(in super::super) struct CampaignReportJson {
    success: bool,
    campaign: String,
    /// The attempt that counts of each workspace that was reported, in the order of the workspaces.
    reports: Vec<AttemptJson>,
    /// The names of those that were not.
    unreported: Vec<String>,
}

/// The answer of `campaign pending`.
#[derive(Serialize, JsonSchema)]
pub(in super::super) struct CampaignPendingJson {
    success: bool,
    /// The numbers of the workspaces, from 0.
    workspaces: Vec<usize>,
}

pub(super) fn run(args: &CampaignReportArgs, options: &CommonOptions) -> Result<Answer, Failure> {
    let campaign = opened(&args.folder, options)?;
    let progress = CampaignProgress::read(&campaign)?;
    if args.html {
        if options.json {
            return Err(usage("--html", "a page is no JSON: leave out one of --html and --json").into());
        }
        let page = campaign::page(&campaign, &progress)?;
        return Ok(Answer { raw: Some(page.into_bytes()), ..Answer::for_people("") });
    }
    let (mut text, mut reports, mut unreported) = (String::new(), Vec::new(), Vec::new());
    for (index, last) in progress.last_attempts(&campaign)?.into_iter().enumerate() {
        if let Some(attempt) = last {
            text.push_str(&line(&attempt, progress.state(index)));
            reports.push(attempt.into());
        } else {
            let name = campaign.workspace(index)?.name;
            let _ = writeln!(text, "unreported     {}", styled(NAME, one_line(&name)));
            unreported.push(name);
        }
    }
    let campaign = campaign.manifest.id.clone();
    let json = CampaignReportJson { success: true, campaign, reports, unreported };
    Ok(Answer::new(&json, text)?.paged())
}

fn line(attempt: &Attempt, state: WorkspaceState) -> String {
    let mut line = format!("{:14} {}", state.words(), styled(NAME, one_line(&attempt.name)));
    if let Some(id) = &attempt.transaction_id {
        let _ = write!(line, "  {id}");
    }
    if let Some(code) = &attempt.error_code {
        let _ = write!(line, "  {code}: {}", one_line(attempt.error.as_deref().unwrap_or_default()));
    }
    line + "\n"
}

pub(super) fn pending(args: &CampaignPendingArgs, options: &CommonOptions) -> Result<Answer, Failure> {
    let campaign = opened(&args.folder, options)?;
    let progress = CampaignProgress::read(&campaign)?;
    let is_due = |index: &usize| match progress.state(*index) {
        WorkspaceState::Unreported => true,
        WorkspaceState::Failed { retryable } => retryable && args.retryable,
        _ => false,
    };
    let workspaces: Vec<usize> = (0..campaign.count()).filter(is_due).collect();
    let text = workspaces.iter().fold(String::new(), |text, index| format!("{text}{index}\n"));
    Ok(Answer::new(&CampaignPendingJson { success: true, workspaces }, text)?)
}
