"""Parts that end, die or are away while mail is sent."""

import os
import re
import signal
import subprocess
import threading
from pathlib import Path

import pytest
import requests
from harness import wait_for
from harness.httpd import check_problem
from harness.sandbox import unique

pytestmark = pytest.mark.submission


class Senders:
    """Threads that send one email after another until told to stop. At full speed they would take
    the CPU time of the parts that restart, and every email costs its share of the whole suite."""

    def __init__(self, box, n=3, pause_s=0.1):
        self.box = box
        self.pause_s = pause_s
        self.sent = {}  # id by recipient, of what was answered with 200
        self.refused = []
        self.broken = 0
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

    def _run(self):
        httpd = self.box.httpd()
        while not self.stopping.is_set():
            to = unique("to") + "@dst.test"
            try:
                answer = httpd.post(
                    {"from": "hello@example.com", "to": to, "text": "x"}
                )
            except requests.ConnectionError:
                self.broken += 1
            else:
                if answer.status_code == 200:
                    self.sent[to] = answer.json()["id"]
                else:
                    self.refused.append(answer.text)
            self.stopping.wait(self.pause_s)

    def wait_for(self, n=6):
        """Waits until n more emails were accepted."""
        goal = len(self.sent) + n
        wait_for(f"{n} emails to be taken", lambda: len(self.sent) >= goal)


def check_all_there(box, sent, flush=True):
    """Every accepted email is delivered and can be read."""
    if flush:
        box.flush()
    httpd = box.httpd()
    for to, email_id in sent.items():
        wait_for(f"{to} to be delivered", lambda: box.sink.now(to=to))
        assert httpd.read(email_id)["to"] == [to]


def check_nobody_noticed(senders, flush=True, **options):
    """No client was told to try again, and each email is there once."""
    assert (senders.refused, senders.broken) == ([], 0)
    check_all_there(senders.box, senders.sent, flush)
    check_delivered_once(senders.box, senders.sent, flush=flush, **options)


def queue_ids(mails):
    """Returns the queue ids of these emails' messages."""
    return {re.search(rb"\bid ([0-9A-Za-z]{6,})", mail.raw).group(1) for mail in mails}


def look_at_once(box, recipients):
    """Has the outbox look now, not after 90 s, what became of emails to these."""
    listed = ", ".join(f"'{to}'" for to in recipients)
    box.query("UPDATE outbox SET due_us = 1 WHERE due_us > 1 AND email IN"
              f" (SELECT email FROM email_recipient WHERE address IN ({listed}))")


def check_delivered_once(box, sent, postfix_stopped=False, flush=True):
    """Each is there, and no second copy can come. A Postfix that was stopped during a delivery may
    deliver the same message of its queue again."""
    for to in sent:
        wait_for(f"{to} to be delivered", lambda: box.sink.now(to=to))
    look_at_once(box, sent)
    box.drain(sent, flush)
    for to in sent:
        mails = box.sink.now(to=to)
        assert len(queue_ids(mails) if postfix_stopped else mails) == 1, to


def test_httpd_is_told_to_stop(own_box):
    """It finishes what it accepted; a supervisor restarts it."""
    box = own_box()
    with Senders(box) as senders:
        for number in (signal.SIGTERM, signal.SIGINT):
            senders.wait_for()
            old = box.pid("httpd")
            box.kill("httpd", number)
            box.wait_for_new("httpd", old)
            assert f"httpd {old} ended with status 0" in box.log("watch")
        senders.wait_for()
    assert senders.refused == []
    check_all_there(box, senders.sent)
    check_delivered_once(box, senders.sent)


@pytest.mark.submission("sendmail")
def test_httpd_answers_what_was_under_way(own_box):
    """A request that waits for its record at SIGTERM is answered."""
    box = own_box("--set", "submission.record_wait=3s")
    box.stop("milter")
    to = unique("to") + "@dst.test"
    answers = []
    client = threading.Thread(
        target=lambda: answers.append(
            box.httpd().post({"from": "hello@example.com", "to": to, "text": "x"})
        )
    )
    client.start()
    wait_for("the mail to be submitted", lambda: box.waiting() == 1)
    old = box.pid("httpd")
    box.kill("httpd", signal.SIGTERM)
    client.join()
    assert [a.status_code for a in answers] == [200]
    box.wait_for_new("httpd", old)
    box.start("milter")
    check_all_there(box, {to: answers[0].json()["id"]})


def test_milter_restarts(own_box):
    """Without anybody's help: pickup(8) presents what the milter put off once a minute."""
    box = own_box()
    with Senders(box) as senders:
        senders.wait_for()
        box.restart("milter")
        senders.wait_for()
    check_nobody_noticed(senders, flush=False)


