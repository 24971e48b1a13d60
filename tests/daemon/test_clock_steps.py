"""The clock is set by an hour while emails are scheduled: each goes out when its time
has come by the clock as it stands, once; what was put off, emails and events of webhooks, does not
wait for a clock of before."""

import datetime
import tempfile

import pytest
from harness import wait_for
from harness.clock import Clock
from harness.receiver import Receiver
from harness.sandbox import METHOD, SANITIZED, new_email
from test_outbox import put
from test_restarts import check_all_there, check_delivered_once
from test_scheduled import check_in_time

pytestmark = pytest.mark.skipif(
    SANITIZED, reason="nothing may be loaded before a sanitizer")

HOUR = 3600
PARTS = ("httpd", "milter", "events")


@pytest.fixture
def clock():
    with tempfile.TemporaryDirectory(prefix="postern.") as folder:
        yield Clock(folder)


@pytest.fixture
def box(own_box, clock, sendmail):
    box = own_box("--set", "submission.record_wait=1s",
                  "--set", f"submission.sendmail={sendmail}")
    with clock.preloaded():
        for part in PARTS:
            box.restart(part)
    return box


def email_due(clock, seconds):
    at = datetime.datetime.fromtimestamp(clock.now() + seconds, datetime.timezone.utc)
    return new_email(scheduled_at=at.isoformat())


def events_of(box, *emails):
    return [box.httpd().read(email_id)["last_event"] for email_id in emails]


def test_steps_of_an_hour(box, clock):
    """Forward: exactly the emails that are then due are sent. Back: emails that were
    not due wait for their time, and so do new ones."""
    emails = [email_due(clock, due_in) for due_in in (HOUR / 2, 2 * HOUR, 24 * HOUR)]
    soon, later, tomorrow = (box.httpd().send(email) for email in emails)
    clock.step(HOUR)
    check_all_there(box, {emails[0]["to"]: soon})
    check_in_time(box, soon, since=clock.now())
    assert events_of(box, later, tomorrow) == ["scheduled"] * 2
    clock.step(-HOUR)
    wait_for("the step to be seen", lambda: "event=clock_put_back" in box.log("httpd"))
    fresh = [email_due(clock, 3), new_email()]
    sent = {email["to"]: box.httpd().send(email) for email in fresh}
    check_all_there(box, sent)
    check_in_time(box, sent[fresh[0]["to"]])
    assert events_of(box, later, tomorrow) == ["scheduled"] * 2
    clock.step(2 * HOUR)
    check_all_there(box, {emails[1]["to"]: later})
    check_in_time(box, later, since=clock.now())
    assert events_of(box, tomorrow) == ["scheduled"]
    assert box.query("SELECT count(*) FROM outbox") == "1"
    check_delivered_once(box, [emails[0]["to"], emails[1]["to"], *sent])


def test_its_time_comes_again(box, clock):
    """An email that was sent is not sent again when the clock is put back before its
    time, across a restart of httpd."""
    email = email_due(clock, 2)
    email_id = box.httpd().send(email)
    assert box.sink.find(to=email["to"])
    wait_for("the outbox to be empty", lambda: box.query("SELECT count(*) FROM outbox") == "0")
    clock.step(-HOUR)
    with clock.preloaded():
        box.restart("httpd")
    other = email_due(clock, 2)
    check_all_there(box, {other["to"]: box.httpd().send(other)})
    assert events_of(box, email_id)[0] in ("sent", "delivered")
    check_delivered_once(box, [email["to"], other["to"]])


@pytest.mark.submission
@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_put_off(box, clock, sendmail, step):
    """While Postfix is away, no email is given up and none waits for an hour."""
    if METHOD == "smtp":
        box.stop("postfix")
    else:
        put(sendmail, "/bin/false")
    emails = [new_email() for _ in range(3)] + [email_due(clock, 20)]
    sent = {email["to"]: box.httpd().send(email) for email in emails}
    wait_for("the breaker", lambda: "event=submission_paused" in box.log("httpd"))
    clock.step(step)
    if METHOD == "smtp":
        box.start("postfix")
    else:
        put(sendmail, "/usr/sbin/sendmail")
    check_all_there(box, dict(list(sent.items())[:3]))
    if step > 0:
        check_all_there(box, sent)
        check_delivered_once(box, sent)
    else:
        assert box.httpd().read(sent[emails[3]["to"]])["last_event"] in ("queued", "scheduled")


@pytest.mark.parametrize("running", [True, False], ids=["while it runs", "while it is away"])
def test_webhooks(own_box, clock, running):
    """Events that an endpoint has refused are not tried again only when the old clock's time has
    come, of which there may be a year to go."""
    box = own_box(parts=["webhook"])
    company = box.company()
    httpd = box.httpd(box.new_key(company)["token"])
    email = new_email(box.domain(company))
    clock.step(365 * 24 * HOUR)
    with clock.preloaded():
        box.restart("webhook")
    answers = [404]
    receiver = Receiver(lambda delivery, request: answers[-1])
    httpd.request("POST", "/webhooks", json={"endpoint": receiver.url, "events": ["email.sent"]})
    httpd.send(email)

    def count(where):
        return box.query(f"SELECT count(*) FROM webhook_event WHERE {where}")

    wait_for("an attempt to fail", lambda: count("attempts > 0 AND status = 'attempting'") == "1")
    answers.append(200)
    if running:
        clock.step(-365 * 24 * HOUR)
    else:
        box.stop("webhook")
        clock.step(-365 * 24 * HOUR)
        with clock.preloaded():
            box.start("webhook")
    wait_for("the event to be sent", lambda: count("status = 'success' AND due_us = 0") == "1")
    assert len({delivery.id for delivery in receiver.deliveries}) == 1
    receiver.close()
