"""Who sends as a domain without a key, and what that does not let them do."""

import shlex

import pytest
from harness import Sandbox
from harness.submit import plain

# Other hosts of ours, as XCLIENT plays them.
OPTIONS = (
    "--postconf", "mynetworks=127.0.0.0/8 10.0.0.0/8",
    "--set", "milter.internal_hosts=127.0.0.0/8 10.0.0.0/8",
)


@pytest.fixture(scope="module")
def box():
    with Sandbox(*OPTIONS) as sandbox:
        yield sandbox


@pytest.fixture
def domain(box):
    return box.domain(box.company())


def code(box, sender, to, header_from=None, client=None):
    return plain(box, "smtp", sender, to, header_from, client=client).reply[0]


def test_client(box, domain, to):
    box.cli("exempt", "add", domain, "--client", "10.1.0.0/16")
    boss = f"boss@{domain}"
    assert code(box, boss, to, client="ADDR=10.1.2.3") == 250
    assert code(box, boss, to, client="ADDR=10.2.2.3") == 550
    assert code(box, boss, to) == 550
    assert plain(box, "sendmail", boss, to).verdict()["action"] == "refuse"


def test_login(box, domain, to):
    box.cli("exempt", "add", domain, "--login", "ann")
    boss = f"boss@{domain}"
    assert code(box, boss, to, client="LOGIN=ann") == 250
    assert code(box, boss, to, client="LOGIN=bob") == 550
    assert code(box, boss, to, client="LOGIN=ANN") == 550
    assert code(box, boss, to) == 550


def test_sender(box, domain, to):
    box.cli("exempt", "add", domain, "--sender", f"root@{domain}")
    root = f"root@{domain}"
    assert code(box, root, to) == 250
    assert code(box, root, to, f"Root <root@{domain.upper()}>") == 250
    assert code(box, root, to, "someone@other.test") == 250
    assert code(box, "someone@other.test", to, root) == 250
    assert plain(box, "sendmail", root, to).verdict()["action"] == "pass"


def test_sender_of_this_host(box, domain, to):
    """Mail that is submitted here, and not what the hosts of the network send."""
    root, boss = f"root@{domain}", f"boss@{domain}"
    box.cli("exempt", "add", domain, "--sender", root, "--local")
    assert plain(box, "sendmail", root, to).verdict()["action"] == "pass"
    assert code(box, root, to) == 250
    assert code(box, root, to, client="ADDR=10.1.2.3") == 550
    assert code(box, root, to, boss) == 550
    box.cli("exempt", "remove", domain, "--sender", root)
    box.cli("exempt", "add", domain, "--sender", root)
    assert code(box, root, to, client="ADDR=10.1.2.3") == 250


def test_suggested_after_a_refusal(box, domain, to):
    """What exclusive refused is the source, too, with the narrowest command."""
    root = f"root@{domain}"
    assert code(box, root, to) == 550
    [row] = box.cli("exempt", "suggest", domain)
    command = shlex.split(row["command"])
    assert command == [*f"postern exempt add {domain} --sender={root}".split(), "--local"]
    box.cli(*command[1:])
    assert code(box, root, to) == 250
    assert box.cli("exempt", "suggest", domain) == []


# What nobody gets by an exemption for root@DOMAIN: (envelope sender, From).
FORGERIES = {
    "another From": ("root@{0}", "boss@{0}"),
    "another sender": ("boss@{0}", "root@{0}"),
    "null sender": ("", "root@{0}"),
    "letter case": ("Root@{0}", "Root@{0}"),
    "two mailboxes": ("root@{0}", "root@{0}, boss@{0}"),
    "group": ("root@{0}", "us: root@{0}, boss@{0};"),
    "in a comment": ("root@{0}", "root@{0} (boss@{0})"),
    "percent": ("boss%{0}", "root@{0}"),
    "trailing dot": ("root@{0}", "boss@{0}."),
    "another Sender": ("root@{0}", "root@{0}\nSender: boss@{0}"),
    "two From": ("root@{0}", "root@{0}\nFrom: boss@{0}"),
}


@pytest.mark.parametrize("name", FORGERIES)
@pytest.mark.parametrize("way", ["smtp", "sendmail"])
def test_sender_is_no_master_key(box, domain, to, way, name):
    box.cli("exempt", "add", domain, "--sender", f"root@{domain}")
    sender, header_from = (text.format(domain) for text in FORGERIES[name])
    assert plain(box, way, sender, to, header_from).verdict()["action"] == "refuse"
    assert not box.sink.now(to=to)


def test_unclear_mail_is_refused_whoever_sends_it(box, domain, to):
    box.cli("exempt", "add", domain, "--login", "ann")
    sent = plain(box, "smtp", f"a@{domain}", to, f"a@{domain}, boss@{domain}",
                 client="LOGIN=ann")
    assert sent.reply[0] == 550
    assert sent.verdict()["reason"] == "from_unclear"


def test_an_exemption_is_for_one_domain(box, domain, to):
    other = box.domain(box.company())
    box.cli("exempt", "add", domain, "--login", "ann")
    assert code(box, f"a@{domain}", to, client="LOGIN=ann") == 250
    assert code(box, f"a@{other}", to, client="LOGIN=ann") == 550
    assert code(box, f"a@{domain}", to, f"a@{other}", client="LOGIN=ann") == 550


def test_removed(box, domain, to):
    exemption = box.cli("exempt", "add", domain, "--login", "ann")
    assert code(box, f"a@{domain}", to, client="LOGIN=ann") == 250
    box.cli("exempt", "remove", exemption["id"])
    assert code(box, f"a@{domain}", to, client="LOGIN=ann") == 550
