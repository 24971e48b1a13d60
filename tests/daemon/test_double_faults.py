"""What may be delivered twice, with the same id and Message-ID, and is never lost: a test for each
line of "What may be delivered twice" in doc/ARCHITECTURE.md. In tests/kills such faults
come by chance."""

import signal
import subprocess

import pytest
from harness import wait_for
from harness.crash import KillAt, died, kill_all, kill_postfix, workers_of
from harness.sandbox import METHOD
from test_power_loss import Request, proven, states_of
from test_restarts import queue_ids


def check_twice(box, to, email_id, messages=2):
    """Delivered twice, as that many messages of Postfix. Their recipients can see that they are
    one email."""
    mails = wait_for("the second", lambda: len(box.sink.now(to=to)) == 2 and box.sink.now(to=to))
    assert len(queue_ids(mails)) == messages
    message_id = box.httpd().read(email_id)["message_id"]
    assert {mail.header("Message-ID") for mail in mails} == {message_id}


@pytest.mark.store("sqlite")  # where the milter itself waits for the disk
@pytest.mark.submission("smtp")
def test_milter_stands_still(own_box):
    """httpd dies after the record; milter and cleanup(8) continue when the email has
    been submitted again."""
    box = own_box()
    Request(box).send()
    wait_for("the proof", lambda: proven(box))
    request = Request(box)
    milter = box.pid("milter")
    email_id = request.cut_off(milter, "fdatasync")
    to = request.email["to"]
    wait_for("the new ticket", lambda: "event=submitted_again" in box.log("httpd"))
    assert not box.sink.now(to=to)
    kill_all([milter], signal.SIGCONT)
    check_twice(box, to, email_id)


@pytest.mark.submission("smtp")
def test_log_lost_lines(own_box):
    """httpd dies after the record, and the log lines of the message are lost."""
    box = own_box()
    Request(box).send()
    wait_for("the proof", lambda: proven(box))
    box.stop("events")
    request = Request(box)
    email_id = request.cut_off()
    kill_all(workers_of(box, "cleanup"), signal.SIGCONT)
    to = request.email["to"]
    assert box.sink.find(to=to)
    log = box.dir / "log/postfix.log"
    (queue_id,) = queue_ids(box.sink.now(to=to))
    wait_for("it to leave the queue", lambda: f"{queue_id.decode()}: removed" in box.log("postfix"))
    text = log.read_text().splitlines(keepends=True)
    with log.open("r+") as file:  # as long as it was: nobody takes it for another file
        file.write("".join(
            line.replace(queue_id.decode(), "0" * len(queue_id)) for line in text))
    box.start("events")
    check_twice(box, to, email_id)
    assert states_of(box, to) == ["sent"]


@pytest.mark.submission("smtp")
def test_log_is_late(own_box):
    """httpd dies after the record, and the log lines of the message come when it has been
    submitted again."""
    box = own_box()
    Request(box).send()
    wait_for("the proof", lambda: proven(box))
    postlogd = list(workers_of(box, "postlogd"))
    assert postlogd
    request = Request(box)
    email_id = request.cut_off()
    kill_all(postlogd, signal.SIGSTOP)
    kill_all(workers_of(box, "cleanup"), signal.SIGCONT)
    to = request.email["to"]
    wait_for("the first", lambda: box.sink.now(to=to))
    wait_for("the new ticket", lambda: "event=submitted_again" in box.log("httpd"))
    kill_all(postlogd, signal.SIGCONT)
    check_twice(box, to, email_id)
    assert states_of(box, to) == ["sent"]


# What a program does when the queue file of a message from the maildrop is complete.
LAST_STEPS = {"pickup": "unlink,unlinkat", "cleanup": "fsync"}


