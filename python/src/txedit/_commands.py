"""The commands of the program, one function each.

Every function takes ``root``, the workspace, and ``options``. Without a root it is the project around the current folder,
as the program finds it. Each raises a ``TxeditError`` if it fails: then no file was changed, unless its ``outcome`` says
otherwise.
"""

import os
from typing import Any, Iterable, List, Literal, Mapping, Optional, Sequence, Union

from ._answers import LoggedTransaction, Replaced, Report, Status, logged, report
from ._decode import decode
from ._options import AnyPath, Argument, Options, StrPath
from ._program import OnOutput, call
from ._request import Match, encoded

Format = Literal["plan", "diff", "envelope", "search-replace", "workspace-edit", "ast-grep", "rustc", "ruff", "eslint"]


def apply(
    request: Mapping[str, Any],
    *,
    plan_hash: Optional[str] = None,
    again: bool = False,
    campaign: Optional[str] = None,
    dry_run: bool = False,
    root: Optional[StrPath] = None,
    options: Optional[Options] = None,
) -> Report:
    """Applies a request, which docs/plan.md describes: all of it, or nothing.

    Args:
        plan_hash: that of a dry run: refuse whatever is not exactly what it showed.
        again: do it once more if what had its ``idempotency_key`` was undone since.
        campaign: the campaign over many workspaces that this is a part of.

    Raises:
        Conflict: it is not what the dry run showed; nothing was changed.
    """
    arguments: List[Argument] = ["apply", "--format=plan", *_flags({"--dry-run": dry_run, "--again": again})]
    arguments += [] if plan_hash is None else [f"--plan-hash={plan_hash}"]
    arguments += [] if campaign is None else [f"--campaign={campaign}"]
    return report(call([*arguments, "-"], root=root, options=options, request=encoded(request)))


def apply_patch(
    text: Union[str, bytes],
    *,
    format: Optional[Format] = None,
    match: Optional[Match] = None,
    unsafe_fixes: bool = False,
    dry_run: bool = False,
    root: Optional[StrPath] = None,
    options: Optional[Options] = None,
) -> Report:
    """Applies a patch in any of the formats of docs/dialects.md: all of it, or nothing.

    Args:
        text: the patch; bytes if its files are not UTF-8.
        format: that of the patch, if it is not to be detected.
        match: how texts are compared, if not as the format's own tools do.
        unsafe_fixes: also apply fixes of a report of rustc or ruff that the tool is not sure of.
    """
    arguments: List[Argument] = ["apply"]
    arguments += [] if format is None else [f"--format={format}"]
    arguments += [] if match is None else [f"--match={match}"]
    arguments += _flags({"--unsafe-fixes": unsafe_fixes, "--dry-run": dry_run})
    sent = text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
    return report(call([*arguments, "-"], root=root, options=options, request=sent))


def replace(
    pattern: str,
    replacement: str,
    *paths: AnyPath,
    regex: bool = False,
    word: bool = False,
    globs: Iterable[str] = (),
    hidden: bool = False,
    expected_matches: Optional[int] = None,
    max_files: Optional[int] = None,
    dry_run: bool = False,
    root: Optional[StrPath] = None,
    options: Optional[Options] = None,
) -> Replaced:
    """Replaces a text in all files of a tree, as one transaction: docs/plan.md, "Replacing in a tree".

    Args:
        paths: files and folders, relative to the root if one is given, else to the current folder, and that folder
            itself if there are none. Names may be any bytes.
        regex: the pattern is a regular expression of the regex crate; ``$1`` in the replacement is a group.
        word: match whole words only.
        globs: only files that match one of them; with ``!`` in front, only those that do not.
        hidden: search hidden files, too.
        expected_matches: refuse another number of matches.
        max_files: refuse to change more files.

    Raises:
        EditNotApplied: the pattern was found nowhere, or not as often as expected.
        InvalidRequest: the pattern is invalid.
    """
    arguments: List[Argument] = ["replace"]
    arguments += _flags({"--regex": regex, "--word": word, "--hidden": hidden, "--dry-run": dry_run})
    arguments += [f"--glob={glob}" for glob in globs]
    arguments += [] if expected_matches is None else [f"--expected-matches={expected_matches}"]
    arguments += [] if max_files is None else [f"--max-files={max_files}"]
    arguments += ["--", pattern, replacement, *(os.fsencode(path) for path in paths)]
    return decode(Replaced, call(arguments, root=root, options=options))


