"""postern db: backup, migrate, restore, and a database that is missing."""

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
from pathlib import Path

import pytest
from harness.httpd import check_problem
from harness.sandbox import TREE, roomy_folder

POSTERN = Path(os.environ.get("BUILD", TREE / "build")).resolve() / "postern"
SCHEMA = sorted((TREE / "schema").glob("[0-9]*.sql"))
NEWEST = len(SCHEMA)
# A migration that fails with rows does so from version 1 as well.
OLDER = [1, NEWEST // 2, NEWEST - 1]
EX_CONFIG, EX_TEMPFAIL, EX_DATAERR = 78, 75, 65


def connect(path):
    """Connects with the SQL function that the schema uses."""
    db = sqlite3.connect(path)
    db.create_function("folded", 1, str.casefold, deterministic=True)
    return db


class Store:
    """A database in a directory of its own, and the command on it."""

    made = {}  # by version, so that each is made once

    def __init__(self, folder):
        self.folder = folder
        self.path = folder / "postern.db"
        self.conf = folder.parent / "postern.conf"
        self.conf.write_text(f"[store]\ndatabase = {self.path}\n")

    def make(self, version, path=None):
        """Makes a database of this version of the schema, with one row."""
        path = path or self.path
        if version in self.made:
            path.write_bytes(self.made[version])
            return path
        db = connect(path)
        db.execute("PRAGMA synchronous=OFF")
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("CREATE TABLE schema_migration (version INTEGER NOT NULL PRIMARY KEY,"
                   " name TEXT NOT NULL, applied_us INTEGER NOT NULL)")
        for number, file in enumerate(SCHEMA[:version], 1):
            db.executescript(file.read_text())
            db.execute("INSERT INTO schema_migration VALUES (?, ?, 1)", (number, file.stem))
        for number in range(len(SCHEMA) + 1, version + 1):
            db.execute("INSERT INTO schema_migration VALUES (?, ?, 1)",
                       (number, f"{number:04}_of_another_day"))
        db.execute("INSERT INTO company (id, name, created_us) VALUES ('1', 'Acme', 1)")
        db.commit()
        db.close()
        self.made[version] = path.read_bytes()
        return path

    def run(self, *words):
        return subprocess.run([POSTERN, "-c", self.conf, *words], text=True,
                              capture_output=True, timeout=120, check=False)

    def do(self, *words):
        done = self.run("--json", *words)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def refused(self, status, *words):
        """Returns the error of a command that changes nothing."""
        before = self.bytes()
        done = self.run(*words)
        assert (done.returncode, done.stdout) == (status, ""), done.stderr
        assert self.bytes() == before
        return done.stderr

    def bytes(self):
        """Returns all files of the database, except the index in memory."""
        return {file.name: file.read_bytes() for file in self.folder.iterdir()
                if not file.name.endswith("-shm")} if self.folder.exists() else {}

    def companies(self, path=None):
        db = connect(path or self.path)
        rows = db.execute("SELECT name FROM company ORDER BY id").fetchall()
        db.close()
        return [name for (name,) in rows]

    def version(self, path=None):
        db = connect(path or self.path)
        (version,) = db.execute("SELECT max(version) FROM schema_migration").fetchone()
        db.close()
        return version


@pytest.fixture
def store(tmp_path):
    (tmp_path / "store").mkdir()
    return Store(tmp_path / "store")


@pytest.mark.parametrize("version", [*OLDER, NEWEST, NEWEST + 1])
def test_any_version_is_backed_up(store, tmp_path, version):
    store.make(version)
    copy = tmp_path / "copy"
    assert store.do("db", "backup", str(copy))["backup"] == str(copy)
    assert (store.version(copy), store.companies(copy)) == (version, ["Acme"])
    assert store.do("db", "check")["ok"] is True


def test_backups_in_the_folder_for_them(store, tmp_path):
    store.make(NEWEST)
    assert "give the name of a file, or set backup.folder" in store.refused(
        EX_CONFIG, "db", "backup")
    folder = tmp_path / "backups"
    with store.conf.open("a") as file:
        file.write(f"[backup]\nfolder = {folder}\n")
    copy = Path(store.do("db", "backup")["backup"])
    assert copy.parent == folder and re.fullmatch(r"postern\.db-\d{8}T\d{6}Z", copy.name)
    assert list(folder.iterdir()) == [copy]
    assert (folder.stat().st_mode & 0o7777, copy.stat().st_mode & 0o7777) == (0o700, 0o600)
    assert store.companies(copy) == ["Acme"]


def test_a_copy_that_is_damaged_is_no_backup(store, tmp_path):
    """A damaged copy is refused like a damaged database."""
    store.make(NEWEST)
    with connect(store.path) as db:
        db.execute("PRAGMA foreign_keys = off")
        db.execute("INSERT INTO domain (id, company_id, name, active, created_us)"
                   " VALUES ('1', 'nobody', 'example.com', 1, 1)")
    db.close()
    said = store.refused(EX_CONFIG, "db", "backup", str(tmp_path / "copy"))
    assert "no backup was made, the copy: " in said
    assert not list(tmp_path.glob("copy*"))


@pytest.mark.parametrize("version", OLDER)
def test_migrate_keeps_what_there_was(store, version):
    store.make(version)
    told = store.do("db", "migrate")
    kept = Path(told["backup"])
    assert told["version"] == NEWEST and told["applied"] == NEWEST - version
    assert re.fullmatch(rf"postern\.db\.v{version}-\d{{8}}T\d{{6}}Z", kept.name)
    assert kept.parent == store.folder and kept.stat().st_mode & 0o7777 == 0o600
    assert (store.version(kept), store.companies(kept)) == (version, ["Acme"])
    assert (store.version(), store.companies()) == (NEWEST, ["Acme"])
    assert store.do("db", "migrate")["backup"] is None


def test_migrate_tells_people_where(store):
    store.make(NEWEST - 1)
    said = store.run("db", "migrate").stdout
    kept = next(store.folder.glob("*.v*"))
    assert f"the backup with version {NEWEST - 1} is {kept}" in said


def test_migrate_without_a_backup(store):
    store.make(1)
    assert store.do("db", "migrate", "--no-backup")["backup"] is None
    assert not list(store.folder.glob("*.v*"))


def test_a_new_database_needs_no_backup(store):
    assert store.do("db", "migrate")["applied"] == NEWEST
    assert not list(store.folder.glob("*.v*"))


def test_no_room_no_migration(store, tmp_path):
    """On a file system in memory that has no room for two of them."""
    store.make(NEWEST - 1)
    db = connect(store.path)
    db.execute("CREATE TABLE ballast (x)")
    db.execute("INSERT INTO ballast VALUES (zeroblob(1200000))")
    db.commit()
    db.close()
    inner = "mount -t tmpfs -o size=2500k none small && cp store/postern.db small/ &&" \
            " { $POSTERN -c small.conf db migrate; echo status $?; ls small;" \
            " $POSTERN -c small.conf db migrate --no-backup; }"
    (tmp_path / "small").mkdir()
    (tmp_path / "small.conf").write_text(f"[store]\ndatabase = {tmp_path}/small/postern.db\n")
    done = subprocess.run(["unshare", "-m", "sh", "-c", inner], cwd=tmp_path, text=True,
                          env={**os.environ, "POSTERN": str(POSTERN)}, timeout=60,
                          capture_output=True, check=False)
    assert f"status {EX_TEMPFAIL}\npostern.db\n" in done.stdout, done
    assert "nothing was migrated, for want of a backup" in done.stderr
    assert "--no-backup" in done.stderr and "KB left" in done.stderr
    assert f"migrated to schema version {NEWEST}" in done.stdout


@pytest.mark.parametrize("version", [*OLDER, NEWEST])
def test_restore(store, tmp_path, version):
    backup = store.make(version, tmp_path / "backup")
    store.do("db", "migrate")
    store.path.chmod(0o600)
    told = store.do("db", "restore", str(backup))
    assert told["version"] == version and told["backup"] == str(backup)
    assert (store.version(), store.companies()) == (version, ["Acme"])
    assert store.path.stat().st_mode & 0o7777 == 0o600
    kept = Path(told["kept"])
    assert (store.version(kept), store.companies(kept)) == (NEWEST, [])
    assert store.companies(backup) == ["Acme"]
    assert store.do("db", "migrate")["version"] == NEWEST


def test_restore_where_there_is_none(store, tmp_path):
    backup = store.make(NEWEST, tmp_path / "backup")
    assert store.do("db", "restore", str(backup))["kept"] is None
    assert store.path.stat().st_mode & 0o7777 == 0o640
    assert store.companies() == ["Acme"]
    assert [file.name for file in store.folder.iterdir()] == ["postern.db"]


def test_restore_takes_the_log_along(store, tmp_path):
    """A copy made with cp(1) is restored with its write-ahead log. The log of the
    former database is kept with it, and not applied to the new one."""
    backup = store.make(NEWEST, tmp_path / "backup")
    writer = connect(backup)
    writer.execute("INSERT INTO company (id, name, created_us) VALUES ('2', 'Late', 1)")
    writer.commit()
    for suffix in ("", "-wal"):
        shutil.copy(f"{backup}{suffix}", f"{tmp_path}/copied{suffix}")
    writer.close()
    store.make(NEWEST)
    killed = os.fork()
    if killed == 0:
        db = connect(store.path)
        db.execute("UPDATE company SET name = 'Former'")
        db.commit()
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(killed, 0)
    assert (store.folder / "postern.db-wal").stat().st_size > 0
    kept = store.do("db", "restore", str(tmp_path / "copied"))["kept"]
    assert store.companies() == ["Acme", "Late"]
    assert store.companies(kept) == ["Former"]


def damaged(path):
    with path.open("r+b") as file:
        file.seek(5 * 4096)
        file.write(b"\xa5" * 4096 * 4)


def strange(path):
    path.unlink()
    db = connect(path)
    db.execute("CREATE TABLE other (x)")
    db.commit()
    db.close()


def renamed(path):
    db = connect(path)
    db.execute("UPDATE schema_migration SET name = '0001_other' WHERE version = 1")
    db.commit()
    db.close()


UNUSABLE = [
    ("damaged", damaged, "cannot be used"),
    ("of another program", strange, "tables of another program"),
    ("of another schema", renamed, "0001_other"),
    ("empty", lambda path: path.write_bytes(b""), "no schema"),
    ("text", lambda path: path.write_text("x" * 9000), "not a database"),
    ("missing", os.unlink, "No such file"),
]


@pytest.mark.parametrize("name, spoil, text", UNUSABLE, ids=[u[0] for u in UNUSABLE])
def test_what_is_no_backup_changes_nothing(store, tmp_path, name, spoil, text):
    backup = store.make(NEWEST, tmp_path / "backup")
    store.make(NEWEST)
    spoil(backup)
    status = EX_CONFIG if name == "missing" else EX_DATAERR
    said = store.refused(status, "db", "restore", str(backup))
    assert str(backup) in said and text in said


def test_a_newer_backup_changes_nothing(store, tmp_path):
    backup = store.make(NEWEST + 1, tmp_path / "backup")
    store.make(NEWEST)
    said = store.refused(EX_DATAERR, "db", "restore", str(backup))
    assert f"schema version {NEWEST + 1}, which is newer" in said


def test_the_database_itself_is_no_backup(store):
    store.make(NEWEST)
    said = store.refused(EX_DATAERR, "db", "restore", str(store.path))
    assert "the database itself" in said


def test_a_database_in_use_stays(store, tmp_path):
    backup = store.make(NEWEST, tmp_path / "backup")
    store.make(NEWEST)
    user = connect(store.path)
    user.execute("SELECT * FROM company").fetchall()
    child = subprocess.run([POSTERN, "-c", store.conf, "db", "restore", backup],
                           capture_output=True, text=True, timeout=60, check=False)
    assert child.returncode == EX_CONFIG
    assert f"(process {os.getpid()})" in child.stderr
    assert not list(store.folder.glob("*replaced*"))
    store.do("db", "restore", "--force", str(backup))
    user.close()
    store.do("db", "restore", str(backup))


@pytest.mark.parametrize("call", ["fsync", "link", "unlink", "rename"])
def test_killed_at_any_step(store, tmp_path, call):
    """Killed at each system call: the database is one of the two or missing, and the
    former one is complete somewhere. Another run restores it."""
    if not shutil.which("strace"):
        pytest.skip("no strace")
    backup = store.make(NEWEST, tmp_path / "backup")
    for when in range(1, 20):
        shutil.rmtree(store.folder)
        store.folder.mkdir()
        store.make(NEWEST)
        db = connect(store.path)
        db.execute("UPDATE company SET name = 'Former'")
        db.commit()
        db.close()
        done = subprocess.run(
            ["strace", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e",
             f"inject={call}:signal=KILL:when={when}",
             POSTERN, "-c", store.conf, "db", "restore", backup],
            capture_output=True, text=True, timeout=60, check=False)
        found = [store.companies(file) for file in store.folder.iterdir()
                 if file.name == "postern.db" or re.search(r"replaced-\w+(-\d+)?$", file.name)]
        assert ["Former"] in found
        if done.returncode == 0:
            break
        if store.path.exists():
            assert store.companies() in (["Former"], ["Acme"])
        else:
            assert "was removed or moved" in store.run("company", "list").stderr
        store.do("db", "restore", str(backup))
        assert store.companies() == ["Acme"]
    assert when > 1


@pytest.mark.parametrize("call, when", [("rename", 1)])
def test_a_step_that_fails(store, tmp_path, call, when):
    """The error names the place of the former database; another run restores it."""
    if not shutil.which("strace"):
        pytest.skip("no strace")
    backup = store.make(NEWEST, tmp_path / "backup")
    store.make(NEWEST)
    done = subprocess.run(
        ["strace", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e",
         f"inject={call}:error=EIO:when={when}",
         POSTERN, "-c", store.conf, "db", "restore", backup],
        capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert "Input/output error" in done.stderr
    kept = re.search(r"is kept as (\S+): mend what follows, and run this again", done.stderr)[1]
    assert store.companies(Path(kept)) == ["Acme"]
    store.do("db", "restore", str(backup))
    assert store.companies() == ["Acme"]


def test_a_missing_folder(store):
    shutil.rmtree(store.folder)
    for words in (["company", "list"], ["db", "migrate"], ["db", "check"]):
        said = store.refused(EX_CONFIG, *words)
        assert "the folder of the database is missing" in said
        assert f"install -d -o postern -g postern -m 750 {store.folder}" in said
        assert "postern db restore FILE" in said and "not mounted" in said


def test_a_database_that_was_there(store):
    """A missing database is not replaced by an empty one without a request."""
    store.make(NEWEST - 1)
    store.do("db", "migrate")
    store.path.unlink()
    for words in (["company", "list"], ["db", "migrate"]):
        said = store.refused(EX_CONFIG, *words)
        assert "it was removed or moved" in said and "postern db restore FILE" in said
        assert "postern.db.v" in said and "`postern db migrate --new`" in said
    assert store.do("db", "migrate", "--new")["applied"] == NEWEST


def test_a_database_that_nobody_has_seen(store):
    said = store.refused(EX_CONFIG, "company", "list")
    assert "In a new installation `postern db migrate` makes it" in said
    assert "postern db restore FILE" in said


def test_a_damaged_database_names_its_cure(store):
    store.make(NEWEST)
    damaged(store.path)
    said = store.run("db", "check").stderr
    assert "postern.db" in said
    store.path.write_text("x" * 9000)
    assert "`postern db restore FILE`" in store.run("company", "list").stderr


@pytest.mark.store("sqlite")
def test_under_daemons(own_box, email, to):
    """Running daemons are found. Afterwards the database has the rows of the backup,
    and not those written since."""
    box = own_box("--set", "admin.metrics=loopback", parts=["webhook", "auth"])
    before = box.httpd().send(email)
    backup = Path(roomy_folder()) / f"{box.dir.name}.backup"
    try:
        box.cli("db", "backup", str(backup))
        since = box.httpd().send({**email, "to": "b" + to})
        parts = [part for part in ("httpd", "milter", "events", "webhook", "auth") if box.pid(part)]
        for part in parts:
            done = subprocess.run([box.env["POSTERN_CLI"], "-c", box.config, "db", "restore",
                                   backup], capture_output=True, text=True, timeout=60,
                                  check=False)
            assert done.returncode == EX_CONFIG
            assert re.search(r"in use by postern-\w+ \(process \d+\)", done.stderr)
            box.stop(part)
        box.cli("db", "restore", str(backup))
        for part in reversed(parts):
            box.start(part)
        assert box.httpd().read(before)["id"] == before
        check_problem(box.httpd().get(since), 404, "not_found")
        box.httpd().send({**email, "to": "c" + to})
        assert box.sink.find(to="c" + to)
    finally:
        backup.unlink()
