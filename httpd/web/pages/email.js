// One email: its content, and the delivery status of each recipient.

import { get, path, post } from "../api.js";
import { button, code, copyButton, danger, definitions, el, go, header, help, link, notice, number, place, remark, section, tabs, time, withTimes } from "../elements.js";
import { confirm, dialog } from "../forms.js";
import { table } from "../lists.js";
import { subscribe } from "../live.js";
import { listed, stateOf, statusBadge } from "./emails.js";
import { release } from "./suppressions.js";
import { suppressionReasons, textOf, toneOfStatus } from "../labels.js";
import { keyPick, matches } from "../tenant.js";

export const title = "Email";

// A time, a line of text, and the reply of the other server.
function moment(at, tone, words, ...said) {
  return el(
    `li.tone-${tone}`,
    at ? time(at, { exact: true }) : el("span.number.muted", "next"),
    el("div", el("p", words), said),
  );
}

function saidBy(event) {
  if (!event.message && !event.dsn) return null;
  const names = event.remote && event.remote !== "none" && !event.message?.startsWith("host ");
  return el("p.said", names && el("span.muted", event.remote, ": "), event.message,
    event.dsn && el("span.dsn", { title: "Enhanced status code (RFC 3463)" }, event.dsn));
}

const deliveryWords = [
  "recipient", "sent", "delivered", "deferred", "handed on", "bounced", "expired", "complained", "suppressed", "discarded", "removed", "unknown",
];

// Consecutive deferred attempts with the same reply are one line, with the last time.
function joined(events) {
  const lines = [];
  for (const event of events) {
    const last = lines.at(-1);
    if (event.kind === "deferred" && ["kind", "message", "address"].every((name) => last?.event[name] === event[name])) {
      last.n++;
      last.event = event;
    } else {
      lines.push({ event, first: event, n: 1 });
    }
  }
  return lines;
}

function eventLine({ event, first, n }) {
  const words = [event.kind_text];
  if (event.address) words.push(`, as ${event.address}`);
  if (n > 1) words.push(`, ${n} attempts since `, time(first.occurred_at));
  else if (event.attempt > 1) words.push(`, attempt ${event.attempt}`);
  if (event.source === "queue") words.push(" (seen in the queue)");
  return moment(event.occurred_at, toneOfStatus(event.kind) ?? "none", words, saidBy(event));
}

// If a field has more addresses than FOLDED_FROM, only the first FOLDED_TO are shown.
const FOLDED_FROM = 8;
const FOLDED_TO = 5;

// The events before the first attempt for any recipient.
function beginning(email) {
  const lines = [moment(email.created_at, "none", `received over ${email.via.toUpperCase()}`)];
  if (email.state === "scheduled") lines.push(moment(email.scheduled_at, "next", "scheduled"));
  else if (email.state === "canceled") lines.push(moment(email.decided_at, "none", "canceled before it was sent"));
  else if (email.state === "failed")
    lines.push(moment(email.decided_at, "bad", "not handed to Postfix", el("p.said", email.refusal)));
  else if (email.state === "refused")
    lines.push(moment(email.decided_at, "bad", "refused by the rules", el("p.said", email.refusal)));
  else if (email.is_test) lines.push(moment(email.decided_at, "none", "recorded as a test email that is not delivered"));
  else if (email.state === "sent")
    lines.push(moment(email.decided_at, "none", ["accepted by the rules, as ", el("span.id", email.queue_id), ` in Postfix's queue${email.host ? ` on ${email.host}` : ""}`]));
  return lines;
}

function queueMessageLines(email) {
  return email.queue_messages
    .filter((message) => message.how !== "milter")
    .map((message) => moment(message.since_at, "none", [message.how_text, ", as ", el("span.id", message.queue_id), " in Postfix's queue"]));
}

// Why and since when a recipient is suppressed, and how to change that.
function whySuppressed(recipient, mayChange, changed) {
  const entry = recipient.suppression;
  if (entry === undefined) return null;
  if (entry === null)
    return moment(null, "next", "The address is no longer suppressed. Send the email again if it is still needed.");
  return el(
    "li.tone-bad",
    el("span.number.muted", "why"),
    el(
      "div",
      el("p", `suppressed: ${suppressionReasons[entry.reason].text}, since `, time(entry.created_at, { exact: true }), entry.domain && `, only for ${entry.domain}`),
      entry.text && el("p.said", entry.text),
      el("p.actions", link("Show in the list", "suppressions", { search: entry.address }),
        entry.email_id && link("The email that caused it", "emails", entry.email_id),
        mayChange && button("Send to this address again", () => release(entry, changed))),
    ),
  );
}

const linesOf = (email, { address }) => joined(email.events.filter((event) => event.recipient === address && event.kind !== "accepted"));

