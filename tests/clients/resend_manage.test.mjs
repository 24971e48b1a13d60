// Managing by the resend package for Node.js, its current version and 4.x:
// lists, domains and keys.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, it } from "node:test";

process.env.RESEND_BASE_URL = process.env.POSTERN_URL; // read when imported
const versions = {
  "resend 6": (await import("resend")).Resend,
  "resend 4": (await import("resend4")).Resend,
};

const from = "Acme <hello@example.com>";
const unknown = "3c0d6a52-6c7b-4a0a-9b1c-2b5b7f5a8f11";
const newName = () => `d${randomUUID()}.example`;

// What a successful call gave.
function data(answer) {
  assert.equal(answer.error, null);
  return answer.data;
}

function checkError(answer, name, message, statusCode) {
  assert.equal(answer.data, null);
  assert.equal(answer.error.name, name);
  assert.match(answer.error.message, message);
  assert.equal(answer.error.statusCode, statusCode);
}

// The items of all pages of two, newest first; 4.x knows no pages.
async function all(noun) {
  const items = [];
  for (let more = true, after; more; after = items.at(-1)?.id) {
    const page = data(await noun.list({ limit: 2, ...(after && { after }) }));
    assert.equal(page.object, "list");
    items.push(...page.data);
    more = page.has_more;
  }
  return items;
}

async function send(resend, tags) {
  const to = `${randomUUID()}@dst.test`;
  return data(
    await resend.emails.send({ from, to, subject: "x", text: "x", tags }),
  ).id;
}

// 4.x cannot.
async function renameKey(resend, id) {
  assert.deepEqual(data(await resend.apiKeys.update(id, { name: "new" })), {
    object: "api_key",
    id,
  });
  const listed = await all(resend.apiKeys);
  assert.equal(listed.find((key) => key.id === id).name, "new");
  checkError(
    await resend.apiKeys.update(unknown, { name: "new" }),
    "not_found",
    /API key not found/,
    404,
  );
}

for (const [version, Resend] of Object.entries(versions)) {
  const paged = version === "resend 6";

  describe(`${version}: managing`, () => {
    const resend = new Resend(process.env.POSTERN_KEY);

    it("reads tags back", async () => {
      const tags = [
        { name: "kind", value: "order_1" },
        { name: "kind", value: "second-1" },
      ];
      const id = await send(resend, tags);
      assert.deepEqual(data(await resend.emails.get(id)).tags, tags);
      checkError(
        await resend.emails.send({
          from,
          to: "a@dst.test",
          subject: "x",
          text: "x",
          tags: [tags[0], { name: "a b", value: "c" }],
        }),
        "validation_error",
        /`tags\[1\]\.name`/,
        422,
      );
    });

    const itPaged = paged ? it : () => {};

    itPaged("lists emails", async () => {
      const sent = [];
      for (let n = 0; n < 5; n++) sent.unshift(await send(resend));
      const listed = await all(resend.emails);
      assert.deepEqual(
        listed.slice(0, 5).map((email) => email.id),
        sent,
      );
      assert.equal(listed[0].from, from);
      assert.match(listed[0].last_event, /^(sent|delivered)$/);
      const newer = data(
        await resend.emails.list({ limit: 2, before: sent[3] }),
      );
      assert.deepEqual(
        newer.data.map((email) => email.id),
        sent.slice(1, 3),
      );
      assert.equal(newer.has_more, true);
      checkError(
        await resend.emails.list({ limit: 101 }),
        "invalid_parameter",
        /`limit`/,
        422,
      );
      checkError(
        await resend.emails.list({ after: unknown }),
        "invalid_parameter",
        /`after`/,
        422,
      );
    });

    it("manages domains", async () => {
      const name = newName();
      const made = data(
        await resend.domains.create({ name, region: "eu-west-1" }),
      );
      assert.equal(made.name, name);
      assert.equal(made.status, "pending");
      for (const record of made.records) {
        assert.ok(["SPF", "DKIM"].includes(record.record));
        assert.ok(record.name === name || record.name.endsWith(`.${name}`));
        assert.equal(record.type, "TXT");
        assert.ok(record.value);
        assert.equal(record.status, "not_started");
      }
      assert.ok(made.records.some(({ value }) => value.startsWith("v=spf1 ")));
      assert.ok(!Number.isNaN(Date.parse(made.created_at)));
      assert.deepEqual(data(await resend.domains.get(made.id)), made);

      const { id } = made;
      assert.deepEqual(data(await resend.domains.verify(id)), {
        object: "domain",
        id,
      });
      assert.deepEqual(
        data(
          await resend.domains.update({
            id,
            openTracking: false,
            clickTracking: false,
            tls: "opportunistic",
          }),
        ),
        { object: "domain", id },
      );
      const listed = paged
        ? await all(resend.domains)
        : data(await resend.domains.list()).data;
      assert.equal(listed.find((domain) => domain.id === id).name, name);
      assert.deepEqual(data(await resend.domains.remove(id)), {
        object: "domain",
        id,
        deleted: true,
      });
      checkError(
        await resend.domains.get(id),
        "not_found",
        /Domain not found/,
        404,
      );
    });

    it("explains what is wrong with a domain", async () => {
      const name = newName();
      const { id } = data(await resend.domains.create({ name }));
      const { create, update } = {
        create: (more) => resend.domains.create({ name: newName(), ...more }),
        update: (more) => resend.domains.update({ id, ...more }),
      };
      const wrong = "validation_error";

      checkError(await create({ name }), wrong, /registered already/, 422);
      checkError(await create({ name: "x" }), wrong, /`name`/, 422);
      checkError(await create({ region: "x" }), "invalid_region", /region/, 422);
      checkError(await update({ openTracking: true }), wrong, /tracking/, 422);
      checkError(await update({ tls: "enforced" }), wrong, /`tls`/, 422);
      checkError(
        await resend.domains.remove(unknown),
        "not_found",
        /Domain not found/,
        404,
      );
      data(await resend.domains.remove(id));
    });

    it("manages keys", async () => {
      const made = data(
        await resend.apiKeys.create({
          name: "Größe",
          permission: "sending_access",
        }),
      );
      assert.deepEqual(Object.keys(made).sort(), ["id", "token"]);
      const { id } = made;
      const sender = new Resend(made.token);
      await send(sender);
      checkError(
        await sender.apiKeys.list(),
        "restricted_api_key",
        /restricted to only send emails/,
        403,
      );
      const listed = paged
        ? await all(resend.apiKeys)
        : data(await resend.apiKeys.list()).data;
      assert.equal(listed.find((key) => key.id === id).name, "Größe");
      if (resend.apiKeys.update) await renameKey(resend, id);
      assert.deepEqual(data(await resend.apiKeys.remove(id)), {
        object: "api_key",
        id,
        deleted: true,
      });
      checkError(
        await sender.emails.get(unknown),
        "invalid_api_key",
        /API key is invalid/,
        401,
      );
    });

    it("explains what is wrong with a key", async () => {
      checkError(
        await resend.apiKeys.create({ name: "x".repeat(51) }),
        "validation_error",
        /`name`/,
        422,
      );
      checkError(
        await resend.apiKeys.create({ name: "x", domain_id: unknown }),
        "validation_error",
        /`domain_id`/,
        422,
      );
      checkError(
        await resend.apiKeys.remove(unknown),
        "not_found",
        /API key not found/,
        404,
      );
    });
  });
}
