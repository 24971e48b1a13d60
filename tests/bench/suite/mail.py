"""A mail system to measure: a sandbox, and beside its own smtpd another one
that asks a milter which does nothing, and one that asks none."""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from harness import Sandbox, wait_for
from harness.sandbox import TREE, free_port

from . import items
from .process import cpu_seconds

BUILD = TREE / os.environ.get("BUILD", "build")
TOOLS = BUILD / "bench"
PEER = TREE / "tests/bench/peer.mjs"

# What would else put an end to a measurement: Postfix slows a client down whose
# messages come faster than they are delivered.
POSTCONF = ("in_flow_delay=0", "message_size_limit=150000000")

MILTERS = {"noop": "unix:postern/noop.sock", "none": ""}

# Memory for 64 uploads of 5 MB at once, which would else be put off.
ROOM = ("--set", "http.max_inflight_bytes=4G")


# Where Postfix's queue and the destination are. On a disk without a journal the
# making of files costs many times what it costs on others, in the shared part.
IMAGE_SIZE = 4 << 30
folder = None  # in memory, where there is room


@contextlib.contextmanager
def queue_on(place):
    """Has the mail systems that are made meanwhile their queues in memory, where
    there is room, or on a file system of their own that has a journal: there
    Postfix, too, waits for the disk."""
    global folder
    if place == "memory":
        yield
        return
    with tempfile.TemporaryDirectory(prefix="postern.", dir="/var/tmp") as own:
        image, folder = Path(own, "image"), str(Path(own, "queue"))
        with open(image, "wb") as file:
            file.truncate(IMAGE_SIZE)
        os.mkdir(folder)
        subprocess.run(["/sbin/mkfs.ext4", "-q", image], check=True)
        subprocess.run(["mount", "-o", "loop", image, folder], check=True)
        try:
            os.chmod(own, 0o755)
            yield
        finally:
            subprocess.run(["umount", folder], check=True)


def tool(name, *words):
    """What one of tools/ found out."""
    done = subprocess.run(
        [TOOLS / name, *map(str, words)], capture_output=True, text=True
    )
    assert done.returncode == 0, f"{name}: {done.stderr} {done.stdout}"
    found = json.loads(done.stdout)
    assert found["failed"] == 0, f"{name}: {found}"
    return found


class Mail:
    """Up when made, down at close()."""

    def __init__(self, *options):
        words = [w for value in POSTCONF for w in ("--postconf", value)]
        self.store = Path(tempfile.mkdtemp(prefix="postern.", dir="/var/tmp"))
        self.database = self.store / "postern.db"
        self.box = Sandbox(
            *words, "--set", f"store.database={self.database}", *options,
            folder=folder,
        )  # fmt: skip
        self.processes = []
        try:
            self.key = self.box.env["POSTERN_KEY"]
            self.address = self.box.url.removeprefix("http://")
            self.smtp = {"ours": self.box.env["POSTFIX_SMTP"]}
            self._start_noop()
            for name, milters in MILTERS.items():
                option = f"smtpd_milters = {milters}"
                self.smtp[name] = self.box.add_smtpd(option)
                smtp_source(self.smtp[name], 1, 1, 100)
        except BaseException:
            self.box.failed = True
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.box.failed = self.box.failed or kind is not None
        self.close()

    def close(self):
        for process in self.processes:
            process.terminate()
            process.wait()
        self.box.close()
        shutil.rmtree(self.store)

    def _start(self, *words, ready, **options):
        """Starts a process of ours that ends with us."""
        name = str(words[0])
        log = self.box.dir / "log" / "bench.log"
        with log.open("a") as out:
            process = subprocess.Popen(
                list(map(str, words)), stdout=out, stderr=out, **options
            )
        self.processes.append(process)

        def is_ready():
            assert process.poll() is None, f"{name} ended: {log.read_text()}"
            return ready()

        wait_for(name, is_ready)

    def _start_noop(self):
        self.noop = self.box.dir / "queue/postern/noop.sock"
        self._start(TOOLS / "noop_milter", self.noop, ready=self.noop.exists)
        shutil.chown(self.noop, group="postfix")
        self.noop.chmod(0o660)

    def peer(self, pool, database=""):
        """A peer in front of the smtpd with the idle milter; its address."""
        port = free_port()
        _, _, smtp_port = self.smtp["noop"].partition(":")
        address = f"127.0.0.1:{port}"
        file = items.write(self.path("peer.ready"), [items.request("GET", "/", "")])
        self._start(
            "node", PEER, port, smtp_port, self.key, database,
            env={**os.environ, "PEER_POOL": str(pool), "NODE_ENV": "production"},
            ready=lambda: answers(address, file),
        )
        return address

    def path(self, name):
        return self.box.dir / "run" / name

    def delivered(self):
        return sum(1 for _ in os.scandir(self.box.env["POSTERN_SINK"]))

    def empty_sink(self):
        for entry in os.scandir(self.box.env["POSTERN_SINK"]):
            os.unlink(entry.path)

    def measure(self, count, send):
        """send() has that many messages taken; what it found, and the rates of
        taking and of delivering them."""
        self.empty_sink()
        began = time.monotonic()
        found = send()
        wait_for("the mail", lambda: self.delivered() >= count, 300)
        took = time.monotonic() - began
        return {
            **found,
            "taken": count / found["seconds"],
            "delivered": count / took,
        }

    def cpu(self):
        """CPU seconds so far: of both daemons of ours, and of Postfix."""
        master = int((self.box.dir / "queue/pid/master.pid").read_text())
        ours = sum(cpu_seconds(self.box.pid(p)) for p in ("httpd", "milter"))
        return ours, cpu_seconds(master)


_kept = None  # by mail_of(), for the next group of a smoke test


@contextlib.contextmanager
def mail_of(options, *words):
    """A mail system. Groups that leave it as it was share one in a smoke test, with ROOM and
    without their own words."""
    global _kept
    if not options.smoke:
        with Mail(*words) as mail:
            yield mail
        return
    if not _kept:
        _kept = Mail("--submission", options.submission, *ROOM)
    try:
        yield _kept
    except BaseException:
        _kept.box.failed = True
        raise


def close_kept():
    global _kept
    if _kept:
        _kept.close()
    _kept = None


def answers(address, file):
    """Whether somebody speaks HTTP there."""
    done = subprocess.run(
        [TOOLS / "load", "http", address, "1", "1", file], capture_output=True
    )
    return done.returncode == 0


def smtp_source(address, sessions, count, size):
    """Postfix's own client; each recipient is another one."""
    began = time.monotonic()
    subprocess.run(
        ["smtp-source", "-d", "-N", "-s", str(sessions), "-m", str(count),
         "-l", str(size), "-f", items.STRANGER, "-t", items.RECIPIENT, address],
        check=True,
        capture_output=True,
    )  # fmt: skip
    return {"seconds": time.monotonic() - began}
