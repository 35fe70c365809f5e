//! Hints for the caller after a failure: one sentence for each kind of failure.

use crate::error::{Correction, Detail, EncodingFault, Error, ErrorKind, MismatchCause, NextStep, Outcome};
use crate::request::Request;
use crate::request::edit::Anchor;

const NOT_RESTORED: &str =
    "Read the files in `not_restored`, each with its reason; `kept` has what could be kept of their old contents.";

/// Formulates a step for a front-end: as a clause that can start a sentence or follow a semicolon.
pub type StepWords = fn(&NextStep) -> String;

/// The hint for `error` about `request`, with the next steps in the `words` of the front-end. If files may be half-way,
/// recovering them comes before everything else.
#[must_use]
pub fn recovery_hint(error: &Error, request: Option<&Request>, words: StepWords) -> String {
    // The sender of a patch has written no text that could be sent again.
    let of_patch = request.and_then(|request| of_patch(error, request));
    let of_text = if of_patch.is_some() { Vec::new() } else { steps_of_text(error) };
    let is_told = !of_text.is_empty() || !error.next_steps().is_empty();
    let steps = match error.next_steps() {
        [] if !of_text.is_empty() => of_text,
        [] => steps_of(error),
        steps => steps.to_vec(),
    };
    let hint = match error.outcome() {
        Outcome::RecoveryRequired => recovery_hint_of(ErrorKind::RecoveryRequired),
        Outcome::PartlyRolledBack => NOT_RESTORED,
        // The steps name what is in the way, or what to send; the hint of the kind knows neither.
        Outcome::Unchanged | Outcome::RolledBack if is_told => "",
        Outcome::Unchanged | Outcome::RolledBack => {
            let special =
                of_patch.or_else(|| of_search(error)).or_else(|| of_command(error)).or_else(|| of_limit(error));
            special.unwrap_or(recovery_hint_of(error.kind()))
        }
    };
    let steps = sentence(&steps, words);
    let space = if hint.is_empty() || steps.is_empty() { "" } else { " " };
    format!("{hint}{space}{steps}")
}

/// The steps that mend a text that was not found, found too often, or cannot be written: the cause decides, where one is
/// proved.
fn steps_of_text(error: &Error) -> Vec<NextStep> {
    let diagnosis = match error.details() {
        Detail::NoMatch(diagnosis) => diagnosis,
        Detail::Matches(places) if places.shown.iter().any(|place| place.unique.is_some()) => {
            return vec![NextStep::Correct(Correction::SendUnique)];
        }
        Detail::Encoding(fault) => return vec![NextStep::Correct(of_encoding(*fault))],
        _ => return Vec::new(),
    };
    match diagnosis.cause {
        Some(MismatchCause::ConsumedByEdit(edit)) => vec![NextStep::Correct(Correction::AfterEdit { edit })],
        Some(MismatchCause::ConsumedByStaged) => vec![NextStep::Correct(Correction::AfterStaged)],
        Some(MismatchCause::InOtherFile(file)) => vec![NextStep::Correct(Correction::InFile { file })],
        Some(MismatchCause::AlreadyApplied) => vec![NextStep::Correct(Correction::LeaveOut)],
        Some(cause) if diagnosis.suggestion.is_some() && is_in_new_text(cause) => {
            vec![NextStep::Correct(Correction::SendCorrected)]
        }
        _ if diagnosis.suggestion.is_some() => vec![NextStep::Correct(Correction::SendSuggestion)],
        _ if diagnosis.nearest.is_some() => vec![NextStep::Correct(Correction::SendNearest)],
        _ => Vec::new(),
    }
}

/// True if what is wrong with the old text is most probably wrong with the new text as well, which would be written.
const fn is_in_new_text(cause: MismatchCause) -> bool {
    use MismatchCause as C;
    matches!(
        cause,
        C::EscapedText
            | C::LineNumbers
            | C::DiffMarkers
            | C::Quoted
            | C::Wrapped
            | C::HtmlEntities
            | C::Elided
            | C::LinesLeftOut
    )
}

/// What to correct about an encoding.
const fn of_encoding(fault: EncodingFault) -> Correction {
    match fault {
        EncodingFault::NotNamed => Correction::NameEncoding,
        EncodingFault::Contradicted => Correction::EncodingOfMark,
        EncodingFault::Unmappable(character) => Correction::WithoutCharacter { character },
        EncodingFault::NotText => Correction::WholeContent,
        EncodingFault::Nul => Correction::WithoutNul,
        EncodingFault::Bytes => Correction::AwayFromBytes,
        EncodingFault::Marked => Correction::WithoutMark,
        EncodingFault::NotUtf8 => Correction::InUtf8,
    }
}

