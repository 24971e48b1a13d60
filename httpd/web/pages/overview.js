// What an admin looks at first: what needs attention, how much there was and
// what became of it, the newest emails, and the parts of Postern.

import { get, Problem } from "../api.js";
import { badge, button, count, el, failure, go, header, link, list, notice, number, place, primary, section, table, time, two, withTimes } from "../ui.js";
import { plotOf } from "../charts.js";
import { combo } from "../combo.js";
import { accepted, hostStates, outcomes, services, sumOf } from "../labels.js";
import { subscribe } from "../live.js";
import { matches } from "../tenant.js";
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

// The counts of each step, also of those in which nothing happened.
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
// What items are about, by their codes.
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

// The words of an item, in which its examples are links to themselves.
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

// Kinds with a problem first; of each what is worst.
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
    groups.map(({ title, items }) =>
      el("div.attention-kind", el("h3", title), el("ul.attention", items.map(line)))),
  );
}

// Of an empty system: what comes next, in order.
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
    { about: "What it takes until a program can send. A program sends with a key, as a domain of its company." },
    el("ol.steps",
      session.operator && step(companies.length > 0, "A company", "owns the domains and keys.", link("Add it", "domains")),
      step(active, "A domain", "that its emails come from.", link(session.operator ? "Add one" : "Request one", "domains")),
      step(keys.some((key) => !key.revoked_at), "A key", "for the program that sends emails.", link("Add it", "keys", { create: 1 })),
      step(false, "An email", "to check that it arrives.", session.owner && primary("Send a test email", sendTest))),
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
    good.length > 0 && el("details", el("summary", `The other ${count(good.length, "part is", "parts are")} well`), el("ul.attention", good.map(part))),
  );
}

// Where several hosts share the database: each of them, those that are not well first.
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
        el("span.muted", "last heartbeat ", time(host.seen_at), `, Postern ${host.version}`, host.taken > 0 && `, outbox taken over ${count(host.taken, "time")}`),
        host.problem && el("p", withTimes(host.problem)),
        help[host.state] && el("p", el("span.muted", "What to do: "), help[host.state](host))));
  hosts.sort((a, b) => hostOrder.indexOf(a.state) - hostOrder.indexOf(b.state) || (a.name < b.name ? -1 : 1));
  return section("Hosts", { about: "They share one database. Each submits the emails of its own outbox to its own Postfix." }, el("ul.attention", hosts.map(line)));
}

// Domains by how many of their emails bounce at least, as far as so few or so many tell (the lower
// end of Wilson's interval): one of one is no worse than 90 of 100.
function bounceRate({ counts }) {
  const bad = sumOf(counts, outcomes[2]);
  const n = bad + sumOf(counts, outcomes[0]);
  if (n === 0) return { n, rate: 0, least: 0 };
  const rate = bad / n;
  const z = 1.96;
  const middle = rate + (z * z) / (2 * n);
  const width = z * Math.sqrt((rate * (1 - rate)) / n + (z * z) / (4 * n * n));
  return { n, rate, least: (middle - width) / (1 + (z * z) / n) };
}
const percent = ({ n, rate }) => (n ? `${(100 * rate).toFixed(1)} %` : "–");

