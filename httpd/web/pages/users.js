// Who may use this dashboard, and the tokens of programs.

import { get, patch, path, post, remove } from "../api.js";
import { subscribe } from "../live.js";
import { companies, companyPick, nameOf, searched } from "../tenant.js";
import { codeField } from "./account.js";
import { badge, button, danger, el, empty, header, notice, primary, secret, section, time } from "../elements.js";
import { confirm, dialog, show as showBox } from "../forms.js";
import { list } from "../lists.js";

export const title = "Users";

const roles = [
  { value: "viewer", text: "viewer", help: "Can see, but not change, anything." },
  { value: "owner", text: "owner", help: "Can change everything they see." },
];

const revoked = (made) =>
  made.tokens_revoked > 0 &&
  el("p", made.tokens_revoked === 1 ? "One token was revoked." : `${made.tokens_revoked} tokens were revoked.`);

const showLink = (heading, login, made) =>
  showBox(
    heading,
    revoked(made),
    el(
      "p",
      `With this link ${login} logs in: once, and within an hour. It asks for no password and no code, so send it over a channel that nobody else reads. On the account page they set a password.`,
    ),
    secret("Login link.", location.origin + made.login_path),
  );

export async function show(main, { session, query }) {
  const head = header(title, {
    words: ["operator", "member", "owner", "viewer", "token"],
    about: session.operator ? "Operators see all companies; members see their own." : "Who sees your company here.",
  });
  main.append(head);
  const known = await companies(session);

  async function add(preset) {
    const made = await dialog({
      title: "Add a user",
      fields: [
        {
          name: "login",
          label: "Login",
          required: true,
          placeholder: "ann@example.com",
          help: session.operator
            ? "An address, or any other name. Not case-sensitive."
            : "An address in one of your company's active domains. An operator of this server adds users with other logins.",
        },
        { name: "role", label: "Role", type: "choice", options: roles },
        ...(session.operator
          ? [
              {
                name: "company_id",
                label: "Access to",
                ...(known.isMany
                  ? { ...companyPick, any: "All companies: an operator", value: preset }
                  : {
                      type: "select",
                      options: [
                        { value: "", text: "All companies: an operator" },
                        ...known.all.map((one) => ({ value: one.id, text: one.name })),
                      ],
                      value: preset ?? known.all[0]?.id ?? "",
                    }),
              },
            ]
          : []),
      ],
      submit: "Add the user",
      run: (values) => post("/admin/users", values),
    });
    if (!made) return;
    await showLink("The user is added", made.login, made);
    await rows.reload();
  }
  const changeRole = (user) =>
    dialog({
      title: `Role of ${user.login}`,
      fields: [{ name: "role", label: "Role", type: "choice", options: roles, value: user.role }],
      submit: "Save",
      run: async (values) => {
        await patch(path`/admin/users/${user.id}`, values);
        notice(`${user.login} is now ${values.role === "owner" ? "an" : "a"} ${values.role}.`);
      },
      done: () => rows.reload(),
    });
  const makeLink = async (user) => showLink("Login link", user.login, await post(path`/admin/users/${user.id}/link`));
  async function reset(user) {
    const made = await confirm(
      `Reset the login of ${user.login}?`,
      "For a user who lost the password or the phone. This removes both, ends their sessions and revokes their tokens. You get a link for them to log in with.",
      "Reset",
      () => post(path`/admin/users/${user.id}/reset`),
    );
    if (!made) return;
    await showLink("The login is reset", user.login, made);
    await Promise.all([rows.reload(), tokens.reload()]);
  }
  const removeUser = (user) =>
    confirm(
      `Remove ${user.login}?`,
      "They are logged out at once, and their tokens are revoked.",
      "Remove the user",
      () => remove(path`/admin/users/${user.id}`),
      () => Promise.all([rows.reload(), tokens.reload()]),
    );

  const rows = searched({
    caption: "Users",
    noun: "user",
    from: "/admin/users",
    query,
    known,
    placeholder: "Login",
    isFew: ({ data }) => data.length < 8,
    columns: [
      {
        title: "Login",
        sort: (user) => user.login,
        cell: (user) => el("span.address", user.login, user.id === session.user_id && el("span.muted", " (you)")),
      },
      { title: "Role", kind: "state", sort: (user) => user.role, cell: (user) => badge(user.role, { tone: "none" }) },
      ...(session.operator
        ? [
            {
              title: "Access to",
              sort: (user) => user.company_id && nameOf(user),
              cell: (user) => (user.company_id ? nameOf(user) : el("strong", "all companies")),
            },
          ]
        : []),
      {
        title: "Logs in with",
        cell: (user) =>
          user.password_at ? (user.totp_at ? "password and code" : "password") : el("span.muted", "links and tokens"),
      },
      { title: "Last login", kind: "time", sort: (user) => user.last_login_at, cell: (user) => time(user.last_login_at) },
      {
        title: "",
        kind: "actions",
        cell: (user) =>
          user.id === session.user_id
            ? el("a.btn.btn-sm.btn-plain", { href: "#/account" }, "Account")
            : [
                button("Change role", () => changeRole(user)),
                button("Login link", () => makeLink(user)),
                button("Reset login", () => reset(user)),
                danger("Remove", () => removeUser(user)),
              ],
      },
    ],
    empty: () => empty("No user matches", "Change the search."),
  });

  async function createToken() {
    const account = await get("/admin/account");
    const made = await dialog({
      title: "Create a token",
      text: "A program with this token can do whatever you can, over the admin interface. To send mail, programs need a key instead.",
      fields: [
        { name: "name", label: "Name", required: true, placeholder: "backup" },
        {
          name: "days",
          label: "Valid for (days)",
          type: "number",
          min: 1,
          max: 3650,
          help: "Empty: until somebody revokes it.",
        },
        account.password_at && {
          name: "password",
          label: "Your password",
          type: "password",
          required: true,
          autocomplete: "current-password",
        },
        ...codeField(account),
      ].filter(Boolean),
      submit: "Create the token",
      run: (values) => post("/admin/tokens", values),
    });
    if (!made) return;
    await showBox(`The token “${made.name}”`, secret("Token.", made.token));
    await tokens.reload();
  }
  const revoke = (token) =>
    confirm(
      `Revoke “${token.name}”?`,
      `It is a token of ${token.login}. Programs with it are refused from now on.`,
      "Revoke the token",
      () => remove(path`/admin/tokens/${token.id}`),
      () => tokens.reload(),
    );
  const tokens = list({
    caption: "Tokens",
    load: (after, limit = 50) => get("/admin/tokens", { after, limit }),
    columns: [
      { title: "Token", kind: "main", cell: (token) => token.name },
      { title: "Acts as", cell: (token) => el("span.address", token.login) },
      { title: "Created", kind: "time", cell: (token) => time(token.created_at) },
      { title: "Ends", kind: "time", cell: (token) => time(token.expires_at) },
      { title: "Last used", kind: "time", cell: (token) => time(token.last_used_at) },
      { title: "", kind: "actions", cell: (token) => danger("Revoke", () => revoke(token)) },
    ],
    empty: el("p.muted", "No tokens. A token is for a program that manages Postern, such as a deployment script."),
  });

  head.querySelector(".actions").append(primary("Add a user", () => add(query.get("company") ?? undefined)));
  main.append(
    rows.search,
    rows.element,
    section(
      "Tokens",
      {
        actions: [button("Create a token", createToken)],
        about: "For programs that use the admin interface in somebody's name.",
      },
      tokens.element,
    ),
  );
  await Promise.all([rows.reload(), tokens.reload()]);
  return subscribe(["tenants"], () => Promise.all([rows.refresh(), tokens.refresh()]));
}
