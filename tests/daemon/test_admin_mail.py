"""What the admin listener tells of emails, refusals and statistics, what it says
needs attention, and the email that an owner sends to try it."""

import re
import signal

import pytest
from harness import wait_for
from harness.admin import Admin, Tenant, operator
from harness.deliveries import Deliveries, address
from harness.sandbox import unique
from harness.submit import plain


class Sender(Tenant):
    """It has a key, too, and sends."""

    def __init__(self, box):
        super().__init__(box)
        made = self.owner.ok("POST", "/admin/keys", 201, json={"name": unique("key")})
        self.key_id = made["id"]
        self.httpd = box.httpd(made["token"])

    def send(self, to, **fields):
        return self.httpd.send(
            {"from": f"a@{self.domain}", "to": to, "text": "Hello", **fields}
        )

    def ids(self, query="", client=None):
        found = (client or self.viewer).ok("GET", "/admin/emails" + query)["data"]
        return [e["id"] for e in found]


@pytest.fixture(scope="module")
def admin(box):
    return operator(box)


@pytest.fixture
def tenant(box):
    return Sender(box)


@pytest.fixture
def stranger(box):
    return Sender(box)


def queue_id_of(box, email_id):
    return box.query(f"SELECT queue_id FROM email WHERE id = '{email_id}'")


def as_refused(box, email_id, why="the key was revoked"):
    """Gives an email the state that a verdict leaves when the key was revoked
    meanwhile."""
    box.query(
        "UPDATE email SET state = 'refused', last_event = 'failed',"
        f" refusal = '{why}' WHERE id = '{email_id}'"
    )


def test_what_somebody_types(box, admin, tenant, stranger, to):
    subject = unique("Invoice")
    first = tenant.send(to, subject=subject)
    second = tenant.send(unique("z") + "@dst.test", headers={"X-A": "b"})
    third = tenant.send([to, unique("y") + "@dst.test"])
    whole = tenant.viewer.ok("GET", f"/admin/emails/{first}")
    queue_id = queue_id_of(box, second)

    def typed(words, client=None, **more):
        query = {"q": words, **more}
        answer = (client or tenant.viewer).ok("GET", "/admin/emails", params=query)
        return answer["found_by"], [e["id"] for e in answer["data"]]

    assert typed(first) == ("id", [first])
    assert typed(first.upper()) == ("id", [first])
    assert typed(whole["message_id"]) == ("message_id", [first])
    assert typed(whole["message_id"].strip("<>")) == ("message_id", [first])
    assert typed(queue_id) == ("queue_id", [second])
    assert typed(to) == ("to", [third, first])
    assert typed(to.upper()) == ("to", [third, first])
    assert typed(to.split("@")[0]) == ("text", [third, first])
    assert typed(subject[1:].upper()) == ("text", [first])
    assert typed(f"a@{tenant.domain}") == ("text", [third, second, first])
    assert typed("none of them") == ("text", [])
    # The other filters hold for what is searched.
    assert typed(to, key_id=tenant.key_id) == ("to", [third, first])
    assert typed(to, key_id=stranger.key_id)[1] == []
    assert typed(to, limit=1) == ("to", [third])
    assert typed(to, after=third) == ("to", [first])
    # Nothing of it is another company's.
    for words in [first, whole["message_id"], queue_id, to, subject]:
        assert typed(words, stranger.owner)[1] == [], words
        assert first in typed(words, admin)[1] or words == queue_id
    assert typed(first, admin, company_id=stranger.id)[1] == []


def test_words(box, admin, tenant, stranger, to):
    """A search finds all words in any order, also parts of words, whether or not the
    email is in the text index yet."""
    word = unique("Zebra")
    name = unique("ÄRMEL")
    first = tenant.send(f'"{name}" <{to}>', subject=f"Your team update: {word} inside")
    other = tenant.send(f"{word}@dst.test", subject="other")

    def typed(words, client=None):
        answer = (client or tenant.viewer).ok("GET", "/admin/emails", params={"q": words})
        assert answer["unread_percent"] == 0 and answer["looked"] is None
        return [email["id"] for email in answer["data"]]

    def is_indexed():
        behind = "SELECT count(*) FROM email, text_range WHERE seq > high"
        return int(box.query(behind)) == 0

    def check():
        assert typed(f"update {word[1:].lower()} team") == [first]
        assert typed(f'"team update" {name.lower()[1:-1]}') == [first]
        assert typed(f'"update team" {word}') == []
        assert typed(word.upper()) == [other, first]
        assert typed(word, stranger.owner) == []
        assert typed(word, admin) == [other, first]

    check()
    wait_for("the text index", is_indexed)
    check()
    text = "convert_from(text, 'UTF8')" if box.on_server else "cast(text AS TEXT)"
    blocks = f"SELECT {text} FROM text_block WHERE company_id = '{tenant.id}'"
    assert word.lower() in box.query(blocks)


