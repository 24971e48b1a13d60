"""The store's SQL is for both engines: each text, and the schemas that they are for."""

import re
import sqlite3

import pytest
from harness.postgresql import PostgreSQL
from harness.sql_answers import (
    Values,
    answers,
    changes,
    digests,
    same,
    script_of,
    shown,
    spread,
)
from harness.sql_texts import ROOT, all_texts
from harness.wait import wait_for

pytestmark = pytest.mark.scripts

# How columns of SQLite are declared in PostgreSQL.
TYPES = {"TEXT": {"text"}, "INTEGER": {"bigint", "smallint"}, "BLOB": {"bytea"}}
# Counted in parts there, so that the writers of several hosts do not wait for each other.
IN_PARTS = {"open_count": "open_count_part"}
# Removed with their email by a trigger there, instead of a reference, which each row would pay for.
BY_TRIGGER = {"email_content", "email_recipient", "message", "outbox", "event"}
MIGRATIONS = """CREATE TABLE schema_migration (version INTEGER NOT NULL PRIMARY KEY,
    name TEXT NOT NULL, applied_us BIGINT NOT NULL);"""


@pytest.fixture(scope="module")
def server():
    server = PostgreSQL()
    server.create("postern")
    server.psql(MIGRATIONS, "postern")
    for file in sorted((ROOT / "schema/postgresql").glob("*.sql")):
        server.psql(f"BEGIN;\n{file.read_text()}\nCOMMIT;", "postern")
    yield server
    server.stop()


@pytest.fixture(scope="module")
def sqlite():
    return make(":memory:")


def make(path):
    db = sqlite3.connect(path)
    db.execute("PRAGMA synchronous = off")
    db.create_function("folded", 1, str.casefold)
    db.executescript(MIGRATIONS)
    for file in sorted((ROOT / "schema").glob("*.sql")):
        db.executescript(file.read_text())
    return db


def create(server, database):
    """A database with all migrations."""
    server.psql(f"CREATE DATABASE {database} TEMPLATE postern")


def errors_of(answer):
    """The errors behind each line @@NAME."""
    name, errors = None, {}
    for line in answer.splitlines():
        if line.startswith("@@"):
            name = line[2:]
        elif line:
            errors.setdefault(name, []).append(line)
    return errors


def test_each_text_prepares_on_both_engines(server, sqlite):
    texts = [t for t in all_texts() if not t.sql.startswith("CREATE")]
    assert len(texts) > 500
    script = []
    for number, text in enumerate(texts):
        types = ", ".join(text.params.values())
        script += [f"\\echo @@{text.name}",
                   f"PREPARE t{number} {f'({types})' if types else ''} AS {text.for_postgresql()};"]
        sqlite.execute("EXPLAIN " + text.sql, {name[1:]: None for name in text.params})
    assert errors_of(server.psql("\n".join(script), "postern", stop=False)) == {}


def rows_of(server, query):
    return [line.split("|") for line in server.psql(query, "postern").splitlines()]


