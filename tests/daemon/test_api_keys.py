"""/api-keys: what a company may do with its keys over HTTP."""

import json
import socket
from urllib.parse import urlsplit

import pytest
from harness.httpd import check_problem
from harness.sandbox import unique

UNKNOWN_ID = "3c0d6a52-6c7b-4a0a-9b1c-2b5b7f5a8f11"


class Company:
    """A company of its own with a domain, and a client that manages it."""

    def __init__(self, box):
        self.box = box
        self.id = box.company()
        self.domain = box.domain(self.id)
        self.key = box.new_key(self.id, scope="managing")
        self.httpd = box.httpd(self.key["token"])

    def client(self, **spec):
        return self.box.httpd(self.box.new_key(self.id, **spec)["token"])

    def call(self, method, path="", **options):
        return self.httpd.request(method, f"/api-keys{path}", **options)

    def create(self, **fields):
        """Creates a key: {"id", "token"}."""
        answer = self.call("POST", json={"name": unique("key"), **fields})
        assert answer.status_code == 201, answer.text
        assert set(answer.json()) == {"id", "token"}
        return answer.json()

    def list(self, query=""):
        """Returns the ids of a page, and whether there are more."""
        answer = self.call("GET", query)
        assert answer.status_code == 200, answer.text
        page = answer.json()
        assert set(page) == {"object", "has_more", "data"}
        assert page["object"] == "list"
        return [key["id"] for key in page["data"]], page["has_more"]

    def domain_id(self, name=None):
        """Returns the id of a domain of the company."""
        domains = self.client().request("GET", "/domains?limit=100").json()["data"]
        [found] = [d["id"] for d in domains if d["name"] == (name or self.domain)]
        return found

    def email(self, to):
        return {"from": f"a@{self.domain}", "to": to, "text": "x"}


@pytest.fixture
def company(box):
    return Company(box)


@pytest.fixture
def other(box):
    return Company(box)


def test_a_key_that_is_revoked_before_the_body_comes(box, company):
    """A revoked key cannot make another key, which would remain."""
    body = json.dumps({"name": "late"}).encode()
    url = urlsplit(box.url)
    with socket.create_connection((url.hostname, url.port), timeout=60) as connection:
        connection.sendall(
            "POST /api-keys HTTP/1.1\r\nHost: a\r\n"
            f"Authorization: Bearer {company.key['token']}\r\n"
            "Content-Type: application/json\r\nExpect: 100-continue\r\n"
            f"Content-Length: {len(body)}\r\n\r\n".encode()
        )
        assert int(connection.recv(4096).split()[1]) == 100
        box.cli("key", "revoke", company.key["id"])
        connection.sendall(body)
        answer = connection.recv(4096)
    assert int(answer.split()[1]) == 401
    assert b"API key is invalid." in answer
    assert "late" not in [k["name"] for k in box.cli("key", "list")]


def test_full_access(box, company, to):
    httpd = box.httpd(company.create()["token"])
    email_id = httpd.send(company.email(to))
    assert httpd.request("GET", "/emails").json()["data"][0]["id"] == email_id
    assert httpd.request("GET", "/api-keys").status_code == 200


def test_sending_access(box, company, to):
    httpd = box.httpd(company.create(permission="sending_access")["token"])
    httpd.send(company.email(to))
    for path in ("/emails", "/api-keys", "/domains"):
        check_problem(
            httpd.request("GET", path),
            403,
            "restricted_api_key",
            "This API key is restricted to only send emails.",
        )


def test_key_of_a_domain(box, company, to):
    second = box.domain(company.id)
    made = company.create(domain_id=company.domain_id(second).upper())
    httpd = box.httpd(made["token"])
    check_problem(httpd.post(company.email(to)), 403, "restricted_api_key", company.domain)
    httpd.send({**company.email(to), "from": f"a@{second}"})


def test_token_is_stored_nowhere(box, company):
    token = company.create()["token"]
    assert not box.stores(token)
    assert token not in box.log("httpd")
    assert token not in company.call("GET").text