def test_recipients(box, admin, tenant, stranger, to):
    """A search for a recipient, or for a recipient's state, returns recipients."""
    other = unique("z") + "@dst.test"
    sent = tenant.send([to, other])
    wait_for("a delivery", lambda: tenant.ids("?recipient_status=delivered") == [sent])
    box.query(
        f"UPDATE email_recipient SET state = 'bounced' WHERE address = '{other}';"
        f"UPDATE email SET last_event = 'delivery_delayed' WHERE id = '{sent}'"
    )

    def matched(client=None, **query):
        found = (client or tenant.viewer).ok("GET", "/admin/emails", params=query)["data"]
        return [[(r["address"], r["status"]) for r in e["matched"]] for e in found]

    assert matched(recipient_status="bounced") == [[(other, "bounced")]]
    assert matched(recipient_status="delivered") == [[(to, "delivered")]]
    assert matched(q=to.upper()) == [[(to, "delivered")]]
    assert matched(to=to, recipient_status="bounced") == []
    # Words that are in one recipient mean that one; in none, or in several, the email.
    part = other.split("@")[0]
    assert matched(q=part) == matched(q=f"{part[:-2].upper()} @dst") == [[(other, "bounced")]]
    found = tenant.viewer.ok("GET", "/admin/emails", params={"q": "@dst.test"})["data"]
    assert [(e["id"], e["matched"]) for e in found] == [(sent, None)]
    assert matched(stranger.owner, recipient_status="bounced") == []
    assert [(other, "bounced")] in matched(admin, recipient_status="bounced")
    assert tenant.viewer.status("GET", "/admin/emails?recipient_status=odd") == 422


def test_filters(box, admin, tenant, stranger, to):
    sent = tenant.send(to)
    assert tenant.ids(f"?key_id={tenant.key_id}") == [sent]
    assert tenant.ids(f"?key_id={stranger.key_id}") == []
    assert stranger.ids(f"?key_id={tenant.key_id}") == []
    assert tenant.ids(f"?key_id={tenant.key_id}", admin) == [sent]
    as_refused(box, sent)
    assert tenant.ids("?status=refused") == [sent]
    assert tenant.ids("?status=queued") == []
    for query in ["?status=odd", "?status=", "?key_id=a&key_id=b", "?after=x"]:
        assert tenant.viewer.status("GET", "/admin/emails" + query) == 422, query


def test_pages_while_mail_comes(tenant, to):
    """No email is missing or repeated while others are sent."""
    sent = [tenant.send(to) for _ in range(5)]
    for query in ["", f"&q={to}", f"&q={to.split('@')[0]}", "&status=delivered"]:
        if "status" in query:
            wait_for(
                "their delivery",
                lambda: set(sent) <= set(tenant.ids("?limit=100&status=delivered")),
            )
        seen, after = [], ""
        while True:
            page = tenant.viewer.ok("GET", f"/admin/emails?limit=2{query}{after}")
            seen += [e["id"] for e in page["data"]]
            if not page["has_more"]:
                break
            after = f"&after={seen[-1]}"
            tenant.send(to)
        assert len(seen) == len(set(seen))
        assert [i for i in seen if i in sent] == sent[::-1], query


