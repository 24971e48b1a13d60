"""What became of each email: through Postfix, its log and postern-events."""

import gzip
import lzma
import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from harness import wait_for
from harness.httpd import check_problem
from harness.deliveries import Deliveries, address
from harness.remote import Remote
from harness.sandbox import TREE, free_port

BUILD = os.environ.get("BUILD", "build")


@pytest.fixture
def deliveries(own_box):
    made = Deliveries(own_box())
    yield made
    made.remote.close()


def test_what_the_remote_answers(deliveries):
    """2xx, 4xx and 5xx at each stage, in several lines, in odd bytes; and broken
    connections."""
    wanted = {
        "fine": "delivered",
        "unknown": "bounced",
        "later": "deferred",
        "lines": "bounced",
        "bytes": "bounced",
        "closing": "deferred",
        "full": "deferred",
        "spam": "bounced",
        "reset": "deferred",
        "resetend": "deferred",
        "silent": "deferred",
        "silentend": "deferred",
        "nodata": "bounced",
        "notyet": "deferred",
    }
    for name in ("smtp_rcpt_timeout", "smtp_data_done_timeout", "smtp_helo_timeout"):
        deliveries.box.postconf(f"{name} = 1s")
    greetings = {
        "refuses": b"554 5.7.1 Not you\r\n",
        "busy": b"421 4.7.0 Not now\r\n",
        "mute": b"",
    }
    at_mail = {
        "stranger": (b"550 5.7.1 We take no mail of yours\r\n", "bounced"),
        "slow": (b"450 4.7.1 Not so fast\r\n", "deferred"),
    }
    remotes = {name: Remote(text) for name, text in greetings.items()}
    remotes |= {name: Remote(mail=text) for name, (text, _) in at_mail.items()}
    for name, remote in remotes.items():
        deliveries.route(f"{name}.test", f"smtp:[127.0.0.1]:{remote.port}")
    deliveries.route("nobody.test", f"smtp:[127.0.0.1]:{free_port()}")
    deliveries.reload()
    words = {
        "delivered": "delivered",
        "bounced": "bounced",
        "deferred": "delivery_delayed",
    }
    ids = {local: deliveries.send(address(local)) for local in wanted}
    for name in (*remotes, "nobody"):
        wanted[name] = at_mail.get(name, (None, "deferred"))[1]
        ids[name] = deliveries.send(f"x@{name}.test")
    for local, email_id in ids.items():
        deliveries.wait(email_id, wanted[local])
        assert deliveries.last_event(email_id) == words[wanted[local]]
    [(kind, n, text)] = deliveries.events(ids["lines"])
    assert (kind, n) == ("bounced", 0)
    assert "because of this 550 5.7.1 and that" in text
    [(kind, n, text)] = deliveries.events(ids["bytes"])
    assert "ü" in text and "status=sent" in text
    [(kind, n, text)] = deliveries.events(ids["stranger"])
    assert "We take no mail of yours (in reply to MAIL FROM command)" in text
    for remote in remotes.values():
        remote.close()


STORY = set(
    "id type recipient created_at occurred_at attempt address remote dsn message".split()
)


