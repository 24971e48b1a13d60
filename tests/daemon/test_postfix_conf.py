"""The scripts of postfix-conf, on configuration folders of many shapes.

Only postconf of Postfix is used; of what runs, the milter alone.
"""

import functools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest
from harness import wait_for
from harness.sandbox import TREE

pytestmark = pytest.mark.scripts

SCRIPTS = Path(__file__).resolve().parents[2] / "postfix-conf"
OURS = "{ unix:postern/milter.sock, default_action=tempfail }"
WAIT = r"regexp:{ {/@postern\.invalid$$/ retry:4.3.5 postern-milter is not in charge} }"
LISTS = ("smtpd_milters", "non_smtpd_milters")
# Whose folder it is: the user of the daemons, where there is one.
OWNER = "postern" if "postern" in [entry.pw_name for entry in pwd.getpwall()] else "root"

MASTER = """\
smtp       inet  n  -  y  -  -  smtpd
pickup     unix  n  -  y  60 1  pickup
cleanup    unix  n  -  y  -  0  cleanup
retry      unix  -  -  y  -  -  error
"""

# name, what main.cf says, and both lists after enable (as they are in effect)
STATES = [
    ("unset", "", OURS, OURS),
    ("empty values", "smtpd_milters =\nnon_smtpd_milters=\n", OURS + ",", OURS + ","),
    ("one milter", "smtpd_milters = inet:localhost:8891\n",
     OURS + ", inet:localhost:8891", OURS),
    ("commas", "smtpd_milters = inet:localhost:8891, unix:rspamd/milter.sock\n"
               "non_smtpd_milters = inet:localhost:8891,unix:rspamd/milter.sock\n",
     OURS + ", inet:localhost:8891, unix:rspamd/milter.sock",
     OURS + ", inet:localhost:8891,unix:rspamd/milter.sock"),
    ("blanks", "smtpd_milters =   inet:localhost:8891 \t inet:localhost:8892   \n",
     OURS + ",   inet:localhost:8891 \t inet:localhost:8892", OURS),
    ("non_smtpd refers to smtpd",
     "smtpd_milters = inet:localhost:8891\nnon_smtpd_milters = $smtpd_milters\n",
     OURS + ", inet:localhost:8891", OURS + ", inet:localhost:8891"),
    ("smtpd refers to non_smtpd",
     "smtpd_milters = ${non_smtpd_milters}, inet:localhost:1\n"
     "non_smtpd_milters = inet:localhost:8891\n",
     OURS + ", inet:localhost:8891, inet:localhost:1", OURS + ", inet:localhost:8891"),
    ("smtpd refers to an unset non_smtpd", "smtpd_milters = $non_smtpd_milters\n", OURS, OURS),
    ("another parameter", "dkim = inet:localhost:8891\nsmtpd_milters = $dkim\n"
                          "non_smtpd_milters = $dkim\n",
     OURS + ", inet:localhost:8891", OURS + ", inet:localhost:8891"),
    ("several lines",
     "smtpd_milters =\n    inet:localhost:8891,\n# not this one\n#  inet:localhost:9\n\n"
     "\tunix:b.sock\nmyhostname = a.test\n",
     OURS + ", inet:localhost:8891, unix:b.sock", OURS),
    ("braces", "smtpd_milters = {inet:localhost:1, connect_timeout=3s,default_action = accept}\n",
     OURS + ", {inet:localhost:1, connect_timeout=3s,default_action = accept}", OURS),
    ("set twice", "smtpd_milters = inet:localhost:1\nmyhostname = a.test\n"
                  "smtpd_milters = inet:localhost:2\n", OURS + ", inet:localhost:2", OURS),
    ("no newline at the end", "myhostname = a.test", OURS, OURS),
    ("list at the end without newline", "smtpd_milters = inet:localhost:1",
     OURS + ", inet:localhost:1", OURS),
    ("comment at the end", "myhostname = a.test\n# the end\n\n\n", OURS, OURS),
    ("similar names", "postscreen_smtpd_milters_x = 1\nmy_smtpd_milters = inet:localhost:3\n"
                      "#smtpd_milters = inet:localhost:4\n", OURS, OURS),
    ("global default", "milter_default_action = accept\nsmtpd_milters = inet:localhost:1\n",
     OURS + ", inet:localhost:1", OURS),
]
STATE_NAMES = [state[0] for state in STATES]


