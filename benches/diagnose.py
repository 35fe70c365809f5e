#!/usr/bin/env python3
"""How long an edit that does not match takes to be explained, in a large file: `benches/diagnose.py TXEDIT [MEGABYTES]`.

TXEDIT is a release build. The time is that of the whole program: it reads the file, hashes it, looks for the text, and
says what stands there instead. Each case must name its cause, where it has one, and the line.
"""

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 5


def main() -> None:
    txedit, megabytes = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100
    chance = random.Random(1)
    words = [f"word_{n}" for n in range(2_000)]
    lines = [f"\tlet {chance.choice(words)} = {chance.choice(words)}({n});" for n in range(200_000)]
    block = "\n".join(lines) + "\n"
    wanted = "fn the_one(name: &str) {\n\tprintln!(“{name}”);\n\tvec![1, 2, 3]\n}\n"
    half = block * (megabytes * 500_000 // len(block) + 1)
    line = half.count("\n") + 1
    cases = {
        "tabs against spaces": (wanted.replace("\t", "    "), "tabs_against_spaces", line),
        "white space": ("vec![1,2,3]", "white_space", line + 2),
        "look-alikes": ('println!("{name}");', "look_alike", line + 1),
        "line numbers": ("7\tfn the_one(name: &str) {\n8\t\tprintln!(“{name}”);", "line_numbers", line),
        "a letter is wrong": ("fn the_onne(nane: &str) {", None, line),
        "frequent lines": ("\n".join(lines[9:12] + ["", lines[5]]), None, None),
        "nothing is like it": ("zzz qqq xxx", None, None),
        "too many matches": ("let ", None, None),
    }
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TXEDIT_")}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "large.rs"
        file.write_text(half + wanted + half)
        size = file.stat().st_size
        print(f"{size:,} bytes, {ROUNDS} rounds")
        for name, (old, cause, line) in cases.items():
            times = []
            for _ in range(ROUNDS):
                command = [txedit, "--root", folder, "--json", "edit", str(file), "--old", old, "--new", "fresh"]
                started = time.perf_counter()
                ran = subprocess.run(command, env=environment, capture_output=True, check=False)
                times.append(time.perf_counter() - started)
                context = json.loads(ran.stdout)["context"]
                told = (ran.returncode, context.get("cause"), context.get("line") if line else None)
                if told != (1, cause, line):
                    sys.exit(f"{name}: {told}, not {(1, cause, line)}")
            print(f"{name:22} median {statistics.median(times):6.3f} s, most {max(times):6.3f} s")


if __name__ == "__main__":
    main()