def test_list(company, to):
    name = "Schlüssel"
    made = company.create(name=name)
    [item, own] = company.call("GET").json()["data"]
    assert set(item) == {"id", "name", "created_at", "last_used_at"}
    assert item["id"] == made["id"]
    assert item["name"] == name
    assert item["created_at"].endswith("+00:00")
    assert item["last_used_at"] is None
    assert own["id"] == company.key["id"]


def test_last_used(company):
    """The time of the last use is set, but coarse."""
    made = company.create()
    company.box.httpd(made["token"]).get(UNKNOWN_ID)
    company.create()  # the committer's queue is in order
    used = {key["id"]: key["last_used_at"] for key in company.call("GET").json()["data"]}
    assert used[made["id"]].endswith("+00:00")


def test_pages(company, other):
    ids = [company.key["id"]] + [company.create()["id"] for _ in range(3)]
    ids.reverse()
    assert company.list() == (ids, False)
    assert company.list("?limit=2") == (ids[:2], True)
    assert company.list(f"?limit=2&after={ids[1]}") == (ids[2:], False)
    assert company.list(f"?limit=1&before={ids[2]}") == (ids[1:2], True)
    for cursor in (other.key["id"], UNKNOWN_ID):
        check_problem(
            company.call("GET", f"?before={cursor}"),
            422,
            "invalid_parameter",
            "The `before` parameter is not the id of an item of this list.",
        )
    check_problem(company.call("GET", "?limit=x"), 422, "invalid_parameter", "`limit`")


@pytest.mark.parametrize("name", ["", None, "ü" * 50, "x" * 50])
def test_names(company, name):
    made = company.create(name=name)
    [item, _] = company.call("GET").json()["data"]
    assert item == {**item, "id": made["id"], "name": name or ""}


@pytest.mark.parametrize(
    "fields, text",
    [
        ({"name": "x" * 51}, "The `name` field must not be longer than 50 characters."),
        ({"name": "a\nb"}, "`name`"),
        ({"name": 5}, "`name`"),
        ({"permission": "everything"}, "`permission`"),
        ({"domain_id": "x"}, "The `domain_id` field must be a valid UUID."),
        ({"domain_id": UNKNOWN_ID}, "The `domain_id` field is not the id of a domain"),
    ],
)
def test_bad_fields(company, fields, text):
    answer = company.call("POST", json={"name": "x", **fields})
    check_problem(answer, 422, "validation_error", text)
    assert len(company.list()[0]) == 1


def test_domain_of_another_company(company, other):
    answers = [
        company.call("POST", json={"name": "x", "domain_id": domain_id})
        for domain_id in (other.domain_id(), UNKNOWN_ID)
    ]
    for answer in answers:
        check_problem(answer, 422, "validation_error", "`domain_id`")
    assert answers[0].content == answers[1].content


def test_remove(box, company):
    made = company.create()
    answer = company.call("DELETE", f"/{made['id']}")
    assert answer.status_code == 200
    assert answer.json() == {"object": "api_key", "id": made["id"], "deleted": True}
    check_problem(box.httpd(made["token"]).get(UNKNOWN_ID), 401, "invalid_api_key")
    assert made["id"] not in company.list()[0]
    check_problem(
        company.call("DELETE", f"/{made['id']}"), 404, "not_found", "API key not found"
    )
    [row] = [k for k in box.cli("key", "list", "--company", company.id) if k["id"] == made["id"]]
    assert row["revoked_at"]


def test_rename(box, company):
    made = company.create()
    for name in ("Größe", ""):
        answer = company.call("PATCH", f"/{made['id']}", json={"name": name})
        assert answer.status_code == 200
        assert answer.json() == {"object": "api_key", "id": made["id"]}
        [item, _] = company.call("GET").json()["data"]
        assert (item["id"], item["name"]) == (made["id"], name)
    assert box.httpd(made["token"]).get(UNKNOWN_ID).status_code == 404


