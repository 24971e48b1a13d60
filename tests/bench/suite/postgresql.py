"""The store on a server of PostgreSQL over one in a SQLite file, on the same machine: rates, and
the CPU time of each part; and one, two and three hosts that share the server."""

import contextlib
import os
import sqlite3
import statistics
from concurrent.futures import ThreadPoolExecutor

from harness import wait_for
from harness.postgresql import Session

from . import http, items
from .mail import ROOM, Mail
from .process import TICKS, cpu_seconds
from .rounds import Row, compare, play, table

SIZE = 1000
CONNECTIONS = 8
PARTS = ("httpd", "milter", "events", "webhook")
HOSTS = (1, 2, 3)


def query(mail, sql):
    """One value, as text. A server is asked on a connection that stays: to begin one takes it as
    much CPU time as several emails do."""
    if mail.box.env["POSTERN_STORE"] == "postgresql":
        if not hasattr(mail, "session"):
            mail.session = Session({**os.environ, "PGHOST": str(mail.box.server),
                                    "PGUSER": "postern", "PGDATABASE": "postern"})
            mail.processes.append(mail.session.psql)
        return mail.session.ask(f"{sql};")[0]
    with contextlib.closing(sqlite3.connect(f"file:{mail.database}?mode=ro", uri=True)) as db:
        return str(db.execute(sql).fetchone()[0])


def server_pid(mail):
    path = mail.box.dir / "pg/data/postmaster.pid"
    return int(path.read_text().split()[0]) if path.exists() else None


def cpu(mail):
    """CPU seconds so far, of each part."""
    master = int((mail.box.dir / "queue/pid/master.pid").read_text())
    server = server_pid(mail)
    return {
        **{part: cpu_seconds(mail.box.pid(part)) for part in PARTS},
        "server": cpu_seconds(server) if server else 0,
        "postfix": cpu_seconds(master),
    }


def spent(mail, count, send):
    """What send() found, and the CPU time of each of its requests in ms."""
    before = cpu(mail)
    found = send()
    after = cpu(mail)
    each = {part: (after[part] - before[part]) * 1000 / count for part in after}
    ours = max(sum(each[part] for part in (*PARTS, "server")), 1000 / TICKS / count)
    return {**found, **each, "ours": ours}


def post(mail, file, count):
    """Emails, until their delivery is in the store."""

    def send():
        found = http.send(mail, mail.address, file, CONNECTIONS, count)
        wait_for(
            "the events",
            lambda: query(mail, "SELECT count(*) FROM email WHERE last_event = 'sent'") == "0",
            120,
        )
        return found

    return spent(mail, count, send)


def gets(mail):
    """A file of requests for emails that were sent."""
    listed = mail.box.httpd().request("GET", "/emails?limit=100").json()["data"]
    return items.write(mail.path("gets"), [
        items.request("GET", f"/emails/{row['id']}", f"Bearer {mail.key}") for row in listed])


def part_lines(name, played, parts):
    """A line for each engine: medians of CPU ms a request."""
    for engine in ("sqlite", "postgresql"):
        cells = (
            statistics.median(one[engine][part] for one in played) for part in parts
        )
        yield f"| {name}, {engine} | " + " | ".join(f"{ms:.2f}" for ms in cells) + " |"


def engines(options):
    count = max(20, int(1000 * options.scale))
    how = (*ROOM, "--submission", options.submission)
    reads = max(50, int(10_000 * options.scale))
    with Mail(*how) as lite, Mail(*how, "--store", "postgresql") as server:
        mails = {"sqlite": lite, "postgresql": server}
        files = {name: http.json_file(mail, SIZE) for name, mail in mails.items()}
        for name, mail in mails.items():  # warm
            post(mail, files[name], 20)
        posted = play(
            {n: lambda n=n: post(mails[n], files[n], count) for n in mails}, options.rounds)
        asks = {name: gets(mail) for name, mail in mails.items()}
        got = play({
            n: lambda n=n: spent(mails[n], reads, lambda: http.load(
                mails[n].address, asks[n], CONNECTIONS, reads))
            for n in mails}, options.rounds)
    yield from table([
        compare(posted, Row("POST, emails a second", "taken", "postgresql", "sqlite", 0.85)),
        compare(posted, Row("POST, CPU ms", "ours", "postgresql", "sqlite")),
        compare(got, Row("GET a second", "rate", "postgresql", "sqlite", 0.45)),
        compare(got, Row("GET, CPU ms", "ours", "postgresql", "sqlite")),
    ])
    parts = (*PARTS, "server", "ours", "postfix")
    yield ""
    yield "| CPU ms | " + " | ".join(parts) + " |"
    yield "|---" * (len(parts) + 1) + "|"
    yield from part_lines("POST", posted, parts)
    yield from part_lines("GET", got, parts)


def hosts_round(mails, files, count):
    """So many hosts at once, each with its share."""
    each = max(1, count // len(mails))
    with ThreadPoolExecutor(len(mails)) as pool:
        done = list(pool.map(
            lambda mail: http.send(mail, mail.address, files[mail], CONNECTIONS, each), mails))
    return {"taken": each * len(mails) / max(found["seconds"] for found in done)}


def several(options):
    count = max(12, int(900 * options.scale))
    how = (*ROOM, "--submission", options.submission)
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(Mail(*how, "--store", "postgresql"))
        mails = [first] + [
            stack.enter_context(Mail(*how, "--join", str(first.box.dir))) for _ in HOSTS[1:]]
        files = {mail: http.json_file(mail, SIZE) for mail in mails}
        hosts_round(mails, files, 12)
        played = play({
            str(n): lambda n=n: hosts_round(mails[:n], files, count) for n in HOSTS},
            options.rounds)
    yield from table([
        compare(played, Row(f"POST, {n} hosts over one", "taken", str(n), "1"))
        for n in HOSTS[1:]])


def run(options):
    yield from engines(options)
    yield ""
    yield from several(options)
