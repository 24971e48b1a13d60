"""Emails that go out later, at another time, or not at all."""

import contextlib
import datetime
import email.utils
import threading
import time

import pytest
from harness import wait_for
from harness.form import File, queued_id
from harness.httpd import check_problem
from harness.receiver import Receiver
from harness.sandbox import new_email, unique
from test_restarts import check_all_there, check_delivered_once

UNKNOWN_ID = "3c0d6a52-6c7b-4a0a-9b1c-2b5b7f5a8f11"


def in_seconds(n):
    now = datetime.datetime.now(datetime.timezone.utc)
    return (now + datetime.timedelta(seconds=n)).isoformat().replace("+00:00", "Z")


def patch(httpd, email_id, at):
    return httpd.request("PATCH", f"/emails/{email_id}", json={"scheduled_at": at})


def cancel(httpd, email_id, **more):
    return httpd.request("POST", f"/emails/{email_id}/cancel", **more)


def check_id(answer, email_id):
    assert answer.status_code == 200, answer.text
    assert answer.json() == {"object": "email", "id": email_id}


def check_date(mail, scheduled_at):
    """The Date is the time for which it was scheduled, not that of the request."""
    date = email.utils.parsedate_to_datetime(mail.header("Date"))
    due = datetime.datetime.fromisoformat(scheduled_at)
    assert date == due.replace(microsecond=0), (mail.header("Date"), scheduled_at)


def recorded(box, *ids):
    """Returns when the milter recorded each email, and when it was due, in seconds."""
    listed = ",".join(f"'{email_id}'" for email_id in ids)
    lines = box.query(f"SELECT decided_us, scheduled_us FROM email WHERE id IN ({listed})").split()
    times = [[int(us) / 1e6 for us in line.split("|")] for line in lines]
    assert len(times) == len(ids)
    return times


def check_in_time(box, *ids, since=0):
    """None was early, not by a microsecond; none was later than a busy machine
    explains, counted from when it was due or could be sent."""
    for at, due in recorded(box, *ids):
        assert due <= at < max(due, since) + 180


@pytest.mark.parametrize("at", ["in 1 minute", "in 2 hours", "In 30 days", "in 1 day"])
def test_words(box, httpd, at):
    email_id = httpd.send(new_email(scheduled_at=at))
    shown = httpd.read(email_id)
    assert shown["last_event"] == "scheduled"
    unit = {"m": 60, "h": 3600, "d": 86400}[at.split()[2][0]]
    due = datetime.datetime.fromisoformat(shown["scheduled_at"]).timestamp()
    made = datetime.datetime.fromisoformat(shown["created_at"]).timestamp()
    assert abs(due - made - int(at.split()[1]) * unit) < 60
    check_id(cancel(httpd, email_id), email_id)


@pytest.mark.submission
def test_goes_out_at_its_time(box, httpd):
    """Not before, and it is found meanwhile. A repeat gets the same answer and sends
    nothing."""
    email = new_email(scheduled_at=in_seconds(15))
    key = {"headers": {"Idempotency-Key": unique()}}
    ids = {httpd.post(email, **key).json()["id"] for _ in range(2)}
    (email_id,) = ids
    assert httpd.read(email_id)["last_event"] == "scheduled"
    assert not box.sink.now(to=email["to"])
    mail = box.sink.find(to=email["to"])
    check_date(mail, httpd.read(email_id)["scheduled_at"])
    assert f"\nDate: {mail.header('Date')}\n" in box.cli("email", "raw", email_id)["message"]
    due = datetime.datetime.fromisoformat(httpd.read(email_id)["scheduled_at"]).timestamp()
    assert time.time() >= due
    check_in_time(box, email_id)
    # Its time is over: for a repeat that is no fault, for another request it is.
    assert httpd.post(email, **key).json()["id"] == email_id
    check_problem(httpd.post(email), 422, "validation_error", "a time in the future")
    check_delivered_once(box, [email["to"]])


