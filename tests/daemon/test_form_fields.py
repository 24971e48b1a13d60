"""The form dialect: names, values and addresses, in both encodings."""

import json
import re
from urllib.parse import quote

import pytest
from harness.form import ENCODINGS, UUID, File, in_turn, multipart, urlencoded
from harness.httpd import check_problem
from harness.sandbox import unique

UNKNOWN_ID = "3c0d6a52-6c7b-4a0a-9b1c-2b5b7f5a8f11"

both = pytest.mark.parametrize("encode", ENCODINGS, ids=lambda e: e.__name__)


def people(n, word="p"):
    return [f"{unique(word)}@dst.test" for _ in range(n)]


@both
def test_every_field(form, encode):
    to, cc, bcc = people(2), people(2), people(2)
    message_id = form.send(
        {
            "from": "Ann <hello@example.com>",
            "to": to,
            "cc": cc,
            "bcc": bcc,
            "subject": "Grüße 👋",
            "text": "Hällo",
            "html": "<p>Hällo</p>",
            "h:Reply-To": "Help <help@example.net>",
        },
        encode,
    )
    assert re.fullmatch(rf"<{UUID}@example\.com>", message_id)

    mail = form.box.sink.find(message_id=message_id)
    assert mail.sender == "hello@example.com"
    assert sorted(mail.recipients) == sorted(to + cc + bcc)
    assert mail.addresses("From") == [("Ann", "hello@example.com")]
    assert [a for _, a in mail.addresses("To")] == to
    assert [a for _, a in mail.addresses("Cc")] == cc
    assert mail.header("Bcc") is None
    assert mail.addresses("Reply-To") == [("Help", "help@example.net")]
    assert mail.header("Subject") == "Grüße 👋"
    assert mail.body("plain") == "Hällo\n"
    assert mail.body("html") == "<p>Hällo</p>\n"
    assert mail.header("Date") is not None
    assert not re.search(rb"^X-(Mailgun|Postern)", mail.raw, re.M | re.I)
    for address in bcc:
        assert address.encode() not in mail.raw

    seen = form.read(message_id)
    assert seen["object"] == "email"
    assert seen["from"] == "Ann <hello@example.com>"
    assert (seen["to"], seen["cc"], seen["bcc"]) == (to, cc, bcc)
    assert seen["reply_to"] == ["Help <help@example.net>"]
    assert seen["subject"] == "Grüße 👋"
    assert seen["text"] == "Hällo"
    assert seen["html"] == "<p>Hällo</p>"
    assert seen["last_event"] in ("sent", "delivered")
    assert seen["message_id"] == message_id


def test_id_as_a_whole(form, httpd, fields):
    """GET takes the id as it was given, too."""
    message_id = form.send(fields)
    for path in (message_id, quote(message_id), quote(message_id, safe="")):
        answer = httpd.request("GET", f"/emails/{path}")
        assert answer.status_code == 200, answer.text
        assert answer.json()["message_id"] == message_id


@pytest.mark.parametrize(
    "change, status, name",
    [
        (lambda i: i.replace("@example.com", "@other.test"), 404, "not_found"),
        (lambda i: "<" + UNKNOWN_ID + i[37:], 404, "not_found"),
        (lambda i: i[:-1], 404, "not_found"),
        (lambda i: i[1:], 422, "invalid_parameter"),
        # whatever a client may have chosen as Message-ID
        (lambda i: i[:36] + i[37:], 404, "not_found"),
        (lambda i: i[:37] + ">", 404, "not_found"),
        (lambda i: "<x@example.com>", 404, "not_found"),
    ],
)
def test_id_that_is_another(form, httpd, fields, change, status, name):
    message_id = change(form.send(fields))
    for path in [f"/emails/{quote(message_id)}", f"/emails/{quote(message_id)}/events"]:
        check_problem(httpd.request("GET", path), status, name)


@both
def test_fewest_fields(form, fields, encode):
    message_id = form.send(fields, encode)
    mail = form.box.sink.find(message_id=message_id)
    assert mail.recipients == [fields["to"]]
    assert mail.header("Subject") is None
    assert mail.body("plain") == "Hello\n"
    assert mail.body("html") is None
    seen = form.read(message_id)
    assert (seen["subject"], seen["html"], seen["text"]) == ("", "", "Hello")
    assert (seen["cc"], seen["bcc"], seen["reply_to"]) == ([], [], None)


@both
def test_text_derived_from_html(form, fields, encode):
    del fields["text"]
    mail = form.deliver({**fields, "html": "<p>One</p><p>Two</p>"}, encode)
    assert mail.body("plain") == "One\n\nTwo\n"


NAMES = {
    "brackets": ["to[]", "to[]", "to[]"],
    "numbers": ["to[0]", "to[1]", "to[2]"],
    "keys": ["to[a]", "to[b]", "to[]"],
    "mixed": ["to[1]", "to", "to[]"],
}


