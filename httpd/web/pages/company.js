// One company: how much it sends, and its domains, keys, users and newest emails.

import { get, path, remove } from "../api.js";
import { accepted, outcomes, sumOf } from "../labels.js";
import { subscribe } from "../live.js";
import { badge, count, counted, danger, definitions, el, empty, go, header, link, notice, number, place, primary, section, shortId, standalone, time } from "../elements.js";
import { confirm } from "../forms.js";
import { list } from "../lists.js";
import { stateOf } from "./domains.js";
import { emailColumns, emailPlace } from "./emails.js";

export const title = "Company";

const SHOWN = 10;

// The results of a week's emails, with links to them.
function numbersOf({ data }, id) {
  const total = {};
  for (const { counts } of data) for (const [kind, n] of Object.entries(counts)) total[kind] = (total[kind] ?? 0) + n;
  const tile = (one) =>
    el("a.tile", { href: place("emails", { company: id, since: "7d", status: one.status }) },
      el("span.tile-name", one.title),
      el("span.tile-number", number(sumOf(total, one))));
  return el("div.tiles", [accepted, ...outcomes].map(tile));
}

// The first rows of a list, with a link to the whole list.
function some({ what, from, asked, all, ...options }) {
  const rows = list({ caption: what, isPart: true, load: async () => {
    const answer = await get(from, { ...asked, limit: SHOWN });
    more.hidden = !answer.has_more;
    return { ...answer, has_more: false, next: null };
  }, ...options });
  const more = el("p.list-note", { hidden: true }, link(`All ${what.toLowerCase()}`, ...all));
  return { ...rows, element: el("div", rows.element, more) };
}

export async function show(main, { id, session }) {
  const company = await get(path`/admin/companies/${id}`);
  document.title = `${company.name} · Postern`;
  const ofIt = { company: id };
  const mayChange = session.owner;
  const noDomain = empty("No domain yet", `Next: add the domain that programs of ${company.name} send as.`,
    ...(mayChange ? [primary("Add a domain", () => go("domains", { ...ofIt, create: 1 }))] : []));
  const removeIt = () =>
    confirm(
      `Remove ${company.name}?`,
      `Its ${count(company.domains, "domain")}, ${count(company.keys, "key")}, users and exemptions go with it, at once. Emails that wait are canceled; all stay on record.`,
      "Remove the company",
      () => remove(path`/admin/companies/${id}`),
      () => {
        notice(`${company.name} is removed.`);
        go("companies");
      },
    );

  const numbers = el("div");
  const what = el("div");
  const domains = some({
    what: "Domains", noun: "domain", from: "/admin/domains", asked: { company_id: id }, all: ["domains", ofIt],
    href: (domain) => place("domains", domain.id),
    columns: [
      { title: "Domain", kind: "main", sort: (domain) => domain.name, cell: (domain) => domain.name },
      { title: "State", kind: "state", cell: stateOf },
      { title: "Policy", kind: "state", cell: (domain) => (domain.pending ? null : badge(domain.policy, { tone: domain.policy === "learn" ? "warn" : "none" })) },
    ],
    empty: noDomain,
  });
  const keys = some({
    what: "Keys", noun: "key", from: "/admin/keys", asked: { company_id: id, valid: true }, all: ["keys", ofIt],
    href: (key) => place("keys", { ...ofIt, search: key.id }),
    columns: [
      { title: "Name", kind: "main", sort: (key) => key.name, cell: (key) => key.name || shortId(key.id) },
      { title: "Sender", kind: "name", cell: (key) => key.domain ?? el("span.muted", "any domain") },
      { title: "Last used", kind: "time", sort: (key) => key.last_used_at, cell: (key) => time(key.last_used_at) },
    ],
    empty: el("p.muted", "No key yet: programs need one to send."),
  });
  const users = session.owner && some({
    what: "Users", noun: "user", from: "/admin/users", asked: { company_id: id }, all: ["users", ofIt],
    columns: [
      { title: "Login", kind: "main", sort: (user) => user.login, cell: (user) => el("span.address", user.login) },
      { title: "Role", kind: "state", cell: (user) => badge(user.role, { tone: "none" }) },
      { title: "Last login", kind: "time", sort: (user) => user.last_login_at, cell: (user) => time(user.last_login_at) },
    ],
    empty: el("p.muted", "No users: only operators see this company here."),
  });
  const emails = some({
    what: "Emails", noun: "email", from: "/admin/emails", asked: { company_id: id }, all: ["emails", ofIt],
    columns: emailColumns, href: emailPlace,
    empty: el("p.muted", "No emails yet."),
  });
  emails.element.firstChild.classList.add("compact");

  const to = (text, ...where) => el("a.btn.btn-sm.btn-plain", { href: place(...where) }, text);
  main.append(
    header(company.name, {
      words: ["company"],
      back: session.operator ? { href: place("companies"), text: "Companies" } : undefined,
      actions: session.operator && mayChange ? [danger("Remove", removeIt)] : [],
    }),
    what,
    section("The last seven days", { actions: [link("Statistics", "statistics", ofIt), link("All emails", "emails", ofIt)] }, numbers),
    section("Domains", { words: ["domain", "policy", "requested"], actions: mayChange ? [to(session.operator ? "Add a domain" : "Request a domain", "domains", { ...ofIt, create: 1 })] : [] }, domains.element),
    section("Keys", { words: ["key"], actions: mayChange ? [to("Create a key", "keys", { ...ofIt, create: 1 })] : [] }, keys.element),
    ...(users ? [section("Users", { words: ["owner", "viewer"], actions: [to("Users of the company", "users", ofIt)] }, users.element)] : []),
    section("Newest emails", emails.element),
  );

  function drawCompany() {
    what.replaceChildren(definitions([
      ["Has", el("span", link(`${counted(company.domains)} ${company.domains === 1 ? "domain" : "domains"}`, "domains", ofIt), ", ", link(`${counted(company.keys)} ${company.keys === 1 ? "key" : "keys"}`, "keys", ofIt), ", ",
        link("webhooks", "webhooks", ofIt), ", ", link("suppressed addresses", "suppressions", ofIt), ", ", link("changes", "audit", ofIt))],
      ["Added", time(company.created_at)],
      ["Id", shortId(company.id)],
    ]));
  }
  const tryCompany = standalone("The company", what, async () => {
    Object.assign(company, await get(path`/admin/companies/${id}`));
    drawCompany();
  });
  const tryNumbers = standalone("The numbers of the last seven days", numbers, async () =>
    numbers.replaceChildren(numbersOf(await get("/admin/stats", { company_id: id, since: "7d", step: "day" }), id)));
  drawCompany();
  const lists = [domains, keys, users].filter(Boolean);
  await Promise.all([tryNumbers(), emails.reload(), ...lists.map((one) => one.reload())]);
  const leave = [
    subscribe(["tenants"], () => Promise.all(lists.map((one) => one.refresh()))),
    subscribe(["emails"], () => Promise.all([tryCompany(), tryNumbers(), emails.refresh()]), 4000),
  ];
  return () => leave.forEach((one) => one());
}