def test_over_in_a_batch(httpd):
    emails = [new_email(), new_email(scheduled_at=in_seconds(-1))]
    check_problem(httpd.batch(emails), 422, "validation_error", "[1]: The `scheduled_at` field")


def test_another_time(box, httpd):
    email = new_email(scheduled_at="in 3 hours")
    email_id = httpd.send(email)
    check_id(patch(httpd, email_id, "in 4 hours"), email_id)
    check_id(patch(httpd, email_id, in_seconds(15)), email_id)
    check_all_there(box, {email["to"]: email_id})
    check_in_time(box, email_id)
    check_date(box.sink.find(to=email["to"]), httpd.read(email_id)["scheduled_at"])
    check_problem(patch(httpd, email_id, "in 1 hour"), 422, "validation_error", "its time has come")
    check_problem(cancel(httpd, email_id), 422, "validation_error", "any more")


def test_canceled(box, httpd):
    ids = []
    for more in ({}, {"json": {}}, {"data": b""}):
        email = new_email(scheduled_at="in 1 hour")
        email_id = httpd.send(email)
        ids.append(email_id)
        check_id(cancel(httpd, email_id, **more), email_id)
        shown = httpd.read(email_id)
        assert shown["last_event"] == "canceled"
        check_problem(cancel(httpd, email_id), 422, "validation_error")
        check_problem(patch(httpd, email_id, "in 1 hour"), 422, "validation_error")
    # Nothing else can send them.
    listed = ", ".join(f"'{one}'" for one in ids)
    wait_for("them to leave the outbox", lambda: box.query(
        f"SELECT count(*) FROM outbox JOIN email ON seq = email WHERE id IN ({listed})") == "0")


def test_cancel_is_an_event(box, httpd, form, fields):
    """One event for each recipient, which no client takes for a bounce; the email is
    found by its state."""
    email = new_email(scheduled_at="in 1 hour", cc="other@dst.test", bcc=["third@dst.test"])
    email_id = httpd.send(email)
    listed = lambda state: email_id in [e["id"] for e in httpd.request("GET", f"/emails?status={state}&to={email['to']}").json()["data"]]
    assert listed("scheduled") and not listed("queued") and not listed("canceled")
    shown = box.cli("email", "show", email_id)
    assert (shown["state"], shown["last_event"]) == ("scheduled", "scheduled") and shown["scheduled_at"]
    check_id(cancel(httpd, email_id), email_id)
    assert listed("canceled") and not listed("scheduled")
    events = httpd.request("GET", f"/emails/{email_id}/events").json()["data"]
    assert [(e["type"], e["message"]) for e in events] == [("canceled", "The email was canceled.")] * 3
    assert {e["recipient"] for e in events} == {email["to"], "other@dst.test", "third@dst.test"}
    assert {r["state"] for r in httpd.read(email_id)["recipients"]} == {"canceled"}
    assert box.cli("email", "list", "--state", "canceled", "--to", email["to"])[0]["id"] == email_id
    assert email_id not in [row["email_id"] for row in box.cli("email", "list", "--refused")]
    answer = httpd.request("GET", f"/v3/example.com/events?recipient={email['to']}",
                           headers={"Authorization": None}, auth=("api", httpd.key))
    (item,) = answer.json()["items"]
    assert (item["event"], item["reject"]["reason"]) == ("rejected", "canceled") and "severity" not in item
    stats = httpd.request("GET", "/v3/example.com/stats/total?event=rejected&duration=1d",
                          headers={"Authorization": None}, auth=("api", httpd.key)).json()["stats"]
    assert sum(step["rejected"]["total"] for step in stats) >= 3
    assert box.query("SELECT count(*) FROM event WHERE kind <> 'canceled' AND email ="
                     f" (SELECT seq FROM email WHERE id = '{email_id}')") == "0"


def test_canceled_by_an_admin(box, httpd):
    email = new_email(scheduled_at="in 1 hour")
    email_id = httpd.send(email)
    box.cli("email", "cancel", email_id)
    assert httpd.read(email_id)["last_event"] == "canceled"
    assert box.cli("audit", "list")[0]["action"] == "email.cancel"


