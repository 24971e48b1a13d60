"""A store on a server that stops, breaks and hangs: what was answered 200 is sent once, all
others are told to come again, and no daemon has to be restarted."""

import base64
import contextlib
import json
import os
import random
import re
import select
import shutil
import signal
import smtplib
import subprocess
import threading
import time
import urllib.parse

import pytest
import requests
from harness import Sandbox, wait_for
from harness.admin import Admin, operator
from harness.form import basic
from harness.postgresql import Standby, programs
from harness.raw import RawConnection
from harness.sandbox import TREE
from test_admin_live import Stream
from test_attachments_read import FILES, listed, new_email
from test_probe import needs, readyz, wait_until_good
from test_purge import Store
from test_restarts import Senders, check_all_there, check_delivered_once

UNKNOWN_ID = "0b6f7a3e-6f1b-4d0c-a8b5-2f0f6f8b7a11"

pytestmark = pytest.mark.submission("sendmail")


def postmaster(box):
    return int((box.dir / "pg/data/postmaster.pid").read_text().split()[0])


def processes(box):
    """Of the server, its postmaster first."""
    first = postmaster(box)
    children = f"/proc/{first}/task/{first}/children"
    with open(children) as file:
        return [first, *map(int, file.read().split())]


def stop(box):
    box.stop("postgresql")


def break_off(box):
    """Without an end of what is under way."""
    os.kill(postmaster(box), signal.SIGQUIT)
    wait_for("the server to be gone", lambda: not (box.dir / "pg/data/postmaster.pid").exists())


def hang(box):
    """For a while in which some wait."""
    pids = processes(box)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(3)
    for pid in pids:
        os.kill(pid, signal.SIGCONT)


def cut(box):
    """The connections of all daemons, again and again."""
    for _ in range(5):
        cut_once(box)
        time.sleep(0.2)


def cut_once(box):
    box.query(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
        " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
    )


@pytest.fixture(scope="module")
def box(request):
    """For one fault after another, since each ends as it began."""
    with Sandbox("--store", "postgresql", parts=["auth"]) as box:
        yield box
        box.failed = request.session.testsfailed > 0


@pytest.mark.parametrize("fault", [stop, break_off, hang, cut])
def test_fault_of_the_server(box, fault):
    with Senders(box) as senders:
        senders.wait_for()
        fault(box)
        if fault in (stop, break_off):
            wait_for("a request to be refused", lambda: senders.refused)
            box.start("postgresql")
        senders.wait_for()
    assert senders.broken == 0
    assert all('"statusCode":503' in text.replace(" ", "") for text in senders.refused)
    check_all_there(box, senders.sent)
    check_delivered_once(box, senders.sent)
    wait_for("the outbox to be empty", lambda: box.query("SELECT count(*) FROM outbox") == "0")


def test_what_nobody_waits_for_is_durable(own_box):
    """A server that crashes by itself loses no change of the outbox: postern-httpd goes on, and
    would hold what it has done for being under way."""
    box = own_box("--store", "postgresql")
    box.query("ALTER SYSTEM SET wal_writer_delay = '10s'")
    box.query("SELECT pg_reload_conf()")
    box.stop("events")
    for _ in range(3):
        box.httpd().send({"from": "hello@example.com", "to": "b@dst.test", "text": "x"})
        wait_for("the outbox to be empty", lambda: box.query("SELECT count(*) FROM outbox") == "0")
        break_off(box)
        box.start("postgresql")
        wait_for("requests to be served",
                 lambda: box.httpd().request("GET", "/readyz").status_code == 200)
        assert box.query("SELECT count(*) FROM outbox") == "0"


def test_emails_alone_cannot_be_written(own_box):
    """As on a full disk, when what changes rows still finds room: the overview, /readyz and doctor
    tell, until an email is taken again."""
    box = own_box("--store", "postgresql", "--set", "submission.probe_interval=1s")
    admin = operator(box)
    wait_until_good(box, admin)
    box.query(
        "CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device'"
        " USING ERRCODE = '53100'; END $$;"
        " CREATE TRIGGER fill BEFORE INSERT ON message EXECUTE FUNCTION fill()")
    email = {"from": "hello@example.com", "to": "b@dst.test", "text": "x"}
    assert box.httpd().post(email).status_code == 503
    # Something else is written meanwhile.
    assert box.httpd().request("POST", "/api-keys", json={"name": "x"}).status_code == 201
    need = needs(admin)["store"]
    assert need["level"] == "problem" and "No space left" in need["text"]
    assert "the store cannot be read or written" in readyz(box).text
    box.query("DROP TRIGGER fill ON message")
    assert box.httpd().post(email).status_code == 200
    assert "store" not in needs(admin)
    wait_until_good(box, admin)


