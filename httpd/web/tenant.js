// What the pages of a company's objects share: the owner, as text and in forms, and their lists.

import { get, path } from "./api.js";
import { el, endOf, link, shortId } from "./elements.js";
import { filters } from "./forms.js";
import { list, remembered } from "./lists.js";

// The options for combo.js: names of objects, with their owner.
const FOUND = 20;
const found = async (from, asked, optionOf) => {
  const { data, has_more: isMore } = await get(from, { ...asked, limit: FOUND });
  return { options: data.map(optionOf).filter(Boolean), isMore };
};
const companyOption = ({ id, name }) => ({ value: id, text: name });
export const companyPick = {
  type: "pick",
  find: (search) => found("/admin/companies", { search }, companyOption),
  optionOf: async (id) => companyOption(await get(path`/admin/companies/${id}`)),
};
// Of the company that is chosen in the same form, if any.
const companyOf = ({ company_id, company }) => company_id ?? company ?? "";
export const domainPick = {
  type: "pick",
  of: companyOf,
  find: async (search, values, asked) =>
    found("/admin/domains", { search, company_id: companyOf(values), ...asked }, (one) => ({ value: one.name, text: one.name, about: one.company_name })),
};
const keyOption = (key) => ({
  value: key.id,
  text: key.name || `Key ${endOf(key.id)}`,
  about: [key.company_name, key.domain].filter(Boolean).join(" · "),
});
export const keyPick = {
  type: "pick",
  of: companyOf,
  // fits(key): true if the key is offered.
  find: (search, values, fits = () => true) =>
    found("/admin/keys", { search, valid: true, company_id: companyOf(values) }, (key) => fits(key) && keyOption(key)),
  optionOf: async (id) => keyOption(await get(path`/admin/keys/${id}`)),
};

// Names by id, and the columns and fields that only operators need. While there are few companies,
// they are options of a select.
const FEW = 12;
export async function companies(session) {
  const { data: all, has_more: isMany } = await get("/admin/companies", { limit: FEW });
  const field = isMany
    ? companyPick
    : { type: "select", options: all.map((company) => ({ value: company.id, text: company.name })) };
  return {
    all,
    isMany,
    columns: session.operator
      ? [
          {
            title: "Company",
            kind: "name",
            sort: (row) => row.company_id && nameOf(row),
            cell: (row) => (row.company_id ? link(nameOf(row), "companies", row.company_id) : el("span.muted", "–")),
          },
        ]
      : [],
    fields: (spec = {}) =>
      session.operator ? [{ name: "company_id", label: "Company", ...field, ...spec }] : [],
    // For filters.
    filter: () =>
      session.operator && all.length > 1
        ? [
            {
              name: "company",
              label: "Company",
              ...(isMany
                ? { ...companyPick, any: "All companies" }
                : { type: "select", options: [{ value: "", text: "All companies" }, ...field.options] }),
            },
          ]
        : [],
  };
}

// The owner of a row: only operators need the name.
export const nameOf = (row) => row.company_name ?? shortId(row.company_id);

export const policies = [
  {
    value: "learn",
    text: "learn",
    help: "All mail passes, and what exclusive would stop is recorded. Start with this if you do not know yet who sends as the domain.",
  },
  {
    value: "exclusive",
    text: "exclusive",
    help: "Only API keys of the company and what is exempt may send as the domain. Everything else that this host would send is refused, or held where it was submitted on the host.",
  },
  {
    value: "shared",
    text: "shared",
    help: "The rules apply to API keys alone; whoever else may send through this host may use the domain. For domains in which people have mailboxes.",
  },
];

export const subdomains = [
  { value: "own", text: "only this domain", help: "Its subdomains are not protected, unless they have an entry of their own." },
  {
    value: "covered",
    text: "this domain and its subdomains",
    help: "A subdomain with its own entry keeps its own rules.",
  },
];

// A list() of a route, with a search, which stays hidden until there are many rows, or a search is
// active. The server searches. asked(values) returns further parameters; changed() is called after
// a change of the filters; empty(isNarrowed) returns the text for an empty list.
export function searched({
  from,
  query,
  known,
  placeholder,
  fields = [],
  asked = () => ({}),
  isFew = ({ data }) => data.length < 2,
  changed = () => {},
  empty,
  ...options
}) {
  const search = filters({
    query,
    fields: [{ name: "search", label: "Search", type: "search", placeholder }, ...known.filter(), ...fields],
    change: () => {
      changed();
      return rows.reload();
    },
  });
  const isNarrowed = () => Object.values(search.values()).some(Boolean);
  const kept = remembered();
  search.element.hidden = !kept.has("search");
  const rows = list({
    ...options,
    empty: () => empty(isNarrowed()),
    load: async (after, limit = 50) => {
      const now = search.values();
      const answer = await get(from, {
        search: now.search,
        company_id: now.company,
        ...asked(now),
        after,
        limit,
      });
      if (search.element.hidden)
        search.element.hidden = !isNarrowed() && !answer.has_more && (await isFew(answer));
      if (!search.element.hidden) kept.set("search", true);
      return answer;
    },
  });
  return { ...rows, search: search.element };
}

// True if the text contains all words that were typed, in any order.
export function matches(typed, ...texts) {
  const text = texts.join(" ").toLowerCase();
  return (typed ?? "")
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
