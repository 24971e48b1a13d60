"""httpd or the milter dies between any two steps of a request with an Idempotency-Key;
the request comes again; every email is delivered once."""

import itertools

import pytest
import requests
from harness import Sandbox, wait_for
from harness.crash import KillAt, died
from harness.sandbox import STORE, unique

# The system calls with which a request leaves the process, whichever way the
# mail takes: to the store, to other programs, to the client, to the log.
TO_THE_STORE = ["poll", "sendto"] if STORE == "postgresql" else ["pwrite64", "fdatasync"]
TO_POSTFIX = ["socketpair", "clone,clone3,vfork", "connect", "recvfrom"]
TO_ANYONE = ["write", "writev", "sendto", "close"]
CALLS = [*dict.fromkeys(TO_THE_STORE + TO_POSTFIX + TO_ANYONE)]

# No step of a request is further than this; a test that comes here is wrong.
STEPS_MAX = 200


@pytest.fixture(scope="module")
def box():
    with Sandbox("--set", "submission.record_wait=500ms") as sandbox:
        yield sandbox


class Attempt:
    """A request that is repeated until it is answered."""

    def __init__(self, box, n=1):
        self.box = box
        self.to = [unique("to") + "@dst.test" for _ in range(n)]
        self.headers = {"Idempotency-Key": unique("key")}
        self.ids = None

    def _post(self):
        emails = [
            {"from": "hello@example.com", "to": to, "text": "x"} for to in self.to
        ]
        httpd = self.box.httpd()
        if len(emails) == 1:
            return httpd.post(emails[0], headers=self.headers)
        return httpd.batch(emails, headers=self.headers)

    def make(self):
        """Makes the request, which must succeed, as it did before if it did."""
        answer = self._post()
        assert answer.status_code == 200, answer.text
        data = answer.json()
        ids = [one["id"] for one in data.get("data", [data])]
        assert len(ids) == len(self.to)
        assert self.ids in (None, ids)
        self.ids = ids

    def make_and_kill(self, call, n):
        """Makes the request while httpd is to be killed; returns False if it did all that the
        request asks for. On a busy machine the answer comes before the submission has ended."""
        pid = wait_for("all its threads", lambda: self.box.started_pid("httpd"))
        with KillAt(pid, call, n):
            try:
                self.make()
                wait_for("the submission", lambda: died(pid) or self.box.in_hand() == 0)
            except requests.ConnectionError:
                wait_for("httpd to die", lambda: died(pid))
        killed = not self._is_alive(pid)
        if killed:
            self.box.wait_for_new("httpd", pid)
        return killed

    def _is_alive(self, pid):
        """A process that is exiting answers nothing."""
        try:
            self.box.httpd().get("none")
        except requests.ConnectionError:
            wait_for("httpd to die", lambda: died(pid))
        return not died(pid)


def check_delivered_once(box, attempts):
    """Lets everything that waits go through; then each email is there, once."""
    box.flush()
    wait_for("maildrop to be empty", lambda: box.waiting() == 0)
    probe = Attempt(box)
    probe.make()
    box.sink.find(to=probe.to[0])
    httpd = box.httpd()
    for attempt in attempts:
        for to, email_id in zip(attempt.to, attempt.ids):
            assert box.sink.find(to=to)
            assert httpd.read(email_id)["to"] == [to]


def attempts_of(box, call, emails=1, before=None):
    """Makes a request for each step of this kind at which httpd can be killed, and one
    that succeeds; each is answered in the end. Of SQLite's writes it is each fourth: what
    a transaction has written before its end is undone together."""
    attempts = []
    for step in itertools.count(1, 4 if call == "pwrite64" else 1):
        assert step < STEPS_MAX
        attempt = Attempt(box, emails)
        if before:
            before(attempt)
        attempts.append(attempt)
        killed = attempt.make_and_kill(call, step)
        attempt.make()
        if not killed:
            return attempts


# The calls by which the two ways into Postfix differ.
@pytest.mark.parametrize("call", [
    pytest.param(call, marks=[pytest.mark.submission] * (call in ("connect", "recvfrom")))
    for call in CALLS])
def test_each_step(box, call):
    attempts = attempts_of(box, call)
    check_delivered_once(box, attempts)


@pytest.mark.parametrize("call", [TO_THE_STORE[1], "clone,clone3,vfork", "connect", "recvfrom"])
def test_each_step_of_a_batch(box, call):
    attempts = attempts_of(box, call, emails=3)
    check_delivered_once(box, attempts)


def test_steps_are_there(box):
    """Makes sure that the tests above reach their steps."""
    for call in [TO_THE_STORE[0], "write"]:
        attempt = Attempt(box)
        assert attempt.make_and_kill(call, 1)
        attempt.make()
        check_delivered_once(box, [attempt])


