"""Submission by SMTP: its answers, and what happens when a side is away."""

import signal
import subprocess
import threading

import pytest
from harness import wait_for
from harness.crash import kill_all, workers_of
from harness.httpd import check_problem
from harness.sandbox import new_email, unique
from test_restarts import (
    Senders, check_all_there, check_delivered_once, check_nobody_noticed,
)

pytestmark = pytest.mark.submission("smtp")


def in_queue(box):
    """How many messages Postfix has in its queue."""
    return sum(
        1
        for name in ("incoming", "active", "deferred", "hold")
        for _ in (box.dir / "queue" / name).iterdir()
    )


@pytest.mark.parametrize("part", ["postfix", "milter"])
def test_part_is_away(own_box, part):
    """What is taken meanwhile waits in the outbox, and goes out when it is back."""
    box = own_box()
    httpd = box.httpd()
    httpd.send(new_email())
    wait_for("the first to be delivered", lambda: box.sink.all() and in_queue(box) == 0)
    box.stop(part)
    sent = {}
    for _ in range(10):
        email = new_email()
        sent[email["to"]] = httpd.send(email)
        assert httpd.read(sent[email["to"]])["last_event"] == "queued"
    email = new_email()
    sent[email["to"]] = httpd.send(email)
    assert in_queue(box) == 0
    box.start(part)
    check_all_there(box, sent)
    check_delivered_once(box, sent)
    assert box.log("httpd").count("event=submission_paused") == 1
    assert "event=submission_resumed" in box.log("httpd")


def test_start_without_postfix(own_box):
    """It starts all the same, and says what is missing, and when it came."""
    box = own_box()
    assert "smtp_server_" not in box.log("httpd")
    box.stop("postfix")
    box.restart("httpd")
    process = f"postern-httpd[{box.pid('httpd')}]"

    def warnings():  # the one before may have noticed, too
        lines = box.log("httpd").splitlines()
        return [x for x in lines if process in x and "event=smtp_server_unreachable" in x]

    wait_for("the warning", warnings)
    email = new_email()
    email_id = box.httpd().send(email)
    box.start("postfix")
    wait_for("good news", lambda: "event=smtp_server_reached" in box.log("httpd"))
    check_all_there(box, {email["to"]: email_id})
    assert len(warnings()) == 1


def test_used_sessions_survive_a_restart(own_box):
    """Between two emails the milter, then Postfix, is started anew: nobody
    notices."""
    box = own_box()
    httpd = box.httpd()
    sent = {}
    for part in ("milter", "postfix", "milter"):
        email = new_email()
        sent[email["to"]] = httpd.send(email)
        box.restart(part)
    email = new_email()
    sent[email["to"]] = httpd.send(email)
    check_all_there(box, sent)
    check_delivered_once(box, sent, postfix_stopped=True)


def test_daemons_of_postfix_die(own_box):
    """In the middle of messages. Postfix starts them again after a minute, as it does unless told
    otherwise; test_kills.py has it do so after a second."""
    box = own_box("--set", "submission.timeout=2s")
    with Senders(box) as senders:
        senders.wait_for()
        kill_all(workers_of(box, "smtpd"), signal.SIGKILL)
    check_nobody_noticed(senders, postfix_stopped=True)


def test_record_is_there_at_once(own_box):
    """The verdict comes before the answer: nothing has to be waited for."""
    box = own_box("--set", "submission.record_wait=0s")
    httpd = box.httpd()
    for _ in range(20):
        email = new_email()
        assert httpd.read(httpd.send(email))["to"] == [email["to"]]
    assert "record_late" not in box.log("httpd")


