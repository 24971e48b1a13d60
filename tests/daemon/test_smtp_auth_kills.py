"""Parts die, or another milter refuses, while programs send over SMTP with a key. What was answered
250 is delivered once and recorded. Anything else is delivered once and recorded, or it is neither
delivered nor reported as delivered."""

import itertools
import signal
import smtplib
import stat
import threading
from pathlib import Path

import pytest
from harness import wait_for
from harness.crash import KillAt, died, kill, kill_all, workers_of
from harness.milter import REJECT, OtherMilter
from harness.sandbox import unique
from harness.sink import target
from test_restarts import queue_ids
from test_smtp_auth import email_of, login, new_message

KILLS = 2  # of each part
STEPS_MAX = 30  # system calls of one name for one message


@pytest.fixture(scope="module")
def box(request):
    from harness import Sandbox

    # Postfix starts a daemon that died again after so long; a minute, by default.
    with Sandbox("--postconf", "service_throttle_time=1s", parts=["auth"]) as box:
        yield box
        box.failed = request.session.testsfailed > 0


class Programs:
    """Threads that send one message after another, a few in a session, until told to stop. At full
    speed they would take the CPU time of the parts that restart."""

    def __init__(self, box, n=3):
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
            self.stopping.wait(0.1)
        session.quit()

    def _run(self):
        while not self.stopping.is_set():
            try:
                self._send_some()
            except (smtplib.SMTPException, OSError):
                self.stopping.wait(0.1)

    def wait_for(self, n=6):
        goal = len(self.taken) + n
        wait_for(f"{n} messages to be taken", lambda: len(self.taken) >= goal)


def queue_is_empty(box):
    """True if Postfix has no message left to deliver, and none is on its way into the sink. What
    cleanup(8) has not finished is not executable; once it has died, that is no message."""
    box.flush()
    for name in ("maildrop", "incoming", "active", "deferred"):
        for path in (box.dir / "queue" / name).rglob("*"):
            try:
                mode = path.stat().st_mode
            except FileNotFoundError:
                return False
            if stat.S_ISREG(mode) and (mode & stat.S_IXUSR or is_written(box, path)):
                return False
    return not box.sink.is_receiving()


def is_written(box, path):
    """Whether a cleanup(8) has the queue file open."""
    for pid in workers_of(box, "cleanup"):
        if any(target(fd) == str(path) for fd in Path(f"/proc/{pid}/fd").glob("*")):
            return True
    return False


def judge(box, taken, given_up, postfix_stopped=False):
    """Checks what became of the messages, {Message-ID: recipient}. A Postfix that was stopped during
    a delivery may deliver the same message of its queue again, and may have lost lines of its log."""
    # qmgr(8) tries a message that a dead delivery agent had locked after five minutes.
    wait_for("Postfix's queue to be empty", lambda: queue_is_empty(box), 600)
    recorded = emails_to(box, [*taken.values(), *given_up.values()])
    for message_id, to in (taken | given_up).items():
        mails = box.sink.now(to=to)
        count = len(queue_ids(mails) if postfix_stopped else mails)
        ids = recorded[to]
        assert count in ((1,) if message_id in taken else (0, 1)), (message_id, to)
        assert len(ids) == 1 or count == 0 and ids == [], (message_id, to, ids)
        if count and not postfix_stopped:
            wait_for("the delivery", lambda: last_event(box, ids[0]) == "delivered")
        elif count:
            assert last_event(box, ids[0]) in ("sent", "delivered")
    for to in given_up.values():
        if not box.sink.now(to=to):
            assert "delivered" not in [last_event(box, email_id) for email_id in recorded[to]]


def emails_to(box, recipients):
    """The ids of the emails to each recipient."""
    among = ", ".join(f"'{to}'" for to in recipients)
    rows = box.sql(
        "SELECT r.address, e.id FROM email e JOIN email_recipient r ON r.email = e.seq"
        f" WHERE r.address IN ({among})"
    )
    return {to: [email_id for address, email_id in rows if address == to] for to in recipients}


