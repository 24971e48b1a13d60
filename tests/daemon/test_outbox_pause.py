"""What an admin pauses waits in the outbox, and what is told of that."""

import datetime
import re
import time

import pytest
from harness import wait_for
from harness.admin import by_token, operator
from harness.sandbox import new_email, unique
from test_doctor import doctor as findings
from test_metrics import read as read_metrics
from test_restarts import check_all_there, check_delivered_once


@pytest.fixture
def tenant(box):
    """A company of its own with two domains and two keys."""

    class Tenant:
        company = box.company()
        domains = [box.domain(company), box.domain(company)]
        keys = [box.new_key(company), box.new_key(company)]

    return Tenant()


def whose(tenant, kind):
    """Returns the option, and an httpd and a domain that it stops; then those that it
    does not."""
    return {
        "company": (["--company", tenant.company], (0, 0), None),
        "domain": (["--domain", tenant.domains[0]], (1, 0), (0, 1)),
        "key": (["--key", tenant.keys[0]["id"]], (0, 1), (1, 0)),
    }[kind]


@pytest.mark.parametrize("kind", ["company", "domain", "key"])
def test_pause(box, tenant, kind):
    """Emails are accepted but wait, scheduled or not; others are sent. Nothing is
    lost."""
    words, stopped, free = whose(tenant, kind)

    def send(which, **fields):
        key, domain = which
        email = new_email(tenant.domains[domain], **fields)
        return email["to"], box.httpd(tenant.keys[key]["token"]).send(email)

    paused = box.cli("outbox", "pause", *words, "--reason", "too many complaints")
    assert (paused["kind"], paused["company_id"]) == (kind, tenant.company)
    box.cli("outbox", "pause", *words, ok=False)
    soon = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=1)
    waiting = dict([send(stopped), send(stopped, text="x" * 100_000), send(stopped, scheduled_at=soon.isoformat())])
    going = dict([send(free)] if free else [])
    email = new_email()
    check_all_there(box, {email["to"]: box.httpd().send(email)})
    reader = box.httpd(tenant.keys[0]["token"])
    assert all(box.sink.find(to=to) for to in going)
    wait_for("all to be paused", lambda: box.cli("outbox", "list", "--company", tenant.company)["paused"] == 3)
    assert {reader.read(i)["last_event"] for i in waiting.values()} == {"queued"}
    assert not any(box.sink.now(to=to) for to in waiting)
    listed = box.cli("outbox", "list", "--company", tenant.company)
    (row,) = listed["data"]
    assert (row["waiting"], row["paused"], row["scheduled"]) == (0, 3, 0) and row["since_at"]
    (pause,) = listed["pauses"]
    assert (pause["kind"], pause["reason"], pause["emails"]) == (kind, "too many complaints", 3)
    box.cli("outbox", "resume", *words)
    box.cli("outbox", "resume", *words, ok=False)
    assert all(box.sink.find(to=to) for to in waiting)
    check_delivered_once(box, waiting)
    wait_for("all to be told", lambda: not {reader.read(i)["last_event"] for i in waiting.values()} & {"queued"})
    actions = [entry["action"] for entry in box.cli("audit", "list", "--company", tenant.company)]
    assert actions[:2] == ["outbox.resume", "outbox.pause"]


def test_survives_a_restart(own_box):
    box = own_box()
    box.cli("outbox", "pause", "--domain", "example.com")
    sent = {}
    for _ in range(3):
        email = new_email()
        sent[email["to"]] = box.httpd().send(email)
    pid = box.pid("httpd")
    box.kill("httpd")
    box.wait_for_new("httpd", pid)
    email = new_email()
    sent[email["to"]] = box.httpd().send(email)
    assert box.cli("outbox", "list")["paused"] == 4
    assert not box.sink.all()
    box.cli("outbox", "resume", "--domain", "example.com")
    check_all_there(box, sent)
    check_delivered_once(box, sent)


def test_cancel(box, tenant):
    """All waiting emails of one are canceled, and no others; each has events of its
    own."""
    clients = [box.httpd(key["token"]) for key in tenant.keys]
    box.cli("outbox", "pause", "--company", tenant.company)
    ids = [[c.send(new_email(domain)) for domain in tenant.domains] for c in clients]
    later = clients[0].send(new_email(tenant.domains[0], scheduled_at="in 1 hour"))
    cancel = lambda *words: box.cli("outbox", "cancel", *words)["canceled"]
    assert cancel("--key", tenant.keys[1]["id"]) == 2
    assert cancel("--domain", tenant.domains[0]) == 2
    assert cancel("--company", tenant.company) == 1
    assert cancel("--company", tenant.company) == 0
    box.cli("outbox", "resume", "--company", tenant.company)
    for email_id in [*sum(ids, []), later]:
        assert clients[0].read(email_id)["last_event"] == "canceled"
        (event,) = clients[0].request("GET", f"/emails/{email_id}/events").json()["data"]
        assert event["type"] == "canceled"
    actions = [entry["action"] for entry in box.cli("audit", "list", "--company", tenant.company)]
    assert actions[:5] == ["outbox.resume", *["outbox.cancel"] * 4]
    wait_for("the outbox to be empty", lambda: not box.cli("outbox", "list", "--company", tenant.company)["data"])


