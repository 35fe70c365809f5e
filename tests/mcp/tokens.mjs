// What the tools and their answers cost in tokens of o200k_base: `tokens.mjs BINARY ROOT`. Fails beyond the goals.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { Client } from "sdk1/client/index.js";
import { StdioClientTransport } from "sdk1/client/stdio.js";
import { encode } from "gpt-tokenizer/encoding/o200k_base";

const [binary, root] = process.argv.slice(2);
const lines = Array.from({ length: 100 }, (_, n) => `let value_${n} = compute_${n}("first", "second ${n}");\n`);
writeFileSync(`${root}/a.rs`, lines.join(""));
for (let n = 0; n < 30; n++) {
    mkdirSync(`${root}/src/module_${n}`, { recursive: true });
    writeFileSync(`${root}/src/module_${n}/parser.rs`, "old_name();\nold_name();\n");
}

const client = new Client({ name: "tokens", version: "1" });
await client.connect(new StdioClientTransport({ command: binary, args: ["--root", root, "mcp"] }));
const rows = [];
const row = (what, text, goal) => rows.push({ what, bytes: text.length, tokens: encode(text).length, goal });
const call = async (name, args) => {
    const answer = await client.callTool({ name, arguments: args });
    assert.equal(answer.isError ?? false, false, answer.content[0].text);
    return answer.content.map((block) => block.text).join("\n");
};

// A model is given names, descriptions and the schemas of arguments.
const { tools } = await client.listTools();
row("the tools", JSON.stringify(tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }))), 3000);
const content = readFileSync(`${root}/a.rs`, "utf8");
row("a file", await call("read_files", { paths: ["a.rs"] }), Math.floor(encode(content).length * 1.1));
const edits = lines.map((_, n) => ({ old_string: `compute_${n}(`, new_string: `compute_all_${n}(` }));
row("100 edits in one file", await call("multi_edit", { file_path: "a.rs", edits }), 4400);
row("a rename in 30 files", await call("replace_in_files", { pattern: "old_name", replacement: "new_name" }), 1000);
console.table(rows);
await client.close();
for (const { what, tokens, goal } of rows) {
    assert(tokens <= goal, `${what}: ${tokens} tokens, more than ${goal}`);
}
