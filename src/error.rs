//! The error type: a stable kind, the place in the request, the path, and the state of the files now.

mod correction;
mod detail;
mod diagnosis;
mod display;
mod kind;
mod next_step;

use std::io;
use std::path::{Path, PathBuf};

use crate::errno::{self, Errno};
use crate::index::{EditIndex, FileIndex};

pub use crate::charset::NotACharset;
pub use crate::digest::NotADigest;
pub use crate::path::bounds::{BadGlob, Barred};
pub use correction::Correction;
pub use detail::{
    Changer, Conflict, Detail, Diverged, EncodingFault, Finding, ForeignChange, KeptContent, NotOld, Outcome,
};
pub use diagnosis::{Diagnosis, Difference, MatchPlace, MatchPlaces, MismatchCause};
pub use kind::ErrorKind;
pub use next_step::NextStep;

/// The result of everything that can fail with an [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure, its place, and the state of the files now.
///
/// Every I/O error has the verb and the path of the call that failed.
///
/// `{error}` is complete, and one line: it names the file, the edit, the findings of a validation, and the files that could
/// not be put back. It includes what the operating system said, and so [`source`](std::error::Error::source) is `None`: a
/// chain of errors says nothing twice. [`os_error`](Self::os_error) has it for programs, and [`message`](Self::message) the
/// sentence alone.
///
/// ```
/// use txedit::{Edit, Engine, ErrorKind, Outcome, Request, Run};
///
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # std::fs::write(root.join("a.txt"), "one\n")?;
/// # std::fs::write(root.join("b.txt"), "one\n")?;
/// let request = Request::new()
///     .edit("a.txt", Edit::replace("one", "two"))
///     .edit("b.txt", Edit::replace("one", "two"))
///     .edit("b.txt", Edit::replace("three", "four"));
/// let error = Engine::open(root)?.apply(&request, Run::default()).unwrap_err();
///
/// assert_eq!(error.kind(), ErrorKind::MatchNotFound);
/// assert_eq!((error.file(), error.edit()), (Some(1), Some(1)));
/// assert_eq!(error.outcome(), Outcome::Unchanged);
/// assert_eq!(error.to_string(), format!("edit 2 in b.txt: {}", error.message()));
///
/// // A request that cannot be right is refused with all that is wrong with it.
/// let request = Request::new().edit("a.txt", Edit::replace("", "two")).edit("b.txt", Edit::replace("", "two"));
/// let error = Engine::open(root)?.apply(&request, Run::default()).unwrap_err();
/// assert!(error.to_string().contains("files.0.edits.0.old_string: "), "{error}");
/// assert!(error.to_string().contains("files.1.edits.0.old_string: "), "{error}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    os_error: Option<io::Error>,
}

/// The text in a warning about a recovery that came before a command, and in no other warning.
pub(crate) const RECOVERED_FIRST: &str = "was recovered first";

