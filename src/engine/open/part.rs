//! Commits a part of an open transaction: what somebody selected after a review.
//!
//! The part is a request of its own, and is committed like any other. What is not in it is stored with the open transaction
//! before the commit, and takes its place after it: a crash at any moment leaves both, or the part committed and the rest open.

use super::compose::StagedEntry;
use super::review::Reviewed;
use super::store::OpenedFolder;
use super::stored::{StoredBase, StoredFile, StoredRest};
use super::{entries_of, or_mend, request_of};
use crate::check::Check;
use crate::digest::Digest;
use crate::engine::report::review::{ReviewedFile, SelectedCommit, SelectedFile, Selection, TakenRuns};
use crate::engine::store::id;
use crate::engine::store::state::{StateFolder, StateLookup};
use crate::engine::transaction::idempotency::check_plan;
use crate::engine::transaction::retry::telling;
use crate::engine::{Engine, Run};
use crate::error::{Error, ErrorKind, Result};
use crate::request::edit::{Anchor, Edit};
use crate::request::validate::{Findings, at_file};
use crate::request::{Change, FileRequest, IfExists, Request};
use crate::text::select::{self, Selected};
use crate::text::{diff, encoded};

/// What is committed of an open transaction.
pub(super) struct OpenedPart {
    pub entries: Vec<StagedEntry>,
    /// The only plan that may be committed.
    pub plan_hash: Option<Digest>,
    /// What the same decision is recognised by.
    pub fingerprint: Option<Digest>,
}

impl Engine {
    /// Commits what was selected of an open transaction, if everything that is staged would still do exactly what was
    /// reviewed. On failure all of it is still open, and the error's outcome tells the state of the files. If the answer is
    /// lost, the same call gives it again.
    pub fn commit_selected(
        &self,
        id: &str,
        selection: &Selection,
        check: Option<Check>,
        run: Run<'_>,
    ) -> Result<SelectedCommit> {
        self.commit_some(id, PartOf::Selected(selection), check, run)
    }

    pub(super) fn commit_some(
        &self,
        id: &str,
        part: PartOf<'_>,
        check: Option<Check>,
        run: Run<'_>,
    ) -> Result<SelectedCommit> {
        self.check_allowed(check.as_ref())?;
        let (mut found, mut warnings) = (self.found()?, Vec::new());
        let failed = self.recover_and_sweep(&found, &mut warnings, run)?;
        let committed = self.commit_opened(id, part, check, &mut found, &mut warnings, run);
        let (report, rest) = match committed {
            Ok(SelectedCommit { report, rest }) => (Ok(report), rest),
            Err(error) => (Err(or_mend(id, failed.in_front_of(error))), None),
        };
        Ok(SelectedCommit { report: telling(report, warnings)?, rest })
    }

    /// What is committed, as it fits the files now; the rest is stored with the open transaction.
    pub(super) fn part(
        &self,
        (state, opened): (&StateFolder, &mut OpenedFolder),
        part: PartOf<'_>,
        found: &mut StateLookup,
        run: Run<'_>,
    ) -> Result<OpenedPart> {
        // What an attempt left that was not committed.
        let had_rest = opened.stored.rest.take().is_some();
        let part = match part {
            PartOf::All(plan_hash) => OpenedPart { entries: entries_of(opened)?, plan_hash, fingerprint: None },
            PartOf::Selected(selection) => self.selected(opened, selection, found, run)?,
        };
        if had_rest || opened.stored.rest.is_some() {
            opened.save(state)?;
        }
        Ok(part)
    }

