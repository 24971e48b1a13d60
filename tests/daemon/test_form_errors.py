"""The form dialect: what is refused, with which words, in which order."""

import re

import pytest
from harness import FormClient, Sandbox, wait_for
from harness.form import (
    ENCODINGS,
    File,
    basic,
    check_forbidden,
    check_refused,
    in_turn,
    join,
    multipart,
    part,
    queued_id,
    urlencoded,
)
from harness.sandbox import unique

both = pytest.mark.parametrize("encode", ENCODINGS, ids=lambda e: e.__name__)

NO_FROM = "from parameter is missing"
NO_TO = "to parameter is missing"
NO_BODY = "Need at least one of 'text' or 'html' parameters specified"
NOT_VALID = "{} parameter is not a valid address. please check documentation"
TOO_MANY = "Too many recipients, max is 1000"
LONG_OPTIONS = (
    "Send options (parameters starting with o:, h:, or v:) are limited to"
    " 16 kB total"
)
MALFORMED = "malformed multipart/form-data request"
EARLY = "unable to parse request: unexpected EOF"
OTHER_TYPE = (
    "Invalid request content type. Expecting 'multipart/form-data' or"
    " 'application/x-www-form-urlencoded' but got '{}'"
)
BAD_ESCAPE = "unable to parse request: invalid URL escape"


def not_delivered(form, address):
    """Nothing for the address came out, though a later email did."""
    later = unique("later") + "@dst.test"
    form.deliver({"from": "hello@example.com", "to": later, "text": "x"})
    assert not form.box.sink.now(to=address)
    assert address not in form.box.log("postfix")


MISSING = {"from": NO_FROM, "to": NO_TO, "text": NO_BODY}


@both
@pytest.mark.parametrize("name", MISSING)
@pytest.mark.parametrize("value", [[], ""], ids=["missing", "empty"])
def test_missing(form, fields, name, value, encode):
    check_refused(form.post({**fields, name: value}, encode), 400, MISSING[name])


@both
@pytest.mark.parametrize("value", [" ", "\t \r\n", ",", " , "])
def test_blank_to(form, fields, value, encode):
    check_refused(form.post({**fields, "to": value}, encode), 400, NO_TO)


@both
def test_empty_html_does_not_count(form, fields, encode):
    fields.update(text="", html="")
    check_refused(form.post(fields, encode), 400, NO_BODY)
    fields.update(text="", html="<p>x</p>")
    queued_id(form.post(fields, encode))


def test_other_names_do_not_count(form, fields):
    """Names are compared with their letter case."""
    for name, message in (("From", NO_FROM), ("TO", NO_TO), ("Text", NO_BODY)):
        wrong = {**fields, name: fields[name.lower()]}
        del wrong[name.lower()]
        check_refused(form.post(wrong), 400, message)


ADDRESSES = {
    "no at": "nobody",
    "no local part": "@dst.test",
    "no domain": "a@",
    "one label": "a@localhost",
    "two ats": "a@b@dst.test",
    "blank inside": "a b@dst.test",
    "dots": "a..b@dst.test",
    "dot in front": ".a@dst.test",
    "open bracket": "Bob <a@dst.test",
    "no brackets": "Bob a@dst.test",
    "text behind": "Bob <a@dst.test> x",
    "open quote": '"Bob <a@dst.test>',
    "literal": "a@[127.0.0.1]",
    "bad label": "a@-x-.test",
    "too long": "x" * 65 + "@dst.test",
    "line break": "a@dst.test\r\nX-Evil: 1",
    "line feed in a name": "Bob\nX-Evil: 1 <a@dst.test>",
    "NUL": "a@dst.test\0",
    "not UTF-8": b"B\xfcb <a@dst.test>",
    "newline in a word": "=?utf-8?q?Bob=0AX-Evil=3A_1?= <a@dst.test>",
}


