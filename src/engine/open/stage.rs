//! Stages new edits: adds them to what is staged, tries the whole, and stores it.

use std::collections::HashSet;

use super::compose::{AddedEntry, ComposedEntry, StagedEntry, compose};
use super::settle::{self, RebasedFiles};
use super::store::{self, OpenedFolder};
use super::stored::{StoredBase, StoredFile};
use super::{entries_of, list, names, names_changed};
use crate::digest::Digest;
use crate::engine::recovery::InFront;
use crate::engine::report::{FileReport, Overlap, Report, Staged};
use crate::engine::store::snapshot;
use crate::engine::store::state::{StateFolder, StateLookup};
use crate::engine::transaction::prepare::prepared::Prepared;
use crate::engine::{Engine, Run};
use crate::error::{Detail, Diagnosis, Error, ErrorKind, MismatchCause, Result};
use crate::index::{EditIndex, FileIndex};
use crate::request::validate::{Findings, at_file};
use crate::request::{Change, FileRequest, IfMissing, Request};

/// Decides whether what was read of the files may be staged on.
pub(in crate::engine) type IsSeen<'a> = &'a dyn Fn(&Prepared) -> Result<()>;

/// A file of everything that is staged and added, tried out.
struct TriedEntry {
    composed: ComposedEntry,
    /// The result for its file.
    report: FileReport,
}

impl Engine {
    /// Opens a transaction, or adds to one. Edits apply to the result of the edits before them; no file is changed. On
    /// failure what was staged before is unchanged. A dry run is only tried.
    pub fn stage(&self, request: &Request, id: Option<&str>, run: Run<'_>) -> Result<Staged> {
        self.stage_seen(request, id, &|_| Ok(()), run)
    }

    /// The same if what was read of the files is what a caller has seen.
    pub(in crate::engine) fn stage_seen(
        &self,
        request: &Request,
        id: Option<&str>,
        is_seen: IsSeen<'_>,
        run: Run<'_>,
    ) -> Result<Staged> {
        check_stageable(request)?;
        let (mut found, mut warnings) = (self.found()?, Vec::new());
        let failed =
            if request.dry_run { InFront::default() } else { self.recover_and_sweep(&found, &mut warnings, run)? };
        match self.stage_in(request, (id, is_seen), &mut found, &mut warnings, run) {
            Ok(mut staged) => {
                staged.report.warnings = warnings;
                Ok(staged)
            }
            Err(error) => {
                let error = self.explained(failed.in_front_of(error), request, run);
                Err(error.warning_of(warnings))
            }
        }
    }

