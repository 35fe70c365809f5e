// Calls the server. The token comes in the fragment of the address, which a browser sends to nobody; from here on it goes in a
// header, and it is taken out of the address, so that it is in no history and no screenshot.

const KEPT = "txedit-review-token";

let token = readToken();

function readToken() {
  const given = location.hash.slice(1);
  if (/^[\x21-\x7e]{16,}$/.test(given) && given !== "detail") {
    history.replaceState(null, "", location.pathname);
    keep(given);
    return given;
  }
  try {
    return sessionStorage.getItem(KEPT);
  } catch {
    return null;
  }
}

/** Sets the token. */
export function setToken(text) {
  token = text;
  keep(text);
}

/** Keeps the token for this tab alone. */
function keep(text) {
  try {
    sessionStorage.setItem(KEPT, text);
  } catch {
    // Then it lasts until the page is loaded anew.
  }
}

// Another address of the same page: nothing is loaded anew by itself.
addEventListener("hashchange", () => {
  const before = token;
  token = readToken();
  if (token !== before) location.reload();
});

export const hasToken = () => token != null;

/** A refusal by the server: `status` is that of HTTP, `answer` the JSON. */
export class Refused extends Error {
  constructor(status, answer) {
    super(answer.error ?? `the server answered ${status}`);
    this.status = status;
    this.answer = answer;
  }
}

async function call(path, options = {}) {
  const headers = { Authorization: `Bearer ${token}`, ...options.headers };
  const answer = await fetch(`api/${path}`, { ...options, headers, credentials: "omit", redirect: "error" });
  if (!answer.ok) throw new Refused(answer.status, await answer.json().catch(() => ({})));
  return answer;
}

export const get = async (path, signal) => (await call(path, { signal })).json();

export async function post(path, body) {
  const headers = { "Content-Type": "application/json" };
  return (await call(path, { method: "POST", headers, body: JSON.stringify(body) })).json();
}

export const review = (id) => get(`review/${encodeURIComponent(id)}`);

/** Some rows of a file; with `more`, as further parameters say. */
export function piece(id, asked, more = {}) {
  return get(`review/${encodeURIComponent(id)}/file?${new URLSearchParams({ ...asked, ...more })}`);
}

/**
 * Calls `heard` with each event for as long as the page lives, and `linked` whenever the connection comes or goes. An
 * EventSource cannot send a header, so the stream is read here.
 */
export async function listen(heard, linked) {
  for (let pause = 500; ; pause = Math.min(pause * 2, 8_000)) {
    try {
      const answer = await call("events");
      linked("live");
      pause = 500;
      for await (const event of events(answer.body)) heard(event);
    } catch (error) {
      if (error instanceof Refused && error.status === 401) return linked("refused");
    }
    linked("lost");
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ; ) {
    const { done, value } = await reader.read();
    if (done) return;
    const whole = (rest + value).split("\n\n");
    rest = whole.pop();
    for (const event of whole) {
      if (event.startsWith("data: ")) yield JSON.parse(event.slice(6));
    }
  }
}
