"""What the admin listener shows and changes: companies, domains, keys,
exemptions, emails, refusals, statistics, settings, health, the audit log."""

import pytest
from harness import wait_for
from harness.admin import Admin, by_token, operator
from harness.sandbox import unique
from harness.submit import plain


@pytest.fixture(scope="module")
def admin(box):
    return operator(box)


class Tenant:
    """A company with an active domain, made over HTTP, and its owner."""

    def __init__(self, box, admin):
        self.name = unique("company")
        self.id = admin.ok("POST", "/admin/companies", 201, json={"name": self.name})["id"]
        self.domain = admin.ok(
            "POST",
            "/admin/domains",
            201,
            json={"name": unique("d") + ".Example", "company_id": self.id},
        )
        self.owner = by_token(box, unique("owner"), self.id)

    def key(self, **fields):
        return self.owner.ok("POST", "/admin/keys", 201, json={"name": "k", **fields})


@pytest.fixture
def tenant(box, admin):
    return Tenant(box, admin)


@pytest.fixture
def stranger(box, admin):
    return Tenant(box, admin)


def without_company(item):
    """Returns the row as a member gets it: operators also get the company's name."""
    return {name: value for name, value in item.items() if name != "company_name"}


def data(client, target):
    return client.ok("GET", target)["data"]


def test_companies(admin, tenant, stranger):
    assert [c["id"] for c in data(tenant.owner, "/admin/companies")] == [tenant.id]
    ids = [c["id"] for c in data(admin, "/admin/companies")]
    assert {tenant.id, stranger.id} <= set(ids)
    own = f"/admin/companies/{tenant.id}"
    for who in (admin, tenant.owner):
        assert who.ok("GET", own).items() >= {"name": tenant.name, "domains": 1}.items()
    assert stranger.owner.status("GET", own) == 404
    again = {"name": tenant.name}
    assert admin.status("POST", "/admin/companies", json=again) == 409
    assert admin.status("POST", "/admin/companies", json={"name": " "}) == 422
    assert admin.status("POST", "/admin/companies", json={"nme": "x"}) == 422
    admin.ok("DELETE", f"/admin/companies/{stranger.id}")
    assert admin.status("DELETE", f"/admin/companies/{stranger.id}") == 404
    # Its users went with it.
    assert stranger.owner.status("GET", "/admin/session") == 401


def test_domains(admin, tenant, stranger):
    domain = tenant.domain
    assert domain["name"] == domain["name"].lower()
    assert domain["active"] and domain["policy"] == "exclusive"
    target = f"/admin/domains/{domain['id']}"
    of_dns = {name: domain.pop(name) for name in ("records", "checked_at")}
    assert [record["record"] for record in of_dns["records"]] == ["SPF", "DMARC"]
    assert admin.ok("GET", f"{target}/dns") == {**domain, **of_dns}
    assert stranger.owner.status("GET", f"{target}/dns") == 404
    assert stranger.owner.status("POST", f"{target}/verify") == 404
    assert tenant.owner.ok("GET", target) == without_company(domain)
    assert admin.ok("GET", target) == domain
    assert domain["company_name"] == tenant.name
    assert stranger.owner.status("GET", target) == 404
    assert [d["id"] for d in data(tenant.owner, "/admin/domains")] == [domain["id"]]
    listed = data(admin, f"/admin/domains?company_id={tenant.id}&active=true")
    assert [d["id"] for d in listed] == [domain["id"]]
    # Who names another company sees their own.
    listed = data(tenant.owner, f"/admin/domains?company_id={stranger.id}")
    assert [d["id"] for d in listed] == [domain["id"]]

    changed = admin.ok(
        "PATCH", target, json={"policy": "learn", "subdomains": "covered"}
    )
    assert (changed["policy"], changed["subdomains"]) == ("learn", "covered")
    changed = admin.ok("PATCH", target, json={"active": False})
    assert not changed["active"] and changed["policy"] == "learn"
    assert data(tenant.owner, "/admin/domains?active=true") == []
    assert admin.ok("GET", target) == changed
    assert tenant.owner.ok("GET", target) == without_company(changed)
    for wrong in [{"policy": "open"}, {"subdomains": "all"}, {"active": "yes"}, {"x": 1}]:
        assert admin.status("PATCH", target, json=wrong) == 422
    same = {"name": domain["name"], "company_id": stranger.id}
    assert admin.status("POST", "/admin/domains", json=same) == 409
    none = {"name": "no dots", "company_id": tenant.id}
    assert admin.status("POST", "/admin/domains", json=none) == 422
    admin.ok("DELETE", target)
    assert admin.status("GET", target) == 404