@pytest.mark.submission
@pytest.mark.store("sqlite")
@pytest.mark.parametrize("call", ["pwrite64", "writev"])  # to the store, and to Postfix
def test_each_step_of_the_milter(box, call):
    """The client is answered although the milter dies, and a repeat gets the same answer."""
    attempts = []
    for step in itertools.count(1):
        assert step < STEPS_MAX
        pid = wait_for("the milter", lambda: box.started_pid("milter"))
        attempt = Attempt(box)
        attempts.append(attempt)
        with KillAt(pid, call, step, follow=True):  # libmilter has a thread for each connection
            attempt.make()
            wait_for("the submission", lambda: died(pid) or box.in_hand() == 0)
            killed = died(pid)
        if not killed:
            break
        box.wait_for_new("milter", pid)
        attempt.make()
    assert len(attempts) > 1
    check_delivered_once(box, attempts)
    look_at_once(box)
    box.drain([to for attempt in attempts for to in attempt.to])
    for attempt in attempts:
        assert len(box.sink.now(to=attempt.to[0])) == 1


def look_at_once(box):
    """The outbox would look after minutes what became of an email that was submitted."""
    box.query("UPDATE outbox SET due_us = 1 WHERE due_us > 1")


@pytest.fixture
def milter_away(box):
    """What the test before has left goes out first, however that one ended."""
    for part in ("milter", "httpd"):
        box.start(part)
    look_at_once(box)
    wait_for("the mail of the test before", lambda: box.flush() or nothing_is_left(box))
    box.stop("milter")
    yield
    for part in ("milter", "httpd"):
        box.start(part)


def nothing_is_left(box):
    return box.waiting() == 0 and box.query("SELECT count(*) FROM outbox") == "0"


def discarded(box, attempts):
    """How many messages of these emails the milter threw away, since another one replaced them."""
    ids = {email_id for attempt in attempts for email_id in attempt.ids}
    lines = [line for line in box.log("milter").splitlines() if "reason=ticket_superseded" in line]
    return sum(any(email_id in line for email_id in ids) for line in lines)


def sent(box, attempts):
    """How many emails of these the milter has recorded."""
    ids = ", ".join(f"'{email_id}'" for attempt in attempts for email_id in attempt.ids)
    return int(box.query(f"SELECT count(*) FROM email WHERE state = 'sent' AND id IN ({ids})"))


@pytest.mark.parametrize("call", ["socketpair", "clone,clone3,vfork", "recvfrom", "writev"])
def test_first_message_waits(box, milter_away, call):
    """Killed while the milter is away: the first message may wait in maildrop and reach
    the milter beside the second one."""
    attempts = attempts_of(box, call)
    wait_for("the submissions", lambda: box.in_hand() == 0)
    box.stop("httpd")  # which would submit again what has waited for long
    waiting = box.waiting()
    assert waiting > 0
    box.start("milter")
    box.flush()
    wait_for("maildrop to be empty", lambda: box.waiting() == 0)
    gone, kept = discarded(box, attempts), sent(box, attempts)
    box.start("httpd")
    assert gone == waiting - kept
    check_delivered_once(box, attempts)


def die_behind_the_message(attempt):
    """Kills httpd as it is about to read that its message is in the maildrop: after the
    greeting and the replies to EHLO and the envelope. A database server is read from by
    the same call, at any time."""
    attempt.box.restart("httpd")
    assert attempt.make_and_kill("recvfrom", 4)


@pytest.mark.store("sqlite")
def test_first_message_does_wait(box, milter_away):
    """Makes sure that the test above has two messages, of which one is discarded."""
    attempt = Attempt(box)
    die_behind_the_message(attempt)
    # The new httpd may have submitted the second one by now.
    wait_for("the first message", lambda: box.waiting() > 0)
    attempt.make()
    wait_for("the second message", lambda: box.waiting() == 2)
    box.start("milter")
    check_delivered_once(box, [attempt])
    assert discarded(box, [attempt]) == 1


@pytest.mark.store("sqlite")
@pytest.mark.parametrize("call", ["fdatasync", "socketpair", "recvfrom"])
def test_repeat_dies_too(box, milter_away, call):
    """The second request is killed at each of its steps, the third one is answered."""
    attempts = attempts_of(box, call, before=die_behind_the_message)
    box.start("milter")
    check_delivered_once(box, attempts)


@pytest.mark.store("sqlite")
def test_waiting_messages_are_bounded(box, milter_away):
    """Once the request is answered, it sends no more messages."""
    attempt = Attempt(box)
    die_behind_the_message(attempt)
    for _ in range(3):
        attempt.make()
    wait_for("the second message", lambda: box.waiting() == 2 and box.in_hand() == 0)
    attempt.make()
    assert box.in_hand() == 0
    assert box.waiting() == 2
    box.start("milter")
    check_delivered_once(box, [attempt])
