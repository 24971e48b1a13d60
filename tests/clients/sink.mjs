// The messages that Postfix delivered, from the sandbox's folder.

import { readFile, readdir } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import PostalMime from "postal-mime";

const folder = process.env.POSTERN_SINK;

// The envelope stands on top of the file as X-Mail-Args and X-Rcpt-Args.
async function parse(data) {
  const mail = await PostalMime.parse(data);
  const paths = (name) =>
    mail.headers
      .filter((h) => h.key === name)
      .map((h) => h.value.replace(/^<(.*?)>.*$/, "$1"));
  return {
    ...mail,
    sender: paths("x-mail-args")[0],
    recipients: paths("x-rcpt-args"),
    header: (name) =>
      mail.headers.find((h) => h.key === name.toLowerCase())?.value,
  };
}

// The files of each recipient. A file is read once: it does not change when smtp-sink is done with it.
const seen = new Set();
const files = new Map();

async function readNew() {
  for (const name of await readdir(folder)) {
    if (name.startsWith(".") || seen.has(name)) continue;
    const data = await readFile(`${folder}/${name}`, "latin1");
    // smtp-sink is not done with it, or another call has read it meanwhile.
    if (!data.endsWith("\n\n") || seen.has(name)) continue;
    const envelope = data.slice(0, data.search(/^(?!X-)/m));
    for (const [, to] of envelope.matchAll(/^X-Rcpt-Args: <(.*?)>/gm))
      files.set(to, [...(files.get(to) ?? []), name]);
    seen.add(name);
  }
}

// The messages to the recipient that there are by now.
export async function deliveries(to) {
  await readNew();
  return Promise.all((files.get(to) ?? []).map((name) => readFile(`${folder}/${name}`)));
}

// Waits for a message to the recipient.
export async function delivered(to) {
  for (let tries = 0; tries < 3000; tries++) {
    const [first] = await deliveries(to);
    if (first) return parse(first);
    await sleep(20);
  }
  throw new Error(`nothing was delivered to ${to}`);
}