def test_a_member_asks_for_a_domain(admin, tenant, stranger):
    name = unique("asked") + ".example"
    for wrong in [{"company_id": stranger.id}, {"policy": "shared"}, {"active": True}]:
        body = {"name": name, **wrong}
        assert tenant.owner.status("POST", "/admin/domains", json=body) == 422
    asked = tenant.owner.ok("POST", "/admin/domains", 201, json={"name": name})
    assert asked["pending"] and not asked["active"]
    assert asked["company_id"] == tenant.id
    target = f"/admin/domains/{asked['id']}"
    assert admin.status("PATCH", target, json={"policy": "learn"}) == 422
    now = admin.ok("PATCH", target, json={"active": True, "policy": "learn"})
    assert now["active"] and not now["pending"] and now["policy"] == "learn"
    assert tenant.owner.ok("GET", target) == without_company(now)
    # What is another's cannot be activated.
    theirs = stranger.owner.ok("POST", "/admin/domains", 201, json={"name": name})
    target = f"/admin/domains/{theirs['id']}"
    assert admin.status("PATCH", target, json={"active": True}) == 409


def test_the_policy_of_postfix_own_domains_has_to_be_said(own_box):
    box = own_box("--postconf", "relay_domains=own.example")
    admin = operator(box)
    company = box.company()
    body = {"name": "own.example", "company_id": company}
    answer = admin.request("POST", "/admin/domains", json=body)
    assert answer.status_code == 422
    assert "relay_domains" in answer.json()["message"]
    owner = by_token(box, unique("owner"), company)
    asked = owner.ok("POST", "/admin/domains", 201, json={"name": "own.example"})
    target = f"/admin/domains/{asked['id']}"
    assert admin.status("PATCH", target, json={"active": True}) == 422
    admin.ok("PATCH", target, json={"active": True, "policy": "learn"})


def test_keys(box, tenant, stranger, to):
    made = tenant.key(scopes="sending", domain=tenant.domain["name"])
    assert made["scopes"] == ["sending"] and made["domain"] == tenant.domain["name"]
    httpd = box.httpd(made["token"])
    email = {"from": f"a@{tenant.domain['name']}", "to": to, "text": "x"}
    httpd.send(email)
    target = f"/admin/keys/{made['id']}"
    assert made["token"] not in str(data(tenant.owner, "/admin/keys"))
    assert stranger.owner.status("PATCH", target, json={"name": "mine"}) == 404
    assert stranger.owner.status("DELETE", target) == 404
    tenant.owner.ok("PATCH", target, json={"name": "renamed"})
    [listed] = data(tenant.owner, "/admin/keys")
    assert listed["name"] == "renamed" and listed["revoked_at"] is None
    tenant.owner.ok("DELETE", target)
    assert data(tenant.owner, "/admin/keys")[0]["revoked_at"]
    assert httpd.post(email).status_code == 401
    # Several at once, of those that one sees and that are valid.
    two = [tenant.key()["id"] for _ in range(2)]
    all_of = {"keys": [{"id": id} for id in [*two, made["id"]]]}
    assert stranger.owner.ok("POST", "/admin/keys/revoke", json=all_of)["revoked"] == 0
    assert tenant.owner.ok("POST", "/admin/keys/revoke", json=all_of)["revoked"] == 2
    assert tenant.owner.status("POST", "/admin/keys/revoke", json={}) == 422
    # A member makes keys of their own company alone.
    mine = tenant.key(company_id=tenant.id.upper())
    assert mine["company_id"] == tenant.id
    answer = tenant.owner.request("POST", "/admin/keys", json={"name": "k", "company_id": stranger.id})
    assert answer.status_code == 404
    assert answer.json()["message"] == f"there is no company {stranger.id}"
    body = {"name": "k", "domain": stranger.domain["name"]}
    assert tenant.owner.status("POST", "/admin/keys", json=body) == 404
    for wrong in [{}, {"name": "k", "scopes": "all"}, {"name": 7}]:
        assert tenant.owner.status("POST", "/admin/keys", json=wrong) == 422


