"""Whatever dies, or comes behind our milter, while programs send over SMTP with a key: what was
answered 250 is delivered once and recorded, and nothing else is said to be sent."""

import signal
import smtplib
import threading

import pytest
from harness import wait_for
from harness.crash import kill_all, workers_of
from harness.milter import REJECT, OtherMilter
from harness.sandbox import unique
from test_smtp_auth import email_of, login, new_message, sent_by

KILLS = 3  # of each part


@pytest.fixture(scope="module")
def box(request):
    from harness import Sandbox

    # Postfix starts a daemon that died again after so long; a minute, by default.
    with Sandbox("--postconf", "service_throttle_time=1s", parts=["auth"]) as box:
        yield box
        box.failed = request.session.testsfailed > 0


class Programs:
    """Threads that send one message after another, a few in a session, until told to stop."""

    def __init__(self, box, n=4):
        self.box = box
        self.taken = {}  # recipient by Message-ID, of what was answered 250
        self.given_up = {}  # of all else, of which a program knows nothing
        self.stopping = threading.Event()
        self.threads = [threading.Thread(target=self._run) for _ in range(n)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        for thread in self.threads:
            thread.join()

    def _send_some(self):
        session = login(self.box)
        for _ in range(5):
            to = unique("to") + "@dst.test"
            message_id, data = new_message(to)
            self.given_up[message_id] = to
            session.sendmail("ann@example.com", [to], data)
            self.taken[message_id] = self.given_up.pop(message_id)
        session.quit()

    def _run(self):
        while not self.stopping.is_set():
            try:
                self._send_some()
            except (smtplib.SMTPException, OSError):
                self.stopping.wait(0.1)

    def wait_for(self, n):
        goal = len(self.taken) + n
        wait_for(f"{n} messages to be taken", lambda: len(self.taken) >= goal)


@pytest.mark.parametrize("part", ["auth", "milter", "events", "smtpd", "cleanup"])
def test_killed(box, part):
    with Programs(box) as programs:
        for _ in range(KILLS):
            programs.wait_for(10)
            if part in ("smtpd", "cleanup"):
                kill_all(workers_of(box, part), signal.SIGKILL)
            else:
                old = box.pid(part)
                box.kill(part)
                box.wait_for_new(part, old)
            programs.wait_for(10)
    box.flush()
    for message_id, to in programs.taken.items():
        wait_for(f"{to} to be delivered", lambda: box.sink.now(to=to))
        assert len(box.sink.now(to=to)) == 1
        email = email_of(box, message_id)
        wait_for("what became of it", lambda: box.httpd().read(email["id"])["last_event"] == "delivered")
    # What went out all the same, though its program was not told, is recorded, and once there.
    for to in programs.given_up.values():
        assert len(box.sink.now(to=to)) <= len(sent_by(box, to)) <= 1


class Holding(OtherMilter):
    """Says nothing at the end of a message."""

    def __init__(self):
        super().__init__()
        self.asked = threading.Event()

    def _answer(self, peer, command):
        if command[:1] == b"E":
            self.asked.set()
            threading.Event().wait(60)
        super()._answer(peer, command)


def behind_ours(box, milter):
    """A service with logins that asks this milter after ours."""
    with (box.dir / "postfix/master.cf").open() as file:
        lines = file.read().splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith(box.env["POSTERN_SMTP"]))
    options = []
    for line in lines[at + 1:]:
        if not line.startswith(" "):
            break
        options.append(line.split("-o", 1)[1].strip())
    ours = box.main_cf("smtpd_milters")
    return box.add_smtpd(*options, f"smtpd_milters={ours}, {milter.name}")


def login_at(box, address):
    host, port = address.split(":")
    session = smtplib.SMTP(host, int(port), timeout=60)
    session.login("x", box.env["POSTERN_SENDING_KEY"])
    return session


def test_refused_behind_the_record(box, to):
    """Another milter refuses what ours has recorded: the client is told, and so is who asks."""
    with OtherMilter(REJECT) as other:
        session = login_at(box, behind_ours(box, other))
        more = f"Idempotency-Key: {unique('key')}\r\n"
        message_id, data = new_message(to, more=more)
        with pytest.raises(smtplib.SMTPDataError):
            session.sendmail("ann@example.com", [to], data)
        email = email_of(box, message_id)
        wait_for("its end", lambda: box.httpd().read(email["id"])["last_event"] not in ("sent", "queued"))
        assert box.httpd().read(email["id"])["last_event"] == "failed"
        assert box.sink.now(to=to) == []
    # Nothing of it is in Postfix: the next one with its key goes out.
    assert login(box).sendmail("ann@example.com", [to], new_message(to, more=more)[1]) == {}
    box.sink.find(to=to)


def test_cleanup_dies_behind_the_record(box, to):
    """The client is told to come again; with its Idempotency-Key it is put off while nobody knows
    whether Postfix has the first message, and goes out once nobody does."""
    more = f"Idempotency-Key: {unique('key')}\r\n"
    with Holding() as other:
        session = login_at(box, behind_ours(box, other))
        first, data = new_message(to, more=more)
        failed = []

        def send():
            try:
                session.sendmail("ann@example.com", [to], data)
            except (smtplib.SMTPException, OSError) as error:
                failed.append(error)

        sending = threading.Thread(target=send)
        sending.start()
        assert other.asked.wait(60)
        kill_all(workers_of(box, "cleanup"), signal.SIGKILL)
        sending.join()
    assert getattr(failed[0], "smtp_code", 451) == 451
    email = email_of(box, first)
    assert email["last_event"] == "sent"
    session = login(box)
    with pytest.raises(smtplib.SMTPDataError) as error:
        session.sendmail("ann@example.com", [to], new_message(to, more=more)[1])
    assert error.value.smtp_code == 451 and b"still in progress" in error.value.smtp_error
    # As postern-events does when the queue and the log have not known it for ten minutes.
    box.query(f"UPDATE email_recipient SET state = 'unknown' WHERE email = (SELECT seq FROM email WHERE id = '{email['id']}')")
    again, data = new_message(to, more=more)
    assert session.sendmail("ann@example.com", [to], data) == {}
    assert box.sink.find(to=to) and email_of(box, again)["id"] != email["id"]
    wait_for("delivery", lambda: email_of(box, again)["last_event"] == "delivered")
    assert session.sendmail("ann@example.com", [to], new_message(to, more=more)[1]) == {}
    assert len(box.sink.now(to=to)) == 1
