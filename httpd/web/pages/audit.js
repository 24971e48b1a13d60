// Who changed what, when and from where, with the values before and after.

import { get } from "../api.js";
import { subscribe } from "../live.js";
import { companies } from "../tenant.js";
import { el, empty, endOf, exactTime, header, link, time } from "../elements.js";
import { filters } from "../forms.js";
import { list } from "../lists.js";

export const title = "Audit log";

const verbs = {
  "company.add": "added the company",
  "company.remove": "removed the company",
  "domain.add": "added the domain",
  "domain.ask": "requested the domain",
  "domain.activate": "activated the domain",
  "domain.deactivate": "switched off the domain",
  "domain.register": "activated the domain",
  "domain.set": "changed the rules of",
  "domain.remove": "removed the domain",
  "key.create": "created the key",
  "key.rename": "renamed the key",
  "key.revoke": "revoked the key",
  "key.remove": "removed the key",
  "exemption.add": "exempted",
  "exemption.remove": "removed the exemption of",
  "user.add": "added the user",
  "user.set": "changed the role of",
  "user.passwd": "set the password of",
  "user.totp_on": "turned codes on for",
  "user.totp_off": "turned codes off for",
  "user.recovery": "used a recovery code of",
  "user.reset": "reset the login of",
  "user.remove": "removed the user",
  "token.create": "created the token",
  "token.revoke": "revoked the token",
  "link.create": "made a login link for",
  "webhook.add": "added the webhook",
  "webhook.change": "changed the webhook",
  "webhook.rotate": "made a new secret for the webhook",
  "webhook.secret": "viewed the secret of the webhook",
  "webhook.disable": "disabled after repeated failures: webhook",
  "webhook.remove": "removed the webhook",
  "suppression.add": "suppressed",
  "suppression.remove": "removed from the suppressed addresses",
  "suppression.clear": "emptied a list of suppressed addresses of",
  "suppression.import": "imported suppressed addresses for",
  "email.test": "sent a test email with the key",
  "email.cancel": "canceled the email",
  "email.resend": "sent again the email",
  "outbox.pause": "paused emails of",
  "outbox.resume": "resumed emails of",
  "outbox.cancel": "canceled the waiting emails of",
  "held.recheck": "checked again the held message",
  "held.release": "released the held message",
  "held.drop": "dropped the held message",
  "dkim.add": "added the DKIM key",
  "dkim.sign": "started signing with the DKIM key",
  "dkim.stop": "stopped signing with the DKIM key",
  "dkim.remove": "removed the DKIM key",
  "host.remove": "removed the host",
};

const kindsOf = [
  { value: "", text: "Everything" },
  { value: "company", text: "Companies" },
  { value: "domain", text: "Domains" },
  { value: "exemption", text: "Exemptions" },
  { value: "dkim", text: "DKIM keys" },
  { value: "key", text: "Keys" },
  { value: "webhook", text: "Webhooks" },
  { value: "suppression", text: "Suppressed addresses" },
  { value: "held", text: "Held mail" },
  { value: "outbox", text: "Outbox" },
  { value: "user", text: "Users" },
  { value: "token", text: "Tokens" },
  { value: "link", text: "Login links" },
  { value: "email", text: "Emails" },
  { value: "host", text: "Hosts" },
];

// Columns that mean nothing to people, or are shown elsewhere in the row.
const silent = new Set([
  "id",
  "company_id",
  "created_us",
  "name",
  "login",
  "user_id",
  "origin",
  "queue_id",
  "last_used_us",
  "last_login_us",
  "value",
  "endpoint",
  "dialect",
  "failure",
  "failed_us",
  "failing_us",
  "succeeded_us",
  "waiting",
]);
const scopes = ["sending", "reading", "managing"];
const names = {
  revoked_us: "revoked",
  password_us: "password set",
  totp_us: "codes since",
  expires_us: "ends",
  recovery_codes: "recovery codes",
  created_us: "created",
};