def test_exemptions(admin, tenant, stranger):
    name = tenant.domain["name"]
    made = [
        admin.ok("POST", "/admin/exemptions", 201, json={"domain": name, **fields})
        for fields in [
            {"kind": "login", "value": "joe"},
            {"kind": "client", "value": "::ffff:10.0.0.0/104"},
            {"kind": "sender", "value": f"Root@{name.upper()}", "local": True},
        ]
    ]
    assert [e["value"] for e in made] == ["joe", "10.0.0.0/8", f"Root@{name}"]
    listed = data(tenant.owner, "/admin/exemptions")
    assert {e["id"] for e in listed} == {e["id"] for e in made}
    assert data(stranger.owner, "/admin/exemptions") == []
    assert data(stranger.owner, f"/admin/exemptions?domain={name}") == []
    again = {"domain": name, "kind": "login", "value": "joe"}
    assert admin.status("POST", "/admin/exemptions", json=again) == 409
    for wrong, status in [
        ({**again, "kind": "host"}, 422),
        ({**again, "kind": "sender", "value": "x@other.example"}, 422),
        ({**again, "domain": "none.example"}, 404),
    ]:
        assert admin.status("POST", "/admin/exemptions", json=wrong) == status
    admin.ok("DELETE", f"/admin/exemptions/{made[0]['id']}")
    assert admin.status("DELETE", f"/admin/exemptions/{made[0]['id']}") == 404


@pytest.mark.store
def test_exemptions_all_at_once(box, admin, tenant):
    """All are made or none, with one audit entry for each."""
    name = tenant.domain["name"]
    wanted = [
        {"kind": "login", "value": "joe"},
        {"kind": "client", "value": "10.0.0.1"},
        {"kind": "sender", "value": f"root@{name}", "local": True},
    ]
    target = "/admin/exemptions/batch"
    for wrong, words in [
        ({"kind": "host", "value": "x"}, "exemptions[3]: the `kind`"),
        ({"kind": "login"}, "exemptions[3]: the `value` field is missing"),
        ({"kind": "login", "value": "x", "domain": name}, "no field `domain`"),
        ("joe", "exemptions[3]: it must be an object"),
    ]:
        body = {"domain": name, "exemptions": [*wanted, wrong]}
        answer = admin.request("POST", target, json=body)
        assert answer.status_code == 422 and words in answer.json()["message"], answer.text
    assert data(tenant.owner, "/admin/exemptions") == []
    for n in [0, 201]:
        body = {"domain": name, "exemptions": [{"kind": "login", "value": f"u{i}"} for i in range(n)]}
        assert admin.status("POST", target, json=body) == 422
    body = {"domain": "none.example", "exemptions": wanted}
    assert admin.status("POST", target, json=body) == 404
    # What somebody has added meanwhile stays.
    admin.ok("POST", "/admin/exemptions", 201, json={"domain": name, **wanted[0]})
    made = admin.ok("POST", target, 201, json={"domain": name, "exemptions": wanted})["data"]
    assert [e["value"] for e in made] == ["10.0.0.1", f"root@{name}"]
    assert len(data(tenant.owner, "/admin/exemptions")) == 3
    for one in made:
        [entry] = box.cli("audit", "list", "--object", one["id"])
        assert entry["action"] == "exemption.add"
    assert tenant.owner.status("POST", target, json=body) == 403


