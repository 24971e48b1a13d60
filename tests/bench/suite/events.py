"""postern-events: how fast it reads, how soon what Postfix has logged is in the
store, and what it costs those who send meanwhile."""

import json
import os
import re
import sqlite3
import subprocess
import threading
import time

from harness import wait_for

from . import http, items, store
from .mail import BUILD, ROOM, Mail
from .process import cpu_seconds, forget_peak, memory_mib
from .rounds import Row, compare, number, play, table

EMAILS = 20_000
RECIPIENTS = (1, 50)
COUNTS = {1: 3000, 50: 300}  # of emails, with so many recipients
CONNECTIONS = 16
SIZE = 2000
LOOK_S = 0.005

# What Postfix says of a message: five lines for one recipient.
HEAD = (
    "smtpd[10]: {id}: client=localhost[127.0.0.1]",
    "cleanup[11]: {id}: message-id=<{id}@bench.test>",
    "qmgr[12]: {id}: from=<hello@example.com>, size=2345, nrcpt={n} (queue active)",
)
DELIVERY = (
    "smtp[13]: {id}: to=<{to}>, relay=127.0.0.1[127.0.0.1]:2525, delay=0.11,"
    " delays=0.05/0.01/0.02/0.03, dsn=2.0.0, status=sent (250 2.0.0 Ok: {id})"
)
END = "qmgr[12]: {id}: removed"


def post_file(mail, recipients):
    """Requests for emails with so many recipients."""
    requests = []
    for _ in range(200):
        email = items.email(SIZE)
        email["to"] = [items.recipient() for _ in range(recipients)]
        body = json.dumps(email).encode()
        requests.append(
            items.request(
                "POST", "/emails", f"Bearer {mail.key}", body, "application/json"
            )
        )
    return items.write(mail.path(f"to.{recipients}"), requests)


def number_of(mail, sql):
    with sqlite3.connect(f"file:{mail.database}?mode=ro", uri=True, timeout=60) as db:
        return db.execute(sql).fetchone()[0]


def settled(mail):
    """All that was sent so far is told."""
    sql = "SELECT count(*) FROM email WHERE state = 'sent' AND last_event = 'sent'"
    wait_for("the log to be read", lambda: number_of(mail, sql) == 0, 300)


def queue_id(n):
    return f"{0x10000000000 + n:X}"


def write_log(mail, emails, recipients):
    """Of copies of the first email, which has these recipients; its lines."""
    now = time.strftime("%b %e %T")
    lines = 0
    with open(mail.path("old.log"), "w") as file:
        for first in range(emails.start, emails.stop, CONNECTIONS):
            ids = [queue_id(n) for n in emails[first - emails.start :][:CONNECTIONS]]
            patterns = [(text, None) for text in HEAD]
            patterns += [(DELIVERY, to) for to in recipients]
            for text, to in [*patterns, (END, None)]:
                for name in ids:
                    said = text.format(id=name, n=len(recipients), to=to)
                    file.write(f"{now} mail postfix/{said}\n")
                    lines += 1
    return mail.path("old.log"), lines


def run_reader(mail, log):
    """Has it read that log: its CPU seconds, and its memory in MiB."""
    words = [BUILD / "postern-events", "-c", mail.box.config, "--once", log]
    process = subprocess.Popen(words, stderr=subprocess.PIPE)
    peak = 0
    while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
        try:
            peak = max(peak, memory_mib(process.pid, peak=True))
        except AssertionError:
            pass  # it has just ended
        time.sleep(LOOK_S)
    process.stderr.close()
    assert ended[1] == 0
    return ended[2].ru_utime + ended[2].ru_stime, peak


def read_old(mail, count, recipients):
    """Lines of an old log for a second of one core, without what it takes to start,
    and the memory for that."""
    addresses = [items.recipient() for _ in range(recipients)]
    mail.box.httpd().send({"from": items.SENDER, "to": addresses, "text": "x"})
    settled(mail)
    mail.box.stop("events")
    chosen = {"queue_id": "queue_of(n)", "last_event": "'sent'", "closed": "0"}
    emails = store.fill(
        mail.database, count, chosen=chosen, functions={"queue_of": queue_id},
        pattern="(SELECT max(seq) FROM email)",
    )  # fmt: skip
    with sqlite3.connect(mail.database, timeout=60) as db:
        db.execute(
            "UPDATE email_recipient SET state = 'queued', attempts = 0"
            " WHERE email >= ?",
            (emails.start,),
        )
    log, lines = write_log(mail, emails, addresses)
    start, _ = run_reader(mail, os.devnull)
    seconds, peak = run_reader(mail, log)
    seconds -= start
    sql = f"SELECT count(*) FROM event WHERE email >= {emails.start}"
    assert number_of(mail, sql) == 2 * count * recipients
    mail.box.start("events")
    return lines / seconds, peak


