//! The command line: what is typed becomes one call of the engine, and its answer is printed once.
//!
//! `args` is what was typed; `options` is what every command needs of it, checked once. Each command is a file in
//! `commands` and returns an answer; only this module and `output` print.
//!
//! Architecture invariant: this is a front-end. It knows the engine and the wire types, but no other front-end, and
//! nothing in the library knows it. Only it reads the environment.

mod args;
mod commands;
mod config;
mod denied;
mod exit;
mod failure;
mod home;
mod ids;
mod next_step;
mod options;
mod output;
mod pager;
mod paths;
mod progress;
mod report;
mod review;
mod signals;
mod topics;

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::process::ExitCode;

use clap::error::ErrorKind as Misuse;

use args::CommandLine;
use failure::Failure;
use options::CommonOptions;
use output::Answer;

/// Runs the program: reads the arguments and the environment, and returns the exit status.
#[must_use]
pub fn main() -> ExitCode {
    // Before anything else: this may be the process that holds a view.
    crate::view::serve_views();
    // If this fails, the signal ends the program, and a recovery handles what it leaves.
    signals::survive_file_limits().ok();
    let words: Vec<OsString> = env::args_os().collect();
    let status = match args::parse(&words) {
        Ok(line) => run(&line),
        Err(misuse) => explain(&misuse, &words),
    };
    ExitCode::from(status)
}

fn run(line: &CommandLine) -> u8 {
    let config = config::read();
    let color = line.common.color.or(config.as_ref().ok().and_then(|config| config.color));
    output::choose_colors(color.unwrap_or_default());
    let options = match config.and_then(|config| CommonOptions::new(&line.common, &config)) {
        Ok(options) => options,
        Err(error) => return print_failure(&error.into(), line.common.json, None),
    };
    if let (Some(_), Ok(root)) = (&line.common.root, options.root()) {
        next_step::name_root(root);
    }
    match commands::run(&line.command, &options) {
        Ok(answer) => print_answer(&answer, &options),
        Err(failure) => print_failure(&failure, options.json, Some(&options)),
    }
}

fn print_answer(answer: &Answer, options: &CommonOptions) -> u8 {
    if !options.quiet {
        answer.notes.iter().for_each(output::note);
    }
    match (print_result(answer, options.json), &answer.done) {
        // The user must learn of a change even if its result cannot be written.
        (Err(error), Some(done)) => {
            output::note(format!("{done}, but the answer could not be written: {error}"));
            if answer.status == exit::DONE { exit::UNTOLD } else { answer.status }
        }
        (printed, _) => printed_or(answer.status, printed),
    }
}

fn print_result(answer: &Answer, json: bool) -> io::Result<()> {
    if json {
        return output::plain_result(&answer.json);
    }
    if answer.is_paged && output::is_seen() {
        let shown = answer.raw.clone().unwrap_or_else(|| output::as_printed(&answer.human));
        if pager::show(&shown) {
            return Ok(());
        }
    }
    match &answer.raw {
        Some(raw) => output::plain_result(raw),
        None => output::result(&answer.human),
    }
}

fn print_failure(failure: &Failure, json: bool, options: Option<&CommonOptions>) -> u8 {
    let status = exit::status(&failure.error);
    if !json {
        output::note(failure.for_people(options));
        return status;
    }
    match Answer::new(&failure.for_scripts(), "") {
        Ok(answer) => printed_or(status, output::plain_result(&answer.json)),
        Err(error) => printed_or(status, Err(io::Error::other(error.message()))),
    }
}

/// The status, unless the result could not be printed. A reader that closes the pipe is no failure.
fn printed_or(status: u8, printed: io::Result<()>) -> u8 {
    match printed {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            output::note(format!("cannot print the result: {error}"));
            if status == exit::DONE { exit::IO } else { status }
        }
        _ => status,
    }
}

/// Prints what the parser reports: help and version are results, anything else is a usage error.
fn explain(misuse: &clap::Error, words: &[OsString]) -> u8 {
    let text = misuse.render().ansi().to_string();
    if matches!(misuse.kind(), Misuse::DisplayHelp | Misuse::DisplayVersion) {
        return printed_or(exit::DONE, output::result(&text));
    }
    if asks_for_json(words, env::var_os("TXEDIT_JSON").as_deref()) {
        let plain = misuse.render().to_string();
        let message = plain.trim_start_matches("error: ").split("\n\n").next().unwrap_or(&plain);
        return print_failure(&options::usage("arguments", message).into(), true, None);
    }
    output::note(text.trim_end());
    exit::USAGE
}

/// Returns whether a line that could not be parsed asks for JSON.
fn asks_for_json(words: &[OsString], variable: Option<&OsStr>) -> bool {
    let options: Vec<_> = words.iter().take_while(|word| *word != "--").collect();
    let no = ["", "0", "f", "false", "n", "no", "off"];
    let by_variable = variable.is_some_and(|value| !no.iter().any(|word| value.eq_ignore_ascii_case(word)));
    // The word after an option that takes any text is its value.
    let texts = args::options_with_texts();
    let is_value = |before: &OsStr| texts.iter().any(|text| before == &**text);
    by_variable || options.windows(2).any(|pair| pair[1] == "--json" && !is_value(pair[0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_recognised_in_a_line_that_is_wrong() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert!(asks_for_json(&words("txedit aply --json"), None));
        assert!(!asks_for_json(&words("txedit aply -- --json"), None));
        assert!(!asks_for_json(&words("txedit edit a --old --json --new x --bogus"), None));
        assert!(asks_for_json(&words("txedit edit a --old=x --json --bogus"), None));
        assert!(asks_for_json(&words("txedit aply"), Some(OsStr::new("1"))));
        assert!(!asks_for_json(&words("txedit aply"), Some(OsStr::new("False"))));
    }
}
