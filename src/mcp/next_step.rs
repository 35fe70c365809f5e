//! Words the next steps for an agent: a tool, or a question to the person who has a shell.

use crate::error::{Correction, NextStep};
use crate::path::shown;

/// A step as a clause.
pub(super) fn words(step: &NextStep) -> String {
    match step {
        NextStep::Recover { id } => recover(id.as_deref()),
        NextStep::Decide { id, can_finish } => {
            let forward = if *can_finish { "--forward, " } else { "" };
            format!("{}, and to decide: {forward}--back or --discard", ask(&format!("recover {id}")))
        }
        NextStep::Mend { id } => format!("mend that, or ask the user to; then {}", ask(&format!("recover {id}"))),
        NextStep::Discard { id } => format!("{}, which keeps its contents", ask(&format!("recover {id} --discard"))),
        NextStep::TrustJournal { id } => {
            format!("{}, if its journal can be trusted", ask(&format!("recover {id} --trust-journal")))
        }
        NextStep::OtherHost { id } => {
            format!("{}, if that machine is down", ask(&format!("recover {id} --other-host")))
        }
        NextStep::MoveBack { id, place } => {
            let move_back = format!("ask the user to move it back to {}, if it was moved", shown(place));
            format!("{move_back}; then {}", ask(&format!("recover {id}")))
        }
        NextStep::Status => format!("{}, which lists what is interrupted, open and kept", ask("status")),
        NextStep::Log => "call list_transactions, and give the transaction_id that is meant".to_owned(),
        NextStep::UndoFirst { id } => format!("call undo_transaction with transaction_id \"{id}\" first"),
        NextStep::Redo { undo, .. } => {
            format!("to redo it, call undo_transaction with transaction_id \"{undo}\", its undo")
        }
        NextStep::RollBack { id } => {
            format!("it is open: drop it with rollback_transaction, transaction_id \"{id}\"")
        }
        NextStep::ListKept => ask("kept list"),
        NextStep::DropKept { id } => ask(&format!("kept drop {id}")),
        NextStep::TakeByHand { id, kept } => {
            let move_back = format!("ask the user to move or copy what is wanted from {}", shown(kept));
            format!("{move_back}; then {}", ask(&format!("kept drop {id}")))
        }
        NextStep::Doctor => format!("{}, which says what the file system lacks", ask("doctor")),
        NextStep::ProcessOnly => "ask the user to start the server with --durability process".to_owned(),
        NextStep::SwapAside => "ask the user to start the server with --swap aside".to_owned(),
        NextStep::UserState => {
            "ask the user to start the server with XDG_STATE_HOME set to a folder that it can write to".to_owned()
        }
        NextStep::CheckInTree => "ask the user to start the server with --check-in tree".to_owned(),
        NextStep::CheckInView => "ask the user to start the server with --check-in view".to_owned(),
        NextStep::Overwrite => {
            "where only its content or its mode changes, ask the user to start the server with --swap in-place"
                .to_owned()
        }
        NextStep::RunAgain => "call run_command again: the program then works on what the others have left".to_owned(),
        NextStep::AllowSetId => "ask the user to start the server with --allow-set-id".to_owned(),
        NextStep::AllowVcs => "ask the user to start the server with --allow-vcs".to_owned(),
        NextStep::Correct(correction) => corrected(correction),
        NextStep::PreviewAgain | NextStep::ReviewAgain { .. } => {
            "call preview_transaction again, then commit with its plan_hash".to_owned()
        }
        NextStep::DryRunAgain => "call it again with dry_run, and look at the diff".to_owned(),
        NextStep::StageAgain { id } => format!(
            "transaction {id} is still open: call rollback_transaction, read the files, and stage the edits again"
        ),
        NextStep::CommitAgain { id } => format!(
            "transaction {id} is still open: mend what the message names and call commit_transaction again, or call \
             rollback_transaction and stage other edits"
        ),
        NextStep::HearDecision { id } => {
            format!("{}, and send the same call again to hear what they decided", ask(&format!("review {id}")))
        }
        NextStep::In { root, step } => {
            words(step).replace("` in the workspace", &format!("` in the workspace {}", shown(root)))
        }
    }
}

