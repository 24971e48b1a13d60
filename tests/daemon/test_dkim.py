"""postern dkim: keys and tables of a real OpenDKIM and a real rspamd, and what an independent verifier
says of the mail that they sign."""

import json
import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import dkim
import pytest
from harness import Sandbox
from harness.dns import DnsServer
from harness.sandbox import BUILD, TREE, accepts, free_port, unique
from harness.wait import wait_for

pytestmark = pytest.mark.submission("sendmail")

CLI = TREE / BUILD / "postern"
USER = "opendkim"
SELECTORS = re.compile(r"p\d{8}[a-z]?")


class Signer:
    """OpenDKIM with settings, keys and tables of its own."""

    def __init__(self):
        user = pwd.getpwnam(USER)
        # OpenDKIM takes no key below a folder that others can write, as /tmp.
        self.dir = Path(tempfile.mkdtemp(prefix="postern-dkim.", dir="/run"))
        self.dir.chmod(0o711)
        self.keys = self.dir / "keys"
        self.keys.mkdir(0o700)
        self.run = self.dir / "run"
        self.run.mkdir(0o755)
        for folder in (self.keys, self.run):
            os.chown(folder, user.pw_uid, user.pw_gid)
        self.port = free_port()
        self.conf = self.dir / "opendkim.conf"
        self.settings = (
            f"# as Debian has it\nSyslog no\nCanonicalization relaxed/relaxed\nMode s\n"
            f"OversignHeaders From\nUserID {USER}\nUMask 007\n"
            f"Socket inet:{self.port}@127.0.0.1\nPidFile {self.run}/opendkim.pid\n")
        self.conf.write_text(self.settings)
        self.process = None

    def start(self):
        self.process = subprocess.Popen(["opendkim", "-f", "-x", self.conf])
        wait_for("OpenDKIM", lambda: accepts(f"127.0.0.1:{self.port}") or None)
        wait_for("its process id", lambda: (self.run / "opendkim.pid").exists() or None)

    def close(self):
        if self.process:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(180)
        shutil.rmtree(self.dir)


# As Debian has it, with the one module that signs: the others ask the world about the mail.
RSPAMD = """
options {{
    filters = "dkim";
    pidfile = "{dir}/db/rspamd.pid";
    url_tld = "{dir}/suffixes";
    dns {{ nameserver = ["{dns}"]; }}
    # Tables are read again after a second, not after half a minute.
    map_watch_interval = 1s;
    map_file_watch_multiplier = 1.0;
}}
logging {{ type = "console"; level = "warning"; }}
worker "rspamd_proxy" {{
    bind_socket = "127.0.0.1:{port}";
    milter = yes;
    upstream "local" {{ default = yes; self_scan = yes; }}
}}
.include "/etc/rspamd/actions.conf"
.include "/etc/rspamd/modules.d/dkim_signing.conf"
modules {{ path = "/usr/share/rspamd/plugins/dkim_signing.lua"; }}
"""


class Rspamd:
    """rspamd with a folder of its own for what an admin sets, its keys and its state."""

    def __init__(self, server):
        self.dir = Path(tempfile.mkdtemp(prefix="postern-rspamd.", dir="/run"))
        self.dir.chmod(0o711)
        self.keys = self.dir / "keys"
        for name in ("db", "local.d"):
            (self.dir / name).mkdir()
        shutil.chown(self.dir / "db", "_rspamd", "_rspamd")
        self.port = free_port()
        self.conf = self.dir / "rspamd.conf"
        (self.dir / "suffixes").write_text("example\n")  # to compile them all takes seconds
        self.conf.write_text(RSPAMD.format(dir=self.dir, dns=server.address, port=self.port))
        self.process = None

    def start(self):
        folders = [f"--var={name}={self.dir}{below}" for name, below in (
            ("LOCAL_CONFDIR", ""), ("DBDIR", "/db"), ("RUNDIR", "/db"), ("LOGDIR", "/db"))]
        self.process = subprocess.Popen(
            ["rspamd", "-f", "-c", self.conf, "-u", "_rspamd", "-g", "_rspamd", *folders])
        wait_for("rspamd", lambda: accepts(f"127.0.0.1:{self.port}") or None)

    def close(self):
        if self.process:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(180)
        shutil.rmtree(self.dir)


