// The mailgun.js package for Node.js with each kind of form it knows, and the
// older mailgun-js, unchanged but for the address of the server. Every email is
// checked where it was delivered and as it is read back.

import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { after, before, describe, it } from "node:test";
import NodeFormData from "form-data";
import Mailgun from "mailgun.js";
import mailgunJs from "mailgun-js";
import { delivered } from "./sink.mjs";

const url = process.env.POSTERN_URL;
const key = process.env.POSTERN_KEY;
const domain = process.env.POSTERN_DOMAIN;
const from = `Ann Müß <hello@${domain}>`;
const recipient = () => `${randomUUID()}@dst.test`;
const bytes = randomBytes(100_000);

let folder, path;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "postern-clients-"));
  path = join(folder, "on disk.bin");
  await writeFile(path, bytes);
});

after(() => rm(folder, { recursive: true }));

// The email of an answer, as the other interface has it.
async function read({ id, message }) {
  assert.equal(message, "Queued. Thank you.");
  const [, uuid] = id.match(/^<([0-9a-f-]{36})@/);
  const answer = await fetch(`${url}/emails/${uuid}`, {
    headers: { Authorization: `Bearer ${key}` },
  });
  assert.equal(answer.status, 200);
  return answer.json();
}

function checkFiles(mail, expected) {
  const files = mail.attachments.map((a) => [
    a.filename,
    Buffer.from(a.content).toString("hex"),
  ]);
  assert.deepEqual(
    files.sort(),
    expected
      .map(([name, content]) => [name, Buffer.from(content).toString("hex")])
      .sort(),
  );
}

const finished = (to) =>
  `From: hello@${domain}\r\nTo: ${to}\r\nSubject: finished\r\n` +
  `X-Own: 1\r\n\r\nHello\r\n`;

// A field is added where the message has none of that name.
const added = { "h:X-Added": "yes", "h:X-Own": "2" };

async function checkFinished(answer, to) {
  const mail = await delivered(to);
  assert.deepEqual(mail.recipients, [to]);
  assert.equal(mail.subject, "finished");
  assert.equal(mail.header("x-own"), "1");
  assert.equal(mail.header("x-added"), "yes");
  assert.equal(mail.text.trim(), "Hello");
  assert.equal((await read(answer)).subject, "finished");
}

// What both packages must do; send(fields) is their call for messages.
function common(send) {
  it("sends every field and reads it back", async () => {
    const [to, second, cc, bcc] = [1, 2, 3, 4].map(recipient);
    const html = "<p>Grüße, <b>you</b> 👋</p>";
    const answer = await send({
      from,
      to: [to, `"Bee, Bob" <${second}>`],
      cc: `Jürgen <${cc}>`,
      bcc,
      subject: "Hello 👋",
      text: "Grüße, you 👋",
      html,
      "h:Reply-To": "Help <help@example.net>",
      "h:X-My-Header": "123",
      "o:tag": ["one", "two"],
      "o:tracking": "no",
      "v:my-var": "value",
    });
    const mail = await delivered(to);
    assert.equal(mail.sender, `hello@${domain}`);
    assert.deepEqual(mail.recipients.sort(), [to, second, cc, bcc].sort());
    assert.deepEqual(mail.from, {
      address: `hello@${domain}`,
      name: "Ann Müß",
    });
    assert.deepEqual(mail.to, [
      { address: to, name: "" },
      { address: second, name: "Bee, Bob" },
    ]);
    assert.deepEqual(mail.cc, [{ address: cc, name: "Jürgen" }]);
    assert.equal(mail.header("bcc"), undefined);
    assert.equal(mail.subject, "Hello 👋");
    assert.equal(mail.text.trim(), "Grüße, you 👋");
    assert.equal(mail.html.trim(), html);
    assert.equal(mail.replyTo[0].address, "help@example.net");
    assert.equal(mail.header("x-my-header"), "123");
    assert.equal(mail.messageId, answer.id);

    const seen = await read(answer);
    assert.equal(seen.from, from);
    assert.deepEqual(seen.to, [to, second]);
    assert.deepEqual([seen.cc, seen.bcc], [[cc], [bcc]]);
    assert.equal(seen.subject, "Hello 👋");
    assert.equal(seen.html, html);
    assert.equal(seen.text, "Grüße, you 👋");
    assert.match(seen.last_event, /^(sent|delivered)$/);
    assert.deepEqual(
      seen.tags.map((tag) => tag.value),
      ["one", "two"],
    );
  });

  it("sends to a list in one string", async () => {
    const [to, second] = [1, 2].map(recipient);
    await send({ from, to: `${to}, Bob <${second}>`, subject: "x", text: "x" });
    const mail = await delivered(to);
    assert.deepEqual(mail.recipients.sort(), [to, second].sort());
  });

  it("sends individual messages", async () => {
    const people = [1, 2].map(recipient);
    const variables = Object.fromEntries(
      people.map((person, n) => [person, { name: `N${n}`, id: n }]),
    );
    await send({
      from,
      to: people,
      subject: "Hi %recipient.name%",
      text: "%recipient.id%",
      "recipient-variables": JSON.stringify(variables),
    });
    for (const [n, person] of people.entries()) {
      const mail = await delivered(person);
      assert.deepEqual(mail.recipients, [person]);
      assert.deepEqual(mail.to, [{ address: person, name: "" }]);
      assert.equal(mail.subject, `Hi N${n}`);
      assert.equal(mail.text.trim(), `${n}`);
    }
  });

  it("sends in test mode", async () => {
    const to = recipient();
    const answer = await send({
      from,
      to,
      subject: "x",
      text: "x",
      "o:testmode": "yes",
    });
    assert.deepEqual((await read(answer)).to, [to]);
  });
}