@in_turn("case", ADDRESSES, encode=ENCODINGS, name=["from", "to", "cc", "bcc"])
def test_invalid_address(form, fields, to, case, name, encode):
    fields[name] = ADDRESSES[case]
    answer = form.post(fields, encode)
    if case in ("NUL", "not UTF-8"):
        check_refused(answer, 400, re.compile(rf"{name} parameter .+"))
    elif case == "newline in a word" and answer.status == 200:
        # Taken as a name, it is no field of its own.
        mail = form.box.sink.find(message_id=queued_id(answer))
        assert mail.header("X-Evil") is None
    else:
        check_refused(answer, 400, NOT_VALID.format(name))


@both
@pytest.mark.parametrize("name", ["to", "cc", "bcc"])
def test_one_invalid_address_refuses_all(form, fields, to, name, encode):
    for value in (f"{to}, nonsense", [to, "nonsense"], [f"{to},x@y@z", to]):
        answer = form.post({**fields, name: value}, encode)
        check_refused(answer, 400, NOT_VALID.format(name))
    not_delivered(form, to)


@both
@pytest.mark.parametrize(
    "value",
    ["hello@example.com, b@example.com", "hello@example.com,", "A:hello@example.com;"],
    ids=["two", "comma", "group"],
)
def test_from_is_one_mailbox(form, fields, value, encode):
    answer = form.post({**fields, "from": value}, encode)
    check_refused(answer, 400, NOT_VALID.format("from"))


def test_from_twice(form, fields, to):
    """Never two senders; that the first one is meant is allowed."""
    fields["from"] = ["hello@example.com", "boss@other.test"]
    answer = form.post(fields)
    if answer.status == 200:
        mail = form.box.sink.find(to=to)
        assert mail.addresses("From") == [("", "hello@example.com")]
    else:
        check_refused(answer, 400, NOT_VALID.format("from"))
    fields["from"].reverse()
    assert form.post(fields).status == 400


@pytest.mark.parametrize("line_end", ["\r\n", "\n", "\r"], ids=["CRLF", "LF", "CR"])
@in_turn("name", ["subject", "h:X-My", "h:Reply-To", "h:Sender"], encode=ENCODINGS)
def test_no_header_injection(form, fields, to, name, line_end, encode):
    evil = unique("evil") + "@dst.test"
    value = f"a@dst.test{line_end}Bcc: {evil}"
    answer = form.post({**fields, name: value}, encode)
    check_refused(answer, 400, re.compile(f"{name} .*"))
    not_delivered(form, to)


@both
def test_1000_recipients(form, fields, encode):
    run = unique("many")
    people = [f"{run}-{n}@dst.test" for n in range(1000)]
    fields.update(to=people[:400], cc=",".join(people[400:700]), bcc=people[700:])
    message_id = form.send(fields, encode)
    seen = form.read(message_id)
    assert seen["to"] + seen["cc"] + seen["bcc"] == people
    def reached():
        mails = form.box.sink.now(message_id=message_id)
        found = [address for mail in mails for address in mail.recipients]
        return len(found) >= 1000 and found

    assert sorted(wait_for("1000 recipients", reached)) == sorted(people)


@both
def test_1001_recipients(form, fields, encode):
    run = unique("many")
    people = [f"{run}-{n}@dst.test" for n in range(1001)]
    for case in (
        {"to": people},
        {"to": ",".join(people)},
        {"to": people[:1000], "cc": people[1000]},
        {"to": people[:1], "bcc": people[1:]},
        {"to": people[0], "text": "", "cc": people[1:], "o:require-tls": "yes"},
    ):
        check_refused(form.post({**fields, **case}, encode), 400, TOO_MANY)
    not_delivered(form, people[0])


@both
def test_duplicates_do_not_count(form, fields, to, encode):
    mail = form.deliver({**fields, "to": [to] * 1500}, encode)
    assert mail.recipients == [to]


@both
def test_options_up_to_16_kb(form, fields, encode):
    form.send({**fields, "v:a": "x" * 16_000}, encode)
    form.send({**fields, "v:a": "x" * 5000, "h:X": "y" * 500, "o:tag": "z" * 5000})


