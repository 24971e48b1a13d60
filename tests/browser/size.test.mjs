// The dashboard at the size that it is needed: 60,000 emails, 31 companies, 201 domains, 122 keys
// (tests/browser/seed). What is worst comes first, lists have pages and can be sorted, one part that
// fails leaves the others, and held mail is decided about.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import * as t from "./browser.mjs";

const folder = process.env.POSTERN_SCREENSHOTS;
const COMPANY = "c0000003-0000-4000-8000-000000000003";

// What a page may be high, on a desk and on a phone.
const HIGH = { [t.DESKTOP.width]: 2600, [t.PHONE.width]: 5000 };

let browser;
before(async () => {
  browser = await t.Browser.open();
});
after(() => browser.close());

const rowsOf = (page) => page.getByRole("main").getByRole("row");
const press = (where, name) => where.getByRole("button", { name, exact: true }).click();

describe("at size", () => {
  it("the overview has what is not well, what is to be done, and the domain that bounces, in this order", async () => {
    const visitor = await browser.visitor({ user: t.operator });
    const { page } = visitor;
    await t.sandbox("stop", "milter");
    await visitor.go("");
    const titles = await page.locator("main h2").allInnerTexts();
    assert.deepEqual(titles.slice(0, 2), ["Services", "Needs attention"]);
    await visitor.see("postern-milter does not answer");
    await visitor.see("emails wait in the outbox, and Postfix puts other mail off: nothing is lost");
    await visitor.see(/start it: systemctl restart postern-milter/);
    await t.sandbox("start", "milter");
    const table = page.getByRole("table", { name: "By domain" });
    assert.match(await table.locator("tbody tr").first().innerText(), /^d151\.example.*100\.0 %/s);
    assert.match(await table.locator("tfoot").innerText(), /All 217 domains/);
    await table.getByRole("button", { name: "Delivered" }).click();
    assert.doesNotMatch(await table.locator("tbody tr").first().innerText(), /d151/);
    // What is to be done leads to the thing itself.
    await page.getByRole("listitem").filter({ hasText: "Companies have requested" }).getByRole("link", { name: "d160.example", exact: true }).click();
    await visitor.title().getByText("d160.example").waitFor();
    await visitor.leave();
  });

  it("hosts that share the database are shown, one that is lost above the mail, and none where there is one", async () => {
    const visitor = await browser.visitor({ user: t.operator });
    const { page } = visitor;
    await visitor.go("");
    await page.getByRole("heading", { name: "Services" }).waitFor();
    assert.equal(await page.getByRole("heading", { name: "Hosts" }).count(), 0);
    // What a database of two hosts answers; tests/daemon/test_hosts.py has such hosts.
    const host = (name, state, problem) => ({
      object: "host", name, state, problem, version: "0.1.0", first_at: "2026-01-01T00:00:00Z", seen_at: new Date().toISOString(), taken: 0,
    });
    const hosts = [host("mx1.example", "well", ""), host("mx2.example", "lost", "postern-httpd: no heartbeat since 2026-11-21 12:00:00Z")];
    await page.route("**/admin/hosts", (route) => route.fulfill({ json: { object: "list", has_more: false, data: hosts } }));
    await page.reload();
    const part = page.getByRole("region", { name: "Hosts" });
    await part.waitFor();
    assert.match(await part.getByRole("listitem").first().innerText(), /lost\s+mx2\.example.*no heartbeat since[^]*postern hosts remove mx2\.example/s);
    const order = (...names) =>
      t.waitFor(`${names} in this order`, async () => {
        const shown = await page.getByRole("heading", { level: 2 }).allInnerTexts();
        return shown.filter((name) => names.includes(name)).join() === names.join();
      });
    await order("Hosts", "Mail");
    await page.screenshot({ path: `${folder}/hosts-lost.png`, fullPage: true });
    hosts[1] = host("mx2.example", "well", "");
    await page.reload();
    await order("Mail", "Hosts");
    await visitor.leave();
  });

  it("a part that fails says so in its place, and mends", async () => {
    const visitor = await browser.visitor({ user: t.operator });
    const { page } = visitor;
    // It is told to people, and is no fault of the page.
    const told = page.waitForEvent("console", (message) => message.text().includes("500"));
    await page.route("**/admin/stats?*", (route) =>
      route.fulfill({ status: 500, json: { name: "internal_server_error", message: "A number is bad" } }));
    await visitor.go("");
    await told;
    await visitor.see("How much mail there was cannot be shown now. A number is bad.");
    assert.ok(await page.getByRole("heading", { name: "Needs attention" }).isVisible());
    await rowsOf(page).filter({ hasText: "Subject 60000" }).waitFor();
    await page.unroute("**/admin/stats?*");
    await press(page, "Try again");
    await page.getByRole("table", { name: "By domain" }).waitFor();
    visitor.faults = visitor.faults.filter((text) => !/status of 500/.test(text));
    await visitor.leave();
  });

  it("lists are sorted as a whole, have pages, and are come back to", async () => {
    const visitor = await browser.visitor({ user: t.operator });
    const { page } = visitor;
    await visitor.go("domains");
    await visitor.see("1 to 25 of more than 50 domains");
    await press(page, "Domain");
    await visitor.see("1 to 25 of 218 domains");
    await press(page, "Domain");
    await rowsOf(page).nth(2).getByText("d217.example").or(rowsOf(page).nth(1).getByText("d217.example")).waitFor();
    await press(page, "Next");
    await visitor.see("26 to 50 of 218 domains");
    const first = await rowsOf(page).nth(1).getByRole("link").first().innerText();
    await page.getByRole("link", { name: first, exact: true }).click();
    await visitor.title().getByText(first).waitFor();
    await page.goBack();
    await visitor.see("26 to 50 of 218 domains");
    await page.getByRole("link", { name: first, exact: true }).waitFor();
    await visitor.leave();
  });

  it("what one chooses among is found by a part of its name, and says whose it is", async () => {
    const visitor = await browser.visitor({ user: t.operator });
    const { page } = visitor;
    await visitor.go(`companies/${COMPANY}`);
    await visitor.title().getByText("Company 0000003").waitFor();
    await page.getByRole("link", { name: "Create a key", exact: true }).click();
    const form = page.getByRole("dialog", { name: "Create a key" });
    await t.waitFor("its company", async () => (await t.chosen(form, "Company")) === "Company 0000003");
    const domain = form.getByLabel("Domain", { exact: true });
    await domain.click();
    await form.getByRole("option", { name: "d033.example" }).waitFor();
    assert.equal(await form.getByRole("option", { name: "d001.example" }).count(), 0);
    await page.keyboard.press("Escape");
    await t.choose(form, "Company", "Company 0000030");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await visitor.go("emails");
    await page.getByLabel("Key", { exact: true }).fill("shop");
    await page.getByRole("option", { name: /shop.*Company 00000\d\d/ }).first().click();
    await page.waitForFunction(() => location.hash.includes("key_id="));
    await visitor.leave();
  });

  for (const screen of [t.DESKTOP, t.PHONE])
    it(`no page is longer than some screens, ${screen.width} pixels wide`, async () => {
      const visitor = await browser.visitor({ user: t.operator, screen });
      const long = [];
      for (const place of ["", "companies", `companies/${COMPANY}`, "domains", "keys", "emails", "events", "held", "outbox", "refusals",
        "suppressions", "webhooks", "exemptions", "users", "audit"]) {
        await visitor.go(place);
        const name = place.split("/")[0] || "overview";
        await visitor.page.screenshot({ path: `${folder}/size-${name}-${screen.width}.png`, fullPage: true });
        const high = await visitor.page.evaluate(() => document.documentElement.scrollHeight);
        if (high > HIGH[screen.width]) long.push(`${name}: ${high}`);
      }
      assert.deepEqual(long, []);
      await visitor.leave();
    });
});

