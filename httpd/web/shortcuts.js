// Keyboard shortcuts that every page has, and their list. They are off while the user types, with
// Ctrl, Alt or Meta, and behind a dialog.

import { el, go } from "./elements.js";
import { show } from "./forms.js";

// The key after "g". Each letter belongs to one page.
const letters = {
  o: "", t: "statistics", e: "emails", v: "events", h: "held", b: "outbox", r: "refusals", s: "suppressions", d: "domains", k: "keys", w: "webhooks",
  x: "exemptions", u: "users", l: "audit", c: "settings", a: "account",
};
const CHORD_MS = 1500;

const search = () => document.querySelector("main input[type=search]");
const links = () => [...document.querySelectorAll("main a.row-link")];

// Moves along the rows of a list; above the first one is the search.
function move(step) {
  const all = links();
  const at = all.indexOf(document.activeElement);
  if (!all.length) return false;
  if (at + step < 0) search()?.focus();
  else all[Math.min(at + step, all.length - 1)].focus();
  return true;
}

// pages: [{ path, text }], the pages of this user.
function list(pages) {
  const key = (...names) => names.flatMap((name, i) => [i > 0 && " ", el("kbd", name)]);
  const row = (keys, text) => el("div", el("dt", keys), el("dd", text));
  return show(
    "Keyboard shortcuts",
    el("dl.shortcuts",
      row(key("/"), "Go to the search of the page"),
      row([key("j"), " or ", key("↓")], "Next row of the list"),
      row([key("k"), " or ", key("↑")], "Previous row of the list"),
      row(key("Enter"), "Open the row"),
      row(key("Esc"), "Close a dialog"),
      row(key("?"), "Show this list"),
      Object.entries(letters)
        .map(([letter, path]) => [letter, pages.find((page) => page.path === path)])
        .filter(([, page]) => page)
        .map(([letter, page]) => row(key("g", letter), page.text)),
    ),
  );
}

// Starts listening. pages() returns the pages of the user who is logged in, or none.
export function listen(pages) {
  let chordAt = -CHORD_MS;

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]") || !pages().length) return;
    const isTyping = event.target.matches?.("input, select, textarea");
    const steps = { ArrowDown: 1, ArrowUp: -1, ...(isTyping ? {} : { j: 1, k: -1 }) };
    const isChord = performance.now() - chordAt < CHORD_MS;
    chordAt = -CHORD_MS;
    let done = true;
    if (isTyping && !(event.key in steps && event.target === search())) return;
    if (isChord && letters[event.key] !== undefined && pages().some((page) => page.path === letters[event.key]))
      go(...[letters[event.key]].filter(Boolean));
    else if (event.key in steps) done = move(steps[event.key]);
    else if (event.key === "g") chordAt = performance.now();
    else if (event.key === "?") list(pages());
    else if (event.key === "/" && search()) {
      search().select();
      search().focus();
    } else done = false;
    if (done) event.preventDefault();
  });
  return () => list(pages());
}
