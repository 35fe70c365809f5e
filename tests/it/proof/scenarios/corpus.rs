//! Scripts that once broke the promise: each must not do so again. The name of a file says what is expected. Those in
//! `allowed/` keep it; the judge once took them for violations.
//!
//! Every violation that was once shown has its script, or its test where the simulated machine has no part in it: real
//! processes, signals, limits of a process, the size of what is read, where an answer goes to.
//!
//! | violation | script, or file and test |
//! |---|---|
//! | acknowledged and lost on FUSE | `what_is_acknowledged_on_fuse_survives_a_power_cut`, `what_is_staged_on_fuse_survives_a_power_cut` |
//! | an acknowledged stage is gone | `what_is_staged_survives_a_power_cut_in_the_next_stage` |
//! | our own torn file called another program's | `a_torn_staged_file_of_ours_is_nobody_elses` |
//! | a check outlives a txedit that is killed, or whose terminal closes | `front_ends/cli/check.rs a_kill_during_the_check_waits_for_its_end_and_rolls_back`, `front_ends/cli/check.rs a_terminal_that_closes_stops_the_check_like_an_interrupt` |
//! | a late write into what is rolled back is deleted | `a_late_write_into_what_was_rolled_back_is_kept` |
//! | a mixture answered as unchanged | `an_append_to_a_swapped_file_is_told_when_another_fails` |
//! | permissions that were revoked come back | `an_attribute_set_in_the_moment_of_the_swap_is_not_lost`, `a_chown_by_a_check_that_fails_is_not_silently_undone` |
//! | a folder that moves in the window | `a_folder_moved_in_the_moment_of_the_swap_is_a_conflict` |
//! | root in a workspace of somebody else | `hostile/attacker.rs nothing_of_roots_changes_under_attack`, `hostile/mod.rs what_is_staged_is_deleted_through_the_held_folder` |
//! | too many open files for an undo | `front_ends/cli/revert.rs an_undo_of_many_files_needs_no_more_open_files_than_their_commit` |
//! | an undo refused after `mode: 444` | `a_mode_that_forbids_writing_can_be_undone` |
//! | another name of an original edited in place | `another_name_of_an_original_may_be_written` |
//! | an undo takes the wrong one after the clock went back | `the_newest_is_undone_where_the_clock_went_back` |
//! | one large file wipes every undo | `a_history_that_is_full_keeps_the_newest`, `history/retention.rs a_large_file_evicts_no_small_ones` |
//! | a key answers done after an undo | `a_key_after_an_undo_says_what_is_true_now` |
//! | exit status 5 though committed | `front_ends/cli/once.rs what_was_done_is_told_where_the_answer_cannot_be_written` |
//! | a write of the same size with its time set back | `a_same_size_write_with_its_time_set_back_is_told` |
//! | children that outlive a check | `front_ends/cli/check.rs nothing_that_a_check_starts_outlives_it` |
//! | an interrupt unheard while hashing | `an_interrupt_while_files_are_read_is_heard`, `transactions/cancelled.rs a_call_that_is_to_stop_does_so_within_a_few_bytes` |
//! | a check that removes its folder | `a_check_that_removes_its_folder_does_not_stop_recovery` |
//! | a folder of a container's image that a check removes is gone for good | `a_folder_of_a_lower_layer_that_a_check_removes_comes_back`, `a_folder_of_a_lower_layer_is_known_after_a_crash`, `file_systems/overlay.rs a_check_that_removes_a_folder_of_the_lower_layer_is_rolled_back` |
//! | panics without threads, and by times that no clock can tell | `front_ends/cli/starved.rs without_threads_everything_is_done_by_one`, `front_ends/cli/starved.rs times_that_no_clock_can_tell_are_as_good_as_for_ever` |
//! | a folder that became a symlink cannot be undone | `a_folder_that_became_a_symlink_is_a_folder_again` |
//! | an undo of several destroys a folder that was there, or loses one in it | `a_folder_that_was_removed_and_made_again_is_as_it_was`, `an_empty_folder_that_went_along_comes_back` |
//! | an undo of several, or one after it, is refused for another program that was not there | `an_undo_and_its_redo_are_no_conflict`, `a_folder_that_another_one_made_again_goes_with_the_first` |
//! | a redo of several loses a folder that was made by itself | `history/folders.rs a_folder_that_was_made_by_itself_comes_back_with_a_redo_of_several` |
//! | a folder that nobody could give back is removed | `front_ends/cli/refused_early.rs a_folder_of_a_group_that_is_not_ones_own_is_not_removed` |
//! | what is beneath a symlink that the request takes away goes where that led | `a_folder_in_the_place_of_a_symlink_has_what_is_beneath_it`, `requests/beneath_symlinks.rs what_leads_through_a_symlink_that_the_request_takes_away_is_refused` |
//! | no rollback ends where a symlink goes back for a file whose mode another program changed | `a_symlink_comes_back_for_a_file_whose_mode_others_changed` |
//! | a crafted state that costs much, or stops every command | `what_is_no_transaction_stops_no_command`, `hostile/crafted.rs what_is_foreign_costs_a_command_few_reads` |

use std::fs;
use std::path::Path;

use txedit::testing::scenario::{Scenario, run_sim};

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it")
}

/// What is wrong with the scripts in a folder.
fn wrong_in(scripts: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut count = 0;
    for entry in fs::read_dir(folder().join("proof/scenarios").join(scripts)).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).unwrap();
        let scenario: Scenario = text.parse().unwrap_or_else(|e| panic!("{name}: {e}"));
        if let Err(broken) = run_sim(&scenario) {
            wrong.push(format!("{name}: {}", broken.what));
        }
        count += 1;
    }
    assert!(count > 0, "the scripts are not there");
    wrong
}

/// Scripts that once broke the promise.
#[test]
fn no_script_of_the_corpus_breaks_the_promise_again() {
    let wrong = wrong_in("corpus");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Scripts that keep the promise, and that the judge once took for a violation.
#[test]
fn scripts_that_keep_the_promise_pass() {
    let wrong = wrong_in("allowed");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// What the table above names for each violation.
fn named() -> Vec<(String, Vec<String>)> {
    let rows = include_str!("corpus.rs").lines().filter_map(|line| line.strip_prefix("//! | ")).skip(1);
    let rows = rows.filter_map(|row| row.strip_suffix(" |")?.split_once(" | "));
    let all = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    // What a violation is called may have a code of its own in it.
    rows.map(|(violation, cell)| (violation.to_owned(), all(cell))).collect()
}

#[test]
fn every_violation_has_a_script_or_a_test() {
    let named = named();
    assert_eq!(named.len(), 30, "{named:?}");
    for (violation, all) in &named {
        assert!(!all.is_empty(), "{violation}");
        for one in all {
            let is_there = match one.split_once(' ') {
                Some((file, test)) => {
                    let source = fs::read_to_string(folder().join(file)).unwrap_or_default();
                    source.contains(&format!("#[test]\nfn {test}()"))
                }
                None => folder().join("proof/scenarios/corpus").join(format!("{one}.txt")).exists(),
            };
            assert!(is_there, "{violation}: there is no {one}");
        }
    }
}
