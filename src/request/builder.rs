//! Builds requests in Rust: each call adds a change of one file.

use std::path::PathBuf;

use super::edit::{Anchor, Count, Edit, Matching};
use super::{Change, FileRequest, IfExists, IfMissing, Mode, RenameTo, Request};
use crate::charset::Charset;
use crate::check::Check;
use crate::digest::Digest;
use crate::path::AskedPath;

impl Request {
    /// An empty request to start from.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A request of these changes, one for each file.
    #[must_use]
    pub fn of_files(files: Vec<FileRequest>) -> Self {
        Self { files, ..Self::default() }
    }

    /// Sets a text for the log.
    #[must_use]
    pub fn label(self, label: impl Into<String>) -> Self {
        Self { label: Some(label.into()), ..self }
    }

    /// Makes it a part of a campaign over many workspaces.
    #[must_use]
    pub fn campaign(self, campaign: impl Into<String>) -> Self {
        Self { campaign: Some(campaign.into()), ..self }
    }

    /// Edits a file. Edits of one file are applied in order, each to the result of the one before.
    #[must_use]
    pub fn edit(mut self, path: impl Into<PathBuf>, edit: Edit) -> Self {
        let path = AskedPath::from(path);
        match self.entry(&path).map(|file| &mut file.change) {
            Some(Change::Edit { edits, .. } | Change::Copy { edits, .. }) => edits.push(edit),
            _ => self.push(path, Change::Edit { edits: vec![edit], rename: None }),
        }
        self
    }

    /// Creates a file and the folders that it needs. An error if it exists.
    #[must_use]
    pub fn create(mut self, path: impl Into<PathBuf>, content: impl Into<Vec<u8>>) -> Self {
        self.push(path.into().into(), Change::Write { content: content.into(), if_exists: IfExists::Fail });
        self
    }

    /// Writes a whole content, whether the file exists or not.
    #[must_use]
    pub fn write(mut self, path: impl Into<PathBuf>, content: impl Into<Vec<u8>>) -> Self {
        self.push(path.into().into(), Change::Write { content: content.into(), if_exists: IfExists::Replace });
        self
    }

    /// Makes `to` a copy of `from` as it is before the request. Edits of `to` that are added later edit the copy.
    #[must_use]
    pub fn copy(mut self, from: impl Into<PathBuf>, to: impl Into<PathBuf>) -> Self {
        self.push(to.into().into(), Change::Copy { from: from.into().into(), edits: Vec::new() });
        self
    }

    /// Deletes a file, or a symlink itself.
    #[must_use]
    pub fn delete(mut self, path: impl Into<PathBuf>) -> Self {
        self.push(path.into().into(), Change::Delete);
        self
    }

    /// Makes a symlink that leads to `target`, which may be anything. An error if anything is at `path`.
    #[must_use]
    pub fn symlink(mut self, path: impl Into<PathBuf>, target: impl Into<PathBuf>) -> Self {
        let target = target.into().into_os_string().into_encoded_bytes();
        self.push(path.into().into(), Change::Symlink { target, if_exists: IfExists::Fail });
        self
    }

    /// Makes an empty folder and those above it that are missing. An error if anything is there.
    #[must_use]
    pub fn make_folder(mut self, path: impl Into<PathBuf>) -> Self {
        self.push(path.into().into(), Change::MakeFolder);
        self
    }

    /// Removes a folder. An error unless the rest of the request leaves nothing in it.
    #[must_use]
    pub fn remove_folder(mut self, path: impl Into<PathBuf>) -> Self {
        self.push(path.into().into(), Change::RemoveFolder);
        self
    }

    /// Moves a file, with the edits requested so far. An error if there is a file at `to`.
    #[must_use]
    pub fn rename(mut self, from: impl Into<PathBuf>, to: impl Into<PathBuf>) -> Self {
        let from = AskedPath::from(from);
        let to = RenameTo { path: to.into().into(), if_exists: IfExists::Fail };
        match self.entry(&from).map(|file| &mut file.change) {
            Some(Change::Edit { rename: rename @ None, .. }) => *rename = Some(to),
            _ => self.push(from, Change::Rename(to)),
        }
        self
    }