def reply(box, domain):
    """The code of Postfix's answer to a message of this domain over SMTP."""
    host, port = box.env["POSTFIX_SMTP"].split(":")
    data = f"From: a@{domain}\r\nTo: b@dst.test\r\n\r\nx\r\n"
    with smtplib.SMTP(host, int(port), timeout=60) as session:
        try:
            session.sendmail(f"a@{domain}", ["b@dst.test"], data)
        except smtplib.SMTPResponseException as error:
            return error.smtp_code
    return 250


def check_others_pass(box):
    """Mail of a registered domain waits, and other mail passes."""
    assert reply(box, "stranger.test") == 250
    assert reply(box, "example.com") == 451
    assert reply(box, "stranger.test") == 250


def check_all_waits(box):
    assert reply(box, "stranger.test") == 451
    assert reply(box, "example.com") == 451


def check_requests_wait(box):
    """Whatever needs the database is told to come again."""
    httpd = box.httpd()
    email = {"from": "hello@example.com", "to": "b@dst.test", "text": "x"}
    routes = ("/emails", f"/emails/{UNKNOWN_ID}", "/domains")
    for answer in (httpd.post(email), *(httpd.request("GET", route) for route in routes)):
        assert answer.status_code == 503
        assert int(answer.headers["Retry-After"]) > 0
    assert httpd.request("GET", "/livez").status_code == 200
    wait_for("/readyz to tell", lambda: httpd.request("GET", "/readyz").status_code == 503)


def test_while_the_server_is_away(own_box):
    """Stopped, hanging, and back: no daemon is restarted, but for the milter, which without the
    database does not know the registered domains."""
    box = own_box("--store", "postgresql")
    pids = [box.pid(part) for part in ("httpd", "events")]
    assert reply(box, "stranger.test") == 250
    assert reply(box, "example.com") == 550

    stop(box)
    check_others_pass(box)
    check_requests_wait(box)
    box.set("milter", "names_max_age", "0")
    box.kill("milter", signal.SIGHUP)
    wait_for("the milter to take the setting", lambda: "event=reloaded" in box.log("milter"))
    check_all_waits(box)
    box.set("milter", "names_max_age", "1h")
    milter = box.pid("milter")
    box.kill("milter")
    wait_for("the milter to be gone", lambda: box.pid("milter") != milter)
    check_all_waits(box)
    box.start("postgresql")
    wait_for("mail of others to pass", lambda: reply(box, "stranger.test") == 250)
    assert reply(box, "example.com") == 550

    server = processes(box)
    for pid in server:
        os.kill(pid, signal.SIGSTOP)
    try:
        check_others_pass(box)
        check_requests_wait(box)
    finally:
        for pid in server:
            os.kill(pid, signal.SIGCONT)
    wait_for("mail to be judged", lambda: reply(box, "example.com") == 550)
    httpd = box.httpd()
    wait_for("requests to be served", lambda: httpd.request("GET", "/emails").status_code == 200)
    wait_for("/readyz to tell", lambda: httpd.request("GET", "/readyz").status_code == 200)

    cut_once(box)
    assert reply(box, "example.com") == 550
    assert reply(box, "stranger.test") == 250
    assert pids == [box.pid(part) for part in ("httpd", "events")]


@contextlib.contextmanager
def hanging(box):
    pids = processes(box)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def try_to_login(box, results):
    """Adds the code of the reply to a login."""
    host, port = box.env["POSTERN_SMTP"].split(":")
    with smtplib.SMTP(host, int(port), timeout=120) as session:
        session.ehlo()
        secret = base64.b64encode(f"\0x\0{box.env['POSTERN_SENDING_KEY']}".encode()).decode()
        code, _ = session.docmd("AUTH", "PLAIN " + secret)
    results.append(code)


