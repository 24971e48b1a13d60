"""The form dialect: multipart/form-data as real clients write it, by the byte."""

import pytest
from harness import File
from harness.form import BOUNDARY, join, part, parts, queued_id

KIND = f"multipart/form-data; boundary={BOUNDARY}"


def check_text(form, answer, text="Hello"):
    """The email came through whole."""
    message_id = queued_id(answer)
    assert form.read(message_id)["text"] == text
    mail = form.box.sink.find(message_id=message_id)
    assert mail.body("plain") == text + "\n"
    return mail


BOUNDARIES = {
    "plain": ("x", "x"),
    "quoted": ('"x"', "x"),
    "dashes": ("----WebKitFormBoundaryA1b2C3", "----WebKitFormBoundaryA1b2C3"),
    "only dashes": ("--", "--"),
    "all that may be": ("\"'()+_,-./:=? x\"", "'()+_,-./:=? x"),
    "special, not quoted": ("'()+_-./:=?x", "'()+_-./:=?x"),
    "equals at the end": ("x==", "x=="),
    "longest": ("x" * 70, "x" * 70),
    "digits": ("00000000-0000-0000", "00000000-0000-0000"),
    "escaped": (r'"a\x"', r"a\x"),
}


@pytest.mark.parametrize("case", BOUNDARIES)
def test_boundary(form, fields, case):
    given, meant = BOUNDARIES[case]
    body = join(parts(fields), meant)
    check_text(form, form.post_body(f"multipart/form-data; boundary={given}", body))


@pytest.mark.parametrize(
    "kind",
    [
        "Multipart/Form-Data; Boundary=f0rm",
        "multipart/form-data;boundary=f0rm",
        "multipart/form-data ; boundary=f0rm; charset=utf-8",
        "multipart/form-data; charset=UTF-8; boundary=f0rm",
        "multipart/form-data; boundary=f0rm;",
        'multipart/form-data; charset="; boundary=no"; boundary=f0rm',
    ],
    ids=["case", "tight", "charset behind", "charset before", "semicolon", "quoted"],
)
def test_media_type(form, fields, kind):
    check_text(form, form.post_body(kind, join(parts(fields))))


ENDS = {
    "no line end": "",
    "line end": "\r\n",
    "LF": "\n",
    "blanks": "  \t\r\n",
    "epilogue": "\r\nThe end.\r\n--f0rm\r\nnot a part",
    "more line ends": "\r\n\r\n\r\n",
}


@pytest.mark.parametrize("case", ENDS)
def test_after_the_last_delimiter(form, fields, case):
    check_text(form, form.post_body(KIND, join(parts(fields), end=ENDS[case])))


@pytest.mark.parametrize(
    "preamble",
    [b"\r\n", b"This is MIME.\r\n", b"x\n--f0rmer\r\n --f0rm\r\n"],
    ids=["line end", "text", "look-alikes"],
)
def test_preamble(form, fields, preamble):
    check_text(form, form.post_body(KIND, preamble + join(parts(fields))))


def test_bare_line_feeds(form, fields):
    body = join(parts(fields)).replace(b"\r\n", b"\n")
    check_text(form, form.post_body(KIND, body))


# Each is the part of a text field with the value Hällo.
TEXT_PARTS = {
    "as it is": part('name="text"', "Hällo"),
    "unquoted": part("name=text", "Hällo"),
    "no blanks": "Content-Disposition:form-data;name=text\r\n\r\nHällo".encode(),
    "lower case": 'content-disposition: form-data; name="text"\r\n\r\nHällo'.encode(),
    "upper case": 'CONTENT-DISPOSITION: FORM-DATA; NAME="text"\r\n\r\nHällo'.encode(),
    "other order": (
        "X-First: 1\r\ncontent-type: text/plain\r\n"
        'Content-Disposition: form-data; name="text"\r\nX-Last: 2\r\n\r\nHällo'
    ).encode(),
    "folded": (
        'Content-Disposition: form-data;\r\n\tname="text"\r\n\r\nHällo'.encode()
    ),
    "other parameters": part('charset=x; name="text"; size=6', "Hällo"),
    "type": part('name="text"', "Hällo", "Content-Type: text/plain"),
    "charset": part(
        'name="text"', "Hällo", 'Content-Type: text/plain; charset="UTF-8"'
    ),
    "Latin-1": part(
        'name="text"', b"H\xe4llo", "Content-Type: text/plain; charset=ISO-8859-1"
    ),
    "Windows-1252": part(
        'name="text"', b"H\xe4llo", "content-type: text/plain;charset=windows-1252"
    ),
    "7bit": part('name="text"', "Hällo", "Content-Transfer-Encoding: 7bit"),
    "8bit": part('name="text"', "Hällo", "Content-Transfer-Encoding: 8bit"),
    "binary": part('name="text"', "Hällo", "content-transfer-encoding: BINARY"),
    "base64": part('name="text"', "SMOkbGxv", "Content-Transfer-Encoding: base64"),
    "base64 in lines": part(
        'name="text"', "SMOk\r\nbGxv\r\n", "Content-Transfer-Encoding: Base64"
    ),
    "quoted-printable": part(
        'name="text"',
        "H=C3=A4=\r\nllo",
        "Content-Transfer-Encoding: quoted-printable",
    ),
    "right length": part('name="text"', "Hällo", "Content-Length: 6"),
    "wrong length": part('name="text"', "Hällo", "Content-Length: 2"),
    "as a file": part('name="text"; filename="text.txt"', "Hällo"),
    "as a blob": part(
        'name="text"; filename="blob"', "Hällo", "Content-Type: text/plain"
    ),
    "brackets": part('name="text[]"', "Hällo"),
}


