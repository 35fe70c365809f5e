// Two agents stage, and a person decides: with the mouse, with the keyboard alone, at both widths, in both schemes.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { createRequire } from "node:module";
import { isClean, launch, open, SHOTS, Workspace } from "./support.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const HANDLER = `use std::collections::HashMap;

/// Answers requests.
pub struct Handler {
    routes: HashMap<String, Route>,
    timeout: Duration,
}

impl Handler {
    pub fn new(timeout: Duration) -> Self {
        Self { routes: HashMap::new(), timeout }
    }

    pub fn add(&mut self, path: &str, route: Route) {
        self.routes.insert(path.to_string(), route);
    }

    pub fn call(&self, path: &str) -> Response {
        match self.routes.get(path) {
            Some(route) => route.run(self.timeout),
            None => Response::not_found(),
        }
    }

    pub fn len(&self) -> usize {
        self.routes.len()
    }
}
`;

const files = {
  "src/handler.rs": HANDLER,
  "src/main.rs": "mod handler;\n\nfn main() {\n    let handler = Handler::new(Duration::from_secs(5));\n    println!(\"{} routes\", handler.len());\n}\n",
  "docs/guide.md": "# Guide\n\nAdd a route, then call it.\n\nThe default time limit is 5 seconds.\n",
  "old.txt": "no longer needed\n",
};

const FIRST = {
  label: "Time limits in milliseconds",
  files: [
    { file_path: "src/handler.rs", edits: [
      { old_string: "    timeout: Duration,\n}", new_string: "    timeout_ms: u64,\n}" },
      { old_string: "    pub fn new(timeout: Duration) -> Self {\n        Self { routes: HashMap::new(), timeout }", new_string: "    pub fn new(timeout_ms: u64) -> Self {\n        Self { routes: HashMap::new(), timeout_ms }" },
      { old_string: "route.run(self.timeout)", new_string: "route.run(self.timeout_ms)" },
      { old_string: "    pub fn len(&self) -> usize {\n        self.routes.len()\n    }\n", new_string: "    pub fn len(&self) -> usize {\n        self.routes.len()\n    }\n\n    pub fn is_empty(&self) -> bool {\n        self.routes.is_empty()\n    }\n" },
    ] },
    { file_path: "src/main.rs", edits: [{ old_string: "Duration::from_secs(5)", new_string: "5_000" }] },
    { file_path: "docs/guide.md", edits: [{ old_string: "5 seconds", new_string: "5,000 ms" }] },
    { file_path: "docs/limits.md", content: "# Limits\n\nA call that takes longer than its time limit is ended.\n" },
    { file_path: "old.txt", delete: true },
  ],
};

const SECOND = {
  label: "Say which route is missing",
  files: [
    { file_path: "src/handler.rs", edits: [{ old_string: "Response::not_found()", new_string: "Response::not_found_at(path)" }] },
    { file_path: "docs/guide.md", edits: [{ old_string: "then call it", new_string: "then call it by its path" }] },
  ],
};

const step = (text) => console.log(`  ${text}`);

async function axe(page, what) {
  const found = await page.evaluate(`${AXE}; axe.run(document, { resultTypes: ["violations"] })`);
  const serious = found.violations.filter((one) => ["serious", "critical"].includes(one.impact));
  const told = serious.map((one) => `${one.id}: ${one.help}\n${one.nodes.slice(0, 4).map((node) => `    ${node.html.slice(0, 160)}\n    ${node.failureSummary}`).join("\n")}`);
  assert.equal(serious.length, 0, `axe, ${what}:\n${told.join("\n")}`);
  const minor = found.violations.map((one) => `${one.id} (${one.impact})`);
  step(`axe, ${what}: no serious finding${minor.length ? `; others: ${minor.join(", ")}` : ""}`);
}

/** Pictures and axe in both schemes and at both widths. */
async function looked(page, name) {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    for (const [width, height] of [[1280, 900], [400, 800]]) {
      await page.setViewportSize({ width, height });
      await page.waitForTimeout(250);
      await page.screenshot({ path: join(SHOTS, `${name}-${colorScheme}-${width}.png`) });
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.ok(overflow <= 0, `${name} at ${width} px is ${overflow} px too wide`);
      await axe(page, `${name}, ${colorScheme}, ${width} px`);
    }
  }
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
  await page.setViewportSize({ width: 1280, height: 900 });
}

const item = (page, label) => page.locator("#open-list .item", { hasText: label });
const confirm = (page, name) => page.locator("dialog[open]").getByRole("button", { name, exact: true }).click();

async function byMouse(browser) {
  const workspace = new Workspace(files);
  const address = await workspace.serve();
  const page = await open(browser, address);
  await page.getByText("Nothing to review").waitFor();
  assert.equal(page.url(), address.split("#")[0], "the token is out of the address");
  await looked(page, "empty");
  step("what two agents stage is there without a reload");
  await page.evaluate(() => { window.isTheSame = true; });
  const first = workspace.stage(FIRST);
  await item(page, FIRST.label).waitFor({ timeout: 5_000 });
  workspace.stage(SECOND);
  await item(page, SECOND.label).waitFor({ timeout: 5_000 });
  await item(page, SECOND.label).getByText("2 conflicts").waitFor();
  await item(page, FIRST.label).getByText("2 conflicts").waitFor();
  await item(page, FIRST.label).click();
  await page.getByRole("heading", { name: FIRST.label }).waitFor();
  await page.locator('[data-pick="0 3"]').waitFor();
  assert.equal(await page.locator(".file .badge.warn").count(), 2, "the files in conflict are marked");
  assert.equal(await page.locator(".code ins", { hasText: "timeout_ms" }).count() > 0, true, "words that changed are emphasised");
  const words = await page.evaluate(async () => {
    const { language, places } = await import("./syntax.js");
    const of = (path, line) => places(line, language(path)).map(([start, end, kind]) => `${kind} ${line.slice(start, end)}`);
    return [language("a.md"), of("a.rs", "fn f<'a>(x: &'a str) { 'x' } // it's"), of("b/c.py", "x = 'a#b' + 12 # don't"),
      of("Makefile", "a#b: c # d"), of("d.sql", "a - 1 -- b"), of("e.js", " * let it be"), of("f.js", `let s = "${"x".repeat(1_000)}"`)];
  });
  assert.deepEqual(words, [null, ["keyword fn", "string 'x'", "comment // it's"], ["string 'a#b'", "number 12", "comment # don't"],
    ["comment # d"], ["number 1", "comment -- b"], ["comment  * let it be"], []]);
  const added = page.locator(".code.add", { hasText: "is_empty" }).first();
  assert.equal(await added.textContent(), "    pub fn is_empty(&self) -> bool {");
  assert.deepEqual(await added.locator(".in-keyword").allTextContents(), ["pub", "fn", "self", "bool"]);
  assert.equal(await page.getByRole("button", { name: "Approve selected" }).isDisabled(), true, "nothing is selected at first");
  await page.locator('[data-pick="0 0"]').check();
  await page.locator('[data-pick="0 3"]').check();
  await page.locator('[data-pick="3"]').check();
  await page.getByText("3 of 8 changes selected").waitFor();
  await looked(page, "review");
  await page.getByRole("button", { name: "Side by side" }).click();
  await page.locator(".rows.split .row").first().waitFor();
  await looked(page, "split");
  await page.getByRole("button", { name: "Unified" }).click();

  step("a part is approved, and the tree is exactly that");
  await page.getByRole("button", { name: "Approve selected" }).click();
  await looked(page, "question");
  await confirm(page, "Approve");
  await page.getByText("Committed: 2 files. The rest is open.").waitFor();
  const part = HANDLER.replace("    timeout: Duration,\n}", "    timeout_ms: u64,\n}")
    .replace("        self.routes.len()\n    }\n", "        self.routes.len()\n    }\n\n    pub fn is_empty(&self) -> bool {\n        self.routes.is_empty()\n    }\n");
  assert.equal(workspace.read("src/handler.rs"), part);
  assert.equal(workspace.read("docs/limits.md"), FIRST.files[3].content);
  for (const name of ["src/main.rs", "docs/guide.md", "old.txt"]) assert.equal(workspace.read(name), files[name]);
  await item(page, FIRST.label).waitFor();
  assert.equal(await page.locator(`#open-list [data-id="${first}"]`).count(), 0, "the rest is a transaction of its own");

  step("the other one is discarded");
  await item(page, SECOND.label).click();
  await page.getByRole("heading", { name: SECOND.label }).waitFor();
  await page.getByRole("button", { name: "Discard", exact: true }).click();
  await confirm(page, "Discard");
  await item(page, SECOND.label).waitFor({ state: "detached" });
  assert.equal(workspace.read("src/handler.rs"), part);

  step("an undo, after a look at it");
  await page.locator("#history-list").getByRole("button", { name: /^Undo/ }).first().click();
  await page.locator("dialog[open] .line.del", { hasText: "timeout_ms: u64" }).waitFor();
  await looked(page, "undo");
  await confirm(page, "Undo");
  await page.getByText("Undone: 2 files.").waitFor();
  assert.equal(workspace.read("src/handler.rs"), HANDLER);
  await page.locator("#history-list .badge", { hasText: "undone" }).waitFor();
  assert.equal(await page.evaluate(() => window.isTheSame), true, "it was never loaded anew");
  isClean(page);
  await stale(page, workspace);
  workspace.end();
}

