"""Each field of POST /emails: in the delivered message, and in GET."""

import re
from datetime import datetime, timedelta, timezone
from email.utils import parsedate_to_datetime

import pytest

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

EVERY_KEY = {
    "object",
    "id",
    "from",
    "to",
    "cc",
    "bcc",
    "reply_to",
    "subject",
    "html",
    "text",
    "created_at",
    "last_event",
    "message_id",
    "tags",
    "scheduled_at",
    "recipients",
    "status_as_of",
}


def send(box, httpd, email):
    """Sends; returns what was delivered to the first recipient, and GET's."""
    seen = httpd.read(httpd.send(email))
    first = seen["to"][0]
    return box.sink.find(to=first), seen


@pytest.mark.submission
def test_smallest_email(box, httpd, email, to):
    before = datetime.now(timezone.utc) - timedelta(seconds=2)
    email_id = httpd.send(email)
    seen = httpd.read(email_id)
    after = datetime.now(timezone.utc) + timedelta(seconds=2)

    assert UUID.fullmatch(email_id)
    assert set(seen) == EVERY_KEY
    created_at = seen.pop("created_at")
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00", created_at
    )
    assert before <= datetime.fromisoformat(created_at) <= after
    message_id = seen.pop("message_id")
    assert re.fullmatch(r"<[^<>@\s]+@example\.com>", message_id)
    assert seen.pop("last_event") in ("sent", "delivered")
    del seen["status_as_of"]  # test_probe has it
    assert [r["address"] for r in seen.pop("recipients")] == [to]
    assert seen == {
        "object": "email",
        "id": email_id,
        "from": "hello@example.com",
        "to": [to],
        "cc": [],
        "bcc": [],
        "reply_to": None,
        "subject": "",
        "html": "",
        "text": "Hello",
        "tags": [],
        "scheduled_at": None,
    }

    mail = box.sink.find(to=to)
    assert mail.sender == "hello@example.com"
    assert mail.recipients == [to]
    assert mail.header("From") == "hello@example.com"
    assert mail.header("To") == to
    assert mail.header("Message-ID") == message_id
    assert mail.header("MIME-Version") == "1.0"
    assert before <= parsedate_to_datetime(mail.header("Date")) <= after
    assert mail.body("plain").rstrip("\n") == "Hello"
    assert mail.body("html") is None
    assert mail.attachments() == []
    for name in ("Cc", "Bcc", "Reply-To"):
        assert mail.header(name) is None


@pytest.mark.submission
def test_nothing_of_postern_leaves_the_host(box, httpd, email, to):
    httpd.send(email)
    head = box.sink.find(to=to).raw.split(b"\n\n", 1)[0]
    assert b"postern" not in head.lower()


def test_names_and_addresses(box, httpd, to):
    mail, seen = send(
        box,
        httpd,
        {
            "from": "Acme Support <hello@example.com>",
            "to": [f"Ann <{to}>", f"b{to}"],
            "cc": f'"Doe, John" <c{to}>',
            "bcc": [f"d{to}", f"Eve <e{to}>"],
            "reply_to": ["Help <help@example.net>", "sales@example.net"],
            "subject": "Hello",
            "text": "x",
        },
    )
    assert mail.sender == "hello@example.com"
    assert sorted(mail.recipients) == sorted(
        [to, f"b{to}", f"c{to}", f"d{to}", f"e{to}"]
    )
    assert mail.addresses("From") == [("Acme Support", "hello@example.com")]
    assert mail.addresses("To") == [("Ann", to), ("", f"b{to}")]
    assert mail.addresses("Cc") == [("Doe, John", f"c{to}")]
    assert mail.addresses("Reply-To") == [
        ("Help", "help@example.net"),
        ("", "sales@example.net"),
    ]
    assert mail.header("Bcc") is None
    assert f"d{to}".encode() not in mail.raw
    assert f"e{to}".encode() not in mail.raw

    assert seen["from"] == "Acme Support <hello@example.com>"
    assert seen["to"] == [to, f"b{to}"]
    assert seen["cc"] == [f"c{to}"]
    assert seen["bcc"] == [f"d{to}", f"e{to}"]
    assert seen["reply_to"] == ["Help <help@example.net>", "sales@example.net"]
    assert seen["subject"] == "Hello"


def test_reply_to_of_one(box, httpd, email):
    mail, seen = send(box, httpd, {**email, "reply_to": "help@example.net"})
    assert mail.header("Reply-To") == "help@example.net"
    assert seen["reply_to"] == ["help@example.net"]


@pytest.mark.submission
def test_same_recipient_twice_gets_one_copy(box, httpd, email, to):
    email_id = httpd.send({**email, "to": [to, to], "cc": to, "bcc": to})
    assert box.sink.find(to=to).recipients == [to]
    assert httpd.read(email_id)["last_event"] in ("sent", "delivered")


def test_html_and_text(box, httpd, email):
    mail, seen = send(
        box, httpd, {**email, "html": "<p>Hello <b>you</b></p>", "text": "Hi"}
    )
    assert mail.message.get_content_type() == "multipart/alternative"
    assert [p.get_content_type() for p in mail.message.iter_parts()] == [
        "text/plain",
        "text/html",
    ]
    assert mail.body("plain").rstrip("\n") == "Hi"
    assert mail.body("html").rstrip("\n") == "<p>Hello <b>you</b></p>"
    assert seen["html"] == "<p>Hello <b>you</b></p>"
    assert seen["text"] == "Hi"