@pytest.mark.submission("sendmail")
def test_socket_of_the_milter_is_removed(own_box):
    """The milter notices, finishes what it began, and is restarted."""
    box = own_box()
    with Senders(box) as senders:
        senders.wait_for()
        old = box.pid("milter")
        (box.dir / "queue/postern/milter.sock").unlink()
        box.wait_for_new("milter", old)
        box.flush()
        senders.wait_for()
    check_nobody_noticed(senders)
    assert f"milter {old} ended with status 75" in box.log("watch")
    log = box.log("milter")
    assert "event=socket_gone" in log
    counted = re.search(rf"\[{old}\] info event=counts record=(\d+) .* tempfail=(\d+)", log)
    assert int(counted.group(1)) >= 6
    recorded = re.findall(rf"\[{old}\] .* action=record ", log)
    assert int(counted.group(1)) == len(recorded)


@pytest.mark.submission("sendmail")
def test_milter_is_away(own_box):
    """Mail waits, nothing is lost, and it is recorded when the milter is back. The rules of then
    apply to it, not those of when it was accepted."""
    box = own_box("--set", "submission.record_wait=500ms")
    httpd, company = box.httpd(), box.company()
    domain = box.domain(company)
    box.stop("milter")
    sent = {}
    for _ in range(3):
        to = unique("to") + "@dst.test"
        sent[to] = httpd.send({"from": "hello@example.com", "to": to, "text": "x"})
    other = box.httpd(box.new_key(company)["token"])
    other_to = unique("to") + "@dst.test"
    other_id = other.send({"from": f"hello@{domain}", "to": other_to, "text": "x"})
    for to, email_id in sent.items():
        assert httpd.read(email_id)["last_event"] == "queued"
        assert not box.sink.now(to=to)
    wait_for("the milter to be missed", lambda: box.log("httpd").count("record_late") == 4)
    assert box.waiting() == 4
    box.cli("domain", "deactivate", domain)
    box.start("milter")
    box.flush()
    check_all_there(box, sent)
    wait_for("the refusal", lambda: other.read(other_id)["last_event"] == "failed")
    check_delivered_once(box, sent)
    for email_id in sent.values():
        assert httpd.read(email_id)["last_event"] in ("sent", "delivered")
    assert "refuse" in box.log("milter") and not box.sink.now(to=other_to)
    assert box.cli("email", "show", other_id)["state"] == "refused"


@pytest.mark.submission("sendmail")
def test_postfix_is_stopped(own_box):
    """sendmail(1) needs no running Postfix: the mail waits for its start."""
    box = own_box("--set", "submission.record_wait=500ms")
    httpd = box.httpd()
    box.stop("postfix")
    to = unique("to") + "@dst.test"
    email_id = httpd.send({"from": "hello@example.com", "to": to, "text": "x"})
    assert httpd.read(email_id)["last_event"] == "queued"
    wait_for("the submission", lambda: box.waiting() == 1)
    box.start("postfix")
    check_all_there(box, {to: email_id})
    check_delivered_once(box, [to])


def test_postfix_reloads(own_box):
    """Its daemons end when they have nothing to do, and new ones serve."""
    box = own_box()
    with Senders(box) as senders:
        for _ in range(3):
            senders.wait_for()
            box.reload_postfix()
        senders.wait_for()
    assert box.log("postfix").count(" reload -- version") >= 3
    check_nobody_noticed(senders)


def test_postfix_is_away(own_box):
    """For two seconds, then for as long as it takes to start it: no client notices, and nothing is
    lost or doubled, without anybody's help."""
    box = own_box()
    with Senders(box) as senders:
        for away_s in (2, 0):
            senders.wait_for()
            box.stop("postfix")
            senders.stopping.wait(away_s)
            box.start("postfix")
        senders.wait_for()
    check_nobody_noticed(senders, flush=False, postfix_stopped=True)


@pytest.mark.submission("sendmail")
def test_sendmail_is_missing(own_box, sendmail):
    """The email cannot be submitted and waits in the outbox."""
    box = own_box("--set", f"submission.sendmail={sendmail}")
    sendmail.unlink()
    httpd = box.httpd()
    sent = {}
    for _ in range(3):
        to = unique("to") + "@dst.test"
        sent[to] = httpd.send({"from": "hello@example.com", "to": to, "text": "x"})
        assert httpd.read(sent[to])["last_event"] == "queued"
    sendmail.symlink_to("/usr/sbin/sendmail")
    check_all_there(box, sent)
    check_delivered_once(box, sent)
    assert box.log("httpd").count("event=submission_paused") == 1
    assert box.log("httpd").count("event=submission_resumed") == 1


