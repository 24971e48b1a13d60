// The pages for mail: what is found while one types, what moves and what does not
// when mail comes in, a test email, and what would let refused mail pass.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as t from "./browser.mjs";

// A company with its owner at a desk.
async function desk(options = {}) {
  const tenant = await t.newTenant();
  const owner = await t.newUser({ company: tenant.id });
  const visitor = await t.visitor({ user: owner, ...options });
  return { tenant, visitor, page: visitor.page };
}

const rows = (page) => page.getByRole("main").locator(".list tbody tr");
const row = (page, text) => rows(page).filter({ hasText: text });
const only = (page, n) =>
  page.waitForFunction((n) => document.querySelectorAll(".list tbody tr").length === n, n);

describe("the emails", () => {
  it("are found while one types, and by what they are in", async () => {
    const { tenant, visitor, page } = await desk();
    const [ann, bob] = [`${t.unique("ann")}@remote.test`, `${t.unique("bob")}@remote.test`];
    const id = await t.send(tenant, { to: ann, subject: "Your invoice" });
    await t.send(tenant, { to: [bob, ann], subject: "Something else" });
    await t.send(tenant, { to: `unknown@remote.test`, subject: "Nobody there" });
    await visitor.go("emails");
    await only(page, 3);
    // "/" leads to the search.
    await page.keyboard.press("/");
    await page.keyboard.type("INVOI");
    await only(page, 1);
    await row(page, "Your invoice").waitFor();
    assert.match(page.url(), /#\/emails\?q=INVOI$/);
    const search = page.getByRole("searchbox", { name: "Search" });
    await search.fill(ann);
    await only(page, 2);
    await visitor.see("Emails to this address.");
    await search.fill(id);
    await visitor.see("The email with this id.");
    await only(page, 1);
    // The arrows go along the emails; an email leads back to what was found.
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await visitor.title().getByText("Your invoice").waitFor();
    await page.getByRole("link", { name: "Emails" }).last().click();
    await page.waitForURL(/#\/emails\?q=/);
    await only(page, 1);
    await search.fill("");
    await only(page, 3);
    await page.getByLabel("State", { exact: true }).selectOption("bounced");
    await row(page, "Nobody there").waitFor();
    await only(page, 1);
    await search.fill("nothing is like this");
    await visitor.see("No email matches");
    await page.getByRole("button", { name: "Show all emails" }).click();
    await only(page, 3);
    await visitor.leave();
  });

  it("are recipients where a state of theirs is chosen, and are there again after Back", async () => {
    const { tenant, visitor, page } = await desk({ screen: { width: 1000, height: 500 } });
    await t.send(tenant, { to: ["ann@remote.test", "unknown@remote.test"], subject: "To two" });
    for (let i = 0; i < 20; i++)
      await t.send(tenant, { to: "ann@remote.test", subject: `Number ${i}.` });
    await visitor.go("emails?status=bounced");
    await row(page, "To two").getByText("unknown@remote.test").waitFor();
    await only(page, 1);
    // Each state that a recipient can have, but those in which nothing was tried yet.
    for (const state of ["Handed on", "Discarded", "Removed", "Unknown"]) {
      await page.getByLabel("State", { exact: true }).selectOption(state);
      await visitor.see("No email matches");
      assert.match(page.url(), new RegExp(`status=${state.toLowerCase().replace(" ", "_")}$`));
    }
    await visitor.go("emails?status=delivered");
    await only(page, 21);
    await row(page, "Number 3.").scrollIntoViewIfNeeded();
    await page.waitForFunction(() => scrollY > 60);
    const before = await page.evaluate(() => scrollY);
    await row(page, "Number 3.").getByRole("link").click();
    await visitor.title().getByText("Number 3.").waitFor();
    await page.goBack();
    await only(page, 21);
    await page.waitForFunction((wanted) => Math.abs(scrollY - wanted) < 5, before);
    await visitor.leave();
  });

  it("do not move away from under somebody who reads", async () => {
    const { tenant, visitor, page } = await desk({ screen: { width: 1000, height: 500 } });
    for (let i = 0; i < 20; i++)
      await t.send(tenant, { to: "ann@remote.test", subject: `Number ${i}.` });
    await visitor.go("emails");
    await only(page, 20);
    // At the top of the page, new ones come in by themselves.
    await page.mouse.move(5, 5);
    await t.send(tenant, { to: "ann@remote.test", subject: "Comes in" });
    await row(page, "Comes in").waitFor();
    await row(page, "Number 3.").scrollIntoViewIfNeeded();
    await page.waitForFunction(() => scrollY > 60);
    const top = () => row(page, "Number 3.").evaluate((node) => node.getBoundingClientRect().top);
    const before = await top();
    await t.send(tenant, { to: "ann@remote.test", subject: "Waits above" });
    const show = page.getByRole("button", { name: "Show 1 new email" });
    await show.waitFor();
    assert.equal(await top(), before);
    assert.equal(await row(page, "Waits above").count(), 0);
    await show.click();
    await row(page, "Waits above").waitFor();
    await show.waitFor({ state: "hidden" });
    await visitor.leave();
  });

  it("change their state in place, and tell each recipient's story", async () => {
    const { tenant, visitor, page } = await desk();
    await visitor.go("emails");
    await visitor.see("No emails yet");
    const id = await t.send(tenant, {
      to: ["ann@remote.test", "unknown@remote.test", "later@remote.test"],
      subject: "To three",
      html: "<h1>Hello</h1>",
    });
    await row(page, "To three").getByText("delayed").waitFor();
    await row(page, "To three").getByRole("link").click();
    await page.waitForURL(new RegExp(id));
    await visitor.see("In part, of 3 recipients: 1 delivered, 1 bounced, 1 deferred.");
    await visitor.see(/550 5\.1\.1 User unknown/);
    await visitor.see(/Postfix tries again/);
    await page.frameLocator("iframe.mail-frame").getByRole("heading", { name: "Hello" }).waitFor();
    await page.getByRole("tab", { name: "Message" }).click();
    await visitor.see(/multipart\/alternative/);
    await page.getByRole("tab", { name: "Header" }).click();
    await visitor.see(`<${id}@${tenant.domain}>`);
    await visitor.leave();
  });
});

describe("the events", () => {
  it("come in as they happen, narrowed and until they are paused", async () => {
    const { tenant, visitor, page } = await desk();
    const bob = `${t.unique("bob")}@remote.test`;
    await visitor.go("events");
    await visitor.see("No events yet");
    await t.send(tenant, { to: [bob, "unknown@remote.test"], subject: "To two" });
    await row(page, "unknown@remote.test").filter({ hasText: "bounced" }).getByText(/550 5\.1\.1 User unknown/).waitFor();
    await row(page, bob).filter({ hasText: "delivered" }).waitFor();
    // What was chosen stands in the address, and the rest stays away.
    await page.getByLabel("Event", { exact: true }).selectOption("delivered");
    await only(page, 1);
    await page.waitForFunction(() => location.hash === "#/events?kind=delivered");
    await page.getByRole("searchbox", { name: "Recipient" }).fill("ann@remote.test");
    await visitor.see("No event matches");
    await t.send(tenant, { to: ["ann@remote.test", bob], subject: "To ann and bob" });
    await row(page, "To ann and bob").getByText("ann@remote.test").waitFor();
    await only(page, 1);
    // Paused, nothing comes; resumed, what came meanwhile is there.
    await page.getByRole("button", { name: "Pause", exact: true }).click();
    await visitor.see("Paused.");
    const id = await t.send(tenant, { to: "ann@remote.test", subject: "Meanwhile" });
    await t.waitFor(`delivery of ${id}`, async () => (await t.postern(["email", "show", id])).last_event === "delivered");
    const asked = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
    assert.equal(await row(page, "Meanwhile").count(), 0);
    await page.getByRole("button", { name: "Resume", exact: true }).click();
    await row(page, "Meanwhile").waitFor();
    // It asked for no more than is new.
    const events = asked.filter((url) => url.includes("/admin/events"));
    assert.ok(events.length > 0 && events.every((url) => url.includes("before=")), events.join());
    await row(page, "Meanwhile").getByRole("link").click();
    await visitor.title().getByText("Meanwhile").waitFor();
    await visitor.leave();
  });

  it("that happened while the server was away are there when it is back", async () => {
    const { tenant, visitor, page } = await desk();
    await visitor.go("events");
    await visitor.see("No events yet");
    await page.route("**/admin/*", (route) => route.abort());
    const id = await t.send(tenant, { to: "ann@remote.test", subject: "While away" });
    await t.waitFor(`delivery of ${id}`, async () => (await t.postern(["email", "show", id])).last_event === "delivered");
    await page.unroute("**/admin/*");
    await row(page, "While away").filter({ hasText: "delivered" }).waitFor();
    // What the browser itself says of it is no fault of the page.
    visitor.faults = visitor.faults.filter((text) => !/net::ERR_FAILED/.test(text));
    await visitor.leave();
  });
});

describe("a search", () => {
  it("that was left at once stays off the next page's address", async () => {
    const { tenant, visitor, page } = await desk({ fresh: true }); // whose clock no other needs
    const id = await t.send(tenant, { to: "ann@remote.test", subject: "Quickly" });
    await visitor.go("emails");
    await only(page, 1);
    // The clock stands still until the next page is there.
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 1000);
    await page.getByRole("searchbox").fill("Quick");
    await row(page, "Quickly").getByRole("link").click();
    await visitor.title().getByText("Quickly").waitFor();
    await page.clock.runFor(5000);
    assert.match(page.url(), new RegExp(`#/emails/${id}$`));
    await visitor.leave();
  });

  it("for what is no longer there finds nothing, rather than all", async () => {
    const { tenant, visitor, page } = await desk();
    await t.send(tenant, { to: "ann@remote.test", subject: "Of another domain" });
    await visitor.go("emails?domain=removed.example");
    await visitor.see("No email matches");
    assert.equal(await page.getByLabel("Domain", { exact: true }).inputValue(), "removed.example");
    await visitor.leave();
  });
});

describe("an email to many", () => {
  it("tells first of those whom it did not reach", async () => {
    const { tenant, visitor, page } = await desk();
    const to = [..."abcdefghi"].map((local) => `${local}@remote.test`);
    const id = await t.send(tenant, { to: [...to, "later@remote.test", "unknown@remote.test"], subject: "To eleven" });
    await t.waitFor("all statuses", async () => {
      const { recipients } = await t.postern(["email", "show", id]);
      const has = (status) => recipients.filter((one) => one.state === status).length;
      return has("delivered") === 9 && has("deferred") === 1 && has("bounced") === 1;
    });
    await visitor.go(`emails/${id}`);
    const order = await page.locator("details.recipient summary .address").allInnerTexts();
    assert.deepEqual(order, ["unknown@remote.test", "later@remote.test", ...to]);
    // Each is told of below: the field need not have all of them.
    await page.getByText("6 more").click();
    await page.locator("dd").getByText("later@remote.test").waitFor();
    await visitor.leave();
  });
});

describe("the overview", () => {
  it("asks nothing of those who only look", async () => {
    const { id } = await t.postern(["company", "add", t.unique("empty")]);
    const user = await t.newUser({ company: id, role: "viewer" });
    const visitor = await t.visitor({ user });
    await visitor.go("");
    await visitor.see("First steps");
    assert.equal(await visitor.page.getByRole("main").getByRole("link", { name: "Request one" }).count(), 0);
    await visitor.leave();
  });

  it("says why a button does nothing", async () => {
    const { tenant, visitor, page } = await desk();
    await t.send(tenant, { to: "ann@remote.test" });
    await visitor.go("");
    await page.route("**/admin/stats?*", (route) => route.abort());
    await page.getByRole("button", { name: "7 days" }).click();
    await visitor.see(/The server does not answer\. Nothing is lost/);
    await page.unroute("**/admin/stats?*");
    await page.getByText(/The server does not answer/).first().waitFor({ state: "hidden" });
    // What the browser itself says of it is no fault of the page.
    visitor.faults = visitor.faults.filter((text) => !/net::ERR_FAILED/.test(text));
    await visitor.leave();
  });

  it("offers the domains that sent in the time that is looked at", async () => {
    const { tenant, visitor, page } = await desk();
    const other = `${t.unique("other")}.example`;
    await t.postern(["domain", "add", other, "--company", tenant.id]);
    const field = page.getByRole("combobox", { name: "Domain" });
    const offered = (domain) =>
      t.waitFor(`${domain} among the choices`, async () => {
        await field.click();
        const all = await page.getByRole("listbox", { name: "Choices: Domain" }).getByRole("option").allInnerTexts();
        await field.press("Escape");
        return all.join() === `All domains,${domain}`;
      });
    const sent = async (domain) => {
      const fields = { from: `ann@${domain}`, to: ["bob@dst.test"], subject: "Hello", text: "Hello" };
      const id = await t.send(tenant, fields);
      await t.waitFor(`delivery of ${id}`, async () =>
        (await t.postern(["email", "show", id])).last_event === "delivered");
    };
    await sent(tenant.domain);
    await visitor.go("");
    await offered(tenant.domain);
    // As it is two days later. Of a whole day, as the last 24 hours have in the last one of a day, the
    // counts of days are read, not those of hours.
    const earlier = (table, column) =>
      `UPDATE ${table} SET ${column} = ${column} - 172800000000 WHERE domain = '${tenant.domain}'`;
    await t.run("sqlite3", [
      `${process.env.POSTERN_DIR}/store/postern.db`,
      ".timeout 20000",
      [earlier("event_count", "hour_us"), earlier("event_day", "day_us")].join("; "),
    ]);
    await sent(other);
    await page.reload();
    await visitor.settled();
    await offered(other);
    await visitor.leave();
  });
});

describe("the overview of an operator", () => {
  it("has the numbers and emails of one company", async () => {
    const [tenant, other] = [await t.newTenant(), await t.newTenant()];
    for (const { domain, key } of [tenant, other])
      await t.send({ domain, key }, { to: "ann@remote.test", subject: `Of ${domain}` });
    const visitor = await t.visitor({ user: t.operator });
    const { page } = visitor;
    await visitor.go("");
    await row(page, `Of ${other.domain}`).waitFor();
    await page.getByRole("combobox", { name: "Company" }).fill(tenant.name);
    await page.getByRole("option", { name: tenant.name }).click();
    await only(page, 1);
    await row(page, `Of ${tenant.domain}`).waitFor();
    const accepted = page.getByRole("link", { name: /^Accepted/ });
    await t.waitFor("the company's number", async () => /\D1$/.test((await accepted.innerText()).trim()));
    await accepted.click();
    await page.waitForURL(new RegExp(`company=${tenant.id}`));
    await only(page, 1);
    await visitor.leave();
  });
});

describe("keys", () => {
  it("that nobody uses are found by their use", async () => {
    const { tenant, visitor, page } = await desk();
    await visitor.go("keys?idle=unused");
    await visitor.see("No key matches");
    await page.getByLabel("Use", { exact: true }).selectOption("");
    await only(page, 1);
    await visitor.leave();
  });
});

describe("a test email", () => {
  it("is sent from a dialog, and leads to what became of it", async () => {
    const { tenant, visitor, page } = await desk();
    await visitor.go("");
    await page.getByRole("button", { name: "Send a test email" }).first().click();
    const form = page.getByRole("dialog", { name: "Send a test email" });
    await form.getByLabel("To", { exact: true }).fill("not an address");
    await form.getByRole("button", { name: "Send" }).click();
    // The browser, or the server, says what is wrong; nothing is sent.
    assert.ok(await form.isVisible());
    await form.getByLabel("To", { exact: true }).fill("ann@remote.test");
    await form.getByRole("button", { name: "Send" }).click();
    await page.waitForURL(/#\/emails\/./);
    await visitor.see("Yes: delivered to ann@remote.test.");
    await visitor.see(`test@${tenant.domain}`);
    await visitor.go("audit");
    await visitor.see("sent a test email with the key");
    await visitor.leave();
  });

  it("is sent as the domain of its key, which is the only one on offer", async () => {
    const { tenant, visitor, page } = await desk();
    const other = `a-${t.unique("domain")}.example`;
    await t.postern(["domain", "add", other, "--company", tenant.id]);
    await t.postern(["key", "create", "--company", tenant.id, "--name", "bound", "--domain", tenant.domain]);
    await visitor.go("emails");
    await page.getByRole("button", { name: "Send a test email" }).first().click();
    const form = page.getByRole("dialog", { name: "Send a test email" });
    const asked = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await t.choose(form, "Key", "bound");
    // What was typed is asked for once.
    assert.equal(asked.filter((path) => path === "/admin/keys").length, 1);
    await form.getByLabel("Sender domain", { exact: true }).click();
    await form.getByRole("option", { name: tenant.domain }).waitFor();
    assert.equal(await form.getByRole("listbox", { name: "Choices: Sender domain" }).getByRole("option").count(), 1);
    await visitor.leave();
  });

  it("is not for those who only look", async () => {
    const tenant = await t.newTenant();
    const user = await t.newUser({ company: tenant.id, role: "viewer" });
    const visitor = await t.visitor({ user });
    for (const place of ["", "emails"]) {
      await visitor.go(place);
      assert.equal(await visitor.page.getByRole("button", { name: "Send a test email" }).count(), 0);
    }
    await visitor.leave();
  });
});

describe("the refusals", () => {
  it("become exemptions with one click", async () => {
    const { id } = await t.newTenant();
    const domain = `${t.unique("learning")}.example`;
    await t.postern(["domain", "add", domain, "--company", id, "--policy", "learn"]);
    await t.smtp("EHLO crm.example", `MAIL FROM:<news@${domain}>`, "RCPT TO:<ann@dst.test>", "DATA",
      `From: news@${domain}\r\nTo: ann@dst.test\r\nSubject: By no key\r\n\r\nHello\r\n.`);
    const visitor = await t.visitor({ user: t.operator });
    const { page } = visitor;
    // What needs attention leads to it.
    await visitor.go("");
    await page.getByRole("listitem").filter({ hasText: `${domain} has the policy learn` }).getByRole("link").click();
    await page.waitForURL(new RegExp(`domain=${domain}`));
    await row(page, `news@${domain}`).getByText("let through").waitFor();
    const advice = page.getByRole("region", { name: `Who else sends as ${domain}` });
    await advice.getByRole("button", { name: "Exempt" }).click();
    await visitor.see(`news@${domain} may send as ${domain} now.`);
    await advice.waitFor({ state: "detached" });
    const [exemption] = await t.postern(["exempt", "list", domain]);
    assert.equal(exemption.value, `news@${domain}`);
    await visitor.leave();
  });
});
