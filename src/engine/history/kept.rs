//! Contents that a rollback moved to `kept/` because they are another program's.

use std::path::Path;

use super::trash;
use crate::cancel::CancelToken;
use crate::cancel::NEVER;
use crate::digest::Digest;
use crate::engine::report::{Kept, Report};
use crate::engine::store::aside::asides;
use crate::engine::store::delete_tree;
use crate::engine::store::folder::{NAME_TAKEN, ONLY_COPY, OVERWRITTEN, UNCERTAIN, is_incomplete, see};
use crate::engine::store::interrupted;
use crate::engine::store::parts::{SlotFolders, is_away};
use crate::engine::store::state::{Section, StateFolder, list_ids, open_transaction};
use crate::engine::store::workspace::Workspace;
use crate::engine::{Engine, Run};
use crate::error::{self, Detail, Error, ErrorKind, NextStep, Outcome, Result};
use crate::fs::{FileKind, Handle, Name, Stat};
use crate::journal::recover::{Observed, Seen, is, is_new, is_original_gone};
use crate::journal::{self, Beginning, Extract, Header, Journal, JournalState, Record, slot_name};
use crate::limits;
use crate::path::RelPath;
use crate::request::{Change, FileRequest, IfExists, Mode, Request};

/// The attempts to restore a content while another program writes or deletes the file.
const RESTORE_TRIES: usize = 8;

fn is_of_another_moment(error: &Error) -> bool {
    let is_one = matches!(error.kind(), ErrorKind::HashMismatch | ErrorKind::FileNotFound);
    is_one && error.outcome() == Outcome::Unchanged
}

impl Engine {
    /// Lists the kept contents, oldest first. Nothing is changed, whether it fails or not.
    pub fn kept(&self) -> Result<Vec<Kept>> {
        let Some(state) = self.state()? else { return Ok(Vec::new()) };
        // One that cannot be opened may hold something: that is not "nothing".
        state.whole_section(Section::Kept)?;
        list(&state)
    }

    /// Writes one kept content over its file, as a transaction of its own. Without a path, its transaction must have
    /// kept only one. The kept copy stays until it is dropped, also on failure; the error's outcome then tells the
    /// state of the file, as of [`apply`](Self::apply).
    pub fn kept_restore(&self, id: &str, path: Option<&Path>, run: Run<'_>) -> Result<Report> {
        let (state, folder) = self.kept_folder(id)?;
        let Some((journal, journal_state)) = interrupted::read_wanted(&self.workspace, &folder, |_| true)? else {
            let message =
                format!("the journal of {id} does not verify; what is kept of it is in {}", folder.path().display());
            return Err(by_hand(ErrorKind::RecoveryRequired, message, id, folder.path()));
        };
        let contents = contents(&state, &folder, (&journal, journal_state), run.cancel)?;
        let wanted = path.map(|path| self.rel_path(path)).transpose()?;
        let mut fitting =
            contents.iter().filter(|(path, _)| wanted.as_ref().is_none_or(|wanted| wanted.as_path() == *path));
        let (Some((path, kept)), None) = (fitting.next(), fitting.next()) else {
            return Err(unclear(id, &contents));
        };
        if kept.reason == UNCERTAIN {
            let path = &kept.kept_path;
            let message = format!("{} is {UNCERTAIN}: look at it, and copy from it what is missing", path.display());
            return Err(by_hand(ErrorKind::RecoveryRequired, message, id, path));
        }
        let place = &kept.kept_path;
        let Some(kept) = kept.kept_path.file_name() else { unreachable!("what is kept has a name") };
        let path = RelPath::new(path).map_err(|_| unclear(id, &contents))?;
        let slots = SlotFolders::left(&self.workspace, &folder, &journal.header)?;
        let name = Name::new(slots.of(&path), kept);
        let stat = self.workspace.stat(name)?;
        let Some((content, stat)) = self.content(name, run.cancel)?.zip(stat) else {
            let message =
                format!("{} is a folder, or another special file; only files are written back", place.display());
            return Err(by_hand(ErrorKind::NotARegularFile, message, id, place));
        };
        let label = format!("restore what {id} kept");
        let restore = || {
            // A file would be written through a symlink, into what that leads to; it may have come since the last attempt.
            if stat.kind != FileKind::Symlink && self.is_symlink(&path)? {
                let message = format!("{} is a symlink now, which stays as it is", path.as_path().display());
                return Err(by_hand(ErrorKind::NotARegularFile, message, id, place));
            }
            self.restore(&path, (&content, &stat), &label, run)
        };
        for _ in 1..RESTORE_TRIES {
            match restore() {
                // It changed, or went, after it was looked at.
                Err(error) if is_of_another_moment(&error) => {}
                restored => return restored,
            }
        }
        restore()
    }