    fn stage_in(
        &self,
        request: &Request,
        (id, is_seen): (Option<&str>, IsSeen<'_>),
        found: &mut StateLookup,
        warnings: &mut Vec<String>,
        run: Run<'_>,
    ) -> Result<Staged> {
        let mut opened = match (&*found, id) {
            (StateLookup::State(state), Some(id)) => {
                let opened = store::open(state, id, self.patience(run));
                let opened = opened.map_err(|error| self.or_committed(found, id, error))?;
                self.not_committed(found, id)?;
                Some(opened)
            }
            (_, Some(id)) => return Err(self.unknown(id)),
            (_, None) => None,
        };
        let before = opened.as_ref().map_or(Ok(Vec::new()), entries_of)?;
        let mut added = self.in_root(&before, request);
        let pinned = self.check_staged_hashes(opened.as_ref(), &mut added, found, run)?;
        self.place_edits(&before, &mut added, run)?;
        let (tried, prepared) = self.try_out(opened.as_ref(), &before, &added, found, warnings, run)?;
        self.verify_paths(&before, request, &added)?;
        is_seen(&prepared)?;
        let overlaps = match &*found {
            StateLookup::State(state) => overlaps(state, id, &tried)?,
            _ => Vec::new(),
        };
        let report = Report { dry_run: request.dry_run, files: added_reports(&tried), ..Report::default() };
        if request.dry_run {
            return Ok(Staged { id: None, expires: None, report, overlaps });
        }
        let state = StateFolder::ensure(&self.workspace, found.clone())?;
        let opened = match &mut opened {
            Some(opened) => opened,
            None => opened.insert(store::create(self, &state, self.who(run))?),
        };
        opened.stored.files = self.written(opened, &tried, &pinned, run)?;
        opened.stored.label = request.label.clone().or(opened.stored.label.take());
        // That of an attempt to commit a part, which failed.
        opened.stored.rest = None;
        opened.save(&state)?;
        Ok(Staged { id: Some(opened.id.clone()), expires: Some(opened.expires()), report, overlaps })
    }

    /// Verifies that the paths of a request still lead where they did when it was tried: they were resolved one after
    /// the other.
    fn verify_paths(&self, staged: &[StagedEntry], request: &Request, added: &Request) -> Result<()> {
        let now = self.in_root(staged, request);
        for (now, before) in now.files.iter().zip(&added.files) {
            if names(now).ne(names(before)) {
                return Err(snapshot::changed(&before.path, "leads to another file now"));
            }
        }
        Ok(())
    }

    /// Adds `added` to what is staged and tries the whole. Earlier entries apply to their base, or are carried over to
    /// the present content of their file.
    fn try_out(
        &self,
        opened: Option<&OpenedFolder>,
        before: &[StagedEntry],
        added: &Request,
        found: &mut StateLookup,
        warnings: &mut Vec<String>,
        run: Run<'_>,
    ) -> Result<(Vec<TriedEntry>, Prepared)> {
        let composed = compose(before, added)?;
        let mut settled = composed.clone();
        let rebased = match opened {
            Some(opened) => {
                let mut entries: Vec<_> = settled.iter_mut().map(|entry| &mut entry.staged).collect();
                self.settle(opened, &mut entries, run)?
            }
            None => RebasedFiles::new(),
        };
        let files = settled.into_iter().map(|entry| entry.staged.file).collect();
        let request = Request { dry_run: true, include_content: added.include_content, files, ..Request::default() };
        let prepared = self.prepare_unlocked(&request, found, warnings, run);
        let (prepared, mut files) = prepared.map_err(|error| name(&composed, error))?;
        settle::tell(&mut files, rebased);
        let tried = composed.into_iter().zip(files).map(|(composed, report)| TriedEntry { composed, report });
        Ok((tried.collect(), prepared))
    }

    /// The entries in their stored form; the contents that they were staged on are kept.
    fn written(
        &self,
        opened: &OpenedFolder,
        tried: &[TriedEntry],
        pinned: &HashSet<FileIndex>,
        run: Run<'_>,
    ) -> Result<Vec<StoredFile>> {
        let mut written = Vec::with_capacity(tried.len());
        for TriedEntry { composed: ComposedEntry { staged: StagedEntry { file, base }, added }, report } in tried {
            let mut base = match base {
                Some(base) => *base,
                None => self.base(file, report.hash_before)?,
            };
            base.is_pinned |= added.is_some_and(|added| pinned.contains(&added.file));
            self.keep_base(opened, file, base.digest, run)?;
            let stored = StoredFile::of(file, base);
            written.push(stored.ok_or_else(|| snapshot::changed(&file.path, "changed while it was staged"))?);
        }
        Ok(written)
    }

    /// What an entry is staged on.
    fn base(&self, file: &FileRequest, digest: Option<Digest>) -> Result<StoredBase> {
        let is_link = digest.is_some() && self.has_link(&self.rel_path(&file.path)?)?;
        Ok(StoredBase { digest, is_pinned: false, is_link })
    }

    /// Verifies that a file whose expected hash is the `hash_after` of an earlier stage still gets that content; then
    /// only the base is left for the commit to compare. Returns which entries were pinned.
    fn check_staged_hashes(
        &self,
        opened: Option<&OpenedFolder>,
        added: &mut Request,
        found: &mut StateLookup,
        run: Run<'_>,
    ) -> Result<HashSet<FileIndex>> {
        let expecting = added.files.iter().enumerate().filter(|(_, file)| file.expected_hash.is_some());
        let pinned: HashSet<FileIndex> = expecting.map(|(index, _)| FileIndex(index)).collect();
        let Some(opened) = opened.filter(|_| !pinned.is_empty()) else { return Ok(pinned) };
        let staged = self.preview_of(opened, found, run)?.report.files;
        for (index, file) in added.files.iter_mut().enumerate() {
            let of_file =
                |report: &&FileReport| report.extras.renamed_to.as_ref().unwrap_or(&report.path) == &file.path;
            let (Some(expected), Some(report)) = (file.expected_hash, staged.iter().find(of_file)) else { continue };
            if report.hash_after != Some(expected) {
                let message = format!("{} as staged is not the file that the edits were made for", file.path.display());
                return Err(Error::new(ErrorKind::HashMismatch, message).in_file(FileIndex(index)).at(&file.path));
            }
            file.expected_hash = None;
        }
        Ok(pinned)
    }
}

/// The reports of what was added, as the result of all edits.
fn added_reports(tried: &[TriedEntry]) -> Vec<FileReport> {
    let reports = tried.iter().filter_map(|TriedEntry { composed, report }| {
        let first = composed.added?.first_edit;
        let edits = first.and_then(|EditIndex(first)| report.edits.get(first..)).unwrap_or_default().to_vec();
        Some(FileReport { edits, ..report.clone() })
    });
    reports.collect()
}

/// An error of the whole request, in terms of what was just added.
fn name(composed: &[ComposedEntry], error: Error) -> Error {
    let Some(added) = error.file().and_then(|file| composed.get(file)?.added) else { return error.in_no_file() };
    let edit = error.edit().zip(added.first_edit).and_then(|(edit, EditIndex(first))| edit.checked_sub(first));
    let error = with_cause(composed, added, error.in_file(added.file));
    match edit {
        Some(edit) => error.in_edit(EditIndex(edit)),
        None => error,
    }
}

/// The cause of an edit that found nothing, in terms of what was just added: edits staged before have no number that the
/// caller knows.
fn with_cause(composed: &[ComposedEntry], added: AddedEntry, error: Error) -> Error {
    let Detail::NoMatch(before) = error.details() else { return error };
    let cause = match before.cause {
        Some(MismatchCause::ConsumedByEdit(edit)) => {
            let first = added.first_edit.map_or(0, |EditIndex(first)| first);
            Some(edit.checked_sub(first).map_or(MismatchCause::ConsumedByStaged, MismatchCause::ConsumedByEdit))
        }
        Some(MismatchCause::InOtherFile(file)) => {
            let other = composed.get(file).and_then(|entry| entry.added);
            other.map(|other| MismatchCause::InOtherFile(other.file.0))
        }
        cause => cause,
    };
    let (before, diagnosis) = (before.clone(), Box::new(Diagnosis { cause, ..(**before).clone() }));
    let words = |message: &str| {
        let start = message.strip_suffix(&before.advice()).unwrap_or(message);
        format!("{start}{}", diagnosis.advice())
    };
    error.reworded(words).detail(Detail::NoMatch(diagnosis.clone()))
}

fn check_stageable(request: &Request) -> Result<()> {
    let mut findings = Findings::new();
    if request.check.is_some() {
        let message = "`check` goes with the commit of the transaction, not with what is staged";
        findings.push(ErrorKind::ValidationFailed, vec!["check".to_owned()], message);
    }
    if request.idempotency_key.is_some() {
        let message =
            "`idempotency_key` goes with a request that is applied at once; a commit can simply be sent again";
        findings.push(ErrorKind::ValidationFailed, vec!["idempotency_key".to_owned()], message);
    }
    for (name, is_given) in
        [("plan_hash", request.plan_hash.is_some()), ("campaign", request.campaign.is_some()), ("again", request.again)]
    {
        if is_given {
            let message = format!("`{name}` goes with a request that is applied at once");
            findings.push(ErrorKind::ValidationFailed, vec![name.to_owned()], message);
        }
    }
    if request.backup {
        let message = "`backup` cannot be staged: the transaction can be undone instead";
        findings.push(ErrorKind::ValidationFailed, vec!["backup".to_owned()], message);
    }
    let is_held = |file: &FileRequest| matches!(file.change, Change::Take { .. });
    for (index, _) in request.files.iter().enumerate().filter(|(_, file)| is_held(file)) {
        let message = "a file that is given away cannot be staged: send its content";
        findings.push(ErrorKind::ValidationFailed, at_file(index, Some("file_path")), message);
    }
    let skips = |file: &FileRequest| {
        file.if_missing == IfMissing::Skip || file.edits().iter().any(|edit| edit.anchor.may_be_missing())
    };
    for (index, _) in request.files.iter().enumerate().filter(|(_, file)| skips(file)) {
        let message = "`if_missing` goes with a request that is applied at once: stage what is there";
        findings.push(ErrorKind::ValidationFailed, at_file(index, Some("if_missing")), message);
    }
    findings.finish()
}

/// Other open transactions that change the same names.
fn overlaps(state: &StateFolder, own: Option<&str>, tried: &[TriedEntry]) -> Result<Vec<Overlap>> {
    let mut overlaps = Vec::new();
    for other in list(state)?.into_iter().filter(|other| Some(other.id.as_str()) != own && !other.is_expired) {
        let ours = tried.iter().flat_map(|entry| names_changed(&entry.composed.staged.file));
        for path in ours.filter(|path| other.names.contains(path.as_path())) {
            overlaps.push(Overlap { id: other.id.clone(), owner: other.owner.clone(), path: path.to_path_buf() });
        }
    }
    Ok(overlaps)
}
