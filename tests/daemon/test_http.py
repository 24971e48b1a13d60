"""HTTP itself: what postern-httpd takes and refuses on a raw connection."""

import fcntl
import json
import socket
import struct
import termios
import threading

import pytest
from harness.sandbox import unique

UNKNOWN_ID = "3c0d6a52-6c7b-4a0a-9b1c-2b5b7f5a8f11"


def body_for(to):
    return json.dumps(
        {"from": "hello@example.com", "to": to, "text": "Hello"}
    ).encode()


def head(httpd, line, *fields, host=True, key=True):
    lines = [line]
    if host:
        lines.append(f"Host: {httpd.host}")
    if key:
        lines.append(f"Authorization: Bearer {httpd.key}")
    return "\r\n".join([*lines, *fields, "", ""]).encode("latin-1")


def post_head(httpd, *fields, **options):
    return head(
        httpd, "POST /emails HTTP/1.1", "Content-Type: application/json", *fields, **options
    )


def get_head(httpd, *fields, **options):
    return head(httpd, f"GET /emails/{UNKNOWN_ID} HTTP/1.1", *fields, **options)


def exchange(httpd, data):
    """Sends on a connection of its own; the one answer."""
    with httpd.raw() as raw:
        raw.send(data)
        return raw.answer()


def check(answer, status, name="validation_error"):
    assert answer.status == status, answer.body
    assert answer.headers["content-type"] == "application/json; charset=utf-8"
    problem = answer.json()
    assert set(problem) == {"statusCode", "message", "name"}
    assert (problem["statusCode"], problem["name"]) == (status, name)


def chunked(*parts):
    return b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in parts) + b"0\r\n\r\n"


