//! Stages new edits: adds them to what is staged, tries the whole, and stores it.

use super::compose::{Composed, compose};
use super::settle;
use super::store::{self, OpenedFolder};
use super::stored::{StoredBase, StoredFile};
use super::{bases_of, list, request_of};
use crate::engine::recovery::InFront;
use crate::engine::report::{FileReport, Overlap, Report, Staged};
use crate::engine::store::snapshot;
use crate::engine::store::state::{StateFolder, StateLookup};
use crate::engine::{Engine, Run};
use crate::error::{Error, ErrorKind, Result};
use crate::path::AskedPath;
use crate::request::validate::Findings;
use crate::request::{FileRequest, Request};

/// The request that is staged so far, with the bases of its files.
#[derive(Debug, Default)]
struct Before {
    request: Request,
    bases: Vec<StoredBase>,
}

impl Before {
    fn of(opened: Option<&OpenedFolder>) -> Result<Self> {
        let Some(opened) = opened else { return Ok(Self::default()) };
        Ok(Self { request: request_of(opened)?, bases: bases_of(opened)? })
    }

    /// True if a file was at this path when something was staged for it.
    fn was_there(&self, path: &std::path::Path) -> bool {
        let mut entries = self.request.files.iter().zip(&self.bases);
        entries.any(|(file, base)| file.path == path.into() && base.digest.is_some())
    }
}

/// The staged and the added request together, as they were tried.
struct Tried {
    composed: Composed,
    /// The bases of the entries that were staged before.
    bases: Vec<Option<StoredBase>>,
    files: Vec<FileReport>,
}

impl Engine {
    /// Opens a transaction, or adds to one. Edits apply to the result of the edits before them; no file is changed. On
    /// failure what was staged before is unchanged. A dry run is only tried.
    pub fn stage(&self, request: &Request, id: Option<&str>, run: Run<'_>) -> Result<Staged> {
        check_stageable(request)?;
        let (mut found, mut warnings) = (self.found()?, Vec::new());
        let failed = if request.dry_run { InFront::default() } else { self.recover_own(&found, &mut warnings, run)? };
        match self.stage_in(request, id, &mut found, &mut warnings, run) {
            Ok(mut staged) => {
                staged.report.warnings = warnings;
                Ok(staged)
            }
            Err(error) => Err(failed.in_front_of(error).warning_of(warnings)),
        }
    }

    fn stage_in(
        &self,
        request: &Request,
        id: Option<&str>,
        found: &mut StateLookup,
        warnings: &mut Vec<String>,
        run: Run<'_>,
    ) -> Result<Staged> {
        let mut added = self.in_root(request);
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
        let before = Before::of(opened.as_ref())?;
        let pinned = self.check_staged_hashes(opened.as_ref(), &mut added, found, run)?;
        self.place_edits(&before.request, &mut added, run)?;
        let tried = self.try_out(opened.as_ref(), &before, &added, found, warnings, run)?;
        self.look_at_paths_again(request, &added)?;
        let overlaps = match &*found {
            StateLookup::State(state) => overlaps(state, id, &tried.composed.request)?,
            _ => Vec::new(),
        };
        let report = Report { dry_run: request.dry_run, files: tried.added(), ..Report::default() };
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
        opened.save(&state)?;
        Ok(Staged { id: Some(opened.id.clone()), expires: Some(opened.expires()), report, overlaps })
    }

    /// Verifies that the paths of a request still lead where they did when it was tried: they were resolved one after
    /// the other.
    fn look_at_paths_again(&self, request: &Request, added: &Request) -> Result<()> {
        let now = self.in_root(request);
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
        before: &Before,
        added: &Request,
        found: &mut StateLookup,
        warnings: &mut Vec<String>,
        run: Run<'_>,
    ) -> Result<Tried> {
        let composed = compose(before.request.clone(), added, &|path| before.was_there(path))?;
        let bases: Vec<_> = composed.staged.iter().map(|staged| staged.map(|at| before.bases[at])).collect();
        let (dry_run, include_content) = (true, added.include_content);
        let mut request = Request { dry_run, include_content, ..composed.request.clone() };
        let rebased = match opened {
            Some(opened) => self.settle(opened, &mut request, &bases, run)?,
            None => vec![None; bases.len()],
        };
        let (_, mut files) = self.prepare_unlocked(&request, found, warnings, run).map_err(|e| composed.name(e))?;
        settle::tell(&mut files, &rebased);
        Ok(Tried { composed, bases, files })
    }