function timeline(recipient, happened, why) {
  const lines = [...happened.map(eventLine), why(recipient)].filter(Boolean);
  if (recipient.next)
    lines.push(moment(null, "next", withTimes(recipient.next), recipient.gives_up_at && el("p.muted", "Next attempt ", time(recipient.next_attempt_at),
      ", given up ", time(recipient.gives_up_at), ".")));
  return lines;
}

// Recipients that need attention come first.
const urgency = { bad: 0, warn: 1, none: 2, good: 3 };
const rank = (recipient) => urgency[toneOfStatus(recipient.status) ?? "none"];

// All recipients, each with its timeline; many of them in pages, with a search.
const MANY = 10;
function recipientList(why) {
  let all = [];
  const search = el("input.form-control.form-control-sm", {
    type: "search", "aria-label": "Find a recipient", placeholder: "Find a recipient", oninput: draw, hidden: true,
  });
  const grid = table({
    caption: "Recipients",
    noun: "recipient",
    key: ({ recipient }) => `${recipient.kind} ${recipient.address}`,
    exported: ({ recipient: { address, kind, status }, lines }) => ({ address, kind, status, answer: lines.at(-1)?.event.message }),
    columns: [{ title: "Recipient", kind: "main", cell: ({ recipient, lines, isOpen }) =>
      el("details.recipient", { open: isOpen, "data-address": recipient.address },
        el("summary", el("span.address", recipient.address), recipient.kind !== "to" && el("span.muted", recipient.kind), statusBadge(recipient)),
        el("ol.timeline", timeline(recipient, lines, why))) }],
    empty: el("p.muted", "No recipient matches."),
  });
  function draw() {
    grid.set(all.filter(({ recipient: { address, status, status_text } }) => matches(search.value, address, textOf(status), status_text)));
  }
  return {
    element: el("div.recipients", search, grid.element),
    set(email, recipients) {
      search.hidden = recipients.length <= MANY;
      grid.element.classList.toggle("few", recipients.length <= MANY);
      all = recipients.map((recipient) => ({
        recipient,
        lines: linesOf(email, recipient),
        isOpen: recipients.length < 4 || toneOfStatus(recipient.status) !== "good",
      }));
      draw();
    },
  };
}

function story(email, several, why) {
  const recipients = [...email.recipients].sort((a, b) => rank(a) - rank(b));
  const first = [...beginning(email), ...queueMessageLines(email)];
  if (email.state !== "sent" || email.is_test || recipients.length === 0) return el("ol.timeline", first);
  if (recipients.length === 1) return el("ol.timeline", first, timeline(recipients[0], linesOf(email, recipients[0]), why));
  several.set(email, recipients);
  return [el("ol.timeline", first), several.element];
}

function summary(email, key) {
  const several = (name) => {
    const lines = (email[name] ?? []).map((one) => el("div.address", one));
    if (lines.length <= FOLDED_FROM) return lines.length ? lines : null;
    const rest = lines.splice(FOLDED_TO);
    return [lines, el("details", { "data-address": name }, el("summary", `${number(rest.length)} more`), rest)];
  };
  const withCopy = (text) => text && el("span.with-copy", el("span.id", text), copyButton(text, { title: `Copy ${text}` }));
  return el(
    "div.two",
    definitions([
      ["From", el("span.address", email.from)],
      ["To", several("to")],
      ["Cc", several("cc")],
      ["Bcc", several("bcc")],
      ["Received", time(email.created_at, { exact: true })],
      ["Scheduled for", email.scheduled_at && time(email.scheduled_at, { exact: true })],
      ["Tags", email.tags?.length ? email.tags.map((tag) => `${tag.name}: ${tag.value}`).join(", ") : null],
    ]),
    definitions([
      ["State", stateOf(email)],
      ["Domain", link(email.domain, "emails", { domain: email.domain })],
      ["Key", link(key ? key.name || "without a name" : "a removed key", "emails", { key_id: email.key_id })],
      ["Id", withCopy(email.id)],
      [["Queue id ", help("queue id")], withCopy(email.queue_id)],
      ["Host", email.host],
      [["Message-ID ", help("Message-ID")], withCopy(email.message_id)],
    ]),
  );
}

function content(email) {
  const views = [];
  if (email.html)
    views.push(["HTML", () =>
      el("div",
        el("iframe.mail-frame", { sandbox: "", src: path`/admin/emails/${email.id}/html`, title: "The email's HTML, without scripts and remote content" }),
        el("p.muted", "Scripts, links and remote images are off. Attached images are not kept."))]);
  if (email.text || !email.html)
    views.push(["Text", () => (email.text ? el("pre.mail-text", { tabindex: 0 }, email.text) : el("p.muted", "There is no text, or it is no longer kept."))]);
  views.push(["Header", () => definitions(email.header.map(({ name, value }) => [name, value]))]);
  views.push(["Message", async () => {
    const raw = await get(path`/admin/emails/${email.id}/raw`);
    const isRebuilt = /^Comments: rebuilt from what Postern/m.test(raw.split("\n\n")[0]);
    return el("div",
      el("p.muted", isRebuilt
        ? "Rebuilt from what Postern keeps: without attachments and header fields that the client added. "
        : "Exactly as it was handed to Postfix. ",
        el("a", { href: path`/admin/emails/${email.id}/raw` + "?download=true", download: `${email.id}.eml` }, "Save as a file")),
      code(raw, { label: "message/rfc822" }));
  }]);
  return section("Content", tabs(views, "The email's content"));
}

