"""The same rows in both engines, and what each answers to the same parameters."""

import functools
import hashlib
import json
import random
import re
import sqlite3
import uuid

from .rows import BIG, ITS_DOMAIN, add_company, grow

# The columns that some parameters are compared with.
ALSO = {
    "$company": ["company_id"], "$to": ["address"], "$from": ["sender"], "$walk": ["domain"],
    "$key": ["key_id", "key_hash"], "$trouble": ["last_event"], "$rstate": ["state"],
    "$created": ["created_us"], "$what": ["name"], "$user": ["user_id"], "$word": ["login"],
    "$name": ["id", "message_id", "queue_id"], "$webhook": ["webhook_id"],
}
# What is new with a row.
FRESH = {"$id", "$ticket", "$hash", "$key", "$login", "$name", "$folded", "$queue_id", "$address"}
FIELD, ROW = "\x1c", "\x1d"
NULL = "\x02"
HOUR = 3600 * 1000000


def spread(path, rows):
    """Fills a store, and has many rows with the same time, texts in other letter case and outside
    of ASCII, and whatever else comes in an order that must not depend on the engine."""
    add_company(path)
    grow(path, 1, rows)
    db = sqlite3.connect(path)
    tables = [name for name, in db.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table'"
        " AND name NOT LIKE 'sqlite%' AND name <> 'schema_migration'")]
    for table in tables:
        for _, column, *_ in db.execute(f"PRAGMA table_info({table})").fetchall():
            if column.endswith("_us") and column not in ("hour_us", "day_us", "minute_us"):
                db.execute(f"UPDATE {table} SET {column} = {column} - {column} % 1000000")
    db.executescript("""
        UPDATE email_recipient SET address = upper(address) WHERE email % 3 = 0;
        UPDATE email_recipient SET address = 'é' || address WHERE email % 7 = 0;
        UPDATE email_recipient SET mailbox = 'Élan <' || address || '>' WHERE email % 5 = 0;
        UPDATE email SET subject = 'ÉTÉ ' || subject WHERE seq % 5 = 0;
        UPDATE email SET message_id = '<chosen' || seq % 20 || '@x>' WHERE seq % 4 = 1;
        UPDATE email SET sender = 'News@big.example' WHERE seq % 6 = 0;
        UPDATE email_content SET tags = '[{"name":"tag","value":"Tag' || seq % 4 || '"}]';
        INSERT INTO email_recipient (email, n, kind, address, state, company_id)
            SELECT email, 1, 'cc', 'user1@dst.test', 'delivered', company_id
            FROM email_recipient WHERE email % 2 = 0;
        UPDATE event SET kind = 'deferred', n = 1 WHERE seq % 4 = 2;
        UPDATE event SET kind = 'bounced', text = 'no such user' WHERE seq % 9 = 0;
        UPDATE outbox SET due_us = due_us % 7 + 1, attempts = email % 3, reason = 'why ' || email % 2,
            joined = email % 2 WHERE email % 4 = 0;
        UPDATE outbox SET due_us = 0 WHERE email % 16 = 1;
        UPDATE suppression SET tags = '["*"]' WHERE seq % 5 = 0;
        UPDATE audit SET before = '{"origin":"x","name":"é"}' WHERE seq % 3 = 0;
        UPDATE audit SET operator = seq % 2;
        UPDATE admin_user SET company_id = NULL, role = 'owner' WHERE login LIKE '%3';
        INSERT INTO log_cursor (source, position, changed_us, end_us) VALUES ('log', 'p', 1, 2);
        UPDATE gap SET repaired_us = 0 WHERE seq % 3 = 0;
        UPDATE text_range SET low = 10, high = 20;
        INSERT INTO text_block (company_id, first, last, text)
            SELECT company_id, seq, seq, CAST(subject AS BLOB) FROM email WHERE seq BETWEEN 10 AND 20;
        INSERT INTO text_stale (seq, company_id) SELECT seq, company_id FROM email WHERE seq = 12;
        INSERT INTO outbox_break (cause, words, opened_us) VALUES ('away', 'x', 5), ('away', 'y', 5);
        INSERT INTO outbox_flow (minute_us, emails) VALUES (60000000, 3), (120000000, 4);
        INSERT INTO message_kept (left_us, email, size) SELECT seq / 4, seq, 7 FROM email;
        INSERT INTO outbox_pause (id, company_id, reason, created_us)
            SELECT id, id, 'wait', created_us FROM company WHERE name LIKE '%5';
        INSERT OR IGNORE INTO webhook_key SELECT id, x'00' FROM company;
    """)
    db.commit()
    return db, tables


