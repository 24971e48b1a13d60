// The dashboard in Firefox: every page is shown, without an error and without being wider than the
// window; what uses newer parts of HTML works. All else is tested in Chromium.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import * as t from "./browser.mjs";
import { Firefox } from "./firefox.mjs";

const PLACES = ["", "statistics", "emails", "events", "held", "outbox", "refusals", "companies", "domains", "keys", "webhooks", "suppressions",
  "exemptions", "users", "audit", "settings", "account", "glossary"];

let firefox;

before(async () => {
  firefox = await Firefox.open();
});

after(() => firefox?.close());

// Whether the page of this address has its title and all that it loads.
const isSettled = (place) => {
  const main = document.querySelector("main");
  return main && location.hash.split("?")[0] === `#/${place}` && !main.hasAttribute("aria-busy") && main.querySelector("h1") &&
    !main.querySelector("[aria-busy=true], .loading") && document.title;
};
const isThere = (text) => document.body?.innerText.includes(text);

async function go(place) {
  await firefox.evaluate((hash) => void (location.hash = hash), `#/${place}`);
  return firefox.until(`the page ${place}`, isSettled, place);
}

describe("in Firefox", () => {
  it("somebody logs in, and every page is shown", async () => {
    await firefox.navigate(`${t.admin}/`);
    await firefox.until("the login", () => document.querySelector("main form"));
    await firefox.evaluate((login, password) => {
      const form = document.querySelector("main form");
      form.querySelector("[name=login]").value = login;
      form.querySelector("[name=password]").value = password;
      form.requestSubmit();
    }, t.operator.login, t.operator.password);
    await firefox.until("the overview", isThere, "Log out");
    for (const place of PLACES) {
      assert.match(await go(place), /^[A-Z].* · Postern$/);
      const [wide, width] = await firefox.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      assert.ok(wide <= width, `${place}: ${wide} of ${width} pixels`);
      // What is in place of a page, or of a part of it, that could not be shown.
      const failed = await firefox.evaluate(() => document.querySelector("main .remark.tone-bad:has(button)")?.innerText ?? null);
      assert.equal(failed, null, place);
    }
  });

  it("events come in, words are explained, and what is typed is found", async () => {
    const tenant = await t.newTenant();
    await go("events");
    await t.send(tenant, { to: "unknown@remote.test", subject: "Seen in Firefox" });
    await firefox.until("the bounce", () =>
      [...document.querySelectorAll("main tbody tr")].some(({ innerText }) => /Seen in Firefox/.test(innerText) && /bounced/.test(innerText)));
    await firefox.evaluate(() => document.querySelector("main button.help").click());
    await firefox.until("the glossary", () => document.querySelector(".help-box:popover-open")?.innerText.includes("One thing that happened"));
    await firefox.press("\uE00C"); // Escape
    await firefox.until("its end", () => !document.querySelector(".help-box"));
    await firefox.evaluate(() => document.querySelector("main input[name=recipient]").focus());
    await firefox.press(..."nobody@remote.test");
    await firefox.until("the answer", isThere, "match");
    await go("keys");
    await firefox.evaluate(() => [...document.querySelectorAll("main button")].find(({ innerText }) => innerText === "Create a key").click());
    await firefox.until("the dialog", () => document.querySelector("dialog[open] input[name=name]") === document.activeElement);
    await firefox.press("\uE00C");
    await firefox.until("its end", () => !document.querySelector("dialog"));
  });

  it("no page had an error", async () => {
    assert.deepEqual(await firefox.faults(t.admin), []);
    // One that is made on purpose is seen.
    await firefox.evaluate(() => {
      globalThis.theme.choose = undefined;
      document.querySelector("#nav select").dispatchEvent(new Event("change"));
    });
    assert.match((await firefox.faults(t.admin)).join(), /app\.js .*theme\.choose/);
  });
});
