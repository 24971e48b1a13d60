"""The scripts of postfix-conf on files that people have worked on since.

Only postconf of Postfix is used; nothing is started.
"""

import fcntl
import os
import pty
import struct
import subprocess
import termios

import pytest
from test_postfix_conf import MASTER, OURS, SCRIPTS, make  # noqa: F401

pytestmark = pytest.mark.scripts


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


@pytest.mark.parametrize("behind", [
    "    inet:localhost:8891\n",
    "\tinet:localhost:8891\n",
    "# a signer\n\n  # behind ours\n    inet:localhost:8891\n",
])
@pytest.mark.parametrize("after", ["", "biff = no\n"])
def test_disable_of_a_list_that_goes_on(make, behind, after):  # noqa: F811
    """A continuation line must not continue the parameter before it."""
    postfix = make("myhostname = a.test\n")
    postfix.do("enable")
    line = f"non_smtpd_milters = {OURS}\n"
    edit(postfix.main_cf, line, line + behind + after)
    postfix.do("disable")
    assert postfix.value("myhostname") == "a.test"
    assert postfix.value("smtpd_milters") == ""
    assert postfix.value("non_smtpd_milters") == "inet:localhost:8891"


@pytest.mark.parametrize("behind", ["# a comment\n", "\n", "# a comment\nbiff = no\n"])
def test_disable_of_a_list_that_does_not_go_on(make, behind):  # noqa: F811
    postfix = make("")
    before = postfix.bytes
    postfix.do("enable")
    line = f"non_smtpd_milters = {OURS}\n"
    edit(postfix.main_cf, line, line + behind)
    postfix.do("disable")
    assert postfix.bytes == before + behind.encode()


@pytest.mark.parametrize("comment", ["# longer than usual\n", "\n", "  # more\n\n"])
def test_disable_of_a_service_with_comments(make, comment):  # noqa: F811
    """The comments stay; our options must not go to the service before them."""
    postfix = make("")
    master = postfix.folder / "master.cf"
    postfix.do("enable", "--submission", "smtp")
    edit(master, "  -o smtpd_timeout", comment + "  -o smtpd_timeout")
    master.write_text(master.read_text() + "# the next\nrelay unix - - y - - smtp\n")
    postfix.do("disable")
    assert master.read_text() == (
        MASTER + comment + "# the next\nrelay unix - - y - - smtp\n")


@pytest.mark.parametrize("chroot, caged", [
    ("y", "smtp/inet, cleanup/unix"), ("n", ""), ("-", ""),
])
def test_socket_out_of_the_chroot(make, tmp_path, chroot, caged):  # noqa: F811
    postfix = make("", MASTER.replace("-  y ", f"-  {chroot} "))
    where = ("-s", str(tmp_path / "milter.sock"))
    told, of_any = f"run in a chroot there: {caged};", "run in a chroot"
    done = postfix.run("enable", *where)
    assert done.returncode == 0 and (told in done.stderr) == bool(caged)
    said = postfix.run("check", *where).stdout
    assert (told in said) == (of_any in said) == bool(caged)
    assert of_any not in postfix.run("check").stdout


def test_check_in_a_narrow_terminal(make):  # noqa: F811
    """The lines are broken between words, and have the same words as elsewhere."""
    postfix = make("")
    elsewhere = subprocess.run([SCRIPTS / "check", "-c", postfix.folder], capture_output=True,
                               text=True, check=False).stdout
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    subprocess.run([SCRIPTS / "check", "-c", postfix.folder], stdout=its, check=False)
    os.close(its)
    with open(ours, "rb") as terminal:
        shown = read_all(terminal)
    lines = [line.rstrip() for line in shown.split("\r\n")]
    assert len(elsewhere.split("\n")) < len(lines)
    assert all(line[:9] in ("", " " * 9, "good:    ", "warning: ", "WRONG:   ") for line in lines)
    assert shown.split() == elsewhere.split()
    too_long = [line for line in lines if len(line) > 60]
    assert all(len(line[9:].split()) == 1 for line in too_long)


def read_all(terminal):
    """What the terminal shows, to the end of those who write to it."""
    shown = b""
    while True:
        try:
            shown += terminal.read1()
        except OSError:  # nobody has it open any more
            return shown.decode()