def test_learning(box, admin, tenant, stranger):
    """One request turns what a domain has learned into an exemption."""
    name = tenant.domain["name"]
    admin.ok("PATCH", f"/admin/domains/{tenant.domain['id']}", json={"policy": "learn"})
    plain(box, "sendmail", f"cron@{name}", unique("to") + "@dst.test").verdict()
    wait_for("the note", lambda: data(tenant.owner, "/admin/refusals?learnt=true"))
    [refusal] = data(tenant.owner, "/admin/refusals?learnt=true")
    assert refusal["outcome"] == "learnt" and refusal["domain"] == name
    assert data(stranger.owner, "/admin/refusals") == []
    assert stranger.owner.status("GET", f"/admin/suggestions?domain={name}") == 404
    [suggestion] = data(tenant.owner, f"/admin/suggestions?domain={name}")
    body = {k: suggestion[k] for k in ("domain", "kind", "value", "local")}
    assert body["value"] == f"cron@{name}" and body["local"]
    admin.ok("POST", "/admin/exemptions", 201, json=body)
    assert data(tenant.owner, f"/admin/suggestions?domain={name}") == []
    assert tenant.owner.status("GET", "/admin/suggestions") == 422


def test_emails(box, admin, tenant, stranger, to):
    token = tenant.key()["token"]
    httpd = box.httpd(token)
    subject = unique("Subject")
    sent = httpd.send(
        {
            "from": f"a@{tenant.domain['name']}",
            "to": to,
            "subject": subject,
            "html": "<p>Hello</p>",
        }
    )
    box.httpd(stranger.key()["token"]).send(
        {"from": f"a@{stranger.domain['name']}", "to": to, "text": "x"}
    )

    def is_delivered():
        return tenant.owner.ok("GET", f"/admin/emails/{sent}")["last_event"] == "delivered"

    wait_for("its delivery", is_delivered)
    whole = tenant.owner.ok("GET", f"/admin/emails/{sent}")
    assert whole["html"] == "<p>Hello</p>" and whole["state"] == "sent"
    assert [r["address"] for r in whole["recipients"]] == [to]
    assert whole["events"][-1]["type"] == "delivered"
    assert whole["company_id"] == tenant.id
    assert stranger.owner.status("GET", f"/admin/emails/{sent}") == 404

    for query in [
        "",
        f"?to={to}",
        f"?subject={subject.lower()}",
        f"?domain={tenant.domain['name']}",
        "?status=delivered",
        "?since=1h",
        f"?company_id={stranger.id}",
    ]:
        listed = data(tenant.owner, "/admin/emails" + query)
        assert [e["id"] for e in listed] == [sent], query
    for query in ["?subject=none", "?until=2001-01-01", "?until=1970-01-01", "?status=refused"]:
        assert data(tenant.owner, "/admin/emails" + query) == []
    assert len(data(admin, f"/admin/emails?to={to}")) == 2
    page = admin.ok("GET", f"/admin/emails?to={to}&limit=1")
    assert page["has_more"]
    rest = data(admin, f"/admin/emails?to={to}&after={page['data'][0]['id']}")
    assert [e["id"] for e in rest] == [sent]
    # A cursor into another company's mail is none.
    assert stranger.owner.status("GET", f"/admin/emails?after={sent}") == 422
    for query in ["?limit=0", "?since=soon", "?x=1", "?to=a&to=b"]:
        assert tenant.owner.status("GET", "/admin/emails" + query) == 422

    page = tenant.owner.ok("GET", "/admin/events?limit=1&recipient=" + to)
    assert page["has_more"] and page["data"][0]["email_id"] == sent
    assert page["data"][0]["host"] == (box.host or None)
    assert data(tenant.owner, f"/admin/events?before={page['newest']}") == []
    older = data(tenant.owner, f"/admin/events?after={page['next']}")
    assert {(e["email_id"], e["kind"]) for e in older} == {(sent, "accepted")}
    # The dashboard begins anew by the code of the problem.
    for query in [f"before={sent}.{sent}", f"after={page['next']}&before={page['newest']}", "kind=x"]:
        answer = tenant.owner.request("GET", "/admin/events?" + query)
        assert (answer.status_code, answer.json()["name"]) == (422, "invalid_parameter"), query

    steps = data(tenant.owner, "/admin/stats?step=hour&since=2h")
    assert sum(s["counts"].get("delivered", 0) for s in steps) == 1
    assert tenant.owner.status("GET", "/admin/stats?step=week") == 422