    fn is_symlink(&self, path: &RelPath) -> Result<bool> {
        let Some(folder) = self.workspace.find_folder(&self.workspace.root, path.parent())? else { return Ok(false) };
        let stat = self.workspace.stat(Name::new(&folder, path.name()))?;
        Ok(stat.is_some_and(|stat| stat.kind == FileKind::Symlink))
    }

    /// Writes a content over what is at a path now. Only where no file is there does it get the mode of the kept one, since
    /// nothing else says who may read it: a file that goes, or changes, before it is replaced is a conflict.
    fn restore(&self, path: &RelPath, (content, stat): (&[u8], &Stat), label: &str, run: Run<'_>) -> Result<Report> {
        let now = self.current(path, run.cancel)?.map(|current| Digest::of(&current));
        let if_exists = IfExists::Replace;
        let (change, mode) = match stat.kind {
            FileKind::Symlink => (Change::Symlink { target: content.to_vec(), if_exists }, None),
            _ => (Change::Write { content: content.to_vec(), if_exists }, Some(Mode::Bits(stat.mode & 0o777))),
        };
        let request = Request {
            files: vec![FileRequest {
                expected_hash: now,
                mode: mode.filter(|_| now.is_none()),
                ..FileRequest::new(path.asked(), change)
            }],
            check: None,
            label: Some(label.to_owned()),
            ..Request::default()
        };
        self.apply(&request, run)
    }

    /// Deletes the kept content of one transaction, folders with everything in them. On failure the rest is still kept.
    pub fn kept_drop(&self, id: &str) -> Result<()> {
        let (state, folder) = self.kept_folder(id)?;
        // Another process that empties the trash leaves a locked folder alone.
        self.workspace.try_lock(&folder)?;
        // The journal goes last: without it nothing tells what the rest is.
        for folder in trash::slots_of(&state, &folder)?.all() {
            delete_tree::folders_in(&self.workspace, folder)?;
        }
        state.move_transaction(id, Section::Kept, Section::Trash)?;
        let told = |message: &str| format!("it is no longer kept, though a power loss may bring it back: {message}");
        trash::sync_and_drop(&state, id).map_err(|error| match error.details() {
            Detail::PartlyDone => error,
            _ => error.reworded(told).detail(Detail::PartlyDone),
        })
    }

    fn kept_folder(&self, id: &str) -> Result<(StateFolder, Handle)> {
        let unknown = || {
            let message = format!("nothing is kept of a transaction {id}");
            Error::new(ErrorKind::UnknownTransaction, message).with_next([NextStep::ListKept])
        };
        if !journal::is_id(id.as_ref()) {
            return Err(unknown());
        }
        let state = self.state()?.ok_or_else(unknown)?;
        let section = state.section(Section::Kept)?.ok_or_else(unknown)?;
        let folder = open_transaction(&self.workspace, &section, id)?.ok_or_else(unknown)?;
        Ok((state, folder))
    }
}

/// The error if what is kept is there, but only a person can take it.
fn by_hand(kind: ErrorKind, message: String, id: &str, kept: &Path) -> Error {
    Error::new(kind, message).at(kept).with_next([NextStep::TakeByHand { id: id.to_owned(), kept: kept.to_owned() }])
}

