//! Answers a repeated request: gives the lost answer again, and does nothing twice.
//!
//! The decision depends on journals: on the key and the fingerprint in the header, and on what each file was to become.
//! Only the wording of the answer comes from `report.json`. The files are described as they are now.

use std::collections::HashMap;

use crate::cancel::CancelToken;
use crate::digest::Digest;
use crate::engine::history::search::{SearchFor, SearchResult, having_key};
use crate::engine::history::stored_report::StoredReport;
use crate::engine::history::untrusted::UntrustedTransaction;
use crate::engine::history::{self, Loaded, keys};
use crate::engine::report::review::Selection;
use crate::engine::report::{Extra, FileReport, Operation, Report};
use crate::engine::store::folder::see;
use crate::engine::store::state::StateLookup;
use crate::engine::{Engine, Run};
use crate::error::{Error, ErrorKind, NextStep, Result};
use crate::fs::Name;
use crate::journal::recover::Seen;
use crate::journal::{Guarantee, Header, Journal, Record, RecordedChange};
use crate::path::{AskedPath, RelPath};
use crate::plan::FileState;
use crate::request::Request;
use crate::request::validate::{self, Findings};

impl Engine {
    /// The answer to a request that was committed before, if the request allows that to count. Called under the locks
    /// of its files: a first attempt that is still running holds them.
    pub(crate) fn answered_before(
        &self,
        request: &Request,
        fingerprint: Digest,
        found: &StateLookup,
        run: Run<'_>,
    ) -> Result<Option<Report>> {
        if let Some(key) = &request.idempotency_key
            && let Some(state) = found.trusted(&self.workspace)?
        {
            // In this order: one that is pruned meanwhile is seen in one of them.
            match self.search(found, having_key(key))? {
                SearchResult::Found(loaded) => {
                    check_same(key, loaded.id(), loaded.journal.header.request, fingerprint)?;
                    let is_done = !request.again || !history::reverted(state)?.contains_key(loaded.id());
                    let is_checked = self.is_checked(request.check.as_ref());
                    return is_done.then(|| self.told_again(found, &loaded, is_checked, run)).transpose();
                }
                SearchResult::Perhaps(untrusted) => return Err(untrusted.may_have_key(key)),
                SearchResult::Nothing => {}
            }
            if let Some(pruned) = keys::find(state, key)? {
                check_same(key, &pruned.id, pruned.request, fingerprint)?;
                let undone_by = pruned.undone_by(state)?;
                return Ok((!request.again || undone_by.is_none()).then(|| told_of_pruned(pruned.id, undone_by)));
            }
        }
        if !request.idempotent {
            return Ok(None);
        }
        // Only a header decides: without a readable one, another user's folder blocks no request.
        self.repeated(request, fingerprint, found, |untrusted| !untrusted.is_foreign(), run)
    }

    /// The answer to a request whose files are not known yet, if a transaction has its key; refused while that is at work.
    /// An interrupted one is recovered first.
    pub(crate) fn keyed(&self, asked: &Request, warnings: &mut Vec<String>, run: Run<'_>) -> Result<Option<Report>> {
        if asked.idempotency_key.is_none() {
            return Ok(None);
        }
        let mut findings = Findings::new();
        validate::check_about(asked, &mut findings);
        findings.finish()?;
        let mut found = self.found()?;
        if !asked.dry_run {
            self.recover_own(&found, warnings, run)?;
            found = self.found()?;
            // In this order: one that ends meanwhile is seen in one of them.
            self.refuse_key_at_work(asked, &found)?;
        }
        let answer = self.answered_before(asked, asked.fingerprint(self.root()), &found, run)?;
        Ok(answer.map(|report| Report { dry_run: asked.dry_run, ..report }))
    }

