// The outbox: an operator pauses what a company sends and lets it go again, an owner
// cancels what waits; each at a desk and with a phone.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as t from "./browser.mjs";

const inRow = (page, text) => page.getByRole("main").getByRole("row").filter({ hasText: text });
const sure = (page, name) => page.getByRole("dialog").getByRole("button", { name, exact: true }).click();

for (const [size, screen] of [["desktop", t.DESKTOP], ["phone", t.PHONE]])
  describe(`the outbox, on a ${size}`, () => {
    it("is paused, seen, and let go again", async () => {
      const tenant = await t.newTenant();
      const visitor = await t.visitor({ user: await t.newUser(), screen });
      const { page } = visitor;
      await visitor.go("");
      await visitor.follow("Outbox");
      await page.getByRole("button", { name: "Pause emails" }).click();
      const form = page.getByRole("dialog", { name: "Pause outgoing emails" });
      await form.getByRole("radio", { name: "Domain", exact: true }).check();
      await form.getByLabel("Domain", { exact: true }).last().fill(tenant.domain);
      await form.getByLabel("Why", { exact: true }).fill("too many complaints");
      await t.picture(visitor, `outbox-pause-${size}`);
      await form.getByRole("button", { name: "Pause", exact: true }).click();
      await visitor.see(`Emails of the domain ${tenant.domain} are paused.`);
      const to = `${t.unique("ann")}@remote.test`;
      const ids = [await t.send(tenant, { to }), await t.send(tenant, { to, scheduled_at: "in 2 days" })];
      await inRow(page, "too many complaints").waitFor();
      await page.waitForFunction(
        (name) => [...document.querySelectorAll("main tr")].some((row) => row.textContent.includes(name) && /1.*1/.test(row.textContent)),
        tenant.name,
      );
      await t.picture(visitor, `outbox-${size}`);
      await visitor.go("");
      await page.getByRole("listitem").filter({ hasText: tenant.domain }).filter({ hasText: "paused" }).getByRole("link").click();
      await page.waitForURL(/#\/outbox/);
      // What failed is said until the page is left, or the same button works.
      const resume = () => inRow(page, "too many complaints").getByRole("button", { name: "Resume" }).click();
      const isDropped = () => page.getByText("Not now.").waitFor({ state: "hidden" });
      await page.route("**/admin/outbox/resume", (route) => route.fulfill({ status: 409, json: { message: "Not now" } }));
      await resume();
      await visitor.see("Not now.");
      await visitor.go("glossary");
      await isDropped();
      await visitor.go("outbox");
      await resume();
      await visitor.see("Not now.");
      await page.unroute("**/admin/outbox/resume");
      await resume();
      await visitor.see("go out again");
      await isDropped();
      await visitor.go(`emails/${ids[0]}`);
      await visitor.see(`delivered to ${to}`);
      await visitor.go(`emails/${ids[1]}`);
      await visitor.see(/it is scheduled for/);
      await t.picture(visitor, `email-scheduled-${size}`);
      await visitor.leave();
    });

    it("is canceled: one email, and all that wait", async () => {
      const tenant = await t.newTenant();
      const visitor = await t.visitor({ user: await t.newUser({ company: tenant.id }), screen });
      const { page } = visitor;
      const [one, other] = [
        await t.send(tenant, { to: "ann@remote.test", subject: "One", scheduled_at: "in 1 hour" }),
        await t.send(tenant, { to: "ann@remote.test", subject: "Other", scheduled_at: "in 1 hour" }),
      ];
      await visitor.go(`emails/${one}`);
      await page.getByRole("button", { name: "Cancel the email" }).click();
      await sure(page, "Cancel the email");
      await visitor.see("No: it was canceled before it was sent.");
      await page.getByRole("button", { name: "Cancel the email" }).waitFor({ state: "hidden" });
      await t.picture(visitor, `email-canceled-${size}`);
      await visitor.follow("Outbox");
      assert.equal(await page.getByRole("button", { name: "Pause emails" }).count(), 0);
      await inRow(page, tenant.name).getByRole("button", { name: "Cancel all" }).click();
      await sure(page, "Cancel them");
      await visitor.see("1 email canceled.");
      await visitor.see("The outbox is empty");
      await visitor.go("emails?status=canceled");
      await inRow(page, "Other").waitFor();
      await visitor.go(`emails/${other}`);
      await visitor.see("No: it was canceled before it was sent.");
      await visitor.leave();
    });

    it("is sent again: to its recipient, and to somebody else", async () => {
      const tenant = await t.newTenant();
      const visitor = await t.visitor({ user: await t.newUser({ company: tenant.id }), screen });
      const { page } = visitor;
      const [ann, bob] = [`${t.unique("ann")}@remote.test`, `${t.unique("bob")}@remote.test`];
      const first = await t.send(tenant, { to: ann, subject: "Your bill" });
      await visitor.go(`emails/${first}`);
      await visitor.see(`delivered to ${ann}`);
      await t.picture(visitor, `email-kept-${size}`);
      const again = async (to) => {
        const before = page.url();
        await page.getByRole("button", { name: "Send again" }).click();
        const form = page.getByRole("dialog", { name: "Send this email again?" });
        if (to) await form.getByLabel("To", { exact: true }).fill(to);
        await t.picture(visitor, `email-again-${size}`);
        await form.getByRole("button", { name: "Send again", exact: true }).click();
        return { before, form };
      };
      const refused = await again("nobody");
      await refused.form.getByText("no list of addresses").waitFor();
      await refused.form.getByRole("button", { name: "Cancel", exact: true }).click();
      const { before } = await again("");
      await page.waitForURL((url) => url.href !== before);
      await visitor.see(`delivered to ${ann}`);
      const other = await again(bob);
      await page.waitForURL((url) => url.href !== other.before);
      await visitor.see(`delivered to ${bob}`);
      await t.picture(visitor, `email-resent-${size}`);
      await visitor.go("audit");
      await visitor.see("sent again the email");
      // The key is revoked: another one is offered.
      const [{ id: key }] = await t.postern(["key", "list", "--company", tenant.id]);
      await t.postern(["key", "create", "--company", tenant.id, "--name", "the other"]);
      await t.postern(["key", "revoke", key]);
      await visitor.go(`emails/${first}`);
      await page.getByRole("button", { name: "Send again" }).click();
      const form = page.getByRole("dialog", { name: "Send this email again?" });
      await form.getByLabel("Key", { exact: true }).selectOption({ label: "the other" });
      await t.picture(visitor, `email-again-key-${size}`);
      await form.getByRole("button", { name: "Send again", exact: true }).click();
      await page.waitForURL((url) => url.href.includes("/emails/") && !url.href.includes(first));
      await visitor.see(`delivered to ${ann}`);
      await visitor.leave();
    });
  });

describe("an email", () => {
  it("is not sent again by those who only look", async () => {
    const tenant = await t.newTenant();
    const id = await t.send(tenant, { to: "ann@remote.test" });
    const visitor = await t.visitor({ user: await t.newUser({ company: tenant.id, role: "viewer" }) });
    await visitor.go(`emails/${id}`);
    await visitor.see("delivered to ann@remote.test");
    assert.equal(await visitor.page.getByRole("button", { name: "Send again" }).count(), 0);
    await visitor.leave();
  });
});
