"""Edits of many files as one transaction: all of them, or none, despite a failing edit, a full disk or a ``kill -9``.

    with txedit.transaction("path/to/project", label="greet becomes welcome") as t:
        t.edit("src/greet.py", "def greet", "def welcome")
        t.rename("src/greet.py", "src/welcome.py")
    txedit.undo(root="path/to/project")

The module runs the program ``txedit``, sends it requests over stdin, and reads its JSON. It prints nothing. Its functions
may be called from several threads. Ctrl-C and ``Options.timeout`` interrupt the program, and its answer is still read:
``KeyboardInterrupt`` has an ``Interruption`` as its argument. The program reads its environment variables (``TXEDIT_CHECK``
and others) here, too.
"""

from ._answers import (
    Check,
    CountedFiles,
    EditResult,
    FileResult,
    InterruptedTransaction,
    Kept,
    KeptContent,
    LeftOut,
    LoggedTransaction,
    OpenTransaction,
    Program,
    Replaced,
    Report,
    Reverted,
    Status,
    Unreadable,
)
from ._commands import apply, apply_patch, log, redo, replace, run, status, undo
from ._errors import (
    AlreadyExists,
    Cancelled,
    CheckFailed,
    Conflict,
    EditNotApplied,
    Interruption,
    InvalidRequest,
    IoFailed,
    LockTimeout,
    NoAnswer,
    NotAllowed,
    NotFound,
    NotRestored,
    ProgramFailed,
    ProgramMissing,
    RecoveryRequired,
    TimedOut,
    TxeditError,
    UnknownTransaction,
)
from ._options import Options
from ._program import find_program
from ._request import Edit, FileEntry, Request
from ._transaction import Transaction, transaction

__all__ = [
    "AlreadyExists",
    "Cancelled",
    "Check",
    "CheckFailed",
    "Conflict",
    "CountedFiles",
    "Edit",
    "EditNotApplied",
    "EditResult",
    "FileEntry",
    "FileResult",
    "Interruption",
    "InterruptedTransaction",
    "InvalidRequest",
    "IoFailed",
    "Kept",
    "KeptContent",
    "LeftOut",
    "LockTimeout",
    "LoggedTransaction",
    "NoAnswer",
    "NotAllowed",
    "NotFound",
    "NotRestored",
    "OpenTransaction",
    "Options",
    "Program",
    "ProgramFailed",
    "ProgramMissing",
    "RecoveryRequired",
    "Replaced",
    "Report",
    "Request",
    "Reverted",
    "Status",
    "TimedOut",
    "Transaction",
    "TxeditError",
    "UnknownTransaction",
    "Unreadable",
    "apply",
    "apply_patch",
    "find_program",
    "log",
    "redo",
    "replace",
    "run",
    "status",
    "transaction",
    "undo",
]
