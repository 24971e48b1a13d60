"""What the admin listener shows and changes of webhooks and of suppressed addresses."""

import uuid

import pytest
from harness import wait_for
from harness.admin import Tenant, operator
from harness.receiver import Receiver
from harness.sandbox import unique

TYPES = ["email.sent", "email.delivered"]


@pytest.fixture(scope="module")
def admin(box):
    return operator(box)


@pytest.fixture
def receiver():
    made = []

    def make(*args):
        made.append(Receiver(*args))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def tenant(box):
    return Tenant(box)


@pytest.fixture
def stranger(box):
    return Tenant(box)


def add(client, url="https://hooks.test/x", **fields):
    return client.ok(
        "POST", "/admin/webhooks", 201, json={"endpoint": url, "events": TYPES, **fields}
    )


def data(client, target):
    return client.ok("GET", target)["data"]


def settled(client, target, event):
    """Returns the event once no attempt is due any more."""
    return wait_for(
        "an attempt",
        lambda: next(
            (
                one for one in data(client, f"{target}/events")
                if one["id"] == event["id"] and one["attempts"] > event["attempts"]
            ),
            None,
        )
    )  # fmt: skip


def test_webhooks_are_made_and_changed(admin, tenant):
    made = add(tenant.owner, domain=tenant.domain)
    target = f"/admin/webhooks/{made['id']}"
    assert made["signing_secret"].startswith("whsec_") and made["waiting"] == 0
    shown = tenant.viewer.ok("GET", target)
    assert shown == {k: v for k, v in made.items() if k != "signing_secret"}
    assert (shown["events"], shown["domain"]) == (TYPES, tenant.domain)
    assert data(tenant.viewer, "/admin/webhooks") == [shown]
    assert admin.ok("GET", target)["company_name"]
    changed = tenant.owner.ok(
        "PATCH", target, json={"events": "email.bounced, email.failed", "domain": "", "enabled": False}
    )
    assert changed["events"] == ["email.bounced", "email.failed"]
    assert changed["domain"] is None and not changed["enabled"]
    # The secret is shown to who asks for it, and that is written down.
    assert tenant.owner.ok("POST", f"{target}/secret")["signing_secret"] == made["signing_secret"]
    rotated = tenant.owner.ok("POST", f"{target}/rotate")
    assert rotated["signing_secret"] != made["signing_secret"] and rotated["rotated_at"]
    tenant.owner.ok("DELETE", target)
    assert tenant.owner.status("GET", target) == 404
    actions = [one["action"] for one in data(tenant.owner, "/admin/audit?action=webhook")]
    assert actions == [f"webhook.{w}" for w in ("remove", "rotate", "secret", "change", "add")]


@pytest.mark.parametrize(
    "fields",
    [
        {"endpoint": "ftp://hooks.test/"},
        {"events": ["nothing"]},
        {"events": []},
        {"domain": "not-ours.example"},
        {"company": "x"},
    ],
)
def test_what_is_wrong_is_refused(tenant, fields):
    body = {"endpoint": "https://hooks.test/", "events": TYPES, **fields}
    assert tenant.owner.status("POST", "/admin/webhooks", json=body) == 422
    target = f"/admin/webhooks/{add(tenant.owner)['id']}"
    assert tenant.owner.status("PATCH", target, json=fields) == 422


def test_an_operator_names_the_company(admin, tenant):
    body = {"endpoint": "https://hooks.test/", "events": TYPES}
    assert admin.status("POST", "/admin/webhooks", json=body) == 422
    made = add(admin, company_id=tenant.id)
    assert made["company_id"] == tenant.id
    assert [one["id"] for one in data(tenant.owner, "/admin/webhooks")] == [made["id"]]


def test_others_see_none_of_it(tenant, stranger):
    hook = add(tenant.owner)["id"]
    entry = tenant.owner.ok("POST", "/admin/suppressions", 201, json={"address": "a@b.test"})["id"]
    for name, asked in [("webhooks", hook), ("suppressions", entry)]:
        target = f"/admin/{name}/{asked}"
        assert data(stranger.owner, f"/admin/{name}?company_id={tenant.id}") == []
        for method in ("GET", "DELETE"):
            assert stranger.owner.status(method, target) == 404
        assert tenant.viewer.status("DELETE", target) == 403
    target = f"/admin/webhooks/{hook}"
    assert stranger.owner.status("PATCH", target, json={"enabled": False}) == 404
    for verb in ("secret", "rotate", "test"):
        assert stranger.owner.status("POST", f"{target}/{verb}") == 404
        assert tenant.viewer.status("POST", f"{target}/{verb}") == 403
    assert stranger.owner.status("POST", f"{target}/replay", json={"since": "1h"}) == 404
    for what in ("events", "event?event_id=x", "attempts?event_id=x"):
        assert stranger.owner.status("GET", f"{target}/{what}") == 404
    stranger.owner.ok("POST", "/admin/suppressions/remove", json={"suppressions": [{"id": entry}]})
    assert tenant.owner.ok("GET", f"/admin/suppressions/{entry}")["address"] == "a@b.test"


