//! Encodes records: one JSON object per line, each line chained to the previous one.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use serde::{Deserialize, Serialize};

use super::{Header, Journal, Owner, Record, RecordedChange, RecordedPart, SwapMethod, slot_name};
use crate::digest::{Digest, Digester};
use crate::identity::Identity;
use crate::index::EntryIndex;
use crate::limits;
use crate::path::RelPath;
use crate::plan::{Access, FileState, LINK_MODE};

/// Appends lines to a journal's bytes, each with the digest that chains it.
#[derive(Debug, Default)]
pub struct Chain {
    last: Option<Digest>,
}

impl Chain {
    /// The digest of a line: over the hex digits of the previous line (none for the first), then the JSON bytes.
    #[must_use]
    pub fn next(&mut self, json: &[u8]) -> Digest {
        let mut digester = Digester::new();
        if let Some(last) = &self.last {
            digester.update(last.to_hex().as_bytes());
        }
        digester.update(json);
        let digest = digester.finish();
        self.last = Some(digest);
        digest
    }

    fn append(&mut self, to: &mut dyn io::Write, line: &impl Serialize) -> io::Result<()> {
        let json = serde_json::to_vec(line).expect("a record has only strings, numbers and flags");
        to.write_all(self.next(&json).to_hex().as_bytes())?;
        to.write_all(b" ")?;
        to.write_all(&json)?;
        to.write_all(b"\n")
    }
}

/// The bytes of a journal.
#[must_use]
pub fn encode(journal: &Journal) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(journal, &mut bytes).unwrap_or_else(|_| unreachable!("a vector takes whatever is written"));
    bytes
}

/// Writes a journal, line by line. After a failure a part of it is left, which does not verify.
pub fn write(journal: &Journal, to: &mut dyn io::Write) -> io::Result<()> {
    let mut chain = Chain::default();
    chain.append(to, &HeaderLine::from(&journal.header))?;
    for (entry, record) in journal.entries.numbered() {
        chain.append(to, &EntryLine::new(entry, record))?;
    }
    let seal = SealLine { sealed: journal.entries.len() as u64, back_on_crash: journal.back_on_crash };
    chain.append(to, &seal)
}

/// The version of a journal with a file that is overwritten: a program that does not know it must not read the journal.
pub const OVERWRITES: u64 = 5;

/// The version of a journal whose slots are on several file systems.
pub const HAS_PARTS: u64 = 6;

/// The bytes of an entry's line without its path, at most: two states with their digests, and two identities.
const ENTRY_BYTES: u64 = 1_024;

/// The number of bytes that the line of an entry has at most, with this path as it is spelled there.
#[must_use]
pub fn bytes_at_most(path: &RelPath) -> u64 {
    let bytes = path.as_path().as_os_str().as_bytes();
    let spelled: usize = match std::str::from_utf8(bytes) {
        Ok(text) => text.bytes().map(spelled_bytes).sum(),
        Err(_) => 2 * bytes.len(),
    };
    ENTRY_BYTES + spelled as u64
}

/// The number of bytes of a byte in a JSON string.
const fn spelled_bytes(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' | 0x08 | b'\t' | b'\n' | 0x0c | b'\r' => 2,
        0..0x20 => 6,
        _ => 1,
    }
}

/// The first line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HeaderLine {
    txedit: u64,
    id: String,
    workspace: String,
    folder: IdentityField,
    boot: String,
    owner: OwnerField,
    #[serde(skip_serializing_if = "Option::is_none")]
    reverts: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    reverts_also: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    opened: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    swap: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    parts: Vec<PartField>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    campaign: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnerField {
    program: String,
    process: u32,
    user: u32,
    host: String,
}

/// Another file system.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PartField {
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_hex: Option<String>,
    folder: IdentityField,
    state: String,
}

impl From<&RecordedPart> for PartField {
    fn from(part: &RecordedPart) -> Self {
        let path = part.path.as_path().as_os_str();
        Self {
            path: path.to_str().map(str::to_owned),
            path_hex: path.to_str().is_none().then(|| to_hex(path.as_bytes())),
            folder: (&part.folder).into(),
            state: part.state.clone(),
        }
    }
}

impl PartField {
    fn read(self) -> Result<RecordedPart, &'static str> {
        if !(1..=limits::OWNER_BYTES).contains(&(self.state.len() as u64)) {
            return Err("the word of a state folder");
        }
        let path = path_of(self.path.map(Cow::from), self.path_hex)?;
        Ok(RecordedPart { path, folder: self.folder.read()?, state: self.state })
    }
}

/// One entry.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EntryLine<'a> {
    slot: String,
    kind: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_hex: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<StateField>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<StateField>,
    #[serde(skip_serializing_if = "Option::is_none")]
    staged: Option<IdentityField>,
    #[serde(skip_serializing_if = "Option::is_none")]
    original: Option<IdentityField>,
}

/// The last line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SealLine {
    pub(super) sealed: u64,
    pub(super) back_on_crash: bool,
}

/// An identity in its written form.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct IdentityField {
    inode: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    born: Option<String>,
}