@pytest.mark.parametrize("text", ["absent", None, "", []])
def test_text_is_derived_from_html(box, httpd, email, text):
    html = "<h1>News</h1><p>One &amp; <i>two</i></p>"
    email = {**email, "html": html, "text": text}
    if text == "absent":
        del email["text"]
    mail, seen = send(box, httpd, email)
    for derived in (mail.body("plain"), seen["text"]):
        assert derived.split() == ["News", "One", "&", "two"]
    assert mail.body("html").rstrip("\n") == html
    assert seen["html"] == html


@pytest.mark.parametrize(
    "subject",
    [
        "Plain",
        "  blanks  inside ",
        "long " * 60 + "end",
        "x" * 600,
    ],
)
def test_subject(box, httpd, email, subject):
    mail, seen = send(box, httpd, {**email, "subject": subject})
    assert mail.header("Subject").strip() == subject.strip()
    assert seen["subject"] == subject
    assert all(len(line) <= 998 for line in mail.raw.split(b"\n"))


NOT_GIVEN = [None, "", []]


@pytest.mark.parametrize("empty", NOT_GIVEN, ids=["null", "text", "list"])
def test_what_stands_for_not_given(box, httpd, email, empty):
    mail, seen = send(
        box,
        httpd,
        {
            **email,
            "cc": empty,
            "bcc": empty,
            "reply_to": empty,
            "subject": empty,
            "html": empty,
            "headers": empty,
            "attachments": empty,
            "tags": empty,
        },
    )
    for name in ("Cc", "Bcc", "Reply-To"):
        assert mail.header(name) is None
    assert not mail.header("Subject")
    assert mail.body("html") is None
    assert (seen["cc"], seen["bcc"], seen["reply_to"]) == ([], [], None)
    assert (seen["subject"], seen["html"]) == ("", "")


def test_unknown_fields_are_ignored(box, httpd, email, to):
    httpd.send({**email, "surprise": {"a": [1, 2**64, -(10**30)]}, "From": "x"})
    assert box.sink.find(to=to)


def test_custom_headers(box, httpd, email):
    unsubscribe = "<https://example.com/u?" + "x" * 120 + ">, <mailto:u@example.com>"
    mail, _ = send(
        box,
        httpd,
        {
            **email,
            "headers": {
                "X-Entity-Ref-ID": "123",
                "List-Unsubscribe": unsubscribe,
                "References": " ".join(f"<{n}@example.com>" for n in range(40)),
                "X-Empty": "",
                "X-Unicode": "Grüße 你好",
            },
        },
    )
    assert mail.header("X-Entity-Ref-ID") == "123"
    assert mail.raw_header("List-Unsubscribe").split() == unsubscribe.encode().split()
    assert mail.raw_header("References").split() == [
        b"<%d@example.com>" % n for n in range(40)
    ]
    assert mail.header("X-Unicode") == "Grüße 你好"
    assert all(len(line) <= 998 for line in mail.raw.split(b"\n"))


RESERVED = """from to cc bcc subject message-id reply-to content-type
    mime-version content-transfer-encoding""".split()


@pytest.mark.parametrize("case", [str.lower, str.upper, str.title])
def test_reserved_headers_are_ignored(box, httpd, email, to, case):
    headers = {case(name): "evil@evil.test" for name in RESERVED}
    headers[case("x-postern-ticket")] = "00112233445566778899aabbccddeeff"
    headers["X-Other"] = "kept"
    httpd.send({**email, "subject": "mine", "headers": headers})
    mail = box.sink.find(to=to)
    assert b"evil" not in mail.raw
    assert mail.recipients == [to]
    assert mail.header("Subject") == "mine"
    assert mail.header("X-Other") == "kept"
    assert mail.header("X-Postern-Ticket") is None


@pytest.mark.submission
@pytest.mark.parametrize(
    "text",
    [
        ".",
        "..\n.\n. x\n",
        "From here\n>From there\n",
        "a\r\nb\nc",
        "trailing blanks   \n\ttab\n",
        "one very long line " + "x" * 5000,
        "=3D =\n= soft",
        "\n\nleading lines",
    ],
)
def test_text_arrives_as_it_is(box, httpd, email, text):
    mail, seen = send(box, httpd, {**email, "text": text})
    as_lines = text.replace("\r\n", "\n").rstrip("\n")
    assert mail.body("plain").rstrip("\n") == as_lines
    assert seen["text"] == text
    assert all(len(line) <= 998 for line in mail.raw.split(b"\n"))


@pytest.mark.submission
def test_large_bodies(box, httpd, email):
    html = "<p>" + "0123456789 " * 100_000 + "</p>"
    mail, seen = send(box, httpd, {**email, "html": html, "text": "short"})
    assert mail.body("html").rstrip("\n") == html
    assert seen["html"] == html


def test_tags(box, httpd, email):
    """Stored and returned as they were given; the message has none of them."""
    tags = [
        {"name": "kind", "value": "order-1_A"},
        {"name": "kind", "value": "again"},
        {"name": "n" * 256, "value": "v" * 256},
    ]
    mail, seen = send(box, httpd, {**email, "tags": tags})
    assert seen["tags"] == tags
    assert b"order-1_A" not in mail.raw