/// The error if nothing, or more than one content, may be meant. A copied folder lists its contents nowhere else.
fn unclear(id: &str, contents: &[(&Path, error::KeptContent)]) -> Error {
    let mut paths: Vec<_> = contents.iter().map(|(path, _)| path.display().to_string()).collect();
    paths.sort();
    paths.dedup();
    let named = match paths.len() {
        0 => " to restore".to_owned(),
        _ => format!("; name the one to restore: {}", crate::path::listed(&paths)),
    };
    let error = Error::new(ErrorKind::ValidationFailed, format!("{id} keeps {} contents{named}", contents.len()));
    error.with_next([NextStep::ListKept])
}

/// The kept contents of a workspace.
pub(crate) fn list(state: &StateFolder) -> Result<Vec<Kept>> {
    let Some(section) = state.section(Section::Kept)? else { return Ok(Vec::new()) };
    let mut kept = Vec::new();
    for id in list_ids(&state.workspace, &section)? {
        let Some(folder) = open_transaction(&state.workspace, &section, &id)? else { continue };
        let stat = state.workspace.stat_handle(&folder)?;
        let found = match listed(&state.workspace, &folder, &stat)? {
            Some((journal, journal_state)) => match contents(state, &folder, (&journal, journal_state), &NEVER) {
                // What it is, is told once that is mounted.
                Err(error) if is_away(&error) => vec![error::KeptContent {
                    path: error.path().map_or_else(|| folder.path().to_owned(), |path| state.workspace.path_of(path)),
                    kept_path: folder.path().to_owned(),
                    reason: error.message().to_owned(),
                }],
                found => found?.into_iter().map(|(_, kept)| kept).collect(),
            },
            None => Vec::new(),
        };
        kept.push(Kept { id, folder: folder.path().to_owned(), contents: found });
    }
    Ok(kept)
}

/// The journal of a kept folder as far as its contents are listed: all of it, or only the first entries of one that was
/// copied here, which can be long. All contents can be restored.
fn listed(workspace: &Workspace, folder: &Handle, stat: &Stat) -> Result<Option<(Journal, JournalState)>> {
    let is_born_here = |header: &Header| header.folder.is_record_of(&stat.identity);
    let read = interrupted::read_of_journal(workspace, folder, |bytes| {
        journal::read_if(bytes, is_born_here, limits::FOREIGN_FILES)
    })?;
    Ok(match read {
        Some(Ok((Extract::Whole(journal), journal_state))) => Some((journal, journal_state)),
        Some(Ok((Extract::Beginning(Beginning { header, entries, .. }), journal_state))) => {
            Some((Journal { header, back_on_crash: false, entries }, journal_state))
        }
        Some(Err(_)) | None => None,
    })
}

/// The observed state, with the inode that the journal names: a copy has other inodes, and there content, mode and
/// owner tell what was staged.
fn as_staged(record: &Record, seen: Seen, is_born_here: bool) -> Seen {
    match (seen, record.change.staged()) {
        (Seen::File { digest, mode, access, .. }, Some(staged)) if !is_born_here => {
            Seen::File { digest, mode, access, identity: *staged }
        }
        _ => seen,
    }
}

/// Returns whether this is the file that was staged for an entry, whatever its content.
fn is_staged(record: &Record, seen: Seen) -> bool {
    record.change.staged().is_some_and(|staged| is(seen, staged))
}

