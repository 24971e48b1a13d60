// The user's own login: password, codes of an authenticator app, sessions.

import { get, path, post, remove } from "../api.js";
import { badge, button, code, danger, definitions, el, header, notice, primary, remark, section, time } from "../elements.js";
import { dialog, form, show as showBox } from "../forms.js";
import { list } from "../lists.js";

export const title = "Account";

const SHORTEST = 12;

// An SVG from the server is shown as an image: as a part of the page it could contain markup.
function picture(svg) {
  const node = el("img.qr", { alt: "QR code of the secret", width: 200, height: 200 });
  node.src = `data:image/svg+xml,${encodeURIComponent(svg)}`;
  return node;
}

async function turnOn() {
  const started = await dialog({
    title: "Use codes of an authenticator app",
    text: "From then on a login asks for the password, and for a code that an app on your phone shows. First the password:",
    fields: [
      { name: "password", label: "Password", type: "password", required: true, autocomplete: "current-password" },
    ],
    submit: "Continue",
    run: (values) => post("/admin/totp", values),
  });
  if (!started) return false;
  const confirmed = await dialog({
    title: "Scan this with the app",
    text: [
      el(
        "div.enrol",
        picture(started.qr),
        el(
          "div",
          el("p", "Or type the secret into it:"),
          code(started.secret.match(/.{4}/g).join(" "), { label: "Secret" }),
          el(
            "p.form-text",
            el(
              "a",
              {
                href: "#/account",
                onclick: (event) => {
                  event.preventDefault();
                  location.assign(started.uri);
                },
              },
              "Open an app on this device",
            ),
          ),
        ),
      ),
    ],
    fields: [
      {
        name: "code",
        label: "The code that it shows now",
        required: true,
        inputmode: "numeric",
        autocomplete: "one-time-code",
        maxlength: 8,
      },
    ],
    submit: "Turn codes on",
    run: (values) => post("/admin/totp/confirm", values),
  });
  if (!confirmed) return false;
  await showBox(
    "Codes are on",
    remark(
      "warn",
      "Keep these recovery codes somewhere other than the phone. Each works once instead of a code from the app. They are shown only once.",
    ),
    code(confirmed.codes.join("\n"), { label: "Recovery codes" }),
  );
  return true;
}

// The additional field for a login that uses codes, beside the password.
export const codeField = (account) =>
  account.totp_at
    ? [
        {
          name: "code",
          label: "Code",
          required: true,
          autocomplete: "one-time-code",
          maxlength: 40,
          help: "What the authenticator app shows now, or a recovery code.",
        },
      ]
    : [];

const turnOff = (account, done) =>
  dialog({
    title: "Turn codes off?",
    text: "Then the password alone is enough. The recovery codes end too.",
    fields: [
      { name: "password", label: "Password", type: "password", required: true, autocomplete: "current-password" },
      ...codeField(account),
    ],
    submit: "Turn codes off",
    tone: "danger",
    run: async (values) => {
      await post("/admin/totp/off", values);
      notice("Codes are off.");
    },
    done,
  });

export async function show(main, { session }) {
  main.append(header(title, { words: ["owner", "viewer", "operator", "member", "session"] }));
  const top = el("div");
  const password = el("div");
  const codes = el("div");
  main.append(top, el("div.two.stacks", password, codes));

  async function reload() {
    const account = await get("/admin/account");
    top.replaceChildren(
      definitions([
        ["Login", account.login],
        [
          "Role",
          el(
            "span",
            badge(account.role, { tone: "none" }),
            session.operator ? " operator: sees all companies" : " member of one company",
          ),
        ],
        ["Last login", time(account.last_login_at)],
      ]),
    );

    const box = form({
      fields: [
        // For password managers, which need the login.
        { name: "login", label: "Login", value: account.login, autocomplete: "username" },
        ...(account.password_at
          ? [
              {
                name: "password",
                label: "Current password",
                type: "password",
                required: true,
                autocomplete: "current-password",
              },
            ]
          : []),
        ...codeField(account),
        {
          name: "new_password",
          label: "New password",
          type: "password",
          required: true,
          autocomplete: "new-password",
          help: `At least ${SHORTEST} characters. Several unrelated words make a good password.`,
        },
        { name: "again", label: "New password again", type: "password", required: true, autocomplete: "new-password" },
      ],
      submit: account.password_at ? "Change the password" : "Set the password",
      run: async ({ password: present, code, new_password, again }) => {
        if (new_password !== again)
          throw Object.assign(new Error("The two passwords are not the same."), { field: "again" });
        try {
          await post("/admin/password", { ...(account.password_at && { password: present }), code, new_password });
        } catch (error) {
          // The store's errors about a password mean the new one.
          if (error.status === 422 && !/`(password|code)`/.test(error.message)) error.field = "new_password";
          throw error;
        }
        notice("The password is set. You are logged out everywhere else. Tokens remain valid.");
        await Promise.all([reload(), sessions.reload()]);
      },
    });
    const name = box.querySelector("[name=login]");
    name.readOnly = true;
    name.closest(".field").classList.add("visually-hidden");
    name.tabIndex = -1;
    password.replaceChildren(
      section(
        "Password",
        account.password_at
          ? el("p.muted", "Set ", time(account.password_at), ".")
          : remark("warn", "You logged in with a link. You have no password yet."),
        box,
      ),
    );

    const left = account.recovery_codes;
    codes.replaceChildren(
      section(
        "Two-factor authentication",
        account.totp_at
          ? [
              definitions([
                ["Codes", el("span", badge("on", { tone: "good" }), " since ", time(account.totp_at))],
                ["Recovery codes", `${left} left`],
              ]),
              left < 3 && remark("warn", "To get new recovery codes, turn codes off and on again."),
              el(
                "p.actions",
                danger("Turn codes off", () => turnOff(account, reload)),
              ),
            ]
          : [
              el(
                "p",
                "A login then also needs a code from an authenticator app on your phone (TOTP, such as Aegis, Google Authenticator or 1Password).",
              ),
              account.password_at
                ? el(
                    "p.actions",
                    primary("Turn codes on", () => turnOn().then((done) => done && reload())),
                  )
                : el("p.muted", "Set a password first."),
            ],
      ),
    );
  }

  const sessions = list({
    caption: "Sessions",
    noun: "session",
    load: (after, limit = 50) => get("/admin/sessions", { after, limit }),
    columns: [
      {
        title: "From",
        kind: "main",
        cell: (one) => el("span", el("code", one.origin), one.current && [" ", badge("this browser", { tone: "good" })]),
      },
      { title: "Logged in", kind: "time", cell: (one) => time(one.created_at) },
      { title: "Last used", kind: "time", cell: (one) => time(one.last_used_at) },
      { title: "Ends", kind: "time", cell: (one) => time(one.expires_at) },
      {
        title: "",
        kind: "actions",
        cell: (one) =>
          one.current
            ? " "
            : danger("Log out", async () => {
                await remove(path`/admin/sessions/${one.id}`);
                await sessions.reload();
              }),
      },
    ],
  });
  const others = button("Log out everywhere else", async () => {
    await remove("/admin/sessions");
    notice("You are logged out everywhere else.");
    await sessions.reload();
  });

  await reload();
  main.append(section("Where you are logged in", { actions: [others] }, sessions.element));
  await sessions.reload();
}