class Postfix:
    """A configuration directory, its queue directory, and the scripts on them."""

    def __init__(self, folder, main_cf, master_cf=MASTER):
        self.folder = folder / "postfix"
        self.queue = folder / "queue"
        self.folder.mkdir()
        self.queue.mkdir()
        # First, so that each state may end as it likes.
        self.main_cf = self.folder / "main.cf"
        self.main_cf.write_text(
            f"compatibility_level = 3.6\nqueue_directory = {self.queue}\n" + main_cf)
        (self.folder / "master.cf").write_text(master_cf)

    def run(self, script, *options):
        self.age()
        done = subprocess.run([SCRIPTS / script, "-c", self.folder, *options],
                              capture_output=True, text=True, timeout=300, check=False)
        self.age()
        return self.rest(done) if script == "check" else done

    def rest(self, done):
        """What check says besides that no Postfix runs with these files, as it does."""
        lines = done.stdout.splitlines(keepends=True)
        rest = [line for line in lines if not line.startswith("WRONG:   Postfix is not running")]
        if done.returncode == 1 and len(rest) < len(lines):
            done.returncode = int(any(line.startswith("WRONG") for line in rest))
        done.stdout = "".join(rest)
        return done

    def age(self):
        """Postfix waits a moment before it reads a main.cf that is new."""
        os.utime(self.main_cf, (10**9, 10**9))

    def do(self, script, *options):
        done = self.run(script, *options)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def postconf(self, *options):
        return subprocess.run(["postconf", "-c", self.folder, *options], capture_output=True,
                              text=True, timeout=300, check=True).stdout

    def value(self, name):
        return self.postconf("-x", "-h", name).rstrip("\n")

    @property
    def bytes(self):
        return self.main_cf.read_bytes()


@pytest.fixture
def make(tmp_path):
    return lambda *args: Postfix(tmp_path, *args)


def squeeze(text):
    return " ".join(text.split())


@pytest.mark.parametrize("name, main_cf, smtpd, non_smtpd", STATES, ids=STATE_NAMES)
def test_put_in_and_taken_out(make, name, main_cf, smtpd, non_smtpd):
    """enable puts the milter first and keeps the others, a second run changes nothing, and
    disable restores every byte."""
    postfix = make(main_cf)
    before = postfix.bytes
    postfix.do("enable")
    once = postfix.bytes
    assert once != before
    values = postfix.postconf("-x", "-h", *LISTS).splitlines()
    assert [squeeze(value) for value in values] == [squeeze(smtpd), squeeze(non_smtpd)]
    postfix.do("enable")
    assert postfix.bytes == once
    postfix.do("disable")
    assert postfix.bytes == before


@pytest.mark.parametrize("name", ["several lines", "smtpd refers to non_smtpd"])
def test_check_tells_before_from_after(make, name):
    postfix = make(STATES[STATE_NAMES.index(name)][1])
    before = postfix.bytes
    said = postfix.run("check")
    assert said.returncode == 1
    for milters in LISTS:
        assert f"WRONG:   {milters} lacks unix:postern/milter.sock" in said.stdout
    postfix.do("enable")
    with listening(postfix):
        said = postfix.do("check")
    assert "WRONG" not in said
    assert "more than once" not in said
    for _ in range(2):
        postfix.do("disable")
        assert postfix.bytes == before


@functools.cache
def empty_database():
    """A database without rows: to make one takes longer than all that check does."""
    folder = Path(tempfile.mkdtemp(prefix="empty.", dir=os.environ["POSTERN_SANDBOX_CACHE"]))
    conf = folder / "postern.conf"
    conf.write_text(f"[store]\ndatabase = {folder}/empty.db\n")
    subprocess.run([TREE / os.environ.get("BUILD", "build") / "postern", "-c", conf, "db", "migrate"],
                   timeout=180, check=True, capture_output=True)
    return folder / "empty.db"


