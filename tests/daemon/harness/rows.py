"""A store in which every table has very many rows."""

import re
import sqlite3
import subprocess
import time

# The company that half of all rows are of.
BIG = "b0000000-0000-4000-8000-000000000000"

# Its domain that is active.
ITS_DOMAIN = "big.example"

# A time in the last hours, and ids in the order of their numbers. The time does not go on, so that
# rows that come later are in the same hours.
NOW = int(time.time()) * 1_000_000
TIME = f"({NOW} - (1000000 - i) * 20000)"
LATER = f"({int(time.time() + 86400) * 1_000_000} + i)"  # the same in each table
HOUR_US = 3_600_000_000
ID = "printf('{}%07x-0000-4000-8000-%012x', i, i)"
HASH = "CAST(printf('{}%031d', i) AS BLOB)"
COMPANY = f"CASE i % 2 WHEN 0 THEN '{BIG}' ELSE printf('c%07x-0000-4000-8000-%012x', i, i) END"
DOMAIN = "CASE i % 2 WHEN 0 THEN 'big.example' ELSE printf('d%07d.example', i) END"

# Emails that the milter has not seen: they are due later, wait, or are lost.
SCHEDULED = "i % 16 IN (5, 6)"
WAITS = "i % 16 IN (7, 8)"
LOST = "i % 16 IN (14, 15)"
STAGED = f"({SCHEDULED} OR {WAITS} OR {LOST})"

def row_id(letter, i):
    """The id of a row, as ID has it."""
    return f"{letter}{i:07x}-0000-4000-8000-{i:012x}"


