// Makes elements. Whatever comes from the server becomes text, never markup: nothing here reads HTML.

/** An element with attributes, listeners (`onclick: …`) and children; a string is a text. */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, String(value));
  }
  element.append(...children.flat().filter((child) => child != null && child !== false));
  return element;
}

export const byId = (id) => document.getElementById(id);

/** `1 file`, `2 files`. */
export function counted(count, word) {
  return `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
}

/** A time as people say it: how long ago, or how long from now. */
export function relative(time) {
  const seconds = (new Date(time) - Date.now()) / 1000;
  const format = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
  for (const [unit, length] of [["day", 86_400], ["hour", 3_600], ["minute", 60]]) {
    if (Math.abs(seconds) >= length) return format.format(Math.trunc(seconds / length), unit);
  }
  return seconds > 0 ? "in a moment" : "just now";
}

/** A time in an element that tells it exactly. */
export function when(time) {
  return el("time", { datetime: time, title: new Date(time).toLocaleString() }, relative(time));
}

/** The name of a program, without the process that it was. */
export function program(owner) {
  return owner.replace(/(, process \d+ of user \d+.*| \(process \d+, user \d+\).*)$/, "");
}

/** Tells somebody who does not look, and shows it to everybody for a while. */
export function say(text) {
  const said = byId("said");
  // What was said a moment ago is still being read.
  const before = Date.now() - (say.at ?? 0) < 3_000 ? said.textContent : "";
  said.textContent = before && before !== text && before.length < 200 ? `${before} ${text}` : text;
  said.classList.add("shown");
  say.at = Date.now();
  clearTimeout(say.timer);
  say.timer = setTimeout(() => said.classList.remove("shown"), 6_000);
}

const seen = new IntersectionObserver(
  (entries) => entries.forEach((entry) => entry.target.lazy?.(entry.isIntersecting)),
  { rootMargin: "900px 0px" },
);

/**
 * A block that has content only while it is near the window, so that a page of any length has few elements. Until it was
 * seen, it is as high as it is expected to be; afterwards, as high as it was.
 */
export function lazy(height, fill) {
  const block = el("div", { class: "lazy" });
  block.style.height = `${height}px`;
  let turn = 0;
  block.render = async () => {
    if (block.isFull) return;
    const mine = ++turn;
    const nodes = await fill();
    if (mine !== turn || block.isFull) return;
    block.isFull = true;
    block.replaceChildren(...nodes);
    block.style.height = "";
  };
  block.lazy = (isNear) => {
    if (isNear) {
      block.render().catch((error) => block.replaceChildren(el("p", { class: "note bad" }, error.message)));
    } else if (block.isFull && !block.contains(document.activeElement) && block.isConnected) {
      turn += 1;
      block.style.height = `${block.offsetHeight}px`;
      block.isFull = false;
      block.replaceChildren();
    }
  };
  seen.observe(block);
  return block;
}
