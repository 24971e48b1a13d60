"""/domains: what a company may do with its sending domains over HTTP."""

import smtplib

import pytest
from harness import Sandbox
from harness.httpd import check_problem
from harness.sandbox import unique
from test_milter import message, smtp  # noqa: F401 (a fixture)

UNKNOWN_ID = "3c0d6a52-6c7b-4a0a-9b1c-2b5b7f5a8f11"

ITEM = set(
    """object id name status created_at region open_tracking click_tracking
    capabilities""".split()
)


def new_name():
    return unique("domain") + ".example"


class Company:
    """A company of its own, and clients with its keys."""

    def __init__(self, box):
        self.box = box
        self.id = box.company()
        self.httpd = self.client(scope="managing")

    def client(self, **spec):
        return self.box.httpd(self.box.new_key(self.id, **spec)["token"])

    def call(self, method, path="", **options):
        return self.httpd.request(method, f"/domains{path}", **options)

    def ask(self, name=None):
        """Requests a domain; returns the answer to POST."""
        answer = self.call("POST", json={"name": name or new_name()})
        assert answer.status_code == 201, answer.text
        return answer.json()

    def get(self, domain_id):
        answer = self.call("GET", f"/{domain_id}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def list(self, query=""):
        answer = self.call("GET", query)
        assert answer.status_code == 200, answer.text
        page = answer.json()
        assert set(page) == {"object", "has_more", "data"}
        assert page["object"] == "list"
        return [d["name"] for d in page["data"]], page["has_more"]

    def verify(self, domain_id):
        answer = self.call("POST", f"/{domain_id}/verify")
        assert answer.status_code == 200, answer.text
        assert answer.json() == {"object": "domain", "id": domain_id}

    def operator(self, verb, name):
        self.box.cli("domain", verb, name, "--company", self.id)


@pytest.fixture
def company(box):
    return Company(box)


@pytest.fixture
def other(box):
    return Company(box)


def test_create_and_get(company):
    made = company.ask("MAIL.Exämple.test.")
    assert set(made) == ITEM | {"records"}
    assert made["object"] == "domain"
    assert made["name"] == "mail.xn--exmple-cua.test"
    assert made["status"] == "pending"
    assert [r["purpose"] for r in made["records"]] == ["SPF", "DMARC"]
    assert {r["status"] for r in made["records"]} == {"not_started"}
    assert company.get(made["id"]) == made


def test_sending_waits_for_the_operator(box, company, email, to):
    domain = company.ask()
    name, httpd = domain["name"], company.client(scope="sending")
    email = {**email, "from": f"a@{name}"}
    inactive = f"The {name} domain is not active for sending."
    for _ in range(2):
        check_problem(httpd.post(email), 403, "validation_error", inactive)
        company.verify(domain["id"])
        assert company.get(domain["id"])["status"] == "pending"
    company.operator("activate", name)
    assert company.get(domain["id"])["status"] == "verified"
    httpd.send(email)
    assert box.sink.find(to=to)
    company.operator("deactivate", name)
    assert company.get(domain["id"])["status"] == "not_started"
    check_problem(httpd.post(email), 403, "validation_error", inactive)


def refused_by_smtp(smtp, sender, to):  # noqa: F811
    try:
        smtp.sendmail(sender, to, message(sender, to))
    except smtplib.SMTPDataError:
        return True
    return False


def test_others_go_on_sending(company, smtp, to):  # noqa: F811
    """Requesting a domain does not stop the mail of its owner."""
    domain = company.ask()
    sender = f"a@{domain['name']}"
    assert not refused_by_smtp(smtp, sender, to)
    company.verify(domain["id"])
    assert not refused_by_smtp(smtp, sender, to)
    company.operator("activate", domain["name"])
    assert refused_by_smtp(smtp, sender, to)
    company.operator("deactivate", domain["name"])
    assert refused_by_smtp(smtp, sender, to)


def test_name_of_another_company(company, other, email):
    """A request reveals nothing, reserves no name, and grants nothing."""
    name = company.ask()["name"]
    other_id = other.ask(name)["id"]
    company.operator("activate", name)
    other.verify(other_id)
    assert other.get(other_id)["status"] == "pending"
    late = Company(other.box)
    assert late.ask(name)["status"] == "pending"
    check_problem(
        other.client().post({**email, "from": f"a@{name}"}),
        403,
        "validation_error",
        f"The {name} domain is not active for sending.",
    )
    company.client().send({**email, "from": f"a@{name}"})


def test_twice(company):
    name = company.ask()["name"]
    for again in (name, name.upper() + "."):
        check_problem(
            company.call("POST", json={"name": again}),
            422,
            "validation_error",
            f"The {name} domain has been registered already.",
        )


@pytest.mark.parametrize(
    "body, status, name, text",
    [
        ({}, 422, "missing_required_field", "Missing `name` field."),
        ({"name": "nodots"}, 422, "validation_error", "Invalid `name` field"),
        ({"name": "a_b.test"}, 422, "validation_error", "Invalid `name` field"),
        ({"name": "[127.0.0.1]"}, 422, "validation_error", "Invalid `name` field"),
        ({"name": ["a.test"]}, 422, "validation_error", "`name`"),
        ({"name": "a.test", "region": "moon"}, 422, "invalid_region", "`region`"),
        ({"name": "a.test", "tls": "enforced"}, 422, "validation_error", "`tls`"),
        ([], 422, "validation_error", "must be an `object`"),
    ],
)
def test_bad_body(company, body, status, name, text):
    check_problem(company.call("POST", json=body), status, name, text)
    assert company.list() == ([], False)


def test_unknown_fields_and_regions_are_accepted(company):
    body = {"name": new_name(), "region": "eu-west-1", "custom_return_path": "x"}
    answer = company.call("POST", json=body)
    assert answer.status_code == 201


def test_list(company, other):
    names = [company.ask()["name"] for _ in range(3)][::-1]
    ids = [company.call("GET").json()["data"][n]["id"] for n in range(3)]
    other_id = other.ask()["id"]
    assert company.list() == (names, False)
    assert company.list("?limit=2") == (names[:2], True)
    assert company.list(f"?limit=2&after={ids[1]}") == (names[2:], False)
    assert company.list(f"?limit=1&before={ids[2]}") == (names[1:2], True)
    for item in company.call("GET").json()["data"]:
        assert set(item) == ITEM
    for cursor in (other_id, UNKNOWN_ID):
        check_problem(
            company.call("GET", f"?after={cursor}"),
            422,
            "invalid_parameter",
            "The `after` parameter is not the id of an item of this list.",
        )
    check_problem(
        company.call("GET", "?limit=0"), 422, "invalid_parameter", "`limit`"
    )


@pytest.mark.parametrize(
    "body",
    [{}, {"open_tracking": False, "click_tracking": False, "tls": "opportunistic"}],
)
def test_update_of_nothing(company, body):
    domain = company.ask()
    answer = company.call("PATCH", f"/{domain['id']}", json=body)
    assert answer.status_code == 200
    assert answer.json() == {"object": "domain", "id": domain["id"]}
    assert company.get(domain["id"]) == domain


@pytest.mark.parametrize(
    "body",
    [{"open_tracking": True}, {"click_tracking": True}, {"tls": "enforced"},
     {"tracking_subdomain": "x"}, {"capabilities": {"receiving": "enabled"}}],
)
def test_update_to_what_cannot_be(company, body):
    domain = company.ask()
    answer = company.call("PATCH", f"/{domain['id']}", json=body)
    check_problem(answer, 422, "validation_error", "`")


def test_remove(box, company, email):
    domain = company.ask()
    key = box.new_key(company.id, domain=domain["name"])
    company.operator("activate", domain["name"])
    email_id = company.client().send({**email, "from": f"a@{domain['name']}"})
    answer = company.call("DELETE", f"/{domain['id']}")
    assert answer.status_code == 200
    assert answer.json() == {"object": "domain", "id": domain["id"], "deleted": True}
    check_problem(company.call("GET", f"/{domain['id']}"), 404, "not_found")
    check_problem(box.httpd(key["token"]).get(email_id), 401, "invalid_api_key")
    assert company.httpd.read(email_id)
    assert company.ask(domain["name"])["id"] != domain["id"]


def test_what_the_operator_took_stays_taken(company):
    """A company cannot get a domain back by removing it and requesting it again."""
    domain = company.ask()
    company.operator("activate", domain["name"])
    company.operator("deactivate", domain["name"])
    check_problem(
        company.call("DELETE", f"/{domain['id']}"),
        403,
        "validation_error",
        f"The {domain['name']} domain was deactivated by the operator",
    )
    company.verify(domain["id"])
    assert company.get(domain["id"])["status"] == "not_started"


CALLS = [
    ("GET", ""),
    ("PATCH", ""),
    ("DELETE", ""),
    ("POST", "/verify"),
]


@pytest.mark.parametrize("method, rest", CALLS)
def test_domain_of_another_company_is_not_there(company, other, method, rest):
    domain = other.ask()
    answers = [
        company.call(method, f"/{which}{rest}", json={})
        for which in (domain["id"], UNKNOWN_ID)
    ]
    for answer in answers:
        check_problem(answer, 404, "not_found", "Domain not found")
    assert answers[0].content == answers[1].content
    assert other.get(domain["id"]) == domain


@pytest.mark.parametrize("method, rest", CALLS)
def test_id_that_is_none(company, method, rest):
    answer = company.call(method, f"/x{rest}", json={})
    check_problem(
        answer, 422, "invalid_parameter", "The `id` must be a valid UUID."
    )


@pytest.mark.parametrize("method, rest", [("GET", ""), ("POST", "/verify"), ("DELETE", "")])
@pytest.mark.parametrize("options", [{}, {"json": {}}, {"headers": {"Content-Type": "application/json"}}])
def test_bodies_that_nobody_needs(company, method, rest, options):
    domain = company.ask()
    answer = company.call(method, f"/{domain['id']}{rest}", **options)
    assert answer.status_code == 200, answer.text


def test_restricted_key(box, company):
    mine, hidden = company.ask(), company.ask()
    company.httpd = company.client(domain=mine["name"])
    assert company.list() == ([mine["name"]], False)
    assert company.get(mine["id"]) == mine
    company.verify(mine["id"])
    for method, rest in CALLS:
        check_problem(
            company.call(method, f"/{hidden['id']}{rest}", json={}), 404, "not_found"
        )
    check_problem(
        company.call("GET", f"?after={hidden['id']}"), 422, "invalid_parameter"
    )
    check_problem(
        company.call("POST", json={"name": new_name()}),
        403,
        "restricted_api_key",
        f"This API key is restricted to the domain {mine['name']}",
    )


@pytest.mark.parametrize(
    "scope, message_text",
    [
        ("sending", "This API key is restricted to only send emails."),
        ("reading", "This API key is not allowed to make this request."),
        ("sending,reading", "This API key is not allowed to make this request."),
    ],
)
def test_scope(company, scope, message_text):
    httpd = company.client(scope=scope)
    for method, path in [("GET", "/domains"), ("POST", "/domains")] + [
        (method, f"/domains/{UNKNOWN_ID}{rest}") for method, rest in CALLS
    ]:
        answer = httpd.request(method, path, json={"name": "a.test"})
        check_problem(answer, 403, "restricted_api_key", message_text)


@pytest.mark.parametrize(
    "method, path, allow",
    [
        ("PUT", "/domains", "POST, GET"),
        ("DELETE", "/domains", "POST, GET"),
        ("POST", f"/domains/{UNKNOWN_ID}", "GET, PATCH, DELETE"),
        ("GET", f"/domains/{UNKNOWN_ID}/verify", "POST"),
    ],
)
def test_wrong_method(httpd, method, path, allow):
    answer = httpd.request(method, path)
    check_problem(answer, 405, "method_not_allowed")
    assert answer.headers["Allow"] == allow


@pytest.fixture(scope="module")
def open_box():
    """A sandbox where companies may activate domains."""
    with Sandbox("--set", "http.domain_activation=company") as box:
        yield box


def test_subdomains_of_another_company(open_box, email):
    """A domain with its subdomains is protected against other companies. The operator
    may assign one of them."""
    owner, other = Company(open_box), Company(open_box)
    name = owner.ask()["name"]
    below = {c: c.ask(f"pay.{name}")["id"] for c in (other, owner)}
    owner.operator("activate", name)
    open_box.cli("domain", "set", name, "--subdomains", "covered")
    other.verify(below[other])
    assert other.get(below[other])["status"] == "pending"
    check_problem(
        other.client().post({**email, "from": f"a@pay.{name}"}),
        403,
        "validation_error",
        f"The pay.{name} domain is not active for sending.",
    )
    owner.verify(below[owner])
    assert owner.get(below[owner])["status"] == "verified"
    given = other.ask(f"given.{name}")
    other.operator("activate", given["name"])
    assert other.get(given["id"])["status"] == "verified"


OWN = ("local", "origin", "destination", "alias")


def configure(box, *lines):
    """Sets Postfix's parameters and httpd's activation, and reloads httpd."""
    with (box.dir / "postfix/main.cf").open("a") as file:
        file.writelines(f"{line}\n" for line in lines)
    box.restart("httpd")


def statuses(company, names):
    asked = {name: company.ask(name)["id"] for name in names}
    for domain_id in asked.values():
        company.verify(domain_id)
    return {name: company.get(i)["status"] for name, i in asked.items()}


def test_domains_of_the_host(own_box):
    """No company gets the domains of this host; if httpd cannot read a table of
    domains, it grants none."""
    box = own_box("--set", "http.domain_activation=company")
    own = {word: f"{word}-{new_name()}" for word in OWN}
    (box.dir / "origin").write_text(own["origin"] + "\n")
    box.set("milter", "local_domains", own["local"])
    configure(
        box,
        f"myorigin = {box.dir}/origin",
        f"mydestination = localhost, {own['destination'].upper()}",
        f"virtual_alias_domains = {own['alias']}",
    )
    company, free = Company(box), new_name()
    wanted = {name: "pending" for name in own.values()}
    assert statuses(company, [*own.values(), free]) == {**wanted, free: "verified"}
    company.operator("activate", own["local"])
    configure(box, "virtual_mailbox_domains = texthash:/etc/none")
    free = new_name()
    assert statuses(company, [free]) == {free: "pending"}
    assert "domain_activation_by_operator_only" in box.log("httpd")


@pytest.mark.store
def test_company_activates(open_box, email, to):
    company, other = Company(open_box), Company(open_box)
    domain = company.ask()
    other_id = other.ask(domain["name"])["id"]
    company.verify(domain["id"])
    other.verify(other_id)
    assert company.get(domain["id"])["status"] == "verified"
    assert other.get(other_id)["status"] == "pending"
    company.client().send({**email, "from": f"a@{domain['name']}"})
    assert open_box.sink.find(to=to)
    company.operator("deactivate", domain["name"])
    company.verify(domain["id"])
    assert company.get(domain["id"])["status"] == "not_started"
