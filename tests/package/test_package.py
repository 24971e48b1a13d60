"""The Debian package, in a Debian of its own: installed beside a Postfix that is set
up by an admin, used as README.md and doc/INSTALL.md say, upgraded with mail in
flight, removed, installed again, purged. One story, told in order.

usage: make test-package
"""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess

import pytest
from installed import (CERTIFICATE, PACKAGES, POSTFIX_FILES, SINK, SUITE, UNITS, commands,
                       delivered, follow, put_files, remains, send, start_machine, states)
from machine import TOP, wait_for

BUILDPACKAGE = TOP / "tests/package/buildpackage"
CONF = "/etc/postern/postern.conf"


def only(paths):
    (path,) = paths
    return path


def build_next(folder):
    """The version after this one: another migration, another default in postern.conf.
    Made of a copy of the tree that `make deb` leaves, with its objects. The version of
    the schema that this one has."""
    tree = folder / "tree"
    shutil.copytree(PACKAGES / "postern", tree, symlinks=True)
    version = max(int(path.name[:4]) for path in tree.glob("schema/*.sql"))
    for engine in ("", "postgresql/"):
        (tree / f"schema/{engine}{version + 1:04}_next.sql").write_text(
            "CREATE TABLE next (name text CHECK (name <> 'In the way'));\n"
            "INSERT INTO next SELECT name FROM company;\n")
    with (tree / "tools/install/postern.conf").open("a") as file:
        file.write("; The next version has another file.\n")
    changelog = tree / "debian/changelog"
    text = changelog.read_text()
    changelog.write_text(re.sub(r"\((.*?)\)", r"(\1+next)", text, count=1) + "\n" + text)
    (tree / "debian/debhelper-build-stamp").unlink()
    # Its debug symbols nobody asks for.
    (tree / "debian/files").unlink()
    subprocess.run([BUILDPACKAGE, SUITE, tree, "dpkg-buildpackage", "-b", "-nc", "-us", "-uc",
                    "-j2"], check=True, capture_output=True, timeout=600,
                   env={**os.environ, "DEB_BUILD_OPTIONS": "noautodbgsym"})  # fmt: skip
    shutil.rmtree(tree)
    return version


@pytest.fixture(scope="session")
def packages(tmp_path_factory):
    """The folder of the packages, as they are installed: this version's and next/."""
    folder = tmp_path_factory.mktemp("packages")
    for path in PACKAGES.glob("*.deb"):
        shutil.copy(path, folder)
    (folder / "next").mkdir()
    return folder


@pytest.fixture(scope="session")
def machine(packages):
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    machine = start_machine("test", f"--bind-ro={packages}:/root/postern/build/deb")
    yield machine
    machine.stop()


def passes_local_mail(machine, subject):
    """A mail by sendmail(1), with which Postern has nothing to do, arrives."""
    machine.run(f"printf 'Subject: {subject}\\n\\n.\\n' | sendmail -f root@vm you@example.net")
    wait_for(f"{subject} to arrive", lambda: delivered(machine, f"Subject: {subject}"))


def not_set_up(machine):
    """The doctor says that, and nothing else about Postern that is wrong."""
    done = machine.run("postern doctor", check=False)
    assert done.returncode == 2 and done.stdout.count("WRONG:") == 1, done.stdout
    assert "WRONG:   Postern is not set up yet\n" in done.stdout


def test_lintian_has_nothing_to_say():
    changes = only(PACKAGES.glob("postern_*.changes"))
    done = subprocess.run([BUILDPACKAGE, SUITE, PACKAGES / "postern", "lintian", "--allow-root",
                           "--display-info", "--fail-on", "error,warning,info",
                           f"../{changes.name}"], capture_output=True, text=True)  # fmt: skip
    # Machine code, read as text, has words such as IiF.
    said = [line for line in done.stdout.splitlines()
            if not re.search(r"spelling-error-in-binary \w*[a-z][A-Z]", line)]  # fmt: skip
    assert done.returncode == (2 if done.stdout else 0) and not said, done.stdout + done.stderr


def test_the_debug_symbols_have_a_package():
    symbols = only(PACKAGES.glob("postern-dbgsym_*.deb"))
    listed = subprocess.run(["dpkg-deb", "-c", symbols], capture_output=True, text=True, check=True)
    assert listed.stdout.count("/usr/lib/debug/.build-id/") >= 4


