// What the tests of the dashboard share: the browser, its users, the sandbox, and
// what must hold on every page whatever a test does there: nothing leaves the host,
// no script but ours runs, the page breaks none of its own rules and has no error.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createConnection, createServer } from "node:net";
import { after } from "node:test";
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
export const PATIENCE_MS = Number(process.env.POSTERN_PATIENCE_MS ?? 180_000);

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
  const deadline = Date.now() + PATIENCE_MS;
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

// A page of a test lives for seconds, and nobody watches: no process draws for it, nothing imitates a
// graphics card, and no compiler optimizes its scripts. That saves a fourth of the CPU time.
const THRIFTY = [
  "--in-process-gpu",
  "--disable-gpu",
  "--disable-software-rasterizer",
  "--js-flags=--no-turbofan --no-maglev",
];

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
    self.left = []; // visitors whose tabs others may have
    self.trap = await openTrap();
    self.chromium = await chromium.launch({
      timeout: PATIENCE_MS,
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

  // Somebody at a screen of their own, with one tab; logged in as user, if any. The tab is one that
  // was left, as a new one costs more CPU time than most tests; not so where it has to be fresh. Where
  // a user stays, the next visit of that user that stays, too, has the dashboard as it is loaded.
  async visitor({ user, fresh = false, stays = false, screen = DESKTOP, scheme = "light", timezone = "UTC" } = {}) {
    const kind = [screen.width, screen.height, scheme, timezone].join();
    const left = fresh ? -1 : this.left.findIndex((one) => one.kind === kind);
    const [visitor] = left < 0 ? [await this.newVisitor(screen, scheme, timezone)] : this.left.splice(left, 1);
    const isSame = await visitor.isLoggedIn(user);
    if (visitor.stays && !(stays && isSame)) await visitor.unload();
    if (!isSame) await visitor.enter(user);
    return Object.assign(visitor, { kind, stays, leftTo: fresh ? null : this.left });
  }

  async newVisitor(screen, scheme, timezone) {
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
    await context.addInitScript(spy);
    const visitor = new Visitor(context);
    visitor.page = await context.newPage();
    return visitor;
  }
}

// The browser of all files of a run.
let shared = null;
export async function browser() {
  shared ??= Browser.open();
  return shared;
}
after(async () => (await shared)?.close());

export const visitor = async (options) => (await browser()).visitor(options);

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

  async isLoggedIn(user) {
    if (!user || this.user?.login !== user.login) return false;
    const answer = await this.context.request.get("/admin/session");
    return answer.ok() && (await answer.json()).login === user.login;
  }

  // Logs in without the page of it, or has nobody logged in.
  async enter(user) {
    await this.context.clearCookies();
    this.user = user;
    if (!user) return;
    const answer = await this.context.request.post("/admin/session", {
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
    if (hostile || !this.leftTo) await this.context.close();
    else await this.tidy();
    const faults = this.faults.filter(
      (text) => !hostile || /^(error: PWNED|dialog)/.test(text),
    );
    assert.deepEqual(faults, []);
    if (!hostile) this.leftTo?.push(this);
  }

  // Leaves the tab as if it were new, but for the files of the dashboard in the browser's cache.
  async tidy() {
    const { context, page } = this;
    for (const other of context.pages()) if (other !== page) await other.close();
    await page.mouse.move(0, 0);
    await page.unrouteAll({ behavior: "ignoreErrors" });
    for (const name of ["request", "response"]) page.removeAllListeners(name);
    if (this.stays) await this.go("glossary");
    else await this.unload();
    await page.evaluate(() => localStorage.clear());
  }

  // Ends the dashboard in the tab. What it shows then is of the same origin, so its process stays.
  async unload() {
    await this.page.goto("/web/icon.svg");
  }
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// What keeps people from using the page, in words: by "all" rules of axe, or by those for its
// "structure", as those for colours cost more CPU time than the others together.
async function obstacles(page, rules) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe);
  const { violations } = await page.evaluate(
    (enabled) => axe.run(document, {
      resultTypes: ["violations"], iframes: false,
      rules: { "color-contrast": { enabled }, "link-in-text-block": { enabled } },
    }),
    rules === "all",
  );
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, help, nodes }) =>
      nodes.map((node) => `${id} (${help}): ${node.html} ${node.failureSummary}`),
    );
}

