// A plain script in the head, which the page waits for.

// Requests early what the page will need: who is logged in, the stream of changes, which has to be
// open before the page reads its data, and the module of the page that the address names, with its
// imports.
(() => {
  // Set by live.js while somebody is logged in; without a session the server refuses the stream.
  const isLoggedIn = () => {
    try {
      return localStorage.getItem("postern.login") !== null;
    } catch {
      return false;
    }
  };
  const [name, ...id] = location.hash.replace(/^#\/?/, "").split("?")[0].split("/");
  const module = id.length ? name.replace(/ies$/, "y").replace(/s$/, "") : name || "overview";
  globalThis.early = { session: fetch("/admin/session", { cache: "no-store" }) };
  globalThis.early.session.catch(() => {});
  if (isLoggedIn() && document.visibilityState === "visible") {
    const live = new EventSource("/admin/live");
    live.onopen = () => (globalThis.early.liveAt = performance.now());
    globalThis.early.live = live;
  }
  if (/^[a-z]+$/.test(module)) import(`./pages/${module}.js`).catch(() => {});
})();

// Light or dark, before anything is painted.
// Users choose the theme in the navigation; without a choice the browser's setting applies. The
// style sheet and the charts read `data-theme` of the root element; the event "themechange" reports
// a change.

(() => {
  const NAME = "postern.theme";
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let forgotten = ""; // where the browser keeps nothing for this page

  const kept = () => {
    try {
      return localStorage.getItem(NAME) ?? "";
    } catch {
      return forgotten;
    }
  };

  function apply() {
    const now = ["light", "dark"].includes(kept()) ? kept() : dark.matches ? "dark" : "light";
    if (document.documentElement.dataset.theme === now) return;
    document.documentElement.dataset.theme = now;
    dispatchEvent(new Event("themechange"));
  }

  globalThis.theme = {
    chosen: kept,
    // "light", "dark", or "" for the browser's.
    choose(name) {
      forgotten = name;
      try {
        if (name) localStorage.setItem(NAME, name);
        else localStorage.removeItem(NAME);
      } catch {
        // Without storage the choice lasts until the page is reloaded.
      }
      apply();
    },
  };
  dark.addEventListener("change", apply);
  addEventListener("storage", apply);
  apply();
})();
