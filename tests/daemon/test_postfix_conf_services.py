"""postfix-conf: services of master.cf with milters of their own, and what else
names the milter."""

import smtplib
import subprocess

import pytest
from harness import wait_for
from test_postfix_conf import MASTER, OURS, SCRIPTS, make  # noqa: F401

pytestmark = pytest.mark.scripts

ENTRY = "{unix:postern/milter.sock,default_action=tempfail}"

# name, options of the service, its list after enable
OPTIONS = [
    ("one", "  -o smtpd_milters=inet:localhost:1\n", ENTRY + ",inet:localhost:1"),
    ("empty", "  -o smtpd_milters=\n", ENTRY + ","),
    ("of several", "  -o smtpd_milters=inet:localhost:1,unix:b.sock -o x=y\n",
     ENTRY + ",inet:localhost:1,unix:b.sock"),
    ("in braces", "  -o { smtpd_milters = inet:localhost:1, { unix:b.sock, x=y } }\n",
     ENTRY + ", inet:localhost:1, { unix:b.sock, x=y }"),
    ("the last counts", "  -o smtpd_milters=inet:localhost:1\n# no -o smtpd_milters=x\n"
                        "  -o smtpd_milters=inet:localhost:2\n", ENTRY + ",inet:localhost:2"),
    ("by another parameter", "  -o smtpd_milters=$mua_milters\n", ENTRY + ",inet:localhost:7"),
]


def service(options, name="submission inet"):
    return f"{MASTER}{name}  n  -  y  -  -  smtpd\n{options}" \
           "#\n# others\nscache     unix  -  -  y  -  1  scache\n"


@pytest.mark.parametrize("name, options, after", OPTIONS, ids=[o[0] for o in OPTIONS])
def test_put_in_and_taken_out(make, name, options, after):  # noqa: F811
    postfix = make("mua_milters = inet:localhost:7\n", service(options))
    master_cf = postfix.folder / "master.cf"
    before, main_before = master_cf.read_bytes(), postfix.bytes
    assert "submission/inet has its own smtpd_milters" in postfix.run("check").stdout
    said = postfix.do("enable", "--service", "submission")
    assert "master.cf: submission/inet: added" in said
    listed = postfix.postconf("-x", "-P", "submission/inet/smtpd_milters")
    assert listed.strip() == f"submission/inet/smtpd_milters = {after}"
    once = master_cf.read_bytes()
    assert "submission/inet has Postern's entry" in postfix.do("enable", "--service", "submission/inet")
    assert master_cf.read_bytes() == once
    assert "has its own smtpd_milters" not in postfix.run("check").stdout

    assert "removed" in postfix.do("disable", "--service", "submission")
    assert master_cf.read_bytes() == before
    assert OURS in postfix.value("smtpd_milters")

    postfix.do("enable", "--service", "submission")
    postfix.do("disable")
    assert master_cf.read_bytes() == before
    assert postfix.bytes == main_before


def test_several_services(make):  # noqa: F811
    options = "  -o smtpd_milters=\n"
    postfix = make("", service(options) + f"smtps inet n - y - - smtpd\n{options}")
    before = (postfix.folder / "master.cf").read_bytes()
    postfix.do("enable", "--service", "submission", "--service", "smtps", "--submission", "smtp")
    listed = postfix.postconf("-P", "*/inet/smtpd_milters")
    assert listed.count(ENTRY) == 2
    postfix.do("disable", "--service", "smtps")
    assert postfix.postconf("-P", "*/inet/smtpd_milters").count(ENTRY) == 1
    postfix.do("disable")
    assert (postfix.folder / "master.cf").read_bytes() == before


def test_a_service_without_a_list(make):  # noqa: F811
    postfix = make("", service("  -o x=y\n"))
    before = (postfix.folder / "master.cf").read_bytes()
    said = postfix.do("enable", "--service", "submission")
    assert "submission/inet has no smtpd_milters of its own" in said
    assert (postfix.folder / "master.cf").read_bytes() == before


