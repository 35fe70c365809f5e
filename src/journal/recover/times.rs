//! What the times of a file prove about its content.

use crate::identity::Timestamp;
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
