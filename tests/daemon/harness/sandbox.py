"""The sandbox of tools/sandbox, as an object."""

import atexit
import configparser
import contextlib
import json
import os
import random
import re
import secrets
import shlex
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import tempfile
from pathlib import Path

from .crash import workers_of
from .httpd import Httpd
from .postgresql import programs
from .sink import Sink
from .wait import wait_for

TREE = Path(__file__).resolve().parents[3]
TOOL = TREE / "tools" / "sandbox"

# How httpd hands mail to Postfix, unless a test says otherwise.
METHOD = os.environ.get("POSTERN_SUBMISSION", "sendmail")
STORE = os.environ.get("POSTERN_STORE", "sqlite")

BUILD = Path(os.environ.get("BUILD", "build")).name

# Whether the programs have a sanitizer in them, with which a number of emails that
# is large takes minutes: what is marked `plain` has that number with the others.
SANITIZED = any(name in BUILD for name in ("address", "thread"))

# What a sanitizer, a failed assertion or a crash leaves in a log: the words of
# their own, and the exit status.
FAULTS = re.compile(
    r"ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error:"
    r"|Assertion .* failed|ended with status (1|134|135|136|139)$"
)


def unique(word="x"):
    """A word that no other test uses."""
    return f"{word}-{secrets.token_hex(6)}"


def new_email(domain="example.com", **fields):
    """A small email of the domain to a recipient of its own, with further fields or others."""
    return {"from": f"hello@{domain}", "to": unique("to") + "@dst.test", "text": "x", **fields}


# Of tools/sandbox: ports that somebody has, also while nobody listens there.
CLAIMS = Path("/run/postern-sandbox")


def free_port():
    """A port below those that the kernel gives to clients; ours until we end."""
    CLAIMS.mkdir(exist_ok=True)
    while True:
        claim = CLAIMS / str(random.randrange(20000, 32000))
        with socket.socket() as taken:
            try:
                taken.bind(("127.0.0.1", int(claim.name)))
                with claim.open("x") as file:
                    file.write(f"/proc/{os.getpid()}\n")
            except OSError:
                continue
        atexit.register(claim.unlink, missing_ok=True)
        return int(claim.name)


