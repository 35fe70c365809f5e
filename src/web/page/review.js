// The changes of the open transaction that is selected, and what is decided about them.

import { FileRows } from "./diff.js";
import { counted, el, lazy, program, when } from "./dom.js";
import { title } from "./lists.js";
import { Selection } from "./selection.js";

/** The files that are shown in one block. */
const GROUP = 25;
const HEAD = 45;
/** The rows up to which a file is open at the start, and those of all of them. */
const OPEN_ROWS = 400;
const ALL_ROWS = 1_500;

export class Review {
  /**
   * `open` is the transaction as the state has it, `answer` its review; `before` is an earlier one, whose choices stay.
   * `act` has what is called for a decision.
   */
  constructor(state, open, answer, before, view, act) {
    Object.assign(this, { state, open, act, view });
    this.id = answer.id;
    this.plan_hash = answer.plan_hash;
    this.files = answer.files;
    this.answer = answer;
    this.selection = new Selection(answer.files, before?.selection);
    this.rest = before?.rest ?? "keep";
    this.check = before?.check ?? "";
    this.views = new Map();
    this.expanded = before ? this.kept(before) : this.first();
    this.element = el("article", { class: "review", "aria-labelledby": "review-title" },
      this.head(), this.toolbar(), this.groups(), this.bar());
    this.refresh();
  }

  get viewNumber() {
    return this.view === "split" ? 1 : 0;
  }

  /** The files that are open at the start: as many as can be read. */
  first() {
    const expanded = new Set();
    let rows = 0;
    this.files.forEach((file, index) => {
      rows += file.rows[0];
      if (file.rows[0] > 0 && file.rows[0] <= OPEN_ROWS && rows <= ALL_ROWS) expanded.add(index);
    });
    return expanded;
  }

  kept(before) {
    const paths = new Set([...before.expanded].map((index) => before.files[index].path));
    const known = new Set(before.files.map((file) => file.path));
    const first = this.first();
    const isOpen = (file, index) => (known.has(file.path) ? paths.has(file.path) : first.has(index));
    return new Set(this.files.map((file, index) => (isOpen(file, index) ? index : -1)).filter((index) => index >= 0));
  }

  head() {
    const { open, answer } = this;
    const [added, removed] = ["added", "removed"].map((name) => this.files.reduce((sum, file) => sum + file[name], 0));
    return el("header", { class: "review-head" },
      el("h2", { id: "review-title" }, title(open)),
      el("p", { class: "meta" }, el("span", { title: open.owner }, program(open.owner)), " · opened ", when(open.opened),
        " · expires ", when(answer.expires)),
      el("p", { class: "meta" }, counted(this.files.length, "file"), " · ", counts(added, removed), " · ", el("code", {}, this.id)),
      open.conflict_count > 0 ? this.conflicts() : null,
      answer.warnings.map((warning) => el("p", { class: "note warn" }, warning)));
  }

  conflicts() {
    const { conflicts, conflict_count: count } = this.open;
    const ids = [...new Set(conflicts.flatMap((one) => one.with))];
    const others = ids.map((id) => this.state.open.find((open) => open.id === id)).filter(Boolean);
    const links = others.map((other) => el("button", { type: "button", class: "small", onclick: () => this.act.select(other.id) }, title(other)));
    return el("div", { class: "note warn conflicts" },
      el("p", {}, el("strong", {}, counted(count, "conflict")), count === 1 ? ": another open transaction changes the same file. " : ": other open transactions change the same files. ",
        "Once one is committed, the other is carried over, or refused where both changed the same lines."),
      el("p", { class: "buttons" }, links));
  }