def test_story(own_box):
    deliveries = Deliveries(own_box())
    box = deliveries.box
    for setting in ("minimal_backoff_time = 1h", "maximal_backoff_time = 2h"):
        box.postconf(setting)
    deliveries.reload()
    admin = operator(box)
    sent = deliveries.send(address("fine"), address("unknown"), address("later"))
    deliveries.wait(sent, "delivered", "bounced", "deferred")
    whole = admin.ok("GET", f"/admin/emails/{sent}")
    assert whole["answer"] == (
        "In part, of 3 recipients: 1 delivered, 1 bounced, 1 deferred."
    )
    assert whole["is_open"] and not whole["is_test"]
    fine, unknown, later = whole["recipients"]
    assert fine["status_text"] == "delivered" and fine["next"] is None
    assert unknown["dsn"] == "5.1.1" and "User unknown" in unknown["message"]
    assert later["next"].startswith("Postfix tries again ")
    assert later["queue"] == "deferred"
    assert later["updated_at"] < later["next_attempt_at"] < later["gives_up_at"]
    facts = {(e["recipient"], e["kind"]) for e in whole["events"]}
    assert (address("unknown"), "bounced") in facts
    assert (address("later"), "deferred") in facts
    assert whole["queue_messages"][0]["queue_id"] == whole["queue_id"]
    header = {f["name"]: f["value"] for f in whole["header"]}
    assert header["From"] == "hello@example.com"
    assert header["To"].split(", ") == [address(n) for n in ("fine", "unknown", "later")]
    assert header["Message-ID"] == whole["message_id"]
    # With its queue out of sight the story says less, and stands.
    config = box.env["POSTFIX_CONFIG"]
    box.stop("postfix")
    whole = admin.ok("GET", f"/admin/emails/{sent}")
    assert whole["recipients"][2]["status"] == "deferred", config
    deliveries.remote.close()


HTML = (
    '<p onclick="alert(1)">Hello</p><script>alert(2)</script>'
    '<LINK rel=preconnect href=//evil.example><img src="http://evil.example/x">'
)


def test_html(admin, tenant, stranger, to):
    sent = tenant.send(to, html=HTML)
    target = f"/admin/emails/{sent}/html"
    answer = tenant.viewer.request("GET", target)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["x-frame-options"] == "SAMEORIGIN"
    assert answer.headers["x-dns-prefetch-control"] == "off"
    policy = dict(
        (words.split(None, 1) + [""])[:2]
        for words in answer.headers["content-security-policy"].split(";")
    )
    assert policy == {
        "default-src": "'none'",
        "style-src": "'unsafe-inline'",
        "img-src": "data:",
        "form-action": "'none'",
        "base-uri": "'none'",
        "frame-ancestors": "'self'",
        "sandbox": "",
    }
    assert "<p onclick" in answer.text
    assert "<link" not in answer.text.lower()
    assert stranger.owner.status("GET", target) == 404
    assert admin.status("GET", target) == 200
    assert Admin(tenant.viewer.box).status("GET", target) == 401
    # What has none is not there; nor is anything that is no id.
    plain_one = tenant.send(to)
    assert admin.status("GET", f"/admin/emails/{plain_one}/html") == 404
    assert admin.status("GET", "/admin/emails/x/html") == 404


def test_raw(tenant, stranger, to):
    subject = "Grüße " + unique()
    sent = tenant.send(
        [f"Zoë <{to}>"], subject=subject, html=HTML, bcc="secret@dst.test", cc="c@dst.test"
    )
    tenant.viewer.box.query(  # as retention.messages does
        f"DELETE FROM message WHERE email = (SELECT seq FROM email WHERE id = '{sent}')"
    )
    target = f"/admin/emails/{sent}/raw"
    shown = tenant.viewer.request("GET", target)
    assert shown.headers["content-type"] == "text/plain; charset=utf-8"
    assert shown.headers["content-security-policy"].startswith("default-src 'none'")
    assert shown.headers["x-frame-options"] == "DENY"
    assert shown.text.startswith("Date: ") or "\nDate: " in shown.text
    assert "To: =?" in shown.text and to in shown.text
    assert "\nComments: rebuilt from " in "\n" + shown.text
    assert "secret@dst.test" not in shown.text
    assert "multipart/alternative" in shown.text
    assert tenant.viewer.status("GET", target + "?download=yes") == 422
    saved = tenant.viewer.request("GET", target + "?download=true")
    assert saved.headers["content-type"] == "message/rfc822"
    assert saved.headers["content-disposition"] == 'attachment; filename="email.eml"'
    assert tenant.viewer.status("GET", target + "?x=1") == 422
    assert stranger.owner.status("GET", target) == 404


