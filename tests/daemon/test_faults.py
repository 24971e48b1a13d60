"""What stands still, and disks that are full: all that was taken goes out, once, when
that is over."""

import errno
import os
import re
import shutil
import signal
import subprocess
import time

import pytest
from harness import wait_for
from harness.admin import operator
from harness.crash import FailAt, died, kill_all, master_of, workers_of
from harness.httpd import check_problem
from harness.sandbox import METHOD, new_email, unique
from test_doctor import doctor, fault, faults
from test_probe import api_status, events, metric, needs, postfix, readyz, wait_until_good
from test_restarts import Senders, check_all_there, check_delivered_once

# By SMTP what stands between httpd and the queue file; the rest is the same by both ways.
PROGRAMS = {"sendmail": ["httpd", "milter", "events", "master", "smtpd", "cleanup", "pickup", "qmgr"],
            "smtp": ["milter", "master", "smtpd", "cleanup"]}[METHOD]


def pids_of(box, program):
    if program == "master":
        return [master_of(box)]
    return [box.pid(program)] if box.pid(program) else list(workers_of(box, program))


@pytest.mark.submission
@pytest.mark.parametrize("program", PROGRAMS)
def test_stands_still(own_box, program):
    """A part is stopped for longer than requests and submissions wait."""
    box = own_box("--set", "submission.record_wait=500ms", "--set", "submission.timeout=2s")
    with Senders(box, pause_s=0.3) as senders:
        senders.wait_for()
        pids = pids_of(box, program)
        assert pids
        kill_all(pids, signal.SIGSTOP)
        if program != "httpd":
            senders.wait_for()
        time.sleep(3)
        kill_all(pids, signal.SIGCONT)
        senders.wait_for()
    assert (senders.refused, senders.broken) == ([], 0)
    check_all_there(box, senders.sent)
    check_delivered_once(box, senders.sent)


@pytest.mark.submission("sendmail")
def test_log_of_postfix_is_stuck(own_box):
    """master(8) stands still, and postlogd(8), which it would have to start again, is gone.
    When the socket of the log is full, sendmail(1) hangs in it, and so does master once it
    goes on, for good. Emails are taken all the while. doctor does not hang, and says how to
    start Postfix anew; then they go out, once."""
    box = own_box("--set", "submission.timeout=2s")
    with Senders(box, pause_s=0.3) as senders:
        senders.wait_for()
        master = master_of(box)
        kill_all([master], signal.SIGSTOP)
        kill_all(workers_of(box, "postlogd"), signal.SIGKILL)
        wait_for("a sendmail that hangs", lambda: "does not answer in time" in box.log("httpd"))
        kill_all([master], signal.SIGCONT)
        senders.wait_for()
        mend = fault(doctor(box), "postfix_log", "Postfix stands still")["text"]
        subprocess.run(re.search(r"kill \$\(cat .*?\)", mend).group(0), shell=True, check=True,
                       timeout=60)
        wait_for("master to end", lambda: died(master))
        subprocess.run(re.search(r"postfix -c \S* start", mend).group(0), shell=True, check=True,
                       timeout=60)
        senders.wait_for()
    assert (senders.refused, senders.broken) == ([], 0)
    check_all_there(box, senders.sent)
    check_delivered_once(box, senders.sent, postfix_stopped=True)


class SmallDisk:
    """Puts a directory of the stopped sandbox on a disk of its own."""

    def __init__(self, folder, size):
        self.folder = folder
        self.ballast = folder / "ballast"
        before = folder.with_name(folder.name + ".before")
        folder.rename(before)
        folder.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0755", "none", folder],
                       check=True, timeout=60)
        subprocess.run(["cp", "-a", f"{before}/.", folder], check=True, timeout=60)
        shutil.copystat(before, folder)
        status = before.stat()
        os.chown(folder, status.st_uid, status.st_gid)
        shutil.rmtree(before)

    def fill(self, leave=0):
        """Fills the disk until only that many bytes are left."""
        free = shutil.disk_usage(self.folder).free
        with self.ballast.open("ab", buffering=0) as file:
            try:
                file.write(b"x" * max(0, free - leave))
            except OSError as error:  # somebody else took of it meanwhile
                if error.errno != errno.ENOSPC:
                    raise

    def empty(self):
        self.ballast.unlink()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", self.folder], check=True, timeout=60)


