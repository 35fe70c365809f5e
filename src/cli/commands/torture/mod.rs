//! `txedit doctor --torture N [DIR]`: real kills on the user's own file system.
//!
//! In each round, a process commits random transactions and is killed (SIGKILL) at a random moment. After the recovery
//! the files must be as before or as after the transaction that was being committed, and everything reported must be
//! there.

mod child;
mod work;

use std::env;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;

pub(super) use child::run as run_child;

use crate::cli::exit;
use crate::cli::failure::Failure;
use crate::cli::options::{CommonOptions, STATE_DIR};
use crate::cli::output::{Answer, BAD, GOOD, count, styled};
use crate::cli::progress::CallProgress;
use crate::cli::signals;
use crate::engine::{Engine, RecoverOptions, Run};
use crate::error::{Error, ErrorKind, Result};
use crate::fs::scratch::Scratch;
use child::REPORTED;
use work::{SplitMix64, TortureFiles};

/// The result.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct Tally {
    success: bool,
    folder: PathBuf,
    rounds: u32,
    /// The transactions that were reported as committed.
    transactions: usize,
    /// The kills that left something to recover.
    killed_in_commit: u32,
    /// The number of those that were rolled back, and of those that were finished.
    all_old: u32,
    all_new: u32,
    /// The broken promises, one sentence each.
    violations: Vec<String>,
    seconds: f64,
}

/// Runs `rounds` rounds in a scratch folder in `folder`.
pub(super) fn run(rounds: u32, folder: &Path, options: &CommonOptions) -> Result<Answer, Failure> {
    let scratch = Scratch::new_in(folder)?;
    let begun = Instant::now();
    let cancel = signals::cancel_token()?;
    let progress = CallProgress::start(options.quiet);
    let mut torture = Torture::new(&scratch, options)?;
    for round in 0..rounds {
        // Ctrl-C ends it after a round, with the results so far.
        if cancel.is_cancelled() || !torture.tally.violations.is_empty() {
            break;
        }
        progress.count("killing", u64::from(round), u64::from(rounds));
        torture.round()?;
    }
    drop(progress);
    let mut tally = torture.tally;
    tally.seconds = begun.elapsed().as_secs_f64();
    tally.success = tally.violations.is_empty();
    folder.clone_into(&mut tally.folder);
    let mut text = format!(
        "{}, {} reported, {} in mid-commit: {} all-old, {} all-new\n",
        count(tally.rounds as usize, "kill"),
        count(tally.transactions, "transaction"),
        tally.killed_in_commit,
        tally.all_old,
        tally.all_new
    );
    if tally.success {
        let _ = writeln!(text, "{}", styled(GOOD, "0 violations"));
        return Ok(Answer::new(&tally, text)?);
    }
    for violation in &tally.violations {
        let _ = writeln!(text, "{}", styled(BAD, violation));
    }
    let kept = format!("the folder is kept for inspection: {}", scratch.keep().display());
    Ok(Answer::new(&tally, text)?.noting([kept]).exiting(exit::NOT_APPLIED))
}

/// The result of a round.
enum RoundEnd {
    /// Killed after it had reported this many transactions.
    At(usize),
    /// It had ended by itself, for this reason.
    TooLate(String),
}

struct Torture<'a> {
    options: &'a CommonOptions,
    workspace: PathBuf,
    /// The expected state of the files.
    files: TortureFiles,
    dice: SplitMix64,
    /// The approximate time of a transaction: kills are spread over a few of them.
    each: Duration,
    tally: Tally,
}

impl<'a> Torture<'a> {
    fn new(scratch: &Scratch, options: &'a CommonOptions) -> Result<Self> {
        let name = Path::new("workspace");
        scratch.make_folder(name)?;
        let workspace = scratch.path().join(name);
        let seed = std::time::UNIX_EPOCH.elapsed().map_or(0, |now| now.subsec_nanos());
        let mut dice = SplitMix64::new(u64::from(seed));
        let each = Duration::from_millis(20);
        // If nothing can be committed here at all, this first transaction tells why.
        let mut files = TortureFiles::new();
        let request = work::next(&mut files, &mut dice);
        let cancel = signals::cancel_token()?;
        Engine::open_with(&workspace, options.scratch_settings())?
            .apply(&request, Run::default().cancelled_by(&cancel))?;
        Ok(Self { options, workspace, files, dice, each, tally: Tally::default() })
    }

