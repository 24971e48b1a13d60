"""Clients that take their time, and hold memory meanwhile."""

import json
import signal
import socket
import time

import pytest
from harness import Sandbox, wait_for
from test_http import check, post_head
from test_unread_answers import LARGE, ask, send_large

SIZE = 6 * len(LARGE)  # of the answer, at least


@pytest.fixture(scope="module")
def hasty_box():
    with Sandbox("--set", "http.request_timeout=1s") as box:
        yield box


def read(raw, size):
    """So many bytes; fewer are an error."""
    while size > 0:
        part = raw.recv(min(size, 65536))
        assert part
        size -= len(part)


def test_announced_chunk(hasty_box):
    """What was announced gives no time, only what has come."""
    httpd = hasty_box.httpd()
    with httpd.raw() as raw:
        raw.send(post_head(httpd, "Transfer-Encoding: chunked") + b"1000000\r\n{")
        check(raw.answer(), 408)


def test_httpd_was_stopped_meanwhile(hasty_box, email):
    """A client is not late because httpd stood still."""
    httpd = hasty_box.httpd()
    body = json.dumps(email).encode()
    sent_s = 1
    while sent_s > 0.5:  # else the client itself may have been too slow
        with httpd.raw() as raw:
            began = time.monotonic()
            raw.send(post_head(httpd, "Expect: 100-continue", f"Content-Length: {len(body)}"))
            assert raw.answer().status == 100
            hasty_box.kill("httpd", signal.SIGSTOP)
            sent_s = time.monotonic() - began
            time.sleep(2)
            raw.send(body)
            hasty_box.kill("httpd", signal.SIGCONT)
            answer = raw.answer()
    assert answer.status == 200, answer.body


def test_slow_reader(hasty_box, email):
    """It reads all the time, while the kernel has so much that httpd can write
    nothing for longer than the timeout."""
    with ask(hasty_box.httpd(), send_large(hasty_box, email)) as raw:
        read(raw, SIZE // 6)
        for _ in range(20):
            read(raw, 40_000)
            time.sleep(0.2)
        read(raw, SIZE - SIZE // 6 - 20 * 40_000)


def test_reader_that_has_stopped_sending(hasty_box, email):
    """The end of its input does not end the answer."""
    with ask(hasty_box.httpd(), send_large(hasty_box, email)) as raw:
        raw.shutdown(socket.SHUT_WR)
        read(raw, SIZE)


def test_trickling_reader(hasty_box, email):
    """It never stops to read, and would need an hour."""
    with ask(hasty_box.httpd(), send_large(hasty_box, email)) as raw:

        def dropped():
            read(raw, 100)
            return "answer_not_read" in hasty_box.log("httpd")

        wait_for("the end", dropped)
