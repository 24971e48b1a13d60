// Emails that wait to be submitted to Postfix: how many, whose, why, and which are paused.

import { get, post } from "../api.js";
import { subscribe } from "../live.js";
import { companies, domainPick, keyPick } from "../tenant.js";
import { button, count, danger, el, empty, header, link, notice, number, primary, remark, section, time } from "../elements.js";
import { confirm, dialog } from "../forms.js";
import { table } from "../lists.js";

export const title = "Outbox";

const kinds = {
  company: { text: "Company", help: "All emails of the company.", field: "company_id" },
  domain: { text: "Domain", help: "Emails that are sent as the domain.", field: "domain" },
  key: { text: "Key", help: "Emails that are sent with the key.", field: "key_id" },
};

const whose = ({ kind, company_id, domain, key_id }) => ({ [kinds[kind].field]: { company: company_id, domain, key: key_id }[kind] });
const named = ({ kind, name }) => `the ${kind} ${name || "without a name"}`;

// One request for each.
const ofAll = (pick) => ({ ...pick, of: undefined, find: (words) => pick.find(words, {}) });

function pause(known, changed) {
  return dialog({
    title: "Pause outgoing emails",
    text: "Programs can go on sending. Their emails wait here until somebody resumes them; nothing is lost.",
    fields: [
      { name: "kind", label: "Which emails", type: "choice", options: Object.entries(kinds).map(([value, { text, help }]) => ({ value, text, help })) },
      ...known.fields({ when: (now) => now.kind === "company" }),
      { ...ofAll(domainPick), name: "domain", label: "Domain", when: (now) => now.kind === "domain" },
      { ...ofAll(keyPick), name: "key_id", label: "Key", when: (now) => now.kind === "key" },
      { name: "reason", label: "Why", help: "Shown to other admins." },
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
    "Cancel the waiting emails?",
    `All emails of ${named(one)} that wait here, are paused or scheduled will not be sent. That cannot be undone.`,
    "Cancel them",
    async () => {
      const { canceled } = await post("/admin/outbox/cancel", whose(one));
      notice(`${count(canceled, "email")} canceled.`);
    },
    changed,
    "Keep them",
  );

const whatWaits = (some) =>
  [["waiting", "waiting"], ["paused", "paused"], ["scheduled", "scheduled"]]
    .map(([name, words]) => `${number(some[name])} ${words}`)
    .join(", ");
const allThatWaits = (all) => (all.at_least ? "At least " : "") + whatWaits(all);

// The rate of submission, or why there is none.
function state({ breaker, rate_per_hour, ...all }) {
  if (breaker.state === "open")
    return remark("bad", el("strong", "Postfix is not accepting emails."), ` ${allThatWaits(all)}, since `, time(breaker.since_at), ".",
      breaker.words && el("p.said", breaker.words));
  const rate = rate_per_hour === null ? "" : ` ${count(rate_per_hour, "email")} an hour went out in the last five minutes.`;
  return remark(all.paused ? "warn" : "none", el("strong", `${allThatWaits(all)}.`), rate);
}

export async function show(main, { session }) {
  const known = await companies(session);
  const where = { session, owner: session.owner, boss: session.owner && session.operator };
  const body = el("div");

  const asCompany = (row) => ({ kind: "company", company_id: row.id, name: row.name });
  const number0 = (value) => (value ? number(value) : el("span.muted", "–"));
  const columns = [
    { title: "Company", kind: "main", sort: (row) => row.name, cell: (row) => row.name ?? el("span.muted", "a removed company") },
    { title: "Waiting", kind: "number", sort: (row) => row.waiting, sum: (row) => row.waiting, cell: (row) => number0(row.waiting) },
    { title: "Paused", kind: "number", sort: (row) => row.paused, sum: (row) => row.paused, cell: (row) => number0(row.paused) },
    { title: "Scheduled", kind: "number", sort: (row) => row.scheduled, sum: (row) => row.scheduled, cell: (row) => number0(row.scheduled) },
    { title: "Since", kind: "time", sort: (row) => row.since_at, cell: (row) => time(row.since_at, { never: "–" }) },
    ...(session.operator ? [{ title: "Expected to be sent by", kind: "time", sort: (row) => row.done_at, cell: (row) => time(row.done_at, { never: "unknown", exact: true }) }] : []),
    { title: "Why", sort: (row) => row.why, cell: (row) => row.why },
    ...(where.owner ? [{ title: "", kind: "actions", cell: (row) => row.name && danger("Cancel all", () => cancel(asCompany(row), look)) }] : []),
  ];
  const pauses = [
    { title: "Paused", kind: "main", cell: (row) => el("span", `${kinds[row.kind].text} `, el("strong", row.name || "without a name")) },
    ...known.columns,
    { title: "Emails", kind: "number", sort: (row) => row.emails, sum: (row) => row.emails, cell: (row) => number(row.emails) },
    { title: "Why", cell: (row) => row.reason },
    { title: "Since", kind: "time", sort: (row) => row.created_at, cell: (row) => time(row.created_at) },
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
    { title: "From", kind: "time", sort: (row) => row.opened_at, cell: (row) => time(row.opened_at, { exact: true }) },
    { title: "To", kind: "time", cell: (row) => time(row.closed_at, { never: "now", exact: true }) },
    { title: "Why", kind: "main", cell: (row) => row.words },
  ];

  const now = el("div");
  const paused = table({ caption: "What is paused", noun: "pause", exported: true, columns: pauses, key: (row) => row.id });
  const waits = table({
    caption: "Emails waiting", noun: "company", nouns: "companies", exported: true, columns, key: (row) => row.id,
    empty: () => empty("The outbox is empty", "Emails wait here while Postfix cannot take them, and while they are scheduled or paused.", link("All emails", "emails")),
  });
  const broken = table({ caption: "Interruptions", noun: "interruption", exported: true, columns: breaks, key: (row) => row.opened_at });
  const parts = [
    section("Paused", paused.element),
    section("Emails waiting", waits.element),
    section("When Postfix accepted no emails", broken.element),
  ];
  body.append(now, ...parts);

  async function look() {
    const all = await get("/admin/outbox");
    now.replaceChildren(state(all));
    paused.set(all.pauses);
    waits.set(all.data);
    broken.set(all.breaker.history);
    parts[0].hidden = all.pauses.length === 0;
    parts[2].hidden = all.breaker.history.length === 0;
  }

  main.append(header(title, { words: ["outbox", "queued", "scheduled", "paused"], actions: where.boss ? [primary("Pause emails", () => pause(known, look))] : [] }), body);
  await look();
  return subscribe(["emails", "tenants"], look, 4000);
}
