// Measures how long it takes until a page can be used: from the begin of its
// navigation until its title and data are there. First: nothing of it is in the
// browser's cache; again: the program is, and is started anew.
//
// usage: tests/browser/run tests/browser/usable.mjs

import { after, before, it } from "node:test";
import * as t from "./browser.mjs";

const ROUNDS = 9;
const PLACES = [
  ["login", null],
  ["overview", ""],
  ["emails", "emails"],
  ["events", "events"],
  ["refusals", "refusals"],
  ["held", "held"],
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
];

let browser, user;

before(async () => {
  browser = await t.Browser.open();
  const tenant = await t.newTenant();
  for (let n = 0; n < 60; n++)
    await t.send(tenant, { to: "ann@remote.test", subject: `No. ${n}` });
  user = await t.newUser();
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

const at = (numbers, share) =>
  numbers.sort((a, b) => a - b)[Math.ceil(share * numbers.length) - 1].toFixed(0);

it("measures each page", async () => {
  const lines = ["page         first ms: median, p95   again ms: median, p95"];
  for (const [name, place] of PLACES) {
    const first = [];
    const again = [];
    for (let n = 0; n < ROUNDS; n++) {
      const visitor = await browser.visitor(place === null ? {} : { user });
      const { page } = visitor;
      await page.addInitScript(watch);
      await page.goto(`/#/${place ?? ""}`);
      first.push(await usableAfter(page));
      await page.reload();
      again.push(await usableAfter(page));
      await visitor.leave();
    }
    const pair = (numbers) =>
      `${at(numbers, 0.5).padStart(6)} ${at(numbers, 0.95).padStart(6)}`;
    lines.push(`${name.padEnd(12)} ${pair(first)}            ${pair(again)}`);
  }
  console.log(lines.join("\n"));
});