@pytest.mark.parametrize("case", TEXT_PARTS)
def test_text_part(form, fields, case):
    del fields["text"]
    answer = form.post_parts([*parts(fields), TEXT_PARTS[case]])
    check_text(form, answer, "Hällo")


@pytest.mark.parametrize("encoding", ["7bit", "8bit", "binary"])
def test_what_looks_encoded_and_is_not(form, fields, encoding):
    del fields["text"]
    line = f"Content-Transfer-Encoding: {encoding}"
    answer = form.post_parts([*parts(fields), part('name="text"', "=41 SGk=", line)])
    check_text(form, answer, "=41 SGk=")


def test_empty_parts(form, fields):
    """With and without the line end that the delimiter shares."""
    body = join([*parts(fields), part('name="subject"', ""), part('name="html"', "")])
    body = body.replace(b'name="html"\r\n\r\n\r\n', b'name="html"\r\n\r\n')
    check_text(form, form.post_body(KIND, body))


# What stands behind name="attachment", and the file's name and type at last.
FILE_NAMES = {
    "as it is": ('filename="a b.txt"', "a b.txt"),
    "before the name": (None, "a.txt"),
    "unquoted": ("filename=a.txt", "a.txt"),
    "unquoted with blanks": ("filename=a b.txt", "a b.txt"),
    "raw UTF-8": ('filename="Grüße 👋.txt"', "Grüße 👋.txt"),
    "raw UTF-8, unquoted": ("filename=Grüße.txt", "Grüße.txt"),
    "escaped quote": (r'filename="a\"b\".txt"', 'a"b".txt'),
    "escaped backslash": (r'filename="a\\b.txt"', "b.txt"),
    "%22": ('filename="a%22b.txt"', 'a"b.txt'),
    "%22 only": ('filename="100%25 %41%2e%22.txt"', '100%25 %41%2e".txt'),
    "bare percent": ('filename="100%.txt"', "100%.txt"),
    "inner quotes": ('filename="a"b".txt"', 'a"b".txt'),
    "inner quote, then more": ('filename="a"b.txt"; size=1', 'a"b.txt'),
    "semicolon": ('filename="a;b.txt"', "a;b.txt"),
    "semicolon and equals": ('filename="a; x=b.txt"', "a; x=b.txt"),
    "star": ("filename*=UTF-8''Gr%C3%BC%C3%9Fe%20a.txt", "Grüße a.txt"),
    "star, lower case": ("filename*=utf-8'en'%e2%82%ac.txt", "€.txt"),
    "star in Latin-1": ("filename*=ISO-8859-1''Gr%FCn.txt", "Grün.txt"),
    "both, star last": (
        "filename=\"a.txt\"; filename*=UTF-8''%C3%BC.txt",
        "ü.txt",
    ),
    "both, star first": (
        "filename*=UTF-8''%C3%BC.txt; filename=\"a.txt\"",
        "ü.txt",
    ),
    "upper case": ('FileName="a.txt"', "a.txt"),
    "path": ('filename="/home/me/a.txt"', "a.txt"),
    "relative path": ('filename="../../etc/a.txt"', "a.txt"),
    "Windows path": (r'filename="C:\temp\new\a.txt"', "a.txt"),
    "escaped Windows path": (r'filename="C:\\temp\\a.txt"', "a.txt"),
    "UNC path": (r'filename="\\host\share\a.txt"', "a.txt"),
    "path behind a star": ("filename*=UTF-8''%2Ftmp%2Fa.txt", "a.txt"),
    "encoded word stays": (
        'filename="=?utf-8?q?=C3=BC?=.txt"',
        "=?utf-8?q?=C3=BC?=.txt",
    ),
    "long": (f'filename="{"x" * 200}.txt"', "x" * 200 + ".txt"),
}


