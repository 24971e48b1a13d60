"""Attachments: byte for byte, in the three forms that clients send."""

import base64
import json
import random

import pytest
from harness.form import in_turn
from harness.httpd import check_problem

RANDOM = random.Random(1)

CONTENTS = {
    "empty": b"",
    "one byte": b"\0",
    "every byte": bytes(range(256)),
    "text": b"line\nline\r\nline\r.\n..\nFrom x\n",
    "no newline at the end": b"x",
    "no newline but a blank": b"x ",
    "ff": b"\xff" * 1000,
    "long line": b"x" * 3000,
    "100 KB": RANDOM.randbytes(100_000),
    "4 MB": RANDOM.randbytes(4_000_000),
}


def as_base64(data):
    return base64.b64encode(data).decode()


def as_base64_in_lines(data):
    return base64.encodebytes(data).decode().replace("\n", "\r\n")


def as_base64_without_padding(data):
    return as_base64(data).rstrip("=")


def as_integers(data):
    return list(data)


def as_buffer(data):
    return {"type": "Buffer", "data": list(data)}


FORMS = [
    as_base64_in_lines,
    as_base64_without_padding,
    as_integers,
    as_buffer,
    as_base64,
]


def send(box, httpd, email, *attachments):
    httpd.send({**email, "attachments": list(attachments)})
    return box.sink.find(to=email["to"])


@in_turn("name", CONTENTS, form=FORMS)
def test_bytes(box, httpd, email, name, form):
    data = CONTENTS[name]
    mail = send(box, httpd, email, {"filename": "a.bin", "content": form(data)})
    assert mail.attachments() == [
        ("a.bin", "application/octet-stream", "attachment", data)
    ]
    assert mail.body("plain").rstrip("\n") == "Hello"


@pytest.mark.parametrize("key", ["content_type", "contentType"])
def test_type_given(box, httpd, email, key):
    mail = send(
        box,
        httpd,
        email,
        {"filename": "a", "content": "aGk=", key: "image/x-test"},
    )
    assert [a[1] for a in mail.attachments()] == ["image/x-test"]


@pytest.mark.parametrize(
    "filename, kind",
    [
        ("a.pdf", "application/pdf"),
        ("a.PNG", "image/png"),
        ("a.txt", "text/plain"),
        ("a.csv", "text/csv"),
        ("a.ics", "text/calendar"),
        ("noextension", "application/octet-stream"),
        ("a.unheardof", "application/octet-stream"),
    ],
)
def test_type_from_name(box, httpd, email, filename, kind):
    mail = send(box, httpd, email, {"filename": filename, "content": "aGk="})
    assert mail.attachments() == [(filename, kind, "attachment", b"hi")]


def message_to(size):
    """A message whose field To has so many bytes."""
    line = b" Ann Lee <ann.lee@dst.test>,\n"
    field = b"To:" + (size - 200) // len(line) * line
    field += b" " + b"x" * (size - len(field) - 2) + b"\n"
    return field + b"Subject: inner\n\nbody\n"


@pytest.mark.parametrize(
    "size, kind", [(60000, "message/rfc822"), (60001, "application/octet-stream")]
)
def test_message_with_a_long_field(box, httpd, email, size, kind):
    """Postfix would cut the field of a message that travels as it is."""
    data = message_to(size)
    mail = send(box, httpd, email, {"filename": "a.eml", "content": as_base64(data)})
    ((_, found, _, content),) = mail.attachments()
    assert found == kind
    assert data in (mail.raw if content is None else content)


def test_several_keep_their_order(box, httpd, email):
    given = [(f"{n}.bin", RANDOM.randbytes(n * 100)) for n in range(20)]
    mail = send(
        box,
        httpd,
        email,
        *({"filename": n, "content": as_base64(d)} for n, d in given),
    )
    assert [(a[0], a[3]) for a in mail.attachments()] == given


@pytest.mark.parametrize("key", ["content_id", "contentId", "inline_content_id"])
def test_inline(box, httpd, email, key):
    mail = send(
        box,
        httpd,
        {**email, "html": '<img src="cid:logo">'},
        {"filename": "logo.png", "content": "aGk=", key: "logo"},
    )
    assert mail.attachments() == [("logo.png", "image/png", "inline", b"hi")]
    kinds = [part.get_content_type() for part in mail.message.walk()]
    assert "multipart/related" in kinds
    part = [p for p in mail.message.walk() if p.get_filename()][0]
    assert part["Content-ID"] == "<logo>"


