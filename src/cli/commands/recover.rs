//! `txedit recover [ID]`.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::{kept, status};
use crate::cli::args::{DecisionArgs, RecoverArgs};
use crate::cli::failure::Failure;
use crate::cli::options::CommonOptions;
use crate::cli::output::{self, Answer, BAD, HEADING, NAME, styled};
use crate::cli::{exit, ids, next_step, signals};
use crate::engine::ids::IdScope;
use crate::engine::report::{InterruptedFile, Recovered, RecoveryAction, RecoveryReason};
use crate::engine::{Decision, RecoverOptions, Run};
use crate::error::Result;
use crate::journal::JournalState;
use crate::journal::recover::Class;
use crate::path::one_line;
use crate::wire::hints::with_steps;
use crate::wire::{self, history::Recovery};

pub(super) fn run(args: &RecoverArgs, options: &CommonOptions) -> Result<Answer, Failure> {
    let engine = options.engine()?;
    let id = ids::meant_if_any(args.id.as_deref(), IdScope::Interrupted, &engine)?;
    let id = id.as_deref();
    let how = RecoverOptions {
        decision: decision(&args.decision),
        plan_only: args.plan,
        trust_journal: args.trust_journal,
        other_host: args.other_host,
    };
    if args.plan {
        let plan = engine.recover(id, how)?;
        return Ok(answer(&plan, &plan, Vec::new(), args)?);
    }
    // A recovery can be interrupted and started again at any point; but a user who runs it wants it finished.
    let _deferred = signals::cancel_token()?;
    let mut plan: Vec<Recovered> = Vec::new();
    let done = engine.recover_with(id, how, &mut |planned| {
        // The plan is printed before it is carried out, so it is not part of the answer for people.
        if !options.quiet && !options.json {
            output::note(format!("{} {}", styled(HEADING, "plan:"), describe(planned, true).trim_end()));
        }
        // If another program keeps writing, a transaction is planned again; the last plan was carried out.
        plan.retain(|earlier| earlier.id != planned.id);
        plan.push(planned.clone());
    })?;
    let left = engine.close_committed(Run::default())?;
    Ok(answer(&plan, &done, left, args)?)
}

fn decision(args: &DecisionArgs) -> Decision {
    match (args.forward, args.back, args.discard) {
        (true, _, _) => Decision::Forward,
        (_, true, _) => Decision::Back,
        (_, _, true) => Decision::Discard,
        _ => Decision::Table,
    }
}

fn answer(plan: &[Recovered], done: &[Recovered], opened: Vec<String>, args: &RecoverArgs) -> Result<Answer> {
    let plan_only = args.plan;
    let mut text: String = done.iter().map(|one| describe(one, plan_only)).collect();
    if done.is_empty() && opened.is_empty() {
        text.push_str("nothing to recover\n");
    }
    for rest in &opened {
        let _ =
            writeln!(text, "{} is open: what is left of a transaction that was committed in part", styled(NAME, rest));
    }
    // A user who names a transaction wants it finished.
    let is_open = |one: &Recovered| {
        let is_left = !plan_only && args.id.is_some() && one.action == RecoveryAction::Left;
        let is_partly = matches!(one.action, RecoveryAction::PartlyCommitted | RecoveryAction::PartlyRolledBack);
        one.required || is_left || is_partly
    };
    // Another process has it in hand: a user who named it has waited in vain.
    let is_running = |one: &Recovered| !plan_only && args.id.is_some() && one.action == RecoveryAction::Running;
    let status = if done.iter().any(is_open) {
        exit::RECOVERY_REQUIRED
    } else if done.iter().any(is_running) {
        exit::LOCK_TIMEOUT
    } else {
        exit::DONE
    };
    let views = |some: &[Recovered]| Recovery::new(some, next_step::words).recovered;
    let json = RecoverJson { success: true, plan: views(plan), recovered: (!plan_only).then(|| views(done)), opened };
    let acted =
        done.iter().filter(|one| !plan_only && !matches!(one.action, RecoveryAction::Left | RecoveryAction::Running));
    let acted: Vec<_> = acted.map(|one| format!("{} {}", one.action.as_str().replace('_', " "), one.id)).collect();
    let acted = (!acted.is_empty()).then(|| acted.join(", "));
    Ok(Answer::new(&json, text)?.exiting(status).having_done(acted))
}

/// The plan, and what was done.
#[derive(Serialize, JsonSchema)]
pub(super) struct RecoverJson {
    success: bool,
    plan: Vec<wire::history::RecoveredJson>,
    /// Absent if nothing was to be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    recovered: Option<Vec<wire::history::RecoveredJson>>,
    /// The open transactions that are left of others, which were committed in part and not closed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    opened: Vec<String>,
}

/// Returns whether the file does not become old when a recovery goes back from the state in which it was found. What is
/// on top after a check is set aside, and the original goes back.
fn stays_new(file: &InterruptedFile, why: &RecoveryReason) -> bool {
    let after_check =
        matches!(why, RecoveryReason::Interrupted { journal_state: JournalState::Check | JournalState::CheckUndo, .. });
    matches!(file.class, Some(Class::OnTop | Class::PutBack)) && !after_check
}

/// Returns whether the file does not become new when a recovery goes forward.
fn stays_old(file: &InterruptedFile) -> bool {
    matches!(
        file.class,
        Some(Class::Before | Class::Torn | Class::OnTop | Class::PutBack | Class::Theirs | Class::Unknown)
    )
}

fn describe(one: &Recovered, plan_only: bool) -> String {
    let planned = match one.action {
        RecoveryAction::Forward if one.files.iter().any(stays_old) => "will be finished, and some files are not new",
        RecoveryAction::Forward => "will be finished, all files new",
        // Its remarks name what cannot go back.
        RecoveryAction::Back if !one.remarks.is_empty() || one.files.iter().any(|file| stays_new(file, &one.why)) => {
            "will be rolled back, and some files are not old"
        }
        RecoveryAction::Back => "will be rolled back, all files old",
        RecoveryAction::Drop => "will be dropped, nothing was changed",
        RecoveryAction::Discard => "will be moved to kept/, files as they are",
        RecoveryAction::Running => "is running",
        RecoveryAction::Left | RecoveryAction::Wait => "will be left as it is",
        other => other.as_str(),
    };
    let action = if plan_only { planned.to_owned() } else { one.action.as_str().replace('_', " ") };
    let reason = with_steps(&one.reason(), &one.next_steps, next_step::words);
    let mut text = format!("{} {action}: {}\n", styled(NAME, &one.id), one_line(&reason));
    status::push_classes(&mut text, &one.files);
    for content in &one.kept {
        kept::push_content(&mut text, content);
    }
    if one.required && !matches!(one.why, RecoveryReason::NotObserved { .. }) {
        let _ = writeln!(text, "  {}", styled(BAD, "you must decide"));
    }
    text
}
