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

// What may go wrong in editing the document, by the rule that finds it. One file has all of it:
// the linter takes seconds for each.
const faults = {
  "invalid-ref": (d) => {
    send(d).responses["401"].$ref += "x";
  },
  "oas3-unused-component": (d) => {
    d.components.schemas.Unused = { description: "x", type: "string" };
  },
  "operation-operationId-unique": (d) => {
    d.paths["/domains"].get.operationId = d.paths["/domains"].post.operationId;
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
};

describe("httpd/openapi.json", () => {
  const folder = mkdtempSync(join(tmpdir(), "openapi-"));
  let found;

  before(() => {
    const write = (name, document) => {
      const file = join(folder, name);
      writeFileSync(file, JSON.stringify(document));
      return file;
    };
    const document = JSON.parse(readFileSync(source));
    const another = { openapi: "3.1.1", info: document.info, paths: {} };
    for (const damage of Object.values(faults)) damage(document);
    found = lint([source, write("faults.json", document), write("version.json", another)]);
  });

  after(() => rmSync(folder, { recursive: true }));

  it("passes", () => assert.deepEqual(found["openapi.json"], []));

  it("would not pass with a fault in what any rule is about", () => {
    const codes = new Set(found["faults.json"].map((one) => one.code));
    assert.deepEqual(Object.keys(faults).filter((rule) => !codes.has(rule)), []);
    assert.ok(found["version.json"].some((one) => one.code === "version"));
  });
});
