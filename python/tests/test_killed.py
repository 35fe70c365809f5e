"""A script that renames a function across a package is killed at random moments, and never leaves a mixture.

20 times, or as often as `TXEDIT_TEST_KILLS` says; `TXEDIT_TEST_SEED` repeats a run.
"""

import os
import random
import signal
import subprocess
import sys
import time
import unittest
from collections import Counter
from typing import Dict, List

import txedit
from support import WorkspaceTest, living, wait_until
from test_program import SOURCES

EXAMPLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples", "rename_function.py")
FILES = 150
OLD, NEW = "old_name", "new_name"
#: Seconds that a commit of these files takes, about.
COMMIT = 0.1


class Killed(WorkspaceTest):
    def setUp(self) -> None:
        super().setUp()
        for index in range(FILES):
            call = f"from .{OLD} import {OLD}\n\n\ndef call_{index}():\n    return {OLD}() + {index}\n"
            self.put(f"part_{index % 7}/module_{index}.py", call + "# padding\n" * (index % 50))
        self.put(f"{OLD}.py", f"def {OLD}():\n    return 1\n")
        self.put("README", f"{OLD} is not a Python file\n")

    def start(self, old: str, new: str) -> "subprocess.Popen[bytes]":
        environment = dict(os.environ, PYTHONPATH=SOURCES, TXEDIT_BIN=txedit.find_program())
        return subprocess.Popen(
            [sys.executable, EXAMPLE, self.root, old, new],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )

    def is_committing(self) -> bool:
        return bool(os.listdir(os.path.join(self.root, ".txedit", "txn")))

    def renamed(self, tree: Dict[bytes, bytes]) -> Dict[bytes, bytes]:
        old, new = OLD.encode(), NEW.encode()
        return {
            path.replace(old, new): text.replace(old, new) if path.endswith(b".py") else text
            for path, text in tree.items()
        }

    def test_it_never_leaves_a_mixture(self) -> None:
        kills = int(os.environ.get("TXEDIT_TEST_KILLS", "20"))
        self.seed = seed = int(os.environ.get("TXEDIT_TEST_SEED", str(random.randrange(1 << 32))))
        chance = random.Random(seed)
        states = [self.tree(), self.renamed(self.tree())]
        names = [OLD, NEW]

        began = time.monotonic()
        whole = self.start(OLD, NEW)
        _, complaint = whole.communicate(timeout=120)
        self.assertEqual((whole.returncode, complaint), (0, b""))
        self.assertEqual(self.tree(), states[1])
        took = time.monotonic() - began

        seen: Counter[str] = Counter()
        done, tries = 0, 0
        while done < kills:
            tries += 1
            self.assertLess(tries, 20 * kills + 20, "most runs end before they are killed")
            now = states.index(self.tree())
            process = self.start(names[now], names[1 - now])
            if done % 2:
                # From the moment on at which the commit begins.
                while process.poll() is None and not self.is_committing():
                    time.sleep(0.001)
                time.sleep(chance.uniform(0, COMMIT))
            else:
                time.sleep(chance.uniform(0, took))
            if process.poll() is not None:
                process.communicate()
                continue
            done += 1
            # Python alone, so that the program goes on without it, or both at once.
            alone = chance.random() < 0.3
            (os.kill if alone else os.killpg)(process.pid, signal.SIGKILL)
            process.communicate()
            wait_until(lambda: not living(process.pid), "the program has ended")
            seen[self.check(states)] += 1
        told = ", ".join(f"{what}: {count}" for what, count in sorted(seen.items()))
        sys.stderr.write(f"\nkilled {kills} times (seed {seed}; a whole run takes {took:.2f} s): {told}\n")

    def check(self, states: List[Dict[bytes, bytes]]) -> str:
        """All files are old, or all are new, once an interrupted transaction is recovered by the next one that writes."""
        interrupted = txedit.status(root=self.root).interrupted
        self.put("beside.txt", "one\n")
        txedit.replace("one", "two", "beside.txt", root=self.root)
        os.remove(os.path.join(self.root, "beside.txt"))
        self.assertIn(self.tree(), states, f"TXEDIT_TEST_SEED={self.seed}")
        self.assertEqual(txedit.status(root=self.root).interrupted, ())
        return f"interrupted, then {interrupted[0].action}" if interrupted else "before or after the commit"


if __name__ == "__main__":
    unittest.main()