const forms = {
  "form-data": [NodeFormData, {}],
  "native FormData": [FormData, {}],
  "native FormData by fetch": [FormData, { useFetch: true }],
};

for (const [name, [Form, options]] of Object.entries(forms)) {
  describe(`mailgun.js with ${name}`, () => {
    const client = (password) =>
      new Mailgun(Form).client({
        username: "api",
        key: password,
        url,
        ...options,
      });
    const messages = client(key).messages;
    const send = (fields) => messages.create(domain, fields);

    common(send);

    it("sends buffers and text as files", async () => {
      const to = recipient();
      const files = [
        { filename: "Rechnung März.pdf", data: bytes },
        { filename: "empty.bin", data: Buffer.alloc(0) },
        { filename: "ü.txt", data: "Grüße" },
      ];
      await send({ from, to, subject: "x", text: "x", attachment: files });
      checkFiles(
        await delivered(to),
        files.map((file) => [file.filename, file.data]),
      );
    });

    it("sends an inline image", async () => {
      const to = recipient();
      await send({
        from,
        to,
        subject: "x",
        html: '<img src="cid:logo.png">',
        inline: { filename: "logo.png", data: Buffer.from([1, 2, 3]) },
        attachment: [{ filename: "a.bin", data: bytes }],
      });
      const mail = await delivered(to);
      checkFiles(mail, [
        ["logo.png", [1, 2, 3]],
        ["a.bin", bytes],
      ]);
      const inline = mail.attachments.find((a) => a.filename === "logo.png");
      assert.equal(inline.contentId, "<logo.png>");
      assert.equal(inline.disposition, "inline");
    });

    it("sends a finished message", async () => {
      const makes = [Buffer.from];
      if (Form === FormData) makes.push((text) => new Blob([text]));
      for (const make of makes) {
        const to = recipient();
        const message = make(finished(to));
        await checkFinished(await send({ to, message, ...added }), to);
      }
    });

    if (Form === NodeFormData) {
      it("sends streams", async () => {
        const to = recipient();
        await send({
          from,
          to,
          subject: "x",
          text: "x",
          attachment: [
            { filename: "on disk.bin", data: createReadStream(path) },
            {
              filename: "stream.bin",
              data: Readable.from([bytes.subarray(0, 7), bytes.subarray(7)]),
              knownLength: bytes.length,
            },
          ],
        });
        checkFiles(await delivered(to), [
          ["on disk.bin", bytes],
          ["stream.bin", bytes],
        ]);
      });
    }

    it("explains what is wrong", async () => {
      const good = { from, to: "a@dst.test", subject: "x", text: "x" };
      const wrong = async (fields, status, details, sender = messages) =>
        assert.rejects(
          sender.create(fields.domain ?? domain, fields),
          (error) => {
            assert.equal(error.status, status);
            assert.match(`${error.details} ${error.message}`, details);
            return true;
          },
        );
      await wrong(good, 401, /Forbidden/, client("ps_wrong").messages);
      await wrong(
        { ...good, to: "nonsense" },
        400,
        /to parameter is not a valid/,
      );
      await wrong(
        { ...good, from: "a@b.test" },
        400,
        /from domain b\.test does not/,
      );
      await wrong(
        { ...good, domain: "b.test" },
        404,
        /Domain not found: b\.test/,
      );
      await wrong({ ...good, template: "t" }, 400, /not supported yet/);
      // A string is what the package does not send as a file.
      const message = finished("a@dst.test");
      await wrong(
        { to: "a@dst.test", message },
        400,
        /'message' .* not a file/,
      );
    });
  });
}