def test_logins_while_the_server_hangs(box):
    """All get 454, and from postern-auth: it gives the server up before smtpd(8) gives up
    postern-auth. Afterwards logins succeed again."""
    results = []
    try_to_login(box, results)
    assert results == [235]
    results.clear()
    pid = box.pid("auth")
    with hanging(box):
        threads = [threading.Thread(target=try_to_login, args=(box, results)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert "event=store_failed" in box.log("auth")
    assert results == [454] * 8

    def works():
        results.clear()
        try_to_login(box, results)
        return results == [235]

    wait_for("a login", works)
    assert box.pid("auth") == pid


def request_text(method, path, authorization=None, content_type=None, body=""):
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost"]
    if authorization:
        lines.append(f"Authorization: {authorization}")
    if content_type:
        lines.append(f"Content-Type: {content_type}")
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


def is_waiting(connection):
    """True if there is no answer yet."""
    return not select.select([connection.socket], [], [], 0)[0]


def test_a_hang_costs_its_own_requests(own_box):
    """One event loop: while requests wait for the server, it answers all that need no row. Each of
    those that wait is told to come again, and its connection goes on, with what was sent behind it."""
    box = own_box("--store", "postgresql", "--set", "http.workers=1",
                  "--set", "submission.record_wait=2m")
    httpd = box.httpd()
    key = box.env["POSTERN_KEY"]
    bearer, form = f"Bearer {key}", basic("api", key)
    email = json.dumps({"from": "hello@example.com", "to": "b@dst.test", "text": "x"})
    fields = "from=hello@example.com&to=b@dst.test&subject=s&text=x"
    waiting = [
        request_text("GET", f"/emails/{UNKNOWN_ID}", bearer),
        request_text("GET", "/domains", bearer),
        request_text("POST", "/emails", bearer, "application/json", email),
        request_text("POST", "/emails", bearer, "application/json\r\nIdempotency-Key: k", email),
        request_text("POST", "/v3/example.com/messages", form, "application/x-www-form-urlencoded", fields),
        request_text("POST", "/unsubscribe/none", bearer),
    ]
    free = [("/livez", None, 200), ("/openapi.json", None, 200), ("/nothing", None, 404),
            ("/emails", None, 401), ("/emails", "Bearer ps_short", 401)]
    login = json.dumps({"login": "nobody", "password": "a long password"})
    admin_waiting = [
        request_text("GET", "/admin/emails", "Bearer pa_" + "A" * 43),
        request_text("POST", "/admin/session", None, "application/json", login),
    ]
    admin_free = [("/", None, 200), ("/admin/openapi.json", None, 200), ("/nothing", None, 404),
                  ("/admin/emails", None, 401), ("/admin/emails", "Bearer pa_short", 401)]
    admin_url = urllib.parse.urlsplit(box.env["POSTERN_ADMIN_URL"])
    admin = (admin_url.hostname, admin_url.port)

    def are_answered(address, waiting, free):
        """While those wait; then each gets its 503, and what was sent behind it is answered."""
        behind, _, status_behind = free[0]
        with contextlib.ExitStack() as stack:
            connections = [stack.enter_context(RawConnection(address)) for _ in waiting]
            with hanging(box):
                for connection, text in zip(connections, waiting, strict=True):
                    connection.send(text + request_text("GET", behind))
                for path, authorization, status in free:
                    with RawConnection(address) as other:
                        other.send(request_text("GET", path, authorization))
                        assert other.answer().status == status
                all_wait = all(map(is_waiting, connections))
                for connection in connections:
                    answer = connection.answer()
                    assert answer.status == 503 and int(answer.headers["retry-after"]) > 0
                    assert connection.answer().status == status_behind
            wait_for("requests to be served", lambda: httpd.get(UNKNOWN_ID).status_code == 404)
            wait_for("/readyz to tell", lambda: httpd.request("GET", "/readyz").status_code == 200)
            for connection, text in zip(connections, waiting, strict=True):
                connection.send(text)
                assert connection.answer().status in (200, 401, 404)
        return all_wait

    def longest_with_an_open_page():
        """The longest that a request waits in the loop while the page's stream is looked after:
        until the server is given up, and the stream ends."""
        stream, longest = Stream(operator(box)), 0
        box.company()
        stream.wait_for("tenants")  # it is looked after
        with hanging(box):
            while not stream.ended.is_set():
                began = time.monotonic()
                with RawConnection(admin) as other:
                    other.send(request_text("GET", "/healthz"))
                    assert other.answer().status == 200
                longest = max(longest, time.monotonic() - began)
        wait_for("logins to be taken",
                 lambda: Admin(box).login("nobody", "x").status_code != 503)
        return longest or 9  # nothing was measured

    def outbox_gives_up():
        """The server hangs while an email waits for the milter's record: one read holds the loop of
        the outbox up, until its own deadline. Then the loop goes on by itself."""
        given_up = r"event=store_failed [^\n]*no answer within 1500 ms"
        before = len(re.findall(given_up, box.log("httpd")))
        sender = threading.Thread(target=httpd.send, args=[json.loads(email)])
        os.kill(box.pid("milter"), signal.SIGSTOP)
        try:
            sender.start()
            wait_for("sendmail(1) to be done", lambda: os.listdir(box.dir / "queue/maildrop"))
            with hanging(box):
                wait_for("a read to be given up",
                         lambda: len(re.findall(given_up, box.log("httpd"))) > before)
            wait_for("the outbox to read again",
                     lambda: "event=store_back" in box.log("httpd").rsplit("store_failed", 1)[1])
        finally:
            os.kill(box.pid("milter"), signal.SIGCONT)
        sender.join()

    outbox_gives_up()
    # On a busy machine the deadlines of those that wait may be over before the others are read.
    assert any(are_answered(httpd.address, waiting, free) for _ in range(10))
    assert any(are_answered(admin, admin_waiting, admin_free) for _ in range(10))
    # A read that is given up takes 1.5 s.
    assert any(longest_with_an_open_page() < 1 for _ in range(10))


def test_failover(own_box):
    """Both hosts are in the URL: who has the primary is found."""
    box = own_box("--store", "postgresql")
    standby = Standby(box)
    try:
        box.set("store", "url", f"postgresql:///postern?host={box.dir}/pg,{standby.folder}&user=postern")
        for part in ("milter", "events", "httpd"):
            box.restart(part)
        with Senders(box) as senders:
            senders.wait_for()
            break_off(box)
            wait_for("a request to be refused", lambda: senders.refused)
            standby.promote()
            box.server = standby.folder
            senders.wait_for()
        assert senders.broken == 0
        check_all_there(box, senders.sent)
        check_delivered_once(box, senders.sent)
    finally:
        standby.stop()


class Tls:
    """The server of a sandbox takes TCP by TLS alone, with a certificate for db.test of a CA made
    here, and a password. It listens at an address of its own."""

    def __init__(self, box):
        self.box = box
        self.address = f"127.{random.randrange(1, 255)}.{random.randrange(256)}.{random.randrange(1, 255)}"
        self.data = box.dir / "pg/data"
        curve = ("ec", "-pkeyopt", "ec_paramgen_curve:P-256")
        for ca in ("ca", "other"):
            self.openssl("req", "-x509", "-newkey", *curve, "-nodes", "-days", "2", "-subj",
                         f"/CN={ca}", "-keyout", box.dir / f"{ca}.key", "-out", box.dir / f"{ca}.pem")
        self.openssl("req", "-newkey", *curve, "-nodes", "-subj", "/CN=db.test", "-keyout",
                     self.data / "server.key", "-out", box.dir / "server.csr")
        self.openssl("x509", "-req", "-days", "2", "-in", box.dir / "server.csr", "-CA",
                     box.dir / "ca.pem", "-CAkey", box.dir / "ca.key", "-CAcreateserial", "-out",
                     self.data / "server.crt")
        for name in ("server.key", "server.crt"):
            shutil.chown(self.data / name, "postgres")
            (self.data / name).chmod(0o600)
        self.passwords = box.dir / "passwords"
        self.passwords.write_text("db.test:5432:postern:postern:a secret\n")
        self.passwords.chmod(0o600)
        box.query("ALTER USER postern PASSWORD 'a secret'")
        with open(self.data / "pg_hba.conf", "a") as file:
            file.write("hostssl postern postern all scram-sha-256\n")
        with open(self.data / "postgresql.conf", "a") as file:
            file.write(f"ssl = on\nlisten_addresses = '{self.address}'\n")
        box.stop("postgresql")
        box.start("postgresql")

    def openssl(self, *words):
        subprocess.run(["openssl", *words], check=True, capture_output=True, timeout=60)

    def url(self, host="db.test", ca="ca", passfile=True):
        own = f"&passfile={self.passwords}" if passfile else ""
        return (f"postgresql://postern@{host}/postern?hostaddr={self.address}&sslmode=verify-full"
                f"&sslrootcert={self.box.dir}/{ca}.pem{own}")

    def command(self, url, **env):
        """What the command says with this URL: (exit status, its error)."""
        self.box.set("store", "url", url)
        done = subprocess.run([self.box.env["POSTERN_CLI"], "-c", self.box.config, "company", "list"],
                              capture_output=True, text=True, timeout=60, env={**os.environ, **env})
        return done.returncode, done.stderr


def test_tls_and_password_file(own_box):
    box = own_box("--store", "postgresql")
    tls = Tls(box)
    status, error = tls.command(tls.url(ca="other"))
    assert status != 0 and "certificate verify failed" in error
    status, error = tls.command(tls.url(host="elsewhere.test"))
    assert status != 0 and "does not match host name" in error
    status, error = tls.command(tls.url(passfile=False))
    assert status != 0 and "no password supplied" in error and "a secret" not in error
    assert tls.command(tls.url(passfile=False), PGPASSFILE=str(tls.passwords)) == (0, "")
    assert tls.command(tls.url()) == (0, "")
    for part in ("milter", "events", "httpd"):
        box.restart(part)
    with Senders(box) as senders:
        senders.wait_for()
    check_all_there(box, senders.sent)
    query = ("SELECT bool_and(ssl), count(*) > 3 FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)"
             " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")
    assert box.query(query) == "t|t"


@contextlib.contextmanager
def server_of_its_own(folder, users):
    """Yields the URL of an empty database."""
    tool = TREE / "tools/sandbox.d/postgresql"
    url = subprocess.run([tool, "start", folder, "--no-sync", *users], check=True, text=True,
                         stdout=subprocess.PIPE, timeout=120).stdout.strip()
    try:
        yield url
    finally:
        subprocess.run([tool, "stop", folder], check=True, timeout=120)


def test_copy_of_a_file_that_is_in_use(own_box):
    """The daemons go on with the file while it is copied, also by a command that is killed. They are
    stopped for the last run alone, which copies what has changed."""
    box = own_box("--store", "sqlite")
    Store(box).add_old(4_000)
    with server_of_its_own(box.dir / "pg", ["nobody"]) as url:
        later = box.dir / "later.conf"
        later.write_text(box.config.read_text().replace("[store]\n", f"[store]\nurl = {url}\n", 1))
        command = [box.env["POSTERN_CLI"], "-c", later, "--json", "db"]
        source = str(box.dir / "store/postern.db")

        def copy():
            done = subprocess.run([*command, "copy", source], check=True, capture_output=True,
                                  text=True, timeout=300)
            return json.loads(done.stdout)

        def there(sql):
            return subprocess.run([programs() / "psql", "-XqAt", "-h", box.dir / "pg", "-U", "postern", "-c", sql],
                                  check=True, capture_output=True, text=True, timeout=60).stdout.strip()

        subprocess.run([*command, "migrate"], check=True, capture_output=True, timeout=60)
        with Senders(box, pause_s=0.5) as senders:
            senders.wait_for()
            first = subprocess.Popen([*command, "copy", source], stderr=subprocess.DEVNULL)
            wait_for("some emails to be there", lambda: int(there("SELECT count(*) FROM email")) >= 800)
            first.kill()
            first.wait()
            senders.wait_for()
            kept = there("SELECT xmin FROM email ORDER BY seq LIMIT 1")
            done = copy()
            assert not done["finished"] and done["rows"] > 16_000
            assert there("SELECT xmin FROM email ORDER BY seq LIMIT 1") == kept
            large = new_email()
            large_id = box.httpd().send(large)
            senders.wait_for()
        for part in ("httpd", "milter", "events"):
            box.stop(part)
        done = copy()
        assert done["finished"] and 10 < done["written"] < done["rows"] / 2
        assert done["missing_files"] == 0
        shutil.rmtree(f"{source}-messages")
        box.set("store", "url", url)
        for part in ("milter", "events", "httpd"):
            box.start(part)
        sent = {**senders.sent, large["to"]: large_id}
        check_all_there(box, sent)
        check_delivered_once(box, sent)
        httpd = box.httpd()
        item = next(i for i in listed(httpd, large_id)["data"] if i["size"] == len(FILES[0][1]))
        one = httpd.request("GET", f"/emails/{large_id}/attachments/{item['id']}").json()
        assert requests.get(one["download_url"], timeout=60).content == FILES[0][1]
        for part in ("httpd", "milter", "events"):
            box.stop(part)
