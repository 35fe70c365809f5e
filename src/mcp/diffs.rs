//! The diffs of transactions, open and committed, as resources: whole, of one file, and in pieces of any of them.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rmcp::ErrorData;

use super::bound::boundary;
use super::uri;
use crate::engine::{Engine, Run};
use crate::error::{Error, ErrorKind, Result};

/// The start of the addresses of transactions.
const START: &str = "txedit://transactions/";

/// What follows the id in the address of its diff.
const END: &str = "/diff";

/// The addresses of pieces: `file` is relative to the root, `offset` counts the bytes of the diff.
pub(super) const PIECE: &str = "txedit://transactions/{id}/diff{?file,offset}";

/// The address of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DiffUri {
    pub(super) id: String,
    /// The only file.
    file: Option<PathBuf>,
    /// Where the piece starts; without it the diff is whole.
    offset: Option<usize>,
}

/// A diff, or a piece of it.
pub(super) struct Diff {
    pub(super) text: String,
    /// The place of a piece; `None` if the diff is whole.
    pub(super) piece: Option<DiffPiece>,
}

/// The place of a piece.
pub(super) struct DiffPiece {
    pub(super) total_bytes: usize,
    /// The address of the next piece; `None` at the end.
    pub(super) next: Option<String>,
}

impl fmt::Display for DiffUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{START}{}{END}", self.id)?;
        let mut mark = '?';
        if let Some(file) = &self.file {
            write!(f, "{mark}file={}", uri::escaped(file.as_os_str().as_bytes()))?;
            mark = '&';
        }
        match self.offset {
            Some(offset) => write!(f, "{mark}offset={offset}"),
            None => Ok(()),
        }
    }
}

impl DiffUri {
    /// The whole diff of a transaction.
    pub(super) fn of(id: &str) -> Self {
        Self { id: id.to_owned(), file: None, offset: None }
    }

    /// The addresses of its pieces.
    pub(super) fn template(&self) -> String {
        format!("{self}{{?file,offset}}")
    }

    /// The diff at an address, if it is that of one.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (path, query) = text.split_once('?').unwrap_or((text, ""));
        let id = path.strip_prefix(START)?.strip_suffix(END).filter(|id| !id.is_empty() && !id.contains('/'))?;
        let mut parsed = Self::of(id);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=')? {
                ("file", file) => parsed.file = Some(OsString::from_vec(uri::unescaped(file)?).into()),
                ("offset", offset) => parsed.offset = Some(offset.parse().ok()?),
                _ => return None,
            }
        }
        Some(parsed)
    }

    /// Reads the diff, of which a piece has at most `piece_bytes`. Blocks.
    pub(super) fn read(&self, engine: &Engine, piece_bytes: usize) -> Result<Diff> {
        let files = all(engine, &self.id)?;
        let wanted = self.file.as_deref().map(|file| file.strip_prefix(engine.root()).unwrap_or(file));
        let text: String = match wanted {
            None => files.into_iter().map(|(_, diff)| diff).collect(),
            Some(wanted) => {
                let of_file: Vec<_> =
                    files.into_iter().filter(|(paths, _)| paths.iter().any(|it| it == wanted)).collect();
                if of_file.is_empty() {
                    let message = format!("transaction {} has no change of {}", self.id, wanted.display());
                    return Err(Error::new(ErrorKind::FileNotFound, message).at(wanted));
                }
                of_file.into_iter().map(|(_, diff)| diff).collect()
            }
        };
        let Some(offset) = self.offset else { return Ok(Diff { text, piece: None }) };
        let total_bytes = text.len();
        let start = boundary(&text, offset);
        // A piece has at least one character, or the next one would be the same.
        let least = text[start..].chars().next().map_or(0, char::len_utf8);
        let end = boundary(&text, start.saturating_add(piece_bytes)).max(start + least);
        let next = (end < total_bytes).then(|| Self { offset: Some(end), ..self.clone() }.to_string());
        Ok(Diff { text: text[start..end].to_owned(), piece: Some(DiffPiece { total_bytes, next }) })
    }
}

/// The diff of each file of a transaction, committed or open, with its names; they are not cut.
fn all(engine: &Engine, id: &str) -> Result<Vec<(Vec<PathBuf>, String)>> {
    let run = Run::default().diffs_up_to(usize::MAX);
    let committed = match engine.show_in(id, run) {
        Ok(shown) => return Ok(shown.files.into_iter().map(|file| (vec![file.path], file.diff)).collect()),
        Err(error) if error.kind() == ErrorKind::UnknownTransaction => error,
        Err(error) => return Err(error),
    };
    let preview = engine.preview(id, run).map_err(|error| match error.kind() {
        ErrorKind::UnknownTransaction => committed,
        _ => error,
    })?;
    let files = preview.report.files.into_iter().map(|mut file| {
        let names = [Some(&file.path), file.extras.renamed_to.as_ref()];
        let relative = |name: &Path| name.strip_prefix(engine.root()).unwrap_or(name).to_owned();
        let names = names.into_iter().flatten().map(|name| relative(name)).collect();
        (names, file.extras.diff.take().unwrap_or_default())
    });
    Ok(files.collect())
}

/// The error for an address at which there is no diff.
pub(super) fn not_found(uri: &str, error: &Error) -> ErrorData {
    ErrorData::resource_not_found(error.message().to_owned(), Some(serde_json::json!({ "uri": uri })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_it_is_written() {
        let uri = DiffUri { id: "t1".into(), file: Some("a b/ü%&?.rs".into()), offset: Some(7) };
        assert_eq!(uri.to_string(), "txedit://transactions/t1/diff?file=a%20b/%C3%BC%25%26%3F.rs&offset=7");
        for uri in [uri, DiffUri::of("t1"), DiffUri { offset: Some(0), ..DiffUri::of("t2") }] {
            assert_eq!(DiffUri::parse(&uri.to_string()), Some(uri));
        }
        for text in [
            "txedit://transactions//diff",
            "txedit://transactions/a/b/diff",
            "txedit://transactions/t1",
            "txedit://transactions/t1/diff?offset=x",
            "txedit://transactions/t1/diff?offset",
            "txedit://transactions/t1/diff?more=1",
            "txedit://transactions/t1/diff?file=%zz",
        ] {
            assert_eq!(DiffUri::parse(text), None, "{text}");
        }
    }
}
