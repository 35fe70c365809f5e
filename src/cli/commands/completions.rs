//! `txedit completions SHELL`.

use clap::{Command, CommandFactory};
use serde_json::json;

use crate::cli::args::{CommandLine, CompletionsArgs};
use crate::cli::failure::Failure;
use crate::cli::output::Answer;
use crate::error::Result;

pub(super) fn run(args: &CompletionsArgs) -> Result<Answer, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut visible(), "txedit", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    Ok(Answer::new(&json!({"shell": args.shell.to_string(), "script": script}), script)?)
}

/// The command line without hidden commands, which the scripts of some shells would offer.
fn visible() -> Command {
    let whole = CommandLine::command();
    let commands: Vec<_> = whole.get_subcommands().filter(|command| !command.is_hide_set()).cloned().collect();
    Command::new("txedit").disable_help_subcommand(true).args(whole.get_arguments().cloned()).subcommands(commands)
}
