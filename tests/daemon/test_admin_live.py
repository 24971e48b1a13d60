"""Server-sent events of the admin listener."""

import contextlib
import re
import signal
import socket
import struct
import threading
import time
from urllib.parse import urlsplit

import pytest
from harness import submit, wait_for
from harness.admin import by_token, operator
from harness.sandbox import unique

STREAMS_OF_USER = 8
STREAMS_OF_COMPANY = 16
STREAMS_OF_MEMBERS = 48
STREAMS_MAX = 64


class Stream:
    """An event stream, read by a thread of its own."""

    def __init__(self, admin):
        url = urlsplit(admin.url)
        self.socket = socket.create_connection((url.hostname, url.port), timeout=600)
        who = f"Authorization: Bearer {admin.token}"
        if admin.token is None:
            who = f"Cookie: {admin.cookie_name}={admin.cookie()}"
        self.socket.sendall(
            f"GET /admin/live HTTP/1.1\r\nHost: {url.netloc}\r\n{who}\r\n\r\n".encode()
        )
        head = b""
        while b"\r\n\r\n" not in head:
            head += self.socket.recv(1)
        lines = head.decode().lower().splitlines()
        self.status = int(lines[0].split()[1])
        self.headers = dict(line.split(": ", 1) for line in lines[1:-1])
        self.said = b""
        self.ended = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        try:
            while data := self.socket.recv(4096):
                self.said += data
        except OSError:
            pass  # we have closed it
        self.ended.set()

    @property
    def events(self):
        return re.findall(r"^event: (\w+)\r?$", self.said.decode(), re.M)

    def wait_for(self, topic, times=1):
        wait_for(f"an event {topic}", lambda: self.events.count(topic) >= times)

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


def stream_if_there_is_place(admin):
    stream = Stream(admin)
    assert stream.status in (200, 503)
    return stream if stream.status == 200 else None


def listening(box):
    """Returns the number of established connections to the admin listener."""
    port = urlsplit(box.env["POSTERN_ADMIN_URL"]).port
    with open("/proc/net/tcp", encoding="ascii") as table:
        rows = [line.split() for line in table][1:]
    return sum(row[1].endswith(f":{port:04X}") and row[3] == "01" for row in rows)


def send(box):
    box.httpd().send(
        {"from": "hello@example.com", "to": "ann@dst.test", "subject": "x", "text": "x"}
    )


def test_tells_of_an_email_and_what_becomes_of_it(box):
    stream = Stream(operator(box))
    headers = stream.headers
    assert headers["content-type"] == "text/event-stream"
    assert headers["cache-control"] == "no-store"
    send(box)
    stream.wait_for("emails")
    box.company()
    stream.wait_for("tenants")
    stream.close()


def test_tells_of_refusals(box):
    domain = unique("refused") + ".test"
    box.cli("domain", "add", domain, "--company", box.company())
    stream = Stream(operator(box))
    submit.plain(box, "smtp", f"a@{domain}", "b@dst.test")
    stream.wait_for("refusals")
    stream.close()


def test_members_hear_of_their_company_alone(box):
    ours, theirs = box.company(), box.company()
    stream = Stream(by_token(box, unique("m"), ours))
    box.cli("domain", "add", unique("d") + ".test", "--company", theirs)
    send(box)
    # What comes after that is the first that they hear.
    box.cli("domain", "add", unique("d") + ".test", "--company", ours)
    stream.wait_for("tenants")
    assert set(stream.events) == {"tenants"}
    stream.close()


def test_ends_with_the_session(box):
    admin, other = operator(box), operator(box)
    mine, theirs = Stream(admin), Stream(other)
    admin.ok("DELETE", "/admin/session")
    assert mine.ended.wait(180)
    assert not theirs.ended.is_set()
    theirs.close()
    # A token's, too.
    login = unique("t")
    program = by_token(box, login)
    stream = Stream(program)
    box.cli("user", "remove", login)
    assert stream.ended.wait(180)


