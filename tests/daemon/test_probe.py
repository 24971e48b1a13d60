"""postern-httpd tries by itself whether emails go out: each fault shows, with its
reason, on /readyz, the overview, in the metrics and in the log, and goes when it is
mended. Nothing of a probe stays."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from harness import Sandbox, wait_for
from harness.admin import Admin, operator
from harness.crash import workers_of
from harness.milter import CONTINUE, DISCARD, REJECT, TEMPFAIL, OtherMilter
from harness.sandbox import METHOD, TREE, unique

pytestmark = pytest.mark.submission

LIST = {"sendmail": "non_smtpd_milters", "smtp": "smtpd_milters"}[METHOD]
OTHER_LIST = {"smtp": "non_smtpd_milters", "sendmail": "smtpd_milters"}[METHOD]
SMTP, SENDMAIL = METHOD == "smtp", METHOD == "sendmail"


@pytest.fixture(scope="module")
def shared():
    with Sandbox(
        "--set", "submission.probe_interval=1s", "--set", "submission.timeout=8s", parts=["auth"]
    ) as box:
        yield box


@pytest.fixture(scope="module")
def admin(shared):
    return operator(shared)


def readyz(box):
    return Admin(box).request("GET", "/readyz")


def metric(admin, name):
    text = admin.request("GET", "/metrics").text
    found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.M)
    return float(found[1]) if found else None


def needs(admin):
    return {a["code"]: a for a in admin.ok("GET", "/admin/attention")["data"]}


def events(box, name):
    return [line for line in box.log("httpd").splitlines() if f"event={name}" in line]


def api_status(box):
    return box.httpd().request("GET", "/readyz", headers={"Authorization": None}).status_code


def wait_until_good(box, admin):
    wait_for("the service to be ready", lambda: readyz(box).status_code == 200
             and metric(admin, "postern_rules_in_force") == 1)


def postfix(box, *words):
    subprocess.run([*words[:1], "-c", box.dir / "postfix", *words[1:]],
                   check=True, capture_output=True, timeout=60)


# The faults: each is there within the `with`.

@contextmanager
def main_cf(box, *settings):
    file = box.dir / "postfix/main.cf"
    before = file.read_text()
    for setting in settings:
        box.postconf(setting)
    box.reload_postfix()
    try:
        yield
    finally:
        file.write_text(before)
        box.reload_postfix()


@contextmanager
def master_cf(box, *words):
    file = box.dir / "postfix/master.cf"
    before = file.read_text()
    postfix(box, "postconf", *words)
    box.reload_postfix()
    try:
        yield
    finally:
        file.write_text(before)
        box.reload_postfix()


@contextmanager
def stopped(box, part):
    box.stop(part)
    try:
        yield
    finally:
        box.start(part)


@contextmanager
def suspended(box, part):
    pid = box.pid(part)
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@contextmanager
def mode(box, path, number):
    file = box.dir / path
    before = file.stat().st_mode
    file.chmod(number)
    try:
        yield
    finally:
        file.chmod(before)


@contextmanager
def moved(box, path):
    file = box.dir / path
    other = file.with_name(file.name + ".away")
    file.rename(other)
    try:
        yield
    finally:
        other.rename(file)


@contextmanager
def other_milter(box, verdict, behind=True, message_id=None):
    with OtherMilter(verdict, message_id) as other:
        ours = subprocess.run(
            ["postconf", "-c", box.dir / "postfix", "-h", LIST],
            check=True, capture_output=True, text=True, timeout=60).stdout.strip()
        order = [ours, other.name] if behind else [other.name, ours]
        with main_cf(box, f"{LIST}={', '.join(order)}"):
            yield


@contextmanager
def read_only(box):
    if box.on_server:
        box.query("CREATE FUNCTION no_probe() RETURNS trigger LANGUAGE plpgsql"
                  " AS $$BEGIN RAISE disk_full; END$$")
        fails = "FOR EACH ROW EXECUTE FUNCTION no_probe()"
    else:
        fails = "BEGIN SELECT raise(ABORT, 'as on a full disk'); END"
    box.query(f"CREATE TRIGGER no_probe BEFORE INSERT ON probe {fails}")
    try:
        yield
    finally:
        box.query("DROP FUNCTION no_probe CASCADE" if box.on_server else "DROP TRIGGER no_probe")


@contextmanager
def queue_manager_suspended(box):
    master = (box.dir / "queue/pid/master.pid").read_text().strip()
    # master(8) has just started it, or is about to.
    (pid,) = wait_for("the queue manager", lambda: subprocess.run(
        ["pgrep", "-P", master, "-x", "qmgr"], text=True, capture_output=True,
        timeout=60).stdout.split())
    pid = int(pid)
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@contextmanager
def clock_put_back(box, table):
    """Makes the newest row a day younger than the clock."""
    if table == "email":
        box.httpd().send({"from": "hello@example.com", "to": "a@dst.test", "text": "x"})
    newest = int(box.query(f"SELECT max(created_us) FROM {table}"))
    later = newest + 86400 * 1000000
    box.query(f"UPDATE {table} SET created_us = {later} WHERE created_us = {newest}")
    try:
        yield
    finally:
        box.query(f"UPDATE {table} SET created_us = {newest} WHERE created_us = {later}")


@contextmanager
def schema(box, change, back, more=0):
    """That of another version of Postern: one migration less, or more."""
    version = int(box.query("SELECT max(version) FROM schema_migration")) + more
    rows = {"DELETE": f"DELETE FROM schema_migration WHERE version = {version}"}
    kept = box.query("SELECT name, applied_us FROM schema_migration"
                     f" WHERE version = {version - more}").split("|")
    rows["INSERT"] = ("INSERT INTO schema_migration (version, name, applied_us)"
                      f" VALUES ({version}, '{kept[0]}', {kept[1]})")
    box.query(rows[change])
    try:
        yield
    finally:
        box.query(rows[back])


@contextmanager
def milter_away_without_tempfail(box):
    with main_cf(box, "milter_default_action=accept", f"{LIST}=unix:postern/milter.sock"):
        with stopped(box, "milter"):
            yield


@contextmanager
def folder_of_another_user(box):
    """The milter, which is not root in an installation, cannot make its socket there."""
    folder = box.dir / "queue/postern"
    with stopped(box, "milter"):
        (folder / "milter.sock").unlink(missing_ok=True)
        shutil.chown(folder, "nobody")
        try:
            yield
        finally:
            shutil.chown(folder, "root")


@contextmanager
def without_rights(box, part):
    """As it is with a user of its own: root's rights to all files are gone."""
    box.stop(part)
    program = Path(box.env["POSTERN_CLI"]).with_name(f"postern-{part}")
    begun = re.compile("event=(start|listening)")
    before = len(begun.findall(box.log(part)))
    with (box.dir / f"log/{part}.log").open("a") as log:
        process = subprocess.Popen(
            ["setpriv", "--bounding-set=-dac_override,-dac_read_search", program, "-c",
             box.config], stdout=log, stderr=log)
    try:
        wait_for(part, lambda: len(begun.findall(box.log(part))) > before)
        yield
    finally:
        process.terminate()
        process.wait(180)
        box.start(part)


