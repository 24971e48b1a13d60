// Emails: a search while the user types, with states that are updated.

import { get, post } from "../api.js";
import { badge, button, el, empty, go, header, link, notice, number, place, primary, time } from "../elements.js";
import { dialog, filters } from "../forms.js";
import { list } from "../lists.js";
import { emailStates, textOf, toneOfStatus } from "../labels.js";
import { subscribe } from "../live.js";
import { companies, domainPick, keyPick, matches } from "../tenant.js";

export const title = "Emails";

// The address of the list with its filters, to which an email's page links back.
export let listed = "#/emails";

export function stateOf(email) {
  const state = email.state === "sent" ? email.last_event : email.state;
  return badge(state, emailStates[state]);
}

// When the list is searched by recipient, the status of that recipient. The text is a term of the
// glossary ("sent" while the recipient is in Postfix's queue); the title is the whole sentence.
export const statusBadge = ({ status, status_text }) =>
  badge(status, { text: textOf(status === "queued" ? "sent" : status), tone: toneOfStatus(status), title: status_text });

const NAMED_MAX = 20;
function recipientsOf(email) {
  if (email.recipient) return el("span.address", { title: email.recipient.address }, email.recipient.address);
  const all = [...email.to, ...(email.cc ?? []), ...(email.bcc ?? [])];
  return el("span.address", { title: all.slice(0, NAMED_MAX).join(", ") + (all.length > NAMED_MAX ? " …" : "") }, all[0] ?? "no recipient",
    all.length > 1 && el("span.muted", `\u00a0+${number(all.length - 1)}`));
}

// The address without the name, so that each row is one line; the name is in its title.
function senderOf(email) {
  return el("span.address", { title: email.from }, email.from.replace(/^.*<([^<>]+)>$/, "$1"));
}

function subjectOf({ subject, via }) {
  return el("span.said-short", { title: subject }, subject || el("span.muted", "(no subject)"),
    via === "smtp" && [" ", badge("smtp", { text: "SMTP", title: "Its program logged in over SMTP" })]);
}

export const emailColumns = [
  { title: "To", cell: recipientsOf },
  { title: "Subject", kind: "main", cell: subjectOf },
  { title: "From", kind: "extra", cell: senderOf },
  {
    title: "State",
    kind: "state",
    cell: (row) => (row.recipient && row.state === "sent" ? statusBadge(row.recipient) : stateOf(row)),
    words: ["scheduled", "queued", "sent", "delivered", "delayed", "bounced", "expired", "failed", "refused", "suppressed", "complained", "canceled", "stopped"],
  },
  { title: "When", kind: "time", cell: (email) => time(email.created_at) },
];
export const emailPlace = (email) => place("emails", email.id);

// Sends a test email with a key of a company, and opens its page.
export async function sendTest() {
  const [domains, keys] = await Promise.all([get("/admin/domains", { active: true, limit: 100 }), get("/admin/keys", { valid: true, limit: 100 })]);
  const active = domains.data;
  const able = keys.data.filter((key) => key.scopes.includes("sending"));
  const isWay = (key, domain) => domain.company_id === key.company_id && (!key.domain || key.domain === domain.name);
  const first = able.find((key) => active.some((domain) => isWay(key, domain)));
  if (!first && !domains.has_more && !keys.has_more) {
    return dialog({
      title: "Send a test email",
      text: active.length ? "First create a key that may send." : "First you need an active domain.",
      submit: active.length ? "Go to the keys" : "Go to the domains",
      run: () => go(active.length ? "keys" : "domains"),
    });
  }
  // The domain of the sender: that of the key, or one of its company.
  const keyOf = new Map(able.map((key) => [key.id, key]));
  const isAble = (key) => key.scopes.includes("sending") && keyOf.set(key.id, key);
  const domainsOf = ({ domain, company_id } = {}, search) =>
    domain
      ? { options: [{ value: domain, text: domain }].filter(({ text }) => matches(search, text)), isMore: false }
      : domainPick.find(search, { company_id }, { active: true });
  return dialog({
    title: "Send a test email",
    text: "It is sent like any other email: through the rules, the milter and Postfix.",
    fields: [
      { ...keyPick, find: (search, values) => keyPick.find(search, values, isAble), name: "key_id", label: "Key", required: true, value: first?.id },
      {
        ...domainPick,
        name: "domain",
        label: "Sender domain",
        required: true,
        value: first && active.find((one) => isWay(first, one)).name,
        of: ({ key_id }) => key_id ?? "",
        find: (search, { key_id }) => domainsOf(keyOf.get(key_id), search),
      },
      { name: "to", label: "To", type: "email", required: true, placeholder: "you@example.com", autocomplete: "email" },
      { name: "subject", label: "Subject", value: "A test of Postern" },
      { name: "text", label: "Text", type: "textarea", rows: 3, value: "This is a test email from Postern." },
    ],
    submit: "Send",
    run: async ({ key_id, domain, to, subject, text }) => {
      const sent = await post("/admin/emails/test", { key_id, from: domain && `test@${domain}`, to, subject, text });
      notice("Postfix has the email. This page shows its delivery.");
      go("emails", sent.id);
    },
  });
}

const foundBy = {
  id: "The email with this id.",
  message_id: "The email with this Message-ID.",
  queue_id: "The email with this Postfix queue id.",
  to: "Emails to this address.",
  text: "Emails with all of these words in the subject, the sender, a recipient or the Message-ID.",
};

