// httpd/openapi.json passes the linter Spectral with the rules in spectral.yaml,
// and the linter finds what is wrong.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, before, describe, it } from "node:test";

const here = import.meta.dirname ?? new URL(".", import.meta.url).pathname;
const source = join(here, "../../httpd/openapi.json");

// The rules that each file breaks, by its name.
function lint(files) {
  const ran = spawnSync(
    join(here, "node_modules/.bin/spectral"),
    ["lint", "-r", join(here, "spectral.yaml"), "-f", "json", "-q", ...files],
    { encoding: "utf8" },
  );
  assert.ok(ran.status === 0 || ran.status === 1, ran.stderr);
  const found = Object.fromEntries(files.map((file) => [basename(file), []]));
  for (const { source, code, path, message } of JSON.parse(ran.stdout))
    found[basename(source)].push({ code, path: path.join("."), message });
  return found;
}

const send = (d) => d.paths["/emails"].post;
const answer = (d) => send(d).responses["200"];

// What may go wrong in editing the document, by the rule that finds it.
const faults = {
  "invalid-ref": (d) => {
    send(d).responses["401"].$ref += "x";
  },
  "oas3-unused-component": (d) => {
    d.components.schemas.Unused = { description: "x", type: "string" };
  },
  "operation-operationId-unique": (d) => {
    d.paths["/emails"].get.operationId = send(d).operationId;
  },
  "path-params": (d) => {
    d.paths["/emails/{id}"].get.parameters = [];
  },
  "oas3-valid-media-example": (d) => {
    answer(d).content["application/json"].example = { id: 5 };
  },
  "oas3-schema": (d) => {
    send(d).sumary = "x";
  },
  "array-items": (d) => {
    d.components.schemas.Domain.properties.records = { type: "array" };
  },
  "operation-tag-defined": (d) => {
    send(d).tags = ["Email"];
  },
  "operation-description": (d) => {
    delete send(d).description;
  },
  "operation-security": (d) => {
    delete send(d).security;
  },
  "operation-summary": (d) => {
    send(d).summary = "";
  },
  "operation-name": (d) => {
    send(d).operationId = "Send_email";
  },
  version: (d) => {
    d.openapi = "3.1.1";
  },
};

describe("httpd/openapi.json", () => {
  const folder = mkdtempSync(join(tmpdir(), "openapi-"));
  let found;

  before(() => {
    const files = Object.entries(faults).map(([rule, damage]) => {
      const document = JSON.parse(readFileSync(source));
      const file = join(folder, `${rule}.json`);
      damage(document);
      writeFileSync(file, JSON.stringify(document));
      return file;
    });
    found = lint([source, ...files]);
  });

  after(() => rmSync(folder, { recursive: true }));

  it("passes", () => assert.deepEqual(found["openapi.json"], []));

  for (const rule of Object.keys(faults))
    it(`would not pass with a fault in ${rule}`, () => {
      const codes = found[`${rule}.json`].map((one) => one.code);
      assert.ok(codes.includes(rule), codes.join());
    });
});
