// Who gets in, how far, and how they find their way: logins and their ends, the
// roles, addresses of pages, the keyboard.

import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import * as t from "./browser.mjs";

let tenant, owner;

before(async () => {
  tenant = await t.newTenant();
  owner = await t.newUser({ company: tenant.id });
});

// Ends the session, of which the pages are not told.
const logOutElsewhere = (visitor) =>
  visitor.context.request.delete(`${t.admin}/admin/session`, {
    headers: { Origin: t.admin },
  });

describe("login", () => {
  it("says that a password is wrong, and takes the right one", async () => {
    const visitor = await t.visitor();
    await visitor.page.goto("/");
    await visitor.logIn({ ...owner, password: "not this one" });
    await visitor.page.getByRole("alert").getByText(/wrong/i).waitFor();
    await visitor.logIn(owner);
    await visitor.page.getByRole("navigation", { name: "Pages" }).waitFor();
    // No password stays in an address.
    assert.ok(!visitor.page.url().includes(owner.password));
    await visitor.leave();
  });

  it("leads to the page that was asked for", async () => {
    const visitor = await t.visitor();
    await visitor.page.goto("/#/keys");
    await visitor.logIn(owner);
    await visitor.title().getByText("Keys").waitFor();
    await visitor.leave();
  });

  it("is asked for again when the session has ended elsewhere", async () => {
    const visitor = await t.visitor({ user: owner, stays: true });
    await visitor.go("domains");
    await logOutElsewhere(visitor);
    // The page finds out when it wants something.
    await visitor.page.getByRole("link", { name: "Emails" }).click();
    await visitor.logIn(owner);
    await visitor.title().getByText("Emails").waitFor();
    await visitor.leave();
  });

  it("is asked for again when the session has expired", async () => {
    const user = await t.newUser({ company: tenant.id });
    const visitor = await t.visitor({ user });
    await visitor.go("keys");
    await t.run("sqlite3", [
      `${process.env.POSTERN_DIR}/store/postern.db`,
      ".timeout 20000",
      "UPDATE admin_session SET expires_us = 1 WHERE user_id =" +
        ` (SELECT id FROM admin_user WHERE login = '${user.login}')`,
    ]);
    await visitor.page.reload();
    await visitor.logIn(user);
    await visitor.title().getByText("Keys").waitFor();
    await visitor.leave();
  });
});

describe("tabs", () => {
  it("of one browser have one user", async () => {
    const other = await t.newUser({ company: tenant.id, role: "viewer" });
    const visitor = await t.visitor({ user: owner, stays: true });
    await visitor.go("keys");
    const tab = await visitor.context.newPage();
    await tab.goto("/#/keys");
    await tab.getByRole("link", { name: "Log out" }).click();
    // The first tab shows no longer what nobody may see.
    await visitor.page.getByLabel("Password", { exact: true }).waitFor();
    for (const [name, value] of [["Login", other.login], ["Password", other.password]])
      await tab.getByLabel(name, { exact: true }).fill(value);
    await tab.getByRole("button", { name: "Log in" }).click();
    await visitor.see(other.login);
    await visitor.title().getByText("Keys").waitFor();
    await visitor.settled();
    assert.equal(await visitor.page.getByRole("button", { name: "Create a key" }).count(), 0);
    await visitor.leave();
  });
});

