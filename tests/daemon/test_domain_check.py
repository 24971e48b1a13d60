"""postern domain check compares the DNS with what a domain needs."""

import json
import re
import subprocess
import uuid
from pathlib import Path

import pytest
from harness import Sandbox
from harness.dns import DnsServer
from harness.sandbox import BUILD, TREE

pytestmark = pytest.mark.submission("sendmail")

CLI = TREE / BUILD / "postern"
ADDRESS = "93.184.216.34"
HELO = "mail.place.example"

GOOD = {
    ("shop.example", "TXT"): [f"v=spf1 ip4:{ADDRESS} -all"],
    ("_dmarc.shop.example", "TXT"): ["v=DMARC1; p=reject"],
    ("shop.example", "MX"): [HELO],
    ("34.216.184.93.in-addr.arpa", "PTR"): [HELO],
    (HELO, "A"): [ADDRESS],
}


@pytest.fixture(scope="module")
def server():
    with DnsServer() as server:
        yield server


@pytest.fixture(scope="module")
def box(server):
    with Sandbox("--set", f"dns.server={server.address}",
                 "--set", f"dns.addresses={ADDRESS}") as box:
        box.postconf(f"smtp_helo_name={HELO}")
        yield box


def check(box, server, changes=None, domain="shop.example"):
    """The status of each kind of record, and what is said of it."""
    server.records = {**GOOD, **(changes or {})}
    done = subprocess.run([CLI, "-c", box.config, "--json", "domain", "check", domain],
                          capture_output=True, text=True, timeout=120, check=False)
    found = {row["record"]: row for row in json.loads(done.stdout)}
    bad = any(row["status"] in ("missing", "wrong") for row in found.values())
    assert done.returncode == int(bad)
    return found


def test_all_is_well(box, server):
    found = check(box, server)
    # No key by which its mail is signed is known.
    assert {kind: row["status"] for kind, row in found.items()} == {
        **dict.fromkeys(("SPF", "DMARC", "MX", "PTR", "HELO"), "verified"), "DKIM": "unknown"}


