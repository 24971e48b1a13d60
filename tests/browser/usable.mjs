// Measures how long it takes until a page can be used: from the start of its navigation until its
// title and data are there. First: nothing of it is in the browser's cache. Again: the program is in
// the cache, and starts anew. Moved: from another page, as by a click. It also counts what does not
// depend on the load of the machine: the requests and kilobytes of each page, the CPU time of the
// page's thread at the first visit, and the CPU time that ten open overviews cost the server.
//
// usage: [EMAILS=1000000] [AIMS=1] tests/browser/run tests/browser/usable.mjs
//   AIMS  fail where a page misses an aim; only an idle machine can tell

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import * as t from "./browser.mjs";

const ROUNDS = 9;
const FIRST_MS = 300; // the median of first visits
const MOVED_MS = 100; // the 95th percentile from page to page

const PLACES = [
  ["login", null],
  ["overview", ""],
  ["statistics", "statistics"],
  ["emails", "emails"],
  ["events", "events"],
  ["refusals", "refusals"],
  ["held", "held"],
  ["outbox", "outbox"],
  ["companies", "companies"],
  ["domains", "domains"],
  ["keys", "keys"],
  ["webhooks", "webhooks"],
  ["suppressions", "suppressions"],
  ["exemptions", "exemptions"],
  ["users", "users"],
  ["audit", "audit"],
  ["settings", "settings"],
  ["account", "account"],
  ["glossary", "glossary"],
];

const DASHBOARDS = 10;
const MINUTE_S = 60;

let browser, user, tenant;
let things; // the pages of one email, company, domain and webhook

before(async () => {
  browser = await t.Browser.open([]); // as people have it
  tenant = await t.newTenant();
  for (let n = 0; n < 60; n++)
    await t.send(tenant, { to: "ann@remote.test", subject: `No. ${n}` });
  user = await t.newUser();
  const { id: webhook } = await t.postern(["webhook", "add", "--company", tenant.id, "--endpoint", "https://hook.invalid/", "--events", "email.delivered"]);
  const visitor = await browser.visitor({ user, fresh: true });
  const { data: emails } = await (await visitor.context.request.get("/admin/emails?limit=1")).json();
  const { data: domains } = await (await visitor.context.request.get(`/admin/domains?search=${tenant.domain}`)).json();
  await visitor.leave();
  things = [
    ["one email", `emails/${emails[0].id}`],
    ["one company", `companies/${tenant.id}`],
    ["one domain", `domains/${domains[0].id}`],
    ["one webhook", `webhooks/${webhook}`],
  ];
});

after(() => browser.close());

