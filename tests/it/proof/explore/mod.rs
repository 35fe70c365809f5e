//! Crashes at every point of every kind of transaction.

mod barriers;
pub(crate) mod contended;
mod gate;
mod in_git;
pub(crate) mod in_place;
mod inodes;
pub(crate) mod open;
mod pairs;
mod person;
pub(crate) mod scripts;
pub(crate) mod several;
pub(crate) mod stepwise;

use std::sync::atomic::{AtomicUsize, Ordering};

pub(crate) use barriers::{as_on_fuse, file_by_file, in_order};
use txedit::testing::{Explored, Explorer, Script};

use crate::support::is_full;

/// How much more than usual: `TXEDIT_EXPLORE=20` for a long run.
pub(crate) fn scale() -> usize {
    std::env::var("TXEDIT_EXPLORE").ok().and_then(|scale| scale.parse().ok()).unwrap_or(1)
}

/// One in how many runs is tried, of which one in `full` is tried with `TXEDIT_TEST_FULL`. By default it is a third of
/// those, and an odd number, so that the sample is not always of the same few deeds.
pub(crate) fn share(full: usize) -> usize {
    let share = if is_full() || full == 1 { full } else { (full * 3) | 1 };
    share.div_ceil(scale())
}

/// `TXEDIT_EXPLORE_SEED` chooses other samples; a failure names the seed that it came with.
pub(crate) fn seeded(explorer: Explorer) -> Explorer {
    let seed = std::env::var("TXEDIT_EXPLORE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let images = explorer.images * scale();
    let images_in_recovery = explorer.images_in_recovery * scale();
    Explorer { seed, images, images_in_recovery, ..explorer }
}

/// How many crash states this run has explored so far.
pub(crate) fn so_far(found: &Explored) -> usize {
    static TOTAL: AtomicUsize = AtomicUsize::new(0);
    TOTAL.fetch_add(found.worlds, Ordering::Relaxed) + found.worlds
}

/// Explores a script with barriers that sync the file system, with barriers that sync file by file, and with those that rest
/// on the order of metadata.
fn explore(script: &Script) {
    explore_once(script);
    explore_once(&file_by_file(script));
    explore_once(&in_order(script));
}

pub(crate) fn explore_once(script: &Script) -> Explored {
    let explorer = seeded(Explorer::default());
    let started = std::time::Instant::now();
    match explorer.explore(script) {
        Ok(found) => {
            let seconds = started.elapsed().as_secs_f32();
            eprintln!("{script:?}: {found}, in {seconds:.1} s; {} so far", so_far(&found));
            found
        }
        Err(violation) => panic!("{script:?}, TXEDIT_EXPLORE_SEED={}:\n{violation}", explorer.seed),
    }
}

#[test]
fn an_edit_is_old_or_new_after_a_crash() {
    explore(&scripts::edit());
}

#[test]
fn an_edit_of_a_file_whose_metadata_come_late_is_old_or_new_after_a_crash() {
    explore(&scripts::with_metadata());
}

#[test]
fn two_edits_are_both_old_or_both_new_after_a_crash() {
    explore(&scripts::pair());
}

#[test]
fn an_edit_of_an_empty_file_is_old_or_new_after_a_crash() {
    explore(&scripts::an_empty_one());
}

#[test]
fn a_create_is_old_or_new_after_a_crash() {
    explore(&scripts::create());
}

#[test]
fn a_delete_is_old_or_new_after_a_crash() {
    explore(&scripts::delete());
}

#[test]
fn a_mode_is_old_or_new_after_a_crash() {
    explore(&scripts::mode());
}

#[test]
fn a_file_in_a_new_folder_is_old_or_new_after_a_crash() {
    explore(&scripts::folder());
}

#[test]
fn a_rename_is_old_or_new_after_a_crash() {
    explore(&scripts::rename());
}

#[test]
fn a_file_that_becomes_a_folder_is_old_or_new_after_a_crash() {
    explore_once(&scripts::file_to_folder());
}

#[test]
fn a_folder_that_becomes_a_file_is_old_or_new_after_a_crash() {
    explore_once(&scripts::folder_to_file());
}

#[test]
fn a_file_and_a_folder_that_become_each_other_are_old_or_new_after_a_crash_and_so_is_the_undo() {
    explore_once(&scripts::file_and_folder().undo());
}

#[test]
fn folders_that_are_made_are_old_or_new_after_a_crash_and_so_is_the_undo() {
    explore(&scripts::folders_made());
    explore_once(&scripts::folders_made().undo());
}

#[test]
fn folders_that_are_removed_are_old_or_new_after_a_crash_and_so_is_the_undo() {
    explore(&scripts::folders_removed());
    explore_once(&scripts::folders_removed().undo());
}

#[test]
fn a_folder_that_becomes_a_symlink_is_old_or_new_after_a_crash_and_so_is_the_undo() {
    explore_once(&scripts::folder_to_link());
    explore_once(&scripts::folder_to_link().undo());
}

/// What the folder was before comes back behind the commit, and after a crash as well.
#[test]
fn a_folder_that_was_made_again_is_as_it_was_after_a_crash() {
    explore_once(&scripts::folder_made_again());
    explore_once(&file_by_file(&scripts::folder_made_again()));
}

#[test]
fn files_that_are_given_away_are_old_or_new_after_a_crash() {
    explore(&scripts::taken());
    explore_once(&as_on_fuse(&scripts::taken()));
}

#[test]
fn names_that_change_places_are_old_or_new_after_a_crash() {
    explore(&scripts::change_places());
}

#[test]
fn an_edit_a_create_and_a_delete_are_all_old_or_all_new_after_a_crash() {
    explore(&scripts::three());
}

#[test]
fn a_transaction_and_its_undo_are_old_or_new_after_a_crash() {
    explore(&scripts::edit_and_undo());
}

#[test]
fn all_kinds_of_changes_and_their_undo_are_old_or_new_after_a_crash() {
    explore_once(&scripts::everything_and_undo());
    // It takes as long as all the others.
    if scale() > 1 {
        explore_once(&file_by_file(&scripts::everything_and_undo()));
    }
}

#[test]
fn two_transactions_on_one_file_are_old_or_new_after_a_crash() {
    explore(&scripts::twice());
}

#[test]
fn the_first_transaction_of_a_workspace_is_old_or_new_after_a_crash() {
    explore(&scripts::edit().cold());
}