describe("what was typed", () => {
  it("is there when the session has ended meanwhile", async () => {
    const user = await t.newUser({ company: tenant.id });
    const visitor = await t.visitor({ user });
    const { page } = visitor;
    await visitor.go("keys");
    await page.getByRole("button", { name: "Create a key" }).first().click();
    const form = page.getByRole("dialog", { name: "Create a key" });
    const name = t.unique("typed");
    await form.getByLabel("Name", { exact: true }).fill(name);
    await logOutElsewhere(visitor);
    // As by Return: that it has ended may be found by the page itself before.
    await form.locator("form").evaluate((node) => node.requestSubmit());
    const login = page.getByRole("dialog", { name: "Log in again" });
    await login.getByLabel("Login", { exact: true }).fill(user.login);
    await login.getByLabel("Password", { exact: true }).fill(user.password);
    await login.getByRole("button", { name: "Log in" }).click();
    await login.waitFor({ state: "detached" });
    await form.getByRole("button", { name: "Create the key" }).click();
    await page.getByRole("dialog", { name: `The key “${name}”` }).waitFor();
    await visitor.leave();
  });

  it("is gone when somebody else logs in", async () => {
    const other = await t.newUser({ company: tenant.id });
    const visitor = await t.visitor({ user: owner, stays: true });
    const { page } = visitor;
    await visitor.go("keys");
    await page.getByRole("button", { name: "Create a key" }).first().click();
    const form = page.getByRole("dialog", { name: "Create a key" });
    await form.getByLabel("Name", { exact: true }).fill("mine");
    await visitor.context.clearCookies();
    await form.locator("form").evaluate((node) => node.requestSubmit());
    const login = page.getByRole("dialog", { name: "Log in again" });
    await login.getByLabel("Login", { exact: true }).fill(other.login);
    await login.getByLabel("Password", { exact: true }).fill(other.password);
    await login.getByRole("button", { name: "Log in" }).click();
    await visitor.see(other.login);
    await page.getByRole("dialog").first().waitFor({ state: "detached" });
    await visitor.leave();
  });

  it("is told wrong beside its field, in words and for those who only hear", async () => {
    const visitor = await t.visitor({ user: owner, stays: true });
    const { page } = visitor;
    await visitor.go("users");
    await page.getByRole("button", { name: "Add a user" }).click();
    const login = page.getByRole("dialog").getByLabel("Login", { exact: true });
    await login.fill("with a blank");
    await page.getByRole("button", { name: "Add the user" }).click();
    await page.locator("input:focus[aria-invalid=true]").waitFor();
    const told = await login.evaluate((input) =>
      input.getAttribute("aria-describedby").split(" ").map((id) => document.getElementById(id).innerText).join());
    assert.match(told, /blanks/);
    assert.equal(await login.inputValue(), "with a blank");
    await visitor.leave();
  });
});

describe("a server that does not answer", () => {
  it("is said to be, on a page that was not loaded yet, which mends when the server is back", async () => {
    const visitor = await t.visitor({ user: owner });
    const { page } = visitor;
    await visitor.go("keys");
    await page.route("**/pages/domains.js", (route) => route.abort());
    await page.getByRole("link", { name: "Domains", exact: true }).click();
    await visitor.see(/The server does not answer\. Nothing is lost/);
    await visitor.see("This page tries again by itself.");
    await page.unroute("**/pages/domains.js");
    await visitor.title().getByText("Domains", { exact: true }).waitFor();
    // What the browser itself says of it is no fault of the page.
    visitor.faults = visitor.faults.filter((text) => !/net::ERR_FAILED/.test(text));
    await visitor.leave();
  });
});

describe("a server that is busy", () => {
  it("says once when to try again", async () => {
    const visitor = await t.visitor({ user: owner, stays: true });
    const { page } = visitor;
    await visitor.go("keys");
    let message;
    const answers = {
      status: 429,
      headers: { "Retry-After": "8", "Content-Type": "application/json" },
    };
    await page.route("**/admin/domains?*", (route) =>
      route.fulfill({ ...answers, body: JSON.stringify({ message }) }));
    for (message of ["Too many. Try again in 8 seconds.", "It is busy. Please try again."]) {
      await page.getByRole("link", { name: "Domains", exact: true }).click();
      await visitor.see(message.replace("Please try again.", "Try again in 8 s."));
      assert.equal((await page.getByRole("alert").innerText()).match(/again in/g).length, 1);
      await page.getByRole("link", { name: "Account", exact: true }).click();
      await visitor.title().getByText("Account").waitFor();
    }
    await visitor.leave();
  });
});

describe("a dialog", () => {
  it("has in it what failed there", async () => {
    const visitor = await t.visitor({ user: owner, stays: true });
    const { page } = visitor;
    await visitor.go("users");
    await page.getByRole("button", { name: "Create a token" }).click();
    await page.getByLabel("Name", { exact: true }).fill("copied");
    await page.getByLabel("Your password").fill(owner.password);
    await page.getByRole("button", { name: "Create the token" }).last().click();
    const made = page.getByRole("dialog", { name: "The token “copied”" });
    await made.waitFor();
    await page.evaluate(() => (navigator.clipboard.writeText = () => Promise.reject(new Error("No copy."))));
    await made.getByRole("button", { name: /^Copy/ }).click();
    await made.getByText("No copy.").waitFor();
    // It is not gone with the dialog.
    await made.getByRole("button", { name: "Done" }).click();
    await made.waitFor({ state: "detached" });
    await visitor.see("No copy.");
    await visitor.leave();
  });
});

