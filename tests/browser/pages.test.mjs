// Every page, light and dark, on a desktop and on a phone: usable by everybody
// (axe), as light as it has to be, no wider than the screen. With SCREENSHOTS, what it
// looks like is kept as a picture.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, describe, it } from "node:test";
import * as t from "./browser.mjs";

// What a page may weigh, as it is sent.
const MAX_WEIGHT = 175_000;
const HEAD = 300; // of an answer

let tenant, owner, operator, learning;
let places; // [name, address] of each page
let deferred; // the id of an email that Postfix tries again

// A company that has been at work: emails that went every way, mail that the
// rules stopped or let pass.
before(async () => {
  tenant = await t.newTenant();
  operator = await t.newUser();
  owner = await t.newUser({ company: tenant.id });
  await t.newUser({ company: tenant.id, role: "viewer" });
  await t.postern(["exempt", "add", tenant.domain, "--client", "192.0.2.7"]);
  learning = `${t.unique("learning")}.example`;
  await t.postern(
    ["domain", "add", learning, "--company", tenant.id, "--policy", "learn"],
  );
  for (const domain of [tenant.domain, learning])
    await t.smtp(
      "EHLO crm.example",
      `MAIL FROM:<news@${domain}>`,
      "RCPT TO:<ann@dst.test>",
      "DATA",
      `From: News <news@${domain}>\r\nTo: ann@dst.test\r\n` +
        "Subject: By no key\r\n\r\nHello\r\n.",
    );
  // It finds faults in a sandbox, and says so by its exit status.
  await t.postern(["doctor"]).catch(() => {});
  const ids = {};
  for (const [local, subject] of [
    ["ann", "Your invoice 2026-1183"],
    ["unknown", "Reset your password"],
    ["later", "Welcome to Acme"],
    ["spam", "Last chance: everything must go, and this is a subject that is long"],
  ])
    ids[local] = await t.send(tenant, {
      from: `Acme <billing@${tenant.domain}>`,
      to: [`${local}@remote.test`],
      subject,
      html: `<h1>${subject}</h1><p>Hello, <b>this</b> is it.</p>`,
      tags: [{ name: "kind", value: "invoice" }],
    });
  const asker = await t.visitor({ user: operator });
  const { data: domains } = await answerTo(asker, "/admin/domains");
  const own = domains.find((one) => one.name === tenant.domain);
  const told = (id, word) =>
    t.waitFor(`${word} of ${id}`, async () =>
      JSON.stringify(await answerTo(asker, `/admin/emails/${id}`)).includes(word),
    );
  await told(ids.ann, '"delivered"');
  await told(ids.unknown, '"bounced"');
  await told(ids.later, '"deferred"');
  await asker.leave();
  deferred = ids.later;
  places = [
    ["overview", ""],
    ["statistics", "statistics"],
    ["emails", "emails"],
    ["email", `emails/${ids.ann}`],
    ["email-bounced", `emails/${ids.unknown}`],
    ["events", "events"],
    ["outbox", "outbox"],
    ["refusals", "refusals"],
    ["held", "held"],
    ["companies", "companies"],
    ["company", `companies/${tenant.id}`],
    ["domains", "domains"],
    ["domain", `domains/${own.id}`],
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
});

async function answerTo(visitor, target) {
  const answer = await visitor.context.request.get(target);
  assert.equal(answer.status(), 200);
  return answer.json();
}

// Whose colours axe looks at in each theme at each width: they have what all pages have, such as the
// navigation and the heads of tables. Of the others it does so in the light at a desk.
const COMMON = ["overview", "emails"];

for (const [size, screen] of [["desktop", t.DESKTOP], ["phone", t.PHONE]])
  describe(`light and dark, on a ${size}`, () => {
    it("the login page is usable", async () => {
      const visitor = await t.visitor({ screen });
      const { page } = visitor;
      await page.goto("/");
      await visitor.settled();
      assert.deepEqual(await t.lookAtBoth(visitor, "login", size, "all", "all"), []);
      // A text that is made too faint on purpose is seen.
      await page.locator("h1").evaluate((node) => (node.style.color = getComputedStyle(document.body).backgroundColor));
      assert.match((await t.look(visitor, "faint")).join(), /^faint: a contrast of 1\.\d\d: <h1/);
      await visitor.leave();
    });

    it("every page is usable", async () => {
      const visitor = await t.visitor({ user: operator, screen });
      const wrong = [];
      for (const [name, place] of places) {
        await visitor.go(place);
        const isCommon = COMMON.includes(name);
        const inLight = isCommon || screen === t.DESKTOP ? "all" : "structure";
        wrong.push(...(await t.lookAtBoth(visitor, name, size, inLight, isCommon ? "all" : "none")));
        if (screen === t.DESKTOP) wrong.push(...(await lookAtPaper(visitor, name)));
      }
      assert.deepEqual(wrong, []);
      await visitor.leave();
    });
  });

// What is wrong with the page on paper: it has its title, nothing to be pressed, and dark text
// whatever the screen has.
async function lookAtPaper({ page }, name) {
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  const wrong = await page.evaluate(() => {
    const visible = (node) => node?.getBoundingClientRect().height > 0 && getComputedStyle(node).visibility === "visible";
    return [
      !visible(document.querySelector("main h1")) && "no title",
      [...document.querySelectorAll("nav, button")].some(visible) && "something to be pressed",
      getComputedStyle(document.body).getPropertyValue("--text").trim() !== "#1b2127" && "text that is not dark",
    ].filter(Boolean);
  });
  await page.emulateMedia({ media: "screen", colorScheme: "light" });
  return wrong.map((what) => `${name}, on paper: ${what}`);
}

describe("every page", () => {
  it("is among those that are looked at", async () => {
    const visitor = await t.visitor({ user: operator, stays: true });
    await visitor.go("");
    const links = await visitor.page
      .getByRole("navigation", { name: "Pages" })
      .getByRole("link")
      .evaluateAll((all) => all.map((a) => a.hash.replace("#/", "")));
    for (const link of links)
      assert.ok(places.some(([, place]) => place === link), `#/${link} is missing here`);
    await visitor.leave();
  });

  it("Settings has what the doctor found, and how old that is", async () => {
    const visitor = await t.visitor({ user: operator, stays: true });
    const { results } = await answerTo(visitor, "/admin/doctor");
    const wrong = results.find(({ result }) => result === "wrong");
    await visitor.go("settings");
    const part = visitor.page.getByRole("region", { name: "What postern doctor found" });
    assert.match(await part.innerText(), /Checked .+: \d+ wrong, \d+ warning, \d+ unknown, \d+ good\./);
    const row = part.getByRole("row").filter({ hasText: wrong.text }).first();
    assert.ok((await row.innerText()).includes(wrong.means));
    const good = results.find(({ result }) => result === "good");
    assert.equal(await part.getByText(good.text, { exact: true }).count(), 0);
    await visitor.leave();
  });

  it("explains its words, is gone through by keys, and is as light or dark as people choose", async () => {
    const visitor = await t.visitor({ user: operator, stays: true });
    const { page } = visitor;
    await visitor.go("emails");
    await page.getByRole("button", { name: /^Explain: scheduled/ }).click();
    await visitor.see("The recipient's mail server refused the email for good. It is not tried again.");
    assert.deepEqual(await t.look(visitor, "explained-light-desktop"), []);
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keyboard shortcuts" }).getByText("Audit log").waitFor();
    assert.deepEqual(await t.look(visitor, "shortcuts-light-desktop"), []);
    await page.keyboard.press("Escape");
    await page.keyboard.press("j");
    await page.locator("main a.row-link:focus").waitFor();
    await page.keyboard.press("/");
    await page.locator("main input[type=search]:focus").waitFor();
    await page.keyboard.press("g"); // is typed
    await page.locator("h1").focus();
    await page.keyboard.press("g");
    await page.keyboard.press("k");
    await visitor.title().getByText("Keys").waitFor();
    const dark = () => page.evaluate(() => getComputedStyle(document.body).getPropertyValue("--text").trim() !== "#1b2127");
    assert.equal(await dark(), false);
    await page.getByLabel("Theme").selectOption("dark");
    assert.equal(await dark(), true);
    await page.reload();
    await visitor.settled();
    assert.equal(await dark(), true);
    await page.getByLabel("Theme").selectOption("");
    assert.equal(await dark(), false);
    await visitor.leave();
  });

  it("shows all times by the viewer's clock, with UTC in their titles", async () => {
    const scheduled = await t.send(tenant, { to: "ann@remote.test", scheduled_at: "in 2 hours" });
    const visitor = await t.visitor({ user: operator, timezone: "Asia/Kolkata" });
    const { page } = visitor;
    for (const [place, words] of [
      [`emails/${deferred}`, "and gives up at about"], // but while Postfix is trying it
      [`emails/${scheduled}`, "it is scheduled for"],
      ["held", "Held mail"], ["outbox", "Emails waiting"], ["settings", "Settings in force"],
    ]) {
      const text = await t.waitFor(words, async () => {
        await visitor.go("glossary");
        await visitor.go(place);
        const text = await page.getByRole("main").innerText();
        return text.includes(words) && text;
      });
      assert.doesNotMatch(text, /\d\d:\d\d(:\d\d)?(\.\d+)?Z|\bUTC\b/, place);
      for (const [iso, shown, title] of await page.locator("main time").evaluateAll((all) =>
        all.map((one) => [one.dateTime, "ago" in one.dataset ? one.title : one.textContent, one.title]))) {
        const here = new Date(Date.parse(iso) + 5.5 * 3600e3).toISOString().slice(0, 19).replace("T", " ");
        assert.ok(shown.startsWith(here), `${place}: ${shown} for ${iso}`);
        assert.ok(title.endsWith(`${iso.slice(0, 19).replace("T", " ")} UTC`), `${place}: ${title}`);
      }
    }
    await t.postern(["email", "cancel", scheduled]);
    await visitor.leave();
  });

  it("Settings says how each of them is changed", async () => {
    const visitor = await t.visitor({ user: operator, stays: true });
    const { page } = visitor;
    await visitor.go("settings?search=refuse_local");
    await page.getByRole("button", { name: "How to change", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "milter.refuse_local" });
    await dialog.getByText("[milter]\nrefuse_local = hold").waitFor();
    await dialog.getByText("systemctl reload postern-milter").waitFor();
    assert.deepEqual(await t.look(visitor, "setting-light-desktop"), []);
    await page.keyboard.press("Escape");
    // A table that the page has whole becomes a file, too.
    await page.getByRole("region", { name: "Settings in force" }).getByRole("button", { name: "Export", exact: true }).click();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("dialog", { name: "Export: Settings" }).getByRole("button", { name: "Export", exact: true }).click(),
    ]);
    const lines = readFileSync(await download.path(), "utf8").split("\r\n");
    assert.equal(lines[0], "section,name,value,default,is_default,reload");
    assert.ok(lines.some((line) => line.startsWith("milter,refuse_local,")));
    await visitor.leave();
  });

  it("of statistics keeps its time in the address, and compares it with the one before", async () => {
    const visitor = await t.visitor({ user: operator, stays: true });
    const { page } = visitor;
    await visitor.go("statistics");
    await page.getByLabel("Time", { exact: true }).selectOption("7d");
    await page.waitForFunction(() => location.hash.includes("period=7d"));
    const took = /^(Half of [\d,]+ deliveries|One delivery, which) took up to /;
    await visitor.see(took);
    const part = (name) => page.getByRole("region", { name, exact: true });
    await part("Bounces by reason").getByRole("row", { name: /^No such mailbox/ }).waitFor();
    await part("By provider").getByRole("row", { name: /^Others/ }).waitFor();
    await part("Emails waiting").getByRole("img", { name: /in the outbox/ }).waitFor();
    await part("Mail").getByText("0 before").first().waitFor();
    // Of one domain: of this one all that was sent, of the other nothing.
    await t.choose(page, "Domain", tenant.domain);
    await visitor.see("Not counted by domain");
    await part("Bounces by reason").getByRole("row", { name: /^No such mailbox/ }).waitFor();
    await t.choose(page, "Domain", learning);
    await visitor.see("Nothing bounced in this time");
    await visitor.go("statistics");
    await page.getByLabel("Time", { exact: true }).selectOption("dates");
    await visitor.see("Choose the first and the last day.");
    await page.getByLabel("From", { exact: true }).fill("2020-01-01");
    await page.getByLabel("To", { exact: true }).fill("2020-01-31");
    await visitor.see("Nothing bounced in this time");
    await page.reload();
    await visitor.see("Nothing bounced in this time");
    // What is kept under a name is there again.
    await page.getByRole("button", { name: "Save view", exact: true }).click();
    await page.getByRole("dialog").getByLabel("Name", { exact: true }).fill("January 2020");
    await page.getByRole("dialog").getByRole("button", { name: "Save view", exact: true }).click();
    await page.getByLabel("Time", { exact: true }).selectOption("7d");
    await visitor.see(took);
    await page.getByRole("link", { name: "January 2020", exact: true }).click();
    await visitor.see("Nothing bounced in this time");
    await page.getByRole("button", { name: "Forget the view January 2020" }).click();
    await page.getByRole("link", { name: "January 2020", exact: true }).waitFor({ state: "detached" });
    await visitor.leave();
  });

  it("has lists that become files, whole, and harmless to a spreadsheet", async () => {
    const own = await t.newTenant();
    const user = await t.newUser({ company: own.id });
    for (let i = 0; i < 104; i++)
      await fetch(`${t.api}/api-keys`, {
        method: "POST",
        headers: { Authorization: `Bearer ${own.key}`, "Content-Type": "application/json" },
        body: JSON.stringify({ name: i === 50 ? '=HYPERLINK("http://evil.test","x")' : `key, ${i}`, permission: "sending_access" }),
      });
    const visitor = await t.visitor({ user });
    const { page } = visitor;
    await visitor.go("keys");
    const file = async (format) => {
      await page.getByRole("button", { name: "Export", exact: true }).click();
      const dialog = page.getByRole("dialog", { name: "Export: Keys" });
      await dialog.getByLabel(format, { exact: true }).check();
      const [download] = await Promise.all([
        page.waitForEvent("download"),
        dialog.getByRole("button", { name: "Export", exact: true }).click(),
      ]);
      await dialog.waitFor({ state: "detached" });
      return readFileSync(await download.path(), "utf8");
    };
    const rows = JSON.parse(await file("JSON"));
    assert.equal(new Set(rows.map(({ id }) => id)).size, 105);
    const lines = (await file("CSV")).split("\r\n");
    assert.equal(lines.length, 1 + 105 + 1);
    assert.deepEqual(lines[0].split(","), Object.keys(rows[0]));
    assert.ok(lines.some((line) => line.includes(`"'=HYPERLINK(""http://evil.test"",""x"")"`)));
    assert.ok(lines.some((line) => line.includes('"key, 7"')));
    // Several of them are revoked at once.
    for (const n of [7, 8]) await page.getByLabel(`Choose key, ${n + 90}`, { exact: true }).check();
    await page.getByRole("button", { name: "Revoke 2", exact: true }).click();
    await page.getByRole("button", { name: "Revoke the keys", exact: true }).click();
    await visitor.see("2 keys are revoked.");
    assert.equal(await page.getByLabel("Choose key, 97", { exact: true }).count(), 0);
    await visitor.leave();
  });

  it("is as wide as the screen, however long the names are", async () => {
    const name = t.unique("n".repeat(180));
    const long = await t.newTenant(name);
    const domain = `${["a", "b", "c"].map((c) => c.repeat(60)).join(".")}.${long.domain}`;
    const add = ["domain", "add", domain, "--company", long.id, "--policy", "learn"];
    await t.postern(add);
    await t.postern(["key", "create", "--company", long.id, "--name", name, "--domain", domain]);
    await t.postern(["user", "add", name, "--no-password", "--company", long.id]);
    await t.postern(["exempt", "add", domain, "--login", name]);
    // What is wider than its part of the page.
    const wide = (page) =>
      page.evaluate(() =>
        [...document.querySelectorAll("html, .table-box, dialog[open]")]
          .filter((node) => node.scrollWidth > node.clientWidth + 1)
          .map((node) => `${node.tagName}.${node.className} ${node.scrollWidth} > ${node.clientWidth}`));
    const wrong = [];
    for (const screen of [t.DESKTOP, t.PHONE]) {
      const visitor = await t.visitor({ user: operator, screen });
      const { page } = visitor;
      const look = async (what) =>
        wrong.push(...(await wide(page)).map((text) => `${what}, ${screen.width}: ${text}`));
      for (const place of ["domains", "exemptions", "users", "audit", "keys"]) {
        await visitor.go(place);
        await look(place);
        const row = page.getByRole("row").filter({ hasText: name });
        const button = row.getByRole("button", { name: /^(Remove|Revoke)$/ }).first();
        if (!(await button.count())) continue;
        await button.click();
        await page.getByRole("dialog").waitFor();
        await look(`${place}, asked`);
        await page.keyboard.press("Escape");
      }
      await visitor.go("domains");
      await page.getByRole("link", { name: domain }).click();
      await visitor.see("DNS records");
      await look("domain");
      await visitor.leave();
    }
    assert.deepEqual(wrong, []);
  });

  it("weighs no more than it may", async () => {
    const visitor = await t.visitor({ user: operator });
    for (const [name, place] of places) {
      await visitor.unload(); // so that all of the page is loaded
      await visitor.go(place);
      // As it is sent, whether it was in the browser's cache or not.
      const sent = await visitor.page.evaluate((head) =>
        ["navigation", "resource"].flatMap((kind) => performance.getEntriesByType(kind))
          .map(({ name, encodedBodySize }) => [name, encodedBodySize && encodedBodySize + head]), HEAD);
      // What it asks for again has changed since.
      const weight = [...new Map(sent).values()].reduce((a, b) => a + b, 0);
      console.log(`# ${name}: ${weight} bytes in ${sent.length} answers`);
      assert.ok(sent.length > 3 && weight < MAX_WEIGHT, `${name}: ${weight} bytes`);
    }
    await visitor.leave();
  });

  it("ticks off each of the first steps that is done", async () => {
    const { id } = await t.postern(["company", "add", t.unique("company")]);
    const user = await t.newUser({ company: id });
    const visitor = await t.visitor({ user });
    const { page } = visitor;
    const steps = async (n) => {
      await visitor.go("glossary");
      await visitor.go("");
      assert.deepEqual(await page.locator(".steps li strong").allInnerTexts(), ["A domain", "A key", "An email"]);
      assert.deepEqual(await page.locator(".steps .done strong").allInnerTexts(), ["A domain", "A key"].slice(0, n));
      // The next one alone has what to press.
      assert.equal(await page.locator(".steps li").nth(n).locator("a, button").count(), 1);
      assert.equal(await page.locator(".steps").locator("a, button").count(), 1);
    };
    await steps(0);
    const domain = `${t.unique("domain")}.example`;
    await t.postern(["domain", "add", domain, "--company", id]);
    await steps(1);
    const { token: key } = await t.postern(["key", "create", "--company", id, "--name", "program", "--scope", "sending"]);
    await steps(2);
    await t.send({ domain, key }, { to: "ann@remote.test" });
    await page.locator(".steps").waitFor({ state: "detached" });
    await page.getByRole("heading", { name: "Newest emails" }).waitFor();
    await visitor.leave();
  });

  it("ticks off the company for an operator, too", async () => {
    const visitor = await t.visitor({ user: operator, stays: true });
    const { page } = visitor;
    // As before the first email, and before the first company.
    const none = (route) => route.fulfill({ json: { object: "list", has_more: false, next: null, data: [] } });
    await page.route("**/admin/emails?*", none);
    await visitor.go("");
    const done = page.locator(".steps .done strong");
    assert.deepEqual(await done.allInnerTexts(), ["A company", "A domain", "A key"]);
    assert.equal(await page.locator(".steps").getByRole("button", { name: "Send a test email" }).count(), 1);
    for (const what of ["companies", "domains", "keys"]) await page.route(new RegExp(`/admin/${what}(\\?|$)`), none);
    await page.reload();
    await visitor.settled();
    assert.deepEqual(await page.locator(".steps li strong").allInnerTexts(), ["A company", "A domain", "A key", "An email"]);
    assert.equal(await done.count(), 0);
    assert.equal(await page.locator(".steps a").innerText(), "Add one");
    await visitor.leave();
  });

  it("says what to do next where there is nothing yet", async () => {
    const name = t.unique("company");
    const { id } = await t.postern(["company", "add", name]);
    const user = await t.newUser({ company: id });
    const visitor = await t.visitor({ user });
    const wrong = [];
    for (const place of ["", "emails", "events", "outbox", "refusals", "domains", "keys", "exemptions"]) {
      await visitor.go(place);
      wrong.push(...(await t.look(visitor, `empty-${place || "overview"}-light-desktop`)));
    }
    assert.deepEqual(wrong, []);
    await visitor.leave();
  });
});