def send_until_refused(box, size, most=200):
    """Sends until an email is refused; returns those accepted by recipient, and the
    last answer."""
    httpd = box.httpd()
    sent = {}
    for _ in range(most):
        email = new_email(text="x" * size)
        answer = httpd.post(email)
        if answer.status_code != 200:
            return sent, answer
        sent[email["to"]] = answer.json()["id"]
    return sent, None


# Messages that are stored in rows, and in files.
@pytest.mark.parametrize(
    "min_free, size", [("2M", 20_000), ("0", 20_000), ("0", 100_000)],
    ids=["the limit", "rows", "files"])
def test_disk_of_the_store(own_box, min_free, size):
    """Postfix is away, so the outbox fills the disk: 503, and nothing is lost."""
    box = own_box("--set", f"outbox.min_free={min_free}", "--set", "submission.record_wait=100ms")
    for part in ("httpd", "milter", "events"):
        box.stop(part)
    with SmallDisk(box.dir / "store", "12M") as disk:
        for part in ("milter", "events", "httpd"):
            box.start(part)
        box.stop("postfix")
        disk.fill(leave=3 << 20)
        time.sleep(0.5)  # nobody looks at the disk all the time
        sent, answer = send_until_refused(box, size)
        assert answer.status_code == 503 and int(answer.headers["Retry-After"]) > 0
        if min_free == "2M":
            assert shutil.disk_usage(disk.folder).free > 1 << 20
        assert sent
        disk.empty()
        box.start("postfix")
        check_all_there(box, sent)
        check_delivered_once(box, sent)
        again = new_email()
        wait_for("room", lambda: box.httpd().post(again).status_code == 200)
        assert box.sink.find(to=again["to"])
        for part in ("httpd", "milter", "events"):
            box.stop(part)


@pytest.mark.store("sqlite")
@pytest.mark.submission
def test_disk_fills_before_the_record(own_box):
    """Emails are accepted and submitted, and the milter cannot record them: Postfix is told to
    come again, and nothing is lost or sent twice when there is room."""
    box = own_box("--set", "outbox.min_free=0", "--set", "submission.record_wait=100ms")
    for part in ("httpd", "milter", "events"):
        box.stop(part)
    with SmallDisk(box.dir / "store", "20M") as disk:
        for part in ("milter", "events", "httpd"):
            box.start(part)
        milter = [box.pid("milter")]
        kill_all(milter, signal.SIGSTOP)
        sent, answer = send_until_refused(box, 20_000, most=5)
        assert answer is None and len(sent) == 5
        disk.fill()
        kill_all(milter, signal.SIGCONT)
        wait_for("a record that fails", lambda: box.flush() or "full" in box.log("milter"))
        assert not any(box.sink.now(to=to) for to in sent)
        disk.empty()
        check_all_there(box, sent)
        check_delivered_once(box, sent)
        for part in ("httpd", "milter", "events"):
            box.stop(part)


@pytest.mark.plain
def test_large_emails_while_postfix_stands_still(own_box):
    """All are accepted: a company has a part of them in hand, and the store has the others
    alone. What is in hand leaves memory for the requests to come, however little there is."""
    box = own_box("--set", "submission.record_wait=100ms",
                  "--set", "http.max_inflight_bytes=64M")
    check_all_there(box, send_until_refused(box, 1, most=1)[0])
    stopped = [pid for program in ("master", "smtpd", "cleanup", "pickup")
               for pid in pids_of(box, program)]
    kill_all(stopped, signal.SIGSTOP)
    sent, answer = send_until_refused(box, 5_000_000, most=13)
    kill_all(stopped, signal.SIGCONT)
    assert answer is None and len(sent) == 13
    check_all_there(box, sent)
    check_delivered_once(box, sent)


@pytest.mark.store("sqlite")
@pytest.mark.submission("smtp")
def test_a_database_that_cannot_be_written(own_box):
    """The last transaction shows it, also without probes."""
    box = own_box("--set", "outbox.min_free=0")
    admin = operator(box)

    def store():
        return admin.ok("GET", "/admin/health")["parts"][0]

    for part in ("httpd", "milter", "events"):
        box.stop(part)
    with SmallDisk(box.dir / "store", "20M") as disk:
        for part in ("milter", "events", "httpd"):
            box.start(part)
        assert store()["ok"] and store()["effect"] is None
        disk.fill(leave=0)
        assert box.httpd().post(new_email()).status_code == 503
        told = store()
        assert not told["ok"] and "could not be written" in told["text"]
        assert "answered with 503" in told["effect"] and "make room on" in told["cure"]
        assert needs(admin)["store"]["level"] == "problem"
        disk.empty()
        wait_for("room", lambda: box.httpd().post(new_email()).status_code == 200)
        assert store()["ok"] and "store" not in needs(admin)
        for part in ("httpd", "milter", "events"):
            box.stop(part)


