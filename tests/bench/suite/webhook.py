"""Webhooks: how many deliveries postern-webhook makes in a second, and what a dead endpoint with a
long queue costs the others."""

import multiprocessing
import re
import selectors
import socket
import sqlite3
import time

from harness import wait_for
from harness.sandbox import free_port

from . import items, store
from .mail import Mail
from .process import TICKS, cpu_seconds, forget_peak, memory_mib
from .rounds import Row, compare, number, play, table

EVENTS = 20_000  # a round
QUEUED = 10_000  # for a dead endpoint
ROWS = 1_000_000
ENDPOINTS = 200
DELIVERED = ["email.delivered"]
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def answer_all(listener, count):
    """Answers each POST on connections that are kept, and counts them."""
    length = re.compile(rb"\r\nContent-Length: (\d+)\r\n")
    ready = selectors.DefaultSelector()
    ready.register(listener, selectors.EVENT_READ)
    held = {}
    while True:
        for key, _ in ready.select():
            peer = key.fileobj
            if peer is listener:
                peer, _ = listener.accept()
                peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                held[peer] = b""
                ready.register(peer, selectors.EVENT_READ)
                continue
            data = peer.recv(65536)
            if not data:
                ready.unregister(peer)
                peer.close()
                del held[peer]
                continue
            data = held[peer] + data
            end = data.find(b"\r\n\r\n")
            if end >= 0 and len(data) >= end + 4 + int(length.search(data[: end + 2])[1]):
                count.value += 1
                peer.sendall(ANSWER)
                data = b""
            held[peer] = data


class Receiver:
    """An endpoint, in a process of its own."""

    def __init__(self):
        listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        self.count = multiprocessing.RawValue("L", 0)
        self.process = multiprocessing.Process(
            target=answer_all, args=(listener, self.count), daemon=True
        )
        self.process.start()
        listener.close()

    def close(self):
        self.process.kill()
        self.process.join()


class Bench:
    def __init__(self, mail):
        self.mail = mail
        self.httpd = mail.box.httpd()
        self.httpd.send({"from": items.SENDER, "to": items.recipient(), "text": "x"})
        wait_for("the pattern", lambda: self.number("SELECT count(*) FROM event"))
        mail.box.start("webhook")

    def number(self, sql):
        with sqlite3.connect(self.mail.database, timeout=60) as db:
            return db.execute(sql).fetchone()[0]

    def create(self, url, events=DELIVERED):
        answer = self.httpd.request("POST", "/webhooks", json={"endpoint": url, "events": events})
        assert answer.status_code == 201, answer.text
        return answer.json()["id"]

    def remove(self, *ids):
        for one in ids:
            assert self.httpd.request("DELETE", f"/webhooks/{one}").status_code == 200
        wait_for("the rest to go", lambda: not self.number(
            "SELECT count(*) FROM webhook_gone"), 300)

    def record(self, count):
        """Emails, and for each the event that it was delivered, in one transaction."""

        def finish(db, numbers):
            db.execute(
                "INSERT INTO event (key, email, n, domain, kind, attempt, occurred_us,"
                "   recorded_us, relay, dsn, text, source, company_id)"
                " SELECT randomblob(16), e.seq, 0, e.domain, 'delivered', 1, e.created_us,"
                "   e.created_us, 'mx.dst.test', '2.0.0', '250 2.0.0 Ok', 'log', e.company_id"
                " FROM email e"
                f" WHERE e.seq >= {numbers.start}"
            )

        store.fill(self.mail.database, count, finish=finish)

    def queue(self, webhook_id, count):
        """Events that wait for the webhook."""
        with sqlite3.connect(self.mail.database, timeout=60) as db:
            db.execute(
                "WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number"
                f"   WHERE n < {count})"
                " INSERT INTO webhook_event (id, webhook_id, type, body, status, due_us, then_us,"
                "   created_us)"
                " SELECT 'msg_' || hex(randomblob(13)) || 'x', ?, 'email.delivered',"
                "   printf('{\"type\":\"email.delivered\",\"data\":\"%600d\"}', n), 'pending',"
                "   strftime('%s') * 1000000, 0, strftime('%s') * 1000000"
                " FROM number",
                (webhook_id,),
            )
        with sqlite3.connect(self.mail.database, timeout=60) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def deliver(self, receiver, count, endpoints=1):
        """Each event that is recorded now goes to all endpoints: how fast, and what it costs."""
        pid = self.mail.box.pid("webhook")
        before, cpu = receiver.count.value, cpu_seconds(pid)
        self.record(count)
        began = time.monotonic()
        wait_for("deliveries",
                 lambda: receiver.count.value - before >= count * endpoints, 300)  # fmt: skip
        took = time.monotonic() - began
        return {
            "rate": count * endpoints / took,
            "core": count * endpoints / max(cpu_seconds(pid) - cpu, 1 / TICKS),
        }