class listening:
    """Runs postern-milter at its socket, as Postfix reaches it; as an unprivileged user
    unless told otherwise."""

    def __init__(self, postfix, mode=0o666, user="nobody"):
        self.path = postfix.queue / "postern/milter.sock"
        self.own = postfix.folder.parent / "milter"
        self.mode = mode
        self.user = user

    def _command(self, program, *words):
        who = pwd.getpwnam(self.user)
        group = self.path.parent.stat().st_gid
        # A tree in somebody's home may be closed to others.
        own = self.own / program
        if not own.exists():
            shutil.copy(TREE / os.environ.get("BUILD", "build") / program, own)
        return {"args": [own, "-c", self.own / "milter.conf", *words],
                "user": who.pw_uid, "group": who.pw_gid, "extra_groups": [group]}

    def __enter__(self):
        # Everybody must get there from the root of the file system.
        for folder in list(self.path.parents)[:-1]:
            if folder.stat().st_uid == os.getuid() and folder.name != "tmp":
                folder.chmod(folder.stat().st_mode | 0o111)
        who = pwd.getpwnam(self.user)
        self.own.mkdir(exist_ok=True)
        os.chown(self.own, who.pw_uid, who.pw_gid)
        os.chown(self.path.parent, who.pw_uid, -1)
        (self.own / "milter.conf").write_text(
            f"[store]\ndatabase = {self.own}/milter.db\n[milter]\nsocket = {self.path}\n")
        shutil.copy(empty_database(), self.own / "milter.db")
        os.chown(self.own / "milter.db", who.pw_uid, who.pw_gid)
        with (self.own / "milter.log").open("a") as log:
            self.process = subprocess.Popen(**self._command("postern-milter"), stderr=log)
        wait_for("the milter", lambda: self.path.exists() or self.process.poll())
        self.path.chmod(self.mode)
        return self.process

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        self.process.wait(timeout=180)
        self.path.unlink(missing_ok=True)


def test_disable_after_other_changes(make):
    postfix = make("smtpd_milters = inet:localhost:1\n")
    postfix.do("enable")
    text = postfix.main_cf.read_text()
    postfix.main_cf.write_text(
        text.replace("inet:localhost:1", "inet:localhost:7, inet:localhost:8") + "biff = no\n")
    postfix.do("disable")
    assert postfix.value("smtpd_milters") == "inet:localhost:7, inet:localhost:8"
    assert postfix.value("non_smtpd_milters") == ""
    assert postfix.main_cf.read_text().endswith("biff = no\n")


def test_disable_takes_out_what_was_put_in_by_hand(make):
    postfix = make(
        "smtpd_milters = inet:localhost:1, unix:postern/milter.sock, {inet:localhost:2,x=y}\n"
        "non_smtpd_milters = inet:localhost:1 { local:postern/milter.sock , a = b }\n")
    postfix.do("disable")
    assert postfix.value("smtpd_milters") == "inet:localhost:1, {inet:localhost:2,x=y}"
    assert postfix.value("non_smtpd_milters") == "inet:localhost:1"


def test_enable_leaves_what_was_put_in_by_hand(make):
    postfix = make("smtpd_milters = inet:localhost:1, unix:postern/milter.sock\n")
    postfix.do("enable")
    assert postfix.value("smtpd_milters") == "inet:localhost:1, unix:postern/milter.sock"
    assert postfix.value("non_smtpd_milters") == OURS


def test_disable_says_what_it_cannot_take_out(make):
    postfix = make("all = unix:postern/milter.sock\nsmtpd_milters = $all\n")
    before = postfix.bytes
    done = postfix.run("disable")
    assert done.returncode == 1
    assert "smtpd_milters has it still, by another parameter" in done.stderr
    assert postfix.bytes == before


def test_warnings_of_postfix_name_its_own_files(make):
    postfix = make("mynetworks = 127.0.0.1\nmynetworks = 127.0.0.2\n")
    done = postfix.run("enable")
    assert done.returncode == 0
    warnings = [line for line in done.stderr.splitlines() if "overriding earlier entry" in line]
    assert warnings and all(f"{postfix.folder}/main.cf, line " in line for line in warnings)


@pytest.mark.parametrize("name, options", [
    ("main.cf", ()), ("master.cf", ("--submission", "smtp"))])