// States of recipients: with such a filter each row is a recipient.
const ofRecipients = {
  delivered: "delivered", delivery_delayed: "deferred", handed_on: "handed_on", bounced: "bounced", expired: "expired",
  complained: "complained", suppressed: "suppressed", discarded: "discarded", removed: "removed", unknown: "unknown",
};

const PAGE = 50;

const periods = [
  { value: "", text: "Any time" },
  { value: "1h", text: "Last hour" },
  { value: "1d", text: "Last 24 hours" },
  { value: "7d", text: "Last 7 days" },
  { value: "30d", text: "Last 30 days" },
];
const stateOptions = [
  { value: "", text: "Any state" },
  { value: "scheduled", text: "Scheduled" },
  { value: "queued", text: "Queued" },
  { value: "sent", text: "Sent" },
  { value: "delivered", text: "Delivered" },
  { value: "delivery_delayed", text: "Delayed" },
  { value: "handed_on", text: "Handed on" },
  { value: "bounced", text: "Bounced" },
  { value: "expired", text: "Expired" },
  { value: "failed", text: "Failed" },
  { value: "canceled", text: "Canceled" },
  { value: "refused", text: "Refused" },
  { value: "stopped", text: "Stopped" },
  { value: "complained", text: "Complained" },
  { value: "suppressed", text: "Suppressed" },
  { value: "discarded", text: "Discarded" },
  { value: "removed", text: "Removed" },
  { value: "unknown", text: "Unknown" },
];

export async function show(main, { query, session }) {
  const known = await companies(session);
  const note = el("p.muted.list-note", { role: "status" });
  // A search that has found little yet continues by itself, until it has found this many rows, has
  // looked at all emails, or the user presses Stop.
  let isLooking, wanted, isWhole;
  const look = (rows = 0) => {
    isLooking = true;
    wanted = rows + PAGE;
  };
  const fresh = el("div.fresh-note", { hidden: true });
  const narrow = filters({
    query,
    fields: [
      { name: "q", label: "Search", type: "search", placeholder: "Subject, address, name or id" },
      { name: "status", label: "State", type: "select", options: stateOptions },
      ...known.filter(),
      { ...domainPick, name: "domain", label: "Domain", any: "Any domain" },
      { ...keyPick, name: "key_id", label: "Key", any: "Any key" },
      { name: "since", label: "When", type: "select", options: periods },
    ],
    change: () => {
      fresh.hidden = true;
      look();
      return emails.reload();
    },
  });
  const isNarrowed = () => Object.values(narrow.values()).some(Boolean);

  const stop = button("Stop", () => {
    isLooking = false;
    stop.remove();
  });
  // Shows how far a search is, and whether it continues.
  function loaded({ found_by, looked, unread_percent }, rows) {
    isWhole = !looked;
    isLooking &&= !isWhole && rows.length < wanted;
    const far = looked && [
      isLooking ? "Still looking: " : "Searched ",
      `${looked.percent} % of the emails, back to `, time(looked.until, { exact: true }), ". ",
      !isLooking && "Press Next to search further. ",
    ];
    const slow = looked && unread_percent > 0 &&
      `Older emails are still being indexed (${unread_percent} % to go). Until then searching is slower. `;
    note.replaceChildren(...[foundBy[found_by], " ", far, slow].flat().filter(Boolean), ...(isLooking ? [stop] : []));
    return isLooking;
  }

  async function load(after, limit) {
    if (/^#\/emails(\?|$)/.test(location.hash)) listed = location.hash;
    // The user pressed Next.
    if (after && !limit && !isLooking) look(emails.rows().length);
    const { status, company, ...rest } = narrow.values();
    const recipient_status = ofRecipients[status];
    const answer = await get("/admin/emails", { ...rest, company_id: company, recipient_status, status: recipient_status ? undefined : status, after, limit: limit ?? PAGE });
    return {
      ...answer,
      next: answer.next ?? (answer.has_more ? answer.data.at(-1).id : null),
      data: answer.data.flatMap((email) =>
        email.matched?.length ? email.matched.map((recipient) => ({ ...email, recipient })) : [email]),
    };
  }

  const emails = list({
    caption: title,
    noun: "email",
    load,
    key: (row) => (row.recipient ? `${row.id} ${row.recipient.address}` : row.id),
    loaded,
    columns: emailColumns,
    href: emailPlace,
    empty: () =>
      isNarrowed() && isLooking
        ? empty("Nothing found yet", "Still searching.")
        : isNarrowed() && !isWhole
        ? empty("Nothing found so far", "Press Next to search further.")
        : isNarrowed()
        ? empty("No email matches", "Try fewer words, or parts of words.", button("Show all emails", () => go("emails")))
        : empty(
            "No emails yet",
            "Emails that programs send appear here, with their delivery status.",
            session.owner && primary("Send a test email", sendTest),
            link("Create a key", "keys"),
          ),
  });

  emails.element.classList.add("compact");

  // New rows wait while the user reads, so that no line moves away under the pointer; states change
  // in place.
  const reads = () => scrollY > 60 || emails.element.matches(":hover, :focus-within");
  async function lookForNew() {
    const held = await emails.refresh({ hold: reads() });
    fresh.hidden = !held;
    fresh.replaceChildren(
      button(`Show ${number(held)} new ${held === 1 ? "email" : "emails"}`, async () => {
        await emails.refresh();
        fresh.hidden = true;
        scrollTo({ top: 0 });
      }),
    );
  }

  main.append(
    header(title, { actions: session.owner ? [primary("Send a test email", sendTest)] : [] }),
    narrow.element,
    note,
    fresh,
    emails.element,
  );
  look();
  await emails.reload();
  return subscribe(["emails"], lookForNew);
}