@pytest.fixture(scope="module")
def signer():
    signer = Signer()
    yield signer
    signer.close()


@pytest.fixture(scope="module")
def server():
    with DnsServer() as server:
        yield server


@pytest.fixture(scope="module")
def box(signer, server):
    with Sandbox("--set", "dkim.signer=opendkim", "--set", f"dkim.opendkim={signer.conf}",
                 "--set", f"dkim.keys={signer.keys}", "--set",
                 f"dns.server={server.address}", "--set", "http.url=https://x.example") as box:
        yield box


def run(box, *words):
    """Returns the output of the command as JSON."""
    done = subprocess.run([CLI, "-c", box.config, "--json", "dkim", *words], capture_output=True,
                          text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def fails(box, *words):
    done = subprocess.run([CLI, "-c", box.config, "dkim", *words], capture_output=True, text=True,
                          timeout=180, check=False)
    assert done.returncode != 0
    return done.stderr


def states(rows):
    return {row["selector"]: row["state"] for row in rows}


def publish(server, rows, *selectors):
    for row in rows:
        if not selectors or row["selector"] in selectors:
            server.records[(row["name"], "TXT")] = [row["value"]]


class Sender:
    """A domain with a key, whose delivered mail is verified."""

    def __init__(self, box, server):
        self.box, self.server = box, server
        company = box.company()
        self.domain = unique("signed") + ".example"
        box.cli("domain", "add", self.domain, "--company", company, "--policy", "exclusive")
        box.cli("domain", "set", self.domain, "--unsubscribe", "on")
        self.httpd = box.httpd(box.new_key(company)["token"])

    def look_up(self, name, timeout=5):
        values = self.server.records.get((name.decode().rstrip("."), "TXT"))
        return values[0].encode() if values else None

    def send(self):
        """Sends an email; returns the selector of its valid signature, or None."""
        to = unique("to") + "@dst.test"
        self.httpd.send({"from": f"Ann <hello@{self.domain}>", "to": to, "subject": "Grüße",
                         "text": "Hello\n\n.\nFrom here\n", "html": "<p>Hello</p>"})
        mail = self.box.sink.find(to=to)
        field = mail.raw_header("DKIM-Signature")
        if field is None:
            return None
        tags = dict(tag.strip().split(b"=", 1) for tag in field.split(b";") if tag.strip())
        assert tags[b"d"].decode() == self.domain
        signed = {name.strip().lower() for name in tags[b"h"].split(b":")}
        assert {b"list-unsubscribe", b"list-unsubscribe-post"} <= signed
        assert dkim.verify(mail.raw.replace(b"\n", b"\r\n"), dnsfunc=self.look_up)
        forged = mail.raw.replace(b"Hello", b"Hallo").replace(b"\n", b"\r\n")
        assert not dkim.verify(forged, dnsfunc=self.look_up)
        return tags[b"s"].decode()

    def wait_for_selector(self, selector):
        """Waits until OpenDKIM has reread its tables."""
        wait_for(f"signatures by {selector}", lambda: self.send() == selector or None)


def mode_of(path):
    return path.stat().st_mode & 0o7777


def test_a_key_from_its_making_to_its_end(box, signer, server):
    sender = Sender(box, server)
    [made] = run(box, "enable", sender.domain)
    assert made["state"] == "new" and SELECTORS.fullmatch(made["selector"])
    first = made["selector"]
    assert made["name"] == f"{first}._domainkey.{sender.domain}"
    path = signer.keys / f"{sender.domain}.{first}.private"
    assert mode_of(path) == 0o600 and path.owner() == USER
    # It does not sign before the world has its record, and is not made twice.
    assert states(run(box, "enable", sender.domain)) == {first: "new"}
    tables = [signer.keys / "postern.keytable", signer.keys / "postern.signingtable"]
    assert [first in table.read_text() for table in tables] == [False, False]
    assert signer.conf.read_text().startswith(signer.settings)
    publish(server, [made])
    assert states(run(box, "enable", sender.domain)) == {first: "signing"}
    assert tables[0].read_text().count(first) == 3
    signer.start()
    before = box.main_cf("non_smtpd_milters"), box.main_cf("smtpd_milters")
    for name, value in zip(("non_smtpd_milters", "smtpd_milters"), before):
        box.postconf(f"{name}={value}, inet:127.0.0.1:{signer.port}")
    box.reload_postfix()
    sender.wait_for_selector(first)

    # Two selectors: the old one signs until the new one can be looked up.
    [new, _] = rows = run(box, "rotate", sender.domain)
    second = new["selector"]
    assert states(rows) == {first: "signing", second: "new"}
    assert sender.send() == first
    server.records[(new["name"], "TXT")] = ["v=DKIM1; p=QUJD"]
    assert states(run(box, "rotate", sender.domain)) == {first: "signing", second: "new"}
    publish(server, [new])
    assert states(run(box, "rotate", sender.domain)) == {first: "old", second: "signing"}
    sender.wait_for_selector(second)
    # For mail that is under way the old one is still there, and then goes.
    assert path.exists()
    box.query(f"UPDATE dkim_key SET changed_us = 1 WHERE selector = '{first}'")
    assert states(run(box, "enable", sender.domain)) == {second: "signing"}
    assert not path.exists()
    assert sender.send() == second

    # Another domain is not concerned.
    other = Sender(box, server)
    assert other.send() is None
    [row] = run(box, "enable", other.domain, "--now", "--selector", "own")
    publish(server, [row])
    other.wait_for_selector("own")
    assert states(run(box, "list")) == {second: "signing", "own": "signing"}
    assert states(run(box, "list", other.domain)) == {"own": "signing"}

    assert states(run(box, "disable", sender.domain)) == {second: "old"}
    wait_for("unsigned mail", lambda: sender.send() is None or None)
    assert other.send() == "own"
    assert not [file for file in signer.keys.iterdir() if file.name.startswith(".postern")]


def rsa_key(path, *options, bits=2048):
    subprocess.run(["openssl", "genrsa", "-out", path, *options, str(bits)], check=True, timeout=60,
                   capture_output=True)
    return path


def test_a_key_that_an_admin_has(box, signer, server, tmp_path):
    """An existing key signs once its record is found; the signer gets a copy."""
    sender = Sender(box, server)
    file = rsa_key(tmp_path / "mail.private")
    public = subprocess.run(["openssl", "rsa", "-in", file, "-pubout"], check=True, timeout=60,
                            capture_output=True, text=True).stdout.splitlines()[1:-1]
    record = f"v=DKIM1; k=rsa; p={''.join(public)}"
    server.records[(f"mail._domainkey.{sender.domain}", "TXT")] = [record]
    [row] = run(box, "enable", sender.domain, "--selector", "mail", "--key-file", str(file))
    assert (row["selector"], row["state"]) == ("mail", "signing")
    assert row["value"].rpartition("p=")[2] == record.rpartition("p=")[2]
    copy = signer.keys / f"{sender.domain}.mail.private"
    assert copy.read_bytes() == file.read_bytes()
    assert mode_of(copy) == 0o600 and copy.owner() == USER
    # One that lies where the copies do is used as it is.
    other = Sender(box, server)
    there = rsa_key(signer.keys / f"{other.domain}.s2.private")
    before = there.read_bytes()
    rows = run(box, "enable", other.domain, "--selector", "s2", "--key-file", str(there), "--now")
    assert states(rows) == {"s2": "signing"} and there.read_bytes() == before
    # Later on it takes the place of another key.
    rows = run(box, "rotate", other.domain, "--selector", "mail", "--key-file", str(file), "--now")
    assert states(rows) == {"s2": "old", "mail": "signing"}
    assert "has a key mail already" in fails(
        box, "rotate", other.domain, "--selector", "mail", "--key-file", str(file))
    assert "has a key already" in fails(
        box, "enable", other.domain, "--selector", "s3", "--key-file", str(file))


def test_files_that_are_no_key(box, signer, server, tmp_path):
    sender = Sender(box, server)
    file = rsa_key(tmp_path / "mail.private")
    locked = rsa_key(tmp_path / "locked", "-aes128", "-passout", "pass:secret")
    short = rsa_key(tmp_path / "short", bits=768)
    curve = tmp_path / "curve"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", curve], check=True,
                   timeout=60)
    link = tmp_path / "link"
    link.symlink_to(file)
    for path, words in ((locked, "is not an unencrypted private RSA key"),
                        (curve, "is not an unencrypted private RSA key"),
                        (tmp_path / "none", "does not exist"), (link, "symbolic link"),
                        (short, "has fewer than 1024 bits")):
        assert words in fails(
            box, "enable", sender.domain, "--selector", "s", "--key-file", str(path))
    assert "--key-file needs --selector" in fails(box, "enable", sender.domain, "--key-file",
                                                  str(file))
    assert run(box, "list", sender.domain) == []
    assert list(signer.keys.glob(f"{sender.domain}.*")) == []


