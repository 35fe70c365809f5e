//! Runs two processes one at a time: the one that holds the baton runs.
//!
//! A process hands it over before one of its own calls: after as many calls as the schedule says, or when it waits for
//! a lock. So a few numbers determine a run, and it is the same each time.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::fs::sim::{Action, SimCall};

/// The number of vain turns of both, without any call, after which they count as waiting for each other.
const IN_VAIN: usize = 64;

/// The number of consecutive calls after which a process hands over anyway: it may be waiting for something that only
/// the other one can do.
const STRETCH: u64 = 2_000;

/// The process that is killed, and the time of the kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kill {
    /// Neither.
    Nobody,
    /// The first, when it gets the baton back.
    First,
    /// The second, when it would hand the baton back.
    Second,
}

/// The index of a process.
pub(super) type Who = usize;

#[derive(Debug)]
struct BatonTurn {
    whose: Who,
    /// The lengths of the next stretches, in calls.
    stretches: VecDeque<u64>,
    left: u64,
    made: [u64; 2],
    ended: [bool; 2],
    killed: [bool; 2],
    /// The lock that each has tried last.
    tried: [Option<PathBuf>; 2],
    in_vain: usize,
    kill: Kill,
}

/// The state that both processes share.
#[derive(Debug)]
pub(super) struct Baton {
    turn: Mutex<BatonTurn>,
    handed: Condvar,
}

impl Baton {
    /// The first makes `first` calls, then the second `second`, and then each runs to its end.
    pub(super) fn new(first: u64, second: u64, kill: Kill) -> Self {
        let turn = BatonTurn {
            whose: 0,
            stretches: VecDeque::from([second]),
            left: first,
            made: [0; 2],
            ended: [false; 2],
            killed: [false; 2],
            tried: [None, None],
            in_vain: 0,
            kill,
        };
        Self { turn: Mutex::new(turn), handed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, BatonTurn> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, who: Who) -> MutexGuard<'_, BatonTurn> {
        let turn = self.lock();
        self.handed.wait_while(turn, |turn| turn.whose != who).unwrap_or_else(PoisonError::into_inner)
    }

    /// Called before a call: waits until it may be made.
    pub(super) fn before(&self, who: Who, call: &SimCall<'_>) -> Action {
        let mut turn = self.wait(who);
        let waits = call.verb == "try_lock" && turn.tried[who].as_deref() == Some(call.path);
        let other = 1 - who;
        if (waits || turn.left == 0) && !turn.ended[other] {
            if who == 1 && turn.kill == Kill::Second {
                return self.kill(turn, who);
            }
            turn.in_vain = if waits { turn.in_vain + 1 } else { 0 };
            if turn.in_vain > IN_VAIN {
                return Action::Halt;
            }
            turn.hand_to(other);
            drop(turn);
            self.handed.notify_all();
            turn = self.wait(who);
            if who == 0 && turn.kill == Kill::First {
                return self.kill(turn, who);
            }
        }
        if !waits {
            turn.in_vain = 0;
        }
        turn.tried[who] = (call.verb == "try_lock").then(|| call.path.to_owned());
        turn.left = turn.left.saturating_sub(1);
        turn.made[who] += 1;
        Action::Continue
    }

    fn kill(&self, mut turn: MutexGuard<'_, BatonTurn>, who: Who) -> Action {
        turn.kill = Kill::Nobody;
        turn.killed[who] = true;
        // Its last calls fail, and it ends; then the other one goes on.
        turn.left = u64::MAX;
        drop(turn);
        self.handed.notify_all();
        Action::Kill
    }

    /// Called when a process has ended.
    pub(super) fn end(&self, who: Who) {
        let mut turn = self.wait(who);
        turn.ended[who] = true;
        turn.hand_to(1 - who);
        drop(turn);
        self.handed.notify_all();
    }

    /// Waits for the baton without making a call.
    pub(super) fn start(&self, who: Who) {
        drop(self.wait(who));
    }

    /// The number of calls that each has made.
    pub(super) fn made(&self) -> [u64; 2] {
        self.lock().made
    }

    /// Returns whether it was killed.
    pub(super) fn was_killed(&self, who: Who) -> bool {
        self.lock().killed[who]
    }
}

impl BatonTurn {
    fn hand_to(&mut self, who: Who) {
        self.whose = who;
        self.left = self.stretches.pop_front().unwrap_or(STRETCH);
        if self.ended[1 - who] {
            self.left = u64::MAX;
        }
    }
}
