// The first page of an admin: what needs attention, the amount of mail and its results, the newest
// emails, and the parts of Postern.

import { get } from "../api.js";
import { badge, button, count, el, go, header, link, number, place, primary, section, standalone, time, two, withTimes } from "../elements.js";
import { list, table } from "../lists.js";
import { plotOf } from "../charts.js";
import { combo } from "../combo.js";
import { accepted, hostStates, outcomes, services, sumOf, undelivered } from "../labels.js";
import { subscribe } from "../live.js";
import { companyPick, matches } from "../tenant.js";
import { emailColumns, emailPlace, sendTest } from "./emails.js";

export const title = "Overview";

const HOUR = 3600e3;
const DAY = 24 * HOUR;
const ranges = [
  { name: "24 hours", since: "1d", step: "hour", length: HOUR, n: 24 },
  { name: "7 days", since: "7d", step: "hour", length: HOUR, n: 168 },
  { name: "30 days", since: "30d", step: "day", length: DAY, n: 30 },
];

const add = (all, counts) => {
  for (const [kind, n] of Object.entries(counts)) all[kind] = (all[kind] ?? 0) + n;
  return all;
};

// The counts of each step, including steps in which nothing happened.
function steps(stats, range) {
  const found = new Map(stats.data.map((step) => [Date.parse(step.time), step.counts]));
  const end = Math.floor(Date.now() / range.length) * range.length;
  return Array.from({ length: range.n + 1 }, (_, i) => {
    const at = end - (range.n - i) * range.length;
    return { at, counts: found.get(at) ?? {} };
  });
}

function labelOf(at, range) {
  const date = new Date(at);
  // Days are those of UTC, as the server counts them.
  if (range.step === "day") return date.toISOString().slice(5, 10);
  const day = `${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return range.n > 24 ? `${day} ${two(date.getHours())}:00` : `${two(date.getHours())}:00`;
}

const levels = {
  problem: { order: 0, text: "Problem", tone: "bad" },
  warning: { order: 1, text: "To do", tone: "warn" },
  hint: { order: 2, text: "Hint", tone: "none" },
};
// The subjects of items, by their codes.
const kinds = [
  { title: "Outgoing mail", codes: "queued lost left_without_rules expired_without_rules paused outbox_full outbox_crowded breaker late" },
  { title: "Held mail", codes: "held held_late" },
  { title: "Deliveries", codes: "delayed bounces suppressions_full" },
  { title: "Domains", codes: "pending learnt" },
  { title: "Keys", codes: "key_refused keys_unused keys_forgotten" },
  { title: "Webhooks", codes: "webhooks webhook_disabled webhook_failing" },
  { title: "This server", codes: "" },
].map((kind) => ({ ...kind, codes: kind.codes.split(" ") }));
const kindOf = ({ code }) => kinds.find(({ codes }) => codes.includes(code)) ?? kinds.at(-1);
const inOrder = (a, b) => levels[a.level].order - levels[b.level].order;

// The text of an item, with links to its examples.
function withExamples({ text, examples = [], count: n }) {
  const parts = [];
  let rest = text;
  for (const { name, page } of n > 1 ? examples : []) {
    const at = rest.indexOf(name);
    if (at < 0) continue;
    parts.push(rest.slice(0, at), el("a", { href: `#/${page}` }, name));
    rest = rest.slice(at + name.length);
  }
  return [...parts, ...withTimes(rest)];
}

// Kinds with a problem first; within a kind the worst first.
function attention(items) {
  const groups = kinds
    .map((kind) => ({ ...kind, items: items.filter((item) => kindOf(item) === kind).sort(inOrder) }))
    .filter((group) => group.items.length)
    .sort((a, b) => inOrder(a.items[0], b.items[0]));
  const line = (item) =>
    el("li",
      badge(item.level, levels[item.level]),
      el("span", withExamples(item)),
      el("a", { href: `#/${item.page}`, "aria-label": `Open: ${item.text}` }, "Open"));
  return section(
    "Needs attention",
    { words: ["held", "outbox", "refusal", "learn", "exemption", "requested", "postern-milter", "webhook", "suppressed"] },
    groups.map(({ title, items }) =>
      el("div.attention-kind", el("h3", title), el("ul.attention", items.map(line)))),
  );
}

