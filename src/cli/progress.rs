//! A progress bar on a terminal, for calls that take longer than half a second.

use std::io::{self, IsTerminal, Write as _};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::engine::{Observer, Phase};

/// The time after which a call gets a bar.
const PATIENCE: Duration = Duration::from_millis(500);

/// The interval of the spinner, which shows that a long wait for one file or lock is alive.
const TICK: Duration = Duration::from_millis(100);

/// Shows the progress of a call; removed from the terminal when it is dropped.
pub(crate) struct CallProgress {
    bar: ProgressBar,
    quiet: bool,
    clock: Option<(Sender<()>, JoinHandle<()>)>,
}

impl CallProgress {
    /// Starts the clock; shows nothing in a quiet run or if stderr is not a terminal.
    pub(crate) fn start(quiet: bool) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if quiet || !io::stderr().is_terminal() {
            return Self { bar, quiet, clock: None };
        }
        bar.set_style(style("{spinner} {msg}"));
        bar.set_message("waiting");
        let (stop, stopped) = mpsc::channel();
        let shown = bar.clone();
        let ticks = move || {
            let mut pause = PATIENCE;
            while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                if pause == PATIENCE {
                    shown.set_draw_target(ProgressDrawTarget::stderr());
                }
                shown.tick();
                pause = TICK;
            }
        };
        // If no thread can be started there is no bar.
        let clock = Builder::new().spawn(ticks).ok().map(|clock| (stop, clock));
        Self { bar, quiet, clock }
    }

    /// Shows that `done` of `total` are complete, with the verb for what is done.
    pub(crate) fn count(&self, verb: &'static str, done: u64, total: u64) {
        if self.clock.is_none() {
            return;
        }
        if self.bar.length().is_none() {
            self.bar.set_style(style("{spinner} {msg:8} {bar:30} {pos}/{len}"));
        }
        self.bar.set_message(verb);
        self.bar.set_length(total);
        self.bar.set_position(done);
    }
}

impl Observer for CallProgress {
    fn progress(&self, phase: Phase, done: usize, total: usize) {
        let verb = match phase {
            Phase::Read => "reading",
            Phase::Stage => "staging",
            Phase::Swap => "swapping",
            Phase::Check => "checking",
            Phase::Rollback => "undoing",
        };
        self.count(verb, done as u64, total as u64);
    }

    fn check_output(&self, bytes: &[u8]) {
        if self.quiet {
            return;
        }
        // Output that cannot be shown is still in the answer.
        self.bar.suspend(|| drop(io::stderr().write_all(bytes)));
    }
}

impl Drop for CallProgress {
    fn drop(&mut self) {
        if let Some((stop, clock)) = self.clock.take() {
            drop(stop);
            // A bar that cannot be drawn must not fail the call.
            let _ = clock.join();
            self.bar.finish_and_clear();
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
