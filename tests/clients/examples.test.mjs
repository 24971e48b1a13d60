// What the dashboard shows with a new key, pasted as it is: each sends an email.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, before, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { delivered } from "./sink.mjs";

// To Node.js 18 a file named .js is no module when no package.json says so.
const module = await readFile(new URL("../../httpd/web/examples.js", import.meta.url));
const { examples } = await import(`data:text/javascript;base64,${module.toString("base64")}`);

const here = dirname(fileURLToPath(import.meta.url));
const run = promisify(execFile);
const key = {
  url: process.env.POSTERN_URL,
  token: process.env.POSTERN_KEY,
  domain: "example.com",
  scopes: ["sending", "reading"],
};
let folder;

// Below the packages that the programs import.
before(async () => (folder = await mkdtemp(join(here, "example-"))));
after(() => rm(folder, { recursive: true }));

// Runs what is to be pasted; where it needs a program, as that.
async function paste(parts, to) {
  const [name, text] = parts.at(-1);
  const env = { ...process.env };
  for (const [label, lines] of parts.slice(0, -1)) {
    assert.equal(label, "Environment");
    for (const line of lines.split("\n")) env[line.split("=")[0]] = line.replace(/^.*?=/, "");
  }
  const file = join(folder, "example.mjs");
  const program = text.replaceAll("you@example.net", to);
  await writeFile(file, program);
  if (name === "In a shell") return run("sh", [file], { env });
  const python = /^import \w+ +#/.test(program);
  return run(python ? "/usr/bin/python3" : "node", [file], { env });
}

// Ghost's are settings; the Python library for Resend is not in Debian.
const others = ["Ghost", "Resend, Python", "SMTP"];

for (const [client, parts] of examples(key)) {
  if (others.includes(client)) continue;
  it(`sends by ${client}`, async () => {
    const to = `${randomUUID()}@dst.test`;
    await paste(parts, to);
    const mail = await delivered(to);
    assert.equal(mail.subject, "Hello");
    assert.match(mail.text, /It works\./);
  });
}

it("reads, with a key that may not send", async () => {
  const [[client, parts], ...rest] = examples({ ...key, scopes: ["reading"] });
  assert.equal(client, "curl");
  assert.deepEqual(rest, []);
  const { stdout } = await paste(parts, "nobody@dst.test");
  assert.equal(JSON.parse(stdout).object, "list");
});

it("sends over SMTP, where programs log in", async () => {
  const [host, port] = process.env.POSTERN_SMTP.split(":");
  const all = examples({ ...key, smtp: { host, port, user: "postern", security: "starttls" } });
  const [, parts] = all.find(([client]) => client === "SMTP");
  assert.match(parts[0][1], new RegExp(`Host: ${host}\nPort: ${port}\nSecurity: STARTTLS\nUser: postern\nPassword: ${key.token}`));
  const to = `${randomUUID()}@dst.test`;
  await paste(parts.slice(1), to);
  const mail = await delivered(to);
  assert.equal(mail.subject, "Hello");
  assert.match(mail.text, /It works\./);
});

it("gives Ghost what it can read", () => {
  const [, [[, text]]] = examples(key).find(([client]) => client === "Ghost");
  const { baseUrl, apiKey, domain } = JSON.parse(`{${text}}`).bulkEmail.mailgun;
  assert.deepEqual([baseUrl, apiKey, domain], [`${key.url}/v3`, key.token, key.domain]);
});
