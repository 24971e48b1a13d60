"""What POST /emails refuses, with which answer; nothing of it is sent."""

import pytest
from harness.form import in_turn
from harness.httpd import check_problem

GOOD = {"from": "hello@example.com", "to": "refused@dst.test", "text": "x"}
FORMAT = "needs to follow the `email@example.com` or `Name <email@example.com>`"


def without(*names):
    return {k: v for k, v in GOOD.items() if k not in names}


MISSING = "missing_required_field"
INVALID = "validation_error"

REFUSED = {
    "no from": (without("from"), MISSING, "Missing `from` field."),
    "from null": ({**GOOD, "from": None}, MISSING, "Missing `from` field."),
    "from empty": ({**GOOD, "from": ""}, MISSING, "Missing `from` field."),
    "no to": (without("to"), MISSING, "Missing `to` field."),
    "to null": ({**GOOD, "to": None}, MISSING, "Missing `to` field."),
    "to empty": ({**GOOD, "to": []}, MISSING, "Missing `to` field."),
    "no content": (without("text"), MISSING, "Missing `html` or `text` field."),
    "content empty": (
        {**GOOD, "text": "", "html": None},
        MISSING,
        "Missing `html` or `text` field.",
    ),
    "nothing": ({}, MISSING, "Missing `from` field."),
    "from number": ({**GOOD, "from": 5}, INVALID, "`from`"),
    "from list": ({**GOOD, "from": ["a@example.com"]}, INVALID, "`from`"),
    "from object": ({**GOOD, "from": {"a": 1}}, INVALID, "`from`"),
    "to number": ({**GOOD, "to": 5}, INVALID, "`to`"),
    "to object": ({**GOOD, "to": {"a": 1}}, INVALID, "`to`"),
    "to list of numbers": ({**GOOD, "to": ["refused@dst.test", 5]}, INVALID, "`to[1]`"),
    "to list with null": ({**GOOD, "to": ["refused@dst.test", None]}, INVALID, "`to[1]`"),
    "to list in list": ({**GOOD, "to": [["refused@dst.test"]]}, INVALID, "`to[0]`"),
    "cc number": ({**GOOD, "cc": 5}, INVALID, "`cc`"),
    "bcc object": ({**GOOD, "bcc": {"a": 1}}, INVALID, "`bcc`"),
    "reply_to true": ({**GOOD, "reply_to": True}, INVALID, "`reply_to`"),
    "subject number": ({**GOOD, "subject": 5}, INVALID, "`subject`"),
    "html list": ({**GOOD, "html": ["x"]}, INVALID, "`html`"),
    "text number": ({**GOOD, "text": 5}, INVALID, "`text`"),
    "headers list": ({**GOOD, "headers": ["x"]}, INVALID, "`headers`"),
    "headers text": ({**GOOD, "headers": "x"}, INVALID, "`headers`"),
    "header number": ({**GOOD, "headers": {"X-A": 5}}, INVALID, "headers.X-A"),
    "header null": ({**GOOD, "headers": {"X-A": None}}, INVALID, "headers.X-A"),
    "header name empty": ({**GOOD, "headers": {"": "x"}}, INVALID, "header name"),
    "header name blank": ({**GOOD, "headers": {"X A": "x"}}, INVALID, "header name"),
    "header name colon": ({**GOOD, "headers": {"X:A": "x"}}, INVALID, "header name"),
    "header name break": ({**GOOD, "headers": {"X\nA": "x"}}, INVALID, "header name"),
    "header name utf-8": ({**GOOD, "headers": {"X-ü": "x"}}, INVALID, "header name"),
    "header name long": (
        {**GOOD, "headers": {"X" * 200: "x"}},
        INVALID,
        "header name",
    ),
    "scheduled in words": ({**GOOD, "scheduled_at": "tomorrow"}, INVALID, "scheduled_at"),
    "scheduled in the past": (
        {**GOOD, "scheduled_at": "2020-01-01T00:00:00Z"}, INVALID, "scheduled_at"),
    "scheduled too late": ({**GOOD, "scheduled_at": "in 31 days"}, INVALID, "scheduled_at"),
    "scheduled by a number": ({**GOOD, "scheduled_at": 5}, INVALID, "scheduled_at"),
    "scheduled ago": ({**GOOD, "scheduled_at": "2h"}, INVALID, "scheduled_at"),
    "template": ({**GOOD, "template": {"id": "x"}}, INVALID, "not supported"),
    "topic_id": ({**GOOD, "topic_id": "x"}, INVALID, "not supported"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(httpd, case):
    email, name, message = REFUSED[case]
    check_problem(httpd.post(email), 422, name, message)


BAD_ADDRESSES = [
    "nobody",
    "@example.com",
    "a@",
    "a@b@example.com",
    "a b@example.com",
    "a@exa mple.com",
    ".a@example.com",
    "a.@example.com",
    "a..b@example.com",
    "a@example..com",
    "a@-example.com",
    "a@localhost",
    "a@[127.0.0.1]",
    "<a@example.com",
    "a@example.com>",
    "A <a@example.com> trailing",
    "A <a@example.com>, B <b@example.com>",
    "a@example.com, b@example.com",
    "a@example.com,",
    "x" * 65 + "@example.com",
    "a@" + "x" * 64 + ".com",
    "a@" + ".".join(["x" * 60] * 5) + ".com",
]


@in_turn("address", BAD_ADDRESSES, field=["from", "to", "cc", "bcc", "reply_to"])
def test_bad_address(httpd, field, address):
    answer = httpd.post({**GOOD, field: address})
    check_problem(answer, 422, INVALID, f"Invalid `{field}` field.")
    assert FORMAT in answer.json()["message"]


@pytest.mark.parametrize("field", ["to", "cc", "bcc", "reply_to"])
def test_bad_address_among_good_ones(httpd, field):
    email = {**GOOD, field: ["refused@dst.test", "bad", "b@dst.test"]}
    answer = httpd.post(email)
    check_problem(answer, 422, INVALID, f"Invalid `{field}` field.")
    assert "bad" in answer.json()["message"]


@in_turn(
    "field",
    ["from", "to", "cc", "bcc", "reply_to", "subject", "headers"] * 2,
    evil=["\r\nBcc: v@dst.test", "\n", "\r", "\0", "\x01"],
)
def test_control_characters_in_header_fields(httpd, field, evil):
    value = {
        "subject": f"Hello{evil}",
        "headers": {"X-A": f"x{evil}"},
    }.get(field, f"Ann{evil} <a@example.com>")
    answer = httpd.post({**GOOD, field: value})
    check_problem(answer, 422, INVALID, field)


def post_raw(httpd, body, content_type="application/json"):
    headers = {"Content-Type": content_type} if content_type else {}
    return httpd.request("POST", "/emails", data=body, headers=headers)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"{} x",
        b"nonsense",
        b'{"from": "a@example.com",}',
        b"{'from': 1}",
        b'{"a": 1, "a": 2}',
        b'{"headers": {"X-A": "1", "X-A": "2"}}',
        b'{"text": "\xff"}',
        b'{"text": "\xed\xa0\x80"}',
        b'{"text": "\\ud800"}',
        b'{"text": "line\nbreak"}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
    ],
    ids=lambda body: repr(body[:20]),
)
def test_malformed_json(httpd, body):
    answer = post_raw(httpd, body)
    check_problem(answer, 400, INVALID)
    if body:
        message = answer.json()["message"]
        assert "line" in message and "column" in message