@pytest.mark.submission("sendmail")
@pytest.mark.parametrize("name, value", [
    ("sendmail", "/nonexistent/sendmail"),
    ("postfix_config", "/nonexistent"),
])
def test_settings_that_name_nothing(own_box, name, value):
    """Every email would fail with them: neither a reload nor a start accepts them."""
    box = own_box()
    box.stop("postfix")  # which need not run
    box.restart("httpd")
    box.set("submission", name, value)
    box.kill("httpd", signal.SIGHUP)
    fault = f"submission.{name}: {value}"
    wait_for("the refusal", lambda: fault in box.log("httpd"))
    program = Path(box.env["POSTERN_CLI"]).with_name("postern-httpd")
    done = subprocess.run([program, "-c", box.config], capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == 78 and fault in done.stderr
    box.httpd().send({"from": "hello@example.com", "to": "x@dst.test", "text": "x"})


@pytest.mark.submission("sendmail")
def test_reload(own_box):
    """SIGHUP applies new settings and keeps connections and requests."""
    box = own_box()
    httpd = box.httpd()
    email = {"from": "hello@example.com", "to": ["a@dst.test", "b@dst.test"], "text": "x"}
    httpd.send(email)
    pid = box.pid("httpd")
    box.set("http", "max_recipients", "1")
    box.kill("httpd", signal.SIGHUP)
    wait_for("the reload", lambda: "event=reloaded" in box.log("httpd"))
    wait_for("the new limit", lambda: httpd.post(email).status_code == 422)
    box.set("http", "max_recipients", "nonsense")
    box.kill("httpd", signal.SIGHUP)
    wait_for("the complaint", lambda: "reload_failed" in box.log("httpd"))
    check_problem(httpd.post(email), 422, "validation_error", "1")
    assert box.pid("httpd") == pid


@pytest.mark.submission("sendmail")
def test_reload_of_the_milter_under_load(own_box):
    """libmilter waits for the same signals, and ends the milter on each of them:
    it gets none, however many come, and SIGTERM behind them ends it in order."""
    box = own_box()
    pid = box.pid("milter")
    with Senders(box) as senders:
        senders.wait_for(5)
        for _ in range(300):
            box.kill("milter", signal.SIGHUP)
        senders.wait_for()
    wait_for("a reload", lambda: "event=reloaded" in box.log("milter"))
    assert box.pid("milter") == pid and not senders.refused
    box.kill("milter", signal.SIGHUP)
    box.kill("milter", signal.SIGTERM)
    wait_for("the end", lambda: "event=stopped" in box.log("milter"))
    box.wait_for_new("milter", pid)


@pytest.mark.submission("smtp")
def test_method_waits_for_a_restart(own_box):
    """Another method in the file takes nothing from the one that is in use: its
    server, which the settings leave open, is still known."""
    box = own_box()
    assert "smtp_server" not in box.config.read_text()
    box.set("submission", "method", "sendmail")
    box.kill("httpd", signal.SIGHUP)
    wait_for("the reload", lambda: "needs_restart=submission.method" in box.log("httpd"))
    assert " warn event=restart_needed" in box.log("httpd")
    box.httpd().send({"from": "hello@example.com", "to": "x@dst.test", "text": "x"})


@pytest.mark.store("sqlite")
@pytest.mark.submission("sendmail")
def test_disk_of_the_database_is_gone(own_box):
    """Neither daemon decides without what it cannot read; both recover."""
    box = own_box()
    httpd = box.httpd()
    httpd.send({"from": "hello@example.com", "to": "x@dst.test", "text": "x"})
    store = box.dir / "store"
    away = box.dir / "away"
    box.stop("httpd")
    store.rename(away)
    with pytest.raises(AssertionError):
        box.start("httpd")
    assert "postern.db" in box.log("httpd")
    away.rename(store)
    box.start("httpd")
    httpd.send({"from": "hello@example.com", "to": "y@dst.test", "text": "x"})
    assert box.sink.find(to="y@dst.test")


def sendmails(box):
    """Returns the sendmail(1) processes of httpd."""
    parent = f"PPid:\t{box.pid('httpd')}\n"
    pids = [int(p.parent.name) for p in Path("/proc").glob("[0-9]*/status")
            if parent in read_or_empty(p)]
    return [p for p in pids if read_or_empty(Path(f"/proc/{p}/cmdline")).startswith("smtpd\0-S")]


def read_or_empty(path):
    try:
        return path.read_text()
    except OSError:
        return ""


@pytest.mark.submission("sendmail")
def test_sendmail_is_killed(own_box, email):
    """One process takes many messages; a killed one is replaced, and no client
    notices."""
    box = own_box()
    httpd = box.httpd()
    for _ in range(3):
        httpd.send(email)
    (first,) = sendmails(box)
    os.kill(first, signal.SIGKILL)
    httpd.send(email)
    (second,) = sendmails(box)
    assert second != first
    wait_for("all of them", lambda: len(box.sink.now(to=email["to"])) == 4)
    old = sendmails(box)
    box.kill("httpd", signal.SIGKILL)
    wait_for("its end", lambda: not any(Path(f"/proc/{p}").exists() for p in old))
