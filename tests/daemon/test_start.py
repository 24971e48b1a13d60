"""What the programs refuse to start with."""

import os
import random
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from harness import wait_for
from harness.sandbox import BUILD, TREE
from harness.submit import ticket_of
from test_postfix_conf import empty_database

PROGRAMS = ("postern-httpd", "postern-milter", "postern")


@pytest.fixture
def house(box, tmp_path_factory):
    """Programs, settings and a database of the user nobody."""
    folder = tmp_path_factory.mktemp("house")
    for parent in (folder, *folder.parents[:2]):
        parent.chmod(0o755)
    for name in PROGRAMS:
        shutil.copy(Path(box.env["POSTERN_CLI"]).with_name(name), folder)
    (folder / "db").mkdir()
    shutil.chown(folder / "db", "nobody")
    (folder / "conf").write_text(
        f"[store]\ndatabase = {folder}/db/postern.db\n"
        f"[milter]\nsocket = {folder}/db/socket\n")
    shutil.copy(empty_database(), folder / "db/postern.db")
    shutil.chown(folder / "db/postern.db", "nobody")
    return folder


def run(folder, program, *words, user="nobody"):
    return subprocess.run([folder / program, "-c", folder / "conf", *words], user=user,
                          capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("name, owner, mode, says", [
    ("db/postern.db", "root", 0o644, "the user nobody may not read and write the database"),
    ("db", "nobody", 0o555, "may not make files in the folder of the database"),
])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_database_that_cannot_be_written(house, program, name, owner, mode, says):
    """It is said whose it is, and what mends it."""
    shutil.chown(house / name, owner)
    (house / name).chmod(mode)
    done = run(house, program, *(["company", "list"] if program == "postern" else []))
    assert done.returncode == 78
    mend = f"chmod u+rwx {house / name}" if owner == "nobody" else f"chown nobody {house / name}"
    for part in (says, f"belongs to {owner}, with mode", mend):
        assert part in done.stderr


@pytest.mark.parametrize("descriptors", range(12, 28))
def test_too_few_descriptors(house, descriptors):
    """Wherever they run out, a supervisor may try again, and a line says why."""
    with (house / "conf").open("a") as conf:
        conf.write("[http]\nlisten = 127.0.0.1:0\nworkers = 64\n[admin]\nlisten =\n")
    done = subprocess.run(
        ["prlimit", f"--nofile={descriptors}", house / "postern-httpd",
         "-c", house / "conf"],
        capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 75, done.stderr
    lines = done.stderr.splitlines()
    assert lines and all(" event=" in line for line in lines)


@pytest.mark.parametrize("section", ["http", "admin"])
def test_a_port_that_is_taken(house, section):
    """The log names it and the setting; postfix-conf/check says who may have it. One
    listener alone is not opened: that of admins could be somebody else's."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = f"127.0.0.1:{other.getsockname()[1]}"
        listen = {"http": "127.0.0.1:0", "admin": "", section: taken}
        with (house / "conf").open("a") as conf:
            conf.writelines(f"[{name}]\nlisten = {value}\n" for name, value in listen.items())
        done = run(house, "postern-httpd")
    assert done.returncode in (75, 78)
    assert f"{section}.listen: cannot listen on {taken}: Address already in use" in done.stderr
    assert "event=start_failed" in done.stderr and "event=listening" not in done.stderr


@pytest.mark.submission("smtp")
def test_a_second_httpd(own_box, email, to):
    """Started by accident, it ends before it takes over what the first one has in hand."""
    box = own_box("--set", "submission.record_wait=100ms")
    milter = box.pid("milter")
    os.kill(milter, signal.SIGSTOP)
    email_id = box.httpd().send(email)
    ticket = ticket_of(box, email_id)
    done = subprocess.run([TREE / BUILD / "postern-httpd", "-c", box.config],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 75 and "Address already in use" in done.stderr
    assert "event=outbox_opened" not in done.stderr
    os.kill(milter, signal.SIGCONT)
    box.sink.find(to=to)
    assert ticket_of(box, email_id) == ticket


SERVICES = {
    "httpd": ["postern-httpd"],
    "milter": ["postern-milter"],
    "events": ["postern-events"],
    "webhook": ["postern-webhook"],
    "auth": ["postern-auth"],
    "held": ["postern", "held", "serve"],
}
REPEATS = int(os.environ.get("POSTERN_TEST_RELOADS", "2"))


def hang_up_early(process):
    """Five times, at random moments of its first 100 ms, a moment after each other: a signal on
    the heels of another may end the milter, see its main.c."""
    start = time.monotonic()
    for moment in (random.uniform(0.02 * n, 0.02 * n + 0.01) for n in range(5)):
        time.sleep(max(0, start + moment - time.monotonic()))
        process.send_signal(signal.SIGHUP)


@pytest.mark.submission("sendmail")
def test_a_reload_during_the_start(own_box, tmp_path):
    """As soon as main() runs, a SIGHUP no longer ends a daemon. Before, nothing of it can: so it
    inherits a blocked SIGHUP here, and systemd waits with a reload for READY=1 (Type=notify)."""
    box = own_box(parts=["webhook", "auth", "held"])
    notify = str(tmp_path / "notify")
    for part, (program, *words) in SERVICES.items():
        box.stop(part)
        command = [TREE / BUILD / program, "-c", box.config, *words]
        for _ in range(REPEATS):
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:
                ready.bind(notify)
                ready.settimeout(60)
                before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])
                process = subprocess.Popen(command, env={**os.environ, "NOTIFY_SOCKET": notify},
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
                try:
                    hang_up_early(process)
                    assert ready.recv(100) == b"READY=1", part
                    hang_up_early(process)
                    assert process.poll() is None, part
                    process.terminate()
                    assert process.wait(180) == 0, part
                finally:
                    process.kill()
                    process.wait(180)
            os.unlink(notify)
        box.start(part)
    # The process without rights ends with the one that has root's.
    children = Path(f"/proc/{box.pid('held')}/task/{box.pid('held')}/children")
    (helped,) = wait_for("the process without rights", lambda: children.read_text().split())
    box.kill("held")
    wait_for("the end of both", lambda: not Path(f"/proc/{helped}").exists())
