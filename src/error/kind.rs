//! The kinds of failures, each with its code in answers.

/// The kind of a failure. The names are stable; callers decide by them, never by the words of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request is not one; `errors` lists every finding.
    ValidationFailed,
    /// A relative path where only absolute ones are taken.
    RelativePath,
    /// A path with a `..` segment.
    PathTraversal,
    /// A path that is, or leads, outside the root, or into a `.txedit`.
    OutsideRoot,
    /// A path of version control, or one that the operator denies.
    PathDenied,
    /// No file there.
    FileNotFound,
    /// A file is there already.
    FileExists,
    /// A folder, pipe, socket, device, or a symlink that would itself be deleted or renamed.
    NotARegularFile,
    /// No write bit, another owner, or the system said no.
    PermissionDenied,
    /// Symlinks lead in a circle, or too many follow each other.
    SymlinkLoop,
    /// Larger than what is edited.
    FileTooLarge,
    /// `edits` without an edit.
    EmptyEdits,
    /// `old_string` is empty.
    EmptyOldString,
    /// Two edits of one file look for the same text.
    DuplicateOldString,
    /// Two entries for one file, by whatever name.
    DuplicateFilePath,
    /// An edit of a file without content.
    EmptyFile,
    /// `old_string` is not there.
    MatchNotFound,
    /// It is there several times.
    AmbiguousMatch,
    /// Not as often as `expected_matches` says.
    MatchCountMismatch,
    /// The file is not text, or not UTF-8.
    InvalidEncoding,
    /// The content is not the one that you saw.
    HashMismatch,
    /// Another program changed the file, its permissions or its folder meanwhile.
    ConcurrentModification,
    /// Another transaction holds a folder for too long, or what the check of a killed one started still runs; the
    /// message names it.
    LockTimeout,
    /// No space, or no quota.
    DiskFull,
    /// The file system cannot be written to.
    ReadOnlyFs,
    /// The system reported another error; a file would become larger than `ulimit -f` allows.
    WriteFailed,
    /// The check failed, or took too long; its output is in `context`.
    CheckFailed,
    /// A patch could not be read.
    PatchParseFailed,
    /// No transaction of that id.
    UnknownTransaction,
    /// The open transaction lapsed.
    TransactionExpired,
    /// Files changed since; `conflicts` lists them.
    UndoConflict,
    /// An interrupted transaction is in the way and wants a decision.
    RecoveryRequired,
    /// The files are on several file systems or mounts.
    CrossDevice,
    /// The file system cannot exchange names; or `/proc` is not mounted.
    UnsupportedFileSystem,
    /// The file is a mount point.
    MountPoint,
    /// The file or its folder is immutable or append-only.
    Immutable,
    /// More files, edits, bytes or open folders than the limits allow.
    RequestTooLarge,
    /// An invalid pattern, glob or group of a replacement.
    InvalidPattern,
    /// A request names a check, and nobody allowed that.
    ChecksNotAllowed,
    /// The program of a second model is missing, failed, or gave no answer; nothing was changed by it.
    DelegateFailed,
    /// A second model took too long, and was stopped with all that it had started.
    Timeout,
    /// Stopped before the first swap.
    Cancelled,
    /// The server does not write.
    ReadOnlyMode,
    /// Something without a code of its own.
    UnknownError,
}

impl ErrorKind {
    /// The code in answers, like `MATCH_NOT_FOUND`.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::ValidationFailed => "VALIDATION_FAILED",
            Self::RelativePath => "RELATIVE_PATH",
            Self::PathTraversal => "PATH_TRAVERSAL",
            Self::OutsideRoot => "OUTSIDE_ROOT",
            Self::PathDenied => "PATH_DENIED",
            Self::FileNotFound => "FILE_NOT_FOUND",
            Self::FileExists => "FILE_EXISTS",
            Self::NotARegularFile => "NOT_A_REGULAR_FILE",
            Self::PermissionDenied => "PERMISSION_DENIED",
            Self::SymlinkLoop => "SYMLINK_LOOP",
            Self::FileTooLarge => "FILE_TOO_LARGE",
            Self::EmptyEdits => "EMPTY_EDITS",
            Self::EmptyOldString => "EMPTY_OLD_STRING",
            Self::DuplicateOldString => "DUPLICATE_OLD_STRING",
            Self::DuplicateFilePath => "DUPLICATE_FILE_PATH",
            Self::EmptyFile => "EMPTY_FILE",
            Self::MatchNotFound => "MATCH_NOT_FOUND",
            Self::AmbiguousMatch => "AMBIGUOUS_MATCH",
            Self::MatchCountMismatch => "MATCH_COUNT_MISMATCH",
            Self::InvalidEncoding => "INVALID_ENCODING",
            Self::HashMismatch => "HASH_MISMATCH",
            Self::ConcurrentModification => "CONCURRENT_MODIFICATION",
            Self::LockTimeout => "LOCK_TIMEOUT",
            Self::DiskFull => "DISK_FULL",
            Self::ReadOnlyFs => "READ_ONLY_FS",
            Self::WriteFailed => "WRITE_FAILED",
            Self::CheckFailed => "CHECK_FAILED",
            Self::PatchParseFailed => "PATCH_PARSE_FAILED",
            Self::UnknownTransaction => "UNKNOWN_TRANSACTION",
            Self::TransactionExpired => "TRANSACTION_EXPIRED",
            Self::UndoConflict => "UNDO_CONFLICT",
            Self::RecoveryRequired => "RECOVERY_REQUIRED",
            Self::CrossDevice => "CROSS_DEVICE",
            Self::UnsupportedFileSystem => "UNSUPPORTED_FILE_SYSTEM",
            Self::MountPoint => "MOUNT_POINT",
            Self::Immutable => "IMMUTABLE",
            Self::RequestTooLarge => "REQUEST_TOO_LARGE",
            Self::InvalidPattern => "INVALID_PATTERN",
            Self::ChecksNotAllowed => "CHECKS_NOT_ALLOWED",
            Self::DelegateFailed => "DELEGATE_FAILED",
            Self::Timeout => "TIMEOUT",
            Self::Cancelled => "CANCELLED",
            Self::ReadOnlyMode => "READ_ONLY_MODE",
            Self::UnknownError => "UNKNOWN_ERROR",
        }
    }

    /// True if the same request may succeed later without anybody changing it.
    #[must_use]
    pub const fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::LockTimeout | Self::ConcurrentModification | Self::Timeout | Self::Cancelled | Self::DiskFull
        )
    }
}