@pytest.mark.submission("sendmail")
@pytest.mark.parametrize("program", LAST_STEPS)
@pytest.mark.parametrize("told", ["before", "in time", "too late", "slow recipient"])
def test_dies_behind_the_queue_file(own_box, program, told):
    """The maildrop presents the message again: after the log mentions the first one, or before
    that; then it waits for the log, ten seconds at least. Only if nothing comes, since
    postern-events is not running or the recipient's server does not answer, it is delivered
    twice."""
    box = own_box("--postconf", "service_throttle_time=1s")
    Request(box).send()
    wait_for("the proof", lambda: proven(box))
    request = Request(box)
    sink = int(box.sink.pid_file.read_text())
    if told == "slow recipient":
        kill_all([sink], signal.SIGSTOP)
    elif told != "before":
        box.stop("events")
    (pid,) = workers_of(box, program)
    to = request.email["to"]
    with KillAt(pid, LAST_STEPS[program], 1):
        email_id = request.send()
        wait_for(f"{program} to die", lambda: died(pid))
    # Nobody has told qmgr(8) of the queue file when it was cleanup that died.
    if told != "slow recipient":
        wait_for("the first", lambda: box.flush() or box.sink.now(to=to))
    if told == "in time":
        wait_for("it to wait", lambda: box.flush() or "reason=ticket_open" in box.log("milter"))
        assert box.waiting() == 1
        box.start("events")
    if told in ("before", "in time"):
        wait_for("the log", lambda: box.httpd().read(email_id)["last_event"] == "delivered")
    wait_for("pickup to take it again", lambda: box.flush() or box.waiting() == 0)
    if told in ("before", "in time"):
        wait_for("it to be thrown away", lambda: "reason=ticket_spent" in box.log("milter"))
        assert box.sink.find(to=to)
    else:
        assert "reason=ticket_open" in box.log("milter")
        kill_all([sink], signal.SIGCONT)
        check_twice(box, to, email_id)


@pytest.mark.submission
@pytest.mark.store("sqlite")
def test_backup_is_put_back(own_box, tmp_path, sendmail):
    """The restored backup has an email in its outbox that has been sent since."""
    box = own_box("--set", f"submission.sendmail={sendmail}")
    if METHOD == "smtp":
        box.stop("postfix")
    else:
        sendmail.unlink()
    request = Request(box)
    email_id = request.send()
    large = Request(box)
    large.email["text"] = "x" * 100_000
    large_id = large.send()
    backup = tmp_path / "backup.db"
    box.query(f"VACUUM INTO '{backup}'")
    if METHOD == "smtp":
        box.start("postfix")
    else:
        sendmail.symlink_to("/usr/sbin/sendmail")
    for request_ in (request, large):
        assert box.sink.find(to=request_.email["to"])
    wait_for("the proof", lambda: proven(box))
    for part in ("httpd", "milter", "events"):
        box.stop(part)
    box.cli("db", "restore", str(backup))
    for part in ("milter", "events", "httpd"):
        box.start(part)
    for request_, id_ in ((request, email_id), (large, large_id)):
        check_twice(box, request_.email["to"], id_)


@pytest.mark.submission
def test_postfix_stops_during_a_delivery(own_box):
    """smtp(8) has the reply of the next host, and has logged it, but has not marked the recipient
    in the queue file when Postfix ends."""
    box = own_box()
    # The same process delivers the first email and the second one.
    subprocess.run(["postconf", "-c", box.dir / "postfix", "-F", "smtp/unix/process_limit=1"],
                   check=True, timeout=180)
    box.restart("postfix")
    Request(box).send()
    wait_for("it to leave the queue", lambda: ": removed" in box.log("postfix"))
    (smtp,) = workers_of(box, "smtp")
    request = Request(box)
    to = request.email["to"]
    with KillAt(smtp, "sendto", 1, "SIGSTOP"):
        email_id = request.send()
        wait_for("the log line", lambda: f"to=<{to}>" in box.log("postfix"))
        kill_postfix(box)
    box.start("postfix")
    check_twice(box, to, email_id, messages=1)
    wait_for("the log", lambda: box.httpd().read(email_id)["last_event"] == "delivered")