NOT_ASKED = "Postfix does not ask postern-milter"
UNCHECKED = "some mail is not checked by the rules"
UNGUARDED = "mail is not safe while postern-milter is away"
PUT_OFF = "Postfix or another milter puts all mail off"
CLOCK = "the clock was put back"
NO_EMAIL = "Postfix takes no email"
NO_STORE = "the store cannot be read or written"
BYPASSED = "postern-milter does not answer, and mail is not safe meanwhile"

# name: how, what /readyz says, the code and the words of what needs attention
FAULTS = {
    "the list of milters lost": (
        lambda box: main_cf(box, f"{LIST}="), NOT_ASKED, "submission", LIST),
    "no_milters": (
        lambda box: main_cf(box, "receive_override_options=no_milters"),
        NOT_ASKED, "submission", "without asking|did not ask"),
    "socket misspelt": (
        lambda box: main_cf(
            box, f"{LIST}={{ unix:postern/miter.sock, default_action=tempfail }}"),
        NO_EMAIL if SMTP else NOT_ASKED, "submission", "451|does not name its socket"),
    "a milter in front puts off": (
        lambda box: other_milter(box, TEMPFAIL, behind=False),
        NO_EMAIL if SMTP else PUT_OFF, "submission", "4.7.1.*emails wait in"),
    "the socket closed to Postfix": (
        lambda box: mode(box, "queue/postern/milter.sock", 0o600),
        NO_EMAIL if SMTP else NOT_ASKED, "submission", "451|reach the socket"),
    "a milter behind puts off": (
        lambda box: other_milter(box, TEMPFAIL),
        NO_EMAIL if SMTP else PUT_OFF, "submission", "stopped behind it: .*4.7.1"),
    "a milter behind refuses": (
        lambda box: other_milter(box, REJECT), NO_EMAIL, "submission",
        "stopped behind it: .*5.7.1"),
    "a milter in front discards": (
        lambda box: other_milter(box, DISCARD, behind=False), NO_EMAIL, "submission",
        "discard: .*DISCARD"),
    "an old main.cf": (
        # A probe that was in the maildrop before httpd noticed waits for the relay host.
        lambda box: main_cf(box, "smtpd_milters=", "non_smtpd_milters=", "transport_maps=",
                            "default_transport=smtp", "relayhost=[127.0.0.1]:1"),
        NOT_ASKED, "submission", "would leave this host, so emails wait in the outbox, and no test message"),
}
if SMTP:
    FAULTS.update({
        # These are the same by both ways; by this one they take less time.
        "both lists lost": (
            lambda box: main_cf(box, "smtpd_milters=", "non_smtpd_milters="),
            NOT_ASKED, "submission", LIST),
        "a milter behind discards": (
            lambda box: other_milter(box, DISCARD), NO_EMAIL, "submission",
            "stopped behind it: discard: "),
        "header_checks refuse": (
            lambda box: main_cf(
                box, "header_checks=regexp:{ {/^Auto-Submitted:/ REJECT not here} }"),
            NO_EMAIL, "submission", "not here"),
        "the other list lost": (
            lambda box: main_cf(box, f"{OTHER_LIST}="),
            UNCHECKED, "submission", OTHER_LIST),
        "the milter stopped": (
            lambda box: stopped(box, "milter"),
            "postern-milter does not answer", "milter", "nobody answers|does not answer"),
        "the milter suspended": (
            lambda box: suspended(box, "milter"), "postern-milter does not answer",
            "submission", "says nothing"),
        "Postfix stopped": (
            lambda box: stopped(box, "postfix"), "Postfix is not running", "postfix",
            "Postfix is not running"),
        "its folder closed to Postfix": (
            lambda box: mode(box, "queue/postern", 0o700),
            NO_EMAIL, "submission", "451"),
        "a milter in front changes the Message-ID": (
            lambda box: other_milter(box, CONTINUE, behind=False, message_id="<x@other.test>"),
            "something changes emails", "submission", "another Message-ID"),
        "header_checks replace From": (
            lambda box: main_cf(
                box, "header_checks=regexp:{ {/^From:/ REPLACE From: all@corp.test} }"),
            "something changes emails", "submission", "another From"),
        "the line of transport_maps lost": (
            lambda box: main_cf(box, "transport_maps="), UNGUARDED, "submission",
            "does not have mail to postern.invalid wait"),
        "an entry without tempfail": (
            lambda box: main_cf(box, "milter_default_action=accept",
                                f"{LIST}=unix:postern/milter.sock"),
            UNGUARDED, "submission", f"{LIST} .* without default_action=tempfail"),
        "smtpd_milter_maps": (
            lambda box: main_cf(box, "smtpd_milter_maps=inline:{127.0.0.1=DISABLE}"),
            UNCHECKED, "submission",
            "smtpd_milter_maps turns postern-milter off for 127.0.0.1: DISABLE"),
        "networks that were not learnt": (
            lambda box: main_cf(box, "mynetworks=127.0.0.0/8 10.9.0.0/16"), UNCHECKED,
            "submission", "mynetworks .* has 10.9.0.0/16"),
        "the queue manager suspended": (
            queue_manager_suspended, "queue manager does not work", "submission", "qmgr"),
        "the clock put back": (
            lambda box: clock_put_back(box, "email"), CLOCK, "submission", "14[34]. minutes behind"),
        "the clock put back, and no emails": (
            lambda box: clock_put_back(box, "probe"), CLOCK, "submission", "14[34]. minutes behind"),
        "the store cannot be written": (
            read_only, NO_STORE, "store", "as on a full disk"),
        "an older schema": (
            lambda box: schema(box, "DELETE", "INSERT"), NO_STORE, "store", "db migrate"),
        "a newer schema": (
            lambda box: schema(box, "INSERT", "DELETE", 1), NO_STORE, "store",
            "newer|another version"),
        "the milter away, and its entry without tempfail": (
            milter_away_without_tempfail, BYPASSED, "submission",
            f"does not answer.*{LIST} .* without default_action=tempfail"),
        "the folder of the socket of somebody else": (
            folder_of_another_user, "postern-milter does not answer", "milter",
            "its folder is not that of the user of the daemons"),
        "pickup without milters": (
            lambda box: master_cf(
                box, "-P", "pickup/unix/receive_override_options=no_milters"),
            UNCHECKED, "submission", "master.cf keeps mail from .* pickup/unix"),
        "the service missing": (
            lambda box: master_cf(box, "-M#", "postern/unix"), NO_EMAIL, "submission",
            "cannot connect|public/postern"),
        "the service without milters": (
            lambda box: master_cf(box, "-P", "postern/unix/smtpd_milters="),
            NOT_ASKED, "submission", "without asking"),
        "queue_minfree": (
            lambda box: main_cf(box, "queue_minfree=1000000000000000",
                                "message_size_limit=1000"),
            NO_EMAIL, "submission", "452|nsufficient"),
    })
