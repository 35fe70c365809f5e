//! What an entry counts as where two names cannot be exchanged, and were to change places in several steps.

use super::{Observed, Seen, is};
use crate::journal::Record;

/// What an entry counts as, by its target, its slot, and what came out of the target's name and has not got that of the slot
/// yet.
#[must_use]
pub fn settled(seen: Observed, out: Seen) -> Observed {
    let Observed { target, slot } = seen;
    // Two names of one inode: it was given the one at the target.
    let is_one = target.identity().is_some() && target.identity() == slot.identity();
    match (out, target) {
        (Seen::Missing, _) if is_one => Observed { target, slot: Seen::Missing },
        (Seen::Missing, _) => seen,
        (out, Seen::Missing) => Observed { target: out, slot },
        (out, _) if is_one || slot == Seen::Missing => Observed { target, slot: out },
        // Another program took the name.
        _ => seen,
    }
}

/// Returns whether a power loss may have taken the only name of what was staged, and left nothing at the target: the original
/// goes back. It looks like a file that another program removed.
#[must_use]
pub fn may_be_gap(record: &Record, seen: &Observed) -> bool {
    let is_staged = record.change.staged().is_some_and(|staged| is(seen.slot, staged));
    record.change.exchanges() && seen.target == Seen::Missing && seen.slot != Seen::Missing && !is_staged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Digest;
    use crate::identity::Identity;
    use crate::plan::Access;

    /// A file by its inode.
    fn file(inode: u64) -> Seen {
        let access = Access { user: 0, group: 0, attributes: None };
        Seen::File { digest: Digest::of(b""), mode: 0o644, access, identity: Identity { inode, born: None } }
    }

    #[test]
    fn each_row_of_the_table_counts_as_it_says() {
        let (old, new, theirs) = (file(1), file(2), file(3));
        // The target, the slot and what came out; then the target and the slot as they count.
        let rows = [
            // Nothing was begun, or all of it is done.
            ([old, new, Seen::Missing], [old, new]),
            ([new, old, Seen::Missing], [new, old]),
            // The file has left its name.
            ([Seen::Missing, new, old], [old, new]),
            ([Seen::Missing, Seen::Missing, old], [old, Seen::Missing]),
            // The new one has it: by a rename, or as a second name.
            ([new, Seen::Missing, old], [new, old]),
            ([new, new, old], [new, old]),
            ([new, new, Seen::Missing], [new, Seen::Missing]),
            // Another program took it.
            ([theirs, new, old], [theirs, new]),
        ];
        for ([target, slot, out], [as_target, as_slot]) in rows {
            let settled = settled(Observed { target, slot }, out);
            assert_eq!(settled, Observed { target: as_target, slot: as_slot }, "{target:?}, {slot:?}, {out:?}");
        }
    }
}
