// Events of emails as they happen: the newest first, filtered, until the user pauses the page.
//
// The page asks only for events that were recorded after the last one that it has. So the cost is
// the same on a busy and on a quiet server, and after an interruption nothing is missing except
// events older than the rows that it keeps.

import { get } from "../api.js";
import { badge, button, el, empty, go, header, link, number, place, time } from "../elements.js";
import { filters } from "../forms.js";
import { remembered, table } from "../lists.js";
import { eventKinds, textOf, titleOf, toneOfStatus } from "../labels.js";
import { subscribe } from "../live.js";
import { companies, domainPick } from "../tenant.js";

export const title = "Events";

const PAGE = 100; // of events in an answer
const ROWS_MAX = 500;

const keyOf = (event) => `${event.email_id}.${event.id}`;

// The reply of the other server, with its code and name where the reply does not contain them.
function answerOf({ remote, dsn, message, address, host }) {
  const code = dsn && !message?.includes(dsn) && ` ${dsn}`;
  const name = remote && remote !== "none" && !message?.startsWith("host ") && ` by ${remote}`;
  const where = host && el("span.muted", ` (host ${host})`);
  if (!message && !address) return where || null;
  return el("span.said-short", { title: message }, address && el("span.muted", `to ${address} `), message, el("span.muted", code, name), where);
}

export async function show(main, { query, session }) {
  const known = await companies(session);
  const narrow = filters({
    query,
    fields: [
      { name: "recipient", label: "Recipient", type: "search", placeholder: "ann@example.com" },
      { name: "kind", label: "Event", type: "select", options: [{ value: "", text: "Any event" }, ...eventKinds.map((value) => ({ value, text: titleOf(value) }))] },
      ...known.filter(),
      { ...domainPick, name: "domain", label: "Domain", any: "Any domain" },
    ],
    change: () => begin(),
  });
  const isNarrowed = () => Object.values(narrow.values()).some(Boolean);

  let rows = [];
  let newest = null; // where the events begin that this page has not seen
  let lookedUntil = null;
  let isPaused = false;
  let isCut = false;
  let isOlder = false; // there are older events than those of the page
  let turn = 0;

  const grid = table({
    caption: title,
    noun: "event",
    // A link to all events that match the filters; this page shows only the newest.
    exported: { load: (after, limit) => ask({ after, limit }), behind: ({ next }) => next },
    key: keyOf,
    href: (event) => place("emails", event.email_id),
    changed: tell,
    columns: [
      {
        title: "Recipient",
        kind: "tight",
        cell: (event) => [el("span.address", event.recipient), el("span.said-short.muted", { title: event.subject }, event.subject || "(no subject)")],
      },
      { title: "Answer", kind: "main", cell: answerOf },
      { title: "Domain", kind: "extra", cell: (event) => event.domain },
      // The newest event is always the first.
      ...known.columns.map(({ sort, ...column }) => ({ ...column, kind: "extra" })),
      {
        title: "Event",
        kind: "state",
        words: eventKinds.map(textOf),
        cell: (event) => badge(event.kind, { tone: toneOfStatus(event.kind), title: event.attempt > 1 ? `${event.kind_text}, attempt ${event.attempt}` : event.kind_text }),
      },
      { title: "When", kind: "time", cell: (event) => time(event.occurred_at, { exact: true }) },
    ],
    empty: () =>
      lookedUntil
        ? empty("None of the newest events matches", el("span", "The newest 5,000 events were searched, back to ", time(lookedUntil, { exact: true }),
            ". New events that match appear here. Older ones are on the pages of their emails."), link("Search emails", "emails"))
        : isNarrowed()
        ? empty("No event matches", "New events that match appear here.", button("Show all events", () => go("events")))
        : empty("No events yet", "What happens to emails appears here: deliveries, deferrals, bounces, complaints."),
  });
  const note = el("p.muted.list-note", { role: "status" });
  const pause = button("Pause", () => {
    isPaused = !isPaused;
    pause.textContent = isPaused ? "Resume" : "Pause";
    tell();
    if (!isPaused) return follow();
  });

  // Rows that the user pages through stay in place.
  const holds = () => isPaused || !grid.isAtStart();
  function tell() {
    const text = isPaused
      ? "Paused. Nothing is lost: the events since then appear when you resume."
      : !grid.isAtStart()
      ? "New events appear when you are back on the first page."
      : isCut
      ? `Events come fast: only the newest ${number(ROWS_MAX)} are kept here.`
      : "New events appear here by themselves.";
    if (note.textContent !== text) note.textContent = text;
  }

  function draw() {
    grid.set(rows, { newest: isOlder });
    tell();
  }

  function ask(page) {
    const { company, ...rest } = narrow.values();
    return get("/admin/events", { ...rest, company_id: company, ...page });
  }
  const load = (before) => ask({ before, limit: PAGE });

  // A user who comes back from an email finds the rows as they were.
  const kept = remembered();
  const keep = () => kept.set("events", { rows, newest, lookedUntil, isCut, isOlder });

  async function begin() {
    const mine = ++turn;
    const answer = await load();
    if (mine !== turn) return;
    rows = answer.data;
    ({ newest } = answer);
    lookedUntil = answer.looked_until;
    isCut = false;
    isOlder = answer.has_more;
    grid.toStart();
    draw();
  }

  // Adds the events recorded since. If there are more than the page keeps, it starts again with the
  // newest.
  async function follow() {
    if (holds()) return;
    if (!newest) return begin();
    const mine = turn;
    for (let looked = 0; looked < ROWS_MAX; looked += PAGE) {
      let answer;
      try {
        answer = await load(newest);
      } catch (error) {
        // The event was removed together with its email.
        if (mine === turn && error.code === "invalid_parameter") return begin();
        throw error;
      }
      if (mine !== turn || holds()) return;
      newest = answer.newest ?? newest;
      rows = [...answer.data, ...rows];
      isCut ||= rows.length > ROWS_MAX;
      isOlder ||= isCut;
      rows = rows.slice(0, ROWS_MAX);
      draw();
      if (!answer.has_more) return;
    }
    await begin();
    isCut = true;
    tell();
  }

  async function comeBack() {
    const before = kept.get("events");
    if (!before?.rows.length) return begin();
    ({ rows, newest, lookedUntil, isCut, isOlder } = before);
    draw();
    return follow();
  }

  main.append(
    header(title, { actions: [pause], words: ["event"], about: "What happens to emails, as Postern learns of it. Mail that the rules stopped is on the page Refusals." }),
    narrow.element,
    note,
    el("div.list.compact", grid.element),
  );
  await comeBack();
  const leave = subscribe(["emails"], follow);
  return () => {
    keep();
    leave();
  };
}