def test_people_are_told_what_to_set(box, server):
    server.records = {}
    done = subprocess.run([CLI, "-c", box.config, "domain", "check", "shop.example"],
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert f"to set: shop.example TXT v=spf1 ip4:{ADDRESS} ~all\n" in done.stdout
    assert "to set: _dmarc.shop.example TXT v=DMARC1; p=none\n" in done.stdout


SPF = [
    ("a mechanism", ["v=spf1 a:mail.place.example -all"], {}, "verified"),
    ("mx", ["v=spf1 mx -all"], {}, "verified"),
    ("a network", ["v=spf1 ip4:93.184.216.0/24 -all"], {}, "verified"),
    ("the network around a host", ["v=spf1 a:other.example/24 -all"],
     {("other.example", "A"): ["93.184.216.1"]}, "verified"),
    ("include", ["v=spf1 include:other.example -all"],
     {("other.example", "TXT"): [f"v=spf1 ip4:{ADDRESS} -all"]}, "verified"),
    ("redirect", ["v=spf1 redirect=other.example"],
     {("other.example", "TXT"): [f"v=spf1 ip4:{ADDRESS} -all"]}, "verified"),
    ("another address", ["v=spf1 ip4:192.0.2.1 -all"], {}, "wrong"),
    ("softfail", ["v=spf1 ip4:192.0.2.1 ~all"], {}, "wrong"),
    ("an include that refuses", ["v=spf1 include:other.example ~all"],
     {("other.example", "TXT"): ["v=spf1 ip4:192.0.2.1 -all"]}, "wrong"),
    ("an include of nothing", ["v=spf1 include:none.example -all"], {}, "wrong"),
    ("an include without a domain", ["v=spf1 include"], {}, "wrong"),
    ("an include without a colon", ["v=spf1 include/other.example -all"],
     {("other.example", "TXT"): [f"v=spf1 ip4:{ADDRESS} -all"]}, "wrong"),
    ("a prefix longer than an address", [f"v=spf1 ip4:{ADDRESS}/33 -all"], {}, "wrong"),
    ("an address of the other family", [f"v=spf1 ip6:{ADDRESS} -all"], {}, "wrong"),
    ("a network without its colon", ["v=spf1 ip4 a:mail.place.example -all"], {}, "wrong"),
    ("a prefix longer than a host's address", ["v=spf1 a:mail.place.example/33 -all"], {}, "wrong"),
    ("a prefix that is no number", ["v=spf1 mx//x -all"], {}, "wrong"),
    ("a prefix of each family", ["v=spf1 a:mail.place.example/32//128 -all"], {}, "verified"),
    ("two records", [f"v=spf1 ip4:{ADDRESS} -all", "v=spf1 -all"], {}, "wrong"),
    ("an unknown term", ["v=spf1 ipv4:192.0.2.1 -all"], {}, "wrong"),
    ("a loop", ["v=spf1 include:shop.example -all"], {}, "wrong"),
    ("too many look-ups", ["v=spf1 " + "a:mail1.example " * 11 + "-all"],
     {("mail1.example", "A"): ["192.0.2.1"]}, "wrong"),
    ("void look-ups", ["v=spf1 a:n1.example a:n2.example a:n3.example -all"], {}, "wrong"),
    ("a macro", ["v=spf1 exists:%{i}.example -all"], {}, "unknown"),
    ("other texts", ["v=spf10", "hello"], {}, "missing"),
    ("none", [], {}, "missing"),
]


@pytest.mark.parametrize("texts, others, status", [row[1:] for row in SPF],
                         ids=[row[0] for row in SPF])
def test_spf(box, server, texts, others, status):
    found = check(box, server, {("shop.example", "TXT"): texts, **others})
    assert found["SPF"]["status"] == status, found["SPF"]


OTHERS = [
    ("DMARC", {("_dmarc.shop.example", "TXT"): []}, "missing"),
    ("DMARC", {("_dmarc.shop.example", "TXT"): ["v=DMARC1; p=none"]}, "verified"),
    # SPF does not pass.
    ("DMARC", {("shop.example", "TXT"): []}, "wrong"),
    ("DMARC", {("shop.example", "TXT"): [],
               ("_dmarc.shop.example", "TXT"): ["v=DMARC1; p = none"]}, "verified"),
    ("MX", {("shop.example", "MX"): []}, "missing"),
    ("MX", {("shop.example", "MX"): [""]}, "wrong"),
    ("MX", {("shop.example", "MX"): [], ("shop.example", "A"): [ADDRESS]}, "verified"),
    ("PTR", {("34.216.184.93.in-addr.arpa", "PTR"): []}, "missing"),
    ("PTR", {("34.216.184.93.in-addr.arpa", "PTR"): ["other.example"]}, "wrong"),
    ("HELO", {(HELO, "A"): []}, "missing"),
    ("HELO", {(HELO, "A"): ["192.0.2.1"]}, "wrong"),
]


@pytest.mark.parametrize("kind, changes, status", OTHERS)
def test_another_record(box, server, kind, changes, status):
    found = check(box, server, changes)
    assert found[kind]["status"] == status, found[kind]


def add_key(box, domain, key="QUJD", selector="s1", state="signing"):
    """The public half, as `postern dkim` writes it down."""
    box.sql(
        "INSERT INTO dkim_key (id, company_id, domain_id, selector, public_key, state,"
        " created_us, changed_us) SELECT ?, company_id, id, ?, ?, ?, 1, 1 FROM domain"
        " WHERE name = ?", str(uuid.uuid4()), selector, key, state, domain)


@pytest.fixture(scope="module")
def signed(box):
    """A domain of which the store has the signer's key, QUJD."""
    box.cli("domain", "add", "signed.example", "--company", box.company(), "--policy", "learn")
    add_key(box, "signed.example")
    add_key(box, "signed.example", "WFla", "s0", "old")
    return "signed.example"


NAME = "s1._domainkey.signed.example"
RING = {(f"c{i}.example", "CNAME"): [f"c{(i + 1) % 3}.example"] for i in range(3)}
LONG = "x" * 255
DKIM = [
    ("the key", {(NAME, "TXT"): ["v=DKIM1; k=rsa; p=QUJD"]}, "verified"),
    ("in several strings", {(NAME, "TXT"): [b"\x08v=DKIM1;\x05 p=QU\x02JD"]}, "verified"),
    ("by an alias", {(NAME, "CNAME"): ["keys.example"],
                     ("keys.example", "TXT"): ["v=DKIM1; p=QUJD"]}, "verified"),
    ("another key", {(NAME, "TXT"): ["v=DKIM1; p=WFla"]}, "wrong"),
    ("revoked", {(NAME, "TXT"): ["v=DKIM1; p="]}, "wrong"),
    ("two", {(NAME, "TXT"): ["v=DKIM1; p=QUJD", "v=DKIM1; p=WFla"]}, "wrong"),
    ("something else", {(NAME, "TXT"): ["hello"]}, "wrong"),
    ("none", {(NAME, "TXT"): []}, "missing"),
    ("no such name", {}, "missing"),
    ("of another type alone", {(NAME, "A"): ["192.0.2.1"]}, "missing"),
    ("a ring of aliases", {(NAME, "CNAME"): ["c0.example"], **RING}, "unknown"),
    ("large", {(NAME, "TXT"): ["v=DKIM1; p=QUJD", *[LONG] * 12]}, "verified"),
    ("control characters", {(NAME, "TXT"): [b"\x0a\x1b[2J\xff\x00v=\x07\x0d"]}, "wrong"),
    ("a length beyond the end", {(NAME, "TXT"): [b"\xffv=DKIM1; p=QUJD"]}, "*"),
    ("an empty record", {(NAME, "TXT"): [b""]}, "*"),
]


@pytest.mark.parametrize("records, status", [row[1:] for row in DKIM], ids=[r[0] for r in DKIM])
def test_dkim(box, server, signed, records, status):
    found = check(box, server, records, domain=signed)["DKIM"]
    assert found["value"] == "v=DKIM1; k=rsa; p=QUJD"
    assert found["name"] == NAME
    # Whatever comes: never a key that is not there.
    assert found["status"] == status or status == "*" and found["status"] != "verified", found
    assert found["text"].isprintable()


def test_dkim_that_cannot_be_told(box, server, signed):
    server.cut = {NAME}
    try:
        found = check(box, server, {(NAME, "TXT"): ["v=DKIM1; p=QUJD"]}, domain=signed)
    finally:
        server.cut = set()
    assert found["DKIM"]["status"] == "unknown"


def test_a_key_makes_up_for_spf(box, server, signed):
    """Receivers of mail with p=reject want one of both."""
    records = {(NAME, "TXT"): ["v=DKIM1; p=QUJD"],
               (f"_dmarc.{signed}", "TXT"): ["v=DMARC1; p=reject"]}
    assert check(box, server, records, domain=signed)["DMARC"]["status"] == "verified"
    del records[(NAME, "TXT")]
    assert check(box, server, records, domain=signed)["DMARC"]["status"] == "wrong"


def test_what_is_to_be_set_keeps_what_is_there(box, server):
    """Two SPF records would be as good as none."""
    found = check(box, server, {("shop.example", "TXT"): ["v=spf1 include:other.example -all"],
                                ("other.example", "TXT"): ["v=spf1 -all"]})
    assert found["SPF"]["value"] == f"v=spf1 ip4:{ADDRESS} include:other.example -all"


def test_a_policy_of_the_domain_above(box, server):
    found = check(box, server, {("sub.shop.example", "TXT"): [f"v=spf1 ip4:{ADDRESS} -all"]},
                  domain="sub.shop.example")
    assert found["DMARC"]["status"] == "verified"
    assert found["DMARC"]["text"].endswith("(of shop.example)")


@pytest.mark.parametrize("configured", [
    "2001:db8::25", "2001:DB8:0:0:0:0:0:25", "[2001:0db8::0025]", "2001:db8:0::25"])
def test_ipv6_by_any_of_its_notations(box, server, tmp_path, configured):
    config = tmp_path / "postern.conf"
    config.write_text(re.sub(r"(?m)^addresses *=.*", f"addresses = {configured}",
                             Path(box.config).read_text()))
    server.records = {**GOOD, ("shop.example", "TXT"): ["v=spf1 ip6:2001:0DB8::/64 -all"],
                      (f"5.2.{'0.' * 22}8.b.d.0.1.0.0.2.ip6.arpa", "PTR"): [HELO],
                      (HELO, "AAAA"): ["2001:0db8::0:25"]}
    done = subprocess.run([CLI, "-c", config, "--json", "domain", "check", "shop.example"],
                          capture_output=True, text=True, timeout=120, check=False)
    found = {row["record"]: row["status"] for row in json.loads(done.stdout)
             if row["record"] != "DKIM"}
    assert found == dict.fromkeys(("SPF", "DMARC", "MX", "PTR", "HELO"), "verified"), done.stdout
    assert "2001:db8::25" in done.stdout


def test_a_server_that_fails_tells_nothing(box, server):
    server.fails = True
    try:
        found = check(box, server)
    finally:
        server.fails = False
    assert {row["status"] for row in found.values()} == {"unknown"}


def test_doctor_tells_of_each_domain(box, server):
    def found():
        done = subprocess.run([CLI, "-c", box.config, "--json", "doctor"],
                              capture_output=True, text=True, timeout=300, check=False)
        return [row for row in json.loads(done.stdout) if row["check"].startswith("dns")]

    server.records = dict(GOOD)
    rows = found()
    assert any(row["result"] == "wrong" and "PTR" in row["text"] for row in rows) is False
    assert any(row["result"] == "warning" and "SPF of example.com" in row["text"] for row in rows)
    server.records = {}
    assert any(row["result"] == "warning" and "PTR" in row["text"] for row in found())