def test_read_over_http(deliveries):
    """The answers of GET /emails/{id} and its events, and who may read them."""
    httpd = deliveries.box.httpd()
    # Postfix delivers once to an address, in whatever letter case.
    email_id = deliveries.send(
        address("fine"), address("unknown"), address("later"), address("Fine")
    )
    deliveries.wait(email_id, "delivered", "bounced", "deferred")
    assert deliveries.last_event(email_id) == "delivery_delayed"
    assert deliveries.remote.taken == [address("fine")]
    fine, unknown, later = httpd.read(email_id)["recipients"]
    assert (fine["address"], fine["kind"]) == (address("fine"), "to")
    assert [one["state"] for one in (fine, unknown, later)] == [
        "delivered",
        "bounced",
        "deferred",
    ]
    assert fine["attempts"] == 1 and fine["dsn"].startswith("2.")
    assert unknown["dsn"].startswith("5.") and "550" in unknown["message"]
    assert "127.0.0.1" in unknown["remote"]
    assert unknown["updated_at"].startswith("20")
    deliveries.remote.answers["later"] = b"250 2.1.5 Ok\r\n"
    deliveries.wait(email_id, "delivered", "bounced", "delivered")
    assert deliveries.last_event(email_id) == "bounced"
    path = f"/emails/{email_id}/events"
    page = httpd.request("GET", path + "?limit=100").json()
    assert (page["object"], page["has_more"]) == ("list", False)
    assert all(set(event) == STORY for event in page["data"])
    story = [(event["type"], event["recipient"]) for event in page["data"]]
    assert sorted(story[:3]) == sorted(
        ("sent", address(local)) for local in ("fine", "unknown", "later")
    )
    assert {("delivered", address("fine")), ("bounced", address("unknown"))} < set(story)
    assert story[-1] == ("delivered", address("later"))
    assert ("delivery_delayed", address("later")) in story
    # One at a time it is the same.
    walked, after = [], ""
    while True:
        one = httpd.request("GET", f"{path}?limit=1{after}").json()
        walked += one["data"]
        after = f"&after={walked[-1]['id']}"
        if not one["has_more"]:
            break
    assert walked == page["data"]
    sending = deliveries.box.httpd(deliveries.box.env["POSTERN_SENDING_KEY"])
    check_problem(sending.request("GET", path), 403, "restricted_api_key")
    company = deliveries.box.company()
    stranger = deliveries.box.httpd(deliveries.box.new_key(company)["token"])
    check_problem(stranger.request("GET", path), 404, "not_found")
    for query in ("after=x", f"after={email_id}", "before=x", "limit=0"):
        name = query.split("=", 1)[0]
        check_problem(
            httpd.request("GET", f"{path}?{query}"),
            422,
            "invalid_parameter",
            f"`{name}`",
        )


def test_content_filter_by_pipe(deliveries):
    """The filter does not name the message that it returns: only the Message-ID shows
    it, and its delivery may be logged before the filter ends."""
    box = deliveries.box
    host, port = box.add_smtpd(
        "content_filter=", "receive_override_options=no_milters"
    ).split(":")
    script = box.dir / "filter"
    script.write_text(
        "#!/usr/bin/python3\nimport smtplib, sys, time\n"
        f"with smtplib.SMTP('{host}', {port}) as to:\n"
        "    to.sendmail(sys.argv[1], sys.argv[2:], sys.stdin.buffer.read())\n"
        "time.sleep(1)\n"
    )
    script.chmod(0o755)
    box.dir.chmod(0o755)
    with (box.dir / "postfix/master.cf").open("a") as file:
        file.write(
            "filter unix - n n - 10 pipe flags=Rq user=nobody"
            f" argv={script} ${{sender}} ${{recipient}}\n"
        )
    box.postconf("content_filter = filter:dummy")
    deliveries.reload()
    email_id = deliveries.send(address("fine"), address("unknown"))
    deliveries.wait(email_id, "delivered", "bounced")
    assert deliveries.last_event(email_id) == "bounced"
    assert deliveries.remote.taken == [address("fine")]
    hows = deliveries.rows("SELECT DISTINCT how FROM queue_message WHERE parent IS NOT NULL")
    assert hows == [("message_id",)]


def test_gone_for_a_while(deliveries):
    """The reader is a day behind: the log was rotated twice and compressed
    meanwhile."""
    log = deliveries.box.dir / "log/postfix.log"
    ids = [deliveries.send(address("fine"))]
    deliveries.wait(ids[0], "delivered")
    deliveries.box.stop("events")
    for round in (1, 2):
        ids.append(deliveries.send(address("fine")))
        wait_for(
            "its delivery in the log",
            lambda: log.exists() and f"{deliveries.queue_id(ids[-1])}: removed" in log.read_text(),
        )
        rotated = log.with_name(f"postfix.log.{round}")
        log.rename(rotated)
        deliveries.box.reload_postfix()
        packed = gzip.compress(rotated.read_bytes())
        times = rotated.stat()
        rotated.unlink()
        rotated = rotated.with_name(rotated.name + ".gz")
        rotated.write_bytes(packed)
        os.utime(rotated, ns=(times.st_atime_ns, times.st_mtime_ns))
    ids.append(deliveries.send(address("fine")))
    deliveries.box.start("events")
    for email_id in ids:
        deliveries.wait(email_id, "delivered")
        assert len(deliveries.events(email_id)) == 1