def silent():
    """Accepts connections, and answers nothing."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    return listener, f"http://127.0.0.1:{listener.getsockname()[1]}/"


def speed(bench, receiver, options):
    count = max(50, int(EVENTS * options.scale))
    mine = bench.create(receiver.url)
    found = [bench.deliver(receiver, count) for _ in range(options.rounds)]
    yield "1 endpoint: deliveries a second", None, found, "rate"
    yield "deliveries for a second of one core", ("≥", 3000), found, "core"
    bench.remove(mine)
    many = max(2, int(ENDPOINTS * min(1, options.scale)))
    ids = [bench.create(f"{receiver.url}{n}") for n in range(many)]
    each = max(2, count // many)
    found = [bench.deliver(receiver, each, many) for _ in range(options.rounds)]
    yield f"{many} endpoints: deliveries a second", None, found, "rate"
    yield "deliveries for a second of one core", ("≥", 3000), found, "core"
    bench.remove(*ids)


def beside_dead(bench, receiver, options):
    """A live endpoint, with and without so many queued for endpoints that refuse and hang."""
    count = max(50, int(EVENTS * options.scale))
    queued = max(50, int(QUEUED * options.scale))
    listener, url = silent()
    refusing = f"http://127.0.0.1:{free_port()}/"
    # What is recorded meanwhile is not for the dead ones: only what waits is to be paid for.
    dead = [bench.create(to, ["email.opened"]) for to in (url, refusing)]
    mine = bench.create(receiver.url)
    for one in dead:
        bench.queue(one, queued)

    def deliver(status):
        for one in dead:
            bench.httpd.request("PATCH", f"/webhooks/{one}", json={"status": status})
        return bench.deliver(receiver, count)

    played = play({
        "beside": lambda: deliver("enabled"), "alone": lambda: deliver("disabled"),
    }, options.rounds)  # fmt: skip
    name = f"{queued:,} queued for each of two dead endpoints: over none"
    yield compare(played, Row(name, "rate", "beside", "alone", 0.95))
    listener.close()
    bench.remove(mine, *dead)


def memory(bench, receiver, options):
    rows = max(1000, int(ROWS * min(1, options.scale)))
    listener, url = silent()
    dead = bench.create(url)
    bench.create(receiver.url)
    bench.queue(dead, rows)
    pid = bench.mail.box.pid("webhook")
    forget_peak(pid)
    found = bench.deliver(receiver, max(50, int(EVENTS * options.scale)))
    yield f"{rows:,} queued for a dead endpoint: deliveries a second to another", None, [
        found], "rate"
    peak = memory_mib(pid, peak=True)
    yield "memory, peak (MiB)", ("≤", 32), [{"peak": peak}], "peak"
    listener.close()  # the sandbox goes with all that waits


def run(options):
    receiver = Receiver()
    yield "| what | aim | min | median | max |"
    yield "|---|---|---|---|---|"
    try:
        with Mail("--set", "limits.webhooks=1000") as mail:
            bench = Bench(mail)
            rows = list(speed(bench, receiver, options))
            beside = list(beside_dead(bench, receiver, options))
            rows += memory(bench, receiver, options)
    finally:
        receiver.close()
    for name, aim, found, metric in rows:
        values = sorted(one[metric] for one in found)
        middle = values[len(values) // 2]
        missed = aim and (middle > aim[1] if aim[0] == "≤" else middle < aim[1])
        marks = "**" if missed else ""
        bound = f"{aim[0]} {aim[1]:,}" if aim else ""
        yield (f"| {name} | {bound} | {number(values[0])} |"
               f" {marks}{number(middle)}{marks} | {number(values[-1])} |")
    yield ""
    yield from table(beside)
