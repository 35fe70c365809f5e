//! The corpus, tested: each of its scripts turns red where what it once showed is put back.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use txedit::fs::Name;
use txedit::fs::fault::{FaultCall, FaultFs, FaultOperation, Rule};
use txedit::journal::{JournalState, Record, RecordedChange};
use txedit::testing::internals::commit::protocol::{PROTOCOL, Protocol};
use txedit::testing::internals::commit::step::{CommitStep, RollbackStep};
use txedit::testing::internals::commit::{backward, forward};
use txedit::testing::internals::journal::recover;
use txedit::testing::internals::journal::recover::{Class, Observed};
use txedit::testing::scenario::{Player, Scenario, play};

use super::{broken, phases_without, without};

fn by(protocol: Protocol) -> Player {
    Player::with_protocol(broken(protocol))
}

/// Calls of the engine that are not made, and say that they were.
fn without_calls(are_left_out: impl Fn(&FaultCall) -> bool + Copy + Send + Sync + 'static) -> Player {
    Player::behind(move |_, fs| {
        let faults = FaultFs::new(fs);
        faults.add(Rule::pretend(1).matching(are_left_out).from_then_on());
        Arc::new(faults)
    })
}

fn is_inside(path: &Path) -> bool {
    path.starts_with("/w/.txedit")
}

fn without_finding_folders() -> Player {
    let rollback = |n, state, durable| {
        let steps = without(backward::rollback(n, state, durable), |s| matches!(s, RollbackStep::FindFolder(_)));
        without(steps, |s| matches!(s, RollbackStep::RollBackInside(_)))
    };
    by(Protocol { rollback, ..PROTOCOL })
}

fn without_rolling_back_inside() -> Player {
    let rollback = |n, state, durable| {
        without(backward::rollback(n, state, durable), |s| matches!(s, RollbackStep::RollBackInside(_)))
    };
    by(Protocol { rollback, ..PROTOCOL })
}

/// What goes back into a slot, or out of one, keeps its metadata.
fn without_handing_over() -> Player {
    without_calls(|call| call.operation == FaultOperation::SetMetadata && is_inside(&call.path))
}

fn without_any_permissions() -> Player {
    without_calls(|call| call.operation == FaultOperation::SetMetadata)
}

fn without_handing_on() -> Player {
    without_calls(|call| call.operation == FaultOperation::SetMetadata && !is_inside(&call.path))
}

fn without_verified_folders() -> Player {
    let commit = |n, terms| phases_without(forward::commit(n, terms), |s| s == CommitStep::VerifyFolders);
    by(Protocol { commit, ..PROTOCOL })
}

/// Whether one of these calls was made.
fn seen(
    faults: &FaultFs,
    calls: impl Fn(&FaultCall) -> bool + Send + Sync + 'static,
) -> Box<dyn Fn() -> bool + Send + Sync> {
    let is_seen = Arc::new(AtomicBool::new(false));
    let note = Arc::clone(&is_seen);
    faults.add(Rule::after(1, move |_| note.store(true, Relaxed)).matching(calls));
    Box::new(move || is_seen.load(Relaxed))
}

/// Whether a call gives the journal this name.
fn sets_state(call: &FaultCall, state: JournalState) -> bool {
    call.to.as_ref().is_some_and(|to| to.ends_with(state.file_name()))
}

/// Which folders a redo made again is not looked for.
fn without_a_history_of_folders() -> Player {
    by(Protocol { is_made_again: |_, _| false, ..PROTOCOL })
}

/// What stays in the workspace keeps the metadata that it has.
fn without_giving_back() -> Player {
    without_calls(|call| call.operation == FaultOperation::SetMetadata && !is_inside(&call.path))
}

fn without_a_sync_of_a_found_state_folder() -> Player {
    Player::behind(|_, fs| {
        let faults = FaultFs::new(fs);
        let is_journal_there = seen(&faults, |call| call.path.ends_with("journal.new"));
        let syncs =
            move |call: &FaultCall| call.operation == FaultOperation::Sync && call.path == Path::new("/w/.txedit");
        faults.add(Rule::pretend(1).matching(move |call| syncs(call) && is_journal_there()).from_then_on());
        Arc::new(faults)
    })
}

fn with_a_newest_that_weighs() -> Player {
    by(Protocol { room_for: |_, bytes| bytes, ..PROTOCOL })
}

fn without_a_look_at_what_goes() -> Player {
    by(Protocol { may_go: |_, _, _| true, grace: Duration::ZERO, ..PROTOCOL })
}