def test_a_run_that_was_cut_off_is_made_good(box, signer, server):
    """The interrupted run had written the key's file, but no row."""
    sender = Sender(box, server)
    [made] = run(box, "enable", sender.domain)
    path = signer.keys / f"{sender.domain}.{made['selector']}.private"
    box.sql("DELETE FROM dkim_key WHERE selector = ? AND domain_id ="
            " (SELECT id FROM domain WHERE name = ?)", made["selector"], sender.domain)
    before = path.read_bytes()
    [again] = run(box, "enable", sender.domain)
    assert again["selector"] == made["selector"] and path.read_bytes() != before


def test_lines_of_others_stay(box, signer, server):
    sender = Sender(box, server)
    run(box, "enable", sender.domain, "--now")
    table = signer.keys / "postern.signingtable"
    ours = table.read_text()
    table.write_text(f"{ours}*@other.example own\n")
    run(box, "rotate", sender.domain, "--now")
    lines = table.read_text()
    assert lines.endswith("*@other.example own\n") and sender.domain in lines
    run(box, "disable", sender.domain)
    assert sender.domain not in table.read_text()
    assert "*@other.example own\n" in table.read_text()


def test_a_block_without_its_end(box, signer, server):
    """Without the end of the block nobody can tell which lines are others', so none is
    changed."""
    sender = Sender(box, server)
    run(box, "enable", sender.domain, "--now")
    table = signer.keys / "postern.signingtable"
    whole = table.read_text()
    broken = whole.replace("# END postern dkim\n", "") + "*@other.example own\n"
    table.write_text(broken)
    error = box.cli("dkim", "rotate", sender.domain, "--now", ok=False)
    assert "# END postern dkim" in error and "is missing" in error, error
    assert table.read_text() == broken
    table.write_text(whole)


