// A workspace, the program in it, and a browser that looks at its page.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

export const [BINARY, BROWSER, SHOTS] = process.argv.slice(2);

const servers = [];
// After a failure, too.
process.on("exit", () => servers.forEach((server) => server.kill()));

export class Workspace {
  constructor(files) {
    this.root = mkdtempSync(join(tmpdir(), "txedit-web-"));
    for (const [name, content] of Object.entries(files)) this.write(name, content);
  }

  write(name, content) {
    const path = join(this.root, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  }

  read(name) {
    return readFileSync(join(this.root, name), "utf8");
  }

  run(line, input = "") {
    const env = { ...process.env, XDG_CONFIG_HOME: this.root };
    const out = execFileSync(BINARY, ["--root", this.root, "--durability", "process", ...line], { input, env, cwd: this.root, maxBuffer: 1 << 30, stdio: ["pipe", "pipe", "pipe"] });
    return out.toString().trim();
  }

  /** Stages a request; returns the id. */
  stage(request, id) {
    return this.run(["stage", "-", ...(id ? ["--transaction", id] : [])], JSON.stringify(request));
  }

  async serve(options = []) {
    const env = { ...process.env, XDG_CONFIG_HOME: this.root };
    this.server = spawn(BINARY, ["--root", this.root, "--durability", "process", "review", "--web", ...options], { env, stdio: ["ignore", "pipe", "ignore"] });
    servers.push(this.server);
    const [line] = await new Promise((resolve) => createInterface(this.server.stdout).once("line", (line) => resolve([line])));
    return line;
  }

  /** The most memory that the server has had, in MB. */
  serverMemory() {
    const status = readFileSync(`/proc/${this.server.pid}/status`, "utf8");
    return Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)[1]) / 1024);
  }

  end() {
    this.server?.kill();
    rmSync(this.root, { recursive: true, force: true });
  }
}

export const launch = () => chromium.launch({ executablePath: BROWSER, args: ["--no-sandbox", "--disable-gpu"] });

/** A page that fails the run if it has an error, asks something, or calls anybody else. */
export async function open(browser, address, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce", ...options });
  const page = await context.newPage();
  page.faults = [];
  page.on("pageerror", (error) => page.faults.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => {
    page.faults.push(`a dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on("console", (message) => {
    // What the server refuses on purpose is told by the browser, too.
    const isRefusal = /status of (40[149]|422)/.test(message.text()) || message.location().url.endsWith("/favicon.ico");
    if (["error", "warning"].includes(message.type()) && !isRefusal) page.faults.push(`${message.type()}: ${message.text()}`);
  });
  const { origin } = new URL(address);
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== origin) page.faults.push(`a request to ${request.url()}`);
    if (request.headers().referer?.includes("#")) page.faults.push(`a Referer: ${request.headers().referer}`);
  });
  await page.goto(address);
  return page;
}

export function isClean(page) {
  assert.deepEqual(page.faults, []);
}
