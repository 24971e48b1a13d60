"""check names what keeps mail away besides the lists, beside a Postfix that runs."""

import datetime
import shutil
import signal
import socket
import subprocess
import threading

import pytest
from harness import wait_for
from harness.sandbox import TREE
from test_postfix_conf_probe import Changed, changed, shared  # noqa: F401

pytestmark = [pytest.mark.submission("sendmail"), pytest.mark.scripts]


def said_of(changed):  # noqa: F811
    """Where mail was delivered before, or is put off."""
    box = changed.box
    return subprocess.run(
        [TREE / "postfix-conf/check", "-c", box.dir / "postfix", "-p", box.config],
        capture_output=True, text=True, timeout=200, check=False).stdout


def faults(said):
    """But that the daemons of a sandbox are root's."""
    return [line for line in said.splitlines()
            if line.startswith("WRONG") and "runs as root" not in line]


def line_of(said, text):
    return next(line for line in said.splitlines() if text in line)


@pytest.fixture
def box(shared):  # noqa: F811
    return shared


def test_all_is_well(box):
    said = said_of(Changed(box))
    assert not faults(said)
    assert "good:    postern-httpd is running" in said


@pytest.mark.parametrize("action, text", [
    ("", "WRONG:   another milter, inet:127.0.0.1:1, connection refused: all mail waits for it"),
    ("reject", "WRONG:   another milter, inet:127.0.0.1:1, connection refused: all mail is refused"),
    ("accept", "warning: another milter, inet:127.0.0.1:1, connection refused: mail passes without"),
])
def test_another_milter_is_away(box, changed, action, text):  # noqa: F811
    other = f"{{ inet:127.0.0.1:1, default_action={action} }}" if action else "inet:127.0.0.1:1"
    changed.main_cf(f"smtpd_milters = unix:postern/milter.sock, {other}")
    assert text in said_of(changed)


def test_another_milter_hangs(changed):  # noqa: F811
    """It accepts connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        changed.main_cf(f"smtpd_milters = unix:postern/milter.sock, inet:127.0.0.1:{port}")
        assert f"inet:127.0.0.1:{port}, takes connections, but does not answer" in said_of(changed)


def test_another_milter_is_none(changed):  # noqa: F811
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def serve():
            try:
                while True:
                    server.accept()[0].close()
            except OSError:
                pass

        thread = threading.Thread(target=serve)
        thread.start()
        changed.main_cf(f"smtpd_milters = unix:postern/milter.sock, inet:127.0.0.1:{port}")
        said = said_of(changed)
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
    assert f"inet:127.0.0.1:{port}, is no milter" in said


def test_a_misspelt_socket(box, changed):  # noqa: F811
    changed.main_cf("smtpd_milters = { unix:postern/milter.sokc, default_action=tempfail }")
    said = said_of(changed)
    assert "WRONG:   smtpd_milters has unix:postern/milter.sokc, where no program listens, so all mail" \
        f" waits: postern-milter listens on {box.dir}/queue/postern/milter.sock" in said


def test_a_rule_for_a_sender_that_was_used(changed, email, to, box):  # noqa: F811
    box.httpd().send({**email, "from": "Shop <accounts@example.com>"})
    assert box.sink.find(to=to)
    changed.main_cf("header_checks = regexp:{ {/^From:.*accounts@/ REPLACE From: x@place.test} }")
    assert "header_checks has REPLACE for the field From: emails" in said_of(changed)


@pytest.mark.parametrize("name, mode", [("maildrop", 0o700), ("public", 0o700)])
def test_a_folder_of_the_queue(box, name, mode):
    folder = box.dir / "queue" / name
    before = folder.stat().st_mode & 0o7777
    folder.chmod(mode)
    try:
        said = said_of(Changed(box))
    finally:
        folder.chmod(before)
    line = line_of(said, f"{folder} is ")
    assert line.startswith("WRONG:") and "with mode 700, and not" in line
    assert "postfix set-permissions" in line


def test_the_clock_was_put_back(box, email):
    """The newest email in the store is from the future."""
    email_id = box.httpd().send(email)
    tomorrow = datetime.datetime.now().timestamp() + 86400
    before = box.query(f"SELECT created_us FROM email WHERE id = '{email_id}'")
    box.query(f"UPDATE email SET created_us = {int(tomorrow * 1e6)} WHERE id = '{email_id}'")
    try:
        line = line_of(said_of(Changed(box)), "the clock is")
    finally:
        box.query(f"UPDATE email SET created_us = {before} WHERE id = '{email_id}'")
    assert line.startswith("WRONG:   the clock is 14") and "timedatectl" in line


def test_httpd_is_dead(box):
    address = box.url.removeprefix("http://")
    host, port = address.rsplit(":", 1)
    box.stop("httpd")
    try:
        said = said_of(Changed(box))
        assert "WRONG:   postern-httpd is not running, so that no program can send" in said
        box.set("http", "listen", address)
        with socket.create_server((host, int(port))):
            said = said_of(Changed(box))
        assert f"and another program listens on its address {address}" in said
    finally:
        box.start("httpd")


def test_the_milter_hangs(box):
    box.kill("milter", signal.SIGSTOP)
    try:
        said = said_of(Changed(box))
    finally:
        box.kill("milter", signal.SIGCONT)
    assert "takes connections but does not answer: it was stopped" in said
    wait_for("the milter to go on", lambda: not faults(said_of(Changed(box))))


def test_the_store_is_gone(box):
    """Its directory was removed under daemons that have it open."""
    store = box.dir / "store"
    aside = box.dir / "aside"
    shutil.move(store, aside)
    try:
        said = said_of(Changed(box))
    finally:
        shutil.move(aside, store)
    line = line_of(said, "the folder of the database is missing")
    assert line.startswith("WRONG:") and "postern db restore FILE" in line
