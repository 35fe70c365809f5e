"""The request, as docs/plan.md describes it, and how it is sent."""

import json
import os
from typing import Any, List, Literal, Mapping, TypedDict

from ._errors import own
from ._options import AnyPath

IfExists = Literal["fail", "replace"]
IfMissing = Literal["fail", "skip"]
Match = Literal["exact", "tolerant"]


class Edit(TypedDict, total=False):
    """One replacement in a file."""

    old_string: str
    new_string: str
    replace_all: bool
    expected_matches: int
    near_line: int
    if_missing: IfMissing
    match: Match


class FileEntry(TypedDict, total=False):
    """What happens to one file."""

    file_path: str
    expected_hash: str
    edits: List[Edit]
    content: str
    if_exists: IfExists
    if_missing: IfMissing
    delete: bool
    symlink_to: str
    rename_to: str
    make_folder: bool
    remove_folder: bool
    mode: str
    encoding: str


class Request(TypedDict, total=False):
    """One transaction."""

    files: List[FileEntry]
    dry_run: bool
    include_content: bool
    verbose: bool
    backup: bool
    check: List[str]
    idempotency_key: str
    label: str


def encoded(request: Mapping[str, Any]) -> bytes:
    """The request as JSON in UTF-8.

    Raises:
        InvalidRequest: a value that JSON cannot represent, or a text that is not Unicode.
    """
    try:
        return json.dumps(request, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except UnicodeEncodeError as error:
        text = error.object[max(error.start - 20, 0) : error.end + 20]
        raise own("VALIDATION_FAILED", f"the request has a text that is not Unicode: {text!r}") from None
    except (TypeError, ValueError, RecursionError) as error:
        raise own("VALIDATION_FAILED", f"the request cannot be written as JSON: {error}") from None


def path_text(path: AnyPath) -> str:
    """A path for a request.

    Raises:
        InvalidRequest: it is not UTF-8, which a request cannot represent.
    """
    name = os.fspath(path)
    text = name if isinstance(name, str) else os.fsdecode(name)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise own(
            "VALIDATION_FAILED",
            f"the path {os.fsencode(text)!r} is not UTF-8, which a request cannot represent",
            "Change such a file by `run` or `replace`, which take any name.",
        ) from None
    return text
