//! What recovery reads and what it does: the journal, the state folder, a rollback that is not whole.

mod damaged;
mod examined;
mod half_done;
mod immovable;
mod in_place;
mod journal_format;
mod lost;
mod overwriting;
mod partly;
mod parts;
pub(crate) mod put_back;
#[cfg(feature = "cli")]
mod reader;
mod saved_anew;
mod sections;
mod stepwise;
mod unreadable;

use txedit::fs::FileKind;
use txedit::fs::sim::{Policy, SimFs};

/// The machine after its next start, with everything that was on its disk.
fn restarted(sim: &SimFs) -> SimFs {
    sim.sync_everything();
    SimFs::from_image(&sim.image(Policy::Unordered, 1))
}

/// The number of proofs, outside the workspace, that journals were written where they are.
fn proofs(sim: &SimFs) -> usize {
    let entries = sim.entries("/states/txedit/born").unwrap_or_default();
    entries.iter().filter(|(_, entry)| entry.kind == FileKind::File).count()
}
