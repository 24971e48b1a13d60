"""With 1,000,000 rows in every table, half of them of one company: how long another
one's requests wait while that company asks for the same on 16 connections, for each
route of all listeners. Also how long such a store of schema 0012 takes to migrate.

Others wait for the event loops and for the write lock of the store. For how much CPU
time at once a route holds them does not depend on whatever else the machine runs, so
this is what is judged: the group fails if a route is over the aim. The waiting times
are those of this machine and its load, and are shown beside it."""

import base64
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import requests
from harness import Sandbox, rows
from harness.admin import Admin, by_token
from harness.routes import ASKS, evaluate, fill_in, in_order, operations
from harness.sandbox import TREE, unique
from harness.steps import Steps

from . import items
from .mail import BUILD, TOOLS, tool
from .rounds import number

ROWS = 1_000_000
OLD_SCHEMA = 12
CONNECTIONS = 16
AIM_MS = 50

# Routes that may be over it, as the beginnings of their names, and why.
EXCEPTIONS = {}

# What is over the aim is measured so many times, and the least counts: httpd does
# something by itself as well.
TRIES = 4

# Requests of a kind by the one who waits, and of those that are asked for.
COUNTS = {"GET": 100, "POST": 20, "admin": 50}
ITEMS = 200
ANSWER_S = 60


class Store:
    """Removed at the end."""

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="postern.", dir="/var/tmp")
        os.chmod(self.folder, 0o777)
        self.database = Path(self.folder) / "postern.db"
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)

    def fill(self, count):
        """Lines about the migrations on the way."""
        rows.create_old(TREE / "schema", self.database, OLD_SCHEMA)
        filled = rows.grow(self.database, 1, count)
        size = self.database.stat().st_size
        began = time.monotonic()
        said = rows.migrate(BUILD / "postern", self.database)
        took = time.monotonic() - began
        yield (
            f"postern db migrate, from schema {OLD_SCHEMA:04} with {count:,} rows in each table"
            f" ({size >> 20:,} MiB): {took:.1f} s"
        )
        yield ""
        yield from (f"    {line}" for line in said.splitlines())
        rows.grow(self.database, 1, count, without=filled)
        for file in Path(self.folder).iterdir():
            os.chmod(file, 0o666)


class Parties:
    """Who asks, as the value of Authorization, and where."""

    def __init__(self, box):
        self.box = box
        self.api = box.url.removeprefix("http://")
        self.admin = box.env["POSTERN_ADMIN_URL"].removeprefix("http://")
        key = box.new_key(rows.BIG)["token"]
        login = base64.b64encode(f"api:{key}".encode()).decode()
        self.clients = {
            "key": (self.api, f"Bearer {key}"),
            "form": (self.api, f"Basic {login}"),
            "owner": (self.admin, self.token("owner", rows.BIG)),
            "operator": (self.admin, self.token("operator")),
        }
        # The other company, that of the sandbox.
        other = box.env["POSTERN_KEY"]
        email = requests.post(
            box.url + "/emails", json=items.email(2000), timeout=60,
            headers={"Authorization": f"Bearer {other}"},
        ).json()["id"]  # fmt: skip
        company = box.cli("company", "list")
        company = next(one["id"] for one in company if not one["name"].startswith("Company ")
                       and one["id"] != rows.BIG)  # fmt: skip
        member = self.token("member", company)
        self.waits = {
            "GET": (self.api, [items.request("GET", f"/emails/{email}", f"Bearer {other}")]),
            "POST": (self.api, [items.json_post(other, 2000) for _ in range(100)]),
            "admin": (self.admin, [items.request("GET", "/admin/domains", member)]),
        }

    def token(self, name, company=None):
        return "Bearer " + by_token(self.box, unique(name), company).token

    def documents(self):
        yield "key", requests.get(self.box.url + "/openapi.json", timeout=60).json()
        for who in ("owner", "operator"):
            yield who, Admin(self.box).ok("GET", "/admin/openapi.json")


def prepared(who, method, path, options, authorization):
    """A whole request with what requests would send for these options."""
    options = evaluate(options, who)
    if "params" in options:
        path += "?" + urlencode(options["params"])
    if "json" in options:
        body, kind = json.dumps(options["json"]).encode(), "application/json"
    else:
        made = requests.Request(
            method, "http://x/", data=options.get("data"), files=options.get("files")
        ).prepare()
        body, kind = made.body or b"", made.headers.get("Content-Type")
        body = body if isinstance(body, bytes) else body.encode()
    if method in ("POST", "PATCH") and kind is None:
        kind = "application/json"
    return items.request(method, path, authorization, body, kind)


