"""The form dialect: messages.mime, where the client's bytes go through."""

import email.message
import email.policy
import email.utils
import json
import re
import time as clock

import pytest
from harness import File, FormClient
from harness.form import (
    UUID,
    check_forbidden,
    check_refused,
    multipart,
    queued_id,
    urlencoded,
    uuid_of,
)
from harness.sandbox import unique

DATE = b"Date: Fri, 20 Nov 2026 10:00:00 +0100\n"


class MimeClient(FormClient):
    """Sends finished messages."""

    def post(self, fields, encode=multipart, **options):
        return super().post(fields, encode, path="messages.mime", **options)

    def post_message(self, to, message, **more):
        file = File("message.mime", message, "message/rfc822")
        return self.post({"to": to, "message": file, **more})

    def deliver_message(self, to, message, **more):
        queued_id(self.post_message(to, message, **more))
        return self.box.sink.find(to=to if isinstance(to, str) else to[0])


@pytest.fixture
def mime(box):
    return MimeClient(box)


@pytest.fixture
def own_id():
    return f"<{unique('own')}@example.com>"


def message_with(own_id, rest=b"", body=b"Hello\n", sender=b"hello@example.com"):
    """A message that is complete, so that nothing needs to be added."""
    return (
        b"From: %s\nMessage-ID: %s\n" % (sender, own_id.encode())
        + DATE
        + rest
        + b"\n"
        + body
    )


def without_received(raw):
    """The message without what Postfix put in front."""
    return re.sub(rb"\A(Received:.*\n([ \t].*\n)*)+", b"", raw)


BODIES = {
    "plain": b"Hello\n",
    "8 bit": "Grüße 👋\n".encode(),
    "any bytes but line ends": bytes(set(range(1, 256)) - {10, 13}) + b"\n",
    "dots": b".\n..\n.x\n",
    "From": b"From me\n>From you\n",
    "blanks": b"x  \n\t\n \ny\t\n",
    "empty lines": b"\n\nx\n\n\n",
    "no line end": b"Hello",
    "delimiter look-alike": b"--f0rmx\n --f0rm\n--f0r\n",
    "990 in a line": b"x" * 990 + b"\n",
    "headers": b"Bcc: x@dst.test\nX-Mailgun-Tag: x\nFrom: a@other.test\n",
}


@pytest.mark.parametrize("case", BODIES)
def test_body_goes_through(mime, to, own_id, case):
    message = message_with(own_id, b"Subject: x\n", BODIES[case])
    mail = mime.deliver_message(to, message)
    ended = message if message.endswith(b"\n") else message + b"\n"
    assert without_received(mail.raw) == ended


HEADERS = {
    "folded": b"Subject: one\n\ttwo\n  three\n",
    "case and blanks": b"sUBJECT:x\nX-A:    y   \nX-b:\tz\n",
    "repeated": b"X-A: 1\nX-A: 2\nX-A: 1\n",
    "encoded words": b"Subject: =?utf-8?Q?Gr=C3=BC=C3=9Fe?=\n",
    "raw UTF-8": "Subject: Grüße\n".encode(),
    "Latin-1": b"Subject: Gr\xfc\xdfe\n",
    "empty": b"Subject:\nX-A: \n",
    "long": b"X-A: " + b"x" * 900 + b"\n",
    "odd names": b"X-A_b.c: 1\n!#$%&'*+: 2\n",
    "signature": b"DKIM-Signature: v=1; a=rsa-sha256; d=example.com;\n\tb=abc\n",
    "others": b"Sender: x@example.com\nReply-To: y@example.net\nList-Id: <z>\n",
    "multipart": b'Content-Type: multipart/alternative; boundary="x y"\n',
}


@pytest.mark.parametrize("case", HEADERS)
def test_header_goes_through(mime, to, own_id, case):
    message = message_with(own_id, HEADERS[case])
    if not message.isascii():
        # Postfix gives such only to those who take it (RFC 6531).
        to = unique("to") + "@utf8.test"
    assert without_received(mime.deliver_message(to, message).raw) == message


@pytest.mark.parametrize("line_end", [b"\r\n", b"\n"], ids=["CRLF", "LF"])
def test_line_ends(mime, to, own_id, line_end):
    message = message_with(own_id, b"Subject: one\n two\n", b"a\n\nb\n")
    mail = mime.deliver_message(to, message.replace(b"\n", line_end))
    assert without_received(mail.raw) == message


