"""What a request costs must not grow with the rows that there are: every route is
asked with many rows in every table, half of them of one company, and with many
more. What counts is how many steps SQLite takes, on the event loops, where all others
wait meanwhile, and elsewhere: that is the same on every machine. tests/bench has
the times with a million rows (the group bounded)."""

import os
import re
import tempfile
from pathlib import Path

import pytest
from harness import Sandbox
from harness.admin import Admin, by_token, operator
from harness.routes import ASKS, evaluate, fill_in, in_order, operations, start_behind
from harness.rows import BIG, create, grow
from harness.sandbox import SANITIZED, unique
from harness.steps import Steps

pytestmark = [
    pytest.mark.store("sqlite"),  # which counts steps
    pytest.mark.plain,
    pytest.mark.skipif(SANITIZED, reason="nothing may be loaded before a sanitizer"),
]

# Searches look at 20,000 emails of a company for a page: so many are there at first.
ROWS = 41_000
MORE = 25_000

# Requests name rows behind so many.
BEHIND = 20_000

# Of one request: on an event loop, a tenth of a millisecond or two; and altogether.
LOOP_STEPS = 5_000
ALL_STEPS = 4_000_000

# What visits everything that waits of one company, a few hundred rows at a time; the domains of a
# company (limits.domains); what counts its keys before there is one more (limits.keys); and the
# search by words, which reads the text index up to a fixed size. All on threads of the pool.
WALKS = (
    "POST /admin/outbox/cancel", "DELETE /v3/{domain}/envelopes",
    "GET /v3/domains ", "GET /v4/domains ", "POST /api-keys ", "POST /admin/keys ",
    "GET /admin/outbox ", "GET /admin/emails {'q': 'nobody",
)  # fmt: skip

# One row more, another page of an index, and what httpd does by itself meanwhile, are no growth.
# What visits each row takes two steps for it, or more.
SLACK = 10_000

# The company may have more than it has: else a POST would measure a refusal.
LIMITS = [word for name in ("keys", "domains", "pending_domains", "exemptions", "users")
          for word in ("--set", f"limits.{name}=100000")]
LIMITS += ["--set", "limits.tokens=10000", "--set", "limits.webhooks=1000",
           "--set", "limits.suppressions=10000000"]  # fmt: skip


class World:
    """The clients, and what each request of each of them cost."""

    def __init__(self, box, steps):
        self.box = box
        self.steps = steps
        self.few = {}
        self.answers = {}  # the first text of each
        key = box.new_key(BIG)["token"]
        self.httpd = box.httpd(key)
        self.basic = ("api", key)
        self.admins = {
            "operator": operator(box),
            "owner": by_token(box, unique("owner"), BIG),
        }

    def send(self, who, method, path, options):
        options = evaluate(options, who)
        client = self.admins.get(who, self.httpd)
        headers = {}
        if path.startswith(("/v3", "/v4")):
            options["auth"] = self.basic
        if who in self.admins:
            headers["Origin"] = client.url
            if client.token:
                headers["Authorization"] = f"Bearer {client.token}"
        answer = client.session.request(
            method, client.url + path, headers=headers, timeout=600, **options
        )
        assert answer.status_code < 500, (who, method, path, answer.text)
        return answer

    def documents(self):
        api = self.httpd.session.get(self.httpd.url + "/openapi.json", timeout=60)
        yield "company", api.json()
        for who in self.admins:
            yield who, Admin(self.box).ok("GET", "/admin/openapi.json")

    def has_grown(self, name, steps):
        return not any(walk in name for walk in WALKS) and any(
            many > few * 1.2 + SLACK for few, many in zip(self.few[name][1:], steps)
        )

    def is_odd(self, name, steps):
        return is_much(steps) or (name in self.few and self.has_grown(name, steps))

    def measure(self):
        """For each request: its status, and the steps on event loops and elsewhere. One that takes
        more than it may is asked again at once, since httpd may have done something else meanwhile.
        Later it would find other rows: requests behind it add some, and clear whole lists."""
        took = {}
        asked = [(who, operation) for who, document in self.documents()
                 for operation in operations(document)]  # fmt: skip
        for who, operation in in_order(asked):
            method, path = operation.split()
            assert method in ("GET", "DELETE") or operation in ASKS or (
                re.search(r"/(verify|link|reset|cancel|rotate)$", path)
            ), f"{operation} is asked nothing"
            for n, options in enumerate(ASKS.get(operation, [{}])):
                name = f"{who}: {operation} {options.get('params', n or '')}"
                answers = []

                def ask():
                    answers.append(self.send(who, method, fill_in(method, path), options))

                steps = self.steps.of(ask, tries=1 if self.few else 2)
                for _ in range(50):
                    if not self.is_odd(name, steps):
                        break
                    steps = tuple(map(min, steps, self.steps.of(ask, tries=1)))
                # The first one: the second may find that it is done.
                took[name] = (answers[0].status_code, *steps)
                self.answers.setdefault(name, answers[0].text)
        return took


