// What the pages of companies share: whose something is, in words and in forms,
// and the lists of what they have.

import { get, path } from "./api.js";
import { filters, el, link, list, shortId } from "./ui.js";

// What combo.js finds: the names of what the server has, and whose it is.
const FOUND = 20;
const found = async (from, asked, optionOf) => {
  const { data, has_more: isMore } = await get(from, { ...asked, limit: FOUND });
  return { options: data.map(optionOf), isMore };
};
const companyOption = ({ id, name }) => ({ value: id, text: name });
export const companyPick = {
  type: "pick",
  find: (search) => found("/admin/companies", { search }, companyOption),
  optionOf: async (id) => companyOption(await get(path`/admin/companies/${id}`)),
};
// Of the company that is chosen in the same form, if one is.
const companyOf = ({ company_id, company }) => company_id ?? company ?? "";
export const domainPick = {
  type: "pick",
  of: companyOf,
  find: async (search, values) =>
    found("/admin/domains", { search, company_id: companyOf(values) }, (one) => ({ value: one.name, text: one.name, about: one.company_name })),
};
const keyOption = (key) => ({
  value: key.id,
  text: key.name || `Key ${key.id.slice(0, 8)}`,
  about: [key.company_name, key.domain].filter(Boolean).join(" · "),
});
export const keyPick = {
  type: "pick",
  of: companyOf,
  find: (search, values) =>
    found("/admin/keys", { search, valid: true, company_id: companyOf(values) }, keyOption),
  optionOf: async (id) => keyOption(await get(path`/admin/keys/${id}`)),
};

// Names by id, and the columns and fields that only operators need. Fewer companies than a select can
// have are one.
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

// Whose a row of a list is: operators are told the name.
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
  { value: "own", text: "this name alone", help: "Subdomains are not protected, unless they are registered themselves." },
  {
    value: "covered",
    text: "and all names below it",
    help: "Subdomains that are registered themselves keep their own rules.",
  },
];

// A list() of what a route answers, with a search, which stays hidden until there
// is much to be searched, or something is. The server searches; asked(values) is
// what it is asked for besides; changed() is called after another filter;
// empty(isNarrowed) tells that there is none.
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
  search.element.hidden = true;
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
      return answer;
    },
  });
  return { ...rows, search: search.element };
}

// The text contains all words that were typed, in any order.
export function matches(typed, ...texts) {
  const text = texts.join(" ").toLowerCase();
  return (typed ?? "")
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
