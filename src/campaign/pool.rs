//! Makes attempts on this machine, several at a time.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::{Attempt, Worker};
use crate::cancel::CancelToken;
use crate::error::Result;
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
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Worked {
    /// The number of attempts.
    pub(crate) attempts: usize,
    /// The number of those that failed.
    pub(crate) failures: usize,
    /// True if there were to be more.
    pub(crate) is_stopped: bool,
}

/// Makes an attempt in each of these workspaces, in their order, and reports each before the next is begun. Workspaces
/// come with whether a transaction was reported of them. An error is one of the campaign's folder; what was reported
/// before stays.
pub(crate) fn work(
    worker: &Worker<'_>,
    workspaces: &[(usize, bool)],
    pace: Pace,
    reports: &mut LineWriter,
    cancel: &CancelToken,
    told: &(dyn Fn(&Attempt) + Sync),
) -> Result<Worked> {
    let (next, failures, attempts) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let is_over = AtomicBool::new(false);
    let state = Mutex::new((reports, Ok(())));
    let start = Mutex::new(Instant::now());
    let may_go_on = || {
        let failed = failures.load(Ordering::Relaxed);
        !cancel.is_cancelled() && !is_over.load(Ordering::Relaxed) && pace.stop_after.is_none_or(|most| failed < most)
    };
    let go = || {
        while may_go_on() {
            wait_for_turn(&start, pace.interval);
            if !may_go_on() {
                break;
            }
            let Some((index, was_done)) = workspaces.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
            let attempt = worker.attempt(*index, *was_done);
            let (reports, failure) = &mut *state.lock().unwrap_or_else(PoisonError::into_inner);
            let reported = attempt.and_then(|attempt| {
                reports.add(&attempt.line()?)?;
                Ok(attempt)
            });
            match reported {
                Ok(attempt) => {
                    attempts.fetch_add(1, Ordering::Relaxed);
                    failures.fetch_add(usize::from(attempt.has_failed()), Ordering::Relaxed);
                    told(&attempt);
                }
                Err(error) => {
                    is_over.store(true, Ordering::Relaxed);
                    *failure = Err(error);
                }
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
    let (_, failure) = state.into_inner().unwrap_or_else(PoisonError::into_inner);
    failure?;
    let (attempts, failures) = (attempts.into_inner(), failures.into_inner());
    Ok(Worked { attempts, failures, is_stopped: attempts < workspaces.len() })
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
