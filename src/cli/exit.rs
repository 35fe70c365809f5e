//! The exit status of a failure.

use crate::error::{Error, ErrorKind, Outcome};

/// Done.
pub(crate) const DONE: u8 = 0;
/// An edit did not apply; nothing changed.
pub(crate) const NOT_APPLIED: u8 = 1;
/// Usage or validation.
pub(crate) const USAGE: u8 = 2;
/// Something changed that should not have: a digest did not match, another program wrote, an undo found changes.
pub(crate) const CONFLICT: u8 = 3;
/// Another process holds the locks.
pub(crate) const LOCK_TIMEOUT: u8 = 4;
/// Input or output failed; rolled back, or nothing was swapped.
pub(crate) const IO: u8 = 5;
/// A recovery must run, a person must decide, or a file could not be rolled back.
pub(crate) const RECOVERY_REQUIRED: u8 = 6;
/// The check, or the program of `run`, failed; rolled back.
pub(crate) const CHECK_FAILED: u8 = 7;
/// Done and kept; but the answer could not be written.
pub(crate) const UNTOLD: u8 = 8;
/// Nothing that the request is about is there, and it allows that.
pub(crate) const NOTHING_TO_DO: u8 = 9;
/// Interrupted before the swap; nothing changed.
pub(crate) const INTERRUPTED: u8 = 130;

/// The exit status of a failure.
pub(crate) fn status(error: &Error) -> u8 {
    // Whatever failed first: a script must know above all that the files are between old and new.
    if matches!(error.outcome(), Outcome::RecoveryRequired | Outcome::PartlyRolledBack) {
        return RECOVERY_REQUIRED;
    }
    match error.kind() {
        ErrorKind::MatchNotFound
        | ErrorKind::AmbiguousMatch
        | ErrorKind::MatchCountMismatch
        | ErrorKind::EmptyFile
        | ErrorKind::InvalidEncoding => NOT_APPLIED,
        // Validation reports these kinds among its findings. Such an error that stands alone and names a file of the
        // request means that the file appeared or vanished after validation.
        ErrorKind::FileNotFound | ErrorKind::FileExists if error.file().is_some() => CONFLICT,
        ErrorKind::HashMismatch | ErrorKind::ConcurrentModification | ErrorKind::UndoConflict => CONFLICT,
        ErrorKind::LockTimeout | ErrorKind::ApprovalPending => LOCK_TIMEOUT,
        ErrorKind::RecoveryRequired => RECOVERY_REQUIRED,
        ErrorKind::CheckFailed | ErrorKind::ProgramFailed => CHECK_FAILED,
        ErrorKind::Cancelled => INTERRUPTED,
        ErrorKind::PermissionDenied
        | ErrorKind::DiskFull
        | ErrorKind::ReadOnlyFs
        | ErrorKind::WriteFailed
        | ErrorKind::CrossDevice
        | ErrorKind::UnsupportedFileSystem
        | ErrorKind::MountPoint
        | ErrorKind::Immutable
        | ErrorKind::DelegateFailed
        | ErrorKind::Timeout
        | ErrorKind::UnknownError => IO,
        ErrorKind::ValidationFailed
        | ErrorKind::RelativePath
        | ErrorKind::PathTraversal
        | ErrorKind::OutsideRoot
        | ErrorKind::PathDenied
        | ErrorKind::FileNotFound
        | ErrorKind::FileExists
        | ErrorKind::NotARegularFile
        | ErrorKind::FolderNotEmpty
        | ErrorKind::SymlinkLoop
        | ErrorKind::FileTooLarge
        | ErrorKind::EmptyEdits
        | ErrorKind::EmptyOldString
        | ErrorKind::DuplicateOldString
        | ErrorKind::DuplicateFilePath
        | ErrorKind::PatchParseFailed
        | ErrorKind::UnknownTransaction
        | ErrorKind::TransactionExpired
        | ErrorKind::RequestTooLarge
        | ErrorKind::InvalidPattern
        | ErrorKind::ChecksNotAllowed
        | ErrorKind::NoView
        | ErrorKind::ReadOnlyMode => USAGE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::FileIndex;

    #[test]
    fn each_class_of_failure_has_its_status() {
        let of = |kind| status(&Error::new(kind, "x"));
        assert_eq!(of(ErrorKind::MatchNotFound), 1);
        assert_eq!(of(ErrorKind::ValidationFailed), 2);
        assert_eq!(of(ErrorKind::UnknownTransaction), 2);
        assert_eq!(of(ErrorKind::TransactionExpired), 2);
        assert_eq!(of(ErrorKind::ReadOnlyMode), 2);
        assert_eq!(of(ErrorKind::UndoConflict), 3);
        assert_eq!(of(ErrorKind::LockTimeout), 4);
        assert_eq!(of(ErrorKind::DiskFull), 5);
        assert_eq!(of(ErrorKind::RecoveryRequired), 6);
        assert_eq!(of(ErrorKind::CheckFailed), 7);
        assert_eq!(of(ErrorKind::Cancelled), 130);
    }

    #[test]
    fn files_in_between_outweigh_the_reason() {
        let error = Error::new(ErrorKind::DiskFull, "x").outcome_is(Outcome::RecoveryRequired);
        assert_eq!(status(&error), 6);
        let error = Error::new(ErrorKind::ConcurrentModification, "x").outcome_is(Outcome::PartlyRolledBack);
        assert_eq!(status(&error), 6);
        let error = Error::new(ErrorKind::DiskFull, "x").outcome_is(Outcome::RolledBack);
        assert_eq!(status(&error), 5);
    }

    #[test]
    fn a_file_of_the_request_that_vanished_is_a_conflict() {
        assert_eq!(status(&Error::new(ErrorKind::FileNotFound, "x").in_file(FileIndex(0))), 3);
        assert_eq!(status(&Error::new(ErrorKind::FileNotFound, "x")), 2);
    }
}
