// Exemptions: who may send as a domain without a key, in spite of its policy.

import { get, path, post, remove } from "../api.js";
import { subscribe } from "../live.js";
import { companies, domainPick, searched } from "../tenant.js";
import { address, button, count, danger, el, empty, header, link, notice, number, primary, time } from "../elements.js";
import { confirm, dialog } from "../forms.js";
import { list, table } from "../lists.js";

export const title = "Exemptions";

const kinds = {
  login: { text: "Login", help: "Mail from this login of Postfix (SASL).", example: "ann@example.com" },
  client: {
    text: "Client",
    help: "Mail from an SMTP client at this IP address, or in this network.",
    example: "192.0.2.7 or 192.0.2.0/24",
  },
  sender: {
    text: "Sender",
    help: "Mail from this address, whoever sends it. The message may use no other address of the domain.",
    example: "cron@example.com",
  },
};

// Columns of exemptions and of suggested ones.
const columns = [
  { title: "Who", kind: "main", sort: (row) => row.value, cell: (row) => address(row.value) },
  { title: "Kind", sort: (row) => row.kind, cell: ({ kind, local }) => kinds[kind].text + (local ? ", only from this host" : "") },
];
const added = { title: "Added", kind: "time", sort: (row) => row.created_at, cell: (row) => time(row.created_at) };

// The last column, for users who may change something.
const action = (mayChange, cell) => (mayChange ? [{ title: "", kind: "actions", cell }] : []);

async function exempt(domain, { kind, value, local }) {
  const made = await post("/admin/exemptions", { domain, kind, value, local });
  notice(`${made.value} may send as ${domain} now.`);
  return made;
}

// Suggestions: the exemptions that mail of the domain would need, each with a button.
export function suggestions({ domain, rows, mayChange, changed, empty: nothing }) {
  const exemptIt = async (row) => {
    await exempt(domain, row);
    await changed();
  };
  return table({
    caption: `Exemptions that mail of ${domain} would need`,
    noun: "sender",
    rows,
    key: (row) => `${row.kind} ${row.value} ${row.local}`,
    columns: [
      ...columns,
      { title: "Messages", kind: "number", sort: (row) => row.count, sum: (row) => row.count, cell: (row) => number(row.count) },
      { title: "Last", kind: "time", sort: (row) => row.last_at, cell: (row) => time(row.last_at) },
      ...action(mayChange, (row) => button("Exempt", () => exemptIt(row))),
    ],
    empty: nothing,
  }).element;
}

// As many suggestions as one request takes, the most needed first; the page then shows the rest.
export async function exemptAll(domain, rows) {
  const exemptions = rows.slice(0, 200).map(({ kind, value, local }) => ({ kind, value, local }));
  const { data } = await post("/admin/exemptions/batch", { domain, exemptions });
  notice(`${count(data.length, "exemption")} added.`);
}

// A list() of the exemptions of one domain.
export const exemptions = ({ domain, mayChange, changed }) =>
  list({
    caption: "Exemptions",
    noun: "exemption",
    load: (after, limit = 50) => get("/admin/exemptions", { domain, after, limit }),
    columns: [...columns, added, ...action(mayChange, (row) => danger("Remove", () => removeExemption(row, changed)))],
    empty: el("p.muted", "No exemptions: the policy applies to all mail without a key."),
  });

// For one domain, or for a domain that the user chooses.
export function addExemption(changed, only) {
  return dialog({
    title: "Add an exemption",
    text: "Mail that matches may use the domain without a key.",
    fields: [
      ...(only ? [] : [{ ...domainPick, name: "domain", label: "Domain", required: true }]),
      {
        name: "kind",
        label: "Kind",
        type: "choice",
        options: Object.entries(kinds).map(([value, { text, help, example }]) => ({
          value,
          text,
          help: `${help} Example: ${example}.`,
        })),
      },
      { name: "value", label: "Value", required: true },
      {
        name: "local",
        label: "Only from this host",
        type: "checkbox",
        value: true,
        help: "From sendmail(1), or over a loopback address.",
        when: (now) => now.kind === "sender",
      },
    ],
    submit: "Exempt",
    run: ({ domain = only, ...values }) => exempt(domain, values),
    done: changed,
  });
}

function removeExemption(exemption, changed) {
  return confirm(
    "Remove the exemption?",
    `From now on the policy of ${exemption.domain} applies to mail from ${kinds[exemption.kind].text.toLowerCase()} ${exemption.value}.`,
    "Remove",
    async () => {
      await remove(path`/admin/exemptions/${exemption.id}`);
      notice("The exemption is removed.");
    },
    changed,
  );
}

export async function show(main, { session, query }) {
  const mayChange = session.operator && session.owner;
  const head = header(title, {
    words: ["exemption", "policy", "exclusive", "learn"],
    about:
      "Logins, clients and addresses that may send as a domain without a key, in spite of its policy.",
  });
  main.append(head);
  const [known, domains] = await Promise.all([companies(session), get("/admin/domains")]);
  const registered = domains.data.filter((one) => !one.pending);
  const ids = new Map(registered.map((one) => [one.name, one.id]));
  const names = [...ids.keys()].sort();
  const rows = searched({
    caption: "Exemptions",
    noun: "exemption",
    from: "/admin/exemptions",
    query,
    known,
    placeholder: "Domain, login, address, network",
    columns: [
      ...columns,
      {
        title: "Domain",
        sort: (row) => row.domain,
        cell: (row) =>
          ids.has(row.domain)
            ? link(row.domain, "domains", ids.get(row.domain))
            : link(row.domain, "domains", { search: row.domain }),
      },
      ...known.columns,
      added,
      ...action(mayChange, (row) => danger("Remove", () => removeExemption(row, () => rows.reload()))),
    ],
    empty: (isNarrowed) =>
      isNarrowed
        ? empty("No exemption matches", "Change the search.")
        : empty(
            "No exemptions",
            names.length
              ? "The page of a domain with the policy learn suggests the exemptions that it needs."
              : "An exemption belongs to a domain. Add a domain first.",
            link("Go to the domains", "domains"),
          ),
  });
  const add = () => addExemption(() => rows.reload());
  if (mayChange && names.length) head.querySelector(".actions").append(primary("Add an exemption", add));
  main.append(rows.search, rows.element);
  await rows.reload();
  return subscribe(["tenants"], rows.refresh);
}
