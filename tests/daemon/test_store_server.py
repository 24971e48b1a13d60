"""A store on a server that stops, breaks and hangs: what was answered 200 is sent once, all
others are told to come again, and no daemon has to be restarted."""

import os
import signal
import time

import pytest
from harness import wait_for
from test_restarts import Senders, check_all_there, check_delivered_once

pytestmark = pytest.mark.submission("sendmail")


def postmaster(box):
    return int((box.dir / "pg/data/postmaster.pid").read_text().split()[0])


def processes(box):
    """Of the server, its postmaster first."""
    first = postmaster(box)
    children = f"/proc/{first}/task/{first}/children"
    with open(children) as file:
        return [first, *map(int, file.read().split())]


def stop(box):
    box.stop("postgresql")


def break_off(box):
    """Without an end of what is under way."""
    os.kill(postmaster(box), signal.SIGQUIT)
    wait_for("the server to be gone", lambda: not (box.dir / "pg/data/postmaster.pid").exists())


def hang(box):
    """For a while in which some wait."""
    pids = processes(box)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(3)
    for pid in pids:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize("fault", [stop, break_off, hang])
def test_fault_of_the_server(own_box, fault):
    box = own_box("--store", "postgresql")
    with Senders(box) as senders:
        senders.wait_for(20)
        fault(box)
        if fault is not hang:
            wait_for("a request to be refused", lambda: senders.refused)
            box.start("postgresql")
        senders.wait_for(20)
    assert senders.broken == 0
    assert all('"statusCode":503' in text.replace(" ", "") for text in senders.refused)
    check_all_there(box, senders.sent)
    check_delivered_once(box, senders.sent)
    assert box.query("SELECT count(*) FROM outbox") == "0"
