//! Reading and hashing on one core while the other edits.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::Scope;

use crate::engine::snapshot::Snapshot;
use crate::error::Result;
use crate::limits;

/// Files that are handed over together: a thread that is woken for each of them would do little else.
const TOGETHER: usize = 8;

/// Handfuls that wait to be edited.
const WAITING: usize = 2;

type Read = Result<(Snapshot, Vec<u8>)>;

/// Files that another thread reads, in the order in which they will be asked for.
pub(super) struct Ahead {
    /// Which targets are still to come.
    expected: Vec<bool>,
    read: Receiver<Vec<(usize, Read)>>,
    /// What was handed over and is still to be asked for.
    at_hand: VecDeque<(usize, Read)>,
}

impl Ahead {
    /// Starts reading `targets`, each with its size, all of them less than `count`. It ends when this is dropped.
    pub(super) fn start<'s>(
        scope: &'s Scope<'s, '_>,
        count: usize,
        targets: &[(usize, u64)],
        read: impl Fn(usize) -> Read + Send + 's,
    ) -> Self {
        let mut expected = vec![false; count];
        for (target, _) in targets {
            expected[*target] = true;
        }
        let handfuls = handfuls(targets);
        let (sender, receiver) = sync_channel(WAITING);
        scope.spawn(move || {
            for handful in handfuls {
                let handful = handful.into_iter().map(|target| (target, read(target))).collect();
                if sender.send(handful).is_err() {
                    break;
                }
            }
        });
        Self { expected, read: receiver, at_hand: VecDeque::new() }
    }

    /// What was read of a target, if it was to be read and is not behind us. What comes before it is not wanted any more.
    pub(super) fn take(&mut self, target: usize) -> Option<Read> {
        while self.expected[target] {
            let Some((next, read)) = self.at_hand.pop_front() else {
                self.at_hand.extend(self.read.recv().ok()?);
                continue;
            };
            self.expected[next] = false;
            if next == target {
                return Some(read);
            }
        }
        None
    }
}

/// The targets in handfuls of a few files and not too many bytes.
fn handfuls(targets: &[(usize, u64)]) -> Vec<Vec<usize>> {
    let mut handfuls: Vec<Vec<usize>> = Vec::with_capacity(targets.len() / TOGETHER + 1);
    let mut bytes = 0;
    for &(target, size) in targets {
        bytes += size;
        match handfuls.last_mut() {
            Some(last) if last.len() < TOGETHER && bytes <= limits::AHEAD_BYTES => last.push(target),
            _ => {
                handfuls.push(vec![target]);
                bytes = size;
            }
        }
    }
    handfuls
}