def run(
    command: Sequence[AnyPath],
    *,
    label: Optional[str] = None,
    only: Iterable[str] = (),
    exclude: Iterable[str] = (),
    ignored: bool = False,
    keep_on_failure: bool = False,
    time_limit: Optional[float] = None,
    dry_run: bool = False,
    on_output: Optional[OnOutput] = None,
    root: Optional[StrPath] = None,
    options: Optional[Options] = None,
) -> Report:
    """Runs a program in a private view of the workspace; what it changes is one transaction, or nothing is.

    It starts in the root if one is given, else in the current folder; its input is empty.

    Args:
        command: the program and its arguments; no shell is used.
        label: a text for the log, in place of the command.
        only: commit only files that match one of these globs.
        exclude: commit no files that match one of these globs.
        ignored: commit also files that a ``.gitignore`` names.
        keep_on_failure: commit what it did even if it fails.
        time_limit: seconds that it may take.
        on_output: is given what the program prints, to stdout and stderr, as it comes. If it raises an exception, the
            call is interrupted, and that exception is raised; whether a commit had begun is then in the log.

    Raises:
        ProgramFailed: its exit status was not 0, or it took too long; nothing was changed. The end of what it printed
            is in ``context["program"]["output"]``.
        Conflict: others changed the same files meanwhile; nothing was changed.
    """
    arguments: List[Argument] = ["run"]
    arguments += _flags({"--ignored": ignored, "--keep-on-failure": keep_on_failure, "--dry-run": dry_run})
    arguments += [] if label is None else [f"--label={label}"]
    arguments += [] if time_limit is None else [f"--timeout={time_limit}"]
    arguments += [f"--only={glob}" for glob in only] + [f"--exclude={glob}" for glob in exclude]
    arguments += ["--", *(os.fsencode(word) for word in command)]
    return report(call(arguments, root=root, options=options, on_output=on_output))


def undo(
    id: Optional[str] = None,
    *,
    last: Optional[int] = None,
    since: Optional[str] = None,
    session: Optional[str] = None,
    campaign: Optional[str] = None,
    rebase: bool = False,
    dry_run: bool = False,
    root: Optional[StrPath] = None,
    options: Optional[Options] = None,
) -> Report:
    """Reverts a transaction, or several as one, by a transaction of its own.

    Args:
        id: the transaction; without one, the newest that has not been reverted and is not itself an undo.
        last: the newest so many.
        since: all that was committed after the transaction of this id, which stays, or after this time (RFC 3339).
        session: all of this session.
        campaign: all of this campaign.
        rebase: also if a file has changed since, as long as other lines changed.

    Raises:
        UnknownTransaction: there is none to undo.
        Conflict: files have changed since; they are in ``answer["conflicts"]``, and nothing was changed.
    """
    arguments: List[Argument] = ["undo", *_flags({"--rebase": rebase, "--dry-run": dry_run})]
    arguments += [] if last is None else [f"--last={last}"]
    arguments += [] if since is None else [f"--since={since}"]
    arguments += [] if session is None else [f"--session={session}"]
    arguments += [] if campaign is None else [f"--campaign={campaign}"]
    return report(call([*arguments, *_positional(id)], root=root, options=options))


def redo(
    id: Optional[str] = None,
    *,
    rebase: bool = False,
    dry_run: bool = False,
    root: Optional[StrPath] = None,
    options: Optional[Options] = None,
) -> Report:
    """Reverts an undo; without an id the newest undo that has not been reverted. It raises what ``undo`` raises."""
    arguments: List[Argument] = ["redo", *_flags({"--rebase": rebase, "--dry-run": dry_run}), *_positional(id)]
    return report(call(arguments, root=root, options=options))


def log(
    *,
    path: Optional[AnyPath] = None,
    session: Optional[str] = None,
    campaign: Optional[str] = None,
    limit: int = 20,
    root: Optional[StrPath] = None,
    options: Optional[Options] = None,
) -> List[LoggedTransaction]:
    """The committed transactions, newest first.

    Args:
        path: only those that changed this file, or a file in this folder.
        session: only those of this session.
        campaign: only those of this campaign.
        limit: at most so many.
    """
    arguments: List[Argument] = ["log", f"--limit={limit}"]
    arguments += [] if path is None else [b"--path=" + os.fsencode(path)]
    arguments += [] if session is None else [f"--session={session}"]
    arguments += [] if campaign is None else [f"--campaign={campaign}"]
    answer = call(arguments, root=root, options=options)
    return [logged(one) for one in answer.get("transactions", [])]


def status(*, root: Optional[StrPath] = None, options: Optional[Options] = None) -> Status:
    """The interrupted and open transactions, kept contents, and anything unusual. Changes nothing."""
    return decode(Status, call(["status"], root=root, options=options))


def _flags(flags: Mapping[str, bool]) -> List[Argument]:
    return [name for name, is_set in flags.items() if is_set]


def _positional(id: Optional[str]) -> List[Argument]:
    return [] if id is None else ["--", id]
