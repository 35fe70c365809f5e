//! What was planned minus what was reported.

use std::collections::HashMap;

use super::{Attempt, AttemptOutcome, Campaign};
use crate::error::Result;
use crate::fs::records;

/// What is true of a workspace, as far as it was reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkspaceState {
    Unreported,
    Done,
    NothingToDo,
    Undone,
    Failed {
        /// True if the same may succeed later.
        retryable: bool,
    },
    /// It is done, and its undo failed.
    UndoFailed,
}

/// What counts of the reports of a workspace.
#[derive(Debug, Clone, Copy, Default)]
struct LastReport {
    round: u32,
    outcome: Option<AttemptOutcome>,
    retryable: bool,
    was_done: bool,
    code: u16,
    files: u32,
}

/// A way in which workspaces failed.
#[derive(Debug, Default)]
pub(crate) struct FailureCode {
    pub(crate) code: String,
    pub(crate) retryable: bool,
    pub(crate) count: usize,
    /// A workspace that failed so, and its error.
    pub(crate) example: (String, String),
}

/// The reports of a campaign, put together.
#[derive(Debug)]
pub(crate) struct CampaignProgress {
    last: Vec<LastReport>,
    codes: Vec<FailureCode>,
    /// The number of attempts.
    pub(crate) attempts: usize,
    /// The number of lines that are no reports.
    pub(crate) damaged: usize,
    /// The highest round.
    pub(crate) round: u32,
}

impl CampaignProgress {
    /// Reads the reports. Of a workspace those of its highest round count, and of those the one that came furthest: the
    /// same attempt may have been made twice.
    pub(crate) fn read(campaign: &Campaign) -> Result<Self> {
        let last = vec![LastReport::default(); campaign.count()];
        let mut progress = Self { last, codes: Vec::new(), attempts: 0, damaged: 0, round: 0 };
        let mut numbers = HashMap::new();
        for path in campaign.reports()? {
            records::each_line(&path, |line| {
                match serde_json::from_slice::<Attempt>(line) {
                    Ok(attempt) if attempt.workspace < progress.last.len() => progress.add(attempt, &mut numbers),
                    _ => progress.damaged += 1,
                }
                Ok(())
            })?;
        }
        progress.count_failures(campaign)?;
        Ok(progress)
    }

    /// Counts how workspaces failed, and finds an example of each.
    fn count_failures(&mut self, campaign: &Campaign) -> Result<()> {
        for last in self.last.iter().filter(|last| last.outcome == Some(AttemptOutcome::Failed)) {
            self.codes[usize::from(last.code)].count += 1;
        }
        let mut codes = std::mem::take(&mut self.codes);
        codes.retain(|code| code.count > 0);
        codes.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.code.cmp(&b.code)));
        if !codes.is_empty() {
            self.each_last(campaign, |attempt| {
                let code = codes.iter_mut().find(|code| Some(&code.code) == attempt.error_code.as_ref());
                if let Some(code) = code.filter(|_| attempt.has_failed()) {
                    code.retryable = attempt.retryable;
                    code.example = (attempt.name, attempt.error.unwrap_or_default());
                }
            })?;
        }
        self.codes = codes;
        Ok(())
    }

    /// Passes the reports that count to `each`, the oldest first; of a workspace there may be several that say the same.
    pub(crate) fn each_last(&self, campaign: &Campaign, mut each: impl FnMut(Attempt)) -> Result<()> {
        for path in campaign.reports()? {
            records::each_line(&path, |line| {
                if let Ok(attempt) = serde_json::from_slice::<Attempt>(line)
                    && let Some(last) = self.last.get(attempt.workspace)
                    && (last.round, last.outcome) == (attempt.round, Some(attempt.outcome))
                {
                    each(attempt);
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    fn add(&mut self, attempt: Attempt, numbers: &mut HashMap<String, u16>) {
        self.attempts += 1;
        self.round = self.round.max(attempt.round);
        let last = &mut self.last[attempt.workspace];
        let is_done = attempt.outcome == AttemptOutcome::Done;
        last.was_done |= is_done;
        let is_newer = attempt.round > last.round;
        if !is_newer && (attempt.round < last.round || last.outcome > Some(attempt.outcome)) {
            return;
        }
        (last.round, last.outcome, last.retryable) = (attempt.round, Some(attempt.outcome), attempt.retryable);
        if is_done {
            last.files = u32::try_from(attempt.files_edited).unwrap_or(u32::MAX);
        }
        if !attempt.has_failed() {
            return;
        }
        let code = attempt.error_code.unwrap_or_default();
        let next = u16::try_from(self.codes.len()).unwrap_or(u16::MAX);
        let number = *numbers.entry(code.clone()).or_insert(next);
        last.code = number.min(u16::MAX - 1);
        if usize::from(number) == self.codes.len() {
            self.codes.push(FailureCode { code, ..FailureCode::default() });
        }
    }

    /// What is true of a workspace.
    pub(crate) fn state(&self, index: usize) -> WorkspaceState {
        let last = self.last[index];
        match last.outcome {
            None => WorkspaceState::Unreported,
            Some(AttemptOutcome::Done) => WorkspaceState::Done,
            Some(AttemptOutcome::NothingToDo) => WorkspaceState::NothingToDo,
            Some(AttemptOutcome::Undone) => WorkspaceState::Undone,
            Some(AttemptOutcome::Failed) if is_change(last.round) => {
                WorkspaceState::Failed { retryable: last.retryable }
            }
            Some(AttemptOutcome::Failed) => WorkspaceState::UndoFailed,
        }
    }

    /// Returns whether a transaction was reported of a workspace.
    pub(crate) fn was_done(&self, index: usize) -> bool {
        self.last[index].was_done
    }

    /// The number of workspaces of which this is true.
    pub(crate) fn count(&self, is_it: impl Fn(WorkspaceState) -> bool) -> usize {
        (0..self.last.len()).filter(|index| is_it(self.state(*index))).count()
    }

    /// The number of files that what is done has changed.
    pub(crate) fn files(&self) -> u64 {
        let done = (0..self.last.len()).filter(|index| self.state(*index) == WorkspaceState::Done);
        done.map(|index| u64::from(self.last[index].files)).sum()
    }

    /// The ways in which workspaces failed, the most frequent first.
    pub(crate) fn failures(&self) -> &[FailureCode] {
        &self.codes
    }

    /// The round of what is to be changed, or, where all is to be done `again`, of a new one.
    pub(crate) fn round_of_change(&self, again: bool) -> u32 {
        match self.round {
            round if is_change(round) => round,
            round if again || round == 0 => round + 1,
            round => round - 1,
        }
    }

    /// The round of what is to be undone.
    pub(crate) fn round_of_undo(&self) -> u32 {
        self.round + self.round % 2
    }
}

fn is_change(round: u32) -> bool {
    round % 2 == 1
}
