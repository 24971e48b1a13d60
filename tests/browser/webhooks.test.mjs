// Webhooks and suppressed addresses, as people have them: made, tried, mended; searched, added,
// removed. At a desk and with a phone, in the light and in the dark.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { after, before, describe, it } from "node:test";
import * as t from "./browser.mjs";

let endpoint; // answers as `status` says

before(async () => {
  const server = createServer((request, answer) => {
    request.resume();
    answer.writeHead(endpoint.status, { "Content-Type": "text/plain" });
    answer.end(endpoint.status < 300 ? "ok" : "the database is away");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  endpoint = { status: 200, server, url: `http://127.0.0.1:${server.address().port}/hooks/email` };
});

after(async () => {
  endpoint.server.close();
  endpoint.server.closeAllConnections();
});

const look = async (visitor, name) => assert.deepEqual(await t.look(visitor, name), []);
const dialog = (page, name) => page.getByRole("dialog", { name });
const press = (where, name) => where.getByRole("button", { name, exact: true }).click();

const sql = (text) =>
  t.run("sqlite3", [`${process.env.POSTERN_DIR}/store/postern.db`, ".timeout 20000", text]);
const uuid = "printf('%08x-0000-4000-8000-%012x', abs(random()) % 4000000000, i)";
const rows = (n) => `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${n})`;

for (const [size, screen, scheme] of [["desktop", t.DESKTOP, "light"], ["phone", t.PHONE, "dark"]])
  describe(`on a ${size}, ${scheme}`, () => {
    it("a webhook is added, tried, fails, and is mended", async () => {
      const tenant = await t.newTenant();
      const visitor = await t.visitor({ user: await t.newUser({ company: tenant.id }), screen, scheme });
      const { page } = visitor;
      endpoint.status = 503;
      await visitor.go("");
      await visitor.follow("Webhooks");
      await page.getByRole("button", { name: "Add a webhook" }).first().click();
      const form = dialog(page, "Add a webhook");
      await form.getByLabel("Endpoint", { exact: true }).fill(endpoint.url);
      await form.getByLabel("email.sent", { exact: true }).uncheck();
      await t.choose(form, "Domain", tenant.domain);
      await look(visitor, `webhook-add-${size}`);
      await press(form, "Add the webhook");
      const secret = dialog(page, "The webhook is added");
      await secret.getByText(/^whsec_/).waitFor();
      await press(secret, "Done");
      await page.waitForURL(/#\/webhooks\/./);
      await visitor.settled();
      await press(page, "Send a test event");
      const event = dialog(page, "email.delivered");
      await event.getByText("HTTP 503").waitFor();
      await event.getByText("the database is away").waitFor();
      await look(visitor, `webhook-event-${size}`);
      endpoint.status = 200;
      await press(event, "Send again");
      // The webhook may try it by itself meanwhile.
      await event.getByText("HTTP 200").first().waitFor();
      await press(event, "Done");
      await visitor.see("works");
      await page.getByText("it answered 503").first().waitFor();
      await look(visitor, `webhook-${size}`);
      // Its secret, changed and asked for.
      await press(page, "New secret");
      await press(dialog(page, "Make a new secret?"), "Make a new secret");
      await dialog(page, "The new secret").getByText(/^whsec_/).waitFor();
      await press(dialog(page, "The new secret"), "Done");
      await press(page, "Show secret");
      await press(dialog(page, "Signing secret"), "Done");
      await press(page, "Resend events of a period");
      await press(dialog(page, "Resend events of a period"), "Send them");
      await visitor.see("1 event is sent again.");
      await press(page, "Change");
      const changed = dialog(page, "Change the webhook");
      await changed.getByLabel("Domain", { exact: true }).fill("");
      await press(changed, "Save");
      await visitor.see("all domains of the company");
      // Days of failures, as postern-webhook writes them down.
      await sql(
        `UPDATE webhook SET enabled = 0, failure = 'it answered 503', failed_us = strftime('%s') * 1000000,
          failing_us = (strftime('%s') - 500000) * 1000000, disabled_us = strftime('%s') * 1000000
          WHERE company_id = '${tenant.id}'`,
      );
      await page.reload();
      await visitor.settled();
      await page.getByText("all attempts had failed since").waitFor();
      await look(visitor, `webhook-disabled-${size}`);
      await visitor.go("");
      await page.getByRole("listitem").filter({ hasText: "disabled" }).getByRole("link").click();
      await page.waitForURL(/#\/webhooks\?/);
      await visitor.settled();
      await look(visitor, `webhooks-${size}`);
      await page.getByRole("link", { name: endpoint.url }).click();
      await press(page, "Enable");
      await visitor.see("The webhook is enabled.");
      await press(page, "Remove");
      await press(dialog(page, "Remove the webhook?"), "Remove the webhook");
      await visitor.see("No webhook yet");
      await visitor.leave();
    });

    it("addresses are suppressed, found and let go again", async () => {
      const tenant = await t.newTenant();
      const visitor = await t.visitor({ user: await t.newUser({ company: tenant.id }), screen, scheme });
      const { page } = visitor;
      const [ann, bob, eve] = ["ann", "bob", "eve"].map((name) => `${t.unique(name)}@remote.test`);
      await visitor.go("");
      await visitor.follow("Suppressed addresses");
      await page.getByRole("button", { name: "Suppress addresses" }).first().click();
      const form = dialog(page, "Suppress addresses");
      await form.getByLabel("Addresses", { exact: true }).fill(`${ann}\nnobody`);
      await press(form, "Suppress them");
      await form.getByText("“nobody” is not an email address").waitFor();
      await form.getByLabel("Addresses", { exact: true }).fill(`${ann}, ${bob}\n${eve}`);
      await form.getByLabel("Why", { exact: true }).fill("asked us by phone");
      await look(visitor, `suppress-${size}`);
      await press(form, "Suppress them");
      await visitor.see("3 addresses are suppressed now.");
      await look(visitor, `suppressions-few-${size}`);
      // The email's page says why, and has a button.
      const id = await t.send(tenant, { to: ann });
      await visitor.go(`emails/${id}`);
      await visitor.see("suppressed: added manually");
      await look(visitor, `email-suppressed-${size}`);
      await page.getByRole("link", { name: "Show in the list" }).click();
      await page.waitForURL(/#\/suppressions\?/);
      await page.getByRole("row").filter({ hasText: ann }).waitFor();
      await page.goBack();
      await visitor.settled();
      await press(page, "Send to this address again");
      await press(dialog(page, `Send to ${ann} again?`), "Remove the entry");
      await visitor.see("The address is no longer suppressed.");
      // Several at once.
      await visitor.go("suppressions");
      for (const who of [bob, eve]) await page.getByLabel(`Choose ${who}`).check();
      await press(page, "Remove 2");
      await press(dialog(page, "Remove 2 entries?"), "Remove them");
      await visitor.see("No suppressed addresses");
      await visitor.leave();
    });
  });

describe("with very many", () => {
  it("all can be found, and the file has all", async () => {
    const tenant = await t.newTenant();
    await sql(
      `BEGIN; ${rows(100_000)} INSERT INTO suppression (id, company_id, domain, address, reason, text, created_us)
        SELECT ${uuid}, '${tenant.id}', '', printf('many%06d@dst.test', i),
          CASE i % 50 WHEN 0 THEN 'complaint' WHEN 1 THEN 'unsubscribe' ELSE 'bounce' END,
          'host mx.dst.test[192.0.2.1] said: 550 5.1.1 no such user', i FROM n;
        ${rows(200)} INSERT INTO webhook (id, company_id, dialect, endpoint, events, secret, old_secret, enabled, created_us, from_seq)
        SELECT ${uuid}, '${tenant.id}', 'json', printf('https://hooks.test/shop/%03d', i), '["email.sent","email.bounced"]',
          randomblob(24), randomblob(24), i % 5 > 0, i, 0 FROM n; COMMIT;`,
    );
    const visitor = await t.visitor({ user: await t.newUser({ company: tenant.id }) });
    const { page } = visitor;
    await visitor.go("suppressions");
    // The oldest of all, by a part of the address that no index has.
    await page.getByLabel("Search", { exact: true }).fill("000001@dst");
    await page.getByRole("row").filter({ hasText: "many000001@dst.test" }).waitFor();
    await page.getByLabel("Search", { exact: true }).fill("");
    await page.getByLabel("Reason", { exact: true }).selectOption("unsubscribe");
    await page.getByRole("row").filter({ hasText: "unsubscribed" }).first().waitFor();
    await page.getByLabel("Reason", { exact: true }).selectOption("");
    const file = page.waitForEvent("download");
    await press(page, "Download CSV");
    const text = readFileSync(await (await file).path(), "utf8");
    assert.equal(text.trim().split("\r\n").length, 100_001);
    await visitor.go("webhooks");
    for (const to of [50, 75]) {
      await press(page, "Next");
      await visitor.see(`${to - 24} to ${to} of`);
    }
    await page.getByLabel("Search", { exact: true }).fill("shop/001");
    await page.getByRole("row").filter({ hasText: "shop/001" }).waitFor();
    await visitor.leave();
  });
});
