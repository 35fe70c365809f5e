//! The check gate under crashes: until the done state everything goes back, whatever the check wrote.

use txedit::fs::sim::SimFs;
use txedit::journal::JournalState;
use txedit::testing::internals::commit::protocol::{PROTOCOL, Protocol};
use txedit::testing::internals::commit::step::{Barrier, CommitStep, RollbackStep, StepPhase, Terms};
use txedit::testing::internals::commit::{backward, forward};
use txedit::testing::internals::journal::recover;
use txedit::testing::{Explorer, Script};

use super::{explore_once, scripts, seeded, so_far};

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
fn a_check_that_passes_or_fails_decides_whatever_crashes() {
    explore_once(&checked("a check that passes", |_| true));
    explore_once(&checked("a check that fails", |_| false));
}

#[test]
fn a_check_that_rewrites_what_it_is_to_judge_breaks_no_promise() {
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

/// One thing that a program does to a tree.
type Deed = fn(&SimFs) -> std::io::Result<()>;

/// What a check may do to the folders and the names of what it is to judge.
const DEEDS: [(&str, Deed); 11] = [
    ("removes a file", |machine| machine.delete("/w/sub/d")),
    ("removes a folder", |machine| {
        machine.delete("/w/sub/d")?;
        machine.delete_folder("/w/sub")
    }),
    ("removes a new folder", |machine| {
        machine.delete("/w/deep/er/new")?;
        machine.delete_folder("/w/deep/er")?;
        machine.delete_folder("/w/deep")
    }),
    ("moves a folder away", |machine| machine.rename("/w/sub", "/w/elsewhere")),
    ("moves a new folder away", |machine| machine.rename("/w/deep", "/w/elsewhere")),
    ("moves a folder away and makes another", |machine| {
        machine.rename("/w/sub", "/w/elsewhere")?;
        machine.make_folders("/w/sub")
    }),
    ("has a file where a folder was", |machine| {
        machine.rename("/w/sub", "/w/elsewhere")?;
        machine.create("/w/sub", b"of the check\n")
    }),
    ("has a symlink where a folder was", |machine| {
        machine.rename("/w/sub", "/w/elsewhere")?;
        machine.symlink("elsewhere", "/w/sub")
    }),
    ("has a symlink where a file was", |machine| {
        machine.delete("/w/a")?;
        machine.symlink("z", "/w/a")
    }),
    ("has another file where a file was", |machine| {
        machine.delete("/w/sub/d")?;
        machine.create("/w/sub/d", b"of the check\n")
    }),
    ("takes away permissions", |machine| {
        machine.set_mode("/w/a", 0o600)?;
        machine.set_mode("/w/sub/d", 0)
    }),
];

/// A transaction in folders that were there and in one that it makes, with a check that does this and fails.
fn turned(deed: Deed) -> Script {
    let files = vec![
        scripts::replaces("sub/d", "one", "two"),
        scripts::creates("deep/er/new", "new two\n"),
        scripts::deletes("b"),
        scripts::replaces("a", "one", "two"),
    ];
    let fails = move |machine: &SimFs| {
        deed(machine).unwrap();
        false
    };
    scripts::script("a check").apply_checked(scripts::request(files), fails)
}

#[test]
fn a_check_that_moves_the_tree_and_fails_breaks_no_promise() {
    for (what, deed) in DEEDS {
        let explorer = seeded(Explorer { images: 6, images_in_recovery: 2, depth: 1, ..Explorer::default() });
        let script = turned(deed).named(what);
        match explorer.explore(&script) {
            Ok(found) => eprintln!("{script:?}: {found}; {} so far", so_far(&found)),
            Err(violation) => panic!("{script:?}, TXEDIT_EXPLORE_SEED={}:\n{violation}", explorer.seed),
        }
    }
}

#[test]
fn a_folder_that_is_not_found_again_is_noticed() {
    let rollback = |n, state: JournalState, durable| {
        let mut steps = backward::rollback(n, state, durable);
        steps.retain(|step| !matches!(step, RollbackStep::FindFolder(_) | RollbackStep::RollBackInside(_)));
        steps
    };
    for (what, deed) in DEEDS.into_iter().filter(|(what, _)| what.contains("a folder")) {
        is_noticed(&turned(deed).named(what).protocol(broken(Protocol { rollback, ..PROTOCOL })));
    }
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
fn commit_but(n: usize, terms: Terms, keep: fn(&CommitStep) -> bool) -> Vec<StepPhase> {
    let mut phases = forward::commit(n, terms);
    for phase in &mut phases {
        phase.steps.retain(keep);
    }
    phases
}

#[test]
fn a_check_whose_mark_is_left_out_is_noticed() {
    let commit = |n, terms| commit_but(n, terms, |step| *step != CommitStep::SetState(JournalState::Check));
    let spoils = |machine: &SimFs| {
        rewrites(machine);
        false
    };
    is_noticed(&checked("no mark", spoils).protocol(broken(Protocol { commit, ..PROTOCOL })));
}

#[test]
fn what_a_check_wrote_and_nobody_synced_is_noticed() {
    let commit = |n, terms| commit_but(n, terms, |step| *step != CommitStep::Barrier(Barrier::Checked));
    let formats = |machine: &SimFs| {
        drop(machine.write_in_place("/w/a", b"formatted a\n"));
        true
    };
    is_noticed(&checked("no sync after a formatter", formats).protocol(broken(Protocol { commit, ..PROTOCOL })));
}

#[test]
fn a_check_that_is_rolled_back_like_any_commit_is_noticed() {
    // The state of a rollback forgets that a check was there.
    let rollback = |n, state: JournalState, durable| {
        let mut steps = backward::rollback(n, state, durable);
        for step in &mut steps {
            if *step == RollbackStep::SetState(JournalState::CheckUndo) {
                *step = RollbackStep::SetState(JournalState::Undo);
            }
        }
        steps
    };
    let spoils = |machine: &SimFs| {
        rewrites(machine);
        false
    };
    is_noticed(&checked("an undo as of no check", spoils).protocol(broken(Protocol { rollback, ..PROTOCOL })));
}

#[test]
fn a_crash_in_the_check_that_goes_forward_is_noticed() {
    let decide = |state, _: bool, classes: &[recover::Class]| match state {
        JournalState::Check => recover::decide(JournalState::Done, false, classes),
        state => recover::decide(state, false, classes),
    };
    let script = checked("forward out of a check", |_| false);
    is_noticed(&script.protocol(broken(Protocol { decide, ..PROTOCOL })));
}
