"""SMTP with an API key as the password, at the service with logins."""

import base64
import email.message
import json
import re
import signal
import smtplib
import socket
import subprocess
import threading
from urllib.parse import quote

import pytest
from harness import wait_for
from harness.admin import operator
from harness.sandbox import unique
from harness.submit import by_smtp


def connect(box, address=None):
    host, port = (address or box.env["POSTERN_SMTP"]).split(":")
    session = smtplib.SMTP(host, int(port), timeout=60)
    session.ehlo()
    return session


def login(box, key=None, user="resend"):
    session = connect(box)
    session.login(user, key or box.env["POSTERN_SENDING_KEY"])
    return session


def new_message(to, sender="ann@example.com", more="", body="hello\r\n"):
    message_id = f"<{unique('auth')}@made.test>"
    text = (
        f"From: Ann <{sender}>\r\nTo: {to}\r\nSubject: x\r\nMessage-ID: {message_id}\r\n"
        f"{more}Date: Sat, 21 Nov 2026 12:00:00 +0000\r\n\r\n{body}"
    )
    return message_id, text.encode()


def refused(session, sender, to, data):
    """The reply at the end of the message."""
    with pytest.raises(smtplib.SMTPDataError) as error:
        session.sendmail(sender, to, data)
    return error.value.smtp_code, error.value.smtp_error.decode()


def said_over_http(box, sender, to, key=None):
    """The words with which POST /emails refuses the sender."""
    answer = box.httpd(key or box.env["POSTERN_SENDING_KEY"]).post({"from": sender, "to": to, "text": "x"})
    assert answer.status_code in (400, 401, 403), answer.text
    return answer.json()["message"]


def email_of(box, message_id, key=None):
    """The one email of the Message-ID, as GET tells it."""
    ids = box.query(f"SELECT id FROM email WHERE message_id = '{message_id}'").split()
    assert len(ids) == 1, ids
    return box.httpd(key).read(ids[0])


def test_sent(box, to):
    """By each mechanism: it goes out as it came, and is in the sent folder."""
    hidden = unique("hidden") + "@dst.test"
    for mechanism in ("PLAIN", "LOGIN", "CRAM"):
        session = connect(box)
        session.user, session.password = "anybody", box.env["POSTERN_SENDING_KEY"]
        if mechanism == "PLAIN":
            session.auth("PLAIN", session.auth_plain)
        elif mechanism == "LOGIN":
            session.auth("LOGIN", session.auth_login, initial_response_ok=False)
        else:
            # PLAIN without an initial response.
            code, _ = session.docmd("AUTH", "PLAIN")
            assert code == 334
            secret = base64.b64encode(f"\0x\0{session.password}".encode()).decode()
            assert session.docmd(secret)[0] == 235
        message_id, data = new_message(to)
        assert session.sendmail("ann@example.com", [to, hidden], data) == {}
        session.quit()
        row = email_of(box, message_id)
        assert row["from"] == "Ann <ann@example.com>"
        assert (row["to"], row["bcc"], row["subject"]) == ([to], [hidden], "x")
        (listed,) = [e for e in box.cli("email", "list", "--company", company_of(box)) if e["id"] == row["id"]]
        assert listed["via"] == "smtp"
        assert box.httpd().read(quote(message_id))["id"] == row["id"]
        other = box.httpd(box.new_key(box.company())["token"])
        assert other.get(quote(message_id)).status_code == 404
        (searched,) = operator(box).ok("GET", "/admin/emails", params={"q": message_id})["data"]
        assert searched["id"] == row["id"]
        wait_for(
            "delivery", lambda: email_of(box, message_id)["last_event"] == "delivered"
        )
        messages = [m for m in box.sink.all() if message_id.encode() in m.raw]
        assert {r for m in messages for r in m.recipients} == {to, hidden}
        for message in messages:
            at = message.raw.index(b"From: Ann")
            assert message.raw[at:] == data.replace(b"\r\n", b"\n")


def test_recipient_without_a_domain(box):
    """Postfix completes it, and logs both forms."""
    name = unique("somebody")
    message_id, data = new_message(name)
    assert login(box).sendmail("ann@example.com", [name], data) == {}
    wait_for(
        "delivery",
        lambda: [r["state"] for r in email_of(box, message_id)["recipients"]] == ["delivered"],
    )


