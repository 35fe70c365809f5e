// The page: asks for the state whenever it changes, shows it, and sends what is decided.

import { ask, diffText, failure, tell } from "./dialogs.js";
import { byId, counted, el, program, say } from "./dom.js";
import { help, listenToKeys } from "./keys.js";
import { showLists, title } from "./lists.js";
import { Review } from "./review.js";
import { get, hasToken, listen, post, Refused, review as fetchReview, setToken } from "./server.js";

const NARROW = matchMedia("(max-width: 700px)");

let state = null;
let selected = null;
let shown = null;
let view = NARROW.matches ? "unified" : readView();
let asking = null;
let isStale = false;
let busy = null;
/** What answers of this page said beside their result. */
const notes = [];
/** The transaction in which the rest of an approval stays. */
let rest = null;

function readView() {
  try {
    return localStorage.getItem("txedit-view") === "split" ? "split" : "unified";
  } catch {
    return "unified";
  }
}

/** Asks for the state; what comes meanwhile makes it ask once more. */
async function refresh() {
  if (asking) {
    isStale = true;
    return;
  }
  asking = true;
  try {
    do {
      isStale = false;
      const before = state;
      state = await get("state");
      announce(before, state);
      await showState(before);
    } while (isStale);
  } catch (error) {
    if (error instanceof Refused && error.status === 401) askForToken();
    else showProblem(error);
  } finally {
    asking = null;
  }
  // Nobody tells when a process dies that was at work.
  if (state?.interrupted.some((one) => one.running)) setTimeout(refresh, 2_000);
}

function announce(before, now) {
  document.title = now.open.length ? `(${now.open.length}) txedit review` : "txedit review";
  // What is committed in part comes back under another name.
  if (!before || busy) return;
  const known = new Set(before.open.map((open) => open.id));
  for (const open of now.open.filter((open) => !known.has(open.id) && open.id !== rest)) {
    say(`${program(open.owner)} opened “${title(open)}”`);
  }
}

async function showState(before) {
  const isThere = (busy && selected === busy) || state.open.some((open) => open.id === selected);
  if (!isThere) {
    const gone = selected;
    const at = Math.max(0, before?.open.findIndex((open) => open.id === gone) ?? 0);
    selected = (state.open[at] ?? state.open.at(-1))?.id ?? null;
    if (gone) shown = null;
  }
  showLists(state, selected, notes, act);
  await showSelected();
}

/** Shows the transaction that is selected, unless what is shown of it is the same. */
async function showSelected() {
  if (busy && selected === busy) return;
  const open = state.open.find((open) => open.id === selected);
  if (!open) {
    shown = null;
    return showEmpty();
  }
  if (open.expired) {
    shown = null;
    return replace(el("p", { class: "empty" }, "It has expired: nothing was staged in it for a day. It can no longer be committed, and a later command drops it."));
  }
  if (shown?.id !== open.id) replace(el("p", { class: "empty", "aria-busy": "true" }, "Reading the changes …"));
  let answer;
  try {
    answer = await fetchReview(open.id);
  } catch (error) {
    if (selected !== open.id) return;
    shown = null;
    return replace(...problem(open, error));
  }
  if (selected !== open.id) return;
  const marks = JSON.stringify([open.conflicts, state.read_only, state.may_check]);
  if (shown?.id === open.id && shown.plan_hash === answer.plan_hash && shown.marks === marks) return;
  const before = shown?.id === open.id ? shown : null;
  const place = before?.place();
  shown = new Review(state, open, answer, before, view, act);
  shown.marks = marks;
  if (before && before.plan_hash !== answer.plan_hash) say("The transaction has changed; what is selected of files that did not stays selected.");
  const top = document.scrollingElement.scrollTop;
  replace(shown.element);
  if (before) document.scrollingElement.scrollTop = top;
  if (place) shown.last = place;
}

const replace = (...nodes) => byId("detail").replaceChildren(...nodes);

function showEmpty() {
  replace(el("div", { class: "empty" }, el("p", { class: "big" }, "Nothing to review"),
    el("p", {}, "When an agent stages changes, they appear here by themselves.")));
}