else:
    FAULTS.update({
        "authorized_submit_users": (
            lambda box: main_cf(box, "authorized_submit_users=nobody"), NO_EMAIL,
            "submission", "not allowed to submit mail"),
        "no maildrop": (
            lambda box: moved(box, "queue/maildrop"), "Postfix does not answer in time",
            "submission", "no answer to a submission"),
        "pickup without milters": (
            lambda box: master_cf(
                box, "-P", "pickup/unix/receive_override_options=no_milters"),
            NOT_ASKED, "submission", "did not ask"),
        "pickup missing": (
            lambda box: master_cf(box, "-M#", "pickup/unix"), NOT_ASKED, "submission",
            "pickup does not run"),
    })


# Only a file is made so that it cannot be written.
OF_A_FILE = pytest.mark.store("sqlite")


@pytest.mark.parametrize("fault", [
    pytest.param(fault, marks=OF_A_FILE) if fault == "the store cannot be written" else fault
    for fault in FAULTS])
def test_fault_shows_and_goes(shared, admin, fault):
    make, words, code, cause = FAULTS[fault]
    wait_until_good(shared, admin)
    failed, passed = len(events(shared, "probe_failed")), len(events(shared, "probe_passed"))
    with make(shared):
        wait_for("/readyz to tell", lambda: words in readyz(shared).text)
        assert readyz(shared).status_code == 503
        need = wait_for("the overview to tell", lambda: needs(admin).get(code))
        assert need["level"] == "problem"
        need = wait_for("the cause", lambda: re.search(
            cause, needs(admin).get(code, need)["text"]) and needs(admin).get(code))
        assert re.search(cause, need["text"]), need["text"]
        assert "What it means: " in need["text"] and "What to do: " in need["text"]
        wait_for("the metrics to tell", lambda: metric(admin, "postern_rules_in_force") == 0)
        assert metric(admin, f'postern_part_up{{part="{code}"}}') == 0
        line = wait_for("the log to tell", lambda: events(shared, "probe_failed")[failed:])[-1]
        assert "cause=" in line and "effect=" in line and "hint=" in line
        # Emails of clients go out all the same where others are unchecked.
        assert api_status(shared) == (200 if words in (UNCHECKED, UNGUARDED, CLOCK) else 503)
    wait_until_good(shared, admin)
    assert not any(name.endswith("@postern.invalid")
                   for message in shared.sink.all() for name in message.recipients)
    assert not set(needs(admin)) & {"submission", "milter", "postfix", "store"}
    assert metric(admin, f'postern_part_up{{part="{code}"}}') == 1
    assert api_status(shared) == 200
    wait_for("the log to tell of its end",
             lambda: len(events(shared, "probe_passed")) > passed)