def test_without_message_id(box, to):
    """It gets one, by which the email is found as well as by its id."""
    text = f"From: ann@example.com\r\nTo: {to}\r\nSubject: x\r\n\r\nhello\r\n"
    assert login(box).sendmail("ann@example.com", [to], text.encode()) == {}
    (email_id,) = sent_by(box, to)
    (message_id,) = re.findall(rb"(?mi)^Message-ID: (<.*>)$", box.sink.find(to=to).raw)
    for name in (email_id, message_id.decode()):
        row = box.httpd().read(quote(name))
        assert (row["id"], row["message_id"]) == (email_id, message_id.decode())


def company_of(box):
    return box.query("SELECT company_id FROM domain WHERE name = 'example.com'")


def test_senders(box, to):
    """From, Sender and the envelope: of a domain that is the company's and active, and of
    the key. In the words of HTTP."""
    company = company_of(box)
    other = box.domain(box.company())
    idle = box.domain(company, active=False)
    second = box.domain(company)
    bound = box.new_key(company, "sending", "example.com")["token"]
    session, restricted = login(box), login(box, bound)
    _, good = new_message(to)
    for sender in (f"a@{other}", "a@nobody.test", f"a@{idle}"):
        words = said_over_http(box, sender, to)
        for envelope, data in [
            (sender, good),
            ("ann@example.com", new_message(to, sender)[1]),
            ("ann@example.com", new_message(to, more=f"Sender: {sender}\r\n")[1]),
        ]:
            assert refused(session, envelope, [to], data) == (550, f"5.7.1 {words}")
    assert session.sendmail(f"a@{second}", [to], new_message(to)[1]) == {}
    assert session.sendmail("", [to], new_message(to, f"a@{second}")[1]) == {}
    words = said_over_http(box, f"a@{second}", to, bound)
    assert refused(restricted, f"a@{second}", [to], good) == (550, f"5.7.1 {words}")
    two = good.replace(b"Subject:", b"From: eve@example.com\r\nSubject:")
    none = re.sub(rb"From: [^\n]*\n", b"Resent-From: ann@example.com\r\n", good)
    assert refused(session, "ann@example.com", [to], two)[0] == 550
    assert refused(session, "ann@example.com", [to], none)[0] == 550
    with pytest.raises((smtplib.SMTPDataError, smtplib.SMTPRecipientsRefused)):
        session.sendmail("ann@example.com", [f"{'0' * 32}@postern.invalid"], good)


# What may stand in From; the same may in a finished message over HTTP.
FROMS = [
    ("Ann <ann@{own}>", True),
    ('"ann@{own}" <ann@{own}>', True),
    ('"bob@elsewhere.test" <ann@{own}>', True),
    ("=?utf-8?q?bob=40elsewhere.test?= <ann@{own}>", True),
    ('"Bob, at home" <ann@{own}>', True),
    ("Ann (bob@elsewhere.test) <ann@{own}>", True),
    ('"bob@{other} via List" <ann@{own}>', True),
    ("Bob, at home <ann@{own}>", False),
    ('"bob@{other}" <ann@{own}>', False),
    ("=?utf-8?q?bob=40{other}?= <ann@{own}>", False),
    ("bob@{other} <ann@{own}>", False),
    ("ann@{own}, bob@{own}", False),
    ("<ann@{own}> <ann@{own}>", False),
    ("nobody", False),
]


def test_from_fields(box, to):
    company = box.company()
    own, other = box.domain(company), box.domain(box.company())
    key = box.new_key(company, "sending")["token"]
    session, odd = login(box, key), []
    for shape, good in FROMS:
        field = shape.format(own=own, other=other)
        data = f"From: {field}\r\nTo: {to}\r\nSubject: x\r\n\r\nhello\r\n".encode()
        answer = box.httpd(key).request(
            "POST", f"/v3/{own}/messages.mime", headers={"Authorization": None},
            auth=("api", key), data={"to": to}, files={"message": ("m", data)},
        )  # fmt: skip
        assert session.docmd(f"MAIL FROM:<ann@{own}>")[0] == 250
        assert session.docmd(f"RCPT TO:<{to}>")[0] == 250
        code, text = session.data(data)
        if (answer.status_code == 200, code == 250) != (good, good):
            odd.append((field, answer.status_code, answer.text, code, text))
    assert odd == []
    # A key that is good for the other domain may name it, too.
    second = box.domain(company)
    data = new_message(to, f"ann@{own}")[1].replace(b"From: Ann", f'From: "ann@{second}"'.encode())
    assert session.sendmail(f"ann@{own}", [to], data) == {}
    bound = login(box, box.new_key(company, "sending", own)["token"])
    words = "5.7.1 The message also names a sender of a domain that its API key is not for."
    assert refused(bound, f"ann@{own}", [to], data) == (550, words)


