"""What a domain's policy makes of mail without a key, through real Postfix."""

import errno
import os
import pty
import shlex
import subprocess

import pytest
from harness import Sandbox, wait_for
from harness.sandbox import unique
from harness.submit import WAYS, plain


@pytest.fixture(scope="module")
def box():
    with Sandbox() as sandbox:
        yield sandbox


@pytest.fixture
def domain(box):
    return box.domain(box.company())


def refusals(box, domain):
    return box.cli("email", "list", "--refused", "--domain", domain)


# policy, what the milter does, the outcome on record
POLICIES = [
    ("exclusive", "refuse", {"smtp": "rejected", "sendmail": "held"}),
    ("learn", "learn", {"smtp": "learnt", "sendmail": "learnt"}),
    ("shared", "pass", {}),
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("policy, action, outcome", POLICIES, ids=[p[0] for p in POLICIES])
def test_policy(box, domain, to, way, policy, action, outcome):
    box.cli("domain", "set", domain, "--policy", policy)
    verdict = plain(box, way, f"ann@{domain}", to).verdict()
    assert verdict["action"] == action
    assert verdict["domain"] == domain
    wanted = [outcome[way]] if outcome else []
    assert [row["outcome"] for row in refusals(box, domain)] == wanted
    if action == "refuse":
        assert not box.sink.now(to=to)
    else:
        assert box.sink.find(to=to).sender == f"ann@{domain}"


def test_a_policy_holds_for_the_next_message(box, domain, to):
    for policy, code in (("shared", 250), ("exclusive", 550), ("learn", 250)):
        box.cli("domain", "set", domain, "--policy", policy)
        assert plain(box, "smtp", f"ann@{domain}", to).reply[0] == code


@pytest.mark.parametrize("covered, code", [("own", 250), ("covered", 550)])
def test_subdomains(box, domain, to, covered, code):
    box.cli("domain", "set", domain, "--subdomains", covered)
    assert plain(box, "smtp", f"ann@{domain}", to).reply[0] == 550
    assert plain(box, "smtp", f"ann@a.b.{domain}", to).reply[0] == code
    assert plain(box, "smtp", f"ann@x{domain}", to).reply[0] == 250
    assert plain(box, "smtp", "ann@other.test", to, f"ann@sub.{domain}").reply[0] == code


def test_a_subdomain_of_its_own_has_its_own_policy(box, domain, to):
    box.cli("domain", "set", domain, "--subdomains", "covered")
    own = box.domain(box.company(), name=f"sub.{domain}")
    box.cli("domain", "set", own, "--policy", "shared")
    assert plain(box, "smtp", f"ann@{own}", to).reply[0] == 250
    assert plain(box, "smtp", f"ann@a.{own}", to).reply[0] == 550


def test_the_strictest_of_two_domains_decides(box, domain, to):
    other = box.domain(box.company())
    box.cli("domain", "set", other, "--policy", "shared")
    assert plain(box, "smtp", f"ann@{other}", to, f"ann@{domain}").reply[0] == 550
    assert plain(box, "smtp", f"ann@{domain}", to, f"ann@{other}").reply[0] == 550


@pytest.mark.parametrize("policy", ["exclusive", "learn", "shared"])
def test_mail_with_a_key_is_recorded_under_every_policy(box, domain, to, policy):
    company = box.company()
    domain = box.domain(company)
    box.cli("domain", "set", domain, "--policy", policy)
    httpd = box.httpd(box.new_key(company)["token"])
    email_id = httpd.send({"from": f"ann@{domain}", "to": to, "text": "x"})
    assert httpd.read(email_id)["last_event"] in ("sent", "delivered")
    assert refusals(box, domain) == []


def test_what_was_learnt_becomes_exemptions(box, domain, to):
    """From learn to exclusive, by the commands that suggest prints."""
    box.cli("domain", "set", domain, "--policy", "learn")
    senders = [f"cron@{domain}", f"o'neil@{domain}"]
    for sender in senders:
        for way in WAYS:
            plain(box, way, sender, unique("to") + "@dst.test").verdict()
    rows = wait_for("both to be learnt", lambda: box.cli("exempt", "suggest", domain))
    assert [row["count"] for row in rows] == [2, 2]
    for row in rows:
        words = shlex.split(row["command"])
        assert words[0] == "postern"
        box.cli(*words[1:])
    box.cli("domain", "set", domain, "--policy", "exclusive")
    for sender in senders:
        assert plain(box, "smtp", sender, to).reply[0] == 250
    assert plain(box, "smtp", f"boss@{domain}", to).reply[0] == 550


@pytest.fixture
def own():
    """The domain in Postfix's myorigin."""
    return "mail.sandbox.test"


def test_a_domain_of_postfix_itself_needs_a_policy(box, own):
    add = ("domain", "add", own, "--company", box.company())
    box.cli(*add, ok=False)
    box.cli(*add, "--policy", "shared")
    box.cli("domain", "remove", own)


# what is typed, the policy that comes of it (None: no domain)
ANSWERS = [
    (b"\n", "learn"),
    (b"exclusive\n", "exclusive"),
    (b"nonsense\n", None),
    (b"what?\ns\n", "shared"),
    (b"\x04", None),
]


def all_of(terminal):
    """Returns the text of a terminal that nobody has open any more, and closes it."""
    said = b""
    with os.fdopen(terminal, "rb", buffering=0) as file:
        try:
            while more := file.read(65536):
                said += more
        except OSError as error:
            assert error.errno == errno.EIO
    return said


@pytest.mark.parametrize("typed, policy", ANSWERS)
def test_somebody_at_a_terminal_is_asked(box, own, typed, policy):
    end, terminal = pty.openpty()
    with subprocess.Popen(
        [box.env["POSTERN_CLI"], "-c", box.config, "domain", "add", own,
         "--company", box.company()],
        stdin=terminal, stderr=terminal, stdout=subprocess.PIPE,
    ) as command:
        os.close(terminal)
        os.write(end, typed + b"\x04")
        command.stdout.read()
        status = command.wait(timeout=180)
    assert b"Which policy" in all_of(end)
    found = [d["policy"] for d in box.cli("domain", "list") if d["name"] == own]
    assert found == ([policy] if policy else [])
    assert (status == 0) == bool(policy)
    if policy:
        box.cli("domain", "remove", own)