/// The state of a file in its written form.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct StateField {
    digest: String,
    size: u64,
    mode: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attributes: Option<String>,
}

impl From<&Identity> for IdentityField {
    fn from(identity: &Identity) -> Self {
        Self { inode: identity.inode, born: identity.born.map(|t| t.to_string()) }
    }
}

impl IdentityField {
    fn read(&self) -> Result<Identity, &'static str> {
        let born = self.born.as_deref().map(|t| t.parse().map_err(|_| "a birth time")).transpose()?;
        Ok(Identity { inode: self.inode, born })
    }
}

impl From<&FileState> for StateField {
    fn from(state: &FileState) -> Self {
        Self {
            digest: state.digest.to_hex(),
            size: state.size,
            mode: format!("{:04o}", state.mode),
            user: state.access.map(|access| access.user),
            group: state.access.map(|access| access.group),
            attributes: state.access.and_then(|access| access.attributes).map(|digest| digest.to_hex()),
        }
    }
}

impl StateField {
    fn read(&self, version: u64) -> Result<FileState, &'static str> {
        let octal = self.mode.len() == 4 && self.mode.bytes().all(|b| (b'0'..=b'7').contains(&b));
        let mode = u32::from_str_radix(&self.mode, 8).ok();
        let is_link = version > 2 && mode == Some(LINK_MODE) && self.mode.len() == 6;
        let mode = mode.filter(|_| octal || is_link).ok_or("a mode")?;
        if is_link && self.attributes.is_some() {
            return Err("no attributes of a symlink");
        }
        let digest = |digits: &String| digits.parse().map_err(|_| "a digest");
        let access = match (version, self.user, self.group, &self.attributes) {
            (1, None, None, None) => None,
            (1, ..) => return Err("no owner or attributes in version 1"),
            (_, Some(user), Some(group), attributes) => {
                Some(Access { user, group, attributes: attributes.as_ref().map(digest).transpose()? })
            }
            _ => return Err("an owner and a group"),
        };
        Ok(FileState { digest: digest(&self.digest)?, size: self.size, mode, access })
    }
}

impl From<&Header> for HeaderLine {
    fn from(header: &Header) -> Self {
        Self {
            txedit: header.version,
            id: header.id.clone(),
            workspace: header.workspace.clone(),
            folder: (&header.folder).into(),
            boot: header.boot.clone(),
            owner: OwnerField {
                program: header.owner.program.clone(),
                process: header.owner.process,
                user: header.owner.user,
                host: header.owner.host.clone(),
            },
            reverts: header.reverts.first().cloned(),
            reverts_also: header.reverts.iter().skip(1).cloned().collect(),
            opened: header.opened.clone(),
            key: header.key.clone(),
            request: header.request.map(|digest| digest.to_hex()),
            swap: header.swap.word().map(str::to_owned),
            parts: header.parts.iter().map(Into::into).collect(),
            label: header.label.clone(),
            session: header.session.clone(),
            campaign: header.campaign.clone(),
        }
    }
}

impl HeaderLine {
    pub(super) fn read(self) -> Result<Header, &'static str> {
        let is_id = |id: &str| super::is_id(id.as_ref());
        let reverts: Vec<String> = self.reverts.iter().chain(&self.reverts_also).cloned().collect();
        if !is_id(&self.id) || !reverts.iter().chain(&self.opened).all(|id| is_id(id)) {
            return Err("a transaction id");
        }
        if self.reverts.is_none() && !reverts.is_empty() || !reverts.is_sorted_by(|newer, older| newer > older) {
            return Err("the transactions that it reverts, newest first");
        }
        let swap = self.swap.as_deref().map_or(Some(SwapMethod::Exchange), SwapMethod::of_word);
        // The version has one spelling, too: the newest says that there is one.
        let is_of_version = |swap: &SwapMethod| match swap {
            _ if self.txedit >= OVERWRITES => true,
            SwapMethod::Exchange => self.txedit <= swap.version(),
            SwapMethod::Rename | SwapMethod::Link => self.txedit == swap.version(),
        };
        let swap = swap.filter(is_of_version).ok_or("a way in which slots and targets change places")?;
        let parts = self.parts.into_iter().map(PartField::read).collect::<Result<Vec<_>, _>>()?;
        let bytes = |part: &RecordedPart| part.path.as_path().as_os_str().as_bytes().to_vec();
        let is_sorted = parts.is_sorted_by(|one, next| bytes(one) < bytes(next));
        if (self.txedit == HAS_PARTS) == parts.is_empty() || !is_sorted {
            return Err("other file systems, by their paths, in a journal that has some");
        }
        Ok(Header {
            version: self.txedit,
            id: self.id,
            workspace: self.workspace,
            folder: self.folder.read()?,
            boot: self.boot,
            owner: Owner {
                program: self.owner.program,
                process: self.owner.process,
                user: self.owner.user,
                host: self.owner.host,
            },
            reverts,
            opened: self.opened,
            key: self.key,
            request: self.request.map(|hex| hex.parse().map_err(|_| "the fingerprint of a request")).transpose()?,
            swap,
            parts,
            label: self.label,
            session: self.session,
            campaign: self.campaign,
        })
    }
}

