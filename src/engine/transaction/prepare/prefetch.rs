//! Reads and hashes files on one core while the other edits.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{Builder, Scope};

use crate::engine::store::snapshot::Snapshot;
use crate::error::Result;
use crate::index::{IndexVec, TargetIndex};
use crate::limits;

/// The number of files that are passed on together: waking a thread for each would cost more than the work.
const TOGETHER: usize = 8;

/// The number of batches that may wait to be edited.
const WAITING: usize = 2;

type Read = Result<(Snapshot, Vec<u8>)>;

/// Files that another thread reads in the order in which they will be taken. If one is not there yet, the caller reads
/// a batch itself instead of waiting.
pub(crate) struct Ahead<'a> {
    work: Arc<Work<'a>>,
    /// For each target, true if it is still to be taken.
    expected: IndexVec<TargetIndex, bool>,
    read: Receiver<Vec<(TargetIndex, Read)>>,
    /// Files that are read but not taken yet.
    at_hand: HashMap<TargetIndex, Read>,
}

/// The files that either thread reads, in batches.
struct Work<'a> {
    handfuls: Vec<Vec<TargetIndex>>,
    /// The next batch that no thread has taken.
    next: AtomicUsize,
    read: Box<dyn Fn(TargetIndex) -> Read + Send + Sync + 'a>,
}

impl Work<'_> {
    /// Reads the next batch; `None` if there is none.
    fn handful(&self) -> Option<Vec<(TargetIndex, Read)>> {
        let handful = self.handfuls.get(self.next.fetch_add(1, Ordering::Relaxed))?;
        Some(handful.iter().map(|&target| (target, (self.read)(target))).collect())
    }
}

impl<'a> Ahead<'a> {
    /// Starts reading `targets`, each with its size, all less than `count`. Reading ends when this is dropped. `None`
    /// if no thread can be started: then each is read when it is needed.
    pub(crate) fn start<'s>(
        scope: &'s Scope<'s, '_>,
        count: usize,
        targets: &[(TargetIndex, u64)],
        read: impl Fn(TargetIndex) -> Read + Send + Sync + 'a,
    ) -> Option<Self>
    where
        'a: 's,
    {
        let mut expected = IndexVec::from(vec![false; count]);
        for (target, _) in targets {
            expected[*target] = true;
        }
        let work = Work { handfuls: handfuls(targets), next: AtomicUsize::new(0), read: Box::new(read) };
        let work = Arc::new(work);
        let (sender, receiver) = sync_channel(WAITING);
        let others = Arc::clone(&work);
        let reads = move || {
            while let Some(handful) = others.handful() {
                if sender.send(handful).is_err() {
                    break;
                }
            }
        };
        Builder::new().spawn_scoped(scope, reads).ok()?;
        Some(Self { work, expected, read: receiver, at_hand: HashMap::new() })
    }

    /// The content of a target, if it was to be read and is not taken yet.
    pub(crate) fn take(&mut self, target: TargetIndex) -> Option<Read> {
        if !std::mem::take(&mut self.expected[target]) {
            return None;
        }
        loop {
            if let Some(read) = self.at_hand.remove(&target) {
                return Some(read);
            }
            let handful = match self.read.try_recv() {
                Ok(handful) => handful,
                // While one file takes long, not all others may pile up in memory.
                Err(_) if self.at_hand.len() >= WAITING * TOGETHER => self.read.recv().ok()?,
                Err(_) => match self.work.handful() {
                    Some(handful) => handful,
                    None => self.read.recv().ok()?,
                },
            };
            self.at_hand.extend(handful);
        }
    }
}

/// The targets in batches of a few files and not too many bytes.
fn handfuls(targets: &[(TargetIndex, u64)]) -> Vec<Vec<TargetIndex>> {
    let mut handfuls: Vec<Vec<TargetIndex>> = Vec::with_capacity(targets.len() / TOGETHER + 1);
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