fn without_a_class_of_what_went_back() -> Player {
    by(Protocol { classify_checked: recover::classify, ..PROTOCOL })
}

fn without_owners_of_folders() -> Player {
    by(Protocol { is_of_owner: |_, _| true, ..PROTOCOL })
}

fn without_looks() -> Player {
    let commit = |n, terms| phases_without(forward::commit(n, terms), |s| matches!(s, CommitStep::VerifySwap(_)));
    by(Protocol { commit, ..PROTOCOL })
}

fn with_contents_told_by_their_times() -> Player {
    by(Protocol { is_told_by_time: |_, modified, read_at| !recover::is_young(modified, read_at), ..PROTOCOL })
}

fn with_the_time_of_what_was_moved() -> Player {
    let is_incomplete = |record: &Record, seen, ages| {
        recover::is_incomplete(record, seen, ages) && !matches!(record.change, RecordedChange::Create { .. })
    };
    by(Protocol { is_incomplete, ..PROTOCOL })
}

/// An original is known by its birth time.
fn without_originals_that_were_copied_up() -> Player {
    let classify_checked = |record: &Record, observed: &Observed| {
        let is_original = record.change.original().is_some_and(|original| recover::is(observed.target, original));
        if is_original { recover::classify_checked(record, observed) } else { recover::classify(record, observed) }
    };
    by(Protocol { classify_checked, ..PROTOCOL })
}

/// A state folder that an overlay has copied is taken for one that was moved.
fn with_another_word_after_a_copy() -> Player {
    by(Protocol { was_copied_up: |_, _| false, ..PROTOCOL })
}

fn without_doubts() -> Player {
    by(Protocol { is_in_doubt: |_, _| false, ..PROTOCOL })
}

fn without_anything_torn() -> Player {
    by(Protocol { is_incomplete: |_, _, _| false, ..PROTOCOL })
}

fn with_every_file_old() -> Player {
    let classify = |record: &Record, observed: &Observed| match recover::classify(record, observed) {
        Class::OnTop | Class::Unknown => Class::Before,
        other => other,
    };
    by(Protocol { classify, ..PROTOCOL })
}

fn without_copies() -> Player {
    Player::behind(|_, fs| {
        let faults = FaultFs::new(Arc::clone(&fs));
        let written = |call: &FaultCall| call.operation == FaultOperation::Create && call.path.ends_with("journal.new");
        let unlink = move |call: &FaultCall| {
            let folder = fs.open_folder(call.path.parent().unwrap()).unwrap();
            drop(fs.unlink(Name::new(&folder, "000000.original")));
        };
        faults.add(Rule::before(1, unlink).matching(written).from_then_on());
        Arc::new(faults)
    })
}

fn with_a_mark_that_does_not_move() -> Player {
    without_calls(|call| call.operation == FaultOperation::Rename && call.path.to_string_lossy().contains("newest."))
}

fn with_one_name_for_all_that_is_aside() -> Player {
    Player::behind(|machine, fs| {
        let faults = FaultFs::new(fs);
        let machine = machine.clone();
        let aside = |call: &FaultCall| call.to.as_ref().is_some_and(|to| to.to_string_lossy().ends_with(".kept.1"));
        let rename = move |call: &FaultCall| {
            let to = call.to.as_ref().unwrap();
            machine.rename(to, to.with_extension("")).unwrap();
        };
        faults.add(Rule::after(1, rename).matching(aside).from_then_on());
        Arc::new(faults)
    })
}

/// A new folder whose name a power cut took is not looked for in its slot.
fn without_a_look_into_the_slot() -> Player {
    Player::behind(|_, fs| {
        let faults = FaultFs::new(fs);
        let is_begun = seen(&faults, |call| sets_state(call, JournalState::CheckUndo));
        let opens = |call: &FaultCall| call.operation == FaultOperation::OpenBeneath && call.path == Path::new("/w/g");
        let is_sought = seen(&faults, move |call| opens(call) && is_begun());
        let looks = move |call: &FaultCall| call.operation == FaultOperation::Stat && call.path.ends_with("000000");
        faults.add(Rule::miss(1).matching(move |call| looks(call) && is_sought()));
        Arc::new(faults)
    })
}

/// A sync of the whole file system is believed everywhere.
fn without_syncs_of_files() -> Player {
    without_calls(|call| call.operation == FaultOperation::Sync)
}

fn without_syncs_of_file_systems() -> Player {
    without_calls(|call| call.operation == FaultOperation::SyncFileSystem)
}

fn with_files_that_have_no_entry() -> Player {
    by(Protocol { have_entries: |_, _| true, ..PROTOCOL })
}

