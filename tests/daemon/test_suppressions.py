"""Whom a company sends nothing to: how an address gets there, and what keeps away from it."""

import time

import pytest
from harness import FormClient, Sandbox, wait_for
from harness.admin import operator
from harness.deliveries import Deliveries, address

pytestmark = pytest.mark.store

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
    wait_for("the outbox to be empty", lambda: box.query("SELECT 1 FROM outbox") == "")
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
    """Other codes can be named, and bounces left alone. A full list says so everywhere."""
    box = own_box(
        *ON, "--set", "suppression.bounce_codes=5.4.4 5.0", "--set", "limits.suppressions=1"
    )
    made = Deliveries(box)
    for code, hard in (("5.4.4", True), ("5.0.0", True), ("5.7.1", False), ("5.1.1", True)):
        local = "set" + code.replace(".", "")
        made.remote.answers[local] = f"550 {code} No\r\n".encode()
        made.wait(made.send(address(local)), "bounced")
        assert bool(box.cli("suppression", "list")) == hard, code
        for row in box.cli("suppression", "list"):
            box.cli("suppression", "remove", row["id"])
    # There is room for one, and that is somebody else.
    (one,) = [d for d in box.cli("domain", "list") if d["name"] == "example.com"]
    box.cli("suppression", "add", "first@dst.test", "--company", one["company_id"])
    made.remote.answers["second"] = b"550 5.1.1 No\r\n"
    made.wait(made.send(address("second")), "bounced")
    assert [row["address"] for row in box.cli("suppression", "list")] == ["first@dst.test"]
    wait_for("the log", lambda: "suppressions_full" in box.log("events"))
    admin = operator(box)
    wait_for(
        "the metric",
        lambda: "\npostern_suppressions_not_added_total 1\n" in admin.request("GET", "/metrics").text,
    )
    needed = {item["code"]: item for item in admin.ok("GET", "/admin/attention")["data"]}
    assert "is full (limits.suppressions, 1)" in needed["suppressions_full"]["text"]
    alarms = box.cli("status")["alarms"]
    assert any("lists of suppressed addresses that are full" in text for text in alarms)
    # Who is erased stays suppressed, and that is said.
    assert box.cli("email", "purge", "--to", "first@dst.test", "--dry-run")["suppressions"] == 1
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
    assert box.query(f"SELECT 1 FROM suppression WHERE company_id = '{gone}'") == ""


def test_json_routes(deliveries, suppress, company):
    """As libraries for Resend call them."""
    httpd = deliveries.box.httpd()

    def ask(method, path, status=200, **options):
        answer = httpd.request(method, path, **options)
        assert answer.status_code == status, answer.text
        return answer.json()

    one = ask("POST", "/suppressions", 201, json={"email": " Json.One@Remote.Test "})
    assert set(one) == {"object", "id"} and one["object"] == "suppression"
    again = ask("POST", "/suppressions", 201, json={"email": address("json.one")})
    assert again == one
    shown = ask("GET", f"/suppressions/{one['id']}")
    for path in ("json.one@remote.test", "json.one%40remote.test", "JSON.one@remote.test"):
        assert ask("GET", f"/suppressions/{path}") == shown
    assert shown["email"] == address("json.one") and shown["origin"] == "manual"
    assert shown["source_id"] is None
    deliveries.wait(deliveries.send(address("json.one")), "suppressed")
    gone = ask("DELETE", f"/suppressions/{address('json.one')}")
    assert gone == {"object": "suppression", "id": one["id"], "deleted": True}
    ask("DELETE", f"/suppressions/{address('json.one')}", 404)
    ask("GET", f"/suppressions/{one['id']}", 404)
    ask("GET", "/suppressions/none", 404)
    deliveries.wait(deliveries.send(address("json.one")), "delivered")
    # A + is one, encoded or not.
    for path in ("json+plus@remote.test", "json%2Bplus%40remote.test"):
        ask("POST", "/suppressions", 201, json={"email": address("json+plus")})
        ask("DELETE", f"/suppressions/{path}")
    emails = [address(f"json.batch{i}") for i in range(5)]
    many = ask("POST", "/suppressions/batch/add", 201, json={"emails": [*emails, emails[0]]})
    assert len(many["data"]) == 5 and set(many) == {"data"}
    refused = ask("POST", "/suppressions/batch/add", 422, json={"emails": ["a@b.test", "none"]})
    assert refused["name"] == "validation_error"
    ask("GET", "/suppressions/a@b.test", 404)
    page = ask("GET", "/suppressions?origin=manual&limit=2")
    assert page["object"] == "list" and page["has_more"] and len(page["data"]) == 2
    seen = [item["email"] for item in page["data"]]
    while page["has_more"]:
        page = ask("GET", f"/suppressions?origin=manual&limit=2&after={page['data'][-1]['id']}")
        seen += [item["email"] for item in page["data"]]
    assert len(seen) == len(set(seen)) and set(emails) <= set(seen)
    *_, newer, oldest = ask("GET", "/suppressions?origin=manual&limit=100")["data"]
    before = ask("GET", f"/suppressions?origin=manual&limit=1&before={oldest['id']}")
    assert before["data"] == [newer]
    ask("GET", "/suppressions?origin=unsubscribe", 422)
    ask("POST", "/suppressions/batch/remove", 422, json={"emails": emails, "ids": [one["id"]]})
    some = ask(
        "POST", "/suppressions/batch/remove", json={"ids": [many["data"][0]["id"], one["id"]]}
    )
    assert [item["id"] for item in some["data"]] == [many["data"][0]["id"]]
    rest = ask("POST", "/suppressions/batch/remove", json={"emails": emails})
    assert len(rest["data"]) == 4 and all(item["deleted"] for item in rest["data"])