def test_a_large_message_of_many_parts(mime, to):
    message = email.message.EmailMessage(policy=email.policy.SMTP)
    message["From"] = "Ann <hello@example.com>"
    message["To"] = to
    message["Subject"] = "Grüße"
    message["Message-ID"] = f"<{unique()}@example.com>"
    message["Date"] = "Fri, 20 Nov 2026 10:00:00 +0100"
    message.set_content("Hällo")
    message.add_alternative("<p>Hällo", subtype="html")
    data = bytes(range(256)) * 8000
    message.add_attachment(data, "application", "x-test", filename="a")
    data = message.as_bytes()
    mail = mime.deliver_message(to, data)
    assert without_received(mail.raw) == data.replace(b"\r\n", b"\n")
    seen = mime.httpd.read(mime.stored(message["Message-ID"])[0]["id"])
    assert (seen["subject"], seen["text"]) == ("Grüße", "Hällo\n")
    assert seen["html"] == "<p>Hällo\n"


@pytest.mark.parametrize("size", [60000, 60001])
def test_long_field_of_a_part(mime, to, own_id, size):
    """What Postfix would cut is refused."""
    line = b" Ann Lee <ann.lee@dst.test>,\n"
    field = b"To:" + (size - 200) // len(line) * line
    field += b" " + b"x" * (size - len(field) - 2) + b"\n"
    inner = b"Content-Type: message/rfc822\n\n" + field + b"\nbody\n"
    body = b"--b\n\nHello\n--b\n" + inner + b"--b--\n"
    data = message_with(own_id, b"Content-Type: multipart/mixed; boundary=b\n", body)
    if size > 60000:
        message = (
            "the header field To of a part of the message is longer than 60000 bytes"
        )
        check_refused(mime.post_message(to, data), 400, message)
    else:
        assert without_received(mime.deliver_message(to, data).raw) == data


REMOVED = {
    "Bcc": b"Bcc: secret@dst.test\n",
    "bcc, folded": b"bcc: a@dst.test,\n\tsecret@dst.test,\n b@dst.test\n",
    "two": b"BCC: secret@dst.test\nSubject: x\nBcc: secret@dst.test\n",
    "Mailgun": b"X-Mailgun-Tag: secret\nX-Mailgun-Drop-Message: no\nX-Mailgun-Track: yes\n",
    "Mailgun, any case": b'x-MAILGUN-variables: {"secret": 1}\n',
    "ticket": b"X-Postern-Ticket: secret\n",
}


@pytest.mark.parametrize("case", REMOVED)
def test_what_is_removed(mime, to, own_id, case):
    message = message_with(own_id, REMOVED[case] + b"X-Last: 1\n")
    mail = mime.deliver_message(to, message)
    assert mail.recipients == [to]
    kept = b"Subject: x\n" if case == "two" else b""
    assert without_received(mail.raw) == message_with(own_id, kept + b"X-Last: 1\n")


@pytest.mark.parametrize("blank", [b"", b"Message-ID:\n", b"Message-Id:  \nDate:\n"])
def test_message_id_and_date_are_added(mime, to, blank):
    body = b"From: hello@example.com\n" + blank + b"Subject: x\n\nHello\n"
    answer = mime.post_message(to, body)
    message_id = queued_id(answer)
    assert re.fullmatch(rf"<{UUID}@example\.com>", message_id)
    mail = mime.box.sink.find(message_id=message_id)
    assert mail.header("Date")
    assert without_received(mail.raw).endswith(b"Subject: x\n\nHello\n")
    assert mime.read(message_id)["subject"] == "x"


@pytest.mark.parametrize(
    "odd", ["<1>", "1@x.test", "<ü@utf8.test>", "<a b@x.test>", "<a@x.test> <b@x.test>"]
)
def test_message_id_that_is_none_is_replaced(mime, to, odd):
    """By it the milter knows the message, and the client the email."""
    to = to.replace("@dst", "@utf8")
    field = f"Message-ID: {odd}\n".encode()
    answer = mime.post_message(to, b"From: hello@example.com\n" + field + b"\nHello\n")
    message_id = queued_id(answer)
    assert re.fullmatch(rf"<{UUID}@example\.com>", message_id)
    assert mime.read(message_id)["message_id"] == message_id
    raw = mime.box.sink.find(to=to).raw
    assert field not in raw
    assert f"Message-ID: {message_id}\n".encode() in raw