@pytest.mark.parametrize("body", [b"[]", b"5", b"null", b'"x"', b"true"])
def test_json_but_no_object(httpd, body):
    answer = post_raw(httpd, body)
    assert answer.status_code in (400, 422)
    check_problem(answer, answer.status_code, INVALID)


@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonx",
        "application/json-patch+json",
    ],
)
def test_not_json(httpd, content_type):
    """The answer names the media type that is wanted, and the one that came."""
    said = f"The Content-Type must be application/json, not {content_type}."
    check_problem(post_raw(httpd, b"{}", content_type), 415, INVALID, said)


def test_no_media_type(httpd):
    said = "The Content-Type must be application/json."
    check_problem(post_raw(httpd, b"{}", None), 415, INVALID, said)


@pytest.mark.parametrize("coding", ["gzip", "br", "deflate, gzip"])
def test_encoded_body(httpd, email, coding):
    """The body is refused, whatever it is, not read as if it were not encoded."""
    answer = httpd.post(email, headers={"Content-Encoding": coding})
    said = f"Content-Encoding {coding} is not supported"
    check_problem(answer, 415, INVALID, said)


def test_body_encoded_as_identity(httpd, email):
    headers = {"Content-Encoding": "Identity"}
    assert httpd.post(email, headers=headers).status_code == 200


@pytest.mark.parametrize(
    "content_type",
    ["application/json; charset=utf-8", "Application/JSON", "application/json ;x=y"],
)
def test_json_by_other_spellings(httpd, content_type):
    answer = post_raw(httpd, b"{}", content_type)
    check_problem(answer, 422, MISSING)


@pytest.mark.parametrize(
    "method, path",
    [
        ("GET", "/"),
        ("GET", "/emailsx"),
        ("POST", "/emails/"),
        ("POST", "/email"),
        ("GET", "/emails/x/y"),
        ("POST", "//emails"),
        ("GET", "/..%2f..%2fetc/passwd"),
        ("DELETE", "/nothing"),
        ("OPTIONS", "/nothing"),
    ],
)
def test_unknown_route(httpd, method, path):
    answer = httpd.request(method, path)
    check_problem(
        answer, 404, "not_found", "The requested endpoint does not exist."
    )


ID = "3c0d6a52-6c7b-4a0a-9b1c-2b5b7f5a8f11"


@pytest.mark.parametrize(
    "method, path, allowed",
    [
        ("PUT", "/emails", "POST"),
        ("DELETE", "/emails", "POST"),
        ("PATCH", "/emails", "POST"),
        ("OPTIONS", "/emails", "POST"),
        ("POST", f"/emails/{ID}", "GET"),
        ("PUT", f"/emails/{ID}", "GET"),
        ("DELETE", f"/emails/{ID}", "GET"),
        ("OPTIONS", f"/emails/{ID}", "GET"),
    ],
)
def test_wrong_method(httpd, method, path, allowed):
    answer = httpd.request(method, path, json={})
    check_problem(
        answer,
        405,
        "method_not_allowed",
        "Method is not allowed for the requested path.",
    )
    assert allowed in answer.headers["Allow"].split(", ")


def test_nothing_refused_was_delivered(box, httpd, email, to):
    """Runs after the others: what they sent would have come before this."""
    httpd.send(email)
    box.sink.find(to=to)
    assert not box.sink.now(to="refused@dst.test")
    assert not box.sink.now(to="v@dst.test")