@pytest.mark.parametrize("given, text", [
    ("imap", "master.cf has no service imap; it has: smtp/inet submission/inet"),
    ("both", "several services both: say which, both/inet both/unix"),
])
@pytest.mark.parametrize("script", ["enable", "disable"])
def test_which_service(make, script, given, text):  # noqa: F811
    more = "both inet n - y - - smtpd\nboth unix n - y - - smtpd\n" if given == "both" else ""
    postfix = make("", service("") + more)
    before = postfix.bytes
    done = postfix.run(script, "--service", given)
    assert done.returncode == 1 and text in done.stderr
    assert postfix.bytes == before


# What an admin has put in by hand, and what is left of it.
BY_HAND = [
    ("  -o smtpd_milters=unix:postern/milter.sock\n", "  -o smtpd_milters=\n"),
    ("  -o smtpd_milters=inet:localhost:1,unix:QUEUE/postern/milter.sock,inet:localhost:2\n",
     "  -o smtpd_milters=inet:localhost:1,inet:localhost:2\n"),
    ("  -o { smtpd_milters = { unix:postern/milter.sock, default_action=tempfail },"
     " inet:localhost:1 }\n", "  -o { smtpd_milters = inet:localhost:1 }\n"),
    ("  -o content_filter= -o non_smtpd_milters=unix:postern/milter.sock -o x=y\n",
     "  -o content_filter= -o non_smtpd_milters= -o x=y\n"),
]


@pytest.mark.parametrize("options, left", BY_HAND)
def test_disable_takes_out_what_was_put_in_by_hand(make, options, left):  # noqa: F811
    postfix = make("")
    master_cf = postfix.folder / "master.cf"
    master_cf.write_text(service(options.replace("QUEUE", str(postfix.queue))))
    before = postfix.bytes
    postfix.do("enable")
    postfix.do("disable")
    assert master_cf.read_text() == service(left)
    assert postfix.bytes == before


# What disable does not take out, by its place.
ELSEWHERE = [
    ("submission/inet/smtpd_milters", "",
     "  -o\n  { smtpd_milters =\n  unix:postern/milter.sock }\n"),
    ("submission/inet/smtpd_milters", "mua = unix:postern/milter.sock\n",
     "  -o smtpd_milters=$mua\n"),
    ("smtpd_milter_maps", "smtpd_milter_maps = cidr:{ {0.0.0.0/0 unix:postern/milter.sock} }\n",
     ""),
    ("smtpd_milter_maps", "smtpd_milter_maps = cidr:TABLE\n", ""),
    ("sender_dependent_default_transport_maps",
     "sender_dependent_default_transport_maps = inline:{ {@postern.invalid = smtp:x} }\n", ""),
]


@pytest.mark.parametrize("where, main_cf, options", ELSEWHERE)
def test_disable_refuses_what_it_cannot_take_out(  # noqa: F811
        make, tmp_path, where, main_cf, options):
    table = tmp_path / "table"
    table.write_text("# not unix:postern/milter.sock\n10.0.0.1 unix:postern/milter.sock\n")
    postfix = make(main_cf.replace("TABLE", str(table)), service(options))
    postfix.do("enable")
    files = [postfix.folder / name for name in ("main.cf", "master.cf")]
    before = [file.read_bytes() for file in files]
    done = postfix.run("disable")
    assert done.returncode == 1
    assert where in done.stderr and "so far nothing was changed" in done.stderr
    assert "not unix" not in done.stderr
    assert [file.read_bytes() for file in files] == before


def test_mail_by_the_service(own_box, to):
    """Mail through a service with its own milters is checked once enable has run for
    it."""
    box = own_box()
    address = box.add_smtpd("smtpd_milters=")

    def send():
        with smtplib.SMTP(*address.split(":"), timeout=60) as client:
            client.sendmail("forger@example.com", [to], "From: forger@example.com\n\nHello\n")

    send()
    subprocess.run(
        [SCRIPTS / "enable", "-c", box.env["POSTFIX_CONFIG"], "-p", box.config, "--service",
         address], check=True, capture_output=True, timeout=60)
    box.reload_postfix()

    def refused():
        try:
            send()
        except smtplib.SMTPResponseException as error:
            return error.smtp_code == 550
        return False

    wait_for("the rules to hold there", refused)
