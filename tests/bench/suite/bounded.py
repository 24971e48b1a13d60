"""With 1,000,000 rows in every table, half of them of one company: how long another
one's requests wait while that company asks for the same on 16 connections, for each
route of all listeners. Also how long such a store of schema 0012 takes to migrate."""

import base64
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from urllib.parse import urlencode

import requests
from harness import Sandbox, rows
from harness.admin import Admin, by_token
from harness.routes import ASKS, evaluate, fill_in, operations
from harness.sandbox import TREE, unique

from . import items
from .mail import BUILD, TOOLS, tool
from .rounds import number

ROWS = 1_000_000
OLD_SCHEMA = 12
CONNECTIONS = 16
AIM_MS = 50

# What is over the aim is measured so many times, and the quietest one counts: what the
# machine does besides has no route of its own.
TRIES = 4

# Requests of a kind by the one who waits, and of those that are asked for.
COUNTS = {"GET": 200, "POST": 40, "admin": 100}
ITEMS = 200


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


def prepared(method, path, options, authorization):
    """A whole request with what requests would send for these options."""
    options = evaluate(options)
    if "params" in options:
        path += "?" + urlencode(options["params"])
    if "json" in options:
        body, kind = json.dumps(evaluate_json(options["json"])).encode(), "application/json"
    else:
        made = requests.Request(
            method, "http://x/", data=options.get("data"), files=options.get("files")
        ).prepare()
        body, kind = made.body or b"", made.headers.get("Content-Type")
        body = body if isinstance(body, bytes) else body.encode()
    if method in ("POST", "PATCH") and kind is None:
        kind = "application/json"
    return items.request(method, path, authorization, body, kind)


def evaluate_json(value):
    return value() if callable(value) else value


def asks(parties):
    """By name: where to, and the requests."""
    for who, document in parties.documents():
        for operation in operations(document):
            method, path = operation.split()
            name = "form" if path.startswith("/v3") else who
            address, authorization = parties.clients[name]
            changes = re.match("DELETE|POST /admin/users/.*/reset", operation)
            for options in ASKS.get(operation, [{}]):
                requests_of = [
                    prepared(method, fill_in(path), options, authorization)
                    for _ in range(10 * ITEMS if changes else ITEMS)
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
    host, port = address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=60) as to:
        to.sendall(request)
        return int(to.recv(64).split()[1])


class Walk:
    def __init__(self, box, options):
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
                "load", "http", address, 1, max(5, int(count * self.scale)), self.files[kind]
            )
            took[kind] = (found["p50_us"] / 1000, found["max_us"] / 1000)
        return took

    def meanwhile(self, address, requests_of):
        """The same while the requests are made without an end."""
        file = items.write(self.path / "asked", requests_of)
        load = subprocess.Popen(
            [TOOLS / "load", "http", address, str(min(CONNECTIONS, len(requests_of))),
             str(10**7), file], stdout=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            time.sleep(0.1)
            took = self.waits()
            assert load.poll() is None, "the others were not there any more"
            return took
        finally:
            load.kill()
            load.wait()

    def measure(self, address, requests_of):
        """The quietest of up to TRIES."""
        best = None
        for _ in range(TRIES):
            took = self.meanwhile(address, requests_of)
            longest = {kind: min(took[kind][1], (best or took)[kind][1]) for kind in took}
            best = {kind: (took[kind][0], longest[kind]) for kind in took}
            if max(longest.values()) <= AIM_MS:
                break
        return best


def line(name, took):
    def cell(longest):
        mark = "**" if longest > AIM_MS else ""
        return f"{mark}{number(longest)}{mark}"

    cells = " | ".join(f"{number(p50)} | {cell(longest)}" for p50, longest in took.values())
    return f"| {name} | {cells} |"


def run(options):
    count = max(1000, int(ROWS * min(1, options.scale)))
    with Store() as store:
        yield from store.fill(count)
        with Sandbox(
            "--set", f"store.database={store.database}", "--submission", options.submission
        ) as box:
            walk = Walk(box, options)
            yield ""
            yield f"{count:,} rows in each table; what another company waits, ms:"
            yield ""
            yield "| asked on 16 connections | GET: p50 | longest | POST: p50 | longest |" \
                  " admin: p50 | longest |"  # fmt: skip
            yield "|---|---|---|---|---|---|---|"
            yield line("nothing", walk.waits())
            address, _ = walk.parties.waits["GET"]
            probe = [items.request("GET", "/livez", "none")]
            yield line("`/livez`, which has no rows", walk.measure(address, probe))
            every = list(asks(walk.parties))
            step = 1 if options.scale > 0.01 else 10
            for name, address, requests_of in [*every[:-1:step], every[-1]]:
                if len(requests_of) > 1:
                    name += f": {status_of(address, requests_of.pop())}"
                yield line(name, walk.measure(address, requests_of))
