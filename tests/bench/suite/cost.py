"""How long one email takes, and how much work it is for the CPU."""

from . import http, items
from .mail import mail_of, tool
from .rounds import Row, compare, play, table

SIZE = 2000

LATENCY = [
    Row("p50 of POST, 1 connection (µs)", "p50_us", "ours", "smtp", 1.2, True),
    Row("p99 of POST, 1 connection (µs)", "p99_us", "ours", "smtp", 1.2, True),
]
CPU = Row(
    "CPU seconds for 1,000 emails, ours over Postfix's", "cpu", "ours", "postfix",
    0.25, True,
)  # fmt: skip


def latency(mail, count):
    """One message at a time: of ours, and of one SMTP session."""
    posts = http.json_file(mail, SIZE)
    messages = items.write(
        mail.path("messages"),
        [items.message(SIZE, items.STRANGER, items.recipient()) for _ in range(1000)],
    )
    words = [1, count, messages, items.STRANGER, "-"]
    return {
        "ours": lambda: http.send(mail, mail.address, posts, 1, count),
        "smtp": lambda: mail.measure(
            count, lambda: tool("load", "smtp", mail.smtp["noop"], *words)
        ),
    }


def cpu(mail, file, connections, count):
    """What both spend on the same emails, each for 1,000 of them."""
    before = mail.cpu()
    http.send(mail, mail.address, file, connections, count)
    after = mail.cpu()
    ours, postfix = (
        (b - a) * 1000 / count for a, b in zip(before, after)
    )
    return {"ours": {"cpu": ours}, "postfix": {"cpu": postfix}}


def run(options):
    count = max(4, int(600 * options.scale))
    with mail_of(options, "--submission", options.submission) as mail:
        played = play(latency(mail, count), options.rounds)
        results = [compare(played, row) for row in LATENCY]
        file = http.json_file(mail, SIZE)
        http.send(mail, mail.address, file, 16, max(16, count // 12))
        spent = [cpu(mail, file, 16, 4 * count) for _ in range(options.rounds)]
        results.append(compare(spent, CPU))
    yield from table(results)
