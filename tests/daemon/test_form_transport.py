"""The form dialect: how the bytes arrive: in pieces, packed, awaited."""

import functools
import gzip
import re
import struct
import zlib

import pytest
from harness import File, FormClient, Sandbox
from harness.form import (
    ENCODINGS,
    basic,
    check_forbidden,
    check_refused,
    multipart,
    queued_id,
)

both = pytest.mark.parametrize("encode", ENCODINGS, ids=lambda e: e.__name__)

GZIP = "Content-Encoding: gzip"


def chunked(body, size):
    pieces = [body[i : i + size] for i in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in pieces) + b"0\r\n\r\n"


def check_whole(form, answer, fields):
    """What arrived is what was sent."""
    mail = form.box.sink.find(message_id=queued_id(answer))
    assert mail.recipients == [fields["to"]]
    assert mail.body("plain") == fields["text"] + "\n"
    file = fields.get("attachment")
    found = [data for *_, data in mail.attachments()]
    assert found == ([file.data] if isinstance(file, File) else [])


@both
@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 1 << 20])
def test_chunks(form, fields, size, encode):
    """In pieces of two bytes every delimiter is split."""
    if encode is multipart:
        fields["attachment"] = File("a", b"\r\n--f0r\r\n--f0rmx\r\n-" * 3)
    kind, body = encode(fields)
    head = form.head("Transfer-Encoding: chunked", f"Content-Type: {kind}")
    answer = form.exchange(head + chunked(body, size))
    check_whole(form, answer, fields)


@pytest.mark.parametrize("size", [1, 2, 1000])
def test_packets(form, fields, size):
    """The same with the pieces as TCP may have them."""
    fields["attachment"] = File("a", b"\r\n--f0r\r\n--f0rmx\r\n-")
    kind, body = multipart(fields)
    data = form.head(f"Content-Length: {len(body)}", f"Content-Type: {kind}") + body
    with form.httpd.raw() as raw:
        for i in range(0, len(data), size):
            raw.send(data[i : i + size])
        answer = raw.answer()
    check_whole(form, answer, fields)


def test_large_chunked_body(form, fields):
    fields["attachment"] = File("a", bytes(range(256)) * 12_000)
    kind, body = multipart(fields)
    head = form.head("Transfer-Encoding: chunked", f"Content-Type: {kind}")
    check_whole(form, form.exchange(head + chunked(body, 5000)), fields)


@pytest.mark.parametrize("coding", ["length", "chunks"])
@pytest.mark.parametrize(
    "expect", ["100-continue", "100-Continue", "100-CONTINUE"]
)
def test_expect_continue(form, fields, expect, coding):
    kind, body = multipart(fields)
    line = f"Content-Length: {len(body)}"
    if coding == "chunks":
        line, body = "Transfer-Encoding: chunked", chunked(body, 100)
    with form.httpd.raw() as raw:
        raw.send(form.head(f"Expect: {expect}", line, f"Content-Type: {kind}"))
        assert raw.answer().status == 100
        raw.send(body)
        answer = raw.answer()
    check_whole(form, answer, fields)


def test_expecting_client_that_does_not_wait(form, fields):
    kind, body = multipart(fields)
    line = f"Content-Length: {len(body)}"
    with form.httpd.raw() as raw:
        raw.send(
            form.head("Expect: 100-continue", line, f"Content-Type: {kind}") + body
        )
        answer = raw.answer()
        if answer.status == 100:
            answer = raw.answer()
    check_whole(form, answer, fields)


def test_two_requests_on_one_connection(form, fields):
    """Also after one that was refused."""
    kind, body = multipart(fields)
    lines = [f"Content-Length: {len(body)}", f"Content-Type: {kind}"]
    good = form.head(*lines) + body
    bad = form.head(*lines, authorization=basic("api", "ps_x")) + body
    with form.httpd.raw() as raw:
        raw.send(good + bad + good)
        first = queued_id(raw.answer())
        check_forbidden(raw.answer())
        second = queued_id(raw.answer())
    assert first != second
    for message_id in (first, second):
        assert form.box.sink.find(message_id=message_id)


PACKED = {
    "fast": lambda body: gzip.compress(body, 1),
    "best": lambda body: gzip.compress(body, 9),
    "stored": lambda body: gzip.compress(body, 0),
    "two members": lambda body: gzip.compress(body[:50]) + gzip.compress(body[50:]),
}