@pytest.mark.parametrize("change", ["main.cf", "main.cf, before httpd starts", "master.cf"])
def test_a_ticket_that_would_leave(shared, admin, change):
    """Without our lines in main.cf, as before `postern setup`, Postfix would hand tickets to the
    relay host. Emails stay in the outbox, and go out when the lines are there."""
    if change == "master.cf" and SENDMAIL:
        pytest.skip("a service of smtpd")
    wait_until_good(shared, admin)
    httpd, sink = shared.httpd(), shared.main_cf("default_transport").removeprefix("smtp:")
    leaving = ["transport_maps=", "default_transport=smtp", f"relayhost={sink}"]
    lists = [f"{LIST}=", f"{OTHER_LIST}="]
    withheld = len(events(shared, "submission_withheld"))
    if change == "main.cf, before httpd starts":
        shared.stop("httpd")
    with ExitStack() as changes:
        if change == "master.cf":
            changes.enter_context(master_cf(shared, "-P", "postern/unix/smtpd_milters="))
            lists = []
        changes.enter_context(main_cf(shared, *leaving, *lists))
        if change == "main.cf, before httpd starts":
            shared.start("httpd")
            assert len(events(shared, "submission_withheld")) > withheld
        wait_for("httpd to notice", lambda: len(events(shared, "submission_withheld")) > withheld)
        email = {"from": "hello@example.com", "to": unique("to") + "@dst.test", "text": "x"}
        email_id = httpd.send(email)
        assert httpd.read(email_id)["last_event"] == "queued"
        wait_for("the reason", lambda: "would leave this host" in shared.query(
            f"SELECT o.reason FROM outbox o JOIN email e ON e.seq = o.email WHERE e.id = '{email_id}'"))
        wait_for("/readyz to tell", lambda: "does not ask" in readyz(shared).text)
        assert f"message-id=<{email_id}@" not in shared.log("postfix")
    shared.sink.find(to=email["to"])
    wait_for("the log", lambda: f"message-id=<{email_id}@" in shared.log("postfix"))
    assert shared.log("postfix").count(f"message-id=<{email_id}@") == 1
    wait_until_good(shared, admin)


def test_healthy_system_shows_nothing(shared, admin):
    """Nobody gets a probe, and none stays in the queue."""
    wait_until_good(shared, admin)
    failed = len(events(shared, "probe_failed"))
    seen = "SELECT count(*) FROM probe WHERE seen_us > 0"
    before = int(shared.query(seen))
    mails = len(shared.sink.all())
    wait_for("three probes", lambda: int(shared.query(seen)) >= before + 3)
    assert len(events(shared, "probe_failed")) == failed
    assert len(shared.sink.all()) == mails


def test_probe_leaves_nothing(own_box):
    box = own_box("--set", "submission.probe_interval=1s")
    wait_for("probes", lambda: int(box.query(
        "SELECT count(*) FROM probe WHERE seen_us > 0")) >= 3)
    box.stop("httpd")

    def queue():
        done = subprocess.run(["postqueue", "-c", box.dir / "postfix", "-j"],
                              check=True, capture_output=True, text=True, timeout=60)
        return [json.loads(line) for line in done.stdout.splitlines()]

    wait_for("an empty queue", lambda: not queue() and not box.waiting())
    assert not box.sink.all()


@pytest.mark.parametrize("rule", [
    "always_bcc=archive@dst.test",
    "header_checks=regexp:{ {/^Auto-Submitted:/ HOLD of mine} }",
])
def test_rules_for_all_mail_leave_nothing_of_probes(own_box, rule):
    """No copy of a probe, and none is held."""
    box = own_box("--set", "submission.probe_interval=1s", "--postconf", rule)
    wait_for("probes", lambda: int(box.query(
        "SELECT count(*) FROM probe WHERE seen_us > 0 AND through = 0")) >= 3)
    assert box.query("SELECT count(*) FROM probe WHERE through <> 0") == "0"
    box.stop("httpd")
    assert not box.sink.all()
    assert not list((box.dir / "queue/hold").iterdir())


@pytest.mark.submission("smtp")
def test_httpd_is_not_in_the_group_postdrop(shared, admin):
    """httpd may not enter Postfix's directory public."""
    wait_until_good(shared, admin)
    failed = len(events(shared, "probe_failed"))
    with without_rights(shared, "httpd"):
        wait_for("/readyz to tell", lambda: NO_EMAIL in readyz(shared).text)
        need = wait_for("the overview to tell", lambda: needs(admin).get("submission"))
        assert "Permission denied" in need["text"] and "postern doctor" in need["text"]
        assert metric(admin, "postern_rules_in_force") == 0 and api_status(shared) == 503
        assert "Permission denied" in events(shared, "probe_failed")[failed:][-1]
    wait_until_good(shared, admin)
    assert not needs(admin)


@pytest.mark.submission("sendmail")
def test_a_socket_that_is_for_postfix_alone(shared, admin):
    """httpd may not open it; that Postfix may, a probe shows."""
    wait_until_good(shared, admin)
    with mode(shared, "queue/postern/milter.sock", 0o060), without_rights(shared, "httpd"):
        wait_until_good(shared, admin)
        assert health(admin)["milter"]["ok"] and not needs(admin)
        # What Postfix may not open either is told once.
        with mode(shared, "queue/postern/milter.sock", 0o000):
            wait_for("the overview to tell", lambda: "submission" in needs(admin))
            assert set(needs(admin)) == {"submission"}


@pytest.mark.submission("smtp")
@pytest.mark.store("sqlite")
def test_a_damaged_database(own_box, tmp_path):
    """A page that each email needs is damaged; after a restore from a backup nothing is
    reported."""
    box = own_box("--set", "submission.probe_interval=1s")
    admin = operator(box)
    wait_until_good(box, admin)
    box.httpd().send({"from": "hello@example.com", "to": "a@dst.test", "text": "x"})
    box.cli("db", "backup", str(tmp_path / "backup"))
    for part in ("httpd", "milter", "events"):
        box.stop(part)
    box.query("PRAGMA wal_checkpoint(TRUNCATE)")
    page = int(box.query("SELECT rootpage FROM sqlite_master WHERE name = 'email'"))
    size = int(box.query("PRAGMA page_size"))
    with (box.dir / "store/postern.db").open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    for part in ("milter", "httpd"):
        box.start(part)
    wait_for("/readyz to tell", lambda: NO_STORE in readyz(box).text)
    need = wait_for("the overview to tell", lambda: needs(admin).get("store"))
    assert "malformed" in need["text"] and "postern db restore" in need["text"]
    wait_for("the probe to fail", lambda: metric(admin, "postern_rules_in_force") == 0)
    assert api_status(box) == 503
    assert "malformed" in events(box, "probe_failed")[-1]
    for part in ("httpd", "milter"):
        box.stop(part)
    box.cli("db", "restore", str(tmp_path / "backup"))
    for part in ("milter", "events", "httpd"):
        box.start(part)
    wait_until_good(box, operator(box))


