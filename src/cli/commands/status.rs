//! `txedit status`.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::kept;
use crate::cli::failure::Failure;
use crate::cli::options::CommonOptions;
use crate::cli::output::{Answer, BAD, GOOD, NAME, styled};
use crate::cli::report::warning_of;
use crate::cli::{exit, next_step};
use crate::engine::report::{Interrupted, InterruptedFile, OpenTransaction, RecoveryAction, RecoveryReason, Status};
use crate::error::Result;
use crate::journal::recover::Class;
use crate::path::{one_line, shown};
use crate::wire::hints::with_steps;
use crate::wire::history;

pub(super) fn run(options: &CommonOptions) -> Result<Answer, Failure> {
    let mut status = options.engine()?.status()?;
    status.warnings.extend(options.settings_warnings()?);
    let text = for_people(&status);
    let notes = status.warnings.iter().map(|warning| warning_of(warning));
    let notes: Vec<String> = notes.collect();
    let waits = status.interrupted.iter().any(|one| one.action == RecoveryAction::Wait)
        || !status.unreadable.is_empty()
        || status.is_ignored;
    let exit = if waits { exit::RECOVERY_REQUIRED } else { exit::DONE };
    Ok(Answer::new(&history::StatusJson::new(&status, next_step::words), text)?.noting(notes).exiting(exit))
}

fn for_people(status: &Status) -> String {
    let mut text = String::new();
    for one in &status.interrupted {
        push(&mut text, one);
    }
    for one in &status.open {
        push_open(&mut text, one);
    }
    for one in &status.kept {
        kept::push(&mut text, one);
    }
    for one in &status.unreadable {
        let reason = with_steps(&one.reason, &one.next_steps, next_step::words);
        let (id, reason) = (styled(NAME, &one.id), one_line(&reason));
        let _ = writeln!(text, "in history {id}\n  {}: {reason}", styled(BAD, "you must decide"));
    }
    if status.is_ignored {
        let _ = writeln!(text, "{}", styled(BAD, "interrupted transactions were not looked for"));
    } else if status.interrupted.is_empty() {
        let _ = writeln!(text, "{}", styled(GOOD, "no interrupted transactions"));
    }
    text
}

fn push(text: &mut String, one: &Interrupted) {
    let state = if one.running { "running" } else { "interrupted" };
    let id = styled(NAME, &one.id);
    let _ = write!(text, "{state} {id}");
    if !one.owner.is_empty() {
        let _ = write!(text, " by {}", one_line(&one.owner));
    }
    let action = match one.action {
        RecoveryAction::Forward => "the next writing command finishes it".to_owned(),
        RecoveryAction::Back => "the next writing command rolls it back".to_owned(),
        RecoveryAction::Drop => "nothing was changed; the next writing command discards it".to_owned(),
        RecoveryAction::Leave => "it is left alone".to_owned(),
        _ if matches!(one.why, RecoveryReason::NotObserved { .. }) => styled(BAD, "it waits").to_string(),
        RecoveryAction::Wait => styled(BAD, "you must decide").to_string(),
        other => other.to_string(),
    };
    let reason = with_steps(&one.reason(), &one.next_steps, next_step::words);
    let _ = writeln!(text, "\n  {action}: {}", one_line(&reason));
    push_classes(text, &one.files);
}

fn push_open(text: &mut String, one: &OpenTransaction) {
    let state = if one.is_expired { "expired" } else { "open" };
    let _ = writeln!(
        text,
        "{state} {} by {}, since {}, until {}",
        styled(NAME, &one.id),
        one_line(&one.owner),
        one.opened,
        one.expires
    );
    push_files(text, one.files.iter().map(|(path, kind)| (path, kind.as_str())));
}

/// Adds the files of an interrupted transaction, each with its class.
pub(super) fn push_classes(text: &mut String, files: &[InterruptedFile]) {
    push_files(text, files.iter().map(|file| (&file.path, file.class.map_or("", Class::as_str))));
}

/// Adds files, each with a word about it.
fn push_files<'a>(text: &mut String, files: impl Iterator<Item = (&'a PathBuf, &'a str)>) {
    for (path, word) in files {
        let _ = writeln!(text, "  {word:14}{}", shown(path));
    }
}
