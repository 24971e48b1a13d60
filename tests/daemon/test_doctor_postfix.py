"""postern doctor finds what is broken in Postfix's settings and processes, row by row."""

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from harness import wait_for
from harness.milter import REJECT, OtherMilter
from test_doctor import OF_SANDBOX, a_store, box, copy_of, doctor, fault, faults, run  # noqa: F401 (a sandbox of this file)
from test_held_waiting import queue, send
from test_postfix_conf_probe import Changed
from test_setup import CLI, script

pytestmark = pytest.mark.submission("sendmail")


@pytest.fixture
def changed(box):
    changed = Changed(box)
    yield changed
    changed.undo()


def mend_of(row, folder):
    """The command, as it would be for the Postfix of this host: each that concerns another
    instance names its folder."""
    setup = re.fullmatch(r"postern -c \S+ setup --postfix (\S+)", row["mend"] or "")
    if setup:
        assert setup[1] == str(folder)
        return "postern setup"
    for name in re.findall(r"(?<!/)\bpost(?:fix|conf) (?!-c )", row["mend"] or ""):
        raise AssertionError(f"{name}names no instance: {row['mend']}")
    return re.sub(rf"\b(postfix|postconf) -c {re.escape(str(folder))} ", r"\1 ", row["mend"] or "")


# What main.cf says, the check that finds it, a part of its text, and what mends it.
SETTINGS = [
    ("smtpd_milters =", "smtpd_milters", "lacks unix:", "postern setup"),
    ("non_smtpd_milters =", "non_smtpd_milters", "lacks unix:", "postern setup"),
    ("smtpd_milters = { unix:postern/milter.sock, default_action=accept }", "default_action",
     "default_action is accept", "postern setup"),
    ("smtpd_milters = unix:postern/milter.sock, unix:postern/milter.sock", "smtpd_milters",
     "more than once", "postern setup"),
    ("transport_maps =", "tickets", "transport_maps lacks", "postern setup"),
    ("milter_protocol = 4", "milter_protocol", "is 4", "postconf -X milter_protocol"),
    ("receive_override_options = no_milters", "no_milters", "no_milters", None),
    ("smtpd_milter_maps = cidr:{ {127.0.0.0/8 DISABLE} }", "milter_maps", "127.0.0.1", None),
    ("header_checks = regexp:{ {/^X-Postern/ REJECT no} }", "header_checks",
     "has REJECT for the field X-Postern-Email-Id", None),
    ("canonical_maps = regexp:{ {/./ all@x.test} }", "tickets", "canonical_maps takes tickets",
     "postern setup"),
    ("internal_mail_filter_classes = bounce", "internal_mail", "bounce",
     "postconf -X internal_mail_filter_classes"),
    ("authorized_submit_users = nobody", "submit_users", "lacks the user", None),
    ("message_size_limit = 1000000", "message_size", "message_size_limit is 1000000",
     "postconf -e message_size_limit="),
    ("mynetworks = 0.0.0.0/0", "networks", "0.0.0.0/0", None),
    ("mynetworks = 127.0.0.0/8 198.51.0.0/16", "networks", "198.51.0.0/16", None),
    ("smtpd_relay_restrictions = permit", "relay", "lets strangers", None),
    ("maximal_queue_lifetime = 1h", "lifetime", "is 1h", "postconf -X maximal_queue_lifetime"),
    ("smtp_generic_maps = inline:{hello@example.com=x@place.test}", "signed_fields",
     "changes hello@example.com into x@place.test", None),
    ("smtp_header_checks = regexp:{ {/^From:.*example/ REPLACE From: x@place.test} }",
     "signed_fields", "has REPLACE", None),
    ("queue_minfree = 9000000000000000", "minfree", "Postfix wants", None),
    ("content_filter = smtp:[127.0.0.1]:1", "no_milters", "content_filter", None),
    ("masquerade_domains = example.com", "senders", "masquerade_domains: if it changes", None),
    ("non_smtpd_milters = { unix:postern/milter.sock, default_action=tempfail },"
     " { inet:127.0.0.1:8891, default_action=accept }", "signer",
     "has default_action=accept: while it is not running", None),
    ("smtpd_milters = { inet:127.0.0.1:8891, default_action=accept },"
     " { unix:postern/milter.sock, default_action=tempfail }", "smtpd_milters",
     "another milter comes first", None),
    ("maximal_queue_lifetime = 0", "tickets", "maximal_queue_lifetime is 0", "postern setup"),
    ("header_size_limit = 50000", "header_limits", "header_size_limit is 50000",
     "postconf -e header_size_limit=60000"),
]