/// The slots of a kept folder, except those that hold the transaction's own new content or what a power loss left of
/// it.
fn contents<'j>(
    state: &StateFolder,
    folder: &Handle,
    (journal, journal_state): (&'j Journal, JournalState),
    cancel: &CancelToken,
) -> Result<Vec<(&'j Path, error::KeptContent)>> {
    let mut found = Vec::new();
    let slots = SlotFolders::left(&state.workspace, folder, &journal.header)?;
    let kept = |record: &Record, path: &Path, name: &str, reason: &str| error::KeptContent {
        path: state.workspace.root.path().join(path),
        kept_path: slots.of(&record.path).path().join(name),
        reason: reason.to_owned(),
    };
    let stat = state.workspace.stat_handle(folder)?;
    let is_born_here = journal.header.folder.is_record_of(&stat.identity);
    let aside = asides(&state.workspace, &slots, journal)?;
    let is_noted = state.workspace.stat(Name::new(folder, journal::RESTORED_NAME))?.is_some();
    let is_lost = !is_noted && is_any_lost(state, &slots, (journal, journal_state), cancel)?;
    for (entry, record) in journal.entries.numbered() {
        for aside in aside.get(&entry).into_iter().flatten() {
            let reason = match journal_state {
                JournalState::CheckUndo => "what a check, or another program, wrote",
                _ if record.change.overwrites() => OVERWRITTEN,
                _ => NAME_TAKEN,
            };
            found.push((aside.path, kept(record, aside.path, &aside.name, reason)));
        }
        let slot = slot_name(entry);
        let name = Name::new(slots.of(&record.path), &slot);
        let reason = match see(&state.workspace, name, cancel) {
            Ok(Seen::Missing) => continue,
            // The copy of a file that was overwritten is of no use once that has its content again.
            Ok(Seen::File { .. }) if record.change.overwrites() && !has_content_before(state, record, cancel)? => {
                "the content before the transaction"
            }
            Ok(seen @ Seen::File { .. }) if is_lost && is_new(record, as_staged(record, seen, is_born_here)) => {
                ONLY_COPY
            }
            Ok(seen)
                if is_new(record, as_staged(record, seen, is_born_here))
                    || is_incomplete(&state.workspace, &slots, journal, (entry, journal_state))? =>
            {
                continue;
            }
            Ok(Seen::File { digest, .. }) if record.change.before().is_some_and(|before| before.digest == digest) => {
                "the content before the transaction"
            }
            Ok(seen) if journal_state == JournalState::Contended && is_staged(record, seen) => UNCERTAIN,
            Ok(_) => "another program's content",
            Err(e) if e.kind() == ErrorKind::PermissionDenied => "it cannot be read by you",
            Err(e) => return Err(e),
        };
        found.push((record.path.as_path(), kept(record, record.path.as_path(), &slot, reason)));
    }
    Ok(found)
}

/// Returns whether the content before a transaction is at its path.
fn has_content_before(state: &StateFolder, record: &Record, cancel: &CancelToken) -> Result<bool> {
    let parent = state.workspace.find_folder(&state.workspace.root, record.path.parent())?;
    let name = parent.as_ref().map(|parent| Name::new(parent, record.path.name()));
    let seen = name.map_or(Ok(Seen::Missing), |name| see(&state.workspace, name, cancel))?;
    let before = record.change.before().map(|before| before.digest);
    Ok(matches!(seen, Seen::File { digest, .. } if Some(digest) == before))
}

/// Returns whether an original of a rollback is gone: neither in its slot nor at its path. After a check an original goes
/// back without an exchange, so its slot is empty in any case.
fn is_any_lost(
    state: &StateFolder,
    slots: &SlotFolders,
    (journal, journal_state): (&Journal, JournalState),
    cancel: &CancelToken,
) -> Result<bool> {
    for (entry, record) in journal.entries.numbered().filter(|_| journal_state.is_undo()) {
        let Some(original) = record.change.original() else { continue };
        if state.workspace.stat(Name::new(slots.of(&record.path), &slot_name(entry)))?.is_some() {
            continue;
        }
        let parent = match state.workspace.find_folder(&state.workspace.root, record.path.parent()) {
            Err(e) if e.kind() == ErrorKind::PermissionDenied => return Ok(true),
            parent => parent?,
        };
        let name = parent.as_ref().map(|parent| Name::new(parent, record.path.name()));
        let target = name.map_or(Ok(None), |name| state.workspace.stat(name))?;
        let Some((name, stat)) = name.zip(target) else { return Ok(true) };
        // Only a file that is not the original itself is read: it may be large.
        if journal_state == JournalState::CheckUndo || stat.identity == *original {
            continue;
        }
        let target = match see(&state.workspace, name, cancel) {
            Ok(target) => target,
            // It may be another program's: then what was made may be the only copy.
            Err(e) if e.kind() == ErrorKind::PermissionDenied => return Ok(true),
            Err(e) => return Err(e),
        };
        if is_original_gone(record, &Observed { target, slot: Seen::Missing }) {
            return Ok(true);
        }
    }
    Ok(false)
}
