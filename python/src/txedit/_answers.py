"""The answers of the program. The fields are those of docs/answers.md.

Every field has a default, since an answer leaves out what there is none of. A path is relative to the root unless it says
otherwise; a byte of it that is not UTF-8 is written as ``\\xff``.
"""

from dataclasses import dataclass, replace
from typing import Any, Mapping, Optional, Tuple

from ._decode import Answer, decode, named


@dataclass(frozen=True)
class EditResult(Answer):
    """One edit that was applied.

    Attributes:
        old_string: its first characters.
        occurrences_replaced: the number of places.
        lines: the lines of the first places, from 1.
        match_kind: how the text was found, such as ``exact``.
    """

    old_string: str = ""
    matched: bool = True
    occurrences_replaced: int = 0
    lines: Tuple[int, ...] = ()
    match_kind: str = "exact"


@dataclass(frozen=True)
class FileResult(Answer):
    """One file of a transaction, in every answer. A field has its default where the command does not know it.

    Attributes:
        operation: ``edit``, ``create``, ``replace``, ``delete``, ``rename``, …; ``none`` if nothing changes.
        class_: for an interrupted transaction ``before``, ``done``, …; ``None`` if it was not examined.
        matches: the number of places where ``replace`` found the text.
        added: the number of lines that were added, where ``show`` knows it; ``removed`` likewise.
        hash_before: BLAKE3 of the old content, in hex; ``None`` if there was no file.
        hash_after: the same of the new content; ``None`` if the file is gone.
        diff: the unified diff, in a dry run. It is cut after 64 KiB, at the end of a line, and says so.
        skipped: it was left out, since no file is there.
        in_place: for a request that was committed before: true if the file is still as it left it.
    """

    file_path: str = ""
    operation: str = ""
    renamed_to: Optional[str] = None
    symlink_to: Optional[str] = None
    edits_applied: int = 0
    edits: Tuple[EditResult, ...] = ()
    class_: Optional[str] = named("class", None)
    matches: int = 0
    added: Optional[int] = None
    removed: Optional[int] = None
    hash_before: Optional[str] = None
    hash_after: Optional[str] = None
    warnings: Tuple[str, ...] = ()
    backup_path: Optional[str] = None
    final_content: Optional[str] = None
    diff: Optional[str] = None
    skipped: bool = False
    in_place: Optional[bool] = None


@dataclass(frozen=True)
class Check(Answer):
    """A check that was run.

    Attributes:
        ended: ``passed``, ``exit status: 1``, …
        output: the end of what it printed.
        in_: where it ran: ``tree``, ``view`` or ``copy``.
        dropped: the number of other files that it wrote in a view, and that ended with it.
    """

    command: str = ""
    ended: str = ""
    milliseconds: int = 0
    output: str = ""
    in_: str = named("in", "")
    dropped: int = 0
    dropped_files: Tuple[str, ...] = ()


@dataclass(frozen=True)
class CountedFiles(Answer):
    """A number of files, and the first of them."""

    count: int = 0
    files: Tuple[str, ...] = ()


@dataclass(frozen=True)
class LeftOut(CountedFiles):
    """Files that were left out, for a ``reason``: ``ignored``, ``excluded``, ``version_control``, ``special``, …"""

    reason: str = ""


@dataclass(frozen=True)
class Program(Answer):
    """A program that was run in a view.

    Attributes:
        ended: ``passed``, ``exit status: 1``, …
        output: the end of what it printed, to stdout and stderr.
        in_: where it ran: ``view`` or ``copy``.
        left_behind: processes that it had left, and that were ended.
        left_out: what it wrote and is not in the transaction, by the reason.
        changed_meanwhile: what others changed while it ran, and it did not.
    """

    command: str = ""
    ended: str = ""
    milliseconds: int = 0
    output: str = ""
    in_: str = named("in", "")
    left_behind: Tuple[str, ...] = ()
    left_out: Tuple[LeftOut, ...] = ()
    changed_meanwhile: Optional[CountedFiles] = None


@dataclass(frozen=True)
class Reverted(Answer):
    """A transaction that an undo or a redo reverts."""

    transaction_id: str = ""
    owner: str = ""
    label: Optional[str] = None


@dataclass(frozen=True)
class Report(Answer):
    """A transaction that was committed, or in a dry run would be.

    Attributes:
        transaction_id: ``None`` for a dry run, and if there was nothing to change.
        campaign: the campaign that it is a part of.
        files_edited: the number of files that were changed in any way.
        outcome: ``nothing_to_do`` if nothing that the request is about is there, and it allows that.
        plan_hash: of a dry run: the hash of the plan, for ``apply``.
        attempts: the number of attempts beside other programs that wrote the same files.
        already_applied: the same request was committed before, and nothing was done.
        undone_by: the transaction that reverted it since.
        reverts: of an undo or a redo: what it reverts, newest first.
    """

    dry_run: bool = False
    transaction_id: Optional[str] = None
    campaign: Optional[str] = None
    outcome: Optional[str] = None
    plan_hash: Optional[str] = None
    files_edited: int = 0
    file_results: Tuple[FileResult, ...] = ()
    warnings: Tuple[str, ...] = ()
    check: Optional[Check] = None
    program: Optional[Program] = None
    attempts: int = 1
    already_applied: bool = False
    undone_by: Optional[str] = None
    reverts: Tuple[Reverted, ...] = ()

    @property
    def diff(self) -> str:
        """The diffs of all files, one after the other; empty if it is not a dry run."""
        return "".join(file.diff or "" for file in self.file_results)


