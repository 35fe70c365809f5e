//! Reads changes in the formats of other tools: bytes become a request. No file is accessed.
//!
//! Reading is as lenient as the users of each format expect; applying is not: a hunk goes where its lines are, and
//! nowhere if they are in several places or in none.

mod ast_grep;
mod detect;
mod envelope;
mod eslint;
mod fence;
mod files;
mod fixes;
mod foreign;
mod json;
mod ruff;
mod rustc;
mod search_replace;
mod unified;
mod workspace_edit;

use std::fmt::Display;

use crate::error::{Detail, Error, ErrorKind, Result};
use crate::limits;
use crate::request::Request;
use crate::request::edit::Matching;
pub use detect::detect;
#[cfg(feature = "cli")]
pub(crate) use detect::may_be_plan;
use files::PatchFiles;

/// A format in which changes are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// A unified diff, or that of git with its headers.
    Unified,
    /// `*** Begin Patch`.
    Envelope,
    /// `<<<<<<< SEARCH` blocks.
    SearchReplace,
    /// An LSP `WorkspaceEdit`.
    WorkspaceEdit,
    /// The output of `ast-grep --json`.
    AstGrep,
    /// The messages of rustc or clippy as JSON, by themselves or from cargo.
    Rustc,
    /// The output of `ruff check --output-format json`.
    Ruff,
    /// The output of `eslint --format json`.
    Eslint,
}

/// Which fixes of a report are applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum FixChoice {
    /// Those that the tool itself would apply without being asked: `MachineApplicable` of rustc, `safe` of ruff.
    #[default]
    Safe,
    /// Also those that may be wrong: `MaybeIncorrect` of rustc, `unsafe` of ruff.
    Unsafe,
}

/// How a patch is read.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct PatchOptions {
    /// Its format; without one, its content decides.
    pub format: Option<Format>,
    /// The way in which texts are compared; `None` is that of the format's own tools.
    pub matching: Option<Matching>,
    /// Which fixes are applied, for the reports of tools that propose some.
    pub fixes: FixChoice,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 8] = [
        Self::Unified,
        Self::Envelope,
        Self::SearchReplace,
        Self::WorkspaceEdit,
        Self::AstGrep,
        Self::Rustc,
        Self::Ruff,
        Self::Eslint,
    ];

    /// Its name in arguments.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unified => "diff",
            Self::Envelope => "envelope",
            Self::SearchReplace => "search-replace",
            Self::WorkspaceEdit => "workspace-edit",
            Self::AstGrep => "ast-grep",
            Self::Rustc => "rustc",
            Self::Ruff => "ruff",
            Self::Eslint => "eslint",
        }
    }

    /// The format with this name.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.as_str() == word)
    }
}

/// The formats, for errors about text in none of them.
pub(crate) const KNOWN: &str = "a unified diff (--- and +++), a git diff (diff --git), an envelope (*** Begin Patch), \
                                <<<<<<< SEARCH blocks, an LSP WorkspaceEdit, or a JSON report of ast-grep, rustc, \
                                clippy, ruff or eslint";

/// A patch that was read.
///
/// ```
/// use txedit::{Engine, Patch, Run, patch};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # std::fs::write(root.join("a.txt"), "one\ntwo\n")?;
/// let text = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n";
/// let patch = Patch::read(text.as_bytes(), None, None)?;
/// assert_eq!(patch.format, patch::Format::Unified);
/// Engine::open(root)?.apply(&patch.request, Run::default()).map_err(|error| patch.explain(error))?;
/// assert_eq!(std::fs::read_to_string(root.join("a.txt"))?, "one\nthree\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Patch {
    /// The format it was read as.
    pub format: Format,
    /// The request.
    pub request: Request,
    /// For each file of the request, the change of the patch from which it comes, from 0, and those of its edits. Only
    /// for formats that count their changes.
    origins: Vec<PatchOrigin>,
}

/// The change of a patch from which a file and its edits come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PatchOrigin {
    file: usize,
    edits: Vec<usize>,
}

impl Patch {
    /// Reads a patch; without a format, its content decides. Relative paths in it are relative to the root. `matching`
    /// is the way in which texts are compared; `None` is that of the format's own tools.
    ///
    /// The request is not validated yet: the engine does that.
    pub fn read(patch: &[u8], format: Option<Format>, matching: Option<Matching>) -> Result<Self> {
        Self::read_with(patch, PatchOptions { format, matching, ..PatchOptions::default() })
    }