def test_the_versions_are_one():
    said = subprocess.run(["dpkg-parsechangelog", "-SVersion"], cwd=TOP, capture_output=True,
                          text=True, check=True).stdout.strip()  # fmt: skip
    assert f'POSTERN_VERSION "{said}"' in (TOP / "core/base/version.h").read_text()
    assert f"\nVersion:        {said}\n" in (TOP / "rpm/postern.spec").read_text()


def test_what_is_staged_for_other_packages(tmp_path):
    """By `make install DESTDIR=`: what the Debian package has, where it is not Debian's own."""
    subprocess.run(["tools/install/install", "build", "/usr", tmp_path], cwd=PACKAGES / "postern",
                   check=True, capture_output=True)  # fmt: skip
    listed = subprocess.run(["dpkg-deb", "-c", only(PACKAGES.glob("postern_*.deb"))], check=True,
                            capture_output=True, text=True).stdout  # fmt: skip
    ours = {re.sub(r"^\.(/lib/systemd)", r"./usr\1", line.split()[5]).removesuffix(".gz")
            for line in listed.splitlines() if line.startswith("-")}  # fmt: skip
    staged = {f"./{path.relative_to(tmp_path)}" for path in tmp_path.rglob("*") if path.is_file()}
    assert staged - ours == {"./usr/share/postern/postfix-conf/README.md"}
    assert all("/usr/share/doc/" in path or "lintian" in path for path in ours - staged)


def test_rpmlint_accepts_the_spec():
    done = subprocess.run(["rpmlint", "-r", TOP / "rpm/postern.rpmlintrc",
                           TOP / "rpm/postern.spec"], capture_output=True, text=True)
    assert "0 errors, 0 warnings" in done.stdout, done.stdout


def test_installing_changes_nothing_in_postfix(machine):
    follow(machine, "doc/INSTALL.md", "The Debian package")
    assert machine.bytes(*POSTFIX_FILES) == machine.original
    assert states(machine) == ["inactive"] * len(UNITS)
    assert states(machine, "is-enabled") == ["disabled"] * len(UNITS)
    passes_local_mail(machine, "installed")
    not_set_up(machine)
    assert set(machine.said("id -Gn postern").split()) == {
        "postern", "postdrop", "adm", "systemd-journal"}  # fmt: skip
    assert machine.said("stat -c '%U:%G %a' /var/lib/postern /var/lib/postern/postern.db "
                        "/var/spool/postfix/postern").splitlines() == [
        "postern:postern 750", "postern:postern 640", "postern:postfix 2750"]  # fmt: skip


def test_the_commands_of_the_readme(machine):
    said = follow(machine, "README.md", "Install it beside Postfix")
    assert re.search(r"http://127\.0\.0\.1:8588/\S+", said), said
    assert "the milter is asked about mail by sendmail(1)" in said
    assert "Yes: delivered to you@example.net." in said and "is not known after" not in said
    email = machine.names["ID"]
    wait_for("the first email", lambda: delivered(machine, "It works."))
    wait_for("its delivery status", lambda: '"last_event": "delivered"' in machine.said(
        f"postern --json email show {email}"))  # fmt: skip
    assert states(machine) == ["active"] * len(UNITS)


@pytest.mark.parametrize("unit", (*UNITS, "postern-auth"))
def test_the_sandbox_is_as_the_unit_says(machine, unit):
    text = (TOP / f"tools/install/{unit}.service").read_text().replace("\n# ", " ")
    claimed = re.search(r"gives it ([0-9.]+) of 10", text)
    said = machine.run("systemd-analyze security --no-pager --offline=yes "
                       f"/lib/systemd/system/{unit}.service", check=False).stdout
    score = re.search(rf"exposure level for {unit}\.service: ([0-9.]+) ", said)
    # Another systemd weighs otherwise.
    assert score[1] == claimed[1] or (
        SUITE != "bookworm" and float(score[1]) <= float(claimed[1])), said
    machine.run(f"systemctl start {unit}")  # postern-auth does not run yet
    status = f"cat /proc/$(systemctl show -P MainPID {unit})/status"
    name = "postern" if unit == "postern-held" else unit
    status = wait_for("its program", lambda: f"Name:\t{name}\n" in machine.said(status)
                      and machine.said(status))
    # That of postern-held: to become another user, and to enter folders.
    bound = "00000000000000c4" if unit == "postern-held" else "0000000000000000"
    assert "NoNewPrivs:\t1" in status and f"CapBnd:\t{bound}" in status


