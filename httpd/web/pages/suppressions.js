// Suppressed addresses: to whom a company sends nothing, and why.

import { get, post, remove } from "../api.js";
import { subscribe } from "../live.js";
import { suppressionReasons } from "../labels.js";
import { companies, domainPick } from "../tenant.js";
import { badge, button, count, danger, el, empty, header, link, notice, number, primary, time } from "../elements.js";
import { confirm, dialog, filters } from "../forms.js";
import { choosing, list } from "../lists.js";

export const title = "Suppressed addresses";

const PAGE = 50;
const LOOKS_MAX = 200; // of 5,000 entries each
const BATCH = 500;

// A search that has found little continues by itself, and shows how far it is.
async function lookOn(asked, after, limit, isWanted, tell) {
  const data = [];
  for (let n = 1; ; n++) {
    const answer = await get("/admin/suppressions", { ...asked, after, limit });
    data.push(...answer.data);
    if (!answer.next || data.length >= limit || n === LOOKS_MAX || !isWanted()) return { ...answer, data };
    after = answer.next;
    tell(`Still looking: ${number(n * 5000)} entries so far, ${number(data.length)} found.`);
  }
}

async function add(known, address) {
  return dialog({
    title: "Suppress addresses",
    text: "From now on emails to these addresses are accepted but not sent, scheduled ones included.",
    fields: [
      ...known.fields({ required: true }),
      {
        name: "addresses",
        label: "Addresses",
        type: "textarea",
        rows: 5,
        value: address,
        required: true,
        placeholder: "ann@example.net",
        help: "One or more, separated by spaces, commas or line breaks.",
      },
      {
        ...domainPick,
        name: "domain",
        label: "Domain",
        help: "Only for what is sent as this domain.",
        any: "All domains of the company",
      },
      { name: "text", label: "Why", help: "A note for later." },
    ],
    submit: "Suppress them",
    run: async ({ addresses, company_id, domain, text }) => {
      const all = [...new Set((addresses ?? "").split(/[\s,;]+/).filter(Boolean))];
      let added = 0;
      for (let i = 0; i < all.length; i += BATCH) {
        const part = all.slice(i, i + BATCH).map((one) => ({ address: one, text }));
        try {
          added += (await post("/admin/suppressions/batch", { company_id, domain, suppressions: part })).added;
        } catch (error) {
          // The index in the server's error counts within one request.
          const [, n] = /^Suppressions\[(\d+)\]/i.exec(error.message) ?? [];
          if (n === undefined) throw error;
          const done = i ? ` The first ${number(i)} were added.` : " None was added.";
          throw Object.assign(new Error(`“${part[n].address}” is not an email address.${done}`), { field: "addresses" });
        }
      }
      const before = all.length - added;
      notice(`${count(added, "address is", "addresses are")} suppressed now${before ? `, ${number(before)} ${before === 1 ? "was" : "were"} already listed` : ""}.`);
    },
  });
}