    /// The entries in their stored form; the contents that they were staged on are kept.
    fn written(&self, opened: &OpenedFolder, tried: &Tried, pinned: &[bool], run: Run<'_>) -> Result<Vec<StoredFile>> {
        let mut written = Vec::with_capacity(tried.files.len());
        for (at, entry) in tried.composed.request.files.iter().enumerate() {
            let new = StoredBase { digest: tried.files[at].hash_before, is_pinned: false };
            let mut base = tried.bases[at].unwrap_or(new);
            base.is_pinned |= tried.composed.origins[at].is_some_and(|origin| pinned[origin.file]);
            self.keep_base(opened, entry, base.digest, run)?;
            let stored = StoredFile::of(entry, base);
            written.push(stored.ok_or_else(|| snapshot::changed(&entry.path, "changed while it was staged"))?);
        }
        Ok(written)
    }

    /// Verifies that a file whose expected hash is the `hash_after` of an earlier stage still gets that content; then
    /// only the base is left for the commit to compare. Returns which entries were pinned.
    fn check_staged_hashes(
        &self,
        opened: Option<&OpenedFolder>,
        added: &mut Request,
        found: &mut StateLookup,
        run: Run<'_>,
    ) -> Result<Vec<bool>> {
        let pinned: Vec<bool> = added.files.iter().map(|file| file.expected_hash.is_some()).collect();
        let Some(opened) = opened.filter(|_| pinned.contains(&true)) else { return Ok(pinned) };
        let staged = self.preview_of(opened, found, run)?.report.files;
        for (index, file) in added.files.iter_mut().enumerate() {
            let of_file =
                |report: &&FileReport| report.extras.renamed_to.as_ref().unwrap_or(&report.path) == &file.path;
            let (Some(expected), Some(report)) = (file.expected_hash, staged.iter().find(of_file)) else { continue };
            if report.hash_after != Some(expected) {
                let message = format!("{} as staged is not the file that the edits were made for", file.path.display());
                return Err(Error::new(ErrorKind::HashMismatch, message).in_file(index).at(&file.path));
            }
            file.expected_hash = None;
        }
        Ok(pinned)
    }
}

impl Tried {
    /// The reports of what was added, on top of the rest.
    fn added(&self) -> Vec<FileReport> {
        let both = self.composed.origins.iter().zip(&self.files);
        both.filter_map(|(origin, file)| {
            let edits = file.edits.get((*origin)?.edits_before..).unwrap_or_default().to_vec();
            Some(FileReport { edits, ..file.clone() })
        })
        .collect()
    }
}

impl Composed {
    /// An error of the whole request, in terms of what was just added.
    fn name(&self, error: Error) -> Error {
        let Some(origin) = error.file().and_then(|file| *self.origins.get(file)?) else { return error.in_no_file() };
        let edit = error.edit().and_then(|edit| edit.checked_sub(origin.edits_before));
        let error = error.in_file(origin.file);
        match edit {
            Some(edit) => error.in_edit(edit),
            None => error,
        }
    }
}

/// The paths that an entry names.
fn names(entry: &FileRequest) -> impl Iterator<Item = &AskedPath> {
    [Some(&entry.path), entry.destination().map(|to| &to.path), entry.origin()].into_iter().flatten()
}

fn check_stageable(request: &Request) -> Result<()> {
    let mut findings = Findings::new();
    if request.check.is_some() {
        let message = "`check` goes with the commit of the transaction, not with what is staged";
        findings.push(ErrorKind::ValidationFailed, vec!["check".to_owned()], message);
    }
    if request.backup {
        let message = "`backup` cannot be staged: the transaction can be undone instead";
        findings.push(ErrorKind::ValidationFailed, vec!["backup".to_owned()], message);
    }
    findings.finish()
}

/// Other open transactions that touch the same files.
fn overlaps(state: &StateFolder, own: Option<&str>, request: &Request) -> Result<Vec<Overlap>> {
    let mut overlaps = Vec::new();
    for other in list(state)?.into_iter().filter(|other| Some(other.id.as_str()) != own && !other.is_expired) {
        let ours = request.files.iter().map(|file| &file.path);
        for path in ours.filter(|path| other.files.iter().any(|(theirs, _)| theirs.as_path() == path.as_path())) {
            overlaps.push(Overlap { id: other.id.clone(), owner: other.owner.clone(), path: path.to_path_buf() });
        }
    }
    Ok(overlaps)
}
