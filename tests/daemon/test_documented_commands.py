"""The commands of README.md and doc/OPERATING.md, word for word. Those of the installation run in
tests/package. RUN_BY names the test of each section."""

import contextlib
import json
import os
import re
import signal
import subprocess

import pytest
from harness import wait_for
from harness.documented import commands, sections
from harness.sandbox import BUILD, TREE, unique

PACKAGE = "tests/package/test_package.py"
HERE = "tests/daemon/test_documented_commands.py"
RUN_BY = {
    "README.md": {
        "Postern": (None, "a picture"),
        "Try it": (HERE, "test_try_it"),
        "A first email": (HERE, "test_a_first_email"),
        "Install it beside Postfix": (PACKAGE, "test_the_commands_of_the_readme"),
    },
    "doc/INSTALL.md": {
        "The Debian package": (PACKAGE, "test_installing_changes_nothing_in_postfix"),
        "Upgrade": (PACKAGE, "test_the_commands_after_an_upgrade"),
        "Remove": (PACKAGE, "test_removal"),
        "Behind a proxy": (PACKAGE, "test_behind_a_proxy"),
        "nginx": (PACKAGE, "test_behind_a_proxy"),
        "HAProxy": (PACKAGE, "test_behind_a_proxy"),
        "Caddy": (PACKAGE, "test_behind_a_proxy"),
        "Programs that send over SMTP": (PACKAGE, "test_over_smtp"),
        "Firewall": (PACKAGE, "test_what_listens"),
        "Backup and restore": (PACKAGE, "test_backup_and_restore"),
        "RPM": ("tests/package/test_from_source.py", "test_the_rpm"),
        "A container": ("tests/package/test_container.py", "test_the_documented_commands"),
        "From source": ("tests/package/test_from_source.py", "test_from_source"),
    },
    "doc/OPERATING.md": {
        "Watch": (HERE, "test_the_state_on_one_screen"),
        "Did that mail go out?": (HERE, "test_did_that_mail_go_out"),
        "Sign mail": ("tests/daemon/test_dkim.py", "test_a_key_from_its_making_to_its_end"),
        "Webhooks": (HERE, "test_webhooks"),
        "Suppressed addresses": (HERE, "test_suppressed_addresses"),
    },
}

# The sandbox has its own settings, and the tests run as root.
INSTALLED = """
. {}/env
sudo() {{ "$@"; }}
postern() {{ "$POSTERN_CLI" -c "$POSTERN_CONFIG" "$@"; }}
"""


@contextlib.contextmanager
def started(script):
    shell = subprocess.Popen(
        ["bash", "-ec", script], cwd=TREE, env={**os.environ, "no_proxy": "*"}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    try:
        yield shell
    finally:
        if shell.poll() is None:
            os.killpg(shell.pid, signal.SIGKILL)
        shell.communicate()


def output_of(script):
    with started(script) as shell:
        output, errors = shell.communicate(timeout=180)
        assert shell.returncode == 0, f"{script}\n{output}{errors}"
    return output


def operate(box, command, **names):
    """Returns what the command prints with these ids."""
    for name, value in names.items():
        command = re.sub(rf"\b{name}\b", value, command)
    return output_of(INSTALLED.format(box.dir) + command)


@pytest.mark.parametrize("file", RUN_BY)
def test_every_section_with_commands_has_a_test(file):
    assert sorted(sections(file)) == sorted(RUN_BY[file])
    for heading, (path, name) in RUN_BY[file].items():
        if path:
            _, found, rest = (TREE / path).read_text().partition(f"\ndef {name}(")
            assert found, name
            if "test_dkim" not in path:
                assert f'"{heading}"' in rest.partition("\ndef ")[0], heading


@pytest.mark.parametrize("n", range(3))
def test_try_it(n):
    """Up to the last line, by which the demonstration has done all that it does."""
    tried = list(commands("README.md", "Try it"))
    assert tried[3:] == ["make test"]  # this test is part of it
    with started(f"exec env BUILD={BUILD} {tried[n]}") as shell:
        lines = []
        for line in shell.stdout:
            lines.append(line)
            if "/login?token=" in line and "demo" not in tried[n]:
                os.killpg(shell.pid, signal.SIGINT)  # Ctrl-C
                shell.communicate(timeout=180)
                return
        assert shell.wait() == 0 and "demo" in tried[n], "".join(lines)
        assert any("delivered" in line for line in lines)


def test_a_first_email(box):
    variables, send, answer, read, program, form = commands("README.md", "A first email")
    variables = variables.replace("/tmp/postern.XXXXXX", str(box.dir)) + "\n"
    sent = json.loads(output_of(variables + send))
    shown = json.loads(answer)
    assert sent.keys() == shown.keys()
    read = variables + read.replace(shown["id"], sent["id"])
    wait_for("the delivery", lambda: json.loads(output_of(read))["last_event"] == "delivered")
    # tests/clients has such programs.
    assert program.endswith(" node your-program.js")
    assert json.loads(output_of(variables + form)).keys() == {"id", "message"}


def test_the_state_on_one_screen(box):
    status, doctor, _ = commands("doc/OPERATING.md", "Watch")
    assert doctor.startswith("sudo postern doctor ")  # see test_doctor.py
    assert "postern-milter" in operate(box, status)


def test_did_that_mail_go_out(box, email, tmp_path):
    show, find, watch = commands("doc/OPERATING.md", "Did that mail go out?")
    email["to"] = "ann@example.net"
    email_id = box.httpd().send(email)
    assert "ann@example.net" in operate(box, show, ID=email_id)
    assert email_id in operate(box, find)
    seen, to = tmp_path / "seen", f"{unique('watched')}@dst.test"
    with started(f"exec >{seen}\n{INSTALLED.format(box.dir)}{watch}"):

        def is_seen():
            # Only what happens from now on is shown.
            box.httpd().send({**email, "to": to})
            return seen.exists() and to in seen.read_text()

        wait_for("its events", is_seen)


def test_webhooks(box, email):
    listed, events, attempts, log = commands("doc/OPERATING.md", "Webhooks")
    assert log == "journalctl -u postern-webhook"
    [company] = [d["company_id"] for d in box.cli("domain", "list") if d["name"] == "example.com"]
    hook = box.cli("webhook", "add", "--company", company, "--endpoint", "https://hooks.test/",
                   "--events", "email.sent,email.delivered")["id"]
    try:
        box.httpd().send(email)
        [event, *_] = wait_for("an event", lambda: box.cli("webhook", "events", hook))
        assert "hooks.test" in operate(box, listed)
        assert event["id"] in operate(box, events, ID=hook)
        wait_for("an attempt", lambda: box.cli("webhook", "attempts", hook, "--event", event["id"]))
        assert operate(box, attempts, ID=hook, EVENT=event["id"]).count("\n") >= 2
    finally:
        box.cli("webhook", "remove", hook)


def test_suppressed_addresses(box):
    listed, remove = commands("doc/OPERATING.md", "Suppressed addresses")
    company = box.company()
    box.cli("suppression", "add", "ann@example.net", "--company", company)
    assert "ann@example.net" in operate(box, listed, ID=company)
    operate(box, remove, ID=company)
    assert "ann@example.net" not in operate(box, listed, ID=company)
