// One webhook: whether it works, what was sent and answered, and all actions.

import { get, patch, path, post, remove } from "../api.js";
import { subscribe } from "../live.js";
import { domainPick, nameOf } from "../tenant.js";
import {
  badge,
  button,
  code,
  copyButton,
  count,
  counted,
  danger,
  definitions,
  el,
  empty,
  go,
  header,
  link,
  notice,
  place,
  primary,
  remark,
  section,
  shortId,
  time,
} from "../elements.js";
import { confirm, dialog, show as showBox } from "../forms.js";
import { list } from "../lists.js";
import { domainField, endpointField, showSecret, stateOf, typesField } from "./webhooks.js";

export const title = "Webhook";

const LOOK_MS = 1500;
const REPLAY_MAX = 10000;
// The recipient of a test event, which is about no email.
const TEST_RECIPIENT = "nobody@example.invalid";

const statuses = {
  pending: ["none", "waits"],
  attempting: ["warn", "failed, will be retried"],
  success: ["good", "received"],
  failed: ["bad", "failed"],
};
const statusOf = ({ status }) => badge(status, { tone: statuses[status][0], text: statuses[status][1] });
const isOpen = ({ status, next_attempt_at }) => next_attempt_at !== null || status === "pending";

// Why nothing is sent to the endpoint, and what to do about it.
function advice(webhook, mayChange, enable) {
  if (webhook.disabled_at)
    return remark(
      "bad",
      el(
        "span",
        el("strong", "Disabled ", time(webhook.disabled_at, { exact: true }), ": all attempts had failed since ", time(webhook.failing_at, { exact: true }), "."),
        ` The last one: ${webhook.failure}. Repair the endpoint, then enable the webhook: `,
        webhook.waiting ? `what waits (${counted(webhook.waiting)}) is sent then. ` : "it gets events from then on. ",
        "What happens while it is disabled is not sent later.",
      ),
      mayChange && enable,
    );
  if (!webhook.enabled)
    return remark("none", el("span", "Disabled: nothing is sent. What happens meanwhile is not sent later."), mayChange && enable);
  if (webhook.failing_at)
    return remark(
      "warn",
      el(
        "span",
        el("strong", "All attempts have failed since ", time(webhook.failing_at, { exact: true }), "."),
        ` The last one: ${webhook.failure}. Each event is tried again for three days, with growing pauses. An endpoint that fails for days is disabled.`,
      ),
    );
  return null;
}

// The attempts of an event, its content, and a button that sends it again.
async function showEvent(id, event, mayReplay, changed) {
  let now = event;
  const top = el("div");
  const attempts = list({
    caption: "Attempts",
    noun: "attempt",
    load: (after) => get(path`/admin/webhooks/${id}/attempts`, { event_id: event.id, after, limit: 20 }),
    columns: [
      { title: "Sent", kind: "time", cell: (one) => time(one.sent_at, { exact: true }) },
      {
        title: "Result",
        kind: "state",
        cell: (one) =>
          badge("result", {
            text: one.http_status ? `HTTP ${one.http_status}` : "no answer",
            tone: one.http_status >= 200 && one.http_status < 300 && !one.error ? "good" : "bad",
          }),
      },
      { title: "Took", kind: "number", cell: (one) => `${Math.round(one.took_us / 1000)} ms` },
      {
        title: "Answer",
        kind: "main",
        cell: (one) => el("div", one.error && el("p", one.error), one.response ? el("p.said", one.response) : !one.error && el("span.muted", "empty")),
      },
    ],
    empty: el("p.muted", "No attempts yet. Check with postern status that postern-webhook is running."),
  });
  let timer;
  async function look() {
    const fresh = await get(path`/admin/webhooks/${id}/event`, { event_id: event.id });
    const isNew = fresh.attempts !== now.attempts;
    now = fresh;
    draw();
    if (isNew) await attempts.refresh();
  }
  const again = primary("Send again", async () => {
    now = await post(path`/admin/webhooks/${id}/replay`, { event_id: event.id });
    draw();
    notice("The event is being sent again.");
    follow(now.attempts);
  });
  // Refreshes the dialog until the event has more than n attempts.
  function follow(n, tries = 40) {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      await look().catch(() => {});
      if (now.attempts <= n && tries > 0 && top.isConnected) follow(n, tries - 1);
    }, LOOK_MS);
  }
  function draw() {
    top.replaceChildren(
      definitions([
        ["State", statusOf(now)],
        ["Happened", time(now.created_at, { exact: true })],
        ["Next attempt", now.next_attempt_at && time(now.next_attempt_at)],
        ["Id", el("span.with-copy", el("span.id", now.id), copyButton(now.id, { title: `Copy ${now.id}` }))],
        [
          "Email",
          now.payload?.data?.email_id && ![now.payload.data.to].flat().includes(TEST_RECIPIENT)
            ? link("Show the email", "emails", now.payload.data.email_id)
            : null,
        ],
      ]),
    );
  }
  draw();
  attempts.reload().then(look).catch(() => {});
  if (now.attempts === 0) follow(0);
  await showBox(
    event.type,
    top,
    section("Attempts", { actions: mayReplay ? [again] : [] }, attempts.element),
    code(JSON.stringify(now.payload, null, 2), { label: "What is sent" }),
  );
  clearTimeout(timer);
  await changed();
}