describe("mailgun-js 0.22", () => {
  const { hostname, port } = new URL(url);
  const client = (apiKey) =>
    mailgunJs({ apiKey, domain, host: hostname, port, protocol: "http:" });
  const mailgun = client(key);
  const send = (fields) => mailgun.messages().send(fields);

  common(send);

  it("sends buffers, streams and paths as files", async () => {
    const to = recipient();
    await send({
      from,
      to,
      subject: "x",
      text: "x",
      attachment: [
        new mailgun.Attachment({ data: bytes, filename: "Rechnung März.pdf" }),
        new mailgun.Attachment({ data: path, filename: "renamed.bin" }),
        new mailgun.Attachment({
          data: createReadStream(path),
          filename: "stream.bin",
          knownLength: bytes.length,
          contentType: "application/x-test",
        }),
        path,
        createReadStream(path),
        bytes,
      ],
    });
    const mail = await delivered(to);
    checkFiles(mail, [
      ["Rechnung März.pdf", bytes],
      ["renamed.bin", bytes],
      ["stream.bin", bytes],
      ["on disk.bin", bytes],
      ["on disk.bin", bytes],
      ["file", bytes],
    ]);
    const stream = mail.attachments.find((a) => a.filename === "stream.bin");
    assert.equal(stream.mimeType, "application/x-test");
  });

  it("sends an inline image", async () => {
    const to = recipient();
    await send({
      from,
      to,
      subject: "x",
      html: '<img src="cid:logo.png">',
      inline: new mailgun.Attachment({
        data: Buffer.from([1, 2, 3]),
        filename: "logo.png",
      }),
    });
    const [attachment] = (await delivered(to)).attachments;
    assert.equal(attachment.contentId, "<logo.png>");
    assert.equal(attachment.disposition, "inline");
    assert.deepEqual([...new Uint8Array(attachment.content)], [1, 2, 3]);
  });

  it("sends a finished message", async () => {
    const to = recipient();
    const message = finished(to);
    await checkFinished(
      await mailgun.messages().sendMime({ to, message, ...added }),
      to,
    );
  });

  it("explains what is wrong", async () => {
    const good = { from, to: "a@dst.test", subject: "x", text: "x" };
    const wrong = async (fields, statusCode, message, sender = mailgun) =>
      assert.rejects(sender.messages().send(fields), { statusCode, message });
    await wrong(good, 401, /Forbidden/, client("ps_wrong"));
    await wrong(
      { ...good, to: "nonsense" },
      400,
      /to parameter is not a valid/,
    );
    await wrong(
      { ...good, from: "a@b.test" },
      400,
      /from domain b\.test does not/,
    );
    await wrong({ ...good, text: "" }, 400, /Need at least one of/);
  });
});