def accepts(address):
    """Whether somebody accepts connections at host:port."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), 5).close()
        return True
    except OSError:
        return False


def roomy_folder():
    """In memory, if there is room: Postfix and SQLite sync all that they do, and
    on some file systems the making of a file costs more than all the rest."""
    memory = "/dev/shm"
    roomy = os.path.ismount(memory) and shutil.disk_usage(memory).free >= 4 << 30
    return memory if roomy else "/tmp"


def quoted(value):
    """As a literal of SQL."""
    return "NULL" if value is None else repr(value) if isinstance(value, int) else (
        "'" + value.replace("'", "''") + "'")


def statements(sql):
    """The statements of a text, one by one, as sqlite3.Connection.execute() takes them."""
    whole = ""
    for piece in sql.split(";"):
        whole += piece + ";"
        if sqlite3.complete_statement(whole):
            if whole.strip(" \n;"):
                yield whole
            whole = ""
    if whole.strip(" \n;"):
        yield whole  # which SQLite refuses, and says why


def read_queue_file(path):
    """Returns its bytes; nothing of one that is gone, or that Postfix leaves alone because it was
    never completed: then nobody may execute it."""
    try:
        if path.is_file() and path.stat().st_mode & stat.S_IXUSR:
            return path.read_bytes()
    except FileNotFoundError:
        pass
    return b""


class Sandbox:
    """A running mail system; up when made, down at close(). Of webhook, auth and held it has
    what is named in parts."""

    def __init__(self, *options, folder=None, parts=()):
        if "--submission" not in options:
            options = ("--submission", METHOD, *options)
        if "--store" not in options:
            options = ("--store", STORE, *options)
        if not any(str(o).startswith("submission.probe_interval=") for o in options):
            # What postern-httpd submits by itself is in nobody's way.
            options = ("--set", "submission.probe_interval=0", *options)
        if not any(str(o).startswith("suppression.bounces=") for o in options):
            # Tests send to the same recipients again, who bounce every time.
            options = ("--set", "suppression.bounces=off", *options)
        for part in {"webhook", "auth", "held"} - set(parts):
            options = ("--without", part, *options)
        folder = folder or roomy_folder()
        self.dir = Path(tempfile.mkdtemp(prefix="postern.", dir=folder))
        self.failed = False
        self.behind_proxy = False
        try:
            self._tool("up", self.dir, "--while", os.getpid(), *options)
        except BaseException:
            shutil.rmtree(self.dir)
            raise
        self.env = self._read_env()
        self.on_server = self.env["POSTERN_STORE"] == "postgresql"
        self.url = self.env["POSTERN_URL"]
        self.config = Path(self.env["POSTERN_CONFIG"])
        self.sink = Sink(self.env["POSTERN_SINK"], self.dir / "sink.pid")
        self.server = self.dir / "pg"  # the socket of the store, with --store postgresql

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.failed = self.failed or kind is not None
        self.close()

    def _tool(self, *words):
        done = subprocess.run(
            [TOOL, *map(str, words)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, f"sandbox {words[0]}: {done.stdout}"

    def _read_env(self):
        env = {}
        for line in (self.dir / "env").read_text().splitlines():
            if not line.startswith("export "):
                name, value = line.split("=", 1)
                env[name] = shlex.split(value)[0]
        return env

    def close(self):
        """Stops all, and fails when a daemon crashed or leaked meanwhile."""
        self._tool("down", self.dir)
        faults = [
            f"{log.name}: {line}"
            for log in (self.dir / "log").iterdir()
            for line in log.read_text(errors="replace").splitlines()
            if FAULTS.search(line)
        ]
        if faults or self.failed:
            print(f"logs and mail are kept in {self.dir}")
        else:
            shutil.rmtree(self.dir)
        assert not faults, f"at fault: {faults}"

    def stop(self, part):
        self._tool("stop", self.dir, part)

    def start(self, part):
        self._tool("start", self.dir, part)

    def restart(self, part):
        self._tool("restart", self.dir, part)

    def flush(self):
        """Has Postfix look at once at what waits. Without a process, for tests that wait do so
        again and again: these are the requests of postkick(1) and `postqueue -f`, which do not
        wait for an answer either."""
        for service, request in (("pickup", b"W"), ("qmgr", b"FADI")):
            wait_for(f"{service} to have a place for a connection",
                     lambda: self._trigger(service, request))

    def _trigger(self, service, request):
        """False while a hundred others wait to be accepted by the service, and while master has
        just been started."""
        with socket.socket(socket.AF_UNIX) as trigger:
            trigger.settimeout(180)
            try:
                trigger.connect(str(self.dir / "queue/public" / service))
                trigger.sendall(request)
            except OSError:
                return False
        return True

    def pid(self, part):
        """The process id of a part; None while it is down."""
        try:
            return int((self.dir / f"{part}.pid").read_text())
        except (FileNotFoundError, ValueError):
            return None

    def started_pid(self, part):
        """The process id of a part that has said that it serves, and thus has all its threads;
        None before that. Of an earlier process with the same id another one has started since."""
        pid = self.pid(part)
        started = re.findall(r"\[(\d+)\] info event=(?:started|listening) ", self.log(part))
        return pid if pid and started and int(started[-1]) == pid else None

    def kill(self, part, number=signal.SIGKILL):
        os.kill(self.pid(part), number)

    def wait_for_new(self, part, old_pid):
        """Waits until a part that died is back, and serves."""
        wait_for(f"a new {part}", lambda: self.started_pid(part) not in (None, old_pid))

    def log(self, part):
        """All that a part logged so far."""
        return (self.dir / "log" / f"{part}.log").read_text(errors="replace")

    def cli(self, *words, ok=True):
        """Runs `postern --json WORDS...`; what it printed, as JSON. Not ok: its error, as text."""
        done = subprocess.run(
            [self.env["POSTERN_CLI"], "-c", self.config, "--json", *words],
            capture_output=True,
            text=True,
            timeout=180,
        )
        if not ok:
            assert done.returncode != 0
            return done.stderr
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if done.stdout.strip() else None

    def query(self, sql):
        """What psql(1) prints for statements on the store, or sqlite3(1) would: a line for each
        row, with bars between the values."""
        if self.on_server:  # not as an argument, for it may be large
            return subprocess.run(
                [programs() / "psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-h", self.server, "-U", "postern",
                 "-f", "-"],
                input=sql, capture_output=True, text=True, check=True, timeout=180,
            ).stdout.strip()  # fmt: skip
        lines = []
        with self.database() as db:
            for statement in statements(sql):
                for row in db.execute(statement):
                    lines.append("|".join("" if value is None else str(value) for value in row))
        return "\n".join(lines).strip()

    @contextlib.contextmanager
    def database(self):
        """The database file; what was written is committed at the end."""
        db = sqlite3.connect(self.dir / "store/postern.db", timeout=180)
        with contextlib.closing(db), db:
            yield db

    def rows(self, sql):
        """The rows of a SELECT on the store, each a dict."""
        if self.on_server:
            return json.loads(self.query(f"SELECT json_agg(one) FROM ({sql}) one") or "[]")
        path = f"file:{self.dir}/store/postern.db?mode=ro"
        with contextlib.closing(sqlite3.connect(path, uri=True, timeout=180)) as db:
            db.row_factory = sqlite3.Row
            return [dict(row) for row in db.execute(sql)]

    def sql(self, sql, *values):
        """Runs a statement on the store, with a value for each question mark, and commits it.
        Returns the rows of a SELECT, each a tuple."""
        if self.on_server:
            texts = sql.split("?")
            assert len(texts) == len(values) + 1, sql
            sql = "".join(text + literal for text, literal in zip(texts, [*map(quoted, values), ""]))
            if sql.startswith("SELECT"):
                rows = self.query(f"SELECT json_agg(one) FROM ({sql}) one") or "[]"
                return json.loads(rows, object_pairs_hook=lambda pairs: tuple(v for _, v in pairs))
            self.query(sql)
            return []
        with self.database() as db:
            return db.execute(sql, values).fetchall()

    @property
    def random_bytes(self):
        """An expression of SQL for 32 of them."""
        return "sha256(random()::text::bytea)" if self.on_server else "randomblob(32)"

    @property
    def host(self):
        """Of the rows that are about the queue and the log of Postfix."""
        conf = configparser.RawConfigParser()
        conf.read(self.config)
        return conf.get("store", "host") if self.on_server else ""

    @contextlib.contextmanager
    def locked(self):
        """Others only read the store meanwhile: the turn to write is ours."""
        if self.on_server:
            turn = "BEGIN; SELECT pg_advisory_xact_lock(8101115116101114);\n"
            holder = subprocess.Popen(
                [programs() / "psql", "-XqAt", "-h", self.server, "-U", "postern"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
            holder.stdin.write(turn + "SELECT 'ours';\n")
            holder.stdin.flush()
            while holder.stdout.readline() != "ours\n":
                assert holder.poll() is None
            try:
                yield
            finally:
                holder.communicate("ROLLBACK;\n", timeout=180)
            return
        path = self.dir / "store/postern.db"
        with contextlib.closing(sqlite3.connect(path, timeout=180, isolation_level=None)) as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                yield
            finally:
                db.execute("ROLLBACK")

    @contextlib.contextmanager
    def store_away(self):
        """No program can open the store meanwhile."""
        folder = self.dir / "store"
        if self.on_server:
            self.stop("postgresql")
        else:
            owner, mode = folder.stat().st_uid, folder.stat().st_mode
            os.chown(folder, 0, 0)
            folder.chmod(0o700)
        try:
            yield
        finally:
            if self.on_server:
                self.start("postgresql")
            else:
                os.chown(folder, owner, 0)
                folder.chmod(mode)

    def stores(self, text):
        """Whether the text is anywhere in the store, in a text or a BLOB."""
        if self.on_server:
            dump = subprocess.run(
                [programs() / "pg_dump", "-h", self.server, "-U", "postern", "postern"],
                capture_output=True, text=True, check=True, timeout=180,
            ).stdout  # fmt: skip
        else:
            path = f"file:{self.dir}/store/postern.db?mode=ro"
            with contextlib.closing(sqlite3.connect(path, uri=True, timeout=180)) as db:
                dump = "\n".join(db.iterdump())
        return text in dump or text.encode().hex() in dump.lower()

    def large_messages(self):
        """The ids of the emails whose messages are too large for their rows."""
        if self.on_server:
            return {row[0] for row in self.sql("SELECT DISTINCT email_id FROM message_chunk")}
        return {file.name for file in (self.dir / "store/postern.db-messages").glob("*")}

    def _age_main_cf(self):
        """Postfix, which waits a second or two before it reads what is new, takes
        main.cf for old."""
        os.utime(self.dir / "postfix/main.cf", (10**9, 10**9))

    def reload_postfix(self):
        """As `postfix reload` does, without the dozen processes that it starts to look at the queue.
        What sendmail(1) submits from now on is not taken by the pickup(8) of before."""
        self._age_main_cf()
        before = set(workers_of(self, "pickup"))
        os.kill(int((self.dir / "queue/pid/master.pid").read_text()), signal.SIGHUP)
        wait_for("the end of pickup", lambda: before.isdisjoint(workers_of(self, "pickup")))

    def set(self, section, name, value):
        """Changes postern.conf; takes effect at a reload or restart."""
        conf = configparser.RawConfigParser()
        conf.read(self.config)
        if not conf.has_section(section):
            conf.add_section(section)
        conf.set(section, name, value)
        with self.config.open("w") as file:
            conf.write(file)

    def put_behind_proxy(self):
        """From now on a client has the address that its request names, as a proxy
        does."""
        self.set("admin", "url", self.env["POSTERN_ADMIN_URL"])
        self.set("http", "trusted_proxies", "127.0.0.0/8")
        self.restart("httpd")
        self.behind_proxy = True

    def postconf(self, *settings):
        """Changes main.cf: "NAME=VALUE"; Postfix takes note when it reloads."""
        subprocess.run(
            ["postconf", "-c", self.env["POSTFIX_CONFIG"], "-e", *settings],
            check=True,
            timeout=180,
        )
        self._age_main_cf()

    def main_cf(self, name):
        """The value of a parameter of Postfix."""
        return subprocess.run(
            ["postconf", "-c", self.env["POSTFIX_CONFIG"], "-h", name],
            check=True,
            capture_output=True,
            text=True,
            timeout=180,
        ).stdout.strip()

    def httpd(self, key=None):
        """A new client, with the key that may do all unless told."""
        return Httpd(self.url, key or self.env["POSTERN_KEY"])

    def company(self):
        """A new company of its own, with no domain; its id."""
        return self.cli("company", "add", unique("company"))["id"]

    def domain(self, company, active=True, name=None):
        """A new domain of the company; its name."""
        name = name or unique("domain") + ".example"
        flags = [] if active else ["--inactive"]
        self.cli("domain", "add", name, "--company", company, *flags)
        return name

    def new_key(self, company, scope="sending,reading,managing", domain=None):
        """A new key of the company: {"id", "token", ...}."""
        words = ["--company", company, "--name", unique("key")]
        if scope:
            words += ["--scope", scope]
        if domain:
            words += ["--domain", domain]
        return self.cli("key", "create", *words)

    def add_smtpd(self, *options, chroot=True):
        """One more smtpd of this Postfix, on a port of its own and with options
        of master.cf; its host:port."""
        address = f"127.0.0.1:{free_port()}"
        lines = [f"{address} inet n - {'y' if chroot else 'n'} - - smtpd"]
        lines += [f"    -o {{ {option} }}" for option in options]
        with (self.dir / "postfix/master.cf").open("a") as file:
            file.write("\n".join([*lines, ""]))
        self.reload_postfix()
        wait_for("the new smtpd", lambda: accepts(address))
        return address

    def waiting(self):
        """How many messages wait in maildrop, where pickup takes them."""
        return sum(1 for _ in (self.dir / "queue/maildrop").iterdir())

    def in_hand(self):
        """How many emails httpd is submitting, or waits for the milter to record."""
        return int(self.query("SELECT count(*) FROM outbox WHERE due_us = 0"))

    def drain(self, recipients, flush=True):
        """Waits until nothing is left that could deliver to these, be it once more: in the outbox,
        the maildrop, and Postfix's queues. The outbox looks after 90 s for a message of which it
        does not know whether Postfix has it, and Postfix takes a queue file from a daemon that died
        after five minutes. Not flush: nobody helps."""
        listed = ", ".join(f"'{to}'" for to in recipients)
        rows = ("SELECT count(*) FROM outbox o JOIN email_recipient r ON r.email = o.email"
                f" WHERE r.address IN ({listed})")
        addresses = [to.encode() for to in recipients]

        def is_left():
            if self.query(rows) != "0":
                return True
            for name in ("maildrop", "incoming", "active", "deferred", "hold"):
                for path in (self.dir / "queue" / name).rglob("*"):
                    text = read_queue_file(path)
                    if any(address in text for address in addresses):
                        return True
            return self.sink.is_receiving()

        def is_drained():
            # The queue manager takes deferred messages up again, so one look may miss one.
            if not is_left() and not is_left():
                return True
            if flush:
                self.flush()
            return False

        wait_for("nothing to be left", is_drained, patience_s=600)