/// The steps that the kind of an error suggests.
fn steps_of(error: &Error) -> Vec<NextStep> {
    let recover = || NextStep::Recover { id: error.transaction().map(str::to_owned) };
    match (error.outcome(), error.kind()) {
        (Outcome::PartlyRolledBack, _) => Vec::new(),
        (Outcome::RecoveryRequired, _) | (_, ErrorKind::RecoveryRequired) => vec![recover(), NextStep::Status],
        (_, ErrorKind::UnknownTransaction) => vec![NextStep::Log, NextStep::Status],
        (_, ErrorKind::UnsupportedFileSystem | ErrorKind::WriteFailed) => vec![NextStep::Doctor],
        (_, ErrorKind::UnknownError) => vec![NextStep::Status],
        _ => Vec::new(),
    }
}

/// The steps as one sentence; empty if there are none.
fn sentence(steps: &[NextStep], words: StepWords) -> String {
    let clauses: Vec<String> = steps.iter().map(words).collect();
    let text = clauses.join("; or ");
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
}

/// A reason with its steps.
#[must_use]
pub fn with_steps(reason: &str, steps: &[NextStep], words: StepWords) -> String {
    let mut text = reason.to_owned();
    for (index, step) in steps.iter().enumerate() {
        text.push_str(if index == 0 { "; " } else { ", or " });
        text.push_str(&words(step));
    }
    text
}

/// The hint for a part of a patch, whose sender wrote no `old_string`.
fn of_patch(error: &Error, request: &Request) -> Option<&'static str> {
    let edits = request.files.get(error.file()?)?.edits();
    match (&edits.get(error.edit()?)?.anchor, error.kind()) {
        (Anchor::Text { .. }, _) => None,
        (_, ErrorKind::MatchNotFound) => {
            Some("Read the file to see current content, then make the patch anew from it.")
        }
        (Anchor::Hunk(_), ErrorKind::AmbiguousMatch) => {
            Some("Give the hunk more lines of context, then send the patch again.")
        }
        _ => None,
    }
}

/// The hint for a search in a whole tree, which belongs to no edit.
fn of_search(error: &Error) -> Option<&'static str> {
    match error.kind() {
        ErrorKind::MatchNotFound if error.edit().is_none() => {
            Some("Correct the pattern, or the paths that are searched, then try again.")
        }
        ErrorKind::MatchCountMismatch if error.edit().is_none() => {
            Some("Look at the matches with a dry run, then correct the pattern or the number.")
        }
        _ => None,
    }
}

/// The hint for a command that was to print a plan: it was run in the workspace itself.
fn of_command(error: &Error) -> Option<&'static str> {
    let is_bare = error.kind() == ErrorKind::ProgramFailed && !matches!(error.details(), Detail::Program(_));
    is_bare.then_some("Mend the command, then do the same again.")
}

/// The hint where the system's limit of open files struck, perhaps in a call that has no request.
fn of_limit(error: &Error) -> Option<&'static str> {
    let is_limit = error.kind() == ErrorKind::RequestTooLarge && error.os_error().is_some();
    is_limit.then_some("Raise the limit of open files where txedit is started (ulimit -n), or split the request.")
}

