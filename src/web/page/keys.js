// The keyboard: one letter for each thing, while nothing is written and no dialog is open.

import { el } from "./dom.js";
import { tell } from "./dialogs.js";

const KEYS = [
  ["j, k", "next or previous change or file"],
  ["J, K", "next or previous file"],
  ["Space", "select the change or the file, or do not"],
  ["o", "expand or collapse the file"],
  ["n, p", "next or previous open transaction"],
  ["a", "approve what is selected, after a question"],
  ["A", "approve all, after a question"],
  ["d", "discard the transaction, after a question"],
  ["v", "unified or side by side"],
  ["h", "go to the history"],
  ["?", "this help"],
];

export function help() {
  const rows = KEYS.map(([key, what]) => [el("dt", {}, key.split(", ").flatMap((one, at) => [at ? ", " : "", el("kbd", {}, one)])), el("dd", {}, what)]);
  tell("Keys", el("dl", { class: "keys" }, rows.flat()));
}

/** Calls what belongs to a key. `act` has the calls. */
export function listenToKeys(act) {
  const calls = {
    j: () => act.move(1, false), k: () => act.move(-1, false), J: () => act.move(1, true), K: () => act.move(-1, true),
    o: act.toggle, n: () => act.step(1), p: () => act.step(-1), a: () => act.approve(false), A: () => act.approve(true),
    d: act.discard, v: act.flip, h: act.history, "?": help,
  };
  document.addEventListener("keydown", (event) => {
    const isWriting = event.target.matches?.("input:not([type=checkbox]):not([type=radio]), textarea, select");
    if (event.ctrlKey || event.metaKey || event.altKey || isWriting || document.querySelector("dialog[open]")) return;
    const call = calls[event.key];
    if (!call) return;
    event.preventDefault();
    call();
  });
}
