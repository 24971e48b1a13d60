// Who may send as a domain without a key, in spite of its policy.

import { get, path, post, remove } from "../api.js";
import { subscribe } from "../live.js";
import { companies, matches } from "../tenant.js";
import { address, confirm, danger, dialog, empty, filters, header, link, list, notice, primary, time } from "../ui.js";

export const title = "Exemptions";

export const kinds = {
  login: { text: "Login", help: "Whoever logs in to Postfix with this name (SASL).", example: "ann@example.com" },
  client: {
    text: "Client",
    help: "An SMTP client by its address, or a network of them.",
    example: "192.0.2.7 or 192.0.2.0/24",
  },
  sender: {
    text: "Sender",
    help: "This address of the domain, whoever sends; messages that use no other one of it.",
    example: "cron@example.com",
  },
};

// Of an exemption, or of one that is suggested: what it goes by.
export const kindOf = ({ kind, local }) => kinds[kind].text + (local ? ", on this host alone" : "");

export function addExemption(names) {
  return dialog({
    title: "Add an exemption",
    text: "What fits it may send as the domain without a key.",
    fields: [
      ...(names.length > 1
        ? [{ name: "domain", label: "Domain", type: "select", required: true, options: names }]
        : []),
      {
        name: "kind",
        label: "By",
        type: "choice",
        options: Object.entries(kinds).map(([value, { text, help, example }]) => ({
          value,
          text,
          help: `${help} As ${example}.`,
        })),
      },
      { name: "value", label: "Which one", required: true },
      {
        name: "local",
        label: "On this host alone",
        type: "checkbox",
        value: true,
        help: "Mail that is handed to sendmail(1), or comes from a loopback address.",
        when: (now) => now.kind === "sender",
      },
    ],
    submit: "Exempt",
    run: async (values) => {
      const made = await post("/admin/exemptions", { domain: names[0], ...values });
      notice(`${kinds[made.kind].text} ${made.value} is exempt.`);
      return made;
    },
  });
}

export function removeExemption(exemption) {
  return confirm(
    "Remove the exemption?",
    `Mail of ${exemption.domain} by ${kinds[exemption.kind].text.toLowerCase()} ${exemption.value} meets the policy of the domain from now on.`,
    "Remove",
    async () => {
      await remove(path`/admin/exemptions/${exemption.id}`);
      notice("The exemption is removed.");
      return true;
    },
  );
}

export async function show(main, { session, query }) {
  const mayChange = session.operator && session.owner;
  const head = header(title, {
    about:
      "Logins, clients and addresses that may send as a domain without a key. They matter where the policy is exclusive.",
  });
  main.append(head);
  const [known, domains] = await Promise.all([companies(session), get("/admin/domains")]);
  const registered = domains.data.filter((one) => !one.pending);
  const ids = new Map(registered.map((one) => [one.name, one.id]));
  const names = [...ids.keys()].sort();
  const add = () => addExemption(names).then((made) => made && rows.reload());
  let all = [];
  const search = filters({
    query,
    fields: [
      { name: "search", label: "Search", type: "search", placeholder: "Domain, login, address, network" },
      ...known.filter(),
    ],
    change: () => rows.reload(),
  });
  const rows = list({
    caption: "Exemptions",
    load: async () => {
      all = (await get("/admin/exemptions")).data;
      const { search: typed, company } = search.values();
      search.element.hidden = all.length < 2;
      return {
        data: all.filter(
          (one) => matches(typed, one.domain, one.value, one.kind) && (!company || one.company_id === company),
        ),
        has_more: false,
      };
    },
    columns: [
      { title: "Who", kind: "main", cell: (row) => address(row.value) },
      { title: "By", cell: kindOf },
      {
        title: "Domain",
        cell: (row) => (ids.has(row.domain) ? link(row.domain, "domains", ids.get(row.domain)) : row.domain),
      },
      ...known.columns,
      { title: "Added", kind: "time", cell: (row) => time(row.created_at) },
      ...(mayChange
        ? [
            {
              title: "",
              kind: "actions",
              cell: (row) => danger("Remove", () => removeExemption(row).then((gone) => gone && rows.reload())),
            },
          ]
        : []),
    ],
    empty: () =>
      all.length
        ? empty("No exemption fits", "Change the search.")
        : empty(
            "No exemptions",
            names.length
              ? "A domain with the policy learn shows on its page what would need one."
              : "They belong to a domain, and there is none yet.",
            link("To the domains", "domains"),
          ),
  });
  if (mayChange && names.length) head.querySelector(".actions").append(primary("Add an exemption", add));
  main.append(search.element, rows.element);
  await rows.reload();
  return subscribe(["tenants"], rows.refresh);
}
