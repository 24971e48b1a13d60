"""What postfix-conf tells postern.conf about Postfix.

Only postconf of Postfix is used; nothing is started.
"""

import functools
import os
import shutil
import subprocess

import pytest
from harness.sandbox import TREE
from test_postfix_conf import Postfix, empty_database, listening

pytestmark = pytest.mark.scripts

CLI = TREE / os.environ.get("BUILD", "build") / "postern"

MAIN = """\
myhostname = mail.own.test
mydestination = $myhostname, localhost, own.test
myorigin = $mydomain
mynetworks = 10.0.0.0/8 [2001:db8::]/32, 127.0.0.0/8
"""

# What postern.conf looks like before.
SETTINGS = [
    ("empty", ""),
    ("a section", "[log]\nlevel = info\n"),
    ("no newline at the end", "[milter]\ninternal_hosts = 192.0.2.1"),
    ("lists of its own", "[milter]\ninternal_hosts = 192.0.2.1\nlocal_domains = x.test\n\n"),
]
SETTING_NAMES = [row[0] for row in SETTINGS]


def with_conf(folder, settings="", main_cf=MAIN):
    """A Postfix beside a postern.conf."""
    postfix = Postfix(folder, main_cf)
    postfix.conf = folder / "postern.conf"
    postfix.conf.write_text(settings)
    return postfix


@pytest.fixture
def make(tmp_path):
    return functools.partial(with_conf, tmp_path)


def add_database(postfix):
    """Has postern.conf name an existing database and the intended socket."""
    with postfix.conf.open("a") as file:
        file.write(f"[store]\ndatabase = {postfix.folder}/postern.db\n"
                   f"milter.socket = {postfix.queue}/postern/milter.sock\n")
    shutil.copy(empty_database(), postfix.folder / "postern.db")


def effective(postfix):
    """Returns the effective settings by name."""
    done = subprocess.run([CLI, "-c", postfix.conf, "config"],
                          capture_output=True, text=True, timeout=300, check=True)
    return dict(line.split(" = ", 1) for line in done.stdout.splitlines() if " = " in line)


@pytest.mark.parametrize("name, before", SETTINGS, ids=SETTING_NAMES)
def test_enable_learns(make, name, before):
    postfix = make(before)
    postfix.do("enable", "-p", postfix.conf)
    now = effective(postfix)
    for host in ("127.0.0.0/8", "[::1]/128", "10.0.0.0/8", "[2001:db8::]/32"):
        assert host in now["internal_hosts"].split()
    assert ("192.0.2.1" in now["internal_hosts"]) == ("192.0.2.1" in before)
    for domain in ("mail.own.test", "localhost", "own.test"):
        assert domain in now["local_domains"].split()


@pytest.mark.parametrize("name, before", SETTINGS, ids=SETTING_NAMES)
def test_postern_conf_stays_as_it_is(make, name, before):
    """Learnt settings have a file of their own, which is removed again with its
    directory."""
    postfix = make(before)
    learnt = postfix.conf.parent / "postern.conf.d/learnt.conf"
    postfix.do("enable", "-p", postfix.conf)
    once = learnt.read_text()
    assert learnt.stat().st_mode & 0o777 == 0o644
    postfix.do("enable", "-p", postfix.conf)
    assert (postfix.conf.read_text(), learnt.read_text()) == (before, once)
    postfix.do("disable", "-p", postfix.conf)
    assert postfix.conf.read_text() == before
    assert not learnt.parent.exists()
    postfix.do("disable", "-p", postfix.conf)


def test_other_files_of_the_folder_stay(make):
    postfix = make()
    other = postfix.conf.parent / "postern.conf.d/own.conf"
    other.parent.mkdir()
    other.write_text("[milter]\ninternal_hosts = 192.0.2.7\n")
    postfix.do("enable", "-p", postfix.conf)
    assert {"192.0.2.7", "10.0.0.0/8"} <= set(effective(postfix)["internal_hosts"].split())
    postfix.do("disable", "-p", postfix.conf)
    assert [path.name for path in other.parent.iterdir()] == ["own.conf"]