def last_event(box, email_id):
    return box.httpd().read(email_id)["last_event"]


@pytest.mark.parametrize(
    "part",
    ["auth", "milter", "events", "smtpd", "cleanup", "master", "postfix", "everything"],
)
def test_killed(box, part):
    with Programs(box) as programs:
        # Postfix's daemons that lost their master keep a client waiting for ten seconds.
        for _ in range(1 if part == "master" else KILLS):
            programs.wait_for()
            kill(box, part)
            programs.wait_for()
    stopped = part in ("master", "postfix", "everything")
    judge(box, programs.taken, programs.given_up, postfix_stopped=stopped)


def send_and_kill(box, call, n):
    """Sends a message that is stored in a file of its own. The milter dies before its nth system
    call of this name. Returns the Message-ID, the recipient, and whether the message was taken."""
    to = unique("to") + "@dst.test"
    message_id, data = new_message(to, body=("x" * 70 + "\r\n") * 1000)
    session = wait_for("a login", lambda: try_login(box))
    with KillAt(box.pid("milter"), call, n):
        try:
            session.sendmail("ann@example.com", [to], data)
            return message_id, to, True
        except (smtplib.SMTPException, OSError) as error:
            assert getattr(error, "smtp_code", 451) in (421, 451)
            return message_id, to, False


def try_login(box):
    try:
        return login(box)
    except (smtplib.SMTPException, OSError):
        return None


def test_milter_is_killed_at_each_step(box):
    """While it stores a large message, commits the record, and answers Postfix."""
    taken, given_up = {}, {}
    # The answer to Postfix is a writev(2).
    calls = ("sendto", "writev") if box.on_server else ("write", "fsync", "fdatasync", "writev")
    for call in calls:
        for n in itertools.count(1):
            assert n < STEPS_MAX
            milter = box.pid("milter")
            message_id, to, ok = send_and_kill(box, call, n)
            (taken if ok else given_up)[message_id] = to
            # One that is about to die serves no new session.
            if ok and wait_for("a login", lambda: try_login(box)) and not died(milter):
                break
            wait_for("the milter to die", lambda: died(milter))
            box.wait_for_new("milter", milter)
        assert n > 1, f"no {call}"
    judge(box, taken, given_up)


class Holding(OtherMilter):
    """Answers the end of a message when it is released."""

    def __init__(self):
        super().__init__()
        self.asked, self.released = threading.Event(), threading.Event()

    def _answer(self, peer, command):
        if command[:1] == b"E":
            self.asked.set()
            self.released.wait(180)
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


def kill_behind_the_record(box, to, data, program):
    """Sends the message, and kills the workers of Postfix of this name between our milter's record
    and the end of the message. Returns the error that the client gets."""
    failed = []
    with Holding() as other:
        session = login_at(box, behind_ours(box, other))

        def send():
            try:
                session.sendmail("ann@example.com", [to], data)
            except (smtplib.SMTPException, OSError) as error:
                failed.append(error)

        sending = threading.Thread(target=send)
        sending.start()
        assert other.asked.wait(180)
        kill_all(workers_of(box, program), signal.SIGKILL)
        other.released.set()
        sending.join()
    return failed[0]


def test_smtpd_dies_behind_the_record(box, to):
    """cleanup(8) finishes the message. The client does not know, and the record does."""
    message_id, data = new_message(to)
    error = kill_behind_the_record(box, to, data, "smtpd")
    assert not hasattr(error, "smtp_code") or error.smtp_code == -1
    assert box.sink.find(to=to)
    judge(box, {message_id: to}, {})


def test_cleanup_dies_behind_the_record(box, to):
    """The client is told to come again; with its Idempotency-Key it is put off while nobody knows
    whether Postfix has the first message, and goes out once nobody does."""
    more = f"Idempotency-Key: {unique('key')}\r\n"
    first, data = new_message(to, more=more)
    error = kill_behind_the_record(box, to, data, "cleanup")
    assert getattr(error, "smtp_code", 451) == 451
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
