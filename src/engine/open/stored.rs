//! The stored form of an open transaction: what was asked, and what the files were then.
//!
//! It is untrusted when it is read: its paths are checked like those of any request, and its bases are only compared.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::compose::StagedEntry;
use crate::digest::Digest;
use crate::identity::Identity;
use crate::request::edit::{Anchor, Count, Edit, Matching};
use crate::request::{Change, FileRequest, IfExists, Mode, RenameTo};

/// The content of `transaction.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stored {
    /// The version of this format.
    pub open: u32,
    /// The folder that it was written in: a copy is not used.
    pub folder: StoredFolder,
    /// The program and process that opened it.
    pub owner: String,
    /// The time at which it expires, in seconds since 1970.
    pub expires: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    pub files: Vec<StoredFile>,
    /// What stays open if a part of it is committed. A version that does not know it refuses the transaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<StoredRest>,
    /// The transaction of which this is the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest_of: Option<String>,
}

/// What is not committed with a part of an open transaction. It is written before the commit; after it one rename of the
/// folder closes the one transaction and opens the other.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredRest {
    /// The name that the folder gets.
    pub id: String,
    /// The name that it has.
    pub of: String,
    pub files: Vec<StoredFile>,
}

/// The content that an entry was staged on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StoredBase {
    /// The digest of the file when it was staged; `None` if there was no file.
    pub digest: Option<Digest>,
    /// True if the caller named the content that it must be; then edits are never carried over to another.
    pub is_pinned: bool,
    /// True if it was a symlink, and the digest is that of what it leads to.
    pub is_link: bool,
}

/// The identity of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredFolder {
    inode: u64,
    born: Option<String>,
}

impl StoredFolder {
    pub(super) fn of(identity: &Identity) -> Self {
        Self { inode: identity.inode, born: identity.born.map(|time| time.to_string()) }
    }
}

/// The version that is written, and the only one that is read.
pub(super) const VERSION: u32 = 1;

/// One file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredFile {
    path: StoredBytes,
    /// The digest of the file when it was staged; `None` if there was no file.
    base: Option<String>,
    /// True if the caller named the content that it must be; then edits are never carried over to another.
    #[serde(default)]
    pinned: bool,
    /// True if a symlink was there. A version that does not know it refuses the transaction.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    link: bool,
    change: StoredChange,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mode: Option<StoredMode>,
    /// The name of the encoding of the file. A version that does not know it refuses the transaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    encoding: Option<String>,
}

