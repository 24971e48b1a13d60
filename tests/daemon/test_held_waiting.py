"""postern held release --waiting: emails that Postfix took without asking the
milter, through real Postfix."""

import json
import subprocess

import pytest
from harness import wait_for
from harness.sandbox import STORE, new_email, unique
from harness.submit import by_sendmail

# What takes the milter out, whichever way mail is submitted.
NO_MILTERS = ["receive_override_options=no_milters", "non_smtpd_milters="]


@pytest.fixture
def box(own_box):
    return own_box("--set", "submission.record_wait=0")


def postfix(box, command, *words):
    subprocess.run([command, "-c", box.env["POSTFIX_CONFIG"], *words],
                   check=True, capture_output=True, timeout=60)


def read(box, name):
    return subprocess.run(["postconf", "-c", box.env["POSTFIX_CONFIG"], "-h", name],
                          check=True, capture_output=True, text=True, timeout=60).stdout.strip()


class NotInCharge:
    """While it is entered, Postfix asks no milter."""

    def __init__(self, box):
        self.box = box

    def __enter__(self):
        self.milters = read(self.box, "non_smtpd_milters")
        for setting in NO_MILTERS:
            self.box.postconf(setting)
        self._reload()

    def __exit__(self, *_):
        self.box.postconf("receive_override_options=")
        self.box.postconf(f"non_smtpd_milters={self.milters}")
        self._reload()

    def _reload(self):
        """With new processes of all services, of which some are reused."""
        self.box.stop("postfix")
        self.box.start("postfix")


def queue(box):
    lines = subprocess.run(
        ["postqueue", "-c", box.env["POSTFIX_CONFIG"], "-j"],
        check=True, capture_output=True, text=True, timeout=60).stdout.splitlines()
    return [json.loads(line) for line in lines]


def send(box, n):
    """Makes n emails wait in Postfix; returns recipients by id."""
    to = {}
    with NotInCharge(box):
        for start in range(0, n, 100):
            emails = [new_email() for _ in range(start, min(n, start + 100))]
            answer = box.httpd().batch(emails)
            assert answer.status_code == 200, answer.text
            ids = [item["id"] for item in answer.json()["data"]]
            assert len(ids) == len(emails)
            to.update(zip(ids, (email["to"] for email in emails)))
        wait_for("all to wait", lambda: [i["queue_name"] for i in queue(box)] == ["deferred"] * n)
        box.stop("httpd")  # which would submit them again by and by
    assert box.sink.all() == []
    return to


def command(box, *words):
    return [box.env["POSTERN_CLI"], "-c", box.config, "--json", "held", *words]


def held(box, *words, status=0):
    done = subprocess.run(command(box, *words), stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=300)
    assert done.returncode == status, done.stderr
    return json.loads(done.stdout)


def check_once(box, to):
    """Each email was sent once, and its record says so."""
    wait_for("all mail", lambda: len(box.sink.all()) >= len(to))
    # What a killed sendmail made of a message is none of ours any more: it is held.
    wait_for("an empty queue", lambda: box.waiting() == 0
             and all(item["queue_name"] == "hold" for item in queue(box)))
    assert sorted(r for d in box.sink.all() for r in d.recipients) == sorted(to.values())
    for email_id in to:
        assert box.cli("email", "show", email_id)["state"] == "sent"


@pytest.mark.submission
def test_what_waits_goes_on(box):
    to = send(box, 4)
    rows = held(box, "list")
    assert {row["email_id"]: row["to"] for row in rows} == {i: [t] for i, t in to.items()}
    assert {row["state"] for row in rows} == {"waiting"}
    assert {row["domain"] for row in rows} == {"example.com"}
    shown = held(box, "show", rows[0]["queue_id"])
    assert "--waiting" in shown["next"] and "Subject" not in shown["header"]
    one = rows[0]["queue_id"]
    assert held(box, "recheck", one) == [{"queue_id": one, "outcome": "sent", "detail": None}]
    dropped = rows[1]
    assert held(box, "drop", "--yes", dropped["queue_id"])[0]["outcome"] == "dropped"
    to.pop(dropped["email_id"])
    assert {row["outcome"] for row in held(box, "release", "--waiting")} == {"sent"}
    check_once(box, to)
    assert held(box, "list") == []
    assert held(box, "release", "--waiting") == []


