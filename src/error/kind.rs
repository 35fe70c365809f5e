//! The kinds of failures, each with its code in answers.

/// The kind of a failure. The names are stable; callers decide by them, never by the text of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request is invalid; `errors` lists every finding.
    ValidationFailed,
    /// A relative path where only absolute ones are accepted.
    RelativePath,
    /// A path with a `..` segment.
    PathTraversal,
    /// A path that is, or leads, outside the root, or into a state folder.
    OutsideRoot,
    /// A path of version control, or one that is denied by the operator.
    PathDenied,
    /// No file there.
    FileNotFound,
    /// A file is there already.
    FileExists,
    /// A folder, pipe, socket or device; or a symlink, where a file or folder is wanted.
    NotARegularFile,
    /// A folder that is to be removed has something in it that stays; the message names it.
    FolderNotEmpty,
    /// No write bit, another owner, or refused by the system.
    PermissionDenied,
    /// Symlinks form a loop, or a chain that is too long.
    SymlinkLoop,
    /// Larger than the limit for edited files.
    FileTooLarge,
    /// `edits` without an edit.
    EmptyEdits,
    /// `old_string` is empty.
    EmptyOldString,
    /// Two edits of one file have the same `old_string`.
    DuplicateOldString,
    /// Two entries for one file, under the same or different names.
    DuplicateFilePath,
    /// An edit of an empty file.
    EmptyFile,
    /// `old_string` does not occur.
    MatchNotFound,
    /// It occurs several times.
    AmbiguousMatch,
    /// It does not occur as often as `expected_matches` says.
    MatchCountMismatch,
    /// The file is not text in UTF-8 and no `encoding` is named, or the new text cannot be written in that encoding,
    /// or has U+0000.
    InvalidEncoding,
    /// The content is not the expected one.
    HashMismatch,
    /// Another program has changed the file, its permissions or its folder since it was read.
    ConcurrentModification,
    /// Another transaction holds a folder for too long, or a process that the check of a killed transaction started is
    /// still running; the message names it.
    LockTimeout,
    /// No space, or the quota is used up.
    DiskFull,
    /// The file system cannot be written to.
    ReadOnlyFs,
    /// The system reported another error; also if a file would become larger than `ulimit -f` allows.
    WriteFailed,
    /// The check failed, or took too long; its output is in `context`.
    CheckFailed,
    /// A program that was to make changes failed, or took too long; what it did was discarded.
    ProgramFailed,
    /// A patch could not be read.
    PatchParseFailed,
    /// No transaction of that id.
    UnknownTransaction,
    /// The open transaction has expired.
    TransactionExpired,
    /// Files have changed since; `conflicts` lists them.
    UndoConflict,
    /// An interrupted transaction is in the way and needs a decision.
    RecoveryRequired,
    /// A file cannot be moved where it must be: its file system is not mounted, or does not move it.
    CrossDevice,
    /// The file system cannot move names as a commit must, or a sandbox does not let this process; or names cannot be made
    /// durable there, or no proof be left (`XDG_STATE_HOME`); or `/proc` is not mounted.
    UnsupportedFileSystem,
    /// The file is a mount point.
    MountPoint,
    /// The file or its folder is immutable or append-only.
    Immutable,
    /// More files, edits, bytes or open folders than the limits allow.
    RequestTooLarge,
    /// An invalid pattern, glob or group of a replacement.
    InvalidPattern,
    /// A check or a program was to run in a view, and there can be neither a view nor a copy here.
    NoView,
    /// A request names a check, which is not allowed.
    ChecksNotAllowed,
    /// The program of the second model is missing, failed, or gave no answer; it changed nothing.
    DelegateFailed,
    /// The second model took too long, and was stopped with all processes that it had started.
    Timeout,
    /// Cancelled before the first swap.
    Cancelled,
    /// The server is read-only, or writes only what a person approves.
    ReadOnlyMode,
    /// A person has not decided yet on an open transaction.
    ApprovalPending,
    /// An error without a code of its own.
    UnknownError,
}

impl ErrorKind {
    /// The code in answers, such as `MATCH_NOT_FOUND`.
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
            Self::FolderNotEmpty => "FOLDER_NOT_EMPTY",
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
            Self::ProgramFailed => "PROGRAM_FAILED",
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
            Self::NoView => "NO_VIEW",
            Self::ChecksNotAllowed => "CHECKS_NOT_ALLOWED",
            Self::DelegateFailed => "DELEGATE_FAILED",
            Self::Timeout => "TIMEOUT",
            Self::Cancelled => "CANCELLED",
            Self::ReadOnlyMode => "READ_ONLY_MODE",
            Self::ApprovalPending => "APPROVAL_PENDING",
            Self::UnknownError => "UNKNOWN_ERROR",
        }
    }

    /// True if the same request may succeed later without anybody changing it.
    #[must_use]
    pub const fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::LockTimeout
                | Self::ConcurrentModification
                | Self::Timeout
                | Self::Cancelled
                | Self::DiskFull
                | Self::ApprovalPending
        )
    }
}
