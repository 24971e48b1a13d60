"""What has mail wait while the milter is not asked: the line in transport_maps."""

import json
import re
import subprocess

import pytest
from harness import wait_for
from harness.sandbox import unique
from harness.submit import by_sendmail
from test_postfix_conf import SCRIPTS, WAIT, make  # noqa: F401

pytestmark = pytest.mark.scripts

TICKET = "0123456789abcdef0123456789abcdef@postern.invalid"
OLD = "inline:{ {postern.invalid = retry:4.3.5 postern-milter is not in charge} }"

# main.cf before, and what it has as transport_maps after enable. For each look-up in
# a table that is missing postmap(1) waits a second, so just one is.
STATES = {
    "unset": ("", WAIT),
    "empty": ("transport_maps =\n", WAIT + ","),
    "a table": ("transport_maps=hash:/x\n", WAIT + ",hash:/x"),
    "braces and commas": (
        "transport_maps = inline:{a=b:, c=d:}, regexp:{ {/a{1,2}/ b:} } texthash:/dev/null\n",
        WAIT + ", inline:{a=b:, c=d:}, regexp:{ {/a{1,2}/ b:} } texthash:/dev/null"),
    "several lines": (
        "transport_maps =\n  # mine\n\ttexthash:/dev/null,\n\n    inline:{\n     {a=b:} }\nbiff = no\n",
        WAIT + ", texthash:/dev/null, inline:{ {a=b:} }"),
    "another parameter": ("maps = texthash:/dev/null\ntransport_maps = $maps\n", WAIT + ", $maps"),
    "set twice": ("transport_maps = texthash:/dev/null\ntransport_maps = cidr:/dev/null\n", WAIT + ", cidr:/dev/null"),
    "no newline at the end": ("transport_maps = texthash:/dev/null", WAIT + ", texthash:/dev/null"),
    "before Postfix 3.7": ("mail_version = 3.6.4\n", OLD),
    "before Postfix 3.7, a table": ("mail_version = 3.0\ntransport_maps = texthash:/dev/null\n",
                                    OLD + ", texthash:/dev/null"),
    "a later Postfix": ("mail_version = 3.10.2\n", WAIT),
}


@pytest.fixture(params=STATES.values(), ids=STATES.keys())
def state(request, make):  # noqa: F811
    main_cf, after = request.param
    return make(main_cf), after


def maps(postfix):
    return " ".join(postfix.postconf("-h", "transport_maps").split())


def test_enable_puts_it_first_and_disable_undoes_every_byte(state):
    postfix, after = state
    before = postfix.bytes
    assert "WRONG:   transport_maps lacks postern.invalid" in postfix.run("check").stdout
    postfix.do("enable")
    assert maps(postfix) == after
    once = postfix.bytes
    assert "transport_maps: Postern's entry is there already" in postfix.do("enable")
    assert postfix.bytes == once
    assert "wait in Postfix when it does not ask the milter" in postfix.run("check").stdout
    postfix.do("disable")
    assert postfix.bytes == before


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_disable_of_a_list_that_others_changed(make):  # noqa: F811
    """A table before ours, and tables on continuation lines."""
    postfix = make("transport_maps = texthash:/dev/null\nmyhostname = a.test\n")
    postfix.do("enable")
    edit(postfix.main_cf, ", texthash:/dev/null\n", ",\n  texthash:/dev/null,\n# of mine\n  cidr:/dev/null\n")
    postfix.do("disable")
    assert maps(postfix) == "texthash:/dev/null, cidr:/dev/null"
    postfix.do("enable")
    edit(postfix.main_cf, "transport_maps =", "transport_maps = regexp:{ {/^a{1,2}@/ b:} },")
    assert "transport_maps: the list was written anew" in postfix.do("disable")
    assert maps(postfix) == "regexp:{ {/^a{1,2}@/ b:} }, texthash:/dev/null, cidr:/dev/null"
    assert postfix.value("myhostname") == "a.test"


