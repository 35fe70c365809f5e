//! What the times of a file prove: about its content, and that it was never swapped.

use super::{PlaceState, Seen, States, is_staged, overwritten};
use crate::digest::Digest;
use crate::identity::Timestamp;
use crate::journal::{Record, RecordedChange};
use crate::limits;

/// Returns whether size and time prove that content of this size is what was read at `read_at`. Times can be set back,
/// so small content, which is read quickly, is always read.
#[must_use]
pub fn is_told_by_time(size: u64, modified: Timestamp, read_at: Timestamp) -> bool {
    size > limits::READ_AGAIN_BYTES && !is_young(modified, read_at)
}

/// Returns whether `modified` is too recent to prove anything about content read at `read_at`, by the file system's own
/// clock: a later change can have the same time.
#[must_use]
pub fn is_young(modified: Timestamp, read_at: Timestamp) -> bool {
    let young = limits::YOUNG.as_secs().cast_signed() + 1;
    modified.seconds > read_at.seconds - young
}

/// The times of a slot and of its journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ages {
    /// True if the kernel that staged it is still running: there was no power loss.
    pub same_boot: bool,
    /// The last time the slot's file was written, renamed or changed in any way.
    pub touched: Timestamp,
    /// The time the journal was written, after everything staged.
    pub sealed: Timestamp,
}

/// Returns whether this is what a power loss left of the new content, in the staged file, which was never swapped, so
/// that nobody else can have reached it. A swap, or a write after one, changes a time of the file. If the clock is too
/// coarse to tell, only an empty file counts as incomplete: nobody has written into that.
#[must_use]
pub fn is_incomplete(record: &Record, seen: Seen, ages: Ages) -> bool {
    let is_staged = is_staged(record, seen);
    let is_file = matches!(seen, Seen::File { .. });
    let is_whole = match &record.change {
        RecordedChange::Overwrite { before, .. } => overwritten::is_copy(before, seen),
        change => States::new(change.before(), change.after()).tell(seen) == PlaceState::New,
    };
    let is_empty = matches!(seen, Seen::File { digest, .. } if digest == Digest::of(&[]));
    let was_swapped = ages.touched > ages.sealed || (ages.touched == ages.sealed && !is_empty);
    is_file && is_staged && !is_whole && !ages.same_boot && !was_swapped
}
