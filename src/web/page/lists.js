// The lists beside the changes: open transactions, interrupted ones, kept contents, history.

import { byId, counted, el, program, when } from "./dom.js";

/** Shows the state, and notes of this page. `act` has what is called when something is chosen. */
export function showLists(state, selected, notes, act) {
  byId("root").textContent = state.root;
  byId("open-count").textContent = state.open.length || "";
  fill("open-list", state.open.map((open) => openItem(open, selected, act)), "Nothing is open. What an agent stages appears here.");
  section("interrupted", state.interrupted.map((one) => interruptedItem(one, state, act)));
  section("kept", state.kept.map((kept) => keptItem(kept, state, act)));
  section("warnings", [...new Set([...notes, ...state.warnings])].map((warning) => el("li", {}, warning)));
  fill("history-list", state.history.map((one) => committedItem(one, state, act)), "Nothing was committed yet.");
}

/** Replaces a list, and keeps the focus on the item that had it. */
function fill(id, items, empty) {
  const list = byId(id);
  const focused = list.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  list.replaceChildren(...(items.length ? items : [el("li", { class: "none" }, empty)]));
  if (focused) list.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
}

function section(id, items) {
  byId(id).hidden = items.length === 0;
  fill(`${id}-list`, items, "");
}

export const title = (one) => one.label ?? firstFiles(one);

function firstFiles(one) {
  const [first] = one.files;
  if (first == null) return "No files";
  return one.file_count > 1 ? `${first} and ${(one.file_count - 1).toLocaleString("en")} more` : first;
}

function openItem(open, selected, act) {
  const conflicts = open.conflict_count > 0
    ? el("span", { class: "badge warn" }, `${counted(open.conflict_count, "conflict")}`)
    : null;
  return el("li", {},
    el("button", {
      type: "button", class: "item", "data-key": open.id, "data-id": open.id,
      "aria-current": open.id === selected ? "true" : null,
      onclick: () => act.select(open.id),
    },
    el("span", { class: "item-title" }, title(open)),
    el("span", { class: "item-meta" }, program(open.owner)),
    el("span", { class: "item-meta" }, counted(open.file_count, "file"), " · ", when(open.opened),
      open.expired ? " · expired" : null, " ", conflicts)));
}

const DECISIONS = {
  recover: "Recover",
  forward: "Finish it",
  back: "Roll it back",
  discard: "Leave the files, keep its contents",
};

const PLANNED = {
  forward: "A recovery would finish it: ",
  back: "A recovery would roll it back: ",
  drop: "A recovery would drop it: ",
};

function interruptedItem(one, state, act) {
  const decide = one.decisions.map((decision) => el("button", {
    type: "button", class: "small", "data-key": `${one.id} ${decision}`, disabled: state.read_only,
    onclick: () => act.recover(one, decision, DECISIONS[decision]),
  }, DECISIONS[decision]));
  return el("li", { class: "card" },
    el("p", { class: "item-title" }, one.running ? "At work: " : "", firstFiles(one)),
    el("p", { class: "item-meta" }, program(one.owner)),
    el("p", {}, PLANNED[one.action] ?? "", one.reason),
    decide.length ? el("p", { class: "buttons" }, decide) : null);
}

function keptItem(kept, state, act) {
  const button = (key, text, decide) => el("button", {
    type: "button", class: "small", "data-key": `kept ${kept.id} ${key}`, disabled: state.read_only, onclick: decide,
  }, text);
  const content = (one, index) => [
    el("p", {}, el("code", {}, one.path), ": ", one.reason),
    el("p", { class: "buttons" }, button(index, "Put it back…", () => act.restore(kept, index))),
  ];
  return el("li", { class: "card" },
    el("p", { class: "item-meta" }, "Of ", el("code", {}, kept.id), ", in ", el("code", {}, kept.folder)),
    kept.contents.flatMap(content),
    el("p", { class: "buttons" }, button("drop", "Delete what is kept…", () => act.drop(kept))));
}

function committedItem(one, state, act) {
  const undone = one.reverted_by ? el("span", { class: "badge" }, "undone") : null;
  const kind = one.reverts.length ? "Undo: " : "";
  const undo = one.reverted_by || one.unreadable ? null : el("button", {
    type: "button", class: "small", "data-key": `undo ${one.id}`, disabled: state.read_only,
    "aria-label": `Undo ${title(one)}`,
    onclick: () => act.undo(one),
  }, "Undo…");
  return el("li", { class: "card committed" },
    el("p", { class: "item-title" }, kind, title(one)),
    el("p", { class: "item-meta" }, program(one.owner), " · ", counted(one.file_count, "file"), " · ", when(one.time), " ", undone),
    one.check ? el("p", { class: "item-meta" }, "Checked by ", el("code", {}, one.check)) : null,
    one.unreadable ? el("p", { class: "note bad" }, one.unreadable) : null,
    undo);
}