describe("two who change a domain", () => {
  it("change what they have chosen, and nothing else", async () => {
    const visitor = await t.visitor({ user: t.operator });
    const { page } = visitor;
    const { id, domain } = await t.newTenant();
    await t.postern(["domain", "set", domain, "--policy", "learn"]);
    await visitor.go("domains");
    await page.getByRole("link", { name: domain }).click();
    await page.getByRole("button", { name: "Change" }).click();
    const form = page.getByRole("dialog", { name: `Rules of ${domain}` });
    await form.waitFor();
    await t.postern(["domain", "set", domain, "--policy", "exclusive"]);
    await form.getByLabel("this domain and its subdomains").check();
    await form.getByRole("button", { name: "Save" }).click();
    await visitor.see(`${domain} now has the policy exclusive.`);
    const [row] = await t.postern(["domain", "list", "--company", id]);
    assert.deepEqual([row.policy, row.subdomains], ["exclusive", "covered"]);
    const entries = await t.postern(["audit", "list", "--object", domain]);
    assert.deepEqual(entries.map(({ actor, action }) => `${actor}: ${action}`),
      ["user: domain.set", "command: domain.set", "command: domain.set", "command: domain.add"]);
    await visitor.leave();
  });
});

describe("a page", () => {
  it("shows what changed while it was loaded", async () => {
    const { domain } = await t.newTenant();
    const visitor = await t.visitor({ user: t.operator });
    const { page } = visitor;
    await visitor.go("domains");
    await visitor.see("Live");
    let goOn;
    const held = new Promise((resolve) => (goOn = resolve));
    await page.route("**/admin/host?*", (route) => held.then(() => route.continue()));
    await page.getByRole("link", { name: domain }).click();
    await visitor.title().getByText(domain).waitFor();
    // The page hears it, too, but does not listen yet.
    const heard = page.evaluate(() => {
      const stream = new EventSource("/admin/live");
      const told = new Promise((resolve) => stream.addEventListener("tenants", resolve, { once: true }));
      return new Promise((resolve) => (stream.onopen = resolve)).then(() => void (window.told = told.then(() => stream.close())));
    });
    await heard;
    await t.postern(["domain", "remove", domain]);
    await page.evaluate(() => window.told);
    goOn();
    await visitor.see("This domain was removed.");
    await visitor.leave();
  });
});

// A stream of changes that opens when openStream() is called.
function heldStream() {
  window.EventSource = class extends EventTarget {
    static OPEN = 1;
    static CLOSED = 2;
    readyState = 0;
    constructor() {
      super();
      window.openStream = () => {
        this.readyState = EventSource.OPEN;
        this.onopen();
      };
    }
    close() {}
  };
}

describe("the overview", () => {
  it("is read again only where the stream of changes was opened after it was read", async () => {
    const visitor = await t.visitor({ user: owner, fresh: true });
    const { page } = visitor;
    const asked = [];
    page.on("request", (request) => request.url().includes("/admin/emails?") && asked.push(request.url()));
    await page.addInitScript(() => localStorage.setItem("postern.login", "1"));
    await page.addInitScript(heldStream);
    await page.route("**/admin/session", async (route) => {
      await page.evaluate(() => window.openStream());
      await route.continue();
    });
    await visitor.go("");
    await visitor.see("Live");
    await page.waitForLoadState("networkidle");
    assert.equal(asked.length, 1);
    await Promise.all([page.waitForRequest("**/admin/emails?*"), page.evaluate(() => window.openStream())]);
    await visitor.leave();
  });
});

describe("a domain that somebody else removes", () => {
  it("is said to be gone on its page", async () => {
    const { domain } = await t.newTenant();
    const visitor = await t.visitor({ user: t.operator });
    await visitor.go("domains");
    await visitor.page.getByRole("link", { name: domain }).click();
    await visitor.see("DNS records");
    await t.postern(["domain", "remove", domain]);
    await visitor.see("This domain was removed.");
    assert.equal(await visitor.page.getByRole("main").getByRole("button").count(), 0);
    await visitor.leave();
  });
});

