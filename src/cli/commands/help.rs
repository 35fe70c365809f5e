//! `txedit help [TOPIC|COMMAND]`.

use clap::CommandFactory;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::args::{CommandLine, HelpArgs};
use crate::cli::failure::Failure;
use crate::cli::options::usage;
use crate::cli::output::Answer;
use crate::cli::topics::{TOPICS, Topic, plain};
use crate::error::{Error, Result};

pub(super) fn run(args: &HelpArgs) -> Result<Answer, Failure> {
    let topic = if let [name] = &args.subject[..] { Topic::named(name) } else { None };
    let text = topic.map_or_else(|| of_command(&args.subject), |topic| Ok(plain::render(topic)))?;
    let plain = anstream::adapter::strip_str(&text).to_string();
    Ok(Answer::new(&HelpJson { success: true, subject: args.subject.join(" "), text: plain }, text)?)
}

/// The answer for scripts.
#[derive(Serialize, JsonSchema)]
pub(super) struct HelpJson {
    success: bool,
    /// The topic or the command.
    subject: String,
    text: String,
}

/// The help of a command, as `--help` prints it.
fn of_command(path: &[String]) -> Result<String> {
    let mut whole = CommandLine::command();
    whole.build();
    let mut command = &mut whole;
    for name in path {
        command = command.find_subcommand_mut(name).ok_or_else(|| unknown(path))?;
    }
    Ok(command.render_help().ansi().to_string())
}

fn unknown(path: &[String]) -> Error {
    let topics: Vec<&str> = TOPICS.iter().map(|topic| topic.name).collect();
    let asked = path.join(" ");
    usage("help", format!("{asked:?} is neither a topic ({}) nor a command: see `txedit --help`", topics.join(", ")))
}