/** Another program changes the file between the look and the approval. */
async function stale(page, workspace) {
  step("what is not what was shown is refused");
  const [rest] = JSON.parse(workspace.run(["status", "--json"])).open;
  workspace.run(["rollback", rest.transaction_id]);
  workspace.stage({ label: "Stale", files: [{ file_path: "old.txt", edits: [{ old_string: "needed", new_string: "wanted" }] }] });
  await page.getByRole("heading", { name: "Stale" }).waitFor();
  await page.locator('[data-pick="0 0"]').check();
  workspace.write("old.txt", "new first line\nno longer needed\n");
  await page.getByRole("button", { name: "Approve selected" }).click();
  await confirm(page, "Approve");
  await page.locator("dialog[open]").getByText("Not done").waitFor();
  assert.equal(workspace.read("old.txt"), "new first line\nno longer needed\n");
  await confirm(page, "Close");
  await page.getByText("carried over").waitFor();
  isClean(page);
}

async function byKeyboard(browser) {
  step("with the keyboard alone");
  const workspace = new Workspace(files);
  workspace.stage(FIRST);
  workspace.stage(SECOND);
  const page = await open(browser, await workspace.serve());
  const { keyboard } = page;
  const focused = () => page.evaluate(() => document.activeElement?.dataset?.pick ?? document.activeElement?.textContent);
  const reaches = async (what) => {
    await page.waitForFunction((what) => (document.activeElement?.dataset?.pick ?? document.activeElement?.textContent) === what, what, { timeout: 5_000 }).catch(async () => assert.fail(`${what} has the focus, not ${await focused()}`));
  };
  await page.locator('[data-pick="0 3"]').waitFor();
  await keyboard.press("?");
  await page.locator("dialog[open] kbd").first().waitFor();
  await keyboard.press("Escape");
  await page.locator("dialog").waitFor({ state: "detached" });
  await keyboard.press("j");
  await reaches("0");
  await keyboard.press("j");
  await reaches("0 0");
  await keyboard.press("j");
  await reaches("0 1");
  await keyboard.press("Space");
  await page.getByText("1 of 8 changes selected").waitFor();
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.notEqual(outline, "none", "the focus is seen");
  await keyboard.press("J");
  await reaches("1");
  await keyboard.press("Space");
  await keyboard.press("k");
  await reaches("0 4").catch(() => reaches("0 3"));
  await keyboard.press("a");
  await page.locator("dialog[open]").getByText("Approve what is selected?").waitFor();
  await keyboard.press("Enter");
  await page.getByText("Committed: 2 files.").waitFor();
  assert.equal(workspace.read("src/main.rs"), files["src/main.rs"].replace("Duration::from_secs(5)", "5_000"));
  assert.ok(workspace.read("src/handler.rs").includes("pub fn new(timeout_ms: u64)"));
  await page.getByText("0 of 6 changes selected").waitFor();
  await keyboard.press("d");
  await page.locator("dialog[open]").waitFor();
  await keyboard.press("Escape");
  await keyboard.press("h");
  await reaches("Undo…");
  await keyboard.press("Enter");
  await page.locator("dialog[open]").getByText("would change 2 files").waitFor();
  await keyboard.press("Enter");
  await page.getByText("Undone: 2 files.").waitFor();
  assert.equal(workspace.read("src/handler.rs"), HANDLER);
  isClean(page);
  workspace.end();
}

