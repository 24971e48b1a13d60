// Webhooks: the endpoints to which events are sent, and whether that works.

import { post } from "../api.js";
import { subscribe } from "../live.js";
import { companies, domainPick, searched } from "../tenant.js";
import { badge, code, counted, el, empty, go, header, place, primary, time } from "../elements.js";
import { dialog, show as showBox } from "../forms.js";

export const title = "Webhooks";

// The event types of the JSON API.
const types = {
  "email.sent": "The email is in Postfix's queue.",
  "email.delivered": "The recipient's mail server has taken it.",
  "email.delivery_delayed": "It could not be delivered yet. Postfix tries again.",
  "email.bounced": "It was refused for good, or Postfix gave up.",
  "email.complained": "The recipient has reported it as spam.",
  "email.suppressed": "It was not sent, since the address is suppressed.",
  "email.failed": "It was not sent, or was removed from the queue.",
};

// Types that somebody has requested and that never happen here stay in the list.
export const typesField = (chosen) => ({
  name: "events",
  label: "Events to send",
  type: "checks",
  options: [...new Set([...Object.keys(types), ...chosen])].map((value) => ({ value, text: value, help: types[value] })),
  value: chosen,
});

export const endpointField = (value) => ({
  name: "endpoint",
  label: "Endpoint",
  value,
  required: true,
  placeholder: "https://example.com/hooks/email",
  help: "Gets a POST request for each event, and answers 2xx when it has stored the event.",
});

// A select of the company's domains if they are known, otherwise a text field.
export const domainField = (value) => ({
  ...domainPick,
  name: "domain",
  label: "Domain",
  value,
  any: "All domains of the company",
  help: "Only emails sent as this domain. For several domains, create a webhook for each.",
});

export function stateOf(webhook) {
  if (webhook.disabled_at) return badge("disabled", { text: "disabled: kept failing", tone: "bad" });
  if (!webhook.enabled) return badge("disabled", { tone: "none" });
  if (webhook.failing_at) return badge("failing", { tone: "warn" });
  return webhook.succeeded_at ? badge("works", { tone: "good" }) : badge("new", { text: "not tried yet", tone: "none" });
}

const SHOWN = 3;

function toldOf({ events }) {
  if (Object.keys(types).every((type) => events.includes(type))) return "all events of emails";
  const names = events.map((type) => type.replace(/^email\./, "").replaceAll("_", " "));
  return names.length > SHOWN ? `${names.slice(0, SHOWN).join(", ")} and ${names.length - SHOWN} more` : names.join(", ");
}

// The secret, and its purpose.
export const showSecret = (heading, webhook, ...more) =>
  showBox(
    heading,
    ...more,
    code(webhook.signing_secret, { label: "Signing secret" }),
    el(
      "p.muted",
      webhook.dialect === "form"
        ? "Receivers verify the signature in the body with it. All webhooks of the form API of this company have the same one."
        : "Receivers verify with it that a delivery is Postern's: the fields webhook-id, webhook-timestamp and webhook-signature (Standard Webhooks; svix-* are the same). Libraries for Standard Webhooks, Svix and Resend do that.",
    ),
  );

async function create(known) {
  const made = await dialog({
    title: "Add a webhook",
    fields: [
      ...known.fields({ required: true }),
      endpointField(),
      typesField(Object.keys(types)),
      domainField(),
    ],
    submit: "Add the webhook",
    run: (values) => post("/admin/webhooks", values),
  });
  if (!made) return;
  await showSecret(
    "The webhook is added",
    made,
    el("p", "It gets events from now on. Give this secret to the receiving program, then send a test event from the webhook's page."),
  );
  go("webhooks", made.id);
}

export async function show(main, { session, query }) {
  const head = header(title, {
    words: ["webhook", "event"],
    about: "Postern sends events of emails to these addresses as they happen, and retries for three days.",
  });
  main.append(head);
  const known = await companies(session);
  const add = () => create(known);
  const mayAdd = session.owner && known.all.length > 0;

  const rows = searched({
    caption: "Webhooks",
    noun: "webhook",
    from: "/admin/webhooks",
    query,
    known,
    placeholder: "Endpoint, event, domain",
    fields: [{ name: "trouble", label: "Only failing ones", type: "checkbox", value: query.get("trouble") }],
    asked: ({ trouble }) => ({ in_trouble: trouble }),
    href: (webhook) => place("webhooks", webhook.id),
    columns: [
      { title: "Endpoint", kind: "main", sort: (webhook) => webhook.endpoint, cell: (webhook) => el("span.address", webhook.endpoint) },
      { title: "State", kind: "state", sort: (webhook) => stateOf(webhook).textContent, cell: stateOf },
      { title: "Events", cell: toldOf },
      { title: "Domain", kind: "extra", cell: (webhook) => webhook.domain ?? el("span.muted", "all domains") },
      ...known.columns,
      { title: "Last success", kind: "time", sort: (webhook) => webhook.succeeded_at, cell: (webhook) => time(webhook.succeeded_at) },
      { title: "Last failure", kind: "time", sort: (webhook) => webhook.failed_at, cell: (webhook) => time(webhook.failed_at) },
      { title: "Waiting", kind: "number", sort: (webhook) => webhook.waiting, sum: (webhook) => webhook.waiting, isCounted: true, cell: (webhook) => (webhook.waiting ? counted(webhook.waiting) : el("span.muted", "–")) },
    ],
    empty: (isNarrowed) =>
      isNarrowed
        ? empty("No webhook matches", "Change the search, or show the working ones too.")
        : empty(
            "No webhook yet",
            "With a webhook your program learns at once when an email is delivered, bounces or is reported as spam.",
            ...(mayAdd ? [primary("Add a webhook", add)] : []),
          ),
  });
  if (mayAdd) head.querySelector(".actions").append(primary("Add a webhook", add));
  main.append(rows.search, rows.element);
  await rows.reload();
  return subscribe(["emails", "tenants"], rows.refresh, 4000);
}
