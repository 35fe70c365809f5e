"""The exceptions, and which of them a failed answer becomes."""

from typing import Any, Dict, List, Mapping, Optional, Tuple, Type

#: The findings that the text of an exception names.
SHOWN = 5


class TxeditError(Exception):
    """A call that failed. What is true of the files is in ``outcome``; its words are those of docs/answers.md.

    Attributes:
        code: the error code, such as ``MATCH_NOT_FOUND``. If all findings of a validation have one code, that one.
        message: what is wrong, as one sentence, or several with ``;`` between.
        file: the path of the file that is wrong, relative to the root; ``None`` if it is none, or not known.
        edit: the index of the edit in that file that failed, from 0; ``None`` if it is none.
        context: what the file contains instead, or what a check or a program printed; may be empty.
        outcome: ``unchanged``, ``rolled_back``, ``partly_rolled_back`` or ``recovery_required``, or ``unknown`` if the
            program gave no answer: then each file is old or new, and all are one or the other after the next call that
            writes.
        hint: what to do next; may be empty.
        transaction_id: the transaction that failed or that is in the way, if the answer names one.
        retryable: true if the same call may succeed later.
        findings: every finding of a validation, each with ``code``, ``message`` and ``path`` in the request.
        warnings: further information, such as a recovery that came first.
        exit_status: that of the program; ``None`` if it did not run.
        answer: the whole answer of the program.
    """

    def __init__(self, answer: Mapping[str, Any], exit_status: Optional[int] = None) -> None:
        # The arguments are kept as they are, so that the exception can be pickled.
        super().__init__(answer, exit_status)
        self.answer = answer
        self.exit_status = exit_status
        self.findings: List[Mapping[str, Any]] = list(answer.get("errors") or [])
        self.code: str = code_of(answer)
        self.message: str = _message(answer, self.findings)
        self.file: Optional[str] = _file(answer)
        self.edit: Optional[int] = answer.get("failed_edit_index")
        self.context: Mapping[str, Any] = answer.get("context") or {}
        self.outcome: str = answer.get("outcome", "unknown")
        self.hint: str = _hint(answer, self.findings)
        self.transaction_id: Optional[str] = answer.get("transaction_id")
        self.retryable: bool = bool(answer.get("retryable", False))
        self.warnings: List[str] = list(answer.get("warnings") or [])

    def __str__(self) -> str:
        place = f"{self.file}: " if self.file and self.file not in self.message else ""
        text = f"{place}{self.message} ({self.code}; files: {self.outcome})"
        return f"{text}\n{self.hint}" if self.hint else text


class InvalidRequest(TxeditError, ValueError):
    """The request, the patch, the pattern or an argument is invalid. No file was changed."""


class NotAllowed(TxeditError):
    """A path outside the root, of version control or denied, or a check that is not allowed. No file was changed."""


class NotFound(TxeditError):
    """A file that is named is not there. No file was changed."""


class AlreadyExists(TxeditError):
    """A file is there already where one is to be made. No file was changed."""


class EditNotApplied(TxeditError):
    """A text was not found, or was found too often; ``context`` says what is there instead. No file was changed."""


class Conflict(TxeditError):
    """Another program, or a later transaction, has changed a file. Its changes are kept; see ``outcome``."""


class LockTimeout(TxeditError):
    """Another transaction holds a folder for too long. No file was changed."""


class UnknownTransaction(TxeditError):
    """There is no transaction of that id, or none to undo or redo. No file was changed."""


class CheckFailed(TxeditError):
    """The check failed or took too long; its output is in ``context["check"]``. Every file is as it was."""


class ProgramFailed(TxeditError):
    """The program of ``run`` failed or took too long; what it did was discarded."""


class Cancelled(TxeditError):
    """The program was interrupted by a signal before it changed a file."""


class TimedOut(Cancelled, TimeoutError):
    """``Options.timeout`` is over; the program was stopped before it changed a file."""


class IoFailed(TxeditError):
    """The system refused something: no space, no permission, a file system that cannot do it. See ``outcome``."""


class NotRestored(TxeditError):
    """A rollback could not restore some files, because another program changed them: ``answer["not_restored"]``."""


class RecoveryRequired(TxeditError):
    """An interrupted transaction needs a person's decision; until then some files may be old and some new."""


class ProgramMissing(TxeditError):
    """The program ``txedit`` was not found, or cannot be started. No file was changed."""


class NoAnswer(TxeditError):
    """The program ended without an answer, as if it was killed. ``outcome`` is ``unknown``; ``message`` says why."""


