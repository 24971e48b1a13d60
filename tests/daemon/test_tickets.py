"""A ticket is good for one message to its recipients, however it comes."""

import contextlib
import os
import re
import threading
from pathlib import Path

import pytest
from harness import wait_for
from harness.milter import REJECT, OtherMilter
from harness.sandbox import METHOD, unique
from harness.submit import (
    ALL_WAYS,
    OWN_WAYS,
    by_nobody,
    by_sendmail,
    by_smtp,
    plain,
    ticket_address,
    ticket_of,
)

GUESS = ticket_address("00112233445566778899aabbccddeeff")


def message(author="hello@example.com", head=b"", message_id=None):
    message_id = message_id or f"<{unique()}@example.com>"
    fields = (
        f"From: {author}\nMessage-ID: {message_id}\n"
        "Date: Sat, 21 Nov 2026 12:00:00 +0000\n"
    )
    return message_id, fields.encode() + head + b"\nforged\n"


def submit(box, ticket, sender="hello@example.com", author="hello@example.com", more=(), way="sendmail"):
    message_id, data = message(author)
    return ALL_WAYS[way](box, message_id, sender, [ticket_address(ticket), *more], data)


def message_id_of(box, email_id):
    return box.query(f"SELECT message_id FROM email WHERE id = '{email_id}'")


def wait_for_events(box, email):
    """Waits until postern-events has read the log up to now, by an email to somebody else."""
    httpd = box.httpd()
    email_id = httpd.send({**email, "to": unique("to") + "@dst.test"})
    wait_for("postern-events", lambda: httpd.read(email_id)["last_event"] == "delivered")


def reason(submitted):
    verdict = submitted.verdict()
    assert verdict["action"] == "refuse"
    return verdict["reason"]


def check_refused(box, submitted, why):
    assert reason(submitted) == why
    assert not box.sink.now(message_id=submitted.message_id)
    if submitted.reply:
        assert submitted.reply[0] == 550


@pytest.mark.parametrize("place", ["before", "after"])
def test_other_recipients(box, httpd, email, to, place):
    """A ticket beside other recipients is refused: nobody gets the message."""
    ticket = ticket_of(box, httpd.send(email))
    victim = "v" + to
    message_id, data = message()
    recipients = [ticket_address(ticket), victim]
    if place == "before":
        recipients.reverse()
    submitted = by_sendmail(box, message_id, "hello@example.com", recipients, data)
    assert submitted.verdict()["email"]
    check_refused(box, submitted, "ticket_mismatch")
    assert not box.sink.now(to=victim)


@pytest.fixture(scope="module")
def loose(box):
    """The port of an smtpd that leaves every recipient to the milter; other services
    refuse tickets themselves."""
    address = box.add_smtpd(
        "smtpd_reject_unlisted_recipient=no",
        "smtpd_relay_restrictions=check_recipient_access static:OK, reject",
    )
    return int(address.rpartition(":")[2])


@pytest.mark.parametrize("elsewhere", [False, True])
def test_from_the_network(box, httpd, email, loose, elsewhere):
    """No ticket is valid over the network."""
    ticket = ticket_of(box, httpd.send(email))
    for address in (ticket_address(ticket), GUESS, "ann@postern.invalid"):
        message_id, data = message()
        submitted = by_smtp(box, message_id, "hello@example.com", [address], data,
                            elsewhere=elsewhere, port=loose)
        check_refused(box, submitted, "ticket_from_network")
    with pytest.raises(AssertionError, match="'RCPT TO"):
        by_smtp(box, message_id, "hello@example.com", [address], data, elsewhere=elsewhere)


@pytest.mark.parametrize("address", [GUESS, "ann@postern.invalid", "ann@POSTERN.invalid"])
@pytest.mark.parametrize("sender", ["hello@example.com", "a@other.test"])
def test_guess(box, address, sender):
    """Whatever domain it claims, a guessed ticket has nobody to deliver to."""
    check_refused(box, plain(box, "sendmail", sender, address), "ticket_unknown")


