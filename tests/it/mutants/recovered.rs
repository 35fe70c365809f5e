//! Mutants of a recovery, and of what a check leads to.

use txedit::commit::forward;
use txedit::commit::protocol::{PROTOCOL, Protocol};
use txedit::commit::step::Step;
use txedit::fs::sim::SimFs;

use super::{broken, is_caught, phases_without, without};
use crate::explore::scripts;

#[test]
fn folders_that_a_recovery_leaves() {
    let finish = |ready: &[usize], mark| without(forward::finish(ready, mark), |s| s == Step::Tidy);
    is_caught(&scripts::folder().undo().protocol(broken(Protocol { finish, ..PROTOCOL })));
}

#[test]
fn folders_that_a_recovery_removed_not_synced() {
    let finish = |ready: &[usize], mark| without(forward::finish(ready, mark), |s| s == Step::SyncTidied);
    is_caught(&scripts::folder().undo().protocol(broken(Protocol { finish, ..PROTOCOL })));
}

#[test]
fn a_check_whose_mark_is_not_durable() {
    let commit = |n, terms| phases_without(forward::commit(n, terms), |s| s == Step::SyncFolder);
    let spoils = |machine: &SimFs| {
        machine.write_in_place("/w/a", b"formatted\n").unwrap();
        false
    };
    is_caught(&scripts::three_checked(spoils).protocol(broken(Protocol { commit, ..PROTOCOL })));
}
