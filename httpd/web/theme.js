// Light or dark, before anything is painted: a plain script in the head, which the page waits for.
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