def test_disable_of_a_line_that_goes_on(make):  # noqa: F811
    """Tables after it must not continue the parameter before it."""
    postfix = make("")
    postfix.do("enable")
    edit(postfix.main_cf, f"= {WAIT}", f"= {WAIT}\n  texthash:/dev/null")
    postfix.do("disable")
    assert maps(postfix) == "texthash:/dev/null"
    assert postfix.value("non_smtpd_milters") == ""


def test_disable_after_an_upgrade_of_postfix(make):  # noqa: F811
    postfix = make("mail_version = 3.6.4\n")
    before = postfix.bytes
    postfix.do("enable")
    edit(postfix.main_cf, "3.6.4", "3.7.1")
    postfix.do("disable")
    assert postfix.bytes == before.replace(b"3.6.4", b"3.7.1")


# what main.cf has that would take a ticket for an address, and what is said of it
TAKERS = {
    "canonical_maps = regexp:{ {/./ all@x.test} }":
        "canonical_maps takes tickets, which are addresses in the domain postern.invalid:"
        " regexp:{ {/./ all@x.test} }: all@x.test",
    "recipient_canonical_maps = static:all@x.test":
        "recipient_canonical_maps takes tickets",
    "virtual_alias_maps = regexp:{ {/^[0-9a-f]*@/ all@x.test} }":
        "virtual_alias_maps takes tickets",
    "virtual_alias_maps = inline:{@postern.invalid=all@x.test}":
        "virtual_alias_maps takes tickets",
    "virtual_alias_domains = regexp:{ {/./ x} }":
        "virtual_alias_domains takes the domain of tickets, postern.invalid",
    "smtpd_command_filter = regexp:{ {/^RCPT TO:/ RCPT TO:<all@x.test>} }":
        "smtpd_command_filter changes what postern-httpd says to sendmail -bs,"
        " RCPT TO:<0123456789abcdef0123456789abcdef@postern.invalid>:",
    "relocated_maps = proxy:regexp:{ {/./ x@y.test} }": "relocated_maps takes tickets",
    "mail_version = 3.6.4\ntransport_maps = regexp:{ {/./ smtp:x} }":
        "transport_maps does not have mail to postern.invalid wait:"
        " regexp:{ {/./ smtp:x} }: smtp:x",
    f"transport_maps = regexp:{{ {{/./ smtp:x}} }}, {WAIT}":
        "transport_maps does not have mail to postern.invalid wait",
}


@pytest.mark.parametrize("line", TAKERS, ids=[k.split()[0] for k in TAKERS])
def test_a_table_that_takes_tickets_is_refused_and_found(make, line):  # noqa: F811
    postfix = make(line + "\n")
    before = postfix.bytes
    done = postfix.run("enable")
    assert done.returncode == 1 and f"enable: {TAKERS[line]}" in done.stderr
    assert "'if !/@postern\\.invalid$/'" in done.stderr
    assert postfix.bytes == before and not (postfix.queue / "postern").exists()
    if "mail_version" in line:  # else enable's line is not the last
        return
    postfix.main_cf.write_text(postfix.main_cf.read_text().replace(line, ""))
    postfix.do("enable")
    postfix.main_cf.write_text(postfix.main_cf.read_text() + line + "\n")
    done = postfix.run("check")
    assert done.returncode == 1 and f"WRONG:   {TAKERS[line]}" in done.stdout


@pytest.mark.parametrize("line", [
    "canonical_maps = regexp:{ {if !/@postern\\.invalid$$/} {/./ all@x.test} {endif} }",
    "virtual_alias_maps = inline:{ {@x.test = all@y.test} }",
    "virtual_alias_maps = regexp:{ {/(.*)@(x|postern.invalid)$$/ $${1}@$${2}} }",
    "transport_maps = inline:{ {* = smtp:x} }, regexp:{ {/./ smtp:y} }",
])
def test_tables_that_leave_tickets_alone(make, line):  # noqa: F811
    postfix = make(line + "\n")
    postfix.do("enable")
    assert "wait in Postfix when it does not ask the milter" in postfix.run("check").stdout