    /// The answer of the transaction of the very same request, if every file is still as it left it. A transaction
    /// without a readable header counts as that one if it `may_be`.
    pub(crate) fn repeated(
        &self,
        request: &Request,
        fingerprint: Digest,
        found: &StateLookup,
        may_be: impl Fn(&UntrustedTransaction) -> bool,
        run: Run<'_>,
    ) -> Result<Option<Report>> {
        let wanted = SearchFor { is_it: |header: &Header| header.request == Some(fingerprint), may_be };
        let loaded = match self.search(found, wanted)? {
            SearchResult::Found(loaded) => loaded,
            SearchResult::Perhaps(untrusted) => return Err(untrusted.may_be_the_same("this very request")),
            SearchResult::Nothing => return Ok(None),
        };
        let report = StoredReport::read(&self.workspace, &loaded.folder)?;
        let is_left = |(it, seen)| is_left(it, seen, report.as_ref());
        let is_in_place = loaded.journal.entries.iter().zip(self.seen(&loaded, run.cancel)?).all(is_left);
        if is_in_place {
            self.told_again(found, &loaded, self.is_checked(request.check.as_ref()), run).map(Some)
        } else {
            Ok(None)
        }
    }

    /// The answer of the commit of an open transaction, if that is complete. If a plan is named, it must be the one
    /// that was committed.
    pub(crate) fn committed_again(
        &self,
        found: &StateLookup,
        commit: &Commit<'_>,
        run: Run<'_>,
    ) -> Result<Option<Report>> {
        let Commit { opened, is_gone, plan_hash, selection, is_checked } = *commit;
        // While it is open, what is staged tells whether it still fits the files.
        let loaded = match self.committed_open(found, opened, |untrusted| is_gone && untrusted.id.as_str() > opened)? {
            SearchResult::Found(loaded) => loaded,
            SearchResult::Perhaps(untrusted) => {
                // If it is gone, what was staged cannot be committed any more.
                let again = if is_gone { "stage them again" } else { "commit it again" };
                return Err(untrusted.may_be_the_commit(opened, again));
            }
            SearchResult::Nothing => return Ok(None),
        };
        check_plan(plan_hash, loaded.journal.plan_hash(), false)?;
        if let Some(selection) = selection {
            check_decision(opened, selection, &loaded)?;
        }
        self.told_again(found, &loaded, is_checked, run).map(Some)
    }

    /// The answer of a committed transaction, with the present state of its files.
    fn told_again(&self, found: &StateLookup, loaded: &Loaded, is_checked: bool, run: Run<'_>) -> Result<Report> {
        let report = StoredReport::read(&self.workspace, &loaded.folder)?;
        let stored = report.clone();
        let mut report = report.map_or_else(|| of_journal(&loaded.journal), StoredReport::into_report);
        let id = loaded.id();
        report.transaction = Some(id.to_owned());
        report.campaign.clone_from(&loaded.journal.header.campaign);
        report.guarantee = Some(loaded.journal.guarantee());
        for record in loaded.journal.entries.iter().filter(|record| record.change.overwrites()) {
            let files = report.files.iter_mut().filter(|file| file.path.as_path() == record.path.as_path());
            files.for_each(|file| file.extras.guarantee = Some(Guarantee::InPlace));
        }
        report.already_applied = true;
        if let Some(state) = found.trusted(&self.workspace)? {
            report.undone_by = history::reverted(state)?.remove(id);
        }
        let now = PresentCommit::new(loaded, self.seen(loaded, run.cancel)?, stored.as_ref());
        for file in &mut report.files {
            self.tell_now(file, &now, run)?;
        }
        let changed = report.files.iter().filter(|file| file.extras.in_place == Some(false)).count();
        match &report.undone_by {
            Some(by) => report.warnings.push(format!(
                "{id} was undone since, by {by}, and is not done again; undo {by} to bring its changes back"
            )),
            None if changed > 0 => report.warnings.push(format!(
                "{changed} of its files changed since the commit of {id}, which is not done again: see in_place"
            )),
            None => {}
        }
        if is_checked {
            report.warnings.push(format!("the check was not run: {id} was committed before, and nothing is changed"));
        }
        Ok(report)
    }