BLOCK = """\
# Learnt from Postfix by postfix-conf/enable; disable takes it out.
milter.internal_hosts = 192.0.2.9
# End of what was learnt.
"""


@pytest.mark.parametrize("script", ["enable", "disable"])
def test_a_block_of_before_goes(make, script):
    """A former version wrote a block into postern.conf."""
    postfix = make("[http]\n" + BLOCK + "workers = 2\n")
    postfix.conf.chmod(0o640)
    os.chown(postfix.conf, 12345, 12346)
    postfix.do(script, "-p", postfix.conf)
    assert postfix.conf.read_text() == "[http]\nworkers = 2\n"
    info = postfix.conf.stat()
    assert (info.st_mode & 0o777, info.st_uid, info.st_gid) == (0o640, 12345, 12346)
    assert (script == "enable") == ("10.0.0.0/8" in effective(postfix)["internal_hosts"])


@pytest.mark.parametrize("script", ["enable", "disable"])
def test_a_block_without_its_end_stays(make, script):
    torn = BLOCK.replace("# End of what was learnt.", "[log]")
    postfix = make(torn)
    main_cf = postfix.bytes
    done = postfix.run(script, "-p", postfix.conf)
    assert done.returncode == 1 and "put the line '# End of what" in done.stderr
    assert (postfix.conf.read_text(), postfix.bytes) == (torn, main_cf)


def test_check_sees_a_drift(make):
    postfix = make()
    add_database(postfix)
    before = postfix.run("check", "-p", postfix.conf)
    assert "were not learnt" in before.stdout
    postfix.do("enable", "-p", postfix.conf)
    with listening(postfix):
        assert "has mynetworks" in postfix.do("check", "-p", postfix.conf)
        text = postfix.main_cf.read_text()
        postfix.main_cf.write_text(text.replace("10.0.0.0/8", "10.0.0.0/9"))
        after = postfix.run("check", "-p", postfix.conf)
        assert after.returncode == 1
        assert "have changed since: run postern setup" in after.stdout
        postfix.do("enable", "-p", postfix.conf)
        postfix.do("check", "-p", postfix.conf)
    assert "10.0.0.0/9" in effective(postfix)["internal_hosts"]
    assert "10.0.0.0/8" not in effective(postfix)["internal_hosts"]


def test_tables_are_named_not_learnt(make):
    postfix = make(main_cf="mynetworks = hash:/etc/x !10.1.0.0/16 10.0.0.0/8\n"
                           "mydestination = pcre:/etc/y own.test\n")
    said = postfix.do("enable", "-p", postfix.conf)
    for item in ("hash:/etc/x", "!10.1.0.0/16", "pcre:/etc/y"):
        assert f"cannot learn {item}" in said
    assert effective(postfix)["internal_hosts"].split()[2:] == ["10.0.0.0/8"]
    assert effective(postfix)["local_domains"].split()[0] == "own.test"


def test_a_file_stands_for_its_content(make, tmp_path):
    names = tmp_path / "mailname"
    names.write_text("# ours\nfile.test\n")
    origin = tmp_path / "origin"
    origin.write_text("file.test\n")
    postfix = make(main_cf=f"myorigin = {origin}\nmydestination = {names}, own.test\n")
    postfix.do("enable", "-p", postfix.conf)
    assert effective(postfix)["local_domains"].split() == ["file.test", "own.test"]


def test_another_instance_writes_nowhere_unless_told(make):
    postfix = make()
    assert "postern.conf" not in postfix.do("enable").replace("cannot learn", "")
    assert postfix.conf.read_text() == ""
    done = postfix.run("enable", "-p", postfix.folder / "none.conf")
    assert done.returncode == 1
    assert "is missing" in done.stderr


def test_reload_without_a_milter_warns(make):
    postfix = make()
    done = postfix.run("enable", "-p", postfix.conf, "--reload")
    assert "no milter answers" in done.stderr
    with listening(postfix):
        done = postfix.run("enable", "-p", postfix.conf, "--reload")
    assert done.stderr == ""
