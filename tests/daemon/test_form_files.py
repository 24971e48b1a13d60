"""The form dialect: attachments and inline files, byte for byte."""

import random
import re
from urllib.parse import quote

import pytest
from harness import File
from harness.form import urlencoded

RANDOM = random.Random(2)

CONTENTS = {
    "empty": b"",
    "NUL": b"\0",
    "every byte": bytes(range(256)),
    "LF": b"\n",
    "CRLF": b"\r\n",
    "CR": b"\r",
    "line ends": b"\n\r\n\r\r\n\n\r\nx\r\n",
    "no line end": b"x",
    "text": b"line\nline\r\nline\r.\n..\nFrom x\n",
    "dashes": b"--\r\n--\r\n----",
    "ff": b"\xff" * 1000,
    "long line": b"x" * 3000,
    "64 KB": RANDOM.randbytes(65_536),
    "3 MB": RANDOM.randbytes(3_000_000),
}


@pytest.mark.parametrize("field", ["attachment", "inline"])
@pytest.mark.parametrize("case", CONTENTS)
def test_bytes(form, fields, field, case):
    data = CONTENTS[case]
    mail = form.deliver({**fields, "html": "<p>x", field: File("a.bin", data)})
    assert mail.attachments() == [
        ("a.bin", "application/octet-stream", field, data)
    ]
    assert mail.body("plain") == "Hello\n"


@pytest.mark.parametrize(
    "names",
    [
        ["attachment"] * 4,
        ["attachment[]"] * 4,
        ["attachment[0]", "attachment[1]", "attachment[2]", "attachment[3]"],
        ["attachment", "attachment[1]", "attachment[]", "attachment[x]"],
    ],
    ids=["repeated", "brackets", "numbers", "mixed"],
)
def test_several_keep_their_order(form, fields, names):
    files = [File(f"{n}.bin", RANDOM.randbytes(n * 100)) for n in range(4)]
    given = {}
    for name, file in zip(names, files):
        given.setdefault(name, []).append(file)
    mail = form.deliver({**fields, **given})
    assert [(a[0], a[3]) for a in mail.attachments()] == [
        (file.filename, file.data) for file in files
    ]


@pytest.mark.parametrize("count", [0, 1, 2])
def test_empty_files_stay(form, fields, count):
    """Also those without a name."""
    fields["attachment"] = [File(f"{n}", b"") for n in range(count)] + [File("", b"")]
    mail = form.deliver(fields)
    assert [data for *_, data in mail.attachments()] == [b""] * (count + 1)
    assert all(name for name, *_ in mail.attachments())


@pytest.mark.parametrize("name", ["inline", "inline[0]", "inline[]"])
def test_inline(form, fields, name):
    fields["html"] = '<img src="cid:logo.png">'
    mail = form.deliver({**fields, name: File("logo.png", b"\x89PNG", "image/png")})
    (part,) = [p for p in mail.message.walk() if p.get_filename()]
    assert part["Content-ID"] == "<logo.png>"
    assert part.get_content_disposition() == "inline"
    assert part.get_content_type() == "image/png"
    assert part.get_payload(decode=True) == b"\x89PNG"
    kinds = [p.get_content_type() for p in mail.message.walk()]
    assert "multipart/related" in kinds


def test_inline_and_attachment_together(form, fields):
    fields.update(
        html='<img src="cid:a.png"><img src="cid:b.gif">',
        inline=[File("a.png", b"A", "image/png"), File("b.gif", b"B", "image/gif")],
        attachment=File("c.pdf", b"C", "application/pdf"),
    )
    mail = form.deliver(fields)
    assert sorted(mail.attachments()) == [
        ("a.png", "image/png", "inline", b"A"),
        ("b.gif", "image/gif", "inline", b"B"),
        ("c.pdf", "application/pdf", "attachment", b"C"),
    ]
    ids = [p["Content-ID"] for p in mail.message.walk() if p["Content-ID"]]
    assert ids == ["<a.png>", "<b.gif>"]


@pytest.mark.parametrize("file_name", ["a b.png", "grün.png", "<x>.png", "50%.png"])
@pytest.mark.parametrize("written", [str, quote], ids=["plain", "encoded"])
def test_content_id_of_an_unusual_name(form, fields, file_name, written):
    """Nothing that breaks the field stands in it, and the html speaks of it."""
    html = '<img src="cid:{}"><p>cid: is no link'
    fields.update(
        html=html.format(written(file_name)), inline=File(file_name, b"x", "image/png")
    )
    mail = form.deliver(fields)
    assert [a[0] for a in mail.attachments()] == [file_name]
    (part,) = [p for p in mail.message.walk() if p.get_filename()]
    inner = part["Content-ID"].removeprefix("<").removesuffix(">")
    assert re.fullmatch("[A-Za-z0-9._@-]+", inner)
    assert mail.body("html").rstrip("\n") == html.format(inner)


@pytest.mark.parametrize(
    "kind", [None, "", "application/octet-stream"], ids=["none", "empty", "given"]
)
@pytest.mark.parametrize(
    "file_name, guessed",
    [
        ("a.pdf", "application/pdf"),
        ("a.PNG", "image/png"),
        ("a.csv", "text/csv"),
        ("a.ics", "text/calendar"),
        ("a", "application/octet-stream"),
        ("a.unheardof", "application/octet-stream"),
    ],
    ids="pdf PNG csv ics none unknown".split(),
)
def test_type_from_the_name(form, fields, file_name, guessed, kind):
    """When none is given; one that is given counts."""
    fields["attachment"] = File(file_name, b"x", kind)
    mail = form.deliver(fields)
    expected = kind or guessed
    assert mail.attachments() == [(file_name, expected, "attachment", b"x")]


@pytest.mark.parametrize(
    "kind",
    ["image/x-test", "text/plain; charset=utf-16", "message/rfc822", "multipart/mixed"],
)
def test_type_given(form, fields, kind):
    data = b"Subject: inner\r\n\r\n" + bytes(range(256))
    mail = form.deliver({**fields, "attachment": File("a", data, kind)})
    ((name, found, disposition, content),) = mail.attachments()
    assert (name, disposition, content) == ("a", "attachment", data)
    if kind == "image/x-test":
        assert found == kind


def test_type_that_is_none(form, fields, to):
    """Said clearly, or made harmless: never a broken message."""
    answer = form.post({**fields, "attachment": File("a.png", b"x", "nonsense")})
    if answer.status == 200:
        ((name, kind, _, data),) = form.box.sink.find(to=to).attachments()
        assert (name, data) == ("a.png", b"x")
        assert kind in ("image/png", "application/octet-stream")
    else:
        assert answer.status == 400
        assert "attachment" in answer.json()["message"]


def test_files_are_not_taken_from_other_fields(form, fields):
    fields.update({"file": File("a", b"x"), "attachments": File("b", b"y")})
    assert form.deliver(fields).attachments() == []


def test_text_given_as_attachment(form, fields):
    """Urlencoded clients send contents so."""
    mail = form.deliver({**fields, "attachment": "content"}, urlencoded)
    ((name, _, disposition, data),) = mail.attachments()
    assert name
    assert (disposition, data) == ("attachment", b"content")


def test_40_files(form, fields):
    files = [File(f"{n}.bin", RANDOM.randbytes(50_000)) for n in range(40)]
    mail = form.deliver({**fields, "attachment": files})
    assert [(a[0], a[3]) for a in mail.attachments()] == [
        (file.filename, file.data) for file in files
    ]
