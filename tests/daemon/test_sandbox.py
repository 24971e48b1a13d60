"""tools/sandbox in a terminal."""

import os
import pty
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest
import requests
from harness import Sandbox, wait_for
from harness.sandbox import TOOL, unique

pytestmark = pytest.mark.scripts

# Ends well when it is interrupted or terminated, as tools/demo does.
COMMAND = """
sleep infinity &
trap 'kill $!; exit 0' INT TERM
echo "ready in $POSTERN_DIR."
wait $! || true
"""


def read_until(terminal, pattern=None):
    """Returns the text of the terminal up to the pattern, or to its end."""
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


DEMO = [TOOL.parent / "demo", "--serve"]
SHELL = ["bash", "-c", COMMAND]


class InTerminal:
    """`tools/sandbox run`, as the leader of a session with its own terminal."""

    def __init__(self, command, *options):
        self.terminal, other = pty.openpty()
        # As a shell starts it, whatever this process was told to ignore.
        words = ["env", "--default-signal", "setsid", "-c", TOOL, "run", *options, "--", *command]
        self.process = subprocess.Popen(words, stdin=other, stdout=other, stderr=other)
        os.close(other)
        pattern = r"(?:ready in|Logs:) +(/\S+?)(?:/log)?\.?\s"
        self.shown = read_until(self.terminal, pattern)
        if command is DEMO and "Ctrl-C stops" not in self.shown:
            self.shown += read_until(self.terminal, "Ctrl-C stops")
        self.folder = Path(re.search(pattern, self.shown)[1])

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
    run = InTerminal(SHELL)
    assert run.folder.is_dir()
    status, shown = run.stop(how)
    assert (status, run.folder.exists()) == (0, False), shown


def processes_of(folder):
    """Returns the command lines that name the directory."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if f"{folder}/" in words or words.rstrip().endswith(str(folder)):
            found.append(words)
    return found


def check_nothing_is_left(folder):
    wait_for(f"{folder} to go", lambda: not folder.exists())
    wait_for("its processes to end", lambda: not processes_of(folder))


def close_terminal(run):
    os.close(run.terminal)


def close_terminal_while_it_ends(run):
    run.process.send_signal(signal.SIGTERM)
    os.close(run.terminal)


def interrupt_twice(run):
    os.write(run.terminal, b"\x03")
    os.write(run.terminal, b"\x03")


def terminate_twice(run):
    run.process.send_signal(signal.SIGTERM)
    run.process.send_signal(signal.SIGTERM)


def hang_up_alone(run):
    """Signals the process, not its group."""
    run.process.send_signal(signal.SIGHUP)


WAYS = [
    close_terminal,
    close_terminal_while_it_ends,
    interrupt_twice,
    terminate_twice,
    hang_up_alone,
]


@pytest.mark.parametrize("how", WAYS)
def test_a_demo_that_is_stopped_leaves_nothing(how):
    run = InTerminal(DEMO)
    assert "POSTERN_KEY" in (run.folder / "env").read_text()
    how(run)
    check_nothing_is_left(run.folder)
    run.process.wait(timeout=180)


def test_what_the_demo_prints_can_be_pasted():
    run = InTerminal(DEMO)
    shown = run.shown.replace("\r\n", "\n")
    lines = re.search(r"In another terminal:\n\n(.*?)\nPOSTERN_URL: ", shown, re.S)[1]
    done = subprocess.run(["bash", "-e"], input=lines, capture_output=True, text=True)
    # The link opens the dashboard, once.
    link = re.search(r"^(http://\S+)/#/login\?token=(\S+)$", shown, re.M)
    browser = requests.Session()
    browser.trust_env = False
    page = browser.get(link[0], timeout=60)
    assert "<title>Postern</title>" in page.text
    press = {"url": link[1] + "/admin/session/link", "json": {"token": link[2]},
             "headers": {"Origin": link[1]}, "timeout": 60}
    assert browser.post(**press).status_code == 200
    me = browser.get(link[1] + "/admin/session", timeout=60).json()
    assert me["login"] in shown and me["company_id"] is None
    browser.cookies.clear()
    assert browser.post(**press).status_code == 401
    assert (done.returncode, run.stop("Ctrl-C")[0]) == (0, 0), done.stderr
    sent, rows = re.match(r'({"id":"[^"]*"}{"object":"email",.*?)(CREATED .*)', done.stdout,
                          re.S).groups()
    assert '"to":["ann@dst.test"]' in sent and rows.count("ann@dst.test") == 2
    lines = [line for line in shown.split("\n") if line != link[0]]
    assert max(map(len, lines)) <= 80


def test_it_ends_with_its_owner():
    """Its parent, such as make, is killed and cannot signal it."""
    owner = subprocess.Popen(["sleep", "infinity"])
    run = InTerminal(DEMO, "--while", str(owner.pid))
    owner.kill()
    owner.wait()
    check_nothing_is_left(run.folder)
    assert run.process.wait(timeout=180) == 0


def test_a_sandbox_ends_with_its_owner():
    """The sandbox of a test ends with the test, however that ends."""
    owner = subprocess.Popen(["sleep", "infinity"])
    folder = Path(tempfile.mkdtemp(prefix="postern.", dir="/tmp"))
    subprocess.run([TOOL, "up", folder, "--while", str(owner.pid)], check=True, timeout=180)
    assert processes_of(folder)
    owner.kill()
    owner.wait()
    check_nothing_is_left(folder)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_stopped_while_it_starts(number):
    """The whole group gets the signal while some parts run."""
    run = subprocess.Popen(
        ["env", "--default-signal", TOOL, "run", "--", "false"],
        start_new_session=True, stderr=subprocess.PIPE,
    )
    folder = wait_for("its folder", lambda: own_folder(run.pid))
    wait_for("the milter", lambda: (folder / "milter.pid").exists())
    os.killpg(run.pid, number)
    run.communicate(timeout=300)
    check_nothing_is_left(folder)


def own_folder(pid):
    """The argument of `sandbox up`, a child of the process."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    for child in children:
        try:
            words = Path(f"/proc/{child}/cmdline").read_bytes().decode().split("\0")
        except OSError:  # it has ended
            continue
        if "up" in words:
            return Path(words[words.index("up") + 1])
    return None