def test_what_root_does_for_the_dashboard(machine):
    """A small process with root's rights, at the request of one that has none."""
    machine.run("postern domain set example.com --policy exclusive")
    for name in ("kept", "gone"):
        machine.run(f"printf 'From: boss@example.com\\nSubject: {name} on hold\\n\\n.\\n' | "
                    "sendmail -f root@vm you@example.net")
    machine.run("postern domain set example.com --policy learn && "
                "postern user add decides --no-password")
    token = json.loads(machine.said("postern --json token create decides --name test"))["token"]

    def ask(path, body=""):
        return json.loads(machine.said(
            f"curl -s -H 'Authorization: Bearer {token}' -H 'Content-Type: application/json' "
            f"{body and '-d ' + shlex.quote(json.dumps(body))} http://127.0.0.1:8588/admin/{path}"))

    def rows():
        return {row["subject"]: row["id"] for row in ask("held")["data"] if row["read_at"]}

    wait_for("their headers", lambda: len(rows()) == 2)
    for decision, name in (("release", "kept"), ("drop", "gone")):
        assert ask("held/decide", {"decision": decision, "messages": [
            {"id": rows()[f"{name} on hold"]}]})["decided"] == 1  # fmt: skip
    wait_for("both decisions", lambda: not ask("held")["data"])
    wait_for("one to arrive", lambda: delivered(machine, "Subject: kept on hold"))
    assert not machine.said("postqueue -j") and not delivered(machine, "Subject: gone on hold")
    without = machine.said("pgrep -u postern -x postern-held")
    assert "CapPrm:\t0000000000000000" in machine.said(f"cat /proc/{without}/status")
    machine.run("postern user remove decides")


def test_undone_to_the_byte_and_set_up_again(machine):
    machine.run("postern setup --undo")
    assert machine.bytes(*POSTFIX_FILES) == machine.original
    assert states(machine) == ["inactive"] * len(UNITS)
    assert states(machine, "is-enabled") == ["disabled"] * len(UNITS)
    assert not machine.holds("ls /var/spool/postfix/postern || pgrep -u postern")
    passes_local_mail(machine, "undone")
    not_set_up(machine)
    machine.run("postern setup --yes")
    assert states(machine) == ["active"] * len(UNITS)
    assert send(machine, "set up again").endswith(" 200")


# What breaks the host, the check that finds it, a part of what it says. Those of a round do not
# hide each other, and their commands do not need each other.
FAULTS = {
    "several": [
        ("systemctl disable postern-events", "boot", "postern-events is not started at boot"),
        ("systemctl stop postern-events", "events", "postern-events is not running"),
        ("systemctl stop postern-held", "decisions", "postern-held is not running"),
        ("chmod 644 /var/lib/postern/postern.db", "secrets", "everybody may read it"),
        ("chmod 700 /var/spool/postfix/postern", "folder", "with mode 2700"),
    ],
    "without httpd and milter": [
        ("systemctl stop postern-httpd", "httpd", "postern-httpd is not running"),
        ("systemctl stop postern-milter", "milter", "postern-milter is inactive"),
        ("gpasswd -d postern systemd-journal && gpasswd -d postern adm", "events",
         "the delivery status of emails is not updated"),
    ],
    "owner": [("chown root:root /var/lib/postern/postern.db", "owner", "does not belong")],
    "socket and groups": [
        ("chmod 600 /var/spool/postfix/postern/milter.sock", "milter",
         "Permission denied (as the user postfix)"),
        ("gpasswd -d postern postdrop && systemctl restart postern-httpd", "groups",
         "is not in the group postdrop"),
    ],
}


