// Webhooks as client libraries manage them, and as receivers verify them: resend, svix,
// standardwebhooks and mailgun.js, unchanged but for the address of the server.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { after, before, describe, it } from "node:test";
import NodeFormData from "form-data";
import Mailgun from "mailgun.js";
import { Webhook as Standard } from "standardwebhooks";
import { Webhook as Svix } from "svix";

process.env.RESEND_BASE_URL = process.env.POSTERN_URL; // read when imported
const { Resend } = await import("resend");

const key = process.env.POSTERN_KEY;
const domain = process.env.POSTERN_DOMAIN;
const received = [];
let server, base;

before(async () => {
  server = createServer((request, response) => {
    let body = "";
    request.on("data", (piece) => (body += piece));
    request.on("end", () => {
      received.push({ path: request.url, headers: request.headers, body });
      response.end("ok");
    });
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  base = `http://127.0.0.1:${server.address().port}`;
});

after(() => server.close());

// The first delivery to a path that fits.
async function delivery(path, fits = () => true) {
  const end = Date.now() + 60_000;
  for (;;) {
    const found = received.find((one) => one.path === path && fits(one));
    if (found) return found;
    assert.ok(Date.now() < end, `nothing came to ${path}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

function data(answer) {
  assert.equal(answer.error, null);
  return answer.data;
}

async function send(resend) {
  return data(
    await resend.emails.send({
      from: `Ann <hello@${domain}>`,
      to: `${randomUUID()}@dst.test`,
      subject: "x",
      text: "x",
      tags: [{ name: "kind", value: "a" }],
    }),
  ).id;
}

describe("resend", () => {
  const resend = new Resend(key);

  it("creates, lists, changes, removes", async () => {
    const events = ["email.sent", "email.delivered"];
    const endpoint = `${base}/managed`;
    const made = data(await resend.webhooks.create({ endpoint, events }));
    assert.match(made.signing_secret, /^whsec_[A-Za-z0-9+/]{32}$/);
    const got = data(await resend.webhooks.get(made.id));
    assert.equal(got.endpoint, endpoint);
    assert.deepEqual(got.events, events);
    assert.equal(got.signing_secret, made.signing_secret);
    const listed = data(await resend.webhooks.list());
    assert.ok(listed.data.some((one) => one.id === made.id));
    data(await resend.webhooks.update(made.id, { status: "disabled" }));
    assert.equal(data(await resend.webhooks.get(made.id)).status, "disabled");
    assert.equal(data(await resend.webhooks.remove(made.id)).deleted, true);
    assert.equal((await resend.webhooks.get(made.id)).error.name, "not_found");
  });

  it("is told, and all verify it", async () => {
    const endpoint = `${base}/told`;
    const made = data(
      await resend.webhooks.create({ endpoint, events: ["email.delivered"] }),
    );
    const id = await send(resend);
    const { headers, body } = await delivery("/told");
    const secret = made.signing_secret;
    const event = JSON.parse(body);
    assert.equal(event.data.email_id, id);
    assert.deepEqual(event.data.tags, { kind: "a" });
    assert.deepEqual(new Svix(secret).verify(body, headers), event);
    assert.deepEqual(new Standard(secret).verify(body, headers), event);
    const said = {
      id: headers["svix-id"],
      timestamp: headers["svix-timestamp"],
      signature: headers["svix-signature"],
    };
    const verified = resend.webhooks.verify({
      payload: body,
      headers: said,
      webhookSecret: secret,
    });
    assert.deepEqual(verified, event);
    assert.throws(() => new Svix(secret).verify(`${body} `, headers));
    assert.throws(() => new Standard(secret).verify(`${body} `, headers));
    const { signing_secret: fresh } = data(
      await resend.webhooks.rotateSigningSecret(made.id),
    );
    await send(resend);
    const other = await delivery(
      "/told",
      (one) => one.headers["webhook-id"] !== headers["webhook-id"],
    );
    for (const known of [secret, fresh]) {
      new Svix(known).verify(other.body, other.headers);
      new Standard(known).verify(other.body, other.headers);
    }
    data(await resend.webhooks.remove(made.id));
  });

  it("reads what it was told, and has it sent again", async () => {
    const made = data(
      await resend.webhooks.create({ endpoint: `${base}/again`, events: ["email.delivered"] }),
    );
    const webhookId = made.id;
    await send(resend);
    const { headers, body } = await delivery("/again");
    const eventId = headers["svix-id"];
    let listed;
    do {
      listed = data(await resend.webhooks.events.list({ webhookId, limit: 1 }));
    } while (listed.data[0]?.status !== "success");
    assert.equal(listed.has_more, false);
    assert.deepEqual(Object.keys(listed.data[0]).sort(), ["created_at", "id", "status", "type"]);
    const event = data(await resend.webhooks.events.get({ webhookId, eventId }));
    assert.deepEqual([event.object, event.id, event.next_attempt_at], ["webhook_event", eventId, null]);
    assert.deepEqual(event.payload, JSON.parse(body));
    const again = data(await resend.webhooks.events.replay({ webhookId, eventId }));
    assert.deepEqual(again, { object: "webhook_event", id: eventId });
    let attempts;
    do {
      attempts = data(await resend.webhooks.events.attempts.list({ webhookId, eventId }));
    } while (attempts.data.length < 2);
    assert.deepEqual(attempts.data.map((one) => [one.http_status_code, one.response]), Array(2).fill([200, "ok"]));
    const sent = received.filter((one) => one.headers["svix-id"] === eventId);
    assert.deepEqual(sent.map((one) => one.body), [body, body]);
    data(await resend.webhooks.remove(webhookId));
  });
});

describe("mailgun.js", () => {
  const client = new Mailgun(NodeFormData).client({
    username: "api",
    key,
    url: process.env.POSTERN_URL,
  });

  it("manages the URLs of names", async () => {
    const first = `${base}/form`;
    const second = `${base}/other`;
    await client.webhooks.create(domain, "delivered", first);
    const all = await client.webhooks.list(domain);
    assert.deepEqual(all.delivered.urls, [first]);
    const one = await client.webhooks.get(domain, "delivered");
    assert.ok(JSON.stringify(one).includes(first));
    await client.webhooks.update(domain, "delivered", [first, second]);
    const now = await client.webhooks.list(domain);
    assert.deepEqual(now.delivered.urls, [first, second]);
    await assert.rejects(client.webhooks.create(domain, "delivered", first));
    await send(new Resend(key));
    const told = JSON.parse((await delivery("/form")).body);
    assert.equal(told["event-data"].event, "delivered");
    const { timestamp, token, signature } = told.signature;
    assert.equal(token.length, 50);
    assert.equal(typeof timestamp, "string");
    assert.match(signature, /^[0-9a-f]{64}$/);
    await delivery("/other");
    await client.webhooks.destroy(domain, "delivered");
    assert.equal((await client.webhooks.list(domain)).delivered, undefined);
  });
});