describe("held mail", () => {
  it("is shown, and rules asked again, released and dropped, several at once", async () => {
    for (const n of [1, 2, 3])
      await t.run("sendmail", ["-C", process.env.POSTFIX_CONFIG, "-f", "a@other.test", `held${n}@dst.test`],
        `From: Boss <boss@d00${n}.example>\nTo: x@dst.test\nSubject: Forged ${n}\n\nHello\n`);
    const visitor = await browser.visitor({ user: t.operator });
    const { page } = visitor;
    const row = (text) => rowsOf(page).filter({ hasText: text });
    await visitor.go("held");
    for (const n of [1, 2, 3]) await row(`Forged ${n}`).waitFor();
    await press(row("Forged 1"), "Show");
    const box = page.getByRole("dialog", { name: "Forged 1" });
    await box.getByText("From: Boss <boss@d001.example>").waitFor();
    await page.screenshot({ path: `${folder}/held-shown.png` });
    await press(box, "Done");
    await press(row("Forged 1"), "Check again");
    await row("Forged 1").getByText("the rules still refuse it").waitFor();
    for (const n of [1, 2]) await row(`Forged ${n}`).getByRole("checkbox").check();
    await page.screenshot({ path: `${folder}/held.png` });
    await press(page, "Release 2");
    await press(page.getByRole("dialog"), "Release");
    for (const n of [1, 2]) await row(`Forged ${n}`).waitFor({ state: "detached" });
    await press(row("Forged 3"), "Drop");
    await press(page.getByRole("dialog"), "Drop");
    await visitor.see("Nothing is held");
    await visitor.go("audit");
    await row("released the held message").first().waitFor();
    await row("dropped the held message").getByText(t.operator.login).waitFor();
    await visitor.leave();
  });
});
