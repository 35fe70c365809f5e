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
use crate::replace::{Pattern, Query};
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
    options.refuse_workspace("a campaign names its workspaces by --workspaces")?;
    let read = |path: &Path| read(path, options);
    let mut workspaces = campaign::listed(&args.workspaces, |path| options.absolute(path), read)?;
    check_outside(&folder, &workspaces)?;
    if let Some(by) = &args.shard_by {
        let parts: Vec<_> = workspaces.iter().map(|one| campaign::shards_of(one, by, read)).collect::<Result<_>>()?;
        workspaces = parts.concat();
    }
    if let Some(check) = options.of_each_command().iter().find(|option| option.starts_with("--check=")) {
        check_command("--check", check, &workspaces)?;
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

/// Refuses a campaign in one of its workspaces: it would change itself.
fn check_outside(folder: &Path, workspaces: &[PlannedWorkspace]) -> Result<()> {
    let parent = folder.parent().and_then(records::real).unwrap_or_else(|| folder.to_owned());
    match workspaces.iter().find(|one| parent.starts_with(&one.root)) {
        Some(one) => {
            let message =
                format!("{} is in the workspace {}, which it would change: name one outside", shown(folder), one.name);
            Err(usage("NAME", message))
        }
        None => Ok(()),
    }
}

/// The name of the campaign: that of its folder.
fn name_of(folder: &Path) -> Result<&str> {
    let name = folder.file_name().and_then(|name| name.to_str()).filter(|name| {
        let is_plain = |c: char| c.is_alphanumeric() || "._-".contains(c);
        is_name(name) && name.len() <= NAME_BYTES && name.chars().all(is_plain) && !name.starts_with(['.', '-'])
    });
    name.ok_or_else(|| {
        let message = format!(
            "{} cannot be the name of a campaign: up to {NAME_BYTES} bytes of letters, digits, `.`, `_` and `-`, the first a letter or digit",
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
        if args.shard_by.is_some() {
            return Err(usage("--shard-by", "a command prints the whole plan of a workspace: it is not divided"));
        }
        check_command("--plan-command", command, workspaces)?;
        return Ok((CampaignAction::PlanCommand { command: command.clone() }, None));
    }
    if let Some([pattern, replacement]) = args.replace.as_deref() {
        let flag = |is: bool, name: &str| is.then(|| name.to_owned());
        let globs = args.globs.iter().map(|glob| Some(format!("--glob={glob}")));
        let flags = [flag(args.regex, "--regex"), flag(args.word, "--word")];
        let arguments = flags.into_iter().chain(globs).flatten().collect();
        let query = campaign::query_of(pattern, replacement, &workspaces[0]);
        Pattern::new(&Query { regex: args.regex, word: args.word, ..query })?;
        let (pattern, replacement) = (pattern.clone(), replacement.clone());
        return Ok((CampaignAction::Replace { pattern, replacement, arguments }, None));
    }
    let Some(command) = &args.run else { return Err(usage("--run", "a campaign has something to do")) };
    check_command("--run", command, workspaces)?;
    Ok((CampaignAction::Run { command: command.clone() }, None))
}

/// Refuses variables in a command: a shell would read their values, and whoever names a folder would run commands.
fn check_command(option: &str, command: &str, workspaces: &[PlannedWorkspace]) -> Result<()> {
    if command.trim().is_empty() {
        return Err(usage(option, "is empty, and would do nothing: give a command"));
    }
    let Some(name) = campaign::variable_in(command, &workspaces[0]) else { return Ok(()) };
    let variable = match &*name {
        "workspace" => "TXEDIT_WORKSPACE".to_owned(),
        "root" => "PWD".to_owned(),
        name => format!("TXEDIT_VAR_{name}"),
    };
    let message = format!("a shell would read the value of {{{{{name}}}}}: write \"${variable}\" in a command");
    Err(usage(option, message))
}

/// Reads the plan as each workspace will; what is wrong is told now, and not by each of them.
fn check_plan(plan: &[u8], path: &Path, workspaces: &[PlannedWorkspace]) -> Result<()> {
    let has_command =
        serde_json::from_slice::<serde_json::Value>(plan).ok().and_then(|plan| Some(plan.get("check")?.to_string()));
    if let Some(check) = has_command {
        check_command("check", &check, workspaces)?;
    }
    if plan.trim_ascii().is_empty() {
        return Err(usage("--plan", format!("{} is empty", shown(path))));
    }
    if !dialect::may_be_plan(plan) || dialect::detect(plan).is_some() {
        let message = format!("{} is no plan, a JSON object with `files`: a patch is given with --patch", shown(path));
        return Err(Error::new(ErrorKind::PatchParseFailed, message).at(path));
    }
    let mut is_for_any = false;
    for workspace in workspaces {
        let Some(part) = campaign::plan_of(plan, workspace)? else { continue };
        is_for_any = true;
        let parsed = wire::request::parse(&part).and_then(|request| request.into_request(PathRule::AbsoluteOrRelative));
        let request =
            parsed.map_err(|error| error.reworded(|why| format!("the plan for {}: {why}", workspace.name)))?;
        if request.dry_run || request.idempotency_key.is_some() {
            let message = "a campaign makes the change, once: leave dry_run and idempotency_key out of the plan";
            return Err(usage("--plan", message));
        }
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