def test_the_schemas_have_the_same_tables(server, sqlite):
    own = {name for name, in sqlite.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")}
    others = {name for name, in rows_of(
        server, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")}
    assert {IN_PARTS.get(name, name) for name in own} == others


def test_the_tables_have_the_same_columns(server, sqlite):
    declared = {}
    for table, name, kind, not_null, default, collation in rows_of(server, """
            SELECT table_name, column_name, data_type, is_nullable = 'NO',
                coalesce(column_default, ''), coalesce(collation_name, '')
            FROM information_schema.columns
            WHERE table_schema = 'public' AND table_name <> 'schema_migration'"""):
        assert (collation == "C") == (kind == "text"), (table, name)
        declared[table, name] = kind, not_null == "t", re.sub(r"::\w+", "", default)
    for (table,) in sqlite.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'"):
        if table in IN_PARTS or table == "schema_migration":
            continue
        for _, name, kind, not_null, default, key, _ in sqlite.execute(
                f"PRAGMA table_xinfo({table})"):
            there = declared.pop((table, name))
            assert there[0] in TYPES[kind], (table, name)
            assert there[1] == bool(not_null or key), (table, name)
            assert there[2] == (default or ""), (table, name)
    assert {table for table, _ in declared} == {*IN_PARTS, *IN_PARTS.values()}


def sqlite_keys(db, table):
    """What is unique, and what refers to another table."""
    columns = sorted(db.execute(f"PRAGMA table_info({table})"), key=lambda row: row[5])
    key = tuple(row[1] for row in columns if row[5])
    unique = {key} if key else set()
    for _, name, is_unique, origin, _ in db.execute(f"PRAGMA index_list({table})"):
        if is_unique and origin == "u":
            unique.add(tuple(row[2] for row in db.execute(f"PRAGMA index_info({name})")))
    refers = {}
    for number, _, other, column, to, _, on_delete, _ in db.execute(
            f"PRAGMA foreign_key_list({table})"):
        refers.setdefault(number, []).append((column, other, to, on_delete))
    return unique, {tuple(sorted(r)) for r in refers.values()}


def names(side):
    """The columns of a constraint, or those that it refers to."""
    return f"""(SELECT string_agg(a.attname, ',' ORDER BY k.n)
        FROM unnest(c.{side}key) WITH ORDINALITY k (number, n)
        JOIN pg_attribute a ON a.attrelid = c.{side}relid AND a.attnum = k.number)"""


def test_the_tables_have_the_same_keys(server, sqlite):
    unique, refers = {}, {}
    for table, kind, columns, other, others, on_delete in rows_of(server, f"""
            SELECT c.conrelid::regclass, c.contype, {names("con")},
                CASE WHEN c.confrelid <> 0 THEN c.confrelid::regclass::text END, {names("conf")},
                c.confdeltype
            FROM pg_constraint c
            WHERE c.contype IN ('p', 'u', 'f') AND c.connamespace = 'public'::regnamespace"""):
        if kind in "pu":
            unique.setdefault(table, set()).add(tuple(columns.split(",")))
        else:
            action = {"c": "CASCADE", "a": "NO ACTION"}[on_delete]
            pairs = zip(columns.split(","), others.split(","))
            refers.setdefault(table, set()).add(
                tuple(sorted((column, other, to, action) for column, to in pairs)))
    for (table,) in sqlite.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'"):
        if table not in IN_PARTS:
            own_unique, own_refers = sqlite_keys(sqlite, table)
            if table in BY_TRIGGER:
                own_refers = {r for r in own_refers if r[0][1] != "email"}
            assert unique.pop(table, set()) == own_unique, table
            assert refers.pop(table, set()) == own_refers, table
    assert {*unique, *refers} == {*IN_PARTS.values()}


INDEX = re.compile(
    r"CREATE (UNIQUE )?INDEX \w+ ON \S+ (?:USING btree )?\((.*?)\)\s*(?:WHERE (.*))?$")


def plain(text):
    """A definition as both engines write it: without lists of words, blanks, brackets, casts and
    the marks of a collation."""
    text = text.replace("= ANY (ARRAY[", "IN (").replace("])", ")")
    text = re.sub(r"::\w+(\[\])?|\bASC\b| COLLATE \w+", "", text)
    text = re.sub(r"(\w+) IN \((.*?)\)", lambda found: " OR ".join(
        f"{found[1]} = {word}" for word in found[2].split(",")), text)
    return re.sub(r"[\s()\"]", "", text).lower()


def test_the_tables_have_the_same_indexes(server, sqlite):
    """One of PostgreSQL may end with more columns: those of the key, which SQLite's have anyway."""
    there = dict(rows_of(server, """
        SELECT i.relname, pg_get_indexdef(i.oid)
        FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
        WHERE i.relnamespace = 'public'::regnamespace
        AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conindid = i.oid)"""))
    for name, table, sql in sqlite.execute(
            "SELECT name, tbl_name, sql FROM sqlite_schema"
            " WHERE type = 'index' AND sql IS NOT NULL"):
        own = INDEX.match(re.sub(r"\s+", " ", sql))
        other = INDEX.match(there.pop(name))
        assert own[1] == other[1], name
        columns = plain(own[2].replace("address COLLATE NOCASE", "lower(address)"))
        key = [row[1] for row in sqlite.execute(f"PRAGMA table_info({table})") if row[5]]
        rest = plain(other[2]).removeprefix(columns)
        assert plain(other[2]).startswith(columns), (name, columns, other[2])
        assert rest in ("", *("," + k for k in key)), (name, rest)
        condition = plain(own[3] or "").replace("isnot'", "isdistinctfrom'")
        assert condition == plain(other[3] or ""), name
    assert there == {}


# Of the readings so many find rows, at least: what finds none compares nothing.
MET_AT_LEAST = 320


def test_the_answers_are_the_same(server, tmp_path):
    """Each reading with random parameters on the same rows."""
    make(tmp_path / "store").close()
    db, tables = spread(tmp_path / "store", 200)
    create(server, "answers")
    server.psql(script_of(db, tables, IN_PARTS), "answers")
    texts = [text for text in all_texts() if re.match("SELECT|WITH", text.sql)
             and not re.search(r"\b(INSERT|UPDATE|DELETE)\b", text.sql)]
    values = Values(db, tables, seed=29)
    asked = [(text, values.some(text)) for text in texts for _ in range(16 if text.params else 1)]
    differ, met = {}, set()
    for (text, given), there in zip(asked, answers(server, "answers", asked)):
        own = [list(map(shown, row)) for row in db.execute(
            text.sql, {name[1:]: value for name, value in given.items()})]
        if own:
            met.add(text.sql)
        if not same(text.sql, own, there):
            differ[text.name] = given, own, there
    assert differ == {}
    assert len(met) >= MET_AT_LEAST


# Of the writings so many change something.
CHANGE_AT_LEAST = 100
# Their rows have a bound of their own: numbers that are free again in SQLite are not in PostgreSQL.
NOT_COMPARED = {"text_range"}
# SQLite counts a new email with the row of its content.
COUNTED_APART = re.compile(r"INSERT INTO email(_content)? \(")


def did(db, text, given, columns):
    """What a text does to the tables; or the error."""
    db.execute("BEGIN")
    try:
        db.execute(text.sql, {name[1:]: value for name, value in given.items()}).fetchall()
        return digests(db, columns)
    except sqlite3.IntegrityError as error:
        return str(error)
    finally:
        db.rollback()


def is_orphan(text, error):
    """True if it adds a row of no email, which no caller does."""
    table = re.match(r"INSERT INTO (\w+)", text.sql)
    return error == "FOREIGN KEY constraint failed" and table and table[1] in BY_TRIGGER


def differing(text, own, there):
    """The tables that the text leaves in two ways."""
    but = {"open_count"} if COUNTED_APART.match(text.sql) else set()
    return [table for table in own if own[table] != there[table] and table not in but]


def test_the_writings_do_the_same(server, tmp_path):
    """Each writing with random parameters on the same rows, and what triggers and references do."""
    make(tmp_path / "store").close()
    db, tables = spread(tmp_path / "store", 48)
    db.isolation_level = None
    db.execute("PRAGMA foreign_keys = ON")
    create(server, "writings")
    server.psql(script_of(db, tables, IN_PARTS), "writings")
    given_numbers = {tuple(row) for row in rows_of(server, """
        SELECT table_name, column_name FROM information_schema.columns WHERE is_identity = 'YES'""")}
    columns = {
        table: [row[1] for row in db.execute(f"PRAGMA table_xinfo({table})")
                if (table, row[1]) not in given_numbers]
        for table in tables if table not in NOT_COMPARED}
    server.psql("\n".join(
        f"SELECT setval(pg_get_serial_sequence('{table}', '{column}'), 100000);"
        for table, column in given_numbers), "writings")
    texts = [text for text in all_texts() if text.file != "core/db/migrate.c"
             and re.search(r"\b(INSERT INTO|UPDATE \w+|DELETE FROM)\b", text.sql)]
    values = Values(db, tables, seed=29)
    asked = [(text, values.some(text)) for text in texts for _ in range(3 if text.params else 1)]
    before, differ, change = digests(db, columns), {}, set()
    for (text, given), there in zip(asked, changes(server, "writings", asked, columns)):
        own = did(db, text, given, columns)
        if is_orphan(text, own):
            continue
        if isinstance(own, str) or isinstance(there, str):
            if not (isinstance(own, str) and isinstance(there, str)):
                differ[text.name] = text.sql, given, own, there
        elif wrong := differing(text, own, there):
            differ[text.name] = text.sql, given, wrong
        elif own != before:
            change.add(text.sql)
    assert differ == {}
    assert len(change) >= CHANGE_AT_LEAST


def test_events_are_numbered_in_the_order_of_commits(server):
    """The second writer waits for the commit of the first, and goes on behind its number."""
    create(server, "events")
    lock, = (t.sql for t in all_texts() if t.sql.startswith("UPDATE event_last SET seq = coalesce("))
    write, = (t for t in all_texts() if t.sql.startswith("UPDATE event_last SET seq = $seq"))
    write = f"PREPARE w ({', '.join(write.params.values())}) AS {write.for_postgresql()};"
    first = server.session("events")
    second = server.session("events")
    first.ask(f"BEGIN; {lock};")
    second.tell(f"BEGIN; {lock};")
    waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    wait_for("the second writer to wait", lambda: server.psql(waits).strip() == "1")
    assert first.ask(f"{write} EXECUTE w (7, 70); COMMIT;") == []
    assert second.answer() == ["7|70"]
    for session in (first, second):
        session.close()