@pytest.mark.submission("smtp")
def test_a_rule_that_changes_one_sender(own_box):
    """Not all emails fail, so it is the fault of one key, not of the service."""
    box = own_box("--set", "submission.probe_interval=1s")
    admin = operator(box)
    rule = "regexp:{ {/^From:.*shop@/ REPLACE From: x@other.test} }"
    with main_cf(box, f"header_checks={rule}"):
        wait_until_good(box, admin)
        email = {"from": "shop@example.com", "to": "a@dst.test", "text": "x"}
        # A cleanup of before the reload may still take the first.
        wait_for("the rule", lambda: box.httpd().post(email).status_code == 422)
        need = wait_for("the overview to tell", lambda: needs(admin).get("key_refused"))
        assert need["level"] == "warning" and "1 email of the key" in need["text"]
        assert wait_for("the metrics to tell", lambda: metric(
            admin, 'postern_milter_stopped_total{reason="ticket_mismatch"}'))
        assert "ticket_mismatch" in box.log("milter")
        assert readyz(box).status_code == 200 and set(needs(admin)) == {"key_refused"}


@pytest.mark.submission("smtp")
def test_what_changes_is_tried_at_once(own_box):
    """New settings, and a reload of Postfix, are tested without waiting for the
    interval."""
    box = own_box("--set", "submission.probe_interval=1h")
    admin = operator(box)
    wait_until_good(box, admin)
    file = box.dir / "postfix/main.cf"
    before = file.read_text()
    box.postconf(f"{LIST}=")
    box.reload_postfix()
    wait_for("/readyz to tell", lambda: NOT_ASKED in readyz(box).text)
    probes = int(box.query("SELECT count(*) FROM probe"))
    file.write_text(before)
    wait_for("a probe", lambda: int(box.query("SELECT count(*) FROM probe")) > probes)
    box.reload_postfix()
    wait_until_good(box, admin)


@pytest.mark.submission("smtp")
def test_a_relay_that_is_away(shared, admin):
    """This host works, so it is only a hint."""
    wait_until_good(shared, admin)
    with main_cf(shared, "default_transport=smtp:[127.0.0.1]:1"):
        shared.httpd().send({"from": "hello@example.com", "to": "a@dst.test", "text": "x"})
        need = wait_for("the overview to tell", lambda: needs(admin).get("delayed"))
        assert need["level"] == "hint" and readyz(shared).status_code == 200
    shared.flush()
    wait_for("the overview to be calm", lambda: "delayed" not in needs(admin))


def test_load_balancers_ask_without_a_key(shared, admin):
    wait_until_good(shared, admin)
    client = shared.httpd()
    for path, text in (("/livez", "ok\n"), ("/readyz", "ready\n")):
        answer = client.request("GET", path, headers={"Authorization": None})
        assert (answer.status_code, answer.text) == (200, text)


@pytest.mark.submission("smtp")
def test_settings_that_cannot_be_read_anew(shared, admin):
    wait_until_good(shared, admin)
    before = shared.config.read_text()
    successful = "postern_config_last_reload_successful"
    assert metric(admin, successful) == 1
    shared.config.write_text(before + "\n[submission]\nmehtod = smtp\n")
    try:
        shared.kill("httpd", signal.SIGHUP)
        need = wait_for("the overview to tell", lambda: needs(admin).get("reload"))
        assert need["level"] == "warning" and "mehtod" in need["text"]
        assert metric(admin, successful) == 0
        assert "mehtod" in events(shared, "reload_failed")[-1]
        assert readyz(shared).text == "postern.conf could not be read anew\n"
        assert metric(admin, 'postern_part_up{part="settings"}') == 0
        assert api_status(shared) == 200
    finally:
        shared.config.write_text(before)
        shared.kill("httpd", signal.SIGHUP)
    wait_for("the overview to be calm", lambda: "reload" not in needs(admin))
    assert metric(admin, successful) == 1


@pytest.mark.submission("smtp")
def test_postfix_takes_less_than_clients_are_told(shared, admin):
    wait_until_good(shared, admin)
    with main_cf(shared, "message_size_limit=100000"):
        need = wait_for("the overview to tell", lambda: needs(admin).get("message_size"))
        assert "100000 bytes" in need["text"]
        assert readyz(shared).status_code == 503 and "smaller messages" in readyz(shared).text
        assert metric(admin, 'postern_part_up{part="settings"}') == 0
        assert "100000 bytes" in events(shared, "service_fault ")[-1]
        assert api_status(shared) == 200
        shared.kill("httpd", signal.SIGHUP)
        wait_for("the overview to be calm", lambda: "message_size" not in needs(admin))
    shared.kill("httpd", signal.SIGHUP)


@pytest.mark.submission("smtp")
def test_networks_that_are_left_out_on_purpose(own_box):
    """An exception declares it, so nothing is reported."""
    box = own_box("--set", "submission.probe_interval=1s", "--set",
                  "milter.internal_hosts=127.0.0.0/8 10.0.0.0/8 !10.9.0.0/16",
                  "--postconf", "mynetworks=127.0.0.0/8 10.0.0.0/8 10.9.0.0/16")
    wait_until_good(box, operator(box))
    assert not events(box, "probe_failed")


