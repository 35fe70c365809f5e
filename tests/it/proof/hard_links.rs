//! A file with two names on the simulated machine: a program writes in place through the other one, at every point of a
//! commit and after it.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use txedit::fs::fault::{FaultCall, FaultFs, FaultOperation, Rule};
use txedit::fs::sim::{Action, SimFs};
use txedit::fs::{Fs, Name};
use txedit::wire::request;
use txedit::{Durability, Engine, Outcome, PathRule};

use crate::support::workspace::{running, settings};

/// Writes through the other name before a call of a commit, if any; then again after it; and takes the commit back.
/// Answers what the file is then, or which of the two was refused.
fn reverted(
    at: u64,
    file: &serde_json::Value,
    disturb: &dyn Fn(Arc<dyn Fs>) -> Arc<dyn Fs>,
) -> Result<Vec<u8>, &'static str> {
    let sim = SimFs::new();
    sim.make_folders("/w").unwrap();
    sim.create("/w/a", "one").unwrap();
    sim.link("/w/a", "/w/other").unwrap();
    sim.advance(std::time::Duration::from_secs(60));
    let settings = settings().durability(Durability::Power);
    let engine = Engine::with_fs(disturb(Arc::new(sim.process(1))), Path::new("/w"), settings).unwrap();
    let (machine, start) = (sim.clone(), sim.calls());
    sim.set_hook(move |call| {
        if call.number == start + at {
            machine.write_in_place("/w/other", "two").unwrap();
        }
        Action::Continue
    });
    let request = request::parse(json!({ "files": [file] }).to_string().as_bytes()).unwrap();
    let done = engine.apply(&request.into_request(PathRule::AbsoluteOrRelative).unwrap(), running());
    sim.clear_hook();
    match done {
        Ok(_) => {}
        Err(error) => {
            assert_ne!(error.outcome(), Outcome::RecoveryRequired, "{at}: {error}");
            return Err("commit");
        }
    }
    sim.write_in_place("/w/other", "written later").unwrap();
    let undone = engine.undo(None, false, running());
    assert_eq!(sim.read("/w/other").unwrap(), b"written later");
    undone.map(|_| sim.read("/w/a").unwrap()).map_err(|_| "undo")
}

#[test]
fn a_write_through_another_name_does_not_change_what_an_undo_brings_back() {
    let edit = json!({ "file_path": "a", "content": "new", "if_exists": "replace" });
    let delete = json!({ "file_path": "a", "delete": true });
    for file in [edit, delete] {
        let mut committed = 0;
        for at in 0..250 {
            let content = match reverted(at, &file, &|fs| fs) {
                Err("commit") => continue,
                other => other.unwrap_or_else(|refused| panic!("{at}: the {refused} was refused")),
            };
            committed += 1;
            // What it was in the moment of the swap.
            assert!(content == b"one" || content == b"two", "{at}: {:?}", String::from_utf8_lossy(&content));
        }
        assert!(committed > 50, "{committed}");
    }
}

#[test]
fn without_a_copy_it_is_lost() {
    let without = |fs: Arc<dyn Fs>| -> Arc<dyn Fs> {
        let faults = FaultFs::new(Arc::clone(&fs));
        let named = |call: &FaultCall| call.operation == FaultOperation::Rename && call.path.ends_with("journal.new");
        let unlink = move |call: &FaultCall| {
            let folder = fs.open_folder(call.path.parent().unwrap()).unwrap();
            fs.unlink(Name::new(&folder, "000000.original")).unwrap();
        };
        faults.add(Rule::before(1, unlink).matching(named).from_then_on());
        Arc::new(faults)
    };
    let edit = json!({ "file_path": "a", "content": "new", "if_exists": "replace" });
    assert_eq!(reverted(u64::MAX / 2, &edit, &without), Err("undo"), "it was not noticed");
}
