//! Composes one request from what is staged and what is added to it: edits apply to the result of the edits before
//! them.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::stored::StoredBase;
use crate::charset::Charset;
use crate::error::{Error, ErrorKind, Result};
use crate::index::{EditIndex, FileIndex};
use crate::request::edit::Edit;
use crate::request::validate::{Findings, at_file};
use crate::request::{Change, FileRequest, IfExists, RenameTo, Request};
use crate::text::{self, encoded};

/// A file of what is staged.
#[derive(Debug, Clone)]
pub(super) struct StagedEntry {
    pub file: FileRequest,
    /// The content that it was staged on; `None` until it is stored for the first time.
    pub base: Option<StoredBase>,
}

/// A file of two requests that became one.
#[derive(Debug, Clone)]
pub(super) struct ComposedEntry {
    pub staged: StagedEntry,
    /// The part of the second request that is in it.
    pub added: Option<AddedEntry>,
}

/// The part of a file entry that was just added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AddedEntry {
    /// The entry of the request that was added.
    pub file: FileIndex,
    /// The first edit that is added: those in front were staged before. `None` if no edit is added.
    pub first_edit: Option<EditIndex>,
}

/// Adds a request to what is staged. `is_there` tells whether a path existed before anything was staged. All paths must
/// be written in the same way.
pub(super) fn compose(staged: &[StagedEntry], added: &Request) -> Result<Vec<ComposedEntry>> {
    let entries = staged.iter().map(|staged| Some(ComposedEntry { staged: staged.clone(), added: None }));
    let results = staged.iter().filter_map(|entry| Some(entry.file.result()?.to_path_buf()));
    let mut composition = Composition {
        entries: entries.collect(),
        // Entries of one request do not see each other: they apply only to what was staged before.
        results: results.collect(),
        positions: positions(staged),
        vacated: staged.iter().filter_map(StagedEntry::vacated).collect(),
        vacated_now: HashSet::new(),
        there: staged.iter().filter(|entry| entry.was_there()).map(|entry| entry.file.path.to_path_buf()).collect(),
        findings: Findings::new(),
    };
    for (file, entry) in added.files.iter().enumerate() {
        composition.add(FileIndex(file), entry)?;
    }
    composition.findings.finish()?;
    Ok(composition.entries.into_iter().flatten().collect())
}

/// The staged request, while another is added to it.
struct Composition {
    /// The entries; `None` for one that cancelled out with what was added to it.
    entries: Vec<Option<ComposedEntry>>,
    /// The paths at which what was staged before leaves a file.
    results: HashSet<PathBuf>,
    /// The first entry that leaves a file at a path.
    positions: HashMap<PathBuf, usize>,
    /// The paths from which entries that nothing was added to take a file away.
    vacated: HashSet<PathBuf>,
    /// The paths from which what is added takes a file away.
    vacated_now: HashSet<PathBuf>,
    /// The paths at which a file was when something was staged for it.
    there: HashSet<PathBuf>,
    findings: Findings,
}

/// The result of adding a change to a staged entry.
enum Merged {
    Into(FileRequest, Option<EditIndex>),
    Gone,
    Refused(ErrorKind, String),
}

impl StagedEntry {
    /// Returns whether a file was at its path when it was staged.
    fn was_there(&self) -> bool {
        self.base.is_some_and(|base| base.digest.is_some())
    }

    /// Its path, if it takes the file away from there.
    fn vacated(&self) -> Option<PathBuf> {
        self.file.vacates().then(|| self.file.path.to_path_buf())
    }
}

impl Composition {
    /// Returns whether an entry changes the file at a path, or leaves one there.
    fn is_touched(&self, path: &Path) -> bool {
        let is_it = self.positions.contains_key(path) || self.vacated.contains(path) || self.vacated_now.contains(path);
        debug_assert_eq!(is_it, self.entries.iter().flatten().any(|under| touches(&under.staged.file, path)));
        is_it
    }