    /// Observes the path of each entry.
    fn seen(&self, loaded: &Loaded, cancel: &CancelToken) -> Result<Vec<Seen>> {
        loaded.journal.entries.iter().map(|record| self.seen_at(&record.path, cancel)).collect()
    }

    fn seen_at(&self, path: &RelPath, cancel: &CancelToken) -> Result<Seen> {
        match self.workspace.find_folder(&self.workspace.root, path.parent())? {
            Some(parent) => see(&self.workspace, Name::new(&parent, path.name()), cancel),
            None => Ok(Seen::Missing),
        }
    }

    /// Reports whether a file is still as the transaction left it and, if not, what it is now.
    fn tell_now(&self, file: &mut FileReport, now: &PresentCommit<'_>, run: Run<'_>) -> Result<()> {
        let result = file.extras.renamed_to.as_ref().unwrap_or(&file.path);
        let (path, result) = (self.known_as(&file.path, now), self.known_as(result, now));
        let renamed = result.as_ref().filter(|result| path.as_ref() != Some(*result));
        let mut own = [path.as_ref(), renamed].into_iter().flatten().flat_map(|path| now.at(path)).peekable();
        let there = match &result {
            Some(result) => self.seen_at(result, run.cancel)?,
            None => Seen::Missing,
        };
        let there = match there {
            Seen::File { digest, .. } => Some(digest),
            _ => None,
        };
        let in_place = match own.peek() {
            Some(_) => own.all(|(record, seen)| is_left(record, seen, now.report)),
            None => there == file.hash_after,
        };
        file.extras.in_place = Some(in_place);
        if !in_place {
            file.hash_after = there;
        }
        Ok(())
    }

    /// The path of a file in a journal, for a path that a caller named: the very path, if something was done there, which
    /// may have been to a symlink; else what it leads to.
    fn known_as(&self, path: &AskedPath, now: &PresentCommit<'_>) -> Option<RelPath> {
        let very = RelPath::normalised(path.strip_prefix(self.root()).unwrap_or(path)).ok();
        if very.as_ref().is_some_and(|path| now.at(path).next().is_some()) {
            return very;
        }
        self.resolver().place(path).map_or(very, |place| Some(place.path))
    }
}

/// A commit of an open transaction, perhaps repeated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Commit<'a> {
    /// The open transaction.
    pub opened: &'a str,
    /// True if the transaction is no longer open.
    pub is_gone: bool,
    /// The hash of the plan to commit.
    pub plan_hash: Option<Digest>,
    /// What is to be committed of it; `None` for all.
    pub selection: Option<&'a Selection>,
    /// True if a check is to decide on it.
    pub is_checked: bool,
}

/// A committed transaction, and what is at its paths now.
struct PresentCommit<'a> {
    /// The entries of each path, with what is there now.
    entries: HashMap<&'a RelPath, Vec<(&'a Record, Seen)>>,
    report: Option<&'a StoredReport>,
}

impl<'a> PresentCommit<'a> {
    fn new(loaded: &'a Loaded, seen: Vec<Seen>, report: Option<&'a StoredReport>) -> Self {
        let mut entries: HashMap<_, Vec<_>> = HashMap::new();
        for (record, seen) in loaded.journal.entries.iter().zip(seen) {
            entries.entry(&record.path).or_default().push((record, seen));
        }
        Self { entries, report }
    }

    fn at(&self, path: &RelPath) -> impl Iterator<Item = (&'a Record, Seen)> {
        self.entries.get(path).into_iter().flatten().copied()
    }
}

/// Refuses another request than the one that had the key.
fn check_same(key: &str, id: &str, request: Option<Digest>, fingerprint: Digest) -> Result<()> {
    if request == Some(fingerprint) {
        return Ok(());
    }
    let message = format!(
        "the idempotency key {key:?} was used for another request, committed as {id}; a new request takes a new key"
    );
    Err(Error::new(ErrorKind::ValidationFailed, message))
}

