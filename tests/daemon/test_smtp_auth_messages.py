"""What goes out of what a program sends over SMTP with an API key: the same bytes."""

import re
import threading
import time

import pytest
from harness import wait_for
from harness.sandbox import unique
from test_odd_addresses import WRITTEN, domain_for
from test_smtp_auth import connect, email_of, login, new_message, sent_by

# Fields after From and Message-ID, and the body. To names nobody of the envelope.
LONG = "x" * 996 + "\r\n"
MESSAGES = {
    "plain": ("", b"hello\r\n"),
    "long lines": ("", LONG.encode() * 3 + b"y" * 998 + b"\r\n" + b"z" * 5000 + b"\r\n"),
    "bare CR": ("X-Odd: a\rb\r\n", b"a\rb\r\n\rc\r\nd\r\r\n"),
    "bare LF": ("X-Odd: a\nX-Next: b\r\n", b"a\nb\n\nc\r\n"),
    "NUL": ("", b"a\0b\r\n\0\r\n"),
    "NUL in a field": ("X-Odd: a\0b\r\nX-Next: c\r\n", b"hello\r\n"),
    "8-bit": ("X-Odd: gr\u00fc\u00dfe\r\n", bytes(range(128, 256)) + b"\r\n"),
    "dots": ("", b".\r\n..\r\n.a\r\n...\r\n"),
    "blanks": ("X-Odd:  a \t \r\nX-None:\r\nX-Blank: \r\n", b"a \r\n\t\r\n \r\nb\t\r\n"),
    "folded": ("X-Odd: a\r\n\tb\r\n  c \r\n d\r\nX-Many:" + "\r\n a, b" * 500 + "\r\n", b"x\r\n"),
    "60 KB in lines": ("X-Odd:" + ("\r\n " + "w" * 70) * 850 + "\r\n", b"hello\r\n"),
    "60 KB in a line": ("X-Odd: " + "w" * 60000 + "\r\nX-Next: a\r\n", b"hello\r\n"),
    "2,000 fields": ("X-Odd: a\r\n" * 2000, b"hello\r\n"),
    "odd names": ("X-Odd : a\r\nx_odd!: b\r\nX-ODD:c\r\n", b"hello\r\n"),
    "no final newline": ("", b"a\r\nb"),
    "no blank line": (None, b""),
    "empty body": ("", b""),
    "blank lines": ("", b"\r\n\r\nhello\r\n\r\n\r\n"),
    "MIME": (
        'MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary="b"\r\n',
        b"before\r\n--b\r\nContent-Type: text/plain\r\n\r\nFrom here\r\n--b\r\n\r\n--b--\r\nafter\r\n",
    ),
    "not MIME": (
        'MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary="b"\r\n'
        "Content-Transfer-Encoding: base64\r\n",
        b"--b\r\nIdempotency-Key: in the body\r\n",
    ),
}

# For Postern, and removed on the way.
OURS = (
    "Idempotency-Key: {}\r\n", "X-Mailgun-Tag: a\r\n", "X-Odd: kept\r\n",
    "x-mailgun-tag: =?utf-8?q?b?=\r\n", "Resend-Tag: kind=welcome,\r\n\tteam=a1\r\n",
    "X-Tag: kept, too\r\n", 'X-MAILGUN-VARIABLES:\r\n {{"order": 7}}\r\n',
)  # fmt: skip


def compose(name, between=""):
    """The message of the name; between stands among its fields."""
    fields, body = MESSAGES[name]
    text = f"From: Ann <ann@example.com>\r\nMessage-ID: <{unique('bytes')}@made.test>\r\n{between}"
    text += "To: list@elsewhere.test\r\nSubject: x\r\nDate: Sat, 21 Nov 2026 12:00:00 +0000\r\n"
    text += fields or ""
    return text.encode() + (b"" if fields is None else b"\r\n") + body


def send(session, recipients, data, bdat, sender="ann@example.com", options=""):
    """The reply at the end of the message, whose bytes smtplib would change."""
    sock, getreply = session.sock, session.getreply
    commands = [f"MAIL FROM:<{sender}> BODY=8BITMIME{options}"]
    commands += [f"RCPT TO:<{recipient}>" for recipient in recipients]
    for command in commands:
        sock.sendall(f"{command}\r\n".encode())
        assert getreply()[0] == 250, command
    if bdat:
        # In the middle of a line, and of CRLF where there is one.
        for part in (data[:30], data[30 : len(data) - 1]):
            sock.sendall(b"BDAT %d\r\n" % len(part) + part)
            assert getreply()[0] == 250
        sock.sendall(b"BDAT 1 LAST\r\n" + data[-1:])
        return getreply()
    assert session.docmd("DATA")[0] == 354
    data += b"" if data.endswith(b"\r\n") else b"\r\n"
    sock.sendall(re.sub(rb"(?m)^\.", b"..", data) + b".\r\n")
    return getreply()


def out(box, recipient):
    """What was delivered, without the Received field that Postfix adds on top."""
    raw = box.sink.find(to=recipient).raw
    top = re.match(rb"Received: .*\n([ \t].*\n)*", raw)
    return raw[top.end() :]


# smtp(8) and pipe(8), which keeps what the first one may change: each has the message.
WAYS = ("dst.test", "utf8.test")


@pytest.fixture(scope="module")
def without_milters(box):
    return box.add_smtpd("smtpd_milters=")


