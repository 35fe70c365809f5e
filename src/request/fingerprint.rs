//! The fingerprint of a request, by which a retry is recognised.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::edit::{Anchor, Count, Edit, Encoding, Hunk, HunkLine, Matching, Side};
use super::{Change, FileRequest, IfExists, IfMissing, Mode, RenameTo, Request};
use crate::digest::{Digest, Digester};
use crate::path::RelPath;

impl Request {
    /// Equal for two requests that make the same changes to the same files beneath `root`, however their paths are
    /// written. Options that affect only the answer do not count. Of files that something else found or made, that counts.
    #[must_use]
    pub fn fingerprint(&self, root: &Path) -> Digest {
        if let Some(by) = self.made_by {
            return by;
        }
        let mut feed = Feed { digester: Digester::new(), root };
        feed.number(usize::from(self.backup));
        self.files.iter().for_each(|file| feed.file(file));
        feed.digester.finish()
    }
}

/// The digest for [`Request::made_by`]: of the key, and of each field that says what is searched for, or run.
#[must_use]
pub(crate) fn made_by<'a>(key: &str, what: impl IntoIterator<Item = &'a [u8]>) -> Digest {
    let mut feed = Feed { digester: Digester::new(), root: Path::new("/") };
    feed.bytes(key.as_bytes());
    what.into_iter().for_each(|field| feed.bytes(field));
    feed.digester.finish()
}

struct Feed<'a> {
    digester: Digester,
    root: &'a Path,
}

impl Feed<'_> {
    /// Each field is preceded by its length, so that no field can be taken for a part of the next.
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
            Change::MakeFolder => self.bytes(b"make_folder"),
            Change::RemoveFolder => self.bytes(b"remove_folder"),
            Change::Take { held, if_exists } => {
                self.bytes(b"take");
                self.bytes(held.folder().as_os_str().as_bytes());
                self.path(held.path().as_path());
                self.number(usize::from(*if_exists == IfExists::Replace));
            }
            Change::Symlink { target, if_exists } => {
                self.bytes(b"symlink");
                self.bytes(target);
                self.number(usize::from(*if_exists == IfExists::Replace));
            }
        }
        let mode = match file.mode {
            None => String::new(),
            Some(Mode::Bits(bits)) => format!("{bits:o}"),
            Some(Mode::Executable(is)) => format!("executable {is}"),
        };
        self.bytes(mode.as_bytes());
        // Only where there is one: the fingerprints of other requests must never change.
        if file.if_missing == IfMissing::Skip {
            self.bytes(b"if_missing");
        }
        if let Some(encoding) = file.encoding {
            self.bytes(b"encoding");
            self.bytes(encoding.name().as_bytes());
        }
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
                        // The line does not change what the edit does.
                        Count::Once | Count::OnceNear(_) => 1,
                        Count::Exactly(count) => *count,
                        Count::All => 0,
                        Count::AtMostOnce => usize::MAX,
                        Count::Any => usize::MAX - 1,
                    });
                    self.number(usize::from(*matching == Matching::Tolerant));
                }
                Anchor::Range { range, expected } => {
                    self.number(range.start);
                    self.bytes(expected);
                }
                Anchor::Span { start, end, encoding, strict } => {
                    self.bytes(b"span");
                    for place in [start, end] {
                        self.number(place.line);
                        self.number(place.character);
                    }
                    self.bytes(match encoding {
                        Encoding::Utf8 => b"utf-8",
                        Encoding::Utf16 => b"utf-16",
                        Encoding::Utf32 => b"utf-32",
                    });
                    if *strict {
                        self.bytes(b"strict");
                    }
                }
                Anchor::Hunk(hunk) => self.hunk(hunk),
            }
        }
    }

    /// Field by field, so that a new field needs a decision here. The bytes must never change: a retry is recognised
    /// across versions of the program.
    fn hunk(&mut self, hunk: &Hunk) {
        let Hunk {
            lines,
            line,
            headers,
            at_start,
            at_end,
            only_there,
            loose_end,
            loose_tail,
            continues,
            repeats_context,
            matching,
        } = hunk;
        self.bytes(b"hunk");
        self.number(lines.len());
        for HunkLine { side, text } in lines {
            self.bytes(match side {
                Side::Old => b"-",
                Side::New => b"+",
                Side::Both => b" ",
            });
            self.bytes(text);
        }
        // Lines count from 1, so 0 means none.
        self.number(line.unwrap_or(0));
        self.number(headers.len());
        for header in headers {
            self.bytes(header);
        }
        for flag in [at_start, at_end, only_there, loose_end, continues, repeats_context] {
            self.number(usize::from(*flag));
        }
        self.number(*loose_tail);
        self.number(usize::from(*matching == Matching::Tolerant));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::request::edit::Position;

    fn file(path: &str, change: Change) -> Request {
        let file = FileRequest::new(path, change);
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

    #[test]
    fn each_field_of_a_hunk_counts() {
        let hunk = || Hunk { lines: vec![HunkLine { side: Side::Both, text: b"x\n".to_vec() }], ..Hunk::default() };
        let hunks = [
            hunk(),
            Hunk { lines: vec![HunkLine { side: Side::Old, text: b"x\n".to_vec() }], ..hunk() },
            Hunk { lines: vec![HunkLine { side: Side::Both, text: b"y\n".to_vec() }], ..hunk() },
            Hunk { lines: Vec::new(), ..hunk() },
            Hunk { line: Some(1), ..hunk() },
            Hunk { headers: vec![b"x".to_vec()], ..hunk() },
            Hunk { at_start: true, ..hunk() },
            Hunk { at_end: true, ..hunk() },
            Hunk { only_there: true, ..hunk() },
            Hunk { loose_end: true, ..hunk() },
            Hunk { loose_tail: 1, ..hunk() },
            Hunk { continues: true, ..hunk() },
            Hunk { repeats_context: true, ..hunk() },
            Hunk { matching: Matching::Tolerant, ..hunk() },
        ];
        let count = hunks.len();
        let print = |hunk| {
            let edit = Edit { anchor: Anchor::Hunk(Box::new(hunk)), replacement: Vec::new() };
            file("a", Change::Edit { edits: vec![edit], rename: None }).fingerprint(Path::new("/w")).to_hex()
        };
        assert_eq!(hunks.map(print).into_iter().collect::<BTreeSet<_>>().len(), count);
    }

    /// Journals contain it: if this fails, keys of older versions are no longer recognised.
    #[test]
    fn it_stays_the_same_from_version_to_version() {
        let anchors = [
            Anchor::Text { text: b"x".to_vec(), count: Count::Exactly(2), matching: Matching::Tolerant },
            Anchor::Range { range: 3..4, expected: b"x".to_vec() },
            Anchor::Span {
                start: Position { line: 1, character: 2 },
                end: Position { line: 3, character: 4 },
                encoding: Encoding::Utf16,
                strict: false,
            },
            Anchor::Hunk(Box::new(Hunk {
                lines: vec![HunkLine { side: Side::Old, text: b"x\n".to_vec() }],
                line: Some(7),
                headers: vec![b"fn f() {".to_vec()],
                at_end: true,
                loose_tail: 1,
                ..Hunk::default()
            })),
        ];
        let edits = anchors.into_iter().map(|anchor| Edit { anchor, replacement: b"y".to_vec() }).collect();
        let request = file("a", Change::Edit { edits, rename: None });
        let expected = "8224ef523616817100b90dd993ab9ee3df3411505eb08422dc43f8f61b14328f";
        assert_eq!(request.fingerprint(Path::new("/w")).to_hex(), expected);
    }
}