@pytest.fixture(scope="module")
def away(request):
    """A Postfix that asks no milter, as after main.cf was edited or restored."""
    from harness import Sandbox
    with Sandbox("--submission", "sendmail") as box:
        for milters in ("smtpd_milters=", "non_smtpd_milters="):
            box.postconf(milters)
        yield box


def postfix_command(box, *words):
    return subprocess.run([words[0], "-c", box.dir / "postfix", *words[1:]], check=True,
                          capture_output=True, text=True, timeout=60).stdout


def queued(box, recipient):
    """Returns the message to the recipient in Postfix's queue."""
    for line in postfix_command(box, "postqueue", "-j").splitlines():
        message = json.loads(line)
        if any(r["address"] == recipient for r in message["recipients"]):
            return message
    return None


ROUTES = [
    "",
    "relayhost = SINK",
    "default_transport = smtp:SINK",
    "sender_dependent_default_transport_maps = static:smtp:SINK",
    "sender_dependent_relayhost_maps = static:SINK",
    "smtp_fallback_relay = SINK",
    "fallback_transport = smtp:SINK",
    "mydestination = regexp:{{/./ x}}\nlocal_transport = smtp:SINK",
    "virtual_mailbox_domains = regexp:{{/./ x}}\nvirtual_transport = smtp:SINK",
    "relay_domains = regexp:{{/./ x}}\nrelay_transport = smtp:SINK",
    "transport_maps = WAIT, regexp:{{/./ smtp:SINK}}",
    "transport_maps = OLD, inline:{{*=smtp:SINK}}",
]


@pytest.mark.submission("sendmail")
@pytest.mark.parametrize("route", ROUTES, ids=[r.split(" =")[0] or "none" for r in ROUTES])
def test_mail_waits_wherever_other_mail_goes(away, route):
    main_cf = away.dir / "postfix/main.cf"
    before = main_cf.read_text()
    port = re.search(r"^default_transport = smtp:(.*)", before, re.M)[1]
    text = route.replace("SINK", port).replace("WAIT", WAIT).replace("OLD", OLD)
    main_cf.write_text(before + text + "\n")
    away.reload_postfix()
    ticket = unique("t") + "@postern.invalid"
    by_sendmail(away, f"<{unique()}@x.test>", "hello@example.com", [ticket],
                b"From: hello@example.com\nTo: someone@dst.test\n\nbody\n")
    waiting = wait_for("the mail to wait", lambda: (
        (m := queued(away, ticket)) and m["queue_name"] == "deferred" and m))
    assert [r["delay_reason"] for r in waiting["recipients"]] == [
        "postern-milter is not in charge"]
    postfix_command(away, "postsuper", "-d", waiting["queue_id"])
    main_cf.write_text(before)
    wait_for("the log, which postlogd(8) writes", lambda: (
        f"to=<{ticket}>, relay=none" in away.log("postfix")))
    assert not away.sink.now(to=ticket)


@pytest.mark.submission("sendmail")
def test_disable_tells_of_mail_that_waits(away):
    main_cf = away.dir / "postfix/main.cf"
    before = main_cf.read_text()
    disable = [SCRIPTS / "disable", "-c", main_cf.parent]

    def said():
        done = subprocess.run(disable, capture_output=True, text=True, timeout=60, check=True)
        main_cf.write_text(before)
        return done.stderr

    assert "wait for the milter" not in said()
    ticket = unique("t") + "@postern.invalid"
    by_sendmail(away, f"<{unique()}@x.test>", "hello@example.com", [ticket],
                b"From: hello@example.com\nTo: someone@dst.test\n\nbody\n")
    waiting = wait_for("the mail", lambda: queued(away, ticket))
    assert "messages that wait for the milter: 1. " in said()
    postfix_command(away, "postsuper", "-d", waiting["queue_id"])