@both
@pytest.mark.parametrize("case", NAMES)
def test_brackets_behind_names(form, encode, case):
    to = people(3)
    fields = [("from[]", "hello@example.com"), ("text[0]", "Hello")]
    fields += zip(NAMES[case], to)
    if encode is multipart:
        answer = form.post_parts(
            [f'Content-Disposition: form-data; name="{n}"\r\n\r\n{v}'.encode()
             for n, v in fields]
        )
    else:
        body = "&".join(f"{n}={v}" for n, v in fields)
        answer = form.post_body(urlencoded({})[0], body.encode())
    mail = form.box.sink.find(message_id=answer.json()["id"])
    assert [a for _, a in mail.addresses("To")] == to
    assert mail.body("plain") == "Hello\n"


@both
def test_comma_lists_and_repeats_keep_their_order(form, fields, encode):
    to, cc, bcc = people(6), people(3), people(3)
    message_id = form.send(
        {
            **fields,
            "to": [f"{to[0]},{to[1]}", to[2], f"{to[3]} , B <{to[4]}>", to[5]],
            "cc": f"{cc[0]},\t{cc[1]},{cc[2]}",
            "bcc": [bcc[0], f"{bcc[1]}, {bcc[2]}"],
        },
        encode,
    )
    mail = form.box.sink.find(message_id=message_id)
    assert [a for _, a in mail.addresses("To")] == to
    assert [a for _, a in mail.addresses("Cc")] == cc
    assert sorted(mail.recipients) == sorted(to + cc + bcc)
    seen = form.read(message_id)
    assert (seen["to"], seen["cc"], seen["bcc"]) == (to, cc, bcc)


@both
def test_duplicates_are_sent_once(form, fields, encode):
    a, b = people(2)
    mail = form.deliver(
        {**fields, "to": [a, f"Ann <{a}>,{b}", a], "cc": [b, b], "bcc": a}, encode
    )
    assert sorted(mail.recipients) == sorted([a, b])
    assert [address for _, address in mail.addresses("To")] == [a, b]
    assert [address for _, address in mail.addresses("Cc")] == [b]


ADDRESSES = {
    "bare": ("{}", ""),
    "angle brackets": ("<{}>", ""),
    "name": ("Bob <{}>", "Bob"),
    "words": ("Bob B. Bee <{}>", "Bob B. Bee"),
    "no blank": ("Bob<{}>", "Bob"),
    "quoted": ('"Bob" <{}>', "Bob"),
    "comma in quotes": ('"Bee, Bob" <{}>', "Bee, Bob"),
    "quotes in quotes": (r'"Bob \"B\" Bee" <{}>', 'Bob "B" Bee'),
    "backslash in quotes": (r'"a\\b" <{}>', "a\\b"),
    "at in quotes": ('"bob@home" <{}>', "bob@home"),
    "angle in quotes": ('"<bob>, B" <{}>', "<bob>, B"),
    "Q word": ("=?utf-8?Q?J=C3=BCrgen_B?= <{}>", "Jürgen B"),
    "B word": ("=?UTF-8?B?SsO8cmdlbg==?= <{}>", "Jürgen"),
    "word in Latin-1": ("=?iso-8859-1?q?J=FCrgen?= <{}>", "Jürgen"),
    "two words": ("=?utf-8?Q?J=C3=BC?= =?utf-8?Q?rgen?= <{}>", "Jürgen"),
    "quoted word": ('"=?utf-8?Q?J=C3=BCrgen?=" <{}>', "Jürgen"),
    "raw UTF-8": ("Jürgen Müß <{}>", "Jürgen Müß"),
    "raw UTF-8 in quotes": ('"Müß, \\"Jü\\" 👋" <{}>', 'Müß, "Jü" 👋'),
    "Japanese": ("山田太郎 <{}>", "山田太郎"),
    "blanks around": ("   Bob   <{}>  ", "Bob"),
    "trailing comma": ("Bob <{}>,", "Bob"),
    "trailing comma and blank": ("{} , ", ""),
}


@in_turn("case", ADDRESSES, encode=ENCODINGS, name=["to", "cc", "bcc"])
def test_addresses(form, fields, to, case, name, encode):
    text, display = ADDRESSES[case]
    (other,) = people(1)
    fields.update({"to": other, name: text.format(to)})
    message_id = form.send(fields, encode)
    mail = form.box.sink.find(message_id=message_id)
    assert to in mail.recipients
    if name != "bcc":
        assert mail.addresses(name) == [(display, to)]
    assert form.read(message_id)[name] == [to]


@in_turn("case", [c for c in ADDRESSES if "trailing" not in c], encode=ENCODINGS)
def test_sender(form, fields, case, encode):
    text, display = ADDRESSES[case]
    fields["from"] = text.format("hello@example.com")
    message_id = form.send(fields, encode)
    mail = form.box.sink.find(message_id=message_id)
    assert mail.addresses("From") == [(display, "hello@example.com")]
    assert mail.sender == "hello@example.com"
    seen = form.read(message_id)["from"]
    assert seen.endswith("<hello@example.com>" if display else "hello@example.com")