// The next steps on an empty system, in order.
function beginning({ companies, domains, keys, session }) {
  const active = domains.some((domain) => domain.active);
  let isNext = true;
  const step = (done, name, words, action) => {
    const line = el("li", { class: done ? "done" : "" }, el("strong", name), el("span", words), !done && isNext && session.owner && action);
    isNext &&= done;
    return line;
  };
  return section(
    "First steps",
    { about: "What a program needs before it can send: a domain of its company, and a key." },
    el("ol.steps",
      session.operator && step(companies.length > 0, "A company", "owns the domains and keys.", link("Add one", "domains")),
      step(active, "A domain", "that the emails come from.", link(session.operator ? "Add one" : "Request one", "domains")),
      step(keys.some((key) => !key.revoked_at), "A key", "for the program that sends them.", link("Create one", "keys", { create: 1 })),
      step(false, "An email", "to test that all of this works.", session.owner && primary("Send a test email", sendTest))),
  );
}

function healthOf(health) {
  const part = ({ name, ok, text, effect, cure }) =>
    el("li",
      badge(ok ? "ok" : "not_ok"),
      el("span", el("strong", services[name] ?? name), " ", el("span.muted", withTimes(text)),
        effect && el("p", el("span.muted", "What it means: "), effect),
        cure && el("p", el("span.muted", "What to do: "), cure)));
  const [good, bad] = [true, false].map((ok) => health.parts.filter((one) => one.ok === ok));
  if (!bad.length) return section("Services", el("ul.attention", good.map(part)));
  return section(
    "Services",
    el("ul.attention", bad.map(part)),
    good.length > 0 && el("details", el("summary", `The other ${count(good.length, "service is", "services are")} fine`), el("ul.attention", good.map(part))),
  );
}

// The hosts, if several share the database: those with a fault first.
const hostOrder = Object.keys(hostStates);
function hostsOf(hosts) {
  const help = {
    lost: ({ name }) => `Other hosts take over its outbox. What its Postfix had taken is delivered when it is back. If it is gone for good, run on another host: postern hosts remove ${name}`,
    trouble: () => "Look at the log of the program on that host, and run postern doctor there.",
  };
  const line = (host) =>
    el("li",
      badge(host.state, hostStates[host.state]),
      el("span", el("strong.address", host.name), " ",
        el("span.muted", "last heartbeat ", time(host.seen_at), `, Postern ${host.version}`, host.taken > 0 && `, other hosts took over its outbox ${count(host.taken, "time")}`),
        host.problem && el("p", withTimes(host.problem)),
        help[host.state] && el("p", el("span.muted", "What to do: "), help[host.state](host))));
  hosts.sort((a, b) => hostOrder.indexOf(a.state) - hostOrder.indexOf(b.state) || (a.name < b.name ? -1 : 1));
  return section("Hosts", { about: "They share one database. Each submits the emails of its own outbox to its own Postfix." }, el("ul.attention", hosts.map(line)));
}

// Domains by the lower bound of their bounce rate (Wilson's interval), which takes the number of
// emails into account: one bounce of one email is no worse than 90 of 100.
function bounceRate({ counts }) {
  const bad = sumOf(counts, undelivered);
  const n = bad + sumOf(counts, outcomes[0]);
  if (n === 0) return { n, rate: 0, least: 0 };
  const rate = bad / n;
  const z = 1.96;
  const middle = rate + (z * z) / (2 * n);
  const width = z * Math.sqrt((rate * (1 - rate)) / n + (z * z) / (4 * n * n));
  return { n, rate, least: (middle - width) / (1 + (z * z) / n) };
}
const percent = ({ n, rate }) => (n ? `${(100 * rate).toFixed(1)} %` : "–");

// The counts of all domains, over all pages of the list.
const FOUND = 20; // of domains to choose from
const DOMAIN_PAGES = 20;
async function statsByDomain(asked) {
  const data = [];
  let after;
  for (let i = 0; i < DOMAIN_PAGES; i++) {
    const page = await get("/admin/stats", { ...asked, by: "domain", after });
    data.push(...page.data);
    after = page.next;
    if (!page.has_more) break;
  }
  return { data, isCut: Boolean(after) };
}

