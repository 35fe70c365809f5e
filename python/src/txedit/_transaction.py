"""A transaction as a ``with`` block."""

import os
from dataclasses import replace
from types import TracebackType
from typing import Dict, Iterable, List, Optional, Type

from . import _commands
from ._answers import Replaced, Report
from ._errors import own
from ._options import AnyPath, Options, StrPath
from ._request import Edit, FileEntry, IfExists, Match, Request, path_text
from ._search import literal_edit, paths_of, region_edit, require_equal

#: The fields of a file entry beside which there are neither edits nor another path.
_WHOLE = frozenset({"content", "delete", "symlink_to", "make_folder", "remove_folder"})


class Transaction:
    """Changes of files that are committed together at the end of a ``with`` block: all of them, or none.

    Until then nothing is written, no lock is held, and no file of the request is read, except by ``replace`` and
    ``preview``. An exception in the block discards them all. Paths are relative to the root, or absolute and within it.
    It is for one thread; another one in the block is a transaction by itself.

    Attributes:
        request: what is sent, as docs/plan.md describes it.
    """

    def __init__(self, root: StrPath, *, label: Optional[str] = None, options: Optional[Options] = None) -> None:
        self.root: str = os.path.abspath(root)
        self._real_root = os.path.realpath(root)
        self.options = options
        self.request: Request = {"files": []}
        if label is not None:
            self.request["label"] = label
        # The latest entry of each path, and of each path to which a file is moved.
        self._by_path: Dict[str, FileEntry] = {}
        self._by_new_path: Dict[str, FileEntry] = {}
        self._report: Optional[Report] = None
        self._state = "new"

    def __enter__(self) -> "Transaction":
        if self._state != "new":
            raise RuntimeError(f"this transaction is {self._state}: make another one")
        self._state = "open"
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        value: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        is_open, self._state = self._state == "open", "discarded"
        if kind is not None or not is_open:
            return
        self._report = _commands.apply(self.request, root=self.root, options=self.options) if self._files else Report()
        self._state = "committed"

    @property
    def report(self) -> Report:
        """What was committed.

        Raises:
            RuntimeError: it is not committed.
        """
        if self._report is None:
            raise RuntimeError(f"this transaction is {self._state}: it has no report before the end of its block")
        return self._report

    def discard(self) -> None:
        """Discards all changes; at the end of the block nothing is committed."""
        self._require_open()
        self._state = "discarded"

    def preview(self) -> Report:
        """What a commit would do now, with diffs. Changes nothing.

        Raises:
            TxeditError: the commit would fail, for this reason.
        """
        self._require_open()
        if not self._files:
            return Report(dry_run=True)
        return _commands.apply(self.request, dry_run=True, root=self.root, options=self.options)

    def edit(
        self,
        path: AnyPath,
        old: str,
        new: str,
        *,
        replace_all: bool = False,
        expected_matches: Optional[int] = None,
        near_line: Optional[int] = None,
        match: Optional[Match] = None,
        encoding: Optional[str] = None,
        expected_hash: Optional[str] = None,
    ) -> None:
        """Replaces a text that occurs exactly once; with ``replace_all`` at least once, or ``expected_matches`` times.

        Edits of one file are applied in order, each to the result of the one before. A file that this transaction
        renames is named by its old or its new path. That the text does not match is found by the commit, or a preview.

        Args:
            near_line: if there are several matches, the error names those nearest to this line, from 1.
            encoding: that of the file, if it is neither UTF-8 nor UTF-16 with its mark.
            expected_hash: the BLAKE3 of the content that was read, in hex; any other is a ``Conflict``.
        """
        edit: Edit = {"old_string": old, "new_string": new}
        if replace_all:
            edit["replace_all"] = True
        if expected_matches is not None:
            edit["expected_matches"] = expected_matches
        if near_line is not None:
            edit["near_line"] = near_line
        if match is not None:
            edit["match"] = match
        entry = self._edited(path_text(path))
        entry.setdefault("edits", []).append(edit)
        if encoding is not None:
            entry["encoding"] = encoding
        if expected_hash is not None:
            entry["expected_hash"] = expected_hash

    def create(self, path: AnyPath, text: str, *, encoding: Optional[str] = None, mode: Optional[int] = None) -> None:
        """Makes a file, and the folders that it needs. The commit fails with ``AlreadyExists`` if it is there."""
        self._content(path, text, "fail", encoding, mode)

    def write(self, path: AnyPath, text: str, *, encoding: Optional[str] = None, mode: Optional[int] = None) -> None:
        """Writes the whole content of a file, whether it is there or not."""
        self._content(path, text, "replace", encoding, mode)

    def delete(self, path: AnyPath) -> None:
        """Deletes a file, or a symlink itself."""
        self._add({"file_path": path_text(path), "delete": True})

    def rename(self, old: AnyPath, new: AnyPath, *, if_exists: IfExists = "fail") -> None:
        """Moves a file, with the edits of it, and makes the folders that it needs.

        ``old`` is its path before the transaction: ``rename("a", "b")`` and ``rename("b", "a")`` exchange two files.
        """
        self._require_open()
        source, target = path_text(old), path_text(new)
        entry = self._by_path.get(self._key(source))
        if entry is None or "rename_to" in entry or not _WHOLE.isdisjoint(entry):
            entry = {"file_path": source}
            self._add(entry)
        entry["rename_to"] = target
        self._by_new_path[self._key(target)] = entry
        if if_exists != "fail":
            entry["if_exists"] = if_exists

    def set_mode(self, path: AnyPath, mode: int) -> None:
        """Sets the permission bits of a file, such as ``0o755``, in addition to its other changes."""
        self._require_open()
        name = path_text(path)
        entry = self._entry(name)
        if entry is None:
            entry = {"file_path": name}
            self._add(entry)
        entry["mode"] = _octal(mode)

    def symlink(self, path: AnyPath, target: AnyPath, *, if_exists: IfExists = "fail") -> None:
        """Makes a symlink that leads to ``target``, which may be anything."""
        self._add({"file_path": path_text(path), "symlink_to": path_text(target), "if_exists": if_exists})

    def make_folder(self, path: AnyPath, *, mode: Optional[int] = None) -> None:
        """Makes an empty folder, and those above it that are missing."""
        entry: FileEntry = {"file_path": path_text(path), "make_folder": True}
        if mode is not None:
            entry["mode"] = _octal(mode)
        self._add(entry)

    def remove_folder(self, path: AnyPath) -> None:
        """Removes a folder, which the rest of the transaction leaves empty."""
        self._add({"file_path": path_text(path), "remove_folder": True})

    def replace(
        self,
        pattern: str,
        replacement: str,
        *paths: AnyPath,
        regex: bool = False,
        word: bool = False,
        globs: Iterable[str] = (),
        hidden: bool = False,
        expected_matches: Optional[int] = None,
        max_files: Optional[int] = None,
    ) -> Replaced:
        """Replaces a text in all files beneath the root, or in ``paths``, as ``txedit.replace`` does.

        The files are searched now, as they are on the disk, and what is found becomes edits; later edits of the same
        files see their result. The commit is refused (``EditNotApplied``) if the text that is replaced is no longer
        there. In the answer, paths are relative to the root.

        Raises:
            EditNotApplied: the pattern was found nowhere, or not as often as expected.
            InvalidRequest: the transaction has a change of a file that was found already: call ``replace`` before it.
                Or, with ``word``, ``regex`` or a line break in one of the texts, a file is not UTF-8, its diff is
                longer than 64 KiB, or lines with different endings are joined or removed.
        """
        self._require_open()
        found = _commands.replace(
            pattern,
            replacement,
            *paths,
            regex=regex,
            word=word,
            globs=globs,
            hidden=hidden,
            expected_matches=expected_matches,
            max_files=max_files,
            dry_run=True,
            root=self.root,
            options=self.options,
        )
        by_text = not regex and not word and not any(end in pattern + replacement for end in "\r\n")
        entries: List[FileEntry] = []
        paths_found = paths_of(self.root, found.file_results)
        for path, file in zip(paths_found, found.file_results):
            if self._key(path) in self._by_path or self._key(path) in self._by_new_path:
                raise own("DUPLICATE_FILE_PATH", f"{path} has a change already: call replace before it")
            edit = literal_edit(pattern, replacement, file) if by_text else region_edit(self.root, path, file)
            entries.append({"file_path": path, "edits": [edit]})
        if entries and not by_text:
            planned = _commands.apply({"files": entries}, dry_run=True, root=self.root, options=self.options)
            require_equal(found.file_results, planned.file_results)
        for entry in entries:
            self._add(entry)
        files = tuple(replace(file, file_path=path) for path, file in zip(paths_found, found.file_results))
        return replace(found, file_results=files)

    @property
    def _files(self) -> List[FileEntry]:
        return self.request["files"]

    def _require_open(self) -> None:
        if self._state != "open":
            raise RuntimeError(f"this transaction is {self._state}: changes belong into its with block")

    def _add(self, entry: FileEntry) -> None:
        self._require_open()
        key = self._key(entry["file_path"])
        earlier = self._by_path.get(key)
        if earlier is not None and set(earlier) == {"file_path", "mode"}:
            # A mode comes in addition to what is said of the file later.
            earlier.update(entry)
            return
        self._files.append(entry)
        self._by_path[key] = entry

    def _content(
        self, path: AnyPath, text: str, if_exists: IfExists, encoding: Optional[str], mode: Optional[int]
    ) -> None:
        entry: FileEntry = {"file_path": path_text(path), "content": text, "if_exists": if_exists}
        if encoding is not None:
            entry["encoding"] = encoding
        if mode is not None:
            entry["mode"] = _octal(mode)
        self._add(entry)

    def _entry(self, path: str) -> Optional[FileEntry]:
        key = self._key(path)
        return self._by_path.get(key) or self._by_new_path.get(key)

    def _edited(self, path: str) -> FileEntry:
        """The entry that takes an edit of a path."""
        self._require_open()
        entry = self._entry(path)
        if entry is None or not _WHOLE.isdisjoint(entry):
            entry = {"file_path": path}
            self._add(entry)
        return entry

    def _key(self, path: str) -> str:
        """One name for a path, whether it is absolute, or relative to the root."""
        if os.pardir in path.split(os.sep):
            # Where it leads depends on symlinks, and the program refuses it.
            return path
        full = os.path.normpath(os.path.join(self.root, path))
        within = os.path.join(self._real_root, "")
        return os.path.join(self.root, full[len(within) :]) if full.startswith(within) else full


def transaction(root: StrPath, *, label: Optional[str] = None, options: Optional[Options] = None) -> Transaction:
    """A transaction for a ``with`` block.

    Args:
        root: the workspace; nothing outside it is read or written.
        label: a text for the log.

    Raises:
        TxeditError: from the end of the block, if the commit failed. Then no file was changed, unless its ``outcome``
            says otherwise.
    """
    return Transaction(root, label=label, options=options)


def _octal(mode: int) -> str:
    return format(mode, "o")
