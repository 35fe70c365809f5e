//! The first name of a journal, and its next one: what each is for.

use txedit::journal::{Corrupt, JournalState};
use txedit::testing::internals::commit::Protocol;
use txedit::testing::internals::commit::protocol::PROTOCOL;
use txedit::testing::internals::commit::step::{Barrier, CommitStep, DropStep, StepPhase, Terms};
use txedit::testing::internals::commit::{backward, forward};
use txedit::testing::internals::journal::recover::{self, Class, RecoveryDecision};

use super::played::tells_apart;
use super::{broken, exchanged, is_caught, phases_without, scenes, without};
use crate::proof::explore::scripts;

const NAMED: CommitStep = CommitStep::SetState(JournalState::Sealed);

#[test]
fn a_journal_named_before_barrier_one_is_noticed() {
    let commit = |n, terms| {
        let mut phases = forward::commit(n, terms);
        let steps = std::mem::take(&mut phases[0].steps);
        phases[0].steps = exchanged(steps, CommitStep::Barrier(Barrier::First), NAMED);
        phases
    };
    is_caught(&scripts::edit().protocol(broken(Protocol { commit, ..PROTOCOL })));
}

#[test]
fn a_torn_journal_that_waits_for_a_person_is_noticed() {
    let is_no_journal = |_: JournalState, _: &Corrupt| false;
    is_caught(&scripts::edit().protocol(broken(Protocol { is_no_journal, ..PROTOCOL })));
}

#[test]
fn a_new_journal_that_is_dropped_unseen_is_noticed() {
    let decide = |state, back, classes: &[Class]| match state {
        JournalState::New => RecoveryDecision::Drop,
        _ => recover::decide(state, back, classes),
    };
    is_caught(&scripts::edit().protocol(broken(Protocol { decide, ..PROTOCOL })));
}

#[test]
fn a_new_journal_that_is_marked_when_it_is_dropped_is_noticed() {
    let drop_unswapped = |_| backward::drop_unswapped(JournalState::Sealed);
    tells_apart(scenes::a_barrier_that_failed, Protocol { drop_unswapped, ..PROTOCOL });
}

#[test]
fn a_drop_reported_before_it_is_durable_is_noticed() {
    let drop_unswapped = |state| without(backward::drop_unswapped(state), |step| step == DropStep::Sync);
    tells_apart(scenes::a_drop_that_comes_back, Protocol { drop_unswapped, ..PROTOCOL });
}

/// Without damage nothing of this shows: a journal that does not verify was not durable, and nothing was swapped.
#[test]
fn a_journal_that_is_named_late_or_never_is_noticed_where_it_is_damaged() {
    let never = |n, terms| phases_without(forward::commit(n, terms), |step| step == NAMED);
    tells_apart(scenes::a_journal_that_is_damaged, Protocol { commit: never, ..PROTOCOL });
    tells_apart(scenes::a_journal_that_is_damaged, Protocol { commit: named_late, ..PROTOCOL });
    let is_no_journal = |_: JournalState, corrupt: &Corrupt| corrupt.is_torn();
    tells_apart(scenes::a_journal_that_is_damaged, Protocol { is_no_journal, ..PROTOCOL });
}

/// Named once everything is swapped.
fn named_late(entries: usize, terms: Terms) -> Vec<StepPhase> {
    let mut phases = phases_without(forward::commit(entries, terms), |step| step == NAMED);
    let done = CommitStep::SetState(JournalState::Done);
    for phase in &mut phases {
        let at = phase.steps.iter().position(|step| *step == done);
        phase.steps.splice(at.unwrap_or(0)..at.unwrap_or(0), at.map(|_| NAMED));
    }
    phases
}
