//! `txedit completions SHELL`.

use clap::{Command, CommandFactory};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::args::{CommandLine, CompletionsArgs};
use crate::cli::failure::Failure;
use crate::cli::output::Answer;
use crate::error::Result;

pub(super) fn run(args: &CompletionsArgs) -> Result<Answer, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut visible(), "txedit", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    Ok(Answer::new(&CompletionsJson { success: true, shell: args.shell.to_string(), script: &script }, &*script)?)
}

/// The answer for scripts.
#[derive(Serialize, JsonSchema)]
pub(super) struct CompletionsJson<'a> {
    success: bool,
    shell: String,
    script: &'a str,
}

/// The command line without hidden commands, which the scripts of some shells would offer.
fn visible() -> Command {
    let whole = CommandLine::command();
    let commands: Vec<_> = whole.get_subcommands().filter(|command| !command.is_hide_set()).cloned().collect();
    Command::new("txedit").disable_help_subcommand(true).args(whole.get_arguments().cloned()).subcommands(commands)
}