@pytest.mark.parametrize("faults", FAULTS.values(), ids=FAULTS)
def test_the_doctor_mends_what_is_safe(machine, faults):
    def found(options=""):
        rows = json.loads(machine.run(f"postern doctor --json {options}", check=False).stdout)
        return [row for row in rows if row["result"] != "good"]

    for command, _, _ in faults:
        machine.run(command)
    rows = found()
    for _, check, text in faults:
        row = next(row for row in rows if row["check"] == check and text in row["text"])
        assert row["safe"] and row["mend"]
    checks = {check for _, check, _ in faults}
    assert [row for row in found("--fix") if row["check"] in checks] == []


def test_a_start_takes_until_the_daemon_serves(machine):
    """So the doctor finds a milter that it has started, however long that takes, and a reload does
    not end a daemon that has just been started."""
    folder = "/run/systemd/system/postern-milter.service.d"
    machine.run(f"mkdir -p {folder} && cat >{folder}/slow.conf && systemctl daemon-reload", input=(
        "[Service]\nExecStart=\nExecStart=sh -c 'sleep 5; exec /usr/sbin/postern-milter'\n"))
    machine.run("systemctl stop postern-milter")
    found = json.loads(machine.run("postern doctor --json --fix", check=False).stdout)
    machine.run(f"rm -r {folder} && systemctl daemon-reload")
    assert [row["text"] for row in found if row["check"] == "milter" and row["result"] != "good"] == []
    for unit in UNITS:
        if unit != "postern-held":
            machine.run(f"for _ in 1 2 3; do systemctl restart {unit} && systemctl reload {unit} || "
                        f"exit; done; systemctl is-active {unit}")
    assert states(machine) == ["active"] * len(UNITS)
    machine.run("systemctl reset-failed")


# What breaks the host, the check that finds it, a part of what it says: all at once, and
# each is mended by the command that the doctor names, which a person runs.
TO_BE_ASKED = [
    ("chmod g-s /usr/sbin/postdrop", "maildrop", "postdrop is root:postdrop with mode 555"),
    ("postconf -e milter_protocol=4", "milter_protocol", "is 4"),
    ("postconf -e maximal_queue_lifetime=1h", "lifetime", "is 1h"),
    ("postconf -e internal_mail_filter_classes=bounce", "internal_mail", "is bounce"),
    ("postconf -e mydestination=other.test", "learnt", "have changed since"),
    ("echo 'nameserver 192.0.2.1' >/var/spool/postfix/etc/resolv.conf", "resolver", "differs"),
    ("cp -p /usr/sbin/postern-events /run/other && mv /run/other /usr/sbin/postern-events",
     "program", "that has been replaced"),
]


def test_a_person_mends_the_rest(machine):
    def found():
        return json.loads(machine.run("postern doctor --json", check=False).stdout)

    def faults(rows, check, text):
        return [row for row in rows if row["check"] == check and text in row["text"]]

    machine.run("cp -p /etc/postfix/main.cf /run/main.cf")
    for command, _, _ in TO_BE_ASKED:
        machine.run(command)
    rows, mends = found(), []
    for _, check, text in TO_BE_ASKED:
        (row,) = faults(rows, check, text)
        assert row["result"] in ("wrong", "warning") and not row["safe"], row
        mends.append(row["mend"])
    assert mends[-2:] == ["systemctl restart postfix", "systemctl restart postern-events"]
    for mend in dict.fromkeys(mends):
        # Without --yes it asks, and here is nobody.
        machine.run(mend + (" --yes" if mend == "postern setup" else ""))
    wait_for("Postfix", lambda: machine.holds("postfix status"))
    assert machine.holds("journalctl -u postern-milter -o cat | grep event=reloaded")
    rows = found()
    assert not [row for _, check, text in TO_BE_ASKED for row in faults(rows, check, text)]
    machine.run("cp -p /run/main.cf /etc/postfix/main.cf && postfix reload && "
                "postern setup --yes")


def test_lines_that_journald_drops(machine):
    machine.run("systemd-run --quiet --wait --unit=postfix-flood -p LogRateLimitBurst=5 -p "
                "LogRateLimitIntervalSec=1s bash -c "
                "'for i in {1..50}; do echo $i; done; sleep 2; echo end'")
    found = wait_for("the row", lambda: [
        row for row in json.loads(machine.run("postern doctor --json", check=False).stdout)
        if row["check"] == "log_lines"])
    assert re.match(r"journald dropped \d+ lines", found[0]["text"])