def test_suppressed(box, to):
    """Who is suppressed gets nothing, the others do; of nobody else the email says so."""
    company, blocked = company_of(box), unique("blocked") + "@dst.test"
    box.cli("suppression", "add", blocked, "--company", company)
    session = login(box)
    message_id, data = new_message(f"{to}, {blocked}")
    assert session.sendmail("ann@example.com", [to, blocked], data) == {}
    alone, data = new_message(blocked)
    assert session.sendmail("ann@example.com", [blocked], data) == {}
    assert email_of(box, alone)["last_event"] == "suppressed"

    def states():
        return {r["address"]: r["state"] for r in email_of(box, message_id)["recipients"]}

    wait_for("delivery", lambda: states()[to] == "delivered")
    assert states()[blocked] == "suppressed"
    messages = [m for m in box.sink.all() if message_id.encode() in m.raw]
    assert [m.recipients for m in messages] == [[to]]


@pytest.mark.parametrize("spelling", [
    '<"{local}"@dst.test>', "<@relay.test:{local}@dst.test>", "<{local}@DST.test>",
    "{local}@dst.test", '<"\\{local}"@dst.test>', "<{local}%dst.test>",
])  # fmt: skip
def test_suppressed_by_another_spelling(box, spelling):
    """Postfix delivers to the mailbox however RCPT spells it."""
    company, local = company_of(box), unique("blocked")
    box.cli("suppression", "add", f"{local}@dst.test", "--company", company)
    message_id, data = new_message(f"{local}@dst.test")
    session = login(box)
    session.mail("ann@example.com")
    assert session.docmd("RCPT", "TO:" + spelling.format(local=local))[0] == 250
    assert session.data(data)[0] == 250
    email = email_of(box, message_id)
    assert email["last_event"] == "suppressed"
    assert [r["address"].lower() for r in email["recipients"]] == [f"{local}@dst.test"]


def sent_by(box, address):
    """The ids of the emails to the address."""
    sql = (
        "SELECT id FROM email JOIN email_recipient r ON r.email = email.seq"
        f" WHERE r.address = '{address}'"
    )
    return box.query(sql).split()


def test_repeats(box, to):
    """With the same Idempotency-Key it goes out once, however often it is composed."""
    key = unique("key")
    session = login(box)

    def send(more, body="hello\r\n", day=21):
        _, data = new_message(to, more=more, body=body)
        data = data.replace(b"Sat, 21", b"Sat, %d" % day)
        return session.sendmail("ann@example.com", [to], data)

    assert send(f"Idempotency-Key: {key}\r\n") == {}
    (first,) = sent_by(box, to)
    wait_for("delivery", lambda: box.httpd().read(first)["last_event"] == "delivered")
    for name in ("Idempotency-Key", "Resend-Idempotency-Key"):
        assert send(f"{name}: {key}\r\n", day=22) == {}
    lines = [x for x in box.log("milter").splitlines() if "reason=repeat_arrived" in x]
    assert len([x for x in lines if f"email={first}" in x]) == 2
    for more, body in ((f"Idempotency-Key: {key}\r\n", "other\r\n"), (f"Idempotency-Key: {key}\r\nX-Mailgun-Tag: x\r\n", "hello\r\n")):
        with pytest.raises(smtplib.SMTPDataError) as error:
            send(more, body)
        assert error.value.smtp_error == b"5.7.1 Same idempotency key used with a different message."
    # Over HTTP it is the same key.
    answer = box.httpd(box.env["POSTERN_SENDING_KEY"]).request(
        "POST", "/emails", json={"from": "ann@example.com", "to": to, "text": "x"},
        headers={"Idempotency-Key": key},
    )
    assert answer.status_code == 409
    assert sent_by(box, to) == [first]
    (message,) = [m for m in box.sink.all() if m.recipients == [to]]
    assert b"dempotency" not in message.raw


