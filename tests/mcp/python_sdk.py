"""The official Python SDK: `python_sdk.py ERA stdio|http BINARY|URL ROOT`, with the era `legacy` or `auto`."""

import asyncio
import pathlib
import sys
import warnings

from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

warnings.simplefilter("ignore")
ERA, TRANSPORT, WHERE, ROOT = sys.argv[1:5]
FILE = pathlib.Path(ROOT).resolve() / "a.txt"


def connect(**options):
    server = WHERE if TRANSPORT == "http" else StdioServerParameters(command=WHERE, args=["--root", ROOT, "mcp"])
    return Client(server, mode=ERA, cache=None, **options)


async def updated(client, heard):
    """Whether a subscriber hears of a commit, in the way of its era."""
    uri = "txedit://transactions"
    edit = {"path": "a.txt", "old_string": "three", "new_string": "3"}
    if ERA == "legacy":
        await client.subscribe_resource(uri)
        await client.call_tool("edit_file", edit)
        await asyncio.wait_for(heard.wait(), 10)
        await client.unsubscribe_resource(uri)
    else:
        async with client.listen(resource_subscriptions=[uri]) as events:
            await client.call_tool("edit_file", edit)
            event = await asyncio.wait_for(anext(aiter(events)), 10)
            assert uri in repr(event), event


async def main():
    heard = asyncio.Event()

    async def on_message(message):
        if "txedit://transactions" in repr(message):
            heard.set()

    async with connect(message_handler=on_message) as client:
        assert client.server_info.name == "txedit", client.server_info
        assert "transactions" in client.instructions and len(client.instructions) < 2048, client.instructions
        print(f"negotiated {client.protocol_version}")
        assert (client.protocol_version == "2026-07-28") == (ERA != "legacy")

        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools][:3] == ["multi_edit", "multi_edit_files", "edit_file"], tools

        # The SDK checks structured content by the output schema, of failures too.
        read = await client.call_tool("read_files", {"paths": [str(FILE), "/nowhere"]})
        file = read.structured_content["files"][0]
        assert file["content"] == "one\ntwo\nthree\n" and len(read.structured_content["skipped"]) == 1

        edits = [{"old_string": "one", "new_string": "1"}, {"old_string": "two", "new_string": "2"}]
        request = {"file_path": str(FILE), "edits": edits, "expected_hash": file["hash"]}
        steps = []

        async def on_progress(done, total, message):
            steps.append((done, total, message))

        done = await client.call_tool("multi_edit", request, progress_callback=on_progress)
        assert not done.is_error and FILE.read_text() == "1\n2\nthree\n", done
        assert steps and all(total and done <= total for done, total, _ in steps), steps

        again = await client.call_tool("multi_edit", request)
        assert not again.is_error and again.structured_content["already_applied"], again
        stale = await client.call_tool("multi_edit", {**request, "edits": edits[:1]})
        assert stale.is_error and stale.structured_content["error_code"] == "HASH_MISMATCH", stale
        wrong = await client.call_tool("multi_edit", {"path": str(FILE)})
        assert wrong.is_error and wrong.structured_content["error_code"] == "VALIDATION_FAILED", wrong
        try:
            await client.call_tool("no_such_tool", {})
            raise SystemExit("an unknown tool is an error of the protocol")
        except MCPError as error:
            assert error.code == -32602, error

        await updated(client, heard)

        found = await client.complete(
            ref={"type": "ref/resource", "uri": "txedit://transactions/{id}/diff"},
            argument={"name": "id", "value": ""},
        )
        ids = found.completion.values
        assert len(ids) == 2, ids
        diff = (await client.read_resource(f"txedit://transactions/{ids[0]}/diff")).contents[0].text
        assert "-three\n+3\n" in diff, diff
        prompts = (await client.list_prompts()).prompts
        assert {prompt.name for prompt in prompts} == {"batch_rename", "safe_refactor"}
        prompt = await client.get_prompt("batch_rename", {"old_name": "a", "new_name": "b"})
        assert "`a` to `b`" in prompt.messages[0].content.text

        for transaction, expected in zip(ids, ("1\n2\nthree\n", "one\ntwo\nthree\n")):
            undone = await client.call_tool("undo_transaction", {"transaction_id": transaction})
            assert not undone.is_error and FILE.read_text() == expected, undone
    print("content")


asyncio.run(asyncio.wait_for(main(), 60))
