// How long it takes until large transactions are seen, and what memory that takes.

import { readFileSync } from "node:fs";
import { isClean, launch, open, Workspace } from "./support.mjs";

/** Lines that look like a program, each of them different. */
const lines = (count, word) => Array.from({ length: count }, (_, line) => `    let ${word}_${line} = compute(${line * 7919}, "${word}", ${line % 97});`).join("\n") + "\n";

async function measure(browser, name, workspace) {
  const address = await workspace.serve();
  const page = await open(browser, address);
  // Since the page was asked for.
  const now = () => page.evaluate(() => performance.now());
  const painted = await page.evaluate(async () => {
    const { promise, resolve } = Promise.withResolvers();
    new PerformanceObserver((list) => list.getEntriesByName("first-contentful-paint").forEach((entry) => resolve(entry.startTime))).observe({ type: "paint", buffered: true });
    return promise;
  });
  await page.locator(".file").first().waitFor({ timeout: 120_000 });
  const listed = await now();
  // A large file is closed at first; one that is open may still wait for its rows, and a click would close it.
  const first = page.locator(".file-name").first();
  if ((await first.getAttribute("aria-expanded")) === "false") await first.click();
  await page.locator(".row").first().waitFor({ timeout: 120_000 });
  const seen = await now();
  // To the end and through the middle, as a reader might.
  await page.getByRole("button", { name: "Expand all" }).click();
  for (let at = 0; at < 30; at += 1) {
    await page.evaluate((at) => scrollTo(0, (document.body.scrollHeight * at) / 30), at);
    await page.waitForTimeout(60);
  }
  const far = await now();
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
  await page.waitForFunction(() => [...document.querySelectorAll(".row, .file-head")].some((row) => {
    const { top } = row.getBoundingClientRect();
    return top > 0 && top < innerHeight;
  }), null, { timeout: 60_000 });
  const jumped = (await now()) - far;
  const nodes = await page.evaluate(() => document.querySelectorAll("*").length);
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  const memory = (id) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${id}/status`, "utf8"))?.[1] ?? 0) / 1024;
  const renderer = Math.round(Math.max(...processInfo.filter((one) => one.type === "renderer").map((one) => memory(one.id))));
  const heap = await page.evaluate(() => Math.round(performance.memory.usedJSHeapSize / 2 ** 20));
  isClean(page);
  const ms = (time) => `${Math.round(time)} ms`;
  console.log(`  ${name}: first paint ${ms(painted)}, files listed ${ms(listed)}, changes seen ${ms(seen)}, the end after a jump ${ms(jumped)}; ` +
    `${nodes} elements, page ${renderer} MB (scripts ${heap} MB), server at most ${workspace.serverMemory()} MB`);
  await page.context().close();
  workspace.end();
}

const browser = await launch();
try {
  const small = new Workspace({ "a.txt": "one\n" });
  small.stage({ files: [{ file_path: "a.txt", edits: [{ old_string: "one", new_string: "two" }] }] });
  await measure(browser, "1 file", small);

  const names = Array.from({ length: 2_000 }, (_, file) => `src/module_${file % 40}/file_${file}.rs`);
  const many = new Workspace(Object.fromEntries(names.map((name) => [name, lines(60, "value")])));
  many.stage({ label: "2,000 files", files: names.map((name) => ({ file_path: name, edits: [
    { old_string: "let value_10 = ", new_string: "let result_10 = " }, { old_string: "let value_40 = ", new_string: "let result_40 = " }] })) });
  await measure(browser, "2,000 files, 2 changes each", many);

  const count = 450_000;
  const long = new Workspace({ "long.rs": lines(count, "value") });
  const content = lines(count, "other");
  long.stage({ label: "A diff of 50 MB", files: [{ file_path: "long.rs", content, if_exists: "replace" }] });
  const size = (Buffer.byteLength(content) * 2) / 1e6;
  await measure(browser, `a diff of ${Math.round(size)} MB in 1 file`, long);
} finally {
  await browser.close();
}
