"""The document at /openapi.json, and doc/HTTP-API.md beside it.

What a document must be to be OpenAPI is held by tests/clients/openapi.test.mjs,
that it has the routes by tests/unit/test_openapi.c.
"""

import base64
import hashlib
import json
import os
import re
import subprocess
import uuid

import jsonschema
import pytest
import requests
from harness import wait_for
from harness.contract import Contract
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


def test_file_is_served(box):
    """Unchanged, and without a key."""
    answer = box.httpd().request(
        "GET", "/openapi.json", headers={"Authorization": None}
    )
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/json; charset=utf-8"
    assert answer.content == (TREE / "httpd/openapi.json").read_bytes()


# Of which bodies are forms, or arrays, that stand in the examples of the routes.
LISTS = r"/v3/\{domain\}/(bounces|complaints|unsubscribes|whitelists)"


def put_on_list(form, kind, tmp_path):
    """An address on a list of the form API, and a file of such."""
    address = unique("listed") + "@dst.test"
    (tmp_path / "file.csv").write_text(f"address\n{unique('csv')}@dst.test\n")
    assert form("POST", kind, {"address": address}).status_code == 200
    return {"LISTED_ADDRESS": address}


def bodies(document):
    """(name, schema) of all that is sent and answered but errors."""
    for _, path, operation in operations(document):
        good = operation["responses"][min(operation["responses"])]
        for part in filter(None, [operation.get("requestBody"), good]):
            for media in part["content"].values():
                if "$ref" in media["schema"]:
                    name = media["schema"]["$ref"].rsplit("/", 1)[1]
                    yield name, document["components"]["schemas"][name]
                else:
                    plain = (
                        "/openapi.json", "/livez", "/readyz", "/attachments/{link}",
                        "/unsubscribe/{token}",
                    )
                    assert path in plain or re.match(LISTS, path)


def test_bodies_have_examples(document):
    for name, schema in bodies(document):
        assert schema.get("examples"), name


def test_examples_fit_their_schemas(contract):
    schemas = contract.document["components"]["schemas"]
    seen = 0
    for name, schema in schemas.items():
        for example in schema.get("examples", []):
            contract.validate_as(example, name)
            seen += 1
    assert seen > 20


OTHERS = ("user-variables", "payload", "webhooks")


def objects(value):
    """But what clients put into an email as they like, and what webhooks are told."""
    if isinstance(value, dict):
        yield value
        value = [part for name, part in value.items() if name not in OTHERS]
    for part in value:
        if isinstance(part, (dict, list)):
            yield from objects(part)


def test_answers_have_no_other_fields(contract):
    """The document describes answers in full."""
    seen = 0
    for operation in (o for *_, o in operations(contract.document)):
        for status, response in operation["responses"].items():
            schema = response["content"].get("application/json", {}).get("schema", {})
            if "$ref" not in schema:
                continue
            name = schema["$ref"].rsplit("/", 1)[1]
            schema = contract.document["components"]["schemas"][name]
            for example in schema.get("examples", []):
                for one in objects(example):
                    one["surplus"] = 1
                    with pytest.raises(jsonschema.ValidationError):
                        contract.validate_as(example, name)
                    del one["surplus"]
                    seen += 1
    assert seen > 100


def test_every_route_exists(httpd, document):
    """Each documented route exists: without a key it requires one."""
    for method, path, operation in operations(document):
        path = re.sub(r"\{.*?\}", "x", path)
        answer = httpd.request(method, path, headers={"Authorization": None})
        no_link = path in ("/attachments/x", "/unsubscribe/x")
        assert answer.status_code == (401 if operation["security"] else 404 if no_link else 200)


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
    """The answer that curl received."""

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


def page_of_events(box):
    """The name of one."""
    url = f"{box.url}/v3/{box.env['POSTERN_DOMAIN']}/events"
    with requests.Session() as session:
        session.trust_env = False
        answer = session.get(url, auth=("api", box.env["POSTERN_KEY"]), timeout=60)
    return answer.json()["paging"]["next"].rsplit("/", 1)[1]