def test_canceled_with_its_company(box):
    """More than one step cancels; others keep theirs."""
    company, other = box.company(), box.httpd()
    name = box.domain(company)
    mine = box.httpd(box.new_key(company)["token"])
    stays = other.send(new_email(scheduled_at="in 1 hour"))
    emails = [new_email(**{"from": f"a@{name}"}, scheduled_at="in 1 hour") for _ in range(100)]
    ids = [one["id"] for _ in range(3) for one in mine.batch(emails).json()["data"]]
    box.cli("company", "remove", company)
    for email_id in (ids[0], ids[-1]):
        shown = box.cli("email", "show", email_id)
        assert (shown["state"], shown["last_event"]) == ("canceled", "canceled")
    of_company = f"FROM email WHERE company_id = '{company}' AND"
    assert box.query(f"SELECT count(*) {of_company} state = 'staged'") == "0"
    wait_for("the outbox to let them go", lambda: box.query(
        f"SELECT count(*) FROM outbox WHERE company_id = '{company}'") == "0")
    assert other.read(stays)["last_event"] == "scheduled"


def test_whose_it_is(box, httpd):
    """Emails of another company, or of another domain than the key's, are not found."""
    email_id = httpd.send(new_email(scheduled_at="in 1 hour"))
    stranger = box.httpd(box.new_key(box.company())["token"])
    for call in (lambda h, i: patch(h, i, "in 2 hours"), cancel):
        check_problem(call(stranger, email_id), 404, "not_found", "Email not found")
        check_problem(call(httpd, UNKNOWN_ID), 404, "not_found", "Email not found")
        check_problem(call(httpd, "nonsense"), 422, "invalid_parameter")
    for at in (None, "", "soon", "in 31 days", "2020-01-01", 5):
        assert patch(httpd, email_id, at).status_code == 422
    check_id(cancel(httpd, email_id), email_id)


def test_batch(box, httpd):
    """Some of its emails are sent now."""
    emails = [new_email(), new_email(scheduled_at=in_seconds(15)), new_email(scheduled_at="in 1 hour")]
    ids = [one["id"] for one in httpd.batch(emails).json()["data"]]
    assert [httpd.read(i)["last_event"] for i in ids[1:]] == ["scheduled"] * 2
    check_all_there(box, {e["to"]: i for e, i in zip(emails[:2], ids)})
    check_id(cancel(httpd, ids[2]), ids[2])


def test_form(box, form, fields):
    fields["o:deliverytime"] = email.utils.formatdate(time.time() + 15)
    email_id = queued_id(form.post(fields)).strip("<>").split("@")[0]
    assert box.httpd().read(email_id)["last_event"] == "scheduled"
    assert not box.sink.now(to=fields["to"])
    assert box.sink.find(to=fields["to"])
    check_in_time(box, email_id)


def form_events(httpd, to):
    answer = httpd.request("GET", f"/v3/example.com/events?recipient={to}&ascending=yes",
                           headers={"Authorization": None}, auth=("api", httpd.key))
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


def later_by_form(form, fields):
    """Returns the id of the Message-ID, by which the JSON dialect knows it."""
    fields["o:deliverytime"] = email.utils.formatdate(time.time() + 3600)
    return queued_id(form.post(fields)).strip("<>").split("@")[0]


def test_form_canceled(box, httpd, form, fields):
    """Clients of the form dialect see `rejected` with the reason, and nothing
    before."""
    email_id = later_by_form(form, fields)
    assert form_events(httpd, fields["to"]) == []
    check_id(cancel(httpd, email_id), email_id)
    (item,) = form_events(httpd, fields["to"])
    assert (item["event"], item["reject"]["reason"], item["recipient"]) == ("rejected", "canceled", fields["to"])
    assert item["message"]["headers"]["message-id"].split("@")[0] == email_id
    check_problem(patch(httpd, email_id, "in 1 hour"), 422, "validation_error")
    assert len(form_events(httpd, fields["to"])) == 1


