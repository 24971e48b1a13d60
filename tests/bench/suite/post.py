"""POST /emails by the smtp submission, over smtp-source with as many sessions
into the same Postfix, and over the peer in front of it. Ours alone records, and
checks who sends.

The aims are for mail that is delivered: who takes it faster than Postfix gets
it out leaves a longer queue behind, and is not faster for that."""

from . import http
from .mail import ROOM, mail_of, smtp_source
from .rounds import Row, compare, play, table

SIZES = {"1 KB": 1000, "10 KB": 10_000, "100 KB": 100_000, "5 MB": 5_000_000}
CONNECTIONS = (1, 16, 64)
POOL = 16  # of the peer; more did not make it faster

# How many emails make a few seconds.
COUNTS = {1000: 2500, 10_000: 2000, 100_000: 1000, 5_000_000: 40}


def contenders(mail, peer, size, connections, count):
    file = http.json_file(mail, size)
    return {
        "ours": lambda: http.send(mail, mail.address, file, connections, count),
        "peer": lambda: http.send(mail, peer, file, connections, count),
        "smtp-source": lambda: mail.measure(
            count,
            lambda: smtp_source(mail.smtp["noop"], connections, count, size),
        ),
    }


def rows(name, connections):
    name = f"{name}, {connections} connection{'s' if connections > 1 else ''}"
    for other, aim in (("smtp-source", 1.0), ("peer", 2.0)):
        yield Row(
            f"{name}: {other}, until delivered", "delivered", "ours", other, aim
        )
        yield Row("taken", "taken", "ours", other)


def results_of(mail, peer, options):
    for name, size in list(SIZES.items())[: 1 if options.smoke else None]:
        for connections in CONNECTIONS[: 1 if options.smoke else None]:
            share = 4 if connections == 1 else 1
            count = max(connections, int(COUNTS[size] / share * options.scale))
            played = play(
                contenders(mail, peer, size, connections, count), options.rounds
            )
            for row in rows(name, connections):
                yield compare(played, row)


def run(options):
    with mail_of(options, "--submission", options.submission, *ROOM) as mail:
        yield from table(results_of(mail, mail.peer(POOL), options))
