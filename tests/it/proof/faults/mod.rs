//! Faults at every call of a transaction, of its rollback and of its recovery.
//!
//! A sample of the rollbacks and recoveries, and of the real file systems; `TXEDIT_TEST_FAULTS=full` for all of them.

mod real;
mod several;

use txedit::testing::{Explorer, Foreign, ForeignDeed, Injected, Script, Violation};

use crate::proof::explore::stepwise::step_by_step;
use crate::proof::explore::{as_on_fuse, in_place, open, scripts, seeded, several as two_systems};
use crate::support::is_full;

fn explorer() -> Explorer {
    seeded(Explorer { images: 4, images_in_recovery: 4, depth: 1, ..Explorer::default() })
}

/// One fault in how many is tried, of which one in `usual` is tried with `TXEDIT_TEST_FULL`, and each one with
/// `TXEDIT_TEST_FAULTS=full`.
fn share(usual: usize) -> usize {
    match std::env::var_os("TXEDIT_TEST_FAULTS") {
        Some(value) if value == "full" => 1,
        _ => sampled(usual),
    }
}

/// The same for faults that are all tried with `TXEDIT_TEST_FULL`.
fn sampled(usual: usize) -> usize {
    if is_full() { usual } else { usual * 3 }
}

/// `least` faults are injected with `TXEDIT_TEST_FULL`, and a third of them at least by default.
fn check(script: &Script, injected: Result<Injected, Violation>, least: usize) {
    match injected {
        Ok(injected) => {
            let least = if is_full() { least } else { least / 3 };
            eprintln!("{script:?}: {injected}");
            assert!(injected.faults >= least, "{injected}");
        }
        Err(violation) => panic!("{script:?}:\n{violation}"),
    }
}

#[test]
fn a_commit_keeps_the_promise_whatever_call_fails() {
    let script = scripts::three();
    check(&script, explorer().inject(&script, None, 1), 500);
}

#[test]
fn a_contended_commit_keeps_the_promise_whatever_call_fails() {
    let script = scripts::three().contended();
    check(&script, explorer().inject(&script, None, 1), 500);
    check(&script, explorer().inject_into_recovery(&script, share(64)), 200);
}

/// With every call of making a content anew among those that fail.
#[test]
fn a_contended_commit_beside_another_program_keeps_the_promise_whatever_call_fails() {
    let script = scripts::edit().contended();
    let calls = Explorer::calls(&script).unwrap();
    let found = (calls / 2 - 2..=calls / 2 + 2).step_by(2).map(|call| {
        let deed = ForeignDeed::Replace(b"a one\nmore\n".to_vec());
        explorer().inject(&script, Some(&Foreign { call, path: "/w/a".into(), deed }), share(2))
    });
    found.for_each(|found| check(&script, found, 100));
}

#[test]
fn a_file_that_is_overwritten_keeps_the_promise_whatever_call_fails() {
    let script = in_place::among_others();
    check(&script, explorer().inject(&script, None, share(2)), 300);
    check(&script, explorer().inject_into_recovery(&script, share(64)), 100);
}

#[test]
fn files_that_can_only_be_overwritten_keep_the_promise_whatever_call_fails() {
    for script in in_place::all_overwritten() {
        check(&script, explorer().inject(&script, None, share(4)), 100);
        check(&script, explorer().inject_into_recovery(&script, share(128)), 50);
    }
}

#[test]
fn files_on_two_file_systems_keep_the_promise_whatever_call_fails() {
    let script = two_systems::three();
    check(&script, explorer().inject(&script, None, share(2)), 300);
    check(&script, explorer().inject_into_recovery(&script, share(64)), 100);
}

#[test]
fn a_new_folder_keeps_the_promise_whatever_call_fails() {
    let script = scripts::folder();
    check(&script, explorer().inject(&script, None, 1), 500);
}

#[test]
fn a_rename_keeps_the_promise_whatever_call_fails() {
    let script = scripts::rename();
    check(&script, explorer().inject(&script, None, 1), 500);
}

#[test]
fn the_first_transaction_keeps_the_promise_whatever_call_fails() {
    let script = scripts::edit().cold();
    check(&script, explorer().inject(&script, None, 1), 500);
}

#[test]
fn a_commit_with_a_check_keeps_the_promise_whatever_call_fails() {
    for passes in [true, false] {
        let script = scripts::three_checked(move |machine| {
            drop(machine.write_in_place("/w/a", b"formatted a\n"));
            passes
        });
        check(&script, explorer().inject(&script, None, share(1)), 400);
        check(&script, explorer().inject_into_recovery(&script, share(4)), 400);
    }
}

#[test]
fn a_commit_on_fuse_keeps_the_promise_whatever_call_fails() {
    let script = as_on_fuse(&scripts::three());
    check(&script, explorer().inject(&script, None, share(4)), 200);
    check(&script, explorer().inject_into_recovery(&script, share(16)), 200);
}

#[test]
fn a_commit_step_by_step_keeps_the_promise_whatever_call_fails() {
    for script in step_by_step(&scripts::three()) {
        check(&script, explorer().inject(&script, None, share(4)), 150);
        check(&script, explorer().inject_into_recovery(&script, share(32)), 100);
    }
}

#[test]
fn an_open_transaction_keeps_the_promise_whatever_call_fails() {
    for script in [open::dropped(), open::committed(), open::in_parts()] {
        check(&script, explorer().inject(&script, None, share(2)), 300);
    }
}

#[test]
fn a_rollback_keeps_the_promise_whatever_call_fails() {
    let script = scripts::three();
    let calls = Explorer::calls(&script).unwrap();
    let mut injected = Injected::default();
    // Somebody takes the name that is to be created: the later, the more there is to be rolled back.
    for call in (calls / 2..calls).step_by(share(7)) {
        let deed = ForeignDeed::Create(b"somebody else's\n".to_vec());
        let foreign = Foreign { call, path: "/w/sub/new".into(), deed };
        match explorer().inject(&script, Some(&foreign), share(3)) {
            Ok(more) => injected += more,
            Err(violation) => panic!("{script:?}:\n{violation}"),
        }
    }
    check(&script, Ok(injected), 1_000);
}

#[test]
fn a_recovery_keeps_the_promise_whatever_call_fails() {
    let script = scripts::three();
    check(&script, explorer().inject_into_recovery(&script, share(2)), 3_000);
}

#[test]
fn a_recovery_of_folders_and_renames_keeps_the_promise_whatever_call_fails() {
    for script in [scripts::folder(), scripts::rename()] {
        check(&script, explorer().inject_into_recovery(&script, share(24)), 200);
    }
}