def test_attempts_and_replays(tenant, receiver):
    statuses = [500, 200, 200, 200]
    endpoint = receiver(lambda delivery, request: statuses.pop(0))
    hook = add(tenant.owner, endpoint.url)
    target = f"/admin/webhooks/{hook['id']}"
    event = tenant.owner.ok("POST", f"{target}/test", 201)
    assert event["type"] == TYPES[0] and event["payload"]["type"] == TYPES[0]
    failed = settled(tenant.viewer, target, event)
    assert (failed["status"], failed["attempts"]) == ("attempting", 1)
    assert failed["next_attempt_at"]
    now = tenant.viewer.ok("GET", target)
    assert now["failing_at"] and now["failed_at"] and now["failure"] == "it answered 500"
    assert now["waiting"] == 1 and now["succeeded_at"] is None
    listed = data(tenant.owner, "/admin/webhooks?in_trouble=true")
    assert [one["id"] for one in listed] == [hook["id"]]
    (attempt,) = data(tenant.viewer, f"{target}/attempts?event_id={event['id']}")
    assert (attempt["http_status"], attempt["response"]) == (500, "ok")
    assert attempt["took_us"] > 0
    tenant.owner.ok("POST", f"{target}/replay", json={"event_id": event["id"]})
    again = settled(tenant.viewer, target, failed)
    assert again["status"] == "success"
    assert len(data(tenant.viewer, f"{target}/attempts?event_id={event['id']}")) == again["attempts"]
    now = tenant.viewer.ok("GET", target)
    assert now["succeeded_at"] and not now["failing_at"] and now["failure"]
    assert data(tenant.owner, "/admin/webhooks?in_trouble=true") == []
    # Those of a time, in each way to say one.
    for since in ("1h", now["created_at"], 1):
        assert tenant.owner.ok("POST", f"{target}/replay", json={"since": since}) == {"events": 1}
    assert tenant.owner.status("POST", f"{target}/replay", json={}) == 422
    assert tenant.owner.status("POST", f"{target}/replay", json={"since": "never"}) == 422


def test_events_have_pages(tenant, receiver):
    endpoint = receiver()
    target = f"/admin/webhooks/{add(tenant.owner, endpoint.url)['id']}"
    made = [tenant.owner.ok("POST", f"{target}/test", 201)["id"] for _ in range(5)]
    first = tenant.viewer.ok("GET", f"{target}/events?limit=3")
    assert first["has_more"]
    rest = tenant.viewer.ok("GET", f"{target}/events?limit=3&after={first['data'][-1]['id']}")
    assert not rest["has_more"]
    assert [one["id"] for one in first["data"] + rest["data"]] == made[::-1]
    assert tenant.viewer.status("GET", f"{target}/events?after=msg_none") == 422


def test_a_disabled_webhook_is_told_nothing(tenant):
    target = f"/admin/webhooks/{add(tenant.owner)['id']}"
    tenant.owner.ok("PATCH", target, json={"enabled": False})
    assert tenant.owner.status("POST", f"{target}/test") == 422
    assert tenant.owner.status("POST", f"{target}/replay", json={"since": "1h"}) == 422


def test_what_stands_still_is_told(admin, tenant, box):
    """A company sees endpoints that were disabled after failures; operators see that no
    webhook is sent."""
    hook = add(tenant.owner)["id"]
    box.query(
        "UPDATE webhook SET enabled = 0, failing_us = 1, disabled_us = 2, failure = 'it answered 500'"
        f" WHERE id = '{hook}'"
    )
    needed = {item["code"]: item for item in data(tenant.viewer, "/admin/attention")}
    assert needed["webhook_disabled"]["page"] == "webhooks?trouble=1"
    assert "https://hooks.test/x" in needed["webhook_disabled"]["text"]
    tenant.owner.ok("PATCH", f"/admin/webhooks/{hook}", json={"enabled": True})
    assert "webhook_disabled" not in {item["code"] for item in data(tenant.viewer, "/admin/attention")}


# Suppressed addresses.


def suppress(client, address, **fields):
    return client.ok("POST", "/admin/suppressions", 201, json={"address": address, **fields})


def addresses(client, query=""):
    return [one["address"] for one in data(client, f"/admin/suppressions?{query}")]


