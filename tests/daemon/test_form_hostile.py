"""The form dialect: what nobody sends but to do harm."""

import json
import re

import pytest
from harness import File, FormClient, Sandbox
from harness.form import (
    check_refused,
    join,
    multipart,
    part,
    parts,
    queued_id,
    urlencoded,
)
from harness.sandbox import unique

MIB = 1 << 20
BUDGET = 16 * MIB


@pytest.fixture(scope="module")
def small_form():
    """A server with little memory to give, which it must not exceed."""
    with Sandbox(
        "--postconf", "message_size_limit=60000000",
        "--set", f"http.max_inflight_bytes={BUDGET}",
    ) as box:
        yield FormClient(box)


def check_memory(box):
    with open(f"/proc/{box.pid('httpd')}/status") as file:
        status = file.read()
    size, peak = (
        int(re.search(rf"{name}:\s*(\d+)", status).group(1)) << 10
        for name in ("VmSize", "VmHWM")
    )
    # A sanitizer, which keeps what is freed, has terabytes of address space.
    assert peak <= BUDGET + 64 * MIB or size > 1 << 40


BYTES = {
    "not UTF-8": b"\xff",
    "cut": b"x\xc3",
    "surrogate": b"\xed\xa0\x80",
    "long, cut in the middle": "aé".encode() * 300,
    "long, cut elsewhere": "éa".encode() * 300,
    "controls": b"\x01\x02\x7f",
    "quotes": b'"\\',
}


@pytest.mark.parametrize(
    "name", ["from", "to", "cc", "subject", "text", "recipient-variables"]
)
@pytest.mark.parametrize("case", BYTES)
def test_bytes_in_values(form, fields, to, case, name):
    """An answer is JSON, whatever it says about them."""
    answer = form.post({**fields, "o:testmode": "yes", name: BYTES[case]})
    if answer.status != 200:
        check_refused(answer, 400, re.compile(".+", re.S))


@pytest.mark.parametrize("prefix", ["h:", "o:", "v:", "t:", "template", "", "to["])
@pytest.mark.parametrize("case", BYTES)
def test_bytes_in_names(form, fields, case, prefix):
    name = prefix.encode() + BYTES[case]
    body = join([*parts({**fields, "o:testmode": "yes"}), part(b"name=" + name, "x")])
    answer = form.post_body(multipart({})[0], body)
    if answer.status != 200:
        check_refused(answer, 400, re.compile(".+", re.S))
    quoted = "".join(f"%{c:02x}" for c in name)
    body = urlencoded(fields)[1] + f"&o:testmode=yes&{quoted}=x".encode()
    answer = form.post_body(urlencoded({})[0], body)
    if answer.status != 200:
        check_refused(answer, 400, re.compile(".+", re.S))


@pytest.mark.parametrize("case", BYTES)
def test_bytes_in_file_names(form, fields, to, case):
    """The file arrives, under some name."""
    disposition = b"name=attachment; filename=x" + BYTES[case]
    body = join([*parts(fields), part(disposition, b"\0data")])
    answer = form.post_body(multipart({})[0], body)
    if answer.status == 200:
        mail = form.box.sink.find(message_id=queued_id(answer))
        assert [data for *_, data in mail.attachments()] == [b"\0data"]
    else:
        check_refused(answer, 400, re.compile(".*attachment.*", re.S))


@pytest.mark.parametrize("case", BYTES)
def test_bytes_in_types_of_files(form, fields, case):
    line = b"Content-Type: image/" + BYTES[case]
    some = [*parts(fields), part("name=attachment; filename=a.png", b"x")]
    some[-1] = some[-1].replace(b"\r\n\r\n", b"\r\n" + line + b"\r\n\r\n", 1)
    answer = form.post_parts(some)
    if answer.status == 200:
        mail = form.box.sink.find(message_id=queued_id(answer))
        assert [a[0] for a in mail.attachments()] == ["a.png"]
    else:
        check_refused(answer, 400, re.compile(".*attachment.*", re.S))


@pytest.mark.parametrize(
    "domain",
    ["%FF", "%C3", "x%01.test", "%22%5C", "%C3%A9" * 40],
    ids=["not UTF-8", "cut", "control", "quotes", "long"],
)
def test_bytes_in_the_domain(box, fields, domain):
    answer = FormClient(box, domain=domain).post(fields)
    check_refused(answer, 404, re.compile("Domain not found: .+", re.S))


@pytest.mark.parametrize(
    "value",
    ["\xff", "\xc3", "x\xe9" * 300, '"'],
    ids=["not UTF-8", "cut", "long", "quote"],
)
@pytest.mark.parametrize("name", ["Content-Type", "Content-Encoding"])
def test_bytes_in_fields_of_the_request(form, fields, name, value):
    for path in ("messages", "messages.mime"):
        answer = form.post_body(None, b"x", f"{name}: {value}", path=path)
        assert answer.status in (400, 415)
        check_refused(answer, answer.status, re.compile(".+", re.S))


MANY = 80_000