/// The path of an entry, as text or in hex digits.
fn path_of(text: Option<Cow<'_, str>>, hex: Option<String>) -> Result<RelPath, &'static str> {
    let path = match (text, hex) {
        (Some(text), None) => OsString::from(text.into_owned()),
        (None, Some(hex)) => {
            let path = OsString::from_vec(from_hex(&hex).ok_or("a path in hex digits")?);
            // A path has one spelling.
            if path.to_str().is_some() {
                return Err("a path in hex digits that is not UTF-8");
            }
            path
        }
        _ => return Err("one path"),
    };
    RelPath::new(path).map_err(|_| "a path inside the workspace")
}

impl<'a> EntryLine<'a> {
    fn new(entry: EntryIndex, record: &'a Record) -> Self {
        let path = record.path.as_path().as_os_str();
        Self {
            slot: slot_name(entry),
            kind: record.change.kind().into(),
            path: path.to_str().map(Cow::from),
            path_hex: path.to_str().is_none().then(|| to_hex(path.as_bytes())),
            before: record.change.before().map(Into::into),
            after: record.change.after().map(Into::into),
            staged: record.change.staged().map(Into::into),
            original: record.change.original().map(Into::into),
        }
    }

    /// The path alone.
    pub(super) fn path(self) -> Result<RelPath, &'static str> {
        path_of(self.path, self.path_hex)
    }

    pub(super) fn read(self, entry: EntryIndex, version: u64) -> Result<Record, &'static str> {
        if self.slot != slot_name(entry) {
            return Err("the slot of its place");
        }
        let path = path_of(self.path, self.path_hex)?;
        let before = self.before.map(|s| s.read(version)).transpose()?;
        let after = self.after.map(|s| s.read(version)).transpose()?;
        let staged = self.staged.map(|i| i.read()).transpose()?;
        let original = self.original.map(|i| i.read()).transpose()?;
        let change = match (self.kind.as_ref(), before, after, staged, original) {
            ("edit", Some(before), Some(after), Some(staged), Some(original)) => {
                RecordedChange::Edit { before, after, staged, original }
            }
            ("overwrite", Some(before), Some(after), Some(staged), Some(original))
                if version >= OVERWRITES && !before.is_link() && !after.is_link() =>
            {
                RecordedChange::Overwrite { before, after, staged, original }
            }
            ("create", None, Some(after), Some(staged), None) => RecordedChange::Create { after, staged },
            ("delete", Some(before), None, None, Some(original)) => RecordedChange::Delete { before, original },
            ("folder", None, None, Some(staged), None) => RecordedChange::Folder { staged },
            ("file_to_folder", Some(before), None, Some(staged), Some(original)) if version > 1 => {
                RecordedChange::FileToFolder { before, staged, original }
            }
            ("folder_to_file", None, Some(after), Some(staged), Some(original)) if version > 1 => {
                RecordedChange::FolderToFile { after, staged, original }
            }
            ("remove_folder", None, None, None, Some(original)) if version > 1 => {
                RecordedChange::RemoveFolder { original }
            }
            _ => return Err("a kind with the fields that it has"),
        };
        Ok(Record { path, change })
    }
}

/// Bytes as lower-case hex digits.
pub(crate) fn to_hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("writing into a String does not fail");
        hex
    })
}

/// The bytes of lower-case hex digits.
pub(crate) fn from_hex(hex: &str) -> Option<Vec<u8>> {
    let digit = |b: u8| match b {
        b'0'..=b'9' => Some(b - b'0'),
        b'a'..=b'f' => Some(b - b'a' + 10),
        _ => None,
    };
    let pairs = hex.as_bytes().chunks(2);
    pairs.map(|pair| Some((digit(pair[0])? << 4) | digit(*pair.get(1)?)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Timestamp;

    #[test]
    fn no_entry_is_longer_than_is_counted_for_it() {
        let longest = "\u{1}".repeat(200);
        let not_text = OsString::from_vec(vec![0xe9; 255]);
        let access = Access { user: u32::MAX, group: u32::MAX, attributes: Some(Digest::of(b"")) };
        let state = FileState { digest: Digest::of(b""), size: u64::MAX, mode: 0o7777, access: Some(access) };
        let born = Some(Timestamp::new(i64::MIN, 999_999_999));
        let identity = Identity { inode: u64::MAX, born };
        let change = RecordedChange::Edit { before: state, after: state, staged: identity, original: identity };
        for path in [OsString::from("a\"\\/\u{7f}é"), longest.into(), not_text] {
            let path = RelPath::new(&path).unwrap();
            let counted = bytes_at_most(&path);
            let record = Record { path, change };
            let mut line = Vec::new();
            Chain::default().append(&mut line, &EntryLine::new(EntryIndex(0), &record)).unwrap();
            assert!(line.len() as u64 <= counted, "{} of {counted}", line.len());
        }
    }
}