# The columns of each table, as expressions of i, which counts the rows.
TABLES = {
    "company": dict(id=ID.format("c"), name="printf('Company %07d', i)", created_us=TIME),
    "domain": dict(
        id=ID.format("d"),
        company_id=COMPANY,
        name="printf('d%07d.example', i)",
        active="0",
        policy="CASE i % 5 WHEN 0 THEN 'learn' ELSE 'exclusive' END",
        pending="(i / 2) % 2",
        created_us=TIME,
    ),
    "api_key": dict(
        id=ID.format("a"),
        company_id=COMPANY,
        name="printf('Key %d', i)",
        hash=HASH.format("a"),
        scopes="3",
        created_us=f"({TIME} - 200 * 24 * {HOUR_US})",  # so all might be idle
        last_used_us=f"(i % 3 = 0) * {TIME}",
        revoked_us=f"(i % 10 < 2) * {TIME}",
    ),
    "exemption": dict(
        id=ID.format("e"),
        company_id=COMPANY,
        domain_id=ID.format("d"),
        kind="'login'",
        value="printf('login%d', i)",
        created_us=TIME,
    ),
    "admin_user": dict(
        id=ID.format("0"),
        company_id=COMPANY,
        login="printf('user%07d', i)",
        login_folded="printf('user%07d', i)",
        role="'viewer'",
        created_us=TIME,
    ),
    "admin_session": dict(
        id=ID.format("5"),
        user_id=ID.format("0"),
        company_id=COMPANY,
        kind="'token'",
        hash=HASH.format("5"),
        name="'Token'",
        origin="'127.0.0.1'",
        created_us=TIME,
        expires_us="0",
        last_used_us="0",
    ),
    "email": dict(
        seq="i",
        id=ID.format("f"),
        ticket="printf('t%015x', i)",
        company_id=COMPANY,
        key_id=ID.format("a"),
        domain=DOMAIN,
        sender="'news@big.example'",
        header_from="'News <news@big.example>'",
        reply_to="''",
        subject="printf('Subject %d', i)",
        message_id="'<' || " + ID.format("f") + " || '@big.example>'",
        created_us=TIME,
        state=f"CASE WHEN i % 8 = 2 THEN 'refused' WHEN {STAGED} THEN 'staged'"
        " ELSE 'sent' END",
        decided_us=f"iif({STAGED}, 0, {TIME})",
        queue_id=f"iif({STAGED}, NULL, printf('Q%09X', i))",
        last_event=f"CASE WHEN {SCHEDULED} OR {WAITS} THEN NULL WHEN {LOST} THEN 'sent'"
        " ELSE CASE i % 8 WHEN 1 THEN 'bounced' WHEN 2 THEN 'failed' WHEN 3 THEN"
        " 'delivery_delayed' WHEN 4 THEN 'bounced' ELSE 'delivered' END END",
        scheduled_us=f"iif({SCHEDULED}, {LATER}, 0)",
        refusal="CASE WHEN i % 8 = 2 THEN 'claims another domain' END",
        closed=f"NOT (i % 8 = 3 OR {SCHEDULED} OR {WAITS})",
        answered="1",
    ),
    "message": dict(email="i", size="100", content="CAST('Subject: x' AS BLOB)"),
    "outbox": dict(email="i", company_id=COMPANY, size="100", due_us=LATER),
    "email_content": dict(seq="i", html="iif(i % 16 = 4, '<p>Hello</p>', '')", text="'Hello'"),
    "email_recipient": dict(
        email="i",
        n="0",
        kind="'to'",
        address="printf('user%d@dst.test', i % 4)",
        state=f"CASE WHEN {SCHEDULED} OR {WAITS} THEN 'queued' WHEN {LOST} THEN 'unknown'"
        " WHEN i % 8 = 3 THEN 'deferred' ELSE 'delivered' END",
        company_id=COMPANY,
    ),
    "email_tag": dict(email="i", tag="printf('tag%d', i % 4)", company_id=COMPANY),
    "queue_message": dict(queue_id="printf('Q%09X', i)", since_us=TIME, email="i", how="'milter'"),
    "event": dict(
        seq="i",
        key="CAST(printf('k%015d', i) AS BLOB)",
        email="i",
        n="0",
        domain=DOMAIN,
        kind="'delivered'",
        attempt="1",
        occurred_us=TIME,
        recorded_us=TIME,
        source="'log'",
        company_id=COMPANY,
    ),
    "event_count": dict(
        company_id=COMPANY,
        hour_us=f"{NOW} / 3600000000 * 3600000000 - i % 1000 * 3600000000",
        domain="CASE WHEN i % 8 IN (1, 2) THEN printf('d%07d.example', i)"
        " ELSE printf('z%04d.example', i / 1000) END",
        kind="CASE i % 3 WHEN 0 THEN 'bounced' ELSE 'delivered' END",
        count="20",
    ),
    "refusal": dict(
        outcome="CASE i % 2 WHEN 0 THEN 'learnt' ELSE 'held' END",
        reason="'no_ticket'",
        domain="printf('d%07d.example', 4 + i % 4 * 4)",
        company_id=COMPANY,
        origin="'local'",
        client="''",
        login="printf('login%d', i)",
        sender="''",
        header_from="''",
        first_us=TIME,
        last_us=TIME,
        queue_id="'Q'",
    ),
    "held": dict(
        id=ID.format("3"),
        queue_id="printf('H%09X', i)",
        held_us=TIME,
        reason="'no_ticket'",
        domain="'big.example'",
        header_from="''",
    ),
    "admin_recovery": dict(user_id=ID.format("0"), hash=HASH.format("7")),
    "superseded_ticket": dict(
        ticket="printf('s%015x', i)", email_id=ID.format("f"), created_us=TIME
    ),
    "idempotency": dict(
        company_id=COMPANY,
        key_hash=HASH.format("1"),
        payload=HASH.format("2"),
        created_us=TIME,
        settled="1",
        results="''",
    ),
    "probe": dict(ticket="printf('p%015x', i)", created_us=TIME),
    "delivery": dict(
        email="i",
        queue_id="printf('Q%09X', i)",
        since_us=TIME,
        address="printf('user%d@dst.test', i % 4)",
        orig_to="''",
        state="'delivered'",
        via="'final'",
        began_us=TIME,
        changed_us=TIME,
    ),
    "ticket_message": dict(queue_id="printf('T%09X', i)", since_us=TIME, email="i"),
    "gap": dict(
        source="'log'", why="'lost'", from_us=TIME, to_us=TIME, count="1", repaired_us=TIME
    ),
    "dkim_key": dict(
        id=ID.format("4"),
        company_id=COMPANY,
        domain_id=ID.format("d"),
        selector="'s1'",
        public_key="'MCowBQYDK2VwAyEA'",
        state="'signing'",
        created_us=TIME,
        changed_us=TIME,
    ),
    "domain_check": dict(domain_id=ID.format("d"), checked_us=TIME, records="'[]'"),
    "webhook": dict(
        id=ID.format("b"),
        company_id=COMPANY,
        domain="iif((i / 2) % 2, printf('d%07d.example', i), NULL)",
        dialect="iif((i / 2) % 2, 'form', 'json')",
        endpoint="'https://hook.invalid/'",
        events="""iif((i / 2) % 2, '["delivered"]', '["email.delivered"]')""",
        secret="zeroblob(24)",
        old_secret="zeroblob(24)",
        enabled="1",
        failing_us=f"iif(i % 16, 0, {TIME})",
        created_us=TIME,
        from_seq="0",
    ),
    # Half of those of BIG are of one endpoint.
    "webhook_event": dict(
        seq="i",
        id=ID.format("6"),
        webhook_id=f"iif(i % 4, {ID.format('b')}, '{row_id('b', 4)}')",
        event="i",
        type="'email.delivered'",
        body="'{}'",
        status="iif(i % 8, 'success', 'pending')",
        attempts="i % 8 > 0",
        due_us=f"iif(i % 8, 0, {LATER})",
        created_us=TIME,
    ),
    "webhook_attempt": dict(
        seq="i",
        id=ID.format("8"),
        event="iif(i % 4, i, 4)",
        http_status="200",
        response="''",
        sent_us=TIME,
        took_us="1000",
    ),
    "suppression": dict(
        id=ID.format("2"),
        company_id=COMPANY,
        domain="iif((i / 2) % 8, 'big.example', '')",
        address="printf('gone%07d@dst.test', i)",
        reason="CASE (i / 2) % 4 WHEN 0 THEN 'manual' WHEN 1 THEN 'complaint'"
        " WHEN 2 THEN 'unsubscribe' ELSE 'bounce' END",
        created_us=TIME,
    ),
    "suppression_allowed": dict(
        company_id=COMPANY,
        domain="'big.example'",
        value="printf('fine%07d@dst.test', i)",
        reason="''",
        created_us=TIME,
    ),
    "message_kept": dict(left_us=TIME, email="i", size="100"),
    # Of the email that the outbox of another host keeps.
    "message_chunk": dict(
        email_id=ID.format("f"), n="0", created_us=TIME, data="CAST('Subject: x' AS BLOB)"
    ),
    "later_refusal": dict(
        host="''", queue_id="printf('Q%09X', i)", refused_us=TIME, text="'550 No.'"
    ),
    "outbox_pause": dict(
        id=ID.format("8"),
        company_id=COMPANY,
        key_id=ID.format("a"),
        reason="'Paused'",
        created_us=TIME,
    ),
    # Eight reasons an hour.
    "outcome_count": dict(
        company_id=COMPANY,
        aspect="'reason'",
        step="'hour'",
        time_us=f"({NOW} / {HOUR_US} - i / 16) * {HOUR_US}",
        domain=DOMAIN,
        name="CASE (i / 2) % 8 WHEN 0 THEN 'no_domain' WHEN 1 THEN 'policy' WHEN 2 THEN 'spam'"
        " WHEN 3 THEN 'no_mailbox' WHEN 4 THEN 'disabled' WHEN 5 THEN 'full'"
        " WHEN 6 THEN 'too_large' ELSE 'unreachable' END",
        kind="'bounced'",
        count="1",
    ),
    "audit": dict(
        id=ID.format("9"),
        at_us=TIME,
        actor="'key'",
        actor_id=ID.format("a"),
        actor_name="printf('Key %d', i)",
        origin="'127.0.0.1'",
        company_id=COMPANY,
        action="'key.create'",
        object_id=ID.format("a"),
        object_name="printf('Key %d', i)",
        after="'{}'",
    ),
}


