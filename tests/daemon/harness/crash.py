"""Killing programs, at a chosen step or at any, as a crash or a loss of power would."""

import os
import re
import signal
import subprocess
from pathlib import Path

from .wait import wait_for

# What strace(1) says of a thread that ended as it was attached, or that was in a system call: the
# end of that call comes first, and is no step.
HARMLESS = re.compile(
    r"strace: (?:attach: ptrace\(PTRACE_SEIZE, (\d+)\): (?:No such process|Operation not permitted)"
    r"|pid \d+: entering, ptrace_syscall_info\.op == 2)")


def threads_of(pid):
    return os.listdir(f"/proc/{pid}/task")


class Inject:
    """While it is entered, strace(1) does this to the nth system call of this name of each
    thread that the process has now; with follow, also of the threads that it starts meanwhile."""

    def __init__(self, pid, call, n, what, follow=False):
        self.pid = pid
        tids = threads_of(pid)
        traced = ["-f", "-p", str(pid)] if follow else [word for tid in tids for word in ("-p", tid)]
        self.strace = subprocess.Popen(
            ["strace", "-q", "-o", "/dev/null", "-e", f"trace={call}"]
            + ["-e", f"inject={call}:{what}:when={n}", *traced],
            stderr=subprocess.PIPE,
            text=True,
        )
        wait_for("strace", lambda: self._ended() or all(map(self._is_traced, tids)))

    def _ended(self):
        return self.strace.poll() is not None

    def _is_traced(self, tid):
        """Or has ended by now."""
        try:
            with open(f"/proc/{self.pid}/task/{tid}/status") as status:
                return "TracerPid:\t0\n" not in status.read()
        except (FileNotFoundError, ProcessLookupError):
            return True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.strace.kill()  # what it traces goes on by itself
        lines = self.strace.communicate()[1].splitlines()
        complaints = [line for line in lines if not self._is_harmless(line)]
        assert not complaints, complaints

    def _is_harmless(self, line):
        found = HARMLESS.fullmatch(line)
        return found and found.group(1) != str(self.pid)


class KillAt(Inject):
    """The first thread of the process that is about to make its nth system call of this name
    dies, and the process with it; with another signal than SIGKILL it makes the call and gets
    that."""

    def __init__(self, pid, call, n, signal="SIGKILL", follow=False):
        super().__init__(pid, call, n, f"signal={signal}", follow)


class FailAt(Inject):
    """The system call is not made, and fails with this error."""

    def __init__(self, pid, call, n, error="EIO"):
        super().__init__(pid, call, n, f"error={error}")


def died(pid):
    """Whether the process is gone, or only waits to be reaped."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def workers_of(box, program):
    """Process ids of Postfix's daemons of this name in the sandbox."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if words[0].decode() == program and Path(
                os.readlink(folder / "cwd")
            ).is_relative_to(box.dir / "queue"):
                yield int(folder.name)
        except OSError:
            continue


def kill_all(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def master_of(box):
    """The process id of master(8)."""
    return int((box.dir / "queue/pid/master.pid").read_text())


def kill_postfix(box):
    """All of it at once; what master wrote about itself stays."""
    master = master_of(box)
    os.killpg(master, signal.SIGKILL)
    wait_for("master to die", lambda: died(master))


def kill_master(box):
    """Alone: its daemons end by themselves when they have nothing to do."""
    master = master_of(box)
    os.kill(master, signal.SIGKILL)
    wait_for("master to die", lambda: died(master))


PARTS = ("httpd", "milter", "smtpd", "cleanup", "pickup", "master", "postfix", "everything")


def kill(box, part):
    """Kills a part, all of Postfix, or everything that mail goes through; returns when it
    is back."""
    daemons = [part] if part in ("httpd", "milter", "auth", "events") else []
    if part == "everything":
        daemons = [name for name in ("httpd", "milter", "auth") if box.pid(name)]
    pids = {name: box.pid(name) for name in daemons}
    if part in ("postfix", "everything"):
        kill_postfix(box)
    elif part == "master":
        kill_master(box)
    elif not daemons:
        kill_all(workers_of(box, part), signal.SIGKILL)
    for name in daemons:
        box.kill(name)
    for name, pid in pids.items():
        box.wait_for_new(name, pid)
    if part in ("master", "postfix", "everything"):
        box.start("postfix")
