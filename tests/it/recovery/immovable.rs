//! A commit that is interrupted before a folder that cannot be moved: one of an overlay's lower layer.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use txedit::fs::fault::{FaultCall, FaultFs, FaultOperation, Rule};
use txedit::fs::sim::{Action, SimFs};
use txedit::report::RecoveryAction;
use txedit::{Engine, PathRule, RecoverOptions, Run, Settings};

#[test]
fn a_recovery_that_cannot_move_a_folder_rolls_back() {
    let sim = SimFs::new();
    sim.make_folders("/w/d").unwrap();
    sim.create("/w/d/e", "old e").unwrap();
    sim.advance(Duration::from_secs(60));
    let settings = || Settings::default().lock_timeout(Duration::ZERO);
    let engine = |fs| Engine::with_fs(fs, Path::new("/w"), settings()).unwrap();
    let plan = br#"{"files": [{"file_path": "d/e", "delete": true}, {"file_path": "d", "remove_folder": true}]}"#;
    let request = txedit::wire::parse(plan).unwrap().into_request(PathRule::AbsoluteOrRelative).unwrap();
    // Killed right before the folder is moved out of its name.
    sim.set_hook(
        |call| if call.verb == "rename" && call.path == Path::new("/w/d") { Action::Kill } else { Action::Continue },
    );
    engine(Arc::new(sim.process(1))).apply(&request, Run::default()).unwrap_err();
    sim.clear_hook();
    assert!(!sim.exists("/w/d/e"), "something was swapped");

    let faults = Arc::new(FaultFs::new(Arc::new(sim.process(2))));
    let moves = |call: &FaultCall| call.operation == FaultOperation::Rename && call.path == Path::new("/w/d");
    faults.add(Rule::fail(1, libc::EXDEV).matching(moves).from_then_on());
    let recovered = engine(faults).recover(None, RecoverOptions::default()).unwrap();
    assert_eq!(recovered[0].action, RecoveryAction::RolledBack, "{recovered:?}");
    assert_eq!(sim.read("/w/d/e").unwrap(), b"old e");
}
