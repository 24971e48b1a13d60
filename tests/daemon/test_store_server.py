"""A store on a server that stops, breaks and hangs: what was answered 200 is sent once, all
others are told to come again, and no daemon has to be restarted."""

import os
import shutil
import signal
import subprocess
import time
from glob import glob
from pathlib import Path

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


PROGRAMS = Path(sorted(glob("/usr/lib/postgresql/*/bin/initdb"))[-1]).parent


class Standby:
    """A synchronous one of the server of a sandbox, beside it."""

    def __init__(self, box):
        self.primary, self.folder = box.dir / "pg", box.dir / "standby"
        self.folder.mkdir()
        shutil.chown(self.folder, "postgres")
        with open(self.primary / "data/pg_hba.conf", "a") as file:
            file.write("local replication postern peer map=postern\n")
        self.run("pg_ctl", "-D", self.primary / "data", "reload")
        self.run("pg_basebackup", "-D", self.folder / "data", "-R", "-X", "stream", "-c", "fast",
                 "-d", f"host={self.primary} user=postern application_name=standby")
        with open(self.folder / "data/postgresql.conf", "a") as file:
            file.write(f"unix_socket_directories = '{self.folder}'\n")
        self.run("pg_ctl", "-D", self.folder / "data", "-l", self.folder / "log", "-w", "start")
        box.query("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
        self.run("pg_ctl", "-D", self.primary / "data", "reload")
        wait_for(
            "the standby to be synchronous",
            lambda: box.query("SELECT sync_state FROM pg_stat_replication") == "sync",
        )

    def run(self, program, *words):
        as_server = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--"]
        subprocess.run([*as_server, PROGRAMS / program, *words], check=True, cwd="/",
                       stdout=subprocess.DEVNULL, timeout=120)

    def promote(self):
        self.run("pg_ctl", "-D", self.folder / "data", "-w", "promote")

    def stop(self):
        self.run("pg_ctl", "-D", self.folder / "data", "-m", "immediate", "-w", "stop")


def test_failover(own_box):
    """Both hosts are in the URL: who has the primary is found."""
    box = own_box("--store", "postgresql")
    standby = Standby(box)
    try:
        box.set("store", "url", f"postgresql:///postern?host={box.dir}/pg,{standby.folder}&user=postern")
        for part in ("milter", "events", "httpd"):
            box.restart(part)
        with Senders(box) as senders:
            senders.wait_for(20)
            break_off(box)
            wait_for("a request to be refused", lambda: senders.refused)
            standby.promote()
            senders.wait_for(20)
        assert senders.broken == 0
        check_all_there(box, senders.sent)
        check_delivered_once(box, senders.sent)
    finally:
        standby.stop()
