// Who are you? Shown wherever nobody is logged in.

import { postQuietly } from "../api.js";
import { el, form } from "../ui.js";

export const title = "Log in";

// What a login asks for, and does: false when a code is wanted, too.
export function credentials() {
  let wantsCode = false;
  return {
    fields: [
      { name: "login", label: "Login", required: true, autocomplete: "username" },
      { name: "password", label: "Password", type: "password", required: true, autocomplete: "current-password" },
      {
        name: "code",
        label: "Code",
        help: "Of the authenticator app, or a recovery code.",
        autocomplete: "one-time-code",
        inputmode: "numeric",
        when: () => wantsCode,
      },
    ],
    submit: "Log in",
    run: async (values) => {
      try {
        await postQuietly("/admin/session", values);
        return true;
      } catch (error) {
        if (error.code !== "code_required") throw error;
        // That a code is wanted is no error; that it is wrong is one.
        if (wantsCode) throw Object.assign(error, { field: "code" });
        wantsCode = true;
        return false;
      }
    },
  };
}

export async function show(main, { query, loggedIn }) {
  const expired =
    query.get("link") === "used" &&
    el("p.remark.tone-warn", "That login link was used already, or has expired.");
  const { run, ...asked } = credentials();
  main.append(
    el(
      "div.login",
      el("h1", { tabindex: -1 }, "Log in"),
      expired,
      form({ ...asked, run: async (values) => (await run(values)) && loggedIn() }),
    ),
    el(
      "div.login-help",
      el("p", "No password? On the server, ", el("code", "postern user link LOGIN"), " prints a link that logs in once, and ",
        el("code", "postern user add LOGIN"), " makes a user."),
    ),
  );
  setTimeout(() => main.querySelector("input")?.focus());
}
