"""The options of the program that every call takes."""

import os
from dataclasses import dataclass
from typing import List, Literal, Optional, Tuple, Union

StrPath = Union[str, "os.PathLike[str]"]
AnyPath = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
Argument = Union[str, bytes]


@dataclass(frozen=True)
class Options:
    """The options of the program; ``None`` leaves one to its environment variable, or to its default.

    Attributes:
        durability: ``power`` survives a power loss, ``process`` only a killed process, and is quicker.
        swap: how new files take the place of old ones: ``auto``, the best that works, ``exchange``, ``aside`` or
            ``in-place``, which overwrites a file that is a mount point.
        lock_timeout: seconds to wait for other transactions.
        check: a command for ``sh -c`` that decides, by its exit status, whether to commit.
        check_in: where the check runs.
        check_timeout: seconds that the check may take.
        allow_checks: also run the check that a request names.
        allow_vcs: allow folders of version control to be read and written.
        allow_set_id: allow a request to set the set-user-id or set-group-id bit.
        state_dir: the state folder of this workspace and of no other (``TXEDIT_STATE_DIR``).
        through: folders that are real in a view, such as the cache of a build.
        deny: globs of files that are neither read nor written.
        session: the name of the session that the commits belong to (``TXEDIT_SESSION``).
        timeout: seconds after which the program is interrupted by SIGINT. Files are never left in between: a commit
            that has begun is finished, and the call then succeeds.
        program: the program to run, in place of the one that is found.
    """

    durability: Optional[Literal["power", "process"]] = None
    swap: Optional[Literal["auto", "exchange", "aside", "in-place"]] = None
    lock_timeout: Optional[float] = None
    check: Optional[str] = None
    check_in: Optional[Literal["auto", "view", "tree"]] = None
    check_timeout: Optional[float] = None
    allow_checks: bool = False
    allow_vcs: bool = False
    allow_set_id: bool = False
    state_dir: Optional[StrPath] = None
    through: Tuple[StrPath, ...] = ()
    deny: Tuple[str, ...] = ()
    session: Optional[str] = None
    timeout: Optional[float] = None
    program: Optional[StrPath] = None

    def arguments(self) -> List[Argument]:
        """The options as arguments of the program."""
        valued = {
            "--durability": self.durability,
            "--swap": self.swap,
            "--lock-timeout": self.lock_timeout,
            "--check": self.check,
            "--check-in": self.check_in,
            "--check-timeout": self.check_timeout,
        }
        flags = {
            "--allow-checks": self.allow_checks,
            "--allow-vcs": self.allow_vcs,
            "--allow-set-id": self.allow_set_id,
        }
        arguments: List[Argument] = [f"{name}={value}" for name, value in valued.items() if value is not None]
        arguments += [name for name, is_set in flags.items() if is_set]
        if self.state_dir is not None:
            arguments.append(b"--state-dir=" + os.fsencode(self.state_dir))
        arguments += [b"--through=" + os.fsencode(folder) for folder in self.through]
        arguments += [f"--deny={glob}" for glob in self.deny]
        return arguments