    fn selected(
        &self,
        opened: &mut OpenedFolder,
        selection: &Selection,
        found: &mut StateLookup,
        run: Run<'_>,
    ) -> Result<OpenedPart> {
        let needed = |(file, selected)| matches!(selected, &SelectedFile::Runs(_)).then_some(file);
        let needed: Vec<usize> = selection.files.iter().enumerate().filter_map(needed).collect();
        let Reviewed { staged, settled, review } = self.reviewed(opened, Some(&needed), found, run)?;
        let is_rebased = review.preview.report.files.iter().any(|file| file.extras.rebased.is_some());
        check_plan(Some(selection.plan_hash), review.preview.plan_hash, is_rebased)?;
        if selection.files.len() != staged.len() {
            let (given, count) = (selection.files.len(), staged.len());
            let message =
                format!("{given} files are selected from, and {count} are staged: there is one for each of them");
            return Err(Error::new(ErrorKind::ValidationFailed, message).of_transaction(&opened.id));
        }
        let mut split =
            Split { opened, engine: self, entries: Vec::new(), rest: Vec::new(), findings: Findings::new() };
        for (index, selected) in selection.files.iter().enumerate() {
            let contents = review.files[index].as_ref();
            split.add(index, &staged[index], &settled[index], selected, contents)?;
        }
        let Split { entries, rest, mut findings, .. } = split;
        refuse_without_folder(&staged, &selection.files, &mut findings);
        findings.finish()?;
        if entries.is_empty() {
            let message = "nothing is selected, so there is nothing to commit";
            return Err(Error::new(ErrorKind::ValidationFailed, message).of_transaction(&opened.id));
        }
        let fingerprint = Some(selection.fingerprint(&opened.id));
        if selection.is_all() {
            return Ok(OpenedPart { entries: staged, plan_hash: Some(selection.plan_hash), fingerprint });
        }
        let request = Request { dry_run: true, ..request_of(opened, entries.clone()) };
        let (prepared, _) = self.prepare_unlocked(&request, found, &mut Vec::new(), run)?;
        if selection.keeps_rest && !rest.is_empty() {
            let id = id::after(self.workspace.now(), Some(&opened.id));
            opened.stored.rest = Some(StoredRest { id, of: opened.id.clone(), files: rest });
        }
        Ok(OpenedPart { entries, plan_hash: Some(prepared.plan.hash()), fingerprint })
    }

    /// The open transaction with what was not selected of another one.
    pub(super) fn rest_of(&self, found: &StateLookup, id: &str) -> Result<Option<String>> {
        let Some(state) = found.trusted(&self.workspace)? else { return Ok(None) };
        let listed = super::store::list(state)?;
        Ok(listed.into_iter().find(|(_, stored)| stored.rest_of.as_deref() == Some(id)).map(|(rest, _)| rest))
    }
}

/// What is committed of an open transaction, as a caller says it.
#[derive(Debug, Clone, Copy)]
pub(super) enum PartOf<'s> {
    /// All of it, by a plan if one was previewed.
    All(Option<Digest>),
    Selected(&'s Selection),
}

impl<'s> PartOf<'s> {
    /// What is selected, if it may be less than all.
    pub(super) const fn selection(self) -> Option<&'s Selection> {
        match self {
            Self::All(_) => None,
            Self::Selected(selection) => Some(selection),
        }
    }

    /// The plan that the whole must have been committed by.
    pub(super) const fn whole_plan(self) -> Option<Digest> {
        match self {
            Self::All(plan_hash) => plan_hash,
            Self::Selected(_) => None,
        }
    }
}

/// An open transaction that is divided.
struct Split<'e> {
    opened: &'e OpenedFolder,
    engine: &'e Engine,
    /// What is committed.
    entries: Vec<StagedEntry>,
    /// What is left.
    rest: Vec<StoredFile>,
    findings: Findings,
}

