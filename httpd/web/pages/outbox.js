// What waits to be handed to Postfix: how much of whose, why, and what is paused.

import { get, post } from "../api.js";
import { subscribe } from "../live.js";
import { companies } from "../tenant.js";
import { button, confirm, count, danger, dialog, el, empty, header, link, notice, number, primary, remark, section, table, time } from "../ui.js";

export const title = "Outbox";

const kinds = {
  company: { text: "Company", help: "All emails of the company.", field: "company_id" },
  domain: { text: "Domain", help: "Emails that are sent as the domain.", field: "domain" },
  key: { text: "Key", help: "Emails that are sent with the key.", field: "key_id" },
};

const whose = ({ kind, company_id, domain, key_id }) => ({ [kinds[kind].field]: { company: company_id, domain, key: key_id }[kind] });
const named = ({ kind, name }) => `the ${kind} ${name || "without a name"}`;

function pause(known, changed) {
  return dialog({
    title: "Pause outgoing emails",
    text: "Programs go on sending and lose nothing: their emails wait here until they are resumed.",
    fields: [
      { name: "kind", label: "Whose", type: "choice", options: Object.entries(kinds).map(([value, { text, help }]) => ({ value, text, help })) },
      ...known.fields({ when: (now) => now.kind === "company" }),
      { name: "domain", label: "Domain", placeholder: "example.com", when: (now) => now.kind === "domain" },
      { name: "key_id", label: "Key", placeholder: "Its id, as the page Keys shows it", when: (now) => now.kind === "key" },
      { name: "reason", label: "Why", help: "For the admins who see that it is paused." },
    ],
    submit: "Pause",
    run: async ({ reason, ...values }) => {
      const made = await post("/admin/outbox/pause", { ...whose(values), reason });
      notice(`Emails of ${named(made)} are paused.`);
    },
    done: changed,
  });
}

const cancel = (one, changed) =>
  confirm(
    "Cancel what waits?",
    `All emails of ${named(one)} that wait here, are paused or scheduled will not be sent. That cannot be undone.`,
    "Cancel them",
    async () => {
      const { canceled } = await post("/admin/outbox/cancel", whose(one));
      notice(`${count(canceled, "email")} canceled.`);
    },
    changed,
  );

const whatWaits = (some) =>
  [["waiting", "wait"], ["paused", "paused"], ["scheduled", "scheduled"]]
    .map(([name, words]) => `${number(some[name])} ${words}`)
    .join(", ");

// How fast it goes, or why it does not.
function state({ breaker, rate_per_hour, ...all }) {
  if (breaker.state === "open")
    return remark("bad", el("strong", "Nothing can be handed to Postfix now."), ` ${whatWaits(all)}, since `, time(breaker.since_at), ".",
      breaker.words && el("p.said", breaker.words));
  const rate = rate_per_hour === null ? "" : ` ${count(rate_per_hour, "email")} an hour went out in the last five minutes.`;
  return remark(all.paused ? "warn" : "none", el("strong", `${whatWaits(all)}.`), rate);
}

export async function show(main, { session }) {
  const known = await companies(session);
  const where = { session, owner: session.owner, boss: session.owner && session.operator };
  const body = el("div");

  const asCompany = (row) => ({ kind: "company", company_id: row.id, name: row.name });
  const number0 = (value) => (value ? number(value) : el("span.muted", "–"));
  const columns = [
    { title: "Company", kind: "main", cell: (row) => row.name ?? el("span.muted", "a company that is gone") },
    { title: "Waiting", kind: "number", cell: (row) => number0(row.waiting) },
    { title: "Paused", kind: "number", cell: (row) => number0(row.paused) },
    { title: "Scheduled", kind: "number", cell: (row) => number0(row.scheduled) },
    { title: "Since", kind: "time", cell: (row) => time(row.since_at, { never: "–" }) },
    ...(session.operator ? [{ title: "Gone by", kind: "time", cell: (row) => time(row.done_at, { never: "not known", exact: true }) }] : []),
    { title: "Why", cell: (row) => row.why },
    ...(where.owner ? [{ title: "", kind: "actions", cell: (row) => row.name && danger("Cancel all", () => cancel(asCompany(row), look)) }] : []),
  ];
  const pauses = [
    { title: "Paused", kind: "main", cell: (row) => el("span", `${kinds[row.kind].text} `, el("strong", row.name || "without a name")) },
    ...known.columns,
    { title: "Emails", kind: "number", cell: (row) => number(row.emails) },
    { title: "Why", cell: (row) => row.reason },
    { title: "Since", kind: "time", cell: (row) => time(row.created_at) },
    ...(where.owner
      ? [{
          title: "",
          kind: "actions",
          cell: (row) => [
            where.boss && button("Resume", async () => {
              await post("/admin/outbox/resume", whose(row));
              notice(`Emails of ${named(row)} go out again.`);
              await look();
            }),
            danger("Cancel all", () => cancel(row, look)),
          ],
        }]
      : []),
  ];
  const breaks = [
    { title: "From", kind: "time", cell: (row) => time(row.opened_at, { exact: true }) },
    { title: "To", kind: "time", cell: (row) => time(row.closed_at, { never: "now", exact: true }) },
    { title: "Why", kind: "main", cell: (row) => row.words },
  ];

  async function look() {
    const now = await get("/admin/outbox");
    const list = (caption, columns, rows, key) => table({ caption, columns, rows, key }).element;
    body.replaceChildren(
      state(now),
      ...[
        now.pauses.length && section("Paused", list("What is paused", pauses, now.pauses, (row) => row.id)),
        now.data.length
          ? section("What waits", list("What waits", columns, now.data, (row) => row.id))
          : empty("Nothing waits", "Emails that Postfix cannot take at once wait here, and so do scheduled and paused ones.", link("All emails", "emails")),
        now.breaker.history.length &&
          section("When nothing could be handed to Postfix", list("Interruptions", breaks, now.breaker.history, (row) => row.opened_at)),
      ].filter(Boolean),
    );
  }

  main.append(header(title, { words: ["outbox", "queued", "scheduled", "paused"], actions: where.boss ? [primary("Pause emails", () => pause(known, look))] : [] }), body);
  await look();
  return subscribe(["emails", "tenants"], look, 4000);
}