def test_id_of_the_answer_is_the_one_of_the_message(mime, to, own_id):
    assert queued_id(mime.post_message(to, message_with(own_id))) == own_id
    (row,) = mime.stored(own_id)
    assert mime.httpd.read(row["id"])["message_id"] == own_id


def test_to_is_the_envelope(mime, own_id):
    """All of it: nobody is taken from the message."""
    a, b, c, d = [unique("to") + "@dst.test" for _ in range(4)]
    message = message_with(
        own_id, f"To: {a}, Other <nobody@dst.test>\nCc: {c}\n".encode()
    )
    mail = mime.deliver_message([a, f"B <{b}>, {c}", d, a], message)
    assert sorted(mail.recipients) == sorted([a, b, c, d])
    assert mail.sender == "hello@example.com"
    assert without_received(mail.raw) == message
    seen = mime.httpd.read(mime.stored(own_id)[0]["id"])
    assert seen["to"] == [a, "nobody@dst.test"]
    assert seen["cc"] == [c]
    assert seen["bcc"] == [b, d]


def test_retrieval(mime, to, own_id):
    """What the message says: decoded, whichever part has it."""
    rest = (
        b"To: =?utf-8?Q?J=C3=BCrgen?= <%s>\n"
        b"Reply-To: Help <help@example.net>\n"
        b"Subject: =?utf-8?B?R3LDvMOfZQ==?=\n\t=?utf-8?Q?_=F0=9F=91=8B?=\n"
        b"MIME-Version: 1.0\n"
        b"Content-Type: multipart/mixed; boundary=m\n"
    ) % to.encode()
    body = (
        b"--m\nContent-Type: multipart/alternative; boundary=a\n\n"
        b"--a\nContent-Type: text/plain; charset=iso-8859-1\n"
        b"Content-Transfer-Encoding: quoted-printable\n\nH=E4llo\n"
        b"--a\nContent-Type: text/html; charset=utf-8\n"
        b"Content-Transfer-Encoding: base64\n\nPHA+SMOkbGxvPC9wPg==\n"
        b"--a--\n"
        b"--m\nContent-Type: text/plain\n"
        b"Content-Disposition: attachment; filename=a.txt\n\nattached\n"
        b"--m--\n"
    )
    sender = "=?utf-8?Q?=C3=84nn?= <hello@example.com>".encode()
    message = message_with(own_id, rest, body, sender)
    assert without_received(mime.deliver_message(to, message).raw) == message
    seen = mime.httpd.read(mime.stored(own_id)[0]["id"])
    assert seen["from"] == "Änn <hello@example.com>"
    assert seen["to"] == [to]
    assert seen["reply_to"] == ["Help <help@example.net>"]
    assert seen["subject"] == "Grüße 👋"
    assert seen["text"].rstrip("\n") == "Hällo"
    assert seen["html"] == "<p>Hällo</p>"
    assert seen["last_event"] in ("sent", "delivered")


NO_FROM = "from parameter is missing"
NOT_VALID = "from parameter is not a valid address. please check documentation"
OTHER = "from domain other.test does not match the sending domain example.com"

SENDERS = {
    "none": (b"Subject: x\n", NO_FROM),
    "empty": (b"From:\n", NOT_VALID),
    "no address": (b"From: Ann\n", NOT_VALID),
    "two mailboxes": (b"From: hello@example.com, b@example.com\n", NOT_VALID),
    "a group": (b"From: us: hello@example.com;\n", NOT_VALID),
    "two fields": (b"From: hello@example.com\nFrom: hello@example.com\n", NOT_VALID),
    "two senders": (b"From: a@other.test\nFrom: hello@example.com\n", NOT_VALID),
    "two spellings": (b"From: hello@example.com\nfROM : a@other.test\n", NOT_VALID),
    "hidden behind a blank": (b"From : a@other.test\n", OTHER),
    "other domain": (b"From: a@other.test\n", OTHER),
    "in brackets": (b'From: "hello@example.com" <a@other.test>\n', OTHER),
    "folded": (b"From:\n Ann\n\t<a@other.test>\n", OTHER),
    "in the body only": (b"\nFrom: hello@example.com\n", NO_FROM),
    "behind a bad line": (b"X-A: 1\nno field\nFrom: hello@example.com\n", NO_FROM),
}


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("case", SENDERS)
def test_sender(mime, to, case, line_end):
    header, message = SENDERS[case]
    answer = mime.post_message(to, (header + b"\nHello\n").replace(b"\n", line_end))
    check_refused(answer, 400, message)
    assert not mime.box.sink.now(to=to)