def test_refusals(box, admin, tenant, stranger):
    """The next page continues correctly although rows move to the front."""
    for i in range(3):
        plain(box, "sendmail", f"cron{i}@{tenant.domain}", "x@dst.test").verdict()

    def page(query="", client=None):
        return (client or tenant.viewer).ok("GET", "/admin/refusals" + query)

    wait_for("the notes", lambda: len(page()["data"]) == 3)
    first = page("?limit=1")
    assert first["has_more"] and first["next"]
    # An old one comes again, and is the newest now.
    plain(box, "sendmail", f"cron0@{tenant.domain}", "x@dst.test").verdict()
    wait_for("the count", lambda: page()["data"][0]["count"] == 2)
    rest = page(f"?limit=5&after={first['next']}")
    assert [r["sender"] for r in rest["data"]] == [f"cron1@{tenant.domain}"]
    assert not rest["has_more"] and rest["next"] is None
    assert page(f"?after={first['next']}", stranger.owner)["data"] == []
    for after in ["x", "1", "1.", ".1", "1.x", "0.1", "-1.1", "1.1.1", "9" * 30 + ".1"]:
        assert admin.status("GET", f"/admin/refusals?after={after}") == 422, after
    assert admin.status("GET", "/admin/refusals?learnt=1") == 422


def test_statistics(box, admin, tenant, stranger, to):
    sent = [tenant.send(to) for _ in range(3)]
    stranger.send(to)

    def counts(query, client=None):
        target = "/admin/stats?since=2h&step=hour" + query
        return (client or tenant.viewer).ok("GET", target)["data"]

    def total(kind, query="", client=None):
        return sum(s["counts"].get(kind, 0) for s in counts(query, client))

    wait_for("the counts", lambda: total("delivered") == 3)
    as_refused(box, sent[0])
    assert total("refused") == 1
    assert total("refused", client=stranger.owner) == 0
    assert total("refused", f"&domain={stranger.domain}") == 0
    by = counts("&by=domain")
    assert [s["domain"] for s in by] == [tenant.domain]
    assert by[0]["counts"]["delivered"] == 3 and by[0]["counts"]["refused"] == 1
    wait_for("the other's", lambda: total("delivered", client=stranger.owner) == 1)
    all_of_them = {s["domain"]: s["counts"] for s in counts("&by=domain", admin)}
    assert all_of_them[tenant.domain] == by[0]["counts"]
    assert all_of_them[stranger.domain]["delivered"] == 1
    times = [s["time"] for s in counts("", admin)]
    assert times == sorted(set(times))
    assert total("delivered", client=admin) >= 4
    for query in ["?by=key", "?step=week", "?since=soon"]:
        assert admin.status("GET", "/admin/stats" + query) == 422
    # And where they went, how long that took, and how much waited.
    provider = {"object": "tally", "provider": "other", "delivered": 3}
    none = {"deferred": 0, "bounced": 0, "expired": 0}
    assert tenant.viewer.ok("GET", "/admin/stats/providers?since=2h")["data"] == [{**provider, **none}]
    took = tenant.viewer.ok("GET", "/admin/stats/delays?since=2h&step=hour")
    assert took["all"]["delivered"] == sum(s["delivered"] for s in took["data"]) == 3
    assert 0 < took["all"]["p50_ms"] <= took["all"]["p95_ms"]
    assert tenant.viewer.ok("GET", "/admin/stats/reasons")["data"] == []
    assert admin.ok("GET", "/admin/stats/backlog")["data"][-1].keys() == {"object", "begin_at", "outbox", "queue"}
    for query in ["?step=week", "?since=90d&step=hour", "?since=2026-02-01&until=2026-01-01"]:
        assert admin.status("GET", "/admin/stats/reasons" + query) == 422
    mine = f"?since=2h&domain={tenant.domain}"
    assert admin.ok("GET", "/admin/stats/providers" + mine)["data"] == [{**provider, **none}]
    assert admin.ok("GET", f"/admin/stats/delays{mine}&company_id={stranger.id}")["all"] is None
    assert tenant.viewer.ok("GET", f"/admin/stats/providers?domain={stranger.domain}")["data"] == []
    assert tenant.viewer.ok("GET", "/admin/stats/backlog")["data"][-1].keys() == {"object", "begin_at", "outbox"}
    # The same after an upgrade from a version that did not count.
    box.query(
        "BEGIN; DELETE FROM outcome_count; UPDATE outcome_fill SET counted_us = 9223372036854775807,"
        " next_seq = (SELECT max(seq) FROM event); COMMIT"
    )
    wait_for("the counts of before", lambda: admin.ok("GET", "/admin/stats/providers" + mine)["data"] == [{**provider, **none}])
    assert tenant.viewer.ok("GET", "/admin/stats/delays?since=2h&step=hour")["data"] == took["data"]
    company = ["--company", tenant.id]
    assert box.cli("stats", "providers", *company, "--domain", tenant.domain)[0]["delivered"] == 3
    assert box.cli("stats", "delays", *company)[-1]["delivered"] == 3