    /// The same with all options. The report of a tool that found nothing to fix is a request without a file, which the
    /// engine refuses: see [`is_empty`](Self::is_empty).
    pub fn read_with(patch: &[u8], options: PatchOptions) -> Result<Self> {
        let PatchOptions { format, matching, fixes } = options;
        if patch.len() as u64 > limits::REQUEST_BYTES {
            let message =
                format!("the patch has {} bytes; {} are the most that is read", patch.len(), limits::REQUEST_BYTES);
            return Err(Error::new(ErrorKind::RequestTooLarge, message));
        }
        let patch = without_mark(patch);
        let format = format.or_else(|| detect(patch)).ok_or_else(|| malformed(1, 1, KNOWN))?;
        let files = match format {
            Format::Unified => unified::read(patch, matching.unwrap_or_default()),
            // Its own tools ignore white space and look-alikes as well.
            Format::Envelope => envelope::read(patch, matching.unwrap_or(Matching::Tolerant)),
            Format::SearchReplace => search_replace::read(patch, matching.unwrap_or_default()),
            Format::WorkspaceEdit => workspace_edit::read(patch),
            Format::AstGrep => ast_grep::read(patch),
            Format::Rustc => rustc::read(patch, fixes),
            Format::Ruff => ruff::read(patch, fixes),
            Format::Eslint => eslint::read(patch),
        }?;
        let PatchFiles { list, origins, .. } = files;
        Ok(Self { format, request: Request { files: list, ..Request::default() }, origins })
    }

    /// True if there is nothing to do: a tool found nothing to fix.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.request.files.is_empty()
    }

    /// The index of the change that `error` is about, as LSP counts its `failedChange`. For several findings, that of
    /// the first.
    fn failed_change(&self, error: &Error) -> Option<usize> {
        let (file, edit) = match error.details() {
            Detail::Findings(findings) => place(&findings.first()?.path)?,
            _ => (error.file()?, error.edit()),
        };
        let origin = self.origins.get(file)?;
        Some(edit.and_then(|edit| origin.edits.get(edit)).copied().unwrap_or(origin.file))
    }

    /// The error in terms of the patch: with the number of the failed change, for formats that count them.
    #[must_use]
    pub fn explain(&self, error: Error) -> Error {
        // No format has a place for one.
        let error = error.without_encodings();
        let path = || error.path().map(|path| path.display().to_string()).unwrap_or_default();
        let error = match (self.format, error.kind()) {
            // The only file whose whole content is in a diff.
            (Format::Unified, ErrorKind::HashMismatch) => {
                let path = path();
                error.reworded(|_| format!("{path} is not what the patch deletes: its content differs"))
            }
            (Format::Eslint, ErrorKind::HashMismatch) => {
                let path = path();
                error.reworded(|_| format!("{path} is not the text that eslint has checked: run eslint again"))
            }
            _ => error,
        };
        match self.failed_change(&error) {
            Some(change) => error.reworded(|message| format!("{message} (failedChange: {change})")).of_change(change),
            None => error,
        }
    }
}

/// The file entry, and its edit, that the path of a finding names.
fn place(path: &[String]) -> Option<(usize, Option<usize>)> {
    let number = |at: usize| path.get(at).and_then(|part| part.parse().ok());
    let is_edit = path.get(2).is_some_and(|field| field == "edits");
    Some((number(1)?, if is_edit { number(3) } else { None }))
}

/// A patch without a leading byte-order mark, which some editors write.
fn without_mark(patch: &[u8]) -> &[u8] {
    patch.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(patch)
}

/// The error for a patch that cannot be read: the place, from 1, and what was expected there.
pub(crate) fn malformed(line: usize, column: usize, expected: impl Display) -> Error {
    Error::new(
        ErrorKind::PatchParseFailed,
        format!("the patch is malformed at line {line}, column {column}: expected {expected}"),
    )
}

/// A text for an error message: shortened, and on one line.
pub(crate) fn excerpt(text: &[u8]) -> String {
    const CHARS: usize = 60;
    let text = String::from_utf8_lossy(&text[..text.len().min(4 * CHARS)]);
    let short: String = text.trim_end().chars().take(CHARS).collect();
    format!("`{}`", short.escape_debug())
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
