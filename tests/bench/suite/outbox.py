"""The outbox: emails that are answered when they are kept, newsletters, the same emails by
another build of this tree, and a million of them that are scheduled.

Where --before names the folder of another build, ours are measured over that."""

import contextlib
import json
import os
import sqlite3
import time

from harness import wait_for
from harness.form import FormClient

from . import http, items
from .mail import ROOM, Mail, smtp_source
from .process import memory_mib
from .rounds import Row, compare, play, table

NEWSLETTER = 1000
BURST = 10_000
BATCH = 100
BATCHES = 20
SCHEDULED = 1_000_000
ONE_SECOND = 10_000


def queued(mail, options):
    """Answered by the durable commit alone: 1 KB."""
    file = http.json_file(mail, 1000)
    many = max(16, int(BURST * options.scale))
    few = max(1, many // 10)
    played = play({
        "1": lambda: http.send(mail, mail.address, file, 1, few),
        "16": lambda: http.send(mail, mail.address, file, 16, many),
        "smtp-source": lambda: mail.measure(
            few, lambda: smtp_source(mail.smtp["noop"], 16, few, 1000)),
    }, options.rounds)
    for name in ("1", "16"):
        yield compare(played, Row(f"queued, {name} at once: taken, over smtp-source",
                                  "taken", name, "smtp-source"))
        yield compare(played, Row("until delivered", "delivered", name, "smtp-source"))
    yield compare(played, Row("queued, 1 at once: p50 in µs", "p50_us", "1",
                              aim=1000, at_most=True))
    yield compare(played, Row("queued, 16 at once: p50 in µs", "p50_us", "16"))
    yield compare(played, Row("queued, 16 at once: taken in a second", "taken", "16", aim=2500))


def batches(mail, options):
    """Of 100 emails of 1 KB, one request after the other; over smtp-source in one session."""
    each = max(2, int(BATCH * min(1, options.scale * 10)))
    requests = max(1, int(BATCHES * options.scale))
    n = each * requests

    def send():
        file = items.write(mail.path("batches"), [
            items.json_batch(mail.key, 1000, each) for _ in range(requests)])
        return http.load(mail.address, file, 1, requests)

    played = play({
        "ours": lambda: mail.measure(n, send),
        "smtp-source": lambda: mail.measure(
            n, lambda: smtp_source(mail.smtp["noop"], 1, n, 1000)),
    }, options.rounds)
    yield compare(played, Row(f"batches of {each}, 1 at once: taken, over smtp-source", "taken",
                              "ours", "smtp-source"))
    yield compare(played, Row("until delivered", "delivered", "ours", "smtp-source", 0.8))


def newsletter(mail, options):
    """One request; over smtp-source with as many messages."""
    n = max(2, int(NEWSLETTER * min(1, options.scale)))
    text = items.text_of(10_000)

    def send():
        addresses = [items.recipient() for _ in range(n)]
        fields = {
            "from": items.SENDER, "to": addresses, "subject": "News", "text": text,
            "recipient-variables": json.dumps({to: {} for to in addresses}),
        }
        began = time.monotonic()
        answer = FormClient(mail.box).post(fields)
        assert answer.status == 200, answer.body
        return {"seconds": time.monotonic() - began}

    played = play({
        "ours": lambda: mail.measure(n, send),
        "smtp-source": lambda: mail.measure(
            n, lambda: smtp_source(mail.smtp["noop"], 16, n, 10_000)),
    }, options.rounds)
    yield compare(played, Row(f"{n} personal emails of 10 KB in one request: taken", "taken",
                              "ours", "smtp-source"))
    yield compare(played, Row("until delivered", "delivered", "ours", "smtp-source"))
    yield compare(played, Row("seconds until answered", "seconds", "ours", aim=1, at_most=True))


@contextlib.contextmanager
def build_of(folder):
    before = os.environ.get("BUILD")
    os.environ["BUILD"] = folder
    cache = os.environ.pop("POSTERN_SANDBOX_CACHE", None)
    try:
        yield
    finally:
        os.environ.pop("BUILD")
        if before:
            os.environ["BUILD"] = before
        if cache:
            os.environ["POSTERN_SANDBOX_CACHE"] = cache


def over_before(mail, options):
    with build_of(options.before):
        before = Mail("--submission", options.submission, *ROOM)
    with before:
        for name, size, at_once, count, aim in (
                ("1 KB", 1000, 16, 2500, 0.97),
                ("5 MB", 5_000_000, 16, 40, 0.9),
                ("5 MB", 5_000_000, 1, 10, 0.9)):
            count = max(at_once, int(count * options.scale))
            files = {m: http.json_file(m, size) for m in (mail, before)}
            played = play({
                key: lambda m=m, f=files[m]: http.send(m, m.address, f, at_once, count)
                for key, m in (("ours", mail), ("before", before))
            }, options.rounds)
            yield compare(played, Row(f"{name}, {at_once} at once: the build before, until delivered",
                                      "delivered", "ours", "before", aim))
            yield compare(played, Row("taken", "taken", "ours", "before"))


def scheduled(mail, options):
    """Memory and start with so many; copies of one email, in one company."""
    n = max(10, int(SCHEDULED * min(1, options.scale)))
    later = {"from": items.SENDER, "to": items.recipient(), "text": "x",
             "scheduled_at": "in 20 days"}
    answer = mail.box.httpd().post(later)
    assert answer.status_code == 200, answer.text
    for part in ("httpd", "milter", "events"):
        mail.box.stop(part)
    with sqlite3.connect(mail.database, isolation_level=None) as db:
        db.execute("PRAGMA foreign_keys = OFF")
        (seq,) = db.execute("SELECT email FROM outbox ORDER BY due_us DESC LIMIT 1").fetchone()

        def copy(name, key, others):
            columns = [row[1] for row in db.execute(f"PRAGMA table_info({name})")]
            values = [others.get(c, f"t.{c}") for c in columns]
            db.execute(
                f"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {n})"
                f" INSERT INTO {name} ({', '.join(columns)})"
                f" SELECT {', '.join(values)} FROM {name} t, n WHERE t.{key} = {seq}")

        number = f"{seq} + 1000 + i"
        db.execute("BEGIN")
        copy("email", "seq", {
            "seq": number, "id": f"printf('%08x-0000-4000-8000-000000000000', {number})",
            "ticket": f"printf('%032x', {number})", "message_id": f"'<' || ({number}) || '@x>'"})
        for name in ("email_recipient", "message", "outbox"):
            copy(name, "email", {"email": number})
        db.execute("COMMIT")
    db.close()
    mail.box.start("milter")
    began = time.monotonic()
    mail.box.start("httpd")
    started_s = time.monotonic() - began
    file = http.json_file(mail, 1000)
    found = http.send(mail, mail.address, file, 16, max(16, int(500 * min(1, options.scale))))
    pid = mail.box.pid("httpd")
    played = [{"ours": {"start_s": started_s, "delivered": found["delivered"],
                        "peak_mib": memory_mib(pid, peak=True)}}]
    yield compare(played, Row(f"{n:,} scheduled: start in seconds", "start_s", "ours",
                              aim=1, at_most=True))
    yield compare(played, Row("MiB of httpd at most", "peak_mib", "ours", aim=64, at_most=True))
    yield compare(played, Row("1 KB beside them, 16 at once: delivered in a second",
                              "delivered", "ours"))


def one_second(mail, options):
    """So many emails are due in the same second, and one more is sent when the first is there."""
    n = max(16, int(ONE_SECOND * options.scale))
    httpd = mail.box.httpd()

    def play_once():
        later = {"from": items.SENDER, "text": "x", "scheduled_at": "in 1 hour"}
        for i in range(0, n, BATCH):
            batch = [{**later, "to": items.recipient()} for _ in range(min(BATCH, n - i))]
            assert httpd.batch(batch).status_code == 200
        mail.empty_sink()  # also of what was on its way until now
        due_s = int(time.time() + 2)
        with sqlite3.connect(mail.database, timeout=60) as db:
            db.execute("UPDATE email SET scheduled_us = ? WHERE scheduled_us > 0",
                       (due_s * 1_000_000,))
            db.execute("UPDATE outbox SET due_us = ?", (due_s * 1_000_000,))
        db.close()
        wait_for("the first", mail.delivered)
        first_s = time.time() - due_s
        now = {"from": items.SENDER, "to": items.recipient(), "text": "x"}
        began = time.monotonic()
        httpd.send(now)
        wait_for("the email of now", lambda: mail.box.sink.now(to=now["to"]))
        now_s = time.monotonic() - began
        wait_for("the last", lambda: mail.delivered() > n, 600)
        return {"first_s": first_s, "now_s": now_s, "rate": n / (time.time() - due_s)}

    played = play({"ours": play_once}, options.rounds)
    yield compare(played, Row(f"{n:,} in one second: seconds until the first is delivered",
                              "first_s", "ours"))
    yield compare(played, Row("an email of now beside them: seconds until delivered",
                              "now_s", "ours"))
    yield compare(played, Row("delivered in a second, since then", "rate", "ours"))


def run(options):
    kinds = ("--submission", options.submission)
    news = ("--set", "http.max_recipients=1000", "--set", "submission.max_pending=20000")
    with Mail(*kinds, *news, "--set", "submission.answer=queued") as mail:
        yield from table(queued(mail, options))
        mail.box.set("submission", "answer", "sent")
        mail.box.restart("httpd")
        yield ""
        yield from table(batches(mail, options))
        yield ""
        yield from table(newsletter(mail, options))
        yield ""
        yield from table(one_second(mail, options))
        yield ""
        yield from table(scheduled(mail, options))
    if options.before:
        with Mail(*kinds, *ROOM) as mail:
            yield ""
            yield from table(over_before(mail, options))