def found_by_doctor(machine, check):
    found = json.loads(machine.run("postern doctor --json", check=False).stdout)
    return [row for row in found if row["check"] == check and row["result"] in ("wrong", "warning")]


def edit_unit(machine, text):
    """What `systemctl edit` does in an editor, as the text of doctor says."""
    unit, line, section = re.search(r"systemctl edit (\S+), with (\S+) in \[(\w+)\]", text).groups()
    folder = f"/etc/systemd/system/{unit}.service.d"
    machine.run(f"mkdir -p {folder} && printf '[{section}]\\n{line}\\n' >>{folder}/own.conf && "
                "systemctl daemon-reload")


# Debian 13 has Postfix in this unit, and none that is called postfix@-.service.
POSTFIX_OF_DEBIAN_13 = """
systemctl stop postfix 'postfix@*' && systemctl mask --runtime postfix@-.service
printf '[Service]\\nType=forking\\nExecStart=postfix start\\nExecStop=postfix stop\\n' \
    >/etc/systemd/system/postfix.service
systemctl daemon-reload && systemctl start postfix
"""


def runs_postfix():
    """The units that do so, each with the command after which it is the one."""
    if SUITE != "bookworm":
        return [("postfix.service", "true")]
    return [("postfix@-.service", "true"), ("postfix.service", POSTFIX_OF_DEBIAN_13)]


def test_units_that_an_admin_has_changed(machine):
    folder = "/etc/systemd/system"
    before = ("rm -rf {0}/postern-milter.service* {0}/postfix.service && "
              "systemctl unmask --runtime postfix@-.service; systemctl daemon-reload && "
              "systemctl restart postfix").format(folder)
    machine.run(f"sed /^Before=/d /lib/systemd/system/postern-milter.service "
                f">{folder}/postern-milter.service && systemctl daemon-reload")
    try:
        for name, command in runs_postfix():
            machine.run(command)
            wait_for("Postfix", lambda: machine.holds("postfix status"))
            (row,) = found_by_doctor(machine, "boot_order")
            assert f"postern-milter is not started before {name}, which runs Postfix" in row["text"]
            edit_unit(machine, row["text"])
            assert not found_by_doctor(machine, "boot_order")
        machine.run(f"printf '[Service]\\nProtectSystem=strict\\n' >>{folder}/postern-milter.service.d/"
                    "own.conf && systemctl daemon-reload")
        (row,) = found_by_doctor(machine, "sandbox")
        assert "postern-milter may not write to Postfix's queue /var/spool/postfix" in row["text"]
        edit_unit(machine, row["text"])
        assert not found_by_doctor(machine, "sandbox")
    finally:
        machine.run(before)
    wait_for("Postfix", lambda: machine.holds("postfix status"))


def test_a_daemon_that_keeps_exiting(machine):
    count = "systemctl show -P NRestarts postern-webhook"
    for n in range(int(machine.said(count)) + 1, 4):
        machine.run("systemctl kill --kill-who=main --signal=KILL postern-webhook")
        wait_for("it to be back", lambda: machine.said(count) == str(n) and machine.holds(
            "systemctl is-active postern-webhook"))
    (row,) = found_by_doctor(machine, "restarts")
    assert "systemd has restarted postern-webhook 3 times: journalctl -u" in row["text"]
    machine.run(re.search(r"systemctl reset-failed \S+", row["text"])[0])
    assert not found_by_doctor(machine, "restarts")


