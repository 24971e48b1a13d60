"""Fills the store of a sandbox with emails, as copies of one that was sent."""

import sqlite3

STAGED = {
    "state": "'staged'",
    "way": "'smtp'",  # the service that they are sent to
    "decided_us": "0",
    "queue_id": "NULL",
    "last_event": "NULL",
}


def ticket(number):
    return f"{number:032x}"


def email_id(number):
    """A UUID of which the first bytes, which decide its place in an index, are
    spread as those of random ones."""
    head = number * 2654435761 % 2**32
    return f"{head:08x}-0000-4000-8000-{number:012x}"


def _columns(db, table):
    return [row[1] for row in db.execute(f"PRAGMA table_info({table})")]


# The email that is copied.
OLDEST = "(SELECT min(seq) FROM email)"


def _copy(db, table, chosen, first, count, pattern):
    """Copies the row of the table that belongs to that email."""
    columns = _columns(db, table)
    values = [chosen.get(name, name) for name in columns]
    db.execute(
        f"WITH RECURSIVE number (n) AS (SELECT {first} UNION ALL"
        f" SELECT n + 1 FROM number WHERE n + 1 < {first + count})"
        f" INSERT INTO {table} ({', '.join(columns)})"
        f" SELECT {', '.join(values)} FROM number,"
        f" (SELECT * FROM {table} WHERE seq = {pattern})"
    )


def _copy_recipients(db, first, count, pattern, address):
    db.execute(
        f"WITH RECURSIVE number (new) AS (SELECT {first} UNION ALL"
        f" SELECT new + 1 FROM number WHERE new + 1 < {first + count})"
        " INSERT INTO email_recipient"
        " (email, n, kind, address, mailbox, state, company_id)"
        f" SELECT new, n, kind, {address}, mailbox, state,"
        " (SELECT e.company_id FROM email e WHERE e.seq = new) FROM number,"
        " (SELECT * FROM email_recipient"
        f" WHERE email = {pattern})"
    )


def fill(path, count, staged=False, chosen=None, functions=None, pattern=OLDEST,
         address="address", finish=None):  # fmt: skip
    """Adds so many copies of an email, with these tickets and ids, and what is
    chosen for other columns, or what that gives for the range of their numbers;
    finish(db, numbers) adds what belongs to them. The numbers: n is one of an
    email, new that of a recipient's."""
    db = sqlite3.connect(path, timeout=60)
    db.create_function("ticket_of", 1, ticket, deterministic=True)
    db.create_function("id_of", 1, email_id, deterministic=True)
    for name, function in (functions or {}).items():
        db.create_function(name, 1, function, deterministic=True)
    db.execute("PRAGMA cache_size = -200000")
    (pattern,) = db.execute(f"SELECT {pattern}").fetchone()
    (first,) = db.execute("SELECT max(seq) + 1 FROM email").fetchone()
    numbers = range(first, first + count)
    if callable(chosen):
        chosen = chosen(numbers)
    chosen = {"seq": "n", "id": "id_of(n)", "ticket": "ticket_of(n)",
              "nonce": "ticket_of(n)",
              "message_id": "'<' || id_of(n) || '@bench.test>'", **(chosen or {})}
    with db:
        _copy(db, "email", {**chosen, **(STAGED if staged else {})}, first, count,
              pattern)
        _copy(db, "email_content", {"seq": "n"}, first, count, pattern)
        _copy_recipients(db, first, count, pattern, address)
        if finish:
            finish(db, numbers)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    return numbers