@pytest.mark.parametrize(
    "body, name, text",
    [
        ({}, "missing_required_field", "Missing `name` field."),
        ({"name": None}, "missing_required_field", "Missing `name` field."),
        ({"name": []}, "validation_error", "`name`"),
        ({"name": {}}, "validation_error", "`name`"),
        ({"name": "x" * 51}, "validation_error", "`name`"),
        ({"name": "a\nb"}, "validation_error", "`name`"),
        ([], "validation_error", "must be an `object`"),
    ],
)
def test_bad_rename(company, body, name, text):
    made = company.create(name="old")
    check_problem(company.call("PATCH", f"/{made['id']}", json=body), 422, name, text)
    assert company.call("GET").json()["data"][0]["name"] == "old"


def test_the_last_key_removes_itself(company):
    assert company.call("DELETE", f"/{company.key['id']}").status_code == 200
    check_problem(company.call("GET"), 401, "invalid_api_key")


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
def test_key_of_another_company_is_not_there(company, other, method):
    answers = [
        company.call(method, f"/{which}", json={"name": "x"})
        for which in (other.key["id"], UNKNOWN_ID)
    ]
    for answer in answers:
        check_problem(answer, 404, "not_found", "API key not found")
    assert answers[0].content == answers[1].content
    [item] = other.call("GET").json()["data"]
    assert (item["id"], item["name"]) == (other.key["id"], other.key["name"])


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
def test_id_that_is_none(company, method):
    check_problem(
        company.call(method, "/x", json={"name": "x"}),
        422,
        "invalid_parameter",
        "The `id` must be a valid UUID.",
    )


def test_restricted_key_cannot_widen_itself(box, company, to):
    """A restricted key sees and makes only keys with the same restriction."""
    second = box.domain(company.id)
    everything = company.key["id"]
    own = box.new_key(company.id, domain=company.domain)
    foreign = box.new_key(company.id, domain=second)
    ids = {name: company.domain_id(name) for name in (company.domain, second)}
    company.httpd = box.httpd(own["token"])

    assert company.list() == ([own["id"]], False)
    for cursor in (everything, foreign["id"]):
        check_problem(company.call("GET", f"?after={cursor}"), 422, "invalid_parameter")
        for method in ("PATCH", "DELETE"):
            answer = company.call(method, f"/{cursor}", json={"name": "x"})
            check_problem(answer, 404, "not_found")
    check_problem(
        company.call("POST", json={"name": "x"}),
        403,
        "restricted_api_key",
        f"This API key is restricted to the domain {company.domain}",
    )
    check_problem(
        company.call("POST", json={"name": "x", "domain_id": ids[second]}),
        422,
        "validation_error",
        "`domain_id`",
    )
    made = company.create(domain_id=ids[company.domain])
    check_problem(
        box.httpd(made["token"]).post({**company.email(to), "from": f"a@{second}"}),
        403,
        "restricted_api_key",
    )
    assert company.list() == ([made["id"], own["id"]], False)
    assert company.call("DELETE", f"/{made['id']}").status_code == 200
    assert company.list() == ([own["id"]], False)


@pytest.mark.parametrize(
    "scope, text",
    [
        ("sending", "This API key is restricted to only send emails."),
        ("sending,reading", "This API key is not allowed to make this request."),
    ],
)
def test_scope(company, scope, text):
    company.httpd = company.client(scope=scope)
    own = f"/{company.key['id']}"
    calls = [("GET", ""), ("POST", ""), ("PATCH", own), ("DELETE", own)]
    for method, path in calls:
        check_problem(
            company.call(method, path, json={}), 403, "restricted_api_key", text
        )


@pytest.mark.parametrize(
    "method, path, allow",
    [
        ("DELETE", "/api-keys", "POST, GET"),
        ("PUT", "/api-keys", "POST, GET"),
        ("GET", f"/api-keys/{UNKNOWN_ID}", "PATCH, DELETE"),
        ("PUT", f"/api-keys/{UNKNOWN_ID}", "PATCH, DELETE"),
    ],
)
def test_wrong_method(httpd, method, path, allow):
    answer = httpd.request(method, path)
    check_problem(answer, 405, "method_not_allowed")
    assert answer.headers["Allow"] == allow


@pytest.mark.parametrize("options", [{}, {"json": {}}])
def test_bodies_that_nobody_needs(company, options):
    assert company.call("GET", **options).status_code == 200
    made = company.create()
    assert company.call("DELETE", f"/{made['id']}", **options).status_code == 200
