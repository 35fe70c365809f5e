//! Dependencies between operations: which one cannot survive a crash without which earlier one.
//!
//! Metadata that may be lost in any order is still consistent: an entry holds the result of the last surviving
//! operation on it, so of the operations on one entry a prefix survives; a folder is not removed before its contents
//! are gone; a folder is not moved into itself by dropping the move in between; and an inode number is not reused
//! before the name of its last bearer is gone.

use super::disk::{Disk, Id, Meta, SimNameChange, SimOperation};
use super::store::SimPendingName;

/// The earlier operations that each operation needs, itself excluded.
pub(super) fn dependencies(log: &[SimPendingName], disk: &Disk) -> Vec<Vec<usize>> {
    (0..log.len()).map(|later| (0..later).filter(|i| needs(&log[later].meta, &log[*i].meta, disk)).collect()).collect()
}

/// Marks `index` and everything that it needs.
pub(super) fn with_dependencies(dependencies: &[Vec<usize>], index: usize, marks: &mut [bool]) {
    marks[index] = true;
    let mut todo = vec![index];
    while let Some(index) = todo.pop() {
        for needed in &dependencies[index] {
            if !marks[*needed] {
                marks[*needed] = true;
                todo.push(*needed);
            }
        }
    }
}

fn needs(later: &Meta, earlier: &Meta, disk: &Disk) -> bool {
    match (&later.what, &earlier.what) {
        (SimOperation::SetMetadata { id: a, .. }, SimOperation::SetMetadata { id: b, .. })
        | (SimOperation::WriteOut { id: a, .. }, SimOperation::WriteOut { id: b, .. }) => a == b,
        (
            SimOperation::Names { changes: a, moves_folder: moves_now, removes },
            SimOperation::Names { changes: b, moves_folder: moved_before, .. },
        ) => {
            (*moves_now && *moved_before)
                || removes.is_some_and(|folder| b.iter().any(|c| c.folder == folder))
                || a.iter().any(|a| b.iter().any(|b| same_entry(a, b) || same_number(a, b, disk)))
        }
        _ => false,
    }
}

fn same_entry(a: &SimNameChange, b: &SimNameChange) -> bool {
    a.folder == b.folder && a.name == b.name
}

fn same_number(later: &SimNameChange, earlier: &SimNameChange, disk: &Disk) -> bool {
    let number = |id: Id| disk.get(id).map(|n| (n.mount, n.number));
    match (later.after, earlier.before) {
        (Some(new), Some(old)) => new != old && number(new).is_some() && number(new) == number(old),
        _ => false,
    }
}