@dataclass(frozen=True)
class Replaced(Answer):
    """A text that was replaced in a tree, or in a dry run would be.

    Attributes:
        transaction_id: ``None`` for a dry run, and if nothing changed.
        campaign: the campaign that it is a part of.
        total_matches: the number of places, in the files that ``file_results`` lists, whose paths are absolute.
    """

    dry_run: bool = False
    transaction_id: Optional[str] = None
    campaign: Optional[str] = None
    files_edited: int = 0
    total_matches: int = 0
    file_results: Tuple[FileResult, ...] = ()
    files_searched: int = 0
    binary_files_skipped: int = 0
    warnings: Tuple[str, ...] = ()
    check: Optional[Check] = None

    @property
    def diff(self) -> str:
        """The diffs of all files, one after the other; empty if it is not a dry run."""
        return "".join(file.diff or "" for file in self.file_results)


@dataclass(frozen=True)
class LoggedTransaction(Answer):
    """A committed transaction.

    Attributes:
        time: of the commit, in RFC 3339.
        reverts: the ids of the transactions that it reverts, newest first.
        reverted_by: the id of the transaction that reverted it.
        opened: the id of the open transaction that was committed.
        unreadable: why only the id is known.
    """

    transaction_id: str = ""
    time: str = ""
    owner: str = ""
    label: Optional[str] = None
    session: Optional[str] = None
    campaign: Optional[str] = None
    reverts: Tuple[str, ...] = ()
    reverted_by: Optional[str] = None
    opened: Optional[str] = None
    check: Optional[Check] = None
    file_results: Tuple[FileResult, ...] = ()
    warnings: Tuple[str, ...] = ()
    unreadable: Optional[str] = None


@dataclass(frozen=True)
class InterruptedTransaction(Answer):
    """A transaction that was interrupted, or is being committed.

    Attributes:
        running: its process is at work.
        action: what a recovery does: ``forward``, ``back``, ``drop``, ``leave``, or ``wait`` for a person.
    """

    transaction_id: str = ""
    running: bool = False
    owner: str = ""
    file_results: Tuple[FileResult, ...] = ()
    action: str = ""
    reason: str = ""


@dataclass(frozen=True)
class OpenTransaction(Answer):
    """A transaction over several calls that is not committed yet. Times are in RFC 3339."""

    transaction_id: str = ""
    owner: str = ""
    opened_at: str = ""
    expires_at: str = ""
    expired: bool = False
    label: Optional[str] = None
    file_results: Tuple[FileResult, ...] = ()


@dataclass(frozen=True)
class KeptContent(Answer):
    """A content of another program that a rollback kept."""

    path: str = ""
    kept_path: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Kept(Answer):
    """What was kept of one transaction. The folder is absolute."""

    transaction_id: str = ""
    folder: str = ""
    contents: Tuple[KeptContent, ...] = ()


@dataclass(frozen=True)
class Unreadable(Answer):
    """A transaction in history that cannot be read."""

    transaction_id: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Status(Answer):
    """What is interrupted, open or kept.

    Attributes:
        is_ignored: the state folder was not looked at, so that nothing is known of interrupted transactions.
    """

    is_ignored: bool = False
    interrupted: Tuple[InterruptedTransaction, ...] = ()
    open: Tuple[OpenTransaction, ...] = ()
    kept: Tuple[Kept, ...] = ()
    unreadable: Tuple[Unreadable, ...] = ()
    warnings: Tuple[str, ...] = ()


def report(answer: Mapping[str, Any]) -> Report:
    """The report in an answer, where what is reverted has one shape, whether it is one transaction or several."""
    reverts = list(answer.get("reverts_each") or [])
    if "reverts" in answer:
        one = {name: answer[name] for name in ("owner", "label") if name in answer}
        reverts.append({"transaction_id": answer["reverts"], **one})
    return replace(decode(Report, {**answer, "reverts": reverts}), raw=answer)


def logged(answer: Mapping[str, Any]) -> LoggedTransaction:
    """A transaction of the log, where what is reverted has one shape."""
    reverts = list(answer.get("reverts_each") or [])
    if "reverts" in answer:
        reverts.append(answer["reverts"])
    return replace(decode(LoggedTransaction, {**answer, "reverts": reverts}), raw=answer)