def is_much(steps):
    return steps[0] > LOOP_STEPS or sum(steps) > ALL_STEPS


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
            box = Sandbox("--set", f"store.database={database}", *LIMITS)
        with box:
            world = World(box, steps)
            world.few = world.measure()
            # Behind those that were sent, and the events of those that were canceled.
            grow(database, ROWS + BEHIND, ROWS + BEHIND + MORE)
            start_behind(ROWS)
            world.many = world.measure()
            yield world


def test_steps_are_counted(world):
    loops, others = world.steps.now()
    assert loops > 0 and others > 0
    assert all(sum(steps) > 0 for name, (_, *steps) in world.few.items() if "/emails" in name)


# What finds nothing here, or may not be.
REFUSED = {
    "GET .*/attachments/": 404,  # there are none
    "(GET|POST) /unsubscribe/": 404,  # needs a link that httpd has signed
    "GET /v3/{domain}/events/{page}": 400,  # the same
    "(POST|PUT) .*/?webhooks( |/{name} )": (400, 422),  # the company has as many as it may have
    "POST /admin/tokens": 422,  # these users have no password
    "DELETE /admin/sessions/": 404,  # nor a session of a browser
    "GET /admin/held/{id}": 404,  # Postfix does not hold it
    "(GET|DELETE) /admin/companies/{id}": 404,  # of an owner: it is another one
}


def test_requests_find_their_rows(world):
    """An answer is that of a row, but for what is known to have none, and what only operators may
    ask."""
    def is_known(name, status):
        asked = name.split(": ", 1)[1]
        return "Only operators may" in world.answers[name] or any(
            re.match(pattern, asked) and str(status) in str(known)
            for pattern, known in REFUSED.items()
        )

    refused = [f"{status} {name}: {world.answers[name]}" for name, (status, *_) in world.few.items()
               if status >= 400 and not is_known(name, status)]
    assert not refused, "\n".join(refused)


def test_requests_are_let_in(world):
    """No login is wrong, and nothing is refused because the company has too much: keys, domains,
    exemptions, suppressions. (An owner cannot name a company, as some of these requests do.)"""
    creates = re.compile("(company|operator): POST .*(keys|domains|exemptions|suppressions) $")
    refused = [f"{name}: {status}" for name, (status, *_) in world.few.items()
               if status == 401 or status == 422 and creates.search(name)]
    assert not refused, "\n".join(refused)


def test_no_route_costs_more_with_more_rows(world):
    grown = {
        name: (world.few[name], took)
        for name, took in world.many.items()
        if world.has_grown(name, took[1:])
    }
    assert not grown, "\n".join(f"{name}: {took}" for name, took in grown.items())


def test_no_route_reads_much(world):
    much = {name: took for name, took in world.many.items() if is_much(took[1:])}
    assert not much, "\n".join(f"{name}: {took}" for name, took in much.items())


def test_lists_have_an_end(world):
    """Every list has pages, and says what follows."""
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
