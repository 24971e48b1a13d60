"""An email sent again from its kept message: a new one, under the rules of now."""

import base64
import email
import email.policy
import os

import pytest
from harness import wait_for
from harness.admin import by_token, operator
from harness.httpd import check_problem
from harness.sandbox import unique

UNKNOWN_ID = "3c0d6a52-6c7b-4a0a-9b1c-2b5b7f5a8f11"
LARGE = os.urandom(60_000)


def new_email(**fields):
    return {"from": "Jörg <hello@example.com>", "to": unique("to") + "@dst.test", "subject": "Grüße",
            "text": "x", "html": "<p>ä</p>", **fields}


def resend(box, email_id, *options):
    return box.cli("email", "resend", email_id, *options)["id"]


def refused(box, email_id, words, *options):
    error = box.cli("email", "resend", email_id, *options, ok=False)
    assert words in error, error


def parsed(mail):
    return email.message_from_bytes(mail.raw, policy=email.policy.default)


def both(box, to):
    """Returns the two delivered messages for an address."""
    return wait_for("two messages", lambda: (found := box.sink.now(to=to)) and len(found) == 2 and found)


@pytest.mark.submission
@pytest.mark.parametrize("files", [False, True])
def test_again(box, httpd, files):
    """It has its own id, Message-ID and Date, and is otherwise the same."""
    attachments = {"attachments": [{"filename": "a.bin", "content": base64.b64encode(LARGE).decode()}]}
    mail = new_email(cc="Cc <cc@dst.test>", bcc=unique("bcc") + "@dst.test", headers={"X-Own": "1"},
                     tags=[{"name": "kind", "value": "bill"}], **(attachments if files else {}))
    first = httpd.send(mail)
    box.sink.find(to=mail["to"])
    second = resend(box, first)
    assert second != first
    one, two = sorted((parsed(m) for m in both(box, mail["to"])), key=lambda m: second in m["Message-ID"])
    assert one["Message-ID"] == f"<{first}@example.com>" and two["Message-ID"] == f"<{second}@example.com>"
    for name in ("From", "To", "Cc", "Subject", "X-Own", "Content-Type"):
        assert one[name] == two[name], name
    assert [p.get_payload() for p in one.walk() if not p.is_multipart()] == [
        p.get_payload() for p in two.walk() if not p.is_multipart()]
    assert "X-Postern-Email-Id" not in two
    assert len(both(box, mail["bcc"])) == 2
    shown, before = httpd.read(second), httpd.read(first)
    for name in ("from", "to", "cc", "bcc", "subject", "text", "html", "tags"):
        assert shown[name] == before[name], name
    assert box.query("SELECT count(*) FROM outbox WHERE joined <> 0") == "0"
    entry = box.cli("audit", "list")[0]
    assert (entry["action"], entry["object_id"]) == ("email.resend", first)
    # It is kept in turn.
    third = resend(box, second, "--to", unique("third") + "@dst.test")
    wait_for("it to go out", lambda: httpd.read(third)["last_event"] == "delivered")


def test_what_the_client_chose_stays(box, form, fields):
    own = f"<{unique()}@example.com>"
    fields.update({"h:Message-Id": own, "h:Date": "Mon, 02 Jan 2006 15:04:05 -0700"})
    form.post(fields)
    box.sink.find(to=fields["to"])
    first = box.query(f"SELECT id FROM email WHERE message_id = '{own}'")
    resend(box, first)
    one, two = (parsed(m) for m in both(box, fields["to"]))
    assert one["Message-ID"] == two["Message-ID"] == own
    assert one["Date"] == two["Date"]


def test_to_others(box, httpd):
    """Exactly those who are named get it; the header is unchanged."""
    mail = new_email(cc=unique("cc") + "@dst.test", bcc=unique("bcc") + "@dst.test")
    first = httpd.send(mail)
    box.sink.find(to=mail["to"])
    other = unique("other") + "@dst.test"
    second = resend(box, first, "--to", f"Other <{other}>, {mail['cc']}")
    message = parsed(box.sink.find(to=other))
    assert message["To"] == mail["to"] and message["Cc"] == mail["cc"] and message["Bcc"] is None
    both(box, mail["cc"])
    assert len(box.sink.now(to=mail["to"])) == len(box.sink.now(to=mail["bcc"])) == 1
    shown = httpd.read(second)
    assert shown["bcc"] == [other]
    assert [r["address"] for r in shown["recipients"]] == [mail["cc"], other]
    for to in ("nonsense", "", "x@postern.invalid", "-x@dst.test"):
        refused(box, first, "--to", f"--to={to}")


def test_refused_in_words(box, httpd):
    company = box.company()
    domain = box.domain(company)
    key = box.new_key(company)
    client = box.httpd(key["token"])
    mail = new_email(**{"from": f"a@{domain}"})
    first = client.send(mail)
    box.sink.find(to=mail["to"])
    refused(box, UNKNOWN_ID, "there is no email")
    box.cli("domain", "deactivate", domain)
    refused(box, first, "is not active")
    box.cli("domain", "activate", domain)
    box.cli("key", "revoke", key["id"])
    refused(box, first, "another one of the company is named with --key")
    other = box.new_key(company)
    foreign = box.new_key(box.company())
    refused(box, first, "may not send as", "--key", foreign["id"])
    second = resend(box, first, "--key", other["id"])
    both(box, mail["to"])
    assert box.cli("email", "show", second)["key_id"] == other["id"]
    box.query(f"DELETE FROM message WHERE email = (SELECT seq FROM email WHERE id = '{first}')")
    refused(box, first, "is not kept any more", "--key", other["id"])
    waits = httpd.send(new_email(scheduled_at="in 1 hour"))
    refused(box, waits, "waits in the outbox")
    box.cli("email", "cancel", waits)
    # What was canceled can be sent after all.
    assert httpd.read(resend(box, waits))["scheduled_at"] is None


