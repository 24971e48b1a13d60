"""What goes from the store for its age, or because somebody is to be forgotten,
while emails are sent."""

import os
import signal
import sqlite3
import subprocess
import threading

import pytest
from harness import wait_for
from harness.sandbox import SANITIZED, unique
from test_smtp_auth import email_of, login, new_message

MANY = 5_000 if SANITIZED else 10_000


class Store:
    def __init__(self, box):
        self.box = box

    def one(self, sql, *values):
        rows = self.box.sql(sql, *values)
        return rows[0][0] if rows else None

    def add_old(self, n):
        """So many emails of 2020, each to a recipient of its own and to one whom
        all have, with an event of each."""
        box = self.box
        [(company, key)] = box.sql("SELECT company_id, id FROM api_key LIMIT 1")
        box.sql(
            "WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < ? - 1)"
            " INSERT INTO email (id, ticket, company_id, key_id, domain, sender, header_from,"
            " reply_to, subject, message_id, created_us, state, decided_us, queue_id, last_event)"
            " SELECT '00000000-0000-4000-8000-' || (100000000000 + n), 'old ' || n, ?, ?,"
            " 'old.example', 'a@old.example', 'a@old.example', '', 's',"
            " '<' || n || '@old.example>', 1577836800000000 + n, 'sent', 1577836800000000 + n,"
            " 'A' || (100000000 + n), 'delivered' FROM n", n, company, key)
        old = "FROM email WHERE domain = 'old.example'"
        box.sql(f"INSERT INTO email_content (seq, html, text) SELECT seq, ?, 'text' {old}", "0" * 1000)
        for i, kind, address in ((0, "to", "'to' || seq || '@dst.test'"), (1, "cc", "'Ann@dst.test'")):
            box.sql(
                "INSERT INTO email_recipient (email, n, kind, address, state, company_id)"
                f" SELECT seq, {i}, '{kind}', {address}, 'delivered', company_id {old}")
        box.sql(
            "INSERT INTO event (key, email, n, domain, kind, attempt, occurred_us, recorded_us,"
            f" source, company_id) SELECT substr({box.random_bytes}, 1, 16), r.email, r.n, 'old.example',"
            " 'delivered', 1, 1, 1577836800000000, 'log', r.company_id FROM email_recipient r"
            f" WHERE r.email IN (SELECT seq {old})")
        box.sql("UPDATE event_last SET seq = (SELECT max(seq) FROM event)")

    def emails(self):
        """Returns the number of old emails."""
        return self.one("SELECT count(*) FROM email WHERE domain = 'old.example'")

    def counts(self):
        """They, their contents, and events of theirs."""
        return (
            self.emails(),
            self.one(
                "SELECT count(*) FROM email_content c JOIN email e ON e.seq = c.seq"
                " WHERE e.domain = 'old.example' AND c.html <> ''"
            ),
            self.one("SELECT count(*) FROM event WHERE domain = 'old.example'"),
        )


class Senders:
    """Threads that send all the time; each email must be accepted."""

    def __init__(self, box, n=2):
        self.box = box
        self.sent = []
        self.failed = []
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self._run) for _ in range(n)]
        for thread in self.threads:
            thread.start()

    def _run(self):
        client = self.box.httpd()
        while not self.over.is_set():
            answer = client.post(
                {"from": "hello@example.com", "to": "to@dst.test", "text": "x"}
            )
            if answer.status_code == 200:
                self.sent.append(answer.json()["id"])
            else:
                self.failed.append(answer.text)
            self.over.wait(0.2)

    def end(self):
        self.over.set()
        for thread in self.threads:
            thread.join()
        assert not self.failed
        assert self.sent
        return self.sent


def kill_at(call, n):
    """Words in front of a command, which dies at its nth system call of this name."""
    return ["strace", "-qq", "-o", "/dev/null", "-e", f"trace={call}",
            "-e", f"inject={call}:signal=SIGKILL:when={n}"]


def purge(box, *options, before=(), **how):
    return subprocess.Popen(
        [*before, box.env["POSTERN_CLI"], "-c", box.config, "--json", "email", "purge", *options],
        stdout=subprocess.DEVNULL,
        **how,
    )


@pytest.mark.store("sqlite")  # whose file is written by the process that changes it
def test_purge_while_emails_are_sent(own_box):
    """Many are purged; the command is killed after some of its commits, twice."""
    box = own_box()
    store = Store(box)
    store.add_old(MANY)
    senders = Senders(box)
    left = MANY
    for _ in range(2):
        process = purge(box, "--older-than", "2021-01-01", before=kill_at("pwrite64", 4_000))
        assert process.wait() == -signal.SIGKILL
        assert 0 < store.emails() < left
        left = store.emails()
    assert box.cli("email", "purge", "--domain", "old.example", "--dry-run") == {
        "emails": left, "recipients": 0, "left": 0, "suppressions": 0,
        "dry_run": True, "log_emptied": False,
    }
    done = box.cli("email", "purge", "--older-than", "2021-01-01")
    assert done == {
        "emails": left, "recipients": 0, "left": 0, "suppressions": 0,
        "dry_run": False, "log_emptied": True,
    }
    sent = senders.end()
    assert store.counts() == (0, 0, 0)
    for table in ("email_content", "email_recipient", "event"):
        column = "seq" if table == "email_content" else "email"
        assert not store.one(
            f"SELECT count(*) FROM {table} WHERE {column} NOT IN (SELECT seq FROM email)"
        )
    for email_id in sent:
        assert store.one("SELECT state FROM email WHERE id = ?", email_id) == "sent"
    assert box.cli("db", "check")["ok"]


