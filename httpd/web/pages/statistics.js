// The results of emails in a period, compared with the period before it: counts, reasons of
// bounces, providers, delivery times, waiting emails. Each part loads independently.

import { get } from "../api.js";
import { plotOf } from "../charts.js";
import { accepted, bounceReasons, outcomes, providerOf, sumOf, undelivered } from "../labels.js";
import { subscribe } from "../live.js";
import { companies, domainPick } from "../tenant.js";
import { AGAIN_MS, count, el, empty, failure, header, loading, mends, number, section, two } from "../elements.js";
import { filters } from "../forms.js";
import { table } from "../lists.js";

export const title = "Statistics";

const HOUR = 3600e3;
const DAY = 24 * HOUR;
const HOURS_UP_TO = 7 * DAY;
const HOURS_KEPT = 34 * DAY;
const REFRESH_MS = 30000;

const periods = [
  { value: "1d", text: "Last 24 hours", length: DAY },
  { value: "7d", text: "Last 7 days", length: 7 * DAY },
  { value: "30d", text: "Last 30 days", length: 30 * DAY },
  { value: "90d", text: "Last 90 days", length: 90 * DAY },
  { value: "365d", text: "Last 12 months", length: 365 * DAY },
  { value: "dates", text: "Custom dates" },
];

// Enough colours that differ in both themes.
const palette = ["--bad", "--warn", "--accent", "--good", "--muted", "--plot-1", "--plot-2", "--plot-3", "--strong-line"];

const rate = (bad, good) => (bad + good ? `${((100 * bad) / (bad + good)).toFixed(1)} %` : "–");

function duration(ms) {
  if (ms === null || ms === undefined) return "–";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60e3) return `${(ms / 1000).toFixed(ms < 10e3 ? 1 : 0)} s`;
  if (ms < HOUR) return `${Math.round(ms / 60e3)} min`;
  return ms < 2 * DAY ? `${(ms / HOUR).toFixed(1)} h` : `${(ms / DAY).toFixed(1)} d`;
}

const perMinute = (n) => (n >= 10 ? number(Math.round(n)) : String(Number(n.toPrecision(2))));

// The period that the filters name, in whole steps of UTC, or what is wrong with it.
function timeOf({ period = "30d", from, to }) {
  let since;
  let until = Date.now();
  if (period === "dates") {
    [since, until] = [Date.parse(from), Date.parse(to) + DAY];
    if (Number.isNaN(since) || Number.isNaN(until)) return { problem: "Choose the first and the last day." };
    if (until <= since) return { problem: "The last day is before the first." };
    if (until - since > 1000 * DAY) return { problem: "That is longer than 1,000 days." };
  } else {
    since = until - (periods.find((one) => one.value === period) ?? periods[2]).length;
  }
  const step = until - since <= HOURS_UP_TO && Date.now() - since < HOURS_KEPT ? HOUR : DAY;
  since = Math.floor(since / step) * step;
  until = Math.ceil(until / step) * step;
  return { since, until, step, name: step === HOUR ? "hour" : "day" };
}

const asked = ({ since, until, name }) => ({ since: new Date(since).toISOString(), until: new Date(until).toISOString(), step: name });

// All steps, in order.
const stepsOf = ({ since, until, step }) => Array.from({ length: Math.round((until - since) / step) }, (_, i) => since + i * step);

// Days are those of UTC, as the server counts them.
function labelOf(at, { since, until, step }) {
  const date = new Date(at);
  if (step === DAY) return date.toISOString().slice(until - since > 300 * DAY ? 2 : 5, 10);
  const hour = `${two(date.getHours())}:00`;
  return until - since > DAY + HOUR ? `${two(date.getMonth() + 1)}-${two(date.getDate())} ${hour}` : hour;
}

