// Debian's Firefox, without a window, by the protocol that it has for this (Marionette): scripts run
// in its page, and what its console has.

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PATIENCE_MS, waitFor } from "./browser.mjs";

const PROGRAM = "/usr/bin/firefox-esr";

// Nothing but this host is reached: all else is sent to a port where nobody listens.
const PREFERENCES = {
  "marionette.port": 0,
  "network.proxy.type": 1,
  "network.proxy.http": "127.0.0.1",
  "network.proxy.http_port": 9,
  "network.proxy.ssl": "127.0.0.1",
  "network.proxy.ssl_port": 9,
  "network.captive-portal-service.enabled": false,
  "network.connectivity-service.enabled": false,
  "app.update.auto": false,
  "datareporting.policy.dataSubmissionEnabled": false,
  "browser.shell.checkDefaultBrowser": false,
  // One process for pages, and none made ahead or for extensions: they cost more than the tests.
  "dom.ipc.processCount": 1,
  "dom.ipc.processPrelaunch.enabled": false,
  "fission.autostart": false,
  "extensions.enabledScopes": 0,
  "extensions.installDistroAddons": false,
  "extensions.pocket.enabled": false,
  "extensions.screenshots.disabled": true,
  "browser.newtab.preload": false,
  "browser.startup.page": 0,
};

// What answers a command, or an error; each message has its length in front.
class Marionette {
  constructor(socket) {
    this.socket = socket;
    this.waiting = new Map();
    this.n = 0;
    let bytes = Buffer.alloc(0);
    socket.on("data", (data) => {
      bytes = Buffer.concat([bytes, data]);
      for (;;) {
        const colon = bytes.indexOf(":");
        const end = colon + 1 + Number(bytes.subarray(0, Math.max(0, colon)));
        if (colon < 0 || bytes.length < end) return;
        this.hear(JSON.parse(bytes.subarray(colon + 1, end)));
        bytes = bytes.subarray(end);
      }
    });
    socket.on("close", () => {
      for (const { reject } of this.waiting.values()) reject(new Error("Firefox has ended"));
    });
  }

  hear(message) {
    if (!Array.isArray(message)) return; // its greeting
    const [, id, error, result] = message;
    const { resolve, reject } = this.waiting.get(id);
    this.waiting.delete(id);
    if (error) reject(new Error(`${error.error}: ${error.message}`));
    else resolve(result && "value" in result ? result.value : result);
  }

  send(command, parameters = {}) {
    const id = ++this.n;
    const text = JSON.stringify([0, id, command, parameters]);
    this.socket.write(`${Buffer.byteLength(text)}:${text}`);
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
  }
}

export class Firefox {
  static async open() {
    const self = new Firefox();
    self.profile = mkdtempSync(join(tmpdir(), "postern-firefox."));
    const lines = Object.entries(PREFERENCES).map(([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`);
    writeFileSync(join(self.profile, "user.js"), lines.join(""));
    self.process = spawn(PROGRAM, ["--headless", "--marionette", "--remote-allow-system-access", "--no-remote", "--profile", self.profile], {
      env: { ...process.env, HOME: self.profile },
      stdio: "ignore",
    });
    self.ended = new Promise((resolve) => {
      self.process.on("close", resolve);
      self.process.on("error", resolve);
    });
    const port = await waitFor("the port of Firefox", () => {
      try {
        return Number(readFileSync(join(self.profile, "MarionetteActivePort"), "utf8"));
      } catch {
        return 0;
      }
    });
    self.marionette = new Marionette(connect(port, "127.0.0.1"));
    await self.send("WebDriver:NewSession");
    await self.send("WebDriver:SetTimeouts", { script: PATIENCE_MS, pageLoad: PATIENCE_MS });
    return self;
  }

  send(command, parameters) {
    return this.marionette.send(command, parameters);
  }

  navigate(url) {
    return this.send("WebDriver:Navigate", { url });
  }

  // What a function gives in the page, called with these values.
  evaluate(call, ...args) {
    return this.send("WebDriver:ExecuteScript", { script: `return (${call}).apply(null, arguments)`, args, sandbox: null });
  }

  // Waits until it gives something true.
  until(what, call, ...args) {
    return waitFor(what, () => this.evaluate(call, ...args));
  }

  // The keys that somebody presses, one after the other.
  press(...keys) {
    const actions = keys.flatMap((value) => [{ type: "keyDown", value }, { type: "keyUp", value }]);
    return this.send("WebDriver:PerformActions", { actions: [{ type: "key", id: "keys", actions }] });
  }

  // The errors that pages of this address had, whatever they are about.
  async faults(origin) {
    await this.send("Marionette:SetContext", { value: "chrome" });
    const all = await this.send("WebDriver:ExecuteScript", {
      script: `return Services.console.getMessageArray()
        .filter((one) => one instanceof Ci.nsIScriptError && !(one.flags & Ci.nsIScriptError.warningFlag))
        .map((one) => [one.sourceName, one.errorMessage].join(" "))`,
      args: [],
    });
    await this.send("Marionette:SetContext", { value: "content" });
    return all.filter((text) => text.startsWith(origin));
  }

  async close() {
    await this.marionette.send("Marionette:Quit", { flags: ["eForceQuit"] }).catch(() => {});
    const timer = setTimeout(() => this.process.kill("SIGKILL"), 20_000);
    await this.ended;
    clearTimeout(timer);
    rmSync(this.profile, { recursive: true, force: true });
  }
}
