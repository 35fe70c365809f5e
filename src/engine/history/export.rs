//! A committed transaction as a patch that others can apply.

use std::collections::{HashMap, HashSet};
use std::os::unix::ffi::OsStrExt;

use super::path_history::PathHistory;
use crate::digest::Digest;
use crate::engine::Engine;
use crate::error::{Error, ErrorKind, Result};
use crate::index::EntryIndex;
use crate::journal::{Journal, RecordedChange};
use crate::plan::FileState;
use crate::text::diff;

impl Engine {
    /// The diff of a committed transaction as git writes it, every byte unchanged. No file is changed, whether
    /// it fails or not.
    ///
    /// It holds the whole transaction or is refused: if a content is no longer known, or is not text. Of the
    /// permissions it has what git records: whether a file is executable.
    pub fn git_patch(&self, id: &str) -> Result<Vec<u8>> {
        let (state, loaded) = self.committed(&self.found()?, id)?;
        let past = PathHistory::new(self, &state, &loaded);
        let mut text = Vec::new();
        let moved = moves(&loaded.journal);
        let gone: HashSet<EntryIndex> = moved.values().copied().collect();
        for (entry, record) in loaded.journal.entries.numbered() {
            let from = moved.get(&entry).map(|from| (*from, &loaded.journal.entries[*from]));
            if matches!(record.change, RecordedChange::Folder { .. } | RecordedChange::RemoveFolder { .. }) {
                continue;
            }
            let path = &record.path;
            let refuse = |kind, why: &str| {
                Error::new(kind, format!("{path} cannot be part of a git patch: {why}")).at(path.as_path())
            };
            if let Some(why) = self.bounds.bars(path.as_path()) {
                return Err(refuse(ErrorKind::PathDenied, &format!("it {why}")));
            }
            if gone.contains(&entry) {
                continue;
            }
            let (old, new) = self.contents(&past, entry)?;
            let old = match from {
                Some((from, _)) => self.contents(&past, from)?.0,
                None => old,
            };
            let (Some(old), Some(new)) = (old, new) else {
                return Err(refuse(ErrorKind::UndoConflict, "it changed since, and what it became is no longer known"));
            };
            if old.contains(&0) || new.contains(&0) {
                return Err(refuse(ErrorKind::InvalidEncoding, "it has a NUL byte and is not text"));
            }
            let too_large = || refuse(ErrorKind::FileTooLarge, "it is too large to be compared line by line");
            let old_record = from.map_or(record, |(_, from)| from);
            let names = [&old_record.path, path].map(|path| path.as_path().as_os_str().as_bytes());
            let (before, after) = (old_record.change.before(), record.change.after());
            let body = |old: &[u8], new: &[u8]| -> Result<PatchBody> {
                Ok(PatchBody::Hunks(diff::hunks(old, new).ok_or_else(too_large)?))
            };
            if before.zip(after).is_some_and(|(before, after)| before.is_link() != after.is_link()) {
                // To git one that takes the place of the other is a new file.
                PatchSection { names, before, after: None, body: body(&old, b"")? }.push(&mut text);
                PatchSection { names, before: None, after, body: body(b"", &new)? }.push(&mut text);
                continue;
            }
            PatchSection { names, before, after, body: body(&old, &new)? }.push(&mut text);
        }
        Ok(text)
    }
}

/// The entries of new files that have the content of one that went, each with the entry of that one.
fn moves(journal: &Journal) -> HashMap<EntryIndex, EntryIndex> {
    let mut gone: HashMap<(Digest, bool), Vec<EntryIndex>> = HashMap::new();
    for (entry, record) in journal.entries.numbered() {
        if let (Some(before), None) = (record.change.before(), record.change.after())
            && before.size > 0
        {
            gone.entry((before.digest, before.is_link())).or_default().push(entry);
        }
    }
    let mut moves = HashMap::new();
    for (entry, record) in journal.entries.numbered() {
        if let (None, Some(after)) = (record.change.before(), record.change.after())
            && let Some(from) = gone.get_mut(&(after.digest, after.is_link())).and_then(Vec::pop)
        {
            moves.insert(entry, from);
        }
    }
    moves
}

