//! Retries while another program keeps writing: a request that names its places by text can be applied to the new
//! content as well.

use std::time::{Duration, Instant};

use super::Transaction;
use super::view_gate::Went;
use crate::check::Check;
use crate::engine::report::Report;
use crate::engine::store::lock::{Pauses, check_cancelled};
use crate::engine::{Engine, Run};
use crate::error::{Detail, Error, ErrorKind, Outcome, Result};
use crate::limits;
use crate::request::edit::{Anchor, Edit};
use crate::request::{Change, FileRequest, IfExists, Request};

impl Engine {
    /// Makes attempts for as long as another one may end differently. `attempt` gets its number, from 1; `may` tells
    /// whether such an error may go away by itself. No check is run twice, neither the engine's nor the one that the
    /// call names, unless in a view: there, a file that changed meanwhile is planned and checked again.
    pub(crate) fn try_again<'a>(
        &'a self,
        check: Option<&Check>,
        mut attempt: impl FnMut(usize) -> Result<Transaction<'a>>,
        may: impl Fn(&Error) -> bool,
        run: Run<'_>,
    ) -> Result<Report> {
        let is_checked_here = self.is_checked(check) && !self.may_check_in_views();
        let mut attempts = Attempts::new(self.attempts, self.settings.lock_timeout, is_checked_here);
        let mut seen = None;
        loop {
            let begun = attempt(attempts.made).map_err(|error| match seen {
                Some(_) => error.reworded(|why| format!("after its check had passed in a view: {why}")),
                None => error,
            });
            match begun.and_then(|transaction| transaction.go_on(&mut seen, attempts.checks)) {
                Ok(Went::Over(report)) => return Ok(Report { attempts: attempts.made, ..*report }),
                Ok(Went::Checked) => attempts.begin_again(),
                // Both requests may have given way. That does not count as an attempt: nothing was wrong with the
                // files.
                Err(error) if is_by_key(&error) && attempts.may_go_on(&error) => {
                    check_cancelled(run.cancel)?;
                    attempts.pause();
                }
                Err(error) if may(&error) && attempts.has_another(&error) => check_cancelled(run.cancel)?,
                Err(error) => return Err(error.after(attempts.made)),
            }
        }
    }
}

impl Engine {
    /// [`keyed`](Self::keyed), once no transaction with the key is at work any more: waits for that as for a lock.
    pub(crate) fn keyed_in_time(
        &self,
        asked: &Request,
        warnings: &mut Vec<String>,
        run: Run<'_>,
    ) -> Result<Option<Report>> {
        let now = Instant::now();
        let until = now.checked_add(self.settings.lock_timeout).unwrap_or(now);
        let mut pauses = Pauses::new();
        loop {
            match self.keyed(asked, warnings, run) {
                Err(error) if is_by_key(&error) && Instant::now() < until => {
                    check_cancelled(run.cancel)?;
                    pauses.sleep(until.saturating_duration_since(Instant::now()));
                }
                other => return other,
            }
        }
    }
}

/// Adds warnings to a report, or to an error: a recovery that ran first may have changed files.
pub(crate) fn telling(done: Result<Report>, mut warnings: Vec<String>) -> Result<Report> {
    match done {
        Ok(report) => {
            warnings.extend(report.warnings);
            Ok(Report { warnings, ..report })
        }
        Err(error) => Err(error.warning_of(warnings)),
    }
}

/// The count of attempts, and the limits on another one.
struct Attempts {
    is_checked: bool,
    most: usize,
    timeout: Duration,
    until: Instant,
    made: usize,
    /// The number of times that checks have passed in a view.
    checks: usize,
    pauses: Pauses,
}

impl Attempts {
    /// Attempts are made for as long as one would wait for a lock.
    fn new(most: usize, timeout: Duration, is_checked: bool) -> Self {
        let now = Instant::now();
        let until = now.checked_add(timeout).unwrap_or(now);
        Self { is_checked, most, timeout, until, made: 1, checks: 0, pauses: Pauses::new() }
    }

    /// Goes on after checks that have passed in a view, with as much time as in the beginning.
    fn begin_again(&mut self) {
        self.checks += 1;
        let now = Instant::now();
        self.until = now.checked_add(self.timeout).unwrap_or(now);
    }

    /// Returns whether there is time for another attempt after one that left nothing behind, and counts it.
    fn has_another(&mut self, error: &Error) -> bool {
        let may = self.may_go_on(error);
        self.made += usize::from(may);
        may
    }

    /// Returns whether there is time for another attempt after one that left nothing behind.
    fn may_go_on(&self, error: &Error) -> bool {
        let may_check = self.checks < limits::VIEW_CHECKS;
        may_check && self.made < self.most && Instant::now() < self.until && self.left_nothing(error)
    }

    fn pause(&mut self) {
        self.pauses.sleep(self.until.saturating_duration_since(Instant::now()));
    }

    /// Returns whether another program was faster and nothing is left of this attempt.
    fn left_nothing(&self, error: &Error) -> bool {
        let is_clean = match error.outcome() {
            Outcome::Unchanged => true,
            Outcome::RolledBack => !self.is_checked,
            _ => false,
        };
        let is_by_others = matches!(error.kind(), ErrorKind::ConcurrentModification | ErrorKind::HashMismatch);
        (is_by_others || is_by_key(error)) && is_clean && error.kept().is_empty()
    }
}

/// Returns whether another request with the same key was running.
fn is_by_key(error: &Error) -> bool {
    matches!(error.details(), Detail::SameKey)
}

/// Returns whether a request that failed with this error means the same, whatever another program wrote into its files.
pub(crate) fn means_the_same(request: &Request, error: &Error) -> bool {
    request.files.iter().all(is_for_any_content)
        && error.file().is_none_or(|file| request.files[file].expected_hash.is_none())
}

/// Returns whether a request for this file means the same, whatever another program wrote into it: it searches for
/// texts, takes the file as it is, requires that there is none, or names the content it is for.
fn is_for_any_content(file: &FileRequest) -> bool {
    file.expected_hash.is_some()
        || match &file.change {
            Change::Edit { edits, rename } => {
                is_by_text(edits) && rename.as_ref().is_none_or(|rename| rename.if_exists == IfExists::Fail)
            }
            Change::Copy { edits, .. } => is_by_text(edits),
            Change::Write { if_exists, .. } | Change::Symlink { if_exists, .. } => *if_exists == IfExists::Fail,
            Change::Rename(rename) => rename.if_exists == IfExists::Fail,
            Change::Mode | Change::MakeFolder | Change::RemoveFolder => true,
            // It may be gone.
            Change::Delete | Change::Take { .. } => false,
        }
}

/// Returns whether all edits find their places by text.
pub(super) fn is_by_text(edits: &[Edit]) -> bool {
    edits.iter().all(|edit| match &edit.anchor {
        Anchor::Text { .. } => true,
        Anchor::Hunk(hunk) => !hunk.only_there,
        Anchor::Range { .. } | Anchor::Span { .. } => false,
    })
}