def test_one_change_is_one_entry(box, admin, tenant):
    """What a form of the dashboard sets is one request and one audit entry."""

    def entries(word):
        return [e["action"] for e in data(admin, f"/admin/audit?object={word}")]

    name = unique("d") + ".example"
    rules = {"policy": "learn", "subdomains": "covered"}
    body = {"name": name, "company_id": tenant.id, **rules}
    made = admin.ok("POST", "/admin/domains", 201, json=body)
    assert (made["policy"], made["subdomains"]) == ("learn", "covered")
    assert entries(name) == ["domain.add"]
    target = f"/admin/domains/{made['id']}"
    for body, action in [
        ({"policy": "shared", "subdomains": "own"}, "domain.set"),
        ({"active": False, **rules}, "domain.deactivate"),
        ({"active": True, "policy": "exclusive"}, "domain.activate"),
        ({"active": True, "policy": "learn"}, "domain.set"),
    ]:
        n = len(entries(name))
        changed = admin.ok("PATCH", target, json=body)
        assert {field: changed[field] for field in body} == body
        shown = {**changed, "company_name": tenant.name}
        assert admin.ok("GET", target) == shown
        assert entries(name)[: len(entries(name)) - n] == [action]
    # What changes nothing is none, and what is wrong changes nothing.
    n = len(entries(name))
    admin.ok("PATCH", target, json={"active": True, "policy": "learn"})
    wrong = {"active": False, "policy": "open"}
    assert admin.status("PATCH", target, json=wrong) == 422
    assert admin.ok("GET", target) == shown and len(entries(name)) == n
    asked = unique("asked") + ".example"
    made = tenant.owner.ok("POST", "/admin/domains", 201, json={"name": asked})
    body = {"active": True, "policy": "learn"}
    admin.ok("PATCH", f"/admin/domains/{made['id']}", json=body)
    assert entries(asked) == ["domain.register", "domain.ask"]
    # A user is added and reset with a link.
    login = unique("user")
    made = admin.ok("POST", "/admin/users", 201, json={"login": login})
    assert made["login_path"] and entries(login) == ["user.add"]
    n = len(entries(login))
    admin.ok("PATCH", f"/admin/users/{made['id']}", json={"role": "owner"})
    admin.ok("POST", f"/admin/users/{made['id']}/link", 201)
    assert entries(login) == ["link.create", "user.set", "user.add"]


