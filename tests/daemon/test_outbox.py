"""Accepted means kept: what waits in the outbox, and how it goes on.

Every line of the table of answers ("The outbox" in doc/ARCHITECTURE.md), and every step between
the states of an email that waits, is tried with a fake Postfix in tests/unit/test_outbox.c, and with
a real one in these tests; those whose outcome depends on it run by sendmail(1) and by SMTP:

  the milter's record and the 250      test_restarts.py test_postfix_is_away; nearly every other test
  the milter refuses                   test_outcomes.py test_rules_are_fresh_when_the_milter_looks,
                                       test_changed_by_postfix.py test_another_milter
  Postfix refuses for good             test_smtp.py test_refused_by_postfix; by sendmail(1) the
                                       message is in the maildrop by then, and the email `bounced`:
                                       test_email_report.py test_stopped_by_a_rule
  Postfix or the milter is away,       test_restarts.py, test_smtp.py test_part_is_away,
    busy, lost                         test_too_many_at_once; test_kills.py
  record_wait is over                  test_restarts.py test_milter_is_away; test_faults.py
                                       test_stands_still
  answer = queued; over 50 emails      test_answer_when_queued, test_newsletter
  the store cannot take it             test_full_outbox, test_disk_is_nearly_full; test_faults.py
                                       test_disk_of_the_store
  it takes it, but cannot sync         test_faults.py test_disk_does_not_sync

  scheduled: its time, PATCH, cancel   test_scheduled.py test_goes_out_at_its_time,
                                       test_another_time, test_canceled; test_clock_steps.py
  queued: sent                         test_large_messages_are_kept
          refused by the milter        test_restarts.py test_milter_is_away;
                                       test_scheduled.py test_rules_hold_when_it_goes_out
          refused for good by Postfix  test_smtp.py test_refused_by_postfix
          outbox.lifetime is over      test_lifetime
          canceled                     test_large_messages_are_kept; test_scheduled.py
                                       test_cancel_races_with_the_dispatcher
  sent: kept until there is proof      test_power_loss.py; test_double_faults.py
  final, an event with its reason      test_scheduled.py test_cancel_is_an_event, test_lifetime,
                                       test_smtp.py test_refused_by_postfix
"""

import base64
import json
import os
import re
import shutil
import signal
import time

import pytest
from harness import wait_for
from harness.form import FormClient
from harness.httpd import check_problem
from harness.sandbox import METHOD, new_email, unique
from test_restarts import Senders, check_all_there, check_delivered_once

LARGE = base64.b64encode(os.urandom(300_000)).decode()


def large_email():
    return new_email(attachments=[{"filename": "a.bin", "content": LARGE}])


def is_empty(box):
    return box.query("SELECT count(*) FROM outbox") == "0"


def put(link, program):
    """Changes the rows in one step, since httpd may read them at any time."""
    fresh = link.with_name("fresh")
    fresh.symlink_to(program)
    fresh.replace(link)


@pytest.fixture
def away(own_box, sendmail):
    """A sandbox whose Postfix accepts no email; back() ends that."""
    box = own_box("--set", "submission.record_wait=1s", "--set",
                  f"submission.sendmail={sendmail}")
    if METHOD == "smtp":
        box.stop("postfix")
        box.back = lambda: box.start("postfix")
    else:
        put(sendmail, "/bin/false")
        box.back = lambda: put(sendmail, "/usr/sbin/sendmail")
    return box


@pytest.mark.submission
def test_large_messages_are_kept(away):
    """They survive httpd, and stay for retention.messages once Postfix has the
    messages."""
    emails = [large_email(), new_email(), large_email()]
    sent = {email["to"]: away.httpd().send(email) for email in emails}
    assert away.large_messages() == {sent[emails[0]["to"]], sent[emails[2]["to"]]}
    # What waits can be canceled.
    canceled = new_email()
    canceled_id = away.httpd().send(canceled)
    assert away.httpd().read(canceled_id)["last_event"] == "queued"
    assert away.httpd().request("POST", f"/emails/{canceled_id}/cancel").status_code == 200
    pid = away.pid("httpd")
    away.kill("httpd")
    away.wait_for_new("httpd", pid)
    assert len(away.large_messages()) == 2
    away.back()
    check_all_there(away, sent)
    check_delivered_once(away, sent)
    assert LARGE[:60].encode() in away.sink.find(to=emails[0]["to"]).raw
    wait_for("the outbox to be empty", lambda: is_empty(away))
    assert not away.sink.now(to=canceled["to"])
    assert away.httpd().read(canceled_id)["last_event"] == "canceled"
    assert len(away.large_messages()) == 2
    assert away.query("SELECT count(*) FROM message") == "4"
    away.set("retention", "messages", "1ms")
    away.restart("httpd")
    wait_for("the messages to go", lambda: away.query("SELECT count(*) FROM message") == "0")
    assert away.query("SELECT count(*) FROM message_kept") == "0"


