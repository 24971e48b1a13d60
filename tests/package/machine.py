"""A Debian of its own, in namespaces, with systemd as its first process.

Its root is that of tests/package/root, below a layer in memory: nothing stays.
It has no network but its loopback.
"""

import contextlib
import os
import shlex
import signal
import subprocess
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
# More than any step takes on two busy cores.
LIMIT = 180


def wait_for(what, condition):
    """What the condition gives, once it is true."""
    end = time.monotonic() + LIMIT
    while not (found := condition()):
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.1)
    return found


class Machine:
    """Commands run in it as root, in the folder /root/postern. `binds` are options of
    systemd-nspawn, which put something there."""

    def __init__(self, name, root, *binds):
        self.folder = "/root/postern"
        self.nspawn = subprocess.Popen(
            ["setpriv", "--pdeathsig", "TERM", "systemd-nspawn", "--quiet", "--boot",
             "--register=no", "--keep-unit", "--private-network", "--resolv-conf=off",
             "--console=pipe", "--volatile=overlay", f"--machine={name}",
             f"--directory={root}", *binds],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self.pid = None
        children = Path(f"/proc/{self.nspawn.pid}/task/{self.nspawn.pid}/children")

        def is_up():
            assert self.nspawn.poll() is None, self.nspawn.stdout.read().decode()
            self.pid = next(iter(children.read_text().split()), None)
            return self.pid and "running" == self.run(
                "systemctl is-system-running", check=False).stdout.strip()  # fmt: skip

        try:
            wait_for("systemd to be up", is_up)
        except BaseException:
            self.stop()
            raise

    def stop(self):
        """At once: nothing of it is needed any more."""
        with contextlib.suppress(ProcessLookupError, TypeError):
            os.kill(int(self.pid), signal.SIGKILL)
        self.nspawn.kill()
        self.nspawn.communicate()

    def run(self, command, check=True, input="", limit=LIMIT):
        """What a shell says to the command."""
        inner = f"cd {self.folder} && {command}"
        done = subprocess.run(
            ["nsenter", "-t", self.pid, "-a", "env", "-i", "HOME=/root", "LC_ALL=C.UTF-8",
             "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
             "DEBIAN_FRONTEND=noninteractive", "bash", "-c", inner],
            input=input, capture_output=True, text=True, timeout=limit,
        )  # fmt: skip
        if check:
            assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done

    def said(self, command, **more):
        return self.run(command, **more).stdout.strip()

    def holds(self, command):
        return self.run(command, check=False).returncode == 0

    def bytes(self, *paths):
        """Of files, with their owners and modes."""
        named = shlex.join(paths)
        return self.said(f"stat -c '%n %U:%G %a' {named}; sha256sum {named}")

    @contextlib.contextmanager
    def doing(self, command):
        """Something in the background, which ends when it finds /run/enough."""
        self.run("rm -f /run/enough")
        process = subprocess.Popen(
            ["nsenter", "-t", self.pid, "-a", "bash", "-c", command], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            yield
        finally:
            self.run("touch /run/enough")
            process.wait(timeout=LIMIT)