@both
def test_names_and_commas_in_one_list(form, fields, encode):
    a, b, c = people(3)
    fields["to"] = rf'"A, \"x\", B" <{a}>,"Jürgen, J" <{b}>, {c},'
    mail = form.deliver(fields, encode)
    assert mail.addresses("To") == [
        ('A, "x", B', a),
        ("Jürgen, J", b),
        ("", c),
    ]


@both
def test_international_address(form, fields, encode):
    to = unique("jürgen") + "@utf8.test"
    mail = form.deliver({**fields, "to": f"Jürgen <{to}>"}, encode)
    assert mail.recipients == [to]


TEXTS = {
    "line breaks": "one\ntwo\r\nthree\r\n\r\n",
    "breaks at the ends": "\n\nx\n\n",
    "dots": ".\n..\n.x\r\n.\r\nend",
    "From": "From me\n>From you\n",
    "equals and amp": "a=b&c=d;e+f g%20h",
    "unicode": "Grüße 👋 日本語 \u200bx",
    "controls": "tab\there",
    "long line": "x" * 5000,
    "boundaries": "--f0rm-\r\n--f0rmx\r\n -- f0rm--\r\n--",
    "blanks at line ends": "x  \n\t\ny ",
}


@both
@pytest.mark.parametrize("case", TEXTS)
def test_text_as_it_is(form, fields, case, encode):
    """GET has it to the byte; in the message lines end as mail has it."""
    text = TEXTS[case]
    message_id = form.send({**fields, "text": text, "html": f"<pre>{text}"}, encode)
    seen = form.read(message_id)
    assert (seen["text"], seen["html"]) == (text, f"<pre>{text}")
    mail = form.box.sink.find(message_id=message_id)
    shown = text.replace("\r\n", "\n")
    shown += "" if shown.endswith("\n") else "\n"
    assert mail.body("plain") == shown
    assert mail.body("html") == "<pre>" + shown


@both
@pytest.mark.parametrize(
    "subject",
    ["x", "Grüße, 日本語 👋" * 20, "a=b&c%20+ ", "=?x?="],
    ids=["one", "unicode", "special", "word"],
)
def test_subject(form, fields, subject, encode):
    message_id = form.send({**fields, "subject": subject}, encode)
    assert form.read(message_id)["subject"] == subject
    mail = form.box.sink.find(message_id=message_id)
    assert mail.header("Subject").strip() == subject.strip()


URLENCODED = {
    "plus is a space": "text=a+b%2Bc",
    "encoded names": "te%78t=a%20b%2bc",
    "empty pairs": "&&text=a%20b%2Bc&&",
    "not encoded": "text=a b%2Bc",
}


@pytest.mark.parametrize("case", URLENCODED)
def test_urlencoded_spellings(form, to, case):
    body = f"from=hello%40example.com&to={to}&{URLENCODED[case]}"
    answer = form.post_body(
        "application/x-www-form-urlencoded; charset=UTF-8", body.encode()
    )
    assert form.read(answer.json()["id"])["text"] == "a b+c"


def test_urlencoded_keys_come_encoded(form, to):
    other = people(1)[0]
    body = (
        f"from=hello%40example.com&to%5B0%5D={to}&to%5B%5D={other}&text=x"
        "&o%3Atag=one&o%3Atag%5B1%5D=two&h%3AX-My=Gr%C3%BC%C3%9Fe&v%3Aa=b"
    )
    answer = form.post_body("application/x-www-form-urlencoded", body.encode())
    message_id = answer.json()["id"]
    seen = form.read(message_id)
    assert seen["to"] == [to, other]
    assert [tag["value"] for tag in seen["tags"]] == ["one", "two"]
    mail = form.box.sink.find(message_id=message_id)
    assert mail.header("X-My") == "Grüße"
    (row,) = form.stored(message_id)
    assert json.loads(row["variables"]) == {"a": "b"}


def test_urlencoded_type_in_any_case(form, fields):
    _, body = urlencoded(fields)
    answer = form.post_body("APPLICATION/X-WWW-Form-Urlencoded", body)
    assert answer.status == 200, answer.body


def test_text_fields_that_come_as_files(form, to):
    """Some clients send each value as a blob with a file name."""
    message_id = form.send(
        {
            "from": File("blob", b"hello@example.com", "text/plain"),
            "to": File("to", to.encode(), None),
            "subject": File("", "Grüße".encode()),
            "text": File("text.txt", b"Hello", "text/plain"),
        }
    )
    seen = form.read(message_id)
    assert seen["to"] == [to]
    assert (seen["subject"], seen["text"]) == ("Grüße", "Hello")
    assert form.box.sink.find(message_id=message_id).attachments() == []


def test_unknown_fields_are_ignored(form, fields):
    form.deliver({**fields, "x": "1", "amp": "2", "": "3", "recipient": "4"})
