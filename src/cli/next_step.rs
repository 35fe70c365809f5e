//! Renders next steps as commands and flags.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::error::NextStep;
use crate::path::shown;

/// The root, if the user named it: without it, a command that an answer names would be about another workspace. Set at
/// most once, since a process runs one command line.
static NAMED_ROOT: OnceLock<PathBuf> = OnceLock::new();

/// Lets every command that is named from now on name this root.
pub(crate) fn name_root(root: &Path) {
    NAMED_ROOT.set(root.to_owned()).ok();
}

/// A step as a clause that names the command.
pub(crate) fn words(step: &NextStep) -> String {
    in_root(NAMED_ROOT.get().map(PathBuf::as_path), step)
}

/// The command that takes these arguments, in backticks.
pub(crate) fn command(arguments: &str) -> String {
    at(NAMED_ROOT.get().map(PathBuf::as_path), format!("`txedit {arguments}`"))
}

fn in_root(root: Option<&Path>, step: &NextStep) -> String {
    match step {
        NextStep::In { root, step } => in_root(Some(root), step),
        step => at(root, plain_words(step)),
    }
}

/// The text, with the root in each of its commands.
fn at(root: Option<&Path>, text: String) -> String {
    match root {
        None => text,
        Some(root) => text.replace("`txedit ", &format!("`txedit --root {} ", shell_word(root))),
    }
}

/// A path as a shell reads it back.
fn shell_word(path: &Path) -> String {
    let word = shown(path);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,".contains(c);
    if word.chars().all(is_plain) { word } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

fn plain_words(step: &NextStep) -> String {
    match step {
        NextStep::Recover { id: None } => "recover it with `txedit recover`".to_owned(),
        NextStep::Recover { id: Some(id) } => format!("recover it with `txedit recover {id}`"),
        NextStep::Decide { id, can_finish } => {
            // Each command by itself: a shell would take `--forward | --back` for a pipeline, and decide.
            let forward = if *can_finish { format!("`txedit recover {id} --forward`, ") } else { String::new() };
            format!("decide: {forward}`txedit recover {id} --back` or `txedit recover {id} --discard`")
        }
        NextStep::Discard { id } => {
            format!("discard it with `txedit recover {id} --discard`, which keeps its contents")
        }
        NextStep::TrustJournal { id } => format!("if you know better, `txedit recover {id} --trust-journal`"),
        NextStep::OtherHost { id } => format!("if that machine is down, `txedit recover {id} --other-host`"),
        NextStep::MoveBack { id, place } => {
            format!("if it was moved, move it back to {}, then recover it with `txedit recover {id}`", shown(place))
        }
        NextStep::Status => "see what is interrupted or open with `txedit status`".to_owned(),
        NextStep::Log => "see what was committed with `txedit log`".to_owned(),
        NextStep::ListKept => "see what is kept with `txedit kept list`".to_owned(),
        NextStep::DropKept { id } => format!("delete it with `txedit kept drop {id}`"),
        NextStep::Doctor => "see what the file system lacks with `txedit doctor`".to_owned(),
        NextStep::AllowSetId => "allow it with --allow-set-id".to_owned(),
        NextStep::AllowVcs => "allow it with --allow-vcs".to_owned(),
        NextStep::SendSuggestion => "search for the text that would have matched (`suggestion` with --json)".to_owned(),
        NextStep::SendNearest => {
            "if it is the place that is meant, search for the nearest text (`nearest_old_string` with --json)".to_owned()
        }
        NextStep::SendUnique => {
            "search for more of the text, so that it is unique (`unique_old_string` with --json); or replace every match: \
             --all, in a plan replace_all"
                .to_owned()
        }
        NextStep::LeaveOut => "the new text is there already: leave the edit out, if that is all".to_owned(),
        NextStep::AfterEdit { edit } => {
            format!("search for the text that edit {} leaves, or put this edit in front of it", edit + 1)
        }
        NextStep::InFile { file } => format!("move the edit to file {} of the plan, which has the text", file + 1),
        NextStep::PreviewAgain => "look at a new preview (`txedit preview ID`), then commit with its hash".to_owned(),
        NextStep::StageAgain { id } => format!(
            "it is still open: drop it with `txedit rollback {id}`, read the files, and stage the edits again"
        ),
        NextStep::Rebase => "keep what changed in other lines with --rebase".to_owned(),
        // The command line undoes those of everybody.
        NextStep::AllCallers => "`txedit undo --since ID` undoes those of all".to_owned(),
        NextStep::In { .. } => unreachable!("its root is named around the step in it"),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::args::CommandLine;

    fn every_step() -> Vec<NextStep> {
        let id = || "20260101T120000Z-0123456789ab".to_owned();
        vec![
            NextStep::Recover { id: None },
            NextStep::Recover { id: Some(id()) },
            NextStep::Decide { id: id(), can_finish: true },
            NextStep::Decide { id: id(), can_finish: false },
            NextStep::Discard { id: id() },
            NextStep::TrustJournal { id: id() },
            NextStep::OtherHost { id: id() },
            NextStep::MoveBack { id: id(), place: "/w/.txedit/txn/x".into() },
            NextStep::Status,
            NextStep::Log,
            NextStep::ListKept,
            NextStep::DropKept { id: id() },
            NextStep::Doctor,
            NextStep::StageAgain { id: id() },
        ]
    }

    #[test]
    fn each_command_that_is_named_can_be_typed() {
        for step in every_step() {
            let words = in_root(Some(Path::new("/w")), &step);
            let elsewhere = NextStep::In { root: "/v".into(), step: Box::new(step) };
            assert_eq!(in_root(None, &elsewhere), words.replace("--root /w ", "--root /v "));
            assert_eq!(in_root(Some(Path::new("/w")), &elsewhere), in_root(None, &elsewhere));
            let commands: Vec<&str> = words.split('`').skip(1).step_by(2).collect();
            assert!(!commands.is_empty(), "{words}");
            for command in commands {
                assert!(
                    !command.contains(['|', ';', '&', '$', '<', '>']),
                    "a shell would make something else of {command}"
                );
                let parsed = CommandLine::try_parse_from(command.split(' '));
                assert!(parsed.is_ok(), "{command}: {parsed:?}");
            }
        }
    }

    #[test]
    fn a_root_is_one_word_of_a_shell() {
        let named = |root: &str| at(Some(Path::new(root)), "see `txedit status`".to_owned());
        assert_eq!(named("/w/a-b.c"), "see `txedit --root /w/a-b.c status`");
        assert_eq!(named("/w/it's here"), r"see `txedit --root '/w/it'\''s here' status`");
        assert_eq!(named("/w/$HOME"), "see `txedit --root '/w/$HOME' status`");
    }
}
