"""Two companies with the same addresses, tags, subjects, names, states and times: what
one of them is told, on any list and of any id, and how much work it is, does not depend
on whether the other one has no rows or very many. Work is what SQLite counts: steps,
the same on every machine."""

import os
import re
import sqlite3
import tempfile
import time
from pathlib import Path

import pytest
from harness import Sandbox
from harness.admin import Admin, by_token
from harness.routes import ASKS, LETTERS, evaluate, operations
from harness.rows import BIG, ITS_DOMAIN, OTHER, create, grow, of_other, row_id
from harness.sandbox import SANITIZED, unique
from harness.steps import Steps

pytestmark = [
    pytest.mark.store("sqlite"),  # which counts steps
    pytest.mark.plain,
    pytest.mark.skipif(SANITIZED, reason="nothing may be loaded before a sanitizer"),
]

# Rows of the company, of even numbers; and of the other one, between them and behind
# them, more than a search looks at for a page.
OWN, OTHERS = 1_200, 16_000

# One row more or less at the end of an index, and a page of it.
SLACK = 60

STATUSES = ("scheduled", "queued", "canceled", "failed", "refused", "stopped", "sent",
            "delivered", "delivery_delayed", "bounced", "complained", "suppressed", "opened")

# Five days that have ended: neither an hour nor a day of them ends while this runs.
UNTIL = int(time.time()) // 86400 * 86400
SINCE = UNTIL - 5 * 86400
PERIOD = {name: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))
          for name, at in (("since", SINCE), ("until", UNTIL))}
TOTALS = [{"start": SINCE, "end": UNTIL - 1, "resolution": step, "event": ["accepted", "delivered", "failed"]}
          for step in ("hour", "day")]

OURS = {
    "GET /admin/stats": [{**PERIOD, **more} for more in (
        {"step": "hour"}, {"step": "day"}, {"by": "domain"}, {"domain": ITS_DOMAIN})],
    "GET /admin/stats/reasons": [PERIOD],
    "GET /admin/stats/providers": [PERIOD],
    "GET /admin/stats/delays": [PERIOD],
    "GET /admin/stats/backlog": [PERIOD],
    "GET /v3/stats/total": TOTALS,
    "GET /v3/{domain}/stats/total": TOTALS,
    "GET /emails": [{"status": status} for status in STATUSES]
    + [{"to": "user0@dst.test"}, {"tag": "tag0"}, {"from": "news@big.example"},
       {"subject": "Subject"}, {"to": "user0@dst.test", "limit": 3},
       {"after": row_id("f", 602)}, {"before": row_id("f", 602)}],
    "GET /admin/emails": [{"status": status} for status in STATUSES]
    + [{"to": "user0@dst.test"}, {"tag": "tag0"}, {"q": "user0@dst.test"}, {"q": "Subject"},
       {"domain": ITS_DOMAIN}],
}

# What names something of the other company, of each table; and Message-IDs.
ITS_ROW = 201

# What names nothing.
NO_ROW = 999_999


def told(body):
    """Returns an answer without its times."""
    if isinstance(body, dict):
        return {k: told(v) for k, v in body.items()
                if k not in ("last_used_at", "request_id", "seconds", "now", "at", "since_at",
                             "status_as_of")}
    if isinstance(body, list):
        return [told(item) for item in body]
    return body


def first_difference(a, b):
    a, b = str(a), str(b)
    n = len(os.path.commonprefix([a, b]))
    return f"{a[max(n - 200, 0):n + 60]} | {b[n:n + 60]}"