def wait_until_log_unread(box, admin, cause):
    """Emails are sent all the same, so load balancers are not told."""
    wait_for("/readyz to tell", lambda: cause in readyz(box).text)
    assert readyz(box).status_code == 503
    need = wait_for("the overview to tell", lambda: needs(admin).get("events"))
    assert need["level"] == "problem"
    for word in (cause, "what became of emails since", "What it means: mail goes out", "What to do: "):
        assert word in need["text"]
    assert metric(admin, 'postern_part_up{part="events"}') == 0
    line = events(box, "log_not_read")[-1]
    assert cause in line and "effect=" in line and "hint=" in line
    assert api_status(box) == 200


def wait_until_log_read(box, admin):
    wait_for("/readyz to be calm", lambda: readyz(box).status_code == 200)
    wait_for("the overview to be calm", lambda: "events" not in needs(admin))
    assert metric(admin, 'postern_part_up{part="events"}') == 1
    assert len(events(box, "log_not_read")) == len(events(box, "log_read_again"))


@pytest.mark.submission("smtp")
@pytest.mark.parametrize("rule", ["header_checks=", "header_checks=regexp:{ {/^X-Y:/ WARN} }"])
def test_a_log_that_tells_nothing(shared, admin, rule):
    """Also where the milters behind ours do not see probes."""
    wait_until_good(shared, admin)
    with main_cf(shared, rule):
        with master_cf(shared, "-M#", "postlog/unix-dgram"):
            wait_until_log_unread(shared, admin, "Postfix's log tells nothing of messages")
        wait_until_log_read(shared, admin)


@pytest.mark.submission("smtp")
def test_a_log_that_ends_between_two_lines(shared, admin):
    """As on a full disk: of a message it has what cleanup(8) wrote, and not what qmgr(8) did."""
    wait_until_good(shared, admin)
    with ExitStack() as log:
        with queue_manager_suspended(shared):
            wait_for("/readyz to tell", lambda: "queue manager does not work" in readyz(shared).text)
            log.enter_context(master_cf(shared, "-M#", "postlog/unix-dgram"))
            wait_for("the end of the log", lambda: not list(workers_of(shared, "postlogd")))
        wait_until_log_unread(shared, admin, "Postfix's log tells nothing of messages")
    wait_until_log_read(shared, admin)


@pytest.mark.submission("smtp")
def test_a_log_that_cannot_be_read(own_box):
    """Postfix made it again, readable for root alone: while it is read, and at the
    start."""
    box = own_box("--set", "submission.probe_interval=1s")
    admin = operator(box)
    wait_until_good(box, admin)
    log = box.dir / "log/postfix.log"
    with without_rights(box, "events"):
        wait_until_log_read(box, admin)
        log.rename(log.with_name("postfix.log.1"))
        log.touch(0o000)
        postfix(box, "postfix", "reload")
        wait_until_log_unread(box, admin, "postern-events cannot read Postfix's log")
        log.chmod(0o644)
        wait_until_log_read(box, admin)
    box.stop("events")
    log.chmod(0o000)
    with without_rights(box, "events"):  # which ends at once
        wait_until_log_unread(box, admin, "postern-events does not run")
        log.chmod(0o644)
    wait_until_log_read(box, admin)


def health(admin):
    parts = admin.ok("GET", "/admin/health")["parts"]
    return {part["name"]: part for part in parts}


def status_times(box):
    """Returns `status_as_of` of each route that reports delivery status."""
    client = box.httpd()
    email_id = client.send({"from": "hello@example.com", "to": "b@dst.test", "text": "x"})
    form = {"headers": {"Authorization": None}, "auth": ("api", client.key)}
    answers = [
        client.request("GET", "/emails?limit=1"), client.request("GET", f"/emails/{email_id}"),
        client.request("GET", f"/emails/{email_id}/events"),
        client.request("GET", "/v3/example.com/events", **form),
        client.request("GET", "/v3/example.com/stats/total?event=delivered", **form)]
    assert [answer.status_code for answer in answers] == [200] * 5
    return [answer.json()["status_as_of"] for answer in answers]


@pytest.mark.submission("smtp")
def test_events_that_do_not_run(own_box):
    """The reported status is old, and says so."""
    box = own_box()
    admin = operator(box)
    wait_for("the log to be read", lambda: health(admin)["events"]["ok"])
    assert "events" not in needs(admin)
    box.stop("events")
    wait_until_log_unread(box, admin, "postern-events does not run")
    assert metric(admin, 'postern_up{program="postern-events"}') == 0
    asked = status_times(box)
    email_id = box.httpd().send({"from": "hello@example.com", "to": "a@dst.test", "text": "x"})
    box.sink.find(to="a@dst.test")
    # As it is two minutes later.
    box.query("UPDATE log_cursor SET end_us = end_us - 200 * 1000000")
    for said in (box.cli("email", "show", email_id)["answer"],
                 admin.ok("GET", f"/admin/emails/{email_id}")["answer"]):
        assert "What happened later is not known here" in said, said
    assert status_times(box) == asked and len(set(asked)) == 1 and asked[0]
    assert asked[0] < box.httpd().read(email_id)["created_at"]
    box.start("events")
    wait_for("the overview to be calm", lambda: "events" not in needs(admin))
    wait_for("the delivery to be known", lambda: box.cli(
        "email", "show", email_id)["answer"].startswith("Yes: delivered"))
    assert "not known here" not in box.cli("email", "show", email_id)["answer"]
    wait_for("news of the log", lambda: all(at > asked[0] for at in status_times(box)))
    known = box.httpd().read(email_id)
    assert known["status_as_of"] > known["recipients"][0]["updated_at"]


