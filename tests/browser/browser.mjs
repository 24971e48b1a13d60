// What the tests of the dashboard share: the browser, its users, the sandbox, and
// what must hold on every page whatever a test does there: nothing leaves the host,
// no script but ours runs, the page breaks none of its own rules and has no error.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createConnection, createServer } from "node:net";
import { chromium } from "playwright-core";

export const admin = process.env.POSTERN_ADMIN_URL;
export const api = process.env.POSTERN_URL;
export const operator = {
  login: process.env.POSTERN_ADMIN_LOGIN,
  password: process.env.POSTERN_ADMIN_PASSWORD,
};

export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 360, height: 740 };

// For whatever has to happen; on a busy machine it takes long.
export const PATIENCE_MS = Number(process.env.POSTERN_PATIENCE_MS ?? 60_000);

// A word that no other test uses.
export const unique = (word) => `${word}-${randomBytes(5).toString("hex")}`;

// Runs a program; what it printed.
export function run(program, words, input = "") {
  return new Promise((resolve, reject) => {
    const options = { maxBuffer: 1 << 24, timeout: PATIENCE_MS };
    const child = execFile(program, words, options, (error, out, said) =>
      error
        ? reject(new Error(`${program} ${words.join(" ")}: ${out}${said}`))
        : resolve(out),
    );
    child.stdin.on("error", () => {});
    child.stdin.end(input);
  });
}

// Stops or starts a part of the sandbox.
export const sandbox = (verb, part) =>
  run("tools/sandbox", [verb, process.env.POSTERN_DIR, part]);

export const postern = async (words, input) =>
  JSON.parse(
    (await run(
      process.env.POSTERN_CLI,
      ["-c", process.env.POSTERN_CONFIG, "--json", ...words],
      input,
    )) || "null",
  );

// A new user; of no company, an operator.
export async function newUser({ company, role = "owner" } = {}) {
  const user = { login: unique(role), password: unique("password") };
  const words = ["user", "add", user.login, "--role", role];
  if (company) words.push("--company", company);
  await postern(words, user.password);
  return user;
}

// A new company with a domain that is active, and a key of it.
export async function newTenant(name = unique("company")) {
  const { id } = await postern(["company", "add", name]);
  const domain = `${unique("domain")}.example`;
  await postern(["domain", "add", domain, "--company", id]);
  const { token: key } = await postern(
    ["key", "create", "--company", id, "--name", unique("key")].concat([
      "--scope",
      "sending,reading,managing",
    ]),
  );
  return { id, name, domain, key };
}