def side_by_side(rows):
    """Groups the rows so that each group has a parameter and a check only once. A run
    of doctor takes a second."""
    groups = []
    for row in rows:
        taken = {row[0].partition("=")[0].strip(), row[1]}
        for names, group in groups:
            if not names & taken:
                break
        else:
            names, group = set(), []
            groups.append((names, group))
        names |= taken
        group.append(row)
    return [group for _, group in groups]


@pytest.mark.parametrize("rows", side_by_side(SETTINGS),
                         ids=lambda rows: "-".join(row[1] for row in rows))
def test_settings_of_postfix(box, changed, rows):
    """Each change is found, and the printed commands for postconf undo it."""
    changed.main_cf(*(row[0] for row in rows))
    found = doctor(box)
    mended = []
    for one in rows:
        _, check, text, mend = one
        row = fault(found, check, text)
        assert mend_of(row, box.dir / "postfix").startswith(mend or ""), row
        assert mend is None or row["mend"]
        assert not row["safe"]
        if row["mend"] and row["mend"].startswith("postconf "):
            subprocess.run(row["mend"].split(), check=True, timeout=60)
            mended.append(one)
    found = doctor(box) if mended else []
    assert not [row for _, check, text, _ in mended for row in faults(found, check)
                if text in row["text"]]


def test_the_transport_by_which_mail_waits(box, tmp_path):
    """master.cf lacks retry(8), or a service does not read the table that leads there."""
    folder = settings_of(box, tmp_path)
    master_cf = folder / "master.cf"
    kept = re.sub(r"(?m)^retry\s.*\n", "", master_cf.read_text())
    master_cf.write_text(f"{kept}2526 inet n - y - - smtpd\n  -o transport_maps=\n")
    age(folder)
    found = doctor(box, "--postfix", folder)
    fault(found, "tickets", "master.cf: 2526/inet has its own transport_maps")
    row = fault(found, "retry", "master.cf lacks the service retry")
    command, _, reload = row["mend"].partition(" && ")
    assert reload == f"postfix -c {folder} reload" and not row["safe"]
    subprocess.run(shlex.split(command), check=True, timeout=60)
    age(folder)
    assert not faults(doctor(box, "--postfix", folder), "retry")