impl Split<'_> {
    /// Divides a file; `contents` must be there if some of its lines are selected.
    fn add(
        &mut self,
        index: usize,
        staged: &StagedEntry,
        settled: &FileRequest,
        selected: &SelectedFile,
        contents: Option<&ReviewedFile>,
    ) -> Result<()> {
        match selected {
            SelectedFile::Nothing => self.leave(&staged.file, staged.base),
            SelectedFile::Whole => self.take(staged, settled.clone()),
            SelectedFile::Content(content) => match &settled.change {
                Change::Write { if_exists, .. } => {
                    let change = Change::Write { content: content.clone(), if_exists: *if_exists };
                    self.take(staged, FileRequest { change, encoding: None, ..settled.clone() });
                }
                _ => self.refuse(index, "only a file that is created or replaced can get another content"),
            },
            SelectedFile::Runs(taken) => {
                let contents = contents.expect("the contents were asked for");
                let (Some(before), Some(after), Some(runs)) = (&contents.before, &contents.after, &contents.runs)
                else {
                    self.refuse(index, "it can only be selected as a whole");
                    return Ok(());
                };
                if !select::is_valid(runs, taken) {
                    let message = format!("its changes are numbered from 0 to {}, and come in order", runs.len() - 1);
                    self.refuse(index, &message);
                    return Ok(());
                }
                let Selected { taken: part, whole } = select::select(before, after, runs, taken);
                return self.divide(staged, settled, taken, part, &whole);
            }
        }
        Ok(())
    }

    /// Takes a part of a text.
    fn divide(
        &mut self,
        staged: &StagedEntry,
        settled: &FileRequest,
        taken: &[TakenRuns],
        part: Vec<u8>,
        whole: &[u8],
    ) -> Result<()> {
        if taken.is_empty() {
            self.leave(&staged.file, staged.base);
            return Ok(());
        }
        if part != whole {
            let digest = Digest::of(&part);
            self.opened.keep(&self.engine.workspace, &part, digest)?;
            let base = StoredBase { digest: Some(digest), is_pinned: false, is_link: false };
            let change = rest_of_text(&part, whole);
            self.leave(&FileRequest::new(staged.file.path.clone(), change), Some(base));
        }
        let change = Change::Write { content: part, if_exists: IfExists::Replace };
        self.take(staged, FileRequest { change, encoding: None, ..settled.clone() });
        Ok(())
    }

    fn take(&mut self, staged: &StagedEntry, file: FileRequest) {
        // What was reviewed is made for this content, and is carried over to no other.
        let pinned =
            |base: StoredBase| StoredBase { digest: file.expected_hash.or(base.digest), is_pinned: true, ..base };
        let base = staged.base.map(pinned);
        self.entries.push(StagedEntry { file, base });
    }

    fn leave(&mut self, file: &FileRequest, base: Option<StoredBase>) {
        // It was stored before, or has edits by offset only.
        self.rest.extend(base.and_then(|base| StoredFile::of(file, base)));
    }

    fn refuse(&mut self, index: usize, message: &str) {
        self.findings.push(ErrorKind::ValidationFailed, at_file(index, None), message);
    }
}

/// Refuses files without the new folders that they are in: those would be made for them, and could not be made once more.
fn refuse_without_folder(staged: &[StagedEntry], selected: &[SelectedFile], findings: &mut Findings) {
    let all = || staged.iter().zip(selected).enumerate();
    let left = all().filter(|(_, (entry, selected))| {
        matches!(selected, SelectedFile::Nothing) && matches!(entry.file.change, Change::MakeFolder)
    });
    for (_, (folder, _)) in left {
        let is_in =
            |entry: &StagedEntry| entry.file.result().is_some_and(|to| to.starts_with(folder.file.path.as_path()));
        let taken = all().filter(|(_, (entry, selected))| !matches!(selected, SelectedFile::Nothing) && is_in(entry));
        for (index, _) in taken {
            let message = format!(
                "it is in the new folder {}, which is not selected: select that, too",
                folder.file.path.display()
            );
            findings.push(ErrorKind::ValidationFailed, at_file(index, None), message);
        }
    }
}

/// What turns a content into another: by offset, so that it can be carried over to what another program makes of the first.
fn rest_of_text(from: &[u8], to: &[u8]) -> Change {
    let runs = diff::changed(from, to).unwrap_or_default();
    // The last comes first, so that it moves none of the others.
    let edits: Vec<Edit> = runs
        .into_iter()
        .rev()
        .map(|(before, after)| Edit {
            anchor: Anchor::Range { range: before.clone(), expected: from[before].to_vec() },
            replacement: to[after].to_vec(),
        })
        .collect();
    let edited = encoded::edit(from, None, &edits).map(|edited| edited.splices.apply(from));
    match edited {
        Ok(edited) if edited == to => Change::Edit { edits, rename: None },
        _ => Change::Write { content: to.to_vec(), if_exists: IfExists::Replace },
    }
}
