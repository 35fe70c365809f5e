// The changes of one file: rows that are fetched and shown in blocks, while they are near the window.

import { el, lazy } from "./dom.js";
import { piece } from "./server.js";
import { language, places } from "./syntax.js";

const PIECE = 500;
const BLOCK = 100;
/** The rows that are shown at a time of a very long file. */
const PART = 50_000;
const ROW = 20;
/** The pieces that are kept of each file. */
const KEPT = 8;

export const VIEWS = ["unified", "split"];

export class FileRows {
  /** `review` has `id`, `plan_hash` and `selection`; `changed` is called when a change is selected or not. */
  constructor(review, index, view, changed) {
    Object.assign(this, { review, index, view, changed, part: 0, pieces: new Map() });
    this.file = review.files[index];
    this.total = this.file.rows[VIEWS.indexOf(view)];
    this.languages = { old: language(this.file.path), new: language(this.file.renamed_to ?? this.file.path) };
    this.body = el("div", { class: `rows ${view}` });
    this.show();
  }

  /** Shows the part of the rows that is chosen; all of them, unless they are very many. */
  show() {
    const from = this.part * PART;
    const until = Math.min(this.total, from + PART);
    this.blocks = [];
    for (let row = from; row < until; row += BLOCK) {
      const count = Math.min(BLOCK, until - row);
      this.blocks.push(lazy(count * ROW, () => this.rows(row, count)));
    }
    const pager = () => (this.total > PART ? [this.pager(from, until)] : []);
    this.body.replaceChildren(...pager(), ...this.blocks, ...pager());
  }

  pager(from, until) {
    const go = (by) => {
      this.part += by;
      this.show();
      this.body.scrollIntoView();
    };
    const number = (count) => count.toLocaleString("en");
    return el("p", { class: "pager" },
      el("button", { type: "button", class: "small", disabled: from === 0, onclick: () => go(-1) }, "Back"),
      ` Rows ${number(from + 1)} to ${number(until)} of ${number(this.total)} `,
      el("button", { type: "button", class: "small", disabled: until === this.total, onclick: () => go(1) }, "On"));
  }

  ask(from, count, more) {
    const { id, plan_hash } = this.review;
    return piece(id, { index: this.index, plan_hash, view: this.view, from, count }, more);
  }

  piece(number) {
    let found = this.pieces.get(number);
    if (!found) {
      found = this.ask(number * PIECE, PIECE).then((answer) => answer.rows);
      found.catch(() => this.pieces.delete(number));
    }
    // The one that was used last is the last to go.
    this.pieces.delete(number);
    this.pieces.set(number, found);
    if (this.pieces.size > KEPT) this.pieces.delete(this.pieces.keys().next().value);
    return found;
  }

  async rows(from, count) {
    const rows = await this.piece(Math.floor(from / PIECE));
    const at = from % PIECE;
    return rows.slice(at, at + count).map((row, offset) => this.row(row, from + offset));
  }

  row(row, number) {
    if (row.kind === "gap") {
      return el("div", { class: "row gap" }, el("span", { class: "hidden-lines" }, `${row.hidden.toLocaleString("en")} unchanged ${row.hidden === 1 ? "line" : "lines"}`));
    }
    const isChanged = row.kind === "changed";
    const pick = el("span", { class: "pick" }, row.first && this.file.runs > 0 ? this.pick(row.run) : null);
    const classes = `row ${row.kind}${isChanged && this.isTaken(row.run) ? " taken" : ""}${row.first ? " first" : ""}`;
    const attributes = { class: classes, "data-run": row.run };
    const [old, now] = [row.old, row.new];
    if (this.view === "split") {
      const right = isChanged ? now : { ...old, number: now.number };
      return el("div", attributes, pick, this.side(old, isChanged ? "del" : "", number), this.side(right, isChanged ? "add" : "", number));
    }
    const line = old?.text ? old : now;
    const sign = !isChanged ? "" : old ? "−" : "+";
    return el("div", attributes, pick,
      el("span", { class: "number" }, old ? String(old.number) : ""),
      el("span", { class: "number" }, now ? String(now.number) : ""),
      el("span", { class: "sign" }, sign),
      this.code(line, sign === "−" ? "del" : sign ? "add" : "", number));
  }

  /** A file that is taken as a whole counts as one change. */
  isTaken(run) {
    return this.review.selection.has(this.index, this.file.runs > 0 ? run : 0);
  }

  side(line, kind, number) {
    return [
      el("span", { class: "number" }, line ? String(line.number) : ""),
      line ? this.code(line, kind, number) : el("span", { class: "code blank" }),
    ];
  }

  /** A line; the words that changed are every second of its parts. */
  code(line, kind, number) {
    const pattern = kind === "add" ? this.languages.new : this.languages.old;
    const colours = pattern ? places(line.text.join(""), pattern) : [];
    let start = 0;
    const parts = line.text.map((part, at) => {
      const nodes = coloured(part, start, colours);
      start += part.length;
      return at % 2 ? el(kind === "del" ? "del" : "ins", {}, nodes) : nodes;
    });
    const code = el("span", { class: `code ${kind}` }, parts.flat());
    if (line.cut) code.append(this.more(line.cut, number));
    if (line.unended) code.append(el("span", { class: "mark", title: "no line break at the end of the file" }, "no line break"));
    return code;
  }

  /** Shows the rest of a line that is very long. */
  more(cut, number) {
    const show = async () => {
      const { rows } = await this.ask(number, 1, { whole: "1" });
      button.closest(".row").replaceWith(this.row(rows[0], number));
    };
    const button = el("button", { type: "button", class: "small", onclick: show }, `${cut.toLocaleString("en")} more characters`);
    return button;
  }

  pick(run) {
    return el("input", {
      type: "checkbox", "data-pick": `${this.index} ${run}`, checked: this.review.selection.has(this.index, run),
      "aria-label": `Change ${run + 1} of ${this.file.runs} in ${this.file.path}`,
      onchange: (event) => {
        this.review.selection.set(this.index, run, event.target.checked);
        this.changed();
      },
    });
  }

  /** Shows what is selected by now. */
  refresh() {
    for (const row of this.body.querySelectorAll(".row.changed")) {
      const isTaken = this.isTaken(Number(row.dataset.run));
      row.classList.toggle("taken", isTaken);
      const box = row.querySelector("input[type=checkbox]");
      if (box) box.checked = isTaken;
    }
  }

  /** Shows a change, wherever it is, and gives it the focus. */
  async focus(run) {
    const { row } = await this.ask(0, 0, { run });
    const part = Math.floor(row / PART);
    if (part !== this.part) {
      this.part = part;
      this.show();
    }
    await this.blocks[Math.floor((row - part * PART) / BLOCK)].render();
    const box = this.body.querySelector(`[data-pick="${this.index} ${run}"]`);
    box?.focus({ preventScroll: true });
    box?.closest(".row").scrollIntoView({ block: "center" });
  }
}

/** A part of a line, which begins at `start` of it, with the colours of the line. */
function coloured(part, start, colours) {
  const nodes = [];
  let at = 0;
  for (const [from, until, kind] of colours) {
    const [first, end] = [Math.max(from - start, at), Math.min(until - start, part.length)];
    if (first >= end) continue;
    nodes.push(part.slice(at, first), el("span", { class: `in-${kind}` }, part.slice(first, end)));
    at = end;
  }
  nodes.push(part.slice(at));
  return nodes.filter((node) => node !== "");
}