@pytest.mark.parametrize("bdat", [False, True], ids=["DATA", "BDAT"])
def test_same_bytes(box, without_milters, bdat):
    """As Postfix delivers it without a milter; and without our fields, as if they had not been
    there."""
    ours, plain = login(box), connect(None, without_milters)
    pairs = []
    for name in MESSAGES:
        between = "".join(OURS).format(unique("key"))
        kept = "".join(field for field in OURS if "kept" in field)
        data, more = compose(name), compose(name, between)
        rest = more.replace(between.encode(), kept.encode())
        assert rest != more
        for sent, expected in ((data, data), (more, rest)):
            addresses = []
            for session, bytes_sent in ((ours, sent), (plain, expected)):
                mailbox = unique("bytes")
                to = [f"{mailbox}@{way}" for way in WAYS]
                code, text = send(session, to, bytes_sent, bdat)
                assert code == 250, (name, text)
                addresses.append(to)
            pairs += [(name, *pair) for pair in zip(*addresses)]
    odd = [(name, a, b) for name, a, b in pairs if out(box, a) != out(box, b)]
    assert odd == [], out(box, odd[0][1])[:3000] + b"\n=====\n" + out(box, odd[0][2])[:3000]


def test_large(box, to):
    """9 MB, below the limit that EHLO announces: delivered, kept, and read back equal."""
    session = login(box)
    limit = box.main_cf("message_size_limit")
    assert session.esmtp_features["size"] == limit and int(limit) > 9_000_000
    line = b"\xfc" + b"x" * 76 + b"\r\n"
    head = new_message(to, more="Content-Type: text/plain; charset=iso-8859-1\r\n", body="")
    message_id, data = head[0], head[1] + line * (9_000_000 // len(line))
    assert send(session, [to], data, bdat=False)[0] == 250
    text = data.replace(b"\r\n", b"\n")
    assert box.sink.find(message_id=message_id).raw.endswith(text)
    row = email_of(box, message_id)
    assert row["text"] == text.split(b"\n\n", 1)[1].decode("iso-8859-1")
    assert session.docmd(f"MAIL FROM:<ann@example.com> SIZE={int(limit) + 1}")[0] == 552


def test_1001_recipients(box):
    """The last one is put off with 452, and the others get the message."""
    session = login(box)
    recipients = [f"{unique()}@dst.test" for _ in range(1001)]
    message_id, data = new_message(recipients[0])
    refused = session.sendmail("ann@example.com", recipients, data)
    assert {to: code for to, (code, _) in refused.items()} == {recipients[-1]: 452}
    row = email_of(box, message_id)
    assert (row["to"], len(row["bcc"])) == (recipients[:1], 999)
    found = wait_for("all", lambda: box.sink.now(to=recipients[-2]))
    assert found[0].raw.endswith(b"hello\n")


def test_one_key_at_once(box, to):
    """Ten sessions send with one Idempotency-Key at the same moment: one email goes out, the
    others are told to try again until it is known to have arrived."""
    key, together, codes = unique("key"), threading.Barrier(10), []
    data = new_message(to, more=f"Idempotency-Key: {key}\r\n")[1]

    def program():
        session = login(box)
        together.wait(180)
        mine = []
        for _ in range(200):
            mine.append(send(session, [to], data, bdat=False)[0])
            if mine[-1] != 451:
                break
            session.close()
            time.sleep(0.2)
            session = login(box)
        codes.append(mine)

    threads = [threading.Thread(target=program) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [mine[-1] for mine in codes] == [250] * 10, codes
    assert {code for mine in codes for code in mine[:-1]} <= {451}
    assert len(sent_by(box, to)) == 1
    assert len(box.sink.now(to=to)) == 1


def test_domain_between_messages(box, to):
    """Each message of a session is judged by the domain as it is at that moment, in the words of
    HTTP."""
    company = box.company()
    domain, key = box.domain(company), box.new_key(company, "sending")["token"]
    other, session, httpd = box.company(), login(box, key), box.httpd(key)
    sender = f"ann@{domain}"

    def answers():
        """The codes of SMTP and HTTP, which say the same when they refuse."""
        code, text = send(session, [to], new_message(to, sender)[1], bdat=False, sender=sender)
        answer = httpd.post({"from": sender, "to": to, "text": "x"})
        if code != 250:
            assert text.decode() == f"5.7.1 {answer.json()['message']}"
        return code, answer.status_code

    assert answers() == (250, 200)
    box.cli("domain", "deactivate", domain)
    assert answers() == (550, 403)
    box.cli("domain", "activate", domain)
    assert answers() == (250, 200)
    box.cli("domain", "remove", domain)
    assert answers() == (550, 403)
    box.domain(other, name=domain)
    assert answers() == (550, 403)
    box.cli("domain", "remove", domain)
    box.domain(company, name=domain)
    assert answers() == (250, 200)


def test_odd_recipients(box):
    """Those that HTTP takes, in RCPT and in To: GET tells them as Postfix writes them."""
    session, odd = login(box), []
    for given, written in WRITTEN:
        word, domain = unique(), domain_for(given)
        to = f"{written % word}@{domain}"
        message_id, data = new_message(f"Ann <{given % word}@{domain}>")
        options = "" if given.isascii() else " SMTPUTF8"
        recipients = [f"{given % word}@{domain}"]
        code, text = send(session, recipients, data, bdat=False, options=options)
        row = email_of(box, message_id) if code == 250 else {}
        if (code, row.get("to"), row.get("bcc")) != (250, [to], []):
            odd.append((given, code, text, row.get("to"), row.get("bcc")))
        else:
            box.sink.find(to=to)
    assert odd == []