class Asker:
    """The company's clients: its keys, and its owner and viewer."""

    def __init__(self, box, steps):
        self.box, self.steps = box, steps
        self.httpd = box.httpd(box.new_key(BIG)["token"])
        self.admins = {role: by_token(box, unique(role), BIG, role) for role in ("owner", "viewer")}

    def ask(self, who, path, params):
        client = self.admins.get(who, self.httpd)
        options = {"params": params, "timeout": 60}
        if path.startswith("/v3"):
            options["auth"] = ("api", self.httpd.key)
        elif who in self.admins:
            options["headers"] = {"Authorization": f"Bearer {client.token}"}
        answer = client.session.get(client.url + path, **options)
        assert answer.status_code < 500, (who, path, params, answer.text)
        if answer.headers.get("content-type", "").startswith("application/json"):
            return answer.status_code, told(answer.json())
        return answer.status_code, answer.text

    def ask_of(self, who, method, path, options):
        """What names nobody: the status, and what is told. Bodies are as they are."""
        client = self.admins.get(who, self.httpd)
        if path.startswith("/v3") or path.startswith("/v4"):
            options["auth"] = ("api", self.httpd.key)
        elif who in self.admins:
            options["headers"] = {"Authorization": f"Bearer {client.token}"}
        answer = client.session.request(method, client.url + path, timeout=60, **options)
        return answer.status_code, re.sub(r"[0-9a-f-]{36}|d\d{7}\.example", "X", answer.text)

    def questions(self):
        api = self.httpd.session.get(self.httpd.url + "/openapi.json", timeout=60).json()
        admin = Admin(self.box).ok("GET", "/admin/openapi.json")
        self.documents = [("key", api), *((role, admin) for role in self.admins)]
        for who, document in self.documents:
            for operation in operations(document):
                method, path = operation.split()
                if method != "GET" or path in ("/openapi.json", "/readyz", "/healthz", "/metrics"):
                    continue
                asked = [evaluate(o).get("params", {}) for o in ASKS.get(operation, [{}])]
                # An hour, or a day, may end meanwhile.
                asked = [params for params in asked if "stats" not in path
                         and "resolution" not in params and "step" not in params]
                for params in [*asked, *OURS.get(operation, [])]:
                    yield who, path, params

    def fill_in(self, path):
        letter = LETTERS.get(path.split("/{")[0].split("/")[-1])
        path = path.replace("{id}", row_id(letter, ITS_ROW) if letter else "none")
        path = path.replace("{attachment_id}", row_id("f", ITS_ROW)).replace("{link}", "none")
        return path.replace("{domain}", ITS_DOMAIN).replace("{page}", "none")

    def measure(self, only=None):
        found = {}
        for who, path, params in self.questions():
            if only is not None and f"{who}: GET {path} {params}" not in only:
                continue
            answers = []
            took = self.steps.of(
                lambda: answers.append(self.ask(who, self.fill_in(path), params))
            )
            found[f"{who}: GET {path} {params}"] = answers[-1], took
        return found


def cancel_some(database):
    """Of both companies: those that were due later, by an even and an odd number."""
    with sqlite3.connect(database, timeout=60) as db:
        db.execute(
            "UPDATE email SET state = 'refused', last_event = 'canceled', closed = 1, refusal = '',"
            " decided_us = created_us WHERE seq % 32 IN (6, 7) AND state = 'staged'"
        )
        db.execute("UPDATE email SET answered = 1 WHERE answered = 0")
        for table in ("outbox", "message"):
            db.execute(
                f"DELETE FROM {table} WHERE email IN (SELECT seq FROM email"
                " WHERE last_event = 'canceled')"
            )
    db.close()


def add_outcomes(database, company, count):
    """Events, outcomes and backlog of the period, with the same names and hours for each company,
    and of the same domain."""
    hours = [(SINCE + 3600 * i) * 1_000_000 for i in range(5 * 24)]
    names = {"reason": ("spam", "bounced"), "provider": ("google", "delivered"),
             "delay": ("3", "delivered")}  # fmt: skip
    with sqlite3.connect(database, timeout=60) as db:
        for aspect, (name, kind) in names.items():
            db.executemany(
                "INSERT INTO outcome_count (company_id, domain, aspect, step, time_us, name, kind, count)"
                f" VALUES (?, '', '{aspect}', 'hour', ?, '{name}', '{kind}', ?)",
                [(company, at, count) for at in hours],
            )
        db.executemany(
            "INSERT INTO event_count (company_id, hour_us, domain, kind, count)"
            f" VALUES (?, ?, '{ITS_DOMAIN}', 'delivered', ?)",
            [(company, at, count) for at in hours],
        )
        db.executemany("INSERT INTO backlog_company (company_id, time_us, outbox) VALUES (?, ?, ?)",
                       [(company, at, count) for at in hours])  # fmt: skip
    db.close()


