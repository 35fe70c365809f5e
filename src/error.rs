//! One error type: a stable kind, the place in the request, the path, and what is true of the files now.

mod detail;
mod diagnosis;
mod kind;
mod next_step;

use crate::index::FileIndex;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::errno::{self, Errno};

pub use detail::{Conflict, Detail, Diverged, Finding, KeptContent, NotOld, Outcome};
pub use diagnosis::{Diagnosis, Difference, MatchPlace, MatchPlaces, MismatchCause};
pub use kind::ErrorKind;
pub use next_step::NextStep;

/// The result of everything that can fail with an [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure: what, where, and what is true of the files now.
///
/// Every I/O error carries the verb and the path of the call that failed.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    message: String,
    path: Option<PathBuf>,
    file: Option<usize>,
    edit: Option<usize>,
    change: Option<usize>,
    outcome: Outcome,
    detail: Detail,
    kept: Vec<KeptContent>,
    not_old: Vec<NotOld>,
    transaction: Option<String>,
    attempts: usize,
    warnings: Vec<String>,
    next_steps: Vec<NextStep>,
    source: Option<io::Error>,
}

/// What a warning says of a recovery that came before a command, and of nothing else.
pub(crate) const RECOVERED_FIRST: &str = "was recovered first";

impl Error {
    /// An error with nothing but its kind and its sentence.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            path: None,
            file: None,
            edit: None,
            change: None,
            outcome: Outcome::Unchanged,
            detail: Detail::None,
            kept: Vec::new(),
            not_old: Vec::new(),
            transaction: None,
            attempts: 1,
            warnings: Vec::new(),
            next_steps: Vec::new(),
            source: None,
        }))
    }

    /// What a call of the operating system answered: `verb` as in "cannot `verb` `path`".
    pub fn io(verb: &str, path: impl AsRef<Path>, source: io::Error) -> Self {
        let path = path.as_ref();
        let advice = match errno::of(&source) {
            Some(Errno::FBIG) => {
                "; raise the limit on the size of a file (`ulimit -f`), or use a file system without one"
            }
            _ => "",
        };
        let message = format!("cannot {verb} {}: {source}{advice}", path.display());
        let mut error = Self::new(kind_of(&source), message).at(path);
        error.0.source = Some(source);
        error
    }

    /// All findings of one validation layer; there must be one at least.
    #[must_use]
    pub fn findings(findings: Vec<Finding>) -> Self {
        debug_assert!(!findings.is_empty(), "a failed validation has a finding");
        Self::new(ErrorKind::ValidationFailed, "Validation failed").detail(Detail::Findings(findings))
    }

    /// Names the file.
    #[must_use]
    pub fn at(mut self, path: impl Into<PathBuf>) -> Self {
        self.0.path = Some(path.into());
        self
    }

    /// Names the file entry of the request, from 0.
    #[must_use]
    pub fn in_file(mut self, index: usize) -> Self {
        self.0.file = Some(index);
        self
    }

    /// Names the file entry that asked for what failed, if one did.
    #[must_use]
    pub(crate) fn asked_by(self, file: Option<FileIndex>) -> Self {
        match file {
            Some(FileIndex(file)) => self.in_file(file),
            None => self,
        }
    }

    /// Takes the name of the file entry away, and that of the edit: they are none that the caller knows.
    #[must_use]
    pub fn in_no_file(mut self) -> Self {
        (self.0.file, self.0.edit) = (None, None);
        self
    }

    /// Names the edit of the file entry, from 0.
    #[must_use]
    pub fn in_edit(mut self, index: usize) -> Self {
        self.0.edit = Some(index);
        self
    }

    /// Names the change of a patch that counts its changes, from 0.
    #[must_use]
    pub fn of_change(mut self, index: usize) -> Self {
        self.0.change = Some(index);
        self
    }

    /// Says what is true of the files now.
    #[must_use]
    pub fn outcome_is(mut self, outcome: Outcome) -> Self {
        self.0.outcome = outcome;
        self
    }

    /// Adds what is known beyond the kind.
    #[must_use]
    pub fn detail(mut self, detail: Detail) -> Self {
        self.0.detail = detail;
        self
    }

    /// Puts the sentence in other words.
    #[must_use]
    pub fn reworded(mut self, words: impl FnOnce(&str) -> String) -> Self {
        self.0.message = words(&self.0.message);
        self
    }

    /// Lists what was put aside.
    #[must_use]
    pub fn keeping(mut self, kept: Vec<KeptContent>) -> Self {
        self.0.kept = kept;
        self
    }

    /// Says that what was swapped was put back, but for these.
    #[must_use]
    pub fn rolled_back_but(mut self, not_old: Vec<NotOld>) -> Self {
        let is_whole = not_old.iter().all(|path| !path.on_top);
        self.0.outcome = if is_whole { Outcome::RolledBack } else { Outcome::PartlyRolledBack };
        self.0.not_old = not_old;
        self
    }

    /// Names the transaction.
    #[must_use]
    pub fn of_transaction(mut self, id: impl Into<String>) -> Self {
        self.0.transaction = Some(id.into());
        self
    }

    /// Says what can be done next, the best first.
    #[must_use]
    pub fn with_next(mut self, steps: impl IntoIterator<Item = NextStep>) -> Self {
        self.0.next_steps.extend(steps);
        self
    }

    /// Says how often it was tried.
    #[must_use]
    pub fn after(mut self, attempts: usize) -> Self {
        self.0.attempts = attempts;
        self
    }

    /// Adds what the caller should know besides: that an interrupted transaction was recovered first.
    #[must_use]
    pub fn warning_of(mut self, mut warnings: Vec<String>) -> Self {
        warnings.append(&mut self.0.warnings);
        self.0.warnings = warnings;
        self
    }

    /// What the caller should know besides: the request that failed changed nothing, but what came before it may have.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.0.warnings
    }

    /// Whether what came before the request changed files: an interrupted transaction was recovered.
    #[must_use]
    pub fn is_after_recovery(&self) -> bool {
        self.0.warnings.iter().any(|warning| warning.contains(RECOVERED_FIRST))
    }

    /// How often it was tried before it was given up.
    #[must_use]
    pub fn attempts(&self) -> usize {
        self.0.attempts
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The file, as it was named to the engine.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// The file entry of the request, from 0.
    #[must_use]
    pub fn file(&self) -> Option<usize> {
        self.0.file
    }

    /// The edit in that file entry, from 0.
    #[must_use]
    pub fn edit(&self) -> Option<usize> {
        self.0.edit
    }

    /// The change of a patch that counts its changes, from 0.
    #[must_use]
    pub fn change(&self) -> Option<usize> {
        self.0.change
    }

    /// What is true of the files now.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.0.outcome
    }

    /// What is known beyond the kind.
    #[must_use]
    pub fn details(&self) -> &Detail {
        &self.0.detail
    }

    /// What a rollback put aside.
    #[must_use]
    pub fn kept(&self) -> &[KeptContent] {
        &self.0.kept
    }

    /// Where a rollback did not leave the old content.
    #[must_use]
    pub fn not_old(&self) -> &[NotOld] {
        &self.0.not_old
    }

    /// The transaction, where one had been given an id.
    #[must_use]
    pub fn transaction(&self) -> Option<&str> {
        self.0.transaction.as_deref()
    }

    /// The steps that can be taken next, the best first; empty where the kind alone tells.
    #[must_use]
    pub fn next_steps(&self) -> &[NextStep] {
        &self.0.next_steps
    }

    /// What the operating system said, if it did.
    #[must_use]
    pub fn os_error(&self) -> Option<&io::Error> {
        self.0.source.as_ref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|e| e as &(dyn std::error::Error + 'static))
    }
}

