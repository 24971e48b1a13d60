"""check shows by a message whether Postfix asks the milter; through a real Postfix."""

import contextlib
import os
import re
import subprocess
import threading
from pathlib import Path

import pytest
from harness import Sandbox
from harness.milter import REJECT, TEMPFAIL, OtherMilter
from harness.sandbox import METHOD, TREE

# The way that is broken, as check names it, and the parameter of its milters.
WAYS = {"sendmail": ("sendmail(1)", "non_smtpd_milters"), "smtp": ("SMTP to unix:", "smtpd_milters")}
WAY, LIST = WAYS[METHOD]
SERVICE = {"sendmail": "cleanup    unix  n  -  y  -     0  cleanup",
           "smtp": "syslog_name=postfix/postern"}[METHOD]

pytestmark = pytest.mark.scripts


@pytest.fixture(scope="module")
def shared():
    """A mail system that is healthy between two tests."""
    with Sandbox(parts=["auth"]) as box:
        yield box


class Changed:
    """Changes main.cf and master.cf until the end of a test."""

    def __init__(self, box):
        self.box = box
        self.files = [box.dir / "postfix" / name for name in ("main.cf", "master.cf")]
        self.before = [file.read_text() for file in self.files]

    @staticmethod
    def with_lines(text, lines):
        """main.cf with them in the place of what it says of the same names: of a name that
        stands twice every process of Postfix warns, and so does postlogd, which waits for
        itself for ever when others fill its socket meanwhile."""
        for line in lines:
            name = re.escape(line.partition("=")[0].strip())
            text = re.sub(rf"(?m)^{name}[ \t]*=.*\n([ \t].*\n)*", "", text)
        return "\n".join([text.rstrip("\n"), *lines, ""])

    def main_cf(self, *lines):
        self.files[0].write_text(self.with_lines(self.files[0].read_text(), lines))
        self.reload()

    def master_cf(self, behind, line):
        text = self.files[1].read_text()
        assert behind in text
        self.files[1].write_text(text.replace(behind, f"{behind}\n  {line}", 1))
        self.reload()

    def reload(self):
        self.box.reload_postfix()

    def undo(self):
        for file, text in zip(self.files, self.before):
            file.write_text(text)
        self.reload()

    def check(self):
        """Returns what check reports of the ways into Postfix. No message may be left
        behind."""
        done = subprocess.run(
            [TREE / "postfix-conf/check", "-c", self.box.dir / "postfix", "-p", self.box.config],
            capture_output=True, text=True, timeout=200, check=False)
        assert "Mail queue is empty" in subprocess.run(
            ["postqueue", "-c", self.box.dir / "postfix", "-p"], check=True,
            capture_output=True, text=True, timeout=60).stdout
        assert not self.box.waiting() and not self.box.sink.all()
        return done.stdout


def descends_from(pid, ancestor):
    while pid > 1 and pid != ancestor:
        # Behind the name, which may have blanks: state and parent.
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return pid == ancestor


class Arguments:
    """Those of all processes of this test's that have a text, as long as it lasts."""

    def __init__(self, text):
        self.text = text.encode()
        self.looks, self.found = 0, set()
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._look)

    def _look(self):
        while not self.over.is_set():
            for file in Path("/proc").glob("[0-9]*/cmdline"):
                with contextlib.suppress(OSError):
                    words = file.read_bytes()
                    if self.text in words and descends_from(int(file.parent.name), os.getpid()):
                        self.found.add(words)
            self.looks += 1

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


@pytest.fixture
def changed(shared):
    changed = Changed(shared)
    yield changed
    changed.undo()


def fault(said, way=WAY):
    """Returns the line about the way that does not work."""
    return next(line for line in said.splitlines() if line.startswith(f"WRONG:   mail by {way}"))


@pytest.mark.submission
def test_the_milter_is_asked(shared):
    said = Changed(shared).check()
    ways = [line for line in said.splitlines() if "the milter is asked about" in line]
    # Besides, the service with logins.
    assert len(ways) == (4 if METHOD == "smtp" else 3)
    assert all(line.startswith("good:") for line in ways)
    assert "by SMTP to 127.0.0.1 port " in ways[-1]
    assert "action=probe outcome=accepted reason=ticket_probe" in shared.log("milter")


@pytest.mark.submission
def test_a_milter_that_main_cf_lacks(changed):
    changed.main_cf(f"{LIST} =")
    with Arguments("@postern.invalid") as arguments:
        said = changed.check()
    assert fault(said).endswith(
        f"Postfix did not ask the milter: {LIST} lacks it. The message waits"
        " (postern-milter is not in charge)")
    # It would do for somebody else's message, too; that of the tables is nobody's.
    of_nobody = b"0123456789abcdef0123456789abcdef@"
    assert arguments.looks > 10
    assert all(of_nobody in words for words in arguments.found)


def test_a_rule_that_changes_senders(changed):
    """check reports the rule only if it changes senders of registered domains, of whichever."""
    rule = "header_checks = regexp:{{ {{/^From:.*@{}>/ REPLACE From: x@place.test}} }}"
    changed.main_cf(rule.format("other\\.test"))
    assert "header_checks has" not in changed.check()
    company = changed.box.cli("domain", "list")[0]["company_id"]
    changed.box.cli("domain", "add", "second.test", "--company", company)
    for name in ("example\\.com", "second\\.test"):
        changed.main_cf(rule.format(name))
        assert "header_checks has REPLACE for the field From: emails" in changed.check(), name