def copied(value):
    """A value as COPY takes it."""
    if value is None:
        return r"\N"
    if isinstance(value, bytes):
        return r"\\x" + value.hex()
    return str(value).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


def script_of(db, tables, in_parts):
    """What puts all rows into PostgreSQL as they are, without its triggers."""
    lines = ["SET session_replication_role = replica;"]
    for table in tables:
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        rows = db.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchall()
        if table in in_parts:
            table = in_parts[table]
            counts = dict(rows)
            columns = ["part", "staged", "sent", "delayed"]
            rows = [(0, *(counts.get(word, 0) for word in ("staged", "sent", "delivery_delayed")))]
        lines += [f"TRUNCATE {table} CASCADE;",
                  f"COPY {table} ({', '.join(columns)}) FROM STDIN;",
                  *("\t".join(map(copied, row)) for row in rows), r"\."]
    return "\n".join([*lines, "ANALYZE;"])


def fits(value, kind):
    return isinstance(value, {"text": str, "bigint": int, "bytea": bytes}[kind])


def digests(db, columns):
    """By table what its rows are, in any order."""
    return {table: digest(tuple(db.execute(f"SELECT {', '.join(names)} FROM {table}")))
            for table, names in columns.items()}


@functools.cache  # a writing leaves most tables as they were
def digest(rows):
    lines = sorted(FIELD.join(map(shown, row)).encode() for row in rows)
    return hashlib.md5(ROW.encode().join(lines)).hexdigest()


def digests_query(columns):
    """The same, for PostgreSQL."""
    def of(table, names):
        cells = ", ".join(f"coalesce({name}::text, '{NULL}')" for name in names)
        return (f"SELECT '{table}', md5(coalesce(string_agg(line, '{ROW}' ORDER BY line), '')) FROM"
                f" (SELECT concat_ws('{FIELD}', {cells}) COLLATE \"C\" AS line FROM {table}) AS l")

    return " UNION ALL ".join(of(table, names) for table, names in columns.items())


def changes(server, database, asked, columns):
    """What each text did to the tables, all by itself: the error, or the tables' digests."""
    script = [f"\\pset fieldsep '{FIELD}'", f"\\pset recordsep '{ROW}'",
              "SET client_min_messages = error;", f"PREPARE digests AS {digests_query(columns)};"]
    prepared = {}
    for text, values in asked:
        if text.sql not in prepared:
            prepared[text.sql] = f"t{len(prepared)}"
            types = ", ".join(text.params.values())
            script.append(f"PREPARE {prepared[text.sql]} {f'({types})' if types else ''}"
                          f" AS {text.for_postgresql()};")
        given = ", ".join(literal(values[name], kind) for name, kind in text.params.items())
        script += ["\\echo @@", "BEGIN;",
                   f"EXECUTE {prepared[text.sql]} {f'({given})' if given else ''};",
                   "\\echo @", "EXECUTE digests;", "ROLLBACK;"]
    parts = server.psql("\n".join(script), database, stop=False).split("@@\n")[1:]
    assert len(parts) == len(asked)
    for part in parts:
        did, _, after = part.partition("@\n")
        if "ERROR:" in did:
            yield did
        else:
            yield dict(row.split(FIELD) for row in after.removesuffix("\n").split(ROW))


