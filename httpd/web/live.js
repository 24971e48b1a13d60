// What has changed, as the server tells it (GET /admin/live).
//
//   return subscribe(["emails"], list.refresh);   // what show() returns is called on leaving
//
// Topics: "emails" (and what became of them), "refusals", "tenants" (companies,
// domains, keys, users: all that the audit log has). The function may be async:
// it is called again two seconds after it has ended, or later when it takes
// long: with a large store the pages that are open must not slow down the mail.
// What costs the server more says after how many milliseconds at the earliest.

const topics = ["emails", "refusals", "tenants"];
const GAP_MS = 2000;
const GAP_MAX_MS = 15000;
const GAP_FACTOR = 150; // of the time that a call takes
const POLL_MS = 15000;

// What was told so lately may have come while a page that subscribes was loaded.
const LATELY_MS = 15000;

const subscribers = new Set();
const toldAt = new Map();
let source = null;
let poll = null;
let onState = () => {};

// "live", "polling" (there is no stream: the page asks now and then), "lost" (the
// server is not reached), or "off".
export function whenLiveChanges(call) {
  onState = call;
}

async function run(one) {
  const began = performance.now();
  one.busy = true;
  one.wanted = false;
  try {
    await one.call();
  } catch {
    // The next change tries again; a page that cannot be loaded says so itself.
  }
  const gap = GAP_FACTOR * (performance.now() - began);
  setTimeout(() => {
    one.busy = false;
    if (one.wanted && subscribers.has(one)) run(one);
  }, Math.min(GAP_MAX_MS, Math.max(one.gap, gap)));
}

function tell(topic) {
  if (topic !== undefined) toldAt.set(topic, performance.now());
  for (const one of subscribers)
    if (topic === undefined || one.topics.includes(topic)) {
      if (one.busy) one.wanted = true;
      else run(one);
    }
}

// Each try that fails calls this again: what runs goes on, or it would never end.
function pollFrom(now) {
  if (now && poll) return;
  clearInterval(poll);
  poll = now ? setInterval(tell, POLL_MS) : null;
}

function open() {
  source = new EventSource("/admin/live");
  source.onopen = () => {
    // Something may have changed since the page asked.
    tell();
    pollFrom(false);
    onState("live");
  };
  source.onerror = () => {
    pollFrom(true);
    // The browser comes again by itself, unless the answer was no stream.
    const refused = source?.readyState === EventSource.CLOSED;
    onState(refused ? "polling" : "lost");
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
  pollFrom(false);
  onState("off");
}

// A browser opens few connections to a server: a page that nobody sees has none.
function check() {
  const wanted = subscribers.size > 0 && document.visibilityState === "visible";
  if (wanted && !source) open();
  if (!wanted && source) close();
}

document.addEventListener("visibilitychange", () => {
  check();
  if (document.visibilityState === "visible") tell();
});

export function subscribe(wanted, call, gap = GAP_MS) {
  const one = { topics: wanted, call, gap, busy: false, wanted: false };
  subscribers.add(one);
  check();
  if (wanted.some((topic) => performance.now() - toldAt.get(topic) < LATELY_MS)) run(one);
  return () => {
    subscribers.delete(one);
    // The next page subscribes in a moment.
    setTimeout(check, 1000);
  };
}