def asks(parties, share):
    """By name: where to, and the requests."""
    n = max(2, int(ITEMS * share))
    asked = [(who, operation) for who, document in parties.documents()
             for operation in operations(document)]  # fmt: skip
    for who, operation in in_order(asked):
        method, path = operation.split()
        name = "form" if path.startswith(("/v3", "/v4")) else who
        address, authorization = parties.clients[name]
        changes = re.match("DELETE|POST /admin/users/.*/reset", operation)
        for options in ASKS.get(operation, [{}]):
            requests_of = [
                prepared(who, method, fill_in(method, path), options, authorization)
                for _ in range(5 * n if changes else n)
            ]
            params = options.get("params", {})
            query = "".join(f" {k}={v}" for k, v in params.items())
            yield f"{name}: {operation}{query}", address, requests_of
    address, operator = parties.clients["operator"]
    yield (
        "operator: DELETE of the company that has half of everything", address,
        [items.request("DELETE", f"/admin/companies/{rows.BIG}", operator)],
    )  # fmt: skip


def status_of(address, request):
    """What cancels or removes very many rows goes on, in steps, when its client has left."""
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=ANSWER_S) as to:
        to.sendall(request)
        try:
            return to.recv(64).split()[1].decode()
        except TimeoutError:
            return f"no answer within {ANSWER_S} s"


@dataclass
class Span:
    p50: float
    longest: float


class Walk:
    def __init__(self, box, steps, options):
        self.steps = steps
        self.parties = Parties(box)
        self.path = box.dir / "run"
        self.scale = min(1, options.scale)
        self.files = {
            kind: items.write(self.path / f"wait.{kind}", requests_of)
            for kind, (_, requests_of) in self.parties.waits.items()
        }

    def waits(self):
        """By kind: the median and the longest, in ms."""
        took = {}
        for kind, count in COUNTS.items():
            address, _ = self.parties.waits[kind]
            found = tool(
                "load", "http", address, 1, max(1, int(count * self.scale)), self.files[kind]
            )
            took[kind] = Span(found["p50_us"] / 1000, found["max_us"] / 1000)
        return took

    def held(self):
        """What waits() gives, and for how long the loops and the store were held at once."""
        self.steps.forget_longest()
        waits = self.waits()
        return waits, self.steps.longest_ms()

    def meanwhile(self, address, requests_of):
        """The same while the requests are made without an end."""
        file = items.write(self.path / "asked", requests_of)
        load = subprocess.Popen(
            [TOOLS / "load", "http", address, str(min(CONNECTIONS, len(requests_of))),
             str(10**7), file], stdout=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            time.sleep(0.1)
            took = self.held()
            assert load.poll() is None, "the others were not there any more"
            return took
        finally:
            load.kill()
            load.wait()

    def measure(self, address, requests_of):
        """The least of up to TRIES: waits, and what was held."""
        tries = []
        while not tries or over(tries[-1]) and len(tries) < TRIES:
            tries.append(self.meanwhile(address, requests_of))
        return min(tries, key=lambda took: max(took[1]))


def over(took):
    return max(took[1]) > AIM_MS


def line(name, took):
    waits, held = took
    cells = [f"{number(span.p50)} | {number(span.longest)}" for span in waits.values()]
    cells += [f"**{number(ms)}**" if ms > AIM_MS else number(ms) for ms in held]
    return f"| {name} | {' | '.join(cells)} |"


def is_excepted(name):
    return any(name.startswith(route) for route in EXCEPTIONS)


def walk_routes(walk, options):
    """A line for each route; raises SystemExit if one is over the aim."""
    bad = []
    yield line("nothing", walk.held())
    address, _ = walk.parties.waits["GET"]
    probe = [items.request("GET", "/livez", "none")]
    yield line("`/livez`, which has no rows", walk.measure(address, probe))
    every = list(asks(walk.parties, walk.scale))
    step = 1 if options.scale > 0.01 else 40
    for name, address, requests_of in [*every[:-1:step], every[-1]]:
        said = f": {status_of(address, requests_of.pop())}" if len(requests_of) > 1 else ""
        took = walk.measure(address, requests_of)
        if over(took) and not is_excepted(name):
            bad.append(name)
        yield line(name + said, took)
    if bad:
        raise SystemExit(f"over {AIM_MS} ms at once:\n" + "\n".join(bad))


def run(options):
    count = max(1000, int(ROWS * min(1, options.scale)))
    with Store() as store:
        yield from store.fill(count)
        steps = Steps(store.folder)
        with steps.counting():
            box = Sandbox(
                "--set", f"store.database={store.database}", "--submission", options.submission
            )
        with box:
            walk = Walk(box, steps, options)
            yield ""
            yield f"{count:,} rows in each table; what another company waits, ms, and the CPU time"
            yield "for which an event loop and a write transaction were held at once, ms:"
            yield ""
            yield "| asked on 16 connections | GET: p50 | longest | POST: p50 | longest |" \
                  " admin: p50 | longest | loop | write |"  # fmt: skip
            yield "|---|---|---|---|---|---|---|---|---|"
            yield from walk_routes(walk, options)