def attention(client, query=""):
    listed = client.ok("GET", "/admin/attention" + query)["data"]
    return {item["code"]: item for item in listed}


def test_attention_of_a_company(box, admin, tenant, stranger, to):
    assert attention(tenant.viewer) == {}
    sent = tenant.send(to)
    as_refused(box, sent, "the key was <revoked>")
    refused = attention(tenant.viewer)["key_refused"]
    assert "the key was <revoked>" in refused["text"]
    assert tenant.key_id in refused["page"]
    # What the rules would stop, while the domain learns.
    box.cli("domain", "set", tenant.domain, "--policy", "learn")
    plain(box, "sendmail", f"cron@{tenant.domain}", "x@dst.test").verdict()
    wait_for("the note", lambda: "learnt" in attention(tenant.viewer))
    learnt = attention(tenant.viewer)["learnt"]
    assert learnt["page"] == f"refusals?domain={tenant.domain}"
    assert "1 message. An operator can add exemptions" in learnt["text"]
    # Deliveries that bounced.
    box.query(
        "INSERT INTO event_count (company_id, hour_us, domain, kind, count)"
        " SELECT company_id, (decided_us / 3600000000) * 3600000000, domain,"
        f" 'bounced', 25 FROM email WHERE id = '{sent}'"
    )
    assert "25 of " in attention(tenant.viewer)["bounces"]["text"]
    # Keys that nobody uses.
    box.query(
        "UPDATE api_key SET created_us = 1, last_used_us = 0"
        f" WHERE id = '{tenant.key_id}'"
    )
    unused = attention(tenant.viewer)["keys_unused"]
    assert (unused["level"], unused["page"]) == ("hint", "keys?idle=unused")

    def idle(how, client=tenant.viewer):
        return [k["id"] for k in client.ok("GET", f"/admin/keys?idle={how}")["data"]]

    assert idle("unused") == [tenant.key_id] and idle("forgotten") == []
    assert tenant.key_id in idle("unused", admin) and idle("unused", stranger.owner) == []
    box.query(f"UPDATE api_key SET last_used_us = 1 WHERE id = '{tenant.key_id}'")
    assert idle("unused") == [] and idle("forgotten") == [tenant.key_id]
    assert tenant.viewer.status("GET", "/admin/keys?idle=odd") == 422
    box.query(f"UPDATE api_key SET last_used_us = 0 WHERE id = '{tenant.key_id}'")
    assert attention(stranger.owner) == {}
    named = attention(admin, f"?company_id={tenant.id}")
    assert {"learnt", "key_refused", "bounces", "keys_unused"} <= set(named)
    assert "1 message. Add exemptions" in named["learnt"]["text"]
    # A member's question is of their own company, whatever it names.
    assert attention(stranger.owner, f"?company_id={tenant.id}") == {}
    asked = unique("asked") + ".example"
    stranger.owner.ok("POST", "/admin/domains", 201, json={"name": asked})
    listed = admin.ok("GET", "/admin/attention")["data"]
    [pending] = [i["text"] for i in listed if i["code"] == "pending"]
    assert asked in pending or " ..." in pending  # those of other tests may come before it
    assert "pending" not in attention(stranger.owner)


