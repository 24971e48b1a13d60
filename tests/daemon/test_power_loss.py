"""What Postfix had not yet, or not any more, on its disk when it or the power went: the
email goes out, once, without anybody's help."""

import signal
import subprocess
import threading

import pytest
import requests
from harness import wait_for
from harness.crash import KillAt, kill_all, kill_postfix, workers_of
from harness.sandbox import new_email, unique
from test_restarts import check_all_there, check_delivered_once

pytestmark = pytest.mark.submission("smtp")


def queued(box):
    """Returns the number of messages in all of Postfix's queues."""
    names = ("incoming", "active", "deferred", "hold")
    files = [path for name in names for path in (box.dir / "queue" / name).rglob("*")]
    return sum(path.is_file() for path in files)


def proven(box):
    return box.sql("SELECT count(*) FROM outbox") == [(0,)]


def rows_of(box, to, columns="id, state, queue_id"):
    sql = (
        f"SELECT {columns} FROM email"
        " WHERE seq IN (SELECT email FROM email_recipient WHERE address = ?)"
    )
    return box.sql(sql, to)


def lose_queue(box):
    """Without Postfix postsuper does it too, but cannot log so, and fails."""
    command = ["postsuper", "-c", box.env["POSTFIX_CONFIG"], "-d", "ALL"]
    subprocess.run(command, check=False, timeout=60)
    assert queued(box) == 0


def deliver(box):
    """Releases what was kept back."""
    box.postconf("defer_transports=")
    box.restart("postfix")


@pytest.fixture
def box(own_box):
    """A sandbox that delivers nothing yet."""
    return own_box("--postconf", "defer_transports=smtp", "--set", "submission.timeout=5s")


def states_of(box, to):
    return [state for _, state, _ in rows_of(box, to)]


class Request:
    def __init__(self, box):
        self.box = box
        self.email = new_email()
        self.headers = {"Idempotency-Key": unique("key")}

    def post(self):
        return self.box.httpd().post(self.email, headers=self.headers)

    def _break(self):
        with pytest.raises(requests.ConnectionError):
            self.post()

    def cut_off(self, halted=None, call="fchmod"):
        """Ends with httpd, when it is recorded and the process, cleanup(8) unless told,
        has come to a halt before it says so; the id."""
        if halted is None:
            (halted,) = workers_of(self.box, "cleanup")
        pid = self.box.pid("httpd")
        to = self.email["to"]
        thread = threading.Thread(target=self._break)
        with KillAt(halted, call, 1, "SIGSTOP"):
            thread.start()
            wait_for("the record", lambda: states_of(self.box, to) == ["sent"])
            self.box.kill("httpd")
            thread.join()
            self.box.wait_for_new("httpd", pid)
        return rows_of(self.box, to)[0][0]

    def send(self):
        answer = self.post()
        assert answer.status_code == 200, answer.text
        return answer.json()["id"]


def check(box, request, email_id):
    deliver(box)
    check_all_there(box, {request.email["to"]: email_id})
    check_delivered_once(box, [request.email["to"]])


def test_proven(box):
    """With Postfix's reply, nothing is sent twice after another start."""
    request = Request(box)
    email_id = request.send()
    wait_for("the proof", lambda: proven(box))
    box.restart("postfix")
    box.restart("httpd")
    assert request.send() == email_id
    assert queued(box) == 1
    check(box, request, email_id)


@pytest.mark.parametrize("call", ["fchmod", "fsync"])
def test_cleanup_dies_behind_the_record(box, call):
    """Before its queue file is complete, or after that. smtpd replies 4xx, which does
    not tell; Postfix's queue and log do."""
    Request(box).send()
    wait_for("the proof", lambda: proven(box))
    request = Request(box)
    (cleanup,) = workers_of(box, "cleanup")
    with KillAt(cleanup, call, 1):
        email_id = request.send()
    assert states_of(box, request.email["to"]) == ["sent"]
    assert not proven(box)
    box.restart("postfix")  # else it waits a minute before the next cleanup
    wait_for("the proof", lambda: proven(box))
    assert request.send() == email_id
    check(box, request, email_id)


def test_all_is_killed_behind_the_record(box):
    """httpd restarts before Postfix does: nothing is guessed while Postfix cannot be
    asked. The client has no answer; the email is sent all the same."""
    Request(box).send()
    request = Request(box)
    email_id = request.cut_off()
    kill_postfix(box)
    lose_queue(box)
    box.start("postfix")
    wait_for("the proof", lambda: proven(box))
    assert request.send() == email_id
    check(box, request, email_id)


def test_cut_off_and_queued(box):
    """The queue has it: that is proof after every other start, too."""
    Request(box).send()
    wait_for("the proof", lambda: proven(box))
    lose_queue(box)
    request = Request(box)
    email_id = request.cut_off()
    kill_all(workers_of(box, "cleanup"), signal.SIGCONT)
    wait_for("the message", lambda: queued(box) == 1)
    assert request.send() == email_id
    wait_for("the proof", lambda: proven(box))
    box.restart("postfix")
    assert request.send() == email_id
    assert queued(box) == 1
    check(box, request, email_id)


@pytest.mark.parametrize("mode", ["strict", "permissive"])
def test_rest_of_a_batch(box, mode):
    """Postfix has one email and defers the other; then it is restarted several times:
    each is delivered once."""
    emails = [new_email(), new_email()]
    first, second = [email["to"] for email in emails]
    headers = {"Idempotency-Key": unique("key"), "x-batch-validation": mode}
    emails[1]["from"] = sender = unique("from") + "@example.com"
    checks = f"check_sender_access inline:{{{{{sender} = 450 4.1.1 later}}}}"
    box.postconf("smtpd_recipient_restrictions=" + checks)
    box.postconf("smtpd_reject_unlisted_recipient=no")
    box.set("submission", "smtp_server", "inet:" + box.env["POSTFIX_SMTP"])
    box.restart("postfix")
    box.restart("milter")
    box.restart("httpd")
    answer = box.httpd().batch(emails, headers=headers)
    assert answer.status_code == 200, answer.text
    assert states_of(box, first) == ["sent"] and states_of(box, second) == ["staged"]
    box.postconf("smtpd_recipient_restrictions=")
    for _ in range(2):
        box.restart("postfix")
        again = box.httpd().batch(emails, headers=headers)
        assert again.json() == answer.json()
        wait_for("the proof", lambda: proven(box))
    deliver(box)
    for to in (first, second):
        check_all_there(box, {to: rows_of(box, to)[0][0]})
    check_delivered_once(box, [first, second])