/// A script, a mutant that it notices, and what the judge says of that.
type Noticed = (&'static str, fn() -> Player, &'static str);

const NOTICED: [Noticed; 39] = [
    (
        "a_check_that_fails_leaves_the_folder_of_another_owner",
        without_owners_of_folders,
        "of somebody else's was Some([(\"f\"",
    ),
    (
        "a_check_that_saves_the_new_content_anew_is_rolled_back",
        without_a_class_of_what_went_back,
        "nobody but its check acted",
    ),
    (
        "a_check_that_removes_its_folder_does_not_stop_recovery",
        without_finding_folders,
        "recovery fails: the folder of d/e is gone",
    ),
    (
        "a_new_file_in_a_folder_that_was_elsewhere_is_rolled_back",
        without_rolling_back_inside,
        "and nothing tells of it",
    ),
    ("a_new_file_that_was_saved_anew_before_a_recovery_is_named", without_doubts, "is said to be as before"),
    ("a_chown_by_a_check_that_fails_is_not_silently_undone", without_handing_over, "and nothing tells of it"),
    ("a_folder_moved_before_a_checked_swap_has_its_old_files", without_verified_folders, "a folder was moved before"),
    ("a_folder_moved_in_the_moment_of_the_swap_is_a_conflict", without_verified_folders, "a folder was moved before"),
    ("a_history_that_is_full_keeps_the_newest", with_a_newest_that_weighs, "an undo is refused"),
    ("a_late_write_into_an_original_is_named_truly", without_a_look_at_what_goes, "status does not tell"),
    ("a_late_write_into_what_was_rolled_back_is_kept", without_a_look_at_what_goes, "out of reach: F3"),
    (
        "a_mode_given_to_the_new_file_goes_to_what_came_out_in_its_place",
        without_any_permissions,
        "and nothing tells of it",
    ),
    ("a_mode_set_back_while_a_file_is_rolled_back_counts", without_handing_on, "and nothing tells of it"),
    ("a_recovery_leaves_the_folder_of_another_owner", without_owners_of_folders, "of somebody else's was Some([(\"f\""),
    (
        "a_same_size_write_with_its_time_set_back_is_told",
        with_contents_told_by_their_times,
        "acknowledged, and not what",
    ),
    (
        "a_torn_file_that_was_to_be_moved_is_ours_where_the_clock_went_back",
        with_the_time_of_what_was_moved,
        "something is kept",
    ),
    (
        "a_state_folder_whose_maker_was_killed_survives_a_power_cut",
        without_a_sync_of_a_found_state_folder,
        "out of reach: O3",
    ),
    ("a_torn_staged_file_of_ours_is_nobody_elses", without_anything_torn, "something is kept"),
    (
        "an_append_to_a_swapped_file_is_told_when_another_fails",
        with_every_file_old,
        "holds the original, unchanged, which is nobody else's",
    ),
    (
        "an_original_of_a_lower_layer_that_went_back_is_not_said_to_be_gone",
        without_originals_that_were_copied_up,
        "a is as it was",
    ),
    ("an_attribute_set_in_the_moment_of_the_swap_is_not_lost", without_looks, "acknowledged, and not what"),
    (
        "an_attribute_set_while_a_recovery_swaps_forward_and_back_is_not_lost",
        without_handing_on,
        "and nothing tells of it",
    ),
    ("an_attribute_set_while_a_file_is_rolled_back_and_put_again_stays", without_handing_on, "and nothing tells of it"),
    ("a_file_that_went_back_before_a_crash_has_its_original", without_a_class_of_what_went_back, "b is as it was"),
    (
        "an_undo_takes_away_a_folder_that_another_undo_made_again",
        without_a_history_of_folders,
        "nobody else has made it",
    ),
    (
        "a_folder_that_another_one_made_again_goes_with_the_first",
        without_a_history_of_folders,
        "nobody else has made it",
    ),
    ("a_folder_that_was_removed_and_made_again_is_as_it_was", without_giving_back, "undone, and d is"),
    ("an_undo_after_a_redo_takes_new_folders_away", without_a_history_of_folders, "nobody else has made it"),
    ("another_name_of_an_original_may_be_written", without_copies, "an undo is refused"),
    ("nothing_of_a_new_folder_is_kept_whose_name_a_power_cut_took", without_a_look_into_the_slot, "something is kept"),
    ("the_newest_is_undone_where_the_clock_went_back", with_a_mark_that_does_not_move, "an undo is refused"),
    (
        "what_a_check_put_in_the_place_of_a_folder_is_named_truly",
        with_one_name_for_all_that_is_aside,
        "and nothing tells of it",
    ),
    (
        "what_a_power_cut_took_out_of_history_is_recovered_on_an_overlay",
        with_another_word_after_a_copy,
        "untrusted: Moved",
    ),
    ("what_is_acknowledged_on_fuse_survives_a_power_cut", without_syncs_of_files, "neither all new nor all old"),
    (
        "what_is_as_asked_for_is_no_older_than_what_is_made_anew",
        with_files_that_have_no_entry,
        "acknowledged, and not what",
    ),
    ("what_is_staged_on_fuse_survives_a_power_cut", without_syncs_of_files, "what was staged in 0 is gone"),
    (
        "what_is_staged_survives_a_power_cut_in_the_next_stage",
        without_syncs_of_file_systems,
        "what was staged in 0 is gone",
    ),
    ("what_was_not_recovered_is_found_after_a_stage_on_an_overlay", with_another_word_after_a_copy, "untrusted: Moved"),
    (
        "symlinks_and_folders_that_are_staged_survive_a_power_cut_in_the_next_stage",
        without_syncs_of_file_systems,
        "what was staged in 0 is gone",
    ),
];

