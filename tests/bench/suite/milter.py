"""Postfix's intake with postern-milter over that with a milter that does
nothing."""

from . import items, store
from .mail import Mail, smtp_source, tool
from .rounds import Row, compare, play, table

SESSIONS = 16
SIZE = 2000

UNREGISTERED = [
    Row("unregistered mail, 16 sessions", "taken", "ours", "noop", 0.97),
    Row("the same until delivered", "delivered", "ours", "noop"),
    Row("over no milter at all", "taken", "ours", "none"),
]
TICKETED = [
    Row("mail with tickets, 16 sessions", "taken", "ours", "noop", 0.90),
    Row("the same until delivered", "delivered", "ours", "noop"),
]


def unregistered(mail, count):
    return {
        name: lambda address=address: mail.measure(
            count, lambda: smtp_source(address, SESSIONS, count, SIZE)
        )
        for name, address in mail.smtp.items()
    }


def ticketed(mail, count):
    """Each round has rows and tickets of its own, which go to a service as httpd
    uses it; the other side gets the same messages for other recipients."""
    mail.box.httpd().send(items.email(SIZE))
    servers = {
        "ours": mail.box.add_smtpd("smtpd_reject_unlisted_recipient=no"),
        "noop": mail.smtp["noop"],
    }
    mail.box.set("submission", "method", "smtp")
    mail.box.set("submission", "smtp_server", "inet:" + servers["ours"])
    mail.box.restart("milter")

    def recipient(name, number):
        domain = "dst.test" if name == "noop" else "postern.invalid"
        return f"{store.ticket(number)}@{domain}"

    def send(name):
        numbers = store.fill(mail.database, count, staged=True)
        file = items.write(
            mail.path("messages"),
            [
                items.message(
                    SIZE,
                    items.SENDER,
                    recipient(name, n),
                    store.email_id(n),
                    store.ticket(n),
                )
                for n in numbers
            ],
        )
        words = [SESSIONS, count, file, items.SENDER, "-"]
        return mail.measure(
            count, lambda: tool("load", "smtp", servers[name], *words)
        )

    return {name: lambda name=name: send(name) for name in ("ours", "noop")}


def run(options):
    count = max(SESSIONS, int(3000 * options.scale))
    with Mail() as mail:
        played = play(unregistered(mail, count), options.rounds)
        results = [compare(played, row) for row in UNREGISTERED]
        played = play(ticketed(mail, count), options.rounds)
        results += [compare(played, row) for row in TICKETED]
    yield from table(results)
