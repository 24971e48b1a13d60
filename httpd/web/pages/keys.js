// API keys: created and shown once with what programs need, observed, revoked.

import { get, patch, path, post, remove } from "../api.js";
import { apiUrl, examples } from "../examples.js";
import { subscribe } from "../live.js";
import { companies, domainPick, searched } from "../tenant.js";
import { badge, button, code, count, danger, el, empty, header, link, notice, number, place, primary, remark, secret, shortId, tabs, time } from "../elements.js";
import { confirm, dialog, show as showBox } from "../forms.js";
import { choosing } from "../lists.js";

export const title = "Keys";

const BATCH = 500; // revoked by one request

const scopes = [
  { value: "sending", text: "sending", help: "Send emails. Enough for most programs." },
  { value: "reading", text: "reading", help: "Read the company's emails and their delivery status." },
  {
    value: "managing",
    text: "managing",
    help: "Manage domains and keys. It can create keys with any scope, so give it only to programs that need it.",
  },
];

const idleOptions = [
  { value: "", text: "Used or not" },
  { value: "unused", text: "Never used for 30 days" },
  { value: "forgotten", text: "Not used for 180 days" },
];

// A line that becomes a link to the first email that the key sends.
function firstEmail(key) {
  const line = el("p.remark.tone-none", { role: "status" }, "Waiting for the first email with this key …");
  const stop = subscribe(["emails"], async () => {
    const [email] = (await get("/admin/emails", { key_id: key.id, limit: 1 })).data;
    if (!email || !line.isConnected) return;
    stop();
    line.classList.replace("tone-none", "tone-good");
    line.replaceChildren(
      el("span", "The first email arrived: ", el("strong", email.subject || "without a subject")),
      link("Show its delivery", "emails", email.id),
    );
  });
  return { line, stop };
}

// preset: the name of a domain, and its company.
async function create(known, { domain: given, company_id: company } = {}) {
  let url;
  let socket;
  const key = await dialog({
    title: "Create a key",
    fields: [
      {
        name: "name",
        label: "Name",
        required: true,
        placeholder: "shop",
        help: "The program that will use it.",
      },
      ...known.fields({ required: true, value: company }),
      {
        ...domainPick,
        name: "domain",
        label: "Domain",
        value: given,
        any: "Any active domain of the company",
        help: "A key for one domain is removed with the domain.",
      },
      { name: "scopes", label: "Scopes", type: "checks", options: scopes, value: ["sending", "reading"] },
    ],
    submit: "Create the key",
    run: async ({ name, company_id, domain, scopes: chosen }) => {
      // Loaded first: once the key exists, nothing must prevent its token from being shown.
      const host = await get("/admin/host");
      url = apiUrl(host);
      socket = host.api_socket;
      return post("/admin/keys", {
        name,
        company_id,
        domain,
        scopes: chosen.join(","),
      });
    },
  });
  if (!key) return;
  const domain = key.domain ?? (await get("/admin/domains", { company_id: key.company_id, active: true, limit: 1 })).data[0]?.name;
  const watch = key.scopes.includes("sending") && firstEmail(key);
  await showBox(
    `The key “${key.name}”`,
    secret("API key.", key.token),
    domain
      ? null
      : remark(
          "warn",
          "The company has no active domain yet. Until it has one, emails of this key are refused. The examples use a placeholder.",
        ),
    el(
      "p",
      "Programs reach Postern at ",
      el("code", url),
      socket && [", over the socket ", el("code", socket), " (curl --unix-socket)"],
      ". Paste one of these to send the first email:",
    ),
    tabs(
      examples({
        url,
        token: key.token,
        domain: domain ?? "your-domain.example",
        scopes: key.scopes,
        smtp: key.smtp_host && { host: key.smtp_host, port: key.smtp_port, security: key.smtp_security, user: key.smtp_user },
      }).map(
        ([client, parts]) => [
          client,
          () =>
            el(
              "div.stack",
              parts.map(([label, text]) => code(text, { label })),
            ),
        ],
      ),
      "Programs",
    ),
    watch && watch.line,
  );
  if (watch) watch.stop();
  return key;
}

