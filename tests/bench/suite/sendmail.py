"""POST /emails by the sendmail submission over a loop that does nothing but
run sendmail(1), into the same Postfix."""

import re

from . import http, items
from .mail import mail_of, tool
from .rounds import Row, compare, play, table

SIZE = 2000
PARALLEL = 16

ROWS = [
    Row("2 KB, 16 at once", "taken", "ours", "loop", 1.1),
    Row("the same until delivered", "delivered", "ours", "loop", 1.1),
]


def loop(mail, count):
    """What the loop sends nobody has registered, so that our milter lets it
    pass: it is on both sides."""
    message = items.message(SIZE, items.STRANGER)
    mail.path("message").write_bytes(re.sub(b"\r\n", b"\n", message))
    return tool(
        "spawn", PARALLEL, count, mail.path("message"),
        "/usr/sbin/sendmail", "-C", mail.box.env["POSTFIX_CONFIG"],
        "-i", "-f", items.STRANGER, "--", items.RECIPIENT,
    )  # fmt: skip


def run(options):
    count = max(PARALLEL, int(600 * options.scale))
    with mail_of(options) as mail:
        file = http.json_file(mail, SIZE)
        contenders = {
            "ours": lambda: http.send(
                mail, mail.address, file, PARALLEL, count
            ),
            "loop": lambda: mail.measure(count, lambda: loop(mail, count)),
        }
        played = play(contenders, options.rounds)
        yield from table(compare(played, row) for row in ROWS)