/// The lines that tell, above a diff, that a content is the target of a symlink, as git writes them; none where both are
/// files.
pub(crate) fn link_header(before: Option<&FileState>, after: Option<&FileState>) -> String {
    if ![before, after].into_iter().flatten().any(FileState::is_link) {
        return String::new();
    }
    match (before, after) {
        (Some(old), Some(new)) if old.is_link() == new.is_link() => format!("index mode {}\n", git_mode(old)),
        (Some(old), Some(new)) => format!("old mode {}\nnew mode {}\n", git_mode(old), git_mode(new)),
        (None, Some(new)) => format!("new file mode {}\n", git_mode(new)),
        (Some(old), None) => format!("deleted file mode {}\n", git_mode(old)),
        (None, None) => String::new(),
    }
}

/// A diff with these lines above it. What is the same symlink before and after, and only moved, has neither.
pub(crate) fn under_link_header(before: Option<&FileState>, after: Option<&FileState>, diff: String) -> String {
    let stays = before.is_some_and(FileState::is_link) && after.is_some_and(FileState::is_link);
    if stays && diff.is_empty() { diff } else { format!("{}{diff}", link_header(before, after)) }
}

/// The mode that git records.
const fn git_mode(state: &FileState) -> &'static str {
    if state.is_link() {
        "120000"
    } else if state.mode & 0o100 == 0 {
        "100644"
    } else {
        "100755"
    }
}

/// The part of a patch about one file.
pub(crate) struct PatchSection<'a> {
    /// Its path before and after, which differ if it is moved.
    pub(crate) names: [&'a [u8]; 2],
    /// The file before.
    pub(crate) before: Option<&'a FileState>,
    /// The file afterwards.
    pub(crate) after: Option<&'a FileState>,
    /// What becomes of its content.
    pub(crate) body: PatchBody,
}

/// What becomes of the content of a file.
pub(crate) enum PatchBody {
    /// These lines; none where it stays.
    Hunks(Vec<u8>),
    /// It is not text, and becomes another.
    Binary,
}

impl PatchSection<'_> {
    /// Adds it to a patch; nothing, if git does not record what changes.
    pub(crate) fn push(&self, patch: &mut Vec<u8>) {
        let [old_name, new_name] = self.names;
        let is_same = matches!(&self.body, PatchBody::Hunks(hunks) if hunks.is_empty());
        let is_link = self.before.is_some_and(FileState::is_link);
        let headers = match (self.before, self.after) {
            // Without a mode the lines would be taken for those of a file.
            (Some(old), Some(new)) if git_mode(old) == git_mode(new) && (is_same || !is_link) => String::new(),
            (Some(old), Some(new)) => format!("old mode {}\nnew mode {}\n", git_mode(old), git_mode(new)),
            (None, Some(new)) => format!("new file mode {}\n", git_mode(new)),
            (Some(old), None) => format!("deleted file mode {}\n", git_mode(old)),
            (None, None) => return,
        };
        let is_moved = old_name != new_name;
        if headers.is_empty() && is_same && !is_moved {
            return;
        }
        let side = |prefix: &[u8], name: &[u8]| diff::quoted_name(&[prefix, name].concat());
        let (a, b) = (side(b"a/", old_name), side(b"b/", new_name));
        patch.extend([b"diff --git ", &a[..], b" ", &b, b"\n", headers.as_bytes()].concat());
        if is_moved {
            let similarity: &[u8] = if is_same { b"similarity index 100%\n" } else { b"" };
            let [from, to] = self.names.map(diff::quoted_name);
            patch.extend([similarity, b"rename from ", &from, b"\nrename to ", &to, b"\n"].concat());
        }
        if is_same {
            return;
        }
        let dev_null = b"/dev/null".to_vec();
        let a = if self.before.is_some() { a } else { dev_null.clone() };
        let b = if self.after.is_some() { b } else { dev_null };
        match &self.body {
            PatchBody::Binary => patch.extend([b"Binary files ", &a[..], b" and ", &b, b" differ\n"].concat()),
            PatchBody::Hunks(hunks) => {
                // After a name with spaces, a tab marks its end.
                let end = |name: &[u8]| if name.contains(&b' ') { &b"\t\n"[..] } else { b"\n" };
                let [end_a, end_b] = [end(&a), end(&b)];
                patch.extend([b"--- ", &a[..], end_a, b"+++ ", &b, end_b, hunks].concat());
            }
        }
    }
}
