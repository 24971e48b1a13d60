// The dashboard: who is logged in, which page the address names, and the
// navigation.
//
// A page is a module pages/NAME.js:
//
//   export const title = "Keys";
//   export async function show(main, { id, query, session }) { ... }
//
// main is an empty element for this visit; id is the rest of the path, if any; query is a
// URLSearchParams. session is the response of GET /admin/session, with `operator` (sees all
// companies) and `owner` (may change things). If show() returns a function, it is called when the
// user leaves the page.

import { away, getSession, remove, whenLoggedOut } from "./api.js";
import { AGAIN_MS, dropNotices, el, failure, header, loading, mends, notice, place } from "./elements.js";
import { dialog } from "./forms.js";
import { remember } from "./lists.js";
import { follow, startReading, whenLiveChanges } from "./live.js";
import { listen } from "./shortcuts.js";

// For each address its module; for those in the navigation also group and text.
const pages = [
  { path: "", module: "overview", group: "", text: "Overview" },
  { path: "statistics", module: "statistics", group: "", text: "Statistics" },
  { path: "emails", module: "emails", group: "Mail", text: "Emails" },
  { path: "emails/", module: "email" },
  { path: "events", module: "events", group: "Mail", text: "Events" },
  { path: "held", module: "held", group: "Mail", text: "Held mail", operators: true },
  { path: "outbox", module: "outbox", group: "Mail", text: "Outbox" },
  { path: "refusals", module: "refusals", group: "Mail", text: "Refusals" },
  { path: "companies", module: "companies", group: "Sending", text: "Companies", operators: true },
  { path: "companies/", module: "company" },
  { path: "domains", module: "domains", group: "Sending", text: "Domains" },
  { path: "domains/", module: "domain" },
  { path: "keys", module: "keys", group: "Sending", text: "Keys" },
  { path: "webhooks", module: "webhooks", group: "Sending", text: "Webhooks" },
  { path: "webhooks/", module: "webhook" },
  { path: "suppressions", module: "suppressions", group: "Mail", text: "Suppressed addresses" },
  { path: "exemptions", module: "exemptions", group: "Sending", text: "Exemptions" },
  { path: "users", module: "users", group: "Admin", text: "Users", owners: true },
  { path: "audit", module: "audit", group: "Admin", text: "Audit log" },
  { path: "settings", module: "settings", group: "Admin", text: "Settings", operators: true },
  { path: "account", module: "account" },
  { path: "glossary", module: "glossary" },
];

const bar = document.getElementById("bar");
const nav = document.getElementById("nav");
const main = document.getElementById("main");
const menu = document.getElementById("menu");

let session = null;
let leave = null; // what the page that is shown wants to do at its end
let visit = 0;

