// Lists of suppressed addresses as client libraries manage them: resend and mailgun.js, unchanged
// but for the address of the server.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, it } from "node:test";
import NodeFormData from "form-data";
import Mailgun from "mailgun.js";

process.env.RESEND_BASE_URL = process.env.POSTERN_URL; // read when imported
const { Resend } = await import("resend");

const key = process.env.POSTERN_KEY;
const domain = process.env.POSTERN_DOMAIN;
const address = () => `a+${randomUUID()}@x.test`;

function data(answer) {
  assert.equal(answer.error, null);
  return answer.data;
}

describe("resend", () => {
  const { suppressions } = new Resend(key);

  it("adds, reads, lists and removes by id and by address", async () => {
    const [first, second] = [address(), address()];
    const { id } = data(await suppressions.add({ email: ` ${first.toUpperCase()} ` }));
    assert.equal(data(await suppressions.add({ email: first })).id, id);
    for (const what of [id, first]) {
      const found = data(await suppressions.get(what));
      assert.equal(found.object, "suppression");
      assert.deepEqual([found.id, found.email, found.origin, found.source_id], [id, first, "manual", null]);
      assert.ok(Date.now() - Date.parse(found.created_at) < 3_600_000);
    }
    data(await suppressions.add({ email: second }));
    const page = data(await suppressions.list({ limit: 1, origin: "manual" }));
    assert.deepEqual([page.object, page.has_more, page.data[0].email], ["list", true, second]);
    const next = data(await suppressions.list({ limit: 1, after: page.data[0].id }));
    assert.equal(next.data[0].id, id);
    assert.deepEqual(data(await suppressions.remove(first)), { object: "suppression", id, deleted: true });
    assert.equal(data(await suppressions.remove(page.data[0].id)).deleted, true);
    for (const call of ["get", "remove"]) {
      const { error } = await suppressions[call](first);
      assert.deepEqual([error.name, error.message], ["not_found", "Suppression not found"]);
    }
  });

  it("adds and removes many at once", async () => {
    const emails = [address(), address(), address()];
    const added = data(await suppressions.batch.add({ emails: [...emails, emails[0]] })).data;
    assert.deepEqual(added.map((one) => one.object), Array(3).fill("suppression"));
    const { error } = await suppressions.batch.add({ emails: [address(), "no address"] });
    assert.deepEqual([error.name, error.statusCode], ["validation_error", 422]);
    const gone = data(await suppressions.batch.remove({ emails: [emails[0], address()] })).data;
    assert.deepEqual(gone, [{ object: "suppression", id: added[0].id, deleted: true }]);
    const ids = added.slice(1).map((one) => one.id);
    const rest = data(await suppressions.batch.remove({ ids })).data;
    assert.deepEqual(rest.map((one) => one.id), ids);
  });
});

describe("mailgun.js", () => {
  const { suppressions } = new Mailgun(NodeFormData).client({
    username: "api",
    key,
    url: process.env.POSTERN_URL,
  });
  const gone = (promise) => assert.rejects(promise, (error) => error.status === 404);

  // What is sent of one, of each of many, and what is shown then.
  const bounce = { code: 550, error: "no such user" };
  const kinds = {
    bounces: [bounce, bounce, bounce],
    complaints: [{}, {}, {}],
    unsubscribes: [{ tag: "*" }, { tags: ["*"] }, { tags: ["*"] }],
  };
  for (const [kind, [sent, each, shown]] of Object.entries(kinds))
    it(`manages ${kind}`, async () => {
      const all = Array.from({ length: 5 }, address).sort();
      const one = await suppressions.create(domain, kind, { address: all[0], ...sent });
      assert.equal(one.status, 200);
      await suppressions.create(domain, kind, all.slice(1).map((to) => ({ address: to, ...each })));
      const found = await suppressions.get(domain, kind, all[0]);
      assert.equal(found.address, all[0]);
      for (const [name, value] of Object.entries(shown)) assert.deepEqual(found[name], value);
      assert.ok(found.created_at instanceof Date && Date.now() - found.created_at < 3_600_000);
      const listed = [];
      for (let page; ; ) {
        const { items, pages } = await suppressions.list(domain, kind, { limit: 2, page });
        if (items.length === 0) break;
        listed.push(...items.map((item) => item.address));
        page = pages.next.page;
      }
      assert.deepEqual(listed.filter((to) => all.includes(to)), all);
      const removed = await suppressions.destroy(domain, kind, all[0]);
      assert.equal(removed.address, all[0]);
      await gone(suppressions.get(domain, kind, all[0]));
      await gone(suppressions.destroy(domain, kind, all[0]));
      const file = { data: `address, error\n${all[0]}, "from a file"\n`, filename: "list.csv" };
      await suppressions.upload(domain, kind, file);
      assert.equal((await suppressions.get(domain, kind, all[0])).address, all[0]);
      assert.equal((await suppressions.destroyAll(domain, kind)).status, 200);
      assert.deepEqual((await suppressions.list(domain, kind)).items, []);
    });

  it("manages whitelists", async () => {
    const [mailbox, host] = [address(), `h${randomUUID()}.test`];
    await suppressions.create(domain, "whitelists", { address: mailbox, reason: "a test" });
    await suppressions.create(domain, "whitelists", { domain: host });
    const { items } = await suppressions.list(domain, "whitelists");
    const reasons = Object.fromEntries(items.map((item) => [item.value, item.reason]));
    assert.deepEqual([reasons[mailbox], reasons[host]], ["a test", ""]);
    assert.equal((await suppressions.get(domain, "whitelists", host)).value, host);
    for (const value of [mailbox, host]) {
      assert.equal((await suppressions.destroy(domain, "whitelists", value)).value, value);
      await gone(suppressions.get(domain, "whitelists", value));
    }
  });
});
