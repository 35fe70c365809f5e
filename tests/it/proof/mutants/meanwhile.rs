//! What somebody does meanwhile to permissions and folders, with the rule broken that keeps it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use txedit::Run;
use txedit::fs::Fs;
use txedit::fs::fault::{FaultCall, FaultFs, FaultOperation, Rule};
use txedit::fs::sim::{Action, SimFs};
use txedit::journal::Record;
use txedit::limits::READ_AGAIN_BYTES;
use txedit::testing::internals::commit::forward;
use txedit::testing::internals::commit::protocol::{PROTOCOL, Protocol};
use txedit::testing::internals::commit::step::CommitStep;
use txedit::testing::internals::journal::recover;
use txedit::testing::internals::journal::recover::{Observed, Seen};
use txedit::testing::{ForeignDeed, Role, Script};

use super::{broken, is_caught_with, phases_without, without_crashes};
use crate::proof::explore::scripts;

#[test]
fn permissions_that_are_not_looked_at_are_noticed() {
    let commit = |n, terms| phases_without(forward::commit(n, terms), |s| matches!(s, CommitStep::VerifySwap(_)));
    let files = vec![scripts::replaces("a", "one", "two")];
    let script = scripts::attributed().apply(scripts::request(files));
    for permission in crate::proof::foreign::permissions("/w/a") {
        is_caught_with(&script.clone().protocol(broken(Protocol { commit, ..PROTOCOL })), &[permission]);
    }
}

#[test]
fn an_original_told_by_its_digest_alone_is_noticed() {
    let classify = |record: &Record, observed: &Observed| {
        let (Some(before), Seen::File { digest, identity, .. }) = (record.change.before(), observed.slot) else {
            return recover::classify(record, observed);
        };
        let (mode, access) = (before.mode, before.access.unwrap());
        recover::classify(record, &Observed { slot: Seen::File { digest, mode, access, identity }, ..*observed })
    };
    let files = vec![scripts::replaces("a", "one", "two"), scripts::replaces("c", "one", "two")];
    let script = scripts::attributed().apply(scripts::request(files));
    let script = script.protocol(broken(Protocol { classify, ..PROTOCOL }));
    is_caught_with(&script, &[("/w/c", ForeignDeed::Chmod(0o600)), ("/w/a", ForeignDeed::Chmod(0o600))]);
}

#[test]
fn permissions_that_are_not_handed_over_are_noticed() {
    let rolls_back = |machine: &SimFs, role, fs: Arc<dyn Fs>| -> Arc<dyn Fs> {
        if role != Role::Act {
            return fs;
        }
        let (faults, machine) = (FaultFs::new(fs), machine.clone());
        let reset = move |call: &FaultCall| machine.set_mode(&call.path, 0o644).unwrap();
        faults.add(Rule::after(1, reset).matching(|call| call.operation == FaultOperation::SetMetadata).from_then_on());
        Arc::new(faults)
    };
    let files = scripts::request(vec![scripts::replaces("c", "one", "two")]);
    let script = scripts::script("closed").apply_checked(files, |_| false).disturb(rolls_back);
    is_caught_with(&script, &[("/w/c", ForeignDeed::Chmod(0o600))]);
}

#[test]
fn folders_that_are_not_verified_are_noticed() {
    let commit = |n, terms| phases_without(forward::commit(n, terms), |s| s == CommitStep::VerifyFolders);
    let script = scripts::three().protocol(broken(Protocol { commit, ..PROTOCOL }));
    is_caught_with(&script, &[("/w/sub", ForeignDeed::MoveFolder("/w/elsewhere".into()))]);
}

/// Somebody writes a file right before it goes back, so that it is put where it was again; an attribute that was set
/// meanwhile comes to what is kept: whether the file has it.
fn is_handed_on(disturb: impl Fn(Arc<dyn Fs>) -> Arc<dyn Fs>) -> bool {
    let machine = SimFs::new();
    machine.make_folders("/w").unwrap();
    scripts::files(&machine);
    let (acting, swaps) = (machine.clone(), AtomicUsize::new(0));
    machine.set_hook(move |call| {
        if call.verb == "rename" && call.to.is_some_and(|to| to.ends_with("w/a")) {
            match swaps.fetch_add(1, Ordering::Relaxed) {
                0 => {}
                1 => acting.append("/w/a", "theirs\n").unwrap(),
                _ => acting.set_attribute("/w/a", "user.theirs", b"theirs").unwrap(),
            }
        }
        Action::Continue
    });
    // The name of what is made last is taken, so that what was swapped before is rolled back.
    let (taking, files) =
        (machine.clone(), vec![scripts::replaces("a", "one", "two"), scripts::creates("b2", "b two\n")]);
    let faults = FaultFs::new(disturb(Arc::new(machine.process(1))));
    let creates = |call: &FaultCall| call.to.as_ref().is_some_and(|to| to.ends_with("w/b2"));
    faults.add(Rule::before(1, move |_| taking.create("/w/b2", "theirs\n").unwrap()).matching(creates));
    let engine = Script::new("handed on", |_| ()).engine(Arc::new(faults)).unwrap();
    engine.apply(&scripts::request(files), Run::default()).unwrap_err();
    machine.clear_hook();
    assert_eq!(machine.read("/w/a").unwrap(), b"a two\ntheirs\n");
    machine.tree()[Path::new("/w/a")].extended.iter().any(|(name, _)| name == "user.theirs")
}

#[test]
fn permissions_that_are_not_handed_on_are_noticed() {
    assert!(is_handed_on(|fs| fs));
    let gives = |call: &FaultCall| call.operation == FaultOperation::SetMetadata && call.path.ends_with("w/a");
    let unset = |fs| -> Arc<dyn Fs> {
        let faults = FaultFs::new(fs);
        faults.add(Rule::pretend(1).matching(gives).from_then_on());
        Arc::new(faults)
    };
    assert!(!is_handed_on(unset), "it was not noticed");
}

#[test]
fn a_young_time_that_proves_something_is_noticed() {
    // The clock stands still: a change of the same size leaves no trace but its bytes. What is smaller is read again
    // whatever its time says.
    let large = |start: &str| start.to_owned() + &" ".repeat(usize::try_from(READ_AGAIN_BYTES).unwrap());
    let young = || {
        Script::new("young", move |machine| {
            machine.settings(|settings| settings.tick = std::time::Duration::ZERO);
            machine.create("/w/a", large("a one\n")).unwrap();
        })
        .apply(scripts::request(vec![scripts::replaces("a", "one", "two")]))
    };
    let deeds = [("/w/a", ForeignDeed::Write(large("a 1ne\n").into_bytes()))];
    let found = without_crashes().explore_deeds(&young(), &deeds, 1);
    found.unwrap_or_else(|violation| panic!("{violation}"));
    is_caught_with(
        &young().protocol(broken(Protocol { is_told_by_time: |size, _, _| size > READ_AGAIN_BYTES, ..PROTOCOL })),
        &deeds,
    );
}
