// Emails: searched as one types, with their states as they change.

import { get, post } from "../api.js";
import { badge, button, dialog, el, empty, filters, go, header, link, list, notice, number, place, primary, time } from "../ui.js";
import { emailStates, toneOfStatus } from "../labels.js";
import { subscribe } from "../live.js";
import { companies, domainPick, keyPick } from "../tenant.js";

export const title = "Emails";

// Where the list was, with what it was narrowed to: an email leads back there.
export let listed = "#/emails";

export function stateOf(email) {
  const state = email.state === "sent" ? email.last_event : email.state;
  return badge(state, emailStates[state]);
}

// Of a recipient that was looked for, what became of the email for that one.
export const statusBadge = ({ status, status_text }) => badge(status, { text: status_text, tone: toneOfStatus(status) });
const stateOfRow = (row) => (row.recipient && row.state === "sent" ? statusBadge(row.recipient) : stateOf(row));

function recipientsOf(email) {
  if (email.recipient) return el("span.address", { title: email.recipient.address }, email.recipient.address);
  const all = [...email.to, ...(email.cc ?? []), ...(email.bcc ?? [])];
  return el("span.address", { title: all.join(", ") }, all[0] ?? "nobody",
    all.length > 1 && el("span.muted", `\u00a0+${all.length - 1}`));
}

// The address alone, so that a row is one line; the name is in its title.
function senderOf(email) {
  return el("span.address", { title: email.from }, email.from.replace(/^.*<([^<>]+)>$/, "$1"));
}

function subjectOf(email) {
  const subject = email.subject || el("span.muted", "(no subject)");
  if (email.via !== "smtp") return subject;
  return el("span", subject, " ", badge("smtp", { text: "SMTP", title: "Its program logged in over SMTP" }));
}

export const emailColumns = [
  { title: "To", cell: recipientsOf },
  { title: "Subject", kind: "main", cell: subjectOf },
  { title: "From", kind: "extra", cell: senderOf },
  {
    title: "State",
    kind: "state",
    cell: stateOfRow,
    words: ["scheduled", "queued", "sent", "delivered", "delayed", "bounced", "expired", "failed", "refused", "suppressed", "complained", "canceled", "stopped"],
  },
  { title: "When", kind: "time", cell: (email) => time(email.created_at) },
];
export const emailPlace = (email) => place("emails", email.id);

// Asks for an email to be sent to somebody, with a key of a company, and leads to what became of it.
export async function sendTest() {
  const [domains, keys] = await Promise.all([get("/admin/domains", { limit: 100 }), get("/admin/keys", { valid: true, limit: 100 })]);
  const active = domains.data.filter((domain) => domain.active);
  const able = keys.data.filter((key) => key.scopes.includes("sending"));
  const isWay = (key, domain) => domain.company_id === key.company_id && (!key.domain || key.domain === domain.name);
  const first = able.find((key) => active.some((domain) => isWay(key, domain)));
  if (!first && !domains.has_more && !keys.has_more) {
    const what = active.length ? "key that may send" : "domain that is active";
    return dialog({
      title: "Send a test email",
      text: `You need a ${what} first.`,
      submit: active.length ? "Go to the keys" : "Go to the domains",
      run: () => go(active.length ? "keys" : "domains"),
    });
  }
  const domain = first && active.find((one) => isWay(first, one));
  // As which domain: those of the key's company.
  const keyOf = new Map(able.map((key) => [key.id, key]));
  const findKey = async (search, values) => {
    const { data, has_more: isMore } = await get("/admin/keys", { search, valid: true, limit: 20 });
    for (const key of data) keyOf.set(key.id, key);
    const found = await keyPick.find(search, values);
    return { isMore, options: found.options.filter(({ value }) => keyOf.get(value)?.scopes.includes("sending")) };
  };
  return dialog({
    title: "Send a test email",
    text: "It is sent like any other email: through the rules, the milter and Postfix.",
    fields: [
      { ...keyPick, find: findKey, name: "key_id", label: "With the key", required: true, value: first?.id },
      {
        ...domainPick,
        name: "domain",
        label: "From the domain",
        required: true,
        value: domain?.name,
        of: ({ key_id }) => key_id ?? "",
        find: async (search, { key_id }) => {
          const key = keyOf.get(key_id);
          const found = await domainPick.find(search, { company_id: key?.company_id });
          return { ...found, options: found.options.filter(({ value }) => !key?.domain || key.domain === value) };
        },
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

// States of recipients: what is asked for are those, and each is a row.
const ofRecipients = {
  delivered: "delivered", delivery_delayed: "deferred", bounced: "bounced", expired: "expired",
  complained: "complained", suppressed: "suppressed",
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
  { value: "bounced", text: "Bounced" },
  { value: "expired", text: "Expired" },
  { value: "failed", text: "Failed" },
  { value: "canceled", text: "Canceled" },
  { value: "refused", text: "Refused" },
  { value: "stopped", text: "Stopped" },
  { value: "complained", text: "Complained" },
  { value: "suppressed", text: "Suppressed" },
];

export async function show(main, { query, session }) {
  const known = await companies(session);
  const note = el("p.muted.list-note", { role: "status" });
  let isLooking = false; // until a page is full, all were looked at, or somebody says that it is enough
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
      isLooking = true;
      return emails.reload();
    },
  });
  const isNarrowed = () => Object.values(narrow.values()).some(Boolean);

  // A search that has found little yet goes on by itself, and says how far it is.
  const goesOn = (answer, rows) => isLooking && answer.looked && rows.length < PAGE;
  const stop = button("Stop", () => {
    isLooking = false;
    stop.remove();
  });
  function tellProgress({ found_by, looked, unread_percent }) {
    isLooking &&= Boolean(looked);
    const far = looked && [
      isLooking ? "Still looking: " : "Looked at ",
      `${looked.percent} % of the emails, back to `, time(looked.until, { exact: true }), ". ",
      !isLooking && "“Next” looks on. ",
    ];
    const slow = looked && unread_percent > 0 &&
      `Searching takes longer than usual until older emails are in the text index: ${unread_percent} % are not yet. `;
    note.replaceChildren(...[foundBy[found_by], " ", far, slow].flat().filter(Boolean), ...(looked && isLooking ? [stop] : []));
  }

  async function load(after, limit) {
    if (/^#\/emails(\?|$)/.test(location.hash)) listed = location.hash;
    const { status, company, ...rest } = narrow.values();
    const recipient_status = ofRecipients[status];
    const answer = await get("/admin/emails", { ...rest, company_id: company, recipient_status, status: recipient_status ? undefined : status, after, limit: limit ?? PAGE });
    // Not of one that is exported.
    if (!limit) tellProgress(answer);
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
    goesOn,
    columns: emailColumns,
    href: emailPlace,
    empty: () =>
      isNarrowed() && isLooking
        ? empty("Nothing found yet", "Still searching.")
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

  // What is new waits while somebody reads, so that no line moves away from
  // under their eyes or pointer; states change in place.
  const reads = () => scrollY > 60 || emails.element.matches(":hover, :focus-within");
  async function look() {
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
  isLooking = true;
  await emails.reload();
  return subscribe(["emails"], look);
}