    /// Sets the permission bits of a file, or of a folder that is made, such as `0o755`, in addition to its other changes.
    #[must_use]
    pub fn mode(mut self, path: impl Into<PathBuf>, bits: u32) -> Self {
        self.entry_or_mode(path).mode = Some(Mode::Bits(bits));
        self
    }

    /// Refuses the whole request unless the file has this content, which the caller saw.
    #[must_use]
    pub fn expect(mut self, path: impl Into<PathBuf>, content: Digest) -> Self {
        self.entry_or_mode(path).expected_hash = Some(content);
        self
    }

    /// Lets a program decide, with the new files in place, whether to commit.
    #[must_use]
    pub fn check(self, check: impl Into<Option<Check>>) -> Self {
        Self { check: check.into(), ..self }
    }

    /// Reports what would be done, without doing it.
    #[must_use]
    pub fn dry_run(self, dry_run: bool) -> Self {
        Self { dry_run, ..self }
    }

    /// Puts the whole new content of each file into the report.
    #[must_use]
    pub fn include_content(self, include_content: bool) -> Self {
        Self { include_content, ..self }
    }

    /// Adds a copy of each file as it was, as `<file>.bak`, to the transaction.
    #[must_use]
    pub fn backup(self, backup: bool) -> Self {
        Self { backup, ..self }
    }

    /// Succeeds without a change if the same request was committed before and every file is still as it left it.
    #[must_use]
    pub fn idempotent(self, idempotent: bool) -> Self {
        Self { idempotent, ..self }
    }

    /// Sets a key that identifies a retry: if a transaction has it, its answer is repeated.
    #[must_use]
    pub fn idempotency_key(self, key: impl Into<String>) -> Self {
        Self { idempotency_key: Some(key.into()), ..self }
    }

    /// Adds a change of a path, to its mode or its expected content if those came first.
    fn push(&mut self, path: AskedPath, change: Change) {
        match self.entry(&path) {
            Some(file) if matches!(file.change, Change::Mode) => file.change = change,
            _ => self.files.push(FileRequest::new(path, change)),
        }
    }

    /// The earlier entry of a path. Paths are compared byte by byte, which is fast: two spellings of one path are
    /// found, and refused, when the request is validated.
    fn entry(&mut self, path: &AskedPath) -> Option<&mut FileRequest> {
        let at = self.position(path)?;
        Some(&mut self.files[at])
    }

    fn position(&self, path: &AskedPath) -> Option<usize> {
        self.files.iter().rposition(|file| file.path.as_os_str() == path.as_os_str())
    }

    /// The same, or a new entry that changes nothing by itself.
    fn entry_or_mode(&mut self, path: impl Into<PathBuf>) -> &mut FileRequest {
        let path = AskedPath::from(path);
        let at = self.position(&path).unwrap_or_else(|| {
            self.push(path, Change::Mode);
            self.files.len() - 1
        });
        &mut self.files[at]
    }
}

impl FileRequest {
    /// A change of one file, whatever its current content, that keeps its permissions.
    pub fn new(path: impl Into<AskedPath>, change: Change) -> Self {
        Self { path: path.into(), expected_hash: None, change, mode: None, encoding: None, if_missing: IfMissing::Fail }
    }

    /// Refuses the whole request unless the file has this content, which the caller saw.
    #[must_use]
    pub fn expect(self, content: Digest) -> Self {
        Self { expected_hash: Some(content), ..self }
    }

    /// Leaves the file out if it is not there.
    #[must_use]
    pub fn skip_if_missing(self) -> Self {
        Self { if_missing: IfMissing::Skip, ..self }
    }

    /// Sets the permissions.
    #[must_use]
    pub fn mode(self, mode: Mode) -> Self {
        Self { mode: Some(mode), ..self }
    }