def test_what_others_write_meanwhile_stays(make, tmp_path, monkeypatch, name, options):
    postfix = make("smtpd_milters = inet:localhost:1\n")
    file = postfix.folder / name
    theirs = file.read_text() + "# of somebody else\n"
    shim = tmp_path / "bin/postconf"
    shim.parent.mkdir()
    shim.write_text(
        "#!/bin/sh\n"
        f'case "$*" in */draft*) [ -e {tmp_path}/done ] || {{ : >{tmp_path}/done\n'
        f"cat >{file} <<'END'\n{theirs}END\n}} ;; esac\n"
        f'exec {shutil.which("postconf", path=os.environ["PATH"] + ":/usr/sbin:/sbin")} "$@"\n')
    shim.chmod(0o755)
    with monkeypatch.context() as patch:
        patch.setenv("PATH", f"{shim.parent}:{os.environ['PATH']}")
        said = postfix.run("enable", *options)
    assert (tmp_path / "done").exists()
    assert said.returncode == 1
    assert f"{name} was changed by somebody else meanwhile" in squeeze(said.stderr)
    assert file.read_text() == theirs
    postfix.do("enable", *options)
    assert "# of somebody else\n" in file.read_text()


def test_nothing_is_left_of_what_cannot_be_written(make, tmp_path, monkeypatch):
    """As on a full disk, where a copy is begun and not finished."""
    postfix = make("myhostname = a.test\n")
    before = postfix.bytes
    shim = tmp_path / "bin/cp"
    shim.parent.mkdir()
    shim.write_text(
        "#!/bin/sh\n"
        'for to; do :; done\ncase $to in *.postern-new) : >"$to"; exit 1 ;; esac\n'
        f'exec {shutil.which("cp")} "$@"\n')
    shim.chmod(0o755)
    with monkeypatch.context() as patch:
        patch.setenv("PATH", f"{shim.parent}:{os.environ['PATH']}")
        said = postfix.run("enable")
    assert said.returncode == 1
    assert "cannot write" in said.stderr
    assert postfix.bytes == before
    assert sorted(f.name for f in postfix.folder.iterdir()) == ["main.cf", "master.cf"]


def test_owner_mode_and_symlink_stay(make, tmp_path):
    postfix = make("")
    real = tmp_path / "real.cf"
    postfix.main_cf.rename(real)
    postfix.main_cf.symlink_to(real)
    real.chmod(0o640)
    postfix.do("enable")
    assert postfix.main_cf.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert OURS in real.read_text()
    assert sorted(os.listdir(postfix.folder)) == ["main.cf", "master.cf"]


def test_enable_makes_the_folder_and_disable_removes_it(make):
    postfix = make("")
    folder = postfix.queue / "postern"
    assert "made" in postfix.do("enable")
    assert folder.stat().st_mode & 0o7777 == 0o2750
    assert folder.group() == "postfix"
    postfix.do("disable")
    assert not folder.exists()


def test_disable_keeps_a_folder_in_use(make):
    postfix = make("")
    postfix.do("enable")
    with listening(postfix):
        postfix.do("disable")
        assert (postfix.queue / "postern/milter.sock").exists()


@pytest.mark.parametrize("owner, group, mode, mended", [
    (OWNER, "postfix", 0o2750, False), (OWNER, "postfix", 0o2755, False),
    (OWNER, "postfix", 0o0700, True), (OWNER, "root", 0o2750, True),
    (OWNER, "postfix", 0o2770, True), ("root", "postfix", 0o2550, True),
    (54321, "postfix", 0o2750, True), ("daemon", "postfix", 0o2700, False),
])
def test_enable_mends_the_folder(make, owner, group, mode, mended):
    """enable corrects the directory, but takes it away from no owner other than
    root."""
    postfix = make("")
    folder = postfix.queue / "postern"
    folder.mkdir()
    shutil.chown(folder, owner, group)
    folder.chmod(mode)
    said = postfix.run("enable")
    assert said.returncode == 0
    assert (f"{folder}: was " in said.stdout) == mended
    assert ("WARNING: the user postfix cannot go into" in said.stderr) == (owner == "daemon")
    assert folder.stat().st_mode & 0o7777 == (0o2750 if mended else mode)
    assert (folder.owner(), folder.group()) == (OWNER if mended else owner, "postfix")
    assert f"{folder}: was" not in postfix.do("enable")


