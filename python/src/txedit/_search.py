"""Turns a replacement in a tree into edits of a request, so that it can be one transaction with other changes."""

import os
import re
from typing import Iterator, List, Sequence, Tuple

from ._answers import FileResult
from ._errors import own
from ._options import StrPath
from ._request import Edit

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")
# How a line begins that stands for the rest of a diff, and the line after one without a line break.
_CUT = "... "
_NO_BREAK = "\\"


def literal_edit(pattern: str, replacement: str, file: FileResult) -> Edit:
    """The edit for a text that is replaced wherever it occurs: refused if it no longer occurs as often."""
    return {"old_string": pattern, "new_string": replacement, "expected_matches": file.matches}


def paths_of(root: StrPath, found: Sequence[FileResult]) -> List[str]:
    """The paths of files relative to the root, which answers give as absolute ones."""
    start = os.fsencode(os.path.realpath(root)).decode("utf-8", "backslashreplace")
    return [os.path.relpath(file.file_path, start) for file in found]


def region_edit(root: StrPath, path: str, file: FileResult) -> Edit:
    """The edit from the first to the last line that the diff of a file changes, with as many around as make it unique.

    Raises:
        InvalidRequest: the file is not UTF-8, or its diff is not whole.
        Conflict: the file is not what the diff is of.
    """
    diff = (file.diff or "").split("\n")[:-1]
    if not diff or diff[-1].startswith(_CUT):
        raise _unfit(file, "its diff is too long")
    try:
        with open(os.path.join(root, path), encoding="utf-8", newline="") as opened:
            text = opened.read()
    except (UnicodeDecodeError, FileNotFoundError):
        raise _unfit(file, "it is not UTF-8") from None
    old = re.findall(r"[^\n]*\n|[^\n]+", text)
    new = _patched(old, diff, file)
    first, same = _equal_ends(old, new)
    while True:
        old_string, new_string = ("".join(lines[first : len(lines) - same]) for lines in (old, new))
        if (old_string and _occurs_once(text, old_string)) or first == same == 0:
            return {"old_string": old_string, "new_string": new_string}
        first, same = max(first - 1, 0), max(same - 1, 0)


def require_equal(found: Sequence[FileResult], planned: Sequence[FileResult]) -> None:
    """Refuses edits that do not give, byte for byte, what the replacement by itself gives.

    Raises:
        InvalidRequest: they do not, such as where lines with different endings are joined.
    """
    for file, result in zip(found, planned):
        if file.hash_after != result.hash_after:
            raise _unfit(file, "its lines have different endings")


def _patched(old: Sequence[str], diff: Sequence[str], file: FileResult) -> List[str]:
    """The lines after the hunks of a diff."""
    new: List[str] = []
    at = 0
    for sign, line in _lines(diff[2:]):
        hunk = _HUNK.match(line) if sign == "@" else None
        if hunk:
            start = int(hunk[1]) - (0 if hunk[2] == "0" else 1)
            new.extend(old[at:start])
            at = start
        elif sign == "+":
            new.append(line)
        else:
            if at >= len(old) or old[at] != line:
                raise own("CONCURRENT_MODIFICATION", f"{file.file_path} has changed since it was searched")
            if sign == " ":
                new.append(line)
            at += 1
    return [*new, *old[at:]]


def _lines(diff: Sequence[str]) -> Iterator[Tuple[str, str]]:
    """The sign of each line of a diff, and its text as it is in the file; a hunk is given whole."""
    for line, then in zip(diff, [*diff[1:], ""]):
        if line.startswith("@"):
            yield "@", line
        elif not line.startswith(_NO_BREAK):
            yield line[0], line[1:] + ("" if then.startswith(_NO_BREAK) else "\n")


def _equal_ends(old: Sequence[str], new: Sequence[str]) -> Tuple[int, int]:
    """The number of equal lines at the start, and of those at the end."""
    least = min(len(old), len(new))
    first = next((index for index in range(least) if old[index] != new[index]), least)
    same = next((index for index in range(least - first) if old[-1 - index] != new[-1 - index]), least - first)
    return first, same


def _occurs_once(text: str, part: str) -> bool:
    # An edit takes LF and CRLF as equal.
    text, part = text.replace("\r\n", "\n"), part.replace("\r\n", "\n")
    at = text.find(part)
    return at >= 0 and text.find(part, at + 1) < 0


def _unfit(file: FileResult, why: str) -> Exception:
    return own(
        "VALIDATION_FAILED",
        f"the matches in {file.file_path} cannot be part of a larger transaction: {why}",
        "Replace there by `txedit.replace`, as a transaction of its own.",
    )