def test_over_http(box, tenant):
    """Operators pause and resume; owners see and cancel their own emails, and no
    others."""
    boss, owner = operator(box), by_token(box, unique("owner") + "@example.com", tenant.company)
    body = {"company_id": tenant.company}
    assert owner.status("POST", "/admin/outbox/pause", json=body) == 403
    assert boss.ok("POST", "/admin/outbox/pause", 201, json={**body, "reason": "x"})["kind"] == "company"
    assert boss.status("POST", "/admin/outbox/pause", json=body) == 409
    client = box.httpd(tenant.keys[0]["token"])
    email_id, other_id = (client.send(new_email(tenant.domains[0])) for _ in range(2))
    seen = owner.ok("GET", "/admin/outbox")
    assert seen["paused"] == 2 and seen["rate_per_hour"] is None and seen["breaker"]["history"] == []
    assert [p["kind"] for p in seen["pauses"]] == ["company"]
    assert boss.ok("GET", f"/admin/outbox?company_id={tenant.company}")["paused"] == 2
    assert owner.ok("GET", f"/admin/emails/{email_id}")["state"] == "queued"
    assert owner.ok("POST", f"/admin/emails/{email_id}/cancel") == {"object": "email", "id": email_id}
    assert owner.status("POST", "/admin/outbox/cancel", json={"domain": "example.com"}) == 404
    assert owner.ok("POST", "/admin/outbox/cancel", json=body)["canceled"] == 1
    for wrong in ({}, {**body, "domain": tenant.domains[0]}):
        assert boss.status("POST", "/admin/outbox/cancel", json=wrong) == 422
    boss.ok("POST", "/admin/outbox/resume", json=body)
    assert boss.status("POST", "/admin/outbox/resume", json=body) == 404
    assert owner.ok("GET", f"/admin/emails/{other_id}")["state"] == "canceled"


def breaker_metrics(admin):
    numbers = read_metrics(admin)
    return [numbers(f"postern_{name}") for name in (
        "submission_paused", "submission_pauses_total", "outbox_emails", "outbox_bytes")]


@pytest.mark.submission("smtp")
def test_breaker_is_told_of(own_box):
    """While Postfix is away, commands, dashboard and metrics report it, and afterwards that it
    was."""
    box = own_box()
    admin = operator(box)
    needs = lambda: {need["code"]: need for need in admin.ok("GET", "/admin/attention")["data"]}
    said = lambda: [row["text"] for row in findings(box) if row["check"] == "outbox"]
    assert breaker_metrics(admin) == [0, 0, 0, 0]
    assert "submission_paused" not in needs() and not said()
    begun_s = time.monotonic()
    box.stop("postfix")
    emails = [new_email() for _ in range(5)]
    sent = {email["to"]: box.httpd().send(email) for email in emails}

    def open_with_all():
        """One may just be tried once more, and does not wait then."""
        listed = box.cli("outbox", "list")
        return listed["breaker"]["state"] == "open" and listed["waiting"] == 5 and listed

    listed = wait_for("the breaker", open_with_all)
    assert listed["breaker"]["words"] and listed["breaker"]["cause"] == "away"
    assert listed["data"][0]["done_at"] is None
    seen_s = time.monotonic()
    need = needs()["submission_paused"]
    assert need["level"] == "problem" and "wait in the outbox: 5. " in need["text"]
    kept = int(box.query("SELECT sum(size) FROM outbox"))
    assert kept > 0 and breaker_metrics(admin) == [1, 1, 5, kept]
    (words,) = said()
    assert "no email could be handed to Postfix: " + listed["breaker"]["words"] in words
    assert any("no email could be handed to" in alarm for alarm in box.cli("status")["alarms"])
    least_s = time.monotonic() - seen_s
    box.start("postfix")
    check_all_there(box, sent)
    wait_for("its end", lambda: box.cli("outbox", "list")["breaker"]["state"] == "closed")
    (resumed,) = re.findall(r"event=submission_resumed after_s=(\d+) waiting=(\d+)", box.log("httpd"))
    assert int(least_s) <= int(resumed[0]) <= time.monotonic() - begun_s and resumed[1] == "5"
    wait_for("the outbox to be empty", lambda: breaker_metrics(admin) == [0, 1, 0, 0])
    assert "submission_paused" not in needs() and not said()
    assert box.cli("outbox", "list")["breaker"]["history"][0]["closed_at"]
    wait_for("the rate", lambda: box.cli("outbox", "list")["rate_per_hour"] > 0)
