"""What a request costs must not grow with the rows that there are: every route is
asked with many rows in every table, half of them of one company, and with twice as
many. What counts is how many steps SQLite takes, on the event loops, where all others
wait meanwhile, and elsewhere: that is the same on every machine. tests/bench has
the times with a million rows (the group bounded)."""

import itertools
import os
import re
import tempfile
from pathlib import Path

import pytest
from harness import Sandbox
from harness.admin import Admin, by_token, operator
from harness.rows import BIG, ITS_DOMAIN, create, grow, row_id
from harness.sandbox import SANITIZED, unique
from harness.steps import Steps

pytestmark = [
    pytest.mark.plain,
    pytest.mark.skipif(SANITIZED, reason="nothing may be loaded before a sanitizer"),
]

# Searches look at 20,000 emails of a company for a page: so many are there at first.
ROWS = int(os.environ.get("POSTERN_TEST_ROWS", 45_000))

# Of one request: on an event loop, a tenth of a millisecond or two; and altogether.
LOOP_STEPS = 5_000
ALL_STEPS = 4_000_000

# What an operator looks for among all companies goes from one to the next: it grows
# with the companies that have such emails, which operators alone can make more.
GROWS = {
    "operator: GET /admin/emails {'status': 'bounced'}",
    "operator: GET /metrics ",
}

# One row more, and another page of an index, are no growth.
SLACK = 400

EMAIL = {"from": f"news@{ITS_DOMAIN}", "to": "ann@dst.test", "text": "Hello"}
FORM = {"from": f"news@{ITS_DOMAIN}", "to": "ann@dst.test", "text": "Hello"}
MESSAGE = f"From: news@{ITS_DOMAIN}\r\nTo: ann@dst.test\r\n\r\nHello\r\n"

# The number of a row of the company that no request has removed yet.
numbers = itertools.count(20_002, 20)


def fresh():
    return {"name": unique("fresh") + ".example"}


