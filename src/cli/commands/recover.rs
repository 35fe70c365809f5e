//! `txedit recover [ID]`.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde::Serialize;

use super::{kept, status};
use crate::cli::args::{DecisionArgs, RecoverArgs};
use crate::cli::failure::Failure;
use crate::cli::options::Options;
use crate::cli::output::{self, Answer, BAD, HEADING, NAME, styled};
use crate::cli::{exit, signals};
use crate::engine::report::{Recovered, RecoveryAction};
use crate::engine::{Decision, RecoverOptions};
use crate::error::Result;
use crate::path::one_line;
use crate::wire::{self, history::Recovery};

pub(super) fn run(args: &RecoverArgs, options: &Options) -> Result<Answer, Failure> {
    let engine = options.engine()?;
    let id = args.id.as_deref();
    let how = RecoverOptions {
        decision: decision(&args.decision),
        plan_only: true,
        trust_journal: args.trust_journal,
        other_host: args.other_host,
    };
    let plan = match engine.recover(id, how) {
        // What fails here fails again below, where the others are recovered all the same.
        Err(_) if !args.plan && id.is_none() => Vec::new(),
        plan => plan?,
    };
    if args.plan {
        return Ok(answer(&plan, &plan, args)?);
    }
    // The plan comes before the deed, so it is not part of the answer for people.
    if !options.quiet && !options.json {
        for one in &plan {
            output::note(format!("{} {}", styled(HEADING, "plan:"), describe(one, true).trim_end()));
        }
    }
    // A recovery can be cut off and begun again at any point; but whoever runs it wants to have it behind them.
    let _deferred = signals::cancel_token()?;
    let done = engine.recover(id, RecoverOptions { plan_only: false, ..how })?;
    Ok(answer(&plan, &done, args)?)
}

fn decision(args: &DecisionArgs) -> Decision {
    match (args.forward, args.back, args.discard) {
        (true, _, _) => Decision::Forward,
        (_, true, _) => Decision::Back,
        (_, _, true) => Decision::Discard,
        _ => Decision::Table,
    }
}

fn answer(plan: &[Recovered], done: &[Recovered], args: &RecoverArgs) -> Result<Answer> {
    let plan_only = args.plan;
    let mut text: String = done.iter().map(|one| describe(one, plan_only)).collect();
    if done.is_empty() {
        text.push_str("nothing to recover\n");
    }
    // Who names one wants it ended. Of a journal that is trusted the plan has promised that all is old.
    let is_open = |one: &Recovered| {
        let is_left = !plan_only && args.id.is_some() && one.action == RecoveryAction::Left;
        let is_partly = match one.action {
            RecoveryAction::PartlyCommitted => true,
            RecoveryAction::PartlyRolledBack => args.trust_journal,
            _ => false,
        };
        one.required || is_left || is_partly
    };
    let status = if done.iter().any(is_open) { exit::RECOVERY_REQUIRED } else { exit::DONE };
    let views = |some: &[Recovered]| Recovery::from(some).recovered;
    let json = View { success: true, plan: views(plan), recovered: (!plan_only).then(|| views(done)) };
    let acted =
        done.iter().filter(|one| !plan_only && !matches!(one.action, RecoveryAction::Left | RecoveryAction::Running));
    let acted: Vec<_> = acted.map(|one| format!("{} {}", one.action.as_str().replace('_', " "), one.id)).collect();
    let acted = (!acted.is_empty()).then(|| acted.join(", "));
    Ok(Answer::new(&json, text)?.exiting(status).having_done(acted))
}

/// What would be done, and what was.
#[derive(Serialize)]
struct View {
    success: bool,
    plan: Vec<wire::history::Recovered>,
    /// Absent where nothing was to be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    recovered: Option<Vec<wire::history::Recovered>>,
}

/// Whether a file of this class stays what it is where a recovery goes forward.
fn is_not_new((_, class): &(PathBuf, String)) -> bool {
    matches!(class.as_str(), "before" | "torn" | "on top" | "unknown")
}

fn describe(one: &Recovered, plan_only: bool) -> String {
    let planned = match one.action {
        RecoveryAction::Forward if one.files.iter().any(is_not_new) => "will be finished, and some files are not new",
        RecoveryAction::Forward => "will be finished, all files new",
        RecoveryAction::Back => "will be taken back, all files old",
        RecoveryAction::Drop => "will be dropped, nothing was changed",
        RecoveryAction::Discard => "will be put aside, files as they are",
        RecoveryAction::Running => "is at work",
        RecoveryAction::Left | RecoveryAction::Wait => "will be left as it is",
        other => other.as_str(),
    };
    let action = if plan_only { planned.to_owned() } else { one.action.as_str().replace('_', " ") };
    let mut text = format!("{} {action}: {}\n", styled(NAME, &one.id), one_line(&one.reason));
    status::push_files(&mut text, &one.files);
    for content in &one.kept {
        kept::push_content(&mut text, content);
    }
    if one.required {
        let _ = write!(text, "  {}", styled(BAD, "you must decide"));
        // Where there is less to choose from, the reason says what.
        if one.action == RecoveryAction::Wait {
            let _ = write!(text, ": `txedit recover {} --forward`, `--back` or `--discard`", one.id);
        }
        text.push('\n');
    }
    text
}