def test_ports_stay_reserved_while_a_part_is_down():
    """Of two sandboxes with barely enough ports, neither takes one of the other."""
    os.environ["POSTERN_SANDBOX_PORTS"] = "19000-19009"
    try:
        with Sandbox() as one:
            for part in ("httpd", "sink", "postfix"):
                one.stop(part)
            with Sandbox() as other:
                for part in ("sink", "postfix", "httpd"):
                    one.start(part)
                ports = [requests.compat.urlparse(box.env[name]).port for box in (one, other)
                         for name in ("POSTERN_URL", "POSTERN_ADMIN_URL")]
                assert len(set(ports)) == 4
                to = unique("to") + "@dst.test"
                one.httpd().send({"from": "hello@example.com", "to": to, "text": "Hello"})
                assert one.sink.find(to=to)
        with Sandbox(), Sandbox(), pytest.raises(AssertionError, match="no port is free"):
            Sandbox()
    finally:
        del os.environ["POSTERN_SANDBOX_PORTS"]


def test_output_that_nobody_reads():
    run = subprocess.Popen(
        [TOOL, "run", "--", "bash", "-c", "echo $POSTERN_DIR; yes"],
        stdout=subprocess.PIPE,
        text=True,
    )
    folder = Path(run.stdout.readline().strip())
    run.stdout.close()
    check_nothing_is_left(folder)
    run.wait(timeout=180)


def test_files_of_a_failure_stay():
    done = subprocess.run(
        [TOOL, "run", "--", "bash", "-c", "echo $POSTERN_DIR; exit 7"],
        capture_output=True,
        text=True,
        timeout=180,
    )
    folder = Path(done.stdout.strip())
    assert done.returncode == 7
    assert f"kept in {folder}" in done.stderr
    assert (folder / "log").is_dir()
    shutil.rmtree(folder)