def test_tables_that_are_there_are_used(own_box, server):
    signer = Signer()
    try:
        keytable, signingtable = signer.dir / "KeyTable", signer.dir / "SigningTable"
        keytable.write_text("own._domainkey.a.example a.example:own:/etc/own\n")
        signingtable.write_text("a.example own._domainkey.a.example\n")
        keytable.chmod(0o640)
        text = f"{signer.settings}KeyTable {keytable}\nSigningTable file:{signingtable}\n"
        signer.conf.write_text(text)
        box = own_box("--set", f"dkim.opendkim={signer.conf}", "--set", f"dkim.keys={signer.keys}",
                      "--set", f"dns.server={server.address}")
        sender = Sender(box, server)
        run(box, "enable", sender.domain, "--now", "--selector", "s1")
        assert signer.conf.read_text() == text
        assert f"\n{sender.domain} s1._domainkey.{sender.domain}\n" in signingtable.read_text()
        assert keytable.read_text().endswith("own._domainkey.a.example a.example:own:/etc/own\n")
        assert mode_of(keytable) == 0o640
    finally:
        signer.close()


REFUSED = [
    ("a single key", "Domain a.example\nSelector s\nKeyFile /etc/own.private\n", "KeyFile"),
    ("one table", "KeyTable /etc/keytable\n", "without the other"),
    ("a database", "KeyTable dsn:x\nSigningTable dsn:y\n", "no file"),
    ("an unknown user", "UserID nobody-here\n", "there is no user nobody-here"),
]


@pytest.mark.parametrize("lines, words", [row[1:] for row in REFUSED], ids=[r[0] for r in REFUSED])
def test_settings_that_are_not_touched(box, signer, lines, words):
    before = signer.conf.read_text()
    text = "UserID opendkim\n" + lines
    signer.conf.write_text(text)
    try:
        assert words in fails(box, "enable", "example.com")
        assert signer.conf.read_text() == text
        assert run(box, "list", "example.com") == []
    finally:
        signer.conf.write_text(before)