def test_a_milter_that_is_turned_off(changed):
    changed.main_cf("receive_override_options = no_milters")
    assert "receive_override_options has no_milters. The message waits" in fault(changed.check())


@pytest.mark.submission
def test_a_milter_that_master_cf_lacks(changed):
    changed.master_cf(SERVICE, f"-o {LIST}=")
    line = fault(changed.check())
    assert "main.cf names it; was Postfix reloaded" in line
    assert f"has master.cf another {LIST}" in line


# What main.cf says, and what check says about the way: a message would not wait in Postfix's queue
# when the milter is not asked about it. The sandbox sends everything to its sink, as to a relayhost.
MAY_LEAVE = [
    ((f"{LIST} =", "transport_maps ="), "transport_maps does not have mail"),
    (("transport_maps =",), "transport_maps does not have mail"),
    ((f"{LIST} =", "transport_maps = inline:{postern.invalid=error:nobody}"), "error:nobody"),
    ((f"{LIST} =", "virtual_alias_maps = regexp:{ {/./ all@place.test} }"),
     "virtual_alias_maps takes tickets"),
    ((f"{LIST} =", "always_bcc = all@place.test"), "always_bcc"),
    ((f"{LIST} =", "content_filter = smtp:[127.0.0.1]:1"), "content_filter"),
    (("receive_override_options = no_milters", "always_bcc = all@place.test"), "always_bcc"),
    ((f"{LIST} =", "header_checks = regexp:{ {/^From:/ REDIRECT all@place.test} }"), "header_checks"),
]


@pytest.mark.parametrize("lines, why", MAY_LEAVE, ids=[" ".join(row[0]) for row in MAY_LEAVE])
def test_no_message_is_sent_that_may_leave_the_host(changed, lines, why):
    changed.main_cf(*lines)
    said = [line for line in changed.check().splitlines() if "no test message was sent" in line]
    assert any(re.search(why, line) for line in said if WAY in line), said


def test_a_service_with_a_transport_of_its_own(changed):
    changed.master_cf("rewrite    unix  -  -  y  -     -  trivial-rewrite", "-o transport_maps=")
    assert any(WAY in line and "no test message was sent" in line and "master.cf" in line
               for line in changed.check().splitlines())


def test_nothing_can_be_told_before_the_setup(changed):
    changed.main_cf("smtpd_milters =", "non_smtpd_milters =", "transport_maps =")
    said = [line for line in changed.check().splitlines() if "no test message was sent" in line]
    assert said and all(line.startswith("unknown:") for line in said)
    assert "run postern setup" in said[0]


@pytest.mark.submission
def test_mail_that_is_held(changed):
    hold = "header_checks = regexp:{ {/^Auto-Submitted:/ HOLD of mine} }"
    changed.main_cf(hold)
    assert "the milter is asked about mail by sendmail(1)" in changed.check()
    changed.main_cf(f"{LIST} =", hold)
    assert fault(changed.check()).endswith(f"{LIST} lacks it. The message is held")


@pytest.mark.submission
def test_a_milter_that_is_away(shared):
    shared.stop("milter")
    said = Changed(shared).check()
    shared.start("milter")
    if METHOD == "sendmail":
        assert "the message waits, the milter does not answer: No such file" in fault(said)
    else:
        assert f"WRONG:   {WAY}" in said and "takes no message: 451 4.7.1" in said


@pytest.mark.submission
def test_another_milter_that_is_away(changed):
    changed.main_cf(f"{LIST} = inet:127.0.0.1:1, unix:postern/milter.sock")
    said = changed.check()
    if METHOD == "sendmail":
        assert "although the milter answers: another one puts mail off" in fault(said)
        assert f"{LIST} is inet:127.0.0.1:1, unix:" in fault(said)
    else:
        assert f"WRONG:   {WAY}" in said and "takes no message: 451 4.7.1" in said


@pytest.mark.submission
@pytest.mark.parametrize("verdict, said", [
    (REJECT, "5.7.1 Command rejected|takes no message: 550 5.7.1"),
    (TEMPFAIL, "4.7.1 Service unavailable|takes no message: 451 4.7.1|puts mail off"),
])
def test_another_milter_behind(changed, verdict, said):
    """Our milter is asked, and lets the message pass."""
    with OtherMilter(verdict) as other:
        changed.main_cf(f"{LIST} = unix:postern/milter.sock, {other.name}")
        line = next(line for line in changed.check().splitlines()
                    if line.startswith("WRONG") and WAY in line)
    assert re.search(said, line), line


def test_postfix_is_stopped(changed):
    changed.box.stop("postfix")
    try:
        done = subprocess.run(
            [TREE / "postfix-conf/check", "-c", changed.box.dir / "postfix",
             "-p", changed.box.config], capture_output=True, text=True, timeout=200, check=False)
    finally:
        changed.box.start("postfix")
    assert done.returncode == 1
    assert "WRONG:   Postfix is not running: emails wait" in done.stdout