def webhook(httpd, email):
    """The ids of one, and of what it was told."""
    asked = {"endpoint": "https://hook.invalid/", "events": ["email.sent"]}
    made = httpd.request("POST", "/webhooks", json=asked).json()["id"]
    httpd.send(email)
    path = f"/webhooks/{made}/events"
    told = wait_for("the event", lambda: httpd.request("GET", path).json()["data"])
    return {"WEBHOOK_ID": made, "WEBHOOK_EVENT_ID": told[0]["id"]}


def unsubscribe_token(box, email_id):
    """Returns the token that List-Unsubscribe would contain."""
    nonce = box.query(f"SELECT nonce FROM email WHERE id = '{email_id}'").strip()
    proof = hashlib.blake2b(f"u {email_id}".encode(), key=nonce.encode(), digest_size=32).digest()
    token = uuid.UUID(email_id).bytes + proof[:16]
    return base64.b32encode(token).decode().rstrip("=").lower()


@pytest.fixture
def names(box, httpd, email):
    """What stands in the examples; each test has things of its own."""
    domain = {"name": unique("domain") + ".example"}
    return {
        **box.env,
        "OWN_DOMAIN": box.env["POSTERN_DOMAIN"],
        "EVENT_PAGE": page_of_events(box),
        "EMAIL_ID": httpd.send(email),
        "KEY_ID": httpd.request("POST", "/api-keys", json={}).json()["id"],
        "DOMAIN_ID": httpd.request("POST", "/domains", json=domain).json()["id"],
        "MANAGED_DOMAIN": domain["name"],
    }


@pytest.mark.parametrize(
    "method, path, command", examples(), ids=lambda word: word.split("\n")[0][:40]
)
def test_examples_work(box, contract, names, httpd, email, tmp_path, method, path, command):
    if (method, path) in (("PATCH", "/emails/{id}"), ("POST", "/emails/{id}/cancel")):
        names["EMAIL_ID"] = httpd.send({**email, "scheduled_at": "in 1 hour"})
    if "attachments" in path:
        file = {"filename": "a.txt", "content": "SGVsbG8="}
        names["EMAIL_ID"] = httpd.send({**email, "attachments": [file]})
        listed = httpd.request("GET", f"/emails/{names['EMAIL_ID']}/attachments").json()["data"]
        names["ATTACHMENT_ID"] = listed[0]["id"]
        names["ATTACHMENT_LINK"] = listed[0]["download_url"].rsplit("/", 1)[1]
    if path.startswith("/webhooks/"):
        names.update(webhook(httpd, email))
    if path.startswith("/unsubscribe/"):
        names["UNSUBSCRIBE_TOKEN"] = unsubscribe_token(box, names["EMAIL_ID"])

    def form(method, where, data):
        url = f"{names['POSTERN_URL']}/v3/{where}"
        return requests.request(method, url, auth=("api", names["POSTERN_KEY"]), data=data)

    found = re.match(LISTS, path)
    if found:
        names.update(
            put_on_list(
                lambda m, kind, data: form(m, f"{names['OWN_DOMAIN']}/{kind}", data),
                found[1], tmp_path,
            )
        )  # fmt: skip
    if path == "/suppressions/{id}":
        asked = {"email": unique("suppressed") + "@dst.test"}
        names["SUPPRESSION_ID"] = httpd.request("POST", "/suppressions", json=asked).json()["id"]
    if path.startswith("/v3/domains/{domain}/webhooks/"):
        names["WEBHOOK_NAME"] = "delivered"
        asked = {"id": "delivered", "url": "https://example.com/hook"}
        form("POST", f"domains/{names['MANAGED_DOMAIN']}/webhooks", asked)
    (tmp_path / "message.eml").write_text("From: hello@example.com\n\nHello\n")
    assert command.startswith("curl ")
    command = command.replace("mail.example.org", unique("mail") + ".example")
    command = command.replace("curl ", "curl -sS --noproxy '*' -D head -o body ", 1)
    subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, env={**os.environ, **names}, check=True
    )
    answer = Answer((tmp_path / "head").read_bytes(), (tmp_path / "body").read_bytes())
    target = re.sub(r"\{.*?\}", "x", path)
    assert str(answer.status) == min(contract.operation(method, target)["responses"])
    contract.check(method, target, answer)
