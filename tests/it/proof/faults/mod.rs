//! Faults at every call of a transaction, of its rollback and of its recovery.
//!
//! A sample of the rollbacks and recoveries, and of the real file systems; `TXEDIT_TEST_FAULTS=full` for all of them.

mod real;
mod several;

use txedit::testing::{Deed, Explorer, Foreign, Injected, Script, Violation};

use crate::proof::explore::{as_on_fuse, open, scripts, seeded};

fn explorer() -> Explorer {
    seeded(Explorer { images: 4, images_in_recovery: 4, depth: 1, ..Explorer::default() })
}

/// One in so many, or all where that is asked for.
fn share(usual: usize) -> usize {
    let is_full = std::env::var_os("TXEDIT_TEST_FAULTS").is_some_and(|value| value == "full");
    if is_full { 1 } else { usual }
}

fn check(script: &Script, injected: Result<Injected, Violation>, least: usize) {
    match injected {
        Ok(injected) => {
            eprintln!("{script:?}: {injected}");
            assert!(injected.faults >= least, "{injected}");
        }
        Err(violation) => panic!("{script:?}:\n{violation}"),
    }
}

#[test]
fn in_a_commit_of_three() {
    let script = scripts::three();
    check(&script, explorer().inject(&script, None, 1), 500);
}

#[test]
fn in_a_contended_commit() {
    let script = scripts::three().contended();
    check(&script, explorer().inject(&script, None, 1), 500);
    check(&script, explorer().inject_into_recovery(&script, share(64)), 200);
}

/// With every call of making a content anew among those that fail.
#[test]
fn in_a_contended_commit_beside_another_program() {
    let script = scripts::edit().contended();
    let calls = Explorer::calls(&script).unwrap();
    let found = (calls / 2 - 2..=calls / 2 + 2).step_by(2).map(|call| {
        let deed = Deed::Replace(b"a one\nmore\n".to_vec());
        explorer().inject(&script, Some(&Foreign { call, path: "/w/a".into(), deed }), share(2))
    });
    found.for_each(|found| check(&script, found, 100));
}

#[test]
fn in_a_new_folder() {
    let script = scripts::folder();
    check(&script, explorer().inject(&script, None, 1), 500);
}

#[test]
fn in_a_rename() {
    let script = scripts::rename();
    check(&script, explorer().inject(&script, None, 1), 500);
}

#[test]
fn in_the_first_transaction_of_a_workspace() {
    let script = scripts::edit().cold();
    check(&script, explorer().inject(&script, None, 1), 500);
}

#[test]
fn in_a_commit_with_a_check() {
    for passes in [true, false] {
        let script = scripts::three_checked(move |machine| {
            drop(machine.write_in_place("/w/a", b"formatted a\n"));
            passes
        });
        check(&script, explorer().inject(&script, None, 1), 400);
        check(&script, explorer().inject_into_recovery(&script, share(4)), 400);
    }
}

#[test]
fn where_a_sync_of_the_file_system_does_nothing() {
    let script = as_on_fuse(&scripts::three());
    check(&script, explorer().inject(&script, None, share(4)), 200);
    check(&script, explorer().inject_into_recovery(&script, share(16)), 200);
}

#[test]
fn in_an_open_transaction() {
    for script in [open::dropped(), open::committed()] {
        check(&script, explorer().inject(&script, None, share(2)), 300);
    }
}

#[test]
fn in_a_rollback() {
    let script = scripts::three();
    let calls = Explorer::calls(&script).unwrap();
    let mut injected = Injected::default();
    // Somebody takes the name that is to be created: the later, the more there is to be taken back.
    for call in (calls / 2..calls).step_by(share(7)) {
        let deed = Deed::Create(b"somebody else's\n".to_vec());
        let foreign = Foreign { call, path: "/w/sub/new".into(), deed };
        match explorer().inject(&script, Some(&foreign), share(3)) {
            Ok(more) => injected += more,
            Err(violation) => panic!("{script:?}:\n{violation}"),
        }
    }
    check(&script, Ok(injected), 1_500);
}

#[test]
fn in_a_recovery() {
    let script = scripts::three();
    check(&script, explorer().inject_into_recovery(&script, share(2)), 3_000);
}

#[test]
fn in_a_recovery_of_folders_and_renames() {
    for script in [scripts::folder(), scripts::rename()] {
        check(&script, explorer().inject_into_recovery(&script, share(24)), 200);
    }
}
