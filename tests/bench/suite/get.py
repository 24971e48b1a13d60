"""GET /emails/{id} over the peer, which reads the same rows of the same
database."""

import random
import sqlite3

from . import http, items, store
from .mail import PEER, mail_of
from .rounds import Row, compare, play, table

EMAILS = 1000
CONNECTIONS = (1, 16, 64)


def requests(mail, numbers, n=1000):
    """A file of requests for some of these emails."""
    chosen = random.choices(numbers, k=n)
    return items.write(
        mail.path("gets"),
        [
            items.request(
                "GET", f"/emails/{store.email_id(i)}", f"Bearer {mail.key}"
            )
            for i in chosen
        ],
    )


def prepare(mail, emails):
    """Fills the store; the file of requests."""
    mail.box.httpd().send(items.email(2000))
    return requests(mail, store.fill(mail.database, emails))


def check_statements(mail):
    """That the peer's statements find something: its library has to be compiled,
    for minutes, so that it does not run when all is only tried."""
    db = sqlite3.connect(f"file:{mail.database}?mode=ro", uri=True)
    email, recipients = PEER.with_suffix(".sql").read_text().split(";")[:2]
    (sent,) = db.execute("SELECT id FROM email WHERE state = 'sent'").fetchone()
    row = db.execute(email, (sent,)).fetchone()
    assert row and db.execute(recipients, row[:1]).fetchall()
    db.close()


def results_of(mail, options):
    file = prepare(mail, EMAILS)
    if options.smoke:
        check_statements(mail)
    peer = mail.address if options.smoke else mail.peer(1, mail.database)
    for connections in CONNECTIONS:
        count = max(connections, int(20_000 * options.scale))
        played = play(
            {
                "ours": lambda: http.load(mail.address, file, connections, count),
                "peer": lambda: http.load(peer, file, connections, count),
            },
            options.rounds,
        )
        name = f"GET, {connections} at once"
        yield compare(played, Row(name, "rate", "ours", "peer", 4.0))


def run(options):
    with mail_of(options) as mail:
        yield from table(results_of(mail, options))
