//! A transaction that another process examines, as `status` does: its lock is soon free, and a recovery waits for it.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use txedit::Decision;
use txedit::fs::Fs as _;
use txedit::fs::sim::Action;

use super::lost::{edits, engine, killed_before};

#[test]
fn a_recovery_waits_for_a_process_that_only_examines() {
    for decision in [Decision::Back, Decision::Discard] {
        let (sim, folder) = killed_before("w/b", &edits());
        let id = engine(&sim, 3).status().unwrap().interrupted[0].id.clone();
        let other = sim.process(9);
        let held = other.open_folder(Path::new(&folder)).unwrap();
        assert!(other.try_lock(&held).unwrap());
        let (in_hook, attempts) = (sim.clone(), AtomicUsize::new(0));
        sim.set_hook(move |call| {
            // The third attempt finds it free.
            if call.verb == "try_lock" && call.path.ends_with(&id) && attempts.fetch_add(1, Ordering::Relaxed) == 2 {
                in_hook.kill(9);
            }
            Action::Continue
        });
        let id = Path::new(&folder).file_name().unwrap().to_str().unwrap();
        let options = txedit::RecoverOptions::new().decision(decision);
        let done = engine(&sim, 4).recover(Some(id), options).unwrap().remove(0);
        assert_ne!(done.action.as_str(), "left", "{done:?}");
        assert!(!sim.exists(&folder));
    }
}