def test_key_of_a_domain(deliveries, suppress, company):
    """It puts in for its domain, and leaves alone what an admin has put in for all."""
    box = deliveries.box
    domain = box.domain(company)
    httpd = box.httpd(box.new_key(company, domain=domain)["token"])
    other = box.httpd(box.new_key(box.company())["token"])
    suppress(address("of.all"))
    assert httpd.request("GET", f"/suppressions/{address('of.all')}").status_code == 200
    assert httpd.request("DELETE", f"/suppressions/{address('of.all')}").status_code in (401, 403)
    assert other.request("GET", f"/suppressions/{address('of.all')}").status_code == 404
    assert other.request("DELETE", f"/suppressions/{address('of.all')}").status_code == 404
    made = httpd.request("POST", "/suppressions", json={"email": address("of.one")}).json()["id"]
    assert entry(deliveries, company, address("of.one"))["domain"] == domain
    assert made in [one["id"] for one in httpd.request("GET", "/suppressions").json()["data"]]
    deliveries.wait(deliveries.send(address("of.one")), "delivered")
    # Also where another reason stands in front of it.
    suppress(address("of.all"), "--reason", "bounce")
    httpd.request("DELETE", f"/suppressions/{address('of.all')}")
    assert entry(deliveries, company, address("of.all"))["reason"] == "manual"
    batch = {"emails": [address("of.all")]}
    assert httpd.request("POST", "/suppressions/batch/remove", json=batch).status_code != 200
    assert entry(deliveries, company, address("of.all"))["reason"] == "manual"


def test_form_removes_its_own_list_alone(deliveries, suppress, company):
    """An id instead of an address is no way to the entries of another list."""
    made = suppress(address("by.id"))
    for kind in ("bounces", "complaints", "unsubscribes"):
        form_ask(deliveries, "DELETE", f"/v3/example.com/{kind}/{made['id']}", 404)
    assert entry(deliveries, company, address("by.id"))["reason"] == "manual"


def test_bounds_of_an_entry(deliveries, company):
    one = address("bounded")
    for path, fields in (
        ("bounces", {"code": "5" * 100}),
        ("bounces", {"error": "x" * 1001}),
        ("whitelists", {"reason": "x" * 1001}),
        ("unsubscribes", {"tag": "x" * 5000}),
    ):
        answer = form_ask(
            deliveries, "POST", f"/v3/example.com/{path}", 400, data={"address": one, **fields}
        )
        assert "bytes" in answer["message"]
    lines = "address\n" + f"{one}\n" * 100001
    form_ask(
        deliveries, "POST", "/v3/example.com/bounces/import", 400,
        files={"file": ("file", lines, "application/octet-stream")},
    )  # fmt: skip
    assert entry(deliveries, company, one) is None