// Saves the whole list as a file, page by page.
async function download(asked, button) {
  const parts = [];
  let after;
  let lines = 0;
  do {
    const page = await get("/admin/suppressions/csv", { ...asked, after });
    parts.push(page.csv);
    lines += page.lines;
    after = page.next;
    button.textContent = after ? `${number(lines)} so far …` : "Download CSV";
  } while (after);
  const url = URL.createObjectURL(new Blob(parts, { type: "text/csv" }));
  Object.assign(document.createElement("a"), { href: url, download: "suppressions.csv" }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
  notice(`${count(lines, "entry is", "entries are")} in suppressions.csv.`);
}

export const release = (entry, done) =>
  confirm(
    `Send to ${entry.address} again?`,
    `From the next email on. ${
      { bounce: "If the mailbox is still not there, the next bounce puts the address back.", complaint: "Sending again to somebody who complained harms the reputation of your mail." }[entry.reason] ?? ""
    }`,
    "Remove the entry",
    () => remove(`/admin/suppressions/${encodeURIComponent(entry.id)}`),
    () => {
      notice(`The entry for ${entry.address} is removed.`);
      return done();
    },
  );

export async function show(main, { session, query }) {
  const known = await companies(session);
  const mayChange = session.owner;
  const progress = el("p.list-note.muted", { role: "status" });
  let visit = 0;

  const search = filters({
    query,
    fields: [
      { name: "search", label: "Search", type: "search", placeholder: "Address, or a part of it" },
      { name: "reason", label: "Reason", type: "select", options: [{ value: "", text: "All reasons" }, ...Object.entries(suppressionReasons).map(([value, { text }]) => ({ value, text }))] },
      { name: "domain", label: "Domain", type: "search", placeholder: "example.com" },
      ...known.filter(),
    ],
    change: () => {
      chosen.clear();
      return rows.reload();
    },
  });
  const asked = () => {
    const { search: typed, company, ...rest } = search.values();
    return { ...rest, company_id: company, search: typed };
  };
  const isNarrowed = () => Object.values(search.values()).some(Boolean);

  async function load(after, limit = PAGE) {
    const mine = ++visit;
    const isWanted = () => mine === visit && main.isConnected;
    const { search: typed, ...rest } = asked();
    try {
      // A whole address is found by an index.
      if (!after && /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(typed ?? "")) {
        const found = await get("/admin/suppressions", { ...rest, address: typed });
        if (found.data.length) return found;
      }
      return await lookOn(asked(), after, limit, isWanted, (text) => isWanted() && (progress.textContent = text));
    } finally {
      if (mine === visit) progress.textContent = "";
    }
  }

  const chosen = choosing((all) =>
    danger(`Remove ${number(all.length)}`, () =>
      confirm(
        `Remove ${count(all.length, "entry", "entries")}?`,
        "Emails are sent to these addresses again, from the next one on. What bounces again is put back.",
        "Remove them",
        async () => {
          for (let i = 0; i < all.length; i += BATCH)
            await post("/admin/suppressions/remove", { suppressions: all.slice(i, i + BATCH).map(({ id }) => ({ id })) });
        },
        async () => {
          notice(`${count(all.length, "entry is", "entries are")} removed.`);
          chosen.clear();
          await rows.reload();
        },
      ),
    ),
  );

  const rows = list({
    caption: "Suppressed addresses",
    noun: "address",
    nouns: "addresses",
    load,
    columns: [
      { title: "Address", kind: "main", cell: (row) => el("span.picked", mayChange && chosen.box(row, row.address), el("span.address", row.address)) },
      { title: "Reason", kind: "state", cell: ({ reason }) => badge(reason, { ...suppressionReasons[reason], title: suppressionReasons[reason].help }) },
      { title: "Since", kind: "time", cell: (row) => time(row.created_at) },
      { title: "Domain", kind: "name", cell: (row) => row.domain || el("span.muted", "all domains") },
      ...known.columns,
      {
        title: "Details",
        cell: (row) => row.text || row.email_id
          ? el("span", row.text && el("span.said-short", { title: row.text }, row.text), row.text && row.email_id && " ", row.email_id && link("The email", "emails", row.email_id))
          : null,
      },
      ...(mayChange ? [{ title: "", kind: "actions", cell: (row) => danger("Remove", () => release(row, async () => {
        chosen.drop(row);
        await rows.reload();
      })) }] : []),
    ],
    empty: () =>
      isNarrowed()
        ? empty("No address matches", "Change the search. Emails to addresses that are not listed are sent.")
        : empty(
            "No suppressed addresses",
            "Addresses that bounce and recipients who complain are added here automatically.",
          ),
  });

  const save = button("Download CSV", async () => {
    const now = asked();
    if (session.operator && !now.company_id && known.all.length === 1) now.company_id = known.all[0].id;
    if (!session.operator || now.company_id) return download(now, save);
    return dialog({
      title: "Which company's list?",
      fields: known.fields({ required: true }),
      submit: "Download",
      run: ({ company_id }) => download({ ...now, company_id }, save),
    });
  });
  const added = async () => {
    if (await add(known)) await rows.reload();
  };
  main.append(
    header(title, {
      words: ["suppressed", "complained"],
      about: "Emails are not sent to these addresses, because they bounced, or because the recipients complained or unsubscribed. Sending to them anyway makes providers treat all of your mail as spam.",
      actions: [save, ...(mayChange && known.all.length ? [primary("Suppress addresses", added)] : [])],
    }),
    search.element,
    chosen.line,
    progress,
    rows.element,
  );
  await rows.reload();
  // The user's selection and search stay as they are.
  return subscribe(["emails", "tenants"], () => (isNarrowed() || chosen.size() ? null : rows.refresh()), 4000);
}
