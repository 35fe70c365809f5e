//! Renders next steps as commands and flags.

use crate::error::NextStep;
use crate::path::shown;

/// A step as a clause that names the command.
pub(crate) fn words(step: &NextStep) -> String {
    match step {
        NextStep::Recover { id: None } => "recover it with `txedit recover`".to_owned(),
        NextStep::Recover { id: Some(id) } => format!("recover it with `txedit recover {id}`"),
        NextStep::Decide { id, can_finish } => {
            // Each command by itself: a shell would take `--forward | --back` for a pipeline, and decide.
            let forward = if *can_finish { format!("`txedit recover {id} --forward`, ") } else { String::new() };
            format!("decide: {forward}`txedit recover {id} --back` or `txedit recover {id} --discard`")
        }
        NextStep::Discard { id } => format!("put it aside with `txedit recover {id} --discard`"),
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
        ]
    }

    #[test]
    fn each_command_that_is_named_can_be_typed() {
        for step in every_step() {
            let words = words(&step);
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
}
