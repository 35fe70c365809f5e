"""Finds the program, runs it, and reads its answer."""

import errno
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from typing import IO, Any, Callable, Dict, List, Mapping, Optional, Sequence

from ._errors import Cancelled, Interruption, TimedOut, error_for, own
from ._options import Argument, Options, StrPath

#: Takes what a program prints, piece by piece.
OnOutput = Callable[[bytes], None]

_NAME = "txedit"
#: The last bytes of what the program printed that an answer repeats.
_TAIL = 8_192


def find_program() -> str:
    """The path of the program: that of ``TXEDIT_BIN``, else the one that was installed with this module, else the one
    on ``PATH``.

    Raises:
        ProgramMissing: there is none.
    """
    named = os.environ.get("TXEDIT_BIN")
    if named:
        found = shutil.which(named)
        if found is None:
            raise own("PROGRAM_MISSING", f"TXEDIT_BIN names {named}, which is no program")
        return os.path.abspath(found)
    module = os.path.dirname(os.path.abspath(__file__))
    folders = [
        sysconfig.get_path("scripts"),
        os.path.join(sys.prefix, "bin"),
        # `pip install --user`, and `pip install --target`.
        sysconfig.get_path("scripts", scheme=f"{os.name}_user"),
        os.path.join(os.path.dirname(module), "bin"),
    ]
    for folder in folders:
        found = shutil.which(_NAME, path=folder)
        if found is not None:
            return found
    found = shutil.which(_NAME)
    if found is None:
        raise own(
            "PROGRAM_MISSING",
            f"the program {_NAME} is neither beside this module nor on PATH",
            "Install the package for this platform, or name the program in TXEDIT_BIN.",
        )
    return os.path.abspath(found)


def call(
    arguments: Sequence[Argument],
    *,
    root: Optional[StrPath],
    options: Optional[Options],
    request: Optional[bytes] = None,
    on_output: Optional[OnOutput] = None,
) -> Dict[str, Any]:
    """Runs one command of the program, and returns its answer. Prints nothing.

    The request is whole in a nameless file before the program starts: if this process is killed while it sends one, no
    part of it is applied. The current folder of the program is the root, if one is given.

    Raises:
        TxeditError: a failed answer, or none.
        KeyboardInterrupt: Ctrl-C; the program has ended, and the argument is an ``Interruption``.
    """
    options = options or Options()
    command = _command(arguments, root, options)
    environment = dict(os.environ, **({} if options.session is None else {"TXEDIT_SESSION": options.session}))
    folder = None if root is None or not os.path.isdir(root) else os.path.abspath(root)
    with _stdin(request) as stdin:
        try:
            process = subprocess.Popen(
                command,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=folder,
                env=environment,
            )
        except ValueError as error:
            raise own("VALIDATION_FAILED", f"an argument cannot be given to a program: {error}") from None
        except OSError as error:
            raise _not_started(error, command) from error
    with process:
        return _answer(_Conversation(process, on_output), options.timeout)


def _command(arguments: Sequence[Argument], root: Optional[StrPath], options: Options) -> List[bytes]:
    program = find_program() if options.program is None else os.path.abspath(options.program)
    own_arguments: List[Argument] = [program, "--json", "--quiet", *options.arguments()]
    if root is not None:
        own_arguments += ["--root", os.fsencode(os.path.abspath(root))]
    try:
        return [os.fsencode(argument) for argument in (*own_arguments, *arguments)]
    except UnicodeEncodeError as error:
        raise own("VALIDATION_FAILED", f"an argument is no text: {error}") from None


def _stdin(request: Optional[bytes]) -> IO[bytes]:
    if request is None:
        return open(os.devnull, "rb")
    try:
        file = tempfile.TemporaryFile()
        try:
            file.write(request)
            file.seek(0)
        except BaseException:
            file.close()
            raise
    except OSError as error:
        raise own("WRITE_FAILED", f"the request cannot be written to a temporary file: {error}") from error
    return file