def test_tags(box, to):
    more = (
        "X-Mailgun-Tag: =?utf-8?q?gr=C3=BC=C3=9Fe?=\r\nx-mailgun-tag: second\r\n"
        "Resend-Tag: kind=welcome,\r\n team=a1\r\nX-Mailgun-Variables: {\"order\": 7}\r\n"
        "X-Mailgun-Track: yes\r\nX-Mailgun-Drop-Message: no\r\nx-mailgun-track : htmlonly\r\n"
    )
    session = login(box)
    message_id, data = new_message(to, more=more)
    assert session.sendmail("ann@example.com", [to], data) == {}
    row = email_of(box, message_id)
    assert [(t["name"], t["value"]) for t in row["tags"]] == [
        ("tag", "gr\u00fc\u00dfe"), ("tag", "second"), ("kind", "welcome"), ("team", "a1"),
    ]
    found = box.query(f"SELECT tag FROM email_tag JOIN email ON seq = email WHERE message_id = '{message_id}'")
    assert {"second", "kind", "kind:welcome"} <= set(found.split())
    assert box.query(
        f"SELECT variables FROM email_content c JOIN email e ON e.seq = c.seq WHERE message_id = '{message_id}'"
    ) == '{"order":7}'
    head = box.sink.find(to=to).raw.split(b"\n\n")[0].lower()
    assert b"x-mailgun" not in head and b"resend-tag" not in head and b"team=a1" not in head
    assert "mailgun" not in box.cli("email", "raw", row["id"])["message"].lower()
    for more, words in (
        ("X-Mailgun-Tag:\r\n", "The field X-Mailgun-Tag must"),
        ("Resend-Tag: no\r\n", "The field Resend-Tag must have the form name=value"),
        ("X-Mailgun-Variables: [1]\r\n", "The field X-Mailgun-Variables must have a JSON object."),
        ("Idempotency-Key: " + "x" * 257 + "\r\n", "The field Idempotency-Key must have between 1 and 256"),
        ("Idempotency-Key: a\r\nResend-Idempotency-Key: a\r\n", "The field Idempotency-Key must stand once"),
        ("X-Mailgun-Tag: x\r\n" * 76, "Too many tags"),
        ("X-Mailgun-Drop-Message: yes\r\n", "The field X-Mailgun-Drop-Message is not supported over SMTP."),
        ("x-mailgun-deliver-by:\r\n\tlater\r\n", "The field X-Mailgun-Deliver-By is not supported over SMTP."),
        ("X-Mailgun-Recipient-Variables: {}\r\n", "The field X-Mailgun-Recipient-Variables is not supported"),
        ("X-Mailgun-Tag: x\r\n" * 101, "The field X-Mailgun-Tag is too long, or is there too often."),
    ):
        message_id, data = new_message(to, more=more)
        code, text = refused(session, "ann@example.com", [to], data)
        assert code == 550 and text.startswith(f"5.7.1 {words}"), text
        assert box.query(f"SELECT count(*) FROM email WHERE message_id = '{message_id}'") == "0"


def test_text_is_kept(box, to):
    """As of an email over HTTP: texts, attachments, the message itself, and it can be sent again."""
    message = email.message.EmailMessage()
    message["From"], message["To"], message["Subject"] = "ann@example.com", to, "Gr\u00fc\u00dfe"
    message["Message-ID"] = f"<{unique('kept')}@made.test>"
    message.set_content("the text \u00fc\n")
    message.add_alternative("<p>the html</p>\n", subtype="html")
    for n in (1, 300):
        message.add_attachment(bytes(range(256)) * n, maintype="application", subtype="pdf", filename=f"{n}.pdf")
    session = login(box)
    session.send_message(message)
    row = email_of(box, message["Message-ID"])
    assert (row["text"], row["html"], row["subject"]) == ("the text \u00fc\n", "<p>the html</p>\n", "Gr\u00fc\u00dfe")
    httpd = box.httpd()
    items = httpd.request("GET", f"/emails/{row['id']}/attachments").json()["data"]
    assert {i["filename"]: i["size"] for i in items} == {"1.pdf": 256, "300.pdf": 256 * 300}
    raw = box.cli("email", "raw", row["id"])
    assert "300.pdf" in str(raw)
    again = box.cli("email", "resend", row["id"])["id"]
    wait_for("both", lambda: len(box.sink.now(to=to)) == 2)
    assert httpd.read(again)["html"] == row["html"]
    assert len({m.raw.split(b"\n\n", 1)[1] for m in box.sink.now(to=to)}) == 1


def test_folded_fields(box, to):
    """Values are read back on one line, with the blanks that the program gave them."""
    name, subject = "Ann of the sales team", "Words between which programs fold"
    message_id, data = new_message(to, more="Reply-To: x@example.com\r\n")
    data = data.replace(b"From: Ann", b'From: "Ann of the\r\n sales team"')
    data = data.replace(b"Subject: x", b"Subject: Words between\r\n which\r\n\tprograms fold")
    login(box).sendmail("ann@example.com", [to], data)
    row = email_of(box, message_id)
    assert (row["subject"], row["from"]) == (subject, f"{name} <ann@example.com>")


