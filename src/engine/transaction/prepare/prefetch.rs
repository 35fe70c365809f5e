//! Reads and hashes on one core while the other edits.

use crate::index::{IndexVec, TargetIndex};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{Builder, Scope};

use crate::engine::store::snapshot::Snapshot;
use crate::error::Result;
use crate::limits;

/// Files that are handed over together: a thread that is woken for each of them would do little else.
const TOGETHER: usize = 8;

/// Handfuls that wait to be edited.
const WAITING: usize = 2;

type Read = Result<(Snapshot, Vec<u8>)>;

/// Files that another thread reads, in the order in which they will be asked for. Who asks for one that is not there yet
/// reads a handful too, instead of waiting.
pub(crate) struct Ahead<'a> {
    work: Arc<Work<'a>>,
    /// Which targets are still to come.
    expected: IndexVec<TargetIndex, bool>,
    read: Receiver<Vec<(TargetIndex, Read)>>,
    /// Files that were read and are still to be asked for.
    at_hand: HashMap<TargetIndex, Read>,
}

/// The files that are to be read by either thread.
struct Work<'a> {
    handfuls: Vec<Vec<TargetIndex>>,
    /// The first that nobody has taken.
    next: AtomicUsize,
    read: Box<dyn Fn(TargetIndex) -> Read + Send + Sync + 'a>,
}

impl Work<'_> {
    /// Reads the next handful; `None` where there is none.
    fn handful(&self) -> Option<Vec<(TargetIndex, Read)>> {
        let handful = self.handfuls.get(self.next.fetch_add(1, Ordering::Relaxed))?;
        Some(handful.iter().map(|&target| (target, (self.read)(target))).collect())
    }
}

impl<'a> Ahead<'a> {
    /// Starts reading `targets`, each with its size, all of them less than `count`. It ends when this is dropped. `None`
    /// where there is no thread to be had: then each is read when its turn comes.
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

    /// The content of a target, if it was to be read and was not asked for before.
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
                // Where one file takes its time, not all the others are to wait in memory.
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

/// The targets in handfuls of a few files and not too many bytes.
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