/// The answer of a transaction that was pruned since.
fn told_of_pruned(id: String, undone_by: Option<String>) -> Report {
    let since = undone_by.as_ref().map_or_else(String::new, |by| format!(", was undone by {by}"));
    let told = format!(
        "{id} was committed before{since}, and pruned from history: it is not done again, and its files are not described"
    );
    Report { transaction: Some(id), already_applied: true, undone_by, warnings: vec![told], ..Report::default() }
}

/// Returns whether an entry is as the transaction left it, or as its check did.
fn is_left(record: &Record, seen: Seen, report: Option<&StoredReport>) -> bool {
    match (&record.change, seen) {
        (RecordedChange::Delete { .. } | RecordedChange::RemoveFolder { .. }, Seen::Missing)
        | (RecordedChange::Folder { .. } | RecordedChange::FileToFolder { .. }, Seen::Folder(_)) => true,
        (change, Seen::File { digest, mode, access, .. }) => change.after().is_some_and(|after| {
            let now = FileState { digest, mode, access: Some(access), size: after.size };
            (after.digest, after.mode) == (digest, mode)
                || report.is_some_and(|report| report.left(&record.path, after, &now).is_some())
        }),
        _ => false,
    }
}

/// The report of a transaction as far as its journal tells it.
fn of_journal(journal: &Journal) -> Report {
    let files = journal.entries.iter().filter_map(|record| {
        let operation = match record.change {
            RecordedChange::Edit { before, after, .. } | RecordedChange::Overwrite { before, after, .. }
                if before.differs_in_mode(&after) =>
            {
                Operation::Mode
            }
            RecordedChange::Edit { .. } | RecordedChange::Overwrite { .. } => Operation::Replace,
            RecordedChange::Create { .. } | RecordedChange::FolderToFile { .. } => Operation::Create,
            RecordedChange::Delete { .. } | RecordedChange::FileToFolder { .. } => Operation::Delete,
            RecordedChange::Folder { .. } | RecordedChange::RemoveFolder { .. } => return None,
        };
        Some(FileReport {
            path: record.path.asked(),
            operation,
            edits: Vec::new(),
            hash_before: record.change.before().map(|state| state.digest),
            hash_after: record.change.after().map(|state| state.digest),
            extras: Extra::NONE.into(),
        })
    });
    Report { files: files.collect(), ..Report::default() }
}

/// Verifies that the plan is the one that a preview showed.
pub(crate) fn check_plan(expected: Option<Digest>, found: Digest, is_rebased: bool) -> Result<()> {
    if is_rebased && expected.is_some_and(|expected| expected != found) {
        let message = "a file changed since the preview";
        return Err(Error::new(ErrorKind::ConcurrentModification, message).with_next([NextStep::PreviewAgain]));
    }
    is_as_seen(expected, found).map_err(|error| error.with_next([NextStep::PreviewAgain]))
}

/// Verifies that what was committed of an open transaction is what was selected: two people may have decided on it.
fn check_decision(opened: &str, selection: &Selection, loaded: &Loaded) -> Result<()> {
    let is_same = loaded.journal.header.request == Some(selection.fingerprint(opened));
    if is_same || selection.is_all() && loaded.journal.plan_hash() == selection.plan_hash {
        return Ok(());
    }
    let message = format!(
        "somebody else has decided on {opened} meanwhile: it was committed, as {}, and nothing of this selection was",
        loaded.id()
    );
    Err(Error::new(ErrorKind::ConcurrentModification, message).with_next([NextStep::Status]))
}

/// Verifies that the plan is the one that a dry run showed.
pub(crate) fn check_dry_run(expected: Option<Digest>, found: Digest) -> Result<()> {
    is_as_seen(expected, found).map_err(|error| error.with_next([NextStep::DryRunAgain]))
}

fn is_as_seen(expected: Option<Digest>, found: Digest) -> Result<()> {
    let Some(expected) = expected.filter(|expected| *expected != found) else { return Ok(()) };
    let message = format!("the plan is not the one that was previewed: its hash is {found}, expected {expected}");
    Err(Error::new(ErrorKind::HashMismatch, message))
}