    /// Names the encoding of the file.
    ///
    /// ```
    /// use txedit::{Change, Edit, Engine, FileRequest, Request, Run};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let root = folder.path();
    /// # std::fs::write(root.join("a.txt"), b"caf\xe9\n")?;
    /// let edits = vec![Edit::replace("café", "thé")];
    /// let file = FileRequest::new("a.txt", Change::Edit { edits, rename: None }).encoding("windows-1252".parse()?);
    /// Engine::open(root)?.apply(&Request::of_files(vec![file]), Run::default())?;
    /// assert_eq!(std::fs::read(root.join("a.txt"))?, b"th\xe9\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn encoding(self, encoding: Charset) -> Self {
        Self { encoding: Some(encoding), ..self }
    }
}

impl Edit {
    /// Replaces a text that must occur exactly once.
    #[must_use]
    pub fn replace(old: impl Into<Vec<u8>>, new: impl Into<Vec<u8>>) -> Self {
        let anchor = Anchor::Text { text: old.into(), count: Count::Once, matching: Matching::Exact };
        Self { anchor, replacement: new.into() }
    }

    /// Replaces every occurrence of a text, at least one.
    #[must_use]
    pub fn replace_all(old: impl Into<Vec<u8>>, new: impl Into<Vec<u8>>) -> Self {
        let anchor = Anchor::Text { text: old.into(), count: Count::All, matching: Matching::Exact };
        Self { anchor, replacement: new.into() }
    }

    /// The same edit with [`Matching::Tolerant`], if its anchor is a text.
    #[must_use]
    pub fn tolerant(mut self) -> Self {
        if let Anchor::Text { matching, .. } = &mut self.anchor {
            *matching = Matching::Tolerant;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(request: &Request) -> Vec<(&str, &Change)> {
        request.files.iter().map(|file| (file.path.to_str().unwrap_or_default(), &file.change)).collect()
    }

    #[test]
    fn edits_of_one_file_come_together_in_order() {
        let request =
            Request::new().edit("a", Edit::replace("1", "2")).create("b", "x").edit("a", Edit::replace_all("2", "3"));
        let [("a", Change::Edit { edits, rename: None }), ("b", Change::Write { if_exists: IfExists::Fail, .. })] =
            &changes(&request)[..]
        else {
            unreachable!("{request:?}")
        };
        assert_eq!(edits[..], [Edit::replace("1", "2"), Edit::replace_all("2", "3")]);
    }

    #[test]
    fn a_file_that_is_edited_is_moved_with_its_edits() {
        let request = Request::new().edit("a", Edit::replace("1", "2")).rename("a", "b").rename("c", "d");
        let [("a", Change::Edit { rename: Some(to), .. }), ("c", Change::Rename(_))] = &changes(&request)[..] else {
            unreachable!("{request:?}")
        };
        assert_eq!(to.path, AskedPath::from("b"));
    }

    #[test]
    fn a_mode_goes_with_what_else_is_asked_of_a_file() {
        let request = Request::new().create("a", "x").mode("a", 0o755).mode("b", 0o600);
        let modes: Vec<_> = request.files.iter().map(|file| file.mode).collect();
        assert_eq!(modes, [Some(Mode::Bits(0o755)), Some(Mode::Bits(0o600))]);
        assert!(matches!(request.files[1].change, Change::Mode));
    }

    #[test]
    fn what_is_expected_of_a_file_may_be_said_first() {
        let seen = Digest::of(b"1");
        let request = Request::new().expect("a", seen).mode("a", 0o600).edit("a", Edit::replace("1", "2"));
        let [file] = &request.files[..] else { unreachable!("{request:?}") };
        assert!(matches!(&file.change, Change::Edit { edits, .. } if edits.len() == 1));
        assert_eq!((file.expected_hash, file.mode), (Some(seen), Some(Mode::Bits(0o600))));
    }

    #[test]
    fn edits_of_a_copy_are_those_of_its_entry() {
        let request = Request::new().copy("a", "b").edit("b", Edit::replace("1", "2"));
        assert!(
            matches!(&request.files[..], [FileRequest { change: Change::Copy { edits, .. }, .. }] if edits.len() == 1)
        );
    }
}