  toolbar() {
    this.allBox = el("input", {
      type: "checkbox", id: "select-all",
      onchange: (event) => this.choose(() => this.selection.setAll(event.target.checked)),
    });
    const expand = (isOpen) => () => {
      this.expanded = new Set(isOpen ? this.files.keys() : []);
      this.redraw();
    };
    this.viewButtons = ["unified", "split"].map((view) => el("button", {
      type: "button", "aria-pressed": String(view === this.view), onclick: () => this.act.show(view),
    }, view === "split" ? "Side by side" : "Unified"));
    return el("div", { class: "toolbar", role: "group", "aria-label": "What is shown" },
      el("label", { class: "choice" }, this.allBox, " All changes"),
      el("span", { class: "spread" }),
      el("button", { type: "button", class: "small", onclick: expand(true) }, "Expand all"),
      el("button", { type: "button", class: "small", onclick: expand(false) }, "Collapse all"),
      el("span", { class: "switch", role: "group", "aria-label": "View" }, this.viewButtons));
  }

  groups() {
    this.list = el("div", { class: "files" });
    this.redraw();
    return this.list;
  }

  /** Shows the files anew, as few of them as are near the window. */
  redraw() {
    this.views.clear();
    this.blocks = [];
    for (let from = 0; from < this.files.length; from += GROUP) {
      const until = Math.min(this.files.length, from + GROUP);
      const numbers = Array.from({ length: until - from }, (_, at) => from + at);
      this.blocks.push(lazy(numbers.length * HEAD, () => numbers.map((index) => this.section(index))));
    }
    this.list.replaceChildren(...this.blocks);
    if (this.files.length === 0) this.list.append(el("p", { class: "empty" }, "It would change nothing."));
  }

  section(index) {
    const file = this.files[index];
    const isOpen = this.expanded.has(index);
    const conflict = this.open.conflicts.some((one) => [file.path, file.renamed_to].includes(one.path));
    const box = el("input", {
      type: "checkbox", "data-pick": `${index}`, "aria-label": `All of ${file.path}`,
      onchange: (event) => this.choose(() => this.selection.setFile(index, event.target.checked)),
    });
    const name = el("button", {
      type: "button", class: "file-name", "aria-expanded": String(isOpen), "data-file": `${index}`,
      onclick: () => this.toggle(index),
    },
    el("span", { class: "arrow", "aria-hidden": "true" }), el("span", { class: "path" }, file.path),
    file.renamed_to ? el("span", { class: "path" }, ` → ${file.renamed_to}`) : null);
    const section = el("section", { class: "file", "aria-label": file.path, "data-section": `${index}` },
      el("div", { class: "file-head" }, box, name,
        conflict ? el("span", { class: "badge warn" }, "conflict") : null,
        file.rebased ? el("span", { class: "badge", title: "Another program changed other lines of it since it was staged" }, "carried over") : null,
        el("span", { class: `badge ${file.operation}` }, file.operation.replace("_", " ")),
        file.binary ? null : counts(file.added, file.removed)));
    if (isOpen) section.append(this.body(index));
    this.mark(box, this.selection.of(index));
    return section;
  }

  body(index) {
    const file = this.files[index];
    const notes = file.warnings?.map((warning) => el("p", { class: "note warn" }, warning)) ?? [];
    if (file.binary) {
      notes.push(el("p", { class: "note" }, `No text: ${counted(file.bytes[0], "byte")} now, ${counted(file.bytes[1], "byte")} then.`));
    } else if (file.rows[0] === 0) {
      notes.push(el("p", { class: "note" }, file.symlink_to ? `A symlink to ${file.symlink_to}.` : "Its content stays as it is."));
    } else if (file.runs === 0 && !["create", "delete"].includes(file.operation)) {
      notes.push(el("p", { class: "note" }, "It is approved as a whole, or not at all."));
    }
    const rows = file.rows[0] > 0 ? new FileRows(this, index, this.view, () => this.refresh()) : null;
    if (rows) this.views.set(index, rows);
    return el("div", { class: "file-body" }, notes, rows?.body);
  }

  toggle(index, isOpen = !this.expanded.has(index)) {
    if (isOpen) this.expanded.add(index);
    else this.expanded.delete(index);
    const section = this.list.querySelector(`[data-section="${index}"]`);
    if (!section) return;
    section.querySelector(".file-name").setAttribute("aria-expanded", String(isOpen));
    section.querySelector(".file-body")?.remove();
    this.views.delete(index);
    if (isOpen) section.append(this.body(index));
  }