impl Error {
    /// An error with only a kind and a message.
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
            os_error: None,
        }))
    }

    /// The error of a system call: `verb` as in "cannot `verb` `path`".
    pub(crate) fn io(verb: &str, path: impl AsRef<Path>, source: io::Error) -> Self {
        let path = path.as_ref();
        let advice = match errno::of(&source) {
            Some(Errno::FBIG) => {
                "; raise the limit on the size of a file (`ulimit -f`), or use a file system without one"
            }
            _ => "",
        };
        let message = format!("cannot {verb} {}: {source}{advice}", path.display());
        let mut error = Self::new(kind_of(&source), message).at(path);
        error.0.os_error = Some(source);
        error
    }

    /// All findings of one validation layer; there must be at least one.
    #[must_use]
    pub(crate) fn findings(findings: Vec<Finding>) -> Self {
        debug_assert!(!findings.is_empty(), "a failed validation has a finding");
        Self::new(ErrorKind::ValidationFailed, "Validation failed").detail(Detail::Findings(findings))
    }

    /// Sets the file.
    #[must_use]
    pub(crate) fn at(mut self, path: impl Into<PathBuf>) -> Self {
        self.0.path = Some(path.into());
        self
    }

    /// Sets the file entry of the request, from 0.
    #[must_use]
    pub(crate) fn in_file(mut self, index: FileIndex) -> Self {
        self.0.file = Some(index.0);
        self
    }

    /// Sets the file entry that asked for the failed operation, if one did.
    #[must_use]
    pub(crate) fn asked_by(self, file: Option<FileIndex>) -> Self {
        match file {
            Some(file) => self.in_file(file),
            None => self,
        }
    }

    /// Removes the indices of file entry and edit: the caller does not know these entries.
    #[must_use]
    pub(crate) fn in_no_file(mut self) -> Self {
        (self.0.file, self.0.edit) = (None, None);
        self
    }

    /// Sets the edit of the file entry, from 0.
    #[must_use]
    pub(crate) fn in_edit(mut self, index: EditIndex) -> Self {
        self.0.edit = Some(index.0);
        self
    }

    /// Sets the change of a patch that counts its changes, from 0.
    #[must_use]
    pub(crate) fn of_change(mut self, index: usize) -> Self {
        self.0.change = Some(index);
        self
    }

    /// Sets the state of the files.
    #[must_use]
    pub(crate) fn outcome_is(mut self, outcome: Outcome) -> Self {
        self.0.outcome = outcome;
        self
    }

    /// Adds details beyond the kind.
    #[must_use]
    pub(crate) fn detail(mut self, detail: Detail) -> Self {
        self.0.detail = detail;
        self
    }

    /// Rewords the message.
    #[must_use]
    pub(crate) fn reworded(mut self, words: impl FnOnce(&str) -> String) -> Self {
        self.0.message = words(&self.0.message);
        self
    }

    /// Sets the contents that were kept.
    #[must_use]
    pub(crate) fn keeping(mut self, kept: Vec<KeptContent>) -> Self {
        self.0.kept = kept;
        self
    }

    /// Records that all swapped files were restored except these.
    #[must_use]
    pub(crate) fn rolled_back_but(mut self, not_old: Vec<NotOld>) -> Self {
        let is_whole = not_old.iter().all(|path| !path.on_top);
        self.0.outcome = if is_whole { Outcome::RolledBack } else { Outcome::PartlyRolledBack };
        self.0.not_old = not_old;
        self
    }

    /// Sets the transaction.
    #[must_use]
    pub(crate) fn of_transaction(mut self, id: impl Into<String>) -> Self {
        self.0.transaction = Some(id.into());
        self
    }

    /// The same where the call has no way to name the encoding of a file: then that is not advised.
    #[must_use]
    pub(crate) fn without_encodings(self) -> Self {
        match self.0.detail {
            Detail::Encoding(EncodingFault::NotNamed) => self
                .reworded(|message| message.replacen("name its encoding, ", "", 1))
                .next_instead([NextStep::Correct(Correction::NoEncodingHere)].into_iter()),
            _ => self,
        }
    }

    /// Replaces the next steps.
    #[must_use]
    pub(crate) fn next_instead(mut self, steps: impl Iterator<Item = NextStep>) -> Self {
        self.0.next_steps = steps.collect();
        self
    }

    /// Adds next steps, the best first.
    #[must_use]
    pub(crate) fn with_next(mut self, steps: impl IntoIterator<Item = NextStep>) -> Self {
        self.0.next_steps.extend(steps);
        self
    }

    /// Sets the number of attempts.
    #[must_use]
    pub(crate) fn after(mut self, attempts: usize) -> Self {
        self.0.attempts = attempts;
        self
    }

    /// Adds warnings for the caller, such as an interrupted transaction that was recovered first.
    #[must_use]
    pub(crate) fn warning_of(mut self, mut warnings: Vec<String>) -> Self {
        warnings.append(&mut self.0.warnings);
        self.0.warnings = warnings;
        self
    }

    /// Warnings for the caller: the failed request changed nothing, but what came before it may have.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.0.warnings
    }

    /// Returns whether files were changed before the request: an interrupted transaction was recovered.
    #[must_use]
    pub fn is_after_recovery(&self) -> bool {
        self.0.warnings.iter().any(|warning| warning.contains(RECOVERED_FIRST))
    }

    /// The number of attempts.
    #[must_use]
    pub fn attempts(&self) -> usize {
        self.0.attempts
    }

    /// The kind of error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The sentence alone, without the file, the edit and the findings.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
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

    /// The state of the files now.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.0.outcome
    }

    /// The details beyond the kind.
    #[must_use]
    pub fn details(&self) -> &Detail {
        &self.0.detail
    }

    /// The contents that a rollback kept.
    #[must_use]
    pub fn kept(&self) -> &[KeptContent] {
        &self.0.kept
    }

    /// The paths at which a rollback did not restore the old content.
    #[must_use]
    pub fn not_old(&self) -> &[NotOld] {
        &self.0.not_old
    }

    /// The transaction, if it had an id already.
    #[must_use]
    pub fn transaction(&self) -> Option<&str> {
        self.0.transaction.as_deref()
    }

    /// The next steps, the best first; empty if the kind alone suggests them.
    #[must_use]
    pub fn next_steps(&self) -> &[NextStep] {
        &self.0.next_steps
    }

    /// The error of the operating system, if there is one.
    #[must_use]
    pub fn os_error(&self) -> Option<&io::Error> {
        self.0.os_error.as_ref()
    }
}

impl std::error::Error for Error {}

/// The kind for an error of the operating system.
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
        let error = Error::io("rename", "src/a.rs", Errno::NOSPC.into()).in_file(FileIndex(2));
        assert_eq!(error.kind(), ErrorKind::DiskFull);
        assert_eq!(error.path(), Some(Path::new("src/a.rs")));
        assert_eq!(error.file(), Some(2));
        assert!(error.to_string().starts_with("cannot rename src/a.rs: No space left"));
    }
}
