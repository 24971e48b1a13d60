// The login, shown whenever nobody is logged in.

import { postQuietly } from "../api.js";
import { el } from "../elements.js";
import { form } from "../forms.js";

export const title = "Log in";

// The fields of the login and its request: returns false if a code is needed, too.
export function credentials() {
  let wantsCode = false;
  return {
    fields: [
      { name: "login", label: "Login", required: true, autocomplete: "username" },
      { name: "password", label: "Password", type: "password", required: true, autocomplete: "current-password" },
      {
        name: "code",
        label: "Code",
        help: "From the authenticator app, or a recovery code.",
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
        // A missing code is not an error, a wrong one is.
        if (wantsCode) throw Object.assign(error, { field: "code" });
        wantsCode = true;
        return false;
      }
    },
  };
}

// A link logs in only after a click on a button: programs that open links, such as mail scanners,
// do not click.
function ofLink(token, loggedIn) {
  return el(
    "div.login",
    el("h1", { tabindex: -1 }, "Log in"),
    el("p", "This link logs you in, once."),
    form({
      submit: "Log in",
      run: async () => {
        await postQuietly("/admin/session/link", { token });
        await loggedIn();
      },
    }),
    el("p", el("a", { href: "#/login" }, "Log in with a password")),
  );
}

export async function show(main, { query, loggedIn }) {
  const token = query.get("token");
  if (token) {
    main.append(ofLink(token, loggedIn));
    setTimeout(() => main.querySelector("button")?.focus());
    return;
  }
  const { run, ...asked } = credentials();
  main.append(
    el(
      "div.login",
      el("h1", { tabindex: -1 }, "Log in"),
      form({ ...asked, run: async (values) => (await run(values)) && loggedIn() }),
    ),
    el(
      "div.login-help",
      el("p", "No password? On the server, ", el("code", "postern user link LOGIN"), " prints a link that logs in once, and ",
        el("code", "postern user add LOGIN"), " creates a user."),
    ),
  );
  setTimeout(() => main.querySelector("input")?.focus());
}
