//! What is in a slot, and whose it is.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use txedit::Run;
use txedit::fs::sim::{Action, SimFs};
use txedit::testing::internals::commit::Protocol;

use super::{Scene, THEIRS, engine, plain, settled, theirs_survives};
use crate::proof::explore::scripts::{replaces, request};

/// A commit finds that its file was written in the moment of the swap, and takes it back; somebody who opened the new
/// file before that writes into it; the power goes before anything says that it was ever swapped.
pub(crate) fn written_into_a_new_file_that_is_rolled_back(protocol: &'static Protocol) -> Scene {
    let machine = settled(|_| ());
    let cut: Arc<Mutex<Option<SimFs>>> = Arc::default();
    let (kept, acting) = (Arc::clone(&cut), machine.clone());
    let (swaps, held) = (AtomicUsize::new(0), Mutex::new(None));
    machine.set_hook(move |call| {
        if call.verb == "rename" && call.path.ends_with("000000") {
            match swaps.fetch_add(1, Ordering::Relaxed) {
                0 => acting.write_in_place("/w/a", b"in the way\n").unwrap(),
                _ => *held.lock().unwrap() = Some(acting.open("/w/a").unwrap()),
            }
        }
        if call.verb == "rename" && call.path.ends_with("journal") {
            let held = held.lock().unwrap().take().expect("it was swapped, and is rolled back");
            held.write_at(0, THEIRS).unwrap();
            *kept.lock().unwrap() = Some(acting.fork());
        }
        Action::Continue
    });
    engine(&machine, 2, protocol, plain)
        .apply(&request(vec![replaces("a", "one", "two")]), Run::default())
        .unwrap_err();
    machine.clear_hook();
    let cut = cut.lock().unwrap().take();
    theirs_survives(cut.as_slice(), protocol)
}