/// The hint for a kind, also used for findings.
#[must_use]
pub const fn recovery_hint_of(kind: ErrorKind) -> &'static str {
    use ErrorKind as K;
    match kind {
        K::ValidationFailed => "Correct what the message names, then send the whole request again.",
        K::RelativePath => "Send the absolute path of the file.",
        K::PathTraversal => "Send the path without `..` segments.",
        K::OutsideRoot => "Name a file inside the root, or start txedit with a root that contains it.",
        K::PathDenied => "Leave this path out; only whoever starts txedit can allow it.",
        K::FileNotFound => "Check the path, or create the file.",
        K::FileExists => {
            "Choose another path, delete the file first, or give if_exists: \"replace\" where the format has it."
        }
        K::FolderNotEmpty => {
            "Delete, move out or remove what is in the folder in the same request, or leave the folder."
        }
        K::NotARegularFile => {
            "Name a regular file; folders and symlinks have fields of their own in a plan (make_folder, symlink_to)."
        }
        K::PermissionDenied => "Check file permissions.",
        K::SymlinkLoop => "Name the file that the symlinks were meant to lead to.",
        K::FileTooLarge => "Leave this file out; it is too large to be edited.",
        K::EmptyEdits => "Give at least one edit with old_string and new_string.",
        K::EmptyOldString => {
            "Give the text to be replaced as old_string, or a whole file with `content` (in multi_edit_files or a plan)."
        }
        K::DuplicateOldString => {
            "Merge the edits with this old_string into one, or make each old_string more specific."
        }
        K::DuplicateFilePath => "Put all edits of this file into one entry of `files`.",
        K::EmptyFile => "Write the file with `content` and if_exists: \"replace\" (in multi_edit_files or a plan).",
        K::MatchNotFound => "Read the file to see current content, then retry with correct old_string.",
        K::AmbiguousMatch => "Use replace_all: true or make old_string more specific.",
        K::MatchCountMismatch => "Read the file, then correct expected_matches or make old_string more specific.",
        K::InvalidEncoding => "Ensure file uses UTF-8 encoding.",
        K::HashMismatch => "Read the file again, then send the edits with the hash of what you read.",
        K::ConcurrentModification => "Another program changed the file: read it again, then retry.",
        K::LockTimeout => "Another transaction holds these folders: retry in a few seconds.",
        K::DiskFull => "Free some disk space, then do the same again.",
        K::ReadOnlyFs => "Name files on a file system that can be written to.",
        K::WriteFailed => "Read the error, check the disk, then retry.",
        K::CheckFailed => "Read the output of the check, correct the edits, then send the whole request again.",
        K::ProgramFailed => "Read what the program printed, and run it again; nothing that it did was kept.",
        K::PatchParseFailed => "Correct the patch at the line that the message names, then send it again.",
        K::UnknownTransaction => "List the transactions to find the right id.",
        K::TransactionExpired => "Open a new transaction and stage the edits again.",
        K::UndoConflict => "Read the files named in `conflicts`; undo what changed them first, or edit them by hand.",
        K::RecoveryRequired => "Have the transaction recovered, and read the files before sending anything else.",
        K::CrossDevice => {
            "Do first what the message says: mount the file system, or send what it names as a request of its own."
        }
        K::UnsupportedFileSystem => "Move the workspace to a file system that can do what the message names.",
        K::MountPoint => "Leave this path out; a mount point cannot be exchanged.",
        K::Immutable => "Remove the immutable or append-only attribute (chattr -i -a), then retry.",
        K::RequestTooLarge => "Split the request into smaller ones.",
        K::InvalidPattern => "Correct the pattern at the place that the message names.",
        K::NoView => "Ask what would allow a view here; a check may also run in the tree.",
        K::ChecksNotAllowed => "Send the request without `check`, or have it allowed with --allow-checks.",
        K::DelegateFailed => "Read the delegate's output in the message; no file was changed by it.",
        K::Timeout => "Retry, with a longer timeout or a smaller request.",
        K::Cancelled => "Nothing was changed; do the same again when it is wanted.",
        K::ReadOnlyMode => "Use dry_run: true, or what the message names.",
        K::ApprovalPending => "Send the same call again to hear what the person decided.",
        K::UnknownError => "Read the message; if it does not tell what is true of the files, read them.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::{EditIndex, FileIndex};

    /// The documented codes, and the kind of each.
    fn documented() -> Vec<ErrorKind> {
        use ErrorKind as K;
        let kinds = [
            ("VALIDATION_FAILED", K::ValidationFailed),
            ("RELATIVE_PATH", K::RelativePath),
            ("PATH_TRAVERSAL", K::PathTraversal),
            ("OUTSIDE_ROOT", K::OutsideRoot),
            ("PATH_DENIED", K::PathDenied),
            ("FILE_NOT_FOUND", K::FileNotFound),
            ("FILE_EXISTS", K::FileExists),
            ("NOT_A_REGULAR_FILE", K::NotARegularFile),
            ("FOLDER_NOT_EMPTY", K::FolderNotEmpty),
            ("PERMISSION_DENIED", K::PermissionDenied),
            ("SYMLINK_LOOP", K::SymlinkLoop),
            ("FILE_TOO_LARGE", K::FileTooLarge),
            ("EMPTY_EDITS", K::EmptyEdits),
            ("EMPTY_OLD_STRING", K::EmptyOldString),
            ("DUPLICATE_OLD_STRING", K::DuplicateOldString),
            ("DUPLICATE_FILE_PATH", K::DuplicateFilePath),
            ("EMPTY_FILE", K::EmptyFile),
            ("MATCH_NOT_FOUND", K::MatchNotFound),
            ("AMBIGUOUS_MATCH", K::AmbiguousMatch),
            ("MATCH_COUNT_MISMATCH", K::MatchCountMismatch),
            ("INVALID_ENCODING", K::InvalidEncoding),
            ("HASH_MISMATCH", K::HashMismatch),
            ("CONCURRENT_MODIFICATION", K::ConcurrentModification),
            ("LOCK_TIMEOUT", K::LockTimeout),
            ("DISK_FULL", K::DiskFull),
            ("READ_ONLY_FS", K::ReadOnlyFs),
            ("WRITE_FAILED", K::WriteFailed),
            ("CHECK_FAILED", K::CheckFailed),
            ("PROGRAM_FAILED", K::ProgramFailed),
            ("PATCH_PARSE_FAILED", K::PatchParseFailed),
            ("UNKNOWN_TRANSACTION", K::UnknownTransaction),
            ("TRANSACTION_EXPIRED", K::TransactionExpired),
            ("UNDO_CONFLICT", K::UndoConflict),
            ("RECOVERY_REQUIRED", K::RecoveryRequired),
            ("CROSS_DEVICE", K::CrossDevice),
            ("UNSUPPORTED_FILE_SYSTEM", K::UnsupportedFileSystem),
            ("MOUNT_POINT", K::MountPoint),
            ("IMMUTABLE", K::Immutable),
            ("REQUEST_TOO_LARGE", K::RequestTooLarge),
            ("INVALID_PATTERN", K::InvalidPattern),
            ("NO_VIEW", K::NoView),
            ("CHECKS_NOT_ALLOWED", K::ChecksNotAllowed),
            ("DELEGATE_FAILED", K::DelegateFailed),
            ("TIMEOUT", K::Timeout),
            ("CANCELLED", K::Cancelled),
            ("READ_ONLY_MODE", K::ReadOnlyMode),
            ("APPROVAL_PENDING", K::ApprovalPending),
            ("UNKNOWN_ERROR", K::UnknownError),
        ];
        for (code, kind) in kinds {
            assert_eq!(kind.code(), code);
        }
        // The last kind is the last of the list, so the list is complete.
        assert_eq!(K::UnknownError as usize + 1, kinds.len());
        kinds.map(|(_, kind)| kind).to_vec()
    }

    #[test]
    fn every_kind_has_a_hint_of_one_sentence() {
        for kind in documented() {
            let hint = recovery_hint_of(kind);
            assert!(hint.len() > 20 && hint.ends_with('.') && !hint.contains('\n'), "{kind:?}: {hint}");
            assert!(hint.len() <= 120, "{kind:?}: {hint}");
        }
    }

    #[test]
    fn the_documented_hints_are_word_for_word() {
        let hint = |kind| {
            recovery_hint(&Error::new(kind, "x").in_file(FileIndex(0)).in_edit(EditIndex(0)), None, NextStep::to_string)
        };
        assert_eq!(
            hint(ErrorKind::MatchNotFound),
            "Read the file to see current content, then retry with correct old_string."
        );
        assert_eq!(hint(ErrorKind::AmbiguousMatch), "Use replace_all: true or make old_string more specific.");
        assert_eq!(hint(ErrorKind::PermissionDenied), "Check file permissions.");
        assert_eq!(hint(ErrorKind::InvalidEncoding), "Ensure file uses UTF-8 encoding.");
    }

    #[test]
    fn a_limit_of_the_system_is_not_blamed_on_the_request() {
        let error = Error::io("open", "a", crate::errno::Errno::MFILE.into());
        assert!(recovery_hint(&error, None, NextStep::to_string).contains("ulimit -n"));
    }

    #[test]
    fn files_that_may_be_half_way_come_first() {
        let error = Error::new(ErrorKind::WriteFailed, "x").outcome_is(Outcome::RecoveryRequired).of_transaction("T");
        let hint = recovery_hint(&error, None, NextStep::to_string);
        assert!(hint.starts_with("Have the transaction recovered"), "{hint}");
        assert!(hint.contains("Engine::recover(Some(\"T\"), …)"), "{hint}");
    }

    #[test]
    fn the_steps_of_an_error_take_the_place_of_the_hint_of_its_kind() {
        let words: StepWords = |step| match step {
            NextStep::Discard { id } => format!("discard {id}"),
            other => panic!("{other}"),
        };
        let error = Error::new(ErrorKind::RecoveryRequired, "x").with_next([NextStep::Discard { id: "T".to_owned() }]);
        assert_eq!(recovery_hint(&error, None, words), "Discard T.");
        assert_eq!(with_steps("damaged", error.next_steps(), words), "damaged; discard T");
    }
}
