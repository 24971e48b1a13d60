// The ways people go, from the first page to what became of an email: a newcomer
// by the link that `make run` prints, and an operator who sets a company up; each
// at a desk and with a phone.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { describe, it } from "node:test";
import * as t from "./browser.mjs";

const demo = fileURLToPath(new URL("../../tools/demo", import.meta.url));

// What `make run` prints, up to the link.
async function printedLink() {
  const child = spawn(demo, ["--serve"], { stdio: ["ignore", "pipe", "inherit"] });
  const timer = setTimeout(() => child.kill("SIGTERM"), t.PATIENCE_MS);
  let text = "";
  try {
    for await (const data of child.stdout) {
      text += data;
      const found = text.match(/http:\/\/127\.0\.0\.1:\d+\/#\/login\?\S+(?=\s)/);
      if (found) return found[0];
    }
  } finally {
    clearTimeout(timer);
    child.kill("SIGTERM");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  }
  throw new Error(`no link in ${text}`);
}

// Runs a line in a shell, as who pastes it does; the JSON that it prints.
const paste = async (line) => JSON.parse(await t.run("bash", ["-c", line]));

// The status of what a curl line gets.
const statusOf = (line) =>
  t.run("bash", ["-c", line.replace(/^curl/, "curl -s -o /dev/null -w '%{http_code}'")]);

// Makes a key on its page; the curl line that is shown with it.
async function createKey(visitor, name, company) {
  const { page } = visitor;
  await visitor.follow("Keys");
  await page.getByRole("button", { name: "Create a key" }).first().click();
  const form = page.getByRole("dialog", { name: "Create a key" });
  await form.getByLabel("Name", { exact: true }).fill(name);
  // There is nothing to choose while there is but one company.
  if (company || (await form.getByLabel("Company", { exact: true }).count()))
    await t.choose(form, "Company", company ?? "Acme");
  await form.getByRole("button", { name: "Create the key" }).click();
  return readKey(visitor, name);
}

async function readKey({ page }, name) {
  const box = page.getByRole("dialog", { name });
  const line = await box.locator("pre").filter({ hasText: /^curl -H/ }).innerText();
  // What the button copies is what is shown.
  await box.getByRole("button", { name: "Copy: In a shell" }).click();
  await box.getByRole("button", { name: "Copy: In a shell" }).getByText("Copied").waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), line);
  // And what programs want to know that send over SMTP.
  await box.getByRole("tab", { name: "SMTP" }).click();
  const settings = await box.locator("pre").filter({ hasText: /^Host:/ }).innerText();
  assert.match(settings, /^Host: mail\.example\.com\nPort: 587\nSecurity: STARTTLS\nUser: postern\nPassword: ps_/);
  await box.getByRole("button", { name: "Done" }).click();
  await box.waitFor({ state: "detached" });
  return line;
}

// The row of a list that has this text.
const row = ({ page }, text) =>
  page.getByRole("main").getByRole("row").filter({ hasText: text });

for (const [size, screen] of [["at a desk", t.DESKTOP], ["with a phone", t.PHONE]]) {
  describe(`a newcomer ${size}`, () => {
    it("is led by the printed link to a key, an email, and what became of it", async () => {
      const link = await printedLink();
      const visitor = await t.visitor({ screen });
      const { page } = visitor;
      await page.goto(link);
      await page.getByRole("button", { name: "Log in", exact: true }).click();
      await visitor.title().getByText("Overview").waitFor();
      assert.ok(!page.url().includes("token"));
      const name = t.unique("first");
      const line = await createKey(visitor, name);
      const { id } = await paste(line);
      await visitor.follow("Emails");
      const email = row(visitor, "you@example.net").first();
      await email.getByText("delivered").waitFor();
      await email.getByRole("link").first().click();
      await page.waitForURL(new RegExp(id));
      await visitor.see(/delivered to you@example\.net/i);
      await visitor.leave();

      // The link has done its work.
      const late = await t.visitor({ screen });
      await late.page.goto(link);
      await late.page.getByRole("button", { name: "Log in", exact: true }).click();
      await late.see(/was used already, or has expired/);
      await late.page.getByRole("link", { name: "Log in with a password" }).click();
      await late.page.getByLabel("Password", { exact: true }).waitFor();
      await late.leave();
    });
  });

  describe(`an operator ${size}`, () => {
    it("sets a company up, sends, sees what became of it, and ends it", async () => {
      const operator = await t.newUser();
      const company = t.unique("Company");
      const domain = `${t.unique("domain")}.example`;
      const key = t.unique("key");
      const visitor = await t.visitor({ screen });
      const { page } = visitor;
      await page.goto("/");
      await visitor.logIn(operator);

      await visitor.follow("Domains");
      await page.getByRole("button", { name: "Add a company" }).click();
      let form = page.getByRole("dialog", { name: "Add a company" });
      await form.getByLabel("Name", { exact: true }).fill(company);
      await form.getByRole("button", { name: "Add the company" }).click();
      // Its page, from where the next dialogs know whose they are for.
      await visitor.title().getByText(company).waitFor();
      await visitor.see("No domain yet");
      await page.getByRole("button", { name: "Add a domain" }).click();
      form = page.getByRole("dialog", { name: "Add a domain" });
      await form.getByLabel("Domain", { exact: true }).fill(domain);
      await t.waitFor("its company", async () => (await t.chosen(form, "Company")) === company);
      await form.getByRole("radio", { name: "exclusive", exact: true }).check();
      await form.getByRole("button", { name: "Add the domain" }).click();
      await visitor.title().getByText(domain).waitFor();

      const line = await createKey(visitor, key, company);
      assert.ok(line.includes(`hello@${domain}`), line);

      // From here on the list is looked at, and never loaded again.
      await visitor.follow("Emails");
      await page.evaluate(() => (window.same = true));
      const to = `${t.unique("ann")}@remote.test`;
      const good = await paste(line.replace("you@example.net", to));
      await row(visitor, to).getByText("delivered").waitFor();
      const bad = await paste(line.replace("you@example.net", "unknown@remote.test"));
      const bounced = row(visitor, "unknown@remote.test").filter({ hasText: domain });
      await bounced.getByText("bounced").waitFor();
      assert.ok(await page.evaluate(() => window.same));

      await bounced.getByRole("link").first().click();
      await page.waitForURL(new RegExp(bad.id));
      await visitor.see(/550 5\.1\.1 User unknown/);
      await visitor.go(`emails/${good.id}`);
      await visitor.see(`delivered to ${to}`);

      await visitor.follow("Keys");
      await row(visitor, key).getByRole("button", { name: "Revoke" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Revoke the key" }).click();
      await row(visitor, key).waitFor({ state: "detached" });
      assert.equal(await statusOf(line), "401");
      // Each change is one entry of the audit log; the newest is the first.
      const { id } = (await t.postern(["company", "list"])).find(({ name }) => name === company);
      const entries = await t.postern(["audit", "list", "--company", id]);
      assert.deepEqual(
        entries.map(({ actor_name, action }) => [actor_name, action]),
        ["key.revoke", "key.create", "domain.add", "company.add"].map((action) => [operator.login, action]),
      );
      await visitor.leave();
    });
  });
}