class Values:
    """What parameters can be, by their names: mostly what columns of that name have."""

    def __init__(self, db, tables, seed):
        self.random = random.Random(seed)
        self.columns, self.of_tables, self.rows = {}, {}, {}
        for table in tables:
            for _, column, *_ in db.execute(f"PRAGMA table_info({table})").fetchall():
                found = [value for value, in db.execute(
                    f"SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL LIMIT 100")]
                self.columns.setdefault(column, []).extend(found)
                self.of_tables[table, column] = found
            cursor = db.execute(f"SELECT * FROM {table} LIMIT 300")
            names = [column[0] for column in cursor.description]
            self.rows[table] = [dict(zip(names, row)) for row in cursor]
        own = self.columns
        self.times = [v for name, found in own.items() if name.endswith("_us") for v in found]
        texts = {
            "company": own["company_id"], "owner": own["company_id"] + own["user_id"],
            "to": own["address"], "receiver": own["address"],
            "value": own["address"] + own["domain"],
            "from": own["sender"], "walk": own["domain"], "host": own["domain"],
            "key": own["key_id"], "word": own["login"] + own["id"], "folded": own["login_folded"],
            "rstate": own["state"], "status_of": own["state"], "trouble": own["last_event"],
            "status": own["last_event"] + ["refused", "stopped", "scheduled", "queued", "sent"],
            "object": own["object_id"] + own["object_name"], "actor": own["actor_id"],
            "action": own["action"] + ["key"], "what": own["why"] + own["kind"],
            "subject": ["subject 1", "sub", "été", "nothing"],
            "kinds": ["", " delivered ", " deferred  bounced "],
            "first": own["domain"], "last": own["domain"], "after": own["domain"] + [""],
            "message": own["message_id"], "webhook": own["webhook_id"], "user": own["user_id"],
            "email": own["id"], "event": own["last_event"], "maker": own["id"], "but": ["", BIG],
            "sender": own["value"],
            "name": own["name"] + own["domain"] + own["id"] + own["message_id"] + own["queue_id"],
        }
        self.texts = {name: sorted(set(map(str, found))) for name, found in texts.items()}
        self.arrays = {
            "companies": own["company_id"], "ids": own["id"], "seqs": range(1, 200), "emails": range(1, 200),
            "texts": own["address"] + own["tag"] + [m.strip("<>") for m in own["message_id"]],
            "recipients": own["address"], "senders": ["news", "NEWS@big.example"],
            "to": own["address"], "message_ids": [m.strip("<>") for m in own["message_id"]],
            "subjects": ["subject 1", "SUBJECT"],
            "tags": own["tag"] + ["TAG1"], "words": ["subject", "dst", "news", "été"],
        }

    def some(self, text):
        """Values for all parameters of a text; half of them are of one row."""
        tables = [table for table in re.findall(r"\b(?:FROM|JOIN|INTO|UPDATE) (\w+)", text.sql)
                  if self.rows.get(table)]
        row = self.random.choice(self.rows[self.random.choice(tables)]) if tables else {}
        found = {}
        for name, kind in text.params.items():
            columns = [name[1:], name[1:] + "_id", *ALSO.get(name, ())]
            own = [row[c] for c in columns if fits(row.get(c), kind)]
            optional = kind == "text" and f"{name} IS NULL" in text.sql
            if "INSERT" in text.sql and name in FRESH and self.random.random() < 0.8:
                found[name] = self.fresh(kind)
            elif optional and self.random.random() < 0.8:
                found[name] = None
            elif own and f"json_each({name})" not in text.sql and self.random.random() < 0.7:
                found[name] = self.random.choice(own)
            else:
                found[name] = self.any(text.sql, name, kind)
        return found

    def fresh(self, kind):
        if kind == "bytea":
            return self.random.randbytes(32)
        return str(uuid.UUID(int=self.random.getrandbits(128)))

    def any(self, sql, name, kind):
        name = name[1:]
        if f"json_each(${name})" in sql:
            if name == "words" and self.random.random() < 0.7:
                return None
            some = sorted(set(self.arrays[name]))
            count = 60 if name in ("seqs", "emails") else 2
            some = self.random.sample(some, k=min(len(some), count))
            return json.dumps([BIG, *some] if name == "companies" else some, ensure_ascii=False)
        if kind == "text":
            if name == "company" and self.random.random() < 0.6:
                return BIG
            if name in ("domain", "walk") and self.random.random() < 0.6:
                return ITS_DOMAIN
            there = [value for table in re.findall(r"\b(?:FROM|JOIN) (\w+)", sql)
                     for value in self.of_tables.get((table, name), ())]
            other = self.texts.get(name) or self.columns.get(name)
            return str(self.random.choice(there or other or ["some text"]))
        if f"OFFSET ${name}" in sql:
            return self.random.randint(0, 3)
        if name == "max" and not in_order(sql):
            return 1000
        if f"LIMIT ${name}" in sql:
            return self.random.choice([0, 1, 2, 5, 20, 60])
        if kind == "bytea":
            there = [v for v in self.columns.get(name, ()) if isinstance(v, bytes)]
            return self.random.choice(there or [self.random.randbytes(32)])
        return self.number(name)

    def number(self, name):
        if name in ("max", "look", "keep", "rows"):
            return self.random.choice([0, 1, 2, 5, 20, 60])
        if name in ("since", "unused", "forgotten", "begin") and self.random.random() < 0.6:
            return 0
        if name in ("until", "before", "now", "end") and self.random.random() < 0.6:
            return 2**60
        if name == "low":
            return self.random.choice([0, 0, 5, 100])
        if name == "high":
            return self.random.choice([2**62, 2**62, 150, 20])
        if name == "step":
            return self.random.choice([HOUR, 24 * HOUR])
        if name in ("seq", "email", "block", "mark", "behind_seq", "event", "upto"):
            return self.random.randint(0, 200)
        if name in ("all", "veil", "local", "enveloped", "confirmed", "sending", "closed", "active",
                    "pending", "settled", "enabled", "operator", "used", "answered", "joined", "through", "changed"):
            return self.random.randint(0, 1)
        if name in ("arrived", "lost", "open"):
            return {"arrived": 0, "lost": 1, "open": 2}[name]
        return self.random.choice(self.times) + self.random.choice([-1, 0, 1])


