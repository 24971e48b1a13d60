"""Whom a company sends nothing to: how an address gets there, and what keeps away from it."""

import time

import pytest
from harness import FormClient, Sandbox, wait_for
from harness.deliveries import Deliveries, address

ON = ("--set", "suppression.bounces=on")


@pytest.fixture(scope="module")
def deliveries():
    with Sandbox(*ON) as sandbox:
        made = Deliveries(sandbox)
        yield made
        made.remote.close()


@pytest.fixture
def company(deliveries):
    """The id of the one with example.com."""
    [row] = [d for d in deliveries.box.cli("domain", "list") if d["name"] == "example.com"]
    return row["company_id"]


@pytest.fixture
def suppress(deliveries, company):
    """Puts an address in."""

    def put(one, *options):
        return deliveries.box.cli("suppression", "add", one, "--company", company, *options)

    return put


def unsuppress(deliveries, company, one):
    deliveries.box.cli("suppression", "remove", one, "--company", company)


def entry(deliveries, company, one):
    found = deliveries.box.cli("suppression", "list", one, "--company", company)
    return found[0] if found else None


def got(deliveries, local):
    return deliveries.remote.taken.count(address(local))


def states(deliveries, email_id):
    email = deliveries.box.httpd().read(email_id)
    return {r["address"]: r["state"] for r in email["recipients"]}


def told(deliveries, email_id, *wanted):
    deliveries.wait(email_id, *wanted)
    return deliveries.box.httpd().read(email_id)


def test_alone(deliveries, suppress):
    """An email to nobody else is accepted, and says so everywhere."""
    box = deliveries.box
    suppress(address("alone"))
    email_id = deliveries.send(address("alone"))
    email = told(deliveries, email_id, "suppressed")
    assert email["last_event"] == "suppressed"
    [recipient] = email["recipients"]
    assert recipient["state"] == "suppressed" and recipient["attempts"] == 0
    assert "suppression list" in recipient["message"]
    shown = box.cli("email", "show", email_id)
    assert shown["recipients"][0]["state"] == "suppressed"
    assert [e["type"] for e in shown["events"]] == ["suppressed"]
    events = box.httpd().request("GET", f"/emails/{email_id}/events").json()["data"]
    assert [e["type"] for e in events] == ["suppressed"]
    # The outbox lets it go, by either way, and nothing more happens.
    wait_for("the outbox to be empty", lambda: not deliveries.rows("SELECT 1 FROM outbox"))
    after = deliveries.send(address("afterwards"))
    deliveries.wait(after, "delivered")
    assert states(deliveries, email_id) == {address("alone"): "suppressed"}
    assert got(deliveries, "alone") == 0
    listed = box.cli("email", "list", "--state", "suppressed")
    assert email_id in [one["id"] for one in listed]


def test_one_of_several(deliveries, suppress):
    """To, cc and bcc alike; the others get theirs."""
    suppress(address("some.to"))
    suppress(address("some.cc"))
    suppress(address("some.bcc"))
    email_id = deliveries.box.httpd().send(
        {
            "from": "hello@example.com",
            "to": [address("some.to"), address("other.to")],
            "cc": [address("some.cc"), address("other.cc")],
            "bcc": [address("some.bcc"), address("other.bcc")],
            "text": "Hello",
        }
    )
    email = told(deliveries, email_id, *["suppressed", "delivered"] * 3)
    assert email["last_event"] == "suppressed"
    for kind in ("to", "cc", "bcc"):
        assert got(deliveries, f"some.{kind}") == 0
        assert got(deliveries, f"other.{kind}") == 1
    events = deliveries.box.httpd().request("GET", f"/emails/{email_id}/events").json()["data"]
    kinds = {}
    for event in events:
        kinds.setdefault(event["recipient"], set()).add(event["type"])
    assert kinds[address("some.to")] == {"suppressed"}
    assert kinds[address("other.to")] == {"sent", "delivered"}


@pytest.mark.submission("smtp")
@pytest.mark.submission("sendmail")
def test_at_once(deliveries, suppress, company):
    """What is removed and added holds for the next email."""
    for _ in range(2):
        suppress(address("again"))
        deliveries.wait(deliveries.send(address("again")), "suppressed")
        unsuppress(deliveries, company, address("again"))
        deliveries.wait(deliveries.send(address("again")), "delivered")


def test_addresses(deliveries, suppress, company):
    """Letter case makes no other address, also of a domain beyond ASCII; a + does."""
    suppress("Fold.ED@REMOTE.test")
    assert entry(deliveries, company, "folded@remote.test") is None
    assert entry(deliveries, company, "FOLD.ed@remote.TEST")["address"] == "fold.ed@remote.test"
    deliveries.wait(deliveries.send("fold.Ed@Remote.Test"), "suppressed")
    deliveries.wait(deliveries.send("fold.ed+news@remote.test"), "delivered")
    suppress("jemand@bücher.test")
    deliveries.wait(deliveries.send("Jemand@XN--BCHER-KVA.test"), "suppressed")


def test_of_a_domain(deliveries, suppress, company):
    """Of one domain, or of all that the company has; never of another company."""
    box = deliveries.box
    other_domain = box.domain(company)
    stranger = box.company()
    strange_domain = box.domain(stranger)
    suppress(address("narrow"), "--domain", other_domain)
    suppress(address("wide"))
    httpd = box.httpd()
    for domain, narrow in (("example.com", "delivered"), (other_domain, "suppressed")):
        for local, state in (("narrow", narrow), ("wide", "suppressed")):
            email_id = httpd.send({"from": f"a@{domain}", "to": address(local), "text": "x"})
            deliveries.wait(email_id, state)
    key = box.new_key(stranger)["token"]
    for local in ("narrow", "wide"):
        email_id = box.httpd(key).send(
            {"from": f"a@{strange_domain}", "to": address(local), "text": "x"}
        )
        deliveries.wait(email_id, "delivered")
    assert box.cli("suppression", "list", "--company", stranger) == []


