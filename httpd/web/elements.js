// The elements that pages are built from. Everything returns a DOM node. Text is always inserted as
// text: no function takes HTML.
//
//   el("p.muted", "Since ", time(key.created_at))     an element, with classes
//   header("Keys", { actions: [button("Create a key", ask)] })
//   section("Recipients", table({...}).element)
//   definitions([["Policy", badge("exclusive")], ...])
//
// Requests of a page may fail: show() may throw, and app.js shows the error.

import { Problem, target } from "./api.js";
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

// As a whole number: 1,234,567; nothing is 0. Intl takes milliseconds for its first one.
export const number = (value) => String(Math.round(value ?? 0)).replace(/\B(?=(\d{3})+$)/g, ",");
// The server counts up to this number of rows that belong to an object.
export const COUNTED_MAX = 1000;
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

// The last digits of an id: the first ones are its time, and those of rows that were made within a
// minute are the same.
export const endOf = (id) => `…${id.slice(-8)}`;

// They have a button that copies the whole id; href links to its object.
export function shortId(id, href) {
  const text = el(href ? "a" : "span", { href, title: id, class: "id" }, endOf(id));
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

// True for errors that pass: the server is away or busy.
export const mends = (error) => error.status === 0 || error.status >= 500 || error.status === 429;
export const AGAIN_MS = 4000;

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