def test_postfix_is_to_ask_the_signer(own_box, server):
    """The commands to run are named exactly; once they have been run, nothing is
    reported."""
    signer = Signer()
    try:
        box = own_box("--set", f"dkim.opendkim={signer.conf}", "--set", f"dkim.keys={signer.keys}",
                      "--set", f"dns.server={server.address}", "--set",
                      "http.url=https://x.example")
        sender = Sender(box, server)

        def said(*words):
            return subprocess.run([CLI, "-c", box.config, "dkim", *words], capture_output=True,
                                  text=True, timeout=180, check=True).stdout

        def wrong():
            done = subprocess.run([CLI, "-c", box.config, "--json", "doctor"], capture_output=True,
                                  text=True, timeout=300, check=False)
            return [row["text"] for row in json.loads(done.stdout)
                    if (row["check"], row["result"]) == ("signer", "wrong")]

        text = said("enable", sender.domain, "--now", "--selector", "s1")
        signer.start()
        assert "Postfix does not ask OpenDKIM for all mail" in text
        [found] = wrong()
        assert "Postfix does not ask OpenDKIM for all mail" in found
        commands = re.findall(r"(?m)^  (post.*)$", text)
        assert len(commands) == 3 and all(command in found for command in commands)
        [row] = run(box, "list", sender.domain)
        publish(server, [row])
        for command in commands:
            subprocess.run(["sh", "-c", command], check=True, timeout=60)
        assert "Postfix does not ask" not in said("enable", sender.domain)
        assert wrong() == []
        sender.wait_for_selector("s1")
        # In front it still is Postern that is asked.
        for name in ("smtpd_milters", "non_smtpd_milters"):
            assert re.search(rf"postern.*milter.*, inet:127\.0\.0\.1:{signer.port}$",
                             box.main_cf(name))
    finally:
        signer.close()


def test_rspamd_signs(own_box, server):
    """sendmail tells rspamd that the client is this host. rspamd rereads its tables by
    itself, and its settings at a restart."""
    rspamd = Rspamd(server)
    try:
        box = own_box("--set", "dkim.signer=rspamd", "--set", f"dkim.rspamd={rspamd.dir}",
                      "--set", f"dkim.keys={rspamd.keys}", "--set",
                      f"dns.server={server.address}", "--set", "http.url=https://x.example")
        sender = Sender(box, server)
        [row] = run(box, "enable", sender.domain, "--now", "--selector", "s1")
        publish(server, [row])
        key = rspamd.keys / f"{sender.domain}.s1.key"
        assert key.owner() == "_rspamd" and mode_of(key) & 0o007 == 0
        rspamd.start()
        for name in ("non_smtpd_milters", "smtpd_milters"):
            box.postconf(f"{name}={box.main_cf(name)}, inet:127.0.0.1:{rspamd.port}")
        box.reload_postfix()
        sender.wait_for_selector("s1")
        assert findings(box) == [("good", f"rspamd signs for {sender.domain} by the key s1")]
        publish(server, run(box, "rotate", sender.domain, "--now", "--selector", "s2"))
        sender.wait_for_selector("s2")
    finally:
        rspamd.close()


def test_what_a_removed_domain_leaves(own_box, server):
    """The key files belong to root: the removal says so, doctor finds them, and disable
    removes them."""
    signer = Signer()
    try:
        box = own_box("--set", f"dkim.opendkim={signer.conf}", "--set", f"dkim.keys={signer.keys}",
                      "--set", f"dns.server={server.address}")
        # A folder of keys that is not there is made.
        signer.keys.rmdir()
        sender, other = Sender(box, server), Sender(box, server)
        assert "nothing of it is left" in fails(box, "disable", "none.example")
        run(box, "enable", sender.domain, "--now", "--selector", "s1")
        assert mode_of(signer.keys) == 0o750 and signer.keys.owner() == USER
        run(box, "rotate", sender.domain)  # and one that never signed
        tables = [signer.keys / "postern.keytable", signer.keys / "postern.signingtable"]
        mine = signer.keys / "someone.example.mine.private"
        mine.write_text("a key that an admin made\n")
        files = sorted(path.name for path in signer.keys.glob(f"{sender.domain}.*"))
        assert len(files) == 2

        done = subprocess.run(
            [CLI, "-c", box.config, "domain", "remove", sender.domain, "--yes"],
            capture_output=True, text=True, timeout=180, check=True)
        assert f"postern dkim disable {sender.domain}" in done.stderr
        found = findings(box)
        assert [result for result, _ in found] == ["wrong", "warning", "warning"]
        assert "tables of OpenDKIM" in found[0][1]
        for name in files:
            assert any(text.startswith(f"{signer.keys}/{name} is the key of a domain that is no longer registered")
                       for _, text in found)

        run(box, "enable", other.domain, "--now", "--selector", "s1")
        run(box, "disable", sender.domain)
        assert sorted(path.name for path in signer.keys.glob("*.private")) == sorted(
            [mine.name, f"{other.domain}.s1.private"])
        assert all(sender.domain not in table.read_text() for table in tables)
        assert all(other.domain in table.read_text() for table in tables)
        assert [result for result, _ in findings(box)] == ["good"]
        assert "nothing of it is left" in fails(box, "disable", sender.domain)
    finally:
        signer.close()