def test_other_mail_is_not_kept(deliveries):
    """Neither bounces nor other mail are stored."""
    email_id = deliveries.send(address("unknown"))
    subprocess.run(
        ["sendmail", "-C", deliveries.box.env["POSTFIX_CONFIG"], "-f", "x@other.test",
         address("fine")],
        input=b"Subject: x\n\n",
        check=True,
        timeout=60,
    )
    deliveries.wait(email_id, "bounced")
    wait_for("the other mail", lambda: deliveries.remote.taken)
    last = deliveries.send(address("fine"))
    deliveries.wait(last, "delivered")
    assert deliveries.rows("SELECT count(*) FROM queue_message") == [(2,)]


class Log:
    """A log of our own with many emails, rotated while it is written."""

    def __init__(self, box, emails):
        self.path = box.dir / "log/many.log"
        self.rotations = 0
        self.ahead_s = 0  # of its clock
        self.box = box
        self.emails = emails
        now = int(time.time() * 1e6)
        [(company, key)] = box.sql("SELECT company_id, id FROM api_key LIMIT 1")
        emails = f"FROM email WHERE domain = 'many.example' AND created_us = {now}"
        box.sql(
            "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ? - 1)"
            " INSERT INTO email (id, ticket, company_id, key_id, domain, sender, header_from,"
            " reply_to, subject, message_id, created_us, state, decided_us, queue_id, last_event,"
            " host) SELECT '00000000-0000-4000-8000-' || (100000000000 + i), 'many ' || i, ?, ?,"
            " 'many.example', 'a@b', 'a@b', '', '', '<' || i || '@many.example>', ?, 'sent', ?,"
            " 'A' || (100000000 + i), 'sent', ? FROM n",
            self.emails, company, key, now, now, box.host,
        )  # fmt: skip
        box.sql(f"INSERT INTO email_content (seq, html, text) SELECT seq, '', '' {emails}")
        box.sql(
            "INSERT INTO email_recipient (email, n, kind, address, state, company_id)"
            " SELECT seq, 0, 'to', 'to' || (CAST(substr(queue_id, 2) AS bigint) - 100000000) || '@remote.test',"
            f" 'queued', company_id {emails}"
        )

    def lines(self, i):
        """Returns the lines of one email that is deferred once, then delivered."""
        now = time.localtime(time.time() + self.ahead_s)
        head = f"{time.strftime('%b', now)} {now.tm_mday:2} {time.strftime('%T', now)}"
        queue_id = f"A{100_000_000 + i}"
        to = f"{head} mail postfix/smtp[1]: {queue_id}: to=<to{i}@remote.test>, relay=r"
        return (
            f"{head} mail postfix/cleanup[1]: {queue_id}: message-id=<{i}@many.example>\n"
            f"{head} mail postfix/qmgr[1]: {queue_id}: from=<a@b>, size=1, nrcpt=1"
            " (queue active)\n"
            f"{to}, delay=1, delays=0/0/0/1, dsn=4.0.0, status=deferred (later)\n"
            f"{to}, delay=2, delays=1/0/0/1, dsn=2.0.0, status=sent (250 ok {i})\n"
            f"{head} mail postfix/qmgr[1]: {queue_id}: removed\n"
        )

    def rotate(self):
        """Rotates as logrotate does: by renaming or copying; some files are
        compressed."""
        self.rotations += 1
        name = self.path.with_name(f"many.log.{self.rotations}")
        if self.rotations % 3 == 0:
            name.write_bytes(self.path.read_bytes())
            self.path.write_bytes(b"")
        else:
            self.path.rename(name)
        if self.rotations % 2 == 0:
            times = name.stat()
            packed = name.with_name(name.name + ".gz")
            new = name.with_name(f".{name.name}")
            new.write_bytes(gzip.compress(name.read_bytes()))
            os.utime(new, ns=(times.st_atime_ns, times.st_mtime_ns))
            new.rename(packed)
            name.unlink()


