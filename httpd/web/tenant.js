// What the pages of companies share: whose something is, in words and in forms,
// and the lists of what they have.

import { get } from "./api.js";
import { el, filters, list, shortId } from "./ui.js";

// Names by id, and the columns and fields that only operators need.
export async function companies(session) {
  const all = (await get("/admin/companies")).data;
  const names = new Map(all.map((company) => [company.id, company.name]));
  // One that was added since has its id for a name.
  const name = (id) => names.get(id) ?? shortId(id);
  return {
    all,
    names,
    name,
    columns: session.operator
      ? [
          {
            title: "Company",
            kind: "extra is-name",
            cell: (row) => (row.company_id ? name(row.company_id) : el("span.muted", "–")),
          },
        ]
      : [],
    fields: (spec = {}) =>
      session.operator
        ? [
            {
              name: "company_id",
              label: "Company",
              type: "select",
              options: all.map((company) => ({ value: company.id, text: company.name })),
              ...spec,
            },
          ]
        : [],
    // For filters.
    filter: () =>
      session.operator && all.length > 1
        ? [
            {
              name: "company",
              label: "Company",
              type: "select",
              options: [{ value: "", text: "All companies" }, ...all.map((one) => ({ value: one.id, text: one.name }))],
            },
          ]
        : [],
  };
}

export const policies = [
  {
    value: "learn",
    text: "learn",
    help: "All mail passes, and what exclusive would stop is recorded. Begin with this where you do not know yet who sends.",
  },
  {
    value: "exclusive",
    text: "exclusive",
    help: "Only API keys of the company and what is exempt may send as the domain. Everything else that this host would send is refused, or held where it was submitted on the host.",
  },
  {
    value: "shared",
    text: "shared",
    help: "The rules are for API keys alone. For a domain in which people have mailboxes: whoever may send through this host may use it.",
  },
];

export const subdomains = [
  { value: "own", text: "this name alone", help: "Subdomains are nobody's, unless they are registered themselves." },
  {
    value: "covered",
    text: "and all names below it",
    help: "Those that are registered themselves keep their own rules.",
  },
];

// A list() of all rows that a route answers, with a search, which stays hidden
// until there is much to be searched, or something is. texts(row) is what is
// searched; fits(row, values) narrows by more fields; empty(all) tells that there
// is none.
export function searched({
  from,
  query,
  known,
  placeholder,
  fields = [],
  texts,
  fits = () => true,
  isFew = (all) => all.length < 2,
  empty,
  ...options
}) {
  let all = [];
  const search = filters({
    query,
    fields: [{ name: "search", label: "Search", type: "search", placeholder }, ...known.filter(), ...fields],
    change: () => rows.reload(),
  });
  search.element.hidden = true;
  const rows = list({
    ...options,
    empty: () => empty(all),
    load: async () => {
      all = (await get(from)).data;
      const now = search.values();
      search.element.hidden &&= isFew(all) && !Object.values(now).some(Boolean);
      const isWanted = (row) =>
        matches(now.search, ...texts(row)) && (!now.company || row.company_id === now.company) && fits(row, now);
      return { data: all.filter(isWanted), has_more: false };
    },
  });
  return { ...rows, search: search.element, all: () => all };
}

// The text contains all words that were typed, in any order.
export function matches(typed, ...texts) {
  const text = texts.join(" ").toLowerCase();
  return (typed ?? "")
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
