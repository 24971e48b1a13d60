// What an admin looks at first: what needs attention, how much there was and
// what became of it, the newest emails, and the parts of Postern.

import { get } from "../api.js";
import { badge, button, el, go, header, link, list, notice, number, place, primary, section, table, two } from "../ui.js";
import { subscribe } from "../live.js";
import { emailColumns, emailPlace, sendTest } from "./emails.js";

export const title = "Overview";

const HOUR = 3600e3;
const DAY = 24 * HOUR;
const ranges = [
  { name: "24 hours", since: "1d", step: "hour", length: HOUR, n: 24 },
  { name: "7 days", since: "7d", step: "hour", length: HOUR, n: 168 },
  { name: "30 days", since: "30d", step: "day", length: DAY, n: 30 },
];

// What is counted, as the chart stacks it; bounced are also those that Postfix
// gave up.
const series = [
  { name: "delivered", title: "Delivered", kinds: ["delivered"], colour: "--good", status: "delivered" },
  { name: "deferred", title: "Deferrals", kinds: ["deferred"], colour: "--warn", status: "delivery_delayed" },
  { name: "bounced", title: "Bounced", kinds: ["bounced", "expired"], colour: "--bad", status: "bounced" },
  { name: "refused", title: "Refused", kinds: ["refused"], colour: "--muted", status: "refused" },
];
const accepted = { name: "accepted", title: "Accepted", kinds: ["accepted"], colour: "--accent" };

const sum = (counts, { kinds }) => kinds.reduce((all, kind) => all + (counts[kind] ?? 0), 0);
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

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

let charts = null;
async function chartOf(canvas) {
  charts ??= import("/web/chart.js").then(() => globalThis.Chart);
  const Chart = await charts;
  if (!Chart) return null;
  return new Chart(canvas, {
    type: "bar",
    data: { labels: [], datasets: [] },
    options: {
      animation: false,
      responsive: true,
      maintainAspectRatio: false,
      interaction: { mode: "index", intersect: false },
      plugins: { legend: { display: false }, tooltip: { boxWidth: 10, boxHeight: 10, boxPadding: 4 } },
      scales: {
        x: { type: "category", stacked: true, grid: { display: false }, ticks: { maxRotation: 0, autoSkipPadding: 24 } },
        y: { stacked: true, beginAtZero: true, border: { display: false }, ticks: { precision: 0, maxTicksLimit: 5 } },
      },
    },
  });
}

function draw(chart, all, range) {
  const text = colour("--muted");
  chart.data.labels = all.map((step) => labelOf(step.at, range));
  chart.data.datasets = [
    ...series.map((one) => ({
      type: "bar",
      label: one.title,
      data: all.map((step) => sum(step.counts, one)),
      backgroundColor: colour(one.colour) + "cc",
      stack: "all",
      barPercentage: 0.9,
      categoryPercentage: 0.95,
    })),
    {
      type: "line",
      order: -1, // before the bars
      label: accepted.title,
      data: all.map((step) => sum(step.counts, accepted)),
      borderColor: colour(accepted.colour),
      backgroundColor: colour(accepted.colour),
      borderWidth: 1.5,
      pointRadius: 0,
      pointHitRadius: 8,
      stack: "accepted",
      tension: 0,
    },
  ];
  for (const axis of Object.values(chart.options.scales)) axis.ticks.color = text;
  chart.options.scales.y.grid = { color: colour("--line") };
  chart.update();
}

function attention(items) {
  const tones = { problem: "bad", warning: "warn", hint: "none" };
  const words = { problem: "Problem", warning: "Action needed", hint: "Hint" };
  return section(
    "Needs attention",
    el("ul.attention", items.map((item) =>
      el("li",
        badge(item.level, { text: words[item.level], tone: tones[item.level] }),
        el("span", item.text),
        el("a", { href: `#/${item.page}`, "aria-label": `Open: ${item.text}` }, "Open")))),
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
    { about: "Programs send over HTTP with a key, as a domain of their company." },
    el("ol.steps",
      session.operator && step(companies.length > 0, "A company", "whose domains and keys these are.", link("Make one", "domains")),
      step(active, "A domain", "that it sends as.", link(session.operator ? "Register one" : "Ask for one", "domains")),
      step(keys.some((key) => !key.revoked_at), "A key", "for the program that sends.", link("Make one", "keys", { create: 1 })),
      step(false, "An email", "to see that it arrives.", session.owner && primary("Send a test email", sendTest))),
  );
}

function healthOf(health) {
  return section(
    "Services",
    el("ul.attention", health.parts.map((part) =>
      el("li", badge(part.ok ? "ok" : "not_ok"), el("span", el("strong", part.name), " ", el("span.muted", part.text))))),
  );
}

