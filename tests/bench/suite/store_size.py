"""The same work with a full store over that with a small one."""

from contextlib import nullcontext

from . import get, http, milter
from .mail import Mail
from .rounds import Row, compare, play, table

SMALL, LARGE = 1000, 1_000_000
CONNECTIONS = 16
SIZE = 2000


def works(mail, emails, options):
    """What is done with the store, by name."""
    gets = get.prepare(mail, emails)
    posts = http.json_file(mail, SIZE)
    count = max(CONNECTIONS, int(2000 * options.scale))
    return {
        "GET": lambda: {
            "taken": http.load(
                mail.address, gets, CONNECTIONS, 10 * count
            )["rate"]
        },
        "POST /emails": lambda: http.send(
            mail, mail.address, posts, CONNECTIONS, count
        ),
        "mail with tickets": milter.ticketed(mail, count)["ours"],
    }


def run(options):
    large = max(SMALL, int(LARGE * options.scale))
    way = ("--submission", options.submission)
    # One store will do to see that all works.
    with Mail(*way) as few, nullcontext(few) if options.smoke else Mail(*way) as many:
        small_works = works(few, SMALL, options)
        large_works = works(many, large, options)
        results = []
        for name, work in large_works.items():
            played = play(
                {"large": work, "small": small_works[name]}, options.rounds
            )
            row = Row(f"{name}, {large:,} emails", "taken", "large", "small", 0.95)
            results.append(compare(played, row))
    yield from table(results)
