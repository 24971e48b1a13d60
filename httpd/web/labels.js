// The text and colour that pages show for the codes of the server: the one place for both. Texts
// that the server writes itself (status_text, kind_text, problems) are shown unchanged. words.js
// explains the terms.

// A label: { text, tone, title }. The default text is the code, the default tone that of tones.

// Colour is never the only sign: there is always a text.
const tones = {
  good: "delivered active ok yes owner sent",
  warn: "delivery_delayed deferred delayed pending learn held learnt queued",
  bad: "bounced failed refused complained suppressed rejected revoked not_ok discarded undeliverable expired stopped",
};
const toneOf = {};
for (const [tone, all] of Object.entries(tones))
  for (const word of all.split(" ")) toneOf[word] = tone;
const texts = { delivery_delayed: "delayed", not_ok: "not ok" };

export const textOf = (code) => texts[code] ?? String(code).replaceAll("_", " ");
export const titleOf = (code) => textOf(code).replace(/^./, (first) => first.toUpperCase());
export const toneOfCode = (code) => toneOf[code] ?? "none";

// States of emails. "sent": Postfix has the email and tries to deliver it.
export const emailStates = {
  scheduled: { title: "Waits for the time that was asked for" },
  queued: { tone: "warn", title: "Waits here to be handed to Postfix" },
  sent: { tone: "none", title: "In Postfix's queue" },
  canceled: { title: "Canceled before it was sent" },
  stopped: { title: "It left Postfix's queue before postern-milter checked it" },
  refused: { title: "The rules refused it" },
};

// Statuses of recipients, and kinds of events.
const statusTones = {
  delivered: "good", complained: "bad", suppressed: "bad", bounced: "bad", expired: "bad", removed: "bad", discarded: "bad",
  deferred: "warn", handed_on: "none", queued: "none", unknown: "warn", accepted: "none",
};
export const toneOfStatus = (status) => statusTones[status];
export const eventKinds = [
  "accepted", "delivered", "deferred", "handed_on", "bounced", "expired", "complained", "unsubscribed", "suppressed", "failed", "canceled",
  "discarded", "removed", "unknown",
];

// What plots count and stack, and the state of the emails that a number links to.
export const accepted = { name: "accepted", title: "Accepted", kinds: ["accepted"], colour: "--accent" };
export const outcomes = [
  { name: "delivered", title: "Delivered", kinds: ["delivered"], colour: "--good", status: "delivered" },
  { name: "deferred", title: "Deferrals", kinds: ["deferred"], colour: "--warn", status: "delivery_delayed", isBad: true },
  { name: "bounced", title: "Bounced", kinds: ["bounced"], colour: "--bad", status: "bounced", isBad: true },
  { name: "expired", title: "Expired", kinds: ["expired"], colour: "--plot-1", status: "expired", isBad: true },
  { name: "refused", title: "Refused", kinds: ["refused"], colour: "--muted", status: "refused", isBad: true },
];
// The numbers from which the bounce rate is calculated.
export const undelivered = { kinds: ["bounced", "expired"] };
export const sumOf = (counts, { kinds }) => kinds.reduce((all, kind) => all + (counts[kind] ?? 0), 0);

// Reasons of bounces, and the operators of the recipients' mail servers.
export const bounceReasons = {
  no_mailbox: "No such mailbox",
  no_domain: "No such domain",
  disabled: "Mailbox disabled",
  full: "Mailbox full",
  too_large: "Message too large",
  spam: "Seen as spam",
  policy: "Refused by policy",
  unreachable: "Server not reached",
  other: "Other",
};
const providers = {
  google: "Google", microsoft: "Microsoft", yahoo: "Yahoo and AOL", apple: "Apple", gmx: "GMX and Web.de", ionos: "IONOS",
  telekom: "Telekom", proton: "Proton", ovh: "OVH", other: "Others",
};
export const providerOf = (name) => providers[name] ?? name.charAt(0).toUpperCase() + name.slice(1);

// What the rules did with a message.
export const refusalOutcomes = {
  rejected: { tone: "bad", title: "The sender got an error" },
  held: { tone: "warn", title: "It waits in Postfix's hold queue: see Held mail" },
  discarded: { tone: "bad", title: "Thrown away" },
  learnt: { text: "let through", tone: "warn", title: "The domain's policy is learn: it records, and stops nothing" },
};

// Why an address is suppressed.
export const suppressionReasons = {
  bounce: { text: "bounced", tone: "bad", help: "The mail server of the address has refused an email for good." },
  complaint: { text: "complained", tone: "bad", help: "The recipient has reported an email as spam." },
  unsubscribe: { text: "unsubscribed", tone: "warn", help: "The recipient wants no more emails." },
  manual: { text: "added manually", tone: "none", help: "Added by an admin." },
};

// Parts of this server, and the hosts beside it; the worst state first.
export const services = {
  store: "Database", postfix: "Postfix", milter: "postern-milter", submission: "Submission to Postfix",
  outbox: "Outbox", settings: "Settings", events: "postern-events",
};
export const hostStates = { lost: { tone: "bad" }, trouble: { text: "has a problem", tone: "warn" }, well: { text: "ok", tone: "good" } };
