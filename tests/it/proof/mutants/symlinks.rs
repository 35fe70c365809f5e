//! What protects symlinks.

use txedit::testing::ForeignDeed;
use txedit::testing::internals::commit::forward;
use txedit::testing::internals::commit::protocol::{PROTOCOL, Protocol};
use txedit::testing::internals::commit::step::CommitStep;

use super::{broken, is_caught_with, phases_without};
use crate::proof::explore::scripts;

/// Somebody retargets the symlink, and neither its size nor its time tells.
fn retargeted() -> Vec<(&'static str, ForeignDeed)> {
    vec![("/w/to-a", ForeignDeed::SymlinkKeepingTime(b"c".to_vec()))]
}

#[test]
fn a_target_that_is_not_verified_after_the_swap_is_noticed() {
    let protocol = broken(Protocol { is_same_target: |_, _| true, ..PROTOCOL });
    is_caught_with(&scripts::retarget().protocol(protocol), &retargeted());
}

#[test]
fn symlinks_that_are_not_looked_at_after_the_swap_are_noticed() {
    let commit = |n, terms| phases_without(forward::commit(n, terms), |step| matches!(step, CommitStep::VerifySwap(_)));
    is_caught_with(&scripts::retarget().protocol(broken(Protocol { commit, ..PROTOCOL })), &retargeted());
}