  bar() {
    this.counter = el("p", { class: "counter" });
    const choice = (value, text) => el("label", { class: "choice" }, el("input", {
      type: "radio", name: "rest", value, checked: this.rest === value, onchange: () => { this.rest = value; },
    }), ` ${text}`);
    const readOnly = this.state.read_only;
    const button = (kind, text, key, decide) => el("button", { type: "button", class: kind, disabled: readOnly, "aria-keyshortcuts": key, onclick: decide }, text);
    this.approveButton = button("primary", "Approve selected", "a", () => this.act.approve(this, false));
    const check = el("label", { class: "check" }, "Check ", el("input", {
      type: "text", id: "check", placeholder: "cargo check", autocomplete: "off", spellcheck: "false", value: this.check,
      oninput: (event) => { this.check = event.target.value; },
    }));
    return el("section", { class: "bar", "aria-label": "Decision" },
      this.counter,
      el("fieldset", { class: "rest" }, el("legend", {}, "The rest"), choice("keep", "stays open"), choice("discard", "is discarded")),
      this.state.may_check ? check : null,
      this.state.is_checked ? el("p", { class: "hint" }, "The server's own check decides, too.") : null,
      readOnly ? el("p", { class: "hint" }, "This server only shows.") : null,
      el("div", { class: "buttons" }, this.approveButton,
        button("", "Approve all", "Shift+A", () => this.act.approve(this, true)),
        button("danger", "Discard", "d", () => this.act.discard(this))));
  }

  choose(change) {
    change();
    this.refresh();
  }

  mark(box, state) {
    box.checked = state === "all";
    box.indeterminate = state === "some";
  }

  /** Shows what is selected by now. */
  refresh() {
    const { count, total } = this.selection;
    this.counter.textContent = `${count.toLocaleString("en")} of ${counted(total, "change")} selected`;
    this.approveButton.disabled = this.state.read_only || count === 0;
    this.mark(this.allBox, this.selection.all);
    for (const section of this.list.querySelectorAll("[data-section]")) {
      const index = Number(section.dataset.section);
      this.mark(section.querySelector(".file-head input"), this.selection.of(index));
    }
    this.views.forEach((rows) => rows.refresh());
  }

  /** The place that the keyboard is at: a file, perhaps a change of it. */
  place() {
    const picked = document.activeElement?.closest?.("[data-pick], [data-file], [data-section]");
    const text = picked?.dataset.pick ?? picked?.dataset.file ?? picked?.dataset.section;
    if (text != null && this.element.contains(picked)) {
      const [file, run] = text.split(" ").map(Number);
      this.last = { file, run };
    }
    return this.last;
  }

  /** Moves to the next change or file (`by` 1) or the one before (-1). */
  async move(by, wholeFiles) {
    const at = this.place();
    if (!this.files.length) return;
    const runs = (file) => (this.expanded.has(file) && !wholeFiles ? this.files[file].runs : 0);
    let { file, run } = at ?? { file: by > 0 ? -1 : 0, run: undefined };
    if (by > 0) {
      const next = run == null ? 0 : run + 1;
      if (file >= 0 && next < runs(file)) run = next;
      else [file, run] = [file + 1, undefined];
    } else if (run != null && !wholeFiles) {
      run = run === 0 ? undefined : run - 1;
    } else if (wholeFiles && run != null) {
      run = undefined;
    } else {
      file -= 1;
      run = file >= 0 && runs(file) > 0 ? runs(file) - 1 : undefined;
    }
    if (file < 0 || file >= this.files.length) return;
    this.last = { file, run };
    await this.blocks[Math.floor(file / GROUP)].render();
    if (run != null) return this.views.get(file).focus(run);
    const box = this.list.querySelector(`[data-pick="${file}"]`);
    box.focus({ preventScroll: true });
    box.closest(".file-head").scrollIntoView({ block: "nearest" });
  }
}

function counts(added, removed) {
  return el("span", { class: "counts" },
    added > 0 ? el("span", { class: "added" }, `+${added.toLocaleString("en")}`) : null, added > 0 && removed > 0 ? " " : null,
    removed > 0 ? el("span", { class: "removed" }, `−${removed.toLocaleString("en")}`) : null);
}
