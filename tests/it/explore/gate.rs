//! The check gate under crashes: until the done mark everything goes back, whatever the check wrote.

use txedit::commit::protocol::{PROTOCOL, Protocol};
use txedit::commit::step::{Barrier, Step, Terms};
use txedit::commit::{backward, forward};
use txedit::fs::sim::SimFs;
use txedit::journal::Mark;
use txedit::journal::recover;
use txedit::testing::{Explorer, Script};

use super::{explore_once, scripts};

/// Everything at once, with a check.
fn checked(name: &str, passes: impl Fn(&SimFs) -> bool + Send + Sync + 'static) -> Script {
    scripts::three_checked(passes).named(name)
}

/// Rewrites in place, deletes and creates, as formatters and generators do.
fn rewrites(machine: &SimFs) {
    let done = [
        machine.write_in_place("/w/a", b"formatted a\n"),
        machine.delete("/w/sub/new"),
        machine.create("/w/sub/new", b"formatted new\n"),
        machine.create("/w/b", b"here again\n"),
    ];
    // After a crash of an earlier world some of them are as they are to be.
    drop(done);
}

#[test]
fn one_that_passes_or_fails() {
    explore_once(&checked("a check that passes", |_| true));
    explore_once(&checked("a check that fails", |_| false));
}

#[test]
fn one_that_rewrites_what_it_is_to_judge() {
    let formats = |machine: &SimFs| {
        drop(machine.write_in_place("/w/a", b"formatted a\n"));
        true
    };
    explore_once(&checked("a formatter", formats));
    let spoils = |machine: &SimFs| {
        rewrites(machine);
        false
    };
    explore_once(&checked("a check that rewrites and fails", spoils));
}

fn is_noticed(script: &Script) {
    match Explorer::default().explore(script) {
        Ok(found) => panic!("{script:?} did not notice: {found}"),
        Err(violation) => eprintln!("{script:?}, noticed:\n{violation}"),
    }
}

fn broken(protocol: Protocol) -> &'static Protocol {
    Box::leak(Box::new(protocol))
}

/// The commit, with the check's own steps changed.
fn commit_but(n: usize, terms: Terms, keep: fn(&Step) -> bool) -> Vec<txedit::commit::step::Phase> {
    let mut phases = forward::commit(n, terms);
    for phase in &mut phases {
        phase.steps.retain(keep);
    }
    phases
}

#[test]
fn a_check_whose_mark_is_left_out_is_noticed() {
    let commit = |n, terms| commit_but(n, terms, |step| *step != Step::Mark(Mark::Check));
    let spoils = |machine: &SimFs| {
        rewrites(machine);
        false
    };
    is_noticed(&checked("no mark", spoils).protocol(broken(Protocol { commit, ..PROTOCOL })));
}

#[test]
fn what_a_check_wrote_and_nobody_synced_is_noticed() {
    let commit = |n, terms| commit_but(n, terms, |step| *step != Step::Barrier(Barrier::Checked));
    let formats = |machine: &SimFs| {
        drop(machine.write_in_place("/w/a", b"formatted a\n"));
        true
    };
    is_noticed(&checked("no sync after a formatter", formats).protocol(broken(Protocol { commit, ..PROTOCOL })));
}

#[test]
fn a_check_that_is_taken_back_like_any_commit_is_noticed() {
    // The mark of an undo forgets that a check was there.
    let undo = |n, mark: Mark, durable| {
        let mut steps = backward::undo(n, mark, durable);
        for step in &mut steps {
            if *step == Step::Mark(Mark::CheckUndo) {
                *step = Step::Mark(Mark::Undo);
            }
        }
        steps
    };
    let spoils = |machine: &SimFs| {
        rewrites(machine);
        false
    };
    is_noticed(&checked("an undo as of no check", spoils).protocol(broken(Protocol { undo, ..PROTOCOL })));
}

#[test]
fn a_crash_in_the_check_that_goes_forward_is_noticed() {
    let decide = |mark, _: bool, classes: &[recover::Class]| match mark {
        Mark::Check => recover::decide(Mark::Done, false, classes),
        mark => recover::decide(mark, false, classes),
    };
    let script = checked("forward out of a check", |_| false);
    is_noticed(&script.protocol(broken(Protocol { decide, ..PROTOCOL })));
}
