//! Makes attempts on this machine, several at a time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::{Attempt, DueWorkspace, Worker};
use crate::cancel::CancelToken;
use crate::error::Error;
use crate::fs::records::LineWriter;

/// How fast to go, and when to stop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// The attempts that are made at a time.
    pub(crate) jobs: usize,
    /// Stop once so many have failed.
    pub(crate) stop_after: Option<usize>,
    /// The shortest time between the starts of two attempts.
    pub(crate) interval: Duration,
}

/// What came of the attempts.
#[derive(Debug, Default)]
pub(crate) struct Worked {
    /// The number of attempts.
    pub(crate) attempts: usize,
    /// The number of those that failed.
    pub(crate) failures: usize,
    /// True if there were to be more.
    pub(crate) is_stopped: bool,
    /// Why a report could not be written, or an attempt not be begun. An attempt that was made stays.
    pub(crate) broken: Option<Error>,
}

/// Makes an attempt in each of these workspaces, in their order, and reports each before the next is begun.
pub(crate) fn work(
    worker: &Worker<'_>,
    workspaces: &[DueWorkspace],
    pace: Pace,
    reports: &mut LineWriter,
    cancel: &CancelToken,
    told: &(dyn Fn(&Attempt) + Sync),
) -> Worked {
    let (next, failures, attempts) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let (reports, broken) = (Mutex::new(reports), Mutex::new(None));
    let start = Mutex::new(Instant::now());
    let may_go_on = || {
        let failed = failures.load(Ordering::Relaxed);
        let is_broken = broken.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        !cancel.is_cancelled() && !is_broken && pace.stop_after.is_none_or(|most| failed < most)
    };
    let report = |attempt: &Attempt| {
        let line = attempt.line()?;
        reports.lock().unwrap_or_else(PoisonError::into_inner).add(&line)
    };
    let one = |due: DueWorkspace| {
        let begun = worker.begun(due.index)?;
        if due.has_report {
            report(&begun)?;
        }
        let attempt = worker.attempt(begun, due.was_done)?;
        attempts.fetch_add(1, Ordering::Relaxed);
        failures.fetch_add(usize::from(attempt.has_failed()), Ordering::Relaxed);
        report(&attempt)?;
        told(&attempt);
        Ok(())
    };
    let go = || {
        while may_go_on() {
            wait_for_turn(&start, pace.interval);
            if !may_go_on() {
                break;
            }
            let Some(due) = workspaces.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
            if let Err(error) = one(*due) {
                broken.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..pace.jobs.min(workspaces.len()) {
            // Without another thread, those that are there do all of it.
            thread::Builder::new().spawn_scoped(scope, go).ok();
        }
        go();
    });
    let broken = broken.into_inner().unwrap_or_else(PoisonError::into_inner);
    let (attempts, failures) = (attempts.into_inner(), failures.into_inner());
    Worked { attempts, failures, is_stopped: attempts < workspaces.len(), broken }
}

/// Waits until the next attempt may start, and sets the time for the one after it.
fn wait_for_turn(start: &Mutex<Instant>, interval: Duration) {
    if interval.is_zero() {
        return;
    }
    let turn = {
        let mut start = start.lock().unwrap_or_else(PoisonError::into_inner);
        let turn = (*start).max(Instant::now());
        *start = turn + interval;
        turn
    };
    thread::sleep(turn.saturating_duration_since(Instant::now()));
}