def test_a_folder_of_others_is_left_alone(make):
    postfix = make("")
    folder = postfix.queue / "private"
    folder.mkdir(mode=0o755)
    postfix.do("enable", "-s", "private/milter.sock")
    assert folder.stat().st_mode & 0o7777 == 0o755


@pytest.mark.parametrize("given, written", [
    ("other/m.sock", "unix:other/m.sock"),
    ("unix:other/m.sock", "unix:other/m.sock"),
    ("QUEUE/other/m.sock", "unix:other/m.sock"),
    ("QUEUE-not/m.sock", "unix:QUEUE-not/m.sock"),
])
def test_another_socket(make, given, written):
    postfix = make("")
    before = postfix.bytes
    given, written = (text.replace("QUEUE", str(postfix.queue)) for text in (given, written))
    postfix.do("enable", "-s", given)
    assert postfix.value("smtpd_milters") == f"{{ {written}, default_action=tempfail }}"
    postfix.do("disable", "-s", given)
    assert postfix.bytes == before


def test_reload_is_told_or_done(make):
    postfix = make("")
    assert f"postfix -c {postfix.folder} reload" in postfix.do("enable")
    assert "not running" in postfix.do("enable", "--reload")


@pytest.mark.parametrize("options, text", [
    (["-x"], "what is -x?"), (["-s"], "-s needs a value"), (["-s", "a b"], "not a path"),
    (["-s", ""], "which socket?"), (["extra"], "what is extra?"),
])
@pytest.mark.parametrize("script", ["enable", "disable", "check"])
def test_wrong_usage(make, script, options, text):
    postfix = make("")
    before = postfix.bytes
    done = postfix.run(script, *options)
    assert done.returncode == 64
    assert text in done.stderr and f"usage: {script}" in done.stderr
    assert postfix.bytes == before


@pytest.mark.parametrize("script", ["enable", "disable", "check", "setup"])
def test_help_and_missing_postfix(tmp_path, script):
    done = subprocess.run([SCRIPTS / script, "-h"], capture_output=True, text=True,
                          timeout=300, check=True)
    assert done.stdout.startswith(f"usage: {script}")
    assert max(len(line) for line in done.stdout.split("\n")) <= 80
    done = subprocess.run([SCRIPTS / script, "-c", tmp_path], capture_output=True, text=True,
                          timeout=300, check=False)
    assert done.returncode == 1
    assert f"{tmp_path}/main.cf is missing" in done.stderr
    assert "dpkg-reconfigure postfix" in done.stderr


