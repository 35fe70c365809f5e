//! What was planned minus what was reported.

use std::collections::HashMap;

use super::{Attempt, AttemptOutcome, Campaign};
use crate::error::Result;
use crate::fs::records;

/// The most rounds: a report of a later one is none.
const ROUNDS: u32 = 1 << 20;

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

impl WorkspaceState {
    /// In words.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Unreported => "unreported",
            Self::Done => "done",
            Self::NothingToDo => "nothing to do",
            Self::Undone => "undone",
            Self::Failed { .. } => "failed",
            Self::UndoFailed => "undo failed",
        }
    }
}

/// A workspace in which an attempt is to be made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DueWorkspace {
    pub(crate) index: usize,
    /// True if a transaction of it was reported.
    pub(crate) was_done: bool,
    /// True if anything was: that it is begun once more must be reported before.
    pub(crate) has_report: bool,
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

/// The workspace of a report that was cut off. Whatever it said, no report before it counts any more.
fn workspace_of(report: &[u8]) -> Option<usize> {
    let number = report.strip_prefix(b"{\"workspace\":")?;
    let end = number.iter().position(|byte| *byte == b',')?;
    std::str::from_utf8(&number[..end]).ok()?.parse().ok()
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
            // Those that were begun, and of which this file says no more.
            let mut begun = HashMap::new();
            let cut_off = records::each_line(&path, |line, _| {
                match serde_json::from_slice::<Attempt>(line) {
                    Ok(attempt) if !progress.may_have(&attempt) => progress.damaged += 1,
                    Ok(attempt) if attempt.outcome == AttemptOutcome::Begun => {
                        begun.insert(attempt.workspace, attempt.round);
                    }
                    Ok(attempt) => {
                        begun.remove(&attempt.workspace);
                        progress.add(attempt, &mut numbers);
                    }
                    Err(_) => progress.damaged += 1,
                }
                Ok(())
            })?;
            for (index, round) in begun {
                progress.leave_open(index, round);
            }
            if let Some(index) = workspace_of(&cut_off).filter(|index| *index < progress.last.len()) {
                progress.last[index].outcome = Some(AttemptOutcome::Begun);
            }
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

    /// Returns whether this can be a report of the campaign.
    fn may_have(&self, attempt: &Attempt) -> bool {
        attempt.workspace < self.last.len() && attempt.round <= ROUNDS
    }

    /// Of an attempt that was begun nothing more is reported: it may have come to any end, unless another one in its round
    /// came to a good one.
    fn leave_open(&mut self, index: usize, round: u32) {
        self.round = self.round.max(round);
        let last = &mut self.last[index];
        let is_open = round > last.round || round == last.round && last.outcome <= Some(AttemptOutcome::Failed);
        if is_open {
            (last.round, last.outcome) = (round, Some(AttemptOutcome::Begun));
        }
    }

    /// Passes the reports that count to `each`, the oldest first; of a workspace there may be several that say the same.
    /// One without a report, or of which nothing is there, has none.
    fn each_last(&self, campaign: &Campaign, mut each: impl FnMut(Attempt)) -> Result<()> {
        for path in campaign.reports()? {
            records::each_line(&path, |line, _| {
                if let Ok(attempt) = serde_json::from_slice::<Attempt>(line)
                    && let Some(last) = self.last.get(attempt.workspace)
                    && (last.round, last.outcome) == (attempt.round, Some(attempt.outcome))
                    && self.state(attempt.workspace) != WorkspaceState::Unreported
                {
                    each(attempt);
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// The report that counts of each workspace; `None` where there is none.
    pub(crate) fn last_attempts(&self, campaign: &Campaign) -> Result<Vec<Option<Attempt>>> {
        let mut last: Vec<Option<Attempt>> = Vec::new();
        last.resize_with(campaign.count(), || None);
        self.each_last(campaign, |attempt| {
            let index = attempt.workspace;
            last[index] = Some(attempt);
        })?;
        Ok(last)
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
            None | Some(AttemptOutcome::Begun | AttemptOutcome::NotDone) => WorkspaceState::Unreported,
            Some(AttemptOutcome::Done) => WorkspaceState::Done,
            Some(AttemptOutcome::NothingToDo) => WorkspaceState::NothingToDo,
            Some(AttemptOutcome::Undone) => WorkspaceState::Undone,
            Some(AttemptOutcome::Failed) if is_change(last.round) => {
                WorkspaceState::Failed { retryable: last.retryable }
            }
            Some(AttemptOutcome::Failed) => WorkspaceState::UndoFailed,
        }
    }

    /// The workspaces of which this is true.
    pub(crate) fn due(&self, is_it: impl Fn(WorkspaceState) -> bool) -> Vec<DueWorkspace> {
        (0..self.last.len()).filter(|index| is_it(self.state(*index))).map(|index| self.due_at(index)).collect()
    }

    /// A workspace, for an attempt.
    pub(crate) fn due_at(&self, index: usize) -> DueWorkspace {
        let LastReport { outcome, was_done, .. } = self.last[index];
        DueWorkspace { index, was_done, has_report: outcome.is_some() }
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

    /// The round of what is to be changed; a new one where that is to be done `again`, or after an undo.
    pub(crate) fn round_of_change(&self, again: bool) -> u32 {
        match is_change(self.round) {
            true if again => self.round + 2,
            true => self.round,
            false => self.round + 1,
        }
    }

    /// The round of what is to be undone.
    pub(crate) fn round_of_undo(&self) -> u32 {
        (self.round + self.round % 2).max(2)
    }
}

fn is_change(round: u32) -> bool {
    round % 2 == 1
}