export async function show(main, { session }) {
  let range = ranges[0];
  let company = "";
  let domain = "";
  let choose; // shows the numbers of another time, company or domain
  const needs = el("div");
  const start = el("div");
  const ill = el("div");
  const parts = el("div");
  const hosts = el("div");
  const illHosts = el("div");
  const tiles = el("div.tiles");
  const plot = plotOf({ title: "Mail", legend: false });
  let names = []; // of all that mail was counted of
  const picked = combo(
    { name: "domain", label: "Domain", any: "All domains", of: () => company, find: async (words) => {
      const fit = names.filter((name) => matches(words, name));
      return { options: fit.slice(0, FOUND).map((name) => ({ value: name, text: name })), isMore: fit.length > FOUND };
    } },
    { id: "overview-domain", name: "domain", "aria-label": "Domain", autocomplete: "off" },
  );
  picked.sync();
  picked.control.addEventListener("input", () => {
    domain = picked.read() ?? "";
    choose();
  });
  // Members see only their own company.
  const whose = session.operator && combo(
    { ...companyPick, name: "company", label: "Company", any: "All companies" },
    { id: "overview-company", name: "company", "aria-label": "Company", autocomplete: "off" },
  );
  if (whose)
    whose.control.addEventListener("input", () => {
      company = whose.read() ?? "";
      domain = "";
      picked.sync();
      choose();
      tryNewest();
    });
  const switches = el("div.switch", { role: "group", "aria-label": "Time" }, ranges.map((one) =>
    el("button", { type: "button", "aria-pressed": String(one === range), onclick: (event) => {
      range = one;
      for (const other of switches.children) other.setAttribute("aria-pressed", String(other === event.currentTarget));
      choose();
    } }, one.name)));
  const counted = (one) => ({
    title: one.title,
    kind: "number",
    cell: (row) => number(sumOf(row.counts, one)),
    sort: (row) => sumOf(row.counts, one),
    sum: (row) => sumOf(row.counts, one),
  });
  const byDomain = table({
    caption: "By domain",
    noun: "domain",
    most: 10,
    exported: ({ domain, counts }) => ({ domain, ...counts }),
    key: (row) => row.domain,
    href: (row) => place("emails", { domain: row.domain }),
    order: { by: "Bounce rate", down: true },
    columns: [
      { title: "Domain", kind: "main", cell: (row) => row.domain, sort: (row) => row.domain },
      ...[accepted, ...outcomes].map(counted),
      {
        title: "Bounce rate",
        kind: "number",
        cell: (row) => percent(bounceRate(row)),
        sort: (row) => bounceRate(row).least,
        total: (rows) => percent(bounceRate({ counts: rows.reduce((all, { counts }) => add(all, counts), {}) })),
      },
    ],
  });
  const cut = el("p.muted", { hidden: true }, `Only the first ${number(DOMAIN_PAGES * 1000)} domains are counted.`);
  const domainsPart = section("By domain", { about: "Those whose emails bounce most come first." }, byDomain.element, cut);
  // A response about a company other than the one now chosen is not shown.
  async function loadNewest() {
    const asked = company;
    const { data } = await get("/admin/emails", { limit: 10, company_id: asked });
    return asked === company ? { data, has_more: false, next: null } : loadNewest();
  }
  const newest = list({
    caption: "Newest emails",
    isPart: true,
    load: loadNewest,
    columns: emailColumns,
    href: emailPlace,
    empty: el("p.muted", "No emails yet."),
  });
  newest.element.classList.add("compact");
  const mail = el("div", { hidden: true },
    section("Mail", { words: ["accepted", "delivered", "deferred", "bounced", "refused", "bounce rate"], actions: [whose && whose.control, picked.control, switches] }, tiles, plot.element),
    domainsPart,
    section("Newest emails", { actions: [link("All emails", "emails")] }, newest.element));

  let isOver = false; // a late answer draws nothing
  const isLate = (asked) => isOver || asked.range !== range || asked.company_id !== company || asked.domain !== domain;
  async function showStats() {
    const asked = { range, company_id: company, domain };
    const stats = await get("/admin/stats", { since: range.since, step: range.step, company_id: company, domain });
    if (isLate(asked)) return;
    const all = steps(stats, range);
    const total = stats.data.reduce((sums, step) => add(sums, step.counts), {});
    tiles.replaceChildren(...[accepted, ...outcomes].map((one) =>
      el("a.tile", { href: place("emails", { status: one.status, company, domain, since: range.since }) },
        el("span.tile-name", el("i", { class: `mark mark-${one.name}` }), one.title),
        el("span.tile-number", number(sumOf(total, one))))));
    plot.tell(`the last ${range.name}, ` + [accepted, ...outcomes].map((one) => `${one.title} ${number(sumOf(total, one))}`).join(", "));
    plot.set(all.map((step) => labelOf(step.at, range)), [
      ...outcomes.map((one) => ({ ...one, values: all.map((step) => sumOf(step.counts, one)) })),
      { ...accepted, line: true, values: all.map((step) => sumOf(step.counts, accepted)) },
    ]);
  }
  async function showDomains() {
    const asked = { range, company_id: company, domain };
    const domains = await statsByDomain({ since: range.since, step: range.step, company_id: company });
    if (isLate(asked)) return;
    names = domains.data.map((one) => one.domain).sort();
    byDomain.set(domains.data);
    cut.hidden = !domains.isCut;
    domainsPart.hidden = domains.data.length < 2;
  }

  // Replaced only when its content has changed: the user may be reading an explanation in it.
  let needsNow;
  async function showNeeds() {
    const needed = await get("/admin/attention");
    const text = JSON.stringify(needed.data);
    if (text === needsNow) return;
    needsNow = text;
    needs.replaceChildren(...(needed.data.length ? [attention(needed.data)] : []));
  }

  // At the top while one of them has a fault.
  async function showServices() {
    if (!session.operator) return;
    const health = await get("/admin/health");
    const shown = healthOf(health);
    (health.ok ? parts : ill).replaceChildren(shown);
    (health.ok ? ill : parts).replaceChildren();
  }

  // A database that only one host uses has no list of hosts.
  async function showHosts() {
    if (!session.operator) return;
    const { data } = await get("/admin/hosts");
    const shown = data.length ? [hostsOf(data)] : [];
    const isWell = data.every(({ state }) => state === "well");
    hosts.replaceChildren(...(isWell ? shown : []));
    illHosts.replaceChildren(...(isWell ? [] : shown));
  }

  // An empty system shows its next step, one with mail shows results.
  async function showNewest() {
    await newest.refresh();
    const none = !company && newest.rows().length === 0;
    mail.hidden = none;
    if (!none) return start.replaceChildren();
    const [companies, domains, keys] = await Promise.all([
      get("/admin/companies", { limit: 1 }), get("/admin/domains"), get("/admin/keys", { valid: true, limit: 1 }),
    ]);
    start.replaceChildren(beginning({ companies: companies.data, domains: domains.data, keys: keys.data, session }));
  }

  main.append(
    header(title, {
      actions: session.owner
        ? [button("Create a key", () => go("keys", { create: 1 })), primary("Send a test email", sendTest)]
        : [],
    }),
    ill, illHosts, start, needs, mail, parts, hosts,
  );
  const tryNewest = standalone("The newest emails", newest.element, showNewest);
  const tryStats = standalone("The mail counts", tiles, showStats);
  const tryDomains = standalone("The numbers by domain", byDomain.element, showDomains);
  const rest = [
    tryStats,
    standalone("What needs attention", needs, showNeeds),
    standalone("The state of the services", ill, showServices),
    standalone("The state of the hosts", illHosts, showHosts),
  ];
  const showRest = () => Promise.all(rest.map((show) => show()));
  choose = () => Promise.all([tryStats(), tryDomains()]);
  await Promise.all([tryNewest(), tryDomains(), showRest()]);
  const leave = [
    subscribe(["emails", "tenants"], tryNewest),
    subscribe(["emails", "refusals", "tenants"], showRest, 15000),
    // The server adds up some thousand rows for this.
    subscribe(["emails"], tryDomains, 60000),
  ];
  return () => {
    isOver = true;
    for (const one of leave) one();
    plot.destroy();
  };
}