def test_suppressions_are_found(admin, tenant):
    name = unique("who")
    for i, reason in enumerate(("bounce", "complaint", "unsubscribe", "manual")):
        domain = {"domain": tenant.domain} if reason == "bounce" else {}
        suppress(tenant.owner, f"{name}{i}@dst.test", reason=reason, text="why", **domain)
    assert addresses(tenant.viewer) == [f"{name}{i}@dst.test" for i in (3, 2, 1, 0)]
    # By parts of the address, by all of it, by reason and domain; for operators of all companies.
    for client in (tenant.viewer, admin):
        both = f"search={name}&"
        assert len(addresses(client, both)) == 4
        assert addresses(client, f"search={name}2") == [f"{name}2@dst.test"]
        assert addresses(client, f"address={name.upper()}1@dst.test") == [f"{name}1@dst.test"]
        for i, reason in enumerate(("bounce", "complaint", "unsubscribe", "manual")):
            assert addresses(client, f"{both}reason={reason}") == [f"{name}{i}@dst.test"]
            query = f"{both}reason={reason}&company_id={tenant.id}"
            assert addresses(client, query) == [f"{name}{i}@dst.test"]
    # A company's domain also has those for all of its domains.
    assert addresses(admin, f"search={name}&domain={tenant.domain}") == [f"{name}0@dst.test"]
    assert len(addresses(tenant.viewer, f"domain={tenant.domain}")) == 4
    assert tenant.viewer.status("GET", "/admin/suppressions?reason=other") == 422


def test_several_are_added_and_removed(admin, tenant, stranger):
    names = [unique("several") + "@dst.test" for _ in range(3)]
    body = {"suppressions": [{"address": one} for one in names]}
    made = tenant.owner.ok("POST", "/admin/suppressions/batch", 201, json=body)
    assert made["added"] == 3
    assert tenant.owner.ok("POST", "/admin/suppressions/batch", 201, json=body)["added"] == 0
    wrong = {"suppressions": [{"address": names[0]}, {"address": "nobody"}]}
    answer = tenant.owner.request("POST", "/admin/suppressions/batch", json=wrong)
    assert answer.status_code == 422 and "suppressions[1]" in answer.json()["message"]
    assert admin.status("POST", "/admin/suppressions/batch", json=body) == 422
    # One by one, and several of several companies at once: each has it in its audit log.
    tenant.owner.ok("DELETE", f"/admin/suppressions/{names[0]}")
    others = suppress(stranger.owner, names[0])["id"]
    ids = [others] + [one["id"] for one in made["data"]]
    admin.ok("POST", "/admin/suppressions/remove", json={"suppressions": [{"id": i} for i in ids]})
    assert addresses(tenant.owner) == addresses(stranger.owner) == []
    for one in (tenant, stranger):
        entries = data(one.owner, "/admin/audit?action=suppression.remove")
        assert entries[0]["actor"] == "operator"


def test_the_list_is_a_file(tenant, admin, box):
    for i in range(3):
        suppress(tenant.owner, f"csv{i}@dst.test", text='said "no", twice')
    page = tenant.viewer.ok("GET", "/admin/suppressions/csv")
    lines = page["csv"].splitlines()
    assert lines[0].startswith("address,reason") and page["lines"] == 3 and not page["has_more"]
    assert lines[1].startswith('csv2@dst.test,manual,,,"said ""no"", twice"')
    assert admin.status("GET", "/admin/suppressions/csv") == 422
    narrowed = f"/admin/suppressions/csv?company_id={tenant.id}&search=csv1"
    assert admin.ok("GET", narrowed)["lines"] == 1
    # More than an answer has.
    box.sql(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4100)"
        " INSERT INTO suppression (id, company_id, domain, address, reason, created_us)"
        " SELECT ? || (100000000000 + i), ?, '', 'many' || i || '@dst.test', 'bounce', i FROM n",
        str(uuid.uuid4())[:24], tenant.id,
    )
    found, after = [], ""
    while after is not None:
        page = tenant.viewer.ok("GET", f"/admin/suppressions/csv{after and '?after=' + after}")
        found += page["csv"].splitlines()
        after = page["next"]
    assert len(found) == len(set(found)) == 1 + 3 + 4100


def test_an_email_says_why_nothing_was_sent(box, tenant):
    to = unique("gone") + "@dst.test"
    entry = suppress(tenant.owner, to, reason="complaint", text="no thanks")
    client = box.httpd(box.new_key(tenant.id)["token"])
    sent = client.send({"from": f"a@{tenant.domain}", "to": [to, "x@dst.test"], "subject": "Hi", "text": "Hi"})
    target = f"/admin/emails/{sent}"

    def suppressed():
        people = tenant.viewer.ok("GET", target)["recipients"]
        return next((one for one in people if one["status"] == "suppressed"), None)

    one = wait_for("its status", suppressed)
    assert one["address"] == to
    assert one["suppression"] == tenant.viewer.ok("GET", f"/admin/suppressions/{entry['id']}")
    tenant.owner.ok("DELETE", f"/admin/suppressions/{entry['id']}")
    assert suppressed()["suppression"] is None