def send_by_smtp(box, to, text, subject="x"):
    """Sends it with a key, and waits for the delivery. Returns the id."""
    body = "".join(f"{text[at:at + 70]}\r\n" for at in range(0, len(text), 70))
    message_id, data = new_message(to, body=body)
    session = login(box)
    data = data.replace(b"Subject: x", b"Subject: " + subject.encode())
    assert session.sendmail("ann@example.com", [to.split("<")[-1].strip(">")], data) == {}
    session.quit()
    wait_for("the delivery", lambda: email_of(box, message_id)["last_event"] == "delivered")
    return email_of(box, message_id)["id"]


def test_retention_while_emails_are_sent(own_box):
    box = own_box()
    store = Store(box)

    def keep(what):
        box.set("retention", what, "30d")
        box.kill("httpd", signal.SIGHUP)

    store.add_old(2000)
    # It waits: a recipient may yet be in Postfix's queue.
    waits = store.one("SELECT min(seq) FROM email WHERE domain = 'old.example'") + 6
    store.one(f"UPDATE email_recipient SET state = 'deferred' WHERE email = {waits} AND n = 0")
    senders = Senders(box)
    keep("content")
    wait_for("the contents to go", lambda: store.counts()[1] == 0)
    assert store.counts() == (2000, 0, 4000)
    keep("events")
    wait_for("the events to go", lambda: store.counts()[2] == 2)
    keep("emails")
    wait_for("the emails to go", lambda: store.emails() == 1)
    assert store.one("SELECT seq FROM email WHERE domain = 'old.example'") == waits
    sent = senders.end()
    for email_id in sent:
        assert store.one("SELECT text FROM email_content c JOIN email e ON e.seq = c.seq"
                         " WHERE e.id = ?", email_id) == "x"
    wait_for("a word in the log", lambda: "event=purged" in box.log("httpd"))


def test_a_recipient_is_forgotten(own_box):
    box = own_box()
    store = Store(box)
    store.add_old(1000)
    done = box.cli("email", "purge", "--to", "ann@DST.test")
    assert (done["emails"], done["recipients"], done["left"]) == (0, 1000, 0)
    assert store.counts() == (1000, 1000, 1000)
    done = box.cli("email", "purge", "--to", "to5@dst.test")
    assert (done["emails"], done["recipients"]) == (1, 0)
    store_text = store.one("SELECT count(*) FROM email_recipient WHERE address LIKE 'ann@%'")
    assert store_text == 0
    process = purge(box, stderr=subprocess.PIPE)
    assert b"which emails?" in process.communicate()[1]
    assert process.returncode == os.EX_DATAERR


def files_with(box, text):
    """Returns the files of the database that contain the bytes, in any letter case."""
    return [
        path.name
        for path in sorted((box.dir / "store").rglob("*"))
        if path.is_file() and text.lower().encode() in path.read_bytes().lower()
    ]


@pytest.mark.store("sqlite")
def test_nothing_is_left_of_who_was_erased(own_box):
    """No file of the database contains it, while all daemons have it open."""
    box = own_box(parts=["auth"])
    store = Store(box)
    words = {"subject": unique("subject"), "text": unique("body") * 3000}
    erased, other = f"{unique('erased')}@dst.test", f"{unique('other')}@dst.test"
    shared, alone = (
        box.httpd().send({"from": "hello@example.com", "to": to, **content})
        for to, content in (
            ([erased, other], {"subject": "x", "text": "x"}),
            (f"Erased One <{erased}>", words),
        )
    )
    for email_id in (shared, alone):
        wait_for("the delivery", lambda: store.one(  # noqa: B023
            "SELECT last_event FROM email WHERE id = ?", email_id) == "delivered")
    over_smtp = send_by_smtp(box, f"Erased One <{erased}>", words["text"], words["subject"])
    assert over_smtp in box.large_messages()
    db = sqlite3.connect(box.dir / "store/postern.db", timeout=60)
    with db:
        db.execute("UPDATE email SET created_us = 1, decided_us = 1")
    assert "postern.db-wal" in files_with(box, erased)
    reader = sqlite3.connect(box.dir / "store/postern.db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM email").fetchone()
    process = purge(box, "--to", erased, stderr=subprocess.PIPE)
    said = process.communicate()[1].decode()
    assert process.returncode == os.EX_TEMPFAIL
    assert "postern.db-wal" in said
    assert "run this again" in said
    reader.close()
    done = box.cli("email", "purge", "--to", erased)
    assert done["log_emptied"]
    for text in (erased, words["subject"], words["text"][:40], "Erased One"):
        assert files_with(box, text) == []
    assert files_with(box, other) != []
    assert store.one("SELECT count(*) FROM email WHERE id = ?", shared) == 1
    assert store.one("SELECT count(*) FROM email WHERE id = ?", alone) == 0
    assert store.one("SELECT count(*) FROM email WHERE id = ?", over_smtp) == 0
    assert box.large_messages() == set()
    db.close()


def test_an_email_that_waits_is_left(own_box):
    """In Postfix's queue, and from today."""
    box = own_box()
    email_id = box.httpd().send(
        {"from": "hello@example.com", "to": "someone@dst.test", "text": "x"}
    )
    assert box.cli("email", "purge", "--to", "someone@dst.test")["left"] == 1
    assert box.httpd().read(email_id)["to"] == ["someone@dst.test"]