function change(now, before, isBad) {
  if (before === 0) return el("span.muted", { title: "None in the previous period" }, now === 0 ? "no change" : "0 before");
  const percent = Math.round((100 * (now - before)) / before);
  if (percent === 0) return el("span.muted", "no change");
  const tone = (percent > 0) === Boolean(isBad) ? "bad" : "good";
  return el("span", { class: `change tone-${tone}`, title: `${number(before)} before` }, `${percent > 0 ? "+" : "−"}${number(Math.abs(percent))} %`);
}

const totals = (data) => {
  const all = {};
  for (const { counts } of data) for (const [name, n] of Object.entries(counts)) all[name] = (all[name] ?? 0) + n;
  return all;
};

export async function show(main, { session, query }) {
  const known = await companies(session);
  const plots = {
    mail: plotOf({ title: "What became of emails" }),
    rate: plotOf({ title: "Deliveries a minute", kind: "line", isFraction: true, format: perMinute }),
    delay: plotOf({ title: "Delivery time", kind: "line", format: duration, logarithmic: true }),
    reasons: plotOf({ title: "Bounces by reason" }),
    providers: plotOf({ title: "Bounced, expired and deferred by provider" }),
    backlog: plotOf({ title: "Emails waiting", kind: "line" }),
  };
  const search = filters({
    query,
    fields: [
      { name: "period", label: "Time", type: "select", options: periods, value: "30d" },
      { name: "from", label: "From", type: "date" },
      { name: "to", label: "To", type: "date" },
      ...known.filter(),
      { name: "domain", label: "Domain", ...domainPick, any: "All domains" },
    ],
    change: reload,
  });
  const dates = ["from", "to"].map((name) => search.element.querySelector(`[name=${name}]`).closest(".field"));

  let visit = 0;
  // A part of the page: draw(box) fills it.
  function part(heading, options, draw) {
    const box = el("div", loading());
    const element = section(heading, options, box);
    return {
      element,
      async load(mine, ...given) {
        const again = () => mine === visit && this.load(mine, ...given);
        try {
          const found = await draw(...given);
          if (mine === visit) box.replaceChildren(...[found].flat());
        } catch (error) {
          if (mine !== visit) return;
          box.replaceChildren(failure(error, again));
          if (mends(error)) setTimeout(again, AGAIN_MS);
        }
      },
    };
  }
  let missing = 0; // percent of the events that are not counted yet
  const counted = (answer) => ((missing = answer.missing_percent ?? 0), answer);
  const plotted = (plot, ...given) => (plot.set(...given), plot.element);

  const mail = part("Mail", { words: ["accepted", "delivered", "deferred", "bounced", "refused"] }, async (time, whose) => {
    const before = { ...time, since: time.since - (time.until - time.since), until: time.since };
    const [now, then] = await Promise.all([
      get("/admin/stats", { ...asked(time), ...whose }),
      get("/admin/stats", { ...asked(before), ...whose }),
    ]);
    const [all, past] = [totals(now.data), totals(then.data)];
    const at = new Map(now.data.map((step) => [Date.parse(step.time), step.counts]));
    const steps = stepsOf(time);
    const was = new Map(then.data.map((step) => [Date.parse(step.time) + time.until - time.since, step.counts]));
    const values = (map, one) => steps.map((step) => sumOf(map.get(step) ?? {}, one));
    const tiles = [accepted, ...outcomes].map((one) =>
      el("div.tile", el("span.tile-name", one.title), el("span.tile-number", number(sumOf(all, one))), change(sumOf(all, one), sumOf(past, one), one.isBad)));
    tiles.push(el("div.tile", el("span.tile-name", "Bounce rate"), el("span.tile-number", rate(sumOf(all, undelivered), all.delivered ?? 0)),
      el("span.muted", `${rate(sumOf(past, undelivered), past.delivered ?? 0)} before`)));
    const labels = steps.map((step) => labelOf(step, time));
    // The last step may not be over; one that has just begun counts as a minute.
    const minutes = (step) => Math.max(1, Math.min(time.step, Date.now() - step) / 60e3);
    const rates = values(at, outcomes[0]).map((n, i) => n / minutes(steps[i]));
    plots.rate.tell(`at most ${perMinute(Math.max(...rates))}`);
    return [
      el("div.tiles", tiles),
      plotted(plots.mail, labels, [
        ...outcomes.map((one) => ({ ...one, values: values(at, one) })),
        { ...accepted, line: true, values: values(at, accepted) },
        { title: "Accepted, previous period", colour: "--muted", line: true, dashed: true, values: values(was, accepted) },
      ]),
      el("h3", "Throughput: deliveries a minute"),
      plotted(plots.rate, labels, [{ title: "Deliveries a minute", colour: "--good", values: rates }]),
    ];
  });

  const delay = part("Delivery time", { about: "From when an email came in, or from its scheduled time, until the recipient's mail server took it." }, async (time, whose) => {
    const { all, data } = counted(await get("/admin/stats/delays", { ...asked(time), ...whose }));
    if (!all) return empty("Nothing was delivered in this time");
    const at = new Map(data.map((step) => [Date.parse(step.begin_at), step]));
    const steps = stepsOf(time);
    const values = (name) => steps.map((step) => at.get(step)?.[name] ?? null);
    const words = all.delivered === 1
      ? `One delivery, which took up to ${duration(all.p95_ms)}.`
      : `Half of ${count(all.delivered, "delivery", "deliveries")} took up to ${duration(all.p50_ms)}, 95 % up to ${duration(all.p95_ms)}.`;
    plots.delay.tell(words);
    return [
      el("p", words),
      plotted(plots.delay, steps.map((step) => labelOf(step, time)), [
        { title: "Half of them (p50)", colour: "--accent", values: values("p50_ms") },
        { title: "95 % of them (p95)", colour: "--warn", values: values("p95_ms") },
      ]),
    ];
  });

  const why = part("Bounces by reason", { words: ["bounced", "expired"], about: "By the status code and the words of the other server." }, async (time, whose) => {
    const { data } = await get("/admin/stats/reasons", { ...asked(time), ...whose });
    if (!data.length) return empty("Nothing bounced in this time");
    const all = {};
    for (const { reason, bounced, expired } of data) all[reason] = (all[reason] ?? 0) + bounced + expired;
    const names = Object.keys(all).sort((a, b) => all[b] - all[a]);
    const steps = stepsOf(time);
    const at = new Map(data.map((row) => [`${Date.parse(row.begin_at)} ${row.reason}`, row.bounced + row.expired]));
    const total = Object.values(all).reduce((a, b) => a + b, 0);
    return [
      plotted(plots.reasons, steps.map((step) => labelOf(step, time)), names.map((name) => ({
        title: bounceReasons[name] ?? name,
        colour: palette[Object.keys(bounceReasons).indexOf(name)] ?? "--muted",
        values: steps.map((step) => at.get(`${step} ${name}`) ?? 0),
      }))),
      table({
        caption: "Bounces by reason",
        noun: "reason",
        exported: true,
        columns: [
          { title: "Reason", kind: "main", sort: ({ reason }) => bounceReasons[reason] ?? reason, cell: ({ reason }) => bounceReasons[reason] ?? reason },
          { title: "Recipients", kind: "number", sort: ({ recipients }) => recipients, sum: ({ recipients }) => recipients, cell: ({ recipients }) => number(recipients) },
          { title: "Share", kind: "number", cell: ({ recipients }) => `${Math.round((100 * recipients) / total)} %` },
        ],
        rows: names.map((reason) => ({ reason, recipients: all[reason] })),
      }).element,
    ];
  });

  const where = part("By provider", { words: ["bounce rate"], about: "Who runs the recipients' mail servers, by the names of the servers." }, async (time, whose) => {
    const { step, ...rest } = asked(time);
    const { data } = await get("/admin/stats/providers", { ...rest, ...whose });
    const bad = (row) => row.bounced + row.expired;
    data.sort((a, b) => b.delivered + bad(b) - a.delivered - bad(a));
    const sum = (rows, value) => rows.reduce((all, row) => all + value(row), 0);
    const counts = (title, name) => ({ title, kind: "number", sort: (row) => row[name], sum: (row) => row[name], cell: (row) => number(row[name]) });
    const grid = table({
      caption: "By provider",
      noun: "provider",
      exported: true,
      columns: [
        { title: "Provider", kind: "main", sort: (row) => providerOf(row.provider), cell: (row) => providerOf(row.provider) },
        counts("Delivered", "delivered"),
        counts("Deferrals", "deferred"),
        counts("Bounced", "bounced"),
        counts("Expired", "expired"),
        {
          title: "Bounce rate",
          kind: "number",
          sort: (row) => bad(row) / (bad(row) + row.delivered || 1),
          cell: (row) => rate(bad(row), row.delivered),
          total: (rows) => rate(sum(rows, bad), sum(rows, (row) => row.delivered)),
        },
      ],
      rows: data,
      empty: empty("No deliveries in this time"),
    }).element;
    if (!data.length) return grid;
    return [
      plotted(plots.providers, data.map((row) => providerOf(row.provider)), [
        { title: "Bounced", colour: "--bad", values: data.map((row) => row.bounced) },
        { title: "Expired", colour: "--plot-1", values: data.map((row) => row.expired) },
        { title: "Deferrals", colour: "--warn", values: data.map((row) => row.deferred) },
      ]),
      grid,
    ];
  });

  const waits = part("Emails waiting", { words: ["outbox", "queued", "sent"], about: "The highest number in each step, sampled every five minutes. For one company, 90 days are kept." }, async (time, { company_id, domain }) => {
    if (domain) return empty("Not counted by domain", "Clear the domain to see how many emails waited.");
    const { data } = await get("/admin/stats/backlog", { ...asked(time), company_id });
    if (!data.length) return empty("No samples in this time", "postern-httpd takes one every five minutes while it runs.");
    const at = new Map(data.map((step) => [Date.parse(step.begin_at), step]));
    const steps = stepsOf(time);
    const values = (name) => steps.map((step) => at.get(step)?.[name] ?? null);
    const most = (name) => number(Math.max(...data.map((step) => step[name])));
    const series = [{ title: "Outbox", colour: "--warn", values: values("outbox") }];
    let words = `At most ${most("outbox")} in the outbox`;
    if ("queue" in data[0]) {
      series.push({ title: "Postfix's queue", colour: "--accent", values: values("queue") });
      words += `, and ${most("queue")} in Postfix's queue`;
    }
    plots.backlog.tell(words);
    return [el("p", `${words}.`), plotted(plots.backlog, steps.map((step) => labelOf(step, time)), series)];
  });

  const parts = [mail, delay, why, where, waits];
  const note = el("p.list-note.muted", { role: "status" });
  const body = el("div", parts.map(({ element }) => element));

  async function reload() {
    const mine = ++visit;
    const { period, company, domain, ...given } = search.values();
    for (const one of dates) one.hidden = period !== "dates";
    const time = timeOf({ period, ...given });
    body.hidden = Boolean(time.problem);
    note.textContent = time.problem ?? "";
    if (time.problem) return;
    missing = 0;
    await Promise.all(parts.map((one) => one.load(mine, time, { company_id: company, domain })));
    if (mine === visit && missing)
      note.textContent = `Emails from before the upgrade are still being counted (${missing} % to go). Until then the numbers of that time are too low.`;
  }

  main.append(header(title, { about: "Each number is compared with the period before, which is as long. Days are in UTC." }), search.element, note, body);
  await reload();
  const leave = subscribe(["emails", "refusals"], reload, REFRESH_MS);
  return () => {
    visit++;
    leave();
    for (const plot of Object.values(plots)) plot.destroy();
  };
}