// The counts of all domains, however many pages they have.
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
  let domain = "";
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
    { name: "domain", label: "Domain", any: "All domains", find: async (words) => {
      const fit = names.filter((name) => matches(words, name));
      return { options: fit.slice(0, FOUND).map((name) => ({ value: name, text: name })), isMore: fit.length > FOUND };
    } },
    { id: "overview-domain", name: "domain", "aria-label": "Domain", autocomplete: "off" },
  );
  const choice = picked.control;
  choice.addEventListener("input", () => {
    domain = picked.read() ?? "";
    choose();
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
  const cut = el("p.muted", { hidden: true }, `Of the first ${number(DOMAIN_PAGES * 1000)} domains alone.`);
  const domainsPart = section("By domain", { about: "Those whose emails bounce most come first." }, byDomain.element, cut);
  const newest = list({
    caption: "Newest emails",
    isPart: true,
    load: async () => ({ ...(await get("/admin/emails", { limit: 10 })), has_more: false, next: null }),
    columns: emailColumns,
    href: emailPlace,
    empty: el("p.muted", "No emails yet."),
  });
  newest.element.classList.add("compact");
  const mail = el("div", { hidden: true },
    section("Mail", { words: ["accepted", "delivered", "deferred", "bounced", "refused", "bounce rate"], actions: [choice, switches] }, tiles, plot.element),
    domainsPart,
    section("Newest emails", { actions: [link("All emails", "emails")] }, newest.element));

  let visit = 0;
  async function showStats() {
    const mine = ++visit;
    const asked = { since: range.since, step: range.step, domain };
    const [stats, domains] = await Promise.all([
      get("/admin/stats", asked),
      statsByDomain({ since: range.since, step: range.step }),
    ]);
    if (mine !== visit) return;
    const all = steps(stats, range);
    const total = stats.data.reduce((sums, step) => add(sums, step.counts), {});
    tiles.replaceChildren(...[accepted, ...outcomes].map((one) =>
      el("a.tile", { href: place("emails", { status: one.status, domain, since: range.since }) },
        el("span.tile-name", el("i", { class: `mark mark-${one.name}` }), one.title),
        el("span.tile-number", number(sumOf(total, one))))));
    plot.tell(`of the last ${range.name}: ` + [accepted, ...outcomes].map((one) => `${one.title} ${sumOf(total, one)}`).join(", "));
    names = domains.data.map((one) => one.domain).sort();
    byDomain.set(domains.data);
    cut.hidden = !domains.isCut;
    domainsPart.hidden = domains.data.length < 2;
    await plot.set(all.map((step) => labelOf(step.at, range)), [
      ...outcomes.map((one) => ({ ...one, values: all.map((step) => sumOf(step.counts, one)) })),
      { ...accepted, line: true, values: all.map((step) => sumOf(step.counts, accepted)) },
    ]);
  }

  // What somebody has pressed says why it does nothing.
  const choose = () =>
    showStats().catch(
      (error) => main.isConnected && error.status !== 401 && notice(error.message, "bad"),
    );

  async function showNeeds() {
    const needed = await get("/admin/attention");
    needs.replaceChildren(...(needed.data.length ? [attention(needed.data)] : []));
  }

  // Above all else while one is not well.
  async function showServices() {
    if (!session.operator) return;
    const health = await get("/admin/health");
    const shown = healthOf(health);
    (health.ok ? parts : ill).replaceChildren(shown);
    (health.ok ? ill : parts).replaceChildren();
  }

  // There are none where one host has the database to itself.
  async function showHosts() {
    if (!session.operator) return;
    const { data } = await get("/admin/hosts");
    const shown = data.length ? [hostsOf(data)] : [];
    const isWell = data.every(({ state }) => state === "well");
    hosts.replaceChildren(...(isWell ? shown : []));
    illHosts.replaceChildren(...(isWell ? [] : shown));
  }

  // An empty system shows its next step, one with mail what became of it.
  async function showNewest() {
    await newest.refresh();
    const none = newest.rows().length === 0;
    mail.hidden = none;
    if (!none) return start.replaceChildren();
    const [companies, domains, keys] = await Promise.all([
      get("/admin/companies", { limit: 1 }), get("/admin/domains"), get("/admin/keys", { valid: true, limit: 1 }),
    ]);
    start.replaceChildren(beginning({ companies: companies.data, domains: domains.data, keys: keys.data, session }));
  }
  // A part that cannot be shown says so in its place; the others go on, and it tries again.
  const shownIn = (box, what, show) => {
    const failed = el("div.failed", { hidden: true });
    box.before(failed);
    return async () => {
      try {
        await show();
        failed.hidden = true;
      } catch (error) {
        if (error.status === 401) throw error;
        const words = new Problem(`${what} cannot be shown now. ${error.message}`, error);
        failed.replaceChildren(failure(words, again));
        failed.hidden = false;
      }
    };
  };

  main.append(
    header(title, {
      actions: session.owner
        ? [button("Create a key", () => go("keys", { create: 1 })), primary("Send a test email", sendTest)]
        : [],
    }),
    ill, illHosts, start, needs, mail, parts, hosts,
  );
  const tryNewest = shownIn(newest.element, "The newest emails", showNewest);
  const rest = [
    shownIn(tiles, "How much mail there was", showStats),
    shownIn(needs, "What needs attention", showNeeds),
    shownIn(ill, "How the services are", showServices),
    shownIn(illHosts, "How the hosts are", showHosts),
  ];
  const showRest = () => Promise.all(rest.map((show) => show()));
  const again = () => Promise.all([tryNewest(), showRest()]);
  await again();
  const leave = [
    subscribe(["emails", "tenants"], tryNewest),
    subscribe(["emails", "refusals", "tenants"], showRest, 15000),
  ];
  return () => {
    visit++; // a late answer draws nothing
    for (const one of leave) one();
    plot.destroy();
  };
}