def test_behind_a_proxy(machine):
    """As doc/INSTALL.md has it; who is behind the proxy is known."""
    machine.run(
        "ip address add 192.0.2.7/32 dev lo && echo 192.0.2.7 mail.example.com >>/etc/hosts && "
        "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=mail.example.com -addext "
        "subjectAltName=DNS:mail.example.com -out /etc/ssl/mail.example.com.crt "
        "-keyout /etc/ssl/private/mail.example.com.key && cd /etc/ssl && chmod 711 private && "
        "cat mail.example.com.crt private/mail.example.com.key >private/mail.example.com.pem && "
        "chmod 644 private/mail* && echo 'cacert = /etc/ssl/mail.example.com.crt' >~/.curlrc")
    put_files(machine, "doc/INSTALL.md", "Behind a proxy")
    follow(machine, "doc/INSTALL.md", "Behind a proxy")
    # Instead of its page for a new installation.
    machine.run("rm /etc/caddy/Caddyfile")
    (asked,) = [command for command in commands("doc/INSTALL.md", "Caddy") if "curl" in command]
    for heading in ("nginx", "HAProxy", "Caddy"):
        put_files(machine, "doc/INSTALL.md", heading)
        for command in commands("doc/INSTALL.md", heading):
            if command != asked:
                machine.run(command)
        assert wait_for(f"{heading}", lambda: machine.run(asked, check=False).stdout) == "ready\n"
        subject = f"by {heading}"
        assert send(machine, subject, "https://mail.example.com").endswith(" 200")
        wait_for("it to arrive", lambda: delivered(machine, f"Subject: {subject}"))
        machine.run(f"systemctl stop {heading.lower()}")
    assert machine.holds("journalctl -u postern-httpd -o cat | grep -F client=192.0.2.7")
    machine.run("ip address delete 192.0.2.7/32 dev lo && sed -i /192.0.2.7/d /etc/hosts && "
                "rm /etc/postern/postern.conf.d/proxy.conf /etc/nginx/conf.d/postern.conf && systemctl restart postern-httpd")


def test_what_listens(machine):
    (command,) = commands("doc/INSTALL.md", "Firewall")
    # After a restart httpd has them one by one.
    wait_for("both listeners", lambda: machine.run(command, check=False).stdout.count("\n") == 2)
    said = machine.said(command).splitlines()
    assert len(said) == 2 and all("127.0.0.1:858" in line for line in said)


def test_backup_and_restore(machine):
    put_files(machine, "doc/INSTALL.md", "Backup and restore")
    assert [row["text"] for row in found_by_doctor(machine, "backup")] == [
        "there is no backup in /var/backups/postern"]  # fmt: skip
    machine.run("sed -n 's/.* root //p' /etc/cron.d/postern-backup | sh -e")
    assert not found_by_doctor(machine, "backup")
    assert machine.said("stat -c '%U %a' /var/backups/postern/postern.db-*") == "root 600"
    machine.run("rm -r /var/backups/postern /etc/cron.d/postern-backup "
                "/etc/postern/postern.conf.d/backup.conf")
    follow(machine, "doc/INSTALL.md", "Backup and restore")
    assert machine.holds("ls /root/postern.conf.backup/postern.conf")
    wait_for("httpd", lambda: send(machine, "restored").endswith(" 200"))
    machine.run("rm -r /root/postern.*.backup /var/lib/postern/*replaced*")


def test_submission_by_smtp(machine):
    """With a setting that no upgrade asks about."""
    machine.run("/usr/share/postern/postfix-conf/enable --submission smtp --reload")
    machine.run("printf '[submission]\\nmethod = smtp\\n' >/etc/postern/postern.conf.d/own.conf")
    machine.run("systemctl restart postern-httpd")
    wait_for("httpd", lambda: send(machine, "by smtp").endswith(" 200"))
    wait_for("it to arrive", lambda: delivered(machine, "Subject: by smtp"))


def test_over_smtp(machine):
    """The admin's own service has port 587; by another one a program logs in, with TLS."""
    first, sent = commands("doc/INSTALL.md", "Programs that send over SMTP")
    machine.run("cd /etc/ssl && cp mail.example.com.crt certs/ssl-cert-snakeoil.pem && "
                "cp private/mail.example.com.key private/ssl-cert-snakeoil.key && "
                f"cat private/mail.example.com.key mail.example.com.crt >{CERTIFICATE} && "
                "echo 127.0.0.1 mail.example.com >>/etc/hosts")
    before = machine.bytes(*POSTFIX_FILES)
    done = machine.run(first, check=False)
    assert "has the service submission/inet at port 587 already" in " ".join(done.stderr.split())
    assert machine.bytes(*POSTFIX_FILES) == before
    assert "WRONG:" not in machine.said(first.replace("587,465", "2587,465"))
    assert machine.said("systemctl is-active postern-auth") == "active"
    machine.run(sent.replace("KEY", machine.names["KEY"]).replace(":587", ":2587"))
    wait_for("it to arrive", lambda: delivered(machine, "Subject: By SMTP"))
    machine.run("systemctl stop postern-auth")
    found = [row for row in json.loads(machine.run("postern --json doctor", check=False).stdout)
             if row["check"] == "smtp_auth" and row["result"] == "wrong"]
    assert [(row["safe"], row["mend"]) for row in found] == [
        (True, "systemctl restart postern-auth")]  # fmt: skip
    machine.run("postern doctor --fix", check=False)
    assert machine.said("systemctl is-active postern-auth") == "active"
    machine.run("sed -i /mail.example.com/d /etc/hosts")