def test_ticket_in_the_header(box, httpd, email, to):
    """A ticket in a header field has no meaning."""
    ticket = ticket_of(box, httpd.send(email))
    victim = "v" + to
    head = f"X-Postern-Ticket: {ticket}\nTo: {ticket_address(ticket)}\nCc: {ticket_address(ticket)}\n"
    message_id, data = message(head=head.encode())
    submitted = by_sendmail(box, message_id, "hello@example.com", [victim], data)
    check_refused(box, submitted, "no_ticket")
    message_id, data = message("a@other.test", head.encode())
    by_sendmail(box, message_id, "a@other.test", [victim], data)
    mail = box.sink.find(to=victim)
    assert mail.recipients == [victim]
    assert mail.raw_header("X-Postern-Ticket") == ticket.encode()


@pytest.mark.submission("sendmail")
def test_stolen_ticket_spends_nothing(own_box, to):
    """A genuine email waits in the maildrop while its ticket is abused."""
    box = own_box("--set", "submission.record_wait=500ms")
    box.stop("milter")
    email_id = box.httpd().send({"from": "hello@example.com", "to": to, "text": "genuine"})
    file = next((box.dir / "queue/maildrop").iterdir())
    aside = box.dir / file.name
    file.rename(aside)
    box.start("milter")
    ticket, eve = ticket_of(box, email_id), unique("eve") + "@mail.sandbox.test"
    for submitted in [
        submit(box, ticket),
        submit(box, ticket, sender=eve),
        submit(box, ticket, author="boss@example.com"),
        submit(box, ticket, more=["v" + to]),
    ]:
        check_refused(box, submitted, "ticket_mismatch")
    assert box.httpd().read(email_id)["last_event"] == "queued"
    aside.rename(file)
    box.flush()
    assert b"genuine" in box.sink.find(to=to).raw
    assert box.httpd().read(email_id)["last_event"] in ("sent", "delivered")
    assert not box.sink.now(to="v" + to)
    refusals = box.cli("email", "list", "--refused")
    assert {row["reason"] for row in refusals} == {"ticket_mismatch"}


def wait_until_spent(box, email_id):
    """With sendmail(1) the log proves that Postfix has the message, over SMTP its
    250."""
    wait_for("the proof", lambda: box.query(
        "SELECT count(*) FROM outbox JOIN email ON seq = email"
        f" WHERE id = '{email_id}'") == "0"
        if METHOD == "smtp" else box.httpd().read(email_id)["last_event"] == "delivered")


@pytest.mark.submission
def test_spent(box, httpd, email, to):
    """A second message with a spent ticket is delivered to nobody, even if it has
    everything that the first one was bound to."""
    email_id = httpd.send(email)
    ticket = ticket_of(box, email_id)
    message_id = box.sink.find(to=to).header("Message-ID")
    wait_until_spent(box, email_id)
    nonce = box.query(f"SELECT nonce FROM email WHERE id = '{email_id}'")
    own = f"X-Postern-Email-Id: {email_id}\n"
    for head in ("", own, f"{own}Postern-Nonce: {nonce}\n"):
        before = box.log("milter").count("reason=ticket_spent")
        _, data = message(message_id=message_id, head=head.encode())
        submitted = by_sendmail(
            box, message_id, "hello@example.com", [ticket_address(ticket)], data
        )
        wait_for("the verdict", lambda: box.log("milter").count("reason=ticket_spent") > before)
    assert "action=discard" in next(
        line for line in box.log("milter").splitlines() if "reason=ticket_spent" in line)
    assert len(box.sink.now(to=to)) == 1 and submitted
    assert httpd.read(email_id)["last_event"] in ("sent", "delivered")


@pytest.mark.submission
def test_only_its_own_way(box, httpd, email, to):
    """A ticket is refused on another way even while it is valid."""
    email_id = httpd.send(email)
    mail = box.sink.find(to=to)
    wait_until_spent(box, email_id)
    box.query(f"UPDATE email SET state = 'staged', way = 'smtp' WHERE id = '{email_id}'")
    message_id = mail.header("Message-ID")
    head = f"X-Postern-Email-Id: {email_id}\n".encode()
    _, data = message(message_id=message_id, head=head)
    submitted = by_sendmail(box, message_id, "hello@example.com",
                            [ticket_address(ticket_of(box, email_id))], data)
    wait_for("the verdict", lambda: "reason=ticket_other_way" in box.log("milter"))
    assert submitted and len(box.sink.now(to=to)) == 1
    assert box.query(f"SELECT state FROM email WHERE id = '{email_id}'") == "staged"