async function hostile(browser) {
  step("hostile names and contents are text");
  const name = "<img src=x onerror=alert(1)>";
  const workspace = new Workspace({ "a.js": "one\n" });
  workspace.stage({ label: "<b>bold</b><script>alert(3)</script>", files: [
    { file_path: name, content: "</script><script>alert(2)</script>\nif (admin\u202e) {\n" },
    { file_path: "a.js", content: "<svg onload=alert(4)>\n", if_exists: "replace" },
  ] });
  const page = await open(browser, await workspace.serve());
  await page.locator(".path", { hasText: name }).waitFor();
  await page.getByText("</script><script>alert(2)</script>").waitFor();
  await page.getByText("\\u{202e}").waitFor();
  assert.equal(await page.locator("#detail img, #detail script, #detail svg, #detail b").count(), 0);
  await looked(page, "hostile");
  await page.getByRole("button", { name: "Approve all" }).click();
  await confirm(page, "Approve");
  await page.getByText("Committed: 2 files.").waitFor();
  assert.equal(workspace.read("a.js"), "<svg onload=alert(4)>\n");
  isClean(page);

  step("without a token nothing is shown, and a wrong one is told");
  const { origin } = new URL(page.url());
  const other = await open(browser, `${origin}/`);
  await other.getByText("A token is needed").waitFor();
  const wrong = await open(browser, `${origin}/#${"0".repeat(64)}`);
  await wrong.getByText("The token is not the right one").waitFor();
  assert.equal(await wrong.locator(".item").count(), 0);
  await axe(wrong, "no token");
  workspace.end();
}

