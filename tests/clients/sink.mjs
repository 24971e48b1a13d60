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

async function whole(name) {
  const path = `${folder}/${name}`;
  const data = await readFile(path, "latin1");
  return data.endsWith("\n\n") ? data : null; // smtp-sink is done with it
}

// The messages to the recipient that there are by now.
export async function deliveries(to) {
  const found = [];
  for (const name of await readdir(folder)) {
    const data = await whole(name);
    if (data?.includes(`X-Rcpt-Args: <${to}>`))
      found.push(Buffer.from(data, "latin1"));
  }
  return found;
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