/** A transaction that cannot be reviewed: another program changed the same lines, or a file is gone. */
function problem(open, error) {
  return [el("article", { class: "review" },
    el("header", { class: "review-head" }, el("h2", {}, title(open)), el("p", { class: "meta" }, program(open.owner), " · ", el("code", {}, open.id))),
    el("div", { class: "problem" }, el("p", {}, "It cannot be committed as it is."), failure(error)),
    el("section", { class: "bar", "aria-label": "Decision" }, el("div", { class: "buttons" },
      el("button", { type: "button", onclick: refresh }, "Try once more"),
      el("button", { type: "button", class: "danger", disabled: state.read_only, onclick: () => act.discard({ id: open.id, open }) }, "Discard"))))];
}

function showProblem(error) {
  byId("link").dataset.state = "lost";
  byId("link").textContent = "no answer";
  if (!state) replace(el("div", { class: "problem" }, failure(error)));
}

function askForToken() {
  const field = el("input", { type: "password", id: "token", autocomplete: "off" });
  const go = () => {
    if (field.value.trim() === "") return;
    setToken(field.value.trim());
    location.reload();
  };
  field.addEventListener("keydown", (event) => event.key === "Enter" && go());
  byId("link").dataset.state = "lost";
  byId("link").textContent = "no token";
  replace(el("div", { class: "empty" }, el("p", { class: "big" }, hasToken() ? "The token is not the right one" : "A token is needed"),
    el("p", {}, "Open the address that the program printed, all of it; or give the token here."),
    el("p", { class: "buttons centred" }, el("label", {}, "Token ", field), el("button", { type: "button", class: "primary", onclick: go }, "Go on"))));
}

/** Does what was decided about a transaction, and tells what came of it. */
async function decide(id, path, body, done) {
  if (busy) return tell("Not yet", el("p", {}, "The decision before this one is still being carried out."));
  busy = id;
  const progress = showProgress(id);
  try {
    const answer = await post(path, body);
    busy = null;
    if (shown?.id === id) shown = null;
    // The rest is what was looked at.
    if (selected === id && answer.rest) selected = answer.rest;
    say(done(answer));
    rest = answer.rest;
    notes.unshift(...answer.warnings);
  } catch (error) {
    busy = null;
    tell("Not done", failure(error));
  } finally {
    progress.remove();
  }
  await refresh();
}

let progressOf = null;

function showProgress(id) {
  const text = el("p", {}, "Working …");
  const output = el("pre", { class: "output", tabindex: "0", "aria-label": "Output of the check", hidden: true });
  const box = el("div", { class: "progress" }, text, output);
  byId("detail").prepend(box);
  progressOf = { id, text, output };
  return box;
}

const PHASES = { read: "Reading", stage: "Writing the new contents", swap: "Putting them in place", check: "Checking", rollback: "Rolling back" };

function heard(event) {
  if (event.event === "state") return void refresh();
  if (progressOf?.id !== event.id) return;
  const { text, output } = progressOf;
  if (event.event === "progress") {
    const count = event.total > 1 ? `: ${event.done} of ${event.total}` : "";
    text.textContent = `${PHASES[event.phase] ?? event.phase}${count} …`;
  } else if (event.event === "output") {
    output.hidden = false;
    output.append(event.text);
    output.scrollTop = output.scrollHeight;
  }
}