fn corrected(correction: &Correction) -> String {
    match correction {
        Correction::SendSuggestion => "send `context.suggestion` as old_string".to_owned(),
        Correction::SendCorrected => {
            "send `context.suggestion` as old_string, and correct new_string in the same way".to_owned()
        }
        Correction::SendNearest => {
            "if that is the place, send `context.nearest_old_string`, and new_string fitted to it; else read the file"
                .to_owned()
        }
        Correction::SendUnique => {
            "send the place's `unique_old_string` as old_string, what it adds in new_string as well; or replace_all: true"
                .to_owned()
        }
        Correction::SearchOther => {
            "correct `include` and `exclude`, whose globs are relative to the root (`*.rs` is one of every folder); ignored \
             and hidden files are not searched"
                .to_owned()
        }
        Correction::NarrowSearch => {
            "search fewer files with `include` and `exclude`, or send a higher `max_files`".to_owned()
        }
        Correction::WriteFewer => {
            "have the command write fewer files; whoever starts txedit can let folders be real (`through`)".to_owned()
        }
        Correction::LeaveOut => "new_string is there already: leave the edit out, if that is all".to_owned(),
        Correction::AfterEdit { edit } => {
            format!("send an old_string that fits what edits[{edit}] leaves, or put this edit in front of it")
        }
        Correction::AfterStaged => {
            "send an old_string that fits what is staged, which preview_transaction shows".to_owned()
        }
        Correction::InFile { file } => format!("move the edit to files[{file}], which has the text"),
        Correction::NameEncoding => {
            "if the file is text, send its `encoding` with the edits, like \"windows-1252\" or \"utf-16le\"".to_owned()
        }
        Correction::EncodingOfMark => "send the edits without `encoding`: the mark of the file says it".to_owned(),
        Correction::WithoutCharacter { character } => {
            format!("send new_string without U+{:04X}, or convert the file to UTF-8 first", u32::from(*character))
        }
        Correction::WithoutNul => "send new_string without U+0000".to_owned(),
        Correction::WholeContent => {
            "leave the file out, or write it whole: multi_edit_files with `content` and if_exists: \"replace\"".to_owned()
        }
        Correction::AwayFromBytes => {
            "send edits that leave those bytes and what is next to them alone, or the whole `content`".to_owned()
        }
        Correction::WithoutMark => {
            "begin `content` with other characters, or send the `encoding` whose mark they are".to_owned()
        }
        Correction::InUtf8 => "send the new text in UTF-8".to_owned(),
        Correction::NoEncodingHere => {
            "leave the file out, or edit it with multi_edit or multi_edit_files, which take an `encoding`".to_owned()
        }
        Correction::ByHand => "edit the files in `conflicts` by hand: read them, and change what is wanted".to_owned(),
        Correction::Rebase => {
            "call undo_transaction with rebase: true, which keeps what changed in other lines".to_owned()
        }
        Correction::OneCallEach => "send one call for each workspace".to_owned(),
        Correction::RestoreRoot => {
            "ask the user to put the root folder back, or to start the server where it is now".to_owned()
        }
        Correction::Force => "give if_exists: \"replace\", or choose another path".to_owned(),
        Correction::AllCallers => {
            "call undo_transaction with all_callers: true, which undoes those of other connections, too".to_owned()
        }
    }
}

fn recover(id: Option<&str>) -> String {
    let (what, command) = match id {
        None => ("what is interrupted".to_owned(), "recover".to_owned()),
        Some(id) => (format!("transaction {id}"), format!("recover {id}")),
    };
    format!("send the call again, which recovers {what} first; if it fails, {}", ask(&command))
}

/// No tool does this, so a person must.
fn ask(command: &str) -> String {
    format!("ask the user to run `txedit {command}` in the workspace")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_in_another_workspace_names_it() {
        let id = || "20260101T120000Z-0123456789ab".to_owned();
        for step in [
            NextStep::Recover { id: Some(id()) },
            NextStep::Decide { id: id(), can_finish: true },
            NextStep::Mend { id: id() },
            NextStep::Discard { id: id() },
            NextStep::TrustJournal { id: id() },
            NextStep::OtherHost { id: id() },
        ] {
            let here = words(&step);
            let there = words(&NextStep::In { root: "/w/above".into(), step: Box::new(step) });
            assert!(there.contains("` in the workspace /w/above") && !here.contains("/w/above"), "{there}");
        }
    }
}