    fn add(&mut self, file: FileIndex, entry: &FileRequest) -> Result<()> {
        let is_touched = entry.origin().is_some_and(|from| self.is_touched(from.as_path()));
        let Self { entries, results, positions, vacated, vacated_now, there, findings } = self;
        let mut refuse = |field, kind, message: String| findings.push(kind, at_file(file.0, Some(field)), message);
        if let Change::Copy { from, .. } = &entry.change
            && is_touched
        {
            let message = format!("{} is staged here already; commit first, then copy it", from.display());
            refuse("copy_from", ErrorKind::ValidationFailed, message);
            return Ok(());
        }
        let to = entry.destination();
        if to.is_some_and(|to| to.path == entry.path) {
            let message = format!("{} is the file itself: it cannot be moved onto itself", entry.path.display());
            refuse("rename_to", ErrorKind::DuplicateFilePath, message);
            return Ok(());
        }
        if let Some(to) = to
            && results.contains(to.path.as_path())
            && to.path != entry.path
        {
            let message = format!("{} is staged here already; commit first, then replace it", to.path.display());
            refuse("rename_to", ErrorKind::FileExists, message);
            return Ok(());
        }
        let at = positions.get(entry.path.as_path()).copied().filter(|_| results.contains(entry.path.as_path()));
        let Some((at, under)) = at.and_then(|at| Some((at, entries[at].as_mut()?))) else {
            let is_gone = vacated.contains(entry.path.as_path());
            if is_gone && !entry.makes() {
                let message = format!("{} is deleted or moved by what is staged", entry.path.display());
                refuse("file_path", ErrorKind::FileNotFound, message);
                return Ok(());
            }
            if let Some(result) = entry.result() {
                positions.entry(result.to_path_buf()).or_insert(entries.len());
            }
            let staged = StagedEntry { file: entry.clone(), base: None };
            vacated_now.extend(staged.vacated());
            entries
                .push(Some(ComposedEntry { staged, added: Some(AddedEntry { file, first_edit: Some(EditIndex(0)) }) }));
            return Ok(());
        };
        if under.added.is_some() {
            let message = format!("{} is in this request twice", entry.path.display());
            refuse("file_path", ErrorKind::DuplicateFilePath, message);
            return Ok(());
        }
        match merge(&under.staged.file, entry, file, there)? {
            Merged::Into(merged, first_edit) => {
                under.staged.vacated().map(|path| vacated.remove(&path));
                positions.remove(entry.path.as_path());
                if let Some(result) = merged.result() {
                    positions.entry(result.to_path_buf()).or_insert(at);
                }
                under.staged.file = merged;
                vacated_now.extend(under.staged.vacated());
                under.added = Some(AddedEntry { file, first_edit });
            }
            Merged::Gone => {
                under.staged.vacated().map(|path| vacated.remove(&path));
                positions.remove(entry.path.as_path());
                entries[at] = None;
            }
            Merged::Refused(kind, message) => refuse("file_path", kind, message),
        }
        Ok(())
    }
}

/// The first entry that leaves a file at each path.
fn positions(staged: &[StagedEntry]) -> HashMap<PathBuf, usize> {
    let mut positions = HashMap::new();
    for (at, entry) in staged.iter().enumerate() {
        if let Some(result) = entry.file.result() {
            positions.entry(result.to_path_buf()).or_insert(at);
        }
    }
    positions
}

fn touches(entry: &FileRequest, path: &Path) -> bool {
    entry.path.as_path() == path || entry.result().is_some_and(|result| result.as_path() == path)
}

