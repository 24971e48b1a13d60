"""Messages over SMTP with an API key as the password, over the same Postfix with a milter that
does nothing and a SASL server that lets everybody in."""

import base64
import shutil

from . import items
from .mail import TOOLS, Mail, tool
from .rounds import Row, compare, play, table

SESSIONS = 16
SIZE = 2000
EACH = {1: 0.85, 100: 0.9}  # messages a session, and what is aimed at

OPTIONS = (
    "smtpd_sasl_auth_enable=yes", "smtpd_sasl_type=dovecot", "smtpd_sasl_path=postern/yes.sock",
    "smtpd_sasl_security_options=noanonymous", "smtpd_tls_auth_only=no", "smtpd_client_restrictions=",
    "smtpd_helo_restrictions=", "smtpd_sender_restrictions=", "smtpd_recipient_restrictions=",
    "smtpd_relay_restrictions=permit_sasl_authenticated,reject",
    "smtpd_milters=unix:postern/noop.sock",
)  # fmt: skip


def rows(each):
    many = "1 message" if each == 1 else f"{each} messages"
    return [
        Row(f"{many} a session, {SESSIONS} sessions", "taken", "ours", "yes"),
        Row("the same until delivered", "delivered", "ours", "yes", EACH[each]),
    ]


def servers(mail):
    """The service with logins of ours, and the other one."""
    mail.box.start("auth")
    path = mail.box.dir / "queue/postern/yes.sock"
    mail._start(TOOLS / "yes_sasl", path, ready=path.exists)
    shutil.chown(path, group="postfix")
    path.chmod(0o660)
    return {"ours": mail.box.env["POSTERN_SMTP"], "yes": mail.box.add_smtpd(*OPTIONS)}


def contenders(mail, addresses, each, count):
    login = base64.b64encode(f"\0x\0{mail.key}".encode()).decode()

    def send(address):
        file = items.write(
            mail.path("messages"),
            [items.message(SIZE, items.SENDER) for _ in range(64)],
        )
        words = [SESSIONS, count, file, items.SENDER, items.RECIPIENT, each, login]
        return mail.measure(count, lambda: tool("load", "smtp", address, *words))

    return {name: lambda address=address: send(address) for name, address in addresses.items()}


def run(options):
    count = max(SESSIONS, int(2000 * options.scale))
    results = []
    with Mail() as mail:
        addresses = servers(mail)
        for each in EACH:
            played = play(contenders(mail, addresses, each, count), options.rounds)
            results += [compare(played, row) for row in rows(each)]
    yield from table(results)
