// The peer of the benchmarks: what a developer would write in an afternoon to
// send email over HTTP, with express, nodemailer's pooled SMTP transport, multer
// and better-sqlite3. It keeps no record, checks one fixed key, and has no
// tenants: it does less than Postern does for the same request.
//
// usage: node peer.mjs PORT SMTP_PORT KEY [DATABASE]
import express from "express";
import multer from "multer";
import nodemailer from "nodemailer";
import { randomUUID } from "node:crypto";

const [port, smtpPort, key, database] = process.argv.slice(2);
const LIMIT = 64 * 1024 * 1024;

const transport = nodemailer.createTransport({
  host: "127.0.0.1",
  port: Number(smtpPort),
  pool: true,
  maxConnections: Number(process.env.PEER_POOL ?? 16),
  maxMessages: Infinity,
  ignoreTLS: true,
});

const app = express();
app.disable("x-powered-by");

app.use((request, response, next) => {
  const basic = Buffer.from(`api:${key}`).toString("base64");
  const given = request.get("authorization");
  if (given === `Bearer ${key}` || given === `Basic ${basic}`) return next();
  response.status(401).json({ name: "invalid_api_key" });
});

const send = async (response, email) => {
  const { messageId } = await transport.sendMail(email);
  response.json({ id: randomUUID(), messageId });
};

app.post("/emails", express.json({ limit: LIMIT }), (request, response) => {
  const { from, to, subject, text, html, attachments = [] } = request.body;
  const files = attachments.map(({ filename, content, content_type }) => ({
    filename,
    content,
    encoding: "base64",
    contentType: content_type,
  }));
  return send(response, { from, to, subject, text, html, attachments: files });
});

const files = multer({ limits: { fileSize: LIMIT } });

app.post("/v3/:domain/messages", files.array("attachment"), (request, response) => {
  const { from, to, subject, text, html } = request.body;
  const attachments = request.files.map((file) => ({
    filename: file.originalname,
    content: file.buffer,
    contentType: file.mimetype,
  }));
  return send(response, { from, to, subject, text, html, attachments });
});

if (database) {
  const { default: Database } = await import("better-sqlite3");
  const query = new Database(database, { readonly: true }).prepare(
    `SELECT e.id, e.header_from AS "from", e.header_to AS "to",
       e.header_cc AS cc, e.bcc, e.reply_to, e.subject, c.html, c.text,
       e.created_us, e.last_event
     FROM email e JOIN email_content c ON c.seq = e.seq
     WHERE e.id = ? AND e.state = 'sent'`,
  );
  const list = (text) => (text ? text.split("\n") : []);

  app.get("/emails/:id", (request, response) => {
    const row = query.get(request.params.id);
    if (!row) return response.status(404).json({ name: "not_found" });
    const { created_us, ...rest } = row;
    response.json({
      object: "email",
      ...rest,
      to: list(row.to),
      cc: list(row.cc),
      bcc: list(row.bcc),
      reply_to: row.reply_to ? list(row.reply_to) : null,
      created_at: new Date(created_us / 1000).toISOString(),
    });
  });
}

app.listen(Number(port), "127.0.0.1", () => console.log("listening"));