BOUNCES = {
    "5.1.1": (b"550 5.1.1 User unknown\r\n", True),
    "5.1.2": (b"550 5.1.2 Bad host\r\n", True),
    "5.1.6": (b"551 5.1.6 Has moved\r\n", True),
    "5.1.10": (b"556 5.1.10 Takes no mail\r\n", True),
    "5.2.1": (b"550 5.2.1 Disabled\r\n", True),
    "5.1.7": (b"553 5.1.7 Bad sender\r\n", False),
    "5.1.8": (b"553 5.1.8 No such sender domain\r\n", False),
    "5.2.2": (b"552 5.2.2 Mailbox full\r\n", False),
    "5.7.1": (b"550 5.7.1 Refused by policy\r\n", False),
    "5.0.0": (b"550 No\r\n", False),
    "5.4.4": (b"550 5.4.4 Named by the setting only\r\n", False),
}


@pytest.mark.parametrize("code", BOUNCES)
def test_bounces(deliveries, company, code):
    answer, hard = BOUNCES[code]
    local = "bounce" + code.replace(".", "")
    deliveries.remote.answers[local] = answer
    email_id = deliveries.send(address(local))
    deliveries.wait(email_id, "bounced")
    found = entry(deliveries, company, address(local))
    assert bool(found) == hard
    del deliveries.remote.answers[local]
    deliveries.wait(deliveries.send(address(local)), "suppressed" if hard else "delivered")
    if hard:
        assert found["reason"] == "bounce" and found["email_id"] == email_id
        assert found["code"] == answer[:3].decode() and code in found["text"]


def test_settings(own_box):
    """Other codes can be named, and bounces left alone."""
    box = own_box(*ON, "--set", "suppression.bounce_codes=5.4.4 5.0")
    made = Deliveries(box)
    for code, hard in (("5.4.4", True), ("5.0.0", True), ("5.7.1", False), ("5.1.1", True)):
        local = "set" + code.replace(".", "")
        made.remote.answers[local] = f"550 {code} No\r\n".encode()
        made.wait(made.send(address(local)), "bounced")
        assert bool(box.cli("suppression", "list")) == hard, code
        for row in box.cli("suppression", "list"):
            box.cli("suppression", "remove", row["id"])
    made.remote.close()


def test_scheduled_and_resent(deliveries, suppress, company):
    """It counts what is in the list when an email goes out."""
    httpd = deliveries.box.httpd()
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 8))
    email_id = httpd.send(
        {"from": "a@example.com", "to": address("later.on"), "text": "x", "scheduled_at": at}
    )
    suppress(address("later.on"))
    deliveries.wait(email_id, "suppressed")
    unsuppress(deliveries, company, address("later.on"))
    again = deliveries.box.cli("email", "resend", email_id)
    deliveries.wait(again["id"], "delivered")


def test_batch_and_variables(deliveries, suppress):
    """Of several emails in a request each goes by itself."""
    suppress(address("batch1"))
    httpd = deliveries.box.httpd()
    answer = httpd.request(
        "POST",
        "/emails/batch",
        json=[
            {"from": "a@example.com", "to": address(f"batch{i}"), "text": "x"} for i in range(3)
        ],
    )
    ids = [one["id"] for one in answer.json()["data"]]
    for email_id, state in zip(ids, ("delivered", "suppressed", "delivered")):
        deliveries.wait(email_id, state)
    form = FormClient(deliveries.box)
    for local in ("batch1", "batch2"):
        assert got(deliveries, local) == (local == "batch2")
    sent = form.send(
        {
            "from": "a@example.com",
            "to": [address("batch1"), address("batch2")],
            "recipient-variables": '{"%s": {"a": 1}, "%s": {"a": 2}}'
            % (address("batch1"), address("batch2")),
            "subject": "%recipient.a%",
            "text": "x",
        }
    )
    assert sent is not None
    wait_for("the second one", lambda: got(deliveries, "batch2") == 2)
    assert got(deliveries, "batch1") == 0


CODES = {"bounce": 605, "complaint": 607, "unsubscribe": 606, "manual": 605}


def test_form_events(deliveries, suppress):
    """Ghost takes 605 and 607 for its own list, and nothing else."""
    httpd = deliveries.box.httpd()
    for reason in CODES:
        suppress(address(f"form.{reason}"), "--reason", reason)
    email_id = deliveries.send(*[address(f"form.{reason}") for reason in CODES])
    deliveries.wait(email_id, *["suppressed"] * 4)
    for reason, code in CODES.items():
        items = httpd.request(
            "GET",
            f"/v3/example.com/events?event=failed&recipient={address(f'form.{reason}')}",
            headers={"Authorization": None},
            auth=("api", httpd.key),
        ).json()["items"]
        [item] = items
        assert item["severity"] == "permanent"
        assert item["reason"] == f"suppress-{'bounce' if reason == 'manual' else reason}"
        assert item["delivery-status"]["code"] == code
        assert item["delivery-status"]["description"]


def test_company_removed(deliveries):
    """A company that is removed takes its list along."""
    box = deliveries.box
    gone = box.company()
    box.cli("suppression", "add", address("gone"), "--company", gone)
    box.cli("company", "remove", gone)
    assert deliveries.rows("SELECT 1 FROM suppression WHERE company_id = ?", gone) == []
