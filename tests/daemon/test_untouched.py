"""Mail that is none of Postern's business comes out as it went in: whatever it
is like, the milter changes no byte of it."""

import random
import re
import smtplib
import threading

import pytest
from harness import wait_for
from harness.sandbox import SANITIZED, unique

pytestmark = pytest.mark.plain

MESSAGES = 100 if SANITIZED else 500
LINES = 100_000 if SANITIZED else 1_000_000  # of 100 bytes
SESSIONS = 8
SENDER = "ann@plain.test"

WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa".split()
FROMS = [
    "ann@plain.test",
    "Ann <ann@plain.test>",
    '"Ann, of \\"Plain\\"" <ann@plain.test>',
    "=?utf-8?q?J=C3=B6rg?= <ann@plain.test>",
    "Ann\r\n <ann@plain.test>",
    "Ann <ann@plain.test>, Bob <bob@plain.test>",
    "people: ann@plain.test, bob@plain.test;",
    "not an address",
    "",
    "(a comment) ann@plain.test",
]
BODIES = [
    "",
    "one line\r\n",
    "no end of line",
    ".\r\n..\r\n.dots\r\n",
    "\r\n\r\n\r\n",
    "tab\tand blanks  \r\n",
    "8bit: \xe4\xf6\xfc\r\n",
    "From the beginning of a line\r\n",
    "x" * 900 + "\r\n",
]


def fields(rng):
    """Header fields that a program might rewrite."""
    for _ in range(rng.randrange(12)):
        name = "-".join(rng.choices(WORDS, k=rng.randint(1, 3))).title()
        blank = rng.choice([" ", "", "  ", "\t", "\r\n "])
        fold = rng.choice([" ", "\r\n ", "\r\n\t", "  "])
        yield f"X-{name}:{blank}" + fold.join(rng.choices(WORDS, k=rng.randint(1, 40)))


def message(rng, number):
    """A message with something of each kind, including the fields that Postfix would
    add."""
    lines = [
        f"From: {rng.choice(FROMS)}",
        "To: someone@dst.test",
        f"Subject: {rng.choice(WORDS)} {number}",
        f"Message-ID: <{number}@plain.test>",
        "Date: Sat, 21 Nov 2026 12:00:00 +0000",
        *fields(rng),
    ]
    rng.shuffle(lines)
    parts = [rng.choice(BODIES) for _ in range(rng.randrange(4))]
    return "\r\n".join([*lines, "", "".join(parts)]).encode("latin-1")


def send_one(smtp, host, port, to, data):
    """Sends, and tries again while Postfix replies 4xx."""
    while True:
        try:
            return smtp.sendmail(SENDER, to, data)
        except smtplib.SMTPResponseException as refusal:
            if refusal.smtp_code // 100 != 4:
                raise
            if smtp.sock is None:
                smtp.connect(host, port)


def send_all(address, messages, word):
    """Sends each to a recipient of its own, over several sessions."""
    numbers = iter(range(len(messages)))

    def session():
        host, _, port = address.rpartition(":")
        with smtplib.SMTP(host, int(port), timeout=60) as smtp:
            for n in numbers:
                send_one(smtp, host, int(port), f"{word}-{n}@dst.test", messages[n])

    threads = [threading.Thread(target=session) for _ in range(SESSIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def without_trace(raw):
    return re.sub(rb"(?m)^Received:.*\n([ \t].*\n)*", b"", raw)


@pytest.fixture
def plain_box(own_box):
    """A sandbox, and the address of an smtpd in it that asks no milter."""
    box = own_box("--postconf", "message_size_limit=150000000")
    return box, box.add_smtpd("smtpd_milters =")


def test_many_messages_with_and_without_the_milter(plain_box):
    box, no_milter = plain_box
    rng = random.Random(1)
    messages = [message(rng, n) for n in range(MESSAGES)]
    send_all(box.env["POSTFIX_SMTP"], messages, "with")
    send_all(no_milter, messages, "without")
    wait_for(
        "all of them", lambda: len(box.sink.all()) >= 2 * MESSAGES, 120
    )
    found = {d.recipients[0]: without_trace(d.raw) for d in box.sink.all()}
    assert len(found) == 2 * MESSAGES
    different = [
        n
        for n in range(MESSAGES)
        if found[f"with-{n}@dst.test"] != found[f"without-{n}@dst.test"]
    ]
    assert different == []
    assert box.log("milter").count("action=pass") == MESSAGES


@pytest.mark.parametrize(
    "extra, body, recipients",
    [
        ("", "text\r\n", 1000),
        ("", ("x" * 98 + "\r\n") * LINES, 1),
        ("".join(f"X-Number-{n}: {n}\r\n" for n in range(10_000)), "text\r\n", 1),
    ],
    ids=["1000 recipients", "large", "10000 fields"],
)
def test_large_in_one_way(plain_box, extra, body, recipients):
    box, no_milter = plain_box
    text = (
        f"From: {SENDER}\r\nTo: someone@dst.test\r\n"
        "Message-ID: <1@plain.test>\r\n"
        f"Date: Sat, 21 Nov 2026 12:00:00 +0000\r\n{extra}\r\n{body}"
    ).encode()
    found = []
    for address in (box.env["POSTFIX_SMTP"], no_milter):
        to = [f"{unique()}@dst.test" for _ in range(recipients)]
        host, _, port = address.rpartition(":")
        with smtplib.SMTP(host, int(port), timeout=60) as smtp:
            assert smtp.sendmail(SENDER, to, text) == {}
        wait_for(
            "all recipients",
            lambda to=to: {r for d in box.sink.all() for r in d.recipients} >= {*to},
        )
        mail = [d for d in box.sink.all() if set(d.recipients) & set(to)]
        found.append({without_trace(d.raw) for d in mail})
    assert len(found[0]) == 1
    assert found[0] == found[1]
    assert box.log("milter").count("action=pass") == 1