@pytest.mark.store("sqlite")
@pytest.mark.submission("smtp")
@pytest.mark.parametrize("how", ["full", "nearly full"])
def test_what_is_told_of_a_disk(own_box, how):
    """The disk of the store is full or nearly full: clients get 503, and admins the
    reason, until that is over."""
    box = own_box("--set", "submission.probe_interval=1s", "--set", "outbox.min_free=1M")
    # While a login can be written down.
    admin = operator(box)
    for part in ("httpd", "milter", "events"):
        box.stop(part)
    with SmallDisk(box.dir / "store", "20M") as disk:
        for part in ("milter", "events", "httpd"):
            box.start(part)
        wait_until_good(box, admin)
        disk.fill(leave=500_000 if how == "nearly full" else 0)
        code, part, event = (("disk_full", "outbox", "disk_nearly_full")
                             if how == "nearly full" else ("store", "store", "probe_failed"))
        words = ("the disk of the store is nearly full" if how == "nearly full"
                 else "the store cannot be read or written")
        wait_for("/readyz to tell", lambda: words in readyz(box).text)
        assert readyz(box).status_code == 503 and api_status(box) == 503
        assert box.httpd().post(new_email()).status_code == 503
        need = wait_for("the overview to tell", lambda: needs(admin).get(code))
        assert need["level"] == "problem" and "What it means: emails are answered with 503" in need["text"]
        assert "What to do: make room on" in need["text"]
        assert metric(admin, f'postern_part_up{{part="{part}"}}') == 0
        [line] = events(box, event)
        assert "effect=" in line and "hint=" in line
        disk.empty()
        wait_until_good(box, admin)
        assert code not in needs(admin)
        assert metric(admin, f'postern_part_up{{part="{part}"}}') == 1 and api_status(box) == 200
        for part in ("httpd", "milter", "events"):
            box.stop(part)


@pytest.mark.store("sqlite")
@pytest.mark.submission("smtp")
def test_no_inodes_on_the_disk_of_the_store(own_box):
    """Large messages are files of their own, and get 503 however much room is left. Others are
    taken, so a load balancer goes on; monitoring is told."""
    box = own_box("--set", "submission.probe_interval=1s")
    admin = operator(box)
    for part in ("httpd", "milter", "events"):
        box.stop(part)
    with SmallDisk(box.dir / "store", "1G,nr_inodes=200"):
        for part in ("milter", "events", "httpd"):
            box.start(part)
        wait_until_good(box, admin)
        assert "disk" not in needs(admin)
        touched = []
        with pytest.raises(OSError, match="No space left"):
            for n in range(200):
                touched.append(box.dir / "store" / str(n))
                touched[-1].touch()
        assert box.httpd().post(new_email()).status_code == 200
        assert box.httpd().post(new_email(text="x" * 3_000_000)).status_code == 503
        need = needs(admin)["disk"]
        assert need["level"] == "problem" and "0% of its inodes" in need["text"]
        wait_for("/readyz to tell", lambda: "no inodes" in readyz(box).text)
        assert readyz(box).status_code == 503 and api_status(box) == 200
        need = needs(admin)["disk_inodes"]
        assert need["level"] == "problem" and "What to do: remove" in need["text"]
        assert metric(admin, 'postern_part_up{part="outbox"}') == 0
        assert len(events(box, "service_fault")) == 1
        for file in touched[:-1]:
            file.unlink()
        wait_until_good(box, admin)
        assert box.httpd().post(new_email(text="x" * 3_000_000)).status_code == 200
        for part in ("httpd", "milter", "events"):
            box.stop(part)


@pytest.mark.store("sqlite")
@pytest.mark.submission("smtp")
def test_no_room_for_messages_alone(own_box):
    """The folder of large messages may be on a disk of its own, where the same room stays free."""
    box = own_box("--set", "submission.probe_interval=1s", "--set", "outbox.min_free=1M")
    admin = operator(box)
    assert box.httpd().post(new_email(text="x" * 100_000)).status_code == 200
    [folder] = (box.dir / "store").glob("*-messages")
    for part in ("httpd", "milter", "events"):
        box.stop(part)
    with SmallDisk(folder, "20M") as disk:
        for part in ("milter", "events", "httpd"):
            box.start(part)
        wait_until_good(box, admin)
        disk.fill(leave=500_000)
        wait_for("/readyz to tell", lambda: api_status(box) == 503)
        assert "the disk of the store is nearly full" in readyz(box).text
        assert box.httpd().post(new_email()).status_code == 503
        disk.empty()
        wait_until_good(box, admin)
        assert box.httpd().post(new_email(text="x" * 100_000)).status_code == 200
        for part in ("httpd", "milter", "events"):
            box.stop(part)


