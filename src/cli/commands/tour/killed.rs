//! The step in which a process is killed in the middle of a commit.

use std::env;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use clap::ValueEnum;
use serde_json::json;

use super::child::READY;
use super::stage::{Stage, TourContents};
use super::{TourFacts, off, off_at};
use crate::cli::args::StopAt;
use crate::cli::options::STATE_DIR;
use crate::cli::output::{GOOD, NOTE, styled};
use crate::digest::Digest;
use crate::engine::RecoverOptions;
use crate::error::{Error, Result};

const OLD: TourContents = &[
    ("one.txt", "the first, old\n"),
    ("two.txt", "the second, old\n"),
    ("three.txt", "the third, old\n"),
    ("four.txt", "the fourth, old\n"),
    ("five.txt", "the fifth, old\n"),
];
const NEW: TourContents = &[
    ("one.txt", "the first, new\n"),
    ("two.txt", "the second, new\n"),
    ("three.txt", "the third, new\n"),
    ("four.txt", "the fourth, new\n"),
    ("five.txt", "the fifth, new\n"),
];

const SIGKILL: i32 = 9;

/// Kills a commit of five files at `stop`, examines what is left, recovers, and examines it again.
pub(super) fn run(stage: &mut Stage<'_>, stop: StopAt) -> Result<()> {
    stage.heading(match stop {
        StopAt::Swap => "a kill -9 between the swaps of five files, and the recovery",
        StopAt::Stage => "a kill -9 while five files are staged, and the recovery",
    });
    stage.write(OLD)?;
    let mut child = start(stage, stop)?;
    let id = child.id();
    kill_when_ready(&mut child)?;
    stage.say(&format!("process {id} was killed in mid-commit; this is what it left:"));
    let left = look(stage)?;
    let (swapped, total) = (left.iter().filter(|new| **new).count(), left.len());
    match stop {
        StopAt::Swap if swapped == 0 || swapped == total => return Err(off("the kill was not between the swaps")),
        StopAt::Stage if swapped != 0 => return Err(off("a file was touched before everything was staged")),
        _ => {}
    }
    let recovered = recover(stage)?;
    let found = look(stage)?;
    let all_new = found.iter().all(|new| *new);
    if !all_new && found.iter().any(|new| *new) {
        return Err(off("some files are old and some are new after the recovery"));
    }
    if all_new && stop == StopAt::Stage {
        return Err(off("what was never swapped is new after the recovery"));
    }
    let outcome = if all_new { "all-new" } else { "all-old" };
    stage.say(&styled(GOOD, outcome).to_string());
    stage.done(TourFacts {
        killed_with_swapped: Some(swapped),
        files: Some(total),
        recovered: Some(recovered),
        outcome: Some(outcome),
        ..TourFacts::default()
    });
    Ok(())
}

/// Starts this program again, to apply the plan in its own process.
fn start(stage: &Stage<'_>, stop: StopAt) -> Result<Child> {
    let plan = stage.write_plan(&plan())?;
    let program = env::current_exe().map_err(|e| Error::io("find", "the running program", e))?;
    let stop = stop.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
    let mut command = Command::new(&program);
    command.arg("--root").arg(stage.root()).args(stage.options.for_children()).env_remove(STATE_DIR);
    command.arg("tour-child").arg(plan).arg(stop);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command.spawn().map_err(|e| Error::io("start", &program, e))
}

/// The plan, as a user would write it.
fn plan() -> Vec<u8> {
    let edit = |name: &str| json!({"file_path": name, "edits": [{"old_string": "old", "new_string": "new"}]});
    let files: Vec<_> = OLD.iter().map(|(name, _)| edit(name)).collect();
    json!({"files": files, "label": "tour, killed"}).to_string().into_bytes()
}

fn kill_when_ready(child: &mut Child) -> Result<()> {
    let name = Path::new("the child process");
    let mut said = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut said).map_err(|e| Error::io("read from", name, e))?;
    }
    child.kill().map_err(|e| Error::io("kill", name, e))?;
    let status = child.wait().map_err(|e| Error::io("wait for", name, e))?;
    if said != READY || status.signal() != Some(SIGKILL) {
        return Err(off(format!("the child process was not stopped in mid-commit: it ended with {status}")));
    }
    Ok(())
}

/// For each file, true if it is new; each must be old or new to the byte.
fn look(stage: &Stage<'_>) -> Result<Vec<bool>> {
    let mut new = Vec::with_capacity(OLD.len());
    for ((name, before), (_, after)) in OLD.iter().zip(NEW) {
        let digest = stage.digest(name)?;
        let is_new = digest == Digest::of(after.as_bytes());
        if !is_new && digest != Digest::of(before.as_bytes()) {
            return Err(off_at(name, "it is neither old nor new"));
        }
        let (style, word) = if is_new { (GOOD, "new") } else { (NOTE, "old") };
        stage.say(&format!("{name:12} {}", styled(style, word)));
        new.push(is_new);
    }
    Ok(new)
}

/// Recovers; returns words for what was done.
fn recover(stage: &Stage<'_>) -> Result<Vec<String>> {
    let engine = stage.engine()?;
    let recovered = engine.recover(None, RecoverOptions::default())?;
    for one in &recovered {
        stage.say(&format!("recovery of {}: {}, {}", one.id, one.action.as_str().replace('_', " "), one.reason()));
    }
    if recovered.is_empty() {
        stage.say("recovery: it had no journal yet, so no file was touched; what it staged is deleted");
    }
    match engine.status()?.interrupted.first() {
        Some(left) => Err(off(format!("{} is still there after the recovery", left.id))),
        None => Ok(recovered.into_iter().map(|one| one.action.to_string()).collect()),
    }
}
