// The dashboard: who is logged in, which page the address names, and the
// navigation.
//
// A page is a module pages/NAME.js:
//
//   export const title = "Keys";
//   export async function show(main, { id, query, session }) { ... }
//
// main is an empty element of this visit; id is the rest of the path, if there
// is one; query a URLSearchParams. session is what GET /admin/session answers,
// with `operator` (sees all companies) and `owner` (may change things). What
// show() returns, if anything, is called when the page is left.

import { getSession, Problem, remove, whenLoggedOut } from "./api.js";
import { AGAIN_MS, dialog, el, failure, loading, mends, notice, place, remember } from "./ui.js";
import { whenLiveChanges } from "./live.js";
import { listen } from "./shortcuts.js";

// The address, the module; of those in the navigation its group and words.
const pages = [
  { path: "", module: "overview", group: "", text: "Overview" },
  { path: "statistics", module: "statistics", group: "", text: "Statistics" },
  { path: "emails", module: "emails", group: "Mail", text: "Emails" },
  { path: "emails/", module: "email" },
  { path: "events", module: "events", group: "Mail", text: "Events" },
  { path: "held", module: "held", group: "Mail", text: "Held", operators: true },
  { path: "outbox", module: "outbox", group: "Mail", text: "Outbox" },
  { path: "refusals", module: "refusals", group: "Mail", text: "Refusals" },
  { path: "companies", module: "companies", group: "Sending", text: "Companies", operators: true },
  { path: "companies/", module: "company" },
  { path: "domains", module: "domains", group: "Sending", text: "Domains" },
  { path: "domains/", module: "domain" },
  { path: "keys", module: "keys", group: "Sending", text: "Keys" },
  { path: "webhooks", module: "webhooks", group: "Sending", text: "Webhooks" },
  { path: "webhooks/", module: "webhook" },
  { path: "suppressions", module: "suppressions", group: "Mail", text: "Suppressed" },
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

// An address that was not encoded is taken as it is, and names no page.
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
        session.login, el("span.muted", session.operator ? " operator" : " member", session.owner ? "" : ", views only")),
      el("ul",
        [["account", "Account"], ["glossary", "Glossary"]].map(([to, text]) =>
          el("li", el("a", { href: place(to), "aria-current": path === to ? "page" : null }, text))),
        el("li", el("button", { type: "button", onclick: showShortcuts, "aria-keyshortcuts": "?" }, "Shortcuts")),
        el("li", themeChoice()),
        el("li", el("a", { href: "#/", onclick: logOut }, "Log out"))),
      el("p.live", { id: "live", title: "Whether this page shows changes as they happen" }),
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

// A dialog has what somebody typed, or a token that is shown once: who is logged
// out there logs in on top of it, and goes on.
let askingAgain = false;
async function logInAgain() {
  const { user_id } = session;
  askingAgain = true;
  try {
    const { credentials } = await import("./pages/login.js");
    const text = "Your session has ended. Log in, and go on where you were.";
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
  const found = await getSession();
  session = { ...found, operator: found.company_id === null, owner: found.role === "owner" };
  tabs.postMessage(found.user_id);
}

// The tabs of a browser have one cookie: whoever logs in or out in one of them
// does so in all, and none goes on in the name of another user.
const tabs = new BroadcastChannel("session");
tabs.onmessage = ({ data: user }) => {
  if (user === (session?.user_id ?? null)) return;
  if (user === null) return loggedOut();
  session = null;
  open();
};

// Browsers say in their own ways that a file did not come.
async function moduleNamed(name) {
  try {
    return await import(`./pages/${name}.js`);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new Problem("The server does not answer. Check that postern-httpd is running.");
  }
}

// What is shown in place of a page that cannot be.
function broken(page, error) {
  const isGone = error.status === 404;
  return [
    el("h1", { tabindex: -1 }, isGone ? "Not found" : page?.title ?? "Postern"),
    isGone
      ? el("p", "Nothing exists at this address, or it was removed. ", el("a", { href: "#/" }, "Go to the overview"))
      : failure(error, open),
  ];
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
  // #/login is for a link that was used already: here by somebody who is in all the same.
  if (wanted === "login" || wanted === "overview") {
    history.replaceState(history.state, "", "#/");
    return "overview";
  }
  return pages.find((page) => page.path === wanted && allowed(page))?.module;
}

// Where in the history of the browser this is: who comes back finds the lists as they were, at the
// same place.
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

// Shows the page that the address names. What a page that was left still puts
// into its box is not seen.
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
  // While the server tells who is there, the page comes already.
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
      box.append(el("h1", { tabindex: -1 }, "Not found"), el("p", "This page does not exist, or you may not open it. ",
        el("a", { href: "#/" }, "Go to the overview")));
      main.replaceChildren(box);
    } else {
      const wait = setTimeout(() => mine === visit && !box.firstChild && main.replaceChildren(loading()), 150);
      page = await moduleNamed(name);
      if (mine !== visit) return;
      document.title = `${page.title} · Postern`;
      const done = page.show(box, { id, query, session, loggedIn });
      // The page fills its box while it loads; it is shown as soon as it has something.
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
    box.replaceChildren(...broken(page, error));
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

// For the login page: somebody has come in, and goes where they wanted to.
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
  enter();
  open({ moved: true });
});
open();