def _not_started(error: OSError, command: Sequence[bytes]) -> Exception:
    if error.errno == errno.E2BIG:
        return own(
            "REQUEST_TOO_LARGE",
            "the arguments are longer than those of a program may be",
            "Name fewer paths, or a folder; send long texts as a request.",
        )
    return own("PROGRAM_MISSING", f"{os.fsdecode(command[0])} cannot be started: {error.strerror}")


class _Conversation:
    """What the program prints, until it ends."""

    def __init__(self, process: "subprocess.Popen[bytes]", on_output: Optional[OnOutput]) -> None:
        assert process.stdout is not None and process.stderr is not None
        self.process = process
        self.on_output = on_output
        self.stdout = bytearray()
        self.stderr = bytearray()
        self._open = selectors.DefaultSelector()
        self._open.register(process.stdout, selectors.EVENT_READ, self.stdout)
        self._open.register(process.stderr, selectors.EVENT_READ, self.stderr)

    def read(self, until: Optional[float]) -> bool:
        """Reads to the end; false if the time is over before."""
        while self._open.get_map():
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                return False
            for key, _ in self._open.select(left):
                piece = os.read(key.fd, 1 << 16)
                if not piece:
                    self._open.unregister(key.fileobj)
                    continue
                key.data.extend(piece)
                if key.data is self.stderr:
                    # Without an answer in it, only the end of what was printed is of use.
                    del self.stderr[:-_TAIL]
                    if self.on_output is not None:
                        self.on_output(piece)
        self._open.close()
        return True

    def interrupt(self) -> None:
        """Interrupts the program, and reads its answer. What it prints is no longer passed on."""
        self.on_output = None
        self.process.send_signal(signal.SIGINT)
        self.read(None)


def _answer(conversation: _Conversation, timeout: Optional[float]) -> Dict[str, Any]:
    try:
        is_in_time = conversation.read(None if timeout is None else time.monotonic() + timeout)
    except KeyboardInterrupt:
        try:
            conversation.interrupt()
            answer = _parsed(conversation, conversation.process.wait())
        except KeyboardInterrupt:
            # A second one: the program ends by itself, and what it did is in the log.
            answer = None
        raise KeyboardInterrupt(Interruption(answer or {})) from None
    except BaseException:
        conversation.interrupt()
        raise
    if not is_in_time:
        conversation.interrupt()
    status = conversation.process.wait()
    answer = _parsed(conversation, status)
    if answer is None:
        raise _no_answer(conversation, status)
    _add_output(answer, conversation)
    if answer.get("success"):
        return answer
    error = error_for(answer, status)
    if isinstance(error, Cancelled) and not is_in_time:
        raise TimedOut(answer, status)
    raise error


def _parsed(conversation: _Conversation, status: int) -> Optional[Dict[str, Any]]:
    if status == -signal.SIGINT:
        # Calls that change files watch signals before they do, and then end with an answer.
        return dict(own("CANCELLED", "the program was interrupted before it changed a file").answer)
    try:
        answer = json.loads(conversation.stdout.decode("utf-8"))
    except ValueError:
        return None
    return answer if isinstance(answer, dict) else None


def _add_output(answer: Dict[str, Any], conversation: _Conversation) -> None:
    """Adds the end of what the program of ``run`` printed, which the answer does not repeat."""
    ran = answer.get("program") or (answer.get("context") or {}).get("program")
    if isinstance(ran, dict) and not ran.get("output"):
        ran["output"] = conversation.stderr.decode("utf-8", "replace")


def _no_answer(conversation: _Conversation, status: int) -> Exception:
    how = f"by signal {-status}" if status < 0 else f"with status {status}"
    said = conversation.stderr.decode("utf-8", "replace").strip()
    message = f"the program ended {how}, without an answer{': ' + said if said else ''}"
    answer: Mapping[str, Any] = {
        "success": False,
        "error_code": "NO_ANSWER",
        "error": message,
        "recovery_hint": "See `txedit status`: what was interrupted is recovered by the next call that writes.",
        "outcome": "unknown",
    }
    return error_for(answer, status)