PHPMAILER = """<?php
require "/usr/share/php/libphp-phpmailer/autoload.php";
[, $host, $port, $secure, $ca, $key, $to, $id] = $argv;
$mail = new PHPMailer\\PHPMailer\\PHPMailer(true);
$mail->isSMTP();
[$mail->Host, $mail->Port, $mail->SMTPAuth] = [$host, $port, true];
[$mail->Username, $mail->Password] = ["postmaster@example.com", $key];
[$mail->SMTPSecure, $mail->SMTPAutoTLS] = [$secure, false];
$mail->SMTPOptions = ["ssl" => ["cafile" => $ca]];
$mail->setFrom("ann@example.com");
$mail->addAddress($to);
[$mail->MessageID, $mail->Subject, $mail->Body] = [$id, "x", "hello"];
$mail->send();
"""

# What programs of Debian's are told about TLS: none, from STARTTLS on, from the start.
PROGRAMS = {
    "swaks": {"": [], "starttls": ["--tls", "--tls-verify"], "tls": ["--tls-on-connect", "--tls-verify"]},
    "msmtp": {"": ["--tls=off"], "starttls": ["--tls=on", "--tls-starttls=on"],
              "tls": ["--tls=on", "--tls-starttls=off"]},
    "curl": {"": [], "starttls": ["--ssl-reqd"], "tls": []},
    "phpmailer": {"": "", "starttls": "tls", "tls": "ssl"},
}  # fmt: skip