def test_attention_of_the_parts(own_box):
    box = own_box("--set", "submission.record_wait=1s")
    admin = operator(box)
    box.httpd().send({"from": "a@example.com", "to": "b@dst.test", "text": "x"})
    wait_for("all to be well", lambda: attention(admin) == {})
    # The log is mute while mail goes out. What it told of an earlier email, which
    # waits, hides nothing.
    box.kill("events", signal.SIGSTOP)
    box.httpd().send({"from": "a@example.com", "to": "b@dst.test", "text": "x"})
    box.query("UPDATE email SET decided_us = decided_us - 660000000")
    mute = attention(admin)["events"]
    assert mute["level"] == "problem"
    assert "does not run" in mute["text"] or "told nothing" in mute["text"]
    health = admin.ok("GET", "/admin/health")
    assert not health["ok"]
    box.kill("events", signal.SIGCONT)
    box.query("UPDATE email SET decided_us = decided_us + 660000000")
    wait_for("the log to be read", lambda: "events" not in attention(admin))
    box.stop("milter")
    assert attention(admin)["milter"]["level"] == "problem"


def test_send_a_test(box, admin, tenant, stranger, to):
    body = {"key_id": tenant.key_id, "from": f"Me <me@{tenant.domain}>", "to": to}
    sent = tenant.owner.ok("POST", "/admin/emails/test", json=body)["id"]

    def delivered():
        return tenant.owner.ok("GET", f"/admin/emails/{sent}")["last_event"] == "delivered"

    wait_for("its delivery", delivered)
    whole = tenant.owner.ok("GET", f"/admin/emails/{sent}")
    assert whole["key_id"] == tenant.key_id and whole["company_id"] == tenant.id
    assert whole["subject"] == "A test of Postern" and whole["text"]
    [entry] = [
        e
        for e in tenant.owner.ok("GET", f"/admin/audit?object={tenant.key_id}")["data"]
        if e["action"] == "email.test"
    ]
    assert entry["actor"] == "token" and entry["origin"] == tenant.owner.address
    assert entry["after"]["to"] == to and entry["after"]["from"] == body["from"]


def test_a_test_is_held_to_the_rules(box, admin, tenant, stranger, to):
    good = {"key_id": tenant.key_id, "from": f"me@{tenant.domain}", "to": to}

    def problem(client, **fields):
        """Sends an email and returns the problem, with a pause between requests."""
        while True:
            answer = client.request(
                "POST", "/admin/emails/test", json={**good, **fields}
            )
            if answer.status_code != 429:
                return answer.status_code, answer.json()["name"]
            wait_for(
                "the next token",
                lambda: client.status("POST", "/admin/emails/test", json=good) != 429,
            )

    # Another's domain, another's key, in each combination.
    theirs = f"me@{stranger.domain}"
    assert problem(tenant.owner, **{"from": theirs})[0] == 403
    assert problem(tenant.owner, key_id=stranger.key_id)[0] == 404
    assert problem(stranger.owner)[0] == 404
    assert problem(tenant.owner, key_id=stranger.key_id, **{"from": theirs})[0] == 404
    assert problem(admin, **{"from": theirs})[0] == 403
    for wrong in [
        {"to": [to, "b@dst.test"]},
        {"to": "nobody"},
        {"from": "x"},
        {"key_id": None},
        {"key_id": 7},
        {"cc": to},
        {"subject": "a\nb"},
    ]:
        assert problem(tenant.owner, **wrong)[0] == 422, wrong
    # A key that may only read, one of another domain, one that is revoked.
    reading = tenant.owner.ok(
        "POST", "/admin/keys", 201, json={"name": "r", "scopes": "reading"}
    )
    assert problem(tenant.owner, key_id=reading["id"]) == (403, "restricted_api_key")
    tenant.owner.ok("DELETE", f"/admin/keys/{reading['id']}")
    assert problem(tenant.owner, key_id=reading["id"])[0] == 404
    box.cli("domain", "deactivate", tenant.domain)
    assert problem(tenant.owner)[0] == 403


def test_tests_are_rationed(tenant, stranger, to):
    body = {"key_id": tenant.key_id, "from": f"me@{tenant.domain}", "to": to}
    answers = [
        tenant.owner.request("POST", "/admin/emails/test", json=body) for _ in range(30)
    ]
    codes = {a.status_code for a in answers}
    assert 429 in codes and 200 in codes
    refused = next(a for a in answers if a.status_code == 429)
    assert re.fullmatch(r"\d+", refused.headers["retry-after"])
    # Another user has a ration of their own.
    body = {"key_id": stranger.key_id, "from": f"me@{stranger.domain}", "to": to}
    stranger.owner.ok("POST", "/admin/emails/test", json=body)