# change to an enabled main.cf, more of master.cf, what check says, its status
FAULTS = [
    ("maximal_queue_lifetime = 0d\n", "", "WRONG:   maximal_queue_lifetime is 0", 1),
    ("", "rewrite unix - - y - - trivial-rewrite\n  -o transport_maps=\n",
     "WRONG:   master.cf: rewrite/unix has its own transport_maps", 1),
    ("header_checks = inline:{x}, regexp:{ {/^X-/i filter smtp:x} {/FILTER y/ OK} }\n", "",
     "warning: header_checks has FILTER", 0),
    ("header_checks = regexp:{ {/^Subject: a/ HOLD} }\n", "",
     "warning: header_checks has HOLD: mail that it matches", 0),
    ("body_checks = regexp:{ {/a/ hold for review} }\n", "",
     "warning: body_checks has HOLD: mail that it matches", 0),
    ("body_checks = pcre:{ {/x/ REDIRECT a@b.test} }\n", "",
     "warning: body_checks has REDIRECT", 0),
    ("recipient_bcc_maps = static:a@b.test\n", "", "warning: recipient_bcc_maps", 0),
    ("recipient_canonical_maps = inline:{a@b.test=c@d.test}\n", "",
     "warning: recipient_canonical_maps: if it changes a recipient", 0),
    ("header_checks = regexp:{ {/^X-/ IGNORE} }\n", "",
     "warning: header_checks has IGNORE for the field X-Postern-Email-Id", 0),
    ("header_checks = regexp:{ {/^X-/ IGNORE} }, regexp:{ {/^message-id:/ ignore} }\n", "",
     "warning: header_checks has IGNORE for the field Message-ID", 0),
    ("header_checks = regexp:{ {/^postern-/ IGNORE} }\n", "",
     "warning: header_checks has IGNORE for the field Postern-Nonce: emails of", 0),
    ("enable_original_recipient = no\n", "", "warning: enable_original_recipient", 0),
    ("milter_protocol = 4\n", "", "WRONG:   milter_protocol is 4", 1),
    ("receive_override_options = no_milters, no_address_mappings\n", "",
     "WRONG:   receive_override_options has no_milters", 1),
    ("message_size_limit = 10240000\n", "", "warning: message_size_limit is 10240000", 0),
    ("header_size_limit = 50000\n", "",
     "warning: header_size_limit is 50000: Postfix truncates or returns emails that"
     " postern-httpd accepts; set 60000 or more", 0),
    ("header_address_token_limit = 1000\nheader_size_limit = 60000\n", "",
     "warning: header_address_token_limit is 1000", 0),
    ("hopcount_limit = 10\n", "", "warning: hopcount_limit is 10", 0),
    ("smtpd_milter_maps = inline:{{10.9.0.1=DISABLE}}\n", "",
     "warning: smtpd_milter_maps can turn milters off for some clients", 0),
    ("smtpd_milter_maps = cidr:{ {127.0.0.0/8 DISABLE} }\n", "",
     "WRONG:   smtpd_milter_maps turns the milter off for clients of this host's networks, whose"
     " mail by SMTP is neither checked nor recorded: 127.0.0.1 (cidr:{ {127.0.0.0/8 DISABLE} }:"
     " DISABLE)", 1),
    ("mynetworks = 127.0.0.0/8 10.0.0.0/8\nsmtpd_milter_maps = cidr:{ {10.0.0.0/9 inet:a:1} }\n",
     "", "recorded: 10.0.0.0 (cidr:{ {10.0.0.0/9 inet:a:1} }: inet:a:1);", 1),
    ("mynetworks = 127.0.0.1\nsmtpd_milter_maps = cidr:{ {127.0.0.0/8 unix:postern/milter.sock},"
     " {::1/128 {unix:postern/milter.sock}}, {0.0.0.0/0 DISABLE} }\n", "",
     "good:    smtpd_milter_maps leaves the milter on for mynetworks", 0),
    ("mynetworks = 127.0.0.1\nsmtpd_milter_maps = cidr:{ {!127.0.0.0/8 DISABLE} }\n",
     "mua inet n - y - - smtpd\n  -o smtpd_sasl_auth_enable=yes\n",
     "warning: smtpd_milter_maps turns the milter off for clients from other networks, who may log in"
     " at mua/inet:", 0),
    ("authorized_submit_users = !ann, bob\n", "",
     "WRONG:   authorized_submit_users (!ann, bob) lacks the user", 1),
    (f"authorized_submit_users = !{OWNER}, static:anyone\n", "",
     f"postconf -e 'authorized_submit_users = !{OWNER}, static:anyone, {OWNER}'", 1),
    (f"authorized_submit_users = inline:{{{OWNER}=x}}\n", "", "good:    milter_protocol", 0),
    (f"authorized_submit_users = ann, {OWNER}\n", "", "good:    milter_protocol", 0),
    ("sender_canonical_maps = inline:{a=b}\n", "", "warning: sender_canonical_maps", 0),
    ("masquerade_domains = example.com\n", "", "warning: masquerade_domains", 0),
    ("internal_mail_filter_classes = bounce\n", "",
     "warning: internal_mail_filter_classes is bounce", 0),
    ("internal_mail_filter_classes = x,notify\n", "",
     "warning: internal_mail_filter_classes is x,notify", 0),
    ("content_filter = smtp:[127.0.0.1]:10024\n", "", "warning: content_filter", 0),
    ("", "submission inet n - y - - smtpd\n  -o smtpd_milters=inet:localhost:1\n",
     "warning: master.cf: submission/inet has its own smtpd_milters", 0),
    ("", "submission inet n - y - - smtpd\n  -o smtpd_milters=\n",
     "warning: master.cf: submission/inet has its own smtpd_milters", 0),
    ("", "quiet unix n - y - 0 cleanup\n  -o { non_smtpd_milters = inet:localhost:1 }\n",
     "warning: master.cf: quiet/unix has its own non_smtpd_milters", 0),
    ("", "10025 inet n - y - - smtpd\n  -o receive_override_options=no_milters\n",
     "warning: master.cf: 10025/inet has no_milters", 0),
]


