"""What the program is linked with."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parent.parent.parent

#: As `cargo metadata` describes it.
Package = dict[str, Any]


def _cargo(*arguments: str) -> str:
    return subprocess.check_output(["cargo", *arguments, "--locked"], cwd=TOP, text=True)


def linked() -> list[Package]:
    """The packages that are linked into the program, itself left out: no build or test dependencies, no macros."""
    tree = _cargo("tree", "--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}")
    names = {tuple(line.split()[:2]) for line in tree.splitlines() if line}
    described = json.loads(_cargo("metadata", "--format-version", "1"))["packages"]
    packages = [one for one in described if (one["name"], f"v{one['version']}") in names and one["source"] is not None]
    assert len(packages) == len(names) - 1, "a package has no description"
    return sorted(packages, key=lambda package: (package["name"], package["version"]))


def rust() -> str:
    """The version of the compiler, which is that of its standard library."""
    return subprocess.check_output(["rustc", "-V"], text=True).split()[1]


def glibc() -> str:
    """The version of the C library that is linked statically."""
    name, version = (os.confstr("CS_GNU_LIBC_VERSION") or "none 0").split()
    assert name == "glibc", "this system has another C library"
    return version