def test_refused_by_postfix(own_box, tmp_path):
    """By its text, and nothing stays behind. The session goes on. An email whose client was told
    the id before Postfix refused it has failed, in Postfix's words."""
    checks = tmp_path / "checks"
    checks.write_text("/^Subject: bad/ REJECT not this one\n")
    for folder in [tmp_path, *tmp_path.parents[:2]]:
        folder.chmod(0o755)
    box = own_box("--postconf", f"header_checks=regexp:{checks}")
    httpd = box.httpd()
    httpd.send(new_email())
    answer = httpd.post(new_email(subject="bad"))
    check_problem(answer, 422, "validation_error", "not this one")
    httpd.send(new_email())
    assert len(box.cli("email", "list")) == 2
    assert box.log("postfix").count("smtpd[") > 0
    box.stop("postfix")
    late = new_email(subject="bad")
    late_id = httpd.send(late)
    assert httpd.read(late_id)["last_event"] == "queued"
    box.start("postfix")
    wait_for("its end", lambda: httpd.read(late_id)["last_event"] == "failed")
    assert "not this one" in box.cli("email", "show", late_id)["refusal"]
    (event,) = httpd.request("GET", f"/emails/{late_id}/events").json()["data"]
    assert event["type"] == "failed" and "not this one" in event["message"], event
    assert box.query("SELECT count(*) FROM outbox") == "0" and not box.sink.now(to=late["to"])


def test_submission_by_tcp(own_box):
    """By a service that takes any recipient: the milter takes tickets from there
    then. What Postfix has against a recipient bounces for that one alone."""
    box = own_box()
    server = box.add_smtpd("smtpd_reject_unlisted_recipient=no")
    box.set("submission", "smtp_server", "inet:" + server)
    box.restart("milter")
    box.restart("httpd")
    email = new_email()
    to, sender = email["to"], unique("sender") + "@example.com"
    email_id = box.httpd().send({**email, "from": sender, "bcc": ["gone@bounce.test", "c@dst.test"]})
    check_all_there(box, {to: email_id})
    check_delivered_once(box, [to, "c@dst.test"])
    bounce = box.sink.find(to=sender)
    assert b"gone@bounce.test" in bounce.raw and b"postern.invalid" not in bounce.raw


def test_ticket_is_refused_by_the_service(own_box):
    """It is Postfix that has to be mended: the email waits for that."""
    box = own_box()
    server = box.add_smtpd(
        "smtpd_recipient_restrictions=check_recipient_access"
        " regexp:{{/postern\\.invalid/ 550 5.1.1 nobody here}}"
    )
    box.set("submission", "smtp_server", "inet:" + server)
    box.restart("milter")
    box.restart("httpd")
    email = new_email()
    email_id = box.httpd().send(email)
    assert box.httpd().read(email_id)["last_event"] == "queued"
    assert "nobody here" in box.log("httpd")
    box.set("submission", "smtp_server", "")
    box.restart("httpd")
    check_all_there(box, {email["to"]: email_id})
    check_delivered_once(box, [email["to"]])


def post_all(box, n):
    """The answers to n emails at once, each on its own connection."""
    answers = []
    threads = [
        threading.Thread(target=lambda: answers.append(box.httpd().post(new_email())))
        for _ in range(n)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


@pytest.mark.parametrize("scarce", ["sessions", "processes"])
def test_one_session_serves_all(own_box, scarce):
    """One after another; those who wait are not refused. Where Postfix has a single process, the
    kernel accepts the connections of the other sessions, and nobody answers them: no email waits
    for that."""
    box = own_box("--set", "http.workers=1", "--set", "submission.record_wait=50s",
                  *(["--set", "submission.sessions=1"] if scarce == "sessions" else []))
    if scarce == "processes":
        subprocess.run(["postconf", "-c", box.env["POSTFIX_CONFIG"], "-F",
                        "postern/unix/process_limit=1"], check=True, timeout=60)
        box.reload_postfix()
    answers = post_all(box, 30)
    assert [a.status_code for a in answers] == [200] * 30
    assert len(list(workers_of(box, "smtpd"))) == 1
    # None was answered only since it had waited too long.
    assert box.query("SELECT count(*) FROM email WHERE state = 'sent'") == "30"


def test_too_many_at_once(own_box):
    """What does not fit into memory is read from the store when its turn comes."""
    box = own_box("--set", "submission.max_pending=3", "--set", "submission.sessions=1")
    answers = post_all(box, 30)
    assert [a.status_code for a in answers] == [200] * 30
    wait_for("all of them", lambda: len(box.sink.all()) == 30)


def test_sessions_end_when_nobody_needs_them(own_box):
    box = own_box()
    post_all(box, 8)
    wait_for("the end of the sessions", lambda: "quit=1" in box.log("postfix"))
    box.httpd().send(new_email())
    assert "lost connection" not in box.log("postfix")
