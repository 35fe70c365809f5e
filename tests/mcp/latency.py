"""What a warm `multi_edit` of a 20 KB file costs over stdio: `latency.py BINARY CALLS`.

Beside it, in the same run and in turn with it, so that all three meet the same machine: an echo (the protocol's ping,
the price of the transport) and a bare write, fsync and rename of the same content.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

BINARY, CALLS = sys.argv[1], int(sys.argv[2])


class Server:
    def __init__(self, root):
        command = [BINARY, "--root", str(root), "mcp"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.id = 0
        client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "latency", "version": "1"}}
        self.request("initialize", client)

    def request(self, method, params):
        self.id += 1
        message = {"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert answer["id"] == self.id, answer
        return answer["result"]


def timed(work):
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1e3


def bare(path, content):
    beside = path.with_suffix(".tmp")
    with open(beside, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.rename(beside, path)


def main():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder).resolve()
        file, other = root / "a.txt", root / "b.txt"
        content = "".join(f"line {number} of a file of twenty kilobytes\n" for number in range(500))
        file.write_text(content + "counter 0\n")
        server = Server(root)
        times = {"multi_edit": [], "echo": [], "write + fsync + rename": []}

        def edit(number):
            edits = [{"old_string": f"counter {number}\n", "new_string": f"counter {number + 1}\n"}]
            answer = server.request(
                "tools/call", {"name": "multi_edit", "arguments": {"file_path": str(file), "edits": edits}}
            )
            assert not answer["isError"], answer

        warm = 20
        for number in range(warm + CALLS):
            samples = {
                "multi_edit": timed(lambda: edit(number)),
                "echo": timed(lambda: server.request("ping", {})),
                "write + fsync + rename": timed(lambda: bare(other, file.read_bytes())),
            }
            if number >= warm:
                for name, sample in samples.items():
                    times[name].append(sample)
        assert file.read_text().endswith(f"counter {warm + CALLS}\n")
        server.process.stdin.close()
        assert server.process.wait(10) == 0
    print(f"{CALLS} calls, a file of {len(content)} bytes, milliseconds:")
    for name, samples in times.items():
        samples.sort()
        p50, p99 = samples[len(samples) // 2], samples[len(samples) * 99 // 100]
        print(f"  {name:24} p50 {p50:8.2f}   p99 {p99:8.2f}")


main()
