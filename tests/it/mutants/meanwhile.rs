//! What somebody does meanwhile to permissions and folders, with the rule broken that keeps it.

use std::sync::Arc;

use txedit::commit::forward;
use txedit::commit::protocol::{PROTOCOL, Protocol};
use txedit::commit::step::Step;
use txedit::fs::Fs;
use txedit::fs::fault::{Call, FaultFs, Operation, Rule};
use txedit::journal::recover::{Observed, Seen};
use txedit::journal::{Record, recover};
use txedit::testing::{Deed, Role};

use super::{broken, is_caught_with, phases_without};
use crate::explore::scripts;

#[test]
fn permissions_that_are_not_looked_at() {
    let commit = |n, terms| phases_without(forward::commit(n, terms), |s| matches!(s, Step::Look(_)));
    let files = vec![scripts::replaces("a", "one", "two")];
    let script = scripts::attributed().apply(scripts::request(files));
    for permission in crate::foreign::permissions("/w/a") {
        is_caught_with(&script.clone().protocol(broken(Protocol { commit, ..PROTOCOL })), &[permission]);
    }
}

#[test]
fn an_original_told_by_its_digest_alone() {
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
    is_caught_with(&script, &[("/w/c", Deed::Chmod(0o600)), ("/w/a", Deed::Chmod(0o600))]);
}

#[test]
fn permissions_that_are_not_handed_over() {
    let takes_back = |machine: &txedit::fs::sim::SimFs, role, fs: Arc<dyn Fs>| -> Arc<dyn Fs> {
        if role != Role::Act {
            return fs;
        }
        let (faults, machine) = (FaultFs::new(fs), machine.clone());
        let reset = move |call: &Call| machine.set_mode(&call.path, 0o644).unwrap();
        faults.add(Rule::after(1, reset).matching(|call| call.operation == Operation::SetMetadata).from_then_on());
        Arc::new(faults)
    };
    let files = scripts::request(vec![scripts::replaces("c", "one", "two")]);
    let script = scripts::script("closed").apply_checked(files, |_| false).disturb(takes_back);
    is_caught_with(&script, &[("/w/c", Deed::Chmod(0o600))]);
}

#[test]
fn folders_that_are_not_verified() {
    let commit = |n, terms| phases_without(forward::commit(n, terms), |s| s == Step::VerifyFolders);
    let script = scripts::three().protocol(broken(Protocol { commit, ..PROTOCOL }));
    is_caught_with(&script, &[("/w/sub", Deed::MoveFolder("/w/elsewhere".into()))]);
}