def in_order(sql):
    """Whether all that a LIMIT $max cuts is in an order."""
    before = [sql[:m.start()] for m in re.finditer(r"LIMIT \$max", sql)]
    return all("ORDER BY" in outer(text).rpartition("(")[2] for text in before)


def answers(server, database, asked):
    """What PostgreSQL answers to texts, each with values: rows, or a text with an error."""
    script = [f"\\pset fieldsep '{FIELD}'", f"\\pset recordsep '{ROW}'", f"\\pset null '{NULL}'"]
    prepared = {}
    for text, values in asked:
        if text.sql not in prepared:
            prepared[text.sql] = f"t{len(prepared)}"
            types = ", ".join(text.params.values())
            script.append(f"PREPARE {prepared[text.sql]} {f'({types})' if types else ''}"
                          f" AS {text.for_postgresql()};")
        given = ", ".join(literal(values[name], kind) for name, kind in text.params.items())
        script += ["\\echo @@", f"EXECUTE {prepared[text.sql]} {f'({given})' if given else ''};"]
    parts = server.psql("\n".join(script), database, stop=False).split("@@\n")[1:]
    assert len(parts) == len(asked)
    for part in (part.removesuffix("\n") for part in parts):
        yield part if "ERROR:" in part else [row.split(FIELD) for row in part.split(ROW) if part]


def literal(value, kind):
    if value is None:
        return "NULL"
    if kind == "bytea":
        return f"'\\x{value.hex()}'"
    return "'" + str(value).replace("'", "''") + "'"


def shown(value):
    if value is None:
        return NULL
    if isinstance(value, bytes):
        return "\\x" + value.hex()
    return str(value)


def outer(sql):
    """A statement without what stands in brackets."""
    shorter = re.sub(r"\([^()]*\)", "", sql)
    return sql if shorter == sql else outer(shorter)


def same(sql, own, there):
    """Whether two answers are the same; the order counts where the statement has one."""
    if isinstance(there, str):
        return False
    truth = {"t": "1", "f": "0"}
    there = [[truth.get(cell, cell) for cell in row] for row in there]
    if "ORDER BY" not in outer(sql):
        own, there = sorted(own), sorted(there)
    return own == there