@both
@pytest.mark.parametrize("case", PACKED)
def test_gzip(form, fields, case, encode):
    if encode is multipart:
        fields["attachment"] = File("a", bytes(range(256)) * 100)
    kind, body = encode(fields)
    answer = form.post_body(kind, PACKED[case](body), GZIP)
    check_whole(form, answer, fields)


@pytest.mark.parametrize("name", ["gzip", "GZIP", "x-gzip"])
def test_names_of_gzip(form, fields, name):
    kind, body = multipart(fields)
    line = f"Content-Encoding: {name}"
    check_whole(form, form.post_body(kind, gzip.compress(body), line), fields)


@pytest.mark.parametrize("size", [2, 100])
def test_gzip_in_chunks(form, fields, size):
    kind, body = multipart(fields)
    head = form.head("Transfer-Encoding: chunked", GZIP, f"Content-Type: {kind}")
    answer = form.exchange(head + chunked(gzip.compress(body), size))
    check_whole(form, answer, fields)


def test_large_gzip(form, fields):
    """Larger unpacked than what is unpacked at once."""
    fields["attachment"] = File("a", bytes(range(256)) * 20_000)
    kind, body = multipart(fields)
    packed = gzip.compress(body)
    assert len(packed) < 100_000 < 5_000_000 < len(body)
    check_whole(form, form.post_body(kind, packed, GZIP), fields)


def test_identity(form, fields):
    kind, body = multipart(fields)
    answer = form.post_body(kind, body, "Content-Encoding: identity")
    check_whole(form, answer, fields)


def broken_gzips():
    packed = gzip.compress(multipart({"text": "x" * 1000})[1])
    return {
        "not packed": b"from=a&to=b&text=c",
        "nothing": b"",
        "cut": packed[:-12],
        "no checksum": packed[:-8],
        "wrong checksum": packed[:-8] + b"\0" * 8,
        "more behind it": packed + b"more",
        "zlib": zlib.compress(b"from=a"),
        "header only": packed[:10],
    }


@pytest.mark.parametrize("case", broken_gzips())
def test_broken_gzip(form, case):
    answer = form.post_body(multipart({})[0], broken_gzips()[case], GZIP)
    check_refused(answer, 400, re.compile("unable to parse request: .+"))


@pytest.mark.parametrize("name", ["br", "deflate", "zstd", "gzip, gzip"])
def test_other_encodings(form, fields, name):
    kind, body = multipart(fields)
    answer = form.post_body(kind, body, f"Content-Encoding: {name}")
    check_refused(answer, 415, re.compile(f".*{name}.*"))
    assert not form.box.sink.now(to=fields["to"])


@pytest.fixture(scope="module")
def small_form():
    """A server that takes requests of two MiB, packed or not."""
    with Sandbox("--set", "http.max_message_bytes=1M") as box:
        yield FormClient(box)


def resident_kb(box):
    """The most memory that httpd has ever used."""
    with open(f"/proc/{box.pid('httpd')}/status") as status:
        return int(re.search(r"VmHWM:\s*(\d+)", status.read()).group(1))


@functools.cache
def packed_gigabyte():
    """The same block of a packed megabyte, again and again."""
    megabyte, packer, crc = bytes(1 << 20), zlib.compressobj(9, zlib.DEFLATED, -15), 0
    block = packer.compress(megabyte) + packer.flush(zlib.Z_FULL_FLUSH)
    for _ in range(1024):
        crc = zlib.crc32(megabyte, crc)
    head = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
    return head + block * 1024 + packer.flush() + struct.pack("<II", crc, 1 << 30)


@both
@pytest.mark.plain
def test_gzip_bomb(small_form, encode):
    """A gigabyte in a megabyte is refused long before it is unpacked."""
    packed = packed_gigabyte()
    assert len(packed) < 2 << 20
    before = resident_kb(small_form.box)
    for _ in range(3):
        answer = small_form.post_body(encode({})[0], packed, GZIP)
        check_refused(answer, 413, re.compile("request size exceeds 2 MiB limit.*"))
    assert resident_kb(small_form.box) - before < 64 << 10


def test_gzip_over_the_limit_by_little(small_form, fields):
    fields["x"] = "x" * (2 << 20)
    kind, body = multipart(fields)
    answer = small_form.post_body(kind, gzip.compress(body), GZIP)
    check_refused(answer, 413, re.compile("request size exceeds 2 MiB limit.*"))
    fields["x"] = "x" * ((2 << 20) - 1000)
    kind, body = multipart(fields)
    queued_id(small_form.post_body(kind, gzip.compress(body), GZIP))
