"""What a real delegate does, with a model that says what the test wants: `scenarios.py BINARY SCRATCH`."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from stub import Stub

BINARY, SCRATCH = sys.argv[1], Path(sys.argv[2])
NASTY = "--yolo '$(touch x)' \"`id`\" {prompt} {model}\n-p\n;&|<>\\ \U0001F600"
PATCH = """Done.

```
*** Begin Patch
*** Update File: src/a.txt
@@
-one
+two
*** End Patch
```
"""

stub = Stub()
home = SCRATCH / "home"
(home / "kimi").mkdir(parents=True)
(home / "kimi/config.toml").write_text(
    f"""default_model = "scripted"
telemetry = false

[providers.stub]
type = "kimi"
base_url = "{stub.url}"
api_key = "none"

[models.scripted]
provider = "stub"
model = "scripted"
max_context_size = 262144
capabilities = ["tool_use"]
"""
)
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("TXEDIT_", "KIMI_", "XDG_"))}
ENVIRONMENT |= {
    "HOME": str(home),
    "KIMI_CODE_HOME": str(home / "kimi"),
    "KIMI_DISABLE_TELEMETRY": "1",
    "KIMI_LOOP_MAX_ATTEMPTS_PER_STEP": "2",
}


def check(condition, *told):
    if not condition:
        raise SystemExit(f"FAILED: {told}")


class Workspace:
    """A fresh project; `files` is what must be in it all along."""

    def __init__(self, name):
        self.root = SCRATCH / f"project-{name}"
        (self.root / "src").mkdir(parents=True)
        (self.root / "src/a.txt").write_text("zero\none\n")
        self.started = time.monotonic()
        self.name = name

    def run(self, *line, status=0):
        command = [BINARY, "--root", str(self.root), "--json", *line]
        ran = subprocess.run(command, env=ENVIRONMENT, cwd=self.root, capture_output=True, text=True, check=False)
        check(ran.returncode == status, self.name, ran.returncode, ran.stdout, ran.stderr)
        return json.loads(ran.stdout)

    def delegate(self, *line, status=0):
        return self.run("delegate", *line, status=status)

    def is_untouched(self):
        files = sorted(str(p.relative_to(self.root)) for p in self.root.rglob("*") if ".txedit" not in p.parts)
        check(files == ["src", "src/a.txt"], self.name, files)
        check((self.root / "src/a.txt").read_text() == "zero\none\n", self.name)

    def done(self):
        print(f"{self.name}: as it should be ({time.monotonic() - self.started:.1f} s)", flush=True)


def left_behind():
    """Processes that were started for a delegate of these tests."""
    mark = f"KIMI_CODE_HOME={home / 'kimi'}".encode()
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                if mark in (process / "environ").read_bytes():
                    found.append((process.name, (process / "cmdline").read_bytes()))
            except OSError:
                pass
    return found


def answer():
    place = Workspace("an answer")
    stub.play({"call": "Read", "with": {"path": str(place.root / "src/a.txt")}}, {"say": "It counts."})
    said = place.delegate("analyze", NASTY, "--file", "src/a.txt", "--model", "scripted")
    check(said["answer"] == "It counts.", said)
    check(stub.tools() == ["Glob", "Grep", "Read"], stub.tools())
    check(stub.user_text().endswith(f"\nTask:\n{NASTY}\n"), stub.user_text())
    check(f"\nFile: {place.root}/src/a.txt\n```\nzero\none\n```\n" in stub.user_text(), stub.user_text())
    check("zero" in stub.results()[0], stub.results())
    place.is_untouched()
    place.done()


def proposal():
    place = Workspace("a proposal")
    stub.play({"say": PATCH})
    said = place.delegate("implement", "count on", "--file", "src/a.txt")
    check(said["proposal"] == "patch" and not said["committed"], said)
    place.is_untouched()
    place_id = said["transaction_id"]
    stub.play({"say": "All there.\nVERDICT: PASS"})
    verdict = place.delegate("verify", "right?", "--transaction", place_id)
    check(verdict["answer"].endswith("VERDICT: PASS"), verdict)
    check("\n-one\n+two\n" in stub.user_text(), stub.user_text())
    place.run("commit", place_id, "--plan-hash", said["plan_hash"])
    check((place.root / "src/a.txt").read_text() == "zero\ntwo\n")
    place.done()


def too_long():
    place = Workspace("a prompt in a file")
    (place.root / "src/a.txt").write_text("zero\none\n" * 20_000)

    def read(request):
        text = next(m for m in request["messages"] if m["role"] == "user")["content"]
        text = text if isinstance(text, str) else "".join(part.get("text", "") for part in text)
        path = re.search(r"in the file (/\S+),", text).group(1)
        return {"call": "Read", "with": {"path": path, "line_offset": -3, "n_lines": 3}}

    stub.play(read, {"say": "Read."})
    said = place.delegate("analyze", "what is this?", "--file", "src/a.txt")
    check(said["prompt_in_file"] and said["answer"] == "Read.", said)
    check("what is this?" in stub.results()[0], stub.results())
    place.done()


def rate_limit():
    place = Workspace("a rate limit")
    stub.play({"status": 429, "error": "rate limit reached"})
    said = place.delegate("implement", "count on", "--apply", "--file", "src/a.txt", status=5)
    check(said["error_code"] == "DELEGATE_FAILED" and "limits the rate" in said["error"], said)
    check("rate limit reached" in said["error"], said)
    place.is_untouched()
    place.done()


def no_model():
    place = Workspace("a model that it does not know")
    said = place.delegate("analyze", "what?", "--model", "-x {prompt}", status=5)
    check(said["error_code"] == "DELEGATE_FAILED" and "correct `model`" in said["error"], said)
    check('"-x {prompt}"' in said["error"], said)
    place.done()


def hang():
    place = Workspace("a hang")
    stub.play({"hang": True})
    said = place.delegate("implement", "count on", "--apply", "--file", "src/a.txt", "--timeout", "15", status=5)
    check(said["error_code"] == "TIMEOUT" and said["retryable"], said)
    check(len(stub.requests) > 0, "it hung before it asked the model: allow it more time")
    check(left_behind() == [], left_behind())
    place.is_untouched()
    place.done()


def writer():
    for kind in ["analyze", "verify", "implement", "refactor"]:
        place = Workspace(f"a model that writes by itself, {kind}")
        inside, new = str(place.root / "src/a.txt"), str(place.root / "src/new.txt")
        stub.play(
            {"call": "Write", "with": {"path": inside, "content": "evil"}},
            {"call": "Write", "with": {"path": new, "content": "evil"}},
            {"call": "Read", "with": {"path": inside}},
            {"call": "Edit", "with": {"path": inside, "old_string": "one", "new_string": "evil"}},
            {"call": "Bash", "with": {"command": f"echo evil >{inside}; echo evil >{new}"}},
            {"call": "Agent", "with": {"description": "d", "prompt": "p", "subagent_type": "coder"}},
            {"say": "I wrote it."},
        )
        said = place.delegate(kind, "count on", "--file", "src/a.txt")
        check(said["answer"] == "I wrote it." and "proposal" not in said, said)
        check(len(stub.results()) == 6, stub.results())
        place.is_untouched()
        place.done()


for scenario in [answer, proposal, too_long, rate_limit, no_model, hang, writer]:
    scenario()
check(left_behind() == [], left_behind())