@pytest.fixture(scope="module")
def world():
    cli = os.environ.get("BUILD", "build") + "/postern"
    with tempfile.TemporaryDirectory(prefix="postern-two.", dir="/var/tmp") as folder:
        os.chmod(folder, 0o777)
        database = Path(folder) / "postern.db"
        create(cli, database)
        with sqlite3.connect(database) as db:
            db.execute("INSERT INTO company (id, name, created_us) VALUES (?, 'Other', 1)", [OTHER])
        db.close()
        grow(database, 1, OWN, ["company"], "i % 2 = 0")
        cancel_some(database)
        add_outcomes(database, BIG, 7)
        for file in Path(folder).iterdir():
            os.chmod(file, 0o666)
        steps = Steps(folder)
        with steps.counting():
            box = Sandbox("--set", f"store.database={database}")
        with box:
            asker = Asker(box, steps)
            asker.alone = asker.measure()
            grow(database, 1, OTHERS, ["company"], "i % 2 = 1", of_other)
            cancel_some(database)
            add_outcomes(database, OTHER, 11)
            asker.beside = asker.measure()
            yield asker


def test_there_is_something_to_tell(world):
    """Both lists have emails of each state."""
    for status in ("scheduled", "queued", "canceled", "bounced", "delivered"):
        for question in (f"key: GET /emails {{'status': '{status}'}}",
                         f"owner: GET /admin/emails {{'status': '{status}'}}"):
            (code, body), (loop, other) = world.alone[question]
            assert code == 200 and body["data"] and loop + other > 0, question


def test_statistics_have_something_to_tell(world):
    """Those that were asked for are there, and not only zeros."""
    stats = {q: answer for q, (answer, _) in world.alone.items() if "/stats" in q}
    assert len(stats) == 2 * 8 + 4
    for question, (code, body) in stats.items():
        assert code == 200, question
        assert re.search(r": [1-9]", str(body.get("data", body.get("stats")))), question


def test_the_same_is_told(world):
    differs = [f"{q}: {first_difference(answer, world.beside[q][0])}"
               for q, (answer, _) in world.alone.items() if world.beside[q][0] != answer]
    assert not differs, "\n".join(differs)


def test_by_as_much_work(world):
    def found(beside):
        return {q: (world.alone[q][1], took) for q, (_, took) in beside.items()
                if abs(sum(world.alone[q][1]) - sum(took)) > SLACK + sum(world.alone[q][1]) // 50}

    # What no request asked for may have run meanwhile, but not each time.
    differs = found(world.beside)
    for _ in range(4):
        differs = differs and found(world.measure(differs))
    text = "\n".join(f"{q}: {took}" for q, took in differs.items())
    assert not differs, text


def test_nothing_of_the_other_is_found(world):
    """Objects of the other company are answered like objects that do not exist."""
    found = {q: answer for q, (answer, _) in world.beside.items()
             if "{id}" in q and answer[0] not in (404, 403)}
    assert not found


def named(path, number):
    """The path of what the row of this number is, and belongs to."""
    letter = LETTERS.get(path.split("/{")[0].split("/")[-1])
    for name, value in {
        "id": row_id(letter, number) if letter else "none", "event_id": row_id("6", number),
        "attachment_id": row_id("f", number), "domain": f"d{number:07d}.example",
        "address": f"gone{number:07d}@dst.test", "name": "delivered", "page": "none", "link": "none",
    }.items():  # fmt: skip
        path = path.replace(f"{{{name}}}", value)
    return path


def test_what_is_asked_of_the_others(world):
    """Each request about the other company's objects gets the answer for missing
    objects, with as much work."""
    differs, n = [], 0
    for who, document in world.documents:
        for operation in operations(document):
            method, path = operation.split()
            if "{" not in path:
                continue
            for options in ASKS.get(operation, [{}]):
                found = []
                for number in (ITS_ROW, NO_ROW):
                    answers = []
                    took = world.steps.of(lambda: answers.append(
                        world.ask_of(who, method, named(path, number), evaluate(options))
                    ))
                    found.append((answers[-1], sum(took)))
                n += 1
                (its, its_steps), (none, none_steps) = found
                if its != none or its[0] < 400 or abs(its_steps - none_steps) > SLACK:
                    differs.append(f"{who}: {operation} {options.get('params', '')}: {found}")
    assert n > 100
    assert not differs, "\n".join(differs)
