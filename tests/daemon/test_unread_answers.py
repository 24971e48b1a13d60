"""Clients that ask and do not read."""

import socket

import pytest
from harness import Sandbox, wait_for
from harness.httpd import check_problem
from test_overload import GREEDY, UNKNOWN_ID, begin, check_busy

# Six times as long in JSON: more than the kernel takes of an answer.
LARGE = "\x01" * 2 * 1024 * 1024


@pytest.fixture(scope="module")
def narrow_box():
    """Two such answers of one company fit, and three requests."""
    with Sandbox(
        "--set", "http.max_inflight_bytes=34M", "--set", "http.max_requests=5",
        "--set", "http.max_wait=0",
    ) as box:
        yield box


def send_large(box, email):
    """An email that takes long to read. To send it would take the budget, too."""
    email_id = box.httpd().send(email)
    box.sql("UPDATE email_content SET html = ?", LARGE)
    return email_id


def ask(httpd, email_id):
    """A request whose answer has begun, and goes no further than a small window
    lets it."""
    raw = socket.socket()
    raw.settimeout(60)
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    raw.connect(httpd.address)
    raw.sendall(
        f"GET /emails/{email_id} HTTP/1.1\r\nHost: {httpd.host}\r\n"
        f"Authorization: Bearer {httpd.key}\r\n\r\n".encode()
    )
    assert raw.recv(9) == b"HTTP/1.1 "
    assert raw.recv(3) == b"200"
    return raw


def test_their_number_is_bounded(narrow_box, email):
    """By memory and by places; both come back when the clients go."""
    email_id = send_large(narrow_box, email)
    httpd = narrow_box.httpd()
    unread = [ask(httpd, email_id) for _ in range(2)]
    answer = httpd.get(email_id)
    check_problem(answer, 503, "application_error")
    assert int(answer.headers["Retry-After"]) > 0
    assert httpd.get(UNKNOWN_ID).status_code == 404
    with wait_for("a place", lambda: begin(httpd)).socket:
        check_busy(httpd.get(UNKNOWN_ID), GREEDY)
        unread.pop().close()
        wait_for("a place", lambda: httpd.get(UNKNOWN_ID).status_code == 404)
    unread.pop().close()
    wait_for("the memory", lambda: httpd.get(email_id).status_code == 200)


def test_they_are_dropped(own_box, email):
    box = own_box("--set", "http.request_timeout=1s")
    email_id = send_large(box, email)
    unread = ask(box.httpd(), email_id)
    wait_for("the end", lambda: "answer_not_read" in box.log("httpd"))
    rest = 0
    with unread:
        try:
            while part := unread.recv(65536):
                rest += len(part)
        except ConnectionResetError:
            pass
    assert rest < len(LARGE) * 6
    assert box.httpd().read(email_id)["html"] == LARGE
