// The JSON routes of the admin listener (httpd/admin.json).
//
//   await get("/admin/emails", { state: "bounced", limit: 50 })
//   await post("/admin/keys", { name: "shop" })
//   await patch(path`/admin/users/${id}`, { role: "owner" })
//   await remove(path`/admin/keys/${id}`)
//
// What fails throws a Problem with the server's words, which pages and forms show.

export class Problem extends Error {
  constructor(message, { status = 0, name = "", retryAfter = 0 } = {}) {
    super(message);
    this.status = status; // 0: the server was not reached
    this.code = name; // "validation_error", ...
    this.retryAfter = retryAfter; // seconds
  }
}

// Explains why an unreachable server is no disaster, and where to look.
export const away = () =>
  new Problem("The server does not answer. Nothing is lost: emails already in Postfix are delivered, the others wait in the outbox. On the server, run: systemctl status postern-httpd");

// A path with each value encoded as one segment.
export function path(texts, ...values) {
  return texts.reduce(
    (all, text, i) => all + encodeURIComponent(values[i - 1]) + text,
  );
}

// Builds a path with parameters; those that are empty or false are omitted.
export function target(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value);
  const text = new URLSearchParams(given).toString();
  return text ? `${path}?${text}` : path;
}

// Called when a response says that nobody is logged in; app.js sets it.
let onLoggedOut = () => {};
export function whenLoggedOut(call) {
  onLoggedOut = call;
}

// The server's own texts end with a full stop, the store's do not: this adds the missing one.
function sentence(text) {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
}

async function problemOf(answer) {
  const body = await answer.json().catch(() => ({}));
  const retryAfter = Number(answer.headers.get("Retry-After")) || 0;
  let text = sentence(body.message || `The server answered ${answer.status}`);
  if (retryAfter && !/try again in/i.test(text))
    text = `${text.replace(/ Please try again\.$/, "")} Try again in ${retryAfter} s.`;
  return new Problem(text, { status: answer.status, name: body.name, retryAfter });
}

// A page that nobody has touched for a while continues to poll. That must not keep a login alive
// (admin.session_idle).
const UNATTENDED_MS = 60000;
let touched = Date.now();
for (const kind of ["pointerdown", "pointermove", "keydown", "wheel"])
  addEventListener(kind, () => (touched = Date.now()), { capture: true, passive: true });

function headersOf(body) {
  const headers = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (Date.now() - touched > UNATTENDED_MS) headers["Postern-Unattended"] = "1";
  return headers;
}

const ask = (method, where, body) =>
  fetch(where, {
    method,
    headers: headersOf(body),
    body: body === undefined ? undefined : JSON.stringify(body),
    cache: "no-store",
    signal: AbortSignal.timeout(60000),
  });

async function request(method, where, body, quiet, asked = ask(method, where, body)) {
  let answer;
  try {
    answer = await asked;
  } catch {
    throw away();
  }
  if (!answer.ok) {
    const problem = await problemOf(answer);
    if (problem.status === 401 && !quiet) onLoggedOut();
    throw problem;
  }
  const json = answer.headers.get("Content-Type")?.startsWith("application/json");
  return json ? answer.json() : answer.text();
}

export const get = (path, query) => request("GET", target(path, query));
export const post = (path, body = {}) => request("POST", path, body);
export const patch = (path, body) => request("PATCH", path, body);
export const remove = (path) => request("DELETE", path);

// For callers to whom a 401 does not mean that the session is over: the login page, and dialogs
// that ask for a password again.
export const postQuietly = (path, body) => request("POST", path, body, true);

// Returns who is logged in; the first time, from the response to the request of start.js.
export function getSession() {
  const asked = globalThis.early?.session;
  globalThis.early = null;
  return request("GET", "/admin/session", undefined, true, asked ?? undefined);
}