/// The kind that an error of the operating system stands for.
fn kind_of(error: &io::Error) -> ErrorKind {
    match errno::of(error) {
        Some(Errno::NOENT | Errno::NOTDIR) => ErrorKind::FileNotFound,
        Some(Errno::EXIST) => ErrorKind::FileExists,
        Some(Errno::ISDIR) => ErrorKind::NotARegularFile,
        Some(Errno::ACCESS | Errno::PERM) => ErrorKind::PermissionDenied,
        Some(Errno::LOOP) => ErrorKind::SymlinkLoop,
        Some(Errno::NOSPC | Errno::DQUOT) => ErrorKind::DiskFull,
        Some(Errno::ROFS) => ErrorKind::ReadOnlyFs,
        Some(Errno::MFILE | Errno::NFILE) => ErrorKind::RequestTooLarge,
        Some(Errno::XDEV) => ErrorKind::CrossDevice,
        Some(Errno::BUSY) => ErrorKind::MountPoint,
        Some(_) => ErrorKind::WriteFailed,
        None if error.kind() == io::ErrorKind::Unsupported => ErrorKind::UnsupportedFileSystem,
        None => ErrorKind::UnknownError,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_io_error_carries_verb_path_and_kind() {
        let error = Error::io("rename", "src/a.rs", Errno::NOSPC.into()).in_file(2);
        assert_eq!(error.kind(), ErrorKind::DiskFull);
        assert_eq!(error.path(), Some(Path::new("src/a.rs")));
        assert_eq!(error.file(), Some(2));
        assert!(error.to_string().starts_with("cannot rename src/a.rs: No space left"));
    }
}