def post_unsynced(box, headers):
    """Returns an email whose commit could not be synced, and as it is listed. SQLite may sync
    before the commit, too, when it empties its log: then that fails, and there is no email."""
    for _ in range(10):
        email = new_email()
        with FailAt(box.pid("httpd"), "fdatasync", 1):
            answer = box.httpd().post(email, headers=headers)
        check_problem(answer, 503, "application_error")
        if listed := box.cli("email", "list", "--to", email["to"]):
            return email, listed[0]
    raise AssertionError("each sync was one before the commit")


@pytest.mark.store("sqlite")
@pytest.mark.submission("sendmail")
def test_disk_does_not_sync(own_box):
    """The commit that stages emails is made, but its sync fails: the client gets 503. Without an
    Idempotency-Key the email is canceled; with one it goes out once, as a repeat is told."""
    box = own_box()
    httpd = box.httpd()
    for headers in ({}, {"Idempotency-Key": unique()}):
        email, listed = post_unsynced(box, headers)
        if headers:
            assert httpd.post(email, headers=headers).json()["id"] == listed["id"]
            check_all_there(box, {email["to"]: listed["id"]})
        wait_for("the outbox to be empty", lambda: box.query("SELECT count(*) FROM outbox") == "0")
        assert httpd.read(listed["id"])["last_event"] in (
            ["sent", "delivered"] if headers else ["canceled"])
        assert len(box.sink.now(to=email["to"])) == len(headers)
    again = new_email()
    check_all_there(box, {again["to"]: httpd.send(again)})


@pytest.mark.submission
def test_disk_of_postfix(own_box):
    """Postfix's queue accepts nothing: the outbox keeps all emails, and clients get
    200."""
    box = own_box("--set", "submission.record_wait=100ms")
    for part in ("httpd", "milter", "postfix"):
        box.stop(part)
    # Postfix wants half as much again as its largest message.
    with SmallDisk(box.dir / "queue", "40M") as disk:
        for part in ("postfix", "milter", "httpd"):
            box.start(part)
        disk.fill()
        sent, answer = send_until_refused(box, 1000, most=30)
        assert answer is None and len(sent) == 30
        assert int(box.query("SELECT count(*) FROM outbox")) == 30
        disk.empty()
        check_all_there(box, sent)
        check_delivered_once(box, sent)
        for part in ("httpd", "milter", "postfix"):
            box.stop(part)


@pytest.mark.store("sqlite")
@pytest.mark.submission("smtp")
def test_disk_of_the_log(own_box):
    """Postfix goes on without a log, also when there is room again: it takes a reload. doctor and
    the overview say both."""
    box = own_box("--set", "submission.probe_interval=1s")
    admin = operator(box)
    parts = ("httpd", "milter", "events", "postfix")
    for part in parts:
        box.stop(part)
    with SmallDisk(box.dir / "log", "64M") as disk:
        for part in reversed(parts):
            box.start(part)
        wait_until_good(box, admin)
        disk.fill()
        need = wait_for("the overview to tell", lambda: needs(admin).get("events"))
        assert "Postfix's log tells nothing of messages" in need["text"]
        assert "postfix reload" in need["text"] and api_status(box) == 200
        found = fault(doctor(box), "events", f"the disk of {box.dir}/log/postfix.log is full")
        assert "postfix reload" in found["text"]
        disk.empty()
        said = wait_for("doctor to see the position", lambda: faults(doctor(box), "log"))
        assert "has shown none" in said[0]["text"] and "postfix reload" in said[0]["text"]
        assert not faults(doctor(box), "events")
        postfix(box, "postfix", "reload")
        wait_for("/readyz to be calm", lambda: readyz(box).status_code == 200)
        email = new_email()
        email_id = box.httpd().send(email)
        wait_for("the log to tell of an email",
                 lambda: box.httpd().read(email_id)["last_event"] == "delivered")
        for part in parts:
            box.stop(part)
