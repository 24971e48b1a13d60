"""The service for postern-httpd in master.cf, put in, taken out and checked.

Only postconf of Postfix is used; nothing is started.
"""

import socket

import pytest
from test_postfix_conf import MASTER, listening, make  # noqa: F401

pytestmark = pytest.mark.scripts

MASTERS = {
    "usual": MASTER,
    "no newline at the end": MASTER.rstrip("\n"),
    "options at the end": MASTER + "submission inet n - y - - smtpd\n  -o syslog_name=x\n",
    "comment at the end": MASTER + "# the end\n\n",
    "similar names": MASTER + "postern inet n - y - - smtpd\npostern2 unix n - y - - smtpd\n",
    "empty": "",
}

SMTP = ("--submission", "smtp")


@pytest.fixture(params=MASTERS.values(), ids=MASTERS.keys())
def postfix(request, make):  # noqa: F811
    return make("", request.param)


def master_of(postfix):
    return (postfix.folder / "master.cf").read_bytes()


def service_of(postfix):
    return postfix.postconf("-M", "postern/unix").split()


def option_of(postfix, name):
    return postfix.postconf("-P", f"postern/unix/{name}").split("=", 1)[1].strip()


def test_put_in_and_taken_out(postfix):
    """Only for SMTP, at the end, once; disable restores every byte."""
    before = master_of(postfix), postfix.bytes
    postfix.do("enable")
    assert master_of(postfix) == before[0]
    postfix.do("enable", *SMTP)
    once = master_of(postfix)
    assert once.startswith(before[0])
    assert service_of(postfix)[:8] == "postern unix n - n - 256 smtpd".split()
    assert option_of(postfix, "smtpd_milter_maps") == ""
    assert option_of(postfix, "smtpd_relay_restrictions") == "permit_mynetworks,reject"
    assert "master.cf has the service" in postfix.do("enable", *SMTP)
    assert master_of(postfix) == once
    postfix.do("disable")
    assert (master_of(postfix), postfix.bytes) == before


def test_sendmail_needs_no_service(make):  # noqa: F811
    postfix = make("")
    before = master_of(postfix)
    postfix.do("enable", "--submission", "sendmail")
    assert master_of(postfix) == before


def test_disable_after_other_changes(make):  # noqa: F811
    postfix = make("")
    postfix.do("enable", *SMTP)
    before = (MASTER + "relay unix - - y - - smtp\n").encode()
    with (postfix.folder / "master.cf").open("a") as master:
        master.write("  -o smtpd_timeout=10s\nrelay unix - - y - - smtp\n")
    postfix.do("disable")
    assert master_of(postfix) == before


def test_enable_leaves_its_service_as_it_is(make):  # noqa: F811
    postfix = make("", MASTER + "postern unix n - y - 5 smtpd -o syslog_name=postfix/postern\n")
    before = master_of(postfix)
    postfix.do("enable", *SMTP)
    assert master_of(postfix) == before


@pytest.mark.parametrize("options", ["", "\n  -o syslog_name=postfix/other"])
def test_a_service_of_somebody_else(make, options):  # noqa: F811
    postfix = make("", MASTER + f"# mine\npostern unix n - y - 5 smtpd{options}\n")
    before = master_of(postfix), postfix.bytes
    where = f"{postfix.folder}/master.cf, line 6: "
    done = postfix.run("enable", *SMTP)
    assert done.returncode == 1 and where in done.stderr
    assert (master_of(postfix), postfix.bytes) == before
    postfix.do("enable")
    assert "warning: " + where in postfix.run("check").stdout
    done = postfix.run("disable")
    assert done.returncode == 0 and where in done.stderr and "it stays" in done.stderr
    assert (master_of(postfix), postfix.bytes) == before


def test_wrong_method(make):  # noqa: F811
    postfix = make("")
    before = master_of(postfix), postfix.bytes
    done = postfix.run("enable", "--submission", "qmqp")
    assert done.returncode == 64 and "sendmail or smtp" in done.stderr
    assert (master_of(postfix), postfix.bytes) == before


def test_check_wants_the_socket(make):  # noqa: F811
    postfix = make("message_size_limit = 0\n")
    postfix.do("enable", *SMTP)
    (postfix.queue / "public").mkdir()
    path = postfix.queue / "public/postern"
    with listening(postfix):
        assert f"WRONG:   {path} is missing" in postfix.run("check").stdout
        with socket.socket(socket.AF_UNIX) as smtpd:
            smtpd.bind(str(path))
            said = postfix.run("check").stdout
    assert "good:    master.cf has the service postern" in said
    assert "is missing" not in said and "lacks" not in said


@pytest.mark.parametrize("change, name", [
    ("smtpd_timeout=300s", "smtpd_timeout"),
    ("smtpd_milter_maps=\n", "smtpd_milter_maps"),
    ("smtpd_command_filter=\n", "smtpd_command_filter"),
    ("mynetworks=127.0.0.1/32,[::1]/128", "mynetworks"),
])
def test_check_names_options_that_differ(make, change, name):  # noqa: F811
    postfix = make("")
    postfix.do("enable", *SMTP)
    master = postfix.folder / "master.cf"
    master.write_text(master.read_text().replace(change, change.strip() + "1\n"))
    said = postfix.run("check").stdout
    assert said.count("lacks -o") == 1
    assert f"postern lacks -o {name}=" in said
