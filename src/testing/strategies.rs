//! Strategies for `proptest`: random requests that fit the caller's files.
//!
//! ```
//! use proptest::prelude::*;
//! use txedit::testing::{Explorer, Script, strategies};
//!
//! const FILES: [(&str, &str); 2] = [("a.txt", "one\n"), ("src/b.txt", "two\nthree\n")];
//!
//! proptest! {
//!     #![proptest_config(ProptestConfig { cases: 4, failure_persistence: None, ..ProptestConfig::default() })]
//!
//!     # fn
//!     every_request_is_atomic(request in strategies::requests(&FILES)) {
//!         let script = Script::new("by chance", strategies::setup(&FILES)).apply(request);
//!         let explorer = Explorer { images: 8, images_in_recovery: 4, depth: 1, ..Explorer::default() };
//!         explorer.explore(&script).map_err(|violation| TestCaseError::fail(violation.to_string()))?;
//!     }
//! }
//! # every_request_is_atomic();
//! ```

use std::time::Duration;

use proptest::collection;
use proptest::prelude::*;
use proptest::sample::Index;

use super::script::ROOT;
use crate::fs::sim::SimFs;
use crate::request::edit::{Anchor, Count, Edit, Matching};
use crate::request::{Change, FileRequest, IfExists, Mode, RenameTo, Request};

/// Makes these files, by their paths in the workspace, for [`Script::new`](super::Script::new); a minute old.
///
/// # Panics
///
/// If one of the paths cannot be made: it is there twice, or beneath a file.
pub fn setup(files: &[(&str, &str)]) -> impl Fn(&SimFs) + Send + Sync + 'static {
    let files: Vec<_> = files.iter().map(|(path, content)| (format!("{ROOT}/{path}"), (*content).to_owned())).collect();
    move |machine| {
        for (path, content) in &files {
            let folder = path.rsplit_once('/').map_or(ROOT, |(folder, _)| folder);
            let made = machine.make_folders(folder).and_then(|()| machine.create(path, content));
            assert!(made.is_ok(), "{path}: {made:?}");
        }
        machine.advance(Duration::from_secs(60));
    }
}

/// Contents of a few lines: line endings of both kinds, bytes beyond ASCII, with and without a last line break.
pub fn contents() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![4 => "[a-z ]{0,12}", 1 => "[äß→ ]{1,4}"];
    let ending = prop_oneof![4 => Just("\n"), 1 => Just("\r\n"), 1 => Just("")];
    collection::vec((line, ending), 0..5)
        .prop_map(|lines| lines.into_iter().map(|(line, ending)| line + ending).collect::<String>().into_bytes())
}

/// The change of one file.
#[derive(Debug, Clone)]
enum FileFate {
    Stays,
    /// The text between two places is replaced, wherever it occurs.
    Edited(Index, Index, Vec<u8>),
    Written(Vec<u8>),
    Deleted,
    Moved,
    Mode(u32),
}

fn fate() -> impl Strategy<Value = FileFate> {
    prop_oneof![
        2 => Just(FileFate::Stays),
        4 => (any::<Index>(), any::<Index>(), contents()).prop_map(|(from, to, new)| FileFate::Edited(from, to, new)),
        1 => contents().prop_map(FileFate::Written),
        1 => Just(FileFate::Deleted),
        1 => Just(FileFate::Moved),
        1 => prop_oneof![Just(0o600), Just(0o755)].prop_map(FileFate::Mode),
    ]
}

/// Requests that can be applied to these files: paths in the workspace, with their contents. Each edits, replaces,
/// deletes, renames or chmods some of them and makes new ones, some in new folders.
pub fn requests(files: &[(&str, &str)]) -> impl Strategy<Value = Request> + use<> {
    let files: Vec<(String, String)> = files.iter().map(|(p, c)| ((*p).to_owned(), (*c).to_owned())).collect();
    let fates = collection::vec(fate(), files.len());
    let created = collection::vec((any::<bool>(), contents()), 0..3);
    (fates, created).prop_map(move |(fates, created)| {
        let changed = files.iter().zip(fates).filter_map(|((path, content), fate)| entry(path, content, fate));
        let made = created.into_iter().enumerate().map(|(number, (is_deep, content))| {
            let path = if is_deep { format!("new-{number}/deep/file") } else { format!("new-{number}") };
            file(&path, Change::Write { content, if_exists: IfExists::Fail })
        });
        let mut entries: Vec<_> = changed.chain(made).collect();
        if entries.is_empty() {
            entries.push(file("new", Change::Write { content: b"new\n".to_vec(), if_exists: IfExists::Fail }));
        }
        Request { files: entries, ..Request::default() }
    })
}

fn file(path: &str, change: Change) -> FileRequest {
    FileRequest::new(path, change)
}

fn entry(path: &str, content: &str, fate: FileFate) -> Option<FileRequest> {
    Some(match fate {
        FileFate::Stays => return None,
        FileFate::Edited(from, to, new) => {
            // Whole characters: the result must be text if the content is.
            let starts: Vec<usize> = content.char_indices().map(|(at, _)| at).collect();
            let (from, to) =
                (from.get(&starts[..]).min(to.get(&starts[..])), from.get(&starts[..]).max(to.get(&starts[..])));
            let end = content[*to..].chars().next().map_or(*to, |last| to + last.len_utf8());
            let anchor = Anchor::Text {
                text: content.as_bytes()[*from..end].to_vec(),
                count: Count::All,
                matching: Matching::Exact,
            };
            file(path, Change::Edit { edits: vec![Edit { anchor, replacement: new }], rename: None })
        }
        FileFate::Written(content) => file(path, Change::Write { content, if_exists: IfExists::Replace }),
        FileFate::Deleted => file(path, Change::Delete),
        FileFate::Moved => {
            let to = RenameTo { path: format!("{path}.moved").into(), if_exists: IfExists::Fail };
            file(path, Change::Rename(to))
        }
        FileFate::Mode(mode) => FileRequest { mode: Some(Mode::Bits(mode)), ..file(path, Change::Mode) },
    })
}