    fn engine(&self) -> Result<Engine> {
        Engine::open_with(&self.workspace, self.options.scratch_settings())
    }

    fn round(&mut self) -> Result<()> {
        let seed = self.dice.below(u64::MAX);
        self.tally.rounds += 1;
        let reported = match self.kill(seed)? {
            RoundEnd::At(reported) => reported,
            RoundEnd::TooLate(why) => {
                self.violate(&format!("a commit failed that was left alone: {why}"));
                return Ok(());
            }
        };
        self.tally.transactions += reported;
        let engine = self.engine()?;
        let in_commit = !engine.status()?.interrupted.is_empty();
        engine.recover(None, RecoverOptions::default())?;
        for left in engine.status()?.interrupted {
            self.violate(&format!("{} is still there after the recovery: {}", left.id, left.reason()));
        }

        // The state that was reported, and the one that the transaction being committed would have left.
        let mut dice = SplitMix64::new(seed);
        for _ in 0..reported {
            work::next(&mut self.files, &mut dice);
        }
        let mut new = self.files.clone();
        work::next(&mut new, &mut dice);
        let found = work::look(&self.workspace)?;
        let is_new = found == new;
        if !is_new && found != self.files {
            self.violate(&describe(&self.files, &new, &found));
        }
        if in_commit {
            self.tally.killed_in_commit += 1;
            *(if is_new { &mut self.tally.all_new } else { &mut self.tally.all_old }) += 1;
        }
        self.files = found;
        Ok(())
    }

    fn violate(&mut self, what: &str) {
        let round = self.tally.rounds;
        self.tally.violations.push(format!("round {round}: {what}"));
    }

    /// Starts a process that commits, and kills it.
    fn kill(&mut self, seed: u64) -> Result<RoundEnd> {
        let name = Path::new("the child process");
        let mut child = self.start(seed)?;
        let mut said = String::new();
        let Some(stdout) = child.stdout.take() else { return Err(off("the child process cannot be heard")) };
        let mut stdout = BufReader::new(stdout);
        stdout.read_line(&mut said).map_err(|e| Error::io("read from", name, e))?;
        let begun = Instant::now();
        let most = u64::try_from(self.each.as_micros()).unwrap_or(u64::MAX).saturating_mul(4).max(1);
        thread::sleep(Duration::from_micros(self.dice.below(most)));
        let ended = child.try_wait().map_err(|e| Error::io("wait for", name, e))?;
        child.kill().map_err(|e| Error::io("kill", name, e))?;
        let worked = begun.elapsed();
        let status = child.wait().map_err(|e| Error::io("wait for", name, e))?;
        // Everything that it printed before it died is still in the pipe.
        stdout.read_to_string(&mut said).map_err(|e| Error::io("read from", name, e))?;
        if said.is_empty() || ended.is_some() {
            let mut error = String::new();
            if let Some(mut stderr) = child.stderr.take() {
                stderr.read_to_string(&mut error).map_err(|e| Error::io("read from", name, e))?;
            }
            return Ok(RoundEnd::TooLate(format!("{status}: {}", error.trim())));
        }
        let reported = said.matches(REPORTED).count().saturating_sub(1);
        let each = worked / u32::try_from(reported + 1).unwrap_or(u32::MAX);
        self.each = (self.each * 7 + each) / 8;
        Ok(RoundEnd::At(reported))
    }

    /// Starts this program again.
    fn start(&self, seed: u64) -> Result<Child> {
        let program = env::current_exe().map_err(|e| Error::io("find", "the running program", e))?;
        let mut command = Command::new(&program);
        command.arg("--root").arg(&self.workspace).args(self.options.for_children()).env_remove(STATE_DIR);
        command
            .arg("torture-child")
            .arg(seed.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().map_err(|e| Error::io("start", &program, e))
    }
}

fn describe(old: &TortureFiles, new: &TortureFiles, found: &TortureFiles) -> String {
    let differing = |expected: &TortureFiles| {
        let names: std::collections::BTreeSet<_> = expected.keys().chain(found.keys()).collect();
        let names = names.into_iter().filter(|name| expected.get(*name) != found.get(*name));
        names.copied().collect::<Vec<_>>().join(", ")
    };
    format!("neither old (but for {}) nor new (but for {})", differing(old), differing(new))
}

fn off(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::UnknownError, message.into())
}