def test_a_service_with_milters_of_its_own(box, tmp_path):
    """And the command that is named for it adds the milter."""
    folder = settings_of(box, tmp_path)
    master_cf = folder / "master.cf"
    kept = re.sub(r"(?m)^cleanup\s.*", r"\g<0>\n  -o non_smtpd_milters=", master_cf.read_text())
    master_cf.write_text(f"{kept}2526 inet n - y - - smtpd\n  -o smtpd_milters=\n"
                         "2527 inet n - y - - smtpd\n  -o smtpd_milters=inet:localhost:1\n")
    age(folder)
    said = [row["text"] for row in faults(doctor(box, "--postfix", folder), "services")]
    assert sum("cleanup/unix has its own non_smtpd_milters" in text for text in said) == 1
    (text,) = [text for text in said if "2526/inet has its own smtpd_milters" in text]
    command = re.search(r"postern (setup .*) adds it", text)[1].split()
    config = tmp_path / "postern.conf"
    config.write_text(Path(box.config).read_text().replace(f"{box.dir}/postfix", str(folder)))
    done = subprocess.run(
        [CLI, "-c", config, *command, "--dry-run", "--postfix", folder],
        capture_output=True, text=True, timeout=300, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    # One with milters of its own needs no option.
    assert len(re.findall(r"(?m)^\+  -o smtpd_milters=.*postern/milter.sock", done.stdout)) == 2


def test_lists_that_a_service_does_not_read(box, tmp_path):
    """smtpd(8) reads one list, cleanup(8) the other, and with no_milters neither counts."""
    folder = settings_of(box, tmp_path)
    with (folder / "master.cf").open("a") as file:
        file.write("2526 inet n - y - - smtpd\n  -o non_smtpd_milters=\n"
                   "2527 inet n - y - - smtpd\n  -o smtpd_milters=\n"
                   "  -o receive_override_options=no_milters\n")
    age(folder)
    found = doctor(box, "--postfix", folder)
    assert not faults(found, "services")
    assert fault(found, "no_milters", "2527/inet has no_milters")


def test_postfix_was_not_reloaded(box, changed):
    main_cf = box.dir / "postfix/main.cf"
    wait_for("a process that is older", lambda: time.time() > main_cf.stat().st_mtime + 3)
    now = time.time() + 5
    os.utime(main_cf, (now, now))
    row = fault(doctor(box), "reload", "was changed after")
    assert mend_of(row, box.dir / "postfix") == "postfix reload"


def test_a_file_that_is_dated_back(box, changed):
    """As the scripts of postfix-conf do, so that Postfix need not wait for its files to age. Changed
    before Postfix was started by the one date, after it by the other: the later one counts."""
    box.reload_postfix()
    master = (box.dir / "queue/pid/master.pid").read_text().strip()

    def ages():
        said = subprocess.run(["ps", "-o", "comm=,etimes=", "--ppid", master],
                              capture_output=True, text=True).stdout.split()
        return [int(age) for name, age in zip(said[::2], said[1::2]) if name in ("pickup", "qmgr")]

    wait_for("processes that are older than the change", lambda: len(ages()) == 2 and min(ages()) >= 3)
    main_cf = box.dir / "postfix/main.cf"
    os.utime(main_cf, (0, time.time() - 3))
    assert fault(doctor(box), "reload", f"{main_cf} was changed after")


def test_a_signer_that_mail_passes_by(box, changed):
    with OtherMilter() as other:
        name = other.name
        ours = "unix:postern/milter.sock"
        signer = f"{{ {name}, default_action=accept }}"
        # By its name it is one.
        changed.main_cf(f"smtpd_milters = {ours}, inet:localhost:8891",
                        f"non_smtpd_milters = {ours}, {signer}")
        found = doctor(box)
    assert fault(found, "signer", "non_smtpd_milters lacks it")


def test_another_milter_that_is_away(box, tmp_path):
    with OtherMilter() as other:
        folder = settings_of(box, tmp_path, f"non_smtpd_milters = {OURS}, {other.name}")
        assert not faults(doctor(box, "--postfix", folder), "other_milters")
    row = fault(doctor(box, "--postfix", folder), "other_milters",
                f"another milter, {other.name}, connection refused: all mail waits for it")
    assert row["text"].endswith("start it, or remove it from main.cf")


def test_a_socket_out_of_the_chroot(box, tmp_path):
    folder = settings_of(box, tmp_path)
    with copy_of(box, tmp_path, milter__socket=tmp_path / "milter.sock") as config:
        row = fault(doctor(box, "--postfix", folder, config=config), "reach",
                    "and these services run in a chroot")
        assert "set the services' chroot to n in master.cf" in row["text"]
        subprocess.run(["postconf", "-c", folder, "-F", "*/*/chroot=n"], check=True, timeout=60)
        age(folder)
        assert not faults(doctor(box, "--postfix", folder, config=config), "reach")


@pytest.mark.parametrize("method", ["sendmail", "smtp"])
def test_a_milter_behind_ours_refuses_mail(own_box, email, method):
    """postern-events learns of it from the log, postern-httpd from the reply."""
    box = own_box("--submission", method, "--set", "submission.probe_interval=0")
    with OtherMilter(REJECT) as other:
        for name in ("smtpd_milters", "non_smtpd_milters"):
            box.postconf(f"{name}={box.main_cf(name)}, {other.name}")
        box.reload_postfix()
        if method == "smtp":
            answer = box.httpd().post(email)
            assert answer.status_code == 422, answer.text
        else:
            box.httpd().send(email)
        wait_for("the note", lambda: box.query("SELECT count(*) FROM later_refusal") == "1" or None)
    row = fault(doctor(box), "refused", "another milter: 1, the last one with: ")
    assert "5.7.1" in row["text"], row


def test_another_instance(box, changed, tmp_path):
    (tmp_path / "main.cf").write_text("compatibility_level = 3.6\n")
    (tmp_path / "master.cf").write_text("")
    changed.main_cf(f"multi_instance_directories = {tmp_path}")
    assert fault(doctor(box), "instances", str(tmp_path))


def test_postfix_is_stopped(box):
    box.stop("postfix")
    try:
        found = doctor(box)
    finally:
        box.start("postfix")
    row = fault(found, "postfix", "not running")
    assert mend_of(row, box.dir / "postfix") == "postfix start"
    assert not [row for row in found if row["check"] == "reload"]


def test_the_chroot_has_another_resolver(box):
    folder = box.dir / "queue/etc"
    existed = folder.exists()
    folder.mkdir(exist_ok=True)
    copy = folder / "resolv.conf"
    before = copy.read_bytes() if copy.exists() else None
    copy.write_text("nameserver 192.0.2.1\n")
    try:
        assert fault(doctor(box), "resolver", "differs")
    finally:
        if before is None:
            copy.unlink()
        else:
            copy.write_bytes(before)
        if not existed:
            folder.rmdir()


def settings_of(box, tmp_path, *lines):
    """Returns a copy of Postfix's settings with these lines, which no process uses."""
    folder = tmp_path / "postfix"
    shutil.copytree(box.dir / "postfix", folder)
    main_cf = folder / "main.cf"
    main_cf.write_text(Changed.with_lines(main_cf.read_text(), lines))
    age(folder)
    return folder


def age(folder):
    """Makes Postfix look as if it had been reloaded since."""
    for path in (folder / "main.cf", folder / "master.cf"):
        os.utime(path, (0, 0))


def test_a_socket_without_a_process(box):
    """A killed milter leaves its socket."""
    path = box.dir / "queue/postern/milter.sock"
    box.stop("milter")
    try:
        with socket.socket(socket.AF_UNIX) as left:
            path.unlink(missing_ok=True)
            left.bind(str(path))
            path.chmod(0o666)
        found = doctor(box)
        assert fault(found, "milter", "Connection refused")
        assert fault(found, "health", "postern-httpd is not ready: postern-milter does not answer")
    finally:
        path.unlink()
        box.start("milter")


def test_a_socket_that_postfix_may_not_open(box):
    path = box.dir / "queue/postern/milter.sock"
    mode = path.stat().st_mode & 0o777
    path.chmod(0o600)
    try:
        assert fault(doctor(box), "milter", "Permission denied (as the user postfix)")
    finally:
        path.chmod(mode)


def test_the_modes_of_the_maildrop(box):
    """The modes that `postfix set-permissions` sets, which was not run for this
    Postfix."""
    folder = box.dir / "queue/maildrop"
    before = folder.stat().st_mode & 0o7777
    folder.chmod(0o700)
    try:
        row = fault(doctor(box), "maildrop", "maildrop is ")
        assert "with mode 700, and not " in row["text"]
        assert mend_of(row, box.dir / "postfix") == "postfix set-permissions"
    finally:
        folder.chmod(before)


def test_submission_by_smtp_without_its_service(box, changed, tmp_path):
    master_cf = changed.files[1]
    text = master_cf.read_text()
    master_cf.write_text(re.sub(r"(?m)^postern +unix.*\n([ \t].*\n)*", "", text))
    changed.reload()
    with copy_of(box, tmp_path, submission__method="smtp") as config:
        row = fault(doctor(box, config=config), "submission", "master.cf has no service postern")
    assert "run postern setup --submission smtp" in row["text"]


def test_the_service_lacks_an_option(box, changed):
    option = "smtpd_client_restrictions="
    if "syslog_name=postfix/postern" not in changed.before[1]:
        script(box, "enable", "--submission", "smtp")
    master_cf = changed.files[1]
    text = master_cf.read_text()
    assert f"  -o {option}\n" in text
    master_cf.write_text(text.replace(f"  -o {option}\n", ""))
    changed.reload()
    assert fault(doctor(box), "submission", f"postern lacks -o {option}")


def test_a_log_that_was_removed(box):
    """Until somebody makes the file again, postern-events reads a file to which nobody
    writes."""
    log = box.dir / "log/postfix.log"
    kept = log.with_name("kept")
    box.kill("events", signal.SIGSTOP)
    kept.hardlink_to(log)
    log.unlink()
    try:
        assert fault(doctor(box), "log", "is reading a log file that was deleted")
    finally:
        kept.rename(log)
        box.kill("events", signal.SIGCONT)
        box.restart("events")


def test_a_log_that_is_a_pipe(box, tmp_path):
    """As /dev/stdout of a container: nobody waits for its end, and it is said that none can read it."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    folder = settings_of(box, tmp_path, f"maillog_file = {pipe}")
    with copy_of(box, tmp_path, events__log_file=pipe) as config:
        assert fault(doctor(box, "--postfix", folder, config=config), "events",
                     f"{pipe}: this is no regular file")


def test_daemons_in_the_chroot_without_a_log(box, tmp_path):
    """syslog has no socket in the chroot."""
    folder = settings_of(box, tmp_path, "maillog_file =")
    copy = box.dir / "queue/etc/resolv.conf"
    existed = copy.exists()
    copy.parent.mkdir(exist_ok=True)
    if not existed:
        shutil.copy("/etc/resolv.conf", copy)
    try:
        row = fault(doctor(box, "--postfix", folder), "chroot_log", "dev/log is missing")
        assert row["mend"] == "systemctl restart postfix"
    finally:
        if not existed:
            copy.unlink()


def test_emails_that_wait_to_be_taken_to_the_milter(own_box):
    box = own_box("--set", "submission.record_wait=0")
    send(box, 1)
    # They wait for another reason, too.
    master_cf = box.dir / "postfix/master.cf"
    master_cf.write_text(re.sub(r"(?m)^retry\s.*\n", "", master_cf.read_text()))
    box.restart("postfix")

    def is_deferred_again():
        if any("mail transport unavailable" in str(item) for item in queue(box)):
            return True
        box.flush()
        return False

    wait_for("the other reason", is_deferred_again)
    box.start("httpd")
    # A flush may have it on its way for a moment.
    [row] = wait_for("the finding", lambda: [
        row for row in faults(doctor(box), "staged") if "passed the milter: 1" in row["text"]])
    assert row["mend"] == "postern held release --waiting"
    box.cli(*row["mend"].split()[1:])
    wait_for("it to go out", lambda: box.sink.all())
    assert not [row for row in faults(doctor(box), "staged") if "not passed" in row["text"]]


def test_a_port_25_that_does_not_ask_the_milter(box, changed, tmp_path):
    """main.cf is right, but a session shows that it is not in effect."""
    folder = settings_of(box, tmp_path)
    found = doctor(box, "--postfix", folder)
    assert not faults(found, "probe")
    assert [row for row in found if "asked about mail by SMTP to 127.0.0.1" in row["text"]]
    changed.main_cf("smtpd_milters =")
    box.restart("postfix")
    assert fault(doctor(box, "--postfix", folder), "probe",
                 "Postfix did not ask the milter: main.cf names it")


@pytest.mark.parametrize("services, good", [
    ({"127.0.0.1:10026": "-o receive_override_options=no_milters",
      "127.0.0.1:10028": "-o smtpd_milters="}, True),
    ({"127.0.0.1:25": "-o receive_override_options=no_milters"}, False),
    ({"10026": "-o receive_override_options=no_milters"}, False),
])
def test_a_service_without_milters_beside_a_content_filter(box, tmp_path, services, good):
    """Where the filter returns mail, milters would judge it twice; where others submit,
    nobody has judged it."""
    folder = settings_of(box, tmp_path, "content_filter = smtp:[127.0.0.1]:10025")
    with (folder / "master.cf").open("a") as file:
        file.writelines(f"{name} inet n - y - - smtpd\n  {options}\n"
                        for name, options in services.items())
    found = [row for row in doctor(box, "--postfix", folder)
             if row["check"] in ("no_milters", "services")]
    for name, options in services.items():
        about = [row["result"] for row in found if f"{name}/inet" in row["text"]]
        assert about == (["good"] if good and "no_milters" in options else [] if good else
                         ["warning"])
    assert good == (not [row for row in found if "content_filter:" in row["text"]])


@contextmanager
def another_store(box, tmp_path):
    """Settings for a store that no daemon has."""
    if not box.on_server:
        with a_store(box, tmp_path)[1] as config:
            yield config
        return
    box.query("CREATE DATABASE another")
    url = f"postgresql:///another?host={box.server}&user=postern"
    with copy_of(box, tmp_path, store__url=url) as config:
        subprocess.run([box.env["POSTERN_CLI"], "-c", config, "db", "migrate"], check=True,
                       capture_output=True, timeout=60)
        yield config


def test_before_the_setup(box, tmp_path):
    """One line says so, and only what makes sense then is checked."""
    folder = settings_of(box, tmp_path, "smtpd_milters =", "non_smtpd_milters =",
                         "transport_maps =")
    with another_store(box, tmp_path) as config:
        found = doctor(box, "--postfix", folder, config=config)
        quiet = run(box, "--postfix", folder, "--quiet", config=config)
    row = fault(found, "setup", "Postern is not set up yet")
    assert mend_of(row, folder) == "postern setup" and not row["safe"]
    assert {row["check"] for row in found if row["result"] in ("wrong", "warning")} <= {
        "setup"} | OF_SANDBOX
    of_file = set() if box.on_server else {"owner"}
    assert {"postfix", "integrity", "relay", "listen"} | of_file <= {
        row["check"] for row in found if row["result"] == "good"}
    assert quiet.returncode == 2 and f"To fix it: {row['mend']}" in quiet.stdout


def test_a_service_whose_lines_nobody_knows(box, tmp_path):
    folder = settings_of(box, tmp_path)
    with (folder / "master.cf").open("a") as file:
        file.write("slow unix - - y - - smtp\n  -o syslog_name=slow\n"
                   "fast unix - - y - - smtp\n  -o syslog_name=postfix/$service_name\n"
                   "2525 inet n - y - - smtpd\n  -o syslog_name=submission\n")
    found = faults(doctor(box, "--postfix", folder), "log_names")
    assert [row["text"].partition(", so")[0] for row in found] == [
        "master.cf: slow has -o syslog_name=slow"]


OURS = "unix:postern/milter.sock"
# Lines of main.cf, and of master.cf, of systems that are as they should be.
HEALTHY = {
    "a content filter": (
        ["content_filter = smtp:[127.0.0.1]:10025"],
        "127.0.0.1:10026 inet n - y - - smtpd\n  -o content_filter= -o smtpd_milters=\n"
        "  -o receive_override_options=no_milters,no_header_body_checks\n"),
    # A relay with logins, virtual domains, tables that leave tickets alone, a signer behind ours,
    # and a filter for one service.
    "all else": (
        ["relayhost = [relay.test]:587", "smtp_sasl_auth_enable = yes",
         "virtual_alias_domains = virtual.test", "virtual_alias_maps = inline:{ {a@virtual.test=b@dst.test} }",
         "relay_domains = inner.test", "smtpd_recipient_restrictions = permit_mynetworks, reject_unauth_destination",
         "header_checks = regexp:{ {/^X-Spam/ IGNORE} }", "maximal_queue_lifetime = 2d",
         "sender_bcc_maps = inline:{ {a@other.test=b@dst.test} }",
         "smtp_generic_maps = inline:{ {root@other.test=a@other.test} }",
         f"smtpd_milters = {OURS}, SIGNER", f"non_smtpd_milters = {OURS}, SIGNER"],
        "submission inet n - y - - smtpd\n  -o smtpd_tls_security_level=encrypt\n"
        "  -o smtpd_sasl_auth_enable=yes\n  -o smtpd_relay_restrictions=permit_sasl_authenticated,reject\n"
        "127.0.0.1:10027 inet n - y - - smtpd\n  -o receive_override_options=no_milters\n"
        "smtps inet n - y - - smtpd\n  -o smtpd_tls_wrappermode=yes\n"
        "  -o content_filter=smtp:[127.0.0.1]:10025\n"),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_nothing_is_found_on(box, tmp_path, name):
    lines, services = HEALTHY[name]
    with OtherMilter() as other:
        signer = f"{{ {other.name}, default_action=tempfail }}"
        folder = settings_of(box, tmp_path, *(line.replace("SIGNER", signer) for line in lines))
        with (folder / "master.cf").open("a") as file:
            file.write(services)
        age(folder)
        found = doctor(box, "--postfix", folder)
    assert [row for row in found if row["result"] in ("warning", "wrong")
            and row["check"] not in OF_SANDBOX] == []
