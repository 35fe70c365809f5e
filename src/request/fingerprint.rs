//! The fingerprint of a request: by it a repetition is known.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::edit::{Anchor, Count, Edit, Matching};
use super::{Change, FileRequest, IfExists, Mode, RenameTo, Request};
use crate::digest::{Digest, Digester};
use crate::path::RelPath;

impl Request {
    /// The same for two requests that ask the same of the same files beneath `root`, however their paths are written.
    /// What only shapes the answer does not count.
    #[must_use]
    pub fn fingerprint(&self, root: &Path) -> Digest {
        let mut feed = Feed { digester: Digester::new(), root };
        feed.number(usize::from(self.backup));
        self.files.iter().for_each(|file| feed.file(file));
        feed.digester.finish()
    }
}

struct Feed<'a> {
    digester: Digester,
    root: &'a Path,
}

impl Feed<'_> {
    /// The length first: nothing of one field can be taken for the next.
    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len());
        self.digester.update(bytes);
    }

    fn number(&mut self, number: usize) {
        self.digester.update(&(number as u64).to_le_bytes());
    }

    fn path(&mut self, path: &Path) {
        let path = path.strip_prefix(self.root).unwrap_or(path);
        if RelPath::is_normal(path) {
            return self.bytes(path.as_os_str().as_bytes());
        }
        let parts: Vec<&[u8]> = path.iter().map(OsStrExt::as_bytes).filter(|part| *part != b".").collect();
        self.bytes(&parts.join(&b'/'));
    }

    fn file(&mut self, file: &FileRequest) {
        self.path(&file.path);
        self.bytes(file.expected_hash.map(|digest| digest.to_hex()).unwrap_or_default().as_bytes());
        match &file.change {
            Change::Edit { edits, rename } => {
                self.bytes(b"edit");
                self.edits(edits);
                self.rename(rename.as_ref());
            }
            Change::Write { content, if_exists } => {
                self.bytes(b"write");
                self.bytes(content);
                self.number(usize::from(*if_exists == IfExists::Replace));
            }
            Change::Copy { from, edits } => {
                self.bytes(b"copy");
                self.path(from);
                self.edits(edits);
            }
            Change::Delete => self.bytes(b"delete"),
            Change::Rename(to) => {
                self.bytes(b"rename");
                self.rename(Some(to));
            }
            Change::Mode => self.bytes(b"mode"),
        }
        let mode = match file.mode {
            None => String::new(),
            Some(Mode::Bits(bits)) => format!("{bits:o}"),
            Some(Mode::Executable(is)) => format!("executable {is}"),
        };
        self.bytes(mode.as_bytes());
    }

    fn rename(&mut self, to: Option<&RenameTo>) {
        self.number(usize::from(to.is_some()));
        if let Some(to) = to {
            self.path(&to.path);
            self.number(usize::from(to.if_exists == IfExists::Replace));
        }
    }

    fn edits(&mut self, edits: &[Edit]) {
        self.number(edits.len());
        for edit in edits {
            self.bytes(&edit.replacement);
            match &edit.anchor {
                Anchor::Text { text, count, matching } => {
                    self.bytes(text);
                    self.number(match count {
                        Count::Once => 1,
                        Count::Exactly(count) => *count,
                        Count::All => 0,
                    });
                    self.number(usize::from(*matching == Matching::Tolerant));
                }
                Anchor::Range { range, expected } => {
                    self.number(range.start);
                    self.bytes(expected);
                }
                // Values without a text of their own: how they are printed is as good as any other spelling.
                other @ (Anchor::Span { .. } | Anchor::Hunk(_)) => self.bytes(format!("{other:?}").as_bytes()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, change: Change) -> Request {
        let file = FileRequest { path: path.into(), expected_hash: None, change, mode: None };
        Request { files: vec![file], ..Request::default() }
    }

    #[test]
    fn only_what_is_asked_counts() {
        let root = Path::new("/w");
        let print = |request: &Request| request.fingerprint(root);
        let delete = file("/w/a", Change::Delete);
        assert_eq!(print(&delete), print(&file("a", Change::Delete)));
        assert_eq!(print(&delete), print(&file("./a", Change::Delete)));
        assert_eq!(print(&delete), print(&Request { dry_run: true, label: Some("x".into()), ..delete.clone() }));
        assert_ne!(print(&delete), print(&file("b", Change::Delete)));
        assert_ne!(print(&delete), print(&file("a", Change::Mode)));
        let write = |content: &str, if_exists| file("a", Change::Write { content: content.into(), if_exists });
        assert_ne!(print(&write("x", IfExists::Fail)), print(&write("x", IfExists::Replace)));
        assert_ne!(print(&write("x", IfExists::Fail)), print(&write("y", IfExists::Fail)));
        let edit = |old: &str, count| {
            let anchor = Anchor::Text { text: old.into(), count, matching: Matching::Exact };
            file("a", Change::Edit { edits: vec![Edit { anchor, replacement: b"new".to_vec() }], rename: None })
        };
        assert_ne!(print(&edit("x", Count::Once)), print(&edit("x", Count::All)));
        assert_ne!(print(&edit("x", Count::Once)), print(&edit("y", Count::Once)));
    }
}
