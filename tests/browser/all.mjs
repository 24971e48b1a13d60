// All files that are named, in one process with one browser: each in a suite of its own.
//
// usage: node all.mjs FILE...

import { basename, resolve } from "node:path";
import { describe } from "node:test";
import "./browser.mjs"; // whose browser is not that of one suite

for (const file of process.argv.slice(2))
  describe(basename(file), async () => {
    await import(resolve(file));
  });
