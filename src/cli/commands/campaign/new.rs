//! `txedit campaign new`.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use crate::campaign::{self, Campaign, CampaignAction, Manifest, PlannedWorkspace};
use crate::cli::args::CampaignNewArgs;
use crate::cli::failure::Failure;
use crate::cli::options::{CommonOptions, usage};
use crate::cli::output::{Answer, NAME, count, styled};
use crate::dialect::{self, Patch};
use crate::error::{Error, ErrorKind, Result};
use crate::fs::{input, records};
use crate::limits;
use crate::path::shown;
use crate::request::validate::{PathRule, is_name};
use crate::wire;

/// The most bytes of a campaign's name: the id has some more, and a key the digits of a shard.
const NAME_BYTES: usize = 64;

/// The answer of `campaign new`.
#[derive(Serialize, JsonSchema)]
pub(in super::super) struct CampaignPlannedJson {
    success: bool,
    /// The id of the campaign: in the journals of all its transactions.
    campaign: String,
    folder: PathBuf,
    /// The number of workspaces, or of their parts.
    planned: usize,
}

pub(super) fn run(args: &CampaignNewArgs, options: &CommonOptions) -> Result<Answer, Failure> {
    let folder = options.absolute(&args.name);
    let name = name_of(&folder)?;
    let read = |path: &Path| read(path, options);
    let mut workspaces = campaign::listed(&args.workspaces, &options.current, read)?;
    if let Some(by) = &args.shard_by {
        let parts: Vec<_> = workspaces.iter().map(|one| campaign::shards_of(one, by, read)).collect::<Result<_>>()?;
        workspaces = parts.concat();
    }
    let (action, plan) = action(args, &workspaces, options)?;
    let id = format!("{name}-{}", records::random_name());
    let manifest = Manifest::new(id.clone(), workspaces.len(), action, options.of_each_command());
    Campaign::create(&folder, &manifest, &workspaces, plan.as_deref())?;
    let planned = workspaces.len();
    let text = format!(
        "planned {}: {}, in {}\n",
        styled(NAME, &id),
        count(planned, "workspace"),
        shown(options.shown(&folder))
    );
    let json = CampaignPlannedJson { success: true, campaign: id.clone(), folder, planned };
    Ok(Answer::new(&json, text)?.having_done(Some(format!("planned {id}"))))
}

/// The name of the campaign: that of its folder.
fn name_of(folder: &Path) -> Result<&str> {
    let name = folder.file_name().and_then(|name| name.to_str()).filter(|name| {
        is_name(name) && name.len() <= NAME_BYTES && !name.starts_with('.') && !name.contains(char::is_whitespace)
    });
    name.ok_or_else(|| {
        let message = format!(
            "{} cannot be the name of a campaign: it has up to {NAME_BYTES} bytes, no white space, and no dot in front",
            shown(folder)
        );
        usage("NAME", message)
    })
}

fn read(path: &Path, options: &CommonOptions) -> Result<Vec<u8>> {
    if path.as_os_str() == "-" {
        input::read_stdin(limits::REQUEST_BYTES)
    } else {
        input::read_file(&options.absolute(path), limits::REQUEST_BYTES)
    }
}

/// What is done in each workspace, and the plan or patch that is kept for it.
fn action(
    args: &CampaignNewArgs,
    workspaces: &[PlannedWorkspace],
    options: &CommonOptions,
) -> Result<(CampaignAction, Option<Vec<u8>>)> {
    if args.replace.is_none() && (args.regex || args.word || !args.globs.is_empty()) {
        return Err(usage("--replace", "--regex, --word and --glob say how --replace searches, which is not there"));
    }
    if let Some(path) = &args.plan {
        let plan = read(path, options)?;
        check_plan(&plan, path, workspaces)?;
        return Ok((CampaignAction::Apply { template: true }, Some(plan)));
    }
    if let Some(path) = &args.patch {
        let patch = read(path, options)?;
        if dialect::detect(&patch).is_none() {
            let message = format!("{} is no patch that is known: a plan is given with --plan", shown(path));
            return Err(Error::new(ErrorKind::PatchParseFailed, message).at(path));
        }
        Patch::read(&patch, None, None)?;
        return Ok((CampaignAction::Apply { template: false }, Some(patch)));
    }
    if let Some(command) = &args.plan_command {
        return Ok((CampaignAction::PlanCommand { command: command.clone() }, None));
    }
    if let Some([pattern, replacement]) = args.replace.as_deref() {
        let flag = |is: bool, name: &str| is.then(|| name.to_owned());
        let globs = args.globs.iter().map(|glob| Some(format!("--glob={glob}")));
        let flags = [flag(args.regex, "--regex"), flag(args.word, "--word")];
        let arguments = flags.into_iter().chain(globs).flatten().collect();
        let (pattern, replacement) = (pattern.clone(), replacement.clone());
        return Ok((CampaignAction::Replace { pattern, replacement, arguments }, None));
    }
    let Some(command) = &args.run else { return Err(usage("--run", "a campaign has something to do")) };
    Ok((CampaignAction::Run { command: command.clone() }, None))
}

/// Reads the plan as each workspace will; what is wrong is told now, and not by each of them.
fn check_plan(plan: &[u8], path: &Path, workspaces: &[PlannedWorkspace]) -> Result<()> {
    if !dialect::may_be_plan(plan) || dialect::detect(plan).is_some() {
        let message = format!("{} is no plan, a JSON object with `files`: a patch is given with --patch", shown(path));
        return Err(Error::new(ErrorKind::PatchParseFailed, message).at(path));
    }
    let mut is_for_any = false;
    for workspace in workspaces {
        let Some(part) = campaign::plan_of(plan, workspace)? else { continue };
        is_for_any = true;
        let parsed = wire::request::parse(&part).and_then(|request| request.into_request(PathRule::AbsoluteOrRelative));
        parsed.map_err(|error| error.reworded(|why| format!("the plan for {}: {why}", workspace.name)))?;
        if workspace.vars.is_empty() && workspace.paths.is_empty() {
            break;
        }
    }
    if is_for_any {
        return Ok(());
    }
    let message = "no file of the plan is in any of the parts: paths in a plan start at the root of the workspace";
    Err(usage("--shard-by", message))
}
