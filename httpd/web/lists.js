// Tables and lists. Each returns an object with its node as `element`.
//
//   table({ caption, columns, rows })         rows that are all there
//   list({ load, columns, empty })            a table in pages that stays up to date
//   choosing(actions)                         checkboxes that select rows

import { AGAIN_MS, button, count, COUNTED_MAX, el, failure, help, loading, mends, notice, number } from "./elements.js";

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
    // The total of one row is that row.
    sums.hidden = all.length < 2;
    if (summed && !sums.hidden) drawSums();
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