def use_program(name, box, to, folder, address=None, security="", ca="/dev/null"):
    """Sends by one of these programs, and sees the email arrive."""
    host, port = (address or box.env["POSTERN_SMTP"]).split(":")
    key, options = box.env["POSTERN_SENDING_KEY"], PROGRAMS[name][security]
    message_id, data = new_message(to)
    text = data.replace(b"\r\n", b"\n")
    if name == "swaks":
        trust = ["--tls-ca-path", ca] if security else []
        command = [name, "--server", host, "--port", port, "--auth", "LOGIN", "--auth-user", "x",
                   "--auth-password", key, "--from", "ann@example.com", "--to", to, "--pipeline",
                   "--data", "-", *options, *trust]  # fmt: skip
    elif name == "msmtp":
        (folder / "key").write_text(key)
        command = [name, f"--host={host}", f"--port={port}", "--auth=plain", "--user=x",
                   "--passwordeval=cat key", "--from=ann@example.com", *options,
                   f"--tls-trust-file={ca}", to]  # fmt: skip
    elif name == "curl":
        scheme, text = "smtps" if security == "tls" else "smtp", data
        command = [name, "-sS", f"{scheme}://{host}:{port}", "--user", f"x:{key}", "--mail-from",
                   "ann@example.com", "--mail-rcpt", to, "-T", "-", "--cacert", ca, *options]  # fmt: skip
    else:
        (folder / "send.php").write_text(PHPMAILER)
        command = ["php", "send.php", host, port, options, ca, key, to, message_id]
    done = subprocess.run(command, input=text, capture_output=True, cwd=folder, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert email_of(box, message_id)["text"].strip() == "hello"
    assert box.sink.find(message_id=message_id).recipients == [to]


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(box, to, tmp_path, name):
    use_program(name, box, to, tmp_path)


def test_extensions(box, to):
    """8BITMIME, SMTPUTF8, CHUNKING, DSN and SIZE are Postfix's own, and told by EHLO."""
    session = login(box)
    assert {"8bitmime", "smtputf8", "chunking", "dsn", "pipelining", "size"} <= set(session.esmtp_features)
    message_id, data = new_message(to, more="Content-Type: text/plain; charset=utf-8\r\n", body="gr\u00fc\u00dfe\r\n")
    assert session.sendmail("ann@example.com", [to], data, mail_options=["BODY=8BITMIME"]) == {}
    assert email_of(box, message_id)["text"] == "gr\u00fc\u00dfe\n"
    assert box.sink.find(message_id=message_id).raw.endswith("gr\u00fc\u00dfe\n".encode())
    far = f"gr\u00fc\u00dfe-{unique()}@utf8.test"
    message_id, data = new_message(far)
    assert session.sendmail("ann@example.com", [far], data, mail_options=["SMTPUTF8"]) == {}
    assert email_of(box, message_id)["to"] == [far]
    message_id, data = new_message(to)
    assert session.docmd("MAIL", "FROM:<ann@example.com> RET=HDRS ENVID=x")[0] == 250
    assert session.docmd("RCPT", f"TO:<{to}> NOTIFY=SUCCESS,FAILURE")[0] == 250
    session.sock.sendall(b"BDAT %d\r\n" % 100 + data[:100])
    assert session.getreply()[0] == 250
    session.sock.sendall(b"BDAT %d LAST\r\n" % (len(data) - 100) + data[100:])
    assert session.getreply()[0] == 250
    assert box.sink.find(message_id=message_id).raw.endswith(data.split(b"\r\n\r\n")[1].replace(b"\r\n", b"\n"))
    code, text = session.docmd("MAIL", "FROM:<ann@example.com> SIZE=999999999")
    assert code == 552


def test_paused(box, to):
    company = box.company()
    domain = box.domain(company)
    key = box.new_key(company, "sending")
    session = login(box, key["token"])
    sender = f"ann@{domain}"
    for words in (["--company", company], ["--domain", domain], ["--key", key["id"]]):
        box.cli("outbox", "pause", *words)
        code, text = refused(session, sender, [to], new_message(to, sender)[1])
        assert (code, "Sending is paused" in text) == (451, True)
        box.cli("outbox", "resume", *words)
    assert session.sendmail(sender, [to], new_message(to, sender)[1]) == {}
    box.sink.find(to=to)


def test_bad_logins(box, to):
    company = company_of(box)
    reading = box.new_key(company, "reading")["token"]
    for password in ("wrong", "", "ps_" + "A" * 43, reading, "\u00e9"):
        session = connect(box)
        with pytest.raises(smtplib.SMTPAuthenticationError) as error:
            session.user, session.password = "x", password
            secret = base64.b64encode(f"\0x\0{password}".encode()).decode()
            code, text = session.docmd("AUTH", "PLAIN " + secret)
            raise smtplib.SMTPAuthenticationError(code, text)
        assert error.value.smtp_code == 535
        with pytest.raises(smtplib.SMTPRecipientsRefused):
            session.sendmail("ann@example.com", [to], new_message(to)[1])


def test_revoked_key(box, to):
    """From the next message of a session on."""
    key = box.new_key(company_of(box), "sending")
    session = login(box, key["token"])
    assert session.sendmail("ann@example.com", [to], new_message(to)[1]) == {}
    box.cli("key", "revoke", key["id"])
    words = said_over_http(box, "ann@example.com", to, key["token"])
    assert refused(session, "ann@example.com", [to], new_message(to)[1]) == (550, f"5.7.1 {words}")


def test_login_by_xclient(box, to):
    """Our service takes it from nobody; at others it is no key. That of a person who is named like
    a key is in test_postfix_conf_logins.py."""
    key = box.new_key(company_of(box), "sending")
    session = connect(box)
    assert session.docmd("XCLIENT", f"LOGIN={key['id']}")[0] != 220
    message_id, data = new_message(to)
    client = f"ADDR=127.0.0.1 LOGIN={key['id']}"
    reply = by_smtp(
        box, message_id, "ann@example.com", [to], data.replace(b"\r\n", b"\n"),
        client=client,
    ).reply
    assert reply[0] == 550
    assert f"login={key['id']} " in box.log("milter")
    assert box.query(f"SELECT count(*) FROM email WHERE message_id = '{message_id}'") == "0"


def test_many(own_box):
    """1,000 recipients, many messages in a session, and pipelining. Whoever makes a key is told
    where programs log in, and `postern key create` prints a command that sends."""
    box = own_box("--set", "auth.url=smtps://mail.example.com", parts=["auth"])
    company = company_of(box)
    wanted = ["mail.example.com", 465, "tls", "postern"]
    names = ["smtp_host", "smtp_port", "smtp_security", "smtp_user"]
    made = box.httpd().request("POST", "/api-keys", json={"name": "x"}).json()
    assert [made[n] for n in names] == wanted
    assert [box.new_key(company)[n] for n in names] == wanted
    assert box.new_key(company, "reading")["smtp_host"] is None
    printed = subprocess.run(
        [box.env["POSTERN_CLI"], "-c", box.config, "key", "create", "--company", company, "--name", "x"],
        check=True, capture_output=True, text=True, timeout=60,
    ).stdout  # fmt: skip
    token = re.search(r"(?m)^token +(ps_\S+)$", printed)[1]
    assert max(map(len, printed.splitlines())) < 80
    settings = dict(re.findall(r"(?m)^  ([A-Z]\w+)  +(.+)$", printed))
    assert settings == {"Host": wanted[0], "Port": "465", "Security": "TLS from the start",
                        "User": wanted[3], "Password": token}  # fmt: skip
    command = re.search(r"(?ms)^  curl .*?$(?=\n\n)", printed)[0]
    to = f"{unique()}@dst.test"
    answered = subprocess.run(
        ["sh", "-c", command.replace("you@example.net", to)],
        check=True, capture_output=True, timeout=60,
    ).stdout  # fmt: skip
    assert sent_by(box, to) == [json.loads(answered)["id"]]
    session = login(box)
    recipients = [f"{unique()}@dst.test" for _ in range(1000)]
    message_id, data = new_message(recipients[0])
    assert session.sendmail("ann@example.com", recipients, data) == {}
    count = box.query(
        "SELECT count(*) FROM email_recipient WHERE email ="
        f" (SELECT seq FROM email WHERE message_id = '{message_id}')"
    )
    assert count == "1000"
    for _ in range(100):
        to = f"{unique()}@dst.test"
        assert session.sendmail("ann@example.com", [to], new_message(to)[1]) == {}
    to = f"{unique()}@dst.test"
    batch = b""
    for _ in range(20):
        batch += b"MAIL FROM:<ann@example.com>\r\nRCPT TO:<%s>\r\nDATA\r\n" % to.encode()
        session.sock.sendall(batch)
        batch = b""
        assert [session.getreply()[0] for _ in range(3)] == [250, 250, 354]
        session.sock.sendall(new_message(to)[1] + b".\r\n")
        assert session.getreply()[0] == 250
    assert box.query("SELECT count(*) FROM email WHERE state = 'sent'") == "122"
    wait_for(
        "all to be delivered",
        lambda: sum(len(m.recipients) for m in box.sink.all()) == 1121,
    )


@pytest.mark.parametrize("part", ["auth", "milter", "store"])
def test_part_is_away(own_box, to, part):
    """Nothing is let in, or lost: 454 for logins, 451 for messages."""
    box = own_box(parts=["auth"])
    waiting, session, file = connect(box), login(box), box.dir / "store/postern.db"
    aside = file.with_name("aside")
    if part == "store" and box.on_server:
        box.stop("postgresql")
    elif part == "store":
        file.rename(aside)
    else:
        box.stop(part)
    if part == "store":
        with pytest.raises(smtplib.SMTPResponseException) as error:
            session.sendmail("ann@example.com", [to], new_message(to)[1])
        assert error.value.smtp_code in (421, 451)
        with pytest.raises((smtplib.SMTPException, OSError)) as error:
            login(box)
        # postern-auth may have ended by now.
        assert getattr(error.value, "smtp_code", 454) in (421, 454)
    elif part == "auth":
        # A new process of smtpd(8) ends at once; those that run say 454.
        with pytest.raises((smtplib.SMTPException, OSError)) as error:
            login(box)
        assert getattr(error.value, "smtp_code", 454) in (-1, 421, 454)
        with pytest.raises(smtplib.SMTPAuthenticationError) as error:
            waiting.login("x", box.env["POSTERN_SENDING_KEY"])
        assert error.value.smtp_code == 454
        assert session.sendmail("ann@example.com", [to], new_message(to)[1]) == {}
    else:
        with pytest.raises(smtplib.SMTPResponseException) as error:
            session.sendmail("ann@example.com", [to], new_message(to)[1])
        assert error.value.smtp_code in (421, 451)
        assert box.query("SELECT count(*) FROM email") == "0"
    if part == "store" and box.on_server:
        box.start("postgresql")
    elif part == "store":
        aside.rename(file)
    else:
        box.start(part)

    def works():
        try:
            session = login(box)
            return session.sendmail("ann@example.com", [to], new_message(to)[1]) == {}
        except (smtplib.SMTPException, OSError):
            return False

    wait_for("it to work again", works)
    tries = box.query("SELECT count(*) FROM email WHERE state = 'sent'")
    wait_for("all to be delivered", lambda: len(box.sink.now(to=to)) == int(tries))


def answers(box):
    """Whether postern-auth can be reached. An smtpd that cannot reach it ends, and master(8)
    then waits before it starts the next one."""
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(box.dir / "queue/postern/auth.sock")) == 0