// Looks at each frame that is drawn.
function watch() {
  const look = () => {
    if (
      document.querySelector("main h1") &&
      !document.querySelector("main[aria-busy=true], main [aria-busy=true], .loading")
    )
      window.usableAfter = performance.now();
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}

const usableAfter = (page) =>
  page.waitForFunction(() => window.usableAfter).then((n) => n.jsonValue());

// From when another page's address is set until the page of it can be used.
const move = (page, place) =>
  page.evaluate(
    (place) =>
      new Promise((resolve) => {
        const began = performance.now();
        const look = () => {
          const main = document.querySelector("main");
          if (!main.hasAttribute("aria-busy") && main.querySelector("h1") && !main.querySelector("[aria-busy=true], .loading"))
            resolve(performance.now() - began);
          else requestAnimationFrame(look);
        };
        // The program has heard of it before.
        addEventListener("hashchange", () => requestAnimationFrame(look), { once: true });
        location.hash = `#/${place}`;
      }),
    place,
  );

// Counts what is sent from now on, not what the browser has kept: answers and bytes.
function traffic(context) {
  const all = [];
  const listen = (request) =>
    all.push(request.sizes().then((n) => n.responseBodySize + n.responseHeadersSize, () => 0));
  context.on("requestfinished", listen);
  return async () => {
    context.off("requestfinished", listen);
    const bytes = (await Promise.all(all)).filter(Boolean);
    return `${String(bytes.length).padStart(3)} ${(bytes.reduce((a, b) => a + b, 0) / 1000).toFixed(0).padStart(4)}`;
  };
}

// Measures the CPU time of the page's main thread from now on, in ms.
async function busyOf(page) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
  const now = async () => (await cdp.send("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration").value;
  const before = await now();
  return async () => 1000 * ((await now()) - before);
}

const at = (numbers, share) => numbers.toSorted((a, b) => a - b)[Math.ceil(share * numbers.length) - 1];
const shown = (numbers, share) => at(numbers, share).toFixed(0);

it("measures each page", async () => {
  const lines = ["page         first ms: median, p95   again ms: median, p95   moved ms: median, p95   requests, kB: first, again   CPU ms"];
  const missed = [];
  for (const [name, place] of [...PLACES, ...things]) {
    const [first, again, moved, busy] = [[], [], [], []];
    let asked = [];
    for (let n = 0; n < ROUNDS; n++) {
      const visitor = await browser.visitor({ user: place === null ? undefined : user, fresh: true });
      const { page } = visitor;
      await page.addInitScript(watch);
      // As after a login by its page.
      if (place !== null) await page.addInitScript(() => localStorage.setItem("postern.login", "1"));
      const busyMs = await busyOf(page);
      const ofFirst = traffic(visitor.context);
      await page.goto(`/#/${place ?? ""}`);
      first.push(await usableAfter(page));
      busy.push(await busyMs());
      asked = [await ofFirst()];
      const ofAgain = traffic(visitor.context);
      await page.reload();
      again.push(await usableAfter(page));
      asked.push(await ofAgain());
      if (place !== null) {
        await move(page, place === "glossary" ? "account" : "glossary");
        moved.push(await move(page, place));
      }
      await visitor.leave();
    }
    const pair = (numbers) =>
      numbers.length ? `${shown(numbers, 0.5).padStart(6)} ${shown(numbers, 0.95).padStart(6)}` : "";
    lines.push(`${name.padEnd(12)} ${pair(first)}            ${pair(again)}            ${pair(moved).padEnd(13)}            ${asked.join("   ")}   ${shown(busy, 0.5)}`);
    if (at(first, 0.5) > FIRST_MS) missed.push(`${name}, first: ${shown(first, 0.5)} ms`);
    if (moved.length && at(moved, 0.95) > MOVED_MS) missed.push(`${name}, moved: ${shown(moved, 0.95)} ms`);
  }
  console.log(lines.join("\n"));
  if (process.env.AIMS) assert.deepEqual(missed, []);
});

// The CPU time of postern-httpd so far, in ms.
function httpdMs() {
  const pid = readFileSync(`${process.env.POSTERN_DIR}/httpd.pid`, "utf8").trim();
  const fields = readFileSync(`/proc/${pid}/stat`, "latin1").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

it("measures what open overviews cost the server", async () => {
  let isOver = false;
  // Something changes all the time, or the pages ask for nothing.
  const mail = (async () => {
    while (!isOver) {
      await t.send(tenant, { to: "ann@remote.test", subject: "One a second" });
      await sleep(1000);
    }
  })();
  const minute = async () => {
    const before = httpdMs();
    await sleep(MINUTE_S * 1000);
    return httpdMs() - before;
  };
  const without = await minute();
  const visitors = [];
  for (let n = 0; n < DASHBOARDS; n++) {
    // Each of another user, as of one only some get a stream of changes.
    const visitor = await browser.visitor({ user: await t.newUser(), fresh: true });
    await visitor.go("");
    visitors.push(visitor);
  }
  const open = await minute();
  isOver = true;
  await mail;
  for (const visitor of visitors) await visitor.leave();
  const share = (100 * (open - without)) / (MINUTE_S * 1000);
  console.log(`${DASHBOARDS} open overviews: ${open - without} ms of CPU time a minute (${share.toFixed(1)} % of a core); without them ${without} ms`);
});