@pytest.mark.parametrize("name", ["to", "cc", "bcc"])
@pytest.mark.parametrize("repeated", [False, True], ids=["list", "fields"])
def test_many_recipients_are_refused_at_once(small_form, fields, name, repeated):
    """Not after each was compared with all the others."""
    people = [f"{n}@b.cd" for n in range(MANY)]
    if repeated:
        people = [",".join(people[i::3000]) for i in range(3000)]
    fields[name] = people if repeated else ",".join(people)
    answer = small_form.post(fields)
    check_refused(answer, 400, "Too many recipients, max is 1000")


def test_many_recipients_of_a_finished_message(small_form):
    fields = {
        "to": ",".join(f"{n}@b.cd" for n in range(MANY)),
        "message": File("m", b"From: hello@example.com\n\nx\n"),
    }
    answer = small_form.post(fields, path="messages.mime")
    check_refused(answer, 400, "Too many recipients, max is 1000")


def test_many_duplicates(small_form, fields):
    """A thousand people eighty times."""
    fields["to"] = ",".join(f"{n % 1000}@b.cd" for n in range(MANY))
    message_id = small_form.send({**fields, "o:testmode": "yes"})
    assert len(small_form.read(message_id)["to"]) == 1000


def test_many_reply_addresses(small_form, fields):
    """They are kept all, or refused."""
    people = [f"{n}@b.cd" for n in range(1001)]
    fields["o:testmode"] = "yes"
    fields["h:Reply-To"] = ",".join(people[:-1])
    assert small_form.read(small_form.send(fields))["reply_to"] == people[:-1]
    fields["h:Reply-To"] = ",".join(people)
    message = "Too many addresses in h:Reply-To, max is 1000"
    check_refused(small_form.post(fields), 400, message)


# Made when they are sent: every process of pytest reads this file.
JSON_TEXTS = {
    "numbers": lambda: '{"a":[' + "0," * 2_000_000 + "0]}",
    "strings": lambda: '{"a":[' + '"",' * 1_500_000 + "0]}",
    "objects": lambda: '{"a":[' + "{}," * 1_500_000 + "0]}",
    "lists": lambda: '{"a":[' + "[]," * 1_500_000 + "0]}",
    "keys": lambda: "{" + "".join(f'"{n}":0,' for n in range(400_000)) + '"x":0}',
    "depth": lambda: '{"a":' + "[" * 4_000_000,
    "escapes": lambda: '{"a":"' + r"\u20ac" * 800_000 + '"}',
}


@pytest.mark.parametrize("case", JSON_TEXTS)
@pytest.mark.plain
def test_recipient_variables_that_swell(small_form, fields, case):
    """What they become in memory counts, as what is on the wire."""
    fields.update({"recipient-variables": JSON_TEXTS[case](), "o:testmode": "yes"})
    answer = small_form.post(fields)
    assert answer.status in (200, 400, 413), answer.body
    check_memory(small_form.box)


VARIABLES = {
    "value in a long text": ("x" * 1000, "%recipient.a%" * 5000, 3),
    "value in a long text of each": ("x" * 1000, "%recipient.a%" * 500, 200),
    "open variables": ("x", "%recipient." * 300_000, 1),
    "percent signs": ("x", "%" * 3_000_000, 1),
    "macros": ("x", "%unsubscribe_url%" * 200_000, 1),
}


@pytest.mark.parametrize("case", VARIABLES)
@pytest.mark.plain
def test_texts_that_swell(small_form, fields, case):
    """A megabyte that becomes a hundred, and time that is not squared."""
    value, text, n = VARIABLES[case]
    people = [unique("to") + "@dst.test" for _ in range(n)]
    fields.update(
        {
            "to": people,
            "text": text,
            "recipient-variables": json.dumps({p: {"a": value} for p in people}),
            "o:testmode": "yes",
        }
    )
    answer = small_form.post(fields)
    assert answer.status in (200, 413), answer.body
    check_memory(small_form.box)


PARTS = {
    "fields": [part("name=x", "")] * 100_000,
    "headers": [part("name=x", "", *["X-A: b"] * 2000)] * 300,
    "mixed": [
        part(
            "name=attachment",
            "--i\r\n\r\n" * 500_000,
            "Content-Type: multipart/mixed; boundary=i",
        )
    ],
    "delimiters": [part("name=x", "\r\n--f0rmx" * 400_000)],
}


@pytest.mark.parametrize("case", PARTS)
@pytest.mark.plain
def test_parts_that_swell(small_form, fields, case):
    answer = small_form.post_parts([*parts(fields), *PARTS[case]])
    assert answer.status in (200, 400, 413), answer.body
    check_memory(small_form.box)


@pytest.mark.parametrize(
    "html",
    ["<b>" * 200_000, "<p>x" * 250_000, "&amp;" * 200_000, "<" * 1_000_000],
    ids=["depth", "elements", "entities", "brackets"],
)
@pytest.mark.plain
def test_html_that_swells(small_form, fields, html):
    fields.update({"html": html, "o:testmode": "yes", "text": []})
    answer = small_form.post(fields)
    assert answer.status in (200, 413), answer.body
    check_memory(small_form.box)


def test_server_goes_on(small_form, fields):
    small_form.deliver(fields)
