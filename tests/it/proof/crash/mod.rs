//! Real processes that die, stop and race on real file systems, and what another process makes of it.
//!
//! Killing a process loses nothing that the kernel was told: these tests show that every state a process can leave
//! behind is recovered, not that a disk keeps what it was given. The file system in memory is there for that.

mod child;
mod copied;
mod crafted;
mod foreign;
#[cfg(target_os = "linux")]
mod full;
mod kills;
mod moved;
mod races;
mod scene;
mod second;
#[cfg(feature = "cli")]
mod syscalls;
mod table;
mod waiter;

use std::time::Duration;

use crate::support::is_full;
use txedit::{Engine, Run, Settings};

fn settings(lock_timeout: Duration) -> Settings {
    let retention = txedit::Retention::default();
    Settings::default().lock_timeout(lock_timeout).retention(retention).program("txedit tests")
}

fn engine(root: &std::path::Path) -> Engine {
    Engine::open_with(root, settings(Duration::from_secs(20))).unwrap()
}

/// What was rolled back stays for a while: somebody may have it open.
pub(crate) fn was_rolled_back(folder: &std::path::Path) -> bool {
    ["journal.undo", "journal.check.undo"].iter().any(|journal| folder.join(journal).exists())
}

/// A call that nobody stops or watches.
fn alone() -> Run<'static> {
    Run::default()
}
