"""A workspace of its own for each test, with the program that `TXEDIT_BIN` names or that is installed."""

import os
import shutil
import signal
import tempfile
import time
import unittest
from typing import Dict, List

import txedit

# A shell ignores it for what it starts in the background, and that is inherited.
signal.signal(signal.SIGINT, signal.default_int_handler)

STATE = ".txedit"


class WorkspaceTest(unittest.TestCase):
    """A test with an empty workspace as `self.root`."""

    def setUp(self) -> None:
        self.root = tempfile.mkdtemp(prefix="txedit-python-")
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)

    def put(self, path: str, text: str) -> None:
        """Writes a file, as another program does."""
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8", newline="") as file:
            file.write(text)

    def text(self, path: str) -> str:
        with open(os.path.join(self.root, path), encoding="utf-8", newline="") as file:
            return file.read()

    def tree(self) -> Dict[bytes, bytes]:
        """The content of every file outside the state folder."""
        return tree(self.root)

    def commits(self) -> int:
        return len(txedit.log(root=self.root, limit=1_000))


def tree(root: str) -> Dict[bytes, bytes]:
    found = {}
    for folder, folders, files in os.walk(os.fsencode(root)):
        if os.fsencode(STATE) in folders:
            folders.remove(os.fsencode(STATE))
        for name in files:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, os.fsencode(root))] = file.read()
    return found


def edit(path: str, old: str, new: str) -> Dict[str, object]:
    """A file entry with one edit."""
    return {"file_path": path, "edits": [{"old_string": old, "new_string": new}]}


def living(group: int) -> List[int]:
    """The processes of a group that have not ended. One that has ended may still wait to be reaped by another one."""
    alive = []
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                state, _, its_group = file.read().rpartition(b") ")[2].split()[:3]
        except (OSError, ValueError):
            continue
        if int(its_group) == group and state not in (b"Z", b"X"):
            alive.append(int(name))
    return alive


def wait_until(condition: "object", what: str, seconds: float = 30) -> None:
    """Waits for a callable to be true."""
    assert callable(condition)
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            raise AssertionError(f"{what}: not within {seconds} s")
        time.sleep(0.01)
