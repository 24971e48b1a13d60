"""Mail that reaches Postfix past httpd: the rules hold there too."""

import smtplib
import subprocess

import pytest
from harness import wait_for
from harness.sandbox import unique


def message(sender, to, *fields):
    return "\r\n".join(
        [
            f"From: {sender}",
            f"To: {to}",
            "Subject: x",
            f"Message-ID: <{unique()}@other.test>",
            "Date: Sat, 21 Nov 2026 12:00:00 +0000",
            *fields,
            "",
            "body",
            "",
        ]
    )


@pytest.fixture
def smtp(box):
    host, port = box.env["POSTFIX_SMTP"].split(":")
    with smtplib.SMTP(host, int(port), timeout=60) as session:
        yield session


def sendmail(box, sender, to, text):
    subprocess.run(
        ["/usr/sbin/sendmail", "-C", box.env["POSTFIX_CONFIG"], "-i", "-f", sender, "--", to],
        input=text.replace("\r\n", "\n").encode(),
        check=True,
        timeout=60,
    )


def test_smtp_cannot_claim_a_sending_domain(box, smtp, to):
    with pytest.raises(smtplib.SMTPDataError) as refusal:
        smtp.sendmail("hello@example.com", to, message("hello@example.com", to))
    assert refusal.value.smtp_code == 550
    assert b"example.com" in refusal.value.smtp_error


def test_smtp_cannot_claim_it_by_one_of_envelope_and_header(box, smtp, to):
    for envelope, header in (
        ("hello@example.com", "a@other.test"),
        ("a@other.test", "hello@example.com"),
        ("a@other.test", "Ann <a@other.test>, hello@example.com"),
        ("", "hello@EXAMPLE.com"),
    ):
        with pytest.raises(smtplib.SMTPDataError):
            smtp.sendmail(envelope, to, message(header, to))
        smtp.rset()


def test_smtp_of_others_passes_untouched(box, smtp, to):
    text = message("a@other.test", to, "X-Odd:   kept  as is ")
    smtp.sendmail("a@other.test", to, text)
    raw = box.sink.find(to=to).raw
    assert text.replace("\r\n", "\n").encode() in raw


def test_smtp_from_elsewhere_passes(box, smtp, to):
    """SPF and DMARC judge what comes from other hosts."""
    assert smtp.docmd("XCLIENT", "ADDR=192.0.2.1 NAME=mx.example.net")[0] == 220
    smtp.ehlo()
    code, text = smtp.docmd("MAIL", "FROM:<hello@example.com>")
    assert code == 250, text


def test_sendmail_cannot_claim_a_sending_domain(box, to):
    n = box.log("milter").count("outcome=held")
    sendmail(box, unique("cron") + "@mail.sandbox.test", to, message("hello@example.com", to))
    wait_for("it to be held", lambda: box.log("milter").count("outcome=held") > n)
    assert not box.sink.now(to=to)


def test_sendmail_of_cron_passes(box, to):
    sendmail(box, "root", to, message("root (Cron Daemon)", to))
    assert box.sink.find(to=to)


def test_bounce_of_our_mail_comes_back(box, httpd, email):
    """Postfix's own bounces reach the sender unchanged."""
    sender = unique("sender") + "@example.com"
    to = unique("to") + "@bounce.test"
    email_id = httpd.send({**email, "from": sender, "to": to})
    bounce = box.sink.find(to=sender)
    assert bounce.sender == ""
    assert "Undelivered" in bounce.header("Subject")
    wait_for("what became of it", lambda: httpd.read(email_id)["last_event"] == "bounced")


def test_every_verdict_is_logged(box, httpd, email, to):
    email_id = httpd.send(email)
    lines = wait_for(
        "the verdict",
        lambda: [x for x in box.log("milter").splitlines() if email_id in x],
    )
    assert len(lines) == 1
    assert "event=verdict" in lines[0]
    assert "action=record" in lines[0]