def test_audit(box, admin, tenant, stranger):
    viewer = by_token(box, unique("viewer"), tenant.id, role="viewer")
    key = tenant.key()
    admin.ok("PATCH", f"/admin/domains/{tenant.domain['id']}", json={"policy": "learn"})
    entries = data(tenant.owner, "/admin/audit")
    assert {e["company_id"] for e in entries} == {tenant.id}
    newest = entries[0]
    assert newest["action"] == "domain.set"
    assert newest["before"]["policy"] == "exclusive"
    assert newest["after"]["policy"] == "learn"
    # Members learn neither who the operator is nor from where; other members they see.
    unnamed = {"actor": "operator", "actor_id": "", "actor_name": "", "origin": ""}
    assert newest.items() >= unnamed.items()
    by = box.env["POSTERN_ADMIN_LOGIN"]
    for member in (tenant.owner, viewer):
        shown = data(member, "/admin/audit")
        assert newest in shown and by not in str(shown)
        assert data(member, f"/admin/audit?actor={by}") == []
    ours = f"/admin/audit?company_id={tenant.id}"
    told = data(admin, ours)[0]
    assert told["actor"] == "user" and told["actor_name"] == by
    assert told["origin"] == admin.address
    [made] = data(tenant.owner, f"/admin/audit?object={key['id']}")
    assert made["action"] == "key.create" and made["actor"] == "token"
    assert key["token"] not in str(made)
    assert data(stranger.owner, f"/admin/audit?object={key['id']}") == []
    assert {e["actor_name"] for e in data(admin, f"{ours}&actor={by}")} == {by}
    named = {"company_name": tenant.name}
    assert data(admin, f"{ours}&actor={made['actor_id']}") == [{**made, **named}]
    actions = [e["action"] for e in data(admin, f"{ours}&action=domain")]
    assert actions == ["domain.set", "domain.add"]
    assert data(admin, f"{ours}&action=domain.set") == [told]
    page = admin.ok("GET", f"/admin/audit?company_id={tenant.id}&limit=1")
    assert page["has_more"] and page["data"] == [told]
    rest = data(tenant.owner, f"/admin/audit?after={newest['id']}")
    assert rest == entries[1:]
    assert stranger.owner.status("GET", f"/admin/audit?after={newest['id']}") == 422


def test_host(own_box):
    box = own_box(
        "--postconf", "relay_domains=in.example", "--set", "http.url=https://api.example"
    )
    admin = operator(box)
    host = admin.ok("GET", "/admin/host")
    assert host["api_url"] == "https://api.example"
    assert host["name"] and host["postfix_version"] and host["receives_by"] is None
    company = box.company()
    owner = by_token(box, unique("owner"), company)
    # Of what is not theirs nobody learns where its mail goes.
    assert owner.ok("GET", "/admin/host?domain=in.example")["receives_by"] is None
    box.cli("domain", "add", "in.example", "--company", company, "--policy", "learn")
    for client in [admin, owner]:
        host = client.ok("GET", "/admin/host?domain=in.example")
        assert host["receives_by"] == "relay_domains"


def test_settings(box, admin):
    settings = {f"{s['section']}.{s['name']}": s for s in data(admin, "/admin/settings")}
    assert settings["admin.listen"]["value"] in box.env["POSTERN_ADMIN_URL"]
    assert not settings["admin.listen"]["is_default"]
    assert settings["log.level"]["value"] == "info"
    assert settings["log.level"]["is_default"]


def test_health(own_box):
    box = own_box()
    admin = operator(box)

    def parts():
        health = admin.ok("GET", "/admin/health")
        assert health["ok"] == all(p["ok"] for p in health["parts"])
        return {p["name"]: p["ok"] for p in health["parts"]}

    box.httpd().send({"from": "a@example.com", "to": "b@dst.test", "text": "x"})
    wait_for("the log to be read", lambda: all(parts().values()))
    assert set(parts()) == {
        "store", "postfix", "milter", "submission", "outbox", "settings", "events"}
    ready = Admin(box).request("GET", "/readyz")
    assert (ready.status_code, ready.text) == (200, "ready\n")
    assert Admin(box).request("GET", "/healthz").text == "ok\n"
    for path in ("/readyz", "/healthz"):
        answer = box.httpd().session.head(box.env["POSTERN_ADMIN_URL"] + path, timeout=60)
        assert (answer.status_code, answer.content) == (200, b"")
    box.stop("milter")
    assert not parts()["milter"]
    ready = Admin(box).request("GET", "/readyz")
    assert ready.status_code == 503
    assert ready.text == "postern-milter does not answer\n"
    assert Admin(box).request("GET", "/healthz").status_code == 200
    box.start("milter")
    box.stop("postfix")
    assert not parts()["postfix"]
    assert Admin(box).request("GET", "/readyz").text == "Postfix is not running\n"
    box.start("postfix")
    assert Admin(box).request("GET", "/readyz").status_code == 200