def test_tags_as_a_text(deliveries):
    """Of one tag, as a text or a list; of null as if it was not there."""
    one = address("tagged.text")
    for tags, kept in (("news", ["news"]), (["a", "b"], ["a", "b"]), (None, ["*"])):
        form_ask(
            deliveries, "POST", "/v3/example.com/unsubscribes",
            json=[{"address": one, "tags": tags}],
        )  # fmt: skip
        item = form_ask(deliveries, "GET", f"/v3/example.com/unsubscribes/{one}")
        assert item["tags"] == kept


def form_ask(deliveries, method, path, status=200, **options):
    httpd = deliveries.box.httpd()
    answer = httpd.request(
        method, path, headers={"Authorization": None}, auth=("api", httpd.key), **options
    )
    assert answer.status_code == status, answer.text
    return answer.json()


def test_form_routes(deliveries, suppress, company):
    """As mailgun.js and Ghost call them."""

    def ask(method, path, status=200, **options):
        return form_ask(deliveries, method, f"/v3/example.com/{path}", status, **options)

    for kind, removed in (
        ("bounces", "Bounced address has been removed"),
        ("complaints", "Spam complaint has been removed"),
        ("unsubscribes", "Unsubscribe event has been removed"),
    ):
        one = address(f"form+{kind}")
        assert ask("POST", kind, data={"address": one}) == {
            "message": f"Address has been added to the {kind} table",
            "address": one,
        }
        ask("POST", kind, data={"address": one})
        item = ask("GET", f"{kind}/{one.replace('+', '%2B')}")
        assert item["address"] == one and item["created_at"].endswith(" UTC")
        assert len(item["created_at"]) == len("Sun, 26 Jan 2025 07:29:04 UTC")
        if kind == "bounces":
            assert item["code"] == "550" and item["error"] == ""
        if kind == "unsubscribes":
            assert item["tags"] == ["*"]
        deliveries.wait(deliveries.send(one), "suppressed")
        assert ask("DELETE", f"{kind}/{one}") == {"address": one, "message": removed}
        ask("DELETE", f"{kind}/{one}", 404)
        ask("GET", f"{kind}/{one}", 404)
        deliveries.wait(deliveries.send(one), "delivered")
    ask("POST", "bounces", 400, data={"address": "none"})
    many = [
        {"address": address(f"page{i}"), "code": 551, "error": "x",
         "created_at": "Mon, 01 Jan 0001 00:00:00 +0000"}
        for i in range(5)
    ]  # fmt: skip
    assert ask("POST", "bounces", json=many)["message"] == (
        "5 addresses have been added to the bounces table"
    )
    ask("POST", "bounces", 400, json=many * 200)
    page = ask("GET", "bounces?limit=2&term=page")
    seen = []
    while page["items"]:
        seen += [item["address"] for item in page["items"]]
        assert all(item["code"] == "551" for item in page["items"])
        # Go's time that is not set is now.
        assert all("Jan 2001" not in item["created_at"] for item in page["items"])
        path = page["paging"]["next"].split("/v3/example.com/")[1]
        # mailgun.js puts its own limit behind that of the page.
        page = ask("GET", path + "&limit=2")
    assert seen == [address(f"page{i}") for i in range(5)]
    assert all(url.startswith("http") for url in page["paging"].values())
    back = ask("GET", f"bounces?limit=2&term=page&page=previous&address={address('page4')}")
    assert [item["address"] for item in back["items"]] == [address("page2"), address("page3")]
    last = ask("GET", "bounces?limit=2&term=page&page=last")
    assert [item["address"] for item in last["items"]] == [address("page3"), address("page4")]


