"""What Postfix had not yet, or not any more, on its disk when the power went: a
request that comes again with its Idempotency-Key ends with the email delivered."""

import sqlite3
import subprocess

import pytest
from harness import wait_for
from harness.crash import KillAt
from harness.sandbox import unique
from test_restarts import check_all_there, check_delivered_once
from test_smtp import new_email, refuse, workers_of

pytestmark = pytest.mark.submission("smtp")


def store(box, sql, *values):
    """The rows of a statement, which is committed."""
    path = box.dir / "store/postern.db"
    db = sqlite3.connect(path, timeout=60)
    with db:
        rows = db.execute(sql, values).fetchall()
    db.close()
    return rows


def queued(box):
    """How many messages Postfix has in its queue, wherever."""
    names = ("incoming", "active", "deferred", "hold")
    files = [path for name in names for path in (box.dir / "queue" / name).rglob("*")]
    return sum(path.is_file() for path in files)


def run_of(box):
    return store(box, "SELECT run FROM idempotency")[0][0]


def next_run(box):
    """As if what is written down had been written before the power went, but for
    the proof, which nobody waits for."""
    store(box, "UPDATE idempotency SET run = 'another'")


def lose_queue(box):
    command = ["postsuper", "-c", box.env["POSTFIX_CONFIG"], "-d", "ALL"]
    subprocess.run(command, check=True, timeout=60)
    assert queued(box) == 0


def deliver(box):
    """What was kept back goes out."""
    box.postconf("defer_transports=")
    box.restart("postfix")


@pytest.fixture
def box(own_box):
    """One that delivers nothing yet."""
    return own_box("--postconf", "defer_transports=smtp")


class Request:
    def __init__(self, box):
        self.email = new_email()
        self.headers = {"Idempotency-Key": unique("key")}
        self.post = lambda: box.httpd().post(self.email, headers=self.headers)

    def send(self):
        answer = self.post()
        assert answer.status_code == 200, answer.text
        return answer.json()["id"]


def check(box, request, email_id):
    deliver(box)
    check_all_there(box, {request.email["to"]: email_id})
    check_delivered_once(box, [request.email["to"]])


def test_lost(box):
    request = Request(box)
    email_id = request.send()
    wait_for("the proof", lambda: run_of(box) == "")
    next_run(box)
    lose_queue(box)
    assert request.send() == email_id
    assert queued(box) == 1
    wait_for("the proof", lambda: run_of(box) == "")
    check(box, request, email_id)


def test_lost_while_postfix_is_away(box):
    """The email stays in the sent folder, and its key in use."""
    request = Request(box)
    email_id = request.send()
    wait_for("the proof", lambda: run_of(box) == "")
    next_run(box)
    lose_queue(box)
    box.stop("postfix")
    refuse(request.post())
    assert box.httpd().read(email_id)["id"] == email_id
    box.start("postfix")
    assert request.send() == email_id
    check(box, request, email_id)


def test_proven(box):
    """With Postfix's answer on record nothing goes out twice in another run."""
    request = Request(box)
    email_id = request.send()
    wait_for("the proof", lambda: run_of(box) == "")
    box.restart("postfix")
    box.restart("httpd")
    assert request.send() == email_id
    assert queued(box) == 1
    check(box, request, email_id)


@pytest.mark.parametrize("call,copies", [("fchmod", 1), ("fsync", 2)])
def test_cleanup_dies_behind_the_record(box, call, copies):
    """Before its queue file is complete, or after. smtpd answers 4xx, which is no
    proof of anything: the email is not forgotten, and the repeat sends it."""
    Request(box).send()
    lose_queue(box)
    request = Request(box)
    (cleanup,) = workers_of(box, "cleanup")
    with KillAt(cleanup, call, 1):
        refuse(request.post())
    to = request.email["to"]
    rows = store(box, "SELECT id, state, queue_id FROM email WHERE header_to = ?", to)
    assert [(state, bool(queue_id)) for _, state, queue_id in rows] == [("staged", True)]
    box.restart("postfix")  # else it waits a minute before the next cleanup
    assert request.send() == rows[0][0]
    deliver(box)
    check_all_there(box, {to: rows[0][0]})
    wait_for("all copies", lambda: len(box.sink.now(to=to)) == copies)
