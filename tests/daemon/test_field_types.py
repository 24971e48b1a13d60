"""Each field of each JSON body with each type that it does not have: as the
document at /openapi.json describes them, and those that it leaves out."""

import json

import jsonschema
import pytest
from harness.contract import Contract
from harness.httpd import check_problem
from harness.sandbox import unique

# What may stand where something else is expected. Nothing of it is "not given".
VALUES = [5, -1.5, True, False, "x", ["x"], [5], [[]], [None], {"x": 5}, [{"x": 5}]]

EMAIL = {"from": "hello@example.com", "to": "types@dst.test", "text": "x"}


def new_domain(httpd):
    body = {"name": unique("domain") + ".example"}
    return httpd.request("POST", "/domains", json=body).json()["id"]


def new_key(httpd):
    return httpd.request("POST", "/api-keys", json={"name": "x"}).json()["id"]


class Body:
    """The body of a route: the schemas of its fields, and a good one."""

    def __init__(self, method, path, schemas, good, make=None, wrap=None, at=""):
        self.method, self.path = method, path
        self.schemas, self.good = schemas, good
        self.make = make  # what the path names
        self.wrap = wrap or (lambda body: body)
        self.at = at  # in front of the names of fields

    def send(self, httpd, body):
        path = self.path.format(self.make(httpd) if self.make else "")
        return httpd.request(
            self.method,
            path,
            data=json.dumps(self.wrap(body)),
            headers={"Content-Type": "application/json"},
        )


BODIES = {
    "email": Body("POST", "/emails", ["EmailRequest"], EMAIL),
    "batch": Body(
        "POST", "/emails/batch", ["EmailRequest"], EMAIL, None, lambda b: [b], "[0]."
    ),
    "new domain": Body(
        "POST", "/domains", ["DomainRequest", "DomainSettings"], {"name": "x.example"}
    ),
    "domain": Body("PATCH", "/domains/{}", ["DomainSettings"], {}, new_domain),
    "new key": Body("POST", "/api-keys", ["ApiKeyRequest"], {"name": "x"}),
    "key": Body("PATCH", "/api-keys/{}", ["ApiKeyUpdate"], {"name": "x"}, new_key),
}

# What is taken besides the document, by the names that stand in the message.
UNLISTED = [
    ("email", "scheduled_at"),
    ("email", "template"),
    ("email", "topic_id"),
    ("new domain", "tracking_subdomain"),
    ("domain", "tracking_subdomain"),
]

# Fields of the item that an array must have at least.
ITEMS = {
    "attachments": {"filename": "a", "content": "eA=="},
    "tags": {"name": "a", "value": "b"},
}


def resolve(contract, schema):
    name = schema.get("$ref", "").rsplit("/", 1)[-1]
    return contract.document["components"]["schemas"][name] if name else schema


def fits(contract, value, schema):
    try:
        contract.validate(value, schema)
        return True
    except jsonschema.ValidationError:
        return False


def wrong_in(contract, name, schema):
    """(path, the field with it) for each wrong value, also in what it holds."""
    inner, item = resolve(contract, schema), {}
    for value in VALUES:
        is_object = "properties" in inner and isinstance(value, dict)
        if not is_object and not fits(contract, value, schema):
            yield name, value
    if "items" in inner and name in ITEMS:
        inner, item = resolve(contract, inner["items"]), ITEMS[name]
        for path, field in fields_of(contract, inner):
            yield f"{name}[0].{path}", [{**item, **field}]
    elif "properties" in inner:
        for path, field in fields_of(contract, inner):
            yield f"{name}.{path}", field


def fields_of(contract, schema):
    for name, field in schema["properties"].items():
        for path, value in wrong_in(contract, name, field):
            yield path, {name: value}


def cases(contract, body):
    for name in body.schemas:
        schema = contract.document["components"]["schemas"][name]
        yield from fields_of(contract, schema)


def check_refused(httpd, body, path, field):
    answer = body.send(httpd, {**body.good, **field})
    assert answer.status_code == 422, (path, field, answer.text)
    check_problem(answer, 422, answer.json()["name"], f"`{body.at}")
    assert path.split(".")[0] in answer.json()["message"], (path, answer.text)


@pytest.mark.parametrize("kind", BODIES)
def test_wrong_type(box, httpd, kind):
    body = BODIES[kind]
    found = list(cases(Contract.of(box.url), body))
    assert len(found) >= len(VALUES) - 2
    for path, field in found:
        check_refused(httpd, body, path, field)


def listed(contract, schema):
    """The values that a schema lists, of an object with all its fields."""
    schema = resolve(contract, schema)
    if "properties" in schema:
        fields = {n: listed(contract, f) for n, f in schema["properties"].items()}
        return [{n: v[0] for n, v in fields.items()}] if all(fields.values()) else []
    return schema.get("enum", [schema["const"]] if "const" in schema else [])


@pytest.mark.parametrize(
    "kind, name, count",
    [
        ("new domain", "region", 4),
        ("new domain", "tls", 1),
        ("new domain", "capabilities", 1),
        ("domain", "tls", 1),
        ("domain", "capabilities", 1),
        ("new key", "permission", 2),
    ],
)
def test_values_that_are_listed(box, httpd, kind, name, count):
    contract, body = Contract.of(box.url), BODIES[kind]
    schemas = [contract.document["components"]["schemas"][s] for s in body.schemas]
    (schema,) = [s["properties"][name] for s in schemas if name in s["properties"]]
    values = listed(contract, schema)
    assert len(values) == count
    for value in values:
        good = {**body.good, "name": unique("name") + ".example", name: value}
        answer = body.send(httpd, good)
        assert answer.status_code in (200, 201), (value, answer.text)


@pytest.mark.parametrize("kind, name", UNLISTED)
@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_field_that_is_not_supported(httpd, kind, name, value):
    check_refused(httpd, BODIES[kind], name, {name: value})


ALIASES = ["contentType", "contentId", "inline_content_id"]


@pytest.mark.parametrize("name", ALIASES)
def test_other_names_of_fields(httpd, name):
    for value in VALUES:
        if not isinstance(value, str):
            field = [{**ITEMS["attachments"], name: value}]
            path = f"attachments[0].{name}"
            check_refused(httpd, BODIES["email"], path, {"attachments": field})


@pytest.mark.parametrize("kind", BODIES)
@pytest.mark.parametrize(
    "value", [None, "", *(v for v in VALUES if not isinstance(v, dict))], ids=repr
)
def test_body_that_is_no_object(httpd, kind, value):
    answer = BODIES[kind].send(httpd, value)
    assert answer.status_code == 422, answer.text
    check_problem(answer, 422, "validation_error")


def test_nothing_refused_was_delivered(box, httpd, email, to):
    """Runs after the others: what they sent would have come before this."""
    httpd.send(email)
    box.sink.find(to=to)
    assert not box.sink.now(to="types@dst.test")