describe("addresses", () => {
  it("are kept by back, forward and reload", async () => {
    const visitor = await t.visitor({ user: owner, stays: true });
    const at = (text) => visitor.title().getByText(text, { exact: true }).waitFor();
    await visitor.go("");
    await visitor.follow("Emails");
    await at("Emails");
    await visitor.follow("Keys");
    await at("Keys");
    await visitor.page.goBack();
    await at("Emails");
    await visitor.page.goBack();
    await at("Overview");
    await visitor.page.goForward();
    await at("Emails");
    await visitor.page.reload();
    await at("Emails");
    assert.match(await visitor.page.title(), /^Emails/);
    await visitor.leave();
  });

  it("lead to one email, with what was searched", async () => {
    const subject = t.unique("Deep");
    const to = `${t.unique("ann")}@remote.test`;
    const id = await t.send(tenant, { to, subject });
    const visitor = await t.visitor({ user: owner, stays: true });
    await visitor.go(`emails/${id}`);
    await visitor.see(subject);
    await visitor.go("emails");
    await visitor.page.getByRole("searchbox").fill(subject);
    await visitor.page.waitForURL(new RegExp(subject));
    await visitor.page.reload();
    await visitor.settled();
    await visitor.page.getByRole("link", { name: to }).click();
    await visitor.page.waitForURL(new RegExp(id));
    await visitor.page.goBack();
    await visitor.page.getByRole("link", { name: to }).waitFor();
    assert.equal(await visitor.page.getByRole("searchbox").inputValue(), subject);
    await visitor.leave();
  });

  it("with a search show it, however little there is to be searched", async () => {
    const alone = await t.newTenant();
    const visitor = await t.visitor({
      user: await t.newUser({ company: alone.id }),
    });
    for (const [place, one] of [
      ["domains", alone.domain],
      ["users", "owner-"],
    ]) {
      await visitor.go(place);
      await visitor.see(one);
      const search = visitor.page.getByRole("searchbox");
      assert.equal(await search.isVisible(), false);
      await visitor.go(`${place}?search=nothing`);
      await visitor.see(/^No \w+ matches$/);
      await search.fill(one);
      await visitor.see(one);
      assert.equal(await search.isVisible(), true);
    }
    await visitor.leave();
  });

  it("name the overview, too", async () => {
    const visitor = await t.visitor({ user: owner, stays: true });
    await visitor.page.goto("/#/overview");
    await visitor.title().getByText("Overview").waitFor();
    await visitor.leave();
  });

  it("of no page say so", async () => {
    const visitor = await t.visitor({ user: owner, stays: true });
    for (const place of ["nonsense", "emails/nonsense", "users/x/y", "%"]) {
      await visitor.go("account");
      await visitor.page.goto(`/#/${place}`);
      await visitor.title().getByText("Not found").waitFor();
      await visitor.page.getByRole("link", { name: "Go to the overview" }).waitFor();
    }
    await visitor.leave();
  });
});

// Goes on with the Tab key until that has the focus.
async function tabTo(page, locator) {
  let node = await locator.first().elementHandle();
  for (let n = 0; n < 80; n++) {
    await page.keyboard.press("Tab");
    // To look for it each time would cost more than all else, but it may have been drawn anew.
    if (!(await node.evaluate((node) => node.isConnected))) node = await locator.first().elementHandle();
    if (await node.evaluate((node) => node === document.activeElement)) return;
  }
  throw new Error(`Tab does not lead to ${locator}`);
}

describe("the keyboard", () => {
  it("is enough to log in, search and open an email", async () => {
    const subject = t.unique("Keyboard");
    const to = `${t.unique("ann")}@remote.test`;
    const id = await t.send(tenant, { to, subject });
    const visitor = await t.visitor();
    const { page } = visitor;
    const { keyboard } = page;
    await page.goto("/");
    await page.locator("input:focus").waitFor();
    await keyboard.type(owner.login);
    await tabTo(page, page.getByLabel("Password", { exact: true }));
    await keyboard.type(owner.password);
    await keyboard.press("Enter");
    await visitor.title().getByText("Overview").waitFor();
    await tabTo(page, page.getByRole("link", { name: "Emails", exact: true }));
    await keyboard.press("Enter");
    await visitor.title().getByText("Emails").waitFor();
    await tabTo(page, page.getByRole("searchbox"));
    await keyboard.type(subject);
    await tabTo(page, page.getByRole("link", { name: to }));
    await keyboard.press("Enter");
    await page.waitForURL(new RegExp(id));
    // Who hears the page is told of the new one.
    await page.locator("h1:focus").waitFor();
    await visitor.leave();
  });

  it("goes on at the title where what it was at is gone", async () => {
    const { id: company } = await t.newTenant();
    const user = await t.newUser({ company });
    const visitor = await t.visitor({ user });
    const { page } = visitor;
    await visitor.go("keys");
    await tabTo(page, page.getByRole("button", { name: "Revoke" }));
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog");
    await tabTo(page, dialog.getByRole("button", { name: "Revoke the key" }));
    await page.keyboard.press("Enter");
    await page.locator("h1:focus").waitFor();
    await visitor.leave();
  });

  it("closes a dialog, and is back where it was", async () => {
    const visitor = await t.visitor({ user: owner, stays: true });
    await visitor.go("keys");
    const open = visitor.page.getByRole("button", { name: /^Create/ }).first();
    await tabTo(visitor.page, open);
    await visitor.page.keyboard.press("Enter");
    const dialog = visitor.page.getByRole("dialog");
    await dialog.waitFor();
    await visitor.page.keyboard.press("Escape");
    await dialog.waitFor({ state: "hidden" });
    await visitor.page.locator("button:focus").getByText(/^Create/).waitFor();
    await visitor.leave();
  });
});

