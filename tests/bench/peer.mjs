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
import { readFileSync } from "node:fs";

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
  const db = new Database(database, { readonly: true });
  const [email, recipients] = readFileSync(new URL("peer.sql", import.meta.url), "utf8")
    .split(";", 2)
    .map((sql) => db.prepare(sql));
  const list = (text) => (text ? text.split("\n") : []);

  app.get("/emails/:id", (request, response) => {
    const row = email.get(request.params.id);
    if (!row) return response.status(404).json({ name: "not_found" });
    const { seq, created_us, ...rest } = row;
    const all = recipients.all(seq);
    const of = (kind) => all.filter((r) => r.kind === kind).map((r) => r.mailbox);
    response.json({
      object: "email",
      ...rest,
      to: of("to"),
      cc: of("cc"),
      bcc: of("bcc"),
      reply_to: row.reply_to ? list(row.reply_to) : null,
      created_at: new Date(created_us / 1000).toISOString(),
    });
  });
}

app.listen(Number(port), "127.0.0.1", () => console.log("listening"));
