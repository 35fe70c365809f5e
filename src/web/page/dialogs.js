// Questions and explanations, as dialogs of the browser: they hold the focus, and Escape closes them.

import { el } from "./dom.js";

/** Asks; resolves to true if the answer is `action`. */
export function ask({ title, body, action, isDanger }) {
  return new Promise((resolve) => {
    const yes = el("button", { type: "button", class: isDanger ? "danger" : "primary", onclick: () => end(true) }, action);
    const no = el("button", { type: "button", onclick: () => end(false) }, "Cancel");
    const dialog = shown(title, [...[body].flat(), el("p", { class: "buttons" }, yes, no)]);
    const end = (answer) => {
      resolve(answer);
      dialog.close();
    };
    dialog.addEventListener("close", () => resolve(false));
    yes.focus();
  });
}

/** Tells something that is read and closed. */
export function tell(title, body) {
  const dialog = shown(title, [...[body].flat(), el("p", { class: "buttons" }, el("button", { type: "button", onclick: () => dialog.close() }, "Close"))]);
  return dialog;
}

function shown(title, body) {
  const before = document.activeElement;
  const id = `dialog-${document.querySelectorAll("dialog").length}`;
  const dialog = el("dialog", { "aria-labelledby": id }, el("h2", { id }, title), body);
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (before?.isConnected) before.focus();
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** What a failure says: the sentence, what to do, and both sides where others changed a file. */
export function failure(error) {
  const answer = error.answer ?? {};
  const context = answer.context ?? {};
  return [
    el("p", { class: "note bad" }, error.message),
    answer.recovery_hint ? el("p", {}, answer.recovery_hint) : null,
    answer.outcome === "unchanged" || answer.outcome === "rolled_back" ? el("p", {}, "No file was changed.") : null,
    context.ours ? diffText("What is staged", context.ours) : null,
    context.theirs ? diffText("What others changed", context.theirs) : null,
    context.check?.output ? el("pre", { class: "output", tabindex: "0", "aria-label": "Output of the check" }, context.check.output) : null,
    (answer.errors ?? []).map((one) => el("p", {}, one.message)),
    (context.conflicts ?? []).map((one) => (one.diff ? diffText(one.path, one.diff) : el("p", {}, el("code", {}, one.path)))),
  ].flat().filter((node) => node != null);
}

/** A unified diff as it is, its lines marked. */
export function diffText(name, text) {
  const lines = text.replace(/\n$/, "").split("\n").map((line) => {
    const sign = /^(---|\+\+\+)/.test(line) ? "" : line[0];
    return el("span", { class: sign === "+" ? "line add" : sign === "-" ? "line del" : "line" }, `${line}\n`);
  });
  return el("figure", { class: "difftext" }, el("figcaption", {}, name), el("pre", { tabindex: "0", "aria-label": name }, lines));
}