/// The others, each with the test that misses its mend, or why none does.
const OTHERS: [(&str, &str); 54] = [
    ("a_file_that_was_exchanged_back_before_a_crash_is_as_it_was", "none: a sentence"),
    ("a_folder_in_the_place_of_a_symlink_has_what_is_beneath_it", "none: a path, before the protocol"),
    ("a_folder_is_back_where_a_file_had_come_before_a_kill", "none: a sentence"),
    ("a_folder_of_a_lower_layer_is_known_after_a_crash", "none: an identity that is read before the protocol"),
    (
        "a_folder_of_a_lower_layer_that_a_check_removes_comes_back",
        "none: what the slot holds is known by what was staged, and not by the protocol",
    ),
    ("a_folder_of_a_lower_layer_whose_copy_a_power_cut_took_is_as_it_was", "none: a sentence"),
    ("a_folder_of_a_redo_that_an_undo_cannot_know_is_told", "none: a sentence"),
    ("a_folder_that_an_undo_leaves_is_named_truly", "warnings_that_are_not_true_are_seen"),
    ("a_folder_that_an_undo_took_away_has_its_first_mode", "none: a plan, before the protocol"),
    ("a_folder_that_became_a_symlink_is_a_folder_again", "none: a path, before the protocol"),
    ("a_folder_that_cannot_be_looked_at_may_be_left", "warnings_that_are_not_true_are_seen"),
    ("a_folder_that_comes_while_paths_are_resolved_is_not_taken_for_missing", "none: a path, before the protocol"),
    ("a_folder_that_gets_its_mode_back_is_named", "none: a plan, before the protocol"),
    ("a_folder_that_moves_to_another_name_of_the_request_is_no_panic", "none: a path, before the protocol"),
    ("a_folder_that_is_dropped_is_gone", "none: a deletion that a person asks for"),
    ("a_folder_that_is_gone_in_spite_of_an_error_is_not_said_to_stay", "warnings_that_are_not_true_are_seen"),
    ("a_folder_that_is_there_again_is_no_conflict", "none: a plan, before the protocol"),
    ("a_folder_that_went_with_an_undo_comes_back", "none: a plan, before the protocol"),
    ("a_key_after_an_undo_says_what_is_true_now", "none: an answer is made of what stands in the files"),
    ("a_key_is_not_used_twice_where_history_cannot_be_opened", "none: no step of the protocol"),
    ("a_key_is_not_used_twice_where_what_is_interrupted_cannot_be_listed", "none: no step of the protocol"),
    ("a_mode_that_forbids_writing_can_be_undone", "none: what may be written is refused before the protocol"),
    ("a_mode_that_is_given_to_what_went_back_is_the_last_one", "none: what is handed over is no step of the protocol"),
    ("a_new_file_staged_at_a_symlink_is_refused_whatever_it_leads_to", "none: a path, before the protocol"),
    ("a_new_file_that_is_deleted_and_replaced_while_it_is_rolled_back", "none: a sentence"),
    ("a_pruning_that_fails_leaves_the_newest", "history_that_is_pruned_newest_first_is_noticed"),
    ("a_recovery_ends_where_the_folder_of_a_deleted_file_is_gone", "a_folder_that_is_not_found_again_is_noticed"),
    ("a_recovery_tells_of_a_folder_that_it_cannot_know", "none: a sentence"),
    ("a_recovery_that_runs_out_of_open_files_is_not_the_last_one", "none: an error, and no step of the protocol"),
    (
        "a_repeated_commit_that_runs_out_of_open_files_does_not_say_that_a_file_is_gone",
        "none: an answer is made of what stands in the files",
    ),
    (
        "a_rollback_after_a_killed_commit_does_not_say_that_nothing_was_changed",
        "none: what is open is no step of the protocol",
    ),
    ("a_stage_through_a_symlink_that_is_deleted", "none: a path, before the protocol"),
    ("a_state_folder_with_an_id_survives_a_power_cut", "each_sync_of_what_a_first_commit_makes_is_missed"),
    (
        "a_symlink_comes_back_for_a_file_whose_mode_others_changed",
        "none: a symlink has no permissions to be handed over",
    ),
    ("a_symlink_whose_target_goes_while_it_is_followed_leads_nowhere", "none: a path, before the protocol"),
    ("an_attribute_set_while_a_swap_is_reversed_at_once_is_told", "none: a sentence"),
    ("an_empty_folder_that_went_along_comes_back", "none: a plan, before the protocol"),
    ("an_id_that_is_read_in_parts_is_the_same", "none: a loop that reads"),
    ("an_interrupt_while_files_are_read_is_heard", "none: a flag that every read asks"),
    ("an_original_that_is_dropped_from_what_is_kept_is_nobodys_late_write", "none: a sentence"),
    ("an_original_of_a_lower_layer_that_went_back_before_a_failure_is_as_it_was", "none: a sentence"),
    ("an_undo_and_its_redo_are_no_conflict", "none: a plan, before the protocol"),
    ("an_undo_of_folders_that_another_transaction_made_again_is_a_conflict", "none: a plan, before the protocol"),
    ("an_undo_without_an_id_waits_for_what_is_interrupted", "none: a refusal before the protocol"),
    ("new_content_that_another_program_exchanged_is_named_after_a_check", "none: a sentence"),
    ("new_content_that_another_program_moved_is_named_after_a_recovery", "none: a sentence"),
    ("what_became_of_a_folder_since_is_no_warning", "none: a plan, before the protocol"),
    ("what_is_missing_with_its_folder_is_no_gap", "none: a folder of a recovery is found before the protocol"),
    ("what_is_no_transaction_stops_no_command", "none: a listing, before the protocol"),
    ("what_is_recovered_after_all_is_not_said_to_be_left", "warnings_that_are_not_true_are_seen"),
    ("what_is_restored_for_a_deleted_file_has_its_own_mode", "none: a request, before the protocol"),
    ("what_stayed_in_a_folder_that_goes_aside_is_told_by_the_folder", "none: a sentence"),
    ("what_stays_in_a_folder_that_was_moved_away_is_not_told_at_its_path", "none: a sentence"),
    (
        "what_went_with_its_folder_before_a_recovery_is_kept",
        "none: a folder of a recovery is found before the protocol",
    ),
];

