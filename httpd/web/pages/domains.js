// The domains of the companies.

import { post } from "../api.js";
import { subscribe } from "../live.js";
import { companies, policies, searched, subdomains } from "../tenant.js";
import { badge, button, empty, go, header, notice, place, primary, time } from "../elements.js";
import { dialog } from "../forms.js";

export const title = "Domains";

export const stateOf = (domain) =>
  domain.pending
    ? badge("pending", { text: "requested", title: "Requested by the company. An operator has to activate it." })
    : domain.active
      ? badge("active")
      : badge("off", { title: "Nobody can send as it. The name stays protected." });

function askForDomain() {
  return dialog({
    title: "Request a domain",
    text: "An operator has to activate it before anybody can send as it.",
    fields: [{ name: "name", label: "Domain", required: true, placeholder: "example.com" }],
    submit: "Request it",
    run: (values) => post("/admin/domains", values),
  });
}

function addDomain(known, company) {
  return dialog({
    title: "Add a domain",
    fields: [
      { name: "name", label: "Domain", required: true, placeholder: "news.example.com" },
      ...known.fields({ required: true, value: company }),
      { name: "policy", label: "Policy for mail without a key", type: "choice", options: policies, value: "learn" },
      { name: "subdomains", label: "Applies to", type: "choice", options: subdomains },
    ],
    submit: "Add the domain",
    run: (values) => post("/admin/domains", values),
  });
}

export function addCompany() {
  return dialog({
    title: "Add a company",
    text: "A company owns domains, keys and users, and sees only its own.",
    fields: [{ name: "name", label: "Name", required: true, placeholder: "Acme" }],
    submit: "Add the company",
    run: (values) => post("/admin/companies", values),
    done: ({ id }) => go("companies", id),
  });
}

export async function show(main, { session, query }) {
  const head = header(title, {
    about: "Which names your emails come from, and what happens to mail that uses them without a key.",
  });
  main.append(head);
  const known = await companies(session);

  async function add(company = query.get("company") ?? undefined) {
    const added = await (session.operator ? addDomain(known, company) : askForDomain());
    if (added) go("domains", added.id);
  }
  const nothing = () =>
    session.operator && known.all.length === 0
      ? empty(
          "No company yet",
          "Domains and keys belong to a company. Add the first one.",
          ...(session.owner ? [primary("Add a company", addCompany)] : []),
        )
      : empty(
          "No domain yet",
          session.operator
            ? "Add the domain that your emails come from. A subdomain used only for these emails works best, such as news.example.com."
            : "Request the domain that your emails come from.",
          ...(session.owner ? [primary(session.operator ? "Add a domain" : "Request a domain", () => add())] : []),
        );

  const rows = searched({
    caption: "Domains",
    noun: "domain",
    from: "/admin/domains",
    query,
    known,
    placeholder: "Name",
    href: (domain) => place("domains", domain.id),
    columns: [
      { title: "Domain", kind: "main", sort: (domain) => domain.name, cell: (domain) => domain.name },
      { title: "State", kind: "state", words: ["requested"], sort: (domain) => (domain.pending ? "requested" : domain.active ? "active" : "off"), cell: stateOf },
      {
        title: "Policy",
        words: ["policy", "exclusive", "shared", "learn"],
        kind: "state",
        sort: (domain) => (domain.pending ? "" : domain.policy),
        cell: (domain) =>
          domain.pending ? null : badge(domain.policy, { tone: domain.policy === "learn" ? "warn" : "none" }),
      },
      {
        title: "Subdomains",
        kind: "extra",
        cell: (domain) => (domain.subdomains === "covered" ? "covered" : "not covered"),
      },
      ...known.columns,
      { title: "Added", kind: "time", sort: (domain) => domain.created_at, cell: (domain) => time(domain.created_at) },
    ],
    empty: (isNarrowed) => (isNarrowed ? empty("No domain matches", "Change the search.") : nothing()),
  });

  if (session.owner) {
    const actions = head.querySelector(".actions");
    if (!session.operator) actions.append(primary("Request a domain", () => add()));
    else
      actions.append(
        button("Add a company", addCompany),
        primary("Add a domain", () => (known.all.length ? add() : addCompany())),
      );
  }
  main.append(rows.search, rows.element);
  await rows.reload();
  // Opens the form that a company's page linked to; not again when this page is reloaded.
  if (main.isConnected && query.has("create") && session.owner) {
    history.replaceState(history.state, "", place("domains", { company: query.get("company") }));
    add().catch((error) => notice(error.message, "bad"));
  }
  return subscribe(["tenants"], rows.refresh);
}