async function checked(browser) {
  step("a check decides, and its output is seen");
  const workspace = new Workspace(files);
  workspace.stage(SECOND);
  const page = await open(browser, await workspace.serve(["--allow-checks"]));
  await page.getByLabel("Check").fill("echo looking; sleep 1; false");
  await page.locator("#select-all").check();
  await page.getByRole("button", { name: "Approve selected" }).click();
  await confirm(page, "Approve");
  await page.locator(".progress .output", { hasText: "looking" }).waitFor();
  await page.locator("dialog[open]").getByText("Not done").waitFor();
  assert.equal(workspace.read("src/handler.rs"), HANDLER);
  await looked(page, "failed");
  isClean(page);
  workspace.end();
}

/** Leaves the newest transaction as a process does that died just before the end. */
function interrupt(workspace) {
  const { transactions } = JSON.parse(workspace.run(["log", "--json"]));
  const id = transactions[0].transaction_id;
  mkdirSync(join(workspace.root, ".txedit/txn"), { recursive: true });
  renameSync(join(workspace.root, ".txedit/history", id), join(workspace.root, ".txedit/txn", id));
  return id;
}

async function interrupted(browser) {
  step("what was interrupted is decided about");
  const workspace = new Workspace(files);
  workspace.run(["apply", "-"], JSON.stringify(SECOND));
  workspace.run(["edit", "docs/guide.md", "--old", "Guide", "--new", "The guide"]);
  const id = interrupt(workspace);
  const page = await open(browser, await workspace.serve());
  await page.locator("#interrupted").getByText("A recovery would finish it").waitFor();
  await looked(page, "interrupted");
  await page.locator("#interrupted").getByRole("button", { name: "Recover" }).click();
  await confirm(page, "Recover");
  await page.locator("#interrupted").waitFor({ state: "hidden" });
  await page.locator(`#history-list [data-key="undo ${id}"]`).waitFor();
  isClean(page);
  workspace.end();
}

/** What a recovery kept is put back, and deleted after that. */
async function kept(browser) {
  step("what is kept is put back, and deleted");
  const workspace = new Workspace(files);
  workspace.run(["edit", "docs/guide.md", "--old", "Guide", "--new", "The guide"]);
  const id = interrupt(workspace);
  workspace.write("docs/guide.md", "# Theirs\n");
  workspace.run(["recover", "--discard", id]);
  const page = await open(browser, await workspace.serve());
  const list = page.locator("#kept");
  await list.getByText("docs/guide.md").waitFor();
  await looked(page, "kept");
  await list.getByRole("button", { name: "Put it back…" }).click();
  assert.equal(workspace.read("docs/guide.md"), "# Theirs\n");
  await confirm(page, "Put it back");
  await page.getByText("Put back: docs/guide.md.").waitFor();
  assert.equal(workspace.read("docs/guide.md"), files["docs/guide.md"]);
  await list.getByRole("button", { name: "Delete what is kept…" }).click();
  await confirm(page, "Delete");
  await list.waitFor({ state: "hidden" });
  assert.equal(JSON.parse(workspace.run(["kept", "list", "--json"])).kept.length, 0);
  assert.equal(workspace.read("docs/guide.md"), files["docs/guide.md"]);
  isClean(page);
  workspace.end();
}

const browser = await launch();
try {
  await byMouse(browser);
  await byKeyboard(browser);
  await hostile(browser);
  await checked(browser);
  await interrupted(browser);
  await kept(browser);
} finally {
  await browser.close();
}
console.log(`  pictures: ${SHOTS}`);