def test_killed_in_the_dialogue(own_box, to):
    """The daemon dies between user name and password: the login fails for now."""
    box = own_box(parts=["auth"])
    session = connect(box)
    assert session.docmd("AUTH", "LOGIN")[0] == 334
    assert session.docmd(base64.b64encode(b"x").decode())[0] == 334
    old = box.pid("auth")
    box.kill("auth", signal.SIGKILL)
    secret = base64.b64encode(box.env["POSTERN_SENDING_KEY"].encode()).decode()
    assert session.docmd(secret)[0] == 454
    box.wait_for_new("auth", old)
    wait_for("the new one to answer", lambda: answers(box))
    again = login(box)
    assert again.sendmail("ann@example.com", [to], new_message(to)[1]) == {}


class Asking:
    """postern-auth, asked as smtpd asks it about a login from this address."""

    def __init__(self, box, client):
        self.client, self.n = client, 0
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(str(box.dir / "queue/postern/auth.sock"))
        self.file = self.socket.makefile("rb")
        self.socket.sendall(b"VERSION\t1\t0\nCPID\t1\n")
        while self.file.readline() != b"DONE\n":
            pass

    def login(self, password):
        """OK or FAIL; nothing where the connection ends, of which smtpd makes 454."""
        self.n += 1
        secret = base64.b64encode(f"\0x\0{password}".encode()).decode()
        self.socket.sendall(
            f"AUTH\t{self.n}\tPLAIN\tservice=smtp\tnologin\tlip=192.0.2.1\trip={self.client}"
            f"\tsecured\tresp={secret}\n".encode()
        )
        return self.file.readline().decode().partition("\t")[0]