// The log moves while it is read: emails go out one after the other, and what
// becomes of them is recorded in between.
describe("events", () => {
  const COUNT = 60;
  const client = new Mailgun(FormData).client({
    username: "api",
    key,
    url,
  });
  client.events.logger = { warn() {} }; // that Mailgun has something newer
  const tag = `moving-${randomUUID()}`;
  const begin = Date.now() / 1000;
  const sent = new Map(); // by Message-ID without brackets
  const event = "delivered OR failed";
  let sending;

  before(() => {
    sending = (async () => {
      for (let n = 0; n < COUNT; n++) {
        const to = recipient();
        const { id } = await client.messages.create(domain, {
          from,
          to,
          subject: `No. ${n}`,
          text: "x",
          "o:tag": [tag],
          "v:email-id": `${n}`,
        });
        sent.set(id.slice(1, -1), { to, n });
      }
    })();
  });

  // An attempt that failed, as on a busy host, comes before the one that did not.
  const deliveries = (seen) => seen.filter((item) => item.event === "delivered");

  // Reads, from where it was, until all deliveries have been seen; it fails when
  // there is nothing new for long, however long all of it takes.
  async function readAll(seen, read) {
    for (let end = Date.now() + 60_000; Date.now() < end; ) {
      const before = seen().length;
      await read();
      if (deliveries(seen()).length >= COUNT) break;
      if (seen().length > before) end = Date.now() + 60_000;
      else await new Promise((done) => setTimeout(done, 20));
    }
    await sending;
    check(seen());
  }

  function check(seen) {
    assert.equal(new Set(seen.map((item) => item.id)).size, seen.length);
    const all = deliveries(seen);
    assert.equal(all.length, COUNT);
    assert.equal(new Set(all.map((item) => item.recipient)).size, COUNT);
    for (const item of seen) {
      const { to, n } = sent.get(item.message.headers["message-id"]);
      assert.equal(item.recipient, to);
      assert.equal(item["user-variables"]["email-id"], `${n}`);
      assert.deepEqual(item.tags, [tag]);
      if (item.event === "delivered")
        assert.equal(item["delivery-status"].code, 250);
      else assert.equal(item.severity, "temporary");
    }
  }

  // As Ghost does: a range of time, page by page until one is empty; the next
  // round begins with the last event's time, which may bring events again.
  const byTime = async () => {
    const seen = new Map();
    let from = begin;
    await readAll(
      () => [...seen.values()],
      async () => {
        const query = {
          limit: 7,
          event,
          tags: tag,
          begin: from,
          ascending: "yes",
        };
        let page = await client.events.get(domain, query);
        while (page.items.length) {
          for (const item of page.items) seen.set(item.id, item);
          from = page.items.at(-1).timestamp;
          page = await client.events.get(domain, {
            page: page.pages.next.page,
            ...query,
          });
        }
      },
    );
  };

  // Where `next` leads, also from an empty page.
  const byPage = async () => {
    const seen = [];
    const query = { limit: 3, event, tags: tag, ascending: "yes" };
    let page = await client.events.get(domain, query);
    await readAll(
      () => seen,
      async () => {
        seen.push(...page.items);
        page = await client.events.get(domain, { page: page.pages.next.page });
      },
    );
  };

  it("tell of what was scheduled, and then canceled", async () => {
    const to = recipient();
    const { id } = await client.messages.create(domain, {
      from,
      to,
      text: "x",
      "o:deliverytime": new Date(Date.now() + 3600_000).toUTCString(),
    });
    const about = { recipient: to, ascending: "yes" };
    assert.deepEqual((await client.events.get(domain, about)).items, []);
    const [, uuid] = id.match(/^<([0-9a-f-]{36})@/);
    const answer = await fetch(`${url}/emails/${uuid}/cancel`, {
      method: "POST",
      headers: { Authorization: `Bearer ${key}` },
    });
    assert.equal(answer.status, 200);
    const { items } = await client.events.get(domain, about);
    assert.deepEqual(
      items.map((item) => [item.event, item.reject.reason]),
      [["rejected", "canceled"]],
    );
    assert.equal(items[0].message.headers["message-id"], id.slice(1, -1));
  });

  it("are read once each while they come", async () => {
    await Promise.all([byTime(), byPage()]);
  });

  it("are read from the newest back by mailgun-js", async () => {
    const { hostname, port } = new URL(url);
    const old = mailgunJs({
      apiKey: key,
      domain,
      host: hostname,
      port,
      protocol: "http:",
    });
    const seen = [];
    let page = await old.events().get({ limit: 25, event, tags: tag });
    while (page.items.length) {
      seen.push(...page.items);
      page = await old.get(new URL(page.paging.next).pathname.slice(3));
    }
    check(seen);
    const times = seen.map((item) => item.timestamp);
    assert.deepEqual(
      times,
      [...times].sort((a, b) => b - a),
    );
  });

  it("are counted", async () => {
    for (const stats of [
      await client.stats.getDomain(domain, { event: ["delivered", "failed"] }),
      await client.stats.getAccount({ event: ["delivered"], duration: "1d" }),
    ]) {
      assert.ok(stats.start instanceof Date && stats.start <= new Date());
      assert.equal(stats.resolution, "day");
      assert.ok(stats.stats.at(-1).time instanceof Date);
      const total = stats.stats.reduce((n, day) => n + day.delivered.total, 0);
      assert.ok(total >= COUNT);
    }
  });
});

