"""/domains with the DNS: the records that are asked for, what was found, and the proof of who asked
for a domain."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import requests
from harness import Sandbox
from harness.dns import DnsServer
from harness.httpd import check_problem
from test_api_domains import Company, new_name

pytestmark = pytest.mark.submission("sendmail")

ADDRESS = "93.184.216.34"


@pytest.fixture(scope="module")
def server():
    with DnsServer() as server:
        yield server


@pytest.fixture(scope="module")
def box(server):
    with Sandbox("--set", "http.domain_activation=dns", "--set", f"dns.server={server.address}",
                 "--set", f"dns.addresses={ADDRESS}") as box:
        yield box


@pytest.fixture
def company(box):
    return Company(box)


@pytest.fixture
def other(box):
    return Company(box)


def by_purpose(domain):
    return {record["purpose"]: record for record in domain["records"]}


def forget(box, domain):
    """As if the last look were some minutes ago."""
    box.sql("UPDATE domain_check SET checked_us = 0 WHERE domain_id = ?", domain["id"])


def publish(server, domain, *purposes):
    for purpose in purposes:
        record = by_purpose(domain)[purpose]
        server.records[(record["name"], record["type"])] = [record["value"]]


def test_records(company, server):
    domain = company.ask()
    records = by_purpose(domain)
    assert list(records) == ["PROOF", "SPF", "DMARC"]
    name = domain["name"]
    assert records["PROOF"] == {
        "record": "SPF", "purpose": "PROOF", "name": f"_postern.{name}", "type": "TXT",
        "ttl": "Auto", "status": "not_started", "value": f"postern-domain={domain['id']}",
        "text": None}
    assert records["SPF"]["value"] == f"v=spf1 ip4:{ADDRESS} ~all"
    assert company.get(domain["id"]) == domain
    publish(server, domain, "SPF")
    server.records[(f"_dmarc.{name}", "TXT")] = ["v=DMARC1; p=reject"]
    company.verify(domain["id"])
    found = company.get(domain["id"])
    assert {p: r["status"] for p, r in by_purpose(found).items()} == {
        "PROOF": "pending", "SPF": "verified", "DMARC": "verified", "MX": "pending"}
    assert found["status"] == "pending"
    assert isinstance(by_purpose(found)["MX"]["priority"], int)


def test_proof_activates(box, company, server, email, to):
    domain = company.ask()
    publish(server, domain, "PROOF")
    company.verify(domain["id"])
    assert company.get(domain["id"])["status"] == "verified"
    assert "PROOF" not in by_purpose(company.get(domain["id"]))
    company.client().send({**email, "from": f"a@{domain['name']}"})
    assert box.sink.find(to=to)
    # What the operator takes, no record gives back.
    company.operator("deactivate", domain["name"])
    forget(box, domain)
    company.verify(domain["id"])
    assert company.get(domain["id"])["status"] == "not_started"


def test_proof_of_another_company(box, company, other, server):
    """The record of the one is none for the other, though all the world can read it."""
    name = new_name()
    mine, theirs = company.ask(name), other.ask(name)
    assert by_purpose(mine)["PROOF"]["value"] != by_purpose(theirs)["PROOF"]["value"]
    publish(server, mine, "PROOF", "SPF", "DMARC")
    other.verify(theirs["id"])
    assert other.get(theirs["id"])["status"] == "pending"
    assert by_purpose(other.get(theirs["id"]))["PROOF"]["status"] == "failed"
    # Nor does it tell of the other one's look.
    assert by_purpose(company.get(mine["id"]))["PROOF"]["status"] == "not_started"
    check_problem(other.call("POST", f"/{mine['id']}/verify"), 404, "not_found")
    assert company.get(mine["id"])["status"] == "pending"
    company.verify(mine["id"])
    assert company.get(mine["id"])["status"] == "verified"
    # The name has an owner now, whatever the DNS says later.
    server.records[(f"_postern.{name}", "TXT")] = [by_purpose(theirs)["PROOF"]["value"]]
    forget(box, theirs)
    other.verify(theirs["id"])
    assert other.get(theirs["id"])["status"] == "pending"


def test_proof_of_what_was_asked_before(company, server):
    """Who removes a domain and asks anew has to prove it anew."""
    domain = company.ask()
    publish(server, domain, "PROOF")
    assert company.call("DELETE", f"/{domain['id']}").status_code == 200
    again = company.ask(domain["name"])
    company.verify(again["id"])
    assert company.get(again["id"])["status"] == "pending"


HOSTILE = [
    ("its beginning", lambda v: [v[:-1]]),
    ("more", lambda v: [v + "x"]),
    ("two in one", lambda v: [f"{v} {v}"]),
    ("upper case", lambda v: [v.upper()]),
    ("of other lengths", lambda v: [b"\xff" + v.encode()]),
]


@pytest.mark.parametrize("change", [row[1] for row in HOSTILE], ids=[row[0] for row in HOSTILE])
def test_what_is_no_proof(company, server, change):
    domain = company.ask()
    record = by_purpose(domain)["PROOF"]
    server.records[(record["name"], "TXT")] = change(record["value"])
    company.verify(domain["id"])
    assert company.get(domain["id"])["status"] == "pending"


def test_an_alias_that_leads_to_itself(company, server):
    domain = company.ask()
    name = by_purpose(domain)["PROOF"]["name"]
    server.records[(name, "CNAME")] = [name]
    company.verify(domain["id"])
    found = by_purpose(company.get(domain["id"]))["PROOF"]
    assert (found["status"], found["text"]) == ("temporary_failure", "the DNS gives no answer")


def test_one_look_a_minute(box, company, server):
    domain = company.ask()
    del server.asked[:]
    for _ in range(4):
        company.verify(domain["id"])
    questions = (f"_postern.{domain['name']}", "TXT")
    assert server.asked.count(questions) == 1
    publish(server, domain, "PROOF")
    forget(box, domain)
    company.verify(domain["id"])
    assert company.get(domain["id"])["status"] == "verified"


def test_slow_dns_keeps_nobody(company, other, server):
    """While looks wait for a DNS that is silent, all else is answered."""
    asked = [company.ask() for _ in range(2)]
    server.silent = {f"_postern.{domain['name']}" for domain in asked}
    with ThreadPoolExecutor(3) as pool:
        waiting = [pool.submit(Company.call, company, "POST", f"/{domain['id']}/verify")
                   for domain in asked]
        mine = other.ask()
        assert other.get(mine["id"]) == mine
        assert other.list() == ([mine["name"]], False)
        publish(server, mine, "PROOF")
        other.verify(mine["id"])
        assert other.get(mine["id"])["status"] == "verified"
        answers = [one.result() for one in waiting]
    assert [answer.status_code for answer in answers] == [200] * 2
    assert {company.get(d["id"])["status"] for d in asked} == {"pending"}


def test_the_form_dialect_has_the_same(box, company, other, server):
    domain = company.ask()
    publish(server, domain, "SPF")
    company.verify(domain["id"])

    def read(name, key):
        return requests.get(f"{box.url}/v3/domains/{name}", auth=("api", key), timeout=180)

    key = box.new_key(company.id)["token"]
    answer = read(domain["name"].upper(), key)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert found["domain"]["id"] == domain["id"] and found["domain"]["state"] == "unverified"
    assert {r["purpose"]: r["valid"] for r in found["sending_dns_records"]} == {
        "PROOF": "invalid", "SPF": "valid", "DMARC": "invalid"}
    assert [r["record_type"] for r in found["receiving_dns_records"]] == ["MX"]
    stranger = read(domain["name"], box.new_key(other.id)["token"])
    nobody = read("none.example", key)
    assert stranger.status_code == nobody.status_code == 404
    assert stranger.json() == {"message": f"Domain not found: {domain['name']}"}
    bound = box.new_key(company.id, domain=domain["name"])["token"]
    assert read(domain["name"], bound).status_code == 200
    assert read(company.ask()["name"], bound).status_code == 404
    sending = box.new_key(company.id, scope="sending")["token"]
    assert read(domain["name"], sending).status_code == 403


def form(box, key, method, path, **options):
    return requests.request(method, f"{box.url}{path}", auth=("api", key), timeout=180, **options)


@pytest.mark.store
@pytest.mark.parametrize("version", ["v3", "v4"])
def test_the_form_dialect_manages(box, company, other, server, version):
    """What is asked for by a form is proven, found and removed by it, and by nobody else."""
    name, key = new_name(), box.new_key(company.id, scope="managing")["token"]
    made = form(box, key, "POST", f"/{version}/domains", data={"name": name.upper()})
    assert made.status_code == 200, made.text
    found = made.json()
    assert (found["domain"]["name"], found["domain"]["state"]) == (name, "unverified")
    records = {r["purpose"]: r for r in found["sending_dns_records"]}
    assert list(records) == ["PROOF", "SPF", "DMARC"]
    assert {r["valid"] for r in records.values()} == {"unknown"}

    strange = box.new_key(other.id)["token"]
    sending = box.new_key(company.id, scope="sending")["token"]
    bound = box.new_key(company.id, domain=company.ask()["name"])["token"]
    for method, path in [("GET", ""), ("PUT", "/verify"), ("DELETE", "")]:
        at = "v3" if method == "DELETE" else version
        for whose, status in [(strange, 404), (bound, 404), (sending, 403)]:
            answer = form(box, whose, method, f"/{at}/domains/{name}{path}")
            assert answer.status_code == status, (method, answer.text)
    assert form(box, bound, "POST", f"/{version}/domains",
                data={"name": new_name()}).status_code == 403

    server.records[(records["PROOF"]["name"], "TXT")] = [records["PROOF"]["value"]]
    server.records[(name, "TXT")] = [records["SPF"]["value"]]
    verified = form(box, key, "PUT", f"/{version}/domains/{name}/verify")
    assert verified.status_code == 200, verified.text
    assert verified.json()["domain"]["state"] == "active"
    assert {r["purpose"]: r["valid"] for r in verified.json()["sending_dns_records"]} == {
        "SPF": "valid", "DMARC": "invalid"}

    def listed(query=""):
        answer = form(box, key, "GET", f"/{version}/domains{query}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    assert listed()["total_count"] == 2
    assert [d["name"] for d in listed("?skip=1")["items"]] == [name]
    assert listed("?state=active") == {"total_count": 1, "items": [verified.json()["domain"]]}
    assert listed(f"?search={name}")["items"][0]["name"] == name
    assert listed("?limit=1&skip=9") == {"total_count": 2, "items": []}
    for query in ["?limit=0", "?limit=1001", "?skip=-1", "?limit=x"]:
        assert form(box, key, "GET", f"/{version}/domains{query}").status_code == 400
    everything = form(box, strange, "GET", f"/{version}/domains").json()
    assert everything == {"total_count": 0, "items": []}

    gone = form(box, key, "DELETE", f"/v3/domains/{name}")
    assert (gone.status_code, gone.json()) == (200, {"message": "Domain has been deleted"})
    assert form(box, key, "GET", f"/{version}/domains/{name}").status_code == 404


@pytest.mark.parametrize("body, said", [
    ({}, "name parameter is missing"),
    ({"name": "x y"}, "domain"),
    ({"name": "a.example", "spam_action": "block"},
     "'spam_action' parameter can only be 'disabled' here"),
    ({"name": "a.example", "require_tls": "yes"},
     "'require_tls' parameter can only be 'false' here"),
    ({"name": "a.example", "x": "y" * 70_000}, "request size exceeds 64 KiB limit"),
])
def test_the_form_dialect_refuses(box, company, body, said):
    key = box.new_key(company.id)["token"]
    answer = form(box, key, "POST", "/v4/domains", data=body)
    assert answer.status_code == (413 if "size" in said else 400), answer.text
    assert said in answer.json()["message"]
    assert company.list() == ([], False)
