"""tools/sandbox in a terminal."""

import os
import pty
import re
import signal
import subprocess
from pathlib import Path

import pytest
from harness.sandbox import TOOL

# Ends well when it is interrupted or terminated, as tools/demo does.
COMMAND = """
sleep infinity &
trap 'kill $!; exit 0' INT TERM
echo "ready in $POSTERN_DIR."
wait $! || true
"""


def read_until(terminal, pattern=None):
    """What the terminal shows up to the pattern, or to its end."""
    shown = ""
    while not (pattern and re.search(pattern, shown)):
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # nobody has it open any more
            break
        if not piece:
            break
        shown += piece.decode()
    return shown


class InTerminal:
    """`tools/sandbox run`, as the leader of a session with its own terminal."""

    def __init__(self):
        self.terminal, other = pty.openpty()
        words = ["setsid", "-c", TOOL, "run", "--", "bash", "-c", COMMAND]
        self.process = subprocess.Popen(words, stdin=other, stdout=other, stderr=other)
        os.close(other)
        shown = read_until(self.terminal, r"ready in \S+\.\s")
        self.folder = Path(re.search(r"ready in (\S+)\.\s", shown)[1])

    def stop(self, how):
        if how == "Ctrl-C":
            os.write(self.terminal, b"\x03")
        else:
            self.process.send_signal(signal.SIGTERM)
        shown = read_until(self.terminal)
        os.close(self.terminal)
        return self.process.wait(timeout=180), shown


@pytest.mark.parametrize("how", ["Ctrl-C", "Ctrl-C", "Ctrl-C", "SIGTERM"])
def test_a_stopped_run_leaves_nothing(how):
    run = InTerminal()
    assert run.folder.is_dir()
    status, shown = run.stop(how)
    assert (status, run.folder.exists()) == (0, False), shown
