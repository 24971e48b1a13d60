"""postern doctor finds what is broken of this host and the store, row by row, and mends
what is safe to mend."""

import configparser
import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import threading

import pytest
from harness import Sandbox, wait_for
from harness.admin import operator
from harness.dns import DnsServer
from harness.sandbox import BUILD, TREE
from test_held import forge

pytestmark = pytest.mark.submission("sendmail")

CLI = TREE / BUILD / "postern"

# What is so in every sandbox: its daemons are root's, and nothing was learnt.
OF_SANDBOX = {"rights", "learnt", "message_size", "time", "disk", "sync"}

WITHOUT_POSTFIX = ("--postfix", "/nonexistent")


class AllIsWell(dict):
    """A DNS server with correct records for every domain."""

    ANSWERS = {"A": ["93.184.216.34"], "MX": ["mail.place.example"],
               "PTR": ["mail.place.example"]}

    def get(self, key, default=None):
        name, kind = key
        if kind == "TXT":
            return ["v=DMARC1; p=none" if name.startswith("_dmarc.")
                    else "v=spf1 ip4:93.184.216.34 -all"]
        return self.ANSWERS.get(kind, [])


@pytest.fixture(scope="module")
def box():
    with DnsServer() as server, Sandbox(
            "--set", f"dns.server={server.address}",
            "--set", "dns.addresses=93.184.216.34", parts=["auth"]) as box:
        server.records, server.exists = AllIsWell(), True
        box.postconf("smtp_helo_name=mail.place.example")
        yield box


def run(box, *words, config=None, **more):
    return subprocess.run([CLI, "-c", config or box.config, "doctor", *words],
                          capture_output=True, text=True, timeout=300, check=False, **more)


def doctor(box, *words, config=None):
    """Returns the findings and the exit status."""
    done = run(box, "--json", *words, config=config)
    found = json.loads(done.stdout)
    worst = {"wrong": 2, "warning": 1}
    assert done.returncode == max((worst.get(row["result"], 0) for row in found), default=0)
    return found


def doctor_of_host(box, *words, config=None):
    """The findings about this host and the store: without Postfix a run takes an eighth."""
    return doctor(box, *WITHOUT_POSTFIX, *words, config=config)


def faults(found, check):
    return [row for row in found if row["check"] == check and row["result"] in ("wrong", "warning")]


def fault(found, check, text):
    rows = [row for row in faults(found, check) if text in row["text"]]
    assert rows, [row for row in found if row["result"] in ("wrong", "warning")]
    assert rows[0]["means"]
    return rows[0]


@contextlib.contextmanager
def copy_of(box, tmp_path, **settings):
    """Returns settings that differ by these: {"http.listen": ...}."""
    conf = configparser.RawConfigParser()
    conf.read(box.config)
    for name, value in settings.items():
        section, _, key = name.partition("__")
        if not conf.has_section(section):
            conf.add_section(section)
        conf.set(section, key, str(value))
    config = tmp_path / "postern.conf"
    with config.open("w") as file:
        conf.write(file)
    yield config


def test_nothing_is_found_on_a_healthy_system(box):
    found = doctor(box)
    assert [row for row in found if row["result"] in ("warning", "wrong")
            and row["check"] not in OF_SANDBOX] == []
    assert "the milter is asked about mail by sendmail(1)" in [row["text"] for row in found]
    assert fault(found, "rights", "runs as root")
    of_file = set() if box.on_server else {"owner"}
    assert {"httpd", "health", "integrity", "relay", "networks", "reload", "folder", *of_file} <= {
        row["check"] for row in found if row["result"] == "good"}
    assert "backup" not in {row["check"] for row in found}  # no folder is set


def test_people_read_it(box):
    done = run(box)
    assert "good:    postern-httpd is ready\n" in done.stdout
    assert done.stdout.rstrip().splitlines()[-1].endswith(" good")
    quiet = run(box, "--quiet").stdout
    assert "good:" not in quiet and "unknown:" not in quiet


def test_the_folder_of_the_socket_is_mended(box):
    folder = box.dir / "queue/postern"
    folder.chmod(0o700)
    try:
        row = fault(doctor(box), "folder", "with mode 0700")
        assert row["safe"] and row["mend"].startswith("install -d -o ")
        found = doctor(box, "--fix")
        assert not faults(found, "folder")
    finally:
        folder.chmod(0o2750)