def test_links_are_not_followed(box, signer, server):
    """The signer's user cannot make root read or write another file."""
    sender = Sender(box, server)
    secret = signer.dir / "secret"
    secret.write_text("precious\n")
    selector = "trap"
    trap = signer.keys / f"{sender.domain}.{selector}.private"
    trap.symlink_to(secret)
    assert "is there already" in fails(box, "enable", sender.domain, "--selector", selector)
    assert run(box, "list", sender.domain) == []
    table = signer.keys / "postern.keytable"
    kept = table.read_text() if table.exists() else ""
    table.unlink(missing_ok=True)
    table.symlink_to(secret)
    assert "symbolic link" in fails(box, "enable", sender.domain, "--now")
    assert secret.read_text() == "precious\n"
    table.unlink()
    table.write_text(kept)
    keys = signer.dir / "moved"
    signer.keys.rename(keys)
    signer.keys.symlink_to(keys)
    try:
        assert "symbolic link" in fails(box, "rotate", sender.domain)
    finally:
        signer.keys.unlink()
        keys.rename(signer.keys)
    # A pipe is not waited for.
    table.unlink()
    os.mkfifo(table)
    assert "no regular file" in fails(box, "enable", sender.domain)
    table.unlink()
    # Whatever was in the way, the next run makes it good.
    assert list(states(run(box, "enable", sender.domain, "--now")).values()) == ["signing"]


def findings(box):
    """Without Postfix, which takes most of the time."""
    done = subprocess.run([CLI, "-c", box.config, "--json", "doctor", "--postfix", "/nonexistent"],
                          capture_output=True, text=True, timeout=300, check=False)
    return [(row["result"], row["text"]) for row in json.loads(done.stdout)
            if row["check"] == "dkim"]


def test_doctor_tells_of_keys(own_box, server):
    """The signer has lost a key, cannot use one, or has other keys."""
    signer = Signer()
    try:
        box = own_box("--set", f"dkim.opendkim={signer.conf}", "--set", f"dkim.keys={signer.keys}",
                      "--set", f"dns.server={server.address}")
        sender = Sender(box, server)
        assert findings(box) == []
        run(box, "enable", sender.domain, "--now", "--selector", "s1")
        assert findings(box) == [("good", f"OpenDKIM signs for {sender.domain} by the key s1")]
        key = signer.keys / f"{sender.domain}.s1.private"
        key.chmod(0o644)
        [(result, text)] = findings(box)
        assert result == "wrong" and "can be read by every user" in text
        key.unlink()
        table = signer.keys / "postern.signingtable"
        table.write_text("")
        [first, second] = findings(box)
        assert first[0] == second[0] == "wrong"
        assert "is missing" in first[1] and "tables of OpenDKIM" in second[1]
        run(box, "rotate", sender.domain, "--now")
        assert [result for result, _ in findings(box)] == ["good"]
    finally:
        signer.close()


@pytest.mark.parametrize("words", [("enable", "none.example"), ("rotate", "none.example"),
                                   ("list", "none.example")])
def test_a_domain_that_nobody_has(box, words):
    assert "there is no domain none.example" in fails(box, *words)


@pytest.mark.parametrize("selector", ["", "A", "a.b", "../x", "-a", "a-", "x" * 64, "a b", "a\n"])
def test_selectors_that_are_none(box, selector):
    assert "--selector" in fails(box, "enable", "example.com", "--selector", selector)
