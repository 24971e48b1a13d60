"""PostgreSQL servers of a test's own: in a private folder, on a Unix socket alone."""

import os
import pwd
import shutil
import subprocess
import tempfile
from glob import glob
from pathlib import Path

from .wait import wait_for

USER = "postern"


def programs():
    """Debian has a folder for each version. What is in the PATH by these names is a script in Perl
    that looks for it, and costs three times as much as the program."""
    return Path(sorted(glob("/usr/lib/postgresql/*/bin/postgres"))[-1]).parent


class PostgreSQL:
    """PostgreSQL refuses to run as root, who becomes nobody."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="postern-pg."))
        self.data = self.folder / "data"
        self.as_nobody = []
        if os.getuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
            self.as_nobody = ["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}",
                              "--clear-groups"]
        self.folder.chmod(0o755)
        # The locale folds more letters than ASCII ones: what must not depend on it shows.
        self.run("initdb", "-D", self.data, "-U", USER, "-E", "UTF8", "--locale=C.UTF-8",
                 "-A", "trust", "--no-sync")
        options = f"-k {self.folder} -c listen_addresses='' -c fsync=off -c jit=off"
        self.run("pg_ctl", "-D", self.data, "-l", self.folder / "log", "-o", options, "-w", "start")

    def run(self, program, *args):
        subprocess.run([*self.as_nobody, programs() / program, *args], check=True, cwd="/",
                       stdout=subprocess.DEVNULL)

    def stop(self):
        self.run("pg_ctl", "-D", self.data, "-m", "immediate", "-w", "stop")
        shutil.rmtree(self.folder)

    def env(self, database):
        return {**os.environ, "PGHOST": str(self.folder), "PGUSER": USER, "PGDATABASE": database,
                "PGCLIENTENCODING": "UTF8"}

    def session(self, database):
        return Session(self.env(database))

    def psql(self, script, database="postgres", stop=True):
        """What psql prints for a script, a row to a line; errors with it."""
        env = self.env(database)
        options = ["-X", "-q", "-A", "-t", "-v", f"ON_ERROR_STOP={int(stop)}", "-f", "-"]
        run = subprocess.run([programs() / "psql", *options], input=script, env=env, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert run.returncode == 0 or not stop, run.stdout
        return run.stdout

    def create(self, database, *files):
        self.psql(f"CREATE DATABASE {database}")
        for file in files:
            self.psql(f"BEGIN;\n{Path(file).read_text()}\nCOMMIT;", database)


class Session:
    """A connection of its own, for transactions side by side."""

    END = "@@"

    def __init__(self, env):
        self.psql = subprocess.Popen(
            [programs() / "psql", "-X", "-q", "-A", "-t"], env=env, text=True, bufsize=1,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def tell(self, sql):
        self.psql.stdin.write(f"{sql}\n\\echo {self.END}\n")

    def answer(self):
        """What was answered, a row to a line."""
        lines = iter(self.psql.stdout.readline, f"{self.END}\n")
        return [line.rstrip("\n") for line in lines]

    def ask(self, sql):
        self.tell(sql)
        return self.answer()

    def close(self):
        self.psql.stdin.close()
        self.psql.stdout.close()
        self.psql.wait()


class Standby:
    """A synchronous one of the server of a sandbox, beside it."""

    def __init__(self, box):
        self.primary, self.folder = box.dir / "pg", box.dir / "standby"
        self.folder.mkdir()
        shutil.chown(self.folder, "postgres")
        with open(self.primary / "data/pg_hba.conf", "a") as file:
            file.write("local replication postern peer map=postern\n")
        self.run("pg_ctl", "-D", self.primary / "data", "reload")
        self.run("pg_basebackup", "-D", self.folder / "data", "-R", "-X", "stream", "-c", "fast",
                 "-d", f"host={self.primary} user=postern application_name=standby")
        with open(self.folder / "data/postgresql.conf", "a") as file:
            file.write(f"unix_socket_directories = '{self.folder}'\n")
        self.run("pg_ctl", "-D", self.folder / "data", "-l", self.folder / "log", "-w", "start")
        box.query("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
        self.run("pg_ctl", "-D", self.primary / "data", "reload")
        wait_for(
            "the standby to be synchronous",
            lambda: box.query("SELECT sync_state FROM pg_stat_replication") == "sync",
        )

    def run(self, program, *words):
        as_server = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--"]
        subprocess.run([*as_server, programs() / program, *words], check=True, cwd="/",
                       stdout=subprocess.DEVNULL, timeout=180)

    def promote(self):
        self.run("pg_ctl", "-D", self.folder / "data", "-w", "promote")

    def stop(self):
        self.run("pg_ctl", "-D", self.folder / "data", "-m", "immediate", "-w", "stop")
