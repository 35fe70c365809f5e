//! Reading and hashing on one core while the other edits.

use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::Scope;

use crate::engine::snapshot::Snapshot;
use crate::error::Result;

/// What was read, and waits to be edited.
const WAITING: usize = 16;

type Read = Result<(Snapshot, Vec<u8>)>;

/// Files that another thread reads, in the order in which they will be asked for.
pub(super) struct Ahead {
    /// Which targets are still to come.
    expected: Vec<bool>,
    read: Receiver<(usize, Read)>,
}

impl Ahead {
    /// Starts reading `targets`, all of them less than `count`. It ends when this is dropped.
    pub(super) fn start<'s>(
        scope: &'s Scope<'s, '_>,
        count: usize,
        targets: Vec<usize>,
        read: impl Fn(usize) -> Read + Send + 's,
    ) -> Self {
        let mut expected = vec![false; count];
        for &target in &targets {
            expected[target] = true;
        }
        let (sender, receiver) = sync_channel(WAITING);
        scope.spawn(move || {
            for target in targets {
                if sender.send((target, read(target))).is_err() {
                    break;
                }
            }
        });
        Self { expected, read: receiver }
    }

    /// What was read of a target, if it was to be read and is not behind us. What comes before it is not wanted any more.
    pub(super) fn take(&mut self, target: usize) -> Option<Read> {
        while self.expected[target] {
            let (next, read) = self.read.recv().ok()?;
            self.expected[next] = false;
            if next == target {
                return Some(read);
            }
        }
        None
    }
}
