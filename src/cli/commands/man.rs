//! `txedit man DIR`: the manual pages, for packages and for `man -M DIR txedit`.

use std::io;

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::args::{CommandLine, ManArgs, STATUSES};
use crate::cli::failure::Failure;
use crate::cli::options::CommonOptions;
use crate::cli::output::{Answer, count};
use crate::cli::topics::roff::{self, MANUAL, SOURCE};
use crate::cli::topics::{TOPICS, Topic};
use crate::error::{Error, Result};
use crate::fs::output;
use crate::path::shown;

/// A page: its name, as `man` takes it, its section, and its text.
struct ManPage {
    name: String,
    section: u8,
    text: Vec<u8>,
}

pub(super) fn run(args: &ManArgs, options: &CommonOptions) -> Result<Answer, Failure> {
    let folder = options.absolute(&args.folder);
    let pages = pages().map_err(|error| Error::io("render", "the manual pages", error))?;
    let mut names = Vec::new();
    for page in &pages {
        let name = format!("man{0}/{1}.{0}", page.section, page.name);
        output::write_file(&folder.join(&name), &page.text)?;
        names.push(name);
    }
    let text = format!("wrote {} to {}\n", count(names.len(), "page"), shown(options.shown(&folder)));
    let json = ManJson { success: true, folder: folder.display().to_string(), pages: names };
    Ok(Answer::new(&json, &*text)?.having_done(Some(text.trim_end().to_owned())))
}

/// The answer for scripts.
#[derive(Serialize, JsonSchema)]
pub(super) struct ManJson {
    success: bool,
    folder: String,
    /// The paths of the pages in the folder.
    pages: Vec<String>,
}

/// A page for each visible command and each topic.
fn pages() -> io::Result<Vec<ManPage>> {
    let mut whole = CommandLine::command();
    whole.build();
    let mut pages = Vec::new();
    push(&mut pages, &whole)?;
    for topic in &TOPICS {
        let name = format!("txedit-{}", topic.name);
        pages.push(ManPage { name, section: topic.section, text: roff::render(topic)? });
    }
    Ok(pages)
}

fn push(pages: &mut Vec<ManPage>, command: &Command) -> io::Result<()> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    pages.push(ManPage { text: of_command(command, &name)?, name, section: 1 });
    shown_commands(command).try_for_each(|sub| push(pages, sub))
}

fn shown_commands(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help")
}

fn of_command(command: &Command, name: &str) -> io::Result<Vec<u8>> {
    let is_root = !name.contains('-');
    // The usage line serves as the synopsis; a generated one would name each common option.
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim().to_owned();
    let command = &command.clone().mut_args(|option| option.hide_env(false).hide(false));
    let man = Man::new(command.clone().override_usage(usage)).title(name).source(SOURCE).manual(MANUAL);
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_options_section(&mut text)?;
    if shown_commands(command).next().is_some() {
        man.render_subcommands_section(&mut text)?;
    }
    let mut rest = Roff::new();
    if is_root {
        push_statuses(&mut rest);
    }
    if let Some(examples) = command.get_before_help() {
        rest.control("SH", ["EXAMPLES"]);
        roff::example(&mut rest, examples.to_string().lines().skip(1).map(str::trim));
    }
    let topics = TOPICS.iter().map(|Topic { name, section, .. }| format!("txedit-{name}({section})"));
    let others: Vec<String> = (!is_root).then(|| "txedit(1)".to_owned()).into_iter().chain(topics).collect();
    roff::see_also(&mut rest, &others);
    rest.to_writer(&mut text)?;
    Ok(text)
}

fn push_statuses(page: &mut Roff) {
    page.control("SH", ["EXIT STATUS"]);
    for (status, meaning) in STATUSES.lines().skip(1).filter_map(|line| line.trim().split_once(' ')) {
        page.control("TP", []).text([bold(status)]).text([roman(meaning.trim())]);
    }
}
