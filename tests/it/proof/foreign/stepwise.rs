//! Foreign programs where names change places step by step: they may come while a file has no name.

use txedit::testing::ForeignDeed;

use super::{creations, deeds, deeds_of_three, explore, permissions};
use crate::proof::explore::scripts;
use crate::proof::explore::stepwise::step_by_step;

/// What somebody may do to a file that is there, and to its name while it is free.
fn deeds_in_the_gap() -> Vec<(&'static str, ForeignDeed)> {
    let mut all = deeds("/w/a", "a one\n", "a two\n");
    all.extend(creations("/w/a", "a two\n"));
    all
}

#[test]
fn an_edit_loses_nothing_that_others_write() {
    for script in step_by_step(&scripts::edit()) {
        explore(&script, &deeds_in_the_gap(), 60);
    }
}

#[test]
fn a_delete_loses_nothing_that_others_write() {
    for script in step_by_step(&scripts::delete()) {
        explore(&script, &deeds_in_the_gap(), 90);
    }
}

#[test]
fn a_commit_of_three_loses_nothing_that_others_write() {
    for script in step_by_step(&scripts::three()) {
        explore(&script, &deeds_of_three(), 400);
    }
}

#[test]
fn permissions_that_others_give_are_kept() {
    let script = scripts::attributed().apply(scripts::request(vec![scripts::replaces("a", "one", "two")]));
    for script in step_by_step(&script) {
        explore(&script, &permissions("/w/a"), 30);
    }
}

#[test]
fn what_others_write_beside_a_check_that_fails_is_kept() {
    let script = scripts::three_checked(|_| false);
    for script in step_by_step(&script) {
        explore(&script, &deeds_of_three(), 400);
    }
}