@pytest.mark.parametrize(
    "header",
    [b"From: hello@example.com\rFrom: a@other.test\n", b"From: hello@example.com\0\n"],
    ids=["bare CR", "NUL"],
)
def test_bytes_that_readers_disagree_about(mime, to, header):
    answer = mime.post_message(to, header + b"\nHello\n")
    assert answer.status == 400, answer.body
    assert set(answer.json()) == {"message"}
    assert not mime.box.sink.now(to=to)


def test_mailbox_file_line_goes(mime, to, own_id):
    message = message_with(own_id)
    mail = mime.deliver_message(to, b"From me Fri Nov 20 10:00:00 2026\n" + message)
    assert without_received(mail.raw) == message


MESSAGE = File("message.mime", b"From: hello@example.com\n\nHello\n", "message/rfc822")


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"to": []}, "to parameter is missing"),
        ({"to": ""}, "to parameter is missing"),
        (
            {"to": "nonsense"},
            "to parameter is not a valid address. please check documentation",
        ),
        (
            {"to": [f"a{n}@dst.test" for n in range(1001)]},
            "Too many recipients, max is 1000",
        ),
        ({"message": []}, "message parameter is missing"),
        ({"message": "From: hello@example.com"}, "'message' parameter is not a file"),
        ({"o:require-tls": "yes"}, re.compile("o:require-tls .*")),
        ({"o:deliverytime": "4000000000"}, re.compile("o:deliverytime .*30 days")),
        ({"v:a": "x" * 17_000}, re.compile("Send options .*16 kB total")),
    ],
    ids="noto emptyto badto many nomessage nofile tls time options".split(),
)
def test_refused(mime, fields, message):
    answer = mime.post({"to": "a@dst.test", "message": MESSAGE, **fields})
    check_refused(answer, 400, message)


def test_multipart_only(mime, to):
    wanted = (
        "Invalid request content type."
        " Expecting 'multipart/form-data' but got '{}'"
    )
    kind, body = urlencoded({"to": to, "message": "From: hello@example.com\n\nx"})
    for given in (kind, "application/json", "text/plain; charset=utf-8", ""):
        answer = mime.post_body(given, body, path="messages.mime")
        check_refused(answer, 400, wanted.format(given))
    answer = mime.post_body(None, body, path="messages.mime")
    check_refused(answer, 400, wanted.format(""))


@pytest.mark.parametrize("name", ["message", "message[0]", "message[]"])
@pytest.mark.parametrize("file_name", ["message.mime", "blob", "", "C:\\x.eml"])
@pytest.mark.parametrize("kind", ["message/rfc822", "text/plain", None])
def test_spellings_of_the_file(mime, to, own_id, name, file_name, kind):
    message = message_with(own_id)
    fields = {"to[]": to, name: File(file_name, message, kind)}
    assert queued_id(mime.post(fields)) == own_id
    assert without_received(mime.box.sink.find(to=to).raw) == message


def test_options(mime, to, own_id):
    more = {"o:tag": ["a", "b"], "o:tracking": "no", "v:x": "y"}
    mail = mime.deliver_message(to, message_with(own_id), **more)
    assert without_received(mail.raw) == message_with(own_id)
    (row,) = mime.stored(own_id)
    assert json.loads(row["variables"]) == {"x": "y"}
    assert [tag["value"] for tag in json.loads(row["tags"])] == ["a", "b"]


def test_testmode(mime, to, own_id):
    more = {"o:testmode": "True"}
    assert queued_id(mime.post_message(to, message_with(own_id), **more)) == own_id
    (row,) = mime.stored(own_id)
    assert mime.httpd.read(row["id"])["last_event"] in ("sent", "delivered")
    later = unique("later") + "@dst.test"
    mime.deliver_message(later, message_with(own_id))
    assert not mime.box.sink.now(to=to)
    assert to not in mime.box.log("postfix")


def test_options_in_the_header(mime, to, own_id):
    """As Symfony and Laravel give tags and variables by default."""
    header = (
        b"X-Mailgun-Tag: one\nx-mailgun-tag: =?utf-8?Q?zw=C3=B6lf?=\nX-Mailgun-Tag:\n"
        b'X-Mailgun-Variables: {"a": 1,\n "b": [2]}\nX-Mailgun-Require-TLS: no\n'
    )
    more = {"o:tag": "three", "v:a": "3"}
    mime.deliver_message(to, message_with(own_id, header), **more)
    (row,) = mime.stored(own_id)
    assert json.loads(row["variables"]) == {"a": "3", "b": [2]}
    assert [tag["value"] for tag in json.loads(row["tags"])] == ["one", "zw\u00f6lf", "three"]