def test_settings_that_are_refused_stop_nothing(machine):
    machine.run(f"cp -p {CONF} /run/kept && echo junk >>{CONF}")
    pids = machine.said("pgrep -u postern postern-")
    done = machine.run("dpkg -i ./build/deb/postern_*.deb", check=False)
    assert done.returncode != 0 and "junk" in done.stderr
    assert machine.said("pgrep -u postern postern-") == pids
    machine.run(f"cp -p /run/kept {CONF} && dpkg --configure postern")
    assert states(machine) == ["active"] * len(UNITS)


# Until there is enough of it: emails by HTTP and by sendmail(1), each with a subject of
# its own. Notes what was taken.
FLOOD = r"""
i=0
while [ ! -e /run/enough ]; do
    i=$((i + 1))
    [ "$(curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer KEY" \
        -H 'Content-Type: application/json' http://127.0.0.1:8587/emails -d '
        {"from":"shop@example.com","to":"you@example.net","subject":"flood http '$i'.",
        "text":"."}')" != 200 ] || echo "flood http $i."
    printf 'Subject: flood local %s.\n\n.\n' $i | sendmail -f root@vm you@example.net &&
        echo "flood local $i."
done >/run/taken
"""


def test_a_migration_that_fails_stops_nothing(machine, packages):
    """It was tried on a copy: the version before runs on, and can be put back."""
    machine.schema = build_next(packages / "next")
    company = json.loads(machine.said("postern --json company add 'In the way'"))["id"]
    pids = machine.said("pgrep -u postern postern-")
    command = next(commands("doc/INSTALL.md", "Upgrade"))
    done = machine.run(command.replace("build/deb/", "build/deb/next/"), check=False)
    assert done.returncode != 0
    assert "the daemons of the version before go on" in done.stdout + done.stderr
    assert machine.said("pgrep -u postern postern-") == pids
    assert send(machine, "all the same").endswith(" 200")
    assert not machine.holds("ls /var/lib/postern | grep rehearsal")
    machine.run("apt-get install -y --allow-downgrades ./build/deb/postern_*.deb")
    assert states(machine) == ["active"] * len(UNITS)
    machine.run(f"postern company remove {company}")


def test_an_upgrade_with_mail_in_flight(machine):
    """Nothing that was taken is lost, or sent twice; the database is brought up to
    date by itself, with a backup; nobody is asked."""
    version = machine.schema
    # One daemon that runs without being enabled comes back too.
    machine.run("systemctl disable postern-events")
    main_cf = machine.bytes(*POSTFIX_FILES)
    machine.run("systemctl stop sink")
    waiting = "waits through the upgrade"
    assert send(machine, waiting).endswith(" 200")
    command = next(commands("doc/INSTALL.md", "Upgrade"))
    with machine.doing(FLOOD.replace("KEY", machine.names["KEY"])):
        taken = "cat /run/taken 2>/dev/null"
        wait_for("the flood", lambda: machine.run(taken, check=False).stdout.count("http") > 2)
        machine.run(command.replace("build/deb/", "build/deb/next/"))
        before = machine.said(taken).count("http")
        wait_for("it to go on", lambda: machine.said(taken).count("http") > before + 2)
    taken = machine.said(taken).splitlines()
    assert states(machine) == ["active"] * len(UNITS)
    assert states(machine, "is-enabled") == ["enabled", "enabled", "disabled", "enabled", "enabled"]
    machine.run("systemctl enable postern-events")
    assert machine.bytes(*POSTFIX_FILES) == main_cf
    assert "The next version" in machine.said(f"cat {CONF}")
    assert machine.holds("ls /etc/postern/postern.conf.d/own.conf")
    assert machine.holds(f"ls /var/lib/postern/postern.db.v{version}-*")

    machine.run(f"rm {SINK}/* && systemctl start sink")
    assert {line.split()[1] for line in taken} == {"http", "local"}
    wait_for("an empty queue", lambda: not machine.said("postqueue -f && sleep 1 && postqueue -j"))
    subjects = machine.said(f"grep -h '^Subject: ' {SINK}/mail.*").splitlines()
    assert sorted(subjects) == sorted([f"Subject: {line}" for line in taken + [waiting]])


