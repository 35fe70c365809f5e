//! File systems that give an inode number again, and such as keep no birth times.
//!
//! Without birth times a journal from before a power loss cannot be told from a copy: a person vouches for it here. And
//! with neither birth times nor numbers of their own, a file that somebody makes with the very content that the
//! transaction makes cannot be told from the transaction's own; only that one case is left out.

use txedit::fs::sim::Volume;
use txedit::testing::{ForeignDeed, Script};

use super::scripts;
use crate::proof::foreign::{creations, deeds, explore};

fn reuses(volume: &mut Volume) {
    volume.reuse_inodes = true;
}

fn has_no_births(volume: &mut Volume) {
    volume.birth_times = false;
}

/// Somebody deletes what is there and makes a file with one of these contents in its place.
fn anew<'a>(path: &'a str, contents: &[&str]) -> Vec<(&'a str, ForeignDeed)> {
    contents.iter().map(|content| (path, ForeignDeed::Recreate((*content).into()))).collect()
}

const OF_AN_EDIT: [&str; 4] = ["a one\n", "a two\n", "owt a\n", "somebody else's\n"];

#[test]
fn an_edit_tells_a_file_apart_that_is_made_anew_with_the_same_number() {
    explore(&scripts::edit().on(reuses).named("numbers given again"), &anew("/w/a", &OF_AN_EDIT), 40);
}

#[test]
fn a_delete_tells_a_file_apart_that_is_made_anew_with_the_same_number() {
    explore(&scripts::delete().on(reuses).named("numbers given again"), &anew("/w/a", &OF_AN_EDIT), 40);
}

#[test]
fn a_created_file_is_told_apart_from_one_that_is_made_anew_with_the_same_number() {
    let mut deeds = anew("/w/sub/new", &["new two\n", "somebody else's\n"]);
    deeds.extend(anew("/w/a", &["a two\n"]));
    explore(&scripts::three().on(reuses).named("numbers given again"), &deeds, 60);
}

#[test]
fn crashes_without_birth_times_leave_old_or_new() {
    for script in [scripts::edit(), scripts::create(), scripts::delete(), scripts::rename(), scripts::edit_and_undo()] {
        super::explore_once(&script.on(has_no_births).named("no birth times"));
    }
}

#[test]
fn foreign_writes_without_birth_times_are_not_lost() {
    let named = |script: Script| script.on(has_no_births).named("no birth times");
    explore(&named(scripts::edit()), &deeds("/w/a", "a one\n", "a two\n"), 200);
    explore(&named(scripts::create()), &creations("/w/new", "new two\n"), 200);
}

#[test]
fn foreign_writes_without_birth_times_are_not_lost_where_numbers_are_given_again() {
    let script = scripts::three().on(has_no_births).on(reuses).named("no birth times, numbers given again");
    let mut deeds = anew("/w/sub/new", &["somebody else's\n"]);
    deeds.extend(anew("/w/a", &["a one\n", "somebody else's\n"]));
    explore(&script, &deeds, 60);
}