def test_date_of_the_client_stays(box, form, fields):
    """A finished message keeps its Date."""
    date = "Mon, 02 Jan 2006 15:04:05 -0700"
    message = f"From: {fields['from']}\r\nTo: {fields['to']}\r\nDate: {date}\r\n\r\nx"
    at = email.utils.formatdate(time.time() + 2)
    answer = form.post({"to": fields["to"], "o:deliverytime": at, "message": File("m", message)},
                       path="messages.mime")
    assert answer.status == 200, answer.body
    assert box.sink.find(to=fields["to"]).header("Date") == date


def drop_queue(box, key, domain="example.com"):
    return box.httpd().request("DELETE", f"/v3/{domain}/envelopes", headers={"Authorization": None},
                               auth=("api", key))


def test_form_queue_is_dropped(box, httpd):
    """All scheduled emails of the domain are canceled, and no others."""
    company = box.company()
    domain = box.domain(company)
    key = box.new_key(company)["token"]
    other = httpd.send(new_email(scheduled_at="in 1 hour"))
    mine = box.httpd(key)
    ids = [mine.send(new_email(**{"from": f"a@{domain}"}, scheduled_at="in 1 hour")) for _ in range(3)]
    assert drop_queue(box, httpd.key, domain).status_code == 404
    assert drop_queue(box, "nonsense", domain).status_code == 401
    for _ in range(2):
        answer = drop_queue(box, key, domain)
        assert (answer.status_code, answer.json()) == (200, {"message": "done"})
    assert [mine.read(i)["last_event"] for i in ids] == ["canceled"] * 3
    assert httpd.read(other)["last_event"] == "scheduled"
    check_id(cancel(httpd, other), other)


def test_form_another_time(box, httpd, form, fields):
    """What the form has scheduled gets another time as any, and is told of when that has come."""
    email_id = later_by_form(form, fields)
    check_id(patch(httpd, email_id, in_seconds(15)), email_id)
    assert box.sink.find(to=fields["to"])
    check_in_time(box, email_id)
    events = wait_for("the delivery", lambda: len(found := form_events(httpd, fields["to"])) > 1 and found)
    assert [item["event"] for item in events] == ["accepted", "delivered"]
    check_problem(cancel(httpd, email_id), 422, "validation_error", "any more")


@pytest.mark.submission
def test_httpd_is_away_when_its_time_comes(own_box):
    box = own_box()
    sent = {}
    for n in range(3):
        email = new_email(scheduled_at=in_seconds(15 + n / 10))
        sent[email["to"]] = box.httpd().send(email)
    pid = box.pid("httpd")
    box.kill("httpd")
    box.wait_for_new("httpd", pid)
    check_all_there(box, sent)
    check_delivered_once(box, sent)
    check_in_time(box, *sent.values())


def test_its_time_passes_while_httpd_is_away(own_box):
    """Overdue emails are due at once, others are not."""
    box = own_box()
    sent, times = {}, [in_seconds(15 + n / 10) for n in range(3)]
    for at in times:
        email = new_email(scheduled_at=at)
        sent[email["to"]] = box.httpd().send(email)
    later = box.httpd().send(new_email(scheduled_at="in 1 hour"))
    box.stop("httpd")
    wait_for("their time to be over", lambda: in_seconds(-1) > times[-1])
    back = time.time()
    box.start("httpd")
    check_all_there(box, sent)
    check_delivered_once(box, sent)
    check_in_time(box, *sent.values(), since=back)
    assert all(at > back for at, _ in recorded(box, *sent.values()))
    assert box.httpd().read(later)["last_event"] == "scheduled"