@pytest.fixture(scope="module")
def enabled(tmp_path_factory):
    """A Postfix with the milter, whose files each test leaves unchanged."""
    postfix = Postfix(tmp_path_factory.mktemp("enabled"), "message_size_limit = 0\n")
    postfix.do("enable")
    with listening(postfix):
        yield postfix


@pytest.mark.parametrize("change, service, text, status", FAULTS, ids=[f[2] for f in FAULTS])
def test_check_names_the_fault(enabled, change, service, text, status):
    clean = change == "" or "message_size_limit" in change
    master_cf = enabled.folder / "master.cf"
    files = {path: path.read_bytes() for path in (enabled.main_cf, master_cf)}
    enabled.main_cf.write_bytes(files[enabled.main_cf] + change.encode())
    master_cf.write_bytes(files[master_cf] + service.encode())
    done = enabled.run("check")
    for path, content in files.items():
        path.write_bytes(content)
    assert text in done.stdout
    assert done.returncode == status, done.stdout
    assert clean or done.stdout.count("WRONG") == status


def test_check_names_a_rule_once(enabled):
    """mime_header_checks and nested_header_checks default to header_checks."""
    before = enabled.main_cf.read_bytes()
    enabled.main_cf.write_bytes(before + b"header_checks = regexp:{ {/x/ REDIRECT a@b.test} }\n")
    said = enabled.run("check").stdout
    enabled.main_cf.write_bytes(before)
    assert said.count("has REDIRECT") == 1


def test_check_warns_only_of_what_it_could_not_look_at(make):
    postfix = make("message_size_limit = 0\n",
                   MASTER + "submission inet n - y - - smtpd\n  -o smtpd_milters=$non_smtpd_milters\n")
    postfix.do("enable")
    with listening(postfix):
        lines = postfix.do("check").splitlines()
    rest = [line for line in lines if not line.startswith("good:")]
    assert rest == [
        "warning: no postern.conf was looked at: -p names it",
    ]
    assert len(lines) == 7 + len(rest)


def test_check_tells_what_rewriting_does(make):
    postfix = make("canonical_maps = inline:{a=b}\n")
    postfix.do("enable")
    said = postfix.run("check").stdout
    assert "ticket_mismatch" in said and "smtp_generic_maps" in said


def test_check_knows_whose_default_action_is_ours(make):
    """milter_default_action applies to an entry without an action of its own."""
    postfix = make("smtpd_milters = unix:postern/milter.sock\n")
    postfix.do("enable")
    text = postfix.main_cf.read_text()
    postfix.main_cf.write_text(text + "milter_default_action = accept\n")
    said = postfix.run("check").stdout
    assert "WRONG:   smtpd_milters: default_action is accept for unix:postern" in said
    assert "non_smtpd_milters: default_action" not in said
    assert "unchecked and unrecorded" in said and "lose their recipients" in said


# what main.cf and a service of master.cf have, and where mail would not wait
ACTIONS = [
    ("smtpd_milters = unix:postern/milter.sock\n", "", ""),  # Postfix's default is tempfail
    ("milter_default_action = accept\nsmtpd_milters = inet:localhost:1\n", "", ""),
    ("smtpd_milters = { unix:postern/milter.sock, connect_timeout=1s }\n", "", ""),
    ("smtpd_milters = { unix:postern/milter.sock, default_action = accept }\n", "",
     "smtpd_milters: default_action is accept"),
    ("smtpd_milters = { unix:postern/milter.sock, default_action=quarantine }\n", "",
     "smtpd_milters: default_action is quarantine"),
    ("smtpd_milters = { inet:localhost:1, default_action=accept } " + OURS + "\n", "", ""),
    ("non_smtpd_milters = unix:postern/milter.sock\nmilter_default_action = reject\n", "",
     "non_smtpd_milters: default_action is reject"),
    ("milter_default_action = accept\n", "smtpd_milters = unix:postern/milter.sock",
     "master.cf: 587/inet: smtpd_milters: default_action is accept"),
    ("", "smtpd_milters = {unix:postern/milter.sock,default_action=accept}",
     "master.cf: 587/inet: smtpd_milters: default_action is accept"),
    ("smtpd_milters = unix:postern/milter.sock\n", "milter_default_action = accept",
     "master.cf: 587/inet: smtpd_milters: default_action is accept"),
    ("", "milter_default_action = accept", ""),
    ("milter_default_action = accept\n", "smtpd_milters = $non_smtpd_milters", ""),
    ("milter_default_action = accept\n", "smtpd_milters = " + OURS, ""),
]


