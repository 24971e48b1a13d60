"""postern-events reads what journald and rsyslog, as Debian has them, have made of
Postfix's lines."""

import glob
import gzip
import os
import pwd
import shutil
import signal
import subprocess
import sys

import pytest
from harness import wait_for
from harness.sandbox import TREE
from test_events import BUILD, Log, start_reader

JOURNALD = "/lib/systemd/systemd-journald"

# Sends each line of its input as syslog(3) does.
SEND = """
import socket, sys
to = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
to.connect(sys.argv[1])
for line in sys.stdin.buffer:
    to.send(b"<22>" + line.rstrip(b"\\n"))
"""


def send(path, user, text):
    subprocess.run(
        [sys.executable, "-c", SEND, path],
        input=text if isinstance(text, bytes) else text.encode(),
        user=user, group=pwd.getpwnam(user).pw_gid, extra_groups=[], check=True, timeout=60, cwd="/",
    )  # fmt: skip


def syslog_lines(log, emails):
    """Returns the lines of these emails, without the host."""
    return "".join(map(log.lines, emails)).replace(" mail postfix", " postfix")


class Reader:
    def __init__(self, box):
        self.box = box
        self.process = start_reader(box)

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.wait(180)

    def wait(self, delivered):
        sql = "SELECT count(*) FROM event WHERE kind = 'delivered'"
        wait_for(f"{delivered} deliveries", lambda: self.box.sql(sql) == [(delivered,)])

    def check(self, emails):
        sql = "SELECT kind, count(*), count(DISTINCT email) FROM event GROUP BY kind ORDER BY kind"
        kinds = ("accepted", "deferred", "delivered")
        assert self.box.sql(sql) == [(kind, emails, emails) for kind in kinds]


class Journald:
    """A journald in a namespace of its own."""

    def __init__(self, name):
        self.name = name
        self.run = f"/run/systemd/journal.{name}"
        self.socket = f"{self.run}/dev-log"
        os.makedirs("/run/log/journal", exist_ok=True)
        self.start()

    def start(self):
        self.process = subprocess.Popen([JOURNALD, self.name], stderr=subprocess.DEVNULL)
        wait_for(
            "journald",
            lambda: os.path.exists(self.socket) or self.process.poll() is not None,
        )
        if self.process.poll() is not None:
            pytest.skip("journald cannot run here")
        send(self.socket, "postfix", "Nov 22 00:00:00 postfix/master[1]: started\n")
        wait_for("a journal", self.files)
        self.folder = os.path.dirname(self.files()[0])

    def files(self):
        return glob.glob(f"/*/log/journal/*.{self.name}/*.journal")

    def stop(self):
        self.process.terminate()
        self.process.wait(180)
        shutil.rmtree(self.run, ignore_errors=True)

    def remove(self):
        shutil.rmtree(self.folder)


def test_journald(own_box):
    """Only Postfix's user can write valid lines; the journal rotates, and
    disappears."""
    box = own_box()
    box.stop("events")
    log = Log(box, 301)
    journald = Journald(f"pt{os.getpid()}")
    try:
        box.set("events", "source", "journal")
        box.set("events", "journal", journald.folder)
        forged = syslog_lines(log, range(300)).replace("status=sent", "status=bounced")
        send(journald.socket, "nobody", forged)
        send(journald.socket, "postfix", syslog_lines(log, range(100)))
        reader = Reader(box)
        reader.wait(100)
        send(journald.socket, "postfix", syslog_lines(log, range(100, 150)))
        reader.end(signal.SIGKILL)
        journald.process.send_signal(signal.SIGUSR2)  # rotate
        wait_for("the rotation", lambda: len(journald.files()) > 1)
        send(journald.socket, "postfix", syslog_lines(log, range(150, 300)))
        reader = Reader(box)
        reader.wait(300)
        reader.check(300)
        reader.end()
        assert reader.box.sql("SELECT why FROM gap") == []
        # All of it is lost, and noticed.
        journald.stop()
        journald.remove()
        journald.start()
        send(journald.socket, "postfix", syslog_lines(log, [300]))
        reader = Reader(box)
        reader.wait(301)
        reader.check(301)
        reader.end()
        assert reader.box.sql("SELECT why FROM gap") == [("cursor_lost",)]
    finally:
        journald.stop()
        journald.remove()


def test_rsyslog(own_box):
    """Both of its formats give the same events; its escapes of odd bytes are read."""
    box = own_box()
    box.stop("events")
    log = Log(box, 200)
    socket, old, new = (box.dir / "log" / n for n in ("dev-log", "mail.log", "mail.new"))
    conf = box.dir / "rsyslog.conf"
    conf.write_text(
        'module(load="imuxsock" SysSock.Use="off")\n'
        f'input(type="imuxsock" Socket="{socket}" RateLimit.Interval="0")\n'
        f'action(type="omfile" file="{old}" template="RSYSLOG_TraditionalFileFormat")\n'
        f'action(type="omfile" file="{new}" template="RSYSLOG_FileFormat")\n'
    )
    rsyslogd = subprocess.Popen(["rsyslogd", "-n", "-iNONE", "-f", conf])
    try:
        wait_for("rsyslogd", socket.exists)
        box.set("events", "log_file", str(old))
        odd = syslog_lines(log, range(100)).encode()
        odd = odd.replace(b"(later)", b"(caf\xe9 \xc3\xbc \x07 status=sent (250 ok))")
        send(socket, "root", odd)
        reader = Reader(box)
        reader.wait(100)
        # As logrotate does.
        rotated = old.with_name("mail.log.1")
        old.rename(rotated)
        send(socket, "root", syslog_lines(log, range(100, 150)))
        reader.end(signal.SIGKILL)
        rsyslogd.send_signal(signal.SIGHUP)
        send(socket, "root", syslog_lines(log, range(150, 200)))
        reader = Reader(box)
        reader.wait(200)
        reader.check(200)
        reader.end()
        [(text,)] = reader.box.sql("SELECT DISTINCT text FROM event WHERE text LIKE 'caf%'")
        assert "ü" in text and "status=sent (250 ok)" in text
    finally:
        rsyslogd.terminate()
        rsyslogd.wait(180)
    packed = box.dir / "mail.new.gz"
    packed.write_bytes(gzip.compress(new.read_bytes()))
    subprocess.run(
        [TREE / BUILD / "postern-events", "-c", box.config, "--once", packed],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip
    reader.check(200)