export async function show(main, { id, session }) {
  const first = await get(path`/admin/emails/${id}`);
  // A removed key has no name.
  const key = await get(path`/admin/keys/${first.key_id}`).catch(() => null);
  const people = [...first.to, ...(first.cc ?? []), ...(first.bcc ?? [])];
  const head = el("div");
  const what = el("div");
  const waits = (email) => session.owner && ["scheduled", "queued"].includes(email.state);
  const stop = danger("Cancel the email", () =>
    confirm("Cancel this email?", "It will not be sent. That cannot be undone.", "Cancel the email", async () => {
      await post(path`/admin/emails/${id}/cancel`);
      notice("The email is canceled.");
    }, async () => draw(await get(path`/admin/emails/${id}`)), "Keep it"),
  );
  // A waiting email goes out by itself, and one whose content is no longer kept cannot be sent
  // again.
  const mayResend = (email) => session.owner && email.message_size !== null && !email.is_test && !waits(email);
  // The email's own key may be gone, or not allowed to send any more: then another key is used.
  const maySend = (one) =>
    one && !one.revoked_at && one.scopes.includes("sending") && (!one.domain || one.domain === first.domain);
  const again = button("Send again", async () => {
    const ofIts = { company_id: first.company_id };
    const keys = maySend(key) ? { data: [] } : await get("/admin/keys", { valid: true, ...ofIts });
    const others = keys.data.filter(maySend);
    return dialog({
      title: "Send this email again?",
      text: "A copy is sent now, as a new email; the current rules apply. Recipients who already have the email get it twice.",
      fields: [
        {
          name: "to",
          label: "To",
          help: "Addresses, separated by commas. Leave empty to send to the same " +
            (people.length > 1 ? `${number(people.length)} recipients.` : "recipient."),
        },
        others.length > 0 && {
          name: "key_id",
          label: "Key",
          ...(keys.has_more
            ? { ...keyPick, of: undefined, find: (words) => keyPick.find(words, ofIts) }
            : { type: "select", options: others.map((one) => ({ value: one.id, text: one.name || "without a name" })) }),
          help: "The key to send it with, since its own key may no longer send.",
        },
      ].filter(Boolean),
      submit: "Send again",
      run: (values) => post(path`/admin/emails/${id}/resend`, values),
      done: (made) => {
        notice("The copy is on its way.");
        go("emails", made.id);
      },
    });
  });
  let said = "";
  const why = (recipient) => whySuppressed(recipient, session.owner, async () => draw(await get(path`/admin/emails/${id}`)));

  const several = recipientList(why);

  function draw(email) {
    const now = JSON.stringify(email);
    if (now === said) return;
    said = now;
    stop.hidden = !waits(email);
    again.hidden = !mayResend(email);
    const details = () => [head, what].flatMap((part) => [...part.querySelectorAll("details")]);
    const closed = new Map(details().map((one) => [one.dataset.address, one.open]));
    const tone = { delivered: "good", bounced: "bad", failed: "bad", complained: "bad", suppressed: "bad", delivery_delayed: "warn" }[email.last_event];
    head.replaceChildren(remark(email.state === "queued" ? "warn" : tone ?? "none", el("strong", withTimes(email.answer))), summary(email, key));
    what.replaceChildren(section("Delivery", { words: deliveryWords }, story(email, several, why)));
    // Parts that the user has opened or closed stay as they are.
    for (const one of details())
      if (closed.has(one.dataset.address)) one.open = closed.get(one.dataset.address);
  }

  draw(first);
  main.append(
    header(first.subject || "(no subject)", {
      back: { href: listed, text: "Emails" },
      actions: [
        stop,
        again,
        copyButton(location.href, { label: "Copy link" }),
        people.length === 1 &&
          button("Emails to the same address", () => {
            location.hash = place("emails", { q: people[0] });
          }),
      ],
    }),
    head,
    what,
    content(first),
  );
  // For a waiting email the server asks Postfix.
  let isOpen = first.is_open;
  return subscribe(["emails"], async () => {
    if (!isOpen) return;
    const email = await get(path`/admin/emails/${id}`);
    isOpen = email.is_open;
    draw(email);
  }, 4000);
}