def with_reader(mail, file, count):
    mail.box.start("events")
    settled(mail)
    pid = mail.box.pid("events")
    before = cpu_seconds(pid)
    found = http.send(mail, mail.address, file, CONNECTIONS, count)
    settled(mail)
    return {**found, "cpu": (cpu_seconds(pid) - before) * 1000 / count}


def without_reader(mail, file, count):
    mail.box.stop("events")
    before = mail.cpu()
    found = http.send(mail, mail.address, file, CONNECTIONS, count)
    after = mail.cpu()
    return {**found, "cpu": (sum(after) - sum(before)) * 1000 / count}


def post(mail, recipients, options):
    file = post_file(mail, recipients)
    count = max(CONNECTIONS, int(COUNTS[recipients] * options.scale))
    played = play(
        {
            "on": lambda: with_reader(mail, file, count),
            "off": lambda: without_reader(mail, file, count),
        },
        options.rounds,
    )
    many = "s" if recipients > 1 else ""
    name = f"POST, {recipients} recipient{many}: reader on over off"
    yield compare(played, Row(f"{name}, taken", "taken", "on", "off", 0.95))
    yield compare(played, Row("until delivered", "delivered", "on", "off"))
    yield compare(
        played,
        Row("CPU seconds for 1,000, the reader's over all others'", "cpu", "on", "off"),
    )


class Watch:
    """Notes when a delivery is in the log, and when it is in the store."""

    def __init__(self, mail):
        self.log = open(mail.box.dir / "log/postfix.log")
        self.log.seek(0, os.SEEK_END)
        self.database = mail.database
        self.written, self.stored = {}, {}
        self.lines = 0
        self.stopped = False
        self.threads = [threading.Thread(target=t) for t in (self._lines, self._rows)]
        for thread in self.threads:
            thread.start()

    def stop(self):
        self.stopped = True
        for thread in self.threads:
            thread.join()
        return sorted(
            1000 * (self.stored[name] - at)
            for name, at in self.written.items()
            if name in self.stored
        )

    def _lines(self):
        sent = re.compile(r": (\w+): to=.* status=sent")
        while not self.stopped:
            now = time.monotonic()
            for line in self.log.readlines():
                self.lines += 1
                if found := sent.search(line):
                    self.written.setdefault(found[1], now)
            time.sleep(LOOK_S)

    def _rows(self):
        db = sqlite3.connect(f"file:{self.database}?mode=ro", uri=True, timeout=60)
        (last,) = db.execute("SELECT coalesce(max(seq), 0) FROM event").fetchone()
        while not self.stopped:
            rows = db.execute(
                "SELECT v.seq, e.queue_id FROM event v JOIN email e ON e.seq = v.email"
                " WHERE v.seq > ? AND v.kind = 'delivered' ORDER BY v.seq", (last,)
            ).fetchall()  # fmt: skip
            now = time.monotonic()
            for last, name in rows:
                self.stored.setdefault(name, now)
            time.sleep(LOOK_S)
        db.close()


def delay(mail, options):
    """ms from a line to its row, while mail is sent as fast as it goes."""
    file = post_file(mail, 1)
    count = max(CONNECTIONS, int(COUNTS[1] * options.scale))
    forget_peak(mail.box.pid("events"))
    watch = Watch(mail)
    try:
        found = http.send(mail, mail.address, file, CONNECTIONS, count)
        settled(mail)
        time.sleep(2 * LOOK_S)
    finally:
        times = watch.stop()
    assert len(times) == count
    rate = watch.lines / count * found["delivered"]
    return times[count // 2], times[count * 99 // 100], rate


def found_rows(mail, options):
    """What is measured by itself: name, aim, found."""
    p50, p99, rate = delay(mail, options)
    yield "line to row, p50 (ms)", None, p50
    yield "line to row, p99 (ms)", ("≤", 1000), p99
    peak = memory_mib(mail.box.pid("events"), peak=True)
    yield "memory meanwhile, peak (MiB)", ("≤", 16), peak
    yield "lines a second that Postfix writes then", None, rate
    for recipients in RECIPIENTS:
        count = max(50, int(EMAILS * options.scale) // recipients)
        read, memory = read_old(mail, count, recipients)
        many = "s" if recipients > 1 else ""
        name = f"emails with {recipients} recipient{many}"
        yield f"lines a second of one core, {name}", ("≥", 100_000), read
        yield "over what Postfix writes", ("≥", 50), read / rate
        yield "memory, peak (MiB)", ("≤", 16), memory


def run(options):
    yield "| what | aim | found |"
    yield "|---|---|---|"
    with Mail("--submission", options.submission, *ROOM) as mail:
        for name, aim, found in found_rows(mail, options):
            missed = aim and (found > aim[1] if aim[0] == "≤" else found < aim[1])
            marks = "**" if missed else ""
            bound = f"{aim[0]} {aim[1]:,}" if aim else ""
            yield f"| {name} | {bound} | {marks}{number(found)}{marks} |"
        yield ""
        results = []
        for recipients in RECIPIENTS:
            results += post(mail, recipients, options)
        yield from table(results)
