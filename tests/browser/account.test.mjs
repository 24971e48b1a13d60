// The account page: a password where there was none, codes of an authenticator
// app, sessions; and the login that asks for a code.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { it } from "node:test";
import * as t from "./browser.mjs";

// What an authenticator app shows (RFC 6238) some steps from now.
function codeOf(secret, steps = 0) {
  const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  const bits = [...secret].map((c) => digits.indexOf(c).toString(2).padStart(5, "0"));
  const key = Buffer.from(bits.join("").match(/.{8}/g).map((byte) => parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30000) + steps));
  const mac = createHmac("sha1", key).update(counter).digest();
  const number = mac.readUInt32BE(mac.at(-1) & 15) & 0x7fffffff;
  return String(number % 1e6).padStart(6, "0");
}

// Somebody who was given a link, and no password.
async function invited() {
  const login = t.unique("invited");
  await t.postern(["user", "add", login, "--no-password"]);
  const { url } = await t.postern(["user", "link", login]);
  const visitor = await t.visitor();
  await visitor.page.goto(url);
  await visitor.page.getByRole("button", { name: "Log in", exact: true }).click();
  await visitor.title().getByText("Overview").waitFor();
  return { visitor, user: { login, password: t.unique("a long password") } };
}

async function setPassword({ page }, password, again = password) {
  await page.getByLabel("New password", { exact: true }).fill(password);
  await page.getByLabel("New password again", { exact: true }).fill(again);
  await page.getByRole("button", { name: "Set the password", exact: true }).click();
}

it("sets a first password, and uses codes from then on", async () => {
  const { visitor, user } = await invited();
  const { page } = visitor;
  await visitor.follow("Account");
  await visitor.see("You have no password yet.");
  await setPassword(visitor, user.password, "another one, by mistake");
  await visitor.see("The two passwords are not the same.");
  await setPassword(visitor, user.password);

  await page.getByRole("button", { name: "Turn codes on" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Password").fill("not the password");
  await dialog.getByRole("button", { name: "Continue" }).click();
  await visitor.see("The password is wrong.");
  await dialog.getByLabel("Password").fill(user.password);
  await dialog.getByRole("button", { name: "Continue" }).click();
  await dialog.getByRole("img", { name: "QR code of the secret" }).waitFor();
  const secret = (await dialog.locator("pre").textContent()).replaceAll(" ", "");
  await dialog.getByLabel("The code that it shows now").fill(codeOf(secret));
  await dialog.getByRole("button", { name: "Turn codes on" }).click();
  await visitor.see("Codes are on");
  const codes = (await dialog.locator("pre").textContent()).split("\n");
  assert.equal(codes.length, 8);
  await dialog.getByRole("button", { name: "Done" }).click();
  await visitor.see("8 left");

  // The next one, since each works once.
  await visitor.follow("Log out");
  await visitor.logIn(user);
  await page.getByLabel("Code", { exact: true }).waitFor();
  // That it is asked for is no error.
  assert.equal(await page.locator(".wrong:visible, [role=alert]:visible, .is-invalid").count(), 0);
  await page.getByLabel("Code", { exact: true }).fill(codeOf(secret, 1));
  await page.getByRole("button", { name: "Log in", exact: true }).click();
  await visitor.follow("Log out");
  await visitor.logIn(user);
  await page.getByLabel("Code", { exact: true }).fill(codes[0]);
  await page.getByRole("button", { name: "Log in", exact: true }).click();
  await visitor.follow("Account");
  await visitor.see("7 left");

  // A recovery code is good once.
  await visitor.follow("Log out");
  await visitor.logIn(user);
  await page.getByLabel("Code", { exact: true }).fill(codes[0]);
  await page.getByRole("button", { name: "Log in", exact: true }).click();
  await visitor.see("The code is wrong");
  await page.getByLabel("Code", { exact: true }).fill(codes[1]);
  await page.getByRole("button", { name: "Log in", exact: true }).click();
  await visitor.follow("Account");
  await visitor.see("6 left");

  await page.getByRole("button", { name: "Turn codes off" }).click();
  await dialog.getByLabel("Password").fill(user.password);
  await dialog.getByLabel("Code", { exact: true }).fill(codes[1]);
  await dialog.getByRole("button", { name: "Turn codes off" }).click();
  await dialog.getByText("was used already").waitFor();
  await dialog.getByLabel("Code", { exact: true }).fill(codes[2]);
  await dialog.getByRole("button", { name: "Turn codes off" }).click();
  await visitor.see("Codes are off.");
  await visitor.leave();
  const plain = await t.visitor({ user });
  await plain.leave();
});

it("logs out elsewhere", async () => {
  const user = await t.newUser();
  const here = await t.visitor({ user });
  const there = await t.visitor({ user });
  await there.go("emails");
  await here.go("account");
  await here.page.getByRole("button", { name: "Log out everywhere else" }).click();
  await here.see("You are logged out everywhere else.");
  await there.follow("Keys");
  await there.see("Log in");
  await there.page.getByLabel("Password", { exact: true }).waitFor();
  await there.leave();
  await here.leave();
});

it("asks for the password to make a token, and revokes tokens with a reset", async () => {
  const { id: company } = await t.newTenant();
  const owner = await t.newUser({ company });
  const other = await t.newUser({ company });
  const visitor = await t.visitor({ user: owner });
  const { page } = visitor;
  const dialog = page.getByRole("dialog");
  await t.postern(["token", "create", other.login, "--name", "theirs"]);
  await visitor.go("users");
  await page.getByRole("button", { name: "Create a token" }).click();
  await dialog.getByLabel("Name").fill("deployment");
  await dialog.getByLabel("Your password").fill("not the password");
  await dialog.getByRole("button", { name: "Create the token" }).click();
  await visitor.see("The password is wrong.");
  await dialog.getByLabel("Your password").fill(owner.password);
  await dialog.getByRole("button", { name: "Create the token" }).click();
  await visitor.see("The token “deployment”");
  await dialog.getByRole("button", { name: "Done" }).click();

  const row = page.getByRole("row").filter({ hasText: other.login }).filter({ hasText: "Reset" });
  await row.getByRole("button", { name: "Reset" }).click();
  await dialog.getByRole("button", { name: "Reset" }).click();
  await visitor.see("One token was revoked.");
  await visitor.leave();
});