# A company that has the same of everything as BIG, and the columns in which they differ:
# what a row is known by, and whose it is.
OTHER = "c0000001-0000-4000-8000-000000000001"
OWN_COLUMNS = re.compile(
    "id|seq|ticket|hash|key|key_hash|queue_id|login|login_folded|email|email_id|user_id|key_id"
    "|domain_id|actor_id|object_id|child|webhook_id|event"
)

# The milter keeps so many held messages. Of the probes of a day, through which httpd looks every
# second, a few: that is no part of a request. Operators pause keys one by one.
ONLY = {
    "held": "i <= 100000", "probe": "i <= 100", "outbox_pause": "i % 450 < 2 AND i <= 90000",
}  # fmt: skip


def migrate(cli, database):
    """What it printed."""
    conf = database.with_suffix(".conf")
    conf.write_text(f"[store]\ndatabase = {database}\n")
    done = subprocess.run(
        [cli, "-c", conf, "db", "migrate"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def create(cli, database):
    """Makes the store, with the company, its domain and no other row."""
    migrate(cli, database)
    add_company(database)


def create_old(schema, database, version):
    """The same as it was with that version of the schema, whose folder this is."""
    with sqlite3.connect(database) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(
            "CREATE TABLE schema_migration (version INTEGER NOT NULL PRIMARY KEY,"
            " name TEXT NOT NULL, applied_us INTEGER NOT NULL)"
        )
        for file in sorted(schema.glob("0*.sql")):
            if int(file.name[:4]) <= version:
                db.executescript(file.read_text())
                db.execute(
                    "INSERT INTO schema_migration (version, name, applied_us) VALUES (?, ?, 1)",
                    [int(file.name[:4]), file.stem],
                )
    db.close()
    add_company(database)


def add_company(database):
    with sqlite3.connect(database) as db:
        db.execute("INSERT INTO company (id, name, created_us) VALUES (?, 'Big', 1)", [BIG])
        db.execute(
            "INSERT INTO domain (id, company_id, name, active, policy, created_us)"
            " VALUES (?, ?, ?, 1, 'exclusive', 1)",
            [BIG, BIG, ITS_DOMAIN],
        )
    db.close()


def of_other(table, column, expression):
    """The same for OTHER, in the rows of odd numbers: each as the one of BIG before it."""
    if column == "company_id":
        return f"'{OTHER}'"
    if OWN_COLUMNS.fullmatch(column) or (table, column) in (("domain", "name"), ("company", "name")):
        return expression
    return re.sub(r"\bi\b", "(i - 1)", expression)


def grow(database, first, last, without=(), where="1", change=None):
    """Adds the rows from first to last to every table that there is, but for those
    without, with the columns that it has; returns the tables. change: what makes
    another expression of table, column and expression."""
    with sqlite3.connect(database, isolation_level=None, timeout=180) as db:
        # Nothing of it is to last.
        for pragma in ("synchronous = OFF", "cache_size = -200000", "temp_store = MEMORY"):
            db.execute(f"PRAGMA {pragma}")
        db.execute("BEGIN IMMEDIATE")
        grown = set()
        for table, expressions in TABLES.items():
            there = {row[1] for row in db.execute(f"PRAGMA table_info({table})")}
            columns = {k: v for k, v in expressions.items() if k in there}
            if change:
                columns = {k: change(table, k, v) for k, v in columns.items()}
            if table in without or not columns:
                continue
            db.execute(
                f"WITH RECURSIVE n(i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM n"
                f" WHERE i < {last}) INSERT INTO {table}"
                f" ({', '.join(columns)}) SELECT {', '.join(columns.values())} FROM n"
                f" WHERE {ONLY.get(table, '1')} AND {where}"
            )
            grown.add(table)
        db.execute("UPDATE event_last SET seq = (SELECT max(seq) FROM event)")
        db.execute("COMMIT")
    db.close()
    return grown
