"""50 concurrent calls on 10 files from 3 clients over HTTP: `concurrent_calls.py URL ROOT`.

Each call changes its own line in two files, so that any two calls may meet in a file and each file is in ten calls.
Nothing may be lost, nothing may wait for ever, and every answer must be true.
"""

import asyncio
import pathlib
import sys
import time

from mcp import Client

URL, ROOT = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
CALLS, FILES = 50, 10


def path(file):
    return ROOT / f"f{file}.txt"


def files_of(call):
    return call % FILES, (call // FILES + call + 1 + call // 20) % FILES


async def change(client, call):
    first, second = files_of(call)
    entries = [
        {"file_path": str(path(file)), "edits": [{"old_string": f"line {call}.\n", "new_string": f"done {call}.\n"}]}
        for file in {first, second}
    ]
    for _ in range(100):
        answer = await client.call_tool("multi_edit_files", {"files": entries, "verbose": True})
        if not answer.is_error:
            return answer.structured_content
        # Locked for too long is an honest answer; it says that the same call may be made again.
        assert answer.structured_content["retryable"], answer.structured_content
        assert answer.structured_content["outcome"] == "unchanged", answer.structured_content
    raise SystemExit(f"call {call} was never done")


async def main():
    for file in range(FILES):
        path(file).write_text("".join(f"line {call}.\n" for call in range(CALLS)))
    started = time.monotonic()
    async with Client(URL, mode="legacy") as a, Client(URL, mode="2026-07-28") as b, Client(URL, mode="auto") as c:
        answers = await asyncio.gather(*(change((a, b, c)[call % 3], call) for call in range(CALLS)))
        log = await a.call_tool("list_transactions", {"limit": 1000})
    seconds = time.monotonic() - started
    for file in range(FILES):
        expected = [
            f"{'done' if file in files_of(call) else 'line'} {call}." for call in range(CALLS)
        ]
        assert path(file).read_text().splitlines() == expected, path(file)
    ids = [answer["transaction_id"] for answer in answers]
    assert len(set(ids)) == CALLS
    logged = {transaction["transaction_id"] for transaction in log.structured_content["transactions"]}
    assert logged == set(ids), "the log and the answers differ"
    # What one call left is what another found: the hashes of each file's answers make one chain.
    for file in range(FILES):
        mine = [result for answer in answers for result in answer["file_results"] if result["file_path"] == str(path(file))]
        befores, afters = {r["hash_before"] for r in mine}, {r["hash_after"] for r in mine}
        assert len(befores) == len(afters) == len(mine) and len(befores - afters) == len(afters - befores) == 1, file
    print(f"{CALLS} calls in {seconds:.2f} s, nothing lost, every answer true")


asyncio.run(asyncio.wait_for(main(), 120))