export async function show(main, { session }) {
  let range = ranges[0];
  let domain = "";
  const needs = el("div");
  const start = el("div");
  const parts = el("div");
  const tiles = el("div.tiles");
  const canvas = el("canvas", { role: "img" });
  const charted = el("div.chart", canvas);
  const choice = el("select.form-select.form-select-sm", { "aria-label": "Domain", onchange: () => {
    domain = choice.value;
    choose();
  } });
  const switches = el("div.switch", { role: "group", "aria-label": "Time" }, ranges.map((one) =>
    el("button", { type: "button", "aria-pressed": String(one === range), onclick: (event) => {
      range = one;
      for (const other of switches.children) other.setAttribute("aria-pressed", String(other === event.currentTarget));
      choose();
    } }, one.name)));
  const byDomain = table({
    caption: "By domain",
    key: (row) => row.domain,
    href: (row) => place("emails", { domain: row.domain }),
    columns: [
      { title: "Domain", kind: "main", cell: (row) => row.domain },
      ...[accepted, ...series].map((one) => ({ title: one.title, kind: "number", cell: (row) => number(sum(row.counts, one)) })),
      {
        title: "Bounce rate",
        kind: "number",
        cell: (row) => {
          const bad = sum(row.counts, series[2]);
          const all = bad + sum(row.counts, series[0]);
          return all ? `${((100 * bad) / all).toFixed(1)} %` : "–";
        },
      },
    ],
  });
  const cut = el("p.muted", { hidden: true }, "Of the first domains alone: there are too many to compare.");
  const domainsPart = section("By domain", byDomain.element, cut);
  const newest = list({
    caption: "Newest emails",
    isPart: true,
    load: async () => ({ ...(await get("/admin/emails", { limit: 10 })), has_more: false, next: null }),
    columns: emailColumns,
    href: emailPlace,
    empty: el("p.muted", "No email was sent yet."),
  });
  newest.element.classList.add("compact");
  const mail = el("div", { hidden: true },
    section("Mail", { words: ["accepted", "delivered", "deferred", "bounced", "refused", "bounce rate"], actions: [choice, switches] }, tiles, charted),
    domainsPart,
    section("Newest emails", { actions: [link("All emails", "emails")] }, newest.element));

  let chart = null;
  let visit = 0;
  async function showStats() {
    const mine = ++visit;
    const asked = { since: range.since, step: range.step, domain };
    const [stats, domains] = await Promise.all([
      get("/admin/stats", asked),
      get("/admin/stats", { since: range.since, step: range.step, by: "domain" }),
    ]);
    if (mine !== visit) return;
    const all = steps(stats, range);
    const total = {};
    for (const step of stats.data)
      for (const [kind, n] of Object.entries(step.counts)) total[kind] = (total[kind] ?? 0) + n;
    tiles.replaceChildren(...[accepted, ...series].map((one) =>
      el("a.tile", { href: place("emails", { status: one.status, domain, since: range.since }) },
        el("span.tile-name", el("i", { class: `mark mark-${one.name}` }), one.title),
        el("span.tile-number", number(sum(total, one))))));
    canvas.setAttribute("aria-label", `Of the last ${range.name}: ` +
      [accepted, ...series].map((one) => `${one.title} ${sum(total, one)}`).join(", "));
    const rows = domains.data.sort((a, b) => sum(b.counts, accepted) - sum(a.counts, accepted)).slice(0, 50);
    byDomain.set(rows);
    cut.hidden = !domains.has_more;
    domainsPart.hidden = rows.length < 2;
    const names = ["", ...domains.data.map((one) => one.domain)];
    if (domain && !names.includes(domain)) names.push(domain);
    if (names.join(" ") !== [...choice.options].map((one) => one.value).join(" "))
      choice.replaceChildren(...names.map((name) => el("option", { value: name, selected: name === domain }, name || "All domains")));
    try {
      chart ??= await chartOf(canvas);
    } catch {
      chart = null;
    }
    charted.hidden = !chart;
    if (chart && mine === visit) draw(chart, all, range);
  }

  // What somebody has pressed says why it does nothing.
  const choose = () =>
    showStats().catch(
      (error) => main.isConnected && error.status !== 401 && notice(error.message, "bad"),
    );

  async function showNeeds() {
    const [needed, health] = await Promise.all([
      get("/admin/attention"),
      session.operator ? get("/admin/health") : null,
    ]);
    needs.replaceChildren(...(needed.data.length ? [attention(needed.data)] : []));
    parts.replaceChildren(...(health ? [healthOf(health)] : []));
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
  const showRest = () => Promise.all([showStats(), showNeeds()]);

  main.append(
    header(title, {
      actions: session.owner
        ? [button("Create a key", () => go("keys", { create: 1 })), primary("Send a test email", sendTest)]
        : [],
    }),
    start, needs, mail, parts,
  );
  await Promise.all([showNewest(), showRest()]);
  addEventListener("themechange", choose);
  const leave = [
    subscribe(["emails", "tenants"], showNewest),
    subscribe(["emails", "refusals", "tenants"], showRest, 15000),
  ];
  return () => {
    visit++; // a late answer draws nothing
    for (const one of leave) one();
    removeEventListener("themechange", choose);
    chart?.destroy();
  };
}