/// Adds `new` to the result of `old`.
fn merge(old: &FileRequest, new: &FileRequest, file: FileIndex, there: &HashSet<PathBuf>) -> Result<Merged> {
    let (mode, expected_hash) = (new.mode.or(old.mode), old.expected_hash.or(new.expected_hash));
    let encoding = match encoding(old, new) {
        Ok(encoding) => encoding,
        Err(message) => return Ok(Merged::Refused(ErrorKind::ValidationFailed, message)),
    };
    let merged = |path: &Path, change| {
        let file = FileRequest::new(path.to_owned(), change);
        FileRequest { expected_hash, mode, encoding, ..file }
    };
    let here = |change, first_edit| Ok(Merged::Into(merged(&old.path, change), first_edit));
    let gone = || Ok(Merged::Into(FileRequest { mode: None, ..merged(&old.path, Change::Delete) }, None));
    let refused = || Ok(not_on_top(new));
    match (&old.change, &new.change) {
        _ if is_only_new(new) => {
            let message = format!("{} is there already, as staged", new.path.display());
            Ok(Merged::Refused(ErrorKind::FileExists, message))
        }
        _ if is_whole(old) || is_whole(new) => Ok(merge_whole(old, new, there)),
        (_, Change::Mode) => here(old.change.clone(), None),
        (Change::Mode, _) | (Change::Edit { rename: None, .. }, Change::Write { .. }) => {
            here(new.change.clone(), Some(EditIndex(0)))
        }
        (Change::Edit { edits: first, rename }, Change::Edit { edits: then, rename: to }) => {
            let all = first.iter().chain(then).cloned().collect();
            here(
                Change::Edit { edits: all, rename: home(old, to.as_ref().or(rename.as_ref())) },
                Some(EditIndex(first.len())),
            )
        }
        (Change::Edit { edits, .. }, Change::Rename(to)) => {
            here(Change::Edit { edits: edits.clone(), rename: home(old, Some(to)) }, None)
        }
        (Change::Edit { .. } | Change::Rename(_), Change::Delete) => gone(),
        (Change::Rename(to), Change::Edit { edits, rename }) => here(
            Change::Edit { edits: edits.clone(), rename: home(old, rename.as_ref().or(Some(to))) },
            Some(EditIndex(0)),
        ),
        (Change::Rename(_), Change::Rename(to)) => match home(old, Some(to)) {
            Some(to) => here(Change::Rename(to), None),
            None => Ok(Merged::Gone),
        },
        (Change::Write { content, if_exists }, Change::Edit { edits, rename }) => {
            let content = edited(content, encoding, edits, file)?;
            let change = Change::Write { content, if_exists: *if_exists };
            match rename {
                None => here(change, None),
                Some(to) if *if_exists == IfExists::Fail => Ok(Merged::Into(merged(&to.path, change), None)),
                Some(_) => refused(),
            }
        }
        (Change::Write { if_exists, .. }, Change::Write { content, .. }) => {
            here(Change::Write { content: content.clone(), if_exists: *if_exists }, None)
        }
        (Change::Write { .. }, Change::Delete) if there.contains(old.path.as_path()) => gone(),
        (Change::Write { .. } | Change::Copy { .. }, Change::Delete) => Ok(Merged::Gone),
        (Change::Write { if_exists: IfExists::Fail, .. } | Change::Copy { .. }, Change::Rename(to)) => {
            Ok(Merged::Into(merged(&to.path, old.change.clone()), None))
        }
        (Change::Copy { from, edits: first }, Change::Edit { edits: then, rename }) => {
            let all = first.iter().chain(then).cloned().collect();
            let path = rename.as_ref().map_or(&old.path, |to| &to.path);
            Ok(Merged::Into(
                merged(path, Change::Copy { from: from.clone(), edits: all }),
                Some(EditIndex(first.len())),
            ))
        }
        _ => refused(),
    }
}

/// Returns whether it makes something where nothing may be.
const fn is_only_new(entry: &FileRequest) -> bool {
    matches!(
        entry.change,
        Change::Write { if_exists: IfExists::Fail, .. }
            | Change::Symlink { if_exists: IfExists::Fail, .. }
            | Change::Copy { .. }
            | Change::MakeFolder
    )
}

/// Returns whether it is about a symlink or a folder: what is added to it never changes a part of it.
const fn is_whole(entry: &FileRequest) -> bool {
    matches!(entry.change, Change::Symlink { .. }) || entry.is_of_folder()
}

/// Adds `new` to the result of `old`, one of which is about a symlink or a folder.
fn merge_whole(old: &FileRequest, new: &FileRequest, there: &HashSet<PathBuf>) -> Merged {
    let expected_hash = old.expected_hash.or(new.expected_hash);
    // Neither a symlink nor what is gone has a mode or an encoding.
    let into = |path: &Path, change| {
        let file = FileRequest { expected_hash, ..FileRequest::new(path.to_owned(), change) };
        Merged::Into(file, None)
    };
    match (&old.change, &new.change) {
        (Change::Mode | Change::Edit { rename: None, .. }, Change::Symlink { .. }) => {
            into(&old.path, new.change.clone())
        }
        (Change::Write { if_exists, .. } | Change::Symlink { if_exists, .. }, Change::Symlink { target, .. }) => {
            into(&old.path, Change::Symlink { target: target.clone(), if_exists: *if_exists })
        }
        (Change::Symlink { if_exists: IfExists::Fail, .. }, Change::Rename(to)) => into(&to.path, old.change.clone()),
        (Change::Symlink { .. }, Change::Delete) if there.contains(old.path.as_path()) => {
            into(&old.path, Change::Delete)
        }
        (Change::Symlink { .. }, Change::Delete) | (Change::MakeFolder, Change::RemoveFolder) => Merged::Gone,
        _ => not_on_top(new),
    }
}

fn not_on_top(new: &FileRequest) -> Merged {
    let message = format!(
        "what is staged makes {} already, and this cannot be put on top of it; commit first, or roll back",
        new.path.display()
    );
    Merged::Refused(ErrorKind::ValidationFailed, message)
}