@both
@pytest.mark.parametrize(
    "options",
    [
        {"v:a": "x" * 16_500},
        {"o:tag": "x" * 16_500},
        {"h:X-A": "x" * 16_500},
        {"v:" + c * 4000: c * 200 for c in "abcd"},
        {"v:a": "x" * 6000, "h:X-A": "x" * 6000, "o:tag": "x" * 6000},
        {"v:a": ["x" * 6000] * 3},
    ],
    ids=["v", "o", "h", "names", "all three", "repeated"],
)
def test_options_over_16_kb(form, fields, options, encode):
    check_refused(form.post({**fields, **options}, encode), 400, LONG_OPTIONS)


@both
def test_header_name_must_be_ascii(form, fields, encode):
    answer = form.post({**fields, "h:X-Gruß": "1"}, encode)
    check_refused(answer, 400, "Header name must be pure ASCII: X-Gruß")


@both
@pytest.mark.parametrize(
    "name", ["", " ", "X A", "X:A", "X-A:", "X\nA", "X\x7f"], ids=repr
)
def test_header_name_must_be_a_name(form, fields, name, encode):
    if encode is multipart:
        name = name.replace("\n", "%0A")
    answer = form.post({**fields, f"h:{name}": "1"}, encode)
    check_refused(answer, 400, re.compile(r"h:.*", re.S))