def noting_sendmail(folder):
    """A sendmail(1) that records its arguments, which every user of a host can read."""
    script = folder / "sendmail"
    noted = folder / "arguments"
    script.write_text(f'#!/bin/sh\necho "$@" >>{noted}\nexec /usr/sbin/sendmail "$@"\n')
    script.chmod(0o755)
    folder.chmod(0o777)
    noted.touch()
    noted.chmod(0o666)
    return script, noted


def test_odd_messages_go_on_as_they_are(own_box, tmp_path_factory):
    """Senders that need quotes, and lines that begin with a dot. No ticket is among the arguments
    of a process."""
    folder = tmp_path_factory.mktemp("noting")
    folder.parent.chmod(0o755)
    script, noted = noting_sendmail(folder)
    box = own_box("--set", "submission.record_wait=0", "--set", f"submission.sendmail={script}")
    senders = ['"hel lo"@example.com', '"a@b"@example.com', '"a\\"b"@example.com']
    text = ".\n..x\n\u00fc\n."
    with NotInCharge(box):
        to = {sender: unique("to") + "@dst.test" for sender in senders}
        for sender in senders:
            box.httpd().send({"from": sender, "to": to[sender], "text": text})
        wait_for("all to wait", lambda: [i["queue_name"] for i in queue(box)] == ["deferred"] * 3)
    box.stop("httpd")
    noted.write_text("")
    assert [row["outcome"] for row in held(box, "release", "--waiting")] == ["sent"] * 3
    assert "-bs" in noted.read_text()
    assert "@postern.invalid" not in noted.read_text()
    for sender in senders:
        mail = box.sink.find(to=to[sender])
        assert mail.sender == sender
        assert mail.body("plain").rstrip("\n") == text


def test_the_rules_are_asked(box):
    to = send(box, 2)
    box.cli("domain", "deactivate", "example.com")
    rows = held(box, "release", "--waiting")
    assert {row["outcome"] for row in rows} == {"refused"}
    wait_for("an empty queue", lambda: queue(box) == [])
    assert box.sink.all() == []
    for email_id in to:
        assert box.cli("email", "show", email_id)["state"] == "refused"


def test_a_stranger_with_a_ticket_of_nobody(box):
    with NotInCharge(box):
        by_sendmail(box, "<x@made.test>", "a@other.test", ["0" * 32 + "@postern.invalid"],
                    b"From: a@other.test\nMessage-ID: <x@made.test>\n\nx\n")
        # In the maildrop it would be shown to the milter once that is asked again.
        wait_for("it to wait", lambda: [i["queue_name"] for i in queue(box)] == ["deferred"])
    row, = held(box, "list")
    assert row["state"] == "waiting" and row["email_id"] is None
    assert held(box, "release", "--waiting", status=66)[0]["outcome"] == "failed"
    assert held(box, "drop", "--yes", row["queue_id"])[0]["outcome"] == "dropped"


def test_probes_are_removed(own_box):
    """Probes are removed with everything else that waits."""
    box = own_box("--set", "submission.record_wait=0", "--set", "submission.probe_interval=1s")
    with NotInCharge(box):
        wait_for("a probe to wait", lambda: "deferred" in [i["queue_name"] for i in queue(box)])
        box.stop("httpd")
    outcomes = set()

    def release():
        """Postfix first scans the whole deferred queue, and does not deliver
        meanwhile."""
        outcomes.update(row["outcome"] for row in held(box, "release", "--waiting"))
        return queue(box) == []

    wait_for("an empty queue", release)
    assert outcomes == {"removed"} and box.sink.all() == []


def test_while_the_milter_is_still_not_in_charge(box):
    """The command says so after the first few, and nothing is lost."""
    to = send(box, 20)
    with NotInCharge(box):
        rows = held(box, "release", "--waiting", status=75)
        assert [row["outcome"] for row in rows].count("submitted") == 16
        assert [row["outcome"] for row in rows].count("failed") == 4
        wait_for("all to wait again",
                 lambda: [i["queue_name"] for i in queue(box)] == ["deferred"] * 20)
    held(box, "release", "--waiting")
    check_once(box, to)


def wrapper(box, script):
    """A sendmail that does something else; the real one is $REAL."""
    path = box.dir / f"sendmail-{unique()}"
    path.write_text(f"#!/bin/bash\nREAL=/usr/sbin/sendmail\n{script}\n")
    path.chmod(0o755)
    return path


