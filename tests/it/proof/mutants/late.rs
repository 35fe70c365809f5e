//! Mutants of what may be deleted: a program that still has a file open writes into it.

use std::time::Duration;

use txedit::journal::Record;
use txedit::testing::ForeignDeed;
use txedit::testing::internals::commit::protocol::{PROTOCOL, Protocol};
use txedit::testing::internals::journal::recover;
use txedit::testing::internals::journal::recover::{Class, Observed};

use super::{broken, is_caught_with, scenes, without_crashes};
use crate::proof::explore::scripts;
use crate::proof::foreign::late;

#[test]
fn content_rolled_back_and_unlinked_without_a_look_is_noticed() {
    let script = scripts::three_checked(|_| false).protocol(broken(Protocol { may_go: |_, _, _| true, ..PROTOCOL }));
    is_caught_with(&script, &late::late_writers());
}

#[test]
fn content_rolled_back_and_told_by_its_inode_alone_is_noticed() {
    let may_go = |record: &Record, _, seen| record.change.staged().is_some_and(|staged| recover::is(seen, staged));
    let script = scripts::three_checked(|_| false).protocol(broken(Protocol { may_go, ..PROTOCOL }));
    is_caught_with(&script, &late::late_writers());
}

#[test]
fn content_rolled_back_and_unlinked_at_once_is_noticed() {
    let script = late::rejected_then_committed();
    is_caught_with(&script.protocol(broken(Protocol { grace: Duration::ZERO, ..PROTOCOL })), &late::late_writers());
}

#[test]
fn pruned_content_unlinked_without_a_look_is_noticed() {
    late::pruned(broken(Protocol { may_go: |_, _, _| true, ..PROTOCOL })).unwrap_err();
}

#[test]
fn an_undo_that_says_of_every_file_that_it_is_old_is_noticed() {
    // Whoever came on top of the new content is taken for somebody who came before it.
    let classify = |record: &Record, observed: &Observed| match recover::classify(record, observed) {
        Class::OnTop | Class::Unknown => Class::Before,
        other => other,
    };
    let script = scripts::pair().protocol(broken(Protocol { classify, ..PROTOCOL }));
    let deeds =
        [("/w/a", ForeignDeed::Write(b"theirs\n".to_vec())), ("/w/b", ForeignDeed::Write(b"theirs\n".to_vec()))];
    match without_crashes().explore_two_deeds(&script, &deeds, 7) {
        Ok(found) => panic!("not noticed: {found}"),
        Err(violation) => {
            assert!(violation.what.contains("nobody is told"), "{violation}");
        }
    }
}

#[test]
fn content_kept_by_a_commit_and_not_synced_before_the_report_is_noticed() {
    scenes::what_a_commit_keeps(scenes::plain).unwrap();
    scenes::what_a_commit_keeps(scenes::no_sync_of_what_is_kept).unwrap_err();
}