// The domains that a program manages by itself: asked for, looked at, removed.
describe("domains", () => {
  const { domains } = new Mailgun(FormData).client({
    username: "api",
    key,
    url,
  });
  const { hostname, port } = new URL(url);
  const old = mailgunJs({
    apiKey: key,
    domain,
    host: hostname,
    port,
    protocol: "http:",
  });
  const newName = () => `${randomUUID()}.example`;

  it("are asked for, read, verified, listed and removed", async () => {
    const name = newName();
    const made = await domains.create({
      name,
      spam_action: "disabled",
      wildcard: false,
    });
    assert.equal(made.name, name);
    assert.equal(made.state, "unverified");
    assert.ok(Math.abs(made.created_at - Date.now()) < 3_600_000);
    assert.deepEqual(
      made.sending_dns_records.map((record) => record.purpose),
      ["SPF", "DMARC"],
    );
    assert.deepEqual(made.receiving_dns_records, []);

    const again = await domains.get(name);
    assert.deepEqual(again, made);
    assert.equal((await domains.get(name, { with_dns: true })).id, made.id);
    // There is no DNS here that says anything of it.
    const looked = await domains.verify(name).catch((error) => error);
    if (looked instanceof Error) assert.equal(looked.status, 503);
    else assert.equal(looked.state, "unverified");

    const [listed] = await domains.list({ search: name.slice(0, 36) });
    assert.equal(listed.id, made.id);
    assert.deepEqual(await domains.list({ state: "active", search: name }), []);
    const all = await domains.list();
    assert.deepEqual(await domains.list({ limit: 1 }), all.slice(0, 1));
    assert.deepEqual(await domains.list({ limit: 1, skip: 1 }), all.slice(1, 2));

    assert.deepEqual(await domains.destroy(name), {
      message: "Domain has been deleted",
    });
    await assert.rejects(domains.get(name), { status: 404 });
    await assert.rejects(domains.destroy(name), { status: 404 });
  });

  it("are told what is wrong", async () => {
    const wrong = async (fields, details) =>
      assert.rejects(domains.create(fields), (error) => {
        assert.equal(error.status, 400);
        assert.match(error.details, details);
        return true;
      });
    await wrong({ wildcard: false }, /name parameter is missing/);
    await wrong({ name: "not a name" }, /domain/);
    await wrong(
      { name: newName(), wildcard: true },
      /'wildcard' parameter can only be 'false' here/,
    );
    await wrong({ name: domain }, /exists|already|registered|has/);
  });

  it("are managed by mailgun-js", async () => {
    const name = newName();
    const made = await old.post("/domains", { name });
    assert.equal(made.message, "Domain has been created");
    assert.equal((await old.get(`/domains/${name}`)).domain.id, made.domain.id);
    const { total_count, items } = await old.get("/domains", { limit: 2 });
    assert.ok(total_count >= 2 && items.length === 2);
    assert.equal(items[0].name, name);
    await old.delete(`/domains/${name}`);
    await assert.rejects(old.get(`/domains/${name}`), { statusCode: 404 });
  });
});