def test_message_to_be_dropped(mime, to, own_id):
    message = message_with(own_id, b"X-Mailgun-Drop-Message: yes\n")
    assert queued_id(mime.post_message(to, message)) == own_id
    mime.deliver_message(unique("later") + "@dst.test", message_with(own_id))
    assert not mime.box.sink.now(to=to)


def test_message_to_be_delivered_later(mime, to, own_id):
    time = email.utils.formatdate(clock.time() + 86400)
    message = message_with(own_id, b"X-Mailgun-Deliver-By: " + time.encode() + b"\n")
    assert queued_id(mime.post_message(to, message)) == own_id
    (row,) = mime.stored(own_id)
    assert mime.httpd.read(row["id"])["last_event"] == "scheduled"


@pytest.mark.parametrize("name, value", [
    ("Deliver-By", "soon"), ("Variables", "x"), ("Require-TLS", "yes"), ("Template-Name", "x"),
    ("Recipient-Variables", "{}"), ("Time-Zone-Localize", "10:00"),
    ("Delivery-Time-Optimize-Period", "24h")])
def test_options_in_the_header_are_not_swallowed(mime, to, own_id, name, value):
    message = message_with(own_id, f"x-mailgun-{name}: {value}\n".encode())
    check_refused(mime.post_message(to, message), 400, re.compile(f"X-Mailgun-{name} .*", re.I))


def test_options_in_the_header_are_limited(mime, to, own_id):
    message = message_with(own_id, b"X-Mailgun-Tag: " + b"x" * 800 + b"\n")
    mime.deliver_message(to, message)
    message = message_with(own_id, (b"X-Mailgun-Tag: " + b"x" * 800 + b"\n") * 25)
    check_refused(mime.post_message(to, message), 400, re.compile("Send options .*16 kB total"))


def test_recipient_variables_are_not_swallowed(mime, to, own_id):
    more = {"recipient-variables": json.dumps({to: {"a": "b"}})}
    answer = mime.post_message(to, message_with(own_id), **more)
    check_refused(answer, 400, re.compile(".*recipient-variables.*"))


# What Postfix reads as it stands, in a field of recipients.
LEFT_ALONE = [
    '"Doe, John" <a@x.test>', "A. B. Doe <a@x.test>", "Bang! a|b 5% <a@x.test>", "b@y.test <a@x.test>",
    "=?utf-8?Q?Doe=2C_J!?= <a@x.test>", "a@x.test (Doe, John)", "a!b@x.test, a%b@x.test",
    '"a b"@x.test', "a@[192.0.2.1]", "undisclosed-recipients:;", "Group: a@x.test, John <b@x.test>;", "",
    '"A" <a@x.test>,\n\t"B" <b@x.test>', "a@x.test,, b@x.test,", "John\\, Doe <a@x.test>",
]


def test_addresses_are_left_alone(mime, to, own_id):
    rest = "".join(f"{name}: {value}\n" for value in LEFT_ALONE for name in ("To", "Resent-Cc"))
    mail = mime.deliver_message(to, message_with(own_id, rest=rest.encode()))
    header = mail.raw.decode().replace("\r\n", "\n")
    assert rest in header


# What Postfix reads or writes in another way; what the refusal says.
CHANGED = {
    "From: Doe, John <hello@example.com>": 'needs quotes: "Doe, John" <hello@example.com>',
    "From: Info: Acme <hello@example.com>": 'needs quotes: "Info: Acme" <hello@example.com>',
    "From: Doe; John <hello@example.com>": 'needs quotes: "Doe; John" <hello@example.com>',
    "From: =?utf-8?Q?Doe, J?= <hello@example.com>": "a comma as =2C",
    "From : hello@example.com": "has a blank before its colon",
    "To: friends": 'reads "friends"',
    "To: a@x.test, Doe, John <b@x.test>": 'needs quotes: "Doe, John" <b@x.test>',
    "Cc: undisclosed-recipients:": 'reads "undisclosed-recipients:"',
    "Cc: a@localhost": "its domain has no dot",
    "Reply-To: <@route.test:a@x.test>": "nothing stands before the @",
    "Sender: hello@example.com John": 'reads "John"',
    "Resent-From: a..b@example.com": "needs quotes",
    "Resent-Sender: <John> <a@example.com>": 'reads "John"',
    "Disposition-Notification-To: mailto:a@x.test": "needs quotes",
    "Resent-To: a@x.test.": "its domain is none",
    'Errors-To: "a".b@x.test': "needs quotes",
    "\n".join(["Sender: hello@example.com"] * 17): "more than 16 header fields",
    'Sender: "' + " ".join(f"a@x{n}.test" for n in range(250)) + '" <hello@example.com>':
        "name 199 domains or more",
    "\n".join(["Received: by x.test; Fri, 20 Nov 2026 10:00:00 +0100"] * 49):
        "more than 48 header fields Received",
}


