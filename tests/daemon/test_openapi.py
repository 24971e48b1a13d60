"""The document at /openapi.json, and doc/HTTP-API.md beside it."""

import json
import os
import re
import subprocess

import jsonschema
import pytest
from harness.contract import Contract
from harness.openapi31 import STRUCTURE
from harness.sandbox import TREE, unique

DOC = (TREE / "doc/HTTP-API.md").read_text()

@pytest.fixture
def contract(box):
    return Contract.of(box.url)


@pytest.fixture
def document(contract):
    return contract.document


def operations(document):
    for path, item in document["paths"].items():
        for method, operation in item.items():
            yield method.upper(), path, operation


def test_no_key_is_needed(box):
    answer = box.httpd().request(
        "GET", "/openapi.json", headers={"Authorization": None}
    )
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/json; charset=utf-8"


def test_document_is_openapi(document):
    jsonschema.Draft202012Validator(STRUCTURE).validate(document)


def references(value):
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"]
        for part in value.values():
            yield from references(part)
    elif isinstance(value, list):
        for part in value:
            yield from references(part)


def test_references_lead_somewhere(document):
    found = set(references(document))
    assert found
    for reference in found:
        assert reference.startswith("#/")
        part = document
        for word in reference[2:].split("/"):
            part = part[word]
    used = {r.rsplit("/", 1)[1] for r in found if "/schemas/" in r}
    assert used == set(document["components"]["schemas"])


def test_names_are_unique(document):
    names = [operation["operationId"] for *_, operation in operations(document)]
    assert len(set(names)) == len(names)


def test_parameters_of_the_path_are_described(document):
    for _, path, operation in operations(document):
        named = [p["name"] for p in operation["parameters"] if p["in"] == "path"]
        assert named == re.findall(r"\{(.*?)\}", path)


def test_examples_fit_their_schemas(contract):
    seen = 0
    for _, _, operation in operations(contract.document):
        parts = [operation.get("requestBody"), *operation["responses"].values()]
        for part in filter(None, parts):
            for media in part["content"].values():
                if "example" in media:
                    contract.validate(media["example"], media["schema"])
                    seen += 1
    assert seen > 4


def test_every_route_exists(httpd, document):
    """What is documented is there: without a key it asks for one."""
    for method, path, operation in operations(document):
        path = re.sub(r"\{.*?\}", "x", path)
        answer = httpd.request(method, path, headers={"Authorization": None})
        assert answer.status_code == (401 if operation["security"] else 200)


def test_document_for_people_has_every_route(document):
    headings = re.findall(r"^### ([A-Z]+) (/\S*)$", DOC, re.M)
    assert sorted(headings) == sorted((m, p) for m, p, _ in operations(document))


def examples():
    """(method, path) and the line with curl of each route."""
    for method, path, rest in re.findall(
        r"^### ([A-Z]+) (/\S*)\n(.*?)(?=^##|\Z)", DOC, re.M | re.S
    ):
        (command,) = re.findall(r"^```sh\n(.*?)^```", rest, re.M | re.S)
        yield method, path, command


class Answer:
    """What curl got."""

    def __init__(self, head, body):
        status, *lines = head.decode().strip().split("\r\n")
        self.status = int(status.split()[1])
        self.headers = {
            name.lower(): value.strip()
            for name, value in (line.split(":", 1) for line in lines)
        }
        self.body = body

    def json(self):
        return json.loads(self.body)


@pytest.fixture
def names(box, httpd, email):
    """What stands in the examples; each test has things of its own."""
    domain = {"name": unique("domain") + ".example"}
    return {
        **box.env,
        "EMAIL_ID": httpd.send(email),
        "KEY_ID": httpd.request("POST", "/api-keys", json={}).json()["id"],
        "DOMAIN_ID": httpd.request("POST", "/domains", json=domain).json()["id"],
    }


@pytest.mark.parametrize(
    "method, path, command", examples(), ids=lambda word: word.split("\n")[0][:40]
)
def test_examples_work(contract, names, tmp_path, method, path, command):
    (tmp_path / "message.eml").write_text("From: hello@example.com\n\nHello\n")
    assert command.startswith("curl ")
    command = command.replace("curl ", "curl -sS --noproxy '*' -D head -o body ", 1)
    subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, env={**os.environ, **names}, check=True
    )
    answer = Answer((tmp_path / "head").read_bytes(), (tmp_path / "body").read_bytes())
    target = re.sub(r"\{.*?\}", "x", path)
    assert str(answer.status) == min(contract.operation(method, target)["responses"])
    contract.check(method, target, answer)
