// The domains of the companies, and the companies.

import { get, path, post, remove } from "../api.js";
import { subscribe } from "../live.js";
import { companies, policies, searched, subdomains } from "../tenant.js";
import {
  badge,
  button,
  confirm,
  danger,
  dialog,
  el,
  empty,
  go,
  header,
  link,
  list,
  notice,
  number,
  place,
  primary,
  section,
  shortId,
  time,
} from "../ui.js";

export const title = "Domains";

export const stateOf = (domain) =>
  domain.pending
    ? badge("pending", { text: "asked for", title: "The company asked for it; an operator has to activate it" })
    : domain.active
      ? badge("active")
      : badge("off", { title: "Nobody can send as it; its name stays protected" });

// The server counts that far.
const counted = (n) => (n < 1000 ? number(n) : `${number(n)} or more`);

function askForDomain() {
  return dialog({
    title: "Ask for a domain",
    text: "An operator of this server has to activate it before anybody can send as it.",
    fields: [{ name: "name", label: "Domain", required: true, placeholder: "example.com" }],
    submit: "Ask for it",
    run: (values) => post("/admin/domains", values),
  });
}

function addDomain(known) {
  return dialog({
    title: "Add a domain",
    fields: [
      { name: "name", label: "Domain", required: true, placeholder: "news.example.com" },
      ...known.fields({ required: true }),
      { name: "policy", label: "Who may send as it", type: "choice", options: policies, value: "learn" },
      { name: "subdomains", label: "Which names", type: "choice", options: subdomains },
    ],
    submit: "Add the domain",
    run: (values) => post("/admin/domains", values),
  });
}

function addCompany(done) {
  return dialog({
    title: "Add a company",
    text: "A company owns domains, keys and users, and sees only its own.",
    fields: [{ name: "name", label: "Name", required: true, placeholder: "Acme" }],
    submit: "Add the company",
    run: (values) => post("/admin/companies", values),
    done,
  });
}

export async function show(main, { session, query }) {
  const head = header(title, {
    about: "Who may send as which name, and what is in force for mail that comes without a key.",
  });
  main.append(head);
  let known = await companies(session);

  async function add() {
    const added = await (session.operator ? addDomain(known) : askForDomain());
    if (added) go("domains", added.id);
  }
  const nothing = () =>
    session.operator && known.all.length === 0
      ? empty(
          "No company yet",
          "Domains and keys belong to a company. Add the first one.",
          ...(session.owner ? [primary("Add a company", newCompany)] : []),
        )
      : empty(
          "No domain yet",
          session.operator
            ? "Add the domain that your programs send as; a subdomain of its own is best."
            : "Ask for the domain that your programs send as.",
          ...(session.owner ? [primary(session.operator ? "Add a domain" : "Ask for a domain", add)] : []),
        );

  const rows = searched({
    caption: "Domains",
    from: "/admin/domains",
    query,
    known,
    placeholder: "Name",
    href: (domain) => place("domains", domain.id),
    columns: [
      { title: "Domain", kind: "main", cell: (domain) => domain.name },
      { title: "State", kind: "state", cell: stateOf },
      {
        title: "Policy",
        words: ["policy", "exclusive", "shared", "learn"],
        kind: "state",
        cell: (domain) =>
          domain.pending ? null : badge(domain.policy, { tone: domain.policy === "learn" ? "warn" : "none" }),
      },
      {
        title: "Subdomains",
        kind: "extra",
        cell: (domain) => (domain.subdomains === "covered" ? "covered" : "not covered"),
      },
      ...known.columns,
      { title: "Added", kind: "time", cell: (domain) => time(domain.created_at) },
    ],
    empty: (isNarrowed) => (isNarrowed ? empty("No domain fits", "Change the search.") : nothing()),
  });

  function newCompany() {
    return addCompany((made) => {
      notice(`${made.name} is there. Next: its domain.`);
      return refresh();
    });
  }
  const companyRows = list({
    caption: "Companies",
    load: (after, limit = 50) => get("/admin/companies", { after, limit }),
    columns: [
      { title: "Company", kind: "main", cell: (company) => company.name },
      { title: "Domains", kind: "number", cell: (company) => counted(company.domains) },
      { title: "Keys", kind: "number", cell: (company) => link(counted(company.keys), "keys", { company: company.id }) },
      { title: "Id", kind: "extra", cell: (company) => shortId(company.id) },
      { title: "Added", kind: "time", cell: (company) => time(company.created_at) },
      ...(session.owner
        ? [{ title: "", kind: "actions", cell: (company) => danger("Remove", () => removeCompany(company)) }]
        : []),
    ],
    empty: el("p.muted", "None yet."),
  });
  const removeCompany = (company) =>
    confirm(
      `Remove ${company.name}?`,
      "Its domains, keys, users and exemptions go with it, at once. Its emails stay on record.",
      "Remove the company",
      () => remove(path`/admin/companies/${company.id}`),
      refresh,
    );

  async function refresh() {
    known = await companies(session);
    await rows.refresh();
    await companyRows.refresh();
  }

  if (session.owner) {
    const actions = head.querySelector(".actions");
    if (!session.operator) actions.append(primary("Ask for a domain", add));
    else
      actions.append(
        button("Add a company", newCompany),
        primary("Add a domain", () => (known.all.length ? add() : newCompany())),
      );
  }
  main.append(rows.search, rows.element);
  await rows.reload();
  if (session.operator) {
    main.append(
      section("Companies", { about: "Their members see what is theirs, and nothing else." }, companyRows.element),
    );
    await companyRows.reload();
  }
  return subscribe(["tenants"], refresh);
}
