// Mail that the rules stopped or would have stopped, and what would let it pass.

import { get } from "../api.js";
import { badge, button, count, el, empty, go, header, link, number, section, time } from "../elements.js";
import { filters } from "../forms.js";
import { list } from "../lists.js";
import { refusalOutcomes } from "../labels.js";
import { subscribe } from "../live.js";
import { companies, domainPick } from "../tenant.js";
import { suggestions } from "./exemptions.js";

export const title = "Refusals";

function who(refusal) {
  if (refusal.login) return ["login ", el("strong", refusal.login)];
  if (refusal.client) return ["client ", el("strong", refusal.client)];
  return refusal.host ? `host ${refusal.host}` : "this host";
}

// For at most this many domains with the policy learn, the page shows at once who else sends as
// them.
const ADVISED = 5;

function advice(domain, found, session, changed) {
  const mayChange = session.operator && session.owner;
  return section(
    `Who else sends as ${domain}`,
    {
      about:
        "The narrowest exemption for each sender that was stopped, or would be." +
        (mayChange ? "" : " An operator can add them.") +
        (found.hopeless ? ` For ${count(found.hopeless, "message")}, no exemption would help.` : ""),
      actions: [link("All exemptions", "exemptions", { search: domain })],
    },
    suggestions({ domain, rows: found.data, mayChange, changed }),
  );
}

export async function show(main, { query, session }) {
  const [known, domains] = await Promise.all([companies(session), get("/admin/domains", { limit: 100 })]);
  const help = el("div");
  const narrow = filters({
    query,
    fields: [
      ...known.filter(),
      { ...domainPick, name: "domain", label: "Domain", any: "Any domain" },
      {
        name: "learnt",
        label: "Outcome",
        type: "select",
        options: [
          { value: "", text: "Everything" },
          { value: "true", text: "Only let through (policy learn)" },
        ],
      },
    ],
    change: () => Promise.all([refusals.reload(), advise()]),
  });

  const refusals = list({
    caption: title,
    noun: "refusal",
    load: (after, limit = 100) => {
      const { company, ...rest } = narrow.values();
      return get("/admin/refusals", { ...rest, company_id: company, after, limit });
    },
    key: (row) => JSON.stringify([row.outcome, row.reason, row.domain, row.origin, row.client, row.login, row.sender, row.from]),
    columns: [
      { title: "From", sort: (row) => row.from || row.sender, cell: (row) => el("span.address", { title: row.sender && `envelope sender ${row.sender}` }, row.from || row.sender || "no sender") },
      { title: "Sent by", cell: who },
      { title: "Why", kind: "main", sort: (row) => row.reason_text, cell: (row) => el("span", { title: row.reason }, row.reason_text) },
      { title: "Outcome", kind: "state", sort: (row) => row.outcome, cell: (row) => badge(row.outcome, refusalOutcomes[row.outcome]) },
      { title: "Times", kind: "number", sort: (row) => row.count, sum: (row) => row.count, cell: (row) => number(row.count) },
      { title: "Last", kind: "time", sort: (row) => row.last_at, cell: (row) => time(row.last_at) },
    ],
    empty: () =>
      Object.values(narrow.values()).some(Boolean)
        ? empty("No refusal matches", null, button("Show all", () => go("refusals")))
        : empty(
            "No refusals yet",
            "Mail that uses a registered domain without a key and without an exemption appears here. So does mail that is let through because the policy of its domain is learn.",
            link("Domains and their policies", "domains"),
          ),
  });

  // Of the chosen domain, otherwise of those with the policy learn.
  async function advise() {
    const { domain } = narrow.values();
    const learning = domains.data.filter((one) => one.policy === "learn" && !one.pending).map((one) => one.name);
    const wanted = domain ? [domain] : learning.slice(0, ADVISED);
    const left = domain ? 0 : learning.length - wanted.length;
    const found = await Promise.all(
      wanted.map((name) => get("/admin/suggestions", { domain: name }).catch(() => ({ data: [] }))),
    );
    help.replaceChildren(
      ...wanted.flatMap((name, i) => (found[i].data.length ? [advice(name, found[i], session, changed)] : [])),
      ...(left > 0
        ? [el("p.muted", `${number(left)}${domains.has_more ? " or more" : ""} other domains have the policy learn: choose one above to see who else sends as it.`)]
        : []),
    );
  }
  const changed = () => Promise.all([refusals.refresh(), advise()]);

  main.append(
    header(title, {
      words: ["refusal", "rejected", "held", "discarded", "let through", "refused"],
      about: ["Mail without a key that the rules stopped, or would have stopped. Similar messages share a row. Refused emails of keys are in the list of ",
        link("emails", "emails", { status: "refused" }), "."],
    }),
    narrow.element,
    refusals.element,
    help,
  );
  await Promise.all([refusals.reload(), advise()]);
  return subscribe(["refusals", "tenants"], changed);
}