@pytest.mark.parametrize("line", CHANGED)
def test_changed_header_is_refused(mime, to, own_id, line):
    sender = "" if line.lower().startswith("from") else "From: hello@example.com\n"
    message = f"{sender}{line}\nMessage-ID: {own_id}\n{DATE.decode()}\nHello\n"
    answer = mime.post_message(to, message.encode())
    check_refused(answer, 400, re.compile(f".*{re.escape(CHANGED[line])}.*"))


def test_message_id_of_many_blanks(mime, to, own_id):
    """One that not every reader finds is written again."""
    message = f"From: hello@example.com\nMessage-ID:{' ' * 1200}\n {own_id}\n\nHello\n"
    mail = mime.deliver_message(to, message.encode())
    assert mail.message.get_all("Message-ID") == [own_id]


def test_headers_are_added(mime, to, own_id):
    """Where the message has none of that name; those that the service makes itself
    are dropped, as in a form."""
    mail = mime.deliver_message(to, message_with(own_id, rest=b"X-Own: theirs\n"), **{
        "h:X-Own": "ours", "h:x-other": "J\u00f6rg", "h:List-Unsubscribe": "<https://example.com/u>",
        "h:Subject": "evil", "h:Bcc": "evil@dst.test", "h:Received": "evil",
        "h:Message-Id": "<evil@example.com>", "h:Date": "Mon, 1 Jan 2024 00:00:00 +0000"})
    assert b"evil" not in mail.raw and mail.recipients == [to]
    assert mail.message.get_all("X-Own") == ["theirs"]
    assert mail.header("X-Other") == "J\u00f6rg"
    assert mail.header("List-Unsubscribe") == "<https://example.com/u>"
    assert mail.header("Message-ID") == own_id
    assert mail.message.get_all("Date") == ["Fri, 20 Nov 2026 10:00:00 +0100"]


@pytest.mark.parametrize("own, reply_to", [
    (b"", ["B, C <c@example.net>"]), (b"Reply-To: d@example.net\n", ["d@example.net"])])
def test_reply_to_is_added(mime, to, own, reply_to):
    message_id = queued_id(mime.post_message(
        to, b"From: hello@example.com\n" + own + b"\nHello\n",
        **{"h:Reply-To": '"B, C" <c@example.net>'}))
    assert len(mime.box.sink.find(to=to).message.get_all("Reply-To")) == 1
    assert mime.read(message_id)["reply_to"] == reply_to


def test_message_id_is_added(mime, to, own_id):
    message = b"From: hello@example.com\n\nHello\n"
    answer = mime.post_message(to, message, **{"h:Message-Id": own_id})
    assert queued_id(answer) == own_id
    assert mime.box.sink.find(to=to).header("Message-ID") == own_id


def test_bad_header_is_refused(mime, to, own_id):
    answer = mime.post_message(to, message_with(own_id), **{"h:X-Own": "a\nBcc: b@dst.test"})
    check_refused(answer, 400, re.compile("h:X-Own .*"))


def test_access(box, to):
    """The rules of who may send are those of messages."""
    company = box.company()
    domain = box.domain(company)
    token = box.new_key(company, scope="reading")["token"]
    message = f"From: a@{domain}\n\nx\n".encode()
    answer = MimeClient(box, token, domain).post_message(to, message)
    assert answer.status == 403
    answer = MimeClient(box, domain=domain).post_message(to, message)
    check_refused(answer, 404, f"Domain not found: {domain}")
    check_forbidden(MimeClient(box, "ps_x").post_message(to, message))
    token = box.new_key(company, scope="sending", domain=domain)["token"]
    client = MimeClient(box, token, domain)
    message_id = queued_id(client.post_message(to, message))
    uuid_of(message_id)
    assert box.sink.find(to=to).sender == f"a@{domain}"
