"""The memory of both daemons, at rest and under what is large."""

import re
import socket
import threading

from . import items
from .mail import mail_of, tool
from .process import forget_peak, memory_mib

BUDGET_MIB = 256
CONNECTIONS = 1000
UPLOADS = 100
UPLOAD_SIZE = 10_000_000
MILTER_CONNECTIONS = 100
LARGE = 100_000_000


def parts(address):
    host, _, port = address.rpartition(":")
    return host, int(port)


def held_connections(mail, n):
    """Keep-alive connections that have had an answer each."""
    get = items.request("GET", "/emails/0", f"Bearer {mail.key}")
    found = []
    for _ in range(n):
        found.append(socket.create_connection(parts(mail.address)))
        found[-1].sendall(get)
    for each in found:
        each.recv(65536)
    return found


def upload(mail, request):
    """An upload that may be told to come later."""
    with socket.create_connection(parts(mail.address)) as to:
        try:
            to.sendall(request)
            to.recv(65536)
        except ConnectionError:
            pass


def uploads(mail, n, size):
    request = items.json_post(mail.key, size)
    threads = [
        threading.Thread(target=upload, args=(mail, request)) for _ in range(n)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def open_messages(mail, n):
    """SMTP sessions in the middle of a message, each with a milter connection."""
    found = []
    for _ in range(n):
        session = socket.create_connection(parts(mail.smtp["ours"]))
        session.recv(1024)
        for line in ("EHLO x", f"MAIL FROM:<{items.STRANGER}>",
                     f"RCPT TO:<{items.RECIPIENT}>"):  # fmt: skip
            session.sendall(f"{line}\r\n".encode())
            assert re.match(b"250", session.recv(4096))
        found.append(session)
    return found


def large_message(mail, size):
    file = items.write(mail.path("large"), [items.message(size, items.STRANGER)])
    mail.measure(
        1,
        lambda: tool(
            "load", "smtp", mail.smtp["ours"], 1, 1, file,
            items.STRANGER, items.RECIPIENT,
        ),
    )  # fmt: skip


def of_httpd(mail, scale):
    pid = mail.box.pid("httpd")
    yield "httpd at rest", memory_mib(pid), 16
    n = int(CONNECTIONS * scale)
    held = held_connections(mail, n)
    yield f"httpd, {n:,} idle connections", memory_mib(pid), 48
    for each in held:
        each.close()
    forget_peak(pid)
    n = max(2, int(UPLOADS * scale))
    size = int(UPLOAD_SIZE * min(1, scale))
    uploads(mail, n, size)
    name = f"httpd, {n} uploads of {size / 1e6:g} MB at once, peak"
    yield name, memory_mib(pid, peak=True), BUDGET_MIB + 64
    yield "httpd afterwards", memory_mib(pid), None


def of_milter(mail, scale):
    pid = mail.box.pid("milter")
    yield "milter at rest", memory_mib(pid), None
    n = max(2, int(MILTER_CONNECTIONS * scale))
    held = open_messages(mail, n)
    yield f"milter, {n} connections", memory_mib(pid), 32
    for each in held:
        each.close()
    before = memory_mib(pid)
    forget_peak(pid)
    size = int(LARGE * scale)
    large_message(mail, size)
    grown = memory_mib(pid, peak=True) - before
    yield f"milter, growth by a message of {size / 1e6:g} MB", grown, 1


def run(options):
    yield "| what | at most, MiB | MiB |"
    yield "|---|---|---|"
    settings = ("--set", f"http.max_inflight_bytes={BUDGET_MIB}M")
    with mail_of(options, "--submission", options.submission, *settings) as mail:
        for part in (of_httpd, of_milter):
            for name, found, bound in part(mail, options.scale):
                marks = "**" if bound and found > bound else ""
                yield f"| {name} | {bound or ''} | {marks}{found:.1f}{marks} |"
