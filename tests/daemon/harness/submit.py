"""Mail that comes to Postfix past httpd, byte for byte as a test has it."""

import re
import smtplib
import socket
import subprocess

from .sandbox import unique
from .wait import wait_for


class Submitted:
    """What Postfix and the milter made of a message, found by its id."""

    def __init__(self, box, message_id, reply=None):
        self.box = box
        self.message_id = message_id
        self.reply = reply  # (code, text) of SMTP

    def queue_id(self):
        found = re.search(
            rf"cleanup\[\d+\]: (\w+): message-id={re.escape(self.message_id)}",
            self.box.log("postfix"),
        )
        return found and found.group(1)

    def verdict(self):
        """The milter's line about it, as a dictionary; waits for it."""
        queue_id = wait_for(f"Postfix to have {self.message_id}", self.queue_id)
        line = wait_for(
            f"the verdict on {queue_id}",
            lambda: re.search(rf".*queue_id={queue_id} .*", self.box.log("milter")),
        )
        return dict(re.findall(r'(\w+)=("[^"]*"|\S*)', line.group(0)))


def by_sendmail(box, message_id, sender, recipients, data):
    subprocess.run(
        ["/usr/sbin/sendmail", "-C", box.env["POSTFIX_CONFIG"], "-i", "-f", sender, "--"]
        + recipients,
        input=data,
        check=True,
        timeout=180,
    )
    return Submitted(box, message_id)


def by_nobody(box, message_id, sender, recipients, data):
    """By sendmail(1) as an ordinary user. postdrop(1) asks the host's main.cf whether it may
    use the sandbox: it finds one of its own there."""
    box.dir.chmod(0o755)
    script = (
        "mount -t tmpfs -o mode=755 tmpfs /etc/postfix"
        ' && echo "alternate_config_directories = $0" >/etc/postfix/main.cf'
        " && exec setpriv --reuid nobody --regid nogroup --clear-groups"
        ' /usr/sbin/sendmail -C "$0" -i "$@"'
    )
    subprocess.run(
        ["unshare", "-m", "sh", "-c", script, box.env["POSTFIX_CONFIG"], "-f", sender, "--"]
        + recipients,
        input=data,
        check=True,
        timeout=180,
    )
    return Submitted(box, message_id)


def by_smtp(
    box, message_id, sender, recipients, data, elsewhere=False, client=None, port=None
):
    """elsewhere: as if from a host that is not internal; client: as if from the
    one with these attributes of XCLIENT; port: another one than Postfix's."""
    if elsewhere:
        client = "ADDR=192.0.2.1 NAME=mx.example.net"
    host, usual = box.env["POSTFIX_SMTP"].split(":")
    with smtplib.SMTP(host, port or int(usual), timeout=180) as session:
        return in_session(session, box, message_id, sender, recipients, data, client)


class ByService(smtplib.SMTP):
    """By the service that httpd submits to, which its user and root may."""

    def _get_socket(self, host, port, timeout):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(timeout)
        connection.connect(host)
        return connection


def by_service(box, message_id, sender, recipients, data):
    path = str(box.dir / "queue/public/postern")
    with ByService(path, 1, "localhost", timeout=180) as session:
        return in_session(session, box, message_id, sender, recipients, data)


def in_session(session, box, message_id, sender, recipients, data, client=None):
    if client:
        session.ehlo()
        assert session.docmd("XCLIENT", client)[0] == 220
    session.ehlo()
    utf8 = "" if (sender + "".join(recipients)).isascii() else " SMTPUTF8"
    session.command_encoding = "utf-8"
    for command in [f"MAIL FROM:<{sender}>{utf8}"] + [f"RCPT TO:<{r}>" for r in recipients]:
        code, text = session.docmd(command)
        assert code == 250, (command, code, text)
    reply = session.data(data.replace(b"\n", b"\r\n"))
    return Submitted(box, message_id, reply)


# For everybody; and with the service, which is there where httpd submits by SMTP.
WAYS = {"sendmail": by_sendmail, "smtp": by_smtp}
ALL_WAYS = {**WAYS, "service": by_service}

# The ways on which the emails of httpd come, by the method of submission.
OWN_WAYS = {"sendmail": "sendmail", "smtp": "service"}


def ticket_of(box, email_id):
    """The ticket of an email, as if somebody stole it."""
    return box.query(f"SELECT ticket FROM email WHERE id = '{email_id}'")


def ticket_address(ticket):
    return f"{ticket}@postern.invalid"


def plain(box, way, sender, to, header_from=None, **options):
    """A small honest message from the sender, or with that From; what became of
    it. Of an SMTP client it has a reply."""
    message_id = f"<{unique('plain')}@made.test>"
    data = (
        f"From: {header_from or sender}\nTo: {to}\nSubject: x\n"
        f"Message-ID: {message_id}\nDate: Sat, 21 Nov 2026 12:00:00 +0000\n\nbody\n"
    )
    return ALL_WAYS[way](box, message_id, sender, [to], data.encode(), **options)
