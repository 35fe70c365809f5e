"""Campaigns on an engine that is there already: Ray, Dask, or an executor of ``concurrent.futures``.

    import ray, txedit.campaign
    print(txedit.campaign.run("rename", on=ray).done)

The folder of the campaign, which ``txedit campaign new`` made, and its workspaces must be at the same paths for every
worker. A worker reports an attempt in that folder before it returns, so an engine may lose what is returned, run a task
twice, or lose a worker: the reports tell what was done, and nothing is done twice. ``python -m txedit.campaign`` is what
``txedit campaign run --with ray`` starts.
"""

import argparse
import concurrent.futures
import importlib
import os
import sys
from dataclasses import dataclass
from typing import Any, Callable, Iterable, List, Optional, Sequence, Set, Tuple

from ._decode import Answer, decode
from ._options import Options, StrPath
from ._program import call

#: The tasks that an engine has at a time.
_AT_A_TIME = 256


@dataclass(frozen=True)
class FailureExample(Answer):
    """A workspace that failed, and its error."""

    workspace: str = ""
    error: str = ""


@dataclass(frozen=True)
class Failures(Answer):
    """Workspaces that failed alike."""

    error_code: str = ""
    workspaces: int = 0
    retryable: bool = False
    example: FailureExample = FailureExample()


@dataclass(frozen=True)
class CampaignStatus(Answer):
    """What was planned, and what was reported: numbers of workspaces.

    Attributes:
        complete: true if every workspace is done, undone, or has nothing to do.
        retryable: those of the failed ones that may succeed later without a change.
        unreported: a transaction may have been committed there all the same.
    """

    campaign: str = ""
    folder: str = ""
    complete: bool = False
    planned: int = 0
    done: int = 0
    nothing_to_do: int = 0
    undone: int = 0
    failed: int = 0
    retryable: int = 0
    undo_failed: int = 0
    unreported: int = 0
    files_edited: int = 0
    failures: Tuple[Failures, ...] = ()


def status(campaign: StrPath, *, options: Optional[Options] = None) -> CampaignStatus:
    """What was planned minus what was reported."""
    return decode(CampaignStatus, call(["campaign", "status", os.fspath(campaign)], root=None, options=options))


def run(
    campaign: StrPath, *, on: Any, retry: bool = False, batch: int = 1, options: Optional[Options] = None
) -> CampaignStatus:
    """Makes the change in each workspace that has no report, by tasks of an engine, and tells what was reported then.

    Args:
        on: the module ``ray``, a ``distributed.Client``, or an executor of ``concurrent.futures``.
        retry: also where it failed, and may succeed now.
        batch: the workspaces of one task.
        options: ``program`` and ``timeout`` count; what was planned counts for the rest.

    Raises:
        TxeditError: the campaign cannot be read, or worked on. What happens to a task is no error: it is unreported.
    """
    folder = os.path.abspath(campaign)
    arguments = ["campaign", "pending", folder, *(["--retryable"] if retry else [])]
    pending: List[int] = call(arguments, root=None, options=options)["workspaces"]
    batches = [pending[start : start + batch] for start in range(0, len(pending), batch)]
    submit, wait = _engine(on)
    _through((submit(_work, folder, part, options) for part in batches), wait)
    return status(folder, options=options)


def _work(folder: str, workspaces: Sequence[int], options: Optional[Options]) -> None:
    """The task: runs where the engine puts it, and reports in the folder of the campaign."""
    call(["campaign", "work", folder, *map(str, workspaces)], root=None, options=options)


def _engine(on: Any) -> Tuple[Callable[..., Any], Callable[[Set[Any]], Set[Any]]]:
    """How to submit a task, and how to wait for one of several: that returns those that are not done."""
    if hasattr(on, "remote"):
        # A task whose worker died is run once more; another failure is reported, or left unreported.
        task = on.remote(max_retries=-1)(_work)
        return lambda _, *given: task.remote(*given), lambda tasks: set(on.wait(list(tasks), num_returns=1)[1])
    if hasattr(on, "scheduler_info"):
        distributed = importlib.import_module("distributed")
        submit = lambda *task: on.submit(*task, pure=False)  # noqa: E731
        return submit, lambda tasks: set(distributed.wait(list(tasks), return_when="FIRST_COMPLETED").not_done)
    first = concurrent.futures.FIRST_COMPLETED
    return on.submit, lambda tasks: set(concurrent.futures.wait(tasks, return_when=first).not_done)


def _through(tasks: Iterable[Any], wait: Callable[[Set[Any]], Set[Any]]) -> None:
    """Waits for all of them, of which only some are submitted at a time."""
    waiting: Set[Any] = set()
    try:
        for task in tasks:
            waiting.add(task)
            if len(waiting) >= _AT_A_TIME:
                waiting = wait(waiting)
    except concurrent.futures.BrokenExecutor:
        # A worker died, and this engine takes no more: the others are unreported.
        pass
    while waiting:
        waiting = wait(waiting)


def _main() -> int:
    parser = argparse.ArgumentParser(prog="python -m txedit.campaign", description=__doc__)
    parser.add_argument("folder", help="the folder of the campaign")
    parser.add_argument("--on", choices=["ray", "dask", "threads"], required=True, help="the engine")
    parser.add_argument("--address", help="that of the cluster [default: one on this machine]")
    parser.add_argument("--workers", type=int, help="of a cluster on this machine")
    parser.add_argument("--batch", type=int, default=1, help="the workspaces of one task")
    parser.add_argument("--program", help="the program txedit [default: the one that is installed]")
    given = parser.parse_args()
    options = Options(program=given.program)
    if given.on == "ray":
        ray = importlib.import_module("ray")
        cluster = {"num_cpus": given.workers} if given.address is None else {"address": given.address}
        with ray.init(log_to_driver=False, **cluster):
            told = run(given.folder, on=ray, batch=given.batch, options=options)
    elif given.on == "dask":
        cluster = {"n_workers": given.workers} if given.address is None else {"address": given.address}
        with importlib.import_module("distributed").Client(**cluster) as client:
            told = run(given.folder, on=client, batch=given.batch, options=options)
    else:
        with concurrent.futures.ThreadPoolExecutor(given.workers) as executor:
            told = run(given.folder, on=executor, batch=given.batch, options=options)
    return 0 if told.complete else 1


if __name__ == "__main__":
    sys.exit(_main())