// An address with invalid encoding is used as it is; no page has it.
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function read() {
  const [where, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [first, ...rest] = where.split("/").map(decode);
  const id = rest.join("/");
  return { path: id ? `${first}/` : first, id, query: new URLSearchParams(query) };
}

const allowed = (page) =>
  (!page.operators || session.operator) && (!page.owners || session.owner);

function showNavigation(path) {
  const groups = new Map();
  for (const page of pages) {
    if (!page.text || !allowed(page)) continue;
    const here = path === page.path || path === `${page.path}/`;
    const item = el(
      "li",
      el("a", { href: place(...[page.path].filter(Boolean)), "aria-current": here ? "page" : null }, page.text),
    );
    groups.set(page.group, [...(groups.get(page.group) ?? []), item]);
  }
  nav.replaceChildren(
    ...[...groups].map(([group, items]) =>
      el(
        "div.nav-group",
        group && el("p.nav-title", { id: `nav-${group}` }, group),
        el("ul", { "aria-labelledby": group ? `nav-${group}` : null }, items),
      ),
    ),
    el(
      "div.nav-group.nav-foot",
      el("p.who", { title: session.operator ? "Operator: sees all companies" : "Member of one company" },
        session.login, el("span.muted", session.operator ? " operator" : " member", session.owner ? "" : ", read only")),
      el("ul",
        [["account", "Account"], ["glossary", "Glossary"]].map(([to, text]) =>
          el("li", el("a", { href: place(to), "aria-current": path === to ? "page" : null }, text))),
        el("li", el("button", { type: "button", onclick: showShortcuts, "aria-keyshortcuts": "?" }, "Shortcuts")),
        el("li", themeChoice()),
        el("li", el("a", { href: "#/", onclick: logOut }, "Log out"))),
      el("p.live", { id: "live", title: "Shows whether this page follows changes as they happen" }),
    ),
  );
  nav.hidden = menu.hidden = false;
  showLive();
}

const themeChoice = () =>
  el("label", "Theme", el("select.form-select.form-select-sm", { onchange: ({ target }) => globalThis.theme.choose(target.value) },
    [["", "System"], ["light", "Light"], ["dark", "Dark"]].map(([value, text]) =>
      el("option", { value, selected: value === globalThis.theme.chosen() }, text))));

const showShortcuts = listen(() =>
  session ? [...pages.filter((page) => page.text && allowed(page)), { path: "account", text: "Account" }] : []);

let live = "off";
function showLive() {
  const node = document.getElementById("live");
  if (node) {
    node.textContent = { live: "Live", polling: "Refreshed every 15 s", lost: "No connection, trying again", off: "" }[live];
    node.dataset.state = live;
  }
}
whenLiveChanges((state) => {
  live = state;
  showLive();
});

async function logOut(event) {
  event.preventDefault();
  try {
    await remove("/admin/session");
  } catch (error) {
    if (error.status !== 401) return notice(error.message, "bad");
  }
  tabs.postMessage(null);
  loggedOut();
}

// An open dialog may contain what the user has typed, or a token that is shown once. When the
// session ends, the login therefore opens on top of it, and the dialog stays.
let askingAgain = false;
async function logInAgain() {
  const { user_id } = session;
  askingAgain = true;
  try {
    const { credentials } = await import("./pages/login.js");
    const text = "Your session has ended. Log in to continue where you were.";
    const isIn = await dialog({ title: "Log in again", text, covers: true, ...credentials() });
    if (isIn) await findSession();
    if (isIn && session.user_id === user_id) return;
  } catch (error) {
    notice(error.message, "bad");
  } finally {
    askingAgain = false;
  }
  session = null;
  open();
}

function loggedOut() {
  if (askingAgain || (session === null && main.dataset.page === "login")) return;
  if (session && document.querySelector("dialog[open]")) {
    logInAgain();
    return;
  }
  session = null;
  follow(false);
  nav.hidden = menu.hidden = true;
  nav.replaceChildren();
  open();
}
whenLoggedOut(loggedOut);

function closeMenu() {
  document.body.classList.remove("menu-open");
  menu.setAttribute("aria-expanded", "false");
}
menu.addEventListener("click", () => {
  const isOpen = document.body.classList.toggle("menu-open");
  menu.setAttribute("aria-expanded", isOpen);
});

// Asks once who is logged in, and again after a login.
async function findSession() {
  const found = await getSession().catch((error) => {
    if (error.status === 401) follow(false);
    throw error;
  });
  follow(true);
  session = { ...found, operator: found.company_id === null, owner: found.role === "owner" };
  tabs.postMessage(found.user_id);
}

// All tabs of a browser share one cookie: a login or logout in one tab applies to all of them. No
// tab continues as another user.
const tabs = new BroadcastChannel("session");
tabs.onmessage = ({ data: user }) => {
  if (user === (session?.user_id ?? null)) return;
  if (user === null) return loggedOut();
  session = null;
  open();
};

// The errors by which browsers report that a module could not be loaded.
async function moduleNamed(name) {
  try {
    return await import(`./pages/${name}.js`);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw away();
  }
}

// Shown in place of a page that cannot be loaded.
function broken(title, error) {
  if (error.status === 404)
    return [header("Not found"), el("p", "Nothing exists at this address, or it was removed. ", el("a", { href: "#/" }, "Go to the overview"))];
  return [header(title), failure(error, open), mends(error) && el("p.muted.about", "This page tries again by itself.")].filter(Boolean);
}

async function moduleOf(wanted) {
  if (session === null) {
    try {
      await findSession();
    } catch (error) {
      if (error.status !== 401) throw error;
      return "login";
    }
  }
  // A login link is for another session, perhaps of another user.
  if (wanted === "login" && read().query.has("token")) return "login";
  if (wanted === "login" || wanted === "overview") {
    history.replaceState(history.state, "", "#/");
    return "overview";
  }
  return pages.find((page) => page.path === wanted && allowed(page))?.module;
}

// The position in the browser's history. With it, a user who goes back finds lists as they were, at
// the same place.
history.scrollRestoration = "manual";
const entries = new Map();
let entry;
function enter() {
  const n = history.state?.n ?? Math.random();
  if (history.state?.n !== n) history.replaceState({ n }, "");
  if (!entries.has(n)) entries.set(n, { scroll: 0, lists: new Map() });
  if (entries.size > 30) entries.delete(entries.keys().next().value);
  entry = entries.get(n);
  remember(entry.lists);
}
enter();
addEventListener("scroll", () => main.hasAttribute("aria-busy") || (entry.scroll = scrollY), { passive: true });

// Shows the page that the address names. Output of a page that the user has left meanwhile is not
// shown.
async function open({ moved = false } = {}) {
  const mine = ++visit;
  let { path, id, query } = read();
  let page;
  const box = el("div.page-box");
  const end = leave;
  leave = null;
  end?.();
  closeMenu();
  for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
  main.setAttribute("aria-busy", "true");
  // The module is loaded while the server answers who is logged in.
  const likely = pages.find((page) => page.path === path)?.module;
  if (likely) import(`./pages/${likely}.js`).catch(() => {});
  try {
    const name = await moduleOf(path);
    if (mine !== visit) return;
    main.dataset.page = name ?? "";
    document.body.classList.toggle("logged-out", name === "login");
    if (name === "overview") path = "";
    if (session) showNavigation(path);
    if (!name) {
      box.append(header("Not found"), el("p", "This page does not exist, or you may not open it. ",
        el("a", { href: "#/" }, "Go to the overview")));
      main.replaceChildren(box);
    } else {
      const wait = setTimeout(() => mine === visit && !box.firstChild && main.replaceChildren(loading()), 150);
      page = await moduleNamed(name);
      if (mine !== visit) return;
      document.title = `${page.title} · Postern`;
      startReading();
      const done = page.show(box, { id, query, session, loggedIn });
      // The page fills its box while it loads; the box is shown as soon as it has content.
      if (box.firstChild) main.replaceChildren(box);
      const end = await done;
      clearTimeout(wait);
      if (mine !== visit) return end?.();
      leave = end ?? null;
      if (main.firstChild !== box) main.replaceChildren(box);
    }
  } catch (error) {
    if (mine !== visit) return;
    if (error.status === 401) return;
    main.replaceChildren(box);
    box.replaceChildren(...broken(page?.title ?? pages.find((one) => one.path === path)?.text ?? "Postern", error));
    if (mends(error)) setTimeout(() => mine === visit && open(), AGAIN_MS);
    if (!("status" in error)) console.error(error);
  } finally {
    if (mine === visit) main.removeAttribute("aria-busy");
  }
  if (moved && mine === visit) {
    scrollTo(0, entry.scroll);
    main.querySelector("h1")?.focus({ preventScroll: true });
  }
}

// Called by the login page after a login: shows the page that was requested.
async function loggedIn() {
  session = null;
  if (read().path === "login") history.replaceState(history.state, "", "#/");
  await open({ moved: true });
}

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
bar.querySelector(".brand").addEventListener("click", closeMenu);

window.addEventListener("hashchange", () => {
  dropNotices();
  enter();
  open({ moved: true });
});
open();
