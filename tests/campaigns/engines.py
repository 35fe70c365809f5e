"""One campaign on each engine, with a worker killed in the middle: `engines.py FOLDER ENGINE…`.

Every edit makes its text longer, so a file that is edited twice is told from one that is edited once.
"""

import concurrent.futures
import glob
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from typing import Any, Callable, Dict, List, Optional

import txedit.campaign

REPOSITORIES, WORKERS = 300, 3
FILES = ("src/a.py", "src/b.py", "c.txt")
OLD, NEW = "greet()\n", "greet() # greet()\n"
#: A worker has as many repositories at a time; it is killed in the middle of them.
BATCH = 4


def call(*arguments: str) -> Dict[str, Any]:
    ran = subprocess.run(["txedit", "--json", *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    answer: Dict[str, Any] = json.loads(ran.stdout)
    return answer


class Scene:
    """Repositories, and a campaign in them."""

    def __init__(self, folder: str) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        self.repositories = [os.path.join(folder, f"repos/{number:03}") for number in range(REPOSITORIES)]
        for repository in self.repositories:
            os.makedirs(os.path.join(repository, ".git"))
            os.makedirs(os.path.join(repository, "src"))
            self.write(repository, ".git/HEAD", "")
            for name in FILES:
                self.write(repository, name, OLD)
        edits = [{"old_string": OLD, "new_string": NEW}]
        plan = {"files": [{"file_path": name, "edits": edits} for name in FILES]}
        self.write(folder, "plan.json", json.dumps(plan))
        self.campaign = os.path.join(folder, "campaign")
        pattern = os.path.join(folder, "repos/*")
        call("campaign", "new", self.campaign, "--workspaces", pattern, "--plan", os.path.join(folder, "plan.json"))

    def write(self, folder: str, name: str, text: str) -> None:
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def wrong(self, expected: str) -> int:
        """The number of repositories that are not whole, old or new, as expected."""
        return sum(1 for repository in self.repositories if self.contents(repository) != {expected})

    def twice(self) -> int:
        return sum(1 for repository in self.repositories if self.contents(repository) - {OLD, NEW})

    def contents(self, repository: str) -> set:
        texts = set()
        for name in FILES:
            with open(os.path.join(repository, name), encoding="utf-8") as file:
                texts.add(file.read())
        return texts

    def reported(self) -> int:
        lines = 0
        for path in glob.glob(os.path.join(self.campaign, "reports/*")):
            with open(path, "rb") as file:
                lines += file.read().count(b"\n")
        return lines


def killed_in_the_middle(scene: Scene, kill: Callable[[], Optional[int]], work: Callable[[], object]) -> int:
    """Does the work, kills a worker once a third is reported, and returns its process."""
    killed: List[int] = []

    def watch() -> None:
        until = time.monotonic() + 120
        while time.monotonic() < until and not killed:
            if scene.reported() >= REPOSITORIES // 3:
                process = kill()
                if process is not None:
                    killed.append(process)
            time.sleep(0.005)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    work()
    watcher.join(5)
    assert killed, "no worker was killed"
    return killed[0]


def kill_one(pattern: str) -> Optional[int]:
    """Kills a process whose command line has this in it."""
    found = subprocess.run(["pgrep", "-f", pattern], stdout=subprocess.PIPE, text=True).stdout.split()
    processes = [int(process) for process in found if int(process) != os.getpid()]
    if not processes:
        return None
    process = random.choice(processes)
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return None
    return process


def by_processes(scene: Scene) -> None:
    """`txedit campaign run --jobs`; one of the processes that it starts is killed."""
    child = "txedit --root .*--json --quiet apply"
    killed_in_the_middle(
        scene, lambda: kill_one(child), lambda: call("campaign", "run", scene.campaign, "--jobs", str(WORKERS))
    )


def by_parallel(scene: Scene) -> None:
    engine = f"parallel -j {WORKERS}"
    killed_in_the_middle(
        scene,
        lambda: kill_one("txedit campaign work"),
        lambda: call("campaign", "run", scene.campaign, "--with", engine),
    )


def by_executor(scene: Scene) -> None:
    with concurrent.futures.ProcessPoolExecutor(WORKERS) as pool:

        def kill() -> Optional[int]:
            process = random.choice(list(pool._processes))
            os.kill(process, signal.SIGKILL)
            return process

        killed_in_the_middle(scene, kill, lambda: txedit.campaign.run(scene.campaign, on=pool, batch=BATCH))


def by_ray(scene: Scene) -> None:
    import ray

    with ray.init(num_cpus=WORKERS, log_to_driver=False, include_dashboard=False):
        killed_in_the_middle(
            scene, lambda: kill_one("ray::_work"), lambda: txedit.campaign.run(scene.campaign, on=ray, batch=BATCH)
        )


def by_dask(scene: Scene) -> None:
    import distributed

    with distributed.LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            processes = list(client.run(os.getpid).values())

            def kill() -> Optional[int]:
                os.kill(processes[0], signal.SIGKILL)
                return processes[0]

            killed_in_the_middle(scene, kill, lambda: txedit.campaign.run(scene.campaign, on=client, batch=BATCH))


def by_slurm(scene: Scene) -> None:
    with Slurm(os.path.join(os.path.dirname(scene.campaign), "slurm")) as slurm:
        os.environ["SLURM_CONF"] = slurm.conf
        # A worker that is killed is the shard of one node.
        killed_in_the_middle(
            scene,
            lambda: kill_one("txedit campaign shard"),
            lambda: call("campaign", "run", scene.campaign, "--with", "slurm", "--shards", str(WORKERS)),
        )


class Slurm:
    """A cluster of three nodes on this machine."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.conf = os.path.join(folder, "slurm.conf")
        self.daemons: List["subprocess.Popen[bytes]"] = []

    def __enter__(self) -> "Slurm":
        nodes = range(1, WORKERS + 1)
        os.makedirs(os.path.join(self.folder, "state"))
        lines = [
            "ClusterName=campaign",
            "SlurmctldHost=localhost",
            "AuthType=auth/munge",
            "SlurmUser=root",
            "SlurmdUser=root",
            f"StateSaveLocation={self.folder}/state",
            f"SlurmdSpoolDir={self.folder}/spool-%n",
            f"SlurmctldPidFile={self.folder}/ctld.pid",
            f"SlurmdPidFile={self.folder}/%n.pid",
            "ProctrackType=proctrack/linuxproc",
            "TaskPlugin=task/none",
            "SelectType=select/cons_tres",
            "SlurmctldPort=16817",
            "MpiDefault=none",
        ]
        lines += [f"NodeName=n{n} NodeHostname=localhost NodeAddr=127.0.0.1 Port={17000 + n} CPUs=1" for n in nodes]
        lines += [f"PartitionName=all Nodes={','.join(f'n{n}' for n in nodes)} Default=YES State=UP OverSubscribe=YES"]
        with open(self.conf, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        environment = dict(os.environ, SLURM_CONF=self.conf, PATH=f"/usr/sbin:{os.environ['PATH']}")
        commands = [["slurmctld", "-D"], *(["slurmd", "-D", "-N", f"n{n}"] for n in nodes)]
        for n in nodes:
            os.makedirs(os.path.join(self.folder, f"spool-n{n}"))
        for command in commands:
            self.daemons.append(subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL))
            time.sleep(1)
        until = time.monotonic() + 30
        while time.monotonic() < until:
            told = subprocess.run(["sinfo", "-h", "-o", "%D %t"], env=environment, stdout=subprocess.PIPE, text=True)
            if told.stdout.strip() == f"{WORKERS} idle":
                return self
            time.sleep(0.5)
        raise AssertionError(f"the nodes did not come up: {told.stdout}")

    def __exit__(self, *_: object) -> None:
        for daemon in reversed(self.daemons):
            daemon.terminate()
            daemon.wait()


ENGINES: Dict[str, Callable[[Scene], None]] = {
    "processes": by_processes,
    "executor": by_executor,
    "parallel": by_parallel,
    "ray": by_ray,
    "dask": by_dask,
    "slurm": by_slurm,
}


def main(folder: str, engines: List[str]) -> int:
    rows, is_good = [], True
    for engine in engines:
        scene = Scene(os.path.join(folder, "scene"))
        started = time.monotonic()
        ENGINES[engine](scene)
        seconds = time.monotonic() - started
        before = call("campaign", "status", scene.campaign)
        # A killed process has not told whether it is done: only its key tells the next one.
        half = sum(1 for repository in scene.repositories if len(scene.contents(repository)) > 1)
        for _ in range(3):
            after = call("campaign", "retry", scene.campaign, "--jobs", str(WORKERS))
            if after["complete"]:
                break
        wrong, twice = scene.wrong(NEW), scene.twice()
        undone = call("campaign", "undo", scene.campaign, "--jobs", str(WORKERS))
        left = scene.wrong(OLD)
        row = [engine, f"{seconds:.1f}", before["done"], before["failed"], before["unreported"], half]
        row += [after["attempts"], after["unreported"], wrong, twice, left]
        rows.append("| " + " | ".join(str(cell) for cell in row) + " |")
        print(rows[-1], flush=True)
        good = after["complete"] and after["done"] == REPOSITORIES and undone["undone"] == REPOSITORIES
        is_good = is_good and good and (wrong, twice, left) == (0, 0, 0)
    heads = ["engine", "seconds", "done", "failed", "unreported", "half", "attempts after retry", "unreported then"]
    heads += ["wrong", "twice", "wrong after undo"]
    print("| " + " | ".join(heads) + " |", *rows, sep="\n")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