function textOf(field, value) {
  if (value === null || value === undefined || value === "") return "none";
  if (field.endsWith("_us")) return value === 0 ? "no" : exactTime(value / 1000);
  if (field === "scopes") return scopes.filter((_, i) => value & (1 << i)).join(", ");
  if (value === true) return "yes";
  if (value === false) return "no";
  return String(value);
}

// One line for each changed column; for an object that was added or removed, its values.
function difference({ before, after, action }) {
  const fields = Object.keys(after ?? before ?? {});
  const lines = [];
  for (const field of fields) {
    const label = el("span.muted", `${names[field] ?? field.replaceAll("_", " ")} `);
    if (before && after) {
      if (JSON.stringify(before[field]) === JSON.stringify(after[field])) continue;
      lines.push(
        el("div", label, el("del", textOf(field, before[field])), " → ", el("ins", textOf(field, after[field]))),
      );
    } else if (!silent.has(field)) {
      const value = (after ?? before)[field];
      if (!value || /^(link|token)/.test(action)) continue;
      lines.push(el("div", label, el(after ? "ins" : "del", textOf(field, value))));
    }
  }
  return lines.length ? el("div.diff", lines) : null;
}

function object({ action, object_id, object_name, after }) {
  const name = object_name || endOf(object_id);
  if (action.startsWith("domain.") && after) return link(name, "domains", object_id);
  if (["email.cancel", "email.resend"].includes(action)) return link(endOf(object_id), "emails", object_id);
  if (action.startsWith("webhook.") && after) return link(name, "webhooks", object_id);
  return el("span.address", name);
}

const who = (entry) =>
  ({
    command: `${entry.actor_name}, on the server`,
    key: `key ${entry.actor_name}`,
    token: `token ${entry.actor_name}`,
    system: "Postern itself",
    operator: "an operator",
  })[entry.actor] ?? entry.actor_name;

export async function show(main, { session, query }) {
  main.append(
    header(title, {
      about:
        "Every change of a company, domain, exemption, key, webhook, list of suppressed addresses, user or token, whichever way it was made. Also what was done with emails: tests, resends, cancellations, pauses, and decisions on held mail.",
    }),
  );
  const known = await companies(session);
  const search = filters({
    query,
    fields: [
      { name: "action", label: "Action", type: "select", options: kindsOf },
      { name: "object", label: "What", type: "search", placeholder: "Exact name or id" },
      { name: "actor", label: "Changed by", type: "search", placeholder: "Login, or key's name" },
      {
        name: "since",
        label: "Since",
        type: "select",
        options: [
          { value: "", text: "The beginning" },
          { value: "24h", text: "A day ago" },
          { value: "7d", text: "A week ago" },
          { value: "30d", text: "A month ago" },
        ],
      },
      ...known.filter(),
    ],
    change: () => rows.reload(),
  });
  const rows = list({
    caption: "Changes",
    noun: "change",
    load: (after, limit = 50) => {
      const { company, ...given } = search.values();
      return get("/admin/audit", { ...given, company_id: company, after, limit });
    },
    columns: [
      { title: "When", kind: "time", cell: (entry) => time(entry.at) },
      { title: "Who", cell: (entry) => el("span.address", who(entry)) },
      { title: "Action", cell: (entry) => el("span.action", verbs[entry.action] ?? entry.action, " ", object(entry)) },
      { title: "Change", cell: difference },
      ...(session.operator
        ? [
            {
              title: "Company",
              kind: "extra",
              cell: (entry) =>
                entry.company_id ? (entry.company_name ?? el("span.muted", "removed")) : null,
            },
          ]
        : []),
      { title: "From", kind: "extra", cell: (entry) => entry.origin && el("code.address", entry.origin) },
    ],
    empty: () =>
      Object.values(search.values()).some(Boolean)
        ? empty("No change matches", "Names have to be whole: example.com, not example.")
        : empty("No change yet", "What you add or change shows up here."),
  });
  main.append(search.element, rows.element);
  await rows.reload();
  return subscribe(["tenants"], rows.refresh);
}