def test_the_commands_after_an_upgrade(machine):
    for command in list(commands("doc/INSTALL.md", "Upgrade"))[1:]:
        done = machine.run(command, check="doctor" not in command)
        assert "WRONG:" not in done.stdout


def test_no_removal_while_emails_wait_for_the_milter(machine):
    """Without the milter they would bounce."""
    machine.run("rm /etc/postern/postern.conf.d/own.conf && systemctl restart postern-httpd && "
                "systemctl stop postern-milter")  # fmt: skip
    wait_for("it to be taken", lambda: send(machine, "waits for the milter").endswith(" 200"))
    done = machine.run("apt-get remove -y postern", check=False)
    told = " ".join(done.stdout.split())
    assert done.returncode != 0 and "Emails that wait for the milter in the queue of" in told
    assert "(maildrop, from shop@example.com)" in told and "start it, and try again" in told
    assert machine.holds("grep -q postern/milter /etc/postfix/main.cf")
    assert states(machine)[1:] == ["active"] * (len(UNITS) - 1)
    machine.run("systemctl start postern-milter")
    wait_for("it to go out", lambda: machine.said("postqueue -f") or delivered(
        machine, "Subject: waits for the milter"))  # fmt: skip


def test_removal(machine):
    """Postfix's files are as they were, to the byte, and it goes on."""
    machine.run("postern held list && postern email list --state queued")  # as the text says
    for command in commands("doc/INSTALL.md", "Remove"):
        if "apt remove" in command:
            machine.run(command, input="y\n")
            break
    assert machine.bytes(*POSTFIX_FILES) == machine.original
    assert not machine.holds("pgrep -u postern")
    # The settings and the database.
    assert CONF in (left := remains(machine))
    assert [path for path in left if not path.startswith(("/etc/", "/var/lib/postern"))] == []
    assert not machine.holds("ls /etc/postern/postern.conf.d")
    passes_local_mail(machine, "removed")


def test_installed_again_with_another_queue_folder(machine):
    """The settings and the database are those of before; the folder of the socket is in
    the queue folder, wherever that is."""
    machine.run("systemctl stop postfix")
    wait_for("Postfix to stop", lambda: not machine.holds("postfix status"))
    machine.run("install -d /srv/mail && mv /var/spool/postfix /srv/mail/queue && "
                "postconf -e queue_directory=/srv/mail/queue && systemctl start postfix")
    wait_for("Postfix", lambda: machine.holds("postfix status"))
    machine.original = machine.bytes(*POSTFIX_FILES)
    machine.run("apt-get install -y ./build/deb/next/postern_*.deb")
    assert machine.bytes(*POSTFIX_FILES) == machine.original
    # Postfix would not have asked a milter about the emails of a postern-httpd.
    assert states(machine) == ["inactive"] * len(UNITS)
    assert states(machine, "is-enabled") == ["disabled"] * len(UNITS)
    for command in commands("README.md", "Install it beside Postfix"):
        if "postern setup" in command:
            machine.run(command)
    assert send(machine, "again").endswith(" 200")
    wait_for("it to arrive", lambda: delivered(machine, "Subject: again"))
    assert machine.holds("test -S /srv/mail/queue/postern/milter.sock")


def test_purge(machine):
    """The database stays, and is named; then it goes by hand, and nothing is left."""
    said = ""
    for command in commands("doc/INSTALL.md", "Remove"):
        if "apt remove" not in command:
            said += machine.said(command, input="y\n")
    assert "the database stays in /var/lib/postern" in said
    assert machine.bytes(*POSTFIX_FILES) == machine.original
    assert remains(machine) == []
    assert not machine.holds("getent passwd postern || getent group postern")
    assert not machine.run("systemctl list-unit-files --no-legend 'postern*'", check=False).stdout
    passes_local_mail(machine, "purged")