REFUSED = {
    "two lengths that differ": (400, ["Content-Length: 2", "Content-Length: 3"]),
    "two lengths alike": (400, ["Content-Length: 2", "Content-Length: 2"]),
    "a list of lengths": (400, ["Content-Length: 2, 2"]),
    "negative length": (400, ["Content-Length: -1"]),
    "signed length": (400, ["Content-Length: +2"]),
    "hexadecimal length": (400, ["Content-Length: 0x2"]),
    "empty length": (400, ["Content-Length:"]),
    "endless length": (400, ["Content-Length: 99999999999999999999"]),
    "length and coding": (
        400,
        ["Content-Length: 2", "Transfer-Encoding: chunked"],
    ),
    "other coding": (501, ["Transfer-Encoding: gzip"]),
    "two codings": (501, ["Transfer-Encoding: gzip, chunked"]),
    "coding twice": (
        501,
        ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
    ),
    "blank before the colon": (400, ["Content-Length : 2"]),
    "folded field": (400, ["X-A: 1", " 2"]),
    "field without colon": (400, ["nonsense"]),
    "field without name": (400, [": x"]),
    "control character": (400, ["X-A: \x01"]),
    "bare CR": (400, ["X-A: a\rb"]),
    "second host": (400, ["Host: other.test"]),
    "other expectation": (417, ["Expect: magic", "Content-Length: 2"]),
    "too many fields": (431, [f"X-{n}: x" for n in range(200)]),
    "too large": (431, ["X-A: " + "x" * 100_000]),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_head(httpd, case):
    status, fields = REFUSED[case]
    with httpd.raw() as raw:
        raw.send(post_head(httpd, *fields))
        check(raw.answer(), status)
        assert raw.is_closed()


@pytest.mark.parametrize(
    "line, status",
    [
        ("GET", 400),
        ("GET /emails/x", 400),
        ("GET  /emails/x HTTP/1.1", 400),
        ("GET /emails/x  HTTP/1.1", 400),
        ("GET /emails/x y HTTP/1.1", 400),
        ("GET emails/x HTTP/1.1", 400),
        ("GET /emails/x http/1.1", 400),
        ("GET /emails/x HTTP/1.1x", 400),
        ("G@T /emails/x HTTP/1.1", 400),
        ("GET /emails/\x80 HTTP/1.1", 400),
        ("GET /emails/x HTTP/2.0", 505),
        ("GET /emails/x HTTP/0.9", 505),
    ],
)
def test_refused_request_line(httpd, line, status):
    check(exchange(httpd, head(httpd, line)), status)


@pytest.mark.parametrize("host", ["a b", "a/b", "u@a", "a:b", "a:65536", "[::x]", "a<b>"])
def test_malformed_host(httpd, host):
    """RFC 9112 3.2."""
    check(exchange(httpd, get_head(httpd, f"Host: {host}", host=False)), 400)


def test_no_host(httpd):
    check(exchange(httpd, get_head(httpd, host=False)), 400)


def test_http_1_0_needs_no_host_and_closes(httpd):
    line = f"GET /emails/{UNKNOWN_ID} HTTP/1.0"
    with httpd.raw() as raw:
        raw.send(head(httpd, line, host=False))
        check(raw.answer(), 404, "not_found")
        assert raw.is_closed()


@pytest.mark.parametrize("at", ["first line", "field", "end"])
def test_bare_lf(httpd, at):
    data = get_head(httpd)
    if at == "first line":
        data = data.replace(b"\r\n", b"\n", 1)
    elif at == "field":
        data = data.replace(b"\r\nAuth", b"\nAuth", 1)
    else:
        data = data[:-2] + b"\n"
    check(exchange(httpd, data), 400)


def test_tls_on_the_plain_port(httpd):
    with httpd.raw() as raw:
        raw.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\n" * 50)
        check(raw.answer(), 400)


@pytest.mark.parametrize(
    "split",
    [lambda b: [b], lambda b: [b[:1], b[1:]], lambda b: [bytes([c]) for c in b]],
    ids=["whole", "two", "single bytes"],
)
def test_chunked_body(box, httpd, to, split):
    data = post_head(httpd, "Transfer-Encoding: chunked")
    answer = exchange(httpd, data + chunked(*split(body_for(to))))
    assert answer.status == 200, answer.body
    assert box.sink.find(to=to)


@pytest.mark.parametrize(
    "extension, trailer",
    [(b"", b"X-Trailer: x\r\n"), (b";name=value", b""), (b" ; name", b"")],
)
def test_chunk_extension_and_trailer(box, httpd, to, extension, trailer):
    body = body_for(to)
    answer = exchange(
        httpd,
        post_head(httpd, "Transfer-Encoding: chunked")
        + b"%x%s\r\n%s\r\n0\r\n%s\r\n" % (len(body), extension, body, trailer),
    )
    assert answer.status == 200, answer.body
    assert box.sink.find(to=to)


@pytest.mark.parametrize(
    "chunks",
    [
        b"x\r\n{}\r\n0\r\n\r\n",
        b"-2\r\n{}\r\n0\r\n\r\n",
        b"0x2\r\n{}\r\n0\r\n\r\n",
        b"2\n{}\r\n0\r\n\r\n",
        b"2\r\n{}0\r\n\r\n",
        b"2\r\n{}xx\r\n0\r\n\r\n",
        b"fffffffffffffffffff\r\n{}",
        b"2;" + b"x" * 20_000 + b"\r\n{}\r\n0\r\n\r\n",
    ],
    ids=lambda chunks: repr(chunks[:16]),
)
def test_malformed_chunks(httpd, chunks):
    answer = exchange(httpd, post_head(httpd, "Transfer-Encoding: chunked") + chunks)
    check(answer, 400)


def test_expect_continue(box, httpd, to):
    body = body_for(to)
    with httpd.raw() as raw:
        raw.send(
            post_head(httpd, "Expect: 100-continue", f"Content-Length: {len(body)}")
        )
        assert raw.answer().status == 100
        raw.send(body)
        assert raw.answer().status == 200
    assert box.sink.find(to=to)


def test_expect_continue_refused_at_once(httpd):
    """Without a key nobody is asked to send a body."""
    with httpd.raw() as raw:
        raw.send(
            post_head(httpd, "Expect: 100-continue", "Content-Length: 100", key=False)
        )
        check(raw.answer(), 401, "missing_api_key")


@pytest.mark.parametrize(
    "fields, body",
    [
        (["Content-Length: 2"], b"{}"),
        (["Content-Type: application/json", "Content-Length: 2"], b"{}"),
        (["Content-Type: application/json"], b""),
        (["Content-Length: 0"], b""),
        (["Transfer-Encoding: chunked"], b"2\r\n{}\r\n0\r\n\r\n"),
    ],
)
def test_get_with_a_body(httpd, fields, body):
    """Some clients send one; the next request must not suffer."""
    with httpd.raw() as raw:
        for _ in range(2):
            raw.send(get_head(httpd, *fields) + body)
            check(raw.answer(), 404, "not_found")


def test_keep_alive(box, httpd, to):
    body = body_for(to)
    with httpd.raw() as raw:
        for status in (404, 200, 404):
            if status == 404:
                raw.send(get_head(httpd))
            else:
                raw.send(post_head(httpd, f"Content-Length: {len(body)}") + body)
            assert raw.answer().status == status
    assert box.sink.find(to=to)


def test_connection_close(httpd):
    with httpd.raw() as raw:
        raw.send(get_head(httpd, "Connection: close"))
        assert raw.answer().status == 404
        assert raw.is_closed()


def test_small_refusals_keep_the_connection(httpd):
    with httpd.raw() as raw:
        for _ in range(3):
            raw.send(post_head(httpd, "Content-Length: 2", key=False) + b"{}")
            check(raw.answer(), 401, "missing_api_key")


def test_pipelining(box, httpd):
    """Answers come in the order of the requests."""
    people = [unique("to") + "@dst.test" for _ in range(4)]
    data = b""
    for to in people:
        body = body_for(to)
        data += post_head(httpd, f"Content-Length: {len(body)}") + body
        data += get_head(httpd)
    with httpd.raw() as raw:
        raw.send(data)
        statuses = [raw.answer().status for _ in range(8)]
    assert statuses == [200, 404] * 4
    for to in people:
        assert box.sink.find(to=to)


@pytest.mark.parametrize("pieces", [[b"\r\n"], [b"\r\n\r\n"], [b"\r", b"\n"]], ids=repr)
def test_empty_lines_before_a_request(box, httpd, to, pieces):
    """RFC 9112 2.2. Some clients send one after a body."""
    body = body_for(to)
    with httpd.raw() as raw:
        raw.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in [*pieces, post_head(httpd, f"Content-Length: {len(body)}") + body, *pieces]:
            raw.send(piece)
            wait_until_taken(raw)
        assert raw.answer().status == 200
        for piece in [*pieces, get_head(httpd) + b"".join(pieces) + get_head(httpd)]:
            raw.send(piece)
            wait_until_taken(raw)
        assert [raw.answer().status for _ in range(2)] == [404, 404]
    assert box.sink.find(to=to)


@pytest.mark.parametrize("coding", ["length", "one chunk", "many chunks"])
def test_large_body(box, httpd, to, coding):
    """Larger than what the server reads ahead."""
    email = json.loads(body_for(to))
    body = json.dumps({**email, "html": "<p>" + "x" * 3_000_000}).encode()
    if coding == "length":
        data = post_head(httpd, f"Content-Length: {len(body)}") + body
    else:
        size = len(body) if coding == "one chunk" else 5000
        parts = [body[i : i + size] for i in range(0, len(body), size)]
        data = post_head(httpd, "Transfer-Encoding: chunked") + chunked(*parts)
    with httpd.raw() as raw:
        raw.send(data)
        assert raw.answer().status == 200
        raw.send(get_head(httpd))
        assert raw.answer().status == 404
    assert box.sink.find(to=to)


def test_one_byte_at_a_time(box, httpd, to):
    body = body_for(to)
    with httpd.raw() as raw:
        for byte in post_head(httpd, f"Content-Length: {len(body)}") + body:
            raw.send(bytes([byte]))
        assert raw.answer().status == 200
    assert box.sink.find(to=to)


def test_head_request(httpd):
    line = f"HEAD /emails/{UNKNOWN_ID} HTTP/1.1"
    with httpd.raw() as raw:
        raw.send(head(httpd, line))
        assert raw.answer(head_only=True).status == 405
        raw.send(get_head(httpd))
        assert raw.answer().status == 404


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/openapi.json"])
def test_head_of_what_monitors_ask(httpd, path):
    """As GET, without the body."""
    answers = [httpd.session.request(m, httpd.url + path, timeout=180) for m in ("GET", "HEAD")]
    same = [(a.status_code, a.headers["Content-Length"], a.headers["Content-Type"]) for a in answers]
    assert same[0] == same[1] and same[0][0] == 200
    assert answers[0].content and not answers[1].content


def test_client_that_goes_away(box, httpd, to):
    """A body that never ends is no email; the server goes on."""
    body = body_for(to)
    with httpd.raw() as raw:
        raw.send(post_head(httpd, f"Content-Length: {len(body) + 1}") + body)
    with httpd.raw() as raw:
        raw.send(post_head(httpd)[:40])
    assert exchange(httpd, get_head(httpd)).status == 404
    assert not box.sink.now(to=to)


def test_client_that_stops_sending_still_gets_its_answer(box, httpd, to):
    body = body_for(to)
    with httpd.raw() as raw:
        raw.send(post_head(httpd, f"Content-Length: {len(body)}") + body)
        assert raw.answer().status == 200
        raw.end_sending()
        assert raw.is_closed()
    assert box.sink.find(to=to)


def test_half_closed_pipeline(box, httpd):
    """What was asked before the end of the input is answered, all of it."""
    people = [unique("to") + "@dst.test" for _ in range(40)]
    raws = [httpd.raw() for _ in people]
    for raw, to in zip(raws, people):
        body = body_for(to)
        raw.send(
            get_head(httpd)
            + post_head(httpd, f"Content-Length: {len(body)}")
            + body
            + get_head(httpd)
        )
        raw.end_sending()
    for raw in raws:
        with raw:
            assert [raw.answer().status for _ in range(3)] == [404, 200, 404]
            assert raw.is_closed()
    for to in people:
        assert box.sink.find(to=to)


def chunked_with_trailer(body, trailer):
    return b"%x\r\n%s\r\n0\r\n%s\r\n" % (len(body), body, trailer)


def test_long_head_and_long_trailer(box, httpd, to):
    """Each has a bound of its own."""
    body = chunked_with_trailer(body_for(to), b"X-A: %s\r\n" % (b"x" * 3000))
    fields = ["Transfer-Encoding: chunked", "X-A: " + "x" * 31_500]
    check_logged(box, exchange(httpd, post_head(httpd, *fields) + body), 200)
    assert box.sink.find(to=to)


def test_trailer_is_no_header(httpd, to):
    """It can neither close the connection nor choose the mode of a batch."""
    trailer = b"Connection: close\r\nx-batch-validation: permissive\r\n"
    batch = b"[%s, {}]" % body_for(to)
    head = post_head(httpd, "Transfer-Encoding: chunked")
    head = head.replace(b"/emails", b"/emails/batch", 1)
    with httpd.raw() as raw:
        for _ in range(2):
            raw.send(head + chunked_with_trailer(batch, trailer))
            assert raw.answer().status == 422


def check_logged(box, answer, status):
    """One line of the log has the answer's id, and what became of it."""
    name = answer.headers["x-request-id"]
    lines = [x for x in box.log("httpd").splitlines() if f"request={name}" in x]
    assert [f"status={status}" in line for line in lines] == [True], lines
    assert answer.status == status
    if status >= 400:
        assert answer.headers["content-type"] == "application/json; charset=utf-8"
        assert answer.json()["statusCode"] == status


# The method, the target and the version; then fields and the bytes behind them.
ODD = {
    "absolute form": (404, "GET http://x.test/x HTTP/1.1"),
    "absolute form, another scheme": (400, "GET ftp://x.test/x HTTP/1.1"),
    "absolute form, root": (404, "GET http://x.test HTTP/1.1"),
    "absolute form, user": (400, "GET http://u@x.test/x HTTP/1.1"),
    "absolute form, no path": (400, "GET http:// HTTP/1.1"),
    "authority form": (400, "CONNECT x.test:443 HTTP/1.1"),
    "connect to a path": (404, "CONNECT /x HTTP/1.1"),
    "asterisk form": (400, "OPTIONS * HTTP/1.1"),
    "options": (405, "OPTIONS /emails HTTP/1.1"),
    "trace": (405, "TRACE /emails HTTP/1.1"),
    "trace with a body": (
        405,
        "TRACE /emails HTTP/1.1",
        ["Content-Length: 2"],
        b"{}",
    ),
    "lower case": (405, "post /emails HTTP/1.1"),
    "long method": (405, "X" * 5000 + " /emails HTTP/1.1"),
    "proxy preface": (400, "PROXY TCP4 127.0.0.1 127.0.0.1 1 2"),
    "http/2 preface": (400, "PRI * HTTP/2.0"),
    "upgrade": (404, "GET /x HTTP/1.1", ["Connection: Upgrade", "Upgrade: h2c"]),
    "websocket": (
        404,
        "GET /x HTTP/1.1",
        ["Upgrade: websocket", "Connection: upgrade"],
    ),
    "two slashes": (404, "GET //x/y HTTP/1.1"),
    "bracket": (404, "GET //[x HTTP/1.1"),
    "long path": (404, "GET /" + "x" * 32_000 + " HTTP/1.1"),
    "longer path": (431, "GET /" + "x" * 33_000 + " HTTP/1.1"),
    "long query": (404, "GET /x?" + "%41" * 10_000 + " HTTP/1.1"),
    "wrong percent": (404, "GET /%zz%0 HTTP/1.1"),
    "nul in the path": (404, "GET /%00 HTTP/1.1"),
    "fragment": (400, "GET /x#y HTTP/1.1"),
    "colon": (404, "GET /x:y HTTP/1.1"),
    "99 fields": (404, "GET /x HTTP/1.1", [f"X-{n}: x" for n in range(98)]),
    "101 fields": (431, "GET /x HTTP/1.1", [f"X-{n}: x" for n in range(100)]),
    "large fields": (404, "GET /x HTTP/1.1", ["X-A: " + "x" * 32_000]),
    "expect without a body": (404, "GET /x HTTP/1.1", ["Expect: 100-continue"]),
    "expect in 1.0": (
        404,
        "POST /x HTTP/1.0",
        ["Expect: 100-continue", "Content-Length: 2"],
        b"{}",
    ),
    "empty expect": (417, "POST /x HTTP/1.1", ["Expect:"]),
    "two expectations": (417, "POST /x HTTP/1.1", ["Expect: 100-continue, x"]),
    "http 1.2": (505, "GET /x HTTP/1.2"),
    "http 0.9": (400, "GET /x"),
    "chunked in 1.0": (
        501,
        "POST /x HTTP/1.0",
        ["Transfer-Encoding: chunked"],
        b"0\r\n\r\n",
    ),
    "empty coding": (501, "POST /x HTTP/1.1", ["Transfer-Encoding:"]),
    "empty line first": (404, "\r\nGET /x HTTP/1.1"),
}


def test_absolute_form(httpd):
    """RFC 9112 3.2.2. Of the fields of both, Host is ignored."""
    body = body_for(unique() + "@dst.test")
    fields = ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    with httpd.raw() as raw:
        raw.send(head(httpd, "POST http://api.test:81/emails?x HTTP/1.1", *fields) + body)
        email_id = raw.answer().json()["id"]
        raw.send(head(httpd, f"GET HTTP://[::1]/emails/{email_id} HTTP/1.1"))
        assert raw.answer().json()["id"] == email_id


REASONS = {
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    405: "Method Not Allowed",
    413: "Content Too Large",
    417: "Expectation Failed",
    422: "Unprocessable Content",
    431: "Request Header Fields Too Large",
    501: "Not Implemented",
    505: "HTTP Version Not Supported",
}


@pytest.mark.parametrize(
    "line, fields, body, status",
    [
        ("GET emails HTTP/1.1", [], b"", 400),
        ("POST /emails HTTP/1.1", ["Content-Type: application/json", "Content-Length: 1"], b"{", 400),
        ("POST /emails HTTP/1.1", ["Content-Type: application/json", "Content-Length: 2"], b"{}", 422),
        ("POST /emails HTTP/1.1", ["Content-Type: application/json", "Content-Length: 999999999"], b"", 413),
        ("GET /nothing HTTP/1.1", [], b"", 404),
        ("TRACE /emails HTTP/1.1", [], b"", 405),
        ("POST /x HTTP/1.1", ["Expect: magic"], b"", 417),
        ("GET /x HTTP/1.1", [f"X-{n}: x" for n in range(100)], b"", 431),
        ("POST /x HTTP/1.1", ["Transfer-Encoding: gzip"], b"", 501),
        ("GET /x HTTP/1.2", [], b"", 505),
    ],
)
def test_reason_phrase(httpd, line, fields, body, status):
    """As in RFC 9110 15 and RFC 6585, whether evhttp writes the status line or not."""
    with httpd.raw() as raw:
        raw.send(head(httpd, line, *fields) + body)
        answer = raw.answer()
    assert (answer.status, answer.reason) == (status, REASONS[status])


@pytest.mark.parametrize("path", ["/emails", "/emails/batch"])
def test_byte_order_mark(httpd, path):
    """RFC 8259 8.1: parsers may ignore it. Some programs of Windows write it."""
    email = body_for(unique() + "@dst.test")
    body = b"\xef\xbb\xbf" + (b"[%s]" % email if path.endswith("batch") else email)
    fields = ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    with httpd.raw() as raw:
        raw.send(head(httpd, f"POST {path} HTTP/1.1", *fields) + body)
        assert raw.answer().status == 200
        raw.send(head(httpd, f"POST {path} HTTP/1.1", fields[0], "Content-Length: 3") + body[:3])
        check(raw.answer(), 400)


@pytest.mark.parametrize("pieces", ["whole", "lines"])
@pytest.mark.parametrize("case", ODD)
def test_odd_request(box, httpd, case, pieces):
    """Every answer is JSON, and has one line in the log."""
    status, line, *rest = ODD[case]
    fields, body = (*rest, *([], b"")[len(rest) :])
    data = head(httpd, line, *fields) + body
    with httpd.raw() as raw:
        if pieces == "whole":
            raw.send(data)
        else:
            raw.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for piece in data.splitlines(keepends=True):
                raw.send(piece)
                wait_until_taken(raw)
        check_logged(box, raw.answer(), status)


def wait_until_taken(raw):
    """The other side's kernel has all; its program has most likely read it."""
    while struct.unpack("i", fcntl.ioctl(raw.socket, termios.TIOCOUTQ, b"\0" * 4))[0]:
        pass


@pytest.mark.parametrize(
    "said",
    [
        "GET /x\r\n",
        "GET /x HTTP/1.1\r\nHost: x\r\n",
        "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{",
        "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n",
    ],
)
def test_request_that_is_cut_off(box, httpd, said):
    with httpd.raw() as raw:
        raw.send(said.encode())
        raw.end_sending()
        check_logged(box, raw.answer(), 400)
        assert raw.is_closed()


@pytest.fixture(scope="module")
def small_box():
    """A server with narrow limits."""
    from harness import Sandbox

    with Sandbox(
        "--set", "http.max_message_bytes=64K", "--set", "http.request_timeout=1s",
        "--set", "http.idle_timeout=1s", "--set", "http.max_connections=50",
        "--set", "http.workers=1",
    ) as box:
        yield box


def test_declared_body_over_the_limit(small_box):
    """The answer arrives although the client is still sending."""
    httpd = small_box.httpd()
    size = 8 << 20
    with httpd.raw() as raw:
        raw.send(post_head(httpd, f"Content-Length: {size}"))
        try:
            for _ in range(size >> 16):
                raw.send(bytes(1 << 16))
        except ConnectionError:
            pass
        check(raw.answer(), 413)


def test_chunked_body_over_the_limit(small_box):
    httpd = small_box.httpd()
    with httpd.raw() as raw:
        raw.send(post_head(httpd, "Transfer-Encoding: chunked"))
        try:
            for _ in range(128):
                raw.send(b"10000\r\n" + bytes(1 << 16) + b"\r\n")
        except ConnectionError:
            pass
        check(raw.answer(), 413)


def test_message_over_the_limit(small_box):
    """The body fits, the message made of it does not."""
    httpd = small_box.httpd()
    answer = httpd.post(
        {"from": "hello@example.com", "to": "a@dst.test", "text": "x" * 80_000}
    )
    assert answer.status_code == 413
    assert answer.json()["name"] == "validation_error"
    assert "65536" in answer.json()["message"]


@pytest.mark.parametrize("part", ["head", "body", "chunk"])
def test_slow_client(small_box, part):
    httpd = small_box.httpd()
    data = {
        "head": post_head(httpd)[:30],
        "body": post_head(httpd, "Content-Length: 100") + b"{",
        "chunk": post_head(httpd, "Transfer-Encoding: chunked") + b"64\r\n{",
    }[part]
    with httpd.raw() as raw:
        raw.send(data)
        check(raw.answer(), 408)
        assert raw.is_closed()


def test_idle_connection_is_closed(small_box):
    httpd = small_box.httpd()
    with httpd.raw() as raw:
        assert raw.is_closed()
    with httpd.raw() as raw:
        raw.send(get_head(httpd))
        assert raw.answer().status == 404
        assert raw.is_closed()


def test_more_connections_than_allowed(small_box):
    """Those over the limit wait for their turn, and get it."""
    httpd = small_box.httpd()
    statuses = []

    def one():
        statuses.append(exchange(httpd, get_head(httpd, "Connection: close")).status)

    idle = [httpd.raw() for _ in range(60)]
    clients = [threading.Thread(target=one) for _ in range(20)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    for raw in idle:
        raw.socket.close()
    assert statuses == [404] * 20