@pytest.mark.store("sqlite")
@pytest.mark.parametrize("how", ["missing", "cut"])
@pytest.mark.parametrize("comes_back", [True, False])
def test_file_of_a_message_is_lost(away, how, comes_back):
    """The email waits for it, as while a file system is not mounted or a backup is put back, and
    fails with that reason when its lifetime is over. Others continue."""
    lost, other = large_email(), large_email()
    lost_id, other_id = (away.httpd().send(email) for email in (lost, other))
    file = away.dir / f"store/postern.db-messages/{lost_id}"
    before = file.read_bytes()
    if how == "missing":
        file.unlink()
    else:
        os.truncate(file, 1000)
    away.back()
    check_all_there(away, {other["to"]: other_id})
    line = wait_for("the log to tell", lambda: re.search(
        f"event=message_missing email={lost_id} .*", away.log("httpd")))
    assert "effect=" in line.group(0) and "hint=" in line.group(0)
    row = "email = (SELECT seq FROM email WHERE id = '" + lost_id + "')"
    wait_for("it to be put off", lambda: "missing" in away.query(f"SELECT reason FROM outbox WHERE {row}"))
    assert away.httpd().read(lost_id)["last_event"] == "queued"
    away.query(f"UPDATE outbox SET due_us = 1 WHERE {row}")
    wait_for("the log to count it", lambda: re.search("event=message_missing emails=1 .*", away.log("httpd")))
    assert away.log("httpd").count(f"event=message_missing email={lost_id} ") == 1
    wait_for("it to be put off again", lambda: int(away.query(f"SELECT due_us FROM outbox WHERE {row}")) > 1)
    if comes_back:
        file.write_bytes(before)
        shutil.chown(file, file.parent.owner(), file.parent.group())
    else:
        away.query(f"UPDATE email SET created_us = 1 WHERE id = '{lost_id}'")
    away.query(f"UPDATE outbox SET due_us = 1 WHERE {row}")
    if comes_back:
        check_delivered_once(away, {lost["to"]: lost_id})
        return
    wait_for("its end", lambda: away.httpd().read(lost_id)["last_event"] == "failed")
    shown = away.cli("email", "show", lost_id)
    assert shown["state"] == "failed" and "missing" in shown["refusal"]
    assert not away.sink.now(to=lost["to"])


@pytest.mark.store("sqlite")
def test_forgotten_files_go(own_box):
    box = own_box()
    sent = large_email()
    box.httpd().send(sent)
    folder = box.dir / "store/postern.db-messages"
    old, fresh = (folder / "00000000-0000-4000-8000-00000000000{}".format(n) for n in (1, 2))
    for file in (old, fresh):
        file.write_text("x")
    os.utime(old, (time.time() - 7200,) * 2)
    box.restart("httpd")
    wait_for("the old one to go", lambda: not old.exists())
    assert fresh.exists()


def test_answer_when_queued(own_box):
    """No request waits for Postfix; GET reports what the milter refuses."""
    box = own_box("--set", "submission.answer=queued")
    httpd = box.httpd()
    key = {"headers": {"Idempotency-Key": unique()}}
    email = new_email()
    ids = {httpd.post(email, **key).json()["id"] for _ in range(3)}
    assert len(ids) == 1
    check_all_there(box, {email["to"]: ids.pop()})
    check_delivered_once(box, [email["to"]])


@pytest.mark.submission
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_answered_before_it_is_begun(own_box, number):
    """httpd ends with emails that it has answered and not submitted yet."""
    box = own_box("--set", "submission.answer=queued")
    with Senders(box) as senders:
        for _ in range(2):
            senders.wait_for()
            old = box.pid("httpd")
            box.kill("httpd", number)
            box.wait_for_new("httpd", old)
        senders.wait_for()
    assert senders.refused == []
    check_all_there(box, senders.sent)
    check_delivered_once(box, senders.sent)


