// nodemailer against the service with logins: a pool of sessions, attachments, fields for us.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { it } from "node:test";
import { createTransport } from "nodemailer";
import { delivered } from "./sink.mjs";

const [host, port] = process.env.POSTERN_SMTP.split(":");
const settings = { host, port: Number(port), secure: false, ignoreTLS: true };
const auth = (pass) => ({ user: "resend", pass });
const message = (to, more) => ({
  from: "Ann <ann@example.com>",
  to,
  subject: "Grüße",
  text: "It works.",
  html: "<p>It works.</p>",
  ...more,
});

it("sends, and the email can be read with what its fields say", async () => {
  const transport = createTransport({ ...settings, auth: auth(process.env.POSTERN_KEY) });
  const to = `${randomUUID()}@dst.test`;
  const sent = await transport.sendMail(
    message(to, {
      attachments: [{ filename: "a.txt", content: "attached" }],
      headers: { "X-Mailgun-Tag": "welcome", "X-Mailgun-Variables": '{"order":7}' },
    }),
  );
  assert.deepEqual(sent.accepted, [to]);
  const mail = await delivered(to);
  assert.equal(mail.attachments[0].filename, "a.txt");
  assert.equal(mail.header("X-Mailgun-Tag"), undefined);
  const headers = { Authorization: `Bearer ${process.env.POSTERN_KEY}` };
  const list = await (await fetch(`${process.env.POSTERN_URL}/emails`, { headers })).json();
  const { id } = list.data.find((one) => one.to.includes(to));
  const email = await (await fetch(`${process.env.POSTERN_URL}/emails/${id}`, { headers })).json();
  assert.deepEqual([email.subject, email.text.trim(), email.html], ["Grüße", "It works.", "<p>It works.</p>"]);
  assert.equal(email.message_id, sent.messageId);
  assert.deepEqual(email.tags, [{ name: "tag", value: "welcome" }]);
});

it("sends many over a pool of sessions", async () => {
  const transport = createTransport({ ...settings, pool: true, maxConnections: 3, auth: auth(process.env.POSTERN_SENDING_KEY) });
  const all = Array.from({ length: 20 }, () => `${randomUUID()}@dst.test`);
  await Promise.all(all.map((to) => transport.sendMail(message(to))));
  transport.close();
  for (const to of all) assert.equal((await delivered(to)).subject, "Grüße");
});

/** A port that nobody has. */
const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

it("sends by STARTTLS, and by TLS from the start", async (test) => {
  const [folder, config] = [mkdtempSync(`${tmpdir()}/postern.`), process.env.POSTFIX_CONFIG];
  test.after(() => rmSync(folder, { recursive: true }));
  const file = `${folder}/tls.pem`;
  execFileSync(
    "openssl",
    ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
      "subjectAltName=DNS:localhost", "-keyout", file, "-out", `${folder}/cert.pem`],
    { stdio: "pipe" },
  );
  const ca = readFileSync(`${folder}/cert.pem`);
  appendFileSync(file, ca);
  const master = readFileSync(`${config}/master.cf`, "utf8");
  const options = master.split(`${process.env.POSTERN_SMTP} `)[1].match(/^.*\n((?: .*\n)+)/)[1];
  const ports = [await freePort(), await freePort()];
  for (const [i, port] of ports.entries()) {
    const tls = [`smtpd_tls_chain_files=${file}`, "smtpd_tls_security_level=encrypt", `smtpd_tls_wrappermode=${i ? "yes" : "no"}`];
    appendFileSync(
      `${config}/master.cf`,
      `127.0.0.1:${port} inet n - y - - smtpd\n${options}${tls.map((one) => `  -o ${one}\n`).join("")}`,
    );
  }
  execFileSync("postfix", ["-c", config, "reload"], { stdio: "pipe" });
  for (const [i, port] of ports.entries()) {
    const to = `${randomUUID()}@dst.test`;
    const transport = createTransport({
      host: "localhost", port, secure: i === 1, requireTLS: true, tls: { ca }, auth: auth(process.env.POSTERN_SENDING_KEY),
    });
    for (let tries = 0; ; tries++)
      try {
        await transport.sendMail(message(to));
        break;
      } catch (error) {
        // Postfix reads the file in its own time.
        if (error.code !== "ESOCKET" || tries === 100) throw error;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    assert.equal((await delivered(to)).subject, "Grüße");
  }
});

it("is told why a login or a message is refused", async () => {
  const to = `${randomUUID()}@dst.test`;
  const wrong = createTransport({ ...settings, auth: auth("ps_wrong") });
  await assert.rejects(wrong.sendMail(message(to)), { responseCode: 535 });
  const right = createTransport({ ...settings, auth: auth(process.env.POSTERN_KEY) });
  await assert.rejects(right.sendMail(message(to, { from: "a@nobody.test" })), {
    responseCode: 550,
    response: /The nobody\.test domain is not verified/,
  });
});
