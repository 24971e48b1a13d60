// One domain: its rules, the mail that they stop, and its DNS records.

import { get, patch, path, post, remove } from "../api.js";
import { subscribe } from "../live.js";
import { nameOf, policies, subdomains } from "../tenant.js";
import {
  address,
  badge,
  button,
  copyButton,
  count,
  danger,
  definitions,
  el,
  empty,
  go,
  header,
  link,
  notice,
  number,
  place,
  primary,
  remark,
  section,
  shortId,
  standalone,
  time,
} from "../elements.js";
import { confirm, dialog } from "../forms.js";
import { table } from "../lists.js";
import { stateOf } from "./domains.js";
import { addExemption, exemptAll, exemptions, suggestions } from "./exemptions.js";

export const title = "Domain";

const back = { href: place("domains"), text: "Domains" };
const textOf = (list, value) => list.find((one) => one.value === value)?.help;

// The purpose of each DNS record, and the result of the check.
const reasons = {
  PROOF: "Proof that the company controls the DNS of the domain. The value is for this request alone.",
  SPF: "SPF: mail with this envelope sender comes from this host. A domain has only one such record: if it exists, add to it.",
  DKIM: "DKIM: the key by which mail is signed.",
  DMARC: "DMARC: what receivers do with mail that neither SPF nor DKIM vouches for. Once reports show your mail alone, say p=quarantine or p=reject.",
  MX: "MX: where replies and bounces go. Keep an existing record.",
};
const states = {
  verified: ["good", "found"],
  missing: ["bad", "missing"],
  wrong: ["bad", "differs"],
  unknown: ["none", "unknown"],
};

function records(rows, looked) {
  return table({
    caption: "DNS records",
    noun: "record",
    exported: true,
    key: (row) => `${row.record} ${row.name}`,
    columns: [
      {
        title: "State",
        kind: "state",
        cell: ({ status, text }) =>
          text === null
            ? badge(status, { tone: "none", text: looked ? "not checked" : "to be set" })
            : badge(status, { tone: states[status][0], text: states[status][1] }),
      },
      { title: "Type", kind: "state", cell: (row) => row.type },
      { title: "Name", kind: "tight", cell: (row) => el("code.address", row.name) },
      {
        title: "Value",
        kind: "main",
        cell: (row) =>
          el(
            "div",
            el("code.address", row.value ?? "–"),
            el("p.form-text", reasons[row.record]),
            row.text && row.status !== "verified" && el("p.form-text", `Found: ${row.text}`),
          ),
      },
      {
        title: "",
        kind: "actions",
        cell: (row) => [
          copyButton(row.name, { label: "Copy name", title: `Copy name ${row.name}` }),
          row.value && copyButton(row.value, { label: "Copy value", title: `Copy value of ${row.type} ${row.name}` }),
        ],
      },
    ],
    rows,
  }).element;
}