// In the page: texts that are too faint on their ground (WCAG 2.2, 1.4.3). It knows colours alone: no
// text of the dashboard is on a picture or translucent.
function faintTexts() {
  const lightOf = (colour) =>
    colour
      .slice(0, 3)
      .map((n) => (n <= 0.04045 ? n / 12.92 : ((n + 0.055) / 1.055) ** 2.4))
      .reduce((sum, n, i) => sum + n * [0.2126, 0.7152, 0.0722][i], 0);
  const numbers = (colour) => {
    const [red, green, blue, alpha = 1] = colour.match(/[\d.]+/g).map(Number);
    const most = colour.startsWith("color(") ? 1 : 255; // a mix is not in bytes
    return [red / most, green / most, blue / most, alpha];
  };
  const groundOf = (node) => {
    const colour = node ? numbers(getComputedStyle(node).backgroundColor) : [1, 1, 1, 1];
    return colour[3] === 0 ? groundOf(node.parentElement) : colour;
  };
  const isText = (node) =>
    node.matches("input:not([type=checkbox], [type=radio]), select, textarea") ||
    [...node.childNodes].some((one) => one.nodeType === Node.TEXT_NODE && one.data.trim());
  return [...document.body.querySelectorAll("*")]
    .filter((node) => isText(node) && node.checkVisibility({ visibilityProperty: true }) && !node.closest(":disabled, .visually-hidden"))
    .map((node) => {
      const { color, fontSize, fontWeight } = getComputedStyle(node);
      const [dark, bright] = [lightOf(numbers(color)), lightOf(groundOf(node))].sort((a, b) => a - b);
      const isLarge = parseFloat(fontSize) >= (fontWeight >= 700 ? 18.66 : 24);
      const ratio = (bright + 0.05) / (dark + 0.05);
      return ratio < (isLarge ? 3 : 4.5) && `a contrast of ${ratio.toFixed(2)}: ${node.outerHTML.slice(0, 200)}`;
    })
    .filter(Boolean);
}

// How much wider than the screen the page is.
const overhang = (page) =>
  page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement;
    return Math.max(0, scrollWidth - clientWidth);
  });

// Also those out of view.
const arePlotsDrawn = () =>
  [...document.querySelectorAll(".chart:not([hidden]) canvas")].every((canvas) => globalThis.Chart?.getChart(canvas));

// With SCREENSHOTS, a picture of the page as it stands.
export async function picture({ page }, name) {
  if (!process.env.SCREENSHOTS) return;
  await page.screenshot({ path: `${process.env.POSTERN_SCREENSHOTS}/${name}.png`, fullPage: true });
}

// What is wrong with the page as it stands, of which it takes a picture: by the colours of its texts,
// its width and these rules of axe, or "none".
export async function look(visitor, name, rules = "structure") {
  const { page } = visitor;
  await page.waitForFunction(arePlotsDrawn);
  await picture(visitor, name);
  const wrong = await page.evaluate(faintTexts);
  if (rules !== "none") wrong.push(...(await obstacles(page, rules)));
  const wide = await overhang(page);
  if (wide) wrong.push(`${wide} pixels wider than the screen`);
  return wrong.map((text) => `${name}: ${text}`);
}

// The same of a page that is shown light and then dark, which changes nothing but its colours.
export async function lookAtBoth(visitor, name, size, inLight, inDark) {
  const wrong = await look(visitor, `${name}-light-${size}`, inLight);
  await visitor.page.emulateMedia({ colorScheme: "dark" });
  wrong.push(...(await look(visitor, `${name}-dark-${size}`, inDark)));
  await visitor.page.emulateMedia({ colorScheme: "light" });
  return wrong;
}