def test_ends_when_the_session_expires(own_box):
    """The stream ends although nothing changes."""
    box = own_box()
    stream = Stream(operator(box))
    box.sql("UPDATE admin_session SET expires_us = ?", int((time.time() + 3) * 1e6))
    assert stream.ended.wait(180)


def test_bounds(own_box):
    box = own_box("--set", "http.idle_timeout=1s")
    first = by_token(box, unique("a"))
    streams = [Stream(first) for _ in range(STREAMS_OF_USER)]
    answer = first.request("GET", "/admin/live")
    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) > 0
    # One who left makes place, as soon as that is noticed.
    streams.pop().close()
    streams.append(wait_for("a place", lambda: stream_if_there_is_place(first)))
    for _ in range(STREAMS_MAX // STREAMS_OF_USER - 1):
        other = by_token(box, unique("b"))
        streams += [Stream(other) for _ in range(STREAMS_OF_USER)]
    last = by_token(box, unique("c"))
    assert last.request("GET", "/admin/live").status_code == 503
    assert last.status("GET", "/admin/emails") == 200
    for stream in streams:
        stream.close()
    # None is left behind, nor a descriptor.
    wait_for("a place", lambda: stream_if_there_is_place(last)).close()
    last.session.close()
    wait_for("the end of all", lambda: listening(box) == 0)


def test_members_leave_places_to_operators(own_box):
    box = own_box()
    streams = []

    def fill(company, wanted):
        """Opens that many streams of a company, with as many users as needed."""
        for _ in range(wanted // STREAMS_OF_USER):
            member = by_token(box, unique("m"), company, "viewer")
            streams.extend(Stream(member) for _ in range(STREAMS_OF_USER))
            assert streams[-1].status == 200
        member = by_token(box, unique("m"), company, "viewer")
        assert member.request("GET", "/admin/live").status_code == 503

    for _ in range(STREAMS_OF_MEMBERS // STREAMS_OF_COMPANY):
        fill(box.company(), STREAMS_OF_COMPANY)
    fill(box.company(), 0)
    streams.append(Stream(operator(box)))
    assert streams[-1].status == 200
    for stream in streams:
        stream.close()


def test_the_client_may_send_and_close_as_it_likes(box):
    admin = by_token(box, unique("raw"))
    before = listening(box)
    for then in ["close", "shutdown", "ahead", "flood", "reset"]:
        stream = Stream(admin)
        assert stream.status == 200
        if then == "shutdown":
            stream.socket.shutdown(socket.SHUT_WR)
        elif then == "ahead":
            stream.socket.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        elif then == "flood":
            # Nobody reads it: the kernel takes some megabytes at most.
            stream.socket.setblocking(False)
            with contextlib.suppress(BlockingIOError, ConnectionError):
                for _ in range(1000):
                    stream.socket.send(b"x" * 65536)
            stream.socket.setblocking(True)
        elif then == "reset":
            linger = struct.pack("ii", 1, 0)
            stream.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        stream.socket.close()
        assert admin.status("GET", "/admin/session") == 200
    admin.session.close()
    wait_for("the end of the streams", lambda: listening(box) <= before)


def test_slow_clients_are_waited_for(own_box):
    """The timeout of requests does not apply to streams."""
    box = own_box("--set", "http.request_timeout=1s", "--set", "http.idle_timeout=1s")
    admin = by_token(box, unique("slow"))
    stream = Stream(admin)
    for times in range(1, 4):
        box.company()
        stream.wait_for("tenants", times)
    assert not stream.ended.is_set()
    stream.close()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_stops_at_once(own_box, how):
    """The server stops well before the drain timeout, which would be in the log."""
    box = own_box("--set", "http.drain_timeout=60s")
    streams = [Stream(operator(box)) for _ in range(5)]
    old = box.pid("httpd")
    box.kill("httpd", how)
    for stream in streams:
        assert stream.ended.wait(180)
    box.wait_for_new("httpd", old)
    assert "drain_timeout" not in box.log("httpd")