const act = {
  select(id) {
    selected = id;
    shown = null;
    showLists(state, selected, notes, act);
    showSelected().catch(showProblem);
  },

  show(next) {
    view = next;
    try {
      localStorage.setItem("txedit-view", view);
    } catch {
      // Then it is forgotten.
    }
    if (!shown) return;
    shown.view = view;
    shown.viewButtons.forEach((button, at) => button.setAttribute("aria-pressed", String((at === 1) === (view === "split"))));
    shown.redraw();
  },

  async approve(review, isAll) {
    const { selection, files } = review;
    const count = isAll ? selection.total : selection.count;
    if (count === 0) return say("Nothing is selected.");
    const isRest = count < selection.total;
    const touched = isAll ? files.length : selection.files.filter((_, file) => selection.of(file) !== "none").length;
    const body = [
      el("p", {}, `${counted(count, "change")} in ${counted(touched, "file")} will be written to the disk, all of them or none. It can be undone.`),
      isRest ? el("p", {}, review.rest === "keep" ? "The rest stays open, as a transaction of its own." : "The rest is discarded.") : null,
      review.check.trim() ? el("p", {}, "Only if this passes: ", el("code", {}, review.check)) : null,
    ].filter(Boolean);
    if (!(await ask({ title: isAll ? "Approve all changes?" : "Approve what is selected?", body, action: "Approve" }))) return;
    const request = {
      id: review.id, plan_hash: review.plan_hash, rest: review.rest,
      files: isAll ? files.map(() => "whole") : selection.request(),
    };
    if (review.check.trim()) request.check = review.check;
    await decide(review.id, "approve", request, (answer) => `Committed: ${counted(answer.files.length, "file")}.${answer.rest ? " The rest is open." : ""}`);
  },

  async discard(review) {
    const body = el("p", {}, `“${title(review.open)}” is dropped. No file is changed, and what was staged is gone.`);
    if (!(await ask({ title: "Discard this transaction?", body, action: "Discard", isDanger: true }))) return;
    await decide(review.id, "discard", { id: review.id }, () => "Discarded; no file was changed.");
  },

  async undo(one, rebase = false) {
    let preview;
    try {
      preview = await get(`undo/${encodeURIComponent(one.id)}${rebase ? "?rebase" : ""}`);
    } catch (error) {
      const isConflict = error instanceof Refused && error.status === 409 && !rebase;
      if (!isConflict) return void tell("It cannot be undone", failure(error));
      const again = await ask({ title: "It cannot be undone as it is", body: [...failure(error), el("p", {}, "Where only other lines changed since, those can be left as they are.")], action: "Try that" });
      return again ? act.undo(one, true) : undefined;
    }
    const files = preview.files.map((file) => (file.diff ? diffText(`${file.path} (${file.operation})`, file.diff) : el("p", {}, el("code", {}, file.path), ` (${file.operation})`)));
    const body = [el("p", {}, `This would change ${counted(preview.files.length, "file")}, by a transaction of its own:`), el("div", { class: "preview" }, files), ...preview.warnings.map((warning) => el("p", { class: "note warn" }, warning))];
    if (!(await ask({ title: `Undo “${title(one)}”?`, body, action: "Undo" }))) return;
    await decide(one.id, "undo", { id: one.id, rebase, plan_hash: preview.plan_hash }, (answer) => `Undone: ${counted(answer.files.length, "file")}.`);
  },

  async recover(one, decision, name) {
    const body = el("p", {}, one.reason);
    if (!(await ask({ title: `${name}?`, body, action: name, isDanger: decision === "discard" }))) return;
    await decide(one.id, "recover", { id: one.id, decision }, (answer) => answer.recovered.join(" ") || "There was nothing to recover.");
  },

  async restore(kept, index) {
    const { path } = kept.contents[index];
    const body = el("p", {}, el("code", {}, path), " gets this content, whatever it has now, by a transaction of its own. It stays here until it is deleted.");
    if (!(await ask({ title: "Put it back?", body, action: "Put it back" }))) return;
    await decide(kept.id, "kept/restore", { id: kept.id, index, shown: kept.contents }, () => `Put back: ${path}.`);
  },

  async drop(kept) {
    const body = el("p", {}, `What is kept of ${kept.id} is deleted for good. No file is changed.`);
    if (!(await ask({ title: "Delete what is kept?", body, action: "Delete", isDanger: true }))) return;
    await decide(kept.id, "kept/drop", { id: kept.id, shown: kept.contents }, () => "Deleted; no file was changed.");
  },
};

byId("help").addEventListener("click", help);
listenToKeys({
  move: (by, wholeFiles) => shown?.move(by, wholeFiles).catch(showProblem),
  toggle: () => {
    const place = shown?.place();
    if (place && place.file >= 0) shown.toggle(place.file);
  },
  step: (by) => {
    const at = state?.open.findIndex((open) => open.id === selected) ?? -1;
    const next = state?.open[at + by];
    if (!next) return;
    act.select(next.id);
    byId("open-list").querySelector(`[data-id="${CSS.escape(next.id)}"]`)?.focus();
  },
  approve: (isAll) => shown && !state.read_only && act.approve(shown, isAll),
  discard: () => shown && !state.read_only && act.discard(shown),
  flip: () => act.show(view === "split" ? "unified" : "split"),
  history: () => {
    const first = byId("history-list").querySelector("button");
    (first ?? byId("history-title")).scrollIntoView({ block: "nearest" });
    first?.focus();
  },
});
// A narrow window has no room for two sides.
NARROW.addEventListener("change", () => NARROW.matches && act.show("unified"));

const LINKS = { live: "live", lost: "connecting again", refused: "no token" };
if (hasToken()) {
  listen(heard, (link) => {
    byId("link").dataset.state = link;
    byId("link").textContent = LINKS[link];
    if (link === "refused") askForToken();
  });
} else {
  askForToken();
}