# What each route is sent besides nothing, as options of requests: the worst that a
# client may ask. A function is called for each request.
ASKS = {
    "POST /emails": [{"json": EMAIL}],
    "POST /emails/batch": [{"json": [EMAIL] * 3}],
    "GET /emails": [
        {},
        *({"params": {name: value}} for name, value in [
            ("limit", 1), ("subject", "nobody"), ("to", "nobody@dst.test"),
            ("to", "user2@dst.test"), ("from", "nobody@dst.test"), ("tag", "tag2"),
            ("status", "bounced"), ("until", "2020-01-01"),
        ]),
    ],
    "POST /domains": [{"json": fresh}],
    "GET /domains": [{}, {"params": {"limit": 1}}],
    "PATCH /domains/{id}": [{"json": {}}],
    "POST /api-keys": [{"json": fresh}],
    "GET /api-keys": [{}, {"params": {"limit": 1}}],
    "PATCH /api-keys/{id}": [{"json": fresh}],
    "POST /v3/{domain}/messages": [{"data": FORM}],
    "POST /v3/{domain}/messages.mime": [
        {"data": {"to": "ann@dst.test"}, "files": {"message": MESSAGE}}
    ],
    "GET /v3/{domain}/events": [
        {},
        *({"params": {name: value}} for name, value in [
            ("limit", 300), ("recipient", "user2@dst.test"), ("tags", "tag2"),
            ("begin", "1"),
        ]),
    ],
    "GET /v3/stats/total": [{}, {"params": {"duration": "30d", "resolution": "hour"}}],
    "GET /v3/{domain}/stats/total": [{}, {"params": {"duration": "30d"}}],
    "POST /admin/users": [{"json": lambda: {"login": unique("user")}}],
    "PATCH /admin/users/{id}": [{"json": {"role": "viewer"}}],
    "POST /admin/tokens": [{"json": fresh}],
    "POST /admin/companies": [{"json": fresh}],
    "POST /admin/domains": [{"json": lambda: {"company_id": BIG, **fresh()}}],
    "PATCH /admin/domains/{id}": [{"json": {"policy": "learn"}}],
    "POST /admin/keys": [{"json": lambda: {"company_id": BIG, **fresh()}}],
    "PATCH /admin/keys/{id}": [{"json": fresh}],
    "POST /admin/exemptions": [
        {"json": lambda: {
            "domain": ITS_DOMAIN, "kind": "login", "value": unique("login")
        }}
    ],
    "POST /admin/exemptions/batch": [
        {"json": lambda: {
            "domain": ITS_DOMAIN,
            "exemptions": [{"kind": "login", "value": unique("login")}],
        }}
    ],
    "GET /admin/companies": [{}, {"params": {"search": "nobody"}}],
    "GET /admin/domains": [{}, {"params": {"search": "nobody"}}],
    "GET /admin/users": [{}, {"params": {"search": "nobody"}}],
    "GET /admin/tokens": [{}, {"params": {"search": "nobody"}}],
    "GET /admin/keys": [{}, {"params": {"valid": "true"}}, {"params": {"search": "nobody"}}],
    "GET /admin/exemptions": [{}, {"params": {"search": "nobody"}}],
    "GET /admin/suggestions": [{"params": {"domain": "d0000004.example"}}],
    "GET /admin/emails": [
        {},
        *({"params": {name: value}} for name, value in [
            ("q", "nobody"), ("q", "nobody@dst.test"), ("to", "user2@dst.test"),
            ("status", "bounced"), ("status", "refused"), ("status", "staged"),
            ("tag", "tag2"), ("domain", "nobody.example"), ("since", "1d"),
        ]),
    ],
    "GET /admin/refusals": [
        {}, {"params": {"learnt": "true"}}, {"params": {"domain": "d0000004.example"}},
    ],
    "GET /admin/stats": [
        {},
        {"params": {"step": "hour", "since": "41d"}},
        {"params": {"by": "domain"}},
        {"params": {"by": "domain", "since": "1000d"}},
        {"params": {"domain": "d0000004.example"}},
    ],
    "GET /admin/audit": [
        {},
        *({"params": {name: value}} for name, value in [
            ("object", "nobody"), ("action", "nothing"), ("actor", "nobody"),
        ]),
    ],
}  # fmt: skip

# Logins and what is the caller's own, which are one row each; and what has no end.
LEFT_OUT = re.compile(
    r"\S+ (/|/admin|/login|/web/.*|/admin/(live|session|account|password|totp.*"
    r"|emails/test)|DELETE /admin/sessions)$"
)

# The letter of row_id() of what a path names.
LETTERS = {
    "emails": "f", "domains": "d", "api-keys": "a", "keys": "a", "users": "0",
    "tokens": "5", "exemptions": "e", "companies": "c", "sessions": "5",
}  # fmt: skip


def operations(document):
    for path, item in document["paths"].items():
        for method in item:
            operation = f"{method.upper()} {path}"
            if method != "parameters" and not LEFT_OUT.match(operation):
                yield operation


def fill_in(path):
    """The path, with a row of its own for each request."""
    letter = LETTERS.get(path.split("/{")[0].split("/")[-1])
    number = next(numbers)
    if letter == "c":
        number -= 1  # a company with one row of each kind
    path = path.replace("{id}", row_id(letter, number) if letter else "")
    return path.replace("{domain}", ITS_DOMAIN).replace("{page}", "none")


def evaluate(options):
    return {name: value() if callable(value) else value for name, value in options.items()}