fn script(name: &str) -> Scenario {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/proof/scenarios/corpus");
    let text = fs::read_to_string(corpus.join(name).with_extension("txt")).unwrap_or_else(|e| panic!("{name}: {e}"));
    text.parse().unwrap_or_else(|e| panic!("{name}: {e}"))
}

#[test]
fn what_was_mended_turns_a_script_red_again() {
    for (name, mutant, says) in NOTICED {
        let script = script(name);
        play(&script, &Player::default()).unwrap_or_else(|broken| panic!("{name}: {}", broken.what));
        let Err(broken) = play(&script, &mutant()) else { panic!("{name} did not notice") };
        assert!(broken.what.contains(says), "{name} noticed something else: {}", broken.what);
    }
}

#[test]
fn each_script_has_its_mutant() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/proof");
    let scripts = fs::read_dir(root.join("scenarios/corpus")).unwrap().map(|entry| entry.unwrap().path());
    let scripts: BTreeSet<String> =
        scripts.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    let named = NOTICED.iter().map(|(name, ..)| *name).chain(OTHERS.iter().map(|(name, _)| *name));
    let named: BTreeSet<String> = named.map(str::to_owned).collect();
    assert_eq!(scripts, named, "a script without a mutant, or a mutant without a script");
    let tests = ["explore/gate.rs", "mutants/around.rs", "mutants/syncs.rs", "scenarios/claims.rs"];
    let tests = tests.map(|name| fs::read_to_string(root.join(name)).unwrap()).concat();
    for (name, test) in OTHERS {
        assert!(test.starts_with("none: ") || tests.contains(&format!("fn {test}()")), "{name}: {test}");
    }
}