def start_reader(box):
    return subprocess.Popen(
        [TREE / BUILD / "postern-events", "-c", box.config],
        stderr=subprocess.DEVNULL,
    )


def test_killed_again_and_again(own_box):
    """The reader is killed and the log rotated over thousands of lines: each line
    counts once."""
    box = own_box()
    box.stop("events")
    log = Log(box, 400)
    box.set("events", "log_file", str(log.path))
    log.path.write_text("")
    count = "SELECT count(*) FROM event WHERE kind = ?"

    def stored(least):
        return lambda: box.sql(count, "delivered")[0][0] >= least

    readers = [start_reader(box)]
    try:
        for i in range(log.emails):
            text = log.lines(i)
            cut = random.randrange(len(text))
            for part in (text[:cut], text[cut:]):
                with log.path.open("a") as file:
                    file.write(part)
            if i == 0:
                wait_for("the first line to be read", stored(1))
            if i % 20 == 0:
                time.sleep(random.random() / 8)
                readers[-1].send_signal(signal.SIGKILL)
                readers[-1].wait()
                readers.append(start_reader(box))
            if i % (log.emails // 16) == 10:
                log.rotate()
        wait_for("all lines to be read", stored(log.emails))
        readers[-1].terminate()
        assert readers[-1].wait(180) == 0
    finally:
        readers[-1].kill()
    assert len(readers) == 1 + log.emails // 20
    assert box.sql(
        "SELECT kind, count(*), count(DISTINCT email) FROM event GROUP BY kind ORDER BY kind"
    ) == [(kind, log.emails, log.emails) for kind in ("accepted", "deferred", "delivered")]
    assert box.sql(
        "SELECT state, attempts, count(*) FROM email_recipient GROUP BY 1, 2"
    ) == [("delivered", 2, log.emails)]
    assert box.sql("SELECT last_event, count(*) FROM email GROUP BY 1") == [
        ("delivered", log.emails)
    ]
    assert box.sql("SELECT why FROM gap") == []


def test_odd_lines_of_a_running_log(own_box):
    """A full disk cuts a line and joins the next one to it; the clock is set back, so
    lines precede their emails."""
    box = own_box()
    box.stop("events")
    log = Log(box, 5)
    box.set("events", "log_file", str(log.path))
    log.path.write_text(log.lines(0))

    def states():
        return [s for (s,) in box.sql("SELECT state FROM email_recipient ORDER BY email")]

    def append(text):
        with log.path.open("a") as file:
            file.write(text)

    reader = start_reader(box)
    try:
        wait_for("the first email", lambda: states()[0] == "delivered")
        # The line of the deferral ends before its status.
        lines = log.lines(1).splitlines(keepends=True)
        append("".join(lines[:2]) + lines[2][:-30] + "".join(lines[3:]))
        wait_for("what was glued", lambda: states()[1] == "delivered")
        assert box.sql("SELECT why, count FROM gap") == [("unreadable_line", 1)]
        # An hour, when Postfix has tried one of two already.
        lines = log.lines(2).splitlines(keepends=True)
        append("".join(lines[:3]))
        wait_for("the deferral", lambda: states()[2] == "deferred")
        later = 3600 * 1000000
        box.sql("UPDATE queue_message SET since_us = since_us + ?", later)
        box.sql("UPDATE email SET decided_us = decided_us + ? WHERE domain = 'many.example'", later)
        append("".join(lines[3:]) + log.lines(3))
        wait_for("both", lambda: states()[2:4] == ["delivered", "delivered"])
        assert states()[4] == "queued"
        assert box.sql("SELECT count(*) FROM queue_message WHERE closed_us = 0") == [(0,)]
    finally:
        reader.kill()
        reader.wait()


def test_once(own_box):
    """Reads an old, compressed log; known events are not stored again."""
    box = own_box()
    box.stop("events")
    log = Log(box, 50)
    packed = log.path.with_suffix(".gz")
    packed.write_bytes(gzip.compress("".join(map(log.lines, range(50))).encode()))
    for _ in range(2):
        done = subprocess.run(
            [TREE / BUILD / "postern-events", "-c", box.config, "--once", packed],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        assert box.sql("SELECT count(*) FROM event") == [(150,)]
    done = subprocess.run(
        [TREE / BUILD / "postern-events", "-c", box.config, "--once", "/nonexistent"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode != 0 and "/nonexistent" in done.stderr


@pytest.mark.parametrize("hours", [-5, 5])
def test_once_with_a_clock_that_is_off(own_box, hours):
    """The log's time stamps differ by hours from the store's, as after a clock was
    set."""
    box = own_box()
    box.stop("events")
    log = Log(box, 50)
    log.ahead_s = hours * 3600
    log.path.write_text("".join(map(log.lines, range(50))))
    done = subprocess.run(
        [TREE / BUILD / "postern-events", "-c", box.config, "--once", log.path],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert box.sql("SELECT count(*) FROM event") == [(150,)]
    assert box.sql(
        "SELECT DISTINCT state FROM email_recipient WHERE address LIKE 'to%'"
    ) == [("delivered",)]


def test_check(own_box):
    """check reports whether the log is read, and what its user lacks."""
    box = own_box()
    log = box.dir / "log/postfix.log"

    def check():
        done = subprocess.run(
            [TREE / "postfix-conf/check", "-c", box.dir / "postfix", "-p", box.config],
            capture_output=True, text=True, timeout=200,
        )  # fmt: skip
        return done.stdout

    said = check()
    assert f"good:    {log} is read, since it is Postfix's maillog_file" in said
    assert "good:    postern-events is running" in said
    box.stop("events")
    assert "warning: postern-events is not running" in check()
    # As the user that it runs as on a host, without the group.
    for folder in (box.dir, log.parent):
        folder.chmod(0o755)
    shutil.chown(log, "root", "adm")
    log.chmod(0o640)
    box.config.chmod(0o644)
    # The programs may lie where others cannot look.
    program = Path(shutil.copy(TREE / BUILD / "postern-events", box.dir))
    program.chmod(0o755)
    done = subprocess.run(
        ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups",
         program, "-c", box.config, "--check"],
        capture_output=True, text=True, timeout=60, cwd="/",
    )  # fmt: skip
    assert done.returncode == 78
    assert f"{log} may not be read by the user nobody, who is not in the group adm" in done.stderr
    assert "usermod -aG adm nobody" in done.stderr


def test_rotated_into_what_is_not_read(own_box):
    """The log is compressed with xz meanwhile: a gap is reported, and later lines
    count; --once reads the rest once it is unpacked."""
    box = own_box()
    box.stop("events")
    log = Log(box, 3)
    box.set("events", "log_file", str(log.path))
    log.path.write_text(log.lines(0))

    def states():
        return [s for (s,) in box.sql(
            "SELECT state FROM email_recipient WHERE address LIKE 'to%' ORDER BY email")]

    reader = start_reader(box)
    try:
        wait_for("the first email", lambda: states()[0] == "delivered")
        reader.kill()
        reader.wait()
        with log.path.open("a") as file:
            file.write(log.lines(1))
        text = log.path.read_text()
        log.path.with_name("many.log.1.xz").write_bytes(lzma.compress(text.encode()))
        log.path.unlink()
        log.path.write_text(log.lines(2))
        reader = start_reader(box)
        wait_for("the last email", lambda: states()[2] == "delivered")
        assert box.sql("SELECT count(*) FROM gap") == [(1,)]
        assert states()[1] == "queued"
    finally:
        reader.kill()
        reader.wait()
    unpacked = log.path.with_name("unpacked")
    unpacked.write_text(text)
    subprocess.run([TREE / BUILD / "postern-events", "-c", box.config, "--once", unpacked],
                   check=True, capture_output=True, timeout=60)
    assert states() == ["delivered"] * 3
    kinds = dict(box.sql("SELECT kind, count(*) FROM event WHERE domain = 'many.example'"
                         " GROUP BY kind"))
    assert kinds == {"accepted": 3, "deferred": 3, "delivered": 3}