class World:
    """The clients, and what each question to each of them took."""

    def __init__(self, box, steps):
        self.box = box
        self.steps = steps
        key = box.new_key(BIG)["token"]
        self.httpd = box.httpd(key)
        self.basic = ("api", key)
        self.admins = {
            "operator": operator(box),
            "owner": by_token(box, unique("owner"), BIG),
        }

    def send(self, who, method, path, options):
        options = evaluate(options)
        client = self.admins.get(who, self.httpd)
        headers = {}
        if path.startswith("/v3"):
            options["auth"] = self.basic
        if who in self.admins:
            headers["Origin"] = client.url
            if client.token:
                headers["Authorization"] = f"Bearer {client.token}"
        answer = client.session.request(
            method, client.url + path, headers=headers, timeout=60, **options
        )
        assert answer.status_code < 500, (who, method, path, answer.text)
        return answer.status_code

    def documents(self):
        api = self.httpd.session.get(self.httpd.url + "/openapi.json", timeout=60)
        yield "company", api.json()
        for who in self.admins:
            yield who, Admin(self.box).ok("GET", "/admin/openapi.json")

    def measure(self):
        """By question: the status, and the steps on event loops and elsewhere."""
        took = {}
        for who, document in self.documents():
            for operation in operations(document):
                method, path = operation.split()
                assert method in ("GET", "DELETE") or operation in ASKS or (
                    re.search(r"/(verify|link|reset)$", path)
                ), f"{operation} is asked nothing"
                for options in ASKS.get(operation, [{}]):
                    statuses = set()
                    steps = self.steps.of(
                        lambda: statuses.add(
                            self.send(who, method, fill_in(path), options)
                        )
                    )
                    name = f"{who}: {operation} {options.get('params', '')}"
                    took[name] = (max(statuses), *steps)
        return took


@pytest.fixture(scope="module")
def world():
    cli = os.environ.get("BUILD", "build") + "/postern"
    with tempfile.TemporaryDirectory(prefix="postern-rows.", dir="/var/tmp") as folder:
        os.chmod(folder, 0o777)
        database = Path(folder) / "postern.db"
        create(cli, database)
        grow(database, 1, ROWS)
        for file in Path(folder).iterdir():
            os.chmod(file, 0o666)
        steps = Steps(folder)
        with steps.counting():
            box = Sandbox("--set", f"store.database={database}")
        with box:
            world = World(box, steps)
            world.few = world.measure()
            # Behind those that were sent.
            grow(database, ROWS + 1000, 2 * ROWS)
            world.many = world.measure()
            yield world


def test_steps_are_counted(world):
    loops, others = world.steps.now()
    assert loops > 0 and others > 0
    assert all(sum(steps) > 0 for name, (_, *steps) in world.few.items() if "/emails" in name)


def test_no_route_costs_more_with_more_rows(world):
    grown = {
        name: (few, world.many[name])
        for name, few in world.few.items()
        for a, b in zip(few[1:], world.many[name][1:])
        if b > a * 1.2 + SLACK and name not in GROWS
    }
    assert not grown, "\n".join(f"{name}: {took}" for name, took in grown.items())


def test_no_route_reads_much(world):
    much = {
        name: took
        for name, took in world.many.items()
        if took[1] > LOOP_STEPS or sum(took[1:]) > ALL_STEPS
    }
    assert not much, "\n".join(f"{name}: {took}" for name, took in much.items())


def test_lists_have_an_end(world):
    """A page of each list is a page, and says what is behind it."""
    admin = world.admins["operator"]
    for name in ("companies", "domains", "keys", "exemptions", "users", "tokens", "audit"):
        page = admin.ok("GET", f"/admin/{name}")
        assert len(page["data"]) in (20, 100) and page["has_more"], name
        after = page["data"][-1]["id"]
        behind = admin.ok("GET", f"/admin/{name}?after={after}")
        assert not {one["id"] for one in behind["data"]} & {one["id"] for one in page["data"]}
    assert len(admin.ok("GET", "/admin/attention")["data"]) < 30
    page = admin.ok("GET", "/admin/stats?by=domain&limit=3")
    assert page["has_more"] and page["next"] >= page["data"][-1]["domain"]
    behind = admin.ok("GET", f"/admin/stats?by=domain&limit=3&after={page['next']}")
    assert behind["data"][0]["domain"] > page["next"]