@pytest.mark.submission("smtp")
def test_events_after_an_installation(own_box):
    """A log that has only lines of others, of messages that are not at their end."""
    box = own_box()
    admin = operator(box)
    box.stop("events")
    box.query("DELETE FROM log_cursor")
    with (box.dir / "log/postfix.log").open("a") as log:
        log.write("Nov 22 21:45:35 mail postfix/qmgr[7]: 7E42AA744B9: from=<a@b.test>,"
                  " size=508, nrcpt=1 (queue active)\n")
    box.start("events")
    wait_for("the log to be read", lambda: health(admin)["events"]["ok"])
    wait_for("the position", lambda: box.query(
        "SELECT count(*) FROM log_cursor WHERE position <> '' AND changed_us > 0 AND end_us > 0") == "1")
    assert "events" not in needs(admin)


@pytest.mark.submission("smtp")
def test_held_mail_that_postsuper_removed(own_box):
    """It is no longer counted."""
    box = own_box("--set", "events.repair_interval=1s")
    admin = operator(box)
    subprocess.run(
        ["/usr/sbin/sendmail", "-C", box.dir / "postfix", "-i", "-f", "hello@example.com",
         "--", "ann@dst.test"],
        input="From: hello@example.com\nTo: ann@dst.test\n\nHello\n", text=True, check=True,
        timeout=60)
    need = wait_for("the overview to tell", lambda: needs(admin).get("held"))
    assert "release or drop" in need["text"]
    queue_id = wait_for("the message on hold", lambda: box.cli("held", "list"))[0]["queue_id"]
    postfix(box, "postsuper", "-d", queue_id)
    # As it is a minute later.
    box.query("UPDATE held SET held_us = held_us - 100 * 1000000")
    wait_for("the overview to be calm", lambda: "held" not in needs(admin))
    assert box.query("SELECT count(*) FROM held") == "0"


@pytest.mark.submission("sendmail")
def test_a_message_that_never_comes_to_the_milter(own_box):
    """The overview reports it after a minute, until it was submitted again
    automatically."""
    box = own_box("--set", "submission.record_wait=500ms", "--set",
                  "submission.probe_interval=1s")
    box.stop("milter")
    email_id = box.httpd().send({"from": "hello@example.com", "to": "ann@dst.test", "text": "x"})
    # A probe that was under way waits there too.
    wait_for("its message", lambda: box.query("SELECT min(due_us) FROM outbox") not in ("", "0")
             and box.waiting())
    for file in (box.dir / "queue/maildrop").iterdir():
        file.unlink()
    wait_for("it to be put off", lambda: box.query("SELECT min(due_us) FROM outbox") not in ("", "0"))
    # It is not submitted again meanwhile, as all is when the milter is back. No pause is longer
    # than ten minutes: what is due later than that is from before the clock was put back.
    box.stop("httpd")
    later = int(time.time() + 550) * 1000000
    box.query(f"UPDATE outbox SET due_us = {later}")
    for part in ("milter", "httpd"):
        box.start(part)
    admin = operator(box)
    wait_until_good(box, admin)
    assert "queued" not in needs(admin)
    check_late(box, admin, LATER)
    # As it is half a minute later.
    box.query("UPDATE outbox SET due_us = 1 WHERE due_us > 0")
    box.sink.find(to="ann@dst.test")
    check_none_late(box, admin)
    assert box.httpd().read(email_id)["last_event"] != "queued"


# As it is half a minute later.
LATER = "UPDATE email SET created_us = created_us - 31000000"


def check_late(box, admin, later):
    box.query(later)
    need = wait_for("the overview to tell", lambda: needs(admin).get("queued"))
    assert need["level"] == "warning" and "1 email waits" in need["text"]
    assert "postern held" in need["text"]
    wait_for("/readyz to tell", lambda: "emails wait for postern-milter" in readyz(box).text)
    assert readyz(box).status_code == 503 and api_status(box) == 200
    assert metric(admin, 'postern_part_up{part="outbox"}') == 0
    line = events(box, "service_fault ")[-1]
    assert "1 email waits" in line and "effect=" in line and "hint=" in line


def check_none_late(box, admin):
    wait_for("the overview to be calm", lambda: "queued" not in needs(admin))
    wait_until_good(box, admin)
    assert metric(admin, 'postern_part_up{part="outbox"}') == 1
    wait_for("the log to tell of its end", lambda: events(box, "service_fault_over"))


@pytest.mark.submission("smtp")
def test_an_email_that_is_not_in_the_outbox(own_box):
    """Nothing submits it again; it is reported as early as one in the outbox."""
    box = own_box("--set", "submission.probe_interval=1s", "--set", "submission.timeout=1s",
                  "--set", "submission.record_wait=500ms")
    admin = operator(box)
    wait_until_good(box, admin)
    box.stop("milter")
    box.httpd().send({"from": "hello@example.com", "to": "ann@dst.test", "text": "x"})
    wait_for("it to be put off", lambda: box.query("SELECT min(due_us) FROM outbox") not in ("", "0"))
    box.stop("httpd")
    box.query("DELETE FROM outbox")
    for part in ("milter", "httpd"):
        box.start(part)
    admin = operator(box)
    wait_until_good(box, admin)
    check_late(box, admin, LATER)
    box.query("DELETE FROM email")
    check_none_late(box, admin)


@pytest.mark.submission("smtp")
def test_paused_emails_are_not_late(own_box):
    box = own_box("--set", "submission.probe_interval=1s")
    admin = operator(box)
    wait_until_good(box, admin)
    box.cli("outbox", "pause", "--domain", "example.com")
    box.httpd().send({"from": "hello@example.com", "to": "ann@dst.test", "text": "x"})
    box.query(LATER)
    probes = int(box.query("SELECT count(*) FROM probe"))
    wait_for("two probes", lambda: int(box.query("SELECT count(*) FROM probe")) >= probes + 2)
    assert readyz(box).status_code == 200 and set(needs(admin)) == {"paused"}


