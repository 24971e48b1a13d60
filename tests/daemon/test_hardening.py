"""Requests and faults that once did harm, and their kin."""

import json
import os
import random
import resource
import signal
import threading

import pytest
from harness.sandbox import unique
from harness.wait import wait_for

EMAIL = {"from": "hello@example.com", "to": "a@dst.test", "text": "x"}


@pytest.mark.parametrize("character", ["é", "€", "😀"], ids=["2", "3", "4"])
@pytest.mark.parametrize("pad", range(4))
def test_cut_characters_in_problems(httpd, character, pad):
    """Problems quote parts of what the client sent; the answer stays valid JSON."""
    long = "a" * pad + character * 300
    for email in (
        EMAIL | {"headers": {long: "x"}},
        EMAIL | {"from": long},
        EMAIL | {"to": [long + "@"]},
        EMAIL | {"headers": {"X-A": 5, long: 5}},
        EMAIL | {"attachments": [{"filename": long, "content": "!"}]},
    ):
        answer = httpd.post(email)
        assert answer.status_code == 422, answer.text
        assert answer.json()["message"]


def test_requests_sent_ahead_in_pieces(httpd):
    """Two requests are understood however their bytes are split."""
    request = (
        "GET /nowhere HTTP/1.1\r\nHost: a\r\nX-Filler: %s\r\n\r\n" % ("x" * 200)
    ).encode()
    dice = random.Random(1)
    with httpd.raw() as raw:
        for _ in range(500):
            at = dice.randrange(1, len(request))
            raw.send(request + request[:at])
            raw.send(request[at:])
            assert [raw.answer().status for _ in range(2)] == [404, 404]


@pytest.mark.parametrize("path", ["//a:b/", "//[", "//a@@b:99999999/", "//emails"])
def test_paths_that_look_like_hosts(httpd, path):
    with httpd.raw() as raw:
        raw.send(f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        answer = raw.answer()
    assert answer.status == 404
    assert answer.json()["name"] == "not_found"


def test_head_request_leaves_no_trace(httpd):
    """The refusal after a HEAD request has a body again."""
    with httpd.raw() as raw:
        raw.send(b"HEAD /emails HTTP/1.1\r\nHost: a\r\n\r\n")
        assert raw.answer(head_only=True).status == 405
        raw.send(b"GET / HTTP/1.1\nHost: a\r\n\r\n")
        answer = raw.answer()
        assert answer.status == 400
        assert answer.json()["name"] == "validation_error"


@pytest.mark.parametrize("trailer", [b"nocolon", b": value", b" folded: x"])
def test_malformed_trailer(httpd, trailer):
    body = json.dumps(EMAIL).encode()
    head = (
        f"POST /emails HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {httpd.key}\r\n"
        "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    ).encode()
    with httpd.raw() as raw:
        raw.send(head + b"%x\r\n%s\r\n0\r\n%s\r\n\r\n" % (len(body), body, trailer))
        answer = raw.answer()
    assert answer.status == 400
    assert answer.json()["name"] == "validation_error"


def test_json_of_endless_values(httpd):
    """Small on the wire, large in memory."""
    body = '{"from":"a@example.com","x":[' + "1," * 8_000_000 + "1]}"
    answer = httpd.request(
        "POST", "/emails", data=body, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 413, answer.text


@pytest.mark.submission("sendmail")
def test_drain_timeout(own_box):
    """Requests that cannot be finished in time still get an answer."""
    box = own_box(
        "--set", "http.drain_timeout=1s",
        "--set", "submission.processes=1",
        "--set", "submission.record_wait=60s",
        "--set", "http.workers=1",
    )
    box.stop("milter")
    answers = []
    clients = [
        threading.Thread(
            target=lambda: answers.append(
                box.httpd().post(EMAIL | {"to": unique("to") + "@dst.test"})
            )
        )
        for _ in range(3)
    ]
    for client in clients:
        client.start()
    wait_for("the mails to be submitted", lambda: box.waiting() == 3)
    old = box.pid("httpd")
    box.kill("httpd", signal.SIGTERM)
    for client in clients:
        client.join()
    assert [a.status_code for a in answers] == [200] * 3
    box.wait_for_new("httpd", old)


def test_no_descriptors_left(own_box, email):
    """The server pauses, logs it, and continues; other clients notice nothing."""
    box = own_box("--set", "http.workers=1")
    assert box.httpd().post(email).status_code == 200  # all has been opened
    pid = box.pid("httpd")
    used = len(os.listdir(f"/proc/{pid}/fd"))
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (used + 20, used + 20))
    idle = [box.httpd().raw() for _ in range(40)]
    wait_for("the log line", lambda: "accept_failed" in box.log("httpd"))
    for raw in idle:
        raw.socket.close()
    wait_for("an answer", lambda: box.httpd().post(email).status_code == 200)
    assert box.pid("httpd") == pid


def test_no_descriptors_for_a_look_at_events(own_box):
    """Who cannot look does not say that postern-events has ended, nor postern-milter."""
    box = own_box("--set", "submission.probe_interval=1s")
    pid = box.pid("httpd")
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, before[1]))
    wait_for("the log lines", lambda: all(
        f"event={name}" in box.log("httpd") for name in ("log_not_read", "probe_failed")))
    resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
    [line] = [line for line in box.log("httpd").splitlines() if "event=log_not_read" in line]
    assert "postern-events does not run" not in line and "file descriptors" in line
    failed = [line for line in box.log("httpd").splitlines() if "event=probe_failed" in line]
    assert "postern-milter" not in failed[0]
    wait_for("the end of it", lambda: "event=log_read_again" in box.log("httpd"))
