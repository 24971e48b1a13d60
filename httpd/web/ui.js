// The building blocks of pages. Everything returns a DOM node, or an object with its node as
// `element`. Text is always inserted as text: no function takes HTML.
//
//   el("p.muted", "Since ", time(key.created_at))     an element, with classes
//   header("Keys", { actions: [button("Create a key", ask)] })
//   section("Recipients", table({...}).element)
//   list({ load, columns, empty })                    a table in pages that stays up to date
//   dialog({ title, fields, submit, run })            a form; shows errors at its fields
//   definitions([["Policy", badge("exclusive")], ...])
//
// Requests of a page may fail: show() may throw, and app.js shows the error.

import { Problem, target } from "./api.js";
import { combo } from "./combo.js";
import { textOf, toneOfCode } from "./labels.js";

// Elements.

const addresses = /^(#|\/(?!\/)|https?:\/\/|mailto:)/i;

function set(node, name, value) {
  if (value === undefined || value === null) return;
  if (name.startsWith("on")) {
    node.addEventListener(name.slice(2), value);
  } else if (name === "class") {
    node.classList.add(...String(value).split(" ").filter(Boolean));
  } else if (["value", "checked", "selected", "disabled", "hidden"].includes(name)) {
    node[name] = value;
  } else if (value !== false) {
    if (["href", "src", "action", "formaction"].includes(name) && !addresses.test(value))
      throw new Error(`${name}: ${value}`);
    node.setAttribute(name, value === true ? "" : value);
  }
}

// el("tag.class", { attributes, onclick }, ...children). Children are texts, numbers, nodes, or
// arrays of them; null and false are omitted.
export function el(kind, ...rest) {
  const [tag, ...classes] = kind.split(".");
  const node = document.createElement(tag);
  node.classList.add(...classes);
  const [first] = rest;
  if (first && typeof first === "object" && !Array.isArray(first) && !(first instanceof Node))
    for (const [name, value] of Object.entries(rest.shift())) set(node, name, value);
  node.append(...rest.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

// The hash of another page: place("emails", id), place("emails", { state: "bounced" })
export function place(...parts) {
  const query = typeof parts.at(-1) === "object" ? parts.pop() : {};
  return target("#/" + parts.map(encodeURIComponent).join("/"), query);
}

export function go(...parts) {
  location.hash = place(...parts);
}

export function link(text, ...parts) {
  return el("a", { href: place(...parts) }, text);
}

// Texts and values.

// A whole number: 1,234,567. Intl takes milliseconds for its first one.
export const number = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, ",");
// The server counts up to this number of rows that belong to an object.
const COUNTED_MAX = 1000;
export const counted = (n) => (n < COUNTED_MAX ? number(n) : `${number(n)} or more`);
export const count = (n, noun, nouns = `${noun}s`) =>
  `${number(n)} ${n === 1 ? noun : nouns}`;

const spans = [
  [60, 1, "s"],
  [3600, 60, "min"],
  [86400, 3600, "h"],
  [30 * 86400, 86400, "d"],
];

function ago(date) {
  const seconds = Math.round((Date.now() - date) / 1000);
  const [, unit, name] = spans.find(([below]) => Math.abs(seconds) < below) ?? [];
  if (!name) return exactTime(date).slice(0, "2026-11-22".length);
  if (Math.abs(seconds) < 5) return "now";
  const n = `${Math.floor(Math.abs(seconds) / unit)} ${name}`;
  return seconds < 0 ? `in ${n}` : `${n} ago`;
}

// With a leading zero: 07
export const two = (n) => String(n).padStart(2, "0");

// In the browser's time zone: 2026-11-22 13:45:11
export function exactTime(iso) {
  const d = new Date(iso);
  return (
    `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ` +
    `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`
  );
}

// A text of the server, with its times (in UTC) converted to the viewer's time zone.
export const withTimes = (text) =>
  text.split(/(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?Z)/).map((part, i) =>
    i % 2 ? time(part.replace(" ", "T"), { exact: true }) : part);

// How long ago a time was, kept up to date. Its title has the exact time, in the viewer's time zone
// and in UTC. null is shown as "never".
export function time(iso, { never = "never", exact = false } = {}) {
  if (!iso) return el("span.muted", never);
  return el(
    "time.number",
    { datetime: iso, title: `${exact ? "" : `${exactTime(iso)}, `}${iso.slice(0, 19).replace("T", " ")} UTC`, "data-ago": !exact },
    exact ? exactTime(iso) : ago(new Date(iso)),
  );
}

setInterval(() => {
  for (const node of document.querySelectorAll("time[data-ago]")) {
    const text = ago(new Date(node.dateTime));
    if (node.textContent !== text) node.textContent = text;
  }
}, 10000);

// A state in colour; labels.js has its text.
export function badge(state, { text, tone, title } = {}) {
  return el(
    `span.state.tone-${tone ?? toneOfCode(state)}`,
    { title },
    text ?? textOf(state),
  );
}

// A whole address. It may break anywhere, but is copied as one text.
export const address = (text) => el("span.address", text);

export async function copy(text) {
  if (navigator.clipboard && window.isSecureContext)
    return navigator.clipboard.writeText(text);
  // Browsers offer no clipboard over plain HTTP from another host.
  const field = el("textarea.visually-hidden", { readonly: true, value: text });
  (document.querySelector("dialog[open]") ?? document.body).append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  if (!done) throw new Problem("The browser does not let this page copy. Select the text and copy it.");
}

export function copyButton(text, { label = "Copy", title } = {}) {
  const node = el("button.btn.btn-sm.copy", { type: "button", title, "aria-label": title }, label);
  node.addEventListener("click", async (event) => {
    event.preventDefault();
    event.stopPropagation();
    try {
      await copy(text);
      node.textContent = "Copied";
    } catch (error) {
      notice(error.message, "bad");
    }
    setTimeout(() => (node.textContent = label), 1500);
  });
  return node;
}

// The first digits of an id, with a button that copies the whole id; href links to its object.
export function shortId(id, href) {
  const text = el(href ? "a" : "span", { href, title: id, class: "id" }, id.slice(0, 8));
  return el("span.with-copy", text, copyButton(id, { title: `Copy ${id}` }));
}

// Text to paste elsewhere, unchanged, with a copy button.
export function code(text, { label } = {}) {
  return el(
    "div.code",
    el("div.code-bar", el("span", label), copyButton(text, { title: label && `Copy: ${label}` })),
    el("pre", { tabindex: 0 }, text),
  );
}

// A token that is shown only once.
export function secret(label, text) {
  return el(
    "div.secret",
    el("div", el("strong", label), " It is shown only once. Save it now."),
    el("div.secret-text", el("code", text), copyButton(text, { title: `Copy ${label}` })),
  );
}

// Terms of the glossary (words.js) with their explanations.
export const explained = (glossary, names) =>
  el("dl.words", names.map((name) => [el("dt", name), el("dd", glossary[name])]));

// A question mark that explains terms of the glossary: help("held", "rejected"). The explanation is
// created on the first click.
export function help(...names) {
  const mark = el("button.help", { type: "button", "aria-label": `Explain: ${names.join(", ")}`, "aria-expanded": "false" }, "?");
  mark.addEventListener("click", async (event) => {
    event.preventDefault();
    event.stopPropagation();
    const { words: glossary } = await import("./words.js");
    const box = el("div.help-box", { popover: "auto", role: "region", "aria-label": "Glossary", tabindex: 0 },
      explained(glossary, names), el("p", el("a", { href: place("glossary"), onclick: () => box.hidePopover() }, "Glossary")));
    box.addEventListener("toggle", ({ newState }) => {
      if (newState !== "closed") return;
      mark.setAttribute("aria-expanded", "false");
      box.remove();
    });
    mark.after(box);
    mark.setAttribute("aria-expanded", "true");
    box.showPopover();
    const { left, bottom } = mark.getBoundingClientRect();
    box.style.left = `${Math.max(16, Math.min(left, innerWidth - box.offsetWidth - 16)) + scrollX}px`;
    box.style.top = `${bottom + 6 + scrollY}px`;
    box.focus();
  });
  return mark;
}

// Buttons. run may be async: the button waits for it, and shows its error.
export function button(text, run, { tone = "plain", title } = {}) {
  const node = el(`button.btn.btn-sm.btn-${tone}`, { type: "button", title }, text);
  let said;
  node.addEventListener("click", async (event) => {
    event.stopPropagation();
    const focused = document.activeElement === node;
    node.disabled = true;
    try {
      await run(event);
      said?.remove();
    } catch (error) {
      said?.remove();
      said = notice(error.message, "bad");
    } finally {
      node.disabled = false;
      // A disabled button loses the focus, and a dialog cannot return it. If its row is gone or
      // hidden, keyboard users continue at the title.
      if (focused && document.activeElement === document.body)
        (node.checkVisibility() ? node : document.querySelector("main h1"))?.focus();
    }
  });
  return node;
}
export const primary = (text, run) => button(text, run, { tone: "primary" });
export const danger = (text, run) => button(text, run, { tone: "danger" });

// Checkboxes that select rows of a list, and a line with the actions for all selected rows:
//
//   const chosen = choosing((rows) => danger(`Remove ${rows.length}`, ...));
//   chosen.box(row, name)    a checkbox, for the first cell of the row
//   chosen.line              the buttons, while a row is selected; chosen.clear()
export function choosing(actions) {
  const rows = new Map();
  const line = el("span.actions");
  function draw() {
    for (const box of document.querySelectorAll("main input.pick")) box.checked = rows.has(box.value);
    line.replaceChildren(...(rows.size ? [actions([...rows.values()])].flat() : []));
  }
  const choose = (row, isChosen) => {
    if (isChosen) rows.set(row.id, row);
    else rows.delete(row.id);
    draw();
  };
  return {
    line,
    size: () => rows.size,
    drop: (row) => choose(row, false),
    clear() {
      rows.clear();
      draw();
    },
    box: (row, name) =>
      el("input.form-check-input.pick", {
        type: "checkbox",
        value: row.id,
        checked: rows.has(row.id),
        "aria-label": `Choose ${name}`,
        onchange: ({ target }) => choose(row, target.checked),
      }),
  };
}

// The parts of a page.

// The title of the page, its actions, a line below it, and the terms that it explains.
export function header(title, { actions = [], about, back, words = [] } = {}) {
  return el(
    "header.page",
    back && el("p.back", el("a", { href: back.href }, "‹ ", back.text)),
    el("div.page-line", el("div.titled", el("h1", { tabindex: -1, title: title.length > 200 ? title : null }, title), words.length > 0 && help(...words)), el("div.actions", actions)),
    about && el("p.muted.about", about),
  );
}

// A part of a page with its own title. An object with options may be the first of the other
// arguments.
export function section(title, ...rest) {
  const plain = (x) => x && typeof x === "object" && !Array.isArray(x) && !(x instanceof Node);
  const { actions = [], about, words = [] } = plain(rest[0]) ? rest.shift() : {};
  const heading = el("h2", title);
  heading.id = `h-${Math.random().toString(36).slice(2, 9)}`;
  return el(
    "section.part",
    { "aria-labelledby": heading.id },
    el("div.part-line", el("div.titled", heading, words.length > 0 && help(...words)), el("div.actions", actions)),
    about && el("p.muted.about", about),
    rest,
  );
}

// [term, value] pairs; a pair whose value is null is omitted.
export function definitions(pairs) {
  return el(
    "dl.definitions",
    pairs
      .filter(([, value]) => value !== null && value !== undefined && value !== "")
      .map(([term, value]) => el("div", el("dt", term), el("dd", value))),
  );
}

// An empty state: what will be here, and the next step.
export function empty(title, text, ...actions) {
  return el("div.empty", el("p.empty-title", title), text && el("p", text), el("div.actions", actions));
}

// A highlighted text in the page.
export function remark(tone, ...children) {
  return el(`div.remark.tone-${tone}`, { role: tone === "bad" ? "alert" : null }, children);
}

// An error, in place of the content.
export function failure(error, again) {
  return remark("bad", el("span", error.message), again && button("Try again", again));
}

// A part of a page that loads independently: show() fills the box. An error is shown above the box,
// whose last content stays, and a temporary one is retried. Returns the function that shows the
// part; it never throws.
export function standalone(what, box, show) {
  const failed = el("div.failed", { hidden: true });
  let timer;
  box.before(failed);
  return async function run() {
    clearTimeout(timer);
    try {
      await show();
      failed.hidden = true;
    } catch (error) {
      if (error.status === 401) return;
      box.querySelector(":scope > .loading")?.remove();
      failed.replaceChildren(failure(new Problem(`${what} cannot be shown now. ${error.message}`), run));
      failed.hidden = false;
      if (mends(error)) timer = setTimeout(() => failed.isConnected && run(), AGAIN_MS);
    }
  };
}

export const loading = () => el("p.loading.muted", { role: "status" }, "Loading …");

// A message that disappears by itself; a "bad" one stays until it is closed, the same button
// succeeds, or the user leaves the page.
export function notice(text, tone = "good") {
  const close = el("button.close", { type: "button", "aria-label": "Close" }, "×");
  const node = el(`div.notice.tone-${tone}`, el("span", text), close);
  close.addEventListener("click", () => node.remove());
  const notices = document.getElementById("notices");
  // Behind an open dialog, screen readers would not announce it.
  const where = [...document.querySelectorAll("dialog[open]")].at(-1) ?? document.body;
  if (notices.parentNode !== where) where.append(notices);
  notices.append(node);
  if (tone === "bad") node.dataset.until = "left";
  else setTimeout(() => node.remove(), 6000);
  return node;
}

// Called when the user leaves the page: removes the messages that belong to it.
export function dropNotices() {
  for (const node of document.querySelectorAll("#notices [data-until=left]")) node.remove();
}

// Several views of one object: tabs([["Text", () => node], ...]). Each is created when it is first
// shown; the function may be async.
export function tabs(views, label) {
  const panel = el("div.tab-panel", { role: "tabpanel", tabindex: 0 });
  const made = new Map();
  const buttons = views.map(([title], i) =>
    el("button.tab", { type: "button", role: "tab", onclick: () => show(i) }, title),
  );
  async function show(i) {
    buttons.forEach((one, n) => {
      one.setAttribute("aria-selected", n === i);
      one.tabIndex = n === i ? 0 : -1;
    });
    panel.setAttribute("aria-label", views[i][0]);
    try {
      if (!made.has(i)) made.set(i, await views[i][1]());
    } catch (error) {
      panel.replaceChildren(failure(error, () => show(i)));
      return;
    }
    if (buttons[i].getAttribute("aria-selected") === "true") panel.replaceChildren(made.get(i));
  }
  const bar = el("div.tab-bar", { role: "tablist", "aria-label": label }, buttons);
  bar.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = (buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length;
    buttons[next].focus();
    show(next);
  });
  show(0);
  return el("div.tabs", bar, panel);
}

// Tables.

// The number of rows on a page of a table: one or two screens; on a phone, as many cards.
const narrow = matchMedia("(max-width: 48rem)");
const perPage = (most = Infinity) => Math.min(most, narrow.matches ? 10 : 25);

// Compares numbers by size and texts by the rules of the language; missing values come last.
function compare(a, b, isDown) {
  const isGone = (value) => value === null || value === undefined || value === "";
  if (isGone(a) || isGone(b)) return isGone(a) - isGone(b);
  const way = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
  return isDown ? -way : way;
}

// columns: { title, cell: (row) => text or node, kind, words, sort, sum }
//   words: the terms of the glossary that the title explains
//   kind: "main" takes the remaining width; "number", "time", "state" and "actions" are as narrow
//   as possible; "extra" is omitted on a phone
//   sort: (row) => a number or a text by which the table can be sorted. Numbers and times begin
//   with the largest
//   sum: (row) => a number: the last line has the total; total: (rows) => the content of that cell
//   instead; isCounted: the server counts up to COUNTED_MAX, so the total may be larger
// key: (row) => the identity of a row: rows that stay are not created again
// href: (row) => the target of a click on the row; the first column has the link
// noun, nouns: what the rows are, for the total; most: rows of a page
// tools: buttons below the table; exported: true adds a button that saves the rows as a file, a
// function exported(row) converts them
// order: { by: the title of a column, down }, the initial order; without it that of the rows
// loadOn: loads more rows, if not all are loaded; resolves with whether it did
// loadAll: loads all rows, which sorting needs; resolves with whether all are loaded
// keeps: a user who comes back to the page finds the same page of the table, in the same order
export function table({
  caption, columns, rows = [], key, href, empty: nothing, noun = "row", nouns = `${noun}s`,
  most, order: first, tools = [], exported = false, loadOn, loadAll, changed = () => {}, keeps = true,
}) {
  if (exported)
    tools = [...tools, exportButton(caption, exported.load ? exported : { load: async () => ({ data: exported === true ? all : all.map(exported) }), behind: () => null })];
  const body = el("tbody");
  const summed = columns.some((column) => column.sum);
  const sums = el("tr");
  const sorters = columns.map((column, i) => column.sort && el("button.sorter", { type: "button", onclick: () => sortBy(i) }, column.title));
  const titles = columns.map(({ title, kind, words = [] }, i) =>
    el("th", { scope: "col", class: kind ? `is-${kind}` : "", "data-title": title }, sorters[i] || title || el("span.visually-hidden", "Actions"), words.length > 0 && help(...words)),
  );
  const grid = el(
    "table.grid",
    caption && el("caption.visually-hidden", caption),
    el("thead", el("tr", titles)),
    body,
    summed && el("tfoot", sums),
  );
  // On a phone the table has no head.
  const choice = el("select.form-select.form-select-sm", { "aria-label": `Sort ${caption ?? "the table"} by`, onchange: () => sortBy(Number(choice.value)) },
    el("option", { value: -1 }, "Sort by …"),
    columns.map((column, i) => column.sort && el("option", { value: i }, column.title)),
  );
  const where = el("span.number", { role: "status" });
  const back = button("Previous", () => turn(page - 1));
  const on = button("Next", () => turn(page + 1));
  const pager = el("nav.pager", { "aria-label": `Pages of ${caption ?? "the table"}` }, where, el("span.actions", tools, back, on));
  const cut = el("p.muted.list-note", { hidden: true });
  const sorting = sorters.some(Boolean) && el("div.sort-choice", choice);
  const whole = el("div.table-box", sorting, cut, grid, pager);
  const element = el("div.table-part");
  let all = [];
  let shown = new Map();
  let lines = new Map();
  let isMore = false;
  let isNewest = false;
  let page = 0;
  let order = { by: columns.findIndex(({ title }) => first && title === first.by), down: first?.down ?? false };
  const kept = memory;
  const name = `table ${caption}`;
  let before = keeps ? kept.get(name) : null;
  const keep = () => {
    if (keeps) kept.set(name, { page, order });
    changed();
  };

  function cellOf(column, row, where) {
    let inner = column.cell(row);
    // On a phone a cell has two columns: its title and its content.
    if (Array.isArray(inner) && column.kind !== "actions") inner = el("span", inner);
    if (where) inner = el("a.row-link", { href: where }, inner);
    const isNone = inner === null || inner === undefined;
    const kinds = [column.kind && `is-${column.kind}`, isNone && "is-none"].filter(Boolean).join(" ");
    return el("td", { class: kinds, "data-title": column.title ?? "" }, isNone ? el("span.muted", "–") : inner);
  }

  function make(row) {
    const where = href?.(row);
    const line = el("tr", columns.map((column, i) => cellOf(column, row, i === 0 && where)));
    if (where) {
      line.classList.add("leads");
      line.addEventListener("click", (event) => {
        if (!event.target.closest("a, button, input, select, label") && !String(getSelection()))
          location.hash = where;
      });
    }
    return line;
  }

  function sorted() {
    const column = columns[order.by];
    if (!column) return all;
    return all
      .map((row) => [column.sort(row), row])
      .sort(([a], [b]) => compare(a, b, order.down))
      .map(([, row]) => row);
  }

  async function sortBy(i) {
    const column = columns[i];
    if (!column) return;
    const startsDown = ["number", "time"].includes(column.kind);
    order = { by: i, down: order.by === i ? !order.down : startsDown };
    page = 0;
    if (isMore && loadAll) {
      element.setAttribute("aria-busy", "true");
      const isAll = await loadAll().catch(() => false);
      element.setAttribute("aria-busy", "false");
      cut.hidden = isAll;
      cut.textContent = `Only the first ${number(all.length)} ${nouns} are sorted. Filter the list to sort all.`;
    }
    draw();
    keep();
  }

  async function turn(to) {
    const per = perPage(most);
    if ((to + 1) * per > all.length && isMore && loadOn) await loadOn();
    page = to;
    draw();
    keep();
    if (element.getBoundingClientRect().top < 0) element.scrollIntoView({ block: "start" });
  }

  function sumOf({ sum, isCounted }) {
    const values = all.map(sum);
    const total = number(values.reduce((n, value) => n + value, 0));
    return isCounted && values.some((value) => value >= COUNTED_MAX) ? `${total} or more` : total;
  }

  function drawSums() {
    let isNamed = false;
    sums.replaceChildren(
      ...columns.map((column, i) => {
        const text = column.total ? column.total(all) : column.sum ? sumOf(column) : "";
        const kind = column.kind ? `is-${column.kind}` : "";
        if (text !== "" || isNamed) return el("td", { class: kind, "data-title": column.title }, text);
        isNamed = true;
        return el("th", { scope: "row", class: kind }, i === 0 ? `${isMore ? "The first" : "All"} ${count(all.length, noun, nouns)}` : "");
      }),
    );
  }

  function draw() {
    const per = perPage(most);
    page = Math.max(0, Math.min(page, Math.ceil(all.length / per) - 1));
    const rows = sorted().slice(page * per, (page + 1) * per);
    const before = lines;
    lines = new Map();
    const now = rows.map((row) => {
      const name = key ? key(row) : all.indexOf(row);
      const said = JSON.stringify(row);
      const old = before.get(name);
      const line = old?.said === said ? old.line : make(row);
      line.classList.toggle("fresh", Boolean(key && shown.get(name)?.isFresh));
      lines.set(name, { said, line });
      return line;
    });
    // Rows that stay are not moved: they may have the focus.
    now.forEach((line, i) => {
      if (body.children[i] !== line) body.insertBefore(line, body.children[i] ?? null);
    });
    while (body.children.length > now.length) body.lastElementChild.remove();
    sorters.forEach((sorter, i) => {
      if (sorter) titles[i].setAttribute("aria-sort", order.by !== i ? "none" : order.down ? "descending" : "ascending");
    });
    choice.value = String(order.by);
    if (summed) drawSums();
    const end = page * per + rows.length;
    if (sorting) sorting.hidden = all.length < 2;
    pager.hidden = page === 0 && end === all.length && !isMore && !tools.length;
    where.textContent = rows.length
      ? `${number(page * per + 1)} to ${number(end)} of ${isMore ? "more than " : isNewest ? "the newest " : ""}${count(all.length, noun, nouns)}`
      : "";
    back.hidden = page === 0;
    on.hidden = end === all.length && !isMore;
  }

  // Shows all loaded rows. more: the server has further rows; newest: older rows exist, but are not
  // for this table. Rows that are new since the last call are highlighted for a moment.
  function set(rows, { more = false, newest = false } = {}) {
    const old = shown;
    all = rows;
    isMore = more;
    isNewest = newest;
    if (before && all.length) {
      ({ page, order } = before);
      before = null;
    }
    shown = new Map();
    if (key)
      for (const row of rows) {
        const said = JSON.stringify(row);
        shown.set(key(row), { said, isFresh: old.size > 0 && old.get(key(row))?.said !== said });
      }
    draw();
    if (all.length || !nothing) {
      if (element.firstChild !== whole) element.replaceChildren(whole);
      if (pager.parentNode !== whole) whole.append(pager);
    } else {
      // A search may have found nothing yet, and continue with "Next".
      const note = typeof nothing === "function" ? nothing() : nothing;
      if (element.firstChild !== note || element.contains(pager) !== isMore) element.replaceChildren(note, ...(isMore ? [pager] : []));
    }
  }

  narrow.addEventListener("change", () => element.isConnected && draw());
  set(rows);
  return {
    element,
    set,
    // The position in the table, for a user who comes back; another list starts at the first page.
    view: () => ({ page, order }),
    restore: (view) => ({ page, order } = view),
    toStart() {
      page = 0;
      before = null;
      kept.delete(name);
    },
    isAtStart: () => page === 0 && order.by < 0,
  };
}

// Modules that are loaded when they are needed.
const exportButton = (caption, source) =>
  button("Export", async () => {
    const { exportList } = await import("./export.js");
    return exportList({ caption, ...source });
  });

// The state of a page's lists when the user left it, for when they come back.
let memory = new Map();
export const remember = (kept) => (memory = kept);
export const remembered = () => memory;

// True for errors that pass: the server is away or busy.
export const mends = (error) => error.status === 0 || error.status >= 500 || error.status === 429;
export const AGAIN_MS = 4000;

// A table of a list route, page by page, which can be saved as a file. load(after, limit) reads a
// page; without a limit, as many rows as a screen has.
//
//   const emails = list({ load: (after) => get("/admin/emails", { after, limit: 50 }), columns, ... });
//   main.append(emails.element); await emails.reload();
//   subscribe(["emails"], emails.refresh);
//
// reload() starts again, for example after a change of the filters. refresh() looks for new rows
// and keeps the loaded ones; refresh({ hold: true }) only updates rows that are shown.
// loaded(answer, rows) is called for each page that reload() or "Next" has loaded, and returns
// whether to load the next page at once, as for a search that has found little yet. isPart: another
// page shows and exports the whole list. Other options are those of table(). To be sorted by a
// column, a list loads all rows, up to SORTED_MAX.
const SORTED_MAX = 5000;
export function list({ load, key = (row) => row.id, loaded = () => false, isPart = false, ...options }) {
  const tools = isPart ? [] : [exportButton(options.caption, { load, behind: (answer) => behind(answer) })];
  const grid = table({ ...options, key, tools, loadOn: loadMore, loadAll, changed: keep, keeps: false });
  const name = options.caption;
  const kept = memory;
  let isFirst = true;
  const element = el("div.list", { "aria-busy": "true" }, loading());
  let rows = [];
  let next = null;
  let turn = 0;

  // A search that looked at many rows and found few continues after `next`.
  const behind = (answer) => answer.next ?? (answer.has_more ? key(answer.data.at(-1)) : null);

  function keep() {
    kept.set(name, { rows, next, view: grid.view() });
  }

  function show() {
    grid.set(rows, { more: Boolean(next) });
    keep();
    element.setAttribute("aria-busy", "false");
    if (element.firstChild !== grid.element) element.replaceChildren(grid.element);
  }

  function showLoaded(answer) {
    const goesOn = loaded(answer, rows);
    show();
    if (next && goesOn) lookOn();
  }

  async function reload() {
    const mine = ++turn;
    const before = isFirst ? kept.get(name) : undefined;
    isFirst = false;
    if (before?.rows.length > 0) {
      ({ rows, next } = before);
      grid.restore(before.view);
      show();
      refresh({ hold: true }).catch(() => {});
      return;
    }
    element.setAttribute("aria-busy", "true");
    try {
      const answer = await load(undefined);
      if (mine !== turn) return;
      rows = answer.data;
      next = behind(answer);
      grid.toStart();
      showLoaded(answer);
    } catch (error) {
      if (mine !== turn) return;
      element.setAttribute("aria-busy", "false");
      element.replaceChildren(failure(error, reload));
      if (mends(error)) setTimeout(() => mine === turn && element.isConnected && reload(), AGAIN_MS);
    }
  }

  // With hold, new rows are not added; returns their number.
  async function refresh({ hold = false } = {}) {
    const mine = turn;
    const answer = await load(undefined);
    if (mine !== turn) return 0;
    // No row moves while the user has sorted the rows, or is on a later page.
    if (rows.length && (hold || (answer.has_more && !grid.isAtStart()))) {
      const now = new Map(answer.data.map((row) => [key(row), row]));
      rows = rows.map((row) => now.get(key(row)) ?? row);
      for (const row of rows) now.delete(key(row));
      show();
      return now.size;
    }
    // A search continues where it was.
    if (next && rows.length === 0 && answer.data.length === 0) return 0;
    const fresh = new Set(answer.data.map(key));
    const last = answer.data.length && rows.findIndex((row) => key(row) === key(answer.data.at(-1)));
    // There may be rows between the new page and the loaded ones: start again.
    if (rows.length === 0 || last < 0 || !answer.has_more) {
      rows = answer.data;
      next = behind(answer);
    } else {
      rows = [...answer.data, ...rows.slice(last + 1).filter((row) => !fresh.has(key(row)))];
    }
    show();
    return 0;
  }

  async function loadMore() {
    const mine = turn;
    let answer;
    try {
      answer = await load(next);
    } catch (error) {
      // The row after which the next page begins was removed.
      if (mine === turn && error.code === "invalid_parameter") return reload();
      throw error;
    }
    if (mine !== turn) return;
    const known = new Set(rows.map(key));
    rows = [...rows, ...answer.data.filter((row) => !known.has(key(row)))];
    next = behind(answer);
    showLoaded(answer);
  }

  async function loadAll() {
    while (next && rows.length < SORTED_MAX) await loadMore();
    return !next;
  }

  const lookOn = () =>
    loadMore().catch((error) => element.isConnected && error.status !== 401 && notice(error.message, "bad"));

  return { element, reload, refresh, rows: () => rows };
}

// Forms.

let fields_n = 0;

// A field: { name, label, type, value, required, help, placeholder, autocomplete, options, when }
//   type: "text" (the default), "email", "password", "search", "number", "textarea", "checkbox",
//   "select" and "choice" (radio buttons) with options, "checks" (an array of values), "pick" (one of
//   many, see combo.js)
//   options: texts, or { value, text, help }
//   when: (values) => true if the field is shown
function field(spec) {
  const { name, label, type = "text", value, required, help } = spec;
  const id = `f${++fields_n}-${name}`;
  const options = (spec.options ?? []).map((o) => (typeof o === "string" ? { value: o, text: o } : o));
  // The address may name an option that no longer exists. That differs from choosing none.
  if (type === "select" && value && !options.some((o) => o.value === value)) options.push({ value, text: value });
  const hint = help && el("div.form-text", { id: `${id}-help` }, help);
  const wrong = el("div.wrong", { id: `${id}-wrong`, hidden: true });
  const common = {
    id,
    name,
    required,
    placeholder: spec.placeholder,
    autocomplete: spec.autocomplete ?? "off",
    autocapitalize: "none",
    spellcheck: type === "textarea" ? null : "false",
    "aria-describedby": [hint?.id, wrong.id].filter(Boolean).join(" "),
  };
  const several = ["choice", "checks"].includes(type);
  let control;
  let read;
  let picked;
  if (type === "pick") {
    picked = combo(spec, common);
    ({ control, read } = picked);
  } else if (type === "select") {
    control = el("select.form-select.form-select-sm", common, options.map((o) => el("option", { value: o.value }, o.text)));
    if (value !== undefined) control.value = value;
    read = () => control.value || undefined;
  } else if (type === "textarea") {
    control = el("textarea.form-control.form-control-sm", { ...common, rows: spec.rows ?? 4, value: value ?? "" });
    read = () => control.value || undefined;
  } else if (type === "checkbox") {
    control = el("input.form-check-input", { ...common, type, checked: Boolean(value) });
    read = () => control.checked;
  } else if (several) {
    const chosen = [value ?? (type === "choice" ? options[0].value : [])].flat();
    control = el(
      "div.choices",
      options.map((o, i) => {
        const own = `${id}-${i}`;
        const text = el("span", { id: `${own}-text` }, o.text);
        const help = o.help && el("span.form-text", { id: `${own}-help` }, o.help);
        const input = el("input.form-check-input", {
          type: type === "choice" ? "radio" : "checkbox",
          id: own,
          name,
          value: o.value,
          checked: chosen.includes(o.value),
          // A click on the help also selects the option, but the help is not part of its name.
          "aria-labelledby": text.id,
          "aria-describedby": help?.id,
        });
        return el("div.choice", input, el("label", { for: own }, text, help));
      }),
    );
    const values = () => [...control.querySelectorAll(":checked")].map((input) => input.value);
    read = () => (type === "choice" ? values()[0] : values());
  } else {
    control = el("input.form-control.form-control-sm", {
      ...common,
      type,
      value: value ?? "",
      min: spec.min,
      max: spec.max,
      maxlength: spec.maxlength,
      inputmode: spec.inputmode,
    });
    read = () => {
      if (control.value === "") return undefined;
      if (type === "number") return Number(control.value);
      return type === "password" ? control.value : control.value.trim();
    };
  }
  const title = several ? el("legend.form-label", label) : el("label.form-label", { for: id }, label);
  const element =
    type === "checkbox"
      ? el("div.field.check", control, el("label", { for: id }, label), hint, wrong)
      : el(several ? "fieldset.field" : "div.field", title, control, hint, wrong);
  function complain(text) {
    wrong.textContent = text ?? "";
    wrong.hidden = !text;
    const input = several || picked ? control.querySelector("input") : control;
    input.classList.toggle("is-invalid", Boolean(text));
    if (text) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
    if (text) input.focus();
  }
  const typed = !["select", "checkbox", "choice", "checks", "pick"].includes(type);
  return { name, element, read, complain, typed, when: spec.when, sync: picked?.sync, settle: picked?.settle };
}

// A form whose run(values) may throw. The error is shown at the field that it names in `backticks`
// or has as its `field`; an error about the input without a name, at the only text field; any
// other, above the buttons. A field that run() or a change has made visible gets the focus. Empty
// values are undefined.
export function form({ fields = [], submit = "Save", tone = "primary", run, cancel, dismiss = "Cancel" }) {
  const all = fields.map(field);
  const wrong = el("div.remark.tone-bad", { role: "alert", hidden: true });
  const go = el(`button.btn.btn-sm.btn-${tone}`, { type: "submit" }, submit);
  const values = () =>
    Object.fromEntries(all.filter((f) => !f.element.hidden).map((f) => [f.name, f.read()]));
  const show = () => {
    const now = Object.fromEntries(all.map((f) => [f.name, f.read()]));
    for (const f of all) {
      if (f.when) f.element.hidden = !f.when(now);
      f.sync?.(now);
    }
  };
  // Called after run(), which may have found that another field is needed.
  const askMore = () => {
    const before = all.filter((f) => f.element.hidden);
    show();
    before.find((f) => !f.element.hidden)?.element.querySelector("input, select, textarea")?.focus();
  };

  function complain(error) {
    show();
    const asked = all.filter((f) => !f.element.hidden);
    const typed = asked.filter((f) => f.typed);
    const named =
      asked.find((f) => f.name === error.field || error.message.includes("`" + f.name + "`")) ??
      ([409, 422].includes(error.status) && typed.length === 1 ? typed[0] : undefined);
    if (named) return named.complain(error.message.replaceAll("`", ""));
    wrong.textContent = error.message;
    wrong.hidden = false;
  }

  async function onsubmit(event) {
    event.preventDefault();
    wrong.hidden = true;
    for (const f of all) f.complain(null);
    go.disabled = true;
    try {
      for (const f of all) if (!f.element.hidden) await f.settle?.();
      await run(values());
      askMore();
    } catch (error) {
      complain(error);
    } finally {
      go.disabled = false;
    }
  }

  // A hidden field must not keep the form from being sent.
  const node = el(
    "form.form",
    { onsubmit, oninput: show, novalidate: all.some((f) => f.when) },
    all.map((f) => f.element),
    wrong,
    el("div.form-buttons", go, cancel && button(dismiss, cancel)),
  );
  show();
  return node;
}

// A box over the page with the content of inside(close); `closed` resolves when it is closed.
export function modal(kind, title, inside) {
  const heading = el("h2", { id: `d${++fields_n}` }, title);
  const close = () => box.close();
  const cross = el("button.close", { type: "button", "aria-label": "Close", onclick: close }, "×");
  const box = el(kind, { "aria-labelledby": heading.id }, el("div.dialog-head", heading, cross), inside(close));
  const closed = new Promise((resolve) => box.addEventListener("close", resolve)).then(() => {
    const notices = box.querySelector("#notices");
    for (const node of notices?.children ?? []) delete node.dataset.until;
    if (notices) document.body.append(notices);
    box.remove();
  });
  document.body.append(box);
  box.showModal();
  return { box, closed };
}

// Opens a form. Resolves with the result of run(), or true if that is undefined, after done() was
// called with it; with undefined if the user cancels. If run() returns false, the form stays open.
// Without fields it is a question. tone "danger" is for what cannot be undone. covers: the page
// behind it is not visible. dismiss: the text of the button that does nothing, where "Cancel" would
// be ambiguous.
export async function dialog({
  title,
  text,
  fields,
  submit = "OK",
  tone = "primary",
  covers = false,
  dismiss,
  run = () => true,
  done = () => {},
}) {
  let result;
  const { box, closed } = modal(covers ? "dialog.covers" : "dialog", title, (close) => [
    [text ?? []].flat().map((one) => (typeof one === "string" ? el("p", one) : one)),
    form({
      fields,
      submit,
      tone,
      dismiss,
      cancel: close,
      run: async (values) => {
        const made = await run(values);
        if (made === false) return;
        result = made || true;
        close();
      },
    }),
  ]);
  // The Return key must not trigger what cannot be undone.
  const first = tone === "danger" ? ".form-buttons button[type=button]" : "button[type=submit]";
  const asked = box.querySelector("input, select, textarea");
  // In a choice, the selected option gets the focus.
  const at = asked?.type === "radio" ? box.querySelector("input:checked") : asked;
  (at ?? box.querySelector(first))?.focus();
  await closed;
  if (result) await done(result);
  return result;
}

export const confirm = (title, text, submit, run, done, dismiss) =>
  dialog({ title, text, submit, tone: "danger", run, done, dismiss });

// Shows a box without a question; resolves when it is closed.
export const show = (title, ...children) =>
  modal("dialog.wide", title, (close) => [
    el("div.dialog-body", children),
    el("div.form-buttons", el("button.btn.btn-sm.btn-primary", { type: "button", onclick: close }, "Done")),
  ]).closed;

// Saved views: names for values of a page's filters. The browser keeps them.
const VIEWS = "postern.views";
function keptViews() {
  try {
    return JSON.parse(localStorage.getItem(VIEWS)) ?? {};
  } catch {
    return {};
  }
}

// The saved views of this page as links, and a button that saves the current filters, if there are
// any.
function viewsOf(isNarrowed) {
  const page = location.hash.split("?")[0];
  const line = el("div.views");
  const keep = (change) => {
    const all = keptViews();
    all[page] = change(all[page] ?? []);
    localStorage.setItem(VIEWS, JSON.stringify(all));
    draw();
  };
  const add = () =>
    dialog({
      title: "Save this view",
      text: "It keeps the filters as they are now, in this browser. To share a view, send its address.",
      fields: [{ name: "name", label: "Name", required: true, maxlength: 60 }],
      submit: "Save view",
      run: ({ name }) => keep((views) => [...views.filter((one) => one.name !== name), { name, address: location.hash }]),
    });
  function draw() {
    const views = keptViews()[page] ?? [];
    line.replaceChildren(
      ...views.map(({ name, address }) =>
        el("span.view", { "aria-current": address === location.hash ? "true" : null }, el("a", { href: address }, name),
          el("button.close", {
            type: "button",
            "aria-label": `Forget the view ${name}`,
            onclick: () => keep((all) => all.filter((one) => one.name !== name)),
          }, "×"))),
      ...(isNarrowed() && !views.some(({ address }) => address === location.hash)
        ? [el("button.as-link", { type: "button", onclick: add }, "Save view")]
        : []),
    );
  }
  draw();
  return { line, draw };
}

// The filters of a list. Their values are in the address, so that it can be bookmarked and shared.
// change(values) is called on each change, but not initially.
export function filters({ fields, query, change }) {
  const all = fields.map((spec) => field({ ...spec, value: query.get(spec.name) ?? spec.value }));
  const given = () => Object.fromEntries(all.map((f) => [f.name, f.read()]));
  const sync = () => all.forEach((f) => f.sync?.(given()));
  sync();
  const views = viewsOf(() => Object.values(given()).some(Boolean));
  let timer;
  function changed() {
    clearTimeout(timer);
    // The user has left the page, so the address belongs to another one.
    if (!node.isConnected) return;
    sync();
    history.replaceState(history.state, "", target(location.hash.split("?")[0], given()));
    views.draw();
    change(given());
  }
  const node = el(
    "form.filters",
    {
      role: "search",
      onsubmit: (event) => {
        event.preventDefault();
        changed();
      },
      oninput: (event) => {
        clearTimeout(timer);
        timer = setTimeout(changed, event.target.matches("select, [type=checkbox], .combo") ? 0 : 250);
      },
    },
    all.map((f) => f.element),
    views.line,
  );
  // The page that the user left stays visible until the next one has content.
  addEventListener("hashchange", () => clearTimeout(timer), { once: true });
  return { element: node, values: given };
}