// Sends an email over HTTP, as a program does; its id.
export async function send(tenant, fields) {
  const answer = await fetch(`${api}/emails`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${tenant.key}`,
      "Content-Type": "application/json",
    },
    body: JSON.stringify({
      from: `hello@${tenant.domain}`,
      subject: "Hello",
      text: "Hello",
      ...fields,
    }),
  });
  const body = await answer.json();
  assert.equal(answer.status, 200, JSON.stringify(body));
  return body.id;
}

// The same as a form, which takes a thousand recipients; its id.
export async function sendForm(tenant, fields) {
  const answer = await fetch(`${api}/v3/${tenant.domain}/messages`, {
    method: "POST",
    headers: { Authorization: `Basic ${btoa(`api:${tenant.key}`)}` },
    body: new URLSearchParams({ from: `hello@${tenant.domain}`, subject: "Hello", text: "Hello", ...fields }),
  });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  return JSON.parse(text).id.match(/[0-9a-f-]{36}/)[0];
}

// Chooses in a form: of a few things in a select, of many by a part of the name.
export async function choose(form, label, text) {
  const field = form.getByLabel(label, { exact: true });
  if ((await field.getAttribute("role")) !== "combobox") return field.selectOption({ label: text });
  await field.fill(text);
  await form.getByRole("option", { name: text }).first().click();
}

// What is chosen there, as people read it.
export const chosen = (form, label) =>
  form.getByLabel(label, { exact: true }).evaluate((field) =>
    field.matches("select") ? field.selectedOptions[0]?.text : field.value);

// An SMTP client of Postfix's that says these lines; what it was answered.
export async function smtp(...lines) {
  const [host, port] = process.env.POSTFIX_SMTP.split(":");
  const socket = createConnection({ host, port: Number(port) });
  const answers = [];
  let text = "";
  socket.setTimeout(PATIENCE_MS, () => socket.destroy(new Error("silence")));
  for await (const data of socket) {
    text += data;
    // One answer whole, the next line.
    while (/^(\d{3}-.*\r\n)*\d{3} .*\r\n/.test(text)) {
      const [answer] = text.match(/^(\d{3}-.*\r\n)*\d{3} .*\r\n/);
      answers.push(answer);
      text = text.slice(answer.length);
      if (lines.length === 0) return socket.end("QUIT\r\n"), answers;
      socket.write(`${lines.shift()}\r\n`);
    }
  }
  throw new Error(`the server went away after ${answers}`);
}

// Looks again and again until there is something true, and gives that.
export async function waitFor(what, look) {
  const deadline = Date.now() + 2 * PATIENCE_MS;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > deadline) throw new Error(`waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

// The browser's proxy, where all comes that wants to go elsewhere; hostile mail
// has its port, too. Nobody has to come.
async function openTrap() {
  const caught = [];
  const server = createServer((socket) => {
    const n = caught.push("a connection") - 1;
    socket.on("error", () => {});
    socket.once("data", (data) => {
      caught[n] = data.toString("latin1").split("\r\n")[0];
      socket.destroy();
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { caught, port: server.address().port, close: () => server.close() };
}

const PROGRAMS = [
  process.env.POSTERN_BROWSER,
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
];

// A page of a test lives for seconds, and nobody watches: no process draws for it, and no compiler
// optimizes its scripts. That saves a sixth of the CPU time, or a fourth.
const THRIFTY = ["--in-process-gpu", "--js-flags=--no-turbofan --no-maglev"];

// What has run in a page that is not ours says so; so does what a page's own
// policy stopped. And the address that the page has heard of last.
function spy() {
  const hear = () => (window.heard = location.hash.split("?")[0]);
  addEventListener("hashchange", hear);
  hear();
  window.pwned = (where) => console.error(`PWNED ${where}`);
  document.addEventListener("securitypolicyviolation", (event) =>
    console.error(
      `VIOLATION of ${event.violatedDirective} by ${event.blockedURI}`,
    ),
  );
}

export class Browser {
  static async open(flags = THRIFTY) {
    const self = new Browser();
    self.trap = await openTrap();
    self.chromium = await chromium.launch({
      executablePath: PROGRAMS.find((path) => path && existsSync(path)),
      args: [
        `--proxy-server=127.0.0.1:${self.trap.port}`,
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        ...flags,
      ],
    });
    return self;
  }

  // What wanted to go elsewhere: nothing, but in a test that the trap works.
  async close(caught = []) {
    await this.chromium.close();
    this.trap.close();
    assert.deepEqual(this.trap.caught, caught);
  }

  // Somebody at a screen of their own, with one tab; logged in as user, if any.
  async visitor({ user, screen = DESKTOP, scheme = "light", timezone = "UTC" } = {}) {
    const context = await this.chromium.newContext({
      baseURL: admin,
      viewport: screen,
      colorScheme: scheme,
      hasTouch: screen === PHONE,
      isMobile: screen === PHONE,
      locale: "en-GB",
      timezoneId: timezone,
      reducedMotion: "reduce",
      permissions: ["clipboard-read", "clipboard-write"],
    });
    context.setDefaultTimeout(PATIENCE_MS);
    const visitor = new Visitor(context);
    await context.addInitScript(spy);
    if (user) await visitor.enter(user);
    visitor.page = await context.newPage();
    return visitor;
  }
}

export class Visitor {
  constructor(context) {
    this.context = context;
    this.faults = [];
    const fault = (text) => this.faults.push(text);
    context.on("request", (request) => {
      const url = request.url();
      if (!url.startsWith(`${admin}/`) && !/^(data|blob|about):/.test(url))
        fault(`request to ${url}`);
    });
    context.on("console", (message) => {
      const text = message.text();
      // That a password was wrong, or that nobody is logged in, is said by a status.
      const status = /^Failed to load resource: .* status of 4\d\d/.test(text);
      if (/^(error|warning)$/.test(message.type()) && !status)
        fault(`${message.type()}: ${text}`);
    });
    context.on("weberror", (error) => fault(`${error.error().stack}`));
    context.on("dialog", (dialog) => {
      fault(`dialog: ${dialog.message()}`);
      dialog.dismiss().catch(() => {});
    });
  }

  // Logs in without the page of it.
  async enter(user) {
    const answer = await this.context.request.post(`${admin}/admin/session`, {
      headers: { Origin: admin },
      data: user,
    });
    assert.equal(answer.status(), 200, await answer.text());
  }

  // Follows a link of the navigation, which a phone hides behind a button.
  async follow(text) {
    const link = this.page
      .getByRole("navigation", { name: "Pages" })
      .getByRole("link", { name: text, exact: true });
    const menu = this.page.getByRole("button", { name: "Menu", exact: true });
    await link.or(menu).first().waitFor();
    if (!(await link.isVisible())) await menu.click();
    await link.click();
    // A list holds new lines back from under the pointer.
    await this.page.mouse.move(0, 0);
    await this.settled();
  }

  // Goes to a place of the dashboard, as by its address.
  async go(place) {
    await this.page.goto(`/#/${place}`);
    await this.settled();
  }

  // Waits until the page has its title and all that it loads.
  async settled() {
    await this.page.waitForFunction(
      () =>
        window.heard === location.hash.split("?")[0] &&
        document.querySelector("main h1") &&
        !document.querySelector("main[aria-busy=true], main [aria-busy=true], .loading"),
      undefined,
      { polling: 50 }, // by itself it looks at each frame, of which there are 60 a second
    );
    for (const frame of await this.page.locator("main iframe:visible").all())
      await frame.contentFrame().locator("body *").first().waitFor();
  }

  title() {
    return this.page.getByRole("main").getByRole("heading", { level: 1 });
  }

  // Waits until there is a text in the page.
  async see(text) {
    await this.page.getByText(text).first().waitFor();
  }

  // By the page of it.
  async logIn({ login, password }) {
    await this.page.getByLabel("Login", { exact: true }).fill(login);
    await this.page.getByLabel("Password", { exact: true }).fill(password);
    await this.page.getByRole("button", { name: "Log in", exact: true }).click();
  }

  // Ends the visit, which must have gone without a fault. Where the content is
  // hostile, that the browser has stopped something is none.
  async leave({ hostile = false } = {}) {
    await this.context.close();
    const faults = this.faults.filter(
      (text) => !hostile || /^(error: PWNED|dialog)/.test(text),
    );
    assert.deepEqual(faults, []);
  }
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// What keeps people from using the page, in words: by all rules, or by those that are named.
async function obstacles(page, rules) {
  if (rules?.length === 0) return [];
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe);
  const { violations } = await page.evaluate(
    (rules) => axe.run(document, {
      resultTypes: ["violations"], iframes: false, ...(rules && { runOnly: { type: "rule", values: rules } }),
    }),
    rules,
  );
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, help, nodes }) =>
      nodes.map((node) => `${id} (${help}): ${node.html} ${node.failureSummary}`),
    );
}

// How much wider than the screen the page is.
const overhang = (page) =>
  page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    return Math.max(0, scrollWidth - clientWidth);
  });

// With SCREENSHOTS, a picture of the page as it stands.
export async function picture({ page }, name) {
  if (process.env.SCREENSHOTS)
    await page.screenshot({ path: `${process.env.POSTERN_SCREENSHOTS}/${name}.png`, fullPage: true });
}

// What is wrong with the page as it stands, of which it takes a picture.
export async function look(visitor, name, rules) {
  const { page } = visitor;
  await picture(visitor, name);
  const wrong = await obstacles(page, rules);
  const wide = await overhang(page);
  if (wide) wrong.push(`${wide} pixels wider than the screen`);
  return wrong.map((text) => `${name}: ${text}`);
}

// The same of a page that is shown light, and then dark, which changes nothing but its colours.
export async function lookAtBoth(visitor, name, size) {
  const wrong = await look(visitor, `${name}-light-${size}`);
  await visitor.page.emulateMedia({ colorScheme: "dark" });
  wrong.push(...(await look(visitor, `${name}-dark-${size}`, ["color-contrast", "link-in-text-block"])));
  await visitor.page.emulateMedia({ colorScheme: "light" });
  return wrong;
}
