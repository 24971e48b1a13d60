// A plain script in the head, which the page waits for.

// What the page will need is on its way before app.js is there: who is logged in, and the module of
// the page that the address names, with what it imports.
(() => {
  const [name, ...id] = location.hash.replace(/^#\/?/, "").split("?")[0].split("/");
  const module = id.length ? name.replace(/ies$/, "y").replace(/s$/, "") : name || "overview";
  globalThis.early = { session: fetch("/admin/session", { cache: "no-store" }) };
  globalThis.early.session.catch(() => {});
  if (/^[a-z]+$/.test(module)) import(`./pages/${module}.js`).catch(() => {});
})();

// Light or dark, before anything is painted.
// People choose in the navigation; until then the setting of the browser counts.
// The style sheet and the charts go by `data-theme` of the root; "themechange" says that it changed.

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
        // It lasts until the page is loaded anew.
      }
      apply();
    },
  };
  dark.addEventListener("change", apply);
  addEventListener("storage", apply);
  apply();
})();