# Instead of sendmail(1): one that dies before, while and after it submits, or has
# the command killed; that is its parent.
SENDMAILS = [
    'kill -KILL $PPID; exec $REAL "$@"',
    '$REAL "$@"; kill -KILL $PPID',
    '$REAL "$@" & sleep 0.01; kill -KILL $PPID $! $$',
    '[ $((RANDOM % 4)) != 0 ] || kill -KILL $PPID; exec $REAL "$@"',
    'kill -KILL $$',
    '[ $((RANDOM % 2)) != 0 ] || kill -KILL $$; $REAL "$@"; kill -KILL $$',
    '[ $((RANDOM % 2)) != 0 ] || exit 75; $REAL "$@"; exit 75',
]

# Where the command dies: at its nth system call of a name. It runs postconf and
# postqueue; for each batch 16 times postcat, as often sendmail, and postsuper.
CALLS = [
    ("clone3", 1), ("clone3", 2), ("clone3", 9), ("flock", 1), ("wait4", 18),
    *((("sendto", 2), ("sendto", 9), ("recvfrom", 12)) if STORE == "postgresql" else
      (("fdatasync", 1), ("pwrite64", 1), ("pwrite64", 3))),
    ("clone3", 19), ("clone3", 34), ("wait4", 19), ("clone3", 35), ("wait4", 35), ("close", 100),
    ("memfd_create", 20),
]


def submit_with(box, script):
    box.set("submission", "sendmail", str(wrapper(box, script)))


def submit_as_usual(box):
    box.set("submission", "sendmail", "/usr/sbin/sendmail")


def test_two_messages_of_one_email(box):
    """As after a kill between the new message and the removal of the old one."""
    to = send(box, 2)
    with NotInCharge(box):
        submit_with(box, SENDMAILS[1])
        subprocess.run(command(box, "release", "--waiting"), capture_output=True, timeout=60)
        submit_as_usual(box)
        wait_for("old and new to wait",
                 lambda: [i["queue_name"] for i in queue(box)].count("deferred") > 2)
    held(box, "release", "--waiting")
    check_once(box, to)


def test_killed_at_any_step(box):
    """No email is lost or doubled, however often and wherever command and sendmail are
    killed."""
    to = send(box, 64)
    for call, nth in CALLS:
        killed = subprocess.run(
            ["strace", "-qq", "-o", "/dev/null", "-e", f"trace={call}",
             "-e", f"inject={call}:signal=SIGKILL:when={nth}", *command(box, "release", "--waiting")],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
        assert killed.returncode != 0, (call, nth)
    assert len(queue(box)) > 0
    for script in SENDMAILS:
        submit_with(box, script)
        subprocess.run(command(box, "release", "--waiting"), stdin=subprocess.DEVNULL,
                       capture_output=True, timeout=300)
    submit_as_usual(box)
    held(box, "release", "--waiting")
    check_once(box, to)


def test_one_at_a_time(box):
    """Two commands at once could each rely on the other's message."""
    to = send(box, 4)
    commands = [subprocess.Popen(command(box, "release", "--waiting"), stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
                for _ in range(4)]
    for started in commands:
        started.communicate(timeout=180)
        assert started.returncode in (0, 75)
    held(box, "release", "--waiting")
    check_once(box, to)


@pytest.mark.submission("sendmail")
def test_what_waits_for_a_milter_that_is_away(box):
    """The message is sent automatically; nobody has to release it."""
    before = unique("to") + "@dst.test"
    box.httpd().send({"from": "hello@example.com", "to": before, "text": "x"})
    assert box.sink.find(to=before)
    box.stop("milter")
    to = unique("to") + "@dst.test"
    box.httpd().send({"from": "hello@example.com", "to": to, "text": "x"})
    wait_for("it to wait", lambda: [i["queue_name"] for i in queue(box)] == ["maildrop"])
    item, = queue(box)
    row, = box.cli("held", "list")
    assert row["reason"] == (
        "It is in Postfix's maildrop: postern-milter has not answered about it yet, or "
        "Postfix does not run."
    )
    shown = box.cli("held", "show", item["queue_id"])
    assert "tries again by itself" in shown["next"] and "--waiting" not in shown["next"]
    box.start("milter")
    postfix(box, "postqueue", "-f")
    assert box.sink.find(to=to)