def test_a_milter_that_was_stopped_goes_on(box):
    pid = box.pid("milter")
    box.kill("milter", signal.SIGSTOP)
    try:
        found = doctor(box)
        row = fault(found, "milter", "does not answer")
        assert row["safe"] and row["mend"] == f"kill -CONT {pid}"
        fault(found, "probe", "the message waits, the milter does not answer")
        assert [row for row in found if "not tried, since the milter does not" in row["text"]]
        done = run(box, "--fix")
        assert f"ran: kill -CONT {pid}" in done.stderr
        assert "does not answer" not in done.stdout
    finally:
        box.kill("milter", signal.SIGCONT)


def test_a_daemon_is_dead(box):
    box.stop("httpd")
    box.stop("events")
    try:
        found = doctor(box)
    finally:
        box.start("events")
        box.start("httpd")
    assert fault(found, "httpd", "is not running")
    assert fault(found, "events", "is not running")


@pytest.mark.parametrize("settings, rows", [
    ({"http__listen": "0.0.0.0:8587", "admin__listen": "[::]:8588",
      "submission__sendmail": "/bin/true", "milter__socket": "/tmp/other.sock",
      "events__log_file": "/nonexistent.log"},
     [("listen", "http.listen"), ("listen", "admin.listen"), ("sendmail", "is /"),
      ("smtpd_milters",
       "smtpd_milters lacks unix:/tmp/other.sock and names unix:postern/milter.sock: run postern "
       "setup, or correct milter.socket in postern.conf"),
      ("events", "/nonexistent.log does not exist; it is read once it does, since "
       "events.log_file names it")]),
    ({"submission__sendmail": "/nonexistent"}, [("sendmail", "is missing")]),
    pytest.param({"store__database": "/nonexistent/postern.db"}, [("database", "/nonexistent")],
                 marks=pytest.mark.store("sqlite")),
    ({"http__nonsense": "1"}, [("settings", "nonsense")]),
])
def test_settings_of_postern(box, tmp_path, settings, rows):
    with copy_of(box, tmp_path, **settings) as config:
        found = doctor(box, config=config)
    for check, text in rows:
        assert fault(found, check, text)


def a_store(box, tmp_path):
    """Returns a copy of the database, and settings for it."""
    database = tmp_path / "postern.db"
    box.cli("db", "backup", str(database))
    return database, copy_of(box, tmp_path, store__database=database)


@pytest.mark.store("sqlite")
def test_a_database_of_somebody_else(box, tmp_path):
    database, settings = a_store(box, tmp_path)
    shutil.chown(database, "daemon", "daemon")
    with settings as config:
        found = doctor(box, config=config)
        row = fault(found, "owner", "does not belong")
        assert row["safe"] and row["mend"].startswith("chown ")
        fault(found, "probe", f"process {box.pid('milter')}, has another database")
        assert not faults(doctor_of_host(box, "--fix", config=config), "owner")
    assert database.stat().st_uid == tmp_path.stat().st_uid


@pytest.mark.store("sqlite")
def test_a_database_that_all_may_read(box, tmp_path):
    database, settings = a_store(box, tmp_path)
    database.chmod(0o644)
    with settings as config:
        row = fault(doctor_of_host(box, config=config), "secrets", "mode 644")
        assert row["safe"] and row["mend"] == f"chmod o-rwx {database}"
        assert not faults(doctor_of_host(box, "--fix", config=config), "secrets")
    assert database.stat().st_mode & 0o777 == 0o640


