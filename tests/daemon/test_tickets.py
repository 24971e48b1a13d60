"""A ticket is good for one message to its recipients, however it comes."""

import re
import subprocess

import pytest
from harness import wait_for
from harness.sandbox import unique
from harness.submit import WAYS

MANY = 1000


def query(box, sql):
    return subprocess.run(
        ["sqlite3", box.dir / "store/postern.db", sql],
        capture_output=True, text=True, check=True, timeout=60,
    ).stdout.strip()


def stage(box, httpd, email):
    """The ticket of an email whose message waits, as if somebody stole it."""
    email_id = httpd.send(email)
    return email_id, query(box, f"select ticket from email where id = '{email_id}'")


def message(ticket, sender="hello@example.com", head=b""):
    message_id = f"<{unique()}@example.com>"
    fields = (
        f"X-Postern-Ticket: {ticket}\nFrom: {sender}\nMessage-ID: {message_id}\n"
        "Date: Sat, 21 Nov 2026 12:00:00 +0000\n"
    )
    return message_id, fields.encode() + head + b"\nforged\n"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("more", [False, True])
def test_other_recipients(box, httpd, email, to, way, more):
    """Not instead of those who were staged, and not besides them."""
    _, ticket = stage(box, httpd, email)
    victim = "v" + to
    message_id, data = message(ticket)
    submitted = WAYS[way](
        box, message_id, "hello@example.com", [to, victim] if more else [victim], data
    )
    verdict = submitted.verdict()
    assert (verdict["action"], verdict["reason"]) == ("refuse", "ticket_mismatch")
    assert verdict["email"] and verdict["key"]
    assert not box.sink.now(to=victim)


class Waiting:
    """A genuine email in the maildrop, put aside while its ticket is abused."""

    def __init__(self, box, to):
        self.box = box
        box.stop("milter")
        self.email_id = box.httpd().send(
            {"from": "hello@example.com", "to": to, "text": "genuine"}
        )
        self.file = next((box.dir / "queue/maildrop").iterdir())
        found = re.search(rb"X-Postern-Ticket: ([0-9a-f]{32})", self.file.read_bytes())
        self.ticket = found.group(1).decode()
        self.aside = box.dir / self.file.name
        self.file.rename(self.aside)
        box.start("milter")

    def go_on(self):
        self.aside.rename(self.file)
        self.box.flush()


@pytest.mark.parametrize("way", WAYS)
def test_stolen_ticket_spends_nothing(own_box, to, way):
    box = own_box("--submission", "sendmail", "--set", "submission.record_wait=500ms",
                  "--set", "milter.refuse_local=reject")
    genuine = Waiting(box, to)
    eve, victim = "root@mail.sandbox.test", "v" + to
    for sender, recipient, author in [
        (eve, to, "hello@example.com"),
        ("hello@example.com", to, "boss@example.com"),
        ("hello@example.com", victim, "hello@example.com"),
    ]:
        message_id, data = message(genuine.ticket, sender=author)
        submitted = WAYS[way](box, message_id, sender, [recipient], data)
        assert submitted.verdict()["reason"] == "ticket_mismatch"
    genuine.go_on()
    assert b"genuine" in box.sink.find(to=to).raw
    assert box.httpd().read(genuine.email_id)["last_event"] == "sent"
    assert not box.sink.now(to=victim)
    refusals = box.cli("email", "list", "--refused")
    assert {row["reason"] for row in refusals} == {"ticket_mismatch"}
    if way == "sendmail":
        bounce = box.sink.find(to=eve).raw
        assert b"From: hello@example.com" in bounce and genuine.ticket.encode() not in bounce


@pytest.mark.parametrize("way", WAYS)
def test_the_same_message_again(box, httpd, email, to, way):
    """Postfix presents a message again when it has not got our answer."""
    _, ticket = stage(box, httpd, email)
    message_id, data = message(ticket)
    submitted = WAYS[way](box, message_id, "hello@example.com", [to], data)
    assert submitted.verdict()["action"] == "record"
    assert box.sink.find(message_id=message_id)


def test_forgery_is_in_both_logs(box, httpd, email, to):
    email_id, ticket = stage(box, httpd, email)
    message_id, data = message(ticket, sender="boss@example.com")
    submitted = WAYS["smtp"](box, message_id, "boss@example.com", [to], data)
    verdict = submitted.verdict()
    assert verdict["email"] == email_id
    assert verdict["client"] == "127.0.0.1"
    assert verdict["domain"] == "example.com"
    line = wait_for(
        "Postfix's line",
        lambda: [x for x in box.log("postfix").splitlines()
                 if submitted.queue_id() in x and "milter-reject" in x],
    )[0]
    assert "5.7.1 example.com: The message is not the one" in line


def test_sender_field_of_another_domain(box, httpd, email):
    other = box.domain(box.company())
    answer = httpd.post({**email, "headers": {"Sender": f"boss@{other}"}})
    assert answer.status_code == 403
    assert "a domain that its API key is not for" in answer.json()["message"]


def test_many_recipients(own_box):
    """Also those whom Postfix finds again under another name: tags, aliases."""
    box = own_box(
        "--set", f"http.max_recipients={MANY}",
        "--postconf", "recipient_delimiter=+",
        "--postconf", "always_bcc=archive@dst.test",
        "--postconf", "virtual_alias_maps=inline:{{alias@dst.test = one@dst.test, two@dst.test}}",
    )
    to = [f"user{i}+tag@dst.test" for i in range(MANY - 2)] + ["alias@dst.test", '"q u"@dst.test']
    email_id = box.httpd().send(
        {"from": "hello@example.com", "to": to[:50], "bcc": to[50:], "text": "Hello"}
    )
    assert query(box, f"select length(recipients) from email where id = '{email_id}'") == str(
        16 * len(to)
    )
    wait_for("two@dst.test", lambda: box.sink.now(to="two@dst.test"))


def test_postfix_that_maps_recipients(own_box):
    """What the milter sees then was never staged: tickets are not bound."""
    box = own_box(
        "--postconf", "recipient_canonical_maps=inline:{{old@dst.test = new@dst.test}}",
    )
    email_id = box.httpd().send(
        {"from": "hello@example.com", "to": "old@dst.test", "text": "Hello"}
    )
    assert query(box, f"select recipients is null from email where id = '{email_id}'") == "1"
    assert box.sink.find(to="new@dst.test")
