//! A committed transaction as a patch that others can apply.

use std::os::unix::ffi::OsStrExt;

use super::path_history::PathHistory;
use crate::engine::Engine;
use crate::error::{Error, ErrorKind, Result};
use crate::journal::RecordedChange;
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
        for (entry, record) in loaded.journal.entries.numbered() {
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
            let (Some(old), Some(new)) = self.contents(&past, entry)? else {
                return Err(refuse(ErrorKind::UndoConflict, "it changed since, and what it became is no longer known"));
            };
            if old.contains(&0) || new.contains(&0) {
                return Err(refuse(ErrorKind::InvalidEncoding, "it has a NUL byte and is not text"));
            }
            let too_large = || refuse(ErrorKind::FileTooLarge, "it is too large to be compared line by line");
            let name = path.as_path().as_os_str().as_bytes();
            let (before, after) = (record.change.before(), record.change.after());
            if before.zip(after).is_some_and(|(before, after)| before.is_link() != after.is_link()) {
                // To git one that takes the place of the other is a new file.
                push_file(&mut text, name, before, None, &diff::hunks(&old, b"").ok_or_else(too_large)?);
                push_file(&mut text, name, None, after, &diff::hunks(b"", &new).ok_or_else(too_large)?);
                continue;
            }
            push_file(&mut text, name, before, after, &diff::hunks(&old, &new).ok_or_else(too_large)?);
        }
        Ok(text)
    }
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

fn push_file(patch: &mut Vec<u8>, name: &[u8], before: Option<&FileState>, after: Option<&FileState>, hunks: &[u8]) {
    let mode = git_mode;
    let headers = match (before, after) {
        (Some(old), Some(new)) if mode(old) == mode(new) && hunks.is_empty() => return,
        (Some(old), Some(new)) if mode(old) == mode(new) => String::new(),
        (Some(old), Some(new)) => format!("old mode {}\nnew mode {}\n", mode(old), mode(new)),
        (None, Some(new)) => format!("new file mode {}\n", mode(new)),
        (Some(old), None) => format!("deleted file mode {}\n", mode(old)),
        (None, None) => return,
    };
    let side = |prefix: &[u8]| diff::quoted_name(&[prefix, name].concat());
    let (a, b) = (side(b"a/"), side(b"b/"));
    patch.extend([b"diff --git ", &a[..], b" ", &b, b"\n", headers.as_bytes()].concat());
    if hunks.is_empty() {
        return;
    }
    // After a name with spaces, a tab marks its end.
    let end: &[u8] = if name.contains(&b' ') { b"\t\n" } else { b"\n" };
    let line = |sign: &[u8], side: &[u8], there: bool| {
        if there { [sign, side, end].concat() } else { [sign, b"/dev/null\n"].concat() }
    };
    patch.extend(line(b"--- ", &a, before.is_some()));
    patch.extend(line(b"+++ ", &b, after.is_some()));
    patch.extend_from_slice(hunks);
}