@pytest.mark.store("sqlite")
def test_a_database_that_is_damaged(box, tmp_path):
    database, settings = a_store(box, tmp_path)
    with database.open("r+b") as file:
        file.seek(0, 2)
        size = file.tell()
        for page in range(size // 4096 // 2, size // 4096):
            file.seek(page * 4096)
            file.write(b"\xff" * 64)
    with settings as config:
        found = doctor_of_host(box, config=config)
    assert faults(found, "integrity") or faults(found, "database") or faults(found, "schema")


@pytest.mark.store("sqlite")
def test_the_newest_backup_is_missing_old_or_damaged(box, tmp_path):
    folder = tmp_path / "backups"
    path = f"{CLI.parent}:{os.environ['PATH']}"
    with copy_of(box, tmp_path, backup__folder=folder, backup__max_age="36h") as config:
        row = fault(doctor_of_host(box, config=config), "backup", f"there is no backup in {folder}")
        assert row["safe"] and row["mend"] == f"postern -c {config} db backup"
        subprocess.run(row["mend"].split(), env={"PATH": path}, check=True, timeout=60)
        (first,) = folder.iterdir()
        os.utime(first, (0, first.stat().st_mtime - 36 * 3600))
        before = first.stat()
        fault(doctor_of_host(box, config=config), "backup", f"{first}, is 36 hours old")
        assert first.stat().st_mtime_ns == before.st_mtime_ns
        done = run(box, *WITHOUT_POSTFIX, "--fix", config=config, env={"PATH": path})
        assert f"ran: {row['mend']}" in done.stderr
        assert f"good:    the newest backup, {folder}/postern.db-" in done.stdout
        newest = max(folder.iterdir(), key=lambda file: file.stat().st_mtime)
        with newest.open("r+b") as file:
            for page in range(2, 12):
                file.seek(page * 4096)
                file.write(b"\xff" * 64)
        fault(doctor_of_host(box, config=config), "backup", "the newest backup is damaged: ")
        # One of another program is looked at for its age alone, an unfinished one not at all.
        (folder / "dump.gz").write_bytes(b"other")
        (folder / "postern.db-20990101T000000Z.part").write_bytes(b"")
        os.utime(folder / "dump.gz", (0, newest.stat().st_mtime + 2))
        found = doctor_of_host(box, config=config)
    assert not faults(found, "backup")
    assert f"the newest backup, {folder}/dump.gz, is 0 hours old" in {row["text"] for row in found}


@pytest.mark.store("sqlite")
def test_what_the_store_says_of_late_work(box, tmp_path):
    """The log, and decisions of admins: in a copy that no daemon brings up to date."""
    database, settings = a_store(box, tmp_path)
    with sqlite3.connect(database) as db:
        (host,) = db.execute("SELECT host FROM log_cursor LIMIT 1").fetchone()
        db.execute("UPDATE log_cursor SET end_us = end_us - 7200000000")
        db.execute("INSERT INTO gap (host, source, why, from_us, to_us, count) "
                   "VALUES (?, 'file', 'test', 1, 2, 1)", (host,))
        db.execute("INSERT INTO held (queue_id, held_us, reason, domain, header_from, decision, "
                   "decided_us) VALUES ('ABC', 1, 'r', 'd.test', 'a@d.test', 'release', 1)")
    db.close()
    with settings as config:
        found = doctor_of_host(box, config=config)
    fault(found, "log", "minutes behind Postfix's log")
    fault(found, "log", "missing parts of Postfix's log: 1")
    # No daemon has this database.
    fault(found, "decisions", "postern-held is not running")
    fault(found, "held", "on hold because of the rules: 1")


@pytest.mark.store("sqlite")
def test_a_log_that_shows_no_mail(box, tmp_path):
    """postern-events has read it to its end, but of the last probe it said nothing."""
    database, settings = a_store(box, tmp_path)
    with contextlib.closing(sqlite3.connect(database)) as db, db:
        host, end_us = db.execute("SELECT host, max(end_us) FROM log_cursor").fetchone()
        db.execute("DELETE FROM probe")
        db.executemany(
            "INSERT INTO probe (ticket, host, way, created_us, seen_us, logged_us) "
            "VALUES (?, ?, 'sendmail', ?, ?, ?)",
            [("logged", host, end_us - 90000000, end_us - 90000000, end_us - 90000000),
             ("mute", host, end_us - 60000000, end_us - 60000000, 0)])
    with settings as config:
        fault(doctor_of_host(box, config=config), "log", "has shown none of its mail since 20")


@pytest.mark.store("sqlite")
def test_a_password_that_all_may_read(box, tmp_path):
    """In the URL of a server, which nobody runs here."""
    url = "postgresql://postern:secret@127.0.0.1:1/postern"
    with copy_of(box, tmp_path) as config:
        own = tmp_path / "postern.conf.d/server.conf"
        own.parent.mkdir()
        own.write_text(f"[store]\nurl = {url.replace(':secret', '')}\n")
        assert not faults(doctor_of_host(box, config=config), "secrets")
        own.write_text(f"[store]\nurl = {url}\n")
        shutil.chown(own, "daemon", "daemon")
        (to_group, to_mode) = faults(doctor_of_host(box, config=config), "secrets")
        assert f"{own}, which holds the password of store.url, " in to_group["text"]
        assert to_group["mend"] == f"chgrp 0 {own}" and to_group["safe"]
        assert "has mode 644: everybody may read it" in to_mode["text"]
        assert to_mode["mend"] == f"chmod o-rwx,g+r {own}" and to_mode["safe"]
        assert not faults(doctor_of_host(box, "--fix", config=config), "secrets")
    assert (own.stat().st_gid, own.stat().st_mode & 0o777) == (0, 0o640)


@pytest.mark.store("sqlite")
@pytest.mark.parametrize("options, files, text", [
    ("size=64m", 0, "(the store) has 6"),
    ("size=2g,nr_inodes=100", 93, "(the store) has 204"),
])
def test_a_disk_that_is_nearly_full(box, tmp_path, options, files, text):
    """The store is on a disk of its own, with little space or few inodes."""
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", small], check=True, timeout=60)
    try:
        database, settings = a_store(box, small)
        for n in range(files):
            (small / str(n)).touch()
        with settings as config:
            assert fault(doctor_of_host(box, config=config), "disk", f"{small} {text}")
    finally:
        subprocess.run(["umount", "-l", small], check=True, timeout=60)


@pytest.mark.parametrize("clock, result, text, sync_ms", [
    ("retval=5", "warning", "the clock is not synchronized", 30),
    ("retval=0", "good", "the clock is synchronized", 0),
    ("error=EPERM", "unknown", "cannot tell whether the clock is synchronized", 0),
])
def test_the_clock_and_the_disk_are_measured(box, clock, result, text, sync_ms):
    """The kernel says so: by adjtimex(2), and by the time that fdatasync(2) takes."""
    clocks, sync = "adjtimex,clock_adjtime", f"delay_exit={sync_ms * 1000}"
    done = subprocess.run(
        ["strace", "-qq", "-o", "/dev/null", "-e", f"trace={clocks},fdatasync",
         "-e", f"inject={clocks}:{clock}", "-e", f"inject=fdatasync:{sync}",
         CLI, "-c", box.config, "doctor", "--json", *WITHOUT_POSTFIX],
        capture_output=True, text=True, timeout=300, check=False)
    found = json.loads(done.stdout)
    assert [(row["result"], row["text"]) for row in found if row["check"] == "time"] == [
        (result, text)]
    if sync_ms:
        fault(found, "sync", f"the disk of {box.dir}/store takes ")
        assert fault(found, "time", text)["mend"] == "timedatectl set-ntp true"


@pytest.mark.store("sqlite")
def test_a_reader_that_holds_the_journal_open(box, tmp_path):
    database, settings = a_store(box, tmp_path)
    reader = sqlite3.connect(database)
    try:
        reader.execute("PRAGMA journal_mode = WAL")
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM company").fetchone()
        # What is written from now on has to stay in the journal.
        with sqlite3.connect(database) as writer:
            writer.execute("UPDATE company SET name = name")
        os.truncate(f"{database}-wal", 300 << 20)
        with settings as config:
            assert fault(doctor_of_host(box, config=config), "wal", "has 300 MiB")
    finally:
        reader.close()


@pytest.mark.store
def test_a_writer_that_does_not_end(box, email):
    """Who keeps all others from writing is named."""
    client = threading.Thread(target=box.httpd().post, args=(email,))
    with box.locked():
        client.start()
        who = "psql (process" if box.on_server else f"(process {os.getpid()})"
        wait_for("doctor to name it", lambda: [
            row for row in faults(doctor_of_host(box), "database") if who in row["text"]])
    client.join()
    assert not faults(doctor_of_host(box), "database")


@pytest.mark.store("sqlite")
def test_an_older_schema(box, tmp_path):
    database, settings = a_store(box, tmp_path)
    subprocess.run(["sqlite3", database, "DELETE FROM schema_migration WHERE version ="
                    " (SELECT max(version) FROM schema_migration)"], check=True, timeout=60)
    with settings as config:
        row = fault(doctor_of_host(box, config=config), "schema", "")
    assert row["mend"] == "postern db migrate"


def test_messages_that_are_held(box):
    queue_id = forge(box, "example.com", "to@dst.test")
    try:
        row = fault(doctor_of_host(box), "held", ": " + box.query("SELECT count(*) FROM held"))
        assert row["mend"] == "postern held list"
    finally:
        box.cli("held", "drop", "--yes", queue_id)


def test_a_clock_that_was_put_back(box, email):
    """The newest email in the store is from the future."""
    email_id = box.httpd().send(email)
    set_back = "UPDATE email SET created_us = created_us {} 86400000000 WHERE id = '{}'"
    box.query(set_back.format("+", email_id))
    try:
        row = fault(doctor(box), "clock", "minutes behind the newest email in the store")
        assert row["mend"] == "timedatectl status" and not row["safe"]
    finally:
        box.query(set_back.format("-", email_id))
    assert not faults(doctor(box), "clock")


def test_endpoints_that_fail(box):
    """Endpoints that have failed for an hour, or were disabled for it."""
    ids = [box.cli("webhook", "add", "--company", box.company(), "--endpoint",
                   f"https://hooks.test/{name}", "--events", "email.delivered")["id"]
           for name in ("late", "gone")]
    # That many days do not pass here.
    box.query(f"UPDATE webhook SET failing_us = 1 WHERE id = '{ids[0]}'")
    box.query(f"UPDATE webhook SET failing_us = 1, disabled_us = 2, enabled = 0 WHERE id = '{ids[1]}'")
    row = fault(doctor_of_host(box), "endpoints",
                "disabled after failing for days: 1, failing for over an hour: 1")
    assert row["mend"] == "postern webhook list" and not row["safe"]
    listed = {hook["id"]: hook["enabled"] for hook in box.cli(*row["mend"].split()[1:])}
    assert listed == {ids[0]: True, ids[1]: False}
    box.cli("webhook", "enable", ids[1])
    row = fault(doctor_of_host(box), "endpoints",
                "disabled after failing for days: 0, failing for over an hour: 1")
    assert "one of them is https://hooks.test/late" in row["text"]
    box.cli("webhook", "remove", ids[0])
    assert not faults(doctor_of_host(box), "endpoints")
    box.cli("webhook", "remove", ids[1])


@pytest.mark.parametrize("kind, answer, texts", [
    ("PTR", [], ["PTR of 93.184.216.34: the address has no name"]),
    ("A", ["192.0.2.1"],
     ["PTR of 93.184.216.34: mail.place.example, which does not have that",
      "HELO of mail.place.example: 192.0.2.1, and mail goes out from 93."]),
])
def test_the_dns_of_this_host(box, monkeypatch, kind, answer, texts):
    with monkeypatch.context() as changed:
        changed.setitem(AllIsWell.ANSWERS, kind, answer)
        found = doctor_of_host(box)
    for text in texts:
        fault(found, "dns_host", text)
    assert not faults(doctor_of_host(box), "dns_host")


def test_without_roots_rights(box):
    """doctor reads what it may, and reports what it may not."""
    done = subprocess.run(
        ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups",
         CLI, "-c", "/nonexistent", "doctor", "--json"],
        capture_output=True, text=True, timeout=300, check=False, cwd="/")
    if done.returncode == 126 or done.returncode == 127:
        pytest.skip("the programs lie where others cannot look")
    found = json.loads(done.stdout)
    assert any("run as root" in row["text"] for row in found)
    assert not faults(found, "probe") and not [
        row for row in found if row["text"] == "Postfix is not running"]