export async function show(main, { id, session }) {
  const mayChange = session.operator && session.owner;
  let domain;
  let waiting = 0; // senders that exclusive would stop
  const top = el("div");
  const rules = el("div");
  const found = el("div");
  const exempt = el("div");
  const dns = el("div");
  main.append(top, rules, found, exempt, dns);
  // A part is replaced only when its content has changed: it may have the focus.
  const said = new Map();
  const same = (part, data) => {
    const text = JSON.stringify(data);
    const before = said.get(part);
    said.set(part, text);
    return before === text;
  };

  async function change(fields, words) {
    domain = { ...domain, ...(await patch(path`/admin/domains/${id}`, fields)) };
    notice(words(domain));
    showTop();
    showRules();
    await tryFound();
  }

  const isActive = ({ name }) => `${name} is active.`;
  const isOff = ({ name }) => `${name} is off.`;
  const hasPolicy = ({ name, policy }) => `${name} now has the policy ${policy}.`;
  const activate = () =>
    domain.pending
      ? dialog({
          title: `Activate ${domain.name}`,
          text: `${domain.company_name ?? "The company"} requested it. Once it is active, keys of the company can send as it, and the policy is in force.`,
          fields: [{ name: "policy", label: "Policy for mail without a key", type: "choice", options: policies, value: "learn" }],
          submit: "Activate",
          run: (values) => change({ active: true, ...values }, isActive),
        })
      : change({ active: true }, isActive);
  const deactivate = () =>
    confirm(
      `Switch ${domain.name} off?`,
      "No key can send as it any more. The policy stays in force, so nobody else can either.",
      "Switch it off",
      () => change({ active: false }, isOff),
    );
  const removeIt = () =>
    confirm(
      `Remove ${domain.name}?`,
      "This also removes its exemptions and the keys that are restricted to it. The name is then no longer protected: whoever may send through this host can use it.",
      "Remove the domain",
      async () => {
        await remove(path`/admin/domains/${id}`);
        notice(`${domain.name} is removed.`);
        go("domains");
      },
    );

  function showTop() {
    if (same("top", domain)) return;
    const key =
      domain.active && session.owner
        ? [el("a.btn.btn-sm.btn-primary", { href: place("keys", { create: domain.name }) }, "Create a key")]
        : [];
    const actions = mayChange
      ? [domain.active ? button("Switch off", deactivate) : primary("Activate", activate), danger("Remove", removeIt)]
      : [];
    actions.push(...key);
    top.replaceChildren(
      header(domain.name, { actions, back, words: ["domain", "requested"] }),
      definitions([
        [
          "State",
          el(
            "span",
            stateOf(domain),
            domain.pending && !mayChange && el("span.muted", " An operator of this server has to activate it."),
          ),
        ],
        ["Company", session.operator ? link(nameOf(domain), "companies", domain.company_id) : null],
        [
          "Mail",
          el(
            "span.actions",
            link("Emails", "emails", { domain: domain.name }),
            link("Refusals", "refusals", { domain: domain.name }),
            link("Statistics", "statistics", { domain: domain.name }),
          ),
        ],
        ["Added", time(domain.created_at)],
        ["Id", shortId(domain.id)],
      ]),
    );
  }

  function showRules() {
    if (same("rules", domain)) return;
    if (domain.pending) return rules.replaceChildren();
    const now = definitions([
      [
        "Policy",
        el(
          "span",
          badge(domain.policy, { tone: domain.policy === "learn" ? "warn" : "none" }),
          " ",
          textOf(policies, domain.policy),
        ),
      ],
      [
        "Applies to",
        `${subdomains.find((one) => one.value === domain.subdomains).text}. ${textOf(subdomains, domain.subdomains)}`,
      ],
      ["Bounces go to", domain.return_path ?? "the sender address of each email"],
      ["Unsubscribe link", domain.unsubscribe === "on" ? "added to emails with one recipient" : "none"],
    ]);
    const ask = () => {
      // A field that the user left unchanged is not sent: somebody else may have changed it
      // meanwhile.
      const shown = domain;
      const isNew = ([field, value]) => value !== shown[field];
      return dialog({
        title: `Rules of ${domain.name}`,
        text:
          domain.policy === "learn" && waiting > 0
            ? `The policy exclusive would stop ${count(waiting, "sender")} now: see this page.`
            : null,
        fields: [
          { name: "policy", label: "Policy for mail without a key", type: "choice", options: policies, value: domain.policy },
          { name: "subdomains", label: "Applies to", type: "choice", options: subdomains, value: domain.subdomains },
        ],
        submit: "Save",
        run: (values) => {
          const fields = Object.fromEntries(Object.entries(values).filter(isNew));
          return Object.keys(fields).length > 0 ? change(fields, hasPolicy) : undefined;
        },
      });
    };
    rules.replaceChildren(
      section(
        "Rules",
        {
          actions: mayChange ? [button("Change", ask)] : [],
          words: ["policy", "learn", "exclusive", "shared", "return path"],
          about:
            "For mail that uses this domain without a key: from SMTP clients, and from programs on this host.",
        },
        now,
      ),
    );
  }

  // Mail that would be stopped, or was.
  async function showFound() {
    if (domain.pending) return found.replaceChildren();
    const { data, hopeless } = await get("/admin/suggestions", { domain: domain.name });
    const learns = domain.policy === "learn";
    waiting = data.length;
    if (same("found", [data, hopeless, domain.policy])) return;
    const rows = suggestions({
      domain: domain.name,
      rows: data,
      mayChange,
      changed: showMail,
      empty: learns
        ? empty(
            "Nothing would be stopped",
            "So far, no mail came that the policy exclusive would stop. After some days with the usual mail, change the policy to exclusive.",
            ...(mayChange
              ? [primary("Make it exclusive", () => change({ policy: "exclusive" }, hasPolicy))]
              : []),
          )
        : el(
            "p.muted",
            domain.policy === "shared"
              ? "The policy is shared: nothing is stopped, and nothing recorded."
              : "Nothing was stopped that would pass with an exemption.",
          ),
    });
    const all = async () => {
      await exemptAll(domain.name, data);
      await showMail();
    };
    found.replaceChildren(
      section(
        learns ? "What exclusive would stop" : "What was stopped",
        {
          about: data.length ? "Mail that came without a key, and the narrowest exemption for each." : null,
          actions: mayChange && data.length > 1 ? [button("Exempt all", all)] : [],
        },
        rows,
        hopeless > 0 &&
          remark(
            "warn",
            el(
              "span",
              `${number(hopeless)} more messages used the domain in a way that no exemption can allow. `,
              link("See the refusals", "refusals", { domain: domain.name }),
            ),
          ),
      ),
    );
  }

  let exempted = null; // the list, once the domain has one
  async function showExempt() {
    if (domain.pending) return;
    if (exempted) return exempted.refresh();
    exempted = exemptions({ domain: domain.name, mayChange, changed: showMail });
    exempt.replaceChildren(
      section(
        "Exemptions",
        {
          words: ["exemption"],
          actions: mayChange ? [button("Add one", () => addExemption(showExempt, domain.name))] : [],
        },
        exempted.element,
      ),
    );
    await exempted.reload();
  }

  const tryFound = standalone("What the rules found", found, showFound);
  const showMail = () => Promise.all([tryFound(), showExempt()]);

  async function reload() {
    domain = await get(path`/admin/domains/${id}`);
    if (main.isConnected) document.title = `${domain.name} · Postern`;
    showTop();
    showRules();
    await showMail();
  }

  async function showDns() {
    const { records: rows, checked_at: looked } = await get(path`/admin/domains/${id}/dns`);
    if (same("dns", [rows, looked])) return;
    const look = async () => {
      await post(path`/admin/domains/${id}/verify`);
      await reload();
      await showDns();
      notice("The DNS records were checked.");
    };
    dns.replaceChildren(
      section(
        "DNS records",
        {
          actions: session.owner ? [button("Check now", look)] : [],
          about: looked
            ? el("span", "Checked ", time(looked), ".")
            : "The records that the domain needs. They have not been checked yet.",
        },
        records(rows, looked),
      ),
    );
  }

  const tryDns = standalone("The DNS records", dns, showDns);

  await Promise.all([reload(), tryDns()]);
  const isGone = () => {
    top.replaceChildren(header(domain.name, { back }), remark("warn", "This domain was removed."));
    for (const part of [rules, found, exempt, dns]) part.replaceChildren();
  };
  return subscribe(["tenants", "refusals"], () =>
    reload().catch((error) => {
      if (error.status === 404) isGone();
    }),
  );
}