@pytest.mark.parametrize(
    "filename",
    ["two words.txt", 'quo"te.txt', "back\\slash.txt", "a;b=c.txt", "x" * 200],
)
def test_names(box, httpd, email, filename):
    mail = send(box, httpd, email, {"filename": filename, "content": "aGk="})
    assert [a[0] for a in mail.attachments()] == [filename]


@pytest.mark.parametrize(
    "kind", ["message/rfc822", "multipart/mixed", "text/plain; charset=utf-16"]
)
def test_types_that_are_traps(box, httpd, email, kind):
    data = b"Subject: inner\r\n\r\n" + bytes(range(256))
    mail = send(
        box,
        httpd,
        email,
        {"filename": "a.eml", "content": as_base64(data), "content_type": kind},
    )
    assert [a[3] for a in mail.attachments()] == [data]


GOOD = {"filename": "a", "content": "aGk="}


@pytest.mark.parametrize(
    "attachments, name, message",
    [
        ("text", "validation_error", "attachments"),
        ([GOOD, 5], "validation_error", "attachments[1]"),
        ([{"filename": "a"}], "invalid_attachment", "Attachment must have"),
        ([{**GOOD, "content": None}], "invalid_attachment", "Attachment must have"),
        ([GOOD, {"content": "aGk="}], "invalid_attachment", "attachments[1]"),
        ([{**GOOD, "filename": ""}], "invalid_attachment", "filename"),
        ([{**GOOD, "filename": 7}], "validation_error", "attachments[0].filename"),
        ([{**GOOD, "filename": "a\nb"}], "validation_error", "attachments[0].filename"),
        ([GOOD, {**GOOD, "content": "!!"}], "invalid_attachment", "attachments[1]"),
        ([{**GOOD, "content": "aGk"[:1]}], "invalid_attachment", "attachments[0]"),
        ([{**GOOD, "content": [1, 256]}], "invalid_attachment", "attachments[0]"),
        ([{**GOOD, "content": [1, -1]}], "invalid_attachment", "attachments[0]"),
        ([{**GOOD, "content": [1, "2"]}], "invalid_attachment", "attachments[0]"),
        ([{**GOOD, "content": {"type": "Buffer", "data": "eA=="}}], "invalid_attachment", "attachments[0]"),
        ([{**GOOD, "content": 5}], "invalid_attachment", "attachments[0]"),
        ([{**GOOD, "content_type": 5}], "validation_error", "content_type"),
        ([{**GOOD, "content_type": "a\r\nb: c"}], "validation_error", "content_type"),
        ([{**GOOD, "content_type": "nonsense"}], "validation_error", "type"),
        ([{**GOOD, "content_id": "a\nb"}], "validation_error", "content_id"),
        ([{"path": "http://127.0.0.1/x"}], "invalid_attachment", "path"),
        ([{**GOOD, "path": "http://127.0.0.1/x"}], "invalid_attachment", "path"),
    ],
)
def test_what_is_refused(box, httpd, email, attachments, name, message):
    answer = httpd.post({**email, "attachments": attachments})
    check_problem(answer, 422, name, message)


@pytest.mark.parametrize("separator, blocks", [(",", 15_600), (", ", 100)])
def test_large_array(box, httpd, email, separator, blocks):
    """Numbers cost what they take, so that files of 4 MB can come like this."""
    data = bytes(range(256)) * blocks
    numbers = separator.join(map(str, data))
    body = json.dumps({**email, "attachments": [{"filename": "a", "content": 0}]})
    answer = httpd.request(
        "POST",
        "/emails",
        data=body.replace(": 0}", f": [{numbers}]}}"),
        headers={"Content-Type": "application/json"},
    )
    assert answer.status_code == 200, answer.text
    assert box.sink.find(to=email["to"]).attachments()[0][3] == data


def test_larger_than_postfix_takes(box, httpd, email):
    """Postfix's own limit is 10,240,000 bytes."""
    content = as_base64(bytes(9_000_000))
    answer = httpd.post(
        {**email, "attachments": [{"filename": "a", "content": content}]}
    )
    check_problem(answer, 413, "validation_error", "10240000")
    assert not box.sink.now(to=email["to"])