def test_what_others_cannot_see_is_not_called_wrong(box):
    """Daemons that run are not said to be down, nor a database to be unusable, because the
    user who asks may not look."""
    folder = box.dir / "of-nobody"
    folder.mkdir()
    shutil.chown(folder, "nobody")
    store = box.dir / "store"
    mode = store.stat().st_mode & 0o777
    store.chmod(0o750)
    try:
        done = subprocess.run(
            ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups",
             "env", f"TMPDIR={folder}", CLI, "-c", box.config, "doctor", "--json"],
            capture_output=True, text=True, timeout=300, check=False, cwd="/")
    finally:
        store.chmod(mode)
    if done.returncode in (126, 127):
        pytest.skip("the programs lie where others cannot look")
    found = json.loads(done.stdout)
    checks = ("httpd", "events", "milter", "settings", "database", "smtp_auth")
    assert [row for row in found if row["check"] in checks
            and row["result"] in ("wrong", "warning")] == []
    assert "postern-httpd is running" in [row["text"] for row in found]


def test_what_root_found_is_shown_with_its_age(box):
    """httpd shows the file of the last run, and checks nothing itself."""
    path = box.dir / "store/postern.db.doctor"
    path.unlink(missing_ok=True)
    admin = operator(box)
    assert admin.ok("GET", "/admin/doctor") == {
        "object": "doctor", "looked_at": None, "results": []}
    box.dir.joinpath("queue/postern").chmod(0o700)
    try:
        found = doctor(box)
    finally:
        box.dir.joinpath("queue/postern").chmod(0o2750)
    shown = admin.ok("GET", "/admin/doctor")
    assert [{name: row[name] for name in ("check", "result", "text")} for row in found] == [
        {name: row[name] for name in ("check", "result", "text")} for row in shown["results"]]
    assert fault(shown["results"], "folder", "with mode 0700")["mend"].startswith("install -d ")
    assert shown["looked_at"].endswith("+00:00")
    info = path.stat()
    assert (info.st_uid, info.st_mode & 0o777) == (0, 0o640)


def test_a_link_in_the_place_of_the_findings_is_not_followed(box, tmp_path):
    path, other = box.dir / "store/postern.db.doctor", tmp_path / "other"
    other.write_text("stays")
    path.unlink(missing_ok=True)
    path.symlink_to(other)
    assert operator(box).ok("GET", "/admin/doctor")["results"] == []
    doctor(box)
    assert other.read_text() == "stays" and not path.is_symlink()