/// Bytes, as text where they are UTF-8, else as hex digits.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredBytes {
    Text(String),
    Hex(String),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredMode {
    Bits(u32),
    Executable(bool),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredChange {
    Edit { edits: Vec<StoredEdit>, rename: Option<StoredRename> },
    Write { content: StoredBytes, replace: bool },
    Copy { from: StoredBytes, edits: Vec<StoredEdit> },
    Delete,
    Rename(StoredRename),
    Mode,
    Symlink { target: StoredBytes, replace: bool },
    MakeFolder,
    RemoveFolder,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct StoredRename {
    path: StoredBytes,
    replace: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredEdit {
    Text { old: StoredBytes, new: StoredBytes, count: Option<usize>, tolerant: bool },
    At { start: usize, old: StoredBytes, new: StoredBytes },
}

/// The part of a stored transaction that is missing or invalid.
pub(super) type StoredDefect = &'static str;

impl StoredBytes {
    fn of(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Hex(crate::journal::record::to_hex(bytes)),
        }
    }

    fn path(path: &std::path::Path) -> Self {
        use std::os::unix::ffi::OsStrExt as _;
        Self::of(path.as_os_str().as_bytes())
    }

    fn read(self) -> Result<Vec<u8>, StoredDefect> {
        match self {
            Self::Text(text) => Ok(text.into_bytes()),
            Self::Hex(hex) => crate::journal::record::from_hex(&hex).ok_or("bytes in hex digits"),
        }
    }

    fn read_path(self) -> Result<PathBuf, StoredDefect> {
        use std::os::unix::ffi::OsStringExt as _;
        Ok(std::ffi::OsString::from_vec(self.read()?).into())
    }
}

impl StoredRename {
    fn of(to: &RenameTo) -> Self {
        Self { path: StoredBytes::path(&to.path), replace: to.if_exists == IfExists::Replace }
    }

    fn read(self) -> Result<RenameTo, StoredDefect> {
        Ok(RenameTo { path: self.path.read_path()?.into(), if_exists: if_exists(self.replace) })
    }
}

const fn if_exists(replace: bool) -> IfExists {
    if replace { IfExists::Replace } else { IfExists::Fail }
}

impl StoredEdit {
    /// `None` for an edit by lines, which should have been turned into an edit by offset before.
    fn of(edit: &Edit) -> Option<Self> {
        let new = StoredBytes::of(&edit.replacement);
        Some(match &edit.anchor {
            Anchor::Text { text, count, matching } => Self::Text {
                old: StoredBytes::of(text),
                new,
                count: match count {
                    Count::Once | Count::OnceNear(_) => Some(1),
                    Count::Exactly(count) => Some(*count),
                    Count::All => None,
                    Count::AtMostOnce | Count::Any => return None,
                },
                tolerant: *matching == Matching::Tolerant,
            },
            Anchor::Range { range, expected } => Self::At { start: range.start, old: StoredBytes::of(expected), new },
            Anchor::Span { .. } | Anchor::Hunk(_) => return None,
        })
    }

    fn read(self) -> Result<Edit, StoredDefect> {
        Ok(match self {
            Self::Text { old, new, count, tolerant } => {
                let count = match count {
                    None => Count::All,
                    Some(1) => Count::Once,
                    Some(0) => return Err("a count of 1 or more"),
                    Some(count) => Count::Exactly(count),
                };
                let matching = if tolerant { Matching::Tolerant } else { Matching::Exact };
                let text = old.read()?;
                if text.is_empty() {
                    return Err("a text to look for");
                }
                Edit { anchor: Anchor::Text { text, count, matching }, replacement: new.read()? }
            }
            Self::At { start, old, new } => {
                let expected = old.read()?;
                let end = start.checked_add(expected.len()).ok_or("a place in a file")?;
                Edit { anchor: Anchor::Range { range: start..end, expected }, replacement: new.read()? }
            }
        })
    }
}

impl StoredFile {
    /// `None` for an entry with edits by lines that could not be placed, or of what cannot be staged.
    pub(super) fn of(entry: &FileRequest, base: StoredBase) -> Option<Self> {
        let edits = |edits: &[Edit]| edits.iter().map(StoredEdit::of).collect::<Option<Vec<_>>>();
        let change = match &entry.change {
            Change::Edit { edits: list, rename } => {
                StoredChange::Edit { edits: edits(list)?, rename: rename.as_ref().map(StoredRename::of) }
            }
            Change::Write { content, if_exists } => {
                StoredChange::Write { content: StoredBytes::of(content), replace: *if_exists == IfExists::Replace }
            }
            Change::Copy { from, edits: list } => {
                StoredChange::Copy { from: StoredBytes::path(from), edits: edits(list)? }
            }
            Change::Delete => StoredChange::Delete,
            Change::Rename(to) => StoredChange::Rename(StoredRename::of(to)),
            Change::Mode => StoredChange::Mode,
            Change::Symlink { target, if_exists } => {
                StoredChange::Symlink { target: StoredBytes::of(target), replace: *if_exists == IfExists::Replace }
            }
            Change::MakeFolder => StoredChange::MakeFolder,
            Change::RemoveFolder => StoredChange::RemoveFolder,
            // Refused before anything is stored.
            Change::Take { .. } => return None,
        };
        let mode = entry.mode.map(|mode| match mode {
            Mode::Bits(bits) => StoredMode::Bits(bits),
            Mode::Executable(is) => StoredMode::Executable(is),
        });
        let StoredBase { digest, is_pinned: pinned, is_link: link } = base;
        let base = digest.map(|digest| digest.to_hex());
        let encoding = entry.encoding.map(|encoding| encoding.name().to_owned());
        Some(Self { path: StoredBytes::path(&entry.path), base, pinned, link, change, mode, encoding })
    }

    fn read(self) -> Result<FileRequest, StoredDefect> {
        let edits = |list: Vec<StoredEdit>| list.into_iter().map(StoredEdit::read).collect::<Result<Vec<_>, _>>();
        let change = match self.change {
            StoredChange::Edit { edits: list, rename } => {
                Change::Edit { edits: edits(list)?, rename: rename.map(StoredRename::read).transpose()? }
            }
            StoredChange::Write { content, replace } => {
                Change::Write { content: content.read()?, if_exists: if_exists(replace) }
            }
            StoredChange::Copy { from, edits: list } => {
                Change::Copy { from: from.read_path()?.into(), edits: edits(list)? }
            }
            StoredChange::Delete => Change::Delete,
            StoredChange::Rename(to) => Change::Rename(to.read()?),
            StoredChange::Mode => Change::Mode,
            StoredChange::Symlink { target, replace } => {
                Change::Symlink { target: target.read()?, if_exists: if_exists(replace) }
            }
            StoredChange::MakeFolder => Change::MakeFolder,
            StoredChange::RemoveFolder => Change::RemoveFolder,
        };
        let mode = self.mode.map(|mode| match mode {
            StoredMode::Bits(bits) => Mode::Bits(bits & 0o7777),
            StoredMode::Executable(is) => Mode::Executable(is),
        });
        let encoding = self.encoding.map(|name| name.parse().map_err(|_| "an encoding")).transpose()?;
        Ok(FileRequest { mode, encoding, ..FileRequest::new(self.path.read_path()?, change) })
    }
}

impl Stored {
    /// What it is in a folder of that name, which may be the one that its rest was to get.
    pub(super) fn in_folder(mut self, id: &str) -> Self {
        if let Some(rest) = self.rest.take_if(|rest| rest.id == id) {
            (self.files, self.rest_of) = (rest.files, Some(rest.of));
        }
        self
    }

    /// The first bytes of a file that was written in `folder`.
    pub(super) fn start(folder: &StoredFolder) -> Vec<u8> {
        let folder = serde_json::to_string(folder).expect("numbers and strings are JSON");
        format!(r#"{{"open":{VERSION},"folder":{folder},"#).into_bytes()
    }

    /// The staged request, with the content that each entry was staged on.
    pub(super) fn entries(&self) -> Result<Vec<StagedEntry>, StoredDefect> {
        let read = |file: &StoredFile| {
            let digest = file.base.as_ref().map(|hex| hex.parse().map_err(|_| "a digest")).transpose()?;
            let base = Some(StoredBase { digest, is_pinned: file.pinned, is_link: file.link });
            Ok(StagedEntry { file: file.clone().read()?, base })
        };
        self.files.iter().map(read).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(anchor: Anchor) -> Edit {
        Edit { anchor, replacement: b"new \xff".to_vec() }
    }

    fn entry(change: Change) -> FileRequest {
        let path = StoredBytes::Hex("642fe9".to_owned()).read_path().unwrap();
        FileRequest::new(path, change).mode(Mode::Bits(0o755))
    }

    /// An entry, stored and read again.
    fn again(entry: &FileRequest, base: StoredBase) -> StagedEntry {
        let file = StoredFile::of(entry, base).unwrap();
        let folder = StoredFolder { inode: 1, born: None };
        let stored = Stored {
            open: VERSION,
            folder,
            owner: "o".into(),
            expires: 0,
            label: None,
            files: vec![file],
            rest: None,
            rest_of: None,
        };
        let json = serde_json::to_string(&stored).unwrap();
        assert!(json.as_bytes().starts_with(&Stored::start(&stored.folder)), "{json}");
        let stored: Stored = serde_json::from_str(&json).unwrap();
        stored.entries().unwrap().remove(0)
    }

    #[test]
    fn whatever_is_staged_is_read_as_it_was_written() {
        let text = |count, matching| edit(Anchor::Text { text: b"old".to_vec(), count, matching });
        let to = |if_exists| RenameTo { path: "to".into(), if_exists };
        let edits = vec![
            text(Count::Once, Matching::Exact),
            text(Count::Exactly(3), Matching::Tolerant),
            text(Count::All, Matching::Exact),
            edit(Anchor::Range { range: 2..4, expected: b"\xff\n".to_vec() }),
        ];
        let changes = [
            Change::Edit { edits: edits.clone(), rename: Some(to(IfExists::Replace)) },
            Change::Edit { edits: edits.clone(), rename: None },
            Change::Write { content: b"\0\xff".to_vec(), if_exists: IfExists::Replace },
            Change::Copy { from: "from".into(), edits },
            Change::Delete,
            Change::Rename(to(IfExists::Fail)),
            Change::Mode,
            Change::Symlink { target: b"to \xff".to_vec(), if_exists: IfExists::Replace },
            Change::Symlink { target: b"to".to_vec(), if_exists: IfExists::Fail },
            Change::MakeFolder,
            Change::RemoveFolder,
        ];
        for change in changes {
            let mut entry = entry(change);
            entry.encoding = Some("utf-16le".parse().unwrap());
            for base in [
                StoredBase { digest: Some(Digest::of(b"x")), is_pinned: true, is_link: false },
                StoredBase { digest: Some(Digest::of(b"x")), is_pinned: false, is_link: true },
                StoredBase { digest: None, is_pinned: false, is_link: false },
            ] {
                let read = again(&entry, base);
                assert_eq!(format!("{:?}", read.file), format!("{entry:?}"));
                assert_eq!(read.base, Some(base));
            }
        }
    }

    #[test]
    fn what_cannot_have_been_staged_is_not_read() {
        let of = |edit: &str| {
            format!(
                r#"{{"open":1,"folder":{{"inode":1,"born":null}},"owner":"o","expires":0,"files":[
                {{"path":{{"text":"a"}},"base":null,"change":{{"edit":{{"edits":[{edit}],"rename":null}}}}}}]}}"#
            )
        };
        let read = |edit: &str| serde_json::from_str::<Stored>(&of(edit)).unwrap().entries();
        assert!(read(r#"{"text":{"old":{"text":"x"},"new":{"text":""},"count":1,"tolerant":false}}"#).is_ok());
        assert!(read(r#"{"text":{"old":{"text":""},"new":{"text":""},"count":1,"tolerant":false}}"#).is_err());
        assert!(read(r#"{"text":{"old":{"text":"x"},"new":{"text":""},"count":0,"tolerant":false}}"#).is_err());
        assert!(read(r#"{"text":{"old":{"hex":"zz"},"new":{"text":""},"count":1,"tolerant":false}}"#).is_err());
        let beyond = format!(r#"{{"at":{{"start":{},"old":{{"text":"x"}},"new":{{"text":""}}}}}}"#, usize::MAX);
        assert!(read(&beyond).is_err());
    }
}