@pytest.mark.submission("sendmail")
def test_lifetime(own_box, sendmail):
    """An email that is not accepted for so long fails."""
    box = own_box("--set", f"submission.sendmail={sendmail}", "--set", "outbox.lifetime=1m")
    put(sendmail, "/bin/false")
    httpd = box.httpd()
    email_id = httpd.send(new_email())
    box.query(f"UPDATE email SET created_us = created_us - 60000000 WHERE id = '{email_id}'")
    wait_for("its end", lambda: httpd.read(email_id)["last_event"] == "failed")
    assert "in time" in box.cli("email", "show", email_id)["refusal"]
    (event,) = httpd.request("GET", f"/emails/{email_id}/events").json()["data"]
    assert event["type"] == "failed" and "in time" in json.dumps(event), event
    assert is_empty(box)


def test_full_outbox(away):
    """503, and nothing is stored; with room again, emails are accepted."""
    away.set("outbox", "max_bytes", "1048576")
    away.restart("httpd")
    httpd = away.httpd()
    sent = {}
    while True:
        email = large_email()
        answer = httpd.post(email)
        if answer.status_code != 200:
            break
        sent[email["to"]] = answer.json()["id"]
    assert answer.status_code == 503 and int(answer.headers["Retry-After"]) > 0
    assert 1 <= len(sent) < 5
    assert len(away.large_messages()) == len(sent)
    # What one company lets wait leaves room for another one's.
    company = away.company()
    theirs = {**large_email(), "from": f"a@{away.domain(company)}"}
    other = away.httpd(away.new_key(company)["token"])
    other_id = other.send(theirs)
    assert other.post(theirs).status_code == 503
    away.back()
    check_all_there(away, sent)
    away.sink.find(to=theirs["to"])
    wait_for("its end", lambda: other.read(other_id)["last_event"] == "delivered")
    wait_for("the outbox to be empty", lambda: is_empty(away))
    again = large_email()
    check_all_there(away, {again["to"]: httpd.send(again)})


def test_disk_is_nearly_full(own_box):
    """503 before anything is lost: accepted emails are sent and recorded."""
    box = own_box()
    httpd = box.httpd()
    email_id = httpd.send(new_email())

    def reload(min_free):
        n = box.log("httpd").count("event=reloaded")
        box.set("outbox", "min_free", min_free)
        box.kill("httpd", signal.SIGHUP)
        wait_for("the reload", lambda: box.log("httpd").count("event=reloaded") > n)

    reload("1000000G")
    wait_for("the look", lambda: "event=disk_nearly_full" in box.log("httpd"))
    for email in (new_email(), large_email()):
        answer = httpd.post(email)
        check_problem(answer, 503, "application_error")
        assert int(answer.headers["Retry-After"]) > 0
    assert box.large_messages() == set() and len(box.cli("email", "list")) == 1
    assert "the disk of the store is nearly full" in box.log("httpd")
    assert httpd.read(email_id)["last_event"] in ("sent", "delivered")
    reload("0")
    wait_for("the look", lambda: "event=disk_has_room" in box.log("httpd"))
    email = large_email()
    check_all_there(box, {email["to"]: httpd.send(email)})


def test_newsletter(own_box):
    """Many emails are answered when they are stored, and sent after that; another
    company's email is sent in between."""
    box = own_box("--set", "http.max_recipients=1000")
    company = box.company()
    domain = box.domain(company)
    others = box.httpd(box.new_key(company)["token"])
    addresses = [f"n{i}-{unique('to')}@dst.test" for i in range(120)]
    answer = FormClient(box).post({
        "from": "hello@example.com", "to": addresses, "subject": "x", "text": "x",
        "recipient-variables": json.dumps({to: {} for to in addresses})})
    assert answer.status == 200, answer.body
    email = new_email(**{"from": f"a@{domain}"})
    email_id = others.send(email)
    wait_for("theirs", lambda: others.read(email_id)["last_event"] in ("sent", "delivered"))
    left = int(box.query("SELECT count(*) FROM outbox"))
    wait_for("all of them", lambda: is_empty(box))
    wait_for("them to be delivered", lambda: len(box.sink.all()) == 121)
    assert len({mail.recipients[0] for mail in box.sink.all()}) == 121
    assert left > 0
