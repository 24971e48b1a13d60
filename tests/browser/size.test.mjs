// The dashboard at the size that it is needed: 60,000 emails, 31 companies, 201 domains, 122 keys
// (tests/browser/seed). What is worst comes first, lists have pages and can be sorted, one part that
// fails leaves the others, and held mail is decided about.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import * as t from "./browser.mjs";

const COMPANY = "c0000003-0000-4000-8000-000000000003";
const DOMAIN = "d0000003-0000-4000-8000-000000000003";
const WEBHOOK = "b0000003-0000-4000-8000-000000000003";

// What a page may be high, on a desk and on a phone.
const HIGH = { [t.DESKTOP.width]: 2600, [t.PHONE.width]: 5000 };

let wide; // the place of an email with many recipients

const rowsOf = (page) => page.getByRole("main").getByRole("row");
const id = (n) => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
const press = (where, name) => where.getByRole("button", { name, exact: true }).click();

describe("at size", () => {
  it("the overview has what is not well, what is to be done, and the domain that bounces, in this order", async () => {
    const visitor = await t.visitor({ user: t.operator, stays: true });
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
    const visitor = await t.visitor({ user: t.operator, stays: true });
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
    await t.picture(visitor, "hosts-lost");
    hosts[1] = host("mx2.example", "well", "");
    await page.reload();
    await order("Mail", "Hosts");
    await visitor.leave();
  });

  it("a part that fails says so in its place, and mends", async () => {
    const visitor = await t.visitor({ user: t.operator, stays: true });
    const { page } = visitor;
    // It is told to people, and is no fault of the page.
    const told = page.waitForEvent("console", (message) => message.text().includes("500"));
    await page.route("**/admin/stats?*", (route) =>
      route.fulfill({ status: 500, json: { name: "internal_server_error", message: "A number is bad" } }));
    await visitor.go("");
    await told;
    await visitor.see("The mail counts cannot be shown now. A number is bad.");
    assert.ok(await page.getByRole("heading", { name: "Needs attention" }).isVisible());
    await rowsOf(page).filter({ hasText: "Subject 60000" }).waitFor();
    await visitor.see("The numbers by domain cannot be shown now. A number is bad.");
    await page.unroute("**/admin/stats?*");
    await page.getByRole("button", { name: "Try again" }).first().click();
    await page.getByRole("table", { name: "By domain" }).waitFor();
    await page.getByText("A number is bad.").first().waitFor({ state: "hidden" });
    visitor.faults = visitor.faults.filter((text) => !/status of 500/.test(text));
    await visitor.leave();
  });

  it("a part that fails leaves the others on every page, and mends by itself", async () => {
    const visitor = await t.visitor({ user: t.operator, stays: true });
    const { page } = visitor;
    const { data: [domain] } = await (await visitor.context.request.get(`${t.admin}/admin/domains?limit=1`)).json();
    for (const [place, from, other] of [
      ["settings", "**/admin/doctor", "Settings in force"],
      ["settings", "**/admin/settings", "What postern doctor found"],
      ["statistics", "**/admin/stats/reasons?*", "By provider"],
      [`companies/${COMPANY}`, "**/admin/stats?*", "Newest emails"],
      [`domains/${domain.id}`, "**/admin/domains/*/dns", "Rules"],
      ["", "**/admin/attention", "Newest emails"],
    ]) {
      await page.route(from, (route) => route.fulfill({ status: 500, json: { message: "A number is bad" } }));
      await visitor.go("glossary");
      await visitor.go(place);
      await visitor.see(/A number is bad\./);
      await page.getByRole("heading", { name: other, exact: true }).waitFor();
      await page.unroute(from);
      await page.getByText("A number is bad.").first().waitFor({ state: "hidden" });
    }
    visitor.faults = visitor.faults.filter((text) => !/status of 500/.test(text));
    await visitor.leave();
  });

  it("totals are no more exact than what they add up, and lead to the emails that they count", async () => {
    const visitor = await t.visitor({ user: t.operator, stays: true });
    const { page } = visitor;
    // The server stops counting at 1,000.
    await page.route("**/admin/companies?*", async (route) => {
      const answer = await (await route.fetch()).json();
      Object.assign(answer.data[0], { domains: 1000, keys: 1 });
      return route.fulfill({ json: answer });
    });
    await visitor.go("companies");
    const sums = page.getByRole("table", { name: "Companies" }).locator("tfoot td");
    assert.match(await sums.nth(0).innerText(), /^1,\d\d\d or more$/);
    assert.match(await sums.nth(1).innerText(), /^\d+$/);
    const counts = { accepted: 9, delivered: 2, bounced: 3, expired: 4 };
    await page.route("**/admin/stats?*", (route) =>
      route.fulfill({ json: { object: "list", has_more: false, next: null, data: [{ time: new Date().toISOString(), counts }] } }));
    await visitor.go(`companies/${COMPANY}`);
    for (const [name, status] of [["Bounced", "bounced"], ["Expired", "expired"]]) {
      const tile = page.locator("a.tile", { hasText: name });
      assert.match(await tile.innerText(), new RegExp(`${counts[status]}$`));
      assert.match(await tile.getAttribute("href"), new RegExp(`status=${status}$`));
    }
    await page.route("**/admin/stats/providers?*", (route) =>
      route.fulfill({ json: { object: "list", has_more: false, data: ["google", "apple"].map((provider, i) => ({
        provider, delivered: 5 + i, deferred: i, bounced: 1 + 2 * i, expired: 1 })) } }));
    await visitor.go("statistics");
    const table = page.getByRole("table", { name: "By provider" });
    assert.deepEqual(await table.locator("tfoot td").allInnerTexts(), ["11", "1", "4", "2", "35.3 %"]);
    await press(table, "Bounced");
    assert.match(await table.locator("tbody tr").first().innerText(), /^Apple/);
    await press(table, "Bounced");
    assert.match(await table.locator("tbody tr").first().innerText(), /^Google/);
    await visitor.leave();
  });

  it("lists are sorted as a whole, have pages, and are come back to", async () => {
    const visitor = await t.visitor({ user: t.operator, stays: true });
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
    // So are tables that are not lists, and the events.
    for (const [place, name, words] of [
      ["settings", "Settings", /^26 to 50 of \d+ settings$/], ["outbox", "What is paused", /^26 to 50 of \d+ pauses$/],
      ["events", "Events", /^26 to 50 of the newest \d+ events$/]]) {
      await visitor.go(place);
      await press(page.getByRole("navigation", { name: `Pages of ${name}` }), "Next");
      await visitor.see(words);
      const top = () => page.getByRole("table", { name, exact: true }).locator("tbody tr").first().textContent();
      const before = await top();
      await visitor.go("glossary");
      await page.goBack();
      await visitor.settled();
      await visitor.see(words);
      assert.equal((await top()).replace(/\d+ \w+ ago/, ""), before.replace(/\d+ \w+ ago/, ""), place);
    }
    await visitor.leave();
  });

  it("all events that match the filters become a file, however few of them the page has", async () => {
    const visitor = await t.visitor({ user: t.operator, stays: true });
    const { page } = visitor;
    const ids = [];
    for (let after = ""; after !== null; ) {
      const asked = new URLSearchParams({ domain: "d005.example", limit: 100, ...(after && { after }) });
      const answer = await visitor.context.request.get(`${t.admin}/admin/events?${asked}`);
      const { data, next } = await answer.json();
      ids.push(...data.map(({ id }) => id));
      after = next;
    }
    assert.ok(ids.length > 100, `${ids.length} events`);
    await visitor.go("events?domain=d005.example");
    await press(page, "Export");
    const dialog = page.getByRole("dialog", { name: "Export: Events" });
    await dialog.getByLabel("JSON", { exact: true }).check();
    const [download] = await Promise.all([page.waitForEvent("download"), press(dialog, "Export")]);
    const rows = JSON.parse(readFileSync(await download.path(), "utf8"));
    assert.deepEqual(rows.map(({ id }) => id), ids);
    await visitor.leave();
  });

  it("a search finds the oldest email by parts of words, and says when there is none", async () => {
    const visitor = await t.visitor({ user: t.operator, stays: true });
    const { page } = visitor;
    await visitor.go("emails");
    const search = page.getByRole("searchbox", { name: "Search" });
    await search.fill("ery first invo");
    await visitor.see("Emails with all of these words");
    await rowsOf(page).filter({ hasText: "The very first invoice" }).waitFor();
    await visitor.see("1 to 1 of 1 email");
    await search.fill("nowhere-at-all");
    await visitor.see("No email matches");
    await visitor.leave();
  });

  it("a search that goes on says how far it is, is stopped, and goes on with Next", async () => {
    const visitor = await t.visitor({ user: t.operator, stays: true });
    const { page } = visitor;
    const answer = await visitor.context.request.get("/admin/emails?limit=1");
    const { data: found } = await answer.json();
    // The pages of a search among very many emails, by what they come after. The second one takes
    // until somebody has pressed Stop.
    let release;
    const stopped = new Promise((resolve) => (release = resolve));
    const pages = { "": 10, [id(1)]: 20, [id(2)]: 30 };
    const asked = [];
    await page.route("**/admin/emails?*", async (route) => {
      const query = new URL(route.request().url()).searchParams;
      if (!query.has("q")) return route.continue();
      const after = query.get("after") ?? "";
      asked.push(after);
      if (after === id(1)) await stopped;
      const percent = pages[after];
      const rest = percent
        ? { has_more: true, data: [], next: id(percent / 10), looked: { percent, until: "2026-01-02T03:04:05Z" } }
        : { has_more: false, data: found, next: null, looked: null };
      await route.fulfill({ json: { object: "list", found_by: "text", unread_percent: 0, ...rest } });
    });
    await visitor.go("emails?q=rare");
    await visitor.see(/Still looking: 10 % of the emails, back to 2026-01-02 03:04:05\. /);
    await visitor.see("Nothing found yet");
    await press(page, "Stop");
    release();
    await visitor.see(/Searched 20 % of the emails.* Press Next to search further\./);
    await visitor.see("Nothing found so far");
    assert.ok(!asked.includes(id(2)), asked.join());
    await press(page, "Next");
    await rowsOf(page).filter({ hasText: found[0].subject }).waitFor();
    await visitor.see("1 to 1 of 1 email");
    assert.equal(await page.getByText(/Still looking|Searched/).count(), 0);
    await visitor.leave();
  });

  it("what needs attention is grouped by what it is about, and each leads to its thing", async () => {
    const visitor = await t.visitor({ user: t.operator, stays: true });
    const { page } = visitor;
    await visitor.go("");
    const groups = await page.locator(".attention-kind").evaluateAll((all) =>
      all.map((group) => [
        group.querySelector("h3").textContent,
        [...group.querySelectorAll("a")].map((a) => a.getAttribute("href")),
      ]));
    assert.deepEqual(groups.map(([title]) => title).sort(), ["Deliveries", "Domains", "Keys", "Outgoing mail", "Webhooks"]);
    const pages = {
      Deliveries: /^#\/emails\?/, Domains: /^#\/(domains|refusals)/, Keys: /^#\/(keys|emails\?status=refused)/, "Outgoing mail": /^#\/(companies\/|emails\?|held|outbox)/, Webhooks: /^#\/webhooks/,
    };
    for (const [title, places] of groups)
      for (const place of places) {
        assert.match(place, pages[title], title);
        await visitor.go(place.replace("#/", ""));
        assert.notEqual(await visitor.title().innerText(), "Not found", place);
        assert.equal(await page.getByText(/ matches$|^Nothing is held$/).count(), 0, place);
      }
    await visitor.leave();
  });

  it("statistics compare with the period before, and have a throughput", async () => {
    const visitor = await t.visitor({ user: t.operator, stays: true });
    const { page } = visitor;
    // What the page was answered about the time and the one before it.
    const answers = [];
    page.on("response", (response) => response.url().includes("/admin/stats?") && answers.push(response));
    await visitor.go("statistics?period=1d&domain=d151.example");
    const sums = [];
    for (const response of answers) {
      const { data } = await response.json();
      const since = new URL(response.url()).searchParams.get("since");
      sums.push({ since, bounced: data.reduce((n, { counts }) => n + (counts.bounced ?? 0), 0) });
    }
    sums.sort((a, b) => (a.since < b.since ? -1 : 1));
    const [before, now] = [sums[0].bounced, sums.at(-1).bounced];
    assert.ok(before > 0 && now > before, `${before}, ${now}`);
    const tile = page.locator(".tile").filter({ hasText: /^Bounced/ });
    assert.equal(await tile.locator(".tile-number").innerText(), String(now));
    const change = tile.locator(".change.tone-bad");
    assert.equal(await change.innerText(), `+${Math.round((100 * (now - before)) / before)} %`);
    assert.equal(await change.getAttribute("title"), `${before} before`);
    await visitor.go("statistics?period=1d");
    const plot = page.getByRole("img", { name: /^Deliveries a minute: at most [\d.,]+$/ });
    await plot.scrollIntoViewIfNeeded();
    const most = Number((await plot.getAttribute("aria-label")).match(/[\d.,]+$/)[0].replace(",", ""));
    const rates = await t.waitFor("its plot", () => plot.evaluate((canvas) => globalThis.Chart?.getChart(canvas)?.data.datasets[0].data));
    assert.ok(most > 1 && Math.abs(Math.max(...rates) - most) < 1, `${most} of ${rates}`);
    await visitor.leave();
  });

  it("an export says how far it is", async () => {
    const visitor = await t.visitor({ user: t.operator, stays: true });
    const { page } = visitor;
    await visitor.go("domains");
    let release;
    const seen = new Promise((resolve) => (release = resolve));
    await page.route("**/admin/domains?*after=*", async (route) => {
      await seen;
      await route.continue();
    });
    await press(page, "Export");
    const dialog = page.getByRole("dialog", { name: "Export: Domains" });
    const download = page.waitForEvent("download");
    await press(dialog, "Export");
    await dialog.getByText(/^100 rows, back to .+ …$/).waitFor();
    release();
    await download;
    await visitor.see(/Saved [1-9]\d* rows as domains\.csv/);
    await visitor.leave();
  });

  it("a company has its numbers, domains, keys, users and emails, and lists have them alone", async () => {
    const visitor = await t.visitor({ user: t.operator, stays: true });
    const { page } = visitor;
    const ask = async (target) => (await visitor.context.request.get(target)).json();
    const all = async (what) => (await ask(`/admin/${what}?company_id=${COMPANY}&limit=100`)).data;
    await visitor.go(`companies/${COMPANY}`);
    const { data: steps } = await ask(`/admin/stats?company_id=${COMPANY}&since=7d&step=day`);
    const delivered = steps.reduce((n, { counts }) => n + (counts.delivered ?? 0), 0);
    assert.ok(delivered > 0);
    const tile = page.locator(".tile").filter({ hasText: /^Delivered/ });
    assert.equal(await tile.locator(".tile-number").innerText(), delivered.toLocaleString("en"));
    for (const [title, rows, nameOf] of [
      ["Domains", await all("domains"), ({ name }) => name],
      ["Keys", (await all("keys")).filter((key) => !key.revoked_at), ({ name }) => name],
      ["Users", await all("users"), ({ login }) => login],
      ["Emails", (await all("emails")).slice(0, 10), ({ to }) => to[0]],
    ]) {
      assert.ok(rows.length > 1, title);
      const lines = page.getByRole("table", { name: title, exact: true }).locator("tbody tr");
      assert.equal(await lines.count(), rows.length, title);
      for (const [n, row] of rows.entries())
        assert.ok((await lines.nth(n).innerText()).includes(nameOf(row)), `${title}: ${nameOf(row)}`);
    }
    await visitor.go("domains");
    await t.choose(page, "Company", "Company 0000003");
    await visitor.see("1 to 7 of 7 domains");
    assert.ok(page.url().includes(`company=${COMPANY}`));
    assert.equal(await page.locator("tbody").getByRole("link", { name: "Company 0000003", exact: true }).count(), 7);
    await visitor.leave();
  });

  it("every question mark explains its words", async () => {
    const visitor = await t.visitor({ user: t.operator, stays: true });
    const { page } = visitor;
    let n = 0;
    for (const place of ["", "statistics", "emails", "held", "outbox", "refusals", "domains", "keys", "webhooks", "suppressions", "exemptions"]) {
      await visitor.go(place);
      // As by clicks, in the page: there are very many.
      const told = await page.evaluate(async (patience) => {
        const until = async (what, isSo) => {
          for (const end = performance.now() + patience; !isSo(); await new Promise(requestAnimationFrame))
            if (performance.now() > end) throw new Error(`waited in vain for ${what}`);
        };
        // Anew each time: the page may draw its parts again meanwhile.
        const marks = () => [...document.querySelectorAll("main .help")].filter((one) => one.checkVisibility());
        const all = [];
        for (let i = 0, mark; (mark = marks()[i]); i++) {
          mark.click();
          await until("the glossary", () => document.querySelector(".help-box:popover-open"));
          const box = document.querySelector(".help-box");
          const texts = (name) => [...box.querySelectorAll(name)].map((one) => one.innerText);
          all.push([mark.getAttribute("aria-label").replace("Explain: ", ""), texts("dt").join(", "), texts("dd")]);
          box.hidePopover();
          await until("its end", () => !document.querySelector(".help-box"));
        }
        return all;
      }, t.PATIENCE_MS);
      for (const [words, explained, texts] of told) {
        assert.equal(explained, words, place);
        for (const text of texts) assert.match(text, /\w.*\.$/s, place);
      }
      n += told.length;
    }
    assert.ok(n >= 8, `${n} marks`);
    await visitor.leave();
  });

  it("what one chooses among is found by a part of its name, and says whose it is", async () => {
    const visitor = await t.visitor({ user: t.operator, stays: true });
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

  it("an email with a thousand recipients and a long subject has pages of them, and a search", async () => {
    const tenant = await t.newTenant();
    const to = Array.from({ length: 990 }, (_, i) => `user${i}@remote.test`);
    wide = `emails/${await t.sendForm(tenant, { to: [...to, "unknown@remote.test"].join(), subject: "Wide ".repeat(180) })}`;
    const visitor = await t.visitor({ user: t.operator, stays: true });
    const { page } = visitor;
    await visitor.go(wide);
    await visitor.see("In part, of 991 recipients: 990 delivered, 1 bounced.");
    await visitor.see("1 to 25 of 991 recipients");
    assert.match(await page.getByRole("table", { name: "Recipients" }).locator("tbody tr").first().innerText(), /^unknown@remote.test.*bounced/s);
    await press(page, "Next");
    await visitor.see("26 to 50 of 991 recipients");
    await page.getByRole("searchbox", { name: "Find a recipient" }).fill("user777");
    await visitor.see("1 to 1 of 1 recipient");
    await rowsOf(page).getByText("user777@remote.test").click();
    await visitor.see(/250 2.0.0/);
    await visitor.leave();
  });

  // Pages with parts that nothing has while there are few rows.
  const MORE = ["overview", "domains", "email", "statistics"];

  for (const screen of [t.DESKTOP, t.PHONE])
    it(`every page is usable, and no longer than some screens, ${screen.width} pixels wide`, async () => {
      const visitor = await t.visitor({ user: t.operator, screen });
      const wrong = [];
      for (const [name, place] of [
        ["overview", ""], ["companies"], ["company", `companies/${COMPANY}`], ["domains"], ["domain", `domains/${DOMAIN}`], ["keys"], ["emails"],
        ["email", wide], ["events"], ["held"], ["outbox"], ["refusals"], ["suppressions"], ["webhooks"], ["webhook", `webhooks/${WEBHOOK}`],
        ["exemptions"], ["users"], ["audit"], ["settings"], ["statistics"]]) {
        await visitor.go(place ?? name);
        // What else is usable with fewer rows is with more of them, too.
        const rules = screen === t.DESKTOP && MORE.includes(name) ? "structure" : "none";
        wrong.push(...(await t.look(visitor, `size-${name}-${screen.width}`, rules)));
        const high = await visitor.page.evaluate(() => document.documentElement.scrollHeight);
        if (high > HIGH[screen.width]) wrong.push(`${name}: ${high} pixels high`);
      }
      assert.deepEqual(wrong, []);
      await visitor.leave();
    });
});

describe("held mail", () => {
  it("is shown, and rules asked again, released and dropped, several at once", async () => {
    for (const n of [1, 2, 3])
      await t.run("sendmail", ["-C", process.env.POSTFIX_CONFIG, "-f", "a@other.test", `held${n}@dst.test`],
        `From: Boss <boss@d00${n}.example>\nTo: x@dst.test\nSubject: Forged ${n}\n\nHello\n`);
    const visitor = await t.visitor({ user: t.operator, stays: true });
    const { page } = visitor;
    const row = (text) => rowsOf(page).filter({ hasText: text });
    await visitor.go("held");
    for (const n of [1, 2, 3]) await row(`Forged ${n}`).waitFor();
    const wrong = await t.look(visitor, "held-light-desktop");
    const phone = await t.visitor({ user: t.operator, scheme: "dark", screen: t.PHONE });
    await phone.go("held");
    await phone.page.getByText("Forged 1").waitFor();
    assert.deepEqual([...wrong, ...(await t.look(phone, "held-dark-phone"))], []);
    await phone.leave();
    await press(row("Forged 1"), "Show");
    const box = page.getByRole("dialog", { name: "Forged 1" });
    await box.getByText("From: Boss <boss@d001.example>").waitFor();
    await t.picture(visitor, "held-shown");
    await press(box, "Done");
    await press(row("Forged 1"), "Check again");
    await row("Forged 1").getByText("the rules still refuse it").waitFor();
    for (const n of [1, 2]) await row(`Forged ${n}`).getByRole("checkbox").check();
    await t.picture(visitor, "held");
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
