#!/usr/bin/env python3
"""`txedit replace` beside fastmod and sd, over a generated tree.

    benches/compare/replace.py TXEDIT [--tools DIR] [--files N] [--rounds N] [--scratch DIR]

TXEDIT is a release build. The tools are looked for in DIR/bin, then in PATH:
`cargo install --locked fastmod sd --root DIR` installs them. Each round takes every case once, one after the other, each
on a fresh copy of the tree, in an order that changes from round to round; the copying and a sync stand outside the
time. After each run the tree must have the digest that Python's own replacement gives. What is printed is the median
of each case and its ratio to the first.

sd takes a list of files and no tree, so it gets the list from `find`; what it takes to make the list is part of its
time. Neither it nor fastmod syncs anything, so `txedit` runs twice: safe against power loss, and as they are.
"""

import argparse
import hashlib
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

OLD, NEW = "fetch_widget", "load_widget"


def generate(tree: Path, files: int) -> None:
    """Sources of 1 to 8 kB, about 100 in a folder; one in ten has the name that is replaced, up to five times."""
    chance = random.Random(1)
    words = [f"word_{n}" for n in range(500)]
    for index in range(files):
        folder = tree / f"dir_{index // 1000}" / f"sub_{index // 100 % 10}"
        folder.mkdir(parents=True, exist_ok=True)
        lines = [
            f"    let {chance.choice(words)} = {chance.choice(words)}({chance.randrange(10_000)});"
            for _ in range(chance.randrange(25, 200))
        ]
        if chance.random() < 0.1:
            for _ in range(chance.randrange(1, 6)):
                lines[chance.randrange(len(lines))] = f"    {OLD}({chance.choice(words)});"
        (folder / f"file_{index}.rs").write_text("\n".join(lines) + "\n")


def digest(tree: Path, replaced: bool = False) -> tuple[str, int]:
    """The digest of all names and contents, as they are or as they must become, and how many files change."""
    whole, changed = hashlib.blake2b(), 0
    for folder, folders, names in os.walk(tree):
        folders[:] = sorted(name for name in folders if name != ".txedit")
        for name in sorted(names):
            path = Path(folder) / name
            content = path.read_bytes()
            if replaced and OLD.encode() in content:
                content, changed = content.replace(OLD.encode(), NEW.encode()), changed + 1
            whole.update(f"{path.relative_to(tree)}\0{len(content)}\0".encode() + content)
    return whole.hexdigest(), changed


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("txedit", type=Path)
    arguments.add_argument("--tools", type=Path, default=Path.home() / ".cargo")
    arguments.add_argument("--files", type=int, default=20_000)
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--scratch", type=Path)
    options = arguments.parse_args()

    def tool(name: str) -> str:
        beside = options.tools / "bin" / name
        found = str(beside) if beside.exists() else shutil.which(name)
        return found or sys.exit(f"{name} is missing: cargo install --locked fastmod sd --root {options.tools}")

    txedit = str(options.txedit.resolve())
    replace = [txedit, "--root", ".", "--quiet", "replace", OLD, NEW]
    cases = {
        "fastmod": [tool("fastmod"), "--accept-all", "--fixed-strings", OLD, NEW],
        "sd": ["sh", "-c", f"find . -type f -print0 | xargs -0 {tool('sd')} --fixed-strings {OLD} {NEW}"],
        "txedit --durability process": [*replace, "--durability", "process"],
        "txedit": replace,
    }
    times: dict[str, list[float]] = {name: [] for name in cases}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TXEDIT_")}
    with tempfile.TemporaryDirectory(dir=options.scratch, prefix="replace-") as scratch:
        original, work = Path(scratch) / "original", Path(scratch) / "work"
        original.mkdir()
        generate(original, options.files)
        expected, changed = digest(original, replaced=True)
        print(f"{options.files} files, {changed} of them with matches, {options.rounds} rounds, in {scratch}")
        names = list(cases)
        for round_ in range(options.rounds):
            for name in names[round_ % len(names):] + names[: round_ % len(names)]:
                shutil.copytree(original, work)
                os.sync()
                started = time.perf_counter()
                ran = subprocess.run(cases[name], cwd=work, env=environment, capture_output=True, check=False)
                times[name].append(time.perf_counter() - started)
                if ran.returncode != 0:
                    sys.exit(f"{name}: exit status {ran.returncode}\n{ran.stderr.decode()}")
                if digest(work)[0] != expected:
                    sys.exit(f"{name}: the tree is not what it should be")
                shutil.rmtree(work)
    medians = {name: statistics.median(list_) for name, list_ in times.items()}
    print(f"{'':28} {'median':>8} {'least':>8} {'most':>8}  beside fastmod  beside sd")
    for name, list_ in times.items():
        beside = [medians[name] / medians[other] for other in ("fastmod", "sd")]
        print(f"{name:28} {medians[name]:7.3f}s {min(list_):7.3f}s {max(list_):7.3f}s  {beside[0]:14.2f}  {beside[1]:9.2f}")


if __name__ == "__main__":
    main()