@pytest.mark.submission
def test_rules_hold_when_it_goes_out(own_box):
    """A refusal of an email that was answered is an event, for each recipient, and the webhook
    hears of it once."""
    box = own_box(parts=["webhook"])
    httpd = box.httpd()
    with contextlib.closing(Receiver()) as receiver:
        answer = httpd.request("POST", "/webhooks", json={
            "endpoint": receiver.url, "events": ["email.failed", "email.delivered"]})
        assert answer.status_code == 201, answer.text
        to = sorted(unique("to") + "@dst.test" for _ in range(2))
        email_id = httpd.send(new_email(to=to, scheduled_at="in 1 hour"))
        box.cli("domain", "deactivate", "example.com")
        box.query("UPDATE email SET scheduled_us = 1")
        box.query("UPDATE outbox SET due_us = 1")
        wait_for("its end", lambda: httpd.read(email_id)["last_event"] == "failed")
        assert box.sink.all() == []
        refusal = box.cli("email", "show", email_id)["refusal"]
        events = httpd.request("GET", f"/emails/{email_id}/events").json()["data"]
        assert sorted((e["type"], e["recipient"], e["message"]) for e in events) == [
            ("failed", one, refusal) for one in to]
        # What comes later is delivered later: nothing else was sent before it.
        box.cli("domain", "activate", "example.com")
        httpd.send(new_email())
        receiver.wait_for(1, of=lambda d: d.event["type"] == "email.delivered")
        failed = receiver.wait_for(2, of=lambda d: d.event["type"] == "email.failed")
        assert [d.event["data"]["email_id"] for d in failed] == [email_id] * 2
    assert box.query("SELECT kind, sum(count) FROM event_count WHERE kind IN ('failed', 'refused')"
                     " GROUP BY kind") == "refused|1"


@pytest.mark.submission
def test_cancel_races_with_the_dispatcher(own_box):
    """200 means that it was not sent and will not be."""
    box = own_box()
    answers = set()
    for _ in range(10):  # the race may be over before it begins
        answers |= race(box)
        if answers == {200, 422}:
            return
    raise AssertionError(f"only {answers}")


def make_due(box, at_s):
    """All emails, at that time: nobody can tell how long it takes to store them."""
    box.query(f"UPDATE email SET scheduled_us = {at_s * 1_000_000}")
    box.query(f"UPDATE outbox SET due_us = {at_s * 1_000_000}")


def race(box, n=80):
    """Cancels emails as they are due, the last ones first; returns the statuses."""
    emails = [new_email(scheduled_at="in 1 hour") for _ in range(n)]
    ids = [email["id"] for email in box.httpd().batch(emails).json()["data"]]
    make_due(box, int(time.time() + 2))
    wait_for("the first to be sent", lambda: any(box.sink.now(to=e["to"]) for e in emails))
    answers = {}

    def run(part):
        client = box.httpd()
        for i in part:
            answers[i] = cancel(client, ids[i]).status_code

    threads = [threading.Thread(target=run, args=[range(n - 1 - k, -1, -4)]) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sent = {emails[i]["to"]: ids[i] for i, status in answers.items() if status != 200}
    check_all_there(box, sent)
    box.drain([email["to"] for email in emails])
    for email in emails:
        assert len(box.sink.now(to=email["to"])) == (email["to"] in sent)
    return set(answers.values())


@pytest.mark.plain
def test_many_for_one_second(own_box):
    """Each is sent, once, and an email of now is sent in between."""
    box = own_box("--set", "http.max_recipients=1000")
    httpd = box.httpd()
    addresses = [f"n{i}-{unique('to')}@dst.test" for i in range(300)]
    for i in range(0, len(addresses), 100):
        emails = [new_email(to=to, scheduled_at="in 1 hour") for to in addresses[i:i + 100]]
        assert httpd.batch(emails).status_code == 200
    due_s = int(time.time() + 2)
    make_due(box, due_s)
    wait_for("the first", lambda: any(box.sink.folder.iterdir()))
    now = new_email()
    httpd.send(now)
    wait_for("that of now", lambda: box.sink.now(to=now["to"]))
    assert box.query("SELECT count(*) FROM outbox") != "0"
    wait_for("the outbox to be empty", lambda: box.query("SELECT count(*) FROM outbox") == "0", 600)
    wait_for("them to be delivered", lambda: len(box.sink.all()) > len(addresses), 600)
    check_delivered_once(box, [*addresses, now["to"]])
    assert box.query(f"SELECT count(*) FROM email WHERE decided_us < {due_s * 1_000_000}") == "0"
