"""What a careful script does: each file on its own, safe against power loss, nothing across files."""

import json
import os
import sys

job = json.load(open(sys.argv[1], encoding="utf-8"))
for path in job["files"]:
    with open(path, encoding="utf-8", newline="") as file:
        content = file.read()
    for old, new in job["pairs"]:
        content = content.replace(old, new)
    with open(path + ".tmp", "w", encoding="utf-8", newline="") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".tmp", path)
    folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
