// The resend package for Node.js, its current version and 4.x, unchanged but
// for the address of the server. Every email is checked where it was delivered
// and as it is read back.

import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { describe, it } from "node:test";
import { delivered, deliveries } from "./sink.mjs";

process.env.RESEND_BASE_URL = process.env.POSTERN_URL; // read when imported
const versions = {
  "resend 6": (await import("resend")).Resend,
  "resend 4": (await import("resend4")).Resend,
};

const key = process.env.POSTERN_KEY;
const from = "Acme <hello@example.com>";
const recipient = () => `${randomUUID()}@dst.test`;

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

// What is sent now is delivered after all that was sent before.
async function checkSentOnce(resend, to) {
  const last = recipient();
  data(await resend.emails.send({ from, to: last, subject: "x", text: "x" }));
  for (const one of [...to, last]) await delivered(one);
  for (const one of to) assert.equal((await deliveries(one)).length, 1);
}

for (const [version, Resend] of Object.entries(versions)) {
  describe(version, () => {
    const resend = new Resend(key);

    it("sends html and reads it back", async () => {
      const to = recipient();
      const html = "<p>Grüße, <b>you</b> 👋</p>";
      const sent = data(
        await resend.emails.send({ from, to, subject: "Hello 👋", html }),
      );
      assert.deepEqual(Object.keys(sent), ["id"]);

      const mail = await delivered(to);
      assert.equal(mail.sender, "hello@example.com");
      assert.deepEqual(mail.recipients, [to]);
      assert.equal(mail.from.name, "Acme");
      assert.equal(mail.from.address, "hello@example.com");
      assert.equal(mail.subject, "Hello 👋");
      assert.equal(mail.html.trim(), html);
      assert.equal(mail.text.trim(), "Grüße, you 👋");

      const seen = data(await resend.emails.get(sent.id));
      assert.equal(seen.object, "email");
      assert.equal(seen.id, sent.id);
      assert.equal(seen.from, from);
      assert.deepEqual(seen.to, [to]);
      assert.equal(seen.subject, "Hello 👋");
      assert.equal(seen.html, html);
      assert.equal(seen.text.trim(), "Grüße, you 👋");
      assert.match(seen.last_event, /^(sent|delivered)$/);
      assert.ok(!Number.isNaN(Date.parse(seen.created_at)));
    });

    it("sends text", async () => {
      const to = recipient();
      const { id } = data(
        await resend.emails.send({ from, to, subject: "x", text: "Just text" }),
      );
      const mail = await delivered(to);
      assert.equal(mail.text.trim(), "Just text");
      assert.equal(mail.html, undefined);
      assert.equal(data(await resend.emails.get(id)).text, "Just text");
    });

    it("sends to many, with names, cc, bcc and replyTo", async () => {
      const [to, second, cc, bcc] = [1, 2, 3, 4].map(recipient);
      const { id } = data(
        await resend.emails.send({
          from,
          to: [`Ann <${to}>`, second],
          cc: `Jürgen <${cc}>`,
          bcc: [bcc],
          replyTo: ["Help <help@example.net>", "sales@example.net"],
          subject: "x",
          text: "x",
        }),
      );
      const mail = await delivered(to);
      assert.deepEqual(mail.recipients.sort(), [to, second, cc, bcc].sort());
      assert.deepEqual(mail.to, [
        { address: to, name: "Ann" },
        { address: second, name: "" },
      ]);
      assert.deepEqual(mail.cc, [{ address: cc, name: "Jürgen" }]);
      assert.deepEqual(
        mail.replyTo.map((a) => a.address),
        ["help@example.net", "sales@example.net"],
      );
      assert.equal(mail.header("bcc"), undefined);

      const seen = data(await resend.emails.get(id));
      assert.deepEqual(seen.to, [to, second]);
      assert.deepEqual(seen.cc, [cc]);
      assert.deepEqual(seen.bcc, [bcc]);
      assert.deepEqual(seen.reply_to, [
        "Help <help@example.net>",
        "sales@example.net",
      ]);
    });

    it("sends headers and tags", async () => {
      const to = recipient();
      const { id } = data(
        await resend.emails.send({
          from,
          to,
          subject: "mine",
          text: "x",
          headers: {
            "X-Entity-Ref-ID": "123",
            "List-Unsubscribe": "<https://example.com/u>",
            Subject: "not this",
          },
          tags: [{ name: "kind", value: "test" }],
        }),
      );
      const mail = await delivered(to);
      assert.equal(mail.header("x-entity-ref-id"), "123");
      assert.equal(mail.header("list-unsubscribe"), "<https://example.com/u>");
      assert.equal(mail.subject, "mine");
      assert.equal(data(await resend.emails.get(id)).id, id);
    });

    it("sends attachments, byte for byte", async () => {
      const to = recipient();
      const contents = [randomBytes(100_000), Buffer.alloc(0), Buffer.from("ü")];
      data(
        await resend.emails.send({
          from,
          to,
          subject: "x",
          text: "x",
          attachments: [
            { filename: "Rechnung März.pdf", content: contents[0] },
            { filename: "empty.bin", content: contents[1] },
            {
              filename: "a.txt",
              content: contents[2].toString("base64"),
              contentType: "text/x-test",
            },
          ],
        }),
      );
      const mail = await delivered(to);
      assert.deepEqual(
        mail.attachments.map((a) => [a.filename, a.mimeType]),
        [
          ["Rechnung März.pdf", "application/pdf"],
          ["empty.bin", "application/octet-stream"],
          ["a.txt", "text/x-test"],
        ],
      );
      mail.attachments.forEach((attachment, n) => {
        assert.ok(Buffer.from(attachment.content).equals(contents[n]));
      });
    });

    it("sends an inline image", async () => {
      const to = recipient();
      data(
        await resend.emails.send({
          from,
          to,
          subject: "x",
          html: '<img src="cid:logo">',
          attachments: [
            {
              filename: "logo.png",
              content: Buffer.from([1, 2, 3]),
              contentId: "logo", // the name of version 6
              inlineContentId: "logo", // the name of version 4
            },
          ],
        }),
      );
      const [attachment] = (await delivered(to)).attachments;
      assert.equal(attachment.contentId, "<logo>");
      assert.equal(attachment.disposition, "inline");
      assert.deepEqual([...new Uint8Array(attachment.content)], [1, 2, 3]);
    });

    it("explains what is wrong", async () => {
      const good = { from, to: "a@dst.test", subject: "x", text: "x" };
      checkError(
        await new Resend("ps_wrong").emails.send(good),
        "invalid_api_key",
        /API key is invalid/,
        401,
      );
      checkError(
        await resend.emails.send({ ...good, from: "a@other.test" }),
        "validation_error",
        /The other.test domain is not verified/,
        403,
      );
      checkError(
        await resend.emails.send({ ...good, to: "nonsense" }),
        "validation_error",
        /Invalid `to` field/,
        422,
      );
      checkError(
        await resend.emails.send({ from, to: "a@dst.test", subject: "x" }),
        "missing_required_field",
        /Missing `html` or `text` field/,
        422,
      );
      checkError(
        await resend.emails.send({
          ...good,
          attachments: [{ filename: "a", path: "http://127.0.0.1/" }],
        }),
        "invalid_attachment",
        /path/,
        422,
      );
      checkError(
        await resend.emails.send({ ...good, scheduledAt: "soon" }),
        "validation_error",
        /scheduled_at/,
        422,
      );
      checkError(
        await resend.emails.get("3c0d6a52-6c7b-4a0a-9b1c-2b5b7f5a8f11"),
        "not_found",
        /Email not found/,
        404,
      );
      checkError(
        await resend.emails.get("nonsense"),
        "invalid_parameter",
        /must be a valid UUID/,
        422,
      );
    });

    it("sends a batch", async () => {
      const to = [1, 2, 3].map(recipient);
      const { data: sent } = data(
        await resend.batch.send(
          to.map((one, n) => ({
            from,
            to: one,
            subject: `mail ${n}`,
            html: `<p>${n}</p>`,
          })),
        ),
      );
      assert.equal(sent.length, 3);
      for (const [n, { id }] of sent.entries()) {
        assert.equal((await delivered(to[n])).subject, `mail ${n}`);
        assert.deepEqual(data(await resend.emails.get(id)).to, [to[n]]);
      }
    });

    it("explains what is wrong with a batch", async () => {
      const good = { from, to: recipient(), subject: "x", text: "x" };
      checkError(
        await resend.batch.send([good, { ...good, to: "nonsense" }]),
        "validation_error",
        /Invalid `\[1\]\.to` field/,
        422,
      );
      checkError(
        await resend.batch.send(Array(101).fill(good)),
        "validation_error",
        /100/,
        422,
      );
    });

    it("sends an email once, however often it asks", async () => {
      const email = { from, to: recipient(), subject: "x", text: "x" };
      const idempotencyKey = randomUUID();
      const ids = new Set();
      for (let n = 0; n < 3; n++)
        ids.add(data(await resend.emails.send(email, { idempotencyKey })).id);
      assert.equal(ids.size, 1);
      checkError(
        await resend.emails.send({ ...email, text: "y" }, { idempotencyKey }),
        "invalid_idempotent_request",
        /another payload/,
        409,
      );
      checkError(
        await resend.emails.send(email, { idempotencyKey: "x".repeat(257) }),
        "invalid_idempotency_key",
        /between 1 and 256/,
        400,
      );
      await checkSentOnce(resend, [email.to]);
    });

    it("sends a batch once, however often it asks", async () => {
      const to = [1, 2].map(recipient);
      const batch = to.map((one) => ({ from, to: one, subject: "x", text: "x" }));
      const options = { idempotencyKey: randomUUID() };
      const first = data(await resend.batch.send(batch, options));
      assert.deepEqual(data(await resend.batch.send(batch, options)), first);
      await checkSentOnce(resend, to);
    });

    it("schedules, gives another time, and cancels", async () => {
      const hour = 3600 * 1000;
      const at = new Date(Date.now() + hour).toISOString();
      const { id } = data(
        await resend.emails.send({
          from,
          to: recipient(),
          subject: "x",
          text: "x",
          scheduledAt: "in 10 minutes",
        }),
      );
      assert.equal(data(await resend.emails.get(id)).last_event, "scheduled");
      assert.equal(
        data(await resend.emails.update({ id, scheduledAt: at })).id,
        id,
      );
      assert.equal(
        Date.parse(data(await resend.emails.get(id)).scheduled_at),
        Date.parse(at),
      );
      assert.equal(data(await resend.emails.cancel(id)).id, id);
      assert.equal(data(await resend.emails.get(id)).last_event, "canceled");
      assert.notEqual((await resend.emails.cancel(id)).error, null);
    });

    it("reads attachments back", async (t) => {
      if (!resend.emails.attachments) return t.skip("this version has none");
      const content = Buffer.from("caf\u00e9 \0 bytes");
      const { id } = data(
        await resend.emails.send({
          from,
          to: recipient(),
          subject: "x",
          text: "x",
          attachments: Array(21).fill({ filename: "a.bin", content }), // more than a page has
        }),
      );
      const { data: items } = data(await resend.emails.attachments.list({ emailId: id }));
      assert.equal(items.length, 21);
      const one = data(await resend.emails.attachments.get({ emailId: id, id: items[0].id }));
      assert.equal(one.filename, "a.bin");
      assert.equal(one.size, content.length);
      const got = await fetch(one.download_url);
      assert.deepEqual(Buffer.from(await got.arrayBuffer()), content);
    });

    it("says what is not there", async () => {
      checkError(
        await resend.contacts.list({ audienceId: randomUUID() }),
        "not_found",
        /endpoint does not exist/,
        404,
      );
    });

    it("reads with a sending key", async () => {
      const sender = new Resend(process.env.POSTERN_SENDING_KEY);
      const to = recipient();
      const { id } = data(
        await sender.emails.send({ from, to, subject: "x", text: "x" }),
      );
      assert.deepEqual(data(await sender.emails.get(id)).to, [to]);
    });
  });
}

describe("resend 6", () => {
  it("sends a permissive batch", async () => {
    const to = recipient();
    const good = { from, to, subject: "x", text: "x" };
    const answer = data(
      await new versions["resend 6"](key).batch.send(
        [{ ...good, to: "nonsense" }, good],
        { batchValidation: "permissive" },
      ),
    );
    assert.equal(answer.data.length, 1);
    assert.deepEqual(
      answer.errors.map((error) => error.index),
      [0],
    );
    assert.match(answer.errors[0].message, /Invalid `to` field/);
    await delivered(to);
  });
});
