"""Killing a program at a chosen step, as a crash or a loss of power would."""

import os
import subprocess

from .wait import wait_for


def threads_of(pid):
    return os.listdir(f"/proc/{pid}/task")


def is_traced(tid):
    with open(f"/proc/{tid}/status") as status:
        return "TracerPid:\t0\n" not in status.read()


class KillAt:
    """While it is entered, the first thread of the process that is about to make
    its nth system call of this name dies, and the process with it; with another
    signal than SIGKILL it makes the call and gets that."""

    def __init__(self, pid, call, n, signal="SIGKILL"):
        tids = threads_of(pid)
        self.strace = subprocess.Popen(
            ["strace", "-q", "-o", "/dev/null", "-e", f"trace={call}"]
            + ["-e", f"inject={call}:signal={signal}:when={n}"]
            + [word for tid in tids for word in ("-p", tid)],
            stderr=subprocess.PIPE,
            text=True,
        )
        wait_for("strace", lambda: self._ended() or all(map(is_traced, tids)))

    def _ended(self):
        return self.strace.poll() is not None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.strace.kill()  # what it traces goes on by itself
        complaint = self.strace.communicate()[1]
        assert not complaint, complaint


def died(pid):
    """Whether the process is gone, or only waits to be reaped."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True
