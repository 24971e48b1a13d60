// The companies: who owns domains, keys, users and emails.

import { subscribe } from "../live.js";
import { searched } from "../tenant.js";
import { counted, empty, header, link, place, primary, shortId, time } from "../elements.js";
import { addCompany } from "./domains.js";

export const title = "Companies";

export async function show(main, { session, query }) {
  const rows = searched({
    caption: title,
    noun: "company",
    nouns: "companies",
    from: "/admin/companies",
    query,
    known: { filter: () => [] },
    placeholder: "Name",
    href: (company) => place("companies", company.id),
    columns: [
      { title: "Company", kind: "main", sort: (company) => company.name, cell: (company) => company.name },
      {
        title: "Domains",
        kind: "number",
        sort: (company) => company.domains,
        sum: (company) => company.domains,
        isCounted: true,
        cell: (company) => link(counted(company.domains), "domains", { company: company.id }),
      },
      {
        title: "Keys",
        kind: "number",
        sort: (company) => company.keys,
        sum: (company) => company.keys,
        isCounted: true,
        cell: (company) => link(counted(company.keys), "keys", { company: company.id }),
      },
      { title: "Id", kind: "extra", cell: (company) => shortId(company.id) },
      { title: "Added", kind: "time", sort: (company) => company.created_at, cell: (company) => time(company.created_at) },
    ],
    empty: (isNarrowed) =>
      isNarrowed
        ? empty("No company matches", "Change the search.")
        : empty(
            "No company yet",
            "Domains and keys belong to a company. Add the first one.",
            ...(session.owner ? [primary("Add a company", addCompany)] : []),
          ),
  });
  main.append(
    header(title, {
      about: "A company owns domains, keys and users. Its members see what is theirs, and nothing else.",
      actions: session.owner ? [primary("Add a company", addCompany)] : [],
    }),
    rows.search,
    rows.element,
  );
  await rows.reload();
  return subscribe(["tenants"], rows.refresh);
}