// All that a user comes to see: the text of each page of the navigation, and of
// those that its lists lead to; all that the server answered; the buttons.
async function tour(user) {
  const visitor = await t.visitor({ user });
  const answers = [];
  visitor.page.on("response", (response) => {
    if (new URL(response.url()).pathname.startsWith("/admin/"))
      answers.push(
        response.status() >= 400
          ? `${response.status()} ${response.url()}`
          : response.text().catch(() => ""),
      );
  });
  await visitor.go("");
  const links = visitor.page
    .getByRole("navigation", { name: "Pages" })
    .getByRole("link");
  const titles = (await links.allTextContents()).filter((w) => w !== "Log out");
  const buttons = new Set();
  let text = "";
  const look = async () => {
    const main = visitor.page.getByRole("main");
    text += await main.innerText();
    for (const name of await main.getByRole("button").allInnerTexts())
      buttons.add(name.trim());
  };
  for (const title of titles) {
    await visitor.follow(title);
    await look();
    // To the first thing of its list.
    const row = visitor.page.locator("main a.row-link:visible").first();
    if (await row.count()) {
      await row.click();
      await visitor.settled();
      await look();
    }
  }
  const said = (await Promise.all(answers.filter((a) => typeof a !== "string"))).join("\n");
  const refused = answers.filter((a) => typeof a === "string");
  await visitor.leave();
  return { titles, text, said, refused, buttons: [...buttons] };
}

const CHANGES =
  /\b(add|create|make|ask|revoke|remove|edit|rename|change|send|exempt|activate|switch|reset|role)\b/i;

describe("a member of a company", () => {
  let stranger, strangers;

  // Something of each kind that the other company has.
  before(async () => {
    stranger = await t.newTenant();
    strangers = await t.newUser({ company: stranger.id });
    for (const one of [tenant, stranger])
      await t.send(one, {
        to: `${t.unique(one.domain.split(".")[0])}@remote.test`,
        subject: `About ${one.name}`,
      });
  });

  let toured;
  const ownersTour = () => (toured ??= tour(owner));

  const foreign = () => [stranger.id, stranger.name, stranger.domain, strangers.login];

  it("sees nothing of another company", async () => {
    const { titles, text, said, refused } = await ownersTour();
    for (const word of foreign()) {
      assert.ok(!text.includes(word), `${word} is on a page`);
      assert.ok(!said.includes(word), `${word} is in an answer`);
    }
    // The same words are there for those whose they are.
    const visitor = await t.visitor({ user: strangers });
    for (const [place, word] of [["domains", stranger.domain], ["users", strangers.login]]) {
      await visitor.go(place);
      await visitor.see(word);
    }
    await visitor.leave();
    assert.deepEqual(refused, []);
    assert.ok(titles.includes("Users") && !titles.includes("Settings"));
  });

  it("who views only has no button that changes anything", async () => {
    const viewer = await t.newUser({ company: tenant.id, role: "viewer" });
    const { titles, buttons, refused } = await tour(viewer);
    // Their own password and codes are theirs.
    const own = /password|codes|log out/i;
    const bad = buttons.filter((b) => CHANGES.test(b) && !own.test(b));
    assert.deepEqual(bad, []);
    assert.deepEqual(refused, []);
    assert.ok(!titles.includes("Users") && !titles.includes("Settings"));
    // Who may change has such buttons.
    const others = await ownersTour();
    assert.ok(others.buttons.filter((b) => CHANGES.test(b)).length >= 2);
  });

  it("is told so at the address of what they may not see", async () => {
    const visitor = await t.visitor({ user: owner, stays: true });
    const id = await t.send(stranger, { to: "ann@remote.test", subject: "Secret" });
    for (const place of ["settings", `emails/${id}`]) {
      await visitor.page.goto(`/#/${place}`);
      await visitor.see(/not found|no such/i);
      assert.equal(await visitor.page.getByText("Secret").count(), 0);
    }
    await visitor.leave();
  });
});
