// What the pages of companies share: whose something is, in words and in forms,
// and the lists of what they have.

import { get } from "./api.js";
import { el, filters, list, shortId } from "./ui.js";

// Names by id, and the columns and fields that only operators need.
export async function companies(session) {
  // The first hundred by name: with more of them a field asks for the id.
  const { data: all, has_more: isMany } = await get("/admin/companies");
  return {
    all,
    isMany,
    columns: session.operator
      ? [
          {
            title: "Company",
            kind: "extra is-name",
            cell: (row) => (row.company_id ? nameOf(row) : el("span.muted", "–")),
          },
        ]
      : [],
    fields: (spec = {}) =>
      session.operator
        ? [
            {
              name: "company_id",
              label: "Company",
              ...(isMany
                ? { placeholder: "Its id, as the page Domains shows it" }
                : { type: "select", options: all.map((company) => ({ value: company.id, text: company.name })) }),
              ...spec,
            },
          ]
        : [],
    // For filters.
    filter: () =>
      session.operator && all.length > 1
        ? [
            choice(
              { name: "company", label: "Company", any: "All companies", placeholder: "Its id" },
              { data: all, has_more: isMany },
              (one) => ({ value: one.id, text: one.name }),
            ),
          ]
        : [],
  };
}

// Whose a row of a list is: operators are told the name.
export const nameOf = (row) => row.company_name ?? shortId(row.company_id);

// A filter by something of which an answer has the first page: a choice of all, or
// with more of them a field to type it into.
export const choice = ({ any, placeholder, ...spec }, { data, has_more }, optionOf) =>
  has_more
    ? { ...spec, type: "search", placeholder }
    : { ...spec, type: "select", options: [{ value: "", text: any }, ...data.map(optionOf)] };

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