class Interruption:
    """What Ctrl-C during a call has left: the only argument of its ``KeyboardInterrupt``.

    That is no class of its own, since Python ends as a shell expects it only for ``KeyboardInterrupt`` itself.

    Attributes:
        outcome: ``committed`` if the commit had begun and was finished; else as in ``TxeditError``. After a second
            Ctrl-C it is ``unknown``: the program ends by itself, and ``log`` has what it committed.
        transaction_id: what was committed, or what failed, if the answer names it.
        answer: the whole answer of the program; empty if there is none.
    """

    def __init__(self, answer: Mapping[str, Any]) -> None:
        self.answer = answer
        self.outcome: str = "committed" if answer.get("success") else answer.get("outcome", "unknown")
        self.transaction_id: Optional[str] = answer.get("transaction_id")

    def __repr__(self) -> str:
        return f"interrupted; files: {self.outcome}"


_CODES: Dict[Type[TxeditError], str] = {
    InvalidRequest: (
        "VALIDATION_FAILED RELATIVE_PATH PATH_TRAVERSAL EMPTY_EDITS EMPTY_OLD_STRING DUPLICATE_OLD_STRING"
        " DUPLICATE_FILE_PATH PATCH_PARSE_FAILED INVALID_PATTERN REQUEST_TOO_LARGE FILE_TOO_LARGE NOT_A_REGULAR_FILE"
        " FOLDER_NOT_EMPTY SYMLINK_LOOP"
    ),
    NotAllowed: "OUTSIDE_ROOT PATH_DENIED CHECKS_NOT_ALLOWED READ_ONLY_MODE",
    NotFound: "FILE_NOT_FOUND",
    AlreadyExists: "FILE_EXISTS",
    EditNotApplied: "MATCH_NOT_FOUND AMBIGUOUS_MATCH MATCH_COUNT_MISMATCH EMPTY_FILE INVALID_ENCODING",
    Conflict: "HASH_MISMATCH CONCURRENT_MODIFICATION UNDO_CONFLICT",
    LockTimeout: "LOCK_TIMEOUT",
    UnknownTransaction: "UNKNOWN_TRANSACTION TRANSACTION_EXPIRED",
    CheckFailed: "CHECK_FAILED",
    ProgramFailed: "PROGRAM_FAILED",
    Cancelled: "CANCELLED",
    IoFailed: (
        "PERMISSION_DENIED DISK_FULL READ_ONLY_FS WRITE_FAILED CROSS_DEVICE UNSUPPORTED_FILE_SYSTEM MOUNT_POINT"
        " IMMUTABLE NO_VIEW"
    ),
    RecoveryRequired: "RECOVERY_REQUIRED",
    ProgramMissing: "PROGRAM_MISSING",
    NoAnswer: "NO_ANSWER",
}
_CLASSES: Dict[str, Type[TxeditError]] = {code: kind for kind, codes in _CODES.items() for code in codes.split()}


def error_for(answer: Mapping[str, Any], exit_status: Optional[int] = None) -> TxeditError:
    """The exception for a failed answer. The state of the files decides first, then the code."""
    outcome = answer.get("outcome")
    kind = _CLASSES.get(code_of(answer), TxeditError)
    if outcome == "recovery_required":
        kind = RecoveryRequired
    elif outcome == "partly_rolled_back":
        kind = NotRestored
    return kind(answer, exit_status)


def own(code: str, message: str, hint: str = "", outcome: str = "unchanged") -> TxeditError:
    """An error that the module finds by itself, in the form of an answer."""
    answer = {
        "success": False,
        "error_code": code,
        "error": message,
        "recovery_hint": hint,
        "outcome": outcome,
    }
    return error_for(answer)


def code_of(answer: Mapping[str, Any]) -> str:
    """The code of a failed answer; of a validation whose findings all have one code, that one."""
    codes = {str(finding.get("code")) for finding in answer.get("errors") or []}
    return codes.pop() if len(codes) == 1 else str(answer.get("error_code", "UNKNOWN_ERROR"))


def _message(answer: Mapping[str, Any], findings: List[Mapping[str, Any]]) -> str:
    if not findings:
        return str(answer.get("error") or answer.get("message") or "the call failed")
    texts = [str(finding.get("message")) for finding in findings[:SHOWN]]
    if len(findings) > SHOWN:
        texts.append(f"and {len(findings) - SHOWN} more")
    return "; ".join(texts)


def _file(answer: Mapping[str, Any]) -> Optional[str]:
    named = answer.get("file_path")
    failed = (file.get("file_path") for file in answer.get("file_statuses") or [] if file.get("status") == "failed")
    return named if isinstance(named, str) else next(failed, None)


def _hint(answer: Mapping[str, Any], findings: List[Mapping[str, Any]]) -> str:
    # Each finding has a hint of its own, which says more than that of the whole.
    hints: Tuple[str, ...] = tuple(dict.fromkeys(str(finding.get("recovery_hint", "")) for finding in findings))
    return hints[0] if len(hints) == 1 else str(answer.get("recovery_hint", ""))