def test_no_room(own_box):
    box = own_box("--set", "outbox.max_bytes=1M")
    httpd = box.httpd()
    mail = new_email(attachments=[{"filename": "a", "content": base64.b64encode(os.urandom(450_000)).decode()}])
    first = httpd.send(mail)
    box.sink.find(to=mail["to"])
    wait_for("it to leave", lambda: box.query("SELECT count(*) FROM outbox") == "0")
    box.cli("outbox", "pause", "--domain", "example.com")
    resend(box, first)
    wait_for("it to be put off", lambda: box.query("SELECT count(*) FROM outbox WHERE joined <> 0") == "0")
    refused(box, first, "The company has as many emails in the outbox as it may have now")
    admin = operator(box)
    # It counts for httpd as well, also when it is started anew.
    for _ in range(2):
        answer = httpd.post({**mail, "to": unique() + "@dst.test"})
        assert answer.status_code == 503 and "as many emails in the outbox" in answer.text
        answer = admin.request("POST", f"/admin/emails/{first}/resend", json={})
        assert answer.status_code == 503 and "as many emails in the outbox" in answer.text
        box.restart("httpd")
    box.cli("outbox", "resume", "--domain", "example.com")
    both(box, mail["to"])
    wait_for("it to leave", lambda: box.query("SELECT count(*) FROM outbox") == "0")
    assert httpd.post({**mail, "to": unique() + "@dst.test"}).status_code == 200
    wait_for("it to leave", lambda: box.query("SELECT count(*) FROM outbox") == "0")
    box.set("outbox", "min_free", "1000000G")
    refused(box, first, "nearly full")


def test_owners(box, httpd):
    """An owner sends emails of the own company; viewers send none, others find none."""
    mail = new_email()
    first = httpd.send(mail)
    box.sink.find(to=mail["to"])
    boss = operator(box)
    company = box.query(f"SELECT company_id FROM email WHERE id = '{first}'")
    owner = by_token(box, unique("owner"), company)
    viewer = by_token(box, unique("viewer"), company, role="viewer")
    stranger = by_token(box, unique("stranger"), box.company())
    path = f"/admin/emails/{first}/resend"
    assert stranger.request("POST", path, json={}).status_code == 404
    assert viewer.request("POST", path, json={}).status_code == 403
    assert boss.ok("GET", f"/admin/emails/{first}")["message_size"] > 0
    second = owner.ok("POST", path, 201, json={})["id"]
    both(box, mail["to"])
    other = unique("other") + "@dst.test"
    boss.ok("POST", path, 201, json={"to": other})
    box.sink.find(to=other)
    several = [unique("several") + "@dst.test" for _ in range(2)]
    boss.ok("POST", path, 201, json={"to": [f"One <{several[0]}>", several[1]]})
    for to in several:
        box.sink.find(to=to)
    entries = owner.ok("GET", f"/admin/audit?object={first}")["data"]
    assert [e["action"] for e in entries] == ["email.resend"] * 3 and second in str(entries[2])
    for body, words in (({"to": "nobody"}, "`to`"), ({"to": []}, "`to`"), ({"to": [5]}, "`to`"), ({"key_id": UNKNOWN_ID}, "`key_id`"), ({"x": 1}, "`x`")):
        check_problem(owner.request("POST", path, json=body), 422, "validation_error", words)
    box.query(f"DELETE FROM message WHERE email = (SELECT seq FROM email WHERE id = '{first}')")
    assert boss.ok("GET", f"/admin/emails/{first}")["message_size"] is None
    check_problem(owner.request("POST", path, json={}), 422, "validation_error", "is not kept any more")


@pytest.mark.parametrize("how", ["cancel", "resend"])
def test_lost_is_settled(own_box, how):
    """An email that never reached the milter and is no longer in Postfix is reported
    until somebody settles it."""
    box = own_box()
    mail = new_email()
    first = box.httpd().send({**mail, "scheduled_at": "in 1 hour"})
    seq = box.query(f"SELECT seq FROM email WHERE id = '{first}'")
    # As postern-events leaves it.
    box.query(f"UPDATE email SET scheduled_us = 0, last_event = 'sent' WHERE seq = {seq}")
    box.query(f"UPDATE email_recipient SET state = 'unknown' WHERE email = {seq}")
    box.query(f"DELETE FROM outbox WHERE email = {seq}")
    boss = operator(box)
    told = lambda: "lost" in [one["code"] for one in boss.ok("GET", "/admin/attention")["data"]]
    assert told()
    if how == "cancel":
        box.cli("email", "cancel", first)
        assert "canceled" in box.cli("email", "show", first)["answer"]
    else:
        second = resend(box, first)
        box.sink.find(to=mail["to"])
        assert second in box.cli("email", "show", first)["answer"]
    assert box.cli("email", "show", first)["state"] == "canceled"
    assert not told()