/// The encoding of both changes of a file: what is added is in that of what is staged, if it names none. An error says
/// that they contradict each other.
fn encoding(old: &FileRequest, new: &FileRequest) -> Result<Option<Charset>, String> {
    let has_text = matches!(old.change, Change::Write { .. } | Change::Edit { .. } | Change::Copy { .. });
    match (old.encoding, new.encoding) {
        // A whole content takes the place of all that is staged.
        _ if matches!(new.change, Change::Write { .. }) => Ok(new.encoding),
        (old, None) => Ok(old),
        (None, new) if !has_text => Ok(new),
        (old, new) if old == new => Ok(old),
        (staged, added) => {
            let named = |encoding: Option<Charset>| encoding.map_or("no named encoding", Charset::name);
            let (path, staged, added) = (new.path.display(), named(staged), named(added));
            Err(format!("what is staged for {path} is in {staged}, and this is in {added}: name the same `encoding`"))
        }
    }
}

/// The move, unless it leads back to where the file was.
fn home(old: &FileRequest, to: Option<&RenameTo>) -> Option<RenameTo> {
    to.filter(|to| to.path != old.path).cloned()
}

/// A staged content with edits. It is in UTF-8 if an encoding is named: only the commit encodes it.
fn edited(content: &[u8], encoding: Option<Charset>, edits: &[Edit], file: FileIndex) -> Result<Vec<u8>> {
    let edited = if encoding.is_some() { text::edit(content, edits) } else { encoded::edit(content, None, edits) };
    let edited = edited.map_err(|refused| {
        Error::new(refused.kind, refused.message).in_file(file).in_edit(refused.edit).detail(refused.detail)
    })?;
    Ok(edited.splices.apply(content))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Digest;
    use crate::request::Mode;
    use crate::request::edit::{Anchor, Count, Matching};

    fn edit(old: &str, new: &str) -> Edit {
        let anchor = Anchor::Text { text: old.into(), count: Count::Once, matching: Matching::Exact };
        Edit { anchor, replacement: new.into() }
    }

    fn file(path: &str, change: Change) -> FileRequest {
        FileRequest::new(path, change)
    }

    fn edits(list: &[(&str, &str)], to: Option<&str>) -> Change {
        let rename = to.map(|to| RenameTo { path: to.into(), if_exists: IfExists::Fail });
        Change::Edit { edits: list.iter().map(|(old, new)| edit(old, new)).collect(), rename }
    }

    fn write(content: &str, if_exists: IfExists) -> Change {
        Change::Write { content: content.into(), if_exists }
    }

    fn rename(to: &str) -> Change {
        Change::Rename(RenameTo { path: to.into(), if_exists: IfExists::Fail })
    }

    /// Composes two file requests; returns the path and the change of each resulting file.
    fn both(first: FileRequest, second: FileRequest) -> Result<Vec<String>> {
        let digest = first.path.starts_with("there").then(|| Digest::of(b"old"));
        let staged = StagedEntry { file: first, base: Some(StoredBase { digest, is_pinned: false, is_link: false }) };
        let composed = compose(&[staged], &Request { files: vec![second], ..Request::default() })?;
        let files = composed.iter().map(|entry| &entry.staged.file);
        Ok(files.map(|file| format!("{:?} {:?}", file.path, file.change)).collect())
    }

    fn one(path: &str, change: &Change) -> Vec<String> {
        vec![format!("{:?} {change:?}", Path::new(path))]
    }

    #[test]
    fn what_is_put_on_top_becomes_one_entry() {
        let all = edits(&[("a", "b"), ("b", "c")], None);
        let (first, second) = (edits(&[("a", "b")], None), edits(&[("b", "c")], None));
        assert_eq!(both(file("x", first.clone()), file("x", second.clone())).unwrap(), one("x", &all));
        let moved = edits(&[("a", "b")], Some("y"));
        assert_eq!(both(file("x", first.clone()), file("x", rename("y"))).unwrap(), one("x", &moved));
        let all = edits(&[("a", "b"), ("b", "c")], Some("y"));
        assert_eq!(both(file("x", moved.clone()), file("y", second.clone())).unwrap(), one("x", &all));
        assert_eq!(both(file("x", rename("y")), file("y", rename("z"))).unwrap(), one("x", &rename("z")));
        assert_eq!(both(file("x", rename("y")), file("y", rename("x"))).unwrap(), Vec::<String>::new());
        assert_eq!(both(file("x", moved), file("y", Change::Delete)).unwrap(), one("x", &Change::Delete));
        let new = write("one", IfExists::Fail);
        assert_eq!(
            both(file("x", new.clone()), file("x", edits(&[("one", "1")], None))).unwrap(),
            one("x", &write("1", IfExists::Fail))
        );
        assert_eq!(both(file("x", new.clone()), file("x", rename("y"))).unwrap(), one("y", &new));
        assert_eq!(both(file("x", new), file("x", Change::Delete)).unwrap(), Vec::<String>::new());
        let over = write("one", IfExists::Replace);
        assert_eq!(
            both(file("there", over.clone()), file("there", Change::Delete)).unwrap(),
            one("there", &Change::Delete)
        );
        assert_eq!(both(file("x", over), file("x", Change::Delete)).unwrap(), Vec::<String>::new());
        assert_eq!(both(file("x", Change::Delete), file("x", write("new", IfExists::Fail))).unwrap().len(), 2);
    }

    fn link(target: &str, if_exists: IfExists) -> Change {
        Change::Symlink { target: target.into(), if_exists }
    }

    #[test]
    fn symlinks_and_folders_are_put_on_top_of_what_they_replace() {
        let (new, over) = (link("a", IfExists::Fail), link("b", IfExists::Replace));
        let moded = |change| FileRequest { mode: Some(Mode::Bits(0o755)), ..file("x", change) };
        for (first, second, result) in [
            (new.clone(), over.clone(), link("b", IfExists::Fail)),
            (over.clone(), link("c", IfExists::Replace), link("c", IfExists::Replace)),
            (write("one", IfExists::Fail), over.clone(), link("b", IfExists::Fail)),
            (edits(&[("a", "b")], None), over.clone(), over.clone()),
            (Change::Mode, over.clone(), over.clone()),
        ] {
            assert_eq!(both(moded(first), file("x", second)).unwrap(), one("x", &result));
        }
        assert_eq!(both(file("x", new.clone()), file("x", rename("y"))).unwrap(), one("y", &new));
        assert_eq!(both(file("x", new.clone()), file("x", Change::Delete)).unwrap(), Vec::<String>::new());
        assert_eq!(both(file("there", over), file("there", Change::Delete)).unwrap(), one("there", &Change::Delete));
        assert_eq!(both(file("x", Change::MakeFolder), file("x", Change::RemoveFolder)).unwrap(), Vec::<String>::new());
        for makes in [new, Change::MakeFolder] {
            for leaves in [Change::Delete, Change::RemoveFolder] {
                assert_eq!(both(file("x", leaves), file("x", makes.clone())).unwrap().len(), 2);
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused_by_name() {
        let kind = |error: Error| match error.details() {
            crate::error::Detail::Findings(findings) => findings[0].kind,
            _ => error.kind(),
        };
        let refused = |first, second| kind(both(first, second).unwrap_err());
        let change = edits(&[("a", "b")], None);
        assert_eq!(refused(file("x", Change::Delete), file("x", change.clone())), ErrorKind::FileNotFound);
        assert_eq!(refused(file("x", rename("y")), file("x", change.clone())), ErrorKind::FileNotFound);
        assert_eq!(refused(file("x", change.clone()), file("x", write("", IfExists::Fail))), ErrorKind::FileExists);
        assert_eq!(refused(file("x", change.clone()), file("z", rename("x"))), ErrorKind::FileExists);
        assert_eq!(
            refused(file("x", rename("y")), file("y", write("", IfExists::Replace))),
            ErrorKind::ValidationFailed
        );
        let new = write("one", IfExists::Fail);
        assert_eq!(refused(file("x", new), file("x", edits(&[("two", "2")], None))), ErrorKind::MatchNotFound);
        let (linked, folder) = (link("a", IfExists::Fail), Change::MakeFolder);
        for (first, second) in [(&linked, &linked), (&linked, &folder), (&folder, &folder), (&folder, &linked)] {
            assert_eq!(refused(file("x", first.clone()), file("x", second.clone())), ErrorKind::FileExists);
        }
        let replaced = write("", IfExists::Replace);
        for second in [&change, &replaced, &Change::Mode, &Change::RemoveFolder] {
            assert_eq!(refused(file("x", linked.clone()), file("x", second.clone())), ErrorKind::ValidationFailed);
        }
        for second in [&change, &replaced, &Change::Mode, &Change::Delete, &rename("y")] {
            assert_eq!(refused(file("x", folder.clone()), file("x", second.clone())), ErrorKind::ValidationFailed);
        }
        assert_eq!(refused(file("x", Change::RemoveFolder), file("x", Change::RemoveFolder)), ErrorKind::FileNotFound);
    }
}