UNREADABLE = {
    "no boundary": ("multipart/form-data", join([part('name="a"', "1")]), MALFORMED),
    "empty boundary": ("multipart/form-data; boundary=", b"----\r\n", MALFORMED),
    "long boundary": (
        "multipart/form-data; boundary=" + "x" * 300,
        join([], "x" * 300),
        MALFORMED,
    ),
    "no disposition": (None, join([b"Content-Type: text/plain\r\n\r\nx"]), MALFORMED),
    "other disposition": (
        None,
        join([b'Content-Disposition: attachment; name="a"\r\n\r\nx']),
        MALFORMED,
    ),
    "no name": (None, join([part('filename="a"', "x")]), MALFORMED),
    "no empty line": (None, join([b"Content-Disposition: form-data"]), MALFORMED),
    "bad base64": (
        None,
        join([part('name="a"', "!!!", "Content-Transfer-Encoding: base64")]),
        MALFORMED,
    ),
    "other encoding": (
        None,
        join([part('name="a"', "x", "Content-Transfer-Encoding: rot13")]),
        MALFORMED,
    ),
    "large part header": (
        None,
        join([part('name="a"', "x", "X-A: " + "x" * 20_000)]),
        MALFORMED,
    ),
    "empty body": (None, b"", EARLY),
    "no delimiter": (None, b"nothing of that kind\r\n", EARLY),
    "open": (None, b"--f0rm\r\n" + part('name="a"', "1") + b"\r\n", EARLY),
    "open in a header": (None, b"--f0rm\r\nContent-Disp", EARLY),
    "other boundary": (None, join([part('name="a"', "1")], "other"), EARLY),
    "half a delimiter": (
        None,
        b"--f0rm\r\n" + part('name="a"', "1") + b"\r\n--f0rm",
        EARLY,
    ),
    "percent": (urlencoded({})[0], b"from=%", BAD_ESCAPE),
    "percent and one": (urlencoded({})[0], b"from=a%4", BAD_ESCAPE),
    "percent and others": (urlencoded({})[0], b"a=b&from=a%zz", BAD_ESCAPE),
    "percent in a name": (urlencoded({})[0], b"fr%om=a", BAD_ESCAPE),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_unreadable_body(form, case):
    kind, body, message = UNREADABLE[case]
    answer = form.post_body(kind or multipart({})[0], body)
    check_refused(answer, 400, message)


def test_body_that_ends_early(form, fields, to):
    """Wherever it is cut: nothing is sent."""
    kind, body = multipart({**fields, "attachment": File("a", b"12345")})
    end = body.rindex(b"--f0rm--")
    for cut in [*range(10, end, 37), end, end + 3, end + 7]:
        answer = form.post_body(kind, body[:cut])
        assert answer.status == 400, cut
        assert answer.json()["message"] in (EARLY, MALFORMED), cut
    not_delivered(form, to)
    queued_id(form.post_body(kind, body[: end + 8]))


def test_too_many_fields(form, fields):
    answer = form.post({**fields, "x": [""] * 4001})
    check_refused(answer, 400, re.compile("too many form fields.*"))


@pytest.mark.parametrize(
    "kind", [None, "application/json", "text/plain", "multipart/mixed; boundary=f0rm"]
)
@pytest.mark.parametrize("body", [b"", b'{"from": "hello@example.com"}'])
def test_other_media_types(form, kind, body):
    """Are named, with those that are taken; a request with nothing in it lacks
    the first field."""
    message = OTHER_TYPE.format(kind or "") if kind or body else NO_FROM
    check_refused(form.post_body(kind, body), 400, message)


def test_order_of_checks(box, fields):
    """A request with everything wrong, one thing after another made right."""
    form = FormClient(box, domain="unknown.example")
    kind, broken = multipart({})[0], b"broken"
    forbidden = basic("api", "ps_wrong")
    check_forbidden(form.post_body(kind, broken, authorization=forbidden))
    answer = form.post_body(kind, broken)
    check_refused(answer, 404, "Domain not found: unknown.example")

    form = FormClient(box)
    check_refused(form.post_body(kind, broken), 400, EARLY)
    wrong = {"cc": "nonsense", "bcc": "nonsense", "h:Ü": "x", "template": "x"}

    def check(message, **fixed):
        wrong.update(fixed)
        check_refused(form.post(wrong), 400, message)

    check(NO_FROM)
    check(NO_TO, **{"from": "nonsense"})
    check(NOT_VALID.format("from"), to="nonsense")
    check(NOT_VALID.format("to"), **{"from": "hello@example.com"})
    check(NOT_VALID.format("cc"), to=fields["to"])
    check(NOT_VALID.format("bcc"), cc="")
    check(re.compile("template .*not supported yet"), bcc="")
    del wrong["template"]
    check(NO_BODY)
    check("Header name must be pure ASCII: Ü", text="x", template="x")
    del wrong["h:Ü"]
    check_refused(form.post(wrong), 400, re.compile("template .*not supported yet"))
    del wrong["template"]
    queued_id(form.post(wrong))


@pytest.mark.parametrize("sender", ["a@other.test", "A <a@OTHER.test>"])
def test_from_of_another_domain(form, fields, sender):
    """Comes before the check of the body, being one of addresses."""
    fields.update({"from": sender, "text": ""})
    check_refused(
        form.post(fields),
        400,
        "from domain other.test does not match the sending domain example.com",
    )


@pytest.fixture(scope="module")
def small_form():
    """A server that takes messages of one MiB."""
    with Sandbox("--set", "http.max_message_bytes=1M") as box:
        yield FormClient(box)


REQUEST_SIZE = re.compile(r"request size exceeds 2 MiB limit.*")
MESSAGE_SIZE = re.compile(r"message size exceeds 1 MiB limit.*")


@pytest.mark.parametrize("path", ["messages", "messages.mime"])
def test_request_too_large(small_form, path):
    """The answer arrives although the client is still sending."""
    answer = small_form.post_body(multipart({})[0], bytes(8 << 20), path=path)
    check_refused(answer, 413, REQUEST_SIZE)


def test_chunked_request_too_large(small_form):
    form = small_form
    head = form.head("Transfer-Encoding: chunked", f"Content-Type: {multipart({})[0]}")
    chunks = b"".join(b"10000\r\n" + bytes(1 << 16) + b"\r\n" for _ in range(64))
    check_refused(form.exchange(head + chunks), 413, REQUEST_SIZE)


@pytest.mark.parametrize("what", ["text", "html", "attachment"])
def test_message_too_large(small_form, fields, what):
    big = b"x" * 1_060_000
    fields[what] = File("a", big) if what == "attachment" else big
    check_refused(small_form.post(fields), 413, MESSAGE_SIZE)
    assert not small_form.box.sink.now(to=fields["to"])


def test_finished_message_too_large(small_form, to):
    message = b"From: hello@example.com\n\n" + b"xxxxxxxx\n" * 120_000
    fields = {"to": to, "message": File("m", message)}
    answer = small_form.post(fields, path="messages.mime")
    check_refused(answer, 413, MESSAGE_SIZE)


def test_server_goes_on(small_form, fields):
    small_form.deliver(fields)
