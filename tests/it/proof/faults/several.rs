//! Several interrupted transactions, and a file system that cannot be synced.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use txedit::fs::Fs;
use txedit::fs::fault::{FaultFs, FaultOperation, Rule};
use txedit::fs::sim::{Action, SimFs};
use txedit::{Engine, RecoverOptions, Run, Settings};

use crate::proof::explore::scripts::{self, replaces, request};

fn engine(fs: Arc<dyn Fs>) -> Engine {
    let settings = Settings::default().lock_timeout(Duration::ZERO).program("several");
    Engine::with_fs(fs, Path::new("/w"), settings).unwrap()
}

/// Two transactions that were killed after their swaps, in different folders at the same time.
fn two_interrupted() -> SimFs {
    let machine = SimFs::new();
    machine.make_folders("/w").unwrap();
    scripts::files(&machine);
    let run = Run::default();
    let first = engine(Arc::new(machine.process(2)));
    let (acting, is_second) = (machine.clone(), AtomicBool::new(false));
    machine.set_hook(move |call| {
        let is_mark = call.verb == "rename" && call.path.ends_with("journal");
        if is_mark && !is_second.swap(true, std::sync::atomic::Ordering::Relaxed) {
            // In the other folder, by another process, which dies at the same point.
            let dies = FaultFs::new(Arc::new(acting.process(3)));
            let machine = acting.clone();
            let mark = |call: &txedit::fs::fault::FaultCall| {
                call.operation == FaultOperation::Rename && call.path.ends_with("journal")
            };
            dies.add(Rule::before(1, move |_| machine.kill(3)).matching(mark));
            let second = engine(Arc::new(dies));
            second.apply(&request(vec![replaces("sub/d", "one", "two")]), run).unwrap_err();
            return Action::Kill;
        }
        Action::Continue
    });
    first.apply(&request(vec![replaces("a", "one", "two")]), run).unwrap_err();
    machine.clear_hook();
    assert_eq!(engine(Arc::new(machine.process(4))).status().unwrap().interrupted.len(), 2);
    machine
}

#[test]
fn a_sync_that_failed_is_not_tried_again() {
    // EXDEV of a swap sends a recovery back; of a sync it tells no more than EIO.
    for (nth, errno) in (1..=4).flat_map(|nth| [(nth, 5), (nth, 18)]) {
        let machine = two_interrupted();
        let faults = Arc::new(FaultFs::new(Arc::new(machine.process(5))));
        faults.add(Rule::fail(nth, errno).of(FaultOperation::SyncFileSystem));
        let fs: Arc<dyn Fs> = Arc::<FaultFs>::clone(&faults);
        let recovered = engine(fs).recover(None, RecoverOptions::default());
        assert_eq!(faults.syncs_tried_again(), [], "{errno}: {recovered:?}");
        assert_eq!(recovered.is_err(), faults.fired() > 0, "{errno}: {recovered:?}");
        machine.kill(5);
        // The next process finishes both.
        engine(Arc::new(machine.process(6))).recover(None, RecoverOptions::default()).unwrap();
        assert_eq!(
            (machine.read("/w/a").unwrap(), machine.read("/w/sub/d").unwrap()),
            (b"a two\n".into(), b"d two\n".into())
        );
    }
}