const spans = [
  { value: "1h", text: "The last hour" },
  { value: "1d", text: "The last 24 hours" },
  { value: "3d", text: "The last three days" },
  { value: "custom", text: "Custom dates" },
];
const utc = (local) => local && new Date(local).toISOString();

const replaySome = (id, done) =>
  dialog({
    title: "Resend events of a period",
    text: "Sends all events of that period again, delivered or not, as after an outage of the receiving program. It recognises repeats by their id.",
    fields: [
      { name: "span", label: "Period", type: "select", options: spans, value: "1d" },
      { name: "since", label: "From", type: "datetime-local", required: true, when: ({ span }) => span === "custom" },
      { name: "until", label: "To", type: "datetime-local", help: "Empty: now.", when: ({ span }) => span === "custom" },
    ],
    submit: "Send them",
    run: async ({ span, since, until }) => {
      const asked = span === "custom" ? { since: utc(since), until: utc(until) } : { since: span };
      const { events } = await post(path`/admin/webhooks/${id}/replay`, asked);
      notice(
        events < REPLAY_MAX
          ? `${count(events, "event is", "events are")} sent again.`
          : `The oldest ${count(events, "event")} of that period are sent again, which is the most at once. For the rest, choose a later start.`,
      );
    },
    done,
  });

export async function show(main, { id, session }) {
  let webhook = await get(path`/admin/webhooks/${id}`);
  const mayChange = session.owner;
  const isForm = webhook.dialect === "form";
  const top = el("div");
  main.append(top);

  async function change(fields, words) {
    webhook = await patch(path`/admin/webhooks/${id}`, fields);
    draw();
    notice(words);
  }
  const enable = () => primary("Enable", () => change({ enabled: true }, "The webhook is enabled."));
  const disable = () =>
    button("Disable", () =>
      confirm(
        "Disable the webhook?",
        "Nothing is sent to it until it is enabled again. What happens meanwhile is not sent later.",
        "Disable it",
        () => change({ enabled: false }, "The webhook is disabled."),
      ),
    );
  const test = () =>
    button("Send a test event", async () => {
      const event = await post(path`/admin/webhooks/${id}/test`);
      await showEvent(id, event, mayChange, refresh);
    });
  async function edit() {
    return dialog({
      title: "Change the webhook",
      text: isForm ? "This webhook was created over the form API (as Mailgun's); change its event and domain there." : undefined,
      fields: [
        endpointField(webhook.endpoint),
        ...(isForm ? [] : [typesField(webhook.events), { ...domainField(webhook.domain), of: undefined, find: (words) => domainPick.find(words, webhook) }]),
      ],
      submit: "Save",
      run: (values) =>
        change(isForm ? values : { ...values, domain: values.domain ?? "" }, "The webhook is changed."),
    });
  }
  const reveal = async () => showSecret("Signing secret", await post(path`/admin/webhooks/${id}/secret`));
  const rotate = () =>
    confirm(
      "Make a new secret?",
      isForm
        ? "All webhooks of the form API of this company share this secret. Their receivers need the new one at once."
        : "For a day deliveries are signed with both, so that receivers can be changed one after the other. After that, the old one no longer works.",
      "Make a new secret",
      () => post(path`/admin/webhooks/${id}/rotate`),
      async (made) => {
        webhook = { ...made, signing_secret: undefined };
        draw();
        await showSecret("The new secret", made);
      },
    );
  const removeIt = () =>
    confirm(
      "Remove the webhook?",
      `${webhook.endpoint} gets no more events, and the record of what was sent to it is removed. To stop it for a while, disable it.`,
      "Remove the webhook",
      () => remove(path`/admin/webhooks/${id}`),
      () => {
        notice("The webhook is removed.");
        go("webhooks");
      },
    );

  let said = "";
  function draw() {
    const now = JSON.stringify(webhook);
    if (now === said) return;
    said = now;
    const old = webhook.rotated_at && new Date(webhook.rotated_at).getTime() + 24 * 3600e3 > Date.now();
    top.replaceChildren(
      header(webhook.endpoint, {
        back: { href: place("webhooks"), text: "Webhooks" },
        words: ["webhook", "event"],
        actions: mayChange
          ? [webhook.enabled && test(), button("Change", edit), button("Show secret", reveal), button("New secret", rotate),
             webhook.enabled && disable(), danger("Remove", removeIt)]
          : [],
      }),
      ...[advice(webhook, mayChange, enable())].filter(Boolean),
      el(
        "div.two",
        definitions([
          ["State", stateOf(webhook)],
          ["Last success", time(webhook.succeeded_at)],
          ["Last failure", webhook.failed_at ? el("span", time(webhook.failed_at), `: ${webhook.failure}`) : time(null)],
          ["Waiting", counted(webhook.waiting)],
          ["Secret created", webhook.rotated_at && el("span", time(webhook.rotated_at), old && ". The previous one is still valid.")],
        ]),
        definitions([
          ["Events", webhook.events.join(", ")],
          ["Domain", webhook.domain ?? "all domains of the company"],
          ["Company", session.operator ? nameOf(webhook) : null],
          ["Created", time(webhook.created_at)],
          ["Id", shortId(webhook.id)],
        ]),
      ),
    );
    for (const one of top.querySelectorAll("header + .two")) one.classList.add("first");
  }

  const events = list({
    caption: "Events",
    noun: "event",
    load: (after, limit = 50) => get(path`/admin/webhooks/${id}/events`, { after, limit }),
    columns: [
      {
        title: "Event",
        kind: "main",
        cell: (event) => el("button.row-link.as-link", { type: "button", onclick: () => showEvent(id, event, mayChange, refresh) }, event.type),
      },
      { title: "State", kind: "state", cell: statusOf },
      { title: "Attempts", kind: "number", cell: (event) => event.attempts },
      { title: "Next attempt", kind: "time", cell: (event) => time(event.next_attempt_at, { never: "–" }) },
      { title: "Recipient", kind: "extra", cell: (event) => el("span.address", [event.payload?.data?.to ?? event.payload?.recipient ?? "–"].flat().join(", ")) },
      { title: "Happened", kind: "time", cell: (event) => time(event.created_at) },
    ],
    empty: empty("Nothing was sent yet", "Events of emails show up here with each attempt and what the endpoint answered. A test event shows whether it works."),
  });
  async function refresh() {
    webhook = await get(path`/admin/webhooks/${id}`);
    draw();
    await events.refresh();
  }

  draw();
  main.append(
    section(
      "Events",
      { actions: mayChange && webhook.enabled ? [button("Resend events of a period", () => replaySome(id, refresh))] : [] },
      events.element,
    ),
  );
  await events.reload();
  // Nothing notifies the page when an attempt has ended.
  const timer = setInterval(() => {
    if (document.visibilityState === "visible" && events.rows().some(isOpen)) refresh().catch(() => {});
  }, 5000);
  const stop = subscribe(["emails", "tenants"], refresh, 4000);
  return () => {
    clearInterval(timer);
    stop();
  };
}