export async function show(main, { session, query }) {
  const head = header(title, { words: ["key", "scope"], about: "A program needs a key to send. With it, it can send as the domains of its company, and no others." });
  main.append(head);
  const known = await companies(session);
  const make = (preset) => create(known, preset).then((key) => key && rows.reload());
  const revoke = (key) =>
    confirm(
      `Revoke “${key.name}”?`,
      `Programs that use it can no longer send. This cannot be undone.${key.last_used_at ? "" : " It was never used."} Emails that are in the queue of Postfix are still delivered.`,
      "Revoke the key",
      () => remove(path`/admin/keys/${key.id}`),
      () => {
        notice(`The key “${key.name}” is revoked.`);
        return rows.reload();
      },
    );
  const rename = (key) =>
    dialog({
      title: "Rename the key",
      fields: [{ name: "name", label: "Name", value: key.name, required: true }],
      submit: "Rename",
      run: (values) => patch(path`/admin/keys/${key.id}`, values),
      done: () => rows.reload(),
    });

  const chosen = choosing((all) =>
    danger(`Revoke ${number(all.length)}`, () =>
      confirm(
        `Revoke ${count(all.length, "key")}?`,
        `Programs that use ${all.length === 1 ? "it" : "them"} can no longer send. This cannot be undone: ${all.slice(0, 5).map(({ name }) => name || "without a name").join(", ")}${all.length > 5 ? " …" : "."}`,
        all.length === 1 ? "Revoke the key" : "Revoke the keys",
        async () => {
          let revoked = 0;
          for (let i = 0; i < all.length; i += BATCH)
            revoked += (await post("/admin/keys/revoke", { keys: all.slice(i, i + BATCH).map(({ id }) => ({ id })) })).revoked;
          notice(`${count(revoked, "key is", "keys are")} revoked.`);
        },
        () => {
          chosen.clear();
          return rows.reload();
        },
      ),
    ),
  );

  const rows = searched({
    caption: "Keys",
    noun: "key",
    from: "/admin/keys",
    query,
    known,
    placeholder: "Name, id, domain",
    changed: chosen.clear,
    fields: [
      { name: "idle", label: "Use", type: "select", options: idleOptions },
      { name: "revoked", label: "Show revoked keys", type: "checkbox", value: query.get("revoked") },
    ],
    asked: ({ idle, revoked }) => ({ idle, valid: !revoked }),
    // Includes revoked keys.
    isFew: async ({ data }) => data.length < 2 && (await get("/admin/keys", { limit: 2 })).data.length === data.length,
    columns: [
      {
        title: "Name",
        sort: (key) => key.name,
        cell: (key) =>
          el("span.picked", session.owner && !key.revoked_at && chosen.box(key, key.name || "the key without a name"),
            el("span", key.name, key.revoked_at && [" ", badge("revoked")])),
      },
      { title: "Scopes", sort: (key) => key.scopes.join(), cell: (key) => key.scopes.join(", ") },
      { title: "Sender", kind: "name", sort: (key) => key.domain, cell: (key) => key.domain ?? el("span.muted", "any domain") },
      ...known.columns,
      { title: "Id", kind: "extra", cell: (key) => shortId(key.id) },
      { title: "Created", kind: "time", sort: (key) => key.created_at, cell: (key) => time(key.created_at) },
      { title: "Last used", kind: "time", sort: (key) => key.last_used_at, cell: (key) => time(key.last_used_at) },
      ...(session.owner
        ? [
            {
              title: "",
              kind: "actions",
              cell: (key) =>
                key.revoked_at
                  ? el("span.muted", "revoked ", time(key.revoked_at))
                  : [button("Rename", () => rename(key)), danger("Revoke", () => revoke(key))],
            },
          ]
        : []),
    ],
    empty: (isNarrowed) =>
      isNarrowed
        ? empty("No key matches", "Change the search, or show revoked keys.")
        : session.operator && known.all.length === 0
          ? empty(
              "No company yet",
              "Keys belong to a company. Add one, and its domain, first.",
              el("a.btn.btn-sm.btn-primary", { href: "#/domains" }, "Go to the domains"),
            )
          : empty(
              "No key yet",
              "Create one for the first program that sends emails.",
              ...(session.owner ? [primary("Create a key", () => make())] : []),
            ),
  });
  if (session.owner && known.all.length) head.querySelector(".actions").append(primary("Create a key", () => make()));
  main.append(rows.search, chosen.line, rows.element);
  await rows.reload();
  // Opens the form that a domain's page linked to; not again when this page is reloaded.
  if (main.isConnected && query.has("create") && session.owner && known.all.length) {
    history.replaceState(history.state, "", place("keys", { company: query.get("company") }));
    const name = query.get("create");
    const domain = (await get("/admin/domains", { search: name, active: true, limit: 100 })).data.find((one) => one.name === name);
    make({ domain: domain?.name, company_id: domain?.company_id ?? query.get("company") }).catch((error) => notice(error.message, "bad"));
  }
  return subscribe(["tenants"], rows.refresh);
}
