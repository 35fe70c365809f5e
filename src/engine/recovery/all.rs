//! Recovers all interrupted transactions of a workspace, one after the other.

use super::describe::{is_of_this_process, not_observed};
use super::warnings::tell;
use super::{Planned, recover_one};
use crate::engine::history;
use crate::engine::history::trash::{self, Goes};
use crate::engine::report::{Recovered, RecoveryAction, RecoveryReason};
use crate::engine::store::interrupted::{self, JournalStatus};
use crate::engine::store::lock::Patience;
use crate::engine::store::state::{Section, StateFolder};
use crate::engine::store::sweep;
use crate::engine::{RecoverOptions, Run};
use crate::error::{Error, Result};
use crate::journal::recover::Class;

/// The result of recovering everything.
#[derive(Debug)]
pub(crate) struct Recoveries {
    pub recovered: Vec<Recovered>,
    /// The first failure. The other transactions were recovered nevertheless.
    pub failed: Option<Error>,
}

impl Recoveries {
    /// All recoveries, or the failure with the others as its warnings.
    pub(crate) fn whole(self) -> Result<Vec<Recovered>> {
        match self.failed {
            None => Ok(self.recovered),
            Some(error) => {
                let mut warnings = Vec::new();
                for one in &self.recovered {
                    tell(&mut warnings, one);
                }
                Err(error.warning_of(warnings))
            }
        }
    }
}

/// Recovers all of `txn/` that can be recovered, sweeps folders without a journal, and empties the trash. A failure
/// does not stop the recovery of the others, unless a sync failed.
pub(crate) fn recover_all(
    state: &StateFolder,
    options: RecoverOptions,
    patience: Patience<'_>,
    run: Run<'_>,
    planned: Planned<'_>,
) -> Result<Recoveries> {
    // What cannot be swept stands in nobody's way.
    let mut failed = sweep::sweep_unfinished(state).err();
    let mut recovered = Vec::new();
    // A power loss may have left the trash without `txn/`, from which its folders came.
    for id in state.ids(Section::Transactions)? {
        let mut is_planned = false;
        let mut planned = |report: &Recovered| {
            is_planned = true;
            planned(report);
        };
        match recover_one(state, &id, options, patience, run, &mut planned) {
            Ok(report) => recovered.push(report),
            // Another process was faster, or is working on it: then this is no failure. But once a plan was made, it was
            // ours to carry out, and some of it may be done.
            Err(_) if !is_planned && state.may_sync() && is_settled(state, &id) => {}
            Err(_) if is_planned && state.may_sync() && is_committed(state, &id) => {
                recovered.push(Recovered::new(&id, RecoveryAction::Committed, RecoveryReason::EndedByAnother));
            }
            Err(error) => failed = failed.or(Some(error.of_transaction(&id))),
        }
        // A second sync may succeed and prove nothing: the others wait for the next process.
        if !state.may_sync() {
            break;
        }
    }
    if state.may_sync() {
        let emptied = trash::sync_and_empty(state, Goes::Unswapped(&unswapped(&recovered)));
        failed = failed.or(emptied.err());
    }
    Ok(Recoveries { recovered, failed })
}

/// Returns whether another process has finished a transaction since this one failed to: history has it.
fn is_committed(state: &StateFolder, id: &str) -> bool {
    history::load(state, id).is_ok_and(|found| found.is_some())
}

/// Returns whether a transaction is gone, or its owner is alive.
fn is_settled(state: &StateFolder, id: &str) -> bool {
    matches!(interrupted::examine(state, id, &|_| false), Ok((JournalStatus::Running, _)))
}

/// The plan for each transaction; nothing is touched.
pub(crate) fn plan_all(
    state: &StateFolder,
    options: RecoverOptions,
    patience: Patience<'_>,
    run: Run<'_>,
) -> Result<Vec<Recovered>> {
    let ids = state.ids(Section::Transactions)?;
    let plan = |id: &String| match recover_one(state, id, options, patience, run, &mut |_| {}) {
        Err(error) if is_of_this_process(&error) => Err(error),
        // One whose files cannot be read hides no other.
        Err(error) => Ok(Recovered { required: true, ..not_observed(id, RecoveryAction::Left, &error) }),
        plan => plan,
    };
    ids.iter().map(plan).collect()
}

/// The dropped transactions whose entries were all ready: no other program has had their files open.
pub(super) fn unswapped(recovered: &[Recovered]) -> Vec<String> {
    let is_untouched = |one: &&Recovered| {
        one.action == RecoveryAction::Dropped && one.files.iter().all(|file| file.class == Some(Class::Ready))
    };
    recovered.iter().filter(is_untouched).map(|one| one.id.clone()).collect()
}