def guess(box, client, stop):
    """Guesses from the address until told to stop, with a new connection whenever one ends."""
    asking = Asking(box, client)
    while not stop.is_set():
        if asking.login("guess") == "":
            asking = Asking(box, client)


def test_guesses(own_box):
    """Those of one address are limited and in the log once, and hold up nobody else, even while
    they go on. Those of many addresses get so many lines in the log, and one with the rest."""
    box = own_box(parts=["auth"])
    key = box.env["POSTERN_SENDING_KEY"]
    for _ in range(12):
        session = connect(box)
        for _ in range(5):
            session.docmd("AUTH", "PLAIN " + base64.b64encode(b"\0x\0guess").decode())
        session.close()
    login(box).quit()
    lines = [x for x in box.log("auth").splitlines() if "event=login_refused" in x]
    assert len(lines) == 5 and "guess" not in box.log("auth")
    guesser, other = Asking(box, "198.51.100.7"), Asking(box, "198.51.100.8")
    assert [guesser.login("guess") for _ in range(100)] == ["FAIL"] * 100
    assert guesser.login(key) == ""
    assert Asking(box, "198.51.100.7").login("guess") == ""
    assert other.login(key) == "OK" and other.login("guess") == "FAIL" and other.login(key) == "OK"
    login(box).quit()
    lines = [x for x in box.log("auth").splitlines() if "198.51.100.7" in x]
    assert len([x for x in lines if "event=login_refused" in x]) == 5
    assert len([x for x in lines if "event=logins_limited" in x]) == 1
    assert len(lines) == 6
    stop = threading.Event()
    guessers = [
        threading.Thread(target=guess, args=(box, f"203.0.113.{n}", stop)) for n in range(4)
    ]
    for thread in guessers:
        thread.start()
    try:
        wait_for("the guesses", lambda: box.log("auth").count("event=logins_limited") > 4)
        for n in range(20):
            assert Asking(box, f"192.0.2.{n}").login(key) == "OK"
        session = login(box)
        to = f"{unique()}@dst.test"
        assert session.sendmail("ann@example.com", [to], new_message(to)[1]) == {}
        session.quit()
    finally:
        stop.set()
        for thread in guessers:
            thread.join()
    for n in range(300):
        assert Asking(box, f"10.0.{n // 200}.{n % 200}").login("guess") == "FAIL"
    box.stop("auth")
    logged = len(re.findall("event=login_refused client=10[.]", box.log("auth")))
    left_out = sum(map(int, re.findall("event=lines_left_out lines=([0-9]+)", box.log("auth"))))
    assert left_out > 0 and logged + left_out == 300


def test_message_is_removed_in_time(own_box, to):
    """With its file, as a message that came over HTTP."""
    box = own_box(parts=("auth",))
    message_id, data = new_message(to, body=("x" * 70 + "\r\n") * 1000)
    assert login(box).sendmail("ann@example.com", [to], data) == {}
    assert box.large_messages() == {email_of(box, message_id)["id"]}
    box.set("retention", "messages", "1ms")
    box.restart("httpd")
    wait_for("the message to go", lambda: box.query("SELECT count(*) FROM message") == "0")
    wait_for("its file to go", lambda: not box.large_messages())