def test_a_forgery_with_the_ticket_of_a_sent_email(box, httpd, email):
    email_id = httpd.send(email)
    box.query(f"UPDATE email SET way = 'any' WHERE id = '{email_id}'")
    check_refused(box, submit(box, ticket_of(box, email_id), more=["x@dst.test"]), "ticket_mismatch")


def test_forgery_is_in_both_logs(box, httpd, email, loose):
    ticket = ticket_of(box, httpd.send(email))
    message_id, data = message(author="boss@example.com")
    submitted = by_smtp(
        box, message_id, "boss@example.com", [ticket_address(ticket)], data, port=loose
    )
    verdict = submitted.verdict()
    assert verdict["client"] == "127.0.0.1"
    line = wait_for(
        "Postfix's line",
        lambda: [x for x in box.log("postfix").splitlines()
                 if submitted.queue_id() in x and "milter-reject" in x],
    )[0]
    assert "5.7.1 Nobody but the programs of this host may use tickets" in line


def test_sender_field_of_another_domain(box, httpd, email):
    other = box.domain(box.company())
    answer = httpd.post({**email, "headers": {"Sender": f"boss@{other}"}})
    assert answer.status_code == 403
    assert "a domain that its API key is not for" in answer.json()["message"]


@pytest.mark.submission
def test_bound_to_its_message(box, email, to):
    """Somebody who knows the ticket from `mailq`, and id and Message-ID from the client
    or the dashboard, has not read the message: another message reaches nobody, and the
    email is delivered unchanged."""
    company = box.company()
    domain = box.domain(company)
    httpd = box.httpd(box.new_key(company)["token"])
    box.cli("outbox", "pause", "--company", company)
    sender = f"hello@{domain}"
    email_id = httpd.send({**email, "from": sender})
    ticket, message_id = ticket_address(ticket_of(box, email_id)), message_id_of(box, email_id)
    nonce = box.query(f"SELECT nonce FROM email WHERE id = '{email_id}'")
    for guess in ("", "Postern-Nonce: \n", f"Postern-Nonce: {nonce[::-1]}\n"):
        head = f"X-Postern-Email-Id: {email_id}\n{guess}".encode()
        _, data = message(sender, head, message_id)
        before = box.log("milter").count("reason=ticket_mismatch")
        with contextlib.suppress(AssertionError):
            ALL_WAYS[OWN_WAYS[METHOD]](box, message_id, sender, [ticket], data)
        wait_for("the verdict",
                 lambda: box.log("milter").count("reason=ticket_mismatch") > before)
    assert httpd.read(email_id)["last_event"] == "queued"
    box.cli("outbox", "resume", "--company", company)
    mail = box.sink.find(to=to)
    assert b"forged" not in mail.raw and mail.header("Postern-Nonce") is None
    wait_for("its end", lambda: httpd.read(email_id)["last_event"] == "delivered")
    assert len(box.sink.now(to=to)) == 1


@pytest.mark.submission
def test_returned_to_another_user(box, email, to):
    """Postfix returns a message that has passed too many hosts before the milter is asked, and
    logs its ticket. What another user of the host has sent ends no email, also with its Message-ID."""
    company = box.company()
    domain = box.domain(company)
    httpd = box.httpd(box.new_key(company)["token"])
    box.cli("outbox", "pause", "--company", company)
    email_id = httpd.send({**email, "from": f"hello@{domain}"})
    ticket, message_id = ticket_address(ticket_of(box, email_id)), message_id_of(box, email_id)
    _, data = message(head=b"Received: by x; Sat, 21 Nov 2026 12:00:00 +0000\n" * 60,
                      message_id=message_id)
    by_nobody(box, message_id, "nobody@mail.sandbox.test", [ticket], data)
    wait_for("Postfix to return it",
             lambda: f"to=<{ticket}>, relay=none" in box.log("postfix"))
    wait_for_events(box, email)
    assert httpd.read(email_id)["last_event"] == "queued"
    box.cli("outbox", "resume", "--company", company)
    assert b"forged" not in box.sink.find(to=to).raw
    wait_for("its end", lambda: httpd.read(email_id)["last_event"] == "delivered")


