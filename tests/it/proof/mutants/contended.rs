//! Mutants of commits beside a program that is quicker than a sync.

use txedit::testing::Explorer;
use txedit::testing::internals::commit::protocol::{PROTOCOL, Protocol};
use txedit::testing::internals::commit::step::{Barrier, CommitStep, RollbackStep};
use txedit::testing::internals::commit::{backward, forward};
use txedit::testing::internals::journal::recover;

use super::{broken, phases_without, without};
use crate::proof::explore::{contended, scripts};

/// A power loss after a content was made anew must show what is broken.
fn is_caught(protocol: Protocol) {
    match contended::made_anew(&scripts::edit().protocol(broken(protocol))) {
        Ok(found) => panic!("not noticed: {found}"),
        Err(violation) => eprintln!("noticed:\n{violation}"),
    }
}

#[test]
fn contents_not_durable_before_the_done_state_are_noticed() {
    let commit = |n, terms| phases_without(forward::commit(n, terms), |s| s == CommitStep::Barrier(Barrier::Contents));
    is_caught(Protocol { commit, ..PROTOCOL });
}

#[test]
fn a_content_made_anew_before_the_name_that_tells_of_it_is_durable_is_noticed() {
    let commit = |n, terms| {
        let mut phases = forward::commit(n, terms);
        phases[0].steps.retain(|step| *step != CommitStep::SyncFolder);
        phases
    };
    is_caught(Protocol { commit, ..PROTOCOL });
}

#[test]
fn a_journal_that_tells_of_the_first_contents_is_noticed() {
    let commit = |n, terms| phases_without(forward::commit(n, terms), |s| s == CommitStep::ReplaceJournal);
    is_caught(Protocol { commit, ..PROTOCOL });
}

#[test]
fn contents_that_are_not_known_told_by_their_digests_are_noticed() {
    is_caught(Protocol { classify_contended: recover::classify, ..PROTOCOL });
}

/// The done state that failed may be there: whoever rolls back under it, and is killed, is recovered forward.
#[test]
fn a_rollback_without_a_look_at_the_name_of_the_journal_is_noticed() {
    let rollback = |n, mark, durable| without(backward::rollback(n, mark, durable), |s| s == RollbackStep::VerifyState);
    let script = scripts::pair().contended().protocol(broken(Protocol { rollback, ..PROTOCOL }));
    let explorer = Explorer { images: 4, images_in_recovery: 4, depth: 1, ..Explorer::default() };
    match explorer.inject(&script, None, 1) {
        Ok(found) => panic!("not noticed: {found}"),
        Err(violation) => eprintln!("noticed:\n{violation}"),
    }
}
