"""A Postfix that an admin has set up, and the documents' commands run beside it."""

import json
import os
import re
import shlex
import subprocess
import sys

from machine import LIMIT, TOP, Machine, wait_for

sys.path.insert(0, str(TOP / "tests/daemon"))
from harness.documented import commands, section_of  # noqa: E402

BUILD = TOP / os.environ.get("BUILD", "build")
SUITE = os.environ.get("SUITE", "bookworm")
PACKAGES = BUILD / ("deb" if SUITE == "bookworm" else f"deb-{SUITE}")
UNITS = ("postern-milter", "postern-httpd", "postern-events", "postern-webhook", "postern-held")
POSTFIX_FILES = ("/etc/postfix/main.cf", "/etc/postfix/master.cf")
SINK = "/run/sink"

# A live Postfix: a relay, transport maps, tables, a service of its own in master.cf.
ADMIN_SETUP = rf"""
postconf -e 'relayhost = [127.0.0.1]:2525' 'header_checks = regexp:/etc/postfix/checks' \
    'transport_maps = inline:{{ {{other.test = smtp:[127.0.0.1]:2525}} }}'
echo '/^X-None:/ IGNORE' >/etc/postfix/checks
echo '# The admin wrote this.' >>/etc/postfix/main.cf
postconf -M 'submission/inet=submission inet n - y - - smtpd'
install -d -m 777 {SINK}
printf '[Service]\nExecStart=smtp-sink -u nobody -d {SINK}/mail. 127.0.0.1:2525 100\n' \
    >/run/systemd/system/sink.service
systemctl daemon-reload && systemctl start sink && systemctl restart postfix
"""
# Debian 13 configures Postfix without a certificate.
CERTIFICATE = "/etc/ssl/private/admin.pem"
if SUITE != "bookworm":
    ADMIN_SETUP += rf"""
openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=vm -keyout {CERTIFICATE} -out - >>{CERTIFICATE}
postconf -e smtpd_tls_chain_files={CERTIFICATE}
"""


def start_machine(purpose, *binds):
    """A machine with such a Postfix. `purpose` is that of tests/package/root."""
    root = subprocess.run([TOP / "tests/package/root", SUITE, purpose], check=True,
                          capture_output=True, text=True).stdout.strip()  # fmt: skip
    machine = Machine(f"postern-{purpose}-{os.getpid()}", root, *binds)
    try:
        machine.run(ADMIN_SETUP)
        machine.original = machine.bytes(*POSTFIX_FILES)
        machine.names = {}
    except BaseException:
        machine.stop()
        raise
    return machine


def put_files(machine, file, heading):
    """Appends each file that the section shows; its first line has its name."""
    for text in section_of(file, heading)[1]:
        name = text.splitlines()[0].removeprefix("# ")
        machine.run(f"mkdir -p $(dirname {name}) && cat >>{name}", input=text)


def follow(machine, file, heading, before="", limit=LIMIT):
    """Runs each command as it is written, but for the ids and the key that the ones
    before have printed. `before` goes in front of each, and may define functions."""
    said = ""
    for command in commands(file, heading):
        if command == "make deb":  # which came before this test
            continue
        for name, value in machine.names.items():
            command = re.sub(rf"\b{name}\b", value, command)
        # Warnings are no failure of the command.
        done = machine.run(before + command, input="y\n", check="postern doctor" not in command,
                           limit=limit)
        assert "WRONG:" not in done.stdout, done.stdout
        if "systemctl stop" in command or "disable --now" in command:
            # With cgroups of version 1, systemd in a container waits for the first process of
            # a unit only.
            wait_for("postern-held to end", lambda: machine.holds(
                "systemctl is-active postern-held || ! pgrep -x postern-held"))
        said += done.stdout
        if found := re.search(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", done.stdout):
            if "curl" in command:
                machine.names["ID"] = found[0]
        if found := re.search(r"\bps_\S+", done.stdout):
            machine.names["KEY"] = found[0]
    return said


def states(machine, what="is-active"):
    return machine.run(f"systemctl {what} " + " ".join(UNITS), check=False).stdout.split()


def delivered(machine, text):
    """How many messages with the text have left this Postfix."""
    return int(machine.said(f"grep -ls -- {shlex.quote(text)} {SINK}/mail.* | wc -l"))


def send(machine, subject, url="http://127.0.0.1:8587"):
    """By HTTP; the answer and its status, which is 000 while nobody listens."""
    body = json.dumps({"from": "shop@example.com", "to": "you@example.net",
                       "subject": subject, "text": "Hello."})  # fmt: skip
    return machine.run(
        f"curl -s -w ' %{{http_code}}' -H 'Authorization: Bearer {machine.names['KEY']}' "
        f"-H 'Content-Type: application/json' -d {shlex.quote(body)} "
        f"{url}/emails", check=False,
    ).stdout  # fmt: skip


def remains(machine):
    """Files that have our name, but for logs and dpkg's own."""
    return machine.said("find / -xdev -name '*postern*' -not -path '/root/*' -not -path '/proc/*' "
                        "-not -path '/var/log/*' -not -path '/var/lib/dpkg/*' "
                        "-not -path '/var/lib/systemd/*' | sort").splitlines()  # fmt: skip