@pytest.mark.submission
def test_another_message_to_the_ticket_of_a_probe(box, email):
    """Everybody can read the ticket of a waiting probe in mailq, and readers of Postfix's log
    know them all. Another message to one says nothing of how emails go out, whether it comes
    first or second."""
    def noted():
        return box.query("SELECT seen_us, queue_id, changed, refusal FROM probe"
                         f" WHERE ticket || '@postern.invalid' = '{address}' AND seen_us <> 0")

    probe = box.cli("probe", "add", "--through", "--submission", METHOD)
    address = probe["address"]
    _, replay = message("postern-probe@mail.sandbox.test", message_id=f"<{address}>")
    assert by_nobody(box, f"<{address}>", "", [address], replay).verdict()["action"] == "refuse"
    assert not noted()
    own = f"Postern-Nonce: {probe['nonce']}\n".encode() + replay
    ALL_WAYS[OWN_WAYS[METHOD]](box, f"<{address}>", "", [address], own)
    first = wait_for("the milter", noted)
    message_id, data = message()
    by_nobody(box, message_id, "nobody@mail.sandbox.test", [address], data).verdict()
    wait_for_events(box, email)
    assert noted() == first


@pytest.mark.submission("sendmail")
def test_nobody_sees_it(box, httpd, email):
    """Every user can read the arguments of all processes. sendmail(1) becomes smtpd(8), whose
    environment names the configuration."""
    def arguments():
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                words = Path(f"/proc/{pid}/cmdline").read_bytes()
                if config in words + Path(f"/proc/{pid}/environ").read_bytes():
                    yield words.decode(errors="replace").replace("\0", " ")

    def look():
        while not done.is_set():
            seen.extend(arguments())

    config = box.env["POSTFIX_CONFIG"].encode()
    seen, done = [], threading.Event()
    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        for _ in range(20):
            httpd.send(email)
        wait_for("the submission",
                 lambda: httpd.send(email) and any(a.startswith("smtpd -S") for a in seen))
    finally:
        done.set()
        watcher.join()
    assert not [a for a in seen if "postern.invalid" in a]


@pytest.mark.submission("sendmail")
def test_a_bounce_tells_no_ticket(own_box, email, to):
    """A milter in front of ours refuses an email: Postfix returns it to its sender,
    with its ticket and everything to which that is bound."""
    box = own_box("--set", "submission.probe_interval=0")
    ours = box.main_cf("non_smtpd_milters")
    with OtherMilter(REJECT) as other:
        box.postconf(f"non_smtpd_milters={other.name}, {ours}")
        box.reload_postfix()
        email_id = box.httpd().send(email)
        wait_for("its end", lambda: box.httpd().read(email_id)["last_event"] == "bounced")
    box.postconf(f"non_smtpd_milters={ours}")
    box.reload_postfix()
    bounce = box.sink.find(to="hello@example.com").raw.decode()
    (ticket,) = set(re.findall(r"\b([0-9a-f]{32})@postern\.invalid", bounce))
    message_id = re.search(r"^Message-ID: (.*)$", bounce, re.M | re.I).group(1)
    head = re.search(r"^X-Postern-Email-Id: .*\n", bounce, re.M).group(0)
    _, data = message(message_id=message_id, head=head.encode())
    submitted = by_sendmail(box, message_id, "hello@example.com", [ticket_address(ticket)], data)
    wait_for("the verdict", lambda: "reason=ticket_spent" in box.log("milter"))
    assert submitted and not box.sink.now(to=to)
    assert box.httpd().read(email_id)["last_event"] == "bounced"
