"""The form dialect with a large file, over the peer."""

from . import http, items
from .mail import ROOM, mail_of
from .rounds import Row, compare, play, table

FILE_SIZE = 5_000_000
POOL = 16


def run(options):
    count = max(1, int(40 * options.scale))
    file_size = FILE_SIZE // 100 if options.smoke else FILE_SIZE
    with mail_of(options, "--submission", options.submission, *ROOM) as mail:
        peer = mail.peer(POOL)
        domain = mail.box.env["POSTERN_DOMAIN"]
        request = items.form_post(mail.key, domain, file_size)
        file = items.write(mail.path("form"), [request])
        for connections in (1, 16):
            played = play(
                {
                    name: lambda a=address: http.send(
                        mail, a, file, connections, max(connections, count)
                    )
                    for name, address in (("ours", mail.address), ("peer", peer))
                },
                options.rounds,
            )
            name = f"5 MB file, {connections} at once"
            yield from table(
                [
                    compare(played, Row(name, "taken", "ours", "peer", 2.0)),
                    compare(
                        played, Row("until delivered", "delivered", "ours", "peer")
                    ),
                ]
            )