@pytest.mark.parametrize("case", FILE_NAMES)
def test_file_name(form, fields, case):
    given, name = FILE_NAMES[case]
    if case == "before the name":
        disposition = 'filename="a.txt"; name="attachment"'
    else:
        disposition = f'name="attachment"; {given}'
    lines = ["Content-Type: text/plain"]
    answer = form.post_parts([*parts(fields), part(disposition, "x", *lines)])
    mail = check_text(form, answer)
    assert mail.attachments() == [(name, "text/plain", "attachment", b"x")]


@pytest.mark.parametrize("escape", ["%0D%0A", "%0a", "%0d"])
def test_line_breaks_in_a_file_name(form, fields, escape):
    """They are decoded, and never become a header field."""
    disposition = f'name="attachment"; filename="a{escape}X-Evil: 1"'
    answer = form.post_parts([*parts(fields), part(disposition, "x")])
    mail = check_text(form, answer)
    assert b"\nX-Evil" not in mail.raw
    ((name, _, _, data),) = mail.attachments()
    assert name.split() == ["a", "X-Evil:", "1"]
    assert "%" not in name
    assert data == b"x"


def test_line_breaks_in_a_field_name(form, fields):
    answer = form.post_parts([*parts(fields), part('name="v:%22%0D%0A"', "x")])
    check_text(form, answer)


@pytest.mark.parametrize("name", ["attachment", "attachment[2]", "attachment[]"])
@pytest.mark.parametrize("file_name", ["", '; filename=""'], ids=["none", "empty"])
def test_file_without_a_name(form, fields, name, file_name):
    lines = ["Content-Type: image/png"]
    one = part(f'name="{name}"{file_name}', b"\x89PNG\0", *lines)
    mail = check_text(form, form.post_parts([*parts(fields), one]))
    ((given, kind, disposition, data),) = mail.attachments()
    assert given
    assert (kind, disposition, data) == ("image/png", "attachment", b"\x89PNG\0")


def test_multipart_mixed(form, fields):
    """Several files of one field, as old clients send them."""
    mixed = (
        b"--inner\r\n"
        b'Content-Disposition: attachment; filename="a.txt"\r\n'
        b"Content-Type: text/plain\r\n\r\nA\n\r\n"
        b"--inner\r\n"
        b"Content-Disposition: file; filename=b.bin\r\n"
        b"Content-Type: application/octet-stream\r\n"
        b"Content-Transfer-Encoding: base64\r\n\r\nAP8=\r\n"
        b"--inner--\r\n"
    )
    whole = part(
        'name="attachment"', mixed, "Content-Type: multipart/mixed; boundary=inner"
    )
    mail = check_text(form, form.post_parts([whole, *parts(fields)]))
    assert mail.attachments() == [
        ("a.txt", "text/plain", "attachment", b"A\n"),
        ("b.bin", "application/octet-stream", "attachment", b"\0\xff"),
    ]


LOOK_ALIKES = [
    b"\r\n--f0rmx\r\n",
    b"\r\n--f0rm x",
    b"\r\n--f0r",
    b" --f0rm--",
    b"--f0rm--x",
    b"\r\n-- f0rm\r\n",
    b"\r\n--F0RM\r\n",
    b"\r--f0rm\r",
    b"\r\n--f0rm-\r\n",
]


@pytest.mark.parametrize("where", ["front", "end", "alone"])
def test_contents_that_look_like_delimiters(form, fields, where):
    files = [
        {"front": text + b"x", "end": b"x" + text, "alone": text}[where]
        for text in LOOK_ALIKES
    ]
    fields["attachment"] = [File("a", data) for data in files]
    mail = check_text(form, form.post(fields))
    assert [data for *_, data in mail.attachments()] == files


def test_many_parts(form, fields):
    fields["x"] = [str(n) for n in range(3900)]
    check_text(form, form.post(fields))


def test_parts_in_any_order(form, fields, to):
    """Fields behind files, and recipients last."""
    mixed = {
        "attachment": File("a.txt", b"A"),
        "text": "Hello",
        "inline": File("b.txt", b"B"),
        "from": "hello@example.com",
        "to": to,
    }
    mail = check_text(form, form.post(mixed))
    assert {name for name, *_ in mail.attachments()} == {"a.txt", "b.txt"}