@pytest.mark.parametrize("main_cf, option, text", ACTIONS)
def test_a_default_action_that_loses_mail_is_refused_and_found(make, main_cf, option, text):
    service = f"587 inet n - y - - smtpd\n  -o {{ {option} }}\n" if option else ""
    postfix = make(main_cf, MASTER + service)
    before = postfix.bytes
    done = postfix.run("enable")
    assert (done.returncode == 1) == bool(text)
    if text:
        assert f"enable: {text} for unix:postern/milter.sock\n" in done.stderr
        assert f"Write the\nentry as '{OURS}'" in done.stderr
        assert postfix.bytes == before
    said = postfix.run("check").stdout
    assert (f"WRONG:   {text} for" in said) if text else ("default_action is" not in said)


def test_check_warns_of_another_order(make):
    postfix = make(f"smtpd_milters = inet:localhost:8891, {OURS}\n")
    postfix.do("enable")
    with listening(postfix):
        done = postfix.do("check")
    assert "warning: smtpd_milters: another milter comes first" in done
    assert "non_smtpd_milters: another milter" not in done


def test_check_socket(make):
    postfix = make("")
    postfix.do("enable")
    path = postfix.queue / "postern/milter.sock"
    assert f"WRONG:   {path} is missing" in postfix.run("check").stdout
    path.write_text("")
    assert f"WRONG:   {path} is no socket" in postfix.run("check").stdout
    path.unlink()
    with listening(postfix):
        pass
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(str(path))
    dead.close()
    path.chmod(0o666)
    assert f"WRONG:   {path}: Connection refused" in postfix.run("check").stdout
    path.unlink()
    with listening(postfix, mode=0o600):
        done = postfix.run("check")
    assert f"WRONG:   {path}: Permission denied (as the user postfix)" in done.stdout
    assert done.returncode == 1


def test_check_wants_a_milter_that_answers(make):
    postfix = make("")
    postfix.do("enable")
    with listening(postfix) as milter:
        assert "the milter answers at " in postfix.do("check")
        milter.send_signal(signal.SIGSTOP)
        done = postfix.run("check")
        assert done.returncode == 1
        assert (f"process {milter.pid} takes connections but does not answer: it was stopped,"
                f" kill -CONT {milter.pid} lets it go on") in done.stdout
        milter.send_signal(signal.SIGCONT)
        postfix.do("check")


def test_check_wants_a_milter_and_nothing_else(make):
    postfix = make("")
    postfix.do("enable")
    path = postfix.queue / "postern/milter.sock"
    command = ["/usr/bin/python3", "-c", (
        "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]);"
        "s.listen(); s.accept()[0].sendall(b'220 hello')"), path]
    with subprocess.Popen(command) as other:
        wait_for("the socket", path.exists)
        path.chmod(0o666)
        for folder in list(path.parents)[:-1]:
            folder.chmod(folder.stat().st_mode | 0o111)
        done = postfix.run("check")
        other.kill()
    assert f"WRONG:   {path}: process {other.pid} is no milter" in done.stdout


def test_check_wants_a_milter_without_rights(make):
    postfix = make("")
    postfix.do("enable")
    with listening(postfix, user="root") as milter:
        done = postfix.run("check")
    assert done.returncode == 1
    assert f"WRONG:   postern-milter (process {milter.pid}) runs as root" in done.stdout
