"""What the harness promises on a busy machine."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from harness.crash import KillAt
from harness.sandbox import TOOL

pytestmark = pytest.mark.scripts

# Threads that end all the time, beside one that makes system calls.
THREADS = """
import os, threading, time

def start_others():
    while True:
        threads = [threading.Thread(target=time.sleep, args=(0.001,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

threading.Thread(target=start_others).start()
print("ready", flush=True)
while True:
    os.getppid()
    time.sleep(0.001)
"""


def test_threads_may_end_while_they_are_attached():
    for _ in range(10):
        with subprocess.Popen([sys.executable, "-c", THREADS], stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            with KillAt(process.pid, "getppid", 3):
                assert process.wait(180) == -signal.SIGKILL


def test_a_process_that_is_gone_is_a_complaint():
    with subprocess.Popen(["sleep", "infinity"], stdout=subprocess.PIPE) as process:
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        with pytest.raises(AssertionError, match="PTRACE_SEIZE"), KillAt(process.pid, "read", 1):
            pass


@pytest.mark.parametrize("pids, started", [
    ([5], True), ([4, 5], True), ([], False), ([4], False),
    ([5, 4], False),  # an earlier process had the same id
])
def test_whether_a_part_has_started(tmp_path, pids, started):
    (tmp_path / "log").mkdir()
    (tmp_path / "log/httpd.log").write_text("".join(
        f"2026-01-01T00:00:00+00:00 postern-httpd[{pid}] info event=listening address=x\n"
        f"2026-01-01T00:00:00+00:00 postern-httpd[{pid}] info event=stopped\n" for pid in pids))
    script = f". {TOOL}.d/parts.bash; dir={tmp_path} pid=5; has_started httpd"
    assert (subprocess.run(["bash", "-c", script], check=False).returncode == 0) == started


# What pytest says of failures, and what they are for the second try of tests/run: tests of one
# sandbox are one.
FAILURES = """\
FAILED tests/daemon/test_a.py::one[1]@test_a - AssertionError: x - y
FAILED tests/daemon/test_a.py::two@test_a
ERROR tests/daemon/test_a.py::three - AssertionError: no sandbox
ERROR tests/daemon/test_b2.py::one - AssertionError: no sandbox
FAILED tests/daemon/test_c.py::own_box - AssertionError: x
FAILED tests/daemon/test_c.py::other_box
"""


def test_failures_for_the_second_try():
    text = (Path(__file__).parents[1] / "run").read_text()
    start = text.index("failed_groups()")
    function = text[start:text.index("\n}\n", start) + 3]
    said = subprocess.run(["bash", "-c", function + "failed_groups"], input=FAILURES, text=True,
                          capture_output=True, check=True, timeout=180).stdout  # fmt: skip
    assert said.split() == [
        "test_a", "test_b2", "tests/daemon/test_c.py::other_box", "tests/daemon/test_c.py::own_box"
    ]  # fmt: skip