def test_tags(deliveries):
    """Who wants no emails of a tag gets the others."""
    form = FormClient(deliveries.box)
    form_ask(
        deliveries, "POST", "/v3/example.com/unsubscribes",
        json=[{"address": address("tagged"), "tags": ["news"]}],
    )  # fmt: skip
    for tag in ("news", "bills"):
        fields = {"from": "a@example.com", "to": address("tagged"), "o:tag": tag, "text": tag}
        form.send({**fields, "subject": tag})
    wait_for("the bill", lambda: got(deliveries, "tagged") == 1)


def test_allowed(deliveries, company):
    """Of what is allowed no bounce is put in."""
    for value in (address("allowed"), "ours.test"):
        kind = "address" if "@" in value else "domain"
        made = form_ask(
            deliveries, "POST", "/v3/example.com/whitelists", data={kind: value, "reason": "ours"}
        )
        assert made["type"] == kind and made["value"] == value
    items = form_ask(deliveries, "GET", "/v3/example.com/whitelists")["items"]
    assert {(i["type"], i["value"], i["reason"]) for i in items} == {
        ("address", address("allowed"), "ours"), ("domain", "ours.test", "ours")
    }  # fmt: skip
    deliveries.remote.answers["allowed"] = b"550 5.1.1 Unknown\r\n"
    deliveries.wait(deliveries.send(address("allowed")), "bounced")
    assert entry(deliveries, company, address("allowed")) is None
    form_ask(deliveries, "DELETE", f"/v3/example.com/whitelists/{address('allowed')}")
    deliveries.wait(deliveries.send(address("allowed")), "bounced")
    assert entry(deliveries, company, address("allowed"))["reason"] == "bounce"


def test_import(deliveries, company):
    """A file, as Mailgun's own is."""
    made = "Thu, 13 Oct 2011 18:02:00"
    text = "address, code, error, created_at\r\n" + "".join(
        f'{address(f"file{i}")}, 550, "No, ""such"" user", "{made} GMT"\r\n' for i in range(1200)
    )
    answer = form_ask(
        deliveries, "POST", "/v3/example.com/bounces/import", 202,
        files={"file": ("file", text, "application/octet-stream")},
    )  # fmt: skip
    assert answer["message"].startswith("file uploaded")
    item = form_ask(deliveries, "GET", f"/v3/example.com/bounces/{address('file1199')}")
    assert item["error"] == 'No, "such" user' and item["created_at"] == f"{made} UTC"
    bad = form_ask(
        deliveries, "POST", "/v3/example.com/bounces/import", 400,
        files={"file": ("file", "code,error\n550,x\n", "application/octet-stream")},
    )  # fmt: skip
    assert "while reading csv header" in bad["message"]
    form_ask(deliveries, "DELETE", "/v3/example.com/bounces")
    assert form_ask(deliveries, "GET", "/v3/example.com/bounces")["items"] == []


def test_ghost(deliveries, company):
    """A newsletter with two hard bounces: the next one goes to the others, and the events say why,
    as Ghost wants it."""
    form = FormClient(deliveries.box)
    everybody = [address(f"member{i}") for i in range(20)]
    for i in (7, 15):
        deliveries.remote.answers[f"member{i}"] = b"550 5.1.1 Unknown\r\n"
    fields = {"from": "a@example.com", "to": everybody, "subject": "News", "text": "Hello",
              "recipient-variables": "{}", "o:tag": "ghost-email"}  # fmt: skip
    gone = {address("member7"), address("member15")}

    def failed(tag):
        items = form_ask(
            deliveries, "GET", f"/v3/example.com/events?event=failed&tags={tag}&limit=300"
        )["items"]
        return {i["recipient"]: i["delivery-status"]["code"] for i in items}

    form.send({**fields, "o:tag": "first"})
    wait_for("the bounces", lambda: failed("first") == dict.fromkeys(gone, 550), patience_s=180)
    form.send({**fields, "o:tag": "second"})
    wait_for(
        "them to be left out", lambda: failed("second") == dict.fromkeys(gone, 605), patience_s=180
    )
    assert got(deliveries, "member7") <= 1
    for one in gone:
        for kind in ("bounces", "complaints", "unsubscribes"):
            form_ask(
                deliveries, "DELETE", f"/v3/example.com/{kind}/{one}",
                200 if kind == "bounces" else 404,
            )  # fmt: skip
