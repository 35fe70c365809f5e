// The official TypeScript SDK: `typescript_sdk.mjs 1|2 stdio|http BINARY|URL ROOT [ERA]`.

import assert from "node:assert/strict";
import { readFileSync, realpathSync } from "node:fs";

const [major, transport, where, root, era = "legacy"] = process.argv.slice(2);
const file = `${realpathSync(root)}/a.txt`;
const text = () => readFileSync(file, "utf8");
const watch = setTimeout(() => { throw new Error("no answer in 60 seconds"); }, 60_000);

const sdk = major === "1"
    ? {
        ...await import("sdk1/client/index.js"),
        ...await import("sdk1/client/stdio.js"),
        ...await import("sdk1/client/streamableHttp.js"),
    }
    : { ...await import("@modelcontextprotocol/client"), ...await import("@modelcontextprotocol/client/stdio") };

const options = era === "legacy" ? {} : { versionNegotiation: { mode: { pin: era } } };
const client = new sdk.Client({ name: "test", version: "1" }, options);
await client.connect(transport === "http"
    ? new sdk.StreamableHTTPClientTransport(new URL(where))
    : new sdk.StdioClientTransport({ command: where, args: ["--root", root, "mcp"] }));

assert.equal(client.getServerVersion().name, "txedit");
assert.match(client.getInstructions(), /transactions/);

// From here on the SDK checks structured content by the output schemas, of failures too.
const { tools } = await client.listTools();
assert.deepEqual(tools.map((tool) => tool.name).slice(0, 3), ["multi_edit", "multi_edit_files", "edit_file"]);
const call = (name, args) => client.callTool({ name, arguments: args });

const read = await call("read_files", { paths: [file] });
const edits = [{ old_string: "one", new_string: "1" }];
const request = { files: [
    { file_path: file, edits, expected_hash: read.structuredContent.files[0].hash },
    { file_path: file.replace("a.txt", "new.txt"), content: "new\n" },
] };
const preview = await call("multi_edit_files", { ...request, dry_run: true });
assert.match(preview.structuredContent.file_results[0].diff, /-one\n\+1\n/);
assert.equal(text(), "one\ntwo\nthree\n");
const done = await call("multi_edit_files", request);
assert.equal(done.isError ?? false, false);
assert.deepEqual(JSON.parse(done.content[0].text), done.structuredContent);
assert.equal(text(), "1\ntwo\nthree\n");

const again = await call("multi_edit_files", request);
assert.equal(again.structuredContent.already_applied, true);
const failed = await call("multi_edit_files", { ...request, label: "another", files: request.files.slice(0, 1) });
assert.equal(failed.isError, true);
assert.equal(failed.structuredContent.outcome, "unchanged");
const wrong = await call("multi_edit", { file_path: file, edits: "one" });
assert.equal(wrong.structuredContent.error_code, "VALIDATION_FAILED");
assert.deepEqual(wrong.structuredContent.errors[0].path, ["edits"]);
await assert.rejects(call("no_such_tool", {}), (error) => error.code === -32602);

const { resources } = await client.listResources();
assert.equal(resources.length, 2);
const log = JSON.parse((await client.readResource({ uri: "txedit://transactions" })).contents[0].text);
const id = done.structuredContent.transaction_id;
assert.equal(log.transactions[0].transaction_id, id);
const { completion } = await client.complete({
    ref: { type: "ref/resource", uri: "txedit://transactions/{id}/diff" },
    argument: { name: "id", value: id.slice(0, 8) },
});
assert.deepEqual(completion.values, [id]);
const { messages } = await client.getPrompt({ name: "safe_refactor", arguments: { goal: "less" } });
assert.match(messages[0].content.text, /Refactor: less/);

await call("undo_transaction", { transaction_id: id });
assert.equal(text(), "one\ntwo\nthree\n");
await client.close();
clearTimeout(watch);
console.log("content");
