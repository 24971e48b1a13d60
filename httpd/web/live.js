// Notifications about changes, from the server (GET /admin/live).
//
//   return subscribe(["emails"], list.refresh);   // what show() returns ends the subscription
//
// Topics: "emails" (and their events), "refusals", "tenants" (companies, domains, keys, users:
// everything in the audit log). The function may be async. It is called again two seconds after it
// has ended, or later if it takes long: with a large store, open pages must not slow down the mail.
// A subscriber whose requests are expensive gives a minimum interval in milliseconds.
//
// A page reads its data, then subscribes. It reads them again at once only if something may have
// changed meanwhile: there was a notification, or the stream was not open yet. The first stream is
// therefore opened early, by start.js if somebody was logged in at the last visit.

const topics = ["emails", "refusals", "tenants"];
const GAP_MS = 2000;
const GAP_MAX_MS = 15000;
const GAP_FACTOR = 150; // of the time that a call takes
const POLL_MS = 15000;
const LINGER_MS = 30000; // a stream without subscribers is kept, for the next page

const subscribers = new Set();
const toldAt = new Map();
let readAt = 0; // when the page that is shown began to read its data
let openAt = 0; // when the stream was opened; 0 while it is not open
let source = null;
let poll = null;
let state = "off";
let onState = () => {};

// "live", "polling" (there is no stream, so the page polls now and then), "lost" (the server cannot
// be reached), or "off".
export function whenLiveChanges(call) {
  onState = call;
  onState(state);
}
function setState(now) {
  state = now;
  onState(now);
}

// Called before a page reads its data.
export function startReading() {
  readAt = performance.now();
}

async function run(one) {
  const began = performance.now();
  one.busy = true;
  one.wanted = false;
  try {
    await one.call();
  } catch {
    // The next change tries again; a page that cannot be loaded shows that itself.
  }
  const gap = GAP_FACTOR * (performance.now() - began);
  setTimeout(() => {
    one.busy = false;
    if (one.wanted && subscribers.has(one)) run(one);
  }, Math.max(one.gap, Math.min(GAP_MAX_MS, gap)));
}

function tell(topic) {
  if (topic !== undefined) toldAt.set(topic, performance.now());
  for (const one of subscribers)
    if (topic === undefined || one.topics.includes(topic)) {
      if (one.busy) one.wanted = true;
      else run(one);
    }
}

// Called again after each failed attempt. A running timer is kept: if it were restarted each time,
// it would never fire.
function pollFrom(now) {
  if (now && poll) return;
  clearInterval(poll);
  poll = now ? setInterval(tell, POLL_MS) : null;
}

function opened(at) {
  openAt = at;
  pollFrom(false);
  setState("live");
}

function listen(stream) {
  source = stream;
  source.onopen = () => {
    opened(performance.now());
    // Something may have changed since the page read its data.
    tell();
  };
  source.onerror = () => {
    openAt = 0;
    pollFrom(true);
    // The browser reconnects by itself, unless the response was no event stream.
    const refused = source?.readyState === EventSource.CLOSED;
    setState(refused ? "polling" : "lost");
    if (refused) {
      source = null;
      setTimeout(check, POLL_MS);
    }
  };
  for (const topic of topics) source.addEventListener(topic, () => tell(topic));
}

function close() {
  source?.close();
  source = null;
  openAt = 0;
  pollFrom(false);
  setState("off");
}

// Browsers open few connections to one server, so a hidden page has no stream.
function check() {
  const wanted = subscribers.size > 0 && document.visibilityState === "visible";
  if (wanted && !source) listen(new EventSource("/admin/live"));
  if (!wanted && (source || poll)) close();
}

document.addEventListener("visibilitychange", () => {
  check();
  if (document.visibilityState === "visible") tell();
});

export function subscribe(wanted, call, gap = GAP_MS) {
  const one = { topics: wanted, call, gap, busy: false, wanted: false };
  subscribers.add(one);
  check();
  if (openAt > readAt || wanted.some((topic) => toldAt.get(topic) > readAt)) run(one);
  return () => {
    subscribers.delete(one);
    setTimeout(check, LINGER_MS);
  };
}

// Called when it is known whether somebody is logged in. Opens the stream, unless start.js has, and
// closes it for nobody.
export function follow(isLoggedIn) {
  try {
    if (isLoggedIn) localStorage.setItem("postern.login", "1");
    else localStorage.removeItem("postern.login");
  } catch {
    // Without storage start.js opens no stream.
  }
  if (!isLoggedIn) close();
  if (!isLoggedIn || source || document.visibilityState !== "visible") return;
  listen(new EventSource("/admin/live"));
  setTimeout(check, LINGER_MS);
}

const early = globalThis.early?.live;
if (early && early.readyState !== EventSource.CLOSED) {
  listen(early);
  if (early.readyState === EventSource.OPEN) opened(globalThis.early.liveAt);
  setTimeout(check, LINGER_MS);
}