@pytest.mark.submission("smtp")
def test_a_full_outbox(own_box):
    """If one company has used its share, load balancers are not told. If all of it is
    used, they are."""
    box = own_box("--set", "submission.probe_interval=1s", "--set", "outbox.max_bytes=1M")
    admin = operator(box)
    wait_until_good(box, admin)

    def fill(company):
        domain = box.domain(company)
        box.cli("outbox", "pause", "--company", company)
        client = box.httpd(box.new_key(company)["token"])
        email = {"from": f"a@{domain}", "to": "a@dst.test", "text": "x" * 8000}
        wait_for("no more room", lambda: client.post(email).status_code == 503)

    def told(code, level, words):
        wait_for("/readyz to tell", lambda: words in readyz(box).text)
        assert readyz(box).status_code == 503
        need = wait_for("the overview to tell", lambda: needs(admin).get(code))
        assert need["level"] == level
        assert "answered with 503" in need["text"] and "What to do: " in need["text"]
        assert metric(admin, 'postern_part_up{part="outbox"}') == 0
        line = events(box, "service_fault ")[-1]
        assert "effect=" in line and "hint=" in line

    companies = [box.company() for _ in range(6)]
    fill(companies[0])
    told("outbox_crowded", "warning", "a company has no more room in the outbox")
    assert api_status(box) == 200
    for company in companies[1:]:
        fill(company)
    told("outbox_full", "problem", "the outbox is full")
    assert api_status(box) == 503
    for company in companies:
        box.cli("outbox", "resume", "--company", company)
    wait_for("load balancers to be told", lambda: api_status(box) == 200)
    wait_until_good(box, admin)
    assert metric(admin, 'postern_part_up{part="outbox"}') == 1


@pytest.mark.submission("smtp")
def test_a_second_milter(own_box):
    """It leaves the first one alone; a socket that is left by kill -9 is no
    obstacle."""
    box = own_box("--set", "submission.probe_interval=1s")
    admin = operator(box)
    wait_until_good(box, admin)
    program = Path(box.env["POSTERN_CLI"]).with_name("postern-milter")
    pid = box.pid("milter")
    done = subprocess.run([program, "-c", box.config], capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode != 0 and "milter.sock" in done.stderr, done.stderr
    assert box.pid("milter") == pid
    box.httpd().send({"from": "hello@example.com", "to": "a@dst.test", "text": "x"})
    assert box.sink.find(to="a@dst.test")
    assert readyz(box).status_code == 200 and not events(box, "probe_failed")
    box.kill("milter", signal.SIGKILL)
    wait_for("another milter", lambda: box.pid("milter") not in (None, pid))
    wait_until_good(box, admin)
    assert not needs(admin)


# main.cf of systems that are as they should be.
HEALTHY = {
    "another milter behind": [
        "{list}={ours}, {other}", "relayhost=[127.0.0.1]:1",
        "transport_maps={map}, inline:{{other.test=smtp:[127.0.0.1]:1}}"],
    "another milter before": [
        "{list}={other}, {ours}", "header_checks=regexp:{{ {{/^X-Spam:/ WARN}} }}",
        "recipient_delimiter=+", "smtpd_recipient_restrictions=permit_mynetworks, reject"],
}


def ours_of(box, name):
    return subprocess.run(["postconf", "-c", box.dir / "postfix", "-h", name], check=True,
                          capture_output=True, text=True, timeout=60).stdout.strip()


@contextmanager
def milter_without_root(box):
    """Runs the milter as its package does, as a user of its own."""
    parts = [box.dir / "queue/postern", box.dir / "store", *(box.dir / "store").iterdir()]
    box.stop("milter")
    for part in parts:
        shutil.chown(part, "nobody")
    program = Path(box.env["POSTERN_CLI"]).with_name("postern-milter")
    with (box.dir / "log/milter.log").open("a") as log:
        milter = subprocess.Popen(
            ["setpriv", "--reuid=nobody", "--regid=postfix", "--clear-groups", program, "-c",
             box.config], stdout=log, stderr=log)
    try:
        yield
    finally:
        milter.terminate()
        milter.wait(180)
        for part in parts:
            if part.exists():
                shutil.chown(part, "root")
        box.start("milter")


@pytest.mark.submission("smtp")
@pytest.mark.parametrize("kind", HEALTHY)
def test_healthy_system_of_a_kind_shows_nothing(shared, admin, kind):
    """Neither httpd nor check reports anything."""
    with OtherMilter() as other, milter_without_root(shared):
        wait_until_good(shared, admin)
        settings = [setting.format(list=LIST, ours=ours_of(shared, LIST), other=other.name,
                                   map=ours_of(shared, "transport_maps"))
                    for setting in HEALTHY[kind]]
        with main_cf(shared, *settings):
            seen = "SELECT count(*) FROM probe WHERE seen_us > 0"
            # A process of Postfix that has the settings of before may be left.
            before = int(shared.query(seen))
            wait_for("a probe", lambda: int(shared.query(seen)) >= before + 2)
            wait_until_good(shared, admin)
            failed = len(events(shared, "probe_failed"))
            wait_for("three probes", lambda: int(shared.query(seen)) >= before + 5)
            assert readyz(shared).status_code == 200 and api_status(shared) == 200
            assert metric(admin, "postern_rules_in_force") == 1
            hints = ["milter_order"] if kind == "another milter before" else []
            assert list(needs(admin)) == hints
            assert all(need["level"] == "hint" for need in needs(admin).values())
            assert len(events(shared, "probe_failed")) == failed
            done = subprocess.run(
                [TREE / "postfix-conf/check", "-c", shared.dir / "postfix", "-p", shared.config],
                capture_output=True, text=True, timeout=200, check=False)
            assert done.returncode == 0, done.stdout
            assert "WRONG" not in done.stdout and "good:    the milter is asked" in done.stdout
