"""How connections come to the workers."""

import os
from pathlib import Path

from harness import wait_for

WORKERS = 4
CONNECTIONS = 80
MORE = 20  # than another one; who wakes first must not have most of them


def watched(pid):
    """Returns how many descriptors each event loop of the process watches."""
    fds = Path("/proc", str(pid), "fd")
    loops = [
        fd.name for fd in fds.iterdir() if os.readlink(fd) == "anon_inode:[eventpoll]"
    ]
    infos = [Path("/proc", str(pid), "fdinfo", fd).read_text() for fd in loops]
    return [info.count("tfd:") for info in infos]


def test_connections_are_shared_out(own_box):
    """Also if they come one by one while all workers are idle."""
    box = own_box("--set", f"http.workers={WORKERS}")
    before = watched(box.pid("httpd"))
    clients = [box.httpd() for _ in range(CONNECTIONS)]
    for client in clients:
        assert client.request("GET", "/nothing").status_code == 404
    counts = wait_for(
        "all connections",
        lambda: sum(now := watched(box.pid("httpd"))) >= sum(before) + CONNECTIONS
        and now,
    )
    assert len(counts) == WORKERS + 2
    for _ in ("the listener for admins", "the outbox"):
        counts.remove(min(counts))
    assert max(counts) - min(counts) <= MORE, counts
